"""Values as JSON with side files, and back.

Plain values, lists and mappings with text keys are JSON as they are. Every other value is an object with one key that
starts with ``$`` and says what it is::

    {"$tuple": [1, 2]}                 {"$float": "inf"}               {"$fraction": "2/3"}
    {"$dict": [[0, 0.8], [1, 0.9]]}    {"$array": ["a", "b"], "dtype": "<U1", "shape": [2]}
    {"$array": "0001"}                 a larger array, by its name in arrays.safetensors
    {"$tensor": {"$array": ...}}       a tensor of torch; with "dtype": "bfloat16" if it is one of those
    {"$record": "worstclass.metrics.ClassRow", "fields": {...}}                     a frozen dataclass of this package
    {"$estimator": "worstclass.learners.torch_learner.TorchLearner", "params": {...}}      parameters, nothing fitted
    {"$sklearn": 1}                    objects/0001.skops
    {"$model": "inner"}                a fitted estimator in a folder of its own: "inner", or 1 for parts/0001
    {"$members": 3, "suffix": "safetensors"}      members/0001.safetensors and so on
    {"$history": true}                 history.json

A parameter that cannot be stored, such as a function, is a ``NotStored`` record of its name.
"""

from __future__ import annotations

import importlib
import math
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, clone

from worstclass._checks import optional_packages
from worstclass._state import Stateful
from worstclass.exceptions import ModelFormatError, ParameterError
from worstclass.learners.base import Member, WeakLearner
from worstclass.storage import files
from worstclass.storage.files import class_named, is_record, is_unfitted, name_of
from worstclass.storage.seal import CARD, HISTORY, REMEDY, require_sealed

#: numeric arrays of more entries go to a file; smaller ones are easier to read in JSON
MOST_INLINE = 100
#: bytes that an array in JSON may take: text of a few letters can be declared as wide as one likes
MOST_INLINE_BYTES = 256 << 20
ARRAYS = "arrays.safetensors"

#: the forms in which types of arrays, fractions and floats that JSON lacks are written
DTYPE = re.compile(r"[<>|](b1|[iuf][1248]|O|U\d{1,9})")
FRACTION = re.compile(r"-?\d+(/\d+)?")
FLOATS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


