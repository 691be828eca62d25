"""The root page, and the HTML of voters' pages."""

import html
import json
import re

import pytest

from adaptive._plan import plan_ballots
from adaptive.ledger import ItemContent, KnownPair, PageTexts, Probing
from service.collect import access
from tests.service.collect.browsing import change_pages, invitation_tokens, new_campaign, token_of

pytestmark = pytest.mark.wide


def test_the_root_page_explains_links_and_names_no_campaign(client, campaign):
    answer = client.get("/")
    assert (answer.status_code, answer.mimetype) == (200, "text/html")
    assert "open the link you were sent" in answer.text
    assert {"/o/new", "/docs"} <= set(re.findall(r'href="([^"]*)"', answer.text))
    assert campaign.key not in answer.text
    assert "script-src 'self'" in answer.headers["Content-Security-Policy"]
    assert client.get("/o/new").status_code == client.get("/docs").status_code == 200


def test_the_root_page_is_in_the_language_of_the_reader(client):
    assert '<html lang="en" dir="ltr">' in client.get("/").text
    german = client.get("/", headers={"Accept-Language": "de-CH, en;q=0.5"}).text
    assert '<html lang="de" dir="ltr">' in german
    assert "Um abzustimmen" in german
    assert "To vote" in client.get("/?lang=en", headers={"Accept-Language": "de"}).text


LABELS = [f"tree {number}" for number in range(20)]


@pytest.fixture
def campaign(tmp_path):
    return new_campaign(tmp_path / "collect.db")


@pytest.fixture
def page_of(client, campaign):
    def get(page="", **headers):
        return client.get(f"/v/{campaign.key}{page}", headers=headers)

    return get


@pytest.mark.parametrize("page", ["", "/vote", "/finish"])
def test_pages_have_no_inline_script_or_style(page_of, page):
    answer = page_of(page)
    assert (answer.status_code, answer.content_type) == (200, "text/html; charset=utf-8")
    assert not re.search(r"<style|<script(?! type=\"module\" src=\"/static/voter/\w+\.js\"></script>)", answer.text)
    assert not re.search(r"\s(style|on\w+)=", answer.text)
    assert "unsafe" not in answer.headers["Content-Security-Policy"]
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert answer.headers["Cache-Control"] == "no-store"


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
def test_the_language_is_from_the_address_or_the_browser_or_the_first(
    page_of, campaign, query, accepted, language, way
):
    texts = {tag: PageTexts(f"title {tag}", f"question {tag}") for tag in ("en", "he", "de")}
    change_pages(campaign, texts=texts, consent_version="2")
    result = page_of(f"/vote{query}", **{"Accept-Language": accepted}).text
    assert f"question {language}" in result
    assert f'dir="{way}"' in result[: result.index("<head>")]
    link = f"/v/{campaign.key}/finish" + (f"?lang={language}" if query else "")
    assert f'href="{link}"' in result


def test_an_unknown_campaign_has_an_error_page(client):
    for key in ("0" * 32, "short", "%00"):
        answer = client.get(f"/v/{key}", headers={"Accept-Language": "de"})
        assert answer.status_code == 404
        assert "Diese Seite gibt es nicht" in answer.text


@pytest.mark.parametrize("path", ["/o/{key}/nothing", "/v/{key}/nothing", "/o/{key}/ballots/1", "/o/", "/v/"])
def test_an_unknown_address_has_the_error_page(client, campaign, path):
    answer = client.get(path.format(key=campaign.key), headers={"Accept-Language": "en"})
    assert (answer.status_code, answer.mimetype) == (404, "text/html")
    assert "This page does not exist" in answer.text


def test_a_page_states_whether_there_is_a_session(client, campaign):
    known = 'data-known="yes"'
    assert known not in client.get(f"/v/{campaign.key}").text
    token = invitation_tokens(campaign, "anna")[0]
    assert client.post("/v1/sessions", json={"campaign": campaign.key, "token": token}).status_code == 201
    assert known in client.get(f"/v/{campaign.key}").text


@pytest.mark.parametrize("page", ["", "/vote"])
def test_only_the_organiser_sees_a_preview(client, campaign, page):
    answer = client.get(f"/v/{campaign.key}{page}?preview=1")
    assert (answer.status_code, answer.headers["Location"]) == (302, f"/v/{campaign.key}")
    sign_in(client, campaign)
    result = client.get(f"/v/{campaign.key}{page}?preview=1").text
    assert "data-preview=" in result
    assert f'href="/o/{campaign.key}"' in result
    assert "data-preview=" not in client.get(f"/v/{campaign.key}{page}").text


def test_a_preview_stays_a_preview_in_another_language(client, campaign):
    texts = {tag: PageTexts(f"title {tag}", f"question {tag}") for tag in ("en", "de")}
    change_pages(campaign, texts=texts, consent_version="2")
    sign_in(client, campaign)
    assert 'href="?preview=1&amp;lang=de"' in client.get(f"/v/{campaign.key}?preview=1").text
    assert 'href="?lang=de"' in client.get(f"/v/{campaign.key}").text


def test_a_preview_shows_items_from_the_whole_list_and_of_each_kind(target, client):
    contents = [ItemContent("text", label) for label in LABELS]
    contents[17] = ItemContent("image", "oak.png", "an oak")
    campaign = new_campaign(
        target, plan=plan_ballots(20, n_ballots=2, fraction=0.5, presentations=4), items=LABELS, contents=contents
    )
    sign_in(client, campaign)
    pairs = preview_pairs(client, campaign)
    labels_on_left = [pair["left"].get("text", "oak.png") for pair in pairs]
    assert labels_on_left == ["tree 0", "tree 4", "tree 8", "tree 11", "tree 15", "oak.png", "tree 19"]
    assert [pair["right"] for pair in pairs] == [pair["left"] for pair in (*pairs[1:], pairs[0])]
    assert not any(pair["practice"] for pair in pairs)  # the campaign has none


def test_a_preview_begins_with_the_practice_of_the_campaign(target, client):
    known = (
        KnownPair("attention", "fir", "oak", "left"),
        KnownPair("practice", "yew", "ash", "right"),
        KnownPair("practice", "fir", "birch", "tie"),
    )
    campaign = new_campaign(target, probing=Probing(known))
    sign_in(client, campaign)
    practice = [pair for pair in preview_pairs(client, campaign) if pair["practice"]]
    practice_pairs = [(pair["left"]["text"], pair["right"]["text"], pair["expected"]) for pair in practice]
    assert practice_pairs == [("yew", "ash", "right"), ("fir", "birch", "tie")]


def sign_in(client, campaign):
    client.set_cookie(
        access.cookie_name(access.ORGANISER_COOKIE, campaign, https=False), token_of(campaign, "organiser session")
    )


def preview_pairs(client, campaign):
    """The pairs of a preview in the page."""
    result = re.search(r'data-preview="([^"]*)"', client.get(f"/v/{campaign.key}/vote?preview=1").text)
    return json.loads(html.unescape(result[1]))
