"""Vectors in the files of gensim, the only module that imports it."""

from __future__ import annotations

from collections.abc import Collection

from rankcorr.checks import shown
from rankcorr.vectors.errors import MissingGensimError, VectorFileError
from rankcorr.vectors.words import KeptVectors, WordVectors


def read_gensim(path: str, words: Collection[str] | None) -> WordVectors:
    """Vectors of a file that gensim saved."""
    try:
        from gensim.models import KeyedVectors
    except ImportError as error:
        raise MissingGensimError("files of gensim (.kv, .model) need gensim: pip install gensim") from error
    try:
        loaded = KeyedVectors.load(path, mmap="r")
    except Exception as error:  # what an unpickler raises is up to the file
        raise VectorFileError(f"{path}: gensim cannot load it: {type(error).__name__}: {error}") from error
    found = getattr(loaded, "wv", loaded)
    if not hasattr(found, "key_to_index"):
        raise VectorFileError(f"{path}: has no word vectors; it is {shown(loaded)}")
    kept = KeptVectors(path)
    for word in found.key_to_index if words is None else dict.fromkeys(words):
        if word in found.key_to_index:
            kept.add(word, found[word], path)
    return kept.finished(len(found.key_to_index), "gensim")
