"""The inputs of an exported file: one tensor, or one for each column of a table with text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.compose import ColumnTransformer

from worstclass._checks import check_choice
from worstclass.data.encoding import TableEncoder
from worstclass.data.map_style import is_map_dataset
from worstclass.exceptions import DataError, ExportError

#: the name of the only input, and its types
TENSOR, TYPES = "X", ("float32", "float64", "uint8")
#: what stands for missing text: tensors of text have no other
MISSING_TEXT = ""


@dataclass(frozen=True)
class InputFormat:
    """What an exported file takes.

    Attributes
    ----------
    dtype : type of the numbers.
    names : columns of the training table, in their order; None where they have no names.
    kinds : of each column of a table with text "number" or "text": each is an input of its own, shape (n, 1). Missing
        numbers are NaN, missing text is empty. None where the rows are one tensor.
    row_shape : shape of one row of the tensor.
    """

    dtype: np.dtype[Any]
    names: tuple[str, ...] | None
    kinds: tuple[str, ...] | None
    row_shape: tuple[int, ...]

    @classmethod
    def of(cls, model: Any, X: Any = None, input_type: str = "auto", *, owner: str = "export_onnx") -> InputFormat:
        """Return the format of a model's rows, by the model and by rows if there are any."""
        check_choice(input_type, "input_type", owner, ("auto", *TYPES))
        if is_map_dataset(X):
            raise DataError("Answers are compared on rows in memory. Pass them as an array or tensor.")
        names, kinds = _columns(model, X)
        if "text" in kinds:
            return cls(np.dtype(np.float64), names or tuple(f"x{j}" for j in range(len(kinds))), kinds, ())
        shape = _row_shape(model, X, names)
        if input_type == "auto":
            given = str(getattr(X, "dtype", "")).removeprefix("torch.")
            usual = "uint8" if len(shape) > 1 and X is None else "float64"
            input_type = given if given in TYPES and names is None else usual
        return cls(np.dtype(input_type), names, None, shape)

    @property
    def inputs(self) -> dict[str, tuple[np.dtype[Any], tuple[int, ...]]]:
        """The type and the row shape of each input by its name."""
        if self.kinds is None or self.names is None:
            return {TENSOR: (self.dtype, self.row_shape)}
        types = {"number": self.dtype, "text": np.dtype(object)}
        return {name: (types[kind], (1,)) for name, kind in zip(self.names, self.kinds, strict=True)}

    def feed(self, X: Any) -> dict[str, npt.NDArray[Any]]:
        """Return rows as the inputs take them."""
        if self.names is not None and hasattr(X, "columns"):
            X = X[list(self.names)]
        if self.kinds is None:
            return {TENSOR: _as_array(X, self.dtype)}
        import pandas as pd

        frame = X if hasattr(X, "iloc") else pd.DataFrame(np.asarray(X))
        return {name: _fed(frame.iloc[:, j], dtype) for j, (name, (dtype, _)) in enumerate(self.inputs.items())}

    def made_rows(self, model: Any, n_rows: int) -> Any:
        """Return rows made at random, of the kind that the model takes."""
        rng = np.random.default_rng(0)
        table = next((part for part in _inside(model) if isinstance(part, TableEncoder)), None)
        if table is None and self.kinds is not None:
            raise ExportError("No rows can be made for a table with text. Give rows to compare answers on.")
        if table is None or self.dtype == np.uint8:
            shape = n_rows, *self.row_shape
            centre, spread = _centre_and_spread(model)
            drawn = (
                rng.integers(0, 256, shape) if self.dtype == np.uint8 else centre + 2 * spread * rng.normal(size=shape)
            )
            numbers = drawn.astype(self.dtype)
            return numbers if self.names is None else _frame(dict(zip(self.names, numbers.T, strict=True)))
        columns = [
            _drawn_numbers(median, n_rows, rng) if values is None else _drawn_values(values, n_rows, rng)
            for median, values in zip(table.medians_, table.categories_, strict=True)
        ]
        names = self.names or range(len(columns))
        if self.kinds is None and self.names is None:
            return np.column_stack(columns).reshape(n_rows, *self.row_shape).astype(self.dtype)
        return _frame(dict(zip(names, columns, strict=True)))


