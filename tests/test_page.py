"""The report page says what the results say, whatever the model and the names, and needs nothing but itself."""

from __future__ import annotations

import base64
import io
import json
import re

import numpy as np
import pandas as pd
import pytest
from pages import HOSTILE, bayes, blobs, boosted, page_of, plain, tables, write_results
from PIL import Image
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.naive_bayes import GaussianNB

from worstclass import AbstainingClassifier, WorstClassClassifier, WorstClassOffsets, certify, class_report
from worstclass.certificates.binomial import error_interval
from worstclass.cli.app import run
from worstclass.data.splits import Part
from worstclass.exceptions import ModelFormatError, WorstClassWarning
from worstclass.experiments.details import Details
from worstclass.experiments.paper import TARGETS
from worstclass.experiments.run import RunResult
from worstclass.metrics import ClassReport
from worstclass.report.page import write_page
from worstclass.report.rendering import _environment
from worstclass.report.verdict import report_verdict


def same_errors(page: str, report: ClassReport, rows: str) -> None:
    head, *cells = tables(page)[f"Errors by class, {rows}"]
    assert head[:2] == ["class", "error"]
    assert [(row[0], row[1]) for row in cells] == [(row.name, f"{row.error:.1%}") for row in report.rows]
    low, high = error_interval([row.total - row.correct for row in report.rows], [row.total for row in report.rows])
    assert [row[3] for row in cells] == [f"{a:.1%} – {b:.1%}" for a, b in zip(low, high, strict=True)]  # noqa: RUF001


@pytest.mark.parametrize("n_classes", [2, 12, 13, 200])
def test_numbers_are_those_of_the_results_from_2_to_200_classes(n_classes, tmp_path):
    result = bayes(tmp_path / "model", blobs(n_classes))
    page, found = page_of(tmp_path / "model"), tables(page_of(tmp_path / "model"))
    report = ClassReport.from_dict(result.test)
    same_errors(page, report, "test rows")
    by_part = {row[0]: row[1:] for row in found["Errors by part of the data"][1:]}
    for part, values in {"test rows": result.test, "training rows": result.training}.items():
        wanted = [values["worst_class"], *(f"{values[f'{e}_error']:.1%}" for e in ("worst", "class_mean", "plain"))]
        assert by_part[part][:4] == wanted
    details = Details.read(tmp_path / "model" / "results")
    assert sum(rows for _, _, rows in details.confusion) == details.n_rows == sum(row.total for row in report.rows)
    wrong = sum(rows for true, answer, rows in details.confusion if true != answer)
    assert wrong == sum(row.total - row.correct for row in report.rows)
    if n_classes <= 12:
        matrix = found["Rows by true class (lines) and by answer (columns)"][1:]
        assert sum(int(cell) for row in matrix for cell in row[1:]) == details.n_rows
        assert [int(row[k + 1]) for k, row in enumerate(matrix)] == [
            next((n for t, a, n in details.confusion if t == a == k), 0) for k in range(n_classes)
        ]
    else:
        assert page.count('<rect class="right"') + page.count('<rect class="wrong"') == len(details.confusion)
    assert len(page) < 400_000


def test_the_page_asks_for_nothing_and_runs_only_its_own_script(tmp_path):
    bayes(tmp_path / "model", blobs(3))
    page = page_of(tmp_path / "model")
    assert not re.search(r"(src|href|url\()\s*=?\s*[\"']?(https?:|//|file:)", page)
    policy = re.search(r'Content-Security-Policy" content="(.*?)"', page).group(1)
    assert policy.startswith("default-src 'none'; img-src data:;")
    assert re.search(r"script-src 'sha256-[\w+/]+='$", policy)


def test_hostile_names_of_classes_columns_and_data_are_shown_as_they_are(tmp_path):
    folder = tmp_path / "<b>model</b>"
    bayes(folder, blobs(4, HOSTILE))
    results = folder / "results"
    record = json.loads((results / "run.json").read_text())
    record["data"]["name"] = '<img src=x onerror="alert(1)">.csv'
    (results / "run.json").write_text(json.dumps(record))
    page = (write_page(folder)).read_text(encoding="utf-8")
    assert page.count("<script") == 1  # its own
    for raw in ("<i>width", "<b>&", "<img src=x", "<script>alert", "<b>model"):
        assert raw not in page
    assert "onmouseover='" not in page
    names = {row[0] for row in tables(page)["Errors by class, test rows"][1:]}
    assert names == {plain_name(name) for name in HOSTILE}
    assert {row[0] for row in tables(page)["Columns that matter"][1:]} == {"<i>width</i>", 'a "quoted" one', "plain"}
    assert "49" not in names


def plain_name(name: str) -> str:
    return " ".join(name.split())


