"""Seen rows: a row is recognised in every form, and reuse is told from coincidence at the stated error rates."""

from __future__ import annotations

import hashlib
import itertools

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.tree import DecisionTreeClassifier
from torch.utils.data import Dataset, Subset, TensorDataset

from worstclass import TorchLearner, WorstClassBooster
from worstclass.boosting.oco import InstanceBooster
from worstclass.data.fingerprints import CHUNK_BYTES, MOST_DENSE_COLUMNS, row_hashes
from worstclass.data.seen_rows import ROLES, RowOverlap, SeenRows, check_unseen
from worstclass.exceptions import DataError, WorstClassError

NUMBERS = np.array([[1.5, -2.0, 0.1], [0.0, 3.0, 1e-3], [7.0, np.pi, 1e30]])

SAME_NUMBERS = {
    "float32": NUMBERS.astype(np.float32),
    "big-endian": NUMBERS.astype(">f8"),
    "fortran order": np.asfortranarray(NUMBERS),
    "list": NUMBERS.tolist(),
    "object array": NUMBERS.astype(object),
    "data frame": pd.DataFrame(NUMBERS, columns=list("abc"), index=[9, 5, 7]),
    "frame of objects": pd.DataFrame(NUMBERS).astype(object),
    "nullable frame": pd.DataFrame(NUMBERS).astype("Float64"),
    "frame of categories": pd.DataFrame(NUMBERS).astype("category"),
    "csr": scipy.sparse.csr_matrix(NUMBERS),
    "csc array": scipy.sparse.csc_array(NUMBERS),
    "tensor": torch.tensor(NUMBERS),
    "float32 tensor": torch.tensor(NUMBERS, dtype=torch.float32, requires_grad=True),
    "image": NUMBERS.reshape(3, 1, 1, 3),
    "tensor data set": TensorDataset(torch.tensor(NUMBERS), torch.arange(3)),
}


@pytest.mark.parametrize("form", SAME_NUMBERS)
def test_the_same_numbers_in_another_form_are_the_same_rows(form):
    np.testing.assert_array_equal(row_hashes(SAME_NUMBERS[form]), row_hashes(NUMBERS))


def test_a_fingerprint_is_the_digest_of_the_float32_bytes():
    expected = hashlib.blake2b(NUMBERS[1].astype("<f4").tobytes(), digest_size=8).digest()
    assert row_hashes(NUMBERS)[1] == int.from_bytes(expected, "little")
    assert row_hashes(NUMBERS).dtype == np.uint64


def test_whole_numbers_booleans_and_pixels_are_numbers():
    pixels = np.array([[0, 1, 255], [1, 0, 1]], dtype=np.uint8)
    for form in (np.int64, np.float64, np.float16, np.int16):
        np.testing.assert_array_equal(row_hashes(pixels.astype(form)), row_hashes(pixels))
    np.testing.assert_array_equal(row_hashes(pixels[1:].astype(bool)), row_hashes(pixels[1:]))


def test_zeros_and_missing_numbers_have_one_form():
    odd_nan = np.frombuffer(np.uint32(0xFFC12345).tobytes(), dtype=np.float32)[0]
    one = np.array([[0.0, np.nan]], dtype=np.float32)
    other = np.array([[-0.0, odd_nan]], dtype=np.float32)
    assert one.tobytes() != other.tobytes()
    assert row_hashes(one) == row_hashes(other)
    assert row_hashes(pd.DataFrame({"a": [0], "b": pd.array([None], dtype="Int64")})) == row_hashes(one)


@settings(deadline=None)
@given(arrays(np.float32, (12, 3), elements=st.floats(-4, 4, width=16)))
def test_rows_share_a_fingerprint_exactly_when_they_are_equal(X):
    hashes = row_hashes(X)
    equal = (X[:, None] == X[None]).all(axis=2)
    np.testing.assert_array_equal(hashes[:, None] == hashes[None], equal)


def test_the_order_of_columns_and_their_number_count():
    assert row_hashes(NUMBERS[:, ::-1])[0] != row_hashes(NUMBERS)[0]
    assert row_hashes(np.array([[1.0, 0.0]])) != row_hashes(np.array([[1.0]]))


# --- text


def table():
    return pd.DataFrame(
        {
            "colour": pd.Categorical(["red", "blue", "red", None]),
            "size": [1, 2, 1, 2],
            "when": pd.to_datetime(["2020", "2021", "2020", "2022"]),
        }
    )


