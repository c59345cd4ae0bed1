"""How theta is chosen: races worked by hand, the same choice as the whole grid, infeasible floors, no leaks."""

from __future__ import annotations

import json
import warnings
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scripted import ScriptedLearner, numbered_rows
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from worstclass import (
    SklearnLearner,
    TorchLearner,
    WorstClassBooster,
    certify,
    load_model,
    nearest_feasible_floors,
    save_model,
    select_theta,
)
from worstclass.exceptions import (
    DataError,
    ModuleError,
    ParameterError,
    ReusedRowsWarning,
    SelectionInterrupted,
    UnknownNameError,
    UnmetBoundWarning,
    WeakLearningError,
)
from worstclass.learners import budget
from worstclass.learners.base import Verdict
from worstclass.learners.sklearn_learner import SklearnTraining
from worstclass.selection.baseline import thetas_above
from worstclass.selection.nearest import Witness
from worstclass.selection.rows import separate
from worstclass.selection.search import Search
from worstclass.selection.watch import Watch, resolve_after

# three classes: 10 training rows each (0 to 29), then 20 validation rows each (30 to 89)
N, N_VAL = 10, 20
Y = np.repeat([0, 1, 2], N)
Y_VAL = np.repeat([0, 1, 2], N_VAL)
X, X_VAL = numbered_rows(30), numbered_rows(90)[30:]


def answers(right, right_val) -> np.ndarray:
    """Answers with so many rows of each class right, in training and in validation."""
    given = np.concatenate([(Y + 1) % 3, (Y_VAL + 1) % 3])
    for k in range(3):
        given[k * N : k * N + right[k]] = k
        given[30 + k * N_VAL : 30 + k * N_VAL + right_val[k]] = k
    return given


def booster(script, **options):
    options = {"gamma": 0.1, "n_rounds": 2, "extend": False, "random_state": 0, **options}
    return WorstClassBooster(ScriptedLearner(script), 0.5, **options)


def select(script, *, own=None, **options):
    return select_theta(booster(script, **(own or {})), X, Y, X_VAL, Y_VAL, **options)


# one round: pass 1 has 5 rows of every class right, pass 2 has 7, pass 3 has 9. Theta 0.4 stops at pass 1, 0.6 at
# pass 2, 0.8 at pass 3; pass 2 is the best on the validation rows.
ROUND = [answers([5] * 3, [9] * 3), answers([7] * 3, [16] * 3), answers([9] * 3, [12] * 3)]
THETAS = [0.4, 0.6, 0.8]


class TestGridByHand:
    def test_the_least_worst_class_validation_error_is_chosen(self):
        selection = select([ROUND], candidates=THETAS)
        assert selection.theta == 0.6
        assert selection.met
        by_theta = {record.theta: record for record in selection.candidates}
        assert [by_theta[theta].epochs for theta in THETAS] == [2, 4, 6]
        assert [by_theta[theta].worst_error for theta in THETAS] == [11 / 20, 4 / 20, 8 / 20]
        assert all(record.status == "feasible" and record.bound_met for record in selection.candidates)
        assert selection.epochs == 12  # a scripted learner counts its rounds, so nothing can be shared

    def test_the_booster_is_fitted_at_it_and_keeps_its_parameters(self):
        own = {"on_unmet_edge": "raise", "random_state": 7}
        selection = select([ROUND], own=own, candidates=THETAS)
        model = selection.booster
        assert (model.theta, model.random_state, model.on_unmet_edge) == (0.6, 7, "raise")
        assert model.bound_met_
        assert model.validation_report_.worst_error == 4 / 20
        assert model.n_epochs_ == 4
        np.testing.assert_array_equal(model.predict(X_VAL), ROUND[1][30:])

    def test_the_user_s_booster_is_left_as_it_is(self):
        model = booster([ROUND])
        select_theta(model, X, Y, X_VAL, Y_VAL, candidates=THETAS)
        assert model.theta == 0.5
        assert not hasattr(model, "estimators_")

    def test_between_equals_the_plain_error_decides(self):
        tie = [answers([5] * 3, [10, 10, 10]), answers([7] * 3, [10, 20, 20]), answers([9] * 3, [10, 19, 20])]
        assert select([tie], candidates=THETAS).theta == 0.6

    def test_then_the_larger_theta(self):
        same = [answers([5] * 3, [10] * 3), answers([7] * 3, [10] * 3), answers([9] * 3, [10] * 3)]
        assert select([same], candidates=THETAS).theta == 0.8

    def test_the_average_may_choose_instead(self):
        apart = [answers([5] * 3, [9, 20, 20]), answers([7] * 3, [10] * 3), answers([9] * 3, [8, 10, 10])]
        assert select([apart], candidates=THETAS).theta == 0.6
        assert select([apart], candidates=THETAS, select_on="average").theta == 0.4
        own = {"select_on": "average"}
        assert select([apart], candidates=THETAS, own=own).theta == 0.4  # the booster's own, where none is given
        assert select([apart], candidates=THETAS, own=own, select_on="worst").theta == 0.6

    def test_candidates_need_no_order_and_count_once(self):
        selection = select([ROUND], candidates=[0.8, 0.4, 0.6, 0.4])
        assert [record.theta for record in selection.candidates] == THETAS

    def test_nine_thetas_are_the_default(self):
        selection = select([ROUND], full=True)
        assert [record.theta for record in selection.candidates] == [n / 10 for n in range(1, 10)]
        assert selection.theta == 0.6

    def test_the_text_and_the_record_for_files_tell_the_same(self):
        selection = select([ROUND], candidates=THETAS)
        assert "* 0.6         feasible       2/2            4    20.0%     20.0%  met" in str(selection)
        assert "a certificate must rest on others" in str(selection)
        values = json.loads(json.dumps(selection.to_dict()))
        assert (values["theta"], values["way"], values["passes"]) == (0.6, "grid", 12)
        assert values["validation"]["worst_error"] == 0.2
        assert values["chosen_by"] == "60 validation rows"
        assert not values["interrupted"]


# the same three passes in every of 16 rounds; looks are at rounds 2, 4, ..., 16
LONG = {"own": {"n_rounds": 16}}


