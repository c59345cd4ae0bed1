"""A network of one's own, trained so that the worst class is served best; python examples/quickstart_torch.py."""

from __future__ import annotations

import tempfile
from pathlib import Path

from torch import nn

from worstclass import TorchLearner, WorstClassClassifier, class_report, load_dataset, load_model, save_model


def network(input_shape: tuple[int, ...], n_classes: int) -> nn.Module:
    """Build the network; it is called once for every network that is trained."""
    layers = [nn.Linear(input_shape[0], 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, n_classes)]
    return nn.Sequential(*layers)


def main() -> None:
    """Train on four overlapping classes, one of them small; save the model, load it, and ask it about new rows."""
    data = load_dataset("artificial-imbalanced", seed=0, n_test_min=500)
    model = WorstClassClassifier([TorchLearner(network, lr=0.01, batch_size=64)], max_epochs=250, random_state=0)
    model.fit(data.train.X, data.train.y)
    print(f"estimated on held-out rows:\n{model.cv_report_}\n")
    with tempfile.TemporaryDirectory() as folder:
        save_model(model, Path(folder) / "model")
        loaded = load_model(Path(folder) / "model", module=network)
    print(f"new rows:\n{class_report(data.test.y, loaded.predict(data.test.X))}")


if __name__ == "__main__":
    main()
