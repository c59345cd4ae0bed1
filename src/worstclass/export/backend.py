"""What a kind of file must offer, so that decisions are written once: a few operations, and its rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from worstclass.data.encoding import TableEncoder

if TYPE_CHECKING:
    from worstclass.export.parts import ModelPart

#: a tensor of a backend, with the operators + - * / @ >
Value = Any


class Ops(ABC):
    """The operations that decisions are made of; tensors are of float64 unless something else is said."""

    @abstractmethod
    def array(self, values: npt.ArrayLike) -> Value:
        """Return constant values."""

    @abstractmethod
    def log(self, values: Value) -> Value:
        """Return the natural logarithm."""

    @abstractmethod
    def exp(self, values: Value) -> Value:
        """Return the exponential."""

    @abstractmethod
    def softmax(self, values: Value) -> Value:
        """Return the softmax of each row in float64."""

    @abstractmethod
    def at_least(self, values: Value, least: float) -> Value:
        """Return the values, smaller ones replaced by ``least``."""

    @abstractmethod
    def where(self, condition: Value, yes: Value | float, no: Value | float) -> Value:
        """Choose between values; one of the two may be a plain number."""

    @abstractmethod
    def largest(self, values: Value) -> Value:
        """Return the largest value of each row, shape (n,)."""

    @abstractmethod
    def argmax(self, values: Value) -> Value:
        """Return where the first of the largest values of each row is, int64, shape (n,)."""

    @abstractmethod
    def one_hot(self, index: Value, n: int) -> Value:
        """Return whether an index is 0, 1, ... n - 1, shape (n_rows, n)."""

    @abstractmethod
    def take(self, table: npt.NDArray[Any], index: Value) -> Value:
        """Return entries of a constant table by indices of any number type, which may have any shape."""


class ProgramRows(ABC):
    """The rows that a program is given, or what a step before has made of them."""

    ops: Ops

    @abstractmethod
    def encoded(self, table: TableEncoder, dtype: str = "float32") -> ProgramRows:
        """Return the rows as a ``TableEncoder`` makes them numbers, in the given type."""

    @abstractmethod
    def network_inputs(self, model: Any) -> Value:
        """Return the rows as the networks of a classifier get them, in float32."""

    @abstractmethod
    def logits(self, model: Any, member: Any, inputs: Value) -> Value:
        """Return the logits of a network of a classifier, float32, shape (n, K)."""

    @abstractmethod
    def transformed(self, steps: Any) -> ProgramRows:
        """Return the rows after the steps of a scikit-learn pipeline; None for no steps."""

    @abstractmethod
    def classifier(self, estimator: Any) -> ModelPart:
        """Return the part of a scikit-learn classifier."""
