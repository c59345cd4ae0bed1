"""The files of a model folder: JSON, safetensors and skops. Reading them runs no pickled code.

Also which classes they may name: those of this package, and in .skops files those of scikit-learn and imbalanced-learn.
No other name is ever imported.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

from safetensors import SafetensorError
from sklearn.base import BaseEstimator

from worstclass._checks import optional_packages
from worstclass._state import Stateful
from worstclass.exceptions import MissingPackageError, ModelFormatError, ParameterError
from worstclass.learners.base import WeakLearner
from worstclass.storage.seal import require_digest
from worstclass.storage.skops_checks import (
    PACKAGES,
    canonical,
    names_without_a_place,
    require_bounded,
    require_sound_trees,
)
from worstclass.storage.stacked_trees import stacked, unstacked

#: what is rebuilt from a .skops file without a question, besides what skops trusts, classes of scikit-learn, and our
#: estimators. Functions are never trusted by their package: one that runs a string could hide in a transformer.
TRUSTED = ("functools.partial", "numpy.dtype", "sklearn.utils.validation.check_array")
#: parts of trusted packages that hold no models; some do something when they are imported
_NO_MODELS = {"__main__", "_build_utils", "_testing", "callback", "conftest", "datasets", "externals", "tests"}

#: where a new model waits, complete, while it takes the place of the old one
SAVED = ".saved"
#: bytes that a JSON file may have; its values take several times as much memory
MOST_JSON_BYTES = 1 << 30


def read_json(file: Path, digest: str | None = None) -> Any:
    """Read a JSON file; one with another checksum is refused."""
    require_file(file)
    if file.stat().st_size > MOST_JSON_BYTES:
        raise ModelFormatError(f"{file} is refused: it has more than {MOST_JSON_BYTES:,} bytes.")
    content = _content(file, digest)
    try:
        return json.loads(content.decode("utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise ModelFormatError(f"{file} cannot be read: {error}") from None


def write_json(file: Path, values: Any, *, indent: int | None = 1) -> None:
    """Write a JSON file."""
    file.write_text(json.dumps(values, indent=indent, allow_nan=False) + "\n", encoding="utf-8")


@cache
def import_skops() -> Any:
    """Import skops, which takes a second: it imports all of scikit-learn.

    The modules of scikit-learn that adapt torch, dask and cupy are left out. They would import these packages, which
    takes three seconds more, and hold no estimator.
    """
    adapters = [f"sklearn.externals.array_api_compat.{name}" for name in ("torch", "dask", "cupy")]
    left_out = [name for name in adapters if name not in sys.modules]
    sys.modules.update(dict.fromkeys(left_out))  # type: ignore[arg-type]  # None: an import fails
    try:
        return importlib.import_module("skops.io")
    finally:
        for name in left_out:
            del sys.modules[name]


def write_sklearn(estimator: Any, file: Path) -> None:
    """Write an estimator with skops."""
    skops_io = import_skops()
    file.parent.mkdir(exist_ok=True)
    try:
        content = canonical(skops_io.dumps(stacked(estimator)))
        lost = names_without_a_place(content)
    except TypeError as error:
        lost = [str(error)]
    if lost:
        allowed, hint = "made of parts that skops can store", f"It cannot store {', '.join(lost)}."
        raise ParameterError("model", "save_model", allowed=allowed, got=estimator, hint=hint)
    file.write_bytes(content)


def read_sklearn(file: Path, trusted: Sequence[str], digest: str | None = None) -> Any:
    """Read an estimator; refuse a file with types that are neither scikit-learn's nor trusted."""
    skops_io = import_skops()
    from skops.io.exceptions import UntrustedTypesFoundException

    content = _content(file, digest)
    try:
        named = require_bounded(content, trusted, find_class)
        allowed = sorted(name for name in named if name in (*TRUSTED, *trusted) or _is_known_class(name))
        try:
            model = skops_io.loads(content, trusted=allowed)
        except UntrustedTypesFoundException:
            refused = [name for name in skops_io.get_untrusted_types(data=content) if name not in allowed]
        else:
            model = unstacked(model)
            require_sound_trees(model)
            return model
    except Exception as error:  # a hostile file can fail in any way
        what = str(error) or type(error).__name__
        raise ModelFormatError(f"{file} cannot be read: {what[:500]}") from None
    raise ModelFormatError(
        f"{file.name} holds what is not a class of scikit-learn: {refused}. If you know where the file comes "
        f"from, allow them: load_model(path, trusted={refused})."
    )


