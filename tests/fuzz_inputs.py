"""How valid files are spoiled: strategies of hypothesis for edits of bytes, of JSON, of archives and of pickles."""

from __future__ import annotations

import copy
import io
import pickletools
import struct
import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np
from hypothesis import strategies as st

#: numbers at which lengths, shapes and offsets tend to go wrong
NUMBERS = [0, 1, 2, 7, 255, 256, 2**15, 2**16 - 1, 2**24, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**63 - 1, 2**64 - 1]
ODD = st.sampled_from(NUMBERS)
#: a place in a file; half of them in its header
PLACES = st.one_of(st.integers(0, 160), st.integers(0, 1 << 20))

#: kind, place, and what is to be done there
EDIT = st.one_of(
    st.tuples(st.just("flip"), PLACES, st.integers(0, 7)),
    st.tuples(st.just("put"), PLACES, st.binary(min_size=1, max_size=8)),
    st.tuples(st.just("insert"), PLACES, st.binary(min_size=1, max_size=40)),
    st.tuples(st.just("cut"), PLACES, st.just(0)),
    st.tuples(st.just("drop"), PLACES, st.integers(1, 300)),
    st.tuples(st.just("repeat"), PLACES, st.integers(1, 2_000)),
    st.tuples(st.just("number"), PLACES, st.tuples(st.sampled_from("<>"), st.sampled_from("BHIQ"), ODD)),
)
EDITS = st.lists(EDIT, min_size=1, max_size=4)
#: the same near the end of a file, where zip archives and Parquet files have their tables
EDITS_AT_END = EDITS.map(lambda edits: [(kind, -1 - place % 1500, value) for kind, place, value in edits])


def edited(content: bytes, edits: Any) -> bytes:
    """Return content after some edits."""
    for kind, place, value in edits:
        at = place % (len(content) + 1)
        before, after = content[:at], content[at:]
        if kind == "flip" and after:
            content = before + bytes([after[0] ^ (1 << value)]) + after[1:]
        elif kind == "put":
            content = before + value + after[len(value) :]
        elif kind == "insert":
            content = before + value + after
        elif kind == "cut":
            content = before
        elif kind == "drop":
            content = before + after[value:]
        elif kind == "repeat":
            content = before + after[:value] + after
        elif kind == "number":
            order, size, number = value
            packed = struct.pack(order + size, number % 256 ** struct.calcsize(size))
            content = before + packed + after[len(packed) :]
    return content


TAGS = ["$tuple", "$float", "$fraction", "$dict", "$array", "$tensor", "$record", "$estimator", "$sklearn", "$model"]
KEYS = [*TAGS, "$members", "$history", "$other", "dtype", "shape", "fields", "params", "suffix", "__loader__"]
TEXTS = [
    "inf",
    "1e999999999",
    "9" * 5000,
    "../../x",
    "inner",
    "0001",
    "sklearn.svm._classes.SVC",
    "worstclass.floors.Floors",
]
TEXTS += ["worstclass.metrics.ClassRow", "worstclass.learners.torch_learner.TorchLearner"]
DTYPES = ["<f8", "<i8", "|O", "<U3", "<U99999999", "|b1", "|V8", "<M8[s]", "O8", 3]

#: values that stand where a file expects others; keys and texts are those that mean something in a model folder
VALUES = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-5, 5), ODD, st.floats(), st.text(max_size=12), st.sampled_from(TEXTS)
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.one_of(st.sampled_from(KEYS), st.text(max_size=5)), inner, max_size=4),
        st.fixed_dictionaries({"$array": inner, "dtype": st.sampled_from(DTYPES), "shape": st.lists(ODD, max_size=3)}),
    ),
    max_leaves=6,
)
#: place, what is done there, and a new value
JSON_EDITS = st.lists(
    st.tuples(st.integers(0, 1 << 16), st.sampled_from(["set", "drop", "copy"]), VALUES), min_size=1, max_size=3
)


