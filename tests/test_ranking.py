"""The summary of a comparison and how it is shown: numbers by hand, resuming, Markdown, CSV, text and figure."""

import csv
import io
import itertools
import math
import random

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from scipy import stats

from worstclass.exceptions import ParameterError
from worstclass.experiments.cells import Cell, CellResult, run_cells
from worstclass.experiments.ranking import Comparison, Spread
from worstclass.experiments.run import Outcome, Provenance
from worstclass.metrics import ClassReport, ClassRow
from worstclass.report.figures import COLOURS, save_figure
from worstclass.report.ranking import comparison_csv, comparison_figure, comparison_markdown, comparison_text

HERE = Provenance(versions={"worstclass": "0"}, python="3.11", machine="Linux x86_64", commit="abc")


def report_of(wrong):
    """Classes a, b, ... with this many wrong; 100 rows in a and 50 in every other."""
    rows = [ClassRow("abcdef"[k], 100 if k == 0 else 50, (100 if k == 0 else 50) - n) for k, n in enumerate(wrong)]
    return ClassReport(tuple(sorted(rows, key=lambda row: -row.error)))


def done(method, seed, wrong, *, settings=None, data="toy", provenance=HERE, notes=(), **values):
    outcome, facts = Outcome(test=report_of(wrong), **values), {"provenance": provenance, "notes": notes}
    return CellResult.of(Cell(method, data, seed, settings or {}), outcome, seconds=1.0, **facts)


def failed(method, seed, error=None, **options):
    cell = Cell(method, "toy", seed, options.get("settings") or {})
    return CellResult.of(cell, error or ValueError("no luck"), seconds=0.1, provenance=HERE)


#: wrong rows of b, of 50, by seed; a has 10 of 100 wrong everywhere
WRONG = {"ours": [10, 11, 9, 10, 12], "ce": [25, 24, 27, 26, 25], "naive": [12, 10, 11, 11, 13]}


def some_results(wrong=None, **values):
    return [done(name, s, [10, n], **values) for name, row in (wrong or WRONG).items() for s, n in enumerate(row)]


def rows_by_name(comparison):
    return {row.method: row for row in comparison.rows}


# means, spreads, ranks


def test_means_and_deviations_by_hand():
    # b: 10, 15, 20 of 50 wrong: 0.2, 0.3, 0.4; a: 10 of 100; class mean 0.15, 0.2, 0.25; rows 20, 25, 30 of 150
    results = [done("ce", seed, [10, wrong]) for seed, wrong in enumerate([10, 15, 20])]
    (row,) = Comparison.from_results(results).rows
    assert (row.n_done, row.n_failed, row.rank) == (3, 0, 1)
    assert (row.worst.mean, row.worst.sd) == (pytest.approx(0.3), pytest.approx(0.1))
    assert row.worst.by_seed == {0: 0.2, 1: 0.3, 2: 0.4}
    assert (row.class_mean.mean, row.class_mean.sd) == (pytest.approx(0.2), pytest.approx(0.05))
    assert (row.plain.mean, row.plain.sd) == (pytest.approx(25 / 150), pytest.approx(5 / 150))


def test_the_deviation_is_that_of_a_sample():
    # of 0.1, 0.2, 0.2, 0.3: mean 0.2, squares 0.01 + 0.01, over n - 1 = 3
    assert Spread.of({0: 0.1, 1: 0.2, 2: 0.2, 3: 0.3}).sd == pytest.approx(math.sqrt(0.02 / 3))
    assert Spread.of({4: 0.5}).sd is None


def test_compute_is_the_mean_of_the_cells_that_have_it():
    results = [
        done("ours", 0, [0, 1], epochs=10, seconds=2.0, n_members=4),
        done("ours", 1, [0, 1], epochs=21, seconds=5.0, n_members=None),
        done("forest", 0, [0, 1], seconds=1.0),
        done("forest", 1, [0, 1], seconds=1.0),
    ]
    rows = rows_by_name(Comparison.from_results(results))
    assert (rows["ours"].epochs, rows["ours"].seconds, rows["ours"].n_members) == (15.5, 3.5, 4)
    assert (rows["forest"].epochs, rows["forest"].n_members) == (None, None)


