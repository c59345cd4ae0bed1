"""Cells on a Dask cluster of real processes: the same results, a worker that is killed, no scheduler, no workers."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from worstclass.cli.app import run
from worstclass.exceptions import ParameterError
from worstclass.experiments.cells import Cell, run_cells
from worstclass.experiments.run import Outcome
from worstclass.metrics import class_report

distributed = pytest.importorskip("distributed")
WAIT = 60


def start(*words):
    command = [sys.executable, "-m", "distributed.cli." + words[0], *words[1:], "--no-dashboard"]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@pytest.fixture(scope="module")
def scheduler():
    """The address of a scheduler that runs as a process of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = start("dask_scheduler", "--host", "127.0.0.1", "--port", str(port))
    yield f"tcp://127.0.0.1:{port}"
    process.kill()
    process.wait()


@pytest.fixture
def workers(scheduler):
    """Two workers with one thread each."""
    started = [start("dask_worker", scheduler, "--nthreads", "1", "--no-nanny") for _ in range(2)]
    with distributed.Client(scheduler, timeout=WAIT) as client:
        client.wait_for_workers(2, timeout=WAIT)
    yield started
    for process in started:
        process.kill()
        process.wait()


def cells(n):
    return [Cell("toy", "numbers", seed) for seed in range(n)]


def slow_cell(folder, seconds):
    """A function that leaves a file with its seed and process when it begins; workers get it by value."""

    def run_cell(cell):
        (folder / f"{cell.seed}-{os.getpid()}").touch()
        time.sleep(seconds)
        return Outcome(test=class_report([0, 1, 1, 1], [0, 1, cell.seed % 2, 0]))

    return run_cell


def test_a_cluster_gives_the_results_of_this_machine(scheduler, workers, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = ["reproduce", "fig-weights", "--scale", "smoke", "--quiet", "--out"]
    assert run([*words, "here"]) == 0
    assert run([*words, "there", "--cluster", scheduler]) == 0
    name = Path("smoke", "cells", "squares", "ours-theta0.1-seed0.json")
    here, there = (json.loads((Path(out) / name).read_text()) for out in ("here", "there"))
    assert here.pop("seconds") != there.pop("seconds")  # it was trained twice
    assert here == there
    assert here["test"]["classes"]


def test_a_killed_worker_costs_its_cell_alone(scheduler, workers, tmp_path):
    begun, results = tmp_path / "begun", tmp_path / "cells"
    begun.mkdir()

    def kill_one_that_works():
        until = time.monotonic() + WAIT
        while time.monotonic() < until:
            pids = {int(file.name.split("-")[1]) for file in begun.iterdir()} & {process.pid for process in workers}
            if len(pids) == 2:
                os.kill(workers[0].pid, signal.SIGKILL)
                return
            time.sleep(0.05)

    thread = threading.Thread(target=kill_one_that_works)
    thread.start()
    made = run_cells(cells(4), slow_cell(begun, 1.0), results, cluster=scheduler)
    thread.join()
    assert workers[0].poll() is not None  # it was killed while it worked
    assert [result.error for result in made] == [None] * 4
    again = run_cells(cells(4), slow_cell(begun, 0.0), tmp_path / "alone")
    assert [result.test for result in made] == [result.test for result in again]
    assert len(list(results.iterdir())) == 4


def test_no_scheduler_and_no_workers_are_one_clear_error_each(scheduler, tmp_path, monkeypatch):
    monkeypatch.setattr("worstclass.experiments.cells.CONNECT_SECONDS", 1)
    with pytest.raises(
        ParameterError, match="'cluster' parameter of run_cells must be the address of a Dask scheduler"
    ):
        run_cells(cells(1), slow_cell(tmp_path, 0.0), tmp_path, cluster="tcp://127.0.0.1:9")
    with distributed.Client(scheduler, timeout=WAIT) as client:
        until = time.monotonic() + WAIT
        while client.scheduler_info()["workers"] and time.monotonic() < until:
            time.sleep(0.1)
    with pytest.raises(ParameterError, match="that has workers"):
        run_cells(cells(1), slow_cell(tmp_path, 0.0), tmp_path, cluster=scheduler)
