"""What skops does not check of a .skops file: how much memory it asks for, what it calls, and where its trees lead.

A .skops file is a zip archive: ``schema.json`` is a tree of nodes, each with the name of a class and of what loads it,
and arrays are npy files beside it. skops checks the names.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from worstclass.data.arrays import require_npy
from worstclass.data.trees import require_member

#: loaders that make an object without calling its class, and those of containers, which call it with their items
_CALLS_NOTHING = ("ObjectNode", "TreeNode", "TypeNode", "FunctionNode")
_CONTAINERS = {"DictNode": dict, "ListNode": list, "SetNode": set, "TupleNode": tuple}
_LOSSES = ("sklearn._loss._loss", "sklearn.linear_model._sgd_fast")
#: classes that hand rows to their trees without another look at the number of columns
_UNCHECKED = {"BaseForest", "BaseGradientBoosting", "IsolationForest"}
#: packages of which classes are trusted by name
PACKAGES = ("sklearn.", "imblearn.", "worstclass.")
#: a whole number of numpy.random, 4 where nobody changes it, of which as many words are reserved
MOST_POOL = 1_000


def canonical(content: bytes) -> bytes:
    """Return a .skops file without times and addresses in memory: the same estimator gives the same bytes."""
    numbers: dict[str, str] = {}

    def number(found: re.Match[str]) -> str:
        return found[1] + numbers.setdefault(found[2], str(len(numbers) + 1))

    written = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(written, "w") as new:
        schema = re.sub(r'("__id__": |"file": ")([\w-]+)', number, old.read("schema.json").decode())
        parts = {name.partition("."): old.read(name) for name in old.namelist() if name != "schema.json"}
        new.writestr(zipfile.ZipInfo("schema.json"), schema)
        for (stem, dot, suffix), part in sorted(parts.items(), key=lambda item: int(numbers[item[0][0]])):
            whole = _without_gaps(part) if suffix == "npy" else part
            new.writestr(zipfile.ZipInfo(f"{numbers[stem]}{dot}{suffix}"), whole)
    return written.getvalue()


def _without_gaps(npy: bytes) -> bytes:
    """Return a npy file with zeros between the fields of its array: numpy writes what was in memory there.

    Nodes of decision trees have such gaps. The bytes are changed, as numpy copies fields alone.
    """
    if b"('', '|V" not in npy[:1000]:
        return npy
    array = np.load(io.BytesIO(npy), allow_pickle=False)
    gaps = np.ones(array.dtype.itemsize, dtype=bool)
    for kind, start, *_ in array.dtype.fields.values():
        gaps[start : start + kind.itemsize] = False
    start = len(npy) - array.nbytes
    rows = np.frombuffer(npy, np.uint8, offset=start).reshape(-1, len(gaps)).copy()
    rows[:, gaps] = 0
    return npy[:start] + rows.tobytes()


def names_without_a_place(content: bytes) -> list[str]:
    """Return what a .skops file names that no module has, such as ``<lambda>``."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        schema = archive.read("schema.json")
    if b"<" not in schema:
        return []
    names = {f"{node.get('__module__')}.{node.get('__class__')}" for node in _nodes(json.loads(schema))}
    return sorted(name for name in names if "<" in name)


def require_bounded(content: bytes, trusted: Sequence[str], find_class: Callable[..., type | None]) -> set[str]:
    """Refuse a file that asks for far more memory than it has bytes, or that calls a class it should only name.

    Returns the names of all classes and functions in the file.

    Parameters
    ----------
    content : the bytes of the .skops file.
    trusted : names of classes that the user trusts; nodes of these may do anything.
    find_class : returns the class of a name in some packages.
    """
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        sizes = {info.filename: info.file_size for info in archive.infolist()}
        for info in archive.infolist():
            require_member(info, len(content), info.filename)
        if sum(sizes.values()) > len(content) or len(sizes) < len(archive.infolist()):
            raise ValueError("its parts have more bytes than the file; parts are stored, not compressed")
        schema, read, named = json.loads(archive.read("schema.json")), dict[Any, int](), set[str]()
        _require_same_twins(schema, {})
        for number, node in enumerate(_nodes(schema)):
            name = f"{node.get('__module__')}.{node.get('__class__')}"
            named.add(name)
            if name in trusted:
                continue
            _require_plain(node, find_class)
            if isinstance(file := node.get("file"), str):
                read[node.get("__id__") or -number, file] = sizes[file]
        if sum(read.values()) > len(content):
            raise ValueError("its arrays are named so often that they have more bytes than the file")
        for _, name in read:
            _require_array(archive, name, sizes[name])
    return named


def _nodes(schema: Any) -> Iterator[Mapping[str, Any]]:
    """Yield every object of a JSON value, without recursion."""
    waiting = [schema]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            yield value
            waiting += [part for part in value.values() if isinstance(part, dict | list)]
        elif isinstance(value, list):
            waiting += value


def _require_same_twins(value: Any, known: dict[Any, int]) -> int:
    """Refuse nodes of one id that differ in more than ids and files; return the hash of a value without these.

    skops takes the first node of an id for all: others could look harmless here, or stand for a large one very often.
    """
    if isinstance(value, list):
        return hash(("list", *[_require_same_twins(item, known) for item in value]))
    if not isinstance(value, dict):
        return hash((type(value), value))
    parts = [(key, _require_same_twins(item, known)) for key, item in value.items()]
    found = hash(tuple(part for part in parts if part[0] not in ("__id__", "file")))
    if (name := value.get("__id__")) and known.setdefault(name, found) != found:
        raise ValueError(f"it has different parts of the same id, {name!r:.100}")
    return found


