"""Evaluate votes at some parameters: the log-likelihood, and the slope and curvature of the log posterior.

The curvature is a sum over votes. Beyond 1,500 items no n x n array is built, and the memory is linear in votes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from adaptive._votes import LEFT, RIGHT, TIE
from adaptive.errors import ModelError
from rankcorr._checks import check_choice, shown
from rankcorr._output.results import Result, read_only
from rankcorr._workers import checked_workers, in_threads

if TYPE_CHECKING:
    from adaptive.model._likelihood_kernels import Absorption, Counts, GroupParameters, RowTerms, Votes
Array: TypeAlias = NDArray[Any]
Link: TypeAlias = Literal["logistic", "normal"]
TiesModel: TypeAlias = Literal["davidson", "half"]
TIES: Final[tuple[TiesModel, ...]] = get_args(TiesModel)
# Most items for a dense matrix of curvature where votes are few; for more, conjugate gradients take less.
MAX_FACTOR: Final = 100
MAX_TRACE: Final = 300
_PAIRS_PER_ROW: Final = 4
_ROWS_PER_BLOCK: Final = 1 << 16
MAX_DENSE: Final = 1_500  # most items for a dense matrix of curvature: its inverse takes 0.1 s at 1,000
PROBE_NUMBERS: Final = 4_000
_PROBE_TOLERANCE: Final = 1e-2
INDEFINITE: Final = (
    "the curvature of the votes is not positive definite in floating point: strengths of this size cannot be told from "
    "infinite ones; give prior=, a smaller standard deviation"
)
_VANISHED: Final = 1e-9  # curvature of a vote whose outcome is certain
FLAT: Final = 1e-10  # relative to the largest curvature; the likelihood has no maximum in a flatter direction


@dataclass(frozen=True, eq=False)
class VoteModel(Result):
    """Options of the model fitted to the votes.

    Attributes
    ----------
    link : {"logistic", "normal"}
        Bradley-Terry or Thurstone.
    ties : {"davidson", "half"}
        Ties are a separate outcome, or half a win for either side.
    voters : bool
        Fit a discrimination and an oversight for each voter.
    side_bias : bool
        Voters prefer a side: one bias for all, or one for each voter if `voters`.
    slips : bool
        Fit one oversight of all votes; with `voters`, each voter has a fitted one anyway.

    See Also
    --------
    Strengths : Holds it as `model`.
    bradley_terry, thurstone : Take its options.

    Examples
    --------
    >>> from adaptive import Comparisons, thurstone
    >>> votes = Comparisons.from_labels(["fig", "fig", "kiwi"], ["kiwi", "plum", "plum"], ["left", "left", "right"])
    >>> thurstone(votes, prior=1).model
    VoteModel(link='normal', ties='half', voters=False, side_bias=False, slips=True)
    """

    link: Link = "logistic"
    ties: TiesModel = "davidson"
    voters: bool = False
    side_bias: bool = False
    slips: bool = False

    def __post_init__(self) -> None:
        check_choice("ties", self.ties, TIES)
        for name in ("voters", "side_bias", "slips"):
            if not isinstance(getattr(self, name), bool):
                raise ModelError(f"{name} must be True or False; got {shown(getattr(self, name))}")


@dataclass(frozen=True, eq=False)
class VoteRows:
    """Votes as the loops take them; a group is a voter if voters are modelled, else all votes are one group.

    A row is one vote. In pooled votes it is a pair of items, `answers` has its numbers of votes for the right, of ties
    and of votes for the left, shape (3, n_rows), and `winner` is empty.
    """

    left: Array
    right: Array
    winner: Array
    group: Array
    n_items: int
    n_groups: int
    model: VoteModel
    answers: Array | None = None

    @property
    def half(self) -> bool:
        """True if a tie is half a win for either side."""
        return self.model.ties == "half"

    @cached_property
    def counts(self) -> Counts:
        """Numbers of each answer, by row; a tie is half a vote for either side if the model has it so."""
        from adaptive.model._likelihood_kernels import Counts

        answers = [self.winner == code for code in (RIGHT, TIE, LEFT)] if self.answers is None else self.answers
        right, tie, left = np.array(answers, np.float64, order="C")
        if self.half:
            right, tie, left = right + 0.5 * tie, np.zeros(tie.size), left + 0.5 * tie
        return Counts(*read_only([right, tie, left]))

    @property
    def has_dense_steps(self) -> bool:
        """True if steps take a dense matrix of curvature: it is small, or the votes take longer."""
        return self._is_dense(MAX_FACTOR)

    @property
    def has_dense_traces(self) -> bool:
        """True if traces do; otherwise they are estimated."""
        return self._is_dense(MAX_TRACE)

    def _is_dense(self, n_items: int) -> bool:
        n_pairs = self.n_items**2
        return self.n_items <= n_items or (self.n_items <= MAX_DENSE and n_pairs <= _PAIRS_PER_ROW * self.left.size)

    @cached_property
    def rows_by_group(self) -> tuple[Array, Array]:
        """Rows in the order of their groups, and where the rows of each group begin in it."""
        order = np.argsort(self.group, kind="stable")
        return order, np.searchsorted(self.group[order], np.arange(self.n_groups + 1))

    def select(self, places: Array) -> VoteRows:
        """Return some of the votes."""
        columns = (self.left, self.right, self.winner, self.group)
        return self.with_columns(*(column[places] for column in columns))

    def with_columns(self, *columns: Array) -> VoteRows:
        """Return other votes on the same items; columns are read-only, since a loop is compiled again for others."""
        left, right, winner, group = read_only(list(map(np.ascontiguousarray, columns)))
        return replace(self, left=left, right=right, winner=winner, group=group)

    def of_group(self, values: Array) -> Array:
        """Return the value of each row's group; a number if all rows are of one group."""
        return np.asarray(values[0] if self.n_groups == 1 else values[self.group])

    def by_item(self, values: Array, sign: float) -> Array:
        """Return the sums over the votes on each item, where it is on the right with this sign."""
        from adaptive.model._likelihood_kernels import add_by_item

        sums = np.zeros(self.n_items)
        add_by_item(self.left, self.right, values, sign, sums)
        return sums

    def by_group(self, values: Array) -> Array:
        """Return the sums over the votes of each group."""
        return values.sum(keepdims=True) if self.n_groups == 1 else np.bincount(self.group, values, self.n_groups)

    def by_item_and_group(self, values: Array) -> Array:
        """Return the sums over the votes of each group on each item, negative where it is on the right."""
        n_cells, of_item = self.n_items * self.n_groups, np.int64(self.n_groups)
        left, right = (np.bincount(side * of_item + self.group, values, n_cells) for side in (self.left, self.right))
        return np.asarray(left - right).reshape(self.n_items, self.n_groups)