class TestAbandonment:
    def test_the_clearly_worse_go_at_the_third_look(self):
        far = [answers([5] * 3, [1] * 3), answers([7] * 3, [16] * 3), answers([9] * 3, [15] * 3)]
        records = select([far], candidates=THETAS, cost_limit=100, **LONG).candidates
        assert [record.status for record in records] == ["abandoned", "feasible", "feasible"]
        assert records[0].rounds == 6
        assert records[0].why == "worse than theta 0.6 by 75.0% after 6 rounds"

    def test_close_competitors_run_to_their_end(self):
        # 0.4 is worse by 30%, and three standard errors of 10 wrong of 20 are 33.5%
        close = [answers([5] * 3, [10] * 3), *ROUND[1:]]
        records = select([close], candidates=THETAS, cost_limit=100, **LONG).candidates
        assert [record.rounds for record in records] == [16, 16, 16]

    def test_the_worst_goes_first_where_the_budget_is_short(self):
        # 0.4, 0.6 and 0.8 need 16, 32 and 48 passes; one fit at 0.8 costs 48, and 0.93 * 1.5 * 48 are 67 of the 96. At
        # the first look 12 are made; to the next look 12 more are needed, then 12 * (2 + 3) for the best two
        selection = select([ROUND], candidates=THETAS, cost_limit=1.5, **LONG)
        assert [record.rounds for record in selection.candidates] == [2, 16, 16]
        assert "no budget" in selection.candidates[0].why
        assert selection.theta == 0.6
        assert selection.epochs == 2 + 32 + 48

    def test_the_best_two_are_never_abandoned_for_the_budget(self):
        selection = select([ROUND], candidates=[0.6, 0.8], cost_limit=1, **LONG)
        assert [record.rounds for record in selection.candidates] == [16, 16]

    def test_full_runs_all_to_their_end(self):
        far = [answers([5] * 3, [0] * 3), answers([7] * 3, [20] * 3), answers([9] * 3, [15] * 3)]
        selection = select([far], candidates=THETAS, cost_limit=1, full=True, **LONG)
        assert [record.rounds for record in selection.candidates] == [16, 16, 16]

    def test_what_is_abandoned_lets_go_of_its_members(self):
        rows = separate(X, Y, X_VAL, Y_VAL, val_share=0.2, seed=0)
        options = {"seed": 0, "select_on": "worst", "cost_limit": None, "hopeless_after": None, "floors_first": False}
        candidate = Search(booster([ROUND]), rows, **options).candidate(0.4)
        candidate.advance()
        assert len(candidate.run.members) == 1
        candidate.abandon("others were better")
        assert candidate.run.members == []
        assert (candidate.record.status, candidate.record.rounds) == ("abandoned", 1)

    def test_what_is_abandoned_was_never_the_best(self):
        for limit in (1, 1.5, 2, 3):
            assert select([ROUND], candidates=THETAS, cost_limit=limit, **LONG).theta == 0.6

    def test_a_candidate_that_becomes_far_more_costly_waits_for_the_others(self):
        # 0.8 needs 40 passes in every round but the first, 0.6 two
        slow = [ROUND[0], *[ROUND[1]] * 39, ROUND[2]]
        told = []
        selection = select([ROUND, slow], candidates=[0.6, 0.8], progress=told.append, **LONG)
        waited = [event for event in told if event.kind == "set aside"]
        assert [event.record.theta for event in waited] == [0.8]
        assert "more than 4 times" in waited[0].record.why
        assert selection.theta == 0.6
        assert selection.candidates[1].status == "abandoned"
        assert selection.candidates[1].rounds == 3


# 0.4 and 0.6 stop at pass 1; 0.8 looks stuck after pass 7 and reaches its edge at pass 12
LATE = [
    answers([7] * 3, [5] * 3),
    answers([7, 7, 8], [19] * 3),
    *[answers([7] * 3, [19] * 3)] * 9,
    answers([9] * 3, [20] * 3),
]


class TestStuckRounds:
    """Theta 0.8 finds no pass with 8 of 10 right: its round makes no progress after the second pass."""

    never = (ROUND[0], ROUND[1], *[ROUND[0]] * 50)

    def test_a_stuck_round_is_dropped_early_and_its_passes_are_counted(self):
        options = {"own": {"patience": 40}, "hopeless_after": 5}
        selection = select([self.never], candidates=[0.4, 0.6, 0.8], **options)
        record = selection.candidates[2]
        assert (record.status, record.rounds, record.epochs) == ("abandoned", 0, 7)
        assert record.why == "round 1 was stuck after 7 passes"
        assert record.worst_error == 4 / 20  # of the best pass it had
        assert selection.theta == 0.6
        assert selection.epochs == 2 + 4 + 7

    def test_with_enough_budget_it_gets_its_whole_patience(self):
        options = {"own": {"patience": 40}, "hopeless_after": 5, "cost_limit": 100}
        selection = select([self.never], candidates=[0.4, 0.6, 0.8], **options)
        record = selection.candidates[2]
        # its edge is 0 all along, so patience counts 40 passes after the first
        assert (record.status, record.rounds, record.epochs) == ("infeasible", 1, 7 + 41)
        assert selection.epochs == 2 + 4 + 7 + 41

    def test_none_never_calls_a_round_stuck(self):
        selection = select([self.never], candidates=[0.6, 0.8], own={"patience": 40}, hopeless_after=None)
        assert selection.candidates[1].status == "infeasible"
        assert selection.candidates[1].epochs == 41

    def test_the_chosen_one_is_trained_to_its_end_all_the_same(self):
        script = [LATE]
        selection = select(script, candidates=[0.4, 0.6, 0.8], own={"patience": 40}, hopeless_after=5)
        assert selection.theta == 0.8
        plain = booster(script, patience=40).set_params(theta=0.8).fit(X, Y, X_VAL, Y_VAL)
        assert [record.epochs for record in selection.booster.history_] == [12, 12]
        assert selection.booster.n_epochs_ == plain.n_epochs_ == 24
        assert selection.booster.bound_met_


def test_the_watch_sees_progress_of_the_edge_and_of_classes_below_their_floor_only():
    watch = Watch(floors=(0.5, 0.8), after=2)
    assert not watch.stuck(0.5, (0.4, 0.9))
    assert not watch.stuck(0.5, (0.0, 0.9))  # class 0 is above its floor as it was: no progress
    assert watch.stuck(0.5, (0.0, 0.9))
    watch = Watch(floors=(0.5, 0.8), after=2)
    assert not any(watch.stuck(0.5, (0.4, error)) for error in (0.9, 0.8, 0.8, 0.7, 0.7, 0.6))
    assert not Watch(floors=(0.5,), after=None).stuck(0.0, (1.0,))


def test_hopeless_after_follows_patience():
    assert [resolve_after("auto", patience) for patience in (5, 99, 1000)] == [10, 10, 100]


TREE = SklearnLearner(DecisionTreeClassifier(min_samples_leaf=2))


def network():
    return TorchLearner("mlp", module_options={"hidden": (8,)}, lr=0.02)


def cut(X, y, seed=0):
    rows = separate(X, y, None, None, val_share=0.3, seed=seed)
    return rows.X, rows.y, rows.X_val, rows.y_val


