"""Tables as users have them, on the command line: ids, labels with leading zeros, other separators; and messages."""

from __future__ import annotations

import json
import os
import signal

import numpy as np
import pandas as pd
import pytest

from worstclass import WorstClassClassifier, load_model
from worstclass.cli import model as model_module
from worstclass.data.sources import read_table
from worstclass.ensembles import worst_class
from worstclass.exceptions import DataError


def table(n=120, seed=0, names=("benign", "malignant")):
    """An id that is text, one that is a number, and a size that tells the classes apart."""
    rng, k = np.random.default_rng(seed), np.arange(n) % 2
    size = (rng.normal(3.0 * k)).round(3)
    ids = {"patient": [f"p{i}" for i in range(n)], "number": np.arange(n) + 5}
    return pd.DataFrame({**ids, "size": size, "age": rng.normal(50, 9, n).round(1), "kind": np.array(names)[k]})


@pytest.fixture
def place(tmp_path):
    table().to_csv(tmp_path / "train.csv", index=False)
    table(200, 1).to_csv(tmp_path / "fresh.csv", index=False)
    table(names=("01", "10")).to_csv(tmp_path / "zeros.csv", index=False)
    return tmp_path


FIT = ["fit", "train.csv", "--target", "kind", "--method", "logistic", "--out", "model"]
DEFAULT = ["fit", "train.csv", "--out", "model"]
FOREST = [*DEFAULT, "--method", "forest"]
IGNORE = ["--ignore", "patient", "--ignore", "number"]


# columns that identify rows


def test_a_column_that_is_ignored_is_not_needed_later(command, place):
    code, shown = command(*FIT, *IGNORE)
    assert code == 0
    assert "warning" not in shown
    assert load_model(place / "model").feature_names_in_.tolist() == ["size", "age"]
    record = json.loads((place / "model" / "results" / "run.json").read_text())
    assert record["data"]["ignore"] == ["patient", "number"]
    table(200, 1).drop(columns=["patient", "number"]).to_csv("without.csv", index=False)
    reports = [command("evaluate", "model", file, "--target", "kind") for file in ("fresh.csv", "without.csv")]
    assert reports[0] == reports[1]
    assert reports[0][0] == 0
    assert command("predict", "model", "fresh.csv", "--id", "patient", "--out", "answers.csv")[0] == 0
    assert pd.read_csv("answers.csv")["patient"].tolist() == table(200, 1)["patient"].tolist()


def test_a_column_that_differs_in_every_row_is_told_once_in_one_line(command):
    _, shown = command(*FIT)
    told = [line for line in shown.splitlines() if line.startswith("warning")]
    end = "differs in every row. If it only identifies rows, use --ignore"
    assert told == [f"warning: column {name!r} {end} {name}" for name in ("patient", "number")]
    _, shown = command("evaluate", "model", "fresh.csv", "--target", "kind")
    assert "warning" not in shown


@pytest.mark.parametrize("method", ["auto", "forest"])
@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("patient", "error: the target 'patient' has 120 different labels in 120 rows, too many for classes."),
        ("number", "error: the target 'number' has 120 different labels in 120 rows, too many for classes."),
        ("size", "error: the target 'size' has numbers with fractions, 12"),
    ],
)
def test_a_target_of_ids_or_measurements_is_refused_before_training(command, place, target, message, method):
    code, shown = command(*DEFAULT, "--target", target, "--method", method)
    assert code == 2
    assert shown.startswith(message)
    assert not (place / "model").exists()


def test_what_cannot_be_ignored_is_told(command):
    code, shown = command(*FIT, "--ignore", "patiend")
    assert code == 2
    assert "Option --ignore must be one of ['patient', 'number', 'size', 'age']. Got 'patiend'" in shown
    assert "Did you mean 'patient'?" in shown
    assert command(*FIT, "--ignore", "kind")[0] == 2
    code, shown = command("fit", "iris", "--method", "logistic", "--ignore", "x", "--out", "model")
    assert (code, "--ignore cannot be used here: 'iris' is a named data set" in shown) == (2, True)
    every = [word for name in ("patient", "number", "size", "age") for word in ("--ignore", name)]
    code, shown = command(*FIT, *every)
    assert (code, "there is no column besides the target 'kind' and those ignored" in shown) == (2, True)


