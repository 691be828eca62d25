"""Underlying similarities z of items: three distributions, best first, or values from a file (section 4.1.1).

The voter model accepts any values in [-1, 1]: 1 for synonyms, 0 for unrelated tokens, -1 for antonyms.
"""

import csv
import os
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adaptive._tables import check_spelling, header_and_records
from adaptive.errors import SimilarityError
from rankcorr._checks import checked_count, shown
from rankcorr._io.source import path_text
from rankcorr._io.table import TextTable, list_names

_MOST_NAMED = 5


def exponential_similarity(n_items: int) -> NDArray[np.float64]:
    """Return exponential similarities z_i = 2 exp(-i/n) - 1, i = 0 .. n-1.

    Parameters
    ----------
    n_items : int
        At least 2.

    Returns
    -------
    ndarray of float64, shape (n_items,)
        From 1 down to -0.26.

    Raises
    ------
    SimilarityError
        When `n_items` is not a whole number of 2 or more.

    See Also
    --------
    power_law_similarity, embedding_similarity : Other kinds of list.
    simulate : Simulate votes on them.

    References
    ----------
    P. Lombardo et al., Top-Rank-Focused Adaptive Vote Collection for the Evaluation of Domain-Specific Semantic
    Models, EMNLP 2020, section 4.1.1.

    Examples
    --------
    >>> from adaptive import exponential_similarity
    >>> exponential_similarity(4).round(4)
    array([ 1.    ,  0.5576,  0.2131, -0.0553])
    """
    return np.asarray(2.0 * np.exp(-_fractions(n_items)) - 1.0)


def power_law_similarity(n_items: int) -> NDArray[np.float64]:
    """Return power law similarities z_i = 2 / (1 + sqrt(i/n)) - 1, i = 0 .. n-1.

    Parameters
    ----------
    n_items : int
        At least 2.

    Returns
    -------
    ndarray of float64, shape (n_items,)
        From 1 down to a little above 0.

    Raises
    ------
    SimilarityError
        When `n_items` is not a whole number of 2 or more.

    See Also
    --------
    exponential_similarity, embedding_similarity : Other kinds of list.
    simulate : Simulate votes on them.

    References
    ----------
    P. Lombardo et al., EMNLP 2020, section 4.1.1.

    Examples
    --------
    >>> from adaptive import power_law_similarity
    >>> power_law_similarity(4).round(4)
    array([1.    , 0.3333, 0.1716, 0.0718])
    """
    return np.asarray(2.0 / (1.0 + np.sqrt(_fractions(n_items))) - 1.0)


def embedding_similarity(n_items: int) -> NDArray[np.float64]:
    """Return cosines of a word embedding: quantiles of 990 token pairs of one semantic area.

    The packaged table has 100 of the 990 values, to four digits. They are densest at the top, where the gaps between
    items determine tau_w. The lowest six values are all included, because relatedness ranks by abs(z). Item i gets the
    quantile i / (n-1) by monotone cubic interpolation (PCHIP), so that no two items are tied for any n. For n = 990,
    the error of a value is at most 0.005.

    Parameters
    ----------
    n_items : int
        At least 2.

    Returns
    -------
    ndarray of float64, shape (n_items,)
        From 0.7652 down to -0.1828, strictly decreasing.

    Raises
    ------
    SimilarityError
        When `n_items` is not a whole number of 2 or more.

    See Also
    --------
    exponential_similarity, power_law_similarity : Other kinds of list.
    read_similarities : Read your own similarities.

    References
    ----------
    P. Lombardo et al., EMNLP 2020, section 4.1.1. The table summarizes the 990 cosines of their public code,
    https://github.com/intervieweb-datascience/adaptive-comp.

    Examples
    --------
    >>> from adaptive import embedding_similarity
    >>> embedding_similarity(5).round(4)
    array([ 0.7652,  0.1778,  0.0645, -0.001 , -0.1828])
    """
    from scipy.interpolate import PchipInterpolator  # slow, and only needed here

    positions, similarities = _quantile_table()
    n_items = checked_count(n_items, "n_items", SimilarityError, 2)
    return np.asarray(PchipInterpolator(positions, similarities)(np.arange(n_items) / (n_items - 1)))


SIMILARITIES: Final[Mapping[str, Callable[[int], NDArray[np.float64]]]] = MappingProxyType(
    {"exponential": exponential_similarity, "power_law": power_law_similarity, "embedding": embedding_similarity}
)


