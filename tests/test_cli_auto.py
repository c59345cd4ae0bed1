"""``worstclass fit`` without a method: the portfolio for tables and images, and every command on what it saves."""

from __future__ import annotations

import io
import json
import re
import shlex

import numpy as np
import pandas as pd
import pytest
from pages import tables
from rich.console import Console

from worstclass import WorstClassClassifier, load_model
from worstclass.boosting.callbacks import StepInfo
from worstclass.cli.app import run
from worstclass.ensembles.networks import NetworkClassifier
from worstclass.experiments.run import RunResult
from worstclass.metrics import ClassReport
from worstclass.progress import ProgressCallback

KINDS = ["benign", "malignant", "unclear"]
TWO_FOLDS = ["--set", "cv=2", "--quiet"]
MEMBERS = ["logistic", "smooth-kernel", "sharp-kernel", "extra-trees", "boosted-trees"]


def patients(n, seed):
    """Numbers with gaps, text with gaps, yes and no; three classes that overlap a little."""
    rng = np.random.default_rng(seed)
    k = np.arange(n) % 3
    size, age = rng.normal(2.2 * k), rng.normal(50.0, 9.0, n)
    ward = np.where(rng.random(n) < 0.7, np.array(["north", "west", "east"])[k], "west").astype(object)
    frame = pd.DataFrame({"size": size.round(4), "age": age.round(2), "ward": ward, "smokes": rng.random(n) < 0.5})
    frame.loc[3::11, "age"] = np.nan
    frame.loc[5::13, "ward"] = None
    return frame.assign(kind=np.array(KINDS)[k])


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Files with rows of their own, and a model of the default method; two folds make it small and quick to read."""
    folder = tmp_path_factory.mktemp("auto")
    for name, n, seed in (("train", 240, 0), ("fresh", 300, 1), ("other", 600, 2)):
        patients(n, seed).to_csv(folder / f"{name}.csv", index=False)
    fit = ["fit", str(folder / "train.csv"), "--target", "kind", *TWO_FOLDS, "--out", str(folder / "model")]
    assert run(fit) == 0
    return folder


TRAIN = ["fit", "train.csv", "--target", "kind"]


# a table


def test_fit_needs_no_theta_and_shows_progress_portfolio_and_estimate(place, command):
    code, shown = command(*TRAIN, "--seed", "3", "--out", "seeded")
    assert code == 0
    for number, name in enumerate(MEMBERS, start=1):
        left = r", about [\d.]+ s left" if number < 5 else ""
        assert re.search(rf"^{number} of 5 members trained: {name}, [\d.]+ s{left}$", shown, re.MULTILINE)
    result, model = RunResult.read(place / "seeded" / "results"), load_model(place / "seeded")
    assert isinstance(model, WorstClassClassifier)
    assert (result.model, result.method, result.seed) == ("WorstClassClassifier", "auto", 3)
    assert (result.settings, result.epochs, result.boosting) == ({"method": "auto"}, None, None)
    assert result.data["name"] == "train.csv"
    # no rows are held out for validation, which the folds make needless
    totals = {part: sum(row["total"] for row in getattr(result, part)["classes"]) for part in ("training", "test")}
    assert totals == {"training": 192, "test": 48}
    assert result.validation is None
    found = result.portfolio
    assert (found.n_folds, found.theta, found.floors_met, found.notes) == (5, None, None, [])
    assert [member.name for member in found.members] == MEMBERS
    assert sum(member.weight for member in found.members) == pytest.approx(1)
    assert sum(row["total"] for row in found.held_out["classes"]) == 192
    assert found.held_out["worst_error"] < 0.4
    page = tables((place / "seeded" / "results" / "report.html").read_text())
    assert "held-out estimate (cross-validation)" in shown
    assert str(ClassReport.from_dict(found.held_out)) in shown
    assert "portfolio, held-out errors of each member alone, with its best offsets (5 folds)" in shown
    for member in found.members:
        assert re.search(rf"^{member.name} +{member.weight:.2f} +{member.worst_error:.1%} ", shown, re.MULTILINE)
    rows = [[m.name, f"{m.weight:.2f}", f"{m.worst_error:.1%}", f"{m.plain_error:.1%}"] for m in found.members]
    assert [row[:4] for row in page["Members of the portfolio"][1:]] == rows
    names = sorted(file.name for file in (place / "seeded" / "results").iterdir())
    assert names == ["details.json", "report.html", "run.json", "settings.toml"]
    assert str(model.cv_report_) == str(ClassReport.from_dict(found.held_out))


def test_quiet_shows_no_progress_and_the_same_command_gives_the_same_model(place, command):
    code, shown = command(*TRAIN, *TWO_FOLDS, "--out", "again")
    assert code == 0
    assert "members trained" not in shown
    rows = patients(100, 7).drop(columns="kind")
    one, two = (load_model(place / name) for name in ("model", "again"))
    np.testing.assert_array_equal(one.predict_proba(rows), two.predict_proba(rows))


def test_floors_that_are_met_exit_with_0(place, command):
    floors = ["--theta", "malignant=0.5", "--theta", "others=0.4"]
    code, shown = command(*TRAIN, *floors, *TWO_FOLDS, "--out", "floors")
    assert code == 0
    assert "Floors met: on held-out rows every class errs on less than 1 - theta of its rows." in shown
    result = RunResult.read(place / "floors" / "results")
    assert result.portfolio.theta == {"benign": 0.4, "malignant": 0.5, "unclear": 0.4}
    assert (result.floors_met, result.bound_met) == (True, None)
    assert {row["floor"] for row in result.test["classes"]} == {0.4, 0.5}
    assert result.settings["theta"] == ["malignant=0.5", "others=0.4"]
    assert load_model(place / "floors").theta == {"malignant": 0.5, "others": 0.4}


def test_floors_that_are_missed_exit_with_1_and_write_the_model(place, command):
    code, shown = command(*TRAIN, "--theta", "0.99", *TWO_FOLDS, "--out", "missed")
    assert code == 1
    found = RunResult.read(place / "missed" / "results").portfolio
    assert found.floors_met is False
    assert found.shortfall
    told = ", ".join(f"{name} ({rows} rows short)" for name, rows in found.shortfall.items())
    assert f"Floors NOT met: missed on held-out rows by {told}." in shown
    assert "warning: Floors are missed on held-out rows: " in shown
    assert told in (place / "missed" / "results" / "report.html").read_text()
    assert load_model(place / "missed").floors_met_ is False


def test_validation_rows_that_are_asked_for_are_the_held_out_rows(place, command):
    code, shown = command(*TRAIN, "--val-share", "0.25", "--quiet", "--out", "val")
    assert code == 0
    result = RunResult.read(place / "val" / "results")
    assert result.portfolio.n_folds == 1
    assert sum(row["total"] for row in result.portfolio.held_out["classes"]) == 60
    assert sum(row["total"] for row in result.validation["classes"]) == 60
    assert "held-out estimate (one held-out part)" in shown
    # they may be used again to choose offsets, as those of any other model
    same = ["--target", "kind", "--val-share", "0.25", "--out", "val-offsets"]
    assert command("offsets", "val", "train.csv", *same)[0] == 0


def test_the_time_limit_takes_fewer_folds_and_members_and_says_so(place, command):
    code, shown = command(*TRAIN, "--max-seconds", "0.01", "--out", "hasty")
    assert code == 0
    result = RunResult.read(place / "hasty" / "results")
    found = result.portfolio
    assert found.n_folds == 1
    assert 1 <= len(found.members) < 5
    assert any("was left out: " in note for note in found.notes)
    assert "1 of 5 folds, to stay within the time limit" in found.notes
    assert "warning: --max-seconds 0.01: " in shown
    for note in found.notes:
        assert note in shown
        assert note in (place / "hasty" / "results" / "report.html").read_text()
    assert result.settings["max_seconds"] == 0.01
    assert result.seconds < 5


def test_the_number_of_folds_is_an_option(place):
    result = RunResult.read(place / "model" / "results")
    assert (result.portfolio.n_folds, result.settings["cv"]) == (2, 2)


def test_a_network_for_a_table(place, command):
    network = ["--network", "mlp", "--lr", "0.02", "--max-epochs", "23"]
    code, shown = command(*TRAIN, *network, "--theta", "0.05", "--out", "net")
    assert code == 0
    assert "6 of 6 members trained: mlp" in shown
    result, model = RunResult.read(place / "net" / "results"), load_model(place / "net")
    assert (result.method, result.portfolio.n_folds) == ("auto+network", 5)
    assert [member.name for member in result.portfolio.members] == [*MEMBERS, "mlp"]
    assert result.settings["max_epochs"] == 23
    assert model.learners[0] == "auto"
    assert (model.learners[1].lr, model.learners[1].standardize) == (0.02, True)
    code, shown = command(*TRAIN, *network, "--method", "auto-networks", "--theta", "0.05", "--out", "net")
    assert code == 0
    assert "1 of 1 members trained: mlp" in shown
    result, model = RunResult.read(place / "net" / "results"), load_model(place / "net")
    assert (result.epochs, result.portfolio.n_folds) == (20, 5)  # 4 in each fold
    assert all(isinstance(member, NetworkClassifier) for member in model.estimators_)
    network += ["--method", "auto-networks"]
    assert command(*TRAIN, *network, "--val-share", "0.2", "--quiet", "--out", "net")[0] == 0
    assert RunResult.read(place / "net" / "results").epochs == 23  # there is one network
    assert command("evaluate", "net", "fresh.csv", "--target", "kind")[0] == 0
    assert command("predict", "net", "fresh.csv", "--out", "net.csv")[0] == 0


def test_a_network_of_one_s_own(place, command):
    (place / "own_networks.py").write_text(
        "from torch import nn\n"
        "def tiny(input_shape, n_classes):\n"
        "    return nn.Sequential(nn.Linear(input_shape[0], 8), nn.ReLU(), nn.Linear(8, n_classes))\n"
    )
    own = ["--network", "own_networks:tiny"]
    assert (
        command(
            *TRAIN, *own, "--method", "auto-networks", "--max-epochs", "10", "--set", "cv=2", "--quiet", "--out", "own"
        )[0]
        == 0
    )
    code, shown = command("evaluate", "own", "fresh.csv", "--target", "kind")
    assert code == 2
    assert "--network" in shown
    assert command("evaluate", "own", "fresh.csv", "--target", "kind", *own)[0] == 0


def test_named_data_have_the_default_of_all_data_unless_the_network_is_chosen(place, command):
    few = ["--max-test-rows", "100", "--set", "cv=2", "--quiet", "--out", "named"]
    assert command("fit", "artificial-balanced", *few)[0] == 0
    model = load_model(place / "named")
    assert RunResult.read(place / "named" / "results").method == "auto"
    assert model.theta is None  # the paper's floor is for its booster
    assert command("fit", "artificial-balanced", "--network", "mlp", "--max-epochs", "10", *few)[0] == 0
    model = load_model(place / "named")
    assert RunResult.read(place / "named" / "results").method == "auto+network"
    assert model.learners[1].lr == 0.01  # the paper's
    assert command("fit", "iris", "--set", "cv=2", "--quiet", "--out", "named")[0] == 0
    assert RunResult.read(place / "named" / "results").method == "auto"
    assert load_model(place / "named").classes_.tolist() == ["setosa", "versicolor", "virginica"]


def test_an_interrupted_fit_keeps_the_finished_members(place, command, monkeypatch):
    def interrupt(self, estimator, info):
        if info.done == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(ProgressCallback, "on_step_end", interrupt)
    code, shown = command(*TRAIN, "--out", "interrupted")
    assert code == 1
    assert "interrupted: the model has the 2 finished members" in shown
    assert len(load_model(place / "interrupted").portfolio_) == 2


# every other command on the saved model


def test_evaluate(place, command):
    code, shown = command("evaluate", "model", "fresh.csv", "--target", "kind", "--json")
    assert code == 0
    values = json.loads(shown)
    assert (values["rows"], {row["name"] for row in values["classes"]}) == (300, set(KINDS))
    assert values["worst_error"] < 0.4


def test_certify_fresh_rows_and_refuse_those_that_trained(place, command):
    certify = ["certify", "model", "--target", "kind", "--require", "0.5"]
    code, shown = command(*certify, "other.csv")
    assert code == 0
    assert "proven" in shown
    assert command("certify", "model", "other.csv", "--target", "kind", "--require", "0.95")[0] == 1
    code, shown = command(*certify, "train.csv")
    assert code == 2
    assert "certify needs rows that the model has not seen" in shown


@pytest.mark.parametrize("rows", ["37", "1000"])
def test_predict_new_rows_with_gaps_and_unknown_words_in_chunks(place, command, rows):
    new = patients(120, 9).drop(columns="kind")
    new.loc[4, "ward"] = "south"
    new.insert(0, "id", [f"p{i}" for i in range(120)])
    new[["smokes", "id", "ward", "age", "size"]].to_csv(place / "new.csv", index=False)
    code, shown = command("predict", "model", "new.csv", "--id", "id", "--chunk-rows", rows, "--out", "answers.csv")
    assert code == 0
    assert "120 rows, 0 abstained" in shown
    answers = pd.read_csv(place / "answers.csv")
    model = load_model(place / "model")
    table = new.drop(columns="id").astype({"ward": "category"})
    assert answers["answer"].tolist() == model.predict(table).tolist()
    np.testing.assert_allclose(answers[[f"p_{name}" for name in KINDS]], model.predict_proba(table), atol=1e-8)
    assert answers["id"].tolist() == new["id"].tolist()


def test_a_column_that_should_hold_numbers_is_named(place, command):
    new = patients(20, 9).drop(columns="kind").astype({"size": object})
    new.loc[2, "size"] = "wide"
    new.to_csv(place / "bad.csv", index=False)
    code, shown = command("predict", "model", "bad.csv", "--out", "answers.csv")
    assert code == 2
    assert "row 3: column 'size' holds 'wide', which is not a finite number" in shown
    code, shown = command("predict", "model", "bad.csv", "--on-bad", "skip", "--out", "answers.csv")
    assert (code, "19 rows, 0 abstained, 1 skipped" in shown) == (0, True)


def test_offsets_then_abstain_then_certify(place, command):
    code, shown = command("offsets", "model", "fresh.csv", "--target", "kind", "--out", "tuned")
    assert code == 0
    assert "offsets on log-proba" in shown
    tuned = load_model(place / "tuned")
    assert isinstance(tuned.estimator_, WorstClassClassifier)
    # around a model with offsets of its own the first ones are replaced, and the portfolio stays
    last = patients(300, 11)
    last.to_csv(place / "last.csv", index=False)
    assert command("offsets", "tuned", "last.csv", "--target", "kind", "--out", "twice")[0] == 0
    assert isinstance(load_model(place / "twice").estimator_, WorstClassClassifier)
    risk = ["--risk", "0.4", "--out", "careful"]
    for model in ("model", "tuned"):
        code, shown = command("abstain", model, "other.csv", "--target", "kind", *risk)
        assert code == 0, shown
    proof = patients(600, 12)
    proof.to_csv(place / "proof.csv", index=False)
    assert command("certify", "careful", "proof.csv", "--target", "kind")[0] in (0, 1)
    assert command("evaluate", "careful", "proof.csv", "--target", "kind")[0] == 0
    assert command("predict", "careful", "proof.csv", "--out", "careful.csv")[0] == 0
    assert command("offsets", "careful", "last.csv", "--target", "kind", "--out", "third")[0] == 0
    assert command("abstain", "model", "train.csv", "--target", "kind", *risk)[0] == 2


def test_compare_prints_a_command_that_fits_the_winner(place, command):
    compare = ["compare", "train.csv", "--target", "kind", "--methods", "auto,auto-networks", "--seeds", "1"]
    code, shown = command(*compare, "--budget", "epochs=10", "--out", "compared")
    assert code == 0
    assert "[2 of 2] auto-networks, seed 0: finished" in shown
    assert ", 10 epochs, " in shown
    words = shlex.split(shown.split("To fit and save the winner: ")[1].splitlines()[0])
    assert words[:2] == ["worstclass", "fit"]
    assert words[words.index("--method") + 1] in ("auto", "auto-networks")
    assert command(*words[1:-1], "winner", "--quiet")[0] == 0
    cell = json.loads((place / "compared" / "cells" / f"{words[words.index('--method') + 1]}-seed0.json").read_text())
    fitted = RunResult.read(place / "winner" / "results")
    assert fitted.test["worst_error"] == cell["test"]["worst_error"]


# images


@pytest.fixture
def images(place):
    """Arrays of images of two classes, and others without labels."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = (rng.integers(0, 90, (60, 8, 8, 1)) + 110 * y[:, None, None, None]).astype(np.uint8)
    np.savez(place / "images.npz", X=X[:48], y=np.array(["dark", "bright"])[y[:48]])
    np.savez(place / "new.npz", X=X[48:])
    return np.array(["dark", "bright"])[y[48:]]


