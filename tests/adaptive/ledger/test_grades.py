"""Graded preferences such as "left 2", from voters and files to bundles and results."""

import csv
import io
import json
from collections import Counter

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
    LedgerError,
    Probing,
    VoteCast,
    VotingPages,
)
from adaptive.ledger._ballots.stored import current_votes, stored_ballots
from adaptive.ledger._bundle.files import verify_bundle
from adaptive.ledger.errors import BundleError
from tests.adaptive.ledger.campaigns import campaign_of, new_id, query, read, write_rows
from tests.adaptive.ledger.databases import ITEMS, PAIRS, campaign_with_votes, ledger_at, record, rows_of
from tests.adaptive.ledger.test_bundle_members import edit_json, members_of

GRADED_ANSWERS = ["left", "right", "tie", "cannot say", "left 2", "right 2", "left 3", "right 3"]


def campaign_with_grades(target, n_closed=1, words=GRADED_ANSWERS, **options):
    """A campaign with some closed ballots, and graded votes."""
    campaign = campaign_with_votes(target, 0, n_opened=0, grades=3, **options)
    for number in range(1, n_closed + 2):
        campaign.open_next()
        record(campaign, rows_of(campaign, number, number, words=words))
        if number <= n_closed:
            campaign.close(number)
    return campaign


def table_of(export):
    return list(csv.DictReader(io.StringIO(export.files["votes.csv"], newline="")))


def test_a_campaign_accepts_only_its_own_grades(ledger):
    for grades, refused in [(1, ["left 2", "left 1", "tie 2"]), (2, ["left 3", "right 3", "LEFT 2"]), (3, ["left 4"])]:
        campaign = campaign_of(ledger, grades=grades)
        (pair, *_) = campaign.asked()
        for answer in refused:
            with pytest.raises(VoteError, match="an answer must be 'left', 'right'"):
                campaign.record({pair.id: answer})
        offered = campaign.info.answers
        assert campaign.record({pair.id: offered[-3]}).n_new == 1
        assert len(offered) == 2 + 2 * grades
    with pytest.raises(LedgerError, match="grades must be a whole number from 1 to 3; got 4"):
        CampaignSettings(grades=4)


def test_settings_without_grades_are_written_as_by_earlier_releases():
    assert "grades" not in CampaignSettings().to_dict()
    with_grades = CampaignSettings(grades=2)
    assert CampaignSettings.from_dict(json.loads(json.dumps(with_grades.to_dict()))) == with_grades


def test_votes_with_grades_are_cast_corrected_and_taken_back(ledger):
    campaign = campaign_of(ledger, grades=2, assigned=False, sheet_size=4)
    pages = VotingPages(open_link=True)
    voter, _ = campaign.voters.join(pages, consent="1", hours=1)
    sheet = voter.next_sheet(pages).sheet
    places = [pair.place for pair in sheet.pairs]

    def cast(place, answer):
        return voter.cast(VoteCast(new_id(), sheet.number, place, voter.id, answer))

    first = VoteCast(new_id(), sheet.number, places[0], voter.id, "left 2")
    assert voter.cast(first).answer == "left 2"
    assert voter.cast(first).repeated
    with pytest.raises(ConflictError) as conflict:
        cast(places[0], "left")
    assert conflict.value.recorded == "left 2"
    name = f"{sheet.number}-{sheet.sheet}-{sheet.pairs[0].position}"
    assert campaign.correct(name, "right 2", "meant the other").answer == "right 2"
    assert [event.answer for event in campaign.events_after(0)] == ["left 2", "right 2"]
    assert voter.retract(voter.vote(first.event_id), new_id()).kind == "retract"
    assert cast(places[0], "right").answer == "right"


