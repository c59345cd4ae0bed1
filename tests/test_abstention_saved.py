"""Models that abstain as folders: what comes back is what was saved, and nothing else loads."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from worstclass import (
    AbstainingClassifier,
    TorchLearner,
    WorstClassBooster,
    WorstClassOffsets,
    certify,
    load_model,
    save_model,
)
from worstclass.exceptions import DataError, ModelFormatError, ParameterError

pytestmark = pytest.mark.filterwarnings("ignore::worstclass.exceptions.WorstClassWarning")


def cloud(n, seed):
    """Two classes on a line, a unit apart in places."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return np.column_stack([rng.normal(2.5 * y), rng.normal(size=n)]), np.array(["no", "yes"])[y]


LEARNERS = {
    "trees": DecisionTreeClassifier(max_depth=3),
    "networks": TorchLearner("mlp", module_options={"hidden": (4,)}, lr=0.05),
}
TRAINING, HELD_OUT, FRESH = cloud(120, 0), cloud(400, 1), cloud(200, 2)


@pytest.fixture(scope="module", params=LEARNERS)
def booster(request):
    learner = LEARNERS[request.param]
    return WorstClassBooster(learner, 0.8, n_rounds=5, extend=False, random_state=0).fit(*TRAINING)


@pytest.fixture(scope="module")
def trees():
    return WorstClassBooster(LEARNERS["trees"], 0.6, gamma=0.1, n_rounds=5, extend=False, random_state=0).fit(*TRAINING)


def assert_alike(again, model):
    assert type(again) is type(model)
    for name in ("classes_", "risk_", "margin_", "thresholds_", "abstain_label_", "proven_", "certificate_"):
        np.testing.assert_array_equal(getattr(again, name), getattr(model, name), err_msg=name)
    for name in ("risk", "delta", "margin", "thresholds", "cv", "proving", "abstain_label", "force", "random_state"):
        assert getattr(again, name) == getattr(model, name), name
    np.testing.assert_array_equal(again.row_hashes_, model.row_hashes_)
    np.testing.assert_array_equal(again.predict(FRESH[0]), model.predict(FRESH[0]))
    assert again.predict(FRESH[0]).dtype == model.predict(FRESH[0]).dtype
    assert again.risk_report(*FRESH) == model.risk_report(*FRESH)


@pytest.mark.parametrize("keep_in_memory", [True, False])
def test_around_a_booster(booster, tmp_path, keep_in_memory):
    model = AbstainingClassifier(booster, 0.2, cv="prefit", random_state=3).fit(*HELD_OUT)
    assert model.proven_
    assert 0 < model.certificate_.coverage <= 1
    again = load_model(save_model(model, tmp_path), keep_in_memory=keep_in_memory)
    assert_alike(again, model)
    np.testing.assert_array_equal(again.estimator_.row_hashes_, booster.row_hashes_)
    for rows in (TRAINING, HELD_OUT):
        with pytest.raises(DataError, match="trained or validated on"):
            again.certify(*rows)
    assert again.certify(*FRESH).n_reused == 0


def test_around_offsets_around_a_booster(trees, tmp_path):
    offsets = WorstClassOffsets(trees, cv="prefit").fit(*cloud(100, 5))
    limits = {"no": 0.25, "others": 0.2}
    model = AbstainingClassifier(offsets, limits, cv="prefit", thresholds="by-answer", delta=0.1, proving=0.7)
    again = load_model(save_model(model.fit(*HELD_OUT), tmp_path))
    assert isinstance(again.estimator_, WorstClassOffsets)
    assert again.risk == {"no": 0.25, "yes": 0.2}
    again.risk = limits
    assert_alike(again, model)
    np.testing.assert_array_equal(again.estimator_.offsets_, offsets.offsets_)
    np.testing.assert_array_equal(again.estimator_.row_hashes_, offsets.row_hashes_)
    np.testing.assert_array_equal(again.estimator_.estimator_.row_hashes_, trees.row_hashes_)


def test_without_proof_it_still_answers_nothing(trees, tmp_path):
    model = AbstainingClassifier(trees, 0.001, cv="prefit").fit(*HELD_OUT)
    assert not model.proven_
    again = load_model(save_model(model, tmp_path))
    assert_alike(again, model)
    assert set(again.predict(FRESH[0])) == {"abstain"}
    assert "Infinity" not in (tmp_path / "abstention.json").read_text()


@pytest.mark.parametrize("label", ["none", None, -7, 0.5, np.int64(9)])
def test_labels_for_no_answer_come_back(label, tmp_path):
    numbers = np.arange(120) % 2
    booster = WorstClassBooster(LEARNERS["trees"], 0.6, gamma=0.1, n_rounds=3, extend=False, random_state=0)
    booster.fit(TRAINING[0], numbers)
    model = AbstainingClassifier(booster, 0.4, cv="prefit", abstain_label=label).fit(HELD_OUT[0], np.arange(400) % 2)
    again = load_model(save_model(model, tmp_path))
    assert again.abstain_label_ == label
    assert again.predict(FRESH[0]).tolist() == model.predict(FRESH[0]).tolist()


def test_a_model_saved_over_it_no_longer_abstains(trees, tmp_path):
    save_model(AbstainingClassifier(trees, 0.2, cv="prefit").fit(*HELD_OUT), tmp_path)
    save_model(trees, tmp_path)
    assert isinstance(load_model(tmp_path), WorstClassBooster)
    assert not list(tmp_path.glob("abstention*"))


