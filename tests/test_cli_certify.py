"""`worstclass certify` as a gate: real model folders in, exit codes and certificates out."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from worstclass import Certificate, WorstClassBooster, WorstClassOffsets, load_dataset, load_model, save_model
from worstclass.cli.app import run
from worstclass.data.seen_rows import SeenRows


def patients(n, seed):
    """Benign rows around 0, malignant ones around 4: hardly a row is wrong."""
    rng = np.random.default_rng(seed)
    kind = np.where(np.arange(n) % 2, "malignant", "benign")
    size = rng.normal(np.where(kind == "malignant", 4.0, 0.0))
    side = rng.choice(["left", "right"], size=n)
    return pd.DataFrame({"size": size, "age": rng.normal(size=n), "side": side, "kind": kind})


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = tmp_path_factory.mktemp("certify")
    patients(200, 0).to_csv(place / "train.csv", index=False)
    patients(300, 1).to_csv(place / "fresh.csv", index=False)
    patients(20, 2).to_csv(place / "few.csv", index=False)
    command = ["fit", str(place / "train.csv"), "--target", "kind", "--theta", "0.8", "--rounds", "2", "--quiet"]
    assert run([*command, "--method", "ours-trees", "--out", str(place / "model")]) == 0
    return place


@pytest.fixture
def certify(command):
    """Certify the model; return the exit code and what is shown."""

    def call(data, *options, target="kind"):
        return command("certify", "model", data, *(["--target", target] if target else []), *options)

    return call


def test_proven_is_0(certify):
    code, shown = certify("fresh.csv", "--require", "0.8")
    assert code == 0
    assert "300 rows of fresh.csv, part: all" in shown
    assert "PROVEN with confidence 95%" in shown
    assert "checked" not in shown  # it was


def test_not_proven_is_1(certify):
    code, shown = certify("fresh.csv", "--require", "0.8", "--require", "malignant=0.975")
    assert code == 1
    assert "NOT PROVEN: 1 of 2 floors lack a proof" in shown
    assert "97.5%  NOT PROVEN" in shown
    assert "80.0%  yes" in shown


def test_too_few_rows_are_2(certify):
    code, shown = certify("few.csv", "--require", "0.8")
    assert code == 2
    assert "CANNOT BE JUDGED" in shown
    assert "10 rows cannot prove 0.8; at least 4 more" in shown


def test_a_class_without_rows_is_not_proven(certify, place):
    fresh = pd.read_csv(place / "fresh.csv")
    fresh[fresh["kind"] == "benign"].to_csv(place / "benign.csv", index=False)
    code, shown = certify("benign.csv", "--require", "0.8")
    assert code == 1
    assert "malignant: it has no rows; at least 14 more rows needed" in shown


def test_delta_moves_the_verdict(certify):
    # 10 rows per class without an error: 0.8^10 = 0.107
    assert certify("few.csv", "--require", "0.8", "--delta", "0.05")[0] == 2
    code, shown = certify("few.csv", "--require", "0.8", "--delta", "0.4")
    assert code == 0
    assert "confidence 60%" in shown


def test_json_holds_the_certificate_and_where_it_comes_from(certify):
    code, shown = certify("fresh.csv", "--require", "others=0.7", "--require", "malignant=0.9", "--json")
    assert code == 0
    values = json.loads(shown)
    assert (values["verdict"], values["part"], values["data"]) == ("proven", "all", "fresh.csv")
    assert (values["overlap"]["n_equal"], values["overlap"]["verdict"]) == (0, "none")
    certificate = Certificate.from_dict(values)
    assert {row.name: row.floor for row in certificate.classes} == {"malignant": 0.9, "benign": 0.7}


def test_columns_may_come_in_another_order(certify, place):
    fresh = pd.read_csv(place / "fresh.csv")
    fresh[fresh.columns[::-1]].to_csv(place / "turned.csv", index=False)
    straight, turned = (certify(name, "--require", "0.8", "--json")[1] for name in ("fresh.csv", "turned.csv"))
    assert json.loads(turned)["classes"] == json.loads(straight)["classes"]


def test_rows_that_were_trained_on_are_refused(certify):
    code, shown = certify("train.csv", "--require", "0.8")
    assert code == 2
    assert (
        "certify needs rows that the model has not seen. Of the 200 rows, 160 equal rows" in shown
    )  # 40 were test rows
    assert "Pass rows that were used for nothing else." in shown
    assert certify("train.csv", "--require", "0.8", "--allow-equal-rows") == (2, shown)  # a gate must not open


def test_equal_rows_that_may_be_a_coincidence_need_a_flag_that_is_recorded(certify, place):
    train = pd.read_csv(place / "train.csv")  # without copies; five copies of each row may come from anywhere
    pd.concat([train.iloc[:60]] * 5).to_csv(place / "five.csv", index=False)
    code, shown = certify("five.csv", "--require", "0.8")
    assert code == 2
    assert "Whether these rows were used before cannot be decided. If you know that they were not, pass " in shown
    assert "pass --allow-equal-rows; the result records it." in shown
    code, shown = certify("five.csv", "--require", "0.8", "--allow-equal-rows", "--json")
    assert code == 0
    overlap = json.loads(shown)["overlap"]
    assert (overlap["n_rows"], overlap["verdict"], overlap["allowed"]) == (300, "undecided", True)
    assert 200 < overlap["n_equal"] <= 300


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ([], "Missing option --require. Give the accuracy floor to prove, for example --require 0.8."),
        (["--require", "high"], "a number in [0, 1), or class=number"),
        (["--require", "1.0"], "an accuracy floor in [0, 1)"),
        (["--require", "malignent=0.9", "--require", "0.5"], "Did you mean 'malignant'"),
        (["--require", "malignant=0.9"], "--require is missing for benign. Add --require benign=NUMBER"),
        (["--require", "0.8", "--require", "others=0.9"], "given once for each class"),
        (["--require", "0.8", "--delta", "0"], "a number in (0, 1)"),
        (["--require", "0.8", "--delta", "1"], "a number in (0, 1)"),
    ],
)
def test_bad_options_are_2_and_told(certify, options, told):
    code, shown = certify("fresh.csv", *options)
    assert code == 2
    assert told in shown


def test_bad_data_is_2_and_told(certify, place):
    assert certify("fresh.csv", "--require", "0.8", target=None)[0] == 2
    code, shown = certify("fresh.csv", "--require", "0.8", target="knd")
    assert code == 2
    assert "Did you mean 'kind'" in shown
    fresh = pd.read_csv(place / "fresh.csv")
    fresh.assign(kind="unclear").to_csv(place / "unknown.csv", index=False)
    code, shown = certify("unknown.csv", "--require", "0.8")
    assert code == 2
    assert "labels that the training rows do not have: ['unclear']" in shown
    code, shown = certify("nowhere.csv", "--require", "0.8")
    assert code == 2
    assert "nowhere.csv" in shown
    assert run(["certify", "elsewhere", "fresh.csv", "--target", "kind", "--require", "0.8"]) == 2


# --- named data sets and data with parts


@pytest.fixture(scope="module")
def digits_model(tmp_path_factory):
    """A model of the data set's own training and validation rows."""
    splits = load_dataset("digits", seed=0)
    booster = WorstClassBooster(DecisionTreeClassifier(), 0.8, n_rounds=10, random_state=0)
    booster.fit(splits.train.X, splits.train.y, splits.val.X, splits.val.y)
    return str(save_model(booster, tmp_path_factory.mktemp("digits") / "model"))


