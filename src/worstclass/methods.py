"""Every method by name: the paper's, ours, and the strong simple ones that the paper left out.

``build_method`` gives a scikit-learn classifier for any of them. All networks share one training loop, one rule for the
pass that is kept (``select_on``) and one budget, so that what differs between two methods is the method.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from worstclass._checks import require_known_options
from worstclass.exceptions import ParameterError, UnknownNameError

#: epochs of a single network where none are asked for: the authors' 200 epochs
DEFAULT_EPOCHS = 200


@dataclass(frozen=True)
class Method:
    """A method that can be built.

    Attributes
    ----------
    name : what ``build_method`` is called with.
    summary : one line.
    reference : where it comes from.
    kind : ``"network"`` trains torch networks; ``"table"`` is for rows of numbers and has no epochs to budget.
    options : its own options, with their defaults.
    needs_theta : whether it must be given accuracy floors.
    requires : a package that has to be installed besides, the extra ``compare``.
    """

    name: str
    summary: str
    reference: str
    kind: str
    options: Mapping[str, Any]
    needs_theta: bool = False
    requires: str | None = None

    @property
    def is_installed(self) -> bool:
        """Whether the package that it requires is there; nothing is imported."""
        return self.requires is None or find_spec(self.requires) is not None


@dataclass(frozen=True)
class _Common:
    """What is the same for all methods of one comparison."""

    network: Any
    learner: Mapping[str, Any]
    theta: Any
    max_epochs: int | None
    max_seconds: float | None
    select_on: str
    random_state: Any

    @property
    def epochs(self) -> int:
        """Passes by which schedules are timed."""
        return DEFAULT_EPOCHS if self.max_epochs is None else self.max_epochs

    def torch_learner(self, **changes: Any) -> Any:
        from worstclass.learners.torch_learner import TorchLearner

        return TorchLearner(self.network, **{**self.learner, **changes})

    def one_network(self, loss: Any, **changes: Any) -> Any:
        from worstclass.ensembles.networks import NetworkClassifier

        for option in {"loss": loss, **changes}:
            if option in self.learner:
                allowed = f"without {option!r}, which the method sets itself"
                raise ParameterError("learner", "build_method", allowed=allowed, got=dict(self.learner))
        by_time_alone = self.max_epochs is None and self.max_seconds is not None
        return NetworkClassifier(
            self.torch_learner(loss=loss, **changes),
            max_epochs=None if by_time_alone else self.epochs,
            max_seconds=self.max_seconds,
            select_on=self.select_on,
            random_state=self.random_state,
        )

    @property
    def for_boosters(self) -> dict[str, Any]:
        """Budget, choice and seed as boosters name them."""
        return {
            "max_epochs": self.max_epochs,
            "max_seconds": self.max_seconds,
            "select_on": self.select_on,
            "random_state": self.random_state,
        }


_Build = Callable[..., Any]


def list_methods() -> list[Method]:
    """Return what is known of every method, the paper's first.

    Examples
    --------
    >>> [method.name for method in list_methods()][:4]
    ['ce', 'wce', 'focal', 'cb']
    """
    return [method for method, _ in _METHODS.values()]


def find_method(name: str) -> Method:
    """Return what is known of one method; an unknown name gets a suggestion."""
    if name not in _METHODS:
        raise UnknownNameError("method", "build_method", name, _METHODS)
    return _METHODS[name][0]


def build_method(
    name: str,
    network: Any = "mlp",
    *,
    learner: Mapping[str, Any] | None = None,
    theta: float | Mapping[Any, float] | None = None,
    max_epochs: int | None = None,
    max_seconds: float | None = None,
    select_on: str = "worst",
    random_state: Any = None,
    **options: Any,
) -> Any:
    """Build a classifier by its method's name.

    Parameters
    ----------
    name : one of ``list_methods()``.
    network : a network's name or a factory, as ``TorchLearner`` takes them; methods for tables ignore it.
    learner : further options of ``TorchLearner``, such as ``lr`` and ``batch_size``; also a ``loss`` for the methods
        that are not made by one (boosting, ours, 0.5-dnn, deep-ensemble).
    theta : accuracy floors, for the methods that have any.
    max_epochs : epochs over the training sample in all, whatever the method makes of them. None: 200 for a single
        network and for each of an ensemble, no limit for boosting. Methods for tables make no epochs.
    max_seconds : time after which training ends with what it has; None is no limit. Of the methods for tables, only
        ours-trees heeds it.
    select_on : the validation error that chooses an epoch, or the prefix of a vote: ``"worst"`` or ``"average"``.
    random_state : seed of everything random.
    options : those of the method; see ``list_methods()``.

    Returns
    -------
    A scikit-learn classifier. Those of kind ``"network"`` take validation rows in ``fit(X, y, X_val, y_val)``.

    Examples
    --------
    >>> model = build_method("focal", gamma=2.0, learner={"lr": 0.01})
    >>> model.learner.loss
    Focal(gamma=2.0)
    """
    from worstclass.learners.budget import check_limits

    method = find_method(name)
    build = _METHODS[name][1]
    check_limits(max_epochs, max_seconds, owner=f"build_method({name!r})", epochs_name="max_epochs")
    require_known_options(options, list(method.options), owner=f"The method {name!r}")
    if method.needs_theta and theta is None:
        raise ParameterError("theta", f"build_method({name!r})", allowed="given: the accuracy floor(s)", got=None)
    common = _Common(network, dict(learner or {}), theta, max_epochs, max_seconds, select_on, random_state)
    return build(common, **{**method.options, **options})


def _loss(name: str, weighting: Any = None) -> _Build:
    """Build one network whose loss is looked up by name; the options are the loss's."""

    def build(common: _Common, **options: Any) -> Any:
        from worstclass.losses import build_loss

        return common.one_network(build_loss(name, weighting, **options))

    return build


