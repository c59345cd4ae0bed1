"""Names that the shell completes; files are left to the shell."""

from __future__ import annotations

from collections.abc import Callable, Iterable


def _names(known: Callable[[], Iterable[str]], *, with_commas: bool = False) -> Callable[[str], list[str]]:
    """Return a completer of names; with commas, of the last name of a list."""

    def complete(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",") if with_commas else ("", "", incomplete)
        taken = before.split(",")
        return [before + comma + name for name in known() if name.startswith(last) and name not in taken]

    return complete


def _datasets() -> Iterable[str]:
    from worstclass.data.registry import DATASETS

    return DATASETS


def _methods() -> Iterable[str]:
    from worstclass.methods import list_methods

    return [method.name for method in list_methods()]


def _networks() -> Iterable[str]:
    from worstclass.networks import list_networks

    return list_networks()


def _targets() -> Iterable[str]:
    from worstclass.experiments.paper import TARGETS

    return [*TARGETS, "all"]


datasets = _names(_datasets)
method = _names(_methods)
methods = _names(_methods, with_commas=True)
networks = _names(_networks)
targets = _names(_targets)
