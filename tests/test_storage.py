"""Model folders: what is loaded is what was saved, for every estimator, alone and wrapped."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from torch import nn

from worstclass import (
    AbstainingClassifier,
    TorchLearner,
    WorstClassBooster,
    WorstClassClassifier,
    WorstClassOffsets,
    load_model,
    save_model,
)
from worstclass.boosting.callbacks import Callback
from worstclass.boosting.oco import InstanceBooster
from worstclass.data.augmentation import Augmentation
from worstclass.ensembles.networks import DeepEnsemble, NetworkClassifier
from worstclass.exceptions import ModelFormatError, ParameterError
from worstclass.losses.cross_entropy import Focal
from worstclass.losses.influence_balanced import InfluenceBalanced
from worstclass.losses.weighting import Deferred, EffectiveNumber, Weighted
from worstclass.storage import results_folder
from worstclass.storage.codec import NotStored

pytestmark = pytest.mark.filterwarnings("ignore::worstclass.exceptions.WorstClassWarning")


def own_network(input_shape, n_classes):
    return nn.Sequential(nn.Linear(input_shape[0], 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, n_classes))


def own_optimizer(parameters, lr):
    return torch.optim.SGD(parameters, lr=lr)


def clouds(n, seed):
    """Three classes in the plane that overlap a little; labels are strings."""
    rng = np.random.default_rng(seed)
    k = np.arange(n) % 3
    return rng.normal(np.array([[0, 0], [2.5, 0], [0, 2.5]])[k], 0.7), np.array(["a", "b", "c"])[k]


TRAINING, TUNING, PROVING, FRESH = clouds(90, 0), clouds(60, 1), clouds(300, 2), clouds(60, 3)
MLP = TorchLearner("mlp", module_options={"hidden": (8,)}, lr=0.02, standardize=True)
PIPELINE = make_pipeline(StandardScaler(), LogisticRegression())
ROUNDS = {"gamma": 0.1, "n_rounds": 3, "random_state": 0}

ESTIMATORS = {
    "booster of networks": WorstClassBooster(MLP, 0.5, extend=False, **ROUNDS),
    "booster of trees": WorstClassBooster(DecisionTreeClassifier(), {"a": 0.8, "others": 0.6}, extend=False, **ROUNDS),
    "booster of pipelines": WorstClassBooster(PIPELINE, Fraction(1, 3), **ROUNDS),
    "instance booster": InstanceBooster(MLP, **ROUNDS),
    "network": NetworkClassifier(MLP, max_epochs=30, random_state=0),
    "networks": DeepEnsemble(MLP, n_estimators=2, max_epochs=40, random_state=0),
    "scikit-learn": LogisticRegression(),
    "pipeline": PIPELINE,
}
WRAPPERS = {
    "plain": lambda model: model,
    "offsets": lambda model: WorstClassOffsets(model, {"a": 0.5, "others": 0.4}, cv="prefit").fit(*TUNING),
    "abstaining": lambda model: AbstainingClassifier(model, 0.3, cv="prefit", random_state=3).fit(*PROVING),
    "abstaining, offsets": lambda model: WRAPPERS["abstaining"](WRAPPERS["offsets"](model)),
    "offsets, abstaining": lambda model: WRAPPERS["offsets"](WRAPPERS["abstaining"](model)),
}
_fitted = {}


def fitted(name):
    """Return one of ``ESTIMATORS``, fitted once."""
    if name not in _fitted:
        _fitted[name] = clone(ESTIMATORS[name]).fit(*TRAINING)
    return _fitted[name]


def fit(learner, X, y, theta=0.7, **options):
    return WorstClassBooster(learner, theta, n_rounds=3, gamma=0.4995, random_state=0, **options).fit(X, y)


def files_of(folder):
    """Return the bytes of all files."""
    files = [file for file in folder.rglob("*") if file.is_file()]
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def assert_same(ours, theirs, where=""):
    """Compare fitted attributes of any kind."""
    if isinstance(theirs, np.ndarray):
        assert ours.dtype == theirs.dtype, where
        np.testing.assert_array_equal(ours, theirs, err_msg=where)
    elif hasattr(theirs, "training") and hasattr(theirs, "calibration"):  # SeenRows
        for name, value in vars(theirs).items():
            assert_same(getattr(ours, name), value, f"{where}.{name}")
    else:
        assert type(ours) is type(theirs), where
        assert ours == theirs, where


@pytest.mark.parametrize("around", WRAPPERS)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator_alone_and_wrapped(name, around, tmp_path):
    X, _ = FRESH
    model = WRAPPERS[around](fitted(name))
    again = load_model(save_model(model, tmp_path / "one"))
    assert type(again) is type(model)
    while True:
        for method in ("predict", "predict_proba", "decision_function", "decision_margin", "mean_proba"):
            if hasattr(model, method):
                np.testing.assert_array_equal(getattr(again, method)(X), getattr(model, method)(X), err_msg=method)
        apart = ("estimator_", "estimators_", "learner_", "encoder_")
        for attribute, value in model.state().items() if hasattr(model, "state") else ():
            if attribute not in apart:
                assert_same(getattr(again, attribute), value, attribute)
        if not hasattr(model, "estimator_"):
            break
        assert again.estimator is again.estimator_
        model, again = model.estimator_, again.estimator_
    again = load_model(tmp_path / "one")
    unfitted = clone(again)
    assert not hasattr(unfitted, "classes_")
    assert repr(unfitted) == repr(clone(again))
    save_model(again, tmp_path / "two")
    assert files_of(tmp_path / "two") == files_of(tmp_path / "one")


@pytest.mark.parametrize("name", ["booster of networks", "booster of pipelines", "instance booster", "networks"])
def test_reports_and_bounds_are_restored_and_a_new_fit_gives_the_same_model(name, tmp_path):
    model = fitted(name)
    again = load_model(save_model(model, tmp_path))
    for attribute in ("training_report_", "validation_report_", "bound_met_", "shortfall_", "theta_", "history_"):
        assert getattr(again, attribute, None) == getattr(model, attribute, None), attribute
    np.testing.assert_array_equal(again.fit(*TRAINING).predict_proba(FRESH[0]), model.predict_proba(FRESH[0]))


@pytest.mark.parametrize(
    "learner",
    [
        RandomForestClassifier(5),
        HistGradientBoostingClassifier(max_iter=10, min_samples_leaf=5),
        GradientBoostingClassifier(n_estimators=10),
        SGDClassifier(),
        MLPClassifier((8,), learning_rate_init=0.05),
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_boosters_of_other_learners(learner, blobs, tmp_path):
    model = fit(learner, *blobs)
    again = load_model(save_model(model, tmp_path))
    np.testing.assert_array_equal(again.predict_proba(blobs[0]), model.predict_proba(blobs[0]))


@pytest.mark.parametrize("around", ["plain", "abstaining, offsets"])
@pytest.mark.parametrize("name", ["booster of networks", "instance booster", "network", "networks"])
def test_torch_members_can_stay_on_disk(name, around, tmp_path):
    model = WRAPPERS[around](fitted(name))
    again = load_model(save_model(model, tmp_path), keep_in_memory=False)
    np.testing.assert_array_equal(again.predict(FRESH[0]), model.predict(FRESH[0]))
    while hasattr(again, "estimator_"):
        again = again.estimator_
    assert all(callable(member.weights) for member in again.estimators_)
    for file in tmp_path.rglob("0001.safetensors"):
        file.unlink()
    with pytest.raises(ModelFormatError, match=r"lacks 0001\.safetensors"):
        again.predict(FRESH[0])


def test_a_model_whose_members_stay_on_disk_can_be_saved_over_itself_and_wrapped_there(tmp_path):
    model = fitted("booster of networks")
    save_model(model, tmp_path)
    lazy = load_model(tmp_path, keep_in_memory=False)
    save_model(lazy, tmp_path)
    np.testing.assert_array_equal(lazy.predict_proba(FRESH[0]), model.predict_proba(FRESH[0]))
    wrapped = WRAPPERS["offsets"](lazy)
    again = load_model(save_model(wrapped, tmp_path), keep_in_memory=False)  # the members are in inner/members now
    assert not (tmp_path / "members").exists()
    np.testing.assert_array_equal(again.predict(FRESH[0]), WRAPPERS["offsets"](model).predict(FRESH[0]))
    save_model(again, tmp_path / "copy")
    assert again.estimator_.estimators_[0].weights.args[0] == (tmp_path / "inner/members/0001.safetensors").resolve()


LABELS = {
    "int": np.array([3, 5, 7]),
    "small int": np.array([3, 5, 7], dtype=np.int8),
    "float": np.array([0.0, 1.0, 2.0]),
    "text": np.array(["a", "ü", "c d"]),
    "wide text": np.array(["a", "b", "c"], dtype="<U9"),
    "object": np.array(["a", "b", "c"], dtype=object),
    "bool": np.array([False, True]),
}


@pytest.mark.parametrize("name", LABELS)
def test_labels_and_floors_by_label_keep_their_type(name, blobs, tmp_path):
    labels = LABELS[name]
    X, codes = blobs[0], np.unique(blobs[1], return_inverse=True)[1]
    y = labels[np.minimum(codes, len(labels) - 1)]
    model = fit(DecisionTreeClassifier(), X, y, theta={label: 0.5 + k / 10 for k, label in enumerate(labels)})
    wrapped = WorstClassOffsets(model, dict.fromkeys(labels, 0.999), cv="prefit").fit(X[:60] + 0.01, y[:60])
    again = load_model(save_model(wrapped, tmp_path))
    assert again.predict(X).dtype == wrapped.predict(X).dtype
    np.testing.assert_array_equal(again.predict(X), wrapped.predict(X))
    assert again.shortfall_ == wrapped.shortfall_
    assert again.shortfall_
    assert again.estimator_.theta == model.theta
    assert again.estimator_.theta_ == model.theta_


def test_parameters_come_back_as_they_were_given(blobs, tmp_path):
    options = {"gamma": np.float64(0.4995), "n_rounds": np.int64(3), "max_seconds": 3600.5}
    model = WorstClassBooster(LogisticRegression(C=2.0), {"a": Fraction(2, 3), "others": 0.5}, **options)
    model.set_params(random_state=np.random.default_rng(0), callbacks=[Callback()]).fit(*blobs)
    params = load_model(save_model(model, tmp_path)).get_params()
    expected = {**model.get_params(), "random_state": None, "callbacks": None}
    assert repr(params.pop("learner")) == repr(expected.pop("learner"))
    assert params == expected


def test_a_fitted_estimator_among_the_parameters_is_stored_unfitted(blobs, tmp_path):
    model = fit(DecisionTreeClassifier().fit(*blobs), *blobs)
    again = load_model(save_model(model, tmp_path))
    assert not hasattr(again.learner, "tree_")


def test_a_splitter_of_scikit_learn_comes_back_and_another_by_name(blobs, tmp_path):
    for cv, expected in ((StratifiedKFold(2), "StratifiedKFold"), (iter([]), "builtins:list_iterator")):
        model = WorstClassOffsets(LogisticRegression(), cv=3).fit(*blobs).set_params(cv=cv)
        again = load_model(save_model(model, tmp_path))
        assert expected in repr(again.cv)
        np.testing.assert_array_equal(again.offsets_, model.offsets_)
    with pytest.raises(ParameterError, match=r"cv.*NotStored\(name='builtins:list_iterator'\)"):
        again.fit(*blobs)


def frame_of(X):
    return pd.DataFrame({"x": X[:, 0], "side": np.where(X[:, 1] > 1, "upper", "lower"), "y": X[:, 1]})


@pytest.mark.parametrize("around", ["plain", "abstaining, offsets"])
def test_data_frames_with_columns_of_text(around, tmp_path):
    encoder = make_column_transformer((OneHotEncoder(), ["side"]), remainder="passthrough")
    booster = WorstClassBooster(make_pipeline(encoder, DecisionTreeClassifier(max_depth=4)), 0.4, **ROUNDS)
    model = booster.fit(frame_of(TRAINING[0]), TRAINING[1])
    if around != "plain":
        model = WorstClassOffsets(model, cv="prefit").fit(frame_of(TUNING[0]), TUNING[1])
        model = AbstainingClassifier(model, 0.4, cv="prefit").fit(frame_of(PROVING[0]), PROVING[1])
    again = load_model(save_model(model, tmp_path))
    frame = frame_of(FRESH[0])
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
    np.testing.assert_array_equal(again.feature_names_in_, ["x", "side", "y"])
    with pytest.raises(ValueError, match="feature names"):
        again.predict(frame.rename(columns={"x": "z"}))
    with pytest.raises(ValueError, match="Column 'side' holds text"):
        again.predict(frame.assign(side=1.5))


class TestFunctionsOfTheUser:
    def test_a_network_is_asked_for_and_never_imported(self, blobs, tmp_path):
        model = fit(TorchLearner(own_network, lr=0.05, batch_size=32), *blobs)
        for saved in (model, WorstClassOffsets(model, cv="prefit").fit(*TUNING)):
            save_model(saved, tmp_path)
            with pytest.raises(ModelFormatError, match=r"own_network.*load_model\(path, module=factory\)"):
                load_model(tmp_path)
            for keep_in_memory in (True, False):
                again = load_model(tmp_path, module=own_network, keep_in_memory=keep_in_memory)
                np.testing.assert_array_equal(again.predict(blobs[0]), saved.predict(blobs[0]))

    def test_another_network_is_refused(self, blobs, tmp_path):
        learner = TorchLearner(own_network, lr=0.05, batch_size=32)
        for model in (fit(learner, *blobs), NetworkClassifier(learner, max_epochs=1).fit(*blobs)):
            folder = save_model(model, tmp_path)
            for keep_in_memory in (True, False):
                with pytest.raises(ModelFormatError, match=r"does not fit the stored members.*Pass the factory"):
                    load_model(folder, module=lambda: nn.Linear(2, 3), keep_in_memory=keep_in_memory)

    def test_a_network_by_name_is_not_replaced(self, blobs, tmp_path):
        learners = [TorchLearner("mlp", module_options={"hidden": (4,)}), TorchLearner(own_network)]
        model = WorstClassClassifier(learners, cv=2, max_epochs=8, random_state=0).fit(*blobs)
        model.weights_[:] = 0.5  # both answer
        again = load_model(save_model(model, tmp_path), module=own_network)
        np.testing.assert_array_equal(again.predict_proba(blobs[0]), model.predict_proba(blobs[0]))
        assert again.learners[0].module == "mlp"

    def test_an_optimizer_and_a_loss_are_kept_by_name_and_needed_only_to_fit(self, blobs, tmp_path):
        learner = TorchLearner("mlp", optimizer=own_optimizer, loss=nn.functional.cross_entropy)
        learner.loss = lambda logits, target: nn.functional.cross_entropy(logits, target, reduction="none")
        model = NetworkClassifier(learner, max_epochs=2, random_state=0).fit(*blobs)
        again = load_model(save_model(model, tmp_path / "one"))
        np.testing.assert_array_equal(again.predict_proba(blobs[0]), model.predict_proba(blobs[0]))
        assert again.learner.optimizer == NotStored(f"{__name__}:own_optimizer")
        assert files_of(save_model(again, tmp_path / "two")) == files_of(tmp_path / "one")
        with pytest.raises(ModelFormatError, match=r"own_optimizer\), which is not stored with it.*set_params"):
            again.fit(*blobs)

    def test_a_learner_of_their_own_cannot_be_stored(self, blobs, tmp_path):
        class OwnLearner(TorchLearner):
            pass

        model = NetworkClassifier(OwnLearner("mlp"), max_epochs=1, random_state=0).fit(*blobs)
        with pytest.raises(ParameterError, match=r"params.learner cannot be stored without a pickle"):
            save_model(model, tmp_path / "model")
        assert not (tmp_path / "model").exists()


def test_losses_heads_and_augmentations_come_back_with_their_options(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 256, (30, 1, 8, 8), dtype=np.uint8), np.repeat(["a", "b", "c"], 10)
    learner = TorchLearner(
        "cnn-small",
        loss=Weighted(InfluenceBalanced(base=Focal(2.0), after=1), Deferred(EffectiveNumber(0.9), 2)),
        head="cosine",
        augment=Augmentation(padding=1, flip=0.25),
        device=torch.device("cpu"),
    )
    model = WorstClassBooster(learner, 0.0, n_rounds=2, max_epochs=50, random_state=0).fit(X, y)
    again = load_model(save_model(model, tmp_path))
    assert (again.learner.loss, again.learner.augment) == (learner.loss, learner.augment)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.fit(X, y).predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("label", ["none", None, -7, 0.5, np.int64(9)])
def test_labels_for_no_answer_come_back(label, tmp_path):
    numbers = [np.unique(rows[1], return_inverse=True)[1] for rows in (TRAINING, PROVING)]
    booster = WorstClassBooster(DecisionTreeClassifier(max_depth=3), 0.4, **ROUNDS).fit(TRAINING[0], numbers[0])
    model = AbstainingClassifier(booster, 0.15, cv="prefit", abstain_label=label).fit(PROVING[0], numbers[1])
    again = load_model(save_model(model, tmp_path))
    assert again.abstain_label_ == label
    assert not again.answered(FRESH[0]).all()
    assert again.predict(FRESH[0]).tolist() == model.predict(FRESH[0]).tolist()


def test_without_proof_a_loaded_model_answers_nothing(tmp_path):
    model = AbstainingClassifier(fitted("scikit-learn"), 0.0001, cv="prefit").fit(*PROVING)
    assert not model.proven_
    again = load_model(save_model(model, tmp_path))
    assert set(again.predict(FRESH[0])) == {"abstain"}
    assert again.certificate_ == model.certificate_


class TestSameBytes:
    @pytest.mark.parametrize("name", ["booster of networks", "instance booster", "network", "networks"])
    def test_the_same_seed_writes_the_same_files(self, name, tmp_path):
        for seed, folder in enumerate(("one", "two")):
            torch.manual_seed(seed)
            model = WRAPPERS["abstaining, offsets"](clone(ESTIMATORS[name]).fit(*TRAINING))
            save_model(model, tmp_path / folder)
        one, two = (files_of(tmp_path / folder) for folder in ("one", "two"))
        assert {"model.json", "inner/model.json", "inner/inner/model.json"} < set(one)
        assert "inner/inner/members/0001.safetensors" in one
        times = [one.pop("inner/inner/history.json"), two.pop("inner/inner/history.json")]
        assert one == two
        assert times[0] != times[1]  # seconds, which are nowhere else

    def test_another_process_answers_alike(self, tmp_path):
        model = WRAPPERS["abstaining, offsets"](fitted("booster of networks"))
        save_model(model, tmp_path / "model")
        np.save(tmp_path / "X.npy", FRESH[0])
        code = (
            "import sys, json, numpy, worstclass; folder = sys.argv[1]; X = numpy.load(folder + '/X.npy'); "
            "print(json.dumps(worstclass.load_model(folder + '/model').predict(X).tolist()))"
        )
        done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
        assert json.loads(done.stdout) == model.predict(FRESH[0]).tolist()


class TestFolders:
    def test_a_new_model_replaces_all_that_describes_the_one_before(self, tmp_path):
        save_model(WRAPPERS["abstaining, offsets"](fitted("booster of networks")), tmp_path)
        results = results_folder(tmp_path)
        results.mkdir()
        (results / "certificate.json").write_text("{}")
        (tmp_path / "notes.txt").write_text("mine")
        save_model(fitted("booster of pipelines"), tmp_path)
        assert sorted(file.name for file in tmp_path.iterdir()) == [
            "history.json",
            "members",
            "model.json",
            "notes.txt",
            "objects",
        ]
        assert {file.suffix for file in (tmp_path / "members").iterdir()} == {".skops"}
        assert (tmp_path / "notes.txt").read_text() == "mine"
        save_model(fitted("scikit-learn"), tmp_path)
        assert sorted(file.name for file in tmp_path.iterdir()) == ["model.json", "model.skops", "notes.txt"]
        assert isinstance(load_model(tmp_path), LogisticRegression)

    def test_the_inner_folder_is_a_model_of_its_own(self, tmp_path):
        save_model(WRAPPERS["offsets"](fitted("networks")), tmp_path)
        assert isinstance(load_model(tmp_path / "inner"), DeepEnsemble)

    def test_a_save_that_fails_leaves_the_old_model_and_its_results_alone(self, tmp_path):
        old, broken = fitted("booster of networks"), load_model(save_model(fitted("network"), tmp_path / "other"))
        save_model(old, tmp_path / "model")
        results_folder(tmp_path / "model").mkdir()
        before = files_of(tmp_path / "model")
        broken.best_epoch_ = object()  # nothing that can be stored
        with pytest.raises(ParameterError, match=r"state.best_epoch_ cannot be stored without a pickle"):
            save_model(broken, tmp_path / "model")
        assert files_of(tmp_path / "model") == before
        assert results_folder(tmp_path / "model").is_dir()
        with pytest.raises(ParameterError, match=r"state.best_epoch_"):
            save_model(broken, tmp_path / "new")
        assert not (tmp_path / "new").exists()

    @pytest.mark.parametrize("name", ["results", "inner", "model.json"])
    def test_a_folder_of_somebody_else_is_not_cleared(self, name, tmp_path):
        (tmp_path / name).mkdir() if "." not in name else (tmp_path / name).write_text('{"format": "other"}')
        with pytest.raises(ParameterError, match=rf"{name}.* would be replaced"):
            save_model(fitted("network"), tmp_path)
        assert (tmp_path / name).exists()

    def test_what_is_not_a_fitted_model_is_refused(self, tmp_path):
        class Own(WorstClassBooster):
            pass

        own = Own(DecisionTreeClassifier(), 0.5, **ROUNDS).fit(*TRAINING)
        around_own = WorstClassOffsets(own, cv="prefit").fit(*TUNING)
        unfitted = [WorstClassBooster(MLP, 0.5), WorstClassOffsets(LogisticRegression()), LogisticRegression()]
        for model in (*unfitted, make_pipeline(StandardScaler()), MLP, own, around_own, "model"):
            with pytest.raises(ParameterError, match="a fitted estimator of worstclass, or a fitted scikit-learn"):
                save_model(model, tmp_path / "model")
        assert not (tmp_path / "model").exists()


def test_threads_may_predict_at_the_same_time(blobs, tmp_path):
    X, y = blobs
    model = load_model(save_model(fit(MLP, X, y), tmp_path))
    many = np.tile(X, (50, 1))
    expected = model.predict(many)
    with ThreadPoolExecutor(4) as pool:
        for answers in pool.map(lambda _: model.predict(many), range(12)):
            np.testing.assert_array_equal(answers, expected)


@pytest.mark.parametrize(
    "model",
    [
        NetworkClassifier(MLP, max_epochs=5, random_state=0),
        DeepEnsemble(MLP, n_estimators=2, max_epochs=6, random_state=0),
        WorstClassBooster(MLP, 0.5, extend=False, **ROUNDS),
        InstanceBooster(MLP, **ROUNDS),
    ],
    ids=lambda model: type(model).__name__,
)
def test_networks_on_a_data_frame_with_text_and_missing_values(model, tmp_path):
    frame = frame_of(TRAINING[0])
    frame.loc[3, "x"] = np.nan
    frame.loc[5, "side"] = None
    model = clone(model).fit(frame, TRAINING[1])
    again = load_model(save_model(model, tmp_path))
    fresh = frame_of(FRESH[0])
    fresh.loc[0, "side"], fresh.loc[1, "side"], fresh.loc[2, "y"] = "unknown", None, np.nan
    np.testing.assert_array_equal(again.predict_proba(fresh), model.predict_proba(fresh))
    assert again.encoder_.table.categories_ == model.encoder_.table.categories_
