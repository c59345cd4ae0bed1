"""Members and offsets chosen on held-out rows: by hand, by properties, and by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worstclass.ensembles.combination import (
    Combination,
    choose_members,
    combine,
    cross_combine,
    stratified_folds,
    with_offsets,
    worst_error_of,
)
from worstclass.floors import Floors
from worstclass.metrics import ClassCounts, count_correct
from worstclass.wrappers.offset_search import smoothed_offsets
from worstclass.wrappers.scores import log_probabilities


def draw(rng, n_rows, K, strength):
    """Rows with a signal of given strength about their class, as the probabilities of a calibrated member."""
    target = np.concatenate([np.arange(K).repeat(2), rng.integers(0, K, n_rows - 2 * K)])
    logits = rng.normal(size=(n_rows, K))
    logits[np.arange(n_rows), target] += strength
    odds = np.exp(strength * logits)
    return odds / odds.sum(axis=1, keepdims=True), target


def equally_good(rng, n_rows, K, n_members):
    """Members whose probabilities err independently of each other, and the labels of their rows."""
    target = draw(rng, n_rows, K, 1.0)[1]
    logits = rng.normal(size=(n_members, n_rows, K))
    logits[:, np.arange(n_rows), target] += 1
    odds = np.exp(logits)
    return list(odds / odds.sum(axis=2, keepdims=True)), target


def test_scores_by_hand():
    combination = Combination(np.array([0.75, 0.0, 0.25]), np.array([0.0, 1.0]))
    parts = [np.array([[0.8, 0.2]]), np.array([[np.nan, np.nan]]), np.array([[0.4, 0.6]])]
    # a member of weight 0 is not read; 0.75 * 0.8 + 0.25 * 0.4 = 0.7
    assert np.allclose(combination.scores(parts), [[np.log(0.7), np.log(0.3) + 1]])


def test_a_probability_of_zero_has_a_finite_score():
    assert log_probabilities(np.array([[1.0, 0.0]])).tolist() == [[0.0, np.log(1e-4)]]


def test_the_better_member_is_chosen():
    rng = np.random.default_rng(0)
    good, target = draw(rng, 2000, 4, 2.0)
    bad = rng.dirichlet(np.full(4, 0.5), 2000)
    weights = choose_members([bad, good], target, None, 6)
    assert weights[1] > 0.8


def test_members_that_know_different_classes_are_added_up():
    rng = np.random.default_rng(1)
    target = rng.integers(0, 4, 3000)
    both = []
    for known in ((0, 1), (2, 3)):
        logits = rng.normal(size=(3000, 4))
        rows = np.isin(target, known)
        logits[rows, target[rows]] += 3
        odds = np.exp(2 * logits)
        both.append(odds / odds.sum(axis=1, keepdims=True))
    weights = choose_members(both, target, None, 6)
    assert weights.min() > 0.2
    alone = min(smoothed_offsets(log_probabilities(p), target)[1] for p in both)
    together = smoothed_offsets(log_probabilities(weights[0] * both[0] + weights[1] * both[1]), target)[1]
    assert together < alone - 0.05


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 6), st.integers(1, 4))
def test_invariants_of_a_combination(seed, K, n_members):
    rng = np.random.default_rng(seed)
    _, target = draw(rng, 60, K, 1.0)
    parts = [draw(rng, 60, K, rng.uniform(0, 3))[0] for _ in range(n_members)]
    found = combine(parts, target, None, 6)
    assert found.weights.min() >= 0
    assert found.weights.sum() == pytest.approx(1)
    assert found.offsets.mean() == pytest.approx(0, abs=1e-9)
    # by the error that chooses, the choice is at least as good as the best member alone
    alone = min(worst_error_of(p, target, None, None)[1] for p in parts)
    mean = sum(w * p for w, p in zip(found.weights, parts, strict=True))
    assert worst_error_of(mean, target, None, None)[1] <= alone + 0.02


def test_renaming_classes_renames_the_combination():
    rng = np.random.default_rng(3)
    p, target = draw(rng, 400, 3, 1.5)
    q, _ = draw(rng, 400, 3, 1.0)
    order = np.array([2, 0, 1])
    renamed = np.argsort(order)[target]
    one = combine([p, q], target, None, 6)
    two = combine([p[:, order], q[:, order]], renamed, None, 6)
    assert np.allclose(one.offsets[order], two.offsets, atol=1e-3)
    assert np.allclose(one.weights, two.weights)


def test_floors_come_before_errors():
    rng = np.random.default_rng(4)
    p, target = draw(rng, 3000, 3, 1.2)
    floors = Floors.from_theta({0: 0.85, 1: 0.3, 2: 0.3}, [0, 1, 2])
    answers = combine([p], target, floors, 6).scores([p]).argmax(axis=1)
    counts = ClassCounts(count_correct(target, answers, 3), np.bincount(target))
    assert (counts.correct >= floors.vote_quota(counts.total)).all()
    unmet = np.bincount(target) - count_correct(target, p.argmax(axis=1), 3)
    assert unmet[0] / counts.total[0] > 0.15  # without floors class 0 misses its own


def test_folds_of_a_class_with_few_rows():
    target = np.array([0] * 20 + [1] * 2 + [2])
    folds = stratified_folds(target, 5, 0)
    assert sorted(np.concatenate([fold for _, fold in folds]).tolist()) == list(range(23))
    assert len(stratified_folds(np.array([0, 0, 1]), 5, 0)) == 2


def test_the_estimate_is_not_optimistic():
    """Simulation with a known truth: 25 draws; the cross-fitted class errors against those on 20,000 new rows."""
    rng = np.random.default_rng(5)
    K, differences, optimistic = 4, [], []
    for number in range(25):
        new, truth = equally_good(np.random.default_rng(1000 + number), 20_000, K, 2)
        parts, target = equally_good(np.random.default_rng(5000 + number), 240, K, 2)
        found, counts = cross_combine(parts, target, None, int(rng.integers(2**31)))
        real = found.scores(new).argmax(axis=1)
        real_errors = 1 - count_correct(truth, real, K) / np.bincount(truth)
        differences.append(np.mean(np.asarray(counts.errors) - real_errors))
        own = found.scores(parts).argmax(axis=1)
        optimistic.append(np.mean(1 - count_correct(target, own, K) / np.bincount(target) - real_errors))
    bias, error = np.mean(differences), np.std(differences) / np.sqrt(25)
    one_fit = np.std(differences)  # standard error of the estimate of a single fit
    assert abs(bias) < one_fit
    assert abs(bias) < 0.01 + 2 * error
    assert np.mean(optimistic) < bias  # what the rows that chose would have said


def test_a_single_row_of_every_class_is_judged_by_the_others():
    rng = np.random.default_rng(0)
    target = np.arange(6)
    probabilities = rng.dirichlet(np.ones(6), size=6)
    _, counts = cross_combine([probabilities], target, None, 0)
    assert counts.total.tolist() == [1] * 6
    folds = stratified_folds(target, 5, 0)
    assert sorted(row for _, judged in folds for row in judged) == target.tolist()
    assert all(not set(others) & set(judged) for others, judged in folds)


def test_the_mean_of_six_choices_counts():
    parts, target = equally_good(np.random.default_rng(7), 60, 3, 3)
    found, _ = cross_combine(parts, target, None, 3)
    choices = [combine(parts, target, None).weights]
    for others, _ in stratified_folds(target, 5, 3):
        choices.append(combine([p[others] for p in parts], target[others], None).weights)
    assert len({tuple(weights) for weights in choices}) > 1  # the choices differ, or the mean would show nothing
    assert np.allclose(found.weights, np.mean(choices, axis=0))
    assert np.array_equal(found.offsets, with_offsets(found.weights, parts, target, None).offsets)


def test_a_fifth_is_judged_by_the_choice_that_was_made_without_it():
    """Counted again by hand; the second member, which is always wrong in one fifth, makes the choices differ."""
    rng = np.random.default_rng(8)
    p, target = draw(rng, 300, 3, 1.0)
    _, judged = stratified_folds(target, 5, 0)[0]
    cheat = np.full((300, 3), 1 / 3)
    cheat[judged] = np.eye(3)[(target[judged] + 1) % 3]  # always wrong there, no opinion elsewhere
    _, counts = cross_combine([p, cheat], target, None, 0)
    right = np.zeros(3, dtype=np.int64)
    for others, fold in stratified_folds(target, 5, 0):
        choice = combine([p[others], cheat[others]], target[others], None)
        right += count_correct(target[fold], choice.scores([p[fold], cheat[fold]]).argmax(axis=1), 3)
    assert counts.correct.tolist() == right.tolist()
    assert counts.total.tolist() == np.bincount(target).tolist()


def test_floors_come_first_in_the_mean_of_the_choices():
    parts, target = equally_good(np.random.default_rng(9), 900, 3, 2)
    floors = Floors.from_theta({0: 0.85, 1: 0.3, 2: 0.3}, [0, 1, 2])
    totals = np.bincount(target)
    with_floors, without = (cross_combine(parts, target, given, 0)[0] for given in (floors, None))
    met, missed = (count_correct(target, c.scores(parts).argmax(axis=1), 3) for c in (with_floors, without))
    assert (met >= floors.vote_quota(totals)).all()
    assert missed[0] < floors.vote_quota(totals)[0]


def test_a_class_without_rows_keeps_its_offset():
    parts, target = equally_good(np.random.default_rng(10), 90, 3, 2)
    wider = [np.column_stack([p * 0.9, np.full(len(p), 0.1)]) for p in parts]  # a fourth class that no row has
    found, counts = cross_combine(wider, target, None, 0)
    assert found.offsets[3] == 0
    assert counts.total.tolist() == [*np.bincount(target), 0]
