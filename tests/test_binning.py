"""Columns on a grid: the bins of histogram-based trees, found once."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from worstclass import SklearnLearner, WorstClassBooster, load_model, save_model
from worstclass.learners.binning import QuantileGrid


def test_hand_worked_bins():
    # quarters of 1..8: edges at 2.5, 4.5, 6.5 and the largest value
    X = np.arange(1.0, 9.0)[:, None]
    grid = QuantileGrid(max_bins=4).fit(X)
    assert grid.edges_[0].tolist() == [2.5, 4.5, 6.5, 8.0]
    assert grid.transform(X).ravel().tolist() == [2.5, 2.5, 4.5, 4.5, 6.5, 6.5, 8.0, 8.0]
    new = np.array([[-np.inf], [-3.0], [2.5], [2.6], [99.0], [np.inf], [np.nan]])
    np.testing.assert_array_equal(grid.transform(new).ravel(), [2.5, 2.5, 2.5, 4.5, 8.0, 8.0, np.nan])


@settings(deadline=None)
@given(arrays(np.float64, (40, 2), elements=st.floats(-1e6, 1e6) | st.just(np.nan)), st.integers(2, 12))
def test_order_and_missing_values_stay_and_values_are_few(X, max_bins):
    grid = QuantileGrid(max_bins).fit(X)
    gridded = grid.transform(X)
    np.testing.assert_array_equal(np.isnan(gridded), np.isnan(X))
    for before, after in zip(X.T, gridded.T, strict=True):
        order = np.argsort(before[~np.isnan(before)])
        assert (np.diff(after[~np.isnan(after)][order]) >= 0).all()
        assert len(np.unique(after[~np.isnan(after)])) <= max_bins


def test_columns_with_few_values_are_left_alone_and_the_array_itself_too():
    X = np.array([[1, 0.1], [2, 0.2], [1, 0.3], [2, 0.4]])
    before = X.copy()
    gridded = QuantileGrid(max_bins=2).fit_transform(X)
    assert gridded[:, 0].tolist() == [1, 2, 1, 2]
    assert gridded[:, 1].tolist() == [0.25, 0.25, 0.4, 0.4]
    np.testing.assert_array_equal(X, before)
    assert QuantileGrid(max_bins=4).fit_transform(X) is X


def test_a_data_frame_keeps_its_types_names_and_equal_names():
    frame = pd.DataFrame(
        {
            "a": [1.0, 2.0, 3.0, np.nan],
            "kind": pd.Categorical(["x", "y", "x", "z"]),
            "n": pd.array([1, 2, 3, None], "Int64"),
        }
    )
    frame = pd.concat([frame, frame[["a"]] * 10], axis=1)
    gridded = QuantileGrid(max_bins=2).fit_transform(frame)
    assert gridded.columns.tolist() == ["a", "kind", "n", "a"]
    assert gridded["kind"].equals(frame["kind"])
    np.testing.assert_array_equal(gridded.iloc[:, 0], [2.0, 2.0, 3.0, np.nan])
    np.testing.assert_array_equal(gridded.iloc[:, 2], [2.0, 2.0, 3.0, np.nan])
    np.testing.assert_array_equal(gridded.iloc[:, 3], [20.0, 20.0, 30.0, np.nan])
    assert frame.iloc[0, 0] == 1.0


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, (np.nan_to_num(X[:, 0]) + 0.5 * np.nan_to_num(X[:, 1]) > 0).astype(int)


def test_trees_on_the_grid_are_the_trees_without_it(rows):
    """Unweighted, scikit-learn finds the same bins, so it grows the same trees."""
    X, y = rows
    plain = HistGradientBoostingClassifier(max_iter=20).fit(X, y)
    gridded = make_pipeline(QuantileGrid(), HistGradientBoostingClassifier(max_iter=20)).fit(X, y)
    np.testing.assert_allclose(gridded.predict_proba(X), plain.predict_proba(X))


@pytest.mark.parametrize("frame", [False, True], ids=["array", "frame"])
@pytest.mark.parametrize("scaled", [False, True], ids=["bare", "pipeline"])
def test_in_a_booster_the_members_see_the_grid_also_after_loading(rows, frame, scaled, tmp_path):
    X, y = rows
    X = pd.DataFrame(X, columns=list("abc")) if frame else X
    trees = HistGradientBoostingClassifier(max_iter=20)
    learner = SklearnLearner(make_pipeline(StandardScaler(), trees) if scaled else trees)
    booster = WorstClassBooster(learner, 0.9, random_state=0).fit(X, y)
    grid = booster.encoder_.steps[-1]
    assert [len(edges) for edges in grid.edges_] == [255, 255, 255]
    seen = booster.encoder_.encode(X).values
    assert np.unique(np.asarray(seen)[:, 0][~np.isnan(np.asarray(seen)[:, 0])]).size == 255
    loaded = load_model(save_model(booster, tmp_path / "model"))
    np.testing.assert_array_equal(loaded.predict(X), booster.predict(X))
    np.testing.assert_array_equal(loaded.predict_proba(X), booster.predict_proba(X))
