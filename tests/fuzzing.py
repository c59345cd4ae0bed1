"""Fuzzing of everything that reads files: spoiled and made-up inputs give our own errors, without a hang or a crash.

    python tests/fuzzing.py                             10,000 inputs for each target, in a process of its own
    python tests/fuzzing.py --examples 300 csv idx      fewer, for some of them

A process may use 2 GiB more memory than it starts with, and ends if one input takes 60 seconds.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import fuzz_data
import fuzz_models
from fuzz_target import TARGETS
from hypothesis import HealthCheck, Phase, given, seed, settings

from worstclass.exceptions import WorstClassError

MEMORY, SECONDS = 2 << 30, 60
assert fuzz_data.__name__, fuzz_models.__name__  # importing them entered their targets


def fuzz(name: str, examples: int, number: int, folder: Path) -> dict[str, Any]:
    """Try one target; return counts, and findings by where they came from."""
    folder.mkdir(parents=True)
    target = TARGETS[name](folder)
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (size, resource.getrlimit(resource.RLIMIT_AS)[1]))
    counts, findings = {"inputs": 0, "refused": 0}, {}
    started, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    def one(value: Any) -> None:
        counts["inputs"] += 1
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        try:
            target.read(value)
        except WorstClassError:
            counts["refused"] += 1
        except Exception as error:
            where = [f"{frame.filename}:{frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)]
            place = [line for line in where if "/worstclass/" in line] or where
            findings.setdefault(f"{type(error).__name__} at {place[-1]}", f"{error!r:.300} from {value!r:.900}")
        finally:
            faulthandler.cancel_dump_traceback_later()

    @seed(number)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(target.inputs)
    def run(value: Any) -> None:
        one(value)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for sample in target.samples:
            one(sample)
        run()
    more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024
    seconds = round(time.perf_counter() - started, 1)
    return {"target": name, **counts, "seconds": seconds, "more_mb": more, "findings": findings}


def inside(names: list[str], examples: int, number: int, folder: Path) -> None:
    """Try targets in this process; print a line of JSON for each."""
    faulthandler.enable()
    limits = resource.getrlimit(resource.RLIMIT_AS)
    for name in names:
        print(json.dumps({"starting": name}), flush=True)
        print(json.dumps(fuzz(name, examples, number, folder / name)), flush=True)
        resource.setrlimit(resource.RLIMIT_AS, limits)


def in_child(names: list[str], examples: int, number: int = 0) -> list[dict[str, Any]]:
    """Try targets in one other process; what ends that process is a finding, too."""
    folder = Path(tempfile.mkdtemp(prefix="fuzzing-"))
    options = ["--examples", str(examples), "--seed", str(number), "--inside", str(folder)]
    done = subprocess.run([sys.executable, __file__, *names, *options], capture_output=True, text=True, check=False)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    records = [line for line in lines if "target" in line]
    if done.returncode == 0:
        shutil.rmtree(folder)
        return records
    at = next((line["starting"] for line in reversed(lines) if "starting" in line), "nothing")
    what = {f"ended with {done.returncode}": f"{done.stderr[-3000:]}\nThe files it read are in {folder / at}"}
    return [*records, {"target": at, "inputs": 0, "refused": 0, "seconds": 0, "more_mb": 0, "findings": what}]


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", default=list(TARGETS), help=f"some of {', '.join(TARGETS)}")
    parser.add_argument("--examples", type=int, default=10_000, help="inputs of each target")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        inside(options.targets, options.examples, options.seed, options.inside)
        return 0
    found = 0
    print("| target | inputs | refused | findings | seconds | MB more |\n|---|---|---|---|---|---|")
    for name in options.targets:
        for record in in_child([name], options.examples, options.seed):
            found += len(record["findings"])
            cells = [record["target"], *(f"{record[key]:,}" for key in ("inputs", "refused"))]
            cells += [str(len(record["findings"])), f"{record['seconds']:.0f}", f"{record['more_mb']:,}"]
            print(f"| {' | '.join(cells)} |", flush=True)
            for where, what in record["findings"].items():
                print(f"  {where}\n    {what}", flush=True)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
