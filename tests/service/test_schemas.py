"""Requests that fit their documented schema are not refused for their shape."""

import json
import os
import re

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from service import Limits, Settings, create_app
from tests.service.answers import POST_PATHS, make_validator, post, problem_of

# Limits that keep the work of a request short; those of the schema are unchanged.
SHORT_LIMITS = {
    "max_simulated_votes": 20_000,
    "max_opinions": 10_000,
    "max_resampled_values": 20_000,
    "max_comparisons": 5_000,
}
APP = create_app(Settings(limits=Limits(**SHORT_LIMITS)))


# Refusals that no JSON Schema can express, such as contradictions between fields
BEYOND_SCHEMAS = re.compile(
    "|".join(
        (
            # fields that exclude or need another
            r"give n0 or weigher, not both|exactly one of .* is needed; got",
            r"this field is needed: (seed and sample|sample and seed|the budget is of)",
            r"a comparison needs two runs|can be compared only if they are requested",
            r"k is an option of reciprocal_rank_fusion",
            r"either all comparisons have|/comparisons/\d+/\w+: this field is needed|voters can be fitted only if",
            r"does not have this option|has no frequency, while others",
            r".(cluster|swapped|side_bias). cannot be used with .powered_by.",
            # too few or too many different rows and items
            r"there is no row: a query, a document|a ranking needs at least two items",
            r"oversight: must be a number: 0, or of at least",
            r"must be all text or all whole numbers; got both",
            # two lists that must match
            r"every item needs one label; got \d+ labels? for",
            r"\d+ (winner|vote)s? needs? as many (entries here|items on each side); got",
            r"columns must have the same length|may appear only once in a query; repeated",
            r"rankings without labels must have the same length",
            r"the plan (is for|has) \d+ items; got",
            r"the plan has \d+ ballots; got",
            # labels and the objects that they name
            r"labels must be unique; more than once",
            r"gold has labels that the system lacks|labels of system|labels? .* only|has labels that .* lacks",
            r"several gold sets need labels",
            r"has labels and .* has none, so their items cannot be matched",
            r"must have at least two labels in common",
            r"is not one of the \d+ items",
            r"is compared with itself|write all labels of a source in one way",
            r"must have at least 2 items, or there must be a list of items",
            r"there is no (run|model) of this name|needs the name of a (task|system)",  # a name of spaces
            r"among its own candidates|needs two positive candidates|annotators compare positive candidates",
            r"is not a target|has two (groups|shares)|have two shares",
            r"none of the \d+ pairs? of target and candidate has a similarity|without a similarity",
            r"every query of qrels needs a group; without one",
            r"every retrieved document needs a judgement; without one",
            r"by must be one of 'sum', 'mean'",
            r"share no query|lacks queries of other runs|no two of them|are whole numbers, such as",
            r"is in area .* already|share two areas|has two frequencies",
            r"has one token, .*; a pair needs two|pairs need two tokens",
            r"unranked must name systems; unknown|is not in the draw|was not drawn|no comparison of",
            # kinds of answers, and items in one answer
            r"occurs twice in one answer|is both the best and the worst|must be one of .*; got",
            r"must (have|show) two items or more",
            r"an item must be text or a whole number|a label is text, a whole number",
            r"fit several kinds|a key .* which other|no key|is missing, but other rows|no grade prefers a side",
            r"no grade is (above|below) 0",
            r"all choices are in one cluster",
            r"fewer than|a fit needs two items and a choice|without a prior some strengths are infinite",
            r"no columns left_|need the (voter|prompt) of each answer|only pairs have sides|covariates apply to",
            r"answers must be votes on pairs|no voter is called|the voters are not known|no pair and prompt in common",
            r"have the weights|is text in one row|got the columns .*; expected|may count votes|how much an item",
            r"graded votes need a column|best-worst answers need a column|outcomes|a ranking has an empty item",
            # systems and tasks of a table of scores
            r"no scores? of|every system needs a score on every task|a leaderboard needs at least two",
            r"at least two tasks in common|lower_is_better names tasks|equivalent_within needs a level above",
            r"names of (task|system)s must differ as text|reliability needs votes|every comparison needs a prompt",
            r"voters times prompts must be at most|a group must not have the name",
            r"every (task|item|query) needs a (group|cluster)|columns that look like totals",
            # rankings to merge, and estimates with their errors
            r"lacks items of other rankings|some rankings have labels|must name the merged rankings|not all 0",
            r"their rows differ in length",
            r"must have at least two items in common|differ only in their types|difference must be larger",
            r"estimates and standard errors must have the same names|covariance matrix|or no test could tell two",
            # scores for tests that swap them, and grades for trec_eval
            r"needs the scores of all systems|swap",
            r"relevance must be",
            # numbers that must fit each other
            r"every ballot needs at least two items",
            r"a budget of .* (is too (small|large)|pays for (more than|not even one))",
            r"the plan has \d+ comparisons; got",
            r"a plan has at most \d+ comparisons",
            r"sample must be an integer from 1 to the number of pairs",
            r"n_resamples must be at least .* at level",
            r"must be the least, then the largest",
            r"pairs of areas that have a token in common \(RANKCORR_MAX_ITEMS\)",
            r"pairs of tokens; a sample takes fewer \(RANKCORR_MAX_ITEMS\)",
            r"comparisons of a ballot \(RANKCORR_MAX_COMPARISONS\)",
            r"opinions, voters times items \(RANKCORR_MAX_OPINIONS\)",
            r"votes of all simulations \(RANKCORR_MAX_SIMULATED_VOTES\)",
            r"\(RANKCORR_MAX_(LABEL_BYTES|RESAMPLED_VALUES|QUERY_VALUES|WORK_BYTES|SECONDS|BODY_BYTES)\)",
            # results of computations
            r"all weights are zero|all answers are ties",
            r"every (item|query) .* undefined|no query|(tie|tied|documents); queries: ",
            # numbers that a double cannot hold, and texts that are not UTF-8
            r"cannot be held exactly",
            r"is too small: the least above 0",
            r"the body is not JSON: (surrogates|.*surrogate|str is not valid UTF-8|number out of range)",
        )
    ),
    re.DOTALL,
)