@dataclass(frozen=True, eq=False)
class Parameters(Result):
    """All fitted parameters: one number for each item in `theta`, for each group of votes in the next three."""

    theta: Array
    discrimination: Array
    oversight: Array
    side: Array
    nu: float
    sd: float

    def __post_init__(self) -> None:
        read_only((self.theta, self.discrimination, self.oversight, self.side))

    @property
    def precision(self) -> float:
        """1 / t^2."""
        return self.sd**-2


@dataclass(frozen=True, eq=False)
class Curvature:
    """Expected curvature of the penalised log-likelihood in the strengths, at some parameters.

    `terms` are what each vote adds to the derivatives, and `discrimination` is that of each group of votes.
    """

    rows: VoteRows
    precision: float
    log_likelihood: float
    terms: RowTerms
    discrimination: Array

    @cached_property
    def flow(self) -> Array:
        """Slope of each vote in the difference of its two strengths."""
        return np.asarray(self.rows.of_group(self.discrimination) * self.terms.score)

    @cached_property
    def slope(self) -> Array:
        """Slope of the log-likelihood in theta, without the prior."""
        return self.rows.by_item(self.flow, -1.0)

    @property
    def weights(self) -> Array:
        """Expected and observed curvature of each vote in the difference of its two strengths, shape (2, n_votes)."""
        weights = np.stack([self.terms.expected, self.terms.observed]) * self.rows.of_group(self.discrimination) ** 2
        return np.asarray(weights)

    @cached_property
    def weight(self) -> Array:
        """Expected curvature of each vote in the difference of its two strengths."""
        return np.asarray(self.terms.expected * self.rows.of_group(self.discrimination) ** 2)

    @cached_property
    def diagonal(self) -> Array:
        """Diagonal of H, the curvature of votes and prior."""
        return self.rows.by_item(self.weight, 1.0) + self.precision

    @cached_property
    def pairs(self) -> tuple[Array, Array, Array]:
        """Both items of each pair that met, and the curvature of all votes on it."""
        rows = self.rows
        lower, upper = np.minimum(rows.left, rows.right), np.maximum(rows.left, rows.right)
        pairs, place = np.unique(lower.astype(np.int64) * rows.n_items + upper, return_inverse=True)
        left, right = np.divmod(pairs, rows.n_items)
        return left.astype(np.int32), right.astype(np.int32), np.bincount(place, self.weight, pairs.size)

    def solve(self, target: Array, tolerance: float, absorption: Absorption | None = None) -> Array:
        """Return H^-1 target, in columns; that only rounding can make H indefinite is a ModelError.

        The `absorption` is taken off H.
        """
        diagonal = self.diagonal
        is_singular = self.precision == 0  # strengths are known up to a constant
        if is_singular:
            # A trace of a prior keeps rounding errors from growing in that direction, whose part is then removed.
            target = target - target.mean(axis=0)
            diagonal = diagonal + 1e-12 * diagonal.max() * (diagonal > 0)
        try:
            pairs = self.rows.left, self.rows.right, self.weight
            solution = solve_system(pairs, diagonal, target, tolerance, absorption)
        except np.linalg.LinAlgError:
            raise ModelError(INDEFINITE) from None
        return solution - solution.mean(axis=0) if is_singular else solution

    def matrix(self) -> Array:
        """Return H as a dense matrix, shape (n_items, n_items)."""
        dense = laplacian(self.rows, self.weight)
        dense[np.diag_indices(self.rows.n_items)] += self.precision
        return dense

    @cached_property
    def inverse(self) -> Array:
        """H^-1 as a dense matrix."""
        return inverse_of(self.matrix()) if self.precision > 0 else np.linalg.inv(self.matrix())

    def centred_inverse(self, absorbed: Array | float = 0.0) -> Array:
        """Return H^-1 without a common level, which only the prior penalizes; without a prior H is singular.

        `absorbed` is first taken off H.
        """
        mean = np.full((self.rows.n_items, self.rows.n_items), 1.0 / self.rows.n_items)
        return inverse_of(self.matrix() - absorbed + mean) - mean / (1.0 + self.precision)

    @cached_property
    def trace_and_leverage(self) -> tuple[float, Array]:
        """Trace of H^-1 and, for each vote, the variance of the difference of its two strengths.

        They are exact for few items, else estimated with fixed random signs.
        """
        n_items, left, right = self.rows.n_items, self.rows.left, self.rows.right
        if self.rows.has_dense_traces:
            diagonal = np.diagonal(self.inverse)
            return float(diagonal.sum()), diagonal[left] + diagonal[right] - 2.0 * self.inverse[left, right]
        from adaptive.model._likelihood_kernels import add_products_of_differences

        signs = random_signs(n_items)
        solved = self.solve(signs, _PROBE_TOLERANCE)
        variances = np.zeros(left.size)
        for column in range(signs.shape[1]):
            add_products_of_differences(left, right, signs[:, column], solved[:, column], variances)
        return float(np.sum(signs * solved)), variances