@dataclass(frozen=True)
class NotStored:
    """Stands for a parameter that a model folder keeps by name only, such as a network's or an optimizer's factory.

    Only a network of the fitted model needs it to answer. To fit again, set the parameter anew.
    """

    name: str

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Refuse to stand in for a function."""
        raise ModelFormatError(
            f"The model was trained with a function of your own ({self.name}), which is not stored with it. If it "
            "builds the network, pass it: load_model(path, module=factory), or --network path/to/net.py:build. To fit "
            "again, set the parameter anew with set_params."
        )


class Writer:
    """Turns the values of one estimator into JSON, and writes what JSON cannot hold beside it.

    Parameters
    ----------
    folder : where the side files go.
    write_model : writes a fitted estimator to a folder of its own.
    """

    def __init__(self, folder: Path, write_model: Callable[[Any, Path], None]) -> None:
        self.folder = folder
        self._write_model = write_model
        self._arrays: dict[str, npt.NDArray[Any]] = {}
        self._n_objects = 0
        self._n_parts = 0
        self._in_params = 0
        self.history: Any = None

    def state(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return a fitted state for JSON; ``estimator_`` goes to ``inner/`` and ``history_`` to a file of its own."""
        state = {}
        for name, value in values.items():
            if name == "estimator_":
                state[name] = self._model(value, "inner")
            elif name == "history_":
                self.history = self.encode(value, name)
                files.write_json(self.folder / HISTORY, self.history, indent=None)
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
            files.write_tensors(self._arrays, self.folder / ARRAYS, "numpy")

    def encode(self, value: Any, where: str) -> Any:
        """Return a value for JSON; ``where`` names it in errors."""
        match value.item() if isinstance(value, np.generic) else value:
            case None | bool() | int() | str() as plain:
                return plain
            case float() as number:
                return number if math.isfinite(number) else {"$float": repr(number)}
            case Fraction():
                return {"$fraction": str(value)}
            case Mapping() if all(isinstance(key, str) and not key.startswith("$") for key in value):
                return {str(key): self.encode(item, f"{where}.{key}") for key, item in value.items()}
            case Mapping():
                return {"$dict": [[self.encode(x, where) for x in pair] for pair in value.items()]}
            case [Member(), *_]:
                return self._members(value)
            case list() | tuple():
                items = [self.encode(item, f"{where}.{number}") for number, item in enumerate(value)]
                return {"$tuple": items} if isinstance(value, tuple) else items
            case np.ndarray():
                return self._array(value, where)
            case Stateful() if not self._in_params:
                self._n_parts += 1
                return self._model(value, self._n_parts)
        return self._object(value, where)

    def _object(self, value: Any, where: str) -> Any:
        torch = sys.modules.get("torch")  # a value of torch is here only where torch is
        if torch is not None and isinstance(value, torch.Tensor):
            plain = value.detach().cpu()
            if plain.dtype == torch.bfloat16:  # numpy has none
                return {"$tensor": self._array(plain.view(torch.int16).numpy(), where), "dtype": "bfloat16"}
            return {"$tensor": self._array(plain.numpy(), where)}
        if torch is not None and isinstance(value, torch.device):
            return str(value)
        if is_unfitted(type(value)):
            return {"$estimator": name_of(value), "params": self.params(value.get_params(deep=False), where)}
        if is_record(type(value)):
            names = [item.name for item in fields(value) if item.init]
            encoded = {name: self.encode(getattr(value, name), f"{where}.{name}") for name in names}
            return {"$record": name_of(value), "fields": encoded}
        if _is_sklearn(value):
            self._n_objects += 1
            unfitted = clone(value) if self._in_params and isinstance(value, BaseEstimator) else value
            files.write_sklearn(unfitted, self.folder / numbered("objects", self._n_objects, ".skops"))
            return {"$sklearn": self._n_objects}
        return self._not_storable(value, where)

    def _array(self, value: npt.NDArray[Any], where: str) -> Any:
        kind, size = value.dtype.kind, value.dtype.itemsize
        if kind not in "biufUO" or (kind == "f" and size > 8):
            return self._not_storable(value, where)
        if kind in "UO" or value.size <= MOST_INLINE:
            items = [self.encode(item, where) for item in value.ravel().tolist()]
            return {"$array": items, "dtype": value.dtype.str, "shape": list(value.shape)}
        name = f"{len(self._arrays) + 1:04d}"
        self._arrays[name] = np.ascontiguousarray(value, dtype=value.dtype.newbyteorder("="))
        return {"$array": name}

    def _members(self, members: Sequence[Any]) -> Any:
        """Write one file per member; one member is in memory at a time."""
        suffix = "safetensors" if isinstance(members[0].state, dict) else "skops"
        if suffix == "skops" and not _is_sklearn(members[0].state):
            return self._not_storable(members[0].state, "A member")
        for number, member in enumerate(members, start=1):
            file = self.folder / numbered("members", number, f".{suffix}")
            (files.write_sklearn if suffix == "skops" else files.write_tensors)(member.state, file)
        return {"$members": len(members), "suffix": suffix}

    def _model(self, value: Any, name: str | int) -> Any:
        self._write_model(value, self.folder / model_folder(name))
        return {"$model": name}

    def _not_storable(self, value: Any, where: str) -> Any:
        if self._in_params and not isinstance(value, WeakLearner):
            named = value if hasattr(value, "__qualname__") else type(value)
            return self.encode(NotStored(f"{getattr(named, '__module__', '')}:{named.__qualname__}"), where)
        hint = f"{where} cannot be stored without a pickle."
        if hasattr(value, "get_params") and not isinstance(value, BaseEstimator | WeakLearner):  # catboost
            hint += " Use a classifier of scikit-learn, xgboost or lightgbm, or pickle the fitted model yourself."
        raise ParameterError("model", "save_model", allowed="made of values that can be stored", got=value, hint=hint)


