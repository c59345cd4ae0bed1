"""``worstclass methods``: the list of methods."""

from __future__ import annotations

from worstclass.cli.console import say_json, say_table
from worstclass.cli.options import Json


def methods(json: Json = False) -> None:
    """List the methods.

    With --json also their options.

    Example: worstclass methods
    """
    from dataclasses import asdict

    from worstclass.methods import list_methods

    known = list_methods()
    if json:
        say_json([asdict(method) for method in known])
    else:
        rows = [(method.name, method.summary, method.reference) for method in known]
        say_table(("method", "summary", "reference"), rows, left=(0, 1, 2))