def write_tensors(values: dict[str, Any], file: Path, library: str = "torch") -> None:
    """Write tensors, or arrays of numpy, by name; the bytes depend on names and values alone."""
    file.parent.mkdir(exist_ok=True)
    plain = {name: value.contiguous() for name, value in values.items()} if library == "torch" else values
    file.write_bytes(importlib.import_module(f"safetensors.{library}").save(plain))  # save_file makes it private


def read_tensors(file: Path, library: str = "torch", digest: str | None = None) -> dict[str, Any]:
    """Read tensors, or arrays of numpy, by name; a file with another checksum is refused."""
    content = _content(file, digest)
    try:
        return dict(importlib.import_module(f"safetensors.{library}").load(content))
    except (LookupError, TypeError, ValueError, RuntimeError, SafetensorError) as error:
        raise ModelFormatError(f"{file} cannot be read: {error}") from None


def current_file(folder: Path, name: str) -> Path:
    """Return where a file of a model is: in its folder, or still beside it if moving it there was interrupted."""
    waiting = folder / SAVED / name
    file = waiting if waiting.exists() else folder / name
    below = [file, *file.parents][: len(file.parts) - len(folder.parts)]
    if any(path.is_symlink() for path in below):
        raise ModelFormatError(f"{file} is refused: it is reached by a link. Put what the link leads to in its place.")
    return file


def require_file(file: Path) -> None:
    """Refuse a model folder that lacks a file."""
    if not file.is_file():
        raise ModelFormatError(f"The model folder lacks {file.name}. Copy the whole folder, or save the model again.")


def require_whole(file: Path, digest: str | None) -> None:
    """Refuse a file that is missing or has another checksum."""
    _content(file, digest)


def _content(file: Path, digest: str | None) -> bytes:
    """Return the bytes of a file; what is checked is what is used, whatever happens to the file in the meantime."""
    require_file(file)
    try:
        content = file.read_bytes()
    except OSError as error:
        raise ModelFormatError(f"{file} cannot be read: {error}") from None
    require_digest(content, digest, file)
    return content


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


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
        raise ModelFormatError(f"The model file names {repr(name)[:100]}, which is not a class that worstclass stores.")
    return found


def find_class(name: str, *packages: str) -> type | None:
    """Return the class that a module of some packages defines; None where there is none.

    Other modules are not imported, and what a module imports from elsewhere is not its own: ``sklearn.datasets._rcv1``
    has ``GzipFile``, which would empty a file.
    """
    module, _, attribute = name.rpartition(".")
    if not module.startswith(packages) or _NO_MODELS & set(module.split(".")):
        return None
    try:
        with optional_packages("This model"):
            found = getattr(importlib.import_module(module), attribute, None)
    except MissingPackageError:
        raise
    except (ImportError, ValueError):  # ValueError: a name that no module can have
        return None
    return found if isinstance(found, type) and found.__module__ == module else None


def name_of(value: Any) -> str:
    """Return the name of the class of a value."""
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _is_ours(kind: type) -> bool:
    return kind.__module__.startswith("worstclass.") and "." not in kind.__qualname__


def _is_known_class(name: str) -> bool:
    """Return whether a name is that of a class of scikit-learn or imbalanced-learn, or of one of our estimators."""
    found = find_class(name, *PACKAGES)
    return found is not None and (not name.startswith("worstclass.") or issubclass(found, BaseEstimator))
