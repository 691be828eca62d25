"""The steps of a voter through a campaign, on both databases."""

import pytest

from adaptive.ledger import (
    CampaignSettings,
    ConflictError,
    ContinuousPlan,
    FinishedError,
    ItemContent,
    KnownPair,
    LedgerBusyError,
    LedgerError,
    Origin,
    PageTexts,
    Probing,
    Visit,
    VoteCast,
    VotingPages,
)
from adaptive.ledger._ballots.batches import draw_batch
from adaptive.ledger._ballots.pairs import VoteEvent, pair_of_event
from adaptive.ledger._membership import consent, join, platform_voters
from adaptive.ledger._store.schema import now, pair_id
from adaptive.ledger._tokens import holder_of, issue
from adaptive.ledger._voter import is_more_left, next_sheet, state_of
from adaptive.ledger._votes.casting import retract
from adaptive.ledger._votes.voiding import ask_others
from tests.adaptive.ledger.campaigns import (
    ITEMS,
    PLAN,
    campaign_of,
    change,
    check_ids,
    check_ledger,
    new_id,
    query,
    read,
    vote,
    write,
)
from tests.adaptive.ledger.test_races import run_at_once

PAGES = VotingPages(open_link=True)


def web_campaign(ledger, **settings):
    return campaign_of(ledger, assigned=False, **{"sheet_size": 2, **settings})


def join_campaign(campaign):
    voter = write(campaign, join, PAGES, None)
    write(campaign, consent, PAGES, voter, "1")
    return voter


def claim_sheet(campaign, voter, pages=PAGES):
    """Claim a sheet; return the sheet and None, or None and the reason for the refusal."""
    state = write(campaign, next_sheet, pages, voter)
    return (state.sheet if state.available else None), state.reason


def state_for_voter(campaign, voter, pages=PAGES):
    return read(campaign, state_of, pages, voter)


def answer(campaign, voter, sheet, *positions):
    """Answer "left" to these pairs of a sheet, or to all of them."""
    for pair in sheet.pairs:
        if not positions or pair.position in positions:
            campaign.cast(VoteCast(new_id(), sheet.number, pair.place, voter, "left"))


def test_a_voter_joins_consents_votes_and_finishes(ledger):
    campaign, pages = web_campaign(ledger), VotingPages(open_link=True, sheets=2)
    voter = write(campaign, join, pages, None)
    assert state_for_voter(campaign, voter, pages).step == "consent"
    write(campaign, consent, pages, voter, "1")
    assert state_for_voter(campaign, voter, pages).step == "vote"
    for n_sheets_done in range(2):
        sheet, reason = claim_sheet(campaign, voter, pages)
        assert (len(sheet.pairs), sheet.answers, reason) == (2, {}, None)
        answer(campaign, voter, sheet, 0)
        again, _ = claim_sheet(campaign, voter, pages)
        assert (again.sheet, sorted(again.answers)) == (sheet.sheet, [0])
        assert [pair.position for pair in again.missing] == [1]
        assert state_for_voter(campaign, voter, pages).n_sheets_done == n_sheets_done
        answer(campaign, voter, sheet, 1)
    assert claim_sheet(campaign, voter, pages) == (None, "limit")
    end = state_for_voter(campaign, voter, pages)
    assert (end.step, end.n_sheets_done, end.n_answers, end.available, end.reason) == ("finish", 2, 4, False, "limit")
    check_ledger(campaign)


def test_the_voter_sees_answers_to_checks_counted_with_the_others(ledger):
    known = (KnownPair("practice", ITEMS[0], ITEMS[1], "left"), KnownPair("attention", ITEMS[2], ITEMS[3], "left"))
    campaign = web_campaign(ledger, probing=Probing(known))
    voter, other = join_campaign(campaign), join_campaign(campaign)
    sheet, _ = claim_sheet(campaign, voter)
    answer(campaign, voter, sheet)
    answer(campaign, other, claim_sheet(campaign, other)[0])
    names = [pair_id(1, sheet.sheet, pair.position) for pair in sheet.pairs]
    assert len(set(names) & set(check_ids(campaign))) == 2
    assert state_for_voter(campaign, voter).n_answers == 3  # except practice
    check = sheet.pairs[names.index(check_ids(campaign)[2 * sheet.sheet + 1])]
    retract(campaign, new_id(), sheet.number, check.place, voter)
    assert state_for_voter(campaign, voter).n_answers == 2


