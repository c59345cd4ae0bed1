"""Faults, each caused for real: a full disk, a read-only folder, no memory, signals, a worker that dies."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import textwrap
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.tree import DecisionTreeClassifier

from worstclass import TorchLearner, WorstClassBooster, load_model, save_model
from worstclass.boosting.callbacks import Callback
from worstclass.cli.app import run
from worstclass.exceptions import CheckpointError, WorstClassError
from worstclass.storage.checkpoint import Clock, FolderCheckpoint


def always() -> Clock:
    return Clock(share=np.inf, first=0, every=0)


def mlp_booster(**options):
    learner = TorchLearner("mlp", module_options={"hidden": (256, 256)}, lr=0.003, standardize=True)
    return WorstClassBooster(learner, **{"theta": 0.9, "n_rounds": 20, "extend": False, "random_state": 0, **options})


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 2 MB."""
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)], capture_output=True)
    if mounted.returncode:
        pytest.skip("a tmpfs cannot be mounted here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def remounted(place: Path, options: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{options}", str(place)], check=True)


def test_a_full_disk_ends_the_fit_with_its_finished_rounds_and_it_goes_on_later(small_disk):
    X, y = load_wine(return_X_y=True)
    whole, booster = mlp_booster().fit(X, y), mlp_booster()
    with pytest.raises(CheckpointError, match=r"cannot be written: .*No space left.*goes on from there"):
        booster.fit(X, y, checkpoint=FolderCheckpoint(small_disk / "kept", always()))
    assert 0 < len(booster.estimators_) < 20
    assert np.array_equal(
        booster.estimators_[0].predict(booster._inputs(X)), whole.estimators_[0].predict(whole._inputs(X))
    )
    kept = len(list((small_disk / "kept").glob("round-????")))
    assert kept >= 3
    remounted(small_disk, "size=60m")
    again = mlp_booster().fit(X, y, checkpoint=FolderCheckpoint(small_disk / "kept", always()))
    assert np.array_equal(again.predict_proba(X), whole.predict_proba(X))


def test_saving_on_a_full_disk_leaves_the_old_model(small_disk):
    X, y = load_wine(return_X_y=True)
    old = WorstClassBooster(DecisionTreeClassifier(), theta=0.5, random_state=0).fit(X, y)
    save_model(old, small_disk / "model")
    with pytest.raises((OSError, WorstClassError)):
        save_model(mlp_booster().fit(X, y), small_disk / "model")
    assert np.array_equal(load_model(small_disk / "model").predict(X), old.predict(X))


def test_a_read_only_folder_is_told_before_anything_is_trained(small_disk):
    X, y = load_wine(return_X_y=True)
    remounted(small_disk, "ro")
    booster = mlp_booster()
    with pytest.raises(CheckpointError, match="Read-only file system"):
        booster.fit(X, y, checkpoint=small_disk / "kept")
    assert not hasattr(booster, "estimators_")


def test_a_folder_that_is_gone_is_made_again(tmp_path):
    X, y = load_wine(return_X_y=True)

    class Remove(Callback):
        def on_round_end(self, booster, record):
            if record.round == 3:
                shutil.rmtree(tmp_path / "kept")

    kept = FolderCheckpoint(tmp_path / "kept", always())
    booster = mlp_booster(n_rounds=5, callbacks=[Remove()]).fit(X, y, checkpoint=kept)
    assert len(booster.estimators_) == 5
    assert sorted(part.name for part in (tmp_path / "kept").glob("round-????")) == ["round-0004", "round-0005"]


def test_no_memory_in_a_round_keeps_the_rounds_before_it(tmp_path):
    code = f"""
    import resource, sys, warnings
    import numpy as np, torch
    torch.set_num_threads(1)
    from sklearn.datasets import load_wine
    sys.path.insert(0, {str(Path(__file__).parent)!r})
    from test_faults import always, mlp_booster
    from worstclass.boosting.callbacks import Callback
    from worstclass.storage.checkpoint import FolderCheckpoint

    class Limit(Callback):
        def on_round_end(self, booster, record):
            if record.round == 3:
                used = int(open("/proc/self/statm").read().split()[0]) * 4096
                resource.setrlimit(resource.RLIMIT_AS, (used + 1_000_000, resource.RLIM_INFINITY))

    X, y = load_wine(return_X_y=True)
    booster = mlp_booster(callbacks=[Limit()])
    booster.learner.set_params(module_options={{"hidden": (2048, 2048)}})
    try:
        booster.fit(X, y, checkpoint=FolderCheckpoint({str(tmp_path / "kept")!r}, always()))
    except BaseException as error:  # MemoryError, torch's RuntimeError, or the panic of safetensors, which is neither
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        print("failed", type(error).__name__, len(booster.estimators_))
    """
    ended = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=300)
    assert ended.stdout.startswith("failed"), ended.stderr
    assert int(ended.stdout.split()[-1]) >= 3
    assert (tmp_path / "kept" / "round-0003").is_dir()
    assert resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY


# the command line


