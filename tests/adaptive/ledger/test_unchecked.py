"""Every field of every file of a bundle is changed in turn: the bundle is refused, or the field is listed as unchecked.

The forger recomputes everything that needs no vote: checksums, digests, chain, data sheet and metadata."""

import csv
import io
import json

import pytest

from adaptive._formats.votes import VoteRow
from adaptive._tables import csv_text
from adaptive.errors import AdaptiveError
from adaptive.ledger import CampaignSettings, ContinuousPlan
from adaptive.ledger._ballots.batches import draw_batch
from adaptive.ledger._ballots.draws import draw_digest
from adaptive.ledger._ballots.stored import chain_digest
from adaptive.ledger._bundle.checking import checked, events_by_ballot, vote_line
from adaptive.ledger._bundle.contents import NAMES, SUMS, data_members, parse_contents
from adaptive.ledger._bundle.files import croissant, data_sheet, verify_bundle
from adaptive.ledger._campaign.content import ItemContent, PageTexts, VotingPages
from adaptive.ledger._campaign.settings import KnownPair, Probing
from adaptive.ledger._store.schema import digest_of, json_of
from adaptive.ledger.errors import BundleError
from tests.adaptive.ledger.campaigns import check_ids
from tests.adaptive.ledger.databases import ITEMS, PLAN, VOTERS, ledger_at, record, rows_of
from tests.adaptive.ledger.test_bundle_members import edit_member, members_of, pack_members

CONTENTS = [ItemContent("image", "plum.png", "A plum.")] * len(ITEMS)
PROBING = Probing((KnownPair("gold", "plum", "kiwi", "left"),), 1, 0.2, 0.2)


def fill_campaign(campaign, last):
    """The bundle of a campaign in which most fields are filled."""
    names = check_ids(campaign, last)
    assert names
    record(campaign, [VoteRow(2, name, None, None, None, "left") for name in names])
    pages = VotingPages({"en": PageTexts(title="Fruit", question="Which is riper?")}, "en")
    campaign.set_pages(pages, replaces=0)
    campaign.voters.named("Bob").exclude("too fast")
    data = campaign.bundle(names=True)
    campaign.database.close()
    return data


@pytest.fixture(scope="module")
def ballots(tmp_path_factory):
    """Bytes of a bundle with two closed ballots, the first with ties at its cut, and an open one."""
    path = str(tmp_path_factory.mktemp("ballots") / "ledger.db")
    settings = CampaignSettings(probing=PROBING, least_answered=0.5)
    campaign = ledger_at(path).new_campaign(PLAN, ITEMS, VOTERS, 1, settings=settings, contents=CONTENTS)
    for number in (1, 2, 3):
        campaign.open_next()
        record(campaign, rows_of(campaign, number, number + 1))
        if number < 3:
            campaign.close(number)
    record(campaign, rows_of(campaign, 1)[:3])  # too late
    assert campaign.ballots()[0].record["n_tied_at_cut"] > 1
    return fill_campaign(campaign, 3)


@pytest.fixture(scope="module")
def batches(tmp_path_factory):
    """Bytes of a bundle of a continuous campaign."""
    path = str(tmp_path_factory.mktemp("batches") / "ledger.db")
    settings = CampaignSettings(probing=PROBING)
    campaign = ledger_at(path).new_campaign(ContinuousPlan(8, 60, batch=12), ITEMS, VOTERS, 1, settings=settings)
    for number in (1, 2):
        draw_batch(campaign)
        record(campaign, rows_of(campaign, number, number, silent=0.05))
    return fill_campaign(campaign, 2)


def leaves(value, path=()):
    """Paths of all scalars in a JSON document; of a list, only those in its first element."""
    if isinstance(value, dict):
        for key in value:
            yield from leaves(value[key], (*path, key))
    elif isinstance(value, list) and value:
        yield from leaves(value[0], (*path, 0))
    else:
        yield path