def test_methods_are_ranked_by_mean_worst_error_and_equals_share_a_rank():
    results = some_results({"d": [30, 30], "c": [10, 20], "b": [20, 10], "a": [16, 16]})
    comparison = Comparison.from_results(results)
    assert [(row.method, row.rank) for row in comparison.rows] == [("b", 1), ("c", 1), ("a", 3), ("d", 4)]
    assert comparison.best == "b"


def test_a_method_with_fewer_seeds_is_last_and_not_ranked():
    results = [*some_results(), done("lucky", 0, [0, 1]), failed("lucky", 1), failed("broken", 0)]
    comparison = Comparison.from_results(results)
    assert [(row.method, row.rank) for row in comparison.rows] == [
        ("ours", 1),
        ("naive", 2),
        ("ce", 3),
        ("lucky", None),
        ("broken", None),
    ]
    lucky, broken = comparison.rows[-2:]
    assert (lucky.n_done, lucky.n_failed, lucky.worst.mean) == (1, 1, 0.02)
    assert (broken.n_done, broken.n_failed, broken.worst, broken.seconds) == (0, 1, None, None)
    assert comparison.best == "ours"


# tests


def test_methods_are_tested_against_the_reference_and_the_best():
    comparison = Comparison.from_results(some_results(), reference="naive")
    assert (comparison.reference, comparison.best) == ("naive", "ours")
    assert [(test.a, test.b) for test in comparison.against_reference] == [("ours", "naive"), ("ce", "naive")]
    assert [(test.a, test.b) for test in comparison.against_best] == [("naive", "ours"), ("ce", "ours")]
    assert len(comparison.pairs) == 3
    ce = comparison.against_reference[1]
    expected = stats.ttest_rel([n / 50 for n in WRONG["ce"]], [n / 50 for n in WRONG["naive"]])
    assert (ce.n, ce.p) == (5, pytest.approx(expected.pvalue))
    assert ce.mean_difference == pytest.approx((25.4 - 11.4) / 50)
    assert ce.p_corrected == pytest.approx(2 * ce.p)
    assert ce.significant
    # of the three pairs, ce and naive have the least p and ce and ours the second
    factors = {(test.a, test.b): test.p_corrected / test.p for test in comparison.pairs}
    assert factors == pytest.approx({("ce", "naive"): 3, ("ce", "ours"): 2, ("naive", "ours"): 1})


@pytest.mark.parametrize("reference", [None, "absent", "broken"])
def test_without_the_reference_methods_are_tested_against_the_best(reference):
    comparison = Comparison.from_results([*some_results(), failed("broken", 0)], reference=reference)
    assert (comparison.reference, comparison.against_reference) == (None, ())
    assert [(test.a, test.b) for test in comparison.against_best] == [("naive", "ours"), ("ce", "ours")]
    text = comparison_text(comparison)
    assert "† from ours, the best here (corrected for 3 pairs)" in " ".join(text.split())
    assert "*" not in text


def test_only_seeds_that_both_have_are_compared():
    results = [*some_results(), done("part", 1, [10, 20]), done("part", 3, [10, 22]), failed("part", 0)]
    test = next(test for test in Comparison.from_results(results).against_reference if test.a == "part")
    assert (test.n, test.p) == (2, None)
    assert test.mean_difference == pytest.approx((20 + 22 - 11 - 10) / 2 / 50)


# what the claim is conditional on


def resplit(change, n_train=300):
    """The results of WRONG, on seeds that change the data as told; the 150 test rows are half as many as the others."""
    return some_results(settings={"seeds_change": change}, n_train=n_train)


