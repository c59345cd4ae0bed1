"""The version, read by the build and by `worstclass.__version__`."""

__version__ = "0.1.0"
