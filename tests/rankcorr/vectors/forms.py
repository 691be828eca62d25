"""Word vectors written in each form of file, number by number."""

import gzip
import struct


def text_of(vectors, *, header=True, separator=" "):
    """Word2vec's text, or GloVe's without a header."""
    lines = [separator.join([word, *(repr(float(number)) for number in numbers)]) for word, numbers in vectors.items()]
    dimension = len(next(iter(vectors.values())))
    return "\n".join([f"{len(vectors)} {dimension}"] * header + lines) + "\n"


def binary_of(vectors, *, breaks=True, encoding="utf-8"):
    """Word2vec's binary form; the original program ends each record by a line break, and gensim does not."""
    dimension = len(next(iter(vectors.values())))
    records = [
        word.encode(encoding) + b" " + struct.pack(f"<{dimension}f", *map(float, numbers)) + b"\n" * breaks
        for word, numbers in vectors.items()
    ]
    return f"{len(vectors)} {dimension}\n".encode() + b"".join(records)


def written(path, content, *, packed=False):
    """The path of a file that holds a text or bytes."""
    data = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(data) if packed else data)
    return path
