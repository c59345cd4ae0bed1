"""Classifiers and steps that skl2onnx converts, in float64."""

from __future__ import annotations

import contextlib
import copy
import warnings
from typing import Any

import numpy as np
import onnx
from onnx import helper
from skl2onnx import convert_sklearn
from skl2onnx.common.data_types import DoubleTensorType, StringTensorType
from sklearn.compose import ColumnTransformer

from worstclass.exceptions import ExportError
from worstclass.export.backend import Value
from worstclass.export.onnx_graph import OPSETS, OnnxValue, open_session
from worstclass.export.onnx_rows import OnnxRows
from worstclass.export.parts import ModelPart

#: operators that compute in float32 whatever they are given, so that labels could differ
IN_FLOAT32 = {
    *("TreeEnsembleClassifier", "TreeEnsembleRegressor", "SVMClassifier", "SVMRegressor", "LinearClassifier"),
    *("LinearRegressor", "Normalizer", "Scaler"),
}

ADVICE = "Fit without it: with another classifier or step, or leave it out of the learners."


class ConvertedPart(ModelPart):
    """A classifier as skl2onnx converts it; answers and decisions of linear ones are products with ``coef_``."""

    def __init__(self, estimator: Any, rows: OnnxRows) -> None:
        super().__init__(rows.ops, estimator.classes_)
        self.estimator, self.rows = estimator, rows
        self.is_linear = hasattr(estimator, "decision_function") and np.ndim(getattr(estimator, "coef_", 0)) > 0

    def answers(self) -> Value:
        """Return the class of the largest decision of a linear classifier, else that of the converter's label."""
        if self.is_linear:
            return self.ops.argmax(self.value("decision_function"))
        label, _ = self.value("converted")
        if label.dtype.hasobject:  # the names of the classes, after all
            return self.rows.graph.op(
                "LabelEncoder", label, domain="ai.onnx.ml", dtype=np.int64, keys_strings=self.classes.tolist(),
                values_int64s=list(range(len(self.classes))),
            )  # fmt: skip
        return label.to(np.int64).reshape(-1)

    def predict_proba(self) -> Value:
        """Return the probabilities."""
        return self.value("converted")[1]

    def decision_function(self) -> Value:
        """Return the scores of each class; of two classes, 0 and the score of the second."""
        if not self.is_linear:
            raise ExportError(f"decision_function of {type(self.estimator).__name__} cannot be exported.")
        weights = np.atleast_2d(np.asarray(self.estimator.coef_, dtype=np.float64))
        scores = self.rows.matrix(self.estimator).to(np.float64) @ weights.T + self.estimator.intercept_
        return scores @ np.array([[0.0, 1.0]]) if len(weights) == 1 else scores

    def converted(self) -> list[OnnxValue]:
        """Return label and probabilities; the classes are numbered, for some converters fail with text."""
        numbered = copy.copy(self.estimator)
        with contextlib.suppress(AttributeError):
            numbered.classes_ = np.arange(len(self.classes))
        found = convert(numbered, self.rows, {id(numbered): {"zipmap": False}})
        if len(found) != 2:
            raise ExportError(f"skl2onnx gives no probabilities of {type(self.estimator).__name__}.")
        return found


def converted_step(step: Any, rows: OnnxRows) -> OnnxRows:
    """Return the rows after a step as skl2onnx converts it."""
    return rows.with_values(convert(step, rows, None)[0])


def convert(estimator: Any, rows: OnnxRows, options: Any) -> list[OnnxValue]:
    """Put an estimator into the graph as skl2onnx converts it; refuse what would compute in float32."""
    values = _inputs(estimator, rows)
    kinds = [
        StringTensorType([None, 1]) if value.dtype.hasobject else DoubleTensorType([None, width])
        for value, width in values.values()
    ]
    name, opset = type(estimator).__name__, {"": OPSETS[""], "ai.onnx.ml": 3}
    types = list(zip(values, kinds, strict=True))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # remarks of scikit-learn on how skl2onnx reads it
            part = convert_sklearn(estimator, name, types, target_opset=opset, options=options)
    except Exception as error:  # it fails in many ways for what it does not know
        raise ExportError(
            f"{name} cannot be exported: skl2onnx does not convert it. {ADVICE} {_said(error)}"
        ) from error
    if narrow := {node.op_type for node in part.graph.node} & IN_FLOAT32:
        raise ExportError(
            f"{name} cannot be exported exactly: ONNX has it in float32 only ({', '.join(sorted(narrow))}), so labels "
            f"could differ. {ADVICE}"
        )
    try:
        open_session(part.SerializeToString())
    except Exception as error:  # of the runtime's own kinds
        raise ExportError(f"{name} cannot be exported: onnxruntime does not run it. {ADVICE} {_said(error)}") from error
    weights = {tensor.name for tensor in part.graph.initializer}
    names = [value.name for value in part.graph.input if value.name not in weights]
    inputs = dict(zip(names, (value for value, _ in values.values()), strict=True))
    return rows.graph.embed(part, inputs, [_dtype(value) for value in part.graph.output])


def _said(error: Exception) -> str:
    return f"The error: {' '.join(str(error).split())[:200]}"


def _inputs(estimator: Any, rows: OnnxRows) -> dict[str, tuple[OnnxValue, int]]:
    """Return what an estimator reads, and how many columns it has: the whole rows, or a tensor for each column."""
    if not isinstance(estimator, ColumnTransformer) or not hasattr(estimator, "feature_names_in_"):
        return {"X": (rows.matrix(estimator).to(np.float64), int(estimator.n_features_in_))}
    return {name: (column, 1) for name, column in rows.by_column(estimator.feature_names_in_).items()}


def _dtype(value: onnx.ValueInfoProto) -> Any:
    element = value.type.tensor_type.elem_type
    return np.dtype(object) if element == onnx.TensorProto.STRING else helper.tensor_dtype_to_np_dtype(element)
