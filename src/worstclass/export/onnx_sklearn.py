"""Scikit-learn classifiers and steps as parts of an ONNX graph, in float64.

What skl2onnx converts exactly is left to it. Here is what it lacks, or computes in float32: kernels, support vector
machines, trees (``onnx_trees``), and the steps of this package.

A product of matrices is never multiplied by a single number here: onnxruntime makes that one operation, with the number
in float32.
"""

from __future__ import annotations

from functools import singledispatch
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from worstclass.data.encoding import TableEncoder
from worstclass.ensembles.images import PatchFeatures, Pixels
from worstclass.ensembles.portfolio import SoftmaxSVC
from worstclass.exceptions import ExportError
from worstclass.export.backend import Value
from worstclass.export.onnx_graph import Graph, OnnxValue
from worstclass.export.onnx_rows import OnnxRows
from worstclass.export.parts import ModelPart, part_of
from worstclass.learners.binning import QuantileGrid


@singledispatch
def transform(step: Any, rows: OnnxRows) -> OnnxRows:
    """Return the rows after a fitted step of a pipeline."""
    from worstclass.export.skl2onnx_parts import converted_step

    return rows if step in (None, "passthrough") else converted_step(step, rows)


@singledispatch
def classifier(estimator: Any, rows: OnnxRows) -> ModelPart:
    """Return the part of a fitted classifier."""
    from worstclass.export.skl2onnx_parts import ConvertedPart

    return ConvertedPart(estimator, rows)


class ScoredPart(ModelPart):
    """A classifier whose largest score answers: ``raw`` scores of each class, and their softmax as probabilities."""

    def __init__(self, estimator: Any, rows: OnnxRows) -> None:
        super().__init__(rows.ops, estimator.classes_)
        self.estimator, self.rows = estimator, rows

    def answers(self) -> Value:
        """Return the most probable class."""
        return self.ops.argmax(self.value("predict_proba"))


# steps


@transform.register
def _pipeline(step: Pipeline, rows: OnnxRows) -> OnnxRows:
    for _, inner in step.steps:
        rows = rows if hasattr(inner, "fit_resample") else transform(inner, rows)  # samplers of imbalanced-learn
    return rows


@transform.register
def _table(step: TableEncoder, rows: OnnxRows) -> OnnxRows:
    return rows.encoded(step)


@transform.register
def _scaler(step: StandardScaler, rows: OnnxRows) -> OnnxRows:
    """Standardise as scikit-learn does: in float32 where the rows are, else in float64."""
    values = rows.matrix(step)
    values = values if values.dtype == np.float32 else values.to(np.float64)
    if step.mean_ is not None and step.with_mean:
        values = values - step.mean_.astype(values.dtype)
    if step.scale_ is not None and step.with_std:
        values = values / step.scale_.astype(values.dtype)
    return rows.with_values(values)


@transform.register
def _imputer(step: SimpleImputer, rows: OnnxRows) -> OnnxRows:
    """Fill missing numbers; skl2onnx does it with an operator that takes no float64."""
    if step.add_indicator or step.missing_values is not np.nan or np.isnan(step.statistics_).any():
        raise ExportError("SimpleImputer can be exported where it fills NaN, without an indicator or empty columns.")
    return rows.with_values(rows.filled(rows.matrix(step).to(np.float64), step.statistics_))


@transform.register
def _grid(step: QuantileGrid, rows: OnnxRows) -> OnnxRows:
    """Put each column on its grid: the number of smaller edges is the place of its bin."""
    numbers, graph = rows.matrix(step).to(np.float64), rows.graph
    columns = []
    for j, edges in enumerate(step.edges_):
        column = graph.op("Gather", numbers, np.array([j]), axis=1)
        if edges is not None:
            place = (graph.constant(edges) < column).to(np.int64).reduced("Sum", 1, keep=True)
            binned = rows.ops.take(edges, graph.op("Min", place, len(edges) - 1))
            column = rows.ops.where(graph.op("IsNaN", column, dtype=np.bool_), column, binned)
        columns.append(column)
    return rows.with_values(graph.op("Concat", *columns, axis=1))


@transform.register
def _nystroem(step: Nystroem, rows: OnnxRows) -> OnnxRows:
    if step.kernel != "rbf":
        raise ExportError(f"Nystroem with the kernel {step.kernel!r} cannot be exported; 'rbf' can.")
    numbers = rows.matrix(step).to(np.float64)
    gamma = 1 / step.components_.shape[1] if step.gamma is None else step.gamma
    return rows.with_values(_rbf(rows.graph, numbers, step.components_, gamma) @ step.normalization_.T)


@transform.register
def _pixels(step: Pixels, rows: OnnxRows) -> OnnxRows:
    return rows.with_values(rows.matrix(step).to(np.float32).reshape(0, -1))


@transform.register
def _patches(step: PatchFeatures, rows: OnnxRows) -> OnnxRows:
    from worstclass.export.onnx_images import patch_features

    return rows.with_values(patch_features(step, rows.matrix(step).to(np.float32)))