class TestSharedPasses:
    @pytest.mark.parametrize(
        "make",
        [lambda: TREE, network, lambda: network().set_params(start="same")],
        ids=["trees", "network", "network that starts the same"],
    )
    def test_every_candidate_ends_as_a_fit_of_its_own(self, blobs, make):
        rows, thetas = cut(*blobs), [0.3, 0.5, 0.7, 0.9]
        model = WorstClassBooster(make(), 0.5, n_rounds=5, random_state=3)
        selection = select_theta(model, *rows, candidates=thetas, full=True)
        alone = [fitted_quietly(make(), theta, rows, n_rounds=5, random_state=3) for theta in thetas]
        for record, fit in zip(selection.candidates, alone, strict=True):
            assert record.epochs == fit.n_epochs_
            assert record.rounds == len(fit.estimators_)
            assert record.worst_error == fit.validation_report_.worst_error
            assert record.bound_met == fit.bound_met_
        assert selection.epochs < sum(fit.n_epochs_ for fit in alone)
        chosen = alone[thetas.index(selection.theta)]
        assert [r.epochs for r in selection.booster.history_] == [r.epochs for r in chosen.history_]
        np.testing.assert_array_equal(selection.booster.predict(rows[2]), chosen.predict(rows[2]))

    def test_the_first_round_is_trained_once_for_all(self, blobs):
        rows = cut(*blobs)
        model = WorstClassBooster(network(), 0.5, n_rounds=1, extend=False, random_state=0)
        selection = select_theta(model, *rows, candidates=[0.2, 0.4, 0.6, 0.8], full=True)
        assert selection.epochs == max(record.epochs for record in selection.candidates)

    def test_a_warm_start_depends_on_the_rounds_before_and_shares_nothing(self, blobs):
        rows, learner = cut(*blobs), network().set_params(start="warm")
        model = WorstClassBooster(learner, 0.5, n_rounds=3, random_state=0)
        selection = select_theta(model, *rows, candidates=[0.4, 0.6], full=True)
        assert selection.epochs == sum(record.epochs for record in selection.candidates)
        alone = fitted_quietly(learner, selection.theta, rows, n_rounds=3, random_state=0)
        assert [r.vote_correct for r in selection.booster.history_] == [r.vote_correct for r in alone.history_]

    def test_rows_are_read_and_bound_once_for_all_that_share(self, blobs, monkeypatch):
        bound = []
        for learner in (SklearnLearner, TorchLearner):
            bind = learner.bind
            monkeypatch.setattr(
                learner, "bind", lambda self, *given, bind=bind: bound.append(self) or bind(self, *given)
            )
        for learner, expected in ((TREE, 1), (network(), 1), (network().set_params(start="warm"), 3)):
            bound.clear()
            model = WorstClassBooster(learner, 0.5, n_rounds=1, extend=False, random_state=0)
            select_theta(model, *cut(*blobs), candidates=[0.3, 0.4, 0.5], full=True)
            assert len(bound) == expected

    def test_a_first_round_that_misses_its_edge_is_the_last(self, blobs):
        # two thetas that one split of a tree cannot reach: one bootstrap and one fit on all rows, shared by both
        model = WorstClassBooster(DecisionTreeClassifier(max_depth=1), 0.5, gamma=0.4, random_state=0)
        selection = select_theta(model, *cut(*blobs), candidates=[0.95, 0.99], full=True)
        assert [(record.rounds, record.epochs) for record in selection.candidates] == [(1, 2), (1, 2)]
        assert selection.epochs == 2

    def test_a_budget_of_passes_is_kept_by_every_candidate(self, blobs):
        model = WorstClassBooster(TREE, 0.5, n_rounds=9, max_epochs=7, random_state=0)
        selection = select_theta(model, *cut(*blobs), candidates=[0.3, 0.6, 0.9], full=True)
        assert max(record.epochs for record in selection.candidates) <= 7
        assert any("budget was spent" in record.why for record in selection.candidates)

    @pytest.mark.usefixtures("seconds_are_passes")
    def test_a_budget_of_time_is_for_every_candidate_alone(self):
        # 0.4 needs one pass a round, 0.6 two, so 7 seconds are enough for 7 rounds and for 3
        model = WorstClassBooster(
            Ticking([ROUND]), 0.5, gamma=0.1, n_rounds=9, extend=False, max_seconds=7, random_state=0
        )
        selection = select_theta(model, X, Y, X_VAL, Y_VAL, candidates=[0.4, 0.6], full=True)
        assert [(record.rounds, record.seconds) for record in selection.candidates] == [(7, 7), (3, 7)]
        assert all("budget was spent" in record.why for record in selection.candidates)

    @pytest.mark.usefixtures("seconds_are_passes")
    def test_the_time_of_a_round_that_was_dropped_is_given_back(self):
        # at 0.8 the first round looks stuck after 7 passes, and reaches its edge with the 12th
        model = WorstClassBooster(
            Ticking([LATE]), 0.5, gamma=0.1, n_rounds=1, max_seconds=13, patience=40, random_state=0
        )
        selection = select_theta(model, X, Y, X_VAL, Y_VAL, candidates=[0.4, 0.8], hopeless_after=5)
        assert (selection.theta, selection.chosen.rounds, selection.booster.bound_met_) == (0.8, 1, True)
        assert selection.chosen.seconds == 7 + 12


@pytest.fixture
def seconds_are_passes(monkeypatch):
    monkeypatch.setattr(Ticking, "now", 0)
    monkeypatch.setattr(budget, "time", SimpleNamespace(perf_counter=lambda: Ticking.now))


class Ticking(ScriptedLearner):
    """Plays its script; a pass takes a second of ``now``."""

    now = 0

    def bind(self, X, y, n_classes, seed):
        training = super().bind(X, y, n_classes, seed)
        play = training.train

        def train(sample_weight, stop, seed):
            def counted(done):
                Ticking.now += 1
                return stop(done)

            return play(sample_weight, counted, seed)

        training.train = train
        return training


