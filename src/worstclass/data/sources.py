"""The user's own data: an image folder, arrays or a table by path; data sets of the Hugging Face library."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from worstclass._text import n_of
from worstclass.data.arrays import is_npy_folder, label_array, read_arrays
from worstclass.data.splits import ALL, PARTS, SPLIT_NAMES, Part, Splits, make_splits
from worstclass.data.trees import is_archive
from worstclass.exceptions import DataError, DatasetError, ParameterError, UnknownNameError, WorstClassError

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

PARQUET_SUFFIXES = (".parquet", ".pq")
TABLE_SUFFIXES = (".csv", *PARQUET_SUFFIXES)
ARRAY_SUFFIX = ".npz"
TABLE, ARRAYS, IMAGES = "table", "arrays", "images"

#: rows from which on a column that differs in every row is taken for one of ids
LEAST_IDS = 20

#: columns of a Hugging Face data set that hold the labels and the pictures, where the user names none
LABEL_COLUMNS = ("label", "labels", "target", "class", "fine_label", "y")
IMAGE_COLUMNS = ("image", "img", "images", "picture")

#: labels that a number would not give back: 01, -007
LEADING_ZEROS = r"\s*[+-]?0\d"

#: how a missing value is written in a column of features
MISSING = ["", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None", "<NA>", "#N/A", "?"]


@dataclass(frozen=True, eq=False)
class Source:
    """Parts of the user's rows: by split, with ``"train"`` among them, or one part ``"all"``."""

    parts: Mapping[str, Part]

    def splits(self, *, val: float = 0.0, cal: float = 0.0, test: float = 0.2, seed: int = 0) -> Splits:
        """Return the splits: those that the data has as they are, others cut from its training rows in these shares."""
        whole = self.parts[ALL if ALL in self.parts else "train"]
        own: dict[str, Any] = {name: part for name, part in self.parts.items() if name not in (ALL, "train")}
        asked = dict(zip(PARTS, (val, cal, test), strict=True))
        shares = {name: 0.0 if name in own else share for name, share in asked.items()}
        if not any(shares.values()):
            return Splits(train=whole, **own)
        return replace(make_splits(whole.X, whole.y, **shares, seed=seed), **own)


def read_source(
    path: str | Path,
    *,
    target: str | None = None,
    ignore: Sequence[str] = (),
    image_size: int | tuple[int, int] | None = None,
    skip_corrupt: bool = False,
) -> Source:
    """Read data from a path.

    Parameters
    ----------
    path : a folder of pictures by class (or an archive of one), a folder of npy files, an npz, CSV or Parquet file.
    target : column of the labels; for tables, and only for those.
    ignore : columns of a table to leave out, such as ids.
    image_size : height and width to bring pictures to, or one number for both; needed where they differ in size.
    skip_corrupt : leave damaged pictures out, with a warning that names them; else they are an error.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "mine.npz"
    >>> np.savez(path, X=np.zeros((10, 28, 28, 3), np.uint8), y=np.arange(10) % 2)
    >>> splits = read_source(path).splits(test=0.2)
    >>> splits.train.X.shape, splits.test.X.shape
    ((8, 3, 28, 28), (2, 3, 28, 28))
    """
    path = Path(path)
    kind = kind_of(path)
    if (kind == TABLE) != (target is not None):
        wanted, unwanted = "the column of the labels when the data is a table", "left out unless the data is a table"
        raise ParameterError("target", "read_source", allowed=wanted if kind == TABLE else unwanted, got=target)
    if kind != IMAGES and image_size is not None:
        allowed = "left out unless the data is a folder of pictures"
        raise ParameterError("image_size", "read_source", allowed=allowed, got=image_size)
    if target is not None:
        return Source({ALL: read_table(path, target, ignore)})
    if kind == ARRAYS:
        return Source(read_arrays(path))
    from worstclass.data.pictures import read_image_folder

    return Source(read_image_folder(path, image_size=image_size, skip_corrupt=skip_corrupt))


def kind_of(path: Path) -> str:
    """Tell what lies at a path: ``"table"``, ``"arrays"`` or ``"images"``; refuse anything else."""
    suffix = path.suffix.lower()
    if not path.exists():
        raise DatasetError(f"There is no file or folder {path}.")
    if suffix in TABLE_SUFFIXES:
        return TABLE
    if is_npy_folder(path) if path.is_dir() else suffix == ARRAY_SUFFIX:
        return ARRAYS
    if path.is_dir() or is_archive(path.name):
        return IMAGES
    raise DatasetError(
        f"{path} cannot be read: give a CSV, Parquet or npz file, a folder with X.npy, or a folder of images or an "
        "archive of one."
    )


