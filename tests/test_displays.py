"""Displays: what is drawn is what was counted, on axes of the caller or new ones, without pyplot."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import worstclass as wc
from worstclass.exceptions import DataError, ParameterError
from worstclass.report.displays import Display

Y = np.array(["a"] * 10 + ["b"] * 4)
ANSWERS = np.array(["a"] * 8 + ["b"] * 2 + ["b"] * 1 + ["a"] * 3)  # a: 2 of 10 wrong, b: 3 of 4


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def booster(iris):
    return wc.WorstClassBooster(DecisionTreeClassifier(max_depth=2), theta=0.8, n_rounds=4, random_state=0).fit(*iris)


def displays(booster, iris) -> dict[str, Display]:
    X, y = iris
    two = DecisionTreeClassifier(random_state=0).fit(X[:, :2], y)
    return {
        "errors": wc.ClassErrorDisplay.from_estimator(booster, X, y),
        "weights": wc.ClassWeightDisplay.from_estimator(booster),
        "confusion": wc.ConfusionDisplay.from_estimator(booster, X, y),
        "radar": wc.RadarDisplay.from_estimator(booster, X, y),
        "regions": wc.DecisionRegionDisplay.from_estimator(two, X[:, :2], y, grid=10),
        "risk": wc.RiskCoverageDisplay.from_estimator(two, X[:, :2], y),
    }


def test_each_display_draws_on_new_axes_on_given_ones_and_in_notebooks(booster, iris):
    for name, display in displays(booster, iris).items():
        assert display.ax_.figure is display.figure_, name
        assert display._repr_png_().startswith(b"\x89PNG"), name
        axes = Figure().subplots(subplot_kw={"projection": display.projection} if display.projection else {})
        assert display.plot(axes) is display
        assert display.ax_ is axes, name


def test_nothing_is_drawn_by_pyplot_and_importing_a_display_imports_no_matplotlib():
    code = """
