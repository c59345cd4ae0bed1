"""The losses: hand-worked values, reductions, gradients, extremes, symmetries, state, and the registry."""

from __future__ import annotations

import math
import pickle
from dataclasses import dataclass
from decimal import Decimal, localcontext
from math import exp, log

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn.functional import cross_entropy, normalize

from worstclass.exceptions import DataError, ParameterError, UnknownNameError, UnknownOptionError
from worstclass.losses import build_loss, list_losses
from worstclass.losses.base import REGISTERED, PlainLoss
from worstclass.losses.cross_entropy import CrossEntropy, Focal
from worstclass.losses.influence_balanced import InfluenceBalanced
from worstclass.losses.logit_adjustment import LDAM, ClassDependentTemperatures, LogitAdjustment, VectorScaling
from worstclass.losses.weighting import RULES as RULES_BY_NAME
from worstclass.losses.weighting import Deferred, EffectiveNumber, InverseFrequency, Weighted
from worstclass.losses.worst_class import ClassDRO, Naive

# Rows that pen and paper can do. The odds of the classes are 2 : 1 : 5, again 2 : 1 : 5, and 1 : 3 : 1.
LOGITS = torch.tensor([[log(2), 0, log(5)], [log(2), 0, log(5)], [0, log(3), 0]], dtype=torch.float64)
TARGET = torch.tensor([2, 0, 1])  # probabilities 5/8, 1/4 and 3/5
FEATURES = torch.tensor([[1.0, -2.0], [0.0, 4.0], [-5.0, 0.0]], dtype=torch.float64)  # L1 norms 3, 4 and 5
CE = [log(8 / 5), log(4), log(5 / 3)]
COUNTS = (81, 16, 1)  # square roots 9, 4 and 1; fourth roots 3, 2 and 1; 98 in all

ONE_OF_EACH = {
    "cross-entropy": CrossEntropy(),
    "focal": Focal(),
    "focal-half": Focal(0.5),
    "focal-three": Focal(3.0),
    "influence-balanced": InfluenceBalanced(alpha=10.0),
    "influence-balanced-focal": InfluenceBalanced(alpha=10.0, base=Focal()),
    "logit-adjustment": LogitAdjustment(tau=1.5),
    "class-dependent-temperatures": ClassDependentTemperatures(),
    "vector-scaling": VectorScaling(),
    "ldam": LDAM(),
    "naive": Naive(),
    "class-dro": ClassDRO(step=0.5),
    "plain": PlainLoss(lambda logits, target: cross_entropy(logits, target, reduction="none")),
}
RULES = {
    "inverse-frequency": InverseFrequency(),
    "effective-number": EffectiveNumber(0.9),
    "deferred-past": Deferred(EffectiveNumber(0.9), after=0),
    "deferred-future": Deferred(InverseFrequency(), after=7),
}
SEE_THE_BATCH = {"naive", "class-dro"}

every_loss = pytest.mark.parametrize("loss", ONE_OF_EACH.values(), ids=ONE_OF_EACH.keys())
every_rule = pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())


def rows_of(loss, logits, target, features=None, counts=COUNTS):
    """Losses of a fresh criterion in its first epoch."""
    features = torch.ones(len(logits), 2, dtype=logits.dtype) if features is None else features
    return loss.bind(torch.tensor(counts))(logits, target, features)


def by_hand(loss, counts=COUNTS, logits=LOGITS):
    return rows_of(loss, logits, TARGET, FEATURES, counts).tolist()


def random_batch(seed, n_rows, n_classes, scale=2.0):
    generator = torch.Generator().manual_seed(seed)
    logits = scale * torch.randn(n_rows, n_classes, generator=generator, dtype=torch.float64)
    target = torch.randint(n_classes, (n_rows,), generator=generator)
    features = torch.randn(n_rows, 4, generator=generator, dtype=torch.float64)
    counts = torch.randint(1, 500, (n_classes,), generator=generator).tolist()
    return logits, target, features, counts


# --- values by hand


def test_cross_entropy():
    assert by_hand(CrossEntropy()) == pytest.approx(CE)


@pytest.mark.parametrize("gamma", [0.5, 1.0, 2.0])
def test_focal_weights_each_row_by_its_own_miss(gamma):
    # 1 - p is 3/8, 3/4 and 2/5
    assert by_hand(Focal(gamma)) == pytest.approx(
        [(3 / 8) ** gamma * log(8 / 5), (3 / 4) ** gamma * log(4), (2 / 5) ** gamma * log(5 / 3)]
    )


