"""Checkpoints: a fit that was stopped at any moment goes on, and ends with the same model, bit for bit."""

from __future__ import annotations

import multiprocessing
import pickle
import shutil
import signal
import subprocess
import sys
import textwrap
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from torch import nn

from worstclass import (
    AbstainingClassifier,
    TorchLearner,
    WorstClassBooster,
    WorstClassClassifier,
    WorstClassOffsets,
    load_model,
    save_model,
    select_theta,
)
from worstclass._state import KEEPS_NOTHING
from worstclass.boosting.callbacks import Callback
from worstclass.boosting.oco import InstanceBooster
from worstclass.ensembles.networks import DeepEnsemble, NetworkClassifier
from worstclass.ensembles.portfolio import portfolio_for
from worstclass.exceptions import CheckpointError, ParameterError
from worstclass.storage import checkpoint as storing
from worstclass.storage.checkpoint import Clock, FolderCheckpoint


class Killed(BaseException):
    """Stands for the end of a process."""


def always() -> Clock:
    """Write everything at once."""
    return Clock(share=np.inf, first=0, every=0)


def noisy_network(input_shape, n_classes):
    return nn.Sequential(
        nn.Flatten(), nn.Linear(int(np.prod(input_shape)), 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.3),
        nn.Linear(16, n_classes),
    )  # fmt: skip