def test_hostile_names_of_a_booster_do_not_end_the_data_of_the_slider(tmp_path):
    boosted(tmp_path / "model")
    results = tmp_path / "model" / "results"
    details = json.loads((results / "details.json").read_text())
    details["rounds"]["classes"] = HOSTILE[:3]
    (results / "details.json").write_text(json.dumps(details))
    page = write_page(tmp_path / "model").read_text(encoding="utf-8")
    data = re.search(r'id="rounds-data">(.*?)</script>', page, re.DOTALL).group(1)
    assert json.loads(data)["weights"] == details["rounds"]["weights"]
    assert "<b>&amp;" not in page


def test_a_booster_shows_its_rounds_its_prefix_and_its_regions(tmp_path):
    booster, result = boosted(tmp_path / "model")
    page = page_of(tmp_path / "model")
    rounds = Details.read(tmp_path / "model" / "results").rounds
    assert rounds.numbers == [record.round for record in booster.history_]
    assert rounds.weights[-1] == pytest.approx(booster.history_[-1].class_weight, abs=1e-6)
    assert rounds.errors["validation"][0][0] == booster.history_[0].validation.worst_error
    assert rounds.edges == [record.edge for record in booster.history_]
    assert f"edge of {rounds.needed:.3f}" in page
    assert 'type="range" id="round" min="0" max="' in page
    assert f"Edge {booster.history_[-1].edge:.3f}." in page
    same_errors(page, ClassReport.from_dict(result.test), "test rows")
    assert "Decision regions" in page
    assert page.count("<circle") == sum(row["total"] for row in result.test["classes"])
    changed = tables(page).get("What each step changed")
    used = booster.n_members_used_
    assert (changed is not None) == (used < len(booster.estimators_))
    if changed:
        before, after = booster.history_[-1].validation, booster.history_[used - 1].validation
        assert changed[1][1] == f"{before.worst_error:.1%} → {after.worst_error:.1%}"


def test_missing_parts_leave_out_their_sections(tmp_path):
    bayes(tmp_path / "model", blobs(3), details=False)
    page = page_of(tmp_path / "model")
    assert "Errors by class" in page
    for absent in ("Which class is taken", "Columns that matter", "Decision regions", 'id="round"', "Risk against"):
        assert absent not in page
    with pytest.raises(ModelFormatError, match="has no results to show"):
        write_page(tmp_path)


def test_a_record_of_an_older_version_is_read(tmp_path):
    bayes(tmp_path / "model", blobs(3), details=False)
    file = tmp_path / "model" / "results" / "run.json"
    record = json.loads(file.read_text())
    old = {key: record[key] for key in ("model", "data", "settings", "seed", "provenance", "seconds", "test")}
    file.write_text(json.dumps(old))
    assert RunResult.read(file.parent).training is None
    same_errors(write_page(tmp_path / "model").read_text(), ClassReport.from_dict(record["test"]), "test rows")


def test_damaged_details_are_refused_with_their_name(tmp_path):
    bayes(tmp_path / "model", blobs(3))
    (tmp_path / "model" / "results" / "details.json").write_text('{"part": 3}')
    with pytest.raises(ModelFormatError, match=r"details\.json cannot be read"):
        write_page(tmp_path / "model")


def test_a_class_that_misses_a_floor_that_is_not_there_is_damaged(tmp_path):
    splits = blobs(3)
    bayes(tmp_path / "model", splits)
    file = tmp_path / "model" / "results" / "run.json"
    report = class_report(splits.test.y, splits.test.y[::-1], theta=0.9).to_dict()
    report["classes"][0]["floor"] = None
    file.write_text(json.dumps({**json.loads(file.read_text()), "test": report}))
    with pytest.raises(ModelFormatError, match="cannot be shown, because they are damaged"):
        write_page(tmp_path / "model")


def test_numbers_below_a_chart_stand_where_they_belong():
    macros = _environment().get_template("macros.html").module
    chart = macros.chart([1, 2, 3, 4], [("a", [0.1, 0.2, 0.3, 0.4], "c0")], 0.4, "a", "round")
    assert re.findall(r'<text x="([\d.]+)" y="220" class="tick (\w*)">(\d+)<', chart) == [
        ("0.0", "", "1"),
        ("213.3", "mid", "2"),  # not in the middle, which is 2.5
        ("640.0", "end", "4"),
    ]
    chart = macros.chart([1, 2], [("a", [0.1, 0.2], "c0")], 0.4, "a", "round")
    assert re.findall(r'y="220" class="tick \w*">(\d+)<', chart) == ["1", "2"]


