"""The user's own data: image folders, npz and npy, tables, Hugging Face data sets; refusals."""

from __future__ import annotations

import re
import sys
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from official_files import distinct_images, picture_bytes, zip_of
from PIL import Image

from worstclass.cli.console import OptionError
from worstclass.cli.data import Data, find_named
from worstclass.cli.options import DataOptions, HeldOutOptions, SplitOptions
from worstclass.data.sources import from_hugging_face, read_source
from worstclass.data.splits import Part, Splits
from worstclass.exceptions import DataError, DatasetError, ParameterError, UnknownNameError, WorstClassWarning

LEVELS = {"cat": 40, "dog": 120, "owl": 200}


def write_pictures(folder, counts, shape=(6, 5, 3)):
    """Write plain pictures whose level tells their class."""
    for name, n in counts.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        for i in range(n):
            (folder / name / f"{i:03}.png").write_bytes(picture_bytes(np.full(shape, LEVELS[name], np.uint8)))
    return folder


def levels_agree(part):
    return all(image.min() == image.max() == LEVELS[label] for image, label in zip(part.X, part.y, strict=True))


# --- image folders


def test_folders_name_the_classes(tmp_path):
    source = read_source(write_pictures(tmp_path / "pets", {"dog": 10, "cat": 5}))
    part = source.parts["all"]
    assert part.X.shape == (15, 3, 6, 5)
    assert part.X.dtype == np.uint8
    assert Counter(part.y.tolist()) == {"cat": 5, "dog": 10}
    assert all(type(label) is str for label in part.y)
    assert levels_agree(part)
    splits = source.splits(val=0.2, test=0.2)
    assert (len(splits.train), len(splits.val), len(splits.test)) == (9, 3, 3)
    assert levels_agree(splits.train)


@pytest.mark.parametrize("names", [("train", "val", "test"), ("Training", "valid", "TEST")])
def test_folders_of_splits_stay_apart(tmp_path, names):
    for name, counts in zip(names, ({"cat": 4, "dog": 3}, {"cat": 1, "dog": 2}, {"dog": 5}), strict=True):
        write_pictures(tmp_path / "pets" / name, counts)
    source = read_source(tmp_path / "pets")
    assert {split: Counter(part.y.tolist()) for split, part in source.parts.items()} == {
        "train": {"cat": 4, "dog": 3},
        "val": {"cat": 1, "dog": 2},
        "test": {"dog": 5},
    }
    assert all(levels_agree(part) for part in source.parts.values())
    splits = source.splits(val=0.5, test=0.5)  # the data's own splits count
    assert (len(splits.train), len(splits.val), len(splits.test), splits.cal) == (7, 3, 5, None)


def test_split_that_is_not_there_is_cut_from_training(tmp_path):
    write_pictures(tmp_path / "train", {"cat": 10, "dog": 10})
    write_pictures(tmp_path / "test", {"cat": 1, "dog": 2})
    splits = read_source(tmp_path).splits(val=0.2, test=0.4)
    assert (len(splits.train), len(splits.val), len(splits.test)) == (16, 4, 3)


def test_pictures_may_lie_deeper_and_other_files_are_left_alone(tmp_path):
    write_pictures(tmp_path / "pets", {"cat": 2, "dog": 2})
    write_pictures(tmp_path / "pets" / "dog" / "more", {"dog": 3})
    (tmp_path / "pets" / "readme.txt").write_text("hello")
    (tmp_path / "pets" / "cat" / "notes.txt").write_text("hello")
    (tmp_path / "pets" / ".git").mkdir()
    assert Counter(read_source(tmp_path / "pets").parts["all"].y.tolist()) == {"cat": 2, "dog": 5}


def test_links_are_followed_but_not_in_circles(tmp_path):
    write_pictures(tmp_path / "elsewhere", {"dog": 3})
    write_pictures(tmp_path / "pets", {"cat": 2})
    (tmp_path / "pets" / "dog").symlink_to(tmp_path / "elsewhere" / "dog")
    (tmp_path / "pets" / "cat" / "again").symlink_to(tmp_path / "pets")
    assert Counter(read_source(tmp_path / "pets").parts["all"].y.tolist()) == {"cat": 2, "dog": 3}


