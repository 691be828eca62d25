"""`rankcorr merge` and `rankcorr rank-sets` print the results of the library."""

import pytest

from rankcorr import Ranking, RhoW, rank_sets
from rankcorr.aggregate import consensus, kemeny, reciprocal_rank_fusion
from tests.rankcorr.cli.conftest import GOLD, SYSTEM, refusal, run, run_json, run_ok

RANKINGS = {"gold.csv": Ranking.from_scores(GOLD), "system.csv": Ranking.from_scores(SYSTEM)}

pytestmark = pytest.mark.usefixtures("folder")


@pytest.mark.parametrize(
    ("arguments", "merged"),
    [
        (["--method", "reciprocal_rank_fusion", "--k", "3"], reciprocal_rank_fusion(RANKINGS, k=3)),
        (
            ["--method", "kemeny", "--weight", "gold.csv=1", "--weight", "system.csv=3", "--coefficient", "rho"],
            kemeny(RANKINGS, weights={"gold.csv": 1, "system.csv": 3}, coefficient="rho"),
        ),
        (
            ["--method", "consensus", "--coefficient", "rho_w", "--n0", "0.5"],
            consensus(RANKINGS, coefficient=RhoW(n0=0.5)),
        ),
    ],
)
def test_a_merged_ranking_is_that_of_the_library(arguments, merged):
    content = run_json("merge", "gold.csv", "system.csv", *arguments)
    expected = merged.to_dict()
    assert {name: content[name] for name in expected} == expected
    lines = run("merge", "gold.csv", "system.csv", *arguments, "--table", "csv").stdout.splitlines()
    items = [row["item"] for row in merged.table()]
    assert [line.split(",")[1] for line in lines[1 : 1 + len(items)]] == items
    assert [line.split(",")[0] for line in lines[-2:]] == list(RANKINGS)


def test_columns_of_one_file_and_missing_items():
    columns = ["merge", "both.tsv", "both.tsv", "--id", "left", "--score", "g", "--score", "s", "--name", "x"]
    content = run_json(*columns, "--name", "y", "--weight", "x=1", "--weight", "y=1")
    assert content["weights"] == {"x": 0.5, "y": 0.5}
    output = run_ok("merge", "gold.csv", "other.csv", "--missing", "skip")
    assert output.startswith("borda: 2 rankings, 6 items\n")


def test_scores_of_reciprocal_ranks_show_which_items_differ(folder):
    """The sums of 1/(60 + rank) of two opposite orders differ in the fifth decimal."""
    for name, scores in {"up.csv": "a,1\nb,2\nc,3\n", "down.csv": "a,3\nb,2\nc,1\n"}.items():
        (folder / name).write_text("item,score\n" + scores)
    output = run_ok("merge", "up.csv", "down.csv", "--method", "reciprocal_rank_fusion")
    assert f"{1 / 61 + 1 / 63:.6f}" in output
    assert f"{2 / 62:.6f}" in output


def test_rank_sets_are_those_of_the_library(folder):
    rows = {"ant": (3.0, 0.5), "bee": (2.5, 0.75), "cat": (0.0, 0.25)}
    text = "".join(f"{name},{estimate},{error}\n" for name, (estimate, error) in rows.items())
    (folder / "estimates.csv").write_text("name,mean,se\n" + text)
    arguments = ["rank-sets", "estimates.csv", "--estimate", "mean", "--error", "se", "--level", "0.9"]
    content = run_json(*arguments, "--best", "1")
    sets = rank_sets(
        {name: estimate for name, (estimate, _) in rows.items()},
        standard_errors={name: error for name, (_, error) in rows.items()},
        level=0.9,
    )
    expected = sets.to_dict()
    assert {name: content[name] for name in expected} == expected
    assert content["best"] == list(sets.best(1)) == ["ant", "bee"]
    (folder / "twice.csv").write_text("name,estimate,standard_error\nant,1,1\nant,2,1\n")
    assert refusal("rank-sets", "twice.csv").endswith('"ant" is also on line 2; ids must be unique')
