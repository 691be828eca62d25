"""Rules that decide whether there are enough votes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, overload

import numpy as np

from adaptive.errors import ModelError
from adaptive.model._accuracy import N_SAMPLES, ExpectedCorrelation
from adaptive.model._drawn_strengths import DrawnStrengths
from adaptive.model._strengths import Strengths
from rankcorr import TauW
from rankcorr import _checks as checks
from rankcorr._coefficients import Coefficient, CoefficientLike, as_coefficient
from rankcorr._output.results import Result

SHORT: Final = 0.05  # a coefficient that is lower than the target by more than this is too low
RISK: Final = 0.05  # largest share of drawn rankings that may be too low when a rule stops


@dataclass(frozen=True, eq=False)
class StopDecision(Result):
    """A decision whether to stop, with its reason; it is true if it says to stop.

    Attributes
    ----------
    stop : bool
        Whether to stop.
    expected : ExpectedCorrelation or None
        Expected coefficient; None for `TopStoppingRule`.
    reason : str
        Reason as a sentence.

    See Also
    --------
    stopping_rule : Returns the rule that decides.
    ExpectedCorrelation : The type of `expected`.

    Examples
    --------
    >>> from adaptive import Comparisons, bradley_terry, stopping_rule
    >>> votes = Comparisons.from_labels(["a", "a", "b"], ["b", "c", "c"], ["left", "left", "left"])
    >>> decision = stopping_rule(0.95)(bradley_terry(votes, prior=2))
    >>> bool(decision), decision.reason
    (False, 'the votes do not rule out chance after 3 votes')
    """

    stop: bool
    expected: ExpectedCorrelation | None
    reason: str

    def __bool__(self) -> bool:
        return self.stop


@dataclass(frozen=True)
class StoppingRule:
    """Stop once the expected coefficient has reached a target and hardly any drawn ranking is far below it.

    Attributes
    ----------
    target : float
    coefficient : Coefficient
    n_samples, seed : int

    See Also
    --------
    stopping_rule : Returns it.
    StopDecision : The decision that a call returns.

    Examples
    --------
    >>> from adaptive import stopping_rule
    >>> rule = stopping_rule(0.95, "tau")
    >>> rule.target, rule.coefficient, rule.n_samples
    (0.95, Tau(), 1000)
    """

    target: float
    coefficient: Coefficient = TauW()  # noqa: RUF009, it is frozen
    n_samples: int = N_SAMPLES
    seed: int = 0

    def __call__(self, strengths: Strengths) -> StopDecision:
        """Decide from the votes so far."""
        expected = strengths.expected_correlation(self.coefficient, n_samples=self.n_samples, seed=self.seed)
        after = f"after {checks.counted(strengths.comparisons.n_comparisons, 'vote')}"
        if not strengths.signal.is_significant:
            return StopDecision(False, expected, f"the votes do not rule out chance {after}")
        statement = f"expected {self.coefficient.name} is {checks.told_apart(expected.mean, self.target, 3)} {after}"
        if not expected.mean >= self.target:
            return StopDecision(False, expected, f"{statement}, below the target of {self.target}")
        least = self.target - SHORT
        short = float(np.mean(~(expected.values >= least)))  # nan counts as too low
        if short > RISK:
            return StopDecision(False, expected, f"{statement}, but below {least:g} in {short:.1%} of draws")
        return StopDecision(True, expected, f"{statement}, at least the target of {self.target}")


@dataclass(frozen=True)
class TopStoppingRule:
    """Stop once the votes determine the top k items.

    Attributes
    ----------
    top : int
    level : float

    See Also
    --------
    stopping_rule : Returns it.
    Strengths.n_certain_of_top : The number that it compares with k.

    Examples
    --------
    >>> from adaptive import stopping_rule
    >>> stopping_rule(top=5)
    TopStoppingRule(top=5, level=0.9)
    """

    top: int
    level: float = 0.9

    def __call__(self, strengths: DrawnStrengths) -> StopDecision:
        """Decide from the votes so far, by `Strengths` or by `ChoiceStrengths` of other answers."""
        n_certain = strengths.n_certain_of_top(self.top, self.level)
        reason = f"{n_certain} of the top {self.top} are certain at the level {self.level:g}"
        return StopDecision(n_certain == self.top, None, reason)


@overload
def stopping_rule(
    target: float, coefficient: CoefficientLike = "tau_w", *, n_samples: int = N_SAMPLES, seed: int = 0
) -> StoppingRule: ...


@overload
def stopping_rule(*, top: int, level: float = 0.9) -> TopStoppingRule: ...


def stopping_rule(
    target: float | None = None,
    coefficient: CoefficientLike = "tau_w",
    *,
    top: int | None = None,
    level: float = 0.9,
    n_samples: int = N_SAMPLES,
    seed: int = 0,
) -> StoppingRule | TopStoppingRule:
    """Return a rule that decides whether there are enough votes: for a target, or for certainty about the top.

    The rule for a target stops if the votes rule out random answers (`signal`), the expected coefficient is at least
    the target, and at most 5 % of the drawn rankings are more than .05 below it. The true coefficient may still be
    lower if the model does not hold (docs/results/crowds.md). Fit with ``voters=True``, as campaigns do.

    The rule for the top stops if each of the first k items is certain to be above each of the others. In the limit of
    many votes, the probability that it ever stops with a wrong top is at most 1 - level, even if pairs are chosen by
    the votes so far. If the items around the cut hardly differ, it rarely stops, but a larger share of those stops may
    be wrong (docs/results/accuracy.md).

    Parameters
    ----------
    target : float
        Smallest expected coefficient, between -1 and 1.
    coefficient : Coefficient or {"tau_w", "rho_w", "tau", "rho"}
        The coefficient of the target.
    top : int
        Number k of top items that must be certain, instead of a target. Their order need not be certain.
    level : float
        Probability that the rule never stops with a wrong top, whether it stops or not; only for `top`.
    n_samples : int
        Number of rankings drawn for a decision about a target.
    seed : int
        Seed of these draws.

    Returns
    -------
    StoppingRule or TopStoppingRule
        A function of `Strengths` (for `top`, also of `ChoiceStrengths`) that returns a `StopDecision`.

    Raises
    ------
    ModelError, OptionError
        The target is not between -1 and 1, both or neither of target and top are given, or an option is out of range.

    See Also
    --------
    Strengths.expected_correlation : The number that it compares with the target.
    Strengths.n_certain_of_top : The number that it compares with k.
    votes_needed : Predict the votes needed for a target, before voting.

    Examples
    --------
    >>> from adaptive import Comparisons, bradley_terry, stopping_rule
    >>> votes = Comparisons.from_labels(["a", "a", "b"], ["b", "c", "c"], ["left", "left", "left"])
    >>> decision = stopping_rule(0.95)(bradley_terry(votes, prior=2))
    >>> decision.stop, decision.reason
    (False, 'the votes do not rule out chance after 3 votes')
    >>> stopping_rule(top=1)(bradley_terry(votes, prior=2)).reason
    '0 of the top 1 are certain at the level 0.9'
    """
    if (target is None) == (top is None):
        raise ModelError(f"give exactly one of target and top; got target={target!r} and top={top!r}")
    if top is not None:
        k = checks.whole_number(top)
        if k is None or k < 1:
            raise ModelError(f"top must be a whole number of at least 1; got {checks.shown(top)}")
        return TopStoppingRule(k, checks.checked_level(level, error=ModelError))
    value = checks.real_number(target)
    if not -1 < value < 1:
        raise ModelError(f"target must be a number above -1 and below 1; got {checks.shown(target)}")
    number = checks.checked_count(n_samples, "n_samples", ModelError)
    return StoppingRule(value, as_coefficient(coefficient), number, checks.checked_seed(seed, ModelError))
