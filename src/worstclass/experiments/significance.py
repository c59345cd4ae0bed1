"""Which differences between methods are more than chance: paired tests over seeds, corrected.

A seed fixes the draw of the data and the start of training, so two methods are compared seed by seed: the test looks
at the n differences on the seeds that both have. Two p-values are given, both two-sided:

- the **paired t-test**, on which the verdict rests from 3 seeds on. It assumes that the differences are about normally
  distributed; with few seeds that cannot be checked, and one outlier makes it lose power.
- the **exact sign-flip test**, which only assumes that a difference is as likely in one direction as in the other when
  the methods are equal. It counts the share of the 2**n sign patterns whose mean is at least as far from 0 as the one
  seen, so it can never be below 2 / 2**n: with 5 seeds 1/16 = 0.0625. Alone it therefore cannot reject at 0.05 with
  fewer than 6 seeds (8 for six methods, once corrected), and is reported beside the t-test instead of in its place.

Where all differences are the same number the t-test has no variance to work with (t would be infinite, and p 0 from a
handful of seeds); the sign-flip test then decides, and with 2 seeds as well. With fewer than 2 common seeds a pair is
not testable.

Each family of tests is corrected by Holm, which keeps the chance of even one false finding in it below ``alpha``
whatever the dependence between the tests. ``compare_with`` is for a reference named before the results were seen. A
method picked *by* the results, such as the best one, needs ``compare_all_pairs``: with 6 equal methods, testing the 5
others against the apparent best finds a difference in more than 8 of 100 comparisons instead of 5.
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

from worstclass._typing import FloatArray
from worstclass.exceptions import DataError, ParameterError, UnknownNameError

#: values of one method by seed
BySeed = Mapping[int, float]

#: differences for which all sign patterns are counted; for more, patterns are drawn
MOST_EXACT = 20

#: sign patterns drawn beyond that, with a fixed seed
N_DRAWN = 9_999

#: seeds from which on the t-test decides
LEAST_T = 3

#: differences below this share of the values, or that vary by less, do so by rounding only
ROUNDING = 1e-12


class PairedTest(pydantic.BaseModel, frozen=True):
    """One pair of methods, tested on the seeds that both have.

    Attributes
    ----------
    a, b : the methods.
    n : number of seeds that both have.
    mean_difference : mean of a minus b; None without a common seed.
    test : which test gave ``p``: ``"t"``, ``"permutation"`` (sign-flip), or ``"none"`` where n < 2.
    t : the t statistic, None where another test decided.
    p_permutation : p-value of the sign-flip test.
    p : p-value of the deciding test, before correction.
    p_corrected : the same, corrected by Holm over the family of tests it was made with.
    alpha : the level.
    significant : whether ``p_corrected`` is at most alpha; False where the pair is not testable.
    """

    a: str
    b: str
    n: int
    mean_difference: float | None
    test: Literal["t", "permutation", "none"]
    t: float | None
    p_permutation: float | None
    p: float | None
    p_corrected: float | None
    alpha: float
    significant: bool


def compare_with(values: Mapping[str, BySeed], reference: str, *, alpha: float = 0.05) -> tuple[PairedTest, ...]:
    """Test every other method against one that was named beforehand; corrected over these tests.

    Parameters
    ----------
    values : for each method its value by seed.
    reference : the method that the others are compared with; must not be chosen by these values.
    alpha : the level that the whole family keeps.

    Returns
    -------
    One test for each other method, in the order of ``values``; differences are method minus reference.

    Examples
    --------
    >>> ce, ours = {0: 0.52, 1: 0.49, 2: 0.55, 3: 0.50, 4: 0.54}, {0: 0.30, 1: 0.28, 2: 0.31, 3: 0.30, 4: 0.29}
    >>> (test,) = compare_with({"ce": ce, "ours": ours}, "ours")
    >>> test.n, round(test.mean_difference, 3), test.significant, test.p_permutation
    (5, 0.224, True, 0.0625)
    """
    if reference not in values:
        raise UnknownNameError("reference", "compare_with", reference, values)
    return _family(values, [(name, reference) for name in values if name != reference], alpha, "compare_with")


def compare_all_pairs(values: Mapping[str, BySeed], *, alpha: float = 0.05) -> tuple[PairedTest, ...]:
    """Test every pair of methods; corrected over all pairs, so that any of them may be picked out afterwards.

    Parameters
    ----------
    values : for each method its value by seed.
    alpha : the level that the whole family keeps.

    Examples
    --------
    >>> tests = compare_all_pairs({"a": {0: 0.1, 1: 0.2}, "b": {0: 0.1, 1: 0.2}, "c": {7: 0.3}})
    >>> [(test.a, test.b, test.test, test.p_corrected) for test in tests]
    [('a', 'b', 'permutation', 1.0), ('a', 'c', 'none', None), ('b', 'c', 'none', None)]
    """
    return _family(values, itertools.combinations(values, 2), alpha, "compare_all_pairs")


def t_test(differences: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return t and the two-sided p of the paired t-test.

    Parameters
    ----------
    differences : shape (..., n), n at least 2, not all the same; the seeds are the last axis.
    """
    array = np.asarray(differences, dtype=np.float64)
    n = array.shape[-1]
    t = array.mean(axis=-1) / (array.std(axis=-1, ddof=1) / math.sqrt(n))
    return t, 2 * stats.t.sf(np.abs(t), n - 1)


def sign_flip_p(differences: npt.ArrayLike) -> float:
    """Return the two-sided p of the sign-flip test: exact up to 20 differences, by 9,999 drawn patterns beyond.

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
    if len(array) > MOST_EXACT:
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
    values: Mapping[str, BySeed], pairs: Iterable[tuple[str, str]], alpha: float, owner: str
) -> tuple[PairedTest, ...]:
    """Test the pairs, and correct those that are testable for one another."""
    if isinstance(alpha, bool) or not isinstance(alpha, int | float) or not 0 < alpha < 1:
        raise ParameterError("alpha", owner, allowed="a number in (0, 1)", got=alpha)
    _require_finite(values)
    tests = [_paired_test(a, b, values[a], values[b], alpha) for a, b in pairs]
    tested = [i for i, test in enumerate(tests) if test.p is not None]
    for i, corrected in zip(tested, holm([tests[i].p or 0.0 for i in tested]).tolist(), strict=True):
        tests[i] = tests[i].model_copy(update={"p_corrected": corrected, "significant": corrected <= alpha})
    return tuple(tests)


def _paired_test(a: str, b: str, of_a: BySeed, of_b: BySeed, alpha: float) -> PairedTest:
    """Test one pair, not yet corrected."""
    seeds = sorted(of_a.keys() & of_b.keys())
    first, second = (np.array([values[seed] for seed in seeds], dtype=np.float64) for values in (of_a, of_b))
    differences, n = first - second, len(seeds)
    rounding = ROUNDING * max([0.0, *np.abs(first), *np.abs(second)])
    differences[np.abs(differences) <= rounding] = 0.0
    test: Literal["t", "permutation", "none"] = "none"
    t = p = p_permutation = None
    if n >= 2:
        p = p_permutation = sign_flip_p(differences)
        test = "permutation"
    if n >= LEAST_T and np.ptp(differences) > rounding:
        t, p = (float(value) for value in t_test(differences))
        test = "t"
    return PairedTest(
        a=a,
        b=b,
        n=n,
        mean_difference=math.fsum(differences) / n if n else None,
        test=test,
        t=t,
        p_permutation=p_permutation,
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
