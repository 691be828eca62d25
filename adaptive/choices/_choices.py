"""One likelihood for every kind of answer: a choice among outcomes with logits that are sparse linear forms.

A vote on a pair chooses one of two or three outcomes, a grade one of several, and a best-worst answer one of all
ordered pairs. A ranking is a sequence of choices: its best item, then the best of the others, and so on. Newton's
method fits strengths, ties, side bias and covariates jointly.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Any, Final, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adaptive._blas import one_blas_thread
from adaptive._protocol import checked_labels
from adaptive.choices._events import Events, count_extremes, count_parts, score_test
from adaptive.choices._standard_errors import cluster_products, covariance_of
from adaptive.choices._strengths import ChoiceStrengths
from adaptive.comparisons._comparisons import Comparisons
from adaptive.errors import ModelError
from adaptive.model._accuracy import order_caveats
from adaptive.model._likelihood import FLAT, count_flat, is_confounded, with_level
from adaptive.model._prior import SD_RANGE, SD_START, is_spread
from adaptive.model._signal import SIGNAL_LEVEL
from rankcorr import Ranking
from rankcorr._checks import check_choice, counted, is_unhashable, offending, real_number, shown, whole_number
from rankcorr._input.scores import is_masked

Array: TypeAlias = NDArray[Any]
Unlisted: TypeAlias = Literal["absent", "below"]

UNLISTED: Final[tuple[Unlisted, ...]] = get_args(Unlisted)
MAX_ITERATIONS: Final = 100
TOLERANCE: Final = 1e-10
MOST_OUTCOMES: Final = 5_000_000
LARGEST: Final = 50.0  # logits beyond it count as infinite: no data distinguish them from larger ones
MOST_DIFFERENT: Final = 1e100  # between the two sides of a covariate: squares must stay finite
_INFINITE: Final = (
    " some strengths are infinite: an item or a group of items never lost to the others, or an outcome never occurred; "
    "set prior= to a standard deviation, such as 1"
)
_INFINITE_EFFECT: Final = (
    "an effect other than the strengths has no finite estimate: a side won every time, an outcome never or always "
    "occurred, or a covariate decides every answer or is the same on both sides; leave it out"
)
_CONFOUNDED: Final = (
    "the answers cannot separate the strengths from another effect, such as a side bias if an item is always on one "
    "side, or a covariate that is a property of the items: only the prior divides the result between them"
)
_SD_STEP: Final = 0.5  # first step in log t


@dataclass(frozen=True, eq=False, repr=False)
class Choices:
    """Answers of any kind as choices among outcomes.

    Attributes
    ----------
    items : sequence of hashable
        Labels of the items.
    events : Events
        The choices. Their parameters are the strengths of the items, followed by those in `names`.
    names : tuple of str
        Names of the other parameters.
    clusters : ndarray of int64, shape (n_events,) or (n_events, 2), or None
        Number of the cluster of each event, such as its voter or prompt. Two columns are two-way clusters (Cameron,
        Gelbach and Miller 2011).
    basis : str
        Number of answers, and their voters if known, for titles: "600 votes of 12 voters".

    See Also
    --------
    bradley_terry : Fit votes on pairs, with oversights and models of each voter.
    ChoiceStrengths : The result of `fit`.

    References
    ----------
    H. L. Turner et al., Modelling Rankings in R: The PlackettLuce Package, Computational Statistics 35 (2020).

    R. R. Davidson, On Extending the Bradley-Terry Model to Accommodate Ties in Paired Comparison Experiments, Journal
    of the American Statistical Association 65 (1970).

    A. A. J. Marley and J. J. Louviere, Some Probabilistic Models of Best, Worst, and Best-Worst Choices, Journal of
    Mathematical Psychology 49 (2005).

    Examples
    --------
    >>> from adaptive import Choices
    >>> answers = [(["a", "b", "c", "d"], "a", "d"), (["a", "b", "c", "e"], "b", "e")]
    >>> Choices.from_best_worst(answers)
    <Choices of 5 items: 2 events>
    """

    items: Sequence[Hashable]
    events: Events
    names: tuple[str, ...] = ()
    clusters: NDArray[np.int64] | None = field(default=None)
    basis: str = ""

    def __repr__(self) -> str:
        return f"<Choices of {len(self.items)} items: {self.events.choice.size:,} events>"

    @classmethod
    def from_pairs(
        cls,
        votes: Comparisons,
        *,
        weights: ArrayLike | None = None,
        side_bias: bool = False,
        covariates: Mapping[str, tuple[ArrayLike, ArrayLike]] | None = None,
        clusters: Sequence[Hashable] | None = None,
    ) -> Choices:
        """Make choices from votes on pairs, with ties as a third outcome (Davidson 1970).

        Parameters
        ----------
        votes : Comparisons
        weights : array_like of shape (n_comparisons,), optional
            Weight of each vote in the likelihood.
        side_bias : bool
            Fit a preference for the left side.
        covariates : mapping of name to pair of array_like of shape (n_comparisons,), optional
            Property of the left and of the right side, such as its length; its slope is fitted.
        clusters : sequence of hashable, shape (n_comparisons,), optional
            Cluster of each vote. Standard errors are robust to dependence within clusters.

        Examples
        --------
        >>> from adaptive import Choices, Comparisons
        >>> votes = Comparisons.from_labels(["a", "a", "b"], ["b", "c", "c"], ["left", "tie", "left"])
        >>> Choices.from_pairs(votes).fit(prior=1).others.keys()
        dict_keys(['tie'])
        """
        if not isinstance(votes, Comparisons):
            raise ModelError(f"votes on pairs are Comparisons; got {shown(votes)}")
        grades = np.asarray(votes.winner, np.int64)
        sides = np.asarray(votes.left, np.int64), np.asarray(votes.right, np.int64)
        choices = cls._graded(votes.items, sides, grades, weights, side_bias, covariates, clusters)
        return replace(choices, basis=counted_answers(choices.events.count, "vote"))

    @classmethod
    def from_grades(
        cls,
        items: Sequence[Hashable],
        left: ArrayLike,
        right: ArrayLike,
        grades: ArrayLike,
        *,
        weights: ArrayLike | None = None,
        side_bias: bool = False,
        covariates: Mapping[str, tuple[ArrayLike, ArrayLike]] | None = None,
        clusters: Sequence[Hashable] | None = None,
    ) -> Choices:
        """Make choices from graded votes on pairs, such as 2 (left much better), 1, 0 (equal), -1, -2 (right better).

        This is the adjacent-categories model. The logit of grade g is (1 + g/m) theta_left / 2 +
        (1 - g/m) theta_right / 2 plus a parameter for abs(g), which is 0 for m. Here m is the largest grade that
        occurs; with m = 1 this is Davidson's model of ties. A grade that never occurs with either sign has probability
        0, which is its maximum likelihood estimate.

        Parameters
        ----------
        items : sequence of hashable
            All items.
        left, right : array_like of int, shape (n_votes,)
            Indices into `items`.
        grades : array_like of int, shape (n_votes,)
            Above 0 if the left item is better.
        weights, side_bias, covariates, clusters
            As in `from_pairs`.

        Examples
        --------
        >>> from adaptive import Choices
        >>> choices = Choices.from_grades(["a", "b", "c"], [0, 1, 0], [1, 2, 2], [2, 0, 1])
        >>> choices.names
        ('grade 0', 'grade 1')
        """
        sides = _whole_numbers("left", left), _whole_numbers("right", right)
        levels = _whole_numbers("grades", grades)
        if not np.abs(levels).max(initial=0):
            raise ModelError("at least one grade must prefer a side; all are 0")
        return cls._graded(items, sides, levels, weights, side_bias, covariates, clusters)

    @classmethod
    def _graded(
        cls,
        items: Sequence[Hashable],
        sides: tuple[Array, Array],
        grades: Array,
        weights: ArrayLike | None,
        side_bias: bool,
        covariates: Mapping[str, tuple[ArrayLike, ArrayLike]] | None,
        clusters: Sequence[Hashable] | None,
    ) -> Choices:
        labels, (left, right) = checked_labels(items, "items", ModelError), sides
        n_items, n_votes = len(labels), grades.size
        if not left.size == right.size == n_votes:
            raise ModelError(
                f"left, right and grades must have the same length; got {left.size}, {right.size} and {n_votes}"
            )
        places = np.concatenate([left, right]) if n_votes else np.zeros(0, np.int64)
        if places.size and not 0 <= places.min() <= places.max() < n_items:
            raise ModelError(f"left and right must be indices into items, from 0 to {n_items - 1}")
        if (left == right).any():
            raise ModelError(f"vote {int(np.flatnonzero(left == right)[0])} compares an item with itself")
        sizes = np.unique(np.abs(grades)).tolist() or [1]
        most = max(1, sizes[-1])
        parameter = {size: n_items + number for number, size in enumerate(sizes) if size < most}
        middle = ["tie"] if most == 1 and parameter else [f"grade {size}" for size in parameter]
        names = [*middle, *(["side"] if side_bias else []), *(covariates or {})]
        values = _checked_covariates(covariates, n_votes)
        if known := [name for name in covariates or {} if name in ("tie", "side", *middle)]:
            raise ModelError(f"a covariate cannot be called {shown(known[0])}, which is the name of another parameter")
        levels = sorted({sign * size for size in [*sizes, most] for sign in (1, -1)}, reverse=True)
        terms: list[dict[int, float]] = []
        for vote in range(n_votes):
            first, second = int(left[vote]), int(right[vote])
            for level in levels:
                share = level / most
                outcome = {first: (1 + share) / 2, second: (1 - share) / 2}
                if abs(level) in parameter:
                    outcome[parameter[abs(level)]] = 1.0
                if side_bias:
                    outcome[n_items + len(middle)] = share / 2
                for number, differences in enumerate(values):
                    outcome[n_items + len(middle) + side_bias + number] = share / 2 * differences[vote]
                terms.append({place: value for place, value in outcome.items() if value})
        choices = [levels.index(level) for level in grades.tolist()]
        count = _checked_weights(weights, n_votes)
        events = Events.of([len(levels)] * n_votes, terms, choices, count, n_items + len(names))
        return cls(
            labels, events, tuple(names), number_clusters(clusters, n_votes), counted_answers(count, "graded vote")
        )

    @classmethod
    def from_rankings(
        cls,
        rankings: Iterable[Ranking | Sequence[Any]],
        *,
        items: Sequence[Hashable] | None = None,
        unlisted: Unlisted = "absent",
        weights: ArrayLike | None = None,
        clusters: Sequence[Hashable] | None = None,
    ) -> Choices:
        """Make choices from complete, partial or top-k rankings, best first; a nested list is a group of ties.

        This is the Plackett-Luce model: a ranking chooses its first item among all, the next one among the others, and
        so on. A group of d tied items has the geometric mean of their worths, times the parameter "tie of d" (Turner et
        al. 2020). Ties of a size that no ranking has get probability 0.

        Parameters
        ----------
        rankings : iterable of Ranking, or of sequences of labels and groups of labels
        items : sequence of hashable, optional
            All items; by default those that are ranked, in order of first appearance.
        unlisted : {"absent", "below"}
            Whether items that a ranking lacks were not compared, or rank below those that it has (a top-k list).
        weights : array_like of shape (n_rankings,), optional
            Weight of each ranking in the likelihood.
        clusters : sequence of hashable, shape (n_rankings,), optional
            Cluster of each ranking, as in `from_pairs`.

        Examples
        --------
        >>> from adaptive import Choices
        >>> Choices.from_rankings([["a", ["b", "c"]], ["b", "a", "c"]]).names
        ('tie of 2',)
        """
        check_choice("unlisted", unlisted, UNLISTED)
        if isinstance(rankings, str | Mapping) or not isinstance(rankings, Iterable):
            raise ModelError(f"rankings must be a list of rankings; got {shown(rankings)}")
        orders = [_order_of(row, ranking) for row, ranking in enumerate(rankings)]
        ranked = dict.fromkeys(item for order in orders for group in order for item in group)
        labels, place = _places_of_items(ranked, items, "rankings")
        tied = sorted({len(group) for order in orders for group in order} - {0, 1})
        parameter = {size: len(labels) + number for number, size in enumerate(tied)}
        sizes: list[int] = []
        terms: list[dict[int, float]] = []
        choices: list[int] = []
        rows: list[int] = []
        for row, order in enumerate(orders):
            listed = [place[item] for group in order for item in group]
            if len(set(listed)) < len(listed) or not all(order):
                raise ModelError(f"ranking {row} names an item twice, or has an empty group of ties")
            rest = set(range(len(labels))) if unlisted == "below" else set(listed)
            for group in order:
                if len(rest) < 2:
                    break
                if len(terms) + sum(math.comb(len(rest), size) for size in (1, *tied)) > MOST_OUTCOMES:
                    most = max(tied, default=1)
                    raise ModelError(f"ties of {most} among all items have more than {MOST_OUTCOMES:,} outcomes")
                outcomes = [subset for size in (1, *tied) for subset in combinations(sorted(rest), size)]
                members = tuple(sorted(place[item] for item in group))
                terms += [_of_subset(subset, parameter) for subset in outcomes]
                sizes.append(len(outcomes))
                choices.append(outcomes.index(members))
                rows.append(row)
                rest -= set(members)
        count = _checked_weights(weights, len(orders))
        groups = number_clusters(clusters, len(orders))
        names = tuple(f"tie of {size}" for size in tied)
        events = Events.of(sizes, terms, choices, count[rows], len(labels) + len(names))
        return cls(labels, events, names, None if groups is None else groups[rows], counted_answers(count, "ranking"))

    @classmethod
    def from_best_worst(
        cls,
        answers: Iterable[tuple[Sequence[Hashable], Hashable, Hashable]],
        *,
        items: Sequence[Hashable] | None = None,
        weights: ArrayLike | None = None,
        clusters: Sequence[Hashable] | None = None,
    ) -> Choices:
        """Make choices from best-worst answers: (items shown, best, worst).

        This is the maxdiff model: an answer chooses one of all ordered pairs of different items, with the logit
        theta_best - theta_worst.

        Parameters
        ----------
        answers : iterable of (sequence of labels, best, worst)
        items : sequence of hashable, optional
            All items; by default those that are shown, in order of first appearance.
        weights : array_like of shape (n_answers,), optional
            Weight of each answer in the likelihood.
        clusters : sequence of hashable, shape (n_answers,), optional
            Cluster of each answer, as in `from_pairs`.

        Examples
        --------
        >>> from adaptive import Choices
        >>> answers = [(["a", "b", "c", "d"], "a", "d"), (["a", "b", "c", "d"], "b", "d")]
        >>> Choices.from_best_worst(answers).fit(prior=1).ranking.best_first.tolist()
        [0, 1, 2, 3]
        """
        rows = [_best_worst_of(row, answer) for row, answer in enumerate(answers)]
        shown_items = dict.fromkeys(item for members, _, _ in rows for item in members)
        labels, place = _places_of_items(shown_items, items, "answers")
        sizes: list[int] = []
        terms: list[dict[int, float]] = []
        choices: list[int] = []
        for row, (members, best, worst) in enumerate(rows):
            if len(set(members)) < max(2, len(members)) or best == worst or not {best, worst} <= set(members):
                raise ModelError(f"answer {row} must have different items, and the best and the worst among them")
            pairs = [(first, second) for first in members for second in members if first != second]
            terms += [{place[first]: 1.0, place[second]: -1.0} for first, second in pairs]
            sizes.append(len(pairs))
            choices.append(pairs.index((best, worst)))
        count = _checked_weights(weights, len(rows))
        events = Events.of(sizes, terms, choices, count, len(labels))
        groups = number_clusters(clusters, len(rows))
        return cls(labels, events, (), groups, counted_answers(count, "best-worst answer"))

    def fit(self, *, prior: float | None = None) -> ChoiceStrengths:
        """Fit all parameters by penalised maximum likelihood.

        Parameters
        ----------
        prior : float, optional
            Standard deviation t of the normal prior of the strengths, which has mean 0. By default it is estimated at
            the maximum of the marginal likelihood in Laplace's approximation, as in `bradley_terry`. Infinity gives
            maximum likelihood estimates.

        Returns
        -------
        ChoiceStrengths

        Raises
        ------
        ModelError
            There are fewer than two items or no choice, the prior is not a positive number, all answers are ties, or
            the estimate is not finite.
        """
        n_items = len(self.items)
        if n_items < 2 or not self.events.choice.size:
            raise ModelError(
                f"a fit needs two items and a choice; got {n_items} items, {self.events.choice.size} choices"
            )
        if self.is_all_ties:
            raise ModelError("all answers are ties, which do not order the items")
        sd = math.nan if prior is None else real_number(prior)
        if prior is not None and not is_spread(sd):
            raise ModelError(f"prior must be a positive number, from 1e-100 to 1e100, or infinite; got {shown(prior)}")
        parameters = np.zeros(self.events.design.shape[1])
        with one_blas_thread(parameters.size):
            if prior is None:
                sd, parameters = self._estimate_spread(parameters)
            parameters, total, probabilities = self.maximum(parameters, sd)
            information = self.add_prior(self.events.information(probabilities), sd)
            least = FLAT * self.events.count.sum() * self._units[n_items:] ** 2
            has_flat_effect = bool((np.diagonal(information)[n_items:] < least).any())
            if has_flat_effect or count_flat(information, n_items):
                is_of_strengths = not has_flat_effect and count_flat(information[:n_items, :n_items], n_items) > 0
                raise _without_estimate(sd, of_strengths=is_of_strengths)
            covariance, errors, degrees_of_freedom, warnings = covariance_of(
                self.events, self.clusters, probabilities, information, n_items, 0.0 if sd == math.inf else sd**-2
            )
            information = self.events.information(probabilities)
            if is_confounded(information, n_items):
                warnings.append(_CONFOUNDED)
            if self.chance_pvalue() > SIGNAL_LEVEL:
                warnings.append("the answers do not rule out chance: the order may be random")
            n_parts, n_never = count_parts(self.events, n_items)
            extremes, estimated_sd = count_extremes(self.events, n_items), sd if prior is None else math.nan
            warnings += order_caveats("answers", "answers", n_never, n_parts, extremes, estimated_sd)
        return ChoiceStrengths(
            items=self.items,
            theta=parameters[:n_items] - parameters[:n_items].mean(),
            standard_errors=errors[:n_items],
            covariance=covariance,
            others={
                name: (float(value), float(error))
                for name, value, error in zip(self.names, parameters[n_items:], errors[n_items:], strict=True)
            },
            log_likelihood=total,
            prior_sd=sd,
            n_events=float(self.events.count.sum()),
            warnings=tuple(warnings),
            basis=self.basis,
            degrees_of_freedom=degrees_of_freedom,
        )

    @property
    def is_all_ties(self) -> bool:
        """Whether each answer is a tie of all items shown.

        Only for such an answer is the gradient 0 where all outcomes are equally likely.
        """
        equal = (1.0 / np.diff(self.events.outcome_starts))[self.events.event]
        slopes = self.events.scores(equal)[self.events.count > 0][:, : len(self.items)]
        return slopes.shape[0] > 0 and bool(abs(slopes).max() < TOLERANCE)

    def chance_pvalue(self) -> float:
        """Return the p-value of a score test that all strengths are equal; nan if the null model has no finite fit."""
        n_items, parameters = len(self.items), np.zeros(self.events.design.shape[1])
        with suppress(ModelError), one_blas_thread(parameters.size):
            if self.names:
                others = replace(self, items=(), events=replace(self.events, design=self.events.design[:, n_items:]))
                parameters[n_items:], _, _ = others.maximum(parameters[n_items:], 1.0)
            _, probabilities = self.events.probabilities(parameters)
            products = None if self.clusters is None else cluster_products(self.events, self.clusters, probabilities)
            return score_test(self.events, n_items, probabilities, products)
        return math.nan

    def with_items(self, items: Sequence[Hashable]) -> Choices:
        """Return the same choices with the items in another order."""
        places = {item: place for place, item in enumerate(self.items)}
        order = [places[item] for item in items]
        columns = [*order, *range(len(order), self.events.design.shape[1])]
        return replace(self, items=items, events=replace(self.events, design=self.events.design[:, columns]))

    def of_events(self, is_in: Array) -> Choices:
        """Return the choices of the events for which `is_in` is true."""
        outcomes = np.flatnonzero(is_in[self.events.event])
        starts = np.concatenate([[0], np.cumsum(np.diff(self.events.outcome_starts)[is_in])])
        choice = starts[:-1] + (self.events.choice - self.events.outcome_starts[:-1])[is_in]
        events = Events(starts, self.events.design[outcomes], choice, self.events.count[is_in])
        return replace(self, events=events, clusters=None if self.clusters is None else self.clusters[is_in])

    def without_outcomes(self, names: Sequence[str]) -> tuple[Choices, Array]:
        """Return the choices without the outcomes that have these parameters, and a mask of the events that remain."""
        events, n_items = self.events, len(self.items)
        is_dropped = np.array([name in names for name in self.names], bool)
        columns = np.concatenate([np.zeros(n_items, bool), is_dropped])
        is_outcome = np.asarray(abs(events.design[:, columns]).sum(axis=1)).ravel() == 0
        is_event = is_outcome[events.choice]
        is_outcome &= is_event[events.event]
        sizes = np.bincount(events.event[is_outcome], minlength=is_event.size)[is_event]
        choice = (np.cumsum(is_outcome) - 1)[events.choice[is_event]]
        design = events.design[is_outcome][:, ~columns]
        rest = Events(np.concatenate([[0], np.cumsum(sizes)]), design, choice, events.count[is_event])
        clusters = None if self.clusters is None else self.clusters[is_event]
        left = tuple(name for name, dropped in zip(self.names, is_dropped, strict=True) if not dropped)
        return replace(self, events=rest, names=left, clusters=clusters), is_event

    def scores_at(self, fit: ChoiceStrengths, prior: float) -> tuple[Array, Array]:
        """Return the gradient of each event's log-likelihood at a fit, and the inverse of the penalised information."""
        parameters = np.concatenate([fit.theta, [value for value, _ in fit.others.values()]])
        probabilities = self.events.probabilities(parameters)[1]
        scores = self.events.scores(probabilities).toarray() * self.events.count[:, np.newaxis]
        information = self.add_prior(self.events.information(probabilities), prior)
        return scores, np.linalg.inv(with_level(information, len(self.items)))

    def add_prior(self, information: Array, sd: float) -> Array:
        """Return the information plus the precision of the prior."""
        n_items, information = len(self.items), information.copy()
        if sd < math.inf:
            information[:n_items, :n_items] += np.eye(n_items) / sd**2
        return information

    @cached_property
    def _units(self) -> Array:
        """Typical coefficient of each parameter in a logit: 1 for strengths, else the median of those not 0."""
        from scipy.sparse import csc_array

        n_items = len(self.items)
        has_weight = (self.events.count > 0)[self.events.event]
        effects = csc_array(abs(self.events.design[has_weight][:, n_items:]))
        columns = np.split(effects.data, effects.indptr[1:-1])
        units = [float(np.median(column)) if column.size else 1.0 for column in columns[: effects.shape[1]]]
        return np.concatenate([np.ones(n_items), units])

    def maximum(self, parameters: Array, sd: float) -> tuple[Array, float, Array]:
        """Return the parameters that maximize the penalised likelihood, the log-likelihood, and the probabilities."""
        n_items = len(self.items)
        precision = np.zeros(parameters.size)
        precision[:n_items] = 0.0 if sd == math.inf else sd**-2

        def objective(values: Array) -> tuple[float, Array]:
            total, probabilities = self.events.probabilities(values)
            return total - 0.5 * float(precision @ values**2), probabilities

        value, probabilities = objective(parameters)
        for _ in range(MAX_ITERATIONS):
            residual = -probabilities * self.events.count[self.events.event]
            np.add.at(residual, self.events.choice, self.events.count)
            slope = self.events.design.T @ residual - precision * parameters
            information = self.add_prior(self.events.information(probabilities), sd)
            step = _solve(with_level(information, n_items), slope)
            step[:n_items] -= step[:n_items].sum() / max(1, n_items)  # a common shift changes no probability
            scale = min(1.0, 4.0 / max(1e-300, float(np.abs(step * self._units).max())))
            while True:
                trial = parameters + scale * step
                new_value, new_probabilities = objective(trial)
                if new_value >= value - 1e-12 * abs(value) or scale < 1e-10:
                    break
                scale /= 2
            parameters, value, probabilities = trial, new_value, new_probabilities
            largest = float(np.abs(parameters * self._units).max())
            if sd == math.inf and largest > LARGEST:  # with a prior, the estimate is always finite
                break
            if float(np.abs(scale * step * self._units).max()) < TOLERANCE * max(1.0, largest):
                return parameters, self.events.probabilities(parameters)[0], probabilities
        raise _without_estimate(sd, of_strengths=bool(np.abs(parameters * self._units).argmax() < n_items))

    def _estimate_spread(self, parameters: Array) -> tuple[float, Array]:
        """Return the estimated standard deviation t of the prior, and the parameters for it.

        The estimate is the local maximum next to t = 2 of the marginal likelihood, in Laplace's approximation over the
        strengths, times a normal density of log t with mean log 2 and standard deviation 1.
        """
        from scipy.optimize import minimize_scalar

        n_items, current = len(self.items), parameters

        def cost(log_sd: float) -> float:
            nonlocal current
            sd = math.exp(log_sd)
            current, total, probabilities = self.maximum(current, sd)
            curvature = self.add_prior(self.events.information(probabilities), sd)[:n_items, :n_items]
            squares = float(current[:n_items] @ current[:n_items]) / sd**2
            marginal = total - 0.5 * squares - n_items * log_sd - 0.5 * float(np.linalg.slogdet(curvature)[1])
            return 0.5 * (log_sd - math.log(SD_START)) ** 2 - marginal

        low, near, high = math.log(SD_RANGE[0]), math.log(SD_START), math.log(SD_RANGE[1])
        step = _SD_STEP if cost(near + 1e-3) < cost(near) else -_SD_STEP
        far = near + step
        while low < far < high and cost(far) < cost(far - step):
            far += step
        ends = sorted((min(max(far, low), high), min(max(far - 2 * step, low), high)))
        log_sd = float(minimize_scalar(cost, bounds=ends, method="bounded", options={"xatol": 1e-5}).x)
        cost(log_sd)
        return math.exp(log_sd), current


