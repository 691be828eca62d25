"""Prediction-powered inference: strengths from a few votes of people and many of a program."""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from adaptive._tables import check_decimals
from adaptive.choices._answers import ChoiceAnswers
from adaptive.choices._choices import Choices
from adaptive.choices._standard_errors import effective_clusters
from adaptive.choices._strengths import ChoiceStrengths
from adaptive.errors import ModelError
from adaptive.model._strengths import LEAST_CLUSTERS
from rankcorr._checks import first_few, shown

Array: TypeAlias = NDArray[Any]
_OUTCOME: Final = re.compile("tie|grade [0-9]+|tie of [0-9]+")  # parameters of outcomes, as opposed to effects


@dataclass(frozen=True, eq=False, repr=False)
class PredictionPoweredStrengths(ChoiceStrengths):
    """Strengths by the votes of people, made more precise by the votes of a judge.

    `theta`, `standard_errors` and `covariance` belong to the combined estimate. `others`, `log_likelihood` and
    `n_events` belong to the votes of people.

    Attributes
    ----------
    weight : float
        Weight of the judge, from 0 (people alone) to 1.
    human, judge : ChoiceStrengths
        The fit to the votes of people, and the fit to all votes of the judge.
    n_prompts : int
        Number of prompts with votes of people and of the judge.
    warnings : tuple of str
        The warnings of the fit to the votes of people. There are more if few prompts have votes of both, if the judge
        voted on no other prompts, or if both never compared the same items on the same prompt.

    See Also
    --------
    prediction_powered : Returns it.

    Examples
    --------
    >>> import numpy as np
    >>> from adaptive import Choices, prediction_powered
    >>> rng = np.random.default_rng(0)
    >>> left = rng.integers(0, 4, 1_000)
    >>> right = (left + rng.integers(1, 4, 1_000)) % 4
    >>> people = np.where(rng.logistic(size=1_000) < (right - left) / 2, 1, -1)    # the first item is the best
    >>> machine = np.where(rng.random(1_000) < 0.9, people, -people)
    >>> judge = Choices.from_grades(list("abcd"), left, right, machine)
    >>> human = Choices.from_grades(list("abcd"), left[:100], right[:100], people[:100])
    >>> strengths = prediction_powered(human, judge, range(100), range(1_000))
    >>> strengths.n_prompts, round(strengths.weight, 2)
    (100, 0.82)
    >>> strengths.human.standard_errors[0] > 1.3 * strengths.standard_errors[0]
    np.True_
    """

    weight: float = math.nan
    human: ChoiceStrengths | None = None
    judge: ChoiceStrengths | None = None
    n_prompts: int = 0

    def __repr__(self) -> str:
        n_judge = 0.0 if self.judge is None else self.judge.n_events
        return (
            f"<PredictionPoweredStrengths of {self.n_events:g} choices of people and {n_judge:g} of a judge with "
            f"weight {self.weight:.2f}: {self.ranking!r}>"
        )


