"""Exported files answer like the model: every kind of model, any batch size, every tie; or they are refused."""

from __future__ import annotations

import json
import sys
from itertools import product

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest
import torch
from scripted import ScriptedLearner, numbered_rows
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC, NuSVC
from sklearn.tree import DecisionTreeClassifier
from test_images import striped
from torch import nn

from worstclass import (
    AbstainingClassifier,
    DeepEnsemble,
    InstanceBooster,
    NetworkClassifier,
    SklearnLearner,
    TorchLearner,
    WorstClassBooster,
    WorstClassClassifier,
    WorstClassOffsets,
    build_method,
    certify,
    export_onnx,
    export_torch,
    load_model,
    save_model,
)
from worstclass.boosting.vote import VoteTally
from worstclass.exceptions import DataError, ExportError, ParameterError, UnknownNameError
from worstclass.export import onnx_graph, onnx_networks
from worstclass.learners.sklearn_learner import SklearnEncoder, SklearnMember
from worstclass.learners.torch_inputs import TorchEncoder
from worstclass.learners.torch_loop import TorchMember
from worstclass.metrics import class_report

pytestmark = pytest.mark.filterwarnings("ignore::worstclass.exceptions.WorstClassWarning")


def network(**options):
    return TorchLearner("mlp", module_options={"hidden": (8,)}, lr=0.02, **options)


def ask(file, rows, batch):
    """Ask a file with nothing but onnxruntime, in batches; return its outputs by name."""
    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    n = len(next(iter(rows.values())))
    parts = [
        session.run(None, {name: values[i : i + batch] for name, values in rows.items()}) for i in range(0, n, batch)
    ]
    return {name: np.concatenate(values) for name, values in zip(names, zip(*parts, strict=True), strict=True)}


def metadata(file):
    return {entry.key: entry.value for entry in onnx.load(file).metadata_props}


def half(blobs):
    X, y = blobs
    return (X[::2], y[::2]), (X[1::2], y[1::2])


MODELS = {
    "network": lambda: NetworkClassifier(network(standardize=True), max_epochs=5, random_state=0),
    "deep-ensemble": lambda: DeepEnsemble(network(), n_estimators=3, max_epochs=9, random_state=0),
    "booster": lambda: WorstClassBooster(network(), 0.6, n_rounds=4, random_state=0),
    "instance-booster": lambda: InstanceBooster(network(), n_rounds=3, random_state=0),
    "booster-trees": lambda: WorstClassBooster(DecisionTreeClassifier(), 0.8, n_rounds=4, random_state=0),
    "booster-linear": lambda: WorstClassBooster(
        SklearnLearner(make_pipeline(StandardScaler(), LogisticRegression())), 0.5, n_rounds=3, random_state=0
    ),
    "ours-trees": lambda: build_method("ours-trees", theta=0.7, n_rounds=3, random_state=0),
    "portfolio": lambda: WorstClassClassifier(cv=2, random_state=0),
    "portfolio-own": lambda: WorstClassClassifier(
        [network(), WorstClassBooster(DecisionTreeClassifier(), 0.6, n_rounds=3), LogisticRegression()],
        cv=2, max_epochs=8, random_state=0,
    ),
    "offsets-booster": lambda: WorstClassOffsets(WorstClassBooster(network(), 0.5, n_rounds=3, random_state=0), cv=2),
    "offsets-votes": lambda: WorstClassOffsets(
        WorstClassBooster(DecisionTreeClassifier(), 0.7, n_rounds=5, random_state=0), cv=2, scores="proba"
    ),
    "offsets-decision": lambda: WorstClassOffsets(LinearSVC(), cv=2),
    "offsets-portfolio": lambda: WorstClassOffsets(WorstClassClassifier(cv=2, random_state=0), cv=0.5),
    "abstain-own": lambda: AbstainingClassifier(
        WorstClassBooster(DecisionTreeClassifier(), 0.7, n_rounds=5, random_state=0), 0.4, margin="own"
    ),
    "abstain-mean": lambda: AbstainingClassifier(WorstClassBooster(network(), 0.5, n_rounds=3, random_state=0), 0.4),
    "abstain-offsets": lambda: AbstainingClassifier(WorstClassOffsets(LogisticRegression(), cv=2), 0.4),
    "abstain-portfolio": lambda: AbstainingClassifier(WorstClassClassifier(cv=2, random_state=0), 0.4),
    "logistic": lambda: LogisticRegression(),
    "pipeline": lambda: make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=2)),
}  # fmt: skip
OF_NETWORKS = [
    *("network", "deep-ensemble", "booster", "instance-booster", "offsets-booster", "abstain-mean"),
]


