"""The ledger: campaigns on SQLite or PostgreSQL that lose no data, even with concurrent writers.

The folders follow the data: _store (tables and connections), _campaign (settings fixed at the start, and transactions),
_ballots (pairs, sheets and leases), _votes, _reports and _bundle (exported campaigns). Between the first two and the
others are _tokens and _membership (names and consent of voters). _closing and _voter have the steps that need several
folders, and _ledger is the interface to all.

Callers use only the names that this module exports, such as `Ledger` and `Campaign`. SQL is used in this package alone.
Only commands and servers import it, so `import adaptive` does not load SQLAlchemy.
"""

from adaptive._tables import guarded, is_line
from adaptive.ledger._ballots.pairs import ShownPair
from adaptive.ledger._ballots.sheets import Origin, VoterSheet
from adaptive.ledger._bundle.checking import Verified
from adaptive.ledger._bundle.files import verify_bundle
from adaptive.ledger._campaign.content import (
    ItemContent,
    ItemFault,
    ItemSheet,
    PageTexts,
    VotingPages,
    is_asset,
    read_item_file,
    read_item_sheet,
)
from adaptive.ledger._campaign.plan import (
    ContinuousPlan,
    Mode,
    PlannedSpending,
    affordable_plan,
    batch_for,
    items_of_targets,
    plan_of_targets,
    planned_spending,
)
from adaptive.ledger._campaign.settings import LEASE_MINUTES, SHEET_SIZE, CampaignSettings, KnownPair, Pay, Probing
from adaptive.ledger._closing import ClosePreview, Preview
from adaptive.ledger._ledger import Campaign, Ledger
from adaptive.ledger._membership import DECISIONS, Participant, PlatformVoters, Visit, VoterRow
from adaptive.ledger._reports.quality import CampaignQuality, Flag, FlagLimits
from adaptive.ledger._reports.results import CampaignResult, ExclusionPreview
from adaptive.ledger._reports.status import BallotProgress, CampaignStatus
from adaptive.ledger._store.schema import ANSWERS, file_id, pair_at, pair_id, time_text
from adaptive.ledger._tokens import Holder, TokenKind, TokenRow
from adaptive.ledger._voter import Voter, VoterState
from adaptive.ledger._votes.casting import Receipt, VoteCast
from adaptive.ledger._votes.exports import FORMATS, LedgerEvent
from adaptive.ledger._votes.imports import read_known_pairs
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
__all__ += ["LEASE_MINUTES", "SHEET_SIZE", "CampaignSettings", "ContinuousPlan", "batch_for"]
__all__ += ["KnownPair", "Pay", "Probing"]
__all__ += ["items_of_targets", "plan_of_targets"]
__all__ += ["ItemContent", "ItemFault", "ItemSheet", "is_asset"]
__all__ += ["read_item_file", "read_item_sheet", "read_known_pairs"]
__all__ += ["PageTexts", "VotingPages", "is_line"]
__all__ += ["PlannedSpending", "affordable_plan", "planned_spending"]
__all__ += ["BallotProgress", "CampaignStatus", "VoterRow"]
__all__ += ["DECISIONS", "Origin", "Participant", "PlatformVoters", "Visit", "Voter"]
__all__ += ["Holder", "TokenKind", "TokenRow"]
__all__ += ["ShownPair", "VoterSheet", "VoterState"]
__all__ += ["ANSWERS", "LedgerEvent", "Receipt", "VoteCast", "file_id", "pair_at", "pair_id"]
__all__ += ["MOST_WITH_INTERVALS", "CampaignResult", "ClosePreview", "Preview"]
__all__ += ["CampaignQuality", "ExclusionPreview", "Flag", "FlagLimits"]
__all__ += ["FORMATS", "Mode", "Verified", "guarded", "time_text", "verify_bundle"]
__all__ += ["BundleError", "ChangedError", "ConflictError", "LateVoteError", "LedgerBusyError", "LedgerError"]
__all__ += ["FinishedError", "LedgerMovedError"]
__all__ += ["NoCampaignError", "NoVoterError", "NotReadyError", "RevisionError", "UnfinishedError", "UnreachableError"]
