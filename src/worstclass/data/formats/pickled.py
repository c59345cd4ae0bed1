"""Pickles as plain data: containers, strings, numbers and numpy arrays, built here and never by the pickle.

A pickle is a small program, and running a stranger's program is no way to read images. ``pickletools`` of the standard
library splits it into its instructions without following any. The few instructions that make plain data are followed
here. One that asks for a function is looked up in a short list of what numpy writes for an array; those functions
are not called either, but replaced. Anything else is refused, and nothing was run.
"""

from __future__ import annotations

import enum
import pickletools
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from worstclass.exceptions import DatasetError


class Known(enum.Enum):
    """What a pickle of plain data may ask for by name."""

    RECONSTRUCT = enum.auto()
    FROM_BUFFER = enum.auto()
    NDARRAY = enum.auto()
    DTYPE = enum.auto()
    ENCODE = enum.auto()
    BYTES = enum.auto()


_NAMES = {
    "numpy.core.multiarray _reconstruct": Known.RECONSTRUCT,
    "numpy._core.multiarray _reconstruct": Known.RECONSTRUCT,
    "numpy.core.numeric _frombuffer": Known.FROM_BUFFER,
    "numpy._core.numeric _frombuffer": Known.FROM_BUFFER,
    "numpy ndarray": Known.NDARRAY,
    "numpy dtype": Known.DTYPE,
    "_codecs encode": Known.ENCODE,
    "__builtin__ bytes": Known.BYTES,
}

#: numbers: no objects, no fields, no text
_PLAIN_DTYPE = re.compile(r"[iuf][1248]|b1")

_MARK = object()


class _Array:
    """An array whose values a later instruction brings."""

    value: Any = None


class _Dtype:
    def __init__(self, code: Any) -> None:
        if not isinstance(code, str) or not _PLAIN_DTYPE.fullmatch(code):
            raise _RefusedError(f"an array of type {code!r}")
        self.code = code
        self.order = "|"

    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self.order + self.code)


class _RefusedError(Exception):
    """The pickle asks for something that is no plain data."""


