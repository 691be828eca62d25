"""Shared by all figures: their look, and how they are saved.

matplotlib (extra `plot`) is imported by the calls that draw. Markers and line styles carry the distinctions, so that
the figures can be read in black and white, and with any colours of the reader's style.
"""

from __future__ import annotations

import io
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from rankcorr.checks import shown
from rankcorr.errors import OptionError
from rankcorr.io.files import write_atomically
from rankcorr.results import Computed

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Colour: TypeAlias = tuple[float, float, float]

FORMS: Final = ("png", "svg", "pdf")
LONGEST_LABEL: Final = 36
TICK: Final = 26  # that the label of a tick needs, in points
MOST_LEGEND_COLUMNS: Final = 4
CHARACTER: Final = 0.58  # width, in sizes of the font
HANDLE: Final = 45  # of a legend, with the space around it, in points
BELOW: Final = 42  # from the axes down to a legend below the label of the x-axis, in points

SYMBOLS: Final = {"tau_w": r"$\tau_w$", "rho_w": r"$\rho_w$", "tau": r"$\tau$", "rho": r"$\rho$"}
UNWEIGHTED: Final = ("tau", "rho")
OFFSET_SYMBOL: Final = "$n_0$"
SHARE_SYMBOL: Final = "$R(n_0)$"


class MissingMatplotlibError(ImportError):
    """matplotlib is not installed."""


def figure_class() -> type[Figure]:
    """Return matplotlib's `Figure`, or raise an error that names the package to install."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise MissingMatplotlibError("figures need matplotlib: pip install 'rankcorr[plot]'") from error
    return Figure


def canvas(width: float = 6.4, height: float = 4.4) -> Figure:
    """Return an empty figure; sizes in inches."""
    # Without pyplot: no state is shared, and no window system is needed.
    return figure_class()(figsize=(width, height), layout="constrained")


def own_axes(ax: Axes | None, x_label: str, y_label: str, width: float = 6.4, height: float = 4.4) -> Axes:
    """Return the axes that a caller gave, or those of a new figure of this size in inches, with these labels.

    Raises
    ------
    OptionError
        `ax` is something else, such as the array of several that ``subplots`` returns.
    """
    if ax is None:
        return add_axes(canvas(width, height), (1, 1, 1), x_label, y_label)
    from matplotlib.axes import Axes

    if not isinstance(ax, Axes):
        raise OptionError(f"ax must be one Axes of matplotlib; got {shown(ax)}")
    ax.set_xlabel(x_label)
    ax.set_ylabel(y_label)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def drawn(axes: Axes, ax: Axes | None) -> Figure | Axes:
    """Return the result of a function that has drawn into `axes`: the figure that it made, or `ax`."""
    return cast("Figure", axes.figure) if ax is None else ax


def add_axes(figure: Figure, place: tuple[int, int, int], x_label: str, y_label: str) -> Axes:
    """Add a panel; `place` is the number of rows, the number of columns, and the number of the panel, from 1."""
    axes = figure.add_subplot(*place)
    axes.set_xlabel(x_label, fontsize=12)
    axes.set_ylabel(y_label, fontsize=12)
    axes.spines[["top", "right"]].set_visible(False)
    return axes


@dataclass(frozen=True)
class Ink:
    """The colours of writing and of the ground in some axes, as set by the reader's style."""

    full: Colour
    paper: Colour

    @classmethod
    def of(cls, axes: Axes) -> Ink:
        """Read the colours of axes; if the ground is transparent, choose one that contrasts with the ink."""
        from matplotlib.colors import to_rgb, to_rgba

        full = to_rgb(axes.xaxis.label.get_color())
        for ground in (axes.get_facecolor(), axes.figure.get_facecolor()):
            red, green, blue, opacity = to_rgba(ground)
            if opacity > 0.5:
                return cls(full, (red, green, blue))
        return cls(full, (0.0, 0.0, 0.0) if sum(full) > 1.5 else (1.0, 1.0, 1.0))

    def grey(self, paleness: float) -> Colour:
        """Mix ink and paper: 0 is the ink, 1 the paper."""
        red, green, blue = (
            paleness * paper + (1 - paleness) * full for full, paper in zip(self.full, self.paper, strict=True)
        )
        return red, green, blue


def room(axes: Axes) -> float:
    """Width of axes in points, before a layout changes it."""
    return 72 * axes.get_position().width * float(axes.figure.bbox.width) / axes.figure.dpi


