"""Check that the parts of a campaign agree: digests of draws and votes, the chain, and a replay of the records.

A continuous campaign has no ballot scores, and is ranked by strengths fitted to its votes. The last digits of a fit
differ between machines. The table of a bundle is therefore compared with a new fit within a tolerance.
"""

import csv
import io
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from adaptive._draw import Ballot, draw_ballot
from adaptive._protocol import Position, ballot_rng
from adaptive._record import BallotRecord, ProtocolResult, places_best_first
from adaptive._scores import select_again, select_top
from adaptive._tables import cell_number, csv_text, guarded, item_cells, item_columns, set_columns
from adaptive.comparisons._comparisons import Comparisons
from adaptive.errors import AdaptiveError
from adaptive.ledger._ballots.draws import draw_digest, sheets_of
from adaptive.ledger._ballots.stored import (
    CurrentVotes,
    StoredBallot,
    ballot_of,
    chain_digest,
    choices_of,
    record_and_position,
    record_dict,
    sides_of,
)
from adaptive.ledger._bundle.contents import Contents, Row
from adaptive.ledger._campaign.settings import KINDS
from adaptive.ledger._store import schema
from adaptive.ledger._votes.exports import set_cells
from adaptive.ledger.errors import BundleError
from adaptive.model._models import bradley_terry

# Fields that no other part of the campaign confirms: a forger who recomputes sums and digests can change them.
UNCHECKED: Final[Mapping[str, tuple[str, ...]]] = {
    "plan.json": ("created_at", "key", "name", "settings", "slots"),
    "pages.json": ("at", "pages"),
    "items.csv": ("alt_text", "content", "kind"),
    "ballots.json": ("ballots.closed_at", "ballots.opened_at"),
    "voters.csv": ("consent_version", "joined_at", "name", "source", "withdrawn_at"),
    "events.jsonl": (
        *("audit", "late_vote", "lease", "vote.answer to a check", "vote.event_id", "vote.extra", "vote.fence"),
        *("vote.given_by", "vote.layout", "vote.reason", "vote.received_at", "vote.response_ms"),
    ),
}
_MOST_SLOTS: Final = 2**22  # limit for repeating the draw of an untrusted bundle
_SCORES: Final = ("ybar", "presentations", "wins", "ties", "losses", "last_ballot")


@dataclass(frozen=True)
class Verified:
    """The outcome of a check.

    Attributes
    ----------
    key, name : str
        Key and name of the campaign.
    n_items, n_ballots, n_closed, n_comparisons : int
    n_events : int
        Vote events, including late votes.
    n_votes : int
        Votes that count.
    result : ProtocolResult or None
        The ranking after the closed ballots, from the replay. None if no ballot is closed, and in a continuous
        campaign.
    chain_digest : str or None
        Digest of the last closed ballot, which covers all earlier ones. Compare it with a copy that you noted earlier
        to detect missing ballots.
    unchecked : dict of str to tuple of str
        Fields, by file, that no other part of the campaign confirms. A forger who recomputes the sums can change them.

    See Also
    --------
    verify_bundle, Campaign.verify : Return it.
    BundleError : Raised if a check fails.

    Examples
    --------
    >>> from adaptive import plan_ballots
    >>> from adaptive.ledger import Ledger
    >>> plan = plan_ballots(4, n_ballots=2, fraction=0.5, presentations=2)
    >>> ledger = Ledger.in_memory()
    >>> campaign = ledger.new_campaign(plan, ["ash", "fir", "oak", "yew"], voters=["Ann"], seed=1, name="trees")
    >>> n_opened = campaign.open_next()
    >>> checked = campaign.verify()
    >>> checked.name, checked.n_items, checked.n_closed, checked.n_comparisons, checked.result
    ('trees', 4, 0, 4, None)
    >>> ledger.close()
    """

    key: str
    name: str
    n_items: int
    n_ballots: int
    n_closed: int
    n_comparisons: int
    n_events: int
    n_votes: int
    result: ProtocolResult | None
    chain_digest: str | None
    unchecked: Mapping[str, tuple[str, ...]]


