"""What is fuzzed: a table of targets, each of which has inputs and a function that reads one of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from worstclass.exceptions import WorstClassError


@dataclass
class Target:
    """Inputs, and what reads one: it may return, or raise an error of worstclass. ``samples`` are tried besides."""

    inputs: st.SearchStrategy[Any]
    read: Callable[[Any], Any]
    samples: list[Any] = field(default_factory=list)


#: name -> function that prepares the target in a folder of its own
TARGETS: dict[str, Callable[[Path], Target]] = {}


def target(make: Callable[[Path], Target]) -> Callable[[Path], Target]:
    """Enter a target under the name of its function."""
    TARGETS[make.__name__.replace("_", "-")] = make
    return make


def tried(*attempts: Callable[[], Any]) -> None:
    """Make all attempts, and raise the first refusal in the end."""
    refusals = []
    for attempt in attempts:
        try:
            attempt()
        except WorstClassError as error:
            refusals.append(error)
    if refusals:
        raise refusals[0]
