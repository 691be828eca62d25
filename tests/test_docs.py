"""The documents show the output of the commands, and their links work; their Python examples are doctests."""

import os
import re
import shlex
import subprocess
import sys
from calendar import month_name
from functools import cache
from importlib import import_module
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from adaptive._cli.main import main as ballots
from rankcorr import first_rank_share, null_distribution, top_share
from rankcorr._cli.evaluate import EXIT_WORSE
from rankcorr._cli.main import main as rankcorr
from rankcorr._coefficients import named_coefficient
from tests.repository import PAGES, ROOT, console_steps, find_fenced

COMMANDS = {"rankcorr": rankcorr, "ballots": ballots}
# Installations, servers and their clients; tests/service/test_docs.py runs the clients.
SKIPPED_COMMANDS = ("make", "pip", "python3", "python", "curl", "rankcorr-serve", "rankcorr-collect")


def consoles():
    """Steps of each page's console blocks, where one of them runs a command."""
    for page, text in PAGES.items():
        steps = [step for block in find_fenced(text, "console") for step in console_steps(block)]
        if runs := [step for step in steps if step[0].split()[0] not in SKIPPED_COMMANDS]:
            yield pytest.param(runs, id=page)


def run_line(command):
    """Output of a console line; the shell runs other commands than ours."""
    program, *arguments = shlex.split(command, comments=True)
    if program in COMMANDS:
        result = CliRunner().invoke(COMMANDS[program], arguments)
        assert result.exit_code == EXIT_WORSE * ("--fail-if-worse" in arguments), result.output
        return result.output
    process = subprocess.run(["bash", "-euc", command], capture_output=True, text=True, check=True, timeout=300)
    return process.stdout


@pytest.mark.wide
@pytest.mark.needs_numba
@pytest.mark.parametrize("steps", list(consoles()))
def test_the_commands_print_what_the_page_shows(steps, tmp_path, monkeypatch):
    (tmp_path / "rankcorr").symlink_to(ROOT / "rankcorr")  # the data sets of the checkout
    monkeypatch.chdir(tmp_path)
    for command, output in steps:
        assert (command, run_line(command).strip()) == (command, output.strip())


@pytest.mark.parametrize(
    "command",
    ["compare", "test", "leaderboard", "rank-sets", "merge", "weights", "evaluate", "fuse", "evaluate-vectors"],
)
def test_the_pages_show_each_command_at_work(command):
    run = [step for parameter in consoles() for step, _ in parameter.values[0]]
    assert any(step.startswith(f"rankcorr {command} ") for step in run)


def leaves(name, command):
    """Each command that is not a group, by its full name."""
    if not isinstance(command, click.Group):
        return {name: command}
    context = click.Context(command)
    commands = [leaves(f"{name} {part}", command.get_command(context, part)) for part in command.list_commands(context)]
    return {path: result for part in commands for path, result in part.items()}


def test_each_command_has_a_page_with_its_options_and_an_example():
    directive = re.compile(r"^.. click:: (\S+):(\S+)\n   :prog: (.+)$(\n   :nested: full)?", re.MULTILINE)
    documented = {}
    for page, text in PAGES.items():
        if page.startswith("docs/reference/commands/") and not page.endswith("/index.md"):
            for module, attribute, name, _ in directive.findall(text):
                documented |= leaves(name, getattr(import_module(module), attribute))
            assert [title for title in ("Example", "Exit codes", "See also") if f"## {title}\n" not in text] == [], page
            assert find_fenced(text, "console"), page
    assert documented == leaves("rankcorr", rankcorr) | leaves("ballots", ballots)


@pytest.mark.needs_numba
@pytest.mark.real_data
def test_the_comparison_on_rg_65_is_printed_by_the_command(data_dir, monkeypatch):
    (block,) = (block for block in find_fenced(PAGES["docs/results/levels.md"], "text") if block.startswith("$ RG="))
    variables = dict(re.findall(r'^\$ ([A-Z_0-9]+)="?([^"\n]*)"?$', block, re.MULTILINE))
    monkeypatch.chdir(data_dir)
    n_run = 0
    for command, output in console_steps(block):
        if command.startswith("rankcorr "):
            assert (
                run_line(re.sub(r"\$([A-Z_]+)", lambda result: variables[result[1]], command)).strip() == output.strip()
            )
            n_run += 1
    assert n_run == 2


def test_the_table_of_offsets_is_computed():
    rows = re.findall(r"^\| ([0-9]+) \| (0\.\d+) \| (0\.\d+) \| (0\.\d+) \|", PAGES["docs/how-to/n0.md"], re.MULTILINE)
    assert [int(n0) for n0, *_ in rows] == [0, 1, 2, 5, 10]
    for n0, *shares in rows:
        computed = first_rank_share(float(n0)), top_share(10, float(n0)), top_share(100, float(n0))
        assert [float(share) for share in shares] == pytest.approx(computed, abs=5.01e-4)


def row_of_chance(coefficient, n_items, section="Table of chance"):
    """Cells of a row of the table of a section on chance, one for each n0."""
    (text,) = re.findall(rf"^## {section}\n(.*?)(?=^## )", PAGES["docs/results/chance.md"], re.MULTILINE | re.DOTALL)
    (row,) = re.findall(rf"^\| {coefficient} \| {n_items:,} \| (.*) \|$", text, re.MULTILINE)
    return row.split(" | ")


