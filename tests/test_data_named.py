"""Named data sets, loaded from tiny files in the official formats and layouts; what is missing."""

from __future__ import annotations

import gzip
import hashlib
import os
import pickle
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from official_files import (
    MNIST_PREFIXES,
    cifar_batch,
    idx_bytes,
    tar_gz,
    write_cifar10,
    write_cifar100,
    write_idx_set,
    write_medmnist,
    write_tiny_imagenet,
    zip_of,
)

from worstclass.data.named import medmnist, mnist
from worstclass.data.registry import DATASETS, load_dataset, named_dataset
from worstclass.exceptions import DatasetError, ParameterError, UnknownNameError, UnknownOptionError

SIZES = {"train": 100, "test": 30}
MEDMNIST = [sheet.name for sheet in medmnist.SHEETS]


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    """Keep the default data root inside the test's folder."""
    monkeypatch.setenv("WORSTCLASS_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


def parts_of(splits):
    parts = {name: getattr(splits, name) for name in ("train", "val", "cal", "test")}
    return {name: part for name, part in parts.items() if part is not None}


def row_ids(*arrays) -> list[bytes]:
    return [row.tobytes() for array in arrays for row in np.asarray(array)]


# --- the facts


def test_every_name_of_the_design_is_there():
    names = """artificial-balanced artificial-imbalanced cifar10 cifar100 imbalanced-cifar10 imbalanced-cifar100
    tiny-imagenet emnist tissuemnist pathmnist dermamnist octmnist pneumoniamnist retinamnist breastmnist bloodmnist
    organamnist organcmnist organsmnist fashion-mnist mnist digits wine iris breast-cancer"""
    assert set(names.split()) == set(DATASETS)


VARIANTS = [
    *((name, {}) for name in DATASETS),
    *((name, {"size": size}) for name in MEDMNIST for size in (64, 128, 224)),
    *(("emnist", {"split": split}) for split in ("bymerge", "balanced", "letters", "digits", "mnist")),
]


@pytest.mark.parametrize(("name", "variant"), VARIANTS, ids=lambda value: str(value))
def test_fact_sheets_agree_with_themselves(name, variant):
    sheet = named_dataset(name, **variant)
    assert sheet.name == name
    assert len(sheet.class_names) == (sheet.n_classes if name != "tiny-imagenet" else 0)
    assert len(set(sheet.class_names)) == len(sheet.class_names)
    in_test = sheet.rows["test"]
    if name.startswith("imbalanced"):
        assert sum(sheet.rows.values()) < sum(sheet.counts.values())
    else:
        assert sum(sheet.rows.values()) == sum(sheet.counts.values())
        assert in_test == sheet.counts.get("test", in_test)
    sums = [*sheet.files.values(), *(file.md5 for file in sheet.downloads)]
    assert all(re.fullmatch("[0-9a-f]{32}", known) for known in sums if known is not None)
    assert sheet.built_in == (not sheet.downloads)
    assert (sheet.read is None) == (sheet.draw is not None) == name.startswith("artificial")
    assert all(address.startswith("http") for file in sheet.downloads for address in file.addresses)
    assert sheet.citation


def test_no_checksum_is_given_twice():
    sheets = [named_dataset(name, **variant) for name, variant in VARIANTS if not name.startswith("imbalanced")]
    known = [md5 for sheet in sheets for md5 in sheet.files.values() if md5]
    assert len(known) == len(set(known)) == 4 + 4 + 6 + 2 + 11 * 4


def test_documentation_lists_every_set_with_its_rows():
    lines = (Path(__file__).parents[1] / "docs" / "data.md").read_text().splitlines()
    for name, sheet in DATASETS.items():
        rows = " / ".join(f"{sheet.rows[part]:,}" if part in sheet.rows else "-" for part in ("train", "val", "test"))
        (line,) = [line for line in lines if line.startswith(f"| {name} |")]
        assert line.startswith(f"| {name} | {sheet.n_classes} | {rows} |")
        assert not sheet.licence or sheet.licence in line


def test_settings_are_those_of_the_paper():
    booster = {name: sheet.settings.get("booster") for name, sheet in DATASETS.items()}
    # theta: that of the row of the sensitivity tables whose errors are the main tables' own
    assert booster["cifar10"] == {"theta": 0.9, "gamma": 0.2995}
    assert booster["cifar100"] == {"theta": 0.4, "gamma": 0.2995}
    assert booster["tiny-imagenet"] == {"theta": 0.5, "gamma": 0.2995}
    assert booster["imbalanced-cifar10"] == {"theta": 0.9, "gamma": 0.2995}
    assert booster["emnist"] == {"theta": 0.4, "gamma": 0.2898}
    assert booster["tissuemnist"] == {"theta": 0.5, "gamma": 0.2495}
    learner = {name: sheet.settings.get("learner") for name, sheet in DATASETS.items()}
    cifar = {"module": "resnet32", "batch_size": 512, "augment": "crop-flip"}
    assert learner["cifar10"] == learner["cifar100"] == cifar
    assert learner["emnist"] == {"module": "resnet18", "batch_size": 512}
    assert learner["tissuemnist"] == {"module": "resnet18-small", "batch_size": 512}
    assert learner["tiny-imagenet"] == {"module": "resnet18", "batch_size": 128}
    assert learner["iris"] is None


# --- idx sets


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("mnist", "mnist"),
        ("mnist", ""),
        ("mnist", "MNIST/raw"),
        ("mnist", "mnist/MNIST/raw"),
        ("fashion-mnist", "fashion-mnist"),
        ("fashion-mnist", "FashionMNIST/raw"),
    ],
)
@pytest.mark.parametrize("zipped", [True, False])
def test_mnist_is_found_in_every_layout(root, name, place, zipped):
    written = write_idx_set(root / place, MNIST_PREFIXES, SIZES, zipped=zipped)
    splits = load_dataset(name, root)
    assert {part: len(rows) for part, rows in parts_of(splits).items()} == {"train": 70, "val": 30, "test": 30}
    assert splits.train.X.shape == (70, 1, 28, 28)
    assert splits.train.X.dtype == np.uint8
    assert splits.train.y.dtype == np.int64
    images, labels = written["test"]
    assert np.array_equal(splits.test.X[:, 0], images)
    assert np.array_equal(splits.test.y, labels)
    assert np.bincount(splits.val.y).tolist() == [3] * 10
    assert splits.class_names[9] in ("9", "Ankle boot")
    # by row identity: every training image is in exactly one of the two splits, with its own label
    label_of = dict(zip(row_ids(written["train"][0]), written["train"][1].tolist(), strict=True))
    found = row_ids(splits.train.X, splits.val.X)
    assert sorted(found) == sorted(label_of)
    assert [label_of[row] for row in found] == [*splits.train.y.tolist(), *splits.val.y.tolist()]


