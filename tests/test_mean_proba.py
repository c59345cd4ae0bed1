"""The mean of the members' probabilities, and offsets on it: by hand, for every kind of learner, and from disk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix
from scripted import ScriptedLearner, ScriptedMember, ScriptedTraining, numbered_rows
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from worstclass import (
    SklearnLearner,
    TorchLearner,
    WorstClassBooster,
    WorstClassOffsets,
    load_model,
    save_model,
)
from worstclass.boosting.oco import InstanceBooster
from worstclass.exceptions import DataError, ParameterError
from worstclass.learners.base import Epoch

pytestmark = pytest.mark.filterwarnings("ignore::worstclass.exceptions.WorstClassWarning")


@dataclass(eq=False)
class SureMember(ScriptedMember):
    """Answers with the larger of two probabilities; that of class 1 is written down for each row."""

    second: np.ndarray

    def probabilities(self, inputs):
        second = self.second[np.asarray(inputs.values)[:, 0].astype(int)]
        return np.column_stack([1 - second, second])


class SureTraining(ScriptedTraining):
    def epochs(self, sample_weight, seed):
        second = np.asarray(self.script[min(len(self.sample_weights), len(self.script) - 1)])
        self.sample_weights.append(sample_weight)
        member = SureMember((second > 0.5).astype(int), second)
        yield Epoch(member.predict(self.inputs), member.predict, lambda: member)


class SureLearner(ScriptedLearner):
    """Plays one list of probabilities a round."""

    @property
    def gives_probabilities(self):
        return True

    def bind(self, X, y, n_classes, seed):
        return SureTraining(self.script, X)


#: four rows, two classes, three members that give class 1 these probabilities. All think class 0 likelier everywhere,
#: so the vote is 3 : 0 in every row; the means 0.1, 0.2, 0.3 and 0.4 put the rows of class 1 last
SCRIPT = [[0.0, 0.1, 0.4, 0.4], [0.1, 0.2, 0.3, 0.4], [0.2, 0.3, 0.2, 0.4]]
ROWS, LABELS = numbered_rows(4), np.array([0, 0, 1, 1])


def sure(**options):
    booster = WorstClassBooster(SureLearner(SCRIPT), 0.0, gamma=0.0005, n_rounds=3, extend=False, **options)
    return booster.fit(ROWS, LABELS)


def of_sklearn(estimator, X, y, **options):
    return WorstClassBooster(estimator, 0.5, gamma=0.1, n_rounds=3, random_state=0, **options).fit(X, y)


def of_torch(X, y, **options):
    learner = TorchLearner("mlp", module_options={"hidden": (4,)}, lr=0.02, **options)
    return WorstClassBooster(learner, 0.5, gamma=0.1, n_rounds=3, random_state=0).fit(X, y)


class TestTheMean:
    def test_by_hand(self):
        booster = sure()
        assert len(booster.estimators_) == 3
        assert booster.mean_proba(ROWS)[:, 1] == pytest.approx([0.1, 0.2, 0.3, 0.4])
        assert booster.mean_proba(ROWS)[:, 0] == pytest.approx([0.9, 0.8, 0.7, 0.6])
        assert booster.predict_proba(ROWS)[:, 0].tolist() == [1.0] * 4

    def test_only_the_members_used_count(self):
        booster = sure()
        booster.n_members_used_ = 2
        assert booster.mean_proba(ROWS)[:, 1] == pytest.approx([0.05, 0.15, 0.35, 0.4])

    def test_classifiers_of_scikit_learn_are_asked_for_predict_proba_behind_the_steps(self, blobs):
        X, y = blobs
        booster = of_sklearn(make_pipeline(StandardScaler(), LogisticRegression()), X, y)
        scaled = StandardScaler().fit(X).transform(X)
        expected = np.mean([member.estimator.predict_proba(scaled) for member in booster.estimators_], axis=0)
        assert booster.mean_proba(X) == pytest.approx(expected)
        assert booster.mean_proba(X).sum(axis=1) == pytest.approx(np.ones(90))
        assert len(np.unique(booster.mean_proba(X)[:, 0])) > 80 > 4 >= len(np.unique(booster.predict_proba(X)[:, 0]))

    def test_sparse_rows(self, blobs):
        X, y = blobs
        booster = of_sklearn(LogisticRegression(), csr_matrix(X), y)
        expected = np.mean([member.estimator.predict_proba(X) for member in booster.estimators_], axis=0)
        assert booster.mean_proba(csr_matrix(X)) == pytest.approx(expected)

    def test_networks_give_the_softmax_of_their_logits(self, blobs):
        X, y = blobs
        booster = of_torch(X, y, eval_batch_size=7)
        expected = np.zeros((90, 3))
        for member in booster.estimators_:
            first, second = ((member.state[f"{n}.weight"].numpy(), member.state[f"{n}.bias"].numpy()) for n in (0, 2))
            logits = np.maximum(X @ first[0].T + first[1], 0) @ second[0].T + second[1]
            expected += np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True) / len(booster.estimators_)
        assert booster.mean_proba(X) == pytest.approx(expected, abs=1e-6)

    def test_boosting_over_rows_has_it_too(self, blobs):
        X, y = blobs
        booster = InstanceBooster(LogisticRegression(), gamma=0.1, n_rounds=2, random_state=0).fit(X, y)
        expected = np.mean([member.estimator.predict_proba(X) for member in booster.estimators_], axis=0)
        assert booster.mean_proba(X) == pytest.approx(expected)

    @pytest.mark.parametrize("keep_in_memory", [True, False])
    def test_networks_read_from_disk(self, blobs, tmp_path, keep_in_memory):
        X, y = blobs
        booster = of_torch(X, y)
        again = load_model(save_model(booster, tmp_path), keep_in_memory=keep_in_memory)
        assert all(callable(member.weights) for member in again.estimators_) != keep_in_memory
        np.testing.assert_array_equal(again.mean_proba(X), booster.mean_proba(X))

    def test_classifiers_read_from_disk(self, blobs, tmp_path):
        X, y = blobs
        booster = of_sklearn(make_pipeline(StandardScaler(), LogisticRegression()), X, y)
        again = load_model(save_model(booster, tmp_path))
        np.testing.assert_array_equal(again.mean_proba(X), booster.mean_proba(X))


class TestRefusals:
    def test_a_classifier_without_probabilities(self, blobs):
        X, y = blobs
        booster = of_sklearn(SGDClassifier(), X, y)
        assert not booster.gives_probabilities
        with pytest.raises(ParameterError, match=r"'learner' parameter of WorstClassBooster.mean_proba must be a"):
            booster.mean_proba(X)
        assert of_sklearn(SGDClassifier(loss="log_loss"), X, y).gives_probabilities

    def test_a_learner_of_one_s_own_that_says_nothing_of_probabilities(self):
        answers = [[LABELS]]
        booster = WorstClassBooster(ScriptedLearner(answers), 0.5, n_rounds=1, extend=False).fit(ROWS, LABELS)
        with pytest.raises(ParameterError, match="shares of the votes, for any learner"):
            booster.mean_proba(ROWS)
        with pytest.raises(NotImplementedError, match="answers with classes alone"):
            booster.estimators_[0].probabilities(None)

    def test_a_booster_that_is_not_fitted(self):
        with pytest.raises(NotFittedError):
            WorstClassBooster(LogisticRegression(), 0.5).mean_proba(ROWS)

    def test_a_member_that_leaves_a_class_out(self, blobs):
        X, y = blobs
        booster = of_sklearn(LogisticRegression(), X, y)
        booster.estimators_[1].estimator.fit(X[y != "c"], np.searchsorted(["a", "b"], y[y != "c"]))
        with pytest.raises(DataError, match=r"one probability per class, shape \(90, 3\). Got shape \(90, 2\)"):
            booster.mean_proba(X)


class TestOffsetsOnTheMean:
    def test_they_tell_rows_apart_that_the_votes_tie(self):
        # mean of class 1: 0.1 0.2 | 0.3 0.4, so offsets between log(0.7/0.3) and log(0.8/0.2) put every row right
        model = WorstClassOffsets(sure(), cv="prefit", allow_equal_rows=True).fit(ROWS, LABELS)
        assert model.scores_ == "mean-proba"
        assert model.validation_report_before_.worst_error == 1.0
        assert model.validation_report_.worst_error == 0.0
        assert np.log(0.7 / 0.3) < np.diff(model.offsets_)[0] < np.log(0.8 / 0.2)
        assert model.predict(ROWS).tolist() == [0, 0, 1, 1]
        margins = np.log([0.1 / 0.9, 0.2 / 0.8, 0.3 / 0.7, 0.4 / 0.6]) + np.diff(model.offsets_)[0]
        assert model.decision_function(ROWS) == pytest.approx(margins)
        assert model.decision_margin(ROWS) == pytest.approx(np.abs(margins))
        for votes in ("proba", "log-proba"):  # three votes to none everywhere: nothing can be told apart
            tied = WorstClassOffsets(sure(), cv="prefit", scores=votes, allow_equal_rows=True).fit(ROWS, LABELS)
            assert (tied.validation_report_.worst_error, tied.offsets_.tolist()) == (1.0, [0.0, 0.0])

    def test_probabilities_of_the_vote_stay_the_shares(self):
        model = WorstClassOffsets(sure(), cv="prefit", allow_equal_rows=True).fit(ROWS, LABELS)
        assert model.predict_proba(ROWS).tolist() == [[1.0, 0.0]] * 4

    @pytest.mark.parametrize(
        ("learner", "kind"),
        [
            (TorchLearner("mlp"), "mean-proba"),
            (DecisionTreeClassifier(), "mean-proba"),
            (SklearnLearner(SGDClassifier(loss="log_loss")), "mean-proba"),
            (make_pipeline(StandardScaler(), LogisticRegression()), "mean-proba"),
            (SGDClassifier(), "log-proba"),
            (SklearnLearner(make_pipeline(StandardScaler(), SGDClassifier())), "log-proba"),
        ],
        ids=["torch", "tree", "sgd-log", "pipeline", "sgd-hinge", "pipeline-hinge"],
    )
    def test_auto_takes_the_mean_where_members_give_probabilities(self, blobs, learner, kind):
        X, y = blobs
        booster = WorstClassBooster(learner, 0.3, gamma=0.1, n_rounds=2, random_state=0)
        model = WorstClassOffsets(booster, cv=0.3, random_state=0).fit(X, y)
        assert model.scores_ == kind
        given = model.estimator_.mean_proba(X) if kind == "mean-proba" else model.estimator_.predict_proba(X)
        scores = np.log(np.maximum(given, 1e-4)) + model.offsets_
        assert model.decision_function(X) == pytest.approx(scores)

    @pytest.mark.parametrize(
        "estimator", [LogisticRegression(), WorstClassBooster(SGDClassifier(), 0.5)], ids=["no booster", "no proba"]
    )
    def test_the_mean_of_what_has_none_is_refused_before_training(self, blobs, estimator):
        told = r"'estimator' parameter of WorstClassOffsets must be a booster whose members give prob.*'proba' takes"
        with pytest.raises(ParameterError, match=told):
            WorstClassOffsets(estimator, scores="mean-proba").fit(*blobs)
        assert not hasattr(estimator, "classes_")

    def test_a_learner_that_is_none_is_refused_as_the_booster_does(self, blobs):
        network: Any = torch.nn.Linear(2, 3)
        with pytest.raises(ParameterError, match="'learner' parameter of WorstClassBooster must be a TorchLearner"):
            WorstClassOffsets(WorstClassBooster(network, 0.5)).fit(*blobs)