def test_the_same_seed_writes_the_same_bytes(trees, tmp_path):
    for name in ("one", "two"):
        save_model(AbstainingClassifier(trees, 0.2, cv="prefit", random_state=0).fit(*HELD_OUT), tmp_path / name)
    assert (tmp_path / "one/abstention.json").read_bytes() == (tmp_path / "two/abstention.json").read_bytes()


def test_what_cannot_be_saved(trees, tmp_path):
    inside = AbstainingClassifier(LogisticRegression(), 0.2).fit(*HELD_OUT)
    for model in (inside, AbstainingClassifier(trees, 0.2)):  # another library's classifier; not fitted
        with pytest.raises(ParameterError, match=r"'model'.*AbstainingClassifier around one"):
            save_model(model, tmp_path)
    strange = AbstainingClassifier(trees, 0.2, cv="prefit", abstain_label=("a", "tuple")).fit(*HELD_OUT)
    with pytest.raises(ParameterError, match=r"'abstain_label'.*where the model is saved"):
        save_model(strange, tmp_path)
    assert not (tmp_path / "model.json").exists()


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"format_version": 2}, "format_version"),
        ({"thresholds": "loose"}, "thresholds"),
        ({"delta": 1.5}, "delta"),
        ({"fitted_margin": "decision"}, "fitted_margin"),
        ({"risk": [0.2]}, "one entry a class"),
        ({"risk": [0.2, 0.2, 0.2], "fitted_thresholds": [0.0, 0.0, 0.0]}, "one entry a class"),
        ({"fitted_thresholds": ["low", 0.0]}, "fitted_thresholds"),
        ({"fitted_thresholds": [float("nan"), 0.0]}, "fitted_thresholds"),
        ({"certificate": {}}, "the certificate is not whole"),
        ({"surprise": 1}, "surprise"),
    ],
)
def test_files_that_were_tampered_with_are_refused(changes, told, trees, tmp_path):
    save_model(AbstainingClassifier(trees, 0.2, cv="prefit").fit(*HELD_OUT), tmp_path)
    file = tmp_path / "abstention.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))
    with pytest.raises(ModelFormatError, match=told):
        load_model(tmp_path)


def test_a_certificate_without_proof_cannot_be_made_to_answer(trees, tmp_path):
    save_model(AbstainingClassifier(trees, 0.001, cv="prefit").fit(*HELD_OUT), tmp_path)
    file = tmp_path / "abstention.json"
    file.write_text(file.read_text().replace('"inf"', "0.0"))
    with pytest.raises(ModelFormatError, match="a model without proof must not answer"):
        load_model(tmp_path)


def test_a_rule_for_other_classes_is_refused(trees, tmp_path):
    three = WorstClassBooster(LEARNERS["trees"], 0.3, gamma=0.1, n_rounds=2, extend=False, random_state=0)
    three.fit(TRAINING[0], np.array(["a", "b", "c"])[np.arange(120) % 3])
    save_model(AbstainingClassifier(trees, 0.2, cv="prefit").fit(*HELD_OUT), tmp_path / "two")
    save_model(three, tmp_path / "three")
    (tmp_path / "three" / "abstention.json").write_text((tmp_path / "two" / "abstention.json").read_text())
    with pytest.raises(ModelFormatError, match=r"for 2 classes, and the model has 3.*remove abstention.json"):
        load_model(tmp_path / "three")


@pytest.mark.parametrize("around", [AbstainingClassifier, WorstClassOffsets])
def test_whether_all_rows_are_known_is_saved_too(around, trees, tmp_path):
    unknown = copy.copy(trees)
    unknown.row_hashes_ = None
    options = {"risk": 0.3} if around is AbstainingClassifier else {}
    model = around(unknown, cv="prefit", **options).fit(*HELD_OUT)
    again = load_model(save_model(model, tmp_path))
    assert again.training_rows_known_ is model.training_rows_known_ is False
    np.testing.assert_array_equal(again.row_hashes_, model.row_hashes_)
    assert certify(again, *FRESH).n_reused is None
    with pytest.raises(DataError, match="400 of the 400"):
        certify(again, *HELD_OUT)
    # a rule found anew around it must not make the rows known
    second = load_model(save_model(AbstainingClassifier(inside_of(again), 0.3, cv="prefit").fit(*FRESH), tmp_path))
    assert second.training_rows_known_ is False


def inside_of(model):
    inside = model.estimator_ if isinstance(model, AbstainingClassifier) else model
    inside.row_hashes_, inside.training_rows_known_ = model.row_hashes_, model.training_rows_known_
    return inside


def test_what_an_earlier_version_did_not_write_is_not_missed(trees, tmp_path):
    model = AbstainingClassifier(WorstClassOffsets(trees, cv="prefit").fit(*FRESH), 0.3, cv="prefit").fit(*HELD_OUT)
    save_model(model, tmp_path)
    later = {
        "model.json": ("column_kinds", "training_rows_known"),
        "offsets.json": ("slack", "least_worst_error", "training_rows_known"),
        "abstention.json": ("training_rows_known",),
    }
    for name, fields in later.items():
        values = json.loads((tmp_path / name).read_text())
        for field in fields:
            del values[field]
        values.get("certificate", {}).pop("silent", None)
        (tmp_path / name).write_text(json.dumps(values))
    again = load_model(tmp_path)
    assert again.training_rows_known_
    np.testing.assert_array_equal(again.predict(FRESH[0]), model.predict(FRESH[0]))