def test_rows_of_a_table_are_told_by_what_they_say():
    hashes = row_hashes(table())
    assert hashes[0] == hashes[2]
    assert len(set(hashes.tolist())) == 3


@pytest.mark.parametrize("form", [object, "string"])
def test_a_category_stands_for_its_value_whatever_its_code(form):
    coded_otherwise = table()
    coded_otherwise["colour"] = coded_otherwise["colour"].cat.set_categories(["none", "red", "blue"])
    plain = table()
    plain["colour"] = plain["colour"].astype(form)
    for other in (coded_otherwise, plain, table().iloc[[0, 1, 2, 3]].to_numpy()):
        np.testing.assert_array_equal(row_hashes(other), row_hashes(table()))
    np.testing.assert_array_equal(row_hashes(table().iloc[1:3]), row_hashes(table())[1:3])


def test_a_number_beside_text_is_not_its_text():
    mixed = pd.DataFrame({"a": pd.Series(["x", 1, "1", 1.0], dtype=object)})
    x, one, text, also_one = row_hashes(mixed).tolist()
    assert one == also_one
    assert len({x, one, text}) == 3


def test_lists_of_text_and_numbers_are_rows_of_both():
    rows = [["red", 1], ["blue", 2]]
    np.testing.assert_array_equal(row_hashes(rows), row_hashes(pd.DataFrame(rows)))
    assert len(set(row_hashes(["one document", "another", "one document"]).tolist())) == 2


# --- sparse, large, and what cannot be hashed


def test_long_sparse_rows_are_told_by_their_entries():
    wide = MOST_DENSE_COLUMNS + 1
    X = scipy.sparse.random(50, wide, density=0.002, format="csr", random_state=0)
    X = scipy.sparse.vstack([X, X[:5]]).tocsr()
    hashes = row_hashes(X)
    assert len(set(hashes.tolist())) == 50
    np.testing.assert_array_equal(hashes[50:], hashes[:5])
    np.testing.assert_array_equal(row_hashes(X.tocsc()), hashes)
    np.testing.assert_array_equal(row_hashes(X.astype(np.float32)), hashes)
    unsorted = X.copy()
    unsorted.indices, unsorted.data = unsorted.indices[::-1].copy(), unsorted.data[::-1].copy()
    unsorted.indptr = (unsorted.indptr[-1] - unsorted.indptr[::-1]).copy()
    unsorted.has_sorted_indices = False
    before = unsorted.indices.copy()
    np.testing.assert_array_equal(row_hashes(unsorted), hashes[::-1])
    np.testing.assert_array_equal(unsorted.indices, before)  # the user's matrix stays as it is
    with_zeros = X.copy()
    with_zeros.data[:3] = 0
    cleaned = with_zeros.copy()
    cleaned.eliminate_zeros()
    np.testing.assert_array_equal(row_hashes(with_zeros), row_hashes(cleaned))


def test_rows_beyond_one_chunk_are_hashed_alike():
    n_rows = CHUNK_BYTES // 4 // 500 + 10
    X = np.random.default_rng(0).integers(0, 255, size=(n_rows, 500), dtype=np.uint8)
    assert n_rows * 500 * 4 > CHUNK_BYTES
    hashes = row_hashes(X)
    assert len(hashes) == n_rows
    np.testing.assert_array_equal(hashes[-20:], row_hashes(X[-20:]))


@pytest.mark.parametrize(
    "rows",
    [[[1], [2, 3]], np.array([[1, [2]], [3, 4]], dtype=object), np.zeros((2, 2), dtype=complex), np.array(3.0)],
    ids=["ragged", "lists in cells", "complex", "no rows"],
)
def test_what_cannot_be_hashed_gives_none(rows):
    assert row_hashes(rows) is None


def test_no_row_has_no_fingerprint():
    assert row_hashes(np.zeros((0, 3))).shape == (0,)
    assert row_hashes(pd.DataFrame({"a": pd.Series([], dtype=object)})).shape == (0,)


class Squares(Dataset):
    """Items are computed when they are read."""

    def __init__(self):
        self.reads = 0

    def __len__(self):
        return 6

    def __getitem__(self, i):
        self.reads += 1
        return torch.tensor([float(i), float(i * i)]), i % 2


