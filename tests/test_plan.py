"""Methods under the same rules: budgets, cells, seeds, failures, resuming, workers, and the command that fits one."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from types import SimpleNamespace

import joblib
import numpy as np
import pandas as pd
import pytest

from worstclass import build_method, class_report, list_methods, load_dataset, make_splits
from worstclass.boosting.hedge import n_rounds_for
from worstclass.data.fingerprints import row_hashes
from worstclass.data.registry import DATASETS
from worstclass.data.sources import read_source
from worstclass.data.splits import Part, Splits
from worstclass.exceptions import (
    BudgetSpentWarning,
    DatasetError,
    ModuleError,
    ParameterError,
    UnknownNameError,
    UnknownOptionError,
)
from worstclass.experiments import grid as grid_module
from worstclass.experiments.grid import cells_of, run_method
from worstclass.experiments.plan import (
    ComparisonPlan,
    check_plan,
    methods_for,
    run_comparison,
    seeds_change,
)
from worstclass.experiments.ranking import Comparison
from worstclass.methods import find_method
from worstclass.report.ranking import comparison_csv, comparison_markdown, comparison_text

LEARNER = {"lr": 0.02, "module_options": {"hidden": [16]}}


def status(result):
    return "failed" if result.error else "done"


def kinds(lines):
    """What lines of progress tell: reused, started, finished or failed."""
    return [re.fullmatch(r"\[\d+ of \d+\] .+?, seed \d+: (\w+).*", line, re.DOTALL)[1] for line in lines]


def plan(*methods, seeds=(0,), **options):
    options = {"max_epochs": 6, "learner": LEARNER, "theta": 0.5, **options}
    return ComparisonPlan("squares", methods, seeds, **options)


def squares(seed):
    return load_dataset("artificial-balanced", seed=seed, n_train=15, n_test=20)


def with_validation(seed):
    data = squares(seed)
    return replace(make_splits(data.train.X, data.train.y, val=0.3, test=0.0, seed=seed), test=data.test)


def images(seed, n=8):
    rng = np.random.default_rng(seed)
    y = np.tile([0, 1], n)
    X = (rng.integers(0, 100, size=(2 * n, 1, 8, 8)) + 120 * y[:, None, None, None]).astype(np.uint8)
    return Splits(Part(X, y), test=Part(X, y))


# plans


def test_there_is_a_cell_for_each_method_and_seed_seed_by_seed():
    cells = cells_of(
        [plan("ce", "ours", "logistic", seeds=(3, 4), select_on="average", data_settings={"rows": 7}).grid(squares)]
    )
    assert [(cell.method, cell.seed) for cell in cells] == [
        *(("ce", 3), ("ours", 3), ("logistic", 3)),
        *(("ce", 4), ("ours", 4), ("logistic", 4)),
    ]
    common = {"budget": {"epochs": 6, "seconds": None}, "select_on": "average", "seeds_change": "resplits", "rows": 7}
    ce, ours, logistic = (dict(cell.settings) for cell in cells[:3])
    assert ce == {**common, "options": {}, "network": "mlp", "learner": LEARNER}
    assert ours.pop("options") == {**find_method("ours").options}
    assert ours == {**common, "network": "mlp", "learner": LEARNER, "theta": 0.5}
    assert logistic == {**common, "options": {"C": 1.0}}  # neither floors nor network would change it


def test_floors_by_class_are_kept_as_text():
    (cell,) = cells_of([plan("ours", theta={1: 0.5, "others": 0.6}).grid(squares)])
    assert cell.settings["theta"] == {"1": 0.5, "others": 0.6}


def test_one_gamma_goes_to_all_methods_whose_rounds_follow_from_it():
    by_gamma = ("ours", "boosting", "deep-ensemble", "ours-trees", "ours+offsets")
    cells = cells_of([plan("focal", *by_gamma, gamma=0.25).grid(squares)])
    gammas = {cell.method: cell.settings["options"]["gamma"] for cell in cells}
    assert gammas == {"focal": 1.0, **dict.fromkeys(by_gamma, 0.25)}


def test_a_cell_is_built_with_its_seed_and_the_rules_of_all():
    rules = plan("ours", "ce", seeds=(8,), max_epochs=50, max_seconds=9.0, select_on="average", gamma=0.3)
    ours, ce = (rules.build(name, 8) for name in ("ours", "ce"))
    for model in (ours, ce):
        assert (model.random_state, model.max_seconds, model.select_on) == (8, 9.0, "average")
        assert (model.learner.module, model.learner.lr) == ("mlp", 0.02)
    assert (ours.theta, ours.gamma, ours.max_epochs, ce.max_epochs) == (0.5, 0.3, 50, 50)


def test_all_stands_for_every_method_that_suits_the_rows():
    every = [method.name for method in list_methods()]
    networks = [method.name for method in list_methods() if method.kind == "network"]
    table = Splits(Part(pd.DataFrame({"x": [1, 2]}), np.array([0, 1])))
    assert methods_for(["all"], squares(0)) == methods_for(["all"], table) == tuple(every)
    assert methods_for(["all"], images(0)) == tuple(networks)
    assert networks == every[: len(networks)]
    assert {"auto", "auto-networks"} <= set(every)
    assert {"auto-networks", "auto+network"} <= set(networks)
    assert "auto" not in networks  # its own network, and epochs that nobody counts
    assert methods_for(["forest", "ce"], images(0)) == ("forest", "ce")  # asked for by name


def test_portfolios_run_without_floors_and_within_the_budget():
    rules = plan("auto", "auto-networks", "ours", max_epochs=50, max_seconds=90.0, theta=0.5)
    auto, networks, ours = cells_of([rules.grid(squares)])
    assert "theta" not in auto.settings
    assert "theta" not in networks.settings  # the table ranks by the worst class
    assert ours.settings["theta"] == 0.5
    assert "network" not in auto.settings
    assert networks.settings["network"] == "mlp"
    assert (rules.build("auto", 0).theta, rules.build("auto", 0).time_limit, rules.build("auto", 0).random_state) == (
        None,
        90.0,
        0,
    )
    model = rules.build("auto-networks", 0)
    assert (model.theta, model.time_limit, model.max_epochs) == (None, 90.0, 50)


def test_portfolios_are_compared(tmp_path):
    rules = plan("auto", "auto-networks", "ce", max_epochs=12)
    auto, networks, ce = run_comparison(rules, squares, tmp_path / "folds")
    assert [status(result) for result in (auto, networks, ce)] == ["done"] * 3
    assert auto.worst_error < ce.worst_error
    assert (auto.epochs, networks.epochs, ce.epochs) == (None, 10, 12)  # 12 // 5 in each of five folds
    assert (auto.portfolio.n_folds, networks.portfolio.n_folds, networks.n_members) == (5, 5, 5)
    assert sum(member.weight for member in auto.portfolio.members) == pytest.approx(1)
    assert 0 < auto.portfolio.held_out["worst_error"] < 1
    auto, networks, _ = run_comparison(rules, with_validation, tmp_path / "val")
    assert (auto.portfolio.n_folds, networks.portfolio.n_folds, networks.epochs) == (1, 1, 12)
    assert sum(row["total"] for row in networks.validation["classes"]) == len(with_validation(0).val)


@pytest.mark.parametrize("names", [[], ["ce", "ours", "ce"]], ids=str)
def test_methods_are_named_each_once(names):
    with pytest.raises(ParameterError, match="'all', or names, each once"):
        methods_for(names, squares(0))


def test_an_unknown_method_gets_a_suggestion():
    with pytest.raises(UnknownNameError, match="Did you mean 'logistic'"):
        methods_for(["ce", "logistics"], squares(0))


@pytest.mark.parametrize(
    ("options", "error", "told"),
    [
        ({"network": "mpl"}, UnknownNameError, "Did you mean 'mlp'"),
        ({"network": "resnet8", "learner": {}}, ParameterError, "For a table use the network 'mlp'"),
        ({"learner": {"lr": -1}}, ParameterError, "'lr' parameter"),
        ({"learner": {"batchsize": 1}}, UnknownOptionError, "Did you mean 'batch_size'"),
        ({"learner": {"module_options": {"hiden": [3]}}}, UnknownOptionError, "Did you mean 'hidden'"),
        ({"gamma": 0.7}, ParameterError, "'gamma' parameter of compare"),
        ({"theta": 1.0}, ParameterError, "'theta' parameter of compare"),
        ({"theta": {9: 0.5, "others": 0.5}}, ParameterError, "theta"),
    ],
    ids=str,
)
def test_what_no_training_could_use_is_refused_before_any(options, error, told):
    with pytest.raises(error, match=told):
        check_plan(plan("ours", "logistic", **options), squares(0))


def test_what_a_comparison_does_not_use_is_not_looked_at():
    check_plan(plan("logistic", network="mpl", gamma=9.0), squares(0))
    check_plan(plan("ce", gamma=9.0), squares(0))
    check_plan(plan(*methods_for(["all"], squares(0))), squares(0))
    check_plan(plan("ours", learner={"standardize": True}), patients(0))


# one cell


def test_an_outcome_has_what_the_model_found():
    data = with_validation(0)
    model = build_method("ce", learner=LEARNER, max_epochs=5, random_state=0)
    outcome = run_method(model, data)
    assert (outcome.model, outcome.epochs, outcome.n_members) == ("NetworkClassifier", 5, 1)
    assert (outcome.boosting, outcome.portfolio, outcome.offsets) == (None, None, None)
    assert outcome.seconds > 0
    assert outcome.training == model.training_report_.to_dict()
    assert outcome.validation == model.validation_report_.to_dict()
    wrong = [float((model.predict(data.test.X)[data.test.y == k] != k).mean()) for k in range(1, 6)]
    assert outcome.test["worst_error"] == pytest.approx(max(wrong))
    assert outcome.test["class_mean_error"] == pytest.approx(np.mean(wrong))


def test_the_members_that_vote_are_counted():
    data, rules = with_validation(0), {"learner": LEARNER, "max_epochs": 12, "random_state": 0}
    with pytest.warns(BudgetSpentWarning):
        ours = run_method(build_method("boosting", gamma=0.05, **rules), data)
    assert ours.n_members >= 1
    assert ours.epochs <= 12
    several = run_method(build_method("deep-ensemble", n_estimators=3, **rules), data)
    assert (several.n_members, several.epochs, several.training) == (3, 12, None)
    assert sum(row["total"] for row in several.validation["classes"]) == len(data.val)
    forest = run_method(build_method("logistic"), data)
    assert (forest.n_members, forest.epochs, forest.boosting) == (None, None, None)


def test_offsets_are_chosen_by_the_validation_rows_and_the_epochs_inside_are_counted():
    data, rules = with_validation(0), {"learner": LEARNER, "max_epochs": 12, "random_state": 0}
    model = build_method("ce+offsets", **rules)
    outcome = run_method(model, data)
    assert (outcome.epochs, outcome.n_members) == (12, 1)
    assert outcome.validation == model.validation_report_.to_dict()
    assert sum(row["total"] for row in outcome.validation["classes"]) == len(data.val)
    assert (outcome.model, outcome.offsets["scores"]) == ("WorstClassOffsets(NetworkClassifier)", "log-proba")
    assert list(outcome.offsets["offsets"].values()) == model.offsets_.tolist()
    assert outcome.offsets["before"] == model.validation_report_before_.to_dict()
    plain = run_method(build_method("ce", **rules), data)
    assert outcome.offsets["before"]["worst_error"] == plain.validation["worst_error"]
    assert outcome.validation["worst_error"] <= plain.validation["worst_error"]  # four rows per class
    assert min(outcome.offsets["offsets"].values()) < 0 < max(outcome.offsets["offsets"].values())
    assert outcome.test == class_report(data.test.y, model.predict(data.test.X)).to_dict()
    # training rows that choose are no validation rows
    assert run_method(model, replace(data, val=None)).validation is None


@pytest.mark.parametrize("name", ["hist-gradient-boosting", "logistic", "forest", "easy-ensemble"])
def test_methods_without_a_choice_run_where_there_are_validation_rows(name):
    """scikit-learn's gradient boosting has an X_val of its own, by keyword only and for early stopping."""
    data = with_validation(0)
    options = {"max_iter": 5} if name == "hist-gradient-boosting" else {}
    options = options if name in ("hist-gradient-boosting", "logistic") else {"n_estimators": 2}
    chosen = run_method(build_method(name, random_state=0, **options), data)
    without = run_method(build_method(name, random_state=0, **options), replace(data, val=None))
    assert chosen.test == without.test
    assert sum(row["total"] for row in chosen.validation["classes"]) == len(data.val)
    assert without.validation is None


