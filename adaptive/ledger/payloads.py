"""What an event says, as a hash: by it an event that is sent again is told from another under its id.

Every module that writes events takes it from here: a vote that comes to a restored campaign meets the hashes that were
computed when the bundle was read.
"""

from __future__ import annotations

import hashlib
from typing import Any

from adaptive.ledger.encoding import json_of

__all__ = ["asked_name", "correction_hash", "retraction_hash", "vote_hash"]


def asked_name(place: int, *, is_probe: bool) -> int | str:
    """How a comparison, or a probe, is named in a hash."""
    return f"p{place}" if is_probe else place


def vote_hash(number: int, place: int, voter_id: int, answer: str | None, *, is_probe: bool = False) -> str:
    """Hash of a vote, or of the answer to a probe, on ballot `number`."""
    return _hash([number, asked_name(place, is_probe=is_probe), voter_id, answer])


def retraction_hash(number: int, place: int, voter_id: int, *, is_probe: bool = False) -> str:
    """Hash of taking an answer back."""
    return vote_hash(number, place, voter_id, "retract", is_probe=is_probe)


def correction_hash(number: int, place: int, answer: str | None, reason: str | None) -> str:
    """Hash of an organiser's correction; the answer None voids the vote."""
    return _hash([number, place, "correction", answer, reason])


def _hash(says: list[Any]) -> str:
    return hashlib.sha256(json_of(says).encode()).hexdigest()
