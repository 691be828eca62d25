"""The `rankcorr` command: options -> files -> library calls -> a table or JSON."""

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

from rankcorr import (
    InverseSquare,
    OptionError,
    Ranking,
    RankingError,
    WeightError,
    __version__,
)
from rankcorr.console import OneLineErrors, print_json, print_table
from rankcorr.correlation import VARIANTS
from rankcorr.notices import collected_notices
from rankcorr.records import printable
from rankcorr.summary import correlate
from rankcorr.tables import read_ranking
from rankcorr.weight_table import DEFAULT_TOP, MAX_TOP, weight_table
from rankcorr.weights import SCHEMES, TIED_WEIGHTS, named_weigher

_COEFFICIENTS = ("rho_w", "tau_w", "rho", "tau")
_EXAMPLE = """\b
Example:
  rankcorr compare gold.csv system_a.csv system_b.csv
  rankcorr weights --n0 2 --top 10
"""
_COMPARE_EXAMPLE = """\b
Example:
  rankcorr compare gold.csv system_a.csv system_b.csv
  rankcorr compare --id word1,word2 --score gold --score lch pairs.tsv pairs.tsv
"""
_WEIGHTS_EXAMPLE = """\b
Example:
  rankcorr weights --n0 2 --top 10
  rankcorr weights --share 0.3
  rankcorr weights --share 0.8 --k 10 --n-items 990
"""


@click.group(
    name="rankcorr",
    cls=OneLineErrors,
    no_args_is_help=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=_EXAMPLE,
)
@click.version_option(__version__, prog_name="rankcorr", message="%(prog)s %(version)s")
def main() -> None:
    """Tie-aware rank correlation in which the top of the list counts most."""


def _split_columns(_context: click.Context, _parameter: click.Parameter, values: Sequence[str]) -> list[str]:
    try:
        return [name for value in values for name in (next(csv.reader([value], strict=True)) if value else [""])]
    except (csv.Error, StopIteration) as error:
        raise click.BadParameter(f"not a list of columns ({error})") from error


@main.command(epilog=_COMPARE_EXAMPLE)
@click.argument("gold")
@click.argument("systems", nargs=-1, required=True, metavar="SYSTEM...")
@click.option(
    "--id",
    "ids",
    multiple=True,
    metavar="COLUMN[,COLUMN]",
    callback=_split_columns,
    help="Columns that name the item, in all files.",
)
@click.option(
    "--score", "scores", multiple=True, metavar="COLUMN", help="Column of the numbers: once, or once for each file."
)
@click.option("--ranks", is_flag=True, help="The numbers in all files are ranks: smaller is better.")
@click.option("--no-header", is_flag=True, help="The first line is data; columns are named 1, 2, ...")
@click.option("--n0", type=float, help="Offset of the weight 1/(n + n0)^2 of rank n.  [default: 2]")
@click.option(
    "--weigher",
    metavar="NAME",
    help="Another weight than that of --n0: hyperbolic, logarithmic, top-k:K (such as top-k:10), uniform.",
)
@click.option(
    "--scheme",
    type=click.Choice(SCHEMES),
    default=SCHEMES[0],
    show_default=True,
    help="How the weights of an item's two ranks combine; 'first' is gold's alone.",
)
@click.option(
    "--tied-weights",
    type=click.Choice(TIED_WEIGHTS),
    default=TIED_WEIGHTS[0],
    show_default=True,
    help="A tied item weighs f(mid-rank), or the mean of f over its group's positions.",
)
@click.option(
    "--variant",
    type=click.Choice(VARIANTS),
    default="b",
    show_default=True,
    help="Denominator of tau_w and tau: 'b' leaves tied pairs out, 'a' keeps them.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with null where undefined.")
