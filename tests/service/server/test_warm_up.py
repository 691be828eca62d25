import json
import os
import subprocess
import sys

import pytest

pytestmark = [
    pytest.mark.wide,
    pytest.mark.skipif(
        bool(os.environ.get("NUMBA_DISABLE_JIT")), reason="NUMBA_DISABLE_JIT is set: nothing is compiled"
    ),
]


def report_of(part):
    """Output of `after_warm_up.py` on campaigns or requests, in a new process."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RANKCORR_")}
    program = [sys.executable, "-W", "error", "-m", "tests.service.server.after_warm_up", part]
    process = subprocess.run(program, env=environment, capture_output=True, text=True, timeout=3_000, check=False)
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout.splitlines()[-1])  # below the lines of the log


def test_no_campaign_compiles_a_kernel_after_the_warm_up():
    assert report_of("campaigns") == {"n_closed": 5, "n_seen": 12, "late": {}}


def test_no_request_compiles_a_kernel_after_the_warm_up():
    report = report_of("requests")
    # These take longest, and must not be compiled again for arrays of another order or writability. Sums over
    # pairs are, unless their callers are in the cache on disk: a pair of rankings is read-only, and rankings by
    # query are in writable buffers.
    assert 1 <= report["kernels"]["rankcorr._rank_kernels.tau_of_rows"] <= 2
    slowest = ["rankcorr.inference._resampling_kernels.exchanged_coefficients"]
    slowest += ["adaptive._draw_kernels.draw_comparisons", "adaptive.matching._matching_kernels.deal_matches"]
    slowest += ["adaptive.model._likelihood_kernels.row_terms", "adaptive.model._posterior.sweep_kernels.sweep"]
    assert [report["kernels"].get(name) for name in slowest] == [1] * 5
    assert report["late"] == {}
    assert set(report["examples"].values()) == {200}
    least = {"correlations": 301, "leaderboards": 41, "evaluations": 11, "ballots": 51, "simulations": 3}
    least |= {"strengths": 20, "comparisons/next": 17}
    assert [path for path, n in least.items() if report["answered"][f"/v1/{path}"] < n] == []
    assert report["others"] == []
