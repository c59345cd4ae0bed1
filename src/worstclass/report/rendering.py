"""Templates filled with facts: the environment, what charts are drawn with, and a page with its style and script."""

from __future__ import annotations

import base64
import functools
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from worstclass.certificates.certificate import limit_text

TEMPLATES = Path(__file__).parent / "templates"


def plain_text(value: Any) -> str:
    """Write settings in words, without what is None.

    Examples
    --------
    >>> plain_text({"theta": [0.5, 0.6], "gamma": None})
    'theta 0.5, 0.6'
    """
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {plain_text(entry)}" for key, entry in value.items() if entry is not None)
    return ", ".join(map(plain_text, value)) if isinstance(value, list | tuple) else str(value)


def polyline(xs: Sequence[float], ys: Sequence[float], top: float, width: int = 640, height: int = 200) -> str:
    """Return the points of a line in a chart, 0 at the bottom left.

    Examples
    --------
    >>> polyline([1, 2, 3], [0, 1, 0.5], 1.0)
    '0.0,200.0 320.0,0.0 640.0,100.0'
    """
    first, last = xs[0], xs[-1]
    span = (last - first) or 1
    pairs = zip(xs, ys, strict=True)
    return " ".join(f"{width * (x - first) / span:.1f},{height * (1 - min(y / (top or 1), 1)):.1f}" for x, y in pairs)


def nice(top: float) -> float:
    """Return a round number for the top of a chart, not below a value.

    Examples
    --------
    >>> nice(0.31), nice(0.99), nice(0.0)
    (0.4, 1.0, 0.02)
    """
    steps = (0.02, 0.04, 0.08, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
    return next((step for step in steps if top <= step), top)


def runs(line: Sequence[int]) -> list[tuple[int, int, int]]:
    """Return start, length and value of the runs of equal values in a line.

    Examples
    --------
    >>> runs([2, 2, 0])
    [(0, 2, 2), (2, 1, 0)]
    """
    found: list[tuple[int, int, int]] = []
    for place, value in enumerate(line):
        if found and found[-1][2] == value:
            start, length, _ = found[-1]
            found[-1] = start, length + 1, value
        else:
            found.append((place, 1, value))
    return found


@functools.cache
def _environment() -> jinja2.Environment:
    loader = jinja2.FileSystemLoader(TEMPLATES)
    made = jinja2.Environment(
        loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    made.filters["percent"] = lambda rate: "-" if rate is None else f"{rate:.1%}"
    made.filters["number"] = lambda value: "-" if value is None else f"{value:,}"
    made.filters["limit"] = limit_text
    made.globals.update(polyline=polyline, runs=runs, nice=nice)
    return made


def render(template: str, **facts: Any) -> str:
    """Fill a template; style and script are inside the page, and no other script can run in it."""
    script = (TEMPLATES / "page.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    parts = {
        "css": Markup((TEMPLATES / "page.css").read_text(encoding="utf-8")),
        "script": Markup(script),
        "digest": digest,
    }
    return _environment().get_template(template).render(**parts, **facts)
