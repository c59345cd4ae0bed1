"""Every method under the same rules: the same splits, network, optimizer, budget and choice on validation rows."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from worstclass.boosting.hedge import resolve_gamma
from worstclass.data.facts import NamedDataset
from worstclass.data.sources import Source
from worstclass.data.splits import Splits
from worstclass.exceptions import ParameterError
from worstclass.experiments.cells import CellResult
from worstclass.experiments.grid import Entry, Grid, run_grids
from worstclass.experiments.significance import SeedsChange
from worstclass.floors import Floors
from worstclass.methods import Method, build_method, find_method, list_methods


@dataclass(frozen=True)
class ComparisonPlan:
    """What is compared, and under which rules.

    Attributes
    ----------
    data : name of the data.
    methods : names of the methods.
    seeds : each is a draw or split of the data and a random start of every method.
    max_epochs, max_seconds : budget of each training, as for ``build_method``.
    network, learner : the network and the options of ``TorchLearner`` that all networks share.
    theta : floors, for the methods that need any. The others aim at the worst class, by which methods are ranked.
    gamma : for the methods whose number of rounds follows from it.
    select_on : the validation error that chooses, ``"worst"`` or ``"average"``.
    seeds_change : what another seed changes in the data, as ``seeds_change`` says; it decides how differences between
        methods are tested.
    data_settings : what else fixes the data, such as shares and checksums.
    own : entries of the user, beside those of the methods.
    """

    data: str
    methods: tuple[str, ...]
    seeds: tuple[int, ...]
    max_epochs: int | None = None
    max_seconds: float | None = None
    network: Any = "mlp"
    learner: Mapping[str, Any] = field(default_factory=dict)
    theta: float | Mapping[Any, float] | None = None
    gamma: float | str = "auto"
    select_on: str = "worst"
    seeds_change: SeedsChange = "resplits"
    data_settings: Mapping[str, Any] = field(default_factory=dict)
    own: tuple[Entry, ...] = ()

    def grid(self, load: Callable[[int], Splits]) -> Grid:
        """Return all entries on the seeds; ``load`` returns the splits of a seed."""
        entries = [Entry(name, self._settings(name), partial(self.build, name)) for name in self.methods]
        settings = {"seeds_change": self.seeds_change, **self.data_settings}
        return Grid(self.data, load, [*entries, *self.own], self.seeds, settings)

    def build(self, name: str, seed: int) -> Any:
        """Build the classifier of a method."""
        method = find_method(name)
        return build_method(
            method.name,
            self.network,
            learner=self.learner,
            theta=self.theta if method.needs_theta else None,
            max_epochs=None if method.kind == "any" else self.max_epochs,  # its networks are not those of the others
            max_seconds=self.max_seconds,
            select_on=self.select_on,
            random_state=seed,
            **self.options(method),
        )

    def options(self, method: Method) -> dict[str, Any]:
        """Return the options of a method in this comparison."""
        return {**method.options, **({"gamma": self.gamma} if _has_rounds(method) else {})}

    def _settings(self, name: str) -> dict[str, Any]:
        method = find_method(name)
        settings: dict[str, Any] = {"budget": {"epochs": self.max_epochs, "seconds": self.max_seconds}}
        settings |= {"select_on": self.select_on, "options": self.options(method)}
        if method.kind == "network":
            settings |= {"network": _name(self.network), "learner": dict(self.learner)}
            settings |= {} if isinstance(self.network, str) else source_hash(self.network, "network_sha256")
        if method.needs_theta:
            settings["theta"] = self.theta
        return settings


def seeds_change(data: NamedDataset | Source) -> SeedsChange:
    """Tell what another seed changes in the rows, by the facts of a named data set or the parts of one's own data.

    Returns
    -------
    ``"draws"`` if all rows are drawn anew, ``"fixed-test"`` if the data has a test part of its own, and
    ``"resplits"`` if training and test rows are cut from the same rows.

    Examples
    --------
    >>> from worstclass.data.registry import named_dataset
    >>> [seeds_change(named_dataset(name)) for name in ("artificial-balanced", "iris", "cifar10")]
    ['draws', 'resplits', 'fixed-test']
    """
    if isinstance(data, Source):
        return "fixed-test" if "test" in data.parts else "resplits"
    if "test" not in data.counts:
        return "resplits"
    return "draws" if data.built_in else "fixed-test"


def contents_hash(path: str | Path) -> str:
    """Return the SHA-256 of a file's contents; of a folder, that of the names and sizes of all files in it."""
    path = Path(path)
    if path.is_file():
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    files = sorted(file for file in path.rglob("*") if file.is_file())
    listing = "\n".join(f"{file.relative_to(path).as_posix()} {file.stat().st_size}" for file in files)
    return hashlib.sha256(listing.encode()).hexdigest()


def source_hash(factory: Any, key: str) -> dict[str, str]:
    """Return the SHA-256 of the file that a function or class is written in, under a key; nothing without a file."""
    try:  # a class in a file that is run, not imported, is found by its constructor
        file = inspect.getsourcefile(vars(factory).get("__init__", factory) if isinstance(factory, type) else factory)
    except TypeError:
        return {}
    return {key: contents_hash(file)} if file and Path(file).is_file() else {}


def check_plan(plan: ComparisonPlan, example: Splits) -> None:
    """Refuse settings that no training could use, before anything runs: one message, not a failure in every cell."""
    methods = [find_method(name) for name in plan.methods]
    for method in methods:
        method.require()
    classes = np.unique(example.train.y)
    if any(map(_has_rounds, methods)):
        resolve_gamma(plan.gamma, len(classes), owner="compare")
    if plan.theta is not None:
        Floors.from_theta(plan.theta, classes, owner="compare")
    if any(method.kind == "network" for method in methods):
        from worstclass.learners.torch_learner import TorchLearner

        TorchLearner(plan.network, **plan.learner).try_out(example.train.X, len(classes))


def methods_for(names: Sequence[str], example: Splits) -> tuple[str, ...]:
    """Check the names of methods; ``all`` stands for every installed method, for images for those of the network."""
    if list(names) != ["all"]:
        for name in names:
            find_method(name, "methods")
        if not names or len(set(names)) != len(names):
            raise ParameterError("methods", "compare", allowed="'all', or names, each once", got=list(names))
        return tuple(names)
    flat = getattr(example.train.X, "ndim", 2) <= 2
    suited = [method for method in list_methods() if flat or method.kind == "network"]
    if not (installed := tuple(method.name for method in suited if method.is_installed)):
        suited[0].require()
    return installed


def run_comparison(
    plan: ComparisonPlan,
    load: Callable[[int], Splits],
    folder: Path,
    progress: Callable[[str], None] | None = None,
    *,
    n_jobs: int | None = None,
    cluster: str | None = None,
    overwrite: bool = False,
) -> list[CellResult]:
    """Run the cells that are not in the folder yet; a method that fails is recorded, and the others go on.

    Parameters
    ----------
    plan : what is compared.
    load : function from a seed to its splits, with test rows.
    folder, progress, n_jobs, cluster, overwrite : as for ``run_cells``.
    """
    return run_grids([plan.grid(load)], folder, progress, n_jobs=n_jobs, cluster=cluster, overwrite=overwrite)


def _has_rounds(method: Method) -> bool:
    """Tell whether the number of rounds follows from gamma: all such methods get the plan's gamma."""
    return bool(method.options.get("gamma") == "auto")


def _name(network: Any) -> str:
    """Return the name of a network in settings and commands."""
    return network if isinstance(network, str) else f"{network.__module__}:{network.__qualname__}"
