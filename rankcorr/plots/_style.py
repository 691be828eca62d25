"""Shared by all figures: their look, and how they are saved.

matplotlib (extra `plot`) is imported by the calls that draw. The title says what is compared and how many, and labels
are next to what they name. Colours are safe for colour-blind readers, and line styles, places and labels repeat what
they say, so that the figures can be read in black and white, and on any ground.
"""

from __future__ import annotations

import io
import math
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast

import numpy as np

from rankcorr._checks import check_choice, check_declared, declare, shown
from rankcorr._io.source import write_atomically
from rankcorr._output.results import Computed
from rankcorr._output.tables import SYMBOLS
from rankcorr.errors import OptionError

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Colour: TypeAlias = tuple[float, float, float]

FORMS: Final = ("png", "svg", "pdf")
NARROW: Final = 5.0  # inches: below, text and lines are smaller
NARROW_SCALE: Final = 0.7
SCALE: Final = "_rankcorr_scale"  # attribute of a figure
MOST_HEIGHT: Final = 8.0  # in inches: 1,200 pixels
TITLE: Final = 11  # size of the font
NAMES: Final = 10  # the largest size of the font of names of rows
LABEL: Final = 9  # size of the font of labels
# Okabe and Ito (2008), without yellow and black.
COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
# Line styles of series, so that they can be told apart without colours.
STYLES: Final = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)), (0, (3, 1)), (0, (1, 1)), (0, (8, 2)))
Theme: TypeAlias = Literal["light", "dark"]
THEMES: Final = ("light", "dark")
LONGEST_LABEL: Final = 36
LONG_NAME: Final = 14  # letters
TICK: Final = 26  # that the label of a tick needs, in points
MOST_ROWS: Final = 60  # of systems; more could not be read
LARGE: Final = 1e5  # with three decimals, such numbers are too wide for a column,
HUGE: Final = 1e9  # and these without decimals too
SMALL: Final = 0.0095  # with three decimals, a column of smaller numbers would keep less than two digits
MOST_LEGEND_COLUMNS: Final = 4
CHARACTER: Final = 0.58  # width, in sizes of the font
PROSE: Final = 0.53  # the same in titles, which have many narrow letters
HANDLE: Final = 45  # of a legend, with the space around it, in points
BELOW: Final = 42  # from the axes down to a legend below the label of the x-axis, in points

UNWEIGHTED: Final = ("tau", "rho")
OFFSET_SYMBOL: Final = "$n_0$"
SHARE_SYMBOL: Final = "$R(n_0)$"


class MissingMatplotlibError(ImportError):
    """matplotlib is not installed.

    See Also
    --------
    plot_ranks : One of the functions that need matplotlib.

    Examples
    --------
    >>> import sys
    >>> from unittest.mock import patch
    >>> from rankcorr.plots import plot_ranks
    >>> with patch.dict(sys.modules, {"matplotlib.figure": None}):  # as if it were not installed
    ...     plot_ranks([4, 3, 2, 1], [3, 4, 1, 2])
    Traceback (most recent call last):
        ...
    rankcorr.plots._style.MissingMatplotlibError: figures need matplotlib: pip install matplotlib
    """


def figure_class() -> type[Figure]:
    """Return matplotlib's `Figure`, or raise an error that names the package to install."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise MissingMatplotlibError("figures need matplotlib: pip install matplotlib") from error
    return Figure


@dataclass(frozen=True)
class Paper:
    """How figures fit a page: the declaration of the options of `theme` and of the commands that draw."""

    width: float | None = declare(
        float,
        None,
        about="Width in inches: 3.3 for a column of a paper, 7 for a page. Below 5, text has about 7 points.",
        least=2,
        most=20,
    )
    has_title: bool = True
    dpi: int = declare(int, 150, about="Pixels of an inch in a PNG file.", least=50, most=1200)

    def __post_init__(self) -> None:
        check_declared(self, OptionError)

    @property
    def scale(self) -> float:
        """Factor by which text and lines are smaller on paper than in matplotlib's figure."""
        return 1.0 if self.width is None or self.width >= NARROW else NARROW_SCALE


