"""Augmentation: crops, flips and squares worked by hand, exact in every type and memory format."""

from __future__ import annotations

import dataclasses
import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import pad

from worstclass.data.augmentation import AUGMENTATIONS, Augmentation, build_augmentation
from worstclass.exceptions import ParameterError, UnknownNameError

EVERY = [Augmentation(padding=4), Augmentation(flip=0.5), Augmentation(), Augmentation(padding=2, flip=0.9)]
every_augmentation = pytest.mark.parametrize("augment", EVERY, ids=str)
FORMATS = [torch.contiguous_format, torch.channels_last]
every_format = pytest.mark.parametrize("memory_format", FORMATS, ids=str)
DTYPES = [torch.uint8, torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64]
every_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=str)


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def images(n=6, channels=3, height=8, width=8, dtype=torch.uint8, memory_format=torch.contiguous_format):
    values = torch.randint(1, 256, (n, channels, height, width), generator=seeded(7))
    return values.to(dtype).contiguous(memory_format=memory_format)


def windows(image, padding):
    """All windows of the padded image, by slices, keyed by their corner."""
    _, height, width = image.shape
    padded = pad(image, (padding,) * 4)
    corners = itertools.product(range(2 * padding + 1), repeat=2)
    return {(y, x): padded[:, y : y + height, x : x + width] for y, x in corners}


def corners_of_crops(crops, padding):
    """The corner of each crop of an image whose pixels hold 1 + their number in reading order, by its first one."""
    corners = []
    for crop in crops[:, 0]:
        row, column = crop.nonzero()[0].tolist()
        source_row, source_column = divmod(int(crop[row, column]) - 1, crop.shape[1])
        corners.append((source_row - row + padding, source_column - column + padding))
    return corners


@every_format
def test_a_crop_is_one_of_the_nine_windows_worked_by_hand(memory_format):
    image = torch.tensor([[[1, 2], [3, 4]]], dtype=torch.uint8)
    by_hand = [
        [[0, 0], [0, 1]], [[0, 0], [1, 2]], [[0, 0], [2, 0]],
        [[0, 1], [0, 3]], [[1, 2], [3, 4]], [[2, 0], [4, 0]],
        [[0, 3], [0, 0]], [[3, 4], [0, 0]], [[4, 0], [0, 0]],
    ]  # fmt: skip
    batch = image.expand(200, 1, 2, 2).contiguous(memory_format=memory_format)
    crops = Augmentation(padding=1)(batch, seeded())[:, 0].tolist()
    assert all(crop in by_hand for crop in crops)
    assert all(window in crops for window in by_hand)


@every_format
def test_all_81_offsets_are_reached_and_equal_padding_and_slicing(memory_format):
    n, height, width = 3000, 5, 6
    pixels = torch.arange(1, height * width + 1, dtype=torch.uint8).view(height, width)
    image = torch.stack([pixels, pixels + 100])
    batch = image.expand(n, 2, height, width).contiguous(memory_format=memory_format)
    crops = Augmentation(padding=4)(batch, seeded())
    expected = windows(image, 4)
    corners = corners_of_crops(crops, 4)
    assert set(corners) == set(expected)
    for crop, corner in zip(crops, corners, strict=True):
        assert torch.equal(crop, expected[corner])
    least_likely = min(corners.count(corner) for corner in expected)
    most_likely = max(corners.count(corner) for corner in expected)
    assert 10 <= least_likely <= 3000 / 81 <= most_likely <= 75  # six deviations around 37


def test_each_image_of_a_batch_has_an_offset_of_its_own():
    batch = images(n=1, height=6, width=6).expand(64, 3, 6, 6)
    crops = Augmentation(2)(batch, seeded())
    assert len({tuple(crop.flatten().tolist()) for crop in crops}) > 15


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(1, 5),
    channels=st.integers(1, 4),
    height=st.integers(1, 7),
    width=st.integers(1, 7),
    padding=st.integers(0, 9),
    seed=st.integers(0, 2**32 - 1),
    memory_format=st.sampled_from(FORMATS),
    dtype=st.sampled_from([torch.uint8, torch.float32]),
)
def test_a_crop_is_a_window_of_the_padded_image(n, channels, height, width, padding, seed, memory_format, dtype):
    batch = images(n, channels, height, width, dtype, memory_format)
    crops = Augmentation(padding)(batch, seeded(seed))
    for image, crop in zip(batch, crops, strict=True):
        fitting = [window for window in windows(image, padding).values() if torch.equal(window, crop)]
        assert fitting
        assert sorted(crop.flatten().tolist()) == sorted(fitting[0].flatten().tolist())


def test_no_padding_leaves_the_images_as_they_are():
    batch = images()
    assert torch.equal(Augmentation(padding=0)(batch, seeded()), batch)


def test_flips_worked_by_hand():
    image = torch.tensor([[[[1, 2, 3], [4, 5, 6]]]], dtype=torch.uint8)
    assert Augmentation(flip=1)(image, seeded()).tolist() == [[[[3, 2, 1], [6, 5, 4]]]]


