"""Files that are written whole: the old one or the new one, whatever happens in between."""

import json
import os
import signal
import stat
import subprocess
import sys

import pytest

from rankcorr._io.files import write_atomically
from tests.repository import ROOT


@pytest.fixture
def path(tmp_path):
    """A file that is there already."""
    found = tmp_path / "ranking.csv"
    found.write_bytes(b"old")
    return found


def test_a_file_is_written_and_nothing_else_is_left(tmp_path):
    path = tmp_path / f"{'𝜏' * 62}.csv"  # 252 bytes, of the 255 that a name may have
    for data in (b"first", b"second"):
        write_atomically(path, data)
        assert path.read_bytes() == data
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failure_leaves_the_old_file(step, tmp_path, path, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(OSError, match="No space left"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["ranking.csv"]


@pytest.mark.skipif(os.name != "posix", reason="modes, links and folders as POSIX has them")
def test_the_file_and_its_name_are_on_the_disk(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(stat.S_ISDIR(os.fstat(descriptor).st_mode)))
    write_atomically(tmp_path / "ranking.csv", b"new")
    assert synced == [False, True]  # the file, and then its name


@pytest.mark.skipif(os.name != "posix", reason="modes, links and folders as POSIX has them")
def test_mode_and_link_are_kept(tmp_path):
    target, link = tmp_path / "kept.csv", tmp_path / "link.csv"
    target.write_bytes(b"old")
    target.chmod(0o640)
    link.symlink_to(target)
    write_atomically(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert target.stat().st_mode & 0o777 == 0o640


KILLED_WHILE_WRITING = """
import json, os, resource, signal, sys
from pathlib import Path
from rankcorr._io.files import write_atomically

replace = os.replace

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

def replace_and_die(*arguments):
    replace(*arguments)
    die()

def write(path, moment):
    if moment == "while writing":  # the kernel ends the process at byte 100
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
    elif moment == "before the disk has it":
        os.fsync = die
    elif moment == "before the exchange":
        os.replace = die
    elif moment == "after the exchange":
        os.replace = replace_and_die
    write_atomically(Path(path), b"new" * 100)

ended = {}
for path, moment in json.loads(sys.argv[1]):
    child = os.fork()
    if child == 0:
        write(path, moment)
        os._exit(0)
    ended[moment] = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
print(json.dumps(ended))
"""
KILLED = {
    "while writing": (signal.SIGXFSZ, b"old"),
    "before the disk has it": (signal.SIGKILL, b"old"),
    "before the exchange": (signal.SIGKILL, b"old"),
    "after the exchange": (signal.SIGKILL, b"new" * 100),
}


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """Files that a process was writing when it was killed, by the moment, and how it ended."""
    paths = {moment: tmp_path_factory.mktemp("killed") / "ranking.csv" for moment in KILLED}
    for path in paths.values():
        path.write_bytes(b"old")
    given = json.dumps([(str(path), moment) for moment, path in paths.items()])
    command = [sys.executable, "-c", KILLED_WHILE_WRITING, given]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    ended = json.loads(done.stdout)
    return {moment: (path, ended[moment]) for moment, path in paths.items()}


@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
@pytest.mark.parametrize("moment", KILLED)
def test_a_process_killed_while_it_writes_leaves_the_old_file_or_the_new_one(moment, killed):
    (path, ended), (by_signal, data) = killed[moment], KILLED[moment]
    assert -ended == by_signal
    assert path.read_bytes() == data
    leftover = [name for name in os.listdir(path.parent) if name != "ranking.csv"]
    assert len(leftover) == (data == b"old")
    write_atomically(path, b"again")