def _without_estimate(sd: float, *, of_strengths: bool) -> ModelError:
    prior = "without a prior" if sd == math.inf else "with a prior as wide as this"
    return ModelError(prior + _INFINITE if of_strengths else _INFINITE_EFFECT)


def counted_answers(weights: Array, noun: str) -> str:
    """Return the number of answers as text: the sum of the weights if all are whole numbers, else the number of rows.

    Examples
    --------
    >>> counted_answers(np.array([2.0, 3.0]), "vote"), counted_answers(np.array([0.5, 0.5]), "vote")
    ('5 votes', '2 votes')
    """
    return counted(int(weights.sum()) if (weights % 1 == 0).all() else weights.size, noun)


def _solve(matrix: Array, target: Array) -> Array:
    """Solve a symmetric system; by least squares if the matrix is not positive definite."""
    from scipy.linalg import cho_factor, cho_solve

    with suppress(np.linalg.LinAlgError):
        return np.asarray(cho_solve(cho_factor(matrix, check_finite=False), target, check_finite=False))
    return np.asarray(np.linalg.lstsq(matrix, target, rcond=None)[0])


def _order_of(row: int, ranking: Any) -> list[list[Hashable]]:
    """Return the groups of ties of a ranking, best first."""
    if isinstance(ranking, Ranking):
        groups: dict[float, list[Hashable]] = {}
        labels = range(ranking.n_items) if ranking.labels is None else ranking.labels
        for place in ranking.best_first.tolist():
            groups.setdefault(float(ranking.ranks[place]), []).append(labels[place])
        return list(groups.values())
    if not isinstance(ranking, Sequence) or isinstance(ranking, str):
        raise ModelError(f"ranking {row} must be a list of labels, best first; got {shown(ranking)}")
    order = [list(group) if isinstance(group, list | set | frozenset) else [group] for group in ranking]
    if wrong := [item for group in order for item in group if is_unhashable(item)]:
        raise ModelError(offending(f"labels must be hashable; ranking {row} has", wrong))
    return order


