"""A model folder: what comes back is what was saved, and nothing in it runs code."""

from __future__ import annotations

import functools
import json
import pickle
import shutil
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import skops.io
import torch
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from torch import nn

from worstclass import SklearnLearner, TorchLearner, WorstClassBooster, load_model, save_model
from worstclass.data.augmentation import Compose, HorizontalFlip, RandomCrop
from worstclass.exceptions import ModelFormatError, ParameterError
from worstclass.losses.focal import Focal
from worstclass.losses.influence_balanced import InfluenceBalanced
from worstclass.losses.weighting import Deferred, EffectiveNumber, Weighted


def own_network(input_shape, n_classes):
    return nn.Sequential(nn.Linear(input_shape[0], 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, n_classes))


MLP = TorchLearner("mlp", module_options={"hidden": (16,)}, lr=0.02, standardize=True)
LEARNERS = {
    "torch": MLP,
    "tree": DecisionTreeClassifier(),
    "forest": RandomForestClassifier(5),
    "hist": HistGradientBoostingClassifier(max_iter=10, min_samples_leaf=5),
    "gradient": GradientBoostingClassifier(n_estimators=10),
    "logistic": LogisticRegression(),
    "sgd": SGDClassifier(),
    "mlp": MLPClassifier((8,), learning_rate_init=0.05),
    "pipeline": make_pipeline(StandardScaler(), LogisticRegression()),
}


def fit(learner, X, y, theta=0.7, **options):
    return WorstClassBooster(learner, theta, n_rounds=3, gamma=0.4995, random_state=0, **options).fit(X, y)


@pytest.mark.parametrize("name", LEARNERS)
def test_what_comes_back_answers_alike(name, blobs, tmp_path):
    X, y = blobs
    model = fit(LEARNERS[name], X, y)
    again = load_model(save_model(model, tmp_path / "model"))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.history_ == model.history_
    assert again.training_report_ == model.training_report_
    assert (again.bound_met_, again.theta_, again.gamma_) == (model.bound_met_, model.theta_, model.gamma_)
    assert again.classes_.dtype == model.classes_.dtype
    # and it can be fitted again, to the same result
    np.testing.assert_array_equal(again.fit(X, y).predict_proba(X), model.predict_proba(X))


def test_members_can_stay_on_disk(blobs, tmp_path):
    X, y = blobs
    model = fit(MLP, X, y)
    again = load_model(save_model(model, tmp_path), keep_in_memory=False)
    assert not any("state" in vars(member) for member in again.estimators_)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize(
    "labels", [[0, 1, 2], [0.0, 1.0, 2.0], ["a", "ü", "c d"], [True, False]], ids=["int", "float", "text", "bool"]
)
def test_labels_keep_their_type(labels, blobs, tmp_path):
    X, codes = blobs[0], np.unique(blobs[1], return_inverse=True)[1]
    y = np.array(labels)[np.minimum(codes, len(labels) - 1)]
    model = fit(DecisionTreeClassifier(), X, y)
    again = load_model(save_model(model, tmp_path))
    assert again.predict(X).dtype == model.predict(X).dtype
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_floors_a_class_and_column_names_come_back(blobs, tmp_path):
    frame = pd.DataFrame(blobs[0], columns=["x", "y"])
    model = fit(DecisionTreeClassifier(), frame, blobs[1], theta={"a": 0.8, "others": 0.6})
    again = load_model(save_model(model, tmp_path))
    assert again.theta_ == (0.8, 0.6, 0.6)
    assert again.theta == {"a": 0.8, "b": 0.6, "c": 0.6}
    with pytest.raises(ValueError, match="feature names"):
        again.predict(frame.rename(columns={"x": "z"}))


