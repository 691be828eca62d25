"""Define the rows of results: the names, types and meanings that tables, JSON and HTTP answers share."""

from collections.abc import Hashable
from dataclasses import dataclass, fields
from typing import Any


def names_of(row: type[Any]) -> tuple[str, ...]:
    """Return the columns of a table with rows of this kind.

    >>> names_of(OtherParameter)
    ('name', 'estimate', 'standard_error')
    """
    return tuple(field.name for field in fields(row))


@dataclass(frozen=True)
class ItemStrength:
    """An item in the table of fitted strengths.

    Attributes
    ----------
    item : hashable
    rank : float
    strength : float
        Mean 0; larger is better.
    standard_error : float or None
        None if it was not computed.
    presentations, wins, ties, losses : int
    """

    item: Hashable
    rank: float
    strength: float
    standard_error: float | None
    presentations: int
    wins: int
    ties: int
    losses: int


@dataclass(frozen=True)
class FittedVoter:
    """A voter whose parameters were fitted.

    Attributes
    ----------
    voter : hashable
    discrimination : float
        1 is the geometric mean of the voters.
    oversight : float
        Probability of a slip.
    side_bias : float
        Above 0: prefers the left side.
    """

    voter: Hashable
    discrimination: float
    oversight: float
    side_bias: float


class KnownValues:
    """A row whose values may be unknown."""

    def to_dict(self) -> dict[str, Any]:
        """Return the values that are known."""
        return {name: value for name, value in vars(self).items() if value is not None}


@dataclass(frozen=True)
class ChoiceItem(KnownValues):
    """An item in the table of strengths fitted to choices of any kind.

    Attributes
    ----------
    item : hashable
    rank : float
    strength : float
        Mean 0; larger is better.
    standard_error : float
    elo : float or None
        1000 + 400 / ln 10 times the strength; only if it was requested.
    rank_low : int
        First rank of the interval.
    rank_high : int
        Last rank of the interval.
    strength_low, strength_high : float
        Ends of the interval of the strength, by Student's t distribution if there are clusters.
    presentations, wins, ties, losses : float or None
        Of votes on pairs only, with their weights.
    """

    item: Hashable
    rank: float
    strength: float
    standard_error: float
    elo: float | None
    rank_low: int
    rank_high: int
    strength_low: float
    strength_high: float
    presentations: float | None = None
    wins: float | None = None
    ties: float | None = None
    losses: float | None = None


@dataclass(frozen=True)
class OtherParameter:
    """A fitted parameter that is no strength.

    Attributes
    ----------
    name : str
        tie, side, grade 1, tie of 2, or a covariate.
    estimate, standard_error : float
    """

    name: str
    estimate: float
    standard_error: float


@dataclass(frozen=True, kw_only=True)
class CampaignRow(KnownValues):
    """An item in the ranking of a campaign.

    Attributes
    ----------
    item : hashable
    rank : float
    ybar : float or None
        Mean of the paper's rescaled scores; only if they determine the rank, as do the next five.
    presentations, wins, ties, losses : int or None
    last_ballot : int or None
    strength : float
    standard_error : float or None
        Only if the ranking has a cut, as all that follow.
    rank_low, rank_high : float or None
        Ends of the interval of the rank.
    in_top : float or None
        Probability that the item belongs to the top.
    rank_low_anytime, rank_high_anytime : float or None
        Holds for all items at once, however often one looks while votes come in.
    """

    item: Hashable
    rank: float
    ybar: float | None = None
    presentations: int | None = None
    wins: int | None = None
    ties: int | None = None
    losses: int | None = None
    last_ballot: int | None = None
    strength: float
    standard_error: float | None = None
    rank_low: float | None = None
    rank_high: float | None = None
    in_top: float | None = None
    rank_low_anytime: float | None = None
    rank_high_anytime: float | None = None


@dataclass(frozen=True)
class JudgePower:
    """The part that a program judge has in prediction-powered strengths.

    Attributes
    ----------
    judge : hashable
    weight : float
        Of the judge: 0 for people alone.
    n_prompts : int
        Prompts with votes of people and of the judge.
    """

    judge: Hashable
    weight: float
    n_prompts: int


@dataclass(frozen=True)
class PairRow:
    """An item in the table of a pairing: two tokens.

    Attributes
    ----------
    item_1, item_2 : str
    area : str or None
        The first that both have; None where they share none.
    rare : bool or None
        Whether one of them is rare, where frequencies are given.
    """

    item_1: str
    item_2: str
    area: str | None
    rare: bool | None = None


@dataclass(frozen=True)
class SimulatedCoefficient:
    """A coefficient with the true ranking, over all simulations.

    Attributes
    ----------
    mean : float
    sd : float
        Standard deviation over the simulations; nan for a single one.
    se : float
        Standard error of the mean, sd / sqrt(n_simulations); nan for a single one.
    """

    mean: float
    sd: float
    se: float


@dataclass(frozen=True)
class VoterComparisons:
    """The comparisons of one voter.

    Attributes
    ----------
    voter : hashable
    left : list of hashable
        The item on the left of each comparison.
    right : list of hashable
        The item on the right of each comparison.
    """

    voter: Hashable
    left: list[Hashable]
    right: list[Hashable]


@dataclass(frozen=True)
class NextComparisons:
    """Comparisons to show next, in this order, by their labels.

    Attributes
    ----------
    left : list of hashable
        The item on the left of each comparison.
    right : list of hashable
        The item on the right of each comparison.
    voter : list of hashable
        The voter to ask.
    prompt : list of hashable or None
        The prompt to compare within, if there are prompts.
    """

    left: list[Hashable]
    right: list[Hashable]
    voter: list[Hashable]
    prompt: list[Hashable] | None = None


@dataclass(frozen=True)
class NextBallot:
    """The ballot to draw next.

    Attributes
    ----------
    number : int
    items : tuple of hashable
        Best first.
    presentations : int
    """

    number: int
    items: tuple[Hashable, ...]
    presentations: int
