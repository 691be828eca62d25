"""What an organiser tries before anybody votes: the campaign's own practice, then items from the whole list."""

from __future__ import annotations

from typing import Any, Final

from adaptive.ledger import Campaign
from service.collect.state import collecting

_PREVIEWED: Final = 6  # items, and one more of each kind that is not among them


def sample(campaign: Campaign) -> list[dict[str, Any]]:
    """Pairs as the page of comparisons gets them; they tell nothing of a draw.

    Practice has the answer that is expected beside it, since no server is asked.
    """
    info, content = campaign.info, collecting().campaigns.content
    known = () if info.settings.probing is None else info.settings.probing.known
    place_of = {label: place for place, label in enumerate(info.items)} if known else {}
    asked: list[tuple[int, int, str | None]] = [
        (place_of[pair.left], place_of[pair.right], pair.expected) for pair in known if pair.kind == "practice"
    ]
    places = _spread([content.kind for content in collecting().campaigns.contents(campaign)])
    asked += [(place, places[(at + 1) % len(places)], None) for at, place in enumerate(places)]
    return [
        {
            "id": f"0-0-{number}",
            "practice": expected is not None,
            "expected": expected,
            "left": content(campaign, left),
            "right": content(campaign, right),
        }
        for number, (left, right, expected) in enumerate(asked)
    ]


def _spread(kinds: list[str]) -> list[int]:
    """Places from the first item to the last, in steps, and of each kind of content at least one."""
    n = min(_PREVIEWED, len(kinds))
    places = {round(step * (len(kinds) - 1) / (n - 1)) for step in range(n)}
    missing = set(kinds) - {kinds[place] for place in places}
    return sorted(places | {kinds.index(kind) for kind in missing})
