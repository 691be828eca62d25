"""Small data sets for examples and tests: one published table, and synthetic files that say so."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType

__all__ = ["DataFiles", "Dataset", "load_battles", "load_model_scores", "load_search_runs", "load_system_scores"]
__all__ += ["load_target_groups", "load_word_similarity", "russian_relatedness_systems"]

SYNTHETIC = "synthetic: made by a random generator (benchmarks/synthetic_data.py in the repository)"
FREE = "CC0 1.0"


@dataclass(frozen=True)
class Dataset:
    """A table of scores, larger is better: systems on several benchmarks, or items by several systems.

    Attributes
    ----------
    name : str
    description : str
    source : str
        Full citation of the publication that the numbers come from, or how they were made.
    columns : mapping of str to dict
        For each column, such as a benchmark, the score by label. ``dataset[column]`` is short for
        ``dataset.columns[column]``.
    licence : str
        Terms of use.

    See Also
    --------
    russian_relatedness_systems, load_model_scores, load_system_scores : Return one.
    DataFiles : The files of other data sets.

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
    licence: str

    def __getitem__(self, column: str) -> dict[str, float]:
        return self.columns[column]

    def __repr__(self) -> str:
        n_rows = len(next(iter(self.columns.values())))
        return f"Dataset({self.name}: {n_rows} rows, {', '.join(self.columns)})"

    def rows(self) -> dict[str, dict[str, float]]:
        """Return the scores by row: for each label, a new dict of column to score."""
        labels = next(iter(self.columns.values()))
        return {label: {name: column[label] for name, column in self.columns.items()} for label in labels}