@pytest.fixture(scope="module")
def fitted(blobs):
    made = {}

    def model(name):
        if name not in made:
            (X, y), _ = half(blobs)
            made[name] = MODELS[name]().fit(X, y)
            if hasattr(made[name], "threshold_"):  # too few rows to prove one: half of the rows are to be answered
                made[name].threshold_ = float(np.median(made[name].decision_margin(blobs[0])))
        return made[name]

    return model


@pytest.mark.parametrize("name", MODELS)
def test_every_model_answers_alike_in_onnx(name, fitted, blobs, tmp_path):
    model, (X, _) = fitted(name), blobs
    report = export_onnx(model, tmp_path / "model.onnx", X)
    assert (report.n_rows, report.rows_given) == (90, True)
    assert report.path.stat().st_size == report.n_bytes
    for batch in (1, 7, len(X)):
        found = ask(report.path, {"X": X}, batch)
        assert found["label"].tolist() == model.predict(X).tolist()
        if hasattr(model, "predict_proba"):
            np.testing.assert_allclose(found["probabilities"], model.predict_proba(X), atol=1e-6)
            assert found["probabilities"].dtype == np.float64
        if hasattr(model, "answered"):
            assert found["abstained"].tolist() == (~model.answered(X)).tolist()
            assert 0 < found["abstained"].sum() < len(X)
    wanted = [
        "label",
        *["probabilities"] * hasattr(model, "predict_proba"),
        *["abstained"] * hasattr(model, "answered"),
    ]
    assert list(found) == list(report.outputs) == wanted
    assert json.loads(metadata(report.path)["classes"]) == ["a", "b", "c"]


@pytest.mark.parametrize("name", OF_NETWORKS)
def test_every_model_of_networks_answers_alike_in_torch(name, fitted, blobs, tmp_path):
    model, (X, _) = fitted(name), blobs
    report = export_torch(model, tmp_path / "model.pt2", X)
    files = {"worstclass.json": ""}
    program = torch.export.load(report.path, extra_files=files).module()
    labels = np.array([*model.classes_, getattr(model, "abstain_label_", None)], dtype=object)
    for batch in (1, 7, len(X)):
        parts = [program(part) for part in torch.from_numpy(X).split(batch)]
        index = torch.cat([part["index"] for part in parts]).numpy()
        assert labels[index].tolist() == model.predict(X).tolist()
        proba = torch.cat([part["probabilities"] for part in parts]).numpy()
        np.testing.assert_allclose(proba, model.predict_proba(X), atol=1e-6)
        if hasattr(model, "answered"):
            assert torch.cat([part["abstained"] for part in parts]).tolist() == (~model.answered(X)).tolist()
    assert json.loads(files["worstclass.json"])["classes"] == '["a", "b", "c"]'
    assert report.inputs == {"X": "float64 (n, 2)"}


@pytest.mark.parametrize("name", ["portfolio", "booster-trees", "logistic"])
def test_torch_programs_are_of_networks_alone(name, fitted, blobs, tmp_path):
    with pytest.raises(ExportError, match=r"networks alone, and the model has .* inside. Export it to ONNX"):
        export_torch(fitted(name), tmp_path / "model.pt2", blobs[0])
    assert not list(tmp_path.iterdir())


# ties, worked out by hand: every sequence of votes is a row


def every_sequence(n_members, n_classes):
    """All ways in which members can vote, one a row."""
    return np.array(list(product(range(n_classes), repeat=n_members)))