def test_images_with_options_of_the_network(place, command, images):
    fit = ["fit", "images.npz", "--max-epochs", "40", "--lr", "0.01", "--set", "cv=2", "--quiet", "--out", "seer"]
    code, told = command(*fit)
    assert (code, "--lr cannot be used here" in told) == (2, True)
    fit += ["--network", "cnn-medium"]
    assert command(*fit)[0] == 0
    result = RunResult.read(place / "seer" / "results")
    assert (result.method, result.portfolio.n_folds) == ("auto+network", 2)
    names = [member.name for member in result.portfolio.members]
    assert names == ["pixel-kernel", "pixel-trees", "patches", "cnn-medium"]
    model = load_model(place / "seer")
    assert (model.learners[1].lr, model.learners[1].optimizer) == (0.01, "adam")
    assert command("predict", "seer", "new.npz", "--out", "seen.csv")[0] == 0
    assert (pd.read_csv(place / "seen.csv")["answer"] == images).mean() > 0.9
    assert command("evaluate", "seer", "images.npz")[0] == 0
    assert command("certify", "seer", "images.npz", "--require", "0.1")[0] == 2  # they trained it
    larger = np.load(place / "images.npz", allow_pickle=False)
    np.savez(place / "larger.npz", X=larger["X"].repeat(2, axis=1).repeat(2, axis=2), y=larger["y"])
    code, told = command("evaluate", "seer", "larger.npz")
    assert (code, "(1, 8, 8) that the model was trained with. Got (1, 16, 16)" in told) == (2, True)
    assert "Resize the images to 8 x 8 pixels; --image-size does so with picture files." in told
    assert command(*fit, "--theta", "0.2")[0] == 0


