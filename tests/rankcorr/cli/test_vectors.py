import json
import sys

import numpy as np
import pytest

from rankcorr import compare_many, holm
from rankcorr.vectors import (
    TargetGroups,
    common_pairs,
    compare_reliability,
    evaluate_relata,
    evaluate_vectors,
    hubness,
    read_pairs,
    read_vectors,
    reliability_score,
)
from tests.rankcorr.cli.conftest import refusal, run, run_json, run_ok
from tests.rankcorr.vectors.test_pairs import case, relata_case
from tests.rankcorr.vectors.test_reading import binary_of, text_of, write_file


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    """Vectors in text and binary, gold scores of pairs, and labels of relata, in the current folder."""
    monkeypatch.chdir(tmp_path)
    vectors, gold = case()
    write_file(tmp_path / "v.bin", binary_of(vectors))
    write_file(tmp_path / "v.txt.gz", text_of(vectors), packed=True)
    rows = "".join(f"{first},{second},{score},{index}\n" for index, ((first, second), score) in enumerate(gold.items()))
    write_file(tmp_path / "gold.csv", "a,b,score,index\n" + rows)
    vectors, gold = relata_case()
    write_file(tmp_path / "relata.txt", text_of(vectors, header=False))
    write_file(tmp_path / "rdt.csv", "word,relatum,label\n" + "".join(f"{a},{b},{y}\n" for (a, b), y in gold.items()))
    return tmp_path


def test_json_has_all_figures():
    arguments = "--score score --score index --resamples 50 --seed 3 --oov lowest"
    content = run_json("evaluate-vectors", "v.txt.gz", "--gold", "gold.csv", "--gold", "gold.csv", *arguments.split())
    described = {"name": "v.txt.gz", "form": "word2vec", "n_words": 30, "dimension": 8, "n_undecodable": 0}
    assert content["vectors"] == [described]
    assert content["golds"] == [
        {"name": f"gold.csv:{column}", "n_pairs": len(read_pairs("gold.csv", score_column="score"))}
        for column in ("score", "index")
    ]
    assert content["options"]["n0"] == 2.0
    for column, evaluation in zip(("score", "index"), content["evaluations"], strict=True):
        gold = read_pairs("gold.csv", score_column=column)
        result = evaluate_vectors(read_vectors("v.txt.gz"), gold, n_resamples=50, seed=3, oov="lowest")
        assert evaluation == {"vectors": "v.txt.gz", "gold_set": f"gold.csv:{column}", **result.to_dict()}


def test_relata_are_those_of_the_library():
    arguments = "--relata --candidates all --depth 5 --metric tau --metric ap --resamples 60"
    result = evaluate_relata("relata.txt", "rdt.csv", candidates="all", depth=5, metrics=["tau", "ap"], n_resamples=60)
    (content,) = run_json("evaluate-vectors", "relata.txt", "--gold", "rdt.csv", *arguments.split())["evaluations"]
    hubs = hubness("relata.txt", k=10)
    figures = {"hubness": {"k": 10, "skewness": hubs.skewness, "orphan_share": hubs.orphan_share}}
    assert content == {"vectors": "relata.txt", "gold_set": "rdt.csv", **result.to_dict(), **figures}
    printed = run_ok("evaluate-vectors", "relata.txt", "--gold", "rdt.csv", *arguments.split())
    assert f"hubness (k = 10): skewness {hubs.skewness:.4f}" in printed
    assert printed.splitlines()[2:4] == [
        "  words without a vector (1): t0",
        f"  relata without a vector ({len(result.oov_relata)}): {', '.join(result.oov_relata)}",
    ]


def test_pairs_in_both_orders_are_one_pair_and_relata_are_two():
    both = "a,b,score\nw2,w1,8\nw1,w2,6\nw3,w4,1\nw3,w5,3\n"
    few = ["--gold", "-", "--resamples", "40"]
    message = refusal("evaluate-vectors", "v.bin", *few, stdin=both)
    assert '"w1", "w2" is also on line 2, as "w2", "w1"; ids must be unique' in message
    assert message.strip().endswith("merge repeats with --duplicates mean or --duplicates first")
    document = run_json("evaluate-vectors", "v.bin", "--duplicates", "mean", *few, stdin=both)
    assert document["warnings"][0]["message"] == "<stdin>: 1 line that repeats a pair was merged into its mean"
    (result,) = document["evaluations"]
    assert result["pairs"] == [["w2", "w1"], ["w3", "w4"], ["w3", "w5"]]
    assert (result["n_pairs"], result["n_compared"]) == (3, 3)
    (result,) = run_json("evaluate-vectors", "v.bin", "--relata", *few, stdin=both)["evaluations"]
    assert result["n_relata"] == 4


def test_an_undefined_coefficient_gives_a_note():
    written_gold = "a,b,score\nw1,w2,1\nw3,w4,1\nw5,w6,1\n"
    result = run("evaluate-vectors", "v.bin", "--gold", "-", "--resamples", "40", stdin=written_gold)
    assert result.exit_code == 0
    assert "rankcorr: note: -: the correlation is undefined" in result.stderr
    assert result.stdout.splitlines()[-1].split() == ["-", "tau", *"------"]