def test_rows_to_test_on_are_needed():
    with pytest.raises(DatasetError, match="no test rows"):
        run_method(build_method("logistic"), replace(squares(0), test=None))


@pytest.mark.parametrize("name", ["logistic", "forest", "ours-trees"])
def test_methods_for_tables_see_an_image_as_one_long_row(name):
    data, other = images(0, n=40), images(1).test.X
    model = build_method(name, theta=0.5, random_state=0)
    outcome = run_method(model, data)
    assert outcome.test["worst_error"] == 0  # the classes differ in brightness
    flat = build_method(name, theta=0.5, random_state=0).fit(data.train.X.reshape(80, 64), data.train.y)
    np.testing.assert_array_equal(model.predict_proba(other), flat.predict_proba(other.reshape(16, -1)))


# tables with categories and missing values


def patients(seed, n=150):
    """A table with a category, a number with gaps, and labels that are text."""
    rng = np.random.default_rng(seed)
    ill = rng.random(n) < 0.4
    table = pd.DataFrame(
        {
            "age": np.where(rng.random(n) < 0.2, np.nan, rng.normal(50 + 20 * ill, 5)),
            "ward": pd.Categorical(np.where(ill, rng.choice(["north", "west"], n), rng.choice(["east", "south"], n))),
        }
    )
    return make_splits(table, np.where(ill, "ill", "well"), val=0.2, test=0.2, seed=seed)


