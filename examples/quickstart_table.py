"""From a table to a proven classifier: fit, estimate, test, certify, save.

    python examples/quickstart_table.py

The table is drawn: four classes, the last with 2% of the rows. A random forest with balanced class weights stands
beside the default of worstclass.
"""

from __future__ import annotations

from tempfile import TemporaryDirectory

from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

from worstclass import WorstClassClassifier, certify, class_report, load_model, make_splits, save_model

NAMES = ["healthy", "mild", "severe", "critical"]


def main() -> None:
    X, y = make_classification(
        6000, 12, n_informative=6, n_classes=4, weights=[0.6, 0.25, 0.13], class_sep=1.2, random_state=1
    )
    splits = make_splits(X, [NAMES[k] for k in y], cal=0.4, test=0.3, seed=0)
    train, test, cal = splits.train, splits.test, splits.cal

    print(f"1. A balanced random forest on {len(train):,} rows, judged on {len(test):,} test rows\n")
    forest = RandomForestClassifier(300, class_weight="balanced", random_state=0).fit(train.X, train.y)
    print(class_report(test.y, forest.predict(test.X)))

    print("\n2. The default of worstclass, its estimate from the training rows alone\n")
    model = WorstClassClassifier(random_state=0).fit(train.X, train.y)
    print(model.cv_report_)
    for record in model.portfolio_:
        print(f"{record.name:>14}: weight {record.weight:.2f}, alone {record.worst_error:.1%} on held-out rows")

    print("\n3. The same test rows\n")
    print(class_report(test.y, model.predict(test.X)))

    print(f"\n4. Is every class right more often than half of the time? {len(cal):,} fresh rows decide\n")
    print(certify(model, cal.X, cal.y, require=0.5))

    with TemporaryDirectory() as folder:
        again = load_model(save_model(model, folder))
        print(f"\n5. Saved and loaded: {(again.predict(test.X) == model.predict(test.X)).mean():.0%} equal answers")


if __name__ == "__main__":
    main()