def from_hugging_face(
    dataset: Any, *, image: str | None = None, label: str | None = None, **options: Any
) -> Part | Splits:
    """Turn a data set of the Hugging Face library into a part, and a dictionary of splits into splits.

    Data sets are known by their attributes; the library is not needed.

    Parameters
    ----------
    dataset : has ``features``, ``len()``, rows by number and columns by name; or is a mapping of such.
    image : column of pictures (Pillow images or encoded bytes); by default the first of ``IMAGE_COLUMNS`` that is
        there. A data set without one is a table, and X is a data frame.
    label : column of labels; by default the first of ``LABEL_COLUMNS`` that is there. Where its feature has names,
        they are the labels.
    options : ``image_size`` and ``skip_corrupt``, as for ``worstclass.data.pictures.stack``.
    """
    if isinstance(dataset, Mapping):
        splits = {SPLIT_NAMES[name.lower()]: rows for name, rows in dataset.items() if name.lower() in SPLIT_NAMES}
        if "train" not in splits:
            raise DatasetError(f"The data set has no split to train on. It has {list(dataset)}.")
        parts: dict[str, Any] = {
            name: from_hugging_face(rows, image=image, label=label, **options) for name, rows in splits.items()
        }
        return Splits(**parts)
    if not hasattr(dataset, "features") or not hasattr(dataset, "__len__"):
        raise DataError(
            "The data set must have features and a length, as those of the datasets library. "
            f"Got {type(dataset).__name__}; a streamed one has no length, so load it whole."
        )
    columns = list(dataset.features)
    label, image = _column(columns, label, LABEL_COLUMNS), _column(columns, image, IMAGE_COLUMNS)
    if label is None or not len(dataset):
        raise DatasetError(f"The data set has no rows, or no column that is known as labels: {columns}. Pass label=.")
    y = label_array(np.asarray(list(dataset[label])), f"the column {label!r}")
    if names := getattr(dataset.features[label], "names", None):
        if y.dtype.kind not in "iu" or y.min() < 0 or y.max() >= len(names):
            allowed = f"a label in 0..{len(names) - 1} in every row; -1 stands for none"
            raise DatasetError(f"The column {label!r} must have {allowed}.")
        y = np.array(names, dtype=object)[y]
    if image is None:
        import pandas as pd

        table = pd.DataFrame({name: list(dataset[name]) for name in columns if name != label})
        return Part(categories_for_text(table, "the data set"), y)

    def content(number: int) -> Any:
        value = dataset[number][image]
        return value.get("bytes") if isinstance(value, Mapping) else value

    from worstclass.data.pictures import stack

    where = [f"row {number} of the column {image!r}" for number in range(len(dataset))]
    images, kept = stack(where, content, **options)
    return Part(images, y[kept])


def _column(columns: list[str], given: str | None, usual: tuple[str, ...]) -> str | None:
    if given is not None and given not in columns:
        raise DatasetError(f"The data set has no column {given!r} for the {usual[0]}s. It has {columns}.")
    return given or next((name for name in usual if name in columns), None)


def read_table(path: Path, target: str, ignore: Sequence[str] = ()) -> Part:
    """Read a CSV or Parquet file; columns that are not numbers become categories.

    Labels of a CSV file are numbers if all of them are, and text otherwise. If one has leading zeros (01), all stay
    text, as they are written.

    Parameters
    ----------
    path : the file; ``.parquet`` and ``.pq`` are Parquet, which needs pyarrow, and all else is CSV.
    target : name of the column that holds the labels; a row without a label is refused.
    ignore : names of columns to leave out.

    Returns
    -------
    A part whose X is a data frame with every column but the target and those left out.
    """
    with table_errors(path):
        return _part(path, _read(path, target), target, ignore)


def _part(path: Path, table: pd.DataFrame, target: str, ignore: Sequence[str]) -> Part:
    """Divide a table into features and labels."""
    import pandas as pd

    if table.empty:
        raise DatasetError(f"{path} has no rows.")
    if target not in table.columns:
        raise UnknownNameError("target", f"the table {path.name}", target, table.columns)
    labels = table.pop(target)
    for name in ignore:
        if name not in table.columns:
            raise UnknownNameError("ignore", f"the table {path.name}", name, table.columns)
    table = table.drop(columns=list(ignore))
    if labels.isna().any():
        rows, first = n_of(int(labels.isna().sum()), "row"), labels.isna().argmax() + 1
        hint = "Fill in the labels, or remove the rows without one."
        raise DatasetError(f"{path}: the target {target!r} is empty in {rows}, first in row {first}. {hint}")
    if table.shape[1] == 0:
        ignored = " and those ignored" if ignore else ""
        raise DatasetError(f"{path}: there is no column besides the target {target!r}{ignored}.")
    y = labels if pd.api.types.is_numeric_dtype(labels) else labels.astype(object)
    return Part(categories_for_text(table, str(path)), y.to_numpy())


