"""Files of every format give the written vectors; errors in damaged files name their place."""

import gzip
import io
import struct
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.testing import assert_array_equal

from rankcorr import OptionError, RankingError
from rankcorr.vectors import (
    DuplicateWordError,
    MissingGensimError,
    VectorError,
    VectorFileError,
    VectorValueError,
    read_vectors,
)
from rankcorr.vectors import _reading as reading


def text_of(vectors, *, header=True, separator=" "):
    """Word2vec's text format, or GloVe's, which has no header."""
    lines = [separator.join([word, *(repr(float(number)) for number in numbers)]) for word, numbers in vectors.items()]
    dimension = len(next(iter(vectors.values())))
    return "\n".join([f"{len(vectors)} {dimension}"] * header + lines) + "\n"


def binary_of(vectors, *, breaks=True, encoding="utf-8"):
    """Word2vec's binary format; the original program ends each record with a line break, gensim does not."""
    dimension = len(next(iter(vectors.values())))
    records = [
        word.encode(encoding) + b" " + struct.pack(f"<{dimension}f", *map(float, numbers)) + b"\n" * breaks
        for word, numbers in vectors.items()
    ]
    return f"{len(vectors)} {dimension}\n".encode() + b"".join(records)


def write_file(path, content, *, packed=False):
    """The path of a file with this text or these bytes."""
    data = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(data) if packed else data)
    return path


VECTORS = {"cat": [1.5, -2.0, 0.25], "dög": [0.1, 0.2, 0.3], "новый": [1e-8, 3.0, 7.0]}

WORDS = st.text(st.characters(exclude_categories=("Cc", "Cs", "Z", "Nd")), min_size=1, max_size=5)


@st.composite
def some_vectors(draw):
    words = draw(st.lists(WORDS, min_size=1, max_size=8, unique=True))
    numbers = st.floats(-10, 10, width=32).filter(lambda number: abs(number) > 1e-3)
    dimension = draw(st.integers(2, 6))
    matrix = draw(arrays.arrays(np.float64, (len(words), dimension), elements=numbers))
    return dict(zip(words, matrix.tolist(), strict=True))


def assert_same(word_vectors, vectors, dtype=np.float64):
    assert word_vectors.words == tuple(vectors)
    assert word_vectors.vectors.dtype == dtype
    assert_array_equal(word_vectors.vectors, np.array(list(vectors.values()), dtype))


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    ("content", "form", "dtype"),
    [
        (text_of(VECTORS), "word2vec", np.float64),
        (text_of(VECTORS, header=False), "glove", np.float64),
        (text_of(VECTORS, header=False, separator="\t"), "glove", np.float64),
        (text_of(VECTORS).replace("\n", " \r\n"), "word2vec", np.float64),
        (text_of(VECTORS).rstrip("\n"), "word2vec", np.float64),
        ("\ufeff" + text_of(VECTORS), "word2vec", np.float64),
        (binary_of(VECTORS), "word2vec-binary", np.float32),
        (binary_of(VECTORS, breaks=False), "word2vec-binary", np.float32),
    ],
)
def test_each_format_is_recognized(tmp_path, content, form, dtype, packed):
    result = read_vectors(write_file(tmp_path / "vectors", content, packed=packed))
    assert (result.form, result.n_known, result.dimension) == (form, 3, 3)
    assert_same(result, VECTORS, dtype)


@given(some_vectors(), st.integers(1, 40))
def test_written_vectors_are_read_with_any_chunk_size(tmp_path_factory, vectors, size):
    folder = tmp_path_factory.mktemp("vectors")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rankcorr._io.source.HEAD_BYTES", 8 + size)
        patch.setattr("rankcorr._io.source.CHUNK_BYTES", size)
        for content, form, dtype in (
            (text_of(vectors), "word2vec", np.float64),
            (text_of(vectors, header=False), "glove", np.float64),
            (binary_of(vectors, breaks=False), "word2vec-binary", np.float32),
        ):
            assert_same(read_vectors(write_file(folder / "vectors", content), form=form), vectors, dtype)