def fitted_quietly(learner, theta, rows, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return WorstClassBooster(learner, theta, **options).fit(*rows)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("make", [lambda: TREE, network], ids=["trees", "network"])
def test_the_race_chooses_what_the_whole_grid_chooses_and_costs_less(blobs, make, seed):
    rows = cut(*blobs, seed=seed)
    model = WorstClassBooster(make(), 0.5, n_rounds=12, random_state=seed)
    raced, whole = select_theta(model, *rows), select_theta(model, *rows, full=True)
    assert raced.theta == whole.theta
    assert raced.epochs <= whole.epochs
    np.testing.assert_array_equal(raced.booster.predict(rows[2]), whole.booster.predict(rows[2]))


def test_the_same_seed_gives_the_same_search(blobs):
    def once():
        model = WorstClassBooster(network(), 0.5, n_rounds=4, random_state=5)
        values = select_theta(model, *blobs, candidates=[0.5, 0.8]).to_dict()
        for part in (values, *values["candidates"]):
            part.pop("seconds")
        return values

    assert once() == once()


def test_without_a_seed_all_candidates_still_share_one(blobs):
    model = WorstClassBooster(TREE, 0.5, n_rounds=2, random_state=None)
    selection = select_theta(model, *blobs, candidates=[0.4, 0.8], full=True)
    assert isinstance(selection.booster.random_state, int)
    assert selection.epochs < sum(record.epochs for record in selection.candidates)


class TestRows:
    def test_validation_rows_are_cut_off_every_class_and_train_nothing(self):
        y = np.repeat(["a", "b"], [40, 10])
        rows = separate(numbered_rows(50), y, None, None, val_share=0.2, seed=0)
        trained, chose = set(rows.X[:, 0]), set(rows.X_val[:, 0])
        assert not trained & chose
        assert trained | chose == set(range(50))
        assert [int((rows.y_val == label).sum()) for label in "ab"] == [8, 2]
        assert set(separate(numbered_rows(50), y, None, None, val_share=0.2, seed=1).X_val[:, 0]) != chose
        assert rows.origin == "10 validation rows, cut off the rows given for training"

    def test_the_learner_never_sees_a_row_that_chooses(self):
        y = np.repeat([0, 1, 2], 10)
        script = [[y]]
        model = WorstClassBooster(ScriptedLearner(script), 0.5, n_rounds=1, random_state=0)
        selection = select_theta(model, X, y, candidates=[0.5, 0.9], val_share=0.3)
        trained = selection.booster.learner_.training_.inputs.values[:, 0]
        expected = separate(X, y, None, None, val_share=0.3, seed=select_seed(0))
        assert sorted(trained) == sorted(expected.X[:, 0])
        assert len(trained) == selection.n_train == 21
        assert selection.chosen_by == "9 validation rows, cut off the rows given for training"

    @pytest.mark.parametrize(
        "options",
        [
            {"candidates": [0.5, 0.9]},
            {"way": "baseline", "baseline": 0.3},
            {"way": "best", "resolution": 0.3},
            {"way": "goal", "goal": 0.5},
            {"way": "goal", "goal": 0.999, "max_fits": 1},
        ],
        ids=["grid", "baseline", "best", "goal", "infeasible goal"],
    )
    @pytest.mark.parametrize("given", [True, False], ids=["validation rows given", "cut off"])
    def test_rows_that_chose_never_certify_not_even_after_a_trip_to_disk(self, blobs, tmp_path, given, options):
        X_train, y_train, X_val, y_val = cut(*blobs)
        data = (X_train, y_train, X_val, y_val) if given else blobs
        model = WorstClassBooster(DecisionTreeClassifier(max_depth=2), 0.5, n_rounds=2, random_state=0)
        selection = select_theta(model, *data, **options)
        save_model(selection.booster, tmp_path)
        for kept in (selection.booster, load_model(tmp_path)):
            for X, y in (blobs, (X_val, y_val), (X_train, y_train)):
                with pytest.raises(DataError, match=f"trained or validated on {len(y)} of the {len(y)} calibration"):
                    certify(kept, X, y)
            assert certify(kept, blobs[0] + 1e-3, blobs[1]).n_reused == 0  # other rows may

    def test_a_data_frame_with_labels_that_are_text(self, blobs):
        X, y = pd.DataFrame(blobs[0], columns=["p", "q"]), pd.Series(blobs[1], name="kind")
        model = WorstClassBooster(TREE, 0.5, n_rounds=3, random_state=0)
        framed = select_theta(model, X, y, way="goal", goal={"a": 0.9, "others": 0.8})
        plain = select_theta(model, *blobs, way="goal", goal={"a": 0.9, "others": 0.8})
        assert framed.booster.feature_names_in_.tolist() == ["p", "q"]
        np.testing.assert_array_equal(framed.booster.predict(X), plain.booster.predict(blobs[0]))

    def test_a_torch_data_set_is_cut_into_subsets(self, blobs):
        import torch

        labels = np.unique(blobs[1], return_inverse=True)[1]
        data = torch.utils.data.TensorDataset(torch.from_numpy(blobs[0]).float(), torch.from_numpy(labels))
        model = WorstClassBooster(network(), 0.5, n_rounds=2, random_state=0)
        selection = select_theta(model, data, candidates=[0.5, 0.8], val_share=0.2)
        assert selection.n_train == 72

    def test_a_class_without_a_validation_row_is_refused(self, blobs):
        X, y = blobs
        with pytest.raises(DataError, match=r"no validation row of the classes \['c'\].*Add rows"):
            select_theta(WorstClassBooster(TREE, 0.5), X, y, X[y != "c"], y[y != "c"])
        few = np.concatenate([np.flatnonzero(y == "a"), np.flatnonzero(y == "b")[:2]])
        with pytest.raises(DataError, match=r"no validation row of the classes \['b'\].*Raise val_share"):
            select_theta(WorstClassBooster(TREE, 0.5), X[few], y[few])

    def test_what_is_no_rows_at_all_is_refused(self, blobs):
        with pytest.raises(DataError, match=r"X must be rows.*Got NoneType"):
            select_theta(WorstClassBooster(TREE, 0.5), None, blobs[1])

    def test_half_a_validation_part_is_refused(self, blobs):
        with pytest.raises(DataError, match="go together"):
            select_theta(WorstClassBooster(TREE, 0.5), *blobs, X_val=blobs[0])


def select_seed(seed: int) -> int:
    from worstclass.randomness import SeedTree

    return SeedTree(seed).seed(1)


class TestBaseline:
    def test_candidates_start_at_the_accuracy_that_was_observed(self):
        assert thetas_above(0.309, 0.1) == [0.7, 0.8, 0.9]
        assert thetas_above(0.31, 0.1) == [0.69, 0.79, 0.89, 0.99]
        assert thetas_above(1.0, 0.5) == [0.0, 0.5]
        assert thetas_above(0.0, 0.1) == []

    def test_an_observed_error(self):
        selection = select([ROUND], way="baseline", baseline=0.42, step=0.2)
        assert [record.theta for record in selection.candidates] == [0.58, 0.78, 0.98]
        assert (selection.theta, selection.observed_error) == (0.58, 0.42)
        assert "baseline's worst-class validation error: 42.0%" in str(selection)

    def test_of_given_candidates_those_that_improve_on_it_are_left(self):
        selection = select([ROUND], way="baseline", baseline=0.42, candidates=[0.4, 0.6, 0.8])
        assert [record.theta for record in selection.candidates] == [0.6, 0.8]
        exact = select([ROUND], way="baseline", baseline=0.7, candidates=[0.2, 0.3])
        assert [record.theta for record in exact.candidates] == [0.3]  # although 1 - 0.7 is more than 0.3 in binary

    def test_a_baseline_that_cannot_read_the_rows_is_told_of(self, blobs):
        X = pd.DataFrame({"p": blobs[0][:, 0], "site": np.where(blobs[0][:, 1] > 0, "arm", "back")})
        pipeline = make_pipeline(OneHotEncoder(), DecisionTreeClassifier())
        with pytest.raises(ParameterError, match=r"'baseline'.*can read these rows.*could not convert string to float"):
            select_theta(WorstClassBooster(pipeline, 0.5), X, blobs[1], way="baseline", baseline=LogisticRegression())

    @pytest.mark.parametrize("fit_it", [True, False], ids=["fitted", "not fitted"])
    def test_a_classifier_is_measured_on_the_validation_rows(self, blobs, fit_it):
        rows = cut(*blobs)
        baseline = KNeighborsClassifier(15)
        error = worst_error(KNeighborsClassifier(15).fit(*rows[:2]), rows)
        if fit_it:
            baseline.fit(*rows[:2])
        model = WorstClassBooster(TREE, 0.5, n_rounds=3, random_state=0)
        selection = select_theta(model, *rows, way="baseline", baseline=baseline, step=0.1)
        assert selection.observed_error == pytest.approx(error)
        assert selection.candidates[0].theta >= 1 - error
        assert hasattr(baseline, "classes_") == fit_it  # one that is not fitted is copied

    def test_a_method_s_name_trains_the_same_network(self, blobs):
        model = WorstClassBooster(network(), 0.5, n_rounds=2, random_state=0)
        selection = select_theta(model, *cut(*blobs), way="baseline", baseline="ce", step=0.3)
        assert 0 <= selection.observed_error < 0.7

    def test_a_baseline_that_leaves_no_room_is_told_of(self, blobs):
        with pytest.raises(ParameterError, match="nothing left to improve on"):
            select_theta(WorstClassBooster(TREE, 0.5), *blobs, way="baseline", baseline=0.0)
        with pytest.raises(ParameterError, match="Give higher candidates"):
            select_theta(WorstClassBooster(TREE, 0.5), *blobs, way="baseline", baseline=0.1, candidates=[0.5])


def worst_error(model, rows):
    from worstclass import worst_class_error

    return worst_class_error(rows[3], model.predict(rows[2]))


class TestGoal:
    def test_a_goal_that_is_met(self):
        selection = select([ROUND], way="goal", goal=0.8)
        assert (selection.theta, selection.met, selection.nearest) == (0.8, True, None)
        assert selection.booster.bound_met_
        assert selection.chosen.status == "feasible"

    def test_the_members_are_those_of_a_plain_fit_at_the_goal(self, blobs):
        rows, goal = cut(*blobs), {"a": 0.9, "others": 0.7}
        model = WorstClassBooster(TREE, 0.5, n_rounds=5, random_state=3)
        history = select_theta(model, *rows, way="goal", goal=goal).booster.history_
        alone = fitted_quietly(TREE, goal, rows, n_rounds=5, random_state=3)
        assert [record.member_correct for record in history] == [record.member_correct for record in alone.history_]

    def test_floors_by_class(self):
        selection = select([[answers([9, 5, 5], [10] * 3)]], way="goal", goal={0: 0.8, "others": 0.4})
        assert selection.met
        assert selection.booster.theta_ == (0.8, 0.4, 0.4)
        assert json.loads(json.dumps(selection.to_dict()))["theta"] == {"0": 0.8, "others": 0.4}

    def test_an_infeasible_goal_names_what_blocks_it_and_the_nearest_floors(self):
        # class 0 never has more than 5 of 10 right, which meets floors strictly below 0.5
        hard = [answers([5, 9, 9], [10] * 3)]
        selection = select([hard], way="goal", goal=0.6)
        nearest = selection.nearest
        assert not selection.met
        assert selection.theta == nearest.floors == {0: 0.49, 1: 0.6, 2: 0.6}
        (blocked,) = nearest.blocking
        assert (blocked.label, blocked.asked, blocked.accuracy, blocked.floor) == (0, 0.6, 0.5, 0.49)
        assert blocked.rows_short == 2  # 7 of 10 are strictly above 0.6
        assert blocked.lowered_by == pytest.approx(0.11)
        assert selection.booster.bound_met_
        assert selection.booster.theta == nearest.floors
        # half way: 0.54, 0.51, 0.50, none of which the vote can meet
        assert nearest.n_fits == 3
        tried = [record.theta[0] for record in selection.candidates[1:]]
        assert tried == [0.54, 0.51, 0.5]
        assert "0: floor 60.0%, reached 50.0%, 2 rows short" in str(selection)
        assert "Nearest feasible floors: 0 0.49 (lowered by 0.11)" in str(selection)

    def test_the_round_that_missed_its_edge_is_told_of(self):
        hard = [answers([5, 5, 9], [10] * 3)]
        selection = select([hard], way="goal", goal=0.6, max_fits=0)
        assert {row.label: row.edge_accuracy for row in selection.nearest.blocking} == {0: 0.5, 1: 0.5}
        assert selection.nearest.n_fits == 0
        assert selection.nearest.floors == {0: 0.49, 1: 0.49, 2: 0.6}

    def test_refits_can_raise_the_floors_again(self):
        # class 0 has 4 rows right in round 1 and 5 in the others. At 0.6 round 2, which needs it, fails, and 4 of 10
        # are what is seen; at 0.49 all rounds reach their edge, and the vote has 5 right
        script = [[answers([4, 9, 9], [10] * 3)], [answers([5, 9, 9], [10] * 3)]]
        selection = select(script, own={"n_rounds": 3}, way="goal", goal=0.6)
        assert selection.nearest.blocking[0].accuracy == 0.4
        assert [record.theta[0] for record in selection.candidates[1:]] == [0.49, 0.54, 0.51, 0.5]
        assert [record.status for record in selection.candidates[1:]] == ["feasible", *["infeasible"] * 3]
        assert selection.theta == {0: 0.49, 1: 0.6, 2: 0.6}
        assert selection.booster.training_report_.worst_error == 0.5

    def test_a_prefix_that_meets_the_goal_is_preferred_to_one_that_validates_better(self):
        script = [[answers([9, 9, 6], [20] * 3)], [answers([9] * 3, [10] * 3)], [answers([9] * 3, [10] * 3)]]
        own = {"n_rounds": 3}
        plain = fitted_quietly(ScriptedLearner(script), 0.7, (X, Y, X_VAL, Y_VAL), gamma=0.1, n_rounds=3, extend=False)
        assert (plain.n_members_used_, plain.bound_met_) == (2, False)
        selection = select(script, own=own, way="goal", goal=0.7)
        assert selection.met
        assert (selection.booster.n_members_used_, selection.booster.bound_met_) == (3, True)
        # what is told of the candidate is told of that vote
        assert (selection.chosen.members_used, selection.chosen.bound_met) == (3, True)
        assert selection.chosen.worst_error == selection.booster.validation_report_.worst_error == 0.5

    def test_a_prefix_that_meets_the_goal_is_kept_when_a_later_one_validates_better(self):
        # the members of rounds 2 and 3 outvote the first, and have 6 of 10 rows of class 2 right; in round 4 it blocks
        script = [[answers([9] * 3, [10] * 3)], [answers([9, 9, 6], [20] * 3)]]
        selection = select(script, own={"n_rounds": 50, "gamma": 0.05}, way="goal", goal=0.7)
        assert len(selection.booster.estimators_) == 3
        assert (selection.met, selection.booster.n_members_used_) == (True, 2)
        assert selection.chosen.worst_error == 0.5


class TestNearestFloors:
    hard = ScriptedLearner([[answers([5, 9, 9], [10] * 3)]])

    def test_a_plain_fit_names_what_blocks_its_floors_by_how_much_and_the_way_here(self):
        model = WorstClassBooster(self.hard, {0: 0.6, "others": 0.8}, gamma=0.1, n_rounds=1, extend=False)
        with pytest.warns(UnmetBoundWarning) as caught:
            model.fit(X, Y)
        (message,) = [str(warning.message) for warning in caught]
        assert "for 0 (error 50.0%, must be below 40.0%, 2 of 10 rows short)" in message
        assert "worstclass.nearest_feasible_floors (worstclass theta --way goal)" in message
        assert nearest_feasible_floors(model).floors == {0: 0.49, 1: 0.8, 2: 0.8}

    def test_so_does_the_error_of_a_round_that_cannot_reach_its_edge(self):
        model = WorstClassBooster(self.hard, {0: 0.6, "others": 0.95}, gamma=0.1, on_unmet_edge="raise")
        match = r"Classes below their floor: 0 \(error 50.0%, allowed 40.0%\).*nearest_feasible_floors"
        with pytest.raises(WeakLearningError, match=match):
            model.fit(X, Y)

    def test_of_a_booster_without_refits(self):
        model = fitted_quietly(self.hard, 0.6, (X, Y), gamma=0.1, n_rounds=2)
        nearest = nearest_feasible_floors(model)
        assert nearest.floors == {0: 0.49, 1: 0.6, 2: 0.6}
        assert nearest.booster.bound_met_
        assert not model.bound_met_  # the one given is left as it is
        assert model.theta == 0.6

    def test_of_the_error_that_carries_a_booster(self):
        model = WorstClassBooster(
            ScriptedLearner([[answers([5, 5, 9], [10] * 3)]]), 0.6, gamma=0.1, on_unmet_edge="raise"
        )
        with pytest.raises(WeakLearningError) as caught:
            model.fit(X, Y)
        nearest = nearest_feasible_floors(caught.value, X, Y)
        assert [row.label for row in nearest.blocking] == [0, 1]
        assert nearest.n_fits > 0

    def test_of_a_selection(self):
        selection = select([[answers([5, 9, 9], [10] * 3)]], way="goal", goal=0.6)
        assert nearest_feasible_floors(selection).met  # the booster there is at the nearest floors already

    def test_floors_that_are_met_are_left(self):
        model = fitted_quietly(self.hard, 0.4, (X, Y), gamma=0.1, n_rounds=2)
        nearest = nearest_feasible_floors(model, X, Y)
        assert nearest.met
        assert nearest.floors == {0: 0.4, 1: 0.4, 2: 0.4}
        assert nearest.n_fits == 0
        assert str(nearest) == "The floors asked for are met on the training rows."

    def test_a_class_without_a_right_row_has_no_floor(self):
        model = fitted_quietly(ScriptedLearner([[answers([0, 9, 9], [10] * 3)]]), 0.6, (X, Y), gamma=0.1, n_rounds=2)
        nearest = nearest_feasible_floors(model, X, Y)
        assert nearest.booster is None
        assert not nearest.to_dict()["found"]
        assert "No feasible floors were found" in str(nearest)

    def test_all_floors_come_down_where_a_class_has_no_right_row_at_all(self, blobs):
        # a and c lie one above the other, so with the first column alone one of them takes all
        X, y = blobs[0][:, :1], blobs[1]
        model = fitted_quietly(DecisionTreeClassifier(max_depth=2), 0.995, (X, y), random_state=0)
        assert model.training_report_.worst_error == 1
        nearest = nearest_feasible_floors(model, X, y, resolution=0.05, max_fits=5)
        assert nearest.booster.bound_met_
        assert min(nearest.floors.values()) > 0
        assert nearest.floors["a"] < 0.995
        assert nearest.n_fits <= 5
        np.testing.assert_array_equal(nearest.booster.theta_, list(nearest.floors.values()))

    def test_half_way_is_to_what_was_asked_where_others_were_to_blame(self):
        # the first class is above the floor that was missed with others, so that says nothing of it
        percent = [[Fraction(n, 100) for n in row] for row in ([70, 95, 70], [63, 92, 70], [61, 94, 70])]
        asked, reached, missed = percent
        trial = Witness(None, asked, tuple(reached)).towards(missed, Fraction(1, 100))
        assert [int(100 * floor) for floor in trial] == [66, 93, 70]

    @pytest.mark.parametrize(
        ("given", "options", "match"),
        [
            (WorstClassBooster(TREE, 0.5), {}, "fitted"),
            ("booster", {}, "fitted"),
            (None, {"resolution": 0}, "resolution"),
            (None, {"max_fits": -1}, "max_fits"),
        ],
    )
    def test_bad_input(self, given, options, match):
        model = fitted_quietly(self.hard, 0.6, (X, Y), gamma=0.1, n_rounds=2) if given is None else given
        with pytest.raises(ParameterError, match=match):
            nearest_feasible_floors(model, **options)


class TestBest:
    @pytest.mark.filterwarnings("ignore::worstclass.exceptions.ReusedRowsWarning")
    def test_bisection_finds_the_largest_feasible_theta(self):
        # 13 of 20 right: floors strictly below 0.65 are met
        y = np.repeat([0, 1, 2], 20)
        given = (y + 1) % 3
        given[[*range(13), *range(20, 33), *range(40, 53)]] = y[[*range(13), *range(20, 33), *range(40, 53)]]
        model = WorstClassBooster(ScriptedLearner([[given]]), 0.5, n_rounds=2, random_state=0)
        rows = numbered_rows(60)
        told = []
        selection = select_theta(model, rows, y, rows, y, way="best", resolution=0.05, progress=told.append)
        assert [event.record.theta for event in told] == [0.5, 0.75, 0.6, 0.65]
        assert [record.status for record in selection.candidates] == [
            "feasible",
            "feasible",
            "infeasible",
            "infeasible",
        ]
        assert (selection.theta, selection.met) == (0.6, True)
        assert selection.booster.bound_met_

    def test_a_feasible_theta_that_costs_validation_error_is_not_taken(self):
        # at 0.6 the validation error is 4 of 20 (standard error 9%), at 0.9 it is 8 of 20
        selection = select([[ROUND[1], answers([10] * 3, [12] * 3)]], way="best", resolution=0.3)
        assert [record.theta for record in selection.candidates] == [0.6, 0.9]
        assert [record.status for record in selection.candidates] == ["feasible", "feasible"]
        assert selection.theta == 0.6

    def test_within_a_standard_error_the_larger_theta_is_taken(self):
        assert select([[ROUND[1], answers([10] * 3, [15] * 3)]], way="best", resolution=0.3).theta == 0.9

    def test_where_nothing_is_feasible_it_says_so(self):
        none = [answers([0, 9, 9], [10] * 3)]
        selection = select([none], way="best", resolution=0.3)
        assert not selection.met
        assert selection.theta == 0.3
        assert all(record.status == "infeasible" for record in selection.candidates)

    def test_a_stuck_round_of_a_vote_that_meets_its_floor_gets_its_whole_patience(self):
        # round 1 meets 0.6 and 0.9; in round 2 no class reaches 0.9 before pass 12
        good, low = answers([10] * 3, [16] * 3), answers([7] * 3, [16] * 3)
        script = [[good], [low] * 11 + [good], [good]]
        selection = select(script, way="best", resolution=0.3, own={"patience": 40}, hopeless_after=5)
        assert [record.status for record in selection.candidates] == ["feasible", "feasible"]
        assert selection.theta == 0.9

    def test_a_theta_at_which_the_network_breaks_down_is_infeasible(self):
        model = WorstClassBooster(BreaksDown([[ROUND[1], None]]), 0.5, gamma=0.1, n_rounds=2, random_state=0)
        selection = select_theta(model, X, Y, X_VAL, Y_VAL, way="best", resolution=0.3)
        assert [record.status for record in selection.candidates] == ["feasible", "abandoned"]
        assert "NaN" in selection.candidates[1].why
        assert selection.theta == 0.6

    @pytest.mark.parametrize("options", [{"way": "best", "resolution": 0.3}, {"way": "goal", "goal": 0.5}])
    def test_a_network_that_always_breaks_down_is_told_of(self, options):
        model = WorstClassBooster(BreaksDown([[None]]), 0.5, gamma=0.1, n_rounds=2, random_state=0)
        with pytest.raises(ModuleError, match="NaN"):
            select_theta(model, X, Y, X_VAL, Y_VAL, **options)

    def test_a_stuck_round_counts_as_infeasible(self):
        never = [ROUND[1], *[ROUND[0]] * 50]
        selection = select([never], way="best", resolution=0.3, own={"patience": 40}, hopeless_after=5)
        assert [record.status for record in selection.candidates] == ["feasible", "abandoned"]
        assert selection.candidates[1].epochs == 6
        assert selection.theta == 0.6


def test_a_round_that_misses_its_edge_leaves_a_record_on_the_booster():
    model = fitted_quietly(ScriptedLearner([ROUND, [answers([5, 4, 9], [10] * 3)]]), 0.6, (X, Y), gamma=0.1)
    assert model.unmet_edge_.round == 2
    assert (model.unmet_edge_.best_edge, model.unmet_edge_.needed_edge) == (pytest.approx(1 / 3), pytest.approx(0.6))
    assert [(row.label, row.correct, row.total, row.floor) for row in model.unmet_edge_.blocking] == [
        (0, 5, 10, 0.6),
        (1, 4, 10, 0.6),
    ]
    model.learner.script = [ROUND]
    assert fitted_quietly(model.learner, 0.6, (X, Y), gamma=0.1, n_rounds=1).unmet_edge_ is None


def test_news_come_of_every_candidate():
    told = []
    close = [answers([5] * 3, [10] * 3), *ROUND[1:]]
    select([close], candidates=THETAS, progress=told.append, **LONG)
    assert [event.record.theta for event in told if event.kind == "ended"] == [0.8, 0.6, 0.4]
    leading = [event for event in told if event.kind == "leading"]
    assert [event.record.rounds for event in leading] == [2, 4, 6, 8, 10, 12, 14, 16]
    assert all(event.record.theta == 0.6 for event in leading)
    assert [event.epochs for event in leading] == [12 * n for n in range(1, 9)]


class NeverFitted(LogisticRegression):
    def fit(self, X, y):
        raise AssertionError("nothing is to be trained")


GOOD = {"booster": WorstClassBooster(NeverFitted(), 0.5)}


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"booster": DecisionTreeClassifier()}, ParameterError, "a WorstClassBooster"),
        ({"way": "gird"}, UnknownNameError, "Did you mean 'grid'?"),
        ({"select_on": "wurst"}, UnknownNameError, "Did you mean 'worst'?"),
        ({"candidates": []}, ParameterError, "at least one"),
        ({"candidates": [0.5, 1.0]}, ParameterError, r"\[0, 1\)"),
        ({"candidates": [0.5, -0.1]}, ParameterError, r"\[0, 1\)"),
        ({"candidates": ["a"]}, ParameterError, r"\[0, 1\)"),
        ({"candidates": [0.5], "way": "best"}, ParameterError, "'candidates'.*left out for the other ways"),
        ({"way": "goal"}, ParameterError, "'goal'.*given for way='goal'"),
        ({"goal": 0.8}, ParameterError, "'goal'.*left out for the other ways"),
        ({"way": "goal", "goal": {"a": 0.8}}, ParameterError, "without one"),
        ({"way": "goal", "goal": {"x": 0.8, "others": 0.5}}, UnknownNameError, "'x'"),
        ({"way": "goal", "goal": 1.2}, ParameterError, r"\[0, 1\)"),
        ({"way": "baseline"}, ParameterError, "'baseline'.*given for way='baseline'"),
        ({"way": "baseline", "baseline": object()}, ParameterError, "'baseline'.*a classifier, a method's name"),
        ({"way": "baseline", "baseline": LogisticRegression}, ParameterError, "'baseline'.*a classifier"),
        ({"way": "baseline", "baseline": 1.3}, ParameterError, r"in \[0, 1\]"),
        ({"way": "baseline", "baseline": "foccal"}, UnknownNameError, "Did you mean 'focal'?"),
        ({"way": "baseline", "baseline": "ours"}, ParameterError, "no theta itself"),
        ({"way": "baseline", "baseline": 0.3, "step": 0}, ParameterError, "'step'"),
        ({"way": "baseline", "baseline": NeverFitted(), "step": 2}, ParameterError, "'step'"),
        ({"way": "best", "resolution": 2}, ParameterError, "'resolution'"),
        ({"way": "goal", "goal": 0.5, "max_fits": -1}, ParameterError, "'max_fits'"),
        ({"val_share": 0}, ParameterError, "'val_share'"),
        ({"val_share": 1.0}, ParameterError, "'val_share'"),
        ({"cost_limit": 0.5}, ParameterError, "'cost_limit'"),
        ({"hopeless_after": 0}, ParameterError, "'hopeless_after'"),
        ({"hopeless_after": "never"}, ParameterError, "'hopeless_after'"),
        ({"random_state": "x"}, ParameterError, "'random_state'"),
    ],
)
def test_bad_input_is_refused_before_anything_is_trained(blobs, options, error, match):
    given = {**GOOD, **options}
    with pytest.raises(error, match=match):
        select_theta(given.pop("booster"), *blobs, **given)


