"""Errors of word vectors; bad input is a `RankingError`, a missing package an `ImportError`."""

from rankcorr.errors import RankingError


class VectorError(RankingError):
    """Base of the errors of word vectors."""


class VectorFileError(VectorError):
    """A file that is not what it says: a false header, a short line, a cut end, another encoding."""


class VectorValueError(VectorError):
    """A vector without a cosine: nan, infinite, zero, no number, or of another dimension."""


class DuplicateWordError(VectorError):
    """A word with more than one vector."""


class DuplicatePairError(VectorError):
    """A pair of words with more than one gold score: in both orders, which a cosine does not tell apart."""


class UnknownWordError(VectorError):
    """Words without a vector, where each must have one, or where too few have one."""


class MissingGensimError(ImportError):
    """A file of gensim is to be read, and gensim is not installed."""
