"""The paper's targets: declarations, cells, tables, figures, rows of one's own, and files that do not belong."""

import csv
import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from official_files import (
    MNIST_PREFIXES,
    write_cifar10,
    write_cifar100,
    write_idx_set,
    write_medmnist,
    write_tiny_imagenet,
)

from worstclass.cli.app import run
from worstclass.data.registry import named_dataset
from worstclass.exceptions import UnknownNameError
from worstclass.experiments.cells import Cell, CellResult
from worstclass.experiments.ideal import Regions, ideal_answers, least_average_answers, least_worst_error
from worstclass.experiments.paper import KINDS, TARGETS, Row, boosting, candidates, find_target, ours, ours_at, single
from worstclass.experiments.paper_problems import PROBLEMS, SCALES
from worstclass.experiments.paper_tables import Value, average_error, chosen_results, results_by_entry
from worstclass.experiments.printed import PRINTED
from worstclass.experiments.reproduction import Reproduction
from worstclass.experiments.run import Outcome, Provenance
from worstclass.metrics import class_report
from worstclass.report.paper import table_csv, table_latex, table_markdown, value_text

PROVENANCE = Provenance.collect()


# declarations


def test_every_target_of_the_paper_is_there():
    names = "table1 table2 table3 table4 gamma theta-balanced theta-imbalanced fig-overview fig-imbalanced"
    assert list(TARGETS) == [*names.split(), "fig-boundaries", "fig-weights", "fig-radar", "fig-theta"]
    assert find_target("artificial-balanced") is TARGETS["table1"]
    with pytest.raises(UnknownNameError, match="Did you mean 'table4'"):
        find_target("table5")


def test_the_settings_of_the_paper_are_those_of_its_appendix():
    squares, discs = PROBLEMS["squares"].at("paper"), PROBLEMS["discs-50"].at("paper")
    for problem, n_rows in ((squares, 500), (discs, 1_550)):
        assert (problem.epochs, problem.patience, problem.select_on) == (10_000, 100, "loss")
        assert (problem.round_epochs, problem.round_patience, problem.boosting_epochs) == (10_000, 1_000, None)
        assert (problem.gamma, problem.instance_gammas, problem.learner["lr"]) == (0.0995, (0.0995,), 0.01)
        assert problem.learner["batch_size"] >= n_rows  # the paper names none; an epoch is one step
        assert (problem.network, problem.seeds) == ("mlp", 5)
    assert (squares.theta, discs.theta) == (0.75, 0.5)
    assert squares.instance_epochs is None
    assert (dict(squares.options), dict(discs.options)) == ({"n_test": 100_000}, {"n_min": 50, "n_test_min": 10_000})
    gammas = {"cifar10": 0.2995, "cifar100": 0.2995, "tiny-imagenet": 0.2995, "emnist": 0.2898, "tissuemnist": 0.2495}
    for name, gamma in gammas.items():
        problem = PROBLEMS[name].at("paper")
        assert (problem.gamma, problem.instance_gammas, len(problem.thetas)) == (gamma, (0.1995, 0.2995), 9)
        assert problem.learner["batch_size"] == (128 if name == "tiny-imagenet" else 512)
        assert problem.epochs == (100 if name == "tissuemnist" else 200)
        assert not PROBLEMS[name].reductions(problem)


@pytest.mark.parametrize("name", ["squares", "discs-10", "discs-50", "discs-100"])
@pytest.mark.parametrize("kind", KINDS)
def test_on_artificial_data_nothing_but_the_papers_rule_ends_ours(name, kind):
    limits = [ours_at(PROBLEMS[name].at(scale), 0.5, kind=kind).settings["max_epochs"] for scale in SCALES]
    assert limits == [None, None, 60], "paper, cpu, smoke"


