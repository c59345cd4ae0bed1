"""A fitted estimator as a folder: JSON, safetensors and skops. Loading runs no pickled code.

::

    DIR/model.json           kind, parameters, fitted state, and the checksums of all files
    DIR/history.json         the record of every round or epoch, where there is one
    DIR/arrays.safetensors   large arrays, such as fingerprints of the rows that the model has seen
    DIR/objects/NNNN.skops   scikit-learn estimators that are part of the state or of the parameters
    DIR/members/NNNN.*       one file per member: .safetensors for torch, .skops for scikit-learn
    DIR/model.skops          the model itself, where it is a scikit-learn classifier
    DIR/inner/, parts/NNNN/  the classifier that a wrapper is around, and other fitted parts, as such folders
    DIR/results/             results about this model: reports, certificates, figures

Only ``history.json`` depends on how fast training went: the same model gives the same other files, byte for byte.

A new model is written to ``.saving/`` and waited for until it is on the disk. Renaming that to ``.saved/`` makes it the
model of the folder: whatever happens before leaves the old one, whatever happens after the new one. Then its files move
to their places, and a reader looks for them in ``.saved/`` first. A save that was interrupted there is finished by the
next one.

An estimator can be saved once it lists its fitted attributes in ``state_names`` (see ``worstclass._state``); nothing
here knows it by name.
"""

from __future__ import annotations

import copy
import shutil
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from worstclass._state import Stateful
from worstclass._version import __version__
from worstclass.exceptions import MissingPackageError, ModelFormatError, ParameterError
from worstclass.learners.base import WeakLearner
from worstclass.storage import files
from worstclass.storage.codec import ARRAYS, Reader, Writer
from worstclass.storage.files import SAVED, current_file
from worstclass.storage.seal import (
    CARD,
    HISTORY,
    SEAL,
    checksums,
    names_of,
    require_names,
    require_sealed,
    sealed,
    sync_files,
    sync_folder,
)

FORMAT = "worstclass-model"
#: 2 had no checksums
FORMAT_VERSION, OLD_VERSION = 3, 2
#: the kind of a model that is a scikit-learn classifier, and its attribute that is kept beside it
SKLEARN, SEEN = "sklearn", "seen_rows_"

SKLEARN_FILE, RESULTS, STAGING = "model.skops", "results", ".saving"
#: everything that belongs to a model; ``model.json`` is the last to take its place
OWN = (HISTORY, ARRAYS, SKLEARN_FILE, "members", "objects", "inner", "parts", RESULTS, CARD)


def save_model(model: Any, path: str | Path) -> Path:
    """Write a fitted model to a folder, in place of the model there and of the results about that one.

    Parameters
    ----------
    model : a fitted estimator of worstclass, or a fitted scikit-learn classifier or pipeline.
    path : the folder; made if it does not exist. Files that belong to no model are left alone.

    Returns
    -------
    The folder.

    Notes
    -----
    Not stored are ``callbacks``, a ``random_state`` that is no whole number, and functions of your own: a network's
    factory is passed to ``load_model`` again; others, such as an optimizer's, are needed only to fit again.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from worstclass import WorstClassBooster, load_model, save_model
    >>> X, y = load_iris(return_X_y=True)
    >>> model = WorstClassBooster(DecisionTreeClassifier(), theta=0.9, random_state=0).fit(X, y)
    >>> with TemporaryDirectory() as folder:
    ...     again = load_model(save_model(model, folder))
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """
    folder = Path(path)
    require_own(folder)
    is_new, staging = not folder.exists(), folder / STAGING
    shutil.rmtree(staging, ignore_errors=True)
    try:
        write_part(model, staging)
        sync_files(staging)
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        if is_new and folder.is_dir():
            folder.rmdir()
        raise
    _move_in(folder)  # what an interrupted save has left; weights that stay on disk are read from there before
    staging.rename(folder / SAVED)
    sync_folder(folder)
    _move_in(folder)
    return folder


def load_model(
    path: str | Path,
    *,
    module: Callable[..., Any] | None = None,
    trusted: Sequence[str] = (),
    keep_in_memory: bool = True,
) -> Any:
    """Read a model from a folder that ``save_model`` wrote.

    Parameters
    ----------
    path : the folder.
    module : the factory of the network, if the model was trained with one of your own. It is not stored.
    trusted : names of types outside of scikit-learn that members or steps of a pipeline may be made of.
    keep_in_memory : False leaves torch members on disk; each is read when it answers, one at a time. The files must
        stay where they are: load the model again after its folder was written anew.

    Returns
    -------
    The fitted estimator. The ``estimator`` of a wrapper is its fitted ``estimator_``.
    """
    return read_part(Path(path), module=module, trusted=tuple(trusted), keep_in_memory=keep_in_memory)


def results_folder(path: str | Path) -> Path:
    """Return the folder for results about the model in a folder: ``save_model`` removes it with the model."""
    return Path(path) / RESULTS


