"""Print how long we take to read the vectors of 1,000 words, and how long gensim takes, which reads all of them.

Each figure is one call in a separate process: seconds of processor time, and the peak memory of the process. Importing
both packages takes about 120 MB of it.
"""

import argparse
import multiprocessing
import resource
import tempfile
import time
from pathlib import Path

import numpy as np
from gensim.models import KeyedVectors
from report import heading, machine, row

from rankcorr.vectors import read_vectors

N_WANTED = 1_000
DIMENSION = 300


def write(folder: Path, n_words: int) -> tuple[Path, Path]:
    """Write the same vectors in word2vec's binary format and as text."""
    rng = np.random.default_rng(0)
    binary, text = folder / "vectors.bin", folder / "vectors.txt"
    with binary.open("wb") as first, text.open("w") as second:
        first.write(f"{n_words} {DIMENSION}\n".encode())
        second.write(f"{n_words} {DIMENSION}\n")
        for number in range(n_words):
            vector = rng.standard_normal(DIMENSION).astype("<f4")
            first.write(f"word{number} ".encode() + vector.tobytes())
            second.write(f"word{number} " + " ".join(f"{value:.5f}" for value in vector) + "\n")
    return binary, text


def ours(path: Path, n_words: int) -> None:
    read_vectors(path, words={f"word{number}" for number in range(0, n_words, max(1, n_words // N_WANTED))})


def gensims(path: Path, _n_words: int) -> None:
    KeyedVectors.load_word2vec_format(path, binary=path.suffix == ".bin")


def take_figures(call: str, path: Path, n_words: int, answer) -> None:
    start = time.process_time()
    globals()[call](path, n_words)
    answer.put((time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_000))


def cost(call: str, path: Path, n_words: int) -> tuple[float, float]:
    """Return the seconds and megabytes of a call in a separate process."""
    context = multiprocessing.get_context("spawn")
    answer = context.Queue()
    process = context.Process(target=take_figures, args=(call, path, n_words, answer))
    process.start()
    figures = answer.get()
    process.join()
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--words", type=int, default=200_000)
    n_words = parser.parse_args().words
    machine("numpy", "gensim")
    heading(f"{n_words:,} words of {DIMENSION} dimensions", "file", "MB", "rankcorr s", "MB", "gensim s", "MB", "ratio")
    with tempfile.TemporaryDirectory() as folder:
        for path in write(Path(folder), n_words):
            (seconds, memory), (theirs, their_memory) = (cost(call, path, n_words) for call in ("ours", "gensims"))
            numbers = (
                f"{seconds:.2f}",
                f"{memory:.0f}",
                f"{theirs:.2f}",
                f"{their_memory:.0f}",
                f"{theirs / seconds:.1f}",
            )
            row(path.name, f"{path.stat().st_size / 1e6:.0f}", *numbers)


if __name__ == "__main__":
    main()
