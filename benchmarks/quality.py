"""The scoreboard: worst-class errors of `WorstClassClassifier` and of other methods on many tables, and what it costs.

    python benchmarks/quality.py --out docs/results/quality --part tables --tables FILE.npz --splits 0-4
    python benchmarks/quality.py --out docs/results/quality --part ablation --tables FILE.npz --splits 0-2
    python benchmarks/quality.py --out docs/results/quality --part networks --only squares,discs-10 --splits 0-14
    python benchmarks/quality.py --out docs/results/quality --part cost
    python benchmarks/quality.py --out docs/results/quality --report-only --undecided NAME,NAME:3,*:4

**tables**: every method on the same splits of bundled, generated and given tables, without and with decision offsets.
Each cell (table, split, method) is a JSON file of its own under --out/tables, written when it ends; a cell that has
one is not run again, so that runs can be stopped, continued, and divided by --splits, --only and --methods. --tables
takes an npz file with arrays NAME_x (numbers, NaN where missing), NAME_y, and NAME_cat: 1 where a column is a category.

**ablation**: the default with one ingredient changed, on the same trained members; see `quality_ablation.py`.

**networks**: the paper's artificial data and images, at equal epochs; see `quality_networks.py`.

**cost**: seconds side by side; see `quality_cost.py`.

The report, --out with the ending .md, is made of these files alone. --undecided names what no decision looked at: a
table (NAME), one of its splits (NAME:3), or a split of all (*:4). The report marks these and sums them up apart.

All runs in one thread. Seconds are those of the CPU, which a busy machine changes little. ours-trees stops after
--ours-seconds; nothing else depends on the speed of the machine.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

import numpy as np
from quality_ablation import run_ablation_cell
from quality_cost import run_cost
from quality_figure import draw_figure
from quality_networks import METHODS as NETWORK_METHODS
from quality_networks import PROBLEMS, run_networks
from quality_report import OFFSETS, UNDECIDED_FILE, report
from quality_tables import TEST_SHARE, Table, own_tables, tables_of_file
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier, StackingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.class_weight import compute_sample_weight
from threadpoolctl import threadpool_limits

from worstclass import WorstClassOffsets, build_method, class_report, list_methods
from worstclass.data.encoding import TableEncoder
from worstclass.ensembles.worst_class import WorstClassClassifier
from worstclass.experiments.run import Provenance

THETA, FOLDS = 0.9, 5
#: packages beside those of `Provenance` whose version can change a result
PEERS = ("imbalanced-learn", "lightgbm", "xgboost-cpu", "xgboost")


# methods


class Balanced(ClassifierMixin, BaseEstimator):
    """A classifier that takes no class weights, trained with row weights that give every class the same total."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any) -> Self:
        """Train on class indices, which xgboost needs."""
        self.classes_, index = np.unique(y, return_inverse=True)
        self.estimator_ = clone(self.estimator).fit(X, index, sample_weight=compute_sample_weight("balanced", index))
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable class."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class."""
        return self.estimator_.predict_proba(X)


def lightgbm(seed: int) -> Any:
    from lightgbm import LGBMClassifier

    return make_pipeline(
        TableEncoder(), LGBMClassifier(class_weight="balanced", n_jobs=1, random_state=seed, verbose=-1)
    )


def xgboost(seed: int) -> Any:
    from xgboost import XGBClassifier

    return make_pipeline(TableEncoder(), Balanced(XGBClassifier(n_jobs=1, random_state=seed)))


def stacking(seed: int) -> Any:
    options: dict[str, Any] = {"class_weight": "balanced", "random_state": seed}
    members = [
        ("logistic", make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000, **options))),
        ("forest", RandomForestClassifier(300, **options)),
        ("boosted-trees", HistGradientBoostingClassifier(**options)),
    ]
    final = LogisticRegression(max_iter=1000, **options)
    return make_pipeline(TableEncoder(), StackingClassifier(members, final, stack_method="predict_proba"))


def method_of_library(name: str, options: dict[str, Any]) -> Callable[[int], Any]:
    return lambda seed: build_method(name, random_state=seed, **options)


