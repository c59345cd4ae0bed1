"""A smaller vote: the search on plain answers, ``compact`` on boosters, what it refuses, and the command."""

from __future__ import annotations

import itertools
import json
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scripted import ScriptedLearner, numbered_rows
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier

from worstclass import (
    AbstainingClassifier,
    DeepEnsemble,
    InstanceBooster,
    TorchLearner,
    WorstClassBooster,
    WorstClassOffsets,
    certify,
    class_report,
    compact,
    load_model,
    save_model,
)
from worstclass.boosting.compaction import DRIFT
from worstclass.boosting.history import Compaction
from worstclass.boosting.subsets import Ballots, fewest_members
from worstclass.certificates.training import training_certificate
from worstclass.cli.app import run
from worstclass.exceptions import DataError, ParameterError

relaxed = settings(deadline=None, max_examples=150)


def ballots_of(answers, target, part=None, needed=None):
    """Return ballots that need as many right answers as the whole vote has, or as many as given."""
    answers, target = np.asarray(answers), np.asarray(target)
    part = np.zeros(len(target), dtype=int) if part is None else np.asarray(part)
    shape = part.max() + 1, max(2, int(max(target.max(), answers.max())) + 1)
    found = Ballots(answers, target, part, np.zeros(shape, dtype=int))
    needed = found.correct(found.whole.winners) if needed is None else np.asarray(needed)
    return Ballots(answers, target, part, needed)


@st.composite
def some_ballots(draw, max_members=9, max_rows=12, max_classes=4):
    """Ballots of few members, rows and classes, so that ties are common; rows are of one part or two."""
    n_classes = draw(st.integers(2, max_classes))
    n_members, n_rows = draw(st.integers(1, max_members)), draw(st.integers(1, max_rows))
    index = st.integers(0, n_classes - 1)
    answers = draw(arrays(np.int64, (n_members, n_rows), elements=index))
    target = draw(arrays(np.int64, n_rows, elements=index))
    n_held = draw(st.integers(0, n_rows - 1))
    return ballots_of(answers, target, [0] * (n_rows - n_held) + [1] * n_held)


# --- the search


def test_shares_and_drift_by_hand():
    # rows: two of class 0, one of class 1; the whole vote gives class 0 the shares 3/4, 1/2 and 0
    found = ballots_of([[0, 0, 1], [0, 1, 1], [0, 0, 1], [1, 1, 1]], [0, 0, 1])
    np.testing.assert_allclose(found.row_weight, [1 / 4, 1 / 4, 1 / 2])  # the classes count alike
    assert found.agreement[0].tolist() == [1, 0.75, 1, 0.5]
    alone = found.vote(np.array([0]))  # the shares of row 0 move by 1/4, those of row 1 by 1/2
    assert found.drift(alone) == pytest.approx(np.sqrt(1 / 4 * 1 / 16 + 1 / 4 * 1 / 4))
    assert found.drift(found.whole) == 0
    parts = ballots_of(found.answers, found.target, [0, 1, 1])  # the larger of the two parts
    assert parts.drift(alone) == pytest.approx(np.sqrt(1 / 2 * 1 / 4))


def test_a_tie_goes_to_the_class_that_led_first_also_in_a_smaller_vote():
    # members 0 and 1 disagree about row 0; in their order the answer is 0, the other way round it would be 1
    tied = ballots_of([[0, 0], [1, 0], [1, 1], [1, 1]], [0, 0], needed=[[2, 0]])
    assert tied.vote(np.array([0, 1])).winners.tolist() == [0, 0]
    swaps = list(itertools.product((0, 1), (2, 3)))
    leaving, joining = (np.array(column) for column in zip(*swaps, strict=True))
    by_hand = [tied.missing(np.sort([join, 1 - leave])) for leave, join in swaps]
    assert tied.missing_after(np.array([0, 1]), leaving, joining).tolist() == by_hand == [1, 1, 0, 0]


