"""Exported votes are the same after importing them into another ledger or a model, and have the contents of items."""

import csv
import io
import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from adaptive._plan import plan_ballots
from adaptive._tables import csv_text, guarded, read_items
from adaptive.comparisons._comparisons import read_comparisons
from adaptive.errors import VoteError
from adaptive.ledger import CampaignSettings
from adaptive.ledger._votes import exports
from rankcorr._io.rankings import read_ranking
from rankcorr._io.table import unguarded
from rankcorr.errors import OptionError, TableError
from tests.adaptive.ledger.campaigns import read, write_rows
from tests.adaptive.ledger.databases import ITEMS, PAIRS, PLAN, VOTERS, campaign_with_votes, ledger_at, record, rows_of
from tests.adaptive.ledger.test_bundle_members import edit_member

FORM_ANSWERS = {
    "csv": {"left", "right", "tie", "cannot say"},
    "arena": {"left", "right", "tie"},
    "label_studio": {"left", "right"},
    "potato": {"left", "right", "tie"},
    "choix": {"left", "right"},
}


def export_all(campaign, **options):
    return read(campaign, exports.read_comparisons, names=True, **options)


def answers(campaign, expressed=FORM_ANSWERS["csv"]):
    """The answer to each comparison; None if the format cannot express it."""
    return {vote.comparison: vote.answer if vote.answer in expressed else None for vote in export_all(campaign)}


def blank_campaign(target, items=ITEMS):
    """The same ballot 1, without votes."""
    campaign = ledger_at(target).new_campaign(PLAN, items, VOTERS, 1, settings=CampaignSettings(least_answered=0.5))
    campaign.open_next()
    return campaign


def write_export(export, folder):
    for name, text in export.files.items():
        (folder / name).write_text(text, encoding="utf-8", newline="")
    return folder / next(iter(export.files))


@pytest.mark.parametrize("items", [ITEMS, PAIRS, list(range(8))], ids=["text", "pairs", "numbers"])
@pytest.mark.parametrize("form", ["csv", "arena", "label_studio", "potato"])
@pytest.mark.parametrize("guard", [True, False])
def test_exported_votes_are_imported_into_another_ledger(form, items, guard, sqlite, other_path, tmp_path):
    source, other = campaign_with_votes(sqlite, 0, items=items), blank_campaign(other_path, items)
    export = source.export_votes(form, names=True, guard=guard, unanswered=True)
    path = write_export(export, tmp_path)
    receipt = other.import_votes(path, form, guard=guard)
    imported = {vote.comparison: vote for vote in export_all(other)}
    for vote in export_all(source):
        copy = imported[vote.comparison]
        assert (copy.items, copy.voter) == (vote.items, vote.voter)
        assert copy.answer == (vote.answer if vote.answer in FORM_ANSWERS[form] else None)
        if form == "csv" and vote.answer is not None:
            extra = {name: cell for name, cell in copy.extra.items() if name != "received_at"}
            assert (copy.response_ms, extra) == (vote.response_ms, vote.extra)
    assert receipt.n_new == export.n_votes > 0
    copy = other.import_votes(path, form, guard=guard)
    assert (copy.n_new, copy.n_known, copy.n_conflicts) == (0, export.n_votes, 0)


@pytest.mark.parametrize("form", ["csv", "arena", "label_studio", "potato"])
def test_votes_without_ids_are_matched_by_voter_and_pair(form, sqlite, other_path, tmp_path):
    """Half of the rows have swapped items."""
    source, other = campaign_with_votes(sqlite, 0), blank_campaign(other_path)
    path = write_export(source.export_votes(form, names=True, guard=False), tmp_path)
    if form == "csv":
        rows = list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"), newline="")))
        for number, row in enumerate(rows):
            del row["comparison"]
            if number % 2:
                row["left"], row["right"] = row["right"], row["left"]
                row["winner"] = {"left": "right", "right": "left"}.get(row["winner"], row["winner"])
        write_rows(path, rows)
    else:
        text = path.read_text(encoding="utf-8")
        rows = json.loads(text) if form == "label_studio" else [json.loads(line) for line in text.splitlines()]
        for row in rows:
            for entry in (row, row.get("data", {})):
                entry.pop("comparison", None)
                entry.pop("id", None)
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        path.write_text(json.dumps(rows) if form == "label_studio" else lines, encoding="utf-8")
    other.import_votes(path, form, guard=False)
    assert answers(other) == answers(source, FORM_ANSWERS[form])


def test_choix_pairs_are_imported_if_each_pair_is_compared_once(sqlite, target, tmp_path):
    source, other = campaign_with_votes(sqlite, 0), blank_campaign(target)
    brought = other.import_votes(write_export(source.export_votes("choix"), tmp_path), "choix")
    assert answers(other) == answers(source, FORM_ANSWERS["choix"])
    assert brought.n_new == source.export_votes("choix").n_votes


