"""What a campaign pays: an answer, its fee, and what all of it will have cost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from adaptive._formats.votes import VoteFile, VoteRow
from adaptive._plan import plan_ballots
from adaptive.ledger import ContinuousPlan, LedgerError
from adaptive.ledger._ballots.batches import draw_batch
from adaptive.ledger._campaign.info import KnownPair, Pay, Probing
from adaptive.ledger._reports.spending import planned_spending, spending_of
from adaptive.ledger._votes.recording import record_file
from tests.adaptive.ledger.campaigns import PLAN, campaign_of, check_ids, pair_ids, query, read


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "pay is per vote or per hour; got neither"),
        ({"per_vote": 1, "per_hour": 1, "seconds": 1}, "pay is per vote or per hour; got both"),
        ({"per_hour": 12}, "pay per hour needs the seconds that an answer takes"),
        ({"per_vote": 0}, "per_vote must be a finite number above 0; got 0"),
        ({"per_vote": "1"}, "per_vote must be a finite number above 0; got '1'"),
        ({"per_hour": float("inf"), "seconds": 1}, "per_hour must be a finite number above 0; got inf"),
        ({"per_vote": 1, "seconds": float("nan")}, "seconds must be a finite number above 0; got nan"),
        ({"per_vote": 1, "fee": -0.1}, r"fee must be a finite number from 0 on; got -0\.1"),
        ({"per_vote": 1, "currency": "E\n"}, r"currency must be text of one line; got 'E\\n'"),
        ({"per_vote": 1, "currency": 978}, "currency must be text of one line; got 978"),
    ],
)
def test_pay_that_means_nothing_is_refused(values, message):
    with pytest.raises(LedgerError, match=message):
        Pay(**values)


amounts = st.floats(0.001, 1000)


@given(amounts, amounts, st.floats(0, 2), st.integers(0, 10**6))
def test_an_hour_is_paid_alike_by_the_vote(per_hour, seconds, fee, n):
    by_hour = Pay(per_hour=per_hour, seconds=seconds, fee=fee)
    by_vote = Pay(per_vote=by_hour.per_answer, seconds=seconds, fee=fee)
    assert_allclose(by_hour.cost(n), per_hour * (n * seconds / 3600) * (1 + fee), rtol=1e-12)
    assert_allclose(by_vote.cost(n), by_hour.cost(n), rtol=1e-12)
    assert_allclose(by_vote.hourly, per_hour, rtol=1e-12)
    assert by_vote.hours(n) == n * seconds / 3600
    assert Pay(per_vote=1).hours(n) is None


def test_votes_and_probes_are_paid(ledger):
    pay = Pay(per_vote=0.1, seconds=6, fee=0.25, currency="EUR")
    campaign = campaign_of(ledger, n_voters=3, probing=Probing(overlap=0.5), pay=pay)
    assert PLAN.comparisons == (12, 6)
    names = [*pair_ids(campaign)[:3], check_ids(campaign)[0]]
    rows = tuple(VoteRow(2, name, None, None, None, "left") for name in names)
    record_file(campaign, VoteFile("votes.csv", rows))
    found = read(campaign, spending_of)
    assert (found.n_votes, found.n_probes, found.expected_votes) == (3, 1, 18)
    [(n_probes,)] = query(ledger, "SELECT count(*) FROM comparison WHERE probe IS NOT NULL")
    assert n_probes == 6  # a half of each sheet of 4
    assert found.expected_probes == 6 + 3
    assert_allclose([found.spent, found.expected], [4 * 0.125, 27 * 0.125])
    assert_allclose([found.hours, found.expected_hours], [4 * 6 / 3600, 27 * 6 / 3600])
    assert campaign.status().spending == found


def test_whoever_comes_practises_once_however_many_sheets_have_the_practice(ledger):
    from adaptive.ledger import Settings

    # Two voters, two sheets of three comparisons each, and a practice pair on all four: both are asked it once.
    known = (KnownPair("practice", "a", "b", "left"),)
    settings = Settings(assigned=False, sheet_size=3, probing=Probing(known), pay=Pay(per_vote=1))
    plan = plan_ballots(12, n_ballots=2, fraction=0.5, presentations=2)
    campaign = ledger.new_campaign(plan, list("abcdefghijkl"), 2, 1, settings=settings)
    assert planned_spending(plan, 2, settings).cost == spent(campaign)[1] == 18 + 2
    campaign.open_next()
    assert query(ledger, "SELECT count(*) FROM comparison WHERE probe IS NOT NULL") == [(4,)]
    assert spent(campaign) == (0, 18 + 2)


def test_a_campaign_that_pays_nothing_says_nothing(ledger):
    assert campaign_of(ledger).status().spending is None


def test_batches_have_probes_and_a_cost_too(ledger):
    from adaptive.ledger import Settings

    settings = Settings(probing=Probing(overlap=0.5), pay=Pay(per_vote=1))
    plan = ContinuousPlan(n_items=8, budget=20, batch=8)
    campaign = ledger.new_campaign(plan, 8, 2, 1, settings=settings)
    assert spent(campaign) == (0, 30)
    draw_batch(campaign)
    assert query(ledger, "SELECT probe FROM comparison WHERE probe IS NOT NULL") == [("overlap",)] * 4
    rows = (VoteRow(2, check_ids(campaign)[0], None, None, None, "left"),)
    record_file(campaign, VoteFile("votes.csv", rows))
    assert spent(campaign) == (1, 30)


def spent(campaign):
    found = read(campaign, spending_of)
    return found.spent, found.expected
