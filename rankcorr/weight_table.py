"""The share of the weight that each of the top ranks has, for a given n0 or for the n0 that a share asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from rankcorr.checks import shown, whole_number
from rankcorr.errors import OptionError, ShareError
from rankcorr.shares import first_rank_share, offset_for_share, top_share
from rankcorr.weights import DEFAULT_N0, check_offset

DEFAULT_TOP: Final = 10
MAX_TOP: Final = 100_000


@dataclass(frozen=True)
class WeightTable:
    """Shares of the weight 1/(n + n0)^2.

    Attributes
    ----------
    n0 : float
        Offset, given or found.
    first_rank_share : float
        R(n0).
    n_items : int or None
        Length of the list; None is an endless one.
    weights : tuple of float
        Share of each rank, from the first.
    cumulative : tuple of float
        Share of all ranks up to each.
    """

    n0: float
    first_rank_share: float
    n_items: int | None
    weights: tuple[float, ...]
    cumulative: tuple[float, ...]

    def rows(self) -> list[dict[str, Any]]:
        """One row for each rank, ready for JSON."""
        return [
            {"rank": rank, "weight": weight, "cumulative_share": total}
            for rank, (weight, total) in enumerate(zip(self.weights, self.cumulative, strict=True), start=1)
        ]


def weight_table(
    n0: float | None = None,
    *,
    share: float | None = None,
    k: int | None = None,
    top: int | None = None,
    n_items: int | None = None,
) -> WeightTable:
    """Tabulate the shares of the top ranks.

    Parameters
    ----------
    n0 : float, optional
        Offset; 2 by default. Not together with `share`.
    share : float, optional
        Find the n0 at which the first `k` ranks (1 by default) hold this share; see `offset_for_share`.
    k : int, optional
        Belongs to `share`.
    top : int, optional
        Number of ranks to list; by default 10, or `k` if that is more, as far as the list goes.
    n_items : int, optional
        Length of the list; None is an endless one.

    Raises
    ------
    OptionError
        Options that contradict each other, or a `top` that is longer than the list.
    ShareError, WeightError
        As `offset_for_share` and `top_share`.

    Examples
    --------
    >>> [round(total, 3) for total in weight_table(2, top=3).cumulative]
    [0.281, 0.44, 0.541]
    """
    if share is not None and n0 is not None:
        raise OptionError("n0 and share exclude each other")
    if share is None and k is not None:
        raise OptionError("k belongs to share, which is missing")
    offset = offset_for_share(share, 1 if k is None else k, n_items) if share is not None else n0
    offset = DEFAULT_N0 if offset is None else check_offset(offset)
    first = first_rank_share(offset, n_items)  # checks n_items
    if top is None:
        listed = min(max(DEFAULT_TOP, k or 1), n_items or MAX_TOP, MAX_TOP)
    else:
        listed = whole_number(top) or 0
        if not 1 <= listed <= MAX_TOP:
            raise ShareError(f"top must be a whole number from 1 to {MAX_TOP}; got {shown(top)}")
        if n_items is not None and listed > n_items:
            raise OptionError(f"top is {listed}, but n_items is {n_items}")
    # f(n) / f(1) times the first share: differences of cumulative shares would lose digits.
    weights = tuple(first * ((offset + 1) / (offset + rank)) ** 2 for rank in range(1, listed + 1))
    return WeightTable(
        float(offset), first, n_items, weights, tuple(top_share(rank, offset, n_items) for rank in range(1, listed + 1))
    )
