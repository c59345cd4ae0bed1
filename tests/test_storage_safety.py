"""Model folders and what can befall them: kills at any moment, damage, mixed-up files, and files made to do harm."""

from __future__ import annotations

import io
import json
import os
import shutil
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import skops.io
from limits import bounded_memory
from sealing import change, reseal
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomTreesEmbedding,
    StackingClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from worstclass import TorchLearner, WorstClassBooster, WorstClassOffsets, load_model, save_model
from worstclass.exceptions import ModelFormatError
from worstclass.storage import results_folder

pytestmark = pytest.mark.filterwarnings("ignore::worstclass.exceptions.WorstClassWarning")

MLP = TorchLearner("mlp", module_options={"hidden": (4,)}, lr=0.02, standardize=True)


def refused_in_bounded_memory(folder, message):
    with bounded_memory(), pytest.raises(ModelFormatError, match=message):
        load_model(folder)


def booster(learner, blobs, **options):
    settings = {"n_rounds": 2, "gamma": 0.1, "extend": False, "random_state": 0, **options}
    return WorstClassBooster(learner, 0.4, **settings).fit(*blobs)


@pytest.fixture(scope="module")
def wrapped(blobs):
    X, y = blobs
    return WorstClassOffsets(booster(MLP, blobs), cv="prefit").fit(X + 0.01, y)


@pytest.fixture(scope="module")
def of_pipelines(blobs):
    return booster(make_pipeline(StandardScaler(), LogisticRegression()), blobs)


@pytest.fixture
def folder(wrapped, tmp_path):
    return save_model(wrapped, tmp_path / "model")


# Each save runs in a fork of its own of a process that has loaded everything. The fork ends without a word, as by
# kill -9, right before its n-th change of the file system, for n = 1, 2, ... until a save ends by itself.
KILLER = """
import os, shutil, sys, warnings
from pathlib import Path
warnings.simplefilter("ignore")
from worstclass import load_model, save_model
from worstclass.exceptions import ModelFormatError

CHANGES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir"}
place = Path(sys.argv[1])
new = load_model(place / "second")
armed, left = False, 0

def count(event, args):
    global left
    if armed and (event in CHANGES or (event == "open" and isinstance(args[2], int) and args[2] & 3)):
        left -= 1
        if left < 0:
            os._exit(9)

sys.addaudithook(count)
for has_old in (True, False):
    kinds, moment = [], 0
    while True:
        target = place / "model"
        shutil.rmtree(target, ignore_errors=True)
        if has_old:
            shutil.copytree(place / "first", target)
            (target / "results").mkdir()
        (target if has_old else place).joinpath("notes.txt").write_text("mine")
        pid = os.fork()
        if pid == 0:
            armed, left = True, moment
            save_model(new, target)
            os._exit(0)
        ended = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        try:
            kinds.append(type(load_model(target)).__name__)
        except ModelFormatError as error:
            assert not has_old, error
            kinds.append("incomplete" if "interrupted" in str(error) else "none")
        assert not has_old or (target / "notes.txt").read_text() == "mine"
        save_model(new, target)
        assert type(load_model(target)) is type(new)
        names = {path.name for path in target.iterdir()} - {"notes.txt"}
        assert names == {path.name for path in (place / "second").iterdir()}, names
        if ended == 0:
            break
        moment += 1
    print(*kinds)
"""


