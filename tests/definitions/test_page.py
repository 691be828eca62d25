"""The page docs/_static/try.html computes the same values as the library, in a module without a server."""

import json
import shutil
import subprocess
import warnings
from pathlib import Path

import numpy as np
import pytest

from rankcorr import RhoW, TauW, UndefinedCorrelationWarning, contributions, correlate, permutation_test

PAGE = Path(__file__).parents[2] / "docs/_static"
PROGRAM = """
const page = require(process.argv[1]);
const read = (text) => {
  try {
    return page.readTable(text);
  } catch (error) {
    if (!(error instanceof page.InputError)) throw error;
    return { error: error.message };
  }
};
const { tables, cases } = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
const results = cases.map(({ text, n0 }) => {
  const [gold, system] = read(text).columns.map((column) => column.scores);
  return { ...page.compare(gold, system, n0), chance: page.chanceAtOnce(gold, system, n0, 1) };
});
process.stdout.write(JSON.stringify({ tables: tables.map(read), results }));
"""


def answers(tables=(), cases=()):
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    document = json.dumps({"tables": list(tables), "cases": list(cases)})
    process = subprocess.run(
        [node, "-e", PROGRAM, str(PAGE / "try.js")], input=document, capture_output=True, text=True, check=False
    )
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)


@pytest.mark.wide
def test_500_random_cases_with_ties_are_those_of_the_library():
    rng = np.random.default_rng(5)
    cases, rankings = [], []
    for number in range(500):
        n_items = int(rng.integers(2, 9 if number % 2 else 31))
        levels = rng.integers(2, 12, size=2)
        gold, system = (rng.integers(0, level, n_items).astype(float) / 4 for level in levels)
        if number % 7 == 0:
            system = gold + system / 10
        n0 = float(rng.choice([0.0, 2.0, 2.5, 10.0]))
        separator = "\t,; "[number % 4]
        rows = [separator.join(map(repr, pair)) for pair in zip(gold.tolist(), system.tolist(), strict=True)]
        cases.append({"text": "\r\n".join(rows) if number % 3 else "\n".join(rows), "n0": n0})
        rankings.append((gold, system, n0))
    n_exact = n_drawn = n_undefined = 0
    for (gold, system, n0), result in zip(rankings, answers(cases=cases)["results"], strict=True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UndefinedCorrelationWarning)
            tau, rho = correlate(gold, system, coefficients=[TauW(n0=n0), RhoW(n0=n0)]).values()
        if np.isnan(tau):
            assert (result["tau"], result["rho"], result["chance"]["pvalue"]) == (None, None, None)
            n_undefined += 1
            continue
        assert [result["tau"], result["rho"]] == pytest.approx([tau, rho], abs=1e-12)
        costs = contributions(gold, system, coefficient=TauW(n0=n0)).cost
        assert result["costs"] == pytest.approx(costs.tolist(), abs=1e-12)
        test = permutation_test(gold, system, coefficient=TauW(n0=n0), alternative="greater", n_resamples=2_000)
        chance = result["chance"]
        if gold.size <= 8:
            assert chance["isExact"]
            assert [chance["mean"], chance["pvalue"]] == pytest.approx([test.null.mean, test.pvalue], abs=1e-9)
            n_exact += 1
        else:
            assert chance["number"] == 2_000
            assert chance["mean"] == pytest.approx(test.null.mean, abs=7 * test.null.std / np.sqrt(2_000))
            share = max(test.pvalue, 1 / 2_000)
            assert chance["pvalue"] == pytest.approx(test.pvalue, abs=7 * np.sqrt(share / 2_000) + 1e-3)
            n_drawn += 1
    assert min(n_exact, n_drawn, n_undefined) > 20


def test_tables_in_every_format_are_read():
    scores = [{"name": "gold", "scores": [3, 2.5]}, {"name": "bm25", "scores": [-1, 1000]}]
    unnamed = [{**column, "name": name} for column, name in zip(scores, ("gold", "system 1"), strict=True)]
    forms = {
        "item\tgold\tbm25\nlion\t3\t-1\n\nant\t2.5\t1e3\n": (["lion", "ant"], scores),
        '\ufeffitem,gold,bm25\r\n"lion",3,-1\r\nant,2.50,1000': (["lion", "ant"], scores),
        'x;"a ""b"", c"\n1;2\n3;4': (["item 1", "item 2"], [{"name": "x", "scores": [1, 3]}, None]),
        "id gold bm25\n7   3 -1\n8  2.5  1000": (["7", "8"], scores),
        "3 -1\n2.5 1000": (["item 1", "item 2"], unnamed),
        "item,2019,2020\na,1,2\nb,3,4": (["a", "b"], [{"name": "2019", "scores": [1, 3]}, None]),
        'item gold "the system"\n"sea lion" 1 2\nant 3 4': (
            ["sea lion", "ant"],
            [{"name": "gold", "scores": [1, 3]}, None],
        ),
        '"sea\nlion",1,2\r\nant,3,4\r\n': (["sea\nlion", "ant"], None),
    }
    for (labels, columns), table in zip(forms.values(), answers(tables=forms)["tables"], strict=True):
        assert table["labels"] == labels
        if columns is not None:
            assert table["columns"][0] == columns[0]
            assert columns[1] in (None, table["columns"][1])
    assert answers(tables=['x;"a ""b"", c"\n1;2\n3;4'])["tables"][0]["columns"][1]["name"] == 'a "b", c'


def test_wrong_input_is_explained():
    errors = {
        "": "paste at least two rows, one for each item",
        "a\nb": "paste at least two columns of scores: gold first, then the systems",
        "a,1\nb,2": "one column of scores is not enough: paste gold first, then the systems",
        "x,y\n1,2": "paste at least two items",
        "a,1,2\nb,2": "row 2 has 2 cells, and row 1 has 3",
        "a,1,2\na,2,3": 'two rows have the label "a"',
        "item,gold,s\na,1,2\nb,,3": "a score must be a number, but that of b in column 2 is empty",
        "a;1;2\nb;0,5;3": 'a score must be a number, but that of b in column 2 is "0,5": write a point, not a comma',
        "a,1,2\nb,70%,3": 'a score must be a number, but that of b in column 2 is "70%"',
        "a,1,2\nb,nan,3": 'a score must be a number, but that of b in column 2 is "nan"',
        "a,1,2\nb,1e999,3": 'a score must be a number, but that of b in column 2 is "1e999"',
        "item,gold,s\na,1,2\nb,3,": "a score must be a number, but that of b in column 3 is empty",
        "item,gold,gold\na,1,2\nb,3,4": 'two columns have the name "gold"',
        'a,"1,2\nb,2,3': "a quote is not closed in row 1",
        'a,"1"2,2\nb,2,3': "text follows a closed quote in row 1",
        "\n".join(f"{n} {n}" for n in range(5_001)): "this page takes at most 5000 items; got 5001",
    }
    assert [table.get("error") for table in answers(tables=errors)["tables"]] == list(errors.values())


def test_the_page_needs_only_its_module():
    text = (PAGE / "try.html").read_text(encoding="utf-8")
    assert '<script src="try.js"></script>' in text
    assert "http" not in text.replace("https://aclanthology.org/2020.emnlp-main.249/", "")
    assert len((PAGE / "try.js").read_text(encoding="utf-8").splitlines()) <= 400