def test_checks_are_among_the_pairs_and_practice_is_asked_once(ledger):
    known = tuple(KnownPair(kind, *pair, "left") for kind, pair in (("practice", ITEMS[:2]), ("attention", ITEMS[2:4])))
    campaign = web_campaign(ledger, probing=Probing(known), sheet_size=3)
    voter = join_campaign(campaign)
    first, _ = claim_sheet(campaign, voter)
    assert [pair.is_practice for pair in first.pairs][:1] == [True]
    assert first.pairs[0].expected in ("left", "right")
    assert all(pair.expected is None for pair in first.pairs[1:])  # expected answers of attention checks are hidden
    assert [pair.position for pair in first.pairs] == list(range(len(first.pairs)))
    answer(campaign, voter, first)
    second, _ = claim_sheet(campaign, voter)
    assert (second.number, second.sheet) != (first.number, first.sheet)
    assert not any(pair.is_practice for pair in second.pairs)
    other, _ = claim_sheet(campaign, join_campaign(campaign))
    assert other.pairs[0].is_practice


def test_a_skipped_check_keeps_the_sheet_leased(ledger):
    known = (KnownPair("attention", ITEMS[2], ITEMS[3], "left"),)
    campaign = web_campaign(ledger, probing=Probing(known), sheet_size=3)
    voter = join_campaign(campaign)
    sheet, _ = claim_sheet(campaign, voter)
    probe = next(pair for pair in sheet.pairs if pair_id(1, sheet.sheet, pair.position) in check_ids(campaign))
    answer(campaign, voter, sheet, *(pair.position for pair in sheet.pairs if pair != probe))
    assert state_for_voter(campaign, voter, VotingPages(open_link=True, sheets=1)).step == "vote"
    again, _ = claim_sheet(campaign, voter)
    assert again.missing == (probe,)
    answer(campaign, voter, sheet, probe.position)
    assert claim_sheet(campaign, voter)[0].sheet != sheet.sheet


def test_a_new_version_of_the_consent_text_needs_consent_again(ledger):
    campaign = web_campaign(ledger)
    voter = join_campaign(campaign)
    new_pages = VotingPages(open_link=True, consent_version="2")
    assert state_for_voter(campaign, voter, new_pages).step == "consent"
    with pytest.raises(LedgerError, match=r"the consent text has version 2; got '1'"):
        write(campaign, consent, new_pages, voter, "1")
    kinds = query(campaign, "SELECT kind, details FROM audit_event WHERE kind = 'consented'")
    assert kinds == [("consented", '{"version":"1"}')]


def test_leaving_erases_the_voter_and_voids_votes_of_open_ballots(ledger):
    campaign = web_campaign(ledger)
    voter, other = join_campaign(campaign), join_campaign(campaign)
    sheet, _ = claim_sheet(campaign, voter)
    answer(campaign, voter, sheet)
    theirs, _ = claim_sheet(campaign, other)
    answer(campaign, other, theirs)
    token = write(campaign, issue, "session", voter_id=voter)
    assert campaign.voter(voter).leave() == 2
    check_ledger(campaign)
    assert not query(campaign, "SELECT 1 FROM voter_identity WHERE voter_id = :id", id=voter)
    assert query(campaign, "SELECT external_hash FROM voter WHERE id = :id", id=voter) == [(None,)]
    assert campaign.read(holder_of, token, ["session"]) is None
    assert state_for_voter(campaign, other).n_answers == 2
    third = join_campaign(campaign)
    reissued, _ = claim_sheet(campaign, third)
    assert reissued.sheet == sheet.sheet  # another voter is asked the voided pairs
    answer(campaign, third, reissued)
    check_ledger(campaign)


