"""What an event says, as a hash: by it an event that is sent again is told from another under its id.

Every module that writes events takes it from here: a vote that comes to a restored campaign meets the hashes that were
computed when the bundle was read.
"""

from __future__ import annotations

import hashlib
from typing import Any

from adaptive.ledger.encoding import json_of

__all__ = ["correction_hash", "retraction_hash", "vote_hash"]


def vote_hash(number: int, place: int, voter_id: int, answer: str | None) -> str:
    """Hash of a vote on a comparison of ballot `number`."""
    return _hash([number, place, voter_id, answer])


def retraction_hash(number: int, place: int, voter_id: int) -> str:
    """Hash of taking an answer back."""
    return vote_hash(number, place, voter_id, "retract")


def correction_hash(number: int, place: int, answer: str | None, reason: str | None) -> str:
    """Hash of an organiser's correction; the answer None voids the vote."""
    return _hash([number, place, "correction", answer, reason])


def _hash(says: list[Any]) -> str:
    return hashlib.sha256(json_of(says).encode()).hexdigest()