def methods(ours_seconds: float) -> dict[str, Callable[[int], Any]]:
    """Return a builder by seed for each method that is installed, `auto` last; say which are not installed."""
    found: dict[str, Callable[[int], Any]] = {}
    for method in list_methods():
        if method.kind != "table" or method.name == "auto" or (method.needs_theta and method.name != "ours-trees"):
            continue
        options = {"theta": THETA, "max_seconds": ours_seconds} if method.needs_theta else {}
        if is_installed(method.requires, method.name):
            found[method.name] = method_of_library(method.name, options)
    for build in (lightgbm, xgboost):
        if is_installed(build.__name__, build.__name__):
            found[build.__name__] = build
    found["stacking"] = stacking
    both = {f"{name}{end}": build for name, build in found.items() for end in ("", OFFSETS)}
    return {**both, "auto": lambda seed: WorstClassClassifier(random_state=seed)}


def is_installed(package: str | None, method: str) -> bool:
    if package is None or find_spec(package) is not None:
        return True
    print(f"{method} is left out: {package} is not installed. pip install 'worstclass[compare]' brings it.")
    return False


# cells


def run_cell(table: Table, split: int, method: str, build: Callable[[int], Any], limits: dict[str, int]) -> dict:
    """Train and test one method on one split; a method that fails gives its message."""
    X, y, X_test, y_test = table.divided(split, **limits)
    smallest = int(np.bincount(y).min())
    cell: dict[str, Any] = {
        "table": {**table.facts(), "train": len(y), "test": len(y_test), "smallest_train": smallest},
        "split": split,
        "method": method,
        "seed": split,
        "settings": {"test_share": TEST_SHARE, **limits},
        "provenance": provenance(),
    }
    if method.endswith(OFFSETS) and smallest < 2:
        return {**cell, "status": "skipped", "message": "a class has one training row, so no fold can hold it out"}
    model = build(split)
    if method.endswith(OFFSETS):
        model = WorstClassOffsets(model, cv=min(FOLDS, smallest), random_state=split)
    cell["settings"]["estimator"] = " ".join(model.__repr__(N_CHAR_MAX=10_000).split())
    started, cpu = time.perf_counter(), time.process_time()
    try:
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore")
            model.fit(X, y)
            cell |= {"seconds": time.process_time() - cpu, "wall_seconds": time.perf_counter() - started}
            found = class_report(y_test, model.predict(X_test))
    except Exception as error:  # what fails is a result too
        return {**cell, "status": "failed", "message": f"{type(error).__name__}: {error}"}
    errors = {"worst": found.worst_error, "plain": found.plain_error, "class_mean": found.class_mean_error}
    return {**cell, "status": "done", "errors": errors, "worst_class": found.worst_class, **details(model)}


def details(model: Any) -> dict[str, Any]:
    """Return what `auto` says about itself."""
    if not isinstance(model, WorstClassClassifier):
        return {}
    return {
        "auto": {
            "weights": {record.name: record.weight for record in model.portfolio_},
            "seconds": {record.name: record.seconds for record in model.portfolio_},
            "estimated_worst_error": model.cv_report_.worst_error,
            "folds": model.n_folds_,
            "notes": list(model.notes_),
        }
    }


