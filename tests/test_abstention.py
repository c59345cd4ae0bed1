"""Abstaining: rules and certificates by hand, any classifier inside, and rows that cannot be used twice."""

from __future__ import annotations

import json
import re
import warnings
from dataclasses import FrozenInstanceError

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import sklearn
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Perceptron
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks
from torch.utils.data import TensorDataset

from worstclass import (
    AbstainingClassifier,
    NetworkClassifier,
    TorchLearner,
    WorstClassBooster,
    WorstClassOffsets,
    certify,
)
from worstclass.data.seen_rows import RowOverlap
from worstclass.exceptions import (
    DataError,
    ParameterError,
    ReusedRowsWarning,
    UnknownNameError,
    UnknownOptionError,
    UnmetBoundWarning,
    WorstClassWarning,
)
from worstclass.wrappers.abstention_rules import (
    JudgedAnswers,
    RiskCounts,
    abstain_value,
    candidate_thresholds,
    count_along,
    divide,
    find_threshold,
    first_tested,
    last_proven,
    p_values,
    with_abstentions,
)
from worstclass.wrappers.risk_report import ClassRisk, RiskCertificate, RiskReport
from worstclass.wrappers.scores import answers_and_margins


class Told(ClassifierMixin, BaseEstimator):
    """A fitted classifier that is told what to say: X has the index of the answer, and its margin."""

    def __init__(self, classes=("a", "b")):
        self.classes = classes

    def fit(self, X, y):
        return self

    @property
    def classes_(self):
        return np.array(self.classes)

    def __sklearn_is_fitted__(self):
        return True

    def predict(self, X):
        return self.classes_[np.asarray(X)[:, 0].astype(int)]

    def decision_margin(self, X):
        return np.asarray(X)[:, 1]


def judged(*rows):
    """Make rows from (class, answer, margin)."""
    target, answer, margin = zip(*rows, strict=True)
    return JudgedAnswers(np.array(target), np.array(answer), np.array(margin, dtype=float))


def told(*groups):
    """Make X and y for ``Told`` from (class, answer, margin, how many)."""
    X = [[answer, margin] for _, answer, margin, n in groups for _ in range(n)]
    y = ["ab"[k] for k, _, _, n in groups for _ in range(n)]
    return np.array(X, dtype=float), np.array(y)


def by_name(report):
    return {row.name: row for row in report.classes}


# --- thresholds


ROWS = judged((0, 0, 3), (0, 0, 2), (0, 1, 1), (1, 1, 2), (1, 0, 2), (1, 1, 0))


def test_thresholds_and_counts_by_hand():
    thresholds = candidate_thresholds(ROWS)
    assert thresholds.tolist() == [3, 2, 1, 0, -np.inf]
    counts = count_along(ROWS, thresholds, 2)
    # a margin must exceed the threshold: nothing exceeds 3, and of class 1 a row at 0 is answered at the end only
    assert counts.answered.tolist() == [[0, 0], [1, 0], [2, 2], [3, 2], [3, 3]]
    assert counts.wrong.tolist() == [[0, 0], [0, 0], [0, 1], [1, 1], [1, 1]]


def test_of_many_margins_some_are_taken_evenly():
    rows = JudgedAnswers(np.zeros(5000, dtype=int), np.zeros(5000, dtype=int), np.arange(5000.0))
    thresholds = candidate_thresholds(rows)
    assert len(thresholds) == 501
    assert (thresholds[0], thresholds[-2], thresholds[-1]) == (4999, 0, -np.inf)
    assert set(np.diff(thresholds[:-1])) == {-10, -11}


@st.composite
def some_rows(draw, max_classes=4, unique=False):
    K = draw(st.integers(2, max_classes))
    n = draw(st.integers(1, 30))
    classes = hnp.arrays(np.int64, n, elements=st.integers(0, K - 1))
    margin = draw(hnp.arrays(np.float64, n, elements=st.integers(0, 9999 if unique else 5), unique=unique))
    return K, JudgedAnswers(draw(classes), draw(classes), margin)


@settings(deadline=None, max_examples=60)
@given(some_rows(), st.data())
def test_counts_are_those_of_counting_each_threshold(some, data):
    K, rows = some
    thresholds = candidate_thresholds(rows)
    assert (thresholds[1:] < thresholds[:-1]).all()
    assert count_along(rows, thresholds, K).answered[0].sum() == 0
    n = data.draw(st.integers(0, 20))
    classes = hnp.arrays(np.int64, n, elements=st.integers(0, K - 1))
    other = JudgedAnswers(
        *(data.draw(classes) for _ in range(2)), data.draw(hnp.arrays(np.float64, n, elements=st.integers(-1, 6)))
    )
    counts = count_along(other, thresholds, K)
    for threshold, answered, wrong in zip(thresholds, counts.answered, counts.wrong, strict=True):
        passes = other.margin > threshold
        for k in range(K):
            mine = passes & (other.target == k)
            assert answered[k] == mine.sum()
            assert wrong[k] == (mine & (other.answer != k)).sum()


@settings(deadline=None, max_examples=60)
@given(some_rows(unique=True), st.data())
def test_renamed_classes_have_the_same_threshold(some, data):
    K, rows = some
    order = np.array(data.draw(st.permutations(range(K))))
    place = np.argsort(order)
    risk = np.array(data.draw(st.lists(st.sampled_from([0.3, 0.5, 1.0]), min_size=K, max_size=K)))
    half = np.arange(len(rows.target)) % 2 == 0
    choosing, proving = (rows.take(np.flatnonzero(part)) for part in (half, ~half))
    renamed = [JudgedAnswers(place[part.target], place[part.answer], part.margin) for part in (choosing, proving)]
    assert find_threshold(*renamed, risk[order], 0.3) == find_threshold(choosing, proving, risk, 0.3)


def test_the_p_value_of_a_rule_is_that_of_its_worst_class():
    # (1/2)^3; 4 of 5 right at 1/2: 6/32; a class without an answered row is never proven; one with a limit of 1 is
    counts = RiskCounts(np.array([[3, 5], [3, 0], [3, 0]]), np.array([[0, 1], [0, 0], [0, 0]]))
    assert p_values(counts, np.array([0.5, 0.5])).tolist() == [6 / 32, 1.0, 1.0]
    assert p_values(counts, np.array([0.5, 1.0])).tolist() == [1 / 8] * 3


def test_tests_stop_at_the_first_rule_that_fails():
    counts = RiskCounts(np.array([[4], [5], [6], [7], [20]]), np.array([[0], [0], [0], [3], [0]]))
    half = np.array([0.5])
    assert last_proven(counts, 1, half, 0.05) == 2  # 1/32, 1/64, then 64/128; the last, 2^-20, is never asked
    assert last_proven(counts, 4, half, 0.05) == 4
    assert last_proven(counts, 0, half, 0.05) is None  # 1/16, although the next would pass
    assert last_proven(counts, 1, half, 1 / 32) == 2  # delta itself is enough
    assert last_proven(counts, 1, half, 1 / 33) is None


