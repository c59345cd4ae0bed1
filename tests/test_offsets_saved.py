"""Models with offsets as folders: what comes back is what was saved, in another process too, and nothing else loads."""

from __future__ import annotations

import json
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import StratifiedKFold

from worstclass import TorchLearner, WorstClassBooster, WorstClassOffsets, certify, load_model, save_model
from worstclass.boosting.oco import InstanceBooster
from worstclass.exceptions import DataError, ModelFormatError, ParameterError

pytestmark = pytest.mark.filterwarnings("ignore::worstclass.exceptions.WorstClassWarning")

MLP = TorchLearner("mlp", module_options={"hidden": (8,)}, lr=0.02)
#: what a fitted model has, besides its parameters and reports
FITTED = ("offsets_", "classes_", "scores_", "optimal_", "theta_", "floors_met_", "shortfall_", "blocking_classes_")


@pytest.fixture(scope="module")
def halves(blobs):
    X, y = blobs
    return (X[:50], y[:50]), (X[50:], y[50:])


def booster(learner, X, y):
    return WorstClassBooster(learner, 0.5, gamma=0.1, n_rounds=3, extend=False, random_state=0).fit(X, y)


@pytest.fixture(scope="module")
def fitted(halves):
    """A booster of networks with offsets on its mean probabilities, tuned on rows it has not seen."""
    train, held_out = halves
    return WorstClassOffsets(booster(MLP, *train), cv="prefit").fit(*held_out)


def assert_alike(again, model, X):
    for name in FITTED:
        np.testing.assert_array_equal(getattr(again, name), getattr(model, name), err_msg=name)
    assert again.offsets_.dtype == np.float64
    assert again.validation_report_ == model.validation_report_
    assert again.validation_report_before_ == model.validation_report_before_
    np.testing.assert_array_equal(again.row_hashes_, model.row_hashes_)
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.estimator_.predict(X), model.estimator_.predict(X))
    np.testing.assert_array_equal(again.estimator_.row_hashes_, model.estimator_.row_hashes_)
    for name in ("theta", "scores", "refit", "random_state"):
        assert getattr(again, name) == getattr(model, name), name


@pytest.mark.parametrize("keep_in_memory", [True, False])
def test_offsets_on_the_mean_of_networks(fitted, blobs, tmp_path, keep_in_memory):
    X, y = blobs
    assert fitted.scores_ == "mean-proba"
    assert np.abs(fitted.offsets_).max() > 0
    again = load_model(save_model(fitted, tmp_path), keep_in_memory=keep_in_memory)
    assert_alike(again, fitted, X)
    assert again.n_features_in_ == 2
    with pytest.raises(DataError, match="trained or validated on 90 of the 90"):
        certify(again, X, y)


