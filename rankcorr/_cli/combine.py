"""`rankcorr merge` and `rankcorr fuse`: one ranking from several, and one run from several with a test of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import click

from rankcorr._checks import collected_notices, counted, default_of, offending, repeated
from rankcorr._cli import console, options
from rankcorr._cli.evaluate import repeated_documents_option, test_columns
from rankcorr._cli.options import Files, Named, Weights
from rankcorr._io.table import parse_number
from rankcorr._io.trec import FORMATS
from rankcorr._output.report import percent_text, save_reports
from rankcorr.aggregate._rankings import ABSENT, MERGE_METHODS, OFFSET_METHOD, MergedRanking, merge
from rankcorr.errors import OptionError
from rankcorr.evaluation._comparison.compare import compare_evaluated, compare_metrics
from rankcorr.evaluation._comparison.results import RunComparison
from rankcorr.evaluation._evaluate import evaluate
from rankcorr.evaluation._fuse import FUSIONS, MISSING_QUERIES, NORMS, OFFSET, RRF, fuse, trec_lines
from rankcorr.evaluation._metrics import METRIC_NAMES
from rankcorr.evaluation._reports import fusion_text, reports_of_tests
from rankcorr.evaluation._sources import read_qrels, read_run


@dataclass(frozen=True)
class MergedFiles(Files):
    """How files of rankings to merge are read."""

    role = "ranking"
    missing: Any = console.choice_option(
        ABSENT,
        "Items that a ranking lacks: report an error, leave them out, tie them last, or skip the ranking for them.",
    )
    names: tuple[str, ...] = options.names_option("ranking")


@console.command("merge", short_help="Merge rankings into one.")
def merge_command(
    rankings: tuple[str, ...] = console.argument(nargs=-1, required=True, metavar="RANKING RANKING..."),
    method: str = console.choice_option(
        tuple(MERGE_METHODS),
        "Mean Borda points, mean rank, sums of 1/(k + rank), fewest discordant pairs, or largest mean --coefficient.",
    ),
    k: float | None = console.option(
        type=float, help="Offset of reciprocal_rank_fusion: rank r gives 1/(k + r).  [default: 60]"
    ),
    shares: tuple[str, ...] = console.several_option(
        "--weight", "NAME=NUMBER", "Weight of a ranking; give one for each, or none."
    ),
    coefficient: str = options.coefficient_option(
        "Coefficient of each ranking with the result, whose mean is largest for consensus."
    ),
    files: MergedFiles = console.options_of(MergedFiles),
    weights: Weights = console.options_of(Weights),
    as_json: bool = console.output_options(),
) -> None:
    """Merge the RANKING files into one ranking of their items, and show how far each of them agrees with it.

    Example:
      rankcorr merge judge_a.csv judge_b.csv judge_c.csv
      rankcorr merge judge_a.csv judge_b.csv --method consensus --weight judge_a.csv=2 --weight judge_b.csv=1
      rankcorr merge judges.csv judges.csv --id item --score first --score second --method kemeny
    """
    read = files.read([], rankings)
    named = options.by_name(read)
    shares_by_name = _shares(shares, read) if shares else None
    merge_options = {"weights": shares_by_name, "missing": files.missing, "coefficient": weights.of_one(coefficient)}
    with console.progress_bar(None, "ranking", method) as advance, collected_notices() as notices:
        merged = merge(named, method, k=k, progress=advance, **merge_options)
    notes = options.reading_notes(read) + console.notes_of(notices, [])
    if as_json:
        option_values = {**files.to_dict(), **weights.to_dict(coefficient), "k": k}
        console.print_json({**merged.to_dict(), "options": option_values, "warnings": notes})
        return
    _print_merged(merged)
    console.print_notes(notes)


def _shares(texts: Sequence[str], rankings: Sequence[Named]) -> dict[str, float]:
    """Weights by the names of the rankings, from texts such as judge.csv=2."""
    names = {text: ranking.name for ranking in rankings for text in (ranking.short, ranking.name)}
    shares: dict[str, float] = {}
    for text in texts:
        name, _, number = text.rpartition("=")
        if name not in names:
            raise OptionError(offending("--weight must name rankings, as in a.csv=2; unknown", [name or text]))
        try:
            share = parse_number(number)
        except OverflowError:
            share = None
        if share is None:
            raise OptionError(f"--weight of {name}: {number!r} is not a number")
        if names[name] in shares:
            raise OptionError(f"--weight gives {name} two weights")
        shares[names[name]] = share
    return shares


def _print_merged(merged: MergedRanking) -> None:
    search = "" if merged.exact else ", by local search: a better ranking may exist"
    size = f"{counted(len(merged.weights), 'ranking')}, {counted(merged.ranking.n_items, 'item')}"
    click.echo(f"{merged.method}: {size}{search}\n")
    columns: dict[str, console.Column] = {"rank": console.rank_text, "item": console.label_text}
    if merged.scores is not None:  # sums of 1/(60 + rank) differ by little
        columns["score"] = "{:.6f}" if merged.method == OFFSET_METHOD else console.number_text
    console.print_rows(merged.table(), columns)
    click.echo(f"\n{merged.coefficient} of each ranking with the result\n")
    rows = [
        {"ranking": name, "agreement": agreement, "weight": merged.weights[name]}
        for name, agreement in merged.agreements.items()
    ]
    console.print_rows(
        rows, {"ranking": console.whole, merged.coefficient: ("agreement", "{:z.4f}"), "weight": "{:.4f}"}
    )


RESAMPLES = default_of(compare_evaluated, "n_resamples")


@console.command("fuse", short_help="Fuse runs into one, and test it against them.")
def fuse_command(
    runs: tuple[str, ...] = console.argument(nargs=-1, required=True, metavar="RUN RUN..."),
    method: Any = console.choice_option(FUSIONS, "Reciprocal rank fusion, CombSUM or CombMNZ."),
    norm: Any = console.choice_option(
        NORMS, "For combsum and combmnz: scale scores to 0 to 1, or to mean 0 and standard deviation 1."
    ),
    k: float = console.option(type=float, default=OFFSET, help="Offset of rrf: a document of rank r gets 1/(k + r)."),
    missing: Any = console.choice_option(
        MISSING_QUERIES, "Queries that a run lacks: an error, or fused without this run."
    ),
    out: str | None = console.text_option(
        "FILE", "Write the fused run here, in TREC format; '-' is stdout.", "-o", "--out"
    ),
    qrels: str | None = console.text_option("FILE", "Evaluate the fused run and its parts, and test the differences."),
    metrics: tuple[str, ...] = console.several_option(
        "--metric",
        "NAME",
        f"Metric of --qrels: {', '.join(METRIC_NAMES)}, or one of ir_measures, such as rr; may be repeated.",
        default=("tau_w",),
    ),
    names: tuple[str, ...] = options.names_option("run"),
    level: float = options.level_option(),
    resamples: int = options.resamples_option(RESAMPLES),
    seed: int = console.seed_option(),
    form: Any = console.option(
        type=click.Choice(FORMATS), help="Format of all text files.  [default: detected for each file]"
    ),
    duplicates: Any = repeated_documents_option(),
    report_path: str | None = console.report_option(),
    as_json: bool = console.output_options(),
) -> None:
    """Fuse the RUN files into one run, query by query.

    With --qrels, the fused run is evaluated beside its parts, and each part is tested against it. The p-values are
    corrected for all parts and metrics.

    Example:
      rankcorr fuse bm25.run dense.run -o fused.run
      rankcorr fuse bm25.run dense.run --method combmnz --norm z -o fused.run --qrels qrels.txt --metric ndcg@10
    """
    if out is None and qrels is None:
        raise OptionError("nothing to do: give -o FILE for the fused run, --qrels FILE to evaluate it, or both")
    if out == "-" and (qrels is not None or as_json):
        raise OptionError("-o - writes the run to stdout, where the tables of --qrels and --json would go too")
    if report_path is not None and qrels is None:
        raise OptionError("--report describes the comparison, so it needs --qrels")
    options.check_stdin([*runs, *([] if qrels is None else [qrels])])
    options.check_owner(f"--method {RRF}", method == RRF, "--k")
    options.check_owner("--method combsum or combmnz", method != RRF, "--norm")
    options.check_names(names, len(runs), "run")
    reading: dict[str, Any] = {"form": form, "duplicates": duplicates}
    fusion: dict[str, Any] = {"norm": norm, "k": k, "missing": missing}
    with collected_notices() as notices:
        read = [read_run(path, **reading) for path in runs]
        short = [str(run.name) for run in read]
        titles = names or (runs if repeated([*short, method]) else short)
        options.check_repeats([*titles, method], "run")
        parts = dict(zip(titles, read, strict=True))
        fused = fuse(parts, method=method, **fusion)
        comparisons: tuple[RunComparison, ...] = ()
        if qrels is not None:
            evaluation = evaluate(
                read_qrels(qrels, **reading), {method: fused, **parts}, metrics=metrics, standardized=False
            )
            tested: dict[str, Any] = {"level": level, "n_resamples": resamples, "seed": seed}
            with console.progress_bar(None, "resample", "tests") as advance:
                comparisons = compare_metrics(evaluation, baseline=method, **tested, progress=advance)
            if report_path is not None:
                preface = fusion_text(method, list(parts), method, norm, k)
                of_tests = (comparison.report() for comparison in comparisons)
                save_reports(reports_of_tests(evaluation.report(), of_tests, preface), report_path)
    notes = console.notes_of(notices, [])
    text = "" if out is None else "".join(f"{line}\n" for line in trec_lines(fused))
    if out == "-":
        click.echo(text, nl=False)
    elif out is not None:
        console.write_whole(out, text)
    if as_json:
        content = {"runs": list(parts), "method": method, "n_queries": fused.n_queries, "n_documents": len(fused)}
        tests = {comparison.metric: comparison.to_dict() for comparison in comparisons}
        console.print_json({**content, **fusion, "comparisons": tests or None, "warnings": notes})
        return
    if out != "-":
        size = f"{counted(fused.n_queries, 'query', 'queries')}, {counted(len(fused), 'document')}"
        click.echo(f"{method}: {counted(len(parts), 'run')} fused ({size})")
    for comparison in comparisons:
        _print_differences(comparison, f"{console.DETECTABLE}\n" if comparison is comparisons[0] else "")
    console.print_notes(notes)


def _print_differences(comparison: RunComparison, explanation: str) -> None:
    fused = str(comparison.baseline)
    differences = {pair.first: pair for pair in comparison.pairs}
    heading = (
        f"{comparison.metric}: difference from {fused}, {percent_text(comparison.level)} intervals, "
        f"{comparison.test} test ({console.resamples_text(comparison.n_resamples, comparison.seed, 'queries')})"
    )
    empty = dict.fromkeys(("difference", "low", "high", "pvalue", "corrected_pvalue", "detectable"), float("nan"))
    rows: list[dict[str, Any]] = [
        {"run": row.run, "mean": row.mean, "queries": row.n_queries, **empty}
        | (vars(differences[row.run]) if row.run in differences else {})
        for row in comparison.rows
    ]
    columns = {"run": console.whole, **console.text_columns(console.number_text, "mean", "difference", "low", "high")}
    columns |= {**test_columns(comparison.correction), "queries": "{:,}"}
    console.print_tests(heading, rows, columns, comparison.level, explanation)
