"""``worstclass methods``."""

from __future__ import annotations

import json
from dataclasses import asdict

from worstclass.methods import list_methods


def methods_command(*, as_json: bool) -> None:
    """Print every method in a line, with its summary and reference; as JSON also with its options."""
    methods = list_methods()
    if as_json:
        print(json.dumps([asdict(method) for method in methods], indent=1))
        return
    width = max(len(method.name) for method in methods)
    for method in methods:
        reference = "" if method.reference == "-" else f". {method.reference}"
        print(f"{method.name:{width}}  {method.summary}{reference}")