@pytest.mark.needs_numba
@pytest.mark.parametrize("coefficient", ["tau_w", "rho_w"])
@pytest.mark.parametrize("n_items", [10, 100, pytest.param(1000, marks=pytest.mark.figures)])
def test_the_tables_of_chance_are_computed(coefficient, n_items):
    cells, spreads = [], []
    for n0 in (0.0, 2.0, 10.0):
        null = null_distribution(range(n_items), range(n_items), coefficient=named_coefficient(coefficient, n0=n0))
        cells.append(f"{null.mean:.2f} ± {null.std:.2f}, {null.quantile(0.95):.2f}")
        spreads.append(f"{null.standardize(null.values).std():.3f}")
    assert row_of_chance(coefficient, n_items) == cells
    assert row_of_chance(coefficient, n_items, "Standardized values") == spreads


def test_the_first_steps_quote_the_table_of_chance_levels():
    (sentence,) = re.findall(r"τ_w = (.*?)Do\s+not\s+read\s+0", PAGES["docs/start/verdict.md"], re.DOTALL)
    levels = re.findall(r"\N{MINUS SIGN}(\d\.\d\d) ± (\d\.\d\d)", sentence)
    table = [re.findall(r"\d\.\d\d", row_of_chance("tau_w", n_items)[1])[:2] for n_items in (10, 100, 1000)]
    assert [list(pair) for pair in levels] == table


@cache
def anchors(text):
    """Anchors of a page's headings, as GitHub forms them: lower case, hyphens for spaces, no punctuation."""
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    result = []
    for heading in re.findall(r"^#+ (.*)$", prose, re.MULTILINE):
        anchor = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        repeated = result.count(anchor)
        result.append(f"{anchor}-{repeated}" if repeated else anchor)
    return result


def links(page):
    """Each link of a page that leads to a file or a heading of this repository."""
    return [target for target in re.findall(r"\]\(([^)\s]+)\)", PAGES[page]) if "://" not in target]


def is_valid_link(page, target):
    path, _, anchor = target.partition("#")
    goal = (ROOT / page).parent / path if path else ROOT / page
    if not goal.is_file():
        return False
    return not anchor or anchor in anchors(PAGES[goal.resolve().relative_to(ROOT.resolve()).as_posix()])


@pytest.mark.parametrize("page", PAGES)
def test_links_and_paths_exist_and_no_line_is_a_comment(page):
    """MyST omits a line that begins with %, as in a sentence that is wrapped before "% of cases"."""
    assert [target for target in links(page) if not is_valid_link(page, target)] == []
    paths = re.findall(r"`((?:rankcorr|adaptive|service|tests|benchmarks|docs|\.ci)/[\w./]*)`", PAGES[page])
    assert [path for path in paths if not (ROOT / path).exists()] == []
    prose = re.sub(r"^ *```.*?^ *```$", "", PAGES[page], flags=re.MULTILINE | re.DOTALL)
    assert re.findall(r"^ *%.*$", prose, re.MULTILINE) == []


def test_lists_of_pages_are_links_too():
    for page, text in PAGES.items():
        names = [
            line.split("<")[-1].rstrip(">") for block in find_fenced(text, "{toctree}") for line in block.splitlines()
        ]
        for name in names:
            if name and not name.startswith(":"):
                assert re.search(rf"\]\({re.escape(name)}\.(md|rst)[)#]", text), (page, name)


def test_every_picture_is_shown_and_small():
    pictures = [(page, target) for page in PAGES for target in links(page) if target.endswith(".png")]
    pictures_shown = {os.path.normpath(Path(page).parent / target) for page, target in pictures}
    assert pictures_shown == {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs/images").iterdir()}
    assert [path.name for path in (ROOT / "docs/images").iterdir() if path.stat().st_size > 150_000] == []


def test_tutorials_import_only_installed_packages():
    """Only packages of make docs and of readers count: the extra plot installs matplotlib, and so numpy."""
    installed = {"rankcorr", "adaptive", "service", "numpy", "scipy", "matplotlib"} | sys.stdlib_module_names
    imported = {
        (page, module)
        for page, text in PAGES.items()
        for cell in find_fenced(text, r"\{code-cell\}(?: \w+)?")
        for module in re.findall(r"^ *(?:import|from) (\w+)", cell, re.MULTILINE)
    }
    assert {module for _, module in imported} > {"rankcorr", "adaptive", "numpy"}
    assert [(page, module) for page, module in sorted(imported) if module not in installed] == []


def test_anchors_are_those_of_github():
    page = "# The paper's Table 2\n## A\n```text\n# no heading\n```\n## A\n"
    assert anchors(page) == ["the-papers-table-2", "a", "a-1"]


def test_the_readme_is_short_enough_to_read():
    assert len(PAGES["README.md"].splitlines()) <= 150


@pytest.mark.parametrize("page", sorted({page for page in PAGES if "/results/" in page} - {"docs/results/index.md"}))
def test_pages_of_results_have_the_date_and_commit_of_the_measurement(page):
    text = " ".join(PAGES[page].split())
    assert re.search(rf"\b({'|'.join(month_name[1:])}) 20\d\d\b", text)
    assert re.search(r"\bcommit [0-9a-f]{8}\b", text)


def test_the_readme_names_the_commands_that_a_newcomer_runs():
    steps = [step for block in find_fenced(PAGES["README.md"], "console") for step in console_steps(block)]
    assert {command.split("#")[0].strip() for command, _ in steps} >= {"make demo", "make test"}


def test_names_in_recipes_exist():
    text = "".join(
        path.read_text()
        for package in ("rankcorr", "adaptive", "service", "tests")
        for path in (ROOT / package).rglob("*")
        if path.suffix in (".py", ".js", ".json")
    )
    names = set(re.findall(r"`(_?[A-Za-z]\w+)`", PAGES["docs/project/recipes.md"]))
    assert len(names) > 10
    assert names - set(re.findall(r"\w+", text)) == set()