def prediction_powered(
    human: Choices | ChoiceAnswers,
    judge: Choices | ChoiceAnswers,
    human_prompts: Sequence[Hashable] | None = None,
    judge_prompts: Sequence[Hashable] | None = None,
    *,
    prior: float = math.inf,
) -> PredictionPoweredStrengths:
    """Estimate strengths by the votes of people, from some of their votes and many of a judge.

    The estimate is theta_human + weight * (theta_judge(all) - theta_judge(labelled)), where the labelled votes of the
    judge are those on prompts with votes of people. The term in parentheses has mean 0 whatever the judge's bias, so a
    bad judge adds no bias and only gets a small weight. Prompts on which people gave no answer, or "both bad" that is
    left out, are labelled too: the prompts with an answer would not be a random sample. The weight minimizes the sum of
    the variances of the strengths, as in PPI++, and is limited to the range from 0 to 1. But PPI++ combines
    likelihoods; combining the strengths is the method of Chen and Chen. The covariance is that of the influences on
    the strengths, summed by prompt, times P / (P - 1) for P prompts of people.

    Prompts must come from one population, and those with votes of people must be a random sample of them. Intervals
    follow Student's t distribution; its degrees of freedom are the effective number of prompts of people minus 1.
    docs/results/accuracy.md gives the coverage of the intervals.

    Parameters
    ----------
    human, judge : Choices, or ChoiceAnswers with votes on pairs or grades
        Votes on the same items. If the judge voted on pairs from both sides, do not merge these votes.
    human_prompts, judge_prompts : sequence of hashable
        The prompt of each event in `Choices.events`, which is one vote on a pair. Omit them for ChoiceAnswers, which
        hold their prompts.
    prior : float
        As in `Choices.fit`. A finite prior shrinks strengths from few votes more than others. The estimate does not
        correct for that; standard errors allow for it, as in a fit with clusters.

    Returns
    -------
    PredictionPoweredStrengths

    Raises
    ------
    ModelError
        The items differ, there is not one prompt for each event, fewer than two prompts have votes of both, or one of
        the three fits has no finite estimate.

    See Also
    --------
    Choices.fit : Fit the votes of people alone.

    References
    ----------
    A. N. Angelopoulos, J. C. Duchi and T. Zrnic, PPI++: Efficient Prediction-Powered Inference, arXiv:2311.01453
    (2023).

    Y.-H. Chen and H. Chen, A Unified Approach to Regression Analysis under Double-Sampling Designs, Journal of the
    Royal Statistical Society B 62 (2000).

    D. M. Kluger, K. Lu, T. Zrnic, S. Wang and S. Bates, Prediction-Powered Inference with Imputed Covariates and
    Nonuniform Sampling, arXiv:2501.18577 (2025).

    I. Chatzi, E. Straitouri, S. Thejaswi and M. Gomez Rodriguez, Prediction-Powered Ranking of Large Language Models,
    arXiv:2402.17826 (2024).

    Examples
    --------
    >>> import numpy as np
    >>> from adaptive import Choices, prediction_powered
    >>> rng = np.random.default_rng(0)
    >>> left = rng.integers(0, 4, 1_000)
    >>> right = (left + rng.integers(1, 4, 1_000)) % 4
    >>> people = np.where(rng.logistic(size=1_000) < (right - left) / 2, 1, -1)    # the first item is the best
    >>> machine = np.where(rng.random(1_000) < 0.9, people, -people)
    >>> judge = Choices.from_grades(list("abcd"), left, right, machine)
    >>> human = Choices.from_grades(list("abcd"), left[:100], right[:100], people[:100])
    >>> strengths = prediction_powered(human, judge, range(100), range(1_000))
    >>> strengths.better("a", "d").probability > 0.99
    True

    From one file of people and a judge:

    >>> from adaptive import read_choices
    >>> from rankcorr.datasets import load_battles
    >>> answers = read_choices(load_battles()["battles"])
    >>> people, program = answers.of_voters(["program"], others=True), answers.of_voters(["program"])
    >>> prediction_powered(people, program).n_prompts
    150
    """
    if isinstance(human, ChoiceAnswers) and isinstance(judge, ChoiceAnswers) and _types(human) != _types(judge):
        human, judge = human.with_text_labels(), judge.with_text_labels()  # a number in JSON is a text in CSV
    if isinstance(human, ChoiceAnswers) and isinstance(judge, ChoiceAnswers):
        check_decimals((*human.items, *judge.items), "item", ModelError)
        check_decimals((*(human.prompts or ()), *(judge.prompts or ())), "prompt", ModelError)
    is_named = isinstance(judge, ChoiceAnswers) and len(set(judge.voters or ())) == 1
    judge_name = f"the judge {shown(judge.voters[0])}" if is_named else "the judge"  # type: ignore[union-attr, index]
    # Prompts on which people saw a pair but gave no preference belong to the random sample, too.
    seen_prompts = human.seen_prompts if isinstance(human, ChoiceAnswers) and human_prompts is None else set()
    human, human_prompts = _choices_of(human, human_prompts, "human")
    judge, judge_prompts = _choices_of(judge, judge_prompts, "judge")
    lacking = {
        "people lack": set(judge.items) - set(human.items),
        "the judge lacks": set(human.items) - set(judge.items),
    }
    if texts := [f"{who} {first_few(sorted(map(shown, items)))}" for who, items in lacking.items() if items]:
        raise ModelError(f"people and the judge must have the same items; {', '.join(texts)}")
    judge = judge.with_items(human.items)
    of_human, of_judge, of_seen = _codes(human, human_prompts, judge, judge_prompts, seen_prompts)
    # Votes of weight 0 do not make a prompt labelled.
    shared = np.intersect1d(of_human[human.events.count > 0], of_judge[judge.events.count > 0])
    if shared.size < 2:
        examples = f"; people have such as {shown(human_prompts[0])}, and the judge {shown(judge_prompts[0])}"
        raise ModelError(f"people and the judge must have two prompts in common; they have {shared.size}{examples}")
    is_labelled = np.isin(of_judge, np.union1d(shared, of_seen))
    judge, is_kept = judge.without_outcomes(_absent_outcomes(judge.of_events(is_labelled)))
    of_judge, is_labelled = of_judge[is_kept], is_labelled[is_kept]
    parts = {
        "the votes of people": (human, of_human),
        f"the votes of {judge_name}": (judge, of_judge),
        f"the votes of {judge_name} on prompts of people": (judge.of_events(is_labelled), of_judge[is_labelled]),
    }
    fits = []
    for role, (part, codes) in parts.items():
        try:
            fits.append((part, codes, part.fit(prior=prior)))
        except ModelError as error:
            raise ModelError(f"{role}: {error}") from error
    n_codes = int(max(of_human.max(), of_judge.max())) + 1
    of_people, of_all, of_labelled = (_influences(*fit, prior, n_codes) for fit in fits)
    difference = of_all - of_labelled
    spread = float((difference * difference).sum())
    weight = 0.0 if spread <= 0 else min(1.0, max(0.0, -float((of_people * difference).sum()) / spread))
    influences = of_people + weight * difference
    n_human = np.unique(of_human[human.events.count > 0]).size  # usually the fewest prompts, which limit the precision
    covariance = n_human / max(1, n_human - 1) * influences.T @ influences
    (_, _, people), (_, _, machine), (_, _, labelled) = fits
    if prior < math.inf:  # the variance of the prior where votes of people are few, as in a fit with clusters
        _, inverse = human.scores_at(people, prior)
        rows = inverse[: len(human.items), : len(human.items)]
        rows = rows - rows.mean(axis=0)
        covariance += rows @ rows.T / prior**2
    return PredictionPoweredStrengths(
        items=human.items,
        theta=people.theta + weight * (machine.theta - labelled.theta),
        standard_errors=np.sqrt(np.diagonal(covariance)),
        covariance=covariance,
        others=people.others,
        log_likelihood=people.log_likelihood,
        prior_sd=people.prior_sd,
        n_events=people.n_events,
        warnings=(
            *(f"the votes of people: {warning}" for warning in people.warnings),
            *_limits(human, of_human, judge, of_judge, is_labelled, shared),
        ),
        basis=f"{human.basis} and {judge.basis}",
        degrees_of_freedom=max(1.0, effective_clusters(human.events.count, of_human) - 1.0),
        weight=weight,
        human=people,
        judge=machine,
        n_prompts=int(shared.size),
    )


