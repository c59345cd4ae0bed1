"""The report of `quality.py`, made of its JSON files alone."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binomtest, rankdata

from worstclass.experiments.paper import find_target
from worstclass.experiments.paper_tables import average_error, worst_error
from worstclass.experiments.reproduction import Reproduction
from worstclass.experiments.significance import ALPHA, PairedTest, holm, paired_tests

#: end of the name of a method with decision offsets
OFFSETS = "+offsets"
#: our method
NETWORKS = "auto-networks"
AUTO = "auto"
#: end of the name of a problem that gives the network and the compute of `auto` to other methods
MEDIUM = "-medium"
#: names what no decision looked at
UNDECIDED_FILE = "undecided.json"
#: marks it in the report
MARK = "†"
#: the errors of a method that fails: it answers nothing
FAILED = {"worst": 1.0, "plain": 1.0, "class_mean": 1.0}
ERRORS = tuple(FAILED)

Cell = dict[str, Any]
#: a table and one of its splits
Pair = tuple[str, int]


# reading


@dataclass(frozen=True, eq=False)
class Scores:
    """The cells of all methods on the pairs of table and split that every method has."""

    cells: dict[str, dict[Pair, Cell]]
    pairs: tuple[Pair, ...]

    @classmethod
    def of(cls, cells: Iterable[Cell]) -> Scores:
        """Sort cells by method; methods with less than half as many cells as others are left out."""
        by_method: dict[str, dict[Pair, Cell]] = {}
        for cell in cells:
            by_method.setdefault(cell["method"], {})[cell["table"]["name"], cell["split"]] = cell
        most = max(map(len, by_method.values()), default=0)
        kept = {name: by_method[name] for name in sorted(by_method, key=_order) if 2 * len(by_method[name]) >= most}
        common = set.intersection(*(set(found) for found in kept.values())) if kept else set()
        return cls(kept, tuple(sorted(common)))

    def only(self, pairs: Iterable[Pair]) -> Scores:
        """Return the same for some of the pairs."""
        wanted = set(pairs)
        return Scores(self.cells, tuple(pair for pair in self.pairs if pair in wanted))

    @property
    def methods(self) -> list[str]:
        """Names, `auto` first, those with offsets last."""
        return list(self.cells)

    @cached_property
    def tables(self) -> list[str]:
        """Names of the tables that count."""
        return list(dict.fromkeys(table for table, _ in self.pairs))

    def splits(self, table: str) -> list[int]:
        """Splits of a table that count."""
        return [split for name, split in self.pairs if name == table]

    def errors(self, method: str, pair: Pair) -> dict[str, float]:
        """Return the errors of a cell; offsets that could not be chosen change nothing."""
        cell = self.cells[method][pair]
        base = method.removesuffix(OFFSETS)
        if cell["status"] == "skipped" and base != method and base in self.cells:
            return self.errors(base, pair)
        return dict(cell["errors"]) if cell["status"] == "done" else FAILED

    def mean(self, method: str, table: str, error: str = "worst") -> float:
        """Return the mean error over the splits of a table."""
        return float(np.mean([self.errors(method, (table, split))[error] for split in self.splits(table)]))

    def by_table(self, methods: Sequence[str], error: str = "worst") -> np.ndarray:
        """Return mean errors, shape (tables, methods), rounded so that equal ones compare as equal."""
        return np.array([[self.mean(name, table, error) for name in methods] for table in self.tables]).round(9)

    def seconds(self, method: str) -> float:
        """Return the mean CPU seconds of a fit."""
        found = [self.cells[method][pair].get("seconds") for pair in self.pairs]
        known = [seconds for seconds in found if seconds is not None]
        return float(np.mean(known)) if known else math.nan

    def tests(self, table: str) -> dict[str, PairedTest]:
        """Test every method against `auto` over the splits of a table, corrected for the rows that splits share."""
        values = {
            name: {split: self.errors(name, (table, split))["worst"] for split in self.splits(table)}
            for name in self.methods
        }
        facts = [self.cells[AUTO][table, split]["table"] for split in self.splits(table)]
        ratio = max(fact["test"] / fact["train"] for fact in facts)
        return {test.a: test for test in paired_tests(values, AUTO, test_to_train=ratio)}


def _order(method: str) -> tuple[bool, bool, str]:
    """Put `auto` first, methods with offsets last."""
    return method != AUTO, method.endswith(OFFSETS), method


def read_json(files: Iterable[Path]) -> list[dict[str, Any]]:
    return [json.loads(file.read_text()) for file in sorted(files)]


def undecided_pairs(pairs: Iterable[Pair], patterns: Sequence[str]) -> list[Pair]:
    """Return the pairs that NAME, NAME:SPLIT or *:SPLIT stand for."""
    full = [pattern if ":" in pattern else f"{pattern}:*" for pattern in patterns]
    return [pair for pair in pairs if any(fnmatch(f"{pair[0]}:{pair[1]}", pattern) for pattern in full)]


# writing


def reproduced(folder: Path) -> list[dict[str, Any]]:
    """Return the cells of the paper's tables of artificial data that `worstclass reproduce` made in a folder."""
    found = []
    for name in ("table1", "table2"):
        work = Reproduction(find_target(name), folder.name, folder)
        problems = {problem.name: problem for problem in work.problems}
        for result in work.results()[0]:
            plain = average_error(problems[result.data], result)
            facts = {"problem": result.data, "draw": result.seed, "method": result.method}
            errors = {"worst": worst_error(result) / 100, "plain": plain / 100}
            found.append({**facts, "errors": errors, "provenance": {"commit": result.provenance.commit}})
    return found


