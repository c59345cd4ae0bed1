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
from worstclass.cli.methods import methods
from worstclass.cli.offsets import offsets
from worstclass.cli.options import expanded
from worstclass.cli.predict import predict
from worstclass.cli.report import report
from worstclass.cli.reproduce import reproduce
from worstclass.cli.resume import WORDS, resume
from worstclass.cli.theta import theta
from worstclass.exceptions import WorstClassError

COMMANDS = (
    fit, report, resume, evaluate, predict, certify, offsets, abstain, compact, theta, compare, reproduce, export,
    methods,
)  # fmt: skip
INTERRUPTED = 130

app = typer.Typer(
    name="worstclass",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for function in COMMANDS:
    app.command(name=function.__name__.replace("_", "-"))(expanded(function))
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
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an unexpected error.")] = False,
) -> None:
    """Train classifiers in which no class is sacrificed."""


def run(arguments: list[str] | None = None) -> int:
    """Run a command and return its exit code; errors are one line, without a traceback."""
    words = sys.argv[1:] if arguments is None else arguments
    WORDS.set(words)
    try:
        with one_line_warnings():
            app(args=words, prog_name="worstclass")
    except SystemExit as done:
        code = done.code if isinstance(done.code, int) else 0
        if code == INTERRUPTED:
            typer.echo("interrupted", err=True)
        return code
    except (WorstClassError, OSError) as error:
        typer.echo(f"error: {in_options(str(error))}", err=True)
        return 2
    except Exception as error:  # not 1, which would say that a floor is missed
        if "--debug" in words:
            typer.echo(traceback.format_exc(), err=True)
        hint = "" if "--debug" in words else "; run again with worstclass --debug ... for the traceback"
        typer.echo(f"error: unexpected {type(error).__name__}: {error}{hint}", err=True)
        return 2
    return 0
