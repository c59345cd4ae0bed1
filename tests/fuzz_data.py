"""Fuzzing targets: the files of data sets and of users."""

from __future__ import annotations

import contextlib
import gzip
import io
import lzma
import pickle
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import fuzz_inputs as spoil
import numpy as np
import official_files as official
import pandas as pd
from fuzz_inputs import EDITS, EDITS_AT_END, NPY, edited, repacked
from fuzz_target import Target, target, tried
from hypothesis import strategies as st
from PIL import Image

from worstclass.data.chunks import RowFormat, iter_chunks
from worstclass.data.named.cifar import read_batch
from worstclass.data.named.tiny_imagenet import read_class_names, read_part
from worstclass.data.registry import DATASETS
from worstclass.data.sources import read_source
from worstclass.data.trees import FileTree

METHODS = st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])


def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    values = {"a": rng.normal(size=12), "b": range(12), "c": ["x", "y", None] * 4, "d": [True, False] * 6}
    return pd.DataFrame({**values, "y": ["one", "two", "None"] * 4})


def table_reader(file: Path) -> Any:
    """Return what reads a table to train on, and rows of it for models that know the columns and that do not."""
    known = RowFormat(["a", "b", "c", "d"], {"a": "number", "b": "number", "c": "text", "d": None})

    def read(content: bytes) -> None:
        file.write_bytes(content)
        tried(
            lambda: read_source(file, target="y").splits(test=0.25),
            lambda: list(iter_chunks(file, known, ids=["y"], chunk_rows=5)),
            lambda: list(iter_chunks(file, RowFormat(), chunk_rows=5)),
        )

    return read


@target
def csv(folder: Path) -> Target:
    good = table().to_csv(index=False).encode()
    odd = st.sampled_from(["", "1", "1e999", "nan", "9" * 400, '"', "\0", "\n", "Ä", "01", "inf"])
    rows = st.lists(st.lists(st.one_of(st.text(max_size=6), odd), max_size=6), max_size=8)
    made_up = rows.map(lambda rows: "\n".join(map(",".join, rows)).encode("utf-8", "surrogatepass"))
    headed = made_up.map(lambda rows: b"a,b,c,d,y\n" + rows)
    return Target(
        st.one_of(st.builds(edited, st.just(good), EDITS), made_up, headed), table_reader(folder / "rows.csv")
    )


@target
def parquet(folder: Path) -> Target:
    nested = table().assign(e=[[1, 2]] * 12, f=pd.Timestamp("2020-01-01"))
    forms = [(table(), {}), (nested, {}), (table(), {"compression": "none"}), (table(), {"compression": "gzip"})]
    files = []
    for frame, options in forms:
        frame.to_parquet(folder / "good.parquet", **options)
        files.append((folder / "good.parquet").read_bytes())
    spoiled = st.builds(edited, st.sampled_from(files), st.one_of(EDITS, EDITS_AT_END))
    return Target(spoiled, table_reader(folder / "rows.parquet"))


@target
def arrays(folder: Path) -> Target:
    """Npz files: spoiled, with spoiled members in a sound archive, and with made-up headers; the same as npy files."""
    file, loose = folder / "rows.npz", folder / "rows"
    loose.mkdir()
    rows = {"X": np.arange(60.0).reshape(12, 5), "y": np.arange(12) % 3}
    images = {"x_train": np.zeros((6, 8, 8, 3), np.uint8), "y_train": np.array(["a", "b"] * 3)}
    plain = [{name: spoil.npy(array) for name, array in parts.items()} for parts in (rows, images)]
    good = [spoil.npz(parts, method) for parts in plain for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)]
    bomb = spoil.npz({"X": spoil.npy(np.zeros((300 << 20, 1), np.uint8)), "y": spoil.npy(np.zeros(3))})

    def read(content: bytes) -> None:
        file.write_bytes(content)
        with contextlib.suppress(Exception), zipfile.ZipFile(io.BytesIO(content)) as archive:
            for name in {"X.npy", "y.npy"} & set(archive.namelist()):
                if archive.getinfo(name).file_size < 1 << 20:
                    (loose / name).write_bytes(archive.read(name))
        tried(
            lambda: read_source(file).splits(test=0.25),
            lambda: list(iter_chunks(file, RowFormat(n_columns=5))),
            lambda: read_source(loose),
        )

    made_up = st.builds(lambda X, y: spoil.npz({"X": X, "y": y}), NPY, st.one_of(NPY, st.just(plain[0]["y"])))
    spoiled = st.builds(edited, st.sampled_from(good), st.one_of(EDITS, EDITS_AT_END))
    inside = st.builds(repacked, st.sampled_from(good), st.integers(0, 3), EDITS, METHODS)
    return Target(st.one_of(spoiled, inside, made_up), read, samples=[bomb])


