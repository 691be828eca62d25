"""`rankcorr evaluate-vectors`: word vectors against gold scores of pairs of words, or of the relata of words."""

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import click

from rankcorr._checks import check_choice, collected_notices, counted, first_few
from rankcorr._cli import console, options
from rankcorr._cli.compare import TEST_RESAMPLES
from rankcorr._cli.console import label_text, number_text, progress_bar, pvalue_text, text_columns, whole
from rankcorr._cli.options import Weights
from rankcorr._coefficients import COEFFICIENTS
from rankcorr._io.rankings import DUPLICATES
from rankcorr._output.report import percent_text
from rankcorr._output.tables import TableNotes, best_places, significance_notes
from rankcorr.errors import OptionError
from rankcorr.inference._system_comparison import SystemComparisons, compare_many
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
from rankcorr.vectors._relata import CANDIDATES, METRICS, RelataEvaluation, evaluate_relata, hubness
from rankcorr.vectors._reliability import KINDS, score_models
from rankcorr.vectors._target_groups import read_target_groups
from rankcorr.vectors._words import MissingGensimError, WordVectors

MAX_WORDS: Final = 10
NEIGHBOURS: Final = 10  # of each word, for its hubness
Results: TypeAlias = dict[tuple[str, str], VectorEvaluation | RelataEvaluation]  # by vectors and gold file


@dataclass(frozen=True)
class VectorOptions:
    """Options to read vectors and gold scores, and to compute correlations."""

    golds: tuple[str, ...] = console.several_option("--gold", "FILE", "Gold scores of pairs of words; may be repeated.")
    groups: str | None = console.text_option(
        "FILE",
        "Target groups instead of --gold: comparisons of candidates, each weighted by the agreement of its annotators.",
    )
    versus: str | None = console.text_option(
        "VECTORS", "Compare all other VECTORS with this file.  [default: all with each other]"
    )
    words: list[str] = console.several_option(
        "--words",
        "COLUMN,COLUMN",
        "Columns of the two words, in all files of --gold.  [default: the first two]",
        callback=options.split_columns,
    )
    scores: tuple[str, ...] = console.several_option(
        "--score", "COLUMN", "Column of the scores: once, or once for each --gold."
    )
    no_header: bool = options.header_option()
    duplicates: Any = console.choice_option(
        DUPLICATES,
        "Pairs repeated in a file, in either order unless --relata: report an error, or use the mean or the first of "
        "their scores.",
    )
    form: Any = console.option(type=click.Choice(FORMS), help="Format of VECTORS.  [default: detected]")
    encoding: str = console.option(default="utf-8", help="Encoding of the words in VECTORS.")
    undecodable: Any = console.choice_option(
        UNDECODABLE, "Words in VECTORS that are invalid in this encoding: an error, or left out."
    )
    lower: bool = console.flag_option("Look words up in lower case.")
    oov: Any = console.choice_option(
        OOV, "Pairs with a word that has no vector: left out, an error, or tied below all others."
    )
    self_pairs: Any = console.choice_option(
        SELF_PAIRS, "Pairs of a word with itself, whose cosine is always 1: kept, or left out."
    )
    relata: bool = console.flag_option(
        "Gold files list words and their relata: rank the relata of each word by cosine. Takes one file of VECTORS."
    )
    candidates: Any = console.choice_option(
        CANDIDATES, "With --relata: rank the word's own entries in gold, or all relata of gold."
    )
    depth: int | None = console.count_option("With --relata: keep the K nearest neighbours.", metavar="K")
    metrics: tuple[str, ...] = console.several_option(
        "--metric",
        "NAME",
        "Coefficient, or with --relata a metric of 'rankcorr evaluate'; may be repeated.  [default: rho_w, tau_w, "
        "rho, tau; with --relata tau_w, ap]",
    )
    level: float = options.level_option()
    resamples: int | None = options.resamples_option(
        None,
        f"Number of permutations, resamples and swaps behind each figure.  [default: {RESAMPLES}, and {TEST_RESAMPLES} "
        "swaps for each comparison]",
    )
    seed: int = console.seed_option()

    def read_gold(self) -> dict[str, dict[Pair, float]]:
        """Gold scores by the name of the file, with the column where a file is given several times."""
        paths = self.golds
        columns = options.columns_of(self.scores, len(paths))
        names = [
            path if paths.count(path) == 1 else f"{path}:{column}" for path, column in zip(paths, columns, strict=True)
        ]
        options.check_repeats(names, "gold file")
        reading: dict[str, Any] = {"word_columns": self.words or None, "header": not self.no_header}
        reading |= {"unordered": not self.relata, "duplicates": self.duplicates}
        return {
            name: read_pairs(path, score_column=column, **reading)
            for name, path, column in zip(names, paths, columns, strict=True)
        }

    def read_words(self, path: str, listed_words: Collection[str]) -> WordVectors:
        """Vectors of words."""
        words = {word.lower() for word in listed_words} if self.lower else set(listed_words)
        try:
            with progress_bar(None, "word", f"reading {whole(path)}") as advance:
                file_options = console.values_of(self, "form", "encoding", "undecodable")
                return read_vectors(path, words=words, progress=advance, **file_options)
        except MissingGensimError as error:
            raise click.ClickException(str(error)) from error

    def to_dict(self) -> dict[str, Any]:
        """The options of the files, ready for JSON."""
        read: dict[str, Any] = {"versus": self.versus, "words": self.words or None}
        read |= {"score": list(self.scores) or None, "header": not self.no_header}
        return read | console.values_of(self, "duplicates", "encoding", "undecodable")


