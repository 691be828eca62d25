"""Texts that were written before today's limits are read as they are, on both databases; new ones keep to them."""

import json
from dataclasses import replace

import pytest

from adaptive.ledger import ItemContent, Ledger, LedgerError, PageTexts, Settings, VotingPages
from adaptive.ledger.bundle.files import verify_bundle
from adaptive.ledger.campaign.info import Pay
from adaptive.ledger.campaign.stored import contents_of
from tests.adaptive.ledger.campaigns import ITEMS, PLAN, change, query
from tests.adaptive.ledger.test_participation import answer, claimed, joined

LONG = "[" * 30_000  # once at most 50,000 characters, and brackets were not counted
TURNED = "a\x1b b\u202ec"
OLD = PageTexts("Trees", "Which?", LONG, TURNED, LONG, is_new=False)


@pytest.fixture
def campaign(ledger):
    """A campaign whose rows break what is asked of new ones."""
    made = ledger.new_campaign(PLAN, ITEMS, 3, 1, settings=Settings(assigned=False, sheet_size=2, pay=Pay(per_vote=1)))
    made.open_next()
    pages = VotingPages({"en": OLD}, open_link=True)
    row = {"id": made.info.id, "pages": json.dumps(pages.to_dict())}
    change(ledger, "INSERT INTO voting_pages (campaign_id, version, pages, at) VALUES (:id, 1, :pages, 1)", **row)
    where = " ON item" if ledger.database.engine.dialect.name == "postgresql" else ""
    change(ledger, f"DROP TRIGGER tr_item_update{where}")
    change(ledger, "UPDATE item SET kind = 'markdown', content = :content WHERE place = 0", content=LONG)
    settings = made.info.settings.to_dict()
    settings["pay"]["currency"] = " "
    change(ledger, "UPDATE campaign SET settings = :settings", settings=json.dumps(settings))
    return ledger.campaign(made.info.key)


def test_a_campaign_of_an_earlier_release_goes_on(campaign, tmp_path):
    assert campaign.info.settings.pay.currency == " "
    version, pages = campaign.pages()
    assert (version, pages.texts) == (1, {"en": OLD})
    contents = campaign.database.read(lambda connection: contents_of(connection, campaign.info))
    assert contents[0] == ItemContent("markdown", LONG, is_new=False)
    voter = joined(campaign, pages)
    answer(campaign, voter, claimed(campaign, voter, pages)[0])
    assert query(campaign, "SELECT count(*) FROM vote_event") == [(2,)]
    assert LONG in campaign.export_votes("label_studio", unanswered=True).files["tasks.json"]
    campaign.write_bundle(tmp_path / "b.zip")
    verify_bundle(tmp_path / "b.zip")
    other = Ledger.create(tmp_path / "other.db")
    again = other.restore(tmp_path / "b.zip")
    assert again.pages() == (version, pages)
    other.close()


def test_what_is_written_anew_keeps_to_the_limits(campaign):
    _, pages = campaign.pages()
    with pytest.raises(LedgerError, match="at most 20,000 characters"):
        VotingPages.from_dict(pages.to_dict())
    reworded = replace(pages, texts={"en": PageTexts("Trees", "Which?", "Short.")}, consent_version="2")
    assert campaign.set_pages(reworded, replaces=1) == 2


@pytest.mark.parametrize(
    "make",
    [
        lambda: PageTexts("a", "b", 3, is_new=False),
        lambda: ItemContent("image", "../a.png", "a", is_new=False),
        lambda: Pay(per_vote=1, currency=3, is_new=False),
        lambda: VotingPages.from_dict(
            {**VotingPages().to_dict(), "completion_url": "javascript:alert(1)"}, is_new=False
        ),
    ],
)
def test_what_no_release_wrote_is_refused_wherever_it_comes_from(make):
    with pytest.raises(LedgerError):
        make()
