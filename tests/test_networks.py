"""Networks by name: their parameters counted by hand, and what every one of them must do."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch import nn

from worstclass.exceptions import ParameterError, UnknownNameError, UnknownOptionError
from worstclass.networks import build_network, list_networks
from worstclass.networks.heads import find_head, head_inputs, with_cosine_head
from worstclass.networks.resnets import BasicBlock, ZeroPaddedShortcut, projection_shortcut

OF_IMAGES = [name for name in list_networks() if name != "mlp"]
RESIDUAL = [name for name in OF_IMAGES if name.startswith("resnet")]
every_network = pytest.mark.parametrize("name", OF_IMAGES)
NORM = 2  # parameters of batch normalisation for each channel


def build(name, input_shape=(3, 32, 32), n_classes=10, seed=0, **options):
    torch.manual_seed(seed)
    return build_network(name, input_shape, n_classes, **options)


def pictures(n=4, channels=3, height=16, width=16, seed=1):
    return torch.rand(n, channels, height, width, generator=torch.Generator().manual_seed(seed))


def train(network, images, target, n_steps):
    optimizer = torch.optim.Adam(network.parameters(), lr=0.003)
    losses = []
    network.train()
    for _ in range(n_steps):
        loss = nn.functional.cross_entropy(network(images), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def size(network):
    return sum(weights.numel() for weights in network.parameters())


def conv(channels_in, channels_out, side=3):
    """Parameters of a convolution without bias, and of the normalisation after it."""
    return channels_in * channels_out * side * side + NORM * channels_out


def stages(widths, n_blocks, *, projection):
    """Parameters of all stages, block by block."""
    total, channels = 0, widths[0]
    for width in widths:
        for _ in range(n_blocks):
            total += conv(channels, width) + conv(width, width)
            total += conv(channels, width, side=1) if projection and channels != width else 0
            channels = width
    return total


def by_hand(name, channels, n_classes):
    if name == "cnn-small":  # 32 x 32 pixels, of which 4 x 4 positions are left
        return (9 * channels + 1) * 16 + (9 * 16 + 1) * 32 + (9 * 32 + 1) * 64 + (64 * 4 * 4 + 1) * n_classes
    if name == "cnn-medium":  # each of four normalisations has two numbers for a channel; 2 x 2 quarters are left
        return conv(channels, 32) + conv(32, 64) + conv(64, 128) + conv(128, 128) + (128 * 4 + 1) * n_classes
    if name == "resnet18":
        wide = stages((64, 128, 256, 512), 2, projection=True)
        return conv(channels, 64) + wide + (512 + 1) * n_classes
    n_blocks, projection = {"resnet8": (1, False), "resnet32": (5, False), "resnet18-small": (2, True)}[name]
    return conv(channels, 16) + stages((16, 32, 64), n_blocks, projection=projection) + (64 + 1) * n_classes


@every_network
@pytest.mark.parametrize(("channels", "n_classes"), [(3, 10), (1, 8), (3, 100)])
def test_parameters_are_as_many_as_counted_by_hand(name, channels, n_classes):
    assert size(build(name, (channels, 32, 32), n_classes)) == by_hand(name, channels, n_classes)


@pytest.mark.parametrize(
    ("name", "channels", "n_classes", "expected"),
    [
        # 464 stem + 23,360 + 88,192 + 351,488 stages + 650 head; He et al. give 0.46 M
        ("resnet32", 3, 10, 464_154),
        ("resnet8", 3, 10, 75_290),
        # 1,792 stem + 147,968 + 525,568 + 2,099,712 + 8,393,728 stages + 5,130 head
        ("resnet18", 3, 10, 11_173_962),
        # 464 stem + 9,344 + 33,088 + 131,712 stages + 650 head
        ("resnet18-small", 3, 10, 175_258),
        ("resnet18-small", 1, 8, 174_840),
        ("cnn-small", 3, 10, 33_834),
        # 928 + 18,560 + 73,984 + 147,712 stages + 5,130 head
        ("cnn-medium", 3, 10, 246_314),
    ],
)
def test_parameters_are_as_many_as_documented(name, channels, n_classes, expected):
    assert by_hand(name, channels, n_classes) == expected
    assert size(build(name, (channels, 32, 32), n_classes)) == expected


def test_the_width_of_the_small_cnn():
    first, second, third = (layer for layer in build("cnn-small", width=5) if isinstance(layer, nn.Conv2d))
    assert (first.out_channels, second.out_channels, third.out_channels) == (5, 10, 20)


@every_network
@pytest.mark.parametrize(
    "shape", [(1, 28, 28), (3, 28, 28), (1, 32, 32), (3, 32, 32), (3, 64, 64), (2, 8, 8), (4, 9, 21)], ids=str
)
def test_logits_for_images_of_many_sizes(name, shape):
    network = build(name, shape, n_classes=7).eval()
    with torch.inference_mode():
        logits = network(pictures(2, *shape))
    assert logits.shape == (2, 7)
    assert logits.isfinite().all()


@pytest.mark.parametrize("name", RESIDUAL)
def test_stages_halve_the_image(name):
    network, sides = build(name, (3, 32, 32)).eval(), []
    with torch.inference_mode():
        images = network.stem(pictures(1, height=32, width=32))
        for stage in (part for key, part in network.named_children() if key.startswith("stage")):
            images = stage(images)
            sides.append(images.shape[-1])
    assert sides == [32, 16, 8, 4][: len(sides)]
    assert len(sides) == (4 if name == "resnet18" else 3)


def test_option_a_takes_every_second_pixel_and_pads_channels_with_zeros():
    images = torch.randn(2, 3, 5, 6)
    expected = torch.zeros(2, 8, 3, 3)
    for row, column in itertools.product((0, 2, 4), (0, 2, 4)):
        expected[:, :3, row // 2, column // 2] = images[:, :, row, column]
    shortcut = ZeroPaddedShortcut(3, 8, stride=2)
    assert torch.equal(shortcut(images), expected)
    assert size(shortcut) == 0
    last = shortcut(images.contiguous(memory_format=torch.channels_last))
    assert torch.equal(last, expected)
    assert last.is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize("shortcut", [ZeroPaddedShortcut, projection_shortcut])
def test_a_block_is_the_relu_of_body_plus_shortcut(shortcut):
    block = BasicBlock(4, 6, 2, shortcut).eval()
    images = torch.randn(2, 4, 8, 8)
    around, through = block.shortcut(images), block.body(images)
    assert torch.equal(block(images), (around + through).clamp_min(0))
    nn.init.zeros_(block.body[-1].weight)
    assert torch.equal(block(images), around.clamp_min(0))


def test_only_blocks_that_change_the_shape_have_a_shortcut_of_their_own():
    kinds = [type(part.shortcut) for part in build("resnet32").modules() if isinstance(part, BasicBlock)]
    assert len(kinds) == 15
    assert [place for place, kind in enumerate(kinds) if kind is ZeroPaddedShortcut] == [5, 10]
    assert kinds.count(nn.Identity) == 13


@every_network
def test_convolutions_start_as_he_et_al_say(name):
    for layer in build(name, n_classes=10, seed=3).modules():
        if not isinstance(layer, nn.Conv2d):
            continue
        fan_in = layer.in_channels * layer.kernel_size[0] * layer.kernel_size[1]
        spread = (layer.weight.square().mean() * fan_in / 2).item()
        assert spread == pytest.approx(1, abs=6 * (2 / layer.weight.numel()) ** 0.5)  # six deviations of a variance
        assert layer.bias is None or not layer.bias.any()


@every_network
def test_the_same_seed_gives_the_same_network_and_another_one_another(name):
    first, again, other = (build(name, seed=seed).state_dict() for seed in (0, 0, 1))
    assert all(torch.equal(first[key], again[key]) for key in first)
    assert any(not torch.equal(first[key], other[key]) for key in first)


@every_network
def test_training_is_deterministic(name):
    def trained():
        network = build(name, (3, 8, 8), n_classes=3)
        train(network, pictures(6, height=8, width=8), torch.tensor([0, 1, 2, 0, 1, 2]), n_steps=2)
        return network.state_dict()

    first, again = trained(), trained()
    assert all(torch.equal(first[key], again[key]) for key in first)


@every_network
def test_every_parameter_gets_a_gradient(name):
    network = build(name, n_classes=3).train()
    network(pictures(height=32, width=32)).square().sum().backward()
    for key, weights in network.named_parameters():
        assert weights.grad is not None, key
        assert weights.grad.isfinite().all(), key
        assert weights.grad.any(), key


@every_network
@pytest.mark.parametrize("memory_format", [torch.contiguous_format, torch.channels_last], ids=str)
def test_a_few_steps_learn_a_few_images_by_heart(name, memory_format):
    network = build(name, (1, 12, 12), n_classes=4).to(memory_format=memory_format)
    images = pictures(8, channels=1, height=12, width=12).contiguous(memory_format=memory_format)
    losses = train(network, images, torch.arange(8) % 4, n_steps=12)
    assert losses[-1] < 0.7 * losses[0]


@every_network
def test_a_state_goes_into_another_network_of_the_name(name):
    one, other = build(name, seed=0).eval(), build(name, seed=1).eval()
    images = pictures(2, height=32, width=32)
    with torch.inference_mode():
        assert not torch.equal(one(images), other(images))
        other.load_state_dict(one.state_dict())
        assert torch.equal(one(images), other(images))


@every_network
@pytest.mark.parametrize("training", [False, True], ids=["evaluation", "training"])
def test_channels_last_gives_the_same_logits_up_to_rounding(name, training):
    images = pictures(4, height=32, width=32)
    with torch.no_grad():
        expected = build(name).train(training)(images)
        network = build(name).train(training).to(memory_format=torch.channels_last)
        logits = network(images.contiguous(memory_format=torch.channels_last))
    torch.testing.assert_close(logits, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", RESIDUAL)
def test_channels_stay_last_to_the_end_of_the_stages(name):
    network = build(name).eval().to(memory_format=torch.channels_last)
    images = pictures(2, height=32, width=32).contiguous(memory_format=torch.channels_last)
    with torch.no_grad():
        for key, part in network.named_children():
            if key == "pool":
                break
            images = part(images)
            assert images.is_contiguous(memory_format=torch.channels_last), key


@every_network
def test_evaluation_mode_answers_row_by_row(name):
    network = build(name, (3, 16, 16)).eval()
    images = pictures(5)
    with torch.inference_mode():
        together, alone = network(images), torch.cat([network(image[None]) for image in images])
    torch.testing.assert_close(together, alone, rtol=1e-3, atol=1e-4)


def test_the_small_cnn_answers_alike_in_both_modes():
    network, images = build("cnn-small", (3, 16, 16)), pictures()
    assert torch.equal(network.train()(images), network.eval()(images))


@every_network
def test_the_head_is_found_read_and_replaced(name):
    network, images = build(name, (3, 16, 16), n_classes=5).eval(), pictures()
    head = find_head(network, 5)
    assert isinstance(head, nn.Linear)
    with head_inputs(network, 5) as read_features, torch.no_grad():
        logits = network(images)
        torch.testing.assert_close(head(read_features()), logits)
    if name in RESIDUAL:
        assert head is network.head
    assert with_cosine_head(network, 5)(images).abs().max() <= 1 + 1e-5


@every_network
@pytest.mark.parametrize(
    ("shape", "hint"),
    [
        ((32,), "For a table use the network 'mlp'."),
        ((28, 28), r"X\[:, None\] adds the channel"),
        ((32, 32, 3), r"Channels come first: X.transpose\(0, 3, 1, 2\)"),
        ((3, 7, 32), "Enlarge smaller images"),
        ((0, 32, 32), "at least one channel"),
        ((3, 4, 32, 32), "It takes images"),
    ],
    ids=str,
)
def test_rows_that_are_not_images_or_too_small_are_refused(name, shape, hint):
    with pytest.raises(ParameterError, match=hint) as error:
        build(name, shape)
    text = str(error.value)
    assert f"must be a network that takes rows of shape {shape}. Got '{name}' instead. It takes images" in text
    assert "at least one channel and 8 pixels per side" in text


@pytest.mark.parametrize("width", [0, -4, 2.5, True, "16"])
def test_a_width_that_makes_no_sense_is_refused(width):
    with pytest.raises(ParameterError, match="'width' parameter of the network 'cnn-small' must be a positive whole"):
        build("cnn-small", width=width)


def test_an_unknown_option_gets_a_suggestion():
    with pytest.raises(UnknownOptionError, match=r"The network 'cnn-small' has no option 'widht'.*mean 'width'\?"):
        build("cnn-small", widht=8)
    with pytest.raises(UnknownOptionError, match="The network 'resnet32' has no option 'width'"):
        build("resnet32", width=8)


def test_an_unknown_network_gets_a_suggestion():
    with pytest.raises(UnknownNameError, match=r"Did you mean 'resnet32'\?"):
        build("resnet-32")
