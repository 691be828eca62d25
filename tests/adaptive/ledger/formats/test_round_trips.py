"""What a format holds comes back as it was, in another ledger and in the models."""

import csv
import io
import json

import pytest

from adaptive._tables import read_items
from adaptive.ledger import Settings
from adaptive.ledger._votes import exports
from adaptive.ledger._votes.exports import FORMATS
from adaptive.model._comparisons import read_comparisons
from tests.adaptive.ledger.campaigns import read
from tests.adaptive.ledger.voted import ITEMS, PAIRS, PLAN, VOTERS, ledger_at, record, rows_of, voted

EXPRESSES = {
    "csv": {"left", "right", "tie", "cannot say"},
    "arena": {"left", "right", "tie"},
    "label_studio": {"left", "right"},
    "potato": {"left", "right", "tie"},
    "choix": {"left", "right"},
}


def all_of(campaign, **options):
    return read(campaign, exports.read_comparisons, names=True, **options)


def answers(campaign, expressed=EXPRESSES["csv"]):
    """The answer to each comparison, None where a format has no word for it."""
    return {vote.comparison: vote.answer if vote.answer in expressed else None for vote in all_of(campaign)}


def twin(target, items=ITEMS):
    """The same ballot 1, without votes."""
    campaign = ledger_at(target).new_campaign(PLAN, items, VOTERS, 1, settings=Settings(least_answered=0.5))
    campaign.open_next()
    return campaign


def written(export, folder):
    for name, text in export.files.items():
        (folder / name).write_text(text, encoding="utf-8", newline="")
    return folder / next(iter(export.files))


@pytest.mark.parametrize("items", [ITEMS, PAIRS, list(range(8))], ids=["text", "pairs", "numbers"])
@pytest.mark.parametrize("form", ["csv", "arena", "label_studio", "potato"])
@pytest.mark.parametrize("guard", [True, False])
def test_votes_come_back_in_another_ledger(form, items, guard, sqlite, other, tmp_path):
    source, other = voted(sqlite, 0, items=items), twin(other, items)
    export = source.export_votes(form, names=True, guard=guard, unanswered=True)
    path = written(export, tmp_path)
    brought = other.import_votes(path, form, guard=guard)
    came = {vote.comparison: vote for vote in all_of(other)}
    for vote in all_of(source):
        again = came[vote.comparison]
        assert (again.left, again.right, again.voter) == (vote.left, vote.right, vote.voter)
        assert again.answer == (vote.answer if vote.answer in EXPRESSES[form] else None)
        if form == "csv" and vote.answer is not None:
            extra = {name: cell for name, cell in again.extra.items() if name != "received_at"}
            assert (again.response_ms, extra) == (vote.response_ms, vote.extra)
    assert brought.n_new == export.n_votes > 0
    again = other.import_votes(path, form, guard=guard)
    assert (again.n_new, again.n_known, again.n_conflicts) == (0, export.n_votes, 0)


@pytest.mark.parametrize("form", ["csv", "arena", "label_studio", "potato"])
def test_without_ids_a_vote_is_about_its_voters_comparison_of_the_pair(form, sqlite, other, tmp_path):
    """Half of the rows have their items on the other sides."""
    source, other = voted(sqlite, 0), twin(other)
    path = written(source.export_votes(form, names=True, guard=False), tmp_path)
    if form == "csv":
        rows = list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"), newline="")))
        for number, row in enumerate(rows):
            del row["comparison"]
            if number % 2:
                row["left"], row["right"] = row["right"], row["left"]
                row["winner"] = {"left": "right", "right": "left"}.get(row["winner"], row["winner"])
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
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
    assert answers(other) == answers(source, EXPRESSES[form])


def test_pairs_of_choix_come_back_where_a_pair_is_compared_once(sqlite, target, tmp_path):
    source, other = voted(sqlite, 0), twin(target)
    brought = other.import_votes(written(source.export_votes("choix"), tmp_path), "choix")
    assert answers(other) == answers(source, EXPRESSES["choix"])
    assert brought.n_new == source.export_votes("choix").n_votes


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("items", [ITEMS, list("abcdefgh")], ids=["odd", "plain"])
def test_the_models_count_the_same_wins(form, items, sqlite, tmp_path):
    source = voted(sqlite, 2, items=items)
    path = written(source.export_votes(form, guard=False), tmp_path)
    known = read_items(tmp_path / "items.csv") if form == "choix" else items
    found = read_comparisons(path, format=form, items=known)
    wins = dict.fromkeys(items, 0)
    for vote in all_of(source):
        if vote.answer in {"left", "right"}:
            wins[vote.left if vote.answer == "left" else vote.right] += 1
    assert dict(zip(found.items, found.wins.tolist(), strict=True)) == wins
    assert found.n_ties == sum(vote.answer == "tie" for vote in all_of(source)) * ("tie" in EXPRESSES[form])
    assert found.n_voters == (0 if form == "choix" else 3)


def test_plain_labels_are_read_by_any_reader_of_csv(sqlite, tmp_path):
    path = written(voted(sqlite, 1, items=list("abcdefgh")).export_votes("csv", unanswered=True), tmp_path)
    found = read_comparisons(path)
    assert found.n_comparisons + found.n_unanswered == 30
    assert found.n_unanswered > 4  # those who cannot say are among them


def test_names_leave_only_when_asked_for(sqlite):
    campaign = voted(sqlite, 1)
    for form in FORMATS:
        for name in VOTERS:
            assert name not in "".join(campaign.export_votes(form, unanswered=True).files.values())
    assert "Bob" in campaign.export_votes("csv", names=True).files["votes.csv"]


def test_votes_of_an_excluded_voter_are_left_out_and_counted(sqlite):
    campaign = voted(sqlite, 0)
    before = campaign.export_votes("csv")
    campaign.voters.named("Bob").exclude("too fast")
    after = campaign.export_votes("csv", names=True, unanswered=True)
    n_bob = sum(vote.voter == "Bob" and vote.answer is not None for vote in all_of(campaign))
    assert after.left_out == {"their voter is excluded": n_bob}
    assert after.n_votes == before.n_votes - n_bob
    assert after.to_text() == f"{after.n_votes} votes in votes.csv; {n_bob} left out: their voter is excluded"


def test_a_column_with_a_name_of_ours_is_kept_under_another(sqlite):
    campaign = twin(sqlite)
    row = rows_of(campaign, 1, silent=0)[0]
    record(campaign, [row._replace(extra=(("received_at", "noon"), ("left_1", "x")))])
    header, first = campaign.export_votes("csv").files["votes.csv"].splitlines()[:2]
    assert header == "comparison,voter,left,right,winner,left_1,file_received_at,seconds,received_at"
    assert ",x,noon,," in first
