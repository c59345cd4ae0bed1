"""The artificial data: regions, counts, scaling, seeds, uniformity, and the registry that names them."""

import math

import numpy as np
import pytest

from worstclass.data.named.artificial import artificial_balanced, artificial_imbalanced
from worstclass.data.registry import DATASETS, load_dataset, named_dataset
from worstclass.exceptions import ParameterError, UnknownNameError, UnknownOptionError

# as in the paper, in the order of classes 1..K
SQUARES = np.array([(0, 1.4), (1.4, 1.4), (2.8, 1.4), (1.4, 2.8), (1.4, 0)])
DISCS = np.array([(0, 0), (0, 1), (1, 1), (1, 0)])
# what the known scaling maps to 0 and to 1 on either axis
SQUARES_LOW, SQUARES_HIGH = -math.sqrt(2), 2.8 + math.sqrt(2)
DISCS_LOW, DISCS_HIGH = -1.0, 2.0


def squares_offsets(part):
    """Offsets of the rows from the centres of their squares, in the unscaled plane."""
    return part.X.astype(float) * (SQUARES_HIGH - SQUARES_LOW) + SQUARES_LOW - SQUARES[part.y - 1]


def discs_offsets(part):
    return part.X.astype(float) * (DISCS_HIGH - DISCS_LOW) + DISCS_LOW - DISCS[part.y - 1]


def in_square(offsets, scale=1.0):
    """Tell which offsets lie in a square of side 2 * scale that stands on its corner."""
    return np.abs(offsets).sum(axis=1) <= math.sqrt(2) * scale + 1e-5  # X is in single precision


def in_disc(offsets, scale=1.0):
    return np.hypot(*offsets.T) <= scale + 1e-5


def rows_of(part):
    return set(map(tuple, part.X.tolist()))


SETS = [
    pytest.param(artificial_balanced(n_train=2000, n_test=20_000), squares_offsets, in_square, id="squares"),
    pytest.param(artificial_imbalanced(n_min=200, n_test_min=20_000), discs_offsets, in_disc, id="discs"),
]


def test_balanced_counts_and_labels():
    splits = artificial_balanced(n_test=70)
    assert np.bincount(splits.train.y).tolist() == [0, 100, 100, 100, 100, 100]
    assert np.bincount(splits.test.y).tolist() == [0, 70, 70, 70, 70, 70]
    assert splits.train.X.shape == (500, 2)
    assert splits.train.X.dtype == np.float32
    assert (splits.val, splits.cal) == (None, None)


@pytest.mark.parametrize("n_min", [10, 50, 100])
def test_imbalanced_counts_give_the_minority_a_tenth(n_min):
    splits = artificial_imbalanced(n_min=n_min, n_test_min=7)
    assert np.bincount(splits.train.y).tolist() == [0, 10 * n_min, 10 * n_min, 10 * n_min, n_min]
    assert np.bincount(splits.test.y).tolist() == [0, 70, 70, 70, 7]


def test_default_sizes_are_those_of_the_paper():
    balanced, imbalanced = artificial_balanced(), artificial_imbalanced()
    assert (len(balanced.train), len(balanced.test)) == (500, 500_000)
    assert np.bincount(imbalanced.test.y).tolist() == [0, 100_000, 100_000, 100_000, 10_000]


@pytest.mark.parametrize(("splits", "offsets", "inside"), SETS)
def test_every_row_lies_in_the_region_of_its_class(splits, offsets, inside):
    for part in (splits.train, splits.test):
        assert inside(offsets(part)).all()
        assert not inside(offsets(part), scale=0.97).all()  # and the region is filled to its rim


@pytest.mark.parametrize(("splits", "offsets", "inside"), SETS)
def test_each_class_is_uniform_around_its_centre(splits, offsets, inside):
    for k in np.unique(splits.test.y):
        rows = offsets(splits.test)[splits.test.y == k]
        # 20,000 rows or more: the deviation of the mean is below 0.005, that of each share about 0.003
        assert np.abs(rows.mean(axis=0)).max() < 0.025
        assert inside(rows, scale=0.5).mean() == pytest.approx(0.25, abs=0.015)
        assert inside(rows, scale=0.9).mean() == pytest.approx(0.81, abs=0.015)
        for signs in [(1, 1), (1, -1), (-1, 1), (-1, -1)]:
            assert (rows * signs > 0).all(axis=1).mean() == pytest.approx(0.25, abs=0.015)


@pytest.mark.parametrize(("splits", "offsets", "inside"), SETS)
def test_known_scaling_maps_the_extent_of_the_regions_to_the_unit_square(splits, offsets, inside):
    for part in (splits.train, splits.test):
        assert part.X.min() >= 0
        assert part.X.max() <= 1
    assert splits.test.X.min(axis=0) == pytest.approx([0, 0], abs=0.01)
    assert splits.test.X.max(axis=0) == pytest.approx([1, 1], abs=0.01)