def report(folder: Path) -> str:
    """Write everything that the folder holds as Markdown."""
    cells = read_json(folder.glob("tables/*/*.json"))
    undecided = folder / UNDECIDED_FILE
    patterns = json.loads(undecided.read_text())["undecided"] if undecided.exists() else []
    lines = ["# Quality: worst-class errors side by side", ""]
    if cells:
        lines += tables_part(cells, patterns, folder.name)
    if ablation := read_json(folder.glob("ablation/*/*.json")):
        lines += ablation_part(ablation)
    if networks := [*read_json(folder.glob("networks/*/*.json")), *reproduced(folder.parent / "reproduction" / "cpu")]:
        lines += networks_part(networks)
    if cost := read_json(folder.glob("cost/*.json")):
        lines += cost_part(cost)
    return "\n".join(lines)


def tables_part(cells: list[Cell], patterns: list[str], folder: str) -> list[str]:
    scores = Scores.of(cells)
    apart = undecided_pairs(scores.pairs, patterns)
    lines = [*introduction(cells, scores, folder), *undecided_note(scores, apart, patterns)]
    if not scores.pairs:
        return [*lines, "No table has results of all methods yet.", ""]
    lines += summaries(scores, "all tables and splits")
    if apart:
        lines += summaries(scores.only(apart), "what no decision looked at")
    if AUTO in scores.methods and len(scores.methods) > 1:
        lines += differences(scores, "all tables and splits")
        if apart:
            lines += differences(scores.only(apart), "what no decision looked at")
    plain = [name for name in scores.methods if not name.endswith(OFFSETS)]
    with_offsets = [name for name in scores.methods if name.endswith(OFFSETS)]
    lines += errors_by_table("Worst-class error by table", scores, plain, apart)
    if with_offsets:
        lines += errors_by_table("Worst-class error by table, with offsets", scores, with_offsets, apart)
    if AUTO in scores.methods and len(scores.methods) > 1:
        lines += differences_by_table(scores)
    return [*lines, *estimates(scores), *facts_of_tables(scores), *problems(cells)]


def estimates(scores: Scores) -> list[str]:
    """Compare the worst-class error that `auto` estimates in its fit with that on the test rows."""
    cells = scores.cells.get(AUTO, {})
    known = [(pair, cell["auto"]["estimated_worst_error"]) for pair, cell in cells.items() if cell["status"] == "done"]
    tables = sorted({table for (table, _), _ in known})
    if not tables:
        return []
    excess = [
        np.mean([guess - scores.errors(AUTO, pair)["worst"] for pair, guess in known if pair[0] == table])
        for table in tables
    ]
    below = sum(value < 0 for value in excess)
    text = (
        "The largest class error of `cv_report_` minus that on the test rows, in points: "
        f"mean {100 * np.mean(excess):+.1f} over the tables, median {100 * np.median(excess):+.1f}; below "
        f"the error on test rows on {below} of {len(tables)} tables. Both are the largest of several class errors, "
        "which few rows tell where a class is small."
    )
    return ["## The estimate of the fit", "", text, ""]