def test_a_smaller_scale_says_all_that_it_changes():
    problem = PROBLEMS["squares"]
    assert problem.reductions(problem.at("cpu")) == [
        "data: n_test 4000 instead of n_test 100000",
        "seeds: 15 instead of 5",
        "epochs of Boosting: 5,000 instead of no limit",
    ]
    told = " ".join(PROBLEMS["cifar10"].reductions(PROBLEMS["cifar10"].at("cpu")))
    for words in (
        "network: cnn-small instead of resnet32",
        "training rows: 4,000",
        "epochs of ours: 60 instead of no limit",
    ):
        assert words in told


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("scale", SCALES)
def test_every_entry_of_every_target_can_be_built(name, scale):
    problem = PROBLEMS[name].at(scale)
    names = []
    for target in TARGETS.values():
        if name in target.problems:
            for entry in target.entries(problem):
                names.append((entry.name, json.dumps(entry.settings, sort_keys=True)))
                model = entry.build(3)
                assert model.get_params()["random_state"] == 3
    assert len({name for name, _ in names}) == len(set(names))  # one name, one meaning: targets share their cells


def test_single_networks_stop_as_in_the_paper_and_ours_as_in_its_equations():
    problem = PROBLEMS["squares"].at("paper")
    (ce,), (naive,) = single("ce")(problem), single("naive", "worst")(problem)
    assert {one.build(0).select_on for one in (ce, naive)} == {"loss"}
    assert (ce.build(0).patience, ce.build(0).max_epochs) == (100, 10_000)
    faithful, authors, extended = (
        ours(kind)(problem)[0].build(0) for kind in ("ours", "ours-authors", "ours-extended")
    )
    assert (faithful.learner.start, faithful.extend, faithful.weighting) == ("same", False, "per-class-mean")
    assert (authors.learner.optimizer_state, authors.weighting, authors.extend) == ("carry", "per-instance", False)
    assert (extended.learner.start, extended.extend) == ("fresh", True)
    assert {model.patience for model in (faithful, authors, extended)} == {1_000}
    assert {model.max_epochs for model in (faithful, authors, extended)} == {None}
    images = PROBLEMS["cifar10"].at("paper")
    assert single("ce")(images)[0].build(0).select_on == "average"  # as the authors
    assert single("naive", "worst")(images)[0].build(0).select_on == "worst"
    assert [entry.build(0).gamma for entry in boosting(images)] == [0.1995, 0.2995]
    assert [entry.build(0).theta for entry in ours()(images)] == list(candidates(images)) == list(images.thetas)


def test_the_printed_figures_have_a_place_in_the_tables():
    for table, rows in PRINTED.items():
        target = TARGETS[table]
        known = {row.label for row in target.rows}
        for label, by_problem in rows.items():
            assert set(by_problem) <= set(target.problems)
            if known:
                assert label in known
    assert PRINTED["table1"]["Ours"]["squares"][-2:] == (28.1, 23.9)
    assert PRINTED["table4"]["Ours"]["tissuemnist"] == (47.2, 36.4)
    assert PRINTED["theta-imbalanced"]["0.3"]["emnist"] == (62.9, 17.8)


# the ideal


@pytest.mark.parametrize(
    ("data", "least"), [("artificial-balanced", 1 - 15.8396 / 20), ("artificial-imbalanced", 0.366)]
)
def test_the_least_worst_error_is_that_of_the_union_of_the_regions(data, least):
    """Every answer inside the union can be right, and the errors can be equal: 1 - area of the union / sum of areas."""
    regions = Regions.of(data)
    found = least_worst_error(regions)
    assert found == pytest.approx(least, abs=5e-4)
    pieces = regions.pieces()
    areas = [sum(area for piece, area in pieces.items() if k in piece) for k in range(len(regions.centres))]
    assert areas == pytest.approx([np.pi if regions.round else 4.0] * len(areas), abs=1e-4)
    assert found == pytest.approx(1 - sum(pieces.values()) / sum(areas), abs=1e-6)
    rng = np.random.default_rng(0)  # by drawing points, too: a share of each class lies in several regions
    points = rng.uniform(size=(200_000, 2))
    inside = regions.contain(points)
    assert 1 - inside.any(axis=1).sum() / inside.sum() == pytest.approx(found, abs=0.005)


@pytest.mark.parametrize("data", ["artificial-balanced", "artificial-imbalanced"])
def test_ideal_answers_have_the_least_worst_error(data):
    regions = Regions.of(data)
    ticks = (np.arange(300) + 0.5) / 300
    points = np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)
    answers, inside = ideal_answers(regions, points), regions.contain(points)
    errors = [(answers[inside[:, k]] != k).mean() for k in range(len(regions.centres))]
    assert max(errors) == pytest.approx(least_worst_error(regions), abs=0.01)
    assert set(np.unique(answers[~inside.any(axis=1)])) <= {-1}
    average = least_average_answers(regions, points, 1)
    assert inside[np.arange(len(points)), average][inside.any(axis=1)].all()
    alone = inside[:, 1] & (inside.sum(axis=1) == 1)
    assert ((average == 1) == alone).all()


