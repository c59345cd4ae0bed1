"""Offsets on the command line: tuned while fitting or afterwards, then evaluated and certified; exit codes."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification

from worstclass import WorstClassBooster, WorstClassOffsets, class_report, load_model, make_splits
from worstclass.cli.app import run


def table(rows):
    imbalanced = {"n_classes": 3, "weights": [0.7, 0.2], "class_sep": 0.9}
    X, y = make_classification(900, 5, n_informative=4, n_redundant=0, **imbalanced, random_state=3)
    frame = pd.DataFrame(X.round(4), columns=list("pqrst"))
    frame["kind"] = np.array(["common", "rare", "rarest"])[y]
    return frame.iloc[rows]


ANY_FLOOR = ["fit", "train.csv", "--target", "kind", "--rounds", "3", "--extend", "0", "--network", "mlp"]
ANY_FLOOR += ["--method", "ours", "--gamma", "0.1", "--lr", "0.01", "--quiet", "--seed", "2", "--val-share", "0.3"]
FIT = [*ANY_FLOOR, "--theta", "0.3"]
VALIDATION = ["--target", "kind", "--val-share", "0.3", "--seed", "2"]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Files with rows of their own, and a model without offsets."""
    folder = tmp_path_factory.mktemp("offsets")
    table(slice(0, 400)).to_csv(folder / "train.csv", index=False)
    table(slice(400, 650)).to_csv(folder / "fresh.csv", index=False)
    table(slice(650, 900)).to_csv(folder / "last.csv", index=False)
    fit = [str(folder / "train.csv") if word == "train.csv" else word for word in FIT]
    assert run([*fit, "--out", str(folder / "model")]) in (0, 1)
    return folder


def rows_of(place, name):
    frame = pd.read_csv(place / name)
    return frame.drop(columns="kind"), frame["kind"].to_numpy()


def test_offsets_on_the_validation_part_that_fit_cut(place, command):
    code, shown = command("offsets", "model", "train.csv", *VALIDATION, "--out", "later")
    assert code == 0
    model = load_model(place / "later")
    splits = make_splits(*rows_of(place, "train.csv"), val=0.3, test=0.2, seed=2)
    by_hand = WorstClassOffsets(load_model(place / "model"), cv="prefit").fit(splits.val.X, splits.val.y)
    np.testing.assert_array_equal(model.offsets_, by_hand.offsets_)
    assert model.validation_report_.worst_error < model.validation_report_before_.worst_error
    assert f"offsets on mean-proba: common {model.offsets_[0]:+.3f}" in shown


def test_rows_never_seen_and_floors_that_cannot_be_met(place, command):
    code, shown = command("offsets", "model", "fresh.csv", "--target", "kind", "--scores", "vote", "--out", "fresh")
    assert code == 0
    model = load_model(place / "fresh")
    assert (model.scores_, model.theta) == ("proba", None)
    assert f"250 rows, without offsets (by proba)\n{model.validation_report_before_}" in shown
    assert f"with offsets\n{model.validation_report_}" in shown
    record = json.loads((place / "fresh" / "results" / "tuning.json").read_text())
    assert record["data"] == {
        "name": "fresh.csv",
        "target": "kind",
        "part": "all",
        "rows": 250,
        "available": 250,
    }
    assert record["after"] == model.validation_report_.to_dict()
    assert record["provenance"]["versions"]["worstclass"]

    # again, over itself, with floors: the offsets before are replaced
    floors = ["--theta", "rarest=0.99", "--theta", "others=0.95"]
    code, shown = command("offsets", "fresh", "fresh.csv", "--target", "kind", *floors, "--out", "fresh")
    assert code == 1
    assert "warning: No offsets that meet all floors on the held-out rows were found" in shown
    again = load_model(place / "fresh")
    assert (again.scores_, again.floors_met_) == ("mean-proba", False)
    assert again.theta_ == (0.95, 0.95, 0.99)
    assert isinstance(again.estimator_, WorstClassBooster)


