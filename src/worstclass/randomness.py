"""Seeds: one source in, a distinct seed for every use out, and no trace left behind."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from worstclass.exceptions import ParameterError


class SeedTree:
    """Independent integer seeds, each found by its path of numbers below one root.

    The seed of round 17 does not depend on how many seeds were asked for before, so a run that is
    resumed, extended or shortened draws the same numbers.

    Examples
    --------
    >>> SeedTree(0).seed(1) == SeedTree(0).seed(1), SeedTree(0).seed(1) == SeedTree(0).seed(2)
    (True, False)
    """

    def __init__(self, entropy: int) -> None:
        self.entropy = entropy

    @classmethod
    def from_random_state(cls, random_state: Any, *, owner: str) -> SeedTree:
        """Read scikit-learn's ``random_state``: an int, a RandomState, a Generator or None."""
        if random_state is None:
            return cls(int(np.random.SeedSequence().generate_state(1)[0]))
        if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool) and random_state >= 0:
            return cls(int(random_state))
        if isinstance(random_state, np.random.RandomState):
            return cls(int(random_state.randint(2**31)))
        if isinstance(random_state, np.random.Generator):
            return cls(int(random_state.integers(2**31)))
        raise ParameterError(
            "random_state",
            owner,
            allowed="None, a non-negative int, a RandomState or a Generator",
            got=random_state,
        )

    def seed(self, *path: int) -> int:
        """Return the seed at ``path``, in [0, 2**32)."""
        return int(np.random.SeedSequence(self.entropy, spawn_key=path).generate_state(1)[0])


@contextmanager
def isolated_rng(seed: int) -> Iterator[None]:
    """Run a block with the global generators of Python, numpy and torch set to ``seed``, then put them back.

    Code that we do not own (a module's initialisation, dropout, an estimator without ``random_state``) draws
    from the global generators. Inside this block it draws the same numbers whatever the caller did before, and
    the caller's own stream goes on afterwards as if nothing had happened. (torch counts if it was imported before.)
    """
    before = generator_states()
    try:
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002
        if torch := sys.modules.get("torch"):
            torch.manual_seed(seed)
        yield
    finally:
        set_generator_states(before)


def generator_states() -> dict[str, Any]:
    """Return the states of the global generators of Python, numpy and torch."""
    states: dict[str, Any] = {"python": random.getstate(), "numpy": np.random.get_state()}  # noqa: NPY002
    if torch := sys.modules.get("torch"):
        states["torch"] = torch.get_rng_state()
        states["cuda"] = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else None
    return states


def set_generator_states(states: Mapping[str, Any]) -> None:
    """Put the global generators into the states given."""
    random.setstate(states["python"])
    np.random.set_state(states["numpy"])  # noqa: NPY002
    torch = sys.modules.get("torch")
    if torch and "torch" in states:
        torch.set_rng_state(states["torch"])
    if torch and states.get("cuda") is not None:
        torch.cuda.set_rng_state_all(states["cuda"])
