"""A torch network as an ONNX graph, by torch's own exporter."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx
import onnx.inliner
import torch

from worstclass.export.onnx_graph import OPSETS
from worstclass.export.torch_networks import any_batch, exporting, plain_network, quiet

if TYPE_CHECKING:
    from worstclass.learners.torch_loop import State, TorchRuntime


def network_graph(runtime: TorchRuntime, state: State) -> onnx.ModelProto:
    """Return the graph of a network; its weights are initializers by their names in the state."""
    module = plain_network(runtime.module, state)
    rows = torch.zeros(2, *runtime.encoder.row_shape)  # a single one would be taken for a constant
    with quiet(), exporting(module):
        program = torch.onnx.export(
            module, (rows,), dynamo=True, dynamic_shapes=any_batch(), optimize=False,
            opset_version=OPSETS[""], verbose=False,
        )  # fmt: skip
    assert program is not None
    found: onnx.ModelProto = program.model_proto
    return onnx.inliner.inline_local_functions(found) if found.functions else found
