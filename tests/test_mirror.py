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


@pytest.mark.parametrize("n", [60, 400])
@pytest.mark.parametrize("kind", ["array", "tensor"])
def test_digits_must_not_be_mirrored(n, kind):
    X, y = digits(n)
    assert not same_mirrored(X if kind == "array" else torch.from_numpy(X), y, 0)


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


def test_large_data_are_asked_by_some_images(monkeypatch):
    asked = []
    monkeypatch.setattr(mirror, "matters", lambda right, mirrored, target: asked.append(np.bincount(target)))
    X, y = ramps(3_000, 0, [1, 0])
    y[:5] = 2
    same_mirrored(X, y, 0)
    assert asked[0].sum() == 2_000
    assert asked[0][2] == 3  # in proportion


@pytest.mark.parametrize(("y", "n"), [([0, 0, 0, 1], 4), ([0, 1], 2), ([0, 1, 2, 3], 4)])
def test_a_few_images_say_nothing(y, n):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert same_mirrored(np.zeros((n, 1, 8, 8)), np.array(y), 0)


def test_the_loss_by_hand():
    target = np.repeat([0, 1], 100)
    right, mirrored = np.ones(200, dtype=bool), np.ones(200, dtype=bool)
    mirrored[:30] = False  # 30 - 2 sqrt(30) = 19.0 of 200, and of 100 of its class
    assert matters(right, mirrored, target)
    assert not matters(right, mirrored, np.zeros(200, dtype=int))  # a tenth of 200 is 20
    right[50:70] = False  # 20 mirror images are right instead: 30 - 20 - 2 sqrt(50) is less than 0
    assert not matters(right, mirrored, target)