def test_a_data_set_is_read_only_when_asked_to():
    dataset = Squares()
    assert row_hashes(dataset) is None
    assert row_hashes(Subset(dataset, [1])) is None
    assert dataset.reads == 0
    expected = row_hashes(np.array([[i, i * i] for i in range(6)]))
    np.testing.assert_array_equal(row_hashes(dataset, read_items=True), expected)
    np.testing.assert_array_equal(row_hashes(Subset(dataset, [4, 2]), read_items=True), expected[[4, 2]])
    tensors = Subset(TensorDataset(torch.tensor([[i, i * i] for i in range(6)])), [5, 0])
    np.testing.assert_array_equal(row_hashes(tensors), expected[[5, 0]])


# --- the record


def test_a_record_keeps_roles_apart_and_repeated_rows():
    record = SeenRows.of(NUMBERS[[2, 0, 0]], NUMBERS[1:2])
    expected = row_hashes(NUMBERS)
    assert record.training.tolist() == sorted(expected[[2, 0, 0]].tolist())
    assert record.validation.tolist() == expected[1:2].tolist()
    assert (record.calibration, record.complete) == (None, True)
    assert record.rows_of(["validation"]).tolist() == expected[1:2].tolist()
    assert record.rows_of(["calibration"]).shape == (0,)
    assert record.rows_of().tolist() == sorted(expected[[2, 0, 0, 1]].tolist())


def test_rows_that_cannot_be_hashed_leave_the_record_incomplete():
    record = SeenRows.of(NUMBERS, Squares())
    assert (len(record.training), record.validation, record.complete) == (3, None, False)
    assert not SeenRows.of(NUMBERS).also(record).complete


def test_rows_of_two_records_or_roles_are_joined_once():
    hashes = np.sort(row_hashes(NUMBERS))
    first, all_rows = SeenRows.of(NUMBERS[:2]), SeenRows.of(NUMBERS)
    for joined in (first.also(all_rows), all_rows.also(first), all_rows.also(all_rows), all_rows.also(SeenRows())):
        np.testing.assert_array_equal(joined.training, hashes)
    np.testing.assert_array_equal(SeenRows.of(NUMBERS, NUMBERS[1:], NUMBERS[:1]).rows_of(), hashes)
    # rows that neither record contains are added, copies included
    both = SeenRows.of(NUMBERS[:2]).also(SeenRows.of(NUMBERS[1:]))
    assert sorted(both.training.tolist()) == sorted(row_hashes(NUMBERS[[0, 1, 1, 2]]).tolist())
    twice = SeenRows.of(NUMBERS[[0, 0]]).also(SeenRows.of(NUMBERS[:1]))
    assert len(twice.training) == 2


@pytest.mark.parametrize("kind", [WorstClassBooster, InstanceBooster])
def test_a_fitted_booster_knows_training_and_validation_rows(kind, blobs):
    X, y = blobs
    theta = {"theta": 0.5} if kind is WorstClassBooster else {}
    booster = kind(DecisionTreeClassifier(), n_rounds=2, gamma=0.4995, random_state=0, **theta)
    booster.fit(X[:60], y[:60], X[60:80], y[60:80])
    np.testing.assert_array_equal(booster.seen_rows_.training, np.sort(row_hashes(X[:60])))
    np.testing.assert_array_equal(booster.seen_rows_.validation, np.sort(row_hashes(X[60:80])))


def test_a_refused_fit_keeps_the_rows_of_the_earlier_one(blobs):
    X, y = blobs
    booster = WorstClassBooster(DecisionTreeClassifier(), 0.5, n_rounds=2, gamma=0.4995, random_state=0).fit(
        X[:40], y[:40]
    )
    before = booster.seen_rows_
    with pytest.raises(WorstClassError):
        booster.fit(X, y[:-1])
    assert booster.seen_rows_ is before


def test_a_booster_of_a_data_set_knows_nothing_about_its_rows():
    learner = TorchLearner("mlp", module_options={"hidden": (8,)}, lr=0.05)
    booster = WorstClassBooster(learner, 0.1, n_rounds=1, gamma=0.4, random_state=0)
    assert not booster.fit(Squares(), np.arange(6) % 2).seen_rows_.complete


# --- the policy, by hand


def continuous(n, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 3))


def checked(X, *seen, **options):
    return check_unseen(X, SeenRows.of(*seen), owner="certify", **options)


def test_new_rows_of_a_continuous_table_are_not_seen():
    assert checked(continuous(50), continuous(100, 1)) == RowOverlap(50, 0, 0.0, 0, "none")


