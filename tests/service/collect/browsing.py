"""A campaign on a ledger, and voters who talk to its server as pages do."""

from adaptive.ledger import Ledger, PageTexts, Settings, VotingPages
from adaptive.ledger._voters.participation import invite
from adaptive.ledger._voters.tokens import issue
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
    """A campaign whose first ballot is open; its ledger is made where there is none."""
    made = Ledger.create(target)
    chosen = {"assigned": False, "sheet_size": 2, "lease_minutes": 30, **settings}
    campaign = made.new_campaign(plan, items, voters, 1, name="trees", settings=Settings(**chosen), contents=contents)
    if open_ballot:
        campaign.open_next()
    change_pages(campaign, **(pages or {}))
    return campaign


def change_pages(campaign, **pages):
    """Show these pages from now on."""
    shown = VotingPages(**{"texts": TEXTS, "open_link": True, **pages})
    campaign.set_pages(shown, replaces=campaign.pages()[0])


def invited(campaign, *names):
    return campaign.database.write(lambda connection: invite(connection, campaign.info, names))


def token_of(campaign, kind):
    return campaign.database.write(lambda connection: issue(connection, campaign.info, kind))


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
        """Answer all pairs of the next sheet, and be the voter."""
        for pair in self.sheet()["pairs"]:
            assert self.vote(pair["id"]).status_code == 200
        return self

    def vote(self, pair, answer="left", event_id=None, **fields):
        return self.put(f"/v1/votes/{event_id or new_id()}", {"pair": pair, "answer": answer, **fields})


def arrived(app, campaign, **fields):
    """A voter of a campaign, with a browser of its own, who has agreed; by the open link unless `fields` say more."""
    voter = Voter(app.test_client(), campaign)
    answer = voter.begin(**{"consent": "1", **fields})
    assert answer.status_code == 201, answer.text
    return voter
