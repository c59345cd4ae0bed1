"""`worstclass export`: model folders in, files that answer alike out, and clear refusals."""

from __future__ import annotations

import json
import sys

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest
import torch

from worstclass.cli.app import run


def patients(n, seed):
    rng = np.random.default_rng(seed)
    kind = np.where(np.arange(n) % 2, "malignant", "benign")
    size = rng.normal(np.where(kind == "malignant", 4.0, 0.0))
    side = np.where(rng.random(n) < 0.1, None, rng.choice(["left", "right"], size=n))
    return pd.DataFrame({"size": size, "age": rng.normal(size=n), "side": side, "kind": kind})


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = tmp_path_factory.mktemp("export")
    patients(200, 0).to_csv(place / "train.csv", index=False)
    patients(300, 1).to_csv(place / "fresh.csv", index=False)
    command = ["fit", str(place / "train.csv"), "--target", "kind", "--quiet"]
    assert (
        run([*command, "--method", "ours-trees", "--theta", "0.8", "--rounds", "2", "--out", str(place / "trees")]) == 0
    )
    assert run([*command, "--set", "cv=2", "--out", str(place / "auto")]) == 0
    network = ["fit", "artificial-balanced", "--method", "ce", "--max-epochs", "3", "--quiet", "--network", "mlp"]
    assert run([*network, "--out", str(place / "network")]) == 0
    return place


def metadata(file):
    return {entry.key: entry.value for entry in onnx.load(file).metadata_props}


@pytest.mark.parametrize("model", ["trees", "auto"])
def test_every_row_of_a_table_is_compared(model, command, place):
    code, shown = command("export", model, "fresh.csv", "--onnx", f"{model}.onnx")
    assert code == 0, shown
    assert "compared on 300 rows: all labels are the same; probabilities differ by at most" in shown
    assert "inputs: size float64 (n, 1), age float64 (n, 1), side text (n, 1)" in shown
    assert "outputs: label, probabilities" in shown
    command("predict", model, "fresh.csv", "--out", "answers.csv")
    fresh = pd.read_csv(place / "fresh.csv")
    rows = {name: fresh[[name]].to_numpy() for name in ("size", "age")}
    rows["side"] = fresh[["side"]].fillna("").to_numpy(dtype=object)
    labels = onnxruntime.InferenceSession(place / f"{model}.onnx").run(["label"], rows)[0]
    assert labels.tolist() == pd.read_csv(place / "answers.csv")["answer"].tolist()
    assert json.loads(metadata(place / f"{model}.onnx")["classes"]) == ["benign", "malignant"]


def test_labels_may_be_named_and_are_not_needed(command, place):
    pd.read_csv(place / "fresh.csv").drop(columns="kind").to_csv(place / "new.csv", index=False)
    assert command("export", "trees", "new.csv", "--onnx", "a.onnx")[0] == 0
    assert command("export", "trees", "fresh.csv", "--target", "kind", "--onnx", "a.onnx")[0] == 0
    code, shown = command("export", "trees", "fresh.csv", "--target", "kinds", "--onnx", "a.onnx")
    assert (code, "Did you mean 'kind'?" in shown) == (2, True)


def test_without_data_the_rows_are_made_and_this_is_said(command):
    code, shown = command("export", "trees", "--onnx", "made.onnx")
    assert (code, "compared on 200 rows made at random (none were given): all labels" in shown) == (0, True)


def test_rows_that_the_model_cannot_take_are_left_out_and_counted(command, place):
    fresh = pd.read_csv(place / "fresh.csv").astype({"size": object})
    fresh.loc[[3, 7], "size"] = "wide"
    fresh.to_csv(place / "bad.csv", index=False)
    code, shown = command("export", "trees", "bad.csv", "--onnx", "bad.onnx")
    assert (code, "compared on 298 rows" in shown) == (0, True)
    assert "2 rows of bad.csv that the model cannot take were left out" in shown


def test_rows_that_differ_are_named_by_their_numbers_in_the_file(command, place, monkeypatch):
    from worstclass.boosting.booster import WorstClassBooster

    fresh = pd.read_csv(place / "fresh.csv").astype({"size": object})
    fresh.loc[3, "size"] = "wide"  # line 4 is left out
    fresh.to_csv(place / "bad.csv", index=False)
    honest = WorstClassBooster.predict
    monkeypatch.setattr(WorstClassBooster, "predict", lambda self, X: [*honest(self, X[:-1]), "unknown"])
    code, shown = command("export", "trees", "bad.csv", "--onnx", "x.onnx")
    assert code == 2
    assert "answers 1 of 299 rows otherwise: row 300 ('malignant' in place of 'unknown'). Nothing was written." in shown
    assert not (place / "x.onnx").exists()


