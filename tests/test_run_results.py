"""run.json of any fitted model, and the report that is made from it alone."""

from __future__ import annotations

import json
import re
import warnings

import numpy as np
import pytest
from pages import tables
from sklearn.ensemble import AdaBoostClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from worstclass import (
    SklearnLearner,
    WorstClassBooster,
    WorstClassClassifier,
    WorstClassOffsets,
    build_method,
    class_report,
)
from worstclass.boosting.oco import InstanceBooster
from worstclass.data.splits import Part, Splits
from worstclass.exceptions import ModelFormatError, WorstClassWarning
from worstclass.experiments.details import Details
from worstclass.experiments.run import Provenance, RunResult
from worstclass.metrics import ClassReport
from worstclass.report.page import write_page
from worstclass.report.summary import text_report, verdict

LEARNER = {"lr": 0.02, "module_options": {"hidden": (8,)}}


def draw(seed, n=60):
    rng = np.random.default_rng(seed)
    y = np.repeat(["a|b", "c", "d"], n)
    centres = np.repeat([[0, 0], [2.5, 0], [0, 2.5]], n, axis=0)
    return rng.normal(centres, 0.9), y


def trees(theta=0.6, **options):
    return WorstClassBooster(SklearnLearner(DecisionTreeClassifier()), theta, n_rounds=5, random_state=0, **options)


def portfolio(theta=None, **options):
    members = [("linear", LogisticRegression()), ("tree", DecisionTreeClassifier(max_depth=3))]
    return WorstClassClassifier(members, theta, **{"cv": 3, "random_state": 0, **options})


def fitted(model, *data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WorstClassWarning)
        return model.fit(*(data or draw(0)))


def result_of(model, **options):
    splits = Splits(Part(*draw(0)), test=Part(*draw(1)))
    facts = {"data": {"name": "toy"}, "settings": {"lr": 0.02}, "seed": 3, "seconds": 1.5}
    return RunResult.describe(model, splits, counted=["test"], provenance=Provenance.collect(), **{**facts, **options})


def read_back(result, folder):
    (folder / "run.json").write_text(json.dumps(result.model_dump(), allow_nan=False))
    return RunResult.read(folder)


MODELS = {
    "WorstClassBooster": lambda: trees(),
    "InstanceBooster": lambda: InstanceBooster(SklearnLearner(DecisionTreeClassifier()), n_rounds=3, random_state=0),
    "NetworkClassifier": lambda: build_method("ce", learner=LEARNER, max_epochs=20, random_state=0),
    "DeepEnsemble": lambda: build_method(
        "deep-ensemble", n_estimators=2, learner=LEARNER, max_epochs=20, random_state=0
    ),
    "Pipeline": lambda: make_pipeline(StandardScaler(), LogisticRegression()),
    "AdaBoostClassifier": lambda: AdaBoostClassifier(n_estimators=5, random_state=0),  # has an estimator_ of its own
    "WorstClassClassifier": lambda: portfolio(),
    "WorstClassOffsets(WorstClassClassifier)": lambda: WorstClassOffsets(portfolio(), random_state=0),
    "WorstClassOffsets(LogisticRegression)": lambda: WorstClassOffsets(LogisticRegression(), random_state=0),
    "WorstClassOffsets(WorstClassBooster)": lambda: WorstClassOffsets(trees(), random_state=0),
}


@pytest.mark.parametrize("name", MODELS)
def test_any_fitted_model_is_described_written_read_and_reported(name, tmp_path):
    model = fitted(MODELS[name]())
    result = result_of(model, method="mine")
    assert (result.model, result.method, result.seed, result.seconds) == (name, "mine", 3, 1.5)
    assert read_back(result, tmp_path) == result
    assert result.provenance == Provenance.collect()
    assert (result.boosting is not None) == ("Booster" in name)
    assert (result.offsets is not None) == ("Offsets" in name)
    assert (result.portfolio is not None) == ("WorstClassClassifier" in name)
    no_epochs = ("Pipeline", "AdaBoost", "Logistic", "WorstClassClassifier")
    assert (result.epochs is None) == any(part in name for part in no_epochs)
    assert f"\ntest rows\n{ClassReport.from_dict(result.test)}" in text_report(result)
    (tmp_path / "results").mkdir()
    (tmp_path / "run.json").rename(tmp_path / "results" / "run.json")
    (tmp_path / "results" / "details.json").write_text(Details.of(model, Part(*draw(1)), "test rows").model_dump_json())
    page = write_page(tmp_path).read_text(encoding="utf-8")
    assert ("Decision offsets" in page) == ("Offsets" in name or "WorstClassClassifier" in name)
    assert [row[0] for row in tables(page)["Errors by class, test rows"][1:]] == [
        row["name"] for row in result.test["classes"]
    ]


def test_what_boosting_did_is_kept():
    booster = fitted(trees(theta={"c": 0.5, "others": 0.7}))
    result = result_of(booster)
    boosting = result.boosting
    assert (boosting.n_rounds, boosting.n_members) == (5, len(booster.estimators_))
    assert boosting.theta == {"a|b": 0.7, "c": 0.5, "d": 0.7}
    assert (boosting.bound_met, boosting.shortfall) == (True, {})
    assert result.bound_met is True
    assert verdict(result) == (
        f"Bound met: the vote of {booster.n_members_used_} members errs on less than 1 - theta of every class of the "
        "training rows."
    )
    assert result.training == booster.training_report_.to_dict()
    assert result.validation is None