def test_another_process_answers_alike(fitted, blobs, tmp_path):
    X, _ = blobs
    save_model(fitted, tmp_path / "model")
    np.save(tmp_path / "X.npy", X)
    script = (
        "import numpy as np; from worstclass import load_model; "
        "model = load_model('model', keep_in_memory=False); X = np.load('X.npy'); "
        "np.savez('answers.npz', answers=model.predict(X), scores=model.decision_function(X)); "
        "print(type(model).__name__, model.scores_, model.floors_met_)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["WorstClassOffsets", "mean-proba", "None"]
    with np.load(tmp_path / "answers.npz") as answers:
        np.testing.assert_array_equal(answers["answers"], fitted.predict(X))
        np.testing.assert_array_equal(answers["scores"], fitted.decision_function(X))


@pytest.mark.parametrize(
    ("learner", "options"),
    [
        (LogisticRegression(), {"theta": 0.9, "cv": 3, "scores": "log-proba", "random_state": 4}),
        (LogisticRegression(), {"theta": {"a": 0.5, "others": 0.4}, "cv": 0.5, "random_state": np.int64(1)}),
        (SGDClassifier(), {"theta": Fraction(1, 3), "cv": 2, "scores": "proba"}),
    ],
    ids=["floors missed", "floors by class", "votes, a floor that is no decimal"],
)
def test_floors_and_parameters_come_back(learner, options, blobs, tmp_path):
    X, y = blobs
    inner = WorstClassBooster(learner, 0.5, gamma=0.1, n_rounds=3, extend=False, random_state=0)
    model = WorstClassOffsets(inner, **options).fit(X, y)
    again = load_model(save_model(model, tmp_path))
    if isinstance(options["theta"], dict):
        assert again.theta == {"a": 0.5, "b": 0.4, "c": 0.4}
        again.theta = model.theta
    assert_alike(again, model, X)
    assert again.cv == options["cv"]
    # and it can be fitted again, to the same result
    np.testing.assert_array_equal(again.fit(X, y).offsets_, model.offsets_)


def test_a_splitter_is_not_kept(blobs, tmp_path):
    inner = WorstClassBooster(LogisticRegression(), 0.5, gamma=0.1, n_rounds=2, random_state=0)
    model = WorstClassOffsets(inner, cv=StratifiedKFold(2)).fit(*blobs)
    again = load_model(save_model(model, tmp_path))
    assert again.cv == "prefit"
    np.testing.assert_array_equal(again.offsets_, model.offsets_)


def test_the_same_fit_writes_the_same_bytes(halves, fitted, tmp_path):
    train, held_out = halves
    twin = WorstClassOffsets(booster(MLP, *train), cv="prefit").fit(*held_out)
    for model, name in ((fitted, "one"), (twin, "two")):
        save_model(model, tmp_path / name)
    for file in ("offsets.json", "offsets-row-hashes.npy", "model.json", "members/0002.safetensors"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes(), file


def test_offsets_go_when_a_model_without_them_is_saved_there_and_come_with_one_that_has_them(fitted, blobs, tmp_path):
    X, _ = blobs
    save_model(fitted, tmp_path)
    save_model(fitted.estimator_, tmp_path)
    assert not list(tmp_path.glob("offsets*"))
    plain = load_model(tmp_path, keep_in_memory=False)
    assert isinstance(plain, WorstClassBooster)
    np.testing.assert_array_equal(plain.predict(X), fitted.estimator_.predict(X))
    lazy = WorstClassOffsets(plain, cv="prefit").fit(X[50:], blobs[1][50:])
    save_model(lazy, tmp_path)  # over the members that it reads from there
    assert_alike(load_model(tmp_path), fitted, X)


class TestRefusals:
    @pytest.fixture
    def folder(self, fitted, tmp_path):
        return save_model(fitted, tmp_path / "model")

    @pytest.mark.parametrize(
        ("change", "told"),
        [
            ({"format_version": 2}, "format_version"),
            ({"note": "mine"}, "note: Extra inputs are not permitted"),
            ({"offsets": [0.0, 0.0]}, "one entry a class"),
            ({"offsets": [0.0, 0.0, float("nan")]}, r"offsets.2: Input should be a finite number"),
            ({"offsets": ["0", "0", "0"]}, r"offsets.0: Input should be a valid number"),
            ({"correct": [0, 0, 99]}, "more rows are right than there are"),
            ({"totals": [0, 0, 0], "correct": [0, 0, 0], "correct_before": [0, 0, 0]}, "no held-out row"),
            ({"totals": [-1, 3, 3]}, "greater than or equal to 0"),
            ({"theta": ["1/2", "1/2", "3/2"]}, "theta"),
            ({"theta": ["1/2", "half", "1/2"]}, "half"),
            ({"fitted_scores": "decision"}, "fitted_scores"),
        ],
        ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
    )
    def test_a_file_that_is_not_as_it_should_be(self, folder, change, told):
        values = json.loads((folder / "offsets.json").read_text())
        (folder / "offsets.json").write_text(json.dumps({**values, **change}))
        with pytest.raises(ModelFormatError, match=rf"offsets.json is not of this version: .*{told}"):
            load_model(folder)

    def test_broken_json_and_broken_fingerprints(self, folder):
        (folder / "offsets-row-hashes.npy").write_bytes(b"\x93NUMPY")
        with pytest.raises(ModelFormatError, match=r"offsets-row-hashes.npy cannot be read"):
            load_model(folder)
        (folder / "offsets.json").write_text("{")
        with pytest.raises(ModelFormatError, match=r"offsets.json cannot be read"):
            load_model(folder)

    def test_offsets_of_another_model(self, fitted, blobs, tmp_path):
        X, y = blobs
        folder = save_model(fitted, tmp_path / "three")
        two = save_model(booster(LogisticRegression(), X[y != "c"], y[y != "c"]), tmp_path / "two")
        (two / "offsets.json").write_bytes((folder / "offsets.json").read_bytes())
        with pytest.raises(ModelFormatError, match="3 offsets, and the model 2 classes"):
            load_model(two)
        votes = save_model(booster(SGDClassifier(), X, y), tmp_path / "votes")
        (votes / "offsets.json").write_bytes((folder / "offsets.json").read_bytes())
        with pytest.raises(ModelFormatError, match="scores 'mean-proba', which this model does not give"):
            load_model(votes)

    def test_what_cannot_be_saved(self, fitted, blobs, tmp_path):
        told = "'model' parameter of save_model must be a fitted WorstClassBooster, or a fitted WorstClassOffsets"
        others = [
            WorstClassOffsets(LogisticRegression()).fit(*blobs),
            WorstClassOffsets(WorstClassBooster(MLP, 0.5)),
            WorstClassOffsets(fitted, cv="prefit").fit(*blobs),
            LogisticRegression().fit(*blobs),
            InstanceBooster(LogisticRegression(), gamma=0.1, n_rounds=2, random_state=0).fit(*blobs),
        ]
        for other in others:
            with pytest.raises(ParameterError, match=told):
                save_model(other, tmp_path / "model")
        assert not (tmp_path / "model").exists()
