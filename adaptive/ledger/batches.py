"""How large the batches of a continuous campaign are, and how many sheets they are dealt to."""

from __future__ import annotations

from typing import Final

from adaptive.ledger.campaigns import Settings

__all__ = ["batch_for", "slots_of_batch"]

_LEAST: Final = 10
_MOST: Final = 50
_SHEET: Final = 20  # comparisons, where the campaign does not say


def batch_for(n_items: int) -> int:
    """Comparisons of a batch where nobody says: as many as there are items, from 10 to 50.

    The votes of a batch guide the next one, and one of 50 is all pairs of ten items at once.

    Examples
    --------
    >>> batch_for(4), batch_for(20), batch_for(3_000)
    (10, 20, 50)
    """
    return min(_MOST, max(_LEAST, n_items))


def slots_of_batch(size: int, n_slots: int, settings: Settings) -> int:
    """Slots that a batch is dealt to.

    All of them where each is somebody's. Otherwise whoever comes claims a sheet, and there are as few as the size of a
    sheet allows, so that nobody comes for a pair or two; at least two where comparisons are asked of a second voter.

    Examples
    --------
    >>> slots_of_batch(50, 40, Settings(assigned=False, sheet_size=20)), slots_of_batch(50, 40, Settings())
    (3, 40)
    """
    if settings.assigned:
        return n_slots
    wanted = -(-size // (settings.sheet_size or _SHEET))
    probing = settings.probing
    return min(n_slots, size, max(wanted, 2 if probing is not None and probing.overlap > 0 else 1))
