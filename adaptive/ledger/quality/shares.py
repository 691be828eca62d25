"""Shares of answers, with the numbers that they are of."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Share"]


@dataclass(frozen=True)
class Share:
    """How many of n are so.

    Attributes
    ----------
    n, n_so : int
    share : float or None
        None of nothing.
    """

    n: int
    n_so: int
    share: float | None

    @classmethod
    def of(cls, n_so: int, n: int) -> Share:
        """Share of `n_so` in `n`.

        Examples
        --------
        >>> Share.of(3, 4), str(Share.of(0, 0))
        (Share(n=4, n_so=3, share=0.75), '-')
        """
        return cls(n, n_so, n_so / n if n else None)

    def __str__(self) -> str:
        return f"{self.n_so:,} of {self.n:,}" if self.n else "-"
