"""Edited bundles with new checksums: each part is verified against the others."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptive._formats.votes import VoteRow
from adaptive.ledger._bundle.contents import unpack
from adaptive.ledger._bundle.files import verify_bundle
from adaptive.ledger._campaign.settings import KnownPair, Probing
from adaptive.ledger._store.schema import digest_of, json_of
from adaptive.ledger.errors import BundleError, LedgerError
from tests.adaptive.ledger.campaigns import check_ids
from tests.adaptive.ledger.databases import campaign_with_votes, ledger_at
from tests.adaptive.ledger.databases import record as voted_record
from tests.adaptive.ledger.test_bundle_members import edit_json, edit_line, edit_member, members_of, pack_members


@pytest.fixture(scope="module")
def valid_bundle(tmp_path_factory):
    """Bytes of a bundle with two closed ballots and an open one."""
    campaign = campaign_with_votes(str(tmp_path_factory.mktemp("good") / "ledger.db"), 2)
    data = campaign.bundle()
    campaign.database.close()
    return data


def change_ballots(change):
    return lambda data: edit_json(data, "ballots.json", change)


def change_plan(**changes):
    return lambda data: edit_json(data, "plan.json", lambda value: value.update(changes))


def change_ballot(number, /, **changes):
    return change_ballots(lambda value: value["ballots"][number - 1].update(changes))


def change_record(number, name, change):
    def change_value(value):
        ballot_record = value["ballots"][number - 1]["record"]
        ballot_record[name] = change(ballot_record[name])

    return change_ballots(change_value)


def replace_text(name, old, new):
    return lambda data: edit_member(data, name, lambda text: text.replace(old, new, 1))


def change_line(kind, /, **changes):
    return lambda data: edit_line(data, kind, lambda row: row.update(changes))


def change_rows(change):
    """Change rows of comparisons.csv, which has no quotes: `change` gets lists of cells, the header first."""

    def change_text(text):
        rows = [row.split(",") for row in text.split("\n")]
        change(rows)
        return "\n".join(",".join(row) for row in rows)

    return lambda data: edit_member(data, "comparisons.csv", change_text)


def change_cell(row, column, value):
    return change_rows(lambda rows: rows[row].__setitem__(column, value))


def flip_vote(data):
    """Reverse a vote of a closed ballot."""

    def change(row):
        row["answer"] = {"left": "right", "right": "left"}.get(row["answer"], "left")

    return edit_line(data, "vote", change)


def swap_draws(rows):
    """Swap the sides of the first comparison of ballot 1."""
    rows[1][2:4] = rows[1][3:1:-1]


EDITS = [
    (change_rows(swap_draws), "draw of ballot 1: its comparisons and checks do not have the digest draw_digest"),
    (replace_text("comparisons.csv", "1-0-0,", "1-0-9,"), "draw of ballot 1: positions on sheet 0 are not 0, 1, ..."),
    (replace_text("comparisons.csv", "1-0-0,", "1-9-0,"), "draw of ballot 1: its sheets are not those of its slots"),
    (change_cell(1, 2, "99"), "draw of ballot 1: a comparison has an item that is not among its places"),
    (change_cell(1, 2, "-1"), r"comparisons\.csv: row 1: a number is out of range"),
    (change_cell(1, 2, "x"), r"comparisons\.csv: row 1: an id like 2-0-17 and whole numbers are expected"),
    (change_cell(1, 4, "gold"), r"comparisons\.csv: row 2: the checks of a ballot come after its other"),
    (change_cell(1, 2, "04"), r"comparisons\.csv: is not in the form of a bundle: line 2"),
    (change_cell(0, 0, "id"), r"comparisons\.csv: the columns comparison, slot"),
    (replace_text("comparisons.csv", "1-0-0,", "1-0-0,1,"), r"comparisons\.csv: row \d+ must have 7 cells"),
    (replace_text("comparisons.csv", "1-0-0,", '"1-0-0'), r"comparisons\.csv: cannot be read as CSV"),
    (replace_text("items.csv", "plum", "prune"), "draw of ballot 1: its comparisons and checks do not have the digest"),
    (change_ballot(1, kind="batch"), "ballot 1: its kind is not that of the campaign's mode"),
    (change_ballot(3, state="opened"), "ballot 3: is neither open nor closed"),
    (
        change_record(1, "excluded", lambda _: ["x"]),
        "record of ballot 1: a voter who is left out is not among the voters",
    ),
    (replace_text("items.csv", '"""plum"""', "plum"), "has a value that no ledger writes: JSONDecodeError"),
    (replace_text("items.csv", "\n1,", "\n0,"), "items: place 1 is missing or listed twice"),
    (replace_text("items.csv", "\n1,", "\nx,"), r"items\.csv: row 2: place must be a whole number"),
    (flip_vote, "votes of ballot 1: its events do not have the digest votes_digest"),
    (change_line("vote", voter="x"), "votes: a row is by a voter who is not among the voters"),
    (change_line("vote", ballot=7), "votes: a row is of ballot 7, which is missing"),
    (change_line("vote", place=99), "votes of ballot 1: there is no comparison in place 99"),
    (change_line("vote", revision=2), "votes of ballot 1: revisions of the comparison in place 0 are not 1, 2"),
    (change_line("vote", answer=None), "votes of ballot 1: event .* has no answer, or one too many"),
    (change_line("vote", kind="void"), "votes of ballot 1: event .* has no answer, or one too many"),
    (change_line("vote", revision="1"), r"events\.jsonl:\d+: revision must be of type int"),
    (change_line("vote", revision=2**70), r"events\.jsonl:\d+: revision is too large"),
    (change_line("vote", comment=1), r"events\.jsonl:\d+: missing or unknown: 'comment'"),
    (
        change_line("vote", type="ballot"),
        r"events\.jsonl:\d+: an object of one of the types lease, vote, late_vote, audit",
    ),
    (change_line("lease", exclusive=1), r"events\.jsonl:1: exclusive must be of type bool"),
    (replace_text("events.jsonl", "{", "["), r"events\.jsonl:1: cannot be read as JSON"),
    (replace_text("events.jsonl", '"expires_at":null', '"expires_at":NaN'), r"events\.jsonl:1: NaN is not a number of"),
    (
        replace_text("events.jsonl", '"ballot":1', '"ballot": 1'),
        r"events\.jsonl: is not in the form of a bundle: line 1",
    ),
    (
        change_record(1, "n_answered", lambda value: value - 1),
        "chain of ballot 1: the ballot before, the draw, the votes and",
    ),
    (change_record(2, "ybar", lambda value: value[::-1]), "chain of ballot 2"),
    (change_ballot(1, places=[99]), "draw of ballot 1: its places are not those of items"),
    (change_ballot(1, places=[]), "draw of ballot 1: a comparison has an item that is not among its places"),
    (change_ballot(1, places=["x"]), r"ballots\.json: ballots\[0\]: places must be whole numbers"),
    (change_ballot(1, n_comparisons=3), "draw of ballot 1: 3 comparisons are expected"),
    (change_ballot(1, state="open"), "ballot 1 is open, and has a record"),
    (change_ballot(3, state="closed"), "ballot 3 is closed, and has no record"),
    (change_ballot(1, presentations=2**40), "ballot 1: 1099511627776 presentations give another number of comparisons"),
    (
        change_ballots(lambda v: v["ballots"].pop()),
        "votes: a row is of ballot 3, which is missing|leases: a row is of ballot 3",
    ),
    (change_ballots(lambda value: value.update(version=3)), "this release reads version 2; got 3"),
    (change_ballots(lambda value: value.update(format="x")), "ballots.json: the format"),
    (lambda data: edit_member(data, "ballots.json", lambda _: "[" * 99_999), "ballots.json: cannot be read as JSON"),
    (lambda data: edit_member(data, "plan.json", lambda _: "1\n"), "plan.json: an object is expected"),
    (change_plan(plan={}), "has a value that no ledger writes|plan"),
    (replace_text("votes.csv", "left", "right"), r"votes\.csv: is not what the other files give"),
    (replace_text("voters.csv", ",file,", ",mail,"), None),  # holds no votes: checksums and metadata protect it
    (change_ballot(3, state=None), r"ballots\.json: ballots\[2\]: state must be of type str"),
    (change_cell(1, 0, "1-1"), r"comparisons\.csv: row 1: an id like 2-0-17 and whole numbers"),
    (replace_text("result.csv", "1.0", "2.0"), r"result\.csv: is not what the other files give"),
    (change_plan(seed="x"), "has a value that no ledger writes"),
    (change_plan(settings={"a": 1}), "has a value that no ledger writes"),
]


@pytest.mark.parametrize(("edit", "message"), EDITS)
def test_verification_names_the_edited_part(edit, message, valid_bundle, tmp_path):
    path = tmp_path / "b.zip"
    path.write_bytes(edit(valid_bundle))
    with pytest.raises(BundleError, match=message or r"croissant\.json: is not what the other files give"):
        verify_bundle(path)
    ledger = ledger_at(str(tmp_path / "other.db"))
    if message is None:
        ledger.restore(path)
        return
    with pytest.raises(BundleError, match=message):
        ledger.restore(path)
    with pytest.raises(LedgerError, match="no campaign"):
        ledger.campaign()
    ledger.close()


@pytest.fixture(scope="module")
def bundle_with_checks(tmp_path_factory):
    """Bytes of a bundle with checks and an answer to each."""
    known = (KnownPair("gold", "plum", "kiwi", "left"),)
    path = str(tmp_path_factory.mktemp("probed") / "ledger.db")
    campaign = campaign_with_votes(path, 0, probing=Probing(known, 1, 0.2, 0.2))
    answers = [VoteRow(2, check, None, None, None, "left") for check in check_ids(campaign)]
    voted_record(campaign, answers)
    data = campaign.bundle()
    campaign.database.close()
    return data


def checks_in(rows):
    """The rows of the checks, by their place in the file."""
    return [at for at, row in enumerate(rows) if at and len(row) > 4 and row[4]]


def move_check(rows):
    """Move the last check of the first sheet to a position that does not exist."""
    last = max(at for at in checks_in(rows) if rows[at][0].startswith("1-0-"))
    rows[last][0] = "1-0-99"


def swap_checks(rows):
    """Swap the rows of two checks."""
    first, second = checks_in(rows)[:2]
    rows[first], rows[second] = rows[second], rows[first]


def change_check(column, value):
    """Edit a cell of the first check."""
    return change_rows(lambda rows: rows[checks_in(rows)[0]].__setitem__(rows[0].index(column), value))


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda data: data, None),
        (change_check("expected", "0"), "draw of ballot 1: its comparisons and checks do not have the digest"),
        (change_check("check", "trap"), "checks of ballot 1: one is of an unknown kind"),
        (change_check("check", ""), r"comparisons\.csv: is not in the form of a bundle"),
        (change_check("expected", "7"), "checks of ballot 1: one is of an unknown kind, or expects an unknown answer"),
        (change_check("expected", "left"), "an id like 2-0-17 and whole numbers are expected"),
        (change_check("left_item", "99"), "checks of ballot 1: one has an item or a sheet that is missing"),
        (change_rows(move_check), "draw of ballot 1: positions on sheet 0 are not 0, 1, ..."),
        (change_rows(swap_checks), "checks of ballot 1: they are not in the order of their sheets and positions"),
    ],
)
def test_edited_checks_are_found(edit, message, bundle_with_checks, tmp_path):
    (tmp_path / "b.zip").write_bytes(edit(bundle_with_checks))
    if message is None:
        assert ledger_at(str(tmp_path / "other.db")).restore(tmp_path / "b.zip").bundle() == bundle_with_checks
        return
    with pytest.raises(BundleError, match=message):
        verify_bundle(tmp_path / "b.zip")


def reseal(data, change):
    """The bundle with a changed record, and a recomputed chain of digests."""

    def change_chain(value):
        change(value["ballots"])
        previous = ""
        for ballot in value["ballots"]:
            if ballot["state"] == "closed":
                lines = [previous, ballot["draw_digest"], ballot["votes_digest"], json_of(ballot["record"])]
                previous = ballot["chain_digest"] = digest_of(lines)

    return change_ballots(change_chain)(data)


def next_float(values):
    values[0] += 2**-52


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda b: next_float(b[0]["record"]["ybar"]), "record of ballot 1: the votes do not give .* written in ybar"),
        (lambda b: b[1]["record"].update(b=1.25), "record of ballot 2: the votes do not give what is written in b"),
        (lambda b: b[0]["record"].update(more=1), "record of ballot 1: the votes do not give what is written in it"),
        (lambda b: b[0]["record"].pop("wins"), "record of ballot 1: .* in wins"),
        (lambda b: b[0]["record"]["selected"].reverse(), "record of ballot 1: .*are not the best by the votes"),
        (lambda b: b[0]["record"].update(n_tied_at_cut=9), "record of ballot 1: .*tied at the cut; got 9"),
        (lambda b: b[0]["record"].pop("selected"), "has a value that no ledger writes: KeyError"),
        (lambda b: b[1].update(places=b[1]["places"][::-1]), "draw of ballot 2: its items are not those that ballot 1"),
    ],
)
def test_a_record_with_a_new_chain_must_still_follow_from_the_votes(change, message, valid_bundle, tmp_path):
    (tmp_path / "b.zip").write_bytes(reseal(valid_bundle, change))
    with pytest.raises(BundleError, match=message):
        verify_bundle(tmp_path / "b.zip")


def test_a_bundle_without_its_last_ballot_is_another_campaign(valid_bundle, tmp_path):
    """The open ballot and its rows are removed; the chain of the closed ballots stays valid."""
    members = members_of(valid_bundle)
    remaining_rows = [row for row in map(json.loads, members["events.jsonl"].splitlines()) if row.get("ballot") != 3]
    value = json.loads(members["ballots.json"])
    value["ballots"].pop()
    members["events.jsonl"] = "".join(json_of(row) + "\n" for row in remaining_rows)
    members["ballots.json"] = json.dumps(value, ensure_ascii=False, sort_keys=True, indent=1) + "\n"
    lines = members["comparisons.csv"].splitlines(keepends=True)
    members["comparisons.csv"] = "".join(row for row in lines if not row.startswith("3-"))
    (tmp_path / "b.zip").write_bytes(pack_members(members))
    with pytest.raises(BundleError, match=r"votes\.csv: is not what the other files give"):
        verify_bundle(tmp_path / "b.zip")


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_every_changed_byte_is_detected(data, valid_bundle, tmp_path_factory):
    place = data.draw(st.integers(0, len(valid_bundle) - 1))
    bit = data.draw(st.integers(0, 7))
    changed = bytearray(valid_bundle)
    changed[place] ^= 1 << bit
    path = tmp_path_factory.mktemp("changed") / "b.zip"
    path.write_bytes(bytes(changed))
    try:
        result = verify_bundle(path)
    except BundleError:
        return
    assert result.n_closed == 2  # a bit of the zip itself, such as a time: the content is the same
    assert unpack(bytes(changed), most_bytes=2**30) == unpack(valid_bundle, most_bytes=2**30)
