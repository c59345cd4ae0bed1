"""Tables as numbers: hand-worked encodings, unknown and missing values, and what cannot be encoded."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator
from skops import io as skops_io

from worstclass.data.encoding import TableEncoder
from worstclass.exceptions import DataError, ParameterError


def patients() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "age": [71.0, None, 64.0, 50.0],
            "ward": ["B", "A", "B", None],
            "smokes": [True, False, True, True],
            "grade": pd.Categorical([2, 1, 2, 3], categories=[1, 2, 3, 4]),
            "visits": pd.array([1, None, 3, 5], dtype="Int64"),
            "notes": [None, None, None, None],
        }
    )


def test_every_kind_of_column_is_encoded_by_hand():
    encoder = TableEncoder().fit(patients())
    assert encoder.get_feature_names_out().tolist() == [
        "age", "ward_B", "ward_A", "ward_missing", "smokes_True", "smokes_False", "grade_2", "grade_1", "grade_3",
        "visits", "notes",
    ]  # fmt: skip
    encoded = encoder.transform(patients())
    assert encoded.dtype == np.float32
    assert encoded.tolist() == [
        [71, 1, 0, 0, 1, 0, 1, 0, 0, 1, 0],
        [64, 0, 1, 0, 0, 1, 0, 1, 0, 3, 0],
        [64, 1, 0, 0, 1, 0, 1, 0, 0, 3, 0],
        [50, 0, 0, 1, 1, 0, 0, 0, 1, 5, 0],
    ]


def test_unknown_values_and_missing_ones_that_training_did_not_have_give_zeros():
    encoder = TableEncoder().fit(pd.DataFrame({"ward": ["A", "B"]}))
    assert encoder.transform(pd.DataFrame({"ward": ["B", "C", None]})).tolist() == [[0, 1], [0, 0], [0, 0]]


def test_medians_are_those_of_the_training_rows():
    encoder = TableEncoder().fit(pd.DataFrame({"size": [1.0, 2.0, 30.0]}))
    assert encoder.transform(pd.DataFrame({"size": [np.nan, 100.0]})).tolist() == [[2.0], [100.0]]


def test_only_the_most_frequent_values_have_columns_of_their_own():
    encoder = TableEncoder(max_categories=2).fit(pd.DataFrame({"x": list("abbccc")}))
    assert encoder.categories_ == [["c", "b"]]
    assert encoder.transform(pd.DataFrame({"x": list("abc")})).tolist() == [[0, 0], [0, 1], [1, 0]]


def test_values_decide_and_not_how_they_are_stored():
    encoder = TableEncoder().fit(pd.DataFrame({"n": pd.Series([1, 2.5, None], dtype=object), "w": ["a", "b", "a"]}))
    rows = pd.DataFrame({"n": [4.0], "w": pd.Categorical(["b"])})
    assert encoder.transform(rows).tolist() == [[4.0, 0.0, 1.0]]


def test_columns_are_found_by_name():
    encoder = TableEncoder().fit(patients())
    turned = patients()[list(reversed(patients().columns))]
    np.testing.assert_array_equal(encoder.transform(turned), encoder.transform(patients()))


@given(arrays(np.float64, (5, 2, 2), elements=st.floats(-1e6, 1e6)))
def test_arrays_pass_through_and_images_are_flattened(images):
    np.testing.assert_array_equal(TableEncoder().fit_transform(images), images.reshape(5, 4).astype(np.float32))


def test_missing_numbers_of_arrays_are_filled():
    X = np.array([[1.0, np.nan], [3.0, np.nan], [np.nan, np.nan]])
    assert TableEncoder().fit_transform(X).tolist() == [[1, 0], [3, 0], [2, 0]]


def test_an_array_may_follow_a_data_frame():
    frame = pd.DataFrame({"a": [1.0, 2.0], "w": ["x", "y"]})
    encoder = TableEncoder().fit(frame)
    assert encoder.transform(frame.to_numpy(dtype=object)).tolist() == [[1, 1, 0], [2, 0, 1]]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (pd.DataFrame({"a": pd.to_datetime(["2020-01-01"])}), "'a' holds dates or times"),
        (pd.DataFrame({"a": [[1, 2]]}), "'a' must hold numbers or text"),
        (pd.DataFrame({"a": []}), "minimum of 1 is required"),
        (np.zeros(3), "Reshape your data"),
        (np.zeros((2, 2)) + 1j, "Complex"),
    ],
)
def test_what_cannot_be_encoded_is_refused(rows, message):
    with pytest.raises(DataError, match=message):
        TableEncoder().fit(rows)


def test_rows_unlike_those_of_training_are_refused():
    encoder = TableEncoder().fit(pd.DataFrame({"a": [1.0, 2.0]}))
    with pytest.raises(DataError, match="'a' holds numbers in the training rows, and other values here, such as 'x'"):
        encoder.transform(pd.DataFrame({"a": ["x", None]}))
    with pytest.raises(DataError, match="X has 2 features, but TableEncoder is expecting 1"):
        encoder.transform(np.zeros((1, 2)))
    for value in (np.inf, 1e39):
        with pytest.raises(DataError, match=r"'a' must hold finite numbers.* in row 2"):
            encoder.transform(pd.DataFrame({"a": [0.0, value]}))
    with pytest.raises(ParameterError, match="max_categories"):
        TableEncoder(max_categories=0).fit(np.zeros((2, 2)))


def test_it_is_a_scikit_learn_transformer():
    check_estimator(TableEncoder())
    assert clone(TableEncoder(max_categories=7)).max_categories == 7


def test_it_is_stored_without_pickles():
    encoder = TableEncoder().fit(patients())
    loaded = skops_io.loads(skops_io.dumps(encoder), trusted=["worstclass.data.encoding.TableEncoder"])
    np.testing.assert_array_equal(loaded.transform(patients()), encoder.transform(patients()))
    again = TableEncoder.from_state(encoder.get_params(), encoder.state())
    np.testing.assert_array_equal(again.transform(patients()), encoder.transform(patients()))
