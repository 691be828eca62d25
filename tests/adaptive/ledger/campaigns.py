"""Small campaigns, and the content of a ledger by plain SQL."""

import csv
import uuid
from collections import defaultdict

import numpy as np
import sqlalchemy as sa

from adaptive._draw import draw_ballot
from adaptive._plan import plan_ballots
from adaptive.ledger import CampaignSettings, VoteCast
from adaptive.ledger._ballots.draws import Drawn, Known, ProbeDraw
from adaptive.ledger._ballots.stored import ballot_of, drawn_with_slots
from adaptive.ledger._campaign.settings import KnownPair
from adaptive.ledger._membership import register

PLAN = plan_ballots(6, n_ballots=2, fraction=0.5, presentations=4)
ITEMS = ["ash", "birch", "cedar", "fir", "oak", "yew"]


def campaign_of(ledger, *, n_voters=3, plan=PLAN, items=None, seed=1, **settings):
    """A campaign with its first ballot open."""
    labels = ITEMS if items is None and plan is PLAN else items or plan.n_items
    campaign = ledger.new_campaign(plan, labels, n_voters, seed, settings=CampaignSettings(**settings))
    campaign.open_next()
    return campaign


def voters_of(campaign, n):
    """Ids of `n` voters, registered under the names of their slots."""
    return [write(campaign, register, str(name)) for name in range(n)]


def load_ballot(transaction, stored):
    """The ballot that `draw_ballot` drew, from its rows."""
    return ballot_of(transaction.info, stored, *drawn_with_slots(transaction, stored.id))


def query(ledger, statement, **values):
    """Rows of a statement in plain SQL."""
    with ledger.database.engine.connect() as connection:
        return [tuple(row) for row in connection.execute(sa.text(statement), values)]


def read(campaign, step, *values, **options):
    """The result of a reading step."""
    return campaign.read(step, *values, **options)


def write(campaign, step, *values, **options):
    """The result of a writing step."""
    return campaign.write(step, *values, **options)


def target_of(ledger):
    """Path or URL at which other processes open a ledger."""
    database = ledger.database
    if database.is_sqlite:
        return str(database.path)
    return database.url.set(drivername="postgresql").render_as_string(hide_password=False)


def change(ledger, statement, **values):
    """Run a statement that bypasses the ledger."""
    with ledger.database.engine.begin() as connection:
        connection.execute(sa.text(statement), values)


def comparisons_of(campaign, number=1):
    """(place, sheet, voter) of each comparison of a ballot; the voter is None if the sheet is not leased."""
    rows = query(
        campaign,
        "SELECT c.place, c.sheet, l.voter_id FROM comparison c JOIN ballot b ON b.id = c.ballot_id "
        "LEFT JOIN lease l ON l.ballot_id = c.ballot_id AND l.sheet = c.sheet AND l.ended_at IS NULL "
        "WHERE b.campaign_id = :campaign AND b.number = :number AND c.probe IS NULL ORDER BY c.place",
        campaign=campaign.info.id,
        number=number,
    )
    assert rows
    return rows


def query_ballots(campaign, columns, table, rest=""):
    """Columns of the rows t of a table, and of their ballots b."""
    joined = f"SELECT {columns} FROM {table} t JOIN ballot b ON b.id = t.ballot_id WHERE b.campaign_id = :id {rest}"
    return query(campaign, joined, id=campaign.info.id)


def pair_ids(campaign, number=1):
    """Id of each pair of a ballot, by place: comparisons, then checks."""
    rows = query_ballots(campaign, "t.sheet, t.position", "comparison", f"AND b.number = {number} ORDER BY t.place")
    return [f"{number}-{sheet}-{position}" for sheet, position in rows]


def check_ids(campaign, number=1):
    """Id of each check of a ballot."""
    return pair_ids(campaign, number)[campaign.ballots()[number - 1].n_comparisons :]


def new_id():
    return str(uuid.uuid4())


def vote(voter, place, answer="left", *, number=1, event_id=None, extra=None):
    return VoteCast(event_id or new_id(), number, place, voter, answer, extra=extra)


def answer_all(campaign, number=1, answer="left"):
    """Votes on all comparisons by the voters who hold them."""
    return [
        campaign.cast(vote(voter, place, answer, number=number)) for place, _, voter in comparisons_of(campaign, number)
    ]


def first_comparison(ledger):
    """A campaign, and the place and the voter of its first comparison."""
    campaign = campaign_of(ledger)
    place, _, voter = comparisons_of(campaign)[0]
    return campaign, place, voter


