"""What an exported file says of its model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from worstclass._checks import plain
from worstclass._version import __version__
from worstclass.export.inputs import InputFormat
from worstclass.floors import Floors
from worstclass.wrappers.base import floors_of


def metadata_of(model: Any, inputs: InputFormat, certificate: Any = None) -> dict[str, str]:
    """Return the metadata of a file: text by name, lists and records as JSON.

    Parameters
    ----------
    model : the fitted model.
    inputs : what the file takes.
    certificate : a certificate, or its record as a mapping; None for that of a model that abstains, if it is one.
    """
    labels = [plain(label) for label in model.classes_.tolist()]
    values: dict[str, Any] = {"worstclass": __version__, "kind": _kind(model), "classes": labels}
    theta = floors_of(model)
    if theta is not None:
        floors = Floors.from_theta(theta, model.classes_).as_floats()
        values["floors"] = dict(zip(map(str, labels), floors, strict=True))
    if hasattr(model, "abstain_label_"):
        values |= {"abstain_label": plain(model.abstain_label_)}
        values["risk"] = dict(zip(map(str, labels), model.risk_, strict=True))
    if inputs.names is not None:
        values["columns"] = list(inputs.names)
    if (found := getattr(model, "certificate_", None) if certificate is None else certificate) is not None:
        values["certificate"] = dict(found) if isinstance(found, Mapping) else found.to_dict()
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in values.items()}


def _kind(model: Any) -> str:
    """Return the names of a model and of those that it is around, as ``WorstClassOffsets(WorstClassBooster)``."""
    inner = getattr(model, "estimator_", None)
    return type(model).__name__ if inner is None else f"{type(model).__name__}({_kind(inner)})"
