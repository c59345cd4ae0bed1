"""Classifiers and steps of scikit-learn in ONNX: the same labels, and probabilities to the last digits of float64."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_classification
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, PowerTransformer, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier
from test_images import striped

from worstclass import build_method, export_onnx
from worstclass.ensembles.images import PatchFeatures
from worstclass.ensembles.portfolio import SoftmaxSVC
from worstclass.exceptions import ExportError
from worstclass.learners.binning import QuantileGrid

EXACT = {
    "logistic": make_pipeline(StandardScaler(), LogisticRegression()),
    "scaled": make_pipeline(MaxAbsScaler(), StandardScaler(with_mean=False), LogisticRegression()),
    "kernel": make_pipeline(StandardScaler(), Nystroem(n_components=30, random_state=0), LogisticRegression()),
    "kernel-gamma": make_pipeline(Nystroem(gamma=0.1, n_components=9, random_state=0), LogisticRegression()),
    "pca": make_pipeline(PCA(3), LogisticRegression()),
    "softmax-svm": make_pipeline(StandardScaler(), SoftmaxSVC(C=10, break_ties=True)),
    **{f"svm-{kind}": SVC(C=5, kernel=kind) for kind in ("rbf", "linear", "poly", "sigmoid")},
    "svm-ties": SVC(C=5, break_ties=True),
    "tree": DecisionTreeClassifier(),
    "leaf": DecisionTreeClassifier(min_samples_leaf=200),  # one leaf, and no node
    "low-tree": DecisionTreeClassifier(max_depth=3),
    "forest": RandomForestClassifier(9, random_state=0),
    "low-forest": RandomForestClassifier(9, max_depth=3, class_weight="balanced", random_state=0),
    "extra-trees": ExtraTreesClassifier(8, random_state=0),
    "boosted": HistGradientBoostingClassifier(max_iter=9),
    "boosted-grid": make_pipeline(QuantileGrid(16), HistGradientBoostingClassifier(max_iter=9)),
    "gradient": GradientBoostingClassifier(n_estimators=5),
    "gradient-zero": GradientBoostingClassifier(n_estimators=5, init="zero"),
    "adaboost": AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=6, random_state=0),
    "bagging": BaggingClassifier(n_estimators=4, max_features=0.5, random_state=0),
    "bayes": GaussianNB(),
    "neighbours": KNeighborsClassifier(),
    "qda": QuadraticDiscriminantAnalysis(reg_param=0.1),
    "perceptron": make_pipeline(StandardScaler(), MLPClassifier((8,), max_iter=20, random_state=0)),
    "linear-svm": LinearSVC(),
    "ridge": RidgeClassifier(),
    "imputed": make_pipeline(SimpleImputer(), LogisticRegression()),
}


def task(n_classes, n=500):
    X, y = make_classification(
        n, n_features=6, n_informative=4, n_classes=n_classes, flip_y=0.2, n_clusters_per_class=1, random_state=0
    )
    return X, y


@pytest.mark.parametrize("labels", [["aa", "b", "cc"], [10, 20, 30]], ids=["text", "numbers"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", EXACT)
@pytest.mark.filterwarnings("ignore:.*(converge|Convergence|Ill-conditioned|collinear).*")
def test_labels_are_the_same_and_probabilities_exact(name, n_classes, labels, tmp_path):
    X, y = task(n_classes)
    model = EXACT[name].fit(X[:200], np.array(labels)[y[:200]])
    report = export_onnx(model, tmp_path / "model.onnx", X)
    assert report.n_rows == 500
    assert hasattr(model, "predict_proba") == (report.probability_difference is not None)
    assert (report.probability_difference or 0.0) < 1e-12


@pytest.mark.parametrize("name", ["tree", "low-forest", "extra-trees", "boosted", "imputed"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_missing_values_go_where_they_went(name, dtype, tmp_path):
    X, y = task(3)
    X = X.astype(dtype)
    X[np.random.default_rng(0).random(X.shape) < 0.3] = np.nan
    report = export_onnx(EXACT[name].fit(X[:200], y[:200]), tmp_path / "model.onnx", X)
    assert (report.probability_difference, report.inputs) == (
        pytest.approx(0, abs=1e-6),
        {"X": f"{np.dtype(dtype)} (n, 6)"},
    )


def test_tied_trees_are_decided_as_scikit_learn_does(tmp_path):
    """A forest of ten trees ties on many rows; in float32, as skl2onnx has it, some of the ties come out otherwise."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2200, 4)), rng.integers(0, 4, 200)
    for kind in (ExtraTreesClassifier, RandomForestClassifier):
        for depth in (None, 6):  # leaves of one class, and of several
            forest = kind(10, max_depth=depth, random_state=0).fit(X[:200], y)
            top_two = np.sort(forest.predict_proba(X), axis=1)[:, -2:]
            assert depth or (top_two[:, 0] == top_two[:, 1]).sum() > 100
            assert export_onnx(forest, tmp_path / "model.onnx", X).probability_difference == 0


@settings(max_examples=20, deadline=None)
@given(st.data())
def test_values_at_a_threshold_go_left_as_in_scikit_learn(tmp_path_factory, data):
    """Thresholds lie between float32 neighbours; values in float64 are rounded to float32 first."""
    value = np.float32(data.draw(st.floats(-1e6, 1e6, width=32)))
    near = [np.nextafter(value, np.float32(side), dtype=np.float32) for side in (-np.inf, np.inf)]
    X = np.array([*near, value] * 3, dtype=np.float64)[:, None]
    model = DecisionTreeClassifier().fit(X, [0, 1, 2] * 3)
    between = np.concatenate([X.ravel(), (X[0] + value) / 2, (X[1] + value) / 2])[:, None]
    export_onnx(model, tmp_path_factory.mktemp("tree") / "model.onnx", between)