ENOUGH = np.array([1000, 1000])


def test_the_rule_to_begin_with_keeps_three_quarters_of_every_class():
    # class 0: no error up to rule 3; class 1 loses rows faster on the way back
    answered = np.array([[2, 0], [6, 2], [7, 6], [8, 8], [9, 8]])
    wrong = np.array([[0, 0], [0, 0], [0, 0], [0, 0], [4, 0]])
    risk = np.array([0.3, 0.3])
    assert p_values(RiskCounts(answered, wrong), risk).argmin() == 3
    assert first_tested(RiskCounts(answered, wrong), ENOUGH, risk, 0.05) == 2  # 7 >= 6 and 6 >= 6; before: 2
    assert first_tested(RiskCounts(answered, wrong), ENOUGH, np.array([0.3, 1.0]), 0.05) == 1  # class 1 has no say
    assert first_tested(RiskCounts(answered * [1, 0], wrong), ENOUGH, risk, 0.05) == 1  # nor without rows
    assert first_tested(RiskCounts(answered * 0, wrong * 0), ENOUGH, risk, 0.05) == 4  # without rows: the freest


def test_the_rule_to_begin_with_leaves_as_many_rows_as_a_proof_takes():
    answered, wrong = np.array([[3], [4], [5], [6]]), np.array([[0], [0], [0], [3]])
    half = np.array([0.5])
    assert p_values(RiskCounts(answered, wrong), half).argmin() == 2
    assert first_tested(RiskCounts(answered, wrong), np.array([10]), half, 0.05) == 1  # 4/6 of 10: 0.5^6.7
    # of 6 rows 4 are too few, 0.5^4 = 0.06, and 5 are enough, 0.5^5 = 0.03
    assert first_tested(RiskCounts(answered, wrong), np.array([6]), half, 0.05) == 2
    assert (
        first_tested(RiskCounts(answered, wrong), np.array([3]), half, 0.05) == 2
    )  # none is enough: the one that looks best


def test_of_rules_that_look_alike_the_freest_counts():
    counts = RiskCounts(np.array([[4], [4], [4]]), np.array([[0], [0], [0]]))
    assert first_tested(counts, ENOUGH[:1], np.array([0.3]), 0.05) == 0  # all three answer the same four rows
    counts = RiskCounts(np.array([[4], [5], [6]]), np.array([[6], [6], [6]]))  # all p-values are 1
    assert first_tested(counts, ENOUGH[:1], np.array([0.3]), 0.05) == 1  # 5 >= 0.75 * 6


def test_the_whole_procedure_by_hand():
    # choosing: margins 3, 2, 1 right, 0 wrong in both classes. Free of errors down to the threshold 0: 3 rows a class;
    # three quarters of them is 3, so the tests begin there. Proving: at 0 six of each are right; at -inf 2 are wrong.
    choosing = judged(*((k, k, m) for k in (0, 1) for m in (3, 2, 1)), (0, 1, 0), (1, 0, 0))
    proving = judged(*((k, k, 2) for k in (0, 1) for _ in range(6)), (0, 1, 0), (0, 1, -1))
    risk = np.array([0.5, 0.5])
    assert find_threshold(choosing, proving, risk, 0.05) == (0, True)
    # with delta 0.3 the freest is proven too: 2 of 8 wrong at 1/2 has (1 + 8 + 28) / 256 = 0.145
    assert find_threshold(choosing, proving, risk, 0.3) == (-np.inf, True)
    # with delta 0.01 not even the first: (1/2)^6 = 0.016
    assert find_threshold(choosing, proving, risk, 0.01) == (0, False)


def test_rows_are_divided_class_by_class():
    target = np.array([0] * 10 + [1] * 3 + [2])
    marked = divide(target, 0.8, None)
    assert np.bincount(target[marked]).tolist() == [8, 2, 1]  # 2.4 rows are 2, 0.8 are 1
    assert marked[:10].tolist() == [True, True, False, True, True, True, True, False, True, True]  # spread
    drawn = divide(target, 0.8, np.random.default_rng(0))
    assert np.bincount(target[drawn]).tolist() == [8, 2, 1]
    assert (drawn != marked).any()


# --- certificates and reports


def risk_of(name, total, answered, wrong, limit=None):
    return ClassRisk(name, total, wrong, answered, limit)


def certificate(*rows, delta=0.05, **options):
    overlap = RowOverlap(100, 0, 0.0, 0, "none")
    return RiskCertificate.judged([risk_of(*row) for row in rows], delta=delta, overlap=overlap, **options)


def test_proven_where_each_class_alone_is():
    # 0.9^29 = 0.047; 1 of 46 wrong at 0.1: 0.0480
    found = certificate(("a", 40, 29, 0, 0.1), ("b", 46, 46, 1, 0.1), ("c", 5, 5, 5))
    assert found.verdict == "proven"
    assert found.unproven == ()
    rows = by_name(found)
    assert rows["a"].p_value == pytest.approx(0.9**29)
    assert rows["b"].p_value == pytest.approx(0.9**46 + 46 * 0.1 * 0.9**45)
    assert (rows["c"].proven, rows["c"].status, rows["c"].p_value) == (None, "nothing wanted", None)
    assert "of the rows answered, every class with a limit (all but c) errs on less than its limit." in str(found)
    without_c = certificate(("a", 40, 29, 0, 0.1), ("b", 46, 46, 1, 0.1))
    assert "of the rows answered, every class errs on less than its limit." in str(without_c)
    assert [row.name for row in found.classes] == ["c", "b", "a"]  # the largest risk first


def test_one_class_without_proof_keeps_all_from_being_proven():
    found = certificate(("a", 40, 29, 0, 0.1), ("b", 90, 45, 1, 0.1))
    rows = by_name(found)
    assert found.verdict == "not proven"
    assert (rows["a"].status, rows["b"].status) == ("waits for others", "not proven")
    assert rows["b"].more_rows_at_least == 1  # 46 answered, 1 wrong
    assert rows["b"].more_rows_if_rate_stays == 2 * 16  # at 2 of 61 wrong 0.0490; half of the rows are answered
    assert found.missing() == [
        "b: 1 of 45 answered rows wrong do not prove a risk below 0.1; at least 1 more row needed, all of them "
        "answered and right; 32 at the observed rates.",
        "a: its own rows are enough; it is proven as soon as the other classes are.",
    ]


