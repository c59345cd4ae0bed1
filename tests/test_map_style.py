"""Map-style torch data sets: told apart, and asked for their labels."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from torch.utils.data import ConcatDataset, Dataset, IterableDataset, Subset, TensorDataset, random_split

from worstclass.data.map_style import is_map_dataset, labels_of
from worstclass.exceptions import DataError

LABELS = [2, 0, 1, 1, 0]


class Items(Dataset):
    """Rows with labels, which counts how often it is read."""

    def __init__(self, labels):
        self.hidden = labels
        self.n_read = 0

    def __len__(self):
        return len(self.hidden)

    def __getitem__(self, i):
        self.n_read += 1
        return torch.zeros(2), self.hidden[i]


class Stream(IterableDataset):
    def __iter__(self):
        yield torch.zeros(2), 0


class Unsized(Dataset):
    def __getitem__(self, i):
        return torch.zeros(2), 0


def with_attribute(name, value, labels=LABELS):
    dataset = Items(labels)
    setattr(dataset, name, value)
    return dataset


@pytest.mark.parametrize("X", [np.zeros((2, 2)), torch.zeros(2, 2), [[0, 1]], "rows", None])
def test_what_is_no_data_set_is_told_apart(X):
    assert is_map_dataset(X) is False


def test_map_style_data_sets_are_recognised():
    assert is_map_dataset(Items(LABELS))
    assert is_map_dataset(TensorDataset(torch.zeros(2, 2)))
    assert is_map_dataset(Subset(Items(LABELS), [0]))


@pytest.mark.parametrize("kind", [Stream, Unsized])
def test_data_set_without_length_or_places_is_refused_by_name(kind):
    with pytest.raises(DataError, match=f"map-style data set.*Got {kind.__name__}"):
        is_map_dataset(kind())


def test_asking_does_not_import_torch():
    code = (
        "import sys\n"
        "from worstclass.data.map_style import is_map_dataset\n"
        "assert is_map_dataset([[0, 1]]) is False\n"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", ["targets", "labels", "y"])
@pytest.mark.parametrize("form", [list, np.array, torch.tensor])
def test_labels_are_taken_from_an_attribute_without_reading_an_item(name, form):
    dataset = with_attribute(name, form(LABELS))
    assert labels_of(dataset).tolist() == LABELS
    assert isinstance(labels_of(dataset), np.ndarray)
    assert dataset.n_read == 0


def test_targets_go_before_labels():
    dataset = with_attribute("labels", [9] * 5)
    dataset.targets = LABELS
    assert labels_of(dataset).tolist() == LABELS


@pytest.mark.parametrize(
    "value",
    [["cat", "dog", "fox"], lambda: LABELS, None, 3, True],
    ids=["names", "method", "none", "number", "flag"],
)
def test_attribute_that_does_not_hold_the_labels_is_passed_over(value):
    assert labels_of(with_attribute("labels", value)).tolist() == LABELS


def test_without_attribute_every_item_is_read_once():
    dataset = Items(LABELS)
    assert labels_of(dataset).tolist() == LABELS
    assert dataset.n_read == len(LABELS)


def test_labels_of_items_may_be_text_or_tensors():
    assert labels_of(Items(["b", "a"])).tolist() == ["b", "a"]
    from_tensors = labels_of(Items([torch.tensor(3), torch.tensor(1)]))
    assert from_tensors.tolist() == [3, 1]
    assert from_tensors.dtype.kind == "i"


def test_labels_of_a_tensor_data_set_are_its_second_tensor():
    assert labels_of(TensorDataset(torch.zeros(5, 2), torch.tensor(LABELS))).tolist() == LABELS


def test_labels_of_a_subset_follow_its_indices():
    dataset = with_attribute("targets", LABELS)
    assert labels_of(Subset(dataset, [4, 0, 0])).tolist() == [0, 2, 2]
    assert labels_of(Subset(Subset(dataset, [4, 0, 2]), [2, 1])).tolist() == [1, 2]
    assert labels_of(Subset(dataset, torch.tensor([3, 0]))).tolist() == [1, 2]
    assert dataset.n_read == 0


def test_labels_of_a_random_split_agree_with_its_items():
    for part in random_split(with_attribute("targets", LABELS), [3, 2], torch.Generator().manual_seed(0)):
        assert labels_of(part).tolist() == [part[i][1] for i in range(len(part))]


def test_labels_of_joined_data_sets_come_in_order():
    joined = ConcatDataset([with_attribute("targets", LABELS), Items([7, 8])])
    assert labels_of(joined).tolist() == [*LABELS, 7, 8]


def test_items_without_label_are_refused_with_what_to_do():
    with pytest.raises(DataError, match=r"carry no label\. Pass y"):
        labels_of(TensorDataset(torch.zeros(3, 2)))
