"""Model folders that were changed on purpose, with checksums that are right again: what an attacker would send."""

from __future__ import annotations

import functools
import json
from pathlib import Path

from worstclass.storage.seal import checksums, sealed


def reseal(folder: Path) -> Path:
    """Write the checksums of a model folder anew, those of the models inside it first."""
    for card in sorted(folder.glob("**/model.json"), key=lambda file: -len(file.parts)):
        contents = sealed({**json.loads(card.read_text()), "files": checksums_but_card(card.parent)})
        card.write_text(json.dumps(contents))
        history = card.with_name("history.json")
        if history.exists():
            records = json.loads(history.read_text())["records"]
            history.write_text(json.dumps(sealed({"model": contents["sha256"], "records": records})))
    return folder


def checksums_but_card(folder: Path) -> dict[str, str]:
    return {name: digest for name, digest in checksums(folder).items() if name != "model.json"}


def change(folder: Path, **values: object) -> None:
    """Overwrite entries of ``model.json``; two underscores in names go down, as in ``state__learner_``."""
    card = json.loads((folder / "model.json").read_text())
    for path, value in values.items():
        *parents, name = path.split("__")
        functools.reduce(dict.__getitem__, parents, card)[name] = value
    (folder / "model.json").write_text(json.dumps(card))
    reseal(folder)
