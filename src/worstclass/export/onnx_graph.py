"""An ONNX graph that is written like arithmetic: values with operators, and models put into it as parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from worstclass.exceptions import ExportError

#: versions of the operators, and of the file format: old enough for runtimes of 2024
OPSETS, IR_VERSION = {"": 18, "ai.onnx.ml": 5}, 10
#: a protobuf message must be smaller
MOST_BYTES = 2**31 - 2**20


@dataclass(frozen=True, eq=False)
class OnnxValue:
    """A tensor of the graph: its name there, and the type of its elements (``object`` for text)."""

    graph: Graph
    name: str
    dtype: np.dtype[Any]

    def __add__(self, other: Any) -> OnnxValue:
        return self.graph.op("Add", self, other)

    def __sub__(self, other: Any) -> OnnxValue:
        return self.graph.op("Sub", self, other)

    def __mul__(self, other: Any) -> OnnxValue:
        return self.graph.op("Mul", self, other)

    def __truediv__(self, other: Any) -> OnnxValue:
        return self.graph.op("Div", self, other)

    def __matmul__(self, other: Any) -> OnnxValue:
        return self.graph.op("MatMul", self, other)

    def __gt__(self, other: Any) -> OnnxValue:
        return self.graph.op("Greater", self, other, dtype=np.bool_)

    def __lt__(self, other: Any) -> OnnxValue:
        return self.graph.op("Less", self, other, dtype=np.bool_)

    def equals(self, other: Any) -> OnnxValue:
        """Compare with numbers, element by element."""
        return self.graph.op("Equal", self, other, dtype=np.bool_)

    def to(self, dtype: npt.DTypeLike) -> OnnxValue:
        """Return the values in another type."""
        wanted = np.dtype(dtype)
        if wanted == self.dtype:
            return self
        return self.graph.op("Cast", self, to=helper.np_dtype_to_tensor_dtype(wanted), dtype=wanted)

    def reshape(self, *shape: int) -> OnnxValue:
        """Return the values in another shape; 0 keeps a side, and -1 is what is left."""
        return self.graph.op("Reshape", self, np.array(shape, dtype=np.int64))

    def reduced(self, how: str, *axes: int, keep: bool = False) -> OnnxValue:
        """Return the sum ("Sum"), mean or largest value ("Mean", "Max") along axes."""
        inputs = (np.array(axes, dtype=np.int64),)
        return self.graph.op(f"Reduce{how}", self, *inputs, keepdims=int(keep))


class Graph:
    """Nodes and weights that are collected, and made a model in the end.

    Examples
    --------
    >>> graph = Graph()
    >>> X = graph.input("X", np.float64, (2,))
    >>> graph.output("twice", X * 2.0)
    >>> [node.op_type for node in graph.model({}).graph.node]
    ['Mul', 'Identity']
    """

    def __init__(self) -> None:
        self._nodes: list[onnx.NodeProto] = []
        self._weights: dict[str, onnx.TensorProto] = {}
        self._inputs: list[onnx.ValueInfoProto] = []
        self._outputs: list[onnx.ValueInfoProto] = []
        self._n_names = 0
        self._n_bytes = 0

    def input(self, name: str, dtype: npt.DTypeLike, row_shape: Sequence[int]) -> OnnxValue:
        """Declare an input with any number of rows."""
        self._inputs.append(_described(name, np.dtype(dtype), [None, *row_shape]))
        return OnnxValue(self, name, np.dtype(dtype))

    def output(self, name: str, value: OnnxValue, row_shape: Sequence[int] = ()) -> None:
        """Declare an output."""
        self._nodes.append(helper.make_node("Identity", [value.name], [name]))
        self._outputs.append(_described(name, value.dtype, [None, *row_shape]))

    def constant(self, values: Any, dtype: npt.DTypeLike | None = None) -> OnnxValue:
        """Return constant values; text has the type ``object``."""
        array = np.asarray(values, dtype=dtype)
        if array.dtype.kind == "U":
            array = array.astype(object)
        return self._weight(self._new_name(), array)

    def op(
        self, kind: str, *inputs: Any, dtype: npt.DTypeLike | None = None, domain: str = "", **attributes: Any
    ) -> OnnxValue:
        """Add a node with one output, of the type of its first input unless another is named.

        Inputs that are no values become constants; plain numbers have the type of the first input, and so have arrays
        of floats where it has one.
        """
        (value,) = self.ops(kind, *inputs, dtypes=(dtype,), domain=domain, **attributes)
        return value

    def ops(
        self, kind: str, *inputs: Any, dtypes: Sequence[npt.DTypeLike | None], domain: str = "", **attributes: Any
    ) -> list[OnnxValue]:
        """Add a node with several outputs."""
        first = next(value for value in inputs if isinstance(value, OnnxValue))
        values = [self._as_value(value, first.dtype) for value in inputs]
        found = [OnnxValue(self, self._new_name(), np.dtype(first.dtype if d is None else d)) for d in dtypes]
        names = [value.name for value in values], [value.name for value in found]
        self._nodes.append(helper.make_node(kind, *names, domain=domain, **attributes))
        return found

    def embed(
        self,
        part: onnx.ModelProto,
        inputs: Mapping[str, OnnxValue],
        dtypes: Sequence[npt.DTypeLike],
        weights: Mapping[str, npt.NDArray[Any]] | None = None,
    ) -> list[OnnxValue]:
        """Put another model into this one.

        Parameters
        ----------
        part : the model, of the versions of operators in ``OPSETS``.
        inputs : what its inputs are here.
        dtypes : types of its outputs.
        weights : what replaces its initializers, by their names; others stay.
        """
        names = {"": ""} | {name: value.name for name, value in inputs.items()}
        for tensor in part.graph.initializer:
            given = (weights or {}).get(tensor.name)
            array = numpy_helper.to_array(tensor) if given is None else given
            names[tensor.name] = self._weight(self._new_name(), array).name
        for node in part.graph.node:
            copied = onnx.NodeProto()
            copied.CopyFrom(node)
            copied.ClearField("metadata_props")
            _rename_inputs(copied, names)
            for name in node.output:
                names[name] = self._new_name() if name else ""
            copied.output[:] = [names[name] for name in node.output]
            self._nodes.append(copied)
        outputs = [names[value.name] for value in part.graph.output]
        return [OnnxValue(self, name, np.dtype(dtype)) for name, dtype in zip(outputs, dtypes, strict=False)]

    def model(self, metadata: Mapping[str, str]) -> onnx.ModelProto:
        """Return the model, checked, without nodes and weights that no output needs."""
        wanted = {value.name for value in self._outputs}
        nodes: list[onnx.NodeProto] = []
        for node in reversed(self._nodes):
            if wanted.intersection(node.output):
                nodes.append(node)
                wanted.update(node.input)
        for number, node in enumerate(reversed(nodes)):
            node.name = f"n{number}"
        weights = [tensor for name, tensor in self._weights.items() if name in wanted]
        graph = helper.make_graph(nodes[::-1], "worstclass", self._inputs, self._outputs, weights)
        versions = [helper.make_opsetid(domain, version) for domain, version in OPSETS.items()]
        model = helper.make_model(graph, opset_imports=versions, ir_version=IR_VERSION)
        helper.set_model_props(model, dict(metadata))
        _require_size(model.ByteSize())
        return model

    def _as_value(self, given: Any, dtype: np.dtype[Any]) -> OnnxValue:
        if isinstance(given, OnnxValue):
            return given
        is_array = isinstance(given, np.ndarray | np.generic)
        keeps_type = is_array and not given.dtype.kind == dtype.kind == "f"
        return self.constant(given, None if keeps_type else dtype)

    def _weight(self, name: str, array: npt.NDArray[Any]) -> OnnxValue:
        self._n_bytes += array.nbytes
        _require_size(self._n_bytes)
        self._weights[name] = numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name)
        return OnnxValue(self, name, array.dtype)

    def _new_name(self) -> str:
        self._n_names += 1
        return f"worstclass/{self._n_names}"


def open_session(source: Path | bytes) -> Any:
    """Open a model with onnxruntime, without its remarks."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def _require_size(n_bytes: int) -> None:
    if n_bytes > MOST_BYTES:
        raise ExportError(
            "The model is too large for one ONNX file, which holds 2 GB. Export a model of networks with --torch "
            "(export_torch in Python), or keep fewer or smaller members."
        )


def _rename_inputs(node: onnx.NodeProto, names: Mapping[str, str]) -> None:
    """Rename what a node reads, and what the nodes of graphs inside it read from outside."""
    node.input[:] = [names.get(name, name) for name in node.input]
    for attribute in node.attribute:
        for inner in attribute.g.node if attribute.HasField("g") else ():
            _rename_inputs(inner, names)


def _described(name: str, dtype: np.dtype[Any], shape: Sequence[int | None]) -> onnx.ValueInfoProto:
    element = TensorProto.STRING if dtype.kind in "OU" else helper.np_dtype_to_tensor_dtype(dtype)
    return helper.make_tensor_value_info(name, element, ["n" if side is None else side for side in shape])
