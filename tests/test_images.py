"""Images as rows of numbers: shapes, what patches tell apart, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from worstclass.ensembles.images import PATCH, PatchFeatures, Pixels, _distances, _patches, step_of
from worstclass.exceptions import DataError


def striped(n, seed, side=16, channels=1):
    """Draw noisy images of horizontal (class 0) or vertical stripes (class 1) that start at any pixel."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    wave = 100 * np.sin(np.arange(side)[None] * np.pi / 2 + rng.uniform(0, 2 * np.pi, (n, 1)))
    images = np.where(y[:, None, None], wave[:, None, :], wave[:, :, None])[:, None]
    noisy = 128 + images + rng.normal(0, 20, (n, channels, side, side))
    return noisy.clip(0, 255).astype(np.uint8), y


def test_pixels_are_the_values_in_order():
    X = np.arange(24, dtype=np.uint8).reshape(2, 1, 3, 4)
    assert Pixels().fit(X).transform(X).tolist() == X.reshape(2, 12).tolist()


def test_patches_by_hand():
    images = np.arange(2 * 7 * 8, dtype=np.float32).reshape(2, 1, 7, 8)
    found = _patches(images)
    assert found.shape == (2 * 2 * 3, PATCH * PATCH)  # 2 images, 2 x 3 places
    assert found[0].tolist() == images[0, 0, :6, :6].ravel().tolist()
    assert found[4].tolist() == images[0, 0, 1:7, 1:7].ravel().tolist()
    assert found[-1].tolist() == images[1, 0, 1:7, 2:8].ravel().tolist()


def test_patches_of_larger_images_are_further_apart():
    assert [step_of(*sides) for sides in ((8, 8), (23, 40), (24, 24), (28, 32))] == [1, 1, 2, 2]
    images = np.arange(2 * 7 * 10, dtype=np.float32).reshape(2, 1, 7, 10)
    found = _patches(images, 2)
    assert found.shape == (2 * 1 * 3, PATCH * PATCH)  # rows 0; columns 0, 2, 4
    assert found[1].tolist() == images[0, 0, :6, 2:8].ravel().tolist()


def test_distances_by_hand():
    found = _distances(np.float32([[0, 0], [3, 4]]), np.float32([[0, 0], [3, 0], [3, 4]]))
    assert found.tolist() == [[0, 3, 5], [5, 4, 0]]
    assert found.dtype == np.float32


def test_the_dictionary_grows_with_the_images():
    X, _ = striped(300, 6)
    assert [len(PatchFeatures(800, random_state=0).fit(X[:n]).centres_) for n in (60, 300)] == [100, 150]
    assert len(PatchFeatures(20, random_state=0).fit(X).centres_) == 20


def test_patches_tell_what_single_pixels_do_not():
    X, y = striped(300, 0)
    new, truth = striped(300, 1)
    patches, pixels = (
        make_pipeline(step, LogisticRegression(max_iter=1000)).fit(X, y).score(new, truth)
        for step in (PatchFeatures(20, random_state=0), Pixels())
    )
    assert patches > 0.99
    assert pixels < 0.8


@pytest.mark.parametrize(("side", "channels"), [(8, 1), (16, 3), (25, 1), (70, 1)])
def test_four_numbers_for_each_centre(side, channels):
    X, _ = striped(40, 2, side, channels)
    features = PatchFeatures(10, random_state=0).fit(X)
    found = features.transform(X)
    assert found.shape == (40, 40)
    assert np.isfinite(found).all()
    assert (found >= 0).all()
    assert np.allclose(features.transform(torch.from_numpy(X)), found)
    assert np.allclose(np.concatenate([features.transform(X[:7]), features.transform(X[7:])]), found, atol=1e-5)
    assert features.transform(X[:0]).shape == (0, 40)


def test_the_same_seed_gives_the_same_numbers():
    X, _ = striped(60, 3)
    one, two = (clone(PatchFeatures(10, random_state=7)).fit(X).transform(X) for _ in range(2))
    assert (one == two).all()


def test_empty_images_have_equal_descriptions():
    X = np.zeros((30, 1, 12, 12), dtype=np.uint8)
    found = PatchFeatures(5, random_state=0).fit(X).transform(X)
    assert np.isfinite(found).all()
    assert (found == found[0]).all()


def test_the_brightness_of_an_image_does_not_matter():
    X, _ = striped(60, 4)
    features = PatchFeatures(10, random_state=0).fit(X.astype(np.float32))
    assert np.allclose(features.transform(X + np.float32(50)), features.transform(X.astype(np.float32)), atol=1e-3)


def test_another_shape_is_refused():
    X, _ = striped(30, 5)
    with pytest.raises(DataError, match=r"\(1, 16, 16\)"):
        PatchFeatures(5, random_state=0).fit(X).transform(X[:, :, :15])
