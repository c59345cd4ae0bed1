"""Files of members and of scikit-learn estimators: safetensors and skops. Reading them runs no pickled code."""

from __future__ import annotations

import importlib
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy.typing as npt
from safetensors import SafetensorError
from skops import io as skops_io

from worstclass.exceptions import ModelFormatError, ParameterError

#: types that are rebuilt from a .skops file without a question, besides what skops trusts and classes of scikit-learn.
#: Functions are never trusted by their package: one that runs a string could hide in a transformer.
TRUSTED = (
    "functools.partial",
    "numpy.dtype",
    "sklearn.utils.validation.check_array",
    "worstclass.data.encoding.TableEncoder",
    "worstclass.learners.binning.QuantileGrid",
)


def write_sklearn(estimator: Any, file: Path) -> None:
    """Write an estimator with skops."""
    try:
        skops_io.dump(estimator, file)
        lost = [name for name in skops_io.get_untrusted_types(file=file) if "<" in name]  # <lambda>, <locals>
    except TypeError as error:
        lost = [str(error)]
    if lost:
        allowed, hint = "made of parts that skops can store", f"It cannot store {', '.join(lost)}."
        raise ParameterError("model", "save_model", allowed=allowed, got=estimator, hint=hint)


def read_sklearn(file: Path, trusted: Sequence[str]) -> Any:
    """Read an estimator; refuse a file with types that are neither scikit-learn's nor trusted."""
    require_file(file)
    try:
        unknown = skops_io.get_untrusted_types(file=file)
    except (zipfile.BadZipFile, KeyError, ValueError) as error:
        raise ModelFormatError(f"{file.name} cannot be read: {error}") from None
    refused = [name for name in unknown if name not in (*TRUSTED, *trusted) and not _is_sklearn_class(name)]
    if refused:
        raise ModelFormatError(
            f"{file.name} holds what is not a class of scikit-learn: {refused}. If you know where the file comes "
            f"from, allow them: load_model(path, trusted={refused})."
        )
    return skops_io.load(file, trusted=unknown)


def write_weights(weights: dict[str, Any], file: Path) -> None:
    """Write tensors by name; the bytes depend on names and values alone."""
    from safetensors.torch import save_file

    save_file({name: value.contiguous() for name, value in weights.items()}, file)


def read_weights(file: Path) -> dict[str, Any]:
    """Read tensors by name."""
    from safetensors.torch import load_file

    return _read_safetensors(file, load_file)


def read_arrays(file: Path) -> dict[str, npt.NDArray[Any]]:
    """Read numpy arrays by name."""
    from safetensors.numpy import load_file

    return _read_safetensors(file, load_file)


@dataclass
class StoredWeights:
    """The weights of one torch member, read from the file each time they are needed."""

    file: Path

    def __call__(self) -> dict[str, Any]:
        """Return the weights."""
        return read_weights(self.file)


def require_file(file: Path) -> None:
    """Refuse a model folder that lacks a file."""
    if not file.is_file():
        raise ModelFormatError(f"The model folder lacks {file.name}. Copy the whole folder, or save the model again.")


def _read_safetensors(file: Path, load_file: Callable[[Path], Any]) -> dict[str, Any]:
    require_file(file)
    try:
        return dict(load_file(file))
    except (OSError, SafetensorError) as error:
        raise ModelFormatError(f"{file.name} cannot be read: {error}") from None


def _is_sklearn_class(name: str) -> bool:
    module, _, attribute = name.rpartition(".")
    if not module.startswith(("sklearn.", "imblearn.")):
        return False
    try:
        return isinstance(getattr(importlib.import_module(module), attribute, None), type)
    except ImportError:
        return False
