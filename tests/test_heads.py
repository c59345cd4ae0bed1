"""The last layer of a network: found, read, and replaced by one that answers cosines."""

from __future__ import annotations

import copy
from contextlib import nullcontext

import pytest
import torch
from torch import nn

from worstclass.exceptions import ModuleError
from worstclass.losses.influence_balanced import InfluenceBalanced
from worstclass.losses.logit_adjustment import LDAM
from worstclass.networks import build_network
from worstclass.networks.heads import CosineHead, find_head, head_inputs, with_cosine_head


def perceptron():
    return nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 3))


def convolution():
    return nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(16, 3), nn.Identity()
    )


class Nested(nn.Module):
    """The head is two levels down, and its width occurs before it as well."""

    def __init__(self):
        super().__init__()
        self.body = nn.ModuleDict({"first": nn.Linear(2, 3), "rest": nn.Sequential(nn.ReLU(), nn.Linear(3, 3))})

    def forward(self, x):
        return self.body["rest"](self.body["first"](x))


class Named(nn.Module):
    """The head is named so; a layer as wide as it was registered later."""

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(5, 3)
        self.body = nn.Linear(2, 5)
        self.auxiliary = nn.Linear(5, 3)

    def forward(self, x):
        return self.head(torch.tanh(self.body(x)))


class Misnamed(nn.Module):
    """What is named head is not wide enough."""

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(2, 5)
        self.tail = nn.Linear(5, 3)

    def forward(self, x):
        return self.tail(torch.relu(self.head(x)))


