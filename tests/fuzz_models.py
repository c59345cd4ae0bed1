"""Fuzzing targets: model folders and result files."""

from __future__ import annotations

import contextlib
import functools
import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from fuzz_inputs import EDITS, JSON_EDITS, edited, edited_json, repacked, zipped
from fuzz_target import Target, target
from hypothesis import strategies as st
from sealing import reseal
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from worstclass import (
    AbstainingClassifier,
    TorchLearner,
    WorstClassBooster,
    WorstClassClassifier,
    WorstClassOffsets,
    load_model,
    save_model,
)
from worstclass.data.splits import make_splits
from worstclass.exceptions import ParameterError, WorstClassError
from worstclass.experiments.cells import Cell, CellResult, find_result
from worstclass.experiments.details import Details
from worstclass.experiments.ranking import Comparison
from worstclass.experiments.run import Outcome, Provenance, RunResult, offsets_record
from worstclass.report.page import PAGE, write_page
from worstclass.report.summary import text_report

ROWS = np.array([[0.0, 0.0], [1.0, 2.0], [-5.0, 9.0]])
NUMBER = st.integers(0, 999)


@functools.cache
def fitted() -> dict[str, Any]:
    """Small models of every kind of file: torch members in wrappers, pipelines, parts, and scikit-learn alone."""
    rng = np.random.default_rng(0)
    y = np.arange(160) % 2
    X = rng.normal(size=(160, 2)) + y[:, None]
    options = {"n_rounds": 2, "gamma": 0.1, "extend": False, "random_state": 0}
    mlp = TorchLearner("mlp", module_options={"hidden": (4,)}, lr=0.02, standardize=True)
    networks = WorstClassBooster(mlp, 0.4, **options).fit(X[:60], y[:60])
    wrapped = WorstClassOffsets(networks, cv="prefit").fit(X[60:90], y[60:90])
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    learners = [DecisionTreeClassifier(max_depth=2), LogisticRegression()]
    return {
        "wrapped": AbstainingClassifier(wrapped, 0.3, cv="prefit", random_state=3).fit(X[90:], y[90:]),
        "pipelines": WorstClassBooster(pipeline, 0.4, **options).fit(X, y),
        "portfolio": WorstClassClassifier(learners, cv=2, random_state=0).fit(X, y),
        "trees": WorstClassBooster(DecisionTreeClassifier(max_depth=3), 0.4, **options).fit(X, y),
        "forest": RandomForestClassifier(2, max_depth=3, random_state=0).fit(X, y),
        "histogram": HistGradientBoostingClassifier(max_iter=2, random_state=0).fit(X, y),
    }


class Folders:
    """Saved models, of which one file at a time is spoiled and then put back."""

    def __init__(self, place: Path, *names: str) -> None:
        self.files: dict[Path, dict[Path, bytes]] = {}
        for name, model in fitted().items():
            if not names or name in names:
                folder = save_model(model, place / name)
                self.files[folder] = {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}

    def list(self, *suffixes: str) -> list[tuple[Path, Path]]:
        """Return folders and files of some kinds."""
        found = [(folder, file) for folder, files in self.files.items() for file in files]
        return [(folder, file) for folder, file in found if not suffixes or file.suffix in suffixes]

    @contextlib.contextmanager
    def restored(self, folder: Path) -> Iterator[None]:
        try:
            yield
        finally:
            for path, content in self.files[folder].items():
                if not path.exists() or path.read_bytes() != content:
                    path.write_bytes(content)


def load(folder: Path) -> Any:
    """Load a model in both ways."""
    load_model(folder, keep_in_memory=False)
    return load_model(folder)


@target
def model_damage(folder: Path) -> Target:
    """Files damaged, cut, missing, or those of another model: every change is noticed."""
    folders = Folders(folder, "wrapped", "pipelines", "forest")
    files = folders.list()

    def read(job: tuple[int, int, str, Any]) -> None:
        number, other, how, edits = job
        place, file = files[number % len(files)]
        before = folders.files[place][file]
        with folders.restored(place):
            if how == "lose":
                file.unlink()
            else:
                after = edited(before, edits) if how == "edit" else files[other % len(files)][1].read_bytes()
                file.write_bytes(after)
            same = how != "lose" and (after == before or (file.suffix == ".json" and same_json(after, before)))
            try:
                load(place)
                noticed = False
            except WorstClassError:
                noticed = True
            # other bytes of the same JSON may be noticed: a model inside another is listed by the checksum of its file
            assert noticed or same, f"{how} of {file.relative_to(place)} was not noticed"
            assert not noticed or how == "lose" or after != before, f"{file.relative_to(place)} was refused as it was"

    return Target(st.tuples(NUMBER, NUMBER, st.sampled_from(["edit", "edit", "edit", "lose", "swap"]), EDITS), read)


def same_json(one: bytes, other: bytes) -> bool:
    with contextlib.suppress(ValueError):
        return bool(json.loads(one) == json.loads(other))
    return False


@target
def model_json(folder: Path) -> Target:
    """``model.json`` and ``history.json`` with made-up values, and checksums that are right."""
    folders = Folders(folder, "wrapped", "pipelines", "portfolio")
    files = folders.list(".json")

    def read(job: tuple[int, Any, int]) -> None:
        number, edits, version = job
        place, file = files[number % len(files)]
        with folders.restored(place):
            values = edited_json(json.loads(folders.files[place][file]), edits)
            if isinstance(values, dict) and "format_version" in values:
                values["format_version"] = version
            file.write_text(json.dumps(values))
            with contextlib.suppress(Exception):  # a card that is none any more is read as it is
                reseal(place)
            load(place)

    return Target(st.tuples(NUMBER, JSON_EDITS, st.sampled_from([2, 3, 3, 3])), read)