def test_re_splits_are_tested_by_the_corrected_test_and_draws_by_the_plain_one():
    plain, corrected = (Comparison.from_results(resplit(change)) for change in ("draws", "resplits"))
    assert (plain.test_to_train, corrected.test_to_train) == (None, 0.5)
    assert plain == Comparison.from_results(resplit("draws", n_train=None))
    for before, after in zip(plain.pairs, corrected.pairs, strict=True):
        assert after.t == pytest.approx(before.t / math.sqrt(1 + 5 * 0.5))
    fixed = Comparison.from_results(resplit("fixed-test"))
    assert fixed.pairs == corrected.pairs


@pytest.mark.parametrize(
    ("change", "test", "claim"),
    [
        ("draws", "t-test", "over independent draws of the data"),
        ("resplits", "corrected resampled t-test", "for this data set, over re-splits of its rows."),
        ("fixed-test", "corrected resampled t-test", "for this fixed test set, over random starts and re-splits"),
    ],
)
def test_the_table_says_what_the_claim_is_conditional_on(change, test, claim):
    comparison = Comparison.from_results(resplit(change))
    markdown, text = comparison_markdown(comparison), " ".join(comparison_text(comparison).split())
    for shown_text in (markdown, text):
        shown_text = shown_text.replace("\\", "")
        ratio = "" if change == "draws" else " with n_test/n_train = 0.5"
        assert f"Two-sided {test}{ratio}, paired over seeds;" in shown_text
        assert f"The claim holds {claim}" in shown_text


def test_cells_that_do_not_know_their_training_rows_are_tested_as_if_half_of_the_rows_tested():
    assert Comparison.from_results(resplit("resplits", n_train=None)).test_to_train == 1


def test_methods_whose_seeds_change_different_things_are_tested_with_care():
    mixed = [*resplit("draws")[:10], *resplit("resplits")[10:]]
    assert Comparison.from_results(mixed).seeds_change == "resplits"


# failures, notes, settings, provenance


def test_failures_and_notes_are_listed():
    results = [
        done("ours", 0, [0, 1], notes=["bound missed"]),
        done("ours", 1, [0, 1], notes=["bound missed", "slow"]),
        failed("ib", 1, RuntimeError("no head")),
        failed("ib", 0),
    ]
    comparison = Comparison.from_results(results)
    assert [(note.method, note.seeds, note.text) for note in comparison.failures] == [
        ("ib", (0,), "ValueError: no luck"),
        ("ib", (1,), "RuntimeError: no head"),
    ]
    assert [(note.seeds, note.text) for note in comparison.notes] == [((0, 1), "bound missed"), ((1,), "slow")]


def test_settings_are_kept_by_method_and_shown_once_for_equal_ones():
    plain, other = {"budget": {"epochs": 5}}, {"budget": {"epochs": 5}, "options": {"gamma": 2}}
    results = [done(name, 0, [0, 1], settings=plain) for name in ("ce", "wce")]
    comparison = Comparison.from_results([*results, done("focal", 0, [0, 1], settings=other)])
    assert comparison.settings == {"ce": plain, "focal": other, "wce": plain}
    assert '- settings of ce, wce: `{"budget": {"epochs": 5}}`' in comparison_markdown(comparison).splitlines()


def test_cells_of_several_versions_are_told():
    later = HERE.model_copy(update={"commit": "def"})
    results = [done("ce", 0, [0, 1]), done("ce", 1, [0, 1], provenance=later), done("ours", 0, [0, 1])]
    comparison = Comparison.from_results(results)
    assert [made.commit for made in comparison.provenance] == ["abc", "def"]
    assert "not all made by the same versions" in comparison_markdown(comparison)
    assert "not all made by the same versions" not in comparison_markdown(Comparison.from_results(results[:1]))


def test_the_order_of_the_results_does_not_matter():
    results = [*some_results(), failed("ib", 0), failed("ib", 1), done("ce", 9, [0, 1], notes=["x"])]
    shuffled = random.Random(0).sample(results, len(results))
    assert shuffled != results
    assert Comparison.from_results(shuffled) == Comparison.from_results(results)


