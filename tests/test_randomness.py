"""Seeds by path, and a block whose draws neither depend on nor disturb the global generators."""

import random

import numpy as np
import pytest
import torch

from worstclass.exceptions import ParameterError
from worstclass.randomness import SeedTree, isolated_rng


def seed_all(seed):
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - the global stream is what is tested
    torch.manual_seed(seed)


def draw_all():
    return random.random(), np.random.random(), torch.rand(()).item()  # noqa: NPY002


def test_outer_streams_go_on_as_if_the_block_had_not_been():
    seed_all(1)
    expected = [draw_all(), draw_all()]
    seed_all(1)
    first = draw_all()
    with isolated_rng(99):
        draw_all()
        np.random.standard_normal(3)  # noqa: NPY002 - leaves a cached second normal behind
        torch.randn(7)
    assert [first, draw_all()] == expected


def test_outer_streams_go_on_after_a_block_that_raises():
    seed_all(1)
    expected = draw_all()
    seed_all(1)
    with pytest.raises(ZeroDivisionError), isolated_rng(99):
        draw_all()[0] / 0
    assert draw_all() == expected


def test_outer_streams_go_on_after_a_seed_that_numpy_refuses():
    seed_all(1)
    expected = draw_all()
    seed_all(1)
    with pytest.raises(ValueError), isolated_rng(2**32):
        pass
    assert draw_all() == expected


def test_block_draws_the_same_numbers_whatever_the_outer_state():
    drawn = []
    for outer in (1, 2):
        seed_all(outer)
        draw_all()
        with isolated_rng(7):
            drawn.append(draw_all())
    assert drawn[0] == drawn[1]


def test_blocks_of_different_seeds_differ_in_every_generator():
    with isolated_rng(7):
        seven = draw_all()
    with isolated_rng(8):
        eight = draw_all()
    assert all(a != b for a, b in zip(seven, eight, strict=True))


def test_inner_block_does_not_disturb_the_outer_block():
    with isolated_rng(7):
        expected = draw_all(), draw_all()
    with isolated_rng(7):
        first = draw_all()
        with isolated_rng(8):
            draw_all()
        assert (first, draw_all()) == expected


def test_block_takes_every_seed_of_a_seed_tree():
    for r in range(50):
        with isolated_rng(SeedTree(0).seed(r)):
            random.random()
    with isolated_rng(2**32 - 1):
        random.random()


def test_seed_depends_on_its_path_alone():
    tree = SeedTree(5)
    late = tree.seed(17)
    for r in range(17):
        tree.seed(r)
    assert tree.seed(17) == late == SeedTree(5).seed(17)


def test_seeds_of_different_paths_and_roots_differ():
    paths = [(), (0,), (1,), (0, 0), (0, 1), (1, 0), (1, 1), (1, 2), (12,), (2, 1)]
    seeds = {SeedTree(root).seed(*path) for root in (0, 1, 2) for path in paths}
    assert len(seeds) == 3 * len(paths)
    assert len({SeedTree(0).seed(r) for r in range(1000)}) == 1000


def test_seeds_fit_32_bits_and_are_plain_ints():
    seeds = [SeedTree(3).seed(r) for r in range(200)]
    assert all(type(seed) is int and 0 <= seed < 2**32 for seed in seeds)
    assert max(seeds) > 2**31  # all 32 bits are used


def test_int_is_the_root_itself():
    for random_state in (42, np.int64(42), np.uint8(42)):
        assert SeedTree.from_random_state(random_state, owner="X").entropy == 42
    assert SeedTree.from_random_state(0, owner="X").entropy == 0


@pytest.mark.parametrize("make", [np.random.RandomState, np.random.default_rng])
def test_generator_gives_a_root_that_it_fixes_and_moves_on(make):
    generator = make(3)
    first = SeedTree.from_random_state(generator, owner="X").entropy
    second = SeedTree.from_random_state(generator, owner="X").entropy
    assert first != second
    assert SeedTree.from_random_state(make(3), owner="X").entropy == first


def test_none_gives_a_fresh_root_each_time_and_leaves_the_global_stream_alone():
    seed_all(1)
    expected = draw_all()
    seed_all(1)
    roots = {SeedTree.from_random_state(None, owner="X").entropy for _ in range(3)}
    assert len(roots) == 3
    assert draw_all() == expected


@pytest.mark.parametrize("random_state", [-1, 1.5, True, "seed", [1]])
def test_what_is_no_random_state_is_refused(random_state):
    with pytest.raises(ParameterError, match="'random_state' parameter of Owner must be None, a non-negative int"):
        SeedTree.from_random_state(random_state, owner="Owner")
