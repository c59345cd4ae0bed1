"""MODEL on the command line: build one for DATA, open one, and write one with its results."""

from __future__ import annotations

import json
import pkgutil
import runpy
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from worstclass.cli.console import OptionError, refuse_given
from worstclass.cli.data import Data, Rows
from worstclass.cli.options import BoosterOptions, DataOptions, NetworkOptions
from worstclass.cli.settings import write_settings
from worstclass.data.splits import Part, Splits
from worstclass.exceptions import DatasetError, ParameterError
from worstclass.experiments.run import Provenance
from worstclass.methods import Method, build_method, find_method
from worstclass.storage import load_model, results_folder, save_model

if TYPE_CHECKING:
    from worstclass.experiments.grid import Entry

#: parts of a data set that a certificate may rest on, the best first
HELD_OUT = ("cal", "test", "all")
#: the certificate of a model among its results
CERTIFICATE = "certificate.json"
#: categories that a column may have before it is taken for one of names, ids or dates
MOST_CATEGORIES = 255


def default_method(options: NetworkOptions) -> str:
    """Return the method of ``fit``: ``auto``, or ``auto+network`` if the user chose a network."""
    return "auto+network" if options.network else "auto"


def default_booster(data: Data, X: Any, network: str | None) -> str:
    """Return our booster: over networks, or over gradient-boosted trees for a table."""
    return "ours" if network or _is_images(X) or data.settings.get("learner") else "ours-trees"


def network_options(data: Data, X: Any, options: NetworkOptions) -> dict[str, Any]:
    """Return the options of ``TorchLearner``: the paper's for a named data set, then those of the user."""
    default: dict[str, Any] = {"module": "cnn-small"} if _is_images(X) else {"module": "mlp", "standardize": True}
    chosen = dict(data.settings.get("learner") or default)
    if options.network is not None:
        chosen["module"] = network_factory(options.network)
    return {**chosen, **options.learner()}


def build_estimator(name: str, data: Data, X: Any, options: BoosterOptions, **more: Any) -> Any:
    """Build the estimator of a method for the training rows X of DATA.

    ``options`` are what the user set for networks and boosters, refused where the method has no use for them; ``more``
    are further parameters of ``build_method``, the method's own options (``--set``) among them.
    """
    method, given = find_method(name), options.booster()
    learner: dict[str, Any] = {"module": "mlp"}
    _refuse_unsuited(method, X)
    if method.kind == "network":
        learner = network_options(data, X, options)
    else:
        unused = [*options.learner(), *(["network"] if options.network else [])]
        why = f"the method {name} trains no network."
        if method.kind == "any":
            advice = "--method auto+network" if options.network else "--method auto+network --network NAME"
            why = f"the method {name} takes no options for a network. Use {advice}."
        refuse_given(unused, why)
    if "n_rounds" in method.options:
        paper = data.settings.get("booster", {})
        given = {key: value for key, value in paper.items() if key in method.options} | given
    else:
        hint = f" Set the options of the method with --set: {', '.join(method.options)}." if method.options else ""
        hint += f" To boost, use --method {default_booster(data, X, options.network)}."
        refuse_given(given, f"{name} is not a boosting method.{hint}")
    return build_method(name, learner.pop("module"), learner=learner, **{**given, **more})


def _is_images(X: Any) -> bool:
    return getattr(X, "ndim", 2) > 2


def _refuse_unsuited(method: Method, X: Any) -> None:
    """Refuse images for a table's method, and text columns that tell nearly every row apart (names, ids, dates)."""
    if method.kind == "table" and _is_images(X):
        raise OptionError(f"--method {method.name} cannot be used here: it takes tables, and the data are images.")
    columns = getattr(X, "columns", ())
    many = [name for name in columns if X[name].dtype == "category" and X[name].nunique() > MOST_CATEGORIES]
    if many:
        raise DatasetError(
            f"Columns of text with more than {MOST_CATEGORIES} different values: {many}. Leave them out with "
            "--ignore if they are names, ids or dates, or turn them into numbers."
        )


def network_factory(network: str) -> Any:
    """Return a network's name as it is; import ``package.module:build`` or ``path/to/net.py:build``."""
    if ":" not in network and not network.endswith(".py"):
        return network
    return import_factory(network, "--network", "a network's name, package.module:build or path/to/net.py:build")


