"""Texts of the reports on evaluations, comparisons of runs and leaderboards of scores."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from rankcorr._checks import alpha_of, counted
from rankcorr._output import report as text
from rankcorr._output.report import Report
from rankcorr._output.results import Result
from rankcorr.inference._exchange_distribution import MAX_EXACT
from rankcorr.inference._reports import STEP_DOWN, detectable_text, draws_text, few_text, order_text, rank_limits

Content = Mapping[str, Any]

_METRICS: Final = {"ap": "average precision", "ndcg": "nDCG", "p": "P", "rr": "reciprocal rank", "rbo": "RBO"}
_UNJUDGED: Final = {
    "zero": "Retrieved documents without a judgement have relevance 0",
    "omit": "Retrieved documents without a judgement were left out",
    "error": "Every retrieved document has a judgement",
}
_UNRETRIEVED: Final = {
    "last": "judged documents that a run did not retrieve are tied below all others",
    "omit": "judged documents that a run did not retrieve were left out",
}
_AGGREGATES: Final = {
    "mean": "mean score",
    "borda": "mean number of systems that they beat on a task (ties count half)",
    "mean_rank": "mean rank (smaller is better)",
}
_NOT_TESTED: Final = "Differences of these means were not tested."
_NORMS: Final = {"min-max": "scores, scaled to 0 to 1", "z": "scores, standardized within each query"}
PAIR: Final = 2
_EXCHANGED_TOGETHER: Final = (
    "The corrected tests exchange the scores of all systems together, so that a system which is much worse than the "
    "others hides small differences between them."
)
_CORRECTIONS: Final = {
    "step-down": STEP_DOWN,
    "holm": "P-values of pairs are corrected for all pairs and metrics by Holm's method. ",
}


def metric_text(metric: str) -> str:
    """Return the name of a metric in papers.

    >>> metric_text("ndcg@10"), metric_text("ap")
    ('nDCG@10', 'average precision')
    """
    match = re.fullmatch(r"([a-z]+)(@[0-9]+)?", metric)
    return _METRICS[match[1]] + (match[2] or "") if match and match[1] in _METRICS else text.symbol_of(metric)


def evaluation_report(evaluation: Result) -> Report:
    """Return the report of `Evaluation.report`."""
    content = evaluation.to_dict()
    options, rows = content["options"], content["means"]
    depth = "" if options["depth"] is None else f"; runs were cut after {options['depth']} documents of a query"
    methods = (
        f"We evaluated {counted(len(content['runs']), 'run')} on {_queries_text(content)} by "
        f"{text.list_text(map(metric_text, content['metrics']))}, and averaged over queries. "
        f"{_UNJUDGED[options['unjudged']]}, and {_UNRETRIEVED[options['unretrieved']]}{depth}. "
    )
    if content["standardized"] is not None:
        methods += (
            "Rank correlations are also standardized, so that chance gives 0 whatever the length and the ties of a "
            f"query ({options['n_resamples']:,} permutations). "
        )
    sentences = []
    for run in content["runs"]:
        values = []
        for row in rows:
            standardized = row.get("standardized")
            more = "" if standardized is None else f" (standardized {text.number_text(standardized)})"
            if row["run"] == run:
                values.append(f"{metric_text(row['metric'])} {text.number_text(row['mean'])}{more}")
        sentences.append(f"{text.name_text(run)}, {text.list_text(values)}")
    limits = [_NOT_TESTED] if len(content["runs"]) > 1 else []
    limits += few_text(len(content["queries"]), "queries")
    treatment = "counted as 0" if options["undefined"] == "zero" else "left out"
    for row in rows:
        if row["n_undefined"]:
            gap = f"is undefined for {counted(row['n_undefined'], 'query', 'queries')}"
            verb = "was" if row["n_undefined"] == 1 else "were"
            limits.append(
                f"The {metric_text(row['metric'])} of {text.name_text(row['run'])} {gap}, which {verb} {treatment}."
            )
    results = f"Means over queries: {text.list_text(sentences, '; ')}."
    return Report(methods + text.software_text(options["seed"]), results, tuple(limits))


def reports_of_tests(evaluation: Report, comparisons: Iterable[Report], preface: str = "") -> list[Report]:
    """Return the reports of an evaluation and of its tests as parts of one text that begins with `preface`."""
    of_tests = list(comparisons)
    limits = tuple(limit for limit in evaluation.limits if not (of_tests and limit == _NOT_TESTED))
    return [replace(evaluation, methods=preface + evaluation.methods, limits=limits), *of_tests]


def fusion_text(fused: str, parts: Sequence[str], method: str, norm: str, k: float) -> str:
    """Describe how runs were fused.

    >>> fusion_text("rrf", ["bm25", "dense"], "rrf", "min-max", 60.0)[:68]
    'We fused `bm25` and `dense` into `rrf` by the sum of 1/(60 + rank) ['
    """
    how = {
        "rrf": f"the sum of 1/({k:g} + rank) [@cormack2009reciprocal]",
        "combsum": f"the sum of their {_NORMS[norm]} (CombSUM) [@fox1994combination]",
        "combmnz": f"the sum of their {_NORMS[norm]}, times the number of runs that retrieved the document (CombMNZ) "
        "[@fox1994combination]",
    }
    return f"We fused {text.list_text(map(text.name_text, parts))} into {text.name_text(fused)} by {how[method]}. "


def run_comparison_report(comparison: Result) -> Report:
    """Return the report of `RunComparison.report`."""
    content = comparison.to_dict()
    level, pairs = content["level"], content["pairs"]
    metric = f"{'standardized ' * content['standardized']}{metric_text(content['metric'])}"
    n_least = min((pair["n_queries"] for pair in pairs), default=0)
    flips = "in all ways" if n_least <= MAX_EXACT else f"{content['n_resamples']:,} times at random"
    tests = {
        "randomization": f"paired randomization tests, which flip the signs of the differences by query {flips} "
        "[@smucker2007comparison]",
        "t": "Student's paired t test [@smucker2007comparison]",
        "bootstrap": f"bootstrap-t tests from {content['n_resamples']:,} resamples of queries",
    }
    methods = (
        f"We compared {counted(len(content['rows']), 'run')} by their mean {metric} over {_queries_text(content)}, "
        f"with bootstrap-t intervals over queries. Differences of two runs were tested by {tests[content['test']]}; "
        "their intervals hold the differences that the same test does not reject. "
        f"{_CORRECTIONS[content['correction']]}{text.software_text(content['seed'])}"
    )
    scores = [{"statistic": row["mean"], "low": row["low"], "high": row["high"]} for row in content["rows"]]
    results = order_text(content["rows"], scores, f"mean {metric}", level)
    if len(pairs) == 1 or content["baseline"] is not None:
        results = " ".join([results, *(_pair_text(pair, level) for pair in pairs[: text.MOST_NAMED])])
    unit = "queries" if content["unit"] == "queries" else "clusters of queries"
    limits = [f"Intervals and tests apply to further {unit} like these, and assume independent {unit}."]
    limits += few_text(len(content["queries"]), "queries")
    if fragile := [f"{pair['first']} and {pair['second']}" for pair in pairs if pair["fragile"]]:
        limits.append(f"A single query decides whether these differ significantly: {text.list_text(fragile, '; ')}.")
    if len(pairs) == 1 and pairs[0]["pvalue"] is not None and pairs[0]["detectable"] is not None:
        limits += [detectable_text(pairs[0]["detectable"])] if pairs[0]["pvalue"] > alpha_of(level) else []
    if content["groups"]:
        limits.append("Comparisons within groups of queries are corrected separately.")
    return Report(methods, results, (*limits, *rank_limits(content["rows"], level)))


def score_leaderboard_report(board: Result) -> Report:
    """Return the report of `ScoreLeaderboard.report`."""
    content = board.to_dict()
    rows = content["rows"]
    n_tasks, n_groups, n_left_out = (len(content[name]) for name in ("tasks", "gold_sets", "left_out"))
    groups = f", averaged over {n_groups} groups of tasks" if n_groups > 1 else ""
    methods = (
        f"We ranked {counted(len(rows), 'system')} by their {_AGGREGATES[content['aggregate']]} over "
        f"{counted(n_tasks, 'task')}{groups}. "
    )
    if n_left_out:
        methods += f"{'A task' if n_left_out == 1 else 'Tasks'} with missing scores ({n_left_out}) "
        methods += f"{'was' if n_left_out == 1 else 'were'} left out. "
    if content["missing"] == "worst":
        n_missing = sum(row["mean"]["n_missing"] for row in rows)
        methods += f"Missing scores ({n_missing}) count as the worst of their task. "
    if lower := content["lower_is_better"]:
        methods += f"Smaller scores are better on {text.list_text(map(text.name_text, lower))}. "
    methods += (
        f"Intervals are bootstrap-t intervals from {content['n_resamples']:,} resamples of tasks. Each pair of systems "
        f"was compared by a paired randomization test, in which the two exchange their scores on tasks "
        f"({draws_text(content)}). "
        f"{STEP_DOWN}{text.software_text(content['seed'])}"
    )
    results = order_text(rows, [row["mean"] for row in rows], content["coefficient"], content["level"])
    limits = ["Intervals and tests apply to further tasks like these, and assume independent tasks."]
    limits += few_text(n_tasks, "tasks")
    if content["detectable"] is not None:
        number = text.number_text(content["detectable"])
        limits.append(
            f"A single test finds a true difference of {number} from the best with a power of 80 % (the median over "
            "systems)."
        )
    if len(rows) > PAIR:
        limits.append(_EXCHANGED_TOGETHER)
    return Report(methods, results, (*limits, *rank_limits(rows, content["level"])))


def _queries_text(content: Content) -> str:
    return counted(len(content["queries"]), "query", "queries")


def _pair_text(pair: Content, level: float) -> str:
    first, second = text.name_text(pair["first"]), text.name_text(pair["second"])
    return (
        f"{first} and {second} differ by {text.number_text(pair['difference'])} "
        f"({text.interval_text(pair['low'], pair['high'], level)}, {text.pvalue_text(pair['corrected_pvalue'])}): "
        f"{first} is better on {pair['n_better']:,} of {pair['n_queries']:,} queries, and worse on "
        f"{pair['n_worse']:,}."
    )