@pytest.fixture
def iris(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    load_iris(as_frame=True).frame.to_csv("iris.csv", index=False)
    return tmp_path


LONG = ["fit", "iris.csv", "--target", "target", "--method", "ours", "--theta", "0.97", "--gamma", "0.1"]
LONG += ["--rounds", "2000", "--extend", "0", "--out", "model"]


def started(words, folder: Path) -> subprocess.Popen:
    """Start a command in a process group of its own, and wait until it trains."""
    process = subprocess.Popen(
        [sys.executable, "-m", "worstclass", *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        start_new_session=True,
    )
    seen = ""
    while "round 1 of" not in seen:
        line = process.stderr.readline()
        assert line, process.stdout.read()
        seen += line
    return process


@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGTERM])
def test_one_signal_ends_a_fit_after_its_epoch_saves_and_names_the_next_command(iris, capsys, signal_number):
    process = started(LONG, iris)
    time.sleep(0.5)
    os.kill(process.pid, signal_number)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "stopping after this step; press Ctrl-C again to stop at once" in err
    assert "To go on: worstclass resume model" in err
    assert "model:  model" in out
    n_rounds = len(load_model(iris / "model").estimators_)
    assert n_rounds >= 1
    kept = len(list((iris / "model" / "checkpoint").glob("round-????")))
    assert kept >= n_rounds
    # an unfinished fit is not replaced by another one
    assert run([word.replace("0.97", "0.9") for word in LONG]) == 2
    message = capsys.readouterr().err
    assert "theta: 0.97 there, 0.9 here" in message
    assert "Delete the folder to start anew" in message


def test_a_second_process_on_one_folder_is_refused_and_two_signals_stop_at_once(iris, capsys):
    process = started(LONG, iris)
    assert run(LONG) == 2
    assert "Another process is working in" in capsys.readouterr().err
    assert process.poll() is None
    os.kill(process.pid, signal.SIGINT)
    os.kill(process.pid, signal.SIGINT)
    process.communicate(timeout=120)
    assert process.returncode in (1, 130)


def test_a_fit_that_was_killed_is_resumed_and_equals_one_that_was_not(iris, capsys):
    words = [word.replace("2000", "20") for word in LONG]
    process = started(words, iris)
    os.kill(process.pid, signal.SIGTERM)  # the first rounds are in the checkpoint
    process.communicate(timeout=120)
    assert (iris / "model" / "command.json").is_file()
    assert run(["resume", "model"]) in (0, 1)
    assert "resuming: worstclass fit iris.csv" in capsys.readouterr().err
    assert not (iris / "model" / "checkpoint").exists()
    assert not (iris / "model" / "command.json").exists()
    assert run([*words[:-1], "whole"]) in (0, 1)
    names = sorted(file.name for file in (iris / "whole" / "members").iterdir())
    assert names == sorted(file.name for file in (iris / "model" / "members").iterdir())
    for name in names:
        assert (iris / "whole/members" / name).read_bytes() == (iris / "model/members" / name).read_bytes()
    assert run(["resume", "model"]) == 2
    assert "nothing to resume in model: it has no command.json. The model there is finished." in capsys.readouterr().err


def test_resume_starts_no_code_that_a_file_names(iris, capsys):
    (iris / "model").mkdir()
    (iris / "model" / "command.json").write_text(
        '{"words": ["fit", "iris.csv", "--network", "evil.py:build", "--out", "model"], "folder": "."}'
    )
    assert run(["resume", "model"]) == 2
    assert "Type it again: worstclass fit iris.csv --network evil.py:build --out model" in capsys.readouterr().err
    for text, message in {
        '{"words": ["predict", "x"], "folder": "."}': "names no command that can be resumed",
        "{": "is damaged",
        '{"words": 3}': "is damaged",
    }.items():
        (iris / "model" / "command.json").write_text(text)
        assert run(["resume", "model"]) == 2
        assert message in capsys.readouterr().err
    assert run(["resume", "nowhere"]) == 2
    assert "nothing to resume in nowhere" in capsys.readouterr().err


def test_a_comparison_is_resumed(iris, capsys):
    words = ["compare", "iris.csv", "--target", "target", "--methods", "logistic,forest", "--seeds", "1"]
    assert run([*words, "--out", "compared"]) == 0
    capsys.readouterr()
    assert run(["resume", "compared"]) == 0
    assert capsys.readouterr().err.count("reused") == 2


def test_a_worker_that_dies_costs_its_cells_alone(iris, capsys):
    (iris / "fatal.py").write_text(
        "import os\nfrom sklearn.linear_model import LogisticRegression\n"
        "class Fatal(LogisticRegression):\n"
        "    def fit(self, X, y):\n"
        "        if not os.path.exists('healed'):\n"
        "            os._exit(9)\n"
        "        return super().fit(X.select_dtypes('number'), y)\n"
        "    def predict(self, X):\n"
        "        return super().predict(X.select_dtypes('number'))\n"
    )
    words = ["compare", "iris.csv", "--target", "target", "--methods", "logistic,+fatal.py:Fatal", "--seeds", "2"]
    words += ["--jobs", "2", "--out", "compared"]
    assert run(words) == 2
    message = capsys.readouterr().err
    assert "A worker process ended" in message
    assert "the same command continues" in message
    (iris / "healed").touch()
    assert run(words) == 0


def test_a_callback_that_raises_keeps_the_finished_rounds(tmp_path):
    X, y = load_wine(return_X_y=True)

    class Broken(Callback):
        def on_round_end(self, booster, record):
            if record.round == 2:
                raise ZeroDivisionError("in the callback")

    booster = mlp_booster(callbacks=[Broken()])
    with pytest.raises(ZeroDivisionError):
        booster.fit(X, y, checkpoint=tmp_path / "kept")
    assert len(booster.estimators_) == 2
    whole = mlp_booster().fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again = mlp_booster().fit(X, y, checkpoint=tmp_path / "kept")
    assert np.array_equal(again.predict_proba(X), whole.predict_proba(X))
