"""Tiny files in the official formats, written as publishers do: idx, pickled batches, npz, JPEG, zip, tar."""

from __future__ import annotations

import gzip
import io
import pickle
import tarfile
import zipfile
from pathlib import Path

import numpy as np
from PIL import Image


def idx_bytes(array: np.ndarray) -> bytes:
    header = bytes([0, 0, 8, array.ndim]) + b"".join(int(size).to_bytes(4, "big") for size in array.shape)
    return header + np.ascontiguousarray(array, dtype=np.uint8).tobytes()


def distinct_images(n: int, *shape: int, seed: int = 0) -> np.ndarray:
    """Random images, each unlike all others: its first four bytes are its number."""
    images = np.random.default_rng(seed).integers(0, 256, size=(n, *shape), dtype=np.uint8)
    flat = images.reshape(n, -1)
    flat[:, :4] = np.arange(seed * 100_000, seed * 100_000 + n, dtype=">u4").view(np.uint8).reshape(n, 4)
    return images


def write_idx_set(
    folder: Path, prefixes: dict[str, str], sizes: dict[str, int], *, n_classes: int = 10, first: int = 0, zipped=True
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Write images (n, 28, 28) and labels for each part; return them as they are in the files."""
    folder.mkdir(parents=True, exist_ok=True)
    written = {}
    for seed, (part, prefix) in enumerate(prefixes.items()):
        images = distinct_images(sizes[part], 28, 28, seed=seed)
        labels = (np.arange(sizes[part]) % n_classes + first).astype(np.uint8)
        for kind, array in (("images-idx3-ubyte", images), ("labels-idx1-ubyte", labels)):
            content = idx_bytes(array)
            path = folder / (f"{prefix}-{kind}.gz" if zipped else f"{prefix}-{kind}")
            path.write_bytes(gzip.compress(content) if zipped else content)
        written[part] = (images, labels)
    return written


MNIST_PREFIXES = {"train": "train", "test": "t10k"}


def cifar_batch(n: int, labels: str = "labels", n_classes: int = 10, seed: int = 0) -> dict[bytes, object]:
    data = distinct_images(n, 3072, seed=seed)
    return {b"data": data, labels.encode(): [i % n_classes for i in range(n)], b"batch_label": b"a batch"}


def write_cifar10(folder: Path, n: int = 40, n_test: int = 20) -> dict[str, np.ndarray]:
    """Write the six batches of CIFAR-10; return the pixels of each."""
    folder.mkdir(parents=True, exist_ok=True)
    names = [f"data_batch_{i}" for i in range(1, 6)] + ["test_batch"]
    pixels = {}
    for seed, name in enumerate(names):
        batch = cifar_batch(n_test if name == "test_batch" else n, seed=seed)
        (folder / name).write_bytes(pickle.dumps(batch, protocol=2))
        pixels[name] = batch[b"data"]
    return pixels


def write_cifar100(folder: Path, n: int = 1000, n_test: int = 200) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for seed, (name, rows) in enumerate((("train", n), ("test", n_test))):
        (folder / name).write_bytes(pickle.dumps(cifar_batch(rows, "fine_labels", 100, seed), protocol=2))


def tar_gz(path: Path, folder: Path, name: str) -> None:
    with tarfile.open(path, "w:gz") as archive:
        archive.add(folder, arcname=name)


def zip_of(path: Path, folder: Path, name: str) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted(folder.rglob("*")):
            archive.write(file, Path(name, file.relative_to(folder)).as_posix())


def write_medmnist(
    path: Path, sizes: dict[str, int], *, n_classes: int, channels: int, side: int = 28
) -> dict[str, np.ndarray]:
    """Write an npz file as MedMNIST does: channels last or left out, labels of shape (n, 1)."""
    arrays: dict[str, np.ndarray] = {}
    shape = (side, side) if channels == 1 else (side, side, channels)
    for seed, (part, n) in enumerate(sizes.items()):
        arrays[f"{part}_images"] = distinct_images(n, *shape, seed=seed)
        arrays[f"{part}_labels"] = (np.arange(n) % n_classes).astype(np.uint8)[:, None]
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, **arrays)
    return arrays


def picture_bytes(pixels: np.ndarray, kind: str = "PNG", **options: object) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, kind, **options)
    return buffer.getvalue()


def write_tiny_imagenet(folder: Path, n_train: int = 4, n_val: int = 6) -> dict[str, int]:
    """Write three classes of plain-coloured JPEGs; return the colour of each class id, in the order of wnids.txt."""
    ids = {"n03": 200, "n01": 20, "n02": 110}  # not in alphabetical order, as in the official file
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "wnids.txt").write_text("".join(f"{name}\n" for name in ids))
    (folder / "words.txt").write_text("n00\tunused\nn01\tfirst thing, synonym\nn02\tsecond thing\n")
    for name, level in ids.items():
        images = folder / "train" / name / "images"
        images.mkdir(parents=True)
        for i in range(n_train):
            pixels = np.full((64, 64, 3), level, np.uint8)
            pixels[:32] = level + 2 * i  # each picture unlike the others, its upper half brighter
            (images / f"{name}_{i}.JPEG").write_bytes(picture_bytes(pixels, "JPEG", quality=95))
        (images.parent / f"{name}_boxes.txt").write_text("")
    val = folder / "val" / "images"
    val.mkdir(parents=True)
    lines = []
    for i in range(n_val):
        name = list(ids)[i % 3]
        grey = np.full((64, 64), ids[name] + 30, np.uint8)  # grey JPEGs are among the official ones
        (val / f"val_{i}.JPEG").write_bytes(picture_bytes(grey, "JPEG", quality=95))
        lines.append(f"val_{i}.JPEG\t{name}\t0\t32\t44\t62\n")
    (folder / "val" / "val_annotations.txt").write_text("".join(lines))
    (folder / "test" / "images").mkdir(parents=True)
    return ids
