"""The ledger: campaigns that lose nothing, whoever writes, on SQLite or PostgreSQL.

database (transactions) -> schema, migrations (tables) -> campaigns, draws, voters, sheets, votes (what happens) ->
counting, closing (what counts) -> ledger (all of it, step by step). Only this package has SQL, and nothing imports it
but commands and servers, so that `import adaptive` does not load SQLAlchemy.
"""

from adaptive.ledger.campaigns import CampaignInfo, ContinuousPlan, Settings
from adaptive.ledger.contents import ItemContent
from adaptive.ledger.errors import (
    ChangedError,
    ConflictError,
    LateVoteError,
    LedgerBusyError,
    LedgerError,
    NoCampaignError,
    NotReadyError,
    RevisionError,
    UnreachableError,
)
from adaptive.ledger.ledger import Campaign, Ledger
from adaptive.ledger.pay import Pay
from adaptive.ledger.probes.probing import KnownPair, Probing
from adaptive.ledger.votes import Receipt, VoteCast
from adaptive.ledger.voting_pages import PageTexts, VotingPages

__all__ = [
    "Campaign",
    "CampaignInfo",
    "ChangedError",
    "ConflictError",
    "ContinuousPlan",
    "ItemContent",
    "KnownPair",
    "LateVoteError",
    "Ledger",
    "LedgerBusyError",
    "LedgerError",
    "NoCampaignError",
    "NotReadyError",
    "PageTexts",
    "Pay",
    "Probing",
    "Receipt",
    "RevisionError",
    "Settings",
    "UnreachableError",
    "VoteCast",
    "VotingPages",
]