def edited_json(value: Any, edits: Any) -> Any:
    """Return a JSON value in which some parts are replaced, left out, or put elsewhere."""
    value = copy.deepcopy(value)
    for place, kind, new in edits:
        places = list(_places(value))
        if not places:
            return new
        owner, key = places[place % len(places)]
        if kind == "set":
            owner[key] = new
        elif kind == "drop":
            del owner[key]
        else:
            other, other_key = places[(place * 31 + 7) % len(places)]
            owner[key] = copy.deepcopy(other[other_key])
    return value


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    for key, item in list(value.items()) if isinstance(value, dict) else enumerate(value):
        yield value, key
        if isinstance(item, dict | list):
            yield from _places(item)


def repacked(content: bytes, number: int, edits: Any, method: int = zipfile.ZIP_STORED) -> bytes:
    """Return a zip archive of which one member is edited, while the archive itself is sound."""
    with zipfile.ZipFile(io.BytesIO(content)) as old:
        parts = {name: old.read(name) for name in old.namelist()}
    name = list(parts)[number % len(parts)]
    return zipped(parts | {name: edited(parts[name], edits)}, method)


def zipped(parts: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    """Return a zip archive."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", method) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return written.getvalue()


def npz(arrays: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return an npz file of npy files."""
    return zipped({f"{name}.npy": content for name, content in arrays.items()}, method)


def npy(array: np.ndarray) -> bytes:
    """Return an array as an npy file."""
    written = io.BytesIO()
    np.save(written, array)
    return written.getvalue()


def npy_file(descr: str, order: str, shape: str, body: bytes) -> bytes:
    """Return a npy file with any header."""
    header = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n".encode("latin-1", "replace")
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + body


#: npy files with types and shapes of all kinds
NPY = st.builds(
    npy_file,
    st.sampled_from(["'<f8'", "'|u1'", "'|O'", "'<U99999999'", "'|V2147483647'", "[('a', '<f8')]", "'(9,)f8'", "1"]),
    st.sampled_from(["False", "True", "None", "3"]),
    st.one_of(st.lists(st.one_of(ODD, st.integers(-3, 9)), max_size=4).map(tuple).map(str), st.text(max_size=9)),
    st.binary(max_size=64),
)  # fmt: skip

_SHORT = st.sampled_from([b"data", b"labels", b"numpy", b"dtype", b"u1", b"\xff"])
_BYTE = st.integers(0, 9).map(lambda number: bytes([number]))
#: instructions of pickles; most do as they should, so that long programs get far
_INSTRUCTION = st.one_of(
    st.sampled_from([code.code.encode("latin-1") for code in pickletools.opcodes if code.arg is None]),
    st.sampled_from([b"}", b"]", b")", b"(", b"u", b"s", b"t", b"R", b"b", b"\x85", b"\x86", b"\x87", b"2", b"."]),
    st.builds(lambda code, text: code + bytes([len(text)]) + text, st.sampled_from([b"U", b"\x8c", b"C"]), _SHORT),
    st.builds(lambda code, number: code + number, st.sampled_from([b"K", b"h", b"q"]), _BYTE),
    st.builds(lambda code, n: bytes([code]) + struct.pack("<Q", n)[:4], st.sampled_from(b"TX\x8bBjr"), ODD),
    st.builds(lambda code, n: bytes([code]) + struct.pack("<Q", n), st.sampled_from(b"\x8d\x8e\x95\x96"), ODD),
    st.sampled_from([b"cnumpy\ndtype\n", b"cnumpy.core.multiarray\n_reconstruct\n", b"c_codecs\nencode\n"]),
    st.just(b"cos\nsystem\n"),
    st.binary(min_size=1, max_size=3),
)  # fmt: skip
PICKLES = st.lists(_INSTRUCTION, max_size=60).map(lambda codes: b"\x80\x04" + b"".join(codes) + b".")
#: a key of tuples within tuples, each twice in the next, and one of tuples within tuples 200,000 deep
DOUBLING_KEY = b"\x80\x02}K\x01" + b"2\x86" * 200 + b"K\x01s."
DEEP_KEY = b"\x80\x02}K\x01" + b"\x85" * 200_000 + b"K\x01s."