def test_images_of_an_archive_are_uint8(command, place):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 256, (60, 1, 10, 10), dtype=np.uint8), np.arange(60) % 3
    np.savez(place / "images.npz", X=X, y=y)
    fit = ["fit", "images.npz", "--method", "ce", "--network", "cnn-small", "--max-epochs", "1", "--quiet"]
    assert command(*fit, "--out", "pictures")[0] == 0
    code, shown = command("export", "pictures", "images.npz", "--onnx", "pictures.onnx")
    assert (code, "inputs: X uint8 (n, 1, 10, 10)" in shown, "compared on 60 rows" in shown) == (0, True, True)


def test_a_network_as_both_kinds_of_file_with_a_named_data_set(command, place):
    code, shown = command(
        "export",
        "network",
        "artificial-balanced",
        "--max-rows",
        "500",
        "--onnx",
        "n.onnx",
        "--torch",
        "n.pt2",
        "--json",
    )
    assert code == 0, shown
    first, second = json.loads(shown)["files"]
    assert (first["n_rows"], second["n_rows"]) == (500, 500)
    assert first["path"] == "n.onnx"
    assert second["outputs"] == ["index", "probabilities"]
    program = torch.export.load(place / "n.pt2").module()
    assert program(torch.zeros(3, 2))["probabilities"].shape == (3, 5)


def test_the_certificate_that_certify_keeps_is_in_the_file(command, place):
    assert command("export", "trees", "fresh.csv", "--onnx", "before.onnx")[0] == 0
    assert "certificate" not in metadata(place / "before.onnx")
    certify = ["certify", "trees", "fresh.csv", "--target", "kind", "--require", "0.8"]
    assert command(*certify)[0] == 0
    assert not (place / "trees" / "results" / "certificate.json").exists()
    code, shown = command(*certify, "--save", "--json")
    assert code == 0
    assert command("export", "trees", "fresh.csv", "--onnx", "after.onnx")[0] == 0
    found = metadata(place / "after.onnx")
    kept = json.loads(found["certificate"])
    assert kept == {**json.loads(shown), "model": "trees"}
    assert (kept["verdict"], json.loads(found["floors"])) == ("proven", {"benign": 0.8, "malignant": 0.8})
    other = {**kept, "verdict": "not proven"}
    (place / "other.json").write_text(json.dumps(other))
    assert command("export", "trees", "--onnx", "c.onnx", "--certificate", "other.json")[0] == 0
    assert json.loads(metadata(place / "c.onnx")["certificate"]) == other


def test_a_model_that_abstains_says_so_in_the_file(command, place):
    patients(300, 2).to_csv(place / "held_out.csv", index=False)
    assert command("abstain", "trees", "held_out.csv", "--target", "kind", "--risk", "0.2", "--out", "careful")[0] == 0
    code, shown = command("export", "careful", "fresh.csv", "--onnx", "careful.onnx")
    assert (code, "outputs: label, probabilities, abstained" in shown) == (0, True)
    found = metadata(place / "careful.onnx")
    assert found["abstain_label"] == "abstain"
    assert json.loads(found["certificate"])["verdict"] == "proven"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["trees"], "Missing option --onnx or --torch"),
        (["trees", "--torch", "t.pt2"], "A program of torch takes no columns of text: ['side']"),
        (["network", "fresh.csv", "--onnx", "x.onnx"], "the model takes 2"),
        (["nowhere", "--onnx", "x.onnx"], "is not a model folder"),
        (["trees", "missing.csv", "--onnx", "x.onnx"], "missing.csv"),
        (["trees", "--onnx", "x.onnx", "--certificate", "fresh.csv"], "fresh.csv is not JSON"),
        (["trees", "--onnx", "x.onnx", "--certificate", "list.json"], "it has no verdict. Make it with certify --json"),
        (["trees", "--onnx", "x.onnx", "--certificate", "strange.json"], "certificate for other classes than those"),
        (["trees", "empty.csv", "--onnx", "x.onnx"], "no rows that the model can take"),
    ],
)
def test_what_cannot_be_exported_is_code_2_and_leaves_no_file(words, message, command, place):
    (place / "list.json").write_text("[]")
    (place / "strange.json").write_text('{"verdict": "proven", "classes": [{"name": "cat"}]}')
    (place / "empty.csv").write_text("size,age,side\nwide,1,left\n")
    code, shown = command("export", *words)
    assert code == 2
    assert message in shown
    assert not (place / "x.onnx").exists()
    assert not (place / "t.pt2").exists()


def test_without_the_extra_the_command_to_install_it_is_named(command, monkeypatch):
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    code, shown = command("export", "trees", "--onnx", "x.onnx")
    assert (code, "pip install 'worstclass[onnx]'" in shown) == (2, True)
