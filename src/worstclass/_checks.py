"""Checks, once: of arguments (counts, shares, names, numbers by class, options), and of optional packages."""

from __future__ import annotations

import functools
import inspect
import math
import numbers
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, TypeVar

import numpy as np

from worstclass.exceptions import (
    EXTRAS,
    DataError,
    MissingPackageError,
    ParameterError,
    UnknownNameError,
    UnknownOptionError,
    WorstClassWarning,
)

C = TypeVar("C", bound=type)
#: in a mapping, stands for every class that is not named
OTHERS = "others"

Value = TypeVar("Value")


def by_class(
    given: Any,
    labels: list[Any],
    read: Callable[[Any], Value],
    *,
    parameter: str,
    owner: str,
    noun: str,
    nothing: str = "",
) -> list[Value]:
    """Read one number for all classes, or a mapping with one for each, in which ``"others"`` stands for the rest.

    Parameters
    ----------
    given : a number or a mapping.
    labels : the classes.
    read : checks a number and makes of it what is returned.
    parameter, owner : whose it is, for errors.
    noun : what a number is called there.
    nothing : the number that asks for nothing, if there is one.

    Returns
    -------
    One value per class.

    Examples
    --------
    >>> by_class({"mel": 0.95, "others": 0.8}, ["bcc", "mel", "nv"], float, parameter="theta", owner="f", noun="floor")
    [0.8, 0.95, 0.8]
    """
    if not isinstance(given, Mapping):
        return [read(given)] * len(labels)
    values = {plain(key): read(value) for key, value in given.items()}
    _refuse_unknown(values, labels, parameter, owner)
    missing = [label for label in labels if label not in values]
    if missing and (OTHERS not in values or OTHERS in labels):
        hint = f"Name them, or give the rest a common {noun} with the key {OTHERS!r}"
        if OTHERS in labels:
            hint = f"Name them: {OTHERS!r} is a class here, and cannot stand for the rest"
        raise ParameterError(
            parameter,
            owner,
            allowed=f"one {noun} for every class when it is a mapping; without one: {missing}",
            got=dict(given),
            hint=f"{hint} ({nothing} asks for nothing)." if nothing else f"{hint}.",
        )
    return [values[label] if label in values else values[OTHERS] for label in labels]


def plain(label: Any) -> Any:
    """Return a label as Python's own type."""
    return label.item() if isinstance(label, np.generic) else label


def twin(label: Any, classes: list[Any]) -> Any:
    """Return the class that reads like a label but is of another type, such as 1 for "1"; None where there is none."""
    return next((known for known in classes if kind(known) != kind(label) and _reads_like(known, label)), None)


def kind(label: Any) -> str:
    """Say what a label is: text or a number."""
    return "text" if isinstance(label, str) else "number"


def _reads_like(one: Any, other: Any) -> bool:
    if str(one) == str(other):
        return True
    try:
        return float(one) == float(other)
    except (TypeError, ValueError):
        return False


def _refuse_unknown(given: Mapping[Any, Any], labels: list[Any], parameter: str, owner: str) -> None:
    for key in given:
        if key in labels or key == OTHERS:
            continue
        known = twin(key, labels)
        if known is not None:
            raise ParameterError(
                parameter,
                owner,
                allowed=f"a mapping by the classes themselves, of which {known!r} is a {kind(known)}",
                got=key,
                hint=f"Write {known!r} in place of {key!r}.",
            )
        raise UnknownNameError(parameter, owner, key, [*labels, OTHERS])


def suggests_options(cls: C) -> C:
    """Class decorator: a keyword that the constructor does not know is answered with the nearest one it does."""
    original = cls.__init__  # type: ignore[misc]
    known = [name for name in inspect.signature(original).parameters if name != "self"]

    @functools.wraps(original)
    def checked_init(self: Any, *args: Any, **options: Any) -> None:
        require_known_options(options, known, owner=type(self).__name__)
        original(self, *args, **options)

    cls.__init__ = checked_init  # type: ignore[misc]
    return cls


