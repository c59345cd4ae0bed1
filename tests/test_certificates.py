"""Certificates: hand-worked limits and verdicts, what a proof lacks, refusals, and the theorem's assumptions."""

from __future__ import annotations

import json
import math
from dataclasses import FrozenInstanceError
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted import ScriptedLearner, numbered_rows
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from torch.utils.data import TensorDataset

from worstclass import TorchLearner, WorstClassBooster, certify, load_model, make_splits, save_model
from worstclass.boosting.oco import InstanceBooster
from worstclass.certificates import (
    Certificate,
    generalisation_bound,
    training_certificate,
)
from worstclass.certificates.binomial import p_value, rows_at_least, rows_if_rate_stays, upper_limit
from worstclass.certificates.held_out import hochberg
from worstclass.data.seen_rows import RowOverlap
from worstclass.ensembles.networks import DeepEnsemble, NetworkClassifier
from worstclass.exceptions import DataError, ParameterError, UnknownNameError
from worstclass.wrappers.abstention import AbstainingClassifier
from worstclass.wrappers.offsets import WorstClassOffsets


class Answers:
    """A model that is no estimator of any kind: X has the answer in its first column."""

    def __init__(self, classes=None):
        if classes is not None:
            self.classes_ = np.array(classes)

    def predict(self, X):
        return np.asarray(X)[:, 0]


def rows(counts):
    """Make X and y for ``Answers`` from class -> (wrong, total); a wrong answer is another class."""
    X, y = [], []
    labels = list(counts)
    for number, (label, (wrong, total)) in enumerate(counts.items()):
        other = labels[number - 1]
        X += [[other, i] if i < wrong else [label, i] for i in range(total)]
        y += [label] * total
    return np.array(X, dtype=object if isinstance(labels[0], str) else float), y


def certificate_of(counts, classes=None, **options):
    X, y = rows(counts)
    return certify(Answers(sorted(counts) if classes is None else classes), X, y, **options)


def by_name(certificate):
    return {row.name: row for row in certificate.classes}


# --- binomial limits and p-values


def test_limit_without_errors_has_a_closed_form():
    assert upper_limit(0, 59, 0.05) == pytest.approx(0.0495076, abs=1e-7)
    for n, level in [(1, 0.05), (59, 0.05), (299, 0.05), (459, 0.01), (7, 0.5)]:
        assert upper_limit(0, n, level) == pytest.approx(1 - level ** (1 / n), rel=1e-12)


def test_limits_from_tables():
    # 95% one-sided limits: 1 of 10 is 39.42%, 3 of 10 is 60.66%, 5 of 100 is 10.225%
    assert upper_limit([1, 3, 5], [10, 10, 100], 0.05).round(4).tolist() == [0.3942, 0.6066, 0.1023]
    assert upper_limit([10, 0, 1], [10, 0, 1], 0.05).tolist() == [1.0, 1.0, 1.0]


@settings(deadline=None)
@given(st.integers(1, 200), st.data(), st.sampled_from([1e-6, 0.01, 0.05, 0.5]))
def test_at_the_limit_the_errors_have_exactly_the_probability_of_the_level(n, data, level):
    c = data.draw(st.integers(0, n - 1))
    limit = float(upper_limit(c, n, level))
    probability = sum(math.comb(n, i) * limit**i * (1 - limit) ** (n - i) for i in range(c + 1))
    assert probability == pytest.approx(level, rel=1e-6)
    assert float(p_value(c, n, limit)) == pytest.approx(level, rel=1e-9)


def test_p_values_by_hand():
    # two rows, rate 0.2: none wrong 0.64, at most one 0.96; three rows at 1/2: at most one 4/8
    assert p_value([0, 1, 2, 1], [2, 2, 2, 3], [0.2, 0.2, 0.2, 0.5]) == pytest.approx([0.64, 0.96, 1.0, 0.5])


def test_rows_that_are_needed_by_hand():
    fifth, twentieth = Fraction(1, 5), Fraction(1, 20)
    assert rows_at_least(0, 0, twentieth, 0.05) == 59  # 0.95^59 = 0.0485, 0.95^58 = 0.0510
    assert rows_at_least(0, 40, twentieth, 0.05) == 19
    assert rows_at_least(0, 14, fifth, 0.05) == 0  # 0.8^14 = 0.044
    assert rows_at_least(1, 14, fifth, 0.05) == 8  # 0.8^22 + 22 * 0.2 * 0.8^21 = 0.0480; with 21 rows 0.0576
    assert rows_if_rate_stays(0, 40, twentieth, 0.05) == 19
    assert rows_if_rate_stays(2, 40, twentieth, 0.05) is None  # 5% observed, below 5% wanted
    assert rows_if_rate_stays(0, 0, twentieth, 0.05) is None


