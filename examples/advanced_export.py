"""How do I use a model where worstclass is not installed? Export it to one ONNX file, with its certificate inside.

    python examples/advanced_export.py

Four parts of the rows: `train` fits, `val` chooses offsets, `cal` proves the floors, and `test` is asked twice: by the
model, and by the file.
"""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import onnxruntime
from sklearn.datasets import load_digits
from sklearn.ensemble import ExtraTreesClassifier

from worstclass import WorstClassBooster, WorstClassOffsets, certify, class_report, export_onnx, make_splits

SEED, FLOOR = 0, 0.8


def main() -> None:
    splits = make_splits(*load_digits(return_X_y=True), val=0.2, cal=0.3, test=0.2, seed=SEED)
    booster = WorstClassBooster(ExtraTreesClassifier(30), theta=0.97, n_rounds=10, random_state=SEED)
    booster.fit(splits.train.X, splits.train.y)
    model = WorstClassOffsets(booster, cv="prefit").fit(splits.val.X, splits.val.y)
    certificate = certify(model, splits.cal.X, splits.cal.y, require=FLOOR)

    with TemporaryDirectory() as folder:
        file = Path(folder) / "digits.onnx"
        print("1. The file answers every test row as the model does:\n")
        print(export_onnx(model, file, splits.test.X, certificate=certificate))

        print("\n2. Without worstclass: onnxruntime alone, one row and all rows\n")
        session = onnxruntime.InferenceSession(file)
        print(session.run(["label"], {"X": splits.test.X[:1]})[0])
        labels = session.run(["label"], {"X": splits.test.X})[0]
        print(class_report(splits.test.y, labels))

        print("\n3. What the file says of itself\n")
        about = session.get_modelmeta().custom_metadata_map
        print(f"{about['kind']} by worstclass {about['worstclass']}, classes {about['classes']}")
        verdict = json.loads(about["certificate"])["verdict"]
        print(f"certificate, that every class is right more than {FLOOR:.0%} of the time: {verdict}")


if __name__ == "__main__":
    main()
