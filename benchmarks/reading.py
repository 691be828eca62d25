"""Print how long votes and runs take to be read from files, and the peak memory, with pyarrow and by the exact reader.

Each reading is a new process, whose peak includes about 150 MB of imports; figures are medians.
``python benchmarks/reading.py --votes 100000 --lines 100000`` is a quick look. The script checks nothing.
"""

import argparse
import statistics
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from report import heading, machine, row

READ = """
import resource, sys, time
if sys.argv[1] == "exact":
    sys.modules["pyarrow"] = None
start, processor = time.perf_counter(), time.process_time()
if sys.argv[2] == "votes":
    from adaptive import read_comparisons
    read_comparisons(sys.argv[3])
else:
    from rankcorr.evaluation import evaluate
    evaluate(sys.argv[3], sys.argv[4:], metrics=["ndcg@10"])
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
print(time.perf_counter() - start, time.process_time() - processor, peak)
"""


def write_votes(folder: Path, n_votes: int) -> dict[str, list[Path]]:
    """Write votes of 1,000 items and 20,000 voters, a tenth of them ties."""
    rng = np.random.default_rng(0)
    left = rng.integers(0, 1_000, n_votes)
    right = (left + rng.integers(1, 1_000, n_votes)) % 1_000
    items, voters = (
        pa.array([f"model-{k:04}" for k in range(1_000)]),
        pa.array([f"judge-{k:05}" for k in range(20_000)]),
    )
    winner = pa.array(["left", "right", "tie"]).take(pa.array(rng.choice(3, n_votes, p=[0.45, 0.45, 0.1])))
    voter = voters.take(pa.array(rng.integers(0, 20_000, n_votes)))
    table = pa.table({"left": items.take(pa.array(left)), "right": items.take(pa.array(right)), "winner": winner})
    table = table.append_column("voter", voter)
    pa.parquet.write_table(table, folder / "votes.parquet")
    pa.csv.write_csv(table, folder / "votes.csv", pa.csv.WriteOptions(quoting_style="none"))
    return {"Parquet": [folder / "votes.parquet"], "CSV": [folder / "votes.csv"]}


def write_runs(folder: Path, n_lines: int) -> list[Path]:
    """Write TREC qrels of 100 documents a query, and three runs of the same documents: four files of one length."""
    rng = np.random.default_rng(0)
    paths = [folder / name for name in ("qrels.txt", "bm25.txt", "dense.txt", "hybrid.txt")]
    qrels, *runs = [path.open("w") for path in paths]
    for query in range(n_lines // 400):
        documents = rng.choice(1_000_000, 100, replace=False)
        grades = rng.integers(0, 4, 100)
        qrels.writelines(f"q{query} 0 doc{d} {g}\n" for d, g in zip(documents, grades, strict=True))
        for run, path in zip(runs, paths[1:], strict=True):
            hits = enumerate(zip(rng.permutation(documents), np.sort(rng.random(100))[::-1], strict=True), start=1)
            run.writelines(f"q{query} Q0 doc{d} {rank} {score:.6f} {path.stem}\n" for rank, (d, score) in hits)
    for file in (qrels, *runs):
        file.close()
    return paths


def measured(reader: str, kind: str, paths: list[Path], turns: int) -> list[str]:
    """Return seconds, processor seconds and peak gigabytes of reading files in a new process."""
    command = [sys.executable, "-c", READ, reader, kind, *map(str, paths)]
    outputs = [subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(turns)]
    figures = [[float(figure) for figure in output.split()] for output in outputs]
    seconds, processor, peak = map(statistics.median, zip(*figures, strict=True))
    return [f"{seconds:.1f}", f"{processor:.1f}", f"{peak:.2f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--votes", type=int, default=10_000_000)
    parser.add_argument("--lines", type=int, default=4_000_000)
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    machine("numpy", "pyarrow")
    columns = ("file", "reader", "s", "processor s", "peak GB")
    with TemporaryDirectory() as name:
        folder = Path(name)
        heading(f"{options.votes:,} votes of 1,000 items by 20,000 voters", *columns)
        files = write_votes(folder, options.votes)
        for file, reader in (("Parquet", "pyarrow"), ("CSV", "pyarrow"), ("CSV", "exact")):
            row(file, reader, *measured(reader, "votes", files[file], options.turns))
        heading(f"{options.lines:,} lines of TREC: qrels and three runs, evaluated by nDCG@10", *columns)
        paths = write_runs(folder, options.lines)
        for reader in ("pyarrow", "exact"):
            row("TREC", reader, *measured(reader, "runs", paths, options.turns))


if __name__ == "__main__":
    main()
