"""A browser organises by a cookie, for which the link's token is given once."""

from tests.service.collect.organiser import problem

PATH = "/v1/organiser/sessions"


def begin(organiser, **fields):
    browser = organiser.app.test_client()
    body = {"campaign": organiser.key, "token": organiser.token, **fields}
    return browser, browser.post(PATH, json=body)


def test_a_cookie_stands_for_the_token(organiser):
    browser, answer = begin(organiser)
    assert answer.status_code == 204
    cookie = answer.headers["Set-Cookie"]
    assert cookie.startswith(f"organiser_{organiser.key[:12]}=")
    assert organiser.token not in cookie
    for part in ("HttpOnly", "SameSite=Strict", "Path=/"):
        assert part in cookie
    assert browser.get(f"/v1/campaigns/{organiser.key}").status_code == 200
    assert browser.post(f"/v1/campaigns/{organiser.key}/ballots", json={}).status_code == 201


def test_a_session_that_was_ended_opens_nothing(organiser):
    browser, _ = begin(organiser)
    kept = browser.get_cookie(f"organiser_{organiser.key[:12]}").value
    assert browser.post(f"{PATH}/{organiser.key}/end", json={}).status_code == 204
    assert browser.get_cookie(f"organiser_{organiser.key[:12]}") is None
    browser.set_cookie(f"organiser_{organiser.key[:12]}", kept)
    assert browser.get(f"/v1/campaigns/{organiser.key}").status_code == 401


def test_a_wrong_token_gives_no_session(admin, organiser):
    for fields in ({"token": "x" * 43}, {"token": admin.make().token}):
        browser, answer = begin(organiser, **fields)
        assert (answer.status_code, problem(answer)[0]) == (401, "link-unknown")
        assert browser.get(f"/v1/campaigns/{organiser.key}").status_code == 401
    assert begin(organiser, token="short")[1].status_code == 422
    assert begin(organiser, campaign="0" * 32)[1].status_code == 404


def test_a_token_of_a_voter_is_none_of_an_organiser(organiser):
    (token,) = organiser.invite("Ann")
    assert begin(organiser, token=token)[1].status_code == 401
    assert organiser.call("GET", f"/v1/campaigns/{organiser.key}", token=token).status_code == 401


def test_a_page_of_another_site_cannot_use_the_cookie(organiser):
    browser, _ = begin(organiser)
    for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        answer = browser.post(f"/v1/campaigns/{organiser.key}/ballots", json={}, headers=headers)
        assert (answer.status_code, problem(answer)[0]) == (403, "cross-site")
    assert organiser.get("/ballots").json["ballots"] == []
