"""The files of a model folder: JSON, safetensors and skops. Reading them runs no pickled code."""

from __future__ import annotations

import importlib
import json
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from sklearn.base import BaseEstimator
from skops import io as skops_io

from worstclass.exceptions import ModelFormatError, ParameterError
from worstclass.storage.kinds import find_class

#: what is rebuilt from a .skops file without a question, besides what skops trusts, classes of scikit-learn, and our
#: estimators. Functions are never trusted by their package: one that runs a string could hide in a transformer.
TRUSTED = ("functools.partial", "numpy.dtype", "sklearn.utils.validation.check_array")


def read_json(file: Path) -> Any:
    """Read a JSON file."""
    return _read(file, lambda: json.loads(file.read_text(encoding="utf-8")))


def write_json(file: Path, values: Any, *, indent: int | None = 1) -> None:
    """Write a JSON file."""
    file.write_text(json.dumps(values, indent=indent, allow_nan=False) + "\n", encoding="utf-8")


def write_sklearn(estimator: Any, file: Path) -> None:
    """Write an estimator with skops."""
    file.parent.mkdir(exist_ok=True)
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
    unknown = _read(file, lambda: skops_io.get_untrusted_types(file=file))
    refused = [name for name in unknown if name not in (*TRUSTED, *trusted) and not _is_known_class(name)]
    if refused:
        raise ModelFormatError(
            f"{file.name} holds what is not a class of scikit-learn: {refused}. If you know where the file comes "
            f"from, allow them: load_model(path, trusted={refused})."
        )
    return skops_io.load(file, trusted=unknown)


def write_tensors(values: dict[str, Any], file: Path, library: str = "torch") -> None:
    """Write tensors, or arrays of numpy, by name; the bytes depend on names and values alone."""
    file.parent.mkdir(exist_ok=True)
    plain = {name: value.contiguous() for name, value in values.items()} if library == "torch" else values
    importlib.import_module(f"safetensors.{library}").save_file(plain, file)


def read_tensors(file: Path, library: str = "torch") -> dict[str, Any]:
    """Read tensors, or arrays of numpy, by name."""
    return dict(_read(file, lambda: importlib.import_module(f"safetensors.{library}").load_file(file)))


@dataclass
class StoredWeights:
    """The weights of one torch member, read from the file each time they are needed."""

    file: Path

    def __call__(self) -> dict[str, Any]:
        """Return the weights."""
        return read_tensors(self.file)


def require_file(file: Path) -> None:
    """Refuse a model folder that lacks a file."""
    if not file.is_file():
        raise ModelFormatError(f"The model folder lacks {file.name}. Copy the whole folder, or save the model again.")


def _read(file: Path, read: Callable[[], Any]) -> Any:
    require_file(file)
    try:
        return read()
    except (OSError, KeyError, ValueError, SafetensorError, zipfile.BadZipFile) as error:
        raise ModelFormatError(f"{file} cannot be read: {error}") from None


def _is_known_class(name: str) -> bool:
    """Return whether a name is that of a class of scikit-learn or imbalanced-learn, or of one of our estimators."""
    found = find_class(name, "sklearn.", "imblearn.", "worstclass.")
    return found is not None and (not name.startswith("worstclass.") or issubclass(found, BaseEstimator))
