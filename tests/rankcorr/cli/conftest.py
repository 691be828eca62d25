"""Shared by the tests of the command: small files, a folder with them, and calls that check the exit code."""

from pathlib import Path

import pytest

from rankcorr._cli import main as cli
from tests.commands import Command

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

RANKCORR = Command(cli.main, "rankcorr")
run, run_ok, run_json, refusal = RANKCORR.run, RANKCORR.ok, RANKCORR.json, RANKCORR.refusal


def write_scores(name, scores):
    """Write a file of scores into the current folder."""
    text = "id,score\n" + "".join(f"{label},{score}\n" for label, score in scores.items())
    Path(name).write_text(text, encoding="utf-8")


def write_rankings():
    """Write the files that the tests use into the current folder."""
    for name, scores in {
        "gold.csv": GOLD,
        "system.csv": SYSTEM,
        "constant.csv": CONSTANT,
        "other.csv": {"a": 1.0, "z": 2.0},
        **LONG,
    }.items():
        write_scores(name, scores)
    rows = "".join(f"{key}\t{key}\t{GOLD[key]}\t{SYSTEM[key]}\n" for key in GOLD)
    Path("both.tsv").write_text("left\tright\tg\ts\n" + rows)  # ids of two columns


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with the files that `write_rankings` makes."""
    monkeypatch.chdir(tmp_path)
    write_rankings()
    return tmp_path
