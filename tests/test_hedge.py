"""The arithmetic of Hedge: rounds, rate, gamma, edge, update and regret."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from worstclass.boosting.hedge import (
    Hedge,
    attainable_gammas,
    edge,
    hedge_rate,
    n_rounds_for,
    regret_bound,
    resolve_gamma,
)
from worstclass.exceptions import ParameterError

relaxed = settings(deadline=None)


@st.composite
def feedback_sequences(draw, max_rounds=30, max_experts=6):
    """Any feedback: shape (t, K)."""
    shape = draw(st.integers(1, max_rounds)), draw(st.integers(2, max_experts))
    return draw(arrays(np.bool_, shape))


def play(feedback, eta):
    state = Hedge.start(feedback.shape[1])
    for r in feedback:
        state = state.update(r, eta)
    return state


# --- gamma


@pytest.mark.parametrize(
    ("n_classes", "gammas"),
    [(2, [0.4995]), (3, [0.1662, 0.4995]), (4, [0.2495, 0.4995]), (5, [0.0995, 0.2995, 0.4995])],
)
def test_attainable_gammas_of_few_classes(n_classes, gammas):
    assert [round(gamma, 4) for gamma in attainable_gammas(n_classes)] == gammas


@pytest.mark.parametrize("n_classes", [2, 3, 10, 999, 1000, 1001, 2000, 2001, 5000])
def test_attainable_gammas_are_positive_and_accepted(n_classes):
    gammas = attainable_gammas(n_classes)
    assert all(0 < gamma <= 0.5 for gamma in gammas)
    assert resolve_gamma(gammas[0], n_classes) == gammas[0]


@pytest.mark.parametrize(
    ("n_classes", "gamma"),
    [(2, 0.4995), (3, 0.1662), (4, 0.2495), (5, 0.2995), (8, 0.2495), (10, 0.2995), (62, 0.2898)],
)
def test_auto_gamma_is_the_rule_of_the_paper_or_else_the_least_attainable(n_classes, gamma):
    assert round(resolve_gamma("auto", n_classes), 4) == gamma


@pytest.mark.parametrize("gamma", [0.2995, 0.5, 1e-6, np.float64(0.1)])
def test_number_is_taken_as_gamma_itself(gamma):
    assert resolve_gamma(gamma, 10) == float(gamma)
    assert type(resolve_gamma(gamma, 10)) is float


@pytest.mark.parametrize("gamma", [0, 0.0, -1, 0.6, float("nan"), float("inf"), "x", "0.3", True, None, [0.3]])
def test_what_is_no_gamma_is_refused_with_the_attainable_values_named(gamma):
    with pytest.raises(ParameterError, match=r"'gamma' parameter of WorstClassBooster.*\(0, 0.5\]") as caught:
        resolve_gamma(gamma, 5)
    assert f"Got {gamma!r} instead" in str(caught.value)
    assert "Attainable with 5 classes: 0.0995, 0.2995, 0.4995." in str(caught.value)


def test_long_list_of_attainable_values_is_cut_short():
    with pytest.raises(ParameterError, match=r"Attainable with 100 classes: (0\.\d{4}, ){6}\.\.\."):
        resolve_gamma(0, 100)


# --- rounds and rate


@pytest.mark.parametrize(("gamma", "n_classes", "n_rounds"), [(0.2995, 10, 52), (0.0995, 5, 326), (0.0995, 4, 281)])
def test_rounds_of_the_paper(gamma, n_classes, n_rounds):
    assert n_rounds_for(gamma, n_classes) == n_rounds


@relaxed
@given(st.floats(0.005, 0.5), st.integers(2, 100_000))
def test_rounds_are_the_least_whose_regret_is_at_most_half_of_gamma_t(gamma, n_experts):
    def suffices(n_rounds):
        return math.sqrt(n_rounds * math.log(n_experts) / 2) <= gamma * n_rounds / 2

    least = n_rounds_for(gamma, n_experts)
    assert suffices(least)
    assert not any(suffices(fewer) for fewer in range(max(1, least - 3), least))


def test_rate_by_hand():
    # eta = sqrt(8 ln K / T); with ln K = 2 and T = 4 that is 2
    assert hedge_rate(326, 5) == pytest.approx(math.sqrt(8 * math.log(5) / 326))
    assert hedge_rate(8, 2) == pytest.approx(math.sqrt(math.log(2)))


@relaxed
@given(st.integers(1, 10_000), st.integers(2, 1000), st.floats(0.5, 2))
def test_rate_makes_the_bound_least_and_equal_to_that_of_the_theorem(n_rounds, n_experts, factor):
    eta = hedge_rate(n_rounds, n_experts)
    bound = regret_bound(n_rounds, eta, n_experts)
    assert bound == pytest.approx(math.sqrt(n_rounds * math.log(n_experts) / 2))
    assert bound <= regret_bound(n_rounds, factor * eta, n_experts) + 1e-9


# --- edge


def test_edge_by_hand():
    weights = np.array([0.5, 0.25, 0.125, 0.125])
    assert edge(weights, np.array([True, False, True, False])) == 0.625
    assert edge(weights, np.array([False, False, False, False])) == 0.0


@relaxed
@given(arrays(np.float64, st.integers(1, 30), elements=st.floats(1e-300, 1.0)))
def test_edge_is_exactly_one_when_every_class_is_met(raw):
    weights = raw / raw.sum()  # does not add up to exactly 1 in floats
    assert edge(weights, np.ones(len(weights), dtype=bool)) == 1.0


@pytest.mark.parametrize("n_experts", [3, 7, 49, 1000])
def test_edge_of_weights_that_add_up_to_less_than_one_is_exactly_one_when_all_are_met(n_experts):
    weights = np.full(n_experts, 1 / n_experts) * (1 - 1e-15)
    assert weights.sum() != 1.0
    assert edge(weights, np.ones(n_experts, dtype=bool)) == 1.0
    assert edge(weights, np.ones(n_experts, dtype=bool)) >= 0.5 + resolve_gamma(0.5, n_experts)


@relaxed
@given(feedback_sequences(), st.floats(0.01, 5))
def test_edge_is_the_weight_of_what_is_met(feedback, eta):
    weights = play(feedback, eta).weights
    assert edge(weights, feedback[0]) == pytest.approx(float(weights @ feedback[0]), abs=1e-12)


# --- update


def test_start_is_uniform():
    state = Hedge.start(4)
    assert state.weights.tolist() == [0.25] * 4
    assert state.regret == 0


def test_three_rounds_by_hand():
    eta = math.log(2)  # a class that is met loses half of its weight before normalising
    state = Hedge.start(3)
    # round 1: 1, 1, 1 -> met 0 and 1 -> 1/2, 1/2, 1 -> 1/4, 1/4, 1/2. Earned 2/3.
    state = state.update(np.array([True, True, False]), eta)
    assert state.weights == pytest.approx([1 / 4, 1 / 4, 1 / 2])
    assert state.earned == pytest.approx(2 / 3)
    # round 2: met 2 -> 1/4, 1/4, 1/4 -> thirds. Earned 2/3 + 1/2.
    state = state.update(np.array([False, False, True]), eta)
    assert state.weights == pytest.approx([1 / 3, 1 / 3, 1 / 3])
    assert state.earned == pytest.approx(7 / 6)
    # round 3: met 0 -> 1/6, 1/3, 1/3 -> 1/5, 2/5, 2/5. Earned 7/6 + 1/3; sums 2, 1, 1.
    state = state.update(np.array([True, False, False]), eta)
    assert state.weights == pytest.approx([1 / 5, 2 / 5, 2 / 5])
    assert state.feedback_sums.tolist() == [2, 1, 1]
    assert state.regret == pytest.approx(3 / 2 - 1)


@pytest.mark.parametrize("met", [True, False])
def test_feedback_that_is_the_same_for_all_leaves_the_weights(met):
    state = Hedge.start(3).update(np.array([True, False, False]), 0.5)
    assert state.update(np.full(3, met), 0.5).weights.tolist() == state.weights.tolist()


def test_update_leaves_the_state_it_came_from():
    before = Hedge.start(3)
    before.update(np.array([True, False, False]), 1.0)
    assert before.weights.tolist() == Hedge.start(3).weights.tolist()
    assert before.feedback_sums.tolist() == [0, 0, 0]


@relaxed
@given(feedback_sequences(), st.floats(0.01, 2))
def test_weights_are_exponential_in_the_sums_of_feedback(feedback, eta):
    raw = np.exp(-eta * feedback.sum(axis=0))
    assert play(feedback, eta).weights == pytest.approx(raw / raw.sum())


@relaxed
@given(feedback_sequences(), st.floats(0.01, 5), st.randoms(use_true_random=False))
def test_permuting_classes_permutes_weights(feedback, eta, rnd):
    order = rnd.sample(range(feedback.shape[1]), feedback.shape[1])
    plain, permuted = play(feedback, eta), play(feedback[:, order], eta)
    assert permuted.weights == pytest.approx(plain.weights[order], abs=1e-14)
    assert permuted.regret == pytest.approx(plain.regret, abs=1e-9)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.95])
def test_weights_stay_a_distribution_for_1000_classes_and_10000_rounds(share):
    rng, eta = np.random.default_rng(0), hedge_rate(10_000, 1000)
    state = Hedge.start(1000)
    for t in range(10_000):
        state = state.update(rng.random(1000) < share, eta)
        if t % 1000 == 999:
            assert np.isfinite(state.weights).all()
            assert (state.weights > 0).all()
            assert state.weights.sum() == pytest.approx(1, abs=1e-12)
    assert state.regret <= regret_bound(10_000, eta, 1000)


def test_weights_stay_a_distribution_where_single_weights_underflow():
    # class 0 is never met: the others fall to exp(-10,000), which no float holds
    feedback = np.arange(1000) > 0
    state = Hedge.start(1000)
    for _ in range(10_000):
        state = state.update(feedback, 1.0)
    assert state.weights[0] == 1.0
    assert state.weights[1:].tolist() == [0.0] * 999
    # and they come back once class 0 is met and they are not
    for _ in range(10_000):
        state = state.update(~feedback, 1.0)
    assert state.weights == pytest.approx(np.full(1000, 1 / 1000))


# --- regret


@settings(deadline=None, max_examples=200)
@given(feedback_sequences(max_rounds=40), st.floats(1e-3, 30))
def test_regret_never_exceeds_its_bound_at_any_rate_after_any_round(feedback, eta):
    n_experts = feedback.shape[1]
    state = Hedge.start(n_experts)
    for t, r in enumerate(feedback, start=1):
        state = state.update(r, eta)
        assert state.regret <= regret_bound(t, eta, n_experts) + 1e-9


@relaxed
@given(feedback_sequences(), st.floats(0.01, 5))
def test_regret_is_what_was_earned_beyond_the_class_met_least(feedback, eta):
    weights, earned = np.full(feedback.shape[1], 1 / feedback.shape[1]), 0.0
    for r in feedback:
        earned += weights[r].sum()
        weights = weights * np.exp(-eta * r)
        weights /= weights.sum()
    assert play(feedback, eta).regret == pytest.approx(earned - feedback.sum(axis=0).min(), abs=1e-9)


@pytest.mark.parametrize(("n_rounds", "n_experts"), [(50, 2), (326, 5), (1000, 20)])
def test_regret_keeps_its_bound_against_an_adversary_that_meets_the_heaviest(n_rounds, n_experts):
    eta = hedge_rate(n_rounds, n_experts)
    state = Hedge.start(n_experts)
    for t in range(1, n_rounds + 1):
        heaviest = np.argsort(state.weights)[-max(1, n_experts // 2) :]
        state = state.update(np.isin(np.arange(n_experts), heaviest), eta)
        assert state.regret <= regret_bound(t, eta, n_experts) + 1e-9
    assert state.regret > 0.1 * regret_bound(n_rounds, eta, n_experts)  # the adversary does hurt
