"""The contents of ``abstention.json``: what a fitted ``AbstainingClassifier`` is, apart from the classifier inside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

import numpy as np
import pydantic

from worstclass._version import __version__
from worstclass.certificates.certificate import PROVEN
from worstclass.data.seen_rows import Hashes
from worstclass.exceptions import ModelFormatError, ParameterError
from worstclass.wrappers.abstention import AbstainingClassifier
from worstclass.wrappers.margins import resolve_margin
from worstclass.wrappers.risk_certificate import RiskCertificate

Share = Annotated[float, pydantic.Field(gt=0, lt=1)]
Limit = Annotated[float, pydantic.Field(gt=0, le=1)]
Finite = Annotated[float, pydantic.Field(allow_inf_nan=False)]
Label = str | int | float | bool | None


class AbstentionCard(pydantic.BaseModel):
    """Parameters, thresholds and the certificate; one entry a class in every list."""

    model_config = pydantic.ConfigDict(extra="forbid", strict=True)

    format: Literal["worstclass-abstention"] = "worstclass-abstention"
    format_version: Literal[1] = 1
    worstclass: str = __version__
    risk: list[Limit]
    risk_per_class: bool
    delta: Share
    margin: Literal["auto", "own", "mean-proba", "log-proba", "proba"]
    thresholds: Literal["common", "by-answer"]
    cv: Share | Literal["prefit"]
    proving: Share
    abstain_label: Label
    training_rows_known: bool | None = None
    force: bool
    random_state: int | None
    fitted_margin: Literal["own", "mean-proba", "log-proba", "proba"]
    fitted_thresholds: list[Finite | Literal["-inf", "inf"]]
    fitted_abstain_label: Label
    certificate: dict[str, Any]

    @pydantic.model_validator(mode="after")
    def _is_whole(self) -> Self:
        certificate = self._certificate()
        if not len(self.risk) == len(self.fitted_thresholds) == len(certificate.classes):
            raise ValueError("limits, thresholds and the certificate must have one entry a class")
        if certificate.verdict != PROVEN and not certificate.n_reused and set(self.fitted_thresholds) != {"inf"}:
            raise ValueError("a model without proof must not answer: its thresholds are 'inf'")
        return self

    def _certificate(self) -> RiskCertificate:
        try:
            return RiskCertificate.from_dict(self.certificate)
        except (KeyError, TypeError) as error:
            raise ValueError(f"the certificate is not whole: {error}") from None

    @classmethod
    def of(cls, model: AbstainingClassifier) -> AbstentionCard:
        """Describe a fitted model."""
        seed = model.random_state
        values: dict[str, Any] = {
            "risk": list(model.risk_),
            "risk_per_class": isinstance(model.risk, Mapping),
            "delta": float(model.delta),
            "margin": model.margin,
            "thresholds": model.thresholds,
            "cv": model.cv if isinstance(model.cv, str) else float(model.cv),
            "proving": float(model.proving),
            "abstain_label": _plain_label(model.abstain_label),
            "training_rows_known": model.training_rows_known_,
            "force": bool(model.force),
            "random_state": int(seed) if isinstance(seed, int | np.integer) else None,
            "fitted_margin": model.margin_,
            "fitted_thresholds": [t if np.isfinite(t) else str(t) for t in model.thresholds_.tolist()],
            "fitted_abstain_label": _plain_label(model.abstain_label_),
            "certificate": model.certificate_.to_dict(),
        }
        return cls(**values)

    def restored(self, inside: Any, row_hashes: Hashes | None) -> AbstainingClassifier:
        """Return the model around its classifier."""
        labels = inside.classes_.tolist()
        if len(self.risk) != len(labels):
            raise ModelFormatError(
                f"abstention.json is for {len(self.risk)} classes, and the model has {len(labels)}. Save the model "
                "again, or remove abstention.json to use it without abstaining."
            )
        model = AbstainingClassifier(
            inside,
            dict(zip(labels, self.risk, strict=True)) if self.risk_per_class else self.risk[0],
            delta=self.delta,
            margin=self.margin,
            thresholds=self.thresholds,
            cv=self.cv,
            proving=self.proving,
            abstain_label=self.abstain_label,
            force=self.force,
            random_state=self.random_state,
        )
        try:
            model.margin_ = resolve_margin(inside, self.fitted_margin, owner="load_model")
        except ParameterError:
            raise ModelFormatError(
                f"abstention.json is for margin {self.fitted_margin!r}, which this model does not give. Save it again."
            ) from None
        model._adopt(inside, inside.classes_)
        model._know_rows(row_hashes, self.training_rows_known)
        model.risk_, model.abstain_label_ = tuple(self.risk), self.fitted_abstain_label
        model.thresholds_ = np.array([float(threshold) for threshold in self.fitted_thresholds])
        model.certificate_ = self._certificate()
        model.proven_ = model.certificate_.verdict == PROVEN
        return model


def _plain_label(label: Any) -> Label:
    value = label.item() if isinstance(label, np.generic) else label
    if value is None or isinstance(value, str | int | float | bool):
        return value
    allowed = "a text, a number, True, False or None, where the model is saved"
    raise ParameterError("abstain_label", "save_model", allowed=allowed, got=label)
