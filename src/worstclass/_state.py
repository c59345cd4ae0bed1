"""What a fitted estimator gives out to be stored, and takes in again.

An estimator knows which of its attributes make up its fitted state; ``storage`` knows how values become files. Neither
knows the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self


class Stateful:
    """Mixin of estimators that can be stored.

    ``state_names`` lists the fitted attributes to keep. Their values may be plain values, numpy arrays, tensors,
    dataclasses of this package, fitted estimators, and lists, tuples and mappings of these. What follows from them is
    set again by ``_restored``.
    """

    state_names: ClassVar[tuple[str, ...]] = ()

    def state(self) -> dict[str, Any]:
        """Return the fitted attributes that are kept, by name."""
        return {name: getattr(self, name) for name in self.state_names if hasattr(self, name)}

    @classmethod
    def from_state(cls, params: Mapping[str, Any], state: Mapping[str, Any]) -> Self:
        """Return a fitted estimator with the given parameters and state."""
        estimator = cls(**params)
        for name, value in state.items():
            setattr(estimator, name, value)
        estimator._restored()
        return estimator

    def _restored(self) -> None:
        """Set what follows from the state."""