@given(some_vectors(), st.data())
def test_only_requested_words_are_kept(tmp_path_factory, vectors, data):
    expected = data.draw(st.sets(st.sampled_from([*vectors, "absent"])))
    file = write_file(tmp_path_factory.mktemp("vectors") / "vectors.bin", binary_of(vectors))
    result = read_vectors(file, words=expected, form="word2vec-binary")
    assert_same(
        result, {word: vectors[word] for word in vectors if word in expected}, np.float32
    ) if result.words else None
    assert set(result.words) == expected & set(vectors)
    assert (result.n_known, result.dimension) == (len(vectors), len(next(iter(vectors.values()))))


def test_numbers_of_other_words_are_not_parsed(tmp_path):
    file = write_file(tmp_path / "glove.txt", "cat 1 2\ndog nan 0\ncat 3 4\n")
    assert read_vectors(file, words=["dot"]).words == ()
    with pytest.raises(VectorValueError, match=r"glove\.txt:2: number 1 of 'dog' is nan"):
        read_vectors(file, words=["dog"])
    with pytest.raises(DuplicateWordError, match=r"glove\.txt:3: 'cat' has a vector already, in .*glove\.txt:1"):
        read_vectors(file, words={"cat"})


def test_words_of_glove_may_have_spaces(tmp_path):
    file = write_file(tmp_path / "glove.txt", "the 1 2\n\n. . . 3 4\nat name@domain.com 5 6\n\n")
    assert read_vectors(file).words == ("the", ". . .", "at name@domain.com")


@pytest.mark.parametrize("first", [". . .", "at name@domain.com", ". .", "1", "nan", "<html>"])
def test_the_first_word_of_a_file_without_a_header_may_have_spaces(tmp_path, first):
    vectors = {first: [0.5, 1.0, 2.0], "the": [1.0, 2.0, 0.25], ". . . .": [1.0, 1.0, 3.0]}
    content = text_of(vectors, header=False)
    assert_same(read_vectors(write_file(tmp_path / "v", content)), vectors)


def test_the_first_line_without_a_header_may_be_longer_than_the_read_buffer(tmp_path, monkeypatch):
    monkeypatch.setattr("rankcorr._io.source.HEAD_BYTES", 8)
    vectors = {". . .": [0.5, 1.0, 2.0], "the": [1.0, 2.0, 0.25]}
    assert_same(read_vectors(write_file(tmp_path / "v", text_of(vectors, header=False))), vectors)