def test_root_comes_from_the_environment_and_from_the_home_folder(tmp_path, monkeypatch):
    write_idx_set(tmp_path / "data" / "mnist", MNIST_PREFIXES, SIZES)
    assert len(load_dataset("mnist").test) == 30
    monkeypatch.delenv("WORSTCLASS_DATA")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    with pytest.raises(DatasetError, match=re.escape(str(tmp_path / "home" / ".cache" / "worstclass" / "data"))):
        load_dataset("mnist")
    shutil.copytree(tmp_path / "data", tmp_path / "home" / ".cache" / "worstclass" / "data")
    assert len(load_dataset("mnist").test) == 30


EMNIST_PREFIXES = {"train": "emnist-{}-train", "test": "emnist-{}-test"}


def write_emnist(folder, split="byclass", *, n_classes=62, first=0):
    prefixes = {part: prefix.format(split) for part, prefix in EMNIST_PREFIXES.items()}
    return write_idx_set(folder, prefixes, {"train": 130, "test": 62}, n_classes=n_classes, first=first)


@pytest.mark.parametrize("place", ["emnist", "EMNIST/raw", "gzip", "zip"])
def test_emnist_images_are_set_upright(root, tmp_path, place):
    if place == "zip":
        written = write_emnist(tmp_path / "packed")
        root.mkdir()
        zip_of(root / "gzip.zip", tmp_path / "packed", "gzip")
    else:
        written = write_emnist(root / place)
    splits = load_dataset("emnist", root)
    assert np.array_equal(splits.test.X[:, 0], written["test"][0].transpose(0, 2, 1))
    assert np.array_equal(splits.test.y, written["test"][1])
    assert len(splits.class_names) == 62
    assert "".join(splits.class_names).startswith("0123456789ABC")