def _choices_of(
    votes: Choices | ChoiceAnswers, prompts: Sequence[Hashable] | None, role: str
) -> tuple[Choices, Sequence[Hashable]]:
    """Return votes as choices, with the prompt of each."""
    has_voters = False
    if isinstance(votes, ChoiceAnswers):
        if votes.kind not in ("pairs", "grades"):
            raise ModelError(f"{role} must have votes on pairs or grades; got {votes!r}")
        if not votes.rows:
            raise ModelError(f"there are no votes of {'people' if role == 'human' else 'the judge'}")
        prompts = votes.prompts if prompts is None else prompts
        has_voters, votes = votes.voters is not None, votes.choices()
    if not isinstance(votes, Choices):
        raise ModelError(f"{role} must be Choices or ChoiceAnswers; got {shown(votes)}")
    if prompts is None:
        raise ModelError(
            f"the prompts are unknown: answers need a column prompt (in Python, choices need {role}_prompts)"
        )
    if not has_voters:
        votes = replace(votes, basis=f"{votes.basis} of {'people' if role == 'human' else 'the judge'}")
    return votes, prompts


def _types(answers: ChoiceAnswers) -> tuple[set[type], set[type]]:
    return set(map(type, answers.items)), set(map(type, answers.prompts or ()))


def _absent_outcomes(labelled: Choices) -> list[str]:
    """Return the parameters of outcomes, such as ties, that never occur in labelled votes: they have no estimate."""
    events = labelled.events
    choices = events.design[events.choice[events.count > 0]][:, len(labelled.items) :]
    n_times = np.asarray(abs(choices).sum(axis=0)).ravel()
    return [
        name
        for name, number in zip(labelled.names, n_times.tolist(), strict=True)
        if number == 0 and _OUTCOME.fullmatch(name)
    ]


