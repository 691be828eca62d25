"""Voters cannot tell checks from comparisons: the same requests about either get the same answers.

Each script runs on copies of one campaign, once for a comparison and once for a check of each kind. Status,
headers and body must be equal after replacing ids by names, and so must the SQL statements, since a
voter could measure the time.
"""

import re
import shutil
from collections import Counter

import pytest
import sqlalchemy as sa

from adaptive._plan import plan_ballots
from adaptive.ledger import KnownPair, Ledger, Probing
from tests.adaptive.ledger.campaigns import change, query
from tests.service.collect.browsing import Voter, new_campaign, new_id

pytestmark = pytest.mark.wide

KINDS = ("practice", "attention", "gold", "repeat", "overlap")
ITEMS = [f"item {place}" for place in range(10)]
PLAN = plan_ballots(10, n_ballots=2, fraction=0.5, presentations=4)
KNOWN = tuple(
    KnownPair(kind, f"item {left}", f"item {right}", "left")
    for kind, left, right in (("practice", 0, 1), ("attention", 2, 3), ("gold", 4, 5))
)
MINUTE = 60_000_000
IDS = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32}")


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """A ledger with one campaign, which has a sheet with checks of every kind and a second sheet."""
    path = tmp_path_factory.mktemp("template") / "collect.db"
    probing = Probing(KNOWN, 2, repeats=0.2, overlap=0.2)
    campaign = new_campaign(
        path, plan=PLAN, items=ITEMS, voters=2, sheet_size=None, probing=probing, pages={"completion_code": "C0DE"}
    )
    campaign.database.close()
    return path


@pytest.fixture(scope="module")
def comparison_responses():
    """Cached responses for a comparison, by script and by whether feedback on practice is left out."""
    return {}


def kinds_on(campaign, sheet):
    """Kind of each pair of a sheet, by id; None for a comparison."""
    rows = query(campaign, "SELECT position, probe FROM comparison WHERE sheet = :sheet", sheet=sheet)
    return {f"1-{sheet}-{position}": kind for position, kind in rows}


