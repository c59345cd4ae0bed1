"""How many members of a vote can be left out, and what that does to new rows: the balanced squares.

    python benchmarks/compact.py --json docs/results/compact.json --models FOLDER

Each draw is boosted as worstclass does it by default (a fresh network every round, rounds added while the vote misses
the bound), then compacted twice: as ``compact`` does it by default, and with ``drift=1``, the fewest members at any
price. Votes of as many members drawn at random show what the choice is worth. The test rows are 5,000 a class, and no
choice looks at them. A booster is kept in the folder of models and not fitted again; a draw that is in the JSON file is
not run again. The default of ``drift`` was chosen on draws 20 to 23.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
import warnings
from pathlib import Path

import numpy as np

from worstclass import TorchLearner, WorstClassBooster, compact, load_dataset, load_model, save_model
from worstclass.boosting.compaction import DRIFT
from worstclass.boosting.vote import VoteTally
from worstclass.data.splits import Part
from worstclass.experiments.run import Provenance
from worstclass.metrics import ClassReport, class_report

THETA, GAMMA, LR, N_TEST, N_RANDOM = 0.75, 0.0995, 0.01, 5_000, 20
LIMITS = {"default": DRIFT, "fewest": 1.0}


def run_draw(draw: int, models: Path) -> dict:
    """Boost or load one draw, and compact it; return the record."""
    splits = load_dataset("artificial-balanced", seed=draw, n_test=N_TEST)
    booster = fitted(draw, splits.train, models)
    answers, classes = member_answers(booster, splits.test.X), booster.classes_
    everyone = list(range(booster.n_members_used_))
    whole = vote(answers, everyone, splits.test.y, classes)
    record = {
        "data": {"name": "artificial-balanced", "draw": draw, "n_train": 100, "n_test": N_TEST},
        "settings": {"theta": THETA, "gamma": GAMMA, "lr": LR, "drift": LIMITS},
        "seed": draw,
        "provenance": Provenance.collect().model_dump(),
        "n_members": len(everyone),
        "bound_met": booster.bound_met_,
        "training": booster.training_report_.to_dict(),
        "test": whole[1].to_dict(),
    }
    for name, drift in LIMITS.items():
        started = time.perf_counter()
        smaller = compact(booster, splits.train.X, splits.train.y, drift=drift)
        seconds = time.perf_counter() - started
        kept = [found.round - 1 for found in smaller.history_]
        winners, report = vote(answers, kept, splits.test.y, classes)
        record[name] = {
            "n_members": len(kept),
            "drift": smaller.compaction_.drift,
            "training_rows_changed": smaller.compaction_.n_changed,
            "bound_met": smaller.bound_met_,
            "training": smaller.training_report_.to_dict(),
            "test": report.to_dict(),
            "test_changed": float(np.mean(winners != whole[0])),
            "seconds": seconds,
        }
    record["random"] = random_votes(answers, record["default"]["n_members"], splits.test.y, classes, whole, draw)
    return record


def fitted(draw: int, train: Part, models: Path) -> WorstClassBooster:
    """Return the booster of a draw, from the folder of models if it is there."""
    folder = models / f"model-{draw}"
    if not (folder / "model.json").is_file():
        learner = TorchLearner("mlp", lr=LR, start="fresh")
        booster = WorstClassBooster(learner, THETA, gamma=GAMMA, extend=True, patience=1000, random_state=draw)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            booster.fit(train.X, train.y)
        save_model(booster, folder)
    return load_model(folder)


def member_answers(booster: WorstClassBooster, X: np.ndarray) -> np.ndarray:
    """Ask every member about every row, shape (members, rows)."""
    inputs = booster.encoder_.encode(X)
    return np.stack([member.predict(inputs).astype(np.int8) for member in booster.estimators_])


def vote(answers: np.ndarray, members: list[int], y: np.ndarray, classes: np.ndarray) -> tuple[np.ndarray, ClassReport]:
    """Let members vote; return the winners and their report."""
    tally = VoteTally(answers.shape[1], len(classes))
    for member in members:
        tally.add(answers[member].astype(np.int64))
    return tally.winners, class_report(y, classes[tally.winners])


def random_votes(
    answers: np.ndarray,
    size: int,
    y: np.ndarray,
    classes: np.ndarray,
    whole: tuple[np.ndarray, ClassReport],
    seed: int,
) -> dict:
    """Let random members vote, as many as ``compact`` keeps, several times."""
    rng = np.random.default_rng(seed)
    found = [vote(answers, sorted(rng.choice(len(answers), size, replace=False)), y, classes) for _ in range(N_RANDOM)]
    return {
        "n_votes": N_RANDOM,
        "test_worst_errors": [report.worst_error for _, report in found],
        "test_changed": float(np.mean([np.mean(winners != whole[0]) for winners, _ in found])),
    }


def summary(records: list[dict]) -> str:
    """Write a table of the draws, and the means."""
    head = ["draw", "members", "worst class", "kept", "worst class", "rows changed"]
    head += ["fewest", "worst class", "rows changed", "random: distance", "rows changed"]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for record in records:
        cells = [record["seed"], record["n_members"], f"{record['test']['worst_error']:.1%}"]
        for name in LIMITS:
            found = record[name]
            cells += [found["n_members"], f"{found['test']['worst_error']:.1%}", f"{found['test_changed']:.1%}"]
        cells += [f"{100 * distance(record, 'random'):.1f}", f"{record['random']['test_changed']:.1%}"]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    moved = [record["default"]["test"]["worst_error"] - record["test"]["worst_error"] for record in records]
    sizes = [record["default"]["n_members"] / record["n_members"] for record in records]
    met = sum(record["default"]["bound_met"] == record["bound_met"] for record in records)
    lines += [
        f"\nShare of the members kept: {statistics.mean(sizes):.1%}. Bound as before in {met} of {len(records)} draws.",
        f"Worst-class test error after - before: mean {100 * statistics.mean(moved):+.2f} points.",
        "Mean distance in points:",
        *(
            f"- {name}: {100 * statistics.mean(distance(record, name) for record in records):.2f}"
            for name in (*LIMITS, "random")
        ),
    ]
    return "\n".join(lines)


def distance(record: dict, name: str) -> float:
    """Return how far the worst-class test error is from that of the whole vote; of random votes the mean."""
    found = record[name]
    errors = found["test_worst_errors"] if name == "random" else [found["test"]["worst_error"]]
    return statistics.mean(abs(error - record["test"]["worst_error"]) for error in errors)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--models", type=Path, required=True, help="folder for the boosters, about 0.8 GB a draw")
    parser.add_argument("--draws", default="0-4", help="first-last")
    arguments = parser.parse_args()
    first, last = map(int, arguments.draws.split("-"))
    records = json.loads(arguments.json.read_text()) if arguments.json.is_file() else []
    for draw in range(first, last + 1):
        if draw not in [record["seed"] for record in records]:
            records.append(run_draw(draw, arguments.models))
            arguments.json.write_text(json.dumps(records, indent=1) + "\n")
    print(summary(records))


if __name__ == "__main__":
    main()
