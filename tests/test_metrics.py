"""Class-wise counts, errors and reports: absent classes, orders, forms, refusals, and the scorer."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.metrics import recall_score
from sklearn.model_selection import GridSearchCV, PredefinedSplit, StratifiedKFold, cross_val_score
from sklearn.tree import DecisionTreeClassifier

from worstclass.exceptions import DataError, ParameterError
from worstclass.floors import Floors
from worstclass.metrics import (
    ClassCounts,
    ClassReport,
    class_counts,
    class_report,
    count_correct,
    worst_class_error,
    worst_class_scorer,
)

relaxed = settings(deadline=None)

# cat: 1 of 2 wrong, dog: 0 of 1 wrong, fox: no row
CATS = (["cat", "cat", "dog"], ["cat", "dog", "dog"], ["cat", "dog", "fox"])


def test_count_correct_counts_the_right_answers_of_each_class_and_keeps_a_place_for_all():
    target, predicted = np.array([0, 0, 2, 2, 2]), np.array([0, 1, 2, 2, 0])
    assert count_correct(target, predicted, 4).tolist() == [1, 0, 2, 0]


def test_counts_follow_the_order_of_labels():
    counts = class_counts(["b", "b", "a"], ["b", "a", "a"], labels=["b", "a"])
    assert counts.correct.tolist() == [1, 1]
    assert counts.total.tolist() == [2, 1]


def test_labels_default_to_the_sorted_union_of_both():
    counts = class_counts([3, 3, 1], [3, 2, 1])
    assert counts.total.tolist() == [1, 0, 2]  # classes 1, 2, 3: class 2 was only predicted
    assert counts.correct.tolist() == [1, 0, 1]


def test_absent_class_keeps_its_place_and_is_masked():
    counts = class_counts(CATS[0], CATS[1], labels=["fox", "cat", "dog"])
    assert counts.absent == (0,)
    assert np.ma.getmaskarray(counts.errors).tolist() == [True, False, False]
    assert counts.errors.tolist() == [None, 0.5, 0.0]


def test_absent_class_is_never_the_worst_nor_counted_as_zero():
    counts = ClassCounts(correct=np.array([0, 3, 0]), total=np.array([0, 3, 0]))
    assert counts.worst_class == 1
    assert counts.worst_error == 0.0
    half = ClassCounts(correct=np.array([0, 1]), total=np.array([0, 2]))
    assert half.class_mean_error == 0.5  # the mean over one class, not over two


def test_worst_class_is_the_first_of_equals():
    assert ClassCounts(correct=np.array([2, 1, 2]), total=np.array([2, 2, 4])).worst_class == 1
    assert class_report([0, 0, 1, 1], [0, 1, 1, 0]).worst_class == "0"


def test_plain_error_and_class_mean_error_differ_on_imbalanced_data():
    y_true = ["big"] * 90 + ["small"] * 10
    report = class_report(y_true, ["big"] * 100)
    counts = class_counts(y_true, ["big"] * 100)
    for result in (report, counts):
        assert result.plain_error == pytest.approx(0.1)  # 10 of 100 rows
        assert result.class_mean_error == pytest.approx(0.5)  # (0 + 1) / 2
        assert result.worst_error == 1.0
    assert report.worst_class == "small"


def test_worst_class_error_is_over_the_classes_that_occur():
    assert worst_class_error([0, 0, 1, 1], [0, 0, 1, 0]) == 0.5
    assert worst_class_error([0, 0, 1, 1], [0, 0, 1, 0], labels=[0, 1, 2, 3]) == 0.5


def test_predicted_label_that_is_no_class_counts_as_wrong():
    counts = class_counts([0, 0, 1], [0, 7, 1], labels=[0, 1])
    assert counts.correct.tolist() == [1, 1]
    assert counts.total.tolist() == [2, 1]


@relaxed
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=40))
def test_errors_equal_a_count_by_hand(pairs):
    y_true, y_pred = zip(*pairs, strict=True)
    counts = class_counts(y_true, y_pred, labels=range(5))
    by_hand = {k: sum(p != k for t, p in pairs if t == k) / y_true.count(k) for k in range(5) if k in y_true}
    assert {k: e for k, e in enumerate(counts.errors.tolist()) if e is not None} == pytest.approx(by_hand)
    assert counts.worst_error == pytest.approx(max(by_hand.values()))
    assert counts.plain_error == pytest.approx(sum(t != p for t, p in pairs) / len(pairs))
    assert counts.class_mean_error == pytest.approx(np.mean(list(by_hand.values())))
    assert counts.absent == tuple(k for k in range(5) if k not in y_true)


@relaxed
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=40))
def test_report_and_counts_agree(pairs):
    y_true, y_pred = zip(*pairs, strict=True)
    counts, report = class_counts(y_true, y_pred, range(5)), class_report(y_true, y_pred, range(5))
    assert report.worst_class == str(counts.worst_class)
    assert report.worst_error == pytest.approx(counts.worst_error)
    assert report.plain_error == pytest.approx(counts.plain_error)
    assert report.class_mean_error == pytest.approx(counts.class_mean_error)
    assert sorted(report.absent) == [str(k) for k in counts.absent]


def test_report_is_worst_first_and_absent_last():
    # errors: a 0/2, b 1/2, c 2/2, d absent, e 1/4
    y_true = ["a"] * 2 + ["b"] * 2 + ["c"] * 2 + ["e"] * 4
    y_pred = ["a", "a", "b", "a", "a", "a", "e", "e", "e", "a"]
    report = class_report(y_true, y_pred, labels=["d", "a", "b", "c", "e"])
    assert [row.name for row in report.rows] == ["c", "b", "e", "a", "d"]
    assert [row.error for row in report.rows] == [1.0, 0.5, 0.25, 0.0, None]
    assert report.absent == ("d",)


def test_no_class_is_called_worst_where_no_row_is_wrong():
    report = class_report(["cat", "dog"], ["cat", "dog"])
    assert str(report).splitlines()[-1] == "worst 0.0%, class mean 0.0%, all rows 0.0%"
    assert report.worst_text == "0.0%"
    assert class_report(["cat", "dog"], ["cat", "cat"]).worst_text == "100.0% (dog)"


def test_report_names_the_classes_in_the_order_of_labels():
    report = class_report([1, 0, 0], [1, 0, 1], labels=[1, 0], class_names=["malignant", "benign"])
    assert (report.worst_class, report.worst_error) == ("benign", 0.5)
    assert [(row.name, row.total) for row in report.rows] == [("benign", 2), ("malignant", 1)]


def test_text_form_without_floors():
    lines = str(class_report(*CATS)).splitlines()
    assert lines[0].split() == ["class", "error", "wrong", "rows"]
    assert lines[1].split() == ["cat", "50.0%", "1", "2"]
    assert lines[2].split() == ["dog", "0.0%", "0", "1"]
    assert lines[3].split() == ["fox", "absent", "-", "0"]
    assert lines[4] == "worst 50.0% (cat), class mean 25.0%, all rows 33.3%"
    assert len({len(line) for line in lines[:4]}) == 1


def test_text_form_aligns_long_names():
    lines = str(class_report([0, 1], [0, 1], class_names=["a", "squamous cell"])).splitlines()
    assert len({len(line) for line in lines[:3]}) == 1


def test_text_form_with_floors_says_which_class_misses_its_floor():
    # a: 3 of 4 right, an error of exactly 1 - 0.75: the bound is strict, so it is missed. b: 4 of 4.
    y_true, y_pred = ["a"] * 4 + ["b"] * 4, ["a", "a", "a", "b"] + ["b"] * 4
    report = class_report(y_true, y_pred, labels=["a", "b", "c"], theta=0.75)
    lines = str(report).splitlines()
    assert lines[0].split() == ["class", "error", "wrong", "rows", "floor", "met"]
    assert lines[1].split() == ["a", "25.0%", "1", "4", "75.0%", "NO"]
    assert lines[2].split() == ["b", "0.0%", "0", "4", "75.0%", "yes"]
    assert lines[3].split() == ["c", "absent", "-", "0", "75.0%", "-"]
    assert report.missed == ("a",)
    assert [row.meets_floor for row in report.rows] == [False, True, None]


def test_floors_differ_by_class_and_go_by_label_not_by_name():
    report = class_report([0, 0, 1, 1], [0, 1, 1, 0], class_names=["a", "b"], theta={0: 0.4, 1: 0.5})
    assert {row.name: (row.floor, row.meets_floor) for row in report.rows} == {
        "a": (0.4, True),
        "b": (0.5, False),
    }


def test_missed_is_empty_without_floors():
    assert class_report([0, 0], [1, 1]).missed == ()


def test_report_from_counts_uses_given_names_and_floors():
    counts = ClassCounts(correct=np.array([1, 4]), total=np.array([4, 4]))
    report = ClassReport.from_counts(counts, [10, 20], Floors.from_theta(0.5, [10, 20]))
    assert [(row.name, row.meets_floor) for row in report.rows] == [("10", False), ("20", True)]


def test_dict_form_holds_plain_values():
    values = class_report(*CATS, theta=0.4).to_dict()
    assert values["worst_class"] == "cat"
    assert values["worst_error"] == 0.5
    assert values["class_mean_error"] == 0.25
    assert values["plain_error"] == pytest.approx(1 / 3)
    assert values["absent"] == ["fox"]
    assert values["classes"][0] == {
        "name": "cat",
        "total": 2,
        "correct": 1,
        "error": 0.5,
        "floor": 0.4,
        "meets_floor": True,
    }
    assert values["classes"][2]["error"] is None
    assert values["classes"][2]["meets_floor"] is None


@pytest.mark.parametrize("theta", [None, 0.4, {"cat": 0.4, "others": 0.9}])
def test_report_survives_a_round_trip_through_json(theta):
    report = class_report(*CATS, theta=theta)
    again = ClassReport.from_dict(json.loads(json.dumps(report.to_dict())))
    assert again == report
    assert str(again) == str(report)


def test_lengths_that_differ_are_refused_with_both_named():
    with pytest.raises(DataError, match=r"same length.*3 and 2 rows"):
        class_counts([0, 1, 1], [0, 1])


@pytest.mark.parametrize(("y_true", "y_pred", "name"), [([[0], [1]], [0, 1], "y_true"), ([0, 1], [[0, 1]], "y_pred")])
def test_two_dimensional_labels_are_refused_with_the_argument_named(y_true, y_pred, name):
    with pytest.raises(DataError, match=rf"{name} must be one label per row.*shape \(\d, \d\)"):
        class_counts(y_true, y_pred)


def test_true_label_outside_labels_is_refused_and_named():
    with pytest.raises(DataError, match=r"not in labels: \['owl'\].*\['cat', 'dog'\]"):
        class_counts(["cat", "owl"], ["cat", "cat"], labels=["cat", "dog"])


@pytest.mark.parametrize(
    "y_true", [["a", None, "b"], pd.Series(["a", np.nan, "b"]), ["a", pd.NA, "b"], [0.0, np.nan, 1.0]]
)
def test_rows_without_a_label_are_told(y_true):
    with pytest.raises(DataError, match="y_true contains NaN or None: 1 row without a label"):
        class_counts(y_true, ["a", "b", "b"] if y_true[0] == "a" else [0.0, 1.0, 1.0])


def test_mixed_types_inside_one_array_are_refused():
    with pytest.raises(DataError, match="mix labels of different types"):
        class_counts(np.array(["a", 1], dtype=object), np.array([1, "a"], dtype=object))


@pytest.mark.parametrize("as_labels", [list, np.array, pd.Series], ids=["list", "array", "series"])
def test_string_truth_against_number_predictions_is_refused_not_counted_as_all_wrong(as_labels):
    with pytest.raises(DataError, match="different types"):
        worst_class_error(as_labels(["1", "2"]), as_labels([1, 2]))


def test_number_truth_against_string_predictions_is_refused_as_mixed_types():
    with pytest.raises(DataError, match="different types"):
        worst_class_error([1, 2], ["1", "2"])


def test_duplicate_labels_are_refused():
    with pytest.raises(DataError, match=r"distinct classes. Got \[0, 1, 1\]"):
        class_counts([0, 1], [0, 1], labels=[0, 1, 1])


def test_two_dimensional_list_of_classes_is_refused():
    with pytest.raises(DataError, match="distinct classes"):
        class_counts([0, 1], [0, 1], labels=[[0, 1]])


def test_wrong_number_of_class_names_is_refused():
    with pytest.raises(DataError, match=r"each of the 2 classes\. Got 3 names"):
        class_report([0, 1], [0, 1], class_names=["a", "b", "c"])


def test_floor_out_of_range_is_refused_in_the_name_of_class_report():
    with pytest.raises(ParameterError, match=r"'theta' parameter of class_report"):
        class_report([0, 1], [0, 1], theta=1.0)


@pytest.mark.parametrize("labels", [None, ["a", "b"]])
@pytest.mark.parametrize("number", ["worst_class", "worst_error", "plain_error", "class_mean_error"])
def test_no_rows_give_no_number(number, labels):
    for result in (class_counts([], [], labels), class_report([], [], labels)):
        with pytest.raises(DataError, match="every class is absent"):
            getattr(result, number)


@pytest.mark.parametrize("labels", [None, ["a", "b"]])
@pytest.mark.parametrize("form", [str, ClassReport.to_dict])
def test_no_rows_give_no_report(form, labels):
    with pytest.raises(DataError, match="every class is absent"):
        form(class_report([], [], labels))


def test_scorer_chooses_by_the_worst_class_in_a_grid_search():
    X, y = load_iris(return_X_y=True)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    tree = DecisionTreeClassifier(random_state=0)
    search = GridSearchCV(tree, {"max_depth": [1, 3]}, scoring=worst_class_scorer, cv=folds).fit(X, y)
    # a stump answers only two of three classes, so one is wholly wrong
    assert search.cv_results_["mean_test_score"][0] == 0.0
    assert search.best_params_ == {"max_depth": 3}
    by_hand = [
        recall_score(
            y[test],
            DecisionTreeClassifier(max_depth=3, random_state=0).fit(X[train], y[train]).predict(X[test]),
            average=None,
        ).min()
        for train, test in folds.split(X, y)
    ]
    assert search.best_score_ == pytest.approx(np.mean(by_hand))


def test_scorer_gives_a_number_on_a_fold_without_one_of_the_classes():
    X, y = load_iris(return_X_y=True)
    fold = np.full(150, -1)
    fold[[0, 1, 2, 50, 51, 52]] = 0  # classes 0 and 1 only
    fold[[3, 53, 103]] = 1
    scores = cross_val_score(
        DecisionTreeClassifier(max_depth=3, random_state=0),
        X,
        y,
        cv=PredefinedSplit(fold),
        scoring=worst_class_scorer,
        error_score="raise",
    )
    assert scores.tolist() == [1.0, 1.0]


def test_scorer_ignores_a_class_that_is_predicted_but_does_not_occur():
    X = np.zeros((6, 1))
    always_b = DummyClassifier(strategy="constant", constant="b").fit(X, list("aabbcc"))
    assert worst_class_scorer(always_b, X[:2], ["b", "b"]) == 1.0
    assert worst_class_scorer(always_b, X[:3], ["b", "b", "a"]) == 0.0
    always_c = DummyClassifier(strategy="constant", constant="c").fit(X, list("aabbcc"))
    assert worst_class_scorer(always_c, X[:2], ["b", "b"]) == 0.0
