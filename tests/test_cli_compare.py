"""``worstclass compare`` as a user runs it: named data and files in, cells and tables out, exit codes."""

from __future__ import annotations

import csv
import json
import re
import shlex
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from official_files import picture_bytes

from worstclass import methods
from worstclass.cli.app import run
from worstclass.cli.compare import fit_command
from worstclass.cli.options import NetworkOptions, TrainingOptions, parse_budget
from worstclass.data.registry import named_dataset
from worstclass.exceptions import ParameterError
from worstclass.experiments import grid as grid_module
from worstclass.experiments import plan as plan_module
from worstclass.experiments.cells import CellResult
from worstclass.experiments.plan import ComparisonPlan
from worstclass.experiments.ranking import Comparison

ROOT = Path(__file__).parents[1]
SQUARES = ["compare", "artificial-balanced", "--seeds", "2", "--budget", "epochs=3", "--max-test-rows", "500"]
PATIENTS = ["compare", "patients.csv", "--target", "diagnosis", "--seeds", "2", "--out", "table"]
WRITTEN = ["comparison.csv", "comparison.json", "comparison.md", "comparison.png", "report.html"]


def all_shown(capsys):
    """Return progress, then the result."""
    out, err = capsys.readouterr()
    return err + out


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder with a table of patients: a number with gaps, a category, and labels that are text."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    lines = ["age,ward,diagnosis"]
    for i in range(120):
        ill = i % 3 == 0
        age = "" if i % 7 == 0 else f"{rng.normal(50 + 25 * ill, 5):.1f}"
        lines.append(
            f"{age},{rng.choice(['north', 'west'] if ill else ['east', 'west'])},{'malignant' if ill else 'benign'}"
        )
    Path("patients.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def table_of(shown):
    """The lines of the printed table: from its heads to the first line that was written."""
    return re.search(r"^rank .*?(?=^written)", shown, re.MULTILINE | re.DOTALL).group()


def test_named_data_end_to_end_and_the_second_run_reuses_every_cell(here, capsys):
    command = [*SQUARES, "--methods", "ce,naive,ours", "--out", "squares"]
    assert run(command) == 0
    first = all_shown(capsys)
    assert "[1 of 6] ce, seed 0: started" in first
    assert re.search(r"\[6 of 6\] ours, seed 1: finished, worst-class test error [\d.]+%, 3 epochs, \d+ s", first)
    assert sorted(file.name for file in Path("squares").iterdir()) == [
        "cells",
        "command.json",
        *WRITTEN,
        "settings.toml",
    ]
    cells = sorted(Path("squares/cells").glob("*.json"))
    assert [file.name for file in cells] == [f"{name}-seed{s}.json" for name in ("ce", "naive", "ours") for s in (0, 1)]
    # the printed table is the comparison of the cells
    comparison = Comparison.from_results([CellResult.read(file) for file in cells])
    assert comparison == Comparison.model_validate_json(Path("squares/comparison.json").read_text())
    lines = table_of(first).splitlines()
    assert [line.split()[:3] for line in lines[1:4]] == [[str(row.rank), row.method, "2"] for row in comparison.rows]
    for line, row in zip(lines[1:4], comparison.rows, strict=True):
        assert f"{100 * row.worst.mean:.1f} ± {100 * row.worst.sd:.1f}" in line
        assert row.epochs == 3
    assert [row["method"] for row in csv.DictReader(Path("squares/comparison.csv").read_text().splitlines())] == [
        row.method for row in comparison.rows
    ]
    assert Path("squares/comparison.md").read_text().startswith("# artificial-balanced: 3 methods, 2 seeds\n")
    assert Path("squares/comparison.png").stat().st_size > 5_000
    assert all(f"written: squares/{name}" in first for name in WRITTEN)
    winner = f"To fit and save the winner: worstclass fit artificial-balanced --method {comparison.best} "
    assert winner in first
    assert first.strip().endswith("--out model")
    # the paper's settings for this data are used, and kept
    ours = CellResult.read(Path("squares/cells/ours-seed0.json"))
    assert (ours.settings["theta"], ours.settings["options"]["gamma"]) == (0.75, 0.0995)
    assert ours.settings["learner"]["lr"] == 0.01
    assert ours.validation is None
    assert sum(row["total"] for row in ours.test["classes"]) == 500

    before = {file: file.read_bytes() for file in Path("squares").rglob("*.*") if file.suffix != ".png"}
    assert run(command) == 0
    second = all_shown(capsys)
    assert re.findall(r"\] (\S+), seed (\d): (\w+)", second) == [
        (name, str(seed), "reused") for seed in (0, 1) for name in ("ce", "naive", "ours")
    ]
    assert table_of(second) == table_of(first)
    assert {file: file.read_bytes() for file in before} == before


def test_a_table_of_text_end_to_end(here, capsys):
    methods = "ce,ours,ours-trees,logistic,forest"
    floors = ["--theta", "malignant=0.6", "--theta", "others=0.5"]
    assert run([*PATIENTS, "--methods", methods, "--budget", "epochs=5,seconds=30", *floors, "--quiet"]) == 0
    shown = all_shown(capsys)
    assert shown.startswith("rank")  # nothing of the progress
    assert sorted(file.name for file in Path("table").iterdir()) == ["cells", "command.json", *WRITTEN, "settings.toml"]
    results = {(r.method, r.seed): r for r in map(CellResult.read, Path("table/cells").glob("*.json"))}
    assert len(results) == 10
    for (method, _), result in results.items():
        assert {row["name"] for row in result.test["classes"]} == {"benign", "malignant"}
        assert sum(row["total"] for row in result.test["classes"]) == 24
        assert sum(row["total"] for row in result.validation["classes"]) == 24
        assert result.settings["budget"] == {"epochs": 5, "seconds": 30.0}
        assert len(result.settings["sha256"]) == 64
        assert (result.settings["image_size"], result.settings["skip_corrupt"]) == (None, False)
        assert result.epochs is None or method == "ours-trees" or result.epochs <= 5
    assert results["ours", 0].settings["theta"] == {"malignant": 0.6, "others": 0.5}
    assert results["ours", 0].settings["learner"] == {"standardize": True}
    assert results["logistic", 0].worst_error < 0.5
    for method in methods.split(","):
        assert f"  {method} " in table_of(shown)

    assert run([*PATIENTS, "--methods", methods, "--budget", "epochs=5,seconds=30", *floors]) == 0
    again = all_shown(capsys)
    assert again.count(": reused") == 10
    assert table_of(again) == table_of(shown)
    # the file is known by what is in it
    Path("patients.csv").write_text(Path("patients.csv").read_text() + "99,north,malignant\n")
    assert run([*PATIENTS, "--methods", "logistic"]) == 2
    assert "sha256" in capsys.readouterr().err


def test_a_folder_of_images_is_compared_and_known_by_its_files(here, capsys):
    rng = np.random.default_rng(0)
    for name, brightness in (("dark", 60), ("bright", 190)):
        Path("photos", name).mkdir(parents=True)
        for number in range(20):
            pixels = (brightness + rng.integers(-30, 30, (8, 8, 3))).astype(np.uint8)
            Path("photos", name, f"{number}.png").write_bytes(picture_bytes(pixels))
    command = ["compare", "photos", "--methods", "ce", "--seeds", "1", "--network", "cnn-small", "--out", "seen"]
    command += ["--budget", "epochs=2"]
    assert run(command) == 0
    assert run(command) == 0
    assert all_shown(capsys).count(": reused") == 1
    Path("photos", "dark", "20.png").write_bytes(picture_bytes(np.zeros((8, 8, 3), np.uint8)))
    assert run(command) == 2
    assert "sha256" in capsys.readouterr().err


def test_code_of_ones_own_that_changed_is_not_taken_from_old_cells(here, capsys):
    Path("mine.py").write_text(
        "from sklearn.dummy import DummyClassifier\nfrom torch import nn\n\n\n"
        "def own():\n    return DummyClassifier(strategy='prior')\n\n\n"
        "class Net(nn.Sequential):\n    def __init__(self, input_shape, n_classes):\n"
        "        super().__init__(nn.Linear(input_shape[0], n_classes))\n"
    )
    budget = ["--seeds", "1", "--budget", "epochs=1", "--quiet"]
    table = ["compare", "patients.csv", "--target", "diagnosis", *budget]
    commands = {
        "factory_sha256": [*table, "--methods", "+mine.py:own", "--out", "own"],
        "network_sha256": [*table, "--methods", "ce", "--network", "mine.py:Net", "--out", "net"],
    }
    for command in commands.values():
        assert run(command) == 0
        assert run(command) == 0
    Path("mine.py").write_text(Path("mine.py").read_text().replace("prior", "uniform"))
    capsys.readouterr()
    for name, command in commands.items():
        assert run(command) == 2
        assert name in capsys.readouterr().err
        assert run([*command, "--overwrite"]) == 0


def test_an_interrupted_comparison_goes_on_where_it_was(here, capsys, monkeypatch):
    command = [*SQUARES, "--methods", "ce,logistic", "--out", "stopped"]
    original, begun = grid_module.run_method, []

    def interrupt_the_third(model, splits, **options):
        begun.append(model)
        if len(begun) == 3:
            raise KeyboardInterrupt
        return original(model, splits, **options)

    monkeypatch.setattr(grid_module, "run_method", interrupt_the_third)
    assert run(command) == 130
    told = capsys.readouterr()
    assert "2 results are kept in stopped/cells; the same command continues from there." in told.err
    assert "interrupted" in told.err
    kept = sorted(file.name for file in Path("stopped").rglob("*.json") if file.name != "command.json")
    assert kept == ["ce-seed0.json", "logistic-seed0.json"]
    assert run(command) == 0
    resumed = all_shown(capsys)
    assert resumed.count(": reused") == 2
    monkeypatch.setattr(grid_module, "run_method", original)
    assert run([*command[:-1], "whole"]) == 0
    capsys.readouterr()
    rows = [
        [(row.method, row.rank, row.worst, row.class_mean, row.plain, row.epochs) for row in comparison.rows]
        for comparison in (
            Comparison.model_validate_json(Path(folder, "comparison.json").read_text())
            for folder in ("stopped", "whole")
        )
    ]
    assert rows[0] == rows[1]


@pytest.fixture
def planned(monkeypatch):
    """The methods of a comparison that ends before anything is trained."""
    names = []

    def only_plan(plan, *_, **__):
        names.extend(plan.methods)
        raise KeyboardInterrupt

    monkeypatch.setattr(plan_module, "run_comparison", only_plan)
    return names


def test_all_leaves_out_what_is_not_installed_and_says_so(here, capsys, monkeypatch, planned):
    monkeypatch.setattr(methods, "is_installed", lambda name: name != "imblearn")
    assert run([*SQUARES, "--methods", "all"]) == 130
    assert {"auto", "ours", "forest"} < set(planned)
    assert not {"balanced-forest", "rusboost", "easy-ensemble"} & set(planned)
    shown = all_shown(capsys)
    assert "left out: balanced-forest, rusboost, easy-ensemble (pip install" in shown
    assert "left out: auto" not in shown


def test_all_leaves_out_the_default_for_images_and_says_so(here, capsys, planned):
    X = np.random.default_rng(0).integers(0, 256, (60, 8, 8, 1)).astype(np.uint8)
    np.savez("images.npz", X=X, y=np.arange(60) % 2)
    assert run(["compare", "images.npz", "--methods", "all", "--theta", "0.5"]) == 130
    assert "auto+network" in planned
    assert "auto" not in planned
    assert "left out: auto (its network and epochs are its own; to compare it, name it" in all_shown(capsys)


def command_of(method, data=None, network=None, theta=None, **rules):
    """The words of the command that fits a method as a comparison did."""
    data, network = data or TrainingOptions("iris"), network or NetworkOptions()
    rules = {"seeds": (3, 4), "max_epochs": 50, "max_seconds": 9.0, "gamma": 0.25, **rules}
    return shlex.split(fit_command(ComparisonPlan("d", (method,), **rules), method, data, network, theta))


def test_the_command_that_fits_a_method_names_what_differs_from_the_defaults():
    data = TrainingOptions("my data.csv", target="y", ignore=["id", "name"], skip_corrupt=True)
    network, floors = NetworkOptions(lr=0.02), ["a b=0.5", "others=0.6"]
    assert command_of("ours", data, network, floors, data_settings={"val_share": 0.2}) == [
        *("worstclass", "fit", "my data.csv", "--method", "ours", "--target", "y", "--skip-corrupt"),
        *("--ignore", "id", "--ignore", "name", "--val-share", "0.2", "--theta", "a b=0.5", "--theta", "others=0.6"),
        *("--set", "gamma=0.25", "--lr", "0.02", "--max-epochs", "50", "--max-seconds", "9.0"),
        *("--select-on", "worst", "--seed", "3", "--out", "model"),
    ]
    end = ["--seed", "3", "--out", "model"]
    assert command_of("forest", None, network, floors) == ["worstclass", "fit", "iris", "--method", "forest", *end]
    auto = ["worstclass", "fit", "iris", "--method", "auto", "--max-seconds", "9.0", *end]
    assert command_of("auto", None, network) == auto
    networks = ["--method", "auto-networks", "--lr", "0.02", "--max-epochs", "50", "--max-seconds", "9.0", *end]
    assert command_of("auto-networks", None, network) == ["worstclass", "fit", "iris", *networks]


def test_the_options_in_the_command_are_read_as_they_were():
    for method in methods.list_methods():
        texts = dict(word.split("=", 1) for option, word in pairwise(command_of(method.name)) if option == "--set")
        expected = ComparisonPlan("d", (method.name,), (0,), gamma=0.25).options(method)
        assert {**method.options, **methods.parse_options(method, texts)} == expected


def test_shares_that_a_named_data_set_would_ignore_are_refused(here, capsys):
    assert run(["compare", "iris", "--methods", "logistic", "--val-share", "0.3"]) == 2
    told = capsys.readouterr().err
    assert "--val-share cannot be used here: 'iris' is a named data set" in told


def test_a_method_that_fails_is_told_and_exits_with_1(here, capsys, monkeypatch):
    original = grid_module.run_method

    def no_naive(model, splits, **options):
        if "Naive" in repr(model):
            raise RuntimeError("out of luck")
        return original(model, splits, **options)

    monkeypatch.setattr(grid_module, "run_method", no_naive)
    assert run([*SQUARES, "--methods", "naive,logistic", "--out", "failed"]) == 1
    shown = all_shown(capsys)
    assert "naive, seed 0: failed: RuntimeError: out of luck" in shown
    assert "failed: naive, seeds 0, 1: RuntimeError: out of luck" in table_of(shown)
    assert re.search(r"^1 +logistic", shown, re.MULTILINE)
    assert sorted(file.name for file in Path("failed").iterdir()) == [
        "cells",
        "command.json",
        *WRITTEN,
        "settings.toml",
    ]


def test_all_methods_where_every_one_fails_still_makes_a_table(here, capsys, monkeypatch):
    def fails(model, splits, **options):
        raise RuntimeError("no power")

    monkeypatch.setattr(grid_module, "run_method", fails)
    assert run([*SQUARES, "--out", "none"]) == 1
    shown = table_of(all_shown(capsys))
    assert "0 of 2" in shown
    assert "ours, seeds 0, 1: RuntimeError: no power" in shown


def test_other_settings_need_another_folder_or_overwriting(here, capsys):
    command = [*SQUARES, "--methods", "logistic", "--out", "one"]
    assert run(command) == 0
    assert run([*command, "--select-on", "average"]) == 2
    told = capsys.readouterr().err
    assert "Option --out must be one with the same settings." in told
    assert "select_on (worst in the file, average asked for)" in told
    assert run([*command, "--select-on", "average", "--overwrite"]) == 0
    assert json.loads(Path("one/cells/logistic-seed1.json").read_text())["settings"]["select_on"] == "average"


def test_without_a_folder_the_data_names_it(here):
    assert run(["compare", "artificial-balanced", "--methods", "logistic", "--seeds", "1", "--quiet"]) == 0
    assert Path("comparison-artificial-balanced/comparison.md").is_file()
    kept = CellResult.read(Path("comparison-artificial-balanced/cells/logistic-seed0.json"))
    epochs = named_dataset("artificial-balanced").settings["compare"]["epochs"]
    assert kept.settings["budget"] == {"epochs": epochs, "seconds": None}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--methods", "ce,navie"], "Did you mean 'naive'?"),
        (["--methods", "ce,ce"], "names, each once"),
        (["--methods", ","], "names, each once"),
        (["--budget", "epochs=0"], "a comma between them, above 0. Got 'epochs=0'"),
        (["--budget", "seconds=0"], "a comma between them, above 0. Got 'seconds=0'"),
        (["--budget", "seconds=nan"], "a comma between them, above 0. Got 'seconds=nan'"),
        (["--budget", "hours=1"], "epochs=N, seconds=S, or both"),
        (["--budget", ""], "epochs=N, seconds=S, or both"),
        (["--seeds", "0"], "--seeds"),
        (["--select-on", "best"], "--select-on"),
        (["--methods", "ours", "--theta", "1.5"], "in [0, 1)"),
        (["--methods", "ours", "--theta", "much"], "a number in [0, 1)"),
        (["--methods", "ours", "--theta", "7=0.5"], "theta"),
        (["--methods", "ours", "--gamma", "0.9"], "Attainable"),
        (["--methods", "ce", "--lr", "-1"], "Option --lr must be"),
        (["--methods", "ce", "--network", "mpl"], "Did you mean 'mlp'?"),
        (["--methods", "ce", "--network", "resnet8"], "For a table use the network 'mlp'"),
        (["--methods", "ce", "--target", "x"], "--target"),
        (["--methods", "ce", "--bugdet", "epochs=3"], "--budget"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input_is_one_message_and_exit_code_2_and_leaves_nothing(arguments, told, here, capsys):
    assert run(["compare", "artificial-balanced", "--out", "nothing", *arguments]) == 2
    shown = capsys.readouterr()
    assert told in shown.err + shown.out
    assert "Traceback" not in shown.err
    assert not Path("nothing").exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["patients.csv", "--methods", "ce"], "--target"),
        (["patients.csv", "--target", "diagnosi", "--methods", "ce"], "Did you mean 'diagnosis'"),
        (["patients.csv", "--target", "diagnosis", "--methods", "ours"], "Missing option --theta"),
        (["patients.csv", "--target", "diagnosis"], "--theta"),  # all has ours in it
        (["patients.csv", "--target", "diagnosis", "--methods", "ours", "--theta", "malign=0.9"], "malignant"),
        (["nobody.csv", "--target", "diagnosis", "--methods", "ce"], "nobody.csv"),
        (["artificial-balancd", "--methods", "ce"], "Did you mean 'artificial-balanced'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_data_is_one_message_and_exit_code_2(arguments, told, here, capsys):
    assert run(["compare", *arguments, "--out", "nothing"]) == 2
    shown = capsys.readouterr()
    assert told in shown.err
    assert "Traceback" not in shown.err
    assert not Path("nothing").exists()


def documented():
    lines = (ROOT / "docs/methods.md").read_text().splitlines()
    return [line for line in lines if line.startswith("worstclass compare ")]


@pytest.mark.parametrize("line", [line for line in documented() if "--out" in line])
def test_the_documented_commands_that_are_quick_run_as_written(line, here, capsys):
    arguments = shlex.split(line)[1:]
    assert run(arguments) == 0
    shown = all_shown(capsys)
    for method in arguments[arguments.index("--methods") + 1].split(","):
        assert f" {method} " in table_of(shown)


def test_there_are_documented_commands_to_run():
    assert len([line for line in documented() if "--out" in line]) >= 2


# budgets


@pytest.mark.parametrize(
    ("text", "epochs", "seconds"),
    [
        ("epochs=400", 400, None),
        ("seconds=60", None, 60.0),
        ("seconds=0.5", None, 0.5),
        ("epochs=400,seconds=60", 400, 60.0),
        (" seconds = 60 , epochs = 400 ", 400, 60.0),
    ],
)
def test_budgets_that_can_be_read(text, epochs, seconds):
    limits = {"max_epochs": epochs, "max_seconds": seconds}
    assert parse_budget(text) == {name: limit for name, limit in limits.items() if limit is not None}


@pytest.mark.parametrize(
    "text",
    [
        "epochs=0",
        "seconds=0",
        "epochs=-5",
        "seconds=-0.1",
        "epochs=nan",
        "seconds=nan",
        "seconds=inf",
        "epochs=1.5",
        "epochs=many",
        "epochs=",
        "epochs",
        "400",
        "",
        "hours=3",
        "epoch=3",
        "epochs=3,epochs=4",
        "seconds=3,seconds=3",
        "epochs=3,",
        "epochs=3 seconds=4",
    ],
)
def test_budgets_that_are_refused(text):
    with pytest.raises(ParameterError, match="'budget' parameter of the command must be"):
        parse_budget(text)