def test_the_regions_are_those_of_the_data():
    for data in ("artificial-balanced", "artificial-imbalanced"):
        part = named_dataset(data).draw(0).train
        inside = Regions.of(data).contain(part.X.astype(float) * (1 - 1e-6) + 5e-7)
        assert inside[np.arange(len(part)), part.y - 1].mean() > 0.999


# values


def result(method, seed, errors, data="squares", validation=None, settings=None, **facts):
    """A finished cell whose test errors are given by class, in rows of 100."""
    y = np.repeat(np.arange(len(errors)), 100)
    right = np.concatenate([np.arange(100) >= error for error in errors])
    report = class_report(y, np.where(right, y, (y + 1) % len(errors)))
    parts = {"test": report, "training": report}
    if validation is not None:
        parts["validation"] = class_report(y, np.where(np.arange(len(y)) % 100 >= validation, y, (y + 1) % len(errors)))
    cell = Cell(method, data, seed, settings or {})
    return CellResult.of(cell, Outcome(**parts, **facts), provenance=PROVENANCE, seconds=1.0)


def test_values_are_means_with_errors_and_differences():
    value = Value(28.1, {0: 29.0, 1: 31.0, 2: 33.0})
    assert (value.mean, value.difference) == (31.0, pytest.approx(2.9))
    assert value.error == pytest.approx(2 / 3**0.5)
    assert value_text(value) == "28.1 / 31.0 ± 1.2 (+2.9)"
    assert value_text(Value(None, {})) == "-"


def test_validation_rows_choose_among_candidates_on_every_seed():
    problem = replace(PROBLEMS["cifar10"].at("cpu"), thetas=(0.3, 0.5))
    made = [
        result("ours-theta0.3", 0, [10, 30], "cifar10", validation=20),
        result("ours-theta0.5", 0, [10, 40], "cifar10", validation=10),
        result("ours-theta0.3", 1, [10, 30], "cifar10", validation=10),
        result("ours-theta0.5", 1, [10, 50], "cifar10", validation=10),  # of equals the larger theta
        result("ours-theta0.3", 2, [10, 60], "cifar10", validation=1),  # its rival is missing
    ]
    chosen = chosen_results(problem, Row("Ours", ours()), results_by_entry(made))
    assert {seed: one.method for seed, one in chosen.items()} == {0: "ours-theta0.5", 1: "ours-theta0.5"}


def test_the_average_error_of_the_discs_counts_classes_as_they_occur():
    at_cpu, paper = PROBLEMS["discs-10"].at("cpu"), PROBLEMS["discs-10"].at("paper")
    one = result("ce", 0, [10, 20, 30, 80])
    assert average_error(at_cpu, one) == pytest.approx((10 * 10 + 10 * 20 + 10 * 30 + 80) / 31)
    assert average_error(paper, one) == pytest.approx(35.0)


def finished(tmp_path, by_label, target="table1", scale="cpu", n_seeds=2):
    """Write cells of the squares for some rows: label -> test errors by seed."""
    work = Reproduction(find_target(target), scale, tmp_path, n_seeds=n_seeds)
    (grid,) = work.grids()
    rows = {row.label: row.entries(work.problems[0])[0].name for row in work.target.rows}
    folder = work.cells_folder / grid.data
    folder.mkdir(parents=True)
    for label, by_seed in by_label.items():
        for seed, errors in enumerate(by_seed):
            cell = next(cell for cell in grid.cells(seed) if cell.method == rows[label])
            result(cell.method, seed, errors, settings=dict(cell.settings)).write(folder)
    return work


