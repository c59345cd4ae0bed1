"""The default estimator: every kind of rows and learners, honest about what it knows."""

from __future__ import annotations

import itertools
import re
import runpy
import time
import warnings
from pathlib import Path
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits, load_iris, load_wine, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import shuffle
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_info, threadpool_limits
from torch import nn

from worstclass import (
    AbstainingClassifier,
    NetworkClassifier,
    TorchLearner,
    WorstClassBooster,
    WorstClassClassifier,
    WorstClassOffsets,
    certify,
    class_report,
    load_dataset,
    load_model,
    save_model,
)
from worstclass._threads import _libraries
from worstclass.boosting.callbacks import Callback
from worstclass.data.augmentation import Augmentation
from worstclass.ensembles import members, training, worst_class
from worstclass.ensembles.members import Candidate, log_loss
from worstclass.ensembles.portfolio import SoftmaxSVC, give_epochs, portfolio_for
from worstclass.ensembles.schedule import Schedule, default_folds
from worstclass.exceptions import (
    BudgetSpentWarning,
    DataError,
    LearnerFailedWarning,
    ModuleError,
    ParameterError,
    UnknownOptionError,
    UnmetBoundWarning,
)

FAST = [LogisticRegression(max_iter=300), DecisionTreeClassifier(max_depth=4)]


class Failing(ClassifierMixin, BaseEstimator):
    """A classifier that cannot be trained."""

    def fit(self, X, y):
        raise RuntimeError("out of luck")

    def predict_proba(self, X):
        raise AssertionError


class Interrupted(Failing):
    """The user presses Ctrl-C while it is trained."""

    def fit(self, X, y):
        raise KeyboardInterrupt


class Slow(LogisticRegression):
    """Takes 2 ms for each row."""

    def fit(self, X, y, sample_weight=None):
        time.sleep(0.002 * len(X))
        return super().fit(X, y, sample_weight)


@pytest.fixture(scope="module")
def blobs():
    """600 rows of four classes, the last with 30."""
    X, y = make_classification(
        1200, 8, n_informative=5, n_classes=4, weights=[0.4, 0.3, 0.25], class_sep=1.2, random_state=0
    )
    return train_test_split(X, np.array(["a", "b", "c", "rare"])[y], test_size=0.5, stratify=y, random_state=0)


@pytest.fixture(scope="module")
def fitted(blobs):
    X, _, y, _ = blobs
    return WorstClassClassifier(FAST, random_state=0).fit(X, y)


