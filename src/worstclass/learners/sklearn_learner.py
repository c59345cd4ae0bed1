"""Any scikit-learn classifier as a weak learner."""

from __future__ import annotations

import copy
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing as rows_of
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from worstclass._checks import suggests_options
from worstclass._typing import FloatArray, IntArray
from worstclass.data.labels import label_column
from worstclass.exceptions import ParameterError
from worstclass.learners.base import Encoder, Epoch, Inputs, Member, Training, WeakLearner
from worstclass.learners.binning import QuantileGrid
from worstclass.learners.capacity import CapacityRule, GrowingAnswers, capacity_rule, growing_fits
from worstclass.randomness import isolated_rng


@suggests_options
class SklearnLearner(WeakLearner):
    """A scikit-learn classifier as the weak learner.

    Within a round its capacity grows from low to the value it was given, until the edge is met: epochs for
    classifiers with ``partial_fit`` and ``max_iter``, iterations for boosted ensembles (by warm start where there
    is one), depth for trees and forests, one fit for the rest. Of a ``Pipeline`` the last step is boosted; the
    steps before it are fitted once, on the whole training sample. So are the bins of histogram-based trees.

    Parameters
    ----------
    estimator : a classifier whose ``fit`` takes ``sample_weight``, or a pipeline that ends in one.
    bootstrap : give each round its own bootstrap of the rows of every class, by weight. Most classifiers would
        otherwise answer equal class weights with an equal member, and equal members have nothing to vote on. The edge
        is measured on all training rows either way; where the classifier's capacity ends before the edge is reached,
        the round starts again with all rows.
    resample : train on rows drawn by weight instead, for classifiers that take no ``sample_weight``.
    grow : ``"auto"``, the name of the parameter to grow, or None for one fit a round.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from worstclass import SklearnLearner, WorstClassBooster
    >>> booster = WorstClassBooster(SklearnLearner(DecisionTreeClassifier()), theta=0.9)
    """

    def __init__(
        self, estimator: Any, *, bootstrap: bool = True, resample: bool = False, grow: str | None = "auto"
    ) -> None:
        self.estimator = estimator
        self.bootstrap = bootstrap
        self.resample = resample
        self.grow = grow

    @property
    def gives_probabilities(self) -> bool:
        """Whether the classifier has ``predict_proba``."""
        return hasattr(_split(self.estimator)[1], "predict_proba")

    def check_X(self, X: Any) -> Any:
        """Check arrays and sparse matrices; leave data frames to the classifier, which knows its columns."""
        if isinstance(self.estimator, type) or not hasattr(self.estimator, "fit") or not is_classifier(self.estimator):
            hint = "Pass an instance: write the class's name with brackets." if isinstance(self.estimator, type) else ""
            allowed = "a scikit-learn classifier"
            raise ParameterError("estimator", "SklearnLearner", allowed=allowed, got=self.estimator, hint=hint)
        tags = get_tags(_first_step(self.estimator)).input_tags
        is_pipeline, finite = isinstance(self.estimator, Pipeline), "allow-nan" if tags.allow_nan else True
        options = {"dtype": None, "allow_nd": True} if is_pipeline else {"dtype": "numeric"}
        return self._checked(
            X, accept_sparse=["csr", "csc"] if tags.sparse else False, ensure_all_finite=finite, **options
        )

    def bind(self, X: Any, y: IntArray, n_classes: int, seed: int) -> SklearnTraining:
        """Fit the steps before the classifier, and find out how it is weighted and grown."""
        steps, final = _split(self.estimator)
        steps = _with_grid(steps, final)
        if (class_weight := final.get_params(deep=False).get("class_weight")) is not None:
            allowed = "None inside a booster, which sets the class weights itself"
            raise ParameterError("class_weight", type(final).__name__, allowed=allowed, got=class_weight)
        weighted = has_fit_parameter(final, "sample_weight")
        if not weighted and not self.resample:
            allowed = "a classifier whose fit takes sample_weight, which boosting needs to weigh the classes"
            hint = "Pass resample=True to train it on rows drawn by weight instead."
            raise ParameterError("estimator", "SklearnLearner", allowed=allowed, got=final, hint=hint)
        with isolated_rng(seed):
            encoder = SklearnEncoder(None if steps is None else with_seed(clone(steps), seed).fit(X, y))
        return SklearnTraining(
            encoder=encoder,
            inputs=encoder.encode(X),
            y=y,
            n_classes=n_classes,
            estimator=final,
            rule=capacity_rule(final, self.grow),
            weighted=weighted and not self.resample,
            bootstrap=self.bootstrap,
        )

    def restored_members(self, encoder: Any, n_classes: int, states: Sequence[Any]) -> list[Member]:
        """Return members around fitted classifiers."""
        return [SklearnMember(state) for state in states]


@dataclass(frozen=True, eq=False)
class ArrayInputs(Inputs):
    """Rows of an array, a sparse matrix or a data frame."""

    values: Any

    def __len__(self) -> int:
        return int(self.values.shape[0])

    def take(self, rows: IntArray) -> ArrayInputs:
        """Return the rows of the given indices."""
        return ArrayInputs(rows_of(self.values, rows))


