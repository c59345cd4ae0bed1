"""Folders of results for tests of the report page, and what a page says, read without a browser."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from worstclass import WorstClassBooster, make_splits
from worstclass.data.splits import Splits
from worstclass.experiments.details import DETAILS, Details
from worstclass.experiments.run import Provenance, RunResult
from worstclass.report.page import write_page

HOSTILE = ['<script>alert("a")</script>', "b' onmouseover='alert(1)", "</script><b>&amp;", "{{ 7 * 7 }}"]


def write_results(folder: Path, model: Any, splits: Splits, *, details: bool = True) -> RunResult:
    """Write what fit leaves of a fitted model, without the model, and its page."""
    made = {"settings": {"theta": 0.8}, "seed": 0, "provenance": Provenance.collect(), "seconds": 1.5}
    result = RunResult.describe(model, splits, data={"name": "toy.csv", "target": "kind"}, **made)
    (folder / "results").mkdir(parents=True)
    (folder / "results" / "run.json").write_text(result.model_dump_json())
    if details:
        (folder / "results" / DETAILS).write_text(Details.of(model, splits.test, "test rows").model_dump_json())
    write_page(folder)
    return result


def blobs(n_classes: int, names: list[str] | None = None, n_features: int = 3) -> Splits:
    """Overlapping classes around points, in columns with names."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(n_classes), 12)
    X = rng.normal(size=(n_classes, n_features))[y] * 2 + rng.normal(size=(len(y), n_features))
    labels = np.array(names or [f"class {k:03d}" for k in range(n_classes)])[y]
    columns = ["<i>width</i>", 'a "quoted" one', "plain"][:n_features]
    return make_splits(pd.DataFrame(X, columns=columns), labels, test=0.25, seed=0)


def bayes(folder: Path, splits: Splits, **options: Any) -> RunResult:
    return write_results(folder, GaussianNB().fit(splits.train.X, splits.train.y), splits, **options)


def boosted(folder: Path) -> tuple[WorstClassBooster, RunResult]:
    """A booster with validation rows on two features."""
    X, y = load_iris(return_X_y=True)
    splits = make_splits(X[:, 1:3], y, val=0.25, test=0.25, seed=0)
    learner = DecisionTreeClassifier(max_depth=2)
    booster = WorstClassBooster(learner, theta={0: 0.5, "others": 0.6}, n_rounds=8, random_state=0)
    booster.fit(splits.train.X, splits.train.y, splits.val.X, splits.val.y)
    return booster, write_results(folder, booster, splits)


def page_of(folder: Path) -> str:
    file = folder / "results" / "report.html"
    return (file if file.is_file() else folder / "report.html").read_text(encoding="utf-8")


def plain(text: str) -> str:
    """Return the text of a piece of HTML."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", text)).split())


def tables(page: str) -> dict[str, list[list[str]]]:
    """Return the cells of every table by its caption, the heads first."""
    found = {}
    for table in re.findall(r"<table.*?</table>", page, re.DOTALL):
        rows = [
            re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL)
            for row in re.findall(r"<tr.*?</tr>", table, re.DOTALL)
        ]
        caption = plain(re.search(r"<caption>(.*?)</caption>", table).group(1))
        found[caption] = [[plain(cell) for cell in row] for row in rows]
    return found
