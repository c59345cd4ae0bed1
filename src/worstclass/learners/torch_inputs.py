"""Rows for a torch module: tensors in memory, or a map-style data set behind a DataLoader."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_array
from torch import Tensor
from torch.utils.data import DataLoader, Subset

from worstclass._checks import require_row_shape
from worstclass._typing import IntArray
from worstclass.data.encoding import TableEncoder
from worstclass.data.map_style import is_map_dataset
from worstclass.exceptions import DataError
from worstclass.learners.base import Encoder, Inputs

Batch = tuple[Tensor, Tensor]  # the rows of a batch, and their indices

#: values that are read at a time to find means and deviations
CHUNK_VALUES = 1 << 22


def batch_sizes(n_rows: int, batch_size: int) -> list[int]:
    """Return the sizes of the batches of one epoch.

    A last batch of a single row joins the batch before it: batch normalisation cannot train on one row.

    Examples
    --------
    >>> batch_sizes(10, 4), batch_sizes(9, 4)
    ([4, 4, 2], [4, 5])
    """
    full, rest = divmod(n_rows, batch_size)
    if rest == 1 and full:
        return [batch_size] * (full - 1) + [batch_size + 1]
    return [batch_size] * full + [rest] * (rest > 0)


@dataclass(frozen=True, eq=False)
class TorchInputs(Inputs):
    """Rows that are read in batches: of one tensor in memory, or of a map-style data set behind a DataLoader.

    Items of a data set are rows or (row, label) pairs.
    """

    source: Any
    num_workers: int = 0

    def __len__(self) -> int:
        return len(self.source)

    @property
    def row_shape(self) -> tuple[int, ...]:
        """Shape of one row, read from the first."""
        return tuple(_row(self.source[0]).shape)

    def take(self, rows: IntArray) -> TorchInputs:
        """Return the rows of the given indices."""
        if isinstance(self.source, Tensor):
            return TorchInputs(self.source[torch.from_numpy(rows).to(self.source.device)])
        return replace(self, source=Subset(self.source, rows.tolist()))

    def to(self, device: torch.device) -> TorchInputs:
        """Return the rows on a device, if they are in memory."""
        return TorchInputs(self.source.to(device)) if isinstance(self.source, Tensor) else self

    def batches(self, batch_size: int, generator: torch.Generator | None = None) -> Iterator[Batch]:
        """Yield (rows, indices) of the batches of one epoch, in an order that the generator draws if there is one."""
        order = torch.arange(len(self)) if generator is None else torch.randperm(len(self), generator=generator)
        batches = torch.split(order, batch_sizes(len(self), batch_size))
        if not isinstance(self.source, Tensor):
            loader = DataLoader(
                self.source,
                batch_sampler=[indices.tolist() for indices in batches],
                collate_fn=_stacked,
                num_workers=self.num_workers,
                generator=torch.Generator().manual_seed(0),  # the default would draw from the caller's stream
            )
            for rows, indices in zip(loader, batches, strict=True):
                self._refuse_not_finite(rows, indices)
                yield rows, indices
            return
        for indices in batches:
            if generator is None:  # in order: a slice, without a copy
                yield self.source[int(indices[0]) : int(indices[-1]) + 1], indices
            else:
                yield self.source[indices.to(self.source.device)], indices

    def _refuse_not_finite(self, rows: Tensor, indices: Tensor) -> None:
        """Refuse NaN and infinite values in rows that a data set gave; those in memory were checked before."""
        if not torch.isfinite(rows).all():
            index = int(indices[~torch.isfinite(rows).reshape(len(rows), -1).all(1)][0])
            source = self.source
            while isinstance(source, Subset):  # told as in the data set that was passed
                index, source = int(source.indices[index]), source.dataset
            raise DataError(
                f"Row {index} of the data set contains NaN or infinite values. Fill such rows, or leave them out."
            )


@dataclass(frozen=True, eq=False)
class TorchEncoder(Encoder):
    """Turns arrays into tensors of the row shape that training saw; numbers become floats batch by batch.

    Images go through the network with their channels last in memory, which convolutions run faster on.

    Attributes
    ----------
    row_shape : shape of one row of the inputs.
    num_workers : worker processes of the ``DataLoader``, for data sets.
    mean, std : what standardises the inputs, after images of type uint8 are scaled to [0, 1]: one value for each column
        of a table, shape (d,), or each channel of images, shape (C, 1, 1). None where the inputs stay as they are.
    table : turns a data frame into numbers; None where training saw no data frame.
    """

    row_shape: tuple[int, ...]
    num_workers: int = 0
    mean: Tensor | None = None
    std: Tensor | None = None
    table: TableEncoder | None = None

    def encode(self, X: Any) -> TorchInputs:
        """Return X as inputs, after a look at its shape."""
        if hasattr(X, "iloc") and self.table is None:
            X = _numbers_of(X)
        elif self.table is not None and not is_map_dataset(X):
            X = self.table.transform(X)
        inputs = as_inputs(X, self.num_workers)
        if len(inputs):
            require_row_shape(inputs.row_shape, self.row_shape)
        return inputs

    @property
    def memory_format(self) -> torch.memory_format:
        """How a batch and the network's weights lie in memory."""
        return torch.channels_last if len(self.row_shape) == 3 else torch.contiguous_format

    def standardized(self, inputs: TorchInputs) -> TorchEncoder:
        """Return an encoder that brings each column, or each channel, of these inputs to mean 0 and deviation 1."""
        scaler = StandardScaler()
        chunk = max(1, CHUNK_VALUES // max(1, math.prod(self.row_shape)))
        for batch, _ in inputs.batches(chunk):
            columns = self.to_float(batch).double().transpose(0, 1).flatten(1)
            scaler.partial_fit(columns.T.cpu().numpy())
        shape = (-1, *[1] * (len(self.row_shape) - 1))
        mean, std = (torch.from_numpy(values).float().view(shape) for values in (scaler.mean_, scaler.scale_))
        return replace(self, mean=mean, std=std)

    def to_float(self, rows: Tensor) -> Tensor:
        """Return a batch as floats, scaled, in the memory format."""
        if rows.dtype == torch.uint8:
            rows = rows.float().div_(255) if rows.ndim >= 3 else rows.float()
        elif rows.dtype != torch.float32:
            rows = rows.float()
        if self.mean is not None and self.std is not None:
            rows = (rows - self.mean.to(rows.device)) / self.std.to(rows.device)
        return rows.contiguous(memory_format=self.memory_format)


def as_inputs(X: Any, num_workers: int = 0) -> TorchInputs:
    """Return X, as ``check_X`` left it, as inputs."""
    if is_map_dataset(X):
        _refuse_changing_rows(X)
        return TorchInputs(X, num_workers)
    if isinstance(X, Tensor):
        tensor = X.detach()
    else:  # a writeable array of a type torch knows; doubles become floats, and uint8 stays
        X = np.asarray(X)
        wanted = X.dtype if X.dtype in (np.uint8, np.float32) else np.float32
        tensor = torch.from_numpy(np.require(X, dtype=wanted, requirements=["C", "W"]))
    return TorchInputs(tensor.float() if tensor.dtype in (torch.float64, torch.float16) else tensor)


def _numbers_of(frame: Any) -> Any:
    """Return a data frame as an array, for a model that was trained on arrays."""
    try:
        return check_array(frame, dtype=np.float32, input_name="X")
    except ValueError as error:
        raise DataError(
            f"X must hold numbers in every cell, as the model was trained on an array of numbers. {error}"
        ) from None


def _refuse_changing_rows(dataset: Any) -> None:
    """Refuse a data set that gives other rows when it is read again, as one that augments does."""
    for index in range(min(8, len(dataset))):
        first, second = (torch.nan_to_num(_row(dataset[index])) for _ in range(2))  # NaN is told of by another error
        if not torch.equal(first, second):
            raise DataError(
                f"The data set gives another row {index} each time it is read, as with random augmentation. Floors are "
                "counted on the rows as they are: pass a data set without random transforms."
            )


def _row(item: Any) -> Tensor:
    value = item[0] if isinstance(item, tuple | list) else item
    return value if isinstance(value, Tensor) else torch.as_tensor(np.asarray(value))


def _stacked(items: list[Any]) -> Tensor:
    return torch.stack([_row(item) for item in items])