@pytest.mark.parametrize("role", range(3))
def test_a_whole_copy_is_refused_in_every_role(role):
    X = continuous(100)
    parts = [continuous(100, 1 + i) for i in range(3)]
    parts[role] = X
    for flag in (False, True):
        with pytest.raises(DataError, match="certify needs rows that the model has not seen") as refused:
            checked(X, *parts, allow_equal_rows=flag)
        assert "Of the 100 rows, 100 equal rows" in str(refused.value)
        assert "allow_equal_rows" not in str(refused.value)
    others = [name for name in ROLES if name != ROLES[role]]
    assert checked(X, *parts, roles=others).verdict == "none"


def test_labels_and_the_order_of_rows_do_not_hide_a_copy():
    X = continuous(60)
    with pytest.raises(DataError):
        checked(X[::-1].astype(np.float32), X)


@pytest.mark.parametrize(("n_seen", "n_new"), [(1_000, 1_000), (50_000, 1_000), (1_000, 200), (200_000, 100)])
def test_a_handful_of_equal_rows_passes(n_seen, n_new):
    seen = continuous(n_seen)
    X = np.vstack([seen[:1], continuous(n_new - 1, 1)])
    assert checked(X, seen) == RowOverlap(n_new, 1, 0.0, 0, "chance")


@pytest.mark.parametrize("n_reused", [15, 40, 60, 100])
def test_a_part_of_the_rows_used_before_is_refused_in_a_continuous_table(n_reused):
    seen = continuous(300)
    with pytest.raises(DataError, match=f"Of the 100 rows, {n_reused} equal"):
        checked(np.vstack([seen[:n_reused], continuous(100 - n_reused, 1)]), seen, allow_equal_rows=True)


def test_few_rows_are_judged_by_every_possible_division():
    # two samples of 4 rows: all 4 new rows equal a seen one. Of the 70 divisions of 4 pairs, 16 divide each pair, so
    # nothing can be said, and half or more may have been used before
    X = continuous(4)
    with pytest.raises(DataError, match="cannot be decided"):
        checked(X, X)
    assert checked(X, X, allow_equal_rows=True) == RowOverlap(4, 4, 0.0, 0, "undecided", allowed=True)
    # of 10 pairs, 2^10 of the 184,756 divisions divide each pair: 0.6%; of 20 pairs one in 131,000
    assert checked(continuous(10), continuous(10), allow_equal_rows=True).verdict == "undecided"
    with pytest.raises(DataError, match="use evaluate"):
        checked(continuous(20), continuous(20), allow_equal_rows=True)


def test_training_rows_without_copies_and_new_rows_with_them_cannot_be_decided():
    # the user removed copies from the training rows of a discrete table, and not from the others
    grid = np.array(list(itertools.product(range(3), repeat=4)), dtype=float)
    X = grid[np.random.default_rng(0).integers(0, 81, size=300)]
    with pytest.raises(DataError, match="cannot be decided"):
        checked(X, grid)
    assert checked(X, grid, allow_equal_rows=True).allowed


@pytest.mark.parametrize(
    ("X", "seen", "n_repeated"),
    [
        (NUMBERS, None, 0),
        (NUMBERS[[0, 0, 1]], None, 1),
        (NUMBERS, SeenRows(complete=False), 0),
        (NUMBERS, SeenRows.of(Squares()), 0),
        (np.zeros((3, 2), dtype=complex), SeenRows.of(NUMBERS), None),
    ],
    ids=["no record", "no record, copies", "nothing known", "data set", "rows that cannot be hashed"],
)
def test_what_is_not_known_is_said_and_is_no_error(X, seen, n_repeated):
    found = check_unseen(X, seen, owner="certify")
    assert found == RowOverlap(3, n_repeated=n_repeated, verdict="unknown")
    assert str(found).startswith("Not checked: whether the model has seen any of these 3 rows.")


def test_an_incomplete_record_still_refuses_the_rows_it_knows():
    X = continuous(50)
    with pytest.raises(DataError):
        check_unseen(X, SeenRows(training=np.sort(row_hashes(X)), complete=False), owner="certify")


def test_a_data_set_is_read_to_be_checked():
    X = np.array([[i, i * i] for i in range(6)], dtype=float)
    assert checked(Squares(), np.vstack([X, X + 50]), allow_equal_rows=True).n_equal == 6


def test_the_chance_of_an_equal_row_is_the_share_of_seen_rows_with_an_equal_row():
    seen = np.array([[0.0], [0.0], [0.0], [1.0], [2.0], [2.0], [3.0], [4.0]])  # 5 of 8 have one
    found = checked(np.array([[0.0], [7.0], [8.0], [9.0]]), seen)
    assert (found.n_equal, found.n_expected, found.verdict) == (1, 4 * 5 / 8, "chance")
