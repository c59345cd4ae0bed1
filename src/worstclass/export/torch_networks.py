"""Torch networks on their way into a file: a plain copy, any batch size, and torch's remarks kept away."""

from __future__ import annotations

import copy
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from worstclass.exceptions import ExportError

if TYPE_CHECKING:
    from worstclass.learners.torch_loop import State


def plain_network(module: nn.Module, state: State) -> nn.Module:
    """Return a copy of a network with the given weights, on the CPU, as it answers."""
    copied = copy.deepcopy(module).to("cpu").to(memory_format=torch.contiguous_format)  # type: ignore[call-overload]
    copied.load_state_dict(state)
    return copied.eval().requires_grad_(False)  # type: ignore[no-any-return]


def any_batch() -> Any:
    """Say that the first side of the only input is free."""
    return ({0: torch.export.Dim.DYNAMIC},)


@contextmanager
def exporting(module: nn.Module) -> Iterator[None]:
    """Turn what torch says of a network that it cannot export into one sentence."""
    try:
        yield
    except Exception as error:  # the exporter runs code of the user
        what = " ".join(str(error).split())[:300]
        raise ExportError(
            f"torch cannot export the network {type(module).__name__} for any batch size. Its forward must be made of "
            f"tensor operations that do not depend on the values or the number of the rows. torch says: {what}"
        ) from error


@contextmanager
def quiet() -> Iterator[None]:
    """Keep remarks of exporters about themselves from the user."""
    loggers = [logging.getLogger(name) for name in ("torch.onnx", "torch.export", "onnxscript", "onnx_ir")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
