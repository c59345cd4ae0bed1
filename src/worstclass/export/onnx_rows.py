"""The backend of ONNX: operations as nodes of a graph, and rows as its inputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

from worstclass.data.encoding import TableEncoder
from worstclass.exceptions import ExportError
from worstclass.export.backend import Ops, ProgramRows
from worstclass.export.inputs import MISSING_TEXT
from worstclass.export.onnx_graph import Graph, OnnxValue
from worstclass.export.parts import ModelPart


@dataclass(frozen=True)
class OnnxOps(Ops):
    """Operations as nodes."""

    graph: Graph

    def array(self, values: npt.ArrayLike) -> OnnxValue:
        """Return constant values."""
        return self.graph.constant(values, np.float64)

    def log(self, values: OnnxValue) -> OnnxValue:
        """Return the natural logarithm."""
        return self.graph.op("Log", values)

    def exp(self, values: OnnxValue) -> OnnxValue:
        """Return the exponential."""
        return self.graph.op("Exp", values)

    def softmax(self, values: OnnxValue) -> OnnxValue:
        """Return the softmax of each row in float64."""
        return self.graph.op("Softmax", values.to(np.float64), axis=1)

    def at_least(self, values: OnnxValue, least: float) -> OnnxValue:
        """Return the values, smaller ones replaced by ``least``."""
        return self.graph.op("Max", values, least)

    def where(self, condition: OnnxValue, yes: OnnxValue | float, no: OnnxValue | float) -> OnnxValue:
        """Choose between values; one of the two may be a plain number."""
        dtype = next(value.dtype for value in (yes, no) if isinstance(value, OnnxValue))
        chosen = [value if isinstance(value, OnnxValue) else self.graph.constant(value, dtype) for value in (yes, no)]
        return self.graph.op("Where", condition, *chosen, dtype=dtype)

    def largest(self, values: OnnxValue) -> OnnxValue:
        """Return the largest value of each row."""
        return values.reduced("Max", 1)

    def argmax(self, values: OnnxValue) -> OnnxValue:
        """Return where the first of the largest values of each row is."""
        return self.graph.op("ArgMax", values, axis=1, keepdims=0, dtype=np.int64)

    def one_hot(self, index: OnnxValue, n: int) -> OnnxValue:
        """Return whether an index is 0, 1, ... n - 1."""
        return index.reshape(-1, 1).equals(np.arange(n))

    def take(self, table: npt.NDArray[Any], index: OnnxValue) -> OnnxValue:
        """Return entries of a constant table by indices."""
        values = self.graph.constant(table)
        return self.graph.op("Gather", values, index.to(np.int64), dtype=values.dtype)


@dataclass(frozen=True, eq=False)
class OnnxRows(ProgramRows):
    """Rows as one tensor, or as one for each column of a table, shape (n, 1).

    Attributes
    ----------
    graph : where they are.
    whole : the rows in one tensor; None where there are columns of text.
    columns : a tensor for each column by its name; None where there is one tensor.
    networks : graphs of the networks that are exported so far.
    """

    graph: Graph
    whole: OnnxValue | None = None
    columns: Mapping[str, OnnxValue] | None = None
    networks: dict[Any, onnx.ModelProto] = field(default_factory=dict)

    @property
    def ops(self) -> OnnxOps:  # type: ignore[override]
        """The operations."""
        return OnnxOps(self.graph)

    def with_values(self, values: OnnxValue) -> OnnxRows:
        """Return rows that a step has made of these."""
        return replace(self, whole=values, columns=None)

    def matrix(self, owner: Any) -> OnnxValue:
        """Return the rows as one tensor; refuse columns of text for the ``owner``, a step or classifier."""
        if self.whole is not None:
            return self.whole
        assert self.columns is not None
        text = [name for name, column in self.columns.items() if column.dtype.hasobject]
        if text:
            raise ExportError(
                f"{type(owner).__name__} cannot be exported with columns of text: {text}. Encode them in a step before "
                "it, such as TableEncoder, or a ColumnTransformer with OneHotEncoder."
            )
        return self.graph.op("Concat", *self.columns.values(), axis=1)

    def by_column(self, names: Iterable[Any]) -> dict[Any, OnnxValue]:
        """Return a tensor for each column, shape (n, 1); those of one tensor get the given names, and are float64."""
        if self.columns is not None or self.whole is None:
            return dict(self.columns or {})
        numbers = self.whole.to(np.float64)
        return {name: self.graph.op("Gather", numbers, np.array([j]), axis=1) for j, name in enumerate(names)}

    def encoded(self, table: TableEncoder, dtype: str = "float32") -> OnnxRows:
        """Return the rows as a ``TableEncoder`` makes them numbers."""
        if all(values is None for values in table.categories_):
            numbers = self.matrix(table).to(np.float64).reshape(0, -1)
            return self.with_values(self.filled(numbers, table.medians_).to(np.float32).to(dtype))
        columns = self.by_column(getattr(table, "feature_names_in_", range(table.n_features_in_)))
        found = zip(columns.items(), table.medians_, table.categories_, strict=True)
        parts = [
            self.filled(column, median) if values is None else self._one_hot(name, column, values)
            for (name, column), median, values in found
        ]
        return self.with_values(self.graph.op("Concat", *[part.to(np.float32) for part in parts], axis=1).to(dtype))

    def network_inputs(self, model: Any) -> OnnxValue:
        """Return the rows as the networks of a classifier get them, in float32."""
        encoder = model.encoder_
        rows = (self if encoder.table is None else self.encoded(encoder.table)).matrix(model)
        scaled = rows.dtype == np.uint8 and len(encoder.row_shape) > 1
        values = rows.to(np.float32) / 255.0 if scaled else rows.to(np.float32)
        if encoder.mean is not None:
            values = (values - encoder.mean.numpy()) / encoder.std.numpy()
        return values

    def logits(self, model: Any, member: Any, inputs: OnnxValue) -> OnnxValue:
        """Return the logits of a network; networks that are built alike are exported once."""
        from worstclass.export.onnx_networks import network_graph

        learner, encoder = model.learner_, model.encoder_
        factory = learner.module if isinstance(learner.module, str) else id(learner.module)
        alike = factory, repr(learner.module_options), learner.head, encoder.row_shape, len(model.classes_)
        if alike not in self.networks:
            self.networks[alike] = network_graph(member.runtime, member.state)
        weights = {name: value.numpy() for name, value in member.state.items()}
        part = self.networks[alike]
        (logits,) = self.graph.embed(part, {part.graph.input[0].name: inputs}, [np.float32], weights)
        return logits

    def transformed(self, steps: Any) -> OnnxRows:
        """Return the rows after the steps of a scikit-learn pipeline."""
        from worstclass.export.onnx_sklearn import transform

        return self if steps is None else transform(steps, self)

    def classifier(self, estimator: Any) -> ModelPart:
        """Return the part of a scikit-learn classifier."""
        from worstclass.export.onnx_sklearn import classifier

        return classifier(estimator, self)

    def filled(self, numbers: OnnxValue, values: Any) -> OnnxValue:
        """Return numbers in float64 with values in place of NaN."""
        missing = self.graph.op("IsNaN", numbers, dtype=np.bool_)
        return self.ops.where(missing, self.graph.constant(values, np.float64), numbers)

    def _one_hot(self, name: Any, column: OnnxValue, values: list[Any]) -> OnnxValue:
        """Return one column for each known value of a column, as ``TableEncoder`` does."""
        if not column.dtype.hasobject:
            known = [np.nan if value is None else float(value) for value in values]
            found = column.equals(np.array(known))
            missing = self.graph.op("IsNaN", column, dtype=np.bool_)
            return self.graph.op("Or", found, self.graph.op("And", missing, np.isnan(known))).to(np.float32)
        keys = [MISSING_TEXT if value is None else value for value in values]
        if len(set(keys)) < len(keys):
            raise ExportError(
                f"Column {name!r} has empty text and missing values, which ONNX cannot tell apart. Make them one, and "
                "fit again."
            )
        place = self.graph.op(
            "LabelEncoder", column, domain="ai.onnx.ml", dtype=np.int64, keys_strings=keys,
            values_int64s=list(range(len(keys))), default_int64=-1,
        )  # fmt: skip
        return self.ops.one_hot(place, len(keys)).to(np.float32)