@parametrize_with_checks([WorstClassClassifier(FAST, random_state=0)])
def test_it_is_a_scikit_learn_classifier(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


class TestAnswers:
    def test_the_default_is_better_than_a_balanced_forest(self, blobs):
        X, X_new, y, y_new = blobs
        ours = WorstClassClassifier(random_state=0).fit(X, y)
        forest = RandomForestClassifier(300, class_weight="balanced", random_state=0).fit(X, y)
        worst = [class_report(y_new, model.predict(X_new)).worst_error for model in (ours, forest)]
        assert worst[0] < worst[1] - 0.1

    def test_the_most_probable_class_is_the_answer(self, fitted, blobs):
        X_new = blobs[1]
        probability = fitted.predict_proba(X_new)
        assert np.allclose(probability.sum(axis=1), 1)
        assert (fitted.classes_[probability.argmax(axis=1)] == fitted.predict(X_new)).all()
        assert (fitted.decision_function(X_new).argmax(axis=1) == probability.argmax(axis=1)).all()

    def test_scores_by_hand(self, fitted, blobs):
        X_new = blobs[1][:5]
        parts = (np.maximum(model.predict_proba(X_new), 1e-4) for model in fitted.estimators_)
        mean = sum(weight * part for weight, part in zip(fitted.weights_, parts, strict=True))
        assert np.allclose(fitted.decision_function(X_new), np.log(mean) + fitted.offsets_)

    def test_two_classes_have_one_decision(self):
        X, y = make_classification(200, random_state=0)
        model = WorstClassClassifier(FAST, random_state=0).fit(X, y)
        assert model.decision_function(X).shape == (200,)
        assert ((model.decision_function(X) > 0) == (model.predict(X) == 1)).all()

    def test_the_models_of_all_folds_of_the_chosen_members_answer(self, fitted):
        chosen = [record for record in fitted.portfolio_ if record.weight > 0]
        assert len(fitted.estimators_) == 5 * len(chosen)
        assert fitted.weights_.sum() == pytest.approx(1)
        assert fitted.n_folds_ == 5

    def test_the_estimate_agrees_with_new_rows(self, fitted, blobs):
        real = class_report(blobs[3], fitted.predict(blobs[1]))
        assert abs(fitted.cv_report_.class_mean_error - real.class_mean_error) < 0.06
        assert sum(row.total for row in fitted.cv_report_.rows) == 600

    def test_same_seed_same_bits_also_in_parallel(self, blobs):
        X, X_new, y, _ = blobs
        one, two = (WorstClassClassifier(FAST, random_state=3, n_jobs=jobs).fit(X, y) for jobs in (None, 2))
        assert (one.decision_function(X_new) == two.decision_function(X_new)).all()

    def test_global_generators_are_left_alone(self, blobs):
        np.random.seed(5)  # noqa: NPY002
        expected = np.random.random()  # noqa: NPY002
        np.random.seed(5)  # noqa: NPY002
        WorstClassClassifier(FAST, random_state=0).fit(blobs[0], blobs[2])
        assert np.random.random() == expected  # noqa: NPY002


class TestRows:
    def test_a_table_of_mixed_types(self):
        rng = np.random.default_rng(0)
        y = rng.choice(["benign", "malignant", "unclear"], 300, p=[0.6, 0.3, 0.1])
        shift = {"benign": 0, "malignant": 2, "unclear": 4}
        frame = pd.DataFrame(
            {
                "size": rng.normal(size=300) + [shift[label] for label in y],
                "ward": pd.Categorical(rng.choice(["A", "B"], 300)),
                "note": np.where(rng.random(300) < 0.7, y, "none"),
                "smoker": rng.random(300) < 0.5,
            }
        )
        frame.loc[::7, "size"] = np.nan
        frame.loc[::11, "note"] = None
        model = WorstClassClassifier(random_state=0).fit(frame, y)
        assert model.feature_names_in_.tolist() == list(frame.columns)
        assert class_report(y, model.predict(frame[frame.columns[::-1]])).worst_error < 0.35

    def test_a_sparse_matrix(self):
        X, y = load_digits(return_X_y=True)
        model = WorstClassClassifier(random_state=0).fit(csr_matrix(X[:400]), y[:400])
        assert class_report(y[400:800], model.predict(csr_matrix(X[400:800]))).worst_error < 0.5
        assert {record.name for record in model.portfolio_} == {"logistic", "extra-trees", "forest"}

    def test_images(self):
        X, y = load_digits(return_X_y=True)
        images = (X.reshape(-1, 1, 8, 8) * 15).astype(np.uint8)
        learner = TorchLearner("cnn-small", lr=0.01, batch_size=64)
        model = WorstClassClassifier([learner], cv=2, max_epochs=20, random_state=0).fit(images[:800], y[:800])
        assert class_report(y[800:], model.predict(images[800:])).class_mean_error < 0.2

    @pytest.mark.parametrize("value", [np.nan, np.inf])
    @pytest.mark.parametrize("kind", ["array", "tensor"])
    def test_images_with_a_missing_pixel(self, kind, value):
        X, y = load_digits(return_X_y=True)
        images = X.reshape(-1, 1, 8, 8)[:1_200]
        model = WorstClassClassifier(cv=1, max_epochs=1, random_state=0).fit(images[:200], y[:200])
        images[1_100, 0, 3, 3] = value
        X = images if kind == "array" else torch.from_numpy(images)
        for ask in (lambda: WorstClassClassifier().fit(X, y[:1_200]), lambda: model.predict(X)):
            with pytest.raises(DataError, match="Image 1100 has one"):
                ask()

    def test_images_of_bfloat16(self):
        X, y = load_digits(return_X_y=True)
        images = torch.from_numpy(X.reshape(-1, 1, 8, 8)[:200]).to(torch.bfloat16)
        model = WorstClassClassifier(cv=1, max_epochs=2, random_state=0).fit(images, y[:200])
        assert len(model.portfolio_) == 4
        assert model.predict(images[:5]).shape == (5,)

    @pytest.mark.parametrize("kind", ["array", "tensor"])
    def test_images_by_default(self, kind, tmp_path):
        X, y = shuffle(*load_digits(return_X_y=True), random_state=0)
        images = (X.reshape(-1, 1, 8, 8) * 15).astype(np.uint8)
        few, new = images[:200], images[300:800]
        model = WorstClassClassifier(cv=2, random_state=0)
        model.fit(few if kind == "array" else torch.from_numpy(few), y[:200])
        assert [record.name for record in model.portfolio_] == ["pixel-kernel", "pixel-trees", "patches", "network"]
        assert class_report(y[300:800], model.predict(new)).class_mean_error < 0.2
        save_model(model, tmp_path / "model")
        assert (load_model(tmp_path / "model").predict(new) == model.predict(new)).all()
        with pytest.raises(DataError, match=r"\(1, 8, 8\)"):
            model.predict(new[:, :, :7])

    @pytest.mark.parametrize("most_svm_rows", [100, 5_000])
    def test_the_kernel_of_pixels_suits_larger_images(self, most_svm_rows, monkeypatch):
        monkeypatch.setattr("worstclass.ensembles.portfolio.MOST_SVM_ROWS", most_svm_rows)
        X, y = shuffle(*load_digits(return_X_y=True), random_state=0)
        images = np.kron(X.reshape(-1, 1, 8, 8), np.ones((1, 1, 4, 4)))[:700]
        portfolio, _ = portfolio_for("auto", images[:400], y[:400])
        model = portfolio["pixel-kernel"].fit(images[:400], y[:400])
        assert (model.predict(images[400:]) != y[400:700]).mean() < 0.1

    @pytest.mark.parametrize(("n_classes", "n_iterations"), [(2, 150), (3, 150), (8, 75), (10, 60), (40, 50)])
    def test_boosted_trees_are_about_as_many_for_any_number_of_classes(self, n_classes, n_iterations):
        portfolio, _ = portfolio_for("auto", np.zeros((400, 3)), np.repeat(np.arange(n_classes), 10))
        assert portfolio["boosted-trees"][-1].max_iter == n_iterations

    def test_the_learning_rate_of_a_network_rises_and_falls_for_images_unless_its_learner_says_otherwise(self):
        own, plain = TorchLearner("cnn-small", decay_epochs=7), TorchLearner("mlp")
        network = NetworkClassifier(plain, max_epochs=30)
        found = []
        for images, max_epochs in ((True, None), (True, 24), (False, 24)):
            portfolio, _ = portfolio_for([plain, own, network], np.zeros((40, 3)), np.repeat([0, 1], 20))
            give_epochs(portfolio, max_epochs, 2, images=images)
            learners = [model.learner for model in portfolio.values()]
            found.append([(learner.warmup_epochs, learner.decay_epochs) for learner in learners])
        assert found == [[(30, 150), (0, 7), (6, 30)], [(0, 4), (0, 7), (0, 4)], [(0, None), (0, 7), (0, None)]]
        assert (plain.decay_epochs, network.learner.decay_epochs) == (None, None)

    @pytest.mark.parametrize(
        ("n_rows", "side", "augment"),
        [
            (500, 8, Augmentation(padding=1, flip=0.5)),
            (500, 28, Augmentation(padding=4, flip=0.5)),
            (28_800, 32, Augmentation(padding=4, flip=0.5)),
            (28_900, 32, "none"),
        ],
    )
    def test_images_that_a_network_sees_often_are_shifted_and_mirrored(self, n_rows, side, augment):
        images = np.broadcast_to(np.float32(0), (n_rows, 1, side, side))
        portfolio, _ = portfolio_for("auto", images, np.arange(n_rows) % 2)
        assert portfolio["network"].learner.augment == augment

    def test_images_in_which_left_and_right_matter_are_not_mirrored(self):
        X, y = load_digits(return_X_y=True)
        portfolio, _ = portfolio_for("auto", X[:200].reshape(-1, 1, 8, 8), y[:200])
        assert portfolio["network"].learner.augment == Augmentation(padding=1)

    def test_the_epochs_of_a_network_depend_on_the_rows_that_a_fold_trains_on(self):
        images, y = np.broadcast_to(np.float32(0), (40_000, 1, 8, 8)), np.arange(40_000) % 2
        for n_train, epochs in ((None, 14), (32_000, 18), (20_000, 28), (2_000, 40)):  # 4,500 steps; at most 40 epochs
            portfolio, _ = portfolio_for("auto", images, y, n_train)
            assert portfolio["network"].max_epochs == epochs

    def test_lists(self):
        X, y = load_iris(return_X_y=True)
        model = WorstClassClassifier(FAST, random_state=0).fit(X.tolist(), y.tolist())
        assert (model.predict(X.tolist()) == model.predict(X)).all()

    def test_a_class_with_one_row_has_no_error(self, blobs):
        X, _, y, _ = blobs
        y = np.where(np.arange(len(y)) == 0, "single", y)
        with pytest.warns(UnmetBoundWarning, match="'single'"):
            model = WorstClassClassifier(FAST, random_state=0).fit(X, y)
        assert model.cv_report_.rows[-1].name == "single"
        assert model.cv_report_.rows[-1].error is None
        assert np.isfinite(model.decision_function(X)).all()

    def test_a_class_with_two_rows(self, blobs):
        X, _, y, _ = blobs
        y = np.where(np.arange(len(y)) < 2, "twin", y)
        model = WorstClassClassifier(FAST, random_state=0).fit(X, y)
        assert {row.name: row.total for row in model.cv_report_.rows}["twin"] == 2

    def test_given_validation_rows_choose(self, blobs):
        X, X_val, y, y_val = blobs
        model = WorstClassClassifier(FAST, random_state=0).fit(X, y, X_val, y_val)
        assert model.n_folds_ == 1
        assert sum(row.total for row in model.cv_report_.rows) == len(X_val)
        assert len(model.seen_rows_.training) == len(X)

    def test_one_held_out_part(self, blobs):
        X, _, y, _ = blobs
        model = WorstClassClassifier(FAST, cv=1, random_state=0).fit(X, y)
        assert sum(row.total for row in model.cv_report_.rows) == 120
        assert model.n_folds_ == 1

    def test_fewer_folds_for_many_rows(self):
        of_two = lambda n, **kind: default_folds(np.array([n // 2, n - n // 2]), **kind)  # noqa: E731
        assert [of_two(n) for n in (100, 20_000, 20_001, 100_000, 100_001)] == [5, 5, 3, 3, 1]
        assert [of_two(n, images=True) for n in (5_000, 5_001, 10_000, 10_001)] == [5, 3, 3, 1]
        for smallest, folds in ((500, 1), (499, 3)):  # a fifth of 500 is enough to choose offsets by
            assert default_folds(np.array([200_000, smallest])) == folds


def failing(n_classes):
    raise AssertionError


class Listener(Callback):
    """Fails as soon as anything is trained."""

    def on_step_end(self, estimator, info):
        raise AssertionError(info.name)


class OfAnotherPackage(GaussianNB):
    """Stands for a classifier with threads of its own."""


@pytest.mark.parametrize(
    ("classifier", "most", "threads"),
    [
        (GaussianNB(), 500_000, 1),
        (make_pipeline(StandardScaler(), GaussianNB()), 500_000, 1),
        (GaussianNB(), 100, 2),
        (OfAnotherPackage(), 500_000, 2),
        (make_pipeline(StandardScaler(), OfAnotherPackage()), 500_000, 2),
        (CalibratedClassifierCV(OfAnotherPackage(), cv=2), 500_000, 2),
    ],
    ids=str,
)
def test_scikit_learn_has_one_thread_for_small_tables(blobs, monkeypatch, classifier, most, threads):
    seen, fit, answer = [], GaussianNB.fit, GaussianNB.predict_proba

    def noted(method):
        def counting(*arguments, **options):
            seen.append(max(library["num_threads"] for library in threadpool_info()))
            return method(*arguments, **options)

        return counting

    _libraries.cache_clear()  # an earlier test may have loaded torch since
    monkeypatch.setattr(members, "MOST_IN_ONE_THREAD", most)
    monkeypatch.setattr(GaussianNB, "fit", noted(fit))
    monkeypatch.setattr(GaussianNB, "predict_proba", noted(answer))
    X, _, y, _ = blobs
    with threadpool_limits(2):
        WorstClassClassifier([classifier], cv=2, random_state=0).fit(X, y).predict(X)
        assert max(library["num_threads"] for library in threadpool_info()) == 2
    assert set(seen) == {threads}
    assert len(seen) >= 6


class TestLearners:
    def test_learners_of_every_kind(self):
        X, y = load_wine(return_X_y=True)
        booster = WorstClassBooster(DecisionTreeClassifier(max_depth=3), theta=0.8, gamma=0.4, random_state=0)
        network = TorchLearner("mlp", module_options={"hidden": (16,)}, lr=0.01, standardize=True)
        model = WorstClassClassifier(
            [booster, network, ("bayes", GaussianNB()), GaussianNB(), GaussianNB()], cv=2, random_state=0
        ).fit(X, y)
        names = [record.name for record in model.portfolio_]
        assert names == ["worstclassbooster", "mlp", "bayes", "gaussiannb-1", "gaussiannb-2"]
        assert class_report(y, model.predict(X)).worst_error < 0.1

    def test_the_portfolio_of_the_package_with_a_learner_of_one_s_own(self):
        X, y = load_wine(return_X_y=True, as_frame=True)
        X["hue"] = np.where(X["hue"] > 1, "red", "pale")  # text, which a learner of one's own gets as numbers, too
        X.loc[::9, "ash"] = np.nan
        network = TorchLearner("mlp", module_options={"hidden": (16,)}, lr=0.01, standardize=True)
        model = WorstClassClassifier(["auto", network], cv=2, max_epochs=20, random_state=0).fit(X, y)
        members = ["logistic", "smooth-kernel", "sharp-kernel", "extra-trees", "boosted-trees", "mlp"]
        assert [record.name for record in model.portfolio_] == members
        assert model.notes_ == ()
        assert class_report(y, model.predict(X)).worst_error < 0.1

    def test_a_network_of_one_s_own_takes_the_place_of_that_for_images(self):
        images, y = np.broadcast_to(np.float32(0), (40, 1, 8, 8)), np.arange(40) % 2
        others = ["pixel-kernel", "pixel-trees", "patches"]
        for learner, names in (
            (TorchLearner("cnn-small"), [*others, "cnn-small"]),
            (("own", NetworkClassifier(TorchLearner("cnn-small"))), [*others, "own"]),
            (GaussianNB(), [*others, "network", "gaussiannb"]),
        ):
            portfolio, notes = portfolio_for(["auto", learner], images, y)
            assert (list(portfolio), notes) == (names, [])

    @pytest.mark.parametrize(
        ("learners", "message"),
        [
            ("trees", "'auto', or a list"),
            (["auto", "auto"], "'auto' among them at most once"),
            (["auto", "trees"], "'auto', or a list"),
            ([], "'auto', or a list"),
            ([LogisticRegression], "'auto', or a list"),
            ([3], "'auto', or a list"),
            (LogisticRegression(), "'auto', or a list"),  # without the list
            ([LinearSVC()], "CalibratedClassifierCV"),
        ],
    )
    def test_learners_that_are_refused(self, learners, message):
        X, y = load_iris(return_X_y=True)
        with pytest.raises(ParameterError, match=message):
            WorstClassClassifier(learners).fit(X, y)

    def test_wrong_parameters_of_a_network_are_refused_before_anything_is_trained(self, blobs):
        for network in (
            TorchLearner("mpl"),
            TorchLearner("mlp", lr=-1),
            NetworkClassifier(TorchLearner("resnet32")),
            TorchLearner("mlp", module_options={"hiden": (8,)}),
            WorstClassBooster(TorchLearner("mpl"), theta=0.5),
        ):
            with pytest.raises((ParameterError, UnknownOptionError, DataError)):
                WorstClassClassifier([*FAST, network], callbacks=[Listener()]).fit(blobs[0], blobs[2])

    def test_a_network_of_as_many_inputs_as_the_encoded_table_has_columns_is_not_refused(self):
        X = pd.DataFrame({"size": np.arange(40.0), "colour": pd.Categorical(list("rgby") * 10)})
        learner = TorchLearner(lambda n_classes: nn.Linear(5, n_classes), lr=0.1)
        model = WorstClassClassifier([learner], cv=2, max_epochs=4, random_state=0).fit(X, np.arange(40) % 2)
        assert [member.name for member in model.portfolio_] == ["torchlearner"]  # a lambda has no name to show

    @pytest.mark.parametrize(
        ("factory", "message"),
        [
            (
                lambda n_classes: nn.Linear(7, n_classes),
                r"<lambda> cannot answer rows of shape \(8,\)\. RuntimeError: mat1",
            ),
            (
                lambda n_classes: nn.Sequential(nn.LazyLinear(4), nn.Linear(5, n_classes)),
                r"cannot be built\. RuntimeError",
            ),
            (
                lambda inputs: nn.Linear(inputs, 4),
                r"cannot be built\. TypeError: .*'inputs'\. A factory gets input_shape",
            ),
            (nn.Linear, r"network Linear cannot be built\. TypeError: .*'in_features'"),
            (failing, r"network failing cannot be built\. AssertionError\.$"),
        ],
    )
    def test_a_network_that_cannot_be_called_is_refused_before_anything_is_trained(self, blobs, factory, message):
        model = WorstClassClassifier([*FAST, TorchLearner(factory)], callbacks=[Listener()])
        with pytest.raises(ModuleError, match=message):
            model.fit(blobs[0], blobs[2])

    def test_a_network_that_does_not_take_the_rows_is_left_out(self, blobs):
        X, _, y, _ = blobs
        with pytest.warns(LearnerFailedWarning, match="mlp was left out"):
            model = WorstClassClassifier(["auto", TorchLearner("mlp")], cv=2, random_state=0).fit(csr_matrix(X), y)
        assert [member.name for member in model.portfolio_] == ["logistic", "extra-trees", "forest"]

    def test_memory_errors_stay_what_they_are(self, blobs):
        def greedy(n_classes):
            raise MemoryError

        with pytest.raises(MemoryError):
            WorstClassBooster(TorchLearner(greedy), theta=0.5).fit(blobs[0], blobs[2])

    def test_a_network_that_fails_in_training_does_not_stop_the_others(self, blobs):
        class FailsInTraining(nn.Linear):
            def forward(self, rows):
                if self.training:
                    raise ValueError("not today")
                return super().forward(rows)

        broken = TorchLearner(lambda n_classes: FailsInTraining(8, n_classes))
        with pytest.warns(LearnerFailedWarning, match="ValueError: not today"):
            model = WorstClassClassifier([*FAST, broken], cv=2, random_state=0).fit(blobs[0], blobs[2])
        assert len(model.portfolio_) == len(FAST)

    def test_names_are_distinct(self, blobs):
        members = [("a", GaussianNB()), ("a", GaussianNB()), ("a-1", GaussianNB())]
        model = WorstClassClassifier(members, cv=2, random_state=0).fit(blobs[0], blobs[2])
        assert [member.name for member in model.portfolio_] == ["a-2", "a-3", "a-1"]

    def test_a_network_of_ones_own_without_weight_is_not_needed_to_load(self, blobs, tmp_path):
        useless = TorchLearner(lambda n_classes: nn.Linear(8, n_classes), lr=1e-9)
        model = WorstClassClassifier([*FAST, useless], cv=2, max_epochs=2, random_state=0).fit(blobs[0], blobs[2])
        assert model.portfolio_[-1].weight == 0
        again = load_model(save_model(model, tmp_path / "model"))
        assert (again.predict(blobs[0]) == model.predict(blobs[0])).all()

    def test_one_that_fails_is_left_out(self, blobs):
        with pytest.warns(LearnerFailedWarning, match="failing was left out: RuntimeError: out of luck"):
            model = WorstClassClassifier([Failing(), *FAST], random_state=0).fit(blobs[0], blobs[2])
        assert [record.name for record in model.portfolio_] == ["logisticregression", "decisiontreeclassifier"]
        assert "out of luck" in model.notes_[0]

    def test_the_error_is_raised_if_all_fail(self, blobs):
        with pytest.raises(RuntimeError, match="out of luck"):
            WorstClassClassifier([Failing()]).fit(blobs[0], blobs[2])

    def test_only_learners_of_the_user_say_that_they_have_not_converged(self, blobs, monkeypatch):
        hasty = [("hasty", LogisticRegression(max_iter=1))]
        with pytest.warns(ConvergenceWarning):
            WorstClassClassifier(hasty, cv=2, random_state=0).fit(blobs[0], blobs[2])
        monkeypatch.setattr(worst_class, "portfolio_for", lambda *_: (dict(hasty), []))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            WorstClassClassifier(cv=2, random_state=0).fit(blobs[0], blobs[2])

    def test_probabilities_of_a_support_vector_machine(self):
        X, y = load_iris(return_X_y=True)
        model = SoftmaxSVC(break_ties=True).fit(X, y)
        assert (model.classes_[model.predict_proba(X).argmax(axis=1)] == model.predict(X)).all()
        two = SoftmaxSVC().fit(X[:100], y[:100]).predict_proba(X[:100])
        decision = SoftmaxSVC().fit(X[:100], y[:100]).decision_function(X[:100])
        assert np.allclose(two[:, 1], 1 / (1 + np.exp(-2 * decision)))


class TestFloors:
    def test_floors_that_are_met(self, blobs):
        X, _, y, _ = blobs
        model = WorstClassClassifier(FAST, theta={"rare": 0.35, "others": 0.3}, random_state=0).fit(X, y)
        assert model.floors_met_ is True
        assert model.shortfall_ == {}
        assert model.theta_ == (0.3, 0.3, 0.3, 0.35)

    def test_floors_that_are_missed_are_named(self, blobs):
        X, _, y, _ = blobs
        with pytest.warns(UnmetBoundWarning, match="Floors are missed on held-out rows: .*rare"):
            model = WorstClassClassifier(FAST, theta=0.99, random_state=0).fit(X, y)
        assert model.floors_met_ is False
        assert set(model.shortfall_) == {row.name for row in model.cv_report_.rows if not row.meets_floor}

    def test_without_floors_nothing_is_said_about_them(self, fitted):
        assert (fitted.theta_, fitted.floors_met_, fitted.shortfall_) == (None, None, None)

    def test_a_floor_out_of_range(self, blobs):
        with pytest.raises(ParameterError, match="theta"):
            WorstClassClassifier(FAST, theta=1.2).fit(blobs[0], blobs[2])


class TestTime:
    def test_a_time_limit_leaves_out_what_is_slow(self, blobs):
        X, _, y, _ = blobs  # a fold of the slow one takes about a second
        with pytest.warns(BudgetSpentWarning, match="slow was left out"):
            model = WorstClassClassifier([*FAST, Slow()], cv=5, time_limit=4, random_state=0).fit(X, y)
        names = [record.name for record in model.portfolio_]
        assert names[0] == "logisticregression"
        assert "slow" not in names

    def test_folds_go_first(self, blobs):
        X, _, y, _ = blobs
        with pytest.warns(BudgetSpentWarning, match="of 5 folds"):
            model = WorstClassClassifier([Slow()], time_limit=4, random_state=0).fit(X, y)
        assert model.n_folds_ < 5
        assert len(model.estimators_) == model.n_folds_

    def test_first_folds_get_their_share_of_the_limit(self):
        plan = Schedule(10.0, 5, ["a", "b", "c", "d"])  # 7 s for the first folds
        assert plan.allows("a", pytest.fail)  # the first is trained anyway
        assert plan.allows("d", lambda: 6.9)
        assert not plan.allows("b", lambda: 7.1)
        assert not plan.allows("c", lambda: np.inf)
        plan._started -= 5.0
        assert plan.allows("d", lambda: 1.9)
        plan._started -= 2.1
        assert not plan.allows("d", lambda: 0.1)
        assert plan.notes == [
            "b was left out: about 7 s would not fit into the time limit",
            "c was left out: there was no time to try it on enough rows",
            "d was left out: no time was left for it",
        ]

    def test_what_cannot_be_tried_on_few_rows_is_tried_on_its_first_fold(self):
        X, y = np.random.default_rng(0).normal(size=(400, 3)), np.r_[np.zeros(396), np.ones(4)]
        many = KNeighborsClassifier(80)  # more than the 50 rows of the first try
        model = WorstClassClassifier([*FAST, many], time_limit=1000, random_state=0).fit(X, y)
        assert [record.name for record in model.portfolio_][-1] == "kneighborsclassifier"
        assert model.n_folds_ == 5

    def test_a_time_limit_leaves_the_global_generators_alone(self, blobs):
        before = np.random.get_state()[1].copy()  # noqa: NPY002
        forest = RandomForestClassifier(3)
        WorstClassClassifier([*FAST, forest], time_limit=1000, random_state=0).fit(blobs[0], blobs[2])
        assert (np.random.get_state()[1] == before).all()  # noqa: NPY002

    def test_two_networks_share_the_time_and_keep_their_folds(self, monkeypatch):
        monkeypatch.setattr(training, "seconds_to_combine", lambda *arguments: lambda folds: 0.0)
        ticks = itertools.count()
        monkeypatch.setattr("time.perf_counter", lambda: next(ticks) / 20)  # the same on a machine of any speed
        X, y = load_iris(return_X_y=True)
        learner = TorchLearner("mlp", module_options={"hidden": (8,)}, batch_size=8)
        networks = [NetworkClassifier(learner, max_epochs=10**6)] * 2
        model = WorstClassClassifier(networks, cv=2, time_limit=8, random_state=0).fit(X, y)
        assert (model.n_folds_, len(model.portfolio_), model.notes_) == (2, 2, ())

    @pytest.mark.parametrize(
        ("n_jobs", "combining", "keep", "folds", "members"),
        [
            (1, 0.0, False, 3, ["a", "b"]),  # 9 s, less a moment: 3 s for each further fold
            (2, 0.0, False, 5, ["a", "b"]),  # two folds at a time: 6 s
            (1, 2.0, False, 2, ["a", "b"]),  # 3 s to train the second, 4 to combine two
            (1, 9.0, False, 1, ["a", "b"]),
            (1, 0.0, True, 5, ["a"]),  # 12 s for both: the second one goes
        ],
    )
    def test_folds_by_hand(self, n_jobs, combining, keep, folds, members):
        plan = Schedule(10.0, 5, ["a", "b"])
        plan.plan_folds({"a": 1.0, "b": 2.0}, lambda n: n * combining, n_jobs, keep=keep)
        assert (plan.folds, plan.members) == (folds, members)
        assert len(plan.notes) == (n_jobs == 1)

    def test_folds_that_are_trained_later_continue_the_first(self, blobs):
        X, _, y, _ = blobs
        whole, limited = (
            WorstClassClassifier(FAST, time_limit=limit, random_state=0).fit(X, y) for limit in (None, 1000)
        )
        assert limited.n_folds_ == whole.n_folds_ == 5
        np.testing.assert_array_equal(limited.predict_proba(X), whole.predict_proba(X))
        assert limited.cv_report_ == whole.cv_report_

    def test_an_interrupt_in_later_folds_keeps_the_first(self, blobs):
        class Stops(Callback):
            def on_step_end(self, estimator, info):
                self.steps = getattr(self, "steps", 0) + 1
                if self.steps == 3:  # of two members: the first one's later folds
                    raise KeyboardInterrupt

        model = WorstClassClassifier(FAST, time_limit=1000, callbacks=[Stops()], random_state=0)
        with pytest.raises(KeyboardInterrupt):
            model.fit(blobs[0], blobs[2])
        assert model.n_folds_ == 1
        assert len(model.portfolio_) == 2
        assert len(model.predict(blobs[1])) == len(blobs[1])

    def test_a_network_gets_its_share_of_the_time(self):
        X, y = load_iris(return_X_y=True)
        learner = TorchLearner("mlp", module_options={"hidden": (8,)}, batch_size=8)
        model = WorstClassClassifier([NetworkClassifier(learner, max_epochs=10**6)], cv=2, time_limit=8, random_state=0)
        model.fit(X, y)
        assert [network.max_seconds for network in model.estimators_] == pytest.approx([2.8, 2.8])
        assert all(network.n_epochs_ < 10**6 for network in model.estimators_)

    @pytest.mark.parametrize(("cv", "learners", "epochs"), [(3, 1, 4), (1, 1, 13), (2, 2, 3), (5, 3, 1)])
    def test_networks_and_folds_share_the_epochs(self, cv, learners, epochs):
        X, y = load_iris(return_X_y=True)
        learner = TorchLearner("mlp", module_options={"hidden": (8,)}, batch_size=50)
        networks = [NetworkClassifier(learner, max_epochs=1000), learner, learner][:learners]
        model = WorstClassClassifier([FAST[1], *networks], cv=cv, max_epochs=13, random_state=0)
        model._combine = lambda candidates, *rest: setattr(model, "candidates", candidates)
        model._warn = lambda schedule: None
        model.fit(X, y)
        _, *trained = model.candidates
        assert [[fitted.n_epochs_ for fitted in member.models] for member in trained] == [[epochs] * cv] * learners

    def test_an_interrupt_keeps_the_finished_members(self, blobs):
        model = WorstClassClassifier([FAST[1], Interrupted()], random_state=0)
        with pytest.raises(KeyboardInterrupt):
            model.fit(blobs[0], blobs[2])
        assert [record.name for record in model.portfolio_] == ["decisiontreeclassifier"]
        assert len(model.predict(blobs[1])) == len(blobs[1])
        with pytest.raises(KeyboardInterrupt):
            WorstClassClassifier([Interrupted()]).fit(blobs[0], blobs[2])

    def test_progress_is_told(self, blobs):
        steps = []

        class Listener(Callback):
            def on_step_end(self, estimator, info):
                steps.append((info.name, info.done, info.total, info.seconds_left >= 0))

        WorstClassClassifier(FAST, callbacks=[Listener()], random_state=0).fit(blobs[0], blobs[2])
        assert steps == [("logisticregression", 1, 2, True), ("decisiontreeclassifier", 2, 2, True)]

    def test_the_time_left_is_not_told_while_a_network_is_to_come(self, blobs):
        left = []

        class Listener(Callback):
            def on_step_end(self, estimator, info):
                left.append(info.seconds_left is None)

        learners = [*FAST, TorchLearner("mlp"), GaussianNB()]
        WorstClassClassifier(learners, cv=2, max_epochs=2, callbacks=[Listener()]).fit(blobs[0], blobs[2])
        assert left == [True, True, False, False]


class TestRefusals:
    @pytest.mark.parametrize(
        ("options", "name"), [({"cv": 0}, "cv"), ({"cv": "five"}, "cv"), ({"time_limit": -1}, "time_limit")]
    )
    def test_parameters(self, blobs, options, name):
        with pytest.raises(ParameterError, match=name):
            WorstClassClassifier(FAST, **options).fit(blobs[0], blobs[2])

    def test_half_of_the_validation_rows(self, blobs):
        with pytest.raises(DataError, match="go together"):
            WorstClassClassifier(FAST).fit(blobs[0], blobs[2], X_val=blobs[1])

    def test_validation_rows_that_are_trained_on(self, blobs):
        with pytest.raises(DataError, match="train"):
            WorstClassClassifier(FAST).fit(blobs[0], blobs[2], X_val=blobs[0][:100], y_val=blobs[2][:100])

    def test_a_single_validation_row(self, blobs):
        X, X_val, y, y_val = blobs
        with pytest.raises(DataError, match=r"X_val must have at least two rows.*Got 1\."):
            WorstClassClassifier(FAST).fit(X, y, X_val[:1], y_val[:1])

    def test_one_row_of_each_class(self):
        with pytest.raises(DataError, match="a class with two rows"):
            WorstClassClassifier(FAST).fit(np.eye(3), ["a", "b", "c"])

    def test_missing_labels(self, blobs):
        with pytest.raises(DataError, match="requires y"):
            WorstClassClassifier(FAST).fit(blobs[0])

    def test_a_torch_data_set(self):
        import torch

        rows = torch.utils.data.TensorDataset(torch.zeros(4, 2), torch.tensor([0, 1, 0, 1]))
        with pytest.raises(DataError, match="rows in memory"):
            WorstClassClassifier(FAST).fit(rows)

    def test_other_columns(self, fitted, blobs):
        with pytest.raises(DataError, match="features"):
            fitted.predict(blobs[1][:, :3])


class TestTheRoad:
    def test_saved_and_loaded(self, fitted, blobs, tmp_path):
        again = load_model(save_model(fitted, tmp_path / "model"))
        assert (again.decision_function(blobs[1]) == fitted.decision_function(blobs[1])).all()
        assert again.portfolio_ == fitted.portfolio_
        assert str(again.cv_report_) == str(fitted.cv_report_)

    def test_the_default_is_saved_and_loaded(self, tmp_path):
        X, y = load_wine(return_X_y=True)
        model = WorstClassClassifier(random_state=0).fit(pd.DataFrame(X).rename(columns=str), y)
        again = load_model(save_model(model, tmp_path / "model"))
        assert (
            again.predict_proba(pd.DataFrame(X).rename(columns=str))
            == model.predict_proba(pd.DataFrame(X).rename(columns=str))
        ).all()

    def test_networks_are_saved_and_loaded(self, tmp_path):
        X, y = load_iris(return_X_y=True)
        learner = TorchLearner("mlp", module_options={"hidden": (8,)}, lr=0.01)
        model = WorstClassClassifier([learner], cv=2, random_state=0).fit(X, y)
        again = load_model(save_model(model, tmp_path / "model"))
        assert (again.predict(X) == model.predict(X)).all()

    def test_rows_it_has_seen_prove_nothing(self, fitted, blobs):
        X, X_new, y, y_new = blobs
        with pytest.raises(DataError, match=r"seen|trained"):
            certify(fitted, X, y, require=0.5)
        assert certify(fitted, X_new, y_new, require=0.2).verdict in ("proven", "not proven")

    def test_wrapped(self, fitted, blobs):
        X_new, y_new = blobs[1], blobs[3]
        assert WorstClassOffsets(fitted, cv="prefit").fit(X_new, y_new).predict(X_new).shape == y_new.shape
        abstaining = AbstainingClassifier(fitted, risk=0.8, cv="prefit").fit(X_new, y_new)
        assert len(abstaining.predict(X_new)) == len(X_new)

    def test_cloned(self, fitted):
        assert clone(fitted).get_params()["random_state"] == 0


@pytest.mark.slow
def test_the_example_runs(capsys):
    example = Path(__file__).parents[1] / "examples" / "quickstart_table.py"
    runpy.run_path(str(example), run_name="__main__")
    shown = capsys.readouterr().out
    assert "PROVEN" in shown.upper()
    assert "100% equal answers" in shown
    forest, ours = (float(text) for text in re.findall(r"worst ([\d.]+)%", shown)[0:3:2])
    assert ours < forest - 20


# networks: class weights


class Recorder(NetworkClassifier):
    """Notes the weight that each class has in training, by labels 0, 1, 2; always answers 0."""

    heard: ClassVar[list[np.ndarray]] = []

    def fit(self, X, y, X_val=None, y_val=None, sample_weight=None):
        self.heard.append(np.bincount(y, sample_weight, minlength=3))
        self.classes_, self.stages_ = np.arange(3), {}
        return self

    def predict_proba(self, X):
        return np.tile([0.8, 0.1, 0.1], (len(X), 1))


def test_networks_weigh_classes_by_the_square_root_of_their_size_in_every_fold():
    X, y = np.arange(60.0)[:, None], np.repeat([0, 1, 2], [40, 12, 8])
    Recorder.heard.clear()
    WorstClassClassifier([Recorder(TorchLearner("mlp"))], cv=4, random_state=0).fit(X, y)
    assert len(Recorder.heard) == 4
    for total in Recorder.heard:
        assert total / total[0] == pytest.approx([1, (12 / 40) ** 0.5, (8 / 40) ** 0.5])


def test_the_weights_are_the_same_with_rows_held_out_by_the_user():
    X, y = np.arange(60.0)[:, None], np.repeat([0, 1, 2], [40, 12, 8])
    Recorder.heard.clear()
    model = WorstClassClassifier([Recorder(TorchLearner("mlp"))], random_state=0)
    model.fit(X, y, np.arange(100, 200.0)[:, None], np.arange(100) % 3)
    (total,) = Recorder.heard
    assert total / total[0] == pytest.approx([1, (12 / 40) ** 0.5, (8 / 40) ** 0.5])


# stages of networks


def test_held_out_rows_choose_the_epoch_of_networks():
    """Ten rows of a class among hundreds: a network that trains on is soon sure of the wrong class."""
    splits = load_dataset("artificial-imbalanced", n_min=10, n_test=200)
    model = WorstClassClassifier([TorchLearner("mlp", lr=0.01)], cv=2, max_epochs=160, random_state=0)
    model.fit(splits.train.X, splits.train.y)
    epochs = {member.best_epoch_ for member in model.estimators_}
    assert epochs <= {5, 10, 20, 40}  # of 80 epochs each
    assert len(epochs) == 1  # one choice for all folds
    assert {member.n_epochs_ for member in model.estimators_} == {80}
    assert all(not getattr(member, "stages_", {}) for member in model.estimators_)  # let go


def test_the_log_loss_of_a_member_is_the_mean_over_the_classes():
    probability = np.array([[0.5, 0.5], [0.25, 0.75], [1.0, 0.0], [0.2, 0.8]])
    member = Candidate("m", [], probability, np.array([0, 0, 0, 1]), 0.0)
    first = (np.log(2) + np.log(4) + 0) / 3
    assert log_loss(member) == pytest.approx((first + np.log(1 / 0.8)) / 2)
