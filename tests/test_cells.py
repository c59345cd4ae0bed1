"""Cells on disk: what is kept, resumed, refused, run side by side, and what happens to those that fail."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

from worstclass.checkpoints import locked
from worstclass.exceptions import BudgetSpentWarning, CheckpointError, ParameterError, UnmetBoundWarning
from worstclass.experiments.cells import Cell, CellResult, checkpoint_folder, run_cells, seconds_left
from worstclass.experiments.run import Outcome, Provenance
from worstclass.metrics import class_report

SETTINGS = {"network": "mlp", "budget": {"epochs": 10}, "select_on": "worst", "options": {}}


def cells_of(methods, n_seeds=1, settings=SETTINGS):
    return [Cell(method, "toy", seed, settings) for method in methods for seed in range(n_seeds)]


def outcome_of(cell, **values):
    """Answers that depend on method and seed only: four rows of each of two classes."""
    rng = np.random.default_rng([cell.seed, *cell.method.encode()])
    y = np.repeat(["a", "b"], 4)
    report = class_report(y, rng.choice(["a", "b"], size=8), labels=["a", "b"])
    return Outcome(test=report, **{"epochs": 3, "seconds": 1.5, **values})


class Recorder:
    """Runs cells and remembers which; raises what it is told to, at the cells it is told."""

    def __init__(self, raises=None):
        self.raises = dict(raises or {})
        self.ran = []

    def __call__(self, cell):
        self.ran.append((cell.method, cell.seed))
        if cell.method in self.raises:
            raise self.raises[cell.method]
        return outcome_of(cell)


def names_in(folder):
    return sorted(file.name for file in folder.iterdir() if file.name != ".lock")


# what defines a cell


def test_the_file_name_is_method_and_seed():
    names = [cell.file_name for cell in cells_of(["ce", "ib+cb", "0.5-dnn"])]
    assert names == ["ce-seed0.json", "ib+cb-seed0.json", "0.5-dnn-seed0.json"]


def test_names_that_are_no_file_names_get_distinct_ones():
    names = {Cell(method, "toy", 0).file_name for method in ("a/b", "a b", "A b", "../a", "a%2Fb", "", "あ")}
    assert len(names) == 7
    assert all(Path(name).name == name for name in names)


def test_cells_are_equal_whatever_the_order_or_kind_of_containers():
    one = Cell("ce", "toy", 0, {"a": 1, "b": {"x": (1, 2), "y": None}, "theta": {2: 0.6, "others": 0.7}})
    two = Cell("ce", "toy", np.int64(0), {"theta": {"others": 0.7, "2": 0.6}, "b": {"y": None, "x": [1, 2]}, "a": 1})
    assert one == two


@pytest.mark.parametrize(
    "other",
    [
        Cell("wce", "toy", 0, SETTINGS),
        Cell("ce", "iris", 0, SETTINGS),
        Cell("ce", "toy", 1, SETTINGS),
        Cell("ce", "toy", 0, {**SETTINGS, "budget": {"epochs": 11}}),
        Cell("ce", "toy", 0, {**SETTINGS, "more": None}),
        Cell("ce", "toy", 0),
    ],
)
def test_a_cell_is_everything_that_defines_it(other):
    assert other != Cell("ce", "toy", 0, SETTINGS)


@pytest.mark.parametrize("value", [object(), float("nan"), {1, 2}, np.float32(0.5)])
def test_settings_that_json_cannot_hold_are_refused(value):
    with pytest.raises(ParameterError, match="'settings' parameter of Cell must be values that JSON can hold"):
        Cell("ce", "toy", 0, {"deep": [value]})


# what a file holds


def test_a_finished_cell_is_kept_with_all_that_was_found(tmp_path):
    y, answers = ["a", "a", "a", "a", "b", "b"], ["a", "a", "a", "b", "a", "b"]
    report = class_report(y, answers)
    training = class_report(["a", "b", "b", "b"], ["a", "b", "b", "a"])
    found = Outcome(test=report, validation=report, training=training, epochs=7, n_members=2, offsets={"a": 0.1})
    run_cells(cells_of(["ours"]), lambda cell: found, tmp_path)
    kept = json.loads((tmp_path / "ours-seed0.json").read_text())
    assert (kept["method"], kept["data"], kept["seed"], kept["settings"]) == ("ours", "toy", 0, SETTINGS)
    assert (kept["error"], kept["traceback"]) == (None, None)
    assert kept["test"]["worst_error"] == 0.5  # 1 of 2
    assert kept["test"]["class_mean_error"] == 0.375  # of 1/4 and 1/2
    assert kept["test"]["plain_error"] == pytest.approx(1 / 3)  # 2 of 6
    assert kept["training"]["worst_error"] == pytest.approx(1 / 3)
    assert (kept["epochs"], kept["n_members"], kept["offsets"]) == (7, 2, {"a": 0.1})
    assert kept["seconds"] >= 0
    assert kept["test"] == kept["validation"] == report.to_dict()
    assert kept["provenance"] == Provenance.collect().model_dump()


def test_the_time_of_the_fit_goes_before_that_of_the_whole_cell(tmp_path):
    (result,) = run_cells(cells_of(["ce"]), lambda cell: outcome_of(cell, seconds=1234.5), tmp_path)
    assert result.seconds == 1234.5


def test_results_returned_are_those_of_the_files(tmp_path):
    cells = cells_of(["ce", "ours"], 2)
    results = run_cells(cells, lambda cell: outcome_of(cell, offsets={"pair": (1, 2)}), tmp_path)
    assert results == [CellResult.read(tmp_path / cell.file_name) for cell in cells]
    assert [result.cell for result in results] == cells
    assert results == run_cells(cells, Recorder(), tmp_path)


def test_warnings_become_notes_each_once(tmp_path):
    def run(cell):
        for _ in range(3):
            warnings.warn("bound missed for b", UnmetBoundWarning, stacklevel=1)
        warnings.warn("budget used up", BudgetSpentWarning, stacklevel=1)
        return outcome_of(cell)

    (result,) = run_cells(cells_of(["ours"]), run, tmp_path)
    assert result.notes == ("bound missed for b", "budget used up")


# resuming


def test_finished_cells_are_not_run_again(tmp_path):
    run_cells(cells_of(["ce"], 2), Recorder(), tmp_path)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    again = Recorder()
    run_cells(cells_of(["ce", "ours"], 2), again, tmp_path)
    assert again.ran == [("ours", 0), ("ours", 1)]
    assert {name: (tmp_path / name).read_bytes() for name in before} == before


def test_an_interruption_keeps_what_is_finished_and_the_next_run_goes_on(tmp_path):
    cells = cells_of(["a", "b", "c", "d", "e"])
    first = Recorder({"c": KeyboardInterrupt()})
    with pytest.raises(KeyboardInterrupt):
        run_cells(cells, first, tmp_path)
    assert first.ran == [("a", 0), ("b", 0), ("c", 0)]
    assert names_in(tmp_path) == ["a-seed0.json", "b-seed0.json"]
    second = Recorder()
    results = run_cells(cells, second, tmp_path)
    assert second.ran == [("c", 0), ("d", 0), ("e", 0)]
    assert [result.method for result in results] == list("abcde")


@pytest.mark.parametrize("damage", ["truncated", "empty", "not utf-8", "another thing", "no report"])
def test_a_broken_file_counts_as_not_done(tmp_path, damage):
    (whole,) = run_cells(cells_of(["ce"]), Recorder(), tmp_path)
    file = tmp_path / "ce-seed0.json"
    text = file.read_text()
    broken = {
        "truncated": text[: len(text) // 2].encode(),
        "empty": b"",
        "not utf-8": b"\xff\xfe\x00{",
        "another thing": b"[1, 2]",
        "no report": json.dumps({**json.loads(text), "test": None}).encode(),
    }[damage]
    assert broken != text.encode()
    file.write_bytes(broken)
    again, lines = Recorder(), []
    (result,) = run_cells(cells_of(["ce"]), again, tmp_path, lines.append)
    assert again.ran == [("ce", 0)]
    assert lines == ["[1 of 1] ce, seed 0: started", f"[1 of 1] ce, seed 0: {result}"]
    assert result == whole == CellResult.read(file)


def test_a_cell_made_with_other_settings_is_refused_before_anything_runs(tmp_path):
    run_cells(cells_of(["ours"]), Recorder(), tmp_path)
    before = (tmp_path / "ours-seed0.json").read_bytes()
    other = {**SETTINGS, "budget": {"epochs": 20}, "theta": 0.8}
    again = Recorder()
    with pytest.raises(ParameterError) as caught:
        run_cells(cells_of(["ce", "ours"], settings=other), again, tmp_path)
    message = str(caught.value)
    assert "ours-seed0.json" in message
    assert "budget ({'epochs': 10} in the file, {'epochs': 20} asked for)" in message
    assert "theta (None in the file, 0.8 asked for)" in message
    assert "--out" in message
    assert "--overwrite" in message
    assert "select_on" not in message
    assert again.ran == []
    assert (tmp_path / "ours-seed0.json").read_bytes() == before


def test_another_data_set_in_the_same_folder_is_refused(tmp_path):
    run_cells([Cell("ce", "toy", 0)], Recorder(), tmp_path)
    with pytest.raises(ParameterError, match=r"data \(toy in the file, iris asked for\)"):
        run_cells([Cell("ce", "iris", 0)], Recorder(), tmp_path)


def test_overwriting_removes_the_old_cells_first_so_that_it_can_be_resumed_without(tmp_path):
    run_cells(cells_of(["a", "b", "other"]), Recorder(), tmp_path)
    cells = cells_of(["a", "b"], settings={"budget": 2})
    with pytest.raises(KeyboardInterrupt):
        run_cells(cells, Recorder({"b": KeyboardInterrupt()}), tmp_path, overwrite=True)
    assert names_in(tmp_path) == ["a-seed0.json", "other-seed0.json"]
    again = Recorder()
    results = run_cells(cells, again, tmp_path)
    assert again.ran == [("b", 0)]
    assert [result.settings for result in results] == [{"budget": 2}] * 2


def test_the_same_method_and_seed_twice_is_refused(tmp_path):
    cells = [Cell("ce", "toy", 0), Cell("ce", "iris", 0), Cell("ours", "toy", 0)]
    with pytest.raises(ParameterError, match=r"distinct methods and seeds.*'ce-seed0.json', 'ce-seed0.json'"):
        run_cells(cells, Recorder(), tmp_path)
    assert names_in(tmp_path) == []


# failures


def test_a_cell_that_raises_is_written_as_failed_and_the_others_go_on(tmp_path):
    lines = []
    recorder = Recorder({"b": ZeroDivisionError("by zero")})
    results = run_cells(cells_of(["a", "b", "c"]), recorder, tmp_path, lines.append)
    assert [result.error is None for result in results] == [True, False, True]
    kept = CellResult.read(tmp_path / "b-seed0.json")
    assert kept.error == "ZeroDivisionError: by zero"
    assert "tests/test_cells.py" in kept.traceback
    assert (kept.worst_error, kept.test) == (None, None)
    assert lines[2] == "[2 of 3] b, seed 0: started"
    assert lines[3] == "[2 of 3] b, seed 0: failed: ZeroDivisionError: by zero"


def test_failed_cells_are_tried_again(tmp_path):
    run_cells(cells_of(["a", "b"]), Recorder({"b": ZeroDivisionError("by zero")}), tmp_path)
    again = Recorder()
    results = run_cells(cells_of(["a", "b"]), again, tmp_path)
    assert again.ran == [("b", 0)]
    assert [result.error for result in results] == [None, None]
    assert CellResult.read(tmp_path / "b-seed0.json").error is None


HOLDER = """
import sys
from pathlib import Path
from worstclass.checkpoints import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_cell_that_another_process_trains_is_left_to_it(tmp_path):
    (cell,) = cells_of(["a"])
    checkpoint = checkpoint_folder(tmp_path / cell.file_name)

    def train(cell):
        with locked(checkpoint):
            return outcome_of(cell)

    command = [sys.executable, "-c", HOLDER, str(checkpoint)]  # as the worker of a killed run does
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "held\n"
        (checkpoint / "round-0001").write_text("half of it")
        (refused,) = run_cells([cell], train, tmp_path)
        assert refused.error.startswith("CheckpointError: Another process is working in")
        assert (checkpoint / "round-0001").exists()
        other.communicate()
    assert not (tmp_path / cell.file_name).exists()
    (done,) = run_cells([cell], train, tmp_path)
    assert done.error is None
    assert not checkpoint.exists()


