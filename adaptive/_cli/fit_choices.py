"""The part of `ballots fit` for answers of any kind: grades, best-worst, rankings, and pairs with clusters."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from itertools import chain
from typing import Any, Final

import click

from adaptive._cli.output import emit
from adaptive._cli.vote_files import SQLITE, Reading, check_labels, check_once, first_bytes, side_bias_text
from adaptive._formats.records import Records
from adaptive._tables import items_csv
from adaptive.choices._answers import NOUNS, ChoiceAnswers, joined_answers
from adaptive.choices._files import choice_records, kind_of_choices, read_choices
from adaptive.choices._fit import AnswersFit, fit_answers, named_voter
from adaptive.choices._judges import Agreement
from adaptive.choices._prediction import PredictionPoweredStrengths
from adaptive.choices._strengths import ChoiceStrengths
from rankcorr import OptionError
from rankcorr._checks import counted
from rankcorr._cli import console
from rankcorr._io.source import printable

_CLUSTERS: Final = {"voter": "voter", "prompt": "prompt", "both": "voter and prompt"}
_LEAST_SWAPPED: Final = 10  # pairs of a voter from both sides: fewer say nothing about a side bias
_NAMES: Final = {"tie": "logarithm of the tie parameter", "side": "side bias"}
_OF_PAIRS: Final = ("ties", "oversight", "voters", "alpha", "items", "instances", "report", "reliability")


def answers_of_choices(
    paths: Sequence[str], reading: Reading, model: str, options: Mapping[str, Any]
) -> ChoiceAnswers | None:
    """Return the answers of files whose kind or options only a fit of choices knows; None for votes on pairs.

    Raises
    ------
    OptionError
        Files of several kinds, a ledger, or an option that such a fit does not have.
    """
    kinds_of_option = ("cluster", "powered_by", "swapped", "both_bad", "covariates", "judge")
    names = [name for name in kinds_of_option if options[name] not in (None, ())]
    flags = [f"--{name.replace('_', '-').removesuffix('s')}" for name in names]
    if any(path == "-" or path.startswith("postgresql") or first_bytes(path) == SQLITE for path in paths):
        if flags:
            raise OptionError(f"{flags[0]} needs files of votes; it cannot read a ledger or standard input")
        return None
    if not names and (reading.format != "auto" or reading.instances is not None):
        return None
    check_once(paths)
    records = {path: choice_records(path, reading.encoding) for path in paths}
    columns = {
        path: {role: name for role, name in (reading.columns or {}).items() if _has(records, path, name)}
        for path in paths
    }
    ignore = {path: [name for name in reading.ignore if _has(records, path, name)] for path in paths}
    kinds = {path: kind_of_choices(records[path], columns[path], ignore[path]) for path in paths}
    if not names and set(kinds.values()) <= {"pairs"}:
        return None
    if len(set(kinds.values())) > 1:
        texts = ", ".join(f"{printable(path)}: {NOUNS[kind]}" for path, kind in kinds.items())
        raise OptionError(f"the files have answers of several kinds: {texts}")
    reason = flags[0] if flags else NOUNS[kinds[paths[0]]]
    if model != "bradley-terry":
        raise OptionError(f"--model {model} cannot be used with {reason}")
    # 0 is a value: it equals False, but is not False.
    if unusable := [name for name in _OF_PAIRS if options.get(name) is not None and options[name] is not False]:
        raise OptionError(f"--{unusable[0]} cannot be used with {reason}")
    settings = {"format": reading.format, "answers": reading.answers, "covariates": options["covariates"]}
    answers = joined_answers(
        [read_choices(records[path], columns=columns[path], ignore=ignore[path], **settings) for path in paths]
    )
    for option, name in (("--judge", options["judge"]), ("--powered-by", options["powered_by"])):
        if name is not None and (options["only"] or name in options["without"]):
            text = printable(name)
            raise OptionError(
                f"{option} {text} compares this voter with all others: leave out --only, and --without {text}"
            )
    for name in ("only", "without"):
        if options[name]:
            voters = [named_voter(answers, text) for text in options[name]]
            answers = answers.of_voters(voters, others=name == "without")
    return answers


def strengths_of_choices(
    paths: Sequence[str], reading: Reading, model: str, options: Mapping[str, Any]
) -> ChoiceStrengths | None:
    """Return the strengths of answers that only a fit of choices knows, for a figure; None for votes on pairs."""
    unused = {
        "swapped": None,
        "both_bad": None,
        "covariates": (),
        "judge": None,
        "powered_by": None,
        "only": (),
        "without": (),
    }
    answers = answers_of_choices(paths, reading, model, {**unused, **options})
    if answers is None:
        return None
    return answers.choices(side_bias=bool(options["side_bias"]), cluster=options["cluster"]).fit(prior=options["prior"])


def _has(records: Mapping[str, Records], path: str, name: str) -> bool:
    """Return whether a file has a column; if no file has it, every one is to say so."""
    return name in records[path].names or not any(name in file.names for file in records.values())


def fit_choices(
    answers: ChoiceAnswers, options: Mapping[str, Any], *, level: float, pairs: Sequence[tuple[str, str]],
    top: int | None, most_printed: int, out: str | None, as_json: bool,
) -> AnswersFit:  # fmt: skip
    """Fit answers, write what was fitted, and return it with the pairs of --better."""
    settings = {name: options[name] for name in ("elo", "prior", "cluster", "both_bad", "swapped")}
    judges = {name: options[name] for name in ("judge", "powered_by")}
    labels = {str(item): item for item in answers.items}
    check_labels("--better", chain.from_iterable(pairs), labels)
    named_pairs = [(labels[first], labels[second]) for first, second in pairs]
    result = fit_answers(
        answers, level=level, pairs=named_pairs, side_bias=bool(options["side_bias"]), **settings, **judges
    )
    rows = result.content["items"][:top]
    if as_json:
        console.print_json({**result.content, "items": rows})
        return result
    click.echo(_counts(result, options["both_bad"] or "tie"))
    click.echo(_parameters(result, options["cluster"]) + "\n")
    if out is None:
        _print_rows(rows[: most_printed if top is None else top], len(result.strengths.items))
    else:
        emit(items_csv(rows), out, f"{len(rows):,} items written to {out}")
    _print_judges(result, judges["judge"])
    return result


def _counts(result: AnswersFit, both_bad: str) -> str:
    """Return the counts of answers, in one line."""
    answers, merged = result.answers, result.fitted_answers
    parts = [counted(len(merged.items), "item"), f"{len(merged.rows):,} {NOUNS[answers.kind]}"]
    if (merged.weights != 1).any():
        parts.append(f"their weights {merged.weights.sum():,.12g} in all")
    power = result.strengths if isinstance(result.strengths, PredictionPoweredStrengths) else None
    if power is not None and power.judge is not None:
        parts.append(f"{power.judge.n_events:,.12g} of the judge with the weight {power.weight:.2f}")
    elif len(merged.rows) < len(answers.rows):
        parts.append(f"made of {len(answers.rows):,} by merging swapped pairs")
    if merged.n_both_bad:
        parts.append(f"{merged.n_both_bad:,} both bad ({'a tie' if both_bad == 'tie' else both_bad})")
    if answers.n_unanswered:
        parts.append(f"{answers.n_unanswered:,} without an answer")
    parts.append("voters not known" if answers.voters is None else counted(len(set(answers.voters)), "voter"))
    if answers.prompts is not None:
        parts.append(counted(len(set(answers.prompts)), "prompt"))
    return ", ".join(parts)


def _parameters(result: AnswersFit, cluster: str | None) -> str:
    """Return the parameters of the model, in lines."""
    fitted = result.strengths
    spread = f"prior sd {fitted.prior_sd:.3g}" if math.isfinite(fitted.prior_sd) else "no prior"
    errors = ", standard errors "
    if isinstance(fitted, PredictionPoweredStrengths):
        errors += f"clustered by prompt, {fitted.n_prompts:,} of which have votes of people and the judge"
    else:
        errors += "as if all answers were independent" if cluster is None else f"clustered by {_CLUSTERS[cluster]}"
    others = [
        f"{printable(_NAMES.get(name, name))} {value:+.4g} (standard error {error:.2g})"
        for name, (value, error) in fitted.others.items()
    ]
    return "\n".join([spread + errors, *others])


def _print_rows(rows: Sequence[Mapping[str, Any]], n_items: int) -> None:
    texts = {"rank": "g", "strength": ".3f", "standard_error": ".3f", "elo": ".0f", "rank_low": "d", "rank_high": "d"}
    texts |= dict.fromkeys(("wins", "ties", "losses"), ",.12g")
    names = [name for name in list(rows[0])[1:] if name != "presentations"]  # the sum of the next three
    cells = [[printable(str(row["item"])), *(f"{row[name]:{texts[name]}}" for name in names)] for row in rows]
    console.print_table(["item", *(name.replace("_", " ") for name in names)], cells)
    if n_items > len(rows):
        click.echo(f"... and {n_items - len(rows):,} more: --top N prints them, --out FILE writes them")


def _print_judges(result: AnswersFit, judge: Hashable) -> None:
    """Print the side bias of each voter, and how far a judge agrees with the others."""
    biases, agreement = result.side_biases, result.agreement
    usual = [bias for bias in biases if bias.n_pairs >= _LEAST_SWAPPED] or biases
    for bias in usual:
        click.echo(("" if bias.voter is None else f"{printable(str(bias.voter))}: ") + side_bias_text(bias))
    if len(usual) < len(biases):
        click.echo(f"{counted(len(biases) - len(usual), 'voter')} with fewer than {_LEAST_SWAPPED} such pairs")
    if agreement is None:
        return
    name, on_prompt = printable(str(judge)), " and prompt" if result.answers.prompts else ""
    rows = {
        f"with {name}": agreement.with_people,
        f"with {name}, both prefer an item": agreement.with_people_decided,
        "among the others": agreement.among_people,
        "among the others, both prefer an item": agreement.among_people_decided,
    }
    click.echo(f"\nEqual votes on the same pair{on_prompt}, with {100 * agreement.level:g} % intervals:")
    cells = [[label, *_shares(part), f"{part.n_questions:,}"] for label, part in rows.items() if part.n_questions]
    console.print_table(["votes", "share", "low", "high", "pairs"], cells)


def _shares(agreement: Agreement) -> list[str]:
    return [f"{share:.2f}" for share in (agreement.share, *agreement.interval)]
