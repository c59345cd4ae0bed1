"""Budgets: epochs and time are counted, spent and told of, and what was finished before is kept."""

from __future__ import annotations

import math
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from scripted import ScriptedLearner, numbered_rows

from worstclass import Callback, WorstClassBooster
from worstclass.boosting.oco import InstanceBooster
from worstclass.exceptions import BudgetSpentWarning, ParameterError, UnknownNameError, UnmetEdgeWarning
from worstclass.learners import budget as budget_module
from worstclass.learners.budget import Meter

# three classes of four rows each
Y = np.repeat([0, 1, 2], 4)
X = numbered_rows(12)
RIGHT = Y.copy()


def wrong_on(*rows: int) -> np.ndarray:
    answers = RIGHT.copy()
    for row in rows:
        answers[row] = (Y[row] + 1) % 3
    return answers


BAD = wrong_on(0, 1, 2, 4, 5, 6)  # edge 1/3 over classes at theta 1/2, and 1/2 over rows: both below 0.6


def over_classes(script, **options):
    return WorstClassBooster(ScriptedLearner(script), 0.5, **{"gamma": 0.1, "n_rounds": 4, "extend": False, **options})


def over_rows(script, **options):
    return InstanceBooster(ScriptedLearner(script), **{"gamma": 0.1, "n_rounds": 4, **options})


both = pytest.mark.parametrize("booster", [over_classes, over_rows])