@pytest.mark.parametrize("items", [ITEMS, PAIRS], ids=["text", "pairs"])
def test_ballots_close_as_without_grades(items, sqlite, other_path):
    with_grades, without_grades = (
        campaign_with_grades(sqlite, 0, items=items),
        campaign_with_votes(other_path, 0, n_opened=0, items=items),
    )
    without_grades.open_next()
    rows = rows_of(with_grades, 1, 1, words=GRADED_ANSWERS)
    record(without_grades, [row._replace(answer=row.answer.removesuffix(" 2").removesuffix(" 3")) for row in rows])
    closed, expected = with_grades.close(1), without_grades.close(1)
    assert_array_equal(closed.ybar, expected.ybar)
    assert_array_equal(closed.tally.wins, expected.tally.wins)


def test_the_strengths_are_those_of_the_grades_in_the_exported_file(target, tmp_path):
    campaign = campaign_with_grades(target, 1)
    export = campaign.export_votes("csv", guard=False)
    path = tmp_path / "votes.csv"
    path.write_text(export.files["votes.csv"], encoding="utf-8", newline="")
    answers = read_choices(path)
    expected = answers.choices().fit()
    result = campaign.result(interim=True)
    order = [expected.items.index(item) for item in campaign.info.items]
    assert_allclose(result.graded.theta, expected.theta[order], atol=1e-6)
    assert_allclose(result.graded.standard_errors, expected.standard_errors[order], atol=1e-6)
    assert list(result.graded.others) == ["grade 0", "grade 1", "grade 2"]
    rows = result.rows()
    strengths = dict(zip(campaign.info.items, result.graded.theta.round(4), strict=True))
    assert [row["strength"] for row in rows] == [strengths[row["item"]] for row in rows]
    in_top = dict(zip(campaign.info.items, result.graded.in_top(result.top).probability, strict=True))
    assert [row["in_top"] for row in rows] == pytest.approx([in_top[row["item"]] for row in rows])
    assert result.cut.confidence == result.graded.cut(result.top).confidence
    assert result.to_dict()["graded"]["items"][0]["item"] == rows[0]["item"]
    assert "graded votes" in result.report().methods


def test_exports_have_the_grade_or_count_the_votes_they_omit(sqlite):
    campaign = campaign_with_grades(sqlite, 0)
    votes = read(campaign, lambda transaction: current_votes(transaction, stored_ballots(transaction)[0].id))
    export = campaign.export_votes("csv")
    table = table_of(export)
    grades = Counter(row["grade"] for row in table)
    assert grades == Counter(
        "" if answer == 2 else str(grade) for answer, grade in zip(votes.answer, votes.grade, strict=True)
    )
    assert all(row["winner"] == "cannot say" for row in table if row["grade"] == "")
    assert export.n_without_grade == 0
    choix = campaign.export_votes("choix")
    assert choix.n_without_grade == int((abs(votes.grade) > 1).sum())
    assert "without their grade" in choix.to_text()


@pytest.mark.parametrize("with_ids", [True, False])
def test_grades_are_imported_also_for_swapped_items(with_ids, sqlite, other_path, tmp_path):
    source = campaign_with_grades(sqlite, 0)
    target = campaign_with_votes(other_path, 0, n_opened=0, grades=3)
    target.open_next()
    rows = table_of(source.export_votes("csv", names=True, guard=False))
    flipped = {"left": "right", "right": "left"}
    for at, row in enumerate(rows):
        if not with_ids:
            del row["comparison"]
            if at % 2:
                row["left"], row["right"] = row["right"], row["left"]
                row["winner"] = flipped.get(row["winner"], row["winner"])
                row["grade"] = str(-int(row["grade"])) if row["grade"] else ""
    path = tmp_path / "votes.csv"
    write_rows(path, rows)
    recorded = target.import_votes(path, guard=False)
    assert recorded.n_new == len(rows)
    events = [{event.comparison: event.answer for event in campaign.events_after(0)} for campaign in (source, target)]
    assert events[0] == events[1]
    assert target.import_votes(path, guard=False).n_known == len(rows)


