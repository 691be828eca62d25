"""Compare answers to the same question: of one voter to a pair shown from both sides, and of a judge and people."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any, Final, TypeAlias, get_args

from adaptive.choices._answers import NOUNS, ChoiceAnswers, Disagreement
from adaptive.errors import ModelError
from adaptive.model._voters import wilson_interval
from rankcorr._checks import check_choice, checked_level, shown
from rankcorr._output.results import Result

Votes: TypeAlias = Counter[tuple[Hashable, int]]  # total weight of the votes on a question, by voter and winner
_OPPOSITE: Final = {"left": "right", "right": "left"}


@dataclass(frozen=True, eq=False)
class SideBias(Result):
    """How often a voter chose the same side of a pair that was asked from both sides.

    Attributes
    ----------
    voter : hashable
        None if the voters are unknown.
    n_pairs : int
        Number of pairs that were asked from both sides.
    n_left, n_right : int
        Number of pairs in which the voter chose the left side both times, or the right side both times.
    bias : float
        (n_left - n_right) / n_pairs; positive if the voter prefers the left side.
    interval : tuple of (float, float)
        Interval of the bias for matched pairs, by Agresti and Min (Statistics in Medicine 24, 2005). At level 0.9 it
        contains the bias with a mean probability of .90 over all biases, but of only .75 in the worst case for 5 pairs,
        .77 for 10, .81 for 20 and .85 for 50.
    level : float
        Confidence level of the interval.

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
class Agreement(Result):
    """How often two votes on the same pair and prompt are equal.

    Attributes
    ----------
    share : float
        Share of equal votes, averaged over questions; nan if there is no question.
    interval : tuple of (float, float)
        Wilson's interval with the effective number of independent questions, where prompts are clusters; (0, 1) if
        there is no question.
    n_questions : int
        Number of questions (a pair with its prompt) that have two such votes.

    See Also
    --------
    judge_agreement : Returns four of them.

    Examples
    --------
    >>> from adaptive import judge_agreement, read_choices
    >>> rows = [{"left": "a", "right": "b", "winner": "left", "voter": voter} for voter in ("gpt", "Ann", "Bob")]
    >>> judge_agreement(read_choices(rows), "gpt").with_people.n_questions
    1
    """

    share: float
    interval: tuple[float, float]
    n_questions: int


@dataclass(frozen=True, eq=False)
class JudgeAgreement(Result):
    """Agreement of a judge with people, and of people with each other, on the same pairs and prompts.

    Attributes
    ----------
    with_people : Agreement
        Agreement of a vote of the judge with a vote of a person.
    among_people : Agreement
        Agreement of votes of two people.
    with_people_decided, among_people_decided : Agreement
        The same, for votes that both prefer an item. Voters who tie often agree less, even if they prefer the same
        items.
    level : float
        Confidence level of the intervals.

    See Also
    --------
    judge_agreement : Returns it.

    Examples
    --------
    >>> from adaptive import judge_agreement, read_choices
    >>> rows = [{"left": "a", "right": "b", "winner": "left", "voter": voter} for voter in ("gpt", "Ann", "Bob")]
    >>> judge_agreement(read_choices(rows), "gpt").among_people.share
    1.0
    """

    with_people: Agreement
    among_people: Agreement
    with_people_decided: Agreement
    among_people_decided: Agreement
    level: float


