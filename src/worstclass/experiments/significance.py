"""Which differences between methods are more than chance: paired tests over seeds, corrected for their number.

Two methods are compared seed by seed, on the n seeds that both finished. Which test is right depends on what a seed
does to the data:

- **Independent draws** (generated data). The differences are independent, and the plain **paired t-test** decides, from
  3 seeds on. It assumes that the differences are about normally distributed. The exact **sign-flip test** is reported
  beside it. It assumes only that a difference is as likely in one direction as in the other when the methods are equal,
  but its p is at least 2 / 2**n: with fewer than 6 seeds it cannot reject at 0.05. It decides alone if there are two
  seeds, or if all differences are the same number, so that the t-test has no variance to work with.
- **Re-splits of one data set** (files and official sets). The splits share rows, so the differences are correlated, and
  the plain test finds too much: 8.5% instead of 5% in the simulation of the tests. The **corrected resampled t-test**
  (Nadeau and Bengio, Inference for the Generalization Error, Machine Learning 2003) replaces the variance factor 1/n by
  1/n + n_test/n_train, and finds 2.4% there. It needs 3 seeds and differences that vary. The sign-flip test is not
  valid here. A fixed test part is treated alike: the training rows still overlap.

Each family of tests is corrected by Holm: the probability of even one false finding in it is at most ``alpha``, however
the tests depend on one another. ``compare_with`` is for a reference that was named before the results were seen. A
method that was picked by the results, such as the best, needs ``compare_all_pairs``: with 6 equal methods, testing the
5 others against the apparent best finds a difference in more than 8 of 100 comparisons instead of 5.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from typing import Literal

import numpy as np
import numpy.typing as npt
import pydantic
from scipy import stats

from worstclass._checks import check_choice, check_positive, check_share
from worstclass._typing import FloatArray
from worstclass.exceptions import DataError

#: values of one method by seed
BySeed = Mapping[int, float]

#: what another seed changes besides the random start: all rows; which rows train and test; which rows train
SeedsChange = Literal["draws", "resplits", "fixed-test"]

#: what a significant difference is a claim about
CLAIMS: dict[SeedsChange, str] = {
    "draws": "over independent draws of the data",
    "resplits": "for this data set, over re-splits of the same rows",
    "fixed-test": "for this test set, over random starts and training/validation splits of the same rows",
}

#: differences for which all sign patterns are counted; for more, patterns are drawn
MAX_EXACT = 20
#: sign patterns drawn beyond that, with a fixed seed
N_DRAWN = 9_999
#: seeds from which on a t-test decides
MIN_T = 3
#: differences below this share of the values, or that vary by less, do so by rounding only
ROUNDING = 1e-12


class PairedTest(pydantic.BaseModel, frozen=True):
    """One pair of methods, tested on the seeds that both have.

    Attributes
    ----------
    a, b : the methods.
    n : number of seeds that both have.
    mean_difference : mean of a minus b; None without a common seed.
    test : the test that gave ``p``; ``"none"`` if the pair cannot be tested.
    t : the t statistic; None for another test.
    p_sign_flip : p-value of the sign-flip test; None for re-splits, where it is not valid.
    p : p-value of the deciding test, before correction.
    p_corrected : the same, corrected by Holm over its family of tests.
    alpha : the level.
    significant : whether ``p_corrected`` is at most alpha; False for a pair that cannot be tested.
    """

    a: str
    b: str
    n: int
    mean_difference: float | None
    test: Literal["t", "corrected-t", "sign-flip", "none"]
    t: float | None
    p_sign_flip: float | None
    p: float | None
    p_corrected: float | None
    alpha: float
    significant: bool


def compare_with(
    values: Mapping[str, BySeed], reference: str, *, alpha: float = 0.05, test_to_train: float | None = None
) -> tuple[PairedTest, ...]:
    """Test every other method against one that was named beforehand; corrected over these tests.

    Parameters
    ----------
    values : for each method its value by seed.
    reference : the method that the others are compared with. It must not be chosen by these values.
    alpha : the level of the whole family.
    test_to_train : test rows per training row if the seeds are re-splits of one data set; None for independent draws.

    Returns
    -------
    One test for each other method, in the order of ``values``; differences are method minus reference.

    Examples
    --------
    >>> ce, ours = {0: 0.52, 1: 0.49, 2: 0.55, 3: 0.50, 4: 0.54}, {0: 0.30, 1: 0.28, 2: 0.31, 3: 0.30, 4: 0.29}
    >>> (test,) = compare_with({"ce": ce, "ours": ours}, "ours")
    >>> test.n, round(test.mean_difference, 3), test.significant, test.p_sign_flip
    (5, 0.224, True, 0.0625)
    >>> (resplit,) = compare_with({"ce": ce, "ours": ours}, "ours", test_to_train=0.25)
    >>> resplit.test, resplit.p > test.p
    ('corrected-t', True)
    """
    check_choice(reference, "reference", "compare_with", values)
    pairs = [(name, reference) for name in values if name != reference]
    return _family(values, pairs, alpha, test_to_train, "compare_with")


def compare_all_pairs(
    values: Mapping[str, BySeed], *, alpha: float = 0.05, test_to_train: float | None = None
) -> tuple[PairedTest, ...]:
    """Test every pair of methods; corrected over all pairs, so that any of them may be picked out afterwards.

    Parameters
    ----------
    values, alpha, test_to_train : as for ``compare_with``.

    Examples
    --------
    >>> tests = compare_all_pairs({"a": {0: 0.1, 1: 0.2}, "b": {0: 0.1, 1: 0.2}, "c": {7: 0.3}})
    >>> [(test.a, test.b, test.test, test.p_corrected) for test in tests]
    [('a', 'b', 'sign-flip', 1.0), ('a', 'c', 'none', None), ('b', 'c', 'none', None)]
    """
    return _family(values, itertools.combinations(values, 2), alpha, test_to_train, "compare_all_pairs")


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


def sign_flip_p(differences: npt.ArrayLike) -> float:
    """Return the two-sided p of the sign-flip test: exact up to 20 differences, by 9,999 drawn patterns beyond.

    It is the share of the sign patterns whose mean is at least as far from 0 as the observed one.

    Parameters
    ----------
    differences : shape (n,), n at least 1.

    Examples
    --------
    >>> sign_flip_p([1, 1, 1, 1, 1])
    0.0625
    >>> sign_flip_p([1, 1, -2])
    1.0
    """
    array = np.asarray(differences, dtype=np.float64)
    least = abs(array.sum()) - 1e-9 * np.abs(array).sum()  # sums that differ by rounding are equal
    if len(array) > MAX_EXACT:
        signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(N_DRAWN, len(array)))
        return float((1 + (np.abs(signs @ array) >= least).sum()) / (1 + N_DRAWN))
    sums = array[:1]  # the patterns that begin with a minus mirror these
    for difference in array[1:]:
        sums = np.concatenate([sums + difference, sums - difference])
    return float((np.abs(sums) >= least).mean())


def holm(p: npt.ArrayLike) -> FloatArray:
    """Correct p-values by Holm's step-down rule; each family is the last axis.

    Parameters
    ----------
    p : p-values, shape (..., m).

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