def test_compare_ignores_and_prints_a_command_that_does(command, place):
    arguments = ["compare", "train.csv", "--target", "kind", "--methods", "logistic", "--seeds", "1", "--out", "c"]
    code, shown = command(*arguments, *IGNORE)
    assert code == 0
    words = "--method logistic --target kind --ignore patient --ignore number --seed 0 --out model"
    assert f"worstclass fit train.csv {words}" in shown
    assert "reused" in command(*arguments, *IGNORE)[1]
    assert command(*arguments)[0] == 2  # with other columns it is another comparison


def test_compare_refuses_floors_that_no_method_needs(command, place):
    arguments = ["compare", "train.csv", "--target", "kind", "--methods", "logistic,forest", "--theta", "0.8"]
    code, shown = command(*arguments)
    assert (code, "--theta cannot be used here: none of the methods needs an accuracy floor" in shown) == (2, True)


def test_unknown_data_are_not_called_an_option(command, place):
    code, shown = command("fit", "iriss", "--out", "model")
    assert (code, "DATA must be one of" in shown, "--DATA" in shown) == (2, True, False)


# labels


def test_labels_with_leading_zeros_stay_as_they_are_written(command, place):
    fit = ["fit", "zeros.csv", "--target", "kind", *IGNORE, "--method", "ours-trees", "--rounds", "2", "--out", "model"]
    assert command(*fit, "--theta", "01=0.6", "--theta", "10=0.5", "--quiet")[0] in (0, 1)
    model = load_model(place / "model")
    assert model.classes_.tolist() == ["01", "10"]
    assert model.theta_ == (0.6, 0.5)
    assert command("predict", "model", "zeros.csv", "--out", "answers.csv")[0] == 0
    answers = pd.read_csv("answers.csv", dtype=str)
    assert set(answers["answer"]) == {"01", "10"}
    assert {"p_01", "p_10"} <= set(answers.columns)
    # a file in which no label has a zero in front is still about the same classes
    tens = table(names=("01", "10")).query("kind == '10'")
    tens.to_csv("tens.csv", index=False)
    code, shown = command("evaluate", "model", "tens.csv", "--target", "kind", "--json")
    assert code == 0
    assert {row["name"]: row["total"] for row in json.loads(shown)["classes"]} == {"10": 60, "01": 0}


def test_zeros_that_the_training_data_does_not_have_are_told(command):
    table(names=("1", "10")).to_csv("numbers.csv", index=False)
    assert command("fit", "numbers.csv", *FIT[2:], *IGNORE)[0] == 0
    code, shown = command("evaluate", "model", "zeros.csv", "--target", "kind")
    assert code == 2
    assert "the text '01' where the class is the number 1. Write the labels as in the training data." in shown


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (["1", "2", "10"], [1, 2, 10]),
        (["0", "-1", "10"], [0, -1, 10]),
        (["0.0", "1.0", "1.0"], [0.0, 1.0, 1.0]),
        (["007", "7", "8"], ["007", "7", "8"]),
        (["-01", "2", "3"], ["-01", "2", "3"]),
        (["01", "b", "2"], ["01", "b", "2"]),
    ],
)
def test_how_labels_are_read(tmp_path, written, read):
    (tmp_path / "t.csv").write_text("x,y\n" + "".join(f"1,{label}\n" for label in written))
    assert read_table(tmp_path / "t.csv", "y").y.tolist() == read


