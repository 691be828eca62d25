"""`rankcorr plot` draws the figures of `rankcorr.plots`, and reports errors in one line."""

import re
import warnings

import pytest

from rankcorr import Ranking, RhoW, correlate
from rankcorr._cli import plot as cli_plot
from rankcorr.evaluation import leaderboard_of_scores
from rankcorr.inference._leaderboard import leaderboard
from rankcorr.inference._null import null_distribution
from rankcorr.plots import chance_levels, plot_leaderboard, plot_null, plot_offset, plot_ranks, save_figure, theme
from tests.rankcorr.cli.conftest import LONG, refusal, run, run_ok
from tests.rankcorr.plots.conftest import matplotlib
from tests.results import with_coefficient

__all__ = ["matplotlib"]  # a fixture

pytestmark = [pytest.mark.wide, pytest.mark.usefixtures("folder")]
FIGURES = ("ranks", "offset", "leaderboard", "null")
GOLD, A, B, C = (Ranking.from_scores(scores) for scores in LONG.values())
SYSTEMS = {"long_a": A, "long_b": B}


def board(**options):
    return leaderboard({"long_gold": GOLD}, SYSTEMS, n_resamples=100, **with_coefficient(**options))


def chance(seed=0, **options):
    return chance_levels({"long_gold": GOLD}, SYSTEMS, n_resamples=100, seed=seed, **options)


def null(statistic, **options):
    values = null_distribution(
        GOLD, A, n_resamples=100, **with_coefficient(coefficient=statistic.coefficient, **options)
    )
    return values, statistic.statistic


NAMES = {"names": ("long_gold", "long_a")}
RESULTS = correlate(GOLD, A)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("ranks long_gold.csv long_a.csv", lambda: plot_ranks(GOLD, A, **NAMES)),
        (
            "ranks long_gold.csv long_a.csv --worst 0 --coefficient rho_w --n0 1 --scheme first",
            lambda: plot_ranks(
                GOLD, A, n_named=0, **with_coefficient(coefficient="rho_w", n0=1, scheme="first", **NAMES)
            ),
        ),
        (
            "ranks long_gold.csv long_a.csv long_b.csv --worst 2",
            lambda: plot_ranks(GOLD, SYSTEMS, n_named=2, names=("long_gold", "")),
        ),
        ("offset long_gold.csv long_a.csv long_b.csv", lambda: plot_offset(GOLD, SYSTEMS)),
        (
            "offset long_gold.csv long_a.csv long_b.csv --coefficient rho_w --tied-weights expected",
            lambda: plot_offset(GOLD, SYSTEMS, coefficient=RhoW(tied_weights="expected")),
        ),
        (
            "leaderboard long_gold.csv long_a.csv long_b.csv --resamples 100",
            lambda: plot_leaderboard(board(), chance=chance()),
        ),
        (
            "leaderboard long_gold.csv long_a.csv long_b.csv --resamples 100 --coefficient tau --level 0.5 --seed 2",
            lambda: plot_leaderboard(
                board(coefficient="tau", level=0.5, seed=2), chance=chance(coefficient="tau", seed=2)
            ),
        ),
        ("null long_gold.csv long_a.csv --resamples 100", lambda: plot_null(*null(RESULTS["tau_w"]))),
        (
            "null long_gold.csv long_a.csv --resamples 100 --coefficient rho --alternative greater --seed 3",
            lambda: plot_null(*null(RESULTS["rho"], seed=3), alternative="greater"),
        ),
        (
            "null long_gold.csv long_a.csv long_b.csv --resamples 100",
            lambda: plot_null(
                {name: null_distribution(GOLD, system, n_resamples=100) for name, system in SYSTEMS.items()},
                {name: correlate(GOLD, system)["tau_w"] for name, system in SYSTEMS.items()},
            ),
        ),
    ],
)
def test_figures_are_those_of_the_library(folder, arguments, expected):
    name = "figure.PNG" if arguments.startswith("offset") else "figure.svg"
    assert run_ok("plot", *arguments.split(" "), "--out", name) == f"{name}\n"
    reference = save_figure(expected(), folder / f"expected-{name}")
    assert (folder / name).read_bytes() == reference.read_bytes()