_paper: ContextVar[Paper] = ContextVar("paper", default=Paper())  # noqa: B039 (it is frozen)


@contextmanager
def theme(name: Theme = "light", *, width: float | None = None, has_title: bool = True) -> Iterator[None]:
    """Draw the figures made in this block on a light or on a dark ground; otherwise matplotlib's style decides.

    Parameters
    ----------
    name : {"light", "dark"}
    width : float, optional
        Width in inches, 2 to 20: 3.3 for a column of a paper, 7 for a page. Below 5 inches, `save_figure` makes text
        and lines smaller, so that names have 7 points. A PDF keeps matplotlib's size: include it at this width.
    has_title : bool
        False leaves out the title, for a figure with a caption.

    Raises
    ------
    MissingMatplotlibError
        matplotlib is not installed.
    OptionError
        The name is another, or the width is out of range.

    See Also
    --------
    save_figure : Write the figure to a file.

    Examples
    --------
    >>> from rankcorr.plots import plot_ranks, theme
    >>> with theme("dark"):
    ...     figure = plot_ranks([4, 3, 2, 1], [3, 4, 1, 2])
    >>> figure.get_facecolor()[:3] < (0.2, 0.2, 0.2)
    True
    """
    figure_class()
    check_choice("theme", name, THEMES)
    from matplotlib import rc_context

    ink, paper = ("black", "white") if name == "light" else ("#e8e8e8", "#16181c")
    look: dict[Any, Any] = dict.fromkeys(
        ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), ink
    )
    look |= dict.fromkeys(("figure.facecolor", "axes.facecolor"), paper)
    token = _paper.set(Paper(width, has_title))
    try:
        with rc_context({**look, "savefig.facecolor": "auto"}):
            yield
    finally:
        _paper.reset(token)


def canvas(width: float = 6.4, height: float = 4.4) -> Figure:
    """Return an empty figure; sizes in inches."""
    # Without pyplot: no state is shared, and no window system is needed; notebooks ask such figures for a picture.
    paper = _paper.get()
    width = width if paper.width is None else paper.width / paper.scale
    figure = figure_class()(
        figsize=(width, min(height, MOST_HEIGHT / paper.scale)), layout="constrained", dpi=Paper.dpi
    )
    vars(figure)["_repr_png_"] = partial(figure_bytes, figure, "png")
    vars(figure)[SCALE] = paper.scale
    return figure


def most_columns(width: float) -> int:
    """Return how many panels of this width in inches fit beside each other; any number if no width was asked for."""
    paper = _paper.get()
    return 100 if paper.width is None else max(1, int(paper.width / paper.scale / width))


def longest_label() -> int:
    """Return the most letters of a label in a figure of its own."""
    return LONGEST_LABEL if _paper.get().scale == 1.0 else LONGEST_LABEL // 2


def height_of_rows(n_rows: int, row_height: float, around: float) -> float:
    """Height in inches of a figure with a row for each of some names, and of what is around them."""
    return min(MOST_HEIGHT, around + row_height * max(3, n_rows))


def size_of_names(axes: Axes, n_rows: int) -> float:
    """Size of the font of the names of rows."""
    return min(NAMES, 0.8 * tall(axes) / n_rows)


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


def axes_or_figure(axes: Axes, ax: Axes | None) -> Figure | Axes:
    """Return the result of a function that has drawn into `axes`: the figure that it made, or `ax`."""
    return cast("Figure", axes.figure) if ax is None else ax


def add_axes(figure: Figure, place: tuple[int, int, int], x_label: str, y_label: str) -> Axes:
    """Add a panel; `place` is the number of rows, the number of columns, and the number of the panel, from 1."""
    axes = figure.add_subplot(*place)
    axes.set_xlabel(x_label, fontsize=NAMES)
    axes.set_ylabel(y_label, fontsize=NAMES)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(color=Ink.of(axes).full, labelcolor=Ink.of(axes).full)  # some are made later, outside a theme
    return axes