@console.command("evaluate-vectors", short_help="Evaluate and compare word vectors on gold pairs.")
def vectors_command(
    vectors: tuple[str, ...] = console.argument(nargs=-1, required=True, metavar="VECTORS..."),
    settings: VectorOptions = console.options_of(VectorOptions),
    weights: Weights = console.options_of(Weights),
    as_json: bool = console.output_options(),
) -> None:
    """Evaluate the word vectors in each VECTORS on the pairs of words in the files of --gold, by cosine.

    Several VECTORS are evaluated on the pairs that all of them have, and compared. The p-values of all comparisons,
    over all gold files and coefficients, are corrected together, by Holm's method.

    VECTORS is word2vec text or binary, GloVe text, or a file of gensim, which must come from a source you trust. Gold
    files are read as published: CSV, TSV, or cells separated by spaces, with or without a header. All files may be
    compressed by gzip; '-' is stdin.

    With --groups the score is the share of the comparisons that a model decides like most annotators, weighted by how
    sure these are, with an interval over targets; several VECTORS are compared with the first, or with --versus.

    Example:
      rankcorr evaluate-vectors glove.txt.gz --gold wordsim353.tsv --gold rg65.tsv
      rankcorr evaluate-vectors a.txt b.txt --groups groups.csv
      rankcorr evaluate-vectors a.txt b.txt c.txt --gold wordsim353.tsv --gold men.txt --versus a.txt
      rankcorr evaluate-vectors word2vec.bin --gold rdt.csv --relata --candidates all --depth 100
    """
    _check(vectors, settings)
    if settings.groups is not None:
        _evaluate_groups(vectors, settings.groups, settings, as_json)
        return
    weights.to_dict()  # refuses options that contradict each other before files are read
    if settings.relata:
        metrics = options.metrics_of(settings.metrics or METRICS, weights)
    else:
        for name in settings.metrics:
            check_choice("--metric", name, COEFFICIENTS)
        metrics = [weights.of(name) for name in settings.metrics or COEFFICIENTS]
    with collected_notices() as notices:
        golds = settings.read_gold()
    notes = console.notes_of(notices, [])
    words = {word for pairs in golds.values() for pair in pairs for word in pair}
    loaded = {path: settings.read_words(path, words) for path in vectors}
    results: Results = {}
    for gold, pairs in golds.items():
        with collected_notices() as notices, options.errors_of(gold):
            has_several = len(loaded) > 1 and settings.oov == "omit"
            common = common_pairs(loaded.values(), pairs, lower=settings.lower) if has_several else pairs
            results |= {
                (path, gold): _evaluate(vectors_of, common, metrics, settings) for path, vectors_of in loaded.items()
            }
        notes += console.notes_of(notices, [], gold)
    for (path, gold), result in results.items():
        for row in result.coefficients if isinstance(result, VectorEvaluation) else ():
            if row.note is not None:
                title = f"{path}, {gold}" if len(loaded) > 1 else gold
                notes += console.notes_of([row.note], [row.coefficient], title)
    compared = None
    if len(loaded) > 1:
        with collected_notices() as notices:
            compared = _compare(golds, results, settings, metrics)
        notes += console.notes_of(notices, [])
    if as_json:
        vector_files = [
            {"name": path, "form": vectors_of.form, "n_words": vectors_of.n_known, "dimension": vectors_of.dimension}
            | {"n_undecodable": vectors_of.n_undecodable}
            for path, vectors_of in loaded.items()
        ]
        content = [
            {"vectors": path, "gold_set": gold, **result.to_dict(), **_hubness_of(loaded[path], result)}
            for (path, gold), result in results.items()
        ]
        of_files = [{"name": gold, "n_pairs": len(pairs)} for gold, pairs in golds.items()]
        option_values = {**settings.to_dict(), **weights.to_dict()}
        document = {"vectors": vector_files, "golds": of_files, "options": option_values}
        comparisons = {} if compared is None else {"comparisons": compared.to_dict()["rows"]}
        console.print_json({**document, "evaluations": content, **comparisons, "warnings": notes})
        return
    for path, vectors_of in loaded.items():
        undecodable = f", {vectors_of.n_undecodable:,} undecodable" if vectors_of.n_undecodable else ""
        click.echo(
            f"vectors: {whole(path)} ({vectors_of.form}, {counted(vectors_of.n_known, 'word')}{undecodable}, "
            f"{counted(vectors_of.dimension, 'dimension')})"
        )
    if settings.relata:
        (word_vectors,) = loaded.values()
        relata = {gold: result for (_, gold), result in results.items() if isinstance(result, RelataEvaluation)}
        _print_relata(relata, word_vectors)
    else:
        _print_coverage(golds, loaded, results, settings)
        _print_pairs(results, [metric.name for metric in metrics], settings)
    if compared is not None:
        _print_comparisons(compared, settings)
    console.print_notes(notes)


