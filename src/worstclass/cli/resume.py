"""``worstclass resume``: go on with a command that was killed or interrupted."""

from __future__ import annotations

import contextlib
import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from worstclass.cli.console import OptionError, note, wants_json, warn
from worstclass.cli.settings import WORDS

if TYPE_CHECKING:
    from worstclass.storage.checkpoint import FolderCheckpoint

#: in the folder of results: the command that makes them, and its checkpoint
COMMAND, CHECKPOINT = "command.json", "checkpoint"
#: commands that can go on
RESUMABLE = ("fit", "theta", "compare", "reproduce")

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The --out folder of the command.", show_default=False)]


def resume(folder: Folder) -> int:
    """Go on with a fit, theta, compare or reproduce that was killed or interrupted.

    It runs the same command again in the folder where it was typed, and takes what is finished from its checkpoint. The
    result is the same as that of a command that was not interrupted. Exit codes are those of the command.

    Example: worstclass resume model
    """
    from worstclass.cli.app import run

    words, place = _command(folder)
    note(f"resuming: {shlex.join(['worstclass', *words])}")
    words += ["--json"] if wants_json() and "--json" not in words else []
    with contextlib.chdir(place):
        return run(words)


def remember(out: Path) -> FolderCheckpoint:
    """Write down the command that makes a folder of results; return its checkpoint."""
    from worstclass.storage.checkpoint import FolderCheckpoint

    out.mkdir(parents=True, exist_ok=True)
    made_by = {"words": WORDS.get(), "folder": str(Path.cwd())}
    (out / COMMAND).write_text(json.dumps(made_by, indent=1) + "\n", encoding="utf-8")
    return FolderCheckpoint(out / CHECKPOINT)


def forget(out: Path) -> None:
    """Remove the checkpoint of a command that is done."""
    import shutil

    shutil.rmtree(out / CHECKPOINT, ignore_errors=True)
    (out / COMMAND).unlink(missing_ok=True)


def tell_how_to_go_on(out: Path) -> None:
    """Name the command that goes on, if anything is kept."""
    if (out / CHECKPOINT).exists():
        warn(f"what is finished is kept. To go on: worstclass resume {out}")
    else:
        (out / COMMAND).unlink(missing_ok=True)


def _command(folder: Path) -> tuple[list[str], Path]:
    """Return the words of the command of a folder, and where it was typed."""
    file = folder / COMMAND
    if not file.is_file():
        finished = "The model there is finished." if (folder / "model.json").is_file() else "Pass its --out folder."
        raise OptionError(f"There is nothing to resume in {folder}: it has no {COMMAND}. {finished}")
    try:
        found: Any = json.loads(file.read_text(encoding="utf-8"))
        words, place = [str(word) for word in found["words"]], Path(found["folder"])
    except (ValueError, TypeError, KeyError):
        raise OptionError(f"{file} is damaged. Run the command again; it goes on from the checkpoint.") from None
    if not words or words[0] not in RESUMABLE:
        raise OptionError(f"{file} names no command that can be resumed. Those are: {', '.join(RESUMABLE)}.")
    if any(":" in word and not word.startswith("tcp:") for word in words[1:]):
        typed = shlex.join(["worstclass", *words])
        raise OptionError(
            f"This command runs code of your own, so it is not started from a file. Type it again: {typed}"
        )
    return words, place