def test_bins_of_a_grid_by_hand(tmp_path):
    X = np.array([[1.0, 5], [2, 6], [3, 5], [4, 6], [np.nan, 5]])
    model = make_pipeline(QuantileGrid(2), HistGradientBoostingClassifier(min_samples_leaf=1, max_iter=3))
    model.fit(X, [0, 0, 1, 1, 1])
    assert model[0].edges_[0].tolist() == [2.5, 4.0]
    assert model[0].edges_[1] is None
    edges = np.array([[2.5, 5], [2.5000001, 6], [-9, 5], [99, 6], [np.nan, 5]])  # on an edge, beyond the last one
    export_onnx(model, tmp_path / "model.onnx", edges)


@pytest.mark.parametrize(("side", "channels"), [(8, 1), (16, 2), (70, 3)], ids=["small", "two-channels", "shrunk"])
def test_patches_of_images(side, channels, tmp_path):
    X, y = striped(40, 0, side=side, channels=channels)
    model = make_pipeline(PatchFeatures(n_centres=8, random_state=0), StandardScaler(), LogisticRegression())
    report = export_onnx(model.fit(X, y), tmp_path / "model.onnx", X)
    assert report.probability_difference < 1e-5


@pytest.mark.parametrize("method", ["logistic", "forest", "hist-gradient-boosting"])
def test_images_as_tables(method, tmp_path):
    X, y = striped(40, 0, side=8)
    model = build_method(method, random_state=0).fit(X, y)
    assert export_onnx(model, tmp_path / "model.onnx", X).inputs == {"X": "uint8 (n, 1, 8, 8)"}


@pytest.mark.parametrize("method", ["balanced-forest", "rusboost", "easy-ensemble"])
def test_methods_of_imbalanced_learn(method, tmp_path):
    pytest.importorskip("imblearn")
    X, y = task(3, n=200)
    model = build_method(method, n_estimators=3, random_state=0).fit(X, np.array(["a", "b", "c"])[y])
    assert export_onnx(model, tmp_path / "model.onnx", X).probability_difference < 1e-12


def test_columns_by_name(tmp_path):
    X, y = task(3)
    table = pd.DataFrame(X[:, :3], columns=["a b", "c", "d"]).assign(ward=np.where(X[:, 3] > 0, "u", "v"))
    columns = make_column_transformer((StandardScaler(), ["a b", "d"]), (OneHotEncoder(), ["ward"]))
    model = make_pipeline(columns, LogisticRegression()).fit(table, y)
    report = export_onnx(model, tmp_path / "model.onnx", table)
    number = "float64 (n, 1)"
    assert report.inputs == {"a b": number, "c": number, "d": number, "ward": "text (n, 1)"}
    assert report.probability_difference < 1e-12
    with pytest.raises(ExportError, match=r"What the columns hold is not known from the model. Give rows"):
        export_onnx(model, tmp_path / "model.onnx")
    numbers = make_pipeline(make_column_transformer((StandardScaler(), ["d"]), remainder="passthrough"), GaussianNB())
    assert export_onnx(numbers.fit(table[["c", "d"]], y), tmp_path / "model.onnx", table[["c", "d"]]).inputs == {
        "X": "float64 (n, 2)"
    }


def test_sparse_rows(tmp_path):
    sparse = pytest.importorskip("scipy.sparse")
    X, y = task(3)
    X[np.abs(X) < 1] = 0
    model = build_method("auto", cv=2, random_state=0).fit(sparse.csr_matrix(X), y)
    assert export_onnx(model, tmp_path / "model.onnx", sparse.csr_matrix(X)).n_rows == 500


REFUSED = {
    "skl2onnx does not convert it": DummyClassifier(),
    "PowerTransformer cannot be exported": make_pipeline(PowerTransformer(), LogisticRegression()),
    "Nystroem with the kernel 'poly'": make_pipeline(Nystroem(kernel="poly", n_components=5), LogisticRegression()),
    "kernel <function": SVC(kernel=lambda a, b: a @ b.T),
    "with an init of your own": GradientBoostingClassifier(init=LogisticRegression(), n_estimators=2),
    "without an indicator": make_pipeline(SimpleImputer(add_indicator=True), LogisticRegression()),
    "columns of categories": HistGradientBoostingClassifier(categorical_features=[0], max_iter=3),
    # skl2onnx computes these probabilities otherwise
    "probabilities of the exported model are other": LinearDiscriminantAnalysis(),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_is_not_exact_is_refused(message, tmp_path):
    X, y = task(2)
    X[:, 0] = X[:, 0].round() % 7
    with pytest.raises(ExportError, match=message):
        export_onnx(REFUSED[message].fit(X, y), tmp_path / "model.onnx", X)


def test_text_needs_a_step_that_encodes_it(tmp_path):
    table = pd.DataFrame({"ward": ["a", "b"] * 20, "age": np.arange(40.0)})
    model = GaussianNB().fit(table[["age"]], np.arange(40) % 2)
    model.feature_names_in_ = np.array(["ward", "age"], dtype=object)
    with pytest.raises(ExportError, match=r"GaussianNB cannot be exported with columns of text: \['ward'\]"):
        export_onnx(model, tmp_path / "model.onnx", table)
