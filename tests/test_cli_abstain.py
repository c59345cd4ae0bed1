"""`worstclass abstain`: a model that abstains is written, evaluated and certified; exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from worstclass import (
    AbstainingClassifier,
    WorstClassBooster,
    WorstClassOffsets,
    load_dataset,
    load_model,
    save_model,
)
from worstclass.cli.app import run
from worstclass.wrappers.risk_report import RiskCertificate, RiskReport


def patients(n, seed):
    """Benign rows around 0, malignant ones around 2.5: one in ten is wrong."""
    rng = np.random.default_rng(seed)
    kind = np.where(np.arange(n) % 2, "malignant", "benign")
    size = rng.normal(np.where(kind == "malignant", 2.5, 0.0))
    return pd.DataFrame({"size": size, "age": rng.normal(size=n), "kind": kind})


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("abstain")
    for name, n, seed in (("train", 300, 0), ("held_out", 600, 1), ("fresh", 600, 2), ("few", 40, 3)):
        patients(n, seed).to_csv(folder / f"{name}.csv", index=False)
    command = ["fit", str(folder / "train.csv"), "--target", "kind", "--theta", "0.7", "--rounds", "9", "--quiet"]
    assert run([*command, "--method", "ours-trees", "--test-share", "0", "--out", str(folder / "model")]) == 0
    return folder


@pytest.fixture
def command(command):
    """The labels of all files are in one column."""
    return lambda *words: command(*words, "--target", "kind")


def rows_of(place, name):
    frame = pd.read_csv(place / name)
    return frame.drop(columns="kind"), frame["kind"].to_numpy()


def test_proven_is_0_and_the_model_that_is_written_abstains(command, place):
    code, shown = command("abstain", "model", "held_out.csv", "--risk", "0.2", "--out", "careful")
    assert code == 0
    assert "600 rows of held_out.csv, part: all; 120 choose the rule, 480 prove it" in shown
    assert "PROVEN with confidence 95%" in shown
    assert "answers nothing" not in shown
    model = load_model(place / "careful")
    assert isinstance(model, AbstainingClassifier)
    assert isinstance(model.estimator_, WorstClassBooster)
    by_hand = AbstainingClassifier(load_model(place / "model"), 0.2, cv="prefit", random_state=0)
    by_hand.fit(*rows_of(place, "held_out.csv"))
    assert model.certificate_ == by_hand.certificate_
    assert model.threshold_ == by_hand.threshold_
    kept = json.loads((place / "careful" / "results" / "certificate.json").read_text())
    assert RiskCertificate.from_dict(kept) == model.certificate_
    assert kept["data"] == {"name": "held_out.csv", "target": "kind", "part": "all", "rows": 600, "available": 600}
    assert {"settings", "seed", "provenance"} <= set(kept)


def test_evaluate_reports_risk_and_coverage(command, place):
    command("abstain", "model", "held_out.csv", "--risk", "0.1", "--out", "careful")
    code, shown = command("evaluate", "careful", "fresh.csv")
    assert code == 0
    assert "600 rows" in shown
    report = load_model(place / "careful").risk_report(*rows_of(place, "fresh.csv"))
    assert str(report) in shown
    assert 0 < report.worst_risk < 0.1
    assert 0.5 < report.coverage < 1
    _, shown = command("evaluate", "careful", "fresh.csv", "--json")
    assert RiskReport.from_dict(json.loads(shown)) == report


def test_limits_by_class(command, place):
    limits = ["--risk", "malignant=0.05", "--risk", "0.3"]
    assert command("abstain", "model", "held_out.csv", *limits, "--out", "careful")[0] == 0
    assert load_model(place / "careful").risk == {"malignant": 0.05, "others": 0.3}


def test_not_proven_is_1_and_nothing_is_answered(command, place):
    code, shown = command("abstain", "model", "held_out.csv", "--risk", "0.02", "--out", "mute")
    assert code == 1
    assert "NOT PROVEN: " in shown
    assert "The model answers nothing." in shown
    assert set(load_model(place / "mute").predict(rows_of(place, "fresh.csv")[0])) == {"abstain"}
    code, shown = command("evaluate", "mute", "fresh.csv")
    assert code == 0
    assert "worst risk unknown, least coverage 0.0% (benign), 0.0% of all rows answered" in shown


def test_too_few_rows_are_2_and_it_is_said_how_many_it_takes(command):
    code, shown = command("abstain", "model", "few.csv", "--risk", "0.1", "--out", "mute")
    assert code == 2
    assert "CANNOT BE JUDGED: 2 of 2 limits lack a proof." in shown
    assert "16 rows cannot prove a risk below 0.1; at least" in shown


def test_a_class_without_rows_is_1(command, place):
    held_out = pd.read_csv(place / "held_out.csv")
    held_out[held_out["kind"] == "benign"].to_csv(place / "benign.csv", index=False)
    code, shown = command("abstain", "model", "benign.csv", "--risk", "0.3", "--out", "mute")
    assert code == 1
    assert "malignant: it has no rows; at least 9 more rows needed" in shown
    both = ["--risk", "0.3", "--risk", "malignant=1", "--out", "mute"]
    assert command("abstain", "model", "benign.csv", *both)[0] == 0


def test_certify_proves_the_limits_anew_on_rows_never_seen(command):
    command("abstain", "model", "held_out.csv", "--risk", "0.2", "--out", "careful")
    code, shown = command("certify", "careful", "fresh.csv")
    assert code == 0
    assert "PROVEN with confidence 95%: of the rows answered" in shown
    code, shown = command("certify", "careful", "fresh.csv", "--json", "--delta", "1e-9")
    assert (code, json.loads(shown)["verdict"]) == (1, "not proven")
    for seen in ("train.csv", "held_out.csv"):
        code, shown = command("certify", "careful", seen)
        assert code == 2
        assert "certify needs rows that the model has not seen" in shown
        assert command("certify", "careful", seen, "--allow-equal-rows") == (2, shown)  # no flag lets them through
    code, shown = command("certify", "careful", "fresh.csv", "--require", "0.5")  # no answer counts as not right
    assert "every class errs on less than 1 - floor" in shown
    assert command("certify", "model", "fresh.csv")[0] == 2  # a model that does not abstain needs a floor


def test_rows_that_were_used_are_refused(command, place):
    code, shown = command("abstain", "model", "train.csv", "--risk", "0.2", "--out", "other")
    assert code == 2
    assert "worstclass abstain needs rows that the model has not seen. Of the 300 rows, 300 equal rows" in shown
    assert not (place / "other").exists()
    again = command("abstain", "model", "train.csv", "--risk", "0.2", "--allow-equal-rows", "--out", "other")
    assert again == (2, shown)
    # a rule is replaced by rows that neither chose nor proved it
    command("abstain", "model", "held_out.csv", "--risk", "0.2", "--out", "twice")
    code, shown = command("abstain", "twice", "held_out.csv", "--risk", "0.3", "--out", "twice")
    assert code == 2
    assert "Of the 600 rows, 600 equal rows" in shown
    assert command("abstain", "twice", "fresh.csv", "--risk", "0.3", "--out", "twice")[0] == 0
    assert load_model(place / "twice").risk == 0.3
    for seen in ("train.csv", "held_out.csv", "fresh.csv"):
        assert command("certify", "twice", seen)[0] == 2


def test_around_offsets_and_offsets_around_it(command, place):
    inner = WorstClassOffsets(load_model(place / "model"), cv="prefit").fit(*rows_of(place, "few.csv"))
    save_model(inner, place / "moved")
    assert command("abstain", "moved", "held_out.csv", "--risk", "0.3", "--out", "moved")[0] == 0
    model = load_model(place / "moved")
    assert isinstance(model.estimator_, WorstClassOffsets)
    assert (model.estimator_.offsets_ == inner.offsets_).all()
    # new offsets answer differently, so nothing is proven of them
    assert command("offsets", "moved", "fresh.csv", "--out", "moved")[0] == 0
    assert isinstance(load_model(place / "moved"), WorstClassOffsets)


def test_json(command):
    code, shown = command("abstain", "model", "held_out.csv", "--risk", "0.2", "--out", "careful", "--json")
    assert code == 0
    assert json.loads(shown)["verdict"] == "proven"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ([], "Missing option --risk. Give the risk limit, for example --risk 0.1."),
        (["--risk", "high"], "a number in (0, 1], or class=number"),
        (["--risk", "0"], "a limit in (0, 1]"),
        (["--risk", "1"], "below 1 for at least one class"),
        (["--risk", "malignent=0.1", "--risk", "0.2"], "Did you mean 'malignant'"),
        (["--risk", "malignant=0.1"], "--risk is missing for benign. Add --risk benign=NUMBER"),
        (["--risk", "0.1", "--risk", "others=0.2"], "given once for each class"),
        (["--risk", "0.2", "--delta", "0"], "a number in (0, 1)"),
        (["--risk", "0.2", "--delta", "1"], "a number in (0, 1)"),
        (["--risk", "0.2", "--proving", "1"], "a number in (0, 1)"),
        (["--risk", "0.2", "--margin", "wide"], "Invalid value"),
    ],
)
def test_bad_options_are_2_and_told(command, place, options, told):
    code, shown = command("abstain", "model", "held_out.csv", *options, "--out", "bad")
    assert code == 2
    assert told in shown
    assert not (place / "bad").exists()


def test_bad_data_is_2_and_told(command, place):
    held_out = pd.read_csv(place / "held_out.csv")
    held_out.assign(kind="unclear").to_csv(place / "unknown.csv", index=False)
    code, shown = command("abstain", "model", "unknown.csv", "--risk", "0.2", "--out", "bad")
    assert code == 2
    assert "labels that the training rows do not have: ['unclear']" in shown
    assert command("abstain", "nowhere", "held_out.csv", "--risk", "0.2", "--out", "bad")[0] == 2
    assert run(["abstain", "model", "held_out.csv", "--risk", "0.2", "--out", "bad"]) == 2  # without --target


def test_named_data_gives_its_test_part_with_the_labels_of_the_model(tmp_path, capsys):
    splits = load_dataset("breast-cancer", seed=0)
    for y, malignant, benign in (
        (splits.train.y, "0", "1"),
        (np.array(splits.class_names)[splits.train.y], "malignant", "benign"),
    ):
        booster = WorstClassBooster(DecisionTreeClassifier(max_depth=3), 0.8, n_rounds=3, random_state=0)
        save_model(booster.fit(splits.train.X, y), tmp_path / "model")
        options = ["--risk", f"{malignant}=0.4", "--risk", "0.5", "--max-rows", "80", "--json"]
        code = run(["abstain", str(tmp_path / "model"), "breast-cancer", *options, "--out", str(tmp_path / "careful")])
        shown = json.loads(capsys.readouterr().out)
        assert code == 0
        assert shown["data"] == {"name": "breast-cancer", "target": None, "part": "test", "rows": 80, "available": 114}
        limits = {row["name"]: row["limit"] for row in shown["classes"]}
        assert limits == {malignant: 0.4, benign: 0.5}


@pytest.mark.slow
def test_the_example_goes_the_whole_way():
    example = Path(__file__).parents[1] / "examples" / "advanced_abstain.py"
    done = subprocess.run([sys.executable, str(example)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = ("lack a proof", "PROVEN with confidence 95%: of the rows answered", "needs rows that the model has not")
    assert all(words in done.stdout for words in told)


def test_offsets_on_a_model_that_abstains_say_so_and_take_its_certificate_away(command, place):
    command("abstain", "model", "held_out.csv", "--risk", "0.2", "--out", "moved")
    assert (place / "moved" / "results" / "certificate.json").exists()
    code, shown = command("offsets", "moved", "fresh.csv", "--out", "moved")
    assert code == 0
    assert "warning: the model abstained" in shown
    assert not (place / "moved" / "results" / "certificate.json").exists()
    assert not isinstance(load_model(place / "moved"), AbstainingClassifier)


def test_a_class_without_a_limit_is_not_said_to_be_proven(command):
    code, shown = command("abstain", "model", "held_out.csv", "--risk", "benign=1", "--risk", "0.2", "--out", "half")
    assert code == 0
    assert "every class with a limit (all but benign) errs on less" in shown


def test_certify_of_a_model_that_answers_nothing_says_what_to_do(command):
    command("abstain", "model", "few.csv", "--risk", "0.01", "--out", "silent")
    code, shown = command("certify", "silent", "fresh.csv")
    assert code == 2
    assert "cannot judge a model that answers nothing" in shown
    assert "more rows" in shown


@pytest.mark.parametrize(
    ("column", "values", "told"),
    [
        ("size", ["high"], "Column 'size' holds numbers in the training rows, and text here, such as 'high' in row 1"),
        ("size", [np.inf], "infinite numbers in the columns ['size'], first in row 1"),
    ],
)
def test_values_of_another_kind_are_2_and_told_in_one_sentence(command, place, column, values, told):
    wrong = pd.read_csv(place / "fresh.csv").astype({column: object})
    wrong.loc[: len(values) - 1, column] = values
    wrong.to_csv(place / "wrong.csv", index=False)
    for name, options in (("certify", ["--require", "0.5"]), ("evaluate", [])):
        code, shown = command(name, "model", "wrong.csv", *options)
        assert code == 2
        assert told in shown
        assert "Traceback" not in shown


def test_out_is_a_folder(command, place):
    (place / "taken").write_text("")
    code, shown = command("abstain", "model", "held_out.csv", "--risk", "0.2", "--out", "taken")
    assert code == 2
    assert "Invalid value for '--out'" in shown
