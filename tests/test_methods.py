"""Every method by name: it trains, beats chance where it should, and is a scikit-learn classifier like any other."""

from __future__ import annotations

import copy
import json
import pickle
import random
import re
import sys
import warnings
from functools import cache, wraps
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GridSearchCV
from torch import nn

from worstclass import (
    TorchLearner,
    WorstClassClassifier,
    WorstClassOffsets,
    build_method,
    class_report,
    list_methods,
    load_dataset,
    make_splits,
    worst_class_scorer,
)
from worstclass.boosting.booster import WorstClassBooster
from worstclass.boosting.oco import InstanceBooster
from worstclass.cli.app import run
from worstclass.ensembles.networks import DeepEnsemble, NetworkClassifier
from worstclass.exceptions import (
    BudgetSpentWarning,
    MissingPackageError,
    ModuleError,
    ParameterError,
    UnknownNameError,
    UnknownOptionError,
    UnmetBoundWarning,
    WorstClassWarning,
)
from worstclass.methods import DEFAULT_EPOCHS, find_method, parse_options

ROOT = Path(__file__).parents[1]
NAMES = [method.name for method in list_methods()]
#: under these names the paper's methods and ours are known to scripts and results
CONTRACT = ["ce", "wce", "focal", "cb", "ib", "ib+cb", "ib+focal", "la", "cdt", "vs"]
CONTRACT += ["boosting", "naive", "0.5-dnn", "ours"]

#: small versions of the methods that would take long
SMALL = {
    "auto": {"cv": 2},
    "auto-networks": {"cv": 2},
    "auto+network": {"cv": 2},
    "deep-ensemble": {"n_estimators": 3},
    "ours-trees": {"n_rounds": 3, "max_iter": 20},
    "forest": {"n_estimators": 30},
    "balanced-forest": {"n_estimators": 30},
    "rusboost": {"n_estimators": 30},
    "easy-ensemble": {"n_estimators": 2},
}
LEARNER = {"lr": 0.02, "module_options": {"hidden": (16,)}}

every_method = pytest.mark.parametrize("name", NAMES)
of_kind = {kind: [method.name for method in list_methods() if method.kind == kind] for kind in ("network", "table")}
#: these make folds, and train several networks or classifiers on each
PORTFOLIOS = ["auto-networks", "auto+network", "auto"]
one_training = [name for name in of_kind["network"] if name not in PORTFOLIOS]


def built(name, *, theta=0.5, max_epochs=60, seed=0, **options):
    learner = {**LEARNER, **options.pop("learner", {})}
    return build_method(
        name,
        learner=learner,
        theta=theta,
        max_epochs=max_epochs,
        random_state=seed,
        **{**SMALL.get(name, {}), **options},
    )