def add_legend(
    axes: Axes,
    handles: Sequence[Artist],
    ax: Axes | None,
    *,
    above: bool = False,
    of_panel: bool = False,
    **options: Any,
) -> None:
    """Put a legend above or below axes, so that it hides nothing.

    Without `ax`, the legend is at the edge of the new figure, unless it is `of_panel`. With the caller's axes, `ax`, it
    belongs to these, and long lines are broken: a layout would shrink the axes to nothing to make room for them.
    """
    ours = ax is None
    options = {"frameon": False, "fontsize": 9 if ours else 8} | options
    character = CHARACTER * options["fontsize"]
    handle = HANDLE if options.get("handlelength") != 0 else HANDLE / 3
    width = 72 * axes.figure.bbox.width / axes.figure.dpi if ours else room(axes)
    texts = [str(each.get_label()) for each in handles]
    if not ours:
        fitting = max(12, int((width - handle) / character))
        texts = ["\n".join(wrap(text, fitting, break_long_words=False, break_on_hyphens=False)) for text in texts]
    longest = max((len(line) for text in texts for line in text.split("\n")), default=0)
    fit = int(width / (handle + character * longest))
    options = {"ncols": 1 if above or (ours and of_panel) else max(1, min(MOST_LEGEND_COLUMNS, fit))} | options
    if ours and not of_panel:
        where = "outside upper left" if above else "outside lower center"
        axes.figure.legend(handles, texts, loc=where, **options)  # type: ignore[call-overload]
        return
    if above:
        axes.legend(handles, texts, loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.3, **options)
        return
    from matplotlib.transforms import ScaledTranslation

    below = axes.transAxes + ScaledTranslation(0, -BELOW / 72, axes.figure.dpi_scale_trans)
    options = {"bbox_to_anchor": (0, 0), "bbox_transform": below, "borderaxespad": 0} | options
    axes.legend(handles, texts, loc="upper left", **options)


def symbol(coefficient: str) -> str:
    """Return the symbol of a coefficient, for matplotlib to set."""
    return SYMBOLS.get(coefficient, label_text(coefficient))


def described(result: Computed, value: float | None = None, *, offset: bool = True) -> str:
    """Return the symbol of the computed coefficient, its value, and its non-default options.

    `offset` determines whether n0 is among them; nan is "undefined".
    """
    options = []
    if result.coefficient not in UNWEIGHTED:
        if result.n0 is None:
            options.append(f"weights {label_text(result.weigher).removesuffix('()')}")
        elif offset:
            options.append(f"$n_0 = {result.n0:g}$")
        if result.scheme != "additive":
            options.append(f"scheme {result.scheme}")
        if result.tied_weights != "midrank":
            options.append(f"{result.tied_weights} weights of ties")
    if result.variant == "a":
        options.append("variant a")
    head = symbol(result.coefficient)
    if value is not None:
        head = f"{head} is undefined" if math.isnan(value) else f"{head} = {signed(value)}"
    return ", ".join([head, *options])


def label_text(label: object, longest: int = LONGEST_LABEL) -> str:
    """Return a label as one line of plain text; a long one loses its middle, because names differ at their ends."""
    joined = ", ".join(map(str, label)) if isinstance(label, tuple) else str(label)
    text = " ".join(joined.split()) or repr(label)
    text = "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)  # SVG has no control characters
    if len(text) > longest:
        text = f"{text[: longest // 2]}…{text[-(longest // 2 - 1) :]}"
    return text.replace("$", r"\$")  # matplotlib sets text between dollar signs as a formula


def round_numbers(low: float, high: float, most: int = 10) -> list[float]:
    """The numbers 1, 2, 5, 10, 20, .. from `low` to `high`, or only 1, 10, 100, .. if those are more than `most`."""
    numbers = [float(digit * 10**power) for power in range(19) for digit in (1, 2, 5)]
    found = [number for number in numbers if low <= number <= high]
    return found if len(found) <= most else [number for number in found if math.log10(number).is_integer()]


def signed(value: float) -> str:
    """Three decimals, with a true minus sign."""
    return f"{value:.3f}".replace("-", "\N{MINUS SIGN}")


def figure_bytes(figure: Figure, form: str) -> bytes:
    """Return a figure as the content of a file, the same for equal figures."""
    from matplotlib import rc_context

    file = io.BytesIO()
    # Text stays text, and neither the date nor random ids make two equal figures differ.
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(form)
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "rankcorr", "pdf.fonttype": 42}):
        figure.savefig(file, format=form, dpi=200, metadata=metadata)
    return file.getvalue()


def save_figure(figure: Figure, path: str | os.PathLike[str]) -> Path:
    """Write a figure as PNG, SVG or PDF, by the extension of the file name; never half a file.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    path : str or path-like
        Ends in .png, .svg or .pdf. An existing file is replaced.

    Returns
    -------
    Path
        The file written.

    Raises
    ------
    OptionError
        The name has another ending.
    OSError
        The file cannot be written.
    """
    target = Path(path)
    form = target.suffix.lower().removeprefix(".")
    if form not in FORMS:
        raise OptionError(f"the file name of a figure must end with .png, .svg or .pdf; got {shown(target.name)}")
    write_atomically(target, figure_bytes(figure, form))
    return target