def refusals(path, body):
    """Messages of a refusal that the schema could have expressed."""
    answer = APP.test_client().post(path, data=json.dumps(body), content_type="application/json")
    if answer.status_code == 200:
        return []
    assert answer.status_code < 500, answer.json
    errors = answer.json.get("errors") or {"": [answer.json["detail"]]}
    result = [f"{pointer}: {message}" for pointer, messages in errors.items() for message in messages]
    return [message for message in result if not BEYOND_SCHEMAS.search(message)]


@pytest.fixture(scope="module")
def schema():
    import schemathesis

    return schemathesis.openapi.from_wsgi("/openapi.json", APP)


@pytest.mark.wide
@pytest.mark.parametrize("path", POST_PATHS)
def test_requests_that_fit_the_schema_are_not_refused_for_their_shape(path, schema):
    from schemathesis.generation import GenerationMode

    @settings(
        max_examples=100 if os.environ.get("HYPOTHESIS_PROFILE") == "ci" else 15,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(schema[path]["POST"].as_strategy(generation_mode=GenerationMode.POSITIVE))
    def check(case):
        assert not refusals(path, case.body), case.body

    check()


PAIR = {"gold": {"scores": [3, 2, 1]}, "system": {"scores": [1, 2, 3]}}
SCORES = {"scores": [3, 2, 1]}
ROW = {"left": "a", "right": "b", "winner": "left"}
QUERIES = {"q": {"a": 1, "b": 2}}
PLAN = {"n_items": 200_001, "n_ballots": 2, "fraction": 0.5, "presentations": 2}
# Refused by the service, but formerly accepted by its schema
MISFITS = [
    ("/v1/correlations", PAIR | {"inference": {"seed": 1, "n_resamples": 100_001}}),
    ("/v1/correlations", PAIR | {"gold": {"order": ["a", "a"]}}),
    ("/v1/correlations", PAIR | {"gold": {"order": [["a", "a"], "b"]}}),
    ("/v1/correlations", PAIR | {"gold": {"scores": [1, 2], "labels": [2**64, 1]}}),
    ("/v1/correlations/batch", {"gold": SCORES, "systems": dict.fromkeys(map(str, range(1_001)), SCORES)}),
    ("/v1/correlations/matrix", {"rankings": dict.fromkeys(map(str, range(101)), SCORES)}),
    ("/v1/evaluations", {"qrels": {"": {"a": 1}}, "runs": {"x": QUERIES}}),
    ("/v1/plans", {"n_items": 200_001, "presentations": 2}),
    ("/v1/ballots", {"items": 4, "presentations": 2, "voters": 500_001, "seed": 1}),
    ("/v1/ballots", {"items": 200_001, "presentations": 2, "voters": 5, "seed": 1}),
    # led to divisions by 0
    ("/v1/comparisons/next", {"comparisons": [ROW], "size": 2, "seed": 1, "n0": 1e300}),
    ("/v1/comparisons/next", {"comparisons": [ROW], "size": 500_001, "seed": 1}),
    ("/v1/simulations", {"plan": PLAN, "similarity": "exponential", "n_simulations": 1, "seed": 1}),
]


@pytest.mark.parametrize(("path", "request_"), MISFITS)
def test_refused_requests_do_not_fit_the_schema(path, request_):
    answer = APP.test_client().post(path, data=json.dumps(request_), content_type="application/json")
    problem_of(answer)
    assert not make_validator(path, "request").is_valid(request_)


def test_whole_numbers_with_decimals_are_labels():
    """In JSON Schema, 2.0 is a whole number."""
    result = post(
        "/v1/correlations", gold={"order": [1.0, [2.0, 3]]}, system={"scores": [1, 2, 3], "labels": [1, 2.0, 3]}
    )
    assert result.json["n_items"] == 3
    votes = [{"left": 1.0, "right": 2, "winner": "left", "voter": 7.0}]
    assert [row["item"] for row in post("/v1/strengths", comparisons=votes).json["items"]] == [1, 2]
    problem_of(post("/v1/correlations", gold={"order": [1.5, 2]}, system={"order": [1.5, 2]}))
