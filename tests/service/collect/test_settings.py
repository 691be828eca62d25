from dataclasses import fields

import pytest

from service import SettingError
from service.collect import CollectSettings
from service.collect import settings as module


def test_defaults():
    assert CollectSettings.from_environment({}) == CollectSettings()


def test_every_setting_is_read(tmp_path):
    environment = {name: "7" for name, value, _ in CollectSettings().table() if isinstance(value, int | float)}
    environment |= {
        "RANKCORR_MAX_BODY_BYTES": "5000",
        "RANKCORR_TOKENS": "0123456789abcdef,fedcba9876543210",
        "RANKCORR_METRICS": "token",
        "RANKCORR_LEDGER": "postgresql://ann:secret@db.example/votes",
        "RANKCORR_PUBLIC_URL": "https://votes.example.org/",
        "RANKCORR_ALLOWED_HOSTS": "votes.lab.example,[2001:db8::1]",
        "RANKCORR_ASSETS": str(tmp_path),
    }
    settings = CollectSettings.from_environment(environment)
    assert {name for name, *_ in settings.table()} == set(environment)
    assert len(environment) == len(fields(CollectSettings)) + len(fields(settings.limits)) - 1
    assert settings.public_url == "https://votes.example.org"
    assert settings.assets == str(tmp_path)
    assert settings.allowed_hosts == ("votes.lab.example", "2001:db8::1")
    assert settings.limits.max_body_bytes == 5_000
    untouched = {name: value for name, value, _ in CollectSettings().table()}
    assert [name for name, value, _ in settings.table() if value == untouched[name]] == []


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("LEDGER", "mysql://db.example/votes", "RANKCORR_LEDGER must be the path of a file, or a URL like postgresql:"),
        ("LEDGER", "postgresql://", "RANKCORR_LEDGER must be the path of a file"),
        ("PUBLIC_URL", "votes.example.org", "RANKCORR_PUBLIC_URL must be like https://votes.example.org, without"),
        ("PUBLIC_URL", "https://votes.example.org/path", "without a path; got 'https://votes.example.org/path'"),
        ("PUBLIC_URL", "javascript:alert(1)", "RANKCORR_PUBLIC_URL must be like"),
        ("ALLOWED_HOSTS", "votes.example.org:8080", "RANKCORR_ALLOWED_HOSTS must hold host names or addresses without"),
        ("ALLOWED_HOSTS", "https://votes.example.org", "without scheme and port; got 'https://votes.example.org'"),
        ("ALLOWED_HOSTS", "*", "RANKCORR_ALLOWED_HOSTS must hold host names"),
        ("UNANSWERED_SHEETS", "-1", "RANKCORR_UNANSWERED_SHEETS must be a whole number from 0 to"),
        ("ASSETS", "/nonexistent/pictures", "RANKCORR_ASSETS must be a folder; got '/nonexistent/pictures'"),
    ],
)
def test_values_that_a_variable_cannot_have(name, value, message):
    with pytest.raises(SettingError, match=message):
        CollectSettings.from_environment({"RANKCORR_" + name: value})


def test_no_message_and_no_table_shows_a_password():
    with pytest.raises(SettingError) as caught:
        CollectSettings.from_environment({"RANKCORR_LEDGER": "mysql://ann:secret@db.example/votes"})
    assert "secret" not in str(caught.value)
    assert "secret" not in str(CollectSettings(ledger="postgresql://ann:secret@db.example/votes").table())


def test_postgresql_needs_psycopg(monkeypatch):
    monkeypatch.setattr(module, "find_spec", lambda _: None)
    with pytest.raises(SettingError, match="needs psycopg: pip install 'rankcorr-service\\[postgres\\]'"):
        CollectSettings.from_environment({"RANKCORR_LEDGER": "postgresql://db.example/votes"})