def test_a_comparison_survives_json():
    comparison = Comparison.from_results([*some_results(notes=["n"]), failed("ib", 0)])
    assert Comparison.model_validate_json(comparison.model_dump_json()) == comparison


def test_results_that_are_not_one_comparison_are_refused():
    one = done("ce", 0, [0, 1])
    with pytest.raises(ParameterError, match=r"cells of one data set, at least one. Got \[\]"):
        Comparison.from_results([])
    with pytest.raises(ParameterError, match=r"one data set.*\['iris', 'toy'\]"):
        Comparison.from_results([one, done("ce", 1, [0, 1], data="iris")])
    with pytest.raises(ParameterError, match=r"each method and seed once. Got \[\('ce', 0\)\]"):
        Comparison.from_results([one, one])
    with pytest.raises(ParameterError, match=r"same settings for all seeds of a method. Got \['ce'\]"):
        Comparison.from_results([one, done("ce", 1, [0, 1], settings={"budget": 3}), done("ours", 0, [0, 1])])


# resumed is uninterrupted


def shown(comparison):
    return comparison_markdown(comparison), comparison_csv(comparison), comparison_text(comparison)


def test_an_interrupted_and_resumed_comparison_gives_the_same_table(tmp_path):
    cells = [Cell(name, "toy", seed, {"budget": 1}) for seed in range(2) for name in ("ours", "ce")] + [
        Cell("ib", "toy", 0, {"budget": 1})
    ]

    def run(cell, stop_at=None):
        if (cell.method, cell.seed) == stop_at:
            raise KeyboardInterrupt
        if cell.method == "ib":
            raise ValueError("no head")
        return Outcome(test=report_of([10, WRONG[cell.method][cell.seed]]), epochs=3, seconds=2.5)

    with pytest.raises(KeyboardInterrupt):
        run_cells(cells, lambda cell: run(cell, stop_at=("ours", 1)), tmp_path / "resumed")
    assert len(list((tmp_path / "resumed").iterdir())) == 2  # the third of five was interrupted
    resumed = Comparison.from_results(run_cells(cells, run, tmp_path / "resumed"))
    whole = Comparison.from_results(run_cells(cells, run, tmp_path / "whole"))
    assert resumed == whole
    assert shown(resumed) == shown(whole)
    assert [row.n_done for row in whole.rows] == [2, 2, 0]


# Markdown


def test_markdown_shows_percent_deviation_marks_and_the_best():
    text = comparison_markdown(Comparison.from_results(some_results(epochs=20, seconds=12.34, n_members=7)))
    lines = text.splitlines()
    assert lines[0] == "# toy: 3 methods, 5 seeds"
    # ours: 10.4 of 50 on average, deviation sqrt(5.2 / 4) / 50; plain 20.4 of 150
    assert "| 1 | **ours** | 5 | 20.8 ± 2.3 | 15.4 ± 1.1 | 13.6 ± 0.8 | 20 | 12.3 | 7 |" in lines
    assert "| 3 | ce | 5 | 50.8 ± 2.3 \\* | 30.4 ± 1.1 | 23.6 ± 0.8 | 20 | 12.3 | 7 |" in lines
    reading = next(line for line in lines if "Marks of a significant difference" in line)
    assert "mean ± standard deviation over 5 seeds" in reading
    assert (
        r"Marks of a significant difference of the worst-class error: \* from ours (corrected for 2 tests)." in reading
    )
    assert "p at most 0.05 after Holm's correction" in reading
    assert "†" not in text  # the best is the reference


def test_markdown_marks_differences_from_a_best_that_is_not_the_reference():
    wrong = {"ours": [20, 21, 19, 20, 22], "ce": [25, 24, 27, 26, 25], "naive": [2, 3, 1, 2, 4]}
    results = [done(name, seed, [0, n]) for name, row in wrong.items() for seed, n in enumerate(row)]
    text = comparison_markdown(Comparison.from_results(results))
    lines = text.splitlines()
    assert any(line.startswith("| 1 | **naive** | 5 | 4.8 ± 2.3 |") for line in lines)
    assert any(line.startswith("| 3 | ce | 5 | 50.8 ± 2.3 \\*† |") for line in lines)
    assert "† from naive, the best here (corrected for 2 pairs)" in text
    # ours is naive plus 18 rows on every seed: no variance, so there is no t-test
    assert "| ours | naive | 5 | +36.0 | not testable | - |" in lines


