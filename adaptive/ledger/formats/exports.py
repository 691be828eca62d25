"""Votes that stand, in the format that another program reads; what it cannot express is counted, never bent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from adaptive.ledger.campaign.info import CampaignInfo
from adaptive.ledger.formats.gathered import Answered, gathered, presented
from adaptive.ledger.formats.writing import arena_lines, choix_files, csv_votes, label_studio_tasks, potato_lines
from adaptive.ledger.store.database import Database
from rankcorr.checks import check_choice

__all__ = ["FORMATS", "Export", "Format", "export_votes"]

Format: TypeAlias = Literal["csv", "arena", "label_studio", "potato", "choix"]
FORMATS: Final = ("csv", "arena", "label_studio", "potato", "choix")
_ANSWERS: Final = {
    "csv": {"left", "right", "tie", "cannot say"},
    "arena": {"left", "right", "tie"},
    "label_studio": {"left", "right"},
    "potato": {"left", "right", "tie"},
    "choix": {"left", "right"},
}
_SHOWS_UNANSWERED: Final = {"csv", "label_studio", "potato"}


@dataclass(frozen=True)
class Export:
    """Files for another program.

    Attributes
    ----------
    files : dict of str to str
        Text by name.
    n_votes : int
        Votes that the files have.
    left_out : dict of str to int
        Votes that they have not, by reason.
    """

    files: Mapping[str, str]
    n_votes: int
    left_out: Mapping[str, int]

    def to_text(self) -> str:
        """What was written and what was not, in one line."""
        out = [f"{count:,} left out: {reason}" for reason, count in self.left_out.items()]
        return "; ".join([f"{self.n_votes:,} votes in {', '.join(self.files)}", *out])


def export_votes(
    database: Database,
    info: CampaignInfo,
    format: Format,  # noqa: A002 - the name of the option
    *,
    ballots: Sequence[int] | None = None,
    unanswered: bool = False,
    names: bool = False,
    guard: bool = True,
) -> Export:
    """Write the votes that count, one for each comparison at most.

    ============== ============================== =====================================================================
    format         files                          cannot express
    ============== ============================== =====================================================================
    "csv"          votes.csv                      nothing; the winner is left, right, tie, cannot say, or empty
    "arena"        votes.jsonl                    cannot say, comparisons without a vote
    "label_studio" tasks.json                     ties, cannot say
    "potato"       instances.jsonl                cannot say
    "choix"        pairs.csv, items.csv           ties, cannot say, comparisons without a vote, voters
    ============== ============================== =====================================================================

    Tasks of Label Studio and instances of potato have the content of items too, where items have more than a label.

    Parameters
    ----------
    format : {"csv", "arena", "label_studio", "potato", "choix"}
    ballots : sequence of int or None
        Numbers of ballots; None: all that were opened.
    unanswered : bool
        Whether comparisons without a vote are written too, where the format has them.
    names : bool
        Whether voters go by name. By default they go by their random keys, and names stay in the ledger.
    guard : bool
        Whether cells of CSV that a spreadsheet would run as formulas have an apostrophe in front. `import_votes` takes
        it away again; other programs read it as part of the label, and want False.

    Raises
    ------
    OptionError
        An unknown format.
    LedgerError
        When a ballot has not been opened.
    TableError
        As `adaptive.tables.item_columns`.
    """
    check_choice("format", format, FORMATS)
    found, contents = database.read(
        lambda connection: (
            gathered(connection, info, ballots=ballots, names=names),
            presented(connection, info),
        )
    )
    votes, left_out = _expressible(found, format, unanswered=unanswered)
    files = {
        "csv": lambda: {"votes.csv": csv_votes(votes, guard=guard)},
        "arena": lambda: {"votes.jsonl": arena_lines(votes)},
        "label_studio": lambda: {"tasks.json": label_studio_tasks(votes, contents)},
        "potato": lambda: {"instances.jsonl": potato_lines(votes, contents)},
        "choix": lambda: choix_files(votes, info.items, guard=guard),
    }[format]()
    return Export(files, sum(vote.answer is not None for vote in votes), left_out)


def _expressible(found: Sequence[Answered], form: Format, *, unanswered: bool) -> tuple[list[Answered], dict[str, int]]:
    """The votes that a format has, and the others by reason."""
    kept: list[Answered] = []
    left_out: Counter[str] = Counter()
    for vote in found:
        if vote.answer is None:
            if unanswered and form in _SHOWS_UNANSWERED:
                kept.append(vote)
        elif vote.is_excluded:
            left_out["their voter is excluded"] += 1
        elif vote.answer not in _ANSWERS[form]:
            left_out[f"{form} has no {vote.answer!r}"] += 1
        else:
            kept.append(vote)
    return kept, dict(left_out)