def test_tables_with_categories_and_gaps_go_through_every_kind_of_method(tmp_path):
    rules = plan(
        "ce", "ours-trees", "logistic", "rusboost", max_epochs=40, max_seconds=5.0, learner={"standardize": True}
    )
    results = run_comparison(rules, patients, tmp_path)
    assert [(result.method, status(result)) for result in results] == [
        *(("ce", "done"), ("ours-trees", "done"), ("logistic", "done"), ("rusboost", "done"))
    ]
    for result in results:
        assert {row["name"] for row in result.test["classes"]} == {"ill", "well"}
        assert result.worst_error < 0.5  # the ward tells them apart
        assert result.validation is not None


# whole comparisons

METHODS = ("ours", "ce", "boosting", "logistic")


@pytest.fixture
def no_time(monkeypatch):
    """Fits that take no time by the clock, so that tables can be compared whole."""
    monkeypatch.setattr(grid_module, "time", SimpleNamespace(perf_counter=lambda: 0.0))


def shown(results):
    comparison = Comparison.from_results(results)
    return comparison_text(comparison), comparison_markdown(comparison), comparison_csv(comparison)


def test_an_interrupted_and_resumed_comparison_gives_the_same_table(tmp_path, monkeypatch, no_time):
    rules = plan(*METHODS, seeds=(0, 1))
    begun, original = [], grid_module.run_method

    def interrupt_the_third(model, splits, **options):
        begun.append(model)
        if len(begun) == 3:
            raise KeyboardInterrupt
        return original(model, splits, **options)

    monkeypatch.setattr(grid_module, "run_method", interrupt_the_third)
    with pytest.raises(KeyboardInterrupt):
        run_comparison(rules, squares, tmp_path / "resumed")
    assert len(begun) == 3
    assert sorted(file.name for file in (tmp_path / "resumed").glob("*.json")) == ["ce-seed0.json", "ours-seed0.json"]
    lines = []
    resumed = run_comparison(rules, squares, tmp_path / "resumed", lines.append)
    assert kinds(lines) == ["reused"] * 2 + ["started", "finished"] * 6
    monkeypatch.setattr(grid_module, "run_method", original)
    whole = run_comparison(rules, squares, tmp_path / "whole")
    assert [result.model_dump() for result in resumed] == [result.model_dump() for result in whole]
    assert shown(resumed) == shown(whole)
    assert len({result.worst_error for result in whole}) > 2  # there was something to get wrong
    again = run_comparison(rules, squares, tmp_path / "whole", lines.append)
    assert (again, kinds(lines)[-8:]) == (whole, ["reused"] * 8)