class Script:
    """Requests of a voter about one pair, and all responses, with ids replaced by names.

    With `tells`, differences of practice are left out, because they are no secret: its answer is shown, and it is not
    counted.
    """

    def __init__(self, make_app, template, target, kind, *, tells):
        shutil.copy(template, target)
        self.campaign = Ledger.open(target).campaign()
        self.app = make_app()
        self.join_voter()  # an overlap needs another voter for its comparison
        self.voter = self.join_voter()
        sheet = self.voter.sheet()
        kinds = kinds_on(self.campaign, sheet["sheet"])
        assert set(kinds.values()) == {*KINDS, None}
        last = [pair["id"] for pair in sheet["pairs"] if kinds[pair["id"]] == kind][-1]
        others = [pair["id"] for pair in sheet["pairs"] if kinds[pair["id"]] is None and pair["id"] != last]
        self.names = {last: "the pair", others[0]: "another pair"}
        self.pair, self.other, self.rest = last, others[0], [p["id"] for p in sheet["pairs"] if p["id"] != last]
        self.events, self.log, self.sheet, self.tells = {}, [], sheet["sheet"], tells
        self.ask_sheet()

    def join_voter(self):
        voter = Voter(self.app.test_client(), self.campaign)
        assert voter.begin(consent="1").status_code == 201
        return voter

    def event(self, name):
        return self.events.setdefault(name, new_id())

    def record(self, step, answer, statements=()):
        """Record a response."""
        body = answer.get_data(as_text=True)
        for event, name in ((event, name) for name, event in self.events.items()):
            body = body.replace(event, f"<{name}>")
        for pair, name in self.names.items():
            body = re.sub(rf"\b{pair}\b", f"<{name}>", body)
        if self.tells:
            body = re.sub(r'("feedback":)\s*\{[^}]*\}', r"\1 null", body)
            statements = [line for line in statements if not line.startswith("UPDATE lease")]  # for two minutes only
        body = re.sub(r'"feedback":\s*', '"feedback": ', body)
        headers = [f"{name}: {IDS.sub('<id>', value)}" for name, value in answer.headers if name != "Content-Length"]
        self.log.append((step, answer.status_code, IDS.sub("<id>", body), headers, list(statements)))
        return answer

    def send(self, step, request):
        result = []

        def record_statement(_connection, _cursor, statement, _parameters, _context, _many):
            if re.search(r"comparison|probe|vote|lease|sheet", statement) and "voting_pages" not in statement:
                result.append(statement)

        sa.event.listen(sa.Engine, "before_cursor_execute", record_statement)
        try:
            return self.record(step, request(), result)
        finally:
            sa.event.remove(sa.Engine, "before_cursor_execute", record_statement)

    def cast(self, step, event, answer="left", *, pair=None, **fields):
        path = f"/v1/votes/{self.event(event)}"
        body = {"pair": pair or self.pair, "answer": answer, "response_ms": 900, **fields}
        return self.send(step, lambda: self.voter.put(path, body))

    def retract(self, step, event, undo):
        path = f"/v1/votes/{self.event(event)}/retract"
        return self.send(step, lambda: self.voter.post(path, {"event_id": self.event(undo)}))

    def ask_sheet(self):
        """Ask for the sheet; record how the pair looks on it, and how many pairs look like ordinary ones."""
        answer = self.voter.post("/v1/sheets")
        sheet = answer.json["sheet"]
        looks = Counter()
        if sheet is not None:
            for pair in sheet["pairs"]:
                stands = next((name for name, event in self.events.items() if event == pair["event_id"]), None)
                is_it = pair["id"] == self.pair
                practice = pair["practice"] and not self.tells
                looks[is_it, tuple(sorted(pair)), practice, pair["answer"], stands if is_it else None] += 1
            assert all(re.fullmatch(r"1-\d+-\d+", pair["id"]) for pair in sheet["pairs"])
        if self.tells:  # practice is shown to voters who have not practised
            looks = Counter({key: n for key, n in looks.items() if key[0]})
        me = self.remove_clock(answer.json["me"])
        self.log.append(("sheet", answer.status_code, answer.json["reason"], me, looks))
        return sheet

    def me(self):
        answer = self.voter.me()
        if answer.status_code == 200:
            self.log.append(("me", answer.status_code, self.remove_clock(answer.json)))
        else:
            self.record("me", answer)

    def remove_clock(self, me):
        """The answer of /v1/me, without the voter's id and the seconds, which depend on the clock."""
        progress = {**me["progress"], "answers": None} if self.tells else me["progress"]
        return {**me, "progress": progress, "voter": None, "retry_after": me["retry_after"] is not None}

    def finish(self):
        answer = self.voter.post("/v1/finish")
        if answer.status_code == 200 and self.tells:
            self.log.append(("finish", 200, sorted(answer.json)))
        else:
            self.record("finish", answer)

    def set_state(self, state):
        """Set the state of the ballot; a working closer gets a full lease."""
        (at,) = query(self.campaign, "SELECT max(given_at) FROM lease")
        until = at[0] + MINUTE if state == "closing" else None
        change(self.campaign, "UPDATE ballot SET state = :state, closer_until = :until", state=state, until=until)

    def expire_leases(self):
        change(self.campaign, "UPDATE lease SET expires_at = 1 WHERE ended_at IS NULL")

    def give_sheet_away(self):
        """Give the sheet to another voter, after a first one has got the free sheet."""
        self.join_voter().sheet()
        self.expire_leases()
        for _ in range(2):
            heir = self.join_voter()
            if heir.sheet()["sheet"] == self.sheet:
                return heir
        raise AssertionError("no voter got the sheet")


def vote_while_open(script):
    """Everything a voter may send while the ballot is open."""
    for fields in ({"answer": "both"}, {"answer": None}, {"response_ms": -1}, {"given_by": "?"}, {"more": 1}):
        script.cast("malformed", "first", **fields)
    script.send("no answer", lambda: script.voter.put(f"/v1/votes/{new_id()}", {"pair": script.pair}))
    script.send("no id", lambda: script.voter.put("/v1/votes/7", {"pair": script.pair, "answer": "left"}))
    script.retract("nothing to take back", "first", "undone")
    script.cast("first", "first")
    script.cast("first again", "first")
    script.cast("same id, other answer", "first", "right")
    script.cast("another answer", "second", "right")
    script.cast("the same answer, another id", "third")
    script.me()
    script.cast("its id for another pair", "first", pair=script.other)
    script.cast("another pair", "of another", pair=script.other)
    script.cast("id of another pair", "of another")
    script.cast("id of another pair, other answer", "of another", "tie")
    script.retract("under the id of a vote", "first", "first")
    script.retract("under the id of another vote", "first", "of another")
    script.ask_sheet()
    script.retract("undo", "first", "undone")
    script.retract("undo again", "first", "undone")
    script.retract("undo twice", "first", "undone twice")
    script.retract("undo of an undo", "undone", "undone twice")
    script.cast("id of an undo", "undone")
    script.cast("taken back", "first")
    script.me()
    script.ask_sheet()
    script.retract("unknown", "never sent", "nothing")
    script.cast("answered again", "fourth", "cannot say")
    script.ask_sheet()
    script.finish()