@pytest.fixture
def three_models(files):
    """Three sets of vectors, each with missing words, and two gold files, one in its published format."""
    vectors, gold = case()
    rng = np.random.default_rng(7)
    result = {}
    for name, left in (("a.txt", ()), ("b.txt", ("w1",)), ("c.txt", ("w2", "w3"))):
        result[name] = {word: vector + rng.normal(size=8) for word, vector in vectors.items() if word not in left}
        write_file(files / name, text_of(result[name], header=False))
    rows = [(first, second, round(score + rng.normal(), 3)) for (first, second), score in list(gold.items())[:40]]
    write_file(files / "men.txt", "".join(f"{first} {second} {score}\n" for first, second, score in rows))
    return result


@pytest.mark.parametrize("versus", ["b.txt", None])
def test_several_vectors_are_compared_on_their_common_pairs_with_one_correction(three_models, versus):
    arguments = "--gold gold.csv --gold men.txt --score score --score 3 --resamples 60 --metric rho --metric tau_w"
    arguments += "" if versus is None else f" --versus {versus}"
    result = run("evaluate-vectors", *three_models, *arguments.split(), "--json")
    document = json.loads(result.stdout)
    golds = {"gold.csv": read_pairs("gold.csv", score_column="score"), "men.txt": read_pairs("men.txt")}
    common = {name: common_pairs(three_models, gold) for name, gold in golds.items()}
    assert [gold_entry["n_pairs"] for gold_entry in document["golds"]] == [len(gold) for gold in golds.values()]
    for evaluation in document["evaluations"]:
        names = {name: evaluation[name] for name in ("vectors", "gold_set")}
        gold = common[evaluation["gold_set"]]
        expected = evaluate_vectors(evaluation["vectors"], gold, coefficients=["rho", "tau_w"], n_resamples=60)
        assert evaluation == {**names, **expected.to_dict()}
    systems = {name: {pair: read_vectors(name).cosine(*pair) for pair in common["gold.csv"]} for name in three_models}
    table = compare_many(common, systems, coefficients=["rho", "tau_w"], baseline=versus, n_resamples=60)
    assert len(table.rows) == 2 * 2 * (3 if versus is None else 2)
    assert document["comparisons"] == table.to_dict()["rows"]
    assert holm([row.comparison.pvalue for row in table.rows]) == pytest.approx(
        [row["corrected_pvalue"] for row in document["comparisons"]]
    )

    result = run("evaluate-vectors", *three_models, *arguments.split())
    assert result.exit_code == 0
    notes = [
        f"{row['vectors']}, {row['gold_set']}"
        for row in document["evaluations"]
        for c in row["coefficients"]
        if c["note"]
    ]
    assert [line.split(": ")[2] for line in result.stderr.splitlines()] == notes
    assert "  words without a vector in b.txt (4): absent0, absent1, absent2, w1\n" in result.stdout


def test_pairs_missing_in_some_vectors_are_lowest_on_request(three_models):
    arguments = "--gold men.txt --resamples 40 --metric tau --oov lowest --json"
    document = json.loads(run_ok("evaluate-vectors", *three_models, *arguments.split()))
    assert [evaluation["n_compared"] for evaluation in document["evaluations"]] == [40] * 3
    assert {row["comparison"]["n_items"] for row in document["comparisons"]} == {40}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("v.bin", "either --gold or --groups is needed"),
        ("v.bin --gold rdt.csv", "rdt.csv: at least two pairs with vectors are needed; 0 of 42 have them"),
        ("v.bin --gold gold.csv --depth 3", "--depth has no effect without --relata"),
        ("v.bin --gold gold.csv --relata --self-pairs omit", "--self-pairs cannot be combined with --relata"),
        ("v.bin relata.txt --gold rdt.csv --relata", "--relata evaluates one set of vectors at a time; got 2 file"),
        ("v.bin --gold gold.csv --gold gold.csv --score score", "each gold file can be given only once; repeated:"),
        ("v.bin v.bin --gold gold.csv", "each VECTORS can be given only once; repeated: v.bin"),
        ("v.bin --gold gold.csv --versus v.bin", "--versus needs at least two VECTORS"),
        ("v.bin v.txt.gz --gold gold.csv --versus v", "--versus must be one of 'v.bin', 'v.txt.gz'; got 'v'"),
        ("v.bin --gold rdt.csv --score a --score b", "--score must be given once, or once for each file; got 2 for 1"),
        ("- --gold -", "'-' (standard input) can be given only once"),
        ("v.bin --gold gold.csv --metric ap", "--metric must be one of 'rho_w', 'tau_w', 'rho', 'tau'; got 'ap'"),
    ],
)
def test_errors_are_one_line(arguments, message):
    assert refusal("evaluate-vectors", *arguments.split()).startswith(message)


