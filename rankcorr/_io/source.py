"""Bytes of a file or of standard input, unpacked if compressed by gzip, and files written as a whole or not at all.

Files of other formats are refused by name.
"""

import errno
import gzip
import io
import os
import re
import secrets
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO, Final, NoReturn, cast

from rankcorr._checks import shown
from rankcorr.errors import TableError

HEAD_BYTES: Final = 1 << 16
CHUNK_BYTES: Final = 1 << 22
GZIP: Final = b"\x1f\x8b"  # no text in UTF-8 begins with these
UTF_16: Final = (b"\xff\xfe", b"\xfe\xff")
OTHER_FORMATS: Final = {  # first bytes of a format, and what to do with it
    b"PK\x03\x04": "a spreadsheet (.xlsx, .ods) or a zip archive: save the sheet as {form}, or unpack the archive",
    b"\xd0\xcf\x11\xe0": "an old workbook (.xls): save its sheet as {form}",
    b"SQLite format 3\0": "an SQLite database: export the table as {form}",
    b"%PDF-": "a PDF: save the table as {form}",
    b"PAR1": "a Parquet file: save it as {form}",
    b"ARROW1": "an Arrow file: save it as {form}",
    b"FEA1": "a file of Feather's first version: save it as {form}",
    b"\x93NUMPY": "an array of numpy, which has no names: save it as {form}",
    b"\xba\x16\x4f\x2f": "a model of fastText: save its vectors as text (.vec)",
    b"BZh": "compressed by bzip2: unpack it first, or compress it by gzip",
    b"\xfd7zXZ\0": "compressed by xz: unpack it first, or compress it by gzip",
    b"\x28\xb5\x2f\xfd": "compressed by zstd: unpack it first, or compress it by gzip",
    b"7z\xbc\xaf": "a 7z archive: unpack it first",
} | dict.fromkeys(UTF_16, "text in UTF-16; save the file as UTF-8")
_MARKUP: Final = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:\?xml\s|!doctype\s|html(?:\s[^<>]*)?>\s*<)", re.IGNORECASE)
_SHOWN_CHARACTERS: Final = 60


def printable(text: str, limit: int | None = _SHOWN_CHARACTERS) -> str:
    """Return text fit for one line of a terminal: control characters escaped, a long end cut off."""
    cut = text if limit is None or len(text) <= limit else text[:limit] + "..."
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in cut)


def path_text(path: object, error: type[Exception] = TableError) -> str:
    """Return a path as text; raise `error` for an open file, bytes or anything else.

    Examples
    --------
    >>> path_text(Path("folder", "gold.csv"))
    'folder/gold.csv'
    """
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(text, str):
        raise error(f"the path of a file must be text or a pathlib.Path; got {shown(path)}")
    return text


@dataclass(eq=False)
class Source:
    """One file, or standard input for the path "-"; its name is part of every error.

    Parameters
    ----------
    path : str
    error : type of exception
        What `fail` raises.
    data : bytes, optional
        Content of the file, if it was read already; `path` is its name then.
    form : str
        Format that messages recommend for a file in another one.
    """

    path: str
    _: KW_ONLY
    error: type[Exception] = TableError
    data: bytes | None = None
    form: str = "CSV"

    @cached_property
    def name(self) -> str:
        """Name in messages."""
        return "<stdin>" if self.path == "-" else printable(self.path, limit=None)

    def fail(self, message: str, line: int | None = None, column: str | None = None) -> NoReturn:
        """Raise the error, with the place where it occurred; no line, or line 0, means the whole file."""
        raise self.error(f"{self.place_of(line or None, column)}: {message}")

    def place_of(self, line: int | None, column: str | None) -> str:
        """Describe a place, for messages; no line means the whole file."""
        place = self.name if line is None else f"{self.name}:{line}"
        return place if column is None else f'{place}: column "{printable(column)}"'

    def read_bytes(self) -> bytes:
        """Read the whole content of the file, unpacked if compressed by gzip."""
        if self.data is not None and not self.data.startswith(GZIP):
            return self.data
        content = io.BytesIO()  # which takes each part at once, where a join needs the file twice
        content.writelines(self.chunks())
        return content.getvalue()

    def chunks(self) -> Iterator[bytes]:
        """Content of the file in parts, unpacked if compressed by gzip; the first part is never missing."""
        try:
            with self._opened() as file:
                head = file.read(HEAD_BYTES)
                if head.startswith(GZIP):
                    packed = cast(BinaryIO, _Joined(head, file))
                    file = cast(BinaryIO, gzip.GzipFile(fileobj=packed, mode="rb"))  # noqa: PLW2901
                    head = file.read(HEAD_BYTES)
                yield head
                while chunk := file.read(CHUNK_BYTES):
                    yield chunk
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            self.fail(f"cannot be decompressed: {error}")
        except OSError as error:
            self.fail(f"cannot be read: {error.strerror or error}")

    def check_format(self, head: bytes, *, refuse_utf_16: bool = True, advice: str = "") -> None:
        """Refuse a file whose first bytes are those of another format; `advice` follows that on UTF-16."""
        for start, description in OTHER_FORMATS.items():
            if head.startswith(start) and (refuse_utf_16 or start not in UTF_16):
                self.fail(f"is {description.format(form=self.form)}{advice if start in UTF_16 else ''}")
        if _MARKUP.match(head):
            self.fail(f"is XML or HTML: save its content as {self.form}")

    @contextmanager
    def _opened(self) -> Iterator[BinaryIO]:
        if self.data is not None:
            yield io.BytesIO(self.data)
        elif self.path == "-":
            if sys.stdin is None:
                self.fail("standard input is closed")
            yield sys.stdin.buffer
        else:
            try:
                file = open(self.path, "rb")  # noqa: SIM115 - closed below
            except ValueError as error:  # a null byte in the path
                self.fail(f"cannot be read: {error}")
            with file:
                yield file


class _Joined:
    """The bytes read already, and then the rest of a stream that cannot be rewound."""

    def __init__(self, head: bytes, file: BinaryIO) -> None:
        self._head = head
        self._file = file

    def read(self, size: int = -1) -> bytes:
        if not self._head:
            return self._file.read(size)
        part, self._head = (self._head, b"") if size < 0 else (self._head[:size], self._head[size:])
        return part


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file atomically: the old file stays in place until the new one is on disk.

    The new file keeps the mode of the old one, and a link stays a link.
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():  # the root has no name to derive a temporary one from
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    # The name may have 255 bytes already, and up to four in a character.
    temporary = target.with_name(f".{target.name[:40]}.{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("xb") as file:
            if target.exists():
                temporary.chmod(target.stat().st_mode & 0o7777)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
        sync_folder(target.parent)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def new_file(target: Path) -> Iterator[Path]:
    """Give a path for a new file, and rename the file to `target` when the block ends; `target` must not exist yet.

    Until then the file is in a temporary folder next to `target`. The folder is removed with any other files in it.

    Raises
    ------
    FileExistsError
        The name is taken.
    """
    with TemporaryDirectory(prefix=f".{target.name[:40]}.", suffix=".tmp", dir=target.parent) as folder:
        part = Path(folder, target.name)
        yield part
        try:
            os.link(part, target)  # fails if the file was created since the check, where a move would replace it
        except FileExistsError:
            raise
        except OSError:  # a file system without links
            if os.path.lexists(target):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target)) from None
            part.rename(target)
        sync_folder(target.parent)


def sync_folder(path: Path) -> None:
    """Write a folder's entries to disk, so that a new file survives a power failure; only POSIX can do this."""
    if os.name == "posix":
        folder = os.open(path, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