def side_bias_of(n_left: int, n_right: int, n_pairs: int, *, level: float = 0.9, voter: Hashable = None) -> SideBias:
    """Return the side bias with a normal interval.

    Half a pair is added to each of the four cells of the table of both answers, so that the interval has a width even
    if counts are 0.

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
    """Merge the two answers of a voter to the same pair and prompt, shown from both sides, into one.

    Two answers for the same item become one answer for it, with the sides of the first. Two that disagree become a tie
    or are left out. If a voter answered a pair several times from one side, answers are matched in order; unmatched
    answers stay as they are.

    Parameters
    ----------
    answers : ChoiceAnswers
        Votes on pairs.
    disagreement : {"tie", "left out"}

    Raises
    ------
    ModelError
        The answers are not votes on pairs, or two matched answers have different weights.
    OptionError
        `disagreement` is unknown.

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
        if _OPPOSITE.get(rows[second][2], rows[second][2]) != answer:
            rows[first] = (left, right, "tie")
            if disagreement == "left out":
                left_out.add(first)
    merged = replace(answers, rows=tuple(rows))
    return merged.select([place for place in range(len(rows)) if place not in left_out])


def side_biases(answers: ChoiceAnswers, *, level: float = 0.9) -> tuple[SideBias, ...]:
    """Return the side bias of each voter who answered pairs from both sides, in order of first appearance.

    Each answer counts once, whatever its weight.

    Parameters
    ----------
    answers : ChoiceAnswers
        Votes on pairs.
    level : float
        Confidence level of the intervals.

    Raises
    ------
    ModelError
        The answers are not votes on pairs, or the level is not between 0 and 1.

    See Also
    --------
    merge_swapped : Merge both answers into one.

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

    Ties and "both bad" are the same answer. Within a question, votes count with their weights, including both votes on
    a pair shown from both sides; all questions have equal weight. Do not call `merge_swapped` first: two votes that
    disagree would become a tie, and people seldom tie.

    Parameters
    ----------
    answers : ChoiceAnswers
        Votes on pairs, with voters.
    judge : hashable
        One of the voters; all others count as people.
    level : float
        Confidence level of the intervals.

    Raises
    ------
    ModelError
        The answers are not votes on pairs, or have no voters; the judge is unknown, or has no pair and prompt in common
        with the others.

    See Also
    --------
    side_biases : How often each voter chose the same side twice.

    Examples
    --------
    >>> from adaptive import judge_agreement, read_choices
    >>> answers = [("left", "gpt", 1), ("left", "Ann", 1), ("right", "gpt", 2), ("left", "Ann", 2)]
    >>> rows = [dict(left="a", right="b", winner=winner, voter=voter, prompt=prompt)
    ...         for winner, voter, prompt in answers]
    >>> judge_agreement(read_choices(rows), "gpt").with_people.share
    0.5
    """
    checked = checked_level(level, error=ModelError)
    _check_pairs(answers)
    answers.check_voter(judge)
    if set(answers.voters or ()) == {judge}:
        raise ModelError(f"{shown(judge)} is the only voter: the agreement with others needs votes of others")
    questions: dict[Any, Votes] = defaultdict(Counter)
    for (left, right, answer), voter, question, weight in zip(
        answers.rows, answers.voters or (), answers.questions, answers.weights.tolist(), strict=True
    ):
        low, high = sorted((left, right), key=str)
        value = {"left": 1, "right": -1}.get(answer, 0) * (1 if left == low else -1)
        questions[question, low, high][voter, value] += weight
    decided = {
        question: Counter({vote: weight for vote, weight in votes.items() if vote[1]})
        for question, votes in questions.items()
    }
    has_prompts = answers.prompts is not None

    def of(shares: dict[Any, float]) -> Agreement:
        return _agreement({key: share for key, share in shares.items() if not math.isnan(share)}, checked, has_prompts)

    with_people, with_people_decided = (
        of({key: _equal_to_judge(votes, judge) for key, votes in part.items()}) for part in (questions, decided)
    )
    if not with_people.n_questions:
        raise ModelError(
            f"{shown(judge)} and the others have no pair and prompt in common{_examples(questions, judge)}"
        )
    among_people, among_people_decided = (
        of({key: _equal_among_people(votes, judge) for key, votes in part.items()}) for part in (questions, decided)
    )
    return JudgeAgreement(with_people, among_people, with_people_decided, among_people_decided, checked)