def test_sheets_of_voters_who_all_left_are_given_away_in_every_batch(ledger):
    campaign = ledger.new_campaign(ContinuousPlan(6, budget=20, batch=10), ITEMS, ["Ann", "Bob"], 1)
    campaign.open_next()
    campaign.record({pair.id: "left" for pair in campaign.asked()})
    keys = [campaign.voters.named(name).key for name in ("Ann", "Bob")]
    assert [campaign.voters.with_key(key).leave() for key in keys] == [5, 5]
    campaign.open_next(at_once=True)
    assert [row.name for row in campaign.voters.rows(names=True)] == [None, None]  # the draw registers nobody again
    assert [campaign.voters.give_sheets(name, giver=key) for name, key in zip("CD", keys, strict=True)] == [2, 2]
    assert campaign.record({pair.id: "left" for pair in campaign.asked(unanswered=True)}).n_new == 20
    campaign.close(2)
    check_ledger(campaign)


def campaign_with_closed_ballot(ledger):
    """A campaign whose first ballot is closed, and its voters."""
    campaign = web_campaign(ledger, sheet_size=None, least_answered=0.0)
    voters = [join_campaign(campaign) for _ in range(3)]
    for voter in voters:
        answer(campaign, voter, claim_sheet(campaign, voter)[0])
    campaign.close(1)
    return campaign, voters


def test_votes_of_closed_ballots_stay_when_a_voter_leaves(ledger):
    campaign, voters = campaign_with_closed_ballot(ledger)
    digest = campaign.ballots()[0].votes_digest
    assert campaign.voter(voters[0]).leave() == 0
    assert campaign.ballots()[0].votes_digest == digest
    assert len(query(campaign, "SELECT 1 FROM vote_event WHERE kind = 'void'")) == 0


def test_open_links_work_only_if_enabled(ledger):
    campaign = web_campaign(ledger)
    with pytest.raises(LedgerError, match="only for invited voters"):
        write(campaign, join, VotingPages(), None)
    assert not query(campaign, "SELECT 1 FROM voter")


def test_a_returning_participant_is_the_same_voter(ledger):
    campaign, pages = web_campaign(ledger), VotingPages(platform="prolific", study="s1")

    def come(participant="5f" * 12, study="s1", pages=pages):
        return write(campaign, join, pages, Visit("prolific", participant, study))

    assert come() == come()
    assert come("6f" * 12) != come()
    for options, message in (
        ({"study": "s2"}, "the link belongs to another study"),
        ({"participant": "{{%PROLIFIC_PID%}}"}, "not an id of a participant of prolific"),
        ({"participant": "5F" * 12}, "not an id of a participant of prolific"),
        ({"pages": PAGES}, "does not use prolific"),
    ):
        with pytest.raises(LedgerError, match=message):
            come(**options)
    assert len(query(campaign, "SELECT 1 FROM voter")) == 2


def test_only_the_hash_of_an_invitation_is_stored(ledger):
    campaign = web_campaign(ledger)
    tokens = campaign.voters.invite(["Ann", "Bob"])
    assert len({*tokens}) == 2
    holders = [campaign.read(holder_of, token, ["invitation"]) for token in tokens]
    assert [holder.campaign_key for holder in holders] == [campaign.key] * 2
    assert len({holder.voter_id for holder in holders}) == 2
    dump = str([query(campaign, f"SELECT * FROM {table}") for table in ("token", "voter", "audit_event")])
    assert not any(token in dump for token in tokens)
    again = campaign.voters.invite(["Ann"])[0]
    assert campaign.read(holder_of, again, ["invitation"]).voter_id == holders[0].voter_id
    with pytest.raises(LedgerError, match="names must be unique"):
        campaign.voters.invite(["Cid", "Cid"])


