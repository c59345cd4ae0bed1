"""Every method by name: the paper's, ours, and the strong simple ones that the paper left out.

``build_method`` returns a scikit-learn classifier for any of them. All networks share one training loop, one rule for
the epoch that is kept (``select_on``) and one budget, so that two methods differ in nothing but the method.

To add a method, declare it in the list at the end, with a builder of its own or ``_with_loss(name)`` for a network with
another loss, and add its reference to ``_REFERENCES``.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from worstclass._checks import check_count, check_positive, is_installed, optional_packages, require_known_options
from worstclass.exceptions import ParameterError, UnknownNameError

#: epochs of a single network by default: those of the authors
DEFAULT_EPOCHS = 200


@dataclass(frozen=True)
class Method:
    """A method that can be built.

    Attributes
    ----------
    name, summary : what ``build_method`` is called with, and one line on it.
    reference : where it comes from.
    kind : ``"network"`` trains the torch network that it is given; ``"table"`` is for tables and makes no epochs;
        ``"any"`` chooses its learners by the rows, tables or images.
    options : its own options, with their defaults.
    needs_theta : whether it must be given accuracy floors.
    takes_theta : whether it can be given accuracy floors.
    requires : an optional package that must be installed, too; None if it needs none.
    """

    name: str
    summary: str
    reference: str
    kind: str
    options: Mapping[str, Any]
    needs_theta: bool = False
    takes_theta: bool = False
    requires: str | None = None

    @property
    def is_installed(self) -> bool:
        """Whether the package that it requires is installed; nothing is imported."""
        return self.requires is None or is_installed(self.requires)

    def require(self) -> None:
        """Refuse a method whose package is not installed."""
        if self.requires is not None:
            with optional_packages(f"The method {self.name!r}"):
                importlib.import_module(self.requires)


def list_methods() -> list[Method]:
    """Return the record of every method, the paper's first.

    Examples
    --------
    >>> [method.name for method in list_methods()][:4]
    ['ce', 'wce', 'focal', 'cb']
    """
    return list(_METHODS.values())


def find_method(name: str, parameter: str = "method") -> Method:
    """Return the record of one method; an unknown name gets a suggestion."""
    if name not in _METHODS:
        raise UnknownNameError(parameter, "build_method", name, _METHODS)
    return _METHODS[name]


def parse_options(method: Method, texts: Mapping[str, str]) -> dict[str, Any]:
    """Read options that were given as text, each as its default is: a number, true or false, or a word.

    Examples
    --------
    >>> parse_options(find_method("ours"), {"gamma": "0.25", "extend": "false", "patience": "auto"})
    {'gamma': 0.25, 'extend': False, 'patience': 'auto'}
    """
    require_known_options(dict(texts), list(method.options), owner=f"The method {method.name!r}")
    return {name: _parsed(name, text.strip(), method) for name, text in texts.items()}


def _parsed(name: str, text: str, method: Method) -> Any:
    default = method.options[name]
    words = {"true": True, "false": False} if isinstance(default, bool) else {"none": None} if default is None else {}
    if text.lower() in words:
        return words[text.lower()]
    kinds = (int, float) if isinstance(default, str) else (float,) if isinstance(default, float) else (int,)
    for kind in kinds:
        with contextlib.suppress(ValueError):
            return kind(text)
    if isinstance(default, str) and text:
        return text
    number = "a number" if float in kinds else "a whole number"
    raise ParameterError(name, f"the method {method.name!r}", allowed=" or ".join([number, *words]), got=text)


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
    network : a network's name or a factory, as ``TorchLearner`` takes them; only methods of kind ``"network"`` use it.
    learner : further options of ``TorchLearner``, such as ``lr`` and ``batch_size``; also a ``loss`` for the methods
        that do not set one themselves (boosting, ours, 0.5-dnn, deep-ensemble, auto-networks,
        auto+network).
    theta : accuracy floors, for the methods that need or take them.
    max_epochs : epochs over the training rows in all, over all rounds, members or folds. None: 200 for a single network
        and for each one of an ensemble, no limit for boosting. Methods for tables do not count epochs.
    max_seconds : time after which training ends with what it has; None for no limit. Of the methods for tables, only
        ours-trees has such a limit.
    select_on : the validation error that chooses an epoch, or the prefix of a vote: ``"worst"`` or ``"average"``. The
        methods auto, auto-networks and auto+network always choose by the worst class, or by the floors.
    random_state : seed of everything random.
    options : those of the method; see ``list_methods()``.

    Returns
    -------
    A scikit-learn classifier. Those of kind ``"network"``, auto and ours-trees take validation rows in
    ``fit(X, y, X_val, y_val)``. All take data frames with categories and missing values.

    Examples
    --------
    >>> model = build_method("focal", gamma=2.0, learner={"lr": 0.01})
    >>> model.learner.loss
    Focal(gamma=2.0)
    """
    method = find_method(name)
    check_count(max_epochs, "max_epochs", f"build_method({name!r})", words=(None,))
    check_positive(max_seconds, "max_seconds", f"build_method({name!r})", words=(None,))
    require_known_options(options, list(method.options), owner=f"The method {name!r}")
    if method.needs_theta and theta is None:
        raise ParameterError("theta", f"build_method({name!r})", allowed="given: the accuracy floor(s)", got=None)
    method.require()
    common = _Common(network, dict(learner or {}), theta, max_epochs, max_seconds, select_on, random_state)
    return _BUILDERS[name](common, **{**method.options, **options})


