"""How theta is chosen: searches worked by hand, plain fits, parallel fits, infeasible floors, no leaks."""

from __future__ import annotations

import json
import warnings
from fractions import Fraction

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted import ScriptedLearner, numbered_rows
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from worstclass import (
    Callback,
    SklearnLearner,
    ThetaSelection,
    TorchLearner,
    WorstClassBooster,
    certify,
    load_model,
    nearest_feasible_floors,
    save_model,
    select_theta,
    worst_class_error,
)
from worstclass.data.splits import make_splits
from worstclass.exceptions import (
    DataError,
    ModuleError,
    ParameterError,
    SelectionInterrupted,
    UnknownNameError,
    UnmetBoundWarning,
)
from worstclass.learners.base import Verdict

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


# one round: epoch 1 has 5 rows of every class right, epoch 2 has 7, epoch 3 has 9. Theta 0.4 stops at epoch 1, 0.6 at
# epoch 2, 0.8 at epoch 3; epoch 2 is the best on the validation rows.
ROUND = [answers([5] * 3, [9] * 3), answers([7] * 3, [16] * 3), answers([9] * 3, [12] * 3)]
THETAS = [0.4, 0.6, 0.8]

TREE = SklearnLearner(DecisionTreeClassifier(min_samples_leaf=2))


def network():
    return TorchLearner("mlp", module_options={"hidden": (8,)}, lr=0.02)


def cut(X, y, seed=0):
    parts = make_splits(X, y, val=0.3, test=0.0, seed=seed)
    return parts.train.X, parts.train.y, parts.val.X, parts.val.y