def test_killed_at_any_moment_a_save_leaves_the_old_model_or_the_new_one(wrapped, of_pipelines, tmp_path):
    save_model(wrapped, tmp_path / "first")
    save_model(of_pipelines, tmp_path / "second")
    done = subprocess.run([sys.executable, "-c", KILLER, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    over_old, over_nothing = (line.split() for line in done.stdout.splitlines())
    assert over_nothing[:1] == ["none"]  # not even a folder
    over_nothing = over_nothing[over_nothing.index("incomplete") :]
    for kinds, first in ((over_old, "WorstClassOffsets"), (over_nothing, "incomplete")):
        assert kinds == [first] * kinds.count(first) + ["WorstClassBooster"] * kinds.count("WorstClassBooster")
        assert min(kinds.count(first), kinds.count("WorstClassBooster")) > 5


def test_the_new_model_is_on_the_disk_before_it_counts(of_pipelines, tmp_path, monkeypatch):
    synced, fsync, rename = [], os.fsync, Path.rename

    def note(number):
        synced.append(Path(f"/proc/self/fd/{number}").readlink())
        fsync(number)

    def check(path, target):
        if path.name == ".saving":
            assert {*path.rglob("*"), path} <= set(synced)
        return rename(path, target)

    monkeypatch.setattr(os, "fsync", note)
    monkeypatch.setattr(Path, "rename", check)
    folder = save_model(of_pipelines, (tmp_path / "model").resolve())
    assert synced[-1] == folder


def test_a_model_that_waits_is_read_and_weights_left_on_disk_are_saved_from_there(wrapped, blobs, tmp_path):
    folder = save_model(wrapped, tmp_path / "model")
    (folder / ".saved").mkdir()
    for name in ("inner", "model.json"):
        (folder / name).rename(folder / ".saved" / name)
    lazy = load_model(folder, keep_in_memory=False)
    again = load_model(save_model(lazy, folder))
    np.testing.assert_array_equal(again.predict(blobs[0]), wrapped.predict(blobs[0]))
    assert sorted(path.name for path in folder.iterdir()) == ["inner", "model.json"]


class TestDamage:
    def test_every_file_is_listed_or_tells_which_model_it_belongs_to(self, folder):
        card = json.loads((folder / "model.json").read_text())
        inner = json.loads((folder / "inner/model.json").read_text())
        assert list(card["files"]) == ["inner/model.json"]
        assert list(inner["files"]) == ["members/0001.safetensors", "members/0002.safetensors"]
        assert json.loads((folder / "inner/history.json").read_text())["model"] == inner["sha256"]

    def test_a_flipped_bit_anywhere_is_noticed(self, folder, blobs):
        rng = np.random.default_rng(0)
        for file in [path for path in sorted(folder.rglob("*")) if path.is_file()]:
            content = file.read_bytes()
            for place in rng.integers(len(content), size=40).tolist():
                changed = bytearray(content)
                changed[place] ^= 1 << int(rng.integers(8))
                file.write_bytes(changed)
                with pytest.raises(ModelFormatError):
                    load_model(folder)
            file.write_bytes(content)
        assert load_model(folder).predict(blobs[0]).shape == (90,)

    def test_a_member_on_disk_is_checked_when_it_is_read(self, folder, blobs):
        model = load_model(folder, keep_in_memory=False)
        file = folder / "inner/members/0002.safetensors"
        file.write_bytes(file.read_bytes()[:-1] + b"\x01")
        with pytest.raises(ModelFormatError, match=r"0002\.safetensors is damaged, or belongs to another model"):
            model.predict(blobs[0])

    @pytest.mark.parametrize("name", ["members/0001.safetensors", "history.json", "model.json"])
    def test_a_file_of_another_model_is_noticed(self, name, folder, blobs, tmp_path):
        other = save_model(booster(MLP, blobs, random_state=1), tmp_path / "other")
        shutil.copy(other / name, folder / "inner" / name)
        with pytest.raises(ModelFormatError, match=f"{Path(name).name}.* belongs to another model"):
            load_model(folder)

    def test_swapped_and_missing_members(self, folder):
        members = folder / "inner/members"
        for old, new in (("0001", "x"), ("0002", "0001"), ("x", "0002")):
            (members / f"{old}.safetensors").rename(members / f"{new}.safetensors")
        with pytest.raises(ModelFormatError, match=r"0001\.safetensors is damaged, or belongs to another model"):
            load_model(folder)
        (members / "0001.safetensors").unlink()
        with pytest.raises(ModelFormatError, match=r"lacks 0001\.safetensors"):
            load_model(folder, keep_in_memory=False)

    def test_the_format_without_checksums_is_still_read(self, folder, wrapped, blobs):
        for card in folder.rglob("model.json"):
            contents = json.loads(card.read_text())
            del contents["files"], contents["sha256"]
            card.write_text(json.dumps({**contents, "format_version": 2}))
        history = folder / "inner/history.json"
        history.write_text(json.dumps(json.loads(history.read_text())["records"]))
        np.testing.assert_array_equal(load_model(folder).predict(blobs[0]), wrapped.predict(blobs[0]))

    def test_a_damaged_version_number_does_not_turn_checksums_off(self, folder):
        file = folder / "model.json"
        file.write_text(file.read_text().replace('"format_version": 3', '"format_version": 2'))
        with pytest.raises(ModelFormatError, match="its checksum is wrong"):
            load_model(folder)


class TestPathsAndLinks:
    @pytest.mark.parametrize("name", ["../other/model.json", "/etc/passwd", "a\\b", "C:x", "inner/../../x", ""])
    def test_a_path_that_leaves_the_folder(self, name, folder):
        from worstclass.storage.seal import sealed

        card = json.loads((folder / "model.json").read_text())
        card["files"][name] = "0" * 64
        (folder / "model.json").write_text(json.dumps(sealed(card)))
        with pytest.raises(ModelFormatError, match="which is not a file inside its folder"):
            load_model(folder)

    @pytest.mark.parametrize("name", ["inner", "inner/members", "inner/members/0001.safetensors", "model.json"])
    def test_a_link(self, name, folder, tmp_path):
        (folder / name).rename(tmp_path / "elsewhere")
        (folder / name).symlink_to(tmp_path / "elsewhere")
        with pytest.raises(ModelFormatError, match="is reached by a link"):
            load_model(folder)

    def test_a_folder_that_is_itself_reached_by_a_link(self, folder, wrapped, blobs, tmp_path):
        (tmp_path / "link").symlink_to(folder)
        model = load_model(tmp_path / "link", keep_in_memory=False)
        (tmp_path / "link").unlink()
        np.testing.assert_array_equal(model.predict(blobs[0]), wrapped.predict(blobs[0]))


def safetensors(header: object) -> bytes:
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text


def tensor(*shape: int) -> dict:
    return {"0.weight": {"dtype": "F32", "shape": list(shape), "data_offsets": [0, 4 * int(np.prod(shape))]}}


TEN_GB = 10 * 2**30
BOMB = {"$array": ["a"] * 1000, "dtype": "<U99999999", "shape": [1000]}
WIDE = {"$array": [], "dtype": "(1000000000,1000000000)f8", "shape": [0]}


class TestMemory:
    @pytest.mark.parametrize(
        "content",
        [
            struct.pack("<Q", TEN_GB),
            struct.pack("<Q", 2**63),
            safetensors(tensor(TEN_GB // 4)),
            safetensors(tensor(-1)),
        ],
    )
    def test_a_header_that_asks_for_10_gb(self, content, folder):
        (folder / "inner/members/0001.safetensors").write_bytes(content)
        refused_in_bounded_memory(reseal(folder), r"0001\.safetensors cannot be read")

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"state__offsets_": BOMB}, "array of 1000 entries of the type <U99999999"),
            ({"state__offsets_": WIDE}, "array of an unknown type"),
            ({"state__offsets_": {"$fraction": "1e999999999"}}, "fraction of an unknown form, '1e999999999'"),
            ({"state__offsets_": [{"$model": "inner"}] * 10_000}, "or for it twice"),
            ({"state__offsets_": {"$members": 10**12, "suffix": "skops"}}, "asks for members/0001.skops, which"),
        ],
    )
    def test_a_model_json_that_asks_for_it(self, changes, message, folder):
        change(folder, **changes)
        refused_in_bounded_memory(folder, message)

    def test_a_network_that_would_be_larger_than_its_weights(self, folder):
        change(folder / "inner", params__learner__params__module_options={"hidden": [10**6, 10**6]})
        card = json.loads((folder / "inner/model.json").read_text())
        card["state"]["learner_"] = card["params"]["learner"]
        (folder / "inner/model.json").write_text(json.dumps(card))
        refused_in_bounded_memory(reseal(folder), "The network 'mlp' of this version is another one: train")

    def test_json_that_is_too_deep(self, folder):
        (folder / "inner/history.json").write_text("[" * 100_000 + "]" * 100_000)
        refused_in_bounded_memory(folder, r"history\.json cannot be read: maximum recursion depth")


