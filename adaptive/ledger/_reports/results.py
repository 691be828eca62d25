"""Compute the results of a campaign: the paper's ranking, strengths fitted to all votes, and the effect of a voter."""

import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Final, Self

import numpy as np

from adaptive._plan import BallotPlan
from adaptive._record import ProtocolResult, item_table, places_best_first
from adaptive._tables import CampaignRow, guarded, items_csv
from adaptive.choices._strengths import ChoiceStrengths, choice_content
from adaptive.comparisons._comparisons import Comparisons
from adaptive.ledger._ballots.pairs import dropped_sheets
from adaptive.ledger._ballots.stored import (
    Array,
    DrawnColumns,
    StoredBallot,
    current_votes,
    drawn_columns,
    full_votes,
    position_after,
    stored_ballots,
    votes_of,
)
from adaptive.ledger._campaign.content import ItemContent
from adaptive.ledger._campaign.transaction import CampaignInfo, Transaction
from adaptive.ledger.errors import LedgerError
from adaptive.model._accuracy import MOST_WITH_INTERVALS, Cut, RankIntervals
from adaptive.model._misfit import MISFIT_LIMIT
from adaptive.model._models import bradley_terry
from adaptive.model._strengths import LEADING, LEAST_CLUSTERS, Strengths, graded_report, item_text
from rankcorr import TauW
from rankcorr._checks import counted
from rankcorr._output.report import Report, list_text, number_text
from rankcorr._output.results import TableResult, json_ready
from rankcorr._workers import Progress

_LEVEL: Final = 0.9
_MOST_CHANGES: Final = 5
_DIGITS: Final = 4  # decimals of strengths, whose standard errors are at least about 0.1