@relaxed
@given(some_ballots(), st.data())
def test_counts_after_swaps_are_those_of_the_vote(found, data):
    size = data.draw(st.integers(1, found.n_members))
    members = np.sort(data.draw(st.permutations(range(found.n_members)))[:size])
    others = np.setdiff1d(found.everyone, members)
    swaps = list(itertools.product(members, others))
    if swaps:
        leaving, joining = (np.array(column) for column in zip(*swaps, strict=True))
        counted = [found.missing(np.sort([*members[members != leave], join])) for leave, join in swaps]
        assert found.missing_after(members, leaving, joining).tolist() == counted


@relaxed
@given(some_ballots(), st.sampled_from([0.0, 0.05, 0.3, 1.0]))
def test_a_smaller_vote_has_what_is_needed(found, drift):
    kept = fewest_members(found, drift)
    assert 1 <= len(kept) <= found.n_members
    assert np.array_equal(kept, np.unique(kept))
    assert (found.correct(found.vote(kept).winners) >= found.needed).all()
    assert found.drift(found.vote(kept)) <= drift
    assert np.array_equal(kept, fewest_members(found, drift))
    sub = ballots_of(found.answers[kept], found.target, found.part)
    assert len(fewest_members(sub, 0.0)) <= len(kept)


def test_the_search_finds_the_fewest_of_few_members_nearly_always():
    """Against all votes of at most seven members, with any drift."""
    rng = np.random.default_rng(0)
    exact = 0
    for _ in range(150):
        n_classes, n_members, n_rows = rng.integers(2, 5), rng.integers(2, 8), rng.integers(3, 13)
        answers = rng.integers(0, n_classes, (n_members, n_rows))
        found = ballots_of(answers, rng.integers(0, n_classes, n_rows))
        votes = (list(v) for size in range(1, n_members + 1) for v in itertools.combinations(range(n_members), size))
        fewest = next(len(vote) for vote in votes if not found.missing(np.array(vote)))
        exact += len(fewest_members(found, 1.0)) == fewest
    assert exact >= 147


def test_members_that_all_agree_are_one():
    answers = np.tile([0, 1, 2, 0], (50, 1))
    assert fewest_members(ballots_of(answers, [0, 1, 2, 1]), 0.0).tolist() == [0]


# --- boosters whose answers are written down

# two classes of four rows
Y = np.repeat(["a", "b"], 4)
X = numbered_rows(8)


def answers(*wrong):
    right = np.repeat([0, 1], 4)
    right[list(wrong)] = 1 - right[list(wrong)]
    return right


def scripted(rounds, theta=0.4, **options):
    booster = WorstClassBooster(ScriptedLearner([[found] for found in rounds]), theta, gamma=0.1, n_rounds=len(rounds))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return booster.set_params(extend=False, **options).fit(X, Y)


ROUNDS = [answers(0), answers(4), answers(1), answers(5), answers(2)]


def test_one_perfect_member_is_enough_if_shares_may_move():
    whole = scripted([*ROUNDS, answers()])
    assert whole.training_report_.worst_error == 0
    smaller = compact(whole, X, Y, drift=1)
    assert [record.round for record in smaller.history_] == [6]
    assert smaller.estimators_ == [whole.estimators_[5]]
    assert (smaller.n_members_used_, smaller.bound_met_, smaller.shortfall_) == (1, True, {})
    # 4 of 6 members are right about rows 0, 1, 2, 4, 5, and all about 3, 6, 7
    assert smaller.compaction_ == Compaction(6, 1, 8, 0, pytest.approx(np.sqrt(5 / 8) / 6))
    assert str(smaller.compaction_) == "1 of 6 members kept, 0 of 8 rows answered otherwise, vote shares moved by 0.132"
    assert len(whole.estimators_) == len(whole.history_) == 6  # the model is left as it is
    assert whole.compaction_ is None


def test_without_drift_every_share_stays():
    whole = scripted([*ROUNDS, *ROUNDS])  # each member twice
    assert len(compact(whole, X, Y, drift=0).estimators_) == 5
    assert len(compact(scripted(ROUNDS), X, Y, drift=0).estimators_) == 5