class Headless(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(2, 7)
        self.scale = nn.Bilinear(7, 7, 3)

    def forward(self, x):
        return self.scale(self.body(x), self.body(x))


class Twice(nn.Module):
    """The head is called for two views of a row."""

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(2, 3)

    def forward(self, x):
        return self.head(x) + self.head(-x)


class Unused(nn.Module):
    """The layer that looks like the head makes no logits."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3, 2))
        self.decoy = nn.Linear(2, 3)

    def forward(self, x):
        return x @ self.weight.T


class Aliased(nn.Module):
    """The head is registered under two names, in two places."""

    def __init__(self):
        super().__init__()
        self.body = nn.Linear(2, 4)
        self.first = nn.Linear(4, 3)
        self.group = nn.ModuleList([self.first])

    def forward(self, x):
        return self.group[0](self.body(x))


NETWORKS = {
    "perceptron": (perceptron, "2", (2,)),
    "mlp": (lambda: build_network("mlp", (2,), 3, hidden=(6, 5)), "4", (2,)),
    "convolution": (convolution, "4", (1, 6, 6)),
    "nested": (Nested, "body.rest.1", (2,)),
    "named": (Named, "head", (2,)),
    "misnamed": (Misnamed, "tail", (2,)),
    "aliased": (Aliased, "first", (2,)),
}
every_network = pytest.mark.parametrize(("build", "path", "shape"), NETWORKS.values(), ids=NETWORKS.keys())


# --- finding


@every_network
def test_the_head_is_found(build, path, shape):
    network = build()
    assert find_head(network, 3) is network.get_submodule(path)


def test_a_linear_layer_is_its_own_head():
    layer = nn.Linear(2, 3)
    assert find_head(layer, 3) is layer


@pytest.mark.parametrize("wrap", [nn.Sequential, lambda head: nn.ModuleDict({"head": head})])
def test_a_cosine_head_is_a_head(wrap):
    head = CosineHead(4, 3)
    assert find_head(wrap(head), 3) is head


def test_a_module_without_a_head_is_told_what_is_needed_and_what_was_found():
    with pytest.raises(
        ModuleError,
        match=r"last layer with 3 outputs.*nn\.Linear or a CosineHead\. Its layers of these kinds: "
        r"Linear with 7 outputs\..*attribute named 'head'",
    ):
        find_head(Headless(), 3)
    with pytest.raises(ModuleError, match=r"last layer with 4 outputs.*Linear with 8 outputs, Linear with 3 outputs\."):
        find_head(perceptron(), 4)
    with pytest.raises(ModuleError, match="Its layers of these kinds: none"):
        find_head(nn.Sequential(nn.Conv2d(1, 3, 1)), 3)


# --- reading


@every_network
def test_features_times_weights_are_the_logits(build, path, shape):
    torch.manual_seed(0)
    network, x = build(), torch.randn(5, *shape)
    with head_inputs(network, 3) as read_features:
        logits = network(x)
        features = read_features()
    head = network.get_submodule(path)
    assert features.shape == (5, head.in_features)
    assert torch.equal(nn.functional.linear(features, head.weight, head.bias), logits)


def test_features_by_hand():
    network = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 3))
    with torch.no_grad():
        network[0].weight.copy_(torch.tensor([[1.0, 2.0], [-1.0, 1.0]]))
        network[0].bias.copy_(torch.tensor([0.5, 0.0]))
    with head_inputs(network, 3) as read_features:
        network(torch.tensor([[3.0, 1.0], [-1.0, 4.0]]))
        # 3 + 2 + 1/2 and relu(-3 + 1); -1 + 8 + 1/2 and 1 + 4
        assert read_features().tolist() == [[5.5, 0.0], [7.5, 5.0]]


def test_features_are_those_of_the_last_call():
    network = nn.Sequential(nn.Identity(), nn.Linear(2, 3))
    with head_inputs(network, 3) as read_features:
        for value in (1.0, 2.0, 3.0):  # calls whose features nobody asks for are no harm
            network(torch.full((1, 2), value))
        assert read_features().tolist() == [[3.0, 3.0]]
        assert read_features().tolist() == [[3.0, 3.0]]
        network(torch.full((2, 2), 4.0))
        assert read_features().tolist() == [[4.0, 4.0], [4.0, 4.0]]


def test_features_are_flat():
    class PooledLater(nn.Module):
        def __init__(self):
            super().__init__()
            self.head = nn.Linear(2, 3)

        def forward(self, x):
            return self.head(input=x).mean(dim=1)  # by keyword

    network = PooledLater()
    x = torch.randn(4, 5, 2)
    with head_inputs(network, 3) as read_features:
        network(x)
        assert torch.equal(read_features(), x.reshape(4, 10))


def test_a_linear_layer_alone_reads_its_own_input():
    layer, x = nn.Linear(2, 3), torch.randn(4, 2)
    with head_inputs(layer, 3) as read_features:
        for _ in range(2):
            layer(x)
        assert torch.equal(read_features(), x)


@pytest.mark.parametrize(("build", "times"), [(Unused, 0), (Twice, 2)])
def test_a_head_not_used_exactly_once_is_an_error(build, times):
    network = build()
    with head_inputs(network, 3) as read_features:
        for _ in range(2):
            network(torch.randn(4, 2))
            with pytest.raises(ModuleError, match=rf"exactly once\. It used Linear\(.*\) {times} times\..*'head'"):
                read_features()


def test_features_before_any_call_are_an_error():
    with head_inputs(perceptron(), 3) as read_features, pytest.raises(ModuleError, match="0 times"):
        read_features()


@pytest.mark.parametrize("fails", [True, False])
def test_the_module_is_left_as_it_was(fails):
    network = perceptron()
    with pytest.raises(KeyError) if fails else nullcontext(), head_inputs(network, 3) as features:
        network(torch.randn(4, 2))
        assert features().shape == (4, 8)
        if fails:
            raise KeyError
    assert all(not part._forward_pre_hooks for part in network.modules())


def test_training_by_the_features_of_the_head():
    torch.manual_seed(0)
    network, X = perceptron(), torch.randn(60, 2)
    y = (X[:, 0] > 0).long() + (X[:, 1] > 1).long()
    criterion = InfluenceBalanced(alpha=1.0).bind(y.bincount(minlength=3))
    optimizer = torch.optim.Adam(network.parameters(), lr=0.02)
    accuracies = []
    with head_inputs(network, 3) as read_features:
        for _ in range(60):
            logits = network(X)
            features = read_features()
            assert features.requires_grad
            optimizer.zero_grad()
            criterion(logits, y, features).mean().backward()
            optimizer.step()
            right = (logits.argmax(dim=1) == y).double()
            accuracies.append(sum(right[y == k].mean().item() for k in range(3)) / 3)
    assert accuracies[0] < 0.5
    assert accuracies[-1] > 0.8


# --- cosines


def test_cosines_by_hand():
    head = CosineHead(2, 3)
    with torch.no_grad():
        head.weight.copy_(torch.tensor([[2.0, 0.0], [0.0, 7.0], [-3.0, -4.0]]))
    # (3, 4) has length 5: 3/5, 4/5, and (-9 - 16) / 25
    assert head(torch.tensor([[3.0, 4.0], [0.0, -2.0]])).flatten().tolist() == pytest.approx([0.6, 0.8, -1, 0, -1, 0.8])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("length", [1e-5, 1.0, 1e15])
def test_cosines_are_bounded_whatever_the_lengths(dtype, length):
    torch.manual_seed(0)
    head = CosineHead(16, 5).to(dtype)
    features = (length * torch.randn(100, 16)).to(dtype)
    features[0] = length * head.weight[2].detach()
    cosines = head(features)
    assert cosines.dtype == dtype
    assert cosines.abs().max() <= 1 + 1e-6
    assert cosines[0, 2].item() == pytest.approx(1, abs=1e-6)


def test_fresh_weights_have_length_1_and_differ():
    torch.manual_seed(0)
    head = CosineHead(16, 5)
    assert head.weight.norm(dim=1).tolist() == pytest.approx([1] * 5)
    assert not torch.allclose(head.weight, CosineHead(16, 5).weight)


def test_gradients_of_cosines():
    torch.manual_seed(0)
    head = CosineHead(3, 2).to(torch.float64)
    features = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(
        lambda x, w: torch.func.functional_call(head, {"weight": w}, (x,)), (features, head.weight)
    )


def test_features_of_zero_have_no_cosine_and_no_pull():
    head = CosineHead(3, 2)
    features = torch.tensor([[0.0, 0.0, 0.0], [1.0, 2.0, 2.0]], requires_grad=True)
    cosines = head(features)
    LDAM().bind(torch.tensor([9, 1]))(cosines, torch.tensor([0, 1])).sum().backward()
    assert cosines[0].tolist() == [0, 0]
    assert features.grad[0].tolist() == [0, 0, 0]
    assert features.grad[1].abs().sum() > 0
    assert torch.isfinite(head.weight.grad).all()


def test_a_weight_of_zero_is_finite():
    head = CosineHead(3, 2)
    nn.init.zeros_(head.weight)
    head(torch.ones(1, 3)).sum().backward()
    assert torch.isfinite(head.weight.grad).all()


# --- replacing


@every_network
def test_the_head_is_replaced_where_it_sits(build, path, shape):
    torch.manual_seed(0)
    network = build()
    before = copy.deepcopy(network)
    old = network.get_submodule(path)
    assert with_cosine_head(network, 3) is network
    new = network.get_submodule(path)
    assert isinstance(new, CosineHead)
    assert (new.in_features, new.out_features) == (old.in_features, 3)
    assert all(part is not old for part in network.modules())
    assert find_head(network, 3) is new
    # everything else is as it was, in its order
    kinds = [type(part) for part in before.modules()]
    assert [nn.Linear if type(part) is CosineHead else type(part) for part in network.modules()] == kinds
    for name, value in network.state_dict(keep_vars=True).items():
        assert value is new.weight or torch.equal(value, before.state_dict()[name])

    x = torch.randn(5, *shape)
    with head_inputs(network, 3) as read_features:
        cosines = network(x)
        wanted = nn.functional.cosine_similarity(read_features()[:, None], new.weight[None], dim=2)
    assert torch.allclose(cosines, wanted, atol=1e-6)
    cosines.sum().backward()
    assert new.weight.grad is not None


def test_a_module_that_is_only_a_head_gives_a_new_one():
    head = with_cosine_head(nn.Linear(4, 3), 3)
    assert isinstance(head, CosineHead)
    assert head.in_features == 4


def test_the_new_head_has_dtype_and_mode_of_the_old():
    network = with_cosine_head(perceptron().double().eval(), 3)
    assert network[2].weight.dtype == torch.float64
    assert not network[2].training


def test_replacing_draws_fresh_weights_from_the_global_generator():
    torch.manual_seed(1)
    first = with_cosine_head(perceptron(), 3)[2].weight
    second = with_cosine_head(perceptron(), 3)[2].weight
    torch.manual_seed(1)
    again = with_cosine_head(perceptron(), 3)[2].weight
    assert torch.equal(first, again)
    assert not torch.equal(first, second)


def test_a_module_without_a_head_cannot_have_a_cosine_head():
    with pytest.raises(ModuleError, match="last layer with 3 outputs"):
        with_cosine_head(Headless(), 3)


def test_a_cosine_head_is_saved_and_loaded_like_any_layer():
    one, other = with_cosine_head(perceptron(), 3), with_cosine_head(perceptron(), 3)
    other.load_state_dict(one.state_dict())
    x = torch.randn(4, 2)
    assert torch.equal(one(x), other(x))