def read_pickle(content: bytes, where: str) -> Any:
    """Return the plain data of a pickle: text as str, whatever Python version wrote it.

    Parameters
    ----------
    content : the bytes of the file.
    where : what an error calls the file.

    Examples
    --------
    >>> import pickle
    >>> read_pickle(pickle.dumps({"labels": [3, 8], "data": np.eye(2, dtype=np.uint8)}), "example")["data"].tolist()
    [[1, 0], [0, 1]]
    >>> read_pickle(pickle.dumps(print), "example")
    Traceback (most recent call last):
    worstclass.exceptions.DatasetError: example is refused: the pickle asks for builtins.print. Nothing of it was run.
    """
    reader = _Reader()
    try:
        for instruction, argument, _ in pickletools.genops(content):
            reader.follow(instruction.name, argument)
        return reader.result()
    except _RefusedError as refused:
        raise DatasetError(f"{where} is refused: the pickle asks for {refused}. Nothing of it was run.") from None
    except (ValueError, IndexError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise DatasetError(f"{where} cannot be read as a pickle of plain data: {error}") from None


class _Reader:
    """A stack and a memory, as the pickle protocol has them."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.memory: dict[int, Any] = {}

    def follow(self, name: str, argument: Any) -> None:
        if name in _PUSH:
            self.stack.append(argument)
        elif name in _CONSTANTS:
            self.stack.append(_CONSTANTS[name]())
        elif name in _ACTIONS:
            _ACTIONS[name](self, argument)
        elif name not in _SKIP:
            raise _RefusedError(f"the instruction {name}")

    def result(self) -> Any:
        (value,) = self.stack
        if isinstance(value, dict):
            return {_text(key): _finished(item) for key, item in value.items()}
        return _finished(value)

    def since_mark(self) -> list[Any]:
        position = len(self.stack) - 1
        while position >= 0 and self.stack[position] is not _MARK:
            position -= 1
        if position < 0:
            raise ValueError("a mark is missing")
        items = self.stack[position + 1 :]
        del self.stack[position:]
        return items

    # the instructions; each takes the argument that stands behind it in the file, None for most

    def tuple_since_mark(self, _: Any) -> None:
        self.stack.append(tuple(self.since_mark()))

    def list_since_mark(self, _: Any) -> None:
        self.stack.append(self.since_mark())

    def dict_since_mark(self, _: Any) -> None:
        items = self.since_mark()
        self.stack.append({})
        self._update(items)

    def tuple_of_one(self, _: Any) -> None:
        self.stack[-1:] = [tuple(self.stack[-1:])]

    def tuple_of_two(self, _: Any) -> None:
        self.stack[-2:] = [tuple(self.stack[-2:])]

    def tuple_of_three(self, _: Any) -> None:
        self.stack[-3:] = [tuple(self.stack[-3:])]

    def append(self, _: Any) -> None:
        item = self.stack.pop()
        self.stack[-1].append(item)

    def appends(self, _: Any) -> None:
        items = self.since_mark()
        self.stack[-1].extend(items)

    def set_item(self, _: Any) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        self._update([key, value])

    def set_items(self, _: Any) -> None:
        self._update(self.since_mark())

    def _update(self, items: list[Any]) -> None:
        self.stack[-1].update(zip(items[::2], items[1::2], strict=True))

    def name(self, argument: Any) -> None:
        self.stack.append(_known(argument))

    def name_from_stack(self, _: Any) -> None:
        name, module = self.stack.pop(), self.stack.pop()
        self.stack.append(_known(f"{module} {name}"))

    def reduce(self, _: Any) -> None:
        arguments, function = self.stack.pop(), self.stack.pop()
        self.stack.append(_replacement(function, arguments))

    def build(self, _: Any) -> None:
        state, target = self.stack.pop(), self.stack[-1]
        if isinstance(target, _Dtype):
            target.order = _byte_order(state[1])
        elif isinstance(target, _Array):
            _, shape, dtype, is_fortran, data = state
            target.value = _array(data, dtype, shape, "F" if is_fortran else "C")
        else:
            raise _RefusedError("an object with state")

    def put(self, key: Any) -> None:
        self.memory[len(self.memory) if key is None else int(key)] = self.stack[-1]

    def get(self, key: Any) -> None:
        self.stack.append(self.memory[int(key)])


def _replacement(function: Any, arguments: Any) -> Any:
    if function is Known.RECONSTRUCT and arguments[0] is Known.NDARRAY:
        return _Array()
    if function is Known.DTYPE:
        return _Dtype(_text(arguments[0]))
    if function is Known.ENCODE and arguments[1:] in ((), ("latin1",), ("latin-1",)):
        return arguments[0].encode("latin-1")
    if function is Known.BYTES and arguments == ():  # how Python 3 tells Python 2 of empty bytes
        return b""
    if function is Known.FROM_BUFFER:
        data, dtype, shape, order = arguments
        array = _Array()
        array.value = _array(data, dtype, shape, order)
        return array
    raise _RefusedError(f"a call of {function.name.lower() if isinstance(function, Known) else function!r}")


def _array(data: Any, dtype: Any, shape: Any, order: Any) -> Any:
    raw = data.encode("latin-1") if isinstance(data, str) else data  # text of Python 2 is bytes
    if not isinstance(raw, bytes | bytearray) or not isinstance(dtype, _Dtype) or order not in ("C", "F"):
        raise _RefusedError("an array of objects")
    return np.frombuffer(raw, dtype=dtype.dtype()).reshape(shape, order=order)


def _byte_order(order: Any) -> str:
    if _text(order) not in ("|", "<", ">", "="):
        raise _RefusedError(f"the byte order {order!r}")
    return str(_text(order))


def _known(name: str) -> Known:
    if name not in _NAMES:
        raise _RefusedError(name.replace(" ", "."))
    return _NAMES[name]


def _text(value: Any) -> Any:
    return value.decode("latin-1") if isinstance(value, bytes) else value


def _finished(value: Any) -> Any:
    if isinstance(value, Known | _Dtype):
        raise _RefusedError("something that is no data")
    return value.value if isinstance(value, _Array) else value


_SKIP = {"PROTO", "FRAME", "STOP"}
_INTEGERS = {"INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4"}
_TEXTS = {"STRING", "BINSTRING", "SHORT_BINSTRING", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"}
_BYTES = {"BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8"}
_PUSH = {"FLOAT", "BINFLOAT"} | _INTEGERS | _TEXTS | _BYTES
_CONSTANTS: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_DICT": dict,
    "EMPTY_LIST": list,
    "EMPTY_TUPLE": tuple,
    "MARK": lambda: _MARK,
}
_ACTIONS: dict[str, Callable[[_Reader, Any], None]] = {
    "TUPLE": _Reader.tuple_since_mark,
    "TUPLE1": _Reader.tuple_of_one,
    "TUPLE2": _Reader.tuple_of_two,
    "TUPLE3": _Reader.tuple_of_three,
    "LIST": _Reader.list_since_mark,
    "DICT": _Reader.dict_since_mark,
    "APPEND": _Reader.append,
    "APPENDS": _Reader.appends,
    "SETITEM": _Reader.set_item,
    "SETITEMS": _Reader.set_items,
    "GLOBAL": _Reader.name,
    "STACK_GLOBAL": _Reader.name_from_stack,
    "REDUCE": _Reader.reduce,
    "BUILD": _Reader.build,
    "PUT": _Reader.put,
    "BINPUT": _Reader.put,
    "LONG_BINPUT": _Reader.put,
    "MEMOIZE": _Reader.put,
    "GET": _Reader.get,
    "BINGET": _Reader.get,
    "LONG_BINGET": _Reader.get,
}
