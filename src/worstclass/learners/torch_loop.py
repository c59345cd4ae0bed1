"""How a torch network answers, and the one loop that trains it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.optim.lr_scheduler import LambdaLR

from worstclass._progress import steps
from worstclass._typing import FloatArray, IntArray
from worstclass.exceptions import ModuleError, ParameterError
from worstclass.learners.base import Epoch, Member, Training
from worstclass.learners.torch_inputs import TorchEncoder, TorchInputs, batch_sizes
from worstclass.networks.heads import head_inputs
from worstclass.randomness import generator_states, isolated_rng, set_generator_states

if TYPE_CHECKING:
    from worstclass.learners.torch_learner import TorchLearner

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
        parts = [read_answers(logits) for logits in self._logits(inputs)]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)

    @torch.inference_mode()
    def probabilities(self, inputs: TorchInputs) -> FloatArray:
        """Return the softmax of the logits of each row, in evaluation mode, shape (n, K)."""
        parts = [_finite(logits).double().softmax(dim=1) for logits in self._logits(inputs)]
        return torch.cat(parts).cpu().numpy() if parts else np.zeros((0, self.n_classes))

    def _logits(self, inputs: TorchInputs) -> Iterator[Tensor]:
        self.module.eval()
        n_batches = len(batch_sizes(len(inputs), self.batch_size))
        for batch, _ in steps(inputs.batches(self.batch_size), n_batches):
            yield self.forward(batch)


@dataclass(frozen=True, eq=False)
class TorchMember(Member):
    """The weights of one trained network, on the CPU, or a function that reads them each time they are needed."""

    runtime: TorchRuntime
    weights: State | Callable[[], State]

    @property
    def state(self) -> State:
        """The weights by name."""
        return self.weights() if callable(self.weights) else self.weights

    def predict(self, inputs: TorchInputs) -> IntArray:
        """Return the class index of each row."""
        with self.runtime.holding(self.state):
            return self.runtime.predict(inputs)

    def probabilities(self, inputs: TorchInputs) -> FloatArray:
        """Return the softmax of the logits of each row, shape (n, K)."""
        with self.runtime.holding(self.state):
            return self.runtime.probabilities(inputs)


@dataclass(eq=False)
class TorchTraining(Training):
    """A torch network bound to one training sample."""

    learner: TorchLearner
    encoder: TorchEncoder
    inputs: TorchInputs
    y: IntArray
    runtime: TorchRuntime
    initial_state: State
    _previous: State | None = field(default=None, init=False)
    _optimizer_state: dict[str, Any] | None = field(default=None, init=False)

    @property
    def steps_per_epoch(self) -> int:
        """Batches in one epoch."""
        return len(batch_sizes(len(self.inputs), self.learner.batch_size))

    @property
    def repeats(self) -> bool:
        """Nothing is random: parts of ours, one start for all rounds, and all rows in one batch as they are."""
        learner = self.learner
        ours = all(isinstance(part, str) for part in (learner.module, learner.loss, learner.optimizer))
        same = learner.start == "same" and learner.optimizer_state == "fresh" and learner.resolved_augmentation is None
        return ours and same and self.steps_per_epoch == 1

    @property
    def answers_ahead(self) -> bool:
        """Whether the forward pass that begins an epoch gives the answers after the epoch before, bit by bit.

        All rows are one batch, without augmentation, and a network of ours answers alike in training and evaluation.
        """
        learner, runtime = self.learner, self.runtime
        fixed = isinstance(self.inputs.source, Tensor) and learner.resolved_augmentation is None
        alike = isinstance(learner.module, str) and not any(isinstance(m, _BatchNorm) for m in runtime.module.modules())
        whole = len(self.inputs) <= min(learner.batch_size, runtime.batch_size)
        return fixed and alike and whole and not learner.resolved_loss.needs_features

    def member(self, state: State) -> TorchMember:
        """Return the member of some weights."""
        return TorchMember(self.runtime, state)

    def carried(self) -> dict[str, Any] | None:
        """Return the state of the optimizer, if the next round goes on with it."""
        return self._optimizer_state

    def take_over(self, member: Member, carried: dict[str, Any] | None) -> None:
        """Go on after a member that was trained earlier."""
        self._previous, self._optimizer_state = member.state, carried

    def epochs(
        self, sample_weight: FloatArray, seed: int, start: dict[str, Any] | None = None
    ) -> Generator[Epoch, None, None]:
        """Train epoch after epoch, without end; after each, the module answers for all rows in evaluation mode."""
        learner, runtime, module = self.learner, self.runtime, self.runtime.module
        y = torch.from_numpy(self.y).to(runtime.device)
        weight = torch.from_numpy(sample_weight.astype(np.float32)).to(runtime.device)
        with isolated_rng(seed):
            loop = self._new_loop(seed) if start is None else self._loop_from(seed, start)
            augment, loss = self._augment(loop.changes), learner.resolved_loss
            criterion = loss.bind(torch.bincount(y, minlength=runtime.n_classes))
            reading = head_inputs(module, runtime.n_classes) if loss.needs_features else nullcontext(lambda: None)
            ahead, answers_ahead = None, self.answers_ahead
            with reading as features:
                for number in count(loop.epoch + 1):
                    module.train()
                    total = torch.zeros((), device=runtime.device)
                    order = loop.order if self.steps_per_epoch > 1 else None
                    for batch, indices in self.inputs.batches(learner.batch_size, order):
                        at = indices.to(runtime.device)
                        logits = runtime.forward(augment(batch)) if ahead is None else ahead
                        losses = _one_per_row(criterion(logits, y[at], features(), number), len(at))
                        loop.optimizer.zero_grad(set_to_none=True)
                        mean = (losses * weight[at]).mean()
                        mean.backward()  # type: ignore[no-untyped-call]
                        total += mean.detach() * len(at)
                        loop.optimizer.step()
                        loop.schedule.step()
                    loop.epoch = number
                    if learner.optimizer_state == "carry":
                        self._optimizer_state = loop.optimizer.state_dict()
                    mean_loss, standing = total.item() / len(y), partial(loop.standing, module)
                    if answers_ahead:
                        ahead = runtime.forward(batch)
                    answers = runtime.predict(self.inputs) if ahead is None else read_answers(ahead)
                    yield Epoch(answers, runtime.predict, self._snapshot, mean_loss, standing)

    def _new_loop(self, seed: int) -> Loop:
        """Return the loop before its first epoch, with the module at its start."""
        self.runtime.module.load_state_dict(self._start_state())
        optimizer = self.learner.new_optimizer(self.runtime.module)
        if self._optimizer_state is not None:
            load_optimizer(optimizer, self._optimizer_state)
        order, changes = torch.Generator().manual_seed(seed), torch.Generator().manual_seed(seed ^ 0x5EED)
        return Loop(optimizer, self.learner.new_schedule(optimizer, self.steps_per_epoch), order, changes)

    def _loop_from(self, seed: int, start: dict[str, Any]) -> Loop:
        """Return the loop as it stood after an epoch, with the module as it was."""
        self.runtime.module.load_state_dict(start["module"])
        optimizer = self.learner.new_optimizer(self.runtime.module)
        loop = Loop(
            optimizer,
            self.learner.new_schedule(optimizer, self.steps_per_epoch),
            torch.Generator().set_state(start["order"]),
            torch.Generator().set_state(start["changes"]),
            start["epoch"],
        )
        load_optimizer(optimizer, start["optimizer"])
        loop.schedule.load_state_dict(start["schedule"])
        set_generator_states(start["generators"])
        return loop

    def _augment(self, generator: torch.Generator) -> Callable[[Tensor], Tensor]:
        """Return what changes a batch, with random numbers of its own: the order of the rows does not depend on it."""
        augmentation = self.learner.resolved_augmentation
        if augmentation is None:
            return lambda batch: batch
        if len(self.inputs.row_shape) != 3:
            allowed = "'none' unless rows are images, shape (C, H, W)"
            raise ParameterError("augment", "TorchLearner", allowed=allowed, got=self.learner.augment)
        return lambda batch: augmentation(batch, generator)

    def _snapshot(self) -> TorchMember:
        return TorchMember(self.runtime, state_of(self.runtime.module))

    def _start_state(self) -> State:
        if self.learner.start == "fresh":
            return self.learner.new_state(self.inputs.row_shape, self.runtime.n_classes, other_than=self.runtime.module)
        if self.learner.start == "warm" and self._previous is not None:
            return self._previous
        return self.initial_state


@dataclass(eq=False)
class Loop:
    """What changes while a network is trained, besides its weights.

    Attributes
    ----------
    optimizer, schedule : with their states.
    order, changes : generators of the order of the rows and of the augmentation.
    epoch : epochs that are finished.
    """

    optimizer: torch.optim.Optimizer
    schedule: LambdaLR
    order: torch.Generator
    changes: torch.Generator
    epoch: int = 0

    def standing(self, module: nn.Module) -> dict[str, Any]:
        """Return all that the next epochs depend on."""
        return {
            "epoch": self.epoch,
            "module": dict(module.state_dict()),
            "optimizer": self.optimizer.state_dict(),
            "schedule": self.schedule.state_dict(),
            "order": self.order.get_state(),
            "changes": self.changes.get_state(),
            "generators": generator_states(),
        }


def load_optimizer(optimizer: torch.optim.Optimizer, state: dict[str, Any]) -> None:
    """Put an optimizer into a state; its tensors get the layout of the parameters, which fused steps rely on."""
    optimizer.load_state_dict(state)
    for parameter, values in optimizer.state.items():
        for name, value in values.items():
            if isinstance(value, Tensor) and value.shape == parameter.shape:
                values[name] = torch.empty_like(parameter, dtype=value.dtype).copy_(value)


def state_of(module: nn.Module) -> State:
    """Return a copy of the weights of a module, on the CPU."""
    return {name: value.detach().to("cpu", copy=True) for name, value in module.state_dict().items()}


def read_answers(logits: Tensor) -> IntArray:
    """Return the class index of each row; refuse logits that are not finite."""
    return _finite(logits.detach()).argmax(dim=1).cpu().numpy()


def _one_per_row(losses: Tensor, n_rows: int) -> Tensor:
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