def test_a_table_has_the_papers_figure_ours_and_the_difference(tmp_path):
    ce, our = [[1, 60, 3, 4, 5], [1, 50, 3, 4, 5]], [[1, 2, 3, 30, 5], [1, 2, 32, 4, 5]]
    work = finished(tmp_path, {"CE": ce, "Ours": our})
    results, refused = work.results()
    assert (len(results), refused) == (4, [])
    (table,) = work.tables(results)
    rows = {row.label: row for row in table.rows}
    assert [value_text(value) for value in rows["CE"].values][-2:] == [
        "52.2 / 55.0 ± 5.0 (+2.8)",
        "23.4 / 13.6 ± 1.0 (-9.8)",
    ]
    assert [value_text(value) for value in rows["Ours"].values][-2] == "28.1 / 31.0 ± 1.0 (+2.9)"
    assert value_text(rows["Naive"].values[-2]) == "28.5 / -"
    details = {detail.row: detail for detail in table.details}
    assert details["Ours"].largest_mean == pytest.approx(17.5)  # (3 + 32) / 2: another class in each draw
    assert details["CE"].difference == pytest.approx(24.0)  # of 60 - 30 and 50 - 32
    assert details["CE"].difference_error == pytest.approx(6.0)
    text = table_markdown(work, [table])
    assert "| CE | 3.2 / 1.0 ± 0.0 (-2.2) |" in text
    assert "n_test 4000 instead of n_test 100000" in text
    lines = list(csv.DictReader(table_csv([table]).splitlines()))
    (one,) = [line for line in lines if line["row"] == "CE" and line["metric"] == "Worst"]
    assert (float(one["here"]), float(one["paper"]), int(one["seeds"])) == (55.0, 52.2, 2)
    assert r"CE & 3.2 / \textbf{1.0}" in table_latex([table])


def test_numbers_of_a_table_are_those_of_the_files(tmp_path):
    work = finished(tmp_path, {"CE": [[1, 61, 3, 4, 5], [1, 52, 3, 4, 5]]})
    (table,) = work.tables(work.results()[0])
    kept = [json.loads(file.read_text()) for file in sorted(work.cells_folder.rglob("*.json"))]
    means = {
        metric: 100 * np.mean([one["test"][name] for one in kept])
        for metric, name in (("Worst", "worst_error"), ("Avg.", "plain_error"))
    }
    for line in csv.DictReader(table_csv([table]).splitlines()):
        if line["row"] == "CE" and line["group"] == "test error":
            assert float(line["here"]) == pytest.approx(means[line["metric"]])


@pytest.mark.parametrize("name", [name for name, target in TARGETS.items() if not target.is_figure])
def test_the_kept_tables_say_what_the_kept_cells_say(name, tmp_path):
    folder = Path(__file__).parents[1] / "docs" / "results" / "reproduction" / "cpu"
    work = Reproduction(find_target(name), "cpu", folder, root=tmp_path)
    results, refused = work.results()
    assert not refused
    if not results:
        pytest.skip("no cell is kept")
    assert (folder / f"{name}.md").read_text() == table_markdown(work, work.tables(results), results)


def test_with_rounds_added_every_kept_draw_meets_the_bound():
    folder = Path(__file__).parents[1] / "docs" / "results" / "reproduction" / "cpu"
    results, _ = Reproduction(find_target("table1"), "cpu", folder).results()
    extended = [result for result in results if result.method.startswith("ours-extended")]
    assert len(extended) >= 5
    assert all(result.bound_met for result in extended)


def test_damaged_and_foreign_files_are_told_and_not_averaged(tmp_path, capsys):
    work = finished(tmp_path / "cpu", {"CE": [[0, 60, 0, 0, 0], [0, 50, 0, 0, 0]], "Naive": [[9] * 5, [9] * 5]})
    folder = work.cells_folder / "squares"
    (folder / "ce-seed0.json").write_text("{")
    foreign = json.loads((folder / "naive-seed1.json").read_text())
    foreign["settings"]["max_epochs"] = 7
    (folder / "naive-seed1.json").write_text(json.dumps(foreign))
    results, refused = work.results()
    assert sorted((one.method, one.seed) for one in results) == [("ce", 1), ("naive", 0)]
    assert len(refused) == 2
    assert refused[0].endswith("ce-seed0.json is left out: it is damaged.")
    assert "naive-seed1.json is left out: it was made with other settings: " in refused[1]
    assert "max_epochs (7 in the file, 10000 asked for)" in refused[1]
    words = ["reproduce", "table1", "--out", str(tmp_path), "--seeds", "2"]
    assert run([*words, "--report-only"]) == 0
    shown = capsys.readouterr().out
    assert "52.2 / 50.0 (-2.2)" in shown
    assert "it is damaged" in shown
    assert "other settings" in (tmp_path / "cpu" / "table1.md").read_text()
    assert run(words) == 2  # would average what was made otherwise
    assert "naive-seed1.json" in capsys.readouterr().err


