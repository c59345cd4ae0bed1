"""Numbers of one value a class: counts as floats, means over a batch."""

from __future__ import annotations

import torch
from torch import Tensor

from worstclass.exceptions import DataError


def wide_counts(class_counts: Tensor) -> Tensor:
    """Return class counts as floats, in double precision where the device has it."""
    if class_counts.numel() == 0 or int(class_counts.min()) < 1:
        raise DataError(f"Every class must have at least one training row. Got counts {class_counts.tolist()}.")
    return class_counts.to(wide_dtype(class_counts.device))


def wide_dtype(device: torch.device) -> torch.dtype:
    """Return the widest float that a device computes with."""
    return torch.float32 if device.type == "mps" else torch.float64


def class_means(values: Tensor, target: Tensor, n_classes: int) -> tuple[Tensor, Tensor]:
    """Return the mean of each class over a batch, 0 where it has no row, and its number of rows; both (K,).

    The sums are a matrix product: unlike an indexed addition it is deterministic on a GPU.

    Examples
    --------
    >>> means, n_rows = class_means(torch.tensor([1.0, 2.0, 6.0]), torch.tensor([2, 0, 2]), n_classes=3)
    >>> means.tolist(), n_rows.tolist()
    ([2.0, 0.0, 3.5], [1, 0, 2])
    """
    is_of_class = target == torch.arange(n_classes, device=target.device)[:, None]
    n_rows = is_of_class.sum(dim=1)
    return (is_of_class.to(values.dtype) @ values) / n_rows.clamp_min(1), n_rows
