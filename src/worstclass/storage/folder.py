"""A model as a folder: JSON, safetensors and skops. Loading runs no pickled code.

::

    DIR/model.json       what the model is: parameters, classes, bound, how members are stored
    DIR/history.json     the record of every round
    DIR/learner.skops    the untrained classifier, for scikit-learn learners
    DIR/encoder.*        how X becomes inputs, where that has state
    DIR/row-hashes.npy   fingerprints of the rows trained and validated on, so that no certificate rests on them
    DIR/offsets.json     decision offsets, where the model has any; offsets-row-hashes.npy, the rows seen with them
    DIR/abstention.json  when it answers, where it abstains, and its certificate; abstention-row-hashes.npy likewise
    DIR/members/NNNN.*   one file a member: .safetensors for torch, .skops for scikit-learn

Nothing but ``history.json`` depends on how fast training went: the same seed gives the same ``model.json`` and the
same torch members, byte for byte. ``model.json`` is written last, so a folder that has it is complete.
"""

from __future__ import annotations

import importlib
import json
import shutil
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
import pydantic
from skops import io as skops_io

from worstclass._typing import FloatArray, IntArray
from worstclass._version import __version__
from worstclass.boosting.booster import WorstClassBooster
from worstclass.boosting.history import RoundRecord
from worstclass.data.seen_rows import Hashes
from worstclass.exceptions import ModelFormatError, ParameterError
from worstclass.floors import Floors, shortest_floor
from worstclass.learners.base import Member
from worstclass.learners.sklearn_learner import SklearnEncoder, SklearnLearner, SklearnMember
from worstclass.wrappers.abstention import AbstainingClassifier
from worstclass.wrappers.offsets import WorstClassOffsets

if TYPE_CHECKING:
    from worstclass.learners.torch_inputs import TorchEncoder, TorchInputs
    from worstclass.learners.torch_learner import TorchLearner, TorchMember, TorchRuntime

#: rebuilt from a .skops file without being asked for, besides what skops trusts and scikit-learn's own classes.
#: Functions are never trusted by their package: one that runs a string could hide in a transformer.
TRUSTED = (
    "functools.partial",
    "numpy.dtype",
    "sklearn.utils.validation.check_array",
    "worstclass.learners.binning.QuantileGrid",
)

#: where the losses, weighting rules and augmentations live that a model may name
OWN_KINDS = ("worstclass.losses.", "worstclass.data.augmentation")

#: files of a model besides model.json and its members
OWN_FILES = (
    "history.json",
    "learner.skops",
    "encoder.skops",
    "encoder.safetensors",
    "row-hashes.npy",
    "offsets.json",
    "offsets-row-hashes.npy",
    "abstention.json",
    "abstention-row-hashes.npy",
)
OFFSETS = "offsets.json"
ABSTENTION = "abstention.json"

#: what can be saved
Model = WorstClassBooster | WorstClassOffsets | AbstainingClassifier
BOOSTER_PARAMETERS = (
    "gamma",
    "n_rounds",
    "max_epochs_per_round",
    "patience",
    "weighting",
    "extend",
    "on_unmet_edge",
    "max_epochs",
    "max_seconds",
    "select_on",
)


Card = TypeVar("Card", bound=pydantic.BaseModel)


class ModelCard(pydantic.BaseModel):
    """The contents of ``model.json``."""

    model_config = pydantic.ConfigDict(extra="forbid")

    format: Literal["worstclass-model"] = "worstclass-model"
    format_version: Literal[1] = 1
    worstclass: str = __version__
    kind: Literal["torch", "sklearn"]
    classes: list[Any]
    class_dtype: str
    theta: list[str]
    theta_per_class: bool
    booster: dict[str, Any]
    learner: dict[str, Any]
    random_state: int | None
    row_shape: list[int] | None
    n_features_in: int | None
    column_kinds: list[Literal["number", "text"] | None] | None = None
    training_rows_known: bool = True
    feature_names_in: list[str] | None
    fitted_gamma: float
    fitted_n_rounds: int
    fitted_eta: float
    n_members: int
    n_members_used: int
    bound_met: bool