@pytest.mark.parametrize("form", FORM_ANSWERS)
@pytest.mark.parametrize("items", [ITEMS, list("abcdefgh")], ids=["odd", "plain"])
def test_the_models_count_the_same_wins(form, items, sqlite, tmp_path):
    source = campaign_with_votes(sqlite, 2, items=items)
    path = write_export(source.export_votes(form, guard=False), tmp_path)
    known = read_items(tmp_path / "items.csv") if form == "choix" else items
    result = read_comparisons(path, format=form, items=known)
    wins = dict.fromkeys(items, 0)
    for vote in export_all(source):
        if vote.answer in {"left", "right"}:
            wins[vote.items[vote.answer != "left"]] += 1
    assert dict(zip(result.items, result.wins.tolist(), strict=True)) == wins
    assert result.n_ties == sum(vote.answer == "tie" for vote in export_all(source)) * ("tie" in FORM_ANSWERS[form])
    assert result.n_voters == (0 if form == "choix" else 3)


def test_names_are_exported_only_on_request(sqlite):
    campaign = campaign_with_votes(sqlite, 1)
    for form in FORM_ANSWERS:
        for name in VOTERS:
            assert name not in "".join(campaign.export_votes(form, unanswered=True).files.values())
    assert "Bob" in campaign.export_votes("csv", names=True).files["votes.csv"]


def test_votes_of_an_excluded_voter_are_omitted_and_counted(sqlite):
    campaign = campaign_with_votes(sqlite, 0)
    before = campaign.export_votes("csv")
    campaign.voters.named("Bob").exclude("too fast")
    after = campaign.export_votes("csv", names=True, unanswered=True)
    n_bob = sum(vote.voter == "Bob" and vote.answer is not None for vote in export_all(campaign))
    assert after.left_out == {"their voter is excluded": n_bob}
    assert after.n_votes == before.n_votes - n_bob
    assert after.to_text() == f"{after.n_votes} votes in votes.csv; {n_bob} left out: their voter is excluded"


def test_an_extra_column_with_a_reserved_name_is_renamed(sqlite):
    campaign = blank_campaign(sqlite)
    row = rows_of(campaign, 1, silent=0)[0]
    record(campaign, [row._replace(extra=(("received_at", "noon"), ("left_1", "x")))])
    header, first = campaign.export_votes("csv").files["votes.csv"].splitlines()[:2]
    assert header == "comparison,voter,left,right,winner,left_1,file_received_at,seconds,received_at"
    assert ",x,noon,," in first


FOUR_ITEMS = plan_ballots(4, n_ballots=2, fraction=0.5, presentations=3)
TASK = {"data": {"text1": "a", "text2": "b", "voter": "Ann"}}


@pytest.fixture
def campaign(sqlite):
    """Every pair of four items once, without votes."""
    new_campaign = ledger_at(sqlite).new_campaign(FOUR_ITEMS, list("abcd"), VOTERS, 1, settings=CampaignSettings())
    new_campaign.open_next()
    return new_campaign


def arena_battle(**fields):
    """A battle of a and b."""
    return json.dumps({"model_a": "a", "model_b": "b", "winner": "tie", **fields})


def task_of(*sides, **more):
    results = [{"type": "pairwise", "value": {"selected": side}} for side in sides]
    return {**TASK, "annotations": [{"result": results, **more}]}


@pytest.mark.parametrize(
    ("form", "text", "error", "message"),
    [
        ("csv", "comparison,winner\n1-0-0,both", VoteError, 'v:2: column "winner": the winner must be .* set answers='),
        ("csv", "comparison,winner\n1-0-0,left\n1-0-77,left\n", VoteError, "v:3: comparison '1-0-77' is unknown"),
        ("csv", "comparison,winner\n2-0-0,left\n", VoteError, "v:2: comparison '2-0-0' is unknown: ballot 2 has not"),
        ("csv", "winner\nleft\n", VoteError, "v:2: each row needs the id of a comparison, or its two items"),
        ("csv", "left,right,winner,voter\na,b,left,Zoe\n", VoteError, "v:2: no voter is called 'Zoe'"),
        ("csv", "left,right,winner\na,x,left\n", VoteError, "v:2: no comparison of 'a' and 'x' is in an open ballot"),
        ("csv", "left,right,winner\na,b,tie\nb,a,tie", VoteError, "v:3: the file has more votes on 'b' and 'a'"),
        ("arena", arena_battle(winner="A"), VoteError, 'v:1: column "winner": the winner must be .*; got .A.'),
        ("csv", "comparison,winner,tie\n1-0-0,left,1\n", TableError, "marked as a tie, but its answer is left"),
        ("csv", "comparison,winner,n\n1-0-0,left,2\n", TableError, 'column "n": counts votes, but here each row'),
        ("choix", "winner,loser\n0,4", TableError, 'v:2: .* "loser": 4 is not one of the 4 items, which count from 0'),
        ("choix", "0,1\n2,2\n", VoteError, "v:2: no comparison of 'c' and 'c' is in an open ballot"),
        ("arena", arena_battle(judge=[1]), TableError, 'v:1: column "judge": a name is text or a whole number; got'),
    ],
)
def test_invalid_files_are_refused(form, text, error, message, campaign, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "v").write_text(text)
    with pytest.raises(error, match=message):
        campaign.import_votes("v", form)
    assert campaign.export_votes("csv").n_votes == 0