@pytest.mark.parametrize("rate", [Fraction(1, 5), Fraction(1, 2)])
@pytest.mark.parametrize("delta", [0.05, 0.2])
def test_rows_needed_are_enough_and_hardly_more_than_enough(rate, delta):
    for n in range(1, 50, 4):
        for c in range(n):
            m = rows_at_least(c, n, rate, delta)
            assert p_value(c, n + m, float(rate)) <= delta
            assert m == 0 or p_value(c, n + m - 1, float(rate)) > delta
            m = rows_if_rate_stays(c, n, rate, delta)
            if m is None:
                assert Fraction(c, n) >= rate
                continue
            assert p_value(-(-c * (n + m) // n), n + m, float(rate)) <= delta
            every = np.arange(n, n + m + 1)
            enough = p_value(-(-c * every // n), every, float(rate)) <= delta
            assert n + m <= 1.2 * every[enough][0]


# --- many tests at once


@pytest.mark.parametrize(
    ("p_values", "rejected"),
    [
        ([0.01, 0.02, 0.03], [1, 1, 1]),  # 0.0167, 0.025, 0.05
        ([0.01, 0.03, 0.04], [1, 1, 1]),  # the second is above 0.025, the largest within 0.05
        ([0.06, 0.001, 0.02], [0, 1, 1]),
        ([0.02, 0.021, 0.2], [1, 1, 0]),  # the smallest above 0.0167, the second within 0.025
        ([0.02, 0.02, 0.2, 0.2], [0, 0, 0, 0]),  # 0.0125, 0.0167, 0.025, 0.05
        ([0.05], [1]),
        ([0.051], [0]),
        ([0.04, 0.04], [1, 1]),
        ([0.3, 0.2], [0, 0]),
        ([0.0, 0.0, 1.0], [1, 1, 0]),
    ],
)
def test_hochberg_by_hand(p_values, rejected):
    assert hochberg(p_values, 0.05).tolist() == [bool(found) for found in rejected]


@settings(deadline=None)
@given(st.lists(st.floats(0, 0.2), min_size=1, max_size=8), st.sampled_from([0.05, 0.1]))
def test_hochberg_proves_what_bonferroni_proves_and_all_exactly_when_each_alone_is(p_values, delta):
    p, found = np.array(p_values), hochberg(p_values, delta)
    assert found.all() == (max(p_values) <= delta)
    assert (p[found] <= delta).all()
    assert (found >= (p <= delta / len(p))).all()
    ordered = sorted(p_values)
    passed = [j for j, value in enumerate(ordered) if value <= delta / (len(p) - j)]
    assert found.sum() == (max(passed) + 1 if passed else 0)


def test_many_repetitions_are_judged_in_one_call():
    p = np.random.default_rng(0).uniform(0, 0.1, size=(40, 5))
    np.testing.assert_array_equal(hochberg(p, 0.05), [hochberg(row, 0.05) for row in p])


# --- the held-out certificate


def test_limits_hold_together_at_delta_over_k():
    certificate = certificate_of({"a": (0, 59), "b": (3, 40), "c": (7, 7)})
    found = by_name(certificate)
    assert found["a"].limit == pytest.approx(1 - (0.05 / 3) ** (1 / 59))
    assert found["b"].limit == pytest.approx(float(upper_limit(3, 40, 0.05 / 3)))
    assert found["c"].limit == 1.0
    assert [row.name for row in certificate.classes] == ["c", "b", "a"]
    assert certificate.worst_limit == 1.0
    assert certificate.verdict is None
    assert found["b"].error == 3 / 40
    assert found["b"].proven is None
    assert certificate.n_rows == 106


def test_the_worst_class_alone_needs_no_share_of_delta_for_the_others():
    certificate = certificate_of({"a": (0, 59), "b": (0, 100)})
    assert certificate.worst_limit_alone == pytest.approx(0.0495076, abs=1e-7)
    assert certificate.worst_limit == pytest.approx(1 - 0.025 ** (1 / 59))
    assert certificate.provable_floor == pytest.approx(1 - 0.0495076)
    # it is the dual of the verdict: a floor just below it is proven, one just above it is not
    below, above = certificate.provable_floor - 1e-6, certificate.provable_floor + 1e-6
    assert certificate_of({"a": (0, 59), "b": (0, 100)}, require=below).verdict == "proven"
    assert certificate_of({"a": (0, 59), "b": (0, 100)}, require=above).verdict != "proven"


def test_a_floor_is_proven_when_each_class_alone_is():
    # 0.8^14 = 0.0440 <= 0.05 for both classes, though each is above 0.025
    certificate = certificate_of({"a": (0, 14), "b": (0, 14)}, require=0.8)
    assert certificate.verdict == "proven"
    assert all(row.proven for row in certificate.classes)
    assert by_name(certificate)["a"].p_value == pytest.approx(0.8**14)
    assert by_name(certificate)["a"].limit > 0.2  # the limits are for all classes at once
    assert "sharper rule" in str(certificate)
    # with one more error in b, a is no longer proven by itself: 0.044 > 0.025
    certificate = certificate_of({"a": (0, 14), "b": (1, 14)}, require=0.8)
    a, b = by_name(certificate)["a"], by_name(certificate)["b"]
    assert certificate.verdict == "not proven"
    assert (a.status, a.more_rows_at_least, a.more_rows_if_rate_stays) == ("waits for others", 0, 0)
    assert (b.status, b.more_rows_at_least) == ("not proven", 8)


def test_the_boundary_belongs_to_the_proof():
    # 0.5^5 is exactly 1/32
    assert certificate_of({"a": (0, 5), "b": (0, 9)}, require=0.5, delta=1 / 32).verdict == "proven"
    assert certificate_of({"a": (0, 5), "b": (0, 9)}, require=0.5, delta=0.03124).verdict == "cannot be judged"


def test_floors_by_class():
    counts = {"benign": (9, 60), "malignant": (0, 59)}
    certificate = certificate_of(counts, require={"malignant": 0.95, "others": 0.7})
    assert certificate.verdict == "proven"
    assert {name: row.floor for name, row in by_name(certificate).items()} == {"benign": 0.7, "malignant": 0.95}
    certificate = certificate_of(counts, require={"malignant": 0.96, "benign": 0.7})
    assert certificate.verdict == "cannot be judged"  # 0.96^59 = 0.090
    assert by_name(certificate)["malignant"].more_rows_at_least == 74 - 59  # 0.96^74 = 0.0488
    assert "59 rows cannot prove 0.96; at least 15 more" in str(certificate)


def test_a_class_of_which_nothing_is_wanted_costs_nothing():
    # alone in the family, a is judged at delta and not at delta / 2
    certificate = certificate_of({"a": (0, 14), "b": (30, 30)}, require={"a": 0.8, "others": 0})
    assert certificate.verdict == "proven"
    assert by_name(certificate)["b"].status == "nothing wanted"
    assert by_name(certificate)["b"].floor is None


def test_a_class_without_rows_is_not_proven_and_says_so():
    certificate = certificate_of({"a": (0, 100), "b": (0, 100)}, classes=["a", "b", "c"], require=0.8)
    absent = by_name(certificate)["c"]
    assert certificate.verdict == "not proven"
    assert (absent.status, absent.proven, absent.error, absent.limit) == ("no rows", False, None, 1.0)
    assert (absent.more_rows_at_least, absent.more_rows_if_rate_stays) == (14, None)
    assert "c: it has no rows; at least 14 more rows needed" in str(certificate)
    assert certificate.worst_limit_alone == 1.0
    assert by_name(certificate)["a"].proven


@pytest.mark.parametrize(
    ("counts", "verdict"),
    [
        ({"a": (0, 13), "b": (0, 100)}, "cannot be judged"),  # 0.8^13 = 0.055: too few even without an error
        ({"a": (13, 13), "b": (0, 100)}, "cannot be judged"),
        ({"a": (0, 13), "b": (60, 100)}, "not proven"),  # b fails whatever a has
        ({"a": (0, 13), "b": (0, 14)}, "cannot be judged"),  # b only waits for a
        ({"a": (5, 14), "b": (0, 14)}, "not proven"),
        ({"a": (0, 14), "b": (0, 14)}, "proven"),
    ],
)
def test_too_few_rows_cannot_be_judged(counts, verdict):
    assert certificate_of(counts, require=0.8).verdict == verdict


def test_what_more_rows_would_do_is_said():
    text = str(certificate_of({"a": (30, 100), "b": (10, 60), "c": (0, 100)}, require=0.8))
    assert "a: 30 of 100 rows wrong do not prove 0.8" in text
    assert "At the observed error rate no number of rows is enough" in text
    more = rows_if_rate_stays(10, 60, Fraction(1, 5), 0.05)
    assert f"{more} at the observed rates" in text
    assert "NOT PROVEN: 2 of 3 floors lack a proof" in text


def test_a_limit_is_shown_rounded_up():
    text = str(certificate_of({"a": (0, 59), "b": (0, 500)}, delta=0.1))
    assert "5.0%" in text.splitlines()[1]  # 4.951%


def test_a_certificate_is_frozen_and_survives_json():
    certificate = certificate_of({"a": (1, 20), "b": (0, 3)}, classes=["a", "b", "c"], require=0.8)
    again = Certificate.from_dict(json.loads(json.dumps(certificate.to_dict())))
    assert again == certificate
    assert str(again) == str(certificate)
    assert certificate.to_dict()["verdict"] == certificate.verdict
    with pytest.raises(FrozenInstanceError):
        certificate.delta = 0.5


def test_answers_that_are_no_class_are_wrong():
    X = np.array([["a"], ["nothing"], ["b"]], dtype=object)
    certificate = certify(Answers(["a", "b"]), X, ["a", "a", "b"])
    assert (by_name(certificate)["a"].wrong, by_name(certificate)["b"].wrong) == (1, 0)


def test_a_model_without_classes_has_those_of_the_rows():
    X, y = rows({"a": (0, 5), "b": (1, 9)})
    assert {row.name: row.total for row in certify(Answers(), X, y).classes} == {"a": 5, "b": 9}


@pytest.mark.parametrize(
    "model",
    [
        make_pipeline(StandardScaler(), LogisticRegression()),
        GridSearchCV(DecisionTreeClassifier(random_state=0), {"max_depth": [2, 3]}, cv=2),
        HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=3),
    ],
    ids=["pipeline", "search", "trees"],
)
def test_scikit_learn_models_can_be_certified(model, blobs):
    X, y = blobs
    certificate = certify(model.fit(X[:45], y[:45]), X[45:], y[45:], require=0.1)
    assert certificate.verdict == "proven"
    assert (certificate.overlap.verdict, certificate.overlap.n_equal) == ("unknown", None)
    assert "Not checked" in str(certificate)
    wrong = model.predict(X[45:]) != y[45:]
    assert sum(row.wrong for row in certificate.classes) == wrong.sum()


# --- bad input


@pytest.mark.parametrize("delta", [0, 1, -0.1, 1.5, "0.05", None, True, float("nan")])
def test_delta_lies_between_0_and_1(delta):
    with pytest.raises(ParameterError, match=r"'delta' parameter of certify must be a number in \(0, 1\)"):
        certificate_of({"a": (0, 5), "b": (0, 5)}, delta=delta)


@pytest.mark.parametrize("require", [1, 1.2, -0.1, "0.8", True, float("nan"), {"a": 2, "b": 0.5}])
def test_a_floor_lies_between_0_and_1(require):
    with pytest.raises(ParameterError, match=r"'require' parameter of certify must be an accuracy floor in \[0, 1\)"):
        certificate_of({"a": (0, 5), "b": (0, 5)}, require=require)


def test_floors_must_name_every_class_and_only_classes():
    with pytest.raises(ParameterError, match=r"without one: \['b'\].*'others'"):
        certificate_of({"a": (0, 5), "b": (0, 5)}, require={"a": 0.8})
    with pytest.raises(UnknownNameError, match="Did you mean 'malignant'"):
        certificate_of({"benign": (0, 5), "malignant": (0, 5)}, require={"malignent": 0.8, "others": 0.5})
    with pytest.raises(ParameterError, match=r"of which 1 is a number.*Write 1 in place of '1'"):
        certificate_of({1: (0, 5), 2: (0, 5)}, require={"1": 0.8, "others": 0.5})


def test_calibration_rows_of_unknown_classes():
    X, y = rows({"a": (0, 5), "b": (0, 5)})
    with pytest.raises(DataError, match=r"y has labels that the training rows do not have: \['c'\]"):
        certify(Answers(["a", "b"]), X, [*y[:-1], "c"])


@pytest.mark.parametrize(
    ("classes", "labels", "told"),
    [
        ([1, 2], ["1", "2"], "y has the text '1' where the class is the number 1"),
        ([1, 2], ["1.0", "2.0"], "y has the text '1.0' where the class is the number 1"),
        (["1", "2"], [1, 2], "y has the number 1 where the class is the text '1'"),
        (["1", "2"], [1.0, 2.0], "y has the number 1.0 where the class is the text '1'"),
    ],
)
def test_labels_of_another_type_get_a_suggestion(classes, labels, told):
    with pytest.raises(DataError, match=told) as error:
        certify(Answers(classes), [[classes[0], 0], [classes[1], 0]], labels)
    assert "np.asarray(labels).astype(" in str(error.value)


def test_answers_of_another_type_get_a_suggestion():
    with pytest.raises(DataError, match="The model answers with the text '1' where the class is the number 1"):
        certify(Answers([1, 2]), np.array([["1"], ["2"]]), [1, 2])


def test_labels_of_mixed_types():
    with pytest.raises(DataError, match="y mixes labels of different types"):
        certify(Answers(["a", "1"]), [["a", 0], ["1", 0]], ["a", 1])


def test_whole_numbers_may_come_as_floats():
    certificate = certify(Answers([1, 2]), np.array([[1, 0], [2, 0]]), np.array([1.0, 2.0]))
    assert certificate.n_rows == 2


@pytest.mark.parametrize(
    ("model", "told"),
    [
        (object(), "with a method predict"),
        (LogisticRegression, "with a method predict"),
        (LinearRegression().fit([[0], [1]], [0, 1]), "with a method predict"),
        (LogisticRegression(), "Call its fit first"),
        (make_pipeline(StandardScaler(), LogisticRegression()), "Call its fit first"),
        (WorstClassBooster(DecisionTreeClassifier(), 0.5), "Call its fit first"),
        (DecisionTreeClassifier().fit([[0], [1]], [[0, 1], [1, 0]]), "one label per row"),
    ],
    ids=["no model", "class", "regressor", "unfitted", "unfitted pipeline", "unfitted booster", "two outputs"],
)
def test_what_is_no_fitted_classifier(model, told):
    with pytest.raises(ParameterError, match=told):
        certify(model, [[0.0], [1.0]], [0, 1])


def test_rows_and_labels_must_fit_together():
    X, y = rows({"a": (0, 5), "b": (0, 5)})
    with pytest.raises(DataError, match="inconsistent numbers"):
        certify(Answers(["a", "b"]), X, y[:-1])
    with pytest.raises(DataError, match="Pass y"):
        certify(Answers(["a", "b"]), X)
    with pytest.raises(DataError, match="needs held-out rows and got none"):
        certify(Answers(["a", "b"]), X[:0], [])

    class TwoColumns(Answers):
        def predict(self, X):
            return np.asarray(X)

    with pytest.raises(DataError, match="must return one label per row"):
        certify(TwoColumns(["a", "b"]), X, y)


# --- rows that were used before


def table(X):
    return pd.DataFrame({"p": X[:, 0], "q": X[:, 1], "side": pd.Categorical(np.where(X[:, 0] > 1, "right", "left"))})


FORMS = {
    "array": lambda X: X,
    "float32": lambda X: X.astype(np.float32),
    "sparse": scipy.sparse.csr_matrix,
    "frame": lambda X: pd.DataFrame(X, columns=["p", "q"]),
}


def booster_of(X, y, *validation):
    learner = HistGradientBoostingClassifier(max_iter=5) if hasattr(X, "columns") else DecisionTreeClassifier()
    return WorstClassBooster(learner, 0.4, n_rounds=2, gamma=0.4995, random_state=0).fit(X, y, *validation)


@pytest.mark.parametrize("trained", FORMS)
@pytest.mark.parametrize("asked", FORMS)
@pytest.mark.filterwarnings("ignore:X (has|does not have) .*feature names")
def test_rows_trained_on_are_refused_in_every_form(trained, asked, blobs):
    X, y = blobs
    booster = booster_of(FORMS[trained](X[:60]), y[:60])
    with pytest.raises(DataError, match="Of the 50 rows, 20 equal rows that trained the model"):
        certify(booster, FORMS[asked](X[40:]), y[40:])


def test_validation_rows_are_refused_too_and_fresh_ones_are_not(blobs):
    X, y = blobs
    booster = booster_of(X[:40], y[:40], X[40:70], y[40:70])
    with pytest.raises(DataError, match=r"Of the 35 rows, 15 equal rows.*about 0 would by chance.*use evaluate"):
        certify(booster, X[55:], y[55:], allow_equal_rows=True)
    certificate = certify(booster, X[70:], y[70:])
    assert certificate.overlap == RowOverlap(n_rows=20, n_equal=0, n_expected=0.0, n_repeated=0, verdict="none")
    assert "The model has seen none of these 20 rows." in str(certificate)


def test_reuse_in_a_table_with_categories_and_columns_in_another_order(blobs):
    X, y = blobs
    frame = table(X)
    booster = booster_of(frame[:60], y[:60])
    turned = frame[["side", "q", "p"]]
    with pytest.raises(DataError, match="Of the 45 rows, 15 equal"):
        certify(booster, turned[45:], y[45:])
    straight, other = certify(booster, frame[60:], y[60:]), certify(booster, turned[60:], y[60:])
    assert straight == other


@pytest.mark.filterwarnings("ignore::worstclass.exceptions.WorstClassWarning")
def test_reuse_of_images_as_arrays_tensors_and_data_sets():
    rng = np.random.default_rng(0)
    images = rng.integers(0, 255, size=(30, 1, 4, 4), dtype=np.uint8)
    y = np.arange(30) % 2
    learner = TorchLearner("mlp", module_options={"hidden": (8,)})
    booster = WorstClassBooster(learner, 0.1, n_rounds=1, gamma=0.4, random_state=0).fit(images[:20], y[:20])
    for form in (images, torch.from_numpy(images), TensorDataset(torch.from_numpy(images), torch.from_numpy(y))):
        with pytest.raises(DataError, match="Of the 30 rows, 20 equal"):
            certify(booster, form, None if isinstance(form, TensorDataset) else y)
    fresh = TensorDataset(torch.from_numpy(images[20:]), torch.from_numpy(y[20:]))
    assert certify(booster, fresh).overlap.verdict == "none"


NETWORK = TorchLearner("mlp", module_options={"hidden": (4,)}, lr=0.05)

ESTIMATORS = {
    "booster": lambda: WorstClassBooster(DecisionTreeClassifier(), 0.4, n_rounds=2, gamma=0.4995, random_state=0),
    "instance booster": lambda: InstanceBooster(DecisionTreeClassifier(), n_rounds=2, gamma=0.4995, random_state=0),
    "network": lambda: NetworkClassifier(NETWORK, max_epochs=2, random_state=0),
    "ensemble": lambda: DeepEnsemble(NETWORK, n_estimators=2, max_epochs=2, random_state=0),
    "offsets of a network": lambda: WorstClassOffsets(NetworkClassifier(NETWORK, max_epochs=2, random_state=0), cv=2),
    "offsets of a tree": lambda: WorstClassOffsets(DecisionTreeClassifier(random_state=0), cv=2),
    "abstaining tree": lambda: AbstainingClassifier(DecisionTreeClassifier(random_state=0), risk=0.5, random_state=0),
}


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.filterwarnings("ignore::worstclass.exceptions.WorstClassWarning")
def test_no_estimator_is_certified_on_rows_that_it_has_seen(name, blobs):
    X, y = blobs
    model = ESTIMATORS[name]().fit(X, y)
    with pytest.raises(DataError, match="Of the 90 rows, 90 equal rows"):
        certify(model, X, y, require=0.5)
    with pytest.raises(DataError, match="use evaluate"):
        certify(model, X[::2], y[::2], allow_equal_rows=True)
    assert certify(model, X + 100.0, y).overlap.verdict == "none"


@pytest.mark.filterwarnings("ignore::worstclass.exceptions.WorstClassWarning")
def test_rows_that_chose_offsets_or_proved_a_limit_are_refused(blobs):
    X, y = blobs
    tree = DecisionTreeClassifier(random_state=0).fit(X[:45], y[:45])
    for model in (WorstClassOffsets(tree, cv="prefit"), AbstainingClassifier(tree, risk=0.5, cv="prefit")):
        with pytest.raises(DataError, match="Of the 45 rows, 45 equal rows"):
            certify(model.fit(X[45:], y[45:]), X[45:], y[45:])


# --- equal rows in discrete tables


def discrete_rows(n, seed):
    """Rows of 4 columns of 3 values: 81 different rows."""
    return np.random.default_rng(seed).integers(0, 3, size=(n, 4)).astype(float)


def discrete_booster(n=300):
    X = discrete_rows(n, 0)
    return booster_of(X, (X[:, 0] > 0).astype(int)), X


def test_independent_rows_of_a_discrete_table_are_certified():
    booster, trained = discrete_booster()
    X = discrete_rows(300, 1)
    certificate = certify(booster, X, (X[:, 0] > 0).astype(int), require=0.9)
    assert certificate.verdict == "proven"
    overlap = certificate.overlap
    known = {tuple(row) for row in trained.tolist()}
    n_equal = sum(tuple(row) in known for row in X.tolist())
    assert n_equal == 290  # of 81 different rows, training has 77
    assert (overlap.verdict, overlap.n_equal, overlap.allowed) == ("chance", n_equal, False)
    alone = [row for row in trained.tolist() if trained.tolist().count(row) == 1]
    assert overlap.n_expected == pytest.approx(300 - len(alone))
    assert f"290 of these 300 rows equal rows that the model has seen, about {overlap.n_expected:.0f}" in str(
        certificate
    )
    assert Certificate.from_dict(json.loads(json.dumps(certificate.to_dict()))) == certificate


def test_a_copy_of_a_discrete_table_is_refused_even_if_equal_rows_are_allowed():
    booster, X = discrete_booster()
    y = (X[:, 0] > 0).astype(int)
    with pytest.raises(DataError, match="Of the 300 rows, 300 equal"):
        certify(booster, X, y, allow_equal_rows=True)


def test_if_it_cannot_be_decided_the_user_decides_and_the_certificate_says_so():
    booster, _ = discrete_booster(3_000)
    X = discrete_rows(50, 1)
    y = (X[:, 0] > 0).astype(int)
    with pytest.raises(DataError, match=r"cannot be decided.*allow_equal_rows=True \(--allow-equal-rows\)"):
        certify(booster, X, y)
    certificate = certify(booster, X, y, require=0.5, allow_equal_rows=True)
    assert (certificate.overlap.verdict, certificate.overlap.allowed) == ("undecided", True)
    assert certificate.verdict == "proven"
    assert "the user allowed equal rows" in str(certificate)
    assert certificate.to_dict()["overlap"]["allowed"] is True
    assert Certificate.from_dict(certificate.to_dict()) == certificate


def test_a_stored_model_still_knows_its_rows(blobs, tmp_path):
    X, y = blobs
    booster = load_model(save_model(booster_of(X[:60], y[:60]), tmp_path))
    with pytest.raises(DataError, match="Of the 50 rows, 20 equal"):
        certify(booster, X[40:], y[40:])


def test_copies_among_the_held_out_rows_are_counted(blobs):
    X, y = blobs
    model = DecisionTreeClassifier().fit(X[:60], y[:60])
    certificate = certify(model, np.vstack([X[60:], X[60:70]]), np.concatenate([y[60:], y[60:70]]))
    assert certificate.overlap.n_repeated == 10
    assert "10 rows are copies of others among these rows" in str(certificate)


# --- the training certificate


def three_voters():
    """Each of three voters has half of class 1 right, and the vote a quarter; class 0 is right throughout."""
    script = [[[0, 0, 0, 0, 1, 1, 0, 0]], [[0, 0, 0, 0, 1, 0, 1, 0]], [[0, 0, 0, 0, 1, 0, 0, 1]]]
    return ScriptedLearner(script), numbered_rows(8), np.repeat([0, 1], 4)


@pytest.mark.filterwarnings("ignore::worstclass.exceptions.UnmetBoundWarning")
def test_the_counterexample_to_the_majority_step_by_hand():
    learner, X, y = three_voters()
    booster = WorstClassBooster(learner, 0.5, gamma=0.4995, n_rounds=3, extend=False).fit(X, y)
    certificate = training_certificate(booster)
    zero, one = certificate.classes
    assert (one.wrong, one.total, one.spare, one.met) == (3, 4, -2, False)  # 3 of 4 must be right, 1 is
    assert (zero.wrong, zero.spare, zero.met) == (0, 1, True)
    assert one.factor_two == 1.0  # 6 of 12 answers wrong
    assert certificate.edges_held
    assert certificate.regret_held
    # after 3 rounds the vote has 1 of the 4 right, fewer than 3, and every round met the floor
    assert [record.vote_correct[1] for record in booster.history_] == [2, 2, 1]
    assert (one.majority_false, zero.majority_false) == (True, False)
    assert not certificate.majority_held
    assert not certificate.theorem_applies
    assert not certificate.bound_met
    assert "NOT met, in rows: 1 by 2" in str(certificate)
    assert "majority step after T rounds: did NOT hold" in str(certificate)


@pytest.mark.filterwarnings("ignore::worstclass.exceptions.UnmetBoundWarning")
def test_one_round_that_misses_a_class_breaks_the_regret_and_not_the_majority_step():
    booster = WorstClassBooster(ScriptedLearner([[[0, 1, 0]]]), 0.5, gamma=0.1, n_rounds=1, extend=False)
    certificate = training_certificate(booster.fit(numbered_rows(3), [0, 1, 2]))
    assert certificate.edges_held  # 2/3 of the weight, needed 0.6
    assert certificate.majority_held  # the class that the vote misses is missed by the only round
    assert (certificate.classes[2].met, certificate.classes[2].majority_false) == (False, False)
    assert certificate.regret == pytest.approx(2 / 3)
    assert certificate.regret_allowed == 0.05
    assert not certificate.regret_held
    assert not certificate.theorem_applies


@pytest.mark.filterwarnings("ignore::worstclass.exceptions.UnmetBoundWarning")
def test_boosting_that_ended_early_proves_nothing():
    script = [[[0, 0, 1, 1]], [[0, 0, 0, 0]], [[0, 0, 0, 0]]]
    booster = WorstClassBooster(
        ScriptedLearner(script), 0.5, gamma=0.01, n_rounds=3, extend=False, max_epochs_per_round=1
    )
    with pytest.warns(match="could not reach its edge"):
        booster.fit(numbered_rows(4), [0, 0, 1, 1])
    certificate = training_certificate(booster)
    assert (certificate.n_boosted, certificate.n_rounds, certificate.n_edges_reached) == (1, 3, 1)
    assert not certificate.edges_held
    assert not certificate.regret_held
    assert not certificate.majority_held
    assert not certificate.theorem_applies


def test_regret_and_bound_are_those_of_the_last_round_of_hedge(blobs):
    X, y = blobs
    booster = WorstClassBooster(DecisionTreeClassifier(), 0.8, random_state=0).fit(X, y)
    certificate = training_certificate(booster)
    last = [record for record in booster.history_ if record.phase == "boost"][-1]
    assert (certificate.regret, certificate.regret_bound) == (last.regret, last.regret_bound)
    assert certificate.regret <= certificate.regret_bound
    assert certificate.regret_bound == pytest.approx(math.sqrt(booster.n_rounds_ * math.log(3) / 2))
    assert certificate.regret_allowed == booster.gamma_ * booster.n_rounds_ / 2
    assert certificate.n_edges_reached == booster.n_rounds_
    for row, label in zip(certificate.classes, booster.classes_, strict=True):
        assert row.wrong == (booster.predict(X[y == label]) != label).sum()
        answers = [member.predict(booster.encoder_.encode(X[y == label])) for member in booster.estimators_]
        wrong = sum(int((booster.classes_[answer] != label).sum()) for answer in answers)
        assert row.factor_two == pytest.approx(2 * wrong / (len(answers) * row.total))
        assert row.factor_two >= row.error - 1e-12


@settings(deadline=None, max_examples=60)
@given(st.data())
@pytest.mark.filterwarnings("ignore::worstclass.exceptions.WorstClassWarning")
def test_where_the_assumptions_hold_the_bound_does_and_factor_two_always(data):
    answers = st.lists(st.integers(0, 1), min_size=8, max_size=8)
    script = [[answer] for answer in data.draw(st.lists(answers, min_size=3, max_size=3))]
    theta = data.draw(st.sampled_from([0.25, 0.5, 0.75]))
    booster = WorstClassBooster(
        ScriptedLearner(script), theta, gamma=0.01, n_rounds=3, extend=False, max_epochs_per_round=1
    ).fit(numbered_rows(8), np.repeat([0, 1], 4))
    certificate = training_certificate(booster)
    for row in certificate.classes:
        assert row.error <= row.factor_two + 1e-12
    if certificate.theorem_applies:
        assert certificate.bound_met
    if certificate.edges_held and certificate.regret_held and not certificate.bound_met:
        assert not certificate.majority_held


def test_the_vote_is_judged_as_it_is_used_and_the_theorem_on_its_t_rounds():
    # members have one, none and two rows of class 1 wrong. The third spoils the validation rows, so two vote; where
    # they differ, the first keeps the row
    script = [[[0, 0, 0, 1, 1, 0, 1]], [[0, 0, 1, 1, 1, 1, 0]], [[0, 0, 0, 0, 1, 0, 0]]]
    booster = WorstClassBooster(ScriptedLearner(script), 0.3, gamma=0.4, n_rounds=3, extend=False)
    booster.fit(numbered_rows(5), [0, 0, 1, 1, 1], np.array([[5.0], [6.0]]), [0, 1])
    assert booster.n_members_used_ == 2
    certificate = training_certificate(booster)
    assert (certificate.n_voters, certificate.n_boosted) == (2, 3)
    assert [row.wrong for row in certificate.classes] == [0, 1]
    # one wrong answer of two members on three rows
    assert [row.factor_two for row in certificate.classes] == [0, pytest.approx(1 / 3)]
    assert certificate.edges_held


@pytest.mark.filterwarnings("ignore::worstclass.exceptions.WorstClassWarning")
def test_a_first_round_without_its_edge_leaves_nothing_to_hedge():
    script = [[[0, 0, 0, 0]]]
    booster = WorstClassBooster(ScriptedLearner(script), 0.5, gamma=0.4, n_rounds=2, max_epochs_per_round=1)
    certificate = training_certificate(booster.fit(numbered_rows(4), [0, 0, 1, 1]))
    assert (certificate.n_boosted, certificate.n_voters) == (0, 1)
    assert certificate.regret is None
    assert not certificate.regret_held
    assert not any(row.majority_false for row in certificate.classes)
    assert "was none" in str(certificate)


def test_a_training_certificate_survives_json_and_a_model_folder(blobs, tmp_path):
    booster = booster_of(*blobs)
    certificate = training_certificate(booster)
    written = json.loads(json.dumps(certificate.to_dict()))
    assert (written["bound_met"], written["n_rounds"]) == (certificate.bound_met, certificate.n_rounds)
    assert [row["factor_two"] for row in written["classes"]] == [row.factor_two for row in certificate.classes]
    assert training_certificate(load_model(save_model(booster, tmp_path))) == certificate


@pytest.mark.parametrize("booster", [None, DummyClassifier(), WorstClassBooster(DecisionTreeClassifier(), 0.5)])
def test_a_training_certificate_needs_a_fitted_booster(booster):
    with pytest.raises(ParameterError, match="a fitted WorstClassBooster"):
        training_certificate(booster)


# --- generalisation bounds


def test_the_bound_by_hand():
    bound = generalisation_bound([0.1, 0.2], [100, 400], C=0.5, delta=0.1)
    # delta / K = 0.05: log(2 / 0.05) = 3.6889
    assert bound.deviation[0] == pytest.approx(3 * math.sqrt(3.68888 / 200), rel=1e-5)
    assert bound.complexity == (0.1, 0.05)
    assert bound.error == (0.1, 0.2)
    assert bound.bound[0] == pytest.approx(0.1 + 0.1 + 0.40743, abs=1e-5)
    assert bound.worst == bound.bound[0]
    assert not bound.vacuous
    assert "at most 0.6074" in str(bound)


def test_more_classes_cost_a_share_of_delta():
    one = generalisation_bound(0.2, [1000], C=1, delta=0.05).bound[0]
    of_ten = generalisation_bound(0.2, [1000] * 10, C=1, delta=0.5).bound[3]
    assert of_ten == pytest.approx(one)


def test_the_corollary_is_the_bound_of_the_smallest_class():
    theta, sizes, C, delta = 0.75, [50, 3_000, 40], 0.3, 0.05
    expected = 1 - theta + 2 * C / math.sqrt(40) + 3 * math.sqrt(math.log(2 * 3 / delta) / (2 * 40))
    assert generalisation_bound(1 - theta, sizes, C=C, delta=delta).worst == pytest.approx(expected)


def test_a_vote_is_bounded_by_twice_its_members():
    single, vote = (generalisation_bound([0.1], [900], C=0.2, vote=vote) for vote in (False, True))
    assert vote.worst == pytest.approx(2 * single.worst)


def test_a_vacuous_bound_says_so():
    bound = generalisation_bound(0.25, [100, 100], C=10)
    assert bound.vacuous
    assert "VACUOUS" in str(bound)
    assert generalisation_bound(0.0, [1], C=0.0).vacuous
    assert "VACUOUS" not in str(generalisation_bound(0.0, [10_000], C=0.0))


@pytest.mark.parametrize(
    ("changes", "parameter"),
    [
        ({"errors": 1.5}, "errors"),
        ({"errors": [0.1, 0.2, 0.3]}, "errors"),
        ({"errors": float("nan")}, "errors"),
        ({"n_rows": [10, 0]}, "n_rows"),
        ({"n_rows": []}, "n_rows"),
        ({"n_rows": [1.5, 2.5]}, "n_rows"),
        ({"C": -1}, "C"),
        ({"C": float("inf")}, "C"),
        ({"C": "big"}, "C"),
        ({"delta": 0}, "delta"),
    ],
)
def test_bounds_refuse_what_cannot_be(changes, parameter):
    good = {"errors": 0.2, "n_rows": [10, 20], "C": 1.0, "delta": 0.05}
    with pytest.raises(ParameterError, match=f"'{parameter}' parameter of generalisation_bound"):
        generalisation_bound(**{**good, **changes})


def test_splits_keep_calibration_rows_apart_from_training(blobs):
    X, y = blobs
    splits = make_splits(X, y, val=0.2, cal=0.3, test=0.0, seed=0)
    booster = booster_of(splits.train.X, splits.train.y, splits.val.X, splits.val.y)
    certificate = certify(booster, splits.cal.X, splits.cal.y)
    assert certificate.overlap.verdict == "none"
