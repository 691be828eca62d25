"""Campaigns whose voters choose the best and the worst item of a set."""

import csv
import gzip
import io
import json
from collections import Counter, defaultdict
from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from adaptive import Choices, read_choices
from adaptive.errors import VoteError
from adaptive.ledger import (
    CampaignSettings,
    ConflictError,
    ContinuousPlan,
    KnownPair,
    Ledger,
    LedgerError,
    Probing,
    VoteCast,
    VotingPages,
)
from adaptive.ledger._bundle.files import verify_bundle
from adaptive.ledger._store.schema import best_and_worst, directions_of
from adaptive.ledger._votes.imports import set_file
from adaptive.ledger.errors import BundleError
from rankcorr import OptionError
from tests.adaptive.ledger.campaigns import new_id, query, write_rows
from tests.adaptive.ledger.databases import ledger_at
from tests.adaptive.ledger.test_bundle_members import edit_json, edit_member, members_of

PAGES = VotingPages(open_link=True)
LABELS = [f"item {number:02}" for number in range(60)]


def campaign_of_sets(ledger, n_items=12, *, set_size=4, budget=40, n_voters=4, sheet_size=5, items=None, **options):
    plan = ContinuousPlan(n_items, budget, batch=10, set_size=set_size, **options)
    settings = CampaignSettings(assigned=False, sheet_size=sheet_size)
    return ledger.new_campaign(plan, items or LABELS[:n_items], n_voters, 1, settings=settings)


def vote_to_the_end(campaign, n_voters=4, *, noise=0.0):
    """Let all voters answer sheet by sheet until none is left; return the sets of each voter.

    Items with smaller numbers are better; voters err more often with a greater `noise`.
    """
    if not campaign.ballots():
        campaign.open_next()
    rng = np.random.default_rng(0)
    voters = [campaign.voters.join(PAGES, consent="1", hours=1)[0] for _ in range(n_voters)]
    sets_by_voter = defaultdict(list)
    waiting = list(voters)
    while waiting:
        for voter in list(waiting):
            sheet = voter.next_sheet(PAGES).sheet
            if sheet is None:
                waiting.remove(voter)
                continue
            for pair in sheet.missing:
                sets_by_voter[voter.id].append(tuple(sorted(pair.items)))
                utilities = -np.array(pair.items) + noise * rng.gumbel(size=len(pair.items))
                answer = f"best {utilities.argmax() + 1} worst {utilities.argmin() + 1}"
                voter.cast(VoteCast(new_id(), sheet.number, pair.place, voter.id, answer))
    return sets_by_voter


def rows_of(campaign):
    export = campaign.export_votes("csv", guard=False)
    return list(csv.DictReader(io.StringIO(export.files["votes.csv"], newline="")))


@pytest.mark.parametrize("set_size", [3, 4, 6])
def test_a_campaign_is_ranked_by_the_answers_in_its_file(set_size, target, tmp_path):
    campaign = campaign_of_sets(ledger_at(target), set_size=set_size)
    vote_to_the_end(campaign, noise=1)
    result = campaign.result(interim=True)
    assert result.n_votes == 40
    path = tmp_path / "votes.csv"
    path.write_text(campaign.export_votes("csv", guard=False).files["votes.csv"], encoding="utf-8", newline="")
    answers = read_choices(path)
    assert answers.kind == "best-worst"
    expected = Choices.from_best_worst(answers.rows, items=campaign.info.items).fit()
    assert_allclose(result.graded.theta, expected.theta, atol=1e-6)
    assert_allclose(result.graded.standard_errors, expected.standard_errors, atol=1e-6)
    strengths = dict(zip(campaign.info.items, result.graded.theta.round(4), strict=True))
    assert [row["strength"] for row in result.rows()] == [strengths[row["item"]] for row in result.rows()]
    assert result.ranking is result.graded.ranking
    methods = result.report().methods
    assert f"on the best and the worst of {set_size} items, chosen by earlier votes" in methods
    assert f"by the maxdiff model of the best and the worst of {set_size} items [@marley2005some]" in methods
    assert any(note.startswith("with fewer than 10 voters, intervals of votes on sets") for note in result.warnings)


@pytest.mark.wide
def test_voters_who_never_err_find_the_order_of_the_top(ledger):
    campaign = campaign_of_sets(ledger, 20, budget=120, n_voters=12)
    vote_to_the_end(campaign, 12)
    result = campaign.result(interim=True)
    assert result.ranking.best_first[:5].tolist() == [0, 1, 2, 3, 4]
    assert result.strengths.comparisons.n_comparisons == result.n_votes == 120
    votes = result.strengths.comparisons
    assert all(
        (left < right) == (winner > 0)
        for left, right, winner in zip(votes.left, votes.right, votes.winner, strict=True)
    )


