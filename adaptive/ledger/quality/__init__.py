"""How far the votes of each voter, and of all together, can be trusted.

answers (what was said, in flat columns) -> agreement (between voters), shares -> flags -> report.
"""

from adaptive.ledger.quality.exclusion import ExclusionPreview, exclusion_preview
from adaptive.ledger.quality.flags import Flag, Limits, VoterQuality
from adaptive.ledger.quality.report import CampaignQuality, quality_of
from adaptive.ledger.quality.shares import Share

__all__ = [
    "CampaignQuality",
    "ExclusionPreview",
    "Flag",
    "Limits",
    "Share",
    "VoterQuality",
    "exclusion_preview",
    "quality_of",
]