def of_trees(answers):
    """A booster whose members answer row number r with ``answers[r]``."""
    X = numbered_rows(len(answers))
    booster = WorstClassBooster(DecisionTreeClassifier(), theta=0.1, n_rounds=2)
    booster.fit(numbered_rows(answers.max() + 1), np.arange(answers.max() + 1))
    members = [DecisionTreeClassifier().fit(X, votes) for votes in answers.T]
    booster.encoder_, booster.estimators_ = SklearnEncoder(None), [SklearnMember(member) for member in members]
    booster.n_members_used_ = len(members)
    return booster, X


def of_networks(answers):
    """A booster of linear networks without hidden layers that answers row r, a unit vector, with ``answers[r]``."""
    n_rows, K = len(answers), answers.max() + 1
    learner = TorchLearner(lambda input_shape, n_classes: nn.Linear(input_shape[0], n_classes, bias=False))
    booster = WorstClassBooster(learner, theta=0.1, n_rounds=2, max_epochs_per_round=1, random_state=0)
    X = np.eye(n_rows, dtype=np.float32)
    booster.fit(X, np.arange(n_rows) % K)
    runtime = learner.runtime(TorchEncoder((n_rows,)), int(K))
    weights = [torch.nn.functional.one_hot(torch.from_numpy(votes), int(K)).float().T for votes in answers.T]
    booster.estimators_ = [TorchMember(runtime, {"weight": weight.contiguous()}) for weight in weights]
    booster.n_members_used_ = len(weights)
    return booster, X


@pytest.mark.parametrize(("n_members", "n_classes"), [(1, 2), (4, 2), (4, 3), (6, 3)])
def test_every_possible_vote_of_trees_has_the_same_winner(n_members, n_classes, tmp_path):
    answers = every_sequence(n_members, n_classes)
    booster, X = of_trees(answers)
    tally = VoteTally(len(X), n_classes)
    for votes in answers.T:
        tally.add(votes)
    report = export_onnx(booster, tmp_path / "model.onnx", X)
    found = ask(report.path, {"X": X}, 50)
    assert found["label"].tolist() == tally.winners.tolist()
    assert found["probabilities"].tolist() == tally.shares.tolist()  # the winner of a tie is raised, bit for bit
    assert (tally.leads == 0).any() or n_members == 1


def test_every_possible_vote_of_networks_has_the_same_winner(tmp_path):
    answers = every_sequence(4, 3)
    booster, X = of_networks(answers)
    tally = VoteTally(len(X), 3)
    for votes in answers.T:
        tally.add(votes)
    assert booster.predict(X).tolist() == tally.winners.tolist()
    onnx_file = export_onnx(booster, tmp_path / "model.onnx", X).path
    torch_file = export_torch(booster, tmp_path / "model.pt2", X).path
    found = torch.export.load(torch_file).module()(torch.from_numpy(X))
    assert ask(onnx_file, {"X": X}, 81)["probabilities"].tolist() == tally.shares.tolist()
    assert found["probabilities"].tolist() == tally.shares.tolist()
    assert found["index"].tolist() == tally.winners.tolist()


def test_only_the_members_in_use_vote(tmp_path):
    booster, X = of_trees(every_sequence(5, 2))
    booster.n_members_used_ = 3
    report = export_onnx(booster, tmp_path / "model.onnx", X)
    first_three = every_sequence(5, 2)[:, :3]
    assert ask(report.path, {"X": X}, 32)["label"].tolist() == (first_three.sum(axis=1) >= 2).astype(int).tolist()


@pytest.mark.parametrize("threshold", [0.0, 0.5, np.inf, -np.inf])
def test_margins_of_votes_are_compared_as_the_model_does(threshold, tmp_path):
    booster, X = of_trees(every_sequence(4, 3))
    careful = AbstainingClassifier(booster, 0.9, margin="own", cv="prefit").fit(X[:40] + 0.1, booster.predict(X[:40]))
    careful.threshold_ = threshold
    found = ask(export_onnx(careful, tmp_path / "model.onnx", X).path, {"X": X}, 81)
    assert found["abstained"].tolist() == (booster.decision_margin(X) <= threshold).tolist()
    assert set(found["label"][found["abstained"]].tolist()) <= {-1}


