"""`worstclass predict`: every format in and out, chunks, ids, bad rows; files in, files out, exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from official_files import picture_bytes
from sklearn.tree import DecisionTreeClassifier

from worstclass import AbstainingClassifier, TorchLearner, WorstClassBooster, load_model, save_model
from worstclass.cli.app import run
from worstclass.data.chunks import RowFormat, iter_chunks

COLUMNS = ["size", "age", "side"]


def patients(n, seed):
    """Two classes told by their size; a column of text, and an id with leading zeros."""
    rng = np.random.default_rng(seed)
    kind = np.where(np.arange(n) % 2, "malignant", "benign")
    size = rng.normal(np.where(kind == "malignant", 2.5, 0.0))
    side = np.where(rng.random(n) < 0.5, "left", "right")
    ids = [f"{i:04d}" for i in range(n)]
    return pd.DataFrame({"id": ids, "size": size, "age": rng.integers(20, 90, n), "side": side, "kind": kind})


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A model of a table, and one of images."""
    folder = tmp_path_factory.mktemp("predict")
    train = patients(200, 0).drop(columns="id")
    train.to_csv(folder / "train.csv", index=False)
    patients(50, 1).drop(columns="kind").to_csv(folder / "new.csv", index=False)
    fit = ["fit", str(folder / "train.csv"), "--target", "kind", "--theta", "0.7", "--rounds", "5", "--quiet"]
    assert run([*fit, "--method", "ours-trees", "--out", str(folder / "model")]) == 0
    rng = np.random.default_rng(0)
    for name, brightness in (("dark", 60), ("bright", 190)):
        (folder / "photos" / name).mkdir(parents=True)
        for number in range(8):
            pixels = (brightness + rng.integers(-30, 30, (8, 8, 3))).astype(np.uint8)
            (folder / "photos" / name / f"{number}.png").write_bytes(picture_bytes(pixels))
    fit = ["fit", str(folder / "photos"), "--theta", "0.5", "--rounds", "1", "--extend", "0", "--quiet"]
    assert run([*fit, "--method", "ours", "--test-share", "0", "--lr", "0.01", "--out", str(folder / "seer")]) in (0, 1)
    return folder


@pytest.fixture
def predict(command):
    """Run the command; return its exit code and what it shows. Nothing unfinished is left behind."""

    def call(file, *options, model="model", out="out.csv"):
        Path(out).unlink(missing_ok=True)
        code, shown = command("predict", model, file, "--out", out, *options)
        assert not [path.name for path in Path().iterdir() if "unfinished" in path.name]
        assert Path(out).exists() == (code == 0)
        return code, shown

    return call


def expected(place, frame, model="model"):
    """The same from Python."""
    loaded = load_model(place / model)
    X = frame[COLUMNS].astype({"side": "category"})
    table = pd.DataFrame({"answer": loaded.predict(X)})
    table[[f"p_{label}" for label in loaded.classes_]] = loaded.predict_proba(X)
    table["margin"] = loaded.decision_margin(X)
    return table


def test_answers_are_those_of_python(place, predict):
    code, shown = predict("new.csv", "--id", "id")
    assert code == 0
    assert shown.strip() == "50 rows, 0 abstained: out.csv"
    new = pd.read_csv(place / "new.csv", dtype={"id": str})
    out = pd.read_csv(place / "out.csv", dtype={"id": str})
    assert list(out) == ["id", "answer", "p_benign", "p_malignant", "margin", "abstained"]
    assert out["id"].tolist() == new["id"].tolist()  # with the leading zeros
    wanted = expected(place, pd.read_csv(place / "new.csv"))
    pd.testing.assert_frame_equal(out[wanted.columns], wanted, check_exact=True)
    assert not out["abstained"].any()
    assert set(out["answer"]) == {"benign", "malignant"}


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
def test_the_size_of_chunks_changes_nothing(place, predict, suffix):
    contents = []
    for rows in ("1", "7", "50", "1000"):
        assert predict("new.csv", "--id", "id", "--chunk-rows", rows, out=f"out.{suffix}")[0] == 0
        file = place / f"out.{suffix}"
        contents.append(pd.read_parquet(file).to_dict() if suffix == "parquet" else file.read_text())
    assert all(content == contents[0] for content in contents)


