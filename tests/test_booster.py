"""What the booster makes of given answers: weights, edges, votes, prefixes, early ends and extensions."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from scripted import ScriptedLearner, numbered_rows

from worstclass import Callback, WorstClassBooster
from worstclass.boosting.extension import CLOSE, needed_rows, shifted, vote_driven
from worstclass.exceptions import UnmetBoundWarning, UnmetEdgeWarning
from worstclass.floors import Floors

# three classes of four rows each
Y = np.repeat([0, 1, 2], 4)
X = numbered_rows(12)
RIGHT = Y.copy()


def wrong_on(*rows: int) -> np.ndarray:
    answers = RIGHT.copy()
    for row in rows:
        answers[row] = (Y[row] + 1) % 3
    return answers


def booster(script, theta=0.5, **options):
    options = {"gamma": 0.1, "n_rounds": 3, "extend": False, **options}
    return WorstClassBooster(ScriptedLearner(script), theta, **options)


def quietly(model, *data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*data)


def test_weights_edges_and_regret_of_three_rounds_by_hand():
    # theta 0.5 of 4 rows: 2 right answers meet a class. Round 1 misses class 0 (3 of 4 wrong), rounds 2 and 3 class 1.
    misses_0, misses_1 = wrong_on(0, 1, 2), wrong_on(4, 5, 6)
    model = quietly(booster([[misses_0], [misses_1], [misses_1]], gamma=0.04), X, Y)
    eta = math.sqrt(8 * math.log(3) / 3)
    assert model.eta_ == pytest.approx(eta)
    e = math.exp(-eta)
    expected = np.array([[1, 1, 1], [1, e, e], [e, e, e * e]]) / np.array([[3], [1 + 2 * e], [2 * e + e * e]])
    np.testing.assert_allclose([record.class_weight for record in model.history_], expected)
    assert [record.feedback for record in model.history_] == [(0, 1, 1), (1, 0, 1), (1, 0, 1)]
    edges = [2 / 3, (1 + e) / (1 + 2 * e), (e + e * e) / (2 * e + e * e)]
    assert [record.edge for record in model.history_] == pytest.approx(edges)
    # class 1 earned least: 1 of 3 rounds
    assert model.history_[-1].regret == pytest.approx(sum(edges) - 1)
    assert model.history_[-1].regret_bound == pytest.approx(math.sqrt(3 * math.log(3) / 2))


def test_a_member_at_exactly_theta_meets_the_floor_but_a_vote_there_misses_the_bound():
    half = wrong_on(0, 1)  # class 0: 2 of 4 right, exactly theta
    with pytest.warns(UnmetBoundWarning, match="misses the training bound for 0"):
        model = booster([[half]], n_rounds=3, extend=False).fit(X, Y)
    assert model.history_[0].feedback == (1, 1, 1)
    assert not model.bound_met_
    assert model.shortfall_ == {0: 1}
    assert model.training_report_.worst_error == 0.5


def test_the_member_of_a_single_round_is_the_vote_and_must_meet_the_strict_bound():
    half, better = wrong_on(0, 1), wrong_on(0)  # class 0: 2 and 3 of 4 right, theta 0.5
    model = booster([[half, better]], n_rounds=1, gamma=0.5).fit(X, Y)
    assert model.history_[0].epochs == 2
    assert model.bound_met_
    assert model.training_report_.worst_error == 0.25


def test_rows_weigh_their_class_weight_over_the_class_size():
    y = np.array([0] * 8 + [1] * 2)
    model = WorstClassBooster(ScriptedLearner([[y]]), 0.5, n_rounds=1).fit(numbered_rows(10), y)
    weight = model.learner_.training_.sample_weights[0]
    # 1/2 / 8 and 1/2 / 2, brought to mean 1: 10 * 0.0625 and 10 * 0.25
    np.testing.assert_allclose(weight, [0.625] * 8 + [2.5] * 2)


def test_per_instance_weighting_gives_every_row_its_class_weight():
    y = np.array([0] * 8 + [1] * 2)
    model = WorstClassBooster(ScriptedLearner([[y]]), 0.5, n_rounds=1, weighting="per-instance")
    model.fit(numbered_rows(10), y)
    np.testing.assert_allclose(model.learner_.training_.sample_weights[0], np.ones(10))


def test_a_round_ends_at_the_first_pass_that_reaches_the_edge():
    bad = wrong_on(0, 1, 2, 4, 5, 6)  # only class 2 met: edge 1/3 < 0.6
    model = quietly(booster([[bad, bad, wrong_on(0, 1, 2), RIGHT]], n_rounds=1), X, Y)
    assert model.history_[0].epochs == 3
    assert model.history_[0].edge == pytest.approx(2 / 3)
    assert model.history_[0].member_correct == (1, 4, 4)


def test_the_vote_is_the_plurality_and_counts_are_exact():
    members = [wrong_on(0), wrong_on(1), wrong_on(2)]
    model = booster([[m] for m in members]).fit(X, Y)
    np.testing.assert_array_equal(model.predict(X), Y)
    assert model.history_[-1].vote_correct == (4, 4, 4)
    assert model.bound_met_
    assert model.shortfall_ == {}


def test_three_voters_that_each_meet_the_floor_can_miss_it_together():
    # READING.md: each voter is right on half of class 0 (theta 0.5), all rows but one are outvoted
    voters = [[0, 1], [0, 2], [0, 3]]
    script = [[wrong_on(*[row for row in range(4) if row not in right])] for right in voters]
    model = quietly(booster(script), X, Y)
    assert all(record.feedback == (1, 1, 1) for record in model.history_)
    assert all(record.edge == 1.0 for record in model.history_)
    assert model.history_[-1].vote_correct == (1, 4, 4)
    assert not model.bound_met_
    assert model.shortfall_ == {0: 2}


class TestUnmetEdge:
    bad = wrong_on(0, 1, 2, 4, 5, 6)
    good = wrong_on(0)

    def test_stop_keeps_the_finished_rounds_and_names_the_blocking_classes(self):
        with pytest.warns(
            UnmetEdgeWarning, match=r"Round 3 could not reach its edge.*0 \(error 75.0%, allowed 50.0%\)"
        ):
            model = booster([[self.good], [self.good], [self.bad, self.bad]], n_rounds=5).fit(X, Y)
        assert len(model.estimators_) == 2
        np.testing.assert_array_equal(model.predict(X), self.good)

    @pytest.mark.filterwarnings("error::worstclass.exceptions.UnmetEdgeWarning")
    def test_as_an_error_the_warning_leaves_round_edges_classes_and_the_partial_ensemble(self):
        model = booster([[self.good], [self.bad]], n_rounds=5)
        with pytest.raises(UnmetEdgeWarning, match="Round 2 could not reach its edge"):
            model.fit(X, Y)
        unmet = model.unmet_edge_
        assert unmet.round == 2
        assert unmet.needed_edge == pytest.approx(0.6)
        assert unmet.best_edge == pytest.approx(1 / 3)
        assert [row.label for row in unmet.blocking] == [0, 1]
        np.testing.assert_array_equal(model.predict(X), self.good)

    def test_a_first_round_that_fails_leaves_a_usable_model(self):
        with pytest.warns(UnmetEdgeWarning, match="Its member is kept"), pytest.warns(UnmetBoundWarning):
            model = booster([[wrong_on(*range(12)), self.bad, wrong_on(*range(12))]], n_rounds=5).fit(X, Y)
        assert [record.phase for record in model.history_] == ["unmet"]
        np.testing.assert_array_equal(model.predict(X), self.bad)  # the best pass, not the last
        assert not model.bound_met_

    def test_among_equal_edges_the_pass_nearest_to_the_floors_is_kept(self):
        all_wrong, nearer = wrong_on(*range(12)), wrong_on(0, 1, 2, 4, 5, 6, 8, 9, 10)  # edge 0 both, 1 of 4 right
        model = quietly(booster([[all_wrong, nearer, all_wrong]], n_rounds=1), X, Y)
        assert model.history_[0].member_correct == (1, 1, 1)

    def test_patience_counts_passes_without_progress(self):
        script = [[self.bad] * 3 + [RIGHT]]
        assert quietly(booster(script, n_rounds=1, patience=3), X, Y).history_[0].epochs == 4
        assert quietly(booster(script, n_rounds=1, patience=2), X, Y).history_[0].phase == "unmet"

    def test_max_epochs_ends_a_round(self):
        model = quietly(booster([[self.bad] * 3 + [RIGHT]], n_rounds=1, max_epochs_per_round=3), X, Y)
        assert (model.history_[0].phase, model.history_[0].epochs) == ("unmet", 3)


class TestExtension:
    outvoted = ([wrong_on(1, 2)], [wrong_on(2, 3)], [wrong_on(1, 3)])  # vote: 1, 2 and 3 wrong, one of four right

    def test_rounds_are_added_until_the_bound_holds(self):
        model = booster([*self.outvoted, [RIGHT]], extend=True).fit(X, Y)
        assert model.bound_met_
        phases = [record.phase for record in model.history_]
        assert phases[:3] == ["boost"] * 3
        assert set(phases[3:]) == {"extend"}
        assert len(phases) == 5  # rows 1 to 3 lead 2:1; a tie keeps the first leader, so it takes two more
        assert model.history_[3].vote_correct != model.history_[4].vote_correct

    def test_the_missed_class_gets_more_weight(self):
        model = booster([*self.outvoted, [RIGHT]], extend=True).fit(X, Y)
        weight = model.history_[3].class_weight
        assert weight[0] > max(weight[1:])
        assert sum(weight) == pytest.approx(1)

    def test_no_more_rounds_are_added_than_allowed(self):
        model = quietly(booster([*self.outvoted, [RIGHT]], extend=1), X, Y)
        assert len(model.history_) == 4
        assert not model.bound_met_

    def test_none_are_added_when_the_bound_holds_or_extend_is_off(self):
        assert len(booster([[RIGHT]], extend=True).fit(X, Y).history_) == 3
        assert len(quietly(booster([*self.outvoted, [RIGHT]], extend=False), X, Y).history_) == 3

    def test_weights_follow_the_vote_and_forget(self):
        # class 0 is missed after rounds 3 and 4 and mended by round 5
        model = booster([*self.outvoted, [RIGHT]], extend=True).fit(X, Y)
        eta = math.sqrt(8 * math.log(3) / 3)
        for record, log_weight in zip(model.history_[3:], (eta, (1 - eta / 2) * eta + eta), strict=True):
            expected = np.array([math.exp(log_weight), 1, 1]) / (math.exp(log_weight) + 2)
            np.testing.assert_allclose(record.class_weight, expected)
            assert record.regret is None

    def test_an_added_round_lets_go_of_what_is_lost_most(self):
        # Row 0 of class 0 is lost 0:3, rows 1 to 3 are lost 1:2. At theta 0.5 the class needs three rows and may spare
        # a tenth of one, rounded up: it keeps all four. At theta 0 it needs one and spares one.
        for theta, kept in ((0.5, [0, 1, 2, 3]), (0.0, [1, 2])):
            counts = np.array([[0, 3, 0], [1, 2, 0], [1, 2, 0], [1, 2, 0]] + [[0, 3, 0]] * 4 + [[0, 0, 3]] * 4)
            quota = Floors.from_theta(theta, [0, 1, 2]).vote_quota(np.array([4, 4, 4]))
            lead, needed = needed_rows(counts, Y, quota)
            np.testing.assert_array_equal(lead, [-3, -1, -1, -1, 3, 3, 3, 3, 3, 3, 3, 3])
            np.testing.assert_array_equal(np.flatnonzero(needed[:4]), kept)
            np.testing.assert_array_equal(np.flatnonzero(needed & (lead <= 0)), kept)

    def test_the_weight_of_a_class_is_shifted_within_it(self):
        # leads of class 0: 9, 1, 0, -5; it needs two rows and spares one. Of 100 votes, a lead of 2 is close.
        counts = np.array([[50, 41, 0], [50, 49, 0], [50, 50, 0], [45, 50, 0]] + [[0, 90, 10]] * 4 + [[0, 0, 100]] * 4)
        lead, kept = needed_rows(counts, Y, np.array([2, 2, 2]))
        weight = shifted(np.repeat([2.0, 0.5, 0.5], 4), Y, kept, kept & (lead <= CLOSE * 100))
        half = 8 / 2  # of class 0's weight 8
        np.testing.assert_allclose(weight[:4], [half / 3, half / 3 + half / 2, half / 3 + half / 2, 0])
        np.testing.assert_allclose(weight[4:8].sum(), 2)
        assert (weight[4:] > 0).sum() == 6  # three rows kept of each class, none close: shared evenly
        np.testing.assert_allclose(weight[4:][weight[4:] > 0], 2 / 3)

    def test_an_added_member_is_trained_on_until_it_mends_enough(self):
        # class 0 needs rows 1 to 3 back; the first pass of the added round reaches the edge with only one of them
        epochs = [wrong_on(1, 2), wrong_on(1), RIGHT, wrong_on(1)]
        model = quietly(booster([*self.outvoted, epochs], extend=1, patience=1000), X, Y)
        assert model.history_[3].epochs == 3
        weight = model.learner_.training_.sample_weights[3]
        w = np.array(model.history_[3].class_weight)
        np.testing.assert_allclose(weight.reshape(3, 4).sum(axis=1), 12 * w)  # a class as a whole weighs what it did
        assert weight[1] == weight[2] == weight[3] > weight[0]  # three rows are lost; row 0 is safe
        assert model.history_[3].member_correct == (4, 4, 4)

    def test_once_the_edge_is_reached_mending_has_a_tenth_of_the_patience(self):
        epochs = [wrong_on(1, 2, 3), wrong_on(1, 2), *[wrong_on(1, 2, 3)] * 30]
        model = quietly(booster([*self.outvoted, epochs], extend=1, patience=50), X, Y)
        assert model.history_[3].epochs == 6  # reached by the second pass, which is the first of five
        assert model.history_[3].member_correct == (2, 4, 4)  # the pass that mended most is the one that votes

    def test_weights_stay_bounded_however_long_a_class_is_missed(self):
        log_weights = np.zeros(3)
        for _ in range(10_000):
            log_weights = vote_driven(log_weights, np.array([True, False, False]), eta=0.3)
        assert log_weights[0] - log_weights[1] == pytest.approx(2)
        for eta in (0.3, 5.0):
            mended = log_weights
            for _ in range(100):
                mended = vote_driven(mended, np.array([False, False, False]), eta)
            np.testing.assert_allclose(mended, 0, atol=1e-6)

    def test_a_round_that_cannot_reach_the_edge_ends_it(self):
        model = quietly(booster([*self.outvoted, [wrong_on(*range(12))]], extend=True), X, Y)
        assert len(model.history_) == 3
        assert model.shortfall_ == {0: 2}


class TestPrefix:
    def test_the_prefix_with_the_least_worst_validation_error_is_used_and_the_longest_of_equals(self):
        # validation rows are rows 0, 4 and 8; member 1 errs on row 0, then three that are right, then three that err
        script = [[wrong_on(0)], [RIGHT], [RIGHT], [RIGHT], [wrong_on(4)], [wrong_on(4)], [wrong_on(4)], [wrong_on(4)]]
        val = [0, 4, 8]
        model = booster(script, n_rounds=8).fit(X, Y, X[val], Y[val])
        # worst validation error by prefix: 1; 1 (tie, first leader); 0 0 0 0; then row 4 has 4 right of 7, 4 of 8: 0
        assert model.n_members_used_ == 8
        assert model.validation_report_.worst_error == 0

    def test_a_prefix_that_is_worse_later_is_cut(self):
        script = [[RIGHT], [wrong_on(4)], [wrong_on(4)], [wrong_on(4)]]
        val = [0, 4, 8]
        model = booster(script, n_rounds=4).fit(X, Y, X[val], Y[val])
        assert model.n_members_used_ == 2  # 1:1 on row 4 keeps the first leader, 1:2 does not
        assert len(model.estimators_) == 4
        np.testing.assert_array_equal(model.predict(X), Y)
        assert len(list(model.staged_predict(X))) == 2

    def test_the_bound_is_that_of_the_prefix_in_use(self):
        outvoted = TestExtension.outvoted
        script = [[RIGHT], *outvoted, *outvoted]
        model = quietly(booster(script, n_rounds=7), X, Y, X[[0, 1, 2, 3]], Y[[0, 1, 2, 3]])
        assert model.history_[-1].vote_correct[0] < 3
        assert model.n_members_used_ < 7
        assert model.bound_met_ == (model.history_[model.n_members_used_ - 1].vote_correct[0] >= 3)


class Recorder(Callback):
    def __init__(self):
        self.events = []

    def on_fit_start(self, booster, plan):
        self.events.append(("start", plan.n_rounds, plan.needed_edge))

    def on_epoch_end(self, booster, info):
        self.events.append(("pass", info.round, info.epoch))

    def on_round_end(self, booster, record):
        self.events.append(("round", record.round))

    def on_fit_end(self, booster):
        self.events.append(("end", len(booster.estimators_)))


def test_callbacks_hear_of_everything_in_order():
    recorder = Recorder()
    booster([[wrong_on(*range(12)), RIGHT], [RIGHT]], n_rounds=2, callbacks=[recorder]).fit(X, Y)
    expected = [("start", 2, pytest.approx(0.6)), ("pass", 1, 1), ("pass", 1, 2), ("round", 1), ("pass", 2, 1)]
    assert recorder.events == [*expected, ("round", 2), ("end", 2)]


def test_an_interrupted_fit_keeps_its_finished_rounds():
    class Interrupt(Callback):
        def on_round_end(self, booster, record):
            if record.round == 2:
                raise KeyboardInterrupt

    model = booster([[RIGHT]], n_rounds=5, callbacks=[Interrupt()])
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    assert len(model.estimators_) == 2
    np.testing.assert_array_equal(model.predict(X), Y)


def test_a_floor_a_class_is_judged_class_by_class():
    one_wrong = wrong_on(0, 4)
    model = booster([[one_wrong]], theta={0: 0.9, "others": 0.5}, n_rounds=1)
    with pytest.warns(UnmetBoundWarning, match="0 .error 25.0%, must be below 10.0%, 1 of 4 rows short"):
        model.fit(X, Y)
    assert model.theta_ == (0.9, 0.5, 0.5)
    assert model.history_[0].feedback == (0, 1, 1)


def test_predict_proba_are_vote_shares_and_margins_leads():
    model = booster([[wrong_on(0)], [RIGHT], [RIGHT], [wrong_on(0)]], n_rounds=4).fit(X, Y)
    np.testing.assert_allclose(model.predict_proba(X)[0], [0.5, 0.5, 0], atol=1e-12)
    np.testing.assert_allclose(model.decision_margin(X), [0] + [1] * 11)
    np.testing.assert_array_equal(model.classes_[model.predict_proba(X).argmax(1)], model.predict(X))


def test_permuting_the_classes_permutes_the_results():
    rng = np.random.default_rng(0)
    script = [[np.where(rng.random(12) < 0.25, rng.integers(0, 3, 12), Y)] for _ in range(6)]
    new_name = np.array([2, 0, 1])
    plain = quietly(booster(script, theta=0.25, n_rounds=6, gamma=0.05), X, Y)
    renamed_script = [[new_name[answers] for answers in epochs] for epochs in script]
    renamed = quietly(booster(renamed_script, theta=0.25, n_rounds=6, gamma=0.05), X, new_name[Y])
    assert len(plain.estimators_) == len(renamed.estimators_) > 1
    np.testing.assert_array_equal(new_name[plain.predict(X)], renamed.predict(X))
    for ours, theirs in zip(plain.history_, renamed.history_, strict=True):
        np.testing.assert_allclose(np.array(theirs.class_weight)[new_name], ours.class_weight)