def compare(
    gold: str,
    systems: tuple[str, ...],
    ids: list[str],
    scores: tuple[str, ...],
    ranks: bool,
    no_header: bool,
    n0: float | None,
    weigher: str | None,
    scheme: str,
    tied_weights: str,
    variant: str,
    as_json: bool,
) -> None:
    """Compare the rankings in the SYSTEM files with the one in GOLD.

    Files are CSV or TSV in UTF-8 ('-' is stdin) and are matched by id. rho_w and tau_w weigh the top most; rho and
    tau weigh all items alike. Ties are the items that share their score with another.
    """
    paths = [gold, *systems]
    if paths.count("-") > 1:
        raise OptionError("'-' (standard input) can be given only once")
    if len(scores) > 1 and len(scores) != len(paths):
        raise OptionError(
            f"--score must be given once, or once for each file; got {len(scores)} for {len(paths)} files "
            "(for several columns of one file, repeat the file)"
        )
    item_weigher = _weigher(weigher, n0)
    options = {"weigher": item_weigher, "scheme": scheme, "tied_weights": tied_weights}

    def read(path: str, column: str | None) -> _Named:
        ranking = read_ranking(path, id_columns=ids or None, score_column=column, ranks=ranks, header=not no_header)
        return _Named(path if column is None or paths.count(path) == 1 else f"{path}:{column}", ranking)

    columns = list(scores) if len(scores) > 1 else [*scores, None][:1] * len(paths)
    reference, *others = [read(path, column) for path, column in zip(paths, columns, strict=True)]
    rows, notes = [], []
    for other in others:
        row, messages = _compared(reference, other, options, variant)
        rows.append(row)
        notes += messages
    if as_json:
        chosen = {
            "id": ids or None,
            "score": list(scores) or None,
            "ranks": ranks,
            "header": not no_header,
            "n0": item_weigher.n0 if isinstance(item_weigher, InverseSquare) else None,
            "weigher": weigher,
            "scheme": scheme,
            "tied_weights": tied_weights,
            "variant": variant,
        }
        named = {"name": reference.name, "n": reference.ranking.n_items, "ties": reference.ranking.n_ties}
        print_json({"gold": named, "options": chosen, "systems": rows, "warnings": notes})
        return
    click.echo(f"gold: {reference.shown} ({reference.ranking.n_items} items, {reference.ranking.n_ties} ties)\n")
    print_table(
        ["system", *_COEFFICIENTS, "n", "ties"],
        [
            [other.shown, *(f"{row[name]:.4f}" for name in _COEFFICIENTS), str(row["n"]), str(row["ties"])]
            for other, row in zip(others, rows, strict=True)
        ],
    )
    for note in notes:
        text = f"{note['system']}: {', '.join(note['coefficients'])}: {note['message']}"
        click.echo(f"rankcorr: note: {printable(text, limit=None)}", err=True)


@dataclass(frozen=True)
class _Named:
    name: str
    ranking: Ranking

    @property
    def shown(self) -> str:
        return printable(self.name, limit=None)


def _weigher(name: str | None, n0: float | None) -> Any:
    if name is None:
        return InverseSquare() if n0 is None else InverseSquare(n0)
    if n0 is not None:
        raise OptionError("--n0 and --weigher exclude each other: n0 belongs to the weight 1/(n + n0)^2")
    try:
        return named_weigher(name)
    except WeightError as error:
        raise OptionError(f"--weigher: {error}") from error


def _compared(
    gold: _Named, system: _Named, options: Mapping[str, Any], variant: Any
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Row of the table for one system, and what the library warned of."""
    with collected_notices() as notices:
        try:
            results = correlate(
                gold.ranking, system.ranking, variant=variant, names=(gold.name, system.name), **options
            )
        except RankingError as error:
            raise click.ClickException(f"{gold.name} and {system.name}: {error}") from error
    row: dict[str, Any] = {"system": system.name}
    row |= {name: result.statistic for name, result in results.items()}
    row |= {"n": system.ranking.n_items, "ties": system.ranking.n_ties}
    undefined = [name for name, result in results.items() if math.isnan(result.statistic)]
    return row, [{"system": system.name, "coefficients": undefined, "message": message} for message in notices]


@main.command(epilog=_WEIGHTS_EXAMPLE, short_help="Show the weight of the top ranks, or find n0.")
@click.option("--n0", type=float, help="Offset of the weight 1/(n + n0)^2 of rank n.  [default: 2]")
@click.option("--share", type=float, help="Find the n0 at which the first rank (or --k ranks) has this share.")
@click.option("--k", type=click.IntRange(min=1), help="Number of ranks that have the --share.  [default: 1]")
@click.option(
    "--top",
    type=click.IntRange(1, MAX_TOP),
    help=f"Number of ranks to list.  [default: {DEFAULT_TOP}, or --k if more]",
)
@click.option("--n-items", type=click.IntRange(min=1), help="Length of the ranking.  [default: endless]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def weights(
    n0: float | None, share: float | None, k: int | None, top: int | None, n_items: int | None, as_json: bool
) -> None:
    """Show what share of the weight the top ranks have under 1/(n + n0)^2, or find n0 from a share.

    R(n0) is the share of the first rank.
    """
    if share is not None and n0 is not None:
        raise OptionError("--n0 and --share exclude each other")
    if share is None and k is not None:
        raise OptionError("--k belongs to --share, which is missing")
    if top is not None and n_items is not None and top > n_items:
        raise OptionError(f"--top is {top}, but --n-items is {n_items}")
    table = weight_table(n0, share=share, k=k, top=top, n_items=n_items)
    n0, first = table.n0, table.first_rank_share
    if as_json:
        asked = {"share": share, "k": (k or 1) if share is not None else None, "n_items": n_items}
        print_json({"n0": n0, "first_rank_share": first, **asked, "ranks": table.rows()})
        return
    length = "endless list" if n_items is None else f"{n_items} items"
    form = ".6f" if table.weights[-1] >= 1e-4 else ".4e"
    if share is not None:
        click.echo(f"n0 = {n0:.10g} (share of the first {'rank' if (k or 1) == 1 else f'{k} ranks'}: {share:g})")
    click.echo(f"R({n0:.10g}) = {first:{form}} ({length})\n")
    print_table(
        ["rank", "weight", "cumulative"],
        [[str(row["rank"]), f"{row['weight']:{form}}", f"{row['cumulative_share']:{form}}"] for row in table.rows()],
    )


if __name__ == "__main__":
    main()