def _rbf(graph: Graph, rows: OnnxValue, centres: Any, gamma: float) -> OnnxValue:
    """Return exp(-gamma * squared distance) to each centre, shape (n, centres)."""
    return graph.op("Exp", squared_distances(graph, rows, centres) * -float(gamma))


def squared_distances(graph: Graph, rows: OnnxValue, centres: Any) -> OnnxValue:
    """Return the squared Euclidean distances in float64, shape (n, centres)."""
    points = np.asarray(centres, dtype=np.float64)
    numbers = rows.to(np.float64)
    own = (numbers * numbers).reduced("Sum", 1, keep=True)
    return graph.op("Max", own - numbers @ (2 * points.T) + (points**2).sum(axis=1), 0.0)


# classifiers


@classifier.register
def _pipeline_classifier(estimator: Pipeline, rows: OnnxRows) -> ModelPart:
    before = rows.transformed(estimator[:-1]) if len(estimator) > 1 else rows
    return part_of(estimator[-1], before)


@classifier.register(SVC)
class SVCPart(ScoredPart):
    """A support vector machine: one decision for each pair of classes, and votes."""

    def answers(self) -> Value:
        """Return the class with the most votes, or (``break_ties``) with the largest decision."""
        if len(self.classes) == 2:
            return (self.value("pairs") > 0.0).to(np.int64).reshape(-1)
        return self.ops.argmax(self.value("decision_function" if self.estimator.break_ties else "votes"))

    def decision_function(self) -> Value:
        """Return the votes, with the confidence of the pairs as what divides equals."""
        if len(self.classes) == 2:
            return self.value("pairs") @ self.ops.array([[0.0, 1.0]])
        if self.estimator.decision_function_shape != "ovr":
            raise ExportError("SVC with decision_function_shape='ovo' has no score for each class to be exported.")
        confidence = self.value("pairs") @ self.ops.array(self._first() - self._second())
        size = self.rows.graph.op("Abs", confidence)
        return self.value("votes") + confidence / ((size + 1.0) * 3.0)

    def predict_proba(self) -> Value:
        """Return the probabilities of ``SoftmaxSVC``; others come from a calibration that is not exported."""
        if not isinstance(self.estimator, SoftmaxSVC):
            raise ExportError(
                "Probabilities of SVC cannot be exported. Fit it without probability=True; offsets and abstaining can "
                "use its decision_function (scores='decision', margin='decision')."
            )
        if len(self.classes) == 2:
            return self.ops.softmax(self.value("pairs") @ self.ops.array([[-1.0, 1.0]]))
        return self.ops.softmax(self.value("decision_function") * 2.0)

    def votes(self) -> Value:
        """Return how many pairs each class wins."""
        second = (self.value("pairs") < 0.0).to(np.float64)
        return second @ self.ops.array(self._second() - self._first()) + self._first().sum(axis=0)

    def pairs(self) -> Value:
        """Return the decision of each pair of classes, above 0 for the first; of two classes, above 0 for the second.

        Coefficients of a support vector are those against each other class, in the order of the classes.
        """
        svc, K = self.estimator, len(self.classes)
        kernel = self._kernel()
        if K == 2:
            return kernel @ _dense(svc.dual_coef_).T + svc.intercept_
        own = np.repeat(np.arange(K), svc.n_support_)
        coefficients = np.zeros((len(own), K * (K - 1) // 2))
        for number, (first, second) in enumerate(combinations(range(K), 2)):
            for k, other in ((first, second), (second, first)):
                coefficients[own == k, number] = _dense(svc.dual_coef_)[other - (other > k), own == k]
        return kernel @ coefficients + svc.intercept_

    def _kernel(self) -> Value:
        svc, graph = self.estimator, self.rows.graph
        numbers, vectors = self.rows.matrix(svc).to(np.float64), _dense(svc.support_vectors_)
        if svc.kernel == "rbf":
            return _rbf(graph, numbers, vectors, svc._gamma)
        if svc.kernel == "linear":
            return numbers @ vectors.T
        if svc.kernel not in ("poly", "sigmoid"):
            raise ExportError(f"SVC with the kernel {svc.kernel!r} cannot be exported; rbf, linear, poly, sigmoid can.")
        scaled = numbers @ (svc._gamma * vectors.T) + float(svc.coef0)
        return graph.op("Tanh", scaled) if svc.kernel == "sigmoid" else graph.op("Pow", scaled, float(svc.degree))

    def _first(self) -> Any:
        """Return which class is the first of each pair, shape (pairs, K)."""
        return np.eye(len(self.classes))[[first for first, _ in combinations(range(len(self.classes)), 2)]]

    def _second(self) -> Any:
        return np.eye(len(self.classes))[[second for _, second in combinations(range(len(self.classes)), 2)]]


def _dense(values: Any) -> Any:
    """Return an array of what was fitted to sparse rows, or not."""
    return values.toarray() if hasattr(values, "toarray") else values
