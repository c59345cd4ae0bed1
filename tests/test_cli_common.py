"""What all commands share: help of one screen, JSON, settings files, completion, errors and bars."""

from __future__ import annotations

import io
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from sklearn.datasets import load_iris

from worstclass import load_model
from worstclass._progress import steps
from worstclass.boosting.callbacks import FitPlan, NetworkEpochInfo
from worstclass.boosting.history import RoundRecord
from worstclass.cli.app import COMMANDS, run
from worstclass.cli.progress import busy, training_lines
from worstclass.cli.settings import EFFECTIVE
from worstclass.learners.sklearn_learner import SklearnMember
from worstclass.progress import LiveBar, ProgressCallback, is_live, weight_bars

NAMES = [[function.__name__] for function in COMMANDS] + [["datasets"], ["datasets", "check"], ["datasets", "get"], []]
FIT = ["fit", "iris.csv", "--target", "species", "--method", "ours-trees", "--theta", "0.9", "--rounds", "2"]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a table, and a model of it that the tests read."""
    folder = tmp_path_factory.mktemp("common")
    frame = load_iris(as_frame=True).frame
    frame["species"] = np.array(["setosa", "versicolor", "virginica"])[frame.pop("target")]
    frame.to_csv(folder / "iris.csv", index=False)
    rows = frame.copy()
    rows.iloc[:, :4] += 0.001 * np.arange(len(rows))[:, None] + 0.0007  # other rows, for what needs fresh ones
    rows.to_csv(folder / "fresh.csv", index=False)
    before = Path.cwd()
    os.chdir(folder)
    try:
        assert run([*FIT, "--seed", "3", "--out", "model", "--quiet"]) == 0
    finally:
        os.chdir(before)
    return folder


@pytest.fixture
def inside(place, monkeypatch):
    monkeypatch.chdir(place)
    return place


# --- help


@pytest.mark.parametrize("words", NAMES, ids=" ".join)
def test_help_fits_one_screen(words, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert run([*words, "--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 80


def test_every_option_is_named_in_help_and_explained_by_help_all(capsys):
    assert run(["fit", "--help"]) == 0
    short = capsys.readouterr().out
    assert run(["fit", "--help-all"]) == 0
    whole = capsys.readouterr().out
    assert "--patience" in short
    assert "Epochs without progress before a round ends." not in short
    assert "--patience N             Epochs without progress before a round ends." in whole
    assert "--start fresh|same|warm  Weights at the start of a round [fresh]." in whole


# --- JSON


def told(words, capsys):
    capsys.readouterr()
    code = run([*words, "--json"])
    return code, json.loads(capsys.readouterr().out)  # nothing else is there


def test_fit_as_json_with_progress_on_stderr(inside, capsys):
    code = run([*FIT, "--out", "told", "--json"])
    shown = capsys.readouterr()
    values = json.loads(shown.out)
    assert code == 0
    assert "round 2 of 2" in shown.err
    assert (values["out"], values["floors_met"], values["interrupted"]) == ("told", True, False)
    assert values["training"]["worst_error"] < 0.1


DATA = ["fresh.csv", "--target", "species"]
TELLS = {
    "evaluate": ["evaluate", "model", *DATA],
    "certify": ["certify", "model", *DATA, "--require", "0.5"],
    "offsets": ["offsets", "model", *DATA, "--out", "tuned"],
    "abstain": ["abstain", "model", *DATA, "--risk", "0.5", "--out", "careful"],
    "compact": ["compact", "model", "iris.csv", "--target", "species", "--out", "small"],
    "predict": ["predict", "model", "fresh.csv", "--out", "answers.csv"],
    "theta": ["theta", *DATA, "--candidates", "0.5,0.6", "--rounds", "1", "--out", "chosen"],
    "compare": ["compare", *DATA, "--methods", "logistic", "--seeds", "1", "--out", "compared"],
    "reproduce": ["reproduce"],
    "methods": ["methods"],
    "datasets": ["datasets"],
    "datasets get": ["datasets", "get", "iris"],
}
KEYS = {
    "evaluate": "worst_error", "certify": "verdict", "offsets": "floors_met", "abstain": "verdict", "compact": "after",
    "predict": "written", "theta": "theta", "compare": "best", "reproduce": "targets", "methods": "methods",
    "datasets": "datasets", "datasets get": "files",
}  # fmt: skip


@pytest.mark.parametrize("name", TELLS)
def test_every_command_tells_one_json_object(name, inside, capsys):
    words = TELLS[name]
    code, values = told(words, capsys)
    assert code in (0, 1)
    assert KEYS[name] in values


def test_json_and_text_end_with_the_same_code(inside, capsys):
    hopeless = ["certify", "model", *DATA, "--require", "0.999"]
    code, values = told(hopeless, capsys)
    assert (code, values["verdict"]) == (run(hopeless), "not proven" if code == 1 else values["verdict"])
    assert code != 0


def test_an_error_leaves_stdout_empty(inside, capsys):
    assert run(["evaluate", "nowhere", *DATA, "--json"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("error: ")


# --- settings


def test_written_settings_make_the_same_model(inside, capsys):
    settings = tomllib.loads(Path("model/results/settings.toml").read_text())
    assert settings == {
        "data": "iris.csv", "out": "model", "target": "species", "test-share": 0.2, "max-test-rows": 10_000,
        "method": "ours-trees", "theta": ["0.9"], "rounds": 2, "select-on": "worst", "seed": 3,
    }  # fmt: skip
    assert run(["fit", "--config", "model/results/settings.toml", "--out", "again", "--quiet"]) == 0
    assert Path("again/model.json").read_bytes() == Path("model/model.json").read_bytes()
    again = tomllib.loads(Path("again/results/settings.toml").read_text())
    assert again == {**settings, "out": "again"}


def test_what_is_typed_wins_and_values_may_be_numbers_lists_or_tables(inside, capsys):
    Path("own.toml").write_text(
        'target = "species"\nmethod = "ours-trees"\nrounds = 5\ntheta = {virginica = 0.8, others = 0.9}\nquiet = 3\n'
    )
    assert run(["fit", "iris.csv", "--config", "own.toml", "--out", "typed"]) == 2
    assert "has no option 'quiet'" in capsys.readouterr().err  # how a command talks is not a setting
    Path("own.toml").write_text(Path("own.toml").read_text().replace("quiet = 3\n", ""))
    assert run(["fit", "iris.csv", "--config", "own.toml", "--rounds", "1", "--out", "typed", "--quiet"]) == 0
    model = load_model("typed")
    assert model.n_rounds == 1
    assert model.theta == {"virginica": 0.8, "others": 0.9}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rouns = 3", "own.toml: worstclass fit has no option 'rouns'."),
        ("rouns = 3", "Did you mean 'rounds'?"),
        ("rounds = 2.5", "Invalid value for '--rounds'"),
        ("rounds = [1, 2]", "own.toml: rounds must be text or a number. Got [1, 2] instead."),
        ("skip_corrupt = 1", "own.toml: skip-corrupt must be true or false. Got 1 instead."),
        ("ignore = [true]", "own.toml: ignore must be text or a number, or a list or table of them."),
        ("rounds = ", "own.toml is not TOML"),
    ],
)
def test_a_settings_file_is_checked_as_options_are(text, message, inside, capsys):
    Path("own.toml").write_text(text)
    assert run(["fit", "iris.csv", "--target", "species", "--config", "own.toml", "--out", "refused"]) == 2
    assert message in " ".join(capsys.readouterr().err.split())
    assert not Path("refused").exists()


def test_comparisons_write_their_settings_too(inside, capsys):
    assert run([*TELLS["compare"], "--quiet"]) == 0
    assert tomllib.loads(Path("compared/settings.toml").read_text())["methods"] == "logistic"


def test_any_text_survives_the_settings_file():
    from worstclass.cli.settings import _toml

    for value in ['a"b\\c', "ä\n\t", "\x7f", "', [", 3, 0.1, 1e-9, True, ["x", "y=0.5"]]:
        assert tomllib.loads(f"key = {_toml(value)}") == {"key": value}


def test_a_command_that_is_resumed_needs_no_settings_file(inside, capsys):
    Path("small.toml").write_text('methods = "logistic"\nseeds = 1\ntarget = "species"\n')
    assert run(["compare", "fresh.csv", "--config", "small.toml", "--out", "kept", "--quiet"]) == 0
    words = json.loads(Path("kept/command.json").read_text())["words"]
    assert words[:2] == ["compare", "fresh.csv"]
    assert "--config" not in words
    assert words[words.index("--methods") + 1] == "logistic"
    Path("small.toml").unlink()
    code, values = told(["resume", "kept"], capsys)
    assert (code, values["best"]) == (0, "logistic")


def test_settings_of_a_command_are_not_those_of_the_next(inside, capsys):
    assert run(["methods"]) == 0
    assert EFFECTIVE.get() == "" or "rounds" not in EFFECTIVE.get()


# --- completion


def completed(line, shell="bash"):
    """Return what the completion protocol answers at the end of a line."""
    words = line.split(" ")
    env = {"_WORSTCLASS_COMPLETE": f"complete_{shell}", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    done = subprocess.run(
        [sys.executable, "-m", "worstclass"], env={**os.environ, **env}, capture_output=True, text=True, check=False
    )
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("worstclass certi", ["certify"]),
        ("worstclass fit ir", ["iris"]),
        ("worstclass fit iris --method ours-", ["ours-trees"]),
        ("worstclass fit iris --network cnn", ["cnn-small", "cnn-medium"]),
        ("worstclass compare iris --methods forest,log", ["forest,logistic"]),
        ("worstclass fit iris --select-on a", ["average"]),
        ("worstclass datasets check fashion", ["fashion-mnist"]),
    ],
)
def test_names_are_completed(line, wanted):
    assert completed(line) == wanted


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_completion_in_a_real_bash(tmp_path):
    """The script that --show-completion prints, sourced by bash; its function fills COMPREPLY."""
    program = tmp_path / "worstclass"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m worstclass "$@"\n')
    program.chmod(0o755)
    env = {
        **os.environ,
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1",
    }
    show = [str(program), "--show-completion", "bash"]
    script = subprocess.run(show, env=env, capture_output=True, text=True, check=True).stdout
    ask = f"""{script}
