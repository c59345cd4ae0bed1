"""``worstclass methods``: the list of methods."""

from __future__ import annotations

from worstclass.cli.console import say, say_table, tell


def methods() -> None:
    """List the methods.

    Needs: a package that is not part of the base install. With --json also their options and references.

    Example: worstclass methods
    """
    from dataclasses import asdict

    from worstclass.exceptions import install_command
    from worstclass.methods import list_methods

    known = list_methods()
    tell({"methods": [{**asdict(method), "is_installed": method.is_installed} for method in known]})
    floors = {method.name: "needed" if method.needs_theta else "possible" for method in known if method.takes_theta}
    rows = []
    for method in known:
        needs = f"{method.requires or ''}{'' if method.is_installed else ', not installed'}"
        rows.append((method.name, method.kind, floors.get(method.name, ""), needs, method.summary))
    say_table(("method", "kind", "theta", "needs", "summary"), rows, left=(0, 1, 2, 3, 4))
    if absent := {method.requires for method in known if method.requires and not method.is_installed}:
        say(f"To install what is missing: {install_command(*absent)}")