def _family(
    values: Mapping[str, BySeed],
    pairs: Iterable[tuple[str, str]],
    alpha: float,
    test_to_train: float | None,
    owner: str,
) -> tuple[PairedTest, ...]:
    """Test the pairs, and correct those that can be tested for one another."""
    check_share(alpha, "alpha", owner)
    check_positive(test_to_train, "test_to_train", owner, words=[None])
    _require_finite(values)
    tests = [_paired_test(a, b, values[a], values[b], alpha, test_to_train) for a, b in pairs]
    tested = [i for i, test in enumerate(tests) if test.p is not None]
    for i, corrected in zip(tested, holm([tests[i].p or 0.0 for i in tested]).tolist(), strict=True):
        tests[i] = tests[i].model_copy(update={"p_corrected": corrected, "significant": corrected <= alpha})
    return tuple(tests)


def _paired_test(a: str, b: str, of_a: BySeed, of_b: BySeed, alpha: float, test_to_train: float | None) -> PairedTest:
    """Test one pair, not yet corrected for the family."""
    seeds = sorted(of_a.keys() & of_b.keys())
    first, second = (np.array([values[seed] for seed in seeds], dtype=np.float64) for values in (of_a, of_b))
    differences, n = first - second, len(seeds)
    rounding = ROUNDING * max([0.0, *np.abs(first), *np.abs(second)])
    differences[np.abs(differences) <= rounding] = 0.0
    test: Literal["t", "corrected-t", "sign-flip", "none"] = "none"
    t = p = p_sign_flip = None
    if n >= 2 and test_to_train is None:
        p = p_sign_flip = sign_flip_p(differences)
        test = "sign-flip"
    if n >= MIN_T and np.ptp(differences) > rounding:
        t, p = (float(value) for value in t_test(differences, test_to_train))
        test = "t" if test_to_train is None else "corrected-t"
    return PairedTest(
        a=a,
        b=b,
        n=n,
        mean_difference=math.fsum(differences) / n if n else None,
        test=test,
        t=t,
        p_sign_flip=p_sign_flip,
        p=p,
        p_corrected=None,
        alpha=alpha,
        significant=False,
    )


def _require_finite(values: Mapping[str, BySeed]) -> None:
    for name, by_seed in values.items():
        bad = [seed for seed, value in by_seed.items() if not math.isfinite(value)]
        if bad:
            raise DataError(
                f"The values of {name!r} must be finite numbers. Those of seeds {bad} are not; leave them out."
            )