def test_middle_square_is_class_2_and_overlaps_all_others():
    test = artificial_balanced(n_test=5000).test
    middle = test.X[test.y == 2].astype(float) * (SQUARES_HIGH - SQUARES_LOW) + SQUARES_LOW
    assert middle.mean(axis=0) == pytest.approx([1.4, 1.4], abs=0.05)
    for centre in np.delete(SQUARES, 1, axis=0):
        assert in_square(middle - centre).any()


@pytest.mark.parametrize("load", [artificial_balanced, artificial_imbalanced])
def test_seed_fixes_the_draw(load):
    small = {"n_test": 20} if load is artificial_balanced else {"n_min": 10, "n_test_min": 2}
    first, again, other = load(3, **small), load(3, **small), load(4, **small)
    assert first.train.X.tolist() == again.train.X.tolist()
    assert first.test.X.tolist() == again.test.X.tolist()
    assert not rows_of(first.train) & rows_of(other.train)
    assert not rows_of(first.test) & rows_of(other.test)


def test_training_and_test_rows_are_different_draws():
    splits = artificial_balanced(n_train=100, n_test=100)
    assert not rows_of(splits.train) & rows_of(splits.test)


def test_training_rows_do_not_depend_on_the_number_of_test_rows_nor_the_reverse():
    base, more_test = artificial_balanced(n_train=30, n_test=20), artificial_balanced(n_train=30, n_test=50)
    more_train = artificial_balanced(n_train=60, n_test=20)
    assert base.train.X.tolist() == more_test.train.X.tolist()
    assert base.test.X.tolist() == more_train.test.X.tolist()
    imbalanced = [artificial_imbalanced(n_min=10, n_test_min=n).train.X.tolist() for n in (1, 9)]
    assert imbalanced[0] == imbalanced[1]


@pytest.mark.parametrize("count", [0, -5, 2.0, "10", True, None])
def test_counts_must_be_positive_whole_numbers(count):
    with pytest.raises(ParameterError, match="'n_train' parameter of artificial-balanced must be a positive whole"):
        artificial_balanced(n_train=count, n_test=1)
    with pytest.raises(ParameterError, match="'n_test_min' parameter of artificial-imbalanced"):
        artificial_imbalanced(n_min=1, n_test_min=count)


def test_counts_may_be_numpy_integers():
    assert len(artificial_balanced(n_train=np.int64(3), n_test=np.int32(2)).train) == 15


# --- by name


def test_load_dataset_passes_seed_and_options_on():
    named = load_dataset("artificial-balanced", seed=5, n_train=3, n_test=4)
    direct = artificial_balanced(5, n_train=3, n_test=4)
    assert named.train.X.tolist() == direct.train.X.tolist()
    assert named.test.X.tolist() == direct.test.X.tolist()


@pytest.mark.parametrize("name", ["artificial-balanced", "artificial-imbalanced"])
def test_facts_agree_with_the_data(name):
    small = {"n_test": 1} if name == "artificial-balanced" else {"n_test_min": 1}
    dataset = named_dataset(name)
    assert dataset.name == name
    assert DATASETS[name] is dataset
    assert dataset.n_classes == len(np.unique(load_dataset(name, **small).train.y))


def test_settings_are_those_of_the_paper():
    balanced, imbalanced = named_dataset("artificial-balanced"), named_dataset("artificial-imbalanced")
    assert balanced.settings["booster"] == {"theta": 0.75, "gamma": 0.0995}
    assert imbalanced.settings["booster"] == {"theta": 0.5, "gamma": 0.0995}
    assert balanced.settings["learner"]["lr"] == imbalanced.settings["learner"]["lr"] == 0.01


def test_unknown_name_is_refused_with_a_suggestion():
    with pytest.raises(UnknownNameError, match=r"Got 'artificial-balance' instead. Did you mean 'artificial-balanced'"):
        load_dataset("artificial-balance")


@pytest.mark.parametrize(
    ("name", "option", "near"),
    [
        ("artificial-balanced", "n_trian", "n_train"),
        ("artificial-imbalanced", "nmin", "n_min"),
    ],
)
def test_unknown_option_is_refused_with_a_suggestion(name, option, near):
    with pytest.raises(UnknownOptionError, match=rf"'{name}' has no option '{option}'.*Did you mean '{near}'\?"):
        load_dataset(name, **{option: 1})


def test_option_of_the_other_data_set_is_unknown():
    with pytest.raises(UnknownOptionError, match=r"Its options are \['n_train', 'n_test'\]"):
        load_dataset("artificial-balanced", n_min=10)
