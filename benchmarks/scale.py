"""Print the speed and memory of evaluation by query for a Parquet file of 10^8 rows, by size, threads and engine.

The files are written to a temporary folder, 0.9 GB for 10^8 rows, and removed. Each size and engine is measured in a
separate process, which compiles the kernels before its clock starts; peak memory is that of the process. Seconds are
elapsed time, so the load of the machine, which each row shows, must be low. The script checks nothing.
"""

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from report import heading, machine, row

from rankcorr.evaluation import QueryEvaluator, combined_means, partial_means, read_batches, streamed_means

COLUMNS = ("query", "relevance", "score")
SLICE = 10_000  # queries that are drawn, and written as one row group, at a time


def write(path: Path, n_queries: int, n_documents: int) -> None:
    """Write gold on five levels and scores without ties, sorted by query; some queries span two row groups."""
    rng = np.random.default_rng(0)
    schema = pa.schema([("query", pa.int64()), ("relevance", pa.int8()), ("score", pa.float64())])
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, n_queries, SLICE):
            size = min(SLICE, n_queries - start)
            n_rows = size * n_documents
            query = np.repeat(np.arange(start, start + size), n_documents)
            gold = rng.choice(5, n_rows, p=(0.7, 0.1, 0.1, 0.05, 0.05)).astype(np.int8)
            table = pa.table([query, gold, gold + 2 * rng.standard_normal(n_rows)], schema=schema)
            writer.write_table(table, row_group_size=SLICE * n_documents - n_documents // 2)


def evaluator(standardized: bool = False) -> QueryEvaluator:
    return QueryEvaluator("tau_w", standardized=standardized)


def stream_means(path: Path, workers: int, n_resamples: int) -> float:
    batches = read_batches(path, COLUMNS, workers=workers)
    return streamed_means(batches, evaluator(), n_resamples=n_resamples, workers=workers).of("tau_w").mean


def values_alone(path: Path, workers: int) -> float:
    n_rows = sum(batch.num_rows for batch in evaluator().batches(read_batches(path, COLUMNS), workers=workers))
    return float(n_rows)


def read_alone(path: Path) -> float:
    return float(sum(batch.num_rows for batch in read_batches(path, COLUMNS)))


def dask_means(path: Path) -> Callable[[], float]:
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "host": "127.0.0.1"}
    client = Client(LocalCluster(**options))

    def run() -> float:
        frame = dd.read_parquet(path, columns=list(COLUMNS), split_row_groups=4, aggregate_files=False)
        values = frame.map_partitions(evaluator().frame, meta=evaluator().frame(frame._meta))
        parts = [
            client.submit(partial_means, partition, evaluator()) for partition in client.compute(values.to_delayed())
        ]
        return combined_means(client.gather(parts)).of("tau_w").mean

    return run


def spark_means(path: Path) -> Callable[[], float]:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    for name in ("spark.driver.host", "spark.driver.bindAddress"):
        builder = builder.config(name, "127.0.0.1")
    spark = builder.config("spark.driver.memory", "4g").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")

    def run() -> float:
        frame = spark.read.parquet(str(path)).repartition(8, "query").sortWithinPartitions("query")
        schema = "query bigint, n_documents bigint, tau_w double"
        values = frame.mapInArrow(evaluator().batches, schema).toArrow()
        return combined_means([partial_means(values, evaluator())]).of("tau_w").mean

    return run


def polars_means(path: Path) -> float:
    import polars as pl

    values = evaluator().frame(pl.read_parquet(path, columns=list(COLUMNS)))
    return combined_means([partial_means(values, evaluator())]).of("tau_w").mean


def measure(way: str, path: Path, workers: int, n_resamples: int) -> None:
    """Run one way on a small file, then on `path`, and print the seconds, peak memory and answer of the second run."""
    small = path.with_name("small.parquet")
    calls = {
        "streamed": lambda file: stream_means(file, workers, n_resamples),
        "values": lambda file: values_alone(file, workers),
        "read": read_alone,
        "polars": polars_means,
    }
    if way in calls:
        first, second = (lambda: calls[way](small)), (lambda: calls[way](path))
    else:
        engine = {"dask": dask_means, "spark": spark_means}[way]
        first = second = engine(path)  # the first call starts and warms up the workers
    first()
    start, processor = time.perf_counter(), time.process_time()
    answer = second()
    seconds = time.perf_counter() - start
    print(
        json.dumps(
            {
                "seconds": seconds,
                "processor": time.process_time() - processor,
                "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
                "answer": answer,
            }
        ),
        flush=True,
    )
    if way == "spark":
        from pyspark.sql import SparkSession

        SparkSession.getActiveSession().stop()