def test_the_three_forms_of_output_say_the_same(place, predict):
    for suffix in ("csv", "parquet", "jsonl"):
        assert predict("new.csv", "--id", "id", "--id", "age", out=f"out.{suffix}")[0] == 0
    csv = pd.read_csv(place / "out.csv", dtype={"id": str, "age": str})
    parquet = pd.read_parquet(place / "out.parquet")
    lines = pd.DataFrame([json.loads(line) for line in (place / "out.jsonl").read_text().splitlines()])
    assert list(csv) == list(parquet) == list(lines)
    pd.testing.assert_frame_equal(parquet, lines, check_dtype=False, check_exact=True)
    pd.testing.assert_frame_equal(csv, lines, check_dtype=False, check_exact=True)
    assert parquet["abstained"].dtype == bool
    assert lines["id"].iloc[7] == "0007"


def test_columns_go_by_name_and_others_are_ignored(place, predict):
    assert predict("new.csv")[0] == 0
    straight = (place / "out.csv").read_text()
    new = pd.read_csv(place / "new.csv", dtype=str)
    new.assign(note="[/red]", **{"kind": "?"})[["kind", "side", "note", "age", "size"]].to_csv(
        "turned.csv", index=False
    )
    assert predict("turned.csv")[0] == 0
    assert (place / "out.csv").read_text() == straight
    assert straight.splitlines()[1].startswith("1,")  # without an id, the number of the row
    new.drop(columns=["age", "side"]).to_csv("short.csv", index=False)
    code, shown = predict("short.csv")
    assert code == 2
    assert "lacks 2 of the 3 columns that the model was trained on: ['age', 'side']" in shown


def test_parquet_in_keeps_the_types_of_ids(place, predict):
    new = pd.read_csv(place / "new.csv", dtype={"id": str})
    number = pd.array([None, *range(1, 50)], dtype="Int64")
    new.assign(number=number, when=pd.Timestamp("2024-02-29")).to_parquet("new.parquet")
    assert predict("new.csv", out="csv.parquet")[0] == 0
    for rows in ("1", "7", "1000"):
        options = ["--id", "number", "--id", "when", "--chunk-rows", rows]
        assert predict("new.parquet", *options, out="out.parquet")[0] == 0
        out = pd.read_parquet(place / "out.parquet", dtype_backend="pyarrow")
        assert out["number"].tolist()[1:] == list(range(1, 50))
        assert out["number"].isna().tolist() == [True] + [False] * 49
        assert str(out["number"].dtype) == "int64[pyarrow]"
        assert out["when"].iloc[3] == pd.Timestamp("2024-02-29")
        same = pd.read_parquet(place / "csv.parquet")
        assert out["p_benign"].tolist() == same["p_benign"].tolist()


BAD = """id,size,age,side
a,1.5,40,left
b,wide,40,left
c,1.5,40
d,2.5,40,left,more
e,-3,,right
f,inf,30,right
g,3,30,unknown
"""


def test_bad_rows_are_refused_with_their_numbers(place, predict):
    (place / "bad.csv").write_text(BAD)
    for rows in ("1", "3", "100"):
        code, shown = predict("bad.csv", "--id", "id", "--chunk-rows", rows)
        assert code == 2
        assert "bad.csv has 4 bad rows: row 2: column 'size' holds 'wide', which is not a finite number; " in shown
        assert "row 3: it has 3 fields, and the first line names 4; row 4: it has 5 fields" in shown
        assert "row 6: column 'size' holds 'inf'" in shown
        assert "Correct them, or use --on-bad skip or --on-bad abstain." in shown
    lines = BAD.splitlines()
    (place / "worse.csv").write_text("\n".join([lines[0], *lines[2:3] * 9, *lines[1:2]]))
    assert "and 4 more" in predict("worse.csv")[1]


def test_bad_rows_are_left_out(place, predict):
    (place / "bad.csv").write_text(BAD)
    code, shown = predict("bad.csv", "--id", "id", "--on-bad", "skip")
    assert code == 0
    assert "3 rows, 0 abstained, 4 skipped" in shown
    out = pd.read_csv(place / "out.csv")
    assert out["id"].tolist() == ["a", "e", "g"]  # a missing number and a new category are what the model takes
    assert predict("bad.csv", "--on-bad", "skip")[0] == 0
    assert pd.read_csv(place / "out.csv")["row"].tolist() == [1, 5, 7]


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
def test_bad_rows_are_written_without_an_answer(place, predict, suffix):
    (place / "bad.csv").write_text(BAD)
    for rows in ("1", "2", "100"):
        options = ["--id", "id", "--on-bad", "abstain", "--chunk-rows", rows]
        code, shown = predict("bad.csv", *options, out=f"out.{suffix}")
        assert code == 0
        assert "7 rows, 4 abstained, 4 of them bad" in shown
        file = place / f"out.{suffix}"
        if suffix == "csv":
            out = pd.read_csv(file)
        elif suffix == "parquet":
            out = pd.read_parquet(file)
        else:
            out = pd.DataFrame([json.loads(line) for line in file.read_text().splitlines()])
        assert out["id"].tolist() == list("abcdefg")
        assert out["abstained"].tolist() == [False, True, True, True, False, True, False]
        assert out["answer"].isna().tolist() == out["abstained"].tolist()
        assert out["p_benign"].isna().tolist() == out["abstained"].tolist()


