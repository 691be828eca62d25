"""The command as a whole: version, help and its examples, pipes and processes; and `rankcorr weights`."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rankcorr import __version__, first_rank_share, offset_for_share, weighted_tau
from rankcorr._cli import main as cli
from rankcorr._shares import weight_table
from rankcorr.vectors import TargetGroups
from tests.rankcorr.cli.conftest import GOLD, SYSTEM, refusal, run, run_json, run_ok
from tests.rankcorr.vectors.test_reading import binary_of, text_of, write_file


def run_module(*args, **options):
    """Run the module in a new process."""
    command = [sys.executable, "-m", "rankcorr", *map(str, args)]
    environment = os.environ | {"PYTHONUTF8": "1"}
    return subprocess.run(command, capture_output=True, timeout=600, check=False, env=environment, **options)


pytestmark = pytest.mark.usefixtures("folder")


def test_the_version_is_printed():
    assert run_ok("--version") == f"rankcorr {__version__}\n"


COMMANDS = [[], *([name] for name in ("compare", "test", "leaderboard", "evaluate", "plot"))]
COMMANDS += [["plot", figure] for figure in ("ranks", "offset", "leaderboard", "null")]
COMMANDS += [["weights"], ["evaluate-vectors"], ["fuse"], ["merge"], ["rank-sets"]]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_has_an_example(command, option):
    text = run_ok(*command, option)
    assert "Example:\n" in text
    assert f"  rankcorr {' '.join(command)}" in text


@pytest.mark.wide
def test_examples_of_the_help_run(folder):
    pytest.importorskip("matplotlib")
    for name in ("system_a.csv", "system_b.csv"):
        (folder / name).write_text((folder / "system.csv").read_text())
    (folder / "pairs.tsv").write_text("word1\tword2\tgold\tlch\na\tb\t1\t2\na\tc\t3\t4\n")
    (folder / "gold2.csv").write_text("id,score\na,1\nc,2\nd,1\n")
    (folder / "scores.csv").write_text("model,s,t,u,v,w,x,y,z\na,1,2,3,1,2,3,1,2\nb,2,3,4,2,3,4,2,3\n")
    for name in ("judge_a.csv", "judge_b.csv", "judge_c.csv"):
        (folder / name).write_text((folder / "gold.csv").read_text())
    (folder / "judges.csv").write_text("item,first,second\na,1,2\nb,2,1\nc,3,4\n")
    (folder / "estimates.csv").write_text("name,estimate,standard_error\na,1,0.5\nb,2,0.4\n")
    (folder / "pisa.csv").write_text("jurisdiction,math_score,math_se\nJapan,527,2.5\nKorea,526,3.1\n")
    (folder / "genres.csv").write_text("query,group\nq1,drama\nq2,war\n")
    (folder / "qrels.txt").write_text("q1 0 a 1\nq1 0 b 0\nq2 0 a 2\nq2 0 b 1\n")
    for name, query in (("fold1.txt", "q1"), ("fold2.txt", "q2")):
        (folder / name).write_text(f"{query} 0 a 1\n{query} 0 b 0\n")
    for name in ("bm25.run", "lsa.run", "dense.run"):
        (folder / name).write_text("q1 Q0 a 1 2.5 x\nq1 Q0 b 2 1.5 x\nq2 Q0 b 1 2.5 x\nq2 Q0 a 2 1.5 x\n")
    vectors = {"a": [1, 0.5], "b": [0.5, 1], "c": [-1, 1]}
    write_file(folder / "glove.txt.gz", text_of(vectors, header=False), packed=True)
    write_file(folder / "word2vec.bin", binary_of(vectors))
    for name in ("a.txt", "b.txt", "c.txt"):
        write_file(folder / name, text_of(vectors, header=False))
    (folder / "men.txt").write_text("a b 50.0\na c 10.0\nb c 20.0\n")
    for name in ("wordsim353.tsv", "rg65.tsv", "rdt.csv"):
        (folder / name).write_text("word1\tword2\tgold\na\tb\t1\na\tc\t0\nb\tc\t1\n")
    groups = TargetGroups({"a": {"b": "positive", "c": "positive"}}, {("a", "b", "c"): 0.8})
    groups.write(folder / "groups.csv")
    lines = "".join(run_ok(*command, "-h") for command in COMMANDS).splitlines()
    examples = [line.split()[1:] for line in lines if line.startswith("    rankcorr ")]
    assert len(examples) == 45
    for example in examples:
        result = run(*example)
        assert (result.exit_code, bool(result.stdout)) == (0, True), f"{example}: {result.output}"


def test_embedded_use_raises():
    assert cli.main(["weights", "--n-items", "1"], standalone_mode=False) is None
    with pytest.raises(ValueError, match="k has no effect without share"):
        cli.main(["weights", "--k", "1"], standalone_mode=False)


def test_ctrl_c_ends_the_command(monkeypatch):
    def interrupt(*_args):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "print_table", interrupt)
    result = run("weights")
    assert result.exit_code == 130
    assert result.stderr.strip() == ""


# In a new process


@pytest.mark.wide
def test_process_reads_stdin(folder):
    process = run_module("compare", "gold.csv", "-", "--json", cwd=folder, input=(folder / "system.csv").read_bytes())
    assert (process.returncode, process.stderr) == (0, b"")
    assert json.loads(process.stdout)["systems"][0]["tau_w"] == weighted_tau(GOLD, SYSTEM).statistic


@pytest.mark.wide
def test_process_fails_in_one_line(folder):
    (folder / "broken.csv").write_bytes(b"id,score\na,1\nb,caf\xe9\n")
    process = run_module("compare", "gold.csv", "broken.csv", cwd=folder)
    assert (process.returncode, process.stdout) == (2, b"")
    assert process.stderr.splitlines() == [
        b"rankcorr: error: broken.csv:3: byte 0xe9 is not UTF-8; save the file as UTF-8"
    ]


@pytest.mark.wide
@pytest.mark.skipif(os.name == "nt", reason="pipes break differently on Windows")
def test_broken_pipe_is_quiet():
    reading, writing = os.pipe()
    os.close(reading)
    try:
        command = [sys.executable, "-m", "rankcorr", "weights", "--top", "2000"]
        process = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, timeout=600, check=False)
    finally:
        os.close(writing)
    assert (process.returncode, process.stderr) == (1, b"")


@pytest.mark.wide
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is always full")
def test_a_full_disk_is_a_one_line_error():
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-m", "rankcorr", "weights"]
        process = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, timeout=600, check=False)
    assert process.returncode == 2
    assert process.stderr == b"rankcorr: error: cannot write the output: No space left on device\n"


@pytest.mark.needs_numba
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("leaderboard", "long_gold.csv", "long_a.csv", "long_b.csv"), "We ranked 2 systems by their agreement"),
        (("leaderboard", "table.csv"), "We ranked 2 systems by their mean score over 9 tasks"),
        (("test", "long_gold.csv", "long_a.csv", "long_b.csv", "--versus"), "`long_a.csv` has a τ_w of"),
        (("test", "long_gold.csv", "long_a.csv", "long_b.csv", "long_c.csv", "--versus"), "Of 2 differences"),
        (("evaluate", "qrels.json", "a.json", "b.json", "--versus", "a.json"), "We compared 2 runs by their mean"),
    ],
)
def test_reports_are_written(arguments, sentence):
    tasks = [f"t{n}" for n in range(9)]
    Path("table.csv").write_text(f"model,{','.join(tasks)}\nx,{',1' * 9}\ny,{',2' * 9}\n".replace(",,", ","))
    queries = {f"q{q}": {"a": 2, "b": 1, "c": q % 2} for q in range(4)}
    for name in ("qrels", "a", "b"):
        Path(f"{name}.json").write_text(json.dumps(queries))
    run_ok(*arguments, "--report", "report.md", "--resamples", "100")
    text = Path("report.md").read_text(encoding="utf-8")
    assert sentence in text
    assert "were not tested" not in text
    assert "```bibtex\n@" in text
    assert "the file name of a report must end in .md, .tex, .txt" in refusal(*arguments, "--report", "report.pdf")


def test_weights_prints_the_shares():
    assert run_ok("weights").splitlines()[0] == "R(2) = 0.281341 (endless list)"
    assert len(run_ok("weights").splitlines()) == 13
    assert "\n1     1.0000e-08  1.0000e-08\n" in run_ok("weights", "--n0", 1e8, "--top", 2)


@pytest.mark.parametrize(("n0", "n_items"), [(0, None), (-0.9, 7), (5, 1), (1e8, 100)])
def test_weights_are_those_of_the_library(n0, n_items):
    sizes = [] if n_items is None else ["--n-items", n_items]
    document = json.loads(run_ok("weights", "--n0", n0, "--json", *sizes))
    assert document.pop("ranks") == weight_table(n0, n_items=n_items).table()
    share = first_rank_share(n0, n_items)
    assert document == {"n0": n0, "first_rank_share": share, "share": None, "k": None, "n_items": n_items}


def test_weights_solves_for_the_offset():
    assert "(share of the first rank: 0.3)\n" in run_ok("weights", "--share", 0.3, "--top", 1)
    arguments = ["--share", 0.8, "--k", 10, "--n-items", 990]
    document = run_json("weights", *arguments)
    assert document["n0"] == offset_for_share(0.8, 10, 990)
    assert (document["share"], document["k"], document["n_items"]) == (0.8, 10, 990)
