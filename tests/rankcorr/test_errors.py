import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest

from rankcorr import UndefinedCorrelationWarning, correlate_many, weighted_rho
from rankcorr._checks import collected_notices, give_notice

UNDEFINED = "the correlation is undefined: all items that have weight are tied in one ranking"


def test_collected_notices_are_not_warnings():
    with warnings.catch_warnings(record=True, action="always") as caught, collected_notices() as notices:
        weighted_rho([1, 2], [3, 3])
        correlate_many([1, 2], {"flat": [3, 3]})
    assert caught == []
    assert notices[0] == UNDEFINED
    assert "'flat'" in notices[1]


def test_after_the_block_a_warning_is_a_warning_again():
    with collected_notices():
        pass
    with pytest.warns(UndefinedCorrelationWarning, match=UNDEFINED):
        weighted_rho([1, 2], [3, 3])


def test_inner_blocks_collect_for_themselves():
    with collected_notices() as outer:
        with collected_notices() as inner:
            weighted_rho([1, 2], [3, 3])
        assert len(inner) == 1
        assert outer == []
        weighted_rho([1, 2], [3, 3])
    assert outer == [UNDEFINED]


def test_threads_do_not_mix():
    both_inside = threading.Barrier(2, timeout=120)

    def n_notices(scores):
        with collected_notices() as notices:
            both_inside.wait()
            weighted_rho([1, 2], scores)
            both_inside.wait()
            return len(notices)

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(n_notices, [[3, 3], [1, 2]])) == [1, 0]


def test_a_notice_of_any_kind_points_to_the_caller_of_the_public_function():
    def public():
        give_notice("three left", UserWarning)

    with pytest.warns(UserWarning, match="three left") as caught:
        public()
    assert caught[0].filename == __file__
    with collected_notices() as notices:
        public()
    assert notices == ["three left"]
