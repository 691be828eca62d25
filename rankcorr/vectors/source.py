"""A file of vectors as a stream of bytes, decompressed, and told apart by how it begins."""

from __future__ import annotations

import gzip
import sys
import zlib
from collections.abc import Iterator
from typing import BinaryIO, Final, NoReturn, cast

from rankcorr.io.records import printable
from rankcorr.vectors.errors import VectorFileError

HEAD_BYTES: Final = 1 << 16
CHUNK_BYTES: Final = 1 << 22
MAX_LINE_BYTES: Final = 1 << 26

_GZIP: Final = b"\x1f\x8b"
_OTHER_FILES: Final = {  # what begins so, and what to do with it
    b"PK\x03\x04": "a zip: unpack it first",
    b"\xba\x16\x4f\x2f": "a model of fastText: save its vectors as text (.vec)",
    b"\x93NUMPY": "an array of numpy, which has no words",
    b"\x80": "a pickle, perhaps one of gensim; form 'gensim' loads it, which runs what code it holds",
    b"\xff\xfe": "text in UTF-16; save the file as UTF-8",
    b"\xfe\xff": "text in UTF-16; save the file as UTF-8",
}
_BOM: Final = b"\xef\xbb\xbf"


class Source:
    """One file, or standard input for the path "-"; its name is part of every error."""

    def __init__(self, path: str) -> None:
        self.name = "<stdin>" if path == "-" else printable(path, limit=None)
        self._chunks = self._read(path)
        self.head = next(self._chunks, b"")
        if not self.head.strip():
            self.fail("the file is empty")
        for start, what in _OTHER_FILES.items():
            if self.head.startswith(start):
                self.fail(f"is {what}")
        self.head = self.head.removeprefix(_BOM)

    def fail(self, message: str, line: int | None = None) -> NoReturn:
        """Raise the error, with the place where it occurred."""
        raise VectorFileError(f"{self.name if line is None else f'{self.name}:{line}'}: {message}")

    def chunks(self) -> Iterator[bytes]:
        """All bytes, in parts; can be read once."""
        yield self.head
        yield from self._chunks

    def lines(self) -> Iterator[bytes]:
        """Lines without their ends; can be read once."""
        rest = b""
        for chunk in self.chunks():
            first, *others = chunk.split(b"\n")
            rest += first
            if others:
                yield rest
                *whole, rest = others
                yield from whole
            if len(rest) > MAX_LINE_BYTES:
                self.fail(f"a line of more than {MAX_LINE_BYTES:,} bytes: this is no text")
        if rest:
            yield rest

    def _read(self, path: str) -> Iterator[bytes]:
        try:
            if path == "-":
                if sys.stdin is None:
                    self.fail("standard input is closed")
                yield from self._of(sys.stdin.buffer)
            else:
                with open(path, "rb") as file:
                    yield from self._of(file)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            self.fail(f"cannot be decompressed: {error}")
        except OSError as error:
            self.fail(f"cannot be read: {error.strerror or error}")
        except ValueError as error:  # a null byte in the path
            if isinstance(error, VectorFileError):
                raise
            self.fail(f"cannot be read: {error}")

    @staticmethod
    def _of(file: BinaryIO) -> Iterator[bytes]:
        start = file.read(HEAD_BYTES)
        if not start.startswith(_GZIP):
            yield start
        else:
            packed = cast(BinaryIO, _Joined(start, file))
            file = cast(BinaryIO, gzip.GzipFile(fileobj=packed, mode="rb"))
            yield file.read(HEAD_BYTES)
        while chunk := file.read(CHUNK_BYTES):
            yield chunk


class _Joined:
    """What was read already, and then the rest of a stream that may not go back."""

    def __init__(self, start: bytes, file: BinaryIO) -> None:
        self._start = start
        self._file = file

    def read(self, size: int = -1) -> bytes:
        if not self._start:
            return self._file.read(size)
        part, self._start = (self._start, b"") if size < 0 else (self._start[:size], self._start[size:])
        return part