def test_a_dark_figure_is_that_of_the_theme(folder):
    run_ok("plot", "ranks", "long_gold.csv", "long_a.csv", "--theme", "dark", "--out", "dark.svg")
    with theme("dark"):
        reference = save_figure(plot_ranks(GOLD, A, **NAMES), folder / "expected.svg")
    assert (folder / "dark.svg").read_bytes() == reference.read_bytes()


@pytest.mark.parametrize("figure", ["ranks", "null", "leaderboard"])
def test_undefined_is_noted(figure):
    result = run("plot", figure, "gold.csv", "constant.csv", "system.csv", "--out", "figure.svg")
    assert (result.exit_code, result.stdout) == (0, "figure.svg\n")
    assert result.stderr.startswith("rankcorr: note: tau_w: the correlation is undefined")
    result = run("plot", "ranks", "gold.csv", "constant.csv", "--out", "figure.svg")
    (note,) = result.stderr.splitlines()
    assert note.startswith("rankcorr: note: constant.csv: tau_w: the correlation is undefined")


def test_gold_sets_have_panels(folder):
    arguments = "plot leaderboard long_gold.csv long_a.csv long_b.csv --gold long_c.csv --resamples 50"
    run_ok(*arguments.split(), "--out", "sets.svg")
    text = (folder / "sets.svg").read_text(encoding="utf-8")
    assert all(f">{title}<" in text for title in ("Sum over 2 gold sets", "long_gold", "long_c"))


def test_a_table_of_scores_is_drawn_as_by_the_library(folder):
    scores = {f"model {m}": {f"task {t}": (m * 7 + t * 5) % 11 + m for t in range(9)} for m in range(4)}
    tasks = list(scores["model 0"])
    rows = [",".join([model, *(str(row[task]) for task in tasks)]) for model, row in scores.items()]
    (folder / "scores.csv").write_text("\n".join([",".join(["model", *tasks]), *rows]))
    options = ("--aggregate", "borda", "--resamples", "50", "--seed", "3", "--no-title", "--width", "4")
    run_ok("plot", "leaderboard", "scores.csv", *options, "--out", "of_command.svg")
    with theme(width=4, has_title=False):
        board = leaderboard_of_scores(scores, aggregate="borda", n_resamples=50, seed=3)
        save_figure(plot_leaderboard(board), "of_library.svg")
    assert (folder / "of_command.svg").read_bytes() == (folder / "of_library.svg").read_bytes()
    arguments = ("plot", "leaderboard", "scores.csv", "--out", "a.svg")
    assert "--n0 can be used only with SYSTEM files" in refusal(*arguments, "--n0", "3")
    assert "have no effect on a figure" in refusal(*arguments, "--needed", "2")


def texts_of(path):
    """All text in an SVG."""
    return set(re.findall(r">([^<>]+)</text>", path.read_text(encoding="utf-8")))


COLUMNS = ("--score", "mean", "--score", "path", "--score", "lch")


@pytest.fixture
def table(folder):
    """An absolute path that is too long for a figure, to a file with a column for each system."""
    path = folder / ("a-folder-with-quite-a-long-name-" * 3) / "wide.tsv"
    path.parent.mkdir()
    rows = [f"item {i}\t{i // 2}\t{i * 7 % 20 + i}\t{i * 3 % 11}\n" for i in range(20)]
    path.write_text("id\tmean\tpath\tlch\n" + "".join(rows), encoding="utf-8")
    return path


@pytest.mark.parametrize("figure", FIGURES)
def test_columns_of_one_file_are_named_by_their_headers(folder, figure, table):
    more = ["--resamples", 50] if figure in ("leaderboard", "null") else []
    run_ok("plot", figure, *[table] * 3, "--id", "id", *COLUMNS, *more, "--out", "figure.svg")
    result = texts_of(folder / "figure.svg")
    expected = {"Rank in mean", "Rank in path", "Rank in lch"} if figure == "ranks" else {"path", "lch"}
    assert expected <= result
    assert not any("wide.tsv" in text for text in result)


