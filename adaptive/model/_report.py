"""Write the sentences that report fitted strengths in a paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from adaptive._tables import item_cells
from rankcorr._checks import counted
from rankcorr._output import report as text
from rankcorr._output.report import Report

Content = Mapping[str, Any]

_MODELS: Final = {
    "logistic": "a logistic model of comparisons in pairs [@bradley1952rank]",
    "normal": "a normal model of comparisons in pairs [@thurstone1927law]",
}
LEADING: Final = 5  # items that a report names


def strengths_report(content: Content, model: Content, n_voters: int | None, *, has_ties: bool) -> Report:
    """Return the report of `Strengths.report`; `model` is a `VoteModel` as a dict."""
    items, parameters = content["items"], content["parameters"]
    n_votes = content["signal"]["n_votes"]
    of_voters = "" if n_voters is None else f" of {counted(n_voters, 'voter')}"
    ties = ""
    if parameters["tie_parameter"]:
        ties = " Ties have a separate parameter [@davidson1970extending]."
    elif has_ties:
        ties = " A tie counts as half a win for either item."
    methods = (
        f"We fitted strengths of {counted(len(items), 'item')} to {counted(n_votes, 'vote')}{of_voters} by "
        f"{_MODELS[model['link']]}, with normal priors; the standard deviation of the strengths is "
        f"{text.number_text(parameters['prior_sd'])}.{ties}"
    )
    if model["voters"]:
        methods += " Each voter has a discrimination and a rate of slips."
    if model["side_bias"]:
        of_voters = ", the mean over votes of the biases of voters" if model["voters"] else ""
        bias = text.number_text(parameters["side_bias"])
        methods += f" A bias towards the left side is part of the model ({bias}{of_voters})."
    if parameters["opinion_sd"] is not None:
        methods += " Standard errors allow for votes of one voter that depend on each other."
    return _report(methods, items, content["signal"], content["warnings"])


def graded_report(graded: Content, signal: Content, n_voters: int, warnings: Sequence[str], set_size: int) -> Report:
    """Return the part of a report on strengths fitted to graded votes or sets; `graded` is that of `choice_content`."""
    items = graded["items"]
    votes = "graded vote"
    model = "a model of adjacent categories [@agresti1992analysis], with a parameter for each grade but the highest and"
    if set_size > 2:
        votes = "vote"
        model = f"the maxdiff model of the best and the worst of {set_size} items [@marley2005some], with"
    methods = (
        f"We fitted strengths of {counted(len(items), 'item')} to {counted(signal['n_votes'], votes)} of "
        f"{counted(n_voters, 'voter')} by {model} a normal prior of the strengths with standard deviation "
        f"{text.number_text(graded['prior_sd'])}."
    )
    return _report(methods, items, signal, warnings)


def _report(methods: str, items: Sequence[Content], signal: Content, warnings: Sequence[str]) -> Report:
    best = [
        f"{item_text(row['item'])} ({text.number_text(row['strength'])} ± {text.number_text(row['standard_error'])})"
        for row in items[:LEADING]
    ]
    evidence = "rule out" if signal["found"] else "do not rule out"
    results = (
        f"Strongest, with standard errors: {text.list_text(best)}. "
        f"The votes {evidence} that all answers are random ({text.pvalue_text(signal['pvalue'])})."
    )
    limits = tuple(f"{warning[0].upper()}{warning[1:]}." for warning in warnings)
    return Report(f"{methods} {text.software_text(None)}", results, limits)


def item_text(item: Any) -> str:
    """Write the label of an item, which may be a tuple or, read from JSON, a list."""
    return text.name_text(", ".join(item_cells(tuple(item) if isinstance(item, list) else item)))