def test_vectors_are_read_from_standard_input(monkeypatch):
    for content in (binary_of(VECTORS), text_of(VECTORS).encode()):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        assert read_vectors("-").words == tuple(VECTORS)
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(VectorFileError, match="<stdin>: standard input is closed"):
        read_vectors("-")


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        ("", VectorFileError, "v: the file is empty"),
        ("\n\n", VectorFileError, "v: the file is empty"),
        ("3 2\na 1 2\nb 3 4\n", VectorFileError, "v: the header announces 3 words, but the file has 2"),
        ("1 2\na 1 2\nb 3 4\n", VectorFileError, "v:3: the header announces 1 word, but the file has more"),
        ("2 3\na 1 2\nb 3 4\n", VectorFileError, "v:2: expected a word and 3 numbers; got 3 cells"),
        ("a 1 2\nb 3\n", VectorFileError, "v:2: expected a word and 2 numbers; got 2 cells"),
        ("a 1 2\nb 3 4 5\n", VectorFileError, "v:2: expected a word and 2 numbers; got 4 cells"),
        ("word\n", VectorFileError, "v:1: expected a word and numbers; got 1 cell"),
        ("a 1 2\nb 3 x\n", VectorFileError, "v:2: expected 2 numbers after the word; b'x' is not a number"),
        ("a 1 2\nb 3 1_0\n", VectorFileError, "v:2: expected 2 numbers after the word; b'1_0' is not a number"),
        ("a 1 2\nb 0 -0.0\n", VectorValueError, r"v:2: all numbers of 'b' are 0, so that it has no cosine"),
        ("a 1 2\nb 1e999 1\n", VectorValueError, r"v:2: number 1 of 'b' is inf"),
        ("a 1 2\nb 1 nan\n", VectorValueError, r"v:2: number 2 of 'b' is nan"),
        ("a 1 2\na 1 2\n", DuplicateWordError, r"v:2: 'a' has a vector already, in .*v:1"),
        (b"a 1 2\n\xff 1 2\n", VectorFileError, r"v:2: b'\\xff' is not text in utf-8; set the encoding"),
        ("0 3\n", VectorFileError, r"v:1: the header says that there are no words"),
        ("3 0\n", VectorFileError, r"v:1: the header says a dimension of 0; it must be 1 to 1,000,000"),
        ("a x 2\nb 3 4\nc 5 6\n", VectorFileError, "v:1: expected 2 numbers after the word; b'x' is not a number"),
        ("a 1\nb 3 4\nc 5 6\n", VectorFileError, "v:1: expected a word and 2 numbers; got 2 cells"),
        ("to inf 1 2\nb 3 4\nc 5 6\n", VectorFileError, "v:1: expected a word and 2 numbers; got 4 cells"),
        (b"PK\x03\x04", VectorFileError, r"is a spreadsheet .* or a zip archive: save the sheet as text, a word"),
        (b"BZh91AY", VectorFileError, "v: is compressed by bzip2: unpack it first, or compress it by gzip"),
        (b"\x93NUMPY\x01", VectorFileError, "v: is an array of numpy, which has no names: save it as text, a word and"),
        ("\n<!DOCTYPE html>\n<p>404</p>", VectorFileError, "v: is XML or HTML: save its content as text, a word"),
        ('<?xml version="1.0"?>\n<vectors/>', VectorFileError, "v: is XML or HTML"),
        (b"\xba\x16\x4f\x2f\x0c", VectorFileError, "v: is a model of fastText: save its vectors as text"),
        (b"\x80\x04\x95", VectorFileError, "v: is a pickle, perhaps of gensim"),
        (b"\x1f\x8bnonsense", VectorFileError, "v: cannot be decompressed"),
    ],
)
def test_invalid_files_of_vectors_are_refused(tmp_path, content, error, message):
    with pytest.raises(error, match=message) as caught:
        read_vectors(write_file(tmp_path / "v", content))
    assert isinstance(caught.value, VectorError | RankingError)


@pytest.mark.parametrize(
    "content", ["a\tb\tscore\ncat\tdog\t8\ncar\tvan\t9\n", "cat dog 8\ncar van 9\n", "2 1\ncat 1\ndog 2\n"]
)
def test_a_gold_file_is_not_read_as_vectors(tmp_path, content):
    """A gold file of pairs, given as VECTORS, looks like words with a space and one number."""
    with pytest.raises(VectorFileError, match=r"v:[12]: only one number follows each word: this is no file of vectors"):
        read_vectors(write_file(tmp_path / "v", content))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (binary_of(VECTORS)[:-5], r"v: byte 39: the file ends in word 3 of 3"),
        (binary_of(VECTORS) + b"x", r"v: byte 63: the file continues after the 3 words that its header announces"),
        (binary_of(VECTORS).replace(b"3 3\n", b"4 3\n"), r"v: byte 63: the file ends in word 4 of 4"),
        (binary_of(VECTORS).replace(b"3 3\n", b"2 3\n"), r"v: byte 39: the file continues after the 2 words"),
        (b"3 3\n \0\0\0\0\0\0\0\0\0\0\0\0\0\0", r"v: byte 4: a word of 1 to 10,000 bytes is expected; got 0"),
        (b"9 2\n" + b"\1" * 20_000, "v: byte 4: no word ends within 10,000 bytes; the header may be wrong"),
        (b"3 3", r"v:1: a first line with the number of words and the dimension is expected"),
        (b"3 x\n", r"v:1: the number of words and the dimension are expected; got b'3 x'"),
        (binary_of(VECTORS, encoding="utf-16"), r"v: byte 4: b'.*' is not text in utf-8"),
    ],
)
def test_invalid_binary_files_of_vectors_are_refused(tmp_path, content, message):
    with pytest.raises(VectorFileError, match=message):
        read_vectors(write_file(tmp_path / "v", content), form="word2vec-binary")


