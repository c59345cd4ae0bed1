"""README and docs do what they say: their Python examples run, their commands exist, their links lead somewhere."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from worstclass.cli.app import run

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted(ROOT.glob("docs/**/*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(language: str) -> list:
    found = []
    for document in DOCUMENTS:
        texts = [text for kind, text in BLOCK.findall(document.read_text()) if kind == language]
        found += [pytest.param(text, id=f"{document.name}-{n}") for n, text in enumerate(texts)]
    return found


# `-W error::package.Category` is ignored where the package cannot be imported yet, so the filter is set inside
WARNINGS_FAIL = """
import warnings
from worstclass.exceptions import WorstClassWarning
warnings.simplefilter("error", WorstClassWarning)
"""


def run_example(example: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", WARNINGS_FAIL + example], capture_output=True, text=True, cwd=folder, check=False
    )


def test_an_example_that_warns_fails(tmp_path):
    warns = "import warnings; from worstclass.exceptions import UnmetEdgeWarning; warnings.warn('x', UnmetEdgeWarning)"
    assert "UnmetEdgeWarning: x" in run_example(warns, tmp_path).stderr
    assert run_example(warns, tmp_path).returncode == 1


@pytest.mark.parametrize("example", blocks("python"))
def test_python_examples_run_as_written(example, tmp_path):
    done = run_example(example, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "worst" in done.stdout


def commands() -> list[str]:
    lines = [line.strip() for param in blocks("") for line in param.values[0].splitlines()]
    return sorted({line.split("#")[0].strip() for line in lines if line.startswith(("worstclass ", "make "))})


def test_there_are_commands_to_check():
    assert any(line.startswith("worstclass fit") for line in commands())
    assert "make demo" in commands()


@pytest.mark.parametrize("line", [line for line in commands() if line.startswith("make")])
def test_documented_make_targets_exist(line):
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(line.split()[1:]) <= targets


@pytest.mark.parametrize("line", [line for line in commands() if line.startswith("worstclass")])
def test_documented_commands_are_accepted(line, tmp_path, monkeypatch, capsys):
    """Run each as written, on small stand-ins for the files it names; what trains for minutes is only parsed."""
    monkeypatch.chdir(tmp_path)
    arguments = shlex.split(line)[1:]
    if arguments[0] == "fit" and arguments[1].endswith(".csv"):
        rows = "\n".join(f"{i % 7},{(i * i) % 5 + 9 * (i % 2)},{'malignant' if i % 2 else 'benign'}" for i in range(60))
        Path(arguments[1]).write_text(f"age,size,diagnosis\n{rows}\n")
        assert run([*arguments, "--quiet"]) == 0
        assert Path("model", "run.json").is_file()
    else:
        assert run([*arguments, "--help"]) == 0
        options = {word for word in arguments if word.startswith("--")}
        assert options <= set(re.findall(r"--[\w-]+", capsys.readouterr().out))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_between_documents_lead_somewhere(document):
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", document.read_text()):
        assert (document.parent / target).exists(), target


def test_no_machine_path_is_named_anywhere():
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()
    for name in tracked:
        if Path(name).suffix in {".py", ".md", ".toml", ".txt", ".json", ""} and (ROOT / name).is_file():
            assert not re.search(r"(?<![\w.])/(work|root|home|tmp)/\w", (ROOT / name).read_text()), name
