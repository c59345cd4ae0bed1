"""The paper's data sets as declarations: each with the paper's settings, and what the smaller scales change in them.

A ``Problem`` is a data set with these settings. To add one, declare it in ``PROBLEMS``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from worstclass._checks import check_choice
from worstclass.data.registry import load_dataset, named_dataset
from worstclass.data.splits import Splits, at_most

SCALES = ("paper", "cpu", "smoke")
#: settings of a problem in words, where their names do not say enough
WORDS = {
    "options": "data",
    "train_rows": "training rows",
    "val_rows": "validation rows",
    "instance_gammas": "gamma of Boosting",
    "instance_epochs": "epochs of Boosting",
    "boosting_epochs": "epochs of ours",
    "round_epochs": "epochs of a round",
    "round_patience": "patience of a round",
    "fold_epochs": "epochs of auto-networks",
    "warm_up": "epochs before IB begins",
    "thetas": "theta tried",
}
#: candidates of theta for real data
THETAS = tuple(n / 10 for n in range(1, 10))


@dataclass(frozen=True)
class Problem:
    """A data set with the settings of the paper, or of a smaller scale.

    Attributes
    ----------
    name, title : in files and commands, and in tables.
    data, options : name of the data set, and further options of ``load_dataset``.
    seeds : number of draws or splits.
    train_rows, val_rows : rows that are drawn from the training and validation part; None takes all.
    network, learner : the network and the options of ``TorchLearner``.
    epochs : epochs of a single network at most.
    patience : epochs without a lower training loss that end the training of a single network; None trains to the end.
    select_on : what chooses the epoch of a single network: the training ``"loss"`` where there are no validation rows,
        or a validation error.
    theta, thetas : the paper's floor, and the candidates of which validation rows choose one.
    gamma, gammas : the paper's gamma, and the candidates of the sensitivity table.
    instance_gammas : candidates of gamma of Boosting, which weighs rows.
    instance_epochs : epochs of all rounds of Boosting together at most; None is no limit. The authors stopped it after
        a week.
    round_epochs, round_patience : epochs of a round of boosting at most, and without progress of the edge; also those
        of the single round of 0.5-DNN.
    boosting_epochs : epochs of all rounds together at most; None is no limit.
    warm_up : epochs of cross-entropy before the influence-balanced loss.
    fold_epochs : epochs of ``auto-networks``, which divides them among the folds.
    loss_options : options of the losses that the authors set, by method.
    shares : of the classes in the population, where the test part has as many rows of each; None where the test part
        has the shares of the population.
    changes : by scale, what replaces the paper's settings.
    """

    name: str
    title: str
    data: str
    options: Mapping[str, Any] = field(default_factory=dict)
    seeds: int = 1
    train_rows: int | None = None
    val_rows: int | None = None
    network: str = "mlp"
    learner: Mapping[str, Any] = field(default_factory=dict)
    epochs: int = 200
    patience: int | None = None
    select_on: str = "average"
    theta: float = 0.9
    thetas: tuple[float, ...] = THETAS
    gamma: float = 0.2995
    gammas: tuple[float, ...] = ()
    instance_gammas: tuple[float, ...] = (0.1995, 0.2995)
    instance_epochs: int | None = None
    round_epochs: int = 10_000
    round_patience: int = 1_000
    boosting_epochs: int | None = None
    warm_up: int = 50
    fold_epochs: int = 200
    loss_options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    shares: tuple[float, ...] | None = None
    changes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def validates(self) -> bool:
        """Whether there are validation rows, which choose epochs and candidates."""
        return self.select_on != "loss"

    def at(self, scale: str) -> Problem:
        """Return the problem at a scale."""
        check_choice(scale, "scale", "reproduce", SCALES)
        return replace(self, **self.changes.get(scale, {}))

    def reductions(self, other: Problem) -> list[str]:
        """Say what another form of the same problem changes, setting by setting."""
        pairs = [(one.name, getattr(self, one.name), getattr(other, one.name)) for one in fields(self)]
        changed = [(name, old, new) for name, old, new in pairs if old != new and name not in ("changes", "shares")]
        return [
            f"{WORDS.get(name, name)}: {_told(new, old)} instead of {_told(old, new)}" for name, old, new in changed
        ]

    def load(self, root: Path | None, seed: int) -> Splits:
        """Load the splits of a seed."""
        splits = load_dataset(self.data, root, seed, **self.options)
        if self.train_rows is None and self.val_rows is None:
            return splits
        val = None if splits.val is None else at_most(splits.val, self.val_rows, seed)
        return replace(splits, train=at_most(splits.train, self.train_rows, seed), val=val)

    @property
    def data_settings(self) -> dict[str, Any]:
        """What fixes the rows besides the seed."""
        return {"data_options": dict(self.options), "train_rows": self.train_rows, "val_rows": self.val_rows}


def _told(value: Any, other: Any) -> str:
    """Write a setting; of a mapping, only what the other has not."""
    if isinstance(value, Mapping):
        parts = [f"{key} {item}" for key, item in value.items() if key not in other or other[key] != item]
        return ", ".join(parts) or "the default"
    if isinstance(value, tuple):
        return ", ".join(f"{item:g}" for item in value)
    return "no limit" if value is None else f"{value:,}" if isinstance(value, int) else str(value)


def _artificial(
    name: str,
    title: str,
    data: str,
    options: Mapping[str, Mapping[str, int]],
    shares: tuple[float, ...] | None = None,
    batch_size: int = 512,
    **more: Any,
) -> Problem:
    """Declare a problem of the artificial data, with its options by scale.

    The smaller scales have as many test rows of each class, so they need the ``shares`` of imbalanced classes. The
    paper names no batch size for these data; a batch has room for all rows, so that an epoch is one step.
    """
    return Problem(
        name,
        title,
        data,
        options["paper"],
        seeds=5,
        learner={"lr": 0.01, "batch_size": batch_size},
        epochs=10_000,
        patience=100,
        select_on="loss",
        gamma=0.0995,
        instance_gammas=(0.0995,),
        fold_epochs=750,
        changes={
            "cpu": {"options": options["cpu"], "shares": shares, "seeds": 15, "instance_epochs": 5_000},
            "smoke": {
                "options": options["smoke"],
                "shares": shares,
                "seeds": 2,
                "learner": {"lr": 0.03, "batch_size": 512, "module_options": {"hidden": [16]}},
                "epochs": 20,
                "theta": 0.1,
                "thetas": (0.1, 0.2),
                "round_epochs": 20,
                "boosting_epochs": 60,
                "instance_epochs": 60,
                "warm_up": 2,
                "fold_epochs": 20,
            },
        },
        **more,
    )


def _discs(n_min: int) -> Problem:
    """Declare the discs with a number of training rows of the rarest class; the others have ten times as many."""
    return _artificial(
        f"discs-{n_min}",
        f"n_min = {n_min}",
        "artificial-imbalanced",
        {
            "paper": {"n_min": n_min, "n_test_min": 10_000},
            "cpu": {"n_min": n_min, "n_test": 4_000},
            "smoke": {"n_min": 4 + n_min // 20, "n_test": 30},
        },
        shares=(10 / 31, 10 / 31, 10 / 31, 1 / 31),
        batch_size=max(512, 31 * n_min),
        theta=0.5,
        thetas=(0.3, 0.4, 0.5, 0.6, 0.7),
        gammas=(0.0995, 0.2495, 0.4995),
    )


def _images(name: str, title: str, cpu: Mapping[str, Any] = {}, **more: Any) -> Problem:
    """Declare a problem of image data with the paper's network; the smaller scales have a small one and fewer rows.

    ``cpu`` changes settings of the scale cpu, ``more`` those of the paper.
    """
    settings = named_dataset(name).settings
    learner = dict(settings["learner"])
    network = learner.pop("module")
    augment = {key: value for key, value in learner.items() if key == "augment"}
    on_cpu = {
        "seeds": 3,
        "train_rows": 4_000,
        "val_rows": 2_000,
        "network": "cnn-small",
        "learner": {"batch_size": 128, **augment},
        "epochs": 20,
        "warm_up": 5,
        "thetas": (0.3, 0.5, 0.7, 0.9),
        "round_epochs": 60,
        "round_patience": 10,
        "boosting_epochs": 60,
        "instance_epochs": 60,
        "fold_epochs": 20,
        **cpu,
    }
    smoke = {
        **on_cpu,
        "seeds": 1,
        "train_rows": 500,
        "val_rows": 100,
        "learner": {"batch_size": 64, "module_options": {"width": 2}},
        "epochs": 2,
        "warm_up": 1,
        "thetas": (0.1, 0.2),
        "round_epochs": 2,
        "boosting_epochs": 4,
        "instance_epochs": 4,
        "fold_epochs": 2,
    }
    return Problem(
        name,
        title,
        name,
        network=network,
        learner=learner,
        gammas=(0.0995, 0.1995, 0.2995, 0.3995),
        loss_options={"la": {"tau": 2.25}},
        changes={"cpu": on_cpu, "smoke": smoke},
        **{**settings.get("booster", {}), **more},  # theta and gamma, where the data set has its own
    )


PROBLEMS = {
    problem.name: problem
    for problem in (
        _artificial(
            "squares",
            "Squares",
            "artificial-balanced",
            {"paper": {"n_test": 100_000}, "cpu": {"n_test": 4_000}, "smoke": {"n_train": 20, "n_test": 30}},
            theta=0.75,
            thetas=(0.55, 0.6, 0.65, 0.7, 0.75, 0.8),
            gammas=(0.0995, 0.2995, 0.4995),
        ),
        *(_discs(n_min) for n_min in (10, 50, 100)),
        _images("cifar10", "CIFAR-10"),
        _images("cifar100", "CIFAR-100"),
        _images("tiny-imagenet", "Tiny ImageNet"),
        _images("fashion-mnist", "Fashion-MNIST (added)"),
        _images("imbalanced-cifar10", "Imb. CIFAR-10"),
        _images("emnist", "EMNIST"),
        _images("tissuemnist", "TissueMNIST", epochs=100),
        _images("retinamnist", "RetinaMNIST (added)", gamma=0.0995, epochs=100, cpu={"epochs": 60, "fold_epochs": 60}),
    )
}