def longest_name(axes: Axes) -> int:
    """Return the most letters of a name on the left of axes."""
    return max((len(label.get_text()) for label in axes.get_yticklabels()), default=0)


def break_x_label(axes: Axes, n_columns: int) -> None:
    """Break the label below new axes, which share the width of the figure with their names and with other columns."""
    width = 72 * axes.figure.bbox.width / axes.figure.dpi / n_columns - CHARACTER * NAMES * longest_name(axes)
    lines = wrap(axes.get_xlabel(), max(12, int(width / (CHARACTER * NAMES))), break_long_words=False)
    axes.set_xlabel("\n".join(lines))


def break_y_label(axes: Axes) -> None:
    """Break the label on the left of axes into lines that fit their height."""
    longest = max(12, int(tall(axes) / (CHARACTER * NAMES)))
    axes.set_ylabel("\n".join(wrap(axes.get_ylabel(), longest, break_long_words=False)))


def entitle(of: Axes | Figure, title: str, ax: Axes | None = None) -> None:
    """Write a title above axes or a figure, broken into lines that fit its width, or that of the caller's axes."""
    if ax is None and not _paper.get().has_title:
        return
    figure = cast("Any", of.figure)
    # Beside long names, axes are narrower than their title.
    is_over_all = ax is None and (
        of is figure or _paper.get().width is not None or longest_name(cast("Axes", of)) > LONG_NAME
    )
    target = figure if is_over_all else cast("Any", of)
    size = TITLE if ax is None else LABEL - 1
    width = room(ax) if ax is not None else 0.9 * 72 * figure.bbox.width / figure.dpi
    longest = max(16, int(width / (PROSE * size)))
    text = "\n".join(
        line
        for paragraph in title.split("\n")
        for line in wrap(paragraph, longest, break_long_words=False, break_on_hyphens=False)
    )
    if target is figure:
        target.suptitle(text, fontsize=size, x=0.01, ha="left")
    else:
        target.set_title(text, loc="left", fontsize=size)


def spread(values: Sequence[float], gap: float) -> list[float]:
    """Places from 0 to 1 that are at least a gap apart, and as near to the values as can be, in the same order.

    Examples
    --------
    >>> spread([0.5, 0.5, 1.0], 0.2)
    [0.4, 0.6000000000000001, 1.0]
    """
    from scipy.optimize import isotonic_regression

    order = np.argsort(values, kind="stable")
    steps = gap * np.arange(len(values))
    placed = isotonic_regression(np.asarray(values, np.float64)[order] - steps).x
    separated = np.empty(len(values))
    separated[order] = np.clip(placed, 0, max(0.0, 1 - gap * (len(values) - 1))) + steps
    return separated.tolist()


def label_beside(
    axes: Axes, points: Sequence[tuple[float, float]], texts: Sequence[str], colours: Sequence[Colour]
) -> None:
    """Write a label for each point on the right of axes whose limits are set, without overlap, with a line to it."""
    if not points:
        return
    ends = axes.transAxes.inverted().transform(axes.transData.transform(np.asarray(points, np.float64)))
    places = spread(ends[:, 1].tolist(), 1.35 * LABEL / tall(axes))
    for point, text, colour, place in zip(points, texts, colours, places, strict=True):
        axes.annotate(
            text,
            point,
            xytext=(1.04, place),
            textcoords="axes fraction",
            va="center",
            fontsize=LABEL,
            color=colour,
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "lw": 0.7, "color": colour, "shrinkA": 1, "shrinkB": 0, "relpos": (0, 0.5)},
            zorder=1,
        )


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

    def colour(self, number: int) -> Colour:
        """Colour of the series of a number from 0; paler on a dark ground."""
        from matplotlib.colors import to_rgb

        paleness = 0.3 if sum(self.paper) < 1.5 else 0.0
        red, green, blue = (part + paleness * (1 - part) for part in to_rgb(COLOURS[number % len(COLOURS)]))
        return red, green, blue