def test_a_network_of_the_user_s_own_is_asked_for_and_never_looked_up(blobs, tmp_path):
    X, y = blobs
    model = fit(TorchLearner(own_network, lr=0.05, batch_size=32), X, y)
    save_model(model, tmp_path)
    with pytest.raises(ModelFormatError, match=r"own_network.*load_model\(path, module=factory\)"):
        load_model(tmp_path)
    again = load_model(tmp_path, module=own_network)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_saving_again_leaves_no_member_of_the_model_before(blobs, tmp_path):
    X, y = blobs
    save_model(fit(MLP, X, y), tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    save_model(fit(LogisticRegression(), X, y), tmp_path)
    assert {file.suffix for file in (tmp_path / "members").iterdir()} == {".skops"}
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert load_model(tmp_path).learner_.estimator.__class__ is LogisticRegression


class TestRefusals:
    @pytest.fixture
    def folder(self, blobs, tmp_path):
        return save_model(fit(MLP, *blobs), tmp_path / "model")

    def test_an_unfitted_booster(self, tmp_path):
        with pytest.raises(ParameterError, match="a fitted WorstClassBooster"):
            save_model(WorstClassBooster(MLP, 0.5), tmp_path)

    def test_a_folder_that_holds_no_model(self, tmp_path):
        with pytest.raises(ModelFormatError, match=r"has no model.json"):
            load_model(tmp_path)

    def test_broken_json(self, folder):
        (folder / "model.json").write_text("{")
        with pytest.raises(ModelFormatError, match=r"model.json cannot be read"):
            load_model(folder)

    def test_another_version(self, folder):
        card = json.loads((folder / "model.json").read_text())
        (folder / "model.json").write_text(json.dumps({**card, "format_version": 2}))
        with pytest.raises(ModelFormatError, match="format_version"):
            load_model(folder)

    def test_a_missing_or_cut_member(self, folder):
        member = folder / "members" / "0002.safetensors"
        member.write_bytes(member.read_bytes()[:50])
        with pytest.raises(ModelFormatError, match=r"0002.safetensors cannot be read"):
            load_model(folder)
        member.unlink()
        with pytest.raises(ModelFormatError, match=r"0002.safetensors cannot be read"):
            load_model(folder)

    def test_a_pickle_in_place_of_a_member_is_not_run(self, blobs, tmp_path):
        class Bomb:
            def __reduce__(self):
                return shutil.rmtree, (str(tmp_path / "precious"),)

        (tmp_path / "precious").mkdir()
        for learner, name in ((MLP, "0001.safetensors"), (LogisticRegression(), "0001.skops")):
            folder = save_model(fit(learner, *blobs), tmp_path / "model")
            (folder / "members" / name).write_bytes(pickle.dumps(Bomb()))
            with pytest.raises(ModelFormatError, match=r"0001\..* cannot be read"):
                load_model(folder)
        assert (tmp_path / "precious").is_dir()

    def test_a_function_that_runs_code_cannot_hide_in_a_transformer(self, blobs, tmp_path):
        run_text = functools.partial(np.testing.measure, f"open({str(tmp_path / 'ran')!r}, 'w')")
        trap = make_pipeline(FunctionTransformer(run_text), StandardScaler())
        folder = save_model(fit(LEARNERS["pipeline"], *blobs), tmp_path / "model")
        skops.io.dump(trap, folder / "encoder.skops")
        with pytest.raises(ModelFormatError, match=r"numpy\.testing.*measure"):
            load_model(folder)
        assert not (tmp_path / "ran").exists()

    def test_a_factory_of_another_shape(self, folder):
        with pytest.raises(ModelFormatError, match="does not fit the stored members"):
            load_model(folder, module=lambda hidden: nn.Linear(2, 3))

    def test_types_outside_scikit_learn_are_named_and_need_leave(self, blobs, tmp_path):
        folder = save_model(fit(SklearnLearner(OddClassifier()), *blobs), tmp_path / "model")
        with pytest.raises(ModelFormatError, match=r"not a class of scikit-learn: \['.*OddClassifier'\]"):
            load_model(folder)
        again = load_model(folder, trusted=[f"{OddClassifier.__module__}.OddClassifier"])
        assert len(again.predict(blobs[0])) == 90


def test_a_model_that_stayed_on_disk_can_be_saved_over_itself(blobs, tmp_path):
    X, y = blobs
    model = fit(MLP, X, y)
    save_model(model, tmp_path)
    lazy = load_model(tmp_path, keep_in_memory=False)
    save_model(lazy, tmp_path)
    np.testing.assert_array_equal(lazy.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(load_model(tmp_path).predict_proba(X), model.predict_proba(X))
    assert not (tmp_path / ".saving").exists()


def test_a_save_that_fails_leaves_the_old_model_alone(blobs, tmp_path):
    X, y = blobs
    old = fit(MLP, X, y)
    save_model(old, tmp_path)
    broken = fit(MLP, X, y)
    broken.gamma = object()  # nothing JSON can keep
    with pytest.raises(TypeError):
        save_model(broken, tmp_path)
    np.testing.assert_array_equal(load_model(tmp_path).predict_proba(X), old.predict_proba(X))


def test_parameters_from_numpy_are_saved(blobs, tmp_path):
    model = WorstClassBooster(LogisticRegression(), np.float64(0.7), n_rounds=np.int64(3), random_state=0).fit(*blobs)
    assert load_model(save_model(model, tmp_path)).n_rounds == 3


def test_a_floor_that_is_no_decimal_stays_exact(blobs, tmp_path):
    X, y = blobs
    model = fit(LogisticRegression(), X, y, theta=Fraction(2, 3))
    again = load_model(save_model(model, tmp_path))
    assert again.theta == Fraction(2, 3)
    assert again.bound_met_ == model.bound_met_


def test_threads_may_predict_at_the_same_time(blobs):
    X, y = blobs
    model = fit(MLP, X, y)
    many = np.tile(X, (50, 1))
    expected = model.predict(many)
    with ThreadPoolExecutor(4) as pool:
        for answers in pool.map(lambda _: model.predict(many), range(12)):
            np.testing.assert_array_equal(answers, expected)


class OddClassifier(LogisticRegression):
    """A classifier that scikit-learn does not ship."""


def test_the_same_seed_writes_the_same_bytes(blobs, tmp_path):
    for name in ("one", "two"):
        torch.manual_seed(len(name))
        save_model(fit(MLP, *blobs), tmp_path / name)
    for file in ("model.json", "encoder.safetensors", "members/0001.safetensors", "members/0003.safetensors"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


@pytest.mark.filterwarnings("ignore::worstclass.exceptions.UnmetBoundWarning")  # there is nothing in it to learn
def test_losses_heads_and_augmentations_come_back_with_their_options(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 256, (30, 1, 8, 8), dtype=np.uint8), np.repeat(["a", "b", "c"], 10)
    learner = TorchLearner(
        "cnn-small",
        loss=Weighted(InfluenceBalanced(base=Focal(2.0), after=1), Deferred(EffectiveNumber(0.9), 2)),
        head="cosine",
        augment=Compose((RandomCrop(1), HorizontalFlip(0.25))),
    )
    booster = WorstClassBooster(learner, 0.0, n_rounds=2, max_epochs=50, select_on="average", random_state=0)
    booster.fit(X, y)
    loaded = load_model(save_model(booster, tmp_path))
    assert loaded.learner.loss == learner.loss
    assert loaded.learner.augment == learner.augment
    assert loaded.get_params()["max_epochs"] == 50
    assert loaded.n_epochs_ == booster.n_epochs_
    np.testing.assert_array_equal(loaded.predict(X), booster.predict(X))
    again = loaded.fit(X, y)
    np.testing.assert_array_equal(again.predict_proba(X), booster.predict_proba(X))


@pytest.mark.parametrize("kind", ["os:system", "worstclass.losses.focal:os", "worstclass.losses.nowhere:Focal"])
def test_a_model_that_names_a_foreign_loss_is_refused(kind, tmp_path, blobs):
    booster = WorstClassBooster(TorchLearner("mlp"), 0.5, gamma=0.4995, n_rounds=1, random_state=0).fit(*blobs)
    save_model(booster, tmp_path)
    card = json.loads((tmp_path / "model.json").read_text())
    card["learner"]["loss"] = {"kind": kind, "options": {}}
    (tmp_path / "model.json").write_text(json.dumps(card))
    with pytest.raises(ModelFormatError, match="not one of ours"):
        load_model(tmp_path)