def introduction(cells: list[Cell], scores: Scores, folder: str) -> list[str]:
    settings = cells[0]["settings"]
    left_out = Counter(cell["method"] for cell in cells if cell["method"] not in scores.methods)
    unfinished = {(cell["table"]["name"], cell["split"]) for cell in cells} - set(scores.pairs)
    lines = [
        f"Made by `python benchmarks/quality.py --out docs/results/{folder}` from the JSON files in "
        f"[{folder}]({folder}), one for each table, split and method, with settings, seed, versions and commit. "
        f"{len(scores.tables)} tables, {len(scores.pairs)} splits in all, {len(scores.methods)} methods; "
        f"commits {commits_of(cells)}.",
        "",
        f"Each split draws {settings['test_share']:.0%} of the rows of every class for the test, and trains on at most "
        f"{settings['max_train']:,} of the others; at most {settings['max_test']:,} test rows are used. A method that "
        f"fails counts as 100% wrong. `{OFFSETS}`: with `WorstClassOffsets`, 5 folds, fewer where a class has fewer "
        "rows; if a class has one training row, offsets cannot be chosen, and the method counts as it is without them. "
        "Seconds are CPU seconds of one fit in one thread.",
        "",
    ]
    if unfinished:
        names = ", ".join(f"{table}:{split}" for table, split in sorted(unfinished))
        lines += [f"Not counted, because not all methods have finished there: {names}.", ""]
    if left_out:
        names = "; ".join(beside_auto(name, count, cells) for name, count in sorted(left_out.items()))
        lines += [f"Not in the tables, because they ran on less than half of the splits: {names}.", ""]
    return lines


def beside_auto(method: str, count: int, cells: list[Cell]) -> str:
    """Say how a method and the default did on the cells that both have finished."""
    found: dict[str, dict[tuple[str, int], Cell]] = {method: {}, AUTO: {}}
    for cell in cells:
        if cell["method"] in found and cell["status"] == "done":
            found[cell["method"]][cell["table"]["name"], cell["split"]] = cell
    both = sorted(set(found[method]) & set(found[AUTO]))
    if not both:
        return f"{method} ({count} cells)"
    told = [
        f"{sum(found[name][pair]['errors']['worst'] for pair in both) / len(both):.1%} in "
        f"{sum(found[name][pair]['seconds'] for pair in both) / len(both):.1f} s"
        for name in (method, AUTO)
    ]
    return f"{method} ({count} cells: {told[0]}, where {AUTO} has {told[1]})"


def undecided_note(scores: Scores, apart: list[Pair], patterns: list[str]) -> list[str]:
    if not patterns:
        return []
    names = []
    for table in dict.fromkeys(table for table, _ in apart):
        splits = [split for name, split in apart if name == table]
        whole = splits == scores.splits(table)
        names.append(table if whole else f"{table} (splits {', '.join(map(str, splits))})")
    return [f"{MARK} No decision looked at these: {', '.join(names) or 'none of the splits that are counted'}.", ""]


def summaries(scores: Scores, of: str) -> list[str]:
    """Sum up the methods without offsets and `auto`, then those with offsets and `auto`."""
    plain = [name for name in scores.methods if not name.endswith(OFFSETS)]
    with_offsets = [name for name in scores.methods if name == AUTO or name.endswith(OFFSETS)]
    lines = [f"## Methods: {of}", "", *summary(scores, plain), ""]
    if any(name.endswith(OFFSETS) for name in with_offsets):
        lines += [f"## Methods with offsets: {of}", "", *summary(scores, with_offsets), ""]
    return lines


