"""A campaign as a zip: deterministic, exact, and restored unchanged in another ledger."""

import csv
import hashlib
import io
import json
import zipfile
from datetime import UTC, datetime
from operator import attrgetter

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from adaptive._draw import draw_ballot
from adaptive._formats.votes import VoteRow
from adaptive.ledger import CampaignSettings, ContinuousPlan, LateVoteError, VoteCast
from adaptive.ledger._ballots.batches import draw_batch
from adaptive.ledger._ballots.draws import store_ballot
from adaptive.ledger._bundle.checking import check_strengths, strengths_csv
from adaptive.ledger._bundle.contents import read_contents
from adaptive.ledger._bundle.files import contents_of, croissant, verify_bundle
from adaptive.ledger._campaign.settings import KnownPair, Probing
from adaptive.ledger._closing import close_batches
from adaptive.ledger._membership import voter_named
from adaptive.ledger._votes.casting import correct, retract
from adaptive.ledger._votes.voiding import erase, withdraw
from adaptive.ledger.errors import BundleError
from rankcorr._io.table import unguarded
from tests.adaptive.ledger.campaigns import check_ids, new_id, pair_ids, read, write
from tests.adaptive.ledger.databases import ITEMS, PAIRS, VOTERS, campaign_with_votes, ledger_at, record, rows_of
from tests.adaptive.ledger.test_bundle_members import edit_member, members_of, pack_members


def eventful_campaign(target, **options):
    """A campaign with events of every kind."""
    first, second = options.get("items", ITEMS)[:2]
    probing = Probing((KnownPair("gold", first, second, "left"),), 1, 0.2, 0.2)
    campaign = campaign_with_votes(target, 1, probing=probing, **options)
    info = campaign.info
    by_name = {str(name): write(campaign, voter_named, str(name)) for name in info.slots}
    rows = rows_of(campaign, 2, 3, words=["left", "right"], silent=0)
    places = {vote["place"] for vote in contents(campaign).votes if vote["ballot"] == 2}
    place = {name: at for at, name in enumerate(pair_ids(campaign, rows[0].comparison.split("-")[0]))}
    voted_rows = [row for row in rows if place[row.comparison] in places]
    first, second, third = ((place[row.comparison], by_name[row.voter]) for row in voted_rows[:3])
    retract(campaign, new_id(), 2, *first)
    campaign.cast(VoteCast(new_id(), 2, *first, "tie", 1234, "click", "stacked", {"Ж": "=1"}))
    correct(campaign, new_id(), 2, second[0], None, "misread")
    retract(campaign, new_id(), 2, *third)
    with pytest.raises(LateVoteError, match="ballot 1 is closed"):
        campaign.cast(VoteCast(new_id(), 1, 0, by_name[str(rows_of(campaign, 1, silent=0)[0].voter)], "left"))
    names = list(by_name)
    campaign.voter(by_name[names[0]]).exclude("too fast")
    write(campaign, erase, by_name[names[1]])
    for word in ("left", "right"):  # the second contradicts, and is set aside
        record(campaign, [VoteRow(2, name, None, None, None, word) for name in check_ids(campaign, 2)[:2]])
    return campaign


def contents(campaign):
    return read(campaign, read_contents, names=False)


@pytest.mark.parametrize("items", [ITEMS, PAIRS, list(range(8)), [1, "one", ("two",), ("a", 2), 3, 4, 5, '6, "7"']])
@pytest.mark.parametrize("n_closed", [0, 1, 3])
def test_a_bundle_verifies_and_gives_the_ranking(items, n_closed, sqlite, tmp_path):
    campaign = campaign_with_votes(sqlite, n_closed, items=items)
    campaign.write_bundle(tmp_path / "b.zip")
    assert (tmp_path / "b.zip").read_bytes() == campaign.bundle()
    result = verify_bundle(tmp_path / "b.zip")
    assert (result.key, result.name, result.n_items, result.n_closed) == (campaign.key, "Fruit", 8, n_closed)
    assert result.n_ballots == min(n_closed + 1, 3)
    if n_closed:
        _, position = campaign.position()
        assert_array_equal(result.result.ybar, position.mean)
    if n_closed == 3:
        assert result.result.to_json() == campaign.paper_result().to_json()
        if items[1] != "one":  # labels of several lengths are one cell here, as in votes.csv
            table = csv.reader(io.StringIO(members_of(campaign.bundle())["result.csv"], newline=""))
            expected = csv.reader(io.StringIO(campaign.paper_result().to_csv(), newline=""))
            assert [[*map(unguarded, row)] for row in table] == [*expected]


