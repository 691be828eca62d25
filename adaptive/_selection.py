"""Select the items of the next ballot by the scores of the current one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adaptive._scores import BallotScores
from adaptive.errors import ProtocolError
from rankcorr._results import Result, read_only

_SLACK: Final = 1e-9  # scores are sums of some hundred numbers of at most 1


@dataclass(frozen=True, eq=False)
class Selection(Result):
    """The items of the next ballot.

    Attributes
    ----------
    places : ndarray of intp, shape (n_selected,), read-only
        Indices of the items, best first; equal items keep their order, except those tied at the cut.
    n_tied_at_cut : int
        Items that share the score at the cut, where only some could be chosen; 0 when the cut separates two scores.

    See Also
    --------
    select_top, select_by_mean : Return it.

    Examples
    --------
    >>> import numpy as np
    >>> from adaptive import select_top
    >>> selection = select_top([0.2, 0.9, 0.4], 2, np.random.default_rng(0))
    >>> selection.places, selection.n_tied_at_cut
    (array([1, 2]), 0)
    """

    places: NDArray[np.intp]
    n_tied_at_cut: int


Select: TypeAlias = Callable[[BallotScores, int, np.random.Generator], Selection]
"""Scores of ballot k, N_(k+1), and a generator for ties: gives the items of ballot k + 1."""


def select_top(scores: ArrayLike, n_selected: int, rng: np.random.Generator) -> Selection:
    """Select the items with the largest scores; ties at the cut are broken at random.

    The generator is used only when there are ties at the cut.

    Parameters
    ----------
    scores : array_like of shape (n_items,)
        Larger is better.
    n_selected : int
        From 1 to n_items.
    rng : numpy.random.Generator

    Raises
    ------
    ProtocolError
        When a score is nan, or there are not that many items.

    See Also
    --------
    select_by_mean : The rule of the paper, with these steps.
    Selection : The type of the result.

    Examples
    --------
    >>> import numpy as np
    >>> from adaptive import select_top
    >>> select_top([0.2, 0.9, 0.4], 2, np.random.default_rng(0))
    Selection(places=array([1, 2]), n_tied_at_cut=0)
    >>> select_top([0.4, 0.9, 0.4, 0.4], 2, np.random.default_rng(0)).n_tied_at_cut
    3
    """
    values = np.asarray(scores, np.float64)
    if values.ndim != 1 or np.isnan(values).any():
        n_nan = np.count_nonzero(np.isnan(values))
        raise ProtocolError(f"selection needs one score for each item; got shape {values.shape} with {n_nan} nan")
    if not 1 <= n_selected <= values.size:
        raise ProtocolError(f"cannot select {n_selected} of {values.size} items")
    # Stable, because the order of equal items under another sort depends on the processor, and the next draw on it.
    order = (-values).argsort(kind="stable")
    places, n_tied = order[:n_selected], 0
    cut = values[order[n_selected - 1]]
    if n_selected < values.size and values[order[n_selected]] == cut:
        tied = np.flatnonzero(values == cut)
        n_tied = tied.size
        n_above = np.count_nonzero(values > cut)
        places = np.concatenate([order[:n_above], rng.permutation(tied)[: n_selected - n_above]])
    return Selection(read_only(places), n_tied)


def select_by_mean(scores: BallotScores, n_selected: int, rng: np.random.Generator) -> Selection:
    """Select by ybar^(k), "according to the results of the previous ballots" (section 2.5 of the paper).

    See Also
    --------
    select_top : The same selection from any scores.
    run_protocol : The option `select`.

    Examples
    --------
    >>> import numpy as np
    >>> from adaptive import draw_ballot, select_by_mean
    >>> from adaptive._scores import score_ballot
    >>> ballot = draw_ballot(["apple", "pear"], 1, 1, np.random.default_rng(0))
    >>> scores = score_ballot(ballot, [0], ballot_number=2, previous_mean=np.array([0.5, 0.75]))
    >>> select_by_mean(scores, 1, np.random.default_rng(0)).places
    array([1])
    """
    return select_top(scores.ybar, n_selected, rng)


def select_again(places: NDArray[np.intp], n_tied_at_cut: int) -> Select:
    """Return a function that repeats a recorded selection, whatever its generator.

    The function raises a ProtocolError if the scores could not have led to these items. It allows for the last digits
    of the scores, which may differ between processors.

    Parameters
    ----------
    places : ndarray of intp, shape (n_selected,)
    n_tied_at_cut : int

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> scores = SimpleNamespace(ybar=np.array([0.4, 0.9, 0.4, 0.4]))
    >>> select_again(np.array([1, 3]), 3)(scores, 2, np.random.default_rng(0)).places
    array([1, 3])
    """

    def select(scores: BallotScores, n_selected: int, rng: np.random.Generator) -> Selection:  # noqa: ARG001
        values = scores.ybar
        is_selected = np.zeros(values.size, bool)
        is_selected[places] = True
        if places.size != n_selected or np.count_nonzero(is_selected) != n_selected:
            raise ProtocolError(f"{n_selected} different items must be selected; got {places.size}")
        others = values[~is_selected].max(initial=-np.inf)
        if (np.diff(values[places]) > _SLACK).any() or others > values[places[-1]] + _SLACK:
            raise ProtocolError("the items selected are not the best by the votes")
        cut = values[places[-1]]
        tied = [int(np.count_nonzero(np.abs(values - cut) <= slack)) * (others >= cut - slack) for slack in (0, _SLACK)]
        if n_tied_at_cut not in tied:
            raise ProtocolError(f"the votes leave {tied[0]} items tied at the cut; got {n_tied_at_cut}")
        return Selection(places, n_tied_at_cut)

    return select
