"""Compilation of the kernels, and the accuracy of long sums."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rankcorr import Ranking, Uniform, correlate_many, correlation_matrix, item_weights, weighted_rho, weighted_tau
from rankcorr import _rank_kernels as kernels
from rankcorr._rank_kernels import add
from tests.results import with_coefficient

JIT = hasattr(kernels.tau_of_rows, "signatures")


def count_signatures():
    """For how many types the public functions compile each kernel."""
    labelled = [dict(enumerate(scores)) for scores in ([3.0, 1.0, 1.0], [1.0, 3.0, 2.0])]
    x, y = np.array([3.0, 1.0, 1.0, 2.0]), np.array([1, 4, 2, 2])
    for options in ({}, {"weigher": Uniform()}, {"scheme": "first", "tied_weights": "expected"}):
        weighted_tau(x, y, **options)
        weighted_rho(x[::2], x[1::2], **options)
        weighted_tau(*labelled, **options)
        weighted_rho(Ranking.from_order([0, 1, 2]), labelled[0], **options)
        item_weights(x, y, **options)
        for coefficient in ("tau_w", "rho_w"):
            correlate_many(x, np.array([x, y])[:, ::-1], **with_coefficient(coefficient=coefficient, **options))
            correlate_many(labelled[0], {"a": labelled[1]}, **with_coefficient(coefficient=coefficient, **options))
            correlation_matrix([x, y], **with_coefficient(coefficient=coefficient, **options))
    called = ("midranks", "has_halves", "item_weights", "rho_of_rows", "tau_of_rows")
    return {name: len(getattr(kernels, name).signatures) for name in called}


@pytest.mark.wide
@pytest.mark.skipif(not JIT, reason="numba is switched off")
def test_each_kernel_is_compiled_for_one_type():
    # In a new process, because other tests in this one may have called the kernels with slices.
    code = (
        "import json; from tests.rankcorr.test_kernels import count_signatures; print(json.dumps(count_signatures()))"
    )
    root = Path(__file__).parents[2]
    process = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    compiled = json.loads(process.stdout)
    assert compiled.pop("midranks") == 2  # of float64 and of int64 scores
    assert set(compiled.values()) == {1}, compiled


@pytest.mark.wide
@pytest.mark.skipif(not JIT, reason="numba is switched off")
def test_processes_that_compile_for_different_types_keep_both(tmp_path):
    (tmp_path / "half.py").write_text(
        "from rankcorr._rank_kernels import kernel\n\n@kernel\ndef half(value):\n    return value / 2\n"
    )
    # Each process reads the index of machine code, and waits two seconds for the others to do so before it writes.
    code = (
        "import pathlib, sys, time; from numba.core.caching import IndexDataCacheFile as File\n"
        "write = File._save_index\n"
        "def wait_and_write(*file):\n"
        "    end = time.monotonic() + 2; pathlib.Path(sys.argv[1]).touch()\n"
        "    while len(list(pathlib.Path().glob('*.read'))) < 3 and time.monotonic() < end: time.sleep(0.01)\n"
        "    write(*file)\n"
        "File._save_index = wait_and_write; from half import half; half(eval(sys.argv[2]))"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": os.pathsep.join(sys.path)}
    processes = [
        subprocess.Popen([sys.executable, "-c", code, f"{number}.read", one], env=environment, cwd=tmp_path)
        for number, one in enumerate(("1", "1.0", "True"))
    ]
    assert [process.wait(60) for process in processes] == [0, 0, 0]
    assert len(list((tmp_path / "cache").rglob("half.half-*.nbc"))) == 3


def test_kahan_adds_equal_weights_without_drift():
    total, lost = 0.0, 0.0
    for _ in range(100_000):
        total, lost = add(total, lost, 1e-6)
    assert total == pytest.approx(math.fsum([1e-6] * 100_000), rel=2e-16, abs=0)


@pytest.mark.wide
def test_kernels_run_as_plain_python():
    program = (
        "import numpy as np; from rankcorr import *;"
        "x, y = [3, 1, 1, 2, 5], [1, 4, 2, 2, 5];"
        "print(weighted_tau(x, y).statistic, weighted_rho(x, y, tied_weights='expected').statistic)"
    )
    environment = dict(os.environ, NUMBA_DISABLE_JIT="1")
    output = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    x, y = [3, 1, 1, 2, 5], [1, 4, 2, 2, 5]
    expected = weighted_tau(x, y).statistic, weighted_rho(x, y, tied_weights="expected").statistic
    assert [float(word) for word in output.stdout.split()] == pytest.approx(expected, rel=1e-15)


@pytest.mark.wide
def test_kernels_compile_where_nothing_can_be_written(tmp_path):
    # numba then has no folder for its cache: neither next to the source, nor at home, nor in NUMBA_CACHE_DIR.
    program = (
        "import numba.core.caching as caching;"
        "caching.CacheImpl._locator_classes = [];"
        "import adaptive._draw_kernels, rankcorr._rank_kernels;"
        "import rankcorr.inference._resampling_kernels;"
        "from rankcorr import Ranking; print(Ranking.from_scores([3, 2, 1]).ranks)"  # one kernel, compiled in a second
    )
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert output.stdout.strip() == "[1. 2. 3.]"


def test_compiling_is_reported_once_after_a_second(monkeypatch, caplog):
    now = iter([0.0, 0.1, 0.5, 0.5, 0.6, 0.6, 10.0, 10.1, 10.9, 10.9, 20.0, 20.1, 20.2, 20.2])
    monkeypatch.setattr(kernels.time, "perf_counter", lambda: next(now, 30.0))
    caplog.set_level("INFO", "rankcorr")
    compiling = kernels.Compiling()
    compiling.on_start(None)
    compiling.on_start(None)  # a part of it
    compiling.on_end(None)
    compiling.on_end(None)
    assert not caplog.messages  # .6 s so far; time between two calls does not count
    compiling.on_start(None)
    compiling.on_end(None)
    assert caplog.messages == ["compiling for the first use; this takes some seconds, once"]
    compiling.on_start(None)
    compiling.on_end(None)
    assert len(caplog.messages) == 1
