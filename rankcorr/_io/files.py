"""Write files so that a reader never sees half of one."""

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory


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
