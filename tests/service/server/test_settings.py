"""The settings of the processes."""

import os

import pytest

from service import SettingError, Settings
from service.server.launch import ServerSettings, usable_cores

pytestmark = pytest.mark.wide


def test_settings_of_the_server_raise_a_setting_error():
    with pytest.raises(SettingError, match="RANKCORR_BIND must be host:port"):
        ServerSettings.from_environment({"RANKCORR_BIND": "nowhere"})


@pytest.mark.parametrize(
    "address", ["127.0.0.1:0", "0.0.0.0:8000", "[::1]:65535", "some-host.example:80", "unix:/run/x"]
)
def test_addresses_are_accepted(address):
    assert ServerSettings.from_environment({"RANKCORR_BIND": address}).bind == address


@pytest.mark.parametrize(
    ("files", "n_cores"),
    [
        ({}, None),
        ({"cpu.max": "max 100000\n"}, None),
        ({"cpu.max": "50000 100000\n"}, 1),
        ({"cpu.max": "100001 100000\n"}, 2),
        ({"cpu.max": "1000000000 100000\n"}, None),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, None),
        ({"cpu/cpu.cfs_quota_us": "150000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 2),
        ({"cpu.max": "what is this"}, None),
    ],
)
def test_cores_are_counted_by_the_affinity_of_the_process(monkeypatch, tmp_path, files, n_cores):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    (tmp_path / "cpu").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert usable_cores(tmp_path) == (n_cores or 8)


def test_a_stop_waits_for_the_longest_request_by_default():
    app = Settings.from_environment({"RANKCORR_MAX_SECONDS": "20", "RANKCORR_MAX_WAIT_SECONDS": "2.5"})
    assert ServerSettings(client_seconds=5).seconds_to_stop(app) == 80
    assert ServerSettings(graceful_seconds=3).seconds_to_stop(app) == 3
