"""Live progress of commands on the standard error stream, each with the time left where it is known."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer

from worstclass._progress import heard
from worstclass._text import duration
from worstclass.cli.console import console, is_quiet
from worstclass.progress import LiveBar

#: seconds after which a command shows that it works
AFTER = 2.0


@contextmanager
def training_lines(quiet: bool, total: int | None = None) -> Iterator[Callable[[object], None]]:
    """Show a line for each of several trainings, and a bar of those that are finished.

    A line that begins with "[3 of 20]" says how many there are, and one that ends with "about 10 s left" for how long.
    """
    shown = console(stderr=True, quiet=quiet)
    bar, finished = LiveBar(shown), set[str]()

    def show(text: object) -> None:
        line = str(text)
        shown.print(line)
        if not line.endswith(": started"):
            numbered, left = re.match(r"\[(\d+) of (\d+)\] ", line), re.search(r"about (.+) left$", line)
            finished.add(numbered[1] if numbered else str(len(finished)))
            bar.show(len(finished), int(numbered[2]) if numbered else total, "trained", left and left[1])

    with bar:
        bar.show(0, total, "training")
        yield show


@contextmanager
def busy(text: str) -> Iterator[None]:
    """Show after two seconds that a command works, and for how long; where loops tell how far they are, the time left.

    Loops that follow each other are steps. The time left is that of the step.
    """
    bar = LiveBar(console(stderr=True, quiet=is_quiet()), percent=True, transient=True)
    if bar.disable:
        yield
        return
    number, done, began = 1, 0.0, time.monotonic()

    def hear(share: float) -> None:
        nonlocal number, done, began
        if share == 0:  # another loop begins
            number, done, began = number + (done > 0), 0.0, time.monotonic()
        done = max(done, share)
        step = text if number == 1 else f"{text}, step {number}"
        if 0 < done < 1:
            bar.show(100 * done, 100, step, duration((time.monotonic() - began) * (1 - done) / done))
        else:
            bar.show(0, None, step)

    bar.show(0, None, text)
    timer = Timer(AFTER, bar.start)
    timer.start()
    try:
        with heard(hear):
            yield
    finally:
        timer.cancel()
        timer.join()
        bar.stop()