@dataclass
class Reader:
    """Turns what a ``Writer`` wrote into values again.

    Members come back as their states, from which the learner restores them.

    Parameters
    ----------
    folder : where the side files are.
    read_model : reads a fitted estimator from a folder of its own.
    module, trusted, keep_in_memory : as for ``load_model``.
    listed : the checksums of the side files by name, None for one that is not known. Other files are refused, and each
        is read once, as it was written once: a small file cannot ask for the same large one many times. None for a
        folder without such a list.
    seal : the checksum that ``history.json`` must name; None for a history without one.
    """

    folder: Path
    read_model: Callable[[Path], Any]
    module: Callable[..., Any] | None = None
    trusted: Sequence[str] = ()
    keep_in_memory: bool = True
    listed: dict[str, str | None] | None = None
    seal: str | None = None

    def decode(self, value: Any) -> Any:
        """Return the value that was encoded."""
        if isinstance(value, list):
            return [self.decode(item) for item in value]
        if not isinstance(value, dict):
            return value
        tag = next((key for key in value if key.startswith("$")), None)
        if tag is None:
            return {key: self.decode(item) for key, item in value.items()}
        if tag not in DECODERS:
            raise ModelFormatError(f"The model file has a value of an unknown kind, {tag[:100]!r}.")
        return DECODERS[tag](self, value[tag], value)

    def array(self, items: Any, value: Mapping[str, Any]) -> npt.NDArray[Any]:
        """Return an array that is in the JSON itself, or in the file of arrays by its name."""
        if isinstance(items, str):
            return self._arrays[items]
        dtype = np.dtype(_written(DTYPE, value["dtype"], "an array of an unknown type"))
        if len(items) * dtype.itemsize > MOST_INLINE_BYTES:
            raise ModelFormatError(f"The model file has an array of {len(items)} entries of the type {dtype}.")
        array = np.empty(len(items), dtype=dtype)
        for place, item in enumerate(items):
            array[place] = self.decode(item)
        return array.reshape(value["shape"])

    def tensor(self, array: Any, value: Mapping[str, Any]) -> Any:
        """Return a tensor of torch."""
        with optional_packages("This model"):
            torch = importlib.import_module("torch")
        tensor = torch.tensor(self.decode(array))
        return tensor.view(torch.bfloat16) if value.get("dtype") == "bfloat16" else tensor

    def estimator(self, name: str, value: Mapping[str, Any]) -> Any:
        """Return an estimator or learner that is not fitted."""
        params = self.decode(value["params"])
        if self.module is not None and isinstance(params.get("module"), NotStored):
            params["module"] = self.module
        return class_named(name, is_unfitted)(**params)

    def member(self, number: int, suffix: str) -> Any:
        """Return the state of a member, or for weights that stay on disk a function that reads it."""
        if suffix not in ("safetensors", "skops"):
            raise ModelFormatError(f"The model file has members of an unknown kind, {suffix!r}.")
        name = numbered("members", number, f".{suffix}")
        if suffix == "skops":
            return self.sklearn(name)
        file, digest = self.take(name)
        files.require_file(file)
        if self.keep_in_memory:
            return files.read_tensors(file, digest=digest)
        return partial(files.read_tensors, file, digest=digest)

    def sklearn(self, name: str) -> Any:
        """Return an object of scikit-learn."""
        file, digest = self.take(name)
        return files.read_sklearn(file, self.trusted, digest)

    def model(self, name: str | int) -> Any:
        """Return a model inside this one."""
        file, digest = self.take(f"{model_folder(name)}/{CARD}")
        files.require_whole(file, digest)
        return self.read_model(file.parent)

    def history(self) -> Any:
        """Return the record of training, if it is that of this model."""
        file, digest = self.take(HISTORY)
        found = files.read_json(file, digest)
        if self.seal is not None:
            require_sealed(found, file)
            if found["model"] != self.seal:
                raise ModelFormatError(f"{file} belongs to another model. {REMEDY}")
            found = found["records"]
        return self.decode(found)

    def take(self, name: str) -> tuple[Path, str | None]:
        """Return where a side file is, and its checksum; each can be taken once."""
        if self.listed is not None and name not in self.listed:
            raise ModelFormatError(f"{self.folder / CARD} asks for {name}, which it does not list, or for it twice.")
        return files.current_file(self._folder, name), None if self.listed is None else self.listed.pop(name)

    @cached_property
    def _folder(self) -> Path:
        """The folder itself, wherever a link to it may lead later."""
        return self.folder.resolve()

    @cached_property
    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        file, digest = self.take(ARRAYS)
        return files.read_tensors(file, "numpy", digest)


#: tag -> value, from the reader, what stands under the tag, and the whole object
DECODERS: dict[str, Callable[[Reader, Any, Any], Any]] = {
    "$tuple": lambda reader, items, _: tuple(reader.decode(items)),
    "$float": lambda reader, number, _: FLOATS[number],
    "$fraction": lambda reader, number, _: Fraction(_written(FRACTION, number, "a fraction of an unknown form")),
    "$dict": lambda reader, pairs, _: {reader.decode(key): reader.decode(item) for key, item in pairs},
    "$array": Reader.array,
    "$tensor": Reader.tensor,
    "$record": lambda reader, name, value: class_named(name, is_record)(**reader.decode(value["fields"])),
    "$estimator": Reader.estimator,
    "$sklearn": lambda reader, n, _: reader.sklearn(numbered("objects", n, ".skops")),
    "$model": lambda reader, name, _: reader.model(name),
    "$members": lambda reader, n, value: [reader.member(k, value["suffix"]) for k in range(1, int(n) + 1)],
    "$history": lambda reader, _, __: reader.history(),
}


def numbered(kind: str, number: Any, suffix: str = "") -> str:
    """Return the name of a side file or folder of a model by its number, such as ``members/0001.skops``."""
    return f"{kind}/{int(number):04d}{suffix}"


def model_folder(name: str | int) -> str:
    """Return the name of the folder of a model within a model."""
    return "inner" if name == "inner" else numbered("parts", name)


def _written(form: re.Pattern[str], text: Any, otherwise: str) -> str:
    """Return a text that has a form; refuse another."""
    if not isinstance(text, str) or not form.fullmatch(text):
        raise ModelFormatError(f"The model file has {otherwise}, {repr(text)[:100]}.")
    return text


def _is_sklearn(value: Any) -> bool:
    """Return whether a value is an estimator, or another object of scikit-learn, such as a splitter."""
    if isinstance(value, WeakLearner | Stateful):
        return False
    return isinstance(value, BaseEstimator) or type(value).__module__.startswith("sklearn.")
