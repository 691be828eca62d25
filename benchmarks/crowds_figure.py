"""Draw docs/images/crowds.png from the tables of docs/results/crowds.md, which benchmarks/crowds.py prints.

A row is a crowd, and a dot is a figure of one size of list. The vertical lines are at 0.
"""

import re
from pathlib import Path

import matplotlib.pyplot as plt

DOCS = Path(__file__).resolve().parents[1] / "docs"
MINUS = "\N{MINUS SIGN}"
PANELS = {"over random": "lead over random pairs, τ_w", f"expected {MINUS} true": f"expected τ_w {MINUS} true τ_w"}


def read_tables() -> dict[int, dict[str, dict[str, float]]]:
    """Return, for each number of items and each crowd, the first number in each column of `PANELS`."""
    sections = re.split(r"^## (?=\d+ items, )", (DOCS / "results/crowds.md").read_text(encoding="utf-8"), flags=re.M)
    tables = {}
    for section in sections[1:]:
        header, _, *rows = (
            [cell.strip() for cell in line.split("|")[1:-1]] for line in re.findall(r"^\|.*$", section, re.M)
        )
        values = (dict(zip(header, row, strict=True)) for row in rows if len(row) == len(header))
        tables[int(section.split()[0])] = {
            row["crowd"]: {name: float(row[name].split(",")[0].replace(MINUS, "-")) for name in PANELS}
            for row in values
        }
    return tables


def draw() -> None:
    """Write the figure."""
    tables = read_tables()
    crowds = list(next(iter(tables.values())))[::-1]
    figure, panels = plt.subplots(1, 2, figsize=(8.4, 7.2), sharey=True, layout="constrained")
    for axes, (name, label) in zip(panels, PANELS.items(), strict=True):
        for (n_items, table), marker in zip(sorted(tables.items()), "osD^", strict=True):
            values = [table[crowd][name] for crowd in crowds]
            axes.plot(values, range(len(crowds)), marker, markersize=4, alpha=0.8, label=f"{n_items} items")
        axes.axvline(0, color="0.5", linewidth=0.8, zorder=0)
        axes.grid(axis="y", color="0.9", linewidth=0.6)
        axes.set_xlabel(label)
    panels[0].set_yticks(range(len(crowds)), crowds, fontsize=8)
    panels[0].set_ylim(-0.7, len(crowds) - 0.3)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=4, frameon=False)
    figure.savefig(DOCS / "images/crowds.png", dpi=90)


if __name__ == "__main__":
    draw()