def test_what_a_proof_lacks_is_said():
    def line(*row):
        return certificate(("b", *row)).missing()[0]

    assert line(0, 0, 0, 0.1) == "b: it has no rows; at least 29 more rows needed, all of them answered and right."
    assert "20 rows cannot prove a risk below 0.1; at least 9 more rows" in line(20, 20, 0, 0.1)
    assert "at least 29 more rows needed, all of them answered and right. So far none is" in line(90, 0, 0, 0.1)
    assert "At the observed error rate no number of rows is enough" in line(90, 40, 4, 0.1)
    assert line(90, 90, 0, 0.01).endswith("answered and right.")  # all are answered and right already


@pytest.mark.parametrize(
    ("rows", "verdict"),
    [
        ([(29, 29, 0)], "proven"),
        ([(28, 28, 0)], "cannot be judged"),  # 0.9^28 = 0.052: whatever they say
        ([(28, 0, 0)], "cannot be judged"),
        ([(29, 28, 0)], "not proven"),  # they could have proven it
        ([(0, 0, 0)], "not proven"),
        ([(28, 28, 0), (0, 0, 0)], "not proven"),
        ([(28, 28, 0), (29, 29, 0)], "cannot be judged"),
        ([(28, 28, 0), (50, 30, 5)], "not proven"),
    ],
)
def test_verdicts(rows, verdict):
    assert certificate(*((f"class {i}", *row, 0.1) for i, row in enumerate(rows))).verdict == verdict


def test_a_certificate_is_frozen_and_survives_json():
    found = certificate(("a", 40, 29, 0, 0.1), ("b", 0, 0, 0, 0.1), ("c", 5, 0, 0), n_choosing=7)
    again = RiskCertificate.from_dict(json.loads(json.dumps(found.to_dict())))
    assert again == found
    assert again.verdict == found.to_dict()["verdict"] == "not proven"
    with pytest.raises(FrozenInstanceError):
        found.delta = 0.5


def test_a_report_counts_and_promises_nothing():
    report = RiskReport((risk_of("a", 50, 40, 2, 0.1), risk_of("b", 10, 2, 0), risk_of("c", 0, 0, 0, 0.1)))
    assert (report.worst_risk, report.coverage, report.least_coverage) == (0.05, 0.7, 0.2)
    assert RiskReport.from_dict(json.loads(json.dumps(report.to_dict()))) == report
    text = str(report)
    assert "worst risk 5.0% (a), least coverage 20.0% (b), 70.0% of all rows answered" in text
    assert re.search(r"^c +- +0 +0 +0 +absent +10.0%$", text, re.MULTILINE)
    assert "PROVEN" not in text
    nobody = RiskReport((ClassRisk("a", 3, 0, 0),))
    assert str(nobody).endswith("worst risk unknown, least coverage 0.0% (a), 0.0% of all rows answered")
    assert (nobody.worst_risk, RiskReport((ClassRisk("a", 0, 0, 0),)).coverage) == (None, None)


# --- answers, margins, and labels for no answer


def test_margins_are_those_of_the_answer():
    class Odd:
        classes_ = np.array(["a", "b", "c"])

        def predict(self, X):
            return self.classes_[np.array(X)[:, 0].astype(int)]

        def predict_proba(self, X):
            return np.array(X)[:, 1:]

    # the answer has the largest, the second, the smallest probability
    X = [[0, 0.5, 0.3, 0.2], [1, 0.5, 0.3, 0.2], [2, 0.5, 0.3, 0.2]]
    answers, margins = answers_and_margins(Odd(), X, "proba")
    assert answers.tolist() == [0, 1, 2]
    assert margins == pytest.approx([0.2, -0.2, -0.3])
    _, margins = answers_and_margins(Odd(), X, "log-proba")
    assert margins == pytest.approx(np.log([5 / 3, 3 / 5, 2 / 5]))


def test_margins_of_two_classes_by_their_decision_function():
    X, y = make_classification(60, random_state=0)
    model = Perceptron().fit(X, y)
    answers, margins = answers_and_margins(model, X, "decision")
    assert (answers == model.predict(X)).all()
    assert margins == pytest.approx(np.abs(model.decision_function(X)))


@pytest.mark.parametrize(
    ("classes", "label"),
    [([0, 1], -1), ([-1, 1], -2), ([0.5, 1.5], -1), ([-2.5, 1.0], -3.5), ([False, True], -1), (["a", "b"], "abstain")],
)
def test_labels_for_no_answer(classes, label):
    assert abstain_value("auto", np.array(classes), owner="f") == label


def test_labels_for_no_answer_keep_the_others_as_they_are():
    answered = np.array([True, False])
    assert with_abstentions(np.array([3, 5], dtype=np.uint8), answered, -1).tolist() == [3, -1]
    assert with_abstentions(np.array([3, 5]), answered, -1).dtype == np.int64
    assert with_abstentions(np.array([3, 5]), answered, -0.5).tolist() == [3.0, -0.5]
    assert with_abstentions(np.array(["no", "go"]), answered, "a longer text").tolist() == ["no", "a longer text"]
    assert with_abstentions(np.array([True, False]), answered, -1).tolist() == [True, -1]
    assert with_abstentions(np.array(["no", "go"], dtype=object), answered, "-").tolist() == ["no", "-"]


# --- the estimator


CHOOSING_AND_PROVING = [(0, 0, 2, 50), (1, 1, 2, 50), (0, 1, 1, 50), (1, 1, 1, 50)]


def test_a_margin_that_is_found_by_hand():
    # with margin 2 all are right, with margin 1 class a is answered as b. A fifth of each group of 50 chooses: the
    # thresholds are 2, 1 and none; above 1 ten rows of a class are free of errors. The other 40 prove a risk of 0.1
    # (0.9^40 = 0.015) at 1; without a threshold half of class a is wrong.
    model = AbstainingClassifier(Told(), 0.1, cv="prefit").fit(*told(*CHOOSING_AND_PROVING))
    assert model.proven_
    assert model.threshold_ == 1
    assert by_name(model.certificate_)["a"].p_value == pytest.approx(0.9**40)
    assert [(row.answered, row.wrong, row.total) for row in model.certificate_.classes] == [(40, 0, 80), (40, 0, 80)]
    assert model.certificate_.n_choosing == 40
    X = [[0, 2], [0, 1], [1, 1.5]]
    assert model.predict(X).tolist() == ["a", "abstain", "b"]
    assert model.answered(X).tolist() == [True, False, True]
    assert model.decision_margin(X).tolist() == [2, 1, 1.5]


