"""Vectors in the binary form of word2vec."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from rankcorr.vectors.errors import VectorFileError
from rankcorr.vectors.reader import Reader
from rankcorr.vectors.words import WordVectors

MAX_WORD_BYTES: Final = 10_000


class BinaryReader(Reader):
    """Each word, a space, and its numbers as float32, the least significant byte first."""

    def read(self, form: str) -> WordVectors:
        """Read the whole file, of this form."""
        line, newline, _ = self.source.head.partition(b"\n")
        if not newline:
            self.source.fail("a first line with the number of words and the dimension is wanted", 1)
        n_words, dimension = self.header(line)
        self.kept.dimension = dimension
        for n_read, (raw, numbers, place) in enumerate(self._records(n_words, dimension, len(line) + 1), start=1):
            word = self.text_of(raw, place)
            if word is not None and word in self.wanted:
                self.kept.add(word, np.frombuffer(numbers, "<f4"), place)
            self.wanted.count(n_read)
        return self.finished(n_words, form)

    def _records(self, n_words: int, dimension: int, start: int) -> Iterator[tuple[bytes, bytes, str]]:
        """Word, numbers and place of each record; the file must end with the last."""
        chunks, size = self.source.chunks(), 4 * dimension
        buffer, position, n_before = next(chunks), start, 0  # n_before: bytes of the file before the buffer
        for number in range(1, n_words + 1):
            while True:
                position = _after_breaks(buffer, position)
                space = buffer.find(b" ", position)
                if space >= 0 and space + size < len(buffer):
                    break
                place = f"{self.source.name}: byte {n_before + position:,}"
                if space < 0 and len(buffer) - position > MAX_WORD_BYTES:
                    raise VectorFileError(f"{place}: no word ends within {MAX_WORD_BYTES:,} bytes; is the header true?")
                chunk = next(chunks, b"")
                if not chunk:
                    raise VectorFileError(f"{place}: the file ends in word {number:,} of {n_words:,}")
                n_before += position
                buffer, position = buffer[position:] + chunk, 0
            place = f"{self.source.name}: byte {n_before + position:,}"
            raw = buffer[position:space]
            if not raw or len(raw) > MAX_WORD_BYTES:
                raise VectorFileError(f"{place}: a word of 1 to {MAX_WORD_BYTES:,} bytes is wanted; got {len(raw):,}")
            position = space + 1 + size
            yield raw, buffer[space + 1 : position], place
        buffer, n_before = buffer[position:] + next(chunks, b""), n_before + position
        position = _after_breaks(buffer, 0)
        if buffer[position:]:
            place = f"{self.source.name}: byte {n_before + position:,}"
            raise VectorFileError(f"{place}: the file goes on after the {n_words:,} words that its header says")


def _after_breaks(buffer: bytes, position: int) -> int:
    """Where the next record begins: some writers end each by a line break."""
    while buffer[position : position + 1] == b"\n":
        position += 1
    return position