@dataclass(frozen=True)
class DataFiles:
    """Files of a data set, for the functions and the commands that read files.

    Attributes
    ----------
    name : str
    description : str
    source : str
        How the files were made.
    paths : mapping of str to Path
        The files by name. ``data[name]`` is short for ``data.paths[name]``.
    licence : str
        Terms of use.

    See Also
    --------
    load_search_runs, load_word_similarity, load_battles, load_target_groups : Return them.
    Dataset : A table of scores.

    Examples
    --------
    >>> from rankcorr.datasets import load_search_runs
    >>> data = load_search_runs()
    >>> data["qrels"].name, data.licence
    ('qrels.txt', 'CC0 1.0')
    """

    name: str
    description: str
    source: str
    paths: Mapping[str, Path]
    licence: str

    def __getitem__(self, name: str) -> Path:
        return self.paths[name]

    def __repr__(self) -> str:
        return f"DataFiles({self.name}: {', '.join(self.paths)})"


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
    Dataset(russian_relatedness_systems: 8 rows, HJ, RT, AE)
    >>> systems["HJ"]["5-rt-3"]
    0.763
    """
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
        columns=_columns("russian_relatedness_systems.csv"),
        licence="numbers of a published table; cite the source",
    )


def load_model_scores() -> Dataset:
    """Load synthetic scores of 20 models on 12 tasks: reading, reasoning and code, four tasks each.

    Returns
    -------
    Dataset
        A column for each task; scores from 0 to 100. `Dataset.rows` has the scores of each model.

    See Also
    --------
    rankcorr.evaluation.leaderboard_of_scores : Rank the models.

    Examples
    --------
    >>> from rankcorr.datasets import load_model_scores
    >>> models = load_model_scores().rows()
    >>> len(models), models["elm-70b"]["code 1"]
    (20, 91.5)
    """
    return Dataset(
        name="model_scores",
        description="20 models on 12 tasks: reading 1-4, reasoning 1-4, code 1-4; larger is better.",
        source=SYNTHETIC,
        columns=_columns("synthetic/models.csv"),
        licence=FREE,
    )


def load_system_scores() -> Dataset:
    """Load synthetic gold scores of 100 items, and the scores of the same items by six systems.

    Five systems see gold with more or less noise, which they share in part. The last, ``"unrelated"``, is random.

    Returns
    -------
    Dataset
        The columns ``"gold"``, ``"large"``, ``"medium"``, ``"small"``, ``"counts"``, ``"old counts"`` and
        ``"unrelated"``.

    See Also
    --------
    rankcorr.leaderboard : Rank the systems.

    Examples
    --------
    >>> from rankcorr import leaderboard
    >>> from rankcorr.datasets import load_system_scores
    >>> systems = dict(load_system_scores().columns)
    >>> board = leaderboard(systems.pop("gold"), systems)
    >>> board.rows[0].system, round(board.rows[0].total.statistic, 3)
    ('large', 0.695)
    """
    return Dataset(
        name="system_scores",
        description="Gold scores of 100 items, and the scores of the same items by six systems.",
        source=SYNTHETIC,
        columns=_columns("synthetic/systems.csv"),
        licence=FREE,
    )


def load_search_runs() -> DataFiles:
    """Load a synthetic search collection: relevance judgements of 60 queries, and three runs.

    Each query has 30 documents, of which 85 % are judged, from 0 to 3. Each run retrieves 20 of them. ``"tuned"`` is a
    small change to ``"bm25"``, and ``"dense"`` is a different engine. The names stand for no real engines.

    Returns
    -------
    DataFiles
        The files ``"qrels"``, ``"bm25"``, ``"tuned"`` and ``"dense"``, in TREC's format.

    See Also
    --------
    rankcorr.evaluation.evaluate, rankcorr.evaluation.compare_runs : Take these files.

    Examples
    --------
    >>> from rankcorr.datasets import load_search_runs
    >>> from rankcorr.evaluation import compare_runs
    >>> data = load_search_runs()
    >>> compare_runs(data["qrels"], [data["bm25"], data["dense"]], metric="ndcg@10")
    <RunComparison of 2 runs over 60 queries, ndcg@10: dense 0.8049, bm25 0.6956>
    """
    return _data_files(
        "search_runs",
        "Relevance of 30 documents for each of 60 queries, and three runs of 20 documents a query.",
        {"qrels": "qrels.txt", "bm25": "bm25.run", "tuned": "tuned.run", "dense": "dense.run"},
    )


def load_word_similarity() -> DataFiles:
    """Load two synthetic sets of scored pairs of words, and three sets of vectors of these words.

    The 128 words are of eight kinds, such as animals, and of eight themes, such as the farm. ``"similarity"`` has 350
    pairs, and high scores for words of one kind. ``"relatedness"`` has 150 pairs, and high scores also for words of one
    theme. The vectors have 20 numbers each: the same hidden meanings, with much noise in ``"small"`` and little in
    ``"large"``. ``"small"`` lacks six words. Nobody rated these pairs, and the vectors come from no text.

    Returns
    -------
    DataFiles
        The files ``"similarity"``, ``"relatedness"``, ``"small"``, ``"medium"`` and ``"large"``.

    See Also
    --------
    rankcorr.vectors.evaluate_vectors : Takes these files.

    Examples
    --------
    >>> from rankcorr.datasets import load_word_similarity
    >>> from rankcorr.vectors import evaluate_vectors
    >>> data = load_word_similarity()
    >>> evaluate_vectors(data["large"], data["similarity"], coefficients=["rho"])
    <VectorEvaluation of 350 of 350 pairs: rho 0.8388>
    """
    names = ("similarity.csv", "relatedness.csv", "small.txt", "medium.txt", "large.txt")
    return _data_files(
        "word_similarity",
        "Scores of 350 and of 150 pairs of 128 words, and three sets of vectors with 20 numbers a word.",
        {name.partition(".")[0]: name for name in names},
    )


def load_battles() -> DataFiles:
    """Load 1,800 synthetic votes on pairs of eight models, as an arena of language models records them.

    There are 150 prompts with four pairs each. One of twelve people answers each pair, and a program answers it from
    both sides. The program prefers the left side, and longer answers. From best to worst, the models are gnu, yak,
    ibex, emu, cow, hen, ant and eel.

    Returns
    -------
    DataFiles
        The file ``"battles"``, with the columns question_id, model_a, model_b, winner, judge, tokens_a and tokens_b.

    See Also
    --------
    adaptive.read_choices, adaptive.read_comparisons : Read the votes.

    Examples
    --------
    >>> from rankcorr.datasets import load_battles
    >>> load_battles()["battles"].read_text().splitlines()[1]
    '1,emu,ant,model_b,program,302,231'
    """
    return _data_files(
        "battles", "1,800 votes on pairs of eight models, by twelve people and a program.", {"battles": "battles.csv"}
    )


def load_target_groups() -> DataFiles:
    """Load 16 target words with candidates of three categories, and synthetic answers of twelve annotators.

    The relation is that of a word to its hypernyms: a singer is a musician, and a musician is a person. The last
    annotator answers at random.

    Returns
    -------
    DataFiles
        The files ``"groups"``, which `rankcorr.vectors.read_target_groups` reads, ``"candidates"``, with the columns
        target, candidate and category, ``"annotations"``, with the columns annotator, target, better and worse, and
        ``"vectors"``, word vectors with wider words farther from their target.

    See Also
    --------
    rankcorr.vectors.reliability_score : Score a model.

    Examples
    --------
    >>> from rankcorr.datasets import load_target_groups
    >>> from rankcorr.vectors import read_target_groups
    >>> read_target_groups(load_target_groups()["groups"])
    <TargetGroups of 16 targets, 97 candidates, 51 comparisons>
    """
    return _data_files(
        "target_groups",
        "16 target words with their candidates, the answers of twelve annotators, and word vectors.",
        {
            "groups": "target_groups.csv",
            "candidates": "candidates.csv",
            "annotations": "annotations.csv",
            "vectors": "hypernyms.txt",
        },
    )


def _columns(file: str) -> Mapping[str, dict[str, float]]:
    """Columns of a table whose first column has the labels."""
    header, *rows = csv.reader((files(__name__) / file).read_text(encoding="utf-8").splitlines())
    return MappingProxyType(
        {name: {row[0]: float(row[place]) for row in rows} for place, name in enumerate(header) if place}
    )


def _data_files(name: str, description: str, names: dict[str, str]) -> DataFiles:
    folder = Path(str(files(__name__))) / "synthetic"
    paths = MappingProxyType({key: folder / file for key, file in names.items()})
    return DataFiles(name, description, SYNTHETIC, paths, FREE)
