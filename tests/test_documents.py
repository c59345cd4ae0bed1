"""README and docs do what they say: their Python examples run, their commands exist, their links lead somewhere."""

from __future__ import annotations

import doctest
import itertools
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from scipy import stats

from worstclass.cli.app import run

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted(ROOT.glob("docs/**/*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


#: an example, and the output that follows it if there is one; commands are no output
EXAMPLE = re.compile(
    r"^```python\n(.*?)^```\n(?:\s*^```\n(?!worstclass |make |python )(.*?)^```)?", re.MULTILINE | re.DOTALL
)


def blocks(language: str) -> list:
    found = []
    for document in DOCUMENTS:
        texts = [text for kind, text in BLOCK.findall(document.read_text()) if kind == language]
        found += [pytest.param(text, id=f"{document.name}-{n}") for n, text in enumerate(texts)]
    return found


def examples() -> list:
    """Return every Python example with its output, in which "..." stands for any lines; empty where none is shown.

    Those of the README are run by `make test`, the others by `make docs` and `make slow`.
    """
    return [
        pytest.param(
            code, output, id=f"{document.name}-{n}", marks=[] if document.name == "README.md" else pytest.mark.slow
        )
        for document in DOCUMENTS
        for n, (code, output) in enumerate(EXAMPLE.findall(document.read_text()))
    ]


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
    done = run_example(warns, tmp_path)
    assert "UnmetEdgeWarning: x" in done.stderr
    assert done.returncode == 1


def shows(wanted: str, got: str) -> bool:
    return doctest.OutputChecker().check_output(wanted, got, doctest.ELLIPSIS)


@pytest.mark.parametrize(("example", "output"), examples())
def test_python_examples_run_as_written_and_print_what_is_shown(example, output, tmp_path):
    done = run_example(example, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "worst" in done.stdout
    assert not output or shows(output, done.stdout), f"shown:\n{output}\nprinted:\n{done.stdout}"


def test_outputs_are_compared():
    shown = [param.values[1] for param in examples()]
    assert sum(map(bool, shown)) >= 6
    assert len(shown) == len(blocks("python"))
    assert shows("...\nworst 1%\n", "class\nworst 1%\n")
    assert not shows("...\nworst 1%\n", "class\nworst 2%\n")


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


def write_patients(file: Path, shift: float) -> None:
    """A table in which age tells nothing and size nearly all, with an id; rows of another ``shift`` are other rows."""
    lines = ["age,size,patient,diagnosis"]
    for i in range(1_000):
        malignant = i % 2 == (i % 101 > 0)
        size = (i * i) % 5 + 9 * (i % 2) + i / 2_000  # rows do not repeat
        lines.append(f"{i % 7 + shift},{size},{i % 100},{'malignant' if malignant else 'benign'}")
    file.write_text("\n".join(lines) + "\n")


@pytest.fixture(scope="module")
def fitted_model(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("fitted")
    write_patients(folder / "patients.csv", 0.0)
    fit = ["fit", str(folder / "patients.csv"), "--target", "diagnosis", "--theta", "0.8", "--quiet"]
    assert run([*fit, "--method", "ours-trees", "--out", str(folder / "model")]) == 0
    return folder / "model"


def runs_in_seconds(line: str) -> bool:
    """Tell commands on a table of one's own from those that train on the paper's data, or download; comparisons have
    a test of their own."""
    command, *rest = line.split()[1:]
    is_list = (command, *rest) in {("methods",), ("datasets",), ("reproduce",)}
    takes_table = any(
        word.endswith(".csv") for before, word in itertools.pairwise([command, *rest]) if before != "--out"
    )
    return is_list or "--scale smoke" in line or "own_method" in line or (command != "compare" and takes_table)


@pytest.mark.parametrize(
    "line", [line for line in commands() if line.startswith("worstclass") and runs_in_seconds(line)]
)
def test_documented_commands_run_as_written(line, tmp_path, monkeypatch, fitted_model, capsys):
    monkeypatch.chdir(tmp_path)
    command, *rest = shlex.split(line)[1:]
    for word in rest:
        if word.endswith(".csv"):
            write_patients(Path(word), 0.0 if command == "compact" else 0.5)  # compact takes the rows of the fit
    if "examples/" in line:
        shutil.copytree(ROOT / "examples", "examples")
    if "model" in rest and rest[rest.index("model") - 1] != "--out":
        shutil.copytree(fitted_model, "model")
    code = run([command, *rest])
    assert code == 0, capsys.readouterr().err
    for option, out in itertools.pairwise(rest):
        files = {"predict": Path(out), "compare": Path(out, "comparison.md")}
        written = files.get(command, Path(out, "model.json"))
        assert option != "--out" or written.is_file()


@pytest.mark.parametrize("line", [line for line in commands() if line.startswith("worstclass")])
def test_documented_options_exist(line, capsys):
    arguments = shlex.split(line)[1:]
    assert run([*arguments, "--help"]) == 0
    options = {word for word in arguments if word.startswith("--")}
    assert options <= set(re.findall(r"--[\w-]+", capsys.readouterr().out))


def anchors(document: Path) -> set[str]:
    """Return the anchors of headings, as Sphinx and GitHub make them."""
    headings = re.findall(r"^#{1,3} (.+)$", BLOCK.sub("", document.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(document: Path) -> list[str]:
    """Return the links of a document to files or headings that are not there."""
    broken = []
    for link in re.findall(r"\]\((?!https?:|mailto:)([^)\s]+)\)", BLOCK.sub("", document.read_text())):
        path, _, anchor = link.partition("#")
        target = document.parent / path if path else document
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    return broken


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_between_documents_lead_somewhere(document):
    assert not broken_links(document)


def test_broken_links_are_found(tmp_path):
    other = tmp_path / "other.md"
    other.write_text("# A title: `code`, and more\n")
    text = "# Here\n[a](other.md) [b](other.md#a-title-code-and-more) [c](#here) [d](https://example.org/#x)\n"
    text += "[e](none.md) [f](other.md#none) [g](#none)\n```\n[h](in-a-block.md)\n```\n"
    (tmp_path / "page.md").write_text(text)
    assert broken_links(tmp_path / "page.md") == ["none.md", "other.md#none", "#none"]


def test_every_page_is_in_the_navigation():
    docs = ROOT / "docs"
    trees = re.findall(r"^```\{toctree\}\n(.*?)^```", (docs / "index.md").read_text(), re.MULTILINE | re.DOTALL)
    lines = [line for tree in trees for line in tree.splitlines() if line and not line.startswith(":")]
    names = [line.split("<")[-1].rstrip(">") for line in lines]  # a title may stand before the name
    listed = {page for name in names for page in docs.glob(f"{name}.md")}
    assert {page for page in DOCUMENTS if docs in page.parents} - listed == {docs / "index.md"}


def test_the_rows_that_a_certificate_needs_are_those_of_the_table():
    text = (ROOT / "docs" / "certify-in-ci.md").read_text()
    lines = [line.replace(",", "").split("|")[1:-1] for line in text.splitlines() if line.startswith("| 0.")]
    assert len(lines) == 5
    for floor, *needed in lines:
        for wrong, n_rows in zip((0, 1, 2, 5), map(int, needed), strict=True):
            least = next(n for n in itertools.count(wrong) if stats.binom.cdf(wrong, n, 1 - float(floor)) <= 0.05)
            assert n_rows == least


def test_no_machine_path_is_named_anywhere():
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()
    for name in tracked:
        if Path(name).suffix in {".py", ".md", ".toml", ".txt", ".json", ""} and (ROOT / name).is_file():
            assert not re.search(r"(?<![\w.])/(work|root|home|tmp)/\w", (ROOT / name).read_text()), name
