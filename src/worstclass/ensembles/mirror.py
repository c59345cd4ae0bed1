"""Whether images may be mirrored for training: whether left and right matter is asked of the images themselves."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from worstclass._typing import IntArray
from worstclass.data.splits import allot, draw
from worstclass.ensembles.combination import stratified_folds
from worstclass.ensembles.images import PatchFeatures

#: images that are asked, at most, and the size of the dictionary by which they are described
MOST_IMAGES, N_CENTRES = 2_000, 100
#: share of the right answers that mirror images may lose
TOLERANCE = 0.1


def same_mirrored(X: Any, target: IntArray, seed: int) -> bool:
    """Tell whether a classifier that saw no mirrored image has them right as often as the images themselves.

    It is logistic regression on patches (``PatchFeatures``), trained on one half of the images and asked about the
    other, and the other way round. ``matters`` compares its answers, for all images and for those of each class.

    Parameters
    ----------
    X : images, shape (n, C, H, W).
    target : class indices, shape (n,).
    seed : of the images that are taken, and of the classifier.
    """
    sizes = allot(np.bincount(target), min(len(target), MOST_IMAGES))
    rows = np.sort(draw(target, sizes, np.random.default_rng(seed)))
    images, target = X[rows], target[rows]
    images = np.asarray(images.detach().cpu() if hasattr(images, "detach") else images)
    mirrored = np.ascontiguousarray(images[..., ::-1])
    right, right_mirrored = np.zeros(len(rows), dtype=bool), np.zeros(len(rows), dtype=bool)
    linear = LogisticRegression(C=0.01, max_iter=200, class_weight="balanced")
    classifier = make_pipeline(PatchFeatures(N_CENTRES, random_state=seed), StandardScaler(), linear)
    for train, held in stratified_folds(target, 2, seed):
        if len(np.unique(target[train])) < 2:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            classifier.fit(images[train], target[train])
        right[held] = classifier.predict(images[held]) == target[held]
        right_mirrored[held] = classifier.predict(mirrored[held]) == target[held]
    return not matters(right, right_mirrored, target)


def matters(right: npt.NDArray[np.bool_], right_mirrored: npt.NDArray[np.bool_], target: IntArray) -> bool:
    """Tell whether mirror images lose more than a tenth of the right answers, in all or of one class.

    Two standard errors of the loss are taken off first; that of a difference of two counts is the root of their sum.

    Examples
    --------
    Of twenty images that are right, ten mirror images are wrong; then three:

    >>> right, target = np.ones(20, dtype=bool), np.repeat([0, 1], 10)
    >>> matters(right, np.arange(20) % 2 == 0, target), matters(right, np.arange(20) > 2, target)
    (True, False)
    """
    groups = [np.ones(len(target), dtype=bool), *(target == k for k in np.unique(target))]
    for own in groups:
        lost, won = (right & ~right_mirrored)[own].sum(), (right_mirrored & ~right)[own].sum()
        if lost - won - 2 * np.sqrt(lost + won) > TOLERANCE * right[own].sum():
            return True
    return False
