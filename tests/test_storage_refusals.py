"""Model folders that are broken, old or hostile: each is refused with a clear error, and nothing in them runs."""

from __future__ import annotations

import functools
import json
import pickle
import shutil
import sys
from fractions import Fraction

import numpy as np
import pytest
import skops.io
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sealing import change, reseal
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from worstclass import SklearnLearner, TorchLearner, WorstClassBooster, WorstClassOffsets, load_model, save_model
from worstclass.exceptions import ModelFormatError, ParameterError
from worstclass.metrics import ClassRow
from worstclass.storage.codec import Reader, Writer

pytestmark = pytest.mark.filterwarnings("ignore::worstclass.exceptions.WorstClassWarning")

MLP = TorchLearner("mlp", module_options={"hidden": (8,)}, lr=0.02, standardize=True)


class OddClassifier(LogisticRegression):
    """A classifier that scikit-learn does not ship."""


def fit(learner, X, y):
    return WorstClassBooster(learner, 0.5, n_rounds=3, gamma=0.1, extend=False, random_state=0).fit(X, y)


@pytest.fixture(scope="module")
def booster(blobs):
    return fit(MLP, *blobs)


@pytest.fixture
def folder(booster, tmp_path):
    return save_model(booster, tmp_path / "model")


def test_a_folder_without_a_model(tmp_path):
    with pytest.raises(ModelFormatError, match=r"is not a model folder: it has no model\.json"):
        load_model(tmp_path)


@pytest.mark.parametrize("text", ["{", "[]", '{"format": "other"}', "null"])
def test_a_model_json_that_is_not_one(folder, text):
    (folder / "model.json").write_text(text)
    with pytest.raises(ModelFormatError, match=r"model\.json (cannot be read|is not a model of worstclass)"):
        load_model(folder)


@pytest.mark.parametrize(
    ("version", "message"),
    [
        (1, "format_version 1.*Fit the model again, or install the version of worstclass that wrote it"),
        (4, "has format_version 4; this version of worstclass reads 3"),
        (None, "has format_version None"),
    ],
)
def test_another_version(folder, version, message):
    change(folder, format_version=version)
    with pytest.raises(ModelFormatError, match=message):
        load_model(folder)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": None}, "names None, which is not a class that worstclass stores"),
        ({"state": []}, "does not describe a fitted model: AttributeError|does not describe a fitted model: TypeError"),
        ({"params": {}}, "does not describe a fitted model: TypeError: .*learner"),
        ({"params__theta": 1.5}, "does not describe a fitted model: ParameterError: .*theta"),
        ({"params__shape": 1}, "does not describe a fitted model: .*shape"),
        ({"state": {}}, "does not describe a fitted model: KeyError: 'learner_'"),
        ({"state__classes_": {"$array": ["a"], "dtype": "<U1", "shape": [3]}}, "does not describe a fitted model"),
        ({"state__classes_": {"$array": ["a"], "dtype": "V8", "shape": [1]}}, "array of an unknown type, 'V8'"),
        ({"state__classes_": {"$array": "state.nowhere"}}, "does not describe|asks for arrays.safetensors"),
        ({"state__classes_": {"$pickle": "gASV"}}, r"a value of an unknown kind, '\$pickle'"),
        ({"state__n_members_used_": 99}, "does not describe a fitted model: IndexError"),
        (
            {"state__estimators_": {"$members": 4, "suffix": "safetensors"}},
            r"asks for members/0004\.safetensors",
        ),
        ({"state__estimators_": {"$members": 1, "suffix": "/../../x"}}, "members of an unknown kind"),
        ({"state__encoder_": {"$sklearn": "../../trap"}}, "does not describe a fitted model: ValueError"),
        ({"state__encoder_": {"$model": "../other"}}, "does not describe a fitted model: ValueError"),
        ({"state__encoder_": {"$model": 1}}, "asks for parts/0001/model.json, which it does not list"),
    ],
)
def test_a_model_json_that_was_changed(folder, changes, message):
    change(folder, **changes)
    with pytest.raises(ModelFormatError, match=message):
        load_model(folder)


@pytest.mark.parametrize("file", ["members/0002.safetensors", "history.json"])
@pytest.mark.parametrize("damage", ["missing", "cut", "pickle"])
def test_a_file_that_is_missing_cut_or_a_pickle(folder, file, damage):
    path = folder / file
    path.write_bytes(pickle.dumps({"a": 1}) if damage == "pickle" else path.read_bytes()[:50])
    if damage == "missing":
        path.unlink()
    wrong = "cannot be read" if file == "history.json" else "is damaged, or belongs to another model"
    message = f"lacks {path.name}" if damage == "missing" else f"{path.name} {wrong}"
    with pytest.raises(ModelFormatError, match=message):
        load_model(folder)
    if damage != "missing" and file != "history.json":
        with pytest.raises(ModelFormatError, match=f"{path.name} cannot be read"):
            load_model(reseal(folder))