def test_limits_by_class():
    # 10 of 80 proving rows of class a are wrong: 0.125, far below 0.3 and not below 0.1
    rows = told((0, 0, 1, 88), (0, 1, 1, 12), (1, 1, 1, 100))
    assert AbstainingClassifier(Told(), {"a": 0.3, "others": 0.1}, cv="prefit").fit(*rows).proven_
    unasked = AbstainingClassifier(Told(), {"a": 1, "b": 0.1}, cv="prefit").fit(*rows)
    assert unasked.proven_
    assert (by_name(unasked.certificate_)["a"].limit, by_name(unasked.certificate_)["b"].limit) == (None, 0.1)
    with pytest.warns(UnmetBoundWarning):
        assert not AbstainingClassifier(Told(), 0.1, cv="prefit").fit(*rows).proven_


def test_without_proof_nothing_is_answered_and_it_is_said_what_is_missing():
    rows = told((0, 0, 1, 30), (1, 1, 1, 100))  # 24 rows of class a prove: 0.9^24 = 0.08
    with pytest.warns(UnmetBoundWarning, match=r"nothing is answered.*\(0.8 of .*a: 24 rows cannot prove"):
        model = AbstainingClassifier(Told(), 0.1, cv="prefit").fit(*rows)
    assert not model.proven_
    assert model.certificate_.verdict == "cannot be judged"
    assert by_name(model.certificate_)["a"].more_rows_at_least == 5
    assert model.predict(rows[0]).tolist() == ["abstain"] * 130
    assert model.threshold_ == np.inf
    report = model.risk_report(*rows)
    assert (report.coverage, report.worst_risk) == (0.0, None)
    # and so many more rows are enough, together with those that then choose
    more = told((0, 0, 1, 37), (1, 1, 1, 100))
    assert AbstainingClassifier(Told(), 0.1, cv="prefit").fit(*more).proven_


def test_a_class_without_held_out_rows_is_not_proven_unless_nothing_is_asked_of_it():
    rows = told((0, 0, 1, 100))
    with pytest.warns(UnmetBoundWarning, match="b: it has no rows; at least 29 more"):
        model = AbstainingClassifier(Told(), 0.1, cv="prefit").fit(*rows)
    assert model.certificate_.verdict == "not proven"
    assert AbstainingClassifier(Told(), {"a": 0.1, "b": 1}, cv="prefit").fit(*rows).proven_


def test_a_class_of_one_row_proves_and_does_not_choose():
    rows = told((0, 0, 1, 50), (1, 1, 1, 1))
    model = AbstainingClassifier(Told(), {"a": 0.1, "b": 0.96}, cv="prefit").fit(*rows)
    assert model.proven_  # one right row of b: p = 0.04
    assert by_name(model.certificate_)["b"].total == 1


@pytest.fixture(scope="module")
def table():
    X, y = make_classification(
        1800, n_features=8, n_informative=5, n_classes=3, n_clusters_per_class=1, class_sep=1.0, random_state=3
    )
    return X, np.array(["lion", "otter", "stork"])[y]


@pytest.fixture(scope="module")
def thirds(table):
    X, y = table
    return [(X[part], y[part]) for part in (slice(0, 600), slice(600, 1200), slice(1200, 1800))]


