"""``export_onnx``: a fitted model as one ONNX file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from worstclass._checks import is_installed, kind
from worstclass.exceptions import ExportError
from worstclass.export.answers import Ask, Block, ExportReport, write_checked
from worstclass.export.inputs import TENSOR, InputFormat
from worstclass.export.metadata import metadata_of

#: packages of the extra
EXTRA = ("onnx", "onnxruntime", "onnxscript", "skl2onnx")
LABEL, PROBABILITIES, ABSTAINED = "label", "probabilities", "abstained"


def export_onnx(
    model: Any,
    path: str | Path,
    X: Any = None,
    *,
    certificate: Any = None,
    input_type: str = "auto",
) -> ExportReport:
    """Write a fitted model to one ONNX file, and compare its answers with those of the model.

    The file holds everything that ``predict`` does: preprocessing, members, the vote with its tie rule, offsets and
    abstaining. It takes any number of rows, and needs neither worstclass nor torch nor scikit-learn.

    Parameters
    ----------
    model : a fitted classifier: of worstclass, or one of scikit-learn or a pipeline of which every step can be exported
        exactly.
    path : the file; it is written after its answers were found to be the same.
    X : rows on which the answers are compared, as ``model.predict`` takes them. None: rows made at random.
    certificate : a certificate of the model, or its record as a mapping, for the metadata. None: that of a model that
        abstains.
    input_type : type of the numbers that the file takes: ``"float32"``, ``"float64"``, ``"uint8"``. ``"auto"``: that of
        X; without X, uint8 for images and float64 for tables.

    Returns
    -------
    An ``ExportReport``. An ``ExportError`` says what cannot be exported exactly, or which rows would be answered
    otherwise.

    Notes
    -----
    Inputs: ``X``, shape (n, ...). A table with text has one input for each column, shape (n, 1); missing numbers are
    NaN, missing text is empty. Outputs: ``label``, shape (n,); ``probabilities``, shape (n, K), as ``predict_proba``
    gives them; ``abstained``, shape (n,), of a model that abstains. Metadata: classes, floors, columns, kind, version
    and certificate, as text or JSON. Needs the extra ``onnx``.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from worstclass import WorstClassBooster, export_onnx
    >>> X, y = load_iris(return_X_y=True)
    >>> model = WorstClassBooster(DecisionTreeClassifier(), theta=0.9, random_state=0).fit(X, y)
    >>> with TemporaryDirectory() as folder:
    ...     report = export_onnx(model, f"{folder}/model.onnx", X)
    >>> report.n_rows, report.outputs, report.probability_difference
    (150, ('label', 'probabilities'), 0.0)
    """
    blocks = None if X is None else [Block(X)]
    return write_onnx(model, path, blocks, certificate=certificate, input_type=input_type)


def write_onnx(
    model: Any, path: str | Path, blocks: Iterable[Block] | None, *, certificate: Any = None, input_type: str = "auto"
) -> ExportReport:
    """Do what ``export_onnx`` does, with rows that come in parts, such as those of a large file."""
    require_extra()

    def make(inputs: InputFormat, file: Path) -> tuple[Ask, tuple[str, ...]]:
        import onnx

        onnx.save_model(onnx_model(model, inputs, metadata_of(model, inputs, certificate)), file)
        return asking(file)

    return write_checked(model, path, blocks, make, input_type, "export_onnx")


def require_extra() -> None:
    """Refuse to go on without the packages of the extra."""
    if missing := [name for name in EXTRA if not is_installed(name)]:
        raise ExportError(
            f"Exporting to ONNX needs {', '.join(EXTRA)}, and {missing[0]} is not installed: "
            "pip install 'worstclass[onnx]'."
        )


def onnx_model(model: Any, inputs: InputFormat, metadata: Mapping[str, str]) -> Any:
    """Return the model as a ``ModelProto``."""
    from worstclass.export import onnx_trees  # noqa: F401  registers trees
    from worstclass.export.onnx_graph import Graph
    from worstclass.export.onnx_rows import OnnxRows
    from worstclass.export.parts import part_of

    if clash := {LABEL, PROBABILITIES, ABSTAINED} & set(inputs.inputs):
        raise ExportError(f"Columns must not have the names of outputs. Rename {sorted(clash)}, and fit again.")
    graph, K = Graph(), len(model.classes_)
    values = {name: graph.input(name, dtype, shape) for name, (dtype, shape) in inputs.inputs.items()}
    rows = OnnxRows(graph, values[TENSOR]) if inputs.kinds is None else OnnxRows(graph, columns=values)
    part = part_of(model, rows)
    index, table = part.value("answers"), label_table(model)
    if hasattr(part, "answered"):
        index = part.ops.where(part.value("answered"), index, K)
    graph.output(LABEL, part.ops.take(table, index))
    if hasattr(model, "predict_proba"):
        graph.output(PROBABILITIES, part.value("predict_proba"), (K,))
    if hasattr(part, "answered"):
        graph.output(ABSTAINED, graph.op("Not", part.value("answered")))
    return graph.model(metadata)


def label_table(model: Any) -> npt.NDArray[Any]:
    """Return the labels by their index, and behind them the one of rows that are not answered, if there is one."""
    labels = model.classes_.tolist()
    if hasattr(model, "abstain_label_"):
        labels.append(model.abstain_label_)
    kinds = {kind(label) if not isinstance(label, bool) else "boolean" for label in labels}
    if len(kinds) > 1 or not all(isinstance(label, str | int | float) for label in labels):
        raise ExportError(
            f"Labels of an ONNX file must be of one type. Got the classes {model.classes_.tolist()}, and "
            f"{labels[-1]!r} for no answer. Set abstain_label_ of the model to a label of their type."
        )
    return np.array(labels, dtype=object if "text" in kinds else None)


def asking(file: Path) -> tuple[Ask, tuple[str, ...]]:
    """Open a file with onnxruntime; return how to ask it, and the names of its outputs."""
    from worstclass.export.onnx_graph import open_session

    try:
        session = open_session(file)
    except Exception as error:  # of the runtime's own kinds
        raise ExportError(f"onnxruntime cannot open the file that was made: {' '.join(str(error).split())}") from error
    outputs = tuple(output.name for output in session.get_outputs())

    def ask(rows: dict[str, npt.NDArray[Any]]) -> tuple[npt.NDArray[Any], npt.NDArray[Any] | None]:
        found = dict(zip(outputs, session.run(None, rows), strict=True))
        return found[LABEL], found.get(PROBABILITIES)

    return ask, outputs
