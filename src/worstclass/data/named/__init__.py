"""Named data sets: one file a family, with the facts and the parser of its sets in ``SHEETS``."""
