"""Compare answers to the same question: a pair asked from both sides, and a judge beside people."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any, Final, get_args

import numpy as np

from adaptive.choices._answers import ChoiceAnswers, Disagreement
from adaptive.choices._strengths import choice_content
from adaptive.errors import ModelError
from adaptive.model._voters import wilson_interval
from rankcorr._checks import check_choice, checked_level, shown
from rankcorr._results import JsonResult

_OPPOSITE: Final = {"left": "right", "right": "left"}


@dataclass(frozen=True, eq=False)
class SideBias(JsonResult):
    """How often a voter chose the same side of a pair that was asked from both sides.

    Attributes
    ----------
    voter : hashable
        None if the voters are not known.
    n_pairs : int
        Pairs that were asked from both sides.
    n_left, n_right : int
        Pairs in which the voter chose the left side both times, and those with the right side both times.
    bias : float
        (n_left - n_right) / n_pairs: above 0, the voter prefers the left side.
    interval : tuple of (float, float)
        Of Agresti and Min (Statistics in Medicine 24, 2005) for matched pairs.
    level : float

    See Also
    --------
    side_biases : Returns one for each voter.

    Examples
    --------
    >>> from adaptive import read_choices, side_biases
    >>> rows = [{"left": "a", "right": "b", "winner": "left"}, {"left": "b", "right": "a", "winner": "left"}]
    >>> (bias,) = side_biases(read_choices(rows))
    >>> bias.n_left, bias.n_right
    (1, 0)
    """

    voter: Hashable
    n_pairs: int
    n_left: int
    n_right: int
    bias: float
    interval: tuple[float, float]
    level: float


@dataclass(frozen=True, eq=False)
class JudgeAgreement(JsonResult):
    """How often a judge and people give the same answer to the same pair and prompt.

    Attributes
    ----------
    agreement : float
        Mean over the pairs and prompts that both answered of the share of equal answers.
    interval : tuple of (float, float)
        Wilson's interval with the effective number of independent answers; prompts are clusters.
    level : float
    n_questions : int
        Pairs, each with its prompt, that both answered.
    people_agreement : float
        The same among people, over the questions that several of them answered; nan if there are none.
    n_people_questions : int
        Pairs, each with its prompt, that several people answered.

    See Also
    --------
    judge_agreement : Returns it.

    Examples
    --------
    >>> from adaptive import judge_agreement, read_choices
    >>> rows = [{"left": "a", "right": "b", "winner": "left", "voter": voter} for voter in ("gpt", "Ann", "Bob")]
    >>> judge_agreement(read_choices(rows), "gpt").people_agreement
    1.0
    """

    agreement: float
    interval: tuple[float, float]
    level: float
    n_questions: int
    people_agreement: float
    n_people_questions: int


def side_bias_of(n_left: int, n_right: int, n_pairs: int, *, level: float = 0.9, voter: Hashable = None) -> SideBias:
    """Return the side bias with a normal interval; each cell of the table of both answers gets half a pair more.

    The interval therefore has a width even if counts are 0.

    Examples
    --------
    >>> bias = side_bias_of(6, 2, 20)
    >>> bias.bias, [round(end, 2) for end in bias.interval]
    (0.2, [-0.03, 0.4])
    """
    centre = (n_left - n_right) / (n_pairs + 2)
    z = NormalDist().inv_cdf((1 + level) / 2)
    half = z * math.sqrt(((n_left + n_right + 1) / (n_pairs + 2) - centre**2) / (n_pairs + 2))
    ends = max(-1.0, centre - half), min(1.0, centre + half)
    return SideBias(voter, n_pairs, n_left, n_right, (n_left - n_right) / n_pairs, ends, level)


def merge_swapped(answers: ChoiceAnswers, disagreement: Disagreement = "tie") -> ChoiceAnswers:
    """Merge the two answers of a voter to the same pair and prompt, asked from both sides, into one.

    Two answers for the same item become one for it, with the sides of the first. Two that disagree become a tie or are
    left out. If a pair was asked several times from a side, answers are matched in order; the rest stay as they are.

    Parameters
    ----------
    answers : ChoiceAnswers
        Votes on pairs.
    disagreement : {"tie", "left out"}

    Raises
    ------
    ModelError
        Answers of another kind, or two of different weight.
    OptionError
        An unknown disagreement.

    See Also
    --------
    side_biases : How often each voter chose the same side twice.

    Examples
    --------
    >>> from adaptive import merge_swapped, read_choices
    >>> rows = [{"left": "a", "right": "b", "winner": "left"}, {"left": "b", "right": "a", "winner": "left"}]
    >>> merge_swapped(read_choices(rows)).rows
    (('a', 'b', 'tie'),)
    """
    check_choice("disagreement", disagreement, get_args(Disagreement))
    partners = _partners(answers)
    rows, left_out = list(answers.rows), set(partners.values())
    for first, second in partners.items():
        if answers.weights[first] != answers.weights[second]:
            raise ModelError(
                f"answers {first} and {second} are one pair from both sides, but have the weights "
                f"{answers.weights[first]:g} and {answers.weights[second]:g}"
            )
        left, right, answer = rows[first]
        if _turned(rows[second][2]) != answer:
            rows[first] = (left, right, "tie")
            if disagreement == "left out":
                left_out.add(first)
    merged = replace(answers, rows=tuple(rows))
    return merged.select([place for place in range(len(rows)) if place not in left_out])


def side_biases(answers: ChoiceAnswers, *, level: float = 0.9) -> tuple[SideBias, ...]:
    """Return the side bias of each voter who answered pairs from both sides, in the order of first appearance.

    Parameters
    ----------
    answers : ChoiceAnswers
        Votes on pairs.
    level : float
        Of the intervals.

    Raises
    ------
    ModelError
        Answers of another kind, or a level that is not between 0 and 1.

    See Also
    --------
    merge_swapped : Make both answers one.

    Examples
    --------
    >>> from adaptive import read_choices, side_biases
    >>> rows = [{"left": "a", "right": "b", "winner": "left"}, {"left": "b", "right": "a", "winner": "left"}]
    >>> [(bias.n_pairs, bias.n_left, bias.bias) for bias in side_biases(read_choices(rows))]
    [(1, 1, 1.0)]
    """
    share = checked_level(level, error=ModelError)
    counts: dict[Hashable, list[int]] = {}
    for first, second in _partners(answers).items():
        voter = None if answers.voters is None else answers.voters[first]
        count = counts.setdefault(voter, [0, 0, 0])
        count[2] += 1
        if answers.rows[first][2] == answers.rows[second][2] in _OPPOSITE:
            count[answers.rows[first][2] == "right"] += 1
    return tuple(side_bias_of(*count, level=share, voter=voter) for voter, count in counts.items())


def judge_agreement(answers: ChoiceAnswers, judge: Hashable, *, level: float = 0.9) -> JudgeAgreement:
    """Return how often one voter, such as a program, agrees with the others on the same pair and prompt.

    Ties and "both bad" are the same answer. Merge swapped pairs first, so that a side bias does not count twice.

    Parameters
    ----------
    answers : ChoiceAnswers
        Votes on pairs, with voters.
    judge : hashable
        One of the voters; all others are people.
    level : float
        Of the interval.

    Raises
    ------
    ModelError
        Answers of another kind, without voters, or none that the judge and a person both gave; an unknown judge.

    See Also
    --------
    merge_swapped : Make two answers of one voter, from both sides, one answer.

    Examples
    --------
    >>> from adaptive import judge_agreement, read_choices
    >>> answers = [("left", "gpt", 1), ("left", "Ann", 1), ("right", "gpt", 2), ("left", "Ann", 2)]
    >>> rows = [dict(left="a", right="b", winner=winner, voter=voter, prompt=prompt)
    ...         for winner, voter, prompt in answers]
    >>> judge_agreement(read_choices(rows), "gpt").agreement
    0.5
    """
    share = checked_level(level, error=ModelError)
    _check_pairs(answers)
    answers.check_voter(judge)
    votes: dict[Any, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    voters = answers.voters or ()
    for (left, right, answer), voter, prompt in zip(answers.rows, voters, _prompts(answers), strict=True):
        low, high = sorted((left, right), key=str)
        value = {"left": 1, "right": -1}.get(answer, 0) * (1 if left == low else -1)
        votes[prompt, low, high][voter != judge].append(value)
    common = {key: sides for key, sides in votes.items() if all(sides)}
    if not common:
        raise ModelError(f"{shown(judge)} and the others have no pair and prompt in common")
    shares = np.array([np.mean(np.equal.outer(*sides)) for sides in common.values()])
    clusters: dict[Hashable, float] = defaultdict(float)
    mean = float(shares.mean())
    for (prompt, *pair), value in zip(common, shares.tolist(), strict=True):
        clusters[tuple(pair) if answers.prompts is None else prompt] += value - mean
    n_clusters, n = len(clusters), len(common)
    variance = sum(sum_**2 for sum_ in clusters.values()) / n**2 * n_clusters / max(1, n_clusters - 1)
    effective = mean * (1 - mean) / variance if variance > 0 else float(n_clusters)
    interval = wilson_interval(mean, min(effective, float(n)), NormalDist().inv_cdf((1 + share) / 2))
    among = [_equal_pairs(people) for _, people in votes.values() if len(people) > 1]
    return JudgeAgreement(mean, interval, share, n, float(np.mean(among)) if among else math.nan, len(among))


def fit_content(
    answers: ChoiceAnswers, *, level: float = 0.9, elo: bool = False, side_bias: bool = False,
    prior: float | None = None, cluster: Any = None, both_bad: Any = None, swapped: Any = None, judge: Any = None,
    pairs: Sequence[tuple[Hashable, Hashable]] = (),
) -> dict[str, Any]:  # fmt: skip
    """Return a fit of answers and all that is known of voters, as a command and an HTTP answer give it."""
    merged = merge_swapped(answers, swapped) if swapped else answers
    choices = merged.choices(side_bias=side_bias, cluster=cluster, both_bad=both_bad or "tie")
    fitted = choices.fit(prior=prior)
    content = choice_content(fitted, level=level, elo=elo)
    content["warnings"] = [*merged.warnings, *content["warnings"]]
    return {
        "kind": answers.kind,
        "n_answers": len(merged.rows),
        "n_unanswered": answers.n_unanswered,
        "n_both_bad": merged.n_both_bad,
        **content,
        "better": [fitted.better(first, second, level=level).to_dict() for first, second in pairs],
        "side_biases": [bias.to_dict() for bias in side_biases(answers, level=level)] if swapped else [],
        "agreement": None if judge is None else judge_agreement(merged, judge, level=level).to_dict(),
    }


def _equal_pairs(values: list[int]) -> float:
    """Share of equal values among all pairs of them."""
    n = len(values)
    same = sum(values.count(value) * (values.count(value) - 1) for value in set(values))
    return same / (n * (n - 1))


def _partners(answers: ChoiceAnswers) -> dict[int, int]:
    """Return the place of the answer to the exchanged pair, by the place of the first of the two."""
    _check_pairs(answers)
    waiting: dict[Any, list[int]] = defaultdict(list)
    partners: dict[int, int] = {}
    voters = [None] * len(answers.rows) if answers.voters is None else answers.voters
    for place, ((left, right, _), voter, prompt) in enumerate(
        zip(answers.rows, voters, _prompts(answers), strict=True)
    ):
        if exchanged := waiting[voter, prompt, right, left]:
            partners[exchanged.pop(0)] = place
        else:
            waiting[voter, prompt, left, right].append(place)
    return partners


def _prompts(answers: ChoiceAnswers) -> tuple[Hashable, ...]:
    return (None,) * len(answers.rows) if answers.prompts is None else answers.prompts


def _turned(answer: str) -> str:
    return _OPPOSITE.get(answer, answer)


def _check_pairs(answers: ChoiceAnswers) -> None:
    if not isinstance(answers, ChoiceAnswers) or answers.kind != "pairs":
        raise ModelError(f"votes on pairs are expected; got {shown(answers)}")
