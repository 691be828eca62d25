"""Fit answers of any kind and describe their judges, for a command and an HTTP response."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from adaptive._tables import JudgePower
from adaptive.choices._answers import ChoiceAnswers
from adaptive.choices._judges import JudgeAgreement, SideBias, judge_agreement, merge_swapped, side_biases
from adaptive.choices._prediction import PredictionPoweredStrengths, prediction_powered
from adaptive.choices._strengths import ChoiceStrengths, choice_content
from adaptive.model._accuracy import Better
from rankcorr._checks import collected_notices, counted, first_few, shown
from rankcorr.errors import OptionError

_BESIDE_A_JUDGE: Final = {
    "swapped": "both votes on a pair from both sides count",
    "cluster": "intervals are always clustered by prompt",
    "side_bias": "the votes of people correct any bias of the judge",
}


@dataclass(frozen=True, eq=False)
class AnswersFit:
    """Strengths fitted to answers, and the agreement and side biases of their voters.

    Attributes
    ----------
    answers, fitted_answers : ChoiceAnswers
        All answers, and those of the fit: merged if asked for, and without the votes of the `powered_by` judge.
    strengths : ChoiceStrengths
    better : tuple of Better
    side_biases : tuple of SideBias
    agreement : JudgeAgreement or None
    warnings : tuple of str
        Warnings about the answers and the fit.
    content : dict
        All results, ready for JSON.
    """

    answers: ChoiceAnswers
    fitted_answers: ChoiceAnswers
    strengths: ChoiceStrengths
    better: tuple[Better, ...]
    side_biases: tuple[SideBias, ...]
    agreement: JudgeAgreement | None
    warnings: tuple[str, ...]
    content: dict[str, Any]


def fit_answers(
    answers: ChoiceAnswers, *, level: float = 0.9, elo: bool = False, side_bias: bool = False,
    prior: float | None = None, cluster: Any = None, both_bad: Any = None, swapped: Any = None, judge: Any = None,
    powered_by: Any = None, pairs: Sequence[tuple[Hashable, Hashable]] = (),
) -> AnswersFit:  # fmt: skip
    """Fit answers of any kind.

    Raises
    ------
    OptionError
        An option that cannot be combined with `powered_by`.
    ModelError
        The errors of `ChoiceAnswers.choices`, `Choices.fit`, `merge_swapped`, `judge_agreement` and
        `prediction_powered`.

    Examples
    --------
    >>> from adaptive import read_choices
    >>> rows = [{"left": "a", "right": "b", "winner": winner, "voter": "Ann"} for winner in ("left", "left", "right")]
    >>> fit_answers(read_choices(rows), prior=1, pairs=[("a", "b")]).better[0].probability > 0.5
    True
    """
    judge, powered_by = named_voter(answers, judge), named_voter(answers, powered_by)
    merged = merge_swapped(answers, swapped) if swapped else answers
    both_bad = both_bad or "tie"
    with collected_notices() as notices:
        if powered_by is None:
            choices = merged.choices(side_bias=side_bias, cluster=cluster, both_bad=both_bad)
            strengths = choices.fit(prior=prior)
        else:
            unusable_options = {"swapped": swapped, "cluster": cluster, "side_bias": side_bias}
            if unusable := [name for name, value in unusable_options.items() if value]:
                raise OptionError(f"{unusable[0]}= cannot be used with powered_by= ({_BESIDE_A_JUDGE[unusable[0]]})")
            merged, program = (answers.of_voters([powered_by], others=is_other) for is_other in (True, False))
            people, program = (
                part.without_both_bad() if both_bad == "left out" else part for part in (merged, program)
            )
            strengths = prediction_powered(people, program, prior=math.inf if prior is None else prior)
    counts = merged.counts(both_bad) if merged.kind == "pairs" else None
    biases = side_biases(answers, level=level) if swapped or judge is not None else ()
    agreement = None if judge is None else judge_agreement(answers, judge, level=level)
    better = tuple(strengths.better(first, second, level=level) for first, second in pairs)
    content = choice_content(strengths, level=level, elo=elo, counts=counts)
    notes = (
        *notices,
        *(note for name in dict.fromkeys((judge, powered_by)) for note in _people_notes(answers, name)),
        *merged.warnings,
        *_merging_notes(answers, swapped, merged),
        *_turn_notes(answers, judge),
    )
    warnings = tuple(dict.fromkeys((*notes, *strengths.warnings)))
    content = {
        "kind": answers.kind,
        "n_answers": len(merged.rows),
        "n_unanswered": answers.n_unanswered,
        "n_both_bad": merged.n_both_bad,
        **content,
        "warnings": list(warnings),
        "better": [pair.to_dict() for pair in better],
        "side_biases": [bias.to_dict() for bias in biases],
        "agreement": None if agreement is None else agreement.to_dict(),
        "prediction_powered": None
        if not isinstance(strengths, PredictionPoweredStrengths)
        else vars(JudgePower(powered_by, strengths.weight, strengths.n_prompts)),
    }
    return AnswersFit(answers, merged, strengths, better, biases, agreement, warnings, content)


def named_voter(answers: ChoiceAnswers, name: Hashable) -> Hashable:
    """Return the voter whom an option names; an option is text, but voters from JSON may be numbers."""
    return next((voter for voter in answers.voters or () if str(voter) == str(name)), name)


def _people_notes(answers: ChoiceAnswers, judge: Hashable) -> tuple[str, ...]:
    """Return a note that lists the voters who count as people, those with most answers first: they may be programs."""
    numbers = Counter(voter for voter in answers.voters or () if voter != judge)
    if judge is None or not numbers:
        return ()
    names = first_few([shown(voter) for voter, _ in numbers.most_common()])
    return (
        f"{counted(len(numbers), 'voter')} other than {shown(judge)} {'counts' if len(numbers) == 1 else 'count'} as "
        f"people: {names}; leave out programs among them",
    )


def _turn_notes(answers: ChoiceAnswers, judge: Hashable) -> tuple[str, ...]:
    """Return a note if the judge and the people answered about different turns of the same prompts."""
    if judge is None or answers.kind != "pairs" or answers.turns is None:
        return ()
    sides: tuple[set[Any], set[Any]] = (set(), set())
    for row, voter, prompt, turn in zip(
        answers.rows, answers.voters or (), answers.prompts or (), answers.turns, strict=False
    ):
        sides[voter == judge].add((prompt, frozenset(row[:2]), turn))
    turnless = [{question[:2] for question in side} for side in sides]
    n_apart = len(turnless[0] & turnless[1]) - len({question[:2] for question in sides[0] & sides[1]})
    if not n_apart:
        return ()
    return (
        f"on {n_apart:,} pairs of a prompt, {shown(judge)} and the others answered about different turns; if the "
        "column turn is the number of turns, leave it out by ignore",
    )


def _merging_notes(answers: ChoiceAnswers, swapped: Any, merged: ChoiceAnswers) -> tuple[str, ...]:
    """Return notes on a fit to merged answers."""
    if not swapped or len(merged.rows) == len(answers.rows):
        return ()
    notes = [
        "each merged answer combines two votes, so strengths and slopes can be twice as large as those from single "
        "votes; to compare them with other fits, fit a side bias instead"
    ]
    if answers.prompts is None:
        notes.insert(
            0,
            "prompts are unknown: two votes of a voter on a pair from both sides are merged even on different prompts",
        )
    return tuple(notes)