def _check(vectors: tuple[str, ...], settings: VectorOptions) -> None:
    """Refuse options and files that do not go together."""
    options.check_owner("--relata", settings.relata, "--candidates", "--depth")
    if settings.relata and "--self-pairs" in options.command_line_flags().values():
        raise OptionError("--self-pairs cannot be combined with --relata")
    if settings.relata and len(vectors) > 1:
        raise OptionError(
            f"--relata evaluates one set of vectors at a time; got {len(vectors)} files: run the command once for each "
            "(gold files are given by --gold)"
        )
    if (settings.groups is None) == (not settings.golds):
        raise OptionError("either --gold or --groups is needed" + (", not both" if settings.golds else ""))
    if settings.groups is not None and (settings.relata or settings.metrics):
        raise OptionError(f"{'--relata' if settings.relata else '--metric'} cannot be combined with --groups")
    if len(settings.words) not in (0, 2):
        raise OptionError(f"--words must name two columns, as in first,second; got {', '.join(settings.words)}")
    options.check_stdin([*vectors, *settings.golds, *filter(None, [settings.groups])])
    options.check_repeats(vectors, "VECTORS")
    if settings.versus is not None:
        if len(vectors) < 2:
            raise OptionError("--versus needs at least two VECTORS")
        check_choice("--versus", settings.versus, vectors)


def _evaluate(
    vectors: WordVectors, gold: dict[Pair, float], metrics: list[Any], settings: VectorOptions
) -> VectorEvaluation | RelataEvaluation:
    n_resamples = settings.resamples or RESAMPLES
    shared = {**console.values_of(settings, "oov", "lower", "seed"), "n_resamples": n_resamples}
    if settings.relata:
        shared |= {"candidates": settings.candidates, "depth": settings.depth}
        return evaluate_relata(vectors, gold, metrics=metrics, **shared)
    with progress_bar(2 * len(metrics) * n_resamples, "resample", "chance and intervals") as advance:
        shared |= {"self_pairs": settings.self_pairs, "level": settings.level, "progress": advance}
        return evaluate_vectors(vectors, gold, coefficients=metrics, **shared)


