"""Checking files against fact sheets, and downloading them from a server that really answers."""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
import threading
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from official_files import MNIST_PREFIXES, idx_bytes, tar_gz, write_cifar10, write_idx_set, write_medmnist

from worstclass.data import files, registry
from worstclass.data.facts import Download
from worstclass.data.files import DIFFERENT, OFFICIAL, UNKNOWN, check_dataset, fetch, get_dataset
from worstclass.data.registry import DATASETS, named_dataset
from worstclass.exceptions import DatasetError, ParameterError


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("WORSTCLASS_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


def md5(content: bytes) -> str:
    return hashlib.md5(content).hexdigest()


@pytest.fixture
def publish(monkeypatch):
    """Let a tiny set pass for the official one: its fact sheet gets the checksums and counts of what was written."""

    def change(name, **facts):
        monkeypatch.setitem(registry.DATASETS, name, dataclasses.replace(DATASETS[name], **facts))

    return change


@pytest.fixture
def fashion(root, publish):
    """A tiny Fashion-MNIST that is published as it lies on disk."""
    folder = root / "fashion-mnist"
    write_idx_set(folder, MNIST_PREFIXES, {"train": 100, "test": 30})
    contents = {name: (folder / f"{name}.gz").read_bytes() for name in DATASETS["fashion-mnist"].files}
    files = {name: md5(gzip.decompress(content)) for name, content in contents.items()}
    publish("fashion-mnist", files=files, counts={"train": 100, "test": 30})
    return folder


def verdicts(check) -> set[str]:
    return set(check.files.values())


# --- check


def test_official_files_pass(fashion):
    check = check_dataset("fashion-mnist")
    assert verdicts(check) == {OFFICIAL}
    assert check.problems == ()
    assert check.counts["train"].tolist() == [10] * 10
    assert next(iter(check.files)) == str(fashion / "train-images-idx3-ubyte.gz")


@pytest.mark.parametrize("how", ["compressed again", "unpacked"])
def test_official_content_in_another_packing_passes(fashion, how):
    for path in fashion.glob("*.gz"):
        plain = gzip.decompress(path.read_bytes())
        path.unlink()
        target = path if how == "compressed again" else path.with_suffix("")
        target.write_bytes(gzip.compress(plain, 1, mtime=77) if how == "compressed again" else plain)
    check = check_dataset("fashion-mnist")
    assert verdicts(check) == {OFFICIAL}
    assert check.problems == ()


def test_one_changed_pixel_is_found(fashion):
    path = fashion / "t10k-images-idx3-ubyte.gz"
    plain = bytearray(gzip.decompress(path.read_bytes()))
    plain[-1] ^= 1
    path.write_bytes(gzip.compress(bytes(plain)))
    check = check_dataset("fashion-mnist")
    assert list(check.files.values()) == [OFFICIAL, OFFICIAL, DIFFERENT, OFFICIAL]
    assert check.problems == (f"{path} has another checksum than the official one.",)


def test_rows_that_are_missing_and_classes_out_of_balance_are_told(fashion, publish):
    files = dict.fromkeys(DATASETS["fashion-mnist"].files)
    publish("fashion-mnist", files=files, counts={"train": 101, "test": 30})
    labels = np.array([0, 0, *range(2, 10)] * 3, np.uint8)
    (fashion / "t10k-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx_bytes(labels)))
    check = check_dataset("fashion-mnist")
    assert verdicts(check) == {UNKNOWN}
    assert check.problems == (
        "train: 100 rows, where the official files have 101.",
        "test: there is no row of class 1.",
    )
    labels[0] = 1
    (fashion / "t10k-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx_bytes(labels)))
    assert check_dataset("fashion-mnist").problems[1].startswith("test: every class has 3 rows in the official files")


def test_damaged_file_is_a_problem_and_not_a_missing_one(fashion):
    path = fashion / "train-labels-idx1-ubyte.gz"
    path.write_bytes(path.read_bytes()[:-5])
    check = check_dataset("fashion-mnist")
    assert len(check.problems) == 2
    assert "another checksum" in check.problems[0]
    assert "damaged or cut short" in check.problems[1]
    assert list(check.counts) == ["test"]


def test_missing_files_raise(root):
    with pytest.raises(DatasetError, match="worstclass datasets get cifar100"):
        check_dataset("cifar100", root)


def test_archive_is_checked_as_a_whole_and_then_by_what_is_in_it(root, tmp_path, publish):
    write_cifar10(tmp_path / "unpacked")
    root.mkdir()
    archive = root / "cifar-10-python.tar.gz"
    tar_gz(archive, tmp_path / "unpacked", "cifar-10-batches-py")
    sheet = DATASETS["cifar10"]
    counts = {"train": 200, "test": 20}
    official = Download(archive.name, sheet.downloads[0].addresses, md5(archive.read_bytes()))
    publish("cifar10", downloads=(official,), counts=counts)
    assert check_dataset("cifar10").files == {str(archive): OFFICIAL}
    files = {name: md5((tmp_path / "unpacked" / name).read_bytes()) for name in sheet.files}
    publish("cifar10", downloads=sheet.downloads, files=files, counts=counts)
    assert verdicts(check_dataset("cifar10")) == {OFFICIAL}
    publish("cifar10", downloads=sheet.downloads, files=sheet.files, counts=counts)
    assert verdicts(check_dataset("cifar10")) == {DIFFERENT}
    archive.write_bytes(archive.read_bytes()[:1000])
    damaged = check_dataset("cifar10")
    assert verdicts(damaged) == {DIFFERENT}
    assert "is damaged or cut short" in damaged.problems[1]


def test_variants_have_files_of_their_own(root):
    write_medmnist(root / "bloodmnist_64.npz", {"train": 8, "val": 8, "test": 8}, n_classes=8, channels=3, side=64)
    check = check_dataset("bloodmnist", size=64)
    assert list(check.files) == [str(root / "bloodmnist_64.npz")]
    assert "train: 8 rows, where the official files have 11,959." in check.problems


@pytest.mark.parametrize("name", ["artificial-balanced", "artificial-imbalanced", "digits", "wine", "breast-cancer"])
def test_sets_without_files_agree_with_their_facts(name):
    check = check_dataset(name)
    assert (check.files, check.problems) == ({}, ())
    assert {part: int(counts.sum()) for part, counts in check.counts.items()} == DATASETS[name].counts


# --- download


class Handler(BaseHTTPRequestHandler):
    """Serves the server's ``files`` with ranges, as large servers do; ``server.behaviour`` spoils it on purpose."""

    def do_GET(self):
        self.server.requests.append((self.path, self.headers.get("Range"), self.headers.get("If-Range")))
        content = self.server.files.get(self.path.lstrip("/"))
        if content is None:
            self.send_error(404)
            return
        tag = f'"{md5(content)[:8]}"'
        start = self._start(content, tag)
        if start is None:
            return
        self.send_header("Content-Length", str(len(content) - start))
        if "no tag" not in self.server.behaviour:
            self.send_header("ETag", tag)
        self.end_headers()
        stop = start + self.server.behaviour.get("break after", len(content))
        self.wfile.write(content[start:stop])

    def _start(self, content, tag):
        """Send the status; return where the answer begins, or None if it is finished."""
        wanted = self.headers.get("Range")
        changed = self.headers.get("If-Range") not in (None, tag)
        if wanted is None or changed or "no ranges" in self.server.behaviour:
            self.send_response(200)
            return 0
        start = int(wanted.removeprefix("bytes=").removesuffix("-"))
        if start >= len(content):
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(content)}")
            self.end_headers()
            return None
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        return start

    def log_message(self, *_):
        pass


class QuietServer(ThreadingHTTPServer):
    def handle_error(self, *_):  # the client hung up, as some tests want
        pass


@pytest.fixture
def server():
    server = QuietServer(("127.0.0.1", 0), Handler)
    server.files, server.behaviour, server.requests = {}, {}, []
    server.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


CONTENT = np.random.default_rng(0).bytes(1_000_000)


@pytest.fixture
def file(server, tmp_path):
    """A file that the server has; ``get`` downloads it into the test's folder."""
    server.files["big.bin"] = CONTENT
    return partial(Download, "big.bin", (f"{server.address}/big.bin",))


def test_file_is_downloaded_with_progress_and_nothing_is_left_beside_it(file, server, tmp_path):
    told = []
    path = fetch(file(md5(CONTENT)), tmp_path, progress=lambda *values: told.append(values))
    assert path.read_bytes() == CONTENT
    assert [entry.name for entry in tmp_path.iterdir()] == ["big.bin"]
    assert told[0] == ("big.bin", 0, 1_000_000)
    assert told[-1] == ("big.bin", 1_000_000, 1_000_000)
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)
    assert fetch(file(md5(CONTENT)), tmp_path) == path  # it is there: nothing is asked for
    assert len(server.requests) == 1


def test_broken_download_is_resumed_where_it_ended(file, server, tmp_path):
    big = file(md5(CONTENT))
    server.behaviour["break after"] = 300_000
    with pytest.raises(DatasetError, match="connection ended after 300,000 of 1,000,000 bytes") as caught:
        fetch(big, tmp_path)
    assert "The part that arrived is kept for the next try" in str(caught.value)
    assert (tmp_path / "big.bin.part").stat().st_size == 300_000
    assert not (tmp_path / "big.bin").exists()
    server.behaviour.clear()
    told = []
    path = fetch(big, tmp_path, progress=lambda *values: told.append(values))
    assert path.read_bytes() == CONTENT
    assert told[0] == ("big.bin", 300_000, 1_000_000)
    assert server.requests[-1][1] == "bytes=300000-"
    assert [entry.name for entry in tmp_path.iterdir()] == ["big.bin"]


def broken_download(big, server, tmp_path):
    server.behaviour["break after"] = 300_000
    with pytest.raises(DatasetError):
        fetch(big, tmp_path)
    server.behaviour.clear()


def test_server_that_knows_no_ranges_sends_all_again(file, server, tmp_path):
    broken_download(file(md5(CONTENT)), server, tmp_path)
    server.behaviour["no ranges"] = True
    assert fetch(file(md5(CONTENT)), tmp_path).read_bytes() == CONTENT


def test_part_of_another_file_is_removed_and_fetched_anew(file, server, tmp_path):
    broken_download(file(md5(CONTENT[::-1])), server, tmp_path)
    server.files["big.bin"] = CONTENT[::-1]
    with pytest.raises(DatasetError, match="another checksum than the official file, and was removed"):
        fetch(file(md5(CONTENT[::-1])), tmp_path)
    assert fetch(file(md5(CONTENT[::-1])), tmp_path).read_bytes() == CONTENT[::-1]


def test_part_that_was_complete_already_is_taken(file, server, tmp_path):
    broken_download(file(md5(CONTENT)), server, tmp_path)
    (tmp_path / "big.bin.part").write_bytes(CONTENT)
    assert fetch(file(md5(CONTENT)), tmp_path).read_bytes() == CONTENT


def test_part_that_is_longer_than_the_file_is_fetched_anew(file, server, tmp_path):
    broken_download(file(md5(CONTENT)), server, tmp_path)
    (tmp_path / "big.bin.part").write_bytes(CONTENT + b"more")
    assert fetch(file(md5(CONTENT)), tmp_path).read_bytes() == CONTENT


def test_wrong_checksum_leaves_no_file_and_no_part(file, tmp_path):
    with pytest.raises(DatasetError, match="another checksum than the official file, and was removed"):
        fetch(file("0" * 32), tmp_path)
    assert not (tmp_path / "big.bin").exists()
    assert not (tmp_path / "big.bin.part").exists()


def test_wrong_file_in_the_place_is_neither_taken_nor_overwritten(file, tmp_path):
    (tmp_path / "big.bin").write_bytes(b"mine")
    with pytest.raises(DatasetError, match=r"is there, but is not the official file. Remove it"):
        fetch(file(md5(CONTENT)), tmp_path)
    assert (tmp_path / "big.bin").read_bytes() == b"mine"


def test_second_address_is_tried_and_all_failures_are_told(server, tmp_path, file):
    addresses = (f"{server.address}/gone.bin", f"{server.address}/big.bin")
    assert fetch(Download("big.bin", addresses, md5(CONTENT)), tmp_path).read_bytes() == CONTENT
    refused = ("http://127.0.0.1:9/big.bin", f"{server.address}/gone.bin")
    with pytest.raises(DatasetError) as caught:
        fetch(Download("other.bin", refused, md5(CONTENT)), tmp_path)
    assert "refused" in str(caught.value)
    assert "HTTP Error 404" in str(caught.value)
    assert "is kept" not in str(caught.value)
    assert f"get http://127.0.0.1:9/big.bin by other means and put it into {tmp_path}" in str(caught.value)


def test_silent_server_is_given_up(tmp_path, monkeypatch):
    import socket

    monkeypatch.setattr(files, "TIMEOUT_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = f"http://127.0.0.1:{listening.getsockname()[1]}/a"
        with pytest.raises(DatasetError, match="timed out"):
            fetch(Download("a", (address,), md5(CONTENT)), tmp_path)


def test_data_set_comes_from_a_mirror_into_its_folder_and_loads(server, root, tmp_path, publish):
    write_idx_set(tmp_path / "there", MNIST_PREFIXES, {"train": 100, "test": 30})
    for path in (tmp_path / "there").iterdir():
        server.files[f"data/{path.name}"] = path.read_bytes()
    offered = tuple(
        Download(file.name, file.addresses, md5(server.files[f"data/{file.name}"]))
        for file in DATASETS["mnist"].downloads
    )
    publish("mnist", downloads=offered)
    paths = get_dataset(named_dataset("mnist"), mirror=f"{server.address}/data/")
    assert [path.parent for path in paths] == [root / "mnist"] * 4
    assert len(registry.load_dataset("mnist").train) == 70


@pytest.mark.parametrize("mirror", ["file:///etc", "ftp://host/", "there"])
def test_mirror_must_be_a_web_address(root, mirror):
    with pytest.raises(ParameterError, match="begins with http"):
        get_dataset(named_dataset("mnist"), mirror=mirror)
    assert not root.exists()
