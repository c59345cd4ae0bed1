"""Pickles of arrays and lists, read by an unpickler that can call nothing but the few functions in this file.

Every name that a pickle asks for is looked up in a short list of what numpy writes for an array. The names do not
stand for numpy's functions but for replacements that take plain values only. The unpickler is the one written in
Python: the one written in C reserves as much memory as a hostile file asks for.
"""

from __future__ import annotations

import io
import pickle
import re
from typing import Any, ClassVar

import numpy as np

from worstclass.exceptions import DatasetError

#: types of numbers: no objects, no fields, no text
_PLAIN_DTYPE = re.compile(r"[|<>=]?([iuf][1248]|b1)")
_VALUES = (str, bytes, int, float, bool, type(None))


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


class _PlainUnpickler(pickle._Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _NAMES:
            raise _RefusedError(f"{module}.{name}")
        return _NAMES[module, name]

    def load_build(self) -> None:
        """Give an array or a type its state; anything else has none that could be changed."""
        state = self.stack.pop()  # type: ignore[attr-defined]
        changed = self.stack[-1]  # type: ignore[attr-defined]
        if not isinstance(changed, _Array | _Dtype):
            raise _RefusedError("a change of what is no array")
        changed.__setstate__(state)

    dispatch: ClassVar[dict[int, Any]] = {
        **pickle._Unpickler.dispatch,
        pickle.BUILD[0]: load_build,
        # a bytearray is read as bytes: Python would reserve as much memory for it as a hostile file asks for
        pickle.BYTEARRAY8[0]: pickle._Unpickler.load_binbytes8,  # type: ignore[attr-defined]
    }


class _Dtype:
    """A type of numbers; its state has the byte order."""

    def __init__(self, code: Any, *flags: Any) -> None:
        self.code = _text(code)
        if not isinstance(self.code, str) or not _PLAIN_DTYPE.fullmatch(self.code):
            raise _RefusedError(f"an array of type {code!r}")

    def __setstate__(self, state: Any) -> None:
        self.code = _Dtype(f"{_text(state[1])}{self.code.lstrip('|<>=')}").code


class _Array:
    """An array: made empty and then given its state, or made from a buffer."""

    value: Any = None

    def __setstate__(self, state: Any) -> None:
        _, shape, dtype, is_fortran, data = state
        raw = data.encode("latin-1") if isinstance(data, str) else data  # text of Python 2 is bytes
        if not isinstance(raw, bytes | bytearray) or not isinstance(dtype, _Dtype):
            raise _RefusedError("an array of objects")
        self.value = np.frombuffer(raw, np.dtype(dtype.code)).reshape(shape, order="F" if is_fortran else "C")


def _from_buffer(data: Any, dtype: Any, shape: Any, order: Any) -> _Array:
    array = _Array()
    array.__setstate__((1, shape, dtype, order == "F", data))
    return array


_NAMES: dict[tuple[str, str], Any] = {
    ("numpy.core.multiarray", "_reconstruct"): lambda kind, shape, code: _Array(),
    ("numpy._core.multiarray", "_reconstruct"): lambda kind, shape, code: _Array(),
    ("numpy.core.numeric", "_frombuffer"): _from_buffer,
    ("numpy._core.numeric", "_frombuffer"): _from_buffer,
    ("numpy", "ndarray"): object(),  # an argument of _reconstruct that is not looked at
    ("numpy", "dtype"): _Dtype,
    ("_codecs", "encode"): lambda text, codec: text.encode("latin-1"),  # bytes as Python 3 writes them for Python 2
    ("__builtin__", "bytes"): lambda: b"",
}


def _text(value: Any) -> Any:
    return value.decode("latin-1") if isinstance(value, bytes) else value


def _key(key: Any) -> str:
    if not isinstance(key, str | bytes):
        raise ValueError(f"a key must be text, not a {type(key).__name__}")
    return str(_text(key))


def _value(value: Any) -> Any:
    """Return an array, a value or a flat list of values; refuse anything else."""
    if isinstance(value, _Array) and value.value is not None:
        return value.value
    values = value if isinstance(value, list | tuple) else [value]
    strange = next((type(item).__name__ for item in values if not isinstance(item, _VALUES)), None)
    if strange is not None:
        raise ValueError(f"a {strange} is neither an array, nor a value, nor in a flat list of values")
    return value