def json_node(value: object) -> dict:
    text = json.dumps(value)
    return {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "content": text, "is_json": True}


def node(name: str, loader: str, **content: object) -> dict:
    module, _, kind = name.rpartition(".")
    return {"__class__": kind, "__module__": module, "__loader__": loader, **content}


def items(*values: object, loader: str = "TupleNode", name: str = "builtins.tuple") -> dict:
    return node(name, loader, content=[json_node(value) for value in values])


def skops_file(schema: dict, method: int = zipfile.ZIP_STORED, **parts: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in parts.items():
            archive.writestr(name.replace("_", "."), content)
        archive.writestr("schema.json", json.dumps({**schema, "protocol": 2, "_skops_version": "0.16.0"}))
    return buffer.getvalue()


def npy(header_shape: str) -> bytes:
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {header_shape}, }}".ljust(117).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header


ARRAY = node("numpy.ndarray", "NdArrayNode", type="numpy", file="a.npy")
VOID = node("numpy.void", "NdArrayNode", type="numpy", file="a.npy")
POOL = {"pool_size": json_node(10**10), "entropy": json_node(1)}
GENERATOR = {"bit_generator": json_node("PCG64")}


def dictionary(content: dict) -> dict:
    keys = node("builtins.list", "ListNode", content=[node("builtins.str", "TypeNode") for _ in content])
    return node("builtins.dict", "DictNode", content=content, key_types=keys)


