"""Notebook output: tables of reports, certificates and selections, and scikit-learn's diagram with the class errors."""

from __future__ import annotations

import html
import re

import numpy as np
import pytest
from sklearn import config_context
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

import worstclass as wc

HOSTILE = '<script>alert("x")</script>'


@pytest.fixture(scope="module")
def rows():
    X, y = load_iris(return_X_y=True)
    X = X + 1e-6 * np.arange(len(X))[:, None]  # no row twice
    return X, np.array(["setosa", HOSTILE, "c"])[y]


def text_of(page: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", page)).split())


def shown(rows):
    X, y = rows
    model = GaussianNB().fit(X[::2], y[::2])
    learner = wc.WorstClassBooster(DecisionTreeClassifier(max_depth=2), theta=0.0, n_rounds=2, random_state=0)
    careful = wc.AbstainingClassifier(GaussianNB(), risk=0.4, random_state=0).fit(X, y)
    return {
        "report": wc.class_report(y, model.predict(X), theta=0.7),
        "certificate": wc.certify(model, X[1::2], y[1::2], require=0.5),
        "selection": wc.select_theta(learner, X, y, candidates=[0.2, 0.5]),
        "risk report": careful.risk_report(X, y),
        "risk certificate": careful.certificate_,
    }


def test_html_says_what_the_text_says_and_names_are_escaped(rows):
    for name, record in shown(rows).items():
        page = record._repr_html_()
        assert "<script" not in page, name
        assert text_of(page).replace(" ", "") == "".join(str(record).split()), name
        assert page.count("<tr>") == len(record._table().rows) + 1, name


def test_representations_are_short(rows):
    found = shown(rows)
    for record in found.values():
        assert len(repr(record)) < 160
        assert "\n" not in repr(record)
    assert repr(found["report"]).startswith("<ClassReport: worst ")
    assert repr(found["certificate"]).startswith("<Certificate: proven, worst class at most ")
    assert repr(found["selection"]) == f"<ThetaSelection: theta {found['selection'].theta:g} by grid, 2 fits>"


MODELS = {
    "booster": lambda: wc.WorstClassBooster(DecisionTreeClassifier(max_depth=3), theta=0.7, n_rounds=3, random_state=0),
    "portfolio": lambda: wc.WorstClassClassifier([GaussianNB(), DecisionTreeClassifier()], cv=2, random_state=0),
    "offsets": lambda: wc.WorstClassOffsets(GaussianNB(), random_state=0),
    "abstaining": lambda: wc.AbstainingClassifier(GaussianNB(), risk=0.4, random_state=0),
}


@pytest.mark.parametrize("name", MODELS)
def test_fitted_estimators_show_the_diagram_of_scikit_learn_and_their_class_errors(name, rows):
    model = MODELS[name]()
    before = model._repr_html_()
    assert "sk-top-container" in before
    assert "all rows" not in before
    model.fit(*rows)
    page = model._repr_mimebundle_()["text/html"]
    assert "sk-top-container" in page
    assert HOSTILE in text_of(page)
    assert "<script>alert" not in page
    reports = (
        getattr(model, f"{kind}_", None)
        for kind in ("certificate", "cv_report", "validation_report", "training_report")
    )
    report = next(report for report in reports if report is not None)
    assert report._repr_html_() in page
    with config_context(display="text"):
        assert "text/html" not in model._repr_mimebundle_()
    assert repr(model).startswith(type(model).__name__)
