"""Everything that the command line says: text without markup, warnings and errors of one line, progress bars."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import typer

from worstclass._text import text_table
from worstclass.exceptions import WorstClassError

if TYPE_CHECKING:
    from rich.console import Console

    from worstclass.storage.checkpoint import Clock

#: parameters of the library whose option has another name
RENAMED = {
    "n_rounds": "rounds",
    "n_jobs": "jobs",
    "random_state": "seed",
    "module": "network",
    "folder": "out",
    "path": "out",
    "test": "test_share",
    "val": "val_share",
}
#: parameters of the library that an option of the same name stands for, wherever a message names one as code
NAMED = ("skip_corrupt", "image_size", "val_share", "max_epochs_per_round", "theta", "way", "on_bad")

#: what the library calls the owner of a message, and the command that stands for it
COMMANDS = {
    "AbstainingClassifier.certify": "certify",
    "WorstClassOffsets": "offsets",
    "AbstainingClassifier": "abstain",
    "WorstClassClassifier": "fit",
    "select_theta": "theta",
    "certify": "certify",
    "compact": "compact",
}

_PARAMETER = re.compile(r"The '(?:--)?(set )?([\w-]+)' parameter of .+? must be ")
_OWNER = re.compile(rf"(?<![\w.])({'|'.join(map(re.escape, COMMANDS))}) (?=needs |requires )")
_AS_CODE = re.compile(rf"\b({'|'.join(NAMED)})=(?:True\b|\.\.\.|'(\w+)')?")
_PHRASES = {
    "--image-size on the command line, image_size= in Python": "give --image-size",
    "load_model(path, module=factory), or --network path/to/net.py:build": "--network path/to/net.py:build",
    "time_limit=": "--max-seconds ",
    ", or a mapping from class to such a floor": ", or class=number",
    "Make labels of one type: np.asarray(labels).astype(float).": "Write the labels as in the training data.",
    "Make labels of one type: np.asarray(labels).astype(str).": "Write the labels as in the training data.",
    "raise val_share": "raise --val-share",
    "lower n_jobs": "lower --jobs",
    "allow_equal_rows=True (--allow-equal-rows)": "--allow-equal-rows",
    "Pass the rows that were given to fit.": "Give DATA, --seed, --val-share and --test-share as given to fit.",
}


#: whether the command was asked for JSON, and for silence
_JSON: ContextVar[bool] = ContextVar("json", default=False)
_QUIET: ContextVar[bool] = ContextVar("quiet", default=False)


class OptionError(WorstClassError):
    """An option is missing, or cannot be used here."""


def refuse_given(names: Iterable[str], why: str) -> None:
    """Refuse options of the given names, if there are any."""
    if given := ", ".join(option_of(name) for name in names):
        raise OptionError(f"{given} cannot be used here: {why}")


def in_options(message: str) -> str:
    """Name options of the command line where a message of the library names parameters.

    Examples
    --------
    >>> in_options("The 'n_rounds' parameter of WorstClassBooster must be a positive whole number. Got 0 instead.")
    'Option --rounds must be a positive whole number. Got 0 instead.'
    >>> in_options("Leave them out with skip_corrupt=True.")
    'Leave them out with --skip-corrupt.'
    """
    for phrase, better in _PHRASES.items():
        message = message.replace(phrase, better)
    message = _OWNER.sub(lambda found: f"worstclass {COMMANDS[found[1]]} ", message)
    message = (
        _PARAMETER.sub(
            lambda found: f"Option {f'--set {found[2]}=...' if found[1] else option_of(found[2])} must be ", message
        )
        .replace("Option DATA", "DATA")
        .replace("Option TARGET", "TARGET")
    )
    return _AS_CODE.sub(lambda found: f"{option_of(found[1])} {found[2] or ''}".rstrip(), message)


def option_of(parameter: str) -> str:
    """Return the option that a parameter of the library has."""
    return parameter if parameter.isupper() else f"--{RENAMED.get(parameter, parameter).replace('_', '-')}"


def console(*, stderr: bool = False, quiet: bool = False) -> Console:
    """Return a console; class names that look like markup, emoji or numbers are printed as they are."""
    from rich.console import Console

    return Console(stderr=stderr, quiet=quiet, highlight=False, markup=False, emoji=False, soft_wrap=True)


def say(text: object, style: str | None = None) -> None:
    """Print text for people; not with --json."""
    console(quiet=_JSON.get()).print(str(text), style=style)


def tell(values: Mapping[str, Any]) -> None:
    """Print the result of a command as one JSON object, with --json."""
    if _JSON.get():
        typer.echo(json.dumps(values, indent=1, default=str))


def note(text: object, *, quiet: bool = False) -> None:
    """Print how far a command is, on the standard error stream."""
    console(stderr=True, quiet=quiet).print(str(text))


@contextmanager
def as_asked(*, json: bool, quiet: bool) -> Iterator[None]:
    """Let commands ``tell`` instead of ``say``, and show no progress."""
    before, loud = _JSON.set(json), _QUIET.set(quiet)
    try:
        yield
    finally:
        _JSON.reset(before)
        _QUIET.reset(loud)


def wants_json() -> bool:
    """Whether the command was asked for JSON."""
    return _JSON.get()


def is_quiet() -> bool:
    """Whether the command was asked to show no progress."""
    return _QUIET.get()


def say_table(head: Sequence[str], rows: Iterable[Sequence[str]], left: Sequence[int] = (0,)) -> None:
    """Print a table."""
    say("\n".join(text_table(head, rows, left=left)))


def warn(message: object) -> None:
    """Print a warning in one line on the standard error stream."""
    console(stderr=True).print(f"warning: {in_options(' '.join(str(message).split()))}", style="yellow")


@contextmanager
def one_line_warnings() -> Iterator[None]:
    """Print Python's warnings in one line each, without the place in the source."""
    import warnings

    from worstclass.exceptions import WorstClassWarning

    with warnings.catch_warnings():
        warnings.simplefilter("always", WorstClassWarning)
        warnings.showwarning = lambda message, *where, **more: warn(message)
        yield


@contextmanager
def interrupts_noted() -> Iterator[list[int]]:
    """Note Ctrl-C in the list given, so that what is trained is saved before the command ends; a second one ends it."""
    import signal

    noted: list[int] = []

    def note(number: int, frame: object) -> None:
        noted.append(number)
        signal.signal(signal.SIGINT, before)

    before = signal.signal(signal.SIGINT, note)
    try:
        yield noted
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def stopped_gently(clock: Clock) -> Iterator[None]:
    """Let the first Ctrl-C or SIGTERM end a fit after its epoch or step, and the second one at once."""
    import signal

    def stop(number: int, frame: object) -> None:
        if clock.stop:
            raise KeyboardInterrupt
        clock.stop = True
        warn("stopping after this step; press Ctrl-C again to stop at once")

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def bars(quiet: bool, *, lines: bool = False) -> Iterator[Callable[[str, float, float | None], None]]:
    """Show a bar for each name on the standard error stream; call what is given with name, done and total.

    With ``lines``, a line says that a name is done where they cannot be changed in place.
    """
    from rich.progress import Progress

    from worstclass.progress import is_live

    tasks: dict[str, Any] = {}

    def show(name: str, done: float, total: float | None) -> None:
        if name not in tasks:
            tasks[name] = progress.add_task(name, total=total)
        progress.update(tasks[name], completed=done, total=total)
        if lines and progress.disable and done == total:
            shown.print(f"{name}: done")

    shown = console(stderr=True, quiet=quiet)
    with Progress(console=shown, disable=not is_live(shown)) as progress:
        yield show
