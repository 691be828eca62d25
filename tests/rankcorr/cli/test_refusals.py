"""What the commands refuse, each in one line, which leaves no file."""

from pathlib import Path

import pytest

from tests.rankcorr.cli.commands import GOLD, refusal, write_scores


@pytest.fixture(autouse=True)
def files(folder):  # noqa: ARG001
    """More gold sets, one with the name of a column, and systems that have parts of the items."""
    for name, scores in {"sum": GOLD, "less.csv": {"a": 4, "b": 9}, "rest.csv": {"c": 4, "d": 9}}.items():
        write_scores(name, scores)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", "Missing command; 'rankcorr --help' lists the options"),
        ("compute", "No such command 'compute'"),
        ("compare gold.csv", "Missing argument 'SYSTEM...'; 'rankcorr compare --help' lists the options"),
        ("compare gold.csv missing.csv", "missing.csv: cannot be read: No such file or directory"),
        ("compare gold.csv other.csv", "labels in gold.csv only: 'b', 'c', 'd', 'e'; labels in other.csv only"),
        ("compare gold.csv both.tsv", "both.tsv:1: say which column holds the ids (--id) and the numbers (--score)"),
        ("compare gold.csv gold.csv --score x", 'gold.csv:1: no column "x"; the columns are "id", "score"'),
        ("compare gold.csv gold.csv --no-header", 'gold.csv:1: column "2": "score" is not a number'),
        (
            "compare gold.csv gold.csv --score s --score s --score s",
            "--score must be given once, or once for each file",
        ),
        ('compare gold.csv gold.csv --id "a', "Invalid value for '--id': not a list of columns"),
        ("compare - -", "'-' (standard input) can be given only once"),
        ("compare gold.csv -", "<stdin>: the file is empty"),
        ("compare gold.csv gold.csv --n0 -1", "n0 must be a finite number greater than -1; got -1.0"),
        ("compare gold.csv gold.csv --n0 2 --weigher uniform", "--n0 and --weigher exclude each other"),
        ("compare gold.csv gold.csv --weigher top", "--weigher: a weigher is one of hyperbolic, logarithmic, top-k:K"),
        ("compare gold.csv gold.csv --scheme last", "'last' is not one of 'additive', 'multiplicative'"),
        ("compare gold.csv gold.csv --jsn", "No such option"),
        ("compare gold.csv constant.csv --scheme second --weigher top-k:1", "gold.csv and constant.csv: "),
        ("compare gold.csv system.csv --unordered", "unordered needs two id columns"),
        ("compare gold.csv system.csv gold.csv --name lch", "--name must be given once for each system; got 1 for 2"),
        ("compare gold.csv system.csv gold.csv --name a --name a", "--name must differ; more than once: a"),
        ("compare gold.csv system.csv --name ", "--name must not be empty"),
        ("compare gold.csv system.csv --worst 0", "Invalid value for '--worst': 0 is not in the range"),
        ("compare gold.csv system.csv --coefficient tau", "--coefficient belongs to --worst, which is missing"),
        ("compare gold.csv system.csv --level 0.9", "--level belongs to --ci, which is missing"),
        ("compare gold.csv system.csv --method percentile", "--method belongs to --ci, which is missing"),
        ("compare gold.csv system.csv --worst 1 --seed 1", "--seed belongs to --ci or --standardize, which is missing"),
        (
            "compare gold.csv system.csv --resamples 10",
            "--resamples belongs to --ci or --standardize, which is missing",
        ),
        ("compare gold.csv system.csv --ci --resamples 10000001", "'--resamples': 10000001 is not in the range"),
        ("compare gold.csv system.csv --ci --level 1", "the level must be a number between 0 and 1, both excluded"),
        ("test gold.csv system.csv --versus", "--versus needs at least two SYSTEM files; got one"),
        ("test gold.csv system.csv --level 0.9", "--level belongs to --versus, which is missing"),
        ("test gold.csv system.csv --swap scores", "--swap belongs to --versus, which is missing"),
        (
            "test gold.csv system.csv --coefficient rho --n0 2",
            "--coefficient rho weighs all items alike, and takes neither",
        ),
        ("test gold.csv less.csv rest.csv --versus --missing intersection", "gold, a and b must have at least two"),
        ("test gold.csv system.csv other.csv --versus", "gold.csv and other.csv: labels in gold.csv only: 'b', 'c'"),
        ("leaderboard gold.csv system.csv --gold gold.csv", "each gold set can be given only once"),
        ("leaderboard sum system.csv", "a gold set cannot have the name 'sum'"),
        (
            "leaderboard gold.csv system.csv --by less.csv",
            "by must be one of 'sum', 'mean', 'gold.csv'; got 'less.csv'",
        ),
        ("leaderboard gold.csv other.csv", "labels of system 'other.csv' that are in no gold set: 'z'"),
        ("leaderboard gold.csv system.csv --gold - --score a --score b", "--score must be given once, or"),
        ("leaderboard gold.csv system.csv --swap scores --ranks", "exchanges scores, and system 'system.csv'"),
        ("leaderboard gold.csv - --gold -", "'-' (standard input) can be given only once"),
        ("plot", "Missing command; 'rankcorr plot --help' lists the options"),
        ("plot bars", "No such command 'bars'"),
        ("plot ranks gold.csv system.csv", "Missing option '--out'"),
        ("plot offset gold.csv system.csv --coefficient tau --out f.png", "'tau' is not one of 'rho_w', 'tau_w'"),
        ("plot offset gold.csv system.csv --n0 2 --out f.png", "No such option"),
        ("plot null gold.csv constant.csv --out f.png", "gold.csv and constant.csv: there is nothing to draw"),
        ("weights --n0 2 --share 0.3", "n0 and share exclude each other"),
        ("weights --top 5 --n-items 3", "top is 5, but n_items is 3"),
        ("weights --top 0", "Invalid value for '--top': 0 is not in the range"),
        ("weights --share 0.2 extra", "Got unexpected extra argument (extra); 'rankcorr weights --help'"),
    ],
)
def test_refused(arguments, message):
    before = set(Path().iterdir())
    assert message in refusal(*arguments.split(" ") if arguments else (), stdin="")
    assert set(Path().iterdir()) == before