def test_markdown_has_every_method_failure_note_and_setting():
    results = [
        *some_results(settings={"budget": {"epochs": 5}}, notes=["bound *missed*"]),
        failed("ib", 0, RuntimeError("no | head\nin `net`"), settings={"options": {"a": 1}}),
        failed("ib", 1, RuntimeError("no | head\nin `net`"), settings={"options": {"a": 1}}),
    ]
    comparison = Comparison.from_results(results)
    lines = comparison_markdown(comparison).splitlines()
    table = [line for line in lines if line.startswith("|")]
    for row in comparison.rows:
        assert any(f" {row.method} |" in line or f"**{row.method}** |" in line for line in table), row.method
    assert "| - | ib | 0 of 5 | - | - | - | - | - | - |" in lines
    assert r"- ib, seeds 0, 1: RuntimeError: no \| head in \`net\`" in lines
    assert "- ours, seeds 0, 1, 2, 3, 4: bound \\*missed\\*" in lines
    assert '- settings of ce, naive, ours: `{"budget": {"epochs": 5}}`' in lines
    assert '- settings of ib: `{"options": {"a": 1}}`' in lines
    assert lines[-1] == "- Python 3.11 on Linux x86_64, worstclass 0, commit abc"


def test_names_cannot_break_the_table():
    comparison = Comparison.from_results([done("a|b\nc_*", 0, [0, 1]), done("ours", 0, [0, 2])])
    table = [line for line in comparison_markdown(comparison).splitlines() if line.startswith("| 1 ")]
    assert table == ["| 1 | **a\\|b c\\_\\*** | 1 | 2.0 | 1.0 | 0.7 | - | 1 | - |"]
    assert comparison_text(comparison).splitlines()[1].split() == [
        "1",
        "a|b",
        "c_*",
        "1",
        "2.0",
        "1.0",
        "0.7",
        "-",
        "1",
        "-",
    ]


def test_one_seed_is_shown_without_spread_or_test():
    text = comparison_markdown(Comparison.from_results([done("ours", 0, [0, 5]), done("ce", 0, [0, 10])]))
    assert "±" not in text
    assert "No difference could be tested" in text
    assert "| ce | ours | 1 | +10.0 | not testable | - |" in text


def test_one_method_needs_no_test():
    text = comparison_markdown(Comparison.from_results([done("ours", seed, [0, 5 + seed]) for seed in range(3)]))
    assert "## Differences" not in text
    assert "could be tested" not in text


# text


def test_text_is_aligned_and_says_what_failed():
    text = comparison_text(Comparison.from_results([*some_results(), failed("ib", 2)]))
    lines = text.splitlines()
    table = lines[:5]
    assert [line.split()[1] for line in table] == ["method", "ours", "naive", "ce", "ib"]
    ends = [lines[0].index("all rows") + len("all rows")] * 3
    assert [line.index(" ± 0.8") + len(" ± 0.8") for line in table[1:4]] == ends
    assert len({line.index("±") for line in table[1:4]}) == 1
    assert "50.8 ± 2.3 *" in table[3]
    assert lines[-1] == "failed: ib, seed 2: ValueError: no luck"
    assert max(len(line) for line in lines) <= max(80, max(len(line) for line in table))


# CSV


