"""The many trees of a forest as a few arrays.

skops writes an entry for every array and attribute of every tree, which takes most of the time and size of a model of
hundreds of small trees. So their arrays are put one behind the other before a model is written, and taken apart again
when it is read. Only the first tree is written whole; the others are like it in all but their arrays and seeds.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.ensemble import BaseEnsemble

from worstclass.storage.skops_checks import parts_of

Arrays = dict[str, npt.NDArray[Any]]

#: where trees are: a list of decision trees, and a list of stages of trees of histogram-based gradient boosting
ESTIMATORS, PREDICTORS = "estimators_", "_predictors"
#: the arrays of one tree of each kind
NAMES = {
    ESTIMATORS: ("nodes", "values", "max_depth", "random_state"),
    PREDICTORS: ("nodes", "binned_left_cat_bitsets", "raw_left_cat_bitsets"),
}
_TREE = ("sklearn.tree._tree", "Tree")
_PREDICTOR = ("sklearn.ensemble._hist_gradient_boosting.predictor", "TreePredictor")
#: trees of a stack, and attributes of a tree, at most: in memory each tree is an object with attributes of its own,
#: however small its arrays are
MOST_TREES, MOST_ATTRIBUTES = 100_000, 50


class StackedTrees(BaseEstimator):
    """Stands for the trees of a forest in a .skops file. It is an estimator because other classes would not be trusted.

    Parameters
    ----------
    first : the first tree, whole.
    arrays : those of all trees by name, one behind the other; the first tree is among them.
    lengths : how long the array of each tree is, by name.
    width : trees of a stage, if they are a list of stages; 0 for a list of trees.
    """

    def __init__(self, first: Any, arrays: Arrays, lengths: Arrays, width: int) -> None:
        self.first = first
        self.arrays = arrays
        self.lengths = lengths
        self.width = width


def stacked(model: Any) -> Any:
    """Return a copy of a model with stacked trees, which shares its arrays; the model itself if it has no forest."""
    stacks = {}
    for owner in parts_of(model):
        name = _place(owner)
        if name is not None and (stack := _stack(vars(owner)[name], name)) is not None:
            stacks[id(vars(owner)[name])] = stack
    if not stacks:
        return model
    shared = {id(part): part for part in parts_of(model) if isinstance(part, np.ndarray)}
    return copy.deepcopy(model, {**shared, **stacks})


def unstacked(model: Any) -> Any:
    """Return a model that was just read, with its trees in their places; refuse arrays that do not fit."""
    used: set[int] = set()
    for owner in list(parts_of(model)):
        name = _place(owner)
        if name is not None and isinstance(stack := vars(owner)[name], StackedTrees):
            arrays = {id(array) for part in (stack.arrays, stack.lengths) for array in part.values()}
            if used & arrays or len(arrays) < 2 * len(NAMES[name]):
                raise ValueError("it has stacked trees that share their arrays")
            used |= arrays
            vars(owner)[name] = _unstack(stack, name)
    if any(isinstance(part, StackedTrees) for part in parts_of(model)):
        raise ValueError("it has stacked trees where no forest has trees")
    return model


def _place(owner: Any) -> str | None:
    """Return the attribute of a forest of scikit-learn in which its trees are; None for anything else.

    Ensembles of other packages may hold the same trees in a second place.
    """
    if not isinstance(owner, BaseEstimator) or not type(owner).__module__.startswith("sklearn."):
        return None
    if PREDICTORS in vars(owner):
        return PREDICTORS
    return ESTIMATORS if isinstance(owner, BaseEnsemble) and ESTIMATORS in vars(owner) else None


def _stack(value: Any, name: str) -> StackedTrees | None:
    """Return trees stacked; None for what is no list of trees that are alike."""
    if type(value) is not list or not value:
        return None
    width = len(value[0]) if name == PREDICTORS else 0
    trees = [tree for stage in value for tree in stage] if width else value
    even = not width or all(len(stage) == width for stage in value)
    if not even or not 1 < len(trees) <= MOST_TREES or not all(_is_like(tree, trees[0], name) for tree in trees):
        return None
    parts = [_arrays_of(tree, name) for tree in trees]
    arrays = {each: _joined([part[each] for part in parts]) for each in NAMES[name]}
    lengths = {each: np.array([len(part[each]) for part in parts]) for each in NAMES[name]}
    return StackedTrees(trees[0], arrays, lengths, width)


def _unstack(stack: StackedTrees, name: str) -> list[Any]:
    n_trees, width = len(stack.lengths["nodes"]), stack.width
    if not _is_tree(stack.first, name):
        raise ValueError(f"it has stacked trees of an unknown kind, {type(stack.first).__name__}")
    if not 1 <= n_trees <= MOST_TREES or (stack.lengths["nodes"] < 1).any():
        raise ValueError(f"it has a decision tree without nodes, or more than {MOST_TREES:,} trees in a stack")
    if type(width) is not int or width < 0 or (width == 0) != (name == ESTIMATORS) or (width and n_trees % width):
        raise ValueError("it has stages with different numbers of trees")
    columns = [_divided(stack.arrays[each], stack.lengths[each], n_trees) for each in NAMES[name]]
    make = _tree_like if name == ESTIMATORS else _predictor_like
    trees = [make(stack.first, dict(zip(NAMES[name], parts, strict=True))) for parts in zip(*columns, strict=True)]
    return [trees[start : start + width] for start in range(0, n_trees, width)] if width else trees


def _is_tree(tree: Any, name: str) -> bool:
    """Return whether it is a tree that can be stacked: its seed is a whole number, and it has no unusual attributes."""
    if name == PREDICTORS:
        return _class_of(tree) == _PREDICTOR and vars(tree).keys() == set(NAMES[name])
    sound = _class_of(getattr(tree, "tree_", None)) == _TREE and type(getattr(tree, "random_state", None)) is int
    return sound and len(vars(tree)) <= MOST_ATTRIBUTES


def _class_of(value: Any) -> tuple[str, str]:
    return type(value).__module__, type(value).__name__


def _is_like(tree: Any, first: Any, name: str) -> bool:
    """Return whether a tree has the type and attributes of another one, but for its arrays and seed."""
    if type(tree) is not type(first) or not _is_tree(tree, name):
        return False
    if name == PREDICTORS:
        pairs = [(array, vars(first)[each]) for each, array in vars(tree).items()]
        return all((one.dtype, one.shape[1:]) == (other.dtype, other.shape[1:]) for one, other in pairs)
    own, others = ({**vars(each), "tree_": None, "random_state": None} for each in (tree, first))
    return own.keys() == others.keys() and all(_is_same(own[each], others[each]) for each in own)


def _is_same(value: Any, other: Any) -> bool:
    same_type = type(value) is type(other) and getattr(value, "dtype", None) == getattr(other, "dtype", None)
    return same_type and np.array_equal(value, other)


def _arrays_of(tree: Any, name: str) -> Arrays:
    if name == PREDICTORS:
        return dict(vars(tree))
    state = tree.tree_.__getstate__()
    numbers = {"max_depth": np.array([state["max_depth"]]), "random_state": np.array([tree.random_state])}
    return {"nodes": state["nodes"], "values": state["values"], **numbers}


def _tree_like(first: Any, arrays: Arrays) -> Any:
    """Return a tree of some arrays that is otherwise like another one; scikit-learn refuses a wrong type or shape."""
    make, arguments, _ = first.tree_.__reduce__()
    tree = copy.copy(first)
    tree.random_state, depth = (int(arrays[name].item()) for name in ("random_state", "max_depth"))
    tree.tree_ = make(*arguments)
    nodes, values = arrays["nodes"], arrays["values"]
    tree.tree_.__setstate__({"max_depth": depth, "node_count": len(nodes), "nodes": nodes, "values": values})
    return tree


def _predictor_like(first: Any, arrays: Arrays) -> Any:
    """Return a tree of histogram-based gradient boosting; scikit-learn converts or refuses nodes of another type."""
    predictor: Any = object.__new__(type(first))
    predictor.__setstate__(arrays)
    return predictor


def _joined(arrays: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Return arrays one behind the other; ``np.concatenate`` would drop the gaps between the fields of nodes."""
    joined = np.zeros((sum(map(len, arrays)), *arrays[0].shape[1:]), dtype=arrays[0].dtype)
    end = 0
    for array in arrays:
        joined[end : end + len(array)] = array
        end += len(array)
    return joined


def _divided(array: npt.NDArray[Any], lengths: npt.NDArray[Any], n_parts: int) -> list[npt.NDArray[Any]]:
    """Return the parts of an array, without copies."""
    whole = lengths.dtype.kind == "i" and lengths.shape == (n_parts,)
    if (
        not whole or (lengths < 0).any() or (lengths > len(array)).any() or lengths.sum() != len(array)
    ):  # cannot overflow
        raise ValueError("it has stacked trees whose arrays have other lengths than it says")
    return np.split(array, np.cumsum(lengths)[:-1])
