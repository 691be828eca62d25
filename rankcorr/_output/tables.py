"""Format tables as plain text, Markdown, LaTeX and HTML; LaTeX marks the best and the significant values."""

import math
import re
import unicodedata
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from html import escape
from typing import Any, Final, NamedTuple

import numpy as np

from rankcorr._checks import alpha_of, real_text

MAX_HTML_ROWS: Final = 60
SYMBOLS: Final = {
    "tau_w": r"$\tau_w$",
    "rho_w": r"$\rho_w$",
    "tau_ap": r"$\tau_{\mathrm{AP}}$",
    "tau": r"$\tau$",
    "rho": r"$\rho$",
}
_COEFFICIENT: Final = re.compile(rf"(?<!\w)({'|'.join(SYMBOLS)})(?!\w)")
_SNAKE: Final = re.compile(r"[a-z]+(?:_[a-z]+)+")
LATEX_SIGNS: Final = str.maketrans(
    {sign: f"\\{sign}" for sign in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"<": "$<$", ">": "$>$", "†": r"$\dagger$"}
)


def text_table(rows: Sequence[Sequence[str]], right: Sequence[bool]) -> str:
    """Return rows as plain text, two spaces between columns; `right` tells which columns are right-aligned.

    Examples
    --------
    >>> print(text_table([["item", "rank"], ["ant", "2"]], [False, True]))
    item  rank
    ant      2
    """
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        gaps = [" " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True)]
        cells = zip(row, gaps, right, strict=True)
        lines.append("  ".join(gap + cell if is_right else cell + gap for cell, gap, is_right in cells).rstrip(" "))
    return "\n".join(lines)


