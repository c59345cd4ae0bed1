"""The one torch training loop: epochs over the training rows, each followed by the answers on them.

``train_epochs`` is an endless iterator: advancing it trains one epoch and yields the class index that the module, in
evaluation mode, now answers for every training row. The caller decides when to stop.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from worstclass._typing import FloatArray, IntArray
from worstclass.exceptions import ModuleError, ParameterError
from worstclass.learners.torch_inputs import EpochSampler, TorchEncoder, TorchInputs
from worstclass.losses.base import Criterion
from worstclass.networks.heads import head_inputs

#: the weights of a network by name
State = dict[str, Tensor]


def resolve_device(device: str) -> torch.device:
    """Return the device of a name; ``"auto"`` is a GPU where there is one."""
    if device == "auto":
        accelerator = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
        return accelerator or torch.device("cpu")
    try:
        resolved = torch.device(device)
        torch.empty(0, device=resolved)
    except (RuntimeError, AssertionError) as error:
        raise ParameterError(
            "device",
            "TorchLearner",
            allowed="'auto' or a device that torch can use on this machine",
            got=device,
            hint=f"torch says: {str(error).splitlines()[0]}",
        ) from None
    return resolved


@dataclass(eq=False)
class TorchRuntime:
    """One module of the right shape on the device. Reads its answers, and refuses answers that cannot be used.

    The weights of members are put into it in turn; threads wait for each other.
    """

    module: nn.Module
    encoder: TorchEncoder
    device: torch.device
    batch_size: int
    n_classes: int
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    def __reduce__(self) -> Any:
        """Copy and pickle everything but the lock."""
        return TorchRuntime, (self.module, self.encoder, self.device, self.batch_size, self.n_classes)

    @contextmanager
    def holding(self, state: State) -> Iterator[None]:
        """Put the weights of a member into the module, for the length of a context."""
        with self._lock:
            self.module.load_state_dict(state)
            yield

    def forward(self, rows: Tensor) -> Tensor:
        """Return the logits of one batch."""
        logits = self.module(self.encoder.to_float(rows.to(self.device, non_blocking=True)))
        if not isinstance(logits, Tensor) or logits.shape != (len(rows), self.n_classes):
            shape = tuple(logits.shape) if isinstance(logits, Tensor) else type(logits).__name__
            raise ModuleError(
                f"The module must return logits of shape ({len(rows)}, {self.n_classes}), one column for each of the "
                f"{self.n_classes} classes. Got {shape}. Make the last layer {self.n_classes} wide."
            )
        return logits

    @torch.inference_mode()
    def predict(self, inputs: TorchInputs) -> IntArray:
        """Return the class index of each row, in evaluation mode."""
        parts = [_finite(logits).argmax(dim=1) for logits, _ in self._logits(inputs)]
        return torch.cat(parts).cpu().numpy() if parts else np.zeros(0, dtype=np.int64)

    @torch.inference_mode()
    def probabilities(self, inputs: TorchInputs) -> FloatArray:
        """Return the softmax of the logits of each row, in evaluation mode, shape (n, K)."""
        parts = [_finite(logits).double().softmax(dim=1) for logits, _ in self._logits(inputs)]
        return torch.cat(parts).cpu().numpy() if parts else np.zeros((0, self.n_classes))

    @torch.inference_mode()
    def class_losses(self, rows: WeightedRows) -> Tensor:
        """Return the mean cross-entropy of each class over the training rows, in evaluation mode, shape (K,)."""
        total = torch.zeros(self.n_classes, device=self.device)
        for logits, indices in self._logits(rows.inputs):
            target = rows.y[indices.to(rows.y.device)]
            total.index_add_(0, target, nn.functional.cross_entropy(logits, target, reduction="none").to(total.dtype))
        return total / rows.class_counts(self.n_classes)

    def _logits(self, inputs: TorchInputs) -> Iterator[tuple[Tensor, Tensor]]:
        self.module.eval()
        for batch, indices in inputs.batches(EpochSampler(len(inputs), self.batch_size)):
            yield self.forward(batch), indices


@dataclass(frozen=True, eq=False)
class WeightedRows:
    """What an epoch reads: inputs, class indices and weights, the latter two on the device.

    ``augment`` changes the rows of a training batch, and nothing else: what is counted are the rows as they are.
    """

    inputs: TorchInputs
    y: Tensor
    weight: Tensor
    augment: Callable[[Tensor], Tensor] | None = None

    def class_counts(self, n_classes: int) -> Tensor:
        """Rows of each class."""
        return torch.bincount(self.y, minlength=n_classes)


def train_epochs(
    runtime: TorchRuntime,
    optimizer: torch.optim.Optimizer,
    criterion: Criterion,
    rows: WeightedRows,
    sampler: EpochSampler,
) -> Generator[IntArray, None, None]:
    """Train epoch after epoch; yield the answers on all training rows after each."""
    module, needed = runtime.module, criterion.needs_features
    with head_inputs(module, runtime.n_classes) if needed else nullcontext(lambda: None) as features:
        for number in count(1):
            criterion.begin_epoch(number, lambda: runtime.class_losses(rows))
            module.train()
            for batch, indices in rows.inputs.batches(sampler):
                at = indices.to(rows.y.device)
                logits = runtime.forward(batch if rows.augment is None else rows.augment(batch))
                losses = _one_a_row(criterion(logits, rows.y[at], features()), len(at))
                optimizer.zero_grad(set_to_none=True)
                (losses * rows.weight[at]).mean().backward()  # type: ignore[no-untyped-call]
                optimizer.step()
            yield runtime.predict(rows.inputs)


def _one_a_row(losses: Tensor, n_rows: int) -> Tensor:
    if losses.shape != (n_rows,):
        raise ModuleError(
            f"The loss must return one value per row, shape {(n_rows,)}, so that rows can be weighted. "
            f"Got {tuple(losses.shape)}. Turn its reduction off (reduction='none')."
        )
    return losses


def _finite(logits: Tensor) -> Tensor:
    if not torch.isfinite(logits).all():
        raise ModuleError(
            "The module returned NaN or infinite logits. Look for values of X that are far out of range "
            "(standardise them), or lower the learning rate."
        )
    return logits
