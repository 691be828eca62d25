"""What the readers of text and of binary files share: which words are kept, and what a header says."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, Literal, TypeAlias

from rankcorr.checks import shown
from rankcorr.errors import OptionError
from rankcorr.vectors.errors import VectorFileError
from rankcorr.vectors.source import Source
from rankcorr.vectors.words import KeptVectors, WordVectors
from rankcorr.workers import Progress

Undecodable: TypeAlias = Literal["error", "omit"]

UNDECODABLE: Final = ("error", "omit")
MAX_DIMENSION: Final = 1_000_000
PROGRESS_WORDS: Final = 10_000


class Wanted:
    """Which words are kept, by their bytes."""

    def __init__(
        self, words: Collection[str] | None, encoding: str, undecodable: Undecodable, progress: Progress | None
    ) -> None:
        try:
            same = "a 1\n".encode(encoding) == b"a 1\n"
        except (LookupError, TypeError):
            same = False
        if not same:
            raise OptionError(f"encoding must be one that holds ASCII, such as 'utf-8'; got {shown(encoding)}")
        self.words = None if words is None else frozenset(words)
        self.encoding = encoding
        self.undecodable = undecodable
        self.n_undecodable = 0
        self._progress = progress

    def decoded(self, raw: bytes) -> str | None:
        """Text of a word; None if it is left out as no text, and an error where that is asked for."""
        try:
            return raw.decode(self.encoding)
        except UnicodeDecodeError:
            if self.undecodable == "error":
                raise
            self.n_undecodable += 1
            return None

    def __contains__(self, word: str) -> bool:
        return self.words is None or word in self.words

    def count(self, n_words: int) -> None:
        """Report progress; `n_words` have been read."""
        if self._progress is not None and n_words % PROGRESS_WORDS == 0:
            self._progress(PROGRESS_WORDS)


class Reader:
    """What the readers of text and of binary files share."""

    def __init__(self, source: Source, wanted: Wanted) -> None:
        self.source = source
        self.wanted = wanted
        self.kept = KeptVectors(source.name)

    def header(self, line: bytes) -> tuple[int, int]:
        """Number of words and dimension."""
        cells = line.split()
        if not is_header(cells):
            self.source.fail(f"the number of words and the dimension are wanted; got {shown(line[:80])}", 1)
        n_words, dimension = (int(cell) for cell in cells)
        if not 0 < dimension <= MAX_DIMENSION:
            self.source.fail(f"the header says a dimension of {dimension:,}; it must be 1 to {MAX_DIMENSION:,}", 1)
        if n_words == 0:
            self.source.fail("the header says that there are no words", 1)
        return n_words, dimension

    def text_of(self, raw: bytes, place: str) -> str | None:
        """Word of these bytes; None if it is left out."""
        try:
            return self.wanted.decoded(raw)
        except UnicodeDecodeError as error:
            raise VectorFileError(
                f"{place}: {shown(raw)} is not text in {self.wanted.encoding}; give the encoding of the words, or "
                "leave such words out (undecodable)"
            ) from error

    def finished(self, n_words: int, form: str) -> WordVectors:
        """What was kept, of a file of `n_words`."""
        return self.kept.finished(n_words, form, self.wanted.n_undecodable)


def is_header(cells: list[bytes]) -> bool:
    """Whether cells are a header: two whole numbers."""
    return len(cells) == 2 and all(cell.isdigit() and len(cell) <= 18 for cell in cells)