def test_a_missing_label_among_leading_zeros_is_refused(tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n1,01\n2,\n3,02\n")
    with pytest.raises(DataError, match="empty in 1 row, first in row 2"):
        read_table(tmp_path / "t.csv", "y")


# files that are no such CSV


def test_other_separators_and_encodings_are_told_with_a_way_out(command, place):
    assert command(*FIT, *IGNORE)[0] == 0
    table().to_csv("semicolons.csv", index=False, sep=";")
    table().to_csv("tabs.csv", index=False, sep="\t")
    table(names=("süß", "b")).to_csv("latin.csv", index=False, encoding="latin-1")
    told = {
        "semicolons.csv": "semicolons.csv separates its columns by semicolons. Save it with commas",
        "tabs.csv": "tabs.csv separates its columns by tabs. Save it with commas",
        "latin.csv": "latin.csv cannot be read as a CSV file: it is not UTF-8 text. Save it as UTF-8",
    }
    for file, message in told.items():
        for words in (["fit", file, "--target", "kind", "--out", "m"], ["predict", "model", file, "--out", "a.csv"]):
            code, shown = command(*words)
            assert (code, message in shown) == (2, True), shown


# messages


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["compare", "train.csv", "--methods", "forrest"], "Option --methods must be one of"),
        ([*FOREST, "--set", "n_estimators=abc"], "Option --set n_estimators=... must be a whole number. Got 'abc'"),
        ([*FOREST, "--set", "n_estimators=-3"], "Option --set n_estimators=... must be"),
        ([*DEFAULT, "--set", "cv=-3"], "Option --set cv=... must be"),
        ([*DEFAULT, "--theta", "malignant=0.9"], "--theta is missing for benign. Add --theta benign=NUMBER"),
        ([*DEFAULT, "--theta", "1.5"], "an accuracy floor in [0, 1), or class=number. Got 1.5"),
    ],
)
def test_messages_name_options(command, words, message):
    code, shown = command(*words, "--target", "kind", *IGNORE)
    assert code == 2
    assert message in shown
    assert "mapping" not in shown


def test_messages_name_commands(command):
    assert command(*FIT, *IGNORE, "--test-share", "0")[0] == 0
    last = {"offsets": ["--out", "o"], "abstain": ["--risk", "0.1", "--out", "o"], "certify": ["--require", "0.5"]}
    for name, options in last.items():
        code, shown = command(name, "model", "train.csv", "--target", "kind", *options)
        assert code == 2
        assert shown.startswith(f"error: worstclass {name} needs rows that the model has not seen.")


def test_predict_help_explains_the_columns(command):
    shown = " ".join(command("predict", "--help")[1].split())
    assert all(f'"{column}"' in shown for column in ("row", "answer", "p_CLASS", "margin", "abstained"))


# Ctrl-C


def test_an_interrupt_while_members_are_combined_keeps_the_model(command, place, monkeypatch):
    counted, calls = worst_class.cross_combine, []

    def interrupted_once(*arguments):
        calls.append(1)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return counted(*arguments)

    monkeypatch.setattr(worst_class, "cross_combine", interrupted_once)
    code, shown = command(*DEFAULT, "--target", "kind", *IGNORE, "--set", "cv=2")
    assert code == 1
    assert "interrupted: the model has the 5 finished members" in shown
    assert set(load_model(place / "model").predict(table()[["size", "age"]])) == {"benign", "malignant"}
    calls.clear()
    model = WorstClassClassifier(cv=2, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(table()[["size", "age"]], table()["kind"])
    assert len(model.portfolio_) == 5


def test_an_interrupt_after_training_ends_with_130_and_a_whole_model(command, place, monkeypatch):
    write = model_module.write_model

    def interrupted(*arguments, **options):
        os.kill(os.getpid(), signal.SIGINT)
        return write(*arguments, **options)

    before = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(model_module, "write_model", interrupted)
    code, shown = command(*FIT, *IGNORE)
    assert code == 130
    assert "report: model/results/report.html" in shown
    assert (place / "model" / "results" / "report.html").is_file()
    assert load_model(place / "model").classes_.tolist() == ["benign", "malignant"]
    assert signal.getsignal(signal.SIGINT) is before


# columns of the default estimator


def test_column_errors_name_the_estimator():
    X = table()[["size", "age"]]
    model = WorstClassClassifier(cv=2, random_state=0).fit(X, table()["kind"])
    for rows, message in (
        (X[["size"]], "Feature names seen at fit time, yet now missing:\n- age"),
        (X.to_numpy()[:, :1], "X has 1 features, but WorstClassClassifier is expecting 2 features"),
        (X.rename(columns={"age": "agee"}), "Feature names unseen at fit time:\n- agee"),
    ):
        with pytest.raises(DataError, match=message) as error:
            model.predict(rows)
        assert "TableEncoder" not in str(error.value)
