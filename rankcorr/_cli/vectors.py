"""`rankcorr evaluate-vectors`: word vectors against gold scores of pairs of words, or of the relata of words."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import click

from rankcorr._checks import check_choice, collected_notices, counted, first_few
from rankcorr._cli import console, options
from rankcorr._cli.compare import TEST_RESAMPLES
from rankcorr._cli.console import choice_setting, gathered, label_text, number_text, pvalue_text, setting, whole
from rankcorr._cli.options import Weights
from rankcorr._coefficients import COEFFICIENTS
from rankcorr._io.tables import DUPLICATES
from rankcorr._workers import progress_bar
from rankcorr.errors import OptionError, RankingError
from rankcorr.inference._paired import SystemComparisons, compare_many
from rankcorr.vectors._pairs import (
    OOV,
    RESAMPLES,
    SELF_PAIRS,
    Pair,
    VectorEvaluation,
    common_pairs,
    evaluate_vectors,
    read_pairs,
    words_of,
)
from rankcorr.vectors._reading import FORMS, UNDECODABLE, read_vectors
from rankcorr.vectors._relata import CANDIDATES, METRICS, RelataEvaluation, evaluate_relata
from rankcorr.vectors._words import MissingGensimError, WordVectors

MAX_WORDS: Final = 10
Results: TypeAlias = dict[tuple[str, str], VectorEvaluation | RelataEvaluation]  # by vectors and gold file


@dataclass(frozen=True)
class VectorOptions:
    """Options to read vectors and gold scores, and to compute correlations."""

    golds: tuple[str, ...] = console.several_setting(
        "--gold", "FILE", "Gold scores of pairs of words; may be repeated.", required=True
    )
    versus: str | None = setting(
        "--versus",
        metavar="VECTORS",
        help="Compare the others with this one of VECTORS.  [default: all with each other]",
    )
    words: list[str] = console.several_setting(
        "--words",
        "COLUMN,COLUMN",
        "Columns of the two words, in all files of --gold.  [default: the first two]",
        callback=options.split_columns,
    )
    scores: tuple[str, ...] = console.several_setting(
        "--score", "COLUMN", "Column of the scores: once, or once for each --gold."
    )
    no_header: bool = setting(options.header_option())
    duplicates: Any = choice_setting(
        "--duplicates",
        DUPLICATES,
        "A pair that a file has more than once, in either order unless --relata: an error, or the mean or the "
        "first of its scores counts.",
    )
    form: Any = setting("--form", type=click.Choice(FORMS), help="Form of VECTORS.  [default: detected]")
    encoding: str = setting("--encoding", default="utf-8", help="Encoding of the words in VECTORS.")
    undecodable: Any = choice_setting(
        "--undecodable", UNDECODABLE, "Words in VECTORS that are invalid in this encoding: an error, or left out."
    )
    lower: bool = console.flag_setting("--lower", "Look words up in lower case.")
    oov: Any = choice_setting(
        "--oov", OOV, "Pairs with a word that has no vector: left out, an error, or tied below all others."
    )
    self_pairs: Any = setting(
        "--self-pairs",
        type=click.Choice(SELF_PAIRS),
        help="Pairs of a word with itself, whose cosine is always 1: kept, or left out.  [default: keep]",
    )
    relata: bool = console.flag_setting(
        "--relata",
        "Gold files list words and their relata: rank the relata of each word by cosine. Takes one file of VECTORS.",
    )
    candidates: Any = setting(
        "--candidates",
        type=click.Choice(CANDIDATES),
        help="With --relata: rank the word's own entries in gold, or all relata of gold.  [default: gold]",
    )
    depth: int | None = console.count_setting("--depth", "With --relata: keep the K nearest neighbours.")
    metrics: tuple[str, ...] = console.several_setting(
        "--metric",
        "NAME",
        "Coefficient, or with --relata a metric of 'rankcorr evaluate'; may be repeated.  [default: rho_w, tau_w, "
        "rho, tau; with --relata tau_w, ap]",
    )
    level: float = setting(options.level_option())
    resamples: int | None = setting(
        options.resamples_option(
            None,
            f"Number of permutations, resamples and swaps behind each figure.  [default: {RESAMPLES}, and "
            f"{TEST_RESAMPLES} swaps for each comparison]",
        )
    )
    seed: int = setting(console.seed_option())

    def read_gold(self) -> dict[str, dict[Pair, float]]:
        """Gold scores by the name of the file, with the column where a file is given several times."""
        paths = self.golds
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
            with progress_bar(None, "word", f"reading {whole(path)}") as advance:
                own: dict[str, Any] = {name: getattr(self, name) for name in ("form", "encoding", "undecodable")}
                return read_vectors(path, words=words, progress=advance, **own)
        except MissingGensimError as error:
            raise click.ClickException(str(error)) from error

    def described(self) -> dict[str, Any]:
        """The options of the files, ready for JSON."""
        read: dict[str, Any] = {"versus": self.versus, "words": self.words or None}
        read |= {"score": list(self.scores) or None, "header": not self.no_header}
        return read | {name: getattr(self, name) for name in ("duplicates", "encoding", "undecodable")}


@console.command("evaluate-vectors", short_help="Evaluate and compare word vectors on gold pairs.")
@click.argument("vectors", nargs=-1, required=True, metavar="VECTORS...")
@gathered("asked", VectorOptions)
@options.weight_options
@console.table_option()
@console.json_option()
def vectors_command(vectors: tuple[str, ...], asked: VectorOptions, weights: Weights, as_json: bool) -> None:
    """Evaluate the word vectors in each VECTORS on the pairs of words in the files of --gold, by cosine.

    Several VECTORS are evaluated on the pairs that all of them have, and compared. The p-values of all comparisons,
    over all gold files and coefficients, are corrected together, by Holm's method.

    VECTORS is word2vec text or binary, GloVe text, or a file of gensim, which must come from a source you trust. Gold
    files are read as published: CSV, TSV, or cells separated by spaces, with or without a header. All files may be
    compressed by gzip; '-' is stdin.

    Example:
      rankcorr evaluate-vectors glove.txt.gz --gold wordsim353.tsv --gold rg65.tsv
      rankcorr evaluate-vectors a.txt b.txt c.txt --gold wordsim353.tsv --gold men.txt --versus a.txt
      rankcorr evaluate-vectors word2vec.bin --gold rdt.csv --relata --candidates all --depth 100
    """
    _check(vectors, asked)
    weights.described()  # refuses options that contradict each other before files are read
    if asked.relata:
        metrics = options.metrics_of(asked.metrics or METRICS, weights)
    else:
        for name in asked.metrics:
            check_choice("--metric", name, COEFFICIENTS)
        metrics = [weights.of(name) for name in asked.metrics or COEFFICIENTS]
    with collected_notices() as notices:
        golds = asked.read_gold()
    notes = console.notes_of(notices, [])
    found = {path: asked.read(path, golds) for path in vectors}
    results: Results = {}
    for gold, pairs in golds.items():
        with collected_notices() as notices, _errors_of(gold):
            several = len(found) > 1 and asked.oov == "omit"
            kept = common_pairs(found.values(), pairs, lower=asked.lower) if several else pairs
            results |= {(path, gold): _evaluate(each, kept, metrics, asked) for path, each in found.items()}
        notes += console.notes_of(notices, [], gold)
    compared = None
    if len(found) > 1:
        with collected_notices() as notices:
            compared = _compare(golds, results, asked, metrics)
        notes += console.notes_of(notices, [])
    if as_json:
        described = [
            {"name": path, "form": each.form, "n_words": each.n_known, "dimension": each.dimension}
            | {"n_undecodable": each.n_undecodable}
            for path, each in found.items()
        ]
        content = [{"vectors": path, "gold_set": gold, **result.to_dict()} for (path, gold), result in results.items()]
        of_files = [{"name": gold, "n_pairs": len(pairs)} for gold, pairs in golds.items()]
        chosen = {**asked.described(), **weights.described()}
        document = {"vectors": described, "golds": of_files, "options": chosen}
        comparisons = {} if compared is None else {"comparisons": compared.to_dict()["rows"]}
        console.print_json({**document, "evaluations": content, **comparisons, "warnings": notes})
        return
    for path, each in found.items():
        undecodable = f", {each.n_undecodable:,} undecodable" if each.n_undecodable else ""
        click.echo(
            f"vectors: {whole(path)} ({each.form}, {counted(each.n_known, 'word')}{undecodable}, "
            f"{counted(each.dimension, 'dimension')})"
        )
    if asked.relata:
        _print_relata({gold: each for (_, gold), each in results.items() if isinstance(each, RelataEvaluation)})
    else:
        _print_coverage(golds, found, results, asked)
        _print_pairs(results, [each.name for each in metrics], asked)
    if compared is not None:
        _print_comparisons(compared, asked)
    console.print_notes(notes)


def _check(vectors: tuple[str, ...], asked: VectorOptions) -> None:
    """Refuse options and files that do not go together."""
    options.check_owner("--relata", asked.relata, {"--candidates": asked.candidates, "--depth": asked.depth})
    if asked.relata and asked.self_pairs is not None:
        raise OptionError("--self-pairs does not go with --relata")
    if asked.relata and len(vectors) > 1:
        raise OptionError(
            f"--relata evaluates one set of vectors at a time; got {len(vectors)} files: run the command once for each "
            "(gold files are given by --gold)"
        )
    options.check_stdin([*vectors, *asked.golds])
    options.check_once(vectors, "VECTORS")
    if asked.versus is not None:
        if len(vectors) < 2:
            raise OptionError("--versus needs at least two VECTORS")
        check_choice("--versus", asked.versus, vectors)


@contextmanager
def _errors_of(gold: str) -> Iterator[None]:
    """Begin the message of an error with the name of a gold file."""
    try:
        yield
    except RankingError as error:
        raise click.ClickException(f"{gold}: {error}") from error


def _evaluate(
    vectors: WordVectors, gold: dict[Pair, float], metrics: list[Any], asked: VectorOptions
) -> VectorEvaluation | RelataEvaluation:
    n_resamples = asked.resamples or RESAMPLES
    shared: dict[str, Any] = {"oov": asked.oov, "lower": asked.lower, "seed": asked.seed, "n_resamples": n_resamples}
    if asked.relata:
        candidates: Any = asked.candidates or "gold"
        return evaluate_relata(vectors, gold, metrics=metrics, candidates=candidates, depth=asked.depth, **shared)
    with progress_bar(2 * len(metrics) * n_resamples, "resample", "chance and intervals") as advance:
        shared |= {"self_pairs": asked.self_pairs or SELF_PAIRS[0], "level": asked.level, "progress": advance}
        return evaluate_vectors(vectors, gold, coefficients=metrics, **shared)


def _compare(
    golds: dict[str, dict[Pair, float]], results: Results, asked: VectorOptions, metrics: list[Any]
) -> SystemComparisons:
    """Compare the vectors on each gold set by each coefficient."""
    compared_golds: dict[str, dict[Pair, float]] = {}
    systems: dict[str, dict[Pair, float]] = {}
    for (path, gold), evaluation in results.items():
        if isinstance(evaluation, VectorEvaluation):
            scores = evaluation.scores
            compared_golds[gold] = {pair: score for pair, score in golds[gold].items() if pair in scores}
            systems[path] = systems.get(path, {}) | scores
    drawn: dict[str, Any] = {"n_resamples": asked.resamples or TEST_RESAMPLES, "seed": asked.seed}
    with progress_bar(None, "swap", "comparisons of vectors") as advance:
        shared: dict[str, Any] = {"baseline": asked.versus, "level": asked.level, "progress": advance}
        return compare_many(compared_golds, systems, coefficients=metrics, **shared, **drawn)


def _print_coverage(
    golds: dict[str, dict[Pair, float]], found: dict[str, WordVectors], results: Results, asked: VectorOptions
) -> None:
    """Print how many pairs of each gold file are compared, and the words that vectors lack."""
    what = "tied below all others" if asked.oov == "lowest" else "left out"
    compared = {gold: each.n_compared for (_, gold), each in results.items() if isinstance(each, VectorEvaluation)}
    for gold, pairs in golds.items():
        looked_up = words_of(pairs, lower=asked.lower)
        lacking = {path: [w for w, key in looked_up.items() if key not in v.index] for path, v in found.items()}
        absent = {word for words in lacking.values() for word in words}
        n_lacking = sum(not absent.isdisjoint(pair) for pair in pairs)
        text = f", {n_lacking:,} without a vector ({what})" if n_lacking else ""
        click.echo(f"{whole(gold)}: {compared[gold]:,} of {len(pairs):,} pairs compared{text}")
        for path, words in lacking.items():
            _print_words(f"words without a vector{f' in {whole(path)}' if len(found) > 1 else ''}", tuple(words))


def _print_pairs(results: Results, names: list[str], asked: VectorOptions) -> None:
    several = len({path for path, _ in results}) > 1
    click.echo(f"low, high: {console.percent_text(asked.level)} interval; p: of agreement by chance alone\n")
    rows = [
        (gold, path, name, each)
        for (path, gold), result in results.items()
        if isinstance(result, VectorEvaluation)
        for name, each in zip(names, result.coefficients, strict=True)
    ]
    figures = {"value": "statistic", "chance": "chance", "standardized": "standardized", "low": "low", "high": "high"}
    console.print_table(
        ["gold", *(["vectors"] * several), "coefficient", *figures, "p (greater)"],
        [
            [
                *(whole(gold), *([whole(path)] * several), name),
                *(number_text(getattr(each, figure)) for figure in figures.values()),
                pvalue_text(each.pvalue),
            ]
            for gold, path, name, each in rows
        ],
        left=[1, 2] if several else [1],
    )


def _print_comparisons(compared: SystemComparisons, asked: VectorOptions) -> None:
    n_swaps = asked.resamples or TEST_RESAMPLES
    click.echo(
        f"\nDifferences, {console.percent_text(asked.level)} intervals, paired tests (up to {n_swaps:,} swaps, seed "
        f"{asked.seed}); p corrected by Holm over {counted(len(compared.rows), 'test')}\n"
    )
    console.print_table(
        ["gold", "coefficient", "a", "b", "a - b", "low", "high", "p (two-sided)", "p (Holm)", "n"],
        [
            [
                *map(whole, (row.gold_set, row.coefficient, row.a, row.b)),
                *(number_text(value) for value in (row.comparison.difference, row.comparison.low, row.comparison.high)),
                *map(pvalue_text, (row.comparison.pvalue, row.corrected_pvalue)),
                f"{row.comparison.n_items:,}",
            ]
            for row in compared.rows
        ],
        left=[1, 2, 3],
    )


def _print_relata(results: dict[str, RelataEvaluation]) -> None:
    for name, result in results.items():
        click.echo(f"{whole(name)}: {counted(result.n_words, 'word')}, {result.n_relata:,} relata")
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
        click.echo(f"  {what} ({len(words):,}): {first_few(list(map(label_text, words)), MAX_WORDS)}")