def test_a_cell_that_another_process_finishes_in_the_meantime_is_not_trained_again(tmp_path):
    first, second = cells_of(["a", "b"])
    record = Recorder()

    def train(cell):
        run_cells([second], outcome_of, tmp_path / "other")  # as the worker of a killed run does, later than this began
        shutil.copy(tmp_path / "other" / second.file_name, tmp_path)
        return record(cell)

    _, reused = run_cells([first, second], train, tmp_path)
    assert record.ran == [("a", 0)]
    assert reused == CellResult.read(tmp_path / "other" / second.file_name)


def test_a_checkpoint_that_cannot_be_written_keeps_what_it_has(tmp_path):
    (cell,) = cells_of(["a"])
    checkpoint = checkpoint_folder(tmp_path / cell.file_name)
    checkpoint.mkdir()
    (checkpoint / "round-0001").write_text("finished")
    (failed,) = run_cells([cell], Recorder({"a": CheckpointError("no space left")}), tmp_path)
    assert failed.error == "CheckpointError: no space left"
    assert (checkpoint / "round-0001").exists()
    assert not (tmp_path / cell.file_name).exists()


@pytest.mark.parametrize(
    ("outcome", "error"),
    [
        (lambda cell: outcome_of(cell, offsets={"model": object()}), "PydanticSerializationError"),
        (lambda cell: outcome_of(cell, epochs="many"), "ValidationError"),
        (lambda cell: Outcome(epochs=3), "ValidationError"),  # no test report
        (lambda cell: None, "TypeError"),
    ],
)
def test_an_outcome_that_cannot_be_kept_is_a_failure_of_its_cell(tmp_path, outcome, error):
    (result,) = run_cells(cells_of(["a"]), outcome, tmp_path)
    assert result.error is not None
    assert result.error.startswith(f"{error}: ")
    assert CellResult.read(tmp_path / "a-seed0.json") == result