def _columns(model: Any, X: Any) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
    """Return the names of the columns, and whether each holds numbers or text; nothing of what is no table."""
    given = getattr(model, "feature_names_in_", None)
    names = None if given is None else tuple(str(name) for name in given)
    if names is not None and len(set(names)) < len(names):
        raise ExportError(f"Columns must have different names to be exported. Got {list(names)}.")
    kinds = next((k for part in _inside(model) if (k := getattr(part, "_column_kinds", None)) is not None), None)
    for name, values in _categories(model, names):
        if len({isinstance(value, str) for value in values if value is not None}) > 1:
            raise ExportError(f"Column {name!r} mixes text and numbers, which no input of a file can. Make them one.")
    if kinds is None and hasattr(X, "iloc"):
        kinds = [None if dtype.kind in "biuf" else "text" for dtype in X[list(names)].dtypes] if names else None
    elif kinds is None and any(isinstance(part, ColumnTransformer) for part in _inside(model)):
        raise ExportError("What the columns hold is not known from the model. Give rows to compare answers on.")
    return names, tuple("text" if kind == "text" else "number" for kind in kinds or ())


def _categories(model: Any, names: tuple[str, ...] | None) -> Iterator[tuple[Any, list[Any]]]:
    """Yield the columns that a ``TableEncoder`` inside the model knows as categories, with their values."""
    for part in _inside(model):
        if isinstance(part, TableEncoder):
            for j, values in enumerate(part.categories_):
                if values is not None:
                    yield (names[j] if names else j), values


def _row_shape(model: Any, X: Any, names: tuple[str, ...] | None) -> tuple[int, ...]:
    """Return the shape of one row: by the rows, by an encoder of the model, or by its number of columns."""
    if names is not None:
        return (len(names),)
    if X is not None:
        return tuple(int(side) for side in np.shape(X)[1:])
    for part in _inside(model):
        if getattr(part, "table", None) is None and (shape := getattr(part, "row_shape", None)) is not None:
            return tuple(shape)
    n_columns = getattr(model, "n_features_in_", None)
    if n_columns is None:
        raise ExportError("The shape of the rows is not known from the model. Give rows to compare answers on.")
    return (int(n_columns),)


def _inside(model: Any) -> Iterator[Any]:
    """Yield a classifier, its encoder, and what is inside them."""
    if model is None:
        return
    yield model
    steps, members = getattr(model, "steps", None), getattr(model, "estimators_", None)
    pipeline = steps if hasattr(steps, "steps") else None  # of an encoder
    for inner in (
        getattr(model, "encoder_", None),
        getattr(model, "table", None),
        pipeline,
        getattr(model, "estimator_", None),
        steps[0][1] if steps and pipeline is None else None,
        members[0] if isinstance(members, list) and members else None,
    ):
        yield from _inside(inner)


def _as_array(X: Any, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    if hasattr(X, "detach"):
        X = X.detach().cpu().numpy()
    if hasattr(X, "toarray"):
        X = X.toarray()
    if hasattr(X, "iloc"):
        X = X.to_numpy(dtype=np.float64, na_value=np.nan)
    return np.ascontiguousarray(X, dtype=dtype)


def _fed(column: Any, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    missing = MISSING_TEXT if dtype.hasobject else np.nan
    values = column.astype("object").where(column.notna(), missing)
    return np.asarray(values, dtype=dtype).reshape(-1, 1)


def _frame(columns: dict[Any, Any]) -> Any:
    import pandas as pd

    return pd.DataFrame(columns)


def _centre_and_spread(model: Any) -> tuple[Any, Any]:
    """Return mean and deviation of the training rows where a scaler inside the model knows them, else 0 and 1."""
    for part in _inside(model):
        if getattr(part, "mean_", None) is not None and getattr(part, "scale_", None) is not None:
            return part.mean_, part.scale_
        if getattr(part, "mean", None) is not None and getattr(part, "std", None) is not None:
            return part.mean.numpy(), part.std.numpy()
    return 0.0, 1.0


def _drawn_numbers(median: float, n_rows: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    numbers = median + rng.normal(size=n_rows) * (1 + abs(median))
    return np.where(rng.random(n_rows) < 0.05, np.nan, numbers)


def _drawn_values(values: list[Any], n_rows: int, rng: np.random.Generator) -> Any:
    """Draw known values, an unknown one if they are text, and missing ones."""
    known: list[Any] = [value for value in values if value is not None]
    others = ["not seen in training", None] if all(isinstance(value, str) for value in known) else []
    drawn = np.empty(n_rows, dtype=object)
    drawn[:] = [(known + others)[place] for place in rng.integers(len(known) + len(others), size=n_rows)]
    return drawn