def fitted(model, *data):
    """Fit, and return the texts of the warnings by their kind."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(*(data or (X, Y)))
    return model, [(warning.category.__name__, str(warning.message)) for warning in caught]


class Clock:
    """Time that epochs only when told to."""

    now = 0.0

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(budget_module, "time", SimpleNamespace(perf_counter=clock.perf_counter))
    return clock


class Ticks(Callback):
    """Lets one second go by in every pass."""

    def __init__(self, clock):
        self.clock = clock

    def on_epoch_end(self, booster, info):
        self.clock.now += 1


class TestMeter:
    def test_passes_are_spent_one_by_one(self):
        meter = Meter(max_epochs=2)
        spent = []
        for _ in range(3):
            spent.append(meter.spent)
            meter.count()
        assert (spent, meter.spent, meter.epochs) == ([None, None, "2 epochs"], "2 epochs", 3)

    def test_time_is_spent_from_when_the_meter_was_made(self, clock):
        clock.now = 100.0
        meter = Meter(max_seconds=2.5)
        clock.now = 102.4
        assert (meter.spent, meter.seconds) == (None, pytest.approx(2.4))
        clock.now = 102.5
        assert meter.spent

    def test_without_a_limit_nothing_is_ever_spent(self, clock):
        meter = Meter()
        for _ in range(1000):
            meter.count()
        clock.now = 1e9
        assert not meter.spent

    def test_the_limit_that_was_reached_is_the_one_named(self, clock):
        meter = Meter(max_epochs=1200, max_seconds=3.5)
        assert meter.spent is None
        clock.now = 5.0
        assert meter.spent == "3.5 seconds"
        for _ in range(1200):
            meter.count()
        assert meter.spent == "1,200 epochs"


@both
class TestPasses:
    def test_a_round_that_the_budget_cuts_off_is_not_kept(self, booster):
        # rounds of two epochs: two fit into five epochs, and the fifth pass is one of the third round
        model, told = fitted(booster([[BAD, RIGHT]], max_epochs=5))
        assert (len(model.estimators_), model.n_epochs_) == (2, 5)
        assert [record.phase for record in model.history_] == ["boost", "boost"]
        message = "The budget of 5 epochs was spent before round 3 of 4 was finished. The 2 finished rounds are kept."
        assert told == [("BudgetSpentWarning", message)]
        np.testing.assert_array_equal(model.predict(X), Y)

    def test_a_budget_that_ends_with_a_round_allows_no_further_pass(self, booster):
        model, told = fitted(booster([[BAD, RIGHT]], max_epochs=4))
        assert (len(model.estimators_), model.n_epochs_) == (2, 4)
        assert [kind for kind, _ in told] == ["BudgetSpentWarning"]

    def test_rounds_that_need_one_pass_each_are_ended_too(self, booster):
        model, told = fitted(booster([[RIGHT]], n_rounds=10, max_epochs=3))
        assert (len(model.estimators_), model.n_epochs_) == (3, 3)
        assert "before round 4 of 10" in told[0][1]

    @pytest.mark.parametrize("epochs", [8, 9, None])
    def test_a_budget_that_is_enough_is_not_told_of(self, booster, epochs):
        model, told = fitted(booster([[BAD, RIGHT]], max_epochs=epochs))
        assert (len(model.estimators_), model.n_epochs_, told) == (4, 8, [])

    def test_of_a_first_round_the_best_pass_is_kept(self, booster):
        worse = wrong_on(*range(12))
        model, told = fitted(booster([[worse, BAD, worse, RIGHT]], max_epochs=3))
        assert [(record.phase, record.epochs) for record in model.history_] == [("unmet", 3)]
        message = "The budget of 3 epochs was spent before round 1 of 4 was finished. Its member is kept as it is."
        assert ("BudgetSpentWarning", message) in told
        assert "UnmetEdgeWarning" not in dict(told)
        np.testing.assert_array_equal(model.predict(X), BAD)

    def test_a_first_round_within_the_budget_is_a_finished_one(self, booster):
        model, told = fitted(booster([[RIGHT]], max_epochs=1))
        assert [record.phase for record in model.history_] == ["boost"]
        assert "The 1 finished rounds are kept." in told[0][1]

    def test_the_warning_points_to_the_call_of_fit(self, booster):
        for script, options, kind in [
            ([[RIGHT]], {"max_epochs": 2}, BudgetSpentWarning),
            ([[RIGHT], [BAD]], {}, UnmetEdgeWarning),
        ]:
            with pytest.warns(kind) as caught:
                booster(script, **options).fit(X, Y)
            assert [warning.filename for warning in caught] == [__file__]

    @pytest.mark.parametrize(
        "options",
        [{"max_epochs": 0}, {"max_epochs": 2.5}, {"max_seconds": 0}, {"max_seconds": math.nan}],
        ids=str,
    )
    def test_budgets_of_nothing_are_refused(self, booster, options):
        with pytest.raises(ParameterError, match=f"{next(iter(options))!r} parameter of .*Booster must be a positive"):
            booster([[RIGHT]], **options).fit(X, Y)


@both
class TestSeconds:
    def test_time_ends_boosting_with_the_finished_rounds(self, booster, clock):
        model, told = fitted(booster([[BAD, RIGHT]], max_seconds=5, callbacks=[Ticks(clock)]))
        assert (len(model.estimators_), model.n_epochs_) == (2, 5)
        assert "The budget of 5 seconds was spent before round 3 of 4" in told[0][1]

    def test_time_that_is_up_at_once_still_gives_a_member(self, booster, clock):
        model, told = fitted(booster([[BAD, RIGHT]], max_seconds=0.5, callbacks=[Ticks(clock)]))
        assert ([record.phase for record in model.history_], model.n_epochs_) == (["unmet"], 1)
        assert "BudgetSpentWarning" in dict(told)
        np.testing.assert_array_equal(model.predict(X), BAD)

    def test_the_real_clock_is_read(self, booster):
        model, told = fitted(booster([[RIGHT]], n_rounds=10, max_seconds=1e-9))
        assert (len(model.estimators_), told[0][0]) == (1, "BudgetSpentWarning")


class TestAddedRounds:
    # the vote of these three has one of four rows of class 0 right, so that rounds are added
    outvoted = ([wrong_on(1, 2)], [wrong_on(2, 3)], [wrong_on(1, 3)])

    def test_a_budget_that_ends_with_the_planned_rounds(self):
        model, told = fitted(over_classes([*self.outvoted, [RIGHT]], n_rounds=3, extend=True, max_epochs=3))
        assert (len(model.estimators_), model.n_epochs_) == (3, 3)
        assert [kind for kind, _ in told] == ["BudgetSpentWarning", "UnmetBoundWarning"]
        assert "before round 4, an added one, was finished. The 3 finished rounds are kept." in told[0][1]

    def test_a_budget_that_ends_between_added_rounds(self):
        # two right members mend the vote (see test_booster); the budget allows one
        model, told = fitted(over_classes([*self.outvoted, [RIGHT]], n_rounds=3, extend=True, max_epochs=4))
        assert [record.phase for record in model.history_] == ["boost"] * 3 + ["extend"]
        assert [kind for kind, _ in told] == ["BudgetSpentWarning", "UnmetBoundWarning"]
        enough, told = fitted(over_classes([*self.outvoted, [RIGHT]], n_rounds=3, extend=True, max_epochs=5))
        assert (enough.bound_met_, len(enough.estimators_), told) == (True, 5, [])

    def test_an_added_member_that_reached_its_edge_is_kept_although_it_might_mend_more(self):
        half = wrong_on(1, 2)  # reaches the edge, but mends only one of the three lost rows
        script = [*self.outvoted, [half] * 30]
        model, told = fitted(over_classes(script, n_rounds=3, extend=True, patience=1000, max_epochs=6))
        assert [(record.phase, record.epochs) for record in model.history_[3:]] == [("extend", 3)]
        assert model.n_epochs_ == 6
        assert [kind for kind, _ in told] == ["BudgetSpentWarning", "UnmetBoundWarning"]

    def test_an_added_round_that_the_budget_cuts_off_is_not_kept(self):
        script = [*self.outvoted, [BAD, BAD, RIGHT]]
        model, told = fitted(over_classes(script, n_rounds=3, extend=True, max_epochs=5))
        assert (len(model.estimators_), model.n_epochs_) == (3, 5)
        assert "BudgetSpentWarning" in dict(told)


def test_a_spent_budget_is_no_unmet_edge():
    model, told = fitted(over_classes([[RIGHT], [BAD, BAD]], max_epochs=2))
    assert (len(model.estimators_), [kind for kind, _ in told]) == (1, ["BudgetSpentWarning"])


class TestSelectOn:
    # Validation rows: all of class 0 and one of class 1. Member 1 errs on row 4; members 2 and 3 on rows 0 and 1.
    # Prefix 1 and 2 (the first leader keeps a tie) err on row 4 alone: worst class 1, average 1/5.
    # Prefix 3 errs on rows 0 and 1: worst class 2/4, average 2/5. (30 rounds are planned, so that weights move slowly.)
    script = ([wrong_on(4)], [wrong_on(0, 1)], [wrong_on(0, 1)])
    val = (X[[0, 1, 2, 3, 4]], Y[[0, 1, 2, 3, 4]])
    three = {"n_rounds": 30, "max_epochs": 3}  # noqa: RUF012

    @both
    @pytest.mark.parametrize(
        ("select_on", "used", "worst", "average"), [("worst", 3, 0.5, 0.4), ("average", 2, 1, 0.2)]
    )
    def test_the_prefix_is_that_of_the_least_error_asked_for(self, booster, select_on, used, worst, average):
        model, _ = fitted(booster(list(self.script), **self.three, select_on=select_on), X, Y, *self.val)
        assert (model.n_members_used_, len(model.estimators_)) == (used, 3)
        assert model.validation_report_.worst_error == worst
        assert model.validation_report_.plain_error == pytest.approx(average)
        np.testing.assert_array_equal(model.predict(X), wrong_on(0, 1) if used == 3 else wrong_on(4))

    @both
    def test_without_validation_rows_all_members_vote(self, booster):
        for select_on in ("worst", "average"):
            assert fitted(booster(list(self.script), **self.three, select_on=select_on))[0].n_members_used_ == 3

    @both
    def test_another_word_is_refused(self, booster):
        with pytest.raises(UnknownNameError, match=r"'select_on'.*Did you mean 'worst'"):
            booster([[RIGHT]], select_on="wurst").fit(X, Y)
