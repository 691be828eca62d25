"""Describe the service in OpenAPI: the head of the document, and components that its operations share."""

from __future__ import annotations

from typing import Final

from rankcorr import __version__
from service.http.problems import LIBRARY_KINDS, STATUSES
from service.openapi.specification import problem_component
from service.schemas.ballot_fields import FORM, VOTED_BALLOT
from service.schemas.ballots import VOTER_COMPARISONS
from service.schemas.evaluations import (
    COMPARISON_OF_RUNS,
    COVERAGE,
    MEAN,
    NUMBERS_BY_QUERY,
    PAIRED,
    RELEVANCE_COLUMNS,
    SCORE_COLUMNS,
)
from service.schemas.fields import VOCABULARIES
from service.schemas.inference import SCORE
from service.schemas.pairings import PAIR, TOKEN
from service.schemas.ranking_fields import RANKING, WAYS_TO_GIVE
from service.schemas.scores import NEXT_BALLOT, SCORED_BALLOT
from service.schemas.simulations import SIMULATED_APPROACH, SIMULATED_COEFFICIENT
from service.schemas.strengths import (
    COMPARISON,
    COMPARISON_COLUMNS,
    FITTED_PARAMETERS,
    FITTED_VOTER,
    ITEM_STRENGTH,
    NEXT_COMPARISONS,
)

_KINDS: Final = (
    ", ".join(kind for kind, _ in STATUSES.values())
    + ", duplicate-key, too-much-work, malformed-request, stopping, or the class of an error of the libraries: "
    + ", ".join(LIBRARY_KINDS)
)

COMPONENTS: Final = (
    problem_component(_KINDS),
    *VOCABULARIES,
    *WAYS_TO_GIVE,
    RANKING,
    SCORE,
    *(NUMBERS_BY_QUERY, RELEVANCE_COLUMNS, SCORE_COLUMNS, MEAN, COVERAGE, PAIRED, COMPARISON_OF_RUNS),
    *(TOKEN, PAIR),
    *(VOTER_COMPARISONS, FORM, VOTED_BALLOT, SCORED_BALLOT, NEXT_BALLOT),
    *(SIMULATED_COEFFICIENT, SIMULATED_APPROACH),
    *(COMPARISON_COLUMNS, COMPARISON, NEXT_COMPARISONS),
    *(ITEM_STRENGTH, FITTED_VOTER, FITTED_PARAMETERS),
)

CONFIGURATION: Final = {
    "API_TITLE": "rankcorr",
    "API_VERSION": "v1",
    "OPENAPI_VERSION": "3.1.0",
    "OPENAPI_URL_PREFIX": "/",
    "OPENAPI_JSON_PATH": "openapi.json",
    "API_SPEC_OPTIONS": {
        "info": {
            "description": (
                "Tie-aware, top-weighted rank correlation, and the ballots that collect gold rankings. The service "
                "keeps nothing: the same request has the same answer on every copy. Every error is "
                "application/problem+json."
            ),
            "license": {"name": "BSD-3-Clause", "identifier": "BSD-3-Clause"},
            "x-library-version": __version__,
        }
    },
}
