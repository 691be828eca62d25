"""Schemas that the OpenAPI document defines once, by name, and refers to wherever they are used.

A client that is generated from the document has one class for each, with this name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from adaptive.model.estimators import MODELS
from adaptive.model.vote_model import TIES
from adaptive.simulation.approaches import PAPER_APPROACHES
from adaptive.simulation.similarity import SIMILARITIES
from adaptive.votes import WORDS
from rankcorr.alignment import MISSING
from rankcorr.coefficients import COEFFICIENTS, VARIANTS
from rankcorr.evaluation.matching import UNJUDGED, UNRETRIEVED
from rankcorr.evaluation.query_tests import TESTS
from rankcorr.evaluation.values import UNDEFINED
from rankcorr.inference.bootstrap import METHODS
from rankcorr.inference.exchange import SWAPS
from rankcorr.inference.null import ALTERNATIVES
from rankcorr.weights import SCHEMES, TIED_WEIGHTS


@dataclass(frozen=True)
class Component:
    """A schema with a name.

    Examples
    --------
    >>> Component("Count", {"type": "integer"}).reference
    {'$ref': '#/components/schemas/Count'}
    """

    name: str
    schema: Mapping[str, Any]

    @property
    def reference(self) -> dict[str, str]:
        """What stands in its place in other schemas."""
        return {"$ref": f"#/components/schemas/{self.name}"}


class Vocabulary(Component):
    """A set of words, of which a field takes one or some."""

    @property
    def words(self) -> tuple[str, ...]:
        """The words, in the order of the document."""
        return tuple(self.schema["enum"])


def _vocabulary(name: str, words: Any, description: str) -> Vocabulary:
    return Vocabulary(name, {"type": "string", "enum": list(words), "description": description})


COEFFICIENT: Final = _vocabulary("Coefficient", COEFFICIENTS, "Top-weighted or plain, Spearman's or Kendall's.")
SCHEME: Final = _vocabulary("Scheme", SCHEMES, "How an item's weight follows from its two ranks.")
TIED_WEIGHT: Final = _vocabulary("TiedWeights", TIED_WEIGHTS, "Weight of tied items: at the mid-rank, or the mean.")
VARIANT: Final = _vocabulary("Variant", VARIANTS, "Denominator of tau_w and tau.")
MISSING_ITEMS: Final = _vocabulary("MissingItems", MISSING, "What becomes of items that one of two rankings lacks.")
INTERVAL_METHOD: Final = _vocabulary("IntervalMethod", METHODS, "Kind of interval.")
ALTERNATIVE: Final = _vocabulary("Alternative", ALTERNATIVES, "Of the p-value.")
SWAP: Final = _vocabulary("Swap", SWAPS, "What systems exchange in tests.")
APPROACH: Final = _vocabulary("Approach", PAPER_APPROACHES, "The plan, or one uniform ballot of equal cost.")
DISTRIBUTION: Final = _vocabulary("SimilarityDistribution", SIMILARITIES, "Underlying similarities by name.")
VOTE: Final = _vocabulary("Vote", WORDS, "The side that won, or a tie.")
MODEL: Final = _vocabulary(
    "VoteModel", [name for name, options in MODELS.items() if options], "Logistic or normal curve of a vote."
)
UNJUDGED_DOCUMENTS: Final = _vocabulary("Unjudged", UNJUDGED, "Retrieved without a judgement: of relevance 0, or not.")
UNRETRIEVED_DOCUMENTS: Final = _vocabulary("Unretrieved", UNRETRIEVED, "Judged and not retrieved: last, or left out.")
UNDEFINED_QUERIES: Final = _vocabulary("UndefinedQueries", UNDEFINED, "What a query counts without a value.")
QUERY_TEST: Final = _vocabulary("QueryTest", TESTS, "Paired test over queries.")
TIES_MODEL: Final = _vocabulary("TiesModel", TIES, "Ties have a parameter of their own, or are half a win each.")

VOCABULARIES: Final = (
    *(COEFFICIENT, SCHEME, TIED_WEIGHT, VARIANT, MISSING_ITEMS, INTERVAL_METHOD, ALTERNATIVE, SWAP),
    *(APPROACH, DISTRIBUTION, VOTE, MODEL, TIES_MODEL),
    *(UNJUDGED_DOCUMENTS, UNRETRIEVED_DOCUMENTS, UNDEFINED_QUERIES, QUERY_TEST),
)