def pictures_of_all_kinds() -> list[bytes]:
    rng = np.random.default_rng(0)
    colour, grey = rng.integers(0, 256, (8, 8, 3), dtype=np.uint8), rng.integers(0, 256, (8, 8), dtype=np.uint8)
    kinds = ("PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP", "PPM")
    found = [official.picture_bytes(pixels, kind) for kind in kinds for pixels in (colour, grey)]
    found += [official.picture_bytes(colour, "TIFF", compression=how) for how in ("tiff_lzw", "tiff_adobe_deflate")]
    turned = Image.Exif()
    turned[0x0112] = 6
    deep = official.picture_bytes(grey.astype(np.uint16) * 256)
    return [*found, deep, official.picture_bytes(colour, "JPEG", exif=turned)]


@target
def pictures(folder: Path) -> Target:
    good, place = pictures_of_all_kinds(), folder / "set"
    for name in ("cat", "dog"):
        (place / name).mkdir(parents=True)
        (place / name / "1.png").write_bytes(good[0])

    def read(content: bytes) -> None:
        (place / "dog" / "1.png").write_bytes(content)
        tried(
            lambda: read_source(place),
            lambda: read_source(place, image_size=8),
            lambda: list(iter_chunks(place, RowFormat(image_shape=(3, 8, 8)))),
        )

    program = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 8 8\n%%EndComments\nshowpage\n"
    return Target(st.builds(edited, st.sampled_from(good), EDITS), read, samples=[program])


