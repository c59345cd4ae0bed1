"""`worstclass theta`, run as a user would: files in, a model and theta.json out, exit codes."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from worstclass import ClassReport, load_model
from worstclass.cli.app import run
from worstclass.learners.sklearn_learner import SklearnTraining


def all_shown(capsys):
    """Return progress, then the result."""
    out, err = capsys.readouterr()
    return err + out


@pytest.fixture
def iris(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = load_iris(as_frame=True).frame
    frame["species"] = np.array(["setosa", "versicolor", "virginica"])[frame.pop("target")]
    frame.to_csv("iris.csv", index=False)
    return tmp_path


@pytest.fixture
def twins(tmp_path, monkeypatch):
    """Two classes of which a column tells two rows in three apart, beside one that stands alone."""
    monkeypatch.chdir(tmp_path)
    y = np.repeat(["left", "right", "other"], 60)
    side = np.where(np.arange(180) % 3 == 0, y == "left", y == "right")
    pd.DataFrame({"x": np.where(y == "other", 5, side), "y": y}).to_csv("twins.csv", index=False)
    return tmp_path


IRIS = ["theta", "iris.csv", "--target", "species", "--rounds", "3", "--out", "model"]
TWINS = ["theta", "twins.csv", "--target", "y", "--rounds", "3", "--out", "model"]


def written(folder) -> dict:
    return json.loads((folder / "model" / "results" / "theta.json").read_text())


def test_a_grid_writes_the_model_at_the_theta_it_chose(iris, capsys):
    assert run([*IRIS, "--candidates", "0.9,0.5,0.7", "--seed", "3"]) == 0
    shown = all_shown(capsys)
    assert "theta 0.9: feasible, 3 of 3 rounds, worst-class validation error" in shown
    assert "a certificate must rest on others" in shown
    values = written(iris)
    assert [row["theta"] for row in values["candidates"]] == [0.5, 0.7, 0.9]
    assert f"theta {values['theta']:g}: worst-class validation error" in shown
    assert (values["way"], values["seed"], values["met"]) == ("grid", 3, True)
    assert values["n_train"] == 90  # of 150 rows: 30 test, 30 choose
    assert values["chosen_by"] == "30 validation rows"
    assert sum(row["total"] for row in values["test"]["classes"]) == 30
    assert values["provenance"]["versions"]["numpy"]
    assert load_model(iris / "model").theta == values["theta"]
    assert str(ClassReport.from_dict(values["test"])) in shown
    assert run(["evaluate", "model", "iris.csv", "--target", "species"]) == 0


def test_the_model_is_the_one_that_fit_gives_at_that_theta(iris):
    assert run([*IRIS, "--candidates", "0.9,0.5", "--seed", "3"]) == 0
    theta = str(written(iris)["theta"])
    same = ["--theta", theta, "--val-share", "0.2", "--seed", "3", "--out", "plain"]
    assert run(["fit", "iris.csv", "--target", "species", "--method", "ours-trees", "--rounds", "3", *same]) == 0
    assert (iris / "model" / "model.json").read_text() == (iris / "plain" / "model.json").read_text()


def test_rows_that_trained_or_chose_do_not_certify(iris, capsys):
    assert run([*IRIS, "--candidates", "0.9"]) == 0
    assert run(["certify", "model", "iris.csv", "--target", "species", "--require", "0.5"]) == 2
    # 120 rows, and those that repeat them
    assert "needs rows that the model has not seen. Of the 150 rows, 12" in capsys.readouterr().err


def test_an_interrupted_search_writes_the_best_so_far(iris, capsys, monkeypatch):
    train, rounds = SklearnTraining.train, []

    def interrupted_in_round_3(self, sample_weight, stop, seed, *kept):
        rounds.append(seed)
        if len(set(rounds)) == 3:
            raise KeyboardInterrupt
        return train(self, sample_weight, stop, seed, *kept)

    monkeypatch.setattr(SklearnTraining, "train", interrupted_in_round_3)
    assert run([*IRIS, "--candidates", "0.9,0.5"]) == 1
    assert "INTERRUPTED: this is the best so far" in all_shown(capsys)
    values = written(iris)
    assert values["interrupted"]
    assert [(row["rounds"], row["status"]) for row in values["candidates"]] == [(2, "interrupted")]
    model = load_model(iris / "model")
    assert (model.theta, len(model.estimators_)) == (values["theta"], 2)


def test_an_interrupt_before_the_first_round_is_finished_writes_nothing(iris, capsys, monkeypatch):
    def interrupted(self, sample_weight, stop, seed, *kept):
        raise KeyboardInterrupt

    monkeypatch.setattr(SklearnTraining, "train", interrupted)
    assert run([*IRIS, "--candidates", "0.9,0.5"]) == 130
    assert "interrupted" in capsys.readouterr().err
    assert not list((iris / "model").iterdir())


def test_quiet_shows_the_result_alone(iris, capsys):
    assert run([*IRIS, "--candidates", "0.9", "--quiet"]) == 0
    shown = all_shown(capsys)
    assert "theta 0.9: feasible" not in shown
    assert "* 0.9" in shown


def test_a_goal_that_is_met(iris, capsys):
    assert run([*IRIS, "--way", "goal", "--goal", "setosa=0.95", "--goal", "others=0.8"]) == 0
    assert load_model(iris / "model").theta_ == (0.95, 0.8, 0.8)
    assert "the vote meets it on the training rows" in all_shown(capsys)


def test_a_goal_that_cannot_be_met_ends_with_1_and_the_nearest_floors(twins, capsys):
    assert run([*TWINS, "--way", "goal", "--goal", "0.8", "--resolution", "0.05", "--patience", "5"]) == 1
    shown = all_shown(capsys)
    assert "The goal is infeasible." in shown
    assert "blocking class    floor  reached  rows short  nearest feasible" in shown
    assert "theta 0.8: " in shown  # the goal, and then floors by class
    assert re.search(r"theta left 0\.\d+, other 0\.8, right 0\.\d+: ", shown)
    nearest = written(twins)["nearest"]
    blocking = set(nearest["blocking"])
    assert blocking
    assert blocking <= {"left", "right"}
    model = load_model(twins / "model")
    assert model.bound_met_
    assert dict(zip(model.classes_.tolist(), model.theta_, strict=True)) == nearest["floors"]
    assert nearest["floors"]["other"] == 0.8


def test_candidates_from_an_observed_error(iris):
    assert run([*IRIS, "--way", "baseline", "--baseline", "0.2"]) == 0
    assert [row["theta"] for row in written(iris)["candidates"]] == [0.8, 0.85, 0.9, 0.95]


def test_candidates_from_a_method_that_is_trained(iris, capsys):
    assert run([*IRIS, "--way", "baseline", "--baseline", "logistic"]) == 0
    values = written(iris)
    assert values["observed_error"] == 0.2  # 2 of 10 validation rows of a class
    assert [row["theta"] for row in values["candidates"]] == [0.8, 0.85, 0.9, 0.95]
    assert "the baseline's worst-class validation error: 20.0%" in all_shown(capsys)


def test_the_best_attainable(iris):
    assert run([*IRIS, "--way", "best", "--resolution", "0.25"]) == 0
    values = written(iris)
    assert [row["theta"] for row in values["candidates"]] == [0.5, 0.75]
    assert values["theta"] == 0.75
    assert values["bound_met"]


def test_a_named_data_set_is_cut_where_it_has_no_validation_rows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments = ["theta", "artificial-balanced", "--candidates", "0.2,0.3", "--rounds", "2", "--extend", "0"]
    few = ["--gamma", "0.0995", "--lr", "0.01", "--max-test-rows", "500", "--val-share", "0.3", "--out", "model"]
    assert run([*arguments, *few, "--budget", "epochs=40"]) == 0
    values = written(tmp_path)
    assert values["chosen_by"] == "150 rows held out of the training rows"
    assert values["settings"]["budget"] == "epochs=40"
    assert all(row["epochs"] <= 40 for row in values["candidates"])


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--candidates", "0.5,x"], "--candidates must be an accuracy floor in [0, 1)"),
        (["--candidates", "0.5,1.5"], "an accuracy floor in [0, 1)"),
        (["--way", "goal"], "Missing option --goal. --way goal needs the floors to meet, for example --goal 0.8."),
        (["--way", "baseline"], "Missing option --baseline. --way baseline needs a method"),
        (["--goal", "0.5"], "--goal cannot be used here: it goes with --way goal."),
        (["--way", "best", "--candidates", "0.5"], "Option --candidates must be"),
        (["--way", "goal", "--goal", "rose=0.5", "--goal", "others=0.5"], "Option --goal must be"),
        (["--way", "goal", "--goal", "setosa=x", "--goal", "others=0.5"], "Option --goal must be"),
        (["--way", "baseline", "--baseline", "foccal"], "Did you mean 'focal'?"),
        (["--budget", "hours=1"], "Option --budget must be epochs=N"),
        (
            ["--budget", "epochs=0"],
            "Option --budget must be epochs=N, seconds=S, or both with a comma between them, above 0",
        ),
        (["--val-share", "0.001"], "no validation row"),
        (["--lr", "0.1"], "--lr cannot be used here"),
    ],
)
def test_bad_input_ends_with_2_and_one_message(iris, capsys, more, message):
    assert run([*IRIS, *more]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error


def test_an_unknown_way_is_refused_by_the_parser(iris, capsys):
    assert run([*IRIS, "--way", "gird"]) == 2
    assert "gird" in capsys.readouterr().err
