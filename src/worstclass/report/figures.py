"""What all figures share: colours, class names as matplotlib shows them, and files."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: colours that stay apart for people with colour blindness (Okabe and Ito), repeated for more classes
LINES = ("-", "--", ":")
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#F0E442", "#000000")


def save_figure(figure: Figure, file: Any) -> Any:
    """Write a figure, as PNG or as PDF by the ending of the file; to anything but a path as PNG."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    is_pdf = isinstance(file, Path) and file.suffix == ".pdf"
    FigureCanvasAgg(figure)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")  # names in any script
        figure.savefig(file, dpi=150, bbox_inches="tight", metadata={"CreationDate": None} if is_pdf else None)
    return file


def as_text(label: Any, most: int | None = None) -> str:
    """Return a class name that matplotlib shows as it is: no formulas, no hidden legend entries, at most so long."""
    text = str(label)
    text = text if most is None or len(text) <= most else f"{text[: most - 1]}…"
    text = text.replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text