class Breaks(ScriptedLearner):
    """Plays its script, and raises ``error`` before a pass of which the script says None."""

    error: BaseException

    def bind(self, X, y, n_classes, seed):
        training = super().bind(X, y, n_classes, seed)
        play = training.train

        def train(sample_weight, stop, seed):
            passes = self.script[min(len(training.sample_weights), len(self.script) - 1)]
            made = []

            def counted(done):
                made.append(done)
                verdict = stop(done)
                ends = verdict in (Verdict.DONE, Verdict.GIVE_UP)
                if not ends and len(made) < len(passes) and passes[len(made)] is None:
                    raise self.error
                return verdict

            if passes[0] is None:
                raise self.error
            return play(sample_weight, counted, seed)

        training.train = train
        return training


class BreaksDown(Breaks):
    error = ModuleError("The module returned NaN or infinite logits.")


class Interrupted(Breaks):
    error = KeyboardInterrupt()


class TestInterrupts:
    """The user's Ctrl-C in the middle of a search."""

    def test_the_best_so_far_is_kept_with_its_finished_rounds(self):
        # two rounds are finished; the third is interrupted while 0.8, which goes first, makes its second pass
        model = WorstClassBooster(Interrupted([ROUND, ROUND, [ROUND[0], None]]), 0.5, gamma=0.1, n_rounds=9)
        model.set_params(random_state=0, on_unmet_edge="raise")
        with pytest.raises(SelectionInterrupted) as caught:
            select_theta(model, X, Y, X_VAL, Y_VAL, candidates=THETAS)
        selection = caught.value.selection
        assert isinstance(caught.value, KeyboardInterrupt)
        assert (selection.theta, selection.met, selection.interrupted) == (0.6, False, True)
        assert [(record.status, record.rounds) for record in selection.candidates] == [("running", 2)] * 3
        assert (len(selection.booster.estimators_), selection.booster.on_unmet_edge) == (2, "raise")
        np.testing.assert_array_equal(selection.booster.predict(X_VAL), ROUND[1][30:])
        assert "INTERRUPTED" in str(selection)
        assert json.loads(json.dumps(selection.to_dict()))["interrupted"]
        assert not hasattr(model, "estimators_")

    def test_before_the_first_round_is_finished_nothing_is_kept(self):
        model = WorstClassBooster(Interrupted([[ROUND[0], None]]), 0.5, gamma=0.1, n_rounds=9, random_state=0)
        with pytest.raises(KeyboardInterrupt) as caught:
            select_theta(model, X, Y, X_VAL, Y_VAL, candidates=[0.6, 0.8])
        assert not isinstance(caught.value, SelectionInterrupted)
        assert not hasattr(model, "estimators_")

    def test_of_a_goal_its_own_fit_is_kept(self):
        # the vote of the first round meets the goal, and the one that validates better does not
        script = [[answers([9] * 3, [15] * 3)], [answers([9, 9, 6], [20] * 3)], [None]]
        model = WorstClassBooster(Interrupted(script), 0.5, gamma=0.1, n_rounds=9, random_state=0)
        with pytest.raises(SelectionInterrupted) as caught:
            select_theta(model, X, Y, X_VAL, Y_VAL, way="goal", goal=0.7)
        selection = caught.value.selection
        assert (selection.theta, selection.booster.n_rounds_) == (0.7, 9)
        assert len(selection.booster.estimators_) == 2
        assert selection.booster.bound_met_

    def test_of_a_goal_its_own_fit_is_kept_when_a_refit_is_interrupted(self):
        # at 0.6 class 0 blocks round 2; at 0.49 it does not, and round 3 is interrupted
        script = [[answers([4, 9, 9], [10] * 3)], [answers([5, 9, 9], [10] * 3)], [None]]
        model = WorstClassBooster(Interrupted(script), 0.5, gamma=0.1, n_rounds=4, random_state=0)
        with pytest.raises(SelectionInterrupted) as caught:
            select_theta(model, X, Y, X_VAL, Y_VAL, way="goal", goal=0.6)
        selection = caught.value.selection
        assert (selection.theta, len(selection.booster.estimators_)) == (0.6, 1)
        assert [(record.status, record.rounds) for record in selection.candidates] == [
            ("infeasible", 1),
            ("running", 2),
        ]

    def test_of_a_bisection_the_largest_theta_found_so_far_is_kept(self):
        # 0.6 is feasible; 0.9, which the vote does not exceed after a round, is interrupted in its second
        script = [[ROUND[1], ROUND[2]], [ROUND[1], None]]
        model = WorstClassBooster(Interrupted(script), 0.5, gamma=0.1, n_rounds=2, random_state=0)
        with pytest.raises(SelectionInterrupted) as caught:
            select_theta(model, X, Y, X_VAL, Y_VAL, way="best", resolution=0.3)
        selection = caught.value.selection
        assert (selection.theta, selection.booster.bound_met_) == (0.6, True)
        assert [record.status for record in selection.candidates] == ["feasible", "running"]