def quietly(model, *data):
    """Fit; that a budget was spent or an edge missed is no news here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WorstClassWarning)
        return model.fit(*data)


def draw_blobs(seed, sizes):
    """Three classes that overlap a little; labels are text."""
    rng = np.random.default_rng(seed)
    centres = [[0, 0], [2.5, 0], [0, 2.5]]
    X = np.concatenate([rng.normal(centre, 0.7, size=(n, 2)) for centre, n in zip(centres, sizes, strict=True)])
    return X, np.repeat(["ant", "bee", "cat"], sizes)


X, Y = draw_blobs(0, [40, 30, 20])


@cache
def fitted(name):
    return quietly(built(name), X, Y)


def trained(model):
    """What was trained: the model, or what is inside its offsets."""
    return model.estimator_ if isinstance(model, WorstClassOffsets) else model


def class_errors(y, answers):
    return {row.name: row.error for row in class_report(y, answers).rows}


# they train


@every_method
def test_every_class_is_told_better_than_by_chance(name):
    X_test, y_test = draw_blobs(1, [200, 200, 200])
    answers = fitted(name).predict(X_test)
    assert set(answers) <= {"ant", "bee", "cat"}
    assert answers.shape == (600,)
    # chance is an error of 2/3; floors of 1/2 ask for no more than 1/2 of the methods that stop there
    assert max(class_errors(y_test, answers).values()) < 0.6


#: These give small classes no more say than their rows have, and the best answer by all rows gives the minority up, or
#: nearly so: at most of its places another class has more rows. A test that they beat chance there would be wrong.
BY_ALL_ROWS = {"ce", "boosting", "deep-ensemble"}
#: Focal also counts rows alike; it only hesitates. Temperatures (cdt) move the answers of a network that has separated
#: the training rows, which overlapping discs do not allow. Forest and boosted trees weigh the classes, but
#: grow until they know the training rows by heart, where weights have no effect. LDAM weighs classes in the
#: last fifth of the epochs only, and the stumps of RUSBoost are too weak for four classes. All may go either way.
EITHER_WAY = {"focal", "cdt", "forest", "hist-gradient-boosting", "ldam-drw", "rusboost"}


@pytest.fixture(scope="module")
def discs():
    """Four discs; the last class has 20 rows and the others 200."""
    return load_dataset("artificial-imbalanced", seed=0, n_min=20, n_test_min=100)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in BY_ALL_ROWS | EITHER_WAY])
def test_methods_that_mind_small_classes_beat_chance_on_the_minority(name, discs):
    model = quietly(built(name, max_epochs=150), discs.train.X, discs.train.y)
    errors = class_errors(discs.test.y, model.predict(discs.test.X))
    assert max(errors.values()) < 0.75  # chance; the least worst-class error that can be had is 37%
    assert errors["4"] < 0.65


@pytest.mark.parametrize("name", sorted(BY_ALL_ROWS))
def test_methods_that_count_rows_alike_give_the_minority_up(name, discs):
    model = quietly(built(name, max_epochs=150), discs.train.X, discs.train.y)
    errors = class_errors(discs.test.y, model.predict(discs.test.X))
    assert errors.pop("4") > 0.75
    assert max(errors.values()) < 0.5


@pytest.mark.parametrize("name", sorted(EITHER_WAY))
def test_methods_that_may_go_either_way_at_least_train(name, discs):
    model = quietly(built(name, max_epochs=150), discs.train.X, discs.train.y)
    assert class_report(discs.test.y, model.predict(discs.test.X)).plain_error < 0.65


def test_ours_and_naive_lower_the_worst_class_of_the_squares_below_that_of_cross_entropy():
    squares = load_dataset("artificial-balanced", seed=0, n_train=60, n_test=200)
    worst = {}
    for name in ("ce", "naive", "class-dro", "ours"):
        model = quietly(built(name, theta=0.6, max_epochs=300), squares.train.X, squares.train.y)
        worst[name] = class_report(squares.test.y, model.predict(squares.test.X)).worst_error
    assert worst["ce"] > 0.5  # class 2, in the middle, is given up for the other four
    assert all(worst[name] < worst["ce"] - 0.05 for name in ("naive", "class-dro", "ours"))


def unaware(model):
    """The same model, which no longer knows the rows that it has seen."""
    model = copy.copy(model)
    del model.seen_rows_
    return model


@pytest.mark.parametrize(("name", "plain"), [("ce+offsets", "ce"), ("ours+offsets", "ours")])
def test_offsets_are_tuned_on_the_rows_that_choose_for_the_others_and_cost_no_epoch(name, plain):
    rows = make_splits(*draw_blobs(3, [300, 60, 30]), val=0.4, test=0.0, seed=0)
    data = rows.train.X, rows.train.y, rows.val.X, rows.val.y
    model, alone = (quietly(built(which, max_epochs=20), *data) for which in (name, plain))
    assert model.estimator_.n_epochs_ == alone.n_epochs_
    np.testing.assert_array_equal(model.estimator_.predict_proba(X), alone.predict_proba(X))
    by_hand = WorstClassOffsets(unaware(alone), cv="prefit").fit(rows.val.X, rows.val.y)
    assert model.scores_ == {"ce": "log-proba", "ours": "mean-proba"}[plain]
    np.testing.assert_array_equal(model.offsets_, by_hand.offsets_)
    assert sum(row.total for row in model.validation_report_.rows) == len(rows.val.y)
    assert model.validation_report_.worst_error < alone.validation_report_.worst_error
    # without validation rows the training rows choose, as they choose the epoch
    model, alone = (quietly(built(which, max_epochs=20), *data[:2]) for which in (name, plain))
    by_hand = quietly(WorstClassOffsets(unaware(alone), cv="prefit"), *data[:2])
    np.testing.assert_array_equal(model.offsets_, by_hand.offsets_)
    assert model.estimator_.n_epochs_ == alone.n_epochs_


@pytest.mark.parametrize(("name", "kind"), [("ce+offsets", NetworkClassifier), ("ours+offsets", WorstClassBooster)])
def test_offsets_need_one_training(name, kind, monkeypatch):
    fits, plain = [], kind.fit

    @wraps(plain)
    def counted(self, *data, **options):
        fits.append(len(data))
        return plain(self, *data, **options)

    monkeypatch.setattr(kind, "fit", counted)
    quietly(built(name, max_epochs=3), X, Y)
    assert fits == [2]


def test_half_dnn_is_one_network_that_meets_every_floor():
    # 81% of 40, 30 and 20 rows are no whole rows: what meets a floor is beyond it, and the bound is met too
    model = built("0.5-dnn", theta=0.81, max_epochs=500).fit(X, Y)
    assert (len(model.estimators_), model.n_members_used_, model.gamma_) == (1, 1, 0.5)
    (record,) = model.history_
    assert record.edge == 1.0  # exactly: the edge needed is 1
    assert record.phase == "boost"
    pairs = zip(record.member_correct, record.class_totals, strict=True)
    assert all(100 * right > 81 * rows for right, rows in pairs)
    assert model.bound_met_
    assert model.n_epochs_ == record.epochs < 500
    impossible = built("0.5-dnn", theta=0.99, max_epochs=5)
    spent = pytest.warns(BudgetSpentWarning, match="The budget of 5 epochs was spent before round 1 of 1")
    with spent, pytest.warns(UnmetBoundWarning):
        impossible.fit(X, Y)
    assert (len(impossible.estimators_), impossible.bound_met_) == (1, False)


def test_half_dnn_stops_only_strictly_below_the_bound():
    # the bound is an error BELOW 1 - theta = 25%: of 100 rows per class at most 24 may be wrong
    squares = load_dataset("artificial-balanced", seed=0, n_test=10)
    model = quietly(build_method("0.5-dnn", theta=0.75, learner={"lr": 0.01}, random_state=0), *squares_of(squares))
    assert model.bound_met_
    assert max(row.error for row in model.training_report_.rows) <= 0.24


def squares_of(splits):
    return splits.train.X, splits.train.y


# tables with categories and missing values


def patients(seed=0, n=120):
    """A table with a category, a number with gaps and a column of text; labels are text."""
    rng = np.random.default_rng(seed)
    ill = rng.random(n) < 0.4
    table = pd.DataFrame(
        {
            "age": np.where(rng.random(n) < 0.2, np.nan, rng.normal(50 + 20 * ill, 5)),
            "ward": pd.Categorical(np.where(ill, rng.choice(["north", "west"], n), rng.choice(["east", "west"], n))),
            "sex": rng.choice(["f", "m"], n).astype(object),
        }
    )
    return table, np.where(ill, "ill", "well")


@every_method
def test_every_method_takes_data_frames_with_categories_and_gaps_by_itself(name):
    table, y = patients()
    learner = {"standardize": True} if find_method(name).kind == "network" else {}
    model = quietly(built(name, learner=learner), table, y)
    other, y_other = patients(1)
    other["ward"] = other["ward"].astype(object).where(other.index > 3, "elsewhere").astype("category")
    answers = model.predict(other)
    assert max(class_errors(y_other, answers).values()) < 0.5
    one = model.predict(other.iloc[[7]])
    assert one.tolist() == answers[[7]].tolist()


# options as text


@pytest.mark.parametrize(
    ("name", "texts", "values"),
    [
        ("focal", {"gamma": "2"}, {"gamma": 2.0}),
        (
            "ours",
            {"gamma": "0.25", "n_rounds": "7", "extend": "False"},
            {"gamma": 0.25, "n_rounds": 7, "extend": False},
        ),
        ("ours", {"extend": "3", "patience": "auto"}, {"extend": 3, "patience": "auto"}),
        ("ib", {"after": "None", "alpha": " 1e3 "}, {"after": None, "alpha": 1000.0}),
        ("ib", {"after": "12"}, {"after": 12}),
        ("ce+offsets", {"scores": "proba"}, {"scores": "proba"}),
        ("forest", {"n_estimators": "30"}, {"n_estimators": 30}),
        ("ce", {}, {}),
    ],
    ids=str,
)
def test_options_are_read_as_their_defaults_are(name, texts, values):
    found = parse_options(find_method(name), texts)
    assert found == values
    assert [type(value) for value in found.values()] == [type(value) for value in values.values()]


def test_every_default_survives_its_own_text():
    for method in list_methods():
        texts = {name: str(value) for name, value in method.options.items()}
        assert parse_options(method, texts) == dict(method.options)


@pytest.mark.parametrize(
    ("name", "texts", "told"),
    [
        ("focal", {"gamma": "much"}, "'gamma' parameter of the method 'focal' must be a number. Got 'much'"),
        ("forest", {"n_estimators": "2.5"}, "'n_estimators' parameter of the method 'forest' must be a whole number"),
        ("ib", {"after": "soon"}, "'after' parameter of the method 'ib' must be a whole number or none"),
        ("ours", {"extend": "maybe"}, "must be a whole number or true or false. Got 'maybe'"),
        ("ce+offsets", {"scores": ""}, "'scores' parameter"),
    ],
    ids=str,
)
def test_text_that_is_no_value_of_the_option_is_refused(name, texts, told):
    with pytest.raises(ParameterError, match=re.escape(told)):
        parse_options(find_method(name), texts)


def test_the_text_of_an_unknown_option_gets_a_suggestion():
    with pytest.raises(UnknownOptionError, match=r"The method 'focal' has no option 'gama'.*Did you mean 'gamma'"):
        parse_options(find_method("focal"), {"gama": "2"})


# one seed, one answer


def global_streams():
    return random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()  # noqa: NPY002


@every_method
def test_the_same_seed_gives_the_same_answers_and_global_streams_are_neither_read_nor_changed(name):
    random.seed(7)
    np.random.seed(7)  # noqa: NPY002
    torch.manual_seed(7)
    before = global_streams()
    again = quietly(clone(fitted(name)), X, Y)
    np.testing.assert_array_equal(again.predict_proba(X), fitted(name).predict_proba(X))
    assert global_streams() == before


def first_network(model):
    member = model.estimators_[0]
    return member.estimators_[0] if isinstance(member, NetworkClassifier) else member


@pytest.mark.parametrize("name", [*one_training, "auto-networks"])  # the network of auto+network may not be chosen
def test_another_seed_gives_another_network(name):
    other = quietly(built(name, seed=1), X, Y)
    ours, theirs = (first_network(trained(model)).state for model in (fitted(name), other))
    assert any(not torch.equal(ours[key], theirs[key]) for key in ours)


# they are estimators


@every_method
def test_they_can_be_cloned_set_and_pickled(name):
    model = fitted(name)
    assert is_classifier(model)
    copied = clone(model)
    assert str(copied.get_params()) == str(model.get_params())
    assert not hasattr(copied, "estimators_")
    key = next(key for key in model.get_params() if key.endswith("random_state"))
    assert copied.set_params(**{key: 5}).get_params()[key] == 5
    thawed = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(thawed.predict(X), model.predict(X))
    assert model.classes_.tolist() == ["ant", "bee", "cat"]
    assert 0.5 < model.score(X, Y) <= 1


@pytest.mark.parametrize(
    ("name", "grid"),
    [
        ("ce", {"learner__lr": [1e-9, 0.05]}),
        ("ours", {"theta": [0.1, 0.7]}),
        ("boosting", {"gamma": [0.05, 0.4]}),
        ("deep-ensemble", {"n_estimators": [1, 2]}),
        ("logistic", {"logisticregression__C": [1e-9, 1.0]}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_they_can_be_searched_over(name, grid):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WorstClassWarning)
        search = GridSearchCV(built(name, max_epochs=20), grid, scoring=worst_class_scorer, cv=2, error_score="raise")
        search.fit(X, Y)
    (option,) = grid
    assert search.best_params_[option] in grid[option]
    scores = search.cv_results_["mean_test_score"]
    assert np.isfinite(scores).all()
    if name in ("ce", "logistic"):
        assert scores[1] > scores[0]  # what learns nothing is worse


@pytest.mark.parametrize("name", one_training)
def test_those_with_networks_take_validation_rows_and_keep_to_the_budget(name):
    model = quietly(built(name, max_epochs=10), X, Y, *draw_blobs(2, [10, 10, 10]))
    assert 1 <= trained(model).n_epochs_ <= 10
    totals = trained(model).history_[-1].val_totals
    assert totals == (10, 10, 10)


# options reach what they are for


def test_the_kind_of_model_and_what_all_have_in_common():
    kinds = {
        "boosting": InstanceBooster,
        "ours": WorstClassBooster,
        "0.5-dnn": WorstClassBooster,
        "deep-ensemble": DeepEnsemble,
        "ours+offsets": WorstClassBooster,
    }
    for name in one_training:
        model = build_method(
            name,
            "mlp",
            learner={"lr": 0.3},
            theta=0.6,
            max_epochs=77,
            max_seconds=9.5,
            select_on="average",
            random_state=4,
        )
        if name.endswith("+offsets"):
            assert (type(model), model.theta, model.random_state) == (WorstClassOffsets, None, 4)
            model = model.estimator
        assert type(model) is kinds.get(name, NetworkClassifier), name
        assert (model.learner.module, model.learner.lr) == ("mlp", 0.3)
        assert (model.max_seconds, model.select_on, model.random_state) == (9.5, "average", 4)
        assert model.max_epochs == 77
        assert getattr(model, "theta", 0.6) == 0.6


def test_auto_is_the_portfolio_classifier_and_needs_nothing():
    model = build_method("auto")
    assert str(model) == str(WorstClassClassifier())
    model = build_method("auto", theta={"ant": 0.9}, max_epochs=7, max_seconds=9.5, random_state=4, cv=3)
    expected = WorstClassClassifier("auto", {"ant": 0.9}, cv=3, time_limit=9.5, max_epochs=7, random_state=4)
    assert str(model.get_params()) == str(expected.get_params())


@pytest.mark.parametrize(("name", "others"), [("auto-networks", []), ("auto+network", ["auto"])])
def test_portfolios_with_a_network_take_it_and_the_limits(name, others):
    limits = {"theta": 0.6, "max_epochs": 77, "random_state": 4}
    model = build_method(name, "mlp", learner={"lr": 0.3}, max_seconds=12.0, cv=2, **limits)
    assert {name: getattr(model, name) for name in limits} == limits
    assert (model.time_limit, model.cv) == (12.0, 2)
    *before, learner = model.learners
    assert before == others
    assert (type(learner), learner.module, learner.lr) == (TorchLearner, "mlp", 0.3)


def test_auto_networks_keeps_to_the_budget_and_takes_validation_rows():
    model = quietly(built("auto-networks", max_epochs=10, cv=3), X, Y)
    assert [network.n_epochs_ for network in model.estimators_] == [3, 3, 3]
    assert sum(row.total for row in model.cv_report_.rows) == len(Y)
    model = quietly(built("auto-networks", max_epochs=10), X, Y, *draw_blobs(2, [10, 11, 12]))
    assert [network.n_epochs_ for network in model.estimators_] == [10]
    assert {row.name: row.total for row in model.cv_report_.rows} == {"ant": 10, "bee": 11, "cat": 12}


@pytest.mark.parametrize("name", PORTFOLIOS)
def test_floors_of_a_portfolio_are_judged_on_held_out_rows(name):
    assert built(name, theta=None).fit(X, Y).floors_met_ is None
    model = built(name, theta={"cat": 0.3, "others": 0.2}).fit(X, Y)
    assert model.floors_met_
    assert model.theta_ == (0.2, 0.2, 0.3)
    with pytest.warns(UnmetBoundWarning, match="Floors are missed on held-out rows"):
        assert not built(name, theta=0.999).fit(*draw_blobs(5, [40, 40, 40])).floors_met_


def test_every_option_of_every_method_reaches_its_model():
    shown = {}
    for method in list_methods():
        theta = 0.5 if method.needs_theta else None
        plain = build_method(method.name, theta=theta)
        assert str(build_method(method.name, theta=theta, **method.options).get_params()) == str(plain.get_params())
        for option, default in method.options.items():
            other = {
                "extend": False,
                "weighting": "per-instance",
                "beta": 0.9,
                "gamma": 0.25,
                "after": 3,
                "scores": "proba",
            }.get(option, 7)
            assert other != default
            changed = build_method(method.name, theta=theta, **{option: other})
            shown[method.name, option] = str(changed.get_params()) != str(plain.get_params())
    assert shown
    assert [key for key, differs in shown.items() if not differs] == []


@pytest.mark.parametrize(
    ("name", "options", "loss"),
    [
        ("ce", {}, "CrossEntropy()"),
        ("wce", {}, "Weighted(loss=CrossEntropy(), rule=InverseFrequency())"),
        ("focal", {"gamma": 2}, "Focal(gamma=2)"),
        ("cb", {"beta": 0.9}, "Weighted(loss=CrossEntropy(), rule=EffectiveNumber(beta=0.9))"),
        ("ib", {}, "InfluenceBalanced(alpha=1000.0, base=CrossEntropy(), after=10, class_factor=True)"),
        ("ib", {"after": 0}, "InfluenceBalanced(alpha=1000.0, base=CrossEntropy(), after=0, class_factor=True)"),
        (
            "ib+cb",
            {"beta": 0.9},
            "Weighted(loss=InfluenceBalanced(alpha=1000.0, base=CrossEntropy(), after=10, class_factor=False), "
            "rule=Deferred(rule=EffectiveNumber(beta=0.9), after=10))",
        ),
        ("ib+focal", {}, "InfluenceBalanced(alpha=1000.0, base=Focal(gamma=1.0), after=10, class_factor=True)"),
        ("la", {"tau": 2.0}, "LogitAdjustment(tau=2.0)"),
        ("cdt", {}, "ClassDependentTemperatures(gamma=0.4)"),
        ("vs", {}, "VectorScaling(gamma=0.15, tau=1.25)"),
        ("naive", {}, "Naive()"),
        ("class-dro", {"step": 0.5}, "ClassDRO(step=0.5)"),
        (
            "ldam-drw",
            {},
            "Weighted(loss=LDAM(max_margin=0.5, scale=30.0), "
            "rule=Deferred(rule=EffectiveNumber(beta=0.9999), after=32))",
        ),
    ],
)
def test_the_loss_of_each_method_in_forty_epochs(name, options, loss):
    # the quarter of 40 epochs is 10, four fifths are 32
    model = build_method(name, max_epochs=40, **options)
    assert repr(model.learner.loss) == loss
    assert model.learner.head == ("cosine" if name == "ldam-drw" else "as-built")


def test_limits_that_are_left_out():
    assert build_method("ce").max_epochs == DEFAULT_EPOCHS == 200
    by_time = build_method("ib", max_seconds=3)
    assert (by_time.max_epochs, by_time.max_seconds, by_time.learner.loss.after) == (None, 3, 50)
    assert build_method("ours", theta=0.5).max_epochs is None
    assert build_method("deep-ensemble").max_epochs is None
    trees = build_method("ours-trees", theta=0.5, max_epochs=5, max_seconds=3)
    assert (trees.max_epochs, trees.max_seconds) == (None, 3)  # trees make no epochs


def test_the_epochs_of_a_round_differ_from_those_of_all_rounds():
    model = build_method("ours", theta=0.5, max_epochs=300, max_epochs_per_round=20)
    assert (model.max_epochs_per_round, model.max_epochs) == (20, 300)


def test_any_loss_can_be_boosted():
    model = quietly(built("ours", learner={"loss": "focal"}, n_rounds=2), X, Y)
    assert model.learner_.loss == "focal"
    plain = quietly(built("ours", n_rounds=2), X, Y)
    assert not torch.equal(model.estimators_[0].state["0.weight"], plain.estimators_[0].state["0.weight"])


# refusals


def test_an_unknown_method_gets_a_suggestion():
    with pytest.raises(UnknownNameError, match=r"'method' parameter of build_method.*Did you mean 'focal'"):
        build_method("focall")
    with pytest.raises(UnknownNameError, match=r"Did you mean 'ib\+focal'"):
        find_method("ib+focl")


@pytest.mark.parametrize(
    ("name", "option", "told"),
    [
        ("focal", "gama", "The method 'focal' has no option 'gama'.*Did you mean 'gamma'"),
        ("ce", "tau", "The method 'ce' has no option 'tau'"),
        ("ours", "n_round", "Did you mean 'n_rounds'"),
        ("forest", "n_estimator", "Did you mean 'n_estimators'"),
    ],
)
def test_an_unknown_option_gets_a_suggestion(name, option, told):
    with pytest.raises(UnknownOptionError, match=told):
        build_method(name, theta=0.5, **{option: 1})


def test_an_unknown_option_of_the_learner_gets_a_suggestion():
    with pytest.raises(UnknownOptionError, match=r"TorchLearner has no option 'batchsize'.*Did you mean 'batch_size'"):
        build_method("ce", learner={"batchsize": 3})


@pytest.mark.parametrize("name", [method.name for method in list_methods() if method.needs_theta])
def test_floors_must_be_given_where_they_are_needed(name):
    with pytest.raises(
        ParameterError, match=rf"'theta' parameter of build_method\('{re.escape(name)}'\) must be given"
    ):
        build_method(name)


def test_the_methods_with_floors_are_these():
    with_floors = ["0.5-dnn", "ours", "ours+offsets", "ours-trees"]
    assert [method.name for method in list_methods() if method.needs_theta] == with_floors
    takes = [method.name for method in list_methods() if method.takes_theta]
    assert takes == ["0.5-dnn", "ours", "ours+offsets", *PORTFOLIOS, "ours-trees"]


@pytest.mark.parametrize(
    ("name", "options", "told"),
    [
        ("focal", {"gamma": -1}, "'gamma' parameter of Focal"),
        ("cb", {"beta": 1}, "'beta' parameter of EffectiveNumber"),
        ("ib", {"alpha": 0}, "'alpha' parameter of InfluenceBalanced"),
        ("ib", {"after": -1}, "'after' parameter"),
        ("ib+cb", {"beta": 2}, "'beta' parameter"),
        ("ib+focal", {"gamma": "x"}, "'gamma' parameter"),
        ("la", {"tau": float("nan")}, "'tau' parameter"),
        ("class-dro", {"step": -0.1}, "'step' parameter"),
        ("ldam-drw", {"scale": 0}, "'scale' parameter"),
        ("boosting", {"gamma": 0.9}, "'gamma' parameter of InstanceBooster"),
        ("ours", {"extend": -1}, "'extend' parameter of WorstClassBooster"),
        ("ours", {"max_epochs_per_round": 0}, "'max_epochs_per_round' parameter of WorstClassBooster"),
        ("0.5-dnn", {"patience": 0}, "'patience' parameter"),
        ("deep-ensemble", {"n_estimators": 0}, "'n_estimators' parameter of DeepEnsemble"),
        ("ce", {"max_epochs": 0}, r"'max_epochs' parameter of build_method\('ce'\) must be a positive whole number"),
        ("ib", {"max_epochs": "many"}, "'max_epochs' parameter"),
        ("logistic", {"max_epochs": -3}, "'max_epochs' parameter"),
        ("ours", {"max_seconds": 0}, "'max_seconds' parameter"),
        ("ce", {"select_on": "wurst"}, "Did you mean 'worst'"),
        ("ours", {"theta": 1.5}, "'theta' parameter"),
        ("ours+offsets", {"theta": 1.5}, "'theta' parameter of WorstClassBooster"),
        ("ce+offsets", {"scores": "mean-proba"}, "a booster whose members give probabilities"),
        ("ours+offsets", {"scores": "votes"}, "'scores' parameter of WorstClassOffsets"),
        ("auto", {"cv": 0}, "'cv' parameter of WorstClassClassifier"),
        ("auto", {"theta": 1.5}, "'theta' parameter of WorstClassClassifier"),
        ("auto", {"max_seconds": 0}, r"'max_seconds' parameter of build_method\('auto'\)"),
        ("auto-networks", {"cv": "many"}, "'cv' parameter of WorstClassClassifier"),
    ],
    ids=str,
)
def test_values_out_of_range(name, options, told):
    with pytest.raises(ParameterError, match=told):
        build_method(name, **{"theta": 0.5, "max_epochs": 20, **options}).fit(X, Y)


@pytest.mark.parametrize(("name", "option"), [("ce", "loss"), ("focal", "loss"), ("ldam-drw", "head")])
def test_a_method_that_is_made_by_its_loss_takes_no_other(name, option):
    with pytest.raises(ParameterError, match=f"without '{option}', which the method sets itself"):
        build_method(name, learner={option: "cross-entropy"})


class Headless(nn.Module):
    def __init__(self, input_shape, n_classes):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(input_shape[0], n_classes))

    def forward(self, x):
        return x @ self.weight


@pytest.mark.parametrize("name", ["ib", "ib+cb", "ib+focal", "ldam-drw"])
def test_a_network_without_an_accessible_head_is_refused_by_those_that_need_one(name):
    with pytest.raises(ModuleError, match=r"last layer with 3 outputs, one for each class.*named 'head'"):
        build_method(name, Headless, max_epochs=3).fit(X, Y)
    assert build_method("ce", Headless, max_epochs=3, random_state=0).fit(X, Y).n_epochs_ == 3


@pytest.mark.parametrize("name", [method.name for method in list_methods() if method.requires == "imblearn"])
def test_a_package_that_is_missing_is_named_with_the_extra_that_brings_it(name, monkeypatch):
    for module in [module for module in sys.modules if module.partition(".")[0] == "imblearn"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "imblearn", None)
    monkeypatch.setitem(sys.modules, "imblearn.ensemble", None)
    with pytest.raises(MissingPackageError, match=rf"'{name}' needs the package imblearn.*'worstclass\[compare\]'"):
        build_method(name)
    assert build_method("forest") is not None  # the others go on


# docs, command and code name the same methods


def documented():
    """The rows of the tables of docs/methods.md: name -> (summary, options, reference), and the order."""
    rows = re.findall(
        r"^\| `([^`]+)` \| (.+?) \| (.+?) \| (.+?) \|$", (ROOT / "docs/methods.md").read_text(), re.MULTILINE
    )
    return {name: (summary, options, reference) for name, summary, options, reference in rows}, [row[0] for row in rows]


def test_the_methods_of_the_paper_are_there_under_their_names():
    assert NAMES[: len(CONTRACT)] == CONTRACT
    assert len(CONTRACT) == 14  # the paper's 13, and ours
    assert len(set(NAMES)) == len(NAMES)


def test_the_document_lists_the_same_methods_with_the_same_lines():
    rows, order = documented()
    assert sorted(order) == sorted(NAMES)  # each once
    for method in list_methods():
        options = ", ".join(f"`{name}={value!r}`" for name, value in method.options.items()) or "-"
        assert rows[method.name] == (method.summary, options, method.reference), method.name


def test_the_command_lists_the_same_methods_with_the_same_lines(capsys):
    assert run(["methods"]) == 0
    lines = capsys.readouterr().out.splitlines()[1:]
    assert [line.split()[0] for line in lines] == NAMES
    for method, line in zip(list_methods(), lines, strict=True):
        floors = "needed" if method.needs_theta else "possible" if method.takes_theta else ""
        cells = [cell.strip() for cell in line.split("  ") if cell.strip()]
        assert cells == [text for text in (method.name, method.kind, floors, method.requires, method.summary) if text]


def test_the_command_gives_everything_as_json(capsys):
    assert run(["methods", "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert [(value["name"], value["summary"], value["kind"], value["options"]) for value in values["methods"]] == [
        (method.name, method.summary, method.kind, method.options) for method in list_methods()
    ]


def test_lines_are_lines():
    for method in list_methods():
        assert method.summary
        assert "\n" not in method.summary + method.reference
        assert not method.summary.endswith(".")
        assert method.kind in ("network", "any", "table")