@dataclass(frozen=True)
class _Common:
    """What all methods of one comparison share."""

    network: Any
    learner: Mapping[str, Any]
    theta: Any
    max_epochs: int | None
    max_seconds: float | None
    select_on: str
    random_state: Any

    @property
    def epochs(self) -> int:
        """Epochs by which schedules are timed."""
        return DEFAULT_EPOCHS if self.max_epochs is None else self.max_epochs

    @property
    def limits(self) -> dict[str, Any]:
        """Budget, choice and seed."""
        return {name: getattr(self, name) for name in ("max_epochs", "max_seconds", "select_on", "random_state")}

    def torch_learner(self, **changes: Any) -> Any:
        from worstclass.learners.torch_learner import TorchLearner

        return TorchLearner(self.network, **{**self.learner, **changes})

    def one_network(self, loss: Any, **changes: Any) -> Any:
        """Return a classifier of one network that is trained with a loss."""
        from worstclass.ensembles.networks import NetworkClassifier

        for option in {"loss": loss, **changes}:
            if option in self.learner:
                allowed = f"without {option!r}, which the method sets itself"
                raise ParameterError("learner", "build_method", allowed=allowed, got=dict(self.learner))
        limits = self.limits if self.max_seconds is not None else {**self.limits, "max_epochs": self.epochs}
        return NetworkClassifier(self.torch_learner(loss=loss, **changes), **limits)


_OWN = "this package, docs/method.md"
_PAPER = "Saito, Matsuo, Uchida and Suehiro, Bounding the Worst-class Error: A Boosting Approach"

