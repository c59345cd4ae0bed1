"""The classifiers that ``WorstClassClassifier`` trains: its own for tables and images, or those of the user."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Mapping
from itertools import count
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.base import clone, is_classifier
from sklearn.decomposition import PCA
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.svm import SVC

from worstclass._checks import is_installed, warn_of_channels_last
from worstclass._typing import FloatArray, IntArray
from worstclass.ensembles.images import PatchFeatures, Pixels
from worstclass.ensembles.mirror import same_mirrored
from worstclass.exceptions import ModelFormatError, ModuleError, ParameterError, UnknownOptionError, install_command
from worstclass.learners.base import WeakLearner
from worstclass.learners.binning import QuantileGrid
from worstclass.networks import SMALLEST_SIDE

OWNER = "WorstClassClassifier"
#: stands for the portfolio of this package, alone or in a list
AUTO = "auto"
ALLOWED = "'auto', or a list of scikit-learn classifiers, TorchLearners and boosters, 'auto' among them at most once"
#: rows up to which a support vector machine is trained
MOST_SVM_ROWS = 5_000
#: boosted trees in all, and the least and largest number of iterations that they may come to
BOOSTED_TREES, LEAST_ITERATIONS, MOST_ITERATIONS = 600, 50, 150
#: bins of each column for boosted trees: with four times as many they are no better, and slower on wide tables
BINS = 63
#: options of the network for images
IMAGE_NETWORK: Mapping[str, Any] = {"module": "cnn-medium", "optimizer": "adamw", "lr": 0.005, "batch_size": 128}
#: steps of the optimizer for one network, and the least and largest number of epochs that they may come to
NETWORK_STEPS, LEAST_EPOCHS, MOST_EPOCHS = 3_000, 10, 150
#: the same for the network of the portfolio for images
IMAGE_STEPS, LEAST_IMAGE_EPOCHS, MOST_IMAGE_EPOCHS = 4_500, 6, 40
#: epochs from which on images are shifted and mirrored at random, so that the network cannot learn them by heart
MANY_EPOCHS = 20
#: they are shifted by their shorter side divided by this, at most
SHIFT = 8
#: the learning rate of a network for images rises over its epochs divided by this
WARM_UP = 5
#: a network is kept after its epochs divided by these, too
STAGES = (16, 8, 4, 2)
#: classifiers by name, not fitted
Portfolio = dict[str, Any]


def portfolio_for(
    learners: Any, X: Any, target: IntArray, n_train: int | None = None, seed: int = 0
) -> tuple[Portfolio, list[str]]:
    """Return the classifiers to train, cheap ones first, and notes on what is left out.

    Parameters
    ----------
    learners : ``"auto"``, or a list of classifiers and learners, or of (name, classifier) pairs; ``"auto"`` in a list
        stands for the portfolio of its own.
    X : training rows, which decide what ``"auto"`` stands for: a table of numbers, a sparse matrix, or images.
    target : their class indices.
    n_train : rows that each fold trains on, which set the epochs of networks; None: all.
    seed : of the images by which it is found whether they may be mirrored.
    """
    n_train = n_train or len(target)
    given = [learners] if _is_auto(learners) else learners
    if not isinstance(given, list | tuple) or not given:
        raise ParameterError("learners", OWNER, allowed=ALLOWED, got=learners)
    own = [item for item in given if not _is_auto(item)]
    if len(given) > len(own) + 1:
        raise ParameterError("learners", OWNER, allowed=ALLOWED, got=learners)
    pairs = [item if isinstance(item, tuple) and len(item) == 2 else (None, item) for item in own]
    classifiers = [as_classifier(learner, n_train) for _, learner in pairs]
    portfolio, notes = dict[str, Any](), list[str]()
    if len(given) > len(own):
        portfolio, notes = _of_auto(X, target, n_train, seed, with_network=not any(map(is_network, classifiers)))
    names = _distinct([*portfolio, *(name or _name(learner) for name, learner in pairs)])
    return dict(zip(names, [*portfolio.values(), *classifiers], strict=True)), notes


def uses_auto(learners: Any) -> bool:
    """Tell whether ``learners`` is ``"auto"``, or a list that holds it."""
    return any(map(_is_auto, learners if isinstance(learners, list | tuple) else [learners]))


def _is_auto(item: Any) -> bool:
    return isinstance(item, str) and item == AUTO


def _of_auto(X: Any, target: IntArray, n_train: int, seed: int, *, with_network: bool) -> tuple[Portfolio, list[str]]:
    """Return what ``"auto"`` stands for; a network of the user takes the place of that for images."""
    if getattr(X, "ndim", 2) > 2:
        warn_of_channels_last(X.shape[1:])
        return _for_images(X, target, n_train, seed, with_network=with_network)
    return _for_sparse() if hasattr(X, "tocsr") else _for_tables(len(target), int(target.max()) + 1), []


def as_classifier(learner: Any, n_train: int) -> Any:
    """Return the classifier that a learner stands for; refuse what gives no probabilities.

    ``n_train`` rows set the epochs of a network.
    """
    torch_learner = sys.modules.get("worstclass.learners.torch_learner")  # here only where a learner of it is
    if torch_learner is not None and isinstance(learner, torch_learner.TorchLearner):
        from worstclass.ensembles.networks import NetworkClassifier

        epochs = _epochs(n_train, learner.batch_size, NETWORK_STEPS, LEAST_EPOCHS, MOST_EPOCHS)
        learner = NetworkClassifier(learner, max_epochs=epochs)
    tagged = hasattr(learner, "__sklearn_tags__") and hasattr(learner, "get_params")  # catboost has no base class
    if isinstance(learner, type | WeakLearner) or not tagged or not is_classifier(learner):
        raise ParameterError("learners", OWNER, allowed=ALLOWED, got=learner)
    if not hasattr(learner, "predict_proba"):
        hint = "CalibratedClassifierCV of scikit-learn adds it to a classifier."
        raise ParameterError("learners", OWNER, allowed="classifiers with predict_proba", got=learner, hint=hint)
    return clone(learner)


def is_network(classifier: Any) -> bool:
    """Tell whether a classifier is a ``NetworkClassifier``."""
    networks = sys.modules.get("worstclass.ensembles.networks")  # here only where a network is
    return networks is not None and isinstance(classifier, networks.NetworkClassifier)


def try_networks(portfolio: Portfolio, X: Any, n_classes: int) -> None:
    """Refuse torch learners that no training could use now; later they would be left out, after others were trained.

    Rows that a network does not take are no reason: it is left out, as any classifier that does not take them.
    """
    for classifier in portfolio.values():
        try_out = getattr(getattr(classifier, "learner", None), "try_out", None)
        if try_out is None:
            continue
        try:
            try_out(X, n_classes)
        except (ModelFormatError, ModuleError, ParameterError, UnknownOptionError):
            raise
        except Exception:
            pass


def _epochs(n_rows: int, batch_size: int, steps: int, least: int, most: int) -> int:
    """Return the epochs that so many steps of the optimizer make, within limits."""
    return min(max(steps // math.ceil(n_rows / batch_size), least), most)


def give_epochs(portfolio: Portfolio, max_epochs: int | None, n_folds: int, *, images: bool) -> None:
    """Divide the epochs among all networks and folds; None leaves each the epochs that it has.

    The learning rate of a network for images rises over a fifth of its epochs and then falls to 0, unless its learner
    has ``decay_epochs``. A network whose rate stays is kept after a sixteenth, an eighth, a quarter and half of its
    epochs, too, and held-out rows choose: a class of a few rows is soon overfitted.
    """
    networks = [classifier for classifier in portfolio.values() if "max_epochs" in classifier.get_params()]
    for network in networks:
        if max_epochs is not None:
            network.set_params(max_epochs=max(1, max_epochs // (n_folds * len(networks))))
        if images and network.get_params().get("learner__decay_epochs", 0) is None:
            epochs = network.max_epochs
            network.set_params(learner__decay_epochs=epochs, learner__warmup_epochs=epochs // WARM_UP)
        known = network.get_params()
        if known.get("learner__decay_epochs", 0) is None and not known.get("snapshots", True) and known["max_epochs"]:
            stages = {known["max_epochs"] // part for part in STAGES} - {0, known["max_epochs"]}
            network.set_params(snapshots=tuple(sorted(stages)))


class SoftmaxSVC(SVC):
    """A support vector machine that gives probabilities: the softmax of twice its decision function."""

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class, shape (n, K)."""
        decision = self.decision_function(X)
        if decision.ndim == 1:
            decision = np.column_stack([-decision, decision]) / 2
        return np.asarray(softmax(2 * decision, axis=1))


