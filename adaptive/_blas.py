"""Let linear algebra of small matrices run on one thread."""

import threading
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any, Final

MOST_ON_ONE_THREAD: Final = 1_000  # rows of a matrix


class _BlasLimit:
    """A limit of one thread, which holds as long as any caller needs it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_users = 0
        self._limiter: Any = None

    def __enter__(self) -> None:
        """Set the limit unless it is set."""
        with self._lock:
            if self._n_users == 0:
                _let_this_thread_set()
                self._limiter = _blas_libraries().limit(limits=1)
            self._n_users += 1

    def __exit__(self, *_: object) -> None:
        """Restore the former number of threads if nobody else needs the limit."""
        with self._lock:
            self._n_users -= 1
            if self._n_users == 0:
                _let_this_thread_set()
                self._limiter.restore_original_limits()


_LIMIT: Final = _BlasLimit()


def one_blas_thread(n_rows: int) -> AbstractContextManager[None]:
    """Run linear algebra of matrices with so many rows on one thread, unless they are large.

    On a busy machine, the threads of BLAS wait for each other: a Cholesky factor of 129 rows, which takes 0.14 ms, took
    up to 86 ms of processor time, and a fit of 135,634 votes on 129 items 2.6 s instead of 0.36 s.
    """
    return nullcontext() if n_rows > MOST_ON_ONE_THREAD else _LIMIT


def _let_this_thread_set() -> None:
    """Let this thread set the number of threads: OpenBLAS silently ignores all but the one that set it last."""
    for library in _blas_libraries().lib_controllers:
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread(force=True)


@cache
def _blas_libraries() -> Any:
    import scipy.linalg  # noqa: F401 - it brings its own library, which must be known
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")