def test_history_has_the_counts_of_the_kept_members_vote():
    smaller = compact(scripted([*ROUNDS, *ROUNDS]), X, Y, drift=0)
    assert len({record.round % 5 for record in smaller.history_}) == 5
    staged = list(smaller.staged_predict(X))
    for record, found in zip(smaller.history_, staged, strict=True):
        assert list(record.vote_correct) == [int((found == Y)[label == Y].sum()) for label in "ab"]
        assert (record.regret, record.regret_bound) == (None, None)
    assert smaller.training_report_ == class_report(Y, smaller.predict(X), theta=0.4)


def test_tolerance_is_a_share_of_each_class_and_floors_that_are_met_stay_met():
    rounds = [answers(0, 4), answers(1, 5), answers(2, 6)]  # the vote of all three is right everywhere
    assert scripted(rounds, 0.1).training_report_.worst_error == 0
    sizes = {
        (theta, tolerance): len(compact(scripted(rounds, theta), X, Y, tolerance=tolerance, drift=1).estimators_)
        for theta in (0.1, 0.75)
        for tolerance in (0, 0.24, 0.25)
    }
    # a quarter of four rows is one row; at the floor 0.75 a vote with one of four wrong would miss the bound
    assert sizes == {(0.1, 0): 3, (0.1, 0.24): 3, (0.1, 0.25): 1, (0.75, 0): 3, (0.75, 0.24): 3, (0.75, 0.25): 3}
    assert compact(scripted(rounds, 0.1), X, Y, tolerance=0.25, drift=1).training_report_.worst_error == 0.25


def test_a_bound_that_is_missed_stays_as_it_is():
    whole = scripted([answers(0, 1), answers(0, 1), answers(0, 1)], theta=0.5)
    smaller = compact(whole, X, Y)
    assert (whole.shortfall_, len(smaller.estimators_)) == ({"a": 1}, 1)
    assert (smaller.bound_met_, smaller.shortfall_) == (False, {"a": 1})


def test_members_that_do_not_vote_are_left_out():
    # rows 8 and 9 validate: three members have them right, four wrong; at three to three the answer is still right
    right, wrong = np.append(answers(), [0, 1]), np.append(answers(), [1, 0])
    booster = WorstClassBooster(ScriptedLearner([[right]] * 3 + [[wrong]] * 4), 0.4, gamma=0.1, n_rounds=7)
    whole = booster.fit(X, Y, numbered_rows(10)[8:], ["a", "b"])
    assert (whole.n_members_used_, len(whole.estimators_)) == (6, 7)
    smaller = compact(whole, X, Y, numbered_rows(10)[8:], ["a", "b"], drift=0.0)
    assert [record.round for record in smaller.history_] == [1, 4]  # in their order, one to one is right too
    assert smaller.compaction_ == Compaction(6, 2, 10, 0, 0.0)
    assert smaller.validation_report_.worst_error == 0


# --- real boosters


def tree_booster(kind=WorstClassBooster, **options):
    options = {"gamma": 0.1, "random_state": 0, "n_rounds": 30, **options}
    options |= {"theta": 0.6} if kind is WorstClassBooster else {}
    return kind(DecisionTreeClassifier(max_depth=3, max_features=1), **options)


def network_booster():
    learner = TorchLearner("mlp", module_options={"hidden": (8,)}, lr=0.05)
    return WorstClassBooster(learner, 0.6, gamma=0.2, n_rounds=12, random_state=0)


MODELS = {
    "trees": tree_booster,
    "rows": lambda: tree_booster(InstanceBooster),
    "networks": network_booster,
    "average": lambda: tree_booster(select_on="average"),
}


def halves(blobs):
    X, y = blobs
    return (X[:60], y[:60], X[60:], y[60:])


@pytest.fixture(scope="module")
def fitted(blobs):
    """Boosters fitted on the same rows, without and with validation rows."""
    models = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, build in MODELS.items():
            models[name, False] = build().fit(*halves(blobs)[:2])
            models[name, True] = build().fit(*halves(blobs))
    return models


