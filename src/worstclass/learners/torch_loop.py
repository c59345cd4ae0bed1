"""The one torch training loop: epochs over the training rows, each followed by the answers on them.

``train_epochs`` is an endless iterator: advancing it trains one epoch and yields the class index that the module, in
evaluation mode, now answers for every training row. The caller decides when to stop.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn

from worstclass._typing import FloatArray, IntArray
from worstclass.exceptions import ModuleError, ParameterError
from worstclass.learners.torch_inputs import EpochSampler, TorchEncoder, TorchInputs
from worstclass.losses.base import Criterion
from worstclass.networks.heads import CosineHead, HeadInput

#: modules that answer alike, bit for bit, in training and in evaluation mode
SAME_IN_BOTH_MODES: frozenset[type[nn.Module]] = frozenset(
    {
        nn.Sequential, nn.ModuleList, nn.Identity, nn.Flatten, nn.Unflatten, nn.Linear, nn.Bilinear,
        nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d, nn.AvgPool1d, nn.AvgPool2d,
        nn.AvgPool3d, nn.AdaptiveAvgPool1d, nn.AdaptiveAvgPool2d, nn.AdaptiveMaxPool2d, nn.LayerNorm,
        nn.GroupNorm, nn.ReLU, nn.ReLU6, nn.LeakyReLU, nn.PReLU, nn.ELU, nn.SELU, nn.GELU, nn.SiLU, nn.Mish,
        nn.Tanh, nn.Sigmoid, nn.Softplus, nn.Hardtanh, nn.Hardswish, CosineHead,
    }
)  # fmt: skip


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
        return _finite(logits).argmax(dim=1)

    @torch.inference_mode()
    def predict(self, module: nn.Module, inputs: TorchInputs) -> IntArray:
        """Return the class index of each row, in evaluation mode."""
        parts = [self.answers(logits) for logits, _ in self._logits(module, inputs)]
        answers: IntArray = torch.cat(parts).cpu().numpy() if parts else np.zeros(0, dtype=np.int64)
        return answers

    @torch.inference_mode()
    def probabilities(self, module: nn.Module, inputs: TorchInputs) -> FloatArray:
        """Return the softmax of the logits of each row, in evaluation mode, shape (n, K)."""
        parts = [_finite(logits).double().softmax(dim=1) for logits, _ in self._logits(module, inputs)]
        return torch.cat(parts).cpu().numpy() if parts else np.zeros((0, self.n_classes))

    @torch.inference_mode()
    def class_losses(self, module: nn.Module, rows: WeightedRows) -> Tensor:
        """Return the mean cross-entropy of each class over the training rows, in evaluation mode, shape (K,)."""
        total = torch.zeros(self.n_classes, device=self.device)
        for logits, indices in self._logits(module, rows.inputs):
            target = rows.y[indices.to(rows.y.device)]
            total.index_add_(0, target, nn.functional.cross_entropy(logits, target, reduction="none").to(total.dtype))
        return total / rows.class_counts(self.n_classes)

    def _logits(self, module: nn.Module, inputs: TorchInputs) -> Iterator[tuple[Tensor, Tensor]]:
        module.eval()
        sampler = EpochSampler(len(inputs), self.batch_size)
        for batch, indices in inputs.batches(sampler):
            yield self.forward(module, batch), indices


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
    module: nn.Module,
    optimizer: torch.optim.Optimizer,
    criterion: Criterion,
    rows: WeightedRows,
    sampler: EpochSampler,
    evaluator: Evaluator,
) -> Generator[IntArray, None, None]:
    """Train epoch after epoch; yield the answers on all training rows after each."""
    step = Step(module, optimizer, criterion, evaluator)
    if len(sampler) == 1:
        sampler = EpochSampler(len(rows.inputs), len(rows.inputs))  # the order within one batch has no meaning
    one_forward = len(sampler) == 1 and rows.augment is None and _answers_alike_in_both_modes(module)
    with step:
        yield from (_single_batch_epochs if one_forward else _epochs)(step, rows, sampler)


def _epochs(step: Step, rows: WeightedRows, sampler: EpochSampler) -> Iterator[IntArray]:
    module, evaluator = step.module, step.evaluator
    for number in count(1):
        step.criterion.begin_epoch(number, lambda: evaluator.class_losses(module, rows))
        module.train()
        for batch, indices in rows.inputs.batches(sampler):
            on_device = indices.to(rows.y.device)
            batch = batch if rows.augment is None else rows.augment(batch)
            step.descend(step.forward(batch), rows.y[on_device], rows.weight[on_device])
        yield evaluator.predict(module, rows.inputs)


def _single_batch_epochs(step: Step, rows: WeightedRows, sampler: EpochSampler) -> Iterator[IntArray]:
    """Train where one batch holds all rows: its forward pass is also the evaluation of the epoch before."""
    module, evaluator = step.module, step.evaluator
    batch, _ = next(iter(rows.inputs.batches(sampler)))
    output = step.forward(batch)
    for number in count(1):
        step.criterion.begin_epoch(number, lambda: evaluator.class_losses(module, rows))
        step.descend(output, rows.y, rows.weight)
        output = step.forward(batch)
        yield evaluator.answers(output.logits.detach()).cpu().numpy()


@dataclass(frozen=True, eq=False)
class Output:
    """What a network gives for a batch: logits, and the features that its head made them of, where they are needed."""

    logits: Tensor
    features: Tensor | None


class Step:
    """Forward and backward on one batch, within a context where the loss needs to see what enters the head."""

    def __init__(
        self, module: nn.Module, optimizer: torch.optim.Optimizer, criterion: Criterion, evaluator: Evaluator
    ) -> None:
        self.module = module
        self.criterion = criterion
        self.evaluator = evaluator
        self._optimizer = optimizer
        self._head = HeadInput(module, evaluator.n_classes) if criterion.needs_features else None

    def __enter__(self) -> Self:
        if self._head is not None:
            self._head.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        if self._head is not None:
            self._head.__exit__(*error)

    def forward(self, batch: Tensor) -> Output:
        """Run the network on a batch."""
        logits = self.evaluator.forward(self.module, batch)
        return Output(logits, None if self._head is None else self._head.features())

    def descend(self, output: Output, target: Tensor, weight: Tensor) -> None:
        """Take one step of the optimizer on the weighted losses."""
        losses = self.criterion(output.logits, target, output.features)
        if losses.shape != target.shape:
            raise ModuleError(
                f"The loss must return one value a row, shape {tuple(target.shape)}, so that rows can be weighted. "
                f"Got {tuple(losses.shape)}. Turn its reduction off (reduction='none')."
            )
        self._optimizer.zero_grad(set_to_none=True)
        (losses * weight).mean().backward()  # type: ignore[no-untyped-call]
        self._optimizer.step()


def _finite(logits: Tensor) -> Tensor:
    if not torch.isfinite(logits).all():
        raise ModuleError(
            "The module returned NaN or infinite logits. Look for values of X that are far out of range "
            "(standardise them), or lower the learning rate."
        )
    return logits


def _answers_alike_in_both_modes(module: nn.Module) -> bool:
    return all(type(part) in SAME_IN_BOTH_MODES for part in module.modules())