def test_a_network_that_breaks_down_at_once_is_told_of():
    model = WorstClassBooster(BreaksDown([[None]]), 0.5, n_rounds=2, random_state=0)
    with pytest.raises(ModuleError, match="NaN"):
        select_theta(model, X, Y, X_VAL, Y_VAL, candidates=[0.4, 0.8])


def test_a_network_that_breaks_down_later_keeps_its_rounds():
    model = WorstClassBooster(BreaksDown([[ROUND[2]], [None]]), 0.5, gamma=0.1, n_rounds=2, random_state=0)
    selection = select_theta(model, X, Y, X_VAL, Y_VAL, candidates=[0.4, 0.8])
    assert [record.rounds for record in selection.candidates] == [1, 1]
    assert all("round 2" in record.why for record in selection.candidates)


def test_a_shared_network_that_breaks_down_harms_only_those_who_still_trained_it(blobs, monkeypatch):
    original = SklearnTraining.train

    def breaks_down_in_pass_3(self, sample_weight, stop, seed):
        made = []

        def counting(done):
            made.append(done)
            if len(made) == 3:
                raise ModuleError("The module returned NaN or infinite logits.")
            return stop(done)

        return original(self, sample_weight, counting, seed)

    monkeypatch.setattr(SklearnTraining, "train", breaks_down_in_pass_3)
    model = WorstClassBooster(TREE, 0.5, gamma=0.45, n_rounds=2, extend=False, random_state=0)
    selection = select_theta(model, *cut(*blobs), candidates=[0.3, 0.4, 0.999], full=True)
    assert [record.status for record in selection.candidates] == ["feasible", "feasible", "abandoned"]
    assert "NaN" in selection.candidates[2].why