COMP_WORDS=(worstclass fit iris --method logi); COMP_CWORD=4
$(complete -p worstclass | sed 's/.*-F \\([^ ]*\\).*/\\1/') worstclass
echo "${{COMPREPLY[@]}}"
"""
    done = subprocess.run(["bash", "--norc", "-c", ask], env=env, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["logistic"], done.stderr


# --- errors


def test_debug_shows_the_traceback_wherever_it_stands(inside, capsys):
    for words in (["--debug", "evaluate", "nowhere", *DATA], ["evaluate", "nowhere", *DATA, "--debug"]):
        assert run(words) == 2
        shown = capsys.readouterr().err
        assert "Traceback" in shown
        assert shown.splitlines()[-1].startswith("error: ")
    assert run(["evaluate", "nowhere", *DATA]) == 2
    assert "Traceback" not in capsys.readouterr().err


# --- bars

PLAN = FitPlan(("a", "b", "c"), (0.8, 0.8, 0.8), 20, 5, 0.1, 0.3)
RECORD = RoundRecord(3, "boost", (0.1, 0.8, 0.1), (8, 7, 9), (1, 0, 1), 0.625, 12, 1.0, (10, 10, 10), (8, 6, 9))


def drawn(plain=False):
    """Return what a terminal of 100 columns gets from three rounds of boosting."""
    text = io.StringIO()
    shown = Console(file=text, force_terminal=True, width=100, no_color=plain, highlight=False)
    progress = ProgressCallback(shown)
    with progress.bar:
        progress.on_fit_start(None, PLAN)
        progress.on_round_end(None, RECORD)
    return text.getvalue()


def test_a_round_shows_epoch_edge_needed_edge_weights_and_the_worst_class():
    shown = drawn()
    assert "3/20" in shown
    assert "epoch 12, edge 0.625 of 0.600" in shown
    assert "worst class of the vote b: 40.0%; weights a ▁ b █ c ▁" in shown
    assert "left" in shown
    assert "\x1b[" in shown  # drawn in place


def test_no_color_turns_bars_into_lines():
    shown = drawn(plain=True)
    assert "\x1b[" not in shown.replace("\x1b[0m", "")
    assert "━" not in shown
    assert shown.splitlines()[0] == "3 classes, floor 0.8, 20 rounds, edge 0.6000 each"


def test_bars_need_a_terminal_without_no_color(monkeypatch):
    assert is_live(Console(file=io.StringIO(), force_terminal=True, no_color=False))
    assert not is_live(Console(file=io.StringIO(), force_terminal=True, no_color=True))
    assert not is_live(Console(file=io.StringIO(), force_terminal=False))
    monkeypatch.setenv("NO_COLOR", "1")
    assert not is_live(Console(file=io.StringIO(), force_terminal=True))


def test_epochs_of_networks_have_a_line_for_each_tenth():
    text = io.StringIO()
    progress = ProgressCallback(Console(file=text, width=100))
    for epoch in range(1, 21):
        info = NetworkEpochInfo(("a", "b"), 1, epoch, epoch, 20, (0.1, 0.3), (0.5, 0.25), 0.7)
        progress.on_network_epoch_end(None, info)
    lines = text.getvalue().splitlines()
    assert len(lines) == 11
    assert lines[-1] == "epoch 20 of 20: network 1, epoch 20, worst class (validation) a: 50.0%"


def test_lines_of_trainings_move_a_bar(monkeypatch, capsys):
    monkeypatch.setattr("worstclass.progress.is_live", lambda shown: True)
    with training_lines(False) as show:
        show("[1 of 4] ce, seed 0: started")
        show("[1 of 4] ce, seed 0: finished; about 30 s left")
    shown = capsys.readouterr().err
    assert "1/4" in shown
    assert "left 30 s" in shown


@pytest.fixture
def terminal(monkeypatch):
    """What a terminal of 100 columns gets from progress of commands."""
    text = io.StringIO()
    monkeypatch.setattr(
        "worstclass.cli.progress.console",
        lambda stderr, quiet: Console(file=text, force_terminal=True, width=100, no_color=False, quiet=quiet),
    )
    return text


def test_what_cannot_be_counted_shows_that_it_works(monkeypatch, capsys, terminal):
    with busy("asking"):
        pass
    assert terminal.getvalue() == ""  # over before two seconds
    monkeypatch.setattr("worstclass.cli.progress.AFTER", 0)
    with busy("asking"):
        time.sleep(0.3)
    assert re.search(r"asking .*0:00:00.* left -", terminal.getvalue())
    assert capsys.readouterr() == ("", "")


def test_without_a_terminal_nothing_says_that_a_command_works(monkeypatch, capsys):
    monkeypatch.setattr("worstclass.cli.progress.AFTER", 0)
    with busy("asking"):
        time.sleep(0.1)
    assert capsys.readouterr() == ("", "")


def plain(shown):
    return re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", shown)


def test_loops_tell_how_much_is_done_and_the_time_left_of_their_step(monkeypatch, terminal):
    told = []
    monkeypatch.setattr(LiveBar, "show", lambda self, *news: told.append(news))
    clock = itertools.count()  # a second between two looks at it
    monkeypatch.setattr("worstclass.cli.progress.time.monotonic", lambda: float(next(clock)))
    with busy("asking"):
        for _ in range(2):
            for _ in steps("abcd", 4):
                pass
    assert told[:6] == [
        (0, None, "asking"),
        (0, None, "asking"),
        (25.0, 100, "asking", "3.0 s"),  # one of four took one second
        (50.0, 100, "asking", "2.0 s"),
        (75.0, 100, "asking", "1.0 s"),
        (0, None, "asking"),  # what follows is not known
    ]
    assert told[6:8] == [(0, None, "asking, step 2"), (25.0, 100, "asking, step 2", "3.0 s")]


@pytest.mark.parametrize("name", ["evaluate", "certify", "offsets", "abstain", "predict", "report", "export"])
def test_commands_that_ask_a_model_show_progress_with_the_time_left(name, inside, monkeypatch, terminal, capsys):
    monkeypatch.setattr("worstclass.cli.progress.AFTER", 0)
    words = {
        **TELLS,
        "report": ["report", "model", *DATA],
        "export": ["export", "model", *DATA, "--onnx", "model.onnx"],
    }[name]
    for ask in (SklearnMember.predict, SklearnMember.probabilities):
        monkeypatch.setattr(SklearnMember, ask.__name__, lambda *rows, ask=ask: (time.sleep(0.15), ask(*rows))[1])
    assert run(words) == 0
    assert re.search(r"\d+% .+ \d:\d\d:\d\d left \d", plain(terminal.getvalue()))
    assert "left" not in capsys.readouterr().err


def test_quiet_shows_no_progress(inside, monkeypatch, terminal):
    monkeypatch.setattr("worstclass.cli.progress.AFTER", 0)
    assert run([*TELLS["predict"], "--quiet"]) == 0
    assert terminal.getvalue() == ""


def test_weight_bars_of_many_classes_are_the_heaviest_in_their_order():
    assert weight_bars(["x", "y"], [0.0, 0.0]) == "x ▁ y ▁"
    many = weight_bars(range(200), [1.0] * 150 + [8.0] * 50)
    assert many == "▁" * 10 + "█" * 50 + ", most on 150"
