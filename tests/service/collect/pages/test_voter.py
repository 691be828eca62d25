"""The pages of a voter as the server writes them."""

import re

import pytest

from adaptive.ledger import PageTexts
from tests.service.collect.browsing import change_pages, invited, new_campaign

ATTACK = '<script>alert(1)</script> "><img src=x onerror=alert(1)> [a](javascript:alert(1)) {{ 7 * 7 }}'


@pytest.fixture
def campaign(tmp_path):
    return new_campaign(tmp_path / "collect.db")


@pytest.fixture
def page_of(client, campaign):
    def get(page="", **headers):
        return client.get(f"/v/{campaign.key}{page}", headers=headers)

    return get


@pytest.mark.parametrize("page", ["", "/vote", "/finish"])
def test_pages_have_no_script_or_style_of_their_own(page_of, page):
    answer = page_of(page)
    assert (answer.status_code, answer.content_type) == (200, "text/html; charset=utf-8")
    assert not re.search(r"<style|<script(?! type=\"module\" src=\"/static/voter/\w+\.js\"></script>)", answer.text)
    assert not re.search(r"\s(style|on\w+)=", answer.text)
    assert "unsafe" not in answer.headers["Content-Security-Policy"]
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert answer.headers["Cache-Control"] == "no-store"


def test_what_organisers_write_is_text(page_of, campaign):
    texts = {"en": PageTexts(*([ATTACK] * 5))}
    change_pages(campaign, texts=texts, consent_version="2")
    for page in ("", "/vote", "/finish"):
        found = page_of(page).text
        assert "<script>alert" not in found
        assert not re.search(r"<img[^>]+onerror", found)
        assert 'href="javascript' not in found
        assert "{{ 7 * 7 }}" in found


@pytest.mark.parametrize(
    ("query", "accepted", "language", "way"),
    [
        ("", "he;q=0.9, de", "de", "ltr"),
        ("", "fr", "en", "ltr"),
        ("", "", "en", "ltr"),
        ("?lang=he", "de", "he", "rtl"),
        ("?lang=xx", "de", "de", "ltr"),
    ],
)
def test_the_language_is_that_of_the_address_or_of_the_browser_or_the_first(
    page_of, campaign, query, accepted, language, way
):
    texts = {tag: PageTexts(f"title {tag}", f"question {tag}") for tag in ("en", "he", "de")}
    change_pages(campaign, texts=texts, consent_version="2")
    found = page_of(f"/vote{query}", **{"Accept-Language": accepted}).text
    assert f"question {language}" in found
    assert f'dir="{way}"' in found[: found.index("<head>")]
    link = f"/v/{campaign.key}/finish" + (f"?lang={language}" if query else "")
    assert f'href="{link}"' in found


def test_an_unknown_campaign_has_a_page_that_says_so(client):
    for key in ("0" * 32, "short", "%00"):
        answer = client.get(f"/v/{key}", headers={"Accept-Language": "de"})
        assert answer.status_code == 404
        assert "Diese Seite gibt es nicht" in answer.text


def test_a_page_knows_whether_there_is_a_session(client, campaign):
    known = 'data-known="yes"'
    assert known not in client.get(f"/v/{campaign.key}").text
    token = invited(campaign, "anna")[0]
    assert client.post("/v1/sessions", json={"campaign": campaign.key, "token": token}).status_code == 201
    assert known in client.get(f"/v/{campaign.key}").text


def test_a_preview_is_for_the_organiser(client, campaign):
    answer = client.get(f"/v/{campaign.key}/vote?preview=1")
    assert (answer.status_code, answer.headers["Location"]) == (302, f"/v/{campaign.key}")
