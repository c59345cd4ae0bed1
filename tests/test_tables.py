"""Reading a CSV with one column of labels."""

import numpy as np
import pandas as pd
import pytest

from worstclass.data.sources import read_source, read_table
from worstclass.exceptions import DatasetError, UnknownNameError


@pytest.fixture
def write(tmp_path):
    """Write a text as CSV file and return its path."""

    def write_text(text, encoding="utf-8"):
        path = tmp_path / "rows.csv"
        path.write_bytes(text.encode(encoding))
        return path

    return write_text


def test_numbers_stay_numbers_and_text_becomes_categories(write):
    part = read_table(write("age,town,kind\n30,Rome,ill\n41,Oslo,well\n50,Rome,ill\n"), "kind")
    assert list(part.X.columns) == ["age", "town"]
    assert part.X["age"].tolist() == [30, 41, 50]
    assert pd.api.types.is_numeric_dtype(part.X["age"])
    assert isinstance(part.X["town"].dtype, pd.CategoricalDtype)
    assert part.X["town"].tolist() == ["Rome", "Oslo", "Rome"]
    assert part.y.tolist() == ["ill", "well", "ill"]
    assert len(part) == 3


def test_target_may_be_any_column(write):
    part = read_table(write("a,y,b\n1,p,2\n3,q,4\n"), "y")
    assert part.X.to_numpy().tolist() == [[1, 2], [3, 4]]
    assert part.y.tolist() == ["p", "q"]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [(("3", "1"), [3, 1]), (("0.5", "2"), [0.5, 2.0]), (("True", "False"), [True, False])],
)
def test_labels_that_are_numbers_come_as_numbers(write, labels, expected):
    y = read_table(write(f"a,y\n1,{labels[0]}\n2,{labels[1]}\n"), "y").y
    assert isinstance(y, np.ndarray)
    assert y.dtype != object
    assert y.tolist() == expected


def test_labels_that_are_text_come_as_plain_strings(write):
    y = read_table(write("a,y\n1,p\n2,7\n"), "y").y
    assert isinstance(y, np.ndarray)
    assert y.dtype == object
    assert [type(label) for label in y] == [str, str]
    assert np.unique(y).tolist() == ["7", "p"]


def test_missing_features_stay_missing(write):
    part = read_table(write("a,b,y\n1,,p\n,x,q\n"), "y")
    assert part.X.isna().to_numpy().tolist() == [[False, True], [True, False]]


def test_path_may_be_text(write):
    assert len(read_source(str(write("a,y\n1,p\n")), target="y").parts["all"]) == 1


def test_unknown_target_is_refused_with_a_suggestion(write):
    with pytest.raises(UnknownNameError, match=r"table rows.csv must be one of \['a', 'kind'\].*Did you mean 'kind'\?"):
        read_table(write("a,kind\n1,p\n"), "king")


def test_row_without_label_is_refused_with_its_line(write):
    # line 1 is the header, so the second row is line 3
    with pytest.raises(DatasetError, match=r"target 'y' is empty in 2 rows, first in row 2"):
        read_table(write("a,y\n1,p\n2,\n3,q\n4,\n"), "y")


def test_row_without_label_is_told_by_its_number_blank_lines_aside(write):
    with pytest.raises(DatasetError, match=r"first in row 2"):
        read_table(write("a,y\n1,p\n\n\n2,\n"), "y")


@pytest.mark.parametrize("label", ["None", "NA", "null"])
def test_class_whose_name_looks_like_a_missing_value_is_a_class(write, label):
    assert read_table(write(f"a,y\n1,{label}\n2,flu\n"), "y").y.tolist() == [label, "flu"]


def test_table_of_labels_alone_is_refused(write):
    with pytest.raises(DatasetError, match="no column besides the target 'y'"):
        read_table(write("y\n1\n2\n"), "y")


def test_table_without_rows_is_refused(write):
    with pytest.raises(DatasetError, match="has no rows"):
        read_table(write("a,y\n"), "y")


@pytest.mark.parametrize("text", ["", "a,b,y\n1,2,p\n3,4,5,6,q\n", 'a,y\n1,"p\n'], ids=["empty", "ragged", "open"])
def test_file_that_is_no_csv_is_refused_with_its_name(write, text):
    with pytest.raises(DatasetError, match=r"rows\.csv cannot be read as a CSV file: .+"):
        read_table(write(text), "y")


def test_file_in_another_encoding_is_refused_with_its_name(write):
    with pytest.raises(DatasetError, match=r"rows\.csv cannot be read as a CSV file: .*utf-8"):
        read_table(write("a,town,y\n1,Orléans,p\n", encoding="latin-1"), "y")


def test_missing_file_and_folder_are_refused(tmp_path):
    with pytest.raises(DatasetError, match="There is no file or folder"):
        read_source(tmp_path / "nowhere.csv", target="y")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(DatasetError, match=r"folder\.csv cannot be read as a CSV file"):
        read_source(tmp_path / "folder.csv", target="y")
