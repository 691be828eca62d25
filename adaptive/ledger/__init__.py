"""The ledger: campaigns on SQLite or PostgreSQL that lose no data, even with concurrent writers.

store (tables, transactions) -> campaign, voters -> ballots, votes (what happens, and what counts) -> quality, formats,
bundle (what leaves) -> ledger (all of it, step by step). Callers use what this module exports: `Ledger`,
`Campaign` and the values that they take and return. Only this package has SQL, and nothing imports it but commands and
servers, so that `import adaptive` does not load SQLAlchemy.
"""

from adaptive.ledger.ballots.results import CampaignResult, ClosePreview, Preview
from adaptive.ledger.ballots.shown_sheets import ShownPair
from adaptive.ledger.bundle import Verified, verify_bundle
from adaptive.ledger.campaign.info import ContinuousPlan, KnownPair, Pay, Probing, Settings, batch_for
from adaptive.ledger.campaign.item_sheets import ItemFault, ItemSheet, read_item_file, read_item_sheet, read_known_pairs
from adaptive.ledger.campaign.spending import PlannedSpending, planned_spending
from adaptive.ledger.campaign.status import BallotProgress, CampaignStatus, VoterRow
from adaptive.ledger.campaign.stored import MOST_OF_ITEM, ItemContent, is_asset
from adaptive.ledger.campaign.voting_pages import MOST_OF_TEXT, PageTexts, VotingPages
from adaptive.ledger.campaign.wording import is_line, is_quick_to_render
from adaptive.ledger.errors import (
    BundleError,
    ChangedError,
    ConflictError,
    LateVoteError,
    LedgerBusyError,
    LedgerError,
    NoCampaignError,
    NotReadyError,
    NoVoterError,
    RevisionError,
    UnfinishedError,
    UnreachableError,
)
from adaptive.ledger.formats import FORMATS
from adaptive.ledger.ledger import Campaign, Ledger
from adaptive.ledger.quality import CampaignQuality, ExclusionPreview, Flag, Limits
from adaptive.ledger.store.encoding import ANSWERS, guarded, pair_at, pair_id, time_text
from adaptive.ledger.voters.identity import DECISIONS, Participant
from adaptive.ledger.voters.newcomers import Origin
from adaptive.ledger.voters.participation import Journey, SheetInHand
from adaptive.ledger.voters.tokens import Holder, TokenKind, TokenRow
from adaptive.ledger.voters.voter import PlatformVoters, Visit, Voter
from adaptive.ledger.votes.casting import Receipt, VoteCast
from adaptive.ledger.votes.reading import MOST_WITH_INTERVALS, LedgerEvent

__all__ = [
    "ANSWERS",
    "DECISIONS",
    "FORMATS",
    "MOST_OF_ITEM",
    "MOST_OF_TEXT",
    "MOST_WITH_INTERVALS",
    "BallotProgress",
    "BundleError",
    "Campaign",
    "CampaignQuality",
    "CampaignResult",
    "CampaignStatus",
    "ChangedError",
    "ClosePreview",
    "ConflictError",
    "ContinuousPlan",
    "ExclusionPreview",
    "Flag",
    "Holder",
    "ItemContent",
    "ItemFault",
    "ItemSheet",
    "Journey",
    "KnownPair",
    "LateVoteError",
    "Ledger",
    "LedgerBusyError",
    "LedgerError",
    "LedgerEvent",
    "Limits",
    "NoCampaignError",
    "NoVoterError",
    "NotReadyError",
    "Origin",
    "PageTexts",
    "Participant",
    "Pay",
    "PlannedSpending",
    "PlatformVoters",
    "Preview",
    "Probing",
    "Receipt",
    "RevisionError",
    "Settings",
    "SheetInHand",
    "ShownPair",
    "TokenKind",
    "TokenRow",
    "UnfinishedError",
    "UnreachableError",
    "Verified",
    "Visit",
    "VoteCast",
    "Voter",
    "VoterRow",
    "VotingPages",
    "batch_for",
    "guarded",
    "is_asset",
    "is_line",
    "is_quick_to_render",
    "pair_at",
    "pair_id",
    "planned_spending",
    "read_item_file",
    "read_item_sheet",
    "read_known_pairs",
    "time_text",
    "verify_bundle",
]
