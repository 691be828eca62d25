"""Turn tokens with semantic areas into items: pairs of tokens (sections 2.1 and 2.2 of Lombardo et al. 2020).

file -> tokens -> rows of pairs -> items. A row is a token with all that follow it in its area. Pairs are numbered along
the rows, and the number of a pair determines its tokens, so the cost of a sample depends only on its size.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from adaptive._tables import PairRow, check_spelling, csv_text, header_and_records, names_of
from adaptive.errors import TokenError
from rankcorr._checks import give_notice, real_number, shown, whole_number
from rankcorr._io.source import path_text
from rankcorr._io.table import Record, TextTable
from rankcorr._output.results import TableResult, json_ready

_RARE = Fraction(1, 10)  # of the mean frequency: footnote 2 of the paper
_FEW_RARE = Fraction(1, 20)  # our bound: the paper asks for "a relevant amount", without a figure


class FewRareTokensWarning(UserWarning):
    """Warn that fewer than 5 % of the tokens are rare: the data set can hardly show hubs (section 2.1).

    See Also
    --------
    pair_tokens : Issues this warning.

    Examples
    --------
    >>> import warnings
    >>> from adaptive import FewRareTokensWarning, pair_tokens
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", FewRareTokensWarning)
    ...     pair_tokens([("apple", "fruit", 120), ("pear", "fruit", 90)])
    Traceback (most recent call last):
        ...
    adaptive._token_pairs.FewRareTokensWarning: 0 of 2 tokens are rare ...
    """


class Token(NamedTuple):
    """A word, or words for one concept, in one semantic area.

    Attributes
    ----------
    text : str
        The token itself.
    area : str
        Its semantic area. A token with several areas has one `Token` for each.
    frequency : float or None
        Occurrences in texts of the domain, as a count or a share; None if unknown.

    See Also
    --------
    read_tokens : Read them from a file.
    pair_tokens : Pair them.

    Examples
    --------
    >>> from adaptive import Token, pair_tokens
    >>> tokens = [Token("apple", "fruit", 120.0), Token("pear", "fruit", 40.0), Token("yuzu", "fruit", 2.0)]
    >>> pair_tokens(tokens).items
    (('apple', 'pear'), ('apple', 'yuzu'), ('pear', 'yuzu'))
    """

    text: str
    area: str
    frequency: float | None = None


TokenLike: TypeAlias = Token | tuple[str, str] | tuple[str, str, float | None]


@dataclass(frozen=True, eq=False, repr=False)
class Pairing(TableResult):
    """Items made of two tokens, in a fixed order: by area, first and second token, each in the order given.

    The table has the columns item_1, item_2, area and, if frequencies are known, rare.

    Attributes
    ----------
    items : tuple of (str, str)
        The pairs. No pair appears twice, in either order.
    areas : tuple of (str or None)
        Area of each item: the first that its tokens share, None if they share no area.
    rare : tuple of bool, or None
        Whether an item has a rare token; None if frequencies are unknown.
    rare_tokens : tuple of str, or None
        Tokens with a frequency below 10 % of the mean; None if frequencies are unknown.
    n_admissible : int
        Number of pairs that the items were taken from.

    See Also
    --------
    pair_tokens : Returns it.

    Examples
    --------
    >>> from adaptive import pair_tokens
    >>> pairing = pair_tokens([("apple", "fruit", 120), ("pear", "fruit", 40), ("yuzu", "fruit", 2)])
    >>> pairing.n_items, pairing.rare_tokens, pairing.rare
    (3, ('yuzu',), (False, True, True))
    """

    _caption: ClassVar[str] = "Items made of pairs of tokens"

    items: tuple[tuple[str, str], ...]
    areas: tuple[str | None, ...]
    rare: tuple[bool, ...] | None
    rare_tokens: tuple[str, ...] | None
    n_admissible: int

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.items)

    def to_dict(self) -> dict[str, Any]:
        """Return the pairs with their areas, ready for JSON."""
        about = {"n_admissible": self.n_admissible, "rare_tokens": json_ready(self.rare_tokens)}
        return {**about, "items": self.table()}

    def _columns(self) -> dict[str, Sequence[Any]]:
        columns = (*zip(*self.items, strict=True), self.areas, self.rare)
        return {name: column for name, column in zip(names_of(PairRow), columns, strict=True) if column is not None}

    def __repr__(self) -> str:
        areas = dict.fromkeys(self.areas)
        named = f"{len(areas)} areas" if len(areas) > 1 else "1 area"
        rare = "" if self.rare is None else f", {sum(self.rare)} with a rare token"
        first, second = self.items[0]
        of = "" if self.n_items == self.n_admissible else f" of {self.n_admissible}"
        return f"<Pairing of {self.n_items}{of} pairs in {named}{rare}: {first!r} with {second!r}, ...>"


def read_tokens(path: str | os.PathLike[str]) -> tuple[Token, ...]:
    r"""Read tokens from a CSV or TSV file in UTF-8, with the columns token, area and, if known, frequency.

    The first line names the columns, in any order. No other columns are allowed, so a misspelt name is an error.
    The delimiter is found as in files of rankings (docs/reference/formats.md), and blank lines are skipped.

    Parameters
    ----------
    path : str or path-like
        ``"-"`` is standard input, ``"./-"`` a file of that name.

    Returns
    -------
    tuple of Token
        In the order of the file.

    Raises
    ------
    TableError
        With file, line and column: a column that is missing, unknown or repeated, or a cell that is empty or begins or
        ends with a space. Also a frequency that is not a finite number of 0 or more, a token twice in one area or with
        two frequencies, no token at all, or a file that cannot be read.

    See Also
    --------
    pair_tokens : Pair them.
    Token : The type of a token.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from adaptive import read_tokens
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "tokens.csv")
    ...     _ = file.write_text("token,area,frequency\nmachine learning,computing,120\nsales,marketing,300\n")
    ...     tokens = read_tokens(file)
    >>> tokens[0]
    Token(text='machine learning', area='computing', frequency=120.0)
    """
    table = TextTable(path_text(path))
    header, records = header_and_records(table, table.columns_text(), "token", "area")
    columns = _columns(table, header)
    tokens, lines = [], []
    for record in records:
        cells, line = record.cells, record.line
        table.check_width(header, record)
        for name, column in columns.items():
            if not cells[column].strip():
                table.fail(f"empty cell; every token needs {_NEEDED[name]}", line, name)
            if name != "frequency" and cells[column] != cells[column].strip():
                table.fail(f"{shown(cells[column])} begins or ends with a space", line, name)
        frequency = _read_frequency(table, cells[columns["frequency"]], line) if "frequency" in columns else None
        tokens.append(Token(cells[columns["token"]], cells[columns["area"]], frequency))
        lines.append(line)
    if not tokens:
        table.fail("no tokens, only the names of the columns", header.line)
    fault = _first_fault(tokens, lambda index: f"line {lines[index]}")
    if fault is not None:
        index, name, message = fault
        table.fail(message, lines[index], name)
    return tuple(tokens)


def pair_tokens(
    tokens: Iterable[TokenLike],
    *,
    sample: int | None = None,
    across_areas: bool = False,
    rng: np.random.Generator | None = None,
) -> Pairing:
    """Pair the tokens of each semantic area: all N (N - 1) / 2 pairs, or a random sample of them.

    Parameters
    ----------
    tokens : iterable of Token, or of (text, area) or (text, area, frequency)
        Each token once in each of its areas; frequencies for all or for none.
    sample : int, optional
        Number of pairs to take, without replacement; all are equally likely, whatever their area. Time and memory
        depend only on the size of the sample.
    across_areas : bool, default False
        Pair any two tokens, within an area or across areas. Most pairs across areas are unrelated (section 2.2).
    rng : numpy.random.Generator, optional
        Needed with `sample`.

    Returns
    -------
    Pairing

    Raises
    ------
    TokenError
        A token or area is blank or not a string. A frequency is negative, not finite, known only for some tokens, or
        differs for one token in two areas. A token appears twice in one area, an area has only one token, or two tokens
        share two areas, so that their pair would appear twice (unless across areas). `sample` is not between 1 and the
        number of pairs, or is given without `rng`.

    Warns
    -----
    FewRareTokensWarning
        If frequencies are known and fewer than 5 % of the tokens are rare, below 10 % of the mean frequency of all
        tokens, each counted once. Without rare tokens a data set does not show hubs; the bound of 5 % is ours.

    See Also
    --------
    read_tokens : Read the tokens.
    plan_ballots : Plan the votes on the pairs.

    Examples
    --------
    >>> import numpy as np
    >>> from adaptive import pair_tokens
    >>> fruit = [("apple", "fruit"), ("pear", "fruit"), ("plum", "fruit"), ("oak", "tree"), ("pine", "tree")]
    >>> pair_tokens(fruit).items
    (('apple', 'pear'), ('apple', 'plum'), ('pear', 'plum'), ('oak', 'pine'))
    >>> pair_tokens([(f"token {i}", "sales") for i in range(45)]).n_items  # as in the paper
    990
    >>> pair_tokens(fruit, sample=2, rng=np.random.default_rng(1)).n_items
    2
    """
    checked = _checked_tokens(tokens)
    if not isinstance(across_areas, bool | np.bool_):
        raise TokenError(f"across_areas must be True or False; got {shown(across_areas)}")
    frequencies = {token.text: token.frequency for token in checked}
    rare = _rare_tokens(frequencies)
    if across_areas:
        groups = [list(frequencies)]
        if len(frequencies) < 2:
            raise TokenError(f"pairs need two tokens; got one, {shown(checked[0].text)}")
    else:
        by_area: dict[str, list[str]] = {}
        for token in checked:
            by_area.setdefault(token.area, []).append(token.text)
        _check_areas(by_area)
        groups = list(by_area.values())
    items, n_admissible = _pairs(groups, sample, rng)
    areas = _areas_of(checked)
    result = Pairing(
        items=items,
        areas=tuple(next((area for area in areas[left] if area in areas[right]), None) for left, right in items),
        rare=None if rare is None else tuple(left in rare or right in rare for left, right in items),
        rare_tokens=None if rare is None else tuple(rare),
        n_admissible=n_admissible,
    )
    if rare is not None and len(rare) < _FEW_RARE * len(frequencies):
        give_notice(
            f"{len(rare)} of {len(frequencies)} tokens are rare (below 10 % of the mean frequency); "
            "with at least 5 % the data set can show whether a model has hubs",
            FewRareTokensWarning,
        )
    return result


def pairing_csv(pairing: Pairing) -> str:
    """Return the items of `pair_tokens` as CSV: item_1, item_2, area and, if frequencies are known, rare.

    Examples
    --------
    >>> print(pairing_csv(pair_tokens([("salary", "work"), ("wage", "work")])), end="")
    item_1,item_2,area
    salary,wage,work
    """
    columns = {**dict(pairing._columns()), "area": ["" if area is None else area for area in pairing.areas]}
    if pairing.rare is not None:
        columns["rare"] = ["yes" if is_rare else "no" for is_rare in pairing.rare]
    return csv_text(list(columns), zip(*columns.values(), strict=True))


def _pairs(
    groups: Sequence[Sequence[str]], sample: int | None, rng: np.random.Generator | None
) -> tuple[tuple[tuple[str, str], ...], int]:
    """Return all pairs within groups, or a sample of them, in order; and the number of all pairs."""
    texts = [text for group in groups for text in group]
    counts = np.array([len(group) - 1 - place for group in groups for place in range(len(group))], np.int64)
    ends = np.cumsum(counts)
    n_pairs = int(ends[-1])
    numbers = np.arange(n_pairs) if sample is None else _sample_pairs(n_pairs, sample, rng)
    row = np.searchsorted(ends, numbers, side="right")  # the token that pair number `numbers` begins with
    partner = row + 1 + numbers - (ends[row] - counts[row])
    pairs = zip(row.tolist(), partner.tolist(), strict=True)
    return tuple((texts[left], texts[right]) for left, right in pairs), n_pairs


def _sample_pairs(n_pairs: int, sample: object, rng: object) -> np.ndarray[Any, np.dtype[np.int64]]:
    size = whole_number(sample)
    if size is None or not 1 <= size <= n_pairs:
        raise TokenError(f"sample must be an integer from 1 to the number of pairs, {n_pairs}; got {shown(sample)}")
    if not isinstance(rng, np.random.Generator):
        raise TokenError(f"a sample needs rng, a numpy.random.Generator; got {shown(rng)}")
    return np.sort(rng.choice(n_pairs, size, replace=False, shuffle=False))


def _checked_tokens(tokens: Iterable[TokenLike]) -> list[Token]:
    if isinstance(tokens, str | bytes) or not isinstance(tokens, Iterable):
        raise TokenError(f"tokens must be a list of Token or (text, area); got {shown(tokens)}")
    checked = []
    for index, row in enumerate(tokens):
        if not isinstance(row, tuple | list) or len(row) not in {2, 3}:
            raise TokenError(f"tokens[{index}] must be a Token or (text, area); got {shown(row)}")
        token = Token(*row)
        for role, text in (("token", token.text), ("area", token.area)):
            if not isinstance(text, str) or not text.strip():
                raise TokenError(f"tokens[{index}]: the {role} must be a text that is not blank; got {shown(text)}")
        checked.append(token._replace(frequency=_checked_frequency(token.frequency, index)))
    if not checked:
        raise TokenError("pairs need two tokens; got none")
    unknown = [index for index, token in enumerate(checked) if token.frequency is None]
    if 0 < len(unknown) < len(checked):
        token = checked[unknown[0]]
        raise TokenError(f"tokens[{unknown[0]}]: {shown(token.text)} has no frequency, while others have one")
    fault = _first_fault(checked, lambda index: f"tokens[{index}]")
    if fault is not None:
        index, _, message = fault
        raise TokenError(f"tokens[{index}]: {message}")
    return checked


def _checked_frequency(frequency: object, index: int) -> float | None:
    number = real_number(frequency)
    if frequency is not None and not 0 <= number < math.inf:
        raise TokenError(f"tokens[{index}]: the frequency must be a finite number of 0 or more; got {shown(frequency)}")
    return None if frequency is None else number


def _first_fault(tokens: Sequence[Token], place: Callable[[int], str]) -> tuple[int, str, str] | None:
    """Find the first token that contradicts an earlier one: its index, the column with the error and a message."""
    areas: dict[tuple[str, str], int] = {}
    texts: dict[str, int] = {}
    for index, token in enumerate(tokens):
        first_index = areas.setdefault((token.text, token.area), index)
        if first_index != index:
            message = f"{shown(token.text)} is in area {shown(token.area)} already, by {place(first_index)}"
            return index, "token", message
        first_index = texts.setdefault(token.text, index)
        if tokens[first_index].frequency != token.frequency:
            frequencies = f"{tokens[first_index].frequency:g} by {place(first_index)} and {token.frequency:g} here"
            return index, "frequency", f"{shown(token.text)} has two frequencies, {frequencies}; it needs one"
    return None


def _areas_of(tokens: Iterable[Token]) -> dict[str, dict[str, None]]:
    """Return the areas of each token, in the order of the tokens; a dict serves as an ordered set."""
    areas: dict[str, dict[str, None]] = {}
    for token in tokens:
        areas.setdefault(token.text, {})[token.area] = None
    return areas


def _check_areas(by_area: dict[str, list[str]]) -> None:
    """Check that each area has pairs and that no two tokens share two areas."""
    lonely = [area for area, texts in by_area.items() if len(texts) < 2]
    if lonely:
        area = lonely[0]
        raise TokenError(f"area {shown(area)} has one token, {shown(by_area[area][0])}; a pair needs two")
    areas = _areas_of(Token(text, area) for area, texts in by_area.items() for text in texts)
    first: dict[tuple[str, str], str] = {}
    for text, area_pair in areas.items():
        for both in combinations(area_pair, 2):  # in the order of by_area, whatever the token
            other = first.setdefault(both, text)
            if other != text:
                raise TokenError(
                    f"the pair of {shown(other)} and {shown(text)} would appear twice: "
                    f"they share the areas {shown(both[0])} and {shown(both[1])}"
                )


def _rare_tokens(frequencies: dict[str, float | None]) -> dict[str, None] | None:
    """Return the tokens below exactly a tenth of the mean frequency; None if frequencies are unknown."""
    known = {text: Fraction(frequency) for text, frequency in frequencies.items() if frequency is not None}
    if not known:
        return None
    bound = _RARE * sum(known.values()) / len(known)
    return {text: None for text, frequency in known.items() if frequency < bound}


_NEEDED = {"token": "a text", "area": "an area", "frequency": "a frequency, or no token may have one"}


def _columns(table: TextTable, header: Record) -> dict[str, int]:
    """Return the position of each column."""
    columns = "token, area and, if known, frequency"
    check_spelling(table, header, _NEEDED)
    for name in header.cells:
        if name not in _NEEDED:
            table.fail(f"unknown column; the first line must name the columns {columns}", header.line, name)
        if header.cells.count(name) > 1:
            table.fail("more than one column has this name", header.line, name)
    for name in ("token", "area"):
        if name not in header.cells:
            table.fail(f'no column "{name}"; the first line must name the columns {columns}', header.line)
    return {name: header.cells.index(name) for name in _NEEDED if name in header.cells}


def _read_frequency(table: TextTable, cell: str, line: int) -> float:
    number = table.number(cell, line, "frequency")
    if not 0 <= number < math.inf:
        table.fail(f"{shown(cell.strip())} is not a finite number of 0 or more", line, "frequency")
    return float(number)