def test_evaluate_and_certify(place, command):
    assert command("offsets", "model", "fresh.csv", "--target", "kind", "--out", "gate")[0] == 0
    model = load_model(place / "gate")
    X, y = rows_of(place, "last.csv")
    frame = pd.read_csv(place / "last.csv")
    frame[frame.columns[::-1]].to_csv(place / "turned.csv", index=False)  # columns in another order
    for file in ("last.csv", "turned.csv"):
        code, shown = command("evaluate", "gate", file, "--target", "kind", "--json")
        report = class_report(y, model.predict(X), theta=0.3).to_dict()  # the floor that the booster was given
        assert (code, json.loads(shown)) == (0, {**report, "rows": 250, "available": 250, "seen_rows": 0})
    plain = class_report(y, load_model(place / "model").predict(X))
    assert report["worst_error"] < plain.worst_error  # on rows that nobody has seen

    code, shown = command("certify", "gate", "last.csv", "--target", "kind", "--require", "0.2")
    assert code == 0
    assert "PROVEN" in shown
    for used, n_rows, n_seen in (("fresh.csv", 250, 250), ("train.csv", 400, 320)):
        code, shown = command("certify", "gate", used, "--target", "kind", "--require", "0.2")
        assert code == 2
        assert f"needs rows that the model has not seen. Of the {n_rows} rows, {n_seen} equal rows" in shown
    assert command("certify", "model", "fresh.csv", "--target", "kind", "--require", "0.01")[0] == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["offsets", "model", "train.csv", "--target", "kind", "--out", "m"], "Of the 400 rows, 200 equal rows"),
        (
            ["offsets", "model", "train.csv", "--target", "kind", "--allow-equal-rows", "--out", "m"],
            "worstclass offsets needs rows that the model has not seen",
        ),
        (
            ["offsets", "model", "train.csv", *VALIDATION[:-1], "1", "--out", "m"],
            "needs rows that the model has not seen. Of the 120 rows",
        ),
        (
            ["offsets", "model", "train.csv", "--target", "kind", "--val-share", "0", "--out", "m"],
            "above 0, or left",
        ),
        (["offsets", "model", "fresh.csv", "--out", "m"], "--target"),
        (["offsets", "model", "fresh.csv", "--target", "kind", "--theta", "rarer=0.1", "--out", "m"], "mean 'rare'"),
        (["offsets", "model", "fresh.csv", "--target", "kind", "--theta", "much", "--out", "m"], "a number in [0, 1)"),
        (["offsets", "model", "fresh.csv", "--target", "kind", "--scores", "mode", "--out", "m"], "--scores"),
        (["offsets", "model", "fresh.csv", "--target", "kind"], "--out"),
        (["offsets", "nowhere", "fresh.csv", "--target", "kind", "--out", "m"], "not a model folder"),
        (["offsets", "model", "artificial-balanced", "--out", "m"], "has no val or all part"),
        (["offsets", "model", "other.csv", "--target", "kind", "--out", "m"], "do not have: ['new']"),
    ],
    ids=lambda value: " ".join(value[:4]) if isinstance(value, list) else "",
)
def test_bad_input_is_one_message_and_exit_code_2(words, told, place, command):
    (place / "other.csv").write_text("p,q,r,s,t,kind\n1,1,1,1,1,new\n")
    code, shown = command(*words)
    assert code == 2
    assert told in shown
    assert "Traceback" not in shown
    assert not (place / "m" / "model.json").exists()


def test_methods_with_offsets_are_compared(place, command):
    words = ["compare", "train.csv", "--target", "kind", "--theta", "0.3", "--budget", "epochs=4", "--seeds", "2"]
    code, shown = command(*words, "--methods", "ce,ce+offsets,ours+offsets", "--gamma", "0.1", "--out", "compared")
    assert code == 0
    cells = sorted(file.name for file in (place / "compared" / "cells").iterdir())
    assert cells == [f"{name}-seed{s}.json" for name in ("ce+offsets", "ce", "ours+offsets") for s in (0, 1)]
    results = [json.loads((place / "compared" / "cells" / name).read_text()) for name in cells]
    assert [result["epochs"] for result in results] == [4] * 6
    assert results[0]["validation"]["worst_error"] < results[2]["validation"]["worst_error"]
    assert "ours+offsets" in shown
