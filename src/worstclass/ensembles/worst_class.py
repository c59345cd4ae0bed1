"""``WorstClassClassifier``: the lowest worst-class error on new rows, without a choice to make."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, get_tags
from sklearn.utils.validation import check_is_fitted

from worstclass._checks import check_count, check_positive, suggests_options
from worstclass._progress import steps
from worstclass._state import Checkpoint, Stateful
from worstclass._text import n_of
from worstclass._typing import FloatArray
from worstclass.boosting.callbacks import Callback, check_callbacks, failures_told, tell
from worstclass.checkpoints import checkpoint_of, seeds_of
from worstclass.data.encoding import TableEncoder
from worstclass.data.labels import Labels, known_labels, require_pair, training_labels
from worstclass.data.map_style import is_map_dataset
from worstclass.data.seen_rows import SeenRows, check_unseen
from worstclass.data.splits import columns_in_order
from worstclass.ensembles.combination import Combination, combine, cross_combine
from worstclass.ensembles.images import require_finite
from worstclass.ensembles.members import Candidate, HeldOutTask, class_probabilities
from worstclass.ensembles.portfolio import OWNER, give_epochs, portfolio_for, try_networks, uses_auto
from worstclass.ensembles.schedule import Schedule, default_folds
from worstclass.ensembles.training import PortfolioTraining
from worstclass.exceptions import BudgetSpentWarning, DataError, LearnerFailedWarning, UnmetBoundWarning
from worstclass.floors import Floors
from worstclass.learners.estimator import check_columns
from worstclass.metrics import ClassCounts, ClassReport, Shortfall, count_correct
from worstclass.wrappers.base import indexable
from worstclass.wrappers.scores import log_probabilities


@dataclass(frozen=True)
class PortfolioRecord:
    """What is known of one member of the portfolio.

    Attributes
    ----------
    name : of the classifier.
    weight : its share in the answer; 0 if it was not chosen.
    worst_error, plain_error : of the held-out rows, with offsets of its own that those rows chose.
    seconds : that its training took.
    """

    name: str
    weight: float
    worst_error: float
    plain_error: float
    seconds: float


@suggests_options
class WorstClassClassifier(Stateful, ClassifierMixin, BaseEstimator):
    """A classifier with a low worst-class error on new rows; ``fit(X, y)`` is all it needs.

    It trains a small portfolio of classifiers, each on several folds, and keeps their probabilities for the rows that
    were held out. On those it chooses which members answer together (greedy ensemble selection by a smoothed
    worst-class error; the mean of a choice on all of them and of choices without each fifth) and the decision offset
    of each class. The models of all folds of the chosen members stay, and their mean probability plus the offsets
    answers.

    Parameters
    ----------
    learners : ``"auto"``: linear, kernel and tree classifiers for a table; for images classifiers of pixels and of
        patches, and a convolutional network where torch is installed. Or a list of scikit-learn classifiers with
        ``predict_proba``, ``TorchLearner`` objects and boosters, or of (name, classifier) pairs. ``"auto"`` in a list
        adds those classifiers; for images a ``TorchLearner`` or ``NetworkClassifier`` of yours takes the place of
        their network.
    theta : None: make the worst class as good as possible. Otherwise accuracy floors in [0, 1), one for all classes or
        a mapping from class to floor: every class to its floor and a standard error beyond it first, then the fewest
        errors.
    cv : number of folds; 1 holds out a fifth of the rows. ``"auto"``: 5 up to 20,000 rows, 3 up to 100,000, then 1; of
        images 5 up to 5,000, 3 up to 10,000, then 1. It is at least 3 if a class has fewer than 500 rows.
    time_limit : seconds that ``fit`` may take. Fewer members and fewer folds are trained, and ``notes_`` says so. The
        first learner is always trained, so list cheap ones first.
    max_epochs : epochs that all networks of all folds may take together. None: about 3,000 steps of the optimizer for
        each network, in 10 to 150 epochs; for the default network of images 4,500, in 6 to 40. A ``NetworkClassifier``
        or booster keeps its own ``max_epochs``, which this replaces. Each network has at least one epoch.
    n_jobs : folds that are trained in parallel, through joblib. None: 1, or as set by ``joblib.parallel_config``.
    random_state : seed of everything random; the global generators are neither read nor changed.
    callbacks : ``Callback`` objects; ``on_step_end`` is called after every member, with the time left. With a time
        limit it is called after the first fold of a member, and after its other folds.

    Attributes
    ----------
    classes_ : the classes, sorted.
    cv_report_ : class-wise errors on the held-out rows, no row judged by offsets that it helped to choose: an estimate
        for new rows, made by single folds and single choices where the mean of all answers later. The largest of its
        errors is still the largest of several noisy numbers; ``certify`` on fresh rows proves a limit.
    portfolio_ : one ``PortfolioRecord`` for each member that was trained, with its weight in the answer.
    estimators_, weights_ : the fitted models and the weight of each, with sum 1.
    offsets_ : added to the log-probability of each class, shape (K,), with mean 0.
    n_folds_ : folds that were trained; 1 for a single held-out part, also if it was given as ``X_val``. With 2 of 5
        folds, ``cv_report_`` judges two fifths of the rows.
    theta_, floors_met_, shortfall_ : the floors; whether ``cv_report_`` meets them; and for each class that misses its
        floor how many more held-out rows would have to be right. None without floors.
    notes_ : what was left out for lack of time or of torch, or because it failed.
    seen_rows_ : fingerprints of the rows seen; ``certify`` refuses them.

    Notes
    -----
    Tables may hold numbers, text, categories and missing values; see ``TableEncoder`` for what becomes of them. A
    sparse matrix of numbers stays sparse. Learners of your own get X as it is; beside ``"auto"`` they get a table as
    its classifiers do, as numbers.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from worstclass import WorstClassClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = WorstClassClassifier(random_state=0).fit(X[::2], y[::2])
    >>> float((model.predict(X[1::2]) == y[1::2]).mean()) > 0.95
    True
    """

    state_names: ClassVar[tuple[str, ...]] = (
        "classes_", "n_features_in_", "feature_names_in_", "encoder_", "estimators_", "weights_", "offsets_",
        "cv_report_", "portfolio_", "n_folds_", "theta_", "floors_met_", "shortfall_", "notes_", "seen_rows_",
    )  # fmt: skip

    def __init__(
        self,
        learners: Any = "auto",
        theta: float | Mapping[Any, float] | None = None,
        *,
        cv: int | str = "auto",
        time_limit: float | None = None,
        max_epochs: int | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        callbacks: Sequence[Callback] | None = None,
    ) -> None:
        self.learners = learners
        self.theta = theta
        self.cv = cv
        self.time_limit = time_limit
        self.max_epochs = max_epochs
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.callbacks = callbacks

    def fit(self, X: Any, y: Any = None, X_val: Any = None, y_val: Any = None, *, checkpoint: Any = None) -> Self:
        """Train the portfolio, choose members and offsets on held-out rows, and estimate the error of each class.

        If the user interrupts it (Ctrl-C), the members that are finished are combined before ``KeyboardInterrupt`` is
        raised, so that the estimator is fitted.

        Parameters
        ----------
        X : rows: an array, data frame, sparse matrix, images or tensor.
        y : labels, strings or numbers.
        X_val, y_val : held-out rows, in place of those that ``cv`` holds out.
        checkpoint : a folder in which the fit keeps the models of finished folds. A fit that was killed goes on from
            there if it is called again with the same parameters and rows.
        """
        self._check_parameters()
        with failures_told(self), checkpoint_of(self, checkpoint, X, y, X_val, y_val) as kept:
            schedule = self._fit(X, y, X_val, y_val, kept)
        self._warn(schedule)
        tell(self.callbacks, "on_fit_end", self)
        if schedule.interrupted:
            raise KeyboardInterrupt
        return self

    def _fit(self, X: Any, y: Any, X_val: Any, y_val: Any, checkpoint: Checkpoint) -> Schedule:
        rows, labels = self._training_rows(X, y)
        floors = None if self.theta is None else Floors.from_theta(self.theta, labels.classes, owner=OWNER)
        seeds = seeds_of(self, checkpoint)
        held_out = None if X_val is None and y_val is None else self._validation_rows(X, X_val, y_val, labels.classes)
        images = getattr(rows, "ndim", 2) > 2
        wanted = default_folds(labels.totals, images=images) if self.cv == "auto" else int(self.cv)
        task = HeldOutTask.of(rows, labels, held_out, wanted, seeds.seed(0))
        schedule = Schedule(self.time_limit, len(task.splits))
        portfolio, notes = portfolio_for(self.learners, rows, labels.index, len(task.splits[0][0]), seeds.seed(4))
        try_networks(portfolio, rows, labels.n_classes)
        give_epochs(portfolio, self.max_epochs, len(task.splits), images=images)
        schedule.members = list(portfolio)
        show = partial(tell, self.callbacks, "on_step_end", self)
        training = PortfolioTraining(
            portfolio, task, floors, schedule, seeds, checkpoint, self.n_jobs, self.cv != "auto", show
        )
        with warnings.catch_warnings():
            if uses_auto(self.learners):  # held-out rows judge its own members, converged or not
                warnings.simplefilter("ignore", ConvergenceWarning)
            candidates = training.run()
        seen = X, X if held_out is None else X_val
        try:
            self._combine(candidates, labels.classes, floors, seeds.seed(2), seen)
        except KeyboardInterrupt:  # nothing is left to train; a second one ends it
            schedule.interrupted = True
            self._combine(candidates, labels.classes, floors, seeds.seed(2), seen)
        self.n_folds_, self.notes_ = schedule.folds, (*notes, *schedule.notes)
        return schedule

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the class whose log-probability plus offset is largest."""
        best = self._scores(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class, shape (n, K), weighted by the offsets: the answer has the largest."""
        return np.asarray(softmax(self._scores(X), axis=1))

    def decision_function(self, X: Any) -> FloatArray:
        """Return log-probabilities plus offsets, shape (n, K); with two classes, the second minus the first."""
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = tags.input_tags.string = True
        if isinstance(self.learners, Iterable) and not uses_auto(self.learners):
            inner = [get_tags(learner).input_tags for learner in self.learners if isinstance(learner, BaseEstimator)]
            tags.input_tags.sparse = all(tag.sparse for tag in inner)
            tags.input_tags.allow_nan = all(tag.allow_nan for tag in inner)
            tags.input_tags.string = all(tag.string for tag in inner)
        return tags

    # what fit does, step by step

    def _training_rows(self, X: Any, y: Any) -> tuple[Any, Labels]:
        """Return the rows as the members get them, and the labels."""
        if is_map_dataset(X):
            raise DataError(
                f"{OWNER} needs rows in memory. Got a torch Dataset; pass its rows as a tensor or array. "
                "NetworkClassifier, DeepEnsemble, WorstClassBooster and WorstClassOffsets take a Dataset."
            )
        if y is None:
            raise DataError(f"{OWNER} requires y to be passed, but the target y is None.")
        X, y = indexable(X), indexable(y)
        is_table = uses_auto(self.learners) and not hasattr(X, "tocsr") and np.ndim(X) <= 2
        self.encoder_ = TableEncoder().fit(X) if is_table else None
        rows = self._rows(X)
        check_columns(self, X, reset=True)
        return rows, training_labels(X, y)

    def _validation_rows(self, X: Any, X_val: Any, y_val: Any, classes: npt.NDArray[Any]) -> tuple[Any, Labels]:
        """Return the held-out rows as the members get them, and their labels; refuse rows that are trained on."""
        require_pair(X_val, y_val)
        X_val = columns_in_order(indexable(X_val), getattr(self, "feature_names_in_", None))
        check_unseen(X_val, SeenRows.of(X), roles=("training",), owner=OWNER, allow_equal_rows=True)
        rows, labels = self._rows(X_val), known_labels(X_val, indexable(y_val), classes)
        if len(labels.index) < 2:
            raise DataError(
                "X_val must have at least two rows: one judges what the others choose. "
                f"Got {len(labels.index)}. Pass more rows, or leave X_val and y_val out; cv then holds out rows of X."
            )
        return rows, labels

    def _combine(
        self, candidates: list[Candidate], classes: npt.NDArray[Any], floors: Floors | None, seed: int, seen: Any
    ) -> None:
        """Choose members and offsets, keep what was chosen, and estimate the error of each class."""
        probabilities, target = [candidate.probability for candidate in candidates], candidates[0].target
        combination, counts = cross_combine(probabilities, target, floors, seed)
        self.classes_, self.seen_rows_ = classes, SeenRows.of(*seen)
        self._report(counts, floors)
        self._keep(candidates, combination)

    def _keep(self, candidates: list[Candidate], combination: Combination) -> None:
        """Keep the models of the members that were chosen."""
        n_folds = len(candidates[0].models)
        self.estimators_ = [
            model
            for member, weight in zip(candidates, combination.weights, strict=True)
            if weight > 0
            for model in member.models
        ]
        shares = combination.weights[combination.weights > 0]
        self.weights_ = np.repeat(shares / n_folds, n_folds)
        self.offsets_ = combination.offsets
        self.portfolio_ = tuple(
            _record(member, float(weight)) for member, weight in zip(candidates, combination.weights, strict=True)
        )

    def _report(self, counts: ClassCounts, floors: Floors | None) -> None:
        names = self.classes_.tolist()
        self.cv_report_ = ClassReport.from_counts(counts, names, floors)
        self.theta_ = self.floors_met_ = self.shortfall_ = None
        if floors is not None:
            short = Shortfall.of_vote(counts, names, floors)
            self.theta_ = floors.as_floats()
            self.shortfall_ = {row.label: row.rows_short for row in short}
            self.floors_met_ = not short and not counts.absent

    def _warn(self, schedule: Schedule) -> None:
        """Warn about floors that are missed, members that failed and what there was no time for."""
        if schedule.failures:
            warnings.warn("; ".join(schedule.failures) + ".", LearnerFailedWarning, stacklevel=3)
        if len(schedule.notes) > len(schedule.failures):
            spent = [note for note in schedule.notes if note not in schedule.failures]
            warnings.warn(f"time_limit={self.time_limit:g}: {'; '.join(spent)}.", BudgetSpentWarning, stacklevel=3)
        if absent := [row.name for row in self.cv_report_.rows if row.total == 0]:
            message = (
                f"No row of {absent} could be held out while others of the class were trained on, so the errors of "
                "these classes are not known. Collect more rows of them."
            )
            warnings.warn(message, UnmetBoundWarning, stacklevel=3)
        if self.shortfall_:
            missed = ", ".join(f"{label} ({n_of(rows, 'more row')})" for label, rows in self.shortfall_.items())
            message = f"Floors are missed on held-out rows: {missed}."
            warnings.warn(message, UnmetBoundWarning, stacklevel=3)

    def _check_parameters(self) -> None:
        check_positive(self.time_limit, "time_limit", OWNER, words=(None,))
        check_count(self.max_epochs, "max_epochs", OWNER, words=(None,))
        check_count(self.cv, "cv", OWNER, words=("auto",))
        check_callbacks(self.callbacks, OWNER)

    # answers

    def _rows(self, X: Any) -> Any:
        """Return X as the members get it."""
        if self.encoder_ is not None:
            return self.encoder_.transform(X).astype(np.float64)  # float32 answers depend on the rows asked with them
        if np.ndim(X) > 2 and uses_auto(self.learners):
            require_finite(X)
        if hasattr(X, "iloc") or hasattr(X, "detach"):
            return X
        finite = "allow-nan" if get_tags(self).input_tags.allow_nan else True
        options = {"accept_sparse": ["csr", "csc"], "allow_nd": True, "dtype": None, "ensure_all_finite": finite}
        try:
            return check_array(X, estimator=OWNER, input_name="X", **options)
        except ValueError as error:
            raise DataError(str(error)) from None

    def _scores(self, X: Any) -> FloatArray:
        check_is_fitted(self, "estimators_")
        X = columns_in_order(indexable(X), getattr(self, "feature_names_in_", None))
        if np.ndim(X) > 1:  # first, because its errors name this estimator
            check_columns(self, X, reset=False)
        rows = self._rows(X)
        K = len(self.classes_)
        parts = (
            weight * class_probabilities(model, rows, K)
            for weight, model in steps(zip(self.weights_, self.estimators_, strict=True), len(self.estimators_))
        )
        return log_probabilities(sum(parts, np.zeros((rows.shape[0], K)))) + self.offsets_


def _record(member: Candidate, weight: float) -> PortfolioRecord:
    """Describe a member by what it would do alone, with offsets of its own."""
    target = member.target
    alone = combine([member.probability], target, None, 1)
    K = member.probability.shape[1]
    answers = alone.scores([member.probability]).argmax(axis=1)
    counts = ClassCounts(count_correct(target, answers, K), np.bincount(target, minlength=K))
    return PortfolioRecord(member.name, weight, counts.worst_error, counts.plain_error, member.seconds)