@pytest.mark.parametrize(
    ("winner", "grade", "message"),
    [
        ("left", "4", "votes.csv:2: grade '4' does not fit the winner 'left': 1, 2, 3, +1, +2, +3"),
        ("left", "-2", "grade '-2' does not fit the winner 'left'"),
        ("right", "2.5", "grade '2.5' does not fit the winner 'right': 1, 2, 3, -1, -2, -3"),
        ("tie", "1", "grade '1' needs the winner 'left' or 'right'; got 'tie'"),
        ("", "2", "grade '2' needs the winner 'left' or 'right'; got 'none'"),
    ],
)
def test_imported_grades_must_fit_the_answer(winner, grade, message, sqlite, tmp_path):
    campaign = campaign_with_grades(sqlite, 0, words=["left"])
    path = tmp_path / "votes.csv"
    path.write_text(f"comparison,winner,grade\n1-0-0,{winner},{grade}\n", encoding="utf-8")
    with pytest.raises(VoteError, match=message.replace("+", r"\+").replace(".", r"\.")):
        campaign.import_votes(path)


@pytest.mark.parametrize("n_closed", [0, 1, 2])
def test_a_bundle_keeps_grades(n_closed, sqlite, other_path, tmp_path):
    campaign = campaign_with_grades(sqlite, n_closed)
    campaign.write_bundle(tmp_path / "b.zip")
    assert verify_bundle(tmp_path / "b.zip").n_votes == campaign.result(interim=True).n_votes + sum(
        row["winner"] == "cannot say" for row in table_of(campaign.export_votes("csv"))
    )
    restored = ledger_at(other_path).restore(tmp_path / "b.zip")
    assert restored.info.settings.grades == 3
    assert restored.bundle() == campaign.bundle()
    again = restored.result(interim=True).graded.theta
    assert_array_equal(again, campaign.result(interim=True).graded.theta)
    data = edit_json(campaign.bundle(), "plan.json", lambda plan: plan["settings"].pop("grades"))
    (tmp_path / "b.zip").write_bytes(data)
    with pytest.raises(BundleError, match="has no answer, or one too many"):
        verify_bundle(tmp_path / "b.zip")


def test_a_continuous_campaign_is_ranked_by_its_grades(ledger):
    plan = ContinuousPlan(8, 60, batch=20)
    campaign = ledger.new_campaign(plan, list("abcdefgh"), 3, 1, settings=CampaignSettings(grades=2))
    for _ in range(2):
        number = campaign.open_next(at_once=True)
        sides = {pair.id: (pair.left, pair.right) for pair in campaign.asked(number=number)}
        answers = {
            pair: ("left" if left < right else "right") + (" 2" if abs(ord(left) - ord(right)) > 3 else "")
            for pair, (left, right) in sides.items()
        }
        campaign.record(answers)
    campaign.close(number)
    result = campaign.result()
    assert result.ranking.best_first.tolist() == list(range(8))
    assert result.ranking is result.graded.ranking
    csv_rows = list(csv.DictReader(io.StringIO(members_of(campaign.bundle())["result.csv"], newline="")))
    assert [row["item"] for row in csv_rows] == [row["item"] for row in result.rows()]
    assert [float(row["strength"]) for row in csv_rows] == [row["strength"] for row in result.rows()]


def test_campaigns_whose_votes_are_few_or_all_alike_have_a_result(ledger):
    for words, names in [(["tie"], None), (["left 2"], []), (["left 2", "tie"], ["grade 0"]), (["left"], [])]:
        campaign = campaign_of(ledger, grades=2)
        pairs = [pair.id for pair in campaign.asked()][:3]
        campaign.record({pair: words[at % len(words)] for at, pair in enumerate(pairs)})
        result = campaign.result(interim=True)
        if names is None:
            assert result.graded is None
        else:
            assert list(result.graded.others) == names
        assert np.isfinite([row["standard_error"] for row in result.rows()]).all()


