"""Can I rely on every class at 80%? From rows to a verdict, and to what a proof would still need.

    python examples/advanced_certify.py
    python examples/advanced_certify.py --data FOLDER      # RetinaMNIST, from the folder that holds retinamnist.npz

The rows are split in three: `train` fits, `val` chooses how many members vote, `cal` certifies and does nothing else.
Only the floor that was fixed beforehand is certified. The second call of `certify` merely shows what a higher floor
would need.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

from sklearn.datasets import load_digits
from sklearn.ensemble import ExtraTreesClassifier

from worstclass import Splits, TorchLearner, WorstClassBooster, certify, load_dataset, make_splits
from worstclass.certificates import training_certificate
from worstclass.exceptions import DataError, WorstClassWarning

SEED, DELTA = 0, 0.05


def digits() -> tuple[Splits, WorstClassBooster, float]:
    """Handwritten digits, forests, and a floor of 80%."""
    X, y = load_digits(return_X_y=True)
    splits = make_splits(X, y, val=0.1, cal=0.4, test=0, seed=SEED)
    forests = ExtraTreesClassifier(30)
    return splits, WorstClassBooster(forests, theta=0.97, n_rounds=10, random_state=SEED), 0.8


def retina(folder: Path) -> tuple[Splits, WorstClassBooster, float]:
    """Fundus images in five grades, small convolutional networks for a few seconds, and a floor of 30%."""
    splits = load_dataset("retinamnist", folder, seed=SEED, cal=0.2)
    networks = TorchLearner("cnn-small", batch_size=64)
    booster = WorstClassBooster(
        networks,
        theta=0.5,
        gamma=0.1,
        n_rounds=5,
        max_epochs_per_round=30,
        max_seconds=20,
        extend=False,
        random_state=SEED,
    )
    return splits, booster, 0.3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with retinamnist.npz; default: scikit-learn's digits")
    folder = parser.parse_args().data
    splits, booster, floor = digits() if folder is None else retina(folder)

    print(f"1. Fit on {len(splits.train)} rows, {len(splits.val)} choose the prefix of the vote\n")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WorstClassWarning)  # the certificate says the same
        booster.fit(splits.train.X, splits.train.y, splits.val.X, splits.val.y)
    print(training_certificate(booster))

    print(f"\n2. Certify on {len(splits.cal)} other rows: is every class right at least {floor:.0%} of the time?\n")
    certificate = certify(booster, splits.cal.X, splits.cal.y, delta=DELTA, require=floor)
    print(certificate)

    best = int(100 * certificate.provable_floor) / 100
    higher = best + 0.1 if best < 0.85 else 0.95
    print(f"\n3. These rows would prove a floor of {best:.0%}. What would {higher:.0%} need?\n")
    print(certify(booster, splits.cal.X, splits.cal.y, delta=DELTA, require=higher))

    print("\n4. Rows that trained the model prove nothing, and are refused\n")
    try:
        certify(booster, splits.train.X, splits.train.y, require=floor)
    except DataError as refused:
        print(refused)


if __name__ == "__main__":
    main()