def named_similarity(name: str, n_items: int) -> NDArray[np.float64]:
    """Return similarities of one of the three distributions by name.

    Parameters
    ----------
    name : {"exponential", "power_law", "embedding"}
        A key of `SIMILARITIES`.
    n_items : int
        At least 2.

    Raises
    ------
    SimilarityError
        The distribution is unknown, or `n_items` is not a whole number of 2 or more.

    Examples
    --------
    >>> named_similarity("exponential", 3).round(4)
    array([1.    , 0.4331, 0.0268])
    """
    if not isinstance(name, str) or name not in SIMILARITIES:
        raise SimilarityError(
            f"a similarity distribution must be one of {', '.join(map(repr, SIMILARITIES))}; got {shown(name)}"
        )
    return SIMILARITIES[name](n_items)


def checked_similarity(similarity: ArrayLike) -> NDArray[np.float64]:
    """Return similarities as float64, or raise an error if the voter model does not allow them.

    Parameters
    ----------
    similarity : array_like of shape (n_items,)
        At least two real numbers from -1 to 1, in any order.

    Raises
    ------
    SimilarityError
        There is nan or a number outside [-1, 1], fewer than two items, more than one dimension, or other values than
        numbers.

    Examples
    --------
    >>> checked_similarity([0.7, -0.1])
    array([ 0.7, -0.1])
    """
    try:
        values = np.asarray(similarity)
    except ValueError as error:  # numpy's error for rows of different lengths
        raise SimilarityError("similarities must have one dimension; got rows that differ in length") from error
    if values.dtype.kind not in "iuf":
        raise SimilarityError(f"similarities must be real numbers; got an array of {values.dtype}")
    if values.ndim != 1:
        raise SimilarityError(f"similarities must have one dimension; got shape {values.shape}")
    if values.size < 2:
        raise SimilarityError(f"at least two similarities are needed; got {values.size}")
    wrong = np.flatnonzero(~(np.abs(values) <= 1))  # also nan
    if wrong.size:
        places = ", ".join(f"similarity[{item}] is {values[item]:g}" for item in wrong[:_MOST_NAMED])
        more = f", ... ({wrong.size} in all)" if wrong.size > _MOST_NAMED else ""
        raise SimilarityError(f"every similarity must lie in [-1, 1]: {places}{more}")
    return values.astype(np.float64, copy=False)


def read_similarities(path: str | os.PathLike[str], *, column: str = "similarity") -> NDArray[np.float64]:
    r"""Read similarities from one column of a CSV file in UTF-8 with a header.

    Blank lines are skipped.

    Parameters
    ----------
    path : str or path-like
    column : str
        Column of the similarities; other columns are ignored.

    Returns
    -------
    ndarray of float64, shape (n_items,)
        In the order of the file.

    Raises
    ------
    TableError
        The file cannot be read, is not a CSV table with this column, or has nan, a number outside [-1, 1], or fewer
        than two items. The message names the file, line and column.

    See Also
    --------
    embedding_similarity : Similarities that come with the library.
    simulate : Simulate votes on them.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from adaptive import read_similarities
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "cosines.csv")
    ...     _ = file.write_text("pair,similarity\nsalary-wage,0.71\nsalary-tree,-0.02\n")
    ...     read_similarities(file)
    array([ 0.71, -0.02])
    """
    table = TextTable(path_text(path))
    header, records = header_and_records(table, table.columns_text(), column)
    check_spelling(table, header, [column])
    if header.cells.count(column) != 1:
        table.fail(f'one column "{column}" is expected; the columns are {list_names(header.cells)}', header.line)
    position = header.cells.index(column)
    values = []
    for record in records:
        table.check_width(header, record)
        cell = record.cells[position]
        value = table.number(cell, record.line, column)
        if not -1 <= value <= 1:
            message = f"a similarity must be a number from -1 to 1; got {shown(cell.strip())}"
            table.fail(message, record.line, column)
        values.append(float(value))
    if len(values) < 2:
        table.fail(f"at least two similarities are needed; got {len(values)}")
    return np.array(values)


@lru_cache(maxsize=1)
def _quantile_table() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return quantiles, from 0 for the top to 1, and their similarities."""
    text = (files("adaptive.simulation") / "embedding_quantiles.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    ranks = np.array([float(row["rank"]) for row in rows])
    return (ranks - 1) / (ranks[-1] - 1), np.array([float(row["similarity"]) for row in rows])


def _fractions(n_items: Any) -> NDArray[np.float64]:
    """Return i/n for i = 0 .. n-1."""
    n_items = checked_count(n_items, "n_items", SimilarityError, 2)
    return np.asarray(np.arange(n_items) / n_items)
