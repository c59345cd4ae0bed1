"""Values as JSON with side files, and back.

Plain values, lists and mappings with text keys are JSON as they are. Every other value is an object with one key that
starts with ``$`` and says what it is::

    {"$tuple": [1, 2]}                 {"$float": "inf"}               {"$fraction": "2/3"}
    {"$dict": [[0, 0.8], [1, 0.9]]}    {"$array": ["a", "b"], "dtype": "<U1", "shape": [2]}
    {"$array": "state.seen_rows_.training"}       a larger array, by its name in arrays.safetensors
    {"$tensor": {"$array": ...}}       a tensor of torch
    {"$record": "worstclass.metrics.ClassRow", "fields": {...}}                     a frozen dataclass of this package
    {"$estimator": "worstclass.learners.torch_learner.TorchLearner", "params": {...}}      parameters, nothing fitted
    {"$sklearn": 1}                    objects/0001.skops
    {"$model": "inner"}                a fitted estimator in a folder of its own: "inner", or 1 for parts/0001
    {"$members": 3, "suffix": "safetensors"}      members/0001.safetensors and so on
    {"$history": true}                 history.json

A parameter that cannot be stored, such as a function, is a ``NotStored`` record of its name.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, clone

from worstclass._state import Stateful
from worstclass.exceptions import ModelFormatError, ParameterError
from worstclass.learners.base import Member, WeakLearner
from worstclass.storage.kinds import RECORDS, UNFITTED, name_of
from worstclass.storage.members import (
    StoredWeights,
    read_arrays,
    read_sklearn,
    read_weights,
    require_file,
    write_sklearn,
    write_weights,
)

#: numeric arrays of more entries go to a file; smaller ones are easier to read in JSON
MOST_INLINE = 100
ARRAYS, HISTORY = "arrays.safetensors", "history.json"


@dataclass(frozen=True)
class NotStored:
    """Stands for a parameter that a model folder keeps by name only, such as an optimizer's factory.

    The model answers without it. To fit again, set the parameter anew.
    """

    name: str

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Refuse to stand in for a function."""
        raise ModelFormatError(
            f"{self.name} is not stored with the model. Set the parameter anew with set_params before fitting again."
        )