def checked(contents: Contents, *, seed: bool = False) -> Verified:
    """Check all digests and the chain, and that the votes reproduce the records to the last bit.

    Parameters
    ----------
    contents : Contents
    seed : bool
        Whether the seed must reproduce the draws and the choice among items tied at the cut. Another version of numpy
        may draw other numbers, so a ballot opened with another version counts as unchecked.

    Raises
    ------
    BundleError
        If a check fails; the message names the ballot and the check.
    """
    _check_order(contents)
    by_ballot, on_checks = events_by_ballot(contents), events_by_ballot(contents, checks=True)
    voters = {voter["voter"] for voter in contents.voters}
    previous = None
    for ballot, stored in zip(contents.ballots, contents.stored_ballots, strict=True):
        number = stored.number
        if stored.kind != ("ballot" if contents.info.mode == "ballots" else "batch"):
            raise BundleError(f"ballot {number}: its kind is not that of the campaign's mode")
        if stored.state not in ("open", "closed"):
            raise BundleError(f"ballot {number}: is neither open nor closed")
        if not voters.issuperset((stored.record or {}).get("excluded", ())):
            raise BundleError(f"record of ballot {number}: a voter who is left out is not among the voters")
        _check_draw(contents, stored)
        _check_checks(contents, stored)
        if draw_digest(contents.info, contents.comparisons[number], contents.checks[number]) != stored.draw_digest:
            raise BundleError(f"draw of ballot {number}: its comparisons and checks do not have the digest draw_digest")
        n_pairs = stored.n_comparisons + len(contents.checks[number])
        for events in (by_ballot[number], on_checks[number]):
            _check_events(events, stored, n_pairs, contents.info.answers)
        closed = (stored.record, stored.votes_digest, stored.chain_digest, ballot["closed_at"])
        if stored.state != "closed":
            if any(value is not None for value in closed):
                raise BundleError(f"ballot {number} is open, and has a record")
            continue
        if stored.record is None or stored.votes_digest is None:
            raise BundleError(f"ballot {number} is closed, and has no record")
        if schema.digest_of(map(vote_line, by_ballot[number])) != stored.votes_digest:
            raise BundleError(f"votes of ballot {number}: its events do not have the digest votes_digest")
        chain = chain_digest(previous, stored.draw_digest, stored.votes_digest, stored.record)
        if chain != stored.chain_digest:
            raise BundleError(
                f"chain of ballot {number}: the ballot before, the draw, the votes and the record do not have the "
                f"digest chain_digest"
            )
        previous = chain
    return Verified(
        key=contents.info.key,
        name=contents.info.name,
        n_items=len(contents.items),
        n_ballots=len(contents.ballots),
        n_closed=sum(stored.state == "closed" for stored in contents.stored_ballots),
        n_comparisons=sum(stored.n_comparisons for stored in contents.stored_ballots),
        n_events=sum(map(len, by_ballot.values())) + len(contents.late_votes),
        n_votes=sum(len(votes_that_count(events, contents.excluded)) for events in by_ballot.values()),
        result=_replay(contents, by_ballot),
        chain_digest=previous,
        unchecked=_list_unchecked(contents, seed and _seed_replays(contents)),
    )


def events_by_ballot(contents: Contents, *, checks: bool = False) -> defaultdict[int, list[Row]]:
    """Return the vote events of each ballot, sorted by place and revision: on scored comparisons, or on checks."""
    n_scored = {ballot["number"]: ballot["n_comparisons"] for ballot in contents.ballots}
    by_ballot: defaultdict[int, list[Row]] = defaultdict(list)
    for event in contents.votes:
        if (event["place"] >= n_scored[event["ballot"]]) is checks:
            by_ballot[event["ballot"]].append(event)
    for events in by_ballot.values():
        events.sort(key=lambda event: (event["place"], event["revision"]))
    return by_ballot