def save_model(model: Model, path: str | Path) -> Path:
    """Write a fitted booster, with offsets and abstaining or without, to a folder, in place of the model there.

    Parameters
    ----------
    model : a fitted booster; ``WorstClassOffsets`` around one; or ``AbstainingClassifier`` around either.
    path : the folder; made where it does not exist. Other files in it are left alone.
    """
    answering = getattr(model, "estimator_", None) if isinstance(model, AbstainingClassifier) else model
    booster = getattr(answering, "estimator_", None) if isinstance(answering, WorstClassOffsets) else answering
    if not isinstance(booster, WorstClassBooster) or not hasattr(booster, "estimators_"):
        raise ParameterError(
            "model",
            "save_model",
            allowed="a fitted WorstClassBooster, or a fitted WorstClassOffsets or AbstainingClassifier around one",
            got=model,
            hint="What is around a scikit-learn classifier is stored as such classifiers are: skops, joblib or pickle.",
        )
    folder = Path(path)
    staging = folder / ".saving"
    shutil.rmtree(staging, ignore_errors=True)
    (staging / "members").mkdir(parents=True)
    store: TorchStore | SklearnStore
    store = SklearnStore(staging) if isinstance(booster.learner_, SklearnLearner) else TorchStore(staging)
    store.write(booster)
    records = [record.to_dict() for record in booster.history_]
    _write_json(staging / "history.json", records)
    if booster.row_hashes_ is not None:
        np.save(staging / "row-hashes.npy", booster.row_hashes_, allow_pickle=False)
    _write_json(staging / "model.json", _card(booster, store).model_dump())
    _replace_model(folder, staging)
    return folder


def load_model(
    path: str | Path,
    *,
    module: Callable[..., Any] | None = None,
    trusted: Sequence[str] = (),
    keep_in_memory: bool = True,
) -> Model:
    """Read a model from a folder that ``save_model`` wrote, as what it was: a booster, or what was around one.

    Parameters
    ----------
    path : the folder.
    module : the factory of the network, where the model was trained with one of the user's own. It is never looked up
        from what the file says, since that would run code a file chose.
    trusted : names of types outside scikit-learn that a scikit-learn model may be rebuilt from.
    keep_in_memory : read all members now. With False each is read when it votes, so that one network is in memory
        at a time; the folder must then stay where it is.
    """
    folder = Path(path)
    card = _read_card(folder)
    store = TorchStore(folder) if card.kind == "torch" else SklearnStore(folder)
    booster = store.read(card, module=module, trusted=trusted, keep_in_memory=keep_in_memory)
    booster.classes_ = np.array(card.classes, dtype=np.dtype(card.class_dtype))
    theta: list[Any] = [shortest_floor(Fraction(text)) for text in card.theta]
    booster.theta = dict(zip(card.classes, theta, strict=True)) if card.theta_per_class else theta[0]
    booster.theta_ = tuple(float(floor) for floor in theta)
    booster.gamma_, booster.n_rounds_, booster.eta_ = card.fitted_gamma, card.fitted_n_rounds, card.fitted_eta
    booster.n_members_used_ = card.n_members_used
    if card.n_features_in is not None:
        booster.n_features_in_ = card.n_features_in
    booster._column_kinds = None if card.column_kinds is None else tuple(card.column_kinds)
    if card.feature_names_in is not None:
        booster.feature_names_in_ = np.array(card.feature_names_in, dtype=object)
    booster.history_ = tuple(RoundRecord.from_dict(values) for values in _read_json(folder / "history.json"))
    booster.n_epochs_ = sum(record.epochs for record in booster.history_)
    booster.row_hashes_ = _read_hashes(folder / "row-hashes.npy")
    if not card.training_rows_known:
        booster.training_rows_known_ = False
    booster._report()
    model: Model = booster
    return model


def _write_card(folder: Path, name: str, card: pydantic.BaseModel, row_hashes: Hashes | None) -> None:
    """Write what is around a booster, and the fingerprints of the rows seen with it."""
    _write_json(folder / name, card.model_dump())
    if row_hashes is not None:
        np.save(folder / f"{Path(name).stem}-row-hashes.npy", row_hashes, allow_pickle=False)


