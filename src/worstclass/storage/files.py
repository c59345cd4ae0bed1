"""The files of a model folder: JSON, safetensors and skops. Reading them runs no pickled code.

Also which classes they may name: those of this package, and in .skops files those of scikit-learn and imbalanced-learn.
No other name is ever imported.
"""

from __future__ import annotations

import importlib
import json
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from sklearn.base import BaseEstimator
from skops import io as skops_io

from worstclass._state import Stateful
from worstclass.exceptions import ModelFormatError, ParameterError
from worstclass.learners.base import WeakLearner

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
    file.write_bytes(importlib.import_module(f"safetensors.{library}").save(plain))  # save_file makes it private


def read_tensors(file: Path, library: str = "torch") -> dict[str, Any]:
    """Read tensors, or arrays of numpy, by name."""
    return dict(_read(file, lambda: importlib.import_module(f"safetensors.{library}").load_file(file)))


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


def is_estimator(kind: type) -> bool:
    """Tell an estimator of this package that lists its fitted state."""
    return _is_ours(kind) and issubclass(kind, Stateful)


def is_unfitted(kind: type) -> bool:
    """Tell an estimator or learner of this package, of which the parameters are enough where it is not fitted."""
    return _is_ours(kind) and issubclass(kind, Stateful | WeakLearner)


def is_record(kind: type) -> bool:
    """Tell a frozen dataclass of this package: records, losses, augmentations and the like."""
    return _is_ours(kind) and is_dataclass(kind) and bool(kind.__dataclass_params__.frozen)  # type: ignore[attr-defined]


def class_named(name: Any, accepts: Callable[[type], bool]) -> Any:
    """Return the class of the name ``worstclass.module.ClassName``; refuse every other name before any import."""
    found = find_class(str(name), "worstclass.")
    if found is None or f"{found.__module__}.{found.__qualname__}" != name or not accepts(found):
        raise ModelFormatError(f"The model file names {name!r}, which is not a class that worstclass stores.")
    return found


def find_class(name: str, *packages: str) -> type | None:
    """Return the class of a name in some packages; None where there is none, before any import outside of them."""
    module, _, attribute = name.rpartition(".")
    if not module.startswith(packages) or "__main__" in module:
        return None
    try:
        found = getattr(importlib.import_module(module), attribute, None)
    except ImportError:
        return None
    return found if isinstance(found, type) else None


def name_of(value: Any) -> str:
    """Return the name of the class of a value."""
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _is_ours(kind: type) -> bool:
    return kind.__module__.startswith("worstclass.") and "." not in kind.__qualname__


def _is_known_class(name: str) -> bool:
    """Return whether a name is that of a class of scikit-learn or imbalanced-learn, or of one of our estimators."""
    found = find_class(name, "sklearn.", "imblearn.", "worstclass.")
    return found is not None and (not name.startswith("worstclass.") or issubclass(found, BaseEstimator))