def require_known_options(options: dict[str, Any], known: list[str], *, owner: str) -> None:
    """Raise for the first name in ``options`` that is not in ``known``."""
    for name in options:
        if name not in known:
            raise UnknownOptionError(name, owner, known)


def is_installed(package: str) -> bool:
    """Tell whether a package is installed; nothing is imported."""
    return find_spec(package) is not None


@contextmanager
def optional_packages(owner: str) -> Iterator[None]:
    """Say what to install, if an import inside fails for lack of an optional package, such as torch.

    Parameters
    ----------
    owner : what needs the package, for the error.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name not in EXTRAS:  # a part of a package that is there
            raise
        raise MissingPackageError(owner, error.name) from error


def is_number(value: Any) -> bool:
    """Tell whether a parameter is a finite number; True and False are none."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool) and math.isfinite(value)


def is_count(value: Any, *, least: int = 1) -> bool:
    """Tell whether a parameter is a whole number that is large enough."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool) and int(value) >= least


def check_count(value: Any, parameter: str, owner: str, *, least: int = 1, words: Sequence[str | None] = ()) -> None:
    """Refuse what is neither a whole number from ``least`` on nor one of some words, such as "auto" or None."""
    if not _is_word(value, words) and not is_count(value, least=least):
        what = "a positive whole number" if least == 1 else f"a whole number from {least} on"
        raise ParameterError(parameter, owner, allowed=_or_words(what, words), got=value)


def check_positive(value: Any, parameter: str, owner: str, *, words: Sequence[str | None] = ()) -> None:
    """Refuse what is neither a finite number above 0 nor one of some words."""
    if not _is_word(value, words) and not (is_number(value) and value > 0):
        raise ParameterError(parameter, owner, allowed=_or_words("a positive number", words), got=value)


def check_share(value: Any, parameter: str, owner: str, *, hint: str = "") -> None:
    """Refuse what is not a number between 0 and 1, both excluded."""
    if not is_number(value) or not 0 < value < 1:
        raise ParameterError(parameter, owner, allowed="a number in (0, 1)", got=value, hint=hint)


def check_delta(value: Any, owner: str) -> None:
    """Refuse a delta that is not a probability between 0 and 1."""
    hint = "It is the probability with which a promise may fail: 0.05 for a confidence of 95%."
    check_share(value, "delta", owner, hint=hint)


def check_choice(value: Any, parameter: str, owner: str, known: Iterable[Any]) -> None:
    """Refuse a name that is not among the known ones, with the nearest of them."""
    names = list(known)
    if not isinstance(value, str | None) or value not in names:
        raise UnknownNameError(parameter, owner, value, names)


def warn_of_channels_last(row_shape: tuple[int, ...]) -> None:
    """Warn of rows that look like images of shape (height, width, channels)."""
    if len(row_shape) == 3 and row_shape[2] in (1, 3, 4) and min(row_shape[:2]) > 4:
        channels, height, width = row_shape
        warnings.warn(
            f"Rows of shape {row_shape} are read as images of {channels} channels and {height} x {width} pixels. "
            "If the channels are last, pass X.transpose(0, 3, 1, 2), or X.permute(0, 3, 1, 2) of a tensor.",
            WorstClassWarning,
            stacklevel=2,
        )


def require_row_shape(got: tuple[int, ...], trained: tuple[int, ...]) -> None:
    """Refuse rows of another shape than those that the model was trained with.

    Examples
    --------
    >>> require_row_shape((3, 8, 8), (3, 8, 8))
    """
    if got == trained:
        return
    hint = ""
    if len(got) == len(trained) == 3 and got[0] == trained[0]:
        hint = f" Resize the images to {trained[1]} x {trained[2]} pixels; image_size=... does so with picture files."
    raise DataError(f"Rows of X must have the shape {trained} that the model was trained with. Got {got}.{hint}")


def _is_word(value: Any, words: Sequence[str | None]) -> bool:
    return (value is None or isinstance(value, str)) and value in words


def _or_words(what: str, words: Sequence[str | None]) -> str:
    return " or ".join([what, *(repr(word) for word in words)])
