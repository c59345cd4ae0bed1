"""Pickles of arrays and lists, read by an unpickler that calls nothing.

Every name that a pickle asks for is looked up in a short list of what numpy writes for an array. What the pickle would
call is only noted down, with its arguments, and arrays are made from these notes in the end. The unpickler is the one
written in Python: the one written in C reserves as much memory as a hostile file asks for. Keys of dictionaries are
text or numbers: the hash of tuples within tuples may take for ever, or overflow the stack.
"""

from __future__ import annotations

import io
import pickle
import re
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from worstclass.exceptions import DatasetError

#: types of numbers: no objects, no fields, no text
_PLAIN_DTYPE = re.compile(r"[|<>=]?([iuf][1248]|b1)")
_VALUES = (str, bytes, int, float, bool, type(None))
_NAMES = {
    *((f"numpy.{core}.multiarray", "_reconstruct") for core in ("core", "_core")),
    *((f"numpy.{core}.numeric", "_frombuffer") for core in ("core", "_core")),
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
    ("_codecs", "encode"),  # bytes as Python 3 writes them for Python 2
    ("__builtin__", "bytes"),
}


def read_pickle(content: bytes, where: str) -> dict[str, Any]:
    """Return the dictionary in a pickle: from text to arrays, values, and lists or tuples of values.

    Parameters
    ----------
    content : the bytes of the file; text of Python 2 is read as latin-1.
    where : what an error calls the file.

    Examples
    --------
    >>> read_pickle(pickle.dumps({"labels": [3, 8], "data": np.eye(2, dtype=np.uint8)}), "example")["data"].tolist()
    [[1, 0], [0, 1]]
    >>> read_pickle(pickle.dumps(print), "example")
    Traceback (most recent call last):
    worstclass.exceptions.DatasetError: example is refused: the pickle asks for builtins.print. Nothing of it was run.
    """
    try:
        result = _PlainUnpickler(io.BytesIO(content), encoding="latin1").load()
        if not isinstance(result, dict):
            raise ValueError(f"it holds a {type(result).__name__}, not a dictionary")
        return {_key(key): _value(value) for key, value in result.items()}
    except _RefusedError as refused:
        raise DatasetError(f"{where} is refused: the pickle asks for {refused}. Nothing of it was run.") from None
    except Exception as error:  # a damaged pickle can fail in any way
        text = str(error) or type(error).__name__
        raise DatasetError(f"{where} cannot be read as a pickle of arrays and lists: {text}") from None


class _RefusedError(Exception):
    """The pickle asks for something that is no plain data."""


class _Call:
    """A call that a pickle asks for: name, arguments, and the state for what it returns. It is never made."""

    def __init__(self, name: str, *arguments: Any) -> None:
        self.name, self.arguments, self.state = name, arguments, None

    def __setstate__(self, state: Any) -> None:
        self.state = state


def _with_plain_keys(load: Callable[[Any], None], keys: slice) -> Callable[[Any], None]:
    """Return an instruction that looks at the keys on the stack before it makes a dictionary of them."""

    def checked(unpickler: Any) -> None:
        for key in unpickler.stack[keys]:
            if not isinstance(key, str | bytes | int | _Call):
                raise _RefusedError(f"a {type(key).__name__} as a key")
        load(unpickler)

    return checked


def _no_sets(unpickler: Any) -> None:
    raise _RefusedError("a set")


class _PlainUnpickler(pickle._Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _NAMES:
            raise _RefusedError(f"{module}.{name}")
        return partial(_Call, name)

    dispatch: ClassVar[dict[int, Any]] = {
        **pickle._Unpickler.dispatch,
        # a bytearray is read as bytes: Python would reserve as much memory for it as a hostile file asks for
        pickle.BYTEARRAY8[0]: pickle._Unpickler.load_binbytes8,  # type: ignore[attr-defined]
        pickle.SETITEM[0]: _with_plain_keys(pickle._Unpickler.load_setitem, slice(-2, -1)),  # type: ignore[attr-defined]
        pickle.SETITEMS[0]: _with_plain_keys(pickle._Unpickler.load_setitems, slice(None, None, 2)),  # type: ignore[attr-defined]
        pickle.DICT[0]: _with_plain_keys(pickle._Unpickler.load_dict, slice(None, None, 2)),  # type: ignore[attr-defined]
        **dict.fromkeys((pickle.EMPTY_SET[0], pickle.ADDITEMS[0], pickle.FROZENSET[0]), _no_sets),
    }


def _key(key: Any) -> str:
    text = _bytes(key)
    return str(text, "latin-1") if isinstance(text, bytes) else _checked(text, str)


def _value(value: Any) -> Any:
    """Return an array, a value or a flat list of values; refuse anything else."""
    if isinstance(value, _Call) and value.name in ("_reconstruct", "_frombuffer"):
        return _array(value)
    items = [_bytes(item) for item in value] if isinstance(value, list | tuple) else [_bytes(value)]
    for item in items:
        _checked(item, _VALUES)
    return type(value)(items) if isinstance(value, list | tuple) else items[0]


def _checked(value: Any, kinds: Any) -> Any:
    if not isinstance(value, kinds):
        raise ValueError(f"a {type(value).__name__} is neither an array, nor a value, nor in a flat list of values")
    return value


def _bytes(value: Any) -> Any:
    """Return bytes that are written as a call; anything else as it is."""
    if isinstance(value, _Call) and value.name in ("encode", "bytes"):
        return value.arguments[0].encode("latin-1") if value.arguments else b""
    return value


def _array(call: _Call) -> npt.NDArray[Any]:
    """Make an array: empty and then given its state, or from a buffer."""
    if call.name == "_frombuffer":
        data, dtype, shape, order = call.arguments
    else:
        _, shape, dtype, is_fortran, data = _checked(call.state, tuple)
        order = "F" if is_fortran else "C"
    raw = data.encode("latin-1") if isinstance(data, str) else _bytes(data)  # text of Python 2 is bytes
    if not isinstance(raw, bytes) or not isinstance(dtype, _Call) or dtype.name != "dtype":
        raise _RefusedError("an array of objects")
    code = _key(dtype.arguments[0])
    if dtype.state is not None:  # has the byte order
        code = f"{_key(dtype.state[1])}{code.lstrip('|<>=')}"
    if not _PLAIN_DTYPE.fullmatch(code):
        raise _RefusedError(f"an array of type {code!r}")
    return np.frombuffer(raw, np.dtype(code)).reshape(shape, order="F" if order == "F" else "C")