def test_members_that_never_saw_a_class_vote_for_the_classes_they_know(tmp_path):
    answers = np.array([[0, 2, 2], [2, 0, 2], [1, 2, 0]])  # the last member knows 0 and 2
    booster, X = of_trees(answers)
    assert booster.estimators_[-1].estimator.classes_.tolist() == [0, 2]
    assert ask(export_onnx(booster, tmp_path / "model.onnx", X).path, {"X": X}, 3)["label"].tolist() == [2, 2, 1]


def test_networks_that_are_built_alike_are_exported_once(fitted, tmp_path, blobs, monkeypatch):
    calls = []
    original = onnx_networks.network_graph
    monkeypatch.setattr(onnx_networks, "network_graph", lambda *given: calls.append(1) or original(*given))
    model = WorstClassClassifier([network()], cv=3, max_epochs=6, random_state=0).fit(*blobs)
    export_onnx(model, tmp_path / "model.onnx", blobs[0])
    assert (len(model.estimators_), len(calls)) == (3, 1)
    assert len({member.estimators_[0].state["0.weight"][0, 0].item() for member in model.estimators_}) == 3


# inputs


def table(n, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.normal(50, 10, n).round(1),
            "ward": rng.choice(["A", "B", "C"], n),
            "smokes": rng.random(n) < 0.5,
            "grade": pd.Categorical(rng.choice([1, 2, 3], n)),
        }
    )
    frame["ward"] = frame["ward"].where(rng.random(n) > 0.1, None)
    frame.loc[rng.random(n) < 0.1, "age"] = np.nan
    return frame, np.where(frame["ward"] == "A", "x", np.where(frame["age"] > 50, "y", "z"))


def columns(frame):
    """What a program without worstclass would give to the file."""
    numbers = {name: frame[[name]].to_numpy(np.float64) for name in ("age", "smokes", "grade")}
    return {**numbers, "ward": frame[["ward"]].astype(object).where(frame[["ward"]].notna(), "").to_numpy()}


@pytest.mark.parametrize("method", ["auto", "ours-trees", "logistic", "network"])
def test_tables_with_text_and_missing_values_have_an_input_for_each_column(method, tmp_path):
    X, y = table(150)
    if method == "network":
        model = NetworkClassifier(network(standardize=True), max_epochs=5, random_state=0)
    else:
        theta = {"theta": 0.5, "n_rounds": 2} if method == "ours-trees" else {}
        model = build_method(method, random_state=0, **({"cv": 2} if method == "auto" else {}), **theta)
    model.fit(X, y)
    new, _ = table(60, seed=1)
    new.loc[3, "ward"] = "never seen"
    report = export_onnx(model, tmp_path / "model.onnx", new)
    number, text = "float64 (n, 1)", "text (n, 1)"
    assert report.inputs == {"age": number, "ward": text, "smokes": number, "grade": number}
    assert ask(report.path, columns(new), 7)["label"].tolist() == model.predict(new).tolist()
    assert json.loads(metadata(report.path)["columns"]) == ["age", "ward", "smokes", "grade"]
    made = export_onnx(model, tmp_path / "model.onnx")
    assert (made.n_rows, made.rows_given) == (200, False)
    assert "200 rows made at random (none were given)" in str(made)


def test_columns_of_numbers_are_one_input(tmp_path):
    X, y = table(100)
    model = build_method("logistic").fit(X[["age", "smokes"]], y)
    report = export_onnx(model, tmp_path / "model.onnx", X[["smokes", "age"]][["age", "smokes"]])
    assert report.inputs == {"X": "float64 (n, 2)"}
    of_numbers = X[["age", "smokes", "grade"]].astype({"grade": "category"})
    model = NetworkClassifier(network(), max_epochs=3, random_state=0).fit(of_numbers, y)
    assert model.encoder_.row_shape == (1 + 2 + 3,)
    for export in (export_onnx, export_torch):
        assert export(model, tmp_path / "model.pt2", of_numbers).inputs == {"X": "float64 (n, 3)"}


def test_text_in_arrays_has_inputs_by_number(tmp_path):
    X = np.array([["u", 1.0], ["v", 2.0], [None, 3.0], ["u", 4.0], ["v", 5.0], ["w", 6.0]] * 5, dtype=object)
    model = WorstClassClassifier(cv=2, random_state=0).fit(X, np.arange(30) % 2)
    assert export_onnx(model, tmp_path / "model.onnx", X).inputs == {"x0": "text (n, 1)", "x1": "float64 (n, 1)"}