def test_arrays_that_are_a_pickle(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    folder = save_model(fit(LogisticRegression(), X, X[:, 0] > 0), tmp_path)
    np.save(folder / "arrays.npy", np.array([object()]), allow_pickle=True)
    (folder / "arrays.npy").rename(folder / "arrays.safetensors")
    with pytest.raises(ModelFormatError, match=r"arrays\.safetensors cannot be read"):
        load_model(reseal(folder))


class TestNothingRuns:
    @pytest.mark.parametrize("learner", [MLP, LogisticRegression()], ids=["safetensors", "skops"])
    def test_a_pickle_in_place_of_a_member(self, learner, blobs, tmp_path):
        class Bomb:
            def __reduce__(self):
                return shutil.rmtree, (str(tmp_path / "precious"),)

        (tmp_path / "precious").mkdir()
        folder = save_model(fit(learner, *blobs), tmp_path / "model")
        file = next((folder / "members").glob("0001.*"))
        file.write_bytes(pickle.dumps(Bomb()))
        with pytest.raises(ModelFormatError, match=r"0001\..* cannot be read"):
            load_model(reseal(folder))
        assert (tmp_path / "precious").is_dir()

    @pytest.mark.parametrize(
        "kind",
        [
            "antigravity.Booster",
            "os.system",
            "worstclass.learners.torch_learner.TorchLearner",
            "worstclass.boosting.booster.os",
            "worstclass.boosting.booster.Floors",
            "worstclass.boosting.booster.VotingBooster",
            "worstclass.boosting.nowhere.WorstClassBooster",
            "worstclass.boosting..booster.WorstClassBooster",
            "worstclass.cli.app.App",
            "worstclass.__main__.app",
            "WorstClassBooster",
            "",
        ],
    )
    def test_a_kind_that_is_no_estimator_of_ours(self, folder, kind):
        change(folder, kind=kind)
        with pytest.raises(ModelFormatError, match=r"not a class that worstclass stores"):
            load_model(folder)
        assert "antigravity" not in sys.modules

    @pytest.mark.parametrize(
        "kind",
        [
            "antigravity.Loss",
            "subprocess.Popen",
            "worstclass.losses.cross_entropy.os",
            "worstclass.losses.nowhere.Focal",
            "worstclass.learners.torch_learner.TorchTraining",
            "worstclass.boosting.booster.WorstClassBooster",
            "worstclass.cli.fit.FitRequest",
            "worstclass.__main__.app",
        ],
    )
    @pytest.mark.parametrize("value", [{"$record": 0, "fields": {}}, {"$estimator": 0, "params": {}}])
    def test_a_loss_or_learner_that_is_none_of_ours(self, folder, kind, value):
        if (kind, "$estimator" in value) == ("worstclass.boosting.booster.WorstClassBooster", True):
            pytest.skip("an unfitted booster may be a parameter")
        change(folder, params__learner__params__loss={key: kind if item == 0 else item for key, item in value.items()})
        with pytest.raises(ModelFormatError, match=r"not a class that worstclass stores"):
            load_model(folder)
        assert "antigravity" not in sys.modules

    @pytest.mark.parametrize("place", ["objects/0001.skops", "members/0001.skops", "model.skops"])
    def test_a_function_that_runs_code_cannot_hide_in_a_transformer(self, place, blobs, tmp_path):
        run_text = functools.partial(np.testing.measure, f"open({str(tmp_path / 'ran')!r}, 'w')")
        trap = make_pipeline(FunctionTransformer(run_text), StandardScaler())
        pipeline = make_pipeline(StandardScaler(), LogisticRegression())
        model = pipeline.fit(*blobs) if place == "model.skops" else fit(pipeline, *blobs)
        folder = save_model(model, tmp_path / "model")
        assert (folder / place).is_file()
        skops.io.dump(trap, folder / place)
        with pytest.raises(ModelFormatError, match=r"numpy\.testing.*measure"):
            load_model(reseal(folder))
        assert not (tmp_path / "ran").exists()

    def test_types_outside_scikit_learn_are_named_and_need_permission(self, blobs, tmp_path):
        name = f"{OddClassifier.__module__}.OddClassifier"
        inner = OddClassifier().fit(*blobs)
        models = [
            fit(SklearnLearner(OddClassifier()), *blobs),
            inner,
            WorstClassOffsets(inner, cv="prefit").fit(*blobs),
        ]
        for model in models:
            folder = save_model(model, tmp_path)
            with pytest.raises(ModelFormatError, match=rf"not a class of scikit-learn: \['{name}'\].*trusted=\["):
                load_model(folder)
            np.testing.assert_array_equal(load_model(folder, trusted=[name]).predict(blobs[0]), model.predict(blobs[0]))


def test_a_wrapper_around_a_model_of_other_classes(booster, blobs, tmp_path):
    X, y = blobs
    folder = save_model(WorstClassOffsets(booster, cv="prefit").fit(X + 0.01, y), tmp_path / "three")
    other = save_model(LogisticRegression().fit(X[y != "c"], y[y != "c"]), tmp_path / "two")
    shutil.rmtree(folder / "inner")
    shutil.copytree(other, folder / "inner")
    with pytest.raises(
        ModelFormatError, match=r"classes \['a', 'b', 'c'\], and the classifier inside it has \['a', 'b'\]"
    ):
        load_model(reseal(folder))


def test_what_skops_cannot_store(blobs, tmp_path):
    model = make_pipeline(FunctionTransformer(lambda X: X), LogisticRegression()).fit(*blobs)
    with pytest.raises(ParameterError, match="made of parts that skops can store"):
        save_model(model, tmp_path / "model")
    assert not (tmp_path / "model").exists()


PLAIN = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(),
    st.fractions(),
    hnp.arrays(st.sampled_from(["<f8", "<f4", "<i8", "u1", "?", "<U3"]), hnp.array_shapes(min_dims=0, max_side=13)),
    st.builds(ClassRow, name=st.text(), total=st.integers(1), correct=st.just(1)),
)
VALUES = st.recursive(
    PLAIN,
    lambda inner: st.one_of(
        st.lists(inner),
        st.lists(inner).map(tuple),
        st.dictionaries(st.one_of(st.text(), st.integers(), st.booleans(), st.just("$tuple")), inner),
    ),
    max_leaves=8,
)


