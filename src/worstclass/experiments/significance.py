"""Which differences between methods are more than chance: paired t-tests over seeds, corrected for their number.

Two methods are compared seed by seed, on the n seeds that both finished; at least 3, with differences that vary. The
differences are taken to be about normally distributed. Which test is right depends on what a seed does to the data:

- **Independent draws** (generated data). The differences are independent: the plain paired t-test.
- **Re-splits of one data set** (files and official sets). The splits share rows, so the differences are correlated, and
  the plain test finds too much: 8.5% instead of 5% in the simulation of the tests. The **corrected resampled t-test**
  (Nadeau and Bengio, Inference for the Generalization Error, Machine Learning 2003) replaces the variance factor 1/n by
  1/n + n_test/n_train, and finds 2.4% there. A fixed test part is treated alike: the training rows still overlap.

Each family of tests is corrected by Holm: the probability of even one false finding in it is at most ``alpha``, however
the tests depend on one another. A reference must be named before the results are seen. A method that was picked by the
results, such as the best, needs the tests of all pairs: with 6 equal methods, testing the 5 others against the apparent
best finds a difference in more than 8 of 100 comparisons instead of 5.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Literal

import numpy as np
import numpy.typing as npt
import pydantic
from scipy import stats

from worstclass._checks import check_choice, check_positive, check_share
from worstclass._typing import FloatArray

#: what another seed changes besides the random start: all rows; which rows train and test; which rows train
SeedsChange = Literal["draws", "resplits", "fixed-test"]

#: what a significant difference is a claim about
CLAIMS: dict[SeedsChange, str] = {
    "draws": "over independent draws of the data",
    "resplits": "for this data set, over re-splits of its rows",
    "fixed-test": "for this fixed test set, over random starts and re-splits of the training rows",
}

#: the level of a family of tests
ALPHA = 0.05
#: seeds that a test needs
MIN_SEEDS = 3
#: differences that vary by less than this share of the values do so by rounding only
ROUNDING = 1e-12


class PairedTest(pydantic.BaseModel, frozen=True):
    """One pair of methods, tested on the seeds that both have.

    Attributes
    ----------
    a, b : the methods.
    n : number of seeds that both have.
    mean_difference : mean of a minus b; None without a common seed.
    t, p : statistic and two-sided p-value before correction; None for a pair that cannot be tested.
    p_corrected : p, corrected by Holm over its family of tests.
    significant : whether ``p_corrected`` is at most alpha; False for a pair that cannot be tested.
    """

    a: str
    b: str
    n: int
    mean_difference: float | None
    t: float | None = None
    p: float | None = None
    p_corrected: float | None = None
    significant: bool = False


def paired_tests(
    values: Mapping[str, Mapping[int, float]],
    reference: str | None = None,
    *,
    alpha: float = ALPHA,
    test_to_train: float | None = None,
) -> tuple[PairedTest, ...]:
    """Test every other method against one that was named beforehand, or all pairs; corrected over these tests.

    Parameters
    ----------
    values : for each method its value by seed.
    reference : the method that the others are compared with. It must not be chosen by these values. None: all pairs,
        so that any of them may be picked out afterwards.
    alpha : the level of the whole family.
    test_to_train : test rows per training row if the seeds are re-splits of one data set; None for independent draws.

    Returns
    -------
    The tests, in the order of ``values``; differences are method minus reference, or first minus second.

    Examples
    --------
    >>> ce, ours = {0: 0.52, 1: 0.49, 2: 0.55, 3: 0.50, 4: 0.54}, {0: 0.30, 1: 0.28, 2: 0.31, 3: 0.30, 4: 0.29}
    >>> (test,) = paired_tests({"ce": ce, "ours": ours}, "ours")
    >>> test.n, round(test.mean_difference, 3), test.significant
    (5, 0.224, True)
    """
    check_choice(reference, "reference", "paired_tests", [None, *values])
    check_share(alpha, "alpha", "paired_tests")
    check_positive(test_to_train, "test_to_train", "paired_tests", words=[None])
    named = [(name, reference) for name in values if reference is not None and name != reference]
    pairs = itertools.combinations(values, 2) if reference is None else named
    tests = [_paired_test(a, b, values[a], values[b], test_to_train) for a, b in pairs]
    tested = [i for i, test in enumerate(tests) if test.p is not None]
    for i, corrected in zip(tested, holm([tests[i].p or 0.0 for i in tested]).tolist(), strict=True):
        tests[i] = tests[i].model_copy(update={"p_corrected": corrected, "significant": corrected <= alpha})
    return tuple(tests)


def t_test(differences: npt.ArrayLike, test_to_train: float | None = None) -> tuple[FloatArray, FloatArray]:
    """Return t and the two-sided p of the paired t-test, or of the corrected resampled t-test.

    Parameters
    ----------
    differences : shape (..., n), n at least 2, not all the same; the seeds are the last axis.
    test_to_train : n_test / n_train if the seeds are re-splits of one data set; None for independent draws.
    """
    array = np.asarray(differences, dtype=np.float64)
    n = array.shape[-1]
    t = array.mean(axis=-1) / (array.std(axis=-1, ddof=1) * math.sqrt(1 / n + (test_to_train or 0.0)))
    return t, 2 * stats.t.sf(np.abs(t), n - 1)


def holm(p: npt.ArrayLike) -> FloatArray:
    """Correct p-values by Holm's step-down rule; each family is the last axis.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).round(2).tolist()
    [0.03, 0.06, 0.06]
    """
    array = np.asarray(p, dtype=np.float64)
    order = np.argsort(array, axis=-1)
    steps = np.take_along_axis(array, order, axis=-1) * np.arange(array.shape[-1], 0, -1)
    corrected = np.empty_like(array)
    np.put_along_axis(corrected, order, np.minimum(np.maximum.accumulate(steps, axis=-1), 1), axis=-1)
    return corrected


def _paired_test(
    a: str, b: str, of_a: Mapping[int, float], of_b: Mapping[int, float], test_to_train: float | None
) -> PairedTest:
    """Test one pair, not yet corrected for the family."""
    seeds = sorted(of_a.keys() & of_b.keys())
    both = np.array([[of_a[seed], of_b[seed]] for seed in seeds], dtype=np.float64).reshape(-1, 2)
    differences = both[:, 0] - both[:, 1]
    test = PairedTest(a=a, b=b, n=len(seeds), mean_difference=float(differences.mean()) if seeds else None)
    if len(seeds) < MIN_SEEDS or np.ptp(differences) <= ROUNDING * np.abs(both).max():
        return test
    t, p = t_test(differences, test_to_train)
    return test.model_copy(update={"t": float(t), "p": float(p)})
