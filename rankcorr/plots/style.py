"""What all figures share: how they look, and how they are saved.

matplotlib (extra `plot`) is imported by the calls that draw. Markers and line styles tell things apart, so that the
figures can be read in black and white.
"""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rankcorr.checks import shown
from rankcorr.errors import OptionError
from rankcorr.io.files import write_atomically

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMS: Final = ("png", "svg")
LONGEST_LABEL: Final = 36


class MissingMatplotlibError(ImportError):
    """matplotlib is not installed."""


def figure_class() -> type[Figure]:
    """Return matplotlib's `Figure`, or say what to install."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise MissingMatplotlibError("figures need matplotlib: pip install 'rankcorr[plot]'") from error
    return Figure


def canvas(width: float = 6.4, height: float = 4.4) -> Figure:
    """Return an empty figure; sizes in inches."""
    # Without pyplot: no state is shared, and no window system is needed.
    return figure_class()(figsize=(width, height), layout="constrained")


def add_axes(figure: Figure, place: tuple[int, int, int], x_label: str, y_label: str) -> Axes:
    """Add a panel; `place` is the number of rows, the number of columns, and the number of the panel, from 1."""
    axes = figure.add_subplot(*place)
    axes.set_xlabel(x_label, fontsize=12)
    axes.set_ylabel(y_label, fontsize=12)
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def label_text(label: object) -> str:
    """Return a label as one line of plain text; a long one loses its middle, because names differ at their ends."""
    joined = ", ".join(map(str, label)) if isinstance(label, tuple) else str(label)
    text = " ".join(joined.split()) or repr(label)
    text = "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)  # SVG has no control characters
    if len(text) > LONGEST_LABEL:
        text = f"{text[: LONGEST_LABEL // 2]}…{text[-(LONGEST_LABEL // 2 - 1) :]}"
    return text.replace("$", r"\$")  # matplotlib sets text between dollar signs as a formula


def signed(value: float) -> str:
    """Three decimals, with a true minus sign."""
    return f"{value:.3f}".replace("-", "\N{MINUS SIGN}")


def figure_bytes(figure: Figure, form: str) -> bytes:
    """Return a figure as the content of a file, the same for equal figures."""
    from matplotlib import rc_context

    file = io.BytesIO()
    # Text stays text, and neither the date nor random ids make two equal figures differ.
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "rankcorr"}):
        figure.savefig(file, format=form, dpi=200, metadata={"Date": None} if form == "svg" else None)
    return file.getvalue()


def save_figure(figure: Figure, path: str | os.PathLike[str]) -> Path:
    """Write a figure as PNG or SVG, by the extension of the file name; never half a file.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    path : str or path-like
        Ends with .png or .svg. An existing file is replaced.

    Returns
    -------
    Path
        The file written.

    Raises
    ------
    OptionError
        The name does not end with .png or .svg.
    OSError
        The file cannot be written.
    """
    target = Path(path)
    form = target.suffix.lower().removeprefix(".")
    if form not in FORMS:
        raise OptionError(f"the file name of a figure must end with .png or .svg; got {shown(target.name)}")
    write_atomically(target, figure_bytes(figure, form))
    return target