def _require_plain(node: Mapping[str, Any], find_class: Callable[..., type | None]) -> None:
    """Refuse a node that calls a class of a trusted package, or what reserves memory."""
    loader, name = node.get("__loader__"), f"{node.get('__module__')}.{node.get('__class__')}"
    if name.startswith(PACKAGES) and loader not in _CALLS_NOTHING:
        found = find_class(name, *PACKAGES)
        is_container = found is not None and issubclass(found, _CONTAINERS.get(str(loader), ()))
        if not is_container and not (loader == "LossNode" and node["__module__"] in _LOSSES):
            raise ValueError(f"it would call {name} ({loader})")
    if loader == "NdArrayNode" and name == "numpy.void":
        raise ValueError("it holds bytes without a type")
    for key in node.get("key_types", {}).get("content", ()):
        if key["__module__"] not in ("builtins", "numpy"):
            raise ValueError("it would call what stands for the type of a key")
    pool = node.get("pool_size")
    if isinstance(pool, dict) and not 0 < json.loads(pool["content"]) <= MOST_POOL:
        raise ValueError("it asks for a random generator of an unusual size")


def _require_array(archive: zipfile.ZipFile, name: str, size: int) -> None:
    """Refuse an array, or a sparse matrix, whose header asks for more than there is."""
    if name.endswith(".npy"):
        with archive.open(name) as stream:
            require_npy(stream, size)
    elif name.endswith(".npz"):
        with zipfile.ZipFile(io.BytesIO(archive.read(name))) as inner:
            for info in inner.infolist():
                require_member(info, size, name)
                with inner.open(info) as stream:
                    require_npy(stream, info.file_size)


def require_sound_trees(model: Any) -> None:
    """Refuse decision trees whose nodes lead in circles or out of their arrays: scikit-learn follows them unchecked."""
    for owner in parts_of(model):
        values = vars(owner) if hasattr(owner, "__dict__") else {}
        unchecked = _UNCHECKED & {kind.__name__ for kind in type(owner).__mro__}
        for each in (owner, *(_items(values.get("estimators_")) if unchecked else ())):
            if (tree := getattr(each, "tree_", None)) is not None:
                _require_sound(tree.children_left, tree.children_right, tree.feature, values)
                _require_depth(tree.children_left, tree.children_right, tree.max_depth)
        for predictor in [each for stage in _items(values.get("_predictors")) for each in _items(stage)]:
            _require_sound_predictor(predictor, values)


def _require_sound(left: Any, right: Any, feature: Any, values: Mapping[str, Any]) -> None:
    """Refuse nodes whose children do not follow them, or that read other columns than the rows are known to have."""
    n_nodes, inner = len(left), left != -1
    places, features = np.arange(n_nodes)[inner], feature[inner]
    ahead = [(child[inner] > places) & (child[inner] < n_nodes) for child in (left, right)]
    there = (features >= 0) & (features < values.get("n_features_in_", 0))
    if not n_nodes or not np.all(ahead) or not there.all():
        raise ValueError("it has a decision tree whose nodes lead in circles, or to what is not there")


def _require_depth(left: Any, right: Any, max_depth: int) -> None:
    """Refuse a sound tree that is deeper than it says: scikit-learn reserves memory for paths of that length."""
    children = np.column_stack([left, right])
    below = children[children != -1]
    if len(np.unique(below)) < len(below):
        raise ValueError("it has a decision tree with a node that has two parents")
    level, depth = np.zeros(1, dtype=np.int64), 0
    while len(level := children[level][children[level] != -1]):
        depth += 1
    if depth > max_depth:
        raise ValueError(f"it has a decision tree of depth {depth} that says {max_depth}")


def _require_sound_predictor(predictor: Any, values: Mapping[str, Any]) -> None:
    """Refuse unsound nodes of a tree of histogram-based gradient boosting."""
    nodes, sets = predictor.nodes, predictor.raw_left_cat_bitsets
    inner = nodes["is_leaf"] == 0
    left, right = (np.where(inner, nodes[side].astype(np.int64), -1) for side in ("left", "right"))
    _require_sound(left, right, nodes["feature_idx"], values)
    used = nodes["bitset_idx"][inner & (nodes["is_categorical"] != 0)]
    if (used >= len(sets)).any() or sets.shape[1:] != (8,):
        raise ValueError("it has a decision tree with categories that are not there")


def bytes_of(model: Any) -> int:
    """Return how many bytes the arrays and tensors of a model have, about as many as its files."""
    trees = (getattr(part, "tree_", None) for part in parts_of(model))
    arrays = (tree.__getstate__() for tree in trees if hasattr(tree, "__getstate__"))
    return sum(int(getattr(part, "nbytes", 0)) for whole in (model, *arrays) for part in parts_of(whole))


def parts_of(model: Any) -> Iterator[Any]:
    """Yield an object and everything inside it, once each."""
    waiting, seen = [model], {}
    while waiting:
        value = waiting.pop()
        if id(value) in seen or isinstance(value, str | bytes | int | float | type):
            continue
        seen[id(value)] = value
        yield value
        waiting += value.values() if isinstance(value, dict) else _items(value)
        waiting += vars(value).values() if hasattr(value, "__dict__") else ()


def _items(value: Any) -> list[Any]:
    """Return the items of a list, a tuple, a set or an array of objects; none of anything else."""
    if isinstance(value, np.ndarray):
        return list(value.ravel()) if value.dtype == object else []
    return list(value) if isinstance(value, list | tuple | set) else []
