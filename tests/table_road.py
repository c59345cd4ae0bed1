"""The road of a table without torch and matplotlib: in Python, on the command line, and what is said about the rest.

Run as a script in an empty folder, by ``test_base_install.py`` where both are hidden, and by ``test_wheel.py`` where
they are not installed. The folder may hold ``network``, a model that needs torch.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeClassifier

import worstclass
from worstclass import (
    AbstainingClassifier,
    ClassErrorDisplay,
    TensorBoardCallback,
    WorstClassBooster,
    WorstClassClassifier,
    WorstClassOffsets,
    build_method,
    certify,
    load_model,
    save_model,
    select_theta,
)
from worstclass.cli.app import run
from worstclass.exceptions import MissingPackageError


def patients(n: int, seed: int) -> pd.DataFrame:
    """Benign rows around 0, malignant ones around 3: one in fifteen is wrong."""
    rng = np.random.default_rng(seed)
    kind = np.where(np.arange(n) % 2, "malignant", "benign")
    return pd.DataFrame({"size": rng.normal(np.where(kind == "malignant", 3.0, 0.0)), "kind": kind})


def rows(n: int, seed: int) -> tuple[pd.DataFrame, pd.Series]:
    frame = patients(n, seed)
    return frame[["size"]], frame["kind"]


def in_python() -> None:
    fresh, y = rows(600, 1)
    model = WorstClassClassifier(cv=2, random_state=0).fit(*rows(60, 0))
    assert ((model.predict(fresh) == y).mean() > 0.8, model.notes_) == (True, ())
    booster = WorstClassBooster(DecisionTreeClassifier(max_depth=1), 0.6, n_rounds=3, random_state=0)
    save_model(booster.fit(*rows(200, 0)), "booster")
    again = load_model("booster")
    assert (again.predict(fresh) == booster.predict(fresh)).all()
    assert certify(again, fresh, y, require=0.7).verdict == "proven"
    assert WorstClassOffsets(again, cv="prefit").fit(fresh, y).offsets_.shape == (2,)
    assert AbstainingClassifier(again, risk=0.3, cv="prefit").fit(fresh, y).proven_
    assert select_theta(booster, *rows(200, 0), candidates=[0.5, 0.6]).theta in (0.5, 0.6)


def command(*words: str) -> tuple[int, str, str]:
    """Run a command; return its exit code, its results and the rest that it shows."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(list(words))
    return code, out.getvalue(), err.getvalue()


def on_the_command_line() -> None:
    for name, n, seed in (("train", 100, 0), ("held_out", 600, 1), ("fresh", 600, 2)):
        patients(n, seed).to_csv(f"{name}.csv", index=False)
    kind = ("--target", "kind")
    trees = ("--method", "ours-trees", "--theta", "0.6", "--rounds", "2", "--set", "max_iter=5")
    for words in (
        ("fit", "train.csv", *kind, "--set", "cv=2", "--test-share", "0", "--out", "auto"),
        ("predict", "auto", "fresh.csv", "--out", "answers.csv"),
        ("fit", "train.csv", *kind, *trees, "--test-share", "0", "--out", "model"),
        ("evaluate", "model", "fresh.csv", *kind),
        ("certify", "model", "fresh.csv", *kind, "--require", "0.7"),
        ("offsets", "model", "held_out.csv", *kind, "--out", "tuned"),
        ("abstain", "model", "held_out.csv", *kind, "--risk", "0.3", "--out", "careful"),
        ("theta", "train.csv", *kind, "--candidates", "0.5,0.6", "--rounds", "1", "--out", "chosen"),
        ("compact", "model", "train.csv", *kind, "--test-share", "0", "--out", "small"),
        ("report", "careful", "fresh.csv", *kind),
    ):
        code, out, err = command(*words)
        assert code == 0, (words, out, err)
    code, out, err = command(
        "compare", "train.csv", *kind, "--methods", "logistic", "--seeds", "1", "--out", "compared"
    )
    assert (code, Path("compared/comparison.csv").exists()) == (0, True), (out, err)
    assert "left out: comparison.png (pip install 'worstclass[plots]'" in err
    told = {method["name"]: method for method in json.loads(command("methods", "--json")[1])["methods"]}
    assert (told["ours"]["requires"], told["ours"]["is_installed"]) == ("torch", False)
    assert (told["auto"]["requires"], told["ours-trees"]["is_installed"]) == (None, True)
    shown = command("methods")[1]
    assert "torch, not installed" in shown
    assert "To install what is missing: pip install 'worstclass[" in shown


def images() -> None:
    """Images are trained without the network."""
    y = np.arange(40) % 2
    X = np.random.default_rng(0).integers(0, 100, (40, 1, 8, 8), dtype=np.uint8) + (
        100 * y[:, None, None, None]
    ).astype("u1")
    model = WorstClassClassifier(cv=2, random_state=0).fit(X, y)
    assert [member.name for member in model.portfolio_] == ["pixel-kernel", "pixel-trees", "patches"]
    hint = "pip install 'worstclass[torch]'"
    assert model.notes_ == (f"network was left out: it needs torch, which is not installed: {hint}",)


def what_is_missing() -> None:
    tracked = WorstClassBooster(DecisionTreeClassifier(), 0.6, n_rounds=1, callbacks=[TensorBoardCallback("runs")])
    calls = {
        "TorchLearner needs the package torch": lambda: worstclass.TorchLearner,
        "NetworkClassifier needs the package torch": lambda: worstclass.NetworkClassifier,
        "export_torch needs the package torch": lambda: worstclass.export_torch,
        "The method 'ours' needs the package torch": lambda: build_method("ours", theta=0.8),
        "TensorBoardCallback needs the package torch": lambda: tracked.fit(*rows(40, 0)),
        "ClassErrorDisplay needs the package matplotlib": lambda: ClassErrorDisplay.from_predictions(["a"], ["a"]),
    }
    if Path("network").exists():
        calls["This model needs the package torch"] = lambda: load_model("network")
    for message, call in calls.items():
        try:
            call()
        except MissingPackageError as error:
            extra = "torch" if message.endswith("torch") else "plots"
            assert str(error) == f"{message}, which is not installed: pip install 'worstclass[{extra}]'."  # noqa: PT017
        else:
            raise AssertionError(message)
    torch = "needs the package torch, which is not installed: pip install 'worstclass[torch]'."
    for words, start in (
        (("fit", "artificial-balanced", "--network", "mlp", "--out", "no"), "The method 'auto+network'"),
        (("compare", "iris", "--methods", "forest,ce", "--out", "no"), "The method 'ce'"),
        (("reproduce", "table1", "--out", "no"), "The method 'ce'"),
        (("export", "model", "fresh.csv", "--target", "kind", "--torch", "model.pt2"), "export_torch"),
    ):
        code, _, err = command(*words)
        assert (code, err.splitlines()[-1]) == (2, f"error: {start} {torch}")


if __name__ == "__main__":
    assert find_spec("torch") is find_spec("matplotlib") is None
    in_python()
    on_the_command_line()
    images()
    what_is_missing()
    assert not {"torch", "matplotlib"} & set(sys.modules)