def test_csv_parses_back_to_the_numbers():
    comparison = Comparison.from_results([*some_results(epochs=20, n_members=7), failed("ib, too", 0)])
    rows = list(csv.DictReader(io.StringIO(comparison_csv(comparison))))
    assert [row["method"] for row in rows] == ["ours", "naive", "ce", "ib, too"]
    for row, original in zip(rows[:3], comparison.rows, strict=False):
        for metric in ("worst", "class_mean", "plain"):
            spread = getattr(original, metric)
            shown_values = [float(row[f"{metric}_{name}"]) for name in ("mean", "sd")]
            assert shown_values == [spread.mean, spread.sd]
        assert (int(row["rank"]), int(row["seeds_done"]), float(row["epochs"])) == (original.rank, 5, 20)
        assert (float(row["seconds"]), float(row["members"])) == (1, 7)
    ce = comparison.against_reference[1]
    assert (rows[2]["reference"], float(rows[2]["reference_p"])) == ("ours", ce.p)
    assert float(rows[2]["reference_p_corrected"]) == ce.p_corrected
    assert (rows[2]["reference_significant"], rows[0]["reference_significant"]) == ("True", "")
    assert (rows[3]["rank"], rows[3]["worst_mean"], rows[3]["seeds_failed"]) == ("", "", "1")


# figure


def test_the_figure_shows_every_method_in_order_with_its_seeds(tmp_path):
    comparison = Comparison.from_results([*some_results(), done("part", 0, [0, 1]), failed("ib", 0)])
    figure = comparison_figure(comparison)
    (axes,) = figure.axes
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels == ["ours", "naive", "ce", "part (1 of 5)", "ib (0 of 5)"]
    assert axes.yaxis.get_inverted()
    plain, mean, seeds = axes.lines[:3]
    assert sorted(seeds.get_xdata()) == pytest.approx([0.18, 0.2, 0.2, 0.22, 0.24])
    assert [mark.get_xdata()[0] for mark in (mean, plain)] == pytest.approx([0.208, 0.136])
    assert [mark.get_color() for mark in axes.lines[1:5:3]] == [COLOURS[4], COLOURS[0]]
    assert [text.get_text() for text in axes.texts] == ["no result"]
    assert axes.xaxis.get_major_formatter()(0.2) == "20%"
    assert save_figure(figure, tmp_path / "figure.png").stat().st_size > 0


@pytest.mark.parametrize("n_methods", [1, 3, 25])
def test_names_legend_and_marks_do_not_overlap(n_methods):
    names = ["ours", *(f"method-{k}" + "-with-a-long-name" * (k % 3) for k in range(n_methods - 1))]
    results = [done(name, seed, [0, 3 + k + seed]) for k, name in enumerate(names) for seed in range(3)]
    figure = comparison_figure(Comparison.from_results(results, reference=names[-1]))
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    (axes,), (legend,) = figure.axes, figure.legends
    renderer = canvas.get_renderer()
    ticks = [label.get_window_extent(renderer) for label in axes.get_yticklabels()]
    assert all(upper.y0 > lower.y1 for upper, lower in itertools.pairwise(ticks))
    inside = figure.bbox
    for box in (*ticks, legend.get_window_extent(renderer)):
        assert inside.x0 <= box.x0
        assert box.x1 <= inside.x1
        assert box.y1 <= inside.y1
    assert legend.get_window_extent(renderer).y0 >= axes.get_window_extent(renderer).y1
    assert all(box.x1 <= axes.get_window_extent(renderer).x0 for box in ticks)


def test_nothing_done_is_shown_as_such(tmp_path):
    comparison = Comparison.from_results([failed("ce", 0), failed("ours", 0)])
    assert (comparison.best, comparison.pairs) == (None, ())
    assert "| - | ce | 0 of 1 |" in comparison_markdown(comparison)
    assert comparison_csv(comparison).count("\n") == 3
    figure = comparison_figure(comparison)
    save_figure(figure, tmp_path / "figure.png")
    assert [text.get_text() for text in figure.axes[0].texts] == ["no result", "no result"]


def test_errors_of_zero_have_an_axis():
    figure = comparison_figure(Comparison.from_results([done("ours", 0, [0, 0])]))
    assert figure.axes[0].get_xlim()[1] > 0
