"""Single networks and ensembles of them: which pass is kept, what ends training, and what the loop gives to losses."""

from __future__ import annotations

import pickle
import warnings
from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.utils.estimator_checks import parametrize_with_checks
from torch import nn
from torch.nn.functional import cross_entropy

from worstclass import TorchLearner, load_dataset
from worstclass.data.labels import Labels
from worstclass.ensembles.epochs import EpochChoice
from worstclass.ensembles.networks import DeepEnsemble, NetworkClassifier
from worstclass.exceptions import DataError, ModuleError, ParameterError, UnknownNameError, UnknownOptionError
from worstclass.learners import budget as budget_module
from worstclass.learners.base import Epoch, Verdict
from worstclass.learners.budget import Meter
from worstclass.losses import build_loss
from worstclass.losses.base import Loss
from worstclass.losses.cross_entropy import CrossEntropy
from worstclass.losses.weighting import Deferred, InverseFrequency, Weighted
from worstclass.networks.heads import find_head


def plain(input_shape, n_classes):
    return nn.Sequential(nn.Linear(input_shape[0], 16), nn.ReLU(), nn.Linear(16, n_classes))


def with_dropout_and_norm(input_shape, n_classes):
    return nn.Sequential(
        nn.Linear(input_shape[0], 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, n_classes)
    )


def learner(module=plain, **options):
    return TorchLearner(module, **{"lr": 0.02, **options})


def one(module=plain, *, max_epochs=10, patience=None, max_seconds=None, select_on="worst", seed=0, **options):
    limits = {"max_epochs": max_epochs, "patience": patience, "max_seconds": max_seconds}
    return NetworkClassifier(learner(module, **options), **limits, select_on=select_on, random_state=seed)


def several(module=plain, *, seed=0, n_estimators="auto", gamma="auto", max_epochs=None, max_seconds=None, **options):
    limits = {"max_epochs": max_epochs, "max_seconds": max_seconds}
    return DeepEnsemble(learner(module, **options), n_estimators=n_estimators, gamma=gamma, **limits, random_state=seed)


@pytest.fixture(scope="module")
def overlapping():
    """Two large classes and a small one that lies between them; the same again to validate."""

    def draw(seed, sizes):
        rng = np.random.default_rng(seed)
        centres = [[0, 0], [2, 0], [1, 0.3]]
        X = np.concatenate([rng.normal(centre, 0.7, size=(n, 2)) for centre, n in zip(centres, sizes, strict=True)])
        return X, np.repeat(["a", "b", "c"], sizes)

    return *draw(0, [60, 60, 15]), *draw(1, [40, 40, 10])


def codes(y):
    return np.unique(y, return_inverse=True)[1]


def same_bits(one, other):
    assert one.keys() == other.keys()
    return all(torch.equal(one[name], other[name]) for name in one)


# which pass is kept


def errors(correct, totals):
    """Worst-class error and error over all rows, from counts."""
    wrong = [(n - c, n) for c, n in zip(correct, totals, strict=True) if n]
    return max(w / n for w, n in wrong), sum(w for w, _ in wrong) / sum(n for _, n in wrong)


def best_of(counts, select_on):
    """Number of the first pass of those with the least error, the other error deciding among equals."""
    ranked = [errors(*pair) if select_on == "worst" else errors(*pair)[::-1] for pair in counts]
    rounded = [(round(first, 9), round(second, 9)) for first, second in ranked]
    return rounded.index(min(rounded)) + 1