def answered_campaign(ledger):
    """A campaign that has a vote on each comparison of its first ballot."""
    campaign = campaign_of(ledger)
    answer_all(campaign)
    return campaign


def campaign_in_second_ballot(ledger):
    """A campaign with a closed ballot, and an open one that has a vote."""
    campaign = answered_campaign(ledger)
    campaign.close(1)
    campaign.open_next()
    place, _, voter = comparisons_of(campaign, 2)[0]
    campaign.cast(vote(voter, place, number=2))
    return campaign


def write_rows(path, rows):
    """Write rows, dicts by column, as a CSV file."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def check_ledger(ledger):
    """Check the invariants: one vote counts per comparison, revisions have no gaps, sheets count their answers."""
    assert not query(
        ledger,
        "SELECT e.event_id FROM vote_event e JOIN late_vote l ON l.event_id = e.event_id "
        "WHERE e.payload_hash <> l.payload_hash OR e.revision <= l.revision",
    ), "what came too late and counts since it was sent again is not the same vote"
    assert not query(ledger, "SELECT 1 FROM vote_event GROUP BY ballot_id, place HAVING max(revision) <> count(*)")
    wrong = query(
        ledger,
        "SELECT s.ballot_id, s.number, s.n_answered FROM sheet s WHERE s.n_answered <> ("
        "SELECT count(*) FROM vote_event e JOIN comparison c ON c.ballot_id = e.ballot_id AND c.place = e.place "
        "WHERE c.ballot_id = s.ballot_id AND c.sheet = s.number AND c.probe IS NULL "
        "AND e.kind = 'cast' AND e.revision = ("
        "SELECT max(f.revision) FROM vote_event f WHERE f.ballot_id = e.ballot_id AND f.place = e.place))",
    )
    assert not wrong
    wrong = query(
        ledger,
        "SELECT s.ballot_id, s.number, s.n_checked, s.n_checks FROM sheet s WHERE s.n_checks <> ("
        "SELECT count(*) FROM comparison c WHERE c.ballot_id = s.ballot_id AND c.sheet = s.number "
        "AND c.probe <> 'practice') OR s.n_checked <> ("
        "SELECT count(*) FROM vote_event e JOIN comparison c ON c.ballot_id = e.ballot_id AND c.place = e.place "
        "WHERE c.ballot_id = s.ballot_id AND c.sheet = s.number AND c.probe <> 'practice' "
        "AND e.kind = 'cast' AND e.revision = ("
        "SELECT max(f.revision) FROM vote_event f WHERE f.ballot_id = e.ballot_id AND f.place = e.place))",
    )
    assert not wrong


KIND_OF = {0: "attention", 1: "gold"}


def draw_slots(n_items, presentations, n_slots, size, rng):
    """A drawn ballot whose comparisons are divided into slots in order."""
    ballot = draw_ballot(n_items, presentations, n_slots, rng)
    sheet, position, slots = np.zeros(ballot.n_comparisons, int), np.zeros(ballot.n_comparisons, int), []
    for slot in range(n_slots):
        places = np.flatnonzero(ballot.voter == slot)
        for start in range(0, places.size, size or max(1, places.size)):
            part = places[start : start + size] if size else places
            sheet[part], position[part] = len(slots), np.arange(part.size)
            slots.append(slot)
    items = np.column_stack([ballot.left, ballot.right]).astype(int)
    return Drawn(sheet, position, items, np.array(slots))


def known_pairs(items, practice=0):
    """Neighbours among items as known pairs, practice first."""
    labels = list(items)
    pairs = list(zip(labels[::2], labels[1::2], strict=True))
    return tuple(
        KnownPair("practice" if at < practice else KIND_OF[at % 2], *pair, ("left", "right", "tie")[at % 3])
        for at, pair in enumerate(pairs)
    )


def probes_of(probing, known, draw, *, counts_by_pair=None, practised=(), rng):
    codes = {"left": 1, "right": -1, "tie": 0}
    places = tuple(Known(pair.kind, pair.left, pair.right, codes[pair.expected]) for pair in known)
    return ProbeDraw(probing, places, draw, counts_by_pair or {}, practised, rng).probes()


def places_by_sheet(draw):
    result = defaultdict(list)
    for place in np.lexsort((draw.position, draw.sheet)).tolist():
        result[int(draw.sheet[place])].append(place)
    return result