def test_emnist_letters_are_counted_from_one_in_the_files(root):
    write_emnist(root, "letters", n_classes=26, first=1)
    splits = load_dataset("emnist", root, split="letters")
    assert (splits.test.y.min(), splits.test.y.max()) == (0, 25)
    assert splits.class_names == tuple("abcdefghijklmnopqrstuvwxyz")
    assert splits.test.y[0] == 0  # a label of 1 in the file is an a


def test_emnist_splits_have_their_own_files_and_names(root):
    write_emnist(root, "balanced", n_classes=47)
    assert load_dataset("emnist", root, split="balanced").class_names[-11:] == tuple("abdefghnqrt")
    with pytest.raises(DatasetError, match="emnist-byclass-train-images-idx3-ubyte"):
        load_dataset("emnist", root)
    with pytest.raises(UnknownNameError, match="Did you mean 'letters'"):
        load_dataset("emnist", root, split="letter")


# --- CIFAR


@pytest.mark.parametrize("place", ["cifar10", "", "cifar-10-batches-py", "cifar10/cifar-10-batches-py"])
def test_cifar10_is_found_in_every_layout(root, place):
    pixels = write_cifar10(root / place)
    splits = load_dataset("cifar10", root)
    assert {part: len(rows) for part, rows in parts_of(splits).items()} == {"train": 140, "val": 60, "test": 20}
    assert splits.train.X.shape == (140, 3, 32, 32)
    assert np.array_equal(splits.test.X.reshape(20, -1), pixels["test_batch"])
    batches = [found for name, found in pixels.items() if name != "test_batch"]
    assert sorted(row_ids(splits.train.X, splits.val.X)) == sorted(row_ids(*batches))
    assert splits.class_names[3] == "cat"


@pytest.mark.parametrize("place", ["", "cifar10"])
def test_cifar10_is_read_straight_from_its_archive(root, tmp_path, place):
    pixels = write_cifar10(tmp_path / "unpacked")
    (root / place).mkdir(parents=True)
    tar_gz(root / place / "cifar-10-python.tar.gz", tmp_path / "unpacked", "cifar-10-batches-py")
    splits = load_dataset("cifar10", root)
    assert np.array_equal(splits.test.X.reshape(20, -1), pixels["test_batch"])
    assert not (root / place / "cifar-10-batches-py").exists()  # nothing was unpacked


def test_cifar100_has_fine_labels(root):
    write_cifar100(root / "cifar-100-python")
    splits = load_dataset("cifar100", root)
    assert np.bincount(splits.train.y).tolist() == [7] * 100
    assert np.bincount(splits.test.y).tolist() == [2] * 100
    assert splits.class_names[:2] == ("apple", "aquarium_fish")


def test_imbalanced_sets_thin_training_and_test_and_never_share_a_row(root):
    write_cifar10(root / "cifar10", n=200, n_test=200)
    splits = load_dataset("imbalanced-cifar10", root, cal=0.1)
    counts = {name: np.bincount(part.y, minlength=10) for name, part in parts_of(splits).items()}
    together = counts["train"] + counts["val"] + counts["cal"]
    assert together.tolist() == [100, 77, 59, 46, 35, 27, 21, 16, 12, 10]
    assert counts["test"].tolist() == [20, 15, 11, 9, 7, 5, 4, 3, 2, 2]
    ids = row_ids(*(part.X for part in parts_of(splits).values()))
    assert len(ids) == len(set(ids))
    whole = load_dataset("imbalanced-cifar10", root, thin_test=False, rho=100)
    assert np.bincount(whole.test.y).tolist() == [20] * 10
    assert np.bincount(np.concatenate([whole.train.y, whole.val.y])).tolist() == [100, 59, 35, 21, 12, 7, 4, 2, 1, 1]


