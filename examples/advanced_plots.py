"""The pictures of docs/gallery.md: every plot once, on data that comes with the package.

python examples/advanced_plots.py docs/images/gallery
"""

from __future__ import annotations

import sys
from pathlib import Path

from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from worstclass import (
    AbstainingClassifier,
    ClassErrorDisplay,
    ClassWeightDisplay,
    ConfusionDisplay,
    DecisionRegionDisplay,
    RadarDisplay,
    RiskCoverageDisplay,
    ThetaDisplay,
    WorstClassBooster,
    WorstClassOffsets,
    class_report,
    load_dataset,
    make_splits,
    select_theta,
)


def main() -> None:
    """Draw every plot into a folder."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "gallery")
    folder.mkdir(parents=True, exist_ok=True)

    digits = make_splits(*load_digits(return_X_y=True), val=0.2, cal=0.3, test=0.3, seed=0)
    linear = make_pipeline(StandardScaler(), LogisticRegression(C=0.001)).fit(digits.train.X, digits.train.y)
    offsets = WorstClassOffsets(linear, cv=5, random_state=0).fit(digits.train.X, digits.train.y)
    reports = {
        name: class_report(digits.test.y, model.predict(digits.test.X), theta=0.9)
        for name, model in (("logistic", linear), ("with offsets", offsets))
    }
    forest = RandomForestClassifier(50, random_state=0).fit(digits.train.X, digits.train.y)
    abstaining = AbstainingClassifier(forest, risk=0.3).fit(digits.cal.X, digits.cal.y)

    squares = load_dataset("artificial-balanced", seed=0, n_test=1000)
    forest = RandomForestClassifier(50, min_samples_leaf=5, random_state=0).fit(squares.train.X, squares.train.y)
    booster = WorstClassBooster(DecisionTreeClassifier(max_depth=7), theta=0.6, n_rounds=60, random_state=0)
    selection = select_theta(booster, squares.train.X, squares.train.y, candidates=(0.4, 0.5, 0.6, 0.7, 0.8))
    booster.fit(squares.train.X, squares.train.y)

    displays = {
        "class-errors": ClassErrorDisplay.from_report(reports["with offsets"]),
        "confusion": ConfusionDisplay.from_estimator(linear, digits.test.X, digits.test.y),
        "radar": RadarDisplay.from_reports(reports),
        "risk-coverage": RiskCoverageDisplay.from_estimator(abstaining, digits.test.X, digits.test.y),
        "regions": DecisionRegionDisplay.from_estimator(forest, squares.train.X, squares.train.y),
        "class-weights": ClassWeightDisplay.from_estimator(booster),
        "theta": ThetaDisplay.from_selection(selection),
    }
    for name, display in displays.items():
        display.figure_.savefig(folder / f"{name}.png", dpi=110)
    print(f"worst class {reports['logistic'].worst_text}, with offsets {reports['with offsets'].worst_text}: {folder}")


if __name__ == "__main__":
    main()