def test_training_rows_that_choose_are_told_of_and_a_copy_or_two_is_not(blobs):
    X, y = blobs
    model = WorstClassBooster(DecisionTreeClassifier(max_depth=2), 0.5, n_rounds=3, random_state=0)
    with pytest.warns(ReusedRowsWarning, match="90 of the 90 validation rows are training rows too"):
        select_theta(model, X, y, X, y, candidates=(0.3,))
    kept = np.r_[0:60, 60, 61]
    select_theta(model, X[kept], y[kept], X[60:], y[60:], candidates=(0.3,))  # 2 of 30; warnings are errors


def test_nearest_floors_are_found_on_the_rows_of_the_fit(blobs):
    X, y = blobs
    model = WorstClassBooster(DecisionTreeClassifier(max_depth=2), 0.5, n_rounds=3, random_state=0).fit(X, y)
    with pytest.raises(DataError, match=r"the rows that the booster was fitted on.*\[40, 30, 20\]"):
        nearest_feasible_floors(model, X[:50], y[:50])


def test_a_selection_that_cut_its_own_rows_can_be_asked_for_the_nearest_floors(blobs):
    X, y = blobs
    model = WorstClassBooster(DecisionTreeClassifier(max_depth=1), 0.5, n_rounds=3, random_state=0)
    selection = select_theta(model, X, y, way="goal", goal=0.99, max_fits=0)
    assert not selection.met
    assert nearest_feasible_floors(selection, X, y, max_fits=1).n_fits == 1
