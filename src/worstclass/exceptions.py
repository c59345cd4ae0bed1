"""Every error and warning of worstclass.

::

    WorstClassError
    ├── ParameterError (ValueError)        a parameter has a value that is not allowed
    │   └── UnknownNameError               ... a name nobody knows; the nearest known one is suggested
    ├── UnknownOptionError (TypeError)     an option nobody knows; the nearest known one is suggested
    ├── DataError (ValueError)             X or y cannot be used as given
    │   └── DatasetError                   a named data set or a file cannot be read
    ├── ModuleError (RuntimeError)         a torch module cannot be built or called, or its answers cannot be used
    ├── ModelFormatError (ValueError)      a model folder cannot be read
    ├── CheckpointError (RuntimeError)     a checkpoint cannot be written, or another process is using it
    ├── WorkerError (RuntimeError)         a worker process ended before its work was done
    ├── ExportError (ValueError)           a model cannot be exported, or its file would answer otherwise
    └── MissingPackageError (ImportError)  an optional package is not installed

    KeyboardInterrupt
    └── SelectionInterrupted               the user interrupted a search for theta; carries the best it had

    WorstClassWarning (UserWarning)
    ├── UnmetEdgeWarning                   boosting ended early, the finished rounds are kept
    ├── UnmetBoundWarning                  the vote misses the training bound
    ├── ReusedRowsWarning                  rows that choose have trained the model, so their errors say little
    ├── LearnerFailedWarning               a classifier of a portfolio could not be trained and was left out
    └── BudgetSpentWarning                 epochs or time were up; the finished rounds are kept

Messages say which parameter, what is allowed, what came, and what to do.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from worstclass.selection import ThetaSelection

#: optional packages, by the names that they are imported by, and the extra that brings each
EXTRAS = {
    "imblearn": "compare",
    "matplotlib": "plots",
    "mlflow": "tracking",
    "tensorboard": "tracking",
    "torch": "torch",
}


class WorstClassError(Exception):
    """Base class of all errors raised on purpose by worstclass."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Let errors cross processes: they are rebuilt from their message, not by their constructor."""
        return type(self).__new__, (type(self), *self.args), self.__dict__


class ParameterError(WorstClassError, ValueError):
    """A parameter has a value that is not allowed."""

    def __init__(self, parameter: str, owner: str, *, allowed: str, got: Any, hint: str = "") -> None:
        self.parameter = parameter
        message = f"The {parameter!r} parameter of {owner} must be {allowed}. Got {_shown(got)} instead."
        super().__init__(f"{message} {hint}".strip())


class UnknownNameError(ParameterError):
    """A name that is not in the list of known ones."""

    def __init__(self, parameter: str, owner: str, name: Any, known: Iterable[Any]) -> None:
        options = [str(option) for option in known]
        super().__init__(parameter, owner, allowed=f"one of {options}", got=name, hint=_suggestion(name, options))


class UnknownOptionError(WorstClassError, TypeError):
    """An option that its owner does not have."""

    def __init__(self, option: str, owner: str, known: Iterable[str]) -> None:
        options = list(known)
        message = f"{owner} has no option {option!r}. Its options are {options}."
        super().__init__(f"{message} {_suggestion(option, options)}".strip())


class DataError(WorstClassError, ValueError):
    """X or y cannot be used as given."""


class DatasetError(DataError):
    """A named data set or a data file cannot be read."""


class ModuleError(WorstClassError, RuntimeError):
    """A torch module cannot be built or called, or answers in a form that cannot be used."""


class ModelFormatError(WorstClassError, ValueError):
    """A model folder cannot be read."""


class CheckpointError(WorstClassError, RuntimeError):
    """A checkpoint cannot be written, or another process is using it."""


class WorkerError(WorstClassError, RuntimeError):
    """A worker process ended before its work was done."""


class ExportError(WorstClassError, ValueError):
    """A model cannot be exported, or the exported file would answer otherwise than the model."""


class MissingPackageError(WorstClassError, ImportError):
    """An optional package is not installed."""

    def __init__(self, owner: str, package: str) -> None:
        super().__init__(f"{owner} needs the package {package}, which is not installed: {install_command(package)}.")


def install_command(*packages: str) -> str:
    """Return the command that installs optional packages.

    Examples
    --------
    >>> install_command("torch", "matplotlib")
    "pip install 'worstclass[plots,torch]'"
    """
    return f"pip install 'worstclass[{','.join(sorted({EXTRAS[package] for package in packages}))}]'"


class SelectionInterrupted(KeyboardInterrupt):
    """The user interrupted a search for theta that had finished a round.

    Attributes
    ----------
    selection : the best of the search so far, a ``ThetaSelection``.
    """

    def __init__(self, selection: ThetaSelection) -> None:
        super().__init__("the search for theta was interrupted; its best so far is in 'selection'")
        self.selection = selection


class WorstClassWarning(UserWarning):
    """Base class of all warnings given by worstclass."""


class UnmetEdgeWarning(WorstClassWarning):
    """Boosting ended early: a round could not reach its edge. The finished rounds are kept."""


class UnmetBoundWarning(WorstClassWarning):
    """The vote of the ensemble misses the training bound for at least one class."""


class ReusedRowsWarning(WorstClassWarning):
    """Rows that choose something have trained the model, so that its errors on them say little."""


class LearnerFailedWarning(WorstClassWarning):
    """A classifier of a portfolio could not be trained. It was left out, and the others were kept."""


class BudgetSpentWarning(WorstClassWarning):
    """The budget of epochs or time was spent before the rounds were done. The finished rounds are kept."""


def _suggestion(name: Any, options: list[str]) -> str:
    by_small_letters = {option.lower(): option for option in reversed(options)}
    near = difflib.get_close_matches(str(name).lower(), by_small_letters, n=1, cutoff=0.5)
    return f"Did you mean {by_small_letters[near[0]]!r}?" if near else ""


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}..."
