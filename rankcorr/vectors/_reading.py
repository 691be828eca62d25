"""Read word vectors from the usual file formats; anything doubtful is an error that names file and line or byte.

bytes -> form -> words, only the needed ones -> `WordVectors`. The file is streamed: memory holds only the words kept.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterator
from itertools import takewhile
from typing import Any, Final, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from rankcorr._checks import check_choice, counted, shown
from rankcorr._io.source import Source, path_text
from rankcorr._workers import Progress, silent
from rankcorr.errors import OptionError
from rankcorr.vectors._words import (
    KeptVectors,
    MissingGensimError,
    VectorFileError,
    VectorsLike,
    WordVectors,
    unicode_forms,
)

Form: TypeAlias = Literal["word2vec", "word2vec-binary", "glove", "gensim"]

FORMS: Final[tuple[Form, ...]] = get_args(Form)
GENSIM_ENDINGS: Final = (".kv", ".model")
# Text has no control characters except tabs and ends of lines; binary numbers soon have one.
_CONTROLS: Final = bytes(set(range(32)) - set(b"\t\n\r\x0b\x0c")) + b"\x7f"
MAX_LINE_BYTES: Final = 1 << 26
_PICKLE: Final = b"\x80"
_BOM: Final = b"\xef\xbb\xbf"

Numbers: TypeAlias = NDArray[np.floating[Any]]
Undecodable: TypeAlias = Literal["error", "omit"]

UNDECODABLE: Final[tuple[Undecodable, ...]] = get_args(Undecodable)
MAX_DIMENSION: Final = 1_000_000
_LARGEST: Final = 1e15  # number of a vector, in a binary file
_NO_SPACES: Final = "a binary file cannot hold words with spaces"
PROGRESS_WORDS: Final = 10_000
MAX_WORD_BYTES: Final = 10_000


def read_vectors(
    path: str | os.PathLike[str],
    *,
    words: Collection[str] | None = None,
    form: Form | None = None,
    encoding: str = "utf-8",
    undecodable: Undecodable = "error",
    progress: Progress | None = None,
) -> WordVectors:
    r"""Read word vectors from a file, which may be compressed by gzip.

    ===============  ============================================================================
    form             content
    ===============  ============================================================================
    word2vec         a line with the number of words and the dimension, then lines of "glove"
    word2vec-binary  the same first line, then each word, a space, and its numbers as float32
    glove            a word and its numbers in each line; words may have spaces, but no part of a
                     word after the first may be a number
    gensim           KeyedVectors, or a model that has them, as gensim saves them
    ===============  ============================================================================

    Parameters
    ----------
    path : str or path-like
        ``"-"`` is standard input.
    words : collection of str, optional
        Words to keep; by default all. The vectors of other words are skipped, and their numbers are not checked.
    form : {"word2vec", "word2vec-binary", "glove", "gensim"}, optional
        By default recognized from the beginning of the file, and "gensim" from the ending .kv or .model. gensim
        unpickles the file, which runs any code in it: read gensim files only from people you trust.
    encoding : str, default "utf-8"
        Encoding of the words, one that holds ASCII.
    undecodable : {"error", "omit"}
        How to treat a word that is not text in this encoding; omitted words are counted.
    progress : callable, optional
        Called now and then with the number of words read since the last call. An exception that it raises stops the
        work.

    Returns
    -------
    WordVectors

    Raises
    ------
    VectorError
        `VectorFileError`, `DuplicateWordError` or `VectorValueError`, with the name of the file and the line or byte.
    OptionError
    MissingGensimError
        The file is gensim's, and gensim is not installed.

    See Also
    --------
    WordVectors.of : Vectors from a mapping, or gensim's.
    evaluate_vectors : Reads the vectors itself if given a path.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from rankcorr.vectors import read_vectors
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "vectors.txt")
    ...     _ = file.write_text("3 2\ncat 3 4\ndog 4 3\nthe 1 1\n")
    ...     vectors = read_vectors(file, words=["cat", "dog", "cow"])
    >>> vectors.words, vectors.n_known, vectors.form, vectors.cosine("cat", "dog")
    (('cat', 'dog'), 3, 'word2vec', 0.96)
    """
    if form is not None:
        check_choice("form", form, FORMS)
    check_choice("undecodable", undecodable, UNDECODABLE)
    if isinstance(words, str):
        raise OptionError(f"words must be a collection of words; got {shown(words)}")
    name = path_text(path, VectorFileError)
    if form == "gensim" or (form is None and name.endswith(GENSIM_ENDINGS)):
        return read_gensim(name, words)
    _check_encoding(encoding)
    source = VectorSource(name)
    form = form or _form_of(source)
    records = _binary_records(source) if form == "word2vec-binary" else _text_records(source, form == "word2vec")
    vocabulary = None if words is None else frozenset(words)
    builder, n_words, n_undecodable, report = KeptVectors(), 0, 0, progress or silent
    previous: WordRecord | None = None
    for n_words, record in enumerate(records, start=1):
        builder.dimension = record.dimension
        try:
            word = record.raw.decode(encoding)
        except UnicodeDecodeError as error:
            message = f"{record.place}: {shown(record.raw)} is not text in {encoding}"
            if undecodable == "error":
                spaces = f"; {_NO_SPACES}" if record.is_binary else ""
                raise VectorFileError(
                    f'{message}; set the encoding of the words, or leave such words out with undecodable="omit"{spaces}'
                ) from error
            if previous is not None and previous.begins_with_text():
                raise VectorFileError(f"{message}, and follows numbers that begin with text; {_NO_SPACES}") from error
            n_undecodable += 1
        else:
            if vocabulary is None or word in vocabulary:
                builder.add(word, record.vector(), record.place)
        previous = record
        if n_words % PROGRESS_WORDS == 0:
            report(PROGRESS_WORDS)
    return builder.collect(n_words, form, n_undecodable)


def as_vectors(source: VectorsLike, words: Collection[str] | None) -> WordVectors:
    """Vectors of a mapping, of KeyedVectors, or of the file at a path; of `words` and their Unicode forms, or all."""
    words = None if words is None else unicode_forms(words)
    return read_vectors(source, words=words) if isinstance(source, str | os.PathLike) else WordVectors.of(source, words)


def _form_of(source: VectorSource) -> Form:
    """Form of a file by its first two lines."""
    first, newline, rest = source.head.partition(b"\n")
    if not is_header(first.split()):
        return "glove"
    second = rest.partition(b"\n")[0].split()
    is_text = len(second) == 1 + int(first.split()[1]) and all(map(is_number, second[1:]))
    if newline and not is_text and rest.translate(None, _CONTROLS) != rest:
        return "word2vec-binary"
    return "word2vec"


class VectorSource(Source):
    """A file of vectors: its first bytes, and its lines."""

    def __init__(self, path: str) -> None:
        super().__init__(path, error=VectorFileError, form="text, a word and its numbers in each line")
        self._parts = super().chunks()
        head = next(self._parts)
        if not head.strip():
            self.fail("the file is empty")
        self.check_format(head)
        if head.startswith(_PICKLE):
            self.fail("is a pickle, perhaps of gensim; form 'gensim' loads it, and runs any code in it")
        self.head: bytes = head.removeprefix(_BOM)

    def chunks(self) -> Iterator[bytes]:
        """All bytes, in parts; can be read once."""
        yield self.head
        yield from self._parts

    def lines(self) -> Iterator[bytes]:
        """Lines without their ends; can be read once."""
        rest = b""
        for chunk in self.chunks():
            first, *others = chunk.split(b"\n")
            rest += first
            if others:
                yield rest
                *lines, rest = others
                yield from lines
            if len(rest) > MAX_LINE_BYTES:
                self.fail(f"a line of more than {MAX_LINE_BYTES:,} bytes: this is not a text file")
        if rest:
            yield rest


def _check_encoding(encoding: str) -> None:
    """Refuse an encoding whose text is not separated by the bytes of ASCII."""
    try:
        same = "a 1\n".encode(encoding) == b"a 1\n"
    except (LookupError, TypeError):
        same = False
    if not same:
        raise OptionError(f"encoding must be one that holds ASCII, such as 'utf-8'; got {shown(encoding)}")


class WordRecord(NamedTuple):
    """A word as bytes, its numbers, not yet read, the place of both in the file, and the dimension."""

    raw: bytes
    numbers: bytes
    place: str
    dimension: int
    is_binary: bool = False

    def begins_with_text(self) -> bool:
        """Whether the numbers of a binary file seem to begin with the rest of a word with a space: all are wrong then.

        A space as the last byte of a float makes it about 1e-19. Other text makes some numbers huge, because it is one,
        or moves the bytes of the others.
        """
        if not self.is_binary:
            return False
        numbers = np.frombuffer(self.numbers, "<f4")
        return _has_huge(numbers) or 0 < abs(numbers[0]) < 1 / _LARGEST

    def vector(self) -> Numbers:
        """Numbers of the word.

        Raises
        ------
        VectorFileError
            A cell is not a number, there are not as many as the dimension, or they begin with text.
        """
        if self.is_binary:
            numbers = np.frombuffer(self.numbers, "<f4")
            if _has_huge(numbers):  # a small one may be right
                raise VectorFileError(f"{self.place}: the numbers of {shown(self.raw)} begin with text; {_NO_SPACES}")
            return numbers
        cells = self.numbers.split()
        wrong = [cell for cell in cells if not is_number(cell)]
        if wrong or len(cells) != self.dimension:
            got = f"{shown(wrong[0])} is not a number" if wrong else f"got {len(cells):,}"
            raise VectorFileError(f"{self.place}: expected {self.dimension:,} numbers after the word; {got}")
        return np.array([float(cell) for cell in cells])


def _has_huge(numbers: Numbers) -> bool:
    return bool(((np.abs(numbers) > _LARGEST) & np.isfinite(numbers)).any())


def _read_header(source: VectorSource, line: bytes) -> tuple[int, int]:
    """Number of words and dimension."""
    cells = line.split()
    if not is_header(cells):
        source.fail(f"the number of words and the dimension are expected; got {shown(line[:80])}", 1)
    n_words, dimension = (int(cell) for cell in cells)
    if not 0 < dimension <= MAX_DIMENSION:
        source.fail(f"the header says a dimension of {dimension:,}; it must be 1 to {MAX_DIMENSION:,}", 1)
    if n_words == 0:
        source.fail("the header says that there are no words", 1)
    return n_words, dimension


def is_header(cells: list[bytes]) -> bool:
    """Whether cells are a header: two whole numbers."""
    return len(cells) == 2 and all(cell.isdigit() and len(cell) <= 18 for cell in cells)


def _text_records(source: VectorSource, has_header: bool) -> Iterator[WordRecord]:
    """A record for each line: the word, and its numbers in decimal."""
    lines = enumerate(source.lines(), start=1)
    n_expected, dimension = _read_header(source, next(lines)[1]) if has_header else (None, 0)
    n_words = 0
    for number, line in lines:
        stripped = line.strip()
        if not stripped:
            continue
        dimension = dimension or _dimension_of(source.head, stripped)
        if dimension == 1:
            source.fail(
                "only one number follows each word: this is no file of vectors, whose cosines tell words apart", number
            )
        n_words += 1
        if n_expected is not None and n_words > n_expected:
            source.fail(f"the header announces {counted(n_expected, 'word')}, but the file has more", number)
        raw, _, numbers = stripped.partition(b" ")
        if not dimension or numbers.count(b" ") + 1 != dimension:  # tabs, several blanks, or spaces in the word
            cells = stripped.split()
            n_more = len(cells) - 1 - dimension
            if dimension < 1 or n_more < 0 or any(map(is_number, cells[1 : 1 + n_more])):
                described = f"{dimension:,} numbers" if dimension else "numbers"
                source.fail(f"expected a word and {described}; got {counted(len(cells), 'cell')}", number)
            raw, numbers = b" ".join(cells[: 1 + n_more]), b" ".join(cells[1 + n_more :])
        yield WordRecord(raw, numbers, f"{source.name}:{number}", dimension)
    if n_expected is not None and n_words < n_expected:
        source.fail(f"the header announces {counted(n_expected, 'word')}, but the file has {n_words:,}")


def _dimension_of(head: bytes, first_line: bytes) -> int:
    """How many numbers end most of the first lines of a file without a header; words such as ". . ." have spaces."""
    lines = head.split(b"\n")[:-1] or [first_line]
    cells_of_lines = [line.split() for line in lines if line.strip()]
    counts = Counter(sum(1 for _ in takewhile(is_number, reversed(cells[1:]))) for cells in cells_of_lines)
    return counts.most_common(1)[0][0]


def is_number(cell: bytes) -> bool:
    """Whether a cell is a number in decimal, or nan or an infinity."""
    try:
        float(cell)
    except ValueError:
        return False
    return b"_" not in cell


def _binary_records(source: VectorSource) -> Iterator[WordRecord]:
    """Each word, a space, and its numbers as float32, the least significant byte first; the file ends with the last."""
    line, newline, _ = source.head.partition(b"\n")
    if not newline:
        source.fail("a first line with the number of words and the dimension is expected", 1)
    n_words, dimension = _read_header(source, line)
    chunks, size = source.chunks(), 4 * dimension
    buffer, position, n_before = next(chunks), len(line) + 1, 0  # n_before: bytes of the file before the buffer
    for number in range(1, n_words + 1):
        while True:
            position = _after_breaks(buffer, position)
            space = buffer.find(b" ", position)
            if space >= 0 and space + size < len(buffer):
                break
            place = f"{source.name}: byte {n_before + position:,}"
            if space < 0 and len(buffer) - position > MAX_WORD_BYTES:
                raise VectorFileError(f"{place}: no word ends within {MAX_WORD_BYTES:,} bytes; the header may be wrong")
            chunk = next(chunks, b"")
            if not chunk:
                raise VectorFileError(f"{place}: the file ends in word {number:,} of {n_words:,}")
            n_before += position
            buffer, position = buffer[position:] + chunk, 0
        place = f"{source.name}: byte {n_before + position:,}"
        raw = buffer[position:space]
        if not raw or len(raw) > MAX_WORD_BYTES:
            raise VectorFileError(
                f"{place}: a word of 1 to {MAX_WORD_BYTES:,} bytes is expected; got {len(raw):,}; {_NO_SPACES}"
            )
        position = space + 1 + size
        yield WordRecord(raw, buffer[space + 1 : position], place, dimension, is_binary=True)
    buffer, n_before = buffer[position:] + next(chunks, b""), n_before + position
    position = _after_breaks(buffer, 0)
    if buffer[position:]:
        place = f"{source.name}: byte {n_before + position:,}"
        raise VectorFileError(
            f"{place}: the file continues after the {counted(n_words, 'word')} that its header announces"
        )


def _after_breaks(buffer: bytes, position: int) -> int:
    """Where the next record begins: some writers end each by a line break."""
    while buffer[position : position + 1] == b"\n":
        position += 1
    return position


def read_gensim(path: str, words: Collection[str] | None) -> WordVectors:
    """Vectors of a file that gensim saved."""
    try:
        from gensim.models import KeyedVectors
    except ImportError as error:
        raise MissingGensimError("files of gensim (.kv, .model) need gensim: pip install gensim") from error
    try:
        loaded = KeyedVectors.load(path, mmap="r")
    except Exception as error:  # the errors of an unpickler depend on the file
        raise VectorFileError(f"{path}: gensim cannot load it: {type(error).__name__}: {error}") from error
    keyed_vectors = getattr(loaded, "wv", loaded)
    if not hasattr(keyed_vectors, "key_to_index"):
        raise VectorFileError(f"{path}: has no word vectors; it is {shown(loaded)}")
    collection = KeptVectors()
    for word in keyed_vectors.key_to_index if words is None else dict.fromkeys(words):
        if word in keyed_vectors.key_to_index:
            collection.add(word, keyed_vectors[word], path)
    return collection.collect(len(keyed_vectors.key_to_index), "gensim")
