"""What an estimator gives out to be stored, and takes in again: its fitted state, and results of a fit under way.

An estimator knows which of its attributes make up its fitted state, and which of its steps take long; ``storage`` knows
how values become files. Neither knows the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

#: reports that a fitted estimator may have, what says most about new rows first
REPORTS = ("certificate_", "cv_report_", "validation_report_", "training_report_")


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

    def _html_repr(self) -> str:
        """Return scikit-learn's diagram, and below it the class errors or the certificate, once there are any."""
        diagram: str = super()._html_repr()  # type: ignore[misc]
        found = (getattr(self, name, None) for name in REPORTS)
        report = next((report for report in found if report is not None), None)
        return diagram if report is None else f"<div>{diagram}{report._repr_html_()}</div>"


class Checkpoint:
    """Results of the long steps of a fit, by name. This one keeps nothing; that of ``storage.checkpoint`` has a folder.

    Seeds are found by the number of a step, so a fit that starts again with the same parameters and rows goes the same
    way. It takes the results that are kept, and computes the others.
    """

    def read(self, name: str) -> Any:
        """Return the result of a step; None if it is not kept."""
        return None

    def keep(self, name: str, make: Callable[[], Mapping[str, Any]]) -> None:
        """Keep the result of a finished step. What was noted in its ``child`` is no longer needed."""

    def note(self, name: str, make: Callable[[], Mapping[str, Any]], *, now: bool = False) -> None:
        """Keep where a long step stands, from time to time; ``now`` at once."""

    def child(self, name: str) -> Checkpoint:
        """Return a checkpoint for what goes on inside a step."""
        return self


#: for a fit without a checkpoint
KEEPS_NOTHING = Checkpoint()
