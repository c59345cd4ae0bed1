"""torch networks as weak learners: starts, batches, data sets, evaluation, refusals."""

from __future__ import annotations

import copy
import dataclasses
import warnings

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.datasets import load_iris
from torch import nn
from torch.utils.data import Dataset, Subset, TensorDataset

from worstclass import NetworkClassifier, TorchLearner, WorstClassBooster, load_dataset
from worstclass.data.augmentation import Augmentation
from worstclass.ensembles.portfolio import portfolio_for
from worstclass.exceptions import (
    DataError,
    ModuleError,
    ParameterError,
    UnknownNameError,
    UnknownOptionError,
    UnmetEdgeWarning,
    WorstClassWarning,
)
from worstclass.learners import torch_inputs
from worstclass.learners.base import Verdict
from worstclass.learners.torch_inputs import TorchInputs, batch_sizes
from worstclass.learners.torch_loop import TorchTraining
from worstclass.networks import list_networks


def small(input_shape, n_classes):
    return nn.Sequential(nn.Flatten(), nn.Linear(int(np.prod(input_shape)), 16), nn.ReLU(), nn.Linear(16, n_classes))


def with_dropout_and_norm(input_shape, n_classes):
    return nn.Sequential(
        nn.Linear(input_shape[0], 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, n_classes)
    )


def convolution(input_shape, n_classes):
    return nn.Sequential(
        nn.Conv2d(input_shape[0], 4, 3, padding=1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(2),
        nn.Flatten(),
        nn.Linear(16, n_classes),
    )


def learner(module=small, **options):
    return TorchLearner(module, **{"lr": 0.02, **options})


def fitted(learner, X, y, theta=0.8, **options):
    options = {"n_rounds": 3, "gamma": 0.4995, "random_state": 0, **options}
    return WorstClassBooster(learner, theta, **options).fit(X, y)


def train_for(training, n_passes, *, seed=0, weight=None):
    """Train a member for a number of passes; return it with the answers after each."""
    seen = []

    def stop(done):
        seen.append(done.predictions)
        return Verdict.DONE if len(seen) == n_passes else Verdict.GO_ON

    weight = np.ones(len(training.y)) if weight is None else weight
    return training.train(weight, stop, seed), seen


@pytest.mark.parametrize("module", [small, with_dropout_and_norm, "mlp"])
@pytest.mark.parametrize("batch_size", [512, 16])
@pytest.mark.parametrize("start", ["fresh", "same", "warm"])
def test_every_kind_of_network_batch_and_start_meets_the_floor(module, batch_size, start, blobs):
    X, y = blobs
    options = {"hidden": (16,)} if module == "mlp" else {}
    model = fitted(learner(module, module_options=options, batch_size=batch_size, start=start), X, y)
    assert model.bound_met_
    assert model.training_report_.worst_error < 0.2


@pytest.mark.parametrize("optimizer", ["adam", "adamw", "sgd", torch.optim.RMSprop])
def test_every_optimizer_trains(optimizer, blobs):
    X, y = blobs
    assert fitted(learner(optimizer=optimizer), X, y).bound_met_


@pytest.mark.parametrize(
    "convert",
    [
        lambda X: X.astype(np.float32),
        lambda X: X,
        lambda X: X.tolist(),
        lambda X: torch.tensor(X),
        lambda X: pd.DataFrame(X, columns=["x", "y"]),
        lambda X: np.asfortranarray(X),
    ],
    ids=["float32", "float64", "list", "tensor", "frame", "fortran"],
)
def test_every_form_of_table_gives_the_same_model(convert, blobs):
    X, y = blobs
    X = X.astype(np.float32).astype(float)  # so that no form rounds
    reference = fitted(learner(), X, y)
    model = fitted(learner(), convert(X), y)
    np.testing.assert_array_equal(model.predict(convert(X)), reference.predict(X))
    assert [r.edge for r in model.history_] == [r.edge for r in reference.history_]


def test_read_only_arrays_are_used_and_left_alone(blobs):
    X, y = (array.copy() for array in blobs)
    before = X.copy()
    X.setflags(write=False)
    y.setflags(write=False)
    fitted(learner(), X, y).predict(X)
    np.testing.assert_array_equal(X, before)


def test_images_of_bytes_are_scaled_to_one_and_tables_of_bytes_are_not():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 20)
    images = (rng.integers(0, 100, size=(40, 1, 4, 4)) + 120 * y[:, None, None, None]).astype(np.uint8)
    as_floats = (images / 255).astype(np.float32)
    ours, theirs = fitted(learner(convolution), images, y, 0.6), fitted(learner(convolution), as_floats, y, 0.6)
    np.testing.assert_allclose(ours.predict_proba(images), theirs.predict_proba(as_floats))
    table = images.reshape(40, 16)
    ours, theirs = fitted(learner(), table, y, 0.6), fitted(learner(), table.astype(np.float32), y, 0.6)
    np.testing.assert_array_equal(ours.predict(table), theirs.predict(table.astype(np.float32)))


