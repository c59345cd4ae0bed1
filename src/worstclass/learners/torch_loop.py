"""The one torch training loop: passes over the training rows, each followed by the answers on them.

``passes`` is an endless iterator: advancing it trains one pass and yields the class index that the module, in
evaluation mode, now answers for every training row. Who iterates decides when to stop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from worstclass.exceptions import ModuleError
from worstclass.learners.base import IntArray
from worstclass.learners.torch_inputs import EpochSampler, TorchEncoder, TorchInputs

RowLoss = Callable[[Tensor, Tensor], Tensor]

#: modules that answer alike, bit for bit, in training and in evaluation mode
SAME_IN_BOTH_MODES: frozenset[type[nn.Module]] = frozenset(
    {
        nn.Sequential, nn.ModuleList, nn.Identity, nn.Flatten, nn.Unflatten, nn.Linear, nn.Bilinear,
        nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d, nn.AvgPool1d, nn.AvgPool2d,
        nn.AvgPool3d, nn.AdaptiveAvgPool1d, nn.AdaptiveAvgPool2d, nn.AdaptiveMaxPool2d, nn.LayerNorm,
        nn.GroupNorm, nn.ReLU, nn.ReLU6, nn.LeakyReLU, nn.PReLU, nn.ELU, nn.SELU, nn.GELU, nn.SiLU, nn.Mish,
        nn.Tanh, nn.Sigmoid, nn.Softplus, nn.Hardtanh, nn.Hardswish,
    }
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Evaluator:
    """Reads a module's answers, and refuses answers that cannot be used."""

    encoder: TorchEncoder
    device: torch.device
    batch_size: int
    n_classes: int

    def forward(self, module: nn.Module, rows: Tensor) -> Tensor:
        """Return the logits of one batch."""
        logits = module(self.encoder.to_float(rows.to(self.device, non_blocking=True)))
        if not isinstance(logits, Tensor) or logits.shape != (len(rows), self.n_classes):
            shape = tuple(logits.shape) if isinstance(logits, Tensor) else type(logits).__name__
            raise ModuleError(
                f"The module must return logits of shape ({len(rows)}, {self.n_classes}), one column for each of the "
                f"{self.n_classes} classes. Got {shape}. Make the last layer {self.n_classes} wide."
            )
        return logits

    def answers(self, logits: Tensor) -> Tensor:
        """Return the class index of each row."""
        if not torch.isfinite(logits).all():
            raise ModuleError(
                "The module returned NaN or infinite logits. Look for values of X that are far out of range "
                "(standardise them), or lower the learning rate."
            )
        return logits.argmax(dim=1)

    @torch.inference_mode()
    def predict(self, module: nn.Module, inputs: TorchInputs) -> IntArray:
        """Return the class index of each row, in evaluation mode."""
        module.eval()
        sampler = EpochSampler(len(inputs), self.batch_size)
        parts = [self.answers(self.forward(module, rows)) for rows, _ in inputs.batches(sampler)]
        answers: IntArray = torch.cat(parts).cpu().numpy() if parts else np.zeros(0, dtype=np.int64)
        return answers


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """What a pass reads: inputs, class indices and weights, the latter two on the device."""

    inputs: TorchInputs
    y: Tensor
    weight: Tensor


def passes(
    module: nn.Module,
    optimizer: torch.optim.Optimizer,
    row_loss: RowLoss,
    rows: TrainingRows,
    sampler: EpochSampler,
    evaluator: Evaluator,
) -> Iterator[IntArray]:
    """Train pass after pass; yield the answers on all training rows after each."""
    if len(sampler) == 1:
        sampler = EpochSampler(len(rows.inputs), len(rows.inputs))  # the order within one batch has no meaning
    if len(sampler) == 1 and _answers_alike_in_both_modes(module):
        yield from _single_batch_passes(module, optimizer, row_loss, rows, sampler, evaluator)
    while True:
        module.train()
        for batch, indices in rows.inputs.batches(sampler):
            on_device = indices.to(rows.y.device)
            logits = evaluator.forward(module, batch)
            _step(optimizer, row_loss, logits, rows.y[on_device], rows.weight[on_device])
        yield evaluator.predict(module, rows.inputs)


def _single_batch_passes(
    module: nn.Module,
    optimizer: torch.optim.Optimizer,
    row_loss: RowLoss,
    rows: TrainingRows,
    sampler: EpochSampler,
    evaluator: Evaluator,
) -> Iterator[IntArray]:
    """Train where one batch holds all rows: its forward pass is also the evaluation of the pass before."""
    batch, _ = next(iter(rows.inputs.batches(sampler)))
    logits = evaluator.forward(module, batch)
    while True:
        _step(optimizer, row_loss, logits, rows.y, rows.weight)
        logits = evaluator.forward(module, batch)
        yield evaluator.answers(logits.detach()).cpu().numpy()


def _step(optimizer: torch.optim.Optimizer, row_loss: RowLoss, logits: Tensor, target: Tensor, weight: Tensor) -> None:
    losses = row_loss(logits, target)
    if losses.shape != target.shape:
        raise ModuleError(
            f"The loss must return one value a row, shape {tuple(target.shape)}, so that rows can be weighted. "
            f"Got {tuple(losses.shape)}. Turn its reduction off (reduction='none')."
        )
    optimizer.zero_grad(set_to_none=True)
    (losses * weight).mean().backward()  # type: ignore[no-untyped-call]
    optimizer.step()


def _answers_alike_in_both_modes(module: nn.Module) -> bool:
    return all(type(part) in SAME_IN_BOTH_MODES for part in module.modules())
