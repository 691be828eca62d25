"""`rankcorr fuse`: one run from several, and a test of it against its parts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rankcorr._checks import collected_notices, counted, repeated
from rankcorr._cli import console, options
from rankcorr._cli.console import Column, detectable_text, number_text, pvalue_text, text_columns, whole
from rankcorr._io.trec import FORMATS
from rankcorr._options import default_of
from rankcorr._report import save_reports
from rankcorr._results import significance_notes
from rankcorr._workers import progress_bar
from rankcorr.errors import OptionError
from rankcorr.evaluation._columns import DUPLICATES
from rankcorr.evaluation._compare import compare_evaluated, corrected_together
from rankcorr.evaluation._evaluate import evaluate
from rankcorr.evaluation._fuse import FUSIONS, MISSING_QUERIES, NORMS, OFFSET, fuse, trec_lines
from rankcorr.evaluation._metrics import METRIC_NAMES
from rankcorr.evaluation._reports import fusion_text, reports_of_tests
from rankcorr.evaluation._run_comparison import HOLM, STEP_DOWN, RunComparison
from rankcorr.evaluation._sources import read_qrels, read_run

RESAMPLES = default_of(compare_evaluated, "n_resamples")


@console.command("fuse", short_help="Fuse runs into one, and test it against them.")
@click.argument("runs", nargs=-1, required=True, metavar="RUN RUN...")
@console.choice_option("--method", FUSIONS, "Reciprocal rank fusion, CombSUM or CombMNZ.")
@console.choice_option(
    "--norm", NORMS, "For combsum and combmnz: scale scores to 0 to 1, or to mean 0 and standard deviation 1."
)
@console.option("--k", type=float, default=OFFSET, help="Offset of rrf: a document of rank r gets 1/(k + r).")
@console.choice_option("--missing", MISSING_QUERIES, "Queries that a run lacks: an error, or fused without this run.")
@click.option("-o", "--out", metavar="FILE", help="Write the fused run here, in TREC format; '-' is stdout.")
@click.option("--qrels", metavar="FILE", help="Evaluate the fused run and its parts, and test the differences.")
@console.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="NAME",
    default=("tau_w",),
    help=f"Metric of --qrels: {', '.join(METRIC_NAMES)}, or one of ir_measures, such as rr; may be repeated.",
)
@options.names_option("run")
@options.level_option()
@options.resamples_option(RESAMPLES)
@console.seed_option()
@click.option("--form", type=click.Choice(FORMATS), help="Format of all text files.  [default: detected for each file]")
@console.choice_option(
    "--duplicates", DUPLICATES, "Documents repeated in a query: report an error, or use the first or the largest value."
)
@console.table_option()
@console.report_option()
@console.json_option()
def fuse_command(
    runs: tuple[str, ...],
    out: str | None,
    qrels: str | None,
    metrics: tuple[str, ...],
    report_path: str | None,
    as_json: bool,
    **settings: Any,
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
    method, names = settings["method"], settings["name"]
    options.check_names(names, len(runs), "run")
    reading: dict[str, Any] = {"form": settings["form"], "duplicates": settings["duplicates"]}
    with collected_notices() as notices:
        read = [read_run(path, **reading) for path in runs]
        short = [str(run.name) for run in read]
        titles = names or (runs if repeated([*short, method]) else short)
        options.check_repeats([*titles, method], "run")
        parts = dict(zip(titles, read, strict=True))
        fused = fuse(parts, **{name: settings[name] for name in ("method", "norm", "k", "missing")})
        comparisons: list[RunComparison] = []
        if qrels is not None:
            evaluation = evaluate(
                read_qrels(qrels, **reading), {method: fused, **parts}, metrics=metrics, standardized=False
            )
            tested = {"level": settings["level"], "n_resamples": settings["resamples"], "seed": settings["seed"]}
            with progress_bar(None, "resample", "tests") as advance:
                comparisons = [
                    compare_evaluated(evaluation, name, baseline=method, **tested, progress=advance)
                    for name in evaluation.metrics
                ]
            comparisons = list(corrected_together(comparisons))
            if report_path is not None:
                preface = fusion_text(method, list(parts), method, settings["norm"], settings["k"])
                of_tests = (comparison.report() for comparison in comparisons)
                save_reports(reports_of_tests(evaluation.report(), of_tests, preface), report_path)
    notes = console.notes_of(notices, [])
    text = "" if out is None else "".join(f"{line}\n" for line in trec_lines(fused))
    if out == "-":
        click.echo(text, nl=False)
    elif out is not None:
        try:
            Path(out).write_text(text, encoding="utf-8")
        except OSError as error:
            raise click.ClickException(f"{out}: cannot be written: {error.strerror or error}") from error
    if as_json:
        content = {"runs": list(parts), "method": method, "n_queries": fused.n_queries, "n_documents": len(fused)}
        content |= {name: settings[name] for name in ("norm", "k", "missing")}
        content["comparisons"] = {comparison.metric: comparison.to_dict() for comparison in comparisons} or None
        console.print_json({**content, "warnings": notes})
        return
    if out != "-":
        size = f"{counted(fused.n_queries, 'query', 'queries')}, {counted(len(fused), 'document')}"
        click.echo(f"{method}: {counted(len(parts), 'run')} fused ({size})")
    for comparison in comparisons:
        _print(comparison)
    console.print_notes(notes)


def _print(comparison: RunComparison) -> None:
    fused = str(comparison.baseline)
    differences = {pair.first: pair for pair in comparison.pairs}
    heading = (
        f"{comparison.metric}: difference from {fused}, {console.percent_text(comparison.level)} intervals, "
        f"{comparison.test} test ({console.resamples_text(comparison.n_resamples, comparison.seed, 'queries')})"
    )
    click.echo(f"\n{heading}\n")
    empty = dict.fromkeys(("difference", "low", "high", "pvalue", "corrected_pvalue", "detectable"), float("nan"))
    rows: list[dict[str, Any]] = [
        {"run": row.run, "mean": row.mean, "queries": row.n_queries, **empty}
        | (vars(differences[row.run]) if row.run in differences else {})
        for row in comparison.rows
    ]
    corrected = {STEP_DOWN: "p (step-down)", HOLM: "p (Holm)"}[comparison.correction]
    columns: dict[str, Column] = {
        "run": ("run", whole),
        **text_columns(number_text, "mean", "difference", "low", "high"),
        "p (two-sided)": ("pvalue", pvalue_text),
        corrected: ("corrected_pvalue", pvalue_text),
        "detectable": (("detectable", "pvalue"), detectable_text),
        "queries": ("queries", "{:,}"),
    }
    pvalues = [row["corrected_pvalue"] for row in rows]
    console.print_rows(rows, columns, significance_notes(f"{heading}.", pvalues, 2, comparison.level))
