"""The figures that the paper prints, in percent: table -> row -> problem -> values in the order of the columns."""

from __future__ import annotations

#: worst and average test error; of table1, first the training errors of the five classes
Values = tuple[float, ...]
_DISCS = ("discs-10", "discs-50", "discs-100")
_BALANCED = ("cifar10", "cifar100", "tiny-imagenet")
_IMBALANCED = ("imbalanced-cifar10", "emnist", "tissuemnist")


def _pairs(problems: tuple[str, ...], *values: float) -> dict[str, Values]:
    return {problem: values[2 * k : 2 * k + 2] for k, problem in enumerate(problems)}


PRINTED: dict[str, dict[str, dict[str, Values]]] = {
    "table1": {
        "CE": {"squares": (3.2, 13.2, 4.0, 2.6, 2.0, 52.2, 23.4)},
        "Boosting": {"squares": (1.4, 5.4, 1.4, 1.4, 0.6, 49.6, 23.3)},
        "0.5-DNN": {"squares": (13.2, 20.0, 15.6, 18.2, 15.4, 32.0, 22.7)},
        "Naive": {"squares": (20.8, 17.2, 26.4, 20.4, 18.2, 28.5, 23.8)},
        "Ours": {"squares": (20.6, 24.0, 19.8, 20.0, 20.2, 28.1, 23.9)},
    },
    "table2": {
        "CE": _pairs(_DISCS, 71.0, 30.8, 68.0, 29.2, 65.1, 29.0),
        "wCE": _pairs(_DISCS, 64.8, 32.1, 53.8, 33.2, 47.5, 33.8),
        "Boosting": _pairs(_DISCS, 67.6, 31.1, 67.8, 29.1, 66.4, 28.8),
        "0.5-DNN": _pairs(_DISCS, 67.3, 30.4, 63.9, 29.9, 57.9, 32.1),
        "Naive": _pairs(_DISCS, 55.5, 34.5, 52.2, 33.4, 51.1, 33.8),
        "Ours": _pairs(_DISCS, 59.8, 31.3, 49.5, 33.2, 45.5, 34.1),
    },
    "table3": {
        "CE": _pairs(_BALANCED, 30.9, 14.9, 78.0, 46.7, 84.0, 42.8),
        "Boosting": _pairs(_BALANCED, 26.2, 13.1, 66.0, 35.4, 72.0, 37.2),
        "Naive": _pairs(_BALANCED, 23.0, 17.2, 87.0, 54.9, 100.0, 81.7),
        "Focal": _pairs(_BALANCED, 25.6, 14.2, 80.0, 46.5, 82.0, 43.0),
        "IB": _pairs(_BALANCED, 28.1, 13.7, 92.0, 47.8, 90.0, 41.7),
        "IB+Focal": _pairs(_BALANCED, 25.6, 13.8, 86.0, 46.7, 90.0, 41.7),
        "LA": _pairs(_BALANCED, 31.4, 14.2, 80.0, 46.5, 86.0, 42.4),
        "CDT": _pairs(_BALANCED, 35.0, 13.8, 82.0, 46.2, 86.0, 42.6),
        "VS": _pairs(_BALANCED, 27.1, 13.8, 84.0, 46.7, 90.0, 42.4),
        "Ours": _pairs(_BALANCED, 18.9, 9.6, 62.0, 44.5, 68.0, 36.1),
    },
    "table4": {
        "CE": _pairs(_IMBALANCED, 41.0, 21.0, 98.3, 12.4, 73.0, 33.9),
        "wCE": _pairs(_IMBALANCED, 47.0, 21.2, 89.3, 16.2, 69.6, 34.4),
        "Boosting": _pairs(_IMBALANCED, 47.0, 19.4, 97.9, 12.9, 80.8, 34.3),
        "Naive": _pairs(_IMBALANCED, 46.2, 35.8, 73.9, 38.1, 50.5, 41.3),
        "Focal": _pairs(_IMBALANCED, 36.2, 21.0, 96.8, 12.7, 71.0, 33.2),
        "CB": _pairs(_IMBALANCED, 39.9, 20.7, 90.6, 13.7, 66.9, 34.4),
        "IB": _pairs(_IMBALANCED, 46.4, 19.6, 98.1, 16.4, 86.2, 34.9),
        "IB+CB": _pairs(_IMBALANCED, 47.8, 20.2, 97.4, 12.5, 86.2, 34.9),
        "IB+Focal": _pairs(_IMBALANCED, 46.8, 20.0, 97.4, 12.5, 86.2, 34.9),
        "LA": _pairs(_IMBALANCED, 43.0, 19.9, 75.1, 21.2, 63.7, 42.2),
        "CDT": _pairs(_IMBALANCED, 36.9, 20.4, 74.6, 22.7, 61.5, 39.2),
        "VS": _pairs(_IMBALANCED, 31.7, 16.5, 71.9, 21.2, 76.5, 40.3),
        "Ours": _pairs(_IMBALANCED, 29.0, 14.9, 63.7, 17.5, 47.2, 36.4),
    },
    "gamma": {
        "0.0995": {"cifar10": (19.9, 10.4)},
        "0.1995": {"cifar10": (20.2, 10.1)},
        "0.2995": {"cifar10": (18.9, 9.6)},
        "0.3995": {"cifar10": (19.7, 9.4)},
    },
    "theta-balanced": {
        "0.1": _pairs(_BALANCED, 95.7, 67.1, 81.0, 67.3, 84.0, 62.4),
        "0.2": _pairs(_BALANCED, 74.9, 52.5, 75.0, 58.7, 76.0, 52.5),
        "0.3": _pairs(_BALANCED, 61.7, 43.4, 68.0, 50.4, 68.0, 45.5),
        "0.4": _pairs(_BALANCED, 54.5, 35.7, 62.0, 44.5, 62.0, 39.8),
        "0.5": _pairs(_BALANCED, 42.2, 29.9, 89.0, 49.1, 68.0, 36.1),
        "0.6": _pairs(_BALANCED, 33.3, 22.2, 87.0, 47.4, 70.0, 34.5),
        "0.7": _pairs(_BALANCED, 28.4, 17.6, 86.0, 47.0, 74.0, 34.1),
        "0.8": _pairs(_BALANCED, 22.3, 12.9, 87.0, 46.3, 76.0, 34.6),
        "0.9": _pairs(_BALANCED, 18.9, 9.6, 83.0, 45.4, 80.0, 37.2),
    },
    "theta-imbalanced": {
        "0.1": _pairs(_IMBALANCED, 80.4, 52.8, 72.9, 18.7, 73.1, 39.9),
        "0.2": _pairs(_IMBALANCED, 71.6, 47.6, 69.9, 17.6, 58.6, 44.1),
        "0.3": _pairs(_IMBALANCED, 60.1, 44.5, 62.9, 17.8, 56.2, 41.8),
        "0.4": _pairs(_IMBALANCED, 48.1, 35.3, 63.7, 17.5, 49.9, 38.9),
        "0.5": _pairs(_IMBALANCED, 41.4, 30.1, 71.0, 14.6, 47.2, 36.4),
        "0.6": _pairs(_IMBALANCED, 35.5, 24.6, 83.5, 13.7, 53.8, 32.8),
        "0.7": _pairs(_IMBALANCED, 34.0, 19.5, 92.3, 13.6, 62.8, 36.3),
        "0.8": _pairs(_IMBALANCED, 31.0, 16.4, 93.3, 12.6, 73.9, 30.8),
        "0.9": _pairs(_IMBALANCED, 29.0, 14.9, 94.6, 14.9, 69.2, 42.8),
    },
}
