"""Vectors in text: a line for each word."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankcorr.checks import counted, shown
from rankcorr.vectors.errors import VectorFileError
from rankcorr.vectors.reader import Reader, Wanted
from rankcorr.vectors.source import Source
from rankcorr.vectors.words import WordVectors


class TextReader(Reader):
    """A line for each word: the word, and its numbers in decimal."""

    def __init__(self, source: Source, wanted: Wanted, *, has_header: bool) -> None:
        super().__init__(source, wanted)
        self.has_header = has_header

    def read(self, form: str) -> WordVectors:
        """Read the whole file, of this form."""
        lines = enumerate(self.source.lines(), start=1)
        n_said, dimension = self.header(next(lines)[1]) if self.has_header else (None, 0)
        n_words = 0
        for number, line in lines:
            stripped = line.strip()
            if not stripped:
                continue
            if not dimension:
                dimension = len(stripped.split()) - 1
            self.kept.dimension = dimension or None
            n_words += 1
            if n_said is not None and n_words > n_said:
                self.source.fail(f"a word beyond the {n_said:,} that the header says", number)
            self._line(stripped, number, dimension)
            self.wanted.count(n_words)
        if n_said is not None and n_words < n_said:
            self.source.fail(f"the header says {n_said:,} words; the file has {n_words:,}")
        return self.finished(n_words, form)

    def _line(self, line: bytes, number: int, dimension: int) -> None:
        place = f"{self.source.name}:{number}"
        raw, _, rest = line.partition(b" ")
        is_plain = dimension > 0 and rest.count(b" ") + 1 == dimension
        numbers: list[bytes] = []
        if not is_plain:  # tabs, several blanks, or spaces in the word
            raw, numbers = self._parts(line.split(), number, dimension)
        word = self.text_of(raw, place)
        if word is not None and word in self.wanted:
            self.kept.add(word, self._numbers(numbers or rest.split(), place, dimension), place)

    def _parts(self, cells: list[bytes], number: int, dimension: int) -> tuple[bytes, list[bytes]]:
        """Word and numbers of a line."""
        n_more = len(cells) - 1 - dimension
        if dimension < 1 or n_more < 0 or any(map(is_number, cells[1 : 1 + n_more])):
            wanted = f"{dimension:,} numbers" if dimension else "numbers"
            self.source.fail(f"a word and {wanted} are wanted; got {counted(len(cells), 'cell')}", number)
        return b" ".join(cells[: 1 + n_more]), cells[1 + n_more :]

    def _numbers(self, cells: list[bytes], place: str, dimension: int) -> np.ndarray[Any, Any]:
        wrong = [cell for cell in cells if not is_number(cell)]
        if wrong or len(cells) != dimension:
            got = f"{shown(wrong[0])} is not a number" if wrong else f"got {len(cells):,}"
            raise VectorFileError(f"{place}: {dimension:,} numbers are wanted after the word; {got}")
        return np.array([float(cell) for cell in cells])


def is_number(cell: bytes) -> bool:
    """Whether a cell is a number in decimal, or nan or an infinity."""
    try:
        float(cell)
    except ValueError:
        return False
    return b"_" not in cell
