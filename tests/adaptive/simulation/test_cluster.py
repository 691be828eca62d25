"""Simulations on a Dask cluster: two worker processes give the numbers of a serial run."""

import os

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from adaptive._plan import plan_ballots
from adaptive.simulation._similarity import exponential_similarity
from adaptive.simulation._simulate import simulate
from adaptive.simulation._voters import VoterPopulation
from tests.processes import two_workers

pytestmark = pytest.mark.wide

pytest.importorskip("distributed", reason="distributed is not installed: it is the extra 'cluster'")


@pytest.fixture
def client():
    with two_workers() as client:
        yield client


def test_two_worker_processes_give_the_numbers_of_a_serial_run(client):
    plan = plan_ballots(24, n_ballots=3, fraction=0.5, presentations=6)
    arguments = plan, VoterPopulation(n_voters=9), exponential_similarity(24)
    alone = simulate(*arguments, n_simulations=13, seed=11)
    with client.get_executor() as executor:
        together = simulate(*arguments, n_simulations=13, seed=11, executor=executor)
    for approach, coefficients in alone.statistics.items():
        for name, values in coefficients.items():
            assert_array_equal(together.statistics[approach][name], values)
            assert np.unique(values).size > 1

    # The numbers are no proof that the workers had a part in it: count what each of them ran.
    processes = client.run(os.getpid)
    assert len({os.getpid(), *processes.values()}) == 3
    ran = client.run(lambda dask_worker: dask_worker.state.executed_count)
    assert sum(ran.values()) == 12  # the first simulation runs here, to compile the kernels once
    assert min(ran.values()) > 0
