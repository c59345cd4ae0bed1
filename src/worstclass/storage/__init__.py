"""Any fitted estimator as a folder, without pickles."""

from __future__ import annotations

from worstclass.storage.folder import load_model, results_folder, save_model

__all__ = ["load_model", "results_folder", "save_model"]