def images(n=60, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = rng.normal(size=(n, 1, 8, 8)).astype(np.float32)
    X[np.arange(n), 0, 2 * y, :] += 1.5
    return X, y


def table():
    X, y = load_wine(return_X_y=True)
    return X[:, :4], y


SMALL = TorchLearner(noisy_network, lr=0.02, batch_size=20, standardize=True)
IMAGES = TorchLearner("cnn-small", module_options={"width": 4}, lr=0.01, batch_size=16, augment="crop-flip")
BOOSTER = {"theta": 0.8, "gamma": 0.3, "n_rounds": 4, "extend": 2, "random_state": 0, "max_epochs_per_round": 8}


def small_portfolio():
    """Return the classifiers of the default portfolio, with fewer trees."""
    X, y = table()
    classifiers, _ = portfolio_for("auto", X, y)
    classifiers["extra-trees"].set_params(n_estimators=10)
    classifiers["boosted-trees"].set_params(histgradientboostingclassifier__max_iter=5)
    return list(classifiers.items())


ESTIMATORS = {
    "booster of networks": (WorstClassBooster(SMALL, **BOOSTER), table),
    "booster of convolutions": (WorstClassBooster(IMAGES, **BOOSTER), images),
    "booster that carries on": (
        WorstClassBooster(clone(SMALL).set_params(start="warm", optimizer_state="carry"), **BOOSTER),
        table,
    ),
    "booster of trees": (WorstClassBooster(DecisionTreeClassifier(), **{**BOOSTER, "theta": 0.95}), table),
    "boosting over rows": (InstanceBooster(SMALL, gamma=0.2, n_rounds=3, random_state=0), table),
    "network": (
        NetworkClassifier(clone(IMAGES).set_params(decay_epochs=9), max_epochs=9, snapshots=(2, 4), random_state=0),
        images,
    ),
    "network with sgd": (
        NetworkClassifier(clone(SMALL).set_params(optimizer="sgd", loss="focal"), max_epochs=7, random_state=0),
        table,
    ),
    "networks": (DeepEnsemble(SMALL, n_estimators=3, max_epochs=9, random_state=0), table),
    "portfolio": (WorstClassClassifier(small_portfolio(), random_state=0, cv=2), table),
    "portfolio of a network": (
        WorstClassClassifier([SMALL, LogisticRegression(max_iter=300)], max_epochs=30, cv=3, random_state=0),
        table,
    ),
    "offsets": (WorstClassOffsets(RandomForestClassifier(5, random_state=0), cv=3, random_state=0), table),
    "offsets of a booster": (WorstClassOffsets(WorstClassBooster(SMALL, **BOOSTER), cv=2, random_state=0), table),
    "abstaining": (AbstainingClassifier(NetworkClassifier(SMALL, max_epochs=5, random_state=0), risk=0.4), table),
}


def state_of(value):
    """Return what an estimator would store, as nested plain values; without times."""
    if hasattr(value, "state") and callable(value.state):
        value = {name: part for name, part in value.state().items() if name not in ("history_", "portfolio_")}
        return state_of(value)
    if hasattr(value, "state") and not hasattr(value, "fit"):  # a member
        return state_of(value.state)
    if isinstance(value, dict):
        return {key: state_of(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [state_of(part) for part in value]
    if isinstance(value, torch.Tensor | np.ndarray):
        array = np.asarray(value)
        return array.dtype.str, array.shape, array.tobytes() if array.dtype != object else array.tolist()
    return type(value).__name__ if hasattr(value, "fit") or hasattr(value, "encode") else repr(value)


def assert_same(one, other, X):
    assert state_of(one) == state_of(other)
    assert np.array_equal(one.predict_proba(X), other.predict_proba(X))
    assert np.array_equal(one.predict(X), other.predict(X))


def fitted(estimator, X, y, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clone(estimator).fit(X, y, **options)


def killed_after(n_writes, monkeypatch, run):
    """Run until so many results are written, then stop as if the process had been killed; tell whether it was."""
    write, left = storing.write_result, iter(range(n_writes))

    def counted(*arguments):
        write(*arguments)
        if next(left, None) is None:
            raise Killed

    monkeypatch.setattr(storing, "write_result", counted)
    try:
        run()
        return False
    except Killed:
        return True
    finally:
        monkeypatch.setattr(storing, "write_result", write)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_fit_that_is_killed_again_and_again_ends_with_the_same_model(name, tmp_path, monkeypatch):
    estimator, load = ESTIMATORS[name]
    X, y = load()
    whole = fitted(estimator, X, y)
    kills, step = 0, 0
    while killed_after(
        step, monkeypatch, lambda: fitted(estimator, X, y, checkpoint=FolderCheckpoint(tmp_path / "kept", always()))
    ):
        kills, step = kills + 1, (step + 1) % 4
        assert kills < 300, "no progress"
    again = fitted(estimator, X, y, checkpoint=FolderCheckpoint(tmp_path / "kept", always()))
    assert kills >= 2
    assert_same(again, whole, X)


DEFAULT = {"default portfolio": (WorstClassClassifier(random_state=0, cv=2), table)}


@pytest.mark.parametrize("name", ["booster of networks", "network", "default portfolio", "offsets of a booster"])
def test_a_checkpoint_does_not_change_the_model(name, tmp_path):
    estimator, load = (ESTIMATORS | DEFAULT)[name]
    X, y = load()
    kept = fitted(estimator, X, y, checkpoint=FolderCheckpoint(tmp_path / "kept", always()))
    assert_same(kept, fitted(estimator, X, y), X)


def test_finished_rounds_are_not_trained_again(tmp_path):
    X, y = table()
    first = fitted(WorstClassBooster(SMALL, **BOOSTER), X, y, checkpoint=FolderCheckpoint(tmp_path / "kept", always()))
    epochs: list[int] = []
    train = type(SMALL).new_optimizer
    try:
        type(SMALL).new_optimizer = lambda self, module: epochs.append(1) or train(self, module)
        fitted(WorstClassBooster(SMALL, **BOOSTER), X, y, checkpoint=tmp_path / "kept")
    finally:
        type(SMALL).new_optimizer = train
    assert first.n_epochs_ > 0
    assert not epochs


def test_an_open_random_state_is_kept(tmp_path, monkeypatch):
    X, y = table()
    booster = clone(WorstClassBooster(SMALL, **BOOSTER)).set_params(random_state=None)

    def run():
        return fitted(booster, X, y, checkpoint=FolderCheckpoint(tmp_path / "kept", always()))

    first_member = tmp_path / "kept" / "round-0001" / "arrays.safetensors"
    for n_writes in range(3, 12):  # how many epochs the first round takes differs
        shutil.rmtree(tmp_path / "kept", ignore_errors=True)
        assert killed_after(n_writes, monkeypatch, run)
        if first_member.exists():
            break
    before = first_member.read_bytes()
    again = run()
    assert first_member.read_bytes() == before
    assert_same(run(), again, X)


def test_theta_goes_on(tmp_path, monkeypatch):
    X, y = load_iris(return_X_y=True)
    booster = WorstClassBooster(DecisionTreeClassifier(), theta=0.5, n_rounds=5, random_state=0)
    options = {"candidates": [0.5, 0.7, 0.9], "val_share": 0.3}
    whole = select_theta(booster, X, y, **options)
    folder = tmp_path / "kept"
    while killed_after(
        5, monkeypatch, lambda: select_theta(booster, X, y, **options, checkpoint=FolderCheckpoint(folder, always()))
    ):
        pass
    again = select_theta(booster, X, y, **options, checkpoint=folder)
    assert again.theta == whole.theta
    assert_same(again.booster, whole.booster, X)
    other = select_theta(booster, X, y, candidates=[0.6, 0.9], val_share=0.3, checkpoint=folder)
    assert [record.theta for record in other.candidates] == [0.6, 0.9]


# what is refused, and what is repaired


def test_another_fit_is_refused_and_told_why(tmp_path):
    X, y = table()
    booster = WorstClassBooster(DecisionTreeClassifier(), **BOOSTER)
    folder = tmp_path / "kept"
    fitted(booster, X, y, checkpoint=FolderCheckpoint(folder, always()))
    with pytest.raises(ParameterError, match=r"checkpoint.*theta: 0.8 there, 0.9 here.*Delete the folder"):
        fitted(clone(booster).set_params(theta=0.9), X, y, checkpoint=folder)
    with pytest.raises(ParameterError, match="max_depth"):
        fitted(clone(booster).set_params(learner__max_depth=3), X, y, checkpoint=folder)
    with pytest.raises(ParameterError, match="It differs in X"):
        fitted(booster, X + 1, y, checkpoint=folder)
    with pytest.raises(ParameterError, match="It differs in y"):
        fitted(booster, X, np.roll(y, 1), checkpoint=folder)
    with pytest.raises(ParameterError, match="a folder, or None"):
        fitted(booster, X, y, checkpoint=3)
    limited = clone(booster).set_params(max_seconds=1000)
    assert_same(fitted(limited, X, y, checkpoint=folder), fitted(booster, X, y), X)  # limits may change


def test_a_damaged_result_is_computed_again(tmp_path):
    X, y = table()
    booster = WorstClassBooster(SMALL, **BOOSTER)
    folder = tmp_path / "kept"
    whole = fitted(booster, X, y, checkpoint=FolderCheckpoint(folder, always()))
    for number, damage in enumerate(("flip", "cut", "json", "gone"), start=1):
        file = folder / f"round-000{number}" / ("value.json" if damage == "json" else "arrays.safetensors")
        data = bytearray(file.read_bytes())
        if damage == "gone":
            file.unlink()
            continue
        data[len(data) // 2] ^= 1
        file.write_bytes(data[: len(data) // 2] if damage == "cut" else data)
    assert_same(fitted(booster, X, y, checkpoint=FolderCheckpoint(folder, always())), whole, X)


def test_a_fit_that_fails_at_once_leaves_no_folder(tmp_path):
    X, y = table()
    with pytest.raises(ParameterError):
        WorstClassBooster(DecisionTreeClassifier(), theta=2).fit(X, y, checkpoint=tmp_path / "kept")
    assert not (tmp_path / "kept").exists()


def test_a_second_process_is_refused_and_a_dead_one_is_not_in_the_way(tmp_path):
    folder = tmp_path / "kept"
    code = f"""
    import time
    from worstclass.checkpoints import locked
    from pathlib import Path
    with locked(Path({str(folder)!r})):
        print("locked", flush=True)
        time.sleep(60)
    """
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "locked\n"
    X, y = table()
    booster = WorstClassBooster(DecisionTreeClassifier(), **BOOSTER)
    with pytest.raises(CheckpointError, match="Another process is working in"):
        fitted(booster, X, y, checkpoint=folder)
    process.send_signal(signal.SIGKILL)
    process.wait()
    fitted(booster, X, y, checkpoint=folder)


# when something is written


def test_writing_takes_a_small_share_of_the_time(tmp_path, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(storing.time, "perf_counter", lambda: now[0])
    clock = Clock(share=0.1, first=10, every=60)
    clock._started = clock._wrote = 0.0
    assert not clock.allows()
    now[0] = 10.0
    assert clock.allows(1)
    assert not clock.allows(1.1)  # of 10 seconds
    with clock.writing():
        now[0] = 12.0
    assert not clock.allows(2)  # 2 + 2 of 12 seconds
    now[0] = 39.9
    assert not clock.allows(2)
    now[0] = 40.0
    assert clock.allows(2)
    assert not clock.due  # the last write is 28 seconds old
    now[0] = 72.0
    assert clock.due


def test_a_large_result_waits_until_there_is_time_to_write_it(tmp_path, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(storing.time, "perf_counter", lambda: now[0])
    kept = FolderCheckpoint(tmp_path, Clock(share=0.02, first=10))
    kept.clock._started = kept.clock._wrote = 0.0
    now[0] = 30.0
    kept.keep("large", lambda: {"x": np.zeros(2_500_000)})  # 20 MB: 0.81 s
    assert list(kept.clock.waiting) == [tmp_path / "large"]
    now[0] = 40.0
    kept.keep("small", lambda: {"x": 1})  # the oldest go first
    assert not (tmp_path / "large").exists()
    now[0] = 41.0
    kept.keep("next", lambda: {"x": 1})
    assert not kept.clock.waiting  # the clock of the test stands still while they are written
    assert {file.name for file in tmp_path.iterdir()} == {"large", "small", "next"}


def test_results_are_written_as_far_as_there_is_time_and_by_the_speed_of_the_last(tmp_path, monkeypatch):
    now = [90.0]
    monkeypatch.setattr(storing.time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(storing, "write_result", lambda place, result, clock: slowly(place, clock))

    def slowly(place, clock):
        place.mkdir()
        with clock.writing():
            now[0] += 0.5

    kept = FolderCheckpoint(tmp_path, Clock(share=0.02, first=10))
    kept.clock._started = 0.0  # 90 seconds ago: there are 1.8 seconds
    for name in "abcdef":
        kept.clock.waiting[tmp_path / name] = {"x": np.zeros(250_000)}  # 2 MB: 0.09 s at first, then 0.51 s
    kept.keep("g", lambda: {"x": 1})
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a", "b", "c"]  # 2% of 91.5 s: 1.83
    now[0] = 101.0
    kept.keep("h", lambda: {"x": 1})
    assert (tmp_path / "d").exists()
    assert not (tmp_path / "e").exists()


def test_results_wait_until_there_is_time_and_are_written_when_a_fit_ends_early(tmp_path):
    clock = Clock(first=np.inf)
    X, y = table()

    class Bomb(Callback):
        def on_round_end(self, booster, record):
            if record.round == 3:
                raise Killed

    booster = WorstClassBooster(DecisionTreeClassifier(), **BOOSTER, callbacks=[Bomb()])
    with pytest.raises(Killed):
        booster.fit(X, y, checkpoint=FolderCheckpoint(tmp_path / "kept", clock))
    kept = sorted(part.name for part in (tmp_path / "kept").iterdir())
    assert [name for name in kept if name.startswith("round")] == ["round-0001", "round-0002", "round-0003"]
    assert not clock.waiting
    assert len(booster.estimators_) == 3


def test_a_checkpoint_crosses_processes_without_its_results(tmp_path):
    one = FolderCheckpoint(tmp_path, Clock(share=0.5, first=1, every=2), whole=False)
    one.clock.waiting[tmp_path / "x"] = {"a": 1}
    other = pickle.loads(pickle.dumps(one))
    assert (other.folder, other.whole, other.clock.can_wait) == (one.folder, False, False)
    assert (other.clock.share, other.clock.first, other.clock.every, other.clock.waiting) == (0.5, 1, 2, {})
    other.keep("y", lambda: {"a": 1})
    assert not other.clock.waiting
    assert not (tmp_path / "y").exists()


def test_nothing_is_kept_without_a_checkpoint():
    assert KEEPS_NOTHING.read("x") is None
    assert KEEPS_NOTHING.child("x") is KEEPS_NOTHING
    KEEPS_NOTHING.keep("x", lambda: pytest.fail("not needed"))
    KEEPS_NOTHING.note("x", lambda: pytest.fail("not needed"), now=True)


def test_folds_in_worker_processes_are_kept(tmp_path):
    X, y = table()
    model = WorstClassOffsets(RandomForestClassifier(5, random_state=0), cv=3, n_jobs=2, random_state=0)
    fitted(model, X, y, checkpoint=FolderCheckpoint(tmp_path / "kept", always()))
    kept = {part.name for part in (tmp_path / "kept").iterdir()}
    assert {"fold-1", "fold-2", "fold-3", "classifier"} <= kept
    again = fitted(clone(model).set_params(n_jobs=None), X, y, checkpoint=tmp_path / "kept")
    assert_same(again, fitted(model, X, y), X)


def test_half_precision_weights_come_back_bit_for_bit(tmp_path):
    kept = FolderCheckpoint(tmp_path, always())
    weights = torch.randn(300).to(torch.bfloat16)
    kept.keep("x", lambda: {"w": weights, "few": weights[:3]})
    found = kept.read("x")
    assert torch.equal(found["w"], weights)
    assert torch.equal(found["few"], weights[:3])


# stopping on purpose


@pytest.mark.parametrize("name", ["booster of networks", "network", "portfolio of a network"])
@pytest.mark.parametrize("n_looks", [4, 5])  # the stop may come before any step
def test_a_stop_ends_the_fit_after_the_step_and_keeps_it(name, n_looks, tmp_path, monkeypatch):
    estimator, load = ESTIMATORS[name]
    X, y = load()
    clock = Clock(first=np.inf)
    looks = iter([False] * n_looks)
    monkeypatch.setattr(Clock, "stop", property(lambda self: next(looks, True), lambda self, value: None))
    with pytest.raises(KeyboardInterrupt):
        fitted(estimator, X, y, checkpoint=FolderCheckpoint(tmp_path / "kept", clock))
    monkeypatch.undo()
    assert list((tmp_path / "kept").rglob("value.json"))
    again = fitted(estimator, X, y, checkpoint=FolderCheckpoint(tmp_path / "kept", always()))
    assert_same(again, fitted(estimator, X, y), X)


# real processes

#: processes start from one that has loaded all modules
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["worstclass.learners.torch_learner", "worstclass.boosting.booster", __name__])


def fit_and_save(kept: Path, model: Path, started: Any) -> None:
    torch.set_num_threads(1)
    X, y = load_wine(return_X_y=True)
    learner = TorchLearner("mlp", module_options={"hidden": (64, 64)}, lr=0.003, batch_size=32, standardize=True)
    booster = WorstClassBooster(learner, theta=0.9, gamma=0.3, n_rounds=25, extend=False, random_state=1)
    started.set()
    clock = Clock(share=1, first=0, every=0.02)
    save_model(fitted(booster, X, y, checkpoint=FolderCheckpoint(kept, clock)), model)


def same_files(one: Path, other: Path) -> bool:
    names = {str(file.relative_to(one)) for file in one.rglob("*") if file.is_file() and file.name != "history.json"}
    assert names == {
        str(file.relative_to(other)) for file in other.rglob("*") if file.is_file() and file.name != "history.json"
    }
    loaded, again = load_model(one), load_model(other)
    return state_of(loaded) == state_of(again)


def start(kept: Path, model: Path) -> Any:
    started = PROCESSES.Event()
    process = PROCESSES.Process(target=fit_and_save, args=(kept, model, started))
    process.start()
    assert started.wait(120)
    return process


def kill_until_done(folder: Path, wanted_kills: int, seed: int) -> int:
    """Kill the fit at random moments; return how often. It ends when it was not killed."""
    rng = np.random.default_rng(seed)
    kills = 0
    while True:
        process = start(folder / "kept", folder / "model")
        if kills < wanted_kills:
            time.sleep(float(rng.uniform(0, 1.5 / np.sqrt(wanted_kills))))
            process.kill()
        process.join(300)
        if process.exitcode == 0:
            return kills
        assert process.exitcode == -signal.SIGKILL
        kills += 1


def uninterrupted(folder: Path) -> Path:
    process = start(folder / "kept-whole", folder / "whole")
    process.join(300)
    assert process.exitcode == 0
    return folder / "whole"


def test_five_kills(tmp_path):
    kills = kill_until_done(tmp_path, 5, seed=0)
    assert kills >= 1
    assert same_files(uninterrupted(tmp_path), tmp_path / "model")


@pytest.mark.slow
def test_fifty_kills(tmp_path):
    whole, kills = uninterrupted(tmp_path), 0
    for seed in range(100):
        shutil.rmtree(tmp_path / "kept", ignore_errors=True)
        kills += kill_until_done(tmp_path, 10, seed)
        assert same_files(whole, tmp_path / "model")
        if kills >= 50:
            return
    pytest.fail(f"only {kills} kills")