def summary(scores: Scores, methods: list[str]) -> list[str]:
    """Compare methods with one another over the tables, the lowest mean worst-class error first."""
    worst = scores.by_table(methods)
    means = {error: scores.by_table(methods, error).mean(axis=0) for error in ERRORS}
    ranks = rankdata(worst, axis=1).mean(axis=0)
    lowest = (worst == worst.min(axis=1, keepdims=True)).sum(axis=0)
    head = ["method", "worst-class error", "mean rank", "lowest on", "largest excess over the best peer"]
    rows = []
    for j in np.argsort(means["worst"], kind="stable"):
        peers = np.delete(worst, j, axis=1)
        excess = f"{points((worst[:, j] - peers.min(axis=1)).max())}" if peers.size else "-"
        row = [methods[j], percent(means["worst"][j]), f"{ranks[j]:.2f}", f"{lowest[j]} of {len(worst)}", excess]
        row += [percent(means["class_mean"][j]), percent(means["plain"][j]), f"{scores.seconds(methods[j]):.1f}"]
        rows.append(row)
    return markdown([*head, "class-mean error", "plain error", "seconds"], rows)


def differences(scores: Scores, of: str) -> list[str]:
    """Compare `auto` with every other method: mean difference, sign count over tables, tests within tables."""
    others = [name for name in scores.methods if name != AUTO]
    worst = scores.by_table([AUTO, *others])
    tests = [scores.tests(table) for table in scores.tables]
    signs = []
    for j in range(1, len(others) + 1):
        difference = worst[:, 0] - worst[:, j]
        signs.append([int((difference < 0).sum()), int((difference == 0).sum()), int((difference > 0).sum())])
    p = [binomtest(lower, lower + higher).pvalue if lower + higher else 1.0 for lower, _, higher in signs]
    rows = []
    for j, (name, sign, own, corrected) in enumerate(zip(others, signs, p, holm(p), strict=True), start=1):
        found = [test[name] for test in tests]
        clear = [test for test in found if test.p is not None and test.p <= ALPHA]
        # the tests are method minus auto
        lower = sum(test.t > 0 for test in clear), sum(test.t > 0 for test in found if test.significant)
        higher = sum(test.t < 0 for test in clear), sum(test.t < 0 for test in found if test.significant)
        row = [name, points((worst[:, 0] - worst[:, j]).mean()), "/".join(map(str, sign)), f"{own:.3f}"]
        row += [f"{corrected:.3f}", f"{lower[0]} ({lower[1]})", f"{higher[0]} ({higher[1]})"]
        rows.append(row)
    head = ["auto minus", "mean difference in points", "tables lower/equal/higher", "p of the signs"]
    head += ["corrected by Holm", "tables clearly lower", "tables clearly higher"]
    return [
        f"## Paired differences of the worst-class error: {of}",
        "",
        "Negative: auto has the lower error. Clearly: p ≤ 0.05 in the t-test over the splits of one table, corrected "
        "for the rows that the splits share (Nadeau and Bengio); in brackets, also corrected by Holm over the methods.",
        "",
        *markdown(head, rows),
        "",
    ]


def errors_by_table(title: str, scores: Scores, methods: list[str], apart: list[Pair]) -> list[str]:
    """Show the mean worst-class error of each method on each table; the lowest is bold."""
    rows = []
    for table, errors in zip(scores.tables, scores.by_table(methods), strict=True):
        own = [split for name, split in apart if name == table]
        mark = "" if not own else f" {MARK}" if own == scores.splits(table) else f" ({MARK} {', '.join(map(str, own))})"
        shown = [f"**{percent(error)}**" if error == errors.min() else percent(error) for error in errors]
        rows.append([f"{table}{mark}", str(len(scores.splits(table))), *shown])
    return [f"## {title}", "", *markdown(["table", "splits", *methods], rows), ""]


def differences_by_table(scores: Scores) -> list[str]:
    """Show auto minus each method for each table, with the results of the tests."""
    others = [name for name in scores.methods if name != AUTO]
    rows = []
    for table in scores.tables:
        tests = scores.tests(table)
        rows.append([table, *(tested(tests[name]) for name in others)])
    return [
        "## Differences by table: auto minus each method, in points",
        "",
        "\\*: p ≤ 0.05 in the corrected t-test over splits; \\*\\*: also corrected by Holm over the methods.",
        "",
        *markdown(["table", *others], rows),
        "",
    ]


def tested(test: PairedTest) -> str:
    stars = "\\*\\*" if test.significant else "\\*" if test.p is not None and test.p <= ALPHA else ""
    return points(-(test.mean_difference or 0.0)) + stars


