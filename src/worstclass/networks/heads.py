"""The last layer of a network: finding it, reading what enters it, and replacing it by one that answers cosines.

Networks return logits only. A loss that needs features gets them from the input of the network's own head.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from worstclass.exceptions import ModuleError

#: vectors that are not longer than this have no direction
SHORTEST = 1e-6


class CosineHead(nn.Module):
    """A last layer whose logits are the cosines between the features and one direction a class.

    There is no bias, and lengths have no effect. Features of length 0 have no direction: their cosines are 0, and so
    is the gradient with respect to them.

    Parameters
    ----------
    in_features, out_features : as of ``nn.Linear``.

    Examples
    --------
    >>> head = CosineHead(2, 3)
    >>> with torch.no_grad():
    ...     _ = head.weight.copy_(torch.tensor([[9.0, 0.0], [0.0, 1.0], [-3.0, 0.0]]))
    >>> head(torch.tensor([[5.0, 0.0]])).tolist()
    [[1.0, 0.0, -1.0]]
    """

    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = nn.Parameter(_directions(torch.randn(out_features, in_features)))  # uniform, of length 1

    def forward(self, features: Tensor) -> Tensor:
        """Return the cosines, shape (..., out_features); within [-1, 1] up to rounding."""
        return nn.functional.linear(_directions(features), _directions(self.weight))

    def extra_repr(self) -> str:
        """Return what ``print`` shows between the brackets."""
        return f"in_features={self.in_features}, out_features={self.out_features}"


#: what can be the last layer of a network
Head = nn.Linear | CosineHead


def find_head(module: nn.Module, n_classes: int) -> Head:
    """Return the last layer of a network: the one that makes the logits.

    It is the attribute ``head`` of the module if that is a linear or cosine layer with ``n_classes`` outputs, and
    otherwise the last such layer in the order in which layers were registered.

    Examples
    --------
    >>> network = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 3))
    >>> find_head(network, 3) is network[2]
    True
    """
    layers = [layer for layer in module.modules() if isinstance(layer, Head)]
    fitting = [layer for layer in layers if layer.out_features == n_classes]
    if not fitting:
        found = ", ".join(f"{type(layer).__name__} with {layer.out_features} outputs" for layer in layers) or "none"
        raise ModuleError(
            f"The module must have a last layer with {n_classes} outputs, one for each class: an nn.Linear or a "
            f"CosineHead. Its layers of these kinds: {found}. Make the layer that answers the logits an "
            f"nn.Linear(..., {n_classes}), best as an attribute named 'head'."
        )
    named = getattr(module, "head", None)
    return next((layer for layer in fitting if layer is named), fitting[-1])


@contextmanager
def head_inputs(module: nn.Module, n_classes: int) -> Iterator[Callable[[], Tensor]]:
    """Give a function that returns the features of a batch: what entered the head when the module was last called.

    They have the shape (n, d), and their graph. The hooks that this needs are on the module for the length of the
    context.

    Parameters
    ----------
    module : the network.
    n_classes : the number of its logits, by which its head is found (see ``find_head``).

    Examples
    --------
    >>> network = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 3))
    >>> with head_inputs(network, 3) as features:
    ...     logits = network(torch.ones(5, 2))
    ...     features().shape
    torch.Size([5, 8])
    """
    head, entered = find_head(module, n_classes), list[Tensor]()

    def record(_: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        entered.append(next(iter((*args, *kwargs.values()))))

    def features() -> Tensor:
        if len(entered) != 1:
            raise ModuleError(
                f"The features of a batch are what enters the module's last layer, so a call of the module must use "
                f"that layer exactly once. It used {head} {len(entered)} times. Make the layer that answers the logits "
                f"an attribute named 'head', and call it once in forward."
            )
        return entered[0].flatten(start_dim=1)

    forgets = module.register_forward_pre_hook(lambda *_: entered.clear())
    records = head.register_forward_pre_hook(record, with_kwargs=True)
    try:
        yield features
    finally:
        forgets.remove()
        records.remove()


def with_cosine_head(module: nn.Module, n_classes: int) -> nn.Module:
    """Replace the head of a network, wherever it sits, by a ``CosineHead`` with fresh weights.

    The module is changed in place, and returned; a module that is nothing but its head gives a new one.

    Examples
    --------
    >>> with_cosine_head(nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 3)), 3)[2]
    CosineHead(in_features=8, out_features=3)
    """
    head = find_head(module, n_classes)
    cosine = CosineHead(head.in_features, n_classes).to(head.weight).train(head.training)
    if head is module:
        return cosine
    for path in [path for path, part in module.named_modules(remove_duplicate=False) if part is head]:
        module.set_submodule(path, cosine)
    return module


def _directions(vectors: Tensor) -> Tensor:
    """Return vectors (the last dimension) of length 1 in the same direction, 0 for those without one."""
    lengths = torch.linalg.vector_norm(vectors, dim=-1, keepdim=True)
    has_direction = lengths > SHORTEST
    return torch.where(has_direction, vectors / torch.where(has_direction, lengths, 1.0), 0.0)