def test_an_unknown_format_is_refused(campaign, tmp_path):
    (tmp_path / "v.csv").write_text("left,right,winner\na,b,left\n")
    for step in (lambda: campaign.import_votes(tmp_path / "v.csv", "brat"), lambda: campaign.export_votes("brat")):
        with pytest.raises(OptionError, match="format must be one of"):
            step()


def test_a_pair_that_several_voters_have_needs_its_voter(sqlite, tmp_path):
    campaign = campaign_with_votes(
        sqlite, 0, plan=plan_ballots(4, n_ballots=2, fraction=0.5, presentations=6), items=list("abcd")
    )
    (tmp_path / "v").write_text("winner,loser\n0,1\n")
    with pytest.raises(VoteError, match="'a' and 'b' are compared 2 times: name the voter or the comparison"):
        campaign.import_votes(tmp_path / "v", "choix")


def test_both_bad_is_a_tie_and_cancelled_annotations_do_not_count(campaign, tmp_path):
    (tmp_path / "arena").write_text(arena_battle(winner="tie (bothbad)"))
    assert campaign.import_votes(tmp_path / "arena", "arena").n_new == 1
    (tmp_path / "studio").write_text(json.dumps([task_of("left", was_cancelled=True), task_of()]))
    assert campaign.import_votes(tmp_path / "studio", "label_studio").n_new == 0


def test_output_of_potato_itself_is_imported(campaign, tmp_path):
    path = tmp_path / "annotated_instances.jsonl"
    instances = campaign.export_votes("potato", unanswered=True, names=True).files["instances.jsonl"].splitlines()
    first = json.loads(instances[0])
    entry = {"instance_id": first["id"], "label_annotations": {"preference": {"selection": "B"}}}
    path.write_text(json.dumps({**entry, "user_id": first["user_id"], "responses": first["responses"]}))
    assert campaign.import_votes(path, "potato").n_new == 1


def test_exports_are_recognised(campaign, tmp_path):
    """Columns, answers and encoding of another program; importing again changes nothing."""
    (tmp_path / "v.csv").write_text("one;two;choice\na;b;A\nc;a;same\n", encoding="utf-16")
    columns, answers = {"left": "one", "right": "two", "winner": "choice"}, {"A": "left", "B": "right", "same": "tie"}
    for n_new in (2, 0):
        recorded = campaign.import_votes(tmp_path / "v.csv", columns=columns, answers=answers, encoding="utf-16")
        assert (recorded.n_new, recorded.n_known) == (n_new, 2 - n_new)
    (tmp_path / "pairs.csv").write_text("winner,loser\nb,c\nd,a\n")
    assert campaign.import_votes(tmp_path / "pairs.csv").n_new == 2
    (tmp_path / "hot.csv").write_text("model_a,model_b,winner_model_a,winner_model_b\nd,b,0,1\n")
    assert campaign.import_votes(tmp_path / "hot.csv").n_new == 1
    assert campaign.export_votes("csv").n_votes == 5


def test_ambiguous_numbers_are_refused(sqlite, tmp_path):
    campaign = ledger_at(sqlite).new_campaign(FOUR_ITEMS, list("4321"), VOTERS, 1, settings=CampaignSettings())
    campaign.open_next()
    (tmp_path / "v").write_text("winner,loser\n2,1\n")
    with pytest.raises(TableError, match="numbers may name the items or count them from 0; choose the format 'pairs'"):
        campaign.import_votes(tmp_path / "v")
    assert campaign.import_votes(tmp_path / "v", "pairs").n_new == 1
    assert campaign.import_votes(tmp_path / "v", "choix").n_new == 1  # items 2 and 1 are "2" and "3"


def test_votes_without_a_winner_do_not_count(campaign, tmp_path):
    (tmp_path / "v").write_text(arena_battle(winner=None))
    assert campaign.import_votes(tmp_path / "v").n_new == 0


CELLS = st.one_of(st.text(), st.text("'=+-@\t\r1.a", max_size=6))


@pytest.mark.wide
@given(CELLS)
@example("''=")
@example("'-1")
def test_reading_removes_the_guard_that_writing_adds(cell):
    assert unguarded(guarded(cell)) == cell


