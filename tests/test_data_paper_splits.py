"""The paper's splits, counted: labels of the official sizes in, rows of each split out."""

from __future__ import annotations

from math import ceil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worstclass.data.registry import DATASETS, load_dataset
from worstclass.data.splits import allot, cut, cut_parts, draw, generator, long_tail_counts, share_of
from worstclass.exceptions import DataError, ParameterError

relaxed = settings(deadline=None)


def balanced(n_rows: int, n_classes: int) -> np.ndarray:
    return np.random.default_rng(1).permutation(np.arange(n_rows) % n_classes)


def unbalanced(n_rows: int, n_classes: int) -> np.ndarray:
    """Labels whose classes have very different sizes, all of them there."""
    rng = np.random.default_rng(2)
    weights = np.geomspace(1, 20, n_classes)
    drawn = rng.choice(n_classes, size=n_rows - n_classes, p=weights / weights.sum())
    return np.concatenate([np.arange(n_classes), drawn])


def sizes(splits) -> dict[str, int]:
    return {name: len(index) for name, index in splits.items()}


# --- counts of the appendix


@pytest.mark.parametrize(
    ("train", "expected"),
    [
        (balanced(50_000, 10), {"train": 35_000, "val": 15_000}),  # CIFAR-10
        (balanced(50_000, 100), {"train": 35_000, "val": 15_000}),  # CIFAR-100
        (balanced(100_000, 200), {"train": 70_000, "val": 30_000}),  # Tiny ImageNet
        (unbalanced(697_932, 62), {"train": 488_552, "val": 209_380}),  # EMNIST ByClass
        (balanced(60_000, 10), {"train": 42_000, "val": 18_000}),  # MNIST, Fashion-MNIST
    ],
)
def test_seven_to_three_of_the_official_training_rows(train, expected):
    splits = cut_parts(train, seed=0, val=0.3)
    assert sizes(splits) == expected
    n_classes = train.max() + 1
    whole, kept = (np.bincount(labels, minlength=n_classes) for labels in (train, train[splits["train"]]))
    assert np.abs(kept - 0.7 * whole).max() < 1


def test_official_parts_stay_as_they_are_for_tissuemnist():
    assert sizes(cut_parts(unbalanced(1000, 8), seed=0)) == {"train": 1000}
    assert DATASETS["tissuemnist"].rows == {"train": 165_466, "val": 23_640, "test": 47_280}