def test_logit_adjustment():
    # odds times counts: 162 : 16 : 5 (183 in all), the same, and 81 : 48 : 1 (130 in all)
    assert by_hand(LogitAdjustment(1.0)) == pytest.approx([log(183 / 5), log(183 / 162), log(130 / 48)])


def test_logit_adjustment_of_twice_the_strength():
    # odds times squared counts: 2 * 6561 : 256 : 5 is 13122 : 256 : 5 (13383 in all); 6561 : 768 : 1 (7330 in all)
    assert by_hand(LogitAdjustment(2.0)) == pytest.approx([log(13383 / 5), log(13383 / 13122), log(7330 / 768)])


def test_logit_adjustment_without_logits_is_the_surprise_of_the_class():
    logits = torch.zeros(3, 3, dtype=torch.float64)
    assert by_hand(LogitAdjustment(1.0), logits=logits) == pytest.approx([log(98), log(98 / 81), log(98 / 16)])


def test_class_dependent_temperatures():
    # square roots of n_k / 81 are 1, 4/9 and 1/9: these logits shrink to those of LOGITS
    logits = LOGITS * torch.tensor([1, 9 / 4, 9])
    assert by_hand(ClassDependentTemperatures(0.5), logits=logits) == pytest.approx(CE)
    # and gamma = 1 to 1, 16/81, 1/81
    logits = LOGITS * torch.tensor([1, 81 / 16, 81], dtype=torch.float64)
    assert by_hand(ClassDependentTemperatures(1.0), logits=logits) == pytest.approx(CE)


def test_vector_scaling_stretches_then_shifts():
    logits = LOGITS * torch.tensor([1, 9 / 4, 9])
    assert by_hand(VectorScaling(0.5, 1.0), logits=logits) == pytest.approx(
        [log(183 / 5), log(183 / 162), log(130 / 48)]
    )


def test_ldam_takes_the_margin_off_the_class_of_the_row():
    # margins in proportion to 1/3, 1/2 and 1, the largest 1/2: 1/6, 1/4 and 1/2
    logits = torch.tensor([[0, 0, 1 / 2], [1 / 6 + log(2) / 12, 0, 0], [0, 0, log(3) / 12]], dtype=torch.float64)
    # times 12: (0, 0, 0); (ln 2, 0, 0); (0, -3, ln 3)
    assert by_hand(LDAM(max_margin=0.5, scale=12.0), logits=logits) == pytest.approx(
        [log(3), log(4 / 2), log((1 + exp(-3) + 3) / exp(-3))]
    )


def test_influence_balanced():
    # 1/81, 1/16 and 1 are 16, 81 and 1296 of 1296, in all 1393, so alpha = 1393 gives lambda 16, 81 and 1296.
    # |p - e|_1 is 2 * 3/8, 2 * 3/4 and 2 * 2/5; times the features' norms 3, 4 and 5 it is 9/4, 6 and 4
    assert by_hand(InfluenceBalanced(alpha=1393.0)) == pytest.approx(
        [log(8 / 5) * 1296 / 2.251, log(4) * 16 / 6.001, log(5 / 3) * 81 / 4.001]
    )


def test_influence_balanced_focal():
    assert by_hand(InfluenceBalanced(alpha=1393.0, base=Focal(1.0))) == pytest.approx(
        [3 / 8 * log(8 / 5) * 1296 / 2.251, 3 / 4 * log(4) * 16 / 6.001, 2 / 5 * log(5 / 3) * 81 / 4.001]
    )


def test_influence_balanced_without_its_class_part_treats_classes_alike():
    assert by_hand(InfluenceBalanced(alpha=3.0, class_factor=False)) == pytest.approx(
        [log(8 / 5) / 2.251, log(4) / 6.001, log(5 / 3) / 4.001]
    )


def test_naive_is_the_largest_class_mean_of_the_batch():
    assert by_hand(Naive()) == pytest.approx([0, 3 * log(4), 0])
    # classes 2, 2, 1, 1 with means ln 4 / 2 + ln(8/5) / 2 and ln(5/3): 0.93 and 0.51
    logits = torch.stack([LOGITS[0], LOGITS[0, [2, 1, 0]], LOGITS[2], LOGITS[2]])
    rows = rows_of(Naive(), logits, torch.tensor([2, 2, 1, 1]))
    assert rows.tolist() == pytest.approx([2 * log(8 / 5), 2 * log(4), 0, 0])
    assert rows.mean().item() == pytest.approx((log(8 / 5) + log(4)) / 2)


