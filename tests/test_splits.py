"""Splitting by class: every row in exactly one part, the shares of each class, refusals."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from worstclass.data.splits import Part, Splits, make_splits, take_rows
from worstclass.exceptions import DataError, ParameterError

relaxed = settings(deadline=None)


def parts_of(splits):
    parts = {"train": splits.train, "val": splits.val, "cal": splits.cal, "test": splits.test}
    return {name: part for name, part in parts.items() if part is not None}


def split_indices(y, **options):
    """Split the row numbers themselves, so that it shows which row went where."""
    return parts_of(make_splits(np.arange(len(y)), y, **options))


shares = st.tuples(st.integers(0, 40), st.integers(0, 30), st.integers(0, 29)).map(
    lambda percent: dict(zip(("val", "cal", "test"), (p / 100 for p in percent), strict=True))
)


@relaxed
@given(st.lists(st.sampled_from("abcd"), min_size=1, max_size=60), shares, st.integers(0, 5))
def test_every_row_is_in_exactly_one_part_with_its_own_label(y, options, seed):
    parts = split_indices(y, seed=seed, **options)
    rows = np.concatenate([part.X for part in parts.values()])
    assert sorted(rows.tolist()) == list(range(len(y)))
    for part in parts.values():
        assert part.y.tolist() == [y[row] for row in part.X]
        assert part.X.tolist() == sorted(part.X.tolist())


@relaxed
@given(st.lists(st.sampled_from("abcd"), min_size=1, max_size=60), shares, st.integers(0, 5))
def test_each_class_is_cut_in_the_given_shares_and_training_has_every_class(y, options, seed):
    parts = split_indices(y, seed=seed, **options)
    in_part = {name: Counter(part.y.tolist()) for name, part in parts.items()}
    for label, total in Counter(y).items():
        in_train = in_part["train"][label]
        assert in_train >= 1
        for name, share in options.items():
            got = in_part.get(name, Counter())[label]
            assert got <= share * total + 0.5 + 1e-9
            assert got >= share * total - 0.5 - 1e-9 or in_train == 1


def test_shares_by_hand_on_imbalanced_classes():
    y = ["big"] * 100 + ["small"] * 10
    parts = split_indices(y, val=0.2, cal=0.1, test=0.3)
    assert {name: Counter(part.y.tolist()) for name, part in parts.items()} == {
        "train": {"big": 40, "small": 4},
        "val": {"big": 20, "small": 2},
        "cal": {"big": 10, "small": 1},
        "test": {"big": 30, "small": 3},
    }


def test_class_of_one_row_stays_in_training():
    splits = make_splits(np.arange(11), ["a"] * 10 + ["rare"], test=0.9)
    assert splits.train.y.tolist() == ["a", "rare"]
    assert set(splits.test.y) == {"a"}


def test_part_without_share_is_none():
    splits = make_splits(np.arange(10), [0, 1] * 5, test=0.2)
    assert splits.val is None
    assert splits.cal is None
    assert (len(splits.train), len(splits.test)) == (8, 2)
    everything = make_splits(np.arange(10), [0, 1] * 5, test=0)
    assert everything.test is None
    assert everything.train.X.tolist() == list(range(10))


def test_seed_fixes_the_draw():
    y = [0, 1] * 50
    first, again, other = (split_indices(y, val=0.3, test=0.3, seed=seed) for seed in (3, 3, 4))
    for name, part in first.items():
        assert part.X.tolist() == again[name].X.tolist()
        assert part.X.tolist() != other[name].X.tolist()


def test_draw_is_at_random_within_a_class():
    first_rows = [0 in split_indices([0] * 10, test=0.5, seed=seed)["test"].X for seed in range(40)]
    assert 8 <= sum(first_rows) <= 32  # half of 40 expected; not always, not never


def test_global_stream_is_left_alone():
    before = np.random.get_state()[1].tolist()  # noqa: NPY002
    make_splits(np.arange(10), [0, 1] * 5)
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002


def test_array_rows_keep_their_shape_and_type():
    X = np.arange(40, dtype=np.float32).reshape(10, 2, 2)
    splits = make_splits(X, [0] * 10, test=0.5)
    assert splits.test.X.shape == (5, 2, 2)
    assert splits.test.X.dtype == np.float32


def test_data_frame_rows_keep_columns_types_and_index():
    X = pd.DataFrame({"a": range(10), "b": pd.Categorical(list("xyxyxyxyxy"))}, index=range(100, 110))
    splits = make_splits(X, X["b"], test=0.4)
    assert list(splits.test.X.columns) == ["a", "b"]
    assert splits.test.X.dtypes.equals(X.dtypes)
    assert (splits.test.X.index == splits.test.X["a"] + 100).all()
    assert splits.test.y.tolist() == splits.test.X["b"].tolist()


@pytest.mark.parametrize("kind", ["csr_matrix", "csr_array", "csc_matrix", "coo_matrix"])
def test_sparse_rows_stay_sparse(kind):
    X = getattr(scipy.sparse, kind)(np.diag(np.arange(1, 11)))
    splits = make_splits(X, [0, 1] * 5, test=0.4)
    assert scipy.sparse.issparse(splits.test.X)
    assert splits.train.X.shape == (6, 10)
    rows = splits.test.X.toarray().sum(axis=1) - 1  # the diagonal tells which row it was
    assert splits.test.y.tolist() == (rows % 2).tolist()


def test_list_rows_stay_a_list():
    splits = make_splits(["r0", "r1", "r2", "r3"], [0, 0, 1, 1], test=0.5)
    assert isinstance(splits.test.X, list)
    assert len(splits.test.X) == 2


def test_take_rows_follows_the_order_of_the_index():
    index = np.array([2, 0])
    assert take_rows(np.array([10, 11, 12]), index).tolist() == [12, 10]
    assert take_rows([10, 11, 12], index) == [12, 10]
    assert take_rows(pd.DataFrame({"a": [10, 11, 12]}, index=[2, 1, 0]), index)["a"].tolist() == [12, 10]


@pytest.mark.parametrize("name", ["val", "cal", "test"])
@pytest.mark.parametrize("share", [-0.1, 1.0, 1.5, float("nan")])
def test_share_outside_its_range_is_refused_by_name(name, share):
    with pytest.raises(ParameterError, match=rf"'{name}' parameter of make_splits must be a share in \[0, 1\)"):
        make_splits(np.arange(4), [0, 0, 1, 1], **{name: share})


def test_shares_that_leave_nothing_to_train_on_are_refused():
    # 1 together as decimals, but 0.9999999999999999 in binary
    assert 0.7 + 0.2 + 0.1 < 1
    with pytest.raises(ParameterError, match="less than 1 together"):
        make_splits(np.arange(10), [0, 1] * 5, val=0.7, cal=0.2, test=0.1)


def test_lengths_that_differ_are_refused_with_both_named():
    with pytest.raises(DataError, match="Got 3 rows and 2 labels"):
        make_splits(np.zeros((3, 2)), [0, 1])


def test_no_rows_are_refused():
    with pytest.raises(DataError):
        make_splits(np.zeros((0, 2)), [])


def test_two_dimensional_labels_are_refused():
    with pytest.raises(DataError):
        make_splits(np.arange(4), [[0], [0], [1], [1]])


def test_rows_without_a_label_are_refused_and_not_dropped():
    with pytest.raises(DataError):
        make_splits(np.arange(6), [0.0, 0.0, 1.0, 1.0, np.nan, np.nan], test=0.5)


def test_labels_become_names_where_names_say_more():
    train, test = Part(np.zeros((3, 1)), np.array([2, 0, 1])), Part(np.ones((1, 1)), np.array([2]))
    splits = Splits(train, test=test, class_names=("crane", "heron", "crane"))
    named = splits.with_names()
    assert named.train.y.tolist() == ["crane (2)", "crane (0)", "heron"]
    assert named.test.y.tolist() == ["crane (2)"]
    assert named.train.X is train.X
    assert (named.val, named.cal) == (None, None)
    for plain in (Splits(train), Splits(train, class_names=("0", "1", "2"))):
        assert plain.with_names() is plain


def test_part_has_the_length_of_its_labels_and_splits_need_training_only():
    part = Part(np.zeros((3, 2)), np.array([0, 1, 1]))
    assert len(part) == 3
    assert parts_of(Splits(part)) == {"train": part}