def test_an_interruption_in_the_middle_of_training_is_passed_on(tmp_path, monkeypatch):
    rules = plan("ours", "boosting")
    from worstclass.boosting.oco import InstanceBooster

    def fit(self, *data):
        raise KeyboardInterrupt

    monkeypatch.setattr(InstanceBooster, "fit", fit)
    with pytest.raises(KeyboardInterrupt):
        run_comparison(rules, squares, tmp_path)
    assert [file.name for file in tmp_path.glob("*.json")] == ["ours-seed0.json"]


def test_results_do_not_depend_on_which_methods_ran_before(tmp_path, no_time):
    alone = run_comparison(plan("boosting", seeds=(0,)), squares, tmp_path / "alone")
    among = run_comparison(plan(*METHODS, seeds=(0,)), squares, tmp_path / "among")
    assert alone[0].model_dump() == next(result for result in among if result.method == "boosting").model_dump()


def test_a_method_that_fails_is_reported_and_the_others_go_on(tmp_path):
    def nothing(**options):
        raise ModuleError("there is nothing to train")

    rules = plan("ce", "logistic", "ib")
    build = ComparisonPlan.build

    class Broken(ComparisonPlan):
        def build(self, name, seed):
            model = build(self, name, seed)
            return model.set_params(learner__module=nothing) if name != "logistic" else model

    broken = Broken(**{name: getattr(rules, name) for name in rules.__dataclass_fields__})
    events = []
    results = run_comparison(broken, squares, tmp_path, events.append)
    assert [(result.method, status(result)) for result in results] == [
        *(("ce", "failed"), ("logistic", "done"), ("ib", "failed"))
    ]
    assert results[0].error == "ModuleError: there is nothing to train"
    assert [kind for kind in kinds(events) if kind != "started"] == ["failed", "finished", "failed"]
    comparison = Comparison.from_results(results)
    assert [row.method for row in comparison.rows if row.rank] == ["logistic"]
    assert "failed: ce, seed 0: ModuleError: there is nothing to train" in comparison_text(comparison)
    mended = run_comparison(rules, squares, tmp_path)  # what failed is tried again
    assert [status(result) for result in mended] == ["done"] * 3