@pytest.mark.parametrize("drift", [0.0, DRIFT, 0.1, 1.0])
@pytest.mark.parametrize("with_validation", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_reports_are_counted_again_and_no_class_is_worse(name, with_validation, drift, fitted, blobs):
    whole, rows = fitted[name, with_validation], halves(blobs)[: 4 if with_validation else 2]
    smaller = compact(whole, *rows, drift=drift)
    assert type(smaller) is type(whole)
    assert 1 <= smaller.n_members_used_ == len(smaller.estimators_) == len(smaller.history_) <= whole.n_members_used_
    theta = getattr(whole, "theta", None)
    parts = {"training": rows[:2], "validation": rows[2:]} if with_validation else {"training": rows}
    for part, (X, y) in parts.items():
        before, after = (getattr(model, f"{part}_report_") for model in (whole, smaller))
        assert after == class_report(y, smaller.predict(X), whole.classes_, theta=theta)
        for k in whole.classes_:
            right = [next(row.correct for row in report.rows if row.name == k) for report in (before, after)]
            assert right[1] >= right[0]
        moved = np.abs(smaller.predict_proba(X) - whole.predict_proba(X)).max()
        assert moved <= len(y) * (drift + 1e-9)
    assert smaller.validation_report_ is None or with_validation
    assert smaller.compaction_.drift <= drift
    if name != "rows":
        assert smaller.bound_met_ or not whole.bound_met_
    again = compact(smaller, *rows, drift=0.0)
    assert len(again.estimators_) <= len(smaller.estimators_)


def test_the_default_makes_a_vote_of_many_smaller(blobs):
    whole = tree_booster(n_rounds=90).fit(*blobs)
    smaller = compact(whole, *blobs)
    assert len(smaller.estimators_) <= 40
    assert 0 < smaller.compaction_.drift <= DRIFT
    rounds = [record.round for record in smaller.history_]
    assert rounds == sorted(rounds)
    assert [whole.estimators_[number - 1] for number in rounds] == smaller.estimators_
    assert np.mean(smaller.predict(blobs[0]) == whole.predict(blobs[0])) > 0.97
    np.testing.assert_array_equal(smaller.mean_proba(blobs[0]).argmax(axis=1).shape, (90,))


@pytest.mark.parametrize("name", ["trees", "rows", "networks"])
def test_saved_and_loaded_it_is_the_same(name, fitted, blobs, tmp_path):
    rows = halves(blobs)
    smaller = compact(fitted[name, True], *rows, drift=0.1)
    again = load_model(save_model(smaller, tmp_path / "small"))
    assert again.compaction_ == smaller.compaction_
    assert again.history_ == smaller.history_
    assert (again.training_report_, again.validation_report_) == (smaller.training_report_, smaller.validation_report_)
    np.testing.assert_array_equal(again.predict(rows[0]), smaller.predict(rows[0]))
    lazily = load_model(save_model(fitted[name, True], tmp_path / "whole"), keep_in_memory=False)
    from_disk = compact(lazily, *rows, drift=0.1)
    assert [record.round for record in from_disk.history_] == [record.round for record in smaller.history_]


def test_fitted_again_it_is_a_whole_vote(fitted, blobs):
    smaller = compact(fitted["trees", False], *halves(blobs)[:2])
    for model in (clone(smaller), smaller):
        model.fit(*halves(blobs)[:2])
        assert model.compaction_ is None
        assert len(model.estimators_) == len(fitted["trees", False].estimators_)


def test_a_training_certificate_says_that_the_theorem_does_not_apply(fitted, blobs):
    whole = fitted["trees", False]
    assert "compacted" not in str(training_certificate(whole))
    smaller = compact(whole, *halves(blobs)[:2])
    certificate = training_certificate(smaller)
    assert certificate.bound_met == smaller.bound_met_
    assert (certificate.compacted, certificate.theorem_applies) == (True, False)
    assert "The vote was compacted. The theorem is about the vote of all rounds" in str(certificate)
    for row, errors in zip(certificate.classes, np.array([r.member_correct for r in smaller.history_]).T, strict=True):
        assert row.error <= row.factor_two == pytest.approx(2 * (1 - errors.mean() / row.total))


# --- rows


def test_rows_that_choose_members_are_validation_rows_from_then_on(fitted, blobs):
    whole, (X, y, X_val, y_val) = fitted["trees", False], halves(blobs)
    assert whole.seen_rows_.validation is None
    smaller = compact(whole, X, y, X_val, y_val)
    assert smaller.validation_report_ == class_report(y_val, smaller.predict(X_val), theta=0.6)
    assert len(smaller.seen_rows_.validation) == 30
    assert certify(whole, X_val, y_val, require=0.0)
    with pytest.raises(DataError, match="certify needs rows that the model has not seen"):
        certify(smaller, X_val, y_val, require=0.0)


def test_a_class_without_a_validation_row(fitted, blobs):
    X, y, X_val, y_val = halves(blobs)
    some = y_val != "c"
    smaller = compact(fitted["trees", False], X, y, X_val[some], y_val[some])
    assert smaller.validation_report_.absent == ("c",)


@pytest.mark.parametrize(
    ("validated", "change", "told"),
    [
        (False, lambda X, y, V, v: (X[:50], y[:50]), r"needs the 60 training rows of the model. Got 50 rows. Pass"),
        (False, lambda X, y, V, v: (V, v), r"Got 30 rows, 30 of them others. Pass the rows that were given"),
        (
            False,
            lambda X, y, V, v: (X, y[::-1]),
            r"right when it was fitted, and now has \d+. Pass the labels",
        ),
        (False, lambda X, y, V, v: (X, np.where(y == "a", "b", "a")), "Got 60 rows with other labels. Pass"),
        (False, lambda X, y, V, v: (X, y, X[:20], y[:20]), "20 of the 20 rows did. Pass others, or none"),
        (False, lambda X, y, V, v: (X, y, V), "X_val and y_val go together"),
        (False, lambda X, y, V, v: (X, np.where(y == "a", "z", y)), r"labels that the training rows do not have: \['z"),
        (False, lambda X, y, V, v: (X[:, :1], y), "expecting 2 features"),
        (True, lambda X, y, V, v: (X, y), "needs the 30 validation rows of the model too, as X_val and y_val"),
        (True, lambda X, y, V, v: (X, y, V[:20], v[:20]), "needs the 30 validation rows .* Got 20 rows"),
        (True, lambda X, y, V, v: (X, y, V + 1, v), "Got 30 rows, 30 of them others"),
    ],
)
def test_other_rows_are_refused(validated, change, told, fitted, blobs):
    with pytest.raises(DataError, match=told):
        compact(fitted["trees", validated], *change(*halves(blobs)))


# --- refusals


def test_wrappers_are_refused_with_what_to_do(fitted, blobs):
    X, y, X_val, y_val = halves(blobs)
    inside = fitted["trees", False]
    tuned = WorstClassOffsets(inside, cv="prefit").fit(X_val, y_val)
    careful = AbstainingClassifier(inside, {"b": 0.9, "others": 1.0}, cv="prefit", random_state=0).fit(X_val, y_val)
    for wrapper in (tuned, careful):
        name = type(wrapper).__name__
        told = f"Compact the booster inside it .its estimator_. first, then fit {name} around the smaller one"
        with pytest.raises(ParameterError, match=told):
            compact(wrapper, X, y)
    smaller = compact(tuned.estimator_, X, y)
    assert WorstClassOffsets(smaller, cv="prefit").fit(X_val, y_val).estimator_ is smaller


def test_what_does_not_vote_is_refused(blobs):
    learner = TorchLearner("mlp", module_options={"hidden": (4,)})
    ensemble = DeepEnsemble(learner, n_estimators=2, max_epochs=2, random_state=0).fit(*blobs)
    for model in (ensemble, RandomForestClassifier(3).fit(*blobs), "model"):
        with pytest.raises(ParameterError, match="a fitted WorstClassBooster or InstanceBooster, whose members vote"):
            compact(model, *blobs)
    with pytest.raises(NotFittedError):
        compact(tree_booster(), *blobs)


@pytest.mark.parametrize("name", ["tolerance", "drift"])
@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan"), None, "0.1", True])
def test_limits_are_shares(name, value, fitted, blobs):
    with pytest.raises(ParameterError, match=f"The '{name}' parameter of compact must be a share of"):
        compact(fitted["trees", False], *halves(blobs)[:2], **{name: value})


# --- the command


def table(rows):
    rng = np.random.default_rng(0)
    kind = rng.choice(["common", "rare"], size=700, p=[0.7, 0.3])
    frame = pd.DataFrame({name: rng.normal(kind == "rare", 1.2).round(4) for name in "pqr"})
    frame["ward"] = rng.choice(["north", "south", ""], size=700)  # text, with missing values
    frame["number"] = range(700)
    frame["kind"] = kind
    return frame.iloc[rows]


TARGET = ["--target", "kind"]
TREES = ["--method", "ours-trees", "--theta", "0.6", "--rounds", "25", "--gamma", "0.1", "--quiet"]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Files, and boosters fitted with a seed and shares of their own."""
    folder = tmp_path_factory.mktemp("compact")
    table(slice(0, 400)).to_csv(folder / "train.csv", index=False)
    table(slice(400, 700)).to_csv(folder / "fresh.csv", index=False)
    fit = ["fit", str(folder / "train.csv"), *TARGET, "--ignore", "number", *TREES, "--seed", "5"]
    for name, more in {"model": [], "chosen": ["--val-share", "0.3", "--test-share", "0.1"]}.items():
        assert run([*fit, *more, "--out", str(folder / name)]) == 0
    return folder


def test_the_record_of_the_fit_says_how_the_rows_were_divided(place, command):
    for name in ("model", "chosen"):
        code, shown = command("compact", name, "train.csv", *TARGET, "--drift", "0.1", "--out", "small")
        assert code == 0
        whole, smaller = load_model(place / name), load_model(place / "small")
        assert smaller.n_members_used_ < whole.n_members_used_
        assert f"members {whole.n_members_used_} {smaller.n_members_used_}" in re.sub(" +", " ", shown)
        assert str(smaller.compaction_) in shown
        assert "Bound met: the vote of" in shown
        assert f"(kept of {whole.n_members_used_})" in shown
        results = place / "small" / "results"
        record, run_record = (json.loads((results / file).read_text()) for file in ("compact.json", "run.json"))
        old = json.loads((place / name / "results" / "run.json").read_text())
        assert (run_record["seed"], run_record["method"]) == (5, "ours-trees")
        assert run_record["data"]["test_share"] == old["data"]["test_share"]
        assert run_record["settings"] == {**old["settings"], "tolerance": 0.0, "drift": 0.1}
        assert run_record["boosting"]["compacted_from"] == whole.n_members_used_
        assert record["before"]["test"] == old["test"]
        assert record["after"]["test"] == run_record["test"]
        assert record["after"]["training"] == smaller.training_report_.to_dict()
        assert record["before"]["bytes"] > record["after"]["bytes"] > 0
        assert (record["n_before"], record["n_after"]) == (whole.n_members_used_, smaller.n_members_used_)
        assert f"kept of {whole.n_members_used_}" in (results / "report.html").read_text()


def test_classes_that_changed_are_shown_and_the_rest_is_the_same(place, command):
    code, shown = command("compact", "model", "train.csv", *TARGET, "--drift", "0", "--out", "same")
    assert code == 0
    assert "The reports are the same for every class." in shown
    assert "worst class, training rows" in shown
    code, shown = command(
        "compact", "model", "train.csv", *TARGET, "--drift", "1", "--tolerance", "0.2", "--out", "same"
    )
    before, after = load_model(place / "model").training_report_, load_model(place / "same").training_report_
    assert code == 0
    assert "Classes whose errors changed:" in shown
    for row in after.rows:
        was = next(found for found in before.rows if found.name == row.name)
        assert row.total - row.correct <= was.total - was.correct + 0.2 * row.total
        if row.correct != was.correct:
            line = f"{row.name} (training) {row.total} {was.total - was.correct} {row.total - row.correct}"
            assert line in re.sub(" +", " ", shown)


def test_twice_and_over_itself(place, command):
    words = [*TARGET, "--drift", "0.05"]
    assert command("compact", "model", "train.csv", *words, "--out", "over")[0] == 0
    first = load_model(place / "over")
    code, shown = command("compact", "over", "train.csv", *words, "--out", "over")
    assert code == 0
    second = load_model(place / "over")
    assert second.n_members_used_ <= first.n_members_used_
    assert f"(kept of {first.n_members_used_})" in shown
    for row, before in zip(second.training_report_.rows, first.training_report_.rows, strict=True):
        assert row.total - row.correct <= before.total - before.correct or row.name != before.name


def test_what_follows_works_and_rows_that_were_seen_are_refused(place, command):
    assert command("compact", "chosen", "train.csv", *TARGET, "--out", "small")[0] == 0
    assert command("evaluate", "small", "fresh.csv", *TARGET)[0] == 0
    assert command("certify", "small", "fresh.csv", *TARGET, "--require", "0.2")[0] == 0
    assert command("certify", "small", "train.csv", *TARGET, "--require", "0.2")[0] == 2
    assert command("offsets", "small", "fresh.csv", *TARGET, "--out", "tuned")[0] == 0
    code, shown = command("compact", "tuned", "train.csv", *TARGET, "--out", "m")
    assert code == 2
    assert "tuned is a WorstClassOffsets, made for the answers of the booster inside it" in shown
    assert "worstclass compact tuned/inner ..." in shown
    split = ["--seed", "5", "--val-share", "0.3", "--test-share", "0.1"]  # no record of the fit is in there
    assert command("compact", "tuned/inner", "train.csv", *TARGET, *split, "--out", "m")[0] == 0


def test_a_floor_that_is_missed_before_is_missed_after_and_exit_code_1(place, command):
    rows = [f"{i % 2},{'a' if i % 5 else 'b'}" for i in range(100)]  # p says nothing of the kind
    (place / "noise.csv").write_text("\n".join(["p,kind", *rows]) + "\n")
    fit = ["fit", "noise.csv", *TARGET, "--method", "ours-trees", "--theta", "0.9", "--quiet", "--out", "missed"]
    assert command(*fit)[0] == 1
    code, shown = command("compact", "missed", "noise.csv", *TARGET, "--out", "missed")
    assert code == 1
    assert "1 of 1 member kept" in shown
    assert "Bound NOT met: the vote of 1 member (kept of 1) misses it for" in shown


def test_a_network_a_chosen_floor_and_a_named_data_set(place, command):
    network = ["--network", "mlp", "--lr", "0.01", "--gamma", "0.1", "--rounds", "4", "--extend", "0", "--quiet"]
    data = ["artificial-balanced", "--seed", "1"]
    assert command("fit", *data, "--method", "ours", *network, "--theta", "0.3", "--out", "squares")[0] in (0, 1)
    code, shown = command("compact", "squares", "artificial-balanced", "--max-test-rows", "500", "--out", "m")
    assert code in (0, 1)
    assert "worst class, test rows" in shown
    theta = ["theta", "train.csv", *TARGET, "--ignore", "number", "--candidates", "0.5,0.6", "--rounds", "9", "--quiet"]
    assert command(*theta, "--seed", "3", "--gamma", "0.1", "--out", "best")[0] == 0
    assert command("compact", "best", "train.csv", *TARGET, "--out", "m")[0] == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["model", "fresh.csv", *TARGET], "worstclass compact needs the 320 training rows of the model"),
        (["model", "train.csv", *TARGET, "--seed", "6"], "Give DATA, --seed, --val-share and --test-share as given"),
        (["model", "train.csv", *TARGET, "--val-share", "0.2"], "worstclass compact needs the 320 training rows"),
        (["model", "train.csv", *TARGET, "--drift", "2"], "Option --drift must be a share of votes in [0, 1]"),
        (["model", "train.csv", *TARGET, "--tolerance", "1"], "Option --tolerance must be a share of rows in [0, 1)"),
        (["model", "train.csv"], "--target"),
        (["forest", "train.csv", *TARGET], "forest is a RandomForestClassifier, whose members do not vote"),
        (["nowhere", "train.csv", *TARGET], "not a model folder"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input_is_one_message_and_exit_code_2(words, told, place, command):
    if words[0] == "forest":
        save_model(RandomForestClassifier(3).fit(np.eye(4), [0, 1, 0, 1]), place / "forest")
    code, shown = command("compact", *words, "--out", "nothing")
    assert code == 2
    assert told in shown
    assert "Traceback" not in shown
    assert not (place / "nothing").exists()


def test_help_names_the_default_drift(command):
    assert f"[{DRIFT}]" in re.sub(r"\s+", " ", command("compact", "--help")[1])