class TestChoiceByHand:
    # class 0 has rows 0 to 3 and class 1 has row 4; worst-class and average error of each pass:
    answers = (
        [1, 1, 1, 1, 0],  # 1, 1
        [0, 0, 0, 0, 0],  # 1, 1/5
        [0, 0, 1, 1, 1],  # 1/2, 2/5
        [0, 0, 1, 1, 1],  # the same
        [0, 0, 0, 1, 0],  # 1, 2/5
    )
    labels = Labels(np.array(["a", "b"]), np.array([0, 0, 0, 0, 1]))

    def verdicts(self, answers, select_on, *, validation=None, max_epochs=100, patience=None, meter=None):
        meter = meter or Meter()
        choice = EpochChoice(
            self.labels, validation, select_on=select_on, max_epochs=max_epochs, patience=patience, meter=meter
        )
        told = []
        for answer in answers:
            told.append(choice(Epoch(np.array(answer), lambda inputs: np.asarray(inputs), lambda: None)))
            if told[-1] in (Verdict.DONE, Verdict.GIVE_UP):
                break
        return [verdict.name for verdict in told], choice

    def test_the_worst_class_chooses(self):
        told, choice = self.verdicts(self.answers, "worst")
        assert told == ["KEEP", "KEEP", "KEEP", "GO_ON", "GO_ON"]  # the second by its average, the fourth is no better
        assert choice.best.epoch == 3

    def test_the_average_chooses(self):
        told, choice = self.verdicts(self.answers, "average")
        assert told == ["KEEP", "KEEP", "GO_ON", "GO_ON", "GO_ON"]
        assert choice.best.epoch == 2

    def test_among_equal_averages_the_worst_class_decides(self):
        told, choice = self.verdicts([self.answers[4], self.answers[2]], "average")
        assert (told, choice.best.epoch) == (["KEEP", "KEEP"], 2)
        told, choice = self.verdicts([self.answers[2], self.answers[4]], "average")
        assert (told, choice.best.epoch) == (["KEEP", "GO_ON"], 1)

    def test_validation_rows_choose_where_there_are_any(self):
        # the network's answers on the validation rows are always the same, whatever it learns on the training rows
        validation = (np.array([0, 1]), Labels(np.array(["a", "b"]), np.array([0, 0])))
        told, choice = self.verdicts(self.answers, "worst", validation=validation)
        assert told == ["KEEP"] + ["GO_ON"] * 4
        assert (choice.best.epoch, choice.best.val_correct, choice.best.val_totals) == (1, (1, 0), (2, 0))

    def test_patience_counts_epochs_without_progress(self):
        told, choice = self.verdicts(self.answers, "average", patience=3)
        assert told == ["KEEP", "KEEP", "GO_ON", "GO_ON", "GIVE_UP"]
        assert choice.best.epoch == 2
        assert self.verdicts(self.answers, "average", patience=2)[0][-1] == "GIVE_UP"
        assert len(self.verdicts(self.answers, "average", patience=2)[0]) == 4
        assert "GIVE_UP" not in self.verdicts(self.answers, "average", patience=4)[0]

    def test_the_last_pass_is_taken_or_not(self):
        assert self.verdicts(self.answers, "worst", max_epochs=3)[0] == ["KEEP", "KEEP", "DONE"]
        assert self.verdicts(self.answers, "worst", max_epochs=4)[0] == ["KEEP", "KEEP", "KEEP", "GIVE_UP"]

    def test_a_shared_budget_ends_it(self):
        meter = Meter(max_epochs=5)
        assert len(self.verdicts(self.answers[:3], "worst", meter=meter)[0]) == 3
        assert self.verdicts(self.answers, "worst", meter=meter)[0] == ["KEEP", "DONE"]


@pytest.mark.parametrize("batch_size", [512, 16])
def test_worst_and_average_keep_different_epochs_each_the_best_by_its_own_error(overlapping, batch_size):
    X, y, X_val, y_val = overlapping
    used = {}
    for select_on in ("worst", "average"):
        model = one(max_epochs=60, select_on=select_on, batch_size=batch_size, loss="naive", lr=0.05).fit(
            X, y, X_val, y_val
        )
        assert len(model.history_) == model.n_epochs_ == 60
        counts = [(record.val_correct, record.val_totals) for record in model.history_]
        used[select_on] = model.best_epoch_
        assert model.best_epoch_ == best_of(counts, select_on)
        # the network that answers is that of the pass: same counts on both sets of rows
        kept = model.history_[model.best_epoch_ - 1]
        for rows, labels, correct in ((X, y, kept.correct), (X_val, y_val, kept.val_correct)):
            right = model.predict(rows) == labels
            assert tuple(int(right[labels == name].sum()) for name in "abc") == correct
        worst, average = errors(kept.val_correct, kept.val_totals)
        assert model.validation_report_.worst_error == pytest.approx(worst)
        assert model.validation_report_.plain_error == pytest.approx(average)
        assert model.training_report_.worst_error == pytest.approx(errors(kept.correct, kept.class_totals)[0])
    assert used["worst"] != used["average"]


