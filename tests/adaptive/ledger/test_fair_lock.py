"""FairLock are taken in the order in which they were asked for, and by one thread at a time."""

import threading
import time

import pytest

from adaptive.ledger._store.database import FairLock


def soon():
    return time.monotonic() + 60


def test_who_came_first_is_first():
    turns, order, threads = FairLock(), [], []

    def take(name):
        with turns.turn(soon()):
            order.append(name)

    with turns.turn(soon()):
        for name in range(20):
            threads.append(threading.Thread(target=take, args=(name,)))
            threads[-1].start()
            while len(turns._waiting) <= name:
                time.sleep(0.001)
        assert order == []
    for thread in threads:
        thread.join()
    assert order == list(range(20))


def test_one_thread_at_a_time_also_where_some_give_up():
    turns, inside, most, gave_up = FairLock(), [], [], []

    def take(name):
        n_turns = 0
        while n_turns < 20:
            try:
                with turns.turn(time.monotonic() + 0.0005):
                    inside.append(name)
                    most.append(len(inside))
                    time.sleep(0.0002)
                    inside.remove(name)
                    n_turns += 1
            except TimeoutError:
                gave_up.append(name)

    threads = [threading.Thread(target=take, args=(name,)) for name in range(8)]
    with turns.turn(soon()):
        for thread in threads:
            thread.start()
        while len(set(gave_up)) < 8:
            time.sleep(0.001)
        assert most == []
    for thread in threads:
        thread.join()
    assert most == [1] * 160
    with turns.turn(soon()):
        assert not turns._waiting


def test_an_error_ends_the_turn():
    turns = FairLock()
    with pytest.raises(KeyError), turns.turn(soon()):
        raise KeyError
    with turns.turn(soon()):
        pass
    assert not turns._taken