def test_rows_that_cannot_be_loaded_fail_the_cells_of_their_seed(tmp_path):
    def load(seed):
        if seed == 1:
            raise DatasetError("row 7 is gone")
        return squares(seed)

    results = run_comparison(plan("logistic", "ce", seeds=(0, 1, 2)), load, tmp_path)
    assert [status(result) for result in results] == ["done", "done", "failed", "failed", "done", "done"]
    assert results[2].error == "DatasetError: row 7 is gone"


def test_every_method_of_a_seed_gets_the_same_rows_which_are_loaded_once(tmp_path):
    loads = []

    def load(seed):
        loads.append(seed)
        return squares(seed)

    run_comparison(plan("logistic", "ce", "ours", seeds=(5, 6)), load, tmp_path)
    assert loads == [5, 6]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"max_epochs": 7}, r"budget \({'epochs': 6, .*} in the file, {'epochs': 7, .*} asked for\)"),
        ({"select_on": "average"}, "select_on"),
        ({"learner": {**LEARNER, "lr": 0.5}}, r"learner \({'lr': 0.02, .*} in the file, {'lr': 0.5, .*} asked for\)"),
        ({"theta": 0.6}, "theta"),
        ({"gamma": 0.3}, "gamma"),
        ({"network": "other"}, "network"),
        ({"data_settings": {"sha256": "b"}}, "sha256"),
        ({"data": "circles"}, "data"),
        ({"seeds_change": "draws"}, "seeds_change"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_other_settings_in_the_same_folder_are_refused_before_anything_runs(tmp_path, change, told):
    rules = plan("ours", data_settings={"sha256": "a"})
    run_comparison(rules, squares, tmp_path)
    before = (tmp_path / "ours-seed0.json").read_bytes()
    other = replace(rules, methods=("ce", "ours"), **change)
    events = []
    with pytest.raises(ParameterError, match=told):
        run_comparison(other, squares, tmp_path, events.append)
    assert events == []
    assert [file.name for file in tmp_path.glob("*.json")] == ["ours-seed0.json"]
    assert (tmp_path / "ours-seed0.json").read_bytes() == before


def test_overwriting_runs_again_with_other_settings(tmp_path):
    run_comparison(plan("ce"), squares, tmp_path)
    (result,) = run_comparison(plan("ce", max_epochs=3), squares, tmp_path, overwrite=True)
    assert (result.epochs, result.settings["budget"]) == (3, {"epochs": 3, "seconds": None})


def test_budgets_are_kept_and_what_was_spent_is_noted(tmp_path):
    names = ("ce", "ours", "boosting", "deep-ensemble", "0.5-dnn", "ce+offsets", "ours+offsets")
    rules = plan(*names, max_epochs=9, theta=0.9)
    results = {result.method: result for result in run_comparison(rules, squares, tmp_path)}
    assert all(status(result) == "done" for result in results.values())
    assert {name: result.epochs for name, result in results.items()} == dict.fromkeys(results, 9)
    assert any("The budget of 9 epochs was spent" in note for note in results["ours"].notes)
    assert any("misses the training bound" in note for note in results["0.5-dnn"].notes)
    assert results["ce"].notes == ()
    assert results["0.5-dnn"].bound_met is False
    assert results["ours+offsets"].n_members == results["ours"].n_members
    assert results["ours+offsets"].offsets["scores"] == "mean-proba"
    assert results["ours+offsets"].notes == results["ours"].notes
    assert results["deep-ensemble"].n_members == min(9, n_rounds_for(0.2995, 5))
    assert math.isclose(results["ce"].worst_error, max(row["error"] for row in results["ce"].test["classes"]))


def test_networks_of_images_are_compared_too(tmp_path):
    rules = ComparisonPlan("bars", ("ce", "ib", "forest"), (0,), max_epochs=3, network="cnn-small")
    results = run_comparison(rules, images, tmp_path)
    assert [status(result) for result in results] == ["done"] * 3


# what seeds change


def test_what_seeds_change_follows_from_the_facts_of_the_data(tmp_path):
    kinds = {name: seeds_change(dataset) for name, dataset in DATASETS.items()}
    assert {name for name, kind in kinds.items() if kind == "draws"} == {"artificial-balanced", "artificial-imbalanced"}
    assert {name for name, kind in kinds.items() if kind == "resplits"} == {"digits", "wine", "iris", "breast-cancer"}
    assert {kinds[name] for name in ("cifar10", "mnist", "tissuemnist", "emnist")} == {"fixed-test"}
    X, y = np.zeros((10, 2)), np.arange(10) % 2
    np.savez(tmp_path / "whole.npz", X=X, y=y)
    np.savez(tmp_path / "cut.npz", X_train=X, y_train=y, X_test=X, y_test=y)
    assert seeds_change(read_source(tmp_path / "whole.npz")) == "resplits"
    assert seeds_change(read_source(tmp_path / "cut.npz")) == "fixed-test"


@pytest.mark.parametrize(
    ("name", "same_test", "share_rows"), [("artificial-balanced", False, False), ("iris", False, True)]
)
def test_what_seeds_change_is_true_of_the_rows(name, same_test, share_rows):
    first, second = (load_dataset(name, seed=seed) for seed in (0, 1))
    of_first, of_second = (set(row_hashes(splits.test.X[:1000]).tolist()) for splits in (first, second))
    assert (of_first == of_second) == same_test
    trained = set(row_hashes(second.train.X).tolist())
    assert bool(of_first & trained) == share_rows


def test_rows_that_trained_or_chose_and_rows_that_tested_are_counted(tmp_path):
    (result,) = run_comparison(plan("logistic"), with_validation, tmp_path)
    splits = with_validation(0)
    assert (result.n_train, result.n_test) == (len(splits.train) + len(splits.val), len(splits.test)) == (75, 100)


# workers


def known(results):
    """Everything but times."""
    return [result.model_dump(exclude={"seconds"}) for result in results]


def test_workers_find_what_one_process_finds(tmp_path):
    rules, events = plan("ours", "ce", "logistic", seeds=(0, 1)), []
    alone = run_comparison(rules, squares, tmp_path / "alone")
    together = run_comparison(rules, squares, tmp_path / "together", events.append, n_jobs=2)
    assert known(together) == known(alone)
    assert [(result.method, result.seed) for result in together] == [
        (cell.method, cell.seed) for cell in cells_of([rules.grid(squares)])
    ]
    assert kinds(events) == ["finished"] * 6
    assert {line.split("]")[0] for line in events} == {f"[{number} of 6" for number in range(1, 7)}
    assert run_comparison(rules, squares, tmp_path / "together", events.append) == together
    assert kinds(events[6:]) == ["reused"] * 6


def test_any_backend_of_joblib_serves(tmp_path):
    rules = plan("ce", "logistic")
    alone = run_comparison(rules, squares, tmp_path / "alone")
    with joblib.parallel_config("threading", n_jobs=2):
        threads = run_comparison(rules, squares, tmp_path / "threads")
    assert known(threads) == known(alone)


def test_artificial_data_have_a_budget_of_their_own_under_which_boosting_can_finish():
    from worstclass.boosting.hedge import n_rounds_for
    from worstclass.data.registry import named_dataset

    for name in ("artificial-balanced", "artificial-imbalanced"):
        dataset = named_dataset(name)
        rounds = n_rounds_for(dataset.settings["booster"]["gamma"], dataset.n_classes)
        assert dataset.settings["compare"]["epochs"] >= 10 * rounds