def _best_worst_of(row: int, answer: Any) -> tuple[Sequence[Hashable], Hashable, Hashable]:
    is_triple = isinstance(answer, list | tuple) and len(answer) == 3
    if not is_triple or not isinstance(answer[0], list | tuple) or any(map(is_unhashable, (*answer[0], *answer[1:]))):
        raise ModelError(f"answer {row} must be (list of items shown, best, worst); got {shown(answer)}")
    return answer[0], answer[1], answer[2]


def _places_of_items(
    named: Collection[Hashable], items: Sequence[Hashable] | None, answers: str
) -> tuple[Sequence[Hashable], dict[Hashable, int]]:
    """Return all items, by default those that the answers name, and the index of each."""
    labels = checked_labels(list(named) if items is None else items, "items", ModelError)
    place = {label: number for number, label in enumerate(labels)}
    if unknown := [item for item in named if item not in place]:
        raise ModelError(offending(f"{answers} name items that are not in items", unknown))
    return labels, place


def _of_subset(subset: tuple[int, ...], parameter: Mapping[int, int]) -> dict[int, float]:
    """Return the linear form of a group of ties: the mean of its strengths, plus the parameter of its size."""
    terms = dict.fromkeys(subset, 1.0 / len(subset))
    return terms if len(subset) == 1 else {**terms, parameter[len(subset)]: 1.0}