class TestEstimator:
    def test_rows_kept_from_training_choose_and_prove(self, table):
        X, y = table
        model = AbstainingClassifier(GaussianNB(), 0.15).fit(X, y)
        kept = divide(np.unique(y, return_inverse=True)[1], 0.5, None)
        alone = GaussianNB().fit(X[~kept], y[~kept])
        assert (model.estimator_.theta_ == alone.theta_).all()
        by_hand = AbstainingClassifier(alone, 0.15, cv="prefit").fit(X[kept], y[kept])
        assert by_hand.certificate_.classes == model.certificate_.classes
        assert by_hand.threshold_ == model.threshold_
        assert model.certificate_.n_rows + model.certificate_.n_choosing == kept.sum()
        assert model.certificate_.overlap == RowOverlap(int(kept.sum()), 0, 0.0, 0, "none")

    def test_it_keeps_its_promise_and_answers_more_as_more_is_allowed(self, thirds):
        (X, y), (X_held, y_held), (X_test, y_test) = thirds
        coverages = []
        for risk in (0.1, 0.15, 0.2):
            model = AbstainingClassifier(LogisticRegression(), risk).fit(X, y, X_held, y_held)
            report = model.risk_report(X_test, y_test)
            assert model.proven_
            assert report.worst_risk < risk
            coverages.append(report.coverage)
        assert 0.5 < coverages[0] < coverages[1] < coverages[2] < 1

    def test_the_report_is_that_of_the_answers(self, thirds):
        (X, y), _, (X_test, y_test) = thirds
        model = AbstainingClassifier(GaussianNB(), 0.2).fit(X, y)
        answers = model.predict(X_test)
        answered = answers != "abstain"
        assert (answered == model.answered(X_test)).all()
        for name, row in by_name(model.risk_report(X_test, y_test)).items():
            mine = y_test == name
            wrong = (answered & mine & (answers != y_test)).sum()
            assert (row.total, row.answered, row.wrong) == (mine.sum(), (answered & mine).sum(), wrong)
            assert row.limit == 0.2
        assert (model.predict_proba(X_test) == model.estimator_.predict_proba(X_test)).all()
        assert model.score(X_test, y_test) == (answers == y_test).mean()  # no answer is no right answer

    def test_validation_rows_choose_and_prove_and_are_not_shown_to_the_classifier(self, thirds):
        (X, y), (X_val, y_val), _ = thirds
        tree = DecisionTreeClassifier(max_depth=4, random_state=0)
        booster = WorstClassBooster(tree, 0.8, n_rounds=9, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", WorstClassWarning)
            model = AbstainingClassifier(booster, 0.3).fit(X, y, X_val, y_val)
        assert model.margin_ == "mean-proba"
        assert model.estimator_.validation_report_ is None
        assert model.certificate_.n_rows + model.certificate_.n_choosing == 600
        assert model.proven_
        means = np.log(np.maximum(model.estimator_.mean_proba(X_val), np.finfo(float).tiny))
        own = np.unique(y, return_inverse=True)[0] == model.estimator_.predict(X_val)[:, None]
        assert model.decision_margin(X_val) == pytest.approx(means[own] - np.where(own, -np.inf, means).max(axis=1))
        vote = AbstainingClassifier(model.estimator_, 0.6, cv="prefit", margin="own").fit(X_val, y_val)
        assert (vote.decision_margin(X_val) == model.estimator_.decision_margin(X_val)).all()
        assert len(np.unique(vote.decision_margin(X_val))) < 10 < len(np.unique(model.decision_margin(X_val)))

    @pytest.mark.parametrize(
        "classifier",
        [
            LogisticRegression(),
            make_pipeline(StandardScaler(), LogisticRegression()),
            Perceptron(),
            SVC(),
            KNeighborsClassifier(25),
            WorstClassOffsets(GaussianNB(), cv=3),
        ],
        ids=lambda classifier: type(classifier).__name__,
    )
    def test_any_classifier(self, classifier, thirds):
        (X, y), (X_held, y_held), (X_test, y_test) = thirds
        model = AbstainingClassifier(classifier, 0.2).fit(X, y, X_held, y_held)
        assert model.proven_
        report = model.risk_report(X_test, y_test)
        assert report.worst_risk < 0.2
        assert report.least_coverage > 0.5
        kept = model.answered(X_test)
        assert (model.predict(X_test)[kept] == model.estimator_.predict(X_test)[kept]).all()
        expected = {"WorstClassOffsets": "own", "Perceptron": "decision", "SVC": "decision"}
        assert model.margin_ == expected.get(type(classifier).__name__, "log-proba")
        if model.margin_ == "own":
            assert (model.decision_margin(X_test) == model.estimator_.decision_margin(X_test)).all()

    def test_networks_inside_a_booster(self, thirds):
        (X, y), (X_held, y_held), (X_test, y_test) = thirds
        learner = TorchLearner("mlp", module_options={"hidden": (8,)}, lr=0.03)
        booster = WorstClassBooster(learner, 0.5, n_rounds=7, max_epochs_per_round=60, random_state=0).fit(X, y)
        model = AbstainingClassifier(booster, 0.3, cv="prefit").fit(X_held, y_held)
        assert model.estimator_ is booster
        assert model.proven_
        assert model.risk_report(X_test, y_test).worst_risk < 0.3
        tensors = TensorDataset(torch.tensor(X_held), torch.tensor(np.unique(y_held, return_inverse=True)[1]))
        numbers = WorstClassBooster(learner, 0.5, n_rounds=3, max_epochs_per_round=60, random_state=0)
        numbers.fit(X, np.unique(y, return_inverse=True)[1])
        again = AbstainingClassifier(numbers, 0.8, cv="prefit").fit(tensors)
        assert again.abstain_label_ == -1
        assert again.proven_
        with pytest.raises(DataError, match="Of the 600 rows, 600 equal rows"):
            again.certify(tensors)

    @pytest.mark.filterwarnings("ignore::worstclass.exceptions.WorstClassWarning")
    def test_a_data_set_is_divided_like_other_rows(self, thirds):
        X, y = thirds[0][0].astype(np.float32), np.unique(thirds[0][1], return_inverse=True)[1]
        learner = TorchLearner("mlp", module_options={"hidden": (8,)}, lr=0.03)
        network = NetworkClassifier(learner, max_epochs=5, random_state=0)
        data = TensorDataset(torch.from_numpy(X), torch.from_numpy(y))
        of_data, of_rows = (AbstainingClassifier(network, 0.5).fit(*rows) for rows in ((data,), (X, y)))
        assert of_data.threshold_ == of_rows.threshold_
        assert of_data.certificate_ == of_rows.certificate_

    def test_data_frames_with_columns_in_another_order(self, thirds):
        frames = [(pd.DataFrame(X, columns=list("hgfedcba")), y) for X, y in thirds]
        (X, y), (X_held, y_held), (X_test, y_test) = frames
        turned = X_held[sorted(X_held.columns)]
        model = AbstainingClassifier(LogisticRegression(), 0.15).fit(X, y, X_held, y_held)
        same = AbstainingClassifier(LogisticRegression(), 0.15).fit(X, y, turned, y_held)
        prefit = AbstainingClassifier(LogisticRegression().fit(X, y), 0.15, cv="prefit").fit(turned, y_held)
        assert same.certificate_ == model.certificate_
        assert prefit.certificate_.classes == model.certificate_.classes
        assert (same.seen_rows_.calibration == model.seen_rows_.calibration).all()
        assert len(model.seen_rows_.training) == len(model.seen_rows_.calibration) == 600
        assert model.feature_names_in_.tolist() == list("hgfedcba")
        straight = model.risk_report(X_test, y_test)
        assert model.risk_report(X_test[sorted(X_test.columns)], y_test) == straight
        with pytest.raises(DataError, match="Of the 600 rows, 600 equal rows"):
            model.certify(turned, y_held)

    def test_sparse_rows(self, thirds):
        (X, y), (X_held, y_held), _ = [(scipy.sparse.csr_matrix(np.abs(X) * (X > 1)), y) for X, y in thirds]
        with pytest.warns(ReusedRowsWarning, match="27 of the 241 rows kept"):  # rows without an entry are equal
            model = AbstainingClassifier(LogisticRegression(), 0.5, cv=0.4).fit(X, y)
        assert model.proven_
        assert model.risk_report(X_held, y_held).n_rows == 600

    def test_the_seed_draws_the_rows(self, table):
        def threshold(seed):
            return AbstainingClassifier(LogisticRegression(), 0.2, random_state=seed).fit(*table).threshold_

        assert threshold(0) == threshold(0) != threshold(1)
        assert threshold(None) == threshold(None)
        assert threshold(np.random.RandomState(0)) == threshold(np.random.RandomState(0))

    def test_weights_go_to_the_classifier_with_the_rows_it_trains_on(self, table):
        X, y = table
        weight = np.where(y == "lion", 9.0, 1.0)
        model = AbstainingClassifier(GaussianNB(), 0.5).fit(X, y, sample_weight=weight)
        kept = divide(np.unique(y, return_inverse=True)[1], 0.5, None)
        assert (model.estimator_.class_prior_ == GaussianNB().fit(X[~kept], y[~kept], weight[~kept]).class_prior_).all()
        with sklearn.config_context(enable_metadata_routing=True):
            inner = GaussianNB().set_fit_request(sample_weight=True)
            routed = AbstainingClassifier(inner, 0.5).fit(X, y, sample_weight=weight)
        assert (routed.estimator_.class_prior_ == model.estimator_.class_prior_).all()

    def test_a_label_of_ones_own(self, table):
        X, y = table
        model = AbstainingClassifier(LogisticRegression(), 0.15, abstain_label="ask a vet").fit(X, y)
        assert set(model.predict(X)) == {"lion", "otter", "stork", "ask a vet"}
        nothing = AbstainingClassifier(LogisticRegression(), 0.1, abstain_label=None).fit(X, y == "lion")
        assert set(nothing.predict(X)) == {True, False, None}

    def test_clone_keeps_parameters(self):
        model = AbstainingClassifier(GaussianNB(), {"a": 0.1, "others": 1}, margin="proba", proving=0.6)
        kept, given = clone(model).get_params(deep=False), model.get_params(deep=False)
        assert {**kept, "estimator": None} == {**given, "estimator": None}


# --- rows are used once


class TestReuse:
    def test_rows_that_trained_chose_or_proved_cannot_certify_again(self, thirds):
        (X, y), (X_held, y_held), (X_test, y_test) = thirds
        model = AbstainingClassifier(LogisticRegression(), 0.15).fit(X, y, X_held, y_held)
        for rows, labels in ((X, y), (X_held, y_held)):
            with pytest.raises(DataError, match="Of the 600 rows, 600 equal rows"):
                model.certify(rows, labels, allow_equal_rows=True)  # reuse is never allowed
            with pytest.raises(DataError, match="Of the 600 rows, 600 equal rows"):
                certify(model, rows, labels)
        fresh = model.certify(X_test, y_test)
        assert (fresh.overlap.verdict, fresh.overlap.n_repeated, fresh.n_choosing) == ("none", 0, 0)
        report = model.risk_report(X_test, y_test)
        assert [(row.name, row.answered, row.wrong) for row in fresh.classes] == [
            (row.name, row.answered, row.wrong) for row in report.classes
        ]
        assert fresh.verdict == "proven"
        assert fresh.delta == 0.05
        assert model.certify(X_test, y_test, delta=1e-9).verdict == "not proven"
        assert [len(getattr(model.seen_rows_, role)) for role in ("training", "calibration")] == [600, 600]
        assert model.seen_rows_.validation is None

    def test_all_rows_divided_by_a_share_are_remembered(self, thirds):
        (X, y), (X_held, y_held), _ = thirds
        model = AbstainingClassifier(GaussianNB(), 0.2).fit(X, y)
        with pytest.raises(DataError, match="Of the 600 rows, 600 equal rows"):
            model.certify(X, y)
        assert model.certify(X_held, y_held).overlap.verdict == "none"
        assert [len(getattr(model.seen_rows_, role)) for role in ("training", "calibration")] == [299, 301]

    def test_a_fitted_classifier_refuses_rows_it_has_seen(self, thirds):
        (X, y), (X_held, y_held), _ = thirds
        inner = WorstClassOffsets(GaussianNB(), cv=3).fit(X, y)
        mixed, labels = np.concatenate([X[:50], X_held]), np.concatenate([y[:50], y_held])
        with pytest.raises(DataError, match=r"AbstainingClassifier needs rows .* Of the 650 rows, 50 equal rows"):
            AbstainingClassifier(inner, 0.2, cv="prefit").fit(mixed, labels)
        model = AbstainingClassifier(inner, 0.2, cv="prefit").fit(X_held, y_held)
        assert len(model.seen_rows_.training) == len(model.seen_rows_.calibration) == 600
        assert model.seen_rows_.complete
        unknown = AbstainingClassifier(GaussianNB().fit(X, y), 0.2, cv="prefit").fit(X_held, y_held)
        assert unknown.certificate_.overlap.verdict == "unknown"
        assert not unknown.seen_rows_.complete

    def test_rows_that_chose_offsets_cannot_prove(self, thirds):
        (X, y), (X_held, y_held), (X_test, y_test) = thirds
        inner = WorstClassOffsets(GaussianNB()).fit(X, y, X_held, y_held)
        with pytest.raises(DataError, match="Of the 600 rows, 600 equal rows"):
            AbstainingClassifier(inner, 0.2, cv="prefit").fit(X_held, y_held)
        assert AbstainingClassifier(inner, 0.2, cv="prefit").fit(X_test, y_test).proven_

    def test_equal_rows_of_a_discrete_table_are_not_reuse(self):
        rng = np.random.default_rng(0)
        X = rng.integers(0, 3, size=(1200, 4)).astype(float)  # 81 different rows
        y = np.where(rng.random(1200) < 0.1, 1 - (X[:, 0] > 1), X[:, 0] > 1).astype(int)
        strict = AbstainingClassifier(GaussianNB(), 0.3)
        model = strict.fit(X[:600], y[:600], X[600:], y[600:])
        assert model.proven_
        assert (model.certificate_.overlap.verdict, model.certificate_.overlap.allowed) == ("chance", False)
        with pytest.raises(DataError, match=r"Every row kept from training equals a training row.*allow_equal_rows"):
            strict.fit(X, y)
        divided = AbstainingClassifier(GaussianNB(), 0.3, allow_equal_rows=True).fit(X, y)
        assert divided.proven_
        assert divided.certificate_.overlap.n_equal == 600

    def test_equal_rows_that_cannot_be_decided_are_allowed_by_the_user(self):
        rng = np.random.default_rng(0)
        X = rng.integers(0, 2, size=(60, 3)).astype(float)  # 8 different rows
        y = np.where(rng.random(60) < 0.05, 1 - X[:, 0], X[:, 0]).astype(int)
        rows = X[:30], y[:30], X[30:], y[30:]
        with pytest.raises(DataError, match=r"cannot be decided.*allow_equal_rows=True"):
            AbstainingClassifier(GaussianNB(), 0.5).fit(*rows)
        model = AbstainingClassifier(GaussianNB(), 0.5, allow_equal_rows=True).fit(*rows)
        assert model.certificate_.overlap.allowed

    def test_validation_rows_must_not_be_training_rows(self, thirds):
        (X, y), (X_held, y_held), _ = thirds
        with pytest.raises(DataError, match="Of the 600 rows, 30 equal rows"):
            AbstainingClassifier(GaussianNB(), 0.2).fit(
                np.concatenate([X, X_held[:30]]), np.concatenate([y, y_held[:30]]), X_held, y_held
            )

    def test_copies_are_told(self, thirds):
        (X, y), (X_held, y_held), _ = thirds
        twice, labels = np.concatenate([X_held, X_held[:7]]), np.concatenate([y_held, y_held[:7]])
        model = AbstainingClassifier(LogisticRegression(), 0.2).fit(X, y, twice, labels)
        assert model.certificate_.overlap.n_repeated == 7
        with pytest.warns(ReusedRowsWarning, match="6 of the 304 rows kept from training equal"):
            assert AbstainingClassifier(LogisticRegression(), 0.3).fit(twice, labels).certificate_.n_choosing > 0

    def test_noise_that_was_copied_proves_nothing(self):
        rng = np.random.default_rng(0)
        X, y = np.repeat(rng.normal(size=(400, 5)), 3, axis=0), np.repeat(rng.integers(0, 2, 400), 3)
        with pytest.warns(WorstClassWarning) as caught:
            model = AbstainingClassifier(RandomForestClassifier(20, random_state=0), 0.1, random_state=0).fit(X, y)
        assert {warning.category for warning in caught} == {ReusedRowsWarning, UnmetBoundWarning}
        assert not model.proven_
        with pytest.raises(DataError, match=r"Every row kept from training equals a training row"):
            AbstainingClassifier(GaussianNB(), 0.1).fit(np.repeat(X[:2], 50, axis=0), np.tile([0, 1], 50))

    def test_rows_that_chose_and_proved_do_not_prove_again_around_a_classifier_that_keeps_no_fingerprints(self, thirds):
        (X, y), (X_held, y_held), (X_test, y_test) = thirds
        model = AbstainingClassifier(LogisticRegression().fit(X, y), 0.3, cv="prefit").fit(X_held, y_held)
        with pytest.raises(DataError, match="Of the 600 rows, 600 equal rows"):
            model.certify(X_held, y_held)
        assert model.certify(X_test, y_test).overlap.verdict == "unknown"

    def test_a_model_that_answers_nothing_is_not_told_to_bring_more_rows(self, thirds):
        (X, y), (X_held, y_held), (X_test, y_test) = thirds
        with pytest.warns(UnmetBoundWarning):
            mute = AbstainingClassifier(LogisticRegression(), 0.001).fit(X, y, X_held, y_held)
        with pytest.raises(
            DataError, match=r"cannot judge a model that answers nothing.*other rows do not change that"
        ):
            mute.certify(X_test, y_test)

    def test_answers_in_a_matrix_of_one_column(self, thirds):
        class Column(LogisticRegression):
            def predict(self, X):
                return super().predict(X)[:, None]

        (X, y), (X_held, y_held), (X_test, y_test) = thirds
        plain, column = (
            AbstainingClassifier(kind(), 0.3).fit(X, y, X_held, y_held) for kind in (LogisticRegression, Column)
        )
        assert (plain.predict(X_test) == column.predict(X_test)).all()
        inner = Column().fit(X, y)
        assert certify(inner, X_test, y_test) == certify(LogisticRegression().fit(X, y), X_test, y_test)

    def test_a_classifier_that_scikit_learn_knows_nothing_of(self, thirds):
        class Duck:
            def __init__(self, model):
                self.model, self.classes_ = model, model.classes_

            def predict(self, X):
                return self.model.predict(X)

            def predict_proba(self, X):
                return self.model.predict_proba(X)

        (X, y), (X_held, y_held), (X_test, _) = thirds
        inner = LogisticRegression().fit(X, y)
        for wrapper in (
            AbstainingClassifier(Duck(inner), 0.3, cv="prefit"),
            WorstClassOffsets(Duck(inner), cv="prefit"),
        ):
            same = clone(wrapper).set_params(estimator=inner).fit(X_held, y_held)
            assert (wrapper.fit(X_held, y_held).predict(X_test) == same.predict(X_test)).all()
        with pytest.raises(ParameterError, match="with get_params"):
            WorstClassOffsets(Duck(inner)).fit(X, y)

    def test_an_accuracy_floor_counts_rows_without_an_answer_as_not_right(self, thirds):
        (X, y), (X_held, y_held), (X_test, y_test) = thirds
        model = AbstainingClassifier(LogisticRegression(), 0.15).fit(X, y, X_held, y_held)
        wrong = {row.name: row.wrong for row in certify(model, X_test, y_test).classes}
        for name, row in by_name(model.risk_report(X_test, y_test)).items():
            assert wrong[name] == row.wrong + row.total - row.answered


# --- bad input


class TestBadInput:
    @pytest.mark.parametrize("risk", [0, 1.5, -0.1, float("nan"), "0.1", True, None, {"lion": 0, "others": 0.1}])
    def test_risk(self, risk, table):
        with pytest.raises(
            ParameterError, match=r"'risk' parameter of AbstainingClassifier must be a limit in \(0, 1\]"
        ):
            AbstainingClassifier(GaussianNB(), risk).fit(*table)

    def test_risk_that_asks_for_nothing(self, table):
        with pytest.raises(ParameterError, match=r"'risk'.*below 1 for at least one class"):
            AbstainingClassifier(GaussianNB(), {"others": 1}).fit(*table)

    def test_risk_by_class_is_refused_before_training(self, table):
        class Untouched(GaussianNB):
            def fit(self, X, y):
                raise AssertionError("trained")

        with pytest.raises(ParameterError, match=r"'risk'.*without one: \['otter', 'stork'\].*others"):
            AbstainingClassifier(Untouched(), {"lion": 0.1}).fit(*table)
        with pytest.raises(UnknownNameError, match=r"'risk'.*Got 'loin' instead.*Did you mean 'lion'"):
            AbstainingClassifier(Untouched(), {"loin": 0.1, "others": 0.1}).fit(*table)
        with pytest.raises(ParameterError, match=r"of which 1 is a number.*Got '1' instead. Write 1 in place of '1'"):
            AbstainingClassifier(Untouched(), {"1": 0.1, "others": 0.1}).fit(table[0], np.arange(1800) % 3)

    @pytest.mark.parametrize("delta", [0, 1, -0.5, 2, float("nan"), "0.05", True, None])
    def test_delta(self, delta, table, thirds):
        with pytest.raises(
            ParameterError, match=r"'delta' parameter of AbstainingClassifier must be a number in \(0, 1\)"
        ):
            AbstainingClassifier(GaussianNB(), delta=delta).fit(*table)
        model = AbstainingClassifier(GaussianNB(), 0.2).fit(*thirds[0])
        if delta is not None:
            with pytest.raises(ParameterError, match=r"'delta' parameter of AbstainingClassifier.certify"):
                model.certify(*thirds[1], delta=delta)

    @pytest.mark.parametrize("name", ["cv", "proving"])
    @pytest.mark.parametrize("value", [0.0, 1.0, 1, -0.5, "half", None, True])
    def test_shares(self, name, value, table):
        with pytest.raises(
            ParameterError, match=rf"'{name}' parameter of AbstainingClassifier must be a number in \(0, 1\)"
        ):
            AbstainingClassifier(GaussianNB(), **{name: value}).fit(*table)

    def test_other_parameters(self, table):
        with pytest.raises(UnknownNameError, match=r"'margin'.*Did you mean 'log-proba'"):
            AbstainingClassifier(GaussianNB(), margin="log_proba").fit(*table)
        for margin, needed in (
            ("own", "decision_margin"),
            ("mean-proba", "a booster whose members give probabilities"),
        ):
            with pytest.raises(ParameterError, match=rf"'estimator'.*{needed}"):
                AbstainingClassifier(GaussianNB(), margin=margin).fit(*table)
        with pytest.raises(ParameterError, match=r"'allow_equal_rows'.*True or False"):
            AbstainingClassifier(GaussianNB(), allow_equal_rows="yes").fit(*table)
        with pytest.raises(ParameterError, match=r"'abstain_label'.*not one of the classes. Got 'lion'"):
            AbstainingClassifier(GaussianNB(), abstain_label="lion").fit(*table)
        with pytest.raises(ParameterError, match="'random_state'"):
            AbstainingClassifier(GaussianNB(), random_state="0").fit(*table)
        with pytest.raises(UnknownOptionError, match="Did you mean 'risk'"):
            AbstainingClassifier(GaussianNB(), risks=0.5)
        with pytest.raises(UnknownOptionError, match="fit of KNeighborsClassifier has no option 'sample_weight'"):
            AbstainingClassifier(KNeighborsClassifier()).fit(*table, sample_weight=np.ones(1800))

    def test_what_is_no_classifier_or_has_no_margin(self, table):
        class Mute(ClassifierMixin, BaseEstimator):
            def fit(self, X, y):
                return self

        for other in (LinearRegression(), GaussianNB):
            with pytest.raises(
                ParameterError, match="'estimator' parameter of AbstainingClassifier must be a classifier"
            ):
                AbstainingClassifier(other).fit(*table)
        with pytest.raises(ParameterError, match=r"'estimator'.*with decision_function.*predict_proba would do"):
            AbstainingClassifier(Mute()).fit(*table)
        with pytest.raises(ParameterError, match=r"'estimator'.*one that always answers.*Take its estimator_"):
            AbstainingClassifier(AbstainingClassifier(GaussianNB())).fit(*table)

    def test_a_fitted_classifier_is_needed_for_prefit_and_takes_held_out_rows_only(self, thirds):
        (X, y), (X_held, y_held), _ = thirds
        with pytest.raises(ParameterError, match=r"'estimator'.*fitted if cv='prefit'"):
            AbstainingClassifier(GaussianNB(), cv="prefit").fit(X, y)
        fitted = AbstainingClassifier(GaussianNB().fit(X, y), cv="prefit")
        with pytest.raises(DataError, match="nothing to train"):
            fitted.fit(X, y, X_held, y_held)
        with pytest.raises(DataError, match="nothing to train"):
            fitted.fit(X_held, y_held, sample_weight=np.ones(600))

    def test_labels(self, thirds):
        (X, y), (X_held, y_held), _ = thirds
        for extra in ({"X_val": X_held}, {"y_val": y_held}):
            with pytest.raises(DataError, match="go together"):
                AbstainingClassifier(GaussianNB()).fit(X, y, **extra)
        with pytest.raises(DataError, match="AbstainingClassifier requires y to be passed"):
            AbstainingClassifier(GaussianNB()).fit(X)
        with pytest.raises(DataError, match="Got one class"):
            AbstainingClassifier(GaussianNB()).fit(X, np.full(600, "lion"))
        model = AbstainingClassifier(GaussianNB(), 0.2).fit(X, y)
        with pytest.raises(DataError, match="requires y to be passed"):
            model.risk_report(X_held)
        with pytest.raises(DataError, match="needs held-out rows and got none"):
            model.certify(X_held[:0], y_held[:0])

    def test_rows_of_unknown_classes(self, thirds):
        (X, y), (X_held, y_held), _ = thirds
        other = np.where(y_held == "lion", "tiger", y_held)
        told = r"labels that the training rows do not have: \['tiger'\]"
        with pytest.raises(DataError, match=told):
            AbstainingClassifier(GaussianNB()).fit(X, y, X_held, other)
        with pytest.raises(DataError, match=told):
            AbstainingClassifier(GaussianNB().fit(X, y), cv="prefit").fit(X_held, other)
        with pytest.raises(DataError, match=told):
            AbstainingClassifier(GaussianNB(), 0.2).fit(X, y).certify(X_held, other)

    @pytest.mark.parametrize(("classes", "labels"), [([1, 2, 3], ["1", "2", "3"]), (["1", "2", "3"], [1, 2, 3])])
    def test_labels_as_text_where_classes_are_numbers_and_the_other_way_round(self, classes, labels, thirds):
        X, X_held = thirds[0][0], thirds[1][0]
        y, y_held = (np.array(names)[np.arange(600) % 3] for names in (classes, labels))
        kind = "text" if isinstance(labels[0], str) else "number"
        message = rf"has the {kind} '?1'? where the class is the .* '?1'?. Make labels of one type"
        with pytest.raises(DataError, match=f"y_val {message}"):
            AbstainingClassifier(GaussianNB()).fit(X, y, X_held, y_held)
        with pytest.raises(DataError, match=f"y {message}"):
            AbstainingClassifier(GaussianNB().fit(X, y), cv="prefit").fit(X_held, y_held)
        model = AbstainingClassifier(GaussianNB(), 0.99, delta=0.5).fit(X, y)
        with pytest.raises(DataError, match=f"y {message}"):
            model.risk_report(X_held, y_held)

    def test_a_class_of_which_no_row_is_left_to_train_on(self, table):
        X, y = table
        rows = np.concatenate([np.flatnonzero(y != "stork"), np.flatnonzero(y == "stork")[:1]])
        with pytest.raises(ParameterError, match=r"'cv'.*none would be left of \['stork'\]. Got 0.5 instead. Lower it"):
            AbstainingClassifier(GaussianNB()).fit(X[rows], y[rows])

    @pytest.mark.parametrize("value", [np.nan, np.inf])
    def test_margins_that_are_no_numbers(self, value):
        X, y = told((0, 0, 1, 5), (1, 1, 1, 5))
        X[2, 1] = value
        with pytest.raises(DataError, match="decision_margin of Told must return finite numbers"):
            AbstainingClassifier(Told(), cv="prefit").fit(X, y)

    def test_an_unfitted_model(self, table):
        for call in ("predict", "answered", "decision_margin"):
            with pytest.raises(sklearn.exceptions.NotFittedError):
                getattr(AbstainingClassifier(GaussianNB()), call)(table[0])
        for call in ("risk_report", "certify"):
            with pytest.raises(sklearn.exceptions.NotFittedError):
                getattr(AbstainingClassifier(GaussianNB()), call)(*table)


def expected_to_fail(estimator):
    """With weights of 0 for one class that class is never right, so nothing can be proven and nothing is answered."""
    if isinstance(estimator.estimator, LogisticRegression):
        return {"check_classifiers_one_label_sample_weights": "asks for answers where no rule can be proven"}
    return {}


#: a risk that a single right row of each class proves, so that as good as all rows are answered
@parametrize_with_checks(
    [
        AbstainingClassifier(LogisticRegression(), 0.9, delta=0.5),
        AbstainingClassifier(LogisticRegression(), 0.9, delta=0.5, margin="decision", cv=0.4),
        AbstainingClassifier(make_pipeline(StandardScaler(), LogisticRegression()), 0.9, delta=0.5),
    ],
    expected_failed_checks=expected_to_fail,
)
def test_a_scikit_learn_classifier(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)