def test_example_images_are_those_of_the_largest_confusion():
    digits = load_digits()
    X = digits.images[:, None].astype(np.float32)

    class Flat(GaussianNB):
        def predict(self, X):
            return super().predict(np.reshape(X, (len(X), -1)))

    model = Flat().fit(digits.data, digits.target)
    details = Details.of(model, Part(X, digits.target), "rows")
    true, answer, _ = max((c for c in details.confusion if c[0] != c[1]), key=lambda cell: cell[2])
    assert (details.examples[0].true, details.examples[0].answer) == (str(true), str(answer))
    assert 1 <= len(details.examples) <= 16
    image = np.asarray(Image.open(io.BytesIO(base64.b64decode(details.examples[0].png))))
    answers = model.predict(X)
    first = X[np.flatnonzero((digits.target == true) & (answers == answer))[0], 0]
    spread = np.round(255 * (first - first.min()) / (first.max() - first.min()))
    np.testing.assert_array_equal(image, spread.astype(np.uint8))


def test_a_column_that_decides_matters_and_one_that_is_noise_does_not():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 200)
    X = np.column_stack([rng.normal(size=400), y + 0.4 * rng.normal(size=400)])
    model = GaussianNB().fit(X, y)
    found = Details.of(model, Part(X, y), "rows").importance
    assert list(found.rises) == ["column 2", "column 1"]
    assert found.rises["column 2"] > 0.25
    assert abs(found.rises["column 1"]) < 0.05
    own = np.flatnonzero(y == int(found.of_class))
    assert found.error == pytest.approx(np.mean(model.predict(X[own]) != y[own]))


def test_offsets_and_abstaining_say_what_they_changed_and_their_price():
    X, y = load_breast_cancer(return_X_y=True)
    offsets = WorstClassOffsets(GaussianNB()).fit(X, y)
    (change,) = Details.of(offsets, Part(X, y), "rows").changes
    before, after = offsets.validation_report_before_, offsets.validation_report_
    assert (change.step, change.worst) == ("offsets", (before.worst_error, after.worst_error))
    assert change.plain == (before.plain_error, after.plain_error)
    careful = AbstainingClassifier(GaussianNB(), risk=0.1).fit(X, y)
    details = Details.of(careful, Part(X, y), "rows")
    (change,) = details.changes
    report = careful.risk_report(X, y)
    assert (change.step, change.coverage) == ("abstaining", pytest.approx(report.coverage))
    assert change.worst[1] == pytest.approx(report.worst_risk)
    assert details.report is None
    assert sum(n for _, answer, n in details.confusion if answer == 2) == sum(
        r.total - r.answered for r in report.classes
    )


def test_a_certificate_changes_the_verdict(tmp_path):
    splits = blobs(2)
    bayes(tmp_path / "model", splits)
    assert "No floor set" in page_of(tmp_path / "model")
    X, y = load_breast_cancer(return_X_y=True)
    model = GaussianNB().fit(X[::2], y[::2])
    for floor, words in ((0.7, "Every class meets its floor, and that is proven."), (0.95, "not proven: ")):
        certificate = certify(model, X[1::2], y[1::2], require=floor)
        record = {**certificate.to_dict(), "data": "cancer.csv"}
        (tmp_path / "model" / "results" / "certificate.json").write_text(json.dumps(record))
        page = write_page(tmp_path / "model").read_text()
        assert words in plain(re.search(r"<h1.*?</h1>", page).group())
        cells = {row[0]: row for row in tables(page)["Certificate by class"][1:]}
        assert cells["1"][1] == f"{next(row for row in certificate.classes if row.name == '1').error:.1%}"


def test_held_out_rows_that_miss_a_floor_count_more_than_test_rows_that_do_not(tmp_path):
    splits = blobs(3)
    model = WorstClassClassifier([GaussianNB()], theta=0.999, cv=2, random_state=0)
    with pytest.warns(WorstClassWarning):
        model.fit(splits.train.X, splits.train.y)
    write_results(tmp_path / "model", model, splits)
    file = tmp_path / "model" / "results" / "run.json"
    all_right = class_report(splits.test.y, splits.test.y, theta=0.999).to_dict()
    file.write_text(json.dumps({**json.loads(file.read_text()), "test": all_right}))
    page = write_page(tmp_path / "model").read_text()
    said = plain(re.search(r"<h1.*?</h1>", page).group())
    assert re.search(r"miss(es)? (its|their) floor on the held-out rows", said)
    assert "The test rows show no class below its floor." in plain(page)