def test_class_dro():
    # after one step of rate 1 the weights go as exp(L): 4 for class 0, 5/3 for class 1, 8/5 for class 2,
    # that is 60 : 25 : 24 of 109
    assert by_hand(ClassDRO(step=1.0)) == pytest.approx(
        [3 * 24 / 109 * log(8 / 5), 3 * 60 / 109 * log(4), 3 * 25 / 109 * log(5 / 3)]
    )


def test_plain_loss_asks_the_function():
    loss = PlainLoss(lambda logits, target: logits.sum(dim=1) + target)
    assert by_hand(loss) == pytest.approx([log(10) + 2, log(10), log(3) + 1])


def test_weighted_multiplies_rows_by_the_weight_of_their_class():
    # 1/n_k as above: 16, 81 and 1296 of 1393, times 3
    assert by_hand(Weighted(Focal(1.0), InverseFrequency())) == pytest.approx(
        [3 * 1296 / 1393 * 3 / 8 * log(8 / 5), 3 * 16 / 1393 * 3 / 4 * log(4), 3 * 81 / 1393 * 2 / 5 * log(5 / 3)]
    )


def test_class_balanced():
    # beta = 1/2 and counts 3, 2, 1: effective numbers 7/4, 3/2, 1, inverse 12/21, 14/21, 21/21 (47/21 in all)
    assert by_hand(Weighted(CrossEntropy(), EffectiveNumber(0.5)), counts=(3, 2, 1)) == pytest.approx(
        [3 * 21 / 47 * log(8 / 5), 3 * 12 / 47 * log(4), 3 * 14 / 47 * log(5 / 3)]
    )


# --- reductions


@pytest.mark.parametrize(
    ("special", "general"),
    [
        (CrossEntropy(), Focal(0.0)),
        (CrossEntropy(), LogitAdjustment(0.0)),
        (CrossEntropy(), ClassDependentTemperatures(0.0)),
        (CrossEntropy(), VectorScaling(0.0, 0.0)),
        (CrossEntropy(), LDAM(max_margin=0.0, scale=1.0)),
        (CrossEntropy(), Weighted(CrossEntropy(), EffectiveNumber(0.0))),
        (CrossEntropy(), Weighted(CrossEntropy(), Deferred(InverseFrequency(), after=1))),
        (CrossEntropy(), InfluenceBalanced(after=1)),
        (CrossEntropy(), PlainLoss(lambda logits, target: -logits.log_softmax(1)[torch.arange(len(logits)), target])),
        (ClassDependentTemperatures(0.7), VectorScaling(0.7, 0.0)),
        (LogitAdjustment(0.7), VectorScaling(0.0, 0.7)),
        (InfluenceBalanced(), Weighted(InfluenceBalanced(class_factor=False), InverseFrequency())),
        (Weighted(CrossEntropy(), InverseFrequency()), Weighted(CrossEntropy(), Deferred(InverseFrequency(), after=0))),
    ],
)
def test_reductions(special, general):
    logits, target, features, counts = random_batch(0, 40, 5)
    assert torch.allclose(
        rows_of(special, logits, target, features, counts),
        rows_of(general, logits, target, features, counts),
        rtol=1e-12,
        atol=0,
    )


def test_class_dro_that_does_not_move_is_the_mean_of_the_class_means():
    logits, target, _, counts = random_batch(1, 40, 4)
    losses = cross_entropy(logits, target, reduction="none")
    means = [losses[target == k].mean().item() for k in range(4)]
    assert rows_of(ClassDRO(0.0), logits, target, counts=counts).mean().item() == pytest.approx(sum(means) / 4)


# --- weighting rules


def weights_of(rule, counts, number=1):
    return rule.weights(torch.tensor(counts), number)


@every_rule
@pytest.mark.parametrize("counts", [(7, 7), (81, 16, 1), tuple(range(1, 1001)), (10_000_000, 1)])
def test_weights_are_positive_and_sum_to_the_number_of_classes(rule, counts):
    for number in (1, 7, 8):
        weights = weights_of(rule, counts, number)
        assert weights.shape == (len(counts),)
        assert (weights > 0).all()
        assert weights.sum().item() == pytest.approx(len(counts))