def _examples(questions: dict[Any, Votes], judge: Hashable) -> str:
    """Return the first question of a judge, and the first of the others, for an error message."""
    texts = []
    for verb, is_judge in ((f"{shown(judge)} has", True), ("the others have", False)):
        keys = [key for key, votes in questions.items() if any((voter == judge) == is_judge for voter, _ in votes)]
        for question, low, high in keys[:1]:
            nouns = zip(("prompt", "turn"), question or (), strict=False)
            texts.append(
                "; " + ", ".join([f"{verb} {low} and {high}", *(f"{noun} {shown(name)}" for noun, name in nouns)])
            )
    return "".join(texts)


def _agreement(shares: dict[Any, float], level: float, has_prompts: bool) -> Agreement:
    """Return the mean over questions of the share of equal votes, with its interval."""
    n = len(shares)
    if not n:
        return Agreement(math.nan, (0.0, 1.0), 0)
    mean = math.fsum(shares.values()) / n
    clusters: dict[Hashable, float] = defaultdict(float)
    for (question, *pair), share in shares.items():
        clusters[question[0] if has_prompts else tuple(pair)] += share - mean
    n_clusters = len(clusters)
    variance = sum(sum_**2 for sum_ in clusters.values()) / n**2 * n_clusters / max(1, n_clusters - 1)
    effective = mean * (1 - mean) / variance if variance > 0 else float(n_clusters)
    return Agreement(mean, wilson_interval(mean, min(effective, float(n)), NormalDist().inv_cdf((1 + level) / 2)), n)


def _equal_to_judge(votes: Votes, judge: Hashable) -> float:
    """Return the share of equal votes among all pairs of a judge's vote and a person's vote; nan without any."""
    of_judge: Counter[int] = Counter()
    of_people: Counter[int] = Counter()
    for (voter, value), weight in votes.items():
        (of_judge if voter == judge else of_people)[value] += weight
    equal = math.fsum(weight * of_people[value] for value, weight in of_judge.items())
    return _share(equal, of_judge.total() * of_people.total())


def _equal_among_people(votes: Votes, judge: Hashable) -> float:
    """Return the share of equal votes among all pairs of votes of different people; nan without any."""
    of_voters: Counter[Hashable] = Counter()
    of_values: dict[int, list[float]] = defaultdict(list)
    for (voter, value), weight in votes.items():
        if voter != judge:
            of_voters[voter] += weight
            of_values[value].append(weight)
    return _share(math.fsum(map(_sum_of_products, of_values.values())), _sum_of_products(of_voters.values()))


def _sum_of_products(weights: Iterable[float]) -> float:
    """Return the sum of w_i w_j over all pairs i < j."""
    total = total_weight = 0.0
    for weight in weights:
        total += weight * total_weight
        total_weight += weight
    return total


def _share(part: float, total: float) -> float:
    return min(1.0, part / total) if total > 0 else math.nan


def _partners(answers: ChoiceAnswers) -> dict[int, int]:
    """Match answers to the same pair from both sides; return the index of the second by the index of the first."""
    _check_pairs(answers)
    waiting: dict[Any, list[int]] = defaultdict(list)
    partners: dict[int, int] = {}
    voters = [None] * len(answers.rows) if answers.voters is None else answers.voters
    for place, ((left, right, _), voter, prompt) in enumerate(
        zip(answers.rows, voters, answers.questions, strict=True)
    ):
        if exchanged := waiting[voter, prompt, right, left]:
            partners[exchanged.pop(0)] = place
        else:
            waiting[voter, prompt, left, right].append(place)
    return partners


def _check_pairs(answers: ChoiceAnswers) -> None:
    if not isinstance(answers, ChoiceAnswers) or answers.kind != "pairs":
        noun = NOUNS[answers.kind][1] if isinstance(answers, ChoiceAnswers) else shown(answers)
        raise ModelError(f"answers must be votes on pairs; got {noun}")
