"""A campaign on a ledger, with voters and an organiser who send the same requests as pages and programs."""

import re
from dataclasses import replace

from jsonschema import Draft202012Validator
from werkzeug.exceptions import NotFound

from adaptive.ledger import CampaignSettings, Ledger, PageTexts, VotingPages
from adaptive.ledger._tokens import issue
from service.http.state import state
from tests.adaptive.ledger.campaigns import ITEMS, PLAN, new_id

TEXTS = {"en": PageTexts("Trees", "Which tree is taller?", "Look at **both**.", "I agree.", "Thanks!")}

PROLIFIC = {
    "platform": "prolific",
    "sheets": 1,
    "completion_code": "D0NE",
    "screened_out_code": "SCREEN",
    "quota_full_code": "FULL",
}
BACK = "https://app.prolific.com/submissions/complete?cc="


def new_campaign(target, *, plan=PLAN, items=ITEMS, voters=6, contents=None, pages=None, open_ballot=True, **settings):
    """A campaign with an open first ballot; its ledger is created if missing."""
    ledger = Ledger.create(target)
    all_settings = {"assigned": False, "sheet_size": 2, "lease_minutes": 30, **settings}
    campaign = ledger.new_campaign(
        plan, items, voters, 1, name="trees", settings=CampaignSettings(**all_settings), contents=contents
    )
    if open_ballot:
        campaign.open_next()
    change_pages(campaign, **(pages or {}))
    return campaign


def change_pages(campaign, **pages):
    """Show these pages from now on."""
    all_pages = VotingPages(**{"texts": TEXTS, "open_link": True, **pages})
    campaign.set_pages(all_pages, replaces=campaign.pages()[0])


def invitation_tokens(campaign, *names):
    return campaign.voters.invite(names)


def token_of(campaign, kind):
    return campaign.write(issue, kind)


class Voter:
    """A browser of a voter, on Flask's test client."""

    def __init__(self, client, campaign):
        self.client, self.key = client, campaign.key
        self.headers = {"Rankcorr-Campaign": campaign.key}

    def post(self, path, body=None, **headers):
        return self.client.post(path, json=body or {}, headers={**self.headers, **headers})

    def put(self, path, body, **headers):
        return self.client.put(path, json=body, headers={**self.headers, **headers})

    def begin(self, **fields):
        return self.client.post("/v1/sessions", json={"campaign": self.key, **fields})

    def me(self):
        return self.client.get("/v1/me", headers=self.headers)

    def sheet(self):
        answer = self.post("/v1/sheets")
        assert answer.status_code == 200, answer.text
        return answer.json["sheet"]

    def answer_sheet(self):
        """Answer all pairs of the next sheet, and return self."""
        for pair in self.sheet()["pairs"]:
            assert self.vote(pair["id"]).status_code == 200
        return self

    def vote(self, pair, answer="left", event_id=None, **fields):
        return self.put(f"/v1/votes/{event_id or new_id()}", {"pair": pair, "answer": answer, **fields})


def new_voter(app, campaign, **fields):
    """A voter in a new browser who has consented; by the open link unless `fields` are given."""
    voter = Voter(app.test_client(), campaign)
    answer = voter.begin(**{"consent": "1", **fields})
    assert answer.status_code == 201, answer.text
    return voter


ADMIN = "an-admin-token-of-tests"
ITEMS = ["ash", "birch", "cedar", "fir", "oak", "yew"]
CSV = "item\n" + "\n".join(ITEMS) + "\n"
REQUEST = {
    "name": "trees",
    "items_csv": CSV,
    "voters": 4,
    "seed": 1,
    "plan": {"n_ballots": 2, "fraction": 0.5, "presentations": 4},
    "settings": {"sheet_size": 3},
    "pages": {"texts": [{"language": "en", "title": "Trees", "question": "Which is taller?"}], "open_link": True},
}


DOCUMENTS = {}


