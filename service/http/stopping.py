"""Whether the service is about to stop: it still answers, and asks for no more requests."""

from __future__ import annotations

import mmap

from service.http.problems import Problem


class Stopping:
    """A sign for all workers on this machine, in memory that is shared with every worker forked later.

    Examples
    --------
    >>> stopping = Stopping()
    >>> stopping.check()
    >>> stopping.begin()
    >>> bool(stopping)
    True
    """

    def __init__(self) -> None:
        self._sign = mmap.mmap(-1, 1)

    def __bool__(self) -> bool:
        return self._sign[0] != 0

    def begin(self) -> None:
        """Give the sign."""
        self._sign[0] = 1

    def check(self) -> None:
        """Refuse to be called ready.

        Raises
        ------
        Problem
            503, when the service is about to stop.
        """
        if self:
            raise Problem(503, "the service is about to stop; send requests elsewhere", kind="stopping")
