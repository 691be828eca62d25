"""Practice comes before what is scored, and never after it, on both databases."""

from collections import defaultdict

import pytest

from adaptive._plan import plan_ballots
from adaptive.ledger import KnownPair, Probing
from tests.adaptive.ledger.campaigns import campaign_of, change, in_ballots
from tests.adaptive.ledger.test_participation import answer, claimed, joined

LABELS = list("abcdefgh")
PLAN = plan_ballots(8, n_ballots=2, fraction=0.5, presentations=6)  # 24 comparisons in the first ballot


def asked(campaign, which="t.probe IS NULL"):
    """Sheet and items of the comparisons of the first ballot."""
    rest = f"AND b.number = 1 AND {which} ORDER BY t.sheet"
    return in_ballots(campaign, "t.sheet, t.left_item, t.right_item", "comparison", rest)


def drawn(campaign):
    """The pairs of items of each sheet of the first ballot."""
    found = defaultdict(set)
    for sheet, left, right in asked(campaign):
        found[sheet].add(frozenset([left, right]))
    return dict(found)


@pytest.fixture
def practised_on(ledger):
    """A campaign of two slots with sheets of 4, whose only practice is a pair that its first sheet compares, and it."""
    options = {"plan": PLAN, "items": LABELS, "n_voters": 2, "assigned": False, "sheet_size": 4}
    with_none = campaign_of(ledger, **options)
    sheets = drawn(with_none)
    practice = next(pair for pair in sheets[0] if sum(pair in pairs for pairs in sheets.values()) == 1)
    known = KnownPair("practice", *(LABELS[item] for item in sorted(practice)), "left")
    campaign = campaign_of(ledger, **options, lease_minutes=60, probing=Probing((known,)))
    assert drawn(campaign) == sheets  # drawn as without probes
    return campaign, practice


def pair_of(shown):
    return frozenset([shown.left, shown.right])


def test_only_a_sheet_that_compares_the_pair_itself_has_no_practice(practised_on):
    campaign, practice = practised_on
    practised = asked(campaign, "t.probe = 'practice'")
    # Sheets of the same slot go to whoever comes, and practise the pair too.
    assert [sheet for sheet, *_ in practised] == [1, 2, 3, 4, 5]
    assert {frozenset(pair) for _, *pair in practised} == {practice}


def test_every_voter_practises_first_as_long_as_a_sheet_has_practice(practised_on):
    campaign, practice = practised_on
    first = joined(campaign)
    hand, _ = claimed(campaign, first)
    assert (hand.pairs[0].is_practice, pair_of(hand.pairs[0])) == (True, practice)
    assert practice not in {pair_of(pair) for pair in hand.pairs[1:]}
    answer(campaign, first, hand)
    hand, _ = claimed(campaign, first)  # whoever has practised takes what is first, and practises no more
    assert (hand.sheet, any(pair.is_practice for pair in hand.pairs)) == (0, False)
    for _ in range(4):
        hand, _ = claimed(campaign, joined(campaign))
        assert hand.pairs[0].is_practice


def test_whoever_voted_without_practice_practises_no_more(practised_on):
    campaign, practice = practised_on
    others = [joined(campaign) for _ in range(5)]
    for other in others:
        assert claimed(campaign, other)[0].pairs[0].is_practice
    last = joined(campaign)
    hand, _ = claimed(campaign, last)  # nothing else is left, and the answer to its own pair is not told
    assert (hand.sheet, any(pair.is_practice for pair in hand.pairs)) == (0, False)
    assert practice in {pair_of(pair) for pair in hand.pairs}
    answer(campaign, last, hand)
    for other in others:
        campaign.voter(other).leave()
    following, _ = claimed(campaign, last)
    assert following.sheet != hand.sheet
    assert not any(pair.is_practice for pair in following.pairs)
    new, _ = claimed(campaign, joined(campaign))
    assert new.pairs[0].is_practice


def test_a_sheet_whose_practice_somebody_did_goes_to_whoever_has_begun(practised_on):
    campaign, _ = practised_on
    gone, known = joined(campaign), joined(campaign)
    left, _ = claimed(campaign, gone)
    answer(campaign, gone, left, 0, 1)  # the practice, and one comparison
    answer(campaign, known, claimed(campaign, known)[0])
    change(campaign, "UPDATE lease SET expires_at = 0 WHERE voter_id = :voter", voter=gone)
    new, _ = claimed(campaign, joined(campaign))
    assert new.sheet != left.sheet
    assert new.pairs[0].is_practice
    taken, _ = claimed(campaign, known)
    assert taken.sheet == left.sheet
    assert not any(pair.is_practice for pair in taken.pairs)
