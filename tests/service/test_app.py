import json
import logging
import os
import re
import threading

import pytest

from service import create_app
from service.api import correlations
from service.http.access import Tokens
from service.http.capacity import Gate, RateLimiter
from service.http.deadline import Deadline
from service.http.problems import STATUSES, Problem
from service.openapi.document import CONFIGURATION

PAIR = {"gold": {"scores": [3, 2, 1]}, "system": {"scores": [3, 1, 2]}}
TOKEN = "0123456789abcdef"
OTHER = "fedcba9876543210"


def post(client, headers=None):
    return client.post("/v1/correlations", json=PAIR, headers=headers)


def log_lines(capsys):
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


class TestErrors:
    @pytest.mark.parametrize("path", ["/nope", "/v1/nope", "/docs/nope.js", "/docs/..%2fapp.py", "/v1/correlations/"])
    def test_a_path_that_is_not_served(self, client, path):
        answer = client.get(path)
        assert (answer.status_code, answer.content_type) == (404, "application/problem+json")
        assert answer.json["type"] == "urn:rankcorr:problem:not-found"

    @pytest.mark.parametrize("method", ["get", "put", "delete", "patch"])
    def test_a_method_that_is_not_served(self, client, method):
        answer = getattr(client, method)("/v1/correlations")
        assert (answer.status_code, answer.content_type) == (405, "application/problem+json")
        assert set(answer.headers["Allow"].split(", ")) == {"POST", "OPTIONS"}

    def test_an_unforeseen_error_shows_nothing_of_its_inside(self, client, monkeypatch, caplog):
        def broken(**_):
            raise ZeroDivisionError("the secret inside")

        monkeypatch.setattr(correlations, "compare_pair", broken)
        with caplog.at_level(logging.ERROR, logger="rankcorr.service"):
            answer = post(client)
        assert (answer.status_code, answer.content_type) == (500, "application/problem+json")
        assert "secret" not in answer.text
        assert "Zero" not in answer.text
        assert answer.json["request_id"] == answer.headers["X-Request-ID"]
        (record,) = caplog.records
        assert answer.json["request_id"] in record.getMessage()
        assert "the secret inside" in str(record.exc_info[1])

    def test_every_status_has_a_type_and_a_title(self, client):
        assert set(STATUSES) == {400, 401, 404, 405, 413, 415, 422, 429, 500, 503}
        with client.application.test_request_context():
            for status, (kind, title) in STATUSES.items():
                response = Problem(status, "why").response()
                assert response.json["type"] == "urn:rankcorr:problem:" + kind
                assert response.json["title"] == title

    def test_a_status_of_werkzeug_that_we_do_not_have(self, client):
        answer = client.get("/docs/swagger-ui.css", headers={"Range": "bytes=99999999-"})
        assert answer.status_code == 400
        assert answer.content_type == "application/problem+json"