def test_a_number_column_stays_one_whatever_a_chunk_holds(place, predict):
    # read by itself, a chunk of text would turn the column into text, and one of "1" the text column into numbers
    (place / "odd.csv").write_text("size,age,side\n1,40,1\n2,40,2\n,40,\nx,40,left\n")
    code, shown = predict("odd.csv", "--on-bad", "skip", "--chunk-rows", "1")
    assert code == 0
    assert "3 rows, 0 abstained, 1 skipped" in shown


def test_a_model_that_abstains_says_so(place, predict):
    inner = load_model(place / "model")
    careful = AbstainingClassifier(inner, 0.09, cv="prefit", random_state=0)
    held_out = patients(2_000, 5)
    careful.fit(held_out[COLUMNS].astype({"side": "category"}), held_out["kind"].to_numpy())
    save_model(careful, place / "careful")
    code, shown = predict("new.csv", "--chunk-rows", "7", model="careful")
    out = pd.read_csv(place / "out.csv")
    X = pd.read_csv(place / "new.csv")[COLUMNS].astype({"side": "category"})
    answered = careful.answered(X)
    assert 0 < (~answered).sum() < 50
    assert out["abstained"].tolist() == (~answered).tolist()
    assert out["answer"].tolist() == careful.predict(X).tolist()
    assert out["margin"].tolist() == careful.decision_margin(X).tolist()
    assert (code, shown.strip()) == (0, f"50 rows, {(~answered).sum()} abstained: out.csv")
    (place / "bad.csv").write_text(BAD)
    assert predict("bad.csv", "--on-bad", "abstain", model="careful")[0] == 0
    assert pd.read_csv(place / "out.csv")["answer"].iloc[1] == "abstain"


def test_images_are_read_without_their_labels(place, predict):
    code, _ = predict("photos", model="seer")
    assert code == 0
    out = pd.read_csv(place / "out.csv")
    assert out["file"].tolist()[:2] == ["bright/0.png", "bright/1.png"]
    assert len(out) == 16
    answers = dict(zip(out["file"], out["answer"], strict=True))
    assert predict("photos/dark", "--chunk-rows", "3", model="seer")[0] == 0  # a folder without folders
    flat = pd.read_csv(place / "out.csv")
    assert flat["file"].tolist() == [f"{number}.png" for number in range(8)]
    assert flat["answer"].tolist() == [answers[f"dark/{number}.png"] for number in range(8)]


def test_images_that_cannot_be_used_are_bad_rows(place, predict, tmp_path):
    (tmp_path / "a.png").write_bytes((place / "photos" / "dark" / "0.png").read_bytes())
    (tmp_path / "b.png").write_bytes(b"no picture")
    (tmp_path / "c.png").write_bytes(picture_bytes(np.zeros((9, 10, 3), np.uint8)))
    (tmp_path / "d.png").write_bytes(picture_bytes(np.full((8, 8), 99, np.uint8)))  # grey becomes colour
    code, shown = predict(str(tmp_path), model="seer")
    assert code == 2
    assert "2 bad rows: row 2: b.png cannot be decoded" in shown
    assert "c.png is 9 x 10 (height x width), and the model takes 8 x 8; resize images with --image-size" in shown
    assert predict(str(tmp_path), "--on-bad", "skip", model="seer")[0] == 0
    assert pd.read_csv(place / "out.csv")["file"].tolist() == ["a.png", "d.png"]
    assert "3 rows" in predict(str(tmp_path), "--on-bad", "skip", "--image-size", "8", model="seer")[1]