def test_archive_of_a_folder_is_read_too(tmp_path):
    zip_of(tmp_path / "pets.zip", write_pictures(tmp_path / "pets", {"cat": 2, "dog": 3}), "pets")
    part = read_source(tmp_path / "pets.zip").parts["all"]
    assert Counter(part.y.tolist()) == {"cat": 2, "dog": 3}
    assert levels_agree(part)


def test_grey_pictures_have_one_channel_unless_one_has_colour(tmp_path):
    write_pictures(tmp_path, {"cat": 2, "dog": 2}, shape=(6, 5))
    assert read_source(tmp_path).parts["all"].X.shape == (4, 1, 6, 5)
    write_pictures(tmp_path, {"owl": 1}, shape=(6, 5, 4))  # with transparency
    part = read_source(tmp_path).parts["all"]
    assert part.X.shape == (5, 3, 6, 5)
    assert levels_agree(part)


def test_sizes_that_differ_need_a_size(tmp_path):
    write_pictures(tmp_path, {"cat": 2})
    write_pictures(tmp_path, {"dog": 1}, shape=(9, 4, 3))
    with pytest.raises(DatasetError) as caught:
        read_source(tmp_path)
    message = str(caught.value)
    assert re.search(r"cat.000\.png is 6 x 5 \(height x width\), and .*dog.000\.png is 9 x 4", message)
    assert "--image-size" in message
    assert "image_size=" in message
    for size, shape in ((8, (8, 8)), ((7, 3), (7, 3))):
        part = read_source(tmp_path, image_size=size).parts["all"]
        assert part.X.shape == (3, 3, *shape)
        assert levels_agree(part)


@pytest.mark.parametrize("size", [0, -3, 2.5, (3,), (3, 4, 5), True, ("a", "b")])
def test_bad_size_is_refused(tmp_path, size):
    write_pictures(tmp_path, {"cat": 1, "dog": 1})
    with pytest.raises(ParameterError, match="'image_size' parameter"):
        read_source(tmp_path, image_size=size)


