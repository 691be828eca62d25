"""POST /v1/evaluations/stream: queries in, a line each; values out, a line each, and a summary at the end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import orjson
from flask import Response, g, request

from rankcorr import RankingError
from rankcorr.evaluation import Evaluation, Qrels, Run, evaluate
from rankcorr.evaluation.metrics import Metric
from rankcorr.evaluation.running import RunningComparison
from rankcorr.notices import collected_notices
from rankcorr.results import json_ready
from service.api.evaluations import metrics_of
from service.environment import variable
from service.http import logs
from service.http.capacity import Gate
from service.http.deadline import Deadline
from service.http.feed import NDJSON, Feed, Lines, feed_of
from service.http.json_body import parse_lines
from service.http.problems import Problem
from service.http.state import state
from service.openapi.blueprint import Blueprint, operation
from service.schemas.evaluations import STREAM_SUMMARY, StreamQuery
from service.schemas.query_lines import QUERY_ANSWER_LINE, QUERY_LINE, Documents, LineError, QueryLine, read_line

BLOCK: Final = 500  # lines that are evaluated at once: the overhead of a block is then a tenth of its work
MOST_COLUMNS: Final = 1_000  # sums of runs and pairs by metric, 70 kB each
_COUNTED: Final = ("n_compared", "n_unjudged", "n_unretrieved", "n_cut", "n_negative")
# Every block has this query too, so that no run is empty in it, and no block without a value.
_FILLER: Final = Documents(["a", "b"], [1, 0])

EXAMPLE: Final = (
    '{"query": "q1", "relevance": {"ant": 2, "bee": 1}, "scores": {"bm25": {"bee": 9.1, "ant": 8.7}}}\n'
    '{"query": "q2", "relevance": {"oak": 1, "elm": 0}, "scores": {"bm25": {"oak": 3.5, "elm": 1.2}}}\n'
)


blueprint = Blueprint(
    "streams", __name__, url_prefix="/v1/evaluations/stream", description="Very many queries, line by line"
)


@blueprint.route("", methods=["POST"])
@blueprint.arguments(StreamQuery, location="query")
@operation("evaluateStream")
@blueprint.doc(
    requestBody={
        "required": True,
        "content": {
            NDJSON: {
                "schema": {"type": "string", "format": "binary", "description": f"Lines, each a {QUERY_LINE.name}."},
                "example": EXAMPLE,
            }
        },
    }
)
@blueprint.response(
    200,
    {
        "type": "string",
        "format": "binary",
        "description": (
            f"Lines, each a {QUERY_ANSWER_LINE.name}, and a {STREAM_SUMMARY.name} at the end; or a line with a "
            "`problem`, where the stream ends before."
        ),
    },
    content_type=NDJSON,
)
def evaluate_stream(query: dict[str, Any]) -> Response:
    """Evaluate queries as they come, a line each, and summarize all of them at the end."""
    feed = feed_of(request)
    stream = EvaluationStream(state().settings.limits, state().gate, g.request_id, **query)
    return Response(stream.answer(feed), content_type=NDJSON)


class EvaluationStream:
    """Evaluates the lines of one request."""

    def __init__(
        self,
        limits: Any,
        gate: Gate,
        request_id: str,
        *,
        metrics: tuple[str, ...],
        options: Mapping[str, Any],
        level: float,
        versus: str | None = None,
        **policies: Any,
    ) -> None:
        self._limits, self._gate, self._id = limits, gate, request_id
        self._metrics: dict[str, Metric] = metrics_of(metrics, options)
        self._versus, self._level, self._policies = versus, level, policies
        self._lines = Lines(most_bytes=limits.max_line_bytes)
        self._runs: tuple[str, ...] = ()
        self._running = RunningComparison((), tuple(self._metrics), level=level)
        self._counts = np.zeros((0, len(_COUNTED) + 1), np.int64)  # by run; the last is of queries that it lacks
        self._n_lines = self._n_queries = self._n_wrong = 0
        self._worked = 0.0
        self._of_filler: list[list[int]] = []  # counts by run, as of a block

    def answer(self, feed: Feed) -> Iterator[bytes]:
        """Lines of the answer, as the body comes; an empty piece where more of it is needed."""
        begun, outcome = time.monotonic(), "whole"
        try:
            while not feed.has_ended:
                piece = feed.take()
                lines = self._lines.cut(piece)
                if feed.has_ended:
                    lines += self._lines.rest()
                self._check_number()
                for start in range(0, len(lines), BLOCK):
                    while not self._has_turn():
                        feed.rest()
                        yield b""
                    yield self._in_turn(lines[start : start + BLOCK])
                if not piece and not feed.has_ended:
                    yield b""
            yield _written({"summary": self._summary()})
        except Problem as problem:
            outcome = problem.kind
            yield _written({"problem": orjson.loads(problem.body(self._id))})
        except GeneratorExit:
            outcome = "client-left"
            raise
        except Exception:
            outcome = "unforeseen"
            logs.log.exception("request %s failed", self._id)
            unforeseen = Problem(500, "an unforeseen error; the log of the service has it under the request_id")
            yield _written({"problem": orjson.loads(unforeseen.body(self._id))})
        finally:
            logs.write_stream(
                self._id, seconds=time.monotonic() - begun, worked=self._worked, lines=self._n_lines, outcome=outcome
            )

    def _has_turn(self) -> bool:
        """Take a turn, as a request does; a stream that finds none asks again, and is not turned away half-way."""
        try:
            self._gate.enter()
        except Problem:
            return False
        return True

    def _in_turn(self, lines: Sequence[tuple[int, bytes]]) -> bytes:
        """Answer a block of lines, and give the turn back."""
        begun = time.monotonic()
        try:
            self._check_limits(len(lines))
            return self._answered(lines, Deadline(self._limits.max_seconds))
        finally:
            self._gate.leave()
            self._worked += time.monotonic() - begun

    def _check_number(self) -> None:
        """Refuse too many lines, blank ones among them, which take no turn and no work."""
        if self._lines.n_lines > self._limits.max_lines:
            raise Problem(413, f"at most {self._limits.max_lines} lines in a stream ({variable('max_lines')})")

    def _check_limits(self, n_more: int) -> None:
        self._n_lines += n_more
        if self._worked > self._limits.max_stream_work_seconds:
            name = variable("max_stream_work_seconds")
            raise Problem(
                422,
                f"at most {self._limits.max_stream_work_seconds:g} s of work for a stream ({name}): send less at once",
                kind="too-much-work",
            )

    def _answered(self, lines: Sequence[tuple[int, bytes]], clock: Deadline) -> bytes:
        answers: dict[int, bytes] = {}
        read: dict[int, QueryLine] = {}
        for (number, _), document in zip(lines, parse_lines([line for _, line in lines]), strict=True):
            clock()
            if isinstance(document, Problem):
                answers[number] = self._wrong(number, document.detail)
                continue
            try:
                found = read_line(document)
                self._check_runs(found)
                read[number] = found
            except LineError as error:
                answers[number] = self._wrong(number, str(error))
        if read:
            answers |= self._evaluated(read, clock)
        return b"".join(answers[number] for number, _ in lines)

    def _check_runs(self, line: QueryLine) -> None:
        """The first query says which runs there are."""
        if self._runs:
            if not line.scores.keys() <= set(self._runs):
                other = next(run for run in line.scores if run not in self._runs)
                raise LineError(f'/scores: there is no run "{other[:60]}" in the first query, which says what runs are')
            return
        runs = tuple(line.scores)
        if not runs:
            raise LineError("/scores: the first query says what runs there are, and has none")
        if self._versus is not None and self._versus not in runs:
            raise Problem(422, "versus must be one of the runs of the first query")
        columns = len(self._metrics) * (len(runs) if self._versus is None else 2 * len(runs) - 1)
        if columns > MOST_COLUMNS:
            what = "sums of a stream: metrics times runs, and times the others again with versus"
            raise Problem(422, f"at most {MOST_COLUMNS} {what}; got {columns}")
        n_bytes = 2 * BLOCK * sum(len(run.encode()) for run in runs)  # of values, and of what is undefined
        if n_bytes > self._limits.max_label_bytes:
            most = self._limits.max_label_bytes // (2 * BLOCK)
            name = variable("max_label_bytes")
            raise Problem(
                422, f"at most {most} bytes in the names of all runs, which are in each line of the answer ({name})"
            )
        self._runs = runs
        self._running = RunningComparison(runs, tuple(self._metrics), baseline=self._versus, level=self._level)
        self._counts = np.zeros((len(runs), len(_COUNTED) + 1), np.int64)

    def _evaluated(self, lines: Mapping[int, QueryLine], clock: Callable[[int], None]) -> dict[int, bytes]:
        """Answers by the number of the line; where the library refuses a block, it is evaluated line by line."""
        try:
            found = self._evaluation(list(lines.values()), clock)
        except RankingError as error:
            if len(lines) == 1:
                return {number: self._wrong(number, str(error)) for number in lines}
            answers: dict[int, bytes] = {}
            for number, line in lines.items():
                answers |= self._evaluated({number: line}, clock)
            return answers
        values = found.values[:, :, : len(lines)]
        self._running.add(values)
        self._n_queries += len(lines)
        self._of_filler = self._of_filler or _counted(self._evaluation([], clock))
        self._counts += np.subtract(_counted(found), self._of_filler)
        return self._written(lines, values, found)

    def _evaluation(self, lines: Sequence[QueryLine], clock: Callable[[int], None]) -> Evaluation:
        """Values of each line, and of the filler at the end."""
        nothing = Documents([], [])
        qrels = Qrels.from_columns(*_columns([line.relevance for line in lines]))
        runs = {
            run: Run.from_columns(*_columns([line.scores.get(run, nothing) for line in lines])) for run in self._runs
        }
        clock(1)
        with collected_notices():  # each line says what is undefined in it
            return evaluate(
                qrels,
                runs,
                metrics=list(self._metrics.values()),
                standardized=False,
                workers=1,
                progress=clock,
                **self._policies,
            )

    def _written(self, lines: Mapping[int, QueryLine], values: Any, found: Evaluation) -> dict[int, bytes]:
        why: dict[Any, dict[str, dict[str, str]]] = {}
        for each in found.undefined:
            for query in each.queries:
                why.setdefault(query, {}).setdefault(each.run, {})[each.metric] = each.reason
        answers = {}
        by_query = values.transpose(2, 0, 1).tolist()
        for place, (number, line) in enumerate(lines.items()):
            scored = {
                run: dict(zip(found.metrics, own, strict=True))
                for run, own in zip(self._runs, by_query[place], strict=True)
            }
            row = {"line": number, "query": line.query, "values": scored}
            answers[number] = _written(row if place not in why else {**row, "undefined": why[place]})
        return answers

    def _wrong(self, number: int, message: str) -> bytes:
        self._n_wrong += 1
        if self._n_wrong > self._limits.max_wrong_lines:
            name = variable("max_wrong_lines")
            raise Problem(
                422,
                f"at most {self._limits.max_wrong_lines} lines that cannot be used ({name}); line {number}: {message}",
            )
        return _written({"line": number, "error": message})

    def _summary(self) -> dict[str, Any]:
        names = ("n_not_in_run", *_COUNTED)
        return {
            "n_lines": self._n_lines,
            "n_queries": self._n_queries,
            "n_wrong": self._n_wrong,
            "runs": self._runs,
            "metrics": tuple(self._metrics),
            "means": self._running.means(),
            "comparisons": [
                {"metric": metric, "pairs": [json_ready(pair) for pair in pairs]}
                for metric, pairs in self._running.differences().items()
                if self._versus is not None
            ],
            "coverage": [
                {"run": run, **dict(zip(names, [counts[-1], *counts[:-1]], strict=True))}
                for run, counts in zip(self._runs, self._counts.tolist(), strict=True)
            ],
        }


def _counted(found: Evaluation) -> list[list[int]]:
    """Counts of each run; the last is of queries that it lacks."""
    return [[*(getattr(each, name) for name in _COUNTED), len(each.not_in_run)] for each in found.coverage]


def _columns(documents: Sequence[Documents]) -> tuple[Any, list[str], list[float]]:
    """Columns of queries, which have the numbers of their places, documents and numbers; the filler comes last."""
    parts = [*documents, _FILLER]
    queries = np.repeat(np.arange(len(parts)), [len(each.ids) for each in parts])
    return queries, [each for part in parts for each in part.ids], [n for part in parts for n in part.numbers]


def _written(row: Mapping[str, Any]) -> bytes:
    return orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)
