"""``export_torch``: a fitted model of networks as one program of ``torch.export``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from worstclass.data.encoding import TableEncoder
from worstclass.exceptions import ExportError
from worstclass.export.answers import Ask, Block, ExportReport, write_checked
from worstclass.export.backend import Ops, ProgramRows
from worstclass.export.inputs import TENSOR, InputFormat
from worstclass.export.metadata import metadata_of
from worstclass.export.parts import ModelPart, part_of
from worstclass.export.torch_networks import any_batch, exporting, plain_network, quiet

#: the file inside a program's file that holds its metadata as JSON
METADATA = "worstclass.json"
INDEX, PROBABILITIES, ABSTAINED = "index", "probabilities", "abstained"


def export_torch(
    model: Any, path: str | Path, X: Any = None, *, certificate: Any = None, input_type: str = "auto"
) -> ExportReport:
    """Write a fitted model of torch networks to one program of ``torch.export``, and compare its answers.

    The program is for ``torch.export.load`` and what builds on it. It takes any number of rows.

    Parameters
    ----------
    model : a fitted classifier made of networks: ``NetworkClassifier``, ``DeepEnsemble``, boosters with a
        ``TorchLearner``, a ``WorstClassClassifier`` of these, with or without offsets and abstaining.
    path : the file, which should end in ``.pt2``.
    X, certificate, input_type : as of ``export_onnx``.

    Returns
    -------
    An ``ExportReport``. An ``ExportError`` says what cannot be exported, and which rows would have been answered
    otherwise.

    Notes
    -----
    The program takes one tensor and returns a dictionary: ``index``, the place of the class among the classes of the
    metadata, -1 where the model abstains; ``probabilities``, shape (n, K); ``abstained``, of a model that abstains. The
    metadata is the file ``worstclass.json`` inside: ``torch.export.load(path, extra_files={"worstclass.json": ""})``.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from worstclass import NetworkClassifier, TorchLearner, export_torch, load_dataset
    >>> rows = load_dataset("artificial-balanced", n_test=100)
    >>> learner = TorchLearner("mlp", module_options={"hidden": (16,)}, lr=0.01)
    >>> model = NetworkClassifier(learner, max_epochs=5, random_state=0).fit(rows.train.X, rows.train.y)
    >>> with TemporaryDirectory() as folder:
    ...     report = export_torch(model, f"{folder}/model.pt2", rows.test.X)
    >>> report.n_rows, report.outputs
    (500, ('index', 'probabilities'))
    """
    return write_torch(model, path, None if X is None else [Block(X)], certificate=certificate, input_type=input_type)


def write_torch(
    model: Any, path: str | Path, blocks: Iterable[Block] | None, *, certificate: Any = None, input_type: str = "auto"
) -> ExportReport:
    """Do what ``export_torch`` does, with rows that come in parts, such as those of a large file."""

    def make(inputs: InputFormat, file: Path) -> tuple[Ask, tuple[str, ...]]:
        if inputs.kinds is not None:
            text = [name for name, (dtype, _) in inputs.inputs.items() if dtype.hasobject]
            raise ExportError(f"A program of torch takes no columns of text: {text}. Export it to ONNX.")
        metadata = json.dumps(metadata_of(model, inputs, certificate))
        program = Program(model)
        example = torch.zeros(2, *inputs.row_shape, dtype=getattr(torch, str(inputs.dtype)))
        program(example)  # networks become submodules
        with quiet(), exporting(program):
            exported = torch.export.export(program, (example,), dynamic_shapes=any_batch(), strict=False)
            torch.export.save(exported, file, extra_files={METADATA: metadata})
        return asking(file, model)

    return write_checked(model, path, blocks, make, input_type, "export_torch")


def asking(file: Path, model: Any) -> tuple[Ask, tuple[str, ...]]:
    """Open a program; return how to ask it, and the names of its outputs."""
    with quiet():
        module = torch.export.load(file).module()
    labels = np.array([*model.classes_.tolist(), getattr(model, "abstain_label_", None)], dtype=object)

    def ask(rows: Mapping[str, npt.NDArray[Any]]) -> tuple[npt.NDArray[Any], npt.NDArray[Any] | None]:
        with torch.inference_mode():
            found = module(torch.from_numpy(rows[TENSOR]))
        return labels[found[INDEX].numpy()], found[PROBABILITIES].numpy()  # -1 is the last label

    outputs = (INDEX, PROBABILITIES, *([ABSTAINED] if hasattr(model, "abstain_label_") else []))
    return ask, outputs


class Program(nn.Module):
    """A fitted model as a module: its networks are submodules, and ``forward`` makes the decisions of its parts."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model
        self.networks = nn.ModuleList()
        self._places: dict[int, int] = {}

    def forward(self, X: Tensor) -> dict[str, Tensor]:
        """Return index, probabilities, and whether the model abstains."""
        part = part_of(self.model, TorchRows(self, X))
        found: dict[str, Tensor] = {INDEX: part.value("answers"), PROBABILITIES: part.value("predict_proba")}
        if not hasattr(part, "answered"):
            return found
        answered = part.value("answered")
        return {**found, INDEX: torch.where(answered, found[INDEX], -1), ABSTAINED: ~answered}

    def network(self, member: Any) -> nn.Module:
        """Return the network of a member; the first call makes it a submodule."""
        if id(member) not in self._places:
            self._places[id(member)] = len(self.networks)
            self.networks.append(plain_network(member.runtime.module, member.state))
        return self.networks[self._places[id(member)]]