def test_verdicts_tell_observed_from_missed_and_seen_rows_from_new_ones():
    report = class_report([0, 0, 1, 1], [0, 0, 1, 0], theta={0: 0.9, 1: 0.4})
    said = report_verdict(report, "test rows", seen="", basis="", certify="worstclass certify m fresh.csv")
    assert (said.level, said.label) == ("fair", "Observed")
    assert said.headline == "All 2 classes meet their floor on the test rows. This is observed, not proven."
    assert said.command.endswith("--require 1=0.4 --require 0.9") or said.command.endswith(
        "--require 0=0.9 --require 0.4"
    )
    report = class_report([0, 0, 1, 1], [0, 0, 1, 0], theta=0.6)
    said = report_verdict(report, "training rows", seen="trained the model", basis="", certify="")
    assert (said.level, said.label) == ("bad", "Missed")
    assert (
        "1 of 2 classes misses its floor on the training rows: 1 (50.0% wrong, allowed below 40.0%)." in said.headline
    )
    assert "These rows trained the model" in said.basis


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A table, in a folder of its own, that the command line works on."""
    folder = tmp_path_factory.mktemp("page")
    splits = blobs(3)
    rows = splits.train.X.assign(kind=splits.train.y)
    many = [rows.assign(plain=rows["plain"] + shift) for shift in (0, 0.01, 0.02)]
    pd.concat(many).to_csv(folder / "rows.csv", index=False)
    rows.assign(plain=rows["plain"] + 0.5).to_csv(folder / "new.csv", index=False)
    return folder


def command(place, monkeypatch, *words: str) -> int:
    monkeypatch.chdir(place)
    return run(list(words))


def test_the_command_line_makes_pages_at_every_step(place, monkeypatch, capsys):
    fit = [
        "fit",
        "rows.csv",
        "--target",
        "kind",
        "--method",
        "logistic",
        "--val-share",
        "0.3",
        "--out",
        "model",
        "--quiet",
    ]
    assert command(place, monkeypatch, *fit) == 0
    assert capsys.readouterr().out.rstrip().endswith("report: model/results/report.html")
    result = RunResult.read(place / "model" / "results")
    same_errors(page_of(place / "model"), ClassReport.from_dict(result.test), "test rows")
    first = page_of(place / "model")
    assert run(["report", "model", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"report": "model/results/report.html"}
    assert page_of(place / "model") == first
    assert run(["report", "model", "rows.csv", "--target", "kind"]) == 0
    assert re.search(r"rows of rows\.csv \([\d,]+ of them seen before\)", page_of(place / "model"))
    same_errors(page_of(place / "model"), ClassReport.from_dict(result.test), "test rows")  # seen rows tell little
    assert run(["report", "model", "new.csv", "--target", "kind"]) == 0
    asked = ClassReport.from_dict(json.loads((place / "model" / "results" / "details.json").read_text())["report"])
    same_errors(page_of(place / "model"), asked, "rows of new.csv")
    offsets = ["offsets", "model", "rows.csv", "--target", "kind", "--val-share", "0.3", "--out", "tuned"]
    assert run([*offsets, "--allow-equal-rows"]) == 0
    page = page_of(place / "tuned")
    tuning = json.loads((place / "tuned" / "results" / "tuning.json").read_text())
    same_errors(page, ClassReport.from_dict(tuning["after"]), "rows that chose the offsets")
    change = tables(page)["What each step changed"][1]
    assert change[1] == f"{tuning['before']['worst_error']:.1%} → {tuning['after']['worst_error']:.1%}"


def test_a_comparison_has_a_page(place, monkeypatch, capsys):
    compare = [
        "compare",
        "rows.csv",
        "--target",
        "kind",
        "--methods",
        "logistic,forest",
        "--seeds",
        "2",
        "--out",
        "compared",
    ]
    assert command(place, monkeypatch, *compare, "--quiet") == 0
    assert "written: compared/report.html" in capsys.readouterr().out
    record = json.loads((place / "compared" / "comparison.json").read_text())
    cells = {row[0]: row for row in tables(page_of(place / "compared"))["Methods, best first"][1:]}
    assert "whether the differences are more than chance was not tested" in plain(page_of(place / "compared"))
    for row in record["rows"]:
        assert cells[row["method"]][2].startswith(f"{row['worst']['mean']:.1%}")
        assert cells[row["method"]][5] == f"{row['plain']['mean']:.1%}"


def test_a_reproduction_has_a_page(tmp_path):
    head = "table,row,group,metric,paper,here,standard_error,seeds,difference\n"
    (tmp_path / "cpu").mkdir()
    (tmp_path / "cpu" / "table1.csv").write_text(head + "table1,<b>Ours</b>,squares,Worst,28.1,30.04,1.0,2,1.94\n")
    page = write_page(tmp_path).read_text()
    assert tables(page)["table1"] == [["row", "squares: Worst"], ["<b>Ours</b>", "28.1 / 30.0 ± 1.0"]]
    assert f"{TARGETS['table1'].title[1:]}." in plain(page)
    assert "Errors in percent" in plain(page)
    (tmp_path / "cpu" / "table1.csv").unlink()
    (tmp_path / "cpu" / "fig-weights.png").write_bytes(b"a picture")
    page = plain(write_page(tmp_path).read_text())
    assert "fig-weights (cpu) Class weights over the rounds." in page
    assert "Errors in percent" not in page