@pytest.mark.parametrize("word", ["New York", "of the", "a b", "Rio de Janeiro", "ice age", "mother in law"])
@pytest.mark.parametrize("vocabulary", [None, ["New", "of", "a", "Rio", "ice", "mother"], ["cat"]])
def test_words_with_spaces_in_a_binary_file_are_refused(tmp_path, word, vocabulary):
    """The rest of such a word is read as numbers, and the last bytes of its numbers as part of the next word."""
    vectors = {name: np.random.default_rng(8).normal(size=50) for name in ("cat", word, "dog", "cow")}
    file = write_file(tmp_path / "v", binary_of(vectors, breaks=False))
    for undecodable in ("error", "omit"):
        with pytest.raises(VectorFileError, match="a binary file cannot hold words with spaces"):
            read_vectors(file, words=vocabulary, form="word2vec-binary", undecodable=undecodable)


def test_undecodable_words_of_a_binary_file_are_left_out(tmp_path):
    vectors = {"cat": [1.0, 2.0], "caf\u00e9": [1e-3, 1e9], "\u00e9t\u00e9": [0.0, 1.0], "dog": [3.0, 1.0]}
    file = write_file(tmp_path / "v", binary_of(vectors, encoding="latin-1"))
    result = read_vectors(file, undecodable="omit")
    assert (result.words, result.n_undecodable) == (("cat", "dog"), 2)
    assert result.vectors.tolist() == [vectors["cat"], vectors["dog"]]


def test_numbers_without_a_cosine_in_a_binary_file(tmp_path):
    for number, message in ((np.nan, "number 1 of 'b' is nan"), (0.0, "all numbers of 'b' are 0")):
        file = write_file(tmp_path / "v", binary_of({"a": [1, 2], "b": [number, 0]}))
        with pytest.raises(VectorValueError, match=rf"v: byte 15: {message}"):
            read_vectors(file)


def test_an_endless_line_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "MAX_LINE_BYTES", 1_000)
    with pytest.raises(VectorFileError, match="v: a line of more than 1,000 bytes: this is not a text"):
        read_vectors(write_file(tmp_path / "v", "cat " + "1 " * 500))


def test_a_truncated_gzip_file_is_refused(tmp_path):
    file = write_file(tmp_path / "v", text_of(VECTORS), packed=True)
    file.write_bytes(file.read_bytes()[:-12])
    with pytest.raises(VectorFileError, match="v: cannot be decompressed: "):
        read_vectors(file)


def test_words_may_be_in_another_encoding(tmp_path):
    file = write_file(tmp_path / "v", "straße 1 2\nkatze 3 4\n".encode("latin-1"))
    assert read_vectors(file, encoding="latin-1").words == ("straße", "katze")
    result = read_vectors(file, undecodable="omit")
    assert (result.words, result.n_known, result.n_undecodable) == (("katze",), 2, 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"form": "fasttext"}, "form must be one of 'word2vec', "),
        ({"encoding": "utf-16"}, "encoding must be one that holds ASCII, such as 'utf-8'; got 'utf-16'"),
        ({"encoding": "klingon"}, "encoding must be one that holds ASCII"),
        ({"undecodable": "drop"}, "undecodable must be one of 'error', 'omit'; got 'drop'"),
        ({"words": "cat"}, "words must be a collection of words; got 'cat'"),
    ],
)
def test_invalid_options_are_refused(tmp_path, options, message):
    with pytest.raises(OptionError, match=message):
        read_vectors(write_file(tmp_path / "v", text_of(VECTORS)), **options)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(VectorFileError, match="cannot be read: No such file"):
        read_vectors(tmp_path / "absent")
    with pytest.raises(VectorFileError, match="cannot be read: embedded null byte"):
        read_vectors("a\0b")


def test_progress_counts_words_and_stops_the_work(tmp_path):
    file = write_file(tmp_path / "v", "".join(f"w{number} 1 2\n" for number in range(25_000)))
    steps = []
    read_vectors(file, words=["w3"], progress=steps.append)
    assert steps == [10_000, 10_000]
    with pytest.raises(ZeroDivisionError):
        read_vectors(file, words=["w3"], progress=lambda _: 1 / 0)


def test_missing_gensim_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "gensim.models", None)
    with pytest.raises(MissingGensimError, match="need gensim: pip install gensim"):
        read_vectors(tmp_path / "v.kv")
