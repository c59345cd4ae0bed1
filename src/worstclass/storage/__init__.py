"""Models as folders, without pickles."""

from __future__ import annotations

from worstclass.storage.folder import load_model, save_model

__all__ = ["load_model", "save_model"]