def id_columns(part: Part | None) -> list[str]:
    """Return the columns of a table whose text or whole numbers differ in every row; none of a few rows.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"id": range(30), "size": 0.5, "age": [40, 50] * 15})
    >>> id_columns(Part(table, np.zeros(30)))
    ['id']
    """
    columns = getattr(getattr(part, "X", None), "columns", ())
    if part is None or len(part) < LEAST_IDS:
        return []
    return [name for name in columns if part.X[name].dtype.kind not in "fb" and part.X[name].is_unique]


def refuse_other_targets(y: npt.NDArray[Any], target: str) -> None:
    """Refuse a target that cannot hold classes to train on: measurements, or an id that differs in most rows.

    Examples
    --------
    >>> refuse_other_targets(np.array(["a", "b"] * 20), "kind")
    """
    count = len(set(y.tolist()))
    if y.dtype.kind == "f" and (y != np.floor(y)).any():
        raise DatasetError(
            f"the target {target!r} has numbers with fractions, {count:,} different ones. Classes are text or whole "
            "numbers: name another column, or write a class for each range of numbers."
        )
    if len(y) >= LEAST_IDS and count > len(y) / 2:
        raise DatasetError(
            f"the target {target!r} has {count:,} different labels in {len(y):,} rows, too many for classes. "
            "Name the column of the classes."
        )


def categories_for_text(table: pd.DataFrame, where: str) -> pd.DataFrame:
    """Return the table with columns that are not numbers as categories; refuse infinite numbers."""
    import pandas as pd

    text = [name for name in table.columns if not pd.api.types.is_numeric_dtype(table[name])]
    infinite = np.isinf(table.drop(columns=text).to_numpy(dtype=np.float64, na_value=np.nan))
    if infinite.any():
        names = table.columns.drop(text)[infinite.any(axis=0)].tolist()
        raise DatasetError(
            f"{where} has infinite numbers in the columns {names}, first in row {infinite.any(axis=1).argmax() + 1}. "
            "Leave cells empty where a number is missing, or write a finite one."
        )
    try:
        return table.astype(dict.fromkeys(text, "category"))
    except TypeError:
        raise DatasetError(f"{where}: a column must hold numbers or text; lists and the like are not read.") from None


@contextmanager
def table_errors(path: Path) -> Iterator[None]:
    """Turn the errors of pandas and pyarrow while a table is read into ones that name the file."""
    try:
        yield
    except WorstClassError:
        raise
    except ImportError:
        raise DatasetError(f"Reading {path} needs pyarrow: pip install 'worstclass[parquet]'.") from None
    except UnicodeDecodeError:
        hint = "Save it as UTF-8, for example with: iconv -f latin1 -t utf-8 OLD.csv > NEW.csv"
        raise DatasetError(f"{path} cannot be read as a CSV file: it is not UTF-8 text. {hint}") from None
    except MemoryError:
        raise
    except Exception as error:  # a damaged file can fail in any way
        kind = "Parquet" if path.suffix.lower() in PARQUET_SUFFIXES else "CSV"
        raise DatasetError(f"{path} cannot be read as a {kind} file: {error}") from None


def refuse_other_separators(path: Path, columns: Sequence[str]) -> None:
    """Refuse a CSV file whose columns are separated by semicolons or tabs."""
    found = next((sep for sep in (";", "\t") if len(columns) == 1 and sep in columns[0]), None)
    if found:
        name = {";": "semicolons", "\t": "tabs"}[found]
        save = f"python -c \"import pandas; pandas.read_csv('OLD.csv', sep={found!r}).to_csv('NEW.csv', index=False)\""
        raise DatasetError(
            f"{path} separates its columns by {name}. Save it with commas, and with decimal=',' after sep={found!r} if "
            f"its numbers are written 1,5, for example with: {save}"
        )


def _read(path: Path, target: str) -> pd.DataFrame:
    import pandas as pd

    if path.suffix.lower() in PARQUET_SUFFIXES:
        return pd.read_parquet(path, engine="pyarrow").reset_index(drop=True)
    columns = pd.read_csv(path, nrows=0).columns.tolist()
    refuse_other_separators(path, columns)
    # a class may well be called "None" or "NA"; in the target only an empty cell is missing
    missing = {name: [""] if name == target else MISSING for name in columns}
    table: pd.DataFrame = pd.read_csv(path, na_values=missing, keep_default_na=False)
    if target in columns and pd.api.types.is_numeric_dtype(table[target]):
        written = pd.read_csv(path, usecols=[target], dtype=str, na_values=[""], keep_default_na=False)[target]
        if written.str.match(LEADING_ZEROS).any():
            table[target] = written
    if not isinstance(table.index, pd.RangeIndex):
        raise DatasetError(f"{path}: the rows have more fields than the first line names. Name every column.")
    return table
