"""Errors of the commands: one line each, and no output file."""

from pathlib import Path

import pytest

from tests.rankcorr.cli.conftest import refusal

pytestmark = pytest.mark.usefixtures("folder")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", "Missing command; 'rankcorr --help' lists the options"),
        ("compute", "No such command 'compute'"),
        ("compare gold.csv", "Missing argument 'SYSTEM...'; 'rankcorr compare --help' lists the options"),
        ("compare gold.csv missing.csv", "missing.csv: cannot be read: No such file or directory"),
        ("compare gold.csv other.csv", "labels in gold.csv only: 'b', 'c', 'd', 'e'; labels in other.csv only"),
        ("compare gold.csv gold.csv --score s --score s --score s", "--score must be given once, or once for each f"),
        ('compare gold.csv gold.csv --id "a', "Invalid value for '--id': not a list of columns"),
        ("compare - -", "'-' (standard input) can be given only once"),
        ("compare gold.csv gold.csv --n0 -1", "--n0 must be a finite number greater than -1; got -1.0"),
        ("compare gold.csv gold.csv --n0 2 --weigher uniform", "give --n0 or --weigher, not both"),
        ("compare gold.csv gold.csv --weigher top", "--weigher: unknown weigher 'top': use one of hyperbolic, "),
        ("compare gold.csv gold.csv --scheme last", "'last' is not one of 'additive', 'multiplicative'"),
        ("compare gold.csv gold.csv --jsn", "No such option"),
        ("compare gold.csv constant.csv --scheme second --weigher top-k:1", "gold.csv and constant.csv: "),
        ("compare gold.csv system.csv gold.csv --name lch", "--name must be given once for each system; got 1 for 2"),
        ("compare gold.csv system.csv gold.csv --name a --name a", "--name must be different; repeated: a"),
        ("compare gold.csv system.csv --name ", "--name must not be empty"),
        ("compare gold.csv system.csv --worst 0", "Invalid value for '--worst': 0 is not in the range"),
        ("compare gold.csv system.csv --coefficient tau", "--coefficient has no effect without --worst"),
        ("compare gold.csv system.csv --level 0.9", "--level has no effect without --ci"),
        ("compare gold.csv system.csv --method percentile", "--method has no effect without --ci"),
        ("compare gold.csv system.csv --worst 1 --seed 1", "--seed has no effect without --ci or --standardize"),
        ("compare gold.csv system.csv --resamples 10", "--resamples has no effect without --ci or --standardize"),
        ("compare gold.csv system.csv --ci --resamples 10000001", "'--resamples': 10000001 is not in the range"),
        ("compare gold.csv system.csv --ci --resamples 38", "--resamples must be at least 39 at level 0.95, or "),
        ("test gold.csv system.csv --versus", "--versus needs at least two SYSTEM files; got one"),
        ("test gold.csv system.csv --level 0.9", "--level has no effect without --versus"),
        ("test gold.csv system.csv --swap scores", "--swap has no effect without --versus"),
        ("test gold.csv system.csv --coefficient rho --n0 2", "rho weighs all items alike, so leave out --n0 and --w"),
        ("test gold.csv system.csv other.csv --versus", "gold.csv and other.csv: labels in gold.csv only: 'b', 'c'"),
        ("leaderboard gold.csv system.csv --gold gold.csv", "each gold set can be given only once"),
        ("leaderboard gold.csv system.csv --gold - --score a --score b", "--score must be given once, or"),
        ("leaderboard gold.csv - --gold -", "'-' (standard input) can be given only once"),
        ("merge gold.csv system.csv --weight gold.csv=2", "rankings and no others; different: 'system.csv'"),
        ("merge gold.csv system.csv --weight x=2", "--weight must name rankings, as in a.csv=2; unknown: 'x'"),
        ("merge gold.csv system.csv --weight 2", "--weight must name rankings, as in a.csv=2; unknown: '2'"),
        ("merge gold.csv system.csv --weight gold.csv=high", "--weight of gold.csv: 'high' is not a number"),
        ("merge gold.csv system.csv --weight gold.csv=1_0", "--weight of gold.csv: '1_0' is not a number"),
        ("merge gold.csv system.csv --weight gold.csv=1e400", "--weight of gold.csv: '1e400' is not a number"),
        ("merge gold.csv system.csv --weight gold.csv=1 --weight gold.csv=1", "--weight gives gold.csv two weights"),
        ("merge gold.csv system.csv --k 10", "--k is an option of reciprocal_rank_fusion; borda"),
        ("merge gold.csv other.csv", "(accept them with --missing intersection, --missing bottom or --missing skip)"),
        ("compare gold.csv other.csv", "(accept them with --missing intersection, --missing bottom or --missing gold)"),
        ("merge gold.csv gold.csv", "each ranking can be given only once; repeated: gold.csv"),
        ("merge gold.csv gold.csv --name a", "--name must be given once for each ranking; got 1 for 2"),
        ("merge gold.csv system.csv --missing gold", "'gold' is not one of 'raise', 'intersection', 'bottom', 'skip'"),
        ("rank-sets gold.csv", 'gold.csv:1: no column "name" for the ids (--id)'),
        ("rank-sets gold.csv --id id", 'no column "estimate" for the numbers (--estimate)'),
        ("rank-sets gold.csv --id id --estimate score", 'no column "standard_error" for the numbers (--error)'),
        ("compare gold.csv system.csv --id name", 'no column "name" for the ids (--id)'),
        ("rank-sets gold.csv --estimate score --error score", "--estimate and --error must be different columns"),
        ("rank-sets both.tsv --id left --estimate g --error s --level 1", "Invalid value for '--level'"),
        ("plot", "Missing command; 'rankcorr plot --help' lists the options"),
        ("plot bars", "No such command 'bars'"),
        ("plot ranks gold.csv system.csv", "Missing option '--out'"),
        ("plot offset gold.csv system.csv --coefficient tau --out f.png", "'tau' is not one of 'rho_w', 'tau_w'"),
        ("plot offset gold.csv system.csv --n0 2 --out f.png", "No such option"),
        ("weights --top 0", "Invalid value for '--top': 0 is not in the range"),
        ("weights --share 0.2 extra", "Got unexpected extra argument (extra); 'rankcorr weights --help'"),
    ],
)
def test_errors_are_one_line(arguments, message):
    before = set(Path().iterdir())
    assert message in refusal(*arguments.split(" ") if arguments else (), stdin="")
    assert set(Path().iterdir()) == before
