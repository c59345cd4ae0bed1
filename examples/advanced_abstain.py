"""What if a floor cannot be proven? Answer less, and prove that what is answered is right often enough in every class.

    python examples/advanced_abstain.py

Three parts of the rows: `train` fits, `cal` is asked whether the floor is proven, and `test` chooses when to answer and
proves it. The rows that said no are not used again: a second try on them would be no proof.
"""

from __future__ import annotations

from sklearn.datasets import load_digits
from sklearn.ensemble import ExtraTreesClassifier

from worstclass import AbstainingClassifier, WorstClassBooster, certify, make_splits
from worstclass.exceptions import DataError

SEED, FLOOR, RISK = 0, 0.85, 0.15


def main() -> None:
    splits = make_splits(*load_digits(return_X_y=True), cal=0.3, test=0.4, seed=SEED)
    booster = WorstClassBooster(ExtraTreesClassifier(30), theta=0.97, n_rounds=10, random_state=SEED)
    booster.fit(splits.train.X, splits.train.y)

    print(f"1. Is every class right at least {FLOOR:.0%} of the time? By {len(splits.cal)} held-out rows:\n")
    print(certify(booster, splits.cal.X, splits.cal.y, require=FLOOR))

    print(f"\n2. Of the rows that are answered: by {len(splits.test)} other rows, with a right not to answer:\n")
    model = AbstainingClassifier(booster, RISK, cv="prefit").fit(splits.test.X, splits.test.y)
    print(model.certificate_)

    print("\n3. What it says of the rows that asked first; a count, no promise:\n")
    print(model.risk_report(splits.cal.X, splits.cal.y))
    print(f"first answers: {model.predict(splits.cal.X[:12]).tolist()} ({model.abstain_label_} is no answer)")

    print("\n4. Rows that chose or proved cannot certify again\n")
    try:
        model.certify(splits.test.X, splits.test.y)
    except DataError as refused:
        print(refused)


if __name__ == "__main__":
    main()
