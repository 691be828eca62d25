"""Metrics for Prometheus."""

import errno
import os
import platform
import re

import pytest
from prometheus_client.mmap_dict import MmapedDict

from rankcorr import __version__
from service.http.metrics import KINDS, RESERVED_BYTES, Snapshot, reserve, reserve_files, resident_bytes
from tests.service.answers import post_pair
from tests.service.live import poll_until


@pytest.fixture
def value(client):
    """Value of a sample by its name and labels; 0 if it is missing."""

    def read(name):
        result = re.search(rf"^{re.escape(name)} (\S+)$", client.get("/metrics").text, re.MULTILINE)
        return float(result[1]) if result else 0.0

    return read


def test_metrics_count_requests_and_items(client, value):
    requests = 'rankcorr_requests_total{method="POST",route="/v1/correlations",status="200"}'
    items = 'rankcorr_items_total{route="/v1/correlations"}'
    before = value(requests), value(items)
    post_pair(client)
    assert (value(requests), value(items)) == (before[0] + 1, before[1] + 6)
    # Only the request for /metrics, once earlier requests of other tests in this process are answered.
    poll_until(lambda: value("rankcorr_requests_in_progress") == 1, goal="the end of all other requests")


def test_an_unknown_method_makes_no_new_series(client):
    client.open("/health/live", method="BREW")
    assert 'method="other",route="none",status="405"' in client.get("/metrics").text
    assert "BREW" not in client.get("/metrics").text


def test_refusals_are_counted_by_their_kind(client, value):
    def counts():
        kinds = ("invalid-request", "not-json", "length", "not-found")
        return [value(f'rankcorr_refusals_total{{kind="{kind}"}}') for kind in kinds]

    before = counts()
    client.post("/v1/correlations", json={})
    client.post("/v1/correlations", data="{", content_type="application/json")
    client.post("/v1/correlations", json={"gold": {"scores": [1, 2]}, "system": {"scores": [1, 2, 3]}})
    client.get("/nope/secret")
    post_pair(client)
    assert [after - then for after, then in zip(counts(), before, strict=True)] == [1, 1, 1, 1]


def test_metrics_have_the_version(value):
    assert value(f'rankcorr_build_info{{python="{platform.python_version()}",version="{__version__}"}}') == 1


def test_the_memory_of_this_process(value):
    assert 10e6 < value(f'rankcorr_worker_resident_bytes{{pid="{os.getpid()}"}}') < 10e9


def test_the_memory_of_each_live_worker(tmp_path):
    for process_id in (os.getpid(), os.getppid(), 2**30, "x"):  # a worker, the supervisor, and an ended process
        (tmp_path / f"gauge_livesum_{process_id}.db").touch()
    (tmp_path / "counter_1.db").touch()
    *_, memory = Snapshot(str(tmp_path)).collect()
    assert [sample.labels for sample in memory.samples] == [{"pid": str(os.getpid())}]


def test_an_ended_process_has_no_memory():
    assert resident_bytes(2**30) is None


def test_space_for_metrics_is_reserved_and_used(tmp_path):
    reserve_files(tmp_path, 7)
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted(f"{kind}_7.db" for kind in KINDS)
    for file in tmp_path.iterdir():
        assert file.stat().st_blocks * 512 >= RESERVED_BYTES
    counts = MmapedDict(str(tmp_path / "counter_7.db"))
    counts.write_value("key", 5.0, 0.0)
    counts.close()
    reserve_files(tmp_path, 7)
    assert [value for _, value, _, _ in MmapedDict.read_all_values_from_file(str(tmp_path / "counter_7.db"))] == [5.0]


def test_without_space_no_empty_file_is_left(monkeypatch, tmp_path):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    (tmp_path / "kept.db").write_bytes(b"counts")
    for name in ("new.db", "kept.db"):
        with pytest.raises(OSError, match="No space left on device"):
            reserve(tmp_path / name)
    assert [file.name for file in tmp_path.iterdir()] == ["kept.db"]
