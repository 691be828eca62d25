"""Hold the result of a fit: strengths, their ranking, their posterior with every uncertainty, and their report."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from adaptive._blas import one_blas_thread
from adaptive._record import item_table, json_label, places_best_first
from adaptive._tables import FittedVoter, ItemStrength, item_cells
from adaptive.comparisons._columns import places_among
from adaptive.comparisons._comparisons import Comparisons
from adaptive.errors import ComparisonError, ModelError
from adaptive.model import _likelihood as likelihood
from adaptive.model._accuracy import N_SAMPLES, Better, better_of, order_caveats
from adaptive.model._drawn_strengths import DrawnStrengths
from adaptive.model._misfit import MISFIT_LIMIT, Misfit, misfit
from adaptive.model._newton import TOLERANCE, JointFit, pool_rows
from adaptive.model._posterior.chains import draw
from adaptive.model._posterior.normal import Opinions, cluster_ratio, covariance, shared_opinions
from adaptive.model._prior import OVERSIGHT, SD_START, Prior
from adaptive.model._signal import Signal, signal
from rankcorr._checks import check_rng, checked_count, counted, shown
from rankcorr._output import report as text
from rankcorr._output.report import Report
from rankcorr._output.results import json_ready, read_only, table_rows
from rankcorr._workers import Progress

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
    evidence = "rule out" if signal["is_significant"] else "do not rule out"
    results = (
        f"Strongest, with standard errors: {text.list_text(best)}. "
        f"The votes {evidence} that all answers are random ({text.pvalue_text(signal['pvalue'])})."
    )
    limits = tuple(f"{warning[0].upper()}{warning[1:]}." for warning in warnings)
    return Report(f"{methods} {text.software_text(None)}", results, limits)


def item_text(item: Any) -> str:
    """Write the label of an item, which may be a tuple or, read from JSON, a list."""
    return text.name_text(", ".join(item_cells(tuple(item) if isinstance(item, list) else item)))


MAX_EXACT: Final = 3_000  # most items for exact standard errors: 0.1 s at 1,000, 2 s at 3,000
LEAST_CLUSTERS: Final = 10  # fewer say too little about their spread
LARGEST_RATIO: Final = 1.5  # at most 1.03 in 180 simulations of nine crowds, up to 200 items and 2,000 votes
SE_DRAWS: Final = 1_000  # for more items: a relative error of 1 / sqrt(2 * 1000) = 2.2 %


def rows_of(comparisons: Comparisons, model: likelihood.VoteModel) -> likelihood.VoteRows:
    """Return votes as the loops take them; voters that are modelled must be known."""
    group, n_groups = np.zeros(comparisons.n_comparisons, np.int32), 1
    if model.voters:
        if comparisons.voter is None:
            raise ModelError("voters=True needs a column of voters, which these votes lack")
        group, n_groups = comparisons.voter, max(1, comparisons.n_voters)
    group.flags.writeable = False  # like voters: a loop is compiled again for a writeable array
    return likelihood.VoteRows(
        comparisons.left, comparisons.right, comparisons.winner, group, comparisons.n_items, n_groups, model
    )


@dataclass(frozen=True, eq=False, repr=False)
class Strengths(DrawnStrengths):
    """Strengths of items on a scale where the difference of two predicts the votes between them.

    `bradley_terry` and `thurstone` return it. The table has one row for each item, best first, with the columns item,
    rank, strength, standard_error, presentations, wins, ties and losses; tied items are in the order of their labels.

    Attributes
    ----------
    comparisons : Comparisons
        The votes.
    model : VoteModel
        The fitted model.
    prior : Prior
        Its `sd` is None if it was estimated; `prior_sd` is the value used.
    parameters : Parameters
        Fitted parameters as arrays.
    log_likelihood : float
        Of the votes, without the prior.
    converged : bool
        False if some parameter still moved after the last iteration.
    n_iterations : int
    oversight : float
        e of all votes, estimated or as given to the fit; with `model.voters` the mean of its prior.

    See Also
    --------
    bradley_terry, thurstone : Return it.
    RankIntervals, TopProbabilities, Cut, ExpectedCorrelation : The results of its methods.
    voter_report, score_system : Take strengths.

    Examples
    --------
    >>> from adaptive import Comparisons, bradley_terry
    >>> votes = Comparisons.from_labels(["fig", "fig", "kiwi"], ["kiwi", "plum", "plum"], ["left", "left", "tie"])
    >>> strengths = bradley_terry(votes, prior=2)
    >>> strengths.items, strengths.theta.round(2).tolist(), strengths.converged
    (('fig', 'kiwi', 'plum'), [1.6, -0.8, -0.8], True)
    >>> strengths.ranking
    <Ranking of 3 items, 2 tied: 'fig' 1, 'kiwi' 2.5, 'plum' 2.5>
    """

    _caption: ClassVar[str] = "Strengths of items"

    comparisons: Comparisons
    model: likelihood.VoteModel
    prior: Prior
    parameters: likelihood.Parameters
    log_likelihood: float
    converged: bool
    n_iterations: int
    oversight: float = OVERSIGHT

    @property
    def items(self) -> Sequence[Hashable]:
        """Labels of the items."""
        return self.comparisons.items

    @property
    def theta(self) -> NDArray[np.float64]:
        """Strengths, shape (n_items,), read-only; their mean is 0, and larger is better."""
        return self.parameters.theta

    @property
    def prior_sd(self) -> float:
        """t, the standard deviation of the strengths before any vote: given, or estimated from the votes."""
        return self.parameters.sd

    @property
    def tie_parameter(self) -> float:
        """Davidson's nu: items of equal strength tie with the probability nu / (2 + nu). 0 if ties are half wins."""
        return self.parameters.nu

    @property
    def side_bias(self) -> float:
        """Side bias s, the mean over votes: above 0 if the left side is preferred. 0 if it was not fitted.

        If each voter has a bias, it is the mean of the voters' biases, weighted by their numbers of votes.
        """
        side, group = self.parameters.side, rows_of(self.comparisons, self.model).group
        return float(side[group].mean()) if side.size > 1 and group.size else float(side[0])

    @property
    def parts(self) -> int:
        """Parts of the graph of comparisons; only the prior orders two parts."""
        return self.comparisons.parts

    @property
    def never_compared(self) -> tuple[Hashable, ...]:
        """Items without any vote: their strength is that of the prior, 0."""
        return self.comparisons.never_compared

    @cached_property
    def signal(self) -> Signal:
        """Whether the votes, in their order, rule out coin flips (docs/explain/signal.md)."""
        return signal(self.comparisons)

    @cached_property
    def misfit(self) -> Misfit:
        """How far the votes depart from the model (docs/explain/signal.md)."""
        return misfit(rows_of(self.comparisons, self.model), self.comparisons.voter, self.parameters)

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """Caveats for a reader of the ranking, one sentence each; empty if all is well."""
        votes = self.comparisons
        only_won = int(np.count_nonzero((votes.wins > 0) & (votes.losses + votes.ties == 0)))
        only_lost = int(np.count_nonzero((votes.losses > 0) & (votes.wins + votes.ties == 0)))
        n_never = len(self.never_compared)
        n_parts = self.parts - n_never
        voters = 0 if votes.voter is None else np.unique(votes.voter).size
        estimated_sd = self.prior_sd if self.prior.sd is None else math.nan
        of_order = order_caveats("comparisons", "votes", n_never, n_parts, (only_won, only_lost), estimated_sd)
        warnings = (
            (not self.converged, f"the fit has not converged in {self.n_iterations} iterations"),
            (
                votes.n_comparisons > 0 and not self.signal.is_significant,
                "the votes do not rule out chance: the order may be random",
            ),
            (
                self.misfit.pairs > MISFIT_LIMIT,
                "intervals are too narrow: voters agree on some pairs against the order of strengths (preferences go "
                "in circles, or depend on the pair)",
            ),
            (
                self.misfit.far < -MISFIT_LIMIT,
                "large differences of strengths are exaggerated: far weaker items win more often than the votes "
                "between close items suggest",
            ),
            (
                self.cluster_ratio > LARGEST_RATIO,
                f"variances are {self.cluster_ratio:.1f} times those stated: votes of one voter depend on each other",
            ),
            *((True, caveat) for caveat in of_order),
            (
                self._is_side_confounded(),
                "the votes cannot separate the strengths from the side bias, as when an item is always on one side: "
                "only the prior divides the result between them",
            ),
            (
                estimated_sd == SD_START,
                f"the votes do not determine the spread of the strengths: it is held at {estimated_sd:g}",
            ),
            (0 < votes.n_ties == votes.n_comparisons, "every comparison is a tie"),
            (voters == 1, "all votes are from one voter: other voters may differ"),
            (
                votes.voter is None and votes.n_comparisons > 0,
                "voters are unknown, so intervals assume that all votes are independent",
            ),
        )
        return tuple(sentence for holds, sentence in warnings if holds)

    @cached_property
    def curvature(self) -> likelihood.Curvature:
        """Expected curvature of the log posterior, whose inverse is the posterior's covariance of independent votes."""
        return likelihood.curvature_at(rows_of(self.comparisons, self.model), self.parameters)

    def _is_side_confounded(self) -> bool:
        """Return whether strengths can make up for a common change of all side biases; False beyond 1,500 items."""
        n_items = len(self.items)
        if not self.model.side_bias or n_items > likelihood.MAX_DENSE:
            return False
        curved, rows = self.curvature, self.curvature.rows
        a = rows.of_group(curved.discrimination)
        information = np.zeros((n_items + 1, n_items + 1))
        information[:n_items, :n_items] = likelihood.laplacian(rows, curved.weight)
        information[:n_items, n_items] = information[n_items, :n_items] = rows.by_item(curved.weight / a, -1.0)
        information[n_items, n_items] = curved.terms.expected.sum()
        with one_blas_thread(n_items):
            return likelihood.is_confounded(information, n_items)

    def joint_fit(self) -> JointFit:
        """Return the system of all parameters that Newton's steps solve."""
        rows = pool_rows(rows_of(self.comparisons, self.model))
        return JointFit(rows, self.prior, self.oversight, TOLERANCE, None, fits_nu=self.tie_parameter > 0)

    @cached_property
    def opinions(self) -> Opinions | None:
        """Opinions behind several votes of one voter; None where voters are not known."""
        if self.comparisons.voter is None or not self.comparisons.n_comparisons:
            return None
        return shared_opinions(self.curvature, self.comparisons.voter)

    @property
    def opinion_sd(self) -> float:
        """Standard deviation of a voter's opinion on an item around its strength; nan where voters are not known.

        Opinions persist, so votes of one voter on one item are not independent, and even many votes from a few voters
        leave a strength uncertain.
        """
        return float("nan") if self.opinions is None else self.opinions.sd

    @cached_property
    def cluster_ratio(self) -> float:
        """Variance of the strengths with voters as clusters, over that of the model (Liang and Zeger 1986).

        Above 1, votes of one voter depend on each other more than shared opinions explain. It is nan without a prior,
        with more than 1,500 items, and if the voters are unknown or fewer than 10, which say too little.
        """
        voter = self.comparisons.voter
        n_voters = 0 if voter is None else np.unique(voter).size
        if (
            voter is None
            or n_voters < LEAST_CLUSTERS
            or len(self.items) > likelihood.MAX_DENSE
            or self.prior.sd == np.inf
        ):
            return float("nan")
        return cluster_ratio(self.curvature, self.opinions, voter, self.comparisons.n_voters)

    @cached_property
    def standard_errors(self) -> NDArray[np.float64]:
        """Standard deviation of each strength's posterior, shape (n_items,), read-only.

        The errors are those of the strength less the mean of all strengths, because votes cannot determine a common
        level. Ties, sides and voters are uncertain too; the spread t counts as known. The errors are exact up to 3,000
        items; for more, they come from 1,000 draws, with a relative error of 2 %, and only strengths and sides are
        uncertain. They belong to the normal prior of the fit. Up to 1,500 items, `sample` and results from draws, such
        as `rank_intervals`, use a prior with heavier tails and a fitted shape. Their spread is larger than these
        errors, most of all at both ends of the list.
        """
        if len(self.items) > MAX_EXACT:
            return read_only(self.sample(SE_DRAWS, np.random.default_rng(0)).std(axis=0))
        return read_only(np.sqrt(np.diagonal(self._item_covariance)))

    @cached_property
    def _item_covariance(self) -> NDArray[np.float64]:
        """Covariance of the posterior of the strengths, shape (n_items, n_items), read-only; up to 3,000 items."""
        if len(self.items) > MAX_EXACT:
            raise ModelError(f"the covariance of more than {MAX_EXACT:,} strengths is not computed")
        fit = self.joint_fit()
        curved = likelihood.curvature_at(fit.rows, self.parameters) if self.opinions is None else self.curvature
        with one_blas_thread(len(self.items)):
            return read_only(covariance(curved, self.opinions, fit.absorbed_curvature(self.parameters)))

    def sample(self, n: int, rng: np.random.Generator, *, progress: Progress | None = None) -> NDArray[np.float64]:
        """Draw strengths from their joint posterior.

        Up to 1,500 items, the prior of the draws is a two-piece generalized t, whose mode, scales, degrees of freedom
        and power are drawn as well. Unlike a normal prior, it allows for a few top items far apart and many others
        close together, and for strengths that end abruptly. The draws are therefore centred on other strengths than the
        fitted ones. With more items, the draws are normal around the fitted strengths.
        Draws are joint, so an order can be read from each; the mean of every draw is 0. They integrate over side
        biases, and take other parameters as fitted (docs/explain/draws.md). If voters are known, the spread of the
        draws also covers other voters from the same population.

        Parameters
        ----------
        n : int
            Number of draws.
        rng : numpy.random.Generator
        progress : callable, optional
            Called with the number of draws made since the last call; an exception from it stops the work.

        Returns
        -------
        ndarray of float64, shape (n, n_items)

        Raises
        ------
        ModelError
            When n is not a positive whole number, or `rng` no generator.

        Examples
        --------
        >>> from adaptive.model._models import bradley_terry
        >>> votes = Comparisons.from_labels(["a", "a", "b"], ["b", "c", "c"], ["left", "left", "right"])
        >>> bradley_terry(votes).sample(5, np.random.default_rng(1)).shape
        (5, 3)
        """
        number = checked_count(n, "n", ModelError)
        check_rng(rng, ModelError)
        with one_blas_thread(len(self.items)):
            return draw(self.curvature, self.parameters, self.prior.side_sd, self.opinions, number, rng, progress)

    def better(
        self, first: Hashable, second: Hashable, *, level: float = 0.9, n_samples: int = N_SAMPLES, seed: int = 0
    ) -> Better:
        """Return the probability that one item is better than another, given the votes.

        It is the share of draws from the posterior in which `first` is the stronger, from the same draws as all other
        intervals. The interval of the difference reaches as far as the draws and as the normal distribution of the fit.
        Either alone is too narrow for some lists: the draws where votes are few and strengths close, the normal
        distribution where a few items are far ahead. Choose the pair before you see the votes: the best of many pairs
        looks better than it is.

        Parameters
        ----------
        first, second : hashable
            Labels of two items.
        level : float
            Probability that the interval contains the difference of the true strengths.
        n_samples : int
            Draws from the posterior.
        seed : int
            The same seed gives the same answer.

        Raises
        ------
        ModelError
            An unknown item, the same item twice, or an option out of range.

        Examples
        --------
        >>> from adaptive.model._models import bradley_terry
        >>> votes = Comparisons.from_labels(["a", "a", "b"] * 2, ["b", "c", "c"] * 2, ["left"] * 6)
        >>> strengths = bradley_terry(votes, prior=2)
        >>> better, worse = strengths.better("a", "c"), strengths.better("c", "a")
        >>> better.probability > 0.9, round(better.probability + worse.probability, 12)
        (True, 1.0)
        """
        try:
            pair = places_among([first, second], self.items, "item", "better").tolist()
        except ComparisonError as error:
            raise ModelError(str(error)) from None
        if pair[0] == pair[1]:
            raise ModelError(f"an item is compared with another; got {shown(first)} twice")
        theta = self.drawn(n_samples, seed).theta[:, pair]
        better = better_of(theta, self.items[pair[0]], self.items[pair[1]], level)
        if len(self.items) > likelihood.MAX_DENSE:  # the draws are normal
            return better
        contrast = np.array([1.0, -1.0])
        variance = contrast @ self._item_covariance[np.ix_(pair, pair)] @ contrast
        width = float(ndtri((1 + better.level) / 2)) * math.sqrt(max(0.0, variance))
        difference, (low, high) = float(contrast @ self.theta[pair]), better.interval
        return replace(better, interval=(min(low, difference - width), max(high, difference + width)))

    def to_dict(self, *, standard_errors: bool = True) -> dict[str, Any]:
        """Return the results for a reader of the ranking as plain Python objects ready for JSON: None for nan.

        Items are best first. `voters` has the fitted parameters of each voter; it is None if voters were not modelled.
        `signal`, `misfit` and `cluster_ratio` say how far the numbers can be believed.

        Parameters
        ----------
        standard_errors : bool
            False leaves them out, with None in each row: for more than 1,500 items they take longer than the fit.

        Raises
        ------
        ProtocolError
            When a label is not a string, an integer or a tuple of those.

        Examples
        --------
        >>> from adaptive.model._models import bradley_terry
        >>> votes = Comparisons.from_labels(["a", "b"], ["b", "a"], ["left", "right"], voter=["Ann", "Bob"])
        >>> strengths = bradley_terry(votes, prior=2, voters=True).to_dict()
        >>> strengths["items"][0]["item"], strengths["parameters"]["prior_sd"], strengths["voters"][1]["voter"]
        ('a', 2.0, 'Bob')
        >>> strengths["signal"]["is_significant"], strengths["misfit"]["n_repeated"], strengths["cluster_ratio"]
        (False, 2, None)
        """
        rows = table_rows(self._columns(standard_errors=standard_errors))
        parameters = ("prior_sd", "tie_parameter", "side_bias", "oversight", "opinion_sd")
        return {
            "items": [vars(ItemStrength(**{**row, "item": json_label(row["item"])})) for row in rows],
            "parameters": json_ready({name: getattr(self, name) for name in parameters}),
            "voters": self._voters() if self.model.voters else None,
            "log_likelihood": json_ready(self.log_likelihood),
            "converged": self.converged,
            "n_iterations": self.n_iterations,
            "signal": self.signal.to_dict(),
            "misfit": self.misfit.to_dict(),
            "cluster_ratio": json_ready(self.cluster_ratio),
            "warnings": list(self.warnings),
        }

    def report(self) -> Report:
        """Return methods, results and limits for a paper."""
        voter = self.comparisons.voter
        n_voters = None if voter is None else int(np.unique(voter).size)
        has_ties = self.comparisons.n_ties > 0
        return strengths_report(self.to_dict(), json_ready(self.model), n_voters, has_ties=has_ties)

    def _voters(self) -> list[dict[str, Any]]:
        fitted, names = self.parameters, list(map(json_label, self.comparisons.voters or ()))
        columns = {"discrimination": fitted.discrimination, "oversight": fitted.oversight, "side_bias": fitted.side}
        # Without voters there is still one group.
        of_voters = {name: column[: len(names)].tolist() for name, column in columns.items()}
        return [vars(FittedVoter(**row)) for row in table_rows({"voter": names, **of_voters})]

    def _columns(self, *, standard_errors: bool = True) -> dict[str, Sequence[Any]]:
        ranks, votes = self.ranking.ranks, self.comparisons
        errors = self.standard_errors if standard_errors else np.full(ranks.size, None)
        columns = {"rank": ranks, "strength": self.theta, "standard_error": errors}
        columns |= {name: getattr(votes, name) for name in ("presentations", "wins", "ties", "losses")}
        return item_table(self.items, places_best_first(self.items, ranks), **columns)

    def __repr__(self) -> str:
        name = "Thurstone" if self.model.link == "normal" else "Bradley-Terry"
        suffix = "" if self.converged else ", not converged"
        return f"<Strengths ({name}) of {counted(self.comparisons.n_comparisons, 'vote')}: {self.ranking!r}{suffix}>"