def test_networks_for_images_are_those_of_a_comparison(place, command, images):
    compare = ["compare", "images.npz", "--methods", "auto-networks", "--seeds", "1", "--budget", "epochs=4"]
    code, shown = command(*compare, "--out", "images")
    assert code == 0
    words = shlex.split(shown.split("To fit and save the winner: ")[1].splitlines()[0])
    assert command(*words[1:-1], "picked", "--quiet")[0] == 0
    cell = json.loads((place / "images" / "cells" / "auto-networks-seed0.json").read_text())
    fitted, model = RunResult.read(place / "picked" / "results"), load_model(place / "picked")
    assert model.learners[0].module == cell["settings"]["network"] == "cnn-small"
    assert fitted.test["worst_error"] == cell["test"]["worst_error"]


def test_images_by_default(place, command, images):
    assert command("fit", "images.npz", "--set", "cv=1", "--quiet", "--out", "eye")[0] == 0
    result = RunResult.read(place / "eye" / "results")
    names = [member.name for member in result.portfolio.members]
    assert (result.method, names) == ("auto", ["pixel-kernel", "pixel-trees", "patches", "network"])
    assert command("predict", "eye", "new.npz", "--out", "seen.csv")[0] == 0
    code, shown = command("fit", "images.npz", "--method", "auto", "--network", "cnn-small", "--out", "eye")
    assert code == 2
    assert "Use --method auto+network." in shown
    code, shown = command("fit", "images.npz", "--method", "forest", "--out", "eye")
    assert code == 2
    assert "it takes tables, and the data are images" in shown