@pytest.mark.parametrize("select_on", ["worst", "average"])
def test_training_rows_choose_where_there_are_no_others(overlapping, select_on):
    X, y, X_val, y_val = overlapping
    model = one(max_epochs=40, select_on=select_on, loss="naive").fit(X, y)
    counts = [(record.correct, record.class_totals) for record in model.history_]
    assert model.best_epoch_ == best_of(counts, select_on) < 40
    assert model.validation_report_ is None
    assert all(record.val_correct is None and record.validation is None for record in model.history_)
    chosen_by_others = one(max_epochs=40, select_on=select_on, loss="naive").fit(X, y, X_val, y_val)
    assert [record.correct for record in chosen_by_others.history_] == [record.correct for record in model.history_]


# what ends training


def test_patience_ends_training_that_many_epochs_after_the_best(overlapping):
    X, y, X_val, y_val = overlapping
    model = one(max_epochs=None, patience=5).fit(X, y, X_val, y_val)
    assert model.n_epochs_ == len(model.history_) == model.best_epoch_ + 5
    full = one(max_epochs=model.n_epochs_).fit(X, y, X_val, y_val)
    assert full.best_epoch_ == model.best_epoch_
    assert same_bits(full.estimators_[0].state, model.estimators_[0].state)


def test_without_any_limit_training_is_refused(overlapping):
    with pytest.raises(ParameterError, match=r"unless max_seconds or patience ends the training\. Got None"):
        one(max_epochs=None).fit(*overlapping[:2])


@pytest.fixture
def second_a_step(monkeypatch):
    """A loss in which each step of the optimizer takes a second, by a clock that stands still otherwise."""
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(budget_module, "time", SimpleNamespace(perf_counter=lambda: clock.now))

    def loss(logits, target):
        clock.now += 1.0
        return cross_entropy(logits, target, reduction="none")

    return loss


@pytest.mark.parametrize("max_epochs", [None, 100])
def test_time_ends_training_with_the_best_pass_so_far(overlapping, second_a_step, max_epochs):
    X, y, X_val, y_val = overlapping
    model = one(max_epochs=max_epochs, max_seconds=7, loss=second_a_step).fit(X, y, X_val, y_val)
    assert model.n_epochs_ == len(model.history_) == 7
    assert [record.seconds for record in model.history_] == [1, 2, 3, 4, 5, 6, 7]
    assert model.best_epoch_ == best_of([(r.val_correct, r.val_totals) for r in model.history_], "worst")
    assert set(model.predict(X)) <= {"a", "b", "c"}
    spent_at_once = one(max_epochs=max_epochs, max_seconds=0.01, loss=second_a_step).fit(X, y)
    assert (spent_at_once.n_epochs_, spent_at_once.best_epoch_) == (1, 1)


def test_time_ends_an_ensemble_with_the_networks_it_has(overlapping, second_a_step):
    X, y, *_ = overlapping
    model = several(n_estimators=10, max_epochs=30, max_seconds=5, loss=second_a_step).fit(X, y)
    # three epochs each: the first is done after 3 seconds, the second is cut after 5, no third is begun
    assert (len(model.estimators_), model.n_epochs_) == (2, 5)
    assert [(record.member, record.epoch) for record in model.history_] == [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2)]
    assert model.predict_proba(X).shape == (135, 3)


# validation leaves training alone

LOSSES = {
    "ce": "cross-entropy",
    "ib": build_loss("influence-balanced", after=2),
    "ib+drw": build_loss("influence-balanced", Deferred(InverseFrequency(), after=2), after=2, class_factor=False),
    "naive": build_loss("naive"),
    "dro": build_loss("class-dro", step=0.5),
}


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES.keys())
@pytest.mark.parametrize("module", [plain, with_dropout_and_norm])
@pytest.mark.parametrize("batch_size", [512, 16])
def test_asking_about_validation_rows_does_not_change_training(overlapping, loss, module, batch_size):
    X, y, X_val, _ = overlapping

    def member(asked):
        training = learner(module, loss=loss, batch_size=batch_size, eval_batch_size=50).bind(X, codes(y), 3, seed=0)
        inputs, seen = training.encoder.encode(X_val), []

        def stop(done):
            seen.extend(done.ask(inputs) for _ in range(asked))
            stop.epochs += 1
            return Verdict.DONE if stop.epochs == 6 else Verdict.GO_ON

        stop.epochs = 0
        trained = training.train(np.ones(len(y)), stop, seed=1)
        if asked:
            np.testing.assert_array_equal(seen[-1], trained.member.predict(inputs))
        return trained

    silent, asked = member(0), member(2)
    assert same_bits(silent.member.state, asked.member.state)
    np.testing.assert_array_equal(silent.predictions, asked.predictions)


