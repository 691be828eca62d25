"""A campaign for the web, made in one step: its items, plan and pages, and the token of its organiser."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from adaptive.ledger.campaigns import CampaignInfo, ContinuousPlan, Settings, create_campaign
from adaptive.ledger.contents import ItemContent
from adaptive.ledger.ledger import Campaign, Ledger, load_by_id
from adaptive.ledger.tokens import issue
from adaptive.ledger.voting_pages import VotingPages, set_pages
from adaptive.plan import BallotPlan
from adaptive.protocol import Items

__all__ = ["Founded", "found"]


@dataclass(frozen=True, eq=False)
class Founded:
    """A new campaign.

    Attributes
    ----------
    campaign : Campaign
    token : str
        Of its organiser; nobody can read it again later.
    """

    campaign: Campaign
    token: str


def found(
    ledger: Ledger,
    plan: BallotPlan | ContinuousPlan,
    items: Items,
    voters: Items,
    seed: int,
    *,
    name: str,
    settings: Settings,
    pages: VotingPages,
    contents: Sequence[ItemContent] | None = None,
) -> Founded:
    """Make a campaign with its pages and its organiser's token: all of it, or nothing.

    Parameters
    ----------
    plan, items, voters, seed, name, settings, contents
        As for `Ledger.new_campaign`.
    pages : VotingPages

    Raises
    ------
    ProtocolError, LedgerError
        As `Ledger.new_campaign`.
    """

    def work(connection: sa.Connection) -> tuple[CampaignInfo, str]:
        made = create_campaign(connection, plan, items, voters, seed, name=name, settings=settings, contents=contents)
        info = load_by_id(connection, made)
        set_pages(connection, info, pages, replaces=0)
        return info, issue(connection, info, "organiser")

    info, token = ledger.database.write(work)
    return Founded(Campaign(ledger.database, info), token)
