"""The scoreboard: cells resume, and the report says what the JSON files say."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

import quality
import quality_ablation
from quality_report import Scores, differences, report, summary, undecided_pairs
from quality_tables import Table, fewer, tables_of_file

RESULTS = Path(__file__).parents[1] / "docs" / "results"


def cell(table, split, method, worst, **changes):
    facts = {"name": table, "train": 70, "test": 30}
    errors = {"worst": worst, "plain": worst / 2, "class_mean": worst / 2}
    found = {"table": facts, "split": split, "method": method, "status": "done", "errors": errors, "seconds": 1.0}
    return {**found, **changes}


# running


def test_a_run_resumes_and_its_report_agrees_with_the_files(tmp_path, monkeypatch, capsys):
    words = ["--out", str(tmp_path / "quality"), "--only", "iris", "--splits", "0", "--methods", "logistic,auto"]
    quality.main(words)
    files = sorted((tmp_path / "quality").glob("tables/*/*.json"))
    assert [str(file.relative_to(tmp_path / "quality")) for file in files] == [
        "tables/iris/0-auto.json",
        "tables/iris/0-logistic.json",
    ]
    for file in files:
        record = json.loads(file.read_text())
        assert record["status"] == "done"
        assert set(record["errors"]) == {"worst", "plain", "class_mean"}
        assert record["seed"] == 0
        assert record["settings"]["max_train"] == 3_000
        assert {"worstclass", "scikit-learn", "lightgbm"} <= set(record["provenance"]["versions"])
        assert f"| {record['method']} | {record['errors']['worst']:.1%} |" in (tmp_path / "quality.md").read_text()

    monkeypatch.setattr(quality, "run_cell", lambda *_: pytest.fail("a cell was computed again"))
    before = (tmp_path / "quality.md").read_text()
    quality.main(words)
    assert (tmp_path / "quality.md").read_text() == before == report(tmp_path / "quality")

    files[0].unlink()
    quality.main([*words, "--report-only"])
    assert "| auto |" not in (tmp_path / "quality.md").read_text()
    with pytest.raises(SystemExit, match="Use another --out"):
        quality.main([*words, "--max-train", "50"])
    with pytest.raises(SystemExit, match="unknown no-such"):
        quality.main([*words, "--methods", "no-such"])


def test_what_fails_is_recorded_and_offsets_are_skipped_for_a_single_row():
    class Fails:
        def fit(self, X, y):
            raise ValueError("no luck")

        def __repr__(self, N_CHAR_MAX=0):
            return "Fails()"

    table = Table.of("tiny", "file", np.arange(12.0)[:, None], np.repeat(["a", "b", "c"], [9, 2, 1]))
    limits = {"max_train": 100, "max_test": 100}
    failed = quality.run_cell(table, 0, "fails", lambda seed: Fails(), limits)
    assert (failed["status"], failed["message"]) == ("failed", "ValueError: no luck")
    skipped = quality.run_cell(table, 0, "fails+offsets", lambda seed: Fails(), limits)
    assert skipped["status"] == "skipped"
    assert "one training row" in skipped["message"]


@pytest.mark.parametrize("method", ["lightgbm", "xgboost"])
def test_peers_weigh_classes_equally_and_take_labels_with_gaps(method, blobs):
    pytest.importorskip(method)
    X, y = blobs
    numbers = {"a": 3, "b": 5, "c": 9}
    model = quality.methods(1.0)[method](0).fit(X, [numbers[label] for label in y])
    assert set(model.predict(X)) == {3, 5, 9}
    assert model.predict_proba(X).shape == (90, 3)


def test_a_package_that_is_not_installed_leaves_its_method_out(monkeypatch, capsys):
    monkeypatch.setattr(quality, "find_spec", lambda name: None if name == "xgboost" else True)
    found = quality.methods(1.0)
    assert "xgboost" not in found
    assert {"lightgbm", "lightgbm+offsets", "stacking", "ours-trees", "auto"} <= set(found)
    assert "xgboost is left out: xgboost is not installed" in capsys.readouterr().out


# rows


def test_every_class_of_two_rows_is_trained_on_and_tested():
    table = Table.of("t", "file", np.arange(33.0)[:, None], np.repeat([0, 1, 2], [30, 2, 1]))
    X, y, X_test, y_test = table.divided(0, 1_000, 1_000)
    assert np.bincount(y).tolist() == [21, 1, 1]
    assert np.bincount(y_test, minlength=3).tolist() == [9, 1, 0]
    assert sorted([*X[:, 0], *X_test[:, 0]]) == list(range(33))
    again = table.divided(0, 1_000, 1_000)
    assert (again[0] == X).all()
    assert not np.array_equal(X, table.divided(1, 1_000, 1_000)[0])


@pytest.mark.parametrize(
    ("counts", "most", "kept"), [([5, 5], 20, [5, 5]), ([90, 10], 20, [13, 7]), ([990, 5, 5], 100, [90, 5, 5])]
)
def test_fewer_rows_keep_some_of_each_class(counts, most, kept):
    assert fewer(np.array(counts), most, least=6 if len(counts) == 2 else 10).tolist() == kept


def test_a_file_gives_tables_with_categories(tmp_path):
    X = np.array([[0.5, 1, 2], [0.7, 0, np.nan], [0.1, 1, 2]])
    arrays = {"my_own_x": X, "my_own_y": np.array(["b", "a", "b"]), "my_own_cat": np.array([0, 1, 1])}
    np.savez(tmp_path / "t.npz", **arrays, plain_x=X, plain_y=np.array([7, 7, 9]))
    own, plain = tables_of_file(tmp_path / "t.npz")
    assert (own.name, own.y.tolist(), own.facts()["categories"]) == ("my_own", [1, 0, 1], 2)
    assert [str(dtype) for dtype in own.X.dtypes] == ["float64", "category", "category"]
    assert (plain.name, plain.y.tolist(), type(plain.X)) == ("plain", [0, 0, 1], np.ndarray)


# the report


def test_the_summary_of_hand_worked_errors():
    errors = {"auto": [0.1, 0.3], "forest": [0.2, 0.3], "logistic": [0.4, 0.1]}
    scores = Scores.of(cell("ab"[i], 0, name, worst) for name, both in errors.items() for i, worst in enumerate(both))
    assert summary(scores, scores.methods)[2:] == [
        "| auto | 20.0% | 1.75 | 1 of 2 | +20.0 | 10.0% | 10.0% | 1.0 |",
        "| forest | 25.0% | 2.25 | 0 of 2 | +20.0 | 12.5% | 12.5% | 1.0 |",
        "| logistic | 25.0% | 2.00 | 1 of 2 | +30.0 | 12.5% | 12.5% | 1.0 |",
    ]
    assert "| forest | -5.0 | 1/1/0 | 1.000 | 1.000 | 0 (0) | 0 (0) |" in differences(scores, "all")


def test_clear_differences_within_a_table_are_counted():
    worst = [0.30, 0.31, 0.29, 0.30, 0.31]
    cells = [cell("a", split, "forest", error) for split, error in enumerate(worst)]
    cells += [cell("a", split, "auto", error - 0.2 + 0.001 * split) for split, error in enumerate(worst)]
    assert "| forest | -19.8 | 1/0/0 | 1.000 | 1.000 | 1 (1) | 0 (0) |" in differences(Scores.of(cells), "all")


def test_failed_and_skipped_cells_count_as_said():
    cells = [
        cell("a", 0, "auto", 0.1),
        cell("a", 0, "forest", 0.4),
        cell("a", 0, "forest+offsets", 0.0, status="skipped", message="why"),
        cell("a", 0, "logistic", 0.0, status="failed", message="why"),
    ]
    scores = Scores.of(cells)
    assert [scores.mean(name, "a") for name in scores.methods] == [0.1, 0.4, 1.0, 0.4]


def test_only_splits_that_all_methods_have_count():
    cells = [cell("a", split, name, 0.5) for split in range(4) for name in ("auto", "forest")]
    scores = Scores.of([*cells[:-1], cell("a", 0, "rare", 0.5)])
    assert scores.methods == ["auto", "forest"]
    assert scores.pairs == (("a", 0), ("a", 1), ("a", 2))


def test_undecided_pairs_are_found_by_table_and_split():
    pairs = [("a", 0), ("a", 1), ("b", 0), ("b", 1)]
    assert undecided_pairs(pairs, ["a"]) == [("a", 0), ("a", 1)]
    assert undecided_pairs(pairs, ["b:1"]) == [("b", 1)]
    assert undecided_pairs(pairs, ["*:0"]) == [("a", 0), ("b", 0)]


def test_undecided_and_cost_are_reported_from_the_files(tmp_path):
    def made(**facts):
        return {"provenance": {"commit": "0123456789abcdef+changes"}, **facts}

    growth = [made(kind="growth", size=[10**k, 30, 8], cpu=10.0 ** (k - 2), wall=1.0, folds=5) for k in (3, 4)]
    run = {"auto": {"cpu": 8.0, "wall": 9.0}, "forest": {"cpu": 2.0, "wall": 3.0}}
    comparison = made(kind="comparison", size=[1000, 64, 10], runs=[run], ratio={"cpu": 4.0, "wall": 3.0})
    comparison["with"] = "forest"
    limit = made(kind="time limit", size=[10_000, 30, 8], wanted=5.0, cpu=4.0, wall=6.0, folds=1, members=["logistic"])
    for number, record in enumerate([*growth, comparison, limit]):
        quality.write(tmp_path / "q" / "cost" / f"{number}.json", record)
    text = report(tmp_path / "q")
    assert "| forest | 1,000 x 64, 10 | 8.0 | 2.0 | 4.0 | 3.0 |" in text
    assert "over all sizes: 1.00 (1: proportional)" in text
    assert "| 10,000 x 30, 8 | 5 | 6.0 | 1.20 | 1 | logistic |" in text
    assert "Commits 0123456789ab+changes." in text


def test_networks_are_compared_on_common_draws_and_auto_with_those_of_its_compute(tmp_path):
    errors = {("toy", "auto"): [0.3, 0.5], ("toy", "auto-networks"): [0.4], ("toy-medium", "ce"): [0.2, 0.6, 0.1]}
    for (problem, method), found in errors.items():
        for draw, worst in enumerate(found):
            record = {"problem": problem, "draw": draw, "method": method, "least_possible": None}
            record |= {"errors": {"worst": worst, "plain": worst / 2}, "provenance": {"commit": "0123456789abcdef"}}
            quality.write(tmp_path / "q" / "networks" / problem / f"{draw}-{method}.json", record)
    text = report(tmp_path / "q")
    assert "| toy | auto | 2 | 40.0 ± 10.0% | 20.0% |  | 10.0% |  |  |" in text
    assert "| toy | auto-networks | 1 | 40.0% | 20.0% | -10.0% |  |  |  |" in text
    assert "| toy-medium | auto | 2 | 40.0 ± 10.0% | 20.0% |  |  |  |  |" in text
    assert "| toy-medium | ce | 3 | 30.0 ± 15.3% | 15.0% | 0.0 ± 10.0% |  |  |  |" in text


def test_cells_of_the_paper_count_as_networks(tmp_path):
    shutil.copytree(RESULTS / "reproduction" / "cpu" / "cells" / "squares", tmp_path / "reproduction/cpu/cells/squares")
    worst = [
        json.loads(file.read_text())["test"]["worst_error"]
        for file in (tmp_path / "reproduction").rglob("naive-seed*.json")
    ]
    shown = f"| squares | naive | {len(worst)} | {100 * np.mean(worst):.1f} ± "
    assert shown in report(tmp_path / "q")


@pytest.mark.skipif(not (RESULTS / "quality.md").exists(), reason="the scoreboard was not run yet")
def test_the_kept_report_says_what_the_kept_cells_say():
    assert report(RESULTS / "quality") == (RESULTS / "quality.md").read_text()


@pytest.mark.skipif(not (RESULTS / "quality.md").exists(), reason="no results yet")
def test_the_table_of_the_readme_is_that_of_the_scoreboard():
    names = {
        "default (`auto`)": "auto",
        "stacking": "stacking",
        "balanced random forest": "balanced-forest",
        "logistic": "logistic",
        "of trees": "ours-trees",
        "XGBoost": "xgboost",
        "random forest": "forest",
        "histogram": "hist-gradient-boosting",
        "LightGBM": "lightgbm",
    }
    readme = (RESULTS.parents[1] / "README.md").read_text().split("| mean rank of 11 |")[1].split("\n\n")[0]
    first = (RESULTS / "quality.md").read_text().split("## Methods: all tables and splits")[1].split("##")[0]
    shown = {
        cells[1]: cells
        for cells in ([cell.strip() for cell in line.split("|")] for line in first.splitlines())
        if len(cells) > 8
    }
    rows = [[cell.strip(" *") for cell in line.split("|")[1:5]] for line in readme.splitlines()[2:]]
    assert len(rows) == len(names)
    for text, worst, rank, plain in rows:
        method = next(name for part, name in names.items() if part in text)
        assert [worst, rank, plain] == [shown[method][2], shown[method][3], shown[method][7]]


@pytest.mark.skipif(not (RESULTS / "quality.md").exists(), reason="no results yet")
def test_the_images_of_the_readme_are_those_of_the_scoreboard():
    problems = {"imbalanced CIFAR-10": "imbalanced-cifar10-medium", "RetinaMNIST": "retinamnist-medium"}
    methods = ("auto", "ce+offsets", "vs", "la")
    readme = (RESULTS.parents[1] / "README.md").read_text().split("| logit adjustment |")[1].split("\n\n")[0]
    lines = (RESULTS / "quality.md").read_text().splitlines()
    rows = [[cell.strip(" *") for cell in line.split("|")[1:-1]] for line in readme.splitlines()[2:]]
    assert [row[0] for row in rows] == list(problems)
    for name, *cells in rows:
        for method, shown in zip(methods, cells, strict=True):
            found = [line for line in lines if line.startswith(f"| {problems[name]} | {method} |")]
            worst, _, seeds = shown.partition(" (")
            assert f"| {seeds.split()[0] if seeds else 3} | {worst} |" in found[0]


def test_other_choices_of_the_ablation_take_the_member_that_is_right():
    target = np.repeat([0, 1, 2], 20)
    right = np.full((60, 3), 0.1)
    right[np.arange(60), target] = 0.8
    wrong = np.random.default_rng(0).dirichlet(np.ones(3), 60)
    parts = [wrong, right]
    default = quality_ablation.with_offsets(np.array([0.5, 0.5]), parts, target, None)
    for name in ("chosen once, the fewest within one standard error", "the minimax mixture of the members"):
        choice = quality_ablation.VARIANTS[name](parts, target, default)
        assert choice.weights.tolist() == pytest.approx([0, 1])


def test_the_minimax_mixture_balances_the_errors_of_the_classes():
    # each member knows one class and guesses among the other two by a coin that no offset can mend
    target, coin = np.repeat([0, 1, 2], 40), np.tile([0.2, 0.8], 60)
    parts = []
    for known in range(3):
        others = [k for k in range(3) if k != known]
        p = np.zeros((120, 3))
        p[target == known, known] = 1
        for row in np.flatnonzero(target != known):
            p[row, others] = coin[row], 1 - coin[row]
        parts.append(p)
    choice = quality_ablation.VARIANTS["the minimax mixture of the members"](parts, target, None)
    assert choice.weights.tolist() == pytest.approx([1 / 3] * 3, abs=0.01)