@pytest.mark.parametrize("loss", ["cross-entropy", LOSSES["ib"]], ids=["ce", "ib"])
@pytest.mark.parametrize("module", [plain, with_dropout_and_norm])
@pytest.mark.parametrize("batch_size", [512, 16])
def test_training_rows_that_validate_choose_the_same_network(overlapping, loss, module, batch_size):
    X, y, *_ = overlapping
    silent = one(module, loss=loss, batch_size=batch_size).fit(X, y)
    asked = one(module, loss=loss, batch_size=batch_size).fit(X, y, X, y)
    assert same_bits(silent.estimators_[0].state, asked.estimators_[0].state)
    assert [record.correct for record in silent.history_] == [record.val_correct for record in asked.history_]


# records, randomness, parameters


def test_records_say_what_is_known_of_each_pass_and_survive_json(overlapping):
    X, y, X_val, y_val = overlapping
    model = several(n_estimators=2, max_epochs=7).fit(X, y, X_val, y_val)
    assert [(record.member, record.epoch) for record in model.history_] == [
        *((1, epoch) for epoch in (1, 2, 3, 4)),
        *((2, epoch) for epoch in (1, 2, 3)),
    ]
    for record in model.history_:
        assert (record.class_totals, record.val_totals) == ((60, 60, 15), (40, 40, 10))
        assert record.seconds >= 0
        assert record.training.correct.tolist() == list(record.correct)


@pytest.mark.parametrize("model", [one(max_epochs=5), several(n_estimators=2, max_epochs=6)], ids=["one", "several"])
def test_same_seed_same_bits_whatever_the_callers_streams(model, overlapping):
    X, y, *_ = overlapping
    states = []
    for global_seed, seed in [(1, 0), (2, 0), (3, 1)]:
        torch.manual_seed(global_seed)
        np.random.seed(global_seed)  # noqa: NPY002
        before = torch.get_rng_state()
        noisy = clone(model).set_params(learner__module=with_dropout_and_norm, random_state=seed).fit(X, y)
        assert torch.equal(torch.get_rng_state(), before)
        states.append([member.state for member in noisy.estimators_])
    assert all(same_bits(a, b) for a, b in zip(states[0], states[1], strict=True))
    assert not same_bits(states[0][0], states[2][0])


def test_a_fitted_model_survives_pickling_and_still_answers(overlapping):
    X, y, *_ = overlapping
    for model in (one(loss=LOSSES["ib"]).fit(X, y), several(n_estimators=2, max_epochs=4).fit(X, y)):
        thawed = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(thawed.predict_proba(X), model.predict_proba(X))
        assert thawed.history_ == model.history_


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"max_epochs": 0}, "'max_epochs' parameter of NetworkClassifier must be a positive whole number"),
        ({"max_epochs": 1.5}, "max_epochs"),
        ({"patience": 0}, "'patience' parameter"),
        ({"max_seconds": -1}, "'max_seconds' parameter"),
        ({"max_seconds": float("nan")}, "'max_seconds' parameter"),
        ({"seed": -1}, "'random_state' parameter"),
        ({"loss": 3}, "'function' parameter"),
    ],
    ids=str,
)
def test_values_out_of_range(overlapping, options, told):
    with pytest.raises(ParameterError, match=told):
        one(**options).fit(*overlapping[:2])


def test_unknown_names_and_options_get_a_suggestion(overlapping):
    with pytest.raises(UnknownNameError, match="Did you mean 'average'"):
        one(select_on="avrage").fit(*overlapping[:2])
    with pytest.raises(UnknownOptionError, match="NetworkClassifier has no option 'max_epoch'"):
        NetworkClassifier(learner(), max_epoch=3)
    with pytest.raises(UnknownOptionError, match="DeepEnsemble has no option 'members'"):
        several().set_params(members=3)


def test_only_networks_are_trained_this_way(overlapping):
    with pytest.raises(ParameterError, match="'learner' parameter of NetworkClassifier must be a TorchLearner"):
        NetworkClassifier(LogisticRegression()).fit(*overlapping[:2])
    with pytest.raises(ParameterError, match="'learner' parameter of DeepEnsemble must be a TorchLearner"):
        DeepEnsemble(LogisticRegression(), max_epochs=2).fit(*overlapping[:2])


