import json
import sys

import pytest

from rankcorr.vectors import evaluate_relata, evaluate_vectors, read_pairs, read_vectors
from tests.rankcorr.cli.commands import refusal, run, run_ok
from tests.rankcorr.vectors.forms import binary_of, text_of, written
from tests.rankcorr.vectors.test_pairs import case
from tests.rankcorr.vectors.test_relata import case as relata_case


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    """Vectors in text and binary, gold scores of pairs, and labels of relata, in the current folder."""
    monkeypatch.chdir(tmp_path)
    vectors, gold = case()
    written(tmp_path / "v.bin", binary_of(vectors))
    written(tmp_path / "v.txt.gz", text_of(vectors), packed=True)
    rows = "".join(f"{first},{second},{score},{index}\n" for index, ((first, second), score) in enumerate(gold.items()))
    written(tmp_path / "gold.csv", "a,b,score,index\n" + rows)
    vectors, gold = relata_case()
    written(tmp_path / "relata.txt", text_of(vectors, header=False))
    written(tmp_path / "rdt.csv", "word,relatum,label\n" + "".join(f"{a},{b},{y}\n" for (a, b), y in gold.items()))
    return tmp_path


def test_the_table_is_that_of_the_library():
    output = run_ok("evaluate-vectors", "v.bin", "gold.csv", "--score", "score", "--resamples", "100", "--n0", "5")
    gold = read_pairs("gold.csv", score_column="score")
    found = evaluate_vectors("v.bin", gold, n_resamples=100, coefficients=["rho", "tau"])
    lines = output.splitlines()
    assert lines[:3] == [
        "vectors: v.bin (word2vec-binary, 30 words, 8 dimensions)",
        f"gold.csv: {found.n_compared} of {found.n_pairs} pairs compared, {len(found.oov_pairs)} without a vector "
        "(left out)",
        "  words without a vector (3): absent0, absent1, absent2",
    ]
    rows = [line.split() for line in lines[lines.index("") + 2 :]]
    assert [row[1] for row in rows] == ["rho_w", "tau_w", "rho", "tau"]
    for each, row in zip(found.coefficients, rows[2:], strict=True):
        values = each.statistic, each.chance, each.standardized, each.low, each.high, each.pvalue
        assert row[2:] == [f"{value:z.4f}" for value in values]


def test_the_json_has_everything():
    arguments = "--score score --score index --json --resamples 50 --seed 3 --oov lowest"
    content = json.loads(run_ok("evaluate-vectors", "v.txt.gz", "gold.csv", "gold.csv", *arguments.split()))
    described = {"name": "v.txt.gz", "form": "word2vec", "n_words": 30, "dimension": 8, "n_undecodable": 0}
    assert content["vectors"] == described
    assert content["options"]["n0"] == 2.0
    for column, each in zip(("score", "index"), content["evaluations"], strict=True):
        gold = read_pairs("gold.csv", score_column=column)
        found = evaluate_vectors(read_vectors("v.txt.gz"), gold, n_resamples=50, seed=3, oov="lowest")
        assert each == {"gold": f"gold.csv:{column}", **found.to_dict()}


def test_relata():
    arguments = "--relata --candidates all --depth 5 --metric tau --metric ap --resamples 60"
    found = evaluate_relata("relata.txt", "rdt.csv", candidates="all", depth=5, metrics=["tau", "ap"], n_resamples=60)
    (content,) = json.loads(run_ok("evaluate-vectors", "relata.txt", "rdt.csv", *arguments.split(), "--json"))[
        "evaluations"
    ]
    assert content == {"gold": "rdt.csv", **found.to_dict()}
    lines = run_ok("evaluate-vectors", "relata.txt", "rdt.csv", *arguments.split()).splitlines()
    assert lines[1:4] == [
        f"rdt.csv: 6 words, {found.n_relata} relata",
        "  words without a vector (1): t0",
        f"  relata without a vector ({len(found.oov_relata)}): {', '.join(found.oov_relata)}",
    ]
    assert [line.split()[1:3] for line in lines[-2:]] == [
        ["tau", f"{found.mean('tau'):z.4f}"],
        ["ap", f"{found.mean('ap'):z.4f}"],
    ]


def test_pairs_in_both_orders_are_one_pair_and_relata_are_two():
    both = "a,b,score\nw2,w1,8\nw1,w2,6\nw3,w4,1\nw3,w5,3\n"
    few = ["--resamples", "10", "--json"]
    message = refusal("evaluate-vectors", "v.bin", "-", *few, stdin=both)
    assert '"w1", "w2" is also on line 2, as "w2", "w1"; ids must be unique' in message
    assert "--duplicates mean" in message
    content = json.loads(run("evaluate-vectors", "v.bin", "-", "--duplicates", "mean", *few, stdin=both).stdout)
    (found,) = content["evaluations"]
    assert found["pairs"] == [["w2", "w1"], ["w3", "w4"], ["w3", "w5"]]
    assert (found["n_pairs"], found["n_compared"]) == (3, 3)
    (found,) = json.loads(run("evaluate-vectors", "v.bin", "-", "--relata", *few, stdin=both).stdout)["evaluations"]
    assert found["n_relata"] == 4


def test_a_coefficient_that_does_not_exist_is_a_note():
    written_gold = "a,b,score\nw1,w2,1\nw3,w4,1\nw5,w6,1\n"
    result = run("evaluate-vectors", "v.bin", "-", "--resamples", "10", stdin=written_gold)
    assert result.exit_code == 0
    assert "rankcorr: note: -: the correlation is undefined" in result.stderr
    assert result.stdout.splitlines()[-1].split() == ["-", "tau", *"------"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["gold.csv"], "gold.csv:1: say which column holds the numbers (--score); the columns are"),
        (["rdt.csv"], "rdt.csv: at least two pairs with vectors are wanted; 0 of 42 have them"),
        (["gold.csv", "--score", "score", "--oov", "error"], "gold.csv: words without a vector: 'absent0', 'absent1'"),
        (["gold.csv", "--score", "score", "--depth", "3"], "--depth belongs to --relata, which is missing"),
        (["gold.csv", "--score", "score", "--words", "a"], "word_columns must be a list of two names of columns"),
        (["gold.csv"] * 2 + ["--score", "score"], "each gold file can be given only once; more than once: gold.csv"),
        (["rdt.csv", "--score", "a", "--score", "b"], "--score must be given once, or once for each file; got 2 for 1"),
        (["-", "-"], "'-' (standard input) can be given only once"),
        (["gold.csv", "--n0", "1", "--weigher", "uniform"], "--n0 and --weigher exclude each other"),
        (["rdt.csv", "--encoding", "utf-16"], "encoding must be one that holds ASCII"),
        (["rdt.csv", "--relata", "--metric", "best"], "'best' is no metric: rho_w, tau_w, rho, tau, ap"),
    ],
)
def test_what_cannot_be_done_is_one_line(arguments, message):
    assert refusal("evaluate-vectors", "v.bin", *arguments).startswith(message)


def test_packages_that_are_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "gensim.models", None)
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    assert refusal("evaluate-vectors", "v.kv", "rdt.csv") == (
        "files of gensim (.kv, .model) need gensim: pip install gensim"
    )
    assert "needs ir_measures" in refusal("evaluate-vectors", "v.bin", "rdt.csv", "--relata", "--metric", "rr")
