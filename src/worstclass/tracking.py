"""Callbacks that send what a fit tells to TensorBoard or MLflow; each needs its package only when it is used."""

from __future__ import annotations

import math
import re
import tempfile
import time
import warnings
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from worstclass._checks import is_installed, optional_packages
from worstclass.boosting.callbacks import Callback, EpochInfo, FitPlan, NetworkEpochInfo, StepInfo
from worstclass.exceptions import WorstClassError, WorstClassWarning

if TYPE_CHECKING:
    from worstclass.boosting.booster import WorstClassBooster
    from worstclass.boosting.history import RoundRecord

#: reports that a fitted estimator may have, and their names in what is logged
REPORTS = {"training_report_": "training", "validation_report_": "validation", "cv_report_": "held out"}
#: characters of a parameter that is logged
MAX_TEXT = 500
#: metrics that MLflow takes in one call
MAX_BATCH = 1000


class _Tracker(Callback):
    """Turns what a fit tells into numbers by name and step; those who log them say how."""

    def on_fit_start(self, booster: WorstClassBooster, plan: FitPlan) -> None:
        """Begin to log, and note which edge is needed."""
        self._begin(booster)
        self._classes, self._epochs = metric_names(plan.classes), 0
        self._needed = plan.needed_edge

    def on_epoch_end(self, booster: WorstClassBooster, info: EpochInfo) -> None:
        """Log the edge of the member in training."""
        self._epochs += 1
        self._log({"epoch/edge": info.edge, "epoch/round": info.round}, self._epochs)

    def on_round_end(self, booster: WorstClassBooster, record: RoundRecord) -> None:
        """Log class weights, edges, and the class errors of the vote."""
        values = {"edge/reached": record.edge, "edge/needed": self._needed, "epochs": record.epochs}
        values |= _by_class("class_weight", self._classes, record.class_weight)
        values |= _errors("", self._classes, record.vote_errors)
        if record.validation is not None:
            values |= _errors("validation_", self._classes, record.validation.errors.tolist())
        self._log(values, record.round)

    def on_network_epoch_end(self, estimator: Any, info: NetworkEpochInfo) -> None:
        """Log the class errors and the loss of a network."""
        self._begin(estimator)
        classes = metric_names(info.classes)
        values = _errors("", classes, info.errors)
        if info.val_errors is not None:
            values |= _errors("validation_", classes, info.val_errors)
        self._log(values if info.loss is None else {**values, "loss": info.loss}, info.done)

    def on_step_end(self, estimator: Any, info: StepInfo) -> None:
        """Log how many members of a portfolio are trained."""
        self._begin(estimator)
        self._log({"members/trained": info.done, "members/seconds": info.seconds}, info.done)

    def on_fit_end(self, estimator: Any) -> None:
        """Log the reports of the fitted estimator, and end."""
        self._begin(estimator)
        for attribute, name in REPORTS.items():
            if (report := getattr(estimator, attribute, None)) is not None:
                errors = {row["name"]: row["error"] for row in report.to_dict()["classes"]}
                prefix = f"final_{name.replace(' ', '_')}_"
                self._log(_errors(prefix, metric_names(list(errors)), list(errors.values())), 0)
        self._finish(estimator)

    @abstractmethod
    def _begin(self, estimator: Any) -> None:
        """Open what is logged to, unless it is open."""

    @abstractmethod
    def _log(self, values: Mapping[str, float], step: int) -> None:
        """Log numbers by name."""

    @abstractmethod
    def _finish(self, estimator: Any) -> None:
        """Log what is known at the end, and close what is logged to."""


class TensorBoardCallback(_Tracker):
    """Write class weights, edges and class errors for TensorBoard, and a figure of the class weights.

    Parameters
    ----------
    log_dir : folder of the event files; ``tensorboard --logdir`` shows it. Another fit needs another folder.

    Examples
    --------
    ``pip install 'worstclass[torch,tracking]'`` brings TensorBoard and torch, which writes the event files.

    >>> from worstclass import WorstClassBooster
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> watched = WorstClassBooster(DecisionTreeClassifier(), theta=0.9, callbacks=[TensorBoardCallback("runs/first")])
    """

    def __init__(self, log_dir: str | Path) -> None:
        self.log_dir = log_dir
        self._writer: Any = None

    def _begin(self, estimator: Any) -> None:
        if self._writer is None:
            with optional_packages("TensorBoardCallback"):
                from torch.utils.tensorboard import SummaryWriter
            writer: Any = SummaryWriter
            self._writer = writer(str(self.log_dir))
            table = [f"| {name} | {value} |" for name, value in _parameters(estimator).items()]
            head = f"{type(estimator).__name__}\n\n| parameter | value |\n|---|---|\n"
            self._writer.add_text("settings", head + "\n".join(table))

    def _log(self, values: Mapping[str, float], step: int) -> None:
        for name, value in values.items():
            if math.isfinite(value):
                self._writer.add_scalar(name.replace(" ", "_"), value, step)

    def _finish(self, estimator: Any) -> None:
        if text := _report_text(estimator):
            self._writer.add_text("report", text)
        if (figure := _weight_figure(estimator)) is not None:
            self._writer.add_figure("class weights", figure, close=False)
        self._writer.close()
        self._writer = None