class Rows(Dataset):
    """A map-style data set whose labels have to be read item by item."""

    def __init__(self, X, y):
        self.X, self._y = torch.tensor(X, dtype=torch.float32), y

    def __len__(self):
        return len(self.X)

    def __getitem__(self, index):
        return self.X[index], self._y[index]


class TestDatasets:
    def test_a_data_set_gives_the_same_model_as_its_arrays(self, blobs):
        X, y = blobs
        codes = np.unique(y, return_inverse=True)[1]
        arrays = fitted(learner(batch_size=16), X.astype(np.float32), codes)
        through_loader = fitted(learner(batch_size=16), Rows(X, codes), None)
        np.testing.assert_array_equal(arrays.predict(X.astype(np.float32)), through_loader.predict(Rows(X, codes)))

    def test_labels_may_be_given_beside_the_data_set(self, blobs):
        X, y = blobs
        model = fitted(learner(batch_size=16), Rows(X, np.zeros(len(y))), y)
        assert model.classes_.tolist() == ["a", "b", "c"]
        assert model.bound_met_

    def test_tensor_data_sets_subsets_and_workers(self, blobs):
        X, y = blobs
        codes = torch.tensor(np.unique(y, return_inverse=True)[1])
        whole = TensorDataset(torch.tensor(X, dtype=torch.float32), codes)
        part = Subset(whole, list(range(60)))
        model = fitted(learner(batch_size=16, num_workers=1), part, None, theta=0.5, n_rounds=1, max_epochs_per_round=5)
        assert model.history_[0].class_totals == tuple(np.bincount(codes[:60]).tolist())
        assert len(model.predict(whole)) == 90

    def test_validation_may_be_a_data_set(self, blobs):
        X, y = blobs
        codes = np.unique(y, return_inverse=True)[1]
        model = WorstClassBooster(learner(), 0.8, gamma=0.4995, n_rounds=3, random_state=0)
        model.fit(Rows(X[:60], codes[:60]), X_val=Rows(X[60:], codes[60:]))
        assert sum(row.total for row in model.validation_report_.rows) == 30

    def test_a_data_set_that_augments_is_refused(self, blobs):
        class Jitter(Rows):
            def __getitem__(self, index):
                row, label = super().__getitem__(index)
                return row + torch.rand(()), label

        with pytest.raises(DataError, match="another row 0 each time it is read"):
            fitted(learner(), Jitter(*blobs), None)

    @pytest.mark.parametrize("row", [1, 70])  # among the first rows, which are read twice, and after them
    def test_a_data_set_with_nan_is_refused_with_its_row(self, blobs, row):
        X, y = blobs
        spoiled = X.copy()
        spoiled[row, 0] = np.nan
        codes = np.unique(y, return_inverse=True)[1]
        told = f"Row {row} of the data set contains NaN"
        with pytest.raises(DataError, match=told):
            fitted(learner(), Rows(spoiled, codes), None)
        model = NetworkClassifier(learner(), max_epochs=1, random_state=0).fit(X, y)
        with pytest.raises(DataError, match=told):
            model.predict(Rows(spoiled, codes))
        with pytest.raises(DataError, match=told):  # as in the data set, not in the part of it that a fold has
            model.predict(Subset(Rows(spoiled, codes), range(1, 90)))

    def test_double_rows_are_read_and_the_callers_stream_is_left_alone(self, blobs):
        class Doubles(Rows):
            def __getitem__(self, index):
                row, label = super().__getitem__(index)
                return row.double().numpy(), label

        X, y = blobs
        codes = np.unique(y, return_inverse=True)[1]
        before = torch.get_rng_state()
        model = WorstClassBooster(learner(batch_size=16), 0.8, gamma=0.4995, n_rounds=2, random_state=0)
        model.fit(Doubles(X, codes), X_val=Doubles(X, codes)).predict(Doubles(X, codes))
        assert torch.equal(torch.get_rng_state(), before)

    def test_a_stream_is_refused(self, blobs):
        class Stream(torch.utils.data.IterableDataset):
            def __iter__(self):
                return iter([])

        with pytest.raises(DataError, match="map-style"):
            fitted(learner(), Stream(), blobs[1])