class Writer:
    """Turns the values of one estimator into JSON, and writes what JSON cannot hold beside it.

    Parameters
    ----------
    folder : where the side files go.
    write_model : writes a fitted estimator to a folder of its own, and returns the ``moved`` of its writer.
    """

    def __init__(self, folder: Path, write_model: Callable[[Any, Path], list[tuple[StoredWeights, Path]]]) -> None:
        self.folder = folder
        #: weights that were read from one file while they are written to another
        self.moved: list[tuple[StoredWeights, Path]] = []
        self._write_model = write_model
        self._arrays: dict[str, npt.NDArray[Any]] = {}
        self._n_objects = 0
        self._n_parts = 0
        self._in_params = 0

    def state(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return a fitted state for JSON; ``estimator_`` goes to ``inner/`` and ``history_`` to a file of its own."""
        state = {}
        for name, value in values.items():
            if name == "estimator_":
                state[name] = self._model(value, "inner")
            elif name == "history_":
                write_json(self.folder / HISTORY, self.encode(value, name), indent=None)
                state[name] = {"$history": True}
            else:
                state[name] = self.encode(value, f"state.{name}")
        return state

    def params(self, values: Mapping[str, Any], where: str = "params") -> dict[str, Any]:
        """Return parameters for JSON; callbacks are dropped, and so are random states that are no whole numbers."""
        self._in_params += 1
        encoded = {}
        for name, value in values.items():
            drop = name == "callbacks" or (name == "random_state" and not isinstance(value, int | np.integer))
            encoded[name] = None if drop else self.encode(value, f"{where}.{name}")
        self._in_params -= 1
        return encoded

    def close(self) -> None:
        """Write the arrays that were collected."""
        if self._arrays:
            from safetensors.numpy import save_file

            save_file(self._arrays, self.folder / ARRAYS)

    def encode(self, value: Any, where: str) -> Any:
        """Return a value for JSON; ``where`` names it in files and errors."""
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, bool | int | str):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else {"$float": repr(value)}
        if isinstance(value, Fraction):
            return {"$fraction": str(value)}
        if isinstance(value, Mapping):
            return self._mapping(value, where)
        if isinstance(value, list | tuple):
            return self._sequence(value, where)
        return self._object(value, where)

    def _mapping(self, value: Mapping[Any, Any], where: str) -> Any:
        if all(isinstance(key, str) and not key.startswith("$") for key in value):
            return {str(key): self.encode(item, f"{where}.{key}") for key, item in value.items()}
        pairs = enumerate(value.items())
        return {"$dict": [[self.encode(x, f"{where}.{number}") for x in pair] for number, pair in pairs]}

    def _sequence(self, value: Sequence[Any], where: str) -> Any:
        if value and all(isinstance(item, Member) for item in value):
            return self._members(value)
        items = [self.encode(item, f"{where}.{number}") for number, item in enumerate(value)]
        return {"$tuple": items} if isinstance(value, tuple) else items

    def _object(self, value: Any, where: str) -> Any:
        if isinstance(value, np.ndarray):
            return self._array(value, where)
        if _is_torch(value, "Tensor"):
            return {"$tensor": self._array(value.detach().cpu().numpy(), where)}
        if _is_torch(value, "device"):
            return str(value)
        if isinstance(value, Stateful) and not self._in_params:
            self._n_parts += 1
            return self._model(value, self._n_parts)
        if UNFITTED.holds(type(value)):
            return {"$estimator": name_of(value), "params": self.params(value.get_params(deep=False), where)}
        if _is_sklearn(value):
            return self._sklearn(value)
        if RECORDS.holds(type(value)):
            names = [item.name for item in fields(value) if item.init]
            encoded = {name: self.encode(getattr(value, name), f"{where}.{name}") for name in names}
            return {"$record": name_of(value), "fields": encoded}
        return self._not_storable(value, where)

    def _array(self, value: npt.NDArray[Any], where: str) -> Any:
        kind, size = value.dtype.kind, value.dtype.itemsize
        if kind not in "biufUO" or (kind == "f" and size > 8):
            return self._not_storable(value, where)
        if kind in "UO" or value.size <= MOST_INLINE:
            items = [self.encode(item, where) for item in value.ravel().tolist()]
            return {"$array": items, "dtype": value.dtype.str, "shape": list(value.shape)}
        native = np.ascontiguousarray(value, dtype=value.dtype.newbyteorder("="))
        while where in self._arrays:  # keys with dots can make two paths alike
            where += "'"
        self._arrays[where] = native
        return {"$array": where}

    def _sklearn(self, value: Any) -> Any:
        self._n_objects += 1
        file = object_file(self.folder, self._n_objects)
        file.parent.mkdir(exist_ok=True)
        write_sklearn(clone(value) if self._in_params and isinstance(value, BaseEstimator) else value, file)
        return {"$sklearn": self._n_objects}

    def _members(self, members: Sequence[Any]) -> Any:
        """Write one file a member; one member is in memory at a time."""
        suffix = "safetensors" if isinstance(members[0].state, dict) else "skops"
        (self.folder / "members").mkdir()
        for number, member in enumerate(members, start=1):
            file = member_file(self.folder, number, suffix)
            (write_weights if suffix == "safetensors" else write_sklearn)(member.state, file)
            if isinstance(source := getattr(member, "weights", None), StoredWeights):
                self.moved.append((source, file))
        return {"$members": len(members), "suffix": suffix}

    def _model(self, value: Any, name: str | int) -> Any:
        self.moved += self._write_model(value, model_folder(self.folder, name))
        return {"$model": name}

    def _not_storable(self, value: Any, where: str) -> Any:
        if self._in_params and not isinstance(value, WeakLearner):
            named = value if hasattr(value, "__qualname__") else type(value)
            return self.encode(NotStored(f"{getattr(named, '__module__', '')}:{named.__qualname__}"), where)
        hint = f"{where} cannot be stored without a pickle."
        raise ParameterError("model", "save_model", allowed="made of values that can be stored", got=value, hint=hint)


@dataclass
class Reader:
    """Turns what a ``Writer`` wrote into values again.

    Members come back as their states, from which the learner restores them.
    """

    folder: Path
    read_model: Callable[[Path], Any]
    module: Callable[..., Any] | None = None
    trusted: Sequence[str] = ()
    keep_in_memory: bool = True
    _read: dict[str, Callable[[Any], Any]] = field(init=False)

    def __post_init__(self) -> None:
        self._read = {
            "$tuple": lambda value: tuple(self.decode(value["$tuple"])),
            "$float": lambda value: float(value["$float"]),
            "$fraction": lambda value: Fraction(value["$fraction"]),
            "$dict": lambda value: {self.decode(key): self.decode(item) for key, item in value["$dict"]},
            "$array": self._array,
            "$tensor": lambda value: _tensor(self.decode(value["$tensor"])),
            "$record": self._record,
            "$estimator": self._estimator,
            "$sklearn": lambda value: read_sklearn(object_file(self.folder, value["$sklearn"]), self.trusted),
            "$model": lambda value: self.read_model(model_folder(self.folder, value["$model"])),
            "$members": self._members,
            "$history": lambda value: self.decode(read_json(self.folder / HISTORY)),
        }

    def decode(self, value: Any) -> Any:
        """Return the value that was encoded."""
        if isinstance(value, list):
            return [self.decode(item) for item in value]
        if not isinstance(value, dict):
            return value
        tag = next((key for key in value if key.startswith("$")), None)
        if tag is None:
            return {key: self.decode(item) for key, item in value.items()}
        if tag not in self._read:
            raise ModelFormatError(f"The model file has a value of an unknown kind, {tag!r}.")
        return self._read[tag](value)

    def _array(self, value: Mapping[str, Any]) -> npt.NDArray[Any]:
        if isinstance(value["$array"], str):
            return self._arrays[value["$array"]]
        dtype = np.dtype(value["dtype"])
        if dtype.kind not in "biufUO":
            raise ModelFormatError(f"The model file has an array of an unknown type, {value['dtype']!r}.")
        array = np.empty(len(value["$array"]), dtype=dtype)
        for place, item in enumerate(value["$array"]):
            array[place] = self.decode(item)
        return array.reshape(value["shape"])

    def _record(self, value: Mapping[str, Any]) -> Any:
        return RECORDS.named(value["$record"])(**self.decode(value["fields"]))

    def _estimator(self, value: Mapping[str, Any]) -> Any:
        kind = UNFITTED.named(value["$estimator"])
        params = self.decode(value["params"])
        if "module" in params:
            params["module"] = self._module(params["module"])
        return kind(**params)

    def _module(self, stored: Any) -> Any:
        if self.module is not None:
            return self.module
        if isinstance(stored, NotStored):
            raise ModelFormatError(
                f"The model was trained with a network of your own ({stored.name}), which is not stored with it. "
                "Pass its factory: load_model(path, module=factory), or --network package.module:callable."
            )
        return stored

    def _members(self, value: Mapping[str, Any]) -> list[Any]:
        suffix = value["suffix"]
        files = [member_file(self.folder, number, suffix) for number in range(1, int(value["$members"]) + 1)]
        for file in files:
            require_file(file)
        if suffix == "skops":
            return [read_sklearn(file, self.trusted) for file in files]
        return [read_weights(file) if self.keep_in_memory else StoredWeights(file.resolve()) for file in files]

    @cached_property
    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        return read_arrays(self.folder / ARRAYS)


def member_file(folder: Path, number: int, suffix: str) -> Path:
    """Return the file of a member."""
    if suffix not in ("safetensors", "skops"):
        raise ModelFormatError(f"The model file has members of an unknown kind, {suffix!r}.")
    return folder / "members" / f"{int(number):04d}.{suffix}"


def object_file(folder: Path, number: int) -> Path:
    """Return the file of a scikit-learn estimator that is part of a model."""
    return folder / "objects" / f"{int(number):04d}.skops"


def model_folder(folder: Path, name: str | int) -> Path:
    """Return the folder of a model within a model."""
    return folder / "inner" if name == "inner" else folder / "parts" / f"{int(name):04d}"


def read_json(file: Path) -> Any:
    """Read a JSON file of a model folder."""
    require_file(file)
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelFormatError(f"{file} cannot be read: {error}") from None


def write_json(file: Path, values: Any, *, indent: int | None = 1) -> None:
    """Write a JSON file of a model folder."""
    file.write_text(json.dumps(values, indent=indent, allow_nan=False) + "\n", encoding="utf-8")


def _tensor(array: npt.NDArray[Any]) -> Any:
    import torch

    return torch.from_numpy(array)


def _is_torch(value: Any, name: str) -> bool:
    """Return whether a value is of a class of torch, without importing torch."""
    return any(kind.__name__ == name and kind.__module__ == "torch" for kind in type(value).__mro__)


def _is_sklearn(value: Any) -> bool:
    """Return whether a value is an estimator, or another object of scikit-learn, such as a splitter."""
    if isinstance(value, WeakLearner | Stateful | type):
        return False
    return isinstance(value, BaseEstimator) or type(value).__module__.startswith("sklearn.")