class Organiser:
    """Calls of the API with a token."""

    def __init__(self, app, token, key=None):
        self.app, self.token, self.key = app, token, key
        self.client = app.test_client()

    def call(self, method, path, *, token=None, headers=None, **options):
        all_headers = {"Authorization": f"Bearer {self.token if token is None else token}", **(headers or {})}
        answer = self.client.open(path, method=method, headers=all_headers, **options)
        check_answer(self.app, answer)
        return answer

    def make(self, **fields):
        """Create a campaign, and return its organiser."""
        answer = self.call("POST", "/v1/campaigns", json={**REQUEST, **fields})
        assert answer.status_code == 201, answer.text
        return Organiser(self.app, answer.json["token"], answer.json["campaign"])

    def of_campaign(self, method, path, *, status=200, **options):
        answer = self.call(method, f"/v1/campaigns/{self.key}{path}", **options)
        assert answer.status_code == status, answer.text
        return answer

    def get(self, path="", **options):
        return self.of_campaign("GET", path, **options)

    def post(self, path, body=None, **options):
        return self.of_campaign("POST", path, json=body or {}, **options)

    def put(self, path, body, **options):
        return self.of_campaign("PUT", path, json=body, **options)

    def change_pages(self, *, status=200, **fields):
        """Change these fields of the current pages."""
        read = self.get("/pages")
        stamp = {"If-Match": read.headers["ETag"]}
        return self.put("/pages", {**read.json["pages"], **fields}, headers=stamp, status=status)

    def open(self, **body):
        return self.post("/ballots", body, status=201)

    def close(self, number, **body):
        stamp = self.get(f"/ballots/{number}").headers["ETag"]
        return self.post(f"/ballots/{number}/close", body, headers={"If-Match": stamp})

    def voter(self):
        """A voter who comes by the open link and consents."""
        return new_voter(self.app, self)

    def invite(self, *names):
        """Invite voters by name; return the tokens of their links."""
        invitations = self.post("/invitations", {"voters": names}, status=201).json["invitations"]
        return [invitation["url"].partition("#")[2] for invitation in invitations]

    def answer_all(self, prefer=min):
        """Let voters answer until nothing is left: each prefers the label that `prefer` selects."""
        while self.answer(prefer=prefer)[1]:
            pass

    def answer(self, most=None, *, prefer=min):
        """Let a new voter answer everything, or at most `most` pairs; return the voter and the number of answers."""
        voter, n_answers = self.voter(), 0
        while (sheet := voter.sheet()) is not None:
            for pair in sheet["pairs"]:
                left, right = (pair[side]["text"] for side in ("left", "right"))
                answer = voter.vote(pair["id"], "left" if prefer([left, right]) == left else "right", response_ms=1500)
                assert answer.status_code == 200, answer.text
                n_answers += 1
                if n_answers == most:
                    return voter, n_answers
        return voter, n_answers


def problem(answer):
    """Kind and detail of a refusal."""
    assert answer.mimetype == "application/problem+json", answer.text
    return answer.json["type"].rpartition(":")[2], answer.json["detail"]


def check_refused(answer, status, kind):
    """Check that an answer is this refusal; return its document."""
    assert (answer.status_code, problem(answer)[0]) == (status, kind), answer.text
    return answer.json


def check_answer(app, answer):
    """Check that an answer is as documented for the operation."""
    try:
        rule, _ = app.url_map.bind("").match(answer.request.path, answer.request.method, return_rule=True)
    except NotFound:
        return
    path = re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", rule.rule)
    operation = document(app)["paths"][path][answer.request.method.lower()]
    documented = operation["responses"].get(str(answer.status_code))
    if answer.status_code == 304:
        return
    assert answer.status_code != 204 or answer.data == b""
    assert documented is not None, f"{answer.status_code} of {path} is not documented"
    kinds = documented.get("content", {})
    assert answer.status_code != 200 or answer.mimetype in kinds
    if answer.status_code == 204 or answer.mimetype != "application/json":
        return
    if kinds[answer.mimetype]["schema"].get("format") == "binary":
        return
    steps = ["paths", path, answer.request.method.lower(), "responses", str(answer.status_code)]
    pointer = "/".join(step.replace("/", "~1") for step in [*steps, "content", "application/json", "schema"])
    Draft202012Validator({**document(app), "$ref": f"#/{pointer}"}).validate(answer.json)


def document(app):
    """The OpenAPI document of an app; apps whose settings differ only in the ledger share it."""
    settings = replace(state(app).settings, ledger="shared")
    if settings not in DOCUMENTS:
        DOCUMENTS[settings] = app.test_client().get("/openapi.json").json
    return DOCUMENTS[settings]
