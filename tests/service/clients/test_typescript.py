"""The types that openapi-typescript generates from the contract, and a client that node runs against a live service."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from rankcorr import weighted_tau
from tests.service.answers import document

HERE = Path(__file__).parent
# Folder with node_modules, where the packages of package.json are installed; .ci/run makes one.
FOLDER = os.environ.get("NODE_CLIENTS")
COMPILER_OPTIONS = {
    "target": "es2022",
    "module": "nodenext",
    "lib": ["es2022", "dom", "dom.iterable"],
    "types": [],
    "strict": True,
    "noUncheckedIndexedAccess": True,
    "exactOptionalPropertyTypes": True,
    "skipLibCheck": True,
}


def node(script, *arguments, cwd):
    command = [shutil.which("node"), script, *arguments]
    process = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, timeout=900)
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


@pytest.fixture(scope="module")
def program_output(tmp_path_factory, live_server):
    """Output of the program, which is compiled with strict types."""
    folder = tmp_path_factory.mktemp("typescript")
    modules = Path(FOLDER, "node_modules")
    (folder / "node_modules").symlink_to(modules.resolve())
    for name in ("package.json", "calls.ts"):
        shutil.copy(HERE / name, folder)
    (folder / "tsconfig.json").write_text(json.dumps({"compilerOptions": COMPILER_OPTIONS, "files": ["calls.ts"]}))
    contract = folder / "openapi.json"
    contract.write_text(json.dumps(document()))
    node(modules / "openapi-typescript/bin/cli.js", str(contract), "--output", "contract.ts", cwd=folder)
    node(modules / "typescript/bin/tsc", cwd=folder)
    return json.loads(node("calls.js", live_server.url, cwd=folder))


@pytest.mark.wide
@pytest.mark.nightly
@pytest.mark.skipif(
    not FOLDER or not shutil.which("node"),
    reason="needs node, and NODE_CLIENTS: a folder where the packages of tests/service/clients/package.json are",
)
def test_every_operation_is_called_with_its_types(program_output):
    tau_w = weighted_tau([3, 2, 1], [2, 3, 1]).statistic
    ways = ["scores_by_label", "scores_array", "ranks_by_label", "ranks_array", "order"]
    assert program_output.pop("statistics") == dict.fromkeys(ways, tau_w)
    assert 0 < program_output.pop("pvalue") <= 1
    assert program_output.pop("matrix") == [[1, tau_w], [tau_w, 1]]
    assert program_output.pop("jobs") == [404, 404]
    assert program_output.pop("refused") == [422, ["/worst"]]
    assert program_output == {
        "best": "dense",
        "leader": "dense",
        "merged": "stone",
        "scores": ["large", "small"],
        "rank_sets": ["large", "small"],
        "ranks": 3,
        "n_ballots": 2,
        "n_strengths": 4,
        "choices": 4,
        "n_next": 2,
        "self": 1,
        "simulated": ["adaptive", "uniform"],
        "means": [1, 0.5],
        "fused": 2,
        "groups": ["vectors"],
        "live": "ok",
        "ready": "ok",
        "metrics": True,
    }


def test_the_program_calls_every_operation():  # runs without node, so that a missing new operation is noticed by day
    program = (HERE / "calls.ts").read_text()
    for path, methods in document()["paths"].items():
        for method in methods.keys() - {"parameters"}:
            assert f'{method.upper()}("{path}"' in program