# writing


def test_a_write_that_fails_leaves_the_old_file_and_no_part_of_the_new_one(tmp_path, monkeypatch):
    (result,) = run_cells(cells_of(["a"]), Recorder({"a": ZeroDivisionError()}), tmp_path)
    before = (tmp_path / "a-seed0.json").read_bytes()
    write = Path.write_text

    def half_written(self, text, **options):
        write(self, text[: len(text) // 2], **options)
        raise OSError("disk full")

    monkeypatch.setattr(Path, "write_text", half_written)
    with pytest.raises(OSError, match="disk full"):
        run_cells(cells_of(["a", "b"]), Recorder(), tmp_path)
    assert names_in(tmp_path) == ["a-seed0.json"]
    assert (tmp_path / "a-seed0.json").read_bytes() == before
    assert result.error is not None


def test_an_interruption_while_writing_leaves_nothing(tmp_path, monkeypatch):
    def interrupted(self, target):
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_cells(cells_of(["a"]), Recorder(), tmp_path)
    assert names_in(tmp_path) == []


# progress


def test_progress_tells_what_happens_and_where_it_stands(tmp_path):
    run_cells(cells_of(["a"]), Recorder(), tmp_path)
    lines = []
    _, result = run_cells(cells_of(["a", "b"]), Recorder(), tmp_path, lines.append)
    assert lines == [
        "[1 of 2] a, seed 0: reused",
        "[2 of 2] b, seed 0: started",
        f"[2 of 2] b, seed 0: finished, worst-class test error {result.worst_error:.1%}, 3 epochs, 2 s",
    ]


def test_a_finished_cell_is_on_disk_when_it_is_told(tmp_path):
    class ShownWrongError(Exception):
        pass

    def broken_progress(line):
        if "finished" in line:
            assert str(CellResult.read(tmp_path / "a-seed0.json")) in line
            raise ShownWrongError

    with pytest.raises(ShownWrongError):
        run_cells(cells_of(["a", "b"]), Recorder(), tmp_path, broken_progress)
    assert names_in(tmp_path) == ["a-seed0.json"]


def test_the_folder_is_made_before_anything_runs(tmp_path):
    folder = tmp_path / "deep" / "cells"
    run_cells(cells_of(["a"]), lambda cell: outcome_of(cell) if folder.is_dir() else None, folder)
    assert CellResult.read(folder / "a-seed0.json").error is None


# side by side


def slow_outcome(cell):
    """An outcome that knows its process and threads; the first cell ends last."""
    import torch

    if cell.seed == 0:
        time.sleep(0.3)
    return outcome_of(cell, offsets={"pid": os.getpid(), "threads": torch.get_num_threads()})


def test_workers_write_every_cell_and_results_come_in_the_order_of_the_cells(tmp_path):
    cells = cells_of(["a", "b"], 3)
    lines = []
    results = run_cells(cells, slow_outcome, tmp_path, lines.append, n_jobs=2)
    assert [result.cell for result in results] == cells
    assert results == [CellResult.read(tmp_path / cell.file_name) for cell in cells]
    told = [f"[{place + 1} of 6] {one.method}, seed {one.seed}: {one}" for place, one in enumerate(results)]
    assert [line.split("; about")[0] for line in sorted(lines)] == told
    assert sum("; about" in line for line in lines) == 5  # all but the last
    pids = {result.offsets["pid"] for result in results}
    assert os.getpid() not in pids
    assert {result.offsets["threads"] for result in results} == {1}
    alone = run_cells(cells, slow_outcome, tmp_path / "alone")
    assert {result.offsets["pid"] for result in alone} == {os.getpid()}
    strip = {"offsets", "seconds"}
    assert [one.model_dump(exclude=strip) for one in results] == [one.model_dump(exclude=strip) for one in alone]


def test_a_cell_that_fails_in_a_worker_is_written_as_failed(tmp_path):
    results = run_cells(cells_of(["a", "b", "c"]), Recorder({"b": ZeroDivisionError("by zero")}), tmp_path, n_jobs=2)
    assert [result.error is None for result in results] == [True, False, True]
    assert results[1].error == "ZeroDivisionError: by zero"


KILLED = """
import sys, time
from pathlib import Path
sys.path.insert(0, {tests!r})
from test_cells import cells_of, outcome_of
from worstclass.experiments.cells import run_cells

def run(cell):
    if cell.method == "slow":
        time.sleep(600)
    return outcome_of(cell)

run_cells(cells_of(["a", "b", "slow", "c"]), run, Path(sys.argv[1]), n_jobs=2)
"""


def test_a_killed_run_loses_only_running_cells(tmp_path):
    script = tmp_path / "run.py"
    script.write_text(KILLED.format(tests=str(Path(__file__).parent)))
    folder = tmp_path / "cells"
    process = subprocess.Popen([sys.executable, str(script), str(folder)], start_new_session=True)
    try:
        wanted = {f"{name}-seed0.json" for name in "abc"}
        while not (folder.is_dir() and wanted <= set(names_in(folder))):
            assert process.poll() is None
            time.sleep(0.1)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert names_in(folder) == sorted(wanted)
    again = Recorder()
    results = run_cells(cells_of(["a", "b", "slow", "c"]), again, folder)
    assert again.ran == [("slow", 0)]
    assert [result.error for result in results] == [None] * 4


# the time that is left


def test_the_time_left_follows_from_the_finished_cells_of_each_method():
    cells = [Cell(method, "toy", seed) for seed in range(3) for method in ("fast", "slow", "new")]
    facts = {"provenance": Provenance.collect(), "seconds": 0.0}
    report = class_report([0, 1], [0, 1])
    taken = [("fast", 0, 2.0), ("fast", 1, 4.0), ("slow", 0, 30.0)]
    done = [CellResult.of(Cell(m, "toy", s), Outcome(test=report, seconds=t), **facts) for m, s, t in taken]
    # left: fast once (3 s), slow twice (30 s each), new three times (the mean of 3 s and 30 s)
    assert seconds_left(cells, done) == pytest.approx(3 + 60 + 3 * 16.5)
    assert seconds_left(cells, done, n_workers=2) == pytest.approx((3 + 60 + 3 * 16.5) / 2)
    assert seconds_left(cells, []) is None
    assert seconds_left([one.cell for one in done], done) == 0


def test_cells_of_several_data_sets_have_a_folder_each(tmp_path):
    cells = [Cell("a", data, 0) for data in ("one", "two")]
    lines = []
    results = run_cells(cells, Recorder(), tmp_path, lines.append, by_data=True)
    assert [result.data for result in results] == ["one", "two"]
    assert names_in(tmp_path) == ["one", "two"]
    assert lines[0] == "[1 of 2] one, a, seed 0: started"
    assert run_cells(cells, Recorder(), tmp_path, lines.append, by_data=True) == results