def _compare(
    golds: dict[str, dict[Pair, float]], results: Results, settings: VectorOptions, metrics: list[Any]
) -> SystemComparisons:
    """Compare the vectors on each gold set by each coefficient."""
    compared_golds: dict[str, dict[Pair, float]] = {}
    systems: dict[str, dict[Pair, float]] = {}
    for (path, gold), evaluation in results.items():
        if isinstance(evaluation, VectorEvaluation):
            scores = evaluation.scores
            compared_golds[gold] = {pair: score for pair, score in golds[gold].items() if pair in scores}
            systems[path] = systems.get(path, {}) | scores
    draw_options: dict[str, Any] = {"n_resamples": settings.resamples or TEST_RESAMPLES, "seed": settings.seed}
    with progress_bar(None, "swap", "comparisons of vectors") as advance:
        shared: dict[str, Any] = {"baseline": settings.versus, "level": settings.level, "progress": advance}
        return compare_many(compared_golds, systems, coefficients=metrics, **shared, **draw_options)


def _print_coverage(
    golds: dict[str, dict[Pair, float]], loaded: dict[str, WordVectors], results: Results, settings: VectorOptions
) -> None:
    """Print how many pairs of each gold file are compared, and the words that vectors lack."""
    treatment = "tied below all others" if settings.oov == "lowest" else "left out"
    compared = {
        gold: result.n_compared for (_, gold), result in results.items() if isinstance(result, VectorEvaluation)
    }
    for gold, pairs in golds.items():
        looked_up = words_of(pairs, lower=settings.lower)
        lacking = {path: [w for w, key in looked_up.items() if key not in v.index] for path, v in loaded.items()}
        absent = {word for words in lacking.values() for word in words}
        n_lacking = sum(not absent.isdisjoint(pair) for pair in pairs)
        text = f", {n_lacking:,} without a vector ({treatment})" if n_lacking else ""
        click.echo(f"{whole(gold)}: {compared[gold]:,} of {len(pairs):,} pairs compared{text}")
        for path, words in lacking.items():
            _print_words(f"words without a vector{f' in {whole(path)}' if len(loaded) > 1 else ''}", tuple(words))


def _print_pairs(results: Results, names: list[str], settings: VectorOptions) -> None:
    has_several = len({path for path, _ in results}) > 1
    heading = f"low, high: {percent_text(settings.level)} interval; p: of agreement by chance alone"
    click.echo(f"{heading}\n")
    rows = [
        {**vars(coefficient), "gold": gold, "vectors": path, "coefficient": name}
        for (path, gold), result in results.items()
        if isinstance(result, VectorEvaluation)
        for name, coefficient in zip(names, result.coefficients, strict=True)
    ]
    columns: dict[str, console.Column] = {
        **text_columns(whole, "gold", *(["vectors"] * has_several), "coefficient"),
        "value": ("statistic", number_text),
        **text_columns(number_text, "chance", "standardized", "low", "high"),
        "p (greater)": ("pvalue", pvalue_text),
    }
    column, groups = 2 + has_several, [(row["gold"], row["coefficient"]) for row in rows]
    best = best_places([row["statistic"] for row in rows], column, groups)
    caption = f"Coefficients of gold scores and cosines; {heading}.{' Bold: best.' * bool(best)}"
    pvalues, about = [row["pvalue"] for row in rows], {"meaning": "above chance", "tested": "p"}
    console.print_rows(rows, columns, significance_notes(caption, pvalues, column, settings.level, best=best, **about))


def _print_comparisons(compared: SystemComparisons, settings: VectorOptions) -> None:
    n_swaps = settings.resamples or TEST_RESAMPLES
    heading = (
        f"Differences, {percent_text(settings.level)} intervals, paired tests (up to {n_swaps:,} swaps, seed "
        f"{settings.seed}); p corrected by Holm over {counted(len(compared.rows), 'test')}"
    )
    figures = {"a - b": "difference", "low": "low", "high": "high"}
    columns: dict[str, console.Column] = {
        "gold": ("gold_set", whole),
        **text_columns(whole, "coefficient", "a", "b"),
        **{heading: (f"comparison.{name}", number_text) for heading, name in figures.items()},
        "p (two-sided)": ("comparison.pvalue", pvalue_text),
        "p (Holm)": ("corrected_pvalue", pvalue_text),
        "n": ("comparison.n_items", "{:,}"),
    }
    console.print_tests(heading, compared.rows, columns, settings.level, of="a - b")


