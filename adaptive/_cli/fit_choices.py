"""The part of `ballots fit` for answers of any kind: grades, best-worst, rankings, and pairs with clusters."""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import fields
from typing import Any, Final

import click

from adaptive._cli import vote_files
from adaptive._cli.output import print_items, write_items
from adaptive._cli.vote_files import Reading
from adaptive._formats.records import Records
from adaptive.choices._answers import NOUNS, ChoiceAnswers, ChoiceOptions, joined_answers
from adaptive.choices._files import choice_records, kind_of_choices, read_choices
from adaptive.choices._fit import AnswersFit, fit_answers, named_voter
from adaptive.choices._judges import Agreement
from adaptive.choices._prediction import PredictionPoweredStrengths
from rankcorr import OptionError
from rankcorr._checks import counted
from rankcorr._cli import console
from rankcorr._io.source import printable

CHOICES_HELP: Final = """
    ballots fit also reads graded votes (left, right, grade), best-worst answers (items or item_1, ..., best, worst) and
    rankings (ranking, or rank_1, ..., or item and rank), with voter, prompt, weight and covariates.
"""
_CLUSTERS: Final = {"voter": "voter", "prompt": "prompt", "both": "voter and prompt"}
_LEAST_SWAPPED: Final = 10  # pairs of a voter from both sides: fewer say nothing about a side bias
_TEXTS: Final = {"rank": "{:g}", "elo": "{:.0f}", **dict.fromkeys(("wins", "ties", "losses"), "{:,.12g}")}
_NOT_PRINTED: Final = ("strength_low", "strength_high", "presentations")  # the last is the sum of wins, ties and losses
_NAMES: Final = {"tie": "logarithm of the tie parameter", "side": "side bias"}
_OF_CHOICES: Final = ("cluster", "powered_by", "swapped", "both_bad", "covariates", "judge")
_OF_PAIRS: Final = ("ties", "oversight", "voters", "alpha", "items", "instances", "report", "reliability")


_CHOICE_FIELDS: Final = tuple(field.name for field in fields(ChoiceOptions))


def choice_options(*left_out: str) -> Any:
    """Make the options of a fit to answers of any kind, as `ChoiceOptions` declares them, without some, as a dict."""
    metavars: dict[str, Any] = {name: {"metavar": "VOTER"} for name in ("judge", "powered_by")}
    of_fit = {
        name: console.declared_option(ChoiceOptions, name, **metavars.get(name, {}))
        for name in _CHOICE_FIELDS
        if name not in left_out
    }
    return console.options_of(
        dict,
        **of_fit,
        covariates=console.several_option(
            "--covariate",
            "NAME",
            "Fit the slope of a property of both sides, in columns left_NAME and right_NAME, as length; repeatable.",
        ),
        only=console.several_option("--only", "VOTER", "Use only the votes of this voter; may be repeated."),
        without=console.several_option("--without", "VOTER", "Leave out the votes of this voter; may be repeated."),
    )