@pytest.mark.wide
@pytest.mark.parametrize(("n_items", "set_size", "n_voters"), [(4, 4, 3), (5, 4, 2), (5, 3, 3)])
def test_no_voter_gets_a_set_twice_and_all_sets_can_be_asked(n_items, set_size, n_voters, ledger):
    campaign = campaign_of_sets(ledger, n_items, set_size=set_size, budget=60, n_voters=n_voters, sheet_size=3)
    sets_by_voter = vote_to_the_end(campaign, n_voters)
    every = set(combinations(range(n_items), set_size))
    for sets in sets_by_voter.values():
        assert len(sets) == len(set(sets))
        assert set(sets) == every
    assert campaign.info.plan.n_possible(n_voters) == min(60, n_voters * len(every))


@pytest.mark.parametrize(("n_items", "n_voters"), [(3, 1), (4, 2)])
def test_no_batch_is_drawn_for_voters_who_have_seen_all_sets(n_items, n_voters, ledger):
    plan = ContinuousPlan(n_items, 40, batch=10, set_size=n_items)
    campaign = ledger.new_campaign(plan, n_items, n_voters, 1)
    campaign.open_next()
    assert campaign.record({pair.id: "best 1 worst 2" for pair in campaign.asked()}).n_new == n_voters
    with pytest.raises(LedgerError, match="no batch can be drawn: the voters have seen all sets"):
        campaign.open_next()
    assert campaign.status().waits == "pairs"


def test_answers_to_sets_are_validated(ledger):
    campaign = campaign_of_sets(ledger, set_size=3)
    campaign.open_next()
    (voter, _) = campaign.voters.join(PAGES, consent="1", hours=1)
    sheet = voter.next_sheet(PAGES).sheet
    first, second = sheet.pairs[:2]

    def cast(pair, answer, event_id=None):
        return voter.cast(VoteCast(event_id or new_id(), sheet.number, pair.place, voter.id, answer))

    for answer in (
        "left",
        "tie",
        "best 1 worst 4",
        "best 1 worst 1",
        "best 0 worst 1",
        "best 2",
        "BEST 1 WORST 2",
        112,
    ):
        with pytest.raises(VoteError, match=r"an answer must be 'best 1 worst 2', .*'cannot say'; got"):
            cast(first, answer)
    event_id = new_id()
    assert cast(first, "best 3 worst 1", event_id).answer == "best 3 worst 1"
    assert cast(first, "best 3 worst 1", event_id).repeated
    with pytest.raises(ConflictError) as conflict:
        cast(first, "best 3 worst 2")
    assert conflict.value.recorded == "best 3 worst 1"
    name = f"{sheet.number}-{sheet.sheet}-{first.position}"
    assert campaign.correct(name, "best 1 worst 3", "misread").answer == "best 1 worst 3"
    assert voter.retract(voter.vote(event_id), new_id()).kind == "retract"
    assert cast(first, "best 2 worst 1").answer == "best 2 worst 1"
    assert cast(second, "cannot say").answer == "cannot say"
    events = campaign.events_after(0)
    assert [event.answer for event in events[:2]] == ["best 3 worst 1", "best 1 worst 3"]
    assert (events[0].left, events[0].right, *events[0].other_items) == tuple(
        campaign.info.items[i] for i in first.items
    )
    cells = {row["comparison"]: row for row in rows_of(campaign)}
    row = cells[f"b{name}"]
    assert (row["best"], row["worst"]) == (row["item_2"], row["item_1"])
    other = cells[f"b{sheet.number}-{sheet.sheet}-{second.position}"]
    assert (other["best"], other["worst"]) == ("", "")


def test_a_campaign_of_pairs_refuses_answers_on_sets(ledger):
    campaign = ledger.new_campaign(ContinuousPlan(5, 20), 5, 2, 1)
    campaign.open_next()
    (pair, *_) = campaign.asked()
    with pytest.raises(VoteError, match="an answer must be 'left', 'right', 'tie' or 'cannot say'"):
        campaign.record({pair.id: "best 1 worst 2"})
    assert "set_size" not in campaign.info.plan.to_dict()