def _hashes_beside(file: Path) -> Hashes | None:
    return _read_hashes(file.with_name(f"{file.stem}-row-hashes.npy"))


def _card(booster: WorstClassBooster, store: TorchStore | SklearnStore) -> ModelCard:
    seed = booster.random_state
    names = getattr(booster, "feature_names_in_", None)
    return ModelCard(
        kind=store.kind,
        classes=booster.classes_.tolist(),
        class_dtype=booster.classes_.dtype.str,
        theta=[str(floor) for floor in Floors.from_theta(booster.theta, booster.classes_).theta],
        theta_per_class=isinstance(booster.theta, Mapping),
        booster={name: _plain(getattr(booster, name)) for name in BOOSTER_PARAMETERS},
        learner=store.learner_values(booster.learner_),
        random_state=int(seed) if isinstance(seed, int | np.integer) else None,
        row_shape=store.row_shape(booster),
        n_features_in=getattr(booster, "n_features_in_", None),
        column_kinds=None if booster._column_kinds is None else list(booster._column_kinds),
        training_rows_known=getattr(booster, "training_rows_known_", True),
        feature_names_in=None if names is None else [str(name) for name in names],
        fitted_gamma=booster.gamma_,
        fitted_n_rounds=booster.n_rounds_,
        fitted_eta=booster.eta_,
        n_members=len(booster.estimators_),
        n_members_used=booster.n_members_used_,
        bound_met=booster.bound_met_,
    )


@dataclass(frozen=True)
class SklearnStore:
    """Members that are scikit-learn classifiers."""

    folder: Path
    kind: Literal["sklearn"] = "sklearn"

    def write(self, booster: WorstClassBooster) -> None:
        """Write the untrained classifier, the fitted steps before it, and the members."""
        assert isinstance(booster.encoder_, SklearnEncoder)
        skops_io.dump(booster.learner_.estimator, self.folder / "learner.skops")
        if booster.encoder_.steps is not None:
            skops_io.dump(booster.encoder_.steps, self.folder / "encoder.skops")
        for number, member in enumerate(booster.estimators_, start=1):
            assert isinstance(member, SklearnMember)
            skops_io.dump(member.estimator, _member_file(self.folder, number, "skops"))

    def read(self, card: ModelCard, *, module: Any, trusted: Sequence[str], keep_in_memory: bool) -> WorstClassBooster:
        """Read a booster; ``module`` has no meaning here, and members are always kept in memory."""
        estimator = self._load(self.folder / "learner.skops", trusted)
        booster = WorstClassBooster(SklearnLearner(estimator, **card.learner), 0.0, **card.booster)
        booster.random_state = card.random_state
        booster.learner_ = booster.learner
        steps = self.folder / "encoder.skops"
        booster.encoder_ = SklearnEncoder(self._load(steps, trusted) if steps.exists() else None)
        files = [_member_file(self.folder, number, "skops") for number in range(1, card.n_members + 1)]
        booster.estimators_ = [SklearnMember(self._load(file, trusted)) for file in files]
        return booster

    def learner_values(self, learner: Any) -> dict[str, Any]:
        """Return the parameters of the learner that go into ``model.json``."""
        return {"bootstrap": learner.bootstrap, "resample": learner.resample, "grow": learner.grow}

    def row_shape(self, booster: WorstClassBooster) -> None:
        """Tables have no row shape beyond their number of columns."""

    @staticmethod
    def _load(file: Path, trusted: Sequence[str]) -> Any:
        if not file.is_file():
            raise ModelFormatError(f"The model folder lacks {file.name}. Copy the whole folder, or save it again.")
        try:
            unknown = skops_io.get_untrusted_types(file=file)
        except (zipfile.BadZipFile, KeyError, ValueError) as error:
            raise ModelFormatError(f"{file.name} cannot be read: {error}") from None
        refused = [name for name in unknown if name not in (*TRUSTED, *trusted) and not _is_sklearn_class(name)]
        if refused:
            raise ModelFormatError(
                f"{file.name} holds what is not a class of scikit-learn: {refused}. If you know where the file comes "
                f"from, allow them: load_model(path, trusted={refused})."
            )
        return skops_io.load(file, trusted=unknown)


