"""Images as rows of numbers, for classifiers that know nothing of images."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.cluster import MiniBatchKMeans
from sklearn.utils import check_random_state

from worstclass._checks import require_row_shape
from worstclass._typing import FloatArray
from worstclass.exceptions import DataError

#: pixels per side to which larger images are shrunk, about
SIDE = 32
#: pixels per side of a patch, and how far apart patches are in images of at least so many pixels per side
PATCH, STEP, LARGE = 6, 2, 24
#: size of a dictionary that any number of images can fill
FEW_CENTRES = 100
#: patches from which the dictionary is learned, and images from which they are cut, at most
N_PATCHES, MOST_IMAGES = 50_000, 500
#: added to variances: of a patch, in units of the variance of all pixels, and of the whitened directions
PATCH_NOISE, WHITE_NOISE = 0.1, 0.1
#: images that are described at once
CHUNK = 64
#: images that are looked through at once
MANY = 1_024


def as_array(X: Any) -> FloatArray:
    """Return images, an array or a tensor of any type on any device, as an array of float32."""
    return np.asarray(X.detach().cpu().float() if hasattr(X, "detach") else X, dtype=np.float32)


def require_finite(X: Any) -> None:
    """Refuse images with missing or infinite values, and name the first."""
    for start in range(0, len(X), MANY):
        part = as_array(X[start : start + MANY])
        finite = np.isfinite(part.reshape(len(part), -1)).all(axis=1)
        if not finite.all():
            raise DataError(
                f"X must be images without missing or infinite values. Image {start + int(finite.argmin())} has one "
                "(counted from 0). Leave the image out, or fill in the value."
            )


class Pixels(TransformerMixin, BaseEstimator):
    """Images as rows of numbers, one column for each value.

    Attributes
    ----------
    row_shape : (channels, height, width) of the images.
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Note the shape of the images."""
        self.row_shape = tuple(int(side) for side in X.shape[1:])
        return self

    def transform(self, X: Any) -> FloatArray:
        """Return the values of each image, shape (n, C * H * W)."""
        images = self._images(X)
        return images.reshape(len(images), -1)

    def _images(self, X: Any) -> FloatArray:
        images = as_array(X)
        require_row_shape(images.shape[1:], self.row_shape)
        return images


class PatchFeatures(Pixels):
    """Images described by what their small patches look like.

    Patches of 6 x 6 pixels, cut at random places of the training images, are brought to mean 0 and deviation 1 and
    whitened; their k-means centres are the dictionary. A patch is described by how much nearer than the mean each
    centre is, ``max(0, mean distance - distance)``, and an image by the mean over the patches of each of its four
    quarters. Images of more than 32 pixels per side are shrunk to about that first; of those with 24 or more, every
    second row and column of patches is taken. Labels are not used.

    Parameters
    ----------
    n_centres : largest size of the dictionary; each image becomes four times as many numbers. It has one centre for two
        training images, at least 100.
    random_state : seed of the places and of k-means.

    References
    ----------
    Coates, Ng and Lee, "An Analysis of Single-Layer Networks in Unsupervised Feature Learning", AISTATS 2011.
    """

    def __init__(self, n_centres: int = 800, random_state: Any = None) -> None:
        self.n_centres = n_centres
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the whitening and the dictionary."""
        super().fit(X)
        rng = check_random_state(self.random_state)
        some = np.sort(rng.permutation(len(X))[:MOST_IMAGES])
        patches = np.concatenate([_patches(part) for part in self._chunks(X[some])])
        patches = patches[rng.permutation(len(patches))[:N_PATCHES]]
        self.scale_ = float(patches.std()) or 1.0
        patches = self._normalised(patches)
        self.mean_ = patches.mean(axis=0)
        variance, directions = np.linalg.eigh(np.cov(patches.T))
        self.whitening_ = ((directions / np.sqrt(variance + WHITE_NOISE)) @ directions.T).astype(np.float32)
        patches = (patches - self.mean_) @ self.whitening_
        n_centres = min(self.n_centres, max(FEW_CENTRES, len(X) // 2), len(patches))
        k_means = MiniBatchKMeans(n_centres, n_init=1, max_iter=20, random_state=rng)
        self.centres_ = k_means.fit(patches).cluster_centers_.astype(np.float32)
        return self

    def transform(self, X: Any) -> FloatArray:
        """Return the description of each image, shape (n, 4 * n_centres)."""
        found = [self._described(part) for part in self._chunks(X)]
        return np.concatenate(found) if found else np.zeros((0, 4 * len(self.centres_)))

    def _chunks(self, X: Any) -> Iterator[FloatArray]:
        """Give the images in parts, larger ones shrunk by taking the mean of square blocks."""
        for start in range(0, len(X), CHUNK):
            images = self._images(X[start : start + CHUNK])
            n, channels, height, width = images.shape
            block = max(1, round(min(height, width) / SIDE))
            rows, columns = height // block, width // block
            images = images[:, :, : rows * block, : columns * block]
            yield images.reshape(n, channels, rows, block, columns, block).mean(axis=(3, 5))

    def _normalised(self, patches: FloatArray) -> FloatArray:
        """Return patches of mean 0, divided by their deviation."""
        patches = (patches - patches.mean(axis=1, keepdims=True)) / self.scale_
        return np.asarray(patches / np.sqrt(patches.var(axis=1, keepdims=True) + PATCH_NOISE))

    def _described(self, images: FloatArray) -> FloatArray:
        """Return how near the patches of each quarter of each image are to each centre."""
        step = step_of(*images.shape[2:])
        whitened = (self._normalised(_patches(images, step)) - self.mean_) @ self.whitening_
        distance = _distances(whitened.astype(np.float32), self.centres_)
        nearer = np.maximum(distance.mean(axis=1, keepdims=True) - distance, 0, out=distance)
        rows, columns = (len(range(0, side - PATCH + 1, step)) for side in images.shape[2:])
        nearer = nearer.reshape(len(images), rows, columns, -1)
        quarters = [
            nearer[:, top, left].mean(axis=(1, 2))
            for top in (slice(None, rows // 2 or 1), slice(rows // 2, None))
            for left in (slice(None, columns // 2 or 1), slice(columns // 2, None))
        ]
        return np.concatenate(quarters, axis=1)


def step_of(height: int, width: int) -> int:
    """Return how many pixels apart the patches of images of such a size are."""
    return STEP if min(height, width) >= LARGE else 1


def _distances(rows: FloatArray, centres: FloatArray) -> FloatArray:
    """Return the distances of rows to centres in single precision, which scikit-learn would compute in double."""
    squares = rows @ (-2 * centres.T)
    squares += (rows**2).sum(axis=1, keepdims=True)
    squares += (centres**2).sum(axis=1)
    return np.sqrt(np.maximum(squares, 0, out=squares), out=squares)


def _patches(images: FloatArray, step: int = 1) -> FloatArray:
    """Return the patches of all images, shape (n * places, C * PATCH * PATCH)."""
    windows = np.lib.stride_tricks.sliding_window_view(images, (PATCH, PATCH), axis=(2, 3))[:, :, ::step, ::step]
    return windows.transpose(0, 2, 3, 1, 4, 5).reshape(-1, images.shape[1] * PATCH * PATCH)