@pytest.mark.parametrize(
    ("plan", "settings", "message"),
    [
        ({"set_size": 7}, {}, "set_size must be a whole number from 2 to 6; got 7"),
        ({"set_size": 4, "n_items": 3}, {}, "n_items must be a whole number from 4 on; got 3"),
        ({"set_size": 3}, {"grades": 2}, "grades are for pairs; voters choose from sets of 3"),
        ({"set_size": 3}, {"probing": Probing((KnownPair("gold", 0, 1, "left"),))}, "checks are for pairs"),
        ({"set_size": 3, "n_items": 1_501}, {}, "sets are for at most 1,500 items; got 1,501"),
    ],
)
def test_options_that_exclude_sets_are_refused(plan, settings, message, ledger):
    options = {"n_items": 8, "budget": 20, **plan}
    fields = {"assigned": False, "sheet_size": 5, **settings}

    def make():
        ledger.new_campaign(ContinuousPlan(**options), options["n_items"], 2, 1, settings=CampaignSettings(**fields))

    with pytest.raises(LedgerError, match=message):
        make()
    assert query(ledger, "SELECT 1 FROM campaign") == []


def test_formats_for_pairs_are_refused(ledger):
    campaign = campaign_of_sets(ledger)
    campaign.open_next()
    for format_name in ("arena", "label_studio", "potato", "choix"):
        with pytest.raises(LedgerError, match=f"{format_name} is for votes on pairs, but this campaign has sets"):
            campaign.export_votes(format_name)


@pytest.mark.wide
def test_a_campaign_ends_at_its_target(ledger):
    campaign = campaign_of_sets(ledger, 8, budget=400, target=0.8)
    vote_to_the_end(campaign, noise=0.3)
    status = campaign.status()
    assert status.waits == "target"
    assert status.n_votes < 400
    assert campaign.result(interim=True).expected >= 0.8


@pytest.mark.parametrize("items", [None, [("a", str(number)) for number in range(12)]], ids=["text", "pairs"])
def test_a_bundle_keeps_sets(items, sqlite, other_path, tmp_path):
    campaign = campaign_of_sets(ledger_at(sqlite), items=items)
    vote_to_the_end(campaign, noise=1)
    campaign.close(len(campaign.ballots()))
    path = tmp_path / "b.zip"
    campaign.write_bundle(path)
    assert verify_bundle(path).n_votes == 40
    restored = ledger_at(other_path).restore(path)
    assert restored.bundle() == campaign.bundle()
    assert restored.info.set_size == 4
    assert_array_equal(restored.result().graded.theta, campaign.result().graded.theta)
    table = list(csv.DictReader(io.StringIO(members_of(campaign.bundle())["result.csv"], newline="")))
    assert [float(row["strength"]) for row in table] == [row["strength"] for row in campaign.result().rows()]
    votes = list(csv.DictReader(io.StringIO(members_of(campaign.bundle())["votes.csv"], newline="")))
    assert list(votes[0])[2:] == ["item_1", "item_2", "item_3", "item_4", "best", "worst"]
    for name in ("comparisons", "votes"):
        described = json.loads(members_of(campaign.bundle())["croissant.json"])["recordSet"]
        (fields,) = ([field["name"] for field in entry["field"]] for entry in described if entry["name"] == name)
        assert set(fields) <= set(members_of(campaign.bundle())[f"{name}.csv"].splitlines()[0].split(","))
        assert {"item_3", "item_4"} <= set(fields)


@pytest.fixture(scope="module")
def bundle_without_votes(tmp_path_factory):
    """A bundle with an open batch, which has no votes yet."""
    campaign = campaign_of_sets(Ledger.create(str(tmp_path_factory.mktemp("sets") / "ledger.db")))
    campaign.open_next()
    yield campaign.bundle()
    campaign.database.close()


def replace_last_cell(text, cell):
    """The table with a new last cell in its first row."""
    header, row, *rest = text.splitlines()
    return "\n".join([header, f"{row.rsplit(',', 1)[0]},{cell}", *rest, ""])


@pytest.mark.parametrize(
    ("change_of", "message"),
    [
        (lambda text: replace_last_cell(text, text.splitlines()[1].split(",")[2]), "a comparison has an item twice"),
        (lambda text: replace_last_cell(text, "12"), "a comparison has an item that is not among its places"),
        (lambda text: replace_last_cell(text, "-1"), "a number is out of range"),
        (lambda text: replace_last_cell(text, "x"), "an id like 2-0-17 and whole numbers are expected"),
        (lambda text: text.replace("item_4", "item_5", 1), "the columns .*item_4 are expected"),
    ],
)
def test_a_forged_set_is_refused(change_of, message, bundle_without_votes, tmp_path):
    (tmp_path / "b.zip").write_bytes(edit_member(bundle_without_votes, "comparisons.csv", change_of))
    with pytest.raises(BundleError, match=message):
        verify_bundle(tmp_path / "b.zip")


