"""`rankcorr evaluate-vectors`: word vectors against gold scores of pairs of words, or of the relata of words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import click

from rankcorr.checks import counted
from rankcorr.cli import console, options
from rankcorr.cli.console import choice_setting, gathered, label_text, number_text, pvalue_text, setting, whole
from rankcorr.cli.options import Weights
from rankcorr.coefficients import COEFFICIENTS
from rankcorr.errors import OptionError, RankingError, collected_notices
from rankcorr.io.tables import DUPLICATES
from rankcorr.vectors.pairs import OOV, RESAMPLES, SELF_PAIRS, Pair, VectorEvaluation, evaluate_vectors, read_pairs
from rankcorr.vectors.reading import FORMS, UNDECODABLE, read_vectors
from rankcorr.vectors.relata import CANDIDATES, METRICS, RelataEvaluation, evaluate_relata
from rankcorr.vectors.words import MissingGensimError, WordVectors
from rankcorr.workers import progress_bar

MAX_WORDS: Final = 10


@dataclass(frozen=True)
class VectorOptions:
    """How vectors and gold scores are read, and what is computed."""

    words: list[str] = setting(
        "--words",
        multiple=True,
        metavar="COLUMN,COLUMN",
        callback=options.split_columns,
        help="Columns of the two words, in all GOLD files.  [default: the first two]",
    )
    scores: tuple[str, ...] = setting(
        "--score", multiple=True, metavar="COLUMN", help="Column of the scores: once, or once for each GOLD."
    )
    no_header: bool = setting(options.header_option())
    duplicates: Any = choice_setting(
        "--duplicates",
        DUPLICATES,
        "A pair that a file has more than once, in either order unless --relata: an error, or the mean or the "
        "first of its scores counts.",
    )
    form: Any = setting("--form", type=click.Choice(FORMS), help="Form of VECTORS.  [default: told from the file]")
    encoding: str = setting("--encoding", default="utf-8", help="Encoding of the words in VECTORS.")
    undecodable: Any = choice_setting(
        "--undecodable", UNDECODABLE, "A word in VECTORS that is not text in this encoding: an error, or left out."
    )
    lower: bool = setting("--lower", is_flag=True, help="Look words up in lower case.")
    oov: Any = choice_setting(
        "--oov", OOV, "A pair of which a word has no vector: left out, an error, or tied below all others."
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
    level: float = setting(options.level_option())
    resamples: int = setting(
        options.resamples_option(RESAMPLES, "Number of permutations behind chance, and of resamples of each interval.")
    )
    seed: int = setting(console.seed_option())

    def read_gold(self, paths: tuple[str, ...]) -> dict[str, dict[Pair, float]]:
        """Gold scores by the name of the file, with the column where a file is given several times."""
        found: dict[str, dict[Pair, float]] = {}
        for path, column in zip(paths, options.columns_of(self.scores, len(paths)), strict=True):
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


@console.command("evaluate-vectors", short_help="Evaluate word vectors on gold scores of pairs.")
@click.argument("vectors")
@click.argument("golds", nargs=-1, required=True, metavar="GOLD...")
@gathered("asked", VectorOptions)
@options.weight_options
@console.table_option()
@console.json_option()
def vectors_command(
    vectors: str, golds: tuple[str, ...], asked: VectorOptions, weights: Weights, as_json: bool
) -> None:
    """Evaluate the word vectors in VECTORS on the pairs of words in the GOLD files, by cosine.

    VECTORS is text or binary of word2vec, text of GloVe, or a file of gensim, which must be trusted; GOLD files are CSV
    or TSV in UTF-8. Any of them may be compressed by gzip; '-' is stdin.

    Example:
      rankcorr evaluate-vectors glove.txt.gz wordsim.tsv rg65.tsv
      rankcorr evaluate-vectors word2vec.bin rdt.csv --relata --candidates all --depth 100
    """
    of_relata = {"--candidates": asked.candidates, "--depth": asked.depth, "--metric": asked.metrics or None}
    options.check_owner("--relata", asked.relata, of_relata)
    if asked.relata and asked.self_pairs is not None:
        raise OptionError("--self-pairs does not go with --relata")
    options.check_stdin([vectors, *golds])
    weights.described()  # refuses options that contradict each other before files are read
    metrics = (
        options.metrics_of(asked.metrics or METRICS, weights)
        if asked.relata
        else [weights.of(name) for name in COEFFICIENTS]
    )
    pairs = asked.read_gold(golds)
    found = asked.read(vectors, pairs)
    results: dict[str, VectorEvaluation | RelataEvaluation] = {}
    notes = []
    for name, gold in pairs.items():
        with collected_notices() as notices:
            results[name] = _evaluate(found, name, gold, metrics, asked)
        notes += console.notes_of(notices, [], name)
    if as_json:
        described = {"name": vectors, "form": found.form, "n_words": found.n_known, "dimension": found.dimension}
        described |= {"n_undecodable": found.n_undecodable}
        content = [{"gold": name, **result.to_dict()} for name, result in results.items()]
        chosen = {**asked.described(), **weights.described()}
        console.print_json({"vectors": described, "options": chosen, "evaluations": content, "warnings": notes})
        return
    undecodable = f", {found.n_undecodable:,} undecodable" if found.n_undecodable else ""
    click.echo(
        f"vectors: {whole(vectors)} ({found.form}, {counted(found.n_known, 'word')}{undecodable}, "
        f"{counted(found.dimension, 'dimension')})"
    )
    _print_pairs({name: each for name, each in results.items() if isinstance(each, VectorEvaluation)}, asked)
    _print_relata({name: each for name, each in results.items() if isinstance(each, RelataEvaluation)})
    console.print_notes(notes)


def _evaluate(
    vectors: WordVectors, name: str, gold: dict[Pair, float], metrics: list[Any], asked: VectorOptions
) -> VectorEvaluation | RelataEvaluation:
    shared: dict[str, Any] = {"oov": asked.oov, "lower": asked.lower, "seed": asked.seed}
    try:
        if asked.relata:
            return evaluate_relata(
                vectors,
                gold,
                metrics=metrics,
                candidates=asked.candidates or "gold",
                depth=asked.depth,
                n_resamples=asked.resamples,
                **shared,
            )
        with progress_bar(2 * len(metrics) * asked.resamples, "resample") as advance:
            return evaluate_vectors(
                vectors,
                gold,
                coefficients=metrics,
                self_pairs=asked.self_pairs or SELF_PAIRS[0],
                level=asked.level,
                n_resamples=asked.resamples,
                progress=advance,
                **shared,
            )
    except RankingError as error:
        raise click.ClickException(f"{name}: {error}") from error


def _print_pairs(results: dict[str, VectorEvaluation], asked: VectorOptions) -> None:
    if not results:
        return
    what = "tied below all others" if asked.oov == "lowest" else "left out"
    for name, result in results.items():
        lacking = f", {len(result.oov_pairs):,} without a vector ({what})" if result.oov_pairs else ""
        click.echo(f"{whole(name)}: {result.n_compared:,} of {result.n_pairs:,} pairs compared{lacking}")
        _print_words("words without a vector", result.oov_words)
    click.echo(f"low, high: {console.percent_text(asked.level)} interval; p: of agreement by chance alone\n")
    rows = [
        (gold, name, each)
        for gold, result in results.items()
        for name, each in zip(COEFFICIENTS, result.coefficients, strict=True)
    ]
    console.print_table(
        ["gold", "coefficient", "value", "chance", "standardized", "low", "high", "p (greater)"],
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
    console.print_table(
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