@given(CELLS)
def test_no_cell_is_a_formula(cell):
    safe = guarded(cell)
    if safe[:1] in {"=", "+", "-", "@", "\t", "\r"} and safe:
        assert safe[0] in "+-"
        float(safe)


@pytest.mark.parametrize(
    ("prefix", "cells"),
    [
        ("'", ["=HYPERLINK(1)", "+1+1", "-1+cmd|' /C calc'!A0", "@SUM(1)", "\t=1", "\r=1", "-", "-1e5"]),
        ("", ["-1", "+2.5", "-0", "plum", "", "a=b", "'quoted'", "1-2"]),
    ],
)
def test_formulas_are_guarded_and_harmless_cells_stay(prefix, cells):
    assert [*map(guarded, cells)] == [prefix + cell for cell in cells]


@pytest.mark.parametrize("guard", [True, False])
def test_the_ranking_of_a_campaign_is_read_with_its_items(tmp_path, guard):
    table = campaign_with_votes(str(tmp_path / "ledger.sqlite")).result(interim=True).to_csv(guard=guard)
    (tmp_path / "ranking.csv").write_text(table, newline="")
    ranking = read_ranking(tmp_path / "ranking.csv", id_columns=["item"], score_column="strength")
    assert ("'=1+1" in table, set(ranking.labels)) == (guard, set(ITEMS))


def test_other_tables_keep_their_apostrophes(tmp_path):
    (tmp_path / "ranking.csv").write_text("item,rank,strength\n'=1+1,1,2\nplum,2,1\n")
    assert read_ranking(tmp_path / "ranking.csv", id_columns=["item"], score_column="strength").labels[0] == "'=1+1"


PLUM = ("image", "fruit/plum.png", "a plum")
KIWI = ("markdown", "**kiwi**", "")


def campaign_with_contents(sqlite, other, tmp_path, items=ITEMS):
    """A campaign in which two items have content."""

    def change(text):
        header, *rows = csv.reader(io.StringIO(text, newline=""))
        rows[0][2:], rows[-1][2:] = PLUM, KIWI
        return csv_text(header, rows)

    (tmp_path / "b.zip").write_bytes(
        edit_member(campaign_with_votes(sqlite, 0, items=items).bundle(names=True), "items.csv", change)
    )
    return ledger_at(other).restore(tmp_path / "b.zip")


@pytest.mark.parametrize("items", [ITEMS, PAIRS], ids=["text", "pairs"])
def test_tasks_of_label_studio_have_the_content_of_items(items, sqlite, other_path, tmp_path):
    campaign = campaign_with_contents(sqlite, other_path, tmp_path, items)
    first, last = (label if isinstance(label, str) else " ".join(label) for label in (items[0], items[-1]))
    expected = {first: PLUM, last: KIWI}
    export = campaign.export_votes("label_studio", unanswered=True, names=True)
    tasks = json.loads(export.files["tasks.json"])
    for task in tasks:
        for side in "12":
            label = task["data"][f"text{side}"]
            kind, content, alt_text = expected.get(label, ("text", label, ""))
            assert (task["data"][f"kind{side}"], task["data"][f"content{side}"]) == (kind, content)
            assert task["data"].get(f"alt_text{side}", "") == alt_text
    assert {task["data"][f"text{side}"] for task in tasks for side in "12"} > set(expected)
    (tmp_path / "tasks.json").write_text(export.files["tasks.json"], encoding="utf-8")
    assert campaign.import_votes(tmp_path / "tasks.json", "label_studio").n_known == export.n_votes > 0


def test_instances_of_potato_have_the_content_of_items(sqlite, other_path, tmp_path):
    campaign = campaign_with_contents(sqlite, other_path, tmp_path)
    expected = {ITEMS[0]: PLUM, ITEMS[-1]: KIWI}
    export = campaign.export_votes("potato", unanswered=True, names=True)
    for line in export.files["instances.jsonl"].splitlines():
        instance = json.loads(line)
        contents = [expected.get(label, ("text", label, "")) for label in instance["responses"]]
        assert instance["kinds"] == [kind for kind, _, _ in contents]
        assert instance["contents"] == [content for _, content, _ in contents]
        alt_texts = [alt_text or None for _, _, alt_text in contents]
        assert instance.get("alt_texts", [None, None]) == alt_texts
    (tmp_path / "instances.jsonl").write_text(export.files["instances.jsonl"], encoding="utf-8")
    assert campaign.import_votes(tmp_path / "instances.jsonl", "potato").n_known == export.n_votes > 0


def test_items_that_are_their_labels_have_no_content(sqlite):
    campaign = campaign_with_votes(sqlite, 0)
    assert "content" not in campaign.export_votes("label_studio").files["tasks.json"]
    assert "contents" not in campaign.export_votes("potato").files["instances.jsonl"]
