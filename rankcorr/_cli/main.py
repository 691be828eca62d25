"""The `rankcorr` command: options -> files -> library calls -> a table or JSON. `weights` alone reads no file."""

import click

from rankcorr import __version__
from rankcorr._cli.combine import fuse_command, merge_command
from rankcorr._cli.compare import compare, run_tests
from rankcorr._cli.console import OneLineErrors, count_option, json_option, option, print_json, print_table
from rankcorr._cli.evaluate import evaluate_command
from rankcorr._cli.leaderboard import leaderboard_command, rank_sets_command
from rankcorr._cli.plot import plot
from rankcorr._cli.vectors import vectors_command
from rankcorr._shares import DEFAULT_TOP, MAX_TOP, weight_table


@click.group(name="rankcorr", cls=OneLineErrors)
@click.version_option(__version__, prog_name="rankcorr", message="%(prog)s %(version)s")
def main() -> None:
    """Tie-aware rank correlation in which the top of the list counts most.

    Example:
      rankcorr compare gold.csv system_a.csv system_b.csv
      rankcorr test gold.csv system_a.csv system_b.csv --versus
      rankcorr leaderboard gold.csv system_a.csv system_b.csv
      rankcorr merge judge_a.csv judge_b.csv judge_c.csv --method consensus
      rankcorr evaluate qrels.txt bm25.run lsa.run --metric tau_w --metric ndcg@10 --versus bm25.run
      rankcorr fuse bm25.run lsa.run -o fused.run --qrels qrels.txt --metric ndcg@10
      rankcorr evaluate-vectors glove.txt.gz word2vec.bin --gold wordsim353.tsv --gold rg65.tsv
      rankcorr plot ranks gold.csv system_a.csv --out ranks.png
      rankcorr weights --n0 2 --top 10
    """


for command in (
    *(compare, run_tests, leaderboard_command, merge_command, rank_sets_command),
    *(evaluate_command, fuse_command, vectors_command, plot),
):
    main.add_command(command)


@main.command(short_help="Show the weight of the top ranks, or find n0.")
def weights(
    n0: float | None = option(type=float, help="Offset of the weight 1/(n + n0)^2 of rank n.  [default: 2]"),
    share: float | None = option(type=float, help="Find the n0 at which the first rank (or --k ranks) has this share."),
    k: int | None = count_option("Number of ranks that together have the --share.  [default: 1]"),
    top: int | None = option(
        type=click.IntRange(1, MAX_TOP), help=f"Number of ranks to list.  [default: {DEFAULT_TOP}, or --k if more]"
    ),
    n_items: int | None = count_option("Number of items in the ranking.  [default: infinite]"),
    as_json: bool = json_option(""),
) -> None:
    """Show the share of the weight 1/(n + n0)^2 that the top ranks have, or find n0 from a share.

    R(n0) is the share of the first rank.

    Example:
      rankcorr weights --n0 2 --top 10
      rankcorr weights --share 0.3
      rankcorr weights --share 0.8 --k 10 --n-items 990
    """
    table = weight_table(n0, share=share, k=k, top=top, n_items=n_items)
    n0, first = table.n0, table.first_rank_share
    if as_json:
        share_options = {"share": share, "k": (k or 1) if share is not None else None, "n_items": n_items}
        print_json({"n0": n0, "first_rank_share": first, **share_options, "ranks": table.table()})
        return
    length = "endless list" if n_items is None else f"{n_items} items"
    form = ".6f" if table.ranks[-1].weight >= 1e-4 else ".4e"
    if share is not None:
        click.echo(f"n0 = {n0:.10g} (share of the first {'rank' if (k or 1) == 1 else f'{k} ranks'}: {share:g})")
    click.echo(f"R({n0:.10g}) = {first:{form}} ({length})\n")
    print_table(
        ["rank", "weight", "cumulative"],
        [[str(row.rank), f"{row.weight:{form}}", f"{row.cumulative_share:{form}}"] for row in table.ranks],
    )
