"""Options of `rankcorr evaluate-vectors`: how vectors and gold scores are read, and what is computed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from rankcorr.cli.options import Weights, gathered, split_columns
from rankcorr.cli.resampling import level_option, resamples_option, seed_option
from rankcorr.coefficients import COEFFICIENTS
from rankcorr.errors import OptionError
from rankcorr.evaluation.errors import MissingMeasuresError
from rankcorr.evaluation.metrics import as_metric, check_different
from rankcorr.io.tables import DUPLICATES
from rankcorr.progress import progress_bar
from rankcorr.vectors.pairs import OOV, RESAMPLES, Pair, read_pairs
from rankcorr.vectors.reading import FORMS, UNDECODABLE, read_vectors
from rankcorr.vectors.relata import CANDIDATES, METRICS
from rankcorr.vectors.words import MissingGensimError, WordVectors

Command = TypeVar("Command", bound=Callable[..., Any])

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