def test_a_token_is_valid_for_its_purpose_until_it_expires(ledger):
    campaign = web_campaign(ledger)

    def opens(token, *kinds):
        return campaign.read(holder_of, token, kinds) is not None

    lasting, ended = (write(campaign, issue, "organiser", hours=hours) for hours in (None, 0.0))
    assert opens(lasting, "organiser")
    assert not opens(lasting, "session", "invitation", "study")
    assert not opens(ended, "organiser")
    assert not any(opens(guess, "organiser") for guess in ("", lasting[:-1], lasting + "A", "A" * 43, "%" * 43))
    campaign.tokens.revoke(lasting)
    assert not opens(lasting, "organiser")


def test_every_version_of_the_pages_is_kept(ledger):
    campaign = web_campaign(ledger)
    assert campaign.pages() == (0, VotingPages())
    hebrew = {"he": PageTexts("מה קודם?", "מי קודם?", consent="אני מסכים"), "en": PageTexts("First?", "Which?")}
    first = VotingPages(hebrew, open_link=True, sheets=3, completion_code="C1", completion_url="https://a.example/?c=1")
    assert campaign.set_pages(first, replaces=0) == 1
    assert campaign.pages() == (1, first)
    assert list(campaign.pages()[1].texts) == ["he", "en"]
    with pytest.raises(LedgerError, match="the pages now have version 1"):
        campaign.set_pages(first, replaces=0)
    reworded = VotingPages({"he": PageTexts("מה קודם?", "מי קודם?", consent="כן")})
    with pytest.raises(LedgerError, match="give it a new consent_version"):
        campaign.set_pages(reworded, replaces=1)
    assert len(query(campaign, "SELECT 1 FROM voting_pages")) == 1


def test_items_have_contents(ledger):
    contents = [ItemContent(), ItemContent("markdown", "**fir**"), ItemContent("image", "trees/oak.png", "an oak")]
    contents += [ItemContent("text", "a tree") for _ in range(3)]
    campaign = ledger.new_campaign(PLAN, ITEMS, 3, 1, settings=CampaignSettings(assigned=False), contents=contents)
    assert campaign.contents() == tuple(contents)
    with pytest.raises(LedgerError, match="one for each of the 6 items; got 1"):
        ledger.new_campaign(PLAN, ITEMS, 3, 1, contents=contents[:1])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (("markdown", "[" * 1_001), "at most 10,000 characters and 1,000 opening brackets; got 1,001 and 1,001"),
        (("image", "a.png", "a" * 10_001), "alt_text must have at most 10,000 characters"),
        (("video", "a"), "text, markdown, image or audio"),
        (("markdown",), "needs its content"),
        (("image", "../a.png", "a"), "path of a file"),
        (("audio", "https://a.example/a.mp3", "a"), "path of a file"),
        (("image", "a/.hidden/b.png", "a"), "path of a file"),
    ],
)
def test_invalid_contents_are_refused(content, message):
    with pytest.raises(LedgerError, match=message):
        ItemContent(*content)


def test_an_event_is_found_by_its_id(ledger):
    campaign = web_campaign(ledger)
    voter = join_campaign(campaign)
    sheet, _ = claim_sheet(campaign, voter)
    cast_vote = vote(voter, sheet.pairs[1].place)
    campaign.cast(cast_vote)
    result = read(campaign, pair_of_event, cast_vote.event_id)
    assert result == VoteEvent(1, sheet.pairs[1].place, f"1-{sheet.sheet}-1", voter)
    assert read(campaign, pair_of_event, new_id()) is None


def test_no_voter_gets_a_pair_of_an_earlier_batch_again(ledger):
    plan = ContinuousPlan(n_items=6, budget=30, batch=10)
    campaign = ledger.new_campaign(plan, 6, 10, 1, settings=CampaignSettings(assigned=False, sheet_size=1))
    voters = [join_campaign(campaign) for _ in range(2)]

    def pairs_of(voter):
        """All pairs that a voter gets from the existing batches, in order."""
        pairs = []
        while (sheet := claim_sheet(campaign, voter)[0]) is not None:
            pairs += [frozenset((pair.left, pair.right)) for pair in sheet.pairs]
            answer(campaign, voter, sheet)
        return pairs

    draw_batch(campaign)
    before = [pairs_of(voter) for voter in voters]
    draw_batch(campaign, at_once=True)
    assert before[0]
    assert (after := pairs_of(voters[0]))
    assert not set(before[0]) & set(after)
    rows = query(campaign, "SELECT left_item, right_item FROM comparison WHERE ballot_id = 2")
    assert {frozenset(pair) for pair in rows} & set(before[0])  # the remaining pairs are left for other voters


