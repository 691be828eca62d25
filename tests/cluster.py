"""A Dask cluster for tests: two worker processes, each of which has a part in the work, however slow the machine is."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

PATIENT = {
    # Otherwise a worker that stands still for a while loses its tasks to the other one, which then does everything.
    "distributed.scheduler.work-stealing": False,
    "distributed.comm.timeouts.connect": "300s",
    "distributed.comm.timeouts.tcp": "300s",
}


@contextmanager
def two_workers() -> Iterator[Any]:
    """Client of two worker processes on the loopback interface, which are started again when they die."""
    import dask
    import distributed

    with (
        dask.config.set(PATIENT),
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            # The scheduler serves HTTP without a dashboard too: with None on port 8787, and it warns if that is taken.
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.wait_for_workers(2, timeout=300)
        yield client
