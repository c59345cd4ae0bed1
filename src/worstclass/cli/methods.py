"""``worstclass methods``: the list of methods."""

from __future__ import annotations

from worstclass.cli.console import say, say_json
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
        return
    width = max(len(method.name) for method in known)
    for method in known:
        reference = "" if method.reference == "-" else f". {method.reference}"
        say(f"{method.name:{width}}  {method.summary}{reference}")