class TestEvaluation:
    def test_answers_are_those_of_evaluation_mode(self, blobs):
        X, y = blobs
        codes = np.unique(y, return_inverse=True)[1]
        training = learner(with_dropout_and_norm, batch_size=32).bind(X, codes, 3, seed=0)
        trained, seen = train_for(training, 5)
        module = with_dropout_and_norm((2,), 3)
        module.load_state_dict(trained.member.state)
        module.eval()
        direct = module(torch.tensor(X, dtype=torch.float32)).argmax(1).numpy()
        np.testing.assert_array_equal(seen[-1], direct)
        np.testing.assert_array_equal(trained.member.predict(training.inputs), direct)

    def test_a_kept_member_is_not_changed_by_later_passes(self, blobs):
        X, y = blobs
        codes = np.unique(y, return_inverse=True)[1]
        training = learner().bind(X, codes, 3, seed=0)
        seen = []

        def stop(done):
            seen.append(done.predictions)
            return [Verdict.GO_ON, Verdict.KEEP, Verdict.GO_ON, Verdict.GIVE_UP][len(seen) - 1]

        trained = training.train(np.ones(len(y)), stop, seed=0)
        assert trained.epochs == 4
        np.testing.assert_array_equal(trained.predictions, seen[1])
        np.testing.assert_array_equal(trained.member.predict(training.inputs), seen[1])

    def test_one_step_is_the_weighted_gradient_step(self, blobs):
        X, y = blobs
        codes = np.unique(y, return_inverse=True)[1]
        weight = np.random.default_rng(0).uniform(0.1, 2, size=len(y))
        training = learner(optimizer=torch.optim.SGD, lr=0.5, start="same").bind(X, codes, 3, seed=3)
        trained, _ = train_for(training, 1, weight=weight)
        module = small((2,), 3)
        module.load_state_dict(training.initial_state)
        losses = nn.functional.cross_entropy(module(torch.tensor(X).float()), torch.tensor(codes), reduction="none")
        (losses * torch.tensor(weight).float()).mean().backward()
        for name, parameter in module.named_parameters():
            torch.testing.assert_close(trained.member.state[name], parameter.detach() - 0.5 * parameter.grad)


class TestStarts:
    def first_states(self, start, blobs):
        X, y = blobs
        training = learner(start=start, lr=1e-12).bind(X, np.unique(y, return_inverse=True)[1], 3, seed=0)
        trained = [train_for(training, 1, seed=seed)[0] for seed in (1, 2)]
        return [copy.deepcopy(t.member.state["1.weight"]) for t in trained]

    def test_fresh_starts_differ_and_same_starts_do_not(self, blobs):
        one, two = self.first_states("fresh", blobs)
        assert not torch.allclose(one, two, atol=1e-3)
        one, two = self.first_states("same", blobs)
        torch.testing.assert_close(one, two)

    def test_a_warm_start_goes_on_from_the_round_before(self, blobs):
        X, y = blobs
        training = learner(start="warm").bind(X, np.unique(y, return_inverse=True)[1], 3, seed=0)
        first, _ = train_for(training, 20, seed=1)
        second, seen = train_for(training, 1, seed=2)
        assert (seen[0] == first.predictions).mean() > 0.9
        drift = max(
            (a - b).abs().max().item()
            for a, b in zip(first.member.state.values(), second.member.state.values(), strict=True)
        )
        assert 0 < drift <= 0.05  # one step of Adam moves no weight by much more than the rate


