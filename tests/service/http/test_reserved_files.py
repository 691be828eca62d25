"""Room for metrics is taken before it is needed."""

import errno
import os

import pytest
from prometheus_client.mmap_dict import MmapedDict

from service.http.reserved_files import KINDS, RESERVED_BYTES, reserve, reserve_files


def test_the_room_is_taken_and_prometheus_writes_there(tmp_path):
    reserve_files(tmp_path, 7)
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted(f"{kind}_7.db" for kind in KINDS)
    for file in tmp_path.iterdir():
        assert file.stat().st_blocks * 512 >= RESERVED_BYTES
    counts = MmapedDict(str(tmp_path / "counter_7.db"))
    counts.write_value("key", 5.0, 0.0)
    counts.close()
    reserve_files(tmp_path, 7)
    assert [value for _, value, _, _ in MmapedDict.read_all_values_from_file(str(tmp_path / "counter_7.db"))] == [5.0]


def test_without_room_no_empty_file_is_left(monkeypatch, tmp_path):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    (tmp_path / "kept.db").write_bytes(b"counts")
    for name in ("new.db", "kept.db"):
        with pytest.raises(OSError, match="No space left on device"):
            reserve(tmp_path / name)
    assert [file.name for file in tmp_path.iterdir()] == ["kept.db"]