def _width(text: str) -> int:
    """Return the number of terminal columns: a wide letter takes two, a combining mark none."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else not unicodedata.combining(c) for c in text)


def markdown_table(rows: Sequence[Sequence[str]], right: Sequence[bool]) -> str:
    """Return rows in Markdown, the first as the header; `right` tells which columns are right-aligned."""
    lines = [[" ".join(cell.replace("|", "\\|").splitlines()) for cell in row] for row in rows]
    lines.insert(1, ["---:" if is_right else "---" for is_right in right])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


class TableNotes(NamedTuple):
    """A caption, and the cells (row, column) in the body of a table that hold the best and the significant values."""

    caption: str = ""
    best: Collection[tuple[int, int]] = ()
    significant: Collection[tuple[int, int]] = ()


NO_NOTES: Final = TableNotes()


def best_places(values: Sequence[float], column: int, groups: Sequence[Hashable] | None = None) -> set[tuple[int, int]]:
    """Return the cells with the largest number of each group in a column; none for groups with a single number.

    Examples
    --------
    >>> sorted(best_places([0.5, 0.7, math.nan, 0.7], column=2))
    [(1, 2), (3, 2)]
    """
    rows_of: dict[Hashable, list[int]] = {}
    for row, (value, group) in enumerate(zip(values, groups or [None] * len(values), strict=True)):
        if not math.isnan(value):
            rows_of.setdefault(group, []).append(row)
    return {
        (row, column)
        for rows in rows_of.values()
        if len(rows) > 1
        for row in rows
        if values[row] == max(values[other] for other in rows)
    }


def significance_notes(
    caption: str,
    pvalues: Iterable[float],
    column: int,
    level: float,
    *,
    best: Collection[tuple[int, int]] = (),
    meaning: str = "",
    tested: str = "corrected p",
) -> TableNotes:
    """Mark the significant values of a column with a dagger, which the end of the caption explains.

    Examples
    --------
    >>> significance_notes("Runs.", [0.2, 0.01], 1, 0.95)
    TableNotes(caption='Runs. †: corrected p at most 0.05.', best=(), significant={(1, 1)})
    """
    alpha = alpha_of(level)
    limit = f"{tested} at most {alpha:.3g}"
    significant = {(row, column) for row, pvalue in enumerate(pvalues) if pvalue <= alpha}
    return TableNotes(f"{caption} †: {f'{meaning} ({limit})' if meaning else limit}.", best, significant)


def latex_table(rows: Sequence[Sequence[str]], right: Sequence[bool], notes: TableNotes = NO_NOTES) -> str:
    r"""Return rows in LaTeX, with the rules of booktabs; parameters are those of `markdown_table`.

    The best values are bold, and significant ones have a dagger. With a caption, the result is a table environment,
    otherwise only the tabular.

    Examples
    --------
    >>> print(latex_table([["run", "tau_w"], ["a_1", "-0.5"]], [False, True], TableNotes("Means", [(0, 1)])))
    \begin{table}
    \centering
    \caption{Means}
    \begin{tabular}{lr}
    \toprule
    run & $\tau_w$ \\
    \midrule
    a\_1 & \textbf{$-$0.5} \\
    \bottomrule
    \end{tabular}
    \end{table}
    """
    names, *body = rows
    # The first column of a matrix has no name, and the names of the others are labels, not Python names.
    headings = map(_latex_heading if names[0] else _latex_text, names)
    lines = [" & ".join(headings) + r" \\"]
    for row, cells in enumerate(body):
        texts = [_latex_cell(cell, is_right) for cell, is_right in zip(cells, right, strict=True)]
        for column in range(len(texts)):
            if (row, column) in notes.best:
                texts[column] = rf"\textbf{{{texts[column]}}}"
            if (row, column) in notes.significant:
                texts[column] += r"$^{\dagger}$"
        lines.append(" & ".join(texts) + r" \\")
    layout = "".join("r" if is_right else "l" for is_right in right)
    tabular = [rf"\begin{{tabular}}{{{layout}}}", r"\toprule", lines[0], r"\midrule", *lines[1:], r"\bottomrule"]
    tabular.append(r"\end{tabular}")
    if notes.caption:
        caption = rf"\caption{{{_latex_text(notes.caption)}}}"
        tabular = [r"\begin{table}", r"\centering", caption, *tabular, r"\end{table}"]
    return "\n".join(tabular)


def _latex_text(text: str) -> str:
    """Escape a text for LaTeX, with symbols for the names of coefficients."""
    return "".join(SYMBOLS.get(part, part.translate(LATEX_SIGNS)) for part in _COEFFICIENT.split(text))


def _latex_heading(name: str) -> str:
    """Format the name of a column; a Python name loses its underscores."""
    return _latex_text(name.replace("_", " ") if _SNAKE.fullmatch(name) and name not in SYMBOLS else name)


def _latex_cell(cell: str, is_right: bool) -> str:
    """Format a cell with LaTeX signs for minus and infinity, and a dash for nan; left-aligned, nan is text."""
    if cell == "-" or (cell == "nan" and is_right):
        return "--"
    if is_right and cell in ("inf", "-inf"):
        return r"$-\infty$" if cell[0] == "-" else r"$\infty$"
    if cell.startswith("-") and real_text(cell):
        return f"$-${cell[1:]}"
    return SYMBOLS.get(cell, cell.translate(LATEX_SIGNS))


def html_table(columns: Mapping[Any, Sequence[Any]]) -> str:
    """Return columns as a table in HTML, cut after `MAX_HTML_ROWS` rows."""
    n_rows = len(next(iter(columns.values()), ()))
    head = "".join(f"<th>{escape(str(name))}</th>" for name in columns)
    listed = [list(column[:MAX_HTML_ROWS]) for column in columns.values()]
    rows = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in zip(*listed, strict=True))
    more = f"<p>… {n_rows - MAX_HTML_ROWS:,} more rows</p>" if n_rows > MAX_HTML_ROWS else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{more}"


def _cell(value: Any) -> str:
    style = ' style="text-align: right"' if is_numeric([value]) else ""
    return f"<td{style}>{escape(cell_text(value))}</td>"


def is_numeric(column: Sequence[Any]) -> bool:
    """Return whether a column holds only numbers and gaps (None); tables right-align it."""
    return all(value is None or isinstance(value, float | int | np.number) for value in column)


def cell_text(value: Any) -> str:
    """Format a float with four significant digits, an integer with commas, None as empty, and the rest with `str`."""
    if isinstance(value, float | np.floating):
        return f"{value:.4g}"
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return f"{value:,}"
    return "" if value is None else str(value)