@dataclass(frozen=True, eq=False, repr=False)
class CampaignResult(TableResult):
    """A ranking of all items, with its uncertainty.

    The table has one row for each item, best first. Its columns are item and rank. For a campaign of ballots, the
    columns ybar, presentations, wins, ties, losses and last_ballot of `ProtocolResult` follow. The next column is
    strength. Up to 3,000 items, the last columns are standard_error, rank_low and rank_high (90 % interval), in_top
    (the probability of being among the top k), and rank_low_anytime and rank_high_anytime. The anytime ranks hold for
    all items at once with a probability of 90 %, however often one looks while votes arrive.

    Attributes
    ----------
    items : sequence of hashable
    paper : ProtocolResult or None
        The paper's scores, which determine `rank`. None in a continuous campaign and before the last ballot is closed,
        when the strengths determine it.
    strengths : Strengths
        Strengths fitted to the current votes of all voters who are not excluded, without grades. A vote on a set counts
        as a comparison of its best with its worst item.
    graded : ChoiceStrengths or None
        Strengths fitted to the same votes with their grades, or with all items of their sets. They then determine the
        table, `cut` and `expected`. None if the campaign has neither grades nor sets, or if no vote prefers an item.
    top : int
        k of `cut`.
    cut : Cut or None
        Confidence in the cut after the top k; None above 3,000 items.
    expected : float or None
        Expected tau_w of the strengths' ranking with the true one. None above 3,000 items, and without a signal.
    n_votes : int
        Number of votes that count.
    excluded : tuple of str
        Keys of the excluded voters.
    agreement : float or None
        tau_w of the strengths' ranking with the ranking by the votes of all voters; None if no voter is excluded.
    is_final : bool
        Whether all ballots are closed, or the continuous campaign has ended.
    set_size : int
        Number of items of a comparison.

    See Also
    --------
    Campaign.result : Returns it.
    Campaign.paper_result : The paper's scores alone.
    adaptive.Strengths : The type of `strengths`.

    Examples
    --------
    >>> from adaptive import plan_ballots
    >>> from adaptive.ledger import Ledger
    >>> plan = plan_ballots(4, n_ballots=2, fraction=0.5, presentations=2)
    >>> ledger = Ledger.in_memory()
    >>> campaign = ledger.new_campaign(plan, ["ash", "fir", "oak", "yew"], voters=["Ann"], seed=1)
    >>> n_opened = campaign.open_next()
    >>> recorded = campaign.record({pair.id: "left" for pair in campaign.asked()})
    >>> result = campaign.result(interim=True)
    >>> result.n_votes, result.n_voters, result.paper, result.excluded, result.ranking.n_items
    (4, 1, None, (), 4)
    >>> ledger.close()
    """

    _caption: ClassVar[str] = "Ranking of a campaign"

    items: Sequence[Hashable]
    paper: ProtocolResult | None
    strengths: Strengths
    top: int
    cut: Cut | None
    expected: float | None
    n_votes: int
    excluded: tuple[str, ...]
    agreement: float | None
    is_final: bool
    graded: ChoiceStrengths | None = None
    set_size: int = 2

    @property
    def best_fit(self) -> Strengths | ChoiceStrengths:
        """The strengths with grades or sets if there are any, otherwise those of pairs without grades."""
        return self.strengths if self.graded is None else self.graded

    @property
    def ranking(self) -> Any:
        """The ranking: the paper's, or that of the strengths."""
        return self.best_fit.ranking if self.paper is None else self.paper.ranking

    @property
    def warnings(self) -> tuple[str, ...]:
        """Reasons for caution about the ranking, one sentence each."""
        if self.graded is None:
            return self.strengths.warnings
        of_pairs = self.strengths.warnings if self.set_size == 2 else ()  # do not apply to all items of a set
        kind = "graded votes" if self.set_size == 2 else "votes on sets"
        has_few = self.n_voters < LEAST_CLUSTERS
        few = f"fewer than {LEAST_CLUSTERS} voters" if has_few else "most votes by very few voters"
        of_few = f"with {few}, intervals of {kind} are as if all votes were independent"
        is_clustered = math.isfinite(self.graded.degrees_of_freedom)
        return of_pairs + self.graded.warnings + (() if is_clustered or self.n_voters < 2 else (of_few,))

    @property
    def signal(self) -> bool:
        """Whether the votes rule out coin flips."""
        return self.strengths.signal.is_significant

    @property
    def circles(self) -> bool:
        """Whether votes on single pairs contradict the order of strengths, as cyclic preferences do."""
        return self.strengths.misfit.pairs > MISFIT_LIMIT

    @property
    def n_voters(self) -> int:
        """Number of voters whose votes count. The expected agreement is too high with about five or fewer."""
        voter = self.strengths.comparisons.voter
        return 0 if voter is None else int(np.unique(voter).size)

    def with_top(self, top: int) -> Self:
        """Return the same fit with another cut."""
        return replace(self, top=top, cut=None if self.cut is None else self.best_fit.cut(top))

    def report(self) -> Report:
        """Return methods, results and limits for a paper."""
        plan = "earlier votes" if self.paper is None else f"a plan of {counted(self.paper.plan.n_ballots, 'ballot')}"
        content, signal = self.to_dict(), self.strengths.signal.to_dict()
        if self.graded is None:
            of_strengths = self.strengths.report()
        else:
            of_strengths = graded_report(content["graded"], signal, self.n_voters, self.warnings, self.set_size)
        return _campaign_report(content, self.rows(), of_strengths, plan=plan, n_voters=self.n_voters)

    def to_dict(self) -> dict[str, Any]:
        """Return all fields, ready for JSON; `graded` has items, other parameters, likelihood, prior and warnings."""
        graded = None if self.graded is None else choice_content(self.graded, level=_LEVEL, elo=False)
        return {**json_ready(replace(self, graded=None)), "graded": graded}

    def rows(self) -> list[dict[str, Any]]:
        """Return the table row by row."""
        return [CampaignRow(**row).to_dict() for row in self.table()]

    def to_csv(self, *, guard: bool = False) -> str:
        """Return the table as CSV; tuples have a column for each part.

        Parameters
        ----------
        guard : bool
            Whether to put an apostrophe before labels that a spreadsheet would run as formulas.
        """
        return items_csv(self.table(), guarded if guard else str)

    def _columns(self) -> dict[str, Sequence[Any]]:
        ranks = self.ranking.ranks
        columns = {"rank": ranks}
        if self.paper is not None:
            names = ("ybar", "presentations", "wins", "ties", "losses", "last_ballot")
            columns |= {name: getattr(self.paper, name) for name in names}
        columns["strength"] = self.best_fit.theta.round(_DIGITS)
        if self.cut is not None:
            intervals = self.best_fit.rank_intervals(_LEVEL)
            columns["standard_error"] = self.best_fit.standard_errors.round(_DIGITS)
            columns |= {"rank_low": intervals.low, "rank_high": intervals.high}
            columns["in_top"] = self.best_fit.in_top(self.top).probability
            columns |= {"rank_low_anytime": self._anytime.low, "rank_high_anytime": self._anytime.high}
        return item_table(self.items, places_best_first(self.items, ranks), **columns)

    @cached_property
    def _anytime(self) -> RankIntervals:
        return self.best_fit.rank_intervals(_LEVEL, anytime=True)

    def __repr__(self) -> str:
        cut_text = "" if self.cut is None else f", cut after {self.top} with confidence {self.cut.confidence:.2f}"
        return f"<CampaignResult of {len(self.items)} items, {self.n_votes:,} votes{cut_text}>"


