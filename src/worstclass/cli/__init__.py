"""The command line: thin commands over the public functions."""

from __future__ import annotations


def main() -> None:
    """Run the command line; the one place where worstclass exits."""
    from worstclass.cli.app import run

    raise SystemExit(run())
