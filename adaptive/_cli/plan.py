"""The commands `ballots plan`, `pair`, `draw` and `score`: the steps of the paper one by one, from file to file.

plan: ballots, cost and advice. pair: tokens -> items. draw: items -> one ballot. score: votes -> a ranking.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click
import numpy as np

from adaptive._budget import BatchOptions, PayOptions, PlanOptions
from adaptive._cli.output import emit, out_option, print_note
from adaptive._cli.vote_files import Reading, votes_argument
from adaptive._draw import Ballot, draw_ballot, draw_sets
from adaptive._formats.votes import VoteColumns, comparisons_csv, read_votes
from adaptive._plan import LEAST_SET, MOST_SET, Advice, BallotPlan, checked_integer, checked_positive
from adaptive._record import places_best_first
from adaptive._scores import score_ballot
from adaptive._tables import csv_text, items_csv, read_items, set_columns
from adaptive._token_pairs import pair_tokens, pairing_csv, read_tokens
from adaptive._votes import UNANSWERED, comparisons_of
from adaptive.comparisons._columns import columns_of_votes
from adaptive.comparisons._comparisons import Comparisons
from adaptive.errors import VoteError
from rankcorr import OptionError, Ranking
from rankcorr._checks import collected_notices
from rankcorr._cli.console import (
    argument,
    command,
    declared_option,
    flag_option,
    json_option,
    options_of,
    print_json,
    seed_option,
    text_option,
    values_of,
)
from rankcorr._io.source import printable

if TYPE_CHECKING:
    from adaptive.ledger import CampaignSettings, ContinuousPlan, Pay

Plan = TypeVar("Plan", bound="BallotPlan | ContinuousPlan")

_WAYS: Final = {
    "--presentations": "presentations",
    "--budget": "comparisons",
    "--hours": "hours",
    "--euros": "euros",
    "--top": "top_presentations",
}
_WAYS_OF_BATCHES: Final = ("--budget", "--hours", "--euros")


@dataclass(frozen=True)
class PlanArguments:
    """The options of a plan and of its cost, except for the items."""

    n_ballots: int | None = declared_option(PlanOptions, "n_ballots", "--ballots")
    fraction: float = declared_option(PlanOptions, "fraction")
    presentations: int | None = declared_option(PlanOptions, "presentations", metavar="M")
    comparisons: int | None = declared_option(PlanOptions, "comparisons", "--budget", metavar="COMPARISONS")
    hours: float | None = declared_option(PlanOptions, "hours")
    euros: float | None = text_option(
        "AMOUNT", "Or the maximum cost in any currency, with --pay and --seconds, or with --pay-per-vote.", type=float
    )
    top_presentations: int | None = declared_option(PlanOptions, "top_presentations", "--top", metavar="M_TOP")
    seconds: float | None = declared_option(PlanOptions, "seconds_per_comparison", "--seconds")
    pay_per_vote: float | None = declared_option(PayOptions, "per_vote", "--pay-per-vote", metavar="AMOUNT")
    pay_per_hour: float | None = declared_option(PayOptions, "per_hour", "--pay", "--pay-per-hour", metavar="AMOUNT")
    fee: float | None = declared_option(PayOptions, "fee", default=None, metavar="SHARE")

    def pay(self, currency: str | None = None) -> Pay | None:
        """Return the pay of voters; None without pay.

        Raises
        ------
        OptionError, LedgerError
        """
        if self.pay_per_vote is None and self.pay_per_hour is None:
            if self.fee is not None or currency is not None:
                raise OptionError("--fee and --currency require --pay or --pay-per-vote")
            if self.euros is not None:
                raise OptionError("--euros needs the pay: --pay with --seconds, or --pay-per-vote")
            return None
        if self.pay_per_vote is not None and self.pay_per_hour is not None:
            raise OptionError("give either --pay or --pay-per-vote; got both")
        if self.pay_per_hour is not None and self.seconds is None:
            raise OptionError("--pay needs --seconds, the mean time of one comparison")
        from adaptive.ledger import Pay

        return Pay(self.pay_per_vote, self.pay_per_hour, self.seconds, self.fee or 0.0, currency or "")

    def plan(self, n_items: int, voters: int = 1, settings: CampaignSettings | None = None) -> BallotPlan:
        """Return the plan that the options ask for; the settings of a campaign add the cost of its checks.

        Raises
        ------
        OptionError, LedgerError, PlanError
        """
        self.check_way(_WAYS)
        if self.seconds is not None:
            checked_positive(self.seconds, "seconds_per_comparison")
        shape: Any = {"n_ballots": self.n_ballots, "fraction": self.fraction}
        has_checks = settings is not None and settings.probing is not None
        if self.euros is not None or (self.hours is not None and has_checks):
            return self.affordable(lambda n: PlanOptions(**shape, comparisons=n).plan(n_items), voters, settings)
        ways = values_of(self, "presentations", "top_presentations", "comparisons", "hours")
        return PlanOptions(**shape, **ways, seconds_per_comparison=self.seconds).plan(n_items)

    def affordable(self, plan_of: Callable[[int], Plan], voters: int, settings: CampaignSettings | None) -> Plan:
        """Return the largest plan that the hours or the money pay for."""
        from adaptive.ledger import CampaignSettings, affordable_plan

        if settings is None:
            settings = CampaignSettings(pay=self.pay())
        return affordable_plan(plan_of, voters, settings, money=self.euros, hours=self.hours, seconds=self.seconds)

    def refuse_ways(self) -> None:
        """Refuse all ways to set the number of comparisons, which --targets sets."""
        if names := [flag for flag in _WAYS if getattr(self, _WAYS[flag]) is not None]:
            raise OptionError(f"--targets does not take {names[0]}")

    def check_way(self, ways: Collection[str]) -> None:
        """Refuse anything but one of the ways to set the number of comparisons."""
        names = [flag for flag in ways if getattr(self, _WAYS[flag]) is not None]
        if len(names) != 1:
            raise OptionError(f"exactly one of {', '.join(ways)} is needed; got {' and '.join(names) or 'none'}")
        if self.hours is not None and self.seconds is None:
            raise OptionError("--hours needs --seconds, the mean time of one comparison")


@dataclass(frozen=True)
class BatchArguments:
    """The options of a plan without ballots."""

    continuous: bool = flag_option("Ask small matched batches, not ballots, up to --budget, --hours or --euros.")
    batch: int | None = declared_option(BatchOptions, "batch")
    target: float | None = declared_option(BatchOptions, "target", metavar="TAU_W")
    set_size: int = declared_option(BatchOptions, "set_size", metavar="N")

    def plan(
        self, options: PlanArguments, n_items: int, voters: int = 1, settings: CampaignSettings | None = None
    ) -> BallotPlan | ContinuousPlan:
        """Return the plan, of ballots or continuous.

        Raises
        ------
        OptionError, LedgerError, PlanError
        """
        if not self.continuous:
            if self.batch is not None or self.target is not None or self.set_size > 2:
                raise OptionError("--batch, --target and --set-size require --continuous")
            return options.plan(n_items, voters, settings)
        from adaptive.ledger import ContinuousPlan, batch_for

        if options.presentations is not None or options.top_presentations is not None:
            raise OptionError("--continuous does not take --presentations or --top")
        options.check_way(_WAYS_OF_BATCHES)
        batch = batch_for(n_items) if self.batch is None else self.batch

        plan_of = partial(ContinuousPlan, n_items, batch=batch, target=self.target, set_size=self.set_size)
        if options.comparisons is not None:
            return plan_of(options.comparisons)
        return options.affordable(plan_of, voters, settings)


def print_plan(plan: BallotPlan | ContinuousPlan, n_voters: int | None, seconds: float | None) -> None:
    """Print a plan with its hours and its advice."""
    if isinstance(plan, BallotPlan):
        click.echo(plan.to_text(n_voters=n_voters, seconds_per_comparison=seconds))
        return
    hours = "" if seconds is None else f", {plan.budget * seconds / 3600:,.2f} hours"
    click.echo(f"{plan.n_items:,} items, batches of {plan.batch:,}, at most {plan.budget:,} comparisons{hours}")
    print_advice(() if n_voters is None else plan.advice_for(n_voters))


def print_advice(advice: Sequence[Advice]) -> None:
    """Print points to reconsider, if there are any."""
    for line in (["Advice:"] if advice else []) + [f"- {note.sentence}" for note in advice]:
        click.echo(line)


def print_cost(plan: BallotPlan | ContinuousPlan, n_voters: int, settings: CampaignSettings) -> None:
    """Print the number of checks, and the cost with them."""
    from adaptive.ledger import planned_spending

    planned, pay = planned_spending(plan, n_voters, settings), settings.pay
    if settings.probing is not None:
        click.echo(f"Checks: {round(planned.n_probes):,} on average, in addition to the comparisons.")
    if pay is None or planned.cost is None:
        return
    fee = f", {pay.text(planned.fee or 0.0)} of it the fee" if pay.fee else ""
    hourly = "" if planned.hourly is None else f", {pay.text(planned.hourly)} an hour"
    cost, per_answer = pay.text(planned.cost), f"{pay.per_answer:.4g} {pay.currency}".rstrip()
    click.echo(f"Cost: {cost}{fee}. Voters get {per_answer} an answer{hourly}.")


def voters_option() -> Any:
    """Make the option --voters of a campaign or a ballot."""
    return text_option("V", "Number of voters; they are named 0 to V-1.", type=int, required=True)


@command("plan", short_help="Plan ballots or batches, with their cost.")
def plan_command(
    n_items: int | None = text_option("N", "Number of items.", type=int),
    items: str | None = text_option("FILE", "Or a file of the items."),
    options: PlanArguments = options_of(PlanArguments),
    batches: BatchArguments = options_of(BatchArguments),
    voters: int | None = text_option("V", "Number of voters, for the advice.", type=int),
    as_json: bool = json_option(""),
) -> None:
    """Plan a voting: items and comparisons of each ballot, person-hours (with --seconds), cost and advice.

    Example:
      ballots plan --n-items 990 --presentations 20 --seconds 5
      ballots plan --items items.csv --hours 40 --seconds 5 --voters 100
      ballots plan --n-items 990 --ballots 5 --fraction 0.6 --budget 20000
      ballots plan --n-items 66 --euros 300 --pay 12 --seconds 6 --continuous
    """
    if (n_items is None) == (items is None):
        raise OptionError(f"give exactly one of --n-items and --items; got {'none' if items is None else 'both'}")
    plan = batches.plan(options, len(read_items(items or "")) if n_items is None else n_items)
    seconds, pay = options.seconds, options.pay()
    if voters is not None:
        checked_integer(voters, "n_voters", least=1)
    if not as_json:
        print_plan(plan, voters, seconds)
        if pay is not None:
            from adaptive.ledger import CampaignSettings

            print_cost(plan, voters or 1, CampaignSettings(pay=pay))
        return
    is_of_ballots = isinstance(plan, BallotPlan)
    advice = plan.advice_for(voters) if voters is not None else plan.advice if isinstance(plan, BallotPlan) else ()
    print_json(
        {
            **({} if is_of_ballots else {"mode": "continuous"}),
            **plan.to_dict(),
            "seconds_per_comparison": seconds,
            "hours": None if seconds is None else plan.n_comparisons * seconds / 3600,
            "cost": None if pay is None else pay.cost(plan.n_comparisons),
            "n_voters": voters,
            "advice": [asdict(note) for note in advice],
        }
    )


@command("pair", short_help="Make items from pairs of tokens.")
def pair_command(
    tokens: str = argument(),
    sample: int | None = text_option("N", "Take N random pairs, not all; needs --seed.", type=int),
    seed: int | None = seed_option("Seed of the --sample.", default=None),
    across_areas: bool = flag_option("Pair any two tokens, of one semantic area or two."),
    out: str | None = out_option("items"),
) -> None:
    """Pair the tokens of each semantic area.

    TOKENS is a CSV or TSV file with the columns token, area and, if known, frequency. The items are CSV with the
    columns item_1, item_2, area and, with frequencies, rare: whether a token is below 10 % of their mean.

    Example:
      ballots pair tokens.csv --out items.csv
      ballots pair tokens.csv --sample 500 --seed 1 --out items.csv
    """
    if (sample is None) != (seed is None):
        missing = "--seed" if seed is None else "--sample"
        raise OptionError(f"--sample and --seed belong together; {missing} is missing")
    rng = None if seed is None else np.random.default_rng(seed)
    with collected_notices() as notices:
        pairing = pair_tokens(read_tokens(tokens), sample=sample, across_areas=across_areas, rng=rng)
    of = "" if sample is None else f" of {pairing.n_admissible:,}"
    emit(pairing_csv(pairing), out, f"{pairing.n_items:,}{of} items written to {out}")
    for notice in notices:
        print_note(notice)


@command("draw", short_help="Draw one ballot: comparisons or sets for each voter.")
def draw_command(
    items: str = argument(),
    presentations: int = text_option("M", "Presentations of each item.", type=int, required=True),
    voters: int = voters_option(),
    set_size: int | None = text_option(
        "K",
        f"Draw sets of {LEAST_SET} to {MOST_SET} items for best-worst answers, in place of pairs.",
        type=click.IntRange(LEAST_SET, MOST_SET),
    ),
    seed: int = seed_option("The same seed draws the same ballot.", default=None, required=True),
    out: str | None = out_option("comparisons"),
) -> None:
    """Draw a single ballot of the items in ITEMS.

    ITEMS is a CSV or TSV file with the column item, or item_1, item_2, ... The comparisons are CSV, voter by voter,
    with the columns comparison, voter, left, right (or left_1, left_2, ...) and an empty winner to fill in.

    With --set-size, the columns are voter, item_1, ..., item_K, and best and worst to fill in; `ballots fit` reads the
    answers. Each item is in M sets, and meets the others as evenly as possible.

    Example:
      ballots draw items.csv --presentations 20 --voters 100 --seed 1 --out ballot.csv
      ballots draw items.csv --set-size 4 --presentations 8 --voters 10 --seed 1 --out sets.csv
    """
    if set_size is not None:
        rows = _rows_of_sets(read_items(items), set_size, presentations, voters, seed)
        emit(csv_text(["voter", *set_columns(set_size)], rows), out, f"{len(rows):,} sets written to {out}")
        return
    ballot = draw_ballot(read_items(items), presentations, voters, np.random.default_rng(seed))
    comparisons = comparisons_of(ballot, 1)
    emit(comparisons_csv(comparisons), out, f"{len(comparisons):,} comparisons written to {out}")


def _rows_of_sets(items: Sequence[Any], size: int, presentations: int, voters: int, seed: int) -> list[list[Any]]:
    if any(isinstance(item, tuple) for item in items):
        raise OptionError("sets are of items in one column, item; these have several parts")
    if voters < 1:
        raise OptionError(f"--voters must be at least 1; got {voters}")
    sets = draw_sets(items, size, presentations, np.random.default_rng(seed))
    return [[voter, *members, "", ""] for voter in range(voters) for members in sets[voter::voters]]


@command("score", short_help="Rank items by the votes of one or several ballots.")
def score_command(
    votes: tuple[str, ...] = votes_argument(),
    reading: Reading = options_of(Reading),
    out: str | None = out_option("ranking"),
    as_json: bool = flag_option("Print JSON, with the slope b of each ballot.", "--json"),
) -> None:
    """Rank the items of the VOTES files: one file for each ballot, in their order.

    Each is CSV, TSV or JSON with the columns left, right (or left_1, left_2, ...) and winner: left, right, tie, or
    empty where there is no answer; `ballots fit --help` lists other formats. If there is a column comparison, its ids
    must differ. Each ballot compares only items of the ballot before. The ranking is CSV, as `ballots run result`
    writes it: item (or item_1, item_2, ...), rank, ybar (the score), presentations, wins, ties, losses and last_ballot.

    Example:
      ballots score votes.csv
      ballots score votes1.csv votes2.csv votes3.csv --out ranking.csv
    """
    if votes.count("-") > 1:
        raise OptionError("'-' (standard input) can be given only once")
    rows: dict[Hashable, dict[str, Any]] = {}
    ballots = []
    for number, path in enumerate(votes, start=1):
        ballots.append({"votes": path, **_score(read_votes(path, **vars(reading)), number, rows)})
    items, ranks = list(rows), Ranking.from_scores([row["ybar"] for row in rows.values()]).ranks
    table = [
        {"item": items[place], "rank": float(ranks[place]), **rows[items[place]]}
        for place in places_best_first(items, ranks).tolist()
    ]
    if as_json:
        if out is not None:
            raise OptionError("give --json or --out, not both: --out writes CSV")
        print_json({"ballots": ballots, "items": table})
        return
    emit(items_csv(table), out, f"{len(table):,} items written to {out}")


def _score(votes: VoteColumns, number: int, rows: dict[Hashable, dict[str, Any]]) -> dict[str, Any]:
    """Score one ballot and bring the rows of its items up to date."""
    comparisons = Comparisons(*columns_of_votes(votes, None))
    name, items, pairs = votes.records.table.name, tuple(comparisons.items), comparisons.shown_pairs
    for line, *pair in zip(votes.records.lines, votes.left or (), votes.right or (), strict=True):
        for item in pair if number > 1 else ():
            if rows.get(item, {}).get("last_ballot") != number - 1:
                raise VoteError(f"{name}:{line}: {printable(repr(item))} is not an item of ballot {number - 1}")
    most = int(np.bincount(pairs.left).max())
    ballot = Ballot(items, most, range(1), pairs.left, pairs.right, np.zeros(len(pairs), np.int32))
    answers = np.append(comparisons.winner, np.full(comparisons.n_unanswered, UNANSWERED, np.int8))
    previous = None if number == 1 else np.array([rows[item]["ybar"] for item in items], np.float64)
    try:
        scores = score_ballot(ballot, answers, ballot_number=number, previous_mean=previous)
    except VoteError as error:
        raise VoteError(f"{name}: {error}") from error
    counts = values_of(scores.tally, "presentations", "wins", "ties", "losses")
    for place, item in enumerate(items):
        before = rows.get(item, {})
        totals = {name: before.get(name, 0) + int(count[place]) for name, count in counts.items()}
        rows[item] = {"ybar": float(scores.ybar[place]), **totals, "last_ballot": number}
    return {"n_items": len(items), "n_comparisons": len(pairs), "b": scores.b}