@every_format
def test_flips_mirror_none_all_or_about_half_of_the_images(memory_format):
    batch = images(n=400, height=4, width=5, memory_format=memory_format)
    assert torch.equal(Augmentation(flip=0)(batch, seeded()), batch)
    assert torch.equal(Augmentation(flip=1)(batch, seeded()), batch.flip(3))
    changed = Augmentation(flip=0.5)(batch, seeded())
    mirrored = (changed == batch.flip(3)).flatten(1).all(1)
    assert torch.equal(changed[mirrored], batch.flip(3)[mirrored])
    assert torch.equal(changed[~mirrored], batch[~mirrored])
    assert 140 <= int(mirrored.sum()) <= 260  # six deviations around 200


def test_a_shift_comes_before_a_flip():
    batch = images()
    generator = seeded()
    by_hand = Augmentation(flip=0.5)(Augmentation(padding=4)(batch, generator), generator)
    assert torch.equal(build_augmentation("crop-flip")(batch, seeded()), by_hand)
    assert Augmentation()(batch, seeded()) is batch


@every_augmentation
@every_dtype
@every_format
def test_type_and_memory_format_are_kept_and_the_input_unchanged(augment, dtype, memory_format):
    batch = images(height=9, width=7, dtype=dtype, memory_format=memory_format)
    before = batch.clone()
    changed = augment(batch, seeded())
    assert changed.dtype == dtype
    assert changed.shape == batch.shape
    assert changed.stride() == batch.stride()
    assert torch.equal(batch, before)
    if augment != Augmentation():
        assert changed.data_ptr() != batch.data_ptr()


@every_augmentation
@pytest.mark.parametrize("shape", [(1, 3, 8, 8), (5, 1, 8, 8), (1, 1, 9, 4), (4, 3, 5, 12), (0, 3, 8, 8)], ids=str)
@every_format
def test_one_image_one_channel_no_images_and_images_that_are_not_square(augment, shape, memory_format):
    batch = images(*shape, memory_format=memory_format)
    changed = augment(batch, seeded())
    assert changed.shape == batch.shape
    assert changed.is_contiguous(memory_format=memory_format)
    by_itself = augment(batch.contiguous(), seeded())
    assert torch.equal(changed, by_itself)


@every_augmentation
def test_the_changes_depend_neither_on_the_type_nor_on_the_memory_format(augment):
    batch = images(height=9, width=7)
    expected = augment(batch, seeded())
    for dtype, memory_format in itertools.product(DTYPES, FORMATS):
        other = augment(batch.to(dtype).contiguous(memory_format=memory_format), seeded())
        assert torch.equal(other, expected.to(dtype))


@every_augmentation
def test_views_that_are_not_dense_are_read_right(augment):
    wide = images(n=8, channels=4, height=10, width=20)
    view = wide[::2, 1:, 1:9, ::2]
    expected = augment(view.contiguous(), seeded())
    assert torch.equal(augment(view, seeded()), expected)
    thin = wide.contiguous(memory_format=torch.channels_last)[::2, 1:, 1:9, ::2]
    changed = augment(thin, seeded())
    assert torch.equal(changed, expected)
    assert changed.stride(1) == 1


@every_augmentation
def test_the_generator_decides_and_the_global_one_plays_no_part(augment):
    batch = images(n=32)
    torch.manual_seed(1)
    state = torch.get_rng_state()
    first = augment(batch, seeded(5))
    assert torch.equal(torch.get_rng_state(), state)
    torch.manual_seed(2)
    assert torch.equal(augment(batch, seeded(5)), first)


@pytest.mark.parametrize("augment", [augment for augment in EVERY if augment != Augmentation()], ids=str)
def test_the_generator_goes_on_from_batch_to_batch(augment):
    batch, generator = images(n=32), seeded()
    first, second = augment(batch, generator), augment(batch, generator)
    assert not torch.equal(first, second)
    assert not torch.equal(first, augment(batch, seeded(1)))


def test_names():
    assert list(AUGMENTATIONS) == ["none", "flip", "crop", "crop-flip"]
    assert build_augmentation("none") == Augmentation()
    assert build_augmentation("flip") == Augmentation(flip=0.5)
    assert build_augmentation("crop") == Augmentation(padding=4)
    assert build_augmentation("crop-flip") == Augmentation(padding=4, flip=0.5)


def test_unknown_names_get_a_suggestion():
    with pytest.raises(UnknownNameError, match=r"'augmentation' parameter .* Did you mean 'crop-flip'\?"):
        build_augmentation("cropflip")


def test_augmentations_are_frozen_and_compare_by_value():
    crop = Augmentation(2)
    with pytest.raises(dataclasses.FrozenInstanceError):
        crop.padding = 3
    assert crop == Augmentation(padding=2, flip=0.0)
    assert hash(crop) == hash(Augmentation(padding=2, flip=0.0))


@pytest.mark.parametrize(
    ("build", "parameter"),
    [
        (lambda: Augmentation(-1), "padding"),
        (lambda: Augmentation(1.5), "padding"),
        (lambda: Augmentation(True), "padding"),
        (lambda: Augmentation(flip=1.5), "flip"),
        (lambda: Augmentation(flip=float("nan")), "flip"),
        (lambda: Augmentation(flip="half"), "flip"),
    ],
)
def test_options_that_make_no_sense_are_refused(build, parameter):
    with pytest.raises(ParameterError, match=rf"'{parameter}' parameter of \w+ must be"):
        build()


@every_augmentation
def test_batches_that_are_not_images_are_refused(augment):
    with pytest.raises(ParameterError, match=r"must be images of shape \(n, C, H, W\)\. Got \(5, 2\)"):
        augment(torch.zeros(5, 2), seeded())