def test_an_excluded_voter_gets_no_further_sheet(ledger):
    campaign = web_campaign(ledger)
    voter = join_campaign(campaign)
    sheet, _ = claim_sheet(campaign, voter)
    campaign.voter(voter).exclude("coins")
    assert claim_sheet(campaign, voter)[0].sheet == sheet.sheet  # a sheet in progress is not taken away
    answer(campaign, voter, sheet)
    assert claim_sheet(campaign, voter) == (None, "none left")
    assert state_for_voter(campaign, voter).step == "finish"
    campaign.voter(voter).include("a mistake")
    assert claim_sheet(campaign, voter)[0] is not None


def test_voting_is_closed_before_and_between_ballots(ledger):
    campaign = ledger.new_campaign(PLAN, ITEMS, 3, 1, settings=CampaignSettings(assigned=False, least_answered=0.0))
    voter = join_campaign(campaign)
    assert claim_sheet(campaign, voter) == (None, "not open")
    for number in (1, 2):
        assert state_for_voter(campaign, voter).reason == "not open"
        campaign.open_next()
        while (sheet := claim_sheet(campaign, other := join_campaign(campaign))[0]) is not None:
            answer(campaign, other, sheet)
        assert state_for_voter(campaign, voter).reason == "none left"
        campaign.close(number)
    assert state_for_voter(campaign, voter).reason == "ended"
    assert claim_sheet(campaign, voter) == (None, "ended")
    assert campaign.voters.why_none_left() == ("ended", None)


@pytest.mark.parametrize(("size", "sheets"), [(None, [4, 4, 4]), (3, [2, 2] * 3), (2, [2, 2] * 3), (5, [4] * 3)])
def test_sheets_have_nearly_equal_sizes(ledger, size, sheets):
    campaign = campaign_of(ledger, sheet_size=size)
    assert query(campaign, "SELECT n_comparisons FROM sheet ORDER BY number") == [(n,) for n in sheets]
    rows = query(campaign, "SELECT sheet, position FROM comparison ORDER BY sheet, position")
    assert rows == [(sheet, place) for sheet, n in enumerate(sheets) for place in range(n)]


def exclude(campaign, voter, excluded=True):
    (campaign.voter(voter).exclude if excluded else campaign.voter(voter).include)("too fast")


def give_to_others(campaign, voter):
    return write(campaign, ask_others, voter)


def test_comparisons_of_an_excluded_voter_are_given_to_others(ledger):
    campaign = web_campaign(ledger)
    voter = join_campaign(campaign)
    full_sheet, _ = claim_sheet(campaign, voter)
    answer(campaign, voter, full_sheet)
    begun_sheet, _ = claim_sheet(campaign, voter)
    answer(campaign, voter, begun_sheet, 0)
    with pytest.raises(LedgerError, match="the voter is not excluded"):
        give_to_others(campaign, voter)
    exclude(campaign, voter)
    assert give_to_others(campaign, voter) == 3
    check_ledger(campaign)
    assert query(campaign, "SELECT DISTINCT reason FROM vote_event WHERE kind = 'void'") == [("asked of others",)]
    assert state_for_voter(campaign, voter).sheet is None
    assert claim_sheet(campaign, voter) == (None, "none left")
    other = join_campaign(campaign)
    sheets_of_others = [claim_sheet(campaign, other)[0] for _ in (full_sheet, begun_sheet)]
    answer(campaign, other, sheets_of_others[0])
    sheets_of_others[1] = claim_sheet(campaign, other)[0]
    assert {sheet.sheet for sheet in sheets_of_others} == {full_sheet.sheet, begun_sheet.sheet}
    assert [len(sheet.pairs) for sheet in sheets_of_others] == [2, 2]
    answer(campaign, other, sheets_of_others[1])
    assert give_to_others(campaign, voter) == 0  # answers of others are kept
    exclude(campaign, voter, False)
    assert state_for_voter(campaign, other).n_answers == 4
    assert state_for_voter(campaign, voter).n_answers == 0
    check_ledger(campaign)