def test_npz_by_slices_with_ids(place, predict):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 3
    X[:, 0] += 3 * y
    booster = WorstClassBooster(DecisionTreeClassifier(max_depth=2), 0.5, n_rounds=3, random_state=0).fit(X, y)
    save_model(booster, place / "numbers")
    np.savez(place / "new.npz", X=X, patient=np.arange(100, 160))
    for rows in ("1", "7", "1000"):
        assert predict("new.npz", "--id", "patient", "--chunk-rows", rows, model="numbers")[0] == 0
        out = pd.read_csv(place / "out.csv")
        assert out["patient"].tolist() == list(range(100, 160))
        assert out["answer"].tolist() == booster.predict(X).tolist()
    (place / "arrays").mkdir()
    np.save(place / "arrays" / "X.npy", X)
    assert predict("arrays", model="numbers")[0] == 0
    assert pd.read_csv(place / "out.csv")["answer"].tolist() == booster.predict(X).tolist()
    pd.DataFrame(X, columns=list("abc")).to_csv(place / "plain.csv", index=False)  # columns in the order of training
    assert predict("plain.csv", model="numbers")[0] == 0
    assert pd.read_csv(place / "out.csv")["answer"].tolist() == booster.predict(X).tolist()
    for name, arrays, told in (
        ("wide", {"X": np.zeros((5, 4))}, "rows have the shape (4,), and the model takes (3,)"),
        ("two", {"X_train": X, "X_test": X}, "must have one array of rows"),
        ("words", {"X": np.array([["a"]])}, "must be rows of numbers"),
        ("short", {"X": X, "patient": np.arange(3)}, "'patient' must have one value for each row"),
    ):
        np.savez(place / f"{name}.npz", **arrays)
        ids = ["--id", "patient"] if "patient" in arrays else []
        code, shown = predict(f"{name}.npz", *ids, model="numbers")
        assert code == 2
        assert told in shown


def test_rows_that_the_model_itself_refuses_are_found(place, predict):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"])
    booster = WorstClassBooster(TorchLearner("mlp", lr=0.05), 0.5, n_rounds=1, extend=False, random_state=0)
    save_model(booster.fit(X, (X["a"] > 0).to_numpy().astype(int)), place / "net")
    X.iloc[[3, 40], 1] = np.nan
    X.to_csv(place / "gaps.csv", index=False)
    code, shown = predict("gaps.csv", model="net")
    if code == 0:
        pytest.skip("this network takes missing values")
    assert code == 2
    assert "gaps.csv has 2 bad rows: row 4:" in shown
    assert "row 41:" in shown
    assert "58 rows, 0 abstained, 2 skipped" in predict("gaps.csv", "--on-bad", "skip", model="net")[1]


