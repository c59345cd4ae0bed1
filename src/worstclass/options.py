"""Unknown option names get a suggestion, in constructors and in ``set_params``."""

from __future__ import annotations

import functools
import inspect
from typing import Any, TypeVar

from worstclass.exceptions import UnknownOptionError

C = TypeVar("C", bound=type)


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
