"""A fitted estimator as a folder: JSON, safetensors and skops. Loading runs no pickled code.

::

    DIR/model.json           kind, parameters and fitted state
    DIR/history.json         the record of every round or epoch, where there is one
    DIR/arrays.safetensors   large arrays, such as fingerprints of the rows that the model has seen
    DIR/objects/NNNN.skops   scikit-learn estimators that are part of the state or of the parameters
    DIR/members/NNNN.*       one file per member: .safetensors for torch, .skops for scikit-learn
    DIR/model.skops          the model itself, where it is a scikit-learn classifier
    DIR/inner/, parts/NNNN/  the classifier that a wrapper is around, and other fitted parts, as such folders
    DIR/results/             results about this model: reports, certificates, figures

Only ``history.json`` depends on how fast training went: the same seed gives the same ``model.json`` and the same torch
members, byte for byte. ``model.json`` is written last, so a folder that has it is complete.

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
from worstclass.exceptions import ModelFormatError, ParameterError, WorstClassError
from worstclass.learners.base import WeakLearner
from worstclass.storage import files
from worstclass.storage.codec import ARRAYS, HISTORY, Reader, Writer

FORMAT = "worstclass-model"
FORMAT_VERSION = 2
#: the kind of a model that is a scikit-learn classifier, and its attribute that is kept beside it
SKLEARN, SEEN = "sklearn", "seen_rows_"

CARD, SKLEARN_FILE, RESULTS, STAGING = "model.json", "model.skops", "results", ".saving"
#: everything that belongs to a model; ``model.json`` is the first to go and the last to come
OWN = (CARD, HISTORY, ARRAYS, SKLEARN_FILE, "members", "objects", "inner", "parts", RESULTS)


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
        _write(model, staging)
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        if is_new and folder.is_dir():
            folder.rmdir()
        raise
    _replace(folder, staging)
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
    return _read(Path(path), module=module, trusted=tuple(trusted), keep_in_memory=keep_in_memory)


def results_folder(path: str | Path) -> Path:
    """Return the folder for results about the model in a folder: ``save_model`` removes it with the model."""
    return Path(path) / RESULTS


def _write(model: Any, folder: Path) -> None:
    """Write one model, and those inside it."""
    _require_fitted(model)
    folder.mkdir(parents=True)
    writer = Writer(folder, _write)
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
    files.write_json(folder / CARD, card)


def _read(folder: Path, **options: Any) -> Any:
    """Read one model, and those inside it."""
    card = _read_card(folder)
    reader = Reader(folder, partial(_read, **options), **options)
    try:
        kind = None if card.get("kind") == SKLEARN else files.class_named(card.get("kind"), files.is_estimator)
        params, state = reader.decode(card["params"]), reader.decode(card["state"])
        if kind is None:
            model = files.read_sklearn(folder / SKLEARN_FILE, options["trusted"])
            if SEEN in state:
                model.seen_rows_ = state[SEEN]
            return model
        if "estimator_" in state:
            params["estimator"] = state["estimator_"]
        return kind.from_state(params, state)
    except ModelFormatError:
        raise
    except (WorstClassError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        what = f"{type(error).__name__}: {error}"
        raise ModelFormatError(f"{folder / CARD} does not describe a fitted model: {what}") from error


def _read_card(folder: Path) -> Mapping[str, Any]:
    file = folder / CARD
    if not file.is_file():
        raise ModelFormatError(f"{folder} is not a model folder: it has no model.json. Pass the folder given to --out.")
    card = files.read_json(file)
    if not isinstance(card, dict) or card.get("format") != FORMAT:
        raise ModelFormatError(f"{file} is not a model of worstclass.")
    version = card.get("format_version")
    if version != FORMAT_VERSION:
        raise ModelFormatError(
            f"{file} has format_version {version!r}; this version of worstclass reads {FORMAT_VERSION}. Fit the model "
            "again, or install the version of worstclass that wrote it."
        )
    return card


def _require_fitted(model: Any) -> None:
    others = isinstance(model, BaseEstimator) and not isinstance(model, Stateful | WeakLearner) and is_classifier(model)
    try:
        if not others and not files.is_estimator(type(model)):
            raise TypeError
        check_is_fitted(model)
    except (NotFittedError, TypeError):
        allowed = "a fitted estimator of worstclass, or a fitted scikit-learn classifier or pipeline"
        raise ParameterError("model", "save_model", allowed=allowed, got=model) from None


def require_own(folder: Path, parameter: str = "path", owner: str = "save_model") -> None:
    """Refuse a folder whose files would be taken for those of a model, and removed, though there is no model."""
    card = folder / CARD
    ours = card.is_file() and FORMAT in card.read_text(encoding="utf-8", errors="replace")
    taken = [name for name in OWN if (folder / name).exists()]
    if taken and not ours and not (folder / STAGING).exists():
        hint = f"{taken} would be replaced, and there is no model of worstclass beside them."
        allowed = "a new folder, or the folder of a model"
        raise ParameterError(parameter, owner, allowed=allowed, got=str(folder), hint=hint)


def _replace(folder: Path, staging: Path) -> None:
    """Put a complete new model in the place of the old one."""
    for name in OWN:
        if (folder / name).is_dir():
            shutil.rmtree(folder / name)
        else:
            (folder / name).unlink(missing_ok=True)
    for name in reversed(OWN):
        if (staging / name).exists():
            (staging / name).rename(folder / name)
    staging.rmdir()
