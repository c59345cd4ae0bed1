"""``PatchFeatures`` as nodes of an ONNX graph."""

from __future__ import annotations

import numpy as np

from worstclass.ensembles.images import PATCH, PATCH_NOISE, SIDE, PatchFeatures, step_of
from worstclass.export.onnx_graph import OnnxValue
from worstclass.export.onnx_sklearn import squared_distances


def patch_features(step: PatchFeatures, images: OnnxValue) -> OnnxValue:
    """Return the description of images, shape (n, 4 * centres); see ``PatchFeatures`` for what it is."""
    graph, (channels, height, width) = images.graph, step.row_shape
    block = max(1, round(min(height, width) / SIDE))
    height, width = height // block, width // block
    if block > 1:
        images = graph.op("AveragePool", images, kernel_shape=[block, block], strides=[block, block])
    n_values, apart = channels * PATCH * PATCH, step_of(height, width)
    rows, columns = (len(range(0, side - PATCH + 1, apart)) for side in (height, width))
    pick = np.eye(n_values, dtype=np.float32).reshape(n_values, channels, PATCH, PATCH)
    windows = graph.op("Transpose", graph.op("Conv", images, pick, strides=[apart, apart]), perm=[0, 2, 3, 1]).reshape(
        -1, n_values
    )
    windows = (windows - windows.reduced("Mean", 1, keep=True)) / step.scale_
    centred = windows - windows.reduced("Mean", 1, keep=True)
    variance = (centred * centred).reduced("Mean", 1, keep=True)
    windows = windows / graph.op("Sqrt", variance + PATCH_NOISE)
    whitened = (windows - step.mean_.astype(np.float32)) @ step.whitening_
    distance = graph.op("Sqrt", squared_distances(graph, whitened, step.centres_).to(np.float32))
    nearer = graph.op("Max", distance.reduced("Mean", 1, keep=True) - distance, 0.0)
    nearer = nearer.reshape(-1, rows, columns, len(step.centres_))
    quarters = [
        graph.op("Slice", nearer, *(np.array(ends) for ends in zip(top, left, strict=True)), np.array([1, 2]))
        for top in _halves(rows)
        for left in _halves(columns)
    ]
    return graph.op("Concat", *[quarter.reduced("Mean", 1, 2) for quarter in quarters], axis=1)


def _halves(size: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return where the halves of a side begin and end; a side of one place is both."""
    return (0, size // 2 or 1), (size // 2, size)
