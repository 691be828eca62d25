"""Assess how far the votes of each voter, and of all voters together, can be trusted.

agreement (all answers in flat columns, and agreement between voters) -> flags -> report.
"""

from adaptive.ledger.quality.flags import Flag, Limits, Share, VoterQuality
from adaptive.ledger.quality.report import CampaignQuality, ExclusionPreview, exclusion_preview, quality_of

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
