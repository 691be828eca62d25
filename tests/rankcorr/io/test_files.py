"""Files that are written whole: the old one or the new one, whatever happens in between."""

import os
import stat

import pytest

from rankcorr.io.files import prepared_file, write_atomically


def test_a_file_is_written_and_nothing_else_is_left(tmp_path):
    path = tmp_path / "ranking.csv"
    for data in (b"first", b"second"):
        write_atomically(path, data)
        assert path.read_bytes() == data
    assert os.listdir(tmp_path) == ["ranking.csv"]


def test_a_prepared_file_is_in_place_when_it_is_put_there(tmp_path):
    path = tmp_path / "ranking.csv"
    path.write_bytes(b"old")
    with prepared_file(path, b"new") as put_in_place:
        assert path.read_bytes() == b"old"
        put_in_place()
        assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["ranking.csv"]


def test_a_block_that_does_not_put_it_leaves_the_old_file(tmp_path):
    path = tmp_path / "ranking.csv"
    path.write_bytes(b"old")
    with prepared_file(path, b"new"):
        pass
    with pytest.raises(KeyError, match="what may fail"), prepared_file(path, b"new"):
        raise KeyError("what may fail")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["ranking.csv"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failure_leaves_the_old_file(step, tmp_path, monkeypatch):
    path = tmp_path / "ranking.csv"
    path.write_bytes(b"old")

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
    with prepared_file(tmp_path / "ranking.csv", b"new") as put_in_place:
        assert synced == [False]  # the file, before it has its name
        put_in_place()
        assert synced == [False, True]


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