def test_labels_and_abstentions_keep_their_type(blobs, tmp_path):
    X, y = blobs
    numbers = np.unique(y, return_inverse=True)[1] * 10 - 5
    for labels, kind in ((numbers, np.int64), (numbers + 0.0, np.float64), (y, object), (y == "a", np.bool_)):
        model = WorstClassBooster(DecisionTreeClassifier(), 0.5, n_rounds=2, random_state=0).fit(X, labels)
        assert ask(export_onnx(model, tmp_path / "m.onnx", X).path, {"X": X}, 90)["label"].dtype == kind
    careful = AbstainingClassifier(LogisticRegression(), 0.5).fit(X, numbers)
    careful.threshold_ = 3.0
    found = ask(export_onnx(careful, tmp_path / "m.onnx", X).path, {"X": X}, 90)
    assert set(found["label"][found["abstained"]].tolist()) == {-6}


def test_the_type_of_numbers_is_that_of_the_rows_or_as_asked(fitted, blobs, tmp_path):
    model, (X, _) = fitted("network"), blobs
    file = tmp_path / "model.pt2"
    assert export_torch(model, file, X.astype(np.float32)).inputs == {"X": "float32 (n, 2)"}
    assert export_torch(model, file, torch.from_numpy(X).float()).inputs == {"X": "float32 (n, 2)"}
    assert export_torch(model, file, X.round().astype(int)).inputs == {"X": "float64 (n, 2)"}
    assert export_torch(model, file, input_type="float32").inputs == {"X": "float32 (n, 2)"}
    assert export_onnx(fitted("pipeline"), file, X.astype(np.float32)).inputs == {"X": "float32 (n, 2)"}
    assert export_onnx(fitted("pipeline"), file).inputs == {"X": "float64 (n, 2)"}
    with pytest.raises(UnknownNameError, match="input_type"):
        export_onnx(model, file, X, input_type="float16")


# images


@pytest.mark.parametrize("name", ["cnn-small", "resnet8"])
def test_networks_for_images(name, tmp_path):
    X, y = striped(40, 0, side=12)
    model = NetworkClassifier(TorchLearner(name, lr=0.002), max_epochs=2, random_state=0).fit(X, y)
    whole, scaled = {"X": "uint8 (n, 1, 12, 12)"}, (X / 255).astype(np.float32)
    report = export_onnx(model, tmp_path / "m.onnx", X)
    assert report.inputs == whole
    assert ask(report.path, {"X": X}, 7)["label"].tolist() == model.predict(X).tolist()
    assert export_torch(model, tmp_path / "m.pt2", X).inputs == whole
    assert export_torch(model, tmp_path / "m.pt2").inputs == whole
    assert export_torch(model, tmp_path / "m.pt2", scaled).inputs == {"X": "float32 (n, 1, 12, 12)"}


def test_the_portfolio_of_images(tmp_path):
    X, y = striped(90, 0, side=16, channels=2)
    model = WorstClassClassifier(cv=2, max_epochs=4, random_state=0).fit(X[:60], y[:60])
    for member in model.portfolio_:  # each of them, also those that were not chosen
        assert member.name in {"pixel-kernel", "pixel-trees", "patches", "network"}
    report = export_onnx(model, tmp_path / "model.onnx", X[60:])
    assert ask(report.path, {"X": X}, 7)["label"].tolist() == model.predict(X).tolist()


# what is refused


def test_a_file_that_would_answer_otherwise_is_not_written(blobs, tmp_path):
    X, y = blobs
    file = tmp_path / "model.onnx"
    model = LogisticRegression().fit(X, y)
    export_onnx(model, file, X)
    before = file.read_bytes()
    honest = model.predict
    model.predict = lambda rows: np.where(np.isin(np.arange(len(rows)), [2, 40]), "zzz", honest(rows))
    with pytest.raises(ExportError, match=r"answers 2 of 90 rows otherwise: row 3 \('.' in place of 'zzz'\); row 41"):
        export_onnx(model, file, X)
    model.predict = lambda rows: np.full(len(rows), "zzz")
    with pytest.raises(ExportError, match=r"answers 90 of 90 rows otherwise: .*, and 80 more. Nothing was written"):
        export_onnx(model, file, X)
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]