def test_cells_are_shown_where_their_data_are_not_here_and_nothing_of_them_is_trained(tmp_path, capsys):
    folder = tmp_path / "cpu" / "cells" / "cifar10"
    folder.mkdir(parents=True)
    (folder / "ce-seed9.json").write_text("{}")  # some cell, so that the problem is listed
    work = Reproduction(find_target("table3"), "cpu", tmp_path / "cpu", tmp_path)
    assert [problem.name for problem in work.problems] == ["cifar10"]
    assert work.cells(trainable=True) == []
    cell = next(cell for cell in work.cells() if cell.method == "ce")
    result("ce", 0, [10.0] * 9 + [30.0], "cifar10", settings=dict(cell.settings)).write(folder)
    for report_only in (["--report-only"], []):
        assert run(["reproduce", "table3", "--out", str(tmp_path), "--root", str(tmp_path), *report_only]) == 0
        shown = capsys.readouterr().out
        assert "/ 30.0" in shown
        assert "CIFAR-10 is shown from finished cells. The files of the data set 'cifar10' are not there." in shown
        assert "CIFAR-100 is not here: " in shown
    assert {file.name for file in folder.iterdir()} == {"ce-seed9.json", "ce-seed0.json"}


def test_details_count_the_seeds_on_which_a_booster_met_its_bound(tmp_path):
    work = finished(tmp_path, {"CE": [[1] * 5, [1] * 5], "Ours": [[1] * 5, [1] * 5]})
    file = next(work.cells_folder.rglob("ours-theta0.75-seed1.json"))
    for number, met in enumerate((True, False)):
        boosting = {"n_rounds": 3, "n_extra_rounds": 0, "n_members": 3, "n_members_used": 3, "gamma": 0.1}
        path = file.with_name(f"ours-theta0.75-seed{number}.json")
        path.write_text(json.dumps(json.loads(path.read_text()) | {"boosting": {**boosting, "bound_met": met}}))
    (table,) = work.tables(work.results()[0])
    assert {detail.row: detail.bound_met for detail in table.details} == {"CE": None, "Ours": (1, 2)}
    assert "| 1 of 2 | - |" in table_markdown(work, [table])


# every target, on small data


@pytest.fixture(scope="session")
def root(tmp_path_factory):
    """Small files of every data set in the official formats."""
    place = tmp_path_factory.mktemp("data")
    write_cifar10(place / "cifar10", n=200, n_test=100)
    write_cifar100(place / "cifar100", n=1000, n_test=200)
    write_tiny_imagenet(place / "tiny-imagenet", n_train=12, n_val=6)
    write_idx_set(place / "fashion-mnist", MNIST_PREFIXES, {"train": 300, "test": 100})
    prefixes = {"train": "emnist-byclass-train", "test": "emnist-byclass-test"}
    write_idx_set(place / "emnist", prefixes, {"train": 620, "test": 124}, n_classes=62)
    for name, n_classes, channels in (("tissuemnist", 8, 1), ("retinamnist", 5, 3)):
        sizes = {"train": 200, "val": 80, "test": 80}
        write_medmnist(place / f"{name}.npz", sizes, n_classes=n_classes, channels=channels)
    return place