@pytest.fixture
def damaged(tmp_path):
    """Five pictures, one without a header and one whose pixels are cut short."""
    folder = write_pictures(tmp_path / "pets", {"cat": 2, "dog": 3}, shape=(40, 40, 3))
    (folder / "dog" / "001.png").write_bytes(b"hello")
    noise = picture_bytes(distinct_images(1, 40, 40, 3)[0])
    (folder / "cat" / "001.png").write_bytes(noise[: len(noise) // 2])
    return folder


def test_damaged_pictures_are_reported_by_name(damaged):
    with pytest.raises(DatasetError) as caught:
        read_source(damaged)
    for name in ("cat/001.png", "dog/001.png", "skip_corrupt=True"):
        assert name in str(caught.value)
    assert "000.png" not in str(caught.value)


def test_damaged_pictures_are_left_out_on_request_with_a_warning(damaged):
    with pytest.warns(WorstClassWarning, match=r"2 damaged pictures were left out: .*cat/001\.png, .*dog/001\.png"):
        source = read_source(damaged, skip_corrupt=True)
    part = source.parts["all"]
    assert part.y.tolist() == ["cat", "dog", "dog"]
    assert levels_agree(part)  # labels did not slip


def test_class_of_which_nothing_is_left_is_refused(damaged):
    (damaged / "cat" / "000.png").write_bytes(b"")
    with (
        pytest.warns(WorstClassWarning, match="3 damaged pictures were left out"),
        pytest.raises(DatasetError, match=r"no picture to train on of the class\(es\) \['cat'\]"),
    ):
        read_source(damaged, skip_corrupt=True)
    for path in damaged.rglob("*.png"):
        path.write_bytes(b"")
    with pytest.raises(DatasetError, match="cannot be decoded"):
        read_source(damaged, skip_corrupt=True)


def test_many_damaged_pictures_are_counted(tmp_path):
    write_pictures(tmp_path, {"cat": 9, "dog": 1})
    for path in (tmp_path / "cat").iterdir():
        path.write_bytes(b"hello")
    with pytest.raises(DatasetError, match=r"\(and 4 more\)"):
        read_source(tmp_path)


def test_folders_that_do_not_tell_classes_are_refused(tmp_path):
    write_pictures(tmp_path, {"cat": 1, "dog": 1})
    (tmp_path / "owl").mkdir()
    with pytest.raises(DatasetError, match=r"owl has no pictures. Remove the folder"):
        read_source(tmp_path)
    (tmp_path / "owl").rmdir()
    (tmp_path / "stray.png").write_bytes(picture_bytes(np.zeros((6, 5, 3), np.uint8)))
    with pytest.raises(DatasetError, match=r"stray\.png lies in no folder"):
        read_source(tmp_path)
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(DatasetError, match="empty has no pictures"):
        read_source(empty)


def test_class_that_is_only_tested_is_refused(tmp_path):
    write_pictures(tmp_path / "train", {"cat": 2, "dog": 2})
    write_pictures(tmp_path / "test", {"owl": 1})
    with pytest.raises(DatasetError, match=r"no picture to train on of the class\(es\) \['owl'\]"):
        read_source(tmp_path)


# --- arrays

X, Y = distinct_images(10, 8, 8, 3), np.arange(10) % 2


@pytest.mark.parametrize("names", [("X", "y"), ("x", "Y"), ("images", "labels"), ("data", "target")])
def test_npz_of_rows_and_labels(tmp_path, names):
    np.savez_compressed(tmp_path / "a.npz", **dict(zip(names, (X, Y), strict=True)), other=np.arange(3))
    part = read_source(tmp_path / "a.npz").parts["all"]
    assert np.array_equal(part.X, X.transpose(0, 3, 1, 2))
    assert part.y.tolist() == Y.tolist()


@pytest.mark.parametrize("form", ["{}_images {}_labels", "x_{} y_{}", "{}_X {}_y"])
@pytest.mark.parametrize("val", ["val", "validation"])
def test_npz_of_splits(tmp_path, form, val):
    arrays = {}
    for split, rows in (("train", slice(0, 6)), (val, slice(6, 8)), ("test", slice(8, 10))):
        arrays |= dict(zip(form.format(split, split).split(), (X[rows], Y[rows, None]), strict=True))
    np.savez(tmp_path / "a.npz", **arrays)
    splits = read_source(tmp_path / "a.npz").splits()
    assert (len(splits.train), len(splits.val), len(splits.test)) == (6, 2, 2)
    assert np.array_equal(splits.test.X, X[8:].transpose(0, 3, 1, 2))
    assert splits.test.y.shape == (2,)


def test_channels_first_stay_where_either_axis_could_be_the_channels(tmp_path):
    np.savez(tmp_path / "a.npz", X=np.zeros((10, 3, 8, 4), np.uint8), y=Y)
    assert read_source(tmp_path / "a.npz").parts["all"].X.shape == (10, 3, 8, 4)


def test_npy_pair_is_mapped_and_tables_of_numbers_stay_tables(tmp_path):
    np.save(tmp_path / "X.npy", np.arange(20.0).reshape(10, 2))
    np.save(tmp_path / "y.npy", np.array(["a", "b"] * 5))
    part = read_source(tmp_path).parts["all"]
    assert isinstance(part.X, np.memmap)
    assert part.X.shape == (10, 2)
    assert part.y.tolist() == ["a", "b"] * 5
    assert part.y.dtype == object


MALFORMED = [
    ({"X": X}, "has 'X', but no labels for it"),
    ({"x_train": X, "y_train": Y, "y_test": Y}, "has 'y_test', but no rows for it"),
    ({"x_test": X, "y_test": Y}, "has no rows to train on"),
    ({"a": X, "b": Y}, "has no rows to train on"),
    ({"X": X, "y": Y, "x_train": X, "y_train": Y}, "both in splits and apart"),
    ({"X": X, "x": X, "y": Y}, "two arrays for the same: 'X' and 'x'"),
    ({"X": X, "y": Y[:9]}, "X has 10 rows, and y 9"),
    ({"X": X, "y": np.eye(10)}, r"must be one label per row, shape \(n,\). Got shape \(10, 10\)"),
    ({"X": X, "y": np.array([0.0, np.nan] * 5)}, "must have a label for every row. Got nan"),
    ({"X": X, "y": np.array([1j] * 10)}, "must hold numbers or text"),
    ({"X": np.array(["a"] * 10)[:, None], "y": Y}, "must be rows of numbers"),
    ({"X": np.arange(10), "y": Y}, "must be rows of numbers"),
    ({"X": np.array([{}] * 10, dtype=object), "y": Y}, "arrays of objects are refused"),
    ({"X": X, "y": np.array([{}] * 10, dtype=object)}, "arrays of objects are refused"),
]
# not a folder of arrays; names that some disks do not tell apart
NPZ_ONLY = ({"a", "b"}, {"X", "x", "y"})


@pytest.mark.parametrize(("arrays", "message"), MALFORMED)
def test_malformed_npz_is_refused(tmp_path, arrays, message):
    np.savez(tmp_path / "data.npz", **arrays)
    with pytest.raises(DatasetError, match=message):
        read_source(tmp_path / "data.npz")


@pytest.mark.parametrize(("arrays", "message"), [case for case in MALFORMED if set(case[0]) not in NPZ_ONLY])
def test_malformed_folder_of_npy_is_refused(tmp_path, arrays, message):
    for name, array in arrays.items():
        np.save(tmp_path / f"{name}.npy", array)
    with pytest.raises(DatasetError, match=message):
        read_source(tmp_path)


def test_npz_cut_short_is_refused(tmp_path):
    np.savez(tmp_path / "a.npz", X=X, y=Y)
    (tmp_path / "a.npz").write_bytes((tmp_path / "a.npz").read_bytes()[:-30])
    with pytest.raises(DatasetError, match=r"a\.npz cannot be read as an npz file"):
        read_source(tmp_path / "a.npz")


# --- tables


def test_csv_needs_a_target_and_others_take_none(tmp_path):
    (tmp_path / "a.csv").write_text("a,b,y\n1,x,p\n2,z,q\n")
    assert read_source(tmp_path / "a.csv", target="y").parts["all"].y.tolist() == ["p", "q"]
    with pytest.raises(ParameterError, match="the column of the labels when the data is a table"):
        read_source(tmp_path / "a.csv")
    np.savez(tmp_path / "a.npz", X=X, y=Y)
    with pytest.raises(ParameterError, match="left out unless the data is a table"):
        read_source(tmp_path / "a.npz", target="y")
    for path, target in ((tmp_path / "a.npz", None), (tmp_path / "a.csv", "y")):
        with pytest.raises(ParameterError, match=r"'image_size' .*left out unless the data is a folder of pictures"):
            read_source(path, target=target, image_size=32)


def test_parquet_is_read_as_csv_is(tmp_path):
    pytest.importorskip("pyarrow")
    table = pd.DataFrame({"age": [30, 41, 50], "town": ["Rome", None, "Rome"], "kind": ["ill", "well", "ill"]})
    table.to_parquet(tmp_path / "a.parquet", index=False)
    part = read_source(tmp_path / "a.parquet", target="kind").parts["all"]
    assert part.X["age"].tolist() == [30, 41, 50]
    assert isinstance(part.X["town"].dtype, pd.CategoricalDtype)
    assert part.X["town"].isna().tolist() == [False, True, False]
    assert part.y.tolist() == ["ill", "well", "ill"]
    assert part.y.dtype == object
    with pytest.raises(UnknownNameError, match="Did you mean 'kind'"):
        read_source(tmp_path / "a.parquet", target="kinds")
    pd.DataFrame({"a": [[1], [2, 3]], "y": [0, 1]}).to_parquet(tmp_path / "b.parquet")
    with pytest.raises(DatasetError, match="must hold numbers or text"):
        read_source(tmp_path / "b.parquet", target="y")
    (tmp_path / "c.parquet").write_bytes(b"hello")
    with pytest.raises(DatasetError, match=r"c\.parquet cannot be read as a Parquet file"):
        read_source(tmp_path / "c.parquet", target="y")


def test_parquet_without_pyarrow_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)  # as if it were not installed
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    with pytest.raises(DatasetError, match=r"a\.parquet needs pyarrow: pip install 'worstclass\[parquet\]'"):
        read_source(tmp_path / "a.parquet", target="y")


def test_what_is_of_no_known_kind_is_refused(tmp_path):
    (tmp_path / "a.xlsx").write_text("")
    with pytest.raises(DatasetError, match="cannot be read: give a CSV"):
        read_source(tmp_path / "a.xlsx")
    with pytest.raises(DatasetError, match="no file or folder"):
        read_source(tmp_path / "nowhere")


# --- Hugging Face


class ClassLabel:
    def __init__(self, names):
        self.names = names


class Image_:  # noqa: N801
    pass


Image_.__name__ = "Image"


class FakeDataset:
    """What a data set of the library offers: features, a length, rows by number, columns by name."""

    def __init__(self, columns, features):
        self.columns, self.features = columns, features

    def __len__(self):
        return len(next(iter(self.columns.values())))

    def __getitem__(self, key):
        if isinstance(key, str):
            return self.columns[key]
        return {name: values[key] for name, values in self.columns.items()}


def pictures_of(labels, shape=(6, 5, 3)):
    return [Image.fromarray(np.full(shape, list(LEVELS.values())[label], np.uint8)) for label in labels]


def fake(labels=(0, 1, 1), **columns):
    columns = {"image": pictures_of(labels), "label": list(labels), **columns}
    features = {name: SimpleNamespace() for name in columns}
    return FakeDataset(columns, {**features, "image": Image_(), "label": ClassLabel(list(LEVELS))})


def test_pictures_and_named_labels():
    part = from_hugging_face(fake())
    assert isinstance(part, Part)
    assert part.X.shape == (3, 3, 6, 5)
    assert part.y.tolist() == ["cat", "dog", "dog"]
    assert levels_agree(part)


def test_columns_are_found_by_name_or_given():
    dataset = fake(other=["x", "y", "z"])
    dataset.columns["shot"] = dataset.columns.pop("image")
    dataset.features["shot"] = dataset.features.pop("image")
    assert from_hugging_face(dataset, image="shot").X.shape == (3, 3, 6, 5)
    dataset.features["label"] = SimpleNamespace()
    part = from_hugging_face(dataset, image="shot", label="label")
    assert part.y.tolist() == [0, 1, 1]
    with pytest.raises(DatasetError, match="has no column 'picture' for the images"):
        from_hugging_face(dataset, image="picture")


@pytest.mark.parametrize("kind", ["bytes", "encoded"])
def test_pictures_come_in_other_forms(kind):
    made = {
        "bytes": lambda p: picture_bytes(np.asarray(p)),
        "encoded": lambda p: {"bytes": picture_bytes(np.asarray(p)), "path": None},
    }[kind]
    part = from_hugging_face(fake(image=[made(picture) for picture in pictures_of((0, 1, 1))]))
    assert part.X.shape == (3, 3, 6, 5)
    assert levels_agree(part)


def test_splits_of_a_dictionary():
    splits = from_hugging_face({"train": fake(), "validation": fake((2,)), "test": fake((1, 0)), "extra": None})
    assert isinstance(splits, Splits)
    assert (len(splits.train), len(splits.val), len(splits.test)) == (3, 1, 2)
    with pytest.raises(DatasetError, match=r"no split to train on. It has \['test'\]"):
        from_hugging_face({"test": fake()})


def test_tables_become_data_frames():
    dataset = FakeDataset(
        {"age": [3, 4], "town": ["Rome", "Oslo"], "label": [1, 0]},
        {"age": SimpleNamespace(), "town": SimpleNamespace(), "label": ClassLabel(["no", "yes"])},
    )
    part = from_hugging_face(dataset)
    assert part.X["age"].tolist() == [3, 4]
    assert isinstance(part.X["town"].dtype, pd.CategoricalDtype)
    assert part.y.tolist() == ["yes", "no"]


def test_data_sets_that_cannot_be_used_are_refused():
    with pytest.raises(DatasetError, match=r"label in 0..2 in every row; -1 stands for none"):
        from_hugging_face(fake(label=[0, -1, 1]))
    with pytest.raises(DatasetError, match="no column that is known as labels"):
        from_hugging_face(FakeDataset({"a": [1], "b": [2]}, {"a": SimpleNamespace(), "b": SimpleNamespace()}))
    with pytest.raises(DatasetError, match=r"row 1 of the column 'image' must be a picture. Got str"):
        from_hugging_face(fake(image=[*pictures_of((0,)), "not one", *pictures_of((1,))]))
    with pytest.raises(DatasetError, match=r"images differ in size: row 0 .* row 1"):
        from_hugging_face(fake(image=[*pictures_of((0,)), *pictures_of((1, 1), (4, 4, 3))]))
    with pytest.raises(DatasetError, match="has no rows"):
        from_hugging_face(fake(()))
    with pytest.raises(DataError, match="must have features and a length"):
        from_hugging_face(iter([1]))


def test_damaged_row_is_left_out_on_request():
    images = pictures_of((0, 1, 2))
    images[1] = {"bytes": b"hello"}
    with pytest.warns(WorstClassWarning, match="1 damaged pictures were left out: row 1"):
        part = from_hugging_face(fake((0, 1, 2), image=images), skip_corrupt=True)
    assert part.y.tolist() == ["cat", "owl"]
    assert levels_agree(part)


# --- DATA on the command line


def test_names_paths_and_neither(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert find_named("cifar10").name == "cifar10"
    assert find_named("missing.csv") is None
    assert find_named("missing.parquet") is None
    (tmp_path / "pets").mkdir()
    assert find_named("pets") is None
    with pytest.raises(UnknownNameError, match="Did you mean 'cifar100'"):
        find_named("cifar-100")


def test_command_line_reads_folders_and_files(tmp_path):
    write_pictures(tmp_path / "pets", {"cat": 10, "dog": 10})
    pets = str(tmp_path / "pets")
    splits = Data.open(SplitOptions(pets, image_size=4, val_share=0.1)).splits(seed=0)
    assert splits.train.X.shape == (14, 3, 4, 4)
    model = SimpleNamespace(classes_=np.array(["cat", "dog"]))
    of_pets = Data.open(HeldOutOptions(pets))
    rows = of_pets.rows(model, ("test", "all"))
    assert (rows.name, rows.available, len(rows)) == ("all", 20, 20)
    assert rows.X is of_pets.source.parts["all"].X
    assert rows.y.tolist() == of_pets.source.parts["all"].y.tolist()
    with pytest.raises(DatasetError, match=r"has no cal or test part. Its parts are \['all'\]"):
        of_pets.rows(model, ("cal", "test"))
    with pytest.raises(OptionError, match="Missing option --target"):
        Data.open(DataOptions("some.csv"))


def test_named_data_have_names_for_labels_unless_the_model_has_numbers():
    named = Data.open(SplitOptions("iris")).splits(seed=0)
    assert set(named.train.y) == {"setosa", "versicolor", "virginica"}
    assert len(named.train) == 90
    for labels in (named.train.y, np.array([0, 1, 2])):
        rows = Data.open(HeldOutOptions("iris")).rows(SimpleNamespace(classes_=np.unique(labels)), ("test",))
        assert set(rows.y) == set(labels)
    for option in ({"image_size": 4}, {"target": "species"}):
        name = f"--{next(iter(option)).replace('_', '-')}"
        with pytest.raises(OptionError, match=f"{name}.*'iris' is a named data set"):
            Data.open(SplitOptions("iris", **option))
