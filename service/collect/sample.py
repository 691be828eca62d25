"""Make a sample campaign to try everything: ``python -m service.collect.sample`` prints links to it.

RANKCORR_LEDGER names the ledger. If RANKCORR_TOKENS has a token, there is also a link for creating campaigns. An
existing sample is reused, with a new link for its organiser, because the ledger keeps only a hash of the old one.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from contextlib import closing
from importlib.resources import files
from typing import Final, NamedTuple

from adaptive import plan_ballots
from adaptive.errors import AdaptiveError
from adaptive.ledger import (
    LEASE_MINUTES,
    SHEET_SIZE,
    Campaign,
    CampaignSettings,
    ItemContent,
    KnownPair,
    Ledger,
    NoCampaignError,
    PageTexts,
    Probing,
    VotingPages,
)
from service.collect.settings import CollectSettings
from service.environment import SettingError

NAME: Final = "Sample: words alike"
VOTERS: Final = 4
CODE: Final = "SAMPLE"  # the form that platforms need; no platform uses it

# From very similar to unrelated, so that anyone who tries it can judge the ranking.
ITEMS: Final = (
    *("car, automobile", "journey, voyage", "coast, shore", "furnace, stove", "bird, crane", "brother, monk"),
    *("food, fruit", "cup, coffee", "hill, woodland", "lad, wizard", "glass, magician", "rooster, voyage"),
)
_TEXTS: Final = files("service.collect") / "locales" / "sample.json"


class Links(NamedTuple):
    """The addresses of the sample."""

    voter: str
    organiser: str


def sample(ledger: Ledger, url: str) -> Links:
    """Create the sample campaign with its first ballot, or find it, and return links to it.

    Parameters
    ----------
    ledger : Ledger
    url : str
        Address of the service, running or not.

    Raises
    ------
    LedgerError
        If several campaigns have the sample's name.
    """
    try:
        campaign = ledger.campaign(NAME)
    except NoCampaignError:
        campaign = _create_campaign(ledger)
    if not campaign.ballots():
        campaign.open_next()
    token = campaign.tokens.issue("organiser")
    return Links(f"{url}/v/{campaign.key}", f"{url}/o/{campaign.key}#{token}")


def _create_campaign(ledger: Ledger) -> Campaign:
    practice = KnownPair("practice", ITEMS[0], ITEMS[-1], "left")
    campaign = ledger.new_campaign(
        plan_ballots(len(ITEMS), n_ballots=2, fraction=0.5, presentations=4),
        ITEMS,
        VOTERS,
        seed=1,
        name=NAME,
        settings=CampaignSettings(
            assigned=False,
            sheet_size=SHEET_SIZE,
            lease_minutes=LEASE_MINUTES,
            probing=Probing((practice,), repeats=0.2),
        ),
        contents=[ItemContent("text", item.replace(", ", " – ")) for item in ITEMS],  # noqa: RUF001 - a dash
    )
    texts = {language: PageTexts(**entry) for language, entry in json.loads(_TEXTS.read_bytes()).items()}
    campaign.set_pages(VotingPages(texts=texts, open_link=True, completion_code=CODE), replaces=0)
    return campaign


def main(arguments: Sequence[str] | None = None) -> None:
    """Create the sample and print the links to it."""
    parser = argparse.ArgumentParser(prog="python -m service.collect.sample", description="Make a sample campaign.")
    parser.add_argument("--url", default="http://127.0.0.1:8080", help="where the service is (default: %(default)s)")
    url = parser.parse_args(arguments).url.rstrip("/")
    try:
        settings = CollectSettings.from_environment()
        with closing(Ledger.create(settings.ledger)) as ledger:
            links = sample(ledger, url)
    except (SettingError, AdaptiveError) as error:
        parser.exit(2, f"{parser.prog}: error: {error}\n")
    sys.stdout.write(f"To vote:             {links.voter}\nTo organise:         {links.organiser}\n")
    if settings.tokens:
        sys.stdout.write(f"To make a campaign:  {url}/o/new#{settings.tokens[0]}\n")


if __name__ == "__main__":
    main()