def test_the_zip_has_fixed_times_and_sorted_names(sqlite):
    data = campaign_with_votes(sqlite).bundle()
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = archive.namelist()
        assert names == sorted(names)
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        sums = dict(reversed(line.split("  ")) for line in archive.read("SHA256SUMS").decode().splitlines())
        assert sums == {n: hashlib.sha256(archive.read(n)).hexdigest() for n in names if n != "SHA256SUMS"}


def test_digests_can_be_verified_without_this_package(sqlite):
    """As the data sheet describes, from the files alone."""
    members = members_of(eventful_campaign(sqlite).bundle())
    rows = list(csv.DictReader(io.StringIO(members["items.csv"], newline="")))
    labels = {row["place"]: json.loads(row["label"]) for row in rows}
    comparison_rows = list(csv.DictReader(io.StringIO(members["comparisons.csv"], newline="")))
    events = [json.loads(line) for line in members["events.jsonl"].splitlines()]
    assert {row["comparison"][0] for row in comparison_rows if row["check"]} == {"1", "2"}
    chain = ""

    def digest(lines):
        return hashlib.sha256("".join(line + "\n" for line in lines).encode()).hexdigest()

    def line(*values):
        value = values if len(values) > 1 else values[0]
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)

    for ballot in json.loads(members["ballots.json"])["ballots"]:
        rows_of_ballot = [row for row in comparison_rows if row["comparison"].startswith(f"{ballot['number']}-")]
        at = [tuple(map(int, row["comparison"].split("-")[1:])) for row in rows_of_ballot]
        scored = [where for where, row in zip(at, rows_of_ballot, strict=True) if not row["check"]]
        draw = []
        for place, ((sheet, position), row) in enumerate(zip(at, rows_of_ballot, strict=True)):
            before = sum(place_of_pair[0] == sheet and place_of_pair[1] < position for place_of_pair in scored)
            sides = (sheet, before, labels[row["left_item"]], labels[row["right_item"]])
            if row["check"]:
                expected = {"": None, "1": "left", "0": "tie", "-1": "right"}[row["expected"]]
                repeats = int(row["repeats"]) if row["repeats"] else None
                draw.append(line("p", place - len(scored), *sides, row["check"], expected, repeats))
            else:
                draw.append(line(place, *sides))
        assert digest(draw) == ballot["draw_digest"]
        if ballot["state"] == "closed":
            votes = [event for event in events if event["type"] == "vote" and event["ballot"] == ballot["number"]]
            votes = [event for event in votes if event["place"] < len(scored)]
            votes.sort(key=lambda event: (event["place"], event["revision"]))
            vote_lines = [line(e["place"], e["revision"], e["kind"], e["answer"], e["voter"]) for e in votes]
            assert digest(vote_lines) == ballot["votes_digest"]
            chain = digest([chain, ballot["draw_digest"], ballot["votes_digest"], line(ballot["record"])])
            assert chain == ballot["chain_digest"]
    assert chain


def test_only_counted_votes_are_in_votes_csv(sqlite):
    campaign = eventful_campaign(sqlite)
    text = members_of(campaign.bundle())["votes.csv"]
    rows = {row["comparison"]: row for row in csv.DictReader(io.StringIO(text, newline=""))}
    result, ids = contents(campaign), {number: pair_ids(campaign, number) for number in (1, 2)}
    last = {}
    for vote in result.votes:
        if vote["place"] < result.ballots[vote["ballot"] - 1]["n_comparisons"]:
            last[ids[vote["ballot"]][vote["place"]]] = vote
    expected = [vote for vote in last.values() if vote["kind"] == "cast" and vote["voter"] not in result.excluded]
    assert {name: row["winner"] for name, row in rows.items()} == {
        name: vote["answer"] for name, vote in last.items() if vote in expected
    }
    assert len(result.excluded) == 1
    assert {"retract", "void"} <= {vote["kind"] for vote in last.values()}


@pytest.mark.parametrize("options", [{}, {"items": PAIRS}, {"items": list(range(8)), "voters": 4}, {"sheet_size": 3}])
def test_a_restored_campaign_is_the_same(options, sqlite, target, tmp_path):
    campaign = eventful_campaign(sqlite, **options)
    campaign.write_bundle(tmp_path / "b.zip")
    again = ledger_at(target).restore(tmp_path / "b.zip")
    assert again.bundle() == (tmp_path / "b.zip").read_bytes()
    digests = attrgetter("draw_digest", "votes_digest", "chain_digest")
    assert [*map(digests, campaign.ballots())] == [*map(digests, again.ballots())]
    assert again.info.hash_key != campaign.info.hash_key