@every_rule
def test_smaller_classes_never_weigh_less(rule):
    weights = weights_of(rule, (81, 16, 1), number=8).tolist()
    assert weights == sorted(weights)


def test_effective_number_approaches_inverse_frequency():
    wanted = weights_of(InverseFrequency(), (5000, 300, 2))
    off = [(weights_of(EffectiveNumber(beta), (5000, 300, 2)) - wanted).abs().max().item() for beta in (0.9, 0.999)]
    assert off[0] > 3 * off[1] > 1e-3
    # one step below 1, the largest beta there is
    assert weights_of(EffectiveNumber(1 - 2**-53), (5000, 300, 2)).tolist() == pytest.approx(wanted.tolist(), rel=1e-9)


@pytest.mark.parametrize("beta", [0.5, 0.9999, 1 - 1e-8, 1 - 1e-12])
@pytest.mark.parametrize("n_rows", [2, 777, 10_000_000])
def test_effective_number_keeps_its_digits(beta, n_rows):
    with localcontext(prec=60):  # exact arithmetic on the float that beta is
        ratio = float((1 - Decimal(beta) ** n_rows) / (1 - Decimal(beta)))
    big, small = weights_of(EffectiveNumber(beta), (n_rows, 1)).tolist()
    assert small / big == pytest.approx(ratio, rel=1e-13)


def test_deferred_rule_starts_after_its_pass():
    rule = Deferred(InverseFrequency(), after=3)
    assert [weights_of(rule, (3, 1), number).tolist() for number in (1, 3, 4, 5)] == [
        [1, 1],
        [1, 1],
        [0.5, 1.5],
        [0.5, 1.5],
    ]


def test_weighted_follows_the_passes():
    criterion = Weighted(CrossEntropy(), Deferred(InverseFrequency(), after=2)).bind(torch.tensor([3, 1]))
    seen = [criterion(torch.zeros(1, 2), torch.tensor([1]), epoch=number).item() for number in (1, 2, 3)]
    assert seen == pytest.approx([log(2), log(2), 1.5 * log(2)])


def test_weighted_passes_on_what_its_loss_needs():
    assert not Weighted(CrossEntropy(), InverseFrequency()).needs_features
    assert Weighted(InfluenceBalanced(), InverseFrequency()).needs_features
    # the features reach the loss inside
    loss, counts = InfluenceBalanced(alpha=4.0), torch.tensor([3, 1])
    rows, target, features = torch.zeros(2, 2), torch.tensor([0, 1]), torch.tensor([[1.0], [2.0]])
    inside = loss.bind(counts)(rows, target, features)
    weighted = Weighted(loss, InverseFrequency()).bind(counts)(rows, target, features)
    assert weighted.tolist() == pytest.approx((inside * torch.tensor([0.5, 1.5])).tolist())


# --- gradients


@every_rule
@every_loss
def test_gradients(loss, rule):
    logits, target, features, counts = random_batch(3, 6, 4, scale=1.0)
    base = loss.base if isinstance(loss, InfluenceBalanced) else CrossEntropy()
    has_constant_factor = isinstance(loss, InfluenceBalanced | ClassDRO)

    def rows(inputs):
        values = rows_of(Weighted(loss, rule), inputs, target, features, counts)
        if not has_constant_factor:
            return values
        # a factor that is documented to be without gradient is taken out again, without gradient
        return values / (values / rows_of(base, inputs, target, counts=counts)).detach()

    assert torch.autograd.gradcheck(rows, logits.requires_grad_())


def test_influence_balanced_gives_every_row_the_pull_of_its_class_on_the_last_layer():
    torch.manual_seed(0)
    head = nn.Linear(5, 3, bias=False, dtype=torch.float64)
    criterion = InfluenceBalanced(alpha=1393.0).bind(torch.tensor(COUNTS))
    for k, pull in enumerate([16, 81, 1296]):
        for features in torch.randn(4, 1, 5, dtype=torch.float64):
            (gradient,) = torch.autograd.grad(
                criterion(head(features), torch.tensor([k]), features).sum(), [head.weight]
            )
            influence = 2 * (1 - head(features).softmax(1)[0, k]) * features.abs().sum()
            assert gradient.abs().sum().item() == pytest.approx(pull * (influence / (influence + 0.001)).item())