def test_votes_of_closed_ballots_cannot_be_voided(ledger):
    campaign, voters = campaign_with_closed_ballot(ledger)
    exclude(campaign, voters[0])
    assert give_to_others(campaign, voters[0]) == 0
    assert not query(campaign, "SELECT 1 FROM vote_event WHERE kind = 'void'")


STUDY = "6f8d0d55b54764421b715dd2"
N_REQUESTS = 12
DAY = 86_400_000_000


STUDY_PAGES = VotingPages(platform="prolific", study=STUDY, completion_code="C0DE", sheets=1)


def participant(campaign):
    """A participant with an answered sheet, and the answers."""
    visit = Visit("prolific", participant="5f8d0d55b54764421b715dd1", study=STUDY)
    voter, _ = campaign.voters.join(STUDY_PAGES, consent="1", hours=1, visit=visit)
    sheet = voter.next_sheet(STUDY_PAGES).sheet
    votes = [VoteCast(new_id(), sheet.number, pair.place, voter.id, "left") for pair in sheet.pairs]
    for sent in votes:
        voter.cast(sent)
    return voter, votes


def test_after_the_end_an_answer_can_be_changed_but_not_retracted(ledger):
    campaign = web_campaign(ledger)
    voter, votes = participant(campaign)
    other = VoteCast(new_id(), votes[0].number, votes[0].place, voter.id, "right")
    with pytest.raises(ConflictError, match="already has the vote 'left'"):
        voter.cast(other)
    assert voter.finish(STUDY_PAGES).outcome == "complete"
    for sent in votes:
        with pytest.raises(FinishedError, match="you have finished: an answer can be changed, but not taken back"):
            voter.retract(voter.vote(sent.event_id), new_id())
    receipt = voter.cast(other)
    assert (receipt.revision, receipt.answer, voter.cast(other).repeated) == (2, "right", True)
    assert voter.state(STUDY_PAGES).n_answers == len(votes)
    assert [participant.decision for participant in read(campaign, platform_voters).participants] == ["approve"]
    check_ledger(campaign)


def begin_closing(ledger, *, seconds):
    """Let another process begin to close the open ballot; after `seconds`, it counts as dead."""
    end = now() + 1_000_000 * seconds
    change(ledger, "UPDATE ballot SET state = 'closing', closer = 'other', closer_until = :end", end=end)


def test_newcomers_wait_while_a_ballot_is_closed_which_may_fail(ledger):
    campaign = web_campaign(ledger)
    newcomer = join_campaign(campaign)
    begin_closing(ledger, seconds=20)
    assert claim_sheet(campaign, newcomer) == (None, "wait")
    assert state_for_voter(campaign, newcomer).step == "vote"
    visit = Visit("prolific", participant="5f8d0d55b54764421b715dd1", study=STUDY)
    assert not campaign.voters.turns_away(STUDY_PAGES, visit)
    assert (campaign.status().state, campaign.ballot_progress()[0].state) == ("closing", "closing")


def test_a_ballot_whose_closer_died_is_open_to_voters_and_in_reports(ledger):
    campaign = web_campaign(ledger)
    newcomer = join_campaign(campaign)
    begin_closing(ledger, seconds=20)
    before = campaign.progress_stamp(), campaign.ballot(1).stamp
    begin_closing(ledger, seconds=-1)
    assert (campaign.status().state, campaign.ballot_progress()[0].state) == ("open", "open")
    after = campaign.progress_stamp(), campaign.ballot(1).stamp
    assert all(old != new for old, new in zip(before, after, strict=True))
    assert claim_sheet(campaign, newcomer)[0] is not None
    assert campaign.ballots()[0].state == "open"