@dataclass(frozen=True, eq=False)
class SklearnEncoder(Encoder):
    """The fitted steps before the classifier; None where there are none."""

    steps: Pipeline | None

    def encode(self, X: Any) -> ArrayInputs:
        """Run X through the steps."""
        return ArrayInputs(X if self.steps is None else self.steps.transform(X))


@dataclass(frozen=True, eq=False)
class SklearnMember(Member):
    """A fitted classifier; its classes are class indices."""

    estimator: Any

    @property
    def state(self) -> Any:
        """The fitted classifier."""
        return self.estimator

    def predict(self, inputs: ArrayInputs) -> IntArray:
        """Return the class index of each row."""
        return label_column(self.estimator.predict(inputs.values)).astype(np.int64)

    def probabilities(self, inputs: ArrayInputs) -> FloatArray:
        """Return the probabilities that the classifier gives, shape (n, K)."""
        return np.asarray(self.estimator.predict_proba(inputs.values), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class SklearnTraining(Training):
    """A scikit-learn classifier bound to one training sample."""

    encoder: SklearnEncoder
    inputs: ArrayInputs
    y: IntArray
    n_classes: int
    estimator: Any
    rule: CapacityRule
    weighted: bool
    bootstrap: bool

    def member(self, state: Any) -> SklearnMember:
        """Return the member of a fitted classifier."""
        return SklearnMember(state)

    def epochs(self, sample_weight: FloatArray, seed: int, start: Any = None) -> Generator[Epoch, None, None]:
        """Train one member with more and more capacity."""
        answers = GrowingAnswers(self.inputs.values)
        with isolated_rng(seed):
            for X, y, keywords in self._samples(sample_weight, seed):
                fresh = with_seed(clone(self.estimator), seed)
                for estimator in growing_fits(fresh, self.rule, X, y, self.n_classes, **keywords):
                    member = SklearnMember(estimator)
                    yield Epoch(answers.of(estimator), member.predict, partial(copy.deepcopy, member))

    def _samples(self, sample_weight: FloatArray, seed: int) -> Iterator[tuple[Any, IntArray, dict[str, FloatArray]]]:
        """Yield what to train on, the next where the one before could not reach the edge: X, y and keywords."""
        rng = np.random.default_rng(seed)
        if not self.weighted:
            drawn = _draw_by_weight(self.y, sample_weight, self.n_classes, rng)
            yield self.inputs.take(drawn).values, self.y[drawn], {}
            return
        if self.bootstrap:
            counts = _bootstrap_counts(np.where(sample_weight > 0, self.y, -1), self.n_classes, rng)
            yield self.inputs.values, self.y, {"sample_weight": sample_weight * counts}
        yield self.inputs.values, self.y, {"sample_weight": sample_weight}


def _bootstrap_counts(y: IntArray, n_classes: int, rng: np.random.Generator) -> IntArray:
    """Count how often each row is drawn when every class is drawn from itself, with replacement; no row of class -1."""
    counts = np.zeros(len(y), dtype=np.int64)
    for k in range(n_classes):
        rows = np.flatnonzero(y == k)
        counts[rows] = rng.multinomial(len(rows), np.full(len(rows), 1 / len(rows)))
    return counts


def _draw_by_weight(y: IntArray, weight: FloatArray, n_classes: int, rng: np.random.Generator) -> IntArray:
    """Draw as many rows as there are, by weight, with at least one of every class."""
    share = weight / weight.sum()
    drawn = rng.choice(len(y), size=len(y), p=share)
    missing = np.setdiff1d(np.arange(n_classes), y[drawn])
    one_each = [rng.choice(np.flatnonzero(y == k)) for k in missing]
    return np.concatenate([drawn, np.array(one_each, dtype=drawn.dtype)])


def _split(estimator: Any) -> tuple[Pipeline | None, Any]:
    if isinstance(estimator, Pipeline):
        return (estimator[:-1] if len(estimator) > 1 else None), estimator[-1]
    return None, estimator


def _first_step(estimator: Any) -> Any:
    """Return what X reaches first: a pipeline itself does not tell whether its first step takes missing values."""
    if not isinstance(estimator, Pipeline):
        return estimator
    return next(step for _, step in estimator.steps if step not in (None, "passthrough"))


def _with_grid(steps: Pipeline | None, final: Any) -> Pipeline | None:
    """Let histogram-based trees find columns that are binned already; see ``learners.binning`` for why."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    if not isinstance(final, HistGradientBoostingClassifier):
        return steps
    before = [] if steps is None else steps.steps
    return Pipeline([*before, ("quantile-grid", QuantileGrid(final.max_bins))])


def with_seed(estimator: Any, seed: int) -> Any:
    """Give every ``random_state`` inside an estimator a seed of its own."""
    names = sorted(name for name in estimator.get_params() if name == "random_state" or name.endswith("__random_state"))
    seeds = np.random.SeedSequence(seed).generate_state(max(len(names), 1)) % (2**31)
    return estimator.set_params(**{name: int(value) for name, value in zip(names, seeds, strict=False)})