@target
def archives(folder: Path) -> Target:
    """Zip and tar archives of pictures: spoiled as they are, and spoiled inside a sound compression."""
    for name in ("pets/cat/1.png", "pets/dog/1.png", "pets/dog/2.png"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(official.picture_bytes(np.zeros((8, 8, 3), np.uint8)))
    official.zip_of(folder / "a.zip", folder / "pets", "pets")
    with tarfile.open(folder / "a.tar", "w", format=tarfile.PAX_FORMAT) as archive:
        archive.add(folder / "pets", arcname="p\u00e4ts")
    plain, packed = (folder / "a.tar").read_bytes(), (folder / "a.zip").read_bytes()

    def read(suffix_and_content: tuple[str, bytes]) -> None:
        suffix, content = suffix_and_content
        file = folder / f"b{suffix}"
        file.write_bytes(content)
        rows = RowFormat(image_shape=(3, 8, 8))
        tried(lambda: read_source(file, image_size=8), lambda: list(iter_chunks(file, rows)))

    spoiled = st.one_of(
        st.tuples(st.just(".zip"), st.builds(edited, st.just(packed), st.one_of(EDITS, EDITS_AT_END))),
        st.tuples(st.just(".zip"), st.builds(repacked, st.just(packed), st.integers(0, 4), EDITS, METHODS)),
        st.tuples(st.just(".tar"), st.builds(edited, st.just(plain), EDITS)),
        st.tuples(st.just(".tar.gz"), EDITS.map(lambda edits: gzip.compress(edited(plain, edits), 1))),
        st.tuples(st.just(".tgz"), st.builds(edited, st.just(gzip.compress(plain, 1, mtime=0)), EDITS)),
    )
    bomb = gzip.compress(bytes(270 << 20), 1)
    names = b"".join(tarfile.TarInfo("x.png").tobuf() for _ in range(70_000))
    large = [(".tar.gz", bomb), (".tar.gz", bomb[:-9]), (".tar.gz", gzip.compress(names, 1))]
    return Target(spoiled, read, samples=[*large, (".tar", lzma.compress(plain)), (".zip", zip_with_lzma())])


def zip_with_lzma() -> bytes:
    """Return an archive whose dictionary would take 4 GiB."""
    content = bytearray(spoil.zipped({"a/1.png": bytes(99), "b/1.png": bytes(99)}, zipfile.ZIP_LZMA))
    place = content.index(b"1.png") + 5 + 4 + 1
    content[place : place + 4] = b"\xff" * 4
    return bytes(content)


@target
def cifar(folder: Path) -> Target:
    """Batches of CIFAR: spoiled, and made-up programs of pickles."""
    good = [pickle.dumps(official.cifar_batch(2), protocol) for protocol in (0, 2, 3, 4, 5)]
    inputs = st.one_of(st.builds(edited, st.sampled_from(good), EDITS), spoil.PICKLES)

    def read(content: bytes) -> None:
        read_batch(content, "a batch", labels="labels", n_classes=10)

    return Target(inputs, read, samples=[spoil.DOUBLING_KEY, spoil.DEEP_KEY])


def one_file(folder: Path, names: list[str], read: Any) -> tuple[dict[str, bytes], Any]:
    """Return files, and what writes one of them, reads them all, and puts it back."""
    good = {name: (folder / name).read_bytes() for name in names}

    def read_with(name_and_content: tuple[str, bytes]) -> None:
        name, content = name_and_content
        (folder / name).write_bytes(content)
        try:
            read(FileTree(folder))
        finally:
            (folder / name).write_bytes(good[name])

    return good, read_with


@target
def idx(folder: Path) -> Target:
    """Files of MNIST, plain and compressed."""
    official.write_idx_set(folder, official.MNIST_PREFIXES, {"train": 12, "test": 4}, zipped=False)
    names = ["train-images-idx3-ubyte", "train-labels-idx1-ubyte"]
    good, read = one_file(folder, names, lambda tree: DATASETS["mnist"].read(tree, "train"))

    def spoiled(name: str, edits: Any, how: int) -> tuple[str, bytes]:
        if how == 2:
            return name, edited(gzip.compress(good[name], 1, mtime=0), edits)
        content = edited(good[name], edits)
        return name, gzip.compress(content, 1) if how else content

    bomb = names[1], gzip.compress(bytes([0, 0, 8, 1]) + bytes(270 << 20), 1)
    return Target(st.builds(spoiled, st.sampled_from(names), EDITS, st.integers(0, 2)), read, samples=[bomb])


@target
def medmnist(folder: Path) -> Target:
    file, parts = folder / "breastmnist.npz", {"train": 6, "val": 4, "test": 4}
    official.write_medmnist(file, parts, n_classes=2, channels=1)
    good = file.read_bytes()

    def read(content: bytes) -> None:
        file.write_bytes(content)
        tried(*[lambda part=part: DATASETS["breastmnist"].read(FileTree(folder), part) for part in parts])

    made_up = st.builds(lambda X, y: spoil.npz({"train_images": X, "val_images": X, "train_labels": y}), NPY, NPY)
    inside = st.builds(repacked, st.just(good), st.integers(0, 5), EDITS, METHODS)
    return Target(st.one_of(st.builds(edited, st.just(good), EDITS), inside, made_up), read)


@target
def tiny_imagenet(folder: Path) -> Target:
    official.write_tiny_imagenet(folder, n_train=1, n_val=3)
    listed = "val/val_annotations.txt"
    names = ["wnids.txt", "words.txt", listed, "val/images/val_0.JPEG", "train/n01/images/n01_0.JPEG"]
    good, read = one_file(
        folder,
        names,
        lambda tree: tried(
            lambda: read_part(tree, "train"), lambda: read_part(tree, "test"), lambda: read_class_names(tree)
        ),
    )
    inputs = st.builds(lambda name, edits: (name, edited(good[name], edits)), st.sampled_from(names), EDITS)
    return Target(inputs, read, samples=[(listed, good[listed].splitlines(keepends=True)[0] * 300_000)])