@pytest.mark.parametrize("voters", [4, VOTERS], ids=["numbers", "names"])
def test_a_restored_campaign_continues(voters, sqlite, target, tmp_path):
    """With names, or if voters are numbers, files of votes are still accepted; ballots do not change."""
    campaign = campaign_with_votes(sqlite, 1, voters=voters)
    campaign.write_bundle(tmp_path / "b.zip", names=True)
    again = ledger_at(target).restore(tmp_path / "b.zip")
    rows = rows_of(campaign, 2, 7, words=["left", "right"], silent=0)
    ids = {number: pair_ids(campaign, number) for number in (1, 2)}
    known = {ids[vote["ballot"]][vote["place"]] for vote in contents(campaign).votes}
    rows = [row for row in rows if row.comparison not in known]
    assert record(campaign, rows) == record(again, rows)
    assert record(again, rows).n_known == len(rows) > 0
    campaign.close(2)
    again.close(2)
    for one in (campaign, again):
        one.open_next()
    chains = [[ballot.chain_digest for ballot in one.ballots()] for one in (campaign, again)]
    draws = [[ballot.draw_digest for ballot in one.ballots()] for one in (campaign, again)]
    assert chains[0][:2] == chains[1][:2]
    assert draws[0] == draws[1]


def test_a_restored_ledger_recognises_repeated_events(sqlite, target, tmp_path):
    campaign = campaign_with_votes(sqlite, 0, voters=4)
    row = next(vote for vote in contents(campaign).votes if vote["kind"] == "cast")
    first = {"event_id": row["event_id"], "number": 1, "place": row["place"], "answer": row["answer"]}
    back = new_id()
    voter_id = write(campaign, voter_named, row["voter"])
    retract(campaign, back, 1, row["place"], voter_id)
    campaign.write_bundle(tmp_path / "b.zip")
    again = ledger_at(target).restore(tmp_path / "b.zip")
    other_id = write(again, voter_named, row["voter"])
    assert again.cast(VoteCast(voter_id=other_id, **first)).repeated
    assert retract(again, back, 1, row["place"], other_id).repeated


def test_names_are_in_a_bundle_only_on_request(sqlite):
    campaign = campaign_with_votes(sqlite, 1, voters=["Ann Smith", "Bob Brown", "Eve Jones"])
    plain, named = (campaign.bundle(names=names) for names in (False, True))
    for name in campaign.info.slots:
        assert not any(name in text for text in members_of(plain).values())
        assert name in members_of(named)["voters.csv"]
    assert campaign.info.hash_key not in "".join(members_of(named).values())
    assert "keep this file to yourself" in members_of(named)["README.md"]


def test_an_existing_campaign_is_not_restored_again(sqlite, tmp_path):
    campaign = eventful_campaign(sqlite)
    campaign.write_bundle(tmp_path / "b.zip")
    ledger = ledger_at(str(tmp_path / "other.db"))
    ledger.restore(tmp_path / "b.zip")
    with pytest.raises(BundleError, match=f"the ledger already has the campaign {campaign.key}"):
        ledger.restore(tmp_path / "b.zip")
    assert len(ledger.campaign().ballots()) == 2


def test_a_continuous_campaign_without_records_is_checked_by_its_digests(sqlite, tmp_path):
    ledger = ledger_at(sqlite)
    campaign = ledger.new_campaign(ContinuousPlan(8, 100), ITEMS, VOTERS, 1, settings=CampaignSettings(assigned=False))
    draw = draw_ballot(ITEMS, 2, VOTERS, np.random.default_rng(0))
    for number in (1, 2):
        write(campaign, store_ballot, draw, np.arange(8), number=number, presentations=2)
    campaign.write_bundle(tmp_path / "b.zip")
    result = verify_bundle(tmp_path / "b.zip")
    assert (result.n_ballots, result.n_closed, result.result) == (2, 0, None)
    again = ledger_at(str(tmp_path / "other.db")).restore(tmp_path / "b.zip")
    assert again.bundle() == campaign.bundle()


def test_a_ballot_that_is_being_closed_is_open_in_the_bundle(sqlite):
    campaign = campaign_with_votes(sqlite, 0)
    before = campaign.bundle()
    with campaign.database.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE ballot SET state = 'closing', closer = 'x', closer_until = 1")
    assert campaign.bundle() == before


