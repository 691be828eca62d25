"""Export the current votes in the formats of other programs, and all events of votes one by one.

Votes that a format cannot express are counted, not altered. Comparisons without a vote are written if the format allows
them.

- Our CSV: comparison, voter, left, right, winner, further fields of the votes, seconds and received_at. Without the
  first two columns, this is the format of evalica. A campaign with grades adds grade, which is above 0 if the left item
  is preferred. In a campaign of sets, item_1, item_2, ..., best and worst replace left, right and winner. No other
  format has grades or sets.
- The JSON Lines of arenas: model_a, model_b, winner, judge and tstamp, and the id of the comparison.
- Tasks of Label Studio with a `Pairwise` tag, which has no ties. They fit this labeling configuration::

      <View>
        <Pairwise name="pairwise" toName="text1,text2"/>
        <Text name="text1" value="$text1"/>
        <Text name="text2" value="$text2"/>
      </View>

  If items have content, each task includes it as content1 and content2, with kind1 and kind2, and with alt_text1 and
  alt_text2 if there are any. A configuration may, for example, show ``$content1`` in an `Image`.
- JSON Lines of potato's pairwise scheme with the name "preference", items_key "responses" and allow_tie. If items
  have content, an instance also has contents [a, b], with kinds and alt_texts; items_key "contents" shows it.
- Pairs of winner and loser for choix: indices from 0 into the items of a second file.
- Target groups for `rankcorr.vectors.read_target_groups`, of a campaign that has them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias, cast

import numpy as np
import sqlalchemy as sa

from adaptive._formats.records import EXPORT_COLUMNS
from adaptive._record import json_label
from adaptive._tables import csv_text, guarded, item_cells, item_columns, item_name, set_columns
from adaptive.ledger._campaign.content import ItemContent
from adaptive.ledger._campaign.settings import Targets
from adaptive.ledger._campaign.transaction import CampaignInfo, Transaction
from adaptive.ledger._store import schema
from adaptive.ledger.errors import LedgerError
from rankcorr._checks import check_choice

if TYPE_CHECKING:
    from rankcorr.vectors import TargetGroups

_MODEL: Final = {"left": "model_a", "right": "model_b", "tie": "tie"}
_SELECTION: Final = {"left": "A", "right": "B", "tie": "tie"}

MOST_EVENTS: Final = 1_000
Format: TypeAlias = Literal["csv", "arena", "label_studio", "potato", "choix", "target_groups"]


@dataclass(frozen=True)
class Export:
    """Exported files for another program.

    Attributes
    ----------
    files : dict of str to str
        Content by name.
    n_votes : int
        Number of votes in the files.
    left_out : dict of str to int
        Number of votes that are not in the files, by reason.
    n_without_grade : int
        Number of votes whose grade, above 1, the format cannot express.
    """

    files: Mapping[str, str]
    n_votes: int
    left_out: Mapping[str, int]
    n_without_grade: int = 0

    def to_text(self) -> str:
        """Return a one-line summary of the written and the omitted votes."""
        out = [f"{count:,} left out: {reason}" for reason, count in self.left_out.items()]
        if self.n_without_grade:
            out.append(f"{self.n_without_grade:,} without their grade")
        return "; ".join([f"{self.n_votes:,} votes in {', '.join(self.files)}", *out])


def export_votes(
    transaction: Transaction,
    format: Format,  # noqa: A002 - the name of the option
    *,
    unanswered: bool = False,
    names: bool = False,
    guard: bool = True,
) -> Export:
    """Write the votes that count, at most one for each comparison; see `Campaign.export_votes`."""
    check_choice("format", format, FORMATS)
    form = _FORMS[format]
    if format == "target_groups" and transaction.info.settings.targets is None:
        raise LedgerError("the campaign has no target groups to export")
    if format != "csv" and transaction.info.set_size > 2:
        raise LedgerError(f"{format} is for votes on pairs, but this campaign has sets: export its votes as csv")
    votes, left_out = _expressible(
        read_comparisons(transaction, names=names), format, unanswered=unanswered and form.unanswered
    )
    contents = transaction.contents()
    has_contents = any(content.content is not None for content in contents)
    items = dict(zip(transaction.info.items, contents, strict=True)) if has_contents else {}
    texts = form.write(votes, items, transaction.info, guard)
    files = dict(zip(form.files, [texts] if isinstance(texts, str) else texts, strict=True))
    ungraded = [] if format == "csv" else [vote for vote in votes if abs(vote.grade or 0) > 1]
    return Export(files, sum(vote.answer is not None for vote in votes), left_out, len(ungraded))


def _expressible(
    comparisons: Sequence[VotedComparison], form: Format, *, unanswered: bool
) -> tuple[list[VotedComparison], dict[str, int]]:
    """Return the votes that a format can express, and count the others by reason."""
    exported: list[VotedComparison] = []
    left_out: Counter[str] = Counter()
    for vote in comparisons:
        if vote.answer is None:
            if unanswered:
                exported.append(vote)
        elif vote.is_excluded:
            left_out["their voter is excluded"] += 1
        elif vote.answer not in _FORMS[form].answers and len(vote.items) == 2:
            left_out[f"{form} has no {vote.answer!r}"] += 1
        else:
            exported.append(vote)
    return exported, dict(left_out)


def csv_votes(votes: Sequence[VotedComparison], info: CampaignInfo, guard: bool) -> str:
    """Return our CSV; an extra column with the name of a standard column gets the prefix file_."""
    items = {label for vote in votes for label in vote.items[:2]}
    has_grades = info.settings.grades > 1
    answer_columns = [*item_columns("left", items), *item_columns("right", items), "winner", *["grade"] * has_grades]
    ours = ["comparison", "voter", *(answer_columns if info.set_size == 2 else set_columns(info.set_size))]
    last = list(EXPORT_COLUMNS)
    extra = list(dict.fromkeys(name for vote in votes for name in vote.extra))
    named = [f"file_{name}" if name in {*ours, *last} else name for name in extra]
    safe = guarded if guard else str
    cells = {label: [safe(cell) for cell in item_cells(label)] for label in items}

    def answer_cells(vote: VotedComparison) -> list[str]:
        if info.set_size > 2:
            return set_cells(vote.items, vote.answer, safe)
        grade = ["" if vote.grade is None else str(vote.grade)] * has_grades
        return [*(cell for label in vote.items for cell in cells[label]), vote.answer or "", *grade]

    rows = (
        [
            schema.file_id(vote.comparison),
            safe(vote.voter or ""),
            *answer_cells(vote),
            *(safe(vote.extra.get(name, "")) for name in extra),
            "" if vote.response_ms is None else f"{vote.response_ms / 1000:.3f}",
            "" if vote.received_at is None else schema.time_text(vote.received_at),
        ]
        for vote in votes
    )
    return csv_text([*ours, *map(safe, named), *last], rows)


def label_cell(label: Hashable) -> str:
    """Return a label as one cell: text unchanged, and anything else as JSON.

    Examples
    --------
    >>> label_cell("oak"), label_cell(("oak", "tree"))
    ('oak', '["oak","tree"]')
    """
    return label if isinstance(label, str) else schema.label_text(label)


def set_cells(items: Sequence[Hashable], answer: str | None, safe: Callable[[str], str]) -> list[str]:
    """Return the cells of `set_columns`; best and worst are empty without an answer, and for "cannot say".

    Parameters
    ----------
    items : sequence of hashable
        The labels of the set, in the order shown.
    answer : str or None
    safe : callable
        Makes a label safe for a spreadsheet.

    Examples
    --------
    >>> set_cells(["ash", "fir", "oak"], "best 3 worst 1", str)
    ['ash', 'fir', 'oak', 'oak', 'ash']
    """
    cells = [safe(label_cell(label)) for label in items]
    code = schema.CANNOT_SAY if answer is None else schema.ANSWERS[answer]
    if code == schema.CANNOT_SAY:
        return [*cells, "", ""]
    best, worst = schema.best_and_worst(np.array(code))
    return [*cells, cells[int(best)], cells[int(worst)]]


def arena_lines(votes: Sequence[VotedComparison]) -> str:
    """Return one line for each vote, with times in seconds since 1970; all votes must be left, right or tie."""
    return _json_lines(
        {
            "comparison": vote.comparison,
            "model_a": json_label(vote.items[0]),
            "model_b": json_label(vote.items[1]),
            "winner": _MODEL[vote.answer or ""],
            "judge": vote.voter,
            "tstamp": None if vote.received_at is None else vote.received_at / 1e6,
        }
        for vote in votes
    )


def choix_files(votes: Sequence[VotedComparison], items: Sequence[Hashable], guard: bool) -> list[str]:
    """Return CSV of winners and losers, and CSV of the items; all votes must be left or right."""
    place = {item: at for at, item in enumerate(items)}
    rows = ([place[item] for item in vote.items[:: 1 if vote.answer == "left" else -1]] for vote in votes)
    safe = guarded if guard else str
    labels = ([safe(cell) for cell in item_cells(item)] for item in items)
    return [csv_text(["winner", "loser"], rows), csv_text(item_columns("item", items), labels)]


def groups_of_votes(votes: Iterable[VotedComparison], targets: Targets) -> TargetGroups:
    """Count the votes on positive candidates of each target; a tie counts as half a vote for each."""
    from rankcorr.vectors import TargetGroups

    shares: dict[Any, float] = {}
    numbers: Counter[Any] = Counter()
    for vote in votes:
        (target, left), (_, right) = cast(Any, vote.items)
        is_reversed = (target, right, left) in numbers
        key = (target, right, left) if is_reversed else (target, left, right)
        numbers[key] += 1
        won = {"left": 1.0, "right": 0.0}.get(vote.answer or "", 0.5)
        shares[key] = shares.get(key, 0.0) + (1.0 - won if is_reversed else won)
    shares = {key: value / numbers[key] for key, value in shares.items()}
    return TargetGroups(cast(Any, targets), shares, numbers)


def target_groups(transaction: Transaction) -> TargetGroups:
    """Return the target groups of `Campaign.target_groups`."""
    if transaction.info.settings.targets is None:
        raise LedgerError("the campaign has no target groups")
    votes, _ = _expressible(read_comparisons(transaction), "target_groups", unanswered=False)
    return groups_of_votes(votes, transaction.info.settings.targets)


def _label_studio_task(vote: VotedComparison, items: Mapping[Hashable, ItemContent]) -> dict[str, Any]:
    data = {"comparison": vote.comparison, "voter": vote.voter}
    for side, label in enumerate(vote.items, 1):
        data[f"text{side}"] = item_name(label)
    for side, label in enumerate(vote.items, 1):
        if label in items:
            item = items[label]
            # An item without content gets its label, because all tasks need the variables of the configuration.
            data[f"content{side}"] = item_name(label) if item.content is None else item.content
            data[f"kind{side}"] = item.kind
            data[f"alt_text{side}"] = item.alt_text
    task: dict[str, Any] = {"data": {name: value for name, value in data.items() if value is not None}}
    if vote.answer is not None:
        result = {"id": vote.comparison, "from_name": "pairwise", "to_name": "text1,text2", "type": "pairwise"}
        annotation: dict[str, Any] = {"result": [{**result, "value": {"selected": vote.answer}}]}
        if vote.response_ms is not None:
            annotation["lead_time"] = vote.response_ms / 1000
        if vote.received_at is not None:
            annotation["created_at"] = schema.time_text(vote.received_at)
        task["annotations"] = [annotation]
    return task


def _potato_instance(vote: VotedComparison, items: Mapping[Hashable, ItemContent]) -> dict[str, Any]:
    texts = [item_name(label) for label in vote.items]
    instance: dict[str, Any] = {"id": vote.comparison, "responses": texts}
    if items:
        pair = [items[label] for label in vote.items]
        instance["contents"] = [
            text if item.content is None else item.content for text, item in zip(texts, pair, strict=True)
        ]
        instance["kinds"] = [item.kind for item in pair]
        if any(item.alt_text is not None for item in pair):
            instance["alt_texts"] = [item.alt_text for item in pair]
    if vote.voter is not None:
        instance["user_id"] = vote.voter
    if vote.answer is not None:
        instance["preference"] = {"selection": _SELECTION[vote.answer]}
    return instance


def _json_array(entries: Iterable[Mapping[str, Any]]) -> str:
    return "[\n" + ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in entries) + "\n]\n"


def _json_lines(entries: Iterable[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries)


@dataclass(frozen=True)
class VotedComparison:
    """A comparison and its current vote.

    Attributes
    ----------
    comparison : str
        Id of the comparison, such as "2-0-17".
    voter : str or None
        Key or name of the voter, or of the holder of the sheet if there is no vote.
    items : tuple of hashable
        Labels, in the order shown.
    answer : {"left", "right", "tie", "cannot say"} or None
        For a set, one of `CampaignInfo.answers`.
    grade : int or None
        Grade of the preference, above 0 for the left side; None without a grade.
    response_ms : int or None
    received_at : int or None
        Microseconds since 1970.
    extra : dict of str to str
        Further fields sent with the vote.
    is_excluded : bool
        Whether the voter is excluded.
    """

    comparison: str
    voter: str | None
    items: tuple[Hashable, ...]
    answer: str | None
    grade: int | None
    response_ms: int | None
    received_at: int | None
    extra: Mapping[str, str]
    is_excluded: bool


class _Form(NamedTuple):
    """A format: its files, the answers that it can express, and whether it has comparisons without a vote.

    `write` is a function of the votes, the contents of items (empty if items have only labels), the campaign, and
    whether to guard cells. It returns the content of the file, or of each file.
    """

    files: tuple[str, ...]
    answers: Collection[str]
    unanswered: bool
    write: Callable[[Sequence[VotedComparison], Mapping[Hashable, ItemContent], CampaignInfo, bool], str | list[str]]


_WINS: Final = ("left", "right")
_FORMS: Final[dict[Format, _Form]] = {
    "csv": _Form(
        ("votes.csv",), (*_MODEL, "cannot say"), True, lambda votes, _, info, guard: csv_votes(votes, info, guard)
    ),
    "arena": _Form(("votes.jsonl",), _MODEL, False, lambda votes, *_: arena_lines(votes)),
    "label_studio": _Form(
        *(("tasks.json",), _WINS, True),
        lambda votes, items, *_: _json_array(_label_studio_task(vote, items) for vote in votes),
    ),
    "potato": _Form(
        *(("instances.jsonl",), _MODEL, True),
        lambda votes, items, *_: _json_lines(_potato_instance(vote, items) for vote in votes),
    ),
    "choix": _Form(
        ("pairs.csv", "items.csv"), _WINS, False, lambda votes, _, info, guard: choix_files(votes, info.items, guard)
    ),
    "target_groups": _Form(
        *(("target-groups.csv",), _MODEL, False),
        lambda votes, _, info, *__: groups_of_votes(votes, info.settings.targets or {}).to_csv(),
    ),
}
FORMATS: Final = tuple(_FORMS)


def read_comparisons(transaction: Transaction, *, names: bool = False) -> list[VotedComparison]:
    """Return all comparisons in order, with the random keys of voters, or with their names if `names` is true."""
    display_names = transaction.voter_names() if names else transaction.voter_keys()
    excluded = transaction.excluded_voters()
    comparison, ballot, event, lease = schema.comparison, schema.ballot, schema.vote_event, schema.lease
    of_campaign = transaction.of_campaign(ballot)
    leases = sa.select(lease.c.ballot_id, lease.c.sheet, lease.c.voter_id).select_from(schema.LEASES).where(of_campaign)
    holders = {(row.ballot_id, row.sheet): row.voter_id for row in transaction.execute(leases.order_by(lease.c.fence))}
    of_vote = (event.c.answer, event.c.voter_id, event.c.response_ms, event.c.received_at, event.c.extra)
    rows = transaction.execute(
        sa.select(comparison, ballot.c.number, *of_vote)
        .select_from(schema.PAIRS.outerjoin(event, sa.and_(schema.OF_COMPARISON, schema.IN_FORCE)))
        .where(of_campaign, comparison.c.probe.is_(None))
        .order_by(ballot.c.number, comparison.c.place)
    )
    result = []
    for row in rows:
        voter = holders.get((row.ballot_id, row.sheet)) if row.voter_id is None else row.voter_id
        answer, grade = (None, None) if row.answer is None else schema.side_and_grade(schema.answer_name(row.answer))
        result.append(
            VotedComparison(
                comparison=schema.pair_id(row.number, row.sheet, row.position),
                voter=None if voter is None else display_names[voter],
                items=transaction.labels_of(row),
                answer=answer,
                grade=grade,
                response_ms=row.response_ms,
                received_at=row.received_at,
                extra={} if row.extra is None else json.loads(row.extra),
                is_excluded=row.voter_id in excluded,
            )
        )
    return result


@dataclass(frozen=True)
class LedgerEvent:
    """An event of a vote in the ledger.

    Attributes
    ----------
    number : int
        Increasing number, with gaps.
    event_id : str
    comparison : str
        Id of the comparison, such as "2-0-17".
    left, right : hashable
        Labels.
    other_items : tuple of hashable
        Labels of the items of a set after its first two, which are `left` and `right`.
    revision : int
    kind : {"cast", "retract", "void"}
    answer : str or None
        One of `CampaignInfo.answers`.
    voter : str
        Random key.
    response_ms : int or None
    given_by, layout : str or None
    received_at : str
        ISO 8601.

    See Also
    --------
    Campaign.events_after : Returns them.
    VoteCast : A vote as it is sent.

    Examples
    --------
    >>> from adaptive import plan_ballots
    >>> from adaptive.ledger import Ledger
    >>> plan = plan_ballots(4, n_ballots=2, fraction=0.5, presentations=2)
    >>> ledger = Ledger.in_memory()
    >>> campaign = ledger.new_campaign(plan, ["ash", "fir", "oak", "yew"], voters=["Ann"], seed=1)
    >>> n_opened = campaign.open_next()
    >>> recorded = campaign.record({pair.id: "left" for pair in campaign.asked()})
    >>> for event in campaign.events_after(0):
    ...     print(event.comparison, event.left, event.right, event.kind, event.answer)
    1-0-0 fir oak cast left
    1-0-1 oak ash cast left
    1-0-2 ash yew cast left
    1-0-3 yew fir cast left
    >>> ledger.close()
    """

    number: int
    event_id: str
    comparison: str
    left: Hashable
    right: Hashable
    revision: int
    kind: str
    answer: str | None
    voter: str
    response_ms: int | None
    given_by: str | None
    layout: str | None
    received_at: str
    other_items: tuple[Hashable, ...] = ()


def events_after(transaction: Transaction, after: int = 0, *, most: int = MOST_EVENTS) -> tuple[LedgerEvent, ...]:
    """Return the events of `Campaign.events_after`; needs a writing transaction, because it locks ballots."""
    event, comparison, voter = schema.vote_event, schema.comparison, schema.voter
    numbers = transaction.lock_ballots()
    same = ("event_id", "revision", "kind", "response_ms", "given_by", "layout")
    items = (comparison.c.left_item, comparison.c.right_item, comparison.c.other_items)
    rows = transaction.execute(
        sa.select(event, comparison.c.sheet, comparison.c.position, *items, voter.c.key)
        .select_from(event.join(comparison).join(voter))
        .where(event.c.ballot_id.in_(list(numbers)), event.c.id > after, comparison.c.probe.is_(None))
        .order_by(event.c.id)
        .limit(most)
    )
    events = []
    for row in rows:
        left, right, *others = transaction.labels_of(row)
        ledger_event = LedgerEvent(
            number=row.id,
            comparison=schema.pair_id(numbers[row.ballot_id], row.sheet, row.position),
            left=left,
            right=right,
            other_items=tuple(others),
            answer=None if row.answer is None else schema.answer_name(row.answer),
            voter=row.key,
            received_at=schema.time_text(row.received_at),
            **{name: row._mapping[name] for name in same},
        )
        events.append(ledger_event)
    return tuple(events)