class TestTokens:
    @pytest.fixture
    def guarded(self, make_client):
        return make_client(tokens=(TOKEN, OTHER), metrics="token")

    @pytest.mark.parametrize("token", [TOKEN, OTHER])
    def test_a_token_opens_the_api(self, guarded, token):
        assert post(guarded, {"Authorization": f"Bearer {token}"}).status_code == 200
        assert post(guarded, {"Authorization": f"bearer {token}"}).status_code == 200
        assert post(guarded, {"Authorization": f"Bearer   {token} "}).status_code == 200

    @pytest.mark.parametrize(
        "authorization",
        [
            None,
            "",
            "Bearer",
            "Bearer ",
            f"Basic {TOKEN}",
            TOKEN,
            f"Bearer {TOKEN}x",
            f"Bearer {TOKEN[:-1]}",
            "Bearer é",
        ],
    )
    def test_anything_else_does_not(self, guarded, authorization):
        headers = {} if authorization is None else {"Authorization": authorization}
        answer = post(guarded, headers)
        assert (answer.status_code, answer.content_type) == (401, "application/problem+json")
        assert answer.headers["WWW-Authenticate"] == 'Bearer realm="rankcorr"'

    def test_the_body_is_not_looked_at_without_a_token(self, guarded):
        answer = guarded.post("/v1/correlations", data="{", content_type="application/json")
        assert answer.status_code == 401

    def test_a_path_that_is_not_served_needs_one_too(self, guarded):
        assert guarded.get("/v1/nope").status_code == 401

    @pytest.mark.parametrize("path", ["/health/live", "/health/ready", "/openapi.json", "/docs"])
    def test_probes_and_the_document_stay_open(self, guarded, path):
        assert guarded.get(path).status_code == 200

    def test_metrics_follow_their_setting(self, guarded, make_client):
        assert guarded.get("/metrics").status_code == 401
        assert guarded.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200
        assert make_client(metrics="off").get("/metrics").status_code == 404
        assert make_client(tokens=(TOKEN,), metrics="open").get("/metrics").status_code == 200

    def test_no_token_reaches_the_log(self, guarded, capsys):
        post(guarded, {"Authorization": f"Bearer {TOKEN}"})
        post(guarded, {"Authorization": "Bearer wrong-wrong-wrong"})
        text = capsys.readouterr()
        assert TOKEN not in text.out + text.err
        assert "wrong" not in text.out + text.err

    def test_every_token_is_compared_in_constant_time(self, monkeypatch):
        compared = []
        monkeypatch.setattr("service.http.access.hmac.compare_digest", lambda a, b: compared.append((a, b)) or a == b)
        assert Tokens([TOKEN, OTHER]).name_of(f"Bearer {TOKEN}") == "token 1"
        assert len(compared) == 2
        assert {len(digest) for pair in compared for digest in pair} == {32}


class TestLogs:
    def test_one_line_for_a_request(self, client, capsys):
        answer = post(client)
        (line,) = log_lines(capsys)
        assert line.pop("ms") > 0
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", line.pop("time"))
        assert line == {
            "id": answer.headers["X-Request-ID"],
            "method": "POST",
            "route": "/v1/correlations",
            "status": 200,
            "bytes": len(json.dumps(PAIR).replace(" ", "")),
            "items": 6,
        }

    def test_refused_requests_have_one_too(self, client, capsys):
        client.get("/nope?secret=1")
        client.post("/v1/correlations", data="{", content_type="application/json")
        lines = log_lines(capsys)
        assert [(line["route"], line["status"]) for line in lines] == [("none", 404), ("/v1/correlations", 400)]
        assert "secret" not in str(lines)

    def test_a_sound_id_of_a_proxy_is_kept(self, client, capsys):
        assert post(client, {"X-Request-ID": "front-7.a_b"}).headers["X-Request-ID"] == "front-7.a_b"
        assert log_lines(capsys)[0]["id"] == "front-7.a_b"

    @pytest.mark.parametrize("given", ["", "a b", "x" * 65, '"}', "é"])
    def test_any_other_is_replaced(self, client, given):
        assert re.fullmatch("[0-9a-f]{32}", post(client, {"X-Request-ID": given}).headers["X-Request-ID"])


class TestOperations:
    def test_live(self, client):
        assert client.get("/health/live").json == {"status": "ok"}

    def test_ready_shows_the_limits(self, make_client):
        shown = make_client(max_items=77, tokens=(TOKEN,)).get("/health/ready")
        assert shown.json["limits"]["RANKCORR_MAX_ITEMS"] == 77
        assert {name for name in shown.json["limits"] if "TOKEN" in name} == set()
        assert {
            "RANKCORR_MAX_BODY_BYTES",
            "RANKCORR_MAX_SYSTEMS",
            "RANKCORR_MAX_MATRIX_CELLS",
            "RANKCORR_MAX_COMPARISONS",
            "RANKCORR_MAX_SIMULATED_VOTES",
            "RANKCORR_MAX_SECONDS",
        } <= set(shown.json["limits"])

    def test_metrics_count_requests_and_items(self, client):
        def value(name):
            found = re.search(rf"^{re.escape(name)} (\S+)$", client.get("/metrics").text, re.MULTILINE)
            return float(found[1]) if found else 0.0

        requests = 'rankcorr_requests_total{method="POST",route="/v1/correlations",status="200"}'
        items = 'rankcorr_items_total{route="/v1/correlations"}'
        before = value(requests), value(items)
        post(client)
        assert (value(requests), value(items)) == (before[0] + 1, before[1] + 6)
        assert value("rankcorr_requests_in_progress") == 1  # that of /metrics itself

    def test_a_strange_method_makes_no_new_series(self, client):
        client.open("/health/live", method="BREW")
        assert 'method="other",route="none",status="405"' in client.get("/metrics").text
        assert "BREW" not in client.get("/metrics").text