def _campaign_report(
    content: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], of_strengths: Report, *, plan: str, n_voters: int
) -> Report:
    """Return the report of `CampaignResult.report`; `rows` is its table, and `plan` describes how pairs were chosen."""
    state = "final" if content["is_final"] else "interim"
    size = content["set_size"]
    questions = "pairs of items" if size == 2 else f"the best and the worst of {size} items"
    methods = (
        f"The {state} ranking of {counted(len(rows), 'item')} comes from {counted(content['n_votes'], 'vote')} of "
        f"{counted(n_voters, 'voter')} on {questions}, chosen by {plan}. "
    )
    if content["excluded"]:
        exception = "" if content["paper"] is None else ", except from the scores of ballots closed before"
        methods += f"The votes of {counted(len(content['excluded']), 'further voter')} were left out{exception}. "
    if content["paper"] is not None:
        methods += "The scores of the protocol rank the items [@lombardo2020top]. "
    best = [item_text(row["item"]) for row in rows[:LEADING]]
    results = f"The ranking begins with {list_text(best)}. "
    if content["cut"] is not None:
        results += (
            f"The cut after the first {content['cut']['k']} is that of the true ranking with a probability of "
            f"{number_text(content['cut']['confidence'])}. "
        )
    if content["expected"] is not None:
        results += f"The expected τ_w with the true ranking is {number_text(content['expected'])}. "
    if content["agreement"] is not None:
        results += (
            f"With the voters who were left out, the ranking would agree with this one by a τ_w of "
            f"{number_text(content['agreement'])}. "
        )
    return Report(methods + of_strengths.methods, results + of_strengths.results, of_strengths.limits)


@dataclass(frozen=True)
class ItemProgress:
    """Answers about one item in the open ballot.

    Attributes
    ----------
    item : hashable
    presentations, n_answered : int
    """

    item: Hashable
    presentations: int
    n_answered: int