@dataclass(frozen=True)
class TorchStore:
    """Members that are states of one torch network."""

    folder: Path
    kind: Literal["torch"] = "torch"

    def write(self, booster: WorstClassBooster) -> None:
        """Write the scaling of columns, where there is one, and the members."""
        from safetensors.torch import save_file

        encoder: TorchEncoder = booster.encoder_  # type: ignore[assignment]
        if encoder.mean is not None and encoder.std is not None:
            save_file({"mean": encoder.mean, "std": encoder.std}, self.folder / "encoder.safetensors")
        for number, member in enumerate(booster.estimators_, start=1):
            state = {name: value.contiguous() for name, value in member.state.items()}  # type: ignore[attr-defined]
            save_file(state, _member_file(self.folder, number, "safetensors"))

    def read(
        self,
        card: ModelCard,
        *,
        module: Callable[..., Any] | None,
        trusted: Sequence[str],
        keep_in_memory: bool,
    ) -> WorstClassBooster:
        """Read a booster; ``trusted`` has no meaning here."""
        from safetensors.torch import load_file

        from worstclass.learners.torch_inputs import TorchEncoder
        from worstclass.learners.torch_learner import TorchLearner

        options = {name: _restored(value) for name, value in card.learner.items()}
        learner = TorchLearner(**{**options, "module": self._module(card, module)})
        booster = WorstClassBooster(learner, 0.0, **card.booster)
        booster.random_state = card.random_state
        booster.learner_ = learner
        scaling = self.folder / "encoder.safetensors"
        mean_std = load_file(scaling) if scaling.exists() else {}
        encoder = TorchEncoder(tuple(card.row_shape or ()), learner.num_workers, **mean_std)
        booster.encoder_ = encoder
        runtime = learner.runtime(encoder, len(card.classes))
        members = [
            StoredMember(runtime, _member_file(self.folder, number, "safetensors"))
            for number in range(1, card.n_members + 1)
        ]
        booster.estimators_ = [member.in_memory() for member in members] if keep_in_memory else list(members)
        _require_fit(runtime, members[0])
        return booster

    def learner_values(self, learner: TorchLearner) -> dict[str, Any]:
        """Return the parameters of the learner that go into ``model.json``; a callable goes in by name."""
        values = learner.get_params(deep=False)
        return {name: _stored(value) for name, value in values.items()}

    def row_shape(self, booster: WorstClassBooster) -> list[int]:
        """Return the shape of one row."""
        return list(booster.encoder_.row_shape)  # type: ignore[attr-defined]

    @staticmethod
    def _module(card: ModelCard, module: Callable[..., Any] | None) -> Any:
        name = card.learner.get("module")
        if module is not None:
            return module
        if not isinstance(name, str) or name.startswith("callable "):
            raise ModelFormatError(
                f"The model was trained with a network of your own ({name}), which is not stored with it. "
                "Pass its factory: load_model(path, module=factory), or --network package.module:callable."
            )
        return name


@dataclass(frozen=True, eq=False)
class StoredMember(Member):
    """A torch member that stays on disk and is read when it votes."""

    runtime: TorchRuntime
    file: Path

    @property
    def state(self) -> Any:
        """The state, read from the file."""
        return self.in_memory().state

    def in_memory(self) -> TorchMember:
        """Return the member with its state read."""
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        from worstclass.learners.torch_learner import TorchMember

        try:
            return TorchMember(self.runtime, load_file(self.file))
        except (OSError, SafetensorError) as error:
            raise ModelFormatError(f"The member {self.file.name} cannot be read: {error}") from None

    def predict(self, inputs: TorchInputs) -> IntArray:
        """Return the class index of each row."""
        return self.in_memory().predict(inputs)

    def probabilities(self, inputs: TorchInputs) -> FloatArray:
        """Return the softmax of the logits of each row, shape (n, K)."""
        return self.in_memory().probabilities(inputs)


