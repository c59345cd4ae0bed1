"""The trees of a forest as a few arrays: nothing is lost, files are small, and arrays that do not fit are refused."""

from __future__ import annotations

import zipfile

import numpy as np
import pytest
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from worstclass.exceptions import ModelFormatError
from worstclass.storage import files
from worstclass.storage.stacked_trees import StackedTrees, stacked, unstacked

FORESTS = {
    "forest": RandomForestClassifier(4, class_weight="balanced", random_state=0),
    "extra trees": ExtraTreesClassifier(4, max_depth=3, random_state=1),
    "bagged trees": BaggingClassifier(DecisionTreeClassifier(), 4, random_state=2),
    "forest in a pipeline": make_pipeline(StandardScaler(), RandomForestClassifier(4, random_state=3)),
    "histogram trees": HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=5, random_state=4),
    "histogram trees with categories": HistGradientBoostingClassifier(
        max_iter=3, categorical_features=[1], min_samples_leaf=5, random_state=5
    ),
    "bagged forests": BaggingClassifier(RandomForestClassifier(2), 2, random_state=6),
}


@pytest.fixture
def rows(blobs):
    X, y = blobs
    return np.column_stack([X[:, 0], np.round(np.abs(X[:, 1]))]), y


@pytest.mark.parametrize("name", FORESTS)
def test_a_forest_comes_back_as_it_was(name, rows, tmp_path):
    model = FORESTS[name].fit(*rows)
    before = model.predict_proba(rows[0])
    files.write_sklearn(model, tmp_path / "a.skops")
    again = files.read_sklearn(tmp_path / "a.skops", ())
    np.testing.assert_array_equal(again.predict_proba(rows[0]), before)
    np.testing.assert_array_equal(model.predict_proba(rows[0]), before)


def test_every_tree_has_its_own_arrays_and_seed(rows, tmp_path):
    model = RandomForestClassifier(5, random_state=0).fit(*rows)
    files.write_sklearn(model, tmp_path / "a.skops")
    again = files.read_sklearn(tmp_path / "a.skops", ())
    assert [tree.random_state for tree in again.estimators_] == [tree.random_state for tree in model.estimators_]
    assert len({tree.random_state for tree in again.estimators_}) == 5
    for tree, other in zip(model.estimators_, again.estimators_, strict=True):
        assert tree.get_depth() == other.get_depth()
        for own, read in zip(tree.tree_.__getstate__().values(), other.tree_.__getstate__().values(), strict=True):
            np.testing.assert_array_equal(own, read)


@pytest.mark.parametrize(
    "model",
    [RandomForestClassifier(50, random_state=0), HistGradientBoostingClassifier(max_iter=25, min_samples_leaf=5)],
    ids=["forest", "histogram trees"],
)
def test_the_number_of_entries_does_not_grow_with_the_trees(model, rows, tmp_path):
    files.write_sklearn(model.fit(*rows), tmp_path / "a.skops")
    with zipfile.ZipFile(tmp_path / "a.skops") as archive:
        assert len(archive.namelist()) < 30


def test_stages_are_kept_apart(rows):
    model = HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=5).fit(*rows)
    n_classes = len(model.classes_)
    assert n_classes > 2
    found = unstacked(stacked(model))._predictors
    assert [len(stage) for stage in found] == [n_classes] * 3
    np.testing.assert_array_equal(found[2][1].nodes, model._predictors[2][1].nodes)


def test_the_model_itself_stays_as_it_is(rows):
    model = make_pipeline(StandardScaler(), RandomForestClassifier(3, random_state=0)).fit(*rows)
    trees = list(model[-1].estimators_)
    changed = stacked(model)
    assert isinstance(changed[-1].estimators_, StackedTrees)
    assert changed[0].mean_ is model[0].mean_  # arrays are shared
    assert all(tree is other for tree, other in zip(model[-1].estimators_, trees, strict=True))


def test_trees_that_differ_in_more_than_arrays_are_written_one_by_one(rows):
    model = RandomForestClassifier(3, random_state=0).fit(*rows)
    model.estimators_[1].max_depth = 7
    assert stacked(model) is model


@pytest.mark.parametrize("values", [(1, 1.0), (1.0, True)])
def test_parameters_of_another_type_are_kept(values, rows, tmp_path):
    """1 and 1.0 are equal, but as `max_features` they are one column and all columns."""
    model = RandomForestClassifier(2, random_state=0).fit(*rows)
    for tree, value in zip(model.estimators_, values, strict=True):
        tree.max_features = value
    files.write_sklearn(model, tmp_path / "a.skops")
    again = files.read_sklearn(tmp_path / "a.skops", ())
    assert [type(tree.max_features) for tree in again.estimators_] == [type(value) for value in values]


def test_more_trees_than_a_stack_may_have_are_written_one_by_one(rows, tmp_path, monkeypatch):
    model = HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=5).fit(*rows)
    monkeypatch.setattr("worstclass.storage.stacked_trees.MOST_TREES", 8)
    assert stacked(model) is model  # 9 trees
    files.write_sklearn(model, tmp_path / "a.skops")
    again = files.read_sklearn(tmp_path / "a.skops", ())
    np.testing.assert_array_equal(again.predict_proba(rows[0]), model.predict_proba(rows[0]))