def test_sheets_of_a_ballot_whose_closer_died_are_read_and_given_away(ledger):
    campaign = campaign_of(ledger)
    asked = campaign.asked()
    begin_closing(ledger, seconds=-1)
    assert campaign.asked() == asked
    assert campaign.voters.give_sheets("Dora", giver="0") == 1
    assert campaign.ballots()[0].state == "open"
    begin_closing(ledger, seconds=20)
    with pytest.raises(LedgerError, match="no ballot is open: there is no sheet to give"):
        campaign.voters.give_sheets("Eve", giver="1")


def test_the_key_of_a_voter_is_no_name_of_a_new_one(ledger):
    campaign = campaign_of(ledger)
    key = campaign.voters.named("1").key
    with pytest.raises(LedgerError, match=f"'{key}' is the key of another voter; give the voter's name, or a new one"):
        campaign.voters.give_sheets(key, giver="0")
    assert len(campaign.voters.rows()) == 3


def test_a_voter_is_excluded_and_others_asked_in_one_step(ledger):
    campaign = web_campaign(ledger)
    voter = join_campaign(campaign)
    answer(campaign, voter, claim_sheet(campaign, voter)[0])
    begin_closing(ledger, seconds=20)
    with pytest.raises(LedgerBusyError, match="a ballot is being closed"):
        campaign.voter(voter).exclude("at random", ask_others=True)
    assert not campaign.voters.rows()[0].excluded
    change(ledger, "UPDATE ballot SET state = 'open', closer = NULL, closer_until = NULL")
    assert campaign.voter(voter).exclude("at random", ask_others=True) == 2
    assert campaign.voters.rows()[0].excluded
    check_ledger(campaign)


def current_votes_by_voter(campaign):
    """Number of votes in force of each voter's key, by plain SQL."""
    rows = query(
        campaign,
        "SELECT v.key, count(*) FROM vote_event e "
        "JOIN voter v ON v.id = e.voter_id JOIN ballot b ON b.id = e.ballot_id "
        "WHERE b.campaign_id = :campaign AND e.kind = 'cast' AND e.place < b.n_comparisons AND e.revision = "
        "(SELECT max(f.revision) FROM vote_event f WHERE f.ballot_id = e.ballot_id AND f.place = e.place) "
        "GROUP BY v.key",
        campaign=campaign.info.id,
    )
    return dict(rows)


def check_counts(campaign):
    """Check that every report counts the votes in force, and the voters who gave them."""
    expected = current_votes_by_voter(campaign)
    now, rows = campaign.status(), campaign.voters.rows()
    assert (now.n_votes, now.n_voters) == (sum(expected.values()), len(expected))
    assert {row.key: row.n_votes for row in rows if row.n_votes} == expected
    assert {row.key: row.n_votes for row in campaign.quality().voters} == expected
    counted = sum(expected.get(row.key, 0) for row in rows if not row.excluded)
    assert (now.n_counted, campaign.preview().n_answered) == (counted, counted)


def test_reports_count_the_votes_in_force(ledger):
    campaign = web_campaign(ledger, sheet_size=3)
    participant_voter, votes = participant(campaign)
    voters = [campaign.voter(join_campaign(campaign)) for _ in range(3)]
    for voter in voters:
        answer(campaign, voter.id, claim_sheet(campaign, voter.id)[0])
    check_counts(campaign)
    last_votes = {row.key: row.last_vote for row in campaign.voters.rows()}
    participant_voter.finish(STUDY_PAGES)
    participant_voter.cast(VoteCast(new_id(), votes[0].number, votes[0].place, participant_voter.id, "right"))
    check_counts(campaign)
    campaign.correct(participant_voter.vote(votes[1].event_id).pair, "tie", "a slip")
    campaign.correct(participant_voter.vote(votes[1].event_id).pair, None, "not read")
    check_counts(campaign)
    assert voters[0].leave() == 2
    check_counts(campaign)
    voters[1].exclude("at random")
    check_counts(campaign)
    assert voters[1].ask_others() == 2
    check_counts(campaign)
    assert campaign.status().n_voters == 2
    changed = {row.key for row in campaign.voters.rows() if row.last_vote != last_votes[row.key]}
    assert changed == {participant_voter.key}  # whose own change is a vote; a correction and voiding are none


