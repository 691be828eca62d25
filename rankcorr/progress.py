"""A progress bar for long work, on a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def progress_bar(total: int | None, unit: str) -> Iterator[Callable[[int], Any]]:
    """Yield a function that advances a progress bar on stderr, for the argument `progress` of the library.

    It does nothing if stderr is not a terminal, tqdm is not installed, or there are no steps. The bar appears only if
    the work takes longer than 0.3 s, and disappears at the end of the block.

    Parameters
    ----------
    total : int or None
        Number of steps; None if it is unknown.
    unit : str
        What one step is called.

    Examples
    --------
    >>> from rankcorr.inference.null import null_distribution
    >>> with progress_bar(100, "permutation") as advance:
    ...     null = null_distribution(range(9), range(9), n_resamples=100, progress=advance)
    """
    if total == 0 or sys.stderr is None or not sys.stderr.isatty():
        yield lambda _: None
        return
    try:
        from tqdm import tqdm
    except ImportError:
        yield lambda _: None
        return
    with tqdm(total=total, unit=f" {unit}", leave=False, delay=0.3) as bar:
        yield bar.update
