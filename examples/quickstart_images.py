"""Images in folders, a folder for each class; python examples/quickstart_images.py."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits

from worstclass import WorstClassClassifier, class_report
from worstclass.data.sources import read_source


def write_folders(root: Path) -> None:
    """Write the digits of scikit-learn as pictures; of 8 there are few."""
    X, y = load_digits(return_X_y=True)
    for k in range(10):
        (root / f"digit-{k}").mkdir(parents=True)
        for i in np.flatnonzero(y == k)[: 30 if k == 8 else 120]:
            picture = (X[i].reshape(8, 8) * 15).astype(np.uint8)
            Image.fromarray(picture).resize((16, 16)).save(root / f"digit-{k}" / f"{i:04}.png")


def main() -> None:
    """Train the default for images, and report the error of every class."""
    with tempfile.TemporaryDirectory() as folder:
        write_folders(Path(folder))
        splits = read_source(folder).splits(test=0.3, seed=0)
    model = WorstClassClassifier(cv=2, max_epochs=20, random_state=0).fit(splits.train.X, splits.train.y)
    print(class_report(splits.test.y, model.predict(splits.test.X)))


if __name__ == "__main__":
    main()