#: where the methods come from
_REFERENCES = {
    "focal": "Lin et al., Focal Loss for Dense Object Detection, ICCV 2017",
    "cb": "Cui et al., Class-Balanced Loss Based on Effective Number of Samples, CVPR 2019",
    "ib": "Park et al., Influence-Balanced Loss for Imbalanced Visual Classification, ICCV 2021",
    "ib+cb": "Park et al., ICCV 2021; Cui et al., CVPR 2019",
    "ib+focal": "Park et al., ICCV 2021; Lin et al., ICCV 2017",
    "la": "Menon et al., Long-Tail Learning via Logit Adjustment, ICLR 2021",
    "cdt": "Ye et al., Identifying and Compensating for Feature Deviation in Imbalanced Deep Learning, 2020",
    "vs": "Kini et al., Label-Imbalanced and Group-Sensitive Classification under Overparameterization, NeurIPS 2021",
    "ce+offsets": "Lachiche and Flach, Improving Accuracy and Cost of Two-class and Multi-class Probabilistic "
    "Classifiers Using ROC Curves, ICML 2003",
    "ours+offsets": f"{_PAPER}; Lachiche and Flach, ICML 2003",
    "deep-ensemble": "Lakshminarayanan et al., Simple and Scalable Predictive Uncertainty Estimation, NeurIPS 2017",
    "class-dro": "Sagawa et al., Distributionally Robust Neural Networks for Group Shifts, ICLR 2020",
    "ldam-drw": "Cao et al., Learning Imbalanced Datasets with Label-Distribution-Aware Margin Loss, NeurIPS 2019",
    "balanced-forest": "Chen, Liaw and Breiman, Using Random Forest to Learn Imbalanced Data, 2004; imbalanced-learn",
    "rusboost": "Seiffert et al., RUSBoost, 2010; imbalanced-learn",
    "easy-ensemble": "Liu, Wu and Zhou, Exploratory Undersampling for Class-Imbalance Learning, 2009; imbalanced-learn",
    **dict.fromkeys(("boosting", "naive", "0.5-dnn", "ours", "ours-trees"), _PAPER),
    **dict.fromkeys(("auto", "auto-networks", "auto+network"), _OWN),
    **dict.fromkeys(("logistic", "forest", "hist-gradient-boosting"), "scikit-learn"),
}

Builder = Callable[..., Any]
_METHODS: dict[str, Method] = {}
_BUILDERS: dict[str, Builder] = {}


def _method(name: str, summary: str, build: Builder, *, kind: str = "network", **facts: Any) -> None:
    """Declare a method; ``facts`` are floors and ``requires`` of its record, and its options with defaults."""
    assert name not in _METHODS, f"The method {name!r} is declared twice."
    known = {key: facts.pop(key) for key in ("needs_theta", "takes_theta", "requires") if key in facts}
    known.setdefault("takes_theta", known.get("needs_theta", False))
    known.setdefault("requires", "torch" if kind == "network" else None)
    _METHODS[name] = Method(name, summary, _REFERENCES.get(name, "-"), kind, facts, **known)
    _BUILDERS[name] = build


def _with_loss(loss: str, weighting: Any = None) -> Builder:
    """Return a builder of one network with a named loss; the options are those of the loss."""

    def build(common: _Common, **options: Any) -> Any:
        from worstclass.losses import build_loss

        return common.one_network(build_loss(loss, weighting, **options))

    return build


def _class_balanced(common: _Common, *, beta: float) -> Any:
    from worstclass.losses.weighting import EffectiveNumber

    return _with_loss("cross-entropy", EffectiveNumber(beta))(common)


