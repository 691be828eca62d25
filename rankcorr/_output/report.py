"""Reports of an analysis for a paper: methods, results, limits and sources, in Markdown, LaTeX or plain text."""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, TypeAlias

from rankcorr._checks import counted
from rankcorr._output.tables import LATEX_SIGNS
from rankcorr.errors import OptionError

# Authors and year of each key in _references.bib.
_AUTHORS: Final = {
    "lombardo2020top": "Lombardo et al. 2020",
    "romano2005exact": "Romano and Wolf 2005",
    "mogstad2024inference": "Mogstad et al. 2024",
    "smucker2007comparison": "Smucker et al. 2007",
    "cormack2009reciprocal": "Cormack et al. 2009",
    "fox1994combination": "Fox and Shaw 1994",
    "bradley1952rank": "Bradley and Terry 1952",
    "davidson1970extending": "Davidson 1970",
    "agresti1992analysis": "Agresti 1992",
    "marley2005some": "Marley and Louviere 2005",
    "thurstone1927law": "Thurstone 1927",
    "rankcorr": "",
}
Markup: TypeAlias = Callable[[str], str]

_CITATION: Final = re.compile(rf" ?\[@({'|'.join(_AUTHORS)})\]")
_NAME: Final = re.compile(r"`([^`]*)`")
_MATH: Final = re.compile(
    r"(f\(a\)(?: \+)? f\(b\)|f\(n\) = 1/\(n \+ [0-9.]+\)\^2|f\([ab]\)|(?<!\w)[\u03c4\u03c1\u03bd](?:_w)?(?!\w))"
)
_GREEK: Final = {"\u03c4": r"\tau", "\u03c1": r"\rho", "\u03bd": r"\nu"}
_MARKDOWN: Final = re.compile(r"([\\*`<\[])")
ENDINGS: Final = (".md", ".tex", ".txt")
MOST_NAMED: Final = 12  # systems or pairs in a sentence; longer lists belong in a table
FEW_ITEMS: Final = 30
LARGE: Final = 1e6
SMALL: Final = 5e-4
TINY: Final = 1e-12  # below this, a value is 0 with a rounding error