def _for_images(
    X: Any, target: IntArray, n_train: int, seed: int, *, with_network: bool
) -> tuple[Portfolio, list[str]]:
    """Return classifiers of patches and of pixels, strong where a class has few images, and a network if wanted."""
    n_rows = len(target)
    balanced, shape = {"class_weight": "balanced"}, tuple(X.shape[1:])
    main_directions = PCA(min(100, n_rows // 2, math.prod(shape)), svd_solver="randomized")
    kernel = _sharp_kernel(n_rows, gamma=1 / math.prod(shape))  # the directions have the variance of all pixels
    found = {
        "pixel-kernel": make_pipeline(Pixels(), StandardScaler(), main_directions, *kernel),
        "pixel-trees": make_pipeline(Pixels(), ExtraTreesClassifier(100, **balanced)),
    }
    if len(shape) != 3 or min(shape[1:]) < SMALLEST_SIDE:
        return found, []
    linear = LogisticRegression(C=0.01, max_iter=200, **balanced)
    found["patches"] = make_pipeline(PatchFeatures(), StandardScaler(), linear)
    if not with_network:
        return found, []
    if not is_installed("torch"):
        return found, [f"network was left out: it needs torch, which is not installed: {install_command('torch')}"]
    from worstclass.data.augmentation import Augmentation
    from worstclass.ensembles.networks import NetworkClassifier
    from worstclass.learners.torch_learner import TorchLearner

    learner = TorchLearner(**IMAGE_NETWORK)
    epochs = _epochs(n_train, learner.batch_size, IMAGE_STEPS, LEAST_IMAGE_EPOCHS, MOST_IMAGE_EPOCHS)
    if epochs >= MANY_EPOCHS:
        flip = 0.5 if same_mirrored(X, target, seed) else 0.0
        learner.set_params(augment=Augmentation(padding=round(min(shape[1:]) / SHIFT), flip=flip))
    found["network"] = NetworkClassifier(learner, max_epochs=epochs)
    return found, []


def _for_tables(n_rows: int, n_classes: int) -> Portfolio:
    """Return classifiers that err in different ways: linear, two of kernels, bagged trees, boosted trees."""
    balanced = {"class_weight": "balanced"}
    n_iterations = min(max(BOOSTED_TREES // n_classes, LEAST_ITERATIONS), MOST_ITERATIONS)  # each has a tree a class
    boosted = HistGradientBoostingClassifier(
        max_iter=n_iterations, learning_rate=0.1, max_leaf_nodes=15, max_bins=BINS, early_stopping=False, **balanced
    )
    return {
        "logistic": make_pipeline(StandardScaler(), LogisticRegression(max_iter=300, **balanced)),
        "smooth-kernel": make_pipeline(StandardScaler(), *_kernel(n_rows, C=10)),
        "sharp-kernel": make_pipeline(StandardScaler(), *_sharp_kernel(n_rows)),
        "extra-trees": ExtraTreesClassifier(100, **balanced),
        "boosted-trees": make_pipeline(QuantileGrid(BINS), boosted),
    }


def _sharp_kernel(n_rows: int, gamma: float | None = None) -> tuple[Any, ...]:
    """Return a support vector machine, whose cost grows with the square of the rows, or something like it for many."""
    if n_rows > MOST_SVM_ROWS:
        return _kernel(n_rows, C=1000, gamma=gamma)
    return (SoftmaxSVC(C=10, break_ties=True, class_weight="balanced"),)


def _kernel(n_rows: int, C: float, gamma: float | None = None) -> tuple[Any, ...]:
    """Return logistic regression on features of a kernel; ``gamma`` None is 1 / columns, for columns of variance 1."""
    features = Nystroem(gamma=gamma, n_components=min(300, n_rows // 2))  # no more than a fold has rows
    return features, LogisticRegression(C=C, max_iter=300, class_weight="balanced")


def _for_sparse() -> Portfolio:
    balanced = {"class_weight": "balanced"}
    return {
        "logistic": make_pipeline(MaxAbsScaler(), LogisticRegression(max_iter=300, **balanced)),
        "extra-trees": ExtraTreesClassifier(100, **balanced),
        "forest": RandomForestClassifier(100, **balanced),
    }


def _name(learner: Any) -> str:
    network = getattr(getattr(learner, "learner", learner), "module", None)  # of a TorchLearner, or a classifier of one
    name = network if isinstance(network, str) else getattr(network, "__name__", "")
    return name if name and name != "<lambda>" else type(learner).__name__.lower()


def _distinct(names: list[str]) -> list[str]:
    """Return names with numbers where one occurs several times."""
    often, taken = Counter(names), {name for name, n in Counter(names).items() if n == 1}
    distinct = []
    for name in names:
        free = (f"{name}-{number}" for number in count(1))
        chosen = name if often[name] == 1 else next(new for new in free if new not in taken)
        taken.add(chosen)
        distinct.append(chosen)
    return distinct