def test_other_probabilities_are_refused_too(blobs, tmp_path):
    X, y = blobs
    model = LogisticRegression().fit(X, y)
    honest = model.predict_proba
    model.predict_proba = lambda rows: honest(rows) ** 0.9
    with pytest.raises(ExportError, match="probabilities of the exported model are other than the model's, by up to"):
        export_onnx(model, tmp_path / "model.onnx", X)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (NuSVC(nu=0.2), "NuSVC cannot be exported exactly: ONNX has it in float32 only"),
        (make_pipeline(StandardScaler(), NuSVC(nu=0.2)), "NuSVC cannot be exported exactly"),
        (WorstClassOffsets(NuSVC(nu=0.2), cv=2), "decision_function of NuSVC cannot be exported"),
    ],
)
def test_a_classifier_that_onnx_computes_otherwise_is_named(model, message, blobs, tmp_path):
    with pytest.raises(ExportError, match=message):
        export_onnx(model.fit(*blobs), tmp_path / "model.onnx", blobs[0])


def test_what_skl2onnx_does_not_know_is_named(blobs, tmp_path):
    lightgbm = pytest.importorskip("lightgbm")
    model = lightgbm.LGBMClassifier(n_estimators=2, verbose=-1).fit(*blobs)
    with pytest.raises(ExportError, match=r"LGBMClassifier cannot be exported: skl2onnx does not convert it"):
        export_onnx(model, tmp_path / "model.onnx", blobs[0])


def test_a_learner_of_ones_own_is_refused(tmp_path):
    model = WorstClassBooster(ScriptedLearner([[[0, 0, 1, 1]]]), 0.5, n_rounds=1).fit(numbered_rows(4), [0, 0, 1, 1])
    with pytest.raises(ExportError, match="Members of ScriptedLearner cannot be exported"):
        export_onnx(model, tmp_path / "model.onnx", numbered_rows(4))


