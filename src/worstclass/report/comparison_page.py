"""Pages of several models: a comparison, and what was reproduced of the paper."""

from __future__ import annotations

import base64
import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from worstclass._text import n_of
from worstclass.exceptions import ModelFormatError
from worstclass.experiments.paper import TARGETS
from worstclass.experiments.ranking import Comparison
from worstclass.report.ranking import captions, difference_cells, marks_of, note_text
from worstclass.report.rendering import plain_text, render
from worstclass.report.verdict import Conclusion, names_of


def comparison_page(folder: Path) -> str:
    """Make the page of a folder of ``compare``."""
    try:
        found = Comparison.model_validate_json((folder / "comparison.json").read_text(encoding="utf-8"))
    except ValueError as error:
        raise ModelFormatError(f"{folder / 'comparison.json'} cannot be read: {error}") from None
    best = next((row for row in found.rows if row.method == found.best), None)
    seeds = n_of(len(found.seeds), "seed")
    if best is None or best.worst is None:
        said = Conclusion("bad", "No result", "No method finished.", "", [])
    else:
        better = [test.b if test.a == best.method else test.a for test in found.against_best if test.significant]
        if better:
            sure = f"better than {n_of(len(better), 'other method')} beyond chance"
        elif any(test.p is not None for test in found.against_best):
            sure = "no difference is beyond chance"
        else:
            sure = "whether the differences are more than chance was not tested"
        first = names_of([row.method for row in found.rows if row.rank == 1])
        headline = (
            f"The worst class fares best with {first}: {best.worst.mean:.1%} of it is wrong on average over {seeds}."
        )
        basis = f"Of {sum(row.rank is not None for row in found.rows)} ranked methods on {found.data}; {sure}."
        step = "Fit the winner with worstclass fit, and prove its floors on fresh rows with worstclass certify."
        said = Conclusion("open", "Comparison", headline, basis, [step])
    largest = max((max(row.worst.by_seed.values()) for row in found.rows if row.worst), default=1.0) or 1.0
    facts = {"seeds": ", ".join(map(str, found.seeds)), **_settings(found.settings)}
    facts |= {f"made by ({n})" if n > 1 else "made by": str(made) for n, made in enumerate(found.provenance, 1)}
    return render(
        "comparison.html",
        title=found.data,
        subtitle=f"comparison of {n_of(len(found.rows), 'method')}, {seeds}",
        verdict=said,
        rows=found.rows,
        marks={row.method: marks_of(row.method, found).strip() for row in found.rows},
        n_seeds=len(found.seeds),
        largest=largest,
        captions=captions(found),
        tests=[difference_cells(test) for test in found.against_reference],
        failures=[note_text(note) for note in found.failures],
        notes=[note_text(note) for note in found.notes],
        facts=facts,
    )


def _settings(by_method: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Return settings as text: those that all methods share, and those of each method.

    Examples
    --------
    >>> _settings({"a": {"epochs": 5, "gamma": 0.1}, "b": {"epochs": 5}})
    {'settings of all': 'epochs 5', 'settings of a': 'gamma 0.1'}
    """
    first, *others = by_method.values() or [{}]
    shared = {name: value for name, value in first.items() if all(given.get(name) == value for given in others)}
    found = {"all": shared}
    for method, given in by_method.items():
        found[method] = {name: value for name, value in given.items() if name not in shared}
    return {f"settings of {method}": plain_text(given) for method, given in found.items() if given}


def reproduced(folder: Path) -> list[dict[str, Any]]:
    """Return the tables and figures that ``reproduce`` has written to a folder, or to those of its scales."""
    targets = []
    for file in sorted(
        [*folder.glob("*.csv"), *folder.glob("*/*.csv"), *folder.glob("*.png"), *folder.glob("*/*.png")]
    ):
        scale = "" if file.parent == folder else f" ({file.parent.name})"
        shows = TARGETS[file.stem].title if file.stem in TARGETS else ""
        target: dict[str, Any] = {"title": f"{file.stem}{scale}", "shows": shows, "tables": [], "png": ""}
        if file.suffix == ".png":
            target["png"] = base64.b64encode(file.read_bytes()).decode()
        else:
            target["tables"] = _paper_tables(file)
        targets.append(target)
    return [target for target in targets if target["png"] or target["tables"]]


def _paper_tables(file: Path) -> list[dict[str, Any]]:
    """Turn one line a value into rows and columns: paper, here, standard error."""
    tables: dict[str, dict[str, Any]] = {}
    with file.open(encoding="utf-8", newline="") as lines:
        for line in csv.DictReader(lines):
            if not {"table", "row", "group", "metric", "paper", "here"} <= set(line):
                return []
            table = tables.setdefault(line["table"], {"name": line["table"], "columns": {}, "rows": {}})
            column = f"{line['group']}: {line['metric']}"
            table["columns"][column] = None
            table["rows"].setdefault(line["row"], {})[column] = line
    return list(tables.values())
