"""Store drawn ballots row by row, so that reading one never requires drawing it again.

Any release, any version of numpy, or other software can read the pairs that each voter was asked, their order and their
sides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from adaptive.draw import Asked, Ballot
from adaptive.ledger.campaign.info import CampaignInfo
from adaptive.ledger.checks.drawing import Drawn, Known, Probe, draw_probes
from adaptive.ledger.checks.probing import Probing
from adaptive.ledger.store import schema
from adaptive.ledger.store.columns import insert_columns, integer_columns
from adaptive.ledger.store.encoding import digest_of, json_of, label_text, now, value_of
from adaptive.protocol import ballot_rng
from adaptive.votes import WORDS

_WORDS: Final = {int(vote): word for word, vote in WORDS.items()}

Array = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class StoredBallot:
    """A row of the table of ballots.

    Attributes
    ----------
    id, number : int
    kind : {"ballot", "batch"}
    state : {"open", "closing", "closed"}
    places : ndarray of intp
        Places of the ballot's items among those of the campaign.
    presentations, n_comparisons : int
    draw_digest : str
    record : dict or None
        Set for a closed ballot.
    votes_digest, chain_digest : str or None
        Set for a closed ballot.
    """

    id: int
    number: int
    kind: str
    state: str
    places: NDArray[np.intp]
    presentations: int
    n_comparisons: int
    draw_digest: str
    record: dict[str, Any] | None
    votes_digest: str | None
    chain_digest: str | None


@dataclass(frozen=True, eq=False)
class DrawnColumns:
    """The comparisons of a ballot in its order; items are places in the campaign, positions count checks too."""

    sheet: Array
    position: Array
    left: Array
    right: Array


def stored_ballots(connection: sa.Connection, campaign_id: int) -> list[StoredBallot]:
    """Return all ballots of a campaign so far."""
    table = schema.ballot
    rows = connection.execute(sa.select(table).where(table.c.campaign_id == campaign_id).order_by(table.c.number))
    return [
        StoredBallot(
            id=row.id,
            number=row.number,
            kind=row.kind,
            state=row.state,
            places=np.array(value_of(row.places), np.intp),
            presentations=row.presentations,
            n_comparisons=row.n_comparisons,
            draw_digest=row.draw_digest,
            record=None if row.record is None else value_of(row.record),
            votes_digest=row.votes_digest,
            chain_digest=row.chain_digest,
        )
        for row in rows
    ]


def store_ballot(
    connection: sa.Connection,
    info: CampaignInfo,
    drawn: Asked,
    places: NDArray[np.intp],
    *,
    number: int,
    kind: str = "ballot",
    presentations: int,
) -> int:
    """Store a drawn ballot with its sheets and comparisons, draw and store its probes, and return its id.

    The comparisons of each slot are cut into sheets of at most `Settings.sheet_size`, in their order. If another
    process stores the same number at the same time, a constraint makes this call fail.
    """
    slot = drawn.voter.astype(np.int64)
    sheet, position, sheets = sheets_of(slot, info.settings.sheet_size)
    columns = DrawnColumns(sheet, position, places[drawn.left].astype(np.int64), places[drawn.right].astype(np.int64))
    probes: list[Probe] = []
    if info.settings.probing is not None:
        asked = Drawn(sheet, position, columns.left, columns.right, sheets[:, 0])
        texts = [label_text(label) for label in info.items]
        drawing = partial(probes_for, seed=info.seed, number=number, assigned=info.settings.assigned)
        columns, probes = _shown(columns, drawing(connection, info.id, info.settings.probing, texts, asked))
    ballot_id: int = connection.execute(
        sa.insert(schema.ballot)
        .values(
            campaign_id=info.id,
            number=number,
            kind=kind,
            state="open",
            places=json_of(places.tolist()),
            presentations=presentations,
            n_comparisons=drawn.n_comparisons,
            draw_digest=draw_digest(info, columns, probes),
            opened_at=now(),
        )
        .returning(schema.ballot.c.id)
    ).scalar_one()
    insert_columns(
        connection,
        schema.sheet,
        {
            "ballot_id": ballot_id,
            "number": list(range(len(sheets))),
            "slot": sheets[:, 0].tolist(),
            "n_comparisons": sheets[:, 1].tolist(),
            "n_checks": n_checks(probes, range(len(sheets))),
        },
    )
    store_comparisons(connection, ballot_id, columns, probes)
    return ballot_id


def n_checks(probes: Iterable[Probe], sheets: Iterable[int]) -> list[int]:
    """Return the number of checks of each sheet, practice left out."""
    counted = Counter(probe.sheet for probe in probes if probe.kind != "practice")
    return [counted[sheet] for sheet in sheets]


def store_comparisons(connection: sa.Connection, ballot_id: int, drawn: DrawnColumns, probes: Sequence[Probe]) -> None:
    """Store the pairs of a ballot: its comparisons, and its probes in the places after them."""
    nothing = [None] * drawn.sheet.size
    insert_columns(
        connection,
        schema.comparison,
        {
            "ballot_id": ballot_id,
            "place": list(range(drawn.sheet.size + len(probes))),
            "sheet": drawn.sheet.tolist() + [probe.sheet for probe in probes],
            "position": drawn.position.tolist() + [probe.position for probe in probes],
            "left_item": drawn.left.tolist() + [probe.left for probe in probes],
            "right_item": drawn.right.tolist() + [probe.right for probe in probes],
            "probe": nothing + [probe.kind for probe in probes],
            "expected": nothing + [probe.expected for probe in probes],
            "repeats": nothing + [probe.repeats for probe in probes],
        },
    )


def drawn_columns(connection: sa.Connection, ballot_id: int) -> DrawnColumns:
    """Return the comparisons of a ballot as they were drawn."""
    table = schema.comparison
    wanted = sa.select(table.c.sheet, table.c.position, table.c.left_item, table.c.right_item)
    scored = wanted.where(table.c.ballot_id == ballot_id, table.c.probe.is_(None))
    return DrawnColumns(*integer_columns(connection, scored.order_by(table.c.place)))


def load_ballot(connection: sa.Connection, info: CampaignInfo, stored: StoredBallot) -> Ballot:
    """Return the ballot that `draw_ballot` drew, from its rows."""
    drawn = drawn_columns(connection, stored.id)
    slots = np.array(
        connection.execute(
            sa.select(schema.sheet.c.slot).where(schema.sheet.c.ballot_id == stored.id).order_by(schema.sheet.c.number)
        )
        .scalars()
        .all(),
        np.int32,
    )
    index = np.full(info.n_items, -1, np.int32)
    index[stored.places] = np.arange(stored.places.size, dtype=np.int32)
    return Ballot(
        items=tuple(info.items[place] for place in stored.places.tolist()),
        presentations=stored.presentations,
        voters=tuple(info.slots) if int(slots.max(initial=0)) < len(info.slots) else range(int(slots.max()) + 1),
        left=index[drawn.left],
        right=index[drawn.right],
        voter=slots[drawn.sheet],
    )


def draw_lines(info: CampaignInfo, drawn: DrawnColumns, probes: Sequence[Probe] = ()) -> list[str]:
    """Return the lines that the digest of a draw covers: place, sheet, position, left and right, as JSON lists.

    The lines of the probes follow, as in `probe_lines`. A position is the number of comparisons that the sheet shows
    before this one, without checks.
    """
    labels = [label_text(label) for label in info.items]
    before = _n_before(drawn, probes)
    columns = zip(drawn.sheet.tolist(), before, drawn.left.tolist(), drawn.right.tolist(), strict=False)
    lines = [
        f"[{place},{sheet},{position},{labels[left]},{labels[right]}]"
        for place, (sheet, position, left, right) in enumerate(columns)
    ]
    placed = zip(probes, before[len(lines) :], strict=True)
    return lines + probe_lines(labels, [probe._replace(position=position) for probe, position in placed])


def draw_digest(info: CampaignInfo, drawn: DrawnColumns, probes: Sequence[Probe] = ()) -> str:
    """Return the SHA-256 of `draw_lines`."""
    return digest_of(draw_lines(info, drawn, probes))


def _shown(drawn: DrawnColumns, probes: Sequence[Probe]) -> tuple[DrawnColumns, list[Probe]]:
    """Convert positions that count only comparisons to positions among all pairs of a sheet."""
    sheet = np.concatenate([drawn.sheet, [probe.sheet for probe in probes]]).astype(np.int64)
    position = np.concatenate([drawn.position, [probe.position for probe in probes]])
    is_comparison = np.arange(sheet.size) < drawn.sheet.size
    order = np.lexsort((is_comparison, position, sheet))  # a probe comes before the comparison of its position
    shown = np.empty_like(sheet)
    shown[order] = np.arange(sheet.size) - _firsts(sheet[order])
    columns = replace(drawn, position=shown[: drawn.sheet.size])
    rest = zip(probes, shown[drawn.sheet.size :].tolist(), strict=True)
    return columns, [probe._replace(position=position) for probe, position in rest]


def _n_before(drawn: DrawnColumns, probes: Sequence[Probe]) -> list[int]:
    """Return how many comparisons the sheet shows before each comparison, and before each probe."""
    if not probes:
        return drawn.position.tolist()  # type: ignore[no-any-return]
    sheet = np.concatenate([drawn.sheet, [probe.sheet for probe in probes]]).astype(np.int64)
    position = np.concatenate([drawn.position, [probe.position for probe in probes]])
    order = np.lexsort((position, sheet))
    is_comparison = (order < drawn.sheet.size).astype(np.int64)
    counted = np.cumsum(is_comparison) - is_comparison
    before = np.empty_like(sheet)
    before[order] = counted - counted[_firsts(sheet[order])]
    return before.tolist()  # type: ignore[no-any-return]


def _firsts(sheet: Array) -> Array:
    """Return the index at which the sheet of each row begins; rows are sorted by sheet."""
    return np.searchsorted(sheet, sheet)


def sheets_of(slot: Array, size: int | None) -> tuple[Array, Array, Array]:
    """Return sheet and position of each comparison, and slot and number of comparisons of each sheet."""
    order = np.argsort(slot, kind="stable")
    ordered = slot[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    counts = np.diff(np.append(starts, slot.size))
    within = np.arange(slot.size) - np.repeat(starts, counts)
    # Use as few sheets as the size allows, of nearly equal length, so that no voter comes for a sheet of one
    # comparison.
    n_sheets = np.ones_like(counts) if size is None else -(-counts // size)
    cut, of = np.repeat(n_sheets, counts), np.repeat(counts, counts)
    chunk = within * cut // of
    begins = np.concatenate([[True], (ordered[1:] != ordered[:-1]) | (chunk[1:] != chunk[:-1])])
    number = np.cumsum(begins) - 1
    sheet, position = np.empty_like(slot), np.empty_like(slot)
    sheet[order] = number
    position[order] = within - -(-chunk * of // cut)
    firsts = np.flatnonzero(begins)
    return sheet, position, np.column_stack([ordered[firsts], np.diff(np.append(firsts, slot.size))])


def probes_for(
    connection: sa.Connection,
    campaign_id: int,
    probing: Probing,
    labels: Sequence[str],
    drawn: Drawn,
    *,
    seed: int,
    number: int,
    assigned: bool,
) -> list[Probe]:
    """Draw the probes of a ballot that is about to be stored.

    Parameters
    ----------
    labels : sequence of str
        Items of the campaign, encoded by `label_text`.
    seed, number : int
        Seed of the campaign and number of the ballot.
    assigned : bool
        Whether each sheet goes to the voter of its slot; otherwise every sheet has the practice.
    """
    index = {label: place for place, label in enumerate(labels)}
    known = tuple(
        Known(each.kind, index[label_text(each.left)], index[label_text(each.right)], int(WORDS[each.expected]))
        for each in probing.known
    )
    rng = ballot_rng(seed, number, "probe")
    seen = _seen(connection, campaign_id, known)
    practised = _slots_so_far(connection, campaign_id) if assigned else None
    return draw_probes(probing, known, drawn, seen, practised, rng)


def ballot_probes(connection: sa.Connection, ballot_id: int) -> list[Probe]:
    """Return the probes of a ballot by place; their positions are among all pairs of the sheet."""
    table = schema.comparison
    names = (table.c.sheet, table.c.position, table.c.probe, table.c.left_item, table.c.right_item)
    rows = connection.execute(
        sa.select(*names, table.c.expected, table.c.repeats)
        .where(table.c.ballot_id == ballot_id, table.c.probe.is_not(None))
        .order_by(table.c.place)
    )
    return [Probe(*row) for row in rows]


def probe_lines(labels: Sequence[str], probes: Sequence[Probe]) -> list[str]:
    """Return the lines for probes that the digest of a draw covers after those of the comparisons.

    Each line is a JSON list: "p", number among the probes, sheet, position as `Probe` has it when drawn, left, right,
    kind, expected answer or null, and the place of the comparison that is asked again or null.

    Examples
    --------
    >>> probe_lines(['"apple"', '"pear"'], [Probe(0, 3, "gold", 1, 0, -1, None)])
    ['["p",0,0,3,"pear","apple","gold","right",null]']
    """
    return [
        f'["p",{place},{probe.sheet},{probe.position},{labels[probe.left]},{labels[probe.right]},"{probe.kind}",'
        f"{json_of(None if probe.expected is None else _WORDS[probe.expected])},{json_of(probe.repeats)}]"
        for place, probe in enumerate(probes)
    ]


def _seen(connection: sa.Connection, campaign_id: int, known: Sequence[Known]) -> Counter[tuple[int, int]]:
    """Return how often each slot has been asked each known pair so far."""
    asked, sheet, ballot = schema.comparison, schema.sheet, schema.ballot
    rows = connection.execute(
        sa.select(sheet.c.slot, asked.c.left_item, asked.c.right_item)
        .join(sheet, sa.and_(sheet.c.ballot_id == asked.c.ballot_id, sheet.c.number == asked.c.sheet))
        .join(ballot, ballot.c.id == asked.c.ballot_id)
        .where(ballot.c.campaign_id == campaign_id, asked.c.probe.in_(["attention", "gold"]))
    )
    index = {frozenset([each.left, each.right]): place for place, each in enumerate(known)}
    return Counter((slot, index[frozenset([left, right])]) for slot, left, right in rows)


def _slots_so_far(connection: sa.Connection, campaign_id: int) -> set[int]:
    sheet, ballot = schema.sheet, schema.ballot
    rows = connection.execute(
        sa.select(sheet.c.slot)
        .distinct()
        .join(ballot, ballot.c.id == sheet.c.ballot_id)
        .where(ballot.c.campaign_id == campaign_id)
    )
    return {row.slot for row in rows}