def test_missing_packages_are_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "gensim.models", None)
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    assert refusal("evaluate-vectors", "v.kv", "--gold", "rdt.csv") == (
        "files of gensim (.kv, .model) need gensim: pip install gensim"
    )
    message = refusal("evaluate-vectors", "v.bin", "--gold", "rdt.csv", "--relata", "--metric", "rr")
    assert "'rr' is not a built-in metric (rho_w, " in message
    assert message.endswith("ndcg@K); for those of ir_measures: pip install ir_measures")


@pytest.fixture
def one_decisive_pair(files):
    """Words at growing angles from a reference, in the order of gold except the last."""
    angles = 0.05 * np.arange(21)
    vectors = {f"w{place}": np.array([np.cos(angle), np.sin(angle)]) for place, angle in enumerate(angles)}
    write_file(files / "angles.txt", text_of(vectors, header=False))
    write_file(
        files / "angles.csv",
        "".join(f"w0,w{place},{(30 - place) % 30 + 29 * (place == 20)}\n" for place in range(1, 21)),
    )


@pytest.mark.usefixtures("one_decisive_pair")
def test_the_pair_that_decides_an_interval_is_noted():
    arguments = ("evaluate-vectors", "angles.txt", "--gold", "angles.csv", "--metric", "tau", "--resamples", "200")
    (row,) = evaluate_vectors("angles.txt", "angles.csv", coefficients=["tau"], n_resamples=200).coefficients
    assert row.note.startswith("the interval depends on one item, ('w0', 'w20'), which carries ")
    assert f"rankcorr: note: angles.csv: tau: {row.note}\n" in run(*arguments).stderr
    document = run_json(*arguments)
    assert document["evaluations"][0]["coefficients"][0]["note"] == row.note
    assert document["warnings"][0]["message"] == row.note


@pytest.mark.usefixtures("three_models")
def test_latex_tables_have_captions():
    arguments = ["evaluate-vectors", "a.txt", "b.txt", "--gold", "men.txt", "--metric", "tau", "--resamples", "100"]
    text = run(*arguments, "--table", "latex").stdout
    captions = [line for line in text.splitlines() if line.startswith(r"\caption")]
    assert captions[0].startswith(r"\caption{Coefficients of gold scores and cosines; low, high: 95 \% interval")
    assert captions[1].startswith(r"\caption{Differences, 95 \% intervals, paired tests (up to 100 swaps, seed 0)")
    assert text.count(r"\textbf") == 1
    relata = run("evaluate-vectors", "relata.txt", "--gold", "rdt.csv", "--relata", "--table", "latex").stdout
    assert r"\caption{Relata of words ranked by cosine: means over words.}" in relata


@pytest.fixture
def groups(tmp_path):
    """Target groups over the words of the files of vectors."""
    words = list(read_vectors("v.bin").words)
    categories = {
        words[start]: dict(zip(words[start + 1 : start + 5], ["positive"] * 2 + ["distractor", "random"], strict=True))
        for start in (0, 5, 10, 15)
    }
    shares = {(target, *list(group)[:2]): 0.8 for target, group in categories.items()}
    groups = TargetGroups(categories, shares)
    groups.write(tmp_path / "groups.csv")
    return groups


def test_scores_on_target_groups_are_those_of_the_library(groups):
    scores = [reliability_score(groups, path, seed=3, n_resamples=200) for path in ("v.bin", "v.txt.gz")]
    difference = compare_reliability(groups, "v.txt.gz", "v.bin", seed=3, n_resamples=200)
    arguments = ["evaluate-vectors", "v.bin", "v.txt.gz", "--groups", "groups.csv", "--seed", "3", "--resamples", "200"]
    document = run_json(*arguments, "--json")
    assert [
        {"vectors": name, **score.to_dict()} for name, score in zip(["v.bin", "v.txt.gz"], scores, strict=True)
    ] == (document["evaluations"])
    assert document["comparisons"][0]["pvalue"] == difference.pvalue == 1
    lines = run_ok(*arguments).splitlines()
    assert lines[0] == "groups.csv: 4 targets, 4 comparisons by annotators, 20 triplets in all"
    assert lines[2].split()[:4] == ["vectors", "score", "low", "high"]
    assert lines[3].split()[:2] == ["v.bin", f"{scores[0].score:.4f}"]
    assert lines[-1].split()[:3] == ["v.txt.gz", "v.bin", "0.0000"]


@pytest.mark.usefixtures("groups")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "either --gold or --groups is needed"),
        (["--gold", "gold.csv", "--groups", "groups.csv"], "either --gold or --groups is needed, not both"),
        (["--groups", "groups.csv", "--relata"], "--relata cannot be combined with --groups"),
        (["--groups", "groups.csv", "--metric", "rho"], "--metric cannot be combined with --groups"),
        (["--groups", "gold.csv"], 'no column "target"'),
        (["--gold", "gold.csv", "--words", "a,x"], 'no column "x" for the words (--words)'),
        (["--gold", "gold.csv", "--words", "a"], "--words must name two columns, as in first,second; got a"),
    ],
)
def test_wrong_options_for_gold_and_target_groups_are_refused(arguments, message):
    assert message in refusal("evaluate-vectors", "v.bin", *arguments)
