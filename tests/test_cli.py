"""The command line, run as a user would: real files in, real folders out, exit codes."""

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import pandas as pd
import pytest
import typer
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier
from typer.testing import CliRunner

from worstclass import WorstClassBooster, list_methods, load_dataset, load_model, save_model
from worstclass.cli.app import COMMANDS, run
from worstclass.cli.console import in_options
from worstclass.cli.options import expanded
from worstclass.experiments.run import RunResult


@pytest.fixture
def iris(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = load_iris(as_frame=True).frame
    frame["species"] = np.array(["setosa", "versicolor", "virginica"])[frame.pop("target")]
    frame["colour"] = np.where(frame["petal width (cm)"] > 1, "dark", "light")  # a column of text
    frame.to_csv("iris.csv", index=False)
    return tmp_path


TABLE = ["fit", "iris.csv", "--target", "species"]
TREES = [*TABLE, "--method", "ours-trees"]
FIT = [*TREES, "--rounds", "4", "--extend", "20", "--out", "model"]
SMALL = ["fit", "artificial-balanced", "--method", "ours", "--rounds", "3", "--extend", "0", "--gamma", "0.4995"]
SMALL += ["--max-test-rows", "500"]


def test_fit_a_table_then_evaluate(iris, capsys):
    assert run([*FIT, "--theta", "0.9", "--seed", "3"]) == 0
    shown, told = capsys.readouterr()
    assert "3 classes, floor 0.9, 4 rounds" in told
    assert "round 4 of 4" in told
    assert "Bound met" in shown
    assert "test rows" in shown
    result = RunResult.read(iris / "model" / "results")
    assert result.bound_met
    assert (result.seed, result.boosting.n_rounds, result.data["name"]) == (3, 4, "iris.csv")
    assert sum(row["total"] for row in result.test["classes"]) == 30
    assert result.provenance.versions["torch"].startswith("2.")
    assert shown.rstrip().endswith("report: model/results/report.html")
    assert "Class weights, round by round" in (iris / "model" / "results" / "report.html").read_text()
    assert load_model(iris / "model").n_members_used_ >= 4

    assert run(["evaluate", "model", "iris.csv", "--target", "species", "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert sum(row["total"] for row in values["classes"]) == 150
    assert values["worst_error"] < 0.2


def test_floors_by_class(iris, capsys):
    assert run([*FIT, "--theta", "virginica=0.95", "--theta", "others=0.8", "--quiet"]) == 0
    assert RunResult.read(iris / "model" / "results").boosting.theta == {
        "setosa": 0.8,
        "versicolor": 0.8,
        "virginica": 0.95,
    }
    assert "round" not in capsys.readouterr().out.split("training rows")[0]


def test_labels_that_are_numbers_can_be_named(iris, capsys):
    assert run([*SMALL, "--theta", "2=0.1", "--theta", "others=0.2", "--out", "numbers"]) in (0, 1)
    assert RunResult.read(iris / "numbers" / "results").boosting.theta == {
        "1": 0.2,
        "2": 0.1,
        "3": 0.2,
        "4": 0.2,
        "5": 0.2,
    }


NAMED = ["fit", "iris", "--method", "ours-trees", "--rounds", "2", "--extend", "20", "--gamma", "0.4995", "--quiet"]
NAMED += ["--out", "named"]


def test_classes_of_a_named_data_set_go_by_their_names(iris, capsys):
    assert run([*NAMED, "--theta", "virginica=0.8", "--theta", "others=0.7"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in ("setosa", "versicolor", "virginica"))
    assert RunResult.read(iris / "named" / "results").boosting.theta == {
        "setosa": 0.7,
        "versicolor": 0.7,
        "virginica": 0.8,
    }
    assert load_model(iris / "named").classes_.tolist() == ["setosa", "versicolor", "virginica"]
    assert run(["evaluate", "named", "iris", "--json"]) == 0
    names = {row["name"] for row in json.loads(capsys.readouterr().out)["classes"]}
    assert names == {"setosa", "versicolor", "virginica"}
    assert run(["certify", "named", "iris", "--require", "virginica=0.2", "--require", "others=0.1"]) in (0, 1)
    assert "virginica" in capsys.readouterr().out
    assert run([*NAMED, "--theta", "virginia=0.8"]) == 2
    assert "'virginica'" in capsys.readouterr().err


def test_a_model_that_was_fitted_on_numbers_is_measured_on_numbers(iris, capsys):
    train = load_dataset("iris").train
    save_model(WorstClassBooster(DecisionTreeClassifier(), 0.8, random_state=0).fit(train.X, train.y), iris / "own")
    assert run(["evaluate", "own", "iris", "--json"]) == 0
    assert {row["name"] for row in json.loads(capsys.readouterr().out)["classes"]} == {"0", "1", "2"}
    assert run(["certify", "own", "iris", "--require", "2=0.2", "--require", "others=0.1"]) in (0, 1)


def test_a_network_on_a_table_with_a_validation_part(iris):
    table = ["fit", "numbers.csv", "--target", "species", "--method", "ours", "--rounds", "3", "--gamma", "0.4995"]
    table += ["--out", "net"]
    frame = load_iris(as_frame=True).frame.rename(columns={"target": "species"})
    frame.to_csv("numbers.csv", index=False)
    assert run([*table, "--network", "mlp", "--lr", "0.01", "--theta", "0.8", "--val-share", "0.2"]) in (0, 1)
    result = RunResult.read(iris / "net" / "results")
    assert sum(row["total"] for row in result.validation["classes"]) == 30
    assert load_model(iris / "net").predict(frame.drop(columns="species")).dtype.kind == "i"


def test_named_data_uses_the_paper_s_settings(iris, capsys):
    few = ["--rounds", "2", "--extend", "0", "--max-test-rows", "500"]
    code = run(["fit", "artificial-balanced", "--method", "ours", *few, "--out", "a"])
    result = RunResult.read(iris / "a" / "results")
    assert code == (0 if result.bound_met else 1)
    assert result.boosting.gamma == 0.0995
    assert set(result.boosting.theta.values()) == {0.75}
    assert sum(row["total"] for row in result.test["classes"]) == 500  # of 500,000
    assert run(["evaluate", "a", "artificial-balanced", "--max-rows", "500"]) == 0
    assert "worst" in capsys.readouterr().out


def test_a_bound_that_is_missed_exits_with_1_and_writes_the_model(iris, capsys):
    hopeless = [*SMALL, "--theta", "0.99", "--max-epochs-per-round", "2", "--out", "missed"]
    assert run(hopeless) == 1
    shown, told = capsys.readouterr()
    warned = [line for line in told.splitlines() if not line.startswith(("5 classes", "round 1 of 3"))]  # progress
    assert warned[0].startswith("warning: Round 1 could not reach its edge")
    assert all(line.startswith("warning: ") and ".py" not in line for line in warned)
    assert "Bound NOT met" in shown
    assert "worstclass theta --way goal) finds the nearest floors" in told
    assert (
        "worstclass theta --way goal finds the nearest floors"
        in (iris / "missed" / "results" / "report.html").read_text()
    )
    result = RunResult.read(iris / "missed" / "results")
    assert not result.bound_met
    assert set(result.boosting.shortfall) <= {"1", "2", "3", "4", "5"}
    assert len(load_model(iris / "missed").estimators_) == 1


def test_odd_class_names_columns_in_another_order_and_many_rows(iris, capsys):
    rng = np.random.default_rng(0)
    names = ["[/red]", "$5_$9", "|a|", "_x", "日本", "only one"]
    lines = ["p,q,kind"]
    for k, name in enumerate(names[:-1]):
        lines += [f"{k + rng.normal(0, 0.1):.3f},{k % 2},{name}" for _ in range(30)]
    lines += [f"9,0,{names[-1]}"]
    (iris / "odd.csv").write_text("\n".join(lines), encoding="utf-8")
    odd = ["fit", "odd.csv", "--target", "kind", "--method", "ours-trees", "--theta", "0.8", "--rounds", "2"]
    assert run([*odd, "--extend", "30", "--out", "odd"]) in (0, 1)
    shown = capsys.readouterr().out
    assert all(name in shown for name in names)
    assert "|a|" in (iris / "odd" / "results" / "report.html").read_text(encoding="utf-8")
    turned = [",".join(reversed(line.split(","))) for line in lines]
    (iris / "turned.csv").write_text("\n".join(turned + turned[1:] * 80), encoding="utf-8")
    assert run(["evaluate", "odd", "turned.csv", "--target", "kind"]) == 0
    assert "12,231 rows" in capsys.readouterr().out  # all of them: a file is never sampled
    (iris / "short.csv").write_text("p,kind\n1,_x\n", encoding="utf-8")
    assert run(["evaluate", "odd", "short.csv", "--target", "kind"]) == 2
    assert "lacks 1 of the 2 columns that the model was trained on: ['q']" in capsys.readouterr().err
    (iris / "new.csv").write_text("p,q,kind\n1,1,unseen\n", encoding="utf-8")
    assert run(["evaluate", "odd", "new.csv", "--target", "kind"]) == 2
    assert "the target column has labels that the training rows do not have: ['unseen']" in capsys.readouterr().err


def test_columns_that_tell_every_row_apart_are_named(iris, capsys):
    rows = "\n".join(f"id{i},{i % 3},{'ab'[i % 2]}" for i in range(400))
    (iris / "ids.csv").write_text(f"id,p,kind\n{rows}\n")
    for method in ([], ["--method", "ours-trees"], ["--network", "mlp"], ["--method", "auto-networks"]):
        assert run(["fit", "ids.csv", "--target", "kind", "--theta", "0.5", *method, "--out", "m"]) == 2
        assert "more than 255 different values: ['id']" in capsys.readouterr().err


def test_an_interrupted_fit_writes_its_finished_rounds(iris, capsys, monkeypatch):
    from worstclass.progress import ProgressCallback

    def interrupt(self, booster, record):
        if record.round == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(ProgressCallback, "on_round_end", interrupt)
    assert run([*FIT, "--theta", "0.8"]) == 1
    told = capsys.readouterr().err
    assert "warning: interrupted: the model has the 2 finished rounds. To go on: worstclass resume model" in told
    assert len(load_model(iris / "model").estimators_) == 2
    assert "boosting ended early, 4 rounds were planned" in (iris / "model" / "results" / "report.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["fit", "iris.csv", "--theta", "0.8", "--out", "m"], "Missing option --target. Name the column of the labels"),
        (["fit", "iris.csv", "--target", "specie", "--theta", "0.8", "--out", "m"], "Did you mean 'species'"),
        (
            [*TREES, "--out", "m"],
            "error: Missing option --theta. Give the accuracy floor, for example --theta 0.8.",
        ),
        ([*TABLE, "--theta", "x", "--out", "m"], "a number in [0, 1)"),
        ([*TABLE, "--theta", "1.2", "--out", "m"], "in [0, 1)"),
        ([*TABLE, "--theta", "setos=0.9", "--out", "m"], "Did you mean 'setosa'"),
        ([*TREES, "--theta", "x", "--out", "m"], "a number in [0, 1)"),
        ([*TREES, "--theta", "1.2", "--out", "m"], "in [0, 1)"),
        ([*TREES, "--theta", "setos=0.9", "--out", "m"], "Did you mean 'setosa'"),
        ([*TREES, "--theta", "0.8", "--gamma", "0.9", "--out", "m"], "Attainable"),
        (["fit", "iris.csv", "--target", "species", "--theta", "0.8", "--test-share", "1", "--out", "m"], "share"),
        (
            ["fit", "missing.csv", "--target", "species", "--theta", "0.8", "--out", "m"],
            "no file or folder missing.csv",
        ),
        (["fit", "artifical-balanced", "--out", "m"], "Did you mean 'artificial-balanced'"),
        (["fit", "artificial-balanced", "--network", "mpl", "--out", "m"], "Did you mean 'mlp'"),
        (["fit", "artificial-balanced", "--method", "ours", "--network", "mpl", "--out", "m"], "Did you mean 'mlp'"),
        (["fit", "artificial-balanced", "--rounds", "0", "--out", "m"], "--rounds"),
        (["fit", "artificial-balanced", "--thet", "0.8", "--out", "m"], "--theta"),
        (["fit", "artificial-balanced"], "--out"),
        ([*FIT, "--theta", "0.8", "--lr", "0.1"], "--lr cannot be used here: the method ours-trees trains no network"),
        ([*FIT, "--method", "ours"], "Missing option --theta. Give the accuracy floor, for example --theta 0.8."),
        ([*FIT, "--method", "forest"], "--rounds, --extend cannot be used here: forest is not a boosting method"),
        ([*FIT[:4], "--method", "forest", "--theta", "0.8", "--out", "m"], "forest has no accuracy floor"),
        ([*TABLE, "--rounds", "4", "--out", "m"], "--rounds cannot be used here: auto is not a boosting method"),
        ([*TABLE, "--gamma", "0.2", "--out", "m"], "To boost, use --method ours-trees."),
        ([*TABLE, "--network", "mlp", "--gamma", "0.2", "--out", "m"], "To boost, use --method ours."),
        ([*TABLE, "--lr", "0.1", "--out", "m"], "for a network. Use --method auto+network --network NAME."),
        ([*TABLE, "--method", "auto", "--network", "mlp", "--out", "m"], "Use --method auto+network."),
        ([*TABLE, "--set", "cv=0", "--out", "m"], "Option --set cv=... must be"),
        ([*TABLE, "--set", "folds=3", "--out", "m"], "The method 'auto' has no option 'folds'"),
        (
            [*TABLE, "--network", "mlp", "--max-epochs", "9", "--set", "cv=0", "--out", "m"],
            "Option --set cv=... must be",
        ),
        (
            [*FIT[:4], "--method", "logistic", "--max-epochs", "9", "--max-seconds", "2", "--out", "m"],
            "--max-epochs, --max-seconds cannot be used here: logistic has no such limit",
        ),
        ([*FIT, "--theta", "0.8", "--max-epochs", "9"], "ours-trees has no such limit"),
        ([*TABLE, "--max-epochs", "9", "--out", "m"], "auto trains no network on tables"),
        ([*FIT[:4], "--method", "florest", "--out", "m"], "Did you mean 'forest'"),
        ([*FIT[:4], "--method", "forest", "--set", "n_estimator=3", "--out", "m"], "Did you mean 'n_estimators'"),
        ([*FIT[:4], "--method", "forest", "--set", "300", "--out", "m"], "The method 'forest' has no option '300'"),
        ([*FIT[:4], "--method", "focal", "--gamma", "2", "--out", "m"], "with --set: gamma"),
        ([*FIT, "--theta", "0.8", "--theta", "0.9"], "given once for each class"),
        (
            ["fit", "artificial-balanced", "--val-share", "0.2", "--out", "m"],
            "--val-share cannot be used here: 'artificial-balanced' is a named data set",
        ),
        (
            ["fit", "iris.csv", "--target", "species", "--theta", "0.8", "--out", "iris.csv"],
            "Invalid value for '--out'",
        ),
        (["evaluate", "nowhere", "iris.csv", "--target", "species"], "not a model folder"),
        (["fti"], "fit"),
    ],
    ids=lambda value: " ".join(value[:6]) if isinstance(value, list) else "",
)
def test_bad_input_is_one_message_and_exit_code_2(arguments, told, iris, capsys):
    assert run(arguments) == 2
    shown = capsys.readouterr()
    assert told in shown.err + shown.out
    assert "Traceback" not in shown.err


def test_the_installed_command_answers():
    done = subprocess.run([sys.executable, "-m", "worstclass", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.strip().count(".") == 2


def test_the_same_command_twice_writes_the_same_model(iris):
    words = [*SMALL, "--theta", "0.3", "--out"]
    assert run([*words, "one"]) in (0, 1)
    done = subprocess.run([sys.executable, "-m", "worstclass", *words, "two"], capture_output=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    for file in ("model.json", "members/0001.safetensors", "members/0003.safetensors"):
        assert (iris / "one" / file).read_bytes() == (iris / "two" / file).read_bytes()


def test_a_network_of_one_s_own_is_named_by_its_module(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_networks.py").write_text(
        "from torch import nn\n"
        "def tiny(input_shape, n_classes):\n"
        "    return nn.Sequential(nn.Linear(input_shape[0], 8), nn.ReLU(), nn.Linear(8, n_classes))\n"
    )
    fit = ["fit", "artificial-imbalanced", "--method", "ours", "--theta", "0.2", "--rounds", "2", "--quiet"]
    fit += ["--max-test-rows", "50"]
    assert run([*fit, "--network", "my_networks:tiny", "--out", "model"]) in (0, 1)
    some = ["model", "artificial-imbalanced", "--max-rows", "80"]
    commands = [
        ["evaluate", "model", "artificial-imbalanced", "--max-rows", "50"],
        ["certify", *some, "--require", "0.1"],
        ["abstain", *some, "--risk", "0.9", "--out", "careful"],
    ]
    for command in commands:
        assert run(command) == 2
        assert "--network" in capsys.readouterr().err
        assert run([*command, "--network", "my_networks:tiny"]) in (0, 1)
        assert "worst" in capsys.readouterr().out
    for wrong in ("my_networks:huge", "nowhere:tiny", "my_networks.py", "my_networks.py:huge"):
        assert run([*fit, "--network", wrong, "--out", "other"]) == 2
        assert "package.module:build" in capsys.readouterr().err


def test_an_error_that_nobody_foresaw_is_one_line_and_2(iris, capsys, monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError("unforeseen")

    monkeypatch.setattr("worstclass.cli.model.open_model", broken)
    command = ["evaluate", "model", "iris.csv", "--target", "species"]
    assert run(command) == 2  # 1 would say that a floor is missed
    told = capsys.readouterr().err
    assert told.startswith("error: unexpected ZeroDivisionError: unforeseen; run again with --debug")
    assert len(told.splitlines()) == 1
    assert run(["--debug", *command]) == 2
    assert "Traceback" in capsys.readouterr().err


def test_results_of_the_model_before_are_removed(iris, capsys):
    assert run([*FIT, "--theta", "0.8", "--val-share", "0.3", "--quiet"]) == 0
    assert sorted(file.name for file in (iris / "model" / "results").iterdir()) == [
        "details.json",
        "report.html",
        "run.json",
        "settings.toml",
    ]
    offsets = ["offsets", "model", "iris.csv", "--target", "species", "--val-share", "0.3"]
    assert run([*offsets, "--out", "model"]) == 0
    assert sorted(file.name for file in (iris / "model" / "results").iterdir()) == [
        "details.json",
        "report.html",
        "settings.toml",
        "tuning.json",
    ]


@pytest.mark.parametrize("command", [function.__name__.replace("_", "-") for function in COMMANDS] + ["datasets"])
def test_every_command_has_help_with_an_example(command, capsys):
    assert run([command, "--help"]) == 0
    assert re.search(rf"Example: +worstclass {command}", capsys.readouterr().out)


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from worstclass.cli.app import run; run(['fit', '--help']);"
        "print([name for name in ('torch', 'sklearn', 'pandas', 'numpy') if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


def test_a_shared_option_is_declared_in_one_place():
    @dataclass(frozen=True)
    class Group:
        name: Annotated[str, typer.Argument()]
        size: Annotated[int, typer.Option(help="Size.")] = 3

    def command(group: Group, loud: Annotated[bool, typer.Option("--loud")] = False) -> int:
        return group.size if loud and group.name == "x" else 0

    app = typer.Typer()
    app.command()(expanded(command))
    runner = CliRunner()
    assert runner.invoke(app, ["x", "--loud"]).exit_code == 3
    assert runner.invoke(app, ["x", "--loud", "--size", "5"]).exit_code == 5
    assert runner.invoke(app, ["y", "--loud"]).exit_code == 0
    assert runner.invoke(app, []).exit_code == 2
    assert "--size" in runner.invoke(app, ["--help"]).output


def test_library_messages_name_options():
    assert in_options("The 'lr' parameter of TorchLearner must be above 0. Got -1 instead.") == (
        "Option --lr must be above 0. Got -1 instead."
    )
    assert in_options("The '--theta' parameter of fit must be x.") == "Option --theta must be x."
    assert in_options("pass allow_equal_rows=True (--allow-equal-rows);") == "pass --allow-equal-rows;"


# --- any method

OPTIONS = {
    "auto": ["--set", "cv=2"],
    "forest": ["--set", "n_estimators=10"],
    "logistic": ["--set", "C=0.5"],
    "balanced-forest": ["--set", "n_estimators=10"],
    "rusboost": ["--set", "n_estimators=10"],
    "easy-ensemble": ["--set", "n_estimators=2"],
    "focal": ["--set", "gamma=2"],
    "deep-ensemble": ["--set", "n_estimators=2"],
    "ours-trees": ["--rounds", "2", "--set", "max_iter=10"],
}


@pytest.mark.parametrize("method", [method for method in list_methods() if method.is_installed], ids=lambda m: m.name)
def test_any_method_is_fitted_saved_evaluated_certified_and_asked(iris, capsys, method):
    options = OPTIONS.get(method.name, [])
    options = options + (["--theta", "0.6"] if method.needs_theta else [])
    options += ["--lr", "0.01", "--max-epochs", "12", "--val-share", "0.2"] if method.kind == "network" else []
    frame = pd.read_csv("iris.csv")
    frame[::2].to_csv("half.csv", index=False)
    frame[1::2].drop_duplicates().to_csv("other.csv", index=False)
    fit = ["fit", "half.csv", "--target", "species", "--method", method.name, *options, "--quiet", "--out", "model"]
    assert run(fit) in (0, 1)
    assert "test rows" in capsys.readouterr().out
    result = RunResult.read(iris / "model" / "results")
    assert (result.method, result.settings["method"]) == (method.name, method.name)
    assert run(["evaluate", "model", "other.csv", "--target", "species"]) == 0
    certify = ["certify", "model", "--target", "species", "--require", "0.01"]
    assert run([*certify, "other.csv"]) in (0, 1)
    capsys.readouterr()
    assert run([*certify, "half.csv"]) == 2  # every model remembers its rows
    assert "certify needs rows that the model has not seen. Of the 75 rows, " in capsys.readouterr().err
    frame = frame.drop(columns="species")
    answers = load_model("model").predict(frame).tolist()
    assert run(["predict", "model", "iris.csv", "--chunk-rows", "40", "--out", "answers.csv"]) == 0
    assert pd.read_csv("answers.csv")["answer"].tolist() == answers