def test_a_withdrawn_voter_and_odd_cells_survive(sqlite, tmp_path):
    campaign = campaign_with_votes(sqlite, 0)
    campaign.write(withdraw, campaign.voters.named("Bob").id)
    with campaign.database.engine.begin() as connection:
        for key, version in zip([v["voter"] for v in contents(campaign).voters], ["", '""', "a\nb,"], strict=True):
            connection.exec_driver_sql("UPDATE voter SET consent_version = ? WHERE key = ?", (version, key))
    campaign.write_bundle(tmp_path / "b.zip")
    result, _ = contents_of((tmp_path / "b.zip").read_bytes())
    assert [voter["consent_version"] for voter in result.voters] == ["", '""', "a\nb,"]
    assert ledger_at(str(tmp_path / "o.db")).restore(tmp_path / "b.zip").bundle() == campaign.bundle()


def test_croissant_metadata_is_read_by_its_own_library(sqlite, tmp_path, monkeypatch):
    mlcroissant = pytest.importorskip("mlcroissant")
    with zipfile.ZipFile(io.BytesIO(eventful_campaign(sqlite).bundle())) as archive:
        archive.extractall(tmp_path)
    monkeypatch.chdir(tmp_path)
    result = mlcroissant.Dataset("croissant.json")
    assert not result.metadata.ctx.issues.errors
    n_votes = len((tmp_path / "comparisons.csv").read_text().splitlines()) - 1
    assert len(list(result.records("comparisons"))) == n_votes


@pytest.mark.parametrize("n_closed", [0, 1])
@pytest.mark.parametrize("items", [ITEMS, PAIRS], ids=["text", "pairs"])
def test_croissant_metadata_lists_every_data_file_with_its_checksum(items, n_closed, sqlite):
    members = members_of(campaign_with_votes(sqlite, n_closed, items=items).bundle())
    result = json.loads(members["croissant.json"])
    assert result["conformsTo"] == "http://mlcommons.org/croissant/1.0"
    files = {entry["@id"]: entry for entry in result["distribution"]}
    assert set(files) == set(members) - {"README.md", "SHA256SUMS", "croissant.json"}
    for name, entry in files.items():
        assert entry["sha256"] == hashlib.sha256(members[name].encode()).hexdigest()
    for records in result["recordSet"]:
        for field in records["field"]:
            header = members[field["source"]["fileObject"]["@id"]].splitlines()[0].split(",")
            assert field["source"]["extract"]["column"] in header


def test_croissant_metadata_has_the_closing_date_and_the_citation(sqlite):
    campaign = campaign_with_votes(sqlite, 0)
    result = json.loads(members_of(campaign.bundle())["croissant.json"])
    assert "datePublished" not in result
    assert "license" not in result  # no citation was given
    campaign.close(1)
    result = json.loads(members_of(campaign.bundle())["croissant.json"])
    closed = datetime.fromtimestamp(contents(campaign).ballots[0]["closed_at"] / 1e6, UTC)
    assert result["datePublished"] == closed.strftime("%Y-%m-%d")
    key = campaign.key
    cited = f"@misc{{campaign-{key}, title = {{Fruit}}, year = {{{closed.year}}}, note = {{Campaign {key}}}}}"
    assert result["citeAs"] == cited


def test_an_inconsistent_ledger_is_not_exported(sqlite, tmp_path):
    campaign = campaign_with_votes(sqlite, 1)
    with campaign.database.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE ballot SET chain_digest = 'x' WHERE number = 1")
    with pytest.raises(BundleError, match="chain of ballot 1"):
        campaign.write_bundle(tmp_path / "b.zip")
    assert not (tmp_path / "b.zip").exists()


def test_unwritable_and_unreadable_files_are_refused(sqlite, tmp_path):
    with pytest.raises(BundleError, match=r"none/b\.zip: cannot be written: No such file"):
        campaign_with_votes(sqlite, 0).write_bundle(tmp_path / "none" / "b.zip")
    with pytest.raises(BundleError, match=r"b\.zip: cannot be read: No such file"):
        verify_bundle(tmp_path / "b.zip")
    with pytest.raises(BundleError, match="cannot be read"):
        verify_bundle(tmp_path)


def continuous_campaign(target, items=ITEMS, n_batches=4):
    campaign = ledger_at(target).new_campaign(ContinuousPlan(8, 60, batch=12), items, VOTERS, 1)
    for number in range(1, n_batches + 1):
        draw_batch(campaign)
        record(campaign, rows_of(campaign, number, number, silent=0.05))
    return campaign


