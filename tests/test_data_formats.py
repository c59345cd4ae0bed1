"""Parsers of the official formats: what was written is read back; what is malformed is refused and runs nothing."""

from __future__ import annotations

import gzip
import io
import os
import pickle
import struct
import tarfile
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from official_files import cifar_batch, distinct_images, idx_bytes, picture_bytes, write_tiny_imagenet, zip_of
from PIL import Image

from worstclass.data import pickled
from worstclass.data.arrays import Arrays
from worstclass.data.facts import as_labels
from worstclass.data.named.cifar import SHEETS as CIFAR
from worstclass.data.named.cifar import read_batch
from worstclass.data.named.mnist import read_idx
from worstclass.data.named.tiny_imagenet import read_class_names
from worstclass.data.named.tiny_imagenet import read_part as read_tiny_imagenet
from worstclass.data.pickled import read_pickle
from worstclass.data.pictures import decode_picture
from worstclass.data.trees import FileTree, unpacked
from worstclass.exceptions import DatasetError

# --- idx


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gz"])
def test_idx_images_and_labels_are_read_back(pack):
    images, labels = distinct_images(5, 4, 3), np.array([3, 0, 255], np.uint8)
    assert np.array_equal(read_idx(unpacked(pack(idx_bytes(images)), "f"), 3, "images"), images)
    assert read_idx(unpacked(pack(idx_bytes(labels)), "f"), 1, "labels").tolist() == [3, 0, 255]


def test_idx_cut_short_is_refused_at_every_length():
    whole = idx_bytes(distinct_images(2, 2, 2))
    for length in range(len(whole)):
        with pytest.raises(DatasetError, match="pictures"):
            read_idx(whole[:length], 3, "pictures")


def test_gz_cut_short_or_damaged_is_refused_with_its_name():
    packed = gzip.compress(idx_bytes(distinct_images(20, 28, 28)))
    for broken in (packed[:-1], packed[: len(packed) // 2], packed[:30] + b"\0\0\0\0" + packed[34:]):
        with pytest.raises(DatasetError, match=r"images\.gz is damaged or cut short"):
            unpacked(broken, "images.gz")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\0\0\x0d\x01" + bytes(8), "must begin with 00 00 08 01. Got 00 00 0d 01"),  # floats
        (idx_bytes(np.zeros((2, 2, 2))), "must begin with 00 00 08 01. Got 00 00 08 03"),  # images for labels
        (b"PK\x03\x04", "Got 50 4b 03 04"),
        (b"", "Got nothing"),
        (idx_bytes(np.zeros(3)) + b"\0", r"tells of 3 bytes \(3,\), and 4 follow"),
    ],
)
def test_wrong_magic_and_wrong_length_are_refused(content, message):
    with pytest.raises(DatasetError, match=message):
        read_idx(content, 1, "labels")


def test_labels_out_of_range_and_row_counts_that_differ_are_refused():
    with pytest.raises(DatasetError, match=r"f: labels must be in 0..9. Got 10 in row 2"):
        as_labels([3, 10], 10, n_images=2, where="f")
    with pytest.raises(DatasetError, match=r"labels must be in 1..26. Got 0 in row 1"):
        as_labels(np.array([0, 1], np.uint8), 26, n_images=2, where="f", first=1)
    with pytest.raises(DatasetError, match="f: there are 3 images and 2 labels"):
        as_labels([0, 1], 10, n_images=3, where="f")
    with pytest.raises(DatasetError, match="one label per row"):
        as_labels([[0, 1], [1, 0]], 2, n_images=2, where="f")
    with pytest.raises(DatasetError, match="one whole number per row"):
        as_labels([0.5], 2, n_images=1, where="f")


# --- pickles