def answers_of_choices(
    paths: Sequence[str], reading: Reading, model: str, options: Mapping[str, Any]
) -> ChoiceAnswers | None:
    """Return the answers of files whose kind or options only a fit of choices knows; None for votes on pairs.

    Raises
    ------
    OptionError
        Files of several kinds, a ledger, or an option that such a fit does not have.
    """
    names = [name for name in _OF_CHOICES if options.get(name) not in (None, ())]
    flags = [f"--{name.replace('_', '-').removesuffix('s')}" for name in names]
    flags += [f"--columns {role}=" for role in ("weight", "count") if role in (reading.columns or {})]
    if any(path == "-" or vote_files.is_ledger(path) for path in paths):
        if flags:
            raise OptionError(f"{flags[0]} needs files of votes; it cannot read a ledger or standard input")
        return None
    if not flags and (reading.format != "auto" or reading.instances is not None):
        return None
    vote_files.check_repeated_files(paths)
    records = {path: choice_records(path, reading.encoding) for path in paths}
    columns = {
        path: {role: name for role, name in (reading.columns or {}).items() if _has(records, path, name)}
        for path in paths
    }
    ignore = {path: [name for name in reading.ignore if _has(records, path, name)] for path in paths}
    kinds = {path: kind_of_choices(records[path], columns[path], ignore[path]) for path in paths}
    if not flags and set(kinds.values()) <= {"pairs"}:
        if "prompt" in (reading.columns or {}):
            raise OptionError("--columns names prompts, but no option reads them: add --cluster prompt")
        return None
    if len(set(kinds.values())) > 1:
        texts = ", ".join(f"{printable(path)}: {NOUNS[kind][1]}" for path, kind in kinds.items())
        raise OptionError(f"the files have answers of several kinds: {texts}; fit each kind separately")
    reason = flags[0] if flags else NOUNS[kinds[paths[0]]][1]
    if model != "bradley-terry":
        raise OptionError(f"--model {model} cannot be used with {reason}; use --model bradley-terry")
    # 0 is a value: it equals False, but is not False.
    all_options = {**options, "instances": reading.instances}
    if unusable := [name for name in _OF_PAIRS if all_options.get(name) is not None and all_options[name] is not False]:
        raise OptionError(f"--{unusable[0]} cannot be used with {reason}")
    settings = {"format": reading.format, "answers": reading.answers, "covariates": options.get("covariates", ())}
    answers = joined_answers(
        [read_choices(records[path], columns=columns[path], ignore=ignore[path], **settings) for path in paths],
        list(map(printable, paths)),
    )
    only, without = options.get("only", ()), options.get("without", ())
    vote_files.check_selection(only, without)
    for name, flag in (("judge", "--judge"), ("powered_by", "--powered-by")):
        if options.get(name) is not None and (only or options[name] in without):
            text = printable(options[name])
            raise OptionError(
                f"{flag} {text} compares this voter with all others: leave out --only, and --without {text}"
            )
    if only or without:
        answers = answers.of_voters([named_voter(answers, text) for text in only or without], others=bool(without))
    return answers


def _has(records: Mapping[str, Records], path: str, name: str) -> bool:
    """Return whether a file has a column; if no file has it, every one is to say so."""
    return name in records[path].names or not any(name in file.names for file in records.values())


def fit_of_choices(answers: ChoiceAnswers, options: Mapping[str, Any], **settings: Any) -> AnswersFit:
    """Fit answers with the options of a command."""
    known = ("prior", "side_bias", *_CHOICE_FIELDS)
    return fit_answers(answers, **{name: options[name] for name in known if options.get(name) is not None}, **settings)


def fit_choices(
    answers: ChoiceAnswers, options: Mapping[str, Any], *, level: float, pairs: Sequence[tuple[str, str]],
    top: int | None, most_printed: int, out: str | None, as_json: bool,
) -> AnswersFit:  # fmt: skip
    """Fit answers, write what was fitted, and return it with the pairs of --better."""
    result = fit_of_choices(answers, options, level=level, pairs=vote_files.named_pairs(pairs, answers.items))
    rows = result.content["items"][:top]
    if as_json:
        console.print_json({**result.content, "items": rows})
        return result
    click.echo(_counts(result, options["both_bad"] or "tie"))
    click.echo(_parameters(result, options["cluster"]) + "\n")
    if out is None:
        printed = [{name: value for name, value in row.items() if name not in _NOT_PRINTED} for row in rows]
        print_items(printed[: most_printed if top is None else top], len(result.strengths.items), _TEXTS)
    else:
        write_items(rows, out)
    _print_judges(result, options["judge"])
    return result


def _counts(result: AnswersFit, both_bad: str) -> str:
    """Return the counts of answers, in one line."""
    answers, merged = result.answers, result.fitted_answers
    parts = [counted(len(merged.items), "item"), counted(len(merged.rows), *NOUNS[answers.kind])]
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


def _print_judges(result: AnswersFit, judge: Hashable) -> None:
    """Print the side bias of each voter, and how far a judge agrees with the others."""
    biases, agreement = result.side_biases, result.agreement
    usual = [bias for bias in biases if bias.n_pairs >= _LEAST_SWAPPED] or biases
    for bias in usual:
        click.echo(("" if bias.voter is None else f"{printable(str(bias.voter))}: ") + vote_files.side_bias_text(bias))
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