def _class_balanced(common: _Common, *, beta: float) -> Any:
    from worstclass.losses import build_loss
    from worstclass.losses.weighting import EffectiveNumber

    return common.one_network(build_loss("cross-entropy", EffectiveNumber(beta)))


def _influence_balanced(common: _Common, *, alpha: float, after: int | None, **more: Any) -> Any:
    from worstclass.losses import build_loss
    from worstclass.losses.weighting import Deferred, EffectiveNumber

    warm_up = common.epochs // 4 if after is None else after
    if "gamma" in more:
        base = build_loss("focal", gamma=more["gamma"])
        return common.one_network(build_loss("influence-balanced", alpha=alpha, after=warm_up, base=base))
    if "beta" in more:
        rule = Deferred(EffectiveNumber(more["beta"]), warm_up)
        return common.one_network(
            build_loss("influence-balanced", rule, alpha=alpha, after=warm_up, class_factor=False)
        )
    return common.one_network(build_loss("influence-balanced", alpha=alpha, after=warm_up))


def _ldam_drw(common: _Common, *, max_margin: float, scale: float, beta: float, after: int | None) -> Any:
    from worstclass.losses import build_loss
    from worstclass.losses.weighting import Deferred, EffectiveNumber

    rule = Deferred(EffectiveNumber(beta), common.epochs * 4 // 5 if after is None else after)
    return common.one_network(build_loss("ldam", rule, max_margin=max_margin, scale=scale), head="cosine")


def _instance_boosting(common: _Common, **options: Any) -> Any:
    from worstclass.boosting.oco import InstanceBooster

    return InstanceBooster(common.torch_learner(), **common.for_boosters, **options)


def _ours(common: _Common, **options: Any) -> Any:
    from worstclass.boosting.booster import WorstClassBooster

    return WorstClassBooster(common.torch_learner(), common.theta, **common.for_boosters, **options)


def _with_offsets(build: _Build) -> _Build:
    """Put decision offsets for the worst class around what another builder makes.

    They are tuned on the validation rows given to ``fit``, which go to the classifier too. Without any, the training
    rows choose, as they choose the epoch of a network. Either way it is trained once, so its budget is the budget.
    """

    def build_both(common: _Common, *, scores: str, **options: Any) -> Any:
        from worstclass.wrappers.cross_validation import NoHoldOut
        from worstclass.wrappers.offsets import WorstClassOffsets

        inner = build(common, **options)
        return WorstClassOffsets(inner, cv=NoHoldOut(), scores=scores, refit=False, random_state=common.random_state)

    return build_both


def _half_dnn(common: _Common, *, patience: int | str) -> Any:
    from worstclass.boosting.booster import WorstClassBooster

    # at gamma 1/2 the edge needed is 1: the first member must meet every floor, and there is nothing left to boost
    return WorstClassBooster(
        common.torch_learner(),
        common.theta,
        gamma=0.5,
        n_rounds=1,
        extend=False,
        patience=patience,
        **common.for_boosters,
    )


def _deep_ensemble(common: _Common, **options: Any) -> Any:
    from worstclass.ensembles.networks import DeepEnsemble

    return DeepEnsemble(
        common.torch_learner(),
        max_epochs=common.max_epochs,
        max_seconds=common.max_seconds,
        select_on=common.select_on,
        random_state=common.random_state,
        **options,
    )


def _ours_trees(common: _Common, *, max_iter: int, **options: Any) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    from worstclass.boosting.booster import WorstClassBooster
    from worstclass.learners.sklearn_learner import SklearnLearner

    trees = HistGradientBoostingClassifier(max_iter=max_iter, categorical_features="from_dtype", early_stopping=False)
    budget = {**common.for_boosters, "max_epochs": None}
    return WorstClassBooster(SklearnLearner(trees), common.theta, **budget, **options)


def _logistic(common: _Common, *, C: float) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    logistic = LogisticRegression(C=C, class_weight="balanced", max_iter=1000, random_state=common.random_state)
    return make_pipeline(StandardScaler(), logistic)


def _estimator(address: str, **fixed: Any) -> _Build:
    """Build an estimator of scikit-learn or imbalanced-learn; the options are its own."""

    def build(common: _Common, **options: Any) -> Any:
        module, _, kind = address.partition(":")
        try:
            estimator = getattr(importlib.import_module(module), kind)
        except ImportError:
            raise ParameterError(
                "method",
                "build_method",
                allowed="one whose package is installed",
                got=kind,
                hint="pip install 'worstclass[compare]' brings imbalanced-learn.",
            ) from None
        return estimator(**fixed, **options, random_state=common.random_state)

    return build


_PAPER = "Saito, Matsuo, Uchida and Suehiro, Bounding the Worst-class Error: A Boosting Approach"
_OFFSETS = {"scores": "auto"}
_BOOSTING = {"gamma": "auto", "n_rounds": "auto", "max_epochs_per_round": 10_000, "patience": "auto"}


def _register(*entries: tuple[Method, _Build]) -> dict[str, tuple[Method, _Build]]:
    return {method.name: (method, build) for method, build in entries}


_METHODS = _register(
    (
        Method("ce", "cross-entropy", "-", "network", {}),
        _loss("cross-entropy"),
    ),
    (
        Method("wce", "cross-entropy, classes weighted by 1 / n_k", "-", "network", {}),
        _loss("cross-entropy", "inverse-frequency"),
    ),
    (
        Method(
            "focal",
            "focal loss: rows that are already right count less",
            "Lin et al., Focal Loss for Dense Object Detection, ICCV 2017",
            "network",
            {"gamma": 1.0},
        ),
        _loss("focal"),
    ),
    (
        Method(
            "cb",
            "cross-entropy, classes weighted by their effective number",
            "Cui et al., Class-Balanced Loss Based on Effective Number of Samples, CVPR 2019",
            "network",
            {"beta": 0.9999},
        ),
        _class_balanced,
    ),
    (
        Method(
            "ib",
            "influence-balanced loss, after a quarter of the epochs",
            "Park et al., Influence-Balanced Loss for Imbalanced Visual Classification, ICCV 2021",
            "network",
            {"alpha": 1000.0, "after": None},
        ),
        _influence_balanced,
    ),
    (
        Method(
            "ib+cb",
            "influence-balanced loss with effective-number class weights",
            "Park et al., ICCV 2021; Cui et al., CVPR 2019",
            "network",
            {"alpha": 1000.0, "after": None, "beta": 0.9999},
        ),
        _influence_balanced,
    ),
    (
        Method(
            "ib+focal",
            "influence-balanced focal loss",
            "Park et al., ICCV 2021; Lin et al., ICCV 2017",
            "network",
            {"alpha": 1000.0, "after": None, "gamma": 1.0},
        ),
        _influence_balanced,
    ),
    (
        Method(
            "la",
            "logit adjustment by the class priors",
            "Menon et al., Long-Tail Learning via Logit Adjustment, ICLR 2021",
            "network",
            {"tau": 1.0},
        ),
        _loss("logit-adjustment"),
    ),
    (
        Method(
            "cdt",
            "class-dependent temperatures",
            "Ye et al., Identifying and Compensating for Feature Deviation in Imbalanced Deep Learning, 2020",
            "network",
            {"gamma": 0.4},
        ),
        _loss("class-dependent-temperatures"),
    ),
    (
        Method(
            "vs",
            "vector scaling: temperatures and offsets by class",
            "Kini et al., Label-Imbalanced and Group-Sensitive Classification under Overparameterization, NeurIPS 2021",
            "network",
            {"gamma": 0.15, "tau": 1.25},
        ),
        _loss("vector-scaling"),
    ),
    (
        Method(
            "boosting", "Hedge over rows with a majority vote (the paper's OCO boosting)", _PAPER, "network", _BOOSTING
        ),
        _instance_boosting,
    ),
    (
        Method("naive", "minimises the largest class-mean cross-entropy", _PAPER, "network", {"over": "batch"}),
        _loss("naive"),
    ),
    (
        Method(
            "0.5-dnn",
            "one network trained until every class meets its floor (gamma = 1/2)",
            _PAPER,
            "network",
            {"patience": "auto"},
            needs_theta=True,
        ),
        _half_dnn,
    ),
    (
        Method(
            "ours",
            "Hedge over classes with a majority vote, extended while the vote misses a floor",
            _PAPER,
            "network",
            {**_BOOSTING, "extend": True, "weighting": "per-class-mean"},
            needs_theta=True,
        ),
        _ours,
    ),
    (
        Method(
            "ce+offsets",
            "cross-entropy, then one offset a class on its log-probabilities, for the worst validation class",
            "Lachiche and Flach, Improving Accuracy and Cost of Two-class and Multi-class Probabilistic Classifiers "
            "Using ROC Curves, ICML 2003; near the exact least error of the worst class here",
            "network",
            _OFFSETS,
        ),
        _with_offsets(_loss("cross-entropy")),
    ),
    (
        Method(
            "ours+offsets",
            "ours, then one offset a class on the members' mean probabilities, for the worst validation class",
            f"{_PAPER}; Lachiche and Flach, ICML 2003",
            "network",
            {**_BOOSTING, "extend": True, "weighting": "per-class-mean", **_OFFSETS},
            needs_theta=True,
        ),
        _with_offsets(_ours),
    ),
    (
        Method(
            "deep-ensemble",
            "independent networks that share the budget; their mean probability answers",
            "Lakshminarayanan et al., Simple and Scalable Predictive Uncertainty Estimation, NeurIPS 2017",
            "network",
            {"n_estimators": "auto", "gamma": "auto"},
        ),
        _deep_ensemble,
    ),
    (
        Method(
            "class-dro",
            "class weights that follow the losses (group DRO, groups are classes)",
            "Sagawa et al., Distributionally Robust Neural Networks for Group Shifts, ICLR 2020",
            "network",
            {"step": 0.01},
        ),
        _loss("class-dro"),
    ),
    (
        Method(
            "ldam-drw",
            "label-distribution-aware margins, re-weighted after four fifths of the epochs",
            "Cao et al., Learning Imbalanced Datasets with Label-Distribution-Aware Margin Loss, NeurIPS 2019",
            "network",
            {"max_margin": 0.5, "scale": 30.0, "beta": 0.9999, "after": None},
        ),
        _ldam_drw,
    ),
    (
        Method(
            "ours-trees",
            "ours over gradient-boosted trees",
            _PAPER,
            "table",
            {**_BOOSTING, "extend": True, "weighting": "per-class-mean", "max_iter": 100},
            needs_theta=True,
        ),
        _ours_trees,
    ),
    (
        Method("logistic", "logistic regression, balanced class weights", "scikit-learn", "table", {"C": 1.0}),
        _logistic,
    ),
    (
        Method("forest", "random forest, balanced class weights", "scikit-learn", "table", {"n_estimators": 300}),
        _estimator("sklearn.ensemble:RandomForestClassifier", class_weight="balanced"),
    ),
    (
        Method(
            "hist-gradient-boosting",
            "gradient-boosted trees, balanced class weights",
            "scikit-learn",
            "table",
            {"max_iter": 100},
        ),
        _estimator(
            "sklearn.ensemble:HistGradientBoostingClassifier",
            class_weight="balanced",
            categorical_features="from_dtype",
        ),
    ),
    (
        Method(
            "balanced-forest",
            "random forest, each tree on a sample balanced by under-sampling",
            "Chen, Liaw and Breiman, Using Random Forest to Learn Imbalanced Data, 2004; imbalanced-learn",
            "table",
            {"n_estimators": 300},
            requires="imblearn",
        ),
        _estimator("imblearn.ensemble:BalancedRandomForestClassifier"),
    ),
    (
        Method(
            "rusboost",
            "AdaBoost with random under-sampling in each round",
            "Seiffert et al., RUSBoost, 2010; imbalanced-learn",
            "table",
            {"n_estimators": 300},
            requires="imblearn",
        ),
        _estimator("imblearn.ensemble:RUSBoostClassifier"),
    ),
    (
        Method(
            "easy-ensemble",
            "AdaBoost learners, each on a balanced sample",
            "Liu, Wu and Zhou, Exploratory Undersampling for Class-Imbalance Learning, 2009; imbalanced-learn",
            "table",
            {"n_estimators": 10},
            requires="imblearn",
        ),
        _estimator("imblearn.ensemble:EasyEnsembleClassifier"),
    ),
)
