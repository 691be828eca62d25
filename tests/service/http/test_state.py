"""The limit on the work of a request."""

import threading

import pytest

from service.http.problems import Problem
from service.http.state import Deadline


def test_time_left_and_time_over():
    now = [0.0]
    deadline = Deadline(5, clock=lambda: now[0])
    now[0] = 5.0
    deadline(3)
    assert deadline.submit(max, 1, 2).result() == 2
    now[0] = 5.1
    with pytest.raises(Problem, match=r"at most 5 s of processor time .*\(RANKCORR_MAX_SECONDS\)") as caught:
        deadline()
    assert caught.value.status == 422
    with pytest.raises(Problem, match="at most 5 s"):
        deadline.submit(max, 1, 2)


def _work_without_end(deadline):
    while True:
        deadline()


def test_the_clock_is_that_of_the_processor():
    """Time that passes without work is no work: how busy the machine is changes no status."""
    deadline = Deadline(0.2)
    threading.Event().wait(0.3)
    deadline()
    with pytest.raises(Problem, match="needs more"):
        _work_without_end(deadline)