def vote_while_closing(script):
    """Requests during a closing and after it."""
    script.cast("before", "before")
    script.cast("another", "of another", pair=script.other)
    script.set_state("closing")
    script.cast("known", "before")
    script.cast("known, other answer", "before", "tie")
    script.cast("while closing", "while", "tie")
    script.cast("while closing, of another", "of another")
    script.retract("undo while closing", "before", "undone")
    script.me()
    script.ask_sheet()
    script.set_state("open")
    script.retract("undo", "before", "undone")
    script.set_state("closing")
    script.cast("while closing, not answered", "while", "tie")
    script.set_state("open")
    script.cast("after all", "while", "tie")
    heir = script.join_voter()
    for voter, pairs in ((script.voter, script.rest), (heir, [pair["id"] for pair in heir.sheet()["pairs"]])):
        for pair in pairs:
            voter.vote(pair)
    script.campaign.close(1)
    script.cast("known, closed", "while", "tie")
    script.cast("late", "late", "left")
    script.cast("late again", "late", "left")
    script.cast("late, other answer", "late", "right")
    script.cast("late, id of another", "of another")
    script.cast("id of a late one for another pair", "late", pair=script.other)
    script.retract("undo when closed", "while", "undone late")
    script.retract("undo of a late one", "late", "undone late")
    script.me()
    script.ask_sheet()
    script.finish()


def answer_last(script):
    """Leave the pair to the end: it keeps the sheet and its lease."""
    for pair in script.rest:
        script.voter.vote(pair)
    for _ in range(2):
        script.expire_leases()
        sheet = script.ask_sheet()
        script.log.append(("renewed", sheet["expires_at"] > "2000"))
    script.me()
    script.finish()
    script.cast("the last one", "last")
    script.me()
    script.finish()
    script.ask_sheet()


def lose_sheet(script):
    """Another voter gets the sheet."""
    script.cast("before", "before")
    heir = script.give_sheet_away()
    script.cast("known", "before")
    script.cast("another answer", "second", "right")
    script.cast("another answer again", "second", "right")
    script.retract("undo", "before", "undone")
    script.cast("once more", "third", "right")
    script.cast("once more, of another", "second", pair=script.other)
    if not script.tells:  # practice alone is no answer, and no secret
        script.me()
        script.finish()
    script.log.append(("of the heir", heir.vote(script.pair).status_code, heir.vote(script.pair, "tie").status_code))
    if not script.tells:  # the new holder has not practised, and gets practice unless it is answered
        script.log.append(("for the heir", len(heir.sheet()["pairs"])))


def leave_to_another(script):
    """Answer all other pairs and let the lease expire: another voter is asked the pair, whatever its kind."""
    for pair in script.rest:
        script.voter.vote(pair)
    if script.tells:
        return  # practice is for those who have not practised
    heir = script.give_sheet_away()
    left = heir.sheet()["pairs"]
    script.log.append(("left", [pair["id"] == script.pair for pair in left if not pair["practice"]]))
    script.log.append(("answered", heir.vote(script.pair).status_code, heir.sheet() is None))
    script.me()


def exclude_voter(script):
    """The organiser excludes the voter, and asks others."""
    script.cast("before", "before")
    script.cast("another", "of another", pair=script.other)
    [(voter_id,)] = query(script.campaign, "SELECT DISTINCT voter_id FROM vote_event")
    script.campaign.voter(voter_id).exclude("coins")
    script.campaign.voter(voter_id).ask_others()
    script.me()
    script.cast("known", "before")
    script.cast("another answer", "second", "right")
    script.retract("undo", "before", "undone")
    script.ask_sheet()
    script.finish()


def withdraw(script):
    """The voter leaves, and then sends the usual requests."""
    script.cast("before", "before")
    script.record("withdraw", script.voter.post("/v1/withdraw"))
    script.cast("known", "before")
    script.cast("new", "second", "right")
    script.retract("undo", "before", "undone")
    script.me()
    script.finish()
    kinds = query(script.campaign, "SELECT kind, count(*) FROM vote_event GROUP BY kind ORDER BY kind")
    script.log.append(("events", kinds))


SCRIPTS = (vote_while_open, vote_while_closing, answer_last, lose_sheet, leave_to_another, exclude_voter, withdraw)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("play", SCRIPTS, ids=lambda play: play.__name__)
def test_a_check_is_answered_like_a_comparison(make_app, template, comparison_responses, target, tmp_path, play, kind):
    def play_script(kind_of_check):
        script = Script(make_app, template, target, kind_of_check, tells=kind == "practice")
        play(script)
        script.campaign.database.close()
        for used in tmp_path.glob("collect.db*"):
            used.unlink()
        return script.log

    key = play, kind == "practice"
    if key not in comparison_responses:
        comparison_responses[key] = play_script(None)
    for of_comparison, of_check in zip(comparison_responses[key], play_script(kind), strict=True):
        for part, expected in zip(of_check, of_comparison, strict=True):
            assert part == expected, of_check[0]