def test_pickle_in_place_of_a_batch_runs_nothing(root, tmp_path):
    write_cifar10(root / "cifar10")
    canary = tmp_path / "canary"

    class Evil:
        def __reduce__(self):
            return os.system, (f"echo dead > {canary}",)

    (root / "cifar10" / "data_batch_3").write_bytes(pickle.dumps({**cifar_batch(3), b"x": Evil()}))
    with pytest.raises(DatasetError, match=r"data_batch_3 is refused: the pickle asks for .*system"):
        load_dataset("cifar10", root)
    assert not canary.exists()


# --- MedMNIST, Tiny ImageNet


@pytest.mark.parametrize("name", MEDMNIST)
def test_medmnist_keeps_its_official_parts(root, name):
    sheet = named_dataset(name)
    sizes = {"train": 40, "val": 20, "test": 30}
    arrays = write_medmnist(
        root / f"{name}.npz", sizes, n_classes=sheet.n_classes, channels=3 if "colour" in sheet.summary else 1
    )
    splits = load_dataset(name, root)
    for part, rows in parts_of(splits).items():
        images = arrays[f"{part}_images"]
        expected = images[:, None] if images.ndim == 3 else images.transpose(0, 3, 1, 2)
        assert np.array_equal(rows.X, expected)
        assert np.array_equal(rows.y, arrays[f"{part}_labels"][:, 0])
    with_cal = load_dataset(name, root, cal=0.25)
    assert (len(with_cal.train), len(with_cal.cal), len(with_cal.val)) == (30, 10, 20)


def test_medmnist_comes_in_larger_sizes(root):
    write_medmnist(root / "pathmnist" / "pathmnist_64.npz", SIZES | {"val": 9}, n_classes=9, channels=3, side=64)
    assert load_dataset("pathmnist", root, size=64).train.X.shape == (100, 3, 64, 64)
    with pytest.raises(DatasetError, match=r"pathmnist\.npz"):
        load_dataset("pathmnist", root)
    with pytest.raises(UnknownNameError, match=r"one of \['28', '64', '128', '224'\]"):
        load_dataset("pathmnist", root, size=32)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"val_images": None}, "has no array 'val_images'"),
        ({"test_images": None, "test_labels": None}, "has no array 'test_images'"),
        ({"train_labels": np.full((40, 1), 9, np.uint8)}, r"labels must be in 0..4. Got 9 in row 1"),
        ({"train_labels": np.zeros((39, 1), np.uint8)}, "there are 40 images and 39 labels"),
        ({"train_labels": np.zeros((40, 14), np.uint8)}, "one label per row"),
        ({"train_images": np.zeros((40, 28, 28), np.uint8)}, r"unsigned bytes of 28 x 28 pixels and 3 channel"),
        ({"train_images": np.zeros((40, 28, 28, 3))}, "must be unsigned bytes"),
        ({"train_images": np.array([{}] * 40, dtype=object)}, "arrays of objects are refused"),
    ],
)
def test_malformed_medmnist_is_refused(root, change, message):
    arrays = write_medmnist(root / "x.npz", {"train": 40, "val": 20, "test": 30}, n_classes=5, channels=3)
    kept = {name: array for name, array in (arrays | change).items() if array is not None}
    np.savez(root / "retinamnist.npz", **kept)
    with pytest.raises(DatasetError, match=message):
        load_dataset("retinamnist", root)


@pytest.mark.parametrize("packed", [False, True])
def test_tiny_imagenet_tests_on_its_validation_pictures(root, packed):
    write_tiny_imagenet(root / "tiny-imagenet-200", n_train=10)
    if packed:
        zip_of(root / "tiny-imagenet-200.zip", root / "tiny-imagenet-200", "tiny-imagenet-200")
        shutil.rmtree(root / "tiny-imagenet-200")
    splits = load_dataset("tiny-imagenet", root)
    assert {part: len(rows) for part, rows in parts_of(splits).items()} == {"train": 21, "val": 9, "test": 6}
    assert splits.class_names == ("first thing", "second thing", "n03")
    assert np.bincount(splits.val.y).tolist() == [3, 3, 3]


def test_images_are_writeable_arrays_in_memory(root):
    write_medmnist(root / "bloodmnist.npz", SIZES | {"val": 9}, n_classes=8, channels=3)
    write_idx_set(root / "mnist", MNIST_PREFIXES, SIZES)
    for name in ("bloodmnist", "mnist"):
        splits = load_dataset(name, root)
        assert splits.train.X.flags.writeable  # torch takes it without a copy
        assert not isinstance(splits.train.X, np.memmap)