def tall(axes: Axes) -> float:
    """Height of axes in points, before a layout changes it."""
    return 72 * axes.get_position().height * float(axes.figure.bbox.height) / axes.figure.dpi


def room(axes: Axes) -> float:
    """Width of axes in points, before a layout changes it."""
    return 72 * axes.get_position().width * float(axes.figure.bbox.width) / axes.figure.dpi


def add_legend(axes: Axes, handles: Sequence[Artist], ax: Axes | None) -> None:
    """Put a legend below axes, so that it hides nothing.

    Without `ax`, the legend is at the edge of the new figure. With the caller's axes, `ax`, it belongs to these, and
    long lines are broken: a layout would shrink the axes to nothing to make room for them.
    """
    size = LABEL if ax is None else LABEL - 1
    character = CHARACTER * size
    width = 72 * axes.figure.bbox.width / axes.figure.dpi if ax is None else room(axes)
    texts = [str(handle.get_label()) for handle in handles]
    if ax is not None:
        fitting = max(12, int((width - HANDLE) / character))
        texts = ["\n".join(wrap(text, fitting, break_long_words=False, break_on_hyphens=False)) for text in texts]
    longest = max((len(line) for text in texts for line in text.split("\n")), default=0)
    n_columns = max(1, min(MOST_LEGEND_COLUMNS, int(width / (HANDLE + character * longest))))
    options: dict[str, Any] = {"frameon": False, "fontsize": size, "ncols": n_columns}
    if ax is None:
        axes.figure.legend(handles, texts, loc="outside lower center", **options)
        return
    from matplotlib.transforms import ScaledTranslation

    below = axes.transAxes + ScaledTranslation(0, -BELOW / 72, axes.figure.dpi_scale_trans)
    place: dict[str, Any] = {"bbox_to_anchor": (0, 0), "bbox_transform": below, "borderaxespad": 0}
    axes.legend(handles, texts, loc="upper left", **place, **options)


def symbol(coefficient: str) -> str:
    """Return the symbol of a coefficient, for matplotlib to set."""
    return SYMBOLS.get(coefficient, label_text(coefficient))


def coefficient_text(result: Computed, value: float | None = None, *, offset: bool = True) -> str:
    """Return the symbol of the computed coefficient, its value, and its non-default options.

    `offset` determines whether n0 is among them; nan is "undefined".
    """
    options = []
    if result.coefficient not in UNWEIGHTED and result.scheme is not None:
        if result.n0 is None:
            options.append(f"weights {label_text(result.weigher).removesuffix('()')}")
        elif offset:
            options.append(f"$n_0={result.n0:g}$")  # no blanks: a title is broken at them
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


def label_text(label: object, longest: int | None = None) -> str:
    """Return a label as one line of plain text; a long one loses its middle, because names differ at their ends."""
    joined = ", ".join(map(str, label)) if isinstance(label, tuple) else str(label)
    text = " ".join(joined.split()) or repr(label)
    text = "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)  # SVG has no control characters
    longest = longest_label() if longest is None else longest
    if len(text) > longest:
        text = f"{text[: longest // 2]}…{text[-(longest // 2 - 1) :]}"
    return text.replace("$", r"\$")  # matplotlib sets text between dollar signs as a formula


def round_numbers(low: float, high: float, gap: float) -> list[float]:
    """Round numbers from `low` to `high`, positive, at least a factor `gap` apart, with both ends if they are whole.

    Examples
    --------
    >>> round_numbers(1, 8, 1.1), round_numbers(1, 60, 1.5), round_numbers(1, 5_000, 5)
    ([1, 2, 3, 4, 5, 6, 7, 8], [1, 2, 3, 5, 10, 20, 30, 60], [1, 10, 100, 1000, 5000])
    """
    digits = (1, 5, 2, 3, *((4, 6, 8, 7, 9) if gap < 1.25 else ()))
    round_ones = [digit * 10**power for digit in digits for power in range(19)]
    ticks: list[float] = []
    for number in [low, high, *round_ones]:
        fits = low <= number <= high and number == int(number)
        if fits and all(max(number, other) >= gap * min(number, other) for other in ticks):
            ticks.append(number)
    return sorted(ticks)


