"""Small published tables of benchmark scores, packaged for examples and tests."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from types import MappingProxyType

__all__ = ["Dataset", "russian_relatedness_systems"]


@dataclass(frozen=True)
class Dataset:
    """Scores of the same systems on several benchmarks; larger is better.

    Attributes
    ----------
    name : str
    description : str
    source : str
        Full citation of the publication that the numbers come from.
    columns : mapping of str to dict
        For each benchmark, the score of each system. ``dataset[benchmark]`` is short for
        ``dataset.columns[benchmark]``.

    See Also
    --------
    russian_relatedness_systems : Returns one.

    Examples
    --------
    >>> from rankcorr import weighted_tau
    >>> from rankcorr.datasets import russian_relatedness_systems
    >>> systems = russian_relatedness_systems()
    >>> list(systems.columns), len(systems["HJ"])
    (['HJ', 'RT', 'AE'], 8)
    >>> round(weighted_tau(systems["HJ"], systems["RT"]), 4)
    0.5102
    """

    name: str
    description: str
    source: str
    columns: Mapping[str, dict[str, float]]

    def __getitem__(self, benchmark: str) -> dict[str, float]:
        return self.columns[benchmark]

    def __repr__(self) -> str:
        n_systems = len(next(iter(self.columns.values())))
        return f"Dataset({self.name}: {n_systems} systems on {', '.join(self.columns)})"


def russian_relatedness_systems() -> Dataset:
    """Eight systems for Russian semantic relatedness on three benchmarks.

    The benchmarks are human judgements of word pairs (HJ, Spearman's rho), relations of a thesaurus (RT,
    average precision) and cognitive associations (AE, average precision). The two best systems are tied on
    AE. The first four are models of the Russian Distributional Thesaurus, the others are the best of the
    RUSSE shared task.

    Returns
    -------
    Dataset
        With the columns ``"HJ"``, ``"RT"`` and ``"AE"``, each a new dict of system to score.

    See Also
    --------
    Dataset : The type of the result.
    rankcorr.correlation_matrix : Compare the benchmarks with each other.

    Examples
    --------
    >>> from rankcorr.datasets import russian_relatedness_systems
    >>> systems = russian_relatedness_systems()
    >>> systems
    Dataset(russian_relatedness_systems: 8 systems on HJ, RT, AE)
    >>> systems["HJ"]["5-rt-3"]
    0.763
    """
    text = (files(__name__) / "russian_relatedness_systems.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    columns = {benchmark: {row["system"]: float(row[benchmark]) for row in rows} for benchmark in ("HJ", "RT", "AE")}
    return Dataset(
        name="russian_relatedness_systems",
        description=(
            "Eight systems for Russian semantic relatedness: Spearman's rho with human judgements (HJ) and "
            "average precision on relations of a thesaurus (RT) and on cognitive associations (AE)."
        ),
        source=(
            "Alexander Panchenko, Dmitry Ustalov, Nikolay Arefyev, Denis Paperno, Natalia Konstantinova, "
            "Natalia Loukachevitch, Chris Biemann: Human and Machine Judgements for Russian Semantic "
            "Relatedness. 2017. arXiv:1708.09702, Table 4."
        ),
        columns=MappingProxyType(columns),
    )