@pytest.mark.parametrize(("by", "title"), [("mean", "Mean over 2 gold sets"), ("path", "path")])
def test_a_gold_set_and_a_column_of_the_leaderboard_have_different_names(folder, table, by, title):
    column = f"{table}:path" if by == "path" else by
    arguments = (table, table, "--id", "id", "--gold", table, *COLUMNS, "--by", column, "--resamples", 50)
    run_ok("plot", "leaderboard", *arguments, "--out", "figure.svg")
    result = texts_of(folder / "figure.svg")
    assert {title, "path", "lch"} <= result
    assert any(text.endswith(".tsv:mean") for text in result)


def test_files_are_named_without_common_folders_and_suffixes(folder):
    for name in ("one", "two"):
        (folder / name).mkdir()
        for file in ("long_gold.csv", "long_a.csv", "long_b.csv"):
            (folder / name / file).write_bytes((folder / file).read_bytes())
    run_ok("plot", "ranks", folder / "one/long_gold.csv", folder / "one/long_a.csv", "--out", "figure.svg")
    assert {"Rank in long_gold", "Rank in long_a"} <= texts_of(folder / "figure.svg")
    systems = [folder / name / "long_a.csv" for name in ("one", "two")]
    run_ok("plot", "offset", folder / "one/long_gold.csv", *systems, "--out", "figure.svg")
    assert {"one/long_a", "two/long_a"} <= texts_of(folder / "figure.svg")
    files = (folder / "one/long_gold.csv", folder / "one/long_a.csv")
    run_ok("plot", "ranks", *files, "--name", "ours", "--out", "figure.svg")
    assert {"Rank in long_gold", "Rank in ours"} <= texts_of(folder / "figure.svg")
    (folder / "long_a.tsv").write_text((folder / "long_b.csv").read_text().replace(",", "\t"))
    run_ok("plot", "offset", "long_gold.csv", "long_a.csv", "long_a.tsv", "--out", "figure.svg")
    assert {"long_a.csv", "long_a.tsv"} <= texts_of(folder / "figure.svg")


def test_messages_keep_the_whole_path(folder):
    path = folder / "other.csv"
    assert f"{path}: labels in" in refusal("plot", "ranks", folder / "gold.csv", path, "--out", "figure.svg")


def test_letters_missing_in_the_font_are_noted(folder):
    (folder / "日.csv").write_text((folder / "system.csv").read_text(encoding="utf-8"), encoding="utf-8")
    result = run("plot", "ranks", "gold.csv", "日.csv", "--out", "figure.png")
    assert result.exit_code == 0
    (note,) = result.stderr.splitlines()
    assert note.startswith("rankcorr: note: Glyph 26085 ")


def test_other_warnings_are_not_hidden(monkeypatch):
    def warning(*_args, **_options):
        warnings.warn("not about letters", UserWarning, stacklevel=1)

    monkeypatch.setattr(cli_plot, "plot_ranks", warning)
    result = run("plot", "ranks", "gold.csv", "system.csv", "--out", "figure.png")
    assert isinstance(result.exception, UserWarning)  # warnings are errors in the tests


@pytest.mark.parametrize(
    ("figure", "out", "message"),
    [
        *((figure, "figure.jpg", "'--out': 'figure.jpg' must end with .png, .svg or .pdf") for figure in FIGURES),
        ("ranks", "figure", "Invalid value for '--out': 'figure' must end with .png, .svg or .pdf"),
        ("offset", "", "Invalid value for '--out': '' must end with .png, .svg or .pdf"),
        ("ranks", "folder/figure.png", "folder/figure.png: cannot be written: there is no folder folder"),
        ("offset", "taken.svg", "taken.svg: cannot be written: Is a directory"),
    ],
)
def test_files_that_cannot_be_written(folder, figure, out, message):
    (folder / "taken.svg").mkdir()
    assert message in refusal("plot", figure, "long_gold.csv", "long_a.csv", "--out", out)


@pytest.mark.usefixtures("without_matplotlib")
@pytest.mark.parametrize("figure", FIGURES)
def test_without_matplotlib_figures_are_refused(figure):
    line = refusal("plot", figure, "long_gold.csv", "long_a.csv", "--out", "figure.png")
    assert line == "figures need matplotlib: pip install matplotlib"
