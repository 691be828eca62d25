"""What the tests of the command share: small files, and calls that check how the command ends."""

from pathlib import Path

from click.testing import CliRunner

from rankcorr.cli import main as cli

GOLD = {"a": 5.0, "b": 4.0, "c": 3.0, "d": 2.0, "e": 1.0}
SYSTEM = {"e": 1.0, "b": 9.0, "a": 4.0, "c": 4.0, "d": 2.0}
CONSTANT = dict.fromkeys(GOLD, 1.0)
# Too many items for every permutation, and for every swap, to be enumerated.
LONG = {
    "long_gold.csv": {f"item {i}": float(i // 2) for i in range(20)},
    "long_a.csv": {f"item {i}": float(i * 7 % 20 + i) for i in range(20)},
    "long_b.csv": {f"item {i}": float(i * 3 % 11) for i in range(20)},
    "long_c.csv": {f"item {i}": float(i * 5 % 7 - i) for i in range(20)},
}


def run(*args, stdin=None):
    return CliRunner().invoke(cli.main, [str(arg) for arg in args], input=stdin)


def run_ok(*args, stdin=None):
    result = run(*args, stdin=stdin)
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout


def refusal(*args, stdin=None):
    """The one line that says what is wrong."""
    result = run(*args, stdin=stdin)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert isinstance(result.exception, SystemExit)
    line, end = result.stderr[:-1], result.stderr[-1:]
    assert end == "\n"
    assert line.startswith("rankcorr: error: ")
    assert line.isprintable()
    return line.removeprefix("rankcorr: error: ")


def write_scores(name, scores):
    """Write a file of scores into the current folder."""
    text = "id,score\n" + "".join(f"{label},{score}\n" for label, score in scores.items())
    Path(name).write_text(text, encoding="utf-8")


def write_rankings():
    """Write the files that the tests name into the current folder."""
    for name, scores in {
        "gold.csv": GOLD,
        "system.csv": SYSTEM,
        "constant.csv": CONSTANT,
        "other.csv": {"a": 1.0, "z": 2.0},
        **LONG,
    }.items():
        write_scores(name, scores)