def provenance() -> dict[str, Any]:
    found = Provenance.collect().model_dump()
    for name in PEERS:
        try:
            found["versions"][name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found["versions"][name] = "not installed"
    return found


def write(file: Path, record: dict[str, Any]) -> None:
    """Write a JSON file in one step: a run that is stopped leaves none behind that is half written."""
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_suffix(".part")
    part.write_text(json.dumps(record, indent=1) + "\n")
    part.replace(file)


def is_done(file: Path, limits: dict[str, int], retry: bool) -> bool:
    """Tell whether a cell has its result; refuse one that was made with other limits."""
    if not file.exists():
        return False
    record = json.loads(file.read_text())
    if any(record["settings"][name] != value for name, value in limits.items()):
        raise SystemExit(f"{file} was made with {record['settings']}, not with {limits}. Use another --out.")
    return not (retry and record["status"] == "failed")


def run_tables(arguments: argparse.Namespace) -> None:
    limits = {"max_train": arguments.max_train, "max_test": arguments.max_test}
    tables = {table.name: table for table in all_tables(arguments.tables)}
    builders = methods(arguments.ours_seconds)
    for split in splits_of(arguments.splits):
        for table in chosen(tables, arguments.only, "--only"):
            for method in chosen({name: name for name in builders}, arguments.methods, "--methods"):
                file = arguments.out / "tables" / table / f"{split}-{method}.json"
                if is_done(file, limits, arguments.retry_failed):
                    continue
                cell = run_cell(tables[table], split, method, builders[method], limits)
                write(file, cell)
                told = f"{cell['errors']['worst']:.1%}" if cell["status"] == "done" else cell["message"]
                print(f"{table} {split} {method}: {told}, {cell.get('seconds', 0):.1f} s", flush=True)


def run_ablation(arguments: argparse.Namespace) -> None:
    limits = {"max_train": arguments.max_train, "max_test": arguments.max_test}
    tables = {table.name: table for table in all_tables(arguments.tables)}
    for split in splits_of(arguments.splits):
        for name in chosen(tables, arguments.only, "--only"):
            file = arguments.out / "ablation" / name / f"{split}.json"
            if is_done(file, limits, retry=False):
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                cell = run_ablation_cell(*tables[name].divided(split, **limits), split)
            write(file, {"table": name, "split": split, "settings": limits, **cell, "provenance": provenance()})
            print(f"{name} {split} ablation: {cell['seconds']:.1f} s", flush=True)


def all_tables(file: Path | None) -> Iterator[Table]:
    yield from own_tables()
    if file is not None:
        yield from tables_of_file(file)


def splits_of(text: str) -> range:
    """Read first-last, or one number."""
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def chosen(known: dict[str, Any], names: str | None, option: str) -> list[str]:
    """Return the names that an option lists, or all; refuse unknown ones."""
    wanted = list(known) if names is None else names.split(",")
    if unknown := [name for name in wanted if name not in known]:
        raise SystemExit(f"{option}: unknown {', '.join(unknown)}. Known: {', '.join(known)}.")
    return wanted


# all


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder of the JSON files; the report is beside it")
    parser.add_argument("--part", choices=("tables", "ablation", "networks", "cost"), default="tables")
    parser.add_argument("--report-only", action="store_true", help="compute nothing; write the report")
    parser.add_argument("--tables", type=Path, help="npz file with further tables")
    parser.add_argument("--root", type=Path, help="networks: folder of the image data sets")
    parser.add_argument("--splits", default="0-4", help="splits, or draws of the networks part: first-last")
    parser.add_argument("--only", help="tables, separated by commas; all by default")
    parser.add_argument("--methods", help="methods, separated by commas; all by default")
    parser.add_argument("--max-train", type=int, default=3_000, help="training rows per table, at most")
    parser.add_argument("--max-test", type=int, default=10_000, help="test rows per table, at most")
    parser.add_argument("--ours-seconds", type=float, default=60.0, help="time limit of each fit of ours-trees")
    parser.add_argument("--retry-failed", action="store_true", help="run cells again that failed")
    parser.add_argument("--leave-out-largest", action="store_true", help="cost: no growth to 100,000 rows")
    parser.add_argument("--figure", type=Path, help="draw the errors by table into this file, too")
    parser.add_argument("--repeats", type=int, default=3, help="cost: runs of each comparison")
    parser.add_argument(
        "--undecided", "--held-out-tables", help="what no decision looked at: NAME, NAME:SPLIT, *:SPLIT"
    )
    arguments = parser.parse_args(words)
    if arguments.undecided is not None:
        write(arguments.out / UNDECIDED_FILE, {"undecided": [word for word in arguments.undecided.split(",") if word]})
    if not arguments.report_only:
        if arguments.part == "cost":
            run_cost(arguments.out / "cost", arguments.repeats, arguments.leave_out_largest, write, provenance)
        elif arguments.part == "ablation":
            run_ablation(arguments)
        elif arguments.part == "networks":
            problems = chosen({name: name for name in PROBLEMS}, arguments.only, "--only")
            names = chosen({name: name for name in NETWORK_METHODS}, arguments.methods, "--methods")
            draws = splits_of(arguments.splits)
            run_networks(arguments.out / "networks", problems, draws, names, arguments.root, write, provenance)
        else:
            run_tables(arguments)
    file = arguments.out.with_suffix(".md")
    file.write_text(report(arguments.out))
    print(file)
    if arguments.figure is not None:
        draw_figure(arguments.out, arguments.figure)
        print(arguments.figure)


if __name__ == "__main__":
    main()
