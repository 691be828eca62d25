"""What the package promises as a whole: light imports, and names that exist."""

import subprocess
import sys

import rankcorr


def test_importing_leaves_heavy_packages_alone():
    light = "rankcorr, rankcorr.datasets, rankcorr._io.table, rankcorr.evaluation, rankcorr.vectors"
    heavy = "numba narwhals scipy.stats pandas matplotlib click ir_measures gensim sklearn polars evaluate torch"
    program = f"import sys, {light}, rankcorr.integrations.metric; print(*set('{heavy}'.split()) & set(sys.modules))"
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert output.stdout.strip() == ""


def test_all_names_are_public_and_exist():
    assert len(set(rankcorr.__all__)) == len(rankcorr.__all__)
    assert all(hasattr(rankcorr, name) for name in rankcorr.__all__)
