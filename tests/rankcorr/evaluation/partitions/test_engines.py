"""Engines evaluate partitions in separate processes, with the same means as one process."""

import os
import shutil
import signal
import subprocess
import sys
import time
from functools import partial
from importlib.util import find_spec

import pandas as pd
import polars as pl
import pytest

from rankcorr.evaluation import QueryEvaluator, combined_means, partial_means, streamed_means
from tests.processes import two_workers
from tests.rankcorr.evaluation.cases import EVALUATOR, assert_same_means, joined_rows, means_of
from tests.repository import PAGES, ROOT, find_fenced

pytestmark = pytest.mark.wide

dd = pytest.importorskip("dask.dataframe", reason="dask[dataframe] is not installed")
pytest.importorskip("distributed", reason="distributed is not installed")


@pytest.fixture(scope="module")
def cluster():
    with two_workers() as client:
        yield client


@pytest.fixture(scope="module")
def rows():
    return joined_rows()


@pytest.fixture(scope="module")
def local_means(rows):
    return means_of([EVALUATOR.frame(rows)])


def evaluate_after_kill(frame, folder):
    """Evaluate a partition after a worker was killed; until then all workers wait."""
    (folder / f"{os.getpid()}").touch()
    end = time.monotonic() + 300
    while not (folder / "killed").exists() and time.monotonic() < end:
        time.sleep(0.01)
    return EVALUATOR.frame(frame)


@pytest.mark.needs_numba
@pytest.mark.parametrize("n_partitions", [2, 7])
def test_dask_gives_the_same_means(cluster, rows, local_means, n_partitions):
    frame = dd.from_pandas(rows, npartitions=3).shuffle("query", npartitions=n_partitions)
    values = frame.map_partitions(EVALUATOR.frame, meta=EVALUATOR.frame(rows[:0]))
    assert cluster.run(os.getpid).keys() == cluster.scheduler_info()["workers"].keys()
    assert_same_means(means_of([values.compute(scheduler=cluster)]), local_means)
    parts = [cluster.submit(partial_means, part, EVALUATOR) for part in cluster.compute(values.to_delayed())]
    assert_same_means(combined_means(cluster.gather(parts)), local_means)


@pytest.mark.needs_numba
def test_a_killed_worker_changes_nothing(cluster, rows, local_means, tmp_path):
    frame = dd.from_pandas(rows.sort_values("query"), sort=False, npartitions=2).shuffle("query", npartitions=6)
    task = partial(evaluate_after_kill, folder=tmp_path)
    result = cluster.compute(frame.map_partitions(task, meta=EVALUATOR.frame(rows[:0])))
    deadline = time.monotonic() + 300
    while not (started := list(tmp_path.iterdir())) and time.monotonic() < deadline:
        time.sleep(0.01)
    killed = int(started[0].name)
    os.kill(killed, signal.SIGKILL)
    (tmp_path / "killed").touch()
    assert_same_means(means_of([result.result(timeout=300)]), local_means)
    assert killed not in cluster.run(os.getpid).values()
    assert {path.name for path in tmp_path.iterdir()} - {str(killed), "killed"}  # other workers took over


@pytest.mark.needs_numba
def test_polars_gives_the_same_means(rows, local_means):
    frame = pl.from_pandas(rows)
    values = frame.lazy().map_batches(EVALUATOR.frame, schema=pl.DataFrame(EVALUATOR.frame(frame[:0])).schema)
    assert_same_means(means_of([values.collect()]), local_means)
    parts = frame.partition_by("query")
    assert_same_means(means_of([EVALUATOR.frame(part) for part in parts]), local_means)
    assert_same_means(streamed_means(frame.sort("query").iter_slices(50), EVALUATOR, workers=1), local_means)


def run_program(program, folder):
    """The output of a program that runs in a folder."""
    settings = {"PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    (folder / "program.py").write_text(program, encoding="utf-8")
    command = [sys.executable, "program.py"]
    process = subprocess.run(
        command, env=os.environ | settings, cwd=folder, capture_output=True, text=True, check=False
    )
    assert process.returncode == 0, process.stderr[-3000:]
    return process.stdout


SPARK = """
from pyspark.sql import SparkSession
from tests.rankcorr.evaluation.cases import EVALUATOR

spark = (
    SparkSession.builder.master("local[2]")
    .config("spark.ui.enabled", "false")
    .config("spark.driver.host", "127.0.0.1")
    .config("spark.driver.bindAddress", "127.0.0.1")
    .config("spark.sql.execution.arrow.maxRecordsPerBatch", "64")
    .config("spark.sql.shuffle.partitions", "5")
    .config("spark.sql.adaptive.enabled", "false")
    .getOrCreate()
)
rows = spark.read.parquet("rows.parquet")
schema = "query string, n_documents bigint, " + ", ".join(f"`{name}` double" for name in EVALUATOR.columns)
grouped = rows.repartition(5, "query").sortWithinPartitions("query")
values = grouped.mapInArrow(EVALUATOR.batches, schema)
values.write.parquet("values")
spark.stop()
"""


SPARK_HINT = (
    "pyspark is not installed: pip install 'pyspark>=4.0'"
    if find_spec("pyspark") is None
    else "Spark needs Java, and there is none"
    if shutil.which("java") is None
    else ""
)
needs_spark = pytest.mark.skipif(bool(SPARK_HINT), reason=SPARK_HINT)


@pytest.mark.needs_numba
@needs_spark
def test_spark_gives_the_same_means(rows, local_means, tmp_path):
    rows.to_parquet(tmp_path / "rows.parquet")
    run_program(SPARK, tmp_path)
    files = sorted((tmp_path / "values").glob("*.parquet"))
    assert len(files) == 5
    assert_same_means(means_of([pd.read_parquet(file) for file in files]), local_means)


@pytest.mark.needs_numba
@pytest.mark.parametrize("package", ["dask", pytest.param("pyspark", marks=needs_spark)])
def test_programs_of_the_how_to_page_run(rows, tmp_path, package):
    programs = find_fenced(PAGES["docs/how-to/scale.md"], "python")
    (program,) = (text for text in programs if text.startswith(f"from {package}"))
    numbered = rows.assign(query=rows["query"].str[1:].astype(int))
    numbered.to_parquet(tmp_path / "joined.parquet")
    evaluator = QueryEvaluator("tau_w", scores=("bm25", "dense"))
    expected = means_of([evaluator.frame(numbered)], evaluator).difference()
    assert run_program(program, tmp_path).strip() == repr(expected)
