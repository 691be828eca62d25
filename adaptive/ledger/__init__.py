"""The ledger: campaigns on SQLite or PostgreSQL that lose no data, even with concurrent writers.

store (tables, transactions) -> campaign, voters -> ballots, votes (what happens, and what counts) -> quality, formats,
bundle (what leaves) -> ledger (all of it, step by step). Callers use what this module exports: `Ledger`,
`Campaign` and the values that they take and return. Only this package has SQL, and nothing imports it but commands and
servers, so that `import adaptive` does not load SQLAlchemy.
"""

from adaptive._tables import guarded
from adaptive.ledger._ballots.results import CampaignResult, ClosePreview, Preview
from adaptive.ledger._ballots.shown_sheets import ShownPair
from adaptive.ledger._bundle.checking import Verified
from adaptive.ledger._bundle.files import verify_bundle
from adaptive.ledger._campaign.info import (
    LEASE_MINUTES,
    SHEET_SIZE,
    ContinuousPlan,
    KnownPair,
    Mode,
    Pay,
    Probing,
    Settings,
    batch_for,
)
from adaptive.ledger._campaign.item_sheets import (
    ItemFault,
    ItemSheet,
    read_item_file,
    read_item_sheet,
    read_known_pairs,
)
from adaptive.ledger._campaign.spending import PlannedSpending, affordable_plan, planned_spending
from adaptive.ledger._campaign.status import BallotProgress, CampaignStatus, VoterRow
from adaptive.ledger._campaign.stored import ItemContent, is_asset
from adaptive.ledger._campaign.voting_pages import PageTexts, VotingPages
from adaptive.ledger._campaign.wording import is_line
from adaptive.ledger._formats.exports import FORMATS
from adaptive.ledger._ledger import Campaign, Ledger
from adaptive.ledger._quality.flags import Flag, Limits
from adaptive.ledger._quality.report import CampaignQuality, ExclusionPreview
from adaptive.ledger._store.encoding import ANSWERS, file_id, pair_at, pair_id, time_text
from adaptive.ledger._voters.identity import DECISIONS, Participant
from adaptive.ledger._voters.newcomers import Origin
from adaptive.ledger._voters.participation import Journey, SheetInHand, Visit
from adaptive.ledger._voters.tokens import Holder, TokenKind, TokenRow
from adaptive.ledger._voters.voter import PlatformVoters, Voter
from adaptive.ledger._votes.casting import Receipt, VoteCast
from adaptive.ledger._votes.reading import LedgerEvent
from adaptive.ledger.errors import (
    BundleError,
    ChangedError,
    ConflictError,
    FinishedError,
    LateVoteError,
    LedgerBusyError,
    LedgerError,
    LedgerMovedError,
    NoCampaignError,
    NotReadyError,
    NoVoterError,
    RevisionError,
    UnfinishedError,
    UnreachableError,
)
from adaptive.model._accuracy import MOST_WITH_INTERVALS

# In the order of a campaign: its parts, voters, votes, results, errors.
__all__ = ["Campaign", "Ledger"]
__all__ += ["LEASE_MINUTES", "SHEET_SIZE", "ContinuousPlan", "KnownPair", "Pay", "Probing", "Settings", "batch_for"]
__all__ += ["ItemContent", "ItemFault", "ItemSheet", "is_asset"]
__all__ += ["read_item_file", "read_item_sheet", "read_known_pairs"]
__all__ += ["PageTexts", "VotingPages", "is_line"]
__all__ += ["PlannedSpending", "affordable_plan", "planned_spending"]
__all__ += ["BallotProgress", "CampaignStatus", "VoterRow"]
__all__ += ["DECISIONS", "Origin", "Participant", "PlatformVoters", "Visit", "Voter"]
__all__ += ["Holder", "TokenKind", "TokenRow"]
__all__ += ["Journey", "SheetInHand", "ShownPair"]
__all__ += ["ANSWERS", "LedgerEvent", "Receipt", "VoteCast", "file_id", "pair_at", "pair_id"]
__all__ += ["MOST_WITH_INTERVALS", "CampaignResult", "ClosePreview", "Preview"]
__all__ += ["CampaignQuality", "ExclusionPreview", "Flag", "Limits"]
__all__ += ["FORMATS", "Mode", "Verified", "guarded", "time_text", "verify_bundle"]
__all__ += ["BundleError", "ChangedError", "ConflictError", "LateVoteError", "LedgerBusyError", "LedgerError"]
__all__ += ["FinishedError", "LedgerMovedError"]
__all__ += ["NoCampaignError", "NoVoterError", "NotReadyError", "RevisionError", "UnfinishedError", "UnreachableError"]