class TestSkops:
    @pytest.fixture
    def place(self, blobs, tmp_path):
        folder = save_model(LogisticRegression().fit(*blobs), tmp_path / "model")
        return folder, folder / "model.skops"

    @pytest.mark.parametrize(
        "loader", ["ConstructorFromReduceNode", "ListNode", "ObjectNode", "TupleNode", "LossNode", "RandomStateNode"]
    )
    def test_a_class_that_scikit_learn_only_imports_would_empty_a_file(self, loader, place, tmp_path):
        folder, file = place
        (tmp_path / "precious").write_text("precious")
        trap = items(str(tmp_path / "precious"), "wb", loader=loader, name="sklearn.datasets._rcv1.GzipFile")
        if loader == "ConstructorFromReduceNode":
            trap["content"] = items(str(tmp_path / "precious"), "wb")
        trap["__reduce__"] = {"args": items(str(tmp_path / "precious"), "wb")}
        file.write_bytes(skops_file(trap))
        with pytest.raises(ModelFormatError, match=r"GzipFile|cannot be read"):
            load_model(reseal(folder))
        assert (tmp_path / "precious").read_text() == "precious"

    @pytest.mark.parametrize("loader", ["ConstructorFromReduceNode", "ListNode", "LossNode", "NdArrayNode"])
    def test_classes_of_scikit_learn_are_made_without_a_call(self, loader, place):
        folder, file = place
        trap = items(2, loader=loader, name="sklearn.model_selection._split.KFold")
        file.write_bytes(skops_file({**trap, "type": "json", "shape": items(1)}))
        with pytest.raises(ModelFormatError, match=r"it would call sklearn\.model_selection\._split\.KFold"):
            load_model(reseal(folder))

    def test_the_types_of_keys_are_called_too(self, place):
        folder, file = place
        trap = dictionary({"5": json_node(1)})
        trap["key_types"]["content"] = [node("sklearn.model_selection._split.KFold", "TypeNode")]
        file.write_bytes(skops_file(trap))
        with pytest.raises(ModelFormatError, match="it would call what stands for the type of a key"):
            load_model(reseal(folder))

    @pytest.mark.timeout(60)
    def test_lists_within_lists_each_twice_in_the_next(self, place):
        folder, file = place
        inside = items()
        for number in range(1, 60):
            stub = {**items(), "__id__": number}
            inside = node("builtins.tuple", "TupleNode", content=[{**inside, "__id__": number}, stub])
        file.write_bytes(skops_file(inside))
        with pytest.raises(ModelFormatError, match="it has different parts of the same id"):
            load_model(reseal(folder))

    @pytest.mark.parametrize(
        "name", ["sklearn.conftest.X", "sklearn._build_utils.version.X", "sklearn.tests.test_base.MyEstimator"]
    )
    def test_modules_without_models_are_not_imported(self, name, place):
        folder, file = place
        file.write_bytes(skops_file(node(name, "ObjectNode")))
        with pytest.raises(ModelFormatError, match="holds what is not a class of scikit-learn"):
            load_model(reseal(folder))
        assert name.rpartition(".")[0] not in sys.modules

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (skops_file(ARRAY, a_npy=npy("(1250000000,)")), "its header tells of 10,000,000,000 bytes"),
            (skops_file(ARRAY, a_npy=npy("(-1,)")), "its header tells of -8 bytes"),
            (skops_file(ARRAY, zipfile.ZIP_DEFLATED, a_npy=bytes(10**8)), "more bytes than the file"),
            (skops_file(items() | {"content": [ARRAY] * 20_000}, a_npy=npy("(10000,)") + bytes(80_000)), "so often"),
            (
                skops_file(node("numpy.void", "NdArrayNode", type="numpy", file="a.npy"), a_npy=npy("()")),
                "without a type",
            ),
            (
                skops_file(
                    node(
                        "numpy.random._generator.Generator",
                        "RandomGeneratorNode",
                        content={"bit_generator": dictionary(GENERATOR), "seed_seq": dictionary(POOL)},
                    )
                ),
                "a random generator of an unusual size",
            ),
            (b"no zip", "File is not a zip file"),
            (skops_file({}), "cannot be read"),
        ],
    )
    def test_a_file_that_asks_for_10_gb(self, content, message, place):
        folder, file = place
        file.write_bytes(content)
        refused_in_bounded_memory(reseal(folder), message)

    @pytest.mark.parametrize("learner", [DecisionTreeClassifier(), RandomForestClassifier(3)], ids=["tree", "forest"])
    @pytest.mark.parametrize(("field", "value"), [("left_child", 0), ("right_child", 10**6), ("feature", 10**6)])
    def test_a_tree_that_leads_in_circles_or_out_of_its_arrays(self, learner, field, value, blobs, tmp_path):
        model = learner.fit(*blobs)
        tree = getattr(model, "estimators_", [model])[0].tree_
        state = tree.__getstate__()
        state["nodes"][field][0] = value
        tree.__setstate__(state)
        with pytest.raises(ModelFormatError, match="whose nodes lead in circles, or to what is not there"):
            load_model(save_model(model, tmp_path))

    @pytest.mark.parametrize("learner", [DecisionTreeClassifier(), RandomForestClassifier(3)], ids=["tree", "forest"])
    def test_a_tree_that_is_deeper_than_it_says(self, learner, blobs, tmp_path):
        """``decision_path`` reserves as much memory as a tree of the depth that it says needs."""
        model = learner.fit(*blobs)
        tree = getattr(model, "estimators_", [model])[0].tree_
        depth = tree.max_depth
        tree.__setstate__({**tree.__getstate__(), "max_depth": depth - 1})
        with pytest.raises(ModelFormatError, match=f"a decision tree of depth {depth} that says {depth - 1}"):
            load_model(save_model(model, tmp_path))

    def test_a_node_with_two_parents(self, blobs, tmp_path):
        model = DecisionTreeClassifier().fit(*blobs)
        state = model.tree_.__getstate__()
        state["nodes"]["left_child"][0] = state["nodes"]["right_child"][0]
        model.tree_.__setstate__(state)
        with pytest.raises(ModelFormatError, match="a node that has two parents"):
            load_model(save_model(model, tmp_path))

    @pytest.mark.parametrize("field", ["left", "right", "feature_idx"])
    def test_a_tree_of_histogram_based_boosting(self, field, blobs, tmp_path):
        model = HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=5).fit(*blobs)
        model._predictors[0][0].nodes[field][0] = 10**6
        with pytest.raises(ModelFormatError, match="whose nodes lead in circles, or to what is not there"):
            load_model(save_model(model, tmp_path))

    @pytest.mark.parametrize("learner", [RandomForestClassifier(2), GradientBoostingClassifier(n_estimators=2)])
    def test_a_forest_that_promises_fewer_columns_than_its_trees_read(self, learner, blobs, tmp_path):
        model = learner.fit(*blobs)
        model.n_features_in_ = 1
        with pytest.raises(ModelFormatError, match="to what is not there"):
            load_model(save_model(model, tmp_path))

    @pytest.mark.parametrize(
        "model",
        [
            AdaBoostClassifier(n_estimators=2),
            BaggingClassifier(DecisionTreeClassifier(), 2, max_features=0.5),
            GradientBoostingClassifier(n_estimators=2, init=RandomForestClassifier(2)),
            HistGradientBoostingClassifier(max_iter=2, categorical_features=[1], min_samples_leaf=5),
            StackingClassifier([("tree", DecisionTreeClassifier()), ("logistic", LogisticRegression())]),
            OneVsRestClassifier(DecisionTreeClassifier()),
            make_pipeline(RandomTreesEmbedding(2), LogisticRegression()),
            DecisionTreeClassifier(max_leaf_nodes=4, ccp_alpha=0.01),
        ],
        ids=lambda model: type(model).__name__,
    )
    def test_sound_trees_are_read_wherever_they_are(self, model, blobs, tmp_path):
        X = np.column_stack([blobs[0][:, 0], np.round(np.abs(blobs[0][:, 1]))])
        model.fit(X, blobs[1])
        again = load_model(save_model(model, tmp_path))
        np.testing.assert_array_equal(again.predict(X), model.predict(X))

    def test_the_same_estimator_gives_the_same_bytes_in_another_process(self, blobs, tmp_path):
        np.savez(tmp_path / "rows.npz", X=blobs[0], y=blobs[1])
        code = (
            "import sys, numpy, worstclass\nfrom sklearn.ensemble import RandomForestClassifier\n"
            "rows = numpy.load(sys.argv[1]); forest = RandomForestClassifier(5, random_state=0)\n"
            "worstclass.save_model(forest.fit(rows['X'], rows['y']), sys.argv[2])"
        )
        save_model(RandomForestClassifier(5, random_state=0).fit(*blobs), tmp_path / "one")
        subprocess.run([sys.executable, "-c", code, str(tmp_path / "rows.npz"), str(tmp_path / "two")], check=True)
        for name in ("model.skops", "model.json"):
            assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
        named = skops.io.get_untrusted_types(file=tmp_path / "one/model.skops")
        assert named == ["sklearn.tree._tree.Tree", "worstclass.storage.stacked_trees.StackedTrees"]

    def test_no_other_memory_is_written_between_the_fields_of_nodes(self, blobs, tmp_path):
        tree = DecisionTreeClassifier(random_state=0).fit(*blobs)
        save_model(tree, tmp_path)
        with zipfile.ZipFile(tmp_path / "model.skops") as archive:
            parts = [archive.read(name) for name in archive.namelist() if name.endswith(".npy")]
        (nodes,) = (part for part in parts if b"left_child" in part)
        rows = np.frombuffer(nodes[-64 * tree.tree_.node_count :], np.uint8).reshape(-1, 64)
        assert not rows[:, 57:].any()  # 7 bytes follow the last field
        assert rows[:, :8].tobytes() == tree.tree_.children_left.tobytes()


def test_attributes_that_are_no_state_are_refused(folder):
    change(folder, state__predict="text")
    with pytest.raises(ModelFormatError, match=r"\['predict'\] is not of its state"):
        load_model(folder)


def test_results_of_the_old_model_go_when_the_new_one_comes(wrapped, of_pipelines, tmp_path):
    results_folder(save_model(wrapped, tmp_path)).mkdir()
    save_model(of_pipelines, tmp_path)
    assert not results_folder(tmp_path).exists()
