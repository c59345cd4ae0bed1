"""Trees of scikit-learn in float64: the operator ``TreeEnsemble``, and the ensembles made of them.

skl2onnx writes trees with operators that add up in float32. That is not exact: in a forest classes are often tied, and
the rounding decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from onnx import numpy_helper
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier

from worstclass._typing import BoolArray, FloatArray, IntArray
from worstclass.exceptions import ExportError
from worstclass.export.backend import Value
from worstclass.export.onnx_graph import OnnxValue
from worstclass.export.onnx_sklearn import ScoredPart, classifier
from worstclass.export.parts import ModelPart, part_of

#: codes of the operator: a row goes left where its value is at most that of the node; leaves are added up
LESS_OR_EQUAL, SUM, NO_TRANSFORM = 0, 1, 0


class Tree(NamedTuple):
    """One tree by its nodes: the children of leaves are of no account, and neither are the values of others."""

    is_leaf: BoolArray
    left: IntArray
    right: IntArray
    feature: IntArray
    threshold: FloatArray
    missing_left: BoolArray
    value: FloatArray

    @classmethod
    def of(cls, tree: Any, value: FloatArray) -> Tree:
        """Return a tree of ``sklearn.tree``, with a value for each node."""
        leaf, missing = tree.children_left < 0, tree.missing_go_to_left.astype(np.bool_)
        return cls(leaf, tree.children_left, tree.children_right, tree.feature, tree.threshold, missing, value)

    @classmethod
    def of_histogram(cls, nodes: Any) -> Tree:
        """Return a tree of histogram-based gradient boosting."""
        names = ("is_leaf", "left", "right", "feature_idx", "num_threshold", "missing_go_to_left", "value")
        leaf, left, right, feature, threshold, missing, value = (np.asarray(nodes[name]) for name in names)
        return cls(leaf.astype(np.bool_), left, right, feature, threshold, missing.astype(np.bool_), value)


def tree_sums(rows: OnnxValue, trees: Sequence[Tree], targets: Sequence[IntArray], n_targets: int) -> OnnxValue:
    """Return for each row and target the sum of the values of the leaves that it reaches, shape (n, n_targets).

    Parameters
    ----------
    rows : shape (n, d), float64.
    trees : with one number as value of each node.
    targets : of each tree, to which target each node contributes.
    n_targets : their number.
    """
    nodes: dict[str, list[npt.NDArray[Any]]] = {name: [] for name in ("feature", "split", "missing", "roots")}
    nodes |= {name: [] for name in ("true", "true_leaf", "false", "false_leaf", "weight", "target")}
    n_inner = n_leaves = 0
    for tree, target in zip(trees, targets, strict=True):
        inner = np.flatnonzero(~tree.is_leaf)
        place = np.where(tree.is_leaf, n_leaves + np.cumsum(tree.is_leaf) - 1, n_inner + np.cumsum(~tree.is_leaf) - 1)
        left, right = tree.left[inner], tree.right[inner]
        if not len(inner):  # a single leaf: both ways lead to it
            inner = left = right = np.zeros(1, dtype=np.int64)
        nodes["roots"].append(np.array([n_inner]))
        nodes["feature"].append(np.maximum(tree.feature[inner], 0))
        nodes["split"].append(tree.threshold[inner])
        nodes["missing"].append(tree.missing_left[inner])
        for name, child in (("true", left), ("false", right)):
            nodes[name].append(place[child])
            nodes[f"{name}_leaf"].append(tree.is_leaf[child])
        nodes["weight"].append(tree.value[tree.is_leaf])
        nodes["target"].append(target[tree.is_leaf])
        n_inner, n_leaves = n_inner + len(inner), n_leaves + int(tree.is_leaf.sum())
    arrays = {name: np.concatenate(parts) for name, parts in nodes.items()}
    whole = {
        name: values.astype(np.int64).tolist() for name, values in arrays.items() if name not in ("split", "weight")
    }
    return rows.graph.op(
        "TreeEnsemble", rows, domain="ai.onnx.ml", n_targets=n_targets, aggregate_function=SUM,
        post_transform=NO_TRANSFORM, tree_roots=whole["roots"], nodes_featureids=whole["feature"],
        nodes_modes=numpy_helper.from_array(np.full(n_inner, LESS_OR_EQUAL, dtype=np.uint8)),
        nodes_splits=numpy_helper.from_array(arrays["split"].astype(np.float64)),
        nodes_truenodeids=whole["true"], nodes_trueleafs=whole["true_leaf"], nodes_falsenodeids=whole["false"],
        nodes_falseleafs=whole["false_leaf"], nodes_missing_value_tracks_true=whole["missing"],
        leaf_targetids=whole["target"], leaf_weights=numpy_helper.from_array(arrays["weight"].astype(np.float64)),
    )  # fmt: skip


@classifier.register(DecisionTreeClassifier)
@classifier.register(RandomForestClassifier)
@classifier.register(ExtraTreesClassifier)
class ForestPart(ScoredPart):
    """The mean of the class shares in the leaves of one or more trees, added up in the order of the trees."""

    def predict_proba(self) -> Value:
        """Return the mean of the trees' probabilities."""
        estimators = getattr(self.estimator, "estimators_", [self.estimator])
        trees, K = [estimator.tree_ for estimator in estimators], len(self.classes)
        shares = [tree.value[:, 0, :K] for tree in trees]
        rows = self.rows.matrix(self.estimator).to(np.float32).to(np.float64)  # trees compare float32 with float64
        leaves = [tree.children_left < 0 for tree in trees]
        pure = all((share[leaf].max(axis=1) == 1).all() for share, leaf in zip(shares, leaves, strict=True))
        if pure:  # whole numbers: the order of the sum has no effect
            whole = [Tree.of(tree, np.ones(tree.node_count)) for tree in trees]
            return tree_sums(rows, whole, [share.argmax(axis=1) for share in shares], K) / float(len(trees))
        reached = self._reached(rows, trees)
        total = self.ops.array(np.zeros((1, K)))
        for number, share in enumerate(shares):
            node = self.rows.graph.op("Gather", reached, np.array(number), axis=1)
            total = total + self.ops.take(share, node)
        return total / float(len(trees))

    def _reached(self, rows: OnnxValue, trees: Sequence[Any]) -> OnnxValue:
        """Return the number of the leaf that each row reaches in each tree, shape (n, trees)."""
        numbered = [Tree.of(tree, np.arange(tree.node_count)) for tree in trees]
        targets = [np.full(tree.node_count, number) for number, tree in enumerate(trees)]
        return tree_sums(rows, numbered, targets, len(trees))


