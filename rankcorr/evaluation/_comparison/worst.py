"""Find the queries with the largest difference between two runs, and the documents that cause it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

import numpy as np

from rankcorr._checks import check_choice, checked_count, collected_notices, shown
from rankcorr._coefficients import Coefficient, TauW
from rankcorr._contributions import contributions
from rankcorr._output.results import Result, Rows
from rankcorr._ranking import Ranking
from rankcorr._workers import Draws
from rankcorr.errors import OptionError
from rankcorr.evaluation._columns import rows_of
from rankcorr.evaluation._evaluate import Evaluation, evaluate_matches
from rankcorr.evaluation._matching import Matched, Policies, SelfHits, Unjudged, Unretrieved, match_runs
from rankcorr.evaluation._metrics import Metric, MetricLike, as_metrics, name_of
from rankcorr.evaluation._nulls import RESAMPLES
from rankcorr.evaluation._qrels import Qrels, with_common_ids
from rankcorr.evaluation._sources import QrelsLike, RunsLike, qrels_of, runs_of

Direction: TypeAlias = Literal["either", "worse", "better"]

DIRECTIONS: Final[tuple[Direction, ...]] = get_args(Direction)
N_DOCUMENTS: Final = 5


@dataclass(frozen=True, eq=False)
class DocumentDifference(Result):
    """A document of a query, with its ranks in two runs.

    Attributes
    ----------
    document : str or int
    relevance : float
        nan for a document without a judgement; with ``unjudged="zero"`` it counts as 0.
    first_rank, second_rank : float
        Mid-ranks among the documents compared; documents that a run did not retrieve are tied in last place. nan if the
        document is not compared for this run.
    cost : float
        The cost of the document for the first run minus its cost for the second, as defined in `worst`.

    See Also
    --------
    worst : Lists them by query.
    QueryDifference : The query they belong to.

    Examples
    --------
    >>> from rankcorr.evaluation import worst
    >>> qrels = {"q1": {"a": 2, "b": 1, "c": 0}, "q2": {"a": 0, "d": 1}}
    >>> runs = {"old": {"q2": {"a": 1, "d": 2}}, "new": {"q2": {"a": 2, "d": 1}}}
    >>> for each in worst(qrels, runs, k=1)[0].documents:
    ...     print(each.document, each.relevance, each.first_rank, each.second_rank, round(each.cost, 4))
    a 0.0 2.0 1.0 -1.0
    d 1.0 1.0 2.0 -1.0
    """

    document: Hashable
    relevance: float
    first_rank: float
    second_rank: float
    cost: float


@dataclass(frozen=True, eq=False)
class QueryDifference(Result):
    """A query, its values for two runs, and the documents that cause the difference.

    Attributes
    ----------
    query : str or int
    first, second, difference : float
        Values of the two runs, and the first minus the second.
    documents : tuple of DocumentDifference
        Documents with the largest differences in cost, in either direction; empty if the coefficient is undefined for
        one of the runs, for example because it lacks the query.

    See Also
    --------
    worst : Returns them.
    DocumentDifference : The type of its documents.

    Examples
    --------
    >>> from rankcorr.evaluation import worst
    >>> qrels = {"q1": {"a": 2, "b": 1, "c": 0}, "q2": {"a": 0, "d": 1}}
    >>> runs = {"old": {"q2": {"a": 1, "d": 2}}, "new": {"q2": {"a": 2, "d": 1}}}
    >>> found = worst(qrels, runs, k=1)[0]
    >>> found.query, found.first, found.second, found.difference
    ('q2', 1.0, -1.0, 2.0)
    """

    query: Hashable
    first: float
    second: float
    difference: float
    documents: tuple[DocumentDifference, ...]


def worst(
    qrels: QrelsLike,
    runs: RunsLike,
    *,
    metric: MetricLike = "tau_w",
    first: str | None = None,
    second: str | None = None,
    k: int = 10,
    direction: Direction = "either",
    unjudged: Unjudged = "zero",
    unretrieved: Unretrieved = "last",
    depth: int | None = None,
    self_hits: SelfHits = "warn",
) -> tuple[QueryDifference, ...]:
    """List the queries with the largest difference between two runs, and up to five documents that cause it.

    The cost of a document for a run is its part of 1 - tau_w, as in `contributions`. If the metric is another rank
    correlation, the cost is its part of 1 minus that.

    Parameters
    ----------
    qrels, runs, metric, unjudged, unretrieved, depth, self_hits
        As in `compare_runs`.
    first, second : str, optional
        Names of the two runs; may be omitted if there are only two.
    k : int, default 10
        Number of queries.
    direction : {"either", "worse", "better"}
        List the queries with the largest differences in either direction, or only those for which the first run is
        worse, or better, than the second.

    Returns
    -------
    tuple of QueryDifference
        The largest difference first. Queries without a value for one of the runs are not listed.

    Raises
    ------
    RankingError
        As `compare_runs`.

    See Also
    --------
    compare_runs : Tests of the differences.
    rankcorr.contributions : The parts of the items of one ranking.

    Examples
    --------
    >>> from rankcorr.evaluation import worst
    >>> qrels = {"q1": {"a": 2, "b": 1, "c": 0}, "q2": {"a": 0, "d": 1}}
    >>> runs = {
    ...     "old": {"q1": {"a": 3, "b": 2, "c": 1}, "q2": {"a": 1, "d": 2}},
    ...     "new": {"q1": {"a": 3, "b": 2, "c": 1}, "q2": {"a": 2, "d": 1}},
    ... }
    >>> found = worst(qrels, runs, k=1)[0]
    >>> found.query, found.difference, [each.document for each in found.documents]
    ('q2', 2.0, ['a', 'd'])
    """
    (measure,) = as_metrics([metric]).values()
    k = checked_count(k, "k")
    check_choice("direction", direction, DIRECTIONS)
    gold, named_runs = with_common_ids(qrels_of(qrels), runs_of(runs))
    names = tuple(named_runs)
    if first is None and second is None and len(names) == 2:
        first, second = names
    check_choice("first", first, names)
    check_choice("second", second, names)
    pair = {str(first): named_runs[str(first)], str(second): named_runs[str(second)]}
    if len(pair) < 2:
        raise OptionError(f"two different runs are needed; got {shown(first)} twice")
    policies = Policies(unjudged, unretrieved, depth, self_hits)
    draws = Draws.checked(RESAMPLES, 0, None, None)
    matches = list(match_runs(gold, pair, policies, draws.workers))
    evaluation = evaluate_matches(gold, matches, {name_of(measure): measure}, policies, draws)
    pairs = {match.name: match.pairs for match in matches}
    return worst_evaluated(gold, pairs, evaluation, measure, str(first), str(second), k=k, direction=direction)


def worst_evaluated(
    gold: Qrels,
    matches: Mapping[str, Matched],
    evaluation: Evaluation,
    metric: Metric,
    first: str,
    second: str,
    *,
    k: int,
    direction: Direction,
) -> tuple[QueryDifference, ...]:
    """Return the result of `worst` for runs that are already matched and evaluated; arguments are not checked."""
    values = [evaluation.of(name_of(metric), run) for run in (first, second)]
    differences = values[0] - values[1]
    is_listed = {"either": ~np.isnan(differences), "worse": differences < 0, "better": differences > 0}[direction]
    order = np.argsort(np.where(is_listed, -np.abs(differences), 1), kind="stable")[: np.count_nonzero(is_listed)]
    coefficient = metric if isinstance(metric, Coefficient) else TauW()
    return Rows(
        QueryDifference(
            query=gold.queries[query],
            first=float(values[0][query]),
            second=float(values[1][query]),
            difference=float(differences[query]),
            documents=_documents(gold, [matches[first], matches[second]], coefficient, query),
        )
        for query in order[:k].tolist()
    )


def _documents(
    gold: Qrels, matches: list[Matched], coefficient: Coefficient, query: int
) -> tuple[DocumentDifference, ...]:
    """Return the compared documents of a query, those with the largest difference in cost between the runs first."""
    parts = [_places(pairs, coefficient, query) for pairs in matches]
    if not all(parts):
        return ()
    relevance = gold[gold.queries[query]]
    nothing = (float("nan"), 0.0)
    rows = []
    for document in dict.fromkeys([*parts[0], *parts[1]]):
        (first_rank, first_cost), (second_rank, second_cost) = (part.get(document, nothing) for part in parts)
        cost = first_cost - second_cost
        rows.append(DocumentDifference(document, relevance.get(document, float("nan")), first_rank, second_rank, cost))
    return Rows(sorted(rows, key=lambda row: -abs(row.cost))[:N_DOCUMENTS])


def _places(pairs: Matched, coefficient: Coefficient, query: int) -> dict[Hashable, tuple[float, float]]:
    """Return the rank and cost of each document of a query; empty if the coefficient is undefined."""
    rows = rows_of(pairs.offsets, query)
    if rows.stop - rows.start < 2:
        return {}
    x, y = Ranking.from_scores(pairs.x[rows]), Ranking.from_scores(pairs.y[rows])
    with collected_notices() as notices:
        parts = contributions(x, y, coefficient=coefficient)
    if notices:
        return {}
    documents = [pairs.documents[code] for code in pairs.codes[rows].tolist()]
    return dict(zip(documents, zip(y.ranks.tolist(), parts.cost.tolist(), strict=True), strict=True))