class TestBrowsers:
    def test_the_page_needs_nothing_from_elsewhere(self, client):
        page = client.get("/docs")
        assert page.content_type == "text/html; charset=utf-8"
        addresses = re.findall(r'(?:src|href)="([^"]+)"', page.text)
        assert addresses
        for address in addresses:
            assert "//" not in address
            if not address.startswith("data:"):
                assert client.get("/" + address, buffered=True).status_code == 200
        assert "<script>" not in page.text

    def test_security_headers(self, client):
        headers = client.get("/docs").headers
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert "script-src 'self';" in headers["Content-Security-Policy"]
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
        assert "base-uri 'none'" in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["X-Frame-Options"] == "DENY"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["Cross-Origin-Opener-Policy"] == "same-origin"

    def test_origins_are_refused_unless_configured(self, client, make_client):
        ours, theirs = "https://notebook.example", "https://other.example"
        assert "Access-Control-Allow-Origin" not in post(client, {"Origin": ours}).headers
        open_client = make_client(cors_origins=(ours,))
        assert post(open_client, {"Origin": ours}).headers["Access-Control-Allow-Origin"] == ours
        assert "X-Request-ID" in post(open_client, {"Origin": ours}).headers["Access-Control-Expose-Headers"]
        assert "Access-Control-Allow-Origin" not in post(open_client, {"Origin": theirs}).headers
        assert "Access-Control-Allow-Origin" not in open_client.get("/health/live", headers={"Origin": ours}).headers

    def test_a_preflight_needs_no_token(self, make_client):
        client = make_client(cors_origins=("https://notebook.example",), tokens=(TOKEN,))
        headers = {
            "Origin": "https://notebook.example",
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "Authorization, Content-Type",
        }
        answer = client.options("/v1/correlations", headers=headers)
        assert answer.status_code == 200
        assert answer.headers["Access-Control-Allow-Origin"] == "https://notebook.example"
        assert "Authorization" in answer.headers["Access-Control-Allow-Headers"]


class TestRate:
    def test_a_client_has_its_requests_of_a_minute(self, make_client):
        client = make_client(requests_per_minute=2)
        statuses = [post(client).status_code for _ in range(4)]
        assert statuses[:2] == [200, 200]
        assert statuses[-1] in (200, 429)  # 200 only where a minute began in between
        limiter = RateLimiter(2, clock=lambda: 61.0)
        limiter.count("a")
        limiter.count("a")
        with pytest.raises(
            Problem, match=r"at most 2 requests of a client in a minute \(RANKCORR_REQUESTS_PER_MINUTE"
        ) as caught:
            limiter.count("a")
        assert caught.value.status == 429
        assert caught.value.headers == {"Retry-After": "59"}
        limiter.count("b")

    def test_the_next_minute_begins_anew(self):
        now = [0.0]
        limiter = RateLimiter(1, clock=lambda: now[0])
        for minute in range(3):
            now[0] = 60.0 * minute
            limiter.count("a")
            with pytest.raises(Problem, match="at most 1 requests"):
                limiter.count("a")

    def test_the_answer_is_a_problem(self, make_client, monkeypatch):
        client = make_client(requests_per_minute=1)
        monkeypatch.setattr(client.application.extensions["rankcorr"].rate, "_clock", lambda: 30.0)
        assert post(client).status_code == 200
        answer = post(client)
        assert (answer.status_code, answer.content_type) == (429, "application/problem+json")
        assert answer.headers["Retry-After"] == "30"
        assert client.get("/health/live").status_code == 200

    def test_proxies_are_believed_only_if_told(self, make_client, monkeypatch):
        for proxies, second in ((0, 429), (1, 200)):
            client = make_client(requests_per_minute=1, trusted_proxies=proxies)
            monkeypatch.setattr(client.application.extensions["rankcorr"].rate, "_clock", lambda: 30.0)
            assert post(client, {"X-Forwarded-For": "192.0.2.1"}).status_code == 200
            assert post(client, {"X-Forwarded-For": "192.0.2.2"}).status_code == second

    def test_processes_share_the_counts(self):
        limiter = RateLimiter(3, clock=lambda: 0.0)
        child = os.fork()
        if child == 0:
            limiter.count("a")
            limiter.count("a")
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        limiter.count("a")
        with pytest.raises(Problem, match="at most 3 requests"):
            limiter.count("a")