@pytest.mark.parametrize(
    "name",
    [
        "table3",
        pytest.param("table4", marks=pytest.mark.slow),
        "theta-balanced",
        "theta-imbalanced",
        "gamma",
        "fig-radar",
        "fig-theta",
    ],
)
def test_targets_of_images_in_the_official_formats(name, root, shared, capsys):
    assert run(["reproduce", name, "--scale", "smoke", "--root", str(root), "--out", str(shared), "--quiet"]) == 0
    shown = capsys.readouterr().out
    assert "not here" not in shown
    endings = (".png", ".pdf") if name.startswith("fig") else (".md", ".csv", ".tex")
    assert all((shared / "smoke" / f"{name}{ending}").stat().st_size > 300 for ending in endings)
    if name.startswith("table"):
        lines = list(csv.DictReader((shared / "smoke" / f"{name}.csv").read_text().splitlines()))
        missing = [(line["row"], line["group"]) for line in lines if not line["here"]]
        assert not missing


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """One folder for all targets, which share their cells."""
    return tmp_path_factory.mktemp("reproduction")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "name",
    [
        "table1",
        "table2",
        "fig-overview",
        "fig-imbalanced",
        pytest.param("fig-boundaries", marks=pytest.mark.slow),
        "fig-weights",
    ],
)
def test_targets_of_the_artificial_data(name, here, capsys):
    assert run(["reproduce", name, "--scale", "smoke", "--seeds", "1", "--quiet"]) == 0
    shown = capsys.readouterr().out
    endings = (".png", ".pdf") if name.startswith("fig") else (".md", ".csv", ".tex")
    for ending in endings:
        file = Path("reproduction", "smoke", f"{name}{ending}")
        assert f"written: {file}" in shown
        assert file.stat().st_size > 300
    assert "instead of" in shown
    page = Path("reproduction", "report.html")
    assert f"report: {page}" in shown
    assert f"{name} (smoke)" in page.read_text()
    assert run(["reproduce", name, "--scale", "smoke", "--seeds", "1"]) == 0
    assert ": started" not in capsys.readouterr().err  # nothing is trained twice


def test_every_theta_of_the_paper_has_a_row(tmp_path):
    work = Reproduction(find_target("theta-balanced"), "cpu", tmp_path)  # of which the squares alone are here
    (table,) = work.tables(
        [result("ours-theta0.75", 0, [1, 2, 3, 4, 50]), result("ours-theta0.75", 1, [1, 2, 3, 4, 5])]
    )
    rows = {row.label: row.values for row in table.rows}
    assert list(rows) == [f"theta = {theta:g}" for theta in sorted({*(n / 10 for n in range(1, 10)), 0.75})]
    assert value_text(rows["theta = 0.75"][0]) == "27.5 ± 22.5"


def test_values_by_theta_are_of_the_same_seeds(tmp_path):
    work = Reproduction(find_target("theta-balanced"), "cpu", tmp_path)
    made = [result("ours-theta0.75", seed, [10 + seed] * 5) for seed in range(3)] + [
        result("ours-theta0.8", 1, [7] * 5)
    ]
    (table,) = work.tables(made)
    rows = {row.label: row.values for row in table.rows}
    assert dict(rows["theta = 0.75"][0].by_seed) == {1: pytest.approx(11.0)}
    assert dict(rows["theta = 0.8"][0].by_seed) == {1: pytest.approx(7.0)}


def test_a_cell_knows_every_option_of_its_method():
    (entry,) = single("la")(PROBLEMS["cifar10"].at("cpu"))
    assert entry.settings["options"] == {"tau": 2.25}  # the authors'
    (entry,) = single("vs")(PROBLEMS["cifar10"].at("cpu"))
    assert entry.settings["options"] == {"gamma": 0.15, "tau": 1.25}


def test_targets_share_their_cells(here, capsys):
    assert run(["reproduce", "table1", "--scale", "smoke", "--seeds", "1", "--quiet"]) == 0
    capsys.readouterr()
    assert run(["reproduce", "fig-weights", "--scale", "smoke"]) == 0
    shown = capsys.readouterr().err
    assert "ours-theta0.1, seed 0: reused" in shown
    assert ": started" not in shown


def test_data_limits_what_is_trained_and_not_what_is_shown(here, capsys):
    words = ["reproduce", "table2", "--scale", "smoke", "--seeds", "1"]
    assert run([*words, "--data", "discs-10"]) == 0
    cells = Path("reproduction", "smoke", "cells")
    assert [folder.name for folder in cells.iterdir()] == ["discs-10"]
    assert "n_min = 100 " in capsys.readouterr().out
    assert run([*words, "--data", "disc-10"]) == 2
    shown = capsys.readouterr().err
    assert "--data" in shown
    assert "discs-10" in shown
    Path("empty").mkdir()
    assert run(["reproduce", "theta-balanced", "--scale", "smoke", "--data", "cifar10", "--root", "empty"]) == 2
    shown = capsys.readouterr().err
    assert "CIFAR-10: The files of the data set 'cifar10' are not there." in shown
    assert "CIFAR-100" not in shown
    words = ["reproduce", "theta-balanced", "--scale", "smoke", "--data", "squares,cifar10", "--root", "empty"]
    assert run([*words, "--report-only"]) == 0
    assert run(["reproduce", "all", *words[2:]]) == 2
    assert not Path("reproduction", "smoke", "table1.md").exists()
    capsys.readouterr()
    assert run(["reproduce", "--data", "squares"]) == 2
    assert "--data cannot be used here" in capsys.readouterr().err