class TestRoundsThatRepeat:
    """Where nothing is random, a round with the weights of an earlier one is not trained again."""

    @staticmethod
    def boosted(draw, **options):
        base = {"module": "mlp", "module_options": {"hidden": (16,)}, "lr": 0.03, "start": "same"}
        booster = WorstClassBooster(
            TorchLearner(**{**base, **options}), 0.6, gamma=0.0995, n_rounds=20, extend=False, random_state=0
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", WorstClassWarning)
            return booster.fit(draw.train.X, draw.train.y)

    @pytest.fixture
    def draw(self):
        return load_dataset("artificial-balanced", seed=0, n_train=60, n_test=200)

    def test_the_vote_is_the_same_and_fewer_networks_are_trained(self, draw, monkeypatch):
        quick = self.boosted(draw)
        monkeypatch.setattr(TorchTraining, "repeats", False)
        plain = self.boosted(draw)
        assert len({id(member) for member in plain.estimators_}) == 20
        assert 1 < len({id(member) for member in quick.estimators_}) < 20
        assert quick.n_epochs_ == plain.n_epochs_
        without_time = [[dataclasses.replace(r, seconds=0.0) for r in model.history_] for model in (quick, plain)]
        assert without_time[0] == without_time[1]
        for one, other in zip(quick.estimators_, plain.estimators_, strict=True):
            torch.testing.assert_close(one.state, other.state, rtol=0, atol=0)
        assert (quick.predict(draw.test.X) == plain.predict(draw.test.X)).all()

    @pytest.mark.parametrize(
        "options",
        [
            {"batch_size": 64},
            {"start": "fresh"},
            {"optimizer_state": "carry"},
            {"module": small, "module_options": None},
            {"loss": nn.CrossEntropyLoss(reduction="none")},
        ],
        ids=lambda options: next(iter(options)),
    )
    def test_every_round_is_trained_where_anything_may_be_random(self, draw, options):
        members = self.boosted(draw, **options).estimators_
        assert len({id(member) for member in members}) == len(members)


def test_a_factory_that_fails_later_ends_the_fit(blobs):
    calls = []

    def tired(input_shape, n_classes):
        calls.append(1)
        if len(calls) == 3:
            raise ValueError("tired")
        return nn.Linear(input_shape[0], n_classes)

    with pytest.raises(ValueError, match=r"^tired$"):
        WorstClassBooster(learner(tired), theta=0.1, n_rounds=5, random_state=0).fit(*blobs)


def test_rows_that_do_not_stack_are_not_the_fault_of_the_network():
    class Uneven(Dataset):
        def __len__(self):
            return 8

        def __getitem__(self, index):
            return torch.zeros(3 + index % 2), index % 2

    with pytest.raises(Exception, match="stack") as error:
        WorstClassBooster(TorchLearner(small, standardize=False), theta=0.1).fit(Uneven())
    assert not isinstance(error.value, ModuleError)


class TestAnswersAhead:
    """Where all rows are one batch, the forward pass of the next epoch gives the answers, and nothing else changes."""

    rows = np.random.default_rng(0).normal(size=(60, 2)).astype(np.float32)
    images = np.random.default_rng(0).normal(size=(12, 1, 8, 8)).astype(np.float32)

    def bound(self, X, **options):
        base = {"module": "mlp", "module_options": {"hidden": (16,)}, "lr": 0.03}
        y = np.arange(len(X)) % 3
        return TorchLearner(**{**base, **options}).bind(X, y, 3, seed=0)

    @pytest.mark.parametrize("loss", ["cross-entropy", "logit-adjustment", "naive", "class-dro"])
    @pytest.mark.parametrize(("X", "module"), [(rows, "mlp"), (images, "mlp"), (images, "cnn-small")])
    def test_every_epoch_is_the_same_bit_by_bit(self, monkeypatch, X, module, loss):
        options = {"loss": loss, "module": module, "module_options": None}
        quick = train_for(self.bound(X, **options), 12)
        assert self.bound(X, **options).answers_ahead
        monkeypatch.setattr(TorchTraining, "answers_ahead", False)
        plain = train_for(self.bound(X, **options), 12)
        np.testing.assert_array_equal(quick[1], plain[1])
        for name, weights in plain[0].member.state.items():
            torch.testing.assert_close(quick[0].member.state[name], weights, rtol=0, atol=0)

    @pytest.mark.parametrize(
        "options", [{"head": "cosine"}, {"decay_epochs": 9, "warmup_epochs": 2}, {"optimizer": "sgd"}]
    )
    def test_rounds_are_the_same_bit_by_bit(self, monkeypatch, options):
        def rounds():
            training = self.bound(self.rows, optimizer_state="carry", **options)
            return [train_for(training, 5, seed=number) for number in range(3)]

        quick = rounds()
        monkeypatch.setattr(TorchTraining, "answers_ahead", False)
        for one, other in zip(quick, rounds(), strict=True):
            np.testing.assert_array_equal(one[1], other[1])
            for name, weights in other[0].member.state.items():
                torch.testing.assert_close(one[0].member.state[name], weights, rtol=0, atol=0)

    @pytest.mark.parametrize("name", list_networks())
    def test_networks_by_name_answer_alike_in_training_where_that_is_used(self, name):
        images = self.images.repeat(3, axis=1)
        training = self.bound(images, module=name, module_options=None)
        module, rows = training.runtime.module, torch.from_numpy(images)
        with torch.no_grad():
            alike = torch.equal(module.train()(rows), module.eval()(rows))
        assert training.answers_ahead == alike

    def test_an_epoch_is_one_forward_pass(self):
        training, passes = self.bound(self.rows), []
        training.runtime.module.register_forward_hook(lambda *_: passes.append(1))
        train_for(training, 10)
        assert len(passes) == 11

    def test_answers_about_other_rows_come_between(self):
        plain, asked = self.bound(self.rows), self.bound(self.rows)
        epochs = asked.epochs(np.ones(60), seed=0)
        other = asked.encoder.encode(self.rows[:7] + 1)
        for done, alone in zip(epochs, plain.epochs(np.ones(60), seed=0), strict=False):
            assert len(done.ask(other)) == 7
            np.testing.assert_array_equal(done.predictions, alone.predictions)
            if done.standing()["epoch"] == 5:
                break

    @pytest.mark.parametrize(
        "options",
        [
            {"batch_size": 59},
            {"eval_batch_size": 59},
            {"module": small, "module_options": None},
            {"loss": "influence-balanced"},
            {"X": images, "module": "cnn-medium", "module_options": None},
            {"X": images, "module": "mlp", "augment": "flip"},
            {"X": TensorDataset(torch.from_numpy(rows), torch.arange(60) % 3)},
        ],
        ids=lambda options: "-".join(options),
    )
    def test_not_where_answers_could_differ(self, options):
        assert not self.bound(**{"X": self.rows, **options}).answers_ahead


def test_images_lie_with_channels_last_and_answers_do_not_change():
    y = np.repeat([0, 1], 10)
    images = (np.random.default_rng(0).random((20, 3, 6, 6)) + y[:, None, None, None]).astype(np.float32)
    training = learner(convolution, batch_size=8, standardize=False).bind(images, y, 2, seed=0)
    trained, seen = train_for(training, 4)
    assert training.runtime.module[0].weight.is_contiguous(memory_format=torch.channels_last)
    plain = convolution((3, 6, 6), 2)
    plain.load_state_dict(trained.member.state)
    np.testing.assert_array_equal(plain(torch.from_numpy(images)).argmax(1).numpy(), seen[-1])


def test_epochs_cover_every_row_once_and_never_end_in_a_single_row():
    generator = torch.Generator().manual_seed(0)
    for n, size in [(33, 16), (32, 16), (5, 16), (17, 16), (1, 16), (49, 16)]:
        rows = TorchInputs(torch.arange(n))
        batches = [indices for _, indices in rows.batches(size, generator)]
        assert [len(batch) for batch in batches] == batch_sizes(n, size)
        assert sorted(torch.cat(batches).tolist()) == list(range(n))
        assert n == 1 or min(len(batch) for batch in batches) > 1
        again = [batch for batch, indices in rows.batches(size, generator) if torch.equal(batch, indices)]
        assert n < 20 or not torch.equal(torch.cat(batches), torch.cat(again))  # shuffled anew


def test_standardized_columns_train_where_raw_ones_do_not(blobs):
    X, y = blobs
    wild = X * [1e-4, 1e4] + [0, 1e5]
    model = fitted(learner(standardize=True), wild, y)
    assert model.bound_met_
    np.testing.assert_allclose(model.encoder_.mean, wild.mean(axis=0), rtol=1e-4)
    constant = np.column_stack([X, np.full(len(X), 3.0)])
    assert fitted(learner(standardize=True), constant, y).bound_met_


#: two images of two channels with two pixels each, as bytes; means 51 and 102 of 255
IMAGES = np.array([[[[0, 102]], [[102, 102]]], [[[0, 102]], [[102, 102]]]], np.uint8)


def bound_encoder(X, **options):
    return learner(small, **options).bind(X, np.arange(len(X)) % 2, 2, seed=0).encoder


@pytest.mark.parametrize("convert", [np.asarray, torch.from_numpy, lambda X: TensorDataset(torch.from_numpy(X))])
def test_images_are_normalised_by_channel(convert):
    encoder = bound_encoder(convert(IMAGES))
    np.testing.assert_allclose(encoder.mean, [[[0.2]], [[0.4]]], rtol=1e-6)
    np.testing.assert_allclose(encoder.std, [[[0.2]], [[1.0]]], rtol=1e-6)  # the second channel is constant
    np.testing.assert_allclose(encoder.to_float(torch.from_numpy(IMAGES)), [[[[-1, 1]], [[0, 0]]]] * 2, atol=1e-6)


def test_images_are_normalised_by_default_and_tables_only_on_demand(blobs):
    X, _ = blobs
    assert bound_encoder(IMAGES, standardize=False).mean is None
    assert bound_encoder(X).mean is None
    assert bound_encoder(X, standardize=True).mean.shape == (2,)


def test_means_and_deviations_of_many_chunks_are_those_of_all_rows(monkeypatch):
    monkeypatch.setattr(torch_inputs, "CHUNK_VALUES", 3 * 8)  # three images at a time
    images = np.random.default_rng(0).normal(5, 2, (11, 2, 2, 2)).astype(np.float32) * [[[1]], [[100]]]
    encoder = bound_encoder(images.astype(np.float32))
    np.testing.assert_allclose(encoder.mean[:, 0, 0], images.mean(axis=(0, 2, 3)), rtol=1e-5)
    np.testing.assert_allclose(encoder.std[:, 0, 0], images.std(axis=(0, 2, 3)), rtol=1e-5)


class TestTables:
    """Data frames with text and missing values, as they are."""

    def rows(self, seed=0):
        rng = np.random.default_rng(seed)
        y = np.arange(90) % 3
        colour = np.array(["red", "green", "blue"], dtype=object)[np.where(y == 2, 2, rng.integers(0, 2, 90))]
        size = np.where(y == 0, -3.0, 3.0) + rng.normal(0, 0.3, 90)
        size[::30] = np.nan
        return pd.DataFrame({"size": size, "colour": pd.Categorical(colour)}), y

    def test_a_network_takes_text_and_missing_values(self):
        X, y = self.rows()
        model = fitted(learner(), X, y)
        assert model.encoder_.table.get_feature_names_out().tolist() == [
            "size", *(f"colour_{name}" for name in model.encoder_.table.categories_[1])
        ]  # fmt: skip
        assert model.encoder_.row_shape == (4,)
        X_new, y_new = self.rows(seed=1)
        wrong = model.predict(X_new) != y_new
        assert wrong[~X_new["size"].isna()].mean() < 0.1

    def test_a_column_of_another_kind_is_refused(self):
        X, y = self.rows()
        model = fitted(learner(), X, y)
        with pytest.raises(DataError, match=r"'size' holds numbers in the training rows, and text here"):
            model.predict(X.assign(size="large"))

    @pytest.mark.parametrize("strange", ["x", np.nan], ids=["text", "missing"])
    def test_a_model_of_arrays_takes_data_frames_of_numbers_only(self, strange, blobs):
        X, y = blobs
        model = fitted(learner(), X, y)
        frame = pd.DataFrame(X)
        np.testing.assert_array_equal(model.predict(frame), model.predict(X))
        frame = frame.astype(object)
        frame.iloc[0, 0] = strange
        with pytest.raises(DataError, match="as the model was trained on an array of numbers"):
            model.predict(frame)

    def test_unknown_values_are_ignored(self):
        X, y = self.rows()
        model = fitted(learner(), X, y)
        assert len(model.predict(X.assign(colour="violet"))) == len(X)


def test_the_callers_random_streams_are_left_alone(blobs):
    X, y = blobs
    torch.manual_seed(5)
    np.random.seed(5)  # noqa: NPY002
    expected = torch.rand(3), np.random.rand(3)  # noqa: NPY002
    torch.manual_seed(5)
    np.random.seed(5)  # noqa: NPY002
    fitted(learner(with_dropout_and_norm, batch_size=16), X, y, n_rounds=2)
    assert torch.equal(torch.rand(3), expected[0])
    np.testing.assert_array_equal(np.random.rand(3), expected[1])  # noqa: NPY002


def test_same_seed_same_bits_and_another_seed_other_bits(blobs):
    X, y = blobs
    states = []
    for global_seed, seed in [(1, 0), (2, 0), (3, 1)]:
        torch.manual_seed(global_seed)
        model = fitted(learner(with_dropout_and_norm, batch_size=16), X, y, random_state=seed)
        states.append(torch.cat([member.state["0.weight"].flatten() for member in model.estimators_]))
    assert torch.equal(states[0], states[1])
    assert states[0].shape != states[2].shape or not torch.equal(states[0], states[2])


class TestRefusals:
    def test_a_module_of_the_wrong_width(self, blobs):
        with pytest.raises(ModuleError, match=r"one column for each of the 3 classes. Got \(2, 7\)"):
            fitted(learner(lambda: nn.Linear(2, 7)), *blobs)

    def test_a_module_that_returns_nan(self, blobs):
        class NotANumber(nn.Linear):
            def forward(self, x):
                return super().forward(x) * float("nan")

        with pytest.raises(ModuleError, match="NaN or infinite logits"):
            fitted(learner(lambda: NotANumber(2, 3)), *blobs)

    def test_a_module_that_breaks_down_later_keeps_the_finished_rounds(self, blobs):
        built = []

        class BreaksDown(nn.Linear):
            def forward(self, x):
                return super().forward(x) * (float("nan") if len(built) > 3 and self.training else 1.0)

        def factory():
            built.append(1)
            return BreaksDown(2, 3)

        X, y = blobs
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = fitted(learner(factory), X, y, n_rounds=5, theta=0.6)
        assert any(issubclass(w.category, UnmetEdgeWarning) and "NaN" in str(w.message) for w in caught)
        assert len(model.estimators_) == 2  # one build to look at, then a fresh network for each of rounds 1 and 2
        assert len(model.predict(X)) == len(y)

    def test_a_module_that_returns_no_tensor(self, blobs):
        class Pair(nn.Linear):
            def forward(self, x):
                return super().forward(x), x

        with pytest.raises(ModuleError, match="Got tuple"):
            fitted(learner(lambda: Pair(2, 3)), *blobs)

    def test_an_instance_instead_of_a_factory(self, blobs):
        with pytest.raises(ParameterError, match="Pass the class, or a function"):
            fitted(learner(nn.Linear(2, 3)), *blobs)

    def test_a_factory_that_returns_one_network_again_and_again(self, blobs):
        network = small((2,), 3)
        with pytest.raises(ParameterError, match="returned the same instance twice"):
            fitted(learner(lambda: network), *blobs)

    def test_a_factory_that_makes_something_else(self, blobs):
        with pytest.raises(ParameterError, match=r"returns a torch.nn.Module"):
            fitted(learner(lambda: 3), *blobs)

    def test_unknown_names_get_a_suggestion(self, blobs):
        with pytest.raises(UnknownNameError, match="Did you mean 'mlp'"):
            fitted(learner("mpl"), *blobs)
        with pytest.raises(UnknownNameError, match="Did you mean 'adam'"):
            fitted(learner(optimizer="adm"), *blobs)
        with pytest.raises(UnknownNameError, match="Did you mean 'cross-entropy'"):
            fitted(learner(loss="cross_entropy"), *blobs)
        with pytest.raises(UnknownNameError, match="Did you mean 'fresh'"):
            fitted(learner(start="frsh"), *blobs)
        with pytest.raises(UnknownOptionError, match="Did you mean 'hidden'"):
            fitted(learner("mlp", module_options={"hiden": (3,)}), *blobs)
        with pytest.raises(UnknownOptionError, match="Did you mean 'batch_size'"):
            TorchLearner("mlp", batchsize=3)

    @pytest.mark.parametrize(
        "options",
        [
            {"lr": 0},
            {"lr": -1},
            {"lr": "x"},
            {"batch_size": 0},
            {"batch_size": 1.5},
            {"standardize": "yes"},
            {"standardize": None},
            {"eval_batch_size": -1},
        ],
        ids=str,
    )
    def test_values_out_of_range(self, options, blobs):
        with pytest.raises(ParameterError, match=next(iter(options))):
            fitted(learner(**options), *blobs)

    def test_a_loss_that_is_reduced(self, blobs):
        with pytest.raises(ModuleError, match="reduction='none'"):
            fitted(learner(loss=nn.functional.cross_entropy), *blobs)

    def test_a_device_that_is_not_there(self, blobs):
        with pytest.raises(ParameterError, match="device"):
            fitted(learner(device="warp-drive"), *blobs)

    def test_rows_of_another_shape_at_prediction(self):
        y = np.repeat([0, 1], 10)
        images = np.random.default_rng(0).random((20, 1, 4, 4), dtype=np.float32) + y[:, None, None, None]
        model = fitted(learner(convolution), images, y, theta=0.5, n_rounds=1)
        with pytest.raises(DataError, match=r"shape \(1, 4, 4\).*Got \(1, 5, 5\)"):
            model.predict(np.zeros((3, 1, 5, 5), dtype=np.float32))


class TestAugmentation:
    def images(self):
        rng = np.random.default_rng(0)
        X = rng.integers(0, 256, (24, 1, 8, 8), dtype=np.uint8)
        return X, np.repeat([0, 1, 2], 8)

    def test_only_training_batches_are_changed(self):
        class Black(Augmentation):  # nothing left to learn from
            def __call__(self, batch, generator):
                return torch.zeros_like(batch)

        X, y = self.images()
        seen = []

        def watched(input_shape, n_classes):
            module = nn.Sequential(nn.Flatten(), nn.Linear(64, n_classes))
            module.register_forward_pre_hook(lambda part, args: seen.append((part.training, args[0].sum().item())))
            return module

        training = TorchLearner(watched, augment=Black(), batch_size=8, standardize=False).bind(X, y, 3, seed=0)
        seen.clear()
        train_for(training, 2)
        assert {total == 0 for is_training, total in seen if is_training} == {True}
        assert {total == 0 for is_training, total in seen if not is_training} == {False}

    @pytest.mark.parametrize("batch_size", [8, 512])  # 512: one batch, whose forward must not count as the evaluation
    def test_answers_are_on_the_images_as_they_are(self, batch_size):
        X, y = self.images()
        training = TorchLearner("cnn-small", augment="crop-flip", batch_size=batch_size).bind(X, y, 3, seed=0)
        trained, seen = train_for(training, 3)
        np.testing.assert_array_equal(trained.member.predict(training.inputs), seen[-1])

    def test_the_seed_fixes_it_and_it_has_an_effect(self):
        X, y = self.images()
        states = {}
        for name, augment, seed in (("a", "crop-flip", 1), ("again", "crop-flip", 1), ("none", "none", 1)):
            training = TorchLearner("cnn-small", augment=augment, batch_size=8).bind(X, y, 3, seed=0)
            states[name] = next(iter(train_for(training, 2, seed=seed)[0].member.state.values()))
        assert torch.equal(states["a"], states["again"])
        assert not torch.equal(states["a"], states["none"])

    def test_tables_and_unknown_names_are_refused(self, blobs):
        X, y = blobs
        with pytest.raises(ParameterError, match=r"augment.*images"):
            fitted(learner(augment="flip"), X, y)
        with pytest.raises(UnknownNameError, match="crop-flip"):
            fitted(learner(augment="crop-flop"), X, y)
        with pytest.raises(ParameterError, match="augment"):
            fitted(learner(augment=3), X, y)


def test_the_optimizer_state_is_fresh_or_carried_into_the_next_round():
    X, y = np.random.default_rng(0).normal(size=(40, 2)).astype(np.float32), np.arange(40) % 2

    def steps_after_two_rounds(optimizer_state):
        seen = []

        def optimizer(parameters, lr):
            made = torch.optim.Adam(parameters, lr=lr)
            seen.append(made)
            return made

        learner = TorchLearner(
            "mlp", module_options={"hidden": (4,)}, optimizer=optimizer, optimizer_state=optimizer_state
        )
        training = learner.bind(learner.check_X(X), y, 2, seed=0)
        for seed in (1, 2):
            epochs = iter([Verdict.KEEP, Verdict.DONE])
            training.train(np.ones(40), lambda _, epochs=epochs: next(epochs), seed)
        return int(next(iter(seen[-1].state.values()))["step"])

    assert steps_after_two_rounds("fresh") == 2
    assert steps_after_two_rounds("carry") == 4


def test_an_unknown_optimizer_state_is_refused():
    learner = TorchLearner("mlp", optimizer_state="keep")
    with pytest.raises(UnknownNameError, match=r"optimizer_state.*carry"):
        learner.bind(np.zeros((4, 2), dtype=np.float32), np.array([0, 1, 0, 1]), 2, seed=0)


class TestDecay:
    @pytest.mark.parametrize(
        ("options", "expected"),
        [
            # factors (1 + cos(pi t / 4)) / 2 for t = 0, 1, 2, 3, then 0
            ({"decay_epochs": 2}, [1, 0.853553, 0.5, 0.146447, 0, 0]),
            ({}, [1, 1, 1, 1, 1, 1]),
            ({"warmup_epochs": 2}, [0.25, 0.5, 0.75, 1, 1, 1]),
            # up over two steps, then (1 + cos(pi t / 2)) / 2 for t = 0, 1, then 0
            ({"decay_epochs": 2, "warmup_epochs": 1}, [0.5, 1, 1, 0.5, 0, 0]),
            ({"decay_epochs": 1, "warmup_epochs": 2}, [0.25, 0.5, 0.75, 1, 1, 0]),
        ],
    )
    def test_the_learning_rate_rises_stays_or_falls_along_half_a_cosine(self, options, expected):
        optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.5)
        schedule, rates = TorchLearner("mlp", lr=0.5, **options).new_schedule(optimizer, steps_per_epoch=2), []
        for _ in range(6):
            rates.append(optimizer.param_groups[0]["lr"])
            optimizer.step()
            schedule.step()
        assert rates == pytest.approx([0.5 * share for share in expected], abs=1e-6)

    def test_epochs_beyond_the_last_change_nothing(self):
        X, y = load_iris(return_X_y=True)
        learner = TorchLearner("mlp", module_options={"hidden": (8,)}, lr=0.01, decay_epochs=3, batch_size=50)
        three, five = (
            NetworkClassifier(learner, max_epochs=n, random_state=0).fit(X, y).history_[-1].correct for n in (3, 5)
        )
        assert three == five

    @pytest.mark.parametrize("bad", [0, -1, 1.5, "long"])
    def test_bad_values(self, bad):
        X, y = load_iris(return_X_y=True)
        with pytest.raises(ParameterError, match="decay_epochs"):
            TorchLearner("mlp", decay_epochs=bad).bind(X, y, 3, 0)

    @pytest.mark.parametrize("bad", [-1, 1.5, None])
    def test_bad_warm_up(self, bad):
        X, y = load_iris(return_X_y=True)
        with pytest.raises(ParameterError, match="warmup_epochs"):
            TorchLearner("mlp", warmup_epochs=bad).bind(X, y, 3, 0)


