"""Progress of a fit for users of Python: a bar on a terminal or in a notebook, lines elsewhere, and nothing else."""

from __future__ import annotations

import io
import re
import sys
import types

import pytest
from rich.console import Console
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

import worstclass as wc
import worstclass.exceptions
from worstclass._progress import heard, part, steps
from worstclass.progress import LiveBar

X, y = load_iris(return_X_y=True)
TREES = DecisionTreeClassifier(max_depth=2)
FITS = {
    "portfolio": lambda shown: wc.WorstClassClassifier([GaussianNB(), TREES], cv=2, random_state=0, callbacks=[shown]),
    "booster": lambda shown: wc.WorstClassBooster(TREES, theta=0.8, n_rounds=3, random_state=0, callbacks=[shown]),
    "networks": lambda shown: wc.NetworkClassifier(
        wc.TorchLearner("mlp"), max_epochs=4, random_state=0, callbacks=[shown]
    ),
}
SAYS = {"portfolio": "2/2 decisiontreeclassifier", "booster": "weights 0 ", "networks": "4/4 network 1, epoch 4"}


def text_of(shown: str) -> str:
    return re.sub(r"\x1b\[[\d;?]*\w|<[^>]*>", "", shown)


@pytest.mark.parametrize("name", FITS)
def test_a_fit_shows_a_bar_on_a_terminal(name, capsys):
    text = io.StringIO()
    FITS[name](wc.ProgressCallback(Console(file=text, force_terminal=True, no_color=False, width=120))).fit(X, y)
    assert SAYS[name] in text_of(text.getvalue())
    assert "left 0.0 s" in text_of(text.getvalue())
    assert text.getvalue().endswith("\x1b[?25h")  # the cursor is there again
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("name", FITS)
def test_without_a_terminal_a_fit_has_lines_on_the_standard_error_stream(name, capsys):
    FITS[name](wc.ProgressCallback()).fit(X, y)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert {"portfolio": "2 of 2 members", "booster": "round 3 of 3", "networks": "epoch 4 of 4"}[name] in shown.err
    assert "\x1b" not in shown.err


@pytest.fixture
def notebook(monkeypatch):
    """The display of IPython: what is shown in each place, as HTML, whenever it changes."""
    places = []

    class Handle:
        def __init__(self, shown):
            self.drawn = []
            self.update(shown)

        def update(self, shown):
            self.drawn.append(shown._repr_mimebundle_([], [])["text/html"])

    def display(shown, display_id=False):
        places.append(Handle(shown))
        return places[-1] if display_id else None

    made = types.ModuleType("IPython.display")
    made.display = display
    monkeypatch.setitem(sys.modules, "IPython", types.ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", made)
    return places


@pytest.mark.parametrize("name", FITS)
def test_a_notebook_has_one_bar_that_changes_and_no_warning(name, notebook, capsys, recwarn):
    FITS[name](wc.ProgressCallback(Console(force_jupyter=True, width=120))).fit(X, y)
    bars = [place for place in notebook if "━" in place.drawn[-1]]
    assert len(bars) == 1
    assert SAYS[name] in text_of(bars[0].drawn[-1])
    assert "left 0.0 s" in text_of(bars[0].drawn[-1])
    assert len(notebook) - len(bars) == (name == "booster")  # the line that tells its plan
    assert capsys.readouterr() == ("", "")
    assert not [warning for warning in recwarn if "ipywidgets" in str(warning.message)]


@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
@pytest.mark.parametrize("name", FITS)
def test_a_fit_that_fails_gives_the_terminal_back(name, error, monkeypatch):
    text = io.StringIO()
    shown = wc.ProgressCallback(Console(file=text, force_terminal=True, no_color=False, width=120))

    class Fails(wc.Callback):
        def on_round_end(self, *news):
            raise error

        on_step_end = on_network_epoch_end = on_round_end

    model = FITS[name](shown)
    model.callbacks = [shown, Fails()]
    before = sys.stderr
    with pytest.raises(error):
        model.fit(X, y)
    assert sys.stderr is before
    assert "━" in text.getvalue()
    assert text.getvalue().endswith("\x1b[?25h")


def test_the_time_left_is_reckoned_from_the_first_epoch_that_was_seen():
    seconds = iter(range(100))
    bar = LiveBar(Console(file=io.StringIO(), force_terminal=True, no_color=False))
    bar.get_time = lambda: float(next(seconds))  # a second between two looks at it
    bar.show(1, 4, "epoch 1")
    assert bar.tasks[0].fields["left"] == "-"  # how long it took is not known
    began = bar.tasks[0].start_time
    bar.show(2, 4, "epoch 2")
    now = next(seconds)
    bar.show(3, 4, "epoch 3")
    assert bar.tasks[0].fields["left"] == f"{(now + 1 - began) / 2:.1f} s"


def test_a_callback_serves_several_fits_and_copies_of_its_estimator(capsys):
    model = FITS["booster"](wc.ProgressCallback())
    model.fit(X, y)
    clone(model).fit(X, y)
    assert capsys.readouterr().err.count("round 3 of 3") == 2


def test_callbacks_that_are_none_are_refused_as_before():
    with pytest.raises(wc.exceptions.ParameterError, match="a list of Callback objects"):
        FITS["networks"](print).fit(X, y)


@pytest.mark.parametrize("name", FITS)
def test_a_callback_outside_of_a_list_is_refused(name):
    model = FITS[name](wc.ProgressCallback())
    with pytest.raises(wc.exceptions.ParameterError, match="Put it into a list"):
        model.set_params(callbacks=wc.ProgressCallback()).fit(X, y)


def test_parts_within_parts_and_loops_that_end_early():
    told = []
    with heard(told.append):
        with part(0.0, 0.5), part(0.5, 1.0):
            pass
        for _ in steps(range(4), 4):
            break
    assert told == [0.5, 0.5, 0.0, 0.25]
    assert list(steps("ab", 2)) == ["a", "b"]  # nobody listens
    assert told == [0.5, 0.5, 0.0, 0.25]