def _whole_numbers(name: str, values: ArrayLike) -> NDArray[np.int64]:
    array = np.asarray(values)
    if is_masked(values) or array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        wrong = [value for value in np.ravel(array).tolist() if whole_number(value) is None]
        raise ModelError(offending(f"{name} must be a column of whole numbers; got", wrong or [shown(values)]))
    return array.astype(np.int64)


def _checked_weights(weights: ArrayLike | None, number: int) -> Array:
    if weights is None:
        return np.ones(number)
    try:
        array = np.asarray(weights, np.float64)
    except (TypeError, ValueError):
        array = np.empty(0)
    if is_masked(weights) or array.shape != (number,) or not (np.isfinite(array) & (array >= 0)).all():
        raise ModelError(f"weights must be {number:,} finite numbers from 0; got {shown(weights)}")
    return array


def number_clusters(clusters: Sequence[Hashable] | None, number: int) -> NDArray[np.int64] | None:
    """Number the clusters of so many answers, in the order of first appearance; ModelError if they are invalid."""
    if clusters is None:
        return None
    if isinstance(clusters, str) or not hasattr(clusters, "__len__") or len(clusters) != number:
        raise ModelError(f"clusters must be {number:,} names, one for each answer")
    if getattr(clusters, "ndim", 1) > 1 or not all(isinstance(name, Hashable) for name in clusters):
        raise ModelError(
            "clusters must be one name for each answer; for clusters by voter and by prompt, use ChoiceAnswers with "
            'both, and cluster="both"'
        )
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in clusters], np.int64)


def _checked_covariates(covariates: Mapping[str, tuple[ArrayLike, ArrayLike]] | None, number: int) -> list[Array]:
    """Return the difference of each covariate between the sides; a choice depends on nothing else."""
    columns = []
    if covariates is not None and not isinstance(covariates, Mapping):
        raise ModelError(f"covariates must be a dict of name to (left, right); got {shown(covariates)}")
    for name, pair in (covariates or {}).items():
        try:
            sides = tuple(np.asarray(side, np.float64) for side in pair)
        except (TypeError, ValueError):
            sides = ()
        if len(sides) != 2 or any(side.shape != (number,) or not np.isfinite(side).all() for side in sides):
            raise ModelError(f"covariate {shown(name)} needs {number:,} finite numbers for each side")
        with np.errstate(over="ignore"):
            differences = sides[0] - sides[1]
        if np.abs(differences).max(initial=0.0) > MOST_DIFFERENT:
            raise ModelError(f"covariate {shown(name)} differs between the sides by more than {MOST_DIFFERENT:g}")
        columns.append(differences)
    return columns
