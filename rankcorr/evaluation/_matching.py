"""Match the documents of a run with qrels for each query, and count those that are excluded."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count, islice, repeat
from typing import Any, Final, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from rankcorr._checks import check_declared, counted, declare, first_few, give_notice, offending, shown, whole_number
from rankcorr._input.identifiers import warn_unicode_twins
from rankcorr._input.scores import kernel_array
from rankcorr._output.results import Result
from rankcorr._workers import Progress, in_threads
from rankcorr.errors import OptionError, QueryMismatchError, SelfHitWarning, UnjudgedError
from rankcorr.evaluation._columns import Codes, places_in_groups
from rankcorr.evaluation._grouped import BLOCK_ROWS, blocks_of
from rankcorr.evaluation._qrels import Qrels, Run

Unjudged: TypeAlias = Literal["zero", "omit", "error"]
Unretrieved: TypeAlias = Literal["last", "omit"]

SelfHits: TypeAlias = Literal["warn", "keep", "omit"]

UNJUDGED: Final[tuple[Unjudged, ...]] = get_args(Unjudged)
UNRETRIEVED: Final[tuple[Unretrieved, ...]] = get_args(Unretrieved)
SELF_HITS: Final[tuple[SelfHits, ...]] = get_args(SelfHits)


@dataclass(frozen=True, eq=False)
class Coverage(Result):
    """Numbers of queries and documents of qrels and a run that were compared or excluded.

    Attributes
    ----------
    n_queries : int
        Number of queries of qrels.
    not_in_run : tuple
        Queries of qrels that the run lacks.
    not_in_qrels : tuple
        Queries of the run that are not in qrels, which are excluded.
    n_compared : int
        Number of documents compared, over all queries.
    n_unjudged : int
        Number of retrieved documents without a judgement, which have relevance 0 or are excluded.
    n_unretrieved : int
        Number of judged documents that the run did not retrieve, which are placed last or excluded.
    n_cut : int
        Number of documents of the run below the cutoff at `depth`.
    n_negative : int
        Number of judgements below 0, which rank below documents of relevance 0.
    n_self_hits : int
        Number of queries of qrels for which the run retrieved a document with the id of the query.

    See Also
    --------
    Evaluation : Holds one for each run as `coverage`.
    evaluate : The options `unjudged`, `unretrieved` and `depth`.

    Examples
    --------
    >>> from rankcorr.evaluation import evaluate
    >>> qrels = {"q1": {"a": 2, "b": 1, "c": 0}, "q2": {"a": 0, "d": 1}}
    >>> coverage = evaluate(qrels, {"q1": {"a": 9.1, "x": 8.7, "b": 1.2}}, metrics="tau_w").coverage[0]
    >>> coverage.not_in_run, coverage.n_compared, coverage.n_unjudged, coverage.n_unretrieved
    (('q2',), 4, 1, 1)
    """

    n_queries: int
    not_in_run: tuple[Hashable, ...]
    not_in_qrels: tuple[Hashable, ...]
    n_compared: int
    n_unjudged: int
    n_unretrieved: int
    n_cut: int
    n_negative: int
    n_self_hits: int = 0


@dataclass(frozen=True, eq=False, slots=True)
class Matched:
    """The compared documents of a run: a row for each query and document, sorted by query.

    Attributes
    ----------
    x, y : ndarray of float64, shape (n_rows,)
        Relevance by qrels, and score by the run.
    offsets : ndarray of int64, shape (n_queries + 1,)
        Query q of qrels has the rows from ``offsets[q]`` to ``offsets[q + 1] - 1``.
    codes : ndarray of int64, shape (n_rows,)
        Index in `documents` of the document of each row.
    documents : tuple
        Ids of the documents of qrels and of the run.
    coverage : Coverage
    """

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    offsets: Codes
    codes: Codes
    documents: tuple[Hashable, ...]
    coverage: Coverage


@dataclass(frozen=True, eq=False, slots=True)
class Joined:
    """A run in the order of the queries of qrels, cut at a depth, with the same document codes as qrels.

    Query q of qrels has the rows from ``starts[q]`` to ``stops[q] - 1`` of the run, or none if the run lacks it.
    """

    qrels: Qrels
    starts: Codes
    stops: Codes
    codes: Codes
    values: NDArray[np.float64]
    documents: tuple[Hashable, ...]
    not_in_qrels: tuple[Hashable, ...]
    n_cut: int
    n_self_hits: int = 0

    @property
    def retrieved(self) -> NDArray[np.bool_]:
        """Whether the run has each query of qrels."""
        return self.stops > self.starts


@dataclass(frozen=True)
class Policies:
    """How to treat documents that only qrels or only the run has, and the depth, None for no limit; see `evaluate`.

    Raises
    ------
    OptionError
        A policy is unknown, or the depth is not a positive whole number.
    """

    unjudged: Unjudged = declare(
        str,
        "zero",
        choices=UNJUDGED,
        about="Retrieved documents without a judgement: use relevance 0, leave them out, or report an error.",
    )
    unretrieved: Unretrieved = declare(
        str,
        "last",
        choices=UNRETRIEVED,
        about="Judged documents that a run did not retrieve: place them last, or leave them out.",
    )
    depth: int | None = declare(int, None, least=1, about="Use only the first K documents of each query.")
    self_hits: SelfHits = declare(
        str,
        "warn",
        choices=SELF_HITS,
        about="Retrieved documents with the id of their query: use them with a note, use them silently, or leave them "
        "out as in BEIR.",
    )

    def __post_init__(self) -> None:
        check_declared(self, OptionError)
        object.__setattr__(self, "depth", whole_number(self.depth))


class MatchedRun(NamedTuple):
    """A run, joined with qrels and matched with the documents of each query."""

    name: str
    joint: Joined
    pairs: Matched


def match_runs(
    qrels: Qrels, runs: Mapping[str, Run], policies: Policies, workers: int, progress: Progress | None = None
) -> Iterator[MatchedRun]:
    """Match runs with qrels, one after the other, so that one match is in memory at a time.

    Raises
    ------
    QueryMismatchError, UnjudgedError
        As `join_run` and `matched`; the message names the run.
    """
    # Numbered queries and documents share ids by chance.
    are_numbered = all(isinstance(query, int) or _number(str(query)) is not None for query in qrels.queries)
    for name, run in runs.items():
        title = f"run {shown(name)}" if len(runs) > 1 else "the run"
        joint = join_run(qrels, run, policies.depth, self_hits=policies.self_hits, name=title)
        if joint.n_self_hits and policies.self_hits == "warn" and not are_numbered:
            queries = counted(joint.n_self_hits, "query has", "queries have")
            give_notice(
                f"{title}: {queries} a hit with the id of the query itself; "
                'self_hits="omit" leaves it out, as BEIR does',
                SelfHitWarning,
                stacklevel=5,
            )
        pairs = matched(
            joint, unjudged=policies.unjudged, unretrieved=policies.unretrieved, workers=workers, progress=progress
        )
        yield MatchedRun(name, joint, pairs)


def join_run(
    qrels: Qrels, run: Run, depth: int | None, *, self_hits: SelfHits = "keep", name: str = "the run"
) -> Joined:
    """Find the queries and documents of qrels in a run, and keep the best `depth` documents of each query.

    Ties at the cutoff are broken by descending id, as in trec_eval. If `self_hits` is "omit", documents with the id of
    their query are removed before the cutoff.

    Raises
    ------
    QueryMismatchError
        No query is in both.
    """
    places = np.array([run.places.get(query, -1) for query in qrels.queries], np.int64)
    if (places < 0).all():
        raise QueryMismatchError(
            f"qrels and {name} share no query; qrels have {_some(qrels.queries)}, {name} has {_some(run.queries)}"
        )
    known = qrels.document_places
    code_of = np.fromiter(map(known.get, run.documents, repeat(-1)), np.int64, len(run.documents))
    unjudged = np.flatnonzero(code_of < 0)
    code_of[unjudged] = len(known) + np.arange(unjudged.size)
    documents = (*qrels.documents, *(run.documents[code] for code in unjudged.tolist()))
    warn_unicode_twins({*qrels.queries, *run.queries}, "query", stacklevel=7)
    warn_unicode_twins(documents, "document", stacklevel=7)
    starts = np.where(places >= 0, run.offsets[places], 0)
    stops = np.where(places >= 0, run.offsets[places + 1], 0)
    codes, values = kernel_array(code_of[run.codes]), kernel_array(run.values)
    not_in_qrels = tuple(query for query in run.queries if query not in qrels.places)
    joint = Joined(qrels, starts, stops, codes, values, documents, not_in_qrels, 0)
    is_self_hit = _self_hits(joint, run, code_of)
    joint = replace(joint, n_self_hits=int(np.count_nonzero(is_self_hit)))
    if joint.n_self_hits and self_hits == "omit":
        joint = _with_rows(joint, ~is_self_hit)
    if depth is None:
        return joint
    is_kept, sizes = np.zeros(joint.codes.size, bool), joint.stops - joint.starts
    is_any_cut = (sizes > depth).any()
    is_kept[trec_order(joint)[places_in_groups(sizes) < depth] if is_any_cut else _rows(joint)] = True
    return replace(_with_rows(joint, is_kept), n_cut=int(sizes.sum() - is_kept.sum()))


def _self_hits(joint: Joined, run: Run, codes: Codes) -> NDArray[np.bool_]:
    """Return whether the document of each row of the run has the id of its query, for queries of qrels.

    `codes` has the code of each document of the run.
    """
    queries: Sequence[Hashable] = joint.qrels.queries
    if type(queries[0]) is not type(run.documents[0]):
        to_text = isinstance(run.documents[0], str)
        queries = [str(query) if to_text else _number(str(query)) for query in queries]
    query_codes = np.full(len(queries), -1, np.int64)
    place_of = dict(zip(queries, count()))  # smaller than a mapping of documents
    places = np.fromiter(map(place_of.get, run.documents, repeat(-1)), np.int64, len(run.documents))
    query_codes[places[places >= 0]] = codes[places >= 0]
    is_self_hit = np.zeros(joint.codes.size, bool)
    if (query_codes >= 0).any():
        rows = _rows(joint)
        is_self_hit[rows] = joint.codes[rows] == np.repeat(query_codes, joint.stops - joint.starts)
    return is_self_hit


def _number(text: str) -> int | None:
    """Return the whole number whose decimal text this is; None if there is none."""
    is_number = len(text) < 40 and text.isascii() and text.removeprefix("-").isdigit()
    return int(text) if is_number and str(int(text)) == text else None


def _with_rows(joint: Joined, is_kept: NDArray[np.bool_]) -> Joined:
    """Return the run with only these rows."""
    n_before = np.append(0, np.cumsum(is_kept))
    return replace(
        joint,
        starts=n_before[joint.starts],
        stops=n_before[joint.stops],
        codes=kernel_array(joint.codes[is_kept]),
        values=kernel_array(joint.values[is_kept]),
    )


def matched(
    joint: Joined, *, unjudged: Unjudged, unretrieved: Unretrieved, workers: int = 1, progress: Progress | None = None
) -> Matched:
    """Match the relevance of the documents of each query with their scores.

    Raises
    ------
    UnjudgedError
        A retrieved document has no judgement, and `unjudged` is "error".
    """
    from rankcorr.evaluation._query_kernels import Judged, Scored, count_matches, fill_matches

    qrels = joint.qrels
    n_queries, n_documents = qrels.n_queries, len(joint.documents)
    n = np.zeros((n_queries, 3), np.int64)
    # Each block needs a table of all documents, so it should have at least as many rows.
    blocks = blocks_of(qrels.offsets, max(BLOCK_ROWS, n_documents))

    def rows(block: slice) -> tuple[Judged, Scored]:
        gold = Judged(qrels.offsets[block.start : block.stop + 1], qrels.codes, qrels.values)
        return gold, Scored(joint.starts[block], joint.stops[block], joint.codes, joint.values)

    def count(block: slice) -> None:
        count_matches(*rows(block), np.full(n_documents, -1, np.int64), n[block])

    in_threads(count, blocks, workers, progress)
    n[~joint.retrieved] = 0
    if unjudged == "error" and n[:, 1].any():
        _refuse_unjudged(joint, n[:, 1])
    sizes = n[:, 0] + (n[:, 1] if unjudged == "zero" else 0) + (n[:, 2] if unretrieved == "last" else 0)
    offsets = np.append(0, np.cumsum(sizes))
    x, y, codes = np.empty(offsets[-1]), np.empty(offsets[-1]), np.empty(offsets[-1], np.int64)

    def fill(block: slice) -> None:
        table, part = np.full(n_documents, -1, np.int64), offsets[block.start : block.stop + 1]
        fill_matches(*rows(block), unjudged == "zero", unretrieved == "last", table, part, x, y, codes)

    in_threads(fill, blocks, workers, progress)
    coverage = Coverage(
        n_queries=n_queries,
        not_in_run=tuple(qrels.queries[q] for q in np.flatnonzero(~joint.retrieved).tolist()),
        not_in_qrels=joint.not_in_qrels,
        n_compared=int(offsets[-1]),
        n_unjudged=int(n[:, 1].sum()),
        n_unretrieved=int(n[:, 2].sum()),
        n_cut=joint.n_cut,
        n_negative=int((qrels.values < 0).sum()),
        n_self_hits=joint.n_self_hits,
    )
    return Matched(x, y, offsets, codes, joint.documents, coverage)


def trec_order(joint: Joined) -> Codes:
    """Return the rows of the run, query by query, from best to worst; ties are in order of descending id.

    Scores are compared in single precision, as in trec_eval.
    """
    from rankcorr.evaluation._query_kernels import best_first

    sizes = joint.stops - joint.starts
    with np.errstate(over="ignore"):  # scores beyond 3.4e38 are tied, as in trec_eval
        scores = joint.values.astype(np.float32)
    ordered = np.empty(int(sizes.sum()), np.int64)
    if best_first(joint.starts, joint.stops, scores, ordered):
        group, row_scores = np.repeat(np.arange(sizes.size), sizes), scores[ordered]
        equal = (row_scores[1:] == row_scores[:-1]) & (group[1:] == group[:-1])
        tied = np.flatnonzero(np.append(equal, False) | np.append(False, equal))
        rows = ordered[tied]
        places = id_places(joint, joint.codes[rows])
        ordered[tied] = rows[np.lexsort((-places, -row_scores[tied], group[tied]))]
    return ordered


def _rows(joint: Joined) -> Codes:
    """Return the rows of the run for the queries of qrels, query by query."""
    sizes = joint.stops - joint.starts
    return np.asarray(places_in_groups(sizes) + np.repeat(joint.starts, sizes))


def id_places(joint: Joined, codes: Codes) -> Codes:
    """Return the places of documents in the order of their ids as text."""
    listed_codes, rows = np.unique(codes, return_inverse=True)
    ids = [str(joint.documents[code]) for code in listed_codes.tolist()]
    places = np.empty(listed_codes.size, np.int64)
    places[sorted(range(len(ids)), key=ids.__getitem__)] = np.arange(listed_codes.size)
    return np.asarray(places[rows])


def _some(ids: tuple[Any, ...]) -> str:
    return first_few([shown(identifier) for identifier in ids[:4]], 3)


def _refuse_unjudged(joint: Joined, n_unjudged: Codes) -> None:
    qrels, pairs = joint.qrels, []
    for query in np.flatnonzero(n_unjudged).tolist():
        judged = set(qrels.codes[qrels.offsets[query] : qrels.offsets[query + 1]].tolist())
        codes = joint.codes[joint.starts[query] : joint.stops[query]].tolist()
        missing = (code for code in codes if code not in judged)
        pairs += [(qrels.queries[query], joint.documents[code]) for code in islice(missing, 5)]
        if len(pairs) > 5:
            break
    total = int(n_unjudged.sum())
    listed = offending("every retrieved document needs a judgement; without one (query, document)", pairs, total)
    raise UnjudgedError(f'{listed}; set unjudged="zero" or unjudged="omit" to accept them')
