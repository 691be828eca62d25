"""The sample campaign: created once, and found again."""

import re

import pytest

from adaptive.ledger import Ledger, LedgerError
from adaptive.ledger._tokens import holder_of
from service.collect import sample as module
from service.collect.sample import ITEMS, NAME, main, sample

URL = "http://127.0.0.1:8080"


@pytest.fixture
def ledger(tmp_path):
    new_ledger = Ledger.create(tmp_path / "votes.db")
    yield new_ledger
    new_ledger.close()


def test_the_sample_has_an_open_link_and_a_ballot(ledger):
    links = sample(ledger, URL)
    campaign = ledger.campaign(NAME)
    assert links.voter == f"{URL}/v/{campaign.key}"
    assert [ballot.state for ballot in campaign.ballots()] == ["open"]
    contents, (version, pages) = campaign.contents(), campaign.pages()
    assert (len(contents), contents[0].content) == (len(ITEMS), "car \u2013 automobile")
    assert (version, pages.open_link, list(pages.texts)) == (1, True, ["en", "de"])
    assert pages.completion_code == "SAMPLE"
    assert all(text.consent and text.instructions and text.thanks for text in pages.texts.values())


def test_the_link_of_the_organiser_opens_the_campaign(ledger):
    links = sample(ledger, URL)
    campaign = ledger.campaign(NAME)
    address, _, token = links.organiser.partition("#")
    assert address == f"{URL}/o/{campaign.key}"
    holder = campaign.read(holder_of, token, ["organiser"])
    assert holder.campaign_key == campaign.key


def test_the_second_call_finds_the_sample_of_the_first(ledger):
    first, second = sample(ledger, URL), sample(ledger, URL)
    assert first.voter == second.voter
    assert first.organiser != second.organiser
    assert len(ledger.campaign(NAME).ballots()) == 1


def test_the_sample_is_added_to_other_campaigns(ledger):
    sample(ledger, URL)
    ledger.new_campaign(ledger.campaign(NAME).info.plan, ITEMS, 4, 1, name="another")
    assert sample(ledger, URL).voter.endswith(ledger.campaign(NAME).key)


def test_the_command_prints_links(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("RANKCORR_LEDGER", str(tmp_path / "votes.db"))
    main(["--url", "http://127.0.0.1:9000/"])
    lines = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"To vote: +http://127\.0\.0\.1:9000/v/[0-9a-f]{32}", lines[0])
    assert re.fullmatch(r"To organise: +http://127\.0\.0\.1:9000/o/[0-9a-f]{32}#[A-Za-z0-9_-]{43}", lines[1])
    assert len(lines) == 2


def test_with_a_token_there_is_a_link_to_create_campaigns(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("RANKCORR_LEDGER", str(tmp_path / "votes.db"))
    monkeypatch.setenv("RANKCORR_TOKENS", "founder-of-campaigns")
    main([])
    assert re.search(
        r"^To make a campaign: +http://127\.0\.0\.1:8080/o/new#founder-of-campaigns$", capsys.readouterr().out, re.M
    )


def test_a_ledger_that_cannot_be_created_is_a_one_line_error(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("RANKCORR_LEDGER", str(tmp_path / "missing" / "votes.db"))
    with pytest.raises(SystemExit) as exit_:
        main([])
    assert exit_.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_two_samples_are_an_error(ledger):
    for _ in range(2):
        module._create_campaign(ledger)
    with pytest.raises(LedgerError, match=r"several campaigns: choose one by its key \(in a shell, --campaign KEY; "):
        sample(ledger, URL)
