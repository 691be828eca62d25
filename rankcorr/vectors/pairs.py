"""Gold scores of pairs of words, from a table or a mapping."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TypeAlias, cast

from rankcorr.checks import offending, shown
from rankcorr.errors import NonNumericError, OptionError
from rankcorr.io.tables import Duplicates, read_numbers
from rankcorr.ranking import as_ranking
from rankcorr.vectors.errors import DuplicatePairError, VectorError

Pair: TypeAlias = tuple[str, str]
PairsLike: TypeAlias = Mapping[Pair, float] | str | os.PathLike[str]


def read_pairs(
    path: str | os.PathLike[str],
    *,
    word_columns: Sequence[str] | None = None,
    score_column: str | None = None,
    header: bool = True,
    unordered: bool = False,
    duplicates: Duplicates = "error",
) -> dict[Pair, float]:
    r"""Read gold scores of pairs of words from a CSV or TSV file in UTF-8, as those of WordSim-353, RG-65 and RDT are.

    Parameters
    ----------
    path, header, duplicates
        As in `rankcorr.io.tables.read_ranking`.
    word_columns : sequence of two str, optional
        Columns of the words; by default the first two that are not `score_column`.
    score_column : str, optional
        Column of the scores; may be omitted when only one column is left for it.
    unordered : bool, default False
        "gem, jewel" and "jewel, gem" are one pair, as `evaluate_vectors` takes them; it is spelt as it comes first. The
        relata of words are ordered pairs.

    Returns
    -------
    dict of (str, str) to float
        In the order of the file.

    Raises
    ------
    TableError
        With file, line and column.
    OptionError

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "rg.tsv")
    ...     _ = file.write_text("word1\tword2\tgold\tlch\ngem\tjewel\t3.94\t3.6\ncord\tsmile\t0.02\t1.5\n")
    ...     read_pairs(file, score_column="gold")
    {('gem', 'jewel'): 3.94, ('cord', 'smile'): 0.02}
    """
    if word_columns is not None and (isinstance(word_columns, str) or len(word_columns) != 2):
        raise OptionError(f"word_columns must be a list of two names of columns; got {shown(word_columns)}")
    numbers = read_numbers(
        path,
        id_columns=word_columns,
        score_column=score_column,
        header=header,
        unordered=unordered,
        duplicates=duplicates,
        n_ids=2,
        as_spelled=True,
    )
    return cast("dict[Pair, float]", numbers)


def as_pairs(gold: PairsLike, *, unordered: bool = False) -> dict[Pair, float]:
    """Gold scores by pair; those of a path are read. The order of words does not count if they are `unordered`.

    Raises
    ------
    VectorError
        It is neither, or a key is no pair of words; `DuplicatePairError` for an unordered pair in both orders.
    RankingError
        A score is no number, or none that a float can hold.
    """
    if isinstance(gold, str | os.PathLike):
        return read_pairs(gold, unordered=unordered)
    if not isinstance(gold, Mapping):
        raise VectorError(f"gold must be a path or a mapping of (word, word) to score; got {shown(gold)}")
    wrong = [
        pair
        for pair in gold
        if not (isinstance(pair, tuple) and len(pair) == 2 and all(isinstance(word, str) for word in pair))
    ]
    if wrong:
        raise VectorError(offending("keys of gold must be pairs of words; got", wrong))
    as_ranking(gold)  # refuses scores that are no numbers
    for pair, score in gold.items():
        try:
            float(score)
        except OverflowError:
            raise NonNumericError(
                f"gold scores must be in the range of 64-bit floats; that of {pair} is {shown(score)}"
            ) from None
    if unordered and (both := [pair for pair in gold if pair[0] < pair[1] and pair[::-1] in gold]):
        raise DuplicatePairError(
            offending(
                "a pair may come once, whatever the order of its words (read_pairs with unordered=True and "
                'duplicates="mean" averages those of a file); in both orders',
                both,
            )
        )
    return {(str(first), str(second)): score for (first, second), score in gold.items()}


def words_of(pairs: Mapping[Pair, float], *, lower: bool) -> dict[str, str]:
    """Each word of the pairs, and the word that it is looked up as, in the order of first use."""
    return {word: word.lower() if lower else word for pair in pairs for word in pair}