def random_signs(n_items: int) -> Array:
    """Return random columns whose products sum to about a trace (Hutchinson 1990), always the same ones.

    The estimate has a relative standard error of about sqrt(2 / (n_items n_columns)).
    """
    n_columns = max(2, PROBE_NUMBERS // n_items)
    return np.random.default_rng(0).choice([-1.0, 1.0], (n_items, n_columns)) / math.sqrt(n_columns)


def solve_system(
    pairs: Sequence[Array], diagonal: Array, target: Array, tolerance: float, absorption: Absorption | None = None
) -> Array:
    """Solve for columns of targets by conjugate gradients, scaled by the diagonal (Hestenes and Stiefel 1952).

    The matrix has this diagonal. `pairs` are left items, right items and curvatures in their difference, which are
    taken off where the two meet. The `absorption` is taken off too. A column ends when its residual, in the norm of the
    inverse diagonal, is `tolerance` times that of its target. SciPy's `cg` does not notice a direction without positive
    curvature, and would lead to a saddle point.

    Raises
    ------
    LinAlgError
        There is such a direction.
    """
    from adaptive.model._likelihood_kernels import Absorption, GradientVectors, PairCurvatures, conjugate_gradients

    if (diagonal <= 0).any():
        raise np.linalg.LinAlgError
    left, right = read_only(pairs[:2])
    curvatures, solution = PairCurvatures(left, right, pairs[2]), np.zeros(target.shape[::-1])
    if absorption is None:
        absorption = Absorption(left[:0], np.empty((0, 0)), np.empty((0, 0, 0)), *[np.empty(0)] * 3)
    for column, solved in zip(target.T, solution, strict=True):
        vectors = GradientVectors(solved, column.copy(), column / diagonal, np.empty(column.size))
        if not conjugate_gradients(curvatures, diagonal, absorption, tolerance, vectors):
            raise np.linalg.LinAlgError
    return solution.T


def inverse_of(matrix: Array) -> Array:
    """Invert a positive definite matrix by Cholesky's factor, in two thirds of the time of `numpy.linalg.inv`."""
    from scipy.linalg import lapack

    factor, failed = lapack.dpotrf(matrix, lower=True)
    if not failed:
        inverse, failed = lapack.dpotri(factor, lower=True, overwrite_c=True)
    if failed:
        raise ModelError(INDEFINITE)
    return np.asarray(inverse + np.tril(inverse, -1).T)


def laplacian(rows: VoteRows, weight: Array) -> Array:
    """Return a dense curvature matrix of votes whose curvatures in the difference of strengths are `weight`."""
    from adaptive.model._likelihood_kernels import add_laplacian

    matrix = np.zeros((rows.n_items, rows.n_items))
    add_laplacian(rows.left, rows.right, weight, matrix)
    return matrix


def with_level(information: Array, n_items: int) -> Array:
    """Return the information with curvature added for a common shift of the strengths, which no vote determines."""
    fixed = information.copy()
    fixed[:n_items, :n_items] += np.diagonal(information)[:n_items].sum() / max(1, n_items) ** 2
    return fixed


def count_flat(information: Array, n_items: int) -> int:
    """Count the directions without information, up to rounding, in scale-free units; not that of a common shift."""
    fixed = with_level(information, n_items)
    scale = np.sqrt(np.diagonal(fixed))
    scale[scale == 0] = 1.0
    eigenvalues = np.linalg.eigvalsh(fixed / np.outer(scale, scale))
    return int(np.count_nonzero(eigenvalues <= FLAT * eigenvalues[-1]))


def is_confounded(information: Array, n_items: int) -> bool:
    """Return whether an effect other than the strengths, which come first, cannot be separated from them."""
    n_flat = count_flat(information, n_items)
    return n_flat > 0 and n_flat > count_flat(information[:n_items, :n_items], n_items)


def kernel_input(rows: VoteRows, at: Parameters) -> tuple[Votes, GroupParameters]:
    """Return votes and the parameters of their groups as the loops take them."""
    from adaptive.model._likelihood_kernels import LOGISTIC, NORMAL, GroupParameters, Votes

    link = LOGISTIC if rows.model.link == "logistic" else NORMAL
    votes = Votes(rows.left, rows.right, rows.winner, rows.group)
    return votes, GroupParameters(at.discrimination, at.oversight, at.side, at.nu, link, rows.half)


def fill_terms(rows: VoteRows, at: Parameters, terms: RowTerms) -> float:
    """Set `terms` at some parameters, in threads if there are many rows, and return the log-likelihood."""
    from adaptive.model._likelihood_kernels import Counts, Margins, Votes, row_terms

    votes, groups = kernel_input(rows, at)
    if rows.left.size <= _ROWS_PER_BLOCK:
        return row_terms(votes, rows.counts, groups, at.theta, Margins.empty(), terms)

    def fill(part: slice) -> float:
        votes_of_part, counts = Votes(*(column[part] for column in votes)), Counts(*(n[part] for n in rows.counts))
        return row_terms(votes_of_part, counts, groups, at.theta, Margins.empty(), terms.part(part))

    # Blocks of a fixed size, so that the sum does not depend on the number of threads.
    parts = [slice(start, start + _ROWS_PER_BLOCK) for start in range(0, rows.left.size, _ROWS_PER_BLOCK)]
    return math.fsum(in_threads(fill, parts, checked_workers(None)))


def curvature_at(rows: VoteRows, at: Parameters) -> Curvature:
    """Return log-likelihood, slopes and expected curvature, which is never indefinite."""
    from adaptive.model._likelihood_kernels import RowTerms

    terms = RowTerms.of(rows.left.size)
    return Curvature(rows, at.precision, fill_terms(rows, at, terms), terms, at.discrimination)


def check_bounded(rows: VoteRows, weight: Array) -> None:
    """Refuse strengths that grow without bound: the votes between two groups of items carry no information any longer.

    Without a prior this happens if one group never lost to the other, or so seldom that oversights explain it.
    """
    if (tells := weight > _VANISHED).all():
        return
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((tells[tells], (rows.left[tells], rows.right[tells])), (rows.n_items,) * 2)
    n_parts = connected_components(graph, directed=False, return_labels=False)
    if n_parts > 1:
        raise ModelError(
            f"without a prior some strengths are infinite: the items fall into {n_parts} groups, and one never "
            "lost to another, or so seldom that slips explain it; set prior= to a standard deviation, such as 1"
        )