@given(VALUES)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_any_nested_value_is_read_as_it_was_written(tmp_path, value):
    writer = Writer(tmp_path, lambda model, folder: [])
    stored = json.loads(json.dumps(writer.encode(value, "value"), allow_nan=False))
    writer.close()
    found = Reader(tmp_path, load_model).decode(stored)
    assert_equal(found, value)


def assert_equal(found, value):
    assert type(found) is type(value)
    if isinstance(value, list | tuple):
        assert len(found) == len(value)
        for ours, theirs in zip(found, value, strict=True):
            assert_equal(ours, theirs)
    elif isinstance(value, dict):
        assert_equal(list(found.keys()), list(value.keys()))
        assert_equal(list(found.values()), list(value.values()))
    elif isinstance(value, np.ndarray):
        assert (found.dtype, found.shape) == (value.dtype, value.shape)
        np.testing.assert_array_equal(found, value)
    else:
        assert repr(found) == repr(value)


def test_values_whose_paths_are_alike_do_not_overwrite_each_other(tmp_path):
    writer = Writer(tmp_path, lambda model, folder: [])
    large = [np.full(200, k) for k in range(3)]
    stored = writer.encode({"a.b": large[0], "a": {"b": large[1]}, "c": [large[2]]}, "v")
    writer.close()
    found = Reader(tmp_path, load_model).decode(stored)
    assert [found["a.b"][0], found["a"]["b"][0], found["c"][0][0]] == [0, 1, 2]


def test_tensors_objects_and_numpy_scalars(tmp_path):
    writer = Writer(tmp_path, lambda model, folder: [])
    values = [
        torch.arange(6.0).reshape(2, 3).T,
        torch.arange(300, dtype=torch.uint8).reshape(3, 100),
        np.array(["a", None, 3], dtype=object),
        np.arange(500, dtype=">i4")[::2],
        np.asfortranarray(np.arange(400.0).reshape(20, 20)),
    ]
    stored = json.loads(json.dumps([writer.encode(value, f"v{k}") for k, value in enumerate(values)]))
    writer.close()
    found = Reader(tmp_path, load_model).decode(stored)
    assert torch.equal(found[0], values[0])
    assert torch.equal(found[1], values[1])
    assert found[1].dtype == torch.uint8
    assert found[2].tolist() == ["a", None, 3]
    assert found[2].dtype == object
    for ours, theirs in zip(found[3:], values[3:], strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert writer.encode({np.int64(2): np.float32(0.5), "x": Fraction(1, 3)}, "v") == {
        "$dict": [[2, 0.5], ["x", {"$fraction": "1/3"}]]
    }


@pytest.mark.parametrize("value", [object(), {1, 2}, b"bytes", 1j, np.array([1j]), np.datetime64("2020-01-01"), print])
def test_values_that_cannot_be_stored(value, tmp_path):
    with pytest.raises(ParameterError, match="v cannot be stored without a pickle"):
        Writer(tmp_path, lambda model, folder: []).encode(value, "v")
