"""Tuning on a Dask cluster: two worker processes give the result of a serial run."""

import pytest

from adaptive import VoterPopulation, candidates_for, exponential_similarity, tune_plan
from tests.processes import two_workers

pytestmark = pytest.mark.wide

pytest.importorskip("distributed", reason="distributed is not installed: it is the extra 'cluster'")


def test_two_worker_processes_find_the_same_plan():
    with two_workers() as client:
        arguments = {"similarity": exponential_similarity(12), "voters": VoterPopulation(6)}
        arguments |= {"candidates": candidates_for(12, 100, approaches=["matched"]), "simulations": 2, "fresh": 3}
        with client.get_executor() as executor:
            together = tune_plan(100, executor=executor, **arguments)
        ran = client.run(lambda dask_worker: dask_worker.state.executed_count)
    assert together == tune_plan(100, **arguments)
    assert min(ran.values()) > 0