def take_figures(way: str, path: Path, workers: int = 1, n_resamples: int = 1_000) -> dict[str, float]:
    command = [sys.executable, __file__, "--measure", way, str(path), str(workers), str(n_resamples)]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    if process.returncode:
        raise RuntimeError(process.stderr[-2000:])
    return json.loads(process.stdout.splitlines()[-1]) | {"load": os.getloadavg()[0]}


def bench_sizes(folder: Path, sizes: list[int], n_documents: int) -> None:
    heading(
        "Parquet to mean and interval of tau_w (1,000 resamples), one thread",
        *("queries", "rows", "seconds", "rows/s", "us a query", "processor, us", "peak memory, GB", "load"),
    )
    for size in sizes:
        figures = take_figures("streamed", folder / f"{size}.parquet")
        n_rows = size * n_documents
        rates = f"{n_rows / figures['seconds']:,.0f}", f"{1e6 * figures['seconds'] / size:.1f}"
        rates += (f"{1e6 * figures['processor'] / size:.1f}",)
        row(
            f"{size:,}",
            f"{n_rows:,}",
            f"{figures['seconds']:.1f}",
            *rates,
            f"{figures['peak']:.2f}",
            f"{figures['load']:.1f}",
        )


def bench_steps(path: Path, size: int, turns: int) -> None:
    """Print the best of some turns of each way; the ways alternate, so that other load affects all of them."""
    ways: dict[tuple[str, int], Callable[[], float]] = {
        ("read alone", 1): lambda: read_alone(path),
        ("values by query", 1): lambda: values_alone(path, 1),
        ("values by query", 2): lambda: values_alone(path, 2),
        ("and means, 1,000 resamples", 1): lambda: stream_means(path, 1, 1_000),
        ("and means, 1,000 resamples", 2): lambda: stream_means(path, 2, 1_000),
    }
    figures = dict.fromkeys(ways, (math.inf, 0.0, 0.0))
    for _ in range(turns + 1):  # the first turn compiles
        for way, call in ways.items():
            start, processor = time.perf_counter(), time.process_time()
            call()
            seconds = time.perf_counter() - start, time.process_time() - processor, os.getloadavg()[0]
            figures[way] = min(figures[way], seconds)
    heading(
        f"Steps and threads, {size:,} queries, best of {turns}",
        *("way", "threads", "us a query", "rate", "processor, us", "load"),
    )
    for (name, workers), (seconds, processor, load) in figures.items():
        rate = f"{figures[name, 1][0] / seconds:.2f}"
        row(name, workers, f"{1e6 * seconds / size:.2f}", rate, f"{1e6 * processor / size:.2f}", f"{load:.1f}")


def bench_engines(path: Path, size: int, n_documents: int) -> None:
    heading(f"Engines, {size:,} queries, means and intervals", "engine", "seconds", "rows/s", "mean", "load")
    for name, way, workers in (
        ("this library, two threads", "streamed", 2),
        ("Polars, one call", "polars", 1),
        ("Dask, two worker processes", "dask", 1),
        ("Spark, local[2], with a shuffle", "spark", 1),
    ):
        try:
            run_figures = take_figures(way, path, workers)
        except RuntimeError as error:
            row(name, f"failed: {str(error).splitlines()[-1][:80]}", "", "", "")
            continue
        rate = f"{size * n_documents / run_figures['seconds']:,.0f}"
        row(name, f"{run_figures['seconds']:.1f}", rate, repr(run_figures["answer"]), f"{run_figures['load']:.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=1_000_000)
    parser.add_argument("--documents", type=int, default=100)
    parser.add_argument("--engine-queries", type=int, default=100_000)
    parser.add_argument("--steps-queries", type=int, default=40_000)
    parser.add_argument("--turns", type=int, default=10)
    parser.add_argument("--only", choices=("sizes", "steps", "engines"))
    parser.add_argument("--measure", nargs=4, metavar=("WAY", "PATH", "WORKERS", "RESAMPLES"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        way, path, workers, n_resamples = options.measure
        measure(way, Path(path), int(workers), int(n_resamples))
        return
    machine("numpy", "numba", "pyarrow", "polars", "dask")
    sizes = sorted({max(1, options.queries // 100), max(1, options.queries // 10), options.queries})
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder / "small.parquet", 3_000, options.documents)
        for size in {*(sizes if options.only in (None, "sizes") else ()), options.engine_queries}:
            write(folder / f"{size}.parquet", size, options.documents)
        if options.only in (None, "sizes"):
            bench_sizes(folder, sizes, options.documents)
        path = folder / f"{options.engine_queries}.parquet"
        if options.only in (None, "steps"):
            steps = folder / "steps.parquet"
            write(steps, options.steps_queries, options.documents)
            bench_steps(steps, options.steps_queries, options.turns)
        if options.only in (None, "engines"):
            bench_engines(path, options.engine_queries, options.documents)


if __name__ == "__main__":
    main()