def _require_fit(runtime: TorchRuntime, member: StoredMember) -> None:
    """Refuse a network whose weights are not those of the stored members."""
    ours = {name: tuple(value.shape) for name, value in runtime.module.state_dict().items()}
    theirs = {name: tuple(value.shape) for name, value in member.state.items()}
    if ours != theirs:
        raise ModelFormatError(
            "The network does not fit the stored members: names or shapes of its weights differ. "
            "Pass the factory (and module_options) that the model was trained with."
        )


def _replace_model(folder: Path, staging: Path) -> None:
    """Put a complete new model in the place of the old one; ``model.json`` goes first and comes last."""
    (folder / "model.json").unlink(missing_ok=True)
    shutil.rmtree(folder / "members", ignore_errors=True)
    for name in OWN_FILES:
        (folder / name).unlink(missing_ok=True)
    for file in sorted(staging.iterdir(), key=lambda file: file.name == "model.json"):
        file.rename(folder / file.name)
    staging.rmdir()


def _is_sklearn_class(name: str) -> bool:
    module, _, attribute = name.rpartition(".")
    if not module.startswith("sklearn."):
        return False
    try:
        return isinstance(getattr(importlib.import_module(module), attribute, None), type)
    except ImportError:
        return False


def _member_file(folder: Path, number: int, suffix: str) -> Path:
    return folder / "members" / f"{number:04d}.{suffix}"


def _read_card(folder: Path) -> ModelCard:
    file = folder / "model.json"
    if not file.is_file():
        raise ModelFormatError(f"{folder} is not a model folder: it has no model.json. Pass the folder given to --out.")
    return _validated(ModelCard, file)


def _validated(kind: type[Card], file: Path) -> Card:
    try:
        return kind.model_validate(_read_json(file))
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "contents"
        raise ModelFormatError(f"{file} is not of this version: {where}: {first['msg']}.") from None


def _read_hashes(file: Path) -> Hashes | None:
    """Map the fingerprints; None where the model has none."""
    if not file.is_file():
        return None
    try:
        hashes = np.load(file, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise ModelFormatError(f"{file} cannot be read: {error}") from None
    if hashes.dtype != np.uint64 or hashes.ndim != 1:
        raise ModelFormatError(f"{file} does not hold fingerprints of rows. Save the model again, or remove the file.")
    return np.asarray(hashes)


def _read_json(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelFormatError(f"{file} cannot be read: {error}") from None


def _write_json(file: Path, values: Any) -> None:
    file.write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")


def _named(value: Any) -> str:
    return f"callable {getattr(value, '__module__', '')}:{getattr(value, '__qualname__', type(value).__name__)}"


def _stored(value: Any) -> Any:
    """Return a parameter for JSON: our own losses, weighting rules and augmentations by kind and options."""
    if is_dataclass(value) and type(value).__module__.startswith(OWN_KINDS):
        options = {field.name: _stored(getattr(value, field.name)) for field in fields(value)}
        return {"kind": f"{type(value).__module__}:{type(value).__qualname__}", "options": options}
    if isinstance(value, tuple):
        return [_stored(item) for item in value]
    return _named(value) if callable(value) else _plain(value)


def _restored(value: Any) -> Any:
    """Undo ``_stored``; only frozen dataclasses of our own are ever built, from options that are plain values."""
    if isinstance(value, list):
        return [_restored(item) for item in value]
    if not isinstance(value, dict) or set(value) != {"kind", "options"}:
        return value
    module, _, name = str(value["kind"]).partition(":")
    try:
        kind = getattr(importlib.import_module(module), name) if module.startswith(OWN_KINDS) else None
    except (ImportError, AttributeError):
        kind = None
    if not (isinstance(kind, type) and is_dataclass(kind) and kind.__module__ == module):
        raise ModelFormatError(f"model.json names a loss or augmentation that is not one of ours: {value['kind']!r}.")
    return kind(**{option: _restored(item) for option, item in value["options"].items()})


def _plain(value: Any) -> Any:
    """Return a value that JSON keeps; tuples come back as lists."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value