def test_a_named_data_set_without_a_calibration_part_gives_its_test_part(digits_model, capsys):
    code = run(["certify", digits_model, "digits", "--require", "0.5", "--json"])
    values = json.loads(capsys.readouterr().out)
    assert code == (0 if values["verdict"] == "proven" else 1)
    assert values["part"] == "test"
    assert values["n_rows"] == len(load_dataset("digits", seed=0).test)
    assert values["overlap"]["n_equal"] == 0
    assert values["provable_floor"] > 0.5


def test_another_draw_of_the_data_set_holds_rows_of_training(digits_model, capsys):
    assert run(["certify", digits_model, "digits", "--require", "0.5", "--seed", "1"]) == 2
    assert "needs rows that the model has not seen. Of the 360 rows, 287 equal rows" in capsys.readouterr().err


def test_a_named_data_set_is_sampled_and_takes_no_target(digits_model, capsys):
    run(["certify", digits_model, "digits", "--require", "0.5", "--max-rows", "100"])
    assert "100 of 360 rows of digits, part: test" in capsys.readouterr().out
    assert run(["certify", digits_model, "digits", "--require", "0.5", "--target", "y"]) == 2
    assert "--target" in capsys.readouterr().err


def test_the_calibration_part_comes_before_the_test_part(tmp_path, capsys):
    data = load_digits()
    X, y = data.data.astype(np.float32), data.target
    parts = {"train": slice(0, 600), "cal": slice(600, 1200), "test": slice(1200, None)}
    arrays = {f"X_{name}": X[rows] for name, rows in parts.items()}
    np.savez(tmp_path / "mine.npz", **arrays, **{f"y_{name}": y[rows] for name, rows in parts.items()})
    booster = WorstClassBooster(DecisionTreeClassifier(), 0.8, n_rounds=5, random_state=0)
    model = save_model(booster.fit(X[:600], y[:600]), tmp_path / "model")
    code = run(["certify", str(model), str(tmp_path / "mine.npz"), "--require", "0.3", "--json"])
    shown = capsys.readouterr()
    assert code in (0, 1), shown.err
    assert json.loads(shown.out)["part"] == "cal"
    assert json.loads(shown.out)["n_rows"] == 600


@pytest.mark.slow
def test_the_example_goes_the_whole_way():
    example = Path(__file__).parents[1] / "examples" / "advanced_certify.py"
    done = subprocess.run([sys.executable, str(example)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = (
        "Training bound of the vote",
        "PROVEN with confidence 95%",
        "lack a proof",
        "needs rows that the model has not seen",
    )
    assert all(words in done.stdout for words in told)


def test_a_scikit_learn_model_keeps_the_record_of_its_rows(tmp_path):
    X, y = np.arange(40.0).reshape(20, 2), np.arange(20) % 2
    forest = make_pipeline(StandardScaler(), RandomForestClassifier(5, random_state=0)).fit(X, y)
    assert not hasattr(load_model(save_model(forest, tmp_path / "plain")), "seen_rows_")
    forest.seen_rows_ = SeenRows.of(X)
    again = load_model(save_model(forest, tmp_path / "known"))
    assert again.seen_rows_.training.tolist() == forest.seen_rows_.training.tolist()
    assert again.seen_rows_.complete
    wrapped = WorstClassOffsets(again, cv="prefit").fit(X + 100, y)
    inner = load_model(save_model(wrapped, tmp_path / "wrapped")).estimator_
    assert inner.seen_rows_.training.tolist() == forest.seen_rows_.training.tolist()
