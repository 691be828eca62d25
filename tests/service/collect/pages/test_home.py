"""The page of the bare address, for those who come without a link."""

import re


def test_the_bare_address_says_where_to_go_and_names_no_campaign(client, campaign):
    answer = client.get("/")
    assert (answer.status_code, answer.mimetype) == (200, "text/html")
    assert "open the link you were sent" in answer.text
    assert {"/o/new", "/docs"} <= set(re.findall(r'href="([^"]*)"', answer.text))
    assert campaign.key not in answer.text
    assert "script-src 'self'" in answer.headers["Content-Security-Policy"]
    assert client.get("/o/new").status_code == client.get("/docs").status_code == 200


def test_it_is_in_the_language_of_the_reader(client):
    assert '<html lang="en" dir="ltr">' in client.get("/").text
    german = client.get("/", headers={"Accept-Language": "de-CH, en;q=0.5"}).text
    assert '<html lang="de" dir="ltr">' in german
    assert "Um abzustimmen" in german
    assert "To vote" in client.get("/?lang=en", headers={"Accept-Language": "de"}).text
