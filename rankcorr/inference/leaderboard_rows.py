"""What a leaderboard holds: systems from best to worst, each with its scores, its test and its group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rankcorr.checks import N_SHOWN
from rankcorr.inference.gold_sets import MEAN, SUM
from rankcorr.results import Computed, Result, TableResult, json_ready


@dataclass(frozen=True, eq=False)
class Score(Result):
    """A coefficient, or a sum of them, with its percentile interval.

    Attributes
    ----------
    statistic, low, high : float
        nan where the coefficient is undefined.
    n_items : int
        Number of items compared.
    n_missing : int
        Number of items of gold that the system lacks.
    n_undefined : int
        Number of resamples that the interval leaves out, because a coefficient is undefined there.
    """

    statistic: float
    low: float
    high: float
    n_items: int
    n_missing: int
    n_undefined: int


@dataclass(frozen=True, eq=False)
class LeaderboardRow(Result):
    """One system of a leaderboard.

    Attributes
    ----------
    system : str
        Its name.
    rank : float
        1 is the best; tied systems share their mid-rank. nan where the coefficient is undefined.
    group : int or None
        Number of the group, from 1 for that of the best; None where the coefficient is undefined.
    scores : tuple of Score
        One for each gold set.
    total, mean : Score
        The sum over gold sets, and the mean.
    pvalue, corrected_pvalue : float
        P-value of the two-sided test against the best system, and corrected for a best one that was found by looking;
        nan for the best itself.
        With ``missing="intersection"`` the test is over the items that both have, where either may be the better, and
        the p-value is nan where a coefficient is undefined over these items.
    n_unused : int
        Number of items of the system that are in no gold set and are left out: none with ``missing="bottom"``.
    """

    system: str
    rank: float
    group: int | None
    scores: tuple[Score, ...]
    total: Score
    mean: Score
    pvalue: float
    corrected_pvalue: float
    n_unused: int


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Leaderboard(Computed, TableResult):
    """Systems from best to worst, and what was computed.

    Attributes
    ----------
    rows : tuple of LeaderboardRow
        Best first; systems that tie come in the order in which they were given.
    gold_sets : tuple of str
        Names of the gold sets, in the order of `LeaderboardRow.scores`.
    by : str
        What the systems are ranked by, and tested on: "sum", "mean" or the name of a gold set.
    standardized : bool
        Whether coefficients are standardized, so that chance gives 0 on average in each gold set.
    swap : str
        What the tests exchange, "ranks" or "scores".
    exact : bool or None
        Whether tests enumerate all swaps, as for two systems with at most 12 items; otherwise they are drawn. None
        where fewer than two systems have a coefficient, and none is tested.
    unit : str
        What is resampled and exchanged: always "items", within each gold set. Intervals and tests speak of further
        items of the same gold sets, and say nothing of further gold sets.
    level : float
        Level of confidence of the intervals; 1 - level is that of the tests behind the groups.
    n_resamples : int
        Number of resamples of each interval and of each test.
    n_items, coefficient, scheme, n0, weigher, tied_weights, variant, missing
        As in `RankCorrelation`; `n_items` counts the items of all gold sets.
    """

    rows: tuple[LeaderboardRow, ...]
    gold_sets: tuple[str, ...]
    by: str
    standardized: bool
    swap: str
    exact: bool | None
    unit: str
    level: float
    n_resamples: int

    def __repr__(self) -> str:
        column = self._column
        best = ", ".join(f"{row.system} {column(row).statistic:.3f}" for row in self.rows[:N_SHOWN])
        more = ", ..." if len(self.rows) > N_SHOWN else ""
        systems, sets = _counted(len(self.rows), "system"), _counted(len(self.gold_sets), "gold set")
        return f"<Leaderboard of {systems}, {self.coefficient}, {sets}, by {self.by}: {best}{more}>"

    def _column(self, row: LeaderboardRow) -> Score:
        totals = {SUM: row.total, MEAN: row.mean}
        return totals[self.by] if self.by in totals else row.scores[self.gold_sets.index(self.by)]

    def table(self) -> list[dict[str, Any]]:
        """One flat row for each system, to print or to plot: the coefficients, and interval and test of column `by`."""
        return [
            {"rank": row.rank, "group": row.group, "system": row.system}
            | {name: score.statistic for name, score in zip(self.gold_sets, row.scores, strict=True)}
            | {
                SUM: row.total.statistic,
                MEAN: row.mean.statistic,
                "low": self._column(row).low,
                "high": self._column(row).high,
            }
            | {"pvalue": row.pvalue, "corrected_pvalue": row.corrected_pvalue}
            | {"n_missing": row.total.n_missing}
            for row in self.rows
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON: None for nan, and the scores of a row by the name of the gold set."""
        content: dict[str, Any] = json_ready(self)
        for row in content["rows"]:
            row["scores"] = dict(zip(self.gold_sets, row["scores"], strict=True))
        return content

    def _columns(self) -> dict[str, list[Any]]:
        rows = self.table()
        return {name: [row[name] for row in rows] for name in rows[0]}


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