def import_factory(text: str, option: str, allowed: str) -> Any:
    """Import ``package.module:build`` or ``path/to/file.py:build``.

    Modules are looked for in the current folder first, and those beside a file in its folder.
    """
    where, _, name = text.rpartition(":") if ":" in text else (text, "", "")
    is_file, hint = where.endswith(".py"), ""
    if not name:
        raise ParameterError(option, "the command", allowed=allowed, got=text, hint="Name a function after the file.")
    sys.path.insert(0, str(Path(where).resolve().parent if is_file else Path.cwd()))
    try:  # a file is not kept as a module, so that workers get its functions by value
        names = runpy.run_path(where, run_name=where) if is_file else {name: pkgutil.resolve_name(text)}
        if name not in names:
            raise AttributeError(f"{where} has no {name!r}")
        factory = names[name]
        if callable(factory):
            return factory
        allowed = "a function"
    except Exception as error:  # the user's module can fail in any way
        hint = f"{type(error).__name__}: {error}."
    finally:
        sys.path.pop(0)
    raise ParameterError(option, "the command", allowed=allowed, got=text, hint=hint)


def own_methods(text: str) -> tuple[tuple[Entry, ...], list[str]]:
    """Divide names with commas between them into entries of the user, ``+path/to/file.py:factory``, and other names."""
    from worstclass.experiments.grid import own_entry
    from worstclass.experiments.plan import contents_hash, source_hash

    names = [name.strip() for name in text.split(",") if name.strip()]
    own = []
    for given in (name[1:] for name in names if name.startswith("+")):
        where, _, name = given.rpartition(":")
        factory = import_factory(given, "--methods", "+path/to/file.py:factory or +package.module:factory")
        is_file, key = where.endswith(".py"), "factory_sha256"  # not that of the data, which is sha256
        hashed = {key: contents_hash(where)} if is_file else source_hash(factory, key)
        own.append(own_entry(name, factory, {"factory": f"{Path(where).name}:{name}", **hashed}))
    return tuple(own), [name for name in names if not name.startswith("+")]


def open_model(folder: Path, network: str | None) -> Any:
    """Read a model; one member is in memory at a time."""
    return load_model(folder, module=None if network is None else network_factory(network), keep_in_memory=False)


def open_with_rows(folder: Path, data: Any, wanted: Sequence[str] = HELD_OUT) -> tuple[Any, Rows]:
    """Read a model, and the first of the wanted parts of DATA."""
    model = open_model(folder, data.network)
    return model, Data.open(data).rows(model, wanted)


def exit_code(verdict: str | None) -> int:
    """Return 0 for a certificate that is proven, 1 for one that is not, and 2 where it cannot be judged."""
    return {"proven": 0, "not proven": 1}.get(verdict or "", 2)


def write_model(model: Any, folder: Path, results: Mapping[str, Any]) -> Path:
    """Write a model in place of the one in the folder, with its results and no others; return their folder.

    Parameters
    ----------
    model : a fitted estimator.
    folder : the model folder; made if it does not exist.
    results : file name -> JSON values, or text.
    """
    place = results_folder(save_model(model, folder))
    place.mkdir()
    for name, values in results.items():
        text = values if isinstance(values, str) else json.dumps(values, indent=1) + "\n"
        (place / name).write_text(text, encoding="utf-8")
    write_settings(place)
    return place


def write_report(model: Any, folder: Path, rows: Part, name: str, *, fresh: bool = False) -> Path:
    """Write what the page shows of these rows, and the page; return its file. The page begins with ``fresh`` rows."""
    from worstclass.cli.progress import busy
    from worstclass.experiments.details import DETAILS, Details
    from worstclass.report.page import write_page

    with busy("asking about rows for the report"):
        details = Details.of(model, rows, name).model_copy(update={"fresh": fresh})
    (results_folder(folder) / DETAILS).write_text(details.model_dump_json() + "\n", encoding="utf-8")
    return write_page(folder)


def rows_name(rows: Rows, data: Any) -> str:
    """Say which rows these are."""
    return f"rows of {Path(data.data).name}" if rows.name == "all" else f"{rows.name} rows"


def newest_part(splits: Splits) -> tuple[Part, str]:
    """Return the rows that say most about new rows, and their name: test, else validation, else training rows."""
    parts = {"test rows": splits.test, "validation rows": splits.val, "training rows": splits.train}
    return next((part, name) for name, part in parts.items() if part is not None)


def made_by(data: DataOptions, seed: int, rows: Rows | None = None, /, **settings: Any) -> dict[str, Any]:
    """Return what every result says of how it was made: data, settings, seed and provenance."""
    drawn = {} if rows is None else {"part": rows.name, "rows": len(rows), "available": rows.available}
    left_out = {"ignore": ignored} if (ignored := getattr(data, "ignore", None)) else {}
    described = {"name": Path(data.data).name, "target": data.target, **left_out, **drawn}
    return {"data": described, "settings": settings, "seed": seed, "provenance": Provenance.collect().model_dump()}