def other_values(value):
    """Other values, at least one of the same type."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, (int, float)):
        return [value + 1]
    if value == "":
        return ["x", "1"]
    if isinstance(value, str):
        swaps = {"left": "right", "right": "left", "tie": "left", "cannot say": "left", "image": "audio"}
        return [swaps.get(value) or (str(int(value) + 1) if value.isdecimal() else value + "x")]
    return [1, "x", {"x": 1}] if value is None else [["x"], [0], {"x": 1}]


def change_leaf(value, path, new):
    """The document with a changed leaf."""
    if not path:
        return new
    copy = value.copy()
    copy[path[0]] = change_leaf(value[path[0]], path[1:], new)
    return copy


def leaf(value, path):
    return leaf(value[path[0]], path[1:]) if path else value


def edits(name, text):
    """Each field of a file, and the text of the file with that field changed."""
    if name.endswith(".json"):
        value = json.loads(text)
        for path in leaves(value):
            for new in other_values(leaf(value, path)):
                again = json.dumps(change_leaf(value, path, new), ensure_ascii=False, sort_keys=True, indent=1)
                yield field_name(path), again + "\n"
        yield "end", text + "}"
    elif name.endswith(".csv"):
        header, first, *rows = csv.reader(io.StringIO(text, newline=""))
        for at, column in enumerate(header):
            for new in other_values(first[at]):
                yield column, csv_text(header, [[*first[:at], new, *first[at + 1 :]], *rows])
    elif name.endswith(".jsonl"):
        lines = text.splitlines()
        rows = [json.loads(line) for line in lines]
        for kind in sorted({row["type"] for row in rows}):
            places = [at for at, row in enumerate(rows) if row["type"] == kind]
            for place in {places[0], places[-1]}:
                field = "vote.answer to a check" if kind == "vote" and place == places[-1] else "vote.answer"
                for path in leaves(rows[place]):
                    for new in other_values(leaf(rows[place], path)):
                        again = json_of(change_leaf(rows[place], path, new))
                        text = "\n".join([*lines[:place], again, *lines[place + 1 :], ""])
                        yield field_name((kind, *path)).replace("vote.answer", field), text
    else:
        yield "text", text.replace("1", "2", 1)


def field_name(path):
    """Name of a field, without indices into lists."""
    return ".".join(part for part in path if isinstance(part, str))


def forge(members, edited_name):
    """The files with recomputed digests, data sheet and metadata, except `edited` and unreadable ones."""
    try:
        contents = parse_contents(members)
        by_ballot, previous = events_by_ballot(contents), None
        for ballot, stored in zip(contents.ballots, contents.stored_ballots, strict=True):
            draw = contents.comparisons[stored.number]
            ballot["draw_digest"] = draw_digest(contents.info, draw, contents.checks[stored.number])
            if ballot["record"] is not None:
                ballot["votes_digest"] = digest_of(map(vote_line, by_ballot[stored.number]))
                numbers = (ballot["draw_digest"], ballot["votes_digest"], ballot["record"])
                previous = ballot["chain_digest"] = chain_digest(previous, *numbers)
        recomputed = {**members, **data_members(contents)}
        if edited_name in ("README.md", "croissant.json"):
            return members
        documented = {name: text for name, text in recomputed.items() if name not in ("croissant.json", SUMS)}
        contents = parse_contents(recomputed)
        result = checked(contents)
    except (AdaptiveError, TypeError, KeyError, ValueError, IndexError, AttributeError):
        return members  # with invalid digests or unreadable content
    documented["README.md"] = data_sheet(contents, result)
    return {**documented, "croissant.json": croissant(contents, documented)}


@pytest.mark.wide
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("mode", ["ballots", "batches"])
def test_every_field_is_checked_or_listed_as_unchecked(mode, name, request, tmp_path):
    members = members_of(request.getfixturevalue(mode))
    path = tmp_path / "b.zip"
    path.write_bytes(pack_members(members))
    unchecked = set(verify_bundle(path).unchecked.get(name, ()))
    slipped, n_edits = set(), 0
    for field, text in edits(name, members[name]):
        edited_members = {**members, name: text}
        if name != SUMS:
            edited_members = forge(edited_members, name)
        if name != SUMS and edited_members | {SUMS: ""} == members | {SUMS: ""}:  # a digest, which was recomputed
            continue
        n_edits += 1
        path.write_bytes(pack_members(edited_members, sealed=name != SUMS))
        try:
            verify_bundle(path)
        except BundleError:
            continue
        slipped.add(next((entry for entry in unchecked if f"{field}.".startswith(f"{entry}.")), field))
    assert n_edits
    assert slipped <= unchecked
    if mode == "ballots":  # it has rows of all kinds
        assert slipped == unchecked


def change_seed(members):
    """The bundle with another seed, and with matching metadata and checksums."""
    plan = members["plan.json"].replace('"seed": "1"', '"seed": "2"')
    return pack_members(forge({**members, "plan.json": plan}, ""))


def test_the_seed_must_give_the_draws_and_break_the_ties(ballots, tmp_path, monkeypatch):
    path, members = tmp_path / "b.zip", members_of(ballots)
    path.write_bytes(change_seed(members))
    with pytest.raises(BundleError, match="ballot 1: the seed 2 gives other comparisons"):
        verify_bundle(path)
    ledger_at(str(tmp_path / "other.db")).restore(path)  # the draw itself is in its rows
    monkeypatch.setattr("adaptive.ledger._bundle.checking._is_same_draw", lambda *_: True)
    with pytest.raises(BundleError, match="ballot 1: the seed 2 gives other items of those that tie at the cut"):
        verify_bundle(path)


def test_a_seed_is_not_checked_under_another_numpy(ballots, tmp_path, monkeypatch):
    path, members = tmp_path / "b.zip", members_of(ballots)
    monkeypatch.setattr("numpy.__version__", "99.0")
    path.write_bytes(pack_members(members))
    assert "seed" not in verify_bundle(path).unchecked["plan.json"]
    path.write_bytes(change_seed(members))
    assert "seed" in verify_bundle(path).unchecked["plan.json"]


def test_metadata_must_be_json(ballots, tmp_path):
    (tmp_path / "b.zip").write_bytes(edit_member(ballots, "croissant.json", lambda text: text[:-5]))
    with pytest.raises(BundleError, match=r"croissant\.json: is not what the other files give"):
        verify_bundle(tmp_path / "b.zip")