class TestGate:
    def test_who_comes_when_all_is_full_is_turned_away_at_once(self):
        gate = Gate(concurrent=1, waiting=0, seconds=60)
        gate.enter()
        with pytest.raises(Problem, match=r"too many requests wait already \(RANKCORR_MAX_WAITING\)") as caught:
            gate.enter()
        assert (caught.value.status, caught.value.headers) == (503, {"Retry-After": "1"})
        gate.leave()
        gate.enter()

    def test_who_waits_too_long_is_turned_away(self):
        gate = Gate(concurrent=1, waiting=1, seconds=0.01)
        gate.enter()
        for _ in range(2):  # the place in the queue is given back
            with pytest.raises(Problem, match=r"no turn came in 0.01 s \(RANKCORR_MAX_WAIT_SECONDS\)"):
                gate.enter()

    def test_who_waits_has_its_turn(self):
        gate = Gate(concurrent=1, waiting=1, seconds=60)
        gate.enter()
        entered = threading.Event()
        waiter = threading.Thread(target=lambda: (gate.enter(), entered.set()))
        waiter.start()
        assert not entered.wait(0.05)
        gate.leave()
        waiter.join(60)
        assert entered.is_set()

    def test_a_request_above_the_capacity_and_the_probe(self, make_client, monkeypatch):
        client = make_client(max_concurrent=1, max_waiting=0)
        inside, may_go = threading.Event(), threading.Event()
        real = correlations.compare_pair

        def slow(**request):
            inside.set()
            assert may_go.wait(60)
            return real(**request)

        monkeypatch.setattr(correlations, "compare_pair", slow)
        answers = []
        other = threading.Thread(target=lambda: answers.append(post(client.application.test_client())))
        other.start()
        assert inside.wait(60)
        turned_away = post(client)
        assert (turned_away.status_code, turned_away.content_type) == (503, "application/problem+json")
        assert turned_away.headers["Retry-After"] == "1"
        assert client.get("/health/live").status_code == 200
        may_go.set()
        other.join(60)
        assert answers[0].status_code == 200
        assert post(client).status_code == 200

    @pytest.mark.parametrize("status", [200, 422, 500])
    def test_every_request_gives_its_slot_back(self, make_client, monkeypatch, status):
        client = make_client(max_concurrent=1, max_waiting=0)
        if status == 500:
            monkeypatch.setattr(correlations, "compare_pair", lambda **_: 1 / 0)
        request = {} if status == 422 else PAIR
        for _ in range(3):
            assert client.post("/v1/correlations", json=request).status_code == status


class TestDeadline:
    def test_time_left_and_time_over(self):
        now = [0.0]
        deadline = Deadline(5, clock=lambda: now[0])
        now[0] = 5.0
        deadline(3)
        assert deadline.submit(max, 1, 2).result() == 2
        now[0] = 5.1
        with pytest.raises(Problem, match=r"at most 5 s of work for a request \(RANKCORR_MAX_SECONDS\)") as caught:
            deadline()
        assert caught.value.status == 503
        with pytest.raises(Problem, match="at most 5 s"):
            deadline.submit(max, 1, 2)


def test_apps_do_not_share_their_settings(make_client):
    small, large = make_client(max_items=2), make_client()
    assert post(small).status_code == 422
    assert post(large).status_code == 200


def test_the_configuration_is_not_changed_by_an_app():
    before = json.dumps(CONFIGURATION)
    create_app()
    assert json.dumps(CONFIGURATION) == before