VALUES = {
    "labels": [0, 9, 255, 256, 65536, -3, 2**40, -(2**70)],
    "names": ["a", "ü", ""],
    "more": (1, 2.5, None, True, False, b"raw"),
    "raw": b"",
    "data": np.arange(12, dtype=np.uint8).reshape(3, 4),
    "wide": np.asfortranarray(np.arange(6, dtype=">i4").reshape(2, 3)),
    "none": np.zeros((0, 3), np.uint8),
}


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_plain_data_of_every_protocol_is_read_back(protocol):
    read = read_pickle(pickle.dumps(VALUES, protocol=protocol), "f")
    assert list(read) == list(VALUES)
    for key in ("data", "wide", "none"):
        assert read[key].dtype == VALUES[key].dtype
        assert np.array_equal(read.pop(key), VALUES[key])
    assert read == {key: value for key, value in VALUES.items() if not isinstance(value, np.ndarray)}


def python_2_batch() -> bytes:
    """A batch as Python 2 pickled it for the official files: text as 8-bit strings, modules of that time."""

    def text(value: bytes) -> bytes:
        return b"U" + bytes([len(value)]) + value

    pixels = bytes(range(8)) * 384
    array = (
        b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(K\x00t" + text(b"b") + b"tR(K\x01(K\x01M\x00\x0ct"
        b"cnumpy\ndtype\n("
        + text(b"u1")
        + b"K\x00K\x01tR(K\x03"
        + text(b"|")
        + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xff"
        b"K\x00tb\x89T" + struct.pack("<i", len(pixels)) + pixels + b"tb"
    )
    return b"\x80\x02}q\x01(" + text(b"data") + array + text(b"labels") + b"]q\x02K\x07au."


def test_batch_pickled_by_python_2_is_read():
    assert np.array_equal(pickle.loads(python_2_batch(), encoding="latin1")["labels"], [7])  # it is what it claims
    pixels, labels = read_batch(python_2_batch(), "f", labels="labels", n_classes=10)
    assert pixels.shape == (1, 3072)
    assert pixels[0, :9].tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 0]
    assert labels.tolist() == [7]


class Calls:
    """An object whose pickle calls a function when it is loaded."""

    def __init__(self, function, *arguments):
        self.call = (function, arguments)

    def __reduce__(self):
        return self.call


def write_canary(path):
    Path(path).write_text("dead")


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("kind", ["os.system", "own", "eval", "exec", "getattr"])
def test_pickle_that_names_a_function_is_refused_and_nothing_runs(tmp_path, protocol, kind):
    canary = tmp_path / "canary"
    write = f"open({str(canary)!r}, 'w').write('dead')"
    calls = {
        "os.system": Calls(os.system, f"echo dead > {canary}"),
        "own": Calls(write_canary, str(canary)),
        "eval": Calls(eval, write),
        "exec": Calls(exec, write),
        "getattr": Calls(getattr, [], "append"),
    }
    batch = {**cifar_batch(2), b"extra": [calls[kind]]}
    content = pickle.dumps(batch, protocol=protocol)
    if kind != "getattr":
        pickle.loads(content)  # it would have run
        canary.unlink()
    with pytest.raises(DatasetError, match=r"f is refused: the pickle asks for .*Nothing of it was run"):
        read_pickle(content, "f")
    assert not canary.exists()


HOSTILE = {
    "GLOBAL and REDUCE": b"cos\nsystem\n(S'touch CANARY'\ntR.",
    "INST": b"(S'touch CANARY'\nios\nsystem\n.",
    "OBJ": b"(cos\nsystem\nS'touch CANARY'\no.",
    "STACK_GLOBAL": b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x0ctouch CANARY\x85R.",
    "eval": b'cbuiltins\neval\n(S\'open("CANARY", "w")\'\ntR.',
    "eval of Python 2": b'c__builtin__\neval\n(S\'open("CANARY", "w")\'\ntR.',
    "getattr": b"cbuiltins\ngetattr\n(cnumpy\ndtype\nS'__class__'\ntR.",
    "a dotted name": b"\x80\x04\x8c\x15numpy.core.multiarray\x8c\x0csys.modules.\x93.",
    "a name below a known one": b"\x80\x04\x8c\x05numpy\x8c\x10ndarray.__init__\x93.",
    "another function of a known module": b"cnumpy.core.multiarray\nscalar\n(tR.",
    "numpy.load": b"cnumpy\nload\n(S'x'\ntR.",
    "NEWOBJ of a known class": b"\x80\x02cnumpy\nndarray\n)\x81.",
    "a call of a known class": b"cnumpy\nndarray\n((K\x01ttR.",
    "an extension": b"\x80\x02\x82\x01.",
    "a persistent id": b"Pname\n.",
    "a class as the result": b"cnumpy\nndarray\n.",
    "a class as a value": b"(dS'a'\ncnumpy\nndarray\ns.",
    "reconstruct another class": b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\ndtype\n(K\x00tS'b'\ntR.",
    "reconstruct without end": b"(dS'a'\ncnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(K\x00tS'b'\ntRs.",
    "another codec": b"c_codecs\nencode\n(Vx\nVrot13\ntR.",
    "a type of objects": b"cnumpy\ndtype\n(S'O8'\nK\x00K\x01tR.",
    "a type with fields": b"cnumpy\ndtype\n(S'V8'\nK\x00K\x01tR.",
    "a type that becomes one of objects": b"cnumpy\ndtype\n(S'u1'\nK\x00K\x01tR(K\x03S'O|'\nNNNtb.",
    "an array of a type that is no type": b"cnumpy._core.numeric\n_frombuffer\n(S'x'\nS'O'\n(K\x01tS'C'\ntR.",
    "an array larger than its bytes": (
        b"cnumpy._core.numeric\n_frombuffer\n(S'x'\ncnumpy\ndtype\n(S'u1'\ntR(J\xff\xff\xff\x7ftS'C'\ntR."
    ),
    "state for a function": b"cnumpy\ndtype\n(N(dS'function'\ncnumpy\nndarray\nstb.",
    "state for a list": b"\x80\x02]K\x01b.",
    "state by attributes for a list": b"\x80\x02](N(dS'append'\nK\x01stb.",
    "an array inside of a list": b"\x80\x02}U\x01a](cnumpy\ndtype\n(U\x02u1tRes.",
    "a nested list": b"\x80\x02}U\x01a]]as.",
    "a key that is a number": b"\x80\x02}K\x01K\x01s.",
    "a place in memory far behind the others": b"\x80\x02}r\xff\xff\xff\x7f]s.",
    "bytes that are not there": b"\x80\x05\x8e\xff\xff\xff\xff\xff\xff\xff\x0f.",
    "bytes that would fill the memory": b"\x80\x05\x96\xff\xff\xff\xff\xff\xff\xff\x0f.",
    "a frame that is not there": b"\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\x7f.",
    "doubled lists": b"\x80\x02}U\x01a]" + b"2\x86" * 200 + b"s.",
}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE)
def test_hostile_pickles_are_refused_and_nothing_runs(content, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = set(pickled._NAMES)
    with pytest.raises(DatasetError, match=r"^f (is refused: the pickle asks for|cannot be read as a pickle)"):
        read_pickle(content, "f")
    assert not list(tmp_path.iterdir())
    assert before == pickled._NAMES
    assert np.array_equal(read_pickle(pickle.dumps(VALUES), "f")["data"], VALUES["data"])  # nothing was left behind


def test_a_pickle_gets_no_more_memory_than_it_has_bytes():
    content = b"\x80\x05\x96" + struct.pack("<Q", 1 << 30) + b"."
    tracemalloc.start()
    try:
        with pytest.raises(DatasetError, match="cannot be read as a pickle"):
            read_pickle(content, "f")
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_the_hostile_pickles_would_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("GLOBAL and REDUCE", "INST", "OBJ", "STACK_GLOBAL", "eval"):
        pickle.loads(HOSTILE[name])
        (tmp_path / "CANARY").unlink()


def test_array_of_objects_in_a_pickle_is_refused(tmp_path):
    content = pickle.dumps({"data": np.array([Calls(write_canary, str(tmp_path / "canary"))], dtype=object)})
    with pytest.raises(DatasetError, match="f is refused"):
        read_pickle(content, "f")
    assert not (tmp_path / "canary").exists()


@pytest.mark.parametrize(
    "content", [b"", b".", b"\x80\x02", b"hello", b"\x80\x02K\x01K\x02.", b"\x80\x02K\x01a.", b"t."]
)
def test_what_is_no_pickle_is_refused(content):
    with pytest.raises(DatasetError, match=r"^f "):
        read_pickle(content, "f")


@settings(deadline=None, max_examples=300)
@given(st.integers(0, 400), st.integers(0, 255), st.integers(0, 5))
def test_any_changed_byte_gives_data_or_a_dataset_error(position, value, protocol):
    content = bytearray(pickle.dumps({"labels": [1, 2], "data": np.arange(4, dtype=np.uint8)}, protocol=protocol))
    content[position % len(content)] = value
    try:
        read_pickle(bytes(content), "f")
    except DatasetError as error:
        assert str(error).startswith("f ")  # noqa: PT017


# --- CIFAR


def test_batches_come_one_after_the_other(tmp_path):
    batches = [cifar_batch(n, seed=n) for n in (3, 2, 4, 1, 5)]
    for number, batch in enumerate(batches, start=1):
        (tmp_path / f"data_batch_{number}").write_bytes(pickle.dumps(batch))
    part = CIFAR[0].read(FileTree(tmp_path), "train")
    images = part.X
    assert images.shape == (15, 3, 32, 32)
    assert images.dtype == np.uint8
    assert part.y.tolist() == [0, 1, 2, 0, 1, 0, 1, 2, 3, 0, 0, 1, 2, 3, 4]
    assert part.y.dtype == np.int64
    # red, green and blue planes follow each other; rows lie within a plane
    assert images[3, 1, 2, 5] == batches[1][b"data"][0, 1024 + 2 * 32 + 5]
    assert np.array_equal(images.reshape(15, -1), np.concatenate([batch[b"data"] for batch in batches]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({b"labels": [0, 10, 2]}, r"labels must be in 0..9. Got 10 in row 2"),
        ({b"labels": [0, 1]}, "there are 3 images and 2 labels"),
        ({b"labels": ["a", "b", "c"]}, "f: labels must be one whole number per row"),
        ({b"labels": [0.5, 1, 2]}, "f: labels must be one whole number per row"),
        ({b"labels": [b"\xff", b"", b""]}, "f: labels must be one whole number per row"),
        ({b"labels": [0, 2**70, 1]}, "f: labels must be one whole number per row"),
        ({b"labels": [[1], [2, 3], [4]]}, "a list is neither an array, nor a value"),
        ({b"data": np.zeros((3, 3071), np.uint8)}, r"unsigned bytes of shape \(n, 3072\)"),
        ({b"data": np.zeros((3, 3072), np.float32)}, "unsigned bytes"),
        ({b"data": [1, 2, 3]}, "unsigned bytes"),
    ],
)
def test_malformed_batch_is_refused(change, message):
    with pytest.raises(DatasetError, match=message):
        read_batch(pickle.dumps({**cifar_batch(3), **change}), "f", labels="labels", n_classes=10)


def test_batch_of_the_other_set_and_what_is_no_batch_are_refused():
    with pytest.raises(DatasetError, match="f is no batch of this set: it has no 'fine_labels'"):
        read_batch(pickle.dumps(cifar_batch(3)), "f", labels="fine_labels", n_classes=100)
    with pytest.raises(DatasetError, match=r"f cannot be read.*it holds a list, not a dictionary"):
        read_batch(pickle.dumps([1]), "f", labels="labels", n_classes=10)


# --- npz


def test_arrays_are_read_by_name(tmp_path):
    X = np.arange(7 * 11, dtype=np.int32).reshape(7, 11)
    np.savez_compressed(tmp_path / "a.npz", X=X, columns=np.asfortranarray(X), empty=np.zeros((0, 3)))
    arrays = Arrays(tmp_path / "a.npz")
    assert np.array_equal(arrays.read("X"), X)
    assert np.array_equal(arrays.read("columns"), X)
    assert arrays.read("empty").shape == (0, 3)
    with pytest.raises(DatasetError, match=r"has no array 'y'. It has \['X', 'columns', 'empty'\]"):
        arrays.read("y")


def test_array_of_objects_is_refused_and_nothing_runs(tmp_path):
    canary = tmp_path / "canary"
    np.savez(tmp_path / "a.npz", X=np.array([Calls(write_canary, str(canary))], dtype=object))
    with pytest.raises(DatasetError, match="arrays of objects are refused"):
        Arrays(tmp_path / "a.npz").read("X")
    assert not canary.exists()


def test_npz_cut_short_or_damaged_is_refused(tmp_path):
    np.savez(tmp_path / "a.npz", X=np.arange(1000))
    whole = (tmp_path / "a.npz").read_bytes()
    (tmp_path / "b.npz").write_bytes(whole[:-40])
    with pytest.raises(DatasetError, match=r"b\.npz cannot be read as an npz file"):
        Arrays(tmp_path / "b.npz")
    (tmp_path / "c.npz").write_bytes(whole[:500] + b"\xff" + whole[501:])
    with pytest.raises(DatasetError, match="X cannot be read as an array"):
        Arrays(tmp_path / "c.npz").read("X")
    (tmp_path / "d.npz").write_bytes(pickle.dumps([1]))
    with pytest.raises(DatasetError, match=r"d\.npz cannot be read as an npz file"):
        Arrays(tmp_path / "d.npz")
    np.save(tmp_path / "e.npy", np.arange(3))
    (tmp_path / "e.npy").rename(tmp_path / "e.npz")  # a single array under the name of several
    with pytest.raises(DatasetError, match=r"e\.npz cannot be read as an npz file"):
        Arrays(tmp_path / "e.npz")


def test_npy_that_is_shorter_than_its_header_says_is_refused(tmp_path):
    buffer = io.BytesIO()
    np.save(buffer, np.arange(3))
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("X.npy", buffer.getvalue()[:-1])
    with pytest.raises(DatasetError, match="X cannot be read as an array"):
        Arrays(tmp_path / "a.npz").read("X")


def test_single_values_and_what_is_no_array_are_refused(tmp_path):
    np.savez(tmp_path / "a.npz", single=np.float64(3))
    with zipfile.ZipFile(tmp_path / "a.npz", "a") as archive:
        archive.writestr("text.npy", b"hello")
    for name, message in (("single", "is no array of rows"), ("text", "cannot be read as an array of numbers")):
        with pytest.raises(DatasetError, match=f"{name} {message}"):
            Arrays(tmp_path / "a.npz").read(name)


# --- pictures


GREY, COLOUR = np.full((2, 3), 90, np.uint8), np.full((2, 3, 3), (10, 20, 30), np.uint8)


def test_grey_pictures_have_one_channel_and_others_three():
    grey = [GREY, np.dstack([GREY, GREY]), GREY.astype(bool), GREY.astype(np.uint16)]
    assert all(decode_picture(picture_bytes(pixels), "f").shape == (1, 2, 3) for pixels in grey)
    buffer = io.BytesIO()
    Image.fromarray(GREY).convert("P").save(buffer, "PNG")
    coloured = [picture_bytes(COLOUR), picture_bytes(np.dstack([COLOUR, GREY])), buffer.getvalue()]
    assert all(decode_picture(content, "f").shape == (3, 2, 3) for content in coloured)


def test_channels_are_converted_and_transparency_is_left_out():
    assert decode_picture(picture_bytes(COLOUR), "f", channels=3)[:, 1, 2].tolist() == [10, 20, 30]
    transparent = np.dstack([COLOUR, np.zeros((2, 3), np.uint8)])
    assert decode_picture(picture_bytes(transparent), "f", channels=3)[:, 0, 0].tolist() == [10, 20, 30]
    assert decode_picture(picture_bytes(GREY), "f", channels=3)[:, 0, 0].tolist() == [90, 90, 90]
    assert decode_picture(picture_bytes(GREY), "f", channels=1).shape == (1, 2, 3)
    palette = Image.fromarray(COLOUR).quantize(4)
    buffer = io.BytesIO()
    palette.save(buffer, "GIF")
    assert decode_picture(buffer.getvalue(), "f", channels=3)[:, 0, 0].tolist() == [10, 20, 30]


def test_sixteen_bits_of_grey_keep_their_high_byte():
    deep = np.array([[0, 255, 256, 0xFFFF]], np.uint16)
    assert decode_picture(picture_bytes(deep), "f", channels=1).tolist() == [[[0, 0, 1, 255]]]
    with pytest.raises(DatasetError, match="f holds fractions"):
        decode_picture(picture_bytes(np.zeros((2, 2), np.float32), "TIFF"), "f", channels=1)


def test_picture_marked_as_turned_is_set_upright():
    picture = Image.fromarray(np.array([[1, 2, 3], [4, 5, 6]], np.uint8))
    exif = picture.getexif()
    exif[0x0112] = 6  # turn by 90 degrees clockwise to see it upright
    buffer = io.BytesIO()
    picture.save(buffer, "PNG", exif=exif)
    assert decode_picture(buffer.getvalue(), "f", channels=1)[0].tolist() == [[4, 1], [5, 2], [6, 3]]


def test_size_is_height_and_width():
    assert decode_picture(picture_bytes(COLOUR), "f", channels=3, size=(8, 5)).shape == (3, 8, 5)


@pytest.mark.parametrize("content", [b"", b"hello", picture_bytes(COLOUR)[:40], picture_bytes(COLOUR, "JPEG")[:-200]])
def test_damaged_picture_is_refused_with_its_name(content):
    with pytest.raises(DatasetError, match=r"^f cannot be decoded"):
        decode_picture(content, "f", channels=3)


def test_picture_that_would_fill_the_memory_is_refused(monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 4)
    for side in (3, 9):  # Pillow warns of the first and refuses the second
        with pytest.raises(DatasetError, match="decompression bomb"):
            decode_picture(picture_bytes(np.zeros((side, side), np.uint8)), "f", channels=1)


# --- archives


def test_folder_and_archives_show_the_same_files(tmp_path):
    folder = tmp_path / "set"
    (folder / "a").mkdir(parents=True)
    (folder / "a" / "1.txt").write_bytes(b"one")
    (folder / "2.txt").write_bytes(b"two")
    (folder / ".hidden").write_bytes(b"no")
    zip_of(tmp_path / "set.zip", folder, "top")
    with tarfile.open(tmp_path / "set.tar.gz", "w:gz") as archive:
        archive.add(folder, arcname="top")
    for path in (folder, tmp_path / "set.zip", tmp_path / "set.tar.gz"):
        tree = FileTree(path)
        assert tree.is_folder == (path == folder)
        assert tree.names() == ["2.txt", "a/1.txt"]
        assert tree.read("a/1.txt") == b"one"
        assert tree.has("2.txt")
        assert not tree.has("3.txt")
        with pytest.raises(DatasetError, match=r"3\.txt"):
            tree.read("3.txt")


UNSAFE = ["../evil", "a/../../evil", "/evil", "C:/evil", "a\\..\\evil"]


@pytest.mark.parametrize("name", UNSAFE)
def test_archive_with_a_member_outside_of_it_is_refused(tmp_path, name):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("fine.txt", "fine")
        archive.writestr(name, "evil")
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as archive:
        for member in ("fine.txt", name):
            archive.addfile(tarfile.TarInfo(member), io.BytesIO(b""))
    for path in (tmp_path / "a.zip", tmp_path / "a.tar.gz"):
        with pytest.raises(DatasetError, match="points outside of the archive"):
            FileTree(path).read("fine.txt")
    assert not list(tmp_path.rglob("evil"))


def test_links_in_a_tar_archive_are_not_followed(tmp_path):
    (tmp_path / "secret").write_text("secret")
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, str(tmp_path / "secret")
        archive.addfile(link)
        archive.addfile(tarfile.TarInfo("b/file"), io.BytesIO(b""))
    with pytest.raises(DatasetError, match="has no file link"):
        FileTree(tmp_path / "a.tar").read("link")


@pytest.mark.parametrize("name", ["a.zip", "a.tar.gz"])
@pytest.mark.parametrize("content", [b"", b"hello", b"PK\x05\x06", b"\x1f\x8b\x08"])
def test_what_is_no_archive_is_refused(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DatasetError, match=r"cannot be read as a|is damaged or cut short"):
        FileTree(tmp_path / name).names()


def test_archive_that_unpacks_to_too_much_is_refused(tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("big", bytes(5000))
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as archive:
        member = tarfile.TarInfo("big")
        member.size = 5000
        archive.addfile(member, io.BytesIO(bytes(5000)))
    monkeypatch.setattr("worstclass.data.trees.MOST_BYTES", 4999)
    for path in (tmp_path / "a.zip", tmp_path / "a.tar.gz"):
        with pytest.raises(DatasetError, match="is refused"):
            FileTree(path).read("big")


def test_path_that_is_neither_folder_nor_archive_is_refused(tmp_path):
    with pytest.raises(DatasetError, match="neither a folder nor an archive"):
        FileTree(tmp_path / "a.rar")


# --- Tiny ImageNet


@pytest.fixture
def tiny(tmp_path):
    write_tiny_imagenet(tmp_path / "tiny-imagenet-200")
    return tmp_path / "tiny-imagenet-200"


@pytest.mark.parametrize("packed", [False, True])
def test_tiny_imagenet_is_read_from_its_folder_and_its_archive(tiny, packed):
    path = tiny
    if packed:
        path = tiny.with_suffix(".zip")
        zip_of(path, tiny, "tiny-imagenet-200")
    levels = {0: 20, 1: 110, 2: 200}  # n01, n02, n03 in alphabetical order
    for part, shift in (("train", 0), ("test", 30)):
        read = read_tiny_imagenet(FileTree(path), part)
        assert read.X.shape == ((12 if part == "train" else 6), 3, 64, 64)
        for image, label in zip(read.X, read.y.tolist(), strict=True):
            assert abs(image[:, 63, 63].astype(int) - levels[label] - shift).max() <= 2
    assert np.bincount(read.y).tolist() == [2, 2, 2]
    assert read_class_names(FileTree(path)) == ("first thing", "second thing", "n03")


@pytest.mark.parametrize(
    "line", ["val_0.JPEG\tn09\t0\t0\t1\t1", "val_0.JPEG", "val_99.JPEG\tn01", "../../../etc/passwd\tn01"]
)
def test_bad_annotation_is_refused_with_its_line(tiny, line):
    with (tiny / "val" / "val_annotations.txt").open("a") as file:
        file.write(line + "\n")
    with pytest.raises(DatasetError, match=r"line 7 must have a picture in val/images and a class of wnids\.txt"):
        read_tiny_imagenet(FileTree(tiny), "test")


def test_class_without_pictures_unknown_class_and_wrong_size_are_refused(tiny):
    other = tiny / "train" / "n09" / "images"
    other.mkdir(parents=True)
    (other / "x.JPEG").write_bytes(picture_bytes(COLOUR, "JPEG"))
    with pytest.raises(DatasetError, match=r"must be those of the classes in wnids\.txt"):
        read_tiny_imagenet(FileTree(tiny), "train")
    (other / "x.JPEG").rename(tiny / "train" / "n01" / "images" / "x.JPEG")
    with pytest.raises(DatasetError, match=r"x\.JPEG has the shape \(3, 2, 3\)"):
        read_tiny_imagenet(FileTree(tiny), "train")
    (tiny / "wnids.txt").write_text("n01\nn02\nn03\nn04\n")
    with pytest.raises(DatasetError, match=r"must be those of the classes in wnids\.txt"):
        read_tiny_imagenet(FileTree(tiny), "train")