def test_a_bound_that_is_missed_is_told_by_class_with_the_rows_it_is_short_of():
    short = WorstClassBooster(
        SklearnLearner(DecisionTreeClassifier(max_depth=1)), 0.9, n_rounds=3, extend=False, random_state=0
    )
    result = result_of(fitted(short))
    assert result.bound_met is False
    sentence = verdict(result)
    assert sentence.startswith("Bound NOT met: the vote of ")
    assert result.boosting.shortfall
    for label, rows in result.boosting.shortfall.items():
        assert f"{label} ({rows} rows short)" in sentence


def test_with_offsets_the_bound_is_that_of_the_whole_model():
    model = fitted(WorstClassOffsets(trees(), random_state=0))
    _, y = draw(0)
    assert result_of(model).bound_met is None  # nobody counted the training rows
    assert verdict(result_of(model)).startswith("Error of the worst class on the test rows: ")
    good = class_report(y, y, labels=model.classes_, theta=0.6)
    bad = class_report(y, np.where(y == "c", "d", y), labels=model.classes_, theta=0.6)
    assert result_of(model, training=good).bound_met is True
    result = result_of(model, training=bad)
    assert result.bound_met is False
    assert "with decision offsets, misses it for c." in verdict(result)
    assert result.boosting.bound_met is True  # the vote itself meets it


def test_what_a_portfolio_found_is_kept_and_reported(tmp_path):
    model = fitted(portfolio())
    result = read_back(result_of(model), tmp_path)
    found = result.portfolio
    assert (found.n_folds, found.theta, found.floors_met, found.shortfall, found.notes) == (3, None, None, {}, [])
    assert tuple(found.members) == model.portfolio_
    assert found.held_out == model.cv_report_.to_dict()
    assert (result.floors_met, result.bound_met) == (None, None)
    assert verdict(result).startswith("Error of the worst class on the test rows: ")
    for text in (text_report(result),):
        assert "eld-out estimate (cross-validation)\n" in text
        assert str(model.cv_report_) in text
        assert "ortfolio, held-out errors of each member alone, with its best offsets (3 folds)\n" in text
        for record in model.portfolio_:
            errors = f"{record.worst_error:.1%} +{record.plain_error:.1%} +{record.seconds:.1f}"
            assert re.search(rf"^{record.name} +{record.weight:.2f} +{errors}$", text, re.MULTILINE)
        assert "otes\n" not in text
    assert verdict(result) not in text_report(result)


def test_floors_of_a_portfolio_are_told_by_class():
    result = result_of(fitted(portfolio(0.3)))
    assert (result.floors_met, result.portfolio.shortfall) == (True, {})
    assert result.portfolio.theta == {"a|b": 0.3, "c": 0.3, "d": 0.3}
    assert verdict(result) == "Floors met: on held-out rows every class errs on less than 1 - theta of its rows."
    model = fitted(portfolio({"c": 0.999, "others": 0.1}))
    result = result_of(model)
    assert result.floors_met is False
    assert verdict(result) == f"Floors NOT met: missed on held-out rows by c ({model.shortfall_['c']} rows short)."
    assert text_report(result).endswith(verdict(result))


def test_a_class_of_which_no_row_could_be_held_out_has_no_known_floor():
    X, y = draw(0)
    model = fitted(portfolio(0.1), np.vstack([X, [[9.0, 9.0]]]), np.append(y, "once"))
    result = result_of(model)
    assert result.floors_met is False
    assert verdict(result) == "Floors NOT met: not known for once, of which no row could be held out."


def test_one_held_out_part_is_called_so_and_notes_are_listed():
    model = fitted(portfolio(cv=1))
    model.notes_ = ("tree was left out: no time was left",)
    text = text_report(result_of(model))
    assert "held-out estimate (one held-out part)" in text
    assert "portfolio, held-out errors of each member alone, with its best offsets (one held-out part)" in text
    assert text.endswith("notes\ntree was left out: no time was left")


def test_results_without_a_portfolio_are_read_as_before(tmp_path):
    values = result_of(fitted(trees())).model_dump()
    del values["portfolio"]
    (tmp_path / "run.json").write_text(json.dumps(values))
    result = RunResult.read(tmp_path)
    assert result.portfolio is None
    assert result.floors_met is result.bound_met is True


def test_offsets_and_reports_on_the_rows_that_chose_them_are_kept():
    model = fitted(WorstClassOffsets(LogisticRegression(), random_state=0))
    result = result_of(model)
    assert result.offsets["offsets"] == dict(zip(["a|b", "c", "d"], model.offsets_.tolist(), strict=True))
    assert result.offsets["before"] == model.validation_report_before_.to_dict()
    assert result.offsets["after"] == model.validation_report_.to_dict()
    assert result.validation is None  # the splits have no validation part


def test_a_model_without_any_report_still_has_a_verdict():
    model = fitted(LogisticRegression())
    assert verdict(result_of(model, test=None)) == "No rows were counted."
    X, y = draw(0)
    training = class_report(y, model.predict(X))
    expected = f"Error of the worst class on the training rows: {training.worst_text}."
    assert verdict(result_of(model, test=None, training=training)) == expected


def test_a_result_that_cannot_be_read_is_refused(tmp_path):
    with pytest.raises(ModelFormatError, match=r"run\.json cannot be read"):
        RunResult.read(tmp_path)
    (tmp_path / "run.json").write_text('{"model": "x"}')
    with pytest.raises(ModelFormatError, match=r"run\.json cannot be read"):
        RunResult.read(tmp_path)