def test_the_list_says_what_is_done_and_what_is_not_here(here, capsys):
    assert run(["reproduce", "fig-weights", "--scale", "smoke", "--quiet"]) == 0
    capsys.readouterr()
    assert run(["reproduce", "--scale", "smoke", "--root", "nowhere"]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"^fig-weights +class-weights +.+ 1 of 1 +-$", shown, re.MULTILINE)
    assert re.search(r"^table1 +artificial-balanced +.+ 0 of 16 ", shown, re.MULTILINE) or "1 of 16" in shown
    assert "errors on balanced images (4 of its data sets not found)" in shown
    assert run(["reproduce", "table3", "--scale", "smoke", "--root", "nowhere"]) == 2
    assert "none of its data sets is here (--root)" in capsys.readouterr().err
    assert run(["reproduce", "table7"]) == 2
    assert "TARGET must be one of" in capsys.readouterr().err


OWN = """
from sklearn.dummy import DummyClassifier

def most_frequent(random_state):
    return DummyClassifier(random_state=random_state)

number = 3
"""


def test_a_row_of_ones_own(here, capsys):
    Path("mine.py").write_text(OWN)
    words = ["reproduce", "table1", "--scale", "smoke", "--seeds", "1", "--methods"]
    assert run([*words, "+mine.py:most_frequent", "--quiet"]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"^most_frequent +100.0 ", shown, re.MULTILINE)
    assert "most_frequent" in Path("reproduction/smoke/table1.tex").read_text().replace("\\", "")
    Path("mine.py").write_text(OWN + "\n")  # another file is another method
    assert run([*words, "+mine.py:most_frequent", "--quiet"]) == 2
    assert "sha256" in capsys.readouterr().err
    assert run([*words, "+mine.py:most_frequent", "--overwrite"]) == 0
    assert capsys.readouterr().err.count(": started") == 1  # the others are kept
    Path("clash.py").write_text(OWN.replace("most_frequent", "naive"))
    assert run([*words, "+clash.py:naive"]) == 2
    assert "Option --methods must be with names of their own. Got ['naive'] instead." in capsys.readouterr().err
    assert run(["reproduce", "fig-weights", "--scale", "smoke", "--methods", "+mine.py:most_frequent"]) == 0
    assert "fig-weights has no place for a row of --methods" in capsys.readouterr().err
    for wrong, told in (
        ("+mine.py:nothing", "mine.py has no 'nothing'"),
        ("+mine.py:number", "must be a function"),
        ("ce", "+path/to"),
    ):
        assert run([*words, wrong]) == 2
        assert told in capsys.readouterr().err


def test_a_row_of_ones_own_in_a_comparison(here, capsys):
    Path("mine.py").write_text(OWN)
    words = ["compare", "iris", "--seeds", "2", "--quiet", "--methods", "logistic,+mine.py:most_frequent"]
    assert run(words) == 0
    shown = capsys.readouterr().out
    assert re.search(r"^2 +most_frequent +2 +100.0", shown, re.MULTILINE)
    assert "To fit and save the winner: worstclass fit iris --method logistic" in shown
    assert run([*words[:-1], "+mine.py:most_frequent", "--out", "alone"]) == 0
    assert "To fit and save" not in capsys.readouterr().out


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs a TeX")
def test_latex_compiles(tmp_path):
    work = finished(tmp_path, {"CE": [[1, 60, 3, 4, 5], [1, 50, 3, 4, 5]]})
    tables = work.tables(work.results()[0])
    text = f"\\documentclass{{article}}\\begin{{document}}{table_latex(tables)}\\end{{document}}"
    (tmp_path / "table.tex").write_text(text)
    subprocess.run(["pdflatex", "-halt-on-error", "table.tex"], cwd=tmp_path, check=True, capture_output=True)