def write_part(model: Any, folder: Path) -> None:
    """Write one model, and those inside it."""
    _require_fitted(model)
    folder.mkdir(parents=True)
    writer = Writer(folder, write_part)
    card: dict[str, Any] = {"format": FORMAT, "format_version": FORMAT_VERSION, "worstclass": __version__}
    if files.is_estimator(type(model)):
        fitted, params = model.state(), model.get_params(deep=False)
        if "estimator_" in fitted:  # the estimator to fit is that in inner/, and is not stored twice
            params.pop("estimator", None)
        card |= {"kind": files.name_of(model), "params": writer.params(params), "state": writer.state(fitted)}
    else:
        plain = copy.copy(model)
        seen = vars(plain).pop(SEEN, None)  # not of scikit-learn's own: `worstclass fit` sets it
        files.write_sklearn(plain, folder / SKLEARN_FILE)
        card |= {"kind": SKLEARN, "params": {}, "state": {} if seen is None else writer.state({SEEN: seen})}
    writer.close()
    card = sealed({**card, "files": checksums(folder)})
    files.write_json(folder / CARD, card)
    if writer.history is not None:
        history = sealed({"model": card[SEAL], "records": writer.history})
        files.write_json(folder / HISTORY, history, indent=None)


def read_part(folder: Path, **options: Any) -> Any:
    """Read one model, and those inside it."""
    card = _read_card(folder)
    try:
        listed, seal = _listed(card, folder), card.get(SEAL)
        reader = Reader(folder, partial(read_part, **options), **options, listed=listed, seal=seal)
        kind = None if card.get("kind") == SKLEARN else files.class_named(card.get("kind"), files.is_estimator)
        params, state = reader.decode(card["params"]), reader.decode(card["state"])
        if unknown := [name for name in state if name not in ((SEEN,) if kind is None else kind.state_names)]:
            raise ValueError(f"{unknown} is not of its state")
        if kind is None:
            model = reader.sklearn(SKLEARN_FILE)
            if SEEN in state:
                model.seen_rows_ = state[SEEN]
            return model
        if "estimator_" in state:
            params["estimator"] = state["estimator_"]
        return kind.from_state(params, state)
    except (MissingPackageError, ModelFormatError, MemoryError):
        raise
    except Exception as error:  # a card that was made up can fail in any way
        what = f"{type(error).__name__}: {error}"
        raise ModelFormatError(f"{folder / CARD} does not describe a fitted model: {what[:1000]}") from error


def _read_card(folder: Path) -> Mapping[str, Any]:
    file = current_file(folder, CARD)
    if not file.is_file():
        if (folder / STAGING).is_dir():
            raise ModelFormatError(
                f"{folder} has no complete model: saving it was interrupted. Save it again, or run the command again."
            )
        raise ModelFormatError(f"{folder} is not a model folder: it has no model.json. Pass the folder given to --out.")
    card = files.read_json(file)
    if not isinstance(card, dict) or card.get("format") != FORMAT:
        raise ModelFormatError(f"{file} is not a model of worstclass.")
    version = card.get("format_version")
    if version not in (FORMAT_VERSION, OLD_VERSION):
        raise ModelFormatError(
            f"{file} has format_version {repr(version)[:100]}; this version of worstclass reads {FORMAT_VERSION}. Fit "
            "the model again, or install the version of worstclass that wrote it."
        )
    if version == FORMAT_VERSION or SEAL in card:
        require_sealed(card, file)
    return card


def _listed(card: Mapping[str, Any], folder: Path) -> dict[str, str | None]:
    """Return the files that a model may have, with their checksums; those that are there for a format without any."""
    if card["format_version"] == OLD_VERSION:
        return dict.fromkeys(names_of(folder))
    require_names(card["files"], folder / CARD)
    return {**card["files"], HISTORY: None}


def _require_fitted(model: Any) -> None:
    others = isinstance(model, BaseEstimator) and not isinstance(model, Stateful | WeakLearner) and is_classifier(model)
    try:
        if not others and not files.is_estimator(type(model)):
            raise TypeError
        check_is_fitted(model)
    except (NotFittedError, TypeError):
        allowed = "a fitted estimator of worstclass, or a fitted scikit-learn classifier or pipeline"
        foreign = not isinstance(model, BaseEstimator) and hasattr(model, "get_params")
        advice = "Use a classifier of scikit-learn, xgboost or lightgbm, or pickle the fitted model yourself."
        hint = advice if foreign else ""
        raise ParameterError("model", "save_model", allowed=allowed, got=model, hint=hint) from None


def require_own(folder: Path, parameter: str = "path", owner: str = "save_model") -> None:
    """Refuse a folder whose files would be taken for those of a model, and removed, though there is no model."""
    card = folder / CARD
    ours = card.is_file() and FORMAT in card.read_text(encoding="utf-8", errors="replace")
    taken = [name for name in OWN if (folder / name).exists()]
    if taken and not ours and not (folder / STAGING).exists() and not (folder / SAVED).exists():
        hint = f"{taken} would be replaced, and there is no model of worstclass beside them."
        allowed = "a new folder, or the folder of a model"
        raise ParameterError(parameter, owner, allowed=allowed, got=str(folder), hint=hint)


def _move_in(folder: Path) -> None:
    """Move the complete model that waits in a folder, if one does, to the place of the old one.

    It can be interrupted and done again at any point: what was moved is in its place, and the rest still waits.
    """
    waiting = folder / SAVED
    if (waiting / CARD).is_file():
        card = files.read_json(waiting / CARD)
        new = {name.split("/")[0] for name in card["files"]} | ({HISTORY} if "history_" in card["state"] else set())
        for name in OWN:
            if (waiting / name).exists():
                _remove(folder / name)
                (waiting / name).replace(folder / name)
            elif name not in new:
                _remove(folder / name)
        sync_folder(folder)
    if waiting.is_dir():
        waiting.rmdir()


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    elif path.name != CARD:  # which is replaced by renaming
        path.unlink(missing_ok=True)