@target
def model_files(folder: Path) -> Target:
    """Weights and .skops files, spoiled, with checksums that are right; what is read must answer without a crash."""
    folders = Folders(folder)
    files = folders.list(".safetensors", ".skops")

    def read(job: tuple[int, int, str, Any, Any]) -> None:
        number, part, how, edits, json_edits = job
        place, file = files[number % len(files)]
        content = folders.files[place][file]
        with folders.restored(place):
            if how == "file" or file.suffix == ".safetensors":
                file.write_bytes(edited(content, edits))
            else:
                file.write_bytes(repacked(content, part, edits) if how == "part" else with_schema(content, json_edits))
            reseal(place)
            model = load(place)
            with contextlib.suppress(Exception):  # nonsense may be answered by any error
                model.predict(ROWS)

    return Target(st.tuples(NUMBER, NUMBER, st.sampled_from(["file", "part", "schema"]), EDITS, JSON_EDITS), read)


def with_schema(content: bytes, edits: Any) -> bytes:
    """Return a .skops file with an edited schema."""
    with zipfile.ZipFile(io.BytesIO(content)) as old:
        parts = {name: old.read(name) for name in old.namelist()}
    schema = edited_json(json.loads(parts["schema.json"]), edits)
    return zipped(parts | {"schema.json": json.dumps(schema).encode()})


@target
def results(folder: Path) -> Target:
    """``run.json`` and the files of cells: what is read can be shown."""
    models, rng = fitted(), np.random.default_rng(1)
    splits = make_splits(rng.normal(size=(40, 2)), np.arange(40) % 2, test=0.25)
    made: dict[str, Any] = {"data": {}, "settings": {}, "seed": 0, "seconds": 1.0, "provenance": Provenance.collect()}
    runs = [RunResult.describe(models[name], splits, method=name, **made) for name in ("pipelines", "portfolio")]
    cell = Cell("ce", "iris", 0, {"budget": 3})
    outcome = Outcome.describe(LogisticRegression().fit(splits.train.X, splits.train.y), splits)
    done = CellResult.of(cell, outcome, provenance=made["provenance"], seconds=2.0)
    good = {True: [run.model_dump_json().encode() for run in runs], False: [done.model_dump_json().encode()]}

    def shown() -> None:
        result = RunResult.read(folder)
        assert text_report(result)

    def found() -> None:
        result = find_result(cell, folder / cell.file_name)
        if result is None:  # a broken file is run again
            raise ParameterError("file", "fuzzing", allowed="that of a cell", got="another")
        assert str(result)
        assert result.n_test >= 0

    def read(job: tuple[bool, int, Any, Any]) -> None:
        is_run, number, edits, json_edits = job
        content = good[is_run][number % len(good[is_run])]
        changed = json.dumps(edited_json(json.loads(content), json_edits)).encode() if json_edits else content
        (folder / ("run.json" if is_run else cell.file_name)).write_bytes(edited(changed, edits))
        (shown if is_run else found)()

    of_bytes, of_json = st.tuples(EDITS, st.just([])), st.tuples(st.just([]), JSON_EDITS)
    edits = st.one_of(of_bytes, of_json, of_json)
    return Target(st.builds(lambda a, b, c: (a, b, *c), st.booleans(), NUMBER, edits), read)


@target
def pages(folder: Path) -> Target:
    """The records that a report page is made of."""
    models, rng = fitted(), np.random.default_rng(1)
    splits = make_splits(rng.normal(size=(40, 2)), np.arange(40) % 2, test=0.25)
    made: dict[str, Any] = {"data": {}, "settings": {}, "seed": 0, "seconds": 1.0, "provenance": Provenance.collect()}
    runs = {name: RunResult.describe(models[name], splits, **made).model_dump_json() for name in ("trees", "portfolio")}
    details = {name: Details.of(models[name], splits.test, "rows").model_dump_json() for name in (*runs, "wrapped")}
    offsets = json.dumps({**offsets_record(models["wrapped"].estimator_), "data": {}})
    certificate = json.dumps({**models["wrapped"].certificate_.to_dict(), "data": {}})
    cell = Cell("ce", "iris", 0)
    outcome = Outcome.describe(LogisticRegression().fit(splits.train.X, splits.train.y), splits)
    compared = Comparison.from_results([CellResult.of(cell, outcome, provenance=made["provenance"], seconds=2.0)])
    sets = [
        *({"results/run.json": runs[name], "results/details.json": details[name]} for name in runs),
        {"results/tuning.json": offsets, "results/details.json": details["wrapped"]},
        {"results/certificate.json": certificate, "results/details.json": details["wrapped"]},
        {"comparison.json": compared.model_dump_json()},
    ]
    (folder / "results").mkdir()

    def read(job: tuple[int, bool, Any, Any]) -> None:
        number, first, edits, json_edits = job
        files = sets[number % len(sets)]
        names = list(files)
        spoiled = names[0] if first else names[-1]
        for old in (*folder.glob("*.json"), *folder.glob("results/*.json")):
            old.unlink()
        for name, text in files.items():
            content = text.encode()
            if name == spoiled:
                changed = json.dumps(edited_json(json.loads(text), json_edits)).encode() if json_edits else content
                content = edited(changed, edits)
            (folder / name).write_bytes(content)
        assert write_page(folder).name == PAGE

    of_bytes, of_json = st.tuples(EDITS, st.just([])), st.tuples(st.just([]), JSON_EDITS)
    edits = st.one_of(of_bytes, of_json, of_json)
    return Target(st.builds(lambda a, b, c: (a, b, *c), NUMBER, st.booleans(), edits), read)
