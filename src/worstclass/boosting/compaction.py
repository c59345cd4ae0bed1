"""``compact``: a fitted booster with fewer members, whose vote says the same."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from worstclass._checks import is_number
from worstclass._text import n_of
from worstclass._typing import IntArray
from worstclass.boosting.history import Compaction, RoundRecord
from worstclass.boosting.subsets import Ballots, fewest_members
from worstclass.boosting.vote import VoteTally
from worstclass.boosting.voting import MajorityVote
from worstclass.data.fingerprints import Hashes, row_hashes
from worstclass.data.labels import Labels, known_labels, require_pair
from worstclass.data.seen_rows import SeenRows, row_overlap
from worstclass.exceptions import DataError, ParameterError

OWNER = "compact"
#: how far the shares of the votes may move; on the balanced squares a tenth of the members is kept (docs/compact.md)
DRIFT = 0.022
#: share of the rows of a class that another machine may answer otherwise
ROUNDED = 0.01
#: what to do about other rows, at the end of a message
SAME_ROWS = "Pass the rows that were given to fit."

Booster = TypeVar("Booster", bound=MajorityVote)


def compact(
    model: Booster,
    X: Any,
    y: Any = None,
    X_val: Any = None,
    y_val: Any = None,
    *,
    tolerance: float = 0.0,
    drift: float = DRIFT,
) -> Booster:
    """Return a booster with the fewest members found whose vote has the same training and validation reports.

    No class has more errors than before, on training and validation rows, and a floor that is met stays met. All of it
    is counted on the vote of the kept members, with their order and the tie rule. Few members can have equal counts on
    rows that were seen and answer others differently; so the shares of the votes must also stay where they are, up to
    ``drift``.

    Parameters
    ----------
    model : a fitted ``WorstClassBooster`` or ``InstanceBooster``; it is left as it is. Compact a booster before
        decision offsets, abstaining or a certificate: those are about its old vote.
    X, y : its training rows, all of them.
    X_val, y_val : its validation rows, if it was fitted with any. Otherwise they may be left out, or be rows that did
        not train it; these count as validation rows from then on, and ``certify`` refuses them.
    tolerance : share of the rows of a class that may be wrong in addition, on training and on validation rows, in
        [0, 1). Floors that are met stay met in any case.
    drift : how far the shares of the votes may move, in [0, 1]: the root mean square over the rows, classes counting
        alike, on training and on validation rows. 1 for any: the fewest members, at the price of other answers on new
        rows.

    Returns
    -------
    A fitted booster of the same class. Its ``compaction_`` says what was left out; ``history_`` has the rounds of the
    kept members, with the counts of their vote.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from worstclass import WorstClassBooster, compact
    >>> X, y = load_iris(return_X_y=True)
    >>> booster = WorstClassBooster(DecisionTreeClassifier(max_depth=2), theta=0.9, random_state=0).fit(X, y)
    >>> smaller = compact(booster, X, y)
    >>> len(smaller.estimators_) < len(booster.estimators_), smaller.bound_met_
    (True, True)
    """
    _check(model, tolerance, drift)
    given = [("y", X, y)]
    if X_val is not None or y_val is not None:
        require_pair(X_val, y_val)
        given.append(("y_val", X_val, y_val))
    rows = [model._check_X(part, reset=False) for _, part, _ in given]
    labels = [known_labels(part, y, model.classes_, name) for part, (name, _, y) in zip(rows, given, strict=True)]
    seen = _require_rows(model, labels, X, X_val)
    ballots = _ballots(model, rows, labels, tolerance)
    kept = fewest_members(ballots, drift)
    smaller = copy.copy(model)
    smaller.estimators_ = [model.estimators_[member] for member in kept]
    smaller.history_ = tuple(_history(model, ballots, kept))
    smaller.n_members_used_, smaller.seen_rows_ = len(kept), seen
    smaller.compaction_ = _compaction(ballots, kept)
    smaller._report()
    return smaller


def _check(model: Any, tolerance: float, drift: float) -> None:
    inside = model
    while hasattr(inside, "estimator_"):
        inside = inside.estimator_
    if not isinstance(model, MajorityVote):
        hint = ""
        if isinstance(inside, MajorityVote):
            name = type(model).__name__
            hint = f"Compact the booster inside it (its estimator_) first, then fit {name} around the smaller one."
        allowed = "a fitted WorstClassBooster or InstanceBooster, whose members vote"
        raise ParameterError("model", OWNER, allowed=allowed, got=model, hint=hint)
    check_is_fitted(model, "estimators_")
    if not is_number(tolerance) or not 0 <= tolerance < 1:
        raise ParameterError("tolerance", OWNER, allowed="a share of rows in [0, 1)", got=tolerance)
    if not is_number(drift) or not 0 <= drift <= 1:
        raise ParameterError("drift", OWNER, allowed="a share of votes in [0, 1]", got=drift)


def _require_rows(model: MajorityVote, labels: list[Labels], X: Any, X_val: Any) -> SeenRows:
    """Refuse rows that are not those of the fit; return the record of all rows that have trained or chosen."""
    record, seen = model.history_[0], model.seen_rows_
    _require_same("training", X, labels[0], record.class_totals, seen.training)
    if record.val_totals is not None:
        if X_val is None:
            raise DataError(
                f"{OWNER} needs the {sum(record.val_totals)} validation rows of the model too, as X_val and y_val. "
                f"{SAME_ROWS}"
            )
        _require_same("validation", X_val, labels[1], record.val_totals, seen.validation)
    elif X_val is not None:
        if n_reused := row_overlap(X_val, seen, ("training",)).n_reused:
            raise DataError(
                f"{OWNER} needs validation rows that did not train the model. {n_reused} of the {len(labels[1].index)} "
                "rows did. Pass others, or none."
            )
        return seen.also(SeenRows.of(validation=X_val))
    return seen


def _require_same(name: str, X: Any, labels: Labels, totals: tuple[int, ...], known: Hashes | None) -> None:
    """Refuse rows that are not the rows of the fit, by their fingerprints and the rows of each class."""
    hashes = None if known is None else row_hashes(X, read_items=True)
    n_others = 0 if hashes is None or known is None else int(np.count_nonzero(~np.isin(hashes, known)))
    if n_others or labels.totals.tolist() != list(totals):
        got = n_of(len(labels.index), "row")
        if n_others or len(labels.index) == sum(totals):
            got += f", {n_others} of them others" if n_others else " with other labels"
        raise DataError(f"{OWNER} needs the {sum(totals)} {name} rows of the model. Got {got}. {SAME_ROWS}")


def _ballots(model: MajorityVote, rows: list[Any], labels: list[Labels], tolerance: float) -> Ballots:
    """Ask every member that votes about all rows, once, and say how many answers must stay right."""
    inputs = [model.encoder_.encode(part) for part in rows]
    answers = [np.concatenate([member.predict(part) for part in inputs]).astype(np.int32) for member in model._voters]
    target = np.concatenate([part.index for part in labels])
    number = np.repeat(np.arange(len(labels)), [len(part.index) for part in labels])
    totals, floors = np.stack([part.totals for part in labels]), model._floors(model.classes_)
    ballots = Ballots(np.stack(answers), target, number, totals)
    correct = ballots.correct(ballots.whole.winners)
    _require_same_answers(model, correct[0], totals[0])
    share = Fraction(str(tolerance))
    needed = correct - np.array([[int(share * total) for total in part] for part in totals.tolist()])
    if floors is not None:
        quota = np.stack([floors.vote_quota(part) for part in totals])
        needed = np.where(correct >= quota, np.maximum(needed, quota), needed)
    return replace(ballots, needed=needed)


def _require_same_answers(model: MajorityVote, correct: IntArray, totals: IntArray) -> None:
    """Refuse labels that are not those of the fit: the vote has other counts, by more than rounding can explain."""
    recorded = np.array(model.history_[model.n_members_used_ - 1].vote_correct)
    difference = np.abs(correct - recorded)
    if (difference > np.maximum(1, ROUNDED * totals)).any():
        k = int(difference.argmax())
        rows = f"{totals[k]} training rows of {model.classes_.tolist()[k]!r}"
        raise DataError(
            f"The vote had {recorded[k]} of the {rows} right when it was fitted, and now has {correct[k]}. Pass the "
            "labels that were given to fit, in the order of their rows."
        )


def _history(model: MajorityVote, ballots: Ballots, kept: IntArray) -> Iterator[RoundRecord]:
    """Yield the records of the kept rounds with the counts of their vote; Hedge's regret is that of all rounds."""
    tally = VoteTally(len(ballots.target), len(model.classes_))
    for member in kept.tolist():
        tally.add(ballots.answers[member])
        correct, *held = ballots.correct(tally.winners).tolist()
        counts: dict[str, Any] = {"vote_correct": tuple(correct)}
        if held:
            counts |= {"vote_val_correct": tuple(held[0]), "val_totals": tuple(ballots.totals[1].tolist())}
        yield replace(model.history_[member], **counts, regret=None, regret_bound=None)


def _compaction(ballots: Ballots, kept: IntArray) -> Compaction:
    vote = ballots.vote(kept)
    n_changed = int(np.count_nonzero(vote.winners != ballots.whole.winners))
    return Compaction(ballots.n_members, len(kept), len(ballots.target), n_changed, ballots.drift(vote))
