"""Whether left and right matter in images: digits, symmetric images, a class that is the mirror image of another."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

from worstclass.ensembles import mirror
from worstclass.ensembles.mirror import matters, same_mirrored


def digits(n):
    X, y = load_digits(return_X_y=True)
    return X[:n].reshape(-1, 1, 8, 8), y[:n]


def ramps(n, seed, slopes):
    """Draw noisy 12 x 12 images that grow brighter to the right (1), to the left (-1), or downwards (0)."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, len(slopes), n)
    x = np.linspace(-1, 1, 12)
    images = [np.tile(slope * x, (12, 1)) if slope else np.tile(x[:, None], 12) for slope in slopes]
    return (np.stack(images)[y] + rng.normal(0, 1, (n, 12, 12)))[:, None], y


@pytest.mark.parametrize("n", [12, 20, 30, 60, 400])
@pytest.mark.parametrize("kind", ["array", "tensor", "bfloat16"])
def test_digits_must_not_be_mirrored(n, kind):
    X, y = digits(n)
    X = X if kind == "array" else torch.from_numpy(X)
    assert not same_mirrored(X if kind != "bfloat16" else X.to(torch.bfloat16), y, 0)


@pytest.mark.parametrize("seed", range(5))
def test_digits_of_which_half_are_mirrored_may_be(seed):
    X, y = digits(600)
    rng = np.random.default_rng(seed)
    X = np.where(rng.random(len(X))[:, None, None, None] < 0.5, X[..., ::-1], X)
    assert same_mirrored(X, y, seed)


def test_two_classes_that_are_mirror_images_of_each_other_are_enough_to_refuse():
    X, y = digits(600)
    ramp, side = ramps(40, 0, [1, -1])
    ramp = 4 * ramp[..., 2:10, 2:10] + 8
    symmetric = (X + X[..., ::-1]) / 2
    assert same_mirrored(symmetric, y, 0)
    assert not same_mirrored(np.concatenate([symmetric, ramp]), np.concatenate([y, 10 + side]), 0)


def templates(n_classes, seed):
    return np.random.default_rng(seed).normal(size=(n_classes, 1, 12, 12))


@pytest.mark.parametrize("seed", range(3))
def test_two_rare_classes_that_are_mirror_images_of_each_other_are_asked_too(seed):
    three, one = templates(3, seed), templates(1, 10 + seed)
    kinds = np.concatenate([(three + three[..., ::-1]) / 2, one, one[..., ::-1]])
    y = np.repeat(np.arange(5), [2_000, 2_000, 2_000, 25, 25])
    X = kinds[y] + np.random.default_rng(seed).normal(0, 0.7, (len(y), 1, 12, 12))
    assert not same_mirrored(X, y, seed)
    common = y < 3
    assert same_mirrored(X[common], y[common], seed)


@pytest.mark.parametrize("n_classes", [10, 100])
def test_many_classes_are_no_reason_to_refuse(n_classes):
    rng = np.random.default_rng(0)
    y = np.arange(1_500) % n_classes
    X = templates(n_classes, 0)[y] + rng.normal(0, 1.5, (len(y), 1, 12, 12))
    X = np.where(rng.random(len(y))[:, None, None, None] < 0.5, X[..., ::-1], X)
    assert same_mirrored(X, y, 0)


def test_large_data_are_asked_by_some_images(monkeypatch):
    asked = []
    monkeypatch.setattr(mirror, "matters", lambda right, mirrored, target: asked.append(np.bincount(target)))
    X, y = ramps(3_000, 0, [1, 0])
    y[:5] = 2
    same_mirrored(X, y, 0)
    assert asked[0].tolist() == [666, 666, 5]  # an equal share, or all


@pytest.mark.parametrize(("y", "n"), [([0, 0, 0, 1], 4), ([0, 1], 2), ([0, 1, 2, 3], 4)])
def test_a_few_images_show_nothing(y, n):
    X, _ = digits(n)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not same_mirrored((X + X[..., ::-1]) / 2, np.array(y), 0)


def test_the_loss_by_hand():
    target = np.repeat([0, 1, 2], 20)
    right, mirrored = np.ones(60, dtype=bool), np.ones(60, dtype=bool)
    mirrored[:11] = False  # 11 of 20 of the first class; by chance with probability 2 ** -11
    assert matters(right, mirrored, target)
    assert not matters(right, mirrored, np.zeros(60, dtype=int))  # half of 60 is 30
    mirrored[0] = True  # 10 of 20 is not more than half
    assert not matters(right, mirrored, target)


def test_what_chance_can_do_does_not_count():
    right, target = np.ones(60, dtype=bool), np.repeat([0, 1, 2], [6, 27, 27])
    mirrored = right.copy()
    mirrored[:6] = False  # all of a class of six: 2 ** -6 is more than 0.02 / 4
    assert not matters(right, mirrored, target)
    target = np.repeat([0, 1, 2], [8, 26, 26])
    mirrored[:8] = False  # 2 ** -8 is less
    assert matters(right, mirrored, target)


def test_fewer_than_thirty_right_answers_show_nothing():
    right, target = np.arange(60) < 29, np.zeros(60, dtype=int)
    assert matters(right, right, target)
    assert not matters(np.arange(60) < 30, np.arange(60) < 30, target)
