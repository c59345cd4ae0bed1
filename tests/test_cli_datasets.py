"""``worstclass datasets``, run as a user would: exit codes, what is shown, a server that really answers."""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
import re
import subprocess
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from official_files import MNIST_PREFIXES, write_cifar10, write_idx_set

from worstclass.cli.app import run
from worstclass.data import registry
from worstclass.data.facts import Download
from worstclass.data.registry import DATASETS


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("WORSTCLASS_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path / "data"


@pytest.fixture
def published(tmp_path, monkeypatch):
    """A tiny MNIST that passes for the official one; return the folder that a server would offer."""
    folder = tmp_path / "offered"
    write_idx_set(folder, MNIST_PREFIXES, {"train": 100, "test": 30})
    sums = {path.name: hashlib.md5(path.read_bytes()).hexdigest() for path in folder.iterdir()}
    sheet = DATASETS["mnist"]
    changed = dataclasses.replace(
        sheet,
        files={
            name: hashlib.md5(gzip.decompress((folder / f"{name}.gz").read_bytes())).hexdigest() for name in sheet.files
        },
        downloads=tuple(Download(file.name, file.addresses, sums[file.name]) for file in sheet.downloads),
        counts={"train": 100, "test": 30},
    )
    monkeypatch.setitem(registry.DATASETS, "mnist", changed)
    return folder


def row_of(shown: str, name: str) -> list[str]:
    (line,) = [line for line in shown.splitlines() if line.startswith(f"{name} ")]
    return line.split()


def test_list_shows_every_set_with_what_is_there_and_where(root, capsys):
    write_cifar10(root / "cifar-10-batches-py")
    assert run(["datasets"]) == 0
    shown = capsys.readouterr().out
    assert len(shown.splitlines()) == len(DATASETS) + 3
    assert row_of(shown, "cifar10") == [
        "cifar10",
        "10",
        *("35,000", "/", "15,000", "/", "10,000"),
        str(root / "cifar-10-batches-py"),
    ]
    assert row_of(shown, "imbalanced-cifar10")[-1] == str(root / "cifar-10-batches-py")
    assert row_of(shown, "cifar100")[-1] == "-"
    assert row_of(shown, "iris")[-2:] == ["built", "in"]
    assert f"files are looked for in {root}" in shown


def test_list_looks_where_it_is_told(tmp_path, capsys):
    write_cifar10(tmp_path / "elsewhere" / "cifar10")
    assert run(["datasets", "--root", str(tmp_path / "elsewhere")]) == 0
    assert row_of(capsys.readouterr().out, "cifar10")[-1] == str(tmp_path / "elsewhere" / "cifar10")
    assert run(["datasets", "--root", str(tmp_path), "check", "iris"]) == 2  # instead of ignoring it


def test_check_tells_what_is_right_and_exits_with_0(root, published, capsys):
    published.rename(root)
    assert run(["datasets", "check", "mnist"]) == 0
    shown = capsys.readouterr().out
    assert f"{root / 'train-images-idx3-ubyte.gz'}: official file" in shown
    assert row_of(shown, "7") == ["7", "10", "3"]
    assert re.search(r"^all +100 +30$", shown, re.MULTILINE)
    assert "licence: CC BY-SA 3.0" in shown
    assert shown.endswith("all as published\n")


def test_check_tells_what_differs_and_exits_with_1(root, capsys):
    write_cifar10(root / "cifar10")
    assert run(["datasets", "check", "cifar10"]) == 1
    shown = capsys.readouterr().out
    assert f"{root / 'cifar10' / 'test_batch'}: not the official file" in shown
    assert "differs: train: 200 rows, where the official files have 50,000." in shown
    assert "as published" not in shown


def test_check_of_what_is_missing_exits_with_2_and_says_how_to_get_it(capsys):
    assert run(["datasets", "check", "bloodmnist", "--size", "128"]) == 2
    said = capsys.readouterr().err
    assert "bloodmnist_128.npz" in said
    assert "`worstclass datasets get bloodmnist --size 128`" in said
    assert "zenodo.org" in said


def test_check_without_known_checksums_says_so(root, capsys, monkeypatch):
    prefixes = {"train": "emnist-digits-train", "test": "emnist-digits-test"}
    write_idx_set(root / "emnist", prefixes, {"train": 100, "test": 30})
    sheet = registry.named_dataset("emnist", split="digits")
    small = dataclasses.replace(sheet, counts={"train": 100, "test": 30})
    monkeypatch.setitem(registry.DATASETS, "emnist", dataclasses.replace(sheet, vary=lambda split: small))
    assert run(["datasets", "check", "emnist", "--split", "digits"]) == 0
    assert "rows as published; no checksum is known of 4 file(s)" in capsys.readouterr().out


def test_unknown_names_and_options_are_told_with_a_suggestion(capsys):
    assert run(["datasets", "check", "cifar-10"]) == 2
    assert "Did you mean 'cifar10'?" in capsys.readouterr().err
    assert run(["datasets", "check", "cifar10", "--size", "64"]) == 2
    assert "'cifar10' has no option 'size'" in capsys.readouterr().err
    assert run(["datasets", "get", "retinamnist", "--size", "32"]) == 2
    assert "must be one of ['28', '64', '128', '224']" in capsys.readouterr().err


@pytest.fixture
def server(published):
    handler = type("Quiet", (SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(published)))
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_get_then_check_then_load(root, server, capsys):
    assert run(["datasets", "get", "mnist", "--from", server]) == 0
    shown = capsys.readouterr()
    assert shown.out.splitlines()[1:] == [str(root / "mnist" / file.name) for file in DATASETS["mnist"].downloads]
    assert "train-images-idx3-ubyte.gz" in shown.err  # a bar for each file
    assert sorted(path.name for path in (root / "mnist").iterdir()) == sorted(
        file.name for file in DATASETS["mnist"].downloads
    )
    assert run(["datasets", "check", "mnist"]) == 0
    assert len(registry.load_dataset("mnist").val) == 30
    capsys.readouterr()
    assert run(["datasets", "get", "mnist", "--from", server, "--quiet"]) == 0  # nothing to do
    assert capsys.readouterr().err == ""


def test_get_says_what_to_put_where_when_the_network_refuses(root, published, capsys):
    assert run(["datasets", "get", "mnist", "--from", "http://127.0.0.1:9", "--quiet"]) == 2
    said = capsys.readouterr().err
    assert "train-images-idx3-ubyte.gz could not be downloaded" in said
    assert "refused" in said
    assert f"put it into {root / 'mnist'}" in said


def test_get_of_what_needs_no_files_says_so(capsys):
    assert run(["datasets", "get", "iris"]) == 0
    assert "needs no files" in capsys.readouterr().out


def test_help_and_list_import_neither_torch_nor_scikit_learn():
    code = "import sys; from worstclass.cli.app import run; run({}); print([m in sys.modules for m in {}])"
    heavy = ["torch", "sklearn", "pandas", "matplotlib"]
    for arguments, modules in ((["datasets", "--help"], [*heavy, "numpy", "rich.progress"]), (["datasets"], heavy)):
        done = subprocess.run(
            [sys.executable, "-c", code.format(arguments, modules)], capture_output=True, text=True, check=True
        )
        assert done.stdout.splitlines()[-1] == str([False] * len(modules))
