"""Texts of the reports on comparisons and leaderboards."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from rankcorr._checks import alpha_of, counted
from rankcorr._output import report as text
from rankcorr._output.report import Report
from rankcorr._output.results import Result

Content = Mapping[str, Any]

_SIDES: Final = {
    "two-sided": "a two-sided",
    "greater": "a one-sided (is the first system better?)",
    "less": "a one-sided (is the second system better?)",
}
SIDES: Final = ("the first system", "the second system")
_RANKS_EXCHANGED: Final = "Tests exchanged ranks; with scores on one scale they would find smaller differences."
STEP_DOWN: Final = (
    "P-values are corrected for all pairs by a step-down procedure [@romano2005exact], from which the possible ranks "
    "follow [@mogstad2024inference]. "
)


def comparison_report(comparison: Result, first: str, second: str) -> Report:
    """Return the report of `SystemComparison.report`."""
    content = comparison.to_dict()
    symbol = text.symbol_of(content["coefficient"])
    first, second = (name if name in SIDES else text.name_text(name) for name in (first, second))
    values = {first: content["statistic_a"], second: content["statistic_b"]}
    if content["pvalue"] is None:
        known = [f"that of {name} is {text.number_text(value)}" for name, value in values.items() if value is not None]
        unknown = [name for name, value in values.items() if value is None]
        results = (
            f"The {symbol} of {text.list_text(unknown or values)} is undefined{''.join(f'; {part}' for part in known)}."
        )
    else:
        name = f"The {first[4:]}" if first.startswith("the ") else first
        one, other = (text.number_text(value) for value in (content["statistic_a"], content["statistic_b"]))
        results = f"{name} has a {symbol} of {one}, {second} one of {other}. "
        interval = text.interval_text(content["low"], content["high"], content["level"])
        results += (
            f"The difference of {text.number_text(content['difference'])} ({interval}) is "
            f"{'' if _is_significant(content) else 'not '}significant ({text.pvalue_text(content['pvalue'])})."
        )
    return Report(_methods_of_pair(content), results, (*_limits_of_setting(content), *_limits_of_verdict(content)))


def comparisons_report(table: Result) -> Report:
    """Return the report of `SystemComparisons.report`."""
    rows = table.to_dict()["rows"]
    pairs = [row["comparison"] for row in rows]
    others = [text.symbol_of(name) for name in dict.fromkeys(row["coefficient"] for row in rows)][1:]
    has_sets = len({row["gold_set"] for row in rows}) > 1
    methods = _methods_of_pair(
        {**pairs[0], "swap": " or ".join(dict.fromkeys(pair["swap"] for pair in pairs))},
        " The same was done with " + text.list_text(others) + "." if others else "",
        f" P-values are corrected for all {len(rows)} comparisons by Holm's method.",
    )
    described: dict[str, list[str]] = {"significant": [], "not significant": [], "undefined": []}
    for row in rows:
        of_set = f" on {text.name_text(row['gold_set'])}" if has_sets else ""
        first, second = (text.number_text(row["comparison"][f"statistic_{side}"]) for side in "ab")
        values = f"{text.symbol_of(row['coefficient'])} {first} and {second}"
        names = f"{text.name_text(row['a'])} and {text.name_text(row['b'])}"
        pvalue = row["corrected_pvalue"]
        verdict = "undefined"
        if pvalue is not None:
            verdict = "significant" if pvalue <= alpha_of(row["comparison"]["level"]) else "not significant"
        described[verdict].append(
            f"{names}{of_set}, {values}" + f" ({text.pvalue_text(pvalue)})" * (pvalue is not None)
        )
    sentences = [
        f"{len(group)} {'is' if len(group) == 1 else 'are'} {verdict}: {text.list_text(group, '; ')}."
        for verdict, group in described.items()
        if group
    ]
    if not described["significant"]:
        sentences = ["none is significant.", *sentences]
    results = f"Of {counted(len(rows), 'difference')}, {' '.join(sentences)}"
    limits = dict.fromkeys(limit for pair in pairs for limit in _limits_of_setting(pair))
    return Report(methods, results, tuple(limits))


def leaderboard_report(board: Result) -> Report:
    """Return the report of `Leaderboard.report`."""
    content = board.to_dict()
    rows, n_sets = content["rows"], len(content["gold_sets"])
    sets_text = f" in {counted(n_sets, 'gold set')}" if n_sets > 1 else ""
    methods = (
        f"We ranked {counted(len(rows), 'system')} by their agreement with gold rankings of "
        f"{counted(content['n_items'], 'item')}{sets_text}, measured by {text.coefficient_text(content)}. "
    )
    if content["standardized"]:
        methods += "Coefficients are standardized, so that chance gives 0 on average in each gold set. "
    if n_sets > 1:
        totals = {"sum": "the sum over gold sets", "mean": "the mean over gold sets"}
        methods += f"Systems are ranked by {totals.get(content['by'], content['by'])}. "
    methods += f"{text.missing_text(content)} " if content["missing"] else ""
    methods += (
        f"Intervals come from {content['n_resamples']:,} resamples of items. Each pair of systems was compared by a "
        f"paired randomization test, in which the two exchange their {content['swap']} on {content['unit']} "
        f"({draws_text(content)}). {STEP_DOWN}{text.software_text(content['seed'])}"
    )
    symbol = text.symbol_of(content["coefficient"])
    name = {"sum": f"sum of {symbol}", "mean": f"mean {symbol}"}.get(content["by"], symbol) if n_sets > 1 else symbol
    totals_of = {"sum": "total", "mean": "mean"}
    scores = [
        row[totals_of[content["by"]]] if content["by"] in totals_of else row["scores"][content["by"]] for row in rows
    ]
    limits = ["Intervals and tests apply to further items like these, not to further gold sets."]
    limits += few_text(content["n_items"], "items")
    limits += [_RANKS_EXCHANGED] if content["swap"] == "ranks" else []
    n_undefined = sum(
        score["n_undefined"] for row in rows if row["rank"] is not None for score in row["scores"].values()
    )
    if n_undefined:
        limits.append(f"In {counted(n_undefined, 'resample')}, a coefficient is undefined; intervals leave them out.")
    if content["unit"] == "clusters":
        limits.append("Tests exchange whole clusters of items, whereas intervals resample items.")
    limits += rank_limits(rows, content["level"])
    return Report(methods, order_text(rows, scores, name, content["level"]), tuple(limits))


def order_text(rows: Sequence[Content], scores: Sequence[Content], name: str, level: float) -> str:
    """Name the first system, the systems that differ from it, and those that may be the best.

    Parameters
    ----------
    rows : list of dict
        Best first, with the name under "system" or "run", rank, least_rank and corrected_pvalue.
    scores : list of dict
        The statistic, low and high of the same systems.
    name : str
        Name of the score.
    level : float
        Confidence level of the intervals.
    """
    names = [text.name_text(row.get("system", row.get("run"))) for row in rows]
    ranked = [place for place, row in enumerate(rows) if row["rank"] is not None]
    if not ranked:
        return f"No system has a {name}."
    first, tested = ranked[0], [place for place in ranked[1:] if rows[place]["corrected_pvalue"] is not None]
    tied = [names[place] for place in ranked if rows[place]["rank"] == rows[first]["rank"]]
    subject = f"{tied[0]} ranks first" if len(tied) == 1 else f"{text.list_text(tied)} share the first rank"
    sentences = [
        f"{subject}, with a {name} of {text.number_text(scores[first]['statistic'])} "
        f"({text.interval_text(scores[first]['low'], scores[first]['high'], level)})."
    ]
    for start, is_significant in (
        (f"{'It is' if len(tied) == 1 else 'They are'} significantly better than", True),
        ("The difference is not significant for", False),
    ):
        described = [
            f"{names[place]} ({text.number_text(scores[place]['statistic'])}, "
            f"{text.pvalue_text(rows[place]['corrected_pvalue'])})"
            for place in tested
            if names[place] not in tied and (rows[place]["corrected_pvalue"] <= alpha_of(level)) == is_significant
        ]
        sentences += [f"{start} {text.list_text(described)}."] if described else []
    best = [names[place] for place in ranked if rows[place]["least_rank"] == 1]
    if len(ranked) == 1:
        pass  # nothing was tested
    elif len(best) == 1:
        sentences.append(f"The tests leave the first rank to {best[0]} alone.")
    elif best:
        sentences.append(f"The tests leave the first rank possible for {len(best)} systems: {text.list_text(best)}.")
    if unranked := [names[place] for place in range(len(rows)) if place not in ranked]:
        sentences.append(f"{text.list_text(unranked)} {'has' if len(unranked) == 1 else 'have'} no rank.")
    return " ".join(sentences)


def rank_limits(rows: Sequence[Content], level: float) -> list[str]:
    """Name the systems that a single test, but not the corrected one, finds different from the best."""
    alpha = alpha_of(level)
    doubtful = [
        text.name_text(row.get("system", row.get("run")))
        for row in rows
        if row["pvalue"] is not None and row["pvalue"] <= alpha < row["corrected_pvalue"]
    ]
    return (
        [f"A single test, without the correction, is significant for {text.list_text(doubtful)}."] if doubtful else []
    )


def few_text(n_units: int, units: str) -> list[str]:
    """Warn of few items, queries or tasks."""
    return [f"With only {n_units} {units}, small differences go undetected."] if n_units < text.FEW_ITEMS else []


def detectable_text(difference: float) -> str:
    """Name the smallest true difference that a test finds with a power of 0.8."""
    number = text.number_text(difference)
    return f"The test finds a true difference of {number} with a power of 80 %, and smaller ones less often."


def _is_significant(content: Content) -> bool:
    return bool(content["pvalue"] <= alpha_of(content["level"]))


def _methods_of_pair(content: Content, others: str = "", correction: str = "") -> str:
    missing = f" {text.missing_text(content)}" if content["missing"] else ""
    units = f"{content['swap']} on items ({draws_text(content)})"
    return (
        f"We compared systems by their agreement with a gold ranking of {counted(content['n_items'], 'item')}, "
        f"measured by {text.coefficient_text(content)}.{others}{missing} A difference was tested by "
        f"{_SIDES[content['alternative']]} paired randomization test, in which the two systems exchange their {units}. "
        f"Its interval holds the differences that the same test does not reject.{correction} "
        f"{text.software_text(content['seed'])}"
    )


def _limits_of_setting(content: Content) -> Iterable[str]:
    yield from few_text(content["n_items"], "items")
    if content["swap"] == "ranks":
        yield _RANKS_EXCHANGED
    if content["n_undefined"]:
        n_exchanges = counted(content["n_undefined"], "exchange")
        yield f"In {n_exchanges}, a coefficient is undefined, which counts against a difference."


def _limits_of_verdict(content: Content) -> Iterable[str]:
    if content["pvalue"] is None:
        return
    alpha, is_significant = alpha_of(content["level"]), _is_significant(content)
    for item in (content["least"], content["most"]):
        if content["fragile"] and (item["pvalue"] <= alpha) != is_significant:
            yield (
                f"One item decides: without {text.name_text(item['label'])} the difference is "
                f"{text.number_text(item['difference'])} ({text.pvalue_text(item['pvalue'])})."
            )
    if not is_significant and content["detectable"] is not None:
        yield detectable_text(content["detectable"])


def draws_text(content: Content) -> str:
    """Describe the exchanges of a test."""
    return "all exchanges" if content["exact"] else f"{content['n_resamples']:,} random exchanges"