class MLflowCallback(_Tracker):
    """Log parameters, class weights, edges, class errors, the model folder and its report to MLflow.

    It logs to the run that is active (``with mlflow.start_run():`` around fit), else to a run of its own. A fit that
    raises leaves a run of its own open.

    Parameters
    ----------
    experiment : name of the experiment of a run of its own; it is made if it does not exist.
    run_name : name of a run of its own; None leaves it to MLflow.
    log_model : whether the model folder is stored with the run, under ``model``; ``load_model`` reads it.
    tracking_uri : where MLflow logs to; None is what MLflow is set to.

    Attributes
    ----------
    run_id_ : the run of the last fit.

    Examples
    --------
    ``pip install 'worstclass[tracking]'`` brings MLflow.

    >>> from worstclass import WorstClassClassifier
    >>> watched = WorstClassClassifier(callbacks=[MLflowCallback("patients")])
    """

    def __init__(
        self,
        experiment: str = "worstclass",
        *,
        run_name: str | None = None,
        log_model: bool = True,
        tracking_uri: str | None = None,
    ) -> None:
        self.experiment = experiment
        self.run_name = run_name
        self.log_model = log_model
        self.tracking_uri = tracking_uri
        self._client: Any = None

    def _begin(self, estimator: Any) -> None:
        if self._client is not None:
            return
        with optional_packages("MLflowCallback"):
            import mlflow
        client: Any = mlflow.MlflowClient(self.tracking_uri)
        active: Any = mlflow.active_run()
        self._is_own = active is None
        if self._is_own:
            found = client.get_experiment_by_name(self.experiment)
            experiment = client.create_experiment(self.experiment) if found is None else found.experiment_id
            active = client.create_run(experiment, run_name=self.run_name)
        self._client, self.run_id_ = client, active.info.run_id
        for name, value in {"estimator": type(estimator).__name__, **_parameters(estimator)}.items():
            client.log_param(self.run_id_, name, value)

    def _log(self, values: Mapping[str, float], step: int) -> None:
        from mlflow.entities import Metric

        now = int(time.time() * 1000)
        finite = {name: float(value) for name, value in values.items() if math.isfinite(value)}
        found = [Metric(name, value, now, step) for name, value in finite.items()]
        for first in range(0, len(found), MAX_BATCH):
            self._client.log_batch(self.run_id_, metrics=found[first : first + MAX_BATCH])

    def _finish(self, estimator: Any) -> None:
        if text := _report_text(estimator):
            self._client.log_text(self.run_id_, text, "report.md")
        if (figure := _weight_figure(estimator)) is not None:
            self._client.log_figure(self.run_id_, figure, "class-weights.png")
        if self.log_model:
            self._log_model(estimator)
        if self._is_own:
            self._client.set_terminated(self.run_id_)
        self._client = None

    def _log_model(self, estimator: Any) -> None:
        """Store the model folder; a model that cannot be saved must not cost the fit."""
        from worstclass.storage import save_model

        with tempfile.TemporaryDirectory() as folder:
            try:
                save_model(estimator, Path(folder, "model"))
            except WorstClassError as error:
                warnings.warn(f"The model is not stored with the run: {error}", WorstClassWarning, stacklevel=2)
            else:
                self._client.log_artifacts(self.run_id_, str(Path(folder, "model")), "model")


def metric_names(classes: Sequence[Any]) -> list[str]:
    """Return the name of each class as part of the name of a metric; no two are the same.

    Examples
    --------
    >>> metric_names(["grade I", "a+", "a*"])
    ['grade I', 'a_', 'a__2']
    """
    names: list[str] = []
    for label in classes:
        name = re.sub(r"[^\w\-. ]", "_", str(label)) or "_"
        names.append(name if name not in names else f"{name}_{len(names)}")
    return names


def _by_class(group: str, classes: Sequence[str], values: Sequence[float]) -> dict[str, float]:
    return {f"{group}/{name}": value for name, value in zip(classes, values, strict=True)}


def _errors(prefix: str, classes: Sequence[str], errors: Sequence[float]) -> dict[str, float]:
    """Return the error of each class and of the worst one."""
    known = [error for error in errors if error is not None and math.isfinite(error)]
    found = _by_class(f"{prefix}class_error", classes, [math.nan if error is None else error for error in errors])
    return {**found, f"{prefix}worst_class_error": max(known, default=math.nan)}


def _parameters(estimator: Any) -> dict[str, str]:
    given = estimator.get_params(deep=False)
    return {name: str(value)[:MAX_TEXT] for name, value in given.items() if name != "callbacks"}


def _report_text(estimator: Any) -> str:
    """Return the reports of a fitted estimator as Markdown."""
    found = {name: getattr(estimator, attribute, None) for attribute, name in REPORTS.items()}
    return "\n".join(f"## {name} rows\n\n```\n{report}\n```\n" for name, report in found.items() if report is not None)


def _weight_figure(estimator: Any) -> Any:
    """Return a figure of the class weights of a booster over classes; None for others, and without matplotlib."""
    history = getattr(estimator, "history_", ())
    if getattr(estimator, "theta", None) is None or not history or not hasattr(history[0], "class_weight"):
        return None
    if not is_installed("matplotlib"):
        return None
    from worstclass.report.training_displays import ClassWeightDisplay

    return ClassWeightDisplay.from_estimator(estimator).figure_