def thin(labels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return draw(labels, long_tail_counts(np.bincount(labels), rho=10), rng)


def imbalanced(n_classes: int, seed: int = 0):
    """Labels of the rows that are left of the training rows, split, and of the test rows."""
    kept = {
        part: thin(labels, generator(seed, use))
        for part, labels, use in (("train", balanced(50_000, n_classes), 2), ("test", balanced(10_000, n_classes), 3))
    }
    train = balanced(50_000, n_classes)[kept["train"]]
    splits = {name: train[index] for name, index in cut_parts(train, seed=seed, val=0.3).items()}
    return {**splits, "test": balanced(10_000, n_classes)[kept["test"]]}, kept


@pytest.mark.parametrize("seed", range(3))
def test_imbalanced_cifar10_has_the_paper_s_rows_and_350_of_the_smallest_class(seed):
    splits, _ = imbalanced(10, seed)
    assert sizes(splits) == {"train": 14_301, "val": 6_130, "test": 4_084}
    train, val, test = (np.bincount(splits[name]) for name in ("train", "val", "test"))
    assert (train + val).tolist() == [5000, 3871, 2997, 2320, 1796, 1391, 1077, 834, 645, 500]
    assert test.tolist() == [1000, 774, 599, 464, 359, 278, 215, 166, 129, 100]
    assert train[0] == 3500
    assert train.min() == train[9] == 350


def test_imbalanced_cifar100_ends_at_a_tenth():
    splits, _ = imbalanced(100)
    assert sizes(splits) == DATASETS["imbalanced-cifar100"].rows
    test = np.bincount(splits["test"])
    assert (test[0], test[99]) == (100, 10)


def test_facts_say_what_the_appendix_says():
    rows = {name: tuple(dataset.rows.values()) for name, dataset in DATASETS.items()}
    assert rows["cifar10"] == rows["cifar100"] == (35_000, 15_000, 10_000)
    assert rows["tiny-imagenet"] == (70_000, 30_000, 10_000)
    assert rows["imbalanced-cifar10"] == (14_301, 6_130, 4_084)
    assert rows["emnist"] == (488_552, 209_380, 116_323)
    assert rows["tissuemnist"] == (165_466, 23_640, 47_280)
    assert rows["artificial-balanced"] == (500, 500_000)
    assert rows["artificial-imbalanced"] == (3_100, 310_000)


# --- no row twice


@relaxed
@given(st.integers(1, 300), st.integers(1, 8), st.integers(0, 5), st.sampled_from([0.0, 0.1, 0.25]))
def test_no_row_is_in_two_splits_and_none_is_lost(n_rows, n_classes, seed, cal):
    splits = cut_parts(np.arange(n_rows) % n_classes, seed=seed, val=0.3, cal=cal)
    assert sorted(np.concatenate(list(splits.values())).tolist()) == list(range(n_rows))
    assert all(np.array_equal(index, np.sort(index)) for index in splits.values())


def test_calibration_rows_come_from_training_and_leave_validation_alone():
    labels = balanced(50_000, 10)
    plain, with_cal = cut_parts(labels, seed=4, val=0.3), cut_parts(labels, seed=4, val=0.3, cal=0.2)
    assert sizes(with_cal) == {"train": 28_000, "val": 15_000, "cal": 7_000}
    assert np.array_equal(plain["val"], with_cal["val"])
    assert set(with_cal["cal"]) | set(with_cal["train"]) == set(plain["train"])
    assert np.bincount(labels[with_cal["cal"]]).tolist() == [700] * 10


def test_seed_fixes_the_draw_and_another_seed_makes_another():
    first, again, other = (cut_parts(balanced(1000, 10), seed=seed, val=0.3)["val"] for seed in (0, 0, 1))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    one, another = (imbalanced(10, seed)[1]["test"] for seed in (0, 1))
    assert not np.array_equal(one, another)


# --- rounding


@relaxed
@given(st.lists(st.integers(0, 1000), min_size=1, max_size=30).filter(any), st.floats(0, 1))
def test_allotment_sums_to_the_total_and_is_fair(counts, share):
    counts = np.array(counts)
    total = int(share * counts.sum())
    given_rows = allot(counts, total)
    assert given_rows.sum() == total
    assert (given_rows <= counts).all()
    exact = counts * total / counts.sum()
    if total >= (counts > 0).sum() and (given_rows[(exact < 1) & (counts > 0)] == 1).any():
        assert (given_rows[counts > 0] >= 1).all()
    else:
        assert np.abs(given_rows - exact).max() < 1


def test_allotment_by_hand():
    # shares 3.5, 2.1 and 1.4 of 7: 3, 2, 1, and the seventh goes to the first, which lost most
    assert allot(np.array([5, 3, 2]), 7).tolist() == [4, 2, 1]
    assert allot(np.array([5, 5]), 5).tolist() == [3, 2]  # a tie goes to the first
    assert allot(np.array([98, 1, 1]), 10).tolist() == [8, 1, 1]  # nobody is left without rows
    assert allot(np.array([3, 3, 3]), 2).tolist() == [1, 1, 0]  # unless there are too few
    assert allot(np.array([4, 0]), 2).tolist() == [2, 0]
    with pytest.raises(DataError, match="11 rows cannot be taken of 10"):
        allot(np.array([5, 5]), 11)


@pytest.mark.parametrize(("share", "n_rows", "expected"), [(0.3, 10, 3), (0.3, 11, 4), (0.1, 30, 3), (0.7, 10, 7)])
def test_share_is_taken_as_the_decimal_it_is_written_as(share, n_rows, expected):
    assert share_of(share, n_rows) == expected


def test_share_is_not_rounded_up_by_binary_dust():
    assert ceil(0.07 * 100) == 8  # 7.000000000000001
    assert share_of(0.07, 100) == 7


def test_cut_keeps_labels_of_any_kind():
    labels = np.array(["b", "a", "b", "a", "b", "b"], dtype=object)
    kept, off = cut(labels, 3, np.random.default_rng(0))
    assert sorted(labels[kept].tolist()) == ["a", "b", "b"]
    assert sorted([*kept, *off]) == list(range(6))


# --- long tails


@pytest.mark.parametrize("rho", [1, 2, 10, 12.5, 50, 100, 200])
@pytest.mark.parametrize("n_classes", [2, 10, 100])
def test_a_long_tail_falls_from_all_to_one_in_rho(rho, n_classes):
    counts = long_tail_counts([5000] * n_classes, rho=rho)
    assert counts[0] == 5000
    assert counts[-1] == int(5000 * 2 / (2 * rho))
    assert (np.diff(counts) <= 0).all()
    assert np.abs(counts - 5000 * rho ** (-np.arange(n_classes) / (n_classes - 1))).max() < 1 + 1e-6


def test_a_long_tail_is_exact_where_floating_point_is_not():
    assert int(49 * 49**-1.0) == 0  # 0.9999999999999999 in binary: the floor would lose the last row
    assert long_tail_counts([49, 49, 49], rho=49).tolist() == [49, 7, 1]


def test_thinning_draws_at_random_within_a_class():
    labels = np.repeat([0, 1], [4, 100])
    first, other = (thin(labels, np.random.default_rng(seed)) for seed in (0, 1))
    assert np.bincount(labels[first]).tolist() == [4, 10]
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("rho", [0.5, 0, -1, float("nan"), float("inf"), "10", True])
def test_bad_rho_is_refused(rho):
    with pytest.raises(ParameterError, match="'rho' parameter of the imbalanced set must be a number of at least 1"):
        long_tail_counts([10], rho=rho)


# --- tables of scikit-learn


@pytest.mark.parametrize("name", ["digits", "wine", "iris", "breast-cancer"])
def test_tables_are_split_sixty_twenty_twenty(name):
    splits = load_dataset(name, seed=3)
    parts = {"train": splits.train, "val": splits.val, "test": splits.test}
    assert {part: len(rows) for part, rows in parts.items()} == DATASETS[name].rows
    index = [row for part in parts.values() for row in part.X.index]
    assert sorted(index) == list(range(DATASETS[name].counts["all"]))  # by row identity: none twice, none lost
    assert splits.class_names == DATASETS[name].class_names
    assert set(splits.train.y.tolist()) == set(range(DATASETS[name].n_classes))
    assert splits.train.y.dtype == np.int64


def test_tables_take_other_shares_and_calibrate():
    splits = load_dataset("iris", val=0.0, test=0.5, cal=0.2)
    assert splits.val is None
    assert (len(splits.train), len(splits.cal), len(splits.test)) == (60, 15, 75)
    with pytest.raises(ParameterError, match="less than 1 together"):
        load_dataset("iris", val=0.5, test=0.5)
    with pytest.raises(ParameterError, match=r"'cal' parameter of load_dataset must be a share in \[0, 1\)"):
        load_dataset("iris", cal=1.0)


@pytest.mark.parametrize("seed", [-1, 1.5, True, "0"])
def test_bad_seed_is_refused(seed):
    with pytest.raises(ParameterError, match="'seed' parameter"):
        load_dataset("iris", seed=seed)