def fitted_quietly(learner, theta, rows, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return WorstClassBooster(learner, theta, **options).fit(*rows)


class TestGridByHand:
    def test_the_least_worst_class_validation_error_is_chosen(self):
        selection = select([ROUND], candidates=THETAS)
        assert isinstance(selection, ThetaSelection)
        assert (selection.theta, selection.met) == (0.6, True)
        assert [record.epochs for record in selection.candidates] == [2, 4, 6]
        assert [record.rounds for record in selection.candidates] == [2, 2, 2]
        assert [record.worst_error for record in selection.candidates] == [11 / 20, 4 / 20, 8 / 20]
        assert all(record.status == "feasible" and record.bound_met for record in selection.candidates)
        assert selection.epochs == 12

    def test_the_booster_is_fitted_at_it_and_keeps_its_parameters(self):
        own = {"patience": 77, "random_state": 7}
        selection = select([ROUND], own=own, candidates=THETAS)
        model = selection.booster
        assert (model.theta, model.random_state, model.patience) == (0.6, 7, 77)
        assert model.bound_met_
        assert model.validation_report_.worst_error == 4 / 20
        assert model.n_epochs_ == 4
        np.testing.assert_array_equal(model.predict(X_VAL), ROUND[1][30:])

    def test_the_user_s_booster_is_left_as_it_is(self):
        model = booster([ROUND])
        select_theta(model, X, Y, X_VAL, Y_VAL, candidates=THETAS)
        assert model.theta == 0.5
        assert not hasattr(model, "estimators_")

    def test_callbacks_are_not_called_and_are_kept(self):
        class Loud(Callback):
            def on_fit_start(self, booster, plan):
                raise AssertionError("the search calls no callback")

        loud = [Loud()]
        assert select([ROUND], own={"callbacks": loud}, candidates=[0.4]).booster.callbacks is loud

    def test_between_equals_the_plain_error_decides(self):
        tie = [answers([5] * 3, [10, 10, 10]), answers([7] * 3, [10, 20, 20]), answers([9] * 3, [10, 19, 20])]
        assert select([tie], candidates=THETAS).theta == 0.6

    def test_then_the_larger_theta(self):
        same = [answers([5] * 3, [10] * 3), answers([7] * 3, [10] * 3), answers([9] * 3, [10] * 3)]
        assert select([same], candidates=THETAS).theta == 0.8

    def test_of_equal_errors_a_vote_that_meets_its_floor_wins(self):
        # no epoch has 8 of 10 rows right, so 0.8 ends with the member that 0.6 is content with
        selection = select([[answers([7] * 3, [10] * 3)]], candidates=[0.6, 0.8])
        assert [record.status for record in selection.candidates] == ["feasible", "infeasible"]
        assert [record.worst_error for record in selection.candidates] == [0.5, 0.5]
        assert selection.theta == 0.6
        assert selection.candidates[1].why == "ended in round 1: its edge was out of reach"

    def test_an_infeasible_theta_may_have_the_least_error(self):
        selection = select([[answers([5] * 3, [8] * 3), answers([7] * 3, [16] * 3)]], candidates=[0.4, 0.8])
        assert (selection.theta, selection.met, selection.booster.bound_met_) == (0.8, True, False)
        assert "the vote MISSES it" in str(selection)

    def test_the_average_may_choose_instead(self):
        apart = [answers([5] * 3, [9, 20, 20]), answers([7] * 3, [10] * 3), answers([9] * 3, [8, 10, 10])]
        assert select([apart], candidates=THETAS).theta == 0.6
        assert select([apart], candidates=THETAS, own={"select_on": "average"}).theta == 0.4

    def test_candidates_need_no_order_and_count_once(self):
        selection = select([ROUND], candidates=[0.8, 0.4, 0.6, 0.4])
        assert [record.theta for record in selection.candidates] == THETAS

    def test_the_resolution_of_a_grid(self):
        assert [record.theta for record in select([ROUND], resolution=0.25).candidates] == [0.25, 0.5, 0.75]

    def test_nine_thetas_are_the_default(self):
        selection = select([ROUND])
        assert [record.theta for record in selection.candidates] == [n / 10 for n in range(1, 10)]
        assert selection.theta == 0.6

    def test_the_text_and_the_record_for_files_say_the_same(self):
        selection = select([ROUND], candidates=THETAS)
        assert str(selection).splitlines() == [
            "  theta  status     rounds   epochs    worst  all rows  bound",
            "  0.4    feasible      2/2        2    55.0%     55.0%  met",
            "* 0.6    feasible      2/2        4    20.0%     20.0%  met",
            "  0.8    feasible      2/2        6    40.0%     40.0%  met",
            "",
            "theta 0.6: worst-class validation error 20.0% (0), all rows 20.0%; the vote meets it on the training rows",
            "12 epochs in all. Chosen by 60 validation rows. These rows chose; a certificate must rest on others.",
        ]
        values = json.loads(json.dumps(selection.to_dict()))
        assert (values["theta"], values["way"], values["epochs"], values["select_on"]) == (0.6, "grid", 12, "worst")
        assert values["validation"]["worst_error"] == 0.2
        assert values["chosen_by"] == "60 validation rows"
        assert [record["epochs"] for record in values["candidates"]] == [2, 4, 6]
        assert not values["interrupted"]
        assert not values["equal_rows_allowed"]

    def test_progress_gets_the_record_of_every_fit_the_largest_theta_first(self):
        seen = []
        selection = select([ROUND], candidates=THETAS, progress=seen.append)
        assert [record.theta for record in seen] == [0.8, 0.6, 0.4]
        assert sorted(seen, key=lambda record: record.theta) == list(selection.candidates)


def without_seconds(selection: ThetaSelection) -> dict:
    values = selection.to_dict()
    for part in (values, *values["candidates"]):
        part.pop("seconds")
    return values


class TestPlainFits:
    @pytest.mark.parametrize("make", [lambda: TREE, network], ids=["trees", "network"])
    def test_every_candidate_is_a_plain_fit(self, blobs, make):
        rows, thetas = cut(*blobs), [0.5, 0.7, 0.9]
        model = WorstClassBooster(make(), 0.5, n_rounds=4, random_state=3)
        selection = select_theta(model, *rows, candidates=thetas)
        alone = [fitted_quietly(make(), theta, rows, n_rounds=4, random_state=3) for theta in thetas]
        for record, fit in zip(selection.candidates, alone, strict=True):
            assert (record.epochs, record.rounds) == (fit.n_epochs_, len(fit.estimators_))
            assert record.worst_error == fit.validation_report_.worst_error
            assert record.bound_met == fit.bound_met_
        chosen = alone[thetas.index(selection.theta)]
        assert [r.member_correct for r in selection.booster.history_] == [r.member_correct for r in chosen.history_]
        np.testing.assert_array_equal(selection.booster.predict(rows[2]), chosen.predict(rows[2]))

    @pytest.mark.parametrize("backend", ["loky", "threading"])
    def test_workers_do_not_change_the_result(self, blobs, backend):
        # threads would share the global generators, and are not used
        for learner in (TREE, network()):
            model = WorstClassBooster(learner, 0.5, n_rounds=3, random_state=5)
            alone = select_theta(model, *blobs, candidates=[0.5, 0.7, 0.9])
            with joblib.parallel_config(backend, n_jobs=2):
                together = select_theta(model, *blobs, candidates=[0.5, 0.7, 0.9])
            assert without_seconds(together) == without_seconds(alone)
            np.testing.assert_array_equal(together.booster.predict(blobs[0]), alone.booster.predict(blobs[0]))
            assert without_seconds(
                select_theta(model, *blobs, candidates=[0.5, 0.7, 0.9], n_jobs=2)
            ) == without_seconds(alone)

    def test_the_same_seed_gives_the_same_search(self, blobs):
        def once(seed):
            model = WorstClassBooster(TREE, 0.5, n_rounds=3, random_state=np.random.RandomState(seed))
            return without_seconds(select_theta(model, *blobs, candidates=[0.5, 0.8]))

        assert once(5) == once(5)
        assert once(5) != once(6)

    def test_a_budget_holds_for_every_fit(self, blobs):
        model = WorstClassBooster(TREE, 0.5, n_rounds=9, max_epochs=7, random_state=0)
        selection = select_theta(model, *cut(*blobs), candidates=[0.3, 0.9])
        assert [record.epochs for record in selection.candidates] == [7, 7]
        assert all(record.why.endswith("the budget was spent") for record in selection.candidates)


class TestRows:
    def test_validation_rows_are_held_out_of_every_class_and_train_nothing(self):
        y = np.repeat([0, 1, 2], 10)
        model = WorstClassBooster(ScriptedLearner([[y]]), 0.5, n_rounds=1, random_state=0)
        selection = select_theta(model, X, y, candidates=[0.5, 0.9], val_share=0.3)
        trained = selection.booster.learner_.training_.inputs.values[:, 0].astype(int)
        assert np.bincount(y[trained]).tolist() == [7, 7, 7]
        assert selection.n_train == 21
        assert selection.chosen_by == "9 rows held out of the training rows"
        assert [row.total for row in selection.booster.validation_report_.rows] == [3, 3, 3]
        other = select_theta(model.set_params(random_state=1), X, y, candidates=[0.5], val_share=0.3)
        assert set(other.booster.learner_.training_.inputs.values[:, 0].astype(int)) != set(trained)

    @pytest.mark.parametrize(
        "options",
        [
            {"candidates": [0.5, 0.9]},
            {"way": "baseline", "baseline": 0.3},
            {"way": "best", "resolution": 0.3},
            {"way": "goal", "goal": 0.5},
            {"way": "goal", "goal": 0.999},
        ],
        ids=["grid", "baseline", "best", "goal", "infeasible goal"],
    )
    @pytest.mark.parametrize("given", [True, False], ids=["validation rows given", "held out"])
    def test_rows_that_chose_never_certify_not_even_after_a_trip_to_disk(self, blobs, tmp_path, given, options):
        X_train, y_train, X_val, y_val = cut(*blobs)
        data = (X_train, y_train, X_val, y_val) if given else blobs
        model = WorstClassBooster(DecisionTreeClassifier(max_depth=2), 0.5, n_rounds=2, random_state=0)
        selection = select_theta(model, *data, **options)
        save_model(selection.booster, tmp_path)
        for kept in (selection.booster, load_model(tmp_path)):
            for X, y in (blobs, (X_val, y_val), (X_train, y_train)):
                with pytest.raises(DataError):
                    certify(kept, X, y)
            assert certify(kept, blobs[0] + 1e-3, blobs[1])  # other rows may

    def test_validation_rows_that_are_training_rows_are_refused(self, blobs):
        X, y = blobs
        model = WorstClassBooster(DecisionTreeClassifier(max_depth=2), 0.5, n_rounds=3, random_state=0)
        with pytest.raises(DataError, match="select_theta"):
            select_theta(model, X, y, X, y, candidates=(0.3,))
        kept = np.r_[0:60, 60, 61]  # a copy or two is no reuse
        assert not select_theta(model, X[kept], y[kept], X[60:], y[60:], candidates=(0.3,)).equal_rows_allowed

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
            select_theta(WorstClassBooster(TREE, 0.5), X, y, X[y != "c"] + 1, y[y != "c"])
        few = np.concatenate([np.flatnonzero(y == "a"), np.flatnonzero(y == "b")[:2]])
        with pytest.raises(DataError, match=r"no validation row of the classes \['b'\].*raise val_share"):
            select_theta(WorstClassBooster(TREE, 0.5), X[few], y[few])
        with pytest.raises(DataError, match=r"no validation row of the classes \['a', 'b'\].*raise val_share"):
            select_theta(WorstClassBooster(TREE, 0.5), X[few[-4:]], y[few[-4:]])

    def test_half_a_validation_part_is_refused(self, blobs):
        with pytest.raises(DataError, match="go together"):
            select_theta(WorstClassBooster(TREE, 0.5), *blobs, X_val=blobs[0])


class TestBaseline:
    @pytest.mark.parametrize(
        ("error", "step", "thetas"),
        [
            (0.309, 0.1, [0.7, 0.8, 0.9]),
            (0.31, 0.1, [0.69, 0.79, 0.89, 0.99]),
            (1.0, 0.5, [0.0, 0.5]),
            (0.1, None, [0.9, 0.95]),
            (0.7, 0.5, [0.3, 0.8]),  # although 1 - 0.7 is more than 0.3 in binary
        ],
    )
    def test_candidates_start_at_the_accuracy_that_was_observed(self, error, step, thetas):
        selection = select([ROUND], way="baseline", baseline=error, resolution=step)
        assert [record.theta for record in selection.candidates] == thetas

    def test_an_observed_error(self):
        selection = select([ROUND], way="baseline", baseline=0.42, resolution=0.2)
        assert [record.theta for record in selection.candidates] == [0.58, 0.78, 0.98]
        assert (selection.theta, selection.observed_error) == (0.58, 0.42)
        assert "baseline's worst-class validation error: 42.0%" in str(selection)

    @pytest.mark.parametrize("fit_it", [True, False], ids=["fitted", "not fitted"])
    def test_a_classifier_is_measured_on_the_validation_rows(self, blobs, fit_it):
        rows = cut(*blobs)
        baseline = KNeighborsClassifier(15)
        error = worst_class_error(rows[3], KNeighborsClassifier(15).fit(*rows[:2]).predict(rows[2]))
        if fit_it:
            baseline.fit(*rows[:2])
        model = WorstClassBooster(TREE, 0.5, n_rounds=3, random_state=0)
        selection = select_theta(model, *rows, way="baseline", baseline=baseline, resolution=0.1)
        assert selection.observed_error == pytest.approx(error)
        assert selection.candidates[0].theta >= 1 - error
        assert hasattr(baseline, "classes_") == fit_it  # one that is not fitted is cloned

    def test_a_method_s_name_trains_the_same_network(self, blobs):
        model = WorstClassBooster(network(), 0.5, n_rounds=2, random_state=0)
        selection = select_theta(model, *cut(*blobs), way="baseline", baseline="ce", resolution=0.3)
        assert 0 <= selection.observed_error < 0.7

    def test_a_baseline_that_leaves_no_room_is_told_of(self, blobs):
        with pytest.raises(ParameterError, match="must be one that leaves room"):
            select_theta(WorstClassBooster(TREE, 0.5), *blobs, way="baseline", baseline=0.0)
        with pytest.raises(ParameterError, match="must be one that leaves room"):
            select_theta(WorstClassBooster(TREE, 0.5), *blobs, way="baseline", baseline=0.005)


class TestGoal:
    def test_a_goal_that_is_met(self):
        selection = select([ROUND], way="goal", goal=0.8)
        assert (selection.theta, selection.met, selection.nearest) == (0.8, True, None)
        assert selection.booster.bound_met_
        assert [record.status for record in selection.candidates] == ["feasible"]

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
        selection = select([[answers([5, 9, 9], [10] * 3)]], way="goal", goal=0.6)
        nearest = selection.nearest
        assert not selection.met
        assert selection.theta == nearest.floors == {0: 0.49, 1: 0.6, 2: 0.6}
        assert nearest.blocking == [0]
        assert nearest.accuracy == {0: 0.5, 1: 0.9, 2: 0.9}
        assert nearest.rows_short == {0: 2, 1: 0, 2: 0}  # 7 of 10 are strictly above 0.6
        assert selection.booster.bound_met_
        assert [(record.theta, record.status) for record in selection.candidates[1:]] == [(nearest.floors, "feasible")]
        lines = str(selection).splitlines()
        at = lines.index("The goal is infeasible.")
        assert lines[at + 1] == "blocking class    floor  reached  rows short  nearest feasible"
        assert lines[at + 2].split() == ["0", "0.6", "50.0%", "2", "0.49"]
        values = json.loads(json.dumps(selection.to_dict()))
        assert values["nearest"]["blocking"] == ["0"]
        assert values["theta"] == values["nearest"]["floors"] == {"0": 0.49, "1": 0.6, "2": 0.6}

    def test_the_resolution_of_the_nearest_floors(self):
        selection = select([[answers([5, 9, 9], [10] * 3)]], way="goal", goal=0.6, resolution=0.2)
        assert selection.theta == {0: 0.4, 1: 0.6, 2: 0.6}

    def test_the_refit_can_raise_the_floors_again(self):
        # class 0 has 4 rows right in round 1 and 5 in the others. At 0.6 round 2, which needs it, fails, and 4 of 10
        # are what is seen; at 0.39 all rounds reach their edge, and the vote has 5 right
        script = [[answers([4, 9, 9], [10] * 3)], [answers([5, 9, 9], [10] * 3)]]
        selection = select(script, own={"n_rounds": 3}, way="goal", goal=0.6)
        assert selection.nearest.accuracy[0] == 0.4
        assert [(record.theta[0], record.status) for record in selection.candidates[1:]] == [(0.39, "feasible")]
        assert selection.theta == {0: 0.49, 1: 0.6, 2: 0.6}
        assert selection.booster.training_report_.worst_error == 0.5

    def test_a_class_that_was_not_to_blame_is_raised_towards_the_goal(self, blobs):
        # refits lower the classes one at a time; no floor ends above the goal, and all are met
        X, y = blobs[0][:, :1], blobs[1]
        model = WorstClassBooster(DecisionTreeClassifier(max_depth=2), 0.5, n_rounds=10, random_state=0)
        selection = select_theta(model, X, y, way="goal", goal={"a": 0.8, "others": 0.7})
        assert not selection.met
        assert selection.booster.bound_met_
        assert selection.theta["a"] <= 0.8
        assert max(selection.theta["b"], selection.theta["c"]) <= 0.7

    def test_a_prefix_that_meets_the_goal_is_preferred_to_one_that_validates_better(self):
        script = [[answers([9, 9, 6], [20] * 3)], [answers([9] * 3, [10] * 3)], [answers([9] * 3, [10] * 3)]]
        plain = fitted_quietly(ScriptedLearner(script), 0.7, (X, Y, X_VAL, Y_VAL), gamma=0.1, n_rounds=3, extend=False)
        assert (plain.n_members_used_, plain.bound_met_) == (2, False)
        selection = select(script, own={"n_rounds": 3}, way="goal", goal=0.7)
        assert selection.met
        assert (selection.booster.n_members_used_, selection.booster.bound_met_) == (3, True)
        # the record is that of the same vote
        (record,) = selection.candidates
        assert record.bound_met
        assert record.worst_error == selection.booster.validation_report_.worst_error == 0.5

    def test_a_goal_out_of_reach_of_the_budget(self):
        slow = [*[answers([5] * 3, [9] * 3)] * 5, answers([9] * 3, [9] * 3)]
        selection = select([slow], own={"max_epochs": 3}, way="goal", goal=0.8)
        assert "The goal was not reached within the budget." in str(selection)


class TestNearestFloors:
    hard = ScriptedLearner([[answers([5, 9, 9], [10] * 3)]])

    def test_a_plain_fit_that_misses_its_floors_says_how_to_find_the_nearest(self):
        model = WorstClassBooster(self.hard, {0: 0.6, "others": 0.8}, gamma=0.1, n_rounds=1, extend=False)
        with pytest.warns(UnmetBoundWarning, match="nearest_feasible_floors"):
            model.fit(X, Y)
        assert nearest_feasible_floors(model).floors == {0: 0.49, 1: 0.8, 2: 0.8}

    def test_of_a_booster_without_refits(self):
        model = fitted_quietly(self.hard, 0.6, (X, Y), gamma=0.1, n_rounds=2)
        nearest = nearest_feasible_floors(model)
        assert nearest.floors == {0: 0.49, 1: 0.6, 2: 0.6}
        assert nearest.booster.bound_met_
        assert not model.bound_met_  # the one given is left as it is
        assert model.theta == 0.6

    def test_of_a_selection(self):
        selection = select([[answers([5, 9, 9], [10] * 3)]], way="goal", goal=0.6)
        assert nearest_feasible_floors(selection).met  # the booster there is at the nearest floors already

    def test_floors_that_are_met_are_left(self):
        model = fitted_quietly(self.hard, 0.4, (X, Y), gamma=0.1, n_rounds=2)
        nearest = nearest_feasible_floors(model)
        assert nearest.met
        assert nearest.floors == {0: 0.4, 1: 0.4, 2: 0.4}
        assert str(nearest) == "The floors asked for are met on the training rows."

    def test_a_class_without_a_correct_row_has_no_floor(self):
        model = fitted_quietly(ScriptedLearner([[answers([0, 9, 9], [10] * 3)]]), 0.6, (X, Y), gamma=0.1, n_rounds=2)
        nearest = nearest_feasible_floors(model)
        assert nearest.booster is None
        assert "No feasible floors were found" in str(nearest)

    def test_where_a_class_has_no_right_row_the_refit_is_at_half_of_all_floors(self):
        # at 0.8 the first round ends with no row of class 0 right; at 0.4 its second epoch is enough
        script = [[answers([0, 10, 10], [10] * 3), answers([5, 5, 5], [10] * 3)]]
        selection = select(script, own={"n_rounds": 1, "gamma": 0.3}, way="goal", goal=0.8)
        assert not selection.met
        assert selection.candidates[1].theta == {0: 0.4, 1: 0.4, 2: 0.4}
        assert selection.theta == {0: 0.49, 1: 0.49, 2: 0.49}

    @settings(max_examples=60, deadline=None)
    @given(
        script=st.lists(st.tuples(*[st.integers(0, N)] * 3), min_size=1, max_size=4),
        asked=st.tuples(*[st.integers(0, 99)] * 3),
        resolution=st.sampled_from([0.01, 0.05, 0.07, 0.3]),
    )
    def test_the_floors_found_are_met_by_the_counts_and_never_above_those_asked(self, script, asked, resolution):
        floors = {k: percent / 100 for k, percent in enumerate(asked)}
        learner = ScriptedLearner([[answers(right, [10] * 3)] for right in script])
        rows = (X, Y, X_VAL, Y_VAL)
        model = fitted_quietly(learner, floors, rows, gamma=0.1, n_rounds=len(script), patience=2, random_state=0)
        nearest = nearest_feasible_floors(model, resolution=resolution)
        if nearest.booster is None:
            assert not any(all(record.vote_correct) for record in model.history_)
            assert nearest.blocking
            return
        correct = nearest.booster.history_[nearest.booster.n_members_used_ - 1].vote_correct
        for k, floor in nearest.floors.items():
            assert Fraction(correct[k], N) > Fraction(str(floor))
            assert 0 <= floor <= floors[k]
            assert floor == floors[k] or Fraction(str(floor)) % Fraction(str(resolution)) == 0
        assert nearest.booster.bound_met_
        assert nearest.met == (nearest.floors == floors)
        assert nearest.met or nearest.blocking

    @pytest.mark.parametrize(
        ("given", "options", "match"),
        [
            (WorstClassBooster(TREE, 0.5), {}, "fitted"),
            ("booster", {}, "fitted"),
            (None, {"resolution": 0}, "resolution"),
        ],
    )
    def test_bad_input(self, given, options, match):
        model = fitted_quietly(self.hard, 0.6, (X, Y), gamma=0.1, n_rounds=2) if given is None else given
        with pytest.raises(ParameterError, match=match):
            nearest_feasible_floors(model, **options)


class TestBest:
    def test_bisection_finds_the_largest_feasible_theta(self):
        # 13 of 20 right: floors strictly below 0.65 are met
        y = np.repeat([0, 1, 2], 20)
        right = np.arange(60) % 20 < 13
        rows = numbered_rows(120)
        script = [[np.tile(np.where(right, y, (y + 1) % 3), 2)]]
        model = WorstClassBooster(ScriptedLearner(script), 0.5, n_rounds=2, random_state=0)
        seen = []
        options = {"way": "best", "resolution": 0.05, "progress": seen.append}
        selection = select_theta(model, rows[:60], y, rows[60:], y, **options)
        assert [record.theta for record in seen] == [0.5, 0.75, 0.6, 0.65]
        assert [(record.theta, record.status) for record in selection.candidates] == [
            (0.5, "feasible"),
            (0.6, "feasible"),
            (0.65, "infeasible"),
            (0.75, "infeasible"),
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

    def test_the_average_has_a_standard_error_of_its_own(self):
        # at 0.6 4 of 20 rows of every class are wrong: 20% + 8.9% by the worst class, 20% + 5.2% by all 60 rows
        script = [[ROUND[1], answers([10] * 3, [12, 16, 16])]]
        assert select(script, way="best", resolution=0.3).theta == 0.6
        assert select([[ROUND[1], answers([10] * 3, [14, 15, 16])]], way="best", resolution=0.3).theta == 0.6
        by_average = {"way": "best", "resolution": 0.3, "own": {"select_on": "average"}}
        assert select([[ROUND[1], answers([10] * 3, [14, 15, 16])]], **by_average).theta == 0.9
        assert select(script, **by_average).theta == 0.6

    def test_a_theta_at_which_the_network_breaks_down_is_infeasible(self):
        model = WorstClassBooster(BreaksDown([[ROUND[1], None]]), 0.5, gamma=0.1, n_rounds=2, random_state=0)
        selection = select_theta(model, X, Y, X_VAL, Y_VAL, way="best", resolution=0.3)
        assert [record.status for record in selection.candidates] == ["feasible", "failed"]
        assert "NaN" in selection.candidates[1].why
        assert selection.theta == 0.6


class NeverFitted(LogisticRegression):
    def fit(self, X, y):
        raise AssertionError("nothing is to be trained")


GOOD = {"booster": WorstClassBooster(NeverFitted(), 0.5)}


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"booster": DecisionTreeClassifier()}, ParameterError, "a WorstClassBooster"),
        ({"way": "gird"}, UnknownNameError, "Did you mean 'grid'?"),
        ({"candidates": []}, ParameterError, "at least one"),
        ({"candidates": [0.5, 1.0]}, ParameterError, r"\[0, 1\)"),
        ({"candidates": [0.5, -0.1]}, ParameterError, r"\[0, 1\)"),
        ({"candidates": ["a"]}, ParameterError, r"\[0, 1\)"),
        ({"candidates": [0.5], "way": "best"}, ParameterError, "'candidates'.*for way='grid' alone"),
        (
            {"candidates": [0.5], "way": "baseline", "baseline": 0.3},
            ParameterError,
            "'candidates'.*for way='grid' alone",
        ),
        ({"way": "goal"}, ParameterError, "'goal'.*given for way='goal'"),
        ({"goal": 0.8}, ParameterError, "'goal'.*given for way='goal', and for it alone"),
        ({"way": "goal", "goal": {"a": 0.8}}, ParameterError, "without one"),
        ({"way": "goal", "goal": {"x": 0.8, "others": 0.5}}, UnknownNameError, "'x'"),
        ({"way": "goal", "goal": 1.2}, ParameterError, r"\[0, 1\)"),
        ({"way": "baseline"}, ParameterError, "'baseline'.*given for way='baseline'"),
        ({"way": "baseline", "baseline": object()}, ParameterError, "'baseline'.*a classifier, a method's name"),
        ({"way": "baseline", "baseline": LogisticRegression}, ParameterError, "'baseline'.*a classifier"),
        ({"way": "baseline", "baseline": 1.3}, ParameterError, r"in \[0, 1\]"),
        ({"way": "baseline", "baseline": "foccal"}, UnknownNameError, "Did you mean 'focal'?"),
        ({"way": "baseline", "baseline": "ours"}, ParameterError, "no theta itself"),
        ({"way": "best", "resolution": 2}, ParameterError, "'resolution'"),
        ({"val_share": 0}, ParameterError, "'val_share'"),
        ({"val_share": 1.0}, ParameterError, "'val_share'"),
        ({"way": "baseline", "baseline": 0.3, "resolution": 0}, ParameterError, "'resolution'"),
        ({"way": "goal", "goal": 0.5, "resolution": "fine"}, ParameterError, "'resolution'"),
        ({"booster": WorstClassBooster(NeverFitted(), 0.5, random_state="x")}, ParameterError, "'random_state'"),
    ],
)
def test_bad_input_is_refused_before_anything_is_trained(blobs, options, error, match):
    given = {**GOOD, **options}
    with pytest.raises(error, match=match):
        select_theta(given.pop("booster"), *blobs, **given)