def _limits(
    human: Choices, of_human: Array, judge: Choices, of_judge: Array, is_labelled: Array, shared: Array
) -> Iterator[str]:
    """Yield warnings: few prompts, none of the judge alone, or prompts that do not match."""
    if is_labelled[judge.events.count > 0].all():
        yield "people voted on all prompts of the judge, which therefore adds nothing: it needs votes on more prompts"
    if shared.size < LEAST_CLUSTERS:
        yield (
            f"only {shared.size} prompts have votes of people and of the judge: with fewer than {LEAST_CLUSTERS}, "
            "intervals may be too narrow"
        )
    if not _comparisons(human, of_human, shared) & _comparisons(judge, of_judge, shared):
        yield "people and the judge compare different items on every prompt: check that their prompts are the same"


def _comparisons(choices: Choices, codes: Array, shared: Array) -> set[tuple[int, frozenset[int]]]:
    """Return the prompt and items of each event on a prompt that people and the judge have in common."""
    events, n_items = choices.events, len(choices.items)
    places = np.flatnonzero(np.isin(codes, shared) & (events.count > 0))
    starts, columns = events.design.indptr, events.design.indices
    comparisons = set()
    for place in places.tolist():
        first, last = events.outcome_starts[place], events.outcome_starts[place + 1]
        terms = columns[starts[first] : starts[last]]
        comparisons.add((int(codes[place]), frozenset(terms[terms < n_items].tolist())))
    return comparisons


def _codes(
    human: Choices,
    human_prompts: Sequence[Hashable],
    judge: Choices,
    judge_prompts: Sequence[Hashable],
    seen_prompts: set[Hashable],
) -> tuple[Array, Array, Array]:
    """Number the prompts; return the number of each human and each judge event, and of the prompts that people saw."""
    numbers: dict[Hashable, int] = {}
    codes = []
    for role, choices, prompts in (("human", human, human_prompts), ("judge", judge, judge_prompts)):
        if isinstance(prompts, str) or not hasattr(prompts, "__len__") or len(prompts) != choices.events.choice.size:
            raise ModelError(f"{role}_prompts must be {choices.events.choice.size:,} names, one for each vote")
        if not all(isinstance(name, Hashable) for name in prompts):
            raise ModelError(f"{role}_prompts must be text, numbers or other hashable names")
        codes.append(np.array([numbers.setdefault(name, len(numbers)) for name in prompts], np.int64))
    return codes[0], codes[1], np.array([numbers[name] for name in seen_prompts if name in numbers], np.int64)


def _influences(choices: Choices, codes: Array, fit: ChoiceStrengths, prior: float, n_codes: int) -> Array:
    """Return the first-order influence of each prompt on the centred strengths, shape (n_codes, n_items)."""
    scores, inverse = choices.scores_at(fit, prior)
    sums = np.zeros((n_codes, scores.shape[1]))
    np.add.at(sums, codes, scores)
    moves = (sums @ inverse)[:, : len(choices.items)]
    centred: Array = moves - moves.mean(axis=1, keepdims=True)
    return centred