class BoostedTreesPart(ScoredPart):
    """A sum of trees for each class, or for the second of two, and its softmax."""

    def predict_proba(self) -> Value:
        """Return the softmax, or the logistic function of a single sum."""
        raw = self.value("raw")
        return self.ops.softmax(raw @ self.ops.array([[0.0, 1.0]]) if len(self.classes) == 2 else raw)

    def decision_function(self) -> Value:
        """Return the sums."""
        raw = self.value("raw")
        return raw @ self.ops.array([[0.0, 1.0]]) if len(self.classes) == 2 else raw

    def answers(self) -> Value:
        """Return the class with the largest sum."""
        return self.ops.argmax(self.value("decision_function"))


@classifier.register(HistGradientBoostingClassifier)
class HistogramPart(BoostedTreesPart):
    """Histogram-based gradient boosting: thresholds are compared in float64."""

    def raw(self) -> Value:
        """Return the sum for each class, or for the second of two."""
        boosted = self.estimator
        if boosted.is_categorical_ is not None:
            raise ExportError(
                "HistGradientBoostingClassifier cannot be exported with columns of categories. Encode them in a step "
                "before it, such as TableEncoder."
            )
        predictors = [predictor for iteration in boosted._predictors for predictor in iteration]
        trees = [Tree.of_histogram(predictor.nodes) for predictor in predictors]
        K = boosted.n_trees_per_iteration_
        targets = [np.full(len(tree.value), number % K) for number, tree in enumerate(trees)]
        rows = self.rows.matrix(boosted).to(np.float64)
        return tree_sums(rows, trees, targets, K) + boosted._baseline_prediction.astype(np.float64)


@classifier.register(GradientBoostingClassifier)
class GradientPart(BoostedTreesPart):
    """Gradient boosting that starts from the class shares or from 0."""

    def raw(self) -> Value:
        """Return the sum for each class, or for the second of two."""
        boosted = self.estimator
        if boosted.init_ != "zero" and not isinstance(boosted.init_, DummyClassifier):
            raise ExportError("GradientBoostingClassifier cannot be exported with an init of your own.")
        start = boosted._raw_predict_init(np.zeros((1, boosted.n_features_in_), dtype=np.float32))
        trees, targets, rate = [], [], boosted.learning_rate
        for stage in boosted.estimators_:
            for k, regressor in enumerate(stage):
                trees.append(Tree.of(regressor.tree_, rate * regressor.tree_.value[:, 0, 0]))
                targets.append(np.full(regressor.tree_.node_count, k))
        rows = self.rows.matrix(boosted).to(np.float32).to(np.float64)
        return tree_sums(rows, trees, targets, boosted.n_trees_per_iteration_) + start


@classifier.register(AdaBoostClassifier)
class AdaBoostPart(ScoredPart):
    """A weighted vote of classifiers."""

    def answers(self) -> Value:
        """Return the class with the largest decision."""
        return self.ops.argmax(self.value("decision_function"))

    def decision_function(self) -> Value:
        """Return the weighted votes for each class; of two classes, 0 and the votes for the second minus the first."""
        boosted, K = self.estimator, len(self.classes)
        total = self.ops.array(np.zeros((1, K)))
        for member, weight in zip(boosted.estimators_, boosted.estimator_weights_.tolist(), strict=False):
            chosen = self.ops.one_hot(_index(self, part_of(member, self.rows)), K)
            votes = self.ops.array([-weight / (K - 1)])
            total = total + self.ops.where(chosen, weight, votes)
        return self.difference(total / self.ops.array(np.full(K, boosted.estimator_weights_.sum())))

    def predict_proba(self) -> Value:
        """Return the softmax of the decisions over K - 1."""
        return self.ops.softmax(self.value("decision_function") / float(len(self.classes) - 1))


@classifier.register(BaggingClassifier)
class BaggingPart(ScoredPart):
    """The mean of the probabilities of classifiers, each of which may see some of the columns."""

    def predict_proba(self) -> Value:
        """Return the mean of the probabilities."""
        bagged, K = self.estimator, len(self.classes)
        rows, total = self.rows.matrix(bagged), self.ops.array(np.zeros((1, K)))
        for member, features in zip(bagged.estimators_, bagged.estimators_features_, strict=True):
            seen = rows if len(features) == 0 else self.rows.graph.op("Gather", rows, np.asarray(features), axis=1)
            part = part_of(member, self.rows.with_values(seen))
            total = total + part.value("predict_proba") @ self.ops.array(np.eye(K)[part.classes.astype(np.int64)])
        return total / float(bagged.n_estimators)


def _index(outer: ModelPart, part: ModelPart) -> Value:
    """Return the answers of a part as indices of the classes of another."""
    return outer.ops.take(np.searchsorted(outer.classes, part.classes), part.value("answers"))