@dataclass(frozen=True)
class Report:
    """Methods, results and limits of an analysis, as text for a paper.

    The text writes coefficients as τ_w, names in backquotes, and citations as pandoc does: ``[@key]``.

    Attributes
    ----------
    methods, results : str
        One paragraph each.
    limits : tuple of str
        One sentence each.

    See Also
    --------
    rankcorr.Leaderboard.report, rankcorr.SystemComparison.report : Return it, as other results do.

    Examples
    --------
    >>> from rankcorr import compare_systems
    >>> report = compare_systems([5, 4, 3, 2, 1], [5, 4, 3, 1, 2], [3, 4, 5, 1, 2], coefficient="tau").report()
    >>> report.results[:67]
    'The first system has a τ of 0.800, the second system one of 0.200. '
    >>> report.limits[0]
    'With only 5 items, small differences go undetected.'
    """

    methods: str
    results: str
    limits: tuple[str, ...]

    @property
    def sources(self) -> tuple[str, ...]:
        """Citation keys, in order of first appearance."""
        text = _NAME.sub("", " ".join((self.methods, self.results, *self.limits)))
        return tuple(dict.fromkeys(match[1] for match in _CITATION.finditer(text)))

    def to_markdown(self) -> str:
        """Return the report in Markdown, with citations for pandoc, Quarto and MyST."""
        parts = [f"**Methods.** {_markdown(self.methods)}", f"**Results.** {_markdown(self.results)}"]
        if self.limits:
            parts += ["**Limits.**", "\n".join(f"- {_markdown(limit)}" for limit in self.limits)]
        return "\n\n".join(parts) + "\n"

    def to_latex(self) -> str:
        r"""Return the report in LaTeX: paragraphs, a list of limits, and \cite commands."""
        parts = [rf"\paragraph{{Methods.}} {_latex(self.methods)}", rf"\paragraph{{Results.}} {_latex(self.results)}"]
        if self.limits:
            items = [rf"\item {_latex(limit)}" for limit in self.limits]
            parts.append("\n".join([r"\paragraph{Limits.}", r"\begin{itemize}", *items, r"\end{itemize}"]))
        return "\n\n".join(parts) + "\n"

    def to_text(self) -> str:
        """Return the report in plain text, with authors and years."""
        limits = [f"- {_plain(limit)}" for limit in self.limits]
        parts = [f"Methods. {_plain(self.methods)}", f"Results. {_plain(self.results)}"]
        return "\n\n".join(parts + (["\n".join(["Limits.", *limits])] if limits else [])) + "\n"

    def to_bibtex(self) -> str:
        """Return the sources in BibTeX."""
        return _bibtex(self.sources)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the report to a .md, .tex or .txt file; LaTeX also gets a .bib file with the sources.

        Raises
        ------
        OptionError
            The file name has another extension.
        """
        save_reports([self], path)

    def __str__(self) -> str:
        return self.to_text()

    def _repr_markdown_(self) -> str:
        return self.to_markdown()


def check_ending(path: str) -> None:
    """Raise OptionError unless the file name of a report ends in .md, .tex or .txt."""
    if os.path.splitext(path)[1] not in ENDINGS:
        raise OptionError(f"the file name of a report must end in {', '.join(ENDINGS)}; got {path!r}")


def save_reports(reports: Sequence[Report], path: str | os.PathLike[str]) -> None:
    """Write several reports to one file, in the format of `Report.save`."""
    for name, text in report_files(reports, os.fspath(path)).items():
        Path(name).write_text(text, encoding="utf-8")


def report_files(reports: Sequence[Report], name: str) -> dict[str, str]:
    """Return the content of each file that `save_reports` writes, by file name.

    Raises
    ------
    OptionError
        The name does not end in .md, .tex or .txt.
    """
    check_ending(name)
    stem, ending = os.path.splitext(name)
    sources = _bibtex(dict.fromkeys(key for report in reports for key in report.sources))
    write = {".md": Report.to_markdown, ".tex": Report.to_latex, ".txt": Report.to_text}[ending]
    text = "\n".join(map(write, reports))
    if ending == ".tex":
        return {name: text, stem + ".bib": sources}
    return {name: text + (f"\n```bibtex\n{sources}```\n" if ending == ".md" else f"\n{sources}")}


def _bibtex(keys: Iterable[str]) -> str:
    entries = files("rankcorr").joinpath("_references.bib").read_text(encoding="utf-8").split("\n\n")
    by_key = {re.split("[{,]", entry, maxsplit=2)[1]: entry.strip() for entry in entries}
    return "\n\n".join(by_key[key].replace("VERSION", _version()) for key in keys) + "\n"


def _version() -> str:
    return str(sys.modules["rankcorr"].__version__)  # importing the package here would be circular


def _plain(text: str) -> str:
    return _mark_up(text, str, str, lambda key: f" ({_AUTHORS[key]})" if _AUTHORS[key] else "")


def _markdown(text: str) -> str:
    return _mark_up(text, lambda part: _MARKDOWN.sub(r"\\\1", part), "`{}`".format, " [@{}]".format)


def _latex(text: str) -> str:
    return _mark_up(
        text, _latex_text, lambda name: rf"\texttt{{{name.translate(LATEX_SIGNS)}}}", lambda key: rf"~\cite{{{key}}}"
    )


def _mark_up(text: str, words: Markup, name: Markup, source: Markup) -> str:
    """Apply one function to the plain words of a text, one to the names in backquotes, and one to citation keys."""
    texts = _NAME.split(text)  # alternates between words and names
    texts[1::2] = map(name, texts[1::2])
    for place in range(0, len(texts), 2):
        parts = _CITATION.split(texts[place])  # alternates between words and keys
        parts[::2], parts[1::2] = map(words, parts[::2]), map(source, parts[1::2])
        texts[place] = "".join(parts)
    return "".join(texts)


def _latex_text(text: str) -> str:
    texts = _MATH.split(text)  # alternates between text and formulas
    texts[::2] = [re.sub(r"(?<![\w.])-(?=[0-9])", "$-$", part.translate(LATEX_SIGNS)) for part in texts[::2]]
    texts[1::2] = [f"${''.join(_GREEK.get(sign, sign) for sign in formula)}$" for formula in texts[1::2]]
    return "".join(texts)


def number_text(value: float | None) -> str:
    """Format a number with three decimals, or in scientific notation if it is very large or very small.

    >>> number_text(-1e-15), number_text(0.00025), number_text(1234567.8), number_text(None)
    ('0.000', '2.5e-04', '1.23e+06', 'undefined')
    """
    if value is None or math.isnan(value):
        return "undefined"
    if TINY < abs(value) < SMALL or abs(value) >= LARGE:
        return f"{value:.3g}" if abs(value) >= LARGE else f"{value:.1e}"
    return f"{round(value, 3) + 0.0:.3f}"


def pvalue_text(value: float | None) -> str:
    """Format a p-value as journals do.

    >>> pvalue_text(0.00012), pvalue_text(0.0312), pvalue_text(0.25)
    ('p < 0.001', 'p = 0.031', 'p = 0.25')
    """
    if value is None or math.isnan(value):
        return "p undefined"
    return "p < 0.001" if value < 0.001 else f"p = {value:.{3 if value < 0.0995 else 2}f}"


def percent_text(level: float) -> str:
    """Format a confidence level as a percentage.

    >>> percent_text(0.95), percent_text(0.9999999)
    ('95 %', '99.99999 %')
    """
    return f"{100 * level:.10g} %"


def interval_text(low: float | None, high: float | None, level: float) -> str:
    """Format an interval with its level; an end without a bound is None.

    >>> interval_text(0.1, 0.25, 0.9), interval_text(None, 0.25, 0.9)
    ('90 % interval 0.100 to 0.250', '90 % interval below 0.250')
    """
    if low is None and high is None:
        return "without an interval"
    if low is None or high is None:
        end = f"below {number_text(high)}" if low is None else f"above {number_text(low)}"
        return f"{percent_text(level)} interval {end}"
    return f"{percent_text(level)} interval {number_text(low)} to {number_text(high)}"


def name_text(name: Any) -> str:
    """Put a name on one line and in backquotes.

    >>> name_text("a  `b` [@c]")
    "`a 'b' [@c]`"
    """
    return f"`{' '.join(str(name).split()).replace('`', chr(39))}`"


def list_text(texts: Iterable[str], separator: str = ", ") -> str:
    """Join texts into a list for a sentence; after the first twelve, give only the number of others.

    >>> list_text(["a", "b", "c"])
    'a, b and c'
    """
    texts = list(texts)
    if len(texts) > MOST_NAMED:
        texts = [*texts[:MOST_NAMED], f"{len(texts) - MOST_NAMED} others"]
    if len(texts) == 1 or separator != ", ":
        return separator.join(texts)
    return f"{', '.join(texts[:-1])} and {texts[-1]}"


def software_text(seed: int | None) -> str:
    """Name the version of rankcorr and the random seed behind the figures."""
    seed_text = "" if seed is None else f", seed {seed}"
    return f"All figures were computed with rankcorr {_version()} [@rankcorr]{seed_text}."


_COEFFICIENTS: Final = {
    "tau_w": ("τ_w", "Kendall's top-weighted rank correlation τ_w"),
    "rho_w": ("\u03c1_w", "Spearman's top-weighted rank correlation \u03c1_w"),
    "tau": ("τ", "Kendall's rank correlation τ"),
    "rho": ("\u03c1", "Spearman's rank correlation \u03c1"),
    "pearson": ("correlation", "Pearson's correlation"),
}
_SCHEMES: Final = {
    "additive": "f(a) + f(b), where a and b are the ranks of an item in the two rankings",
    "multiplicative": "f(a) f(b), where a and b are the ranks of an item in the two rankings",
    "first": "f(a), where a is the rank of an item in the gold ranking",
    "second": "f(b), where b is the rank of an item in the ranking of the system",
}
_TIED: Final = {
    "midrank": "Tied items have the weight of their mid-rank",
    "expected": "Tied items have the mean weight of their positions",
}
_MISSING: Final = {
    "intersection": "Items that a ranking lacks were left out.",
    "bottom": "Items that a ranking lacks were placed last in it, in a tie.",
    "gold": "Items that are not in gold were left out, and items of gold that a system lacks were placed last in it.",
}


def symbol_of(coefficient: str) -> str:
    """Return the symbol of a coefficient, or its name if it has no symbol."""
    return _COEFFICIENTS.get(coefficient, (coefficient,))[0]


def coefficient_text(options: Mapping[str, Any]) -> str:
    """Describe a coefficient with its weights and its treatment of ties, from the options of a result.

    >>> coefficient_text({"coefficient": "tau", "variant": "b"})
    "Kendall's rank correlation τ (variant b)"
    """
    name = str(options["coefficient"])
    text = _COEFFICIENTS.get(name, (name, name))[1]
    if options.get("scheme") is not None:
        if options.get("n0") is not None:
            weigher = f"f(n) = 1/(n + {options['n0']:g})^2"
        else:
            weigher = f"f is the function {options.get('weigher') or 'given'}"
        text += f" with the weights {_SCHEMES[options['scheme']]} and {weigher} [@lombardo2020top]"
        text += f". {_TIED[options['tied_weights']]}"
        if options.get("variant") == "a":
            text += "; pairs tied in a ranking count as neither for nor against (variant a)"
        return text
    return text if options.get("variant") is None else f"{text} (variant {options['variant']})"


def missing_text(options: Mapping[str, Any]) -> str:
    """Describe the treatment of items that a ranking lacks; empty if the option `missing` was not used."""
    policy = options.get("missing")
    if policy is None:
        return ""
    number = options.get("n_missing")
    sentence = _MISSING[policy]
    return sentence if number is None else f"{sentence[:-1]} ({counted(number, 'item')})."