@pytest.mark.parametrize("items", [ITEMS, PAIRS, list(range(8))], ids=["text", "pairs", "numbers"])
@pytest.mark.parametrize("ended", [False, True])
def test_the_table_has_the_strengths_of_the_ledger(items, ended, sqlite, tmp_path):
    campaign = continuous_campaign(sqlite, items)
    campaign.voters.named("Bob").exclude("too fast")
    if ended:
        close_batches(campaign, least_answered=0.5)
    expected = campaign.result(interim=True).to_csv()
    expected_rows = [line.split(",") for line in expected.splitlines()]
    data = campaign.bundle()
    table = members_of(data)["result.csv"]
    names = table.splitlines()[0].split(",")
    assert names[-2:] == ["rank", "strength"]
    columns = [expected_rows[0].index(name) for name in names]
    rows = list(csv.reader(io.StringIO(expected, newline="")))
    result = csv.reader(io.StringIO(table, newline=""))
    assert [[*map(unguarded, row)] for row in result] == [[row[at] for at in columns] for row in rows]
    (tmp_path / "b.zip").write_bytes(data)
    assert verify_bundle(tmp_path / "b.zip").n_votes > 20
    assert ledger_at(str(tmp_path / "other.db")).restore(tmp_path / "b.zip").bundle() == data
    metadata = json.loads(members_of(data)["croissant.json"])
    (records,) = (record_set for record_set in metadata["recordSet"] if record_set["name"] == "result")
    assert [field["name"] for field in records["field"]] == names


def test_a_changed_table_is_refused_but_not_a_rounding_difference(sqlite, tmp_path):
    data = continuous_campaign(sqlite).bundle()

    def verify_change(change):
        contents, members = contents_of(edit_member(data, "result.csv", change))
        rest = {name: text for name, text in members.items() if name not in ("croissant.json", "SHA256SUMS")}
        (tmp_path / "b.zip").write_bytes(pack_members({**rest, "croissant.json": croissant(contents, rest)}))
        return verify_bundle(tmp_path / "b.zip")

    def one_strength(more):
        def change(text):
            lines = text.splitlines()
            start, _, strength = lines[2].rpartition(",")
            return "\n".join([*lines[:2], f"{start},{float(strength) + more:.4f}", *lines[3:]]) + "\n"

        return change

    assert verify_change(one_strength(0.0002)).n_votes > 20
    as_formerly = strengths_csv(contents_of(data)[0], oversight=0.03)
    assert as_formerly != members_of(data)["result.csv"]
    assert verify_change(lambda _: as_formerly).n_votes > 20
    for change, message in [
        (one_strength(0.01), "its strengths are not those that the votes give"),
        (lambda text: text.replace("strength", "score"), "its columns or items are not those of the campaign"),
        (lambda text: text.rsplit("\n", 2)[0] + "\n", "its columns or items are not those of the campaign"),
        (lambda text: text + text.splitlines()[-1] + "\n", "an item is listed twice"),
        (lambda text: text.replace(",1.0,", ",8.0,", 1), "its ranks are not those of the strengths"),
        (lambda text: text.replace(",1.0,", ",first,", 1), "its ranks are not those of the strengths"),
        (lambda text: text.replace(",1.0,", ",\N{ARABIC-INDIC DIGIT ONE}.0,", 1), "its ranks are not those of the st"),
        (lambda text: text.replace(",1.0,", ",nan,", 1), "its ranks are not those of the strengths"),
    ]:
        with pytest.raises(BundleError, match=rf"result\.csv: {message}"):
            verify_change(change)


def test_items_of_equal_strength_may_swap_places():
    expected = "item,rank,strength\na,1.0,0.5\nb,2.0,0.4999\nc,3.0,-1.0\n"
    check_strengths("item,rank,strength\nb,1.0,0.5\na,2.0,0.4999\nc,3.0,-1.0\n", expected)
    with pytest.raises(BundleError, match="its ranks"):
        check_strengths("item,rank,strength\na,1.0,0.5\nc,2.0,-1.0\nb,3.0,0.4999\n", expected)


def test_a_campaign_without_votes_has_column_headers(sqlite):
    campaign = ledger_at(sqlite).new_campaign(ContinuousPlan(8, 60, batch=12), PAIRS, VOTERS, 1)
    assert members_of(campaign.bundle())["result.csv"] == "item_1,item_2,rank,strength\n"