def test_images_with_channels_last_are_a_warning():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 8, 8, 3)).astype(np.float32), np.arange(12) % 2
    model = NetworkClassifier(learner(), max_epochs=1, random_state=0)
    with pytest.warns(WorstClassWarning, match=r"8 channels and 8 x 3 pixels.*permute\(0, 3, 1, 2\)"):
        model.fit(X, y)
    model.fit(X.transpose(0, 3, 1, 2), y)
    with pytest.warns(WorstClassWarning, match="8 channels and 8 x 3 pixels"):
        portfolio_for("auto", X, y)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"optimizer": torch.optim.SGD([torch.zeros(1)])}, "called with \\(parameters, lr=lr\\). Got 'SGD'"),
        ({"loss": nn.CrossEntropyLoss}, "such as CrossEntropyLoss\\(reduction='none'\\)"),
    ],
)
def test_what_should_be_a_function_or_an_instance(blobs, options, told):
    with pytest.raises(ParameterError, match=told):
        fitted(learner(**options), *blobs)


def test_an_error_names_no_estimator_that_was_not_used(blobs):
    X, y = blobs
    with pytest.raises(DataError, match="Input X contains NaN") as caught:
        NetworkClassifier(learner(), max_epochs=1).fit(np.where(X > 1, np.nan, X), y)
    assert "Booster" not in str(caught.value)