def test_validation_rows_and_labels_go_together_and_are_of_known_classes(overlapping):
    X, y, X_val, y_val = overlapping
    with pytest.raises(DataError, match="X_val and y_val go together"):
        one().fit(X, y, X_val)
    with pytest.raises(DataError, match=r"y_val has labels that the training rows do not have: \['d'\]"):
        one().fit(X, y, X_val, np.where(y_val == "c", "d", y_val))
    with pytest.raises(DataError, match="features"):
        one().fit(X, y, X_val[:, :1], y_val)


class Headless(nn.Module):
    """Answers logits without a linear layer."""

    def __init__(self, input_shape, n_classes):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(input_shape[0], n_classes))

    def forward(self, x):
        return x @ self.weight


class Diverges(nn.Linear):
    def forward(self, x):
        return super().forward(x) * (float("nan") if self.training else 1.0)


@pytest.mark.parametrize(
    ("change", "width", "error"),
    [
        ({"max_epochs": 0}, 2, ParameterError),
        ({"learner__lr": -1.0}, 2, ParameterError),
        ({"learner__module": Headless, "learner__loss": LOSSES["ib"]}, 4, ModuleError),
        ({"learner__module": lambda: Diverges(4, 3)}, 4, ModuleError),
        ({"learner__loss": cross_entropy}, 4, ModuleError),
    ],
    ids=["limit", "rate", "no head", "diverges", "reduced loss"],
)
@pytest.mark.parametrize("model", [one(max_epochs=5), several(n_estimators=2, max_epochs=6)], ids=["one", "several"])
def test_a_refused_refit_leaves_the_earlier_fit_as_it_was(model, change, width, error, overlapping):
    X, y, *_ = overlapping
    model = clone(model).fit(X, y)
    before, fitted = model.predict_proba(X), {k: v for k, v in vars(model).items() if k.endswith("_")}
    model.set_params(**change)
    with pytest.raises(error):
        model.fit(np.tile(X, (1, width // 2)), y)
    assert {k: v for k, v in vars(model).items() if k.endswith("_")} == fitted
    np.testing.assert_array_equal(model.predict_proba(X), before)


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
def test_rows_far_out_of_range_are_refused_not_answered(overlapping):
    X, y, *_ = overlapping
    model = one().fit(X, y)
    with pytest.raises(ModuleError, match="NaN or infinite logits"):
        model.predict(np.full((1, 2), 1e300))


@pytest.mark.filterwarnings("ignore::worstclass.exceptions.WorstClassWarning")
@parametrize_with_checks(
    [
        NetworkClassifier(
            TorchLearner("mlp", module_options={"hidden": (16,)}, lr=0.05, standardize=True), max_epochs=40
        ),
        DeepEnsemble(
            TorchLearner("mlp", module_options={"hidden": (16,)}, lr=0.05, standardize=True),
            n_estimators=2,
            max_epochs=50,
        ),
    ],
    expected_failed_checks=lambda estimator: {
        "check_sample_weight_equivalence_on_dense_data": "rows that are left out change the batches and the scaling"
    },
)
def test_they_are_scikit_learn_classifiers(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


# ensembles


class TestDeepEnsemble:
    def test_members_are_independent_networks(self, overlapping):
        X, y, *_ = overlapping
        model = several(n_estimators=3, max_epochs=9).fit(X, y)
        states = [member.state for member in model.estimators_]
        assert not any(same_bits(states[i], states[j]) for i, j in ((0, 1), (0, 2), (1, 2)))
        # a network does not depend on those before it: the first of three is the only one of one with as many epochs
        alone = one(max_epochs=3).fit(X, y)
        assert same_bits(states[0], alone.estimators_[0].state)
        fewer = several(n_estimators=2, max_epochs=6).fit(X, y)
        assert same_bits(states[1], fewer.estimators_[1].state)

    @pytest.mark.parametrize(
        ("n_estimators", "max_epochs", "shares"),
        [(3, 7, [3, 2, 2]), (3, 9, [3, 3, 3]), (4, 4, [1, 1, 1, 1]), (1, 5, [5]), (np.int64(2), 3, [2, 1])],
    )
    def test_the_epochs_are_shared_out(self, overlapping, n_estimators, max_epochs, shares):
        model = several(n_estimators=n_estimators, max_epochs=max_epochs).fit(*overlapping[:2])
        epochs = [record.member for record in model.history_]
        assert [epochs.count(number) for number in range(1, len(shares) + 1)] == shares
        assert (len(model.estimators_), model.n_epochs_) == (len(shares), max_epochs)

    @pytest.mark.parametrize(
        ("max_epochs", "n_estimators"),
        [(20, 9), (9, 9), (5, 5), (1, 1)],  # gamma 0.4995, 3 classes: T = ceil(2 ln 3 / 0.2495) = ceil(8.81) = 9
    )
    def test_auto_is_the_boosters_number_of_rounds_and_at_most_one_a_pass(self, overlapping, max_epochs, n_estimators):
        model = several(gamma=0.4995, max_epochs=max_epochs).fit(*overlapping[:2])
        assert (len(model.estimators_), model.n_epochs_) == (n_estimators, max_epochs)

    def test_without_a_budget_each_has_the_epochs_of_a_single_network(self, overlapping):
        X, y, *_ = overlapping
        model = several(n_estimators=2).fit(X, y)
        epochs = [record.member for record in model.history_]
        assert (epochs.count(1), epochs.count(2)) == (200, 200)

    def test_the_answer_is_the_mean_of_the_probabilities(self, overlapping):
        X, y, *_ = overlapping
        model = several(n_estimators=3, max_epochs=30).fit(X, y)
        total = torch.zeros(len(X), 3, dtype=torch.float64)
        for member in model.estimators_:
            network = plain((2,), 3)
            network.load_state_dict(member.state)
            total += network(torch.tensor(X, dtype=torch.float32)).double().softmax(1).detach()
        np.testing.assert_allclose(model.predict_proba(X), total.numpy() / 3, atol=1e-6)
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
        np.testing.assert_array_equal(model.predict(X), np.array(["a", "b", "c"])[total.argmax(1).numpy()])

    def test_a_confident_network_outweighs_two_that_waver(self):
        # probabilities of class 0: 0.9, 0.4, 0.4 - their mean 0.567 answers 0, where a vote would answer 1
        model = several(n_estimators=3, max_epochs=3, module=lambda: nn.Linear(1, 2)).fit([[0.0], [1.0]], [0, 1])
        for member, p in zip(model.estimators_, (0.9, 0.4, 0.4), strict=True):
            member.state["weight"].zero_()
            member.state["bias"].copy_(torch.tensor([p, 1 - p]).log())
        np.testing.assert_allclose(model.predict_proba([[5.0]]), [[1.7 / 3, 1.3 / 3]], atol=1e-6)
        assert model.predict([[5.0]]).tolist() == [0]

    @pytest.mark.parametrize("start", ["same", "warm"])
    def test_a_common_start_is_refused(self, overlapping, start):
        with pytest.raises(ParameterError, match=rf"start='fresh': the networks are independent. Got '{start}'"):
            several(n_estimators=2, max_epochs=2, start=start).fit(*overlapping[:2])

    @pytest.mark.parametrize(
        ("options", "told"),
        [
            ({"n_estimators": 0}, "'n_estimators' parameter of DeepEnsemble must be a positive whole number or 'auto'"),
            ({"n_estimators": 2.0}, "n_estimators"),
            ({"n_estimators": True}, "n_estimators"),
            ({"n_estimators": "many"}, "n_estimators"),
            ({"n_estimators": 5, "max_epochs": 4}, "at least one epoch for each of the 5 networks"),
            ({"gamma": 0.7}, "'gamma' parameter of DeepEnsemble"),
        ],
        ids=str,
    )
    def test_values_out_of_range(self, overlapping, options, told):
        with pytest.raises(ParameterError, match=told):
            several(**{"max_epochs": 10, **options}).fit(*overlapping[:2])


# what the loop gives to losses


@dataclass(frozen=True)
class Spy(Loss):
    """A loss that is watched: ``seen`` hears of every batch."""

    loss: Loss
    seen: list = field(compare=False)

    def __deepcopy__(self, memo):
        return self  # a learner is cloned, and its parameters with it

    def bind(self, class_counts):
        criterion = self.loss.bind(class_counts)

        def watched(logits, target, features=None, epoch=1):
            losses = criterion(logits, target, features, epoch)
            self.seen.append((epoch, logits.detach(), target, losses.detach()))
            return losses

        return watched


def trained_with(loss, X, y, *, module=plain, batch_size=512, epochs=5, seed=1, training=None):
    """Train; return the training and the state of the network after each pass."""
    training = training or learner(module, loss=loss, batch_size=batch_size, start="same").bind(X, codes(y), 3, seed=0)
    states = []

    def stop(done):
        states.append(done.snapshot().state)
        return Verdict.DONE if len(states) == epochs else Verdict.GO_ON

    training.train(np.ones(len(y)), stop, seed)
    return training, states


@pytest.mark.parametrize("batch_size", [512, 16])
def test_every_epoch_is_trained_in_training_mode_whatever_was_asked_before_it(overlapping, batch_size):
    X, y, *_ = overlapping
    modes = []

    def watches(logits, target):
        modes.append(training.runtime.module.training)
        return cross_entropy(logits, target, reduction="none")

    options = {"loss": watches, "batch_size": batch_size, "start": "same"}
    training = learner(with_dropout_and_norm, **options).bind(X, codes(y), 3, seed=0)
    _, states = trained_with(None, X, y, training=training)
    assert states[-1]["1.num_batches_tracked"] == 5 * training.steps_per_epoch
    assert len(modes) == 5 * training.steps_per_epoch
    assert all(modes)


@pytest.mark.parametrize("batch_size", [512, 16])
def test_deferred_weights_begin_after_their_pass(overlapping, batch_size):
    X, y, *_ = overlapping
    seen = []
    trained_with(
        Spy(Weighted(CrossEntropy(), Deferred(InverseFrequency(), after=2)), seen), X, y, batch_size=batch_size
    )
    assert sorted({epoch for epoch, *_ in seen}) == [1, 2, 3, 4, 5]
    # 1/60, 1/60, 1/15, brought to a sum of 3: 1/2, 1/2, 2
    late = torch.tensor([0.5, 0.5, 2.0])
    for epoch, logits, target, losses in seen:
        weight = torch.ones(3) if epoch <= 2 else late
        torch.testing.assert_close(losses, cross_entropy(logits, target, reduction="none") * weight[target])


@pytest.mark.parametrize("module", [plain, with_dropout_and_norm])
@pytest.mark.parametrize("batch_size", [512, 16])
def test_features_are_what_enters_the_head_in_the_same_forward_pass(overlapping, module, batch_size):
    X, y, *_ = overlapping
    heads, checked = [], []

    def checks(logits, target, features=None, epoch=1):
        assert torch.equal(heads[0](features), logits)
        assert features.requires_grad  # the graph reaches through them
        checked.append(features.shape)
        return cross_entropy(logits, target, reduction="none")

    class ChecksLoss(Loss):
        needs_features = True

        def bind(self, class_counts):
            return checks

    training = learner(module, loss=ChecksLoss(), batch_size=batch_size).bind(X, codes(y), 3, seed=0)
    heads.append(find_head(training.runtime.module, 3))
    trained_with(None, X, y, training=training)
    assert len(checked) == 5 * training.steps_per_epoch
    assert sum(rows for rows, _ in checked) == 5 * len(y)
    assert {width for _, width in checked} == {16}
    assert not heads[0]._forward_pre_hooks  # nothing is left on the network


def test_an_interrupted_training_leaves_no_hooks_on_the_network(overlapping):
    X, y, *_ = overlapping
    training = learner(loss=LOSSES["ib"]).bind(X, codes(y), 3, seed=0)

    def interrupt(done):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:  # the traceback is alive, and with it the frames of the loop
        training.train(np.ones(len(y)), interrupt, seed=0)
    assert caught.traceback
    assert not any(part._forward_pre_hooks for part in training.runtime.module.modules())


def test_class_weights_of_dro_start_anew_in_every_training(overlapping):
    X, y, *_ = overlapping
    loss = build_loss("class-dro", step=1.0)
    training, first = trained_with(loss, X, y)
    _, second = trained_with(loss, X, y, training=training)
    assert all(same_bits(a, b) for a, b in zip(first, second, strict=True))
    _, longer = trained_with(loss, X, y, epochs=8)
    assert not same_bits(first[0], longer[5])  # the weights, or the network, did move


def test_influence_needs_a_head_that_can_be_found(overlapping):
    with pytest.raises(ModuleError, match=r"must have a last layer with 3 outputs.*attribute named 'head'"):
        one(Headless, loss=LOSSES["ib"]).fit(*overlapping[:2])
    assert one(Headless).fit(*overlapping[:2]).n_epochs_ == 10  # other losses need none


# weights of rows


def test_only_the_ratios_of_row_weights_matter(overlapping):
    X, y, *_ = overlapping
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y))
    small, large = one().fit(X, y, sample_weight=weight), one().fit(X, y, sample_weight=8 * weight)
    assert small.predict_proba(X) == pytest.approx(large.predict_proba(X), abs=1e-5)
    equal, none = one().fit(X, y, sample_weight=np.full(len(y), 3)), one().fit(X, y)
    assert (equal.predict_proba(X) == none.predict_proba(X)).all()


def test_a_class_without_weight_is_not_learned(overlapping):
    X, y, *_ = overlapping
    model = one(max_epochs=40).fit(X, y, sample_weight=(y != "b").astype(float))
    assert (model.predict(X[y == "b"]) == "b").mean() < 0.1
    assert (one(max_epochs=40).fit(X, y).predict(X[y == "b"]) == "b").mean() > 0.7


@pytest.mark.parametrize("weight", [[1.0], [-1.0] * 135, [0.0] * 135, [np.nan] * 135, np.ones((135, 1))])
def test_row_weights_must_be_one_number_per_row(overlapping, weight):
    X, y, *_ = overlapping
    with pytest.raises(ParameterError, match="'sample_weight' parameter of NetworkClassifier"):
        one().fit(X, y, sample_weight=weight)


# the training loss


def test_the_loss_of_an_epoch_is_the_mean_over_the_rows():
    splits = load_dataset("artificial-balanced", n_train=30, n_test=10)
    learner = TorchLearner("mlp", module_options={"hidden": (8,)}, lr=1e-12, batch_size=64)  # 150 rows: 64, 64 and 22
    model = NetworkClassifier(learner, max_epochs=2, random_state=0).fit(splits.train.X, splits.train.y)
    expected = log_loss(splits.train.y, model.predict_proba(splits.train.X))
    assert [record.loss for record in model.history_] == pytest.approx([expected] * 2, rel=1e-4)


def test_the_epoch_with_the_least_training_loss_is_kept_and_patience_counts_from_it():
    splits = load_dataset("artificial-balanced", n_train=30, n_test=10)
    learner = TorchLearner("mlp", module_options={"hidden": (32,)}, lr=0.3)  # a rate at which the loss jumps
    model = NetworkClassifier(learner, max_epochs=500, patience=7, select_on="loss", random_state=0)
    model.fit(splits.train.X, splits.train.y, splits.test.X, splits.test.y)
    losses = [record.loss for record in model.history_]
    assert model.best_epoch_ == 1 + int(np.argmin(losses))
    assert model.n_epochs_ == model.best_epoch_ + 7 < 500
    worst = NetworkClassifier(learner, max_epochs=model.n_epochs_, random_state=0)
    worst.fit(splits.train.X, splits.train.y, splits.test.X, splits.test.y)
    assert [record.loss for record in worst.history_] == losses  # the same training, another choice
    assert worst.best_epoch_ != model.best_epoch_


def test_stages_are_the_network_as_it_was():
    splits = load_dataset("artificial-balanced", n_train=30, n_test=40)
    learner = TorchLearner("mlp", module_options={"hidden": (16,)}, lr=0.05)
    model = NetworkClassifier(learner, max_epochs=12, snapshots=(3, 6, 50), random_state=0)
    stages = model.fit(splits.train.X, splits.train.y).stages_
    assert list(stages) == [3, 6]  # training ended before 50
    for epoch, stage in stages.items():
        assert (stage.best_epoch_, stage.n_epochs_) == (epoch, 12)
        record = model.history_[epoch - 1]
        right = stage.predict(splits.train.X) == splits.train.y
        assert right.sum() == sum(record.correct)
        assert stage.training_report_.plain_error == pytest.approx(1 - right.mean())
    assert not np.array_equal(stages[3].predict_proba(splits.test.X), model.predict_proba(splits.test.X))
    assert model.best_epoch_ in range(1, 13)


@pytest.mark.parametrize("wrong", [3, (0,), (2.5,), ("last",)])
def test_snapshots_are_epochs(wrong):
    model = NetworkClassifier(TorchLearner("mlp"), snapshots=wrong)
    with pytest.raises(ParameterError, match="'snapshots' parameter of NetworkClassifier must be a list of epochs"):
        model.fit(np.zeros((4, 2)), [0, 0, 1, 1])
