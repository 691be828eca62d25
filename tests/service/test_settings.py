import pytest

from service import SettingError, Settings


def test_without_variables_settings_have_their_defaults():
    assert Settings.from_environment({}) == Settings()


def test_every_setting_is_read(monkeypatch):
    monkeypatch.setattr("service.settings.find_spec", lambda _: object())  # rq, which is an extra
    environment = {name: "7" for name, value, _ in Settings().table() if isinstance(value, int | float)}
    environment |= {
        "RANKCORR_MAX_BODY_BYTES": "5000",
        "RANKCORR_TOKENS": "0123456789abcdef, fedcba9876543210",
        "RANKCORR_METRICS": "token",
        "RANKCORR_CORS_ORIGINS": "https://a.example,https://b.example",
        "RANKCORR_JOBS_URL": "rediss://:secret@redis.example:6379/0",
    }
    settings = Settings.from_environment(environment)
    assert {name for name, *_ in settings.table()} == set(environment)
    assert settings.limits.max_items == 7
    assert settings.limits.max_seconds == 7.0
    assert settings.tokens == ("0123456789abcdef", "fedcba9876543210")
    assert settings.cors_origins == ("https://a.example", "https://b.example")
    different = [
        name for name, value, _ in settings.table() if value in [v for n, v, _ in Settings().table() if n == name]
    ]
    assert different == []


def test_the_table_hides_tokens():
    rows = {name: value for name, value, _ in Settings(tokens=("0123456789abcdef",)).table()}
    assert rows["RANKCORR_TOKENS"] == 1


def test_an_empty_variable_is_not_set():
    assert Settings.from_environment({"RANKCORR_MAX_ITEMS": "", "RANKCORR_TOKENS": ""}) == Settings()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("MAX_ITEMS", "1", "RANKCORR_MAX_ITEMS must be a whole number from 2 to"),
        ("MAX_ITEMS", "1e5", "got '1e5'"),
        ("MAX_ITEMS", "9" * 5000, "RANKCORR_MAX_ITEMS must be a whole number"),
        ("MAX_SECONDS", "0", "RANKCORR_MAX_SECONDS must be a number of seconds above 0"),
        ("MAX_SECONDS", "nan", "RANKCORR_MAX_SECONDS must be a number of seconds above 0"),
        *(
            ("MAX_SECONDS", text, "must be a number of seconds above 0")
            for text in ("1_0", "\u0663", " 7", "inf", "1e999")
        ),
        *(
            ("MAX_ITEMS", text, "must be a whole number")
            for text in ("1_0", "\u0663", " 7", "7\n", "0" * 20 + "9" * 30)
        ),
        ("METRICS", "closed", "RANKCORR_METRICS must be one of open, token, off; got 'closed'"),
        ("METRICS", "token", "RANKCORR_METRICS is 'token', but RANKCORR_TOKENS holds none"),
        ("CORS_ORIGINS", "https://a.example,,b", "RANKCORR_CORS_ORIGINS must be a list with commas"),
        ("CORS_ORIGINS", "https://a.example b", "RANKCORR_CORS_ORIGINS must be a list with commas"),
        ("TRUSTED_PROXIES", "11", "RANKCORR_TRUSTED_PROXIES must be a whole number from 0 to 10"),
    ],
)
def test_invalid_values_of_variables_are_refused(name, value, message):
    with pytest.raises(SettingError, match=message):
        Settings.from_environment({"RANKCORR_" + name: value})


def test_redis_needs_an_address_and_the_extra(monkeypatch):
    with pytest.raises(
        SettingError, match="RANKCORR_JOBS_URL must be an address such as redis://host:6379/0"
    ) as caught:
        Settings.from_environment({"RANKCORR_JOBS_URL": "http://:secret@redis.example"})
    assert "secret" not in str(caught.value)
    monkeypatch.setattr("service.settings.find_spec", lambda _: None)
    with pytest.raises(SettingError, match=r"pip install 'rankcorr-service\[redis\]'"):
        Settings.from_environment({"RANKCORR_JOBS_URL": "redis://redis.example:6379/0"})


@pytest.mark.parametrize("tokens", ["short", "0123456789abcde", "0123456789abcdef,secret", "0123456789abcdefé"])
def test_weak_tokens_are_refused_and_never_shown(tokens):
    with pytest.raises(SettingError, match="RANKCORR_TOKENS must hold tokens of at least 16") as caught:
        Settings.from_environment({"RANKCORR_TOKENS": tokens})
    assert tokens.split(",")[-1] not in str(caught.value)