class Breaks(ScriptedLearner):
    """Plays its script, and raises ``error`` before an epoch of which the script says None."""

    error: BaseException

    def bind(self, X, y, n_classes, seed):
        training = super().bind(X, y, n_classes, seed)
        play = training.train

        def train(sample_weight, stop, seed, *kept):
            epochs = self.script[min(len(training.sample_weights), len(self.script) - 1)]
            made = []

            def counted(done):
                made.append(done)
                verdict = stop(done)
                ends = verdict in (Verdict.DONE, Verdict.GIVE_UP)
                if not ends and len(made) < len(epochs) and epochs[len(made)] is None:
                    raise self.error
                return verdict

            if epochs[0] is None:
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

    def test_the_rounds_of_the_fit_that_was_interrupted_are_kept(self):
        # 0.8 goes first; its third round is interrupted in its second epoch
        model = WorstClassBooster(Interrupted([ROUND, ROUND, [ROUND[0], None]]), 0.5, gamma=0.1, n_rounds=9)
        model.set_params(random_state=0, patience=77)
        with pytest.raises(SelectionInterrupted) as caught:
            select_theta(model, X, Y, X_VAL, Y_VAL, candidates=THETAS)
        selection = caught.value.selection
        assert isinstance(caught.value, KeyboardInterrupt)
        assert (selection.theta, selection.met, selection.interrupted) == (0.8, False, True)
        assert [(record.status, record.rounds) for record in selection.candidates] == [("interrupted", 2)]
        assert (len(selection.booster.estimators_), selection.booster.patience) == (2, 77)
        assert "INTERRUPTED" in str(selection)
        assert json.loads(json.dumps(selection.to_dict()))["interrupted"]
        assert not hasattr(model, "estimators_")

    @pytest.mark.parametrize("n_jobs", [1, 2])
    def test_the_best_of_the_finished_fits_is_kept(self, n_jobs):
        def stop(record):
            if record.theta == 0.6:
                raise KeyboardInterrupt

        with pytest.raises(SelectionInterrupted) as caught:
            select([ROUND], candidates=[0.2, *THETAS], progress=stop, n_jobs=n_jobs)
        selection = caught.value.selection
        assert [record.theta for record in selection.candidates] == [0.6, 0.8]
        assert (selection.theta, selection.booster.validation_report_.worst_error) == (0.6, 0.2)

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
        # at 0.6 class 0 blocks round 2; at 0.39 it does not, and round 3 is interrupted
        script = [[answers([4, 9, 9], [10] * 3)], [answers([5, 9, 9], [10] * 3)], [None]]
        model = WorstClassBooster(Interrupted(script), 0.5, gamma=0.1, n_rounds=4, random_state=0)
        with pytest.raises(SelectionInterrupted) as caught:
            select_theta(model, X, Y, X_VAL, Y_VAL, way="goal", goal=0.6)
        selection = caught.value.selection
        assert (selection.theta, len(selection.booster.estimators_)) == (0.6, 1)
        assert [(record.status, record.rounds) for record in selection.candidates] == [
            ("infeasible", 1),
            ("interrupted", 2),
        ]

    def test_of_a_bisection_the_largest_theta_found_so_far_is_kept(self):
        # 0.6 is feasible; 0.9, which the vote does not exceed after a round, is interrupted in its second
        script = [[ROUND[1], ROUND[2]], [ROUND[1], None]]
        model = WorstClassBooster(Interrupted(script), 0.5, gamma=0.1, n_rounds=2, random_state=0)
        with pytest.raises(SelectionInterrupted) as caught:
            select_theta(model, X, Y, X_VAL, Y_VAL, way="best", resolution=0.3)
        selection = caught.value.selection
        assert (selection.theta, selection.booster.bound_met_) == (0.6, True)
        assert [record.status for record in selection.candidates] == ["feasible", "interrupted"]

    def test_a_fit_that_was_interrupted_in_its_first_round_is_recorded_and_not_chosen(self):
        # 0.6 is content with the first epoch; 0.9 needs another, before which it is interrupted
        model = WorstClassBooster(Interrupted([[ROUND[1], None]]), 0.5, gamma=0.1, n_rounds=2, random_state=0)
        with pytest.raises(SelectionInterrupted) as caught:
            select_theta(model, X, Y, X_VAL, Y_VAL, way="best", resolution=0.3)
        selection = caught.value.selection
        assert selection.theta == 0.6
        assert [(record.status, record.rounds) for record in selection.candidates] == [
            ("feasible", 2),
            ("interrupted", 0),
        ]
        assert selection.candidates[1].worst_error is None
        assert "0.9    interrupted" in str(selection)


