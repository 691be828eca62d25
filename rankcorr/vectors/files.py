"""Read word vectors from the files of the field; anything doubtful is an error that names file and line or byte.

bytes -> form -> words, of which those that are needed are kept -> `WordVectors`. The file is streamed: memory
holds what is kept.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import Final, Literal, TypeAlias

from rankcorr.checks import check_choice, shown
from rankcorr.errors import OptionError
from rankcorr.vectors.binary import BinaryReader
from rankcorr.vectors.gensim_file import read_gensim
from rankcorr.vectors.reader import UNDECODABLE, Undecodable, Wanted, is_header
from rankcorr.vectors.source import Source
from rankcorr.vectors.text import TextReader, is_number
from rankcorr.vectors.words import WordVectors
from rankcorr.workers import Progress

Form: TypeAlias = Literal["word2vec", "word2vec-binary", "glove", "gensim"]

FORMS: Final = ("word2vec", "word2vec-binary", "glove", "gensim")
GENSIM_ENDINGS: Final = (".kv", ".model")
# What a text holds besides tabs and ends of lines is no control character; numbers in binary soon have one.
_CONTROLS: Final = bytes(set(range(32)) - set(b"\t\n\r\x0b\x0c")) + b"\x7f"


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
    word2vec-binary  such a line, then each word, a space, and its numbers as float32
    glove            a word and its numbers in each line; words may have spaces, but no part of a
                     word after the first may be a number
    gensim           KeyedVectors, or a model that has them, as gensim saves them
    ===============  ============================================================================

    Parameters
    ----------
    path : str or path-like
        ``"-"`` is standard input.
    words : collection of str, optional
        Words to keep; by default all. Of the others the vectors are skipped: their numbers are not looked at.
    form : {"word2vec", "word2vec-binary", "glove", "gensim"}, optional
        By default told from how the file begins, and "gensim" from the ending .kv or .model. gensim unpickles what it
        loads, and that runs any code in it: read such files only from people you trust.
    encoding : str, default "utf-8"
        Encoding of the words, one that holds ASCII.
    undecodable : {"error", "omit"}
        What becomes of a word that is not text in this encoding; those omitted are counted.
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

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
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
    name = os.fspath(path)
    if form == "gensim" or (form is None and name.endswith(GENSIM_ENDINGS)):
        return read_gensim(name, words)
    wanted = Wanted(words, encoding, undecodable, progress)
    source = Source(name)
    form = form or _form_of(source)
    if form == "word2vec-binary":
        return BinaryReader(source, wanted).read(form)
    return TextReader(source, wanted, has_header=form == "word2vec").read(form)


def _form_of(source: Source) -> Form:
    """Form of a file by its first two lines."""
    first, newline, rest = source.head.partition(b"\n")
    if not is_header(first.split()):
        return "glove"
    second = rest.partition(b"\n")[0].split()
    is_text = len(second) == 1 + int(first.split()[1]) and all(map(is_number, second[1:]))
    if newline and not is_text and rest.translate(None, _CONTROLS) != rest:
        return "word2vec-binary"
    return "word2vec"
