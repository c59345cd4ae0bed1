"""``worstclass methods``: the list of methods."""

from __future__ import annotations

from worstclass.cli.console import say_table, tell


def methods() -> None:
    """List the methods.

    With --json also their options and references.

    Example: worstclass methods
    """
    from dataclasses import asdict

    from worstclass.methods import list_methods

    known = list_methods()
    tell({"methods": [asdict(method) for method in known]})
    floors = {method.name: "needed" if method.needs_theta else "possible" for method in known if method.takes_theta}
    rows = [(method.name, method.kind, floors.get(method.name, ""), method.summary) for method in known]
    say_table(("method", "kind", "theta", "summary"), rows, left=(0, 1, 2, 3))
