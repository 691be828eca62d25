"""`rankcorr evaluate-vectors`: word vectors against gold scores of pairs of words, or of the relata of words."""

from __future__ import annotations

from typing import Any, Final

import click

from rankcorr.checks import counted
from rankcorr.cli.console import print_json, print_table
from rankcorr.cli.options import Weights, weight_options
from rankcorr.cli.output import label_text, left_aligned, notes_of, number_text, percent_text, print_notes, pvalue_text
from rankcorr.cli.resampling import json_option
from rankcorr.cli.vector_options import VectorOptions, vector_options
from rankcorr.coefficients import COEFFICIENTS
from rankcorr.errors import OptionError, RankingError
from rankcorr.io.records import printable
from rankcorr.notices import collected_notices
from rankcorr.progress import progress_bar
from rankcorr.vectors.pairs import Pair, VectorEvaluation, evaluate_vectors
from rankcorr.vectors.relata import RelataEvaluation, evaluate_relata
from rankcorr.vectors.words import WordVectors

MAX_WORDS: Final = 10

_EXAMPLE = """\b
Example:
  rankcorr evaluate-vectors glove.txt.gz wordsim.tsv rg65.tsv
  rankcorr evaluate-vectors word2vec.bin rdt.csv --relata --candidates all --depth 100
"""


@click.command("evaluate-vectors", epilog=_EXAMPLE, short_help="Evaluate word vectors on gold scores of pairs.")
@click.argument("vectors")
@click.argument("golds", nargs=-1, required=True, metavar="GOLD...")
@vector_options
@weight_options
@json_option()
def vectors_command(
    vectors: str, golds: tuple[str, ...], options: VectorOptions, weights: Weights, as_json: bool
) -> None:
    """Evaluate the word vectors in VECTORS on the pairs of words in the GOLD files, by cosine.

    VECTORS is text or binary of word2vec, text of GloVe, or a file of gensim, which must be trusted; GOLD files are CSV
    or TSV in UTF-8. Any of them may be compressed by gzip; '-' is stdin.
    """
    options.check()
    if [vectors, *golds].count("-") > 1:
        raise OptionError("'-' (standard input) can be given only once")
    weights.described()  # refuses options that contradict each other before files are read
    metrics = options.chosen(weights) if options.relata else [weights.of(name) for name in COEFFICIENTS]
    pairs = options.read_gold(golds)
    found = options.read(vectors, pairs)
    results: dict[str, VectorEvaluation | RelataEvaluation] = {}
    notes = []
    for name, gold in pairs.items():
        with collected_notices() as notices:
            results[name] = _evaluated(found, name, gold, metrics, options)
        notes += notes_of(notices, [], name)
    if as_json:
        described = {"name": vectors, "form": found.form, "n_words": found.n_known, "dimension": found.dimension}
        described |= {"n_undecodable": found.n_undecodable}
        content = [{"gold": name, **result.to_dict()} for name, result in results.items()]
        chosen = {**options.described(), **weights.described()}
        print_json({"vectors": described, "options": chosen, "evaluations": content, "warnings": notes})
        return
    undecodable = f", {found.n_undecodable:,} undecodable" if found.n_undecodable else ""
    click.echo(
        f"vectors: {printable(vectors, limit=None)} ({found.form}, {counted(found.n_known, 'word')}{undecodable}, "
        f"{counted(found.dimension, 'dimension')})"
    )
    _print_pairs({name: each for name, each in results.items() if isinstance(each, VectorEvaluation)}, options)
    _print_relata({name: each for name, each in results.items() if isinstance(each, RelataEvaluation)})
    print_notes(notes)


def _evaluated(
    vectors: WordVectors, name: str, gold: dict[Pair, float], metrics: list[Any], options: VectorOptions
) -> VectorEvaluation | RelataEvaluation:
    shared: dict[str, Any] = {"oov": options.oov, "lower": options.lower, "seed": options.seed}
    try:
        if options.relata:
            return evaluate_relata(
                vectors,
                gold,
                metrics=metrics,
                candidates=options.candidates or "gold",
                depth=options.depth,
                n_resamples=options.resamples,
                **shared,
            )
        with progress_bar(2 * len(metrics) * options.resamples, "resample") as advance:
            return evaluate_vectors(
                vectors,
                gold,
                coefficients=metrics,
                level=options.level,
                n_resamples=options.resamples,
                progress=advance,
                **shared,
            )
    except RankingError as error:
        raise click.ClickException(f"{name}: {error}") from error


def _print_pairs(results: dict[str, VectorEvaluation], options: VectorOptions) -> None:
    if not results:
        return
    what = "tied below all others" if options.oov == "lowest" else "left out"
    for name, result in results.items():
        lacking = f", {len(result.oov_pairs):,} without a vector ({what})" if result.oov_pairs else ""
        click.echo(
            f"{printable(name, limit=None)}: {result.n_compared:,} of {result.n_pairs:,} pairs compared{lacking}"
        )
        _print_words("words without a vector", result.oov_words)
    click.echo(f"low, high: {percent_text(options.level)} interval; p: of agreement by chance alone\n")
    rows = [(name, each) for name, result in results.items() for each in result.coefficients]
    header, *names = left_aligned(["coefficient", *COEFFICIENTS * len(results)])
    print_table(
        ["gold", header, "value", "chance", "standardized", "low", "high", "p"],
        [
            [
                printable(gold, limit=None),
                name,
                *(
                    number_text(value)
                    for value in (each.statistic, each.chance, each.standardized, each.low, each.high)
                ),
                pvalue_text(each.pvalue),
            ]
            for name, (gold, each) in zip(names, rows, strict=True)
        ],
    )


def _print_relata(results: dict[str, RelataEvaluation]) -> None:
    if not results:
        return
    for name, result in results.items():
        shown = printable(name, limit=None)
        click.echo(f"{shown}: {counted(result.n_words, 'word')}, {result.n_relata:,} relata")
        _print_words("words without a vector", result.oov_words)
        _print_words("relata without a vector", result.oov_relata)
    rows = [(name, row) for name, result in results.items() for row in result.evaluation.table()]
    header, *names = left_aligned(["metric", *(row["metric"] for _, row in rows)])
    click.echo()
    print_table(
        ["gold", header, "mean", "standardized", "words"],
        [
            [
                printable(gold, limit=None),
                name,
                number_text(row["mean"]),
                number_text(row["standardized"]),
                f"{row['n_queries']:,}",
            ]
            for name, (gold, row) in zip(names, rows, strict=True)
        ],
    )


def _print_words(what: str, words: tuple[str, ...]) -> None:
    if words:
        more = ", ..." if len(words) > MAX_WORDS else ""
        click.echo(f"  {what} ({len(words):,}): {', '.join(map(label_text, words[:MAX_WORDS]))}{more}")