def test_no_gradient_flows_to_the_features_of_influence_balancing():
    features = FEATURES.clone().requires_grad_()
    logits = LOGITS.clone().requires_grad_()
    InfluenceBalanced().bind(torch.tensor(COUNTS))(logits, TARGET, features).sum().backward()
    assert features.grad is None
    assert logits.grad.abs().sum() > 0


@pytest.mark.parametrize("gamma", [0.0, 0.1, 0.5, 1.0, 2.0])
@pytest.mark.parametrize("lead", [10.0, 16.0, 17.0, 18.0, 40.0, 90.0, 104.0, 1e3, 1e4])
def test_focal_of_rows_that_are_all_but_certain(gamma, lead):
    # p = 1 / (1 + exp(-lead)); with q = 1 - p small the loss is q^(1 + gamma), its slope -(1 + gamma) q^(1 + gamma)
    logits = torch.tensor([[lead, 0.0]], dtype=torch.float64, requires_grad=True)
    loss = rows_of(Focal(gamma), logits, torch.tensor([0]), counts=(1, 1)).sum()
    loss.backward()
    wanted = exp(-lead * (1 + gamma))
    rounding = 1e-15 ** (1 + gamma)  # p is not told from 1 below 1e-16
    assert loss.item() == pytest.approx(wanted, rel=1e-2, abs=rounding)
    assert logits.grad[0, 0].item() == pytest.approx(-(1 + gamma) * wanted, rel=1e-2, abs=3 * rounding)


# --- extremes


@every_rule
@every_loss
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("n_classes", [2, 1000])
@pytest.mark.parametrize("n_rows", [1, 6])
def test_extreme_logits_give_finite_losses_and_gradients(loss, rule, dtype, n_classes, n_rows):
    logits, target, features, counts = random_batch(n_rows, n_rows, n_classes)
    logits = (1e4 * logits.sign()).to(dtype).requires_grad_()
    rows = rows_of(Weighted(loss, rule), logits, target, features.to(dtype), counts)
    rows.mean().backward()
    assert rows.shape == (n_rows,)
    assert rows.dtype == dtype
    assert torch.isfinite(rows).all()
    assert (rows >= 0).all()
    assert torch.isfinite(logits.grad).all()


@every_loss
def test_logits_that_are_all_equal_and_features_of_zero(loss):
    logits = torch.zeros(4, 3, requires_grad=True)
    rows = rows_of(loss, logits, torch.tensor([0, 1, 2, 2]), torch.zeros(4, 2))
    rows.sum().backward()
    assert torch.isfinite(rows).all()
    assert torch.isfinite(logits.grad).all()


@every_loss
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64])
def test_the_dtype_of_the_logits_is_kept(loss, dtype):
    logits, target, features, counts = random_batch(5, 8, 3)
    exact = rows_of(loss, logits, target, features, counts)
    rows = rows_of(loss, logits.to(dtype), target, features.to(dtype), counts)
    assert rows.dtype == dtype
    tolerance = {torch.bfloat16: 0.2, torch.float32: 1e-5, torch.float64: 0}[dtype]
    assert torch.allclose(rows.double(), exact, rtol=tolerance, atol=tolerance)


# --- symmetries


@every_loss
@every_rule
@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 2**32), n_rows=st.integers(1, 12), n_classes=st.integers(2, 6), data=st.data())
def test_renaming_the_classes_changes_nothing(loss, rule, seed, n_rows, n_classes, data):
    logits, target, features, counts = random_batch(seed, n_rows, n_classes)
    new_name = torch.tensor(data.draw(st.permutations(range(n_classes))))
    old_name = new_name.argsort()
    weighted, moved_counts = Weighted(loss, rule), torch.tensor(counts)[old_name].tolist()
    rows = rows_of(weighted, logits, target, features, counts)
    renamed = rows_of(weighted, logits[:, old_name], new_name[target], features, moved_counts)
    assert torch.allclose(rows, renamed, rtol=1e-9, atol=1e-12)


