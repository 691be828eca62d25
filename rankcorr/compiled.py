"""The compiled loops, imported by the first call that needs them: numba takes 0.4 s to import."""

from __future__ import annotations

from functools import cache
from types import ModuleType


@cache
def loops() -> ModuleType:
    """Return `rankcorr.kernels`.

    An import statement inside a function costs 0.5 us each time: with four of them, a tenth of a call for 100 items.

    Examples
    --------
    >>> loops().ADDITIVE
    0
    """
    from rankcorr import kernels

    return kernels
