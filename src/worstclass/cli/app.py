"""The application: one line a command, errors and exit codes.

Exit codes: 0 done (and proven, or met); 1 done, but a floor is missed or not proven; 2 bad input, or it cannot be
judged; 130 interrupted. A command is a function of its own file that returns its exit code; heavy imports wait inside
it, so that --help answers at once.
"""

from __future__ import annotations

import sys
import traceback
from typing import Annotated

import typer

from worstclass._version import __version__
from worstclass.cli.abstain import abstain
from worstclass.cli.certify import certify
from worstclass.cli.compact import compact
from worstclass.cli.compare import compare
from worstclass.cli.console import in_options, one_line_warnings
from worstclass.cli.datasets import datasets_app
from worstclass.cli.evaluate import evaluate
from worstclass.cli.export import export
from worstclass.cli.fit import fit
from worstclass.cli.help import OneScreenCommand
from worstclass.cli.methods import methods
from worstclass.cli.offsets import offsets
from worstclass.cli.options import expanded
from worstclass.cli.predict import predict
from worstclass.cli.report import report
from worstclass.cli.reproduce import reproduce
from worstclass.cli.resume import resume
from worstclass.cli.settings import WORDS
from worstclass.cli.theta import theta
from worstclass.exceptions import WorstClassError

COMMANDS = (
    fit, report, resume, evaluate, predict, certify, offsets, abstain, compact, theta, compare, reproduce, export,
    methods,
)  # fmt: skip
INTERRUPTED = 130
DEBUG = "--debug"

app = typer.Typer(
    name="worstclass",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for function in COMMANDS:
    command = expanded(function, config=function not in (resume, methods))
    app.command(name=function.__name__.replace("_", "-"), cls=OneScreenCommand)(command)
app.add_typer(datasets_app, name="datasets")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_version, is_eager=True)
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Train classifiers in which no class is sacrificed.

    Every command has --help with an example, --json, and --debug.
    """


def run(arguments: list[str] | None = None) -> int:
    """Run a command and return its exit code; errors are one line, without a traceback unless --debug is given."""
    typed = sys.argv[1:] if arguments is None else arguments
    words = [word for word in typed if word != DEBUG]  # it may be anywhere
    WORDS.set(words)
    try:
        with one_line_warnings():
            app(args=words, prog_name="worstclass")
    except SystemExit as done:
        code = done.code if isinstance(done.code, int) else 0
        if code == INTERRUPTED:
            typer.echo("interrupted", err=True)
        return code
    except Exception as error:  # 2, not 1, which would say that a floor is missed
        if DEBUG in typed:
            typer.echo(traceback.format_exc(), err=True)
        typer.echo(f"error: {_explained(error, debug=DEBUG in typed)}", err=True)
        return 2
    return 0


def _explained(error: Exception, *, debug: bool) -> str:
    """Return what an error says, in words of the command line."""
    if isinstance(error, WorstClassError | OSError):
        return in_options(str(error))
    hint = "" if debug else f"; run again with {DEBUG} for the traceback"
    return f"unexpected {type(error).__name__}: {error}{hint}"