class Sorted(nn.Module):
    """A network whose way depends on the values of the rows."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 3)

    def forward(self, rows):
        return self.layer(rows) if rows.sum() > 0 else -self.layer(rows)


@pytest.mark.parametrize("export", [export_onnx, export_torch])
def test_a_network_that_torch_cannot_export_is_explained(export, blobs, tmp_path):
    model = NetworkClassifier(TorchLearner(Sorted), max_epochs=1).fit(*blobs)
    with pytest.raises(ExportError, match=r"cannot export the network .* for any batch size. Its forward must be made"):
        export(model, tmp_path / "model.pt2", blobs[0])


@pytest.mark.parametrize("model", [LogisticRegression(), LogisticRegression, "model"])
def test_what_is_not_fitted_is_refused(model, tmp_path):
    with pytest.raises(ParameterError, match="must be a fitted classifier"):
        export_onnx(model, tmp_path / "model.onnx")


def test_columns_that_no_file_can_have_are_refused(tmp_path):
    X, y = table(60)
    file = tmp_path / "model.onnx"
    with pytest.raises(ExportError, match=r"must not have the names of outputs. Rename \['label'\]"):
        export_onnx(build_method("logistic").fit(X.rename(columns={"ward": "label"}), y), file)
    mixed = X.assign(ward=[1 if place % 2 else "A" for place in range(60)])
    with pytest.raises(ExportError, match="Column 'ward' mixes text and numbers"):
        export_onnx(build_method("logistic").fit(mixed, y), file)
    empty = X.assign(ward=["", "A", None] * 20)
    with pytest.raises(ExportError, match="Column 'ward' has empty text and missing values"):
        export_onnx(build_method("logistic").fit(empty, y), file)
    with pytest.raises(ExportError, match=r"takes no columns of text: \['ward'\]. Export it to ONNX"):
        export_torch(NetworkClassifier(network(), max_epochs=1).fit(X, y), file)


def test_labels_of_two_types_are_refused(blobs, tmp_path):
    X, y = blobs
    model = AbstainingClassifier(LogisticRegression(), 0.5, abstain_label=None).fit(X, y)
    with pytest.raises(ExportError, match=r"Labels of an ONNX file must be of one type.* None for no answer"):
        export_onnx(model, tmp_path / "model.onnx", X)
    model.abstain_label_, model.threshold_ = "ask a human", 3.0
    found = ask(export_onnx(model, tmp_path / "model.onnx", X).path, {"X": X}, 90)
    assert "ask a human" in found["label"]


def test_a_model_beyond_two_gigabytes_is_refused(fitted, blobs, tmp_path, monkeypatch):
    monkeypatch.setattr(onnx_graph, "MOST_BYTES", 500)
    with pytest.raises(ExportError, match="too large for one ONNX file, which holds 2 GB"):
        export_onnx(fitted("portfolio"), tmp_path / "model.onnx", blobs[0])


def test_rows_may_be_lists(fitted, blobs, tmp_path):
    assert export_onnx(fitted("logistic"), tmp_path / "model.onnx", blobs[0].tolist()).n_rows == 90


def test_a_data_set_is_no_rows_in_memory(fitted, blobs, tmp_path):
    rows = torch.utils.data.TensorDataset(torch.from_numpy(blobs[0]))
    with pytest.raises(DataError, match="rows in memory"):
        export_onnx(fitted("network"), tmp_path / "model.onnx", rows)


@pytest.mark.parametrize("missing", ["onnx", "onnxruntime", "onnxscript", "skl2onnx"])
def test_without_the_extra_the_command_to_install_it_is_named(missing, fitted, blobs, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ExportError, match=rf"{missing} is not installed: pip install 'worstclass\[onnx\]'"):
        export_onnx(fitted("logistic"), tmp_path / "model.onnx", blobs[0])


# metadata, and models from folders


def test_the_metadata_name_classes_floors_kind_and_certificate(blobs, tmp_path):
    (X, y), (fresh, labels) = half(blobs)
    model = WorstClassBooster(DecisionTreeClassifier(), {"a": 0.6, "others": 0.5}, n_rounds=2, random_state=0).fit(X, y)
    certificate = certify(model, fresh, labels, require=0.3)
    found = metadata(export_onnx(model, tmp_path / "model.onnx", X, certificate=certificate).path)
    assert found["kind"] == "WorstClassBooster"
    assert json.loads(found["floors"]) == {"a": 0.6, "b": 0.5, "c": 0.5}
    assert json.loads(found["certificate"]) == json.loads(json.dumps(certificate.to_dict()))
    assert found["worstclass"]
    careful = AbstainingClassifier(WorstClassOffsets(model, cv="prefit").fit(fresh[:20], labels[:20]), 0.4, cv="prefit")
    careful.fit(fresh[20:], labels[20:])
    found = metadata(export_onnx(careful, tmp_path / "model.onnx", X).path)
    assert found["kind"] == "AbstainingClassifier(WorstClassOffsets(WorstClassBooster))"
    assert found["abstain_label"] == "abstain"
    assert json.loads(found["risk"]) == {"a": 0.4, "b": 0.4, "c": 0.4}
    assert json.loads(found["certificate"])["verdict"] == careful.certificate_.verdict


@pytest.mark.parametrize("name", ["booster", "portfolio", "abstain-offsets"])
def test_models_from_a_folder_are_exported_too(name, fitted, blobs, tmp_path):
    model = load_model(save_model(fitted(name), tmp_path / "folder"), keep_in_memory=False)
    report = export_onnx(model, tmp_path / "files" / "model.onnx", blobs[0])
    assert ask(report.path, {"X": blobs[0]}, 90)["label"].tolist() == fitted(name).predict(blobs[0]).tolist()


def test_the_worst_class_of_the_file_is_that_of_the_model(fitted, blobs, tmp_path):
    model, (X, y) = fitted("offsets-booster"), blobs
    labels = ask(export_onnx(model, tmp_path / "model.onnx", X).path, {"X": X}, 7)["label"]
    assert class_report(y, labels).worst_error == class_report(y, model.predict(X)).worst_error
