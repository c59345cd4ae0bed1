"""What fuzzing of the readers of data and results has found, one small file each: refused, in bounded memory."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import tarfile
import zipfile

import fuzz_inputs as spoil
import numpy as np
import pandas as pd
import pytest
from fuzz_data import zip_with_lzma
from limits import bounded_memory
from official_files import picture_bytes, write_idx_set, write_tiny_imagenet
from sklearn.linear_model import LogisticRegression

from worstclass.data.chunks import RowFormat, iter_chunks
from worstclass.data.named.tiny_imagenet import read_part
from worstclass.data.pickled import read_pickle
from worstclass.data.registry import DATASETS
from worstclass.data.sources import read_source
from worstclass.data.splits import make_splits
from worstclass.data.trees import FileTree
from worstclass.exceptions import DatasetError, ModelFormatError
from worstclass.experiments.cells import Cell, CellResult, find_result
from worstclass.experiments.run import Outcome, Provenance, RunResult

PNG = picture_bytes(np.zeros((8, 8), np.uint8))


def refused(path, message, **options):
    with bounded_memory(), pytest.raises(DatasetError, match=message):
        read_source(path, **options)


SETITEMS, DICT = b"\x80\x02}(K\x01\x85K\x02u.", b"\x80\x02(K\x01\x85K\x02d."


class TestPickles:
    @pytest.mark.parametrize("content", [spoil.DOUBLING_KEY, spoil.DEEP_KEY, SETITEMS, DICT])
    def test_keys_whose_hash_takes_for_ever_or_overflows_the_stack(self, content):
        with pytest.raises(DatasetError, match="the pickle asks for a tuple as a key"):
            read_pickle(content, "a batch")

    @pytest.mark.parametrize("content", [b"\x80\x04\x8f(K\x01\x90.", b"\x80\x04(K\x01\x91."])
    def test_sets_hash_their_items_too(self, content):
        with pytest.raises(DatasetError, match="the pickle asks for a set"):
            read_pickle(content, "a batch")


class TestPictures:
    def test_a_program_that_pillow_would_start_another_program_for(self, tmp_path):
        for name in ("cat", "dog"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "1.png").write_bytes(PNG)
        program = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 8 8\n%%EndComments\nshowpage\n"
        (tmp_path / "dog" / "1.png").write_bytes(program)
        refused(tmp_path, r"1\.png cannot be decoded: it is no picture that Pillow knows")


class TestArrays:
    @pytest.mark.parametrize(
        ("X", "message"),
        [
            (spoil.npy_file("'<f8'", "False", "(1250000000, 1)", b""), "its header tells of 10,000,000,000 bytes"),
            (spoil.npy_file("'<f8'", "False", "(-1, 1)", b""), "its header tells of -8 bytes"),
            (spoil.npy_file("'<f8'", "False", "(3,", b""), "cannot be read as an array"),
            (spoil.npy_file("'|O'", "False", "(3, 1)", bytes(24)), "arrays of objects are refused"),
            (spoil.npy(np.zeros((300 << 20, 1), np.uint8)), "it has more than 268,435,456 bytes unpacked"),
        ],
        ids=["10 GB", "negative", "unfinished", "objects", "bomb"],
    )
    def test_headers(self, X, message, tmp_path):
        (tmp_path / "rows.npz").write_bytes(spoil.npz({"X": X, "y": spoil.npy(np.zeros(3))}))
        refused(tmp_path / "rows.npz", message)

    @pytest.mark.parametrize("labels", [np.array([0x110000] * 3, "<u4").view("<U1"), np.array([b"\xff"] * 3)])
    def test_text_that_is_none(self, labels, tmp_path):
        np.savez(tmp_path / "rows.npz", X=np.zeros((3, 2)), y=labels)
        refused(tmp_path / "rows.npz", "y must hold text. It cannot be read")

    @pytest.mark.filterwarnings("ignore:overflow encountered")
    def test_a_npy_file_longer_than_the_disk(self, tmp_path):
        (tmp_path / "X.npy").write_bytes(spoil.npy_file("'|u1'", "False", f"({2**62}, 4)", b""))
        np.save(tmp_path / "y.npy", np.zeros(3))
        refused(tmp_path, "X cannot be read as an array")


class TestArchives:
    def names(self, file, message):
        with bounded_memory(), pytest.raises(DatasetError, match=message):
            FileTree(file).read(FileTree(file).names()[0])

    def test_bombs(self, tmp_path):
        (tmp_path / "a.tar.gz").write_bytes(gzip.compress(bytes(270 << 20), 1))
        self.names(tmp_path / "a.tar.gz", "more than 268,435,456 bytes unpacked")
        (tmp_path / "a.zip").write_bytes(spoil.zipped({"a/1.png": bytes(300 << 20)}, zipfile.ZIP_DEFLATED))
        self.names(tmp_path / "a.zip", "more than 268,435,456 bytes unpacked")

    def test_very_many_members(self, tmp_path):
        header = tarfile.TarInfo("a/1.png").tobuf()
        (tmp_path / "a.tar.gz").write_bytes(gzip.compress(header * 70_000, 1))
        self.names(tmp_path / "a.tar.gz", "bytes unpacked")

    def test_compressions_that_reserve_what_a_header_asks_for(self, tmp_path):
        (tmp_path / "a.zip").write_bytes(zip_with_lzma())
        self.names(tmp_path / "a.zip", "compressed by another method than deflate")
        plain = io.BytesIO()
        with tarfile.open(fileobj=plain, mode="w") as archive:
            archive.addfile(tarfile.TarInfo("a/1.png"))
        (tmp_path / "a.tar").write_bytes(lzma.compress(plain.getvalue()))
        self.names(tmp_path / "a.tar", "cannot be read as a tar archive")

    def test_a_member_that_claims_more_bytes_than_the_archive_has(self, tmp_path):
        content = spoil.zipped({"a/1.png": PNG})
        size = len(PNG).to_bytes(4, "little")
        at = content.rindex(size + size)
        (tmp_path / "a.zip").write_bytes(content[:at] + b"\xf0\xff\xff\x7f" + content[at + 4 :])
        self.names(tmp_path / "a.zip", "it has 2,147,483,632 bytes, and the archive")

    def test_a_member_without_a_name(self, tmp_path):
        content = spoil.zipped({"x": PNG})
        at = content.rindex(b"PK\x01\x02") + 28
        (tmp_path / "a.zip").write_bytes(content[:at] + b"\0\0\x01\0" + content[at + 4 :])
        self.names(tmp_path / "a.zip", "cannot be read as a zip archive|points outside")

    def test_a_compressed_idx_file(self, tmp_path):
        write_idx_set(tmp_path, {"train": "train"}, {"train": 12}, zipped=False)
        bomb = gzip.compress(bytes([0, 0, 8, 1]) + bytes(270 << 20), 1)
        (tmp_path / "train-labels-idx1-ubyte").write_bytes(bomb)
        with bounded_memory(), pytest.raises(DatasetError, match="more than 268,435,456 bytes unpacked"):
            DATASETS["mnist"].read(FileTree(tmp_path), "train")

    def test_tiny_imagenet_that_lists_a_picture_again_and_again(self, tmp_path):
        write_tiny_imagenet(tmp_path, n_train=1, n_val=1)
        listed = tmp_path / "val" / "val_annotations.txt"
        listed.write_text(listed.read_text() * 300_000)
        with bounded_memory(), pytest.raises(DatasetError, match=r"line 2 names val_0\.JPEG again"):
            read_part(FileTree(tmp_path), "test")


class TestParquet:
    def table(self, path, **columns):
        pd.DataFrame({"a": [1.0, 2.0], "y": ["one", "two"], **columns}).to_parquet(path / "rows.parquet")
        return path / "rows.parquet"

    def test_lists_where_the_model_takes_text(self, tmp_path):
        file = self.table(tmp_path, c=[[1, 2], [3]])
        rows = RowFormat(["a", "c"], {"a": "number", "c": None})
        with pytest.raises(DatasetError, match="cannot be read as a Parquet file"):
            list(iter_chunks(file, rows))

    @pytest.mark.parametrize(("old", "new"), [(b'"pandas_type"', b'"pandas_typo"'), (b"one", b"o\xffe")])
    def test_damage_that_pandas_finds_late(self, old, new, tmp_path):
        import pyarrow as pa
        from pyarrow import parquet

        file = self.table(tmp_path)
        if new == b"o\xffe":
            labels = pa.array([b"o\xffe", b"two"], pa.binary()).view(pa.string())
            parquet.write_table(pa.table({"a": [1.0, 2.0], "y": labels}), file)
        else:
            table = parquet.read_table(file)
            meta = {key: value.replace(old, new) for key, value in table.schema.metadata.items()}
            parquet.write_table(table.replace_schema_metadata(meta), file)
        refused(file, "cannot be read as a Parquet file", target="y")


@pytest.fixture(scope="module")
def outcome():
    splits = make_splits(np.random.default_rng(1).normal(size=(40, 2)), np.arange(40) % 2, test=0.25)
    return Outcome.describe(LogisticRegression().fit(splits.train.X, splits.train.y), splits)


ROW = {"name": "a", "total": 5, "correct": 1, "error": 0.8}


class TestResults:
    def test_run_json_that_is_not_text(self, tmp_path):
        (tmp_path / "run.json").write_bytes(b"\xff{}")
        with pytest.raises(ModelFormatError, match=r"run\.json cannot be read"):
            RunResult.read(tmp_path)

    @pytest.mark.parametrize("row", [{}, None, ROW | {"name": 3}, ROW | {"total": "5"}, ROW | {"other": 1}])
    def test_reports_that_could_not_be_shown(self, row, outcome, tmp_path):
        cell = Cell("ce", "iris", 0)
        CellResult.of(cell, outcome, provenance=Provenance.collect(), seconds=1.0).write(tmp_path)
        file = tmp_path / cell.file_name
        assert find_result(cell, file) is not None
        values = json.loads(file.read_text())
        values["test"]["classes"][0] = row
        file.write_text(json.dumps(values))
        assert find_result(cell, file) is None

    def test_a_cell_without_its_seconds_can_be_shown(self, outcome):
        result = CellResult.of(Cell("ce", "iris", 0), outcome, provenance=Provenance.collect())
        assert str(result).endswith("0 s")