def test_picture_that_cannot_be_decoded_is_refused_with_its_name(root):
    write_tiny_imagenet(root / "tiny-imagenet-200")
    (root / "tiny-imagenet-200" / "train" / "n02" / "images" / "n02_3.JPEG").write_bytes(b"hello")
    with pytest.raises(DatasetError, match=r"n02_3\.JPEG cannot be decoded"):
        load_dataset("tiny-imagenet", root)


# --- what is missing or wrong


def test_missing_files_are_told_with_folders_address_and_command(root):
    with pytest.raises(DatasetError) as caught:
        load_dataset("cifar10", root)
    message = str(caught.value)
    assert "data_batch_1" in message
    assert "cifar-10-python.tar.gz" in message
    assert f"{root / 'cifar10' / 'cifar-10-batches-py'}" in message
    assert "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz" in message
    assert "worstclass datasets get cifar10" in message
    assert "WORSTCLASS_DATA" in message


def test_set_that_is_there_in_part_is_told_by_what_it_lacks(root):
    write_cifar10(root / "cifar10")
    (root / "cifar10" / "data_batch_4").unlink()
    with pytest.raises(DatasetError, match=r"cifar10 has not all of its files: data_batch_4 is missing"):
        load_dataset("cifar10", root)


def test_thinned_set_names_itself_and_the_files_of_the_whole_one(root):
    with pytest.raises(DatasetError, match=r"'imbalanced-cifar100' are not there.*cifar-100-python.tar.gz"):
        load_dataset("imbalanced-cifar100", root)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (gzip.compress(idx_bytes(np.zeros(29))), "there are 30 images and 29 labels"),
        (gzip.compress(idx_bytes(np.full(30, 10))), r"labels must be in 0..9. Got 10 in row 1"),
        (gzip.compress(idx_bytes(np.zeros(30)))[:-9], "damaged or cut short"),
        (idx_bytes(np.zeros((30, 1))), "must begin with 00 00 08 01"),
    ],
    ids=["too-few", "out-of-range", "cut-short", "wrong-magic"],  # bytes of gzip hold the time: no names for tests
)
def test_malformed_labels_are_refused_with_the_file(root, content, message):
    write_idx_set(root / "mnist", MNIST_PREFIXES, SIZES)
    (root / "mnist" / "t10k-labels-idx1-ubyte.gz").write_bytes(content)
    with pytest.raises(DatasetError, match=rf"t10k-labels-idx1-ubyte.*{message}"):
        load_dataset("mnist", root)


def test_options_are_checked_before_any_file_is_read(root):
    with pytest.raises(UnknownOptionError, match=r"'cifar10' has no option 'vall'. Its options are \['val', 'cal'\]"):
        load_dataset("cifar10", root, vall=0.2)
    with pytest.raises(ParameterError, match="'val' parameter"):
        load_dataset("cifar10", root, val=1.2)
    with pytest.raises(ParameterError, match="'cal' parameter"):
        load_dataset("cifar10", root, cal=1.0)
    with pytest.raises(ParameterError, match="'rho' parameter"):
        load_dataset("imbalanced-cifar10", root, rho=0.1)
    with pytest.raises(ParameterError, match="'seed' parameter"):
        load_dataset("cifar10", root, seed=-1)
    with pytest.raises(UnknownOptionError, match="'cifar10' has no option 'size'"):
        named_dataset("cifar10", size=64)


def test_files_of_the_other_set_under_the_same_names_are_refused(root, monkeypatch):
    written = write_idx_set(root, MNIST_PREFIXES, SIZES)
    md5 = hashlib.md5(idx_bytes(written["train"][1])).hexdigest()
    monkeypatch.setitem(mnist._SUMS["fashion-mnist"], mnist.TRAIN_LABELS, ("", md5))
    assert len(load_dataset("fashion-mnist", root).test) == 30
    with pytest.raises(DatasetError, match="is a file of the data set 'fashion-mnist', not of 'mnist'"):
        load_dataset("mnist", root)
