import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from rankcorr._workers import in_threads, map_in_threads


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_results_and_progress_are_in_the_order_of_the_blocks(workers):
    steps, began = [], threading.Event()
    blocks = [5, 1, 4, 2, 3]

    def slow_first(block):
        if block != 5:
            began.set()
        elif workers > 1:
            assert began.wait(60)  # lets another task begin before the first one ends
        return block * block

    results = in_threads(slow_first, blocks, workers, steps.append, size=lambda block: block)
    assert results == [25, 1, 16, 4, 9]
    assert steps == blocks


@pytest.mark.parametrize("workers", [1, 2])
def test_an_exception_of_progress_stops_the_work(workers):
    started = []

    def stop(_):
        raise TimeoutError("enough")

    with pytest.raises(TimeoutError, match="enough"):
        in_threads(started.append, range(50), workers, stop)
    assert len(started) <= 4 * workers  # of the few submitted in advance
    if workers == 1:
        assert started == [0]


def test_waiting_tasks_never_start_after_progress_stops_the_work(monkeypatch):
    started, may_end = [], threading.Event()

    class Pool(ThreadPoolExecutor):
        def shutdown(self, *args, **options):
            may_end.set()  # tasks that have not started are cancelled by now
            super().shutdown(*args, **options)

    def task(block):
        started.append(block)
        if block > 0:
            assert may_end.wait(120)

    def stop(_):
        raise TimeoutError("enough")

    monkeypatch.setattr("rankcorr._workers.ThreadPoolExecutor", Pool)
    with pytest.raises(TimeoutError, match="enough"):
        in_threads(task, range(50), 2, stop)
    assert len(started) <= 3  # the first one, and those of the two threads


def test_one_worker_starts_no_thread():
    caller = threading.current_thread()
    assert in_threads(lambda _: threading.current_thread() is caller, [1, 2], 1) == [True, True]


@pytest.mark.parametrize("workers", [1, 2])
def test_an_exception_in_a_task_reaches_the_caller(workers):
    def failing(block):
        if block == 2:
            raise ValueError("block 2")
        return block

    with pytest.raises(ValueError, match="block 2"):
        in_threads(failing, [1, 2, 3], workers)


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_a_stream_is_mapped_in_order_and_a_few_blocks_ahead(workers):
    numbers = []

    def blocks():
        for number in range(20):
            numbers.append(number)
            yield number

    for place, result in enumerate(map_in_threads(lambda number: number * number, blocks(), workers)):
        assert result == place * place
        assert len(numbers) <= place + workers + 1
    assert place == 19


@pytest.mark.parametrize("workers", [1, 2])
def test_a_failing_task_stops_the_stream(workers):
    started = []

    def failing(number):
        started.append(number)
        if number == 2:
            raise ValueError("block 2")
        return number

    with pytest.raises(ValueError, match="block 2"):
        list(map_in_threads(failing, iter(range(50)), workers))
    assert len(started) <= 3 + 2 * workers