def votes_that_count(events: Sequence[Row], excluded: frozenset[str]) -> dict[int, Row]:
    """Return the last event of each comparison, if it is a vote and its voter is not excluded."""
    last = {event["place"]: event for event in events}
    return {place: event for place, event in last.items() if event["kind"] == "cast" and event["voter"] not in excluded}


def current_votes_of(events: Sequence[Row], excluded: Collection[str]) -> CurrentVotes:
    """Return the votes that count, as the ledger's functions expect them, without their voters."""
    votes = votes_that_count(events, frozenset(excluded)).items()  # by place, as `events_by_ballot` sorts them
    codes = np.array([schema.ANSWERS[event["answer"]] for _, event in votes], np.int64)
    return CurrentVotes(np.array([place for place, _ in votes], np.int64), codes, np.zeros_like(codes))


def vote_line(event: Row) -> str:
    """Return the line that the digest of votes covers."""
    return schema.json_of([event["place"], event["revision"], event["kind"], event["answer"], event["voter"]])


def votes_csv(contents: Contents) -> str:
    """Return the votes that count as CSV: comparison, voter, left, right, winner and, if there are grades, grade.

    For sets, the columns after voter are item_1, item_2, ..., best and worst.
    """
    columns, cells = label_cells(contents.labels)
    set_size, has_grades = contents.info.set_size, contents.info.settings.grades > 1
    by_ballot = events_by_ballot(contents)
    rows, answer = [], list[Any]()
    for stored in contents.stored_ballots:
        comparisons = contents.comparisons[stored.number]
        items = comparisons.items.tolist()
        for place, event in votes_that_count(by_ballot[stored.number], contents.excluded).items():
            pair = schema.pair_id(stored.number, int(comparisons.sheet[place]), int(comparisons.position[place]))
            if set_size > 2:
                answer = set_cells([contents.labels[item] for item in items[place]], event["answer"], guarded)
            else:
                winner, grade = schema.side_and_grade(event["answer"])
                sides = [cell for item in items[place] for cell in cells[item]]
                answer = [*sides, winner, *([grade] if has_grades else [])]
            rows.append([pair, guarded(event["voter"]), *answer])
    of_pair = [*columns("left"), *columns("right"), "winner", *(["grade"] * has_grades)]
    return csv_text(["comparison", "voter", *(of_pair if set_size == 2 else set_columns(set_size))], rows)


def result_csv(contents: Contents, verified: Verified) -> str:
    """Return the ranking after the closed ballots, or only the column names if no ballot is closed."""
    columns, cells = label_cells(contents.labels)
    header = [*columns("item"), "rank", *_SCORES]
    result = verified.result
    if result is None:
        return csv_text(header, [])
    order = result.best_first
    values = (result.ranking.ranks[order], *(getattr(result, name)[order] for name in _SCORES))
    rows = zip(order.tolist(), *(column.tolist() for column in values), strict=True)
    return csv_text(header, ([*cells[place], *row] for place, *row in rows))


def label_cells(labels: Sequence[Hashable]) -> tuple[Callable[[str], list[str]], list[tuple[str, ...]]]:
    """Return a function from stem to the column names of items, and the cells of each label, guarded as in CSV."""
    cells = [item_cells(label) for label in labels]
    lengths = {len(label) if isinstance(label, tuple) else 0 for label in labels}
    if len(lengths) > 1:  # no columns fit all of them
        return lambda stem: [stem], [(guarded(" ".join(parts)),) for parts in cells]
    return lambda stem: item_columns(stem, labels), [tuple(map(guarded, parts)) for parts in cells]


def _check_order(contents: Contents) -> None:
    for part, rows, key, first in (("items", contents.items, "place", 0), ("ballots", contents.ballots, "number", 1)):
        for at, row in enumerate(rows, start=first):
            if row[key] != at:
                raise BundleError(f"{part}: {key} {at} is missing or listed twice")
    numbers = {stored.number for stored in contents.stored_ballots}
    voters = {voter["voter"] for voter in contents.voters}
    for name in ("leases", "votes", "late_votes"):
        for row in getattr(contents, name):
            if row["ballot"] not in numbers:
                raise BundleError(f"{name}: a row is of ballot {row['ballot']}, which is missing")
            if row["voter"] not in voters:
                raise BundleError(f"{name}: a row is by a voter who is not among the voters")