def signed(value: float, decimals: int = 3) -> str:
    """A number with decimals and a true minus sign."""
    return f"{value:z.{decimals}f}".replace("-", "\N{MINUS SIGN}")


def column_texts(values: Sequence[float]) -> list[str]:
    """Return the values of a column in any unit: three decimals, none if they need more room, or three digits.

    Examples
    --------
    >>> column_texts([0.5, -1e-4, 1234.5]), column_texts([2.5e9, 123456.7, 3.0]), column_texts([2.5e-3, 0.0])[1]
    (['0.500', '0.000', '1234.500'], ['2.50e9', '123457', '3.000'], '0.000')
    """
    largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    texts = []
    for value in values:
        if math.isfinite(value) and (abs(value) >= HUGE or (value and largest < SMALL)):
            digits, exponent = f"{value:.2e}".split("e")
            texts.append(f"{digits}e{int(exponent)}".replace("-", "\N{MINUS SIGN}"))
        else:
            texts.append(signed(value, 0 if abs(value) >= LARGE else 3))
    return texts


def figure_bytes(figure: Figure, form: str, dpi: int = Paper.dpi) -> bytes:
    """Return a figure as the content of a file, the same for equal figures."""
    from matplotlib import rc_context

    file = io.BytesIO()
    # Text stays text, and neither the date nor random ids make two equal figures differ.
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(form)
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "rankcorr", "pdf.fonttype": 42}):
        scale = vars(figure).get(SCALE, 1.0)
        figure.savefig(file, format=form, dpi=dpi * scale if form == "png" else dpi, metadata=metadata)
    if form == "svg" and scale != 1.0:  # the drawing keeps its coordinates
        sizes = rb'width="([0-9.]+)pt" height="([0-9.]+)pt"'
        return re.sub(sizes, lambda size: _scaled_size(size, scale), file.getvalue(), count=1)
    return file.getvalue()


def _scaled_size(size: re.Match[bytes], scale: float) -> bytes:
    return 'width="{:.2f}pt" height="{:.2f}pt"'.format(*(scale * float(length) for length in size.groups())).encode()


def save_figure(figure: Figure, path: str | os.PathLike[str], *, dpi: int = Paper.dpi) -> Path:
    """Write a figure as PNG, SVG or PDF, by the extension of the file name; never half a file.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    path : str or path-like
        Ends in .png, .svg or .pdf. An existing file is replaced.
    dpi : int, default 150
        Pixels of an inch in a PNG file, 50 to 1,200. `theme` sets the size.

    Returns
    -------
    Path
        The file written.

    Raises
    ------
    OptionError
        The name has another ending, or dpi is out of range.
    OSError
        The file cannot be written.

    See Also
    --------
    theme : Figures on a dark ground.
    plot_ranks : One of the functions that return a figure.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from rankcorr.plots import plot_ranks, save_figure
    >>> with TemporaryDirectory() as folder:
    ...     path = save_figure(plot_ranks([4, 3, 2, 1], [3, 4, 1, 2]), f"{folder}/ranks.svg")
    ...     path.name, path.stat().st_size > 1_000
    ('ranks.svg', True)
    """
    target = Path(path)
    form = target.suffix.lower().removeprefix(".")
    if form not in FORMS:
        raise OptionError(f"the file name of a figure must end with .png, .svg or .pdf; got {shown(target.name)}")
    write_atomically(target, figure_bytes(figure, form, Paper(dpi=dpi).dpi))
    return target