#: title of each fact of a table
FACTS = {
    "name": "table",
    "source": "from",
    "rows": "rows",
    "columns": "columns",
    "categories": "categories",
    "missing": "cells missing",
    "classes": "classes",
    "smallest_class": "smallest class",
    "train": "training rows",
    "test": "test rows",
    "smallest_train": "smallest class in training",
}


def facts_of_tables(scores: Scores) -> list[str]:
    cells = scores.cells[scores.methods[0]]
    facts = [cells[table, scores.splits(table)[0]]["table"] for table in scores.tables]
    rows = [[str({**fact, "missing": percent(fact["missing"])}[name]) for name in FACTS] for fact in facts]
    return ["## Tables", "", *markdown(list(FACTS.values()), rows), ""]


def problems(cells: list[Cell]) -> list[str]:
    """List what failed or was skipped, equal messages together."""
    found = Counter(
        (cell["status"], cell["table"]["name"], cell["method"], " ".join(cell["message"].split())[:200])
        for cell in cells
        if cell["status"] != "done"
    )
    if not found:
        return ["## Failures", "", "None.", ""]
    rows = [[*key[:3], str(count), key[3].replace("|", "\\|")] for key, count in sorted(found.items())]
    return ["## Failures", "", *markdown(["what", "table", "method", "splits", "message"], rows), ""]


def ablation_part(records: list[dict[str, Any]]) -> list[str]:
    """Show the mean of each variant, and its difference to the default over tables."""
    tables = sorted({record["table"] for record in records})

    def by_table(variant: str) -> np.ndarray:
        return np.array([np.mean([r["errors"][variant] for r in records if r["table"] == name]) for name in tables])

    variants = list(records[0]["errors"])
    default, rows = by_table(variants[0]), []
    for variant in variants:
        change = by_table(variant) - default
        better, worse = int((change < -0.001).sum()), int((change > 0.001).sum())
        shown = ["", "", ""] if variant == variants[0] else [with_error(change), str(better), str(worse)]
        rows.append([variant, percent(float(by_table(variant).mean())), *shown])
    about = f"{len(tables)} tables, {len(records)} tables and splits. Differences: mean over tables and standard error."
    head = ["variant", "mean worst class", "minus the default", "tables lower", "tables higher"]
    return ["## Ablation", "", about, "", *markdown(head, rows), "", f"Commits {commits_of(records)}.", ""]


def networks_part(records: list[dict[str, Any]]) -> list[str]:
    """Show the errors of each method on each problem, and the differences of `auto` and `auto-networks` to it."""
    lines = [
        "## Networks",
        "",
        "Mean worst-class test error and its standard error over draws. Differences are of the draws that both methods "
        "have. On images all methods but `auto` train for the same number of epochs. `auto` has its own network and "
        "its own budget; on the problems `...-medium` the other methods have that network and pass as many images "
        "through it. On squares and discs, `auto` and the variants `booster...`, `balanced` and `hedge-...` are of "
        "this part, the variants with 750 epochs in all; the others are those of `worstclass reproduce table1` and "
        "`table2`, with the paper's stopping rules. Best offsets: the worst class of the same model if the test rows "
        "chose its offsets, which no honest choice can beat (where it was measured).",
        "",
    ]
    rows = []
    by_problem: dict[str, list[dict[str, Any]]] = {}
    for record in sorted(records, key=lambda record: (record["problem"], record["draw"])):
        by_problem.setdefault(record["problem"], []).append(record)
    for problem, own in by_problem.items():
        base = by_problem.get(problem.removesuffix(MEDIUM), []) if problem.endswith(MEDIUM) else []
        errors: dict[str, dict[int, dict[str, Any]]] = {}
        for record in [*own, *(each for each in base if each["method"] == AUTO)]:
            known = {**record["errors"], "best": record.get("peeking")}
            errors.setdefault(record["method"], {})[record["draw"]] = known
        least = next((record["least_possible"] for record in own if record.get("least_possible")), None)
        for method in sorted(errors, key=_order):
            found = errors[method]
            worst, plain = (np.array([error[kind] for error in found.values()]) for kind in ("worst", "plain"))
            shown = [problem, method, str(len(found)), with_error(worst), percent(float(plain.mean()))]
            for ours in (AUTO, NETWORKS):
                both = [draw for draw in found if ours != method and draw in errors.get(ours, ())]
                less = np.array([errors[ours][draw]["worst"] - found[draw]["worst"] for draw in both])
                shown.append(with_error(less) if both else "")
            best = [error["best"] for error in found.values() if error["best"] is not None]
            rows.append([*shown, with_error(np.array(best)) if best else "", "" if least is None else percent(least)])
    ours_head = [f"{name} minus it" for name in (AUTO, NETWORKS)]
    head = ["problem", "method", "draws", "worst class", "all rows", *ours_head, "best offsets", "least possible"]
    return [*lines, *markdown(head, rows), "", f"Commits {commits_of(records)}.", ""]