def _influence_balanced(common: _Common, *, alpha: float, after: int | None, **more: Any) -> Any:
    from worstclass.losses import build_loss
    from worstclass.losses.weighting import Deferred, EffectiveNumber

    options: dict[str, Any] = {"alpha": alpha, "after": common.epochs // 4 if after is None else after}
    rule = None
    if "gamma" in more:
        options["base"] = build_loss("focal", **more)
    if "beta" in more:
        rule, options["class_factor"] = Deferred(EffectiveNumber(**more), options["after"]), False
    return _with_loss("influence-balanced", rule)(common, **options)


def _ldam_drw(common: _Common, *, beta: float, after: int | None, **options: Any) -> Any:
    from worstclass.losses import build_loss
    from worstclass.losses.weighting import Deferred, EffectiveNumber

    rule = Deferred(EffectiveNumber(beta), common.epochs * 4 // 5 if after is None else after)
    return common.one_network(build_loss("ldam", rule, **options), head="cosine")


def _of_networks(module: str, kind: str) -> Builder:
    """Return a builder of an ensemble of networks of ours."""

    def build(common: _Common, **options: Any) -> Any:
        ensemble = getattr(importlib.import_module(f"worstclass.{module}"), kind)
        return ensemble(common.torch_learner(), **common.limits, **options)

    return build


def _ours(common: _Common, **options: Any) -> Any:
    from worstclass.boosting.booster import WorstClassBooster

    return WorstClassBooster(common.torch_learner(), common.theta, **common.limits, **options)


def _half_dnn(common: _Common, *, patience: int | str) -> Any:
    # at gamma 1/2 the edge needed is 1: the first member must meet every floor, and there is nothing left to boost
    return _ours(common, gamma=0.5, n_rounds=1, extend=False, patience=patience)


def _with_offsets(build: Builder) -> Builder:
    """Return a builder that puts decision offsets around the model of another, tuned on validation or training rows."""

    def build_both(common: _Common, *, scores: str, **options: Any) -> Any:
        from worstclass.wrappers.offsets import WorstClassOffsets

        inner = build(common, **options)
        return WorstClassOffsets(inner, cv="training", scores=scores, random_state=common.random_state)

    return build_both


def _auto(common: _Common, *, cv: int | str, learners: Any = "auto") -> Any:
    from worstclass.ensembles.worst_class import WorstClassClassifier

    limits = {"time_limit": common.max_seconds, "max_epochs": common.max_epochs, "random_state": common.random_state}
    return WorstClassClassifier(learners, common.theta, cv=cv, **limits)


def _auto_networks(common: _Common, *, cv: int | str) -> Any:
    return _auto(common, cv=cv, learners=[common.torch_learner()])


def _auto_with_network(common: _Common, *, cv: int | str) -> Any:
    return _auto(common, cv=cv, learners=["auto", common.torch_learner()])


def _for_tables(*steps: Any) -> Any:
    """Return a pipeline that first turns data frames, missing values and images into rows of numbers."""
    from sklearn.pipeline import make_pipeline

    from worstclass.data.encoding import TableEncoder

    return make_pipeline(TableEncoder(), *steps)


def _ours_trees(common: _Common, *, max_iter: int, **options: Any) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    from worstclass.boosting.booster import WorstClassBooster
    from worstclass.learners.sklearn_learner import SklearnLearner

    trees = _for_tables(HistGradientBoostingClassifier(max_iter=max_iter, early_stopping=False))
    return WorstClassBooster(SklearnLearner(trees), common.theta, **{**common.limits, "max_epochs": None}, **options)


def _logistic(common: _Common, *, C: float) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    logistic = LogisticRegression(C=C, class_weight="balanced", max_iter=1000, random_state=common.random_state)
    return _for_tables(StandardScaler(), logistic)


def _classifier(package: str, kind: str, **fixed: Any) -> Builder:
    """Return a builder of an ensemble of scikit-learn or imbalanced-learn; the options are those of the classifier."""

    def build(common: _Common, **options: Any) -> Any:
        classifier = getattr(importlib.import_module(f"{package}.ensemble"), kind)
        return _for_tables(classifier(**fixed, **options, random_state=common.random_state))

    return build


_BOOSTING: dict[str, Any] = {"gamma": "auto", "n_rounds": "auto", "max_epochs_per_round": 10_000, "patience": "auto"}
_OURS: dict[str, Any] = {**_BOOSTING, "extend": True, "weighting": "per-class-mean", "needs_theta": True}
_IB: dict[str, Any] = {"alpha": 1000.0, "after": None}
_IMBLEARN: dict[str, Any] = {"kind": "table", "requires": "imblearn"}
_OFFSETS = "then decision offsets tuned for the worst validation class"

_method("ce", "cross-entropy", _with_loss("cross-entropy"))
_method("wce", "cross-entropy, classes weighted by 1 / n_k", _with_loss("cross-entropy", "inverse-frequency"))
_method("focal", "focal loss: rows that are already right count less", _with_loss("focal"), gamma=1.0)
_method("cb", "cross-entropy, classes weighted by their effective number", _class_balanced, beta=0.9999)
_method("ib", "influence-balanced loss, after a quarter of the epochs", _influence_balanced, **_IB)
_method("ib+cb", "influence-balanced loss, effective-number class weights", _influence_balanced, **_IB, beta=0.9999)
_method("ib+focal", "influence-balanced focal loss", _influence_balanced, **_IB, gamma=1.0)
_method("la", "logit adjustment by the class priors", _with_loss("logit-adjustment"), tau=1.0)
_method("cdt", "class-dependent temperatures", _with_loss("class-dependent-temperatures"), gamma=0.4)
_method("vs", "vector scaling: temperatures and offsets by class", _with_loss("vector-scaling"), gamma=0.15, tau=1.25)
_rows = _of_networks("boosting.oco", "InstanceBooster")
_method("boosting", "Hedge over rows with a majority vote (the paper's OCO boosting)", _rows, **_BOOSTING)
_method("naive", "minimises the largest class-mean cross-entropy", _with_loss("naive"))
_one = "one network trained until every class meets its floor (gamma = 1/2)"
_method("0.5-dnn", _one, _half_dnn, needs_theta=True, patience="auto")
_method("ours", "Hedge over classes with a majority vote, extended while the vote misses a floor", _ours, **_OURS)
_method("ce+offsets", f"cross-entropy, {_OFFSETS}", _with_offsets(_with_loss("cross-entropy")), scores="auto")
_method("ours+offsets", f"ours, {_OFFSETS}", _with_offsets(_ours), **_OURS, scores="auto")
_mean = "independent networks that share the budget; their mean probability answers"
_many = _of_networks("ensembles.networks", "DeepEnsemble")
_method("deep-ensemble", _mean, _many, n_estimators="auto", gamma="auto")
_method("class-dro", "class weights that follow the losses (group DRO by class)", _with_loss("class-dro"), step=0.01)
_margins = "label-distribution-aware margins, re-weighted after four fifths of the epochs"
_method("ldam-drw", _margins, _ldam_drw, max_margin=0.5, scale=30.0, beta=0.9999, after=None)
_AUTO: dict[str, Any] = {"takes_theta": True, "cv": "auto"}
_folds = "one network per fold; their mean probability answers, with offsets tuned on held-out rows"
_method("auto-networks", _folds, _auto_networks, **_AUTO)
_own = "the classifiers of auto and the network of your choice, combined and given offsets on held-out rows"
_method("auto+network", _own, _auto_with_network, **_AUTO)
_best = "several classifiers that suit the data, combined and given offsets on held-out rows"
_method("auto", _best, _auto, kind="any", **_AUTO)
_method("ours-trees", "ours over gradient-boosted trees", _ours_trees, kind="table", **_OURS, max_iter=100)
_method("logistic", "logistic regression, balanced class weights", _logistic, kind="table", C=1.0)
_forest = _classifier("sklearn", "RandomForestClassifier", class_weight="balanced")
_method("forest", "random forest, balanced class weights", _forest, kind="table", n_estimators=300)
_trees = _classifier("sklearn", "HistGradientBoostingClassifier", class_weight="balanced")
_method("hist-gradient-boosting", "gradient-boosted trees, balanced class weights", _trees, kind="table", max_iter=100)
_even = _classifier("imblearn", "BalancedRandomForestClassifier")
_method("balanced-forest", "random forest, trees on balanced samples", _even, **_IMBLEARN, n_estimators=300)
_rus = _classifier("imblearn", "RUSBoostClassifier")
_method("rusboost", "AdaBoost with random under-sampling in each round", _rus, **_IMBLEARN, n_estimators=300)
_easy = _classifier("imblearn", "EasyEnsembleClassifier")
_method("easy-ensemble", "AdaBoost learners, each on a balanced sample", _easy, **_IMBLEARN, n_estimators=10)