def test_a_participant_without_valid_answers_is_not_approved(ledger):
    campaign = web_campaign(ledger)
    voter, votes = participant(campaign)
    voter.finish(STUDY_PAGES)
    for (pair,) in [(voter.vote(sent.event_id).pair,) for sent in votes]:
        campaign.correct(pair, None, "not an answer")
    (one,) = read(campaign, platform_voters).participants
    assert (one.outcome, one.decision, one.reason) == ("complete", "reject", "no answer is left")


def test_a_sheet_with_a_retracted_answer_is_not_done(ledger):
    campaign, pages = web_campaign(ledger), VotingPages(open_link=True, sheets=2)
    voter, _ = campaign.voters.join(pages, consent="1", hours=1)
    sheet = voter.next_sheet(pages).sheet
    answer(campaign, voter.id, sheet)
    voter.next_sheet(pages)
    assert voter.state(pages).n_sheets_done == 1
    (event,) = query(campaign, "SELECT event_id FROM vote_event WHERE place = :place", place=sheet.pairs[0].place)[0]
    voter.retract(voter.vote(event), new_id())
    assert voter.state(pages).n_sheets_done == 0


def test_simultaneous_claims_respect_the_limit_of_their_address(ledger):
    campaign = web_campaign(ledger, sheet_size=1)
    origin = Origin("192.0.2.7", most=3)
    voters = [campaign.voter(join_campaign(campaign)) for _ in range(N_REQUESTS)]
    pages = VotingPages(open_link=True)
    run_at_once(*[lambda voter=voter: voter.next_sheet(pages, origin) for voter in voters])
    assert query(campaign, "SELECT count(*) FROM lease WHERE unanswered AND ended_at IS NULL") == [(3,)]


def test_a_clock_jump_of_a_day_blocks_no_sheet(ledger):
    campaign = web_campaign(ledger, sheet_size=None, lease_minutes=30)
    first = join_campaign(campaign)
    n_sheets = query(campaign, "SELECT count(*) FROM sheet")[0][0]
    voters = [first] + [join_campaign(campaign) for _ in range(n_sheets - 1)]
    for voter in voters:
        assert claim_sheet(campaign, voter)[0] is not None
    newcomer = join_campaign(campaign)
    assert not read(campaign, is_more_left, newcomer)
    change(campaign, "UPDATE lease SET expires_at = expires_at + :day", day=DAY)
    assert state_for_voter(campaign, newcomer).available
    assert claim_sheet(campaign, newcomer)[0] is not None


def test_reports_and_files_call_a_voter_by_a_name_that_commands_know(ledger, tmp_path):
    campaign = web_campaign(ledger)
    campaign.voters.invite(["Ann"])
    open_link, _ = campaign.voters.join(PAGES, consent="1", hours=1)
    voters = [campaign.voters.named("Ann"), open_link]
    for voter in voters:
        sheet = voter.next_sheet(PAGES).sheet
        voter.cast(VoteCast(new_id(), sheet.number, sheet.missing[0].place, voter.id, "left"))
    keys = {row.key: row.name or row.key for row in campaign.voters.rows(names=True)}
    names = {row.voter for row in campaign.quality().voters}
    assert names == set(keys.values()) == {pair.voter for pair in campaign.asked()} - {""}
    assert {campaign.voters.named(name).id for name in names} == {voter.id for voter in voters}
    rest = [pair for pair in campaign.asked(unanswered=True) if pair.voter]
    path = tmp_path / "rest.csv"
    path.write_text(campaign.comparisons_csv(rest).replace(",\n", ",tie\n"), encoding="utf-8")
    assert campaign.import_votes(path).n_new == len(rest) == 2
    campaign.voters.give_sheets("Ann", sheets=[3])  # another Ann, of files, has priority
    assert campaign.voters.named("Ann").id not in {voter.id for voter in voters}
