"""The many trees of a forest as a few arrays.

skops writes an entry for every array and attribute of every tree, which takes most of the time and size of a model of
hundreds of small trees. So their arrays are put one behind the other before a model is written, and taken apart again
when it is read. Only the first tree is written whole; the others are like it in all but their arrays and seeds.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from worstclass.storage.skops_checks import parts_of

Arrays = dict[str, npt.NDArray[Any]]

#: trees of a stack: a small tree takes about ten times as much memory as its arrays
MOST_TREES = 100_000


class StackedTrees(BaseEstimator):
    """Stands for a list of trees in a .skops file.

    Parameters
    ----------
    first : the first tree, whole.
    arrays : those of all trees by name, one behind the other.
    lengths : how long the array of each tree is, by name.
    width : trees of a stage, if they are a list of stages; 0 for a list of trees.
    """

    def __init__(self, first: Any, arrays: Arrays, lengths: Arrays, width: int) -> None:
        self.first = first
        self.arrays = arrays
        self.lengths = lengths
        self.width = width


def stacked(model: Any) -> Any:
    """Return a model with stacked trees; the model itself stays as it is, and what has no trees is shared with it."""
    done: dict[int, Any] = {}

    def visit(value: Any) -> Any:
        if id(value) not in done:
            done[id(value)] = _stack(value) or inside(value)
        return done[id(value)]

    def inside(value: Any) -> Any:
        if type(value) in (list, tuple):
            items = [visit(item) for item in value]
            return value if _same(items, value) else type(value)(items)
        if isinstance(value, BaseEstimator):
            attributes = {name: visit(item) for name, item in vars(value).items()}
            if not _same(list(attributes.values()), list(vars(value).values())):
                changed: Any = object.__new__(type(value))
                vars(changed).update(attributes)
                return changed
        return value

    return visit(model)


def unstacked(model: Any) -> Any:
    """Return a model that was just read, with its trees in their places; refuse arrays that do not fit."""
    for owner in list(parts_of(model)):
        for name, value in vars(owner).items() if hasattr(owner, "__dict__") else ():
            if isinstance(value, StackedTrees):
                setattr(owner, name, _unstack(value))
    return model


def _stack(value: Any) -> StackedTrees | None:
    """Return a list of trees, or of stages of trees, stacked; None for anything else."""
    if type(value) is not list or not value:
        return None
    width = len(value[0]) if type(value[0]) is list else 0
    if width and any(type(stage) is not list or len(stage) != width for stage in value):
        return None
    trees = [tree for stage in value for tree in stage] if width else value
    kind = _kind(trees[0])
    if kind is None or not 1 < len(trees) <= MOST_TREES or not all(_is_like(tree, trees[0]) for tree in trees):
        return None
    parts = [kind[0](tree) for tree in trees]
    arrays = {name: _joined([part[name] for part in parts]) for name in parts[0]}
    lengths = {name: np.array([len(part[name]) for part in parts]) for name in parts[0]}
    return StackedTrees(trees[0], arrays, lengths, width)


def _unstack(stack: StackedTrees) -> list[Any]:
    kind = _kind(stack.first)
    if kind is None:
        raise ValueError(f"it has stacked trees of an unknown kind, {type(stack.first).__name__}")
    names, n_trees = kind[0](stack.first).keys(), len(stack.lengths["nodes"])
    if n_trees > MOST_TREES or (stack.lengths["nodes"] < 1).any():
        raise ValueError(f"it has a decision tree without nodes, or more than {MOST_TREES:,} trees in a stack")
    columns = {name: _divided(stack.arrays[name], stack.lengths[name], n_trees) for name in names}
    trees = [kind[1](stack.first, {name: columns[name][number] for name in names}) for number in range(n_trees)]
    if not stack.width:
        return trees
    if n_trees % stack.width:
        raise ValueError("it has stages with different numbers of trees")
    return [trees[start : start + stack.width] for start in range(0, n_trees, stack.width)]


def _kind(tree: Any) -> tuple[Callable[[Any], Arrays], Callable[[Any, Arrays], Any]] | None:
    """Return what reads the arrays of a tree, and what makes a tree like another one of arrays."""
    if _named(getattr(tree, "tree_", None), "sklearn.tree._tree", "Tree"):
        return (_of_tree, _tree_like) if isinstance(getattr(tree, "random_state", None), int) else None
    return (_of_predictor, _predictor_like) if _named(tree, *_PREDICTOR) else None


_PREDICTOR = ("sklearn.ensemble._hist_gradient_boosting.predictor", "TreePredictor")


def _named(value: Any, module: str, name: str) -> bool:
    return (type(value).__module__, type(value).__name__) == (module, name)


def _of_tree(tree: Any) -> Arrays:
    state = tree.tree_.__getstate__()
    numbers = {"max_depth": state["max_depth"], "random_state": tree.random_state}
    return {"nodes": state["nodes"], "values": state["values"], **{name: np.array([n]) for name, n in numbers.items()}}


def _tree_like(first: Any, arrays: Arrays) -> Any:
    """Return a tree of the given arrays; scikit-learn refuses those of a wrong type or shape."""
    make, arguments, _ = first.tree_.__reduce__()
    tree = copy.copy(first)
    tree.random_state, depth = (int(arrays[name].item()) for name in ("random_state", "max_depth"))
    tree.tree_ = make(*arguments)
    nodes, values = arrays["nodes"], arrays["values"]
    tree.tree_.__setstate__({"max_depth": depth, "node_count": len(nodes), "nodes": nodes, "values": values})
    return tree


def _of_predictor(predictor: Any) -> Arrays:
    return dict(vars(predictor))


def _predictor_like(first: Any, arrays: Arrays) -> Any:
    if any(array.dtype != getattr(first, name).dtype for name, array in arrays.items()):
        raise ValueError("it has a decision tree with arrays of another type")
    predictor = copy.copy(first)
    vars(predictor).update(arrays)
    return predictor


def _is_like(tree: Any, first: Any) -> bool:
    """Return whether a tree has the type and attributes of another one, but for its arrays and seed."""
    if type(tree) is not type(first) or _kind(tree) is None:
        return False
    own, others = ({**vars(each), "tree_": None, "random_state": None} for each in (tree, first))
    if _named(tree, *_PREDICTOR):
        return all(array.dtype == others[name].dtype for name, array in vars(tree).items())
    return own.keys() == others.keys() and all(np.array_equal(own[name], others[name]) for name in own)


def _joined(arrays: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Return arrays one behind the other; ``np.concatenate`` would drop the gaps between the fields of nodes."""
    joined = np.zeros((sum(map(len, arrays)), *arrays[0].shape[1:]), dtype=arrays[0].dtype)
    end = 0
    for array in arrays:
        joined[end : end + len(array)] = array
        end += len(array)
    return joined


def _divided(array: npt.NDArray[Any], lengths: npt.NDArray[Any], n_parts: int) -> list[npt.NDArray[Any]]:
    whole = lengths.dtype.kind == "i" and lengths.shape == (n_parts,) and (lengths >= 0).all()
    if not whole or lengths.sum() != len(array):
        raise ValueError("it has stacked trees whose arrays have other lengths than it says")
    return [part.copy() for part in np.split(array, np.cumsum(lengths)[:-1])]


def _same(items: Sequence[Any], others: Sequence[Any] | Mapping[Any, Any]) -> bool:
    return all(item is other for item, other in zip(items, others, strict=True))