@every_loss
@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 2**32), n_rows=st.integers(1, 12), data=st.data())
def test_the_order_of_the_rows_changes_nothing(loss, seed, n_rows, data):
    logits, target, features, counts = random_batch(seed, n_rows, 4)
    order = torch.tensor(data.draw(st.permutations(range(n_rows))))
    rows = rows_of(loss, logits, target, features, counts)
    moved = rows_of(loss, logits[order], target[order], features[order], counts)
    assert torch.allclose(rows[order], moved, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", sorted(ONE_OF_EACH.keys() - SEE_THE_BATCH))
def test_a_row_does_not_see_the_others(name):
    logits, target, features, counts = random_batch(8, 20, 4)
    rows = rows_of(ONE_OF_EACH[name], logits, target, features, counts)
    alone = [
        rows_of(ONE_OF_EACH[name], logits[[i]], target[[i]], features[[i]], counts).item() for i in range(len(logits))
    ]
    assert rows.tolist() == pytest.approx(alone)


# --- naive


@pytest.mark.parametrize(("present", "worst"), [((0, 2), 2), ((1, 3), 3), ((2, 3), 2), ((0, 3), 0)])
def test_naive_in_a_batch_that_lacks_classes_takes_the_class_and_not_its_position(present, worst):
    # rows of the worst class have odds 1 : 7 against them, those of the other 3 : 1 for them
    target = torch.tensor([present[0], present[1], present[1], present[0]])
    logits = torch.zeros(4, 4, dtype=torch.float64)
    for i, k in enumerate(target.tolist()):
        logits[i] = -100.0
        other = present[0] if k == present[1] else present[1]
        logits[i, k], logits[i, other] = (0.0, log(7)) if k == worst else (log(3), 0.0)
    rows = rows_of(Naive(), logits, target, counts=(9, 9, 9, 9))
    assert rows.tolist() == pytest.approx([2 * log(8) if k == worst else 0 for k in target.tolist()])


def test_naive_of_one_row_is_its_cross_entropy():
    assert rows_of(Naive(), LOGITS[[0]], TARGET[[0]]).item() == pytest.approx(log(8 / 5))


def test_naive_with_certain_rows_never_chooses_an_absent_class():
    logits = torch.tensor([[0.0, 0.0, 1e4], [0.0, 0.0, 1e4]])  # no loss, which is what an absent class has too
    assert rows_of(Naive(), logits, torch.tensor([2, 2])).tolist() == [0, 0]


@settings(deadline=None, max_examples=50)
@given(seed=st.integers(0, 2**32), n_rows=st.integers(1, 30), n_classes=st.integers(2, 8))
def test_the_mean_of_the_naive_rows_is_the_maximum(seed, n_rows, n_classes):
    logits, target, _, counts = random_batch(seed, n_rows, n_classes)
    losses = cross_entropy(logits, target, reduction="none")
    largest = max(losses[target == k].mean().item() for k in target.unique())
    assert rows_of(Naive(), logits, target, counts=counts).mean().item() == pytest.approx(largest)


# --- class DRO


def test_class_dro_moves_weight_to_the_worse_class_by_the_exact_factor():
    criterion = ClassDRO(step=2.0).bind(torch.tensor([81, 16, 1]))
    assert criterion.weights.tolist() == pytest.approx([1 / 3] * 3)
    # losses ln 2 for class 0 and ln 4 for class 1: factors 4 and 16, and 1 for the absent class 2
    logits = torch.tensor([[0, 0, -1e4], [log(3), 0, -1e4], [0, 0, -1e4]], dtype=torch.float64)
    target = torch.tensor([0, 1, 0])
    rows = criterion(logits, target)
    assert criterion.weights.tolist() == pytest.approx([4 / 21, 16 / 21, 1 / 21])
    # 3 rows, two of class 0: its rows have 3/2 of the weight of their class
    assert rows.tolist() == pytest.approx([3 / 2 * 4 / 21 * log(2), 3 * 16 / 21 * log(4), 3 / 2 * 4 / 21 * log(2)])
    assert rows.mean().item() == pytest.approx(4 / 21 * log(2) + 16 / 21 * log(4))
    criterion(logits, target)
    assert criterion.weights.tolist() == pytest.approx([16 / 273, 256 / 273, 1 / 273])


def test_every_binding_of_class_dro_has_its_own_weights():
    loss = ClassDRO(step=1.0)
    first, second = loss.bind(torch.tensor(COUNTS)), loss.bind(torch.tensor(COUNTS))
    first(LOGITS, TARGET)
    assert first.weights.tolist() == pytest.approx([60 / 109, 25 / 109, 24 / 109])
    assert second.weights.tolist() == pytest.approx([1 / 3] * 3)


def test_class_dro_loses_no_weight_to_underflow():
    criterion = ClassDRO(step=1.0).bind(torch.tensor([1, 1]))
    wrong = torch.tensor([[0.0, 1e4]])
    criterion(wrong, torch.tensor([0]))  # class 1 falls to exp(-10,000), which no float holds
    assert criterion.weights.tolist() == [1, 0]
    criterion(-wrong, torch.tensor([1]))
    assert criterion.weights.tolist() == pytest.approx([0.5, 0.5])


# --- influence balancing


def test_influence_balancing_starts_after_the_warm_up():
    criterion = InfluenceBalanced(alpha=1393.0, after=2).bind(torch.tensor(COUNTS))
    seen = [criterion(LOGITS, TARGET, FEATURES, number)[1].item() for number in (1, 2, 3)]
    assert seen == pytest.approx([log(4), log(4), log(4) * 16 / 6.001])


def test_influence_balancing_begins_the_passes_of_its_base():
    criterion = InfluenceBalanced(base=Weighted(CrossEntropy(), Deferred(InverseFrequency(), after=1)), after=9).bind(
        torch.tensor([3, 1])
    )
    row, target, features = torch.zeros(1, 2), torch.tensor([1]), torch.zeros(1, 2)
    seen = [criterion(row, target, features, number).item() for number in (1, 2)]
    assert seen == pytest.approx([log(2), 1.5 * log(2)])


@every_loss
def test_only_influence_balancing_needs_features(loss):
    assert loss.needs_features == isinstance(loss, InfluenceBalanced)
    if not loss.needs_features:
        assert loss.bind(torch.tensor(COUNTS))(LOGITS, TARGET).shape == (3,)


# --- trained with


@pytest.mark.parametrize("loss", [LDAM(), Weighted(LDAM(), Deferred(EffectiveNumber(), after=20))])
def test_ldam_trains_cosines(loss):
    torch.manual_seed(0)
    X = torch.cat([torch.randn(90, 2) + torch.tensor([2.0, 0.0]), torch.randn(10, 2) - torch.tensor([2.0, 0.0])])
    y = torch.tensor([0] * 90 + [1] * 10)
    weight = torch.randn(2, 2, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.05)
    criterion = loss.bind(torch.tensor([90, 10]))
    history = []
    for number in range(1, 41):
        cosines = normalize(X) @ normalize(weight).T
        history.append(criterion(cosines, y, epoch=number).mean())
        optimizer.zero_grad()
        history[-1].backward()
        optimizer.step()
    assert history[-1] < history[0] / 2
    assert (cosines.argmax(dim=1) == y).double().mean() > 0.9


# --- registry and options


def test_the_names():
    assert sorted(list_losses()) == [
        "class-dependent-temperatures",
        "class-dro",
        "cross-entropy",
        "focal",
        "influence-balanced",
        "ldam",
        "logit-adjustment",
        "naive",
        "vector-scaling",
    ]
    assert list(RULES_BY_NAME) == ["inverse-frequency", "effective-number"]


@pytest.mark.parametrize(
    ("name", "loss"),
    [
        ("cross-entropy", CrossEntropy()),
        ("focal", Focal(gamma=1.0)),
        ("influence-balanced", InfluenceBalanced(alpha=1000.0, base=CrossEntropy(), after=0, class_factor=True)),
        ("logit-adjustment", LogitAdjustment(tau=1.0)),
        ("class-dependent-temperatures", ClassDependentTemperatures(gamma=0.4)),
        ("vector-scaling", VectorScaling(gamma=0.15, tau=1.25)),
        ("ldam", LDAM(max_margin=0.5, scale=30.0)),
        ("naive", Naive()),
        ("class-dro", ClassDRO(step=0.01)),
    ],
)
def test_every_name_builds_its_loss_with_the_documented_defaults(name, loss):
    assert build_loss(name) == build_loss(name, weighting="none") == loss
    assert pickle.loads(pickle.dumps(loss)) == loss
    assert hash(loss) == hash(build_loss(name))


def test_the_default_of_effective_number():
    assert EffectiveNumber() == EffectiveNumber(beta=0.9999)


@pytest.mark.parametrize("name", list_losses())
@pytest.mark.parametrize(
    ("weighting", "rule"),
    [
        ("inverse-frequency", InverseFrequency()),
        ("effective-number", EffectiveNumber()),
        (Deferred(InverseFrequency(), 3), Deferred(InverseFrequency(), 3)),
    ],
)
def test_every_loss_can_be_weighted_by_name_or_rule(name, weighting, rule):
    assert build_loss(name, weighting=weighting) == Weighted(build_loss(name), rule)


def test_options_reach_the_loss():
    assert build_loss("influence-balanced", base=Focal(2.0), after=50) == InfluenceBalanced(base=Focal(2.0), after=50)


def test_unknown_loss_gets_a_suggestion():
    with pytest.raises(UnknownNameError, match=r"'loss' parameter.*Got 'focall' instead\. Did you mean 'focal'\?"):
        build_loss("focall")


def test_unknown_option_gets_a_suggestion():
    with pytest.raises(
        UnknownOptionError,
        match=r"The loss 'vector-scaling' has no option 'gama'.*\['gamma', 'tau'\]. Did you mean 'gamma'\?",
    ):
        build_loss("vector-scaling", gama=0.1)


def test_unknown_weighting_gets_a_suggestion():
    with pytest.raises(UnknownNameError, match=r"'weighting' parameter.*Did you mean 'inverse-frequency'\?"):
        build_loss("focal", weighting="inverse_frequency")


def test_a_weighting_that_is_neither_name_nor_rule_is_refused():
    with pytest.raises(ParameterError, match=r"'rule' parameter of Weighted must be a WeightingRule.*Got \[1.0"):
        build_loss("focal", weighting=[1.0, 2.0])


NOT_AT_LEAST_0 = [-0.1, math.nan, math.inf, "1", None, True]


@pytest.mark.parametrize(
    ("build", "option", "allowed", "refused"),
    [
        (Focal, "gamma", "a number of at least 0", NOT_AT_LEAST_0),
        (LogitAdjustment, "tau", "a number of at least 0", NOT_AT_LEAST_0),
        (ClassDependentTemperatures, "gamma", "a number of at least 0", NOT_AT_LEAST_0),
        (VectorScaling, "gamma", "a number of at least 0", NOT_AT_LEAST_0),
        (VectorScaling, "tau", "a number of at least 0", NOT_AT_LEAST_0),
        (LDAM, "max_margin", "a number of at least 0", NOT_AT_LEAST_0),
        (LDAM, "scale", "a positive number", [0, *NOT_AT_LEAST_0]),
        (ClassDRO, "step", "a number of at least 0", NOT_AT_LEAST_0),
        (InfluenceBalanced, "alpha", "a positive number", [0, *NOT_AT_LEAST_0]),
        (InfluenceBalanced, "base", "a Loss", ["focal", Focal, None]),
        (InfluenceBalanced, "after", "a whole number from 0 on", [-1, 1.0, True, None]),
        (InfluenceBalanced, "class_factor", "True or False", [None, 1, "no"]),
        (EffectiveNumber, "beta", r"a number in \[0, 1\)", [1, 1.5, *NOT_AT_LEAST_0]),
        (
            lambda **options: Deferred(**{"rule": InverseFrequency(), **options}, after=1),
            "rule",
            "a WeightingRule",
            [None],
        ),
        (lambda **options: Deferred(InverseFrequency(), **options), "after", "a whole number from 0 on", [-1, 0.5]),
        (lambda **options: Weighted(CrossEntropy(), **options), "rule", "a WeightingRule", ["none", None]),
        (lambda **options: Weighted(rule=InverseFrequency(), **options), "loss", "a Loss", ["focal", None]),
        (PlainLoss, "function", "a callable", [None, "focal"]),
    ],
)
def test_values_out_of_range_are_refused(build, option, allowed, refused):
    for value in refused:
        with pytest.raises(
            ParameterError, match=rf"The '{option}' parameter of \w+ must be {allowed}.* Got "
        ) as caught:
            build(**{option: value})
        assert f"Got {value!r} instead" in str(caught.value)


@pytest.mark.parametrize("name", sorted(set(list_losses()) - {"cross-entropy", "focal", "naive", "class-dro"}))
def test_a_class_without_rows_is_refused(name):
    with pytest.raises(DataError, match=r"at least one training row\. Got counts \[3, 0\]"):
        build_loss(name).bind(torch.tensor([3, 0]))


def test_a_loss_is_registered_in_its_own_file():
    @dataclass(frozen=True)
    class OfThisTest(CrossEntropy, name="of-this-test"):
        pass

    try:
        assert build_loss("of-this-test") == OfThisTest()
        assert "of-this-test" in list_losses()
    finally:
        del REGISTERED["of-this-test"]


def test_the_constants_of_this_file():
    assert torch.allclose(LOGITS.softmax(1)[torch.arange(3), TARGET], torch.tensor([5 / 8, 1 / 4, 3 / 5]).double())