def test_the_digest_of_a_draw_covers_all_items(bundle_without_votes, tmp_path):
    first = members_of(bundle_without_votes)["comparisons.csv"].splitlines()[1].split(",")
    free = next(str(item) for item in range(12) if str(item) not in {*first[2:4], *first[7:]})
    forged = edit_member(bundle_without_votes, "comparisons.csv", lambda text: replace_last_cell(text, free))
    (tmp_path / "b.zip").write_bytes(forged)
    with pytest.raises(BundleError, match="its comparisons and checks do not have the digest"):
        verify_bundle(tmp_path / "b.zip")


def test_a_plan_with_another_size_is_refused(sqlite, tmp_path):
    campaign = campaign_of_sets(ledger_at(sqlite))
    vote_to_the_end(campaign, 2)
    bundle = campaign.bundle()
    for size in (3, 5, 1, 7, "4", 2.0, True):
        forged = edit_json(bundle, "plan.json", lambda plan, size=size: plan["plan"].update(set_size=size))
        (tmp_path / "b.zip").write_bytes(forged)
        with pytest.raises(BundleError):
            verify_bundle(tmp_path / "b.zip")


@pytest.mark.parametrize("set_size", [3, 4])
def test_reports_before_the_first_answer(ledger, set_size):
    campaign = campaign_of_sets(ledger, 5, set_size=set_size, budget=10, n_voters=2)
    assert campaign.quality().voters == ()
    campaign.open_next()
    quality = campaign.quality()
    assert (quality.voters, quality.n_pairs, quality.agreement.n) == ((), 0, 0)
    assert [item.n_answered for item in campaign.item_progress()] == [0] * 5
    assert (campaign.status().n_votes, campaign.preview().cut) == (0, None)
    with pytest.raises(LedgerError, match="there are no votes yet, so there is no ranking"):
        campaign.result(interim=True)


def test_voters_are_compared_by_the_best_and_the_worst_of_their_sets(ledger):
    campaign = campaign_of_sets(ledger, 5, set_size=4, budget=15, n_voters=3)
    vote_to_the_end(campaign, 3)
    quality = campaign.quality()
    assert quality.agreement.n == quality.agreement.n_so > 0  # all agree on each pair that was best and worst twice
    name = quality.voters[0].key
    preview = campaign.voters.named(name).preview_exclusion()
    assert preview.n_votes == 5
    assert preview.tau_w > 0.5
    campaign.voters.named(name).exclude("a test")
    assert campaign.result(interim=True).n_votes == 10
    table = rows_of(campaign)
    assert len(table) == 10


def test_items_are_counted_in_every_position_of_a_set(ledger):
    campaign = campaign_of_sets(ledger, 12, set_size=6, budget=10, n_voters=1)
    campaign.open_next()
    assert sum(item.presentations for item in campaign.item_progress()) == 60
    vote_to_the_end(campaign, 1)
    assert sum(item.n_answered for item in campaign.item_progress()) == 60


def test_answer_codes_encode_the_best_and_the_worst():
    codes = np.array([112, 121, 165, 156, 1, -1, 12, 2, 0])
    best, worst = best_and_worst(codes)
    assert best.tolist() == [0, 1, 5, 4, 0, 0, 0, 0, 0]
    assert worst.tolist() == [1, 0, 4, 5, 1, 1, 1, 1, 1]
    assert directions_of(codes).tolist() == [1, -1, -1, 1, 1, -1, 1, 2, 0]


def campaign_of_files(ledger, items=None):
    """A campaign that sends sheets to voters as files."""
    plan = ContinuousPlan(12, 60, batch=12, set_size=4)
    return ledger.new_campaign(plan, items or LABELS[:12], 3, 1)


def write_answers(campaign, number, path, *, only=slice(None)):
    """Write the file of a batch with the answers of voters who never err."""
    rows = list(csv.DictReader(io.StringIO(set_file(campaign.asked(number=number), campaign.info))))
    for row in rows[only]:
        items = [row[f"item_{at}"] for at in range(1, campaign.info.set_size + 1)]
        row["best"], row["worst"] = min(items), max(items)
    write_rows(path, rows)
    return rows