def test_a_network_of_one_s_own_by_its_file(place, predict, tmp_path):
    (tmp_path / "sizes.py").write_text("WIDTH = 8\n")
    (tmp_path / "net.py").write_text(
        "from sizes import WIDTH\n"
        "from torch import nn\n"
        "def build(input_shape, n_classes):\n"
        "    return nn.Sequential(nn.Linear(input_shape[0], WIDTH), nn.ReLU(), nn.Linear(WIDTH, n_classes))\n"
        "number = 3\n"
    )
    patients(80, 3)[["size", "age", "kind"]].to_csv(place / "plain.csv", index=False)
    own = ["--network", f"{tmp_path / 'net.py'}:build"]
    fit = ["fit", "plain.csv", "--target", "kind", "--theta", "0.2", "--rounds", "1", "--extend", "0", "--quiet"]
    assert run([*fit, "--method", "ours", *own, "--out", "owned"]) in (0, 1)
    code, shown = predict("plain.csv", model="owned")
    assert code == 2
    assert "--network" in shown
    assert predict("plain.csv", *own, model="owned")[0] == 0
    for wrong, told in (
        ("huge", "net.py has no 'huge'"),
        ("number", "must be a function"),
    ):
        code, shown = predict("plain.csv", "--network", f"{tmp_path / 'net.py'}:{wrong}", model="owned")
        assert code == 2
        assert told in shown
    code, shown = predict("plain.csv", "--network", "nowhere/net.py:build", model="owned")
    assert code == 2
    assert "No such file or directory" in shown


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["model", "new.csv", "--out", "out.txt"], "ends in .csv, .parquet, .jsonl"),
        (["model", "new.csv", "--out", "new.csv"], "a file other than the input"),
        (["model", "nothing.csv", "--out", "out.csv"], "no file or folder nothing.csv"),
        (["model", "photos", "--out", "out.csv"], "The model takes rows of a table"),
        (["seer", "new.csv", "--out", "out.csv"], "The model takes images of shape (3, 8, 8)"),
        (["model", "empty.csv", "--out", "out.csv"], "empty.csv cannot be read as a CSV file: No columns"),
        (["model", "header.csv", "--out", "out.csv"], "header.csv has no rows"),
        (["model", "latin.csv", "--out", "out.csv"], "cannot be read as a CSV file"),
        (["model", "broken.parquet", "--out", "out.csv"], "cannot be read as a Parquet file"),
        (["model", "new.csv", "--id", "idd", "--out", "out.csv"], "Did you mean 'id'?"),
        (["model", "answer.csv", "--id", "answer", "--out", "out.csv"], "two columns of that name"),
        (["model", "new.csv", "--id", "id", "--id", "id", "--out", "out.csv"], "two columns of that name"),
        (["seer", "photos", "--id", "id", "--out", "out.csv"], "no columns to carry over"),
        (["nowhere", "new.csv", "--out", "out.csv"], "not a model folder"),
        (["model", "notes.md", "--out", "out.csv"], "cannot be read: give a CSV"),
        (["model", "new.csv"], "--out"),
        (["model", "new.csv", "--out", "out.csv", "--on-bad", "guess"], "--on-bad"),
    ],
    ids=lambda value: " ".join(value[:4]) if isinstance(value, list) else "",
)
def test_bad_input_is_one_message_and_leaves_nothing(words, told, place, monkeypatch, capsys):
    monkeypatch.chdir(place)
    Path("out.csv").unlink(missing_ok=True)
    Path("empty.csv").write_text("")
    Path("header.csv").write_text("size,age,side\n")
    Path("latin.csv").write_bytes(b"size,age,side\n1,2,\xe4\n")
    Path("broken.parquet").write_bytes(b"PAR1")
    Path("notes.md").write_text("size\n")
    Path("answer.csv").write_text("answer,size,age,side\n1,1,1,left\n")
    before = Path("new.csv").read_text()
    assert run(["predict", *words]) == 2
    shown = capsys.readouterr()
    assert told in shown.err
    assert "Traceback" not in shown.err
    assert not Path("out.csv").exists()
    assert Path("new.csv").read_text() == before


def test_an_interrupted_command_leaves_the_file_before(place, predict, monkeypatch, capsys):
    Path("kept.csv").write_text("before")
    monkeypatch.setattr("worstclass.report.answers.Answers.of", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    assert run(["predict", "model", "new.csv", "--out", "kept.csv"]) == 130
    assert "interrupted" in capsys.readouterr().err
    assert Path("kept.csv").read_text() == "before"
    assert not [path for path in Path().iterdir() if "unfinished" in path.name]


def test_the_installed_command_predicts_into_a_new_folder(place):
    words = ["predict", "model", "new.csv", "--out", "some/where/out.jsonl", "--quiet"]
    done = subprocess.run(
        [sys.executable, "-m", "worstclass", *words], capture_output=True, text=True, check=False, cwd=place
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "50 rows, 0 abstained: some/where/out.jsonl\n"
    assert len((place / "some/where/out.jsonl").read_text().splitlines()) == 50


def test_chunks_of_a_csv_are_what_pandas_reads(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"x": rng.normal(size=300) * 10.0 ** rng.integers(-300, 300, 300), "t": ['a, "b"\nc', "d"] * 150}
    )
    frame.to_csv(tmp_path / "f.csv", index=False)
    rows = RowFormat(["x", "t"], {"x": "number", "t": "text"})
    for size in (1, 7, 300):
        chunks = list(iter_chunks(tmp_path / "f.csv", rows, chunk_rows=size))
        found = pd.concat([chunk.X.astype(object) for chunk in chunks])
        assert found["x"].tolist() == pd.read_csv(tmp_path / "f.csv")["x"].tolist()  # to the last bit
        assert found["t"].tolist() == frame["t"].tolist()
        assert np.concatenate([chunk.numbers for chunk in chunks]).tolist() == list(range(1, 301))
        assert chunks[-1].done == 1.0


def test_memory_does_not_grow_with_the_file(tmp_path):
    (tmp_path / "long.csv").write_text("x\n" + "1\n" * 5_000)
    rows = RowFormat(["x"], {"x": "number"})
    assert {len(chunk.X) for chunk in iter_chunks(tmp_path / "long.csv", rows, chunk_rows=500)} == {500}