def with_error(values: np.ndarray) -> str:
    """Return a mean and its standard error in percent."""
    error = "" if len(values) < 2 else f" ± {100 * values.std(ddof=1) / len(values) ** 0.5:.1f}"
    return f"{100 * values.mean():.1f}{error}%"


def cost_part(records: list[dict[str, Any]]) -> list[str]:
    """Show comparisons, growth and the time limit."""
    lines = ["## Cost", "", "Seconds of one fit in one thread; CPU seconds unless said otherwise.", ""]
    ordered = sorted(records, key=lambda record: (record["size"][0], record.get("wanted", 0)))
    for kind, show in {"comparison": compared_part, "growth": growth_part, "time limit": limits_part}.items():
        if own := [record for record in ordered if record["kind"] == kind]:
            lines += [*show(own), ""]
    return [*lines, f"Commits {commits_of(records)}.", ""]


def compared_part(records: list[dict[str, Any]]) -> list[str]:
    rows = []
    for record in records:
        runs = [(run[AUTO]["cpu"], run[record["with"]]["cpu"]) for run in record["runs"]]
        seconds = [", ".join(f"{value:.1f}" for value in values) for values in zip(*runs, strict=True)]
        ratios = [f"{record['ratio'][kind]:.1f}" for kind in ("cpu", "wall")]
        rows.append([record["with"], size_of(record), *seconds, *ratios])
    head = ["auto against", "rows x columns, classes", "auto", "the other", "median ratio", "by wall clock"]
    return markdown(head, rows)


def growth_part(records: list[dict[str, Any]]) -> list[str]:
    slopes = ["-", *(f"{slope(pair):.2f}" for pair in pairwise(records))]
    rows = [
        [size_of(record), str(record["folds"]), f"{record['cpu']:.1f}", own]
        for record, own in zip(records, slopes, strict=True)
    ]
    lines = markdown(["rows x columns, classes", "folds", "auto", "slope from the row above"], rows)
    if len(records) == 1:
        return lines
    return [*lines, "", f"Slope of log seconds by log rows over all sizes: {slope(records):.2f} (1: proportional)."]


def limits_part(records: list[dict[str, Any]]) -> list[str]:
    rows = []
    for record in records:
        seconds = [f"{record['wanted']:g}", f"{record['wall']:.1f}", f"{record['wall'] / record['wanted']:.2f}"]
        rows.append([size_of(record), *seconds, str(record["folds"]), ", ".join(record["members"])])
    head = ["rows x columns, classes", "time_limit", "used, by wall clock", "ratio", "folds", "members"]
    return markdown(head, rows)


def commits_of(records: Iterable[dict[str, Any]]) -> str:
    """Name the commits, shortened; "+changes" marks one that had been changed."""
    names = {str(record["provenance"]["commit"]).partition("+") for record in records}
    return ", ".join(sorted(name[:12] + plus + more for name, plus, more in names))


def slope(records: Sequence[dict[str, Any]]) -> float:
    """Fit a line to log seconds by log rows."""
    rows, seconds = np.log([(record["size"][0], record["cpu"]) for record in records]).T
    return float(np.polyfit(rows, seconds, 1)[0])


def size_of(record: dict[str, Any]) -> str:
    rows, columns, classes = record["size"]
    return f"{rows:,} x {columns}, {classes}"


def percent(rate: float) -> str:
    return f"{rate:.1%}"


def points(difference: float) -> str:
    return f"{100 * difference + 0.0:+.1f}"


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table."""
    return [f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *rows)]