def result_of(
    transaction: Transaction, *, interim: bool = False, top: int | None = None, progress: Progress | None = None
) -> CampaignResult:
    """Return the ranking of `Campaign.result`."""
    info, ballots = transaction.info, stored_ballots(transaction)
    plan = info.plan if isinstance(info.plan, BallotPlan) else None
    n_ballots = max(1, len(ballots)) if plan is None else plan.n_ballots
    n_closed = sum(stored.state == "closed" for stored in ballots)
    is_final = n_closed == n_ballots
    if not (is_final or interim):
        progress_so_far = "" if plan is None else f": {n_closed} of {n_ballots} ballots are closed"
        raise LedgerError(f"the campaign is still open{progress_so_far}; rank by the votes so far with interim=True")
    paper = paper_result(info, ballots) if is_final and plan is not None else None
    excluded = transaction.excluded_voters()
    votes = votes_of(transaction, excluded=excluded)
    if not votes.n_comparisons:
        raise LedgerError("there are no votes yet, so there is no ranking")
    strengths, graded = bradley_terry(votes), _full_fit(transaction, excluded)
    ranked_by = strengths if graded is None else graded
    agreement = None
    if excluded:
        everybody = best_fit(transaction, votes_of(transaction), ())
        agreement = float(TauW()(ranked_by.ranking, everybody.ranking))
    last = info.n_items // 10 if plan is None else plan.sizes[-1]
    k = min(max(1, last), info.n_items - 1) if top is None else top
    small = info.n_items <= MOST_WITH_INTERVALS
    if small and graded is None:
        strengths.drawn(progress=progress)
    return CampaignResult(
        items=info.items,
        paper=paper,
        strengths=strengths,
        top=k,
        cut=ranked_by.cut(k) if small else None,
        expected=ranked_by.expected_correlation(TauW()).mean if small and strengths.signal.is_significant else None,
        n_votes=votes.n_comparisons,
        excluded=tuple(sorted(excluded.values())),
        agreement=agreement,
        is_final=is_final,
        graded=graded,
        set_size=info.set_size,
    )


def paper_result(info: CampaignInfo, ballots: Sequence[StoredBallot]) -> ProtocolResult:
    """Return the paper's ranking, from the records of all ballots of the plan."""
    records, position = position_after(info, ballots)
    return ProtocolResult(info.ballot_plan, info.items, position.mean, records)


def best_fit(transaction: Transaction, votes: Comparisons, excluded: Collection[int]) -> Strengths | ChoiceStrengths:
    """Return the strengths that rank a campaign: with grades or sets if there are any, otherwise of `votes`."""
    return _full_fit(transaction, excluded) or bradley_terry(votes)


def _full_fit(transaction: Transaction, excluded: Collection[int]) -> ChoiceStrengths | None:
    choices = full_votes(transaction, excluded)
    return None if choices is None else choices.fit()


def by_item(transaction: Transaction) -> list[ItemProgress]:
    """Return the number of answers about each item in the open ballots, without excluded voters, fewest first.

    Comparisons that others replace, because they found no voter, do not count.
    """
    excluded, dropped = transaction.excluded_voters(), dropped_sheets(transaction)
    n_items = transaction.info.n_items
    presentations, answered = (np.zeros(n_items, np.int64) for _ in range(2))
    for stored in stored_ballots(transaction):
        if stored.state != "closed":
            comparisons, votes = drawn_columns(transaction, stored.id), current_votes(transaction, stored.id)
            sheets = [number for ballot_id, number in dropped if ballot_id == stored.id]
            is_asked = np.isin(comparisons.sheet, sheets, invert=True)
            is_asked[votes.place] = True
            presentations += count_sides(comparisons, n_items, np.flatnonzero(is_asked))
            answered += count_sides(comparisons, n_items, votes.excluding(excluded).place)
    return progress_of_items(transaction.info, presentations, answered)


def progress_of_items(info: CampaignInfo, presentations: Array, answered: Array) -> list[ItemProgress]:
    places = np.flatnonzero(presentations)
    order = places[np.argsort(answered[places], kind="stable")]
    return [ItemProgress(info.items[p], int(presentations[p]), int(answered[p])) for p in order.tolist()]