def _hubness_of(vectors: WordVectors, result: VectorEvaluation | RelataEvaluation) -> dict[str, Any]:
    """Hubness among the words that were read from the file, ready for JSON; empty for ten or fewer."""
    if not isinstance(result, RelataEvaluation) or len(vectors.words) <= NEIGHBOURS:
        return {}
    hubs = hubness(vectors, k=NEIGHBOURS)
    return {"hubness": console.values_of(hubs, "k", "skewness", "orphan_share")}


def _print_relata(results: dict[str, RelataEvaluation], vectors: WordVectors) -> None:
    for name, result in results.items():
        click.echo(f"{whole(name)}: {counted(result.n_words, 'word')}, {result.n_relata:,} relata")
        _print_words("words without a vector", result.oov_words)
        _print_words("relata without a vector", result.oov_relata)
        if not math.isnan(result.pooled_ap):
            click.echo(f"  average precision of all pairs in one list: {number_text(result.pooled_ap)}")
        for hubs in _hubness_of(vectors, result).values():
            orphans = f"{100 * hubs['orphan_share']:.0f} % of the {len(vectors.words):,} words are neighbours of none"
            click.echo(f"  hubness (k = {hubs['k']}): skewness {number_text(hubs['skewness'])}; {orphans}")
    rows = [{"gold": name, **row} for name, result in results.items() for row in result.evaluation.table()]
    columns = {**text_columns(whole, "gold", "metric"), **text_columns(number_text, "mean", "standardized")}
    click.echo()
    caption = "Relata of words ranked by cosine: means over words."
    console.print_rows(rows, {**columns, "words": ("n_queries", "{:,}")}, TableNotes(caption))


def _print_words(title: str, words: tuple[str, ...]) -> None:
    if words:
        click.echo(f"  {title} ({len(words):,}): {first_few(list(map(label_text, words)), MAX_WORDS)}")


def _evaluate_groups(vectors: tuple[str, ...], path: str, settings: VectorOptions, as_json: bool) -> None:
    """Score vectors on target groups, compare them, and print both."""
    draws = console.values_of(settings, "oov", "lower", "level", "seed")
    if settings.resamples is not None:
        draws["n_resamples"] = settings.resamples
    with collected_notices() as notices:
        groups = read_target_groups(path)
        loaded = {name: settings.read_words(name, groups.words) for name in vectors}
        versus = settings.versus or vectors[0]
        scores, differences = score_models(groups, loaded, versus, **draws)
    notes = console.notes_of(notices, [])
    if as_json:
        rows = [
            {"vectors": name, "versus": versus, **result.to_dict(), "corrected_pvalue": pvalue}
            for name, (result, pvalue) in differences.items()
        ]
        evaluations = [{"vectors": name, **score.to_dict()} for name, score in scores.items()]
        about = {"name": path, "n_targets": len(groups.categories), "n_comparisons": len(groups.shares)}
        document = {"groups": about, "options": draws}
        console.print_json({**document, "evaluations": evaluations, "comparisons": rows, "warnings": notes})
        return
    sizes = counted(len(groups.categories), "target"), counted(len(groups.shares), "comparison")
    click.echo(f"{whole(path)}: {', '.join(sizes)} by annotators, {counted(len(groups.triplets), 'triplet')} in all")
    for name, score in scores.items():
        _print_words(f"{whole(name)}: words without a vector", score.oov_words)
    click.echo()
    kinds = [dict(zip(KINDS, (kind.score for kind in score.kinds), strict=True)) for score in scores.values()]
    rows = [{"vectors": name, **vars(score), **row} for (name, score), row in zip(scores.items(), kinds, strict=True)]
    columns = {**text_columns(whole, "vectors"), **text_columns(number_text, "score", "low", "high", *KINDS)}
    columns |= {"triplets": ("n_triplets", "{:,}"), "left out": ("n_omitted", "{:,}")}
    console.print_rows(rows, columns, TableNotes("Reliability scores on target groups."))
    if differences:
        click.echo()
        rows = [
            {**vars(result), "vectors": name, "versus": versus, "corrected p": pvalue}
            for name, (result, pvalue) in differences.items()
        ]
        columns = {**text_columns(whole, "vectors", "versus"), **text_columns(number_text, "difference", "low", "high")}
        columns |= {"p": ("pvalue", pvalue_text), **text_columns(pvalue_text, "corrected p")}
        caption = "Differences of reliability scores; p-values are corrected by Holm's method."
        console.print_rows(rows, columns, TableNotes(caption))
    console.print_notes(notes)
