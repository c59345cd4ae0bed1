"""The floor theta on exact integer counts: boundaries, mappings, refusals."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worstclass.exceptions import ParameterError, UnknownNameError
from worstclass.floors import Floors, exact_floor


def quotas(theta, total):
    floors = Floors.from_theta(theta, ["a"])
    return floors.member_quota([total]).item(), floors.vote_quota([total]).item()


@pytest.mark.parametrize(
    ("theta", "total", "member", "vote"),
    [
        (0.8, 5, 4, 5),  # 4/5 meets the floor, an error of exactly 1/5 is not below 1/5
        (0.7, 10, 7, 8),  # 0.7 * 10 is 6.999999999999999 in binary
        (0.75, 100, 75, 76),  # 25 errors earn a member its feedback, the vote needs 24 or fewer
        (0.07, 100, 7, 8),  # 0.07 * 100 is 7.000000000000001 in binary
        (0.29, 100, 29, 30),  # 0.29 * 100 is 28.999999999999996 in binary
        (0.1, 3, 1, 1),  # 0.3 rows asked for: one row is the least that will do, in both senses
        (0.3, 10, 3, 4),
        (0.5, 7, 4, 4),  # 3.5 rows: no boundary, so both quotas agree
        (0.999, 1000, 999, 1000),
        (0.9999, 10, 10, 10),
    ],
)
def test_quotas_on_exact_counts(theta, total, member, vote):
    assert quotas(theta, total) == (member, vote)


def test_floor_is_the_decimal_it_prints_as():
    # 0.1 * 3 is printed as 0.30000000000000004, which lies above 3/10: three rows of ten miss it
    assert quotas(0.1 * 3, 10) == (4, 4)


@pytest.mark.parametrize("theta", [0, 0.0, np.float64(0), np.int64(0)])
def test_floor_of_zero_is_met_by_any_member_but_the_vote_must_have_one_right(theta):
    assert quotas(theta, 10) == (0, 1)


@settings(deadline=None)
@given(st.integers(0, 999), st.integers(1, 10**6))
def test_quotas_equal_integer_arithmetic(thousandths, total):
    # the least m with m / n >= d / 1000, and the least v with v / n > d / 1000
    member, vote = -(-thousandths * total // 1000), thousandths * total // 1000 + 1
    assert quotas(thousandths / 1000, total) == (member, vote)


@settings(deadline=None)
@given(st.floats(0, 1, exclude_max=True), st.integers(1, 1000))
def test_member_quota_can_always_be_reached_and_vote_quota_is_at_most_one_more(theta, total):
    member, vote = quotas(theta, total)
    assert 0 <= member <= total
    assert 1 <= vote <= total
    assert member <= vote <= member + 1


def test_each_class_has_its_own_total_and_its_own_floor():
    floors = Floors.from_theta({"a": 0.5, "b": 0.8}, ["a", "b"])
    assert floors.member_quota([10, 10]).tolist() == [5, 8]
    assert floors.vote_quota(np.array([3, 5])).tolist() == [2, 5]
    assert floors.member_quota([10, 10]).dtype == np.int64


def test_one_total_a_class_is_needed():
    with pytest.raises(ValueError):
        Floors.from_theta(0.5, ["a", "b"]).member_quota([10])


def test_one_number_is_the_floor_of_every_class():
    assert Floors.from_theta(0.8, ["a", "b", "c"]).theta == (Fraction(4, 5),) * 3


def test_floats_come_back_as_they_were_given():
    assert Floors.from_theta({0: 0.1, 1: 0.7}, [0, 1]).as_floats() == (0.1, 0.7)


@pytest.mark.parametrize(
    ("theta", "exact"),
    [
        (0.8, Fraction(4, 5)),
        (np.float64(0.8), Fraction(4, 5)),
        (Fraction(1, 3), Fraction(1, 3)),
        (0, Fraction(0)),
    ],
)
def test_floor_is_read_exactly(theta, exact):
    assert exact_floor(theta) == exact


def test_single_precision_floor_is_read_as_the_decimal_it_prints_as():
    assert str(np.float32(0.8)) == "0.8"
    assert quotas(np.float32(0.8), 5) == (4, 5)


@pytest.mark.parametrize("theta", [1.0, 1, -0.1, float("nan"), float("inf"), "0.5", True, False, None, 0.5j, [0.5]])
def test_what_is_no_floor_is_refused(theta):
    with pytest.raises(ParameterError, match=r"'theta' parameter of WorstClassBooster.*\[0, 1\)") as caught:
        Floors.from_theta(theta, ["a"])
    assert caught.value.parameter == "theta"
    assert f"Got {theta!r} instead" in str(caught.value)


def test_refusal_names_its_owner():
    with pytest.raises(ParameterError, match="'theta' parameter of class_report"):
        Floors.from_theta(2, ["a"], owner="class_report")


def test_mapping_with_one_bad_floor_is_refused():
    with pytest.raises(ParameterError, match=r"Got 1\.5 instead"):
        Floors.from_theta({"a": 0.5, "b": 1.5}, ["a", "b"])


def test_mapping_is_read_in_the_order_of_the_classes():
    assert Floors.from_theta({"b": 0.2, "a": 0.1}, ["a", "b"]).as_floats() == (0.1, 0.2)


@pytest.mark.parametrize(
    ("keys", "classes"),
    [
        ([np.int64(3), np.int32(1)], np.array([3, 1])),
        ([3, 1], np.array([3, 1])),
        ([np.str_("x"), "y"], np.array(["x", "y"])),
        ([np.bool_(False), np.bool_(True)], np.array([False, True])),
    ],
)
def test_mapping_keys_may_be_plain_or_numpy_values(keys, classes):
    assert Floors.from_theta(dict(zip(keys, (0.1, 0.2), strict=True)), classes).as_floats() == (0.1, 0.2)


def test_others_is_the_floor_of_every_class_not_named():
    assert Floors.from_theta({"others": 0.9, "b": 0.2}, ["a", "b", "c"]).as_floats() == (0.9, 0.2, 0.9)
    assert Floors.from_theta({"others": 0.9}, [0, 1]).as_floats() == (0.9, 0.9)


def test_unknown_class_is_refused_with_a_suggestion():
    with pytest.raises(UnknownNameError, match=r"Got 'malignent' instead. Did you mean 'malignant'\?"):
        Floors.from_theta({"malignent": 0.9, "benign": 0.5}, ["benign", "malignant"])
    with pytest.raises(UnknownNameError, match=r"Did you mean 'others'\?"):
        Floors.from_theta({"a": 0.9, "other": 0.5}, ["a", "b"])


def test_number_for_a_class_named_by_text_is_told_apart():
    with pytest.raises(ParameterError, match=r"of which '0' is a text. Got 0 instead. Write '0' in place of 0"):
        Floors.from_theta({0: 0.9, "1": 0.5}, ["0", "1"])


def test_capital_letters_are_no_hindrance_to_a_suggestion():
    with pytest.raises(UnknownNameError, match=r"Did you mean 'a'\?"):
        Floors.from_theta({"A": 0.9, "others": 0.5}, ["a", "b"])


def test_a_class_named_others_stands_for_itself():
    assert Floors.from_theta({"a": 0.9, "others": 0.5}, ["a", "others"]).as_floats() == (0.9, 0.5)
    with pytest.raises(ParameterError, match="'others' is a class here"):
        Floors.from_theta({"others": 0.5}, ["a", "others"])


def test_missing_class_is_named_and_others_offered():
    with pytest.raises(ParameterError, match=r"without one: \['b', 'c'\].*'others'"):
        Floors.from_theta({"a": 0.5}, ["a", "b", "c"])