class TestBrokenNetworks:
    @pytest.mark.parametrize(
        "options", [{"candidates": [0.4, 0.8]}, {"way": "best", "resolution": 0.3}, {"way": "goal", "goal": 0.5}]
    )
    def test_a_network_that_always_breaks_down_is_an_error(self, options):
        model = WorstClassBooster(BreaksDown([[None]]), 0.5, gamma=0.1, n_rounds=2, random_state=0)
        with pytest.raises(ModuleError, match="NaN"):
            select_theta(model, X, Y, X_VAL, Y_VAL, **options)

    def test_one_that_breaks_down_at_one_theta_is_left_out(self):
        model = WorstClassBooster(BreaksDown([[ROUND[0], ROUND[1], None]]), 0.5, gamma=0.1, n_rounds=2, random_state=0)
        selection = select_theta(model, X, Y, X_VAL, Y_VAL, candidates=THETAS)
        assert [record.status for record in selection.candidates] == ["feasible", "feasible", "failed"]
        assert (selection.candidates[2].rounds, selection.candidates[2].worst_error) == (0, None)
        assert selection.theta == 0.6
        assert "0.8    failed" in str(selection)

    def test_one_that_breaks_down_later_keeps_its_rounds(self):
        model = WorstClassBooster(BreaksDown([[ROUND[2]], [None]]), 0.5, gamma=0.1, n_rounds=2, random_state=0)
        selection = select_theta(model, X, Y, X_VAL, Y_VAL, candidates=[0.4, 0.8])
        assert [record.rounds for record in selection.candidates] == [1, 1]
        assert all("round 2" in record.why for record in selection.candidates)