@pytest.mark.parametrize("items", [None, [("a", f"{number:02}") for number in range(12)]], ids=["text", "pairs"])
def test_sets_are_exported_answered_and_imported(items, ledger, tmp_path):
    campaign, path = campaign_of_files(ledger, items=items), tmp_path / "votes.csv"
    by_voter = defaultdict(list)
    for number in range(1, 6):
        campaign.open_next()
        rows = write_answers(campaign, number, path)
        for row in rows:
            by_voter[row["voter"]].append(tuple(sorted(row[f"item_{at}"] for at in range(1, 5))))
        assert campaign.import_votes(path).n_new == len(rows) > 8
        assert campaign.import_votes(path).n_known == len(rows)
    n_votes = sum(map(len, by_voter.values()))
    assert all(len(sets) == len(set(sets)) > n_votes // 3 - 5 for sets in by_voter.values())
    assert campaign.result(interim=True).ranking.best_first[:3].tolist() == [0, 1, 2]
    export = tmp_path / "export.csv"
    export.write_text(campaign.export_votes("csv").files["votes.csv"], encoding="utf-8", newline="")
    assert campaign.import_votes(export).n_known == n_votes
    campaign.close(5)
    assert campaign.verify().n_votes == n_votes


def test_a_file_with_some_answers_leaves_the_others_open(ledger, tmp_path):
    campaign, path = campaign_of_files(ledger), tmp_path / "votes.csv"
    campaign.open_next()
    write_answers(campaign, 1, path, only=slice(5))
    assert campaign.import_votes(path).n_new == 5
    assert len(campaign.asked(unanswered=True)) == len(campaign.asked()) - 5
    text = path.read_text("utf-8").splitlines()
    cells = text[6].split(",")
    path.write_text("\n".join([text[0], ",".join([*cells[:-2], "cannot say", ""])]) + "\n", encoding="utf-8")
    assert campaign.import_votes(path).n_new == 1
    assert campaign.events_after(0)[-1].answer == "cannot say"


@pytest.mark.parametrize(
    ("change_of", "message"),
    [
        (lambda row: row.update(best="item 99"), "votes.csv:2: the best item must be one of 'item .*; got 'item 99'"),
        (lambda row: row.update(worst=row["best"]), "votes.csv:2: 'item .*' is both the best and the worst"),
        (lambda row: row.update(best="cannot say", worst=row["item_1"]), "the best item must be one of"),
        (lambda row: row.update(item_1=row["item_2"], item_2=row["item_1"]), "comparison .* has the items"),
        (lambda row: row.update(comparison="b7-0-0"), "comparison .* is unknown"),
    ],
)
def test_a_mismatched_file_changes_nothing(change_of, message, ledger, tmp_path):
    campaign, path = campaign_of_files(ledger), tmp_path / "votes.csv"
    campaign.open_next()
    rows = write_answers(campaign, 1, path)
    change_of(rows[0])
    write_rows(path, rows)
    with pytest.raises(VoteError, match=message):
        campaign.import_votes(path)
    assert campaign.events_after(0) == ()


@pytest.mark.parametrize(
    "options",
    [{"format": "arena"}, {"columns": {"winner": "best"}}, {"answers": "codes"}, {"ignore": ["x"]}, {"instances": "x"}],
)
def test_options_for_votes_on_pairs_are_refused(options, sqlite, tmp_path):
    campaign, path = campaign_of_files(ledger_at(sqlite)), tmp_path / "votes.csv"
    campaign.open_next()
    write_answers(campaign, 1, path)
    with pytest.raises(OptionError, match="apply to votes on pairs, not on sets"):
        campaign.import_votes(path, **options)
    assert campaign.events_after(0) == ()


@pytest.mark.parametrize("ending", [".tsv.gz", ".json"])
def test_files_of_sets_in_other_forms(ending, sqlite, tmp_path):
    campaign, path = campaign_of_files(ledger_at(sqlite)), tmp_path / "votes.csv"
    campaign.open_next()
    rows = write_answers(campaign, 1, path)
    data = path.read_bytes()
    other = tmp_path / f"votes{ending}"
    other.write_bytes(json.dumps(rows).encode() if ending == ".json" else gzip.compress(data.replace(b",", b"\t")))
    assert campaign.import_votes(other).n_new == len(rows)


@pytest.mark.wide
def test_the_offset_of_the_plan_sets_the_preference_for_the_top(sqlite, other_path):
    shares = []
    for target, n0 in ((sqlite, 0.0), (other_path, 1_000.0)):
        campaign = campaign_of_sets(ledger_at(target), 30, budget=90, n_voters=3, n0=n0)
        vote_to_the_end(campaign, 3)
        counts = Counter(row[f"item_{number}"] for row in rows_of(campaign) for number in range(1, 5))
        assert len(counts) == 30  # no item is left out for the top
        shares.append(sum(counts[label] for label in LABELS[:6]) / counts.total())
    assert shares[0] > 1.5 * shares[1]