def test_checks_and_agreement_compare_only_the_side(ledger):
    probing = Probing((KnownPair("gold", "a", "b", "left"),), 1, 0.3, 0.3)
    campaign = campaign_of(ledger, items=list("abcdef"), grades=2, probing=probing)
    by_pair = {}
    for pair in campaign.asked():
        side = "left" if pair.left < pair.right else "right"
        by_pair[pair.id] = f"{side} 2" if len(by_pair) % 2 else side
    campaign.record(by_pair)
    quality = campaign.quality()
    assert quality.agreement.n_so == quality.agreement.n > 0
    for voter in quality.voters:
        assert voter.gold.n_so == voter.gold.n
        assert voter.repeats.n_so == voter.repeats.n


def test_excluded_voters_are_excluded_from_the_graded_fit(ledger):
    campaign = campaign_of(ledger, grades=2)
    record(campaign, rows_of(campaign, 1, 5, words=["left", "left 2", "right", "tie"], silent=0))
    name = str(campaign.info.slots[0])
    campaign.voters.named(name).exclude("too fast")
    result = campaign.result(interim=True)
    rows = [row for row in table_of(campaign.export_votes("csv", names=True, guard=False)) if row["voter"] != name]
    places = {str(item): place for place, item in enumerate(campaign.info.items)}
    left, right = ([places[row[side]] for row in rows] for side in ("left", "right"))
    expected = Choices.from_grades(campaign.info.items, left, right, [int(row["grade"]) for row in rows]).fit()
    assert_allclose(result.graded.theta, expected.theta, atol=1e-6)
    assert -1 <= result.agreement <= 1


def test_voters_who_never_contradict_each_other_have_a_result(ledger):
    """Without votes against the order, only the prior bounds the strengths."""
    items = list(range(20))
    plan = ContinuousPlan(20, 190, batch=190)
    campaign = ledger.new_campaign(plan, items, 1, 1, settings=CampaignSettings(grades=2))
    number = campaign.open_next()
    answers = {}
    for pair in campaign.asked(number=number):
        side = "left" if pair.left < pair.right else "right"
        answers[pair.id] = f"{side} 2" if abs(pair.left - pair.right) > 3 else side
    campaign.record(answers)
    assert campaign.preview(number).is_ready
    result = campaign.result(interim=True)
    assert result.ranking.best_first.tolist() == items
    assert result.graded.prior_sd <= 30
    assert np.isfinite(result.graded.standard_errors).all()


def test_a_result_of_few_voters_notes_that_votes_count_as_independent(sqlite):
    warning = "with fewer than 10 voters, intervals of graded votes are as if all votes were independent"
    assert warning in campaign_with_grades(sqlite, 0).result(interim=True).warnings


def test_too_many_items_for_a_graded_fit_are_refused(ledger):
    plan = ContinuousPlan(1_501, 50)
    with pytest.raises(LedgerError, match="grades are for at most 1,500 items; got 1,501"):
        ledger.new_campaign(plan, 1_501, 3, 1, settings=CampaignSettings(grades=2))
    assert query(ledger, "SELECT 1 FROM campaign") == []
    ledger.new_campaign(plan, 1_501, 3, 1)


def test_grades_as_pandas_writes_a_column_with_gaps(sqlite, tmp_path):
    campaign = campaign_with_votes(sqlite, 0, n_opened=0, grades=3)
    campaign.open_next()
    pairs = [pair.id for pair in campaign.asked()][:4]
    rows = zip(pairs, ["left", "right", "tie", "cannot say"], ["2.0", "-3.0", "0.0", ""], strict=True)
    path = tmp_path / "votes.csv"
    path.write_text("comparison,winner,grade\n" + "".join(",".join(row) + "\n" for row in rows), encoding="utf-8")
    assert campaign.import_votes(path).n_new == 4
    assert [event.answer for event in campaign.events_after(0)] == ["left 2", "right 3", "tie", "cannot say"]
