"""Whether images may be mirrored for training: a quick test of whether left and right matter in them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import binom
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from worstclass._typing import IntArray
from worstclass.data.splits import draw
from worstclass.ensembles.combination import stratified_folds
from worstclass.ensembles.images import PatchFeatures, as_array

#: number of images that are compared, about, and the size of the dictionary by which they are described
MOST_IMAGES, N_CENTRES = 2_000, 100
#: share of the right answers that mirror images may lose, and the least number of right answers that shows anything
TOLERANCE, LEAST_RIGHT = 0.5, 30
#: probability of a false alarm, in all groups of images together
LEVEL = 0.02


def same_mirrored(X: Any, target: IntArray, seed: int) -> bool:
    """Tell whether a classifier that was trained without mirrored images still has most of them right.

    It is logistic regression on patches (``PatchFeatures``), trained on one half of the images. It classifies the
    other half and its mirror images, then the halves change places. ``matters`` compares the answers. About 2,000
    images take part, the same number of each class as far as there are enough.

    Parameters
    ----------
    X : images, shape (n, C, H, W).
    target : class indices, shape (n,).
    seed : of the images that are taken, and of the classifier.
    """
    sizes = np.bincount(target)
    most = max(2, MOST_IMAGES // int(np.count_nonzero(sizes)))
    rows = draw(target, np.minimum(sizes, most), np.random.default_rng(seed))
    images, target = as_array(X[rows]), target[rows]
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
    """Tell whether mirror images lose more than half of the right answers, in all or of one class.

    A loss counts if a sign test calls it significant: of the answers that changed, too many changed for the worse. All
    images and each class are tested, so the level is divided by the number of tests. Fewer than 30 right answers show
    nothing, and left and right are then taken to matter.

    Examples
    --------
    Forty images are right, twenty of each class. Of the first class, eleven mirror images are wrong; then ten:

    >>> right, target = np.ones(40, dtype=bool), np.repeat([0, 1], 20)
    >>> matters(right, np.arange(40) >= 11, target), matters(right, np.arange(40) >= 10, target)
    (True, False)
    """
    if right.sum() < LEAST_RIGHT:
        return True
    groups = [np.ones(len(target), dtype=bool), *(target == k for k in np.unique(target))]
    for own in groups:
        lost, won = int((right & ~right_mirrored)[own].sum()), int((right_mirrored & ~right)[own].sum())
        by_chance = binom.sf(lost - 1, lost + won, 0.5)
        if lost - won > TOLERANCE * right[own].sum() and by_chance < LEVEL / len(groups):
            return True
    return False
