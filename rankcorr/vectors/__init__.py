"""Word vectors scored on word similarity and on the relata of words.

- vectors from files of word2vec, GloVe and gensim, all or only the words needed: `read_vectors`, `WordVectors`
- gold scores of pairs of words: `read_pairs`, or any mapping of (word, word) to score
- cosines against gold scores, with chance levels and intervals: `evaluate_vectors`
- several sets of vectors on the pairs that all of them have: `common_pairs`, and then `rankcorr.compare_many`
- the relata of each word ranked by cosine, evaluated by query: `evaluate_relata`, `relata_by_relation`
- target groups, whose decisions count by how sure their annotators are: `TargetGroups`, `read_target_groups`,
  `reliability_score`,
  `compare_reliability`
- words that are among the neighbours of too many others: `hubness`
- errors: all are subclasses of `rankcorr.RankingError`

>>> from rankcorr.vectors import evaluate_vectors
>>> vectors = {"cat": [1.0, 0.1], "dog": [0.9, 0.3], "car": [0.1, 1.0], "van": [0.2, 0.9]}
>>> gold = {("cat", "dog"): 8.0, ("car", "van"): 9.0, ("cat", "car"): 2.0, ("dog", "bus"): 1.0}
>>> evaluation = evaluate_vectors(vectors, gold, coefficients=["rho"])
>>> evaluation.n_compared, evaluation.oov_words, evaluation.statistic("rho")
(3, ('bus',), 1.0)
"""

from rankcorr.errors import LowCoverageWarning, SelfPairWarning
from rankcorr.vectors._pairs import VectorCoefficient, VectorEvaluation, common_pairs, evaluate_vectors, read_pairs
from rankcorr.vectors._reading import read_vectors
from rankcorr.vectors._relata import Hubness, RelataEvaluation, evaluate_relata, hubness, relata_by_relation
from rankcorr.vectors._reliability import (
    ReliabilityDifference,
    ReliabilityPart,
    ReliabilityScore,
    compare_reliability,
    reliability_score,
)
from rankcorr.vectors._target_groups import TargetGroupError, TargetGroups, read_candidates, read_target_groups
from rankcorr.vectors._words import (
    DuplicatePairError,
    DuplicateWordError,
    MissingGensimError,
    UnknownWordError,
    VectorError,
    VectorFileError,
    VectorValueError,
    WordVectors,
)

__all__ = ["LowCoverageWarning", "SelfPairWarning", "common_pairs"]
__all__ += ["VectorCoefficient", "VectorEvaluation", "evaluate_vectors", "read_pairs", "read_vectors"]
__all__ += ["Hubness", "RelataEvaluation", "evaluate_relata", "hubness", "relata_by_relation"]
__all__ += ["ReliabilityDifference", "ReliabilityPart", "ReliabilityScore", "TargetGroupError", "TargetGroups"]
__all__ += ["compare_reliability", "read_candidates", "read_target_groups", "reliability_score"]
__all__ += ["DuplicatePairError", "DuplicateWordError", "MissingGensimError", "UnknownWordError", "VectorError"]
__all__ += ["VectorFileError", "VectorValueError", "WordVectors"]
