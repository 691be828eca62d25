"""`rankcorr evaluate-vectors`: word vectors against gold scores of pairs of words, or of the relata of words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import click

from rankcorr.checks import counted
from rankcorr.cli.console import print_json, print_table
from rankcorr.cli.options import (
    Command,
    Weights,
    gathered,
    json_option,
    level_option,
    resamples_option,
    seed_option,
    split_columns,
    weight_options,
)
from rankcorr.cli.output import label_text, left_aligned, notes_of, number_text, percent_text, print_notes, pvalue_text
from rankcorr.coefficients import COEFFICIENTS
from rankcorr.errors import MissingMeasuresError, OptionError, RankingError, collected_notices
from rankcorr.evaluation.metrics import as_metric, check_different
from rankcorr.io.records import printable
from rankcorr.io.tables import DUPLICATES
from rankcorr.vectors.pairs import OOV, RESAMPLES, Pair, VectorEvaluation, evaluate_vectors, read_pairs
from rankcorr.vectors.reading import FORMS, UNDECODABLE, read_vectors
from rankcorr.vectors.relata import CANDIDATES, METRICS, RelataEvaluation, evaluate_relata
from rankcorr.vectors.words import MissingGensimError, WordVectors
from rankcorr.workers import progress_bar

MAX_WORDS: Final = 10

_EXAMPLE = """\b
Example:
  rankcorr evaluate-vectors glove.txt.gz wordsim.tsv rg65.tsv
  rankcorr evaluate-vectors word2vec.bin rdt.csv --relata --candidates all --depth 100
"""
_OPTIONS = (
    click.option(
        "--words",
        multiple=True,
        metavar="COLUMN,COLUMN",
        callback=split_columns,
        help="Columns of the two words, in all GOLD files.  [default: the first two]",
    ),
    click.option(
        "--score", "scores", multiple=True, metavar="COLUMN", help="Column of the scores: once, or once for each GOLD."
    ),
    click.option("--no-header", is_flag=True, help="The first line is data; columns are named 1, 2, ..."),
    click.option(
        "--duplicates",
        type=click.Choice(DUPLICATES),
        default=DUPLICATES[0],
        show_default=True,
        help="A pair that a file has more than once, in either order unless --relata: an error, or the mean or the "
        "first of its scores counts.",
    ),
    click.option("--form", type=click.Choice(FORMS), help="Form of VECTORS.  [default: told from the file]"),
    click.option("--encoding", default="utf-8", show_default=True, help="Encoding of the words in VECTORS."),
    click.option(
        "--undecodable",
        type=click.Choice(UNDECODABLE),
        default=UNDECODABLE[0],
        show_default=True,
        help="A word in VECTORS that is not text in this encoding: an error, or left out.",
    ),
    click.option("--lower", is_flag=True, help="Look words up in lower case."),
    click.option(
        "--oov",
        type=click.Choice(OOV),
        default=OOV[0],
        show_default=True,
        help="A pair of which a word has no vector: left out, an error, or tied below all others.",
    ),
    click.option(
        "--relata", is_flag=True, help="GOLD files list words and their relata: rank those of each word by cosine."
    ),
    click.option(
        "--candidates",
        type=click.Choice(CANDIDATES),
        help="Of --relata, what is ranked for a word: its own entries in GOLD, or all relata of GOLD.  [default: gold]",
    ),
    click.option(
        "--depth", type=click.IntRange(min=1), metavar="K", help="Of --relata, keep the K nearest neighbours."
    ),
    click.option(
        "--metric",
        "metrics",
        multiple=True,
        metavar="NAME",
        help="Of --relata, as in 'rankcorr evaluate'; may be repeated.  [default: tau_w, ap]",
    ),
    level_option(),
    resamples_option(RESAMPLES, "Number of permutations behind chance, and of resamples of each interval."),
    seed_option(),
)


@dataclass(frozen=True)
class VectorOptions:
    """How vectors and gold scores are read, and what is computed."""

    words: list[str]
    scores: tuple[str, ...]
    no_header: bool
    duplicates: Any
    form: Any
    encoding: str
    undecodable: Any
    lower: bool
    oov: Any
    relata: bool
    candidates: Any
    depth: int | None
    metrics: tuple[str, ...]
    level: float
    resamples: int
    seed: int

    def check(self) -> None:
        """Refuse an option that has no effect."""
        of_relata = {"--candidates": self.candidates, "--depth": self.depth, "--metric": self.metrics or None}
        for option, value in of_relata.items():
            if value is not None and not self.relata:
                raise OptionError(f"{option} belongs to --relata, which is missing")

    def read_gold(self, paths: tuple[str, ...]) -> dict[str, dict[Pair, float]]:
        """Gold scores by the name of the file, with the column where a file is given several times."""
        if len(self.scores) > 1 and len(self.scores) != len(paths):
            raise OptionError(
                f"--score must be given once, or once for each file; got {len(self.scores)} for {len(paths)} files"
            )
        columns = list(self.scores) if len(self.scores) > 1 else [*self.scores, None][:1] * len(paths)
        found: dict[str, dict[Pair, float]] = {}
        for path, column in zip(paths, columns, strict=True):
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

    def chosen(self, weights: Weights) -> list[Any]:
        """Metrics of --relata, coefficients with the options of weights."""
        names = self.metrics or METRICS
        found = [weights.of(name) if name in COEFFICIENTS else name for name in names]
        try:
            metrics = [as_metric(each) for each in found]
        except MissingMeasuresError as error:
            raise click.ClickException(str(error)) from error
        check_different(metrics, names)
        return metrics

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


def vector_options(command: Command) -> Command:
    """Add the options of word vectors; the command takes them as a `VectorOptions` named `options`."""
    return gathered(command, _OPTIONS, "options", VectorOptions)


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
        f"vectors: {printable(vectors, limit=None)} ({found.form}, {counted(found.n_known, 'word')}{undecodable}, "
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