def test_without_epochs_the_estimator_decides(place, command, images, monkeypatch):
    seen = []

    def fit(self, X, y, X_val=None, y_val=None):
        seen.append(self.learners)
        raise KeyboardInterrupt

    monkeypatch.setattr(WorstClassClassifier, "fit", fit)
    command("fit", "images.npz", "--quiet", "--out", "never")
    assert seen == ["auto"]


# progress


def test_the_bar_shows_members_and_the_time_that_the_fit_expects():
    shown = io.StringIO()
    progress = ProgressCallback(Console(file=shown, force_terminal=True, width=120))
    with progress.bar:
        progress.on_step_end(None, StepInfo("logistic", 1, 3, 2.0, 75.0))
        progress.bar.refresh()
        progress.on_step_end(None, StepInfo("kernel", 1, 2, 3.0, 20.0, failed=True))  # only two are left
        progress.bar.refresh()
        progress.on_step_end(None, StepInfo("forest", 2, 3, 9.0, None))
        progress.bar.refresh()
        progress.on_step_end(None, StepInfo("network", 3, 3, 9.0, 0.0))
    text = re.sub(r"\x1b\[[\d;?]*\w", "", shown.getvalue())
    assert re.search(r"1/3 logistic \S+ left 0:01:15", text)
    assert re.search(r"1/2 kernel could not be trained \S+ left 20.0 s", text)
    assert re.search(r"2/3 forest \S+ left -", text)
    assert re.search(r"3/3 network \S+ left 0.0 s", text)


def test_evaluate_says_that_rows_were_seen(place, command):
    code, shown = command("evaluate", "model", "train.csv", "--target", "kind")
    assert code == 0
    assert "of these rows trained the model or chose something for it" in shown
    patients(60, 11).to_csv(place / "fresh.csv", index=False)
    assert "trained the model" not in command("evaluate", "model", "fresh.csv", "--target", "kind")[1]


def test_a_folder_that_is_not_of_a_model_is_refused_before_training(place, command):
    (place / "precious" / "results").mkdir(parents=True)
    code, shown = command(*TRAIN, "--out", "precious")
    assert code == 2
    assert "--out" in shown
    assert "members trained" not in shown


def test_files_of_a_model_are_as_readable_as_others(place, command):
    import os

    mask = os.umask(0)
    os.umask(mask)
    modes = {file.stat().st_mode & 0o777 for file in (place / "model").rglob("*") if file.is_file()}
    assert modes == {0o666 & ~mask}