def _check_draw(contents: Contents, stored: StoredBallot) -> None:
    comparisons, number = contents.comparisons.get(stored.number), stored.number
    if comparisons is None or len(comparisons.items) != stored.n_comparisons:
        raise BundleError(f"draw of ballot {number}: {stored.n_comparisons} comparisons are expected")
    sheet = sheets_of(contents.slots[number], contents.info.settings.sheet_size)[0]
    if not np.array_equal(sheet, comparisons.sheet):
        raise BundleError(f"draw of ballot {number}: its sheets are not those of its slots")
    is_item = np.zeros(len(contents.items), bool)
    if stored.places.size and (stored.places.min() < 0 or stored.places.max() >= is_item.size):
        raise BundleError(f"draw of ballot {number}: its places are not those of items")
    is_item[stored.places] = True
    items = comparisons.items
    if items.size and (items.min() < 0 or items.max() >= is_item.size or not is_item[items].all()):
        raise BundleError(f"draw of ballot {number}: a comparison has an item that is not among its places")
    if (np.diff(np.sort(items, axis=1), axis=1) == 0).any():
        raise BundleError(f"draw of ballot {number}: a comparison has an item twice")
    n_drawn = -(-stored.places.size * stored.presentations // 2)  # also bounds the memory of a draw
    if contents.info.mode == "ballots" and stored.n_comparisons != n_drawn:
        raise BundleError(f"ballot {number}: {stored.presentations} presentations give another number of comparisons")


def _list_unchecked(contents: Contents, seed_replays: bool) -> dict[str, tuple[str, ...]]:
    more: dict[str, tuple[str, ...]] = {}
    if not seed_replays:
        other_items = set_columns(contents.info.set_size)[2:-2]
        more = {"plan.json": ("seed",), "comparisons.csv": ("left_item", "right_item", *other_items)}
    if contents.info.mode == "continuous":
        more["plan.json"] = ("seed", "plan")
        more["ballots.json"] = ("ballots.presentations",)
        more["result.csv"] = ("strengths beyond 0.001",)  # the tolerance between two fits
    return {name: (*UNCHECKED.get(name, ()), *more.get(name, ())) for name in {**UNCHECKED, **more}}


def _seed_replays(contents: Contents) -> bool:
    """Repeat the draws and the ties at their cuts; return False if another numpy may have drawn other numbers."""
    info = contents.info
    if info.mode != "ballots" or len(info.slots) > _MOST_SLOTS:
        return False  # a batch depends on a fit, whose last digits depend on the machine
    opened = {row["ballot"]: row["details"].get("numpy") for row in contents.audit if row["kind"] == "opened"}
    same = True
    for stored in contents.stored_ballots:
        number = stored.number
        items = [info.items[place] for place in stored.places.tolist()]
        again = draw_ballot(items, stored.presentations, len(info.slots), ballot_rng(info.seed, number, "draw"))
        wrong = "" if _is_same_draw(contents, stored, again) else "comparisons"
        if not wrong and stored.record is not None and number < info.ballot_plan.n_ballots:
            rng = ballot_rng(info.seed, number, "cut")
            selected = select_top(stored.record["ybar"], info.ballot_plan.sizes[number], rng).places
            if stored.places[selected].tolist() != stored.record["selected"]:
                wrong = "items of those that tie at the cut"
        if wrong and opened.get(number) == np.__version__:
            raise BundleError(f"ballot {number}: the seed {info.seed} gives other {wrong}")
        same = same and not wrong
    return same


def _is_same_draw(contents: Contents, stored: StoredBallot, ballot: Ballot) -> bool:
    comparisons = contents.comparisons[stored.number]
    same_pairs = np.array_equal(stored.places[[ballot.left, ballot.right]], comparisons.items.T)
    return same_pairs and np.array_equal(ballot.voter, contents.slots[stored.number])


def _check_checks(contents: Contents, stored: StoredBallot) -> None:
    """Check the items, kinds and order of the checks, and the positions of all pairs on each sheet."""
    number, n_items, comparisons = stored.number, len(contents.items), contents.comparisons[stored.number]
    checks = contents.checks[number]
    sheets = set(comparisons.sheet.tolist())
    for check in checks:
        if not (0 <= check.left < n_items and 0 <= check.right < n_items and check.sheet in sheets):
            raise BundleError(f"checks of ballot {number}: one has an item or a sheet that is missing")
        if check.kind not in (*KINDS, "repeat", "overlap") or check.expected not in (None, -1, 0, 1):
            raise BundleError(f"checks of ballot {number}: one is of an unknown kind, or expects an unknown answer")
    at = [(check.sheet, check.position) for check in checks]
    if at != sorted(at):
        raise BundleError(f"checks of ballot {number}: they are not in the order of their sheets and positions")
    positions = sorted([*zip(comparisons.sheet.tolist(), comparisons.position.tolist(), strict=True), *at])
    for (before, last), (sheet, position) in pairwise([(-1, -1), *positions]):
        if position != (last + 1 if sheet == before else 0):
            raise BundleError(f"draw of ballot {number}: positions on sheet {sheet} are not 0, 1, ...")


def _check_events(events: Sequence[Row], stored: StoredBallot, n_pairs: int, answers: Sequence[str]) -> None:
    before: tuple[int, int] = (-1, 0)
    for event in events:
        place, revision = event["place"], event["revision"]
        if not 0 <= place < n_pairs:
            raise BundleError(f"votes of ballot {stored.number}: there is no comparison in place {place}")
        if revision != (before[1] + 1 if place == before[0] else 1):
            raise BundleError(
                f"votes of ballot {stored.number}: revisions of the comparison in place {place} are not 1, 2, ..."
            )
        if (event["kind"] == "cast") != (event["answer"] in answers):
            raise BundleError(
                f"votes of ballot {stored.number}: event {event['event_id']} has no answer, or one too many"
            )
        before = (place, revision)


def _replay(contents: Contents, by_ballot: defaultdict[int, list[Row]]) -> ProtocolResult | None:
    """Score the closed ballots again, each from the votes before it, and compare the records with the stored ones."""
    info = contents.info
    closed = [stored for stored in contents.stored_ballots if stored.state == "closed"]
    if info.mode != "ballots" or not closed:
        return None
    position, records = Position.first(info.ballot_plan), []
    for stored in closed:
        record, position = _score_again(contents, stored, position, by_ballot[stored.number])
        records.append(record)
    return ProtocolResult(info.ballot_plan, info.items, position.mean, tuple(records))


def _score_again(
    contents: Contents, stored: StoredBallot, before: Position, events: Sequence[Row]
) -> tuple[BallotRecord, Position]:
    info, number, written = contents.info, stored.number, stored.record or {}
    if stored.places.tolist() != before.places.tolist():
        raise BundleError(f"draw of ballot {number}: its items are not those that ballot {number - 1} selected")
    excluded = written.get("excluded", [])
    votes = current_votes_of(events, excluded)
    try:
        ballot = ballot_of(info, stored, contents.comparisons[number], contents.slots[number])
        at = {place: at for at, place in enumerate(stored.places.tolist())}
        selected = np.array([at[place] for place in written["selected"]], np.intp)
        select = select_again(selected, written["n_tied_at_cut"])
        record, position = record_and_position(info, stored, ballot, votes, before, select=select)
    except AdaptiveError as error:
        raise BundleError(f"record of ballot {number}: the votes cannot be scored: {error}") from error
    again = record_dict(record, position, votes.n_answered, excluded)
    wrong = [name for name in again if schema.json_of(again[name]) != schema.json_of(written.get(name))]
    if wrong or set(written) != set(again):
        raise BundleError(
            f"record of ballot {number}: the votes do not give what is written in {', '.join(wrong) or 'it'}"
        )
    return record, position


_DIGITS: Final = 4
_TOLERANCE: Final = 0.001  # a hundredth of the smallest standard errors
Cells = tuple[str, ...]
Table = Mapping[Cells, tuple[float, float]]  # rank and strength by item


def strengths_csv(contents: Contents, *, oversight: float | None = None) -> str:
    """Return the table of items, ranks and strengths, best first; only the column names if there is no vote."""
    columns, cells = label_cells(contents.labels)
    header = [*columns("item"), "rank", "strength"]
    votes, grades, items = _counted_votes(contents)
    if not votes.n_comparisons:
        return csv_text(header, [])
    is_simple = contents.info.settings.grades == 1 and contents.info.set_size == 2
    choices = None if is_simple else choices_of(votes, grades, items)
    strengths = bradley_terry(votes, oversight=oversight) if choices is None else choices.fit()
    ranks, theta = strengths.ranking.ranks, strengths.theta.round(_DIGITS)
    order = places_best_first(contents.labels, ranks).tolist()
    return csv_text(header, ([*cells[place], repr(float(ranks[place])), repr(float(theta[place]))] for place in order))


def check_strengths(text: str, expected: str) -> None:
    """Raise BundleError if the strengths of a table differ from those of a fit by more than the tolerance.

    Raises
    ------
    BundleError
        If columns, items or strengths differ, or the ranks do not match the strengths.
    """
    if text == expected:
        return
    actual, again = _parse_strengths(text), _parse_strengths(expected)
    if text.split("\n", 1)[0] != expected.split("\n", 1)[0] or set(actual) != set(again):
        raise BundleError("result.csv: its columns or items are not those of the campaign")
    mine = np.array([actual[item] for item in again]).reshape(-1, 2)
    fitted = np.array(list(again.values())).reshape(-1, 2)
    if not (np.abs(mine[:, 1] - fitted[:, 1]) <= _TOLERANCE).all():
        raise BundleError("result.csv: its strengths are not those that the votes give")
    # Items whose strengths differ by less than the tolerance may swap places.
    ordered = np.sort(fitted[:, 1])
    first = np.searchsorted(ordered, fitted[:, 1] - 2 * _TOLERANCE, "left")
    last = np.searchsorted(ordered, fitted[:, 1] + 2 * _TOLERANCE, "right")
    if not (np.abs(mine[:, 0] - fitted[:, 0]) <= last - first - 1).all():
        raise BundleError("result.csv: its ranks are not those of the strengths")


def _counted_votes(contents: Contents) -> tuple[Comparisons, NDArray[np.int64], NDArray[np.int64]]:
    """Return the votes that count, with the grade and the items of each; "cannot say" counts as no answer."""
    by_ballot = events_by_ballot(contents)
    codes, item_rows = [np.empty(0, np.int64)], [np.empty((0, contents.info.set_size), np.int64)]
    for number, comparisons in contents.comparisons.items():
        votes = current_votes_of(by_ballot[number], contents.excluded).without_cannot_say()
        codes.append(votes.code)
        item_rows.append(comparisons.items[votes.place])
    answers, items = np.concatenate(codes), np.concatenate(item_rows)
    n_asked = sum(stored.n_comparisons for stored in contents.stored_ballots)
    left, right = sides_of(items, answers)
    columns = left.astype(np.int32), right.astype(np.int32), schema.directions_of(answers).astype(np.int8)
    return (
        Comparisons(contents.info.items, *columns, n_unanswered=n_asked - answers.size),
        schema.grades_of(answers),
        items,
    )


def _parse_strengths(text: str) -> Table:
    rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        next(rows, None)
        read = [(tuple(row[:-2]), (cell_number(row[-2]), cell_number(row[-1]))) for row in rows]
    except (csv.Error, IndexError) as error:
        raise BundleError(f"result.csv: cannot be read: {error}") from error
    if len(dict(read)) < len(read):
        raise BundleError("result.csv: an item is listed twice")
    return dict(read)
