"""TensorBoard and MLflow, for real: what a fit tells is read back from their own files."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from worstclass import (
    MLflowCallback,
    NetworkClassifier,
    TensorBoardCallback,
    TorchLearner,
    WorstClassBooster,
    WorstClassClassifier,
    load_model,
)
from worstclass.exceptions import MissingPackageError, ParameterError, WorstClassWarning
from worstclass.tracking import metric_names


def booster(callback, **more):
    return WorstClassBooster(
        DecisionTreeClassifier(max_depth=2),
        theta=0.6,
        n_rounds=3,
        extend=0,
        random_state=0,
        callbacks=[callback],
        **more,
    )


def network(callback):
    learner = TorchLearner("mlp", module_options={"hidden": (8,)}, lr=0.05)
    return NetworkClassifier(learner, max_epochs=4, random_state=0, callbacks=[callback])


def portfolio(callback):
    return WorstClassClassifier(learners=[LogisticRegression()], cv=2, random_state=0, callbacks=[callback])


# --- TensorBoard


@pytest.fixture
def events(tmp_path):
    """Return a callback, and a function that reads what it wrote: scalars, figures and texts."""
    pytest.importorskip("tensorboard", reason="TensorBoard is not installed: pip install 'worstclass[tracking]'")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    def read():
        found = EventAccumulator(str(tmp_path / "runs")).Reload()
        tags = found.Tags()
        scalars = {tag: [(event.step, event.value) for event in found.Scalars(tag)] for tag in tags["scalars"]}
        return scalars, tags["images"], tags["tensors"]

    return TensorBoardCallback(tmp_path / "runs"), read


def test_a_booster_in_tensorboard(blobs, events):
    callback, read = events
    model = booster(callback).fit(*blobs)
    scalars, images, texts = read()
    for k, name in enumerate("abc"):
        weights = [(record.round, pytest.approx(record.class_weight[k])) for record in model.history_]
        assert scalars[f"class_weight/{name}"] == weights
        errors = [(record.round, pytest.approx(record.vote_errors[k])) for record in model.history_]
        assert scalars[f"class_error/{name}"] == errors
    assert [value for _, value in scalars["edge/reached"]] == pytest.approx([record.edge for record in model.history_])
    assert len(scalars["edge/needed"]) == len(model.history_)
    assert scalars["worst_class_error"][-1][1] == pytest.approx(model.training_report_.worst_error)
    assert images == ["class weights"]
    assert any("report" in text for text in texts)


def test_a_network_in_tensorboard(blobs, events):
    callback, read = events
    X, y = blobs
    model = network(callback).fit(X[:60], y[:60], X[60:], y[60:])
    scalars, images, _ = read()
    assert [step for step, _ in scalars["loss"]] == [1, 2, 3, 4]
    found = [value for _, value in scalars["validation_worst_class_error"]]
    assert found == pytest.approx([record.validation.worst_error for record in model.history_])
    assert images == []


def test_a_portfolio_in_tensorboard(blobs, events):
    callback, read = events
    model = portfolio(callback).fit(*blobs)
    scalars, _, _ = read()
    assert scalars["members/trained"][-1] == (1, 1.0)
    assert scalars["final_held_out_worst_class_error"] == [(0, pytest.approx(model.cv_report_.worst_error))]


def test_a_callback_serves_one_fit_after_the_other(blobs, events):
    callback, _ = events
    for _ in range(2):
        booster(callback).fit(*blobs)
    assert callback._writer is None


# --- MLflow


@pytest.fixture
def client(tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow", reason="MLflow is not installed: pip install 'worstclass[tracking]'")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri((tmp_path / "mlruns").as_uri())
    yield mlflow.MlflowClient()
    mlflow.set_tracking_uri(before)


def test_a_booster_in_mlflow(blobs, client, tmp_path):
    callback = MLflowCallback("blobs", run_name="first")
    model = booster(callback).fit(*blobs)
    run = client.get_run(callback.run_id_)
    assert (run.info.status, run.info.run_name) == ("FINISHED", "first")
    assert run.data.params["estimator"] == "WorstClassBooster"
    assert (run.data.params["theta"], run.data.params["n_rounds"]) == ("0.6", "3")
    history = client.get_metric_history(callback.run_id_, "class_weight/b")
    assert [(metric.step, metric.value) for metric in history] == [
        (record.round, record.class_weight[1]) for record in model.history_
    ]
    assert run.data.metrics["final_training_worst_class_error"] == model.training_report_.worst_error
    assert {file.path for file in client.list_artifacts(callback.run_id_)} == {
        "class-weights.png",
        "model",
        "report.md",
    }
    folder = client.download_artifacts(callback.run_id_, "", str(tmp_path))
    assert str(model.training_report_) in (tmp_path / "report.md").read_text()
    assert (load_model(f"{folder}/model").predict(blobs[0]) == model.predict(blobs[0])).all()


def test_networks_and_portfolios_in_mlflow(blobs, client):
    for build, metric in ((network, "loss"), (portfolio, "members/trained")):
        callback = MLflowCallback(log_model=False)
        model = build(callback).fit(*blobs)
        run = client.get_run(callback.run_id_)
        assert metric in run.data.metrics
        assert run.data.params["estimator"] == type(model).__name__
        assert run.info.status == "FINISHED"


def test_a_run_that_is_active_is_used_and_left_open(blobs, client):
    import mlflow

    callback = MLflowCallback(log_model=False)
    with mlflow.start_run() as run:
        booster(callback).fit(*blobs)
        assert callback.run_id_ == run.info.run_id
        assert client.get_run(run.info.run_id).info.status == "RUNNING"
    assert client.get_run(run.info.run_id).info.status == "FINISHED"


def test_a_model_that_cannot_be_saved_does_not_cost_the_fit(blobs, client):
    catboost = pytest.importorskip("catboost", reason="catboost is not installed: pip install catboost")
    member = catboost.CatBoostClassifier(iterations=3, verbose=False, allow_writing_files=False, thread_count=1)
    callback = MLflowCallback()
    model = WorstClassBooster(member, theta=0.3, n_rounds=2, random_state=0, callbacks=[callback])
    with pytest.warns(WorstClassWarning, match="The model is not stored with the run: .* without a pickle"):
        model.fit(*blobs)
    assert "model" not in {file.path for file in client.list_artifacts(callback.run_id_)}
    assert client.get_run(callback.run_id_).info.status == "FINISHED"
    assert model.n_members_used_ >= 1


# --- both


@pytest.mark.parametrize(
    ("callback", "package"), [(TensorBoardCallback("runs"), "tensorboard"), (MLflowCallback(), "mlflow")]
)
def test_a_missing_package_is_named_with_the_extra(callback, package, blobs, monkeypatch):
    monkeypatch.delitem(sys.modules, "torch.utils.tensorboard", raising=False)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(
        MissingPackageError, match=rf"needs the package {package}.*pip install 'worstclass\[tracking\]'"
    ):
        booster(callback).fit(*blobs)


def test_names_of_metrics_are_distinct_and_allowed():
    assert metric_names(["x/y", "x:y", "", 3]) == ["x_y", "x_y_1", "_", "3"]


def test_every_estimator_refuses_what_is_no_callback(blobs):
    for build in (booster, network, portfolio):
        with pytest.raises(ParameterError, match=r"'callbacks' parameter of .* must be a list of Callback objects"):
            build("print").fit(*blobs)


def test_what_is_told_of_networks_is_their_history(blobs):
    from worstclass import Callback, DeepEnsemble

    class Listener(Callback):
        def __init__(self):
            self.heard = []

        def on_network_epoch_end(self, estimator, info):
            self.heard.append(info)

        def on_fit_end(self, estimator):
            self.heard.append(estimator)

    listener = Listener()
    learner = TorchLearner("mlp", module_options={"hidden": (4,)})
    model = DeepEnsemble(learner, n_estimators=2, max_epochs=6, random_state=0, callbacks=[listener]).fit(*blobs)
    *epochs, fitted = listener.heard
    assert fitted is model
    assert [(info.member, info.epoch, info.done, info.total) for info in epochs] == [
        (1, 1, 1, 6), (1, 2, 2, 6), (1, 3, 3, 6), (2, 1, 4, 6), (2, 2, 5, 6), (2, 3, 6, 6),
    ]  # fmt: skip
    errors = [tuple(record.training.errors.tolist()) for record in model.history_]
    assert [info.errors for info in epochs] == errors
    assert np.isfinite([info.loss for info in epochs]).all()
    json.dumps([info.classes for info in epochs])