import sys
from worstclass import ClassErrorDisplay, RadarDisplay
assert "matplotlib" not in sys.modules
ClassErrorDisplay.from_predictions([0, 1, 1], [0, 1, 0])
print("matplotlib" in sys.modules, "matplotlib.pyplot" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False"]


def test_class_errors_are_drawn_worst_first_with_intervals_and_floors():
    display = wc.ClassErrorDisplay.from_predictions(Y, ANSWERS, theta=0.7)
    bars = [patch.get_width() for patch in display.ax_.patches]
    assert bars == [0.75, 0.2]
    assert [tick.get_text() for tick in display.ax_.get_yticklabels()] == ["b", "a"]
    floors, intervals = (
        next(c for c in display.ax_.collections if c.get_label() == "1 - floor"),
        next(c for c in display.ax_.collections if c.get_label() != "1 - floor"),
    )
    assert floors.get_segments()[0][0][0] == pytest.approx(0.3)
    low, high = (end[0] for end in intervals.get_segments()[1])
    assert (low, high) == (pytest.approx(0.0252, abs=1e-4), pytest.approx(0.5561, abs=1e-4))  # 2 of 10
    colours = {patch.get_facecolor() for patch in display.ax_.patches}
    assert len(colours) == 2  # b misses its floor, a meets it


def test_only_the_worst_of_many_classes_are_drawn():
    y = np.repeat(np.arange(200), 2)
    display = wc.ClassErrorDisplay.from_predictions(y, np.where(y < 3, 5, y), most=10)
    assert len(display.ax_.patches) == 10
    assert {tick.get_text() for tick in display.ax_.get_yticklabels()[:3]} == {"0", "1", "2"}


def test_names_with_formulas_and_underscores_are_shown_as_they_are():
    display = wc.ClassErrorDisplay.from_predictions(["$x_1$", "_b"], ["_b", "_b"])
    display._repr_png_()  # a formula that is none would raise
    assert [tick.get_text() for tick in display.ax_.get_yticklabels()] == [r"\$x_1\$", " _b"]


@pytest.mark.parametrize("n_classes", [2, 20, 21, 200])
def test_a_confusion_matrix_shows_numbers_of_few_classes_and_some_names_of_many(n_classes):
    y = np.repeat(np.arange(n_classes), 3)
    answers = y.copy()
    answers[0] = 1
    display = wc.ConfusionDisplay.from_predictions(y, answers)
    assert display.counts[0, 1] == 1
    assert display.counts.sum() == len(y)
    assert len(display.ax_.texts) == (n_classes**2 if n_classes <= 20 else 0)
    assert 2 <= len(display.ax_.get_yticklabels()) <= 40
    assert len(display._repr_png_()) > 1000


def test_answers_that_are_no_class_have_a_column_of_their_own():
    display = wc.ConfusionDisplay.from_predictions(["a", "b"], ["abstain", "b"], labels=["a", "b"])
    assert display.counts.tolist() == [[0, 0, 1], [0, 1, 0]]
    assert display.ax_.get_xticklabels()[-1].get_text() == "no answer"


def test_class_weights_are_those_of_the_history_also_inside_a_wrapper(booster, iris):
    display = wc.ClassWeightDisplay.from_estimator(booster)
    first = display.ax_.get_lines()[0].get_ydata()
    assert first.tolist() == [record.class_weight[0] for record in booster.history_]
    wrapped = wc.WorstClassOffsets(booster, cv="prefit", allow_equal_rows=True)
    X, y = iris
    wrapped.fit(X + 0.001, y)
    assert wc.ClassWeightDisplay.from_estimator(wrapped).class_weights == display.class_weights


def test_class_weights_of_a_model_without_any_are_refused(iris):
    with pytest.raises(ParameterError, match="a fitted WorstClassBooster"):
        wc.ClassWeightDisplay.from_estimator(LogisticRegression(max_iter=500).fit(*iris))


def test_radar_charts_need_the_same_classes():
    one, two = wc.class_report(Y, ANSWERS), wc.class_report(["a", "c"], ["a", "c"])
    display = wc.RadarDisplay.from_reports({"one": one, "other": one})
    assert display.ax_.get_lines()[0].get_ydata()[:2] == pytest.approx([80, 25])
    with pytest.raises(DataError, match="same classes"):
        wc.RadarDisplay.from_reports({"one": one, "two": two})


def test_thetas_are_drawn_with_the_chosen_one(iris):
    learner = wc.WorstClassBooster(DecisionTreeClassifier(max_depth=2), theta=0.0, n_rounds=2, random_state=0)
    selection = wc.select_theta(learner, *iris, candidates=[0.2, 0.4, 0.8])
    display = wc.ThetaDisplay.from_selection(selection)
    worst = {record.theta: 100 * record.worst_error for record in selection.candidates}
    line, _, chosen = display.ax_.get_lines()
    assert dict(zip(line.get_xdata(), line.get_ydata(), strict=True)) == pytest.approx(worst)
    assert chosen.get_xdata()[0] == selection.theta


def test_regions_are_the_answers_on_the_grid(iris):
    X, y = iris
    frame = pd.DataFrame(X[:, :2], columns=["length", "width"])
    model = DecisionTreeClassifier(random_state=0).fit(frame, y)
    display = wc.DecisionRegionDisplay.from_estimator(model, frame, y, grid=7)
    left, right, bottom, top = display.extent
    corner = pd.DataFrame([[right, bottom]], columns=frame.columns)
    assert display.answers[0, -1] == model.predict(corner)[0]
    assert display.ax_.get_xlabel() == "length"
    assert (left, top) == (pytest.approx(4.3 - 0.18), pytest.approx(4.4 + 0.12))
    with pytest.raises(DataError, match="rows of two numbers"):
        wc.DecisionRegionDisplay.from_estimator(model, X)


def test_risk_falls_to_what_the_model_counts_and_its_threshold_is_marked():
    X, y = load_breast_cancer(return_X_y=True)
    model = wc.AbstainingClassifier(RandomForestClassifier(20, random_state=0), risk=0.1, random_state=0).fit(X, y)
    display = wc.RiskCoverageDisplay.from_estimator(model, X, y)
    curve, report = display.curve, model.risk_report(X, y)
    assert curve.coverage[curve.used] == pytest.approx(report.coverage)
    assert curve.worst[curve.used] == pytest.approx(report.worst_risk)
    assert curve.coverage == sorted(curve.coverage)
    assert curve.coverage[-1] == 1
    assert curve.plain[-1] == pytest.approx(np.mean(model.estimator_.predict(X) != y))