class TorchOps(Ops):
    """Operations of torch."""

    def array(self, values: npt.ArrayLike) -> Tensor:
        """Return constant values."""
        return torch.tensor(np.asarray(values, dtype=np.float64))

    def log(self, values: Tensor) -> Tensor:
        """Return the natural logarithm."""
        return values.log()

    def exp(self, values: Tensor) -> Tensor:
        """Return the exponential."""
        return values.exp()

    def softmax(self, values: Tensor) -> Tensor:
        """Return the softmax of each row in float64."""
        return values.double().softmax(dim=1)

    def at_least(self, values: Tensor, least: float) -> Tensor:
        """Return the values, smaller ones replaced by ``least``."""
        return values.clamp(min=least)

    def where(self, condition: Tensor, yes: Any, no: Any) -> Tensor:
        """Choose between values; one of the two may be a plain number."""
        return torch.where(condition, yes, no)

    def largest(self, values: Tensor) -> Tensor:
        """Return the largest value of each row."""
        return values.amax(dim=1)

    def argmax(self, values: Tensor) -> Tensor:
        """Return where the first of the largest values of each row is."""
        return values.argmax(dim=1)

    def one_hot(self, index: Tensor, n: int) -> Tensor:
        """Return whether an index is 0, 1, ... n - 1."""
        return index[:, None] == torch.arange(n)

    def take(self, table: npt.NDArray[Any], index: Tensor) -> Tensor:
        """Return entries of a constant table by indices."""
        return torch.tensor(table)[index.long()]


@dataclass(frozen=True, eq=False)
class TorchRows(ProgramRows):
    """Rows as one tensor."""

    program: Program
    values: Tensor

    @property
    def ops(self) -> TorchOps:  # type: ignore[override]
        """The operations."""
        return TorchOps()

    def encoded(self, table: TableEncoder, dtype: str = "float32") -> TorchRows:
        """Return numbers with the missing ones filled, and one-hot columns of those that are categories."""
        numbers = self.values.double().flatten(1)
        found = torch.where(numbers.isnan(), torch.tensor(table.medians_), numbers)
        if any(values is not None for values in table.categories_):
            parts = [
                found[:, [j]] if values is None else _one_hot(numbers[:, [j]], values)
                for j, values in enumerate(table.categories_)
            ]
            found = torch.cat(parts, dim=1)
        return replace(self, values=found.float().to(getattr(torch, dtype)))

    def network_inputs(self, model: Any) -> Tensor:
        """Return the rows as the networks of a classifier get them."""
        encoder = model.encoder_
        rows = self if encoder.table is None else self.encoded(encoder.table)
        is_image = rows.values.dtype == torch.uint8 and rows.values.ndim >= 3
        numbers = rows.values.float() / 255 if is_image else rows.values.float()
        return numbers if encoder.mean is None else (numbers - encoder.mean) / encoder.std

    def logits(self, model: Any, member: Any, inputs: Tensor) -> Tensor:
        """Return the logits of a network."""
        logits: Tensor = self.program.network(member)(inputs)
        return logits

    def transformed(self, steps: Any) -> TorchRows:
        """Refuse steps of scikit-learn."""
        if steps is None:
            return self
        raise _refusal(steps)

    def classifier(self, estimator: Any) -> ModelPart:
        """Refuse classifiers of scikit-learn."""
        raise _refusal(estimator)


def _one_hot(column: Tensor, values: list[Any]) -> Tensor:
    known = torch.tensor([float("nan") if value is None else float(value) for value in values], dtype=torch.float64)
    return ((column == known) | (column.isnan() & known.isnan())).double()


def _refusal(estimator: Any) -> ExportError:
    return ExportError(
        f"A program of torch is made of networks alone, and the model has {type(estimator).__name__} inside. Export it "
        "to ONNX."
    )
