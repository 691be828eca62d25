"""`rankcorr evaluate-vectors`: word vectors against gold scores of pairs of words, or of the relata of words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import click

from rankcorr.checks import counted
from rankcorr.cli.console import (
    choice_option,
    example,
    gathered,
    json_option,
    label_text,
    notes_of,
    number_text,
    percent_text,
    print_json,
    print_notes,
    print_table,
    pvalue_text,
    seed_option,
    setting,
    table_option,
    whole,
)
from rankcorr.cli.options import (
    Weights,
    check_owner,
    check_stdin,
    columns_of,
    header_option,
    level_option,
    metrics_of,
    resamples_option,
    split_columns,
    weight_options,
)
from rankcorr.coefficients import COEFFICIENTS
from rankcorr.errors import OptionError, RankingError, collected_notices
from rankcorr.io.tables import DUPLICATES
from rankcorr.vectors.pairs import OOV, RESAMPLES, SELF_PAIRS, Pair, VectorEvaluation, evaluate_vectors, read_pairs
from rankcorr.vectors.reading import FORMS, UNDECODABLE, read_vectors
from rankcorr.vectors.relata import CANDIDATES, METRICS, RelataEvaluation, evaluate_relata
from rankcorr.vectors.words import MissingGensimError, WordVectors
from rankcorr.workers import progress_bar

MAX_WORDS: Final = 10

_EXAMPLE = example(
    "rankcorr evaluate-vectors glove.txt.gz wordsim.tsv rg65.tsv",
    "rankcorr evaluate-vectors word2vec.bin rdt.csv --relata --candidates all --depth 100",
)


@dataclass(frozen=True)
class VectorOptions:
    """How vectors and gold scores are read, and what is computed."""

    words: list[str] = setting(
        "--words",
        multiple=True,
        metavar="COLUMN,COLUMN",
        callback=split_columns,
        help="Columns of the two words, in all GOLD files.  [default: the first two]",
    )
    scores: tuple[str, ...] = setting(
        "--score", multiple=True, metavar="COLUMN", help="Column of the scores: once, or once for each GOLD."
    )
    no_header: bool = setting(header_option())
    duplicates: Any = setting(
        choice_option(
            "--duplicates",
            DUPLICATES,
            "A pair that a file has more than once, in either order unless --relata: an error, or the mean or the "
            "first of its scores counts.",
        )
    )
    form: Any = setting("--form", type=click.Choice(FORMS), help="Form of VECTORS.  [default: told from the file]")
    encoding: str = setting("--encoding", default="utf-8", help="Encoding of the words in VECTORS.")
    undecodable: Any = setting(
        choice_option(
            "--undecodable", UNDECODABLE, "A word in VECTORS that is not text in this encoding: an error, or left out."
        )
    )
    lower: bool = setting("--lower", is_flag=True, help="Look words up in lower case.")
    oov: Any = setting(
        choice_option(
            "--oov", OOV, "A pair of which a word has no vector: left out, an error, or tied below all others."
        )
    )
    self_pairs: Any = setting(
        "--self-pairs",
        type=click.Choice(SELF_PAIRS),
        help="A pair of a word with itself, whose cosine is always 1: kept, or left out.  [default: keep]",
    )
    relata: bool = setting(
        "--relata", is_flag=True, help="GOLD files list words and their relata: rank those of each word by cosine."
    )
    candidates: Any = setting(
        "--candidates",
        type=click.Choice(CANDIDATES),
        help="Of --relata, what is ranked for a word: its own entries in GOLD, or all relata of GOLD.  [default: gold]",
    )
    depth: int | None = setting(
        "--depth", type=click.IntRange(min=1), metavar="K", help="Of --relata, keep the K nearest neighbours."
    )
    metrics: tuple[str, ...] = setting(
        "--metric",
        multiple=True,
        metavar="NAME",
        help="Of --relata, as in 'rankcorr evaluate'; may be repeated.  [default: tau_w, ap]",
    )
    level: float = setting(level_option())
    resamples: int = setting(
        resamples_option(RESAMPLES, "Number of permutations behind chance, and of resamples of each interval.")
    )
    seed: int = setting(seed_option())

    def read_gold(self, paths: tuple[str, ...]) -> dict[str, dict[Pair, float]]:
        """Gold scores by the name of the file, with the column where a file is given several times."""
        found: dict[str, dict[Pair, float]] = {}
        for path, column in zip(paths, columns_of(self.scores, len(paths)), strict=True):
            name = path if paths.count(path) == 1 else f"{path}:{column}"
            if name in found:
                raise OptionError(f"each gold file can be given only once; more than once: {name}")
            found[name] = read_pairs(
                path,
                word_columns=self.words or None,
                score_column=column,
                header=not self.no_header,
                unordered=not self.relata,
                duplicates=self.duplicates,
            )
        return found

    def read(self, path: str, golds: dict[str, dict[Pair, float]]) -> WordVectors:
        """Vectors of the words of the gold scores."""
        words = {word.lower() if self.lower else word for pairs in golds.values() for pair in pairs for word in pair}
        try:
            with progress_bar(None, "word") as advance:
                return read_vectors(
                    path,
                    words=words,
                    form=self.form,
                    encoding=self.encoding,
                    undecodable=self.undecodable,
                    progress=advance,
                )
        except MissingGensimError as error:
            raise click.ClickException(str(error)) from error

    def described(self) -> dict[str, Any]:
        """The options of the files, ready for JSON."""
        return {
            "words": self.words or None,
            "score": list(self.scores) or None,
            "header": not self.no_header,
            "duplicates": self.duplicates,
            "encoding": self.encoding,
            "undecodable": self.undecodable,
        }


@click.command("evaluate-vectors", epilog=_EXAMPLE, short_help="Evaluate word vectors on gold scores of pairs.")
@click.argument("vectors")
@click.argument("golds", nargs=-1, required=True, metavar="GOLD...")
@gathered("options", VectorOptions)
@weight_options
@table_option()
@json_option()
def vectors_command(
    vectors: str, golds: tuple[str, ...], options: VectorOptions, weights: Weights, as_json: bool
) -> None:
    """Evaluate the word vectors in VECTORS on the pairs of words in the GOLD files, by cosine.

    VECTORS is text or binary of word2vec, text of GloVe, or a file of gensim, which must be trusted; GOLD files are CSV
    or TSV in UTF-8. Any of them may be compressed by gzip; '-' is stdin.
    """
    of_relata = {"--candidates": options.candidates, "--depth": options.depth, "--metric": options.metrics or None}
    check_owner("--relata", options.relata, of_relata)
    if options.relata and options.self_pairs is not None:
        raise OptionError("--self-pairs does not go with --relata")
    check_stdin([vectors, *golds])
    weights.described()  # refuses options that contradict each other before files are read
    metrics = (
        metrics_of(options.metrics or METRICS, weights)
        if options.relata
        else [weights.of(name) for name in COEFFICIENTS]
    )
    pairs = options.read_gold(golds)
    found = options.read(vectors, pairs)
    results: dict[str, VectorEvaluation | RelataEvaluation] = {}
    notes = []
    for name, gold in pairs.items():
        with collected_notices() as notices:
            results[name] = _evaluate(found, name, gold, metrics, options)
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
        f"vectors: {whole(vectors)} ({found.form}, {counted(found.n_known, 'word')}{undecodable}, "
        f"{counted(found.dimension, 'dimension')})"
    )
    _print_pairs({name: each for name, each in results.items() if isinstance(each, VectorEvaluation)}, options)
    _print_relata({name: each for name, each in results.items() if isinstance(each, RelataEvaluation)})
    print_notes(notes)


def _evaluate(
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
                self_pairs=options.self_pairs or SELF_PAIRS[0],
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
        click.echo(f"{whole(name)}: {result.n_compared:,} of {result.n_pairs:,} pairs compared{lacking}")
        _print_words("words without a vector", result.oov_words)
    click.echo(f"low, high: {percent_text(options.level)} interval; p: of agreement by chance alone\n")
    rows = [
        (gold, name, each)
        for gold, result in results.items()
        for name, each in zip(COEFFICIENTS, result.coefficients, strict=True)
    ]
    print_table(
        ["gold", "coefficient", "value", "chance", "standardized", "low", "high", "p"],
        [
            [
                whole(gold),
                name,
                *(
                    number_text(value)
                    for value in (each.statistic, each.chance, each.standardized, each.low, each.high)
                ),
                pvalue_text(each.pvalue),
            ]
            for gold, name, each in rows
        ],
        left=[1],
    )


def _print_relata(results: dict[str, RelataEvaluation]) -> None:
    if not results:
        return
    for name, result in results.items():
        shown = whole(name)
        click.echo(f"{shown}: {counted(result.n_words, 'word')}, {result.n_relata:,} relata")
        _print_words("words without a vector", result.oov_words)
        _print_words("relata without a vector", result.oov_relata)
    rows = [(name, row) for name, result in results.items() for row in result.evaluation.table()]
    click.echo()
    print_table(
        ["gold", "metric", "mean", "standardized", "words"],
        [
            [whole(gold), row["metric"], *map(number_text, (row["mean"], row["standardized"])), f"{row['n_queries']:,}"]
            for gold, row in rows
        ],
        left=[1],
    )


def _print_words(what: str, words: tuple[str, ...]) -> None:
    if words:
        more = ", ..." if len(words) > MAX_WORDS else ""
        click.echo(f"  {what} ({len(words):,}): {', '.join(map(label_text, words[:MAX_WORDS]))}{more}")
