"""Any torch network as a weak learner."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy
from torch.optim.lr_scheduler import LambdaLR

from worstclass._checks import check_choice, check_count, check_positive, suggests_options, warn_of_channels_last
from worstclass._typing import IntArray
from worstclass.data.augmentation import Augmentation, build_augmentation
from worstclass.data.encoding import TableEncoder
from worstclass.data.map_style import is_map_dataset
from worstclass.data.splits import count_rows, take_rows
from worstclass.exceptions import DataError, ModelFormatError, ModuleError, ParameterError, WorstClassError
from worstclass.learners.base import Member, WeakLearner
from worstclass.learners.torch_inputs import TorchEncoder, TorchInputs, as_inputs
from worstclass.learners.torch_loop import State, TorchMember, TorchRuntime, TorchTraining, resolve_device, state_of
from worstclass.losses import build_loss
from worstclass.losses.base import Loss, PlainLoss, RowLossFunction
from worstclass.networks import build_network
from worstclass.networks.heads import with_cosine_head
from worstclass.randomness import isolated_rng

OptimizerFactory = Callable[..., torch.optim.Optimizer]

OPTIMIZERS: dict[str, OptimizerFactory] = {
    "adam": lambda parameters, lr: torch.optim.Adam(parameters, lr=lr, fused=True),
    "adamw": lambda parameters, lr: torch.optim.AdamW(parameters, lr=lr, fused=True),
    "sgd": lambda parameters, lr: torch.optim.SGD(parameters, lr=lr, momentum=0.9, fused=True),
}
STARTS = ("fresh", "same", "warm")
OPTIMIZER_STATES = ("fresh", "carry")
HEADS = ("as-built", "cosine")


@suggests_options
class TorchLearner(WeakLearner):
    """A torch network as the weak learner.

    Arrays and tensors stay in memory as one tensor, and batches are index selections. A map-style ``Dataset`` goes
    through a ``DataLoader``, and must give the same rows whenever it is read: floors are counted on the training rows
    as they are, without augmentation. Of a data frame, text and categories are one-hot encoded and missing numbers
    filled by a ``TableEncoder``, which is fitted on the training rows. Each round has a new optimizer.

    Parameters
    ----------
    module : a network's name (``worstclass.networks.list_networks()``), or a factory: a callable that returns a
        ``torch.nn.Module`` with fresh weights. A factory with parameters named ``input_shape`` (shape of one row) or
        ``n_classes`` is given them.
    module_options : further keyword arguments of the network or factory.
    optimizer : ``"adam"``, ``"adamw"``, ``"sgd"`` (momentum 0.9), or a factory called with (parameters, lr=lr).
    loss : a loss's name (``worstclass.losses.list_losses()``), a ``Loss`` with options of its own, or a callable from
        (logits, class indices) to one loss per row.
    head : the last layer. ``"as-built"``: the network's own; ``"cosine"``: replaced by one whose logits are cosines,
        which the ``"ldam"`` loss is meant for.
    lr : learning rate.
    decay_epochs : epochs of a round after which the learning rate is 0; it falls along half a cosine. None keeps it
        constant, which suits rounds whose length is not known.
    warmup_epochs : first epochs of a round, over which the learning rate rises from 0 to ``lr``.
    batch_size : rows of a training batch.
    start : weights at the start of a round. ``"fresh"``: new random ones; ``"same"``: one common random state, as
        in the paper; ``"warm"``: those at the end of the round before.
    optimizer_state : state of the optimizer (Adam's moments) at the start of a round. ``"fresh"``: empty; ``"carry"``:
        that at the end of the round before, as in the authors' code, whatever ``start`` does to the weights.
    augment : random changes of the images of a training batch: ``"crop-flip"`` (the paper's for CIFAR), ``"crop"``,
        ``"flip"``, ``"none"``, or an ``Augmentation``. Floors are counted on the images as they are.
    standardize : whether inputs are brought to mean 0 and deviation 1, as seen in the training rows. ``"auto"``: each
        channel of images, and nothing else; True: also each column of a table; False: never.
    eval_batch_size : rows of a batch in evaluation; None means ``batch_size``.
    num_workers : worker processes of the ``DataLoader``, for data sets.
    device : ``"auto"`` (a GPU where there is one), or what ``torch.device`` takes.

    Examples
    --------
    >>> from torch import nn
    >>> from worstclass import TorchLearner, WorstClassBooster
    >>> def network(input_shape, n_classes):
    ...     return nn.Sequential(nn.Linear(input_shape[0], 32), nn.ReLU(), nn.Linear(32, n_classes))
    >>> booster = WorstClassBooster(TorchLearner(network, lr=0.01), theta=0.8)
    """

    gives_probabilities = True

    def __init__(
        self,
        module: str | Callable[..., nn.Module],
        *,
        module_options: Mapping[str, Any] | None = None,
        optimizer: str | OptimizerFactory = "adam",
        loss: str | Loss | RowLossFunction = "cross-entropy",
        head: str = "as-built",
        lr: float = 0.001,
        decay_epochs: int | None = None,
        warmup_epochs: int = 0,
        batch_size: int = 512,
        start: str = "fresh",
        optimizer_state: str = "fresh",
        augment: str | Augmentation = "none",
        standardize: bool | str = "auto",
        eval_batch_size: int | None = None,
        num_workers: int = 0,
        device: str = "auto",
    ) -> None:
        self.module = module
        self.module_options = module_options
        self.optimizer = optimizer
        self.loss = loss
        self.head = head
        self.lr = lr
        self.decay_epochs = decay_epochs
        self.warmup_epochs = warmup_epochs
        self.batch_size = batch_size
        self.start = start
        self.optimizer_state = optimizer_state
        self.augment = augment
        self.standardize = standardize
        self.eval_batch_size = eval_batch_size
        self.num_workers = num_workers
        self.device = device

    def check_X(self, X: Any) -> Any:
        """Check an array or a tensor; data frames are checked when they are encoded, data sets when they are read."""
        if is_map_dataset(X):
            if len(X) == 0:
                raise DataError("X must have at least one row. Got a data set with 0 sample(s).")
            return X
        checked = self._checked(_as_array(X) if isinstance(X, Tensor) else X, allow_nd=True)
        return X if isinstance(X, Tensor) else checked

    def bind(self, X: Any, y: IntArray, n_classes: int, seed: int) -> TorchTraining:
        """Move the rows to where they are trained on, and build the network once to see that it fits."""
        self._check_parameters()
        table = TableEncoder().fit(X) if hasattr(X, "iloc") else None
        inputs = as_inputs(X if table is None else table.transform(X), self.num_workers)
        warn_of_channels_last(inputs.row_shape)
        encoder = TorchEncoder(inputs.row_shape, self.num_workers, table=table)
        if self.standardize is True or (self.standardize == "auto" and len(inputs.row_shape) == 3):
            encoder = encoder.standardized(inputs)
        with isolated_rng(seed):
            runtime = self.runtime(encoder, n_classes)
            few, _ = next(inputs.take(np.arange(min(2, len(inputs)))).batches(2))
            with self._explained(f"cannot answer rows of shape {inputs.row_shape}"):
                runtime.predict(TorchInputs(few))
        return TorchTraining(self, encoder, inputs.to(runtime.device), y, runtime, state_of(runtime.module))

    def try_out(self, X: Any, n_classes: int) -> None:
        """Build the network and ask it about two rows, to refuse what no training could use before anything runs."""
        few = X if hasattr(X, "iloc") else take_rows(X, np.arange(min(2, count_rows(X))))  # a table's columns need all
        self.bind(self.check_X(few), np.zeros(count_rows(few), dtype=np.int64), n_classes, seed=0)

    def new_state(self, row_shape: tuple[int, ...], n_classes: int, *, other_than: nn.Module) -> State:
        """Return the state of a newly built network, which must not be one that is in use."""
        module = self._build(row_shape, n_classes)
        if module is other_than:
            allowed = "a factory that builds a new network each time it is called"
            hint = "It returned the same instance twice: build the network inside it."
            raise ParameterError("module", "TorchLearner", allowed=allowed, got=self.module, hint=hint)
        return module.state_dict()

    def new_optimizer(self, module: nn.Module) -> torch.optim.Optimizer:
        """Return a new optimizer for a module."""
        factory = OPTIMIZERS[self.optimizer] if isinstance(self.optimizer, str) else self.optimizer
        return factory(module.parameters(), lr=self.lr)

    def new_schedule(self, optimizer: torch.optim.Optimizer, steps_per_epoch: int) -> LambdaLR:
        """Return what sets the learning rate after each step."""
        rising, end = self.warmup_epochs * steps_per_epoch, (self.decay_epochs or 0) * steps_per_epoch

        def share(step: int) -> float:
            if step < rising:
                return (step + 1) / rising
            if end == 0:
                return 1.0
            return (1 + math.cos(math.pi * min((step - rising) / max(end - rising, 1), 1))) / 2

        return LambdaLR(optimizer, share)

    @property
    def resolved_loss(self) -> Loss:
        """The loss, whichever way it was given."""
        if isinstance(self.loss, Loss):
            return self.loss
        return build_loss(self.loss) if isinstance(self.loss, str) else PlainLoss(self.loss)

    @property
    def resolved_augmentation(self) -> Augmentation | None:
        """The augmentation, whichever way it was given; None where there is none."""
        if isinstance(self.augment, Augmentation):
            return self.augment
        return None if self.augment == "none" else build_augmentation(self.augment)

    def runtime(self, encoder: TorchEncoder, n_classes: int) -> TorchRuntime:
        """Build what members need to train and to answer: a network of the right shape on the device."""
        device = resolve_device(self.device)
        with self._explained("cannot be built"):
            module = self._build(encoder.row_shape, n_classes).to(device)
        module = module.to(memory_format=encoder.memory_format)  # type: ignore[call-overload]
        return TorchRuntime(module, encoder, device, self.eval_batch_size or self.batch_size, n_classes)

    def restored_members(self, encoder: Any, n_classes: int, states: Sequence[Any]) -> list[Member]:
        """Return members with stored weights; refuse weights that are not those of the network.

        Weights that stay on disk are looked at once, for the first member.
        """
        known = [state for state in states if not callable(state)] or [read() for read in states[:1]]
        if not known:
            raise ModelFormatError("The model has no members.")
        if isinstance(self.module, str):
            with torch.device("meta"):  # without memory for its weights, which a file may ask any amount of
                again = f"The network {self.module!r} of this version is another one: train the model again."
                _require_fit(self._build(encoder.row_shape, n_classes), known, again)
        runtime = self.runtime(encoder, n_classes)
        _require_fit(runtime.module, known, "Pass the factory (and module_options) that the model was trained with.")
        return [TorchMember(runtime, state) for state in states]

    def _build(self, row_shape: tuple[int, ...], n_classes: int) -> nn.Module:
        options = dict(self.module_options or {})
        if isinstance(self.module, str):
            module = build_network(self.module, row_shape, n_classes, **options)
        else:
            module = self.module(**_offered(self.module, row_shape, n_classes), **options)
        if not isinstance(module, nn.Module):
            allowed = "a factory that returns a torch.nn.Module"
            raise ParameterError("module", "TorchLearner", allowed=allowed, got=module)
        if any(is_lazy(parameter) for parameter in module.parameters()):
            module.eval()(torch.zeros(2, *row_shape))  # lazy layers learn their sizes
        return with_cosine_head(module, n_classes) if self.head == "cosine" else module

    @contextmanager
    def _explained(self, what: str) -> Iterator[None]:
        """Name the network if its own code fails, which can fail in any way."""
        try:
            yield
        except (WorstClassError, MemoryError, torch.OutOfMemoryError):
            raise
        except Exception as error:
            name = self.module if isinstance(self.module, str) else getattr(self.module, "__name__", "of the factory")
            hint = " A factory gets input_shape and n_classes if it has parameters of these names."
            said = str(error).rstrip(".")
            raise ModuleError(
                f"The network {name} {what}. {type(error).__name__}{said and f': {said}'}."
                f"{hint if isinstance(error, TypeError) else ''}"
            ) from error

    def _check_parameters(self) -> None:
        if isinstance(self.module, nn.Module) or not (isinstance(self.module, str) or callable(self.module)):
            allowed = "a network's name or a factory, since every round builds a new network"
            hint = "Pass the class, or a function that returns a new instance."
            raise ParameterError("module", "TorchLearner", allowed=allowed, got=type(self.module).__name__, hint=hint)
        if self.standardize not in (True, False, "auto"):
            raise ParameterError("standardize", "TorchLearner", allowed="'auto', True or False", got=self.standardize)
        check_choice(self.start, "start", "TorchLearner", STARTS)
        check_choice(self.optimizer_state, "optimizer_state", "TorchLearner", OPTIMIZER_STATES)
        check_choice(self.head, "head", "TorchLearner", HEADS)
        check_positive(self.lr, "lr", "TorchLearner")
        check_count(self.decay_epochs, "decay_epochs", "TorchLearner", words=(None,))
        check_count(self.warmup_epochs, "warmup_epochs", "TorchLearner", least=0)
        check_count(self.batch_size, "batch_size", "TorchLearner")
        check_count(self.eval_batch_size, "eval_batch_size", "TorchLearner", words=(None,))
        if isinstance(self.optimizer, torch.optim.Optimizer):
            allowed = f"one of {list(OPTIMIZERS)}, or a function that is called with (parameters, lr=lr)"
            hint = "Pass its class, or a function that returns a new one: every network has its own."
            got = type(self.optimizer).__name__
            raise ParameterError("optimizer", "TorchLearner", allowed=allowed, got=got, hint=hint)
        if not callable(self.optimizer):
            check_choice(self.optimizer, "optimizer", "TorchLearner", OPTIMIZERS)
        if isinstance(self.loss, type) and not issubclass(self.loss, Loss):
            hint = f"Pass an instance or a function, such as {self.loss.__name__}(reduction='none')."
            allowed = "a loss's name, a Loss, or a callable from (logits, class indices) to one loss per row"
            raise ParameterError("loss", "TorchLearner", allowed=allowed, got=self.loss, hint=hint)
        _ = self.resolved_loss, self.resolved_augmentation


def _require_fit(module: nn.Module, states: Sequence[State], advice: str) -> None:
    """Refuse weights that are not those of a network."""
    ours = {name: value.shape for name, value in module.state_dict().items()}
    if any({name: value.shape for name, value in state.items()} != ours for state in states):
        raise ModelFormatError(
            f"The network does not fit the stored members: names or shapes of its weights differ. {advice}"
        )


def _as_array(X: Tensor) -> npt.NDArray[Any]:
    values = X.detach().cpu()
    return (values.float() if values.dtype == torch.bfloat16 else values).numpy()  # numpy has no bfloat16


def _offered(factory: Callable[..., nn.Module], row_shape: tuple[int, ...], n_classes: int) -> dict[str, Any]:
    """Return those of our facts about the data that a factory has a parameter for."""
    try:
        wanted = inspect.signature(factory).parameters
    except (TypeError, ValueError):
        return {}
    facts = {"input_shape": row_shape, "n_classes": n_classes}
    return {name: value for name, value in facts.items() if name in wanted}
