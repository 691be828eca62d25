"""Carry a request to a child, and its answer back, in files: a head of Python values, and a body."""

import os
import pickle
import tempfile
from typing import IO, Any


def memory_file() -> IO[bytes]:
    """Open a file without name and buffer, in memory if the system can."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("rankcorr"), "r+b", buffering=0)
    return tempfile.TemporaryFile(buffering=0)


def write_work(file: Any, head: Any, body: bytes | bytearray) -> None:
    """Replace the content of a file without buffer by head and body."""
    file.seek(0)
    file.truncate()
    for part in (pickle.dumps(head), body):
        rest = memoryview(part)
        while rest:
            rest = rest[file.write(rest) :]


def read_work(file: IO[bytes]) -> tuple[Any, bytes]:
    """Return head and body.

    >>> with memory_file() as file:
    ...     write_work(file, ["head"], b"body")
    ...     read_work(file)
    (['head'], b'body')
    """
    with open(file.fileno(), "rb", closefd=False) as reader:
        reader.seek(0)
        return pickle.load(reader), reader.read()
