"""Shares of answers, with the numbers that they are of."""

from __future__ import annotations

from dataclasses import dataclass

from adaptive.model.judged_votes import wilson_interval

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

    def interval(self, level: float) -> tuple[float, float] | None:
        """Wilson's interval of the share at this level; None of nothing."""
        if self.share is None:
            return None
        from scipy.special import ndtri

        return wilson_interval(self.share, self.n, float(ndtri((1 + level) / 2)))

    def __str__(self) -> str:
        return f"{self.n_so:,} of {self.n:,}" if self.n else "-"
