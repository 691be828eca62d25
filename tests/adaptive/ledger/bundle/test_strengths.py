"""The ranking of a continuous campaign in its bundle, and tables that do not agree with the votes."""

import csv
import io
import json

import pytest

from adaptive.ledger import ContinuousPlan
from adaptive.ledger._ballots.batches import draw_batch, finish
from adaptive.ledger._bundle.checking import check_strengths, croissant
from adaptive.ledger._bundle.files import contents_of, verify_bundle
from adaptive.ledger.errors import BundleError
from rankcorr._io.table import unguarded
from tests.adaptive.ledger.bundle.zips import edited, members_of, packed
from tests.adaptive.ledger.voted import ITEMS, PAIRS, VOTERS, ledger_at, record, rows_of


def continuous(target, items=ITEMS, n_batches=4):
    campaign = ledger_at(target).new_campaign(ContinuousPlan(8, 60, batch=12), items, VOTERS, 1)
    for number in range(1, n_batches + 1):
        draw_batch(campaign)
        record(campaign, rows_of(campaign, number, number, silent=0.05))
    return campaign


@pytest.mark.parametrize("items", [ITEMS, PAIRS, list(range(8))], ids=["text", "pairs", "numbers"])
@pytest.mark.parametrize("ended", [False, True])
def test_the_table_has_the_strengths_that_the_ledger_gives(items, ended, sqlite, tmp_path):
    campaign = continuous(sqlite, items)
    campaign.voters.named("Bob").exclude("too fast")
    if ended:
        finish(campaign, least_answered=0.5)
    expected = campaign.result(interim=True).to_csv()
    wanted = [line.split(",") for line in expected.splitlines()]
    data = campaign.bundle()
    table = members_of(data)["result.csv"]
    names = table.splitlines()[0].split(",")
    assert names[-2:] == ["rank", "strength"]
    columns = [wanted[0].index(name) for name in names]
    rows = list(csv.reader(io.StringIO(expected, newline="")))
    found = csv.reader(io.StringIO(table, newline=""))
    assert [[*map(unguarded, row)] for row in found] == [[row[at] for at in columns] for row in rows]
    (tmp_path / "b.zip").write_bytes(data)
    assert verify_bundle(tmp_path / "b.zip").n_votes > 20
    assert ledger_at(str(tmp_path / "other.db")).restore(tmp_path / "b.zip").bundle() == data
    metadata = json.loads(members_of(data)["croissant.json"])
    (records,) = (each for each in metadata["recordSet"] if each["name"] == "result")
    assert [each["name"] for each in records["field"]] == names


def test_another_table_is_refused_and_another_last_digit_is_not(sqlite, tmp_path):
    data = continuous(sqlite).bundle()

    def changed(change):
        contents, members = contents_of(edited(data, "result.csv", change))
        rest = {name: text for name, text in members.items() if name not in ("croissant.json", "SHA256SUMS")}
        (tmp_path / "b.zip").write_bytes(packed({**rest, "croissant.json": croissant(contents, rest)}))
        return verify_bundle(tmp_path / "b.zip")

    def one_strength(more):
        def change(text):
            lines = text.splitlines()
            start, _, strength = lines[2].rpartition(",")
            return "\n".join([*lines[:2], f"{start},{float(strength) + more:.4f}", *lines[3:]]) + "\n"

        return change

    assert changed(one_strength(0.0002)).n_votes > 20
    for change, message in [
        (one_strength(0.01), "its strengths are not those that the votes give"),
        (lambda text: text.replace("strength", "score"), "its columns or items are not those of the campaign"),
        (lambda text: text.rsplit("\n", 2)[0] + "\n", "its columns or items are not those of the campaign"),
        (lambda text: text + text.splitlines()[-1] + "\n", "an item comes twice"),
        (lambda text: text.replace(",1.0,", ",8.0,", 1), "its ranks are not those of the strengths"),
        (lambda text: text.replace(",1.0,", ",first,", 1), "cannot be read"),
        (lambda text: text.replace(",1.0,", ",nan,", 1), "its ranks are not those of the strengths"),
    ]:
        with pytest.raises(BundleError, match=rf"result\.csv: {message}"):
            changed(change)


def test_items_of_one_strength_may_change_places():
    wanted = "item,rank,strength\na,1.0,0.5\nb,2.0,0.4999\nc,3.0,-1.0\n"
    check_strengths("item,rank,strength\nb,1.0,0.5\na,2.0,0.4999\nc,3.0,-1.0\n", wanted)
    with pytest.raises(BundleError, match="its ranks"):
        check_strengths("item,rank,strength\na,1.0,0.5\nc,2.0,-1.0\nb,3.0,0.4999\n", wanted)


def test_a_campaign_without_votes_has_the_names_of_the_columns(sqlite):
    campaign = ledger_at(sqlite).new_campaign(ContinuousPlan(8, 60, batch=12), PAIRS, VOTERS, 1)
    assert members_of(campaign.bundle())["result.csv"] == "item_1,item_2,rank,strength\n"