def count_sides(comparisons: DrawnColumns, n_items: int, places: Array | slice = slice(None)) -> Array:
    """Return the number of comparisons at these places that have each item."""
    return np.bincount(comparisons.items[places].ravel(), minlength=n_items)


def items_with_contents(transaction: Transaction) -> list[tuple[ItemProgress, ItemContent]]:
    """Return all items with their presentations: those of open ballots as in `by_item`, then the others."""
    contents = dict(zip(transaction.info.items, transaction.contents(), strict=True))
    progress = by_item(transaction)
    known = {item_progress.item for item_progress in progress}
    progress += [ItemProgress(item, 0, 0) for item in transaction.info.items if item not in known]
    return [(item_progress, contents[item_progress.item]) for item_progress in progress]


@dataclass(frozen=True)
class ExclusionPreview:
    """The change in the ranking by strengths if a voter is excluded, or included again.

    Attributes
    ----------
    voter : str
        Name of the voter, or key if the name was erased.
    excluded : bool
        Whether the voter is excluded now.
    n_votes, n_others : int
        Votes of the voter, and of all others who are not excluded, without "cannot say".
    tau_w : float
        tau_w of the rankings with and without the voter.
    changes : tuple of (hashable, float, float)
        Up to five items whose rank would change most, with their current and new ranks.

    See Also
    --------
    Voter.preview_exclusion : Returns it.
    adaptive.influence : The same for votes from any source.

    Examples
    --------
    >>> from adaptive import plan_ballots
    >>> from adaptive.ledger import Ledger
    >>> plan = plan_ballots(4, n_ballots=2, fraction=0.5, presentations=2)
    >>> ledger = Ledger.in_memory()
    >>> campaign = ledger.new_campaign(plan, ["ash", "fir", "oak", "yew"], voters=["Ann", "Bob"], seed=1)
    >>> n_opened = campaign.open_next()
    >>> answers = {pair.id: "left" if pair.left < pair.right else "right" for pair in campaign.asked()}
    >>> recorded = campaign.record(answers)
    >>> exclusion = campaign.voters.named("Bob").preview_exclusion()
    >>> exclusion.excluded, exclusion.n_votes, exclusion.n_others, round(exclusion.tau_w, 4)
    (False, 2, 2, 1.0)
    >>> ledger.close()
    """

    voter: str
    excluded: bool
    n_votes: int
    n_others: int
    tau_w: float
    changes: tuple[tuple[Hashable, float, float], ...]


def exclusion_preview(transaction: Transaction, voter_id: int) -> ExclusionPreview:
    """Return the effect of `Voter.preview_exclusion`."""
    excluded = transaction.excluded_voters()
    name = transaction.voter_names()[voter_id]
    excluded_all = {*excluded, voter_id}
    everybody = votes_of(transaction, excluded=excluded_all - {voter_id})
    others = votes_of(transaction, excluded=excluded_all)
    n_votes = everybody.n_comparisons - others.n_comparisons
    if not n_votes or not others.n_comparisons:
        who = f"voter {name!r} has" if not n_votes else "all others who count have"
        raise LedgerError(f"{who} no votes: there is no difference to show")
    with_voter = best_fit(transaction, everybody, excluded_all - {voter_id}).ranking
    without_voter = best_fit(transaction, others, excluded_all).ranking
    now, then = (without_voter, with_voter) if voter_id in excluded else (with_voter, without_voter)
    moved = np.abs(then.ranks - now.ranks)
    order = np.lexsort((now.ranks, -moved))[:_MOST_CHANGES]
    return ExclusionPreview(
        voter=name,
        excluded=voter_id in excluded,
        n_votes=n_votes,
        n_others=others.n_comparisons,
        tau_w=float(TauW()(with_voter, without_voter)),
        changes=tuple(
            (transaction.info.items[place], float(now.ranks[place]), float(then.ranks[place]))
            for place in order.tolist()
            if moved[place]
        ),
    )