def test_an_estimator_that_stands_in_two_places_is_still_one(rows, tmp_path):
    members = [("a", RandomForestClassifier(3, random_state=0)), ("b", RandomForestClassifier(3, random_state=1))]
    files.write_sklearn(VotingClassifier(members).fit(*rows), tmp_path / "a.skops")
    again = files.read_sklearn(tmp_path / "a.skops", ())
    assert again.estimators_[0] is again.named_estimators_["a"]
    assert isinstance(again.estimators_[0].estimators_, list)


def test_trees_that_stand_in_two_places_are_written_one_by_one(rows, tmp_path):
    model = VotingClassifier([(name, DecisionTreeClassifier(random_state=0)) for name in "ab"]).fit(*rows)
    assert stacked(model) is model


def test_training_goes_on_after_loading(rows, tmp_path):
    model = RandomForestClassifier(3, warm_start=True, random_state=0).fit(*rows)
    files.write_sklearn(model, tmp_path / "a.skops")
    again = files.read_sklearn(tmp_path / "a.skops", ())
    for each in (model, again):
        each.set_params(n_estimators=6).fit(*rows)
    np.testing.assert_array_equal(again.predict_proba(rows[0]), model.predict_proba(rows[0]))


def test_one_tree_is_written_as_it_is(rows):
    model = RandomForestClassifier(1, random_state=0).fit(*rows)
    assert stacked(model) is model


class TestRefused:
    @pytest.fixture
    def forest(self, rows):
        return stacked(RandomForestClassifier(5, random_state=0).fit(*rows))

    @pytest.fixture
    def boosted(self, rows):
        return stacked(HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=5).fit(*rows))

    def refused(self, model, tmp_path, message):
        files.write_sklearn(model, tmp_path / "a.skops")
        with pytest.raises(ModelFormatError, match=message):
            files.read_sklearn(tmp_path / "a.skops", ())

    def test_lengths_that_do_not_add_up(self, forest, tmp_path):
        forest.estimators_.lengths["nodes"][0] += 1
        self.refused(forest, tmp_path, "other lengths than it says")

    def test_lengths_whose_sum_overflows(self, forest, tmp_path):
        lengths = forest.estimators_.lengths["values"]
        lengths[:] = [2**62] * 4 + [len(forest.estimators_.arrays["values"])]
        assert lengths.sum() == lengths[4]  # 2**64 is 0 for 64 bits
        self.refused(forest, tmp_path, "other lengths than it says")

    def test_arrays_that_are_shared(self, forest, rows, tmp_path):
        other = stacked(RandomForestClassifier(3, random_state=1).fit(*rows))
        other.estimators_.arrays = forest.estimators_.arrays
        other.estimators_.lengths = forest.estimators_.lengths
        both = VotingClassifier([("a", forest), ("b", other)])
        both.estimators_ = [forest, other]
        self.refused(both, tmp_path, "share their arrays")

    def test_a_tree_with_many_attributes(self, forest, tmp_path):
        vars(forest.estimators_.first).update({f"more_{number}": 0 for number in range(100)})
        self.refused(forest, tmp_path, "an unknown kind")

    def test_arrays_of_other_names(self, boosted, tmp_path):
        boosted._predictors.first.more = np.zeros(3)
        self.refused(boosted, tmp_path, "an unknown kind")

    @pytest.mark.parametrize("place", ["list", "dictionary", "attribute"])
    def test_stacked_trees_elsewhere(self, place, forest, tmp_path):
        scaler, stack = StandardScaler(), forest.estimators_
        scaler.other = {"list": [stack], "dictionary": {"a": stack}, "attribute": stack}[place]
        self.refused(scaler, tmp_path, "where no forest has trees")

    @pytest.mark.parametrize("width", [-3, 0, None, "3"])
    def test_stages_of_no_length(self, width, boosted, tmp_path):
        boosted._predictors.width = width
        self.refused(boosted, tmp_path, "stages with different numbers of trees")

    def test_no_trees(self, forest, tmp_path):
        stack = forest.estimators_
        for part in (stack.arrays, stack.lengths):
            part.update({name: array[:0] for name, array in part.items()})
        self.refused(forest, tmp_path, "without nodes")

    def test_a_tree_without_nodes(self, forest, tmp_path):
        lengths = forest.estimators_.lengths["nodes"]
        lengths[0], lengths[1] = 0, lengths[0] + lengths[1]
        self.refused(forest, tmp_path, "a decision tree without nodes")

    def test_values_of_another_shape(self, forest, tmp_path):
        forest.estimators_.arrays["values"] = forest.estimators_.arrays["values"][:, :, :1]
        self.refused(forest, tmp_path, "cannot be read")

    def test_nodes_of_another_type(self, boosted, tmp_path):
        boosted._predictors.arrays["nodes"] = np.zeros(len(boosted._predictors.arrays["nodes"]))
        self.refused(boosted, tmp_path, "cannot be read")

    def test_stages_of_different_lengths(self, boosted, tmp_path):
        boosted._predictors.width = 4
        self.refused(boosted, tmp_path, "stages with different numbers of trees")

    def test_nodes_that_lead_in_circles(self, forest, tmp_path):
        forest.estimators_.arrays["nodes"]["left_child"][0] = 0
        self.refused(forest, tmp_path, "lead in circles")

    def test_trees_of_an_unknown_kind(self, forest, tmp_path):
        forest.estimators_.first = StandardScaler()
        self.refused(forest, tmp_path, "an unknown kind, StandardScaler")
