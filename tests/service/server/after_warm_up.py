"""Run by test_warm_up.py in a new process: warm up, use everything, and print kernels that were compiled late."""

import contextlib
import io
import itertools
import json
import sys
import tempfile
from pathlib import Path

from numba.core.dispatcher import Dispatcher

from adaptive._plan import plan_ballots
from adaptive.ledger import ContinuousPlan, Ledger
from adaptive.ledger._ballots.batches import draw_batch
from adaptive.ledger._closing import close_batches
from rankcorr.evaluation._metrics import METRIC_NAMES
from service import create_app
from service.server.warm_up import warm_up, warm_up_campaigns
from tests.adaptive.ledger.campaigns import campaign_of, comparisons_of, vote

NAMES = list("abcde")
SCORES = (
    [4, 3, 2, 1, 0],
    [0.4, 0.1, 0.1, 0.3, 0.2],
    [2, 2, 1, 3, 3],
    [1e300, 2, 3, 4, 5],
    [2**60, 1, 2, 2, 2**60 + 1],
    [1, 1, 1, 1, 1],
)
OPTIONS = [
    {"scheme": scheme, "tied_weights": tied_weights, "variant": variant}
    for scheme in ("additive", "multiplicative", "first", "second")
    for tied_weights in ("midrank", "expected")
    for variant in "ab"
]
WEIGHTS = ({}, {"n0": 1}, {"n0": 0.5}, {"weigher": "uniform"}, {"weigher": "top-k:3"}, {"weigher": "logarithmic"})


def signatures_by_kernel() -> dict[str, list[str]]:
    """Compiled types of each kernel."""
    return {
        f"{name}.{key}": list(map(str, value.signatures))
        for name, module in list(sys.modules.items())
        if name.startswith(("rankcorr", "adaptive", "service"))
        for key, value in vars(module).items()
        if isinstance(value, Dispatcher)
    }


def comparisons():
    plain = [{way: numbers} for way in ("scores", "ranks") for numbers in SCORES]
    labelled = [{"order": ["a", ["c", "b"], "e", "d"]}, {"order": NAMES}]
    labelled += [{"scores": dict(zip(reversed(NAMES), numbers, strict=True))} for numbers in SCORES]
    labelled += [{"ranks": numbers, "labels": NAMES} for numbers in SCORES]
    for group in (plain, labelled):
        for number, (gold, system) in enumerate(itertools.product(group, repeat=2)):
            options = OPTIONS[number % len(OPTIONS)] | WEIGHTS[number % len(WEIGHTS)]
            yield "/v1/correlations", {"gold": gold, "system": system, "worst": 2, **options}
        named = {str(number): ranking for number, ranking in enumerate(group)}
        for options in OPTIONS:
            yield "/v1/correlations/batch", {"gold": group[0], "systems": named, **options}
            yield "/v1/correlations/matrix", {"rankings": named, "coefficient": "tau_w", **options}


def inferences():
    scores = {label: place for place, label in enumerate("abcdefghijkl")}
    tied = {label: place // 3 for label, place in scores.items()}
    few = {label: scores[label] for label in "abcde"}
    pairs = ((few, few), (scores, tied), (tied, scores))
    for (gold, system), method, alternative in itertools.product(
        pairs, ("envelope", "percentile"), ("two-sided", "greater", "less")
    ):
        inference = {"n_resamples": 50, "seed": 1, "method": method, "alternative": alternative}
        for options in OPTIONS[::3]:
            document = {"gold": {"scores": gold}, "system": {"ranks": system}, "inference": inference, **options}
            yield "/v1/correlations", document
    named = {"first": {"scores": scores}, "second": {"ranks": tied}, "third": {"ranks": scores}}
    scored = {"first": {"scores": scores}, "second": {"scores": tied}}
    for options, coefficient in itertools.product(OPTIONS[::3], ("rho_w", "tau_w", "rho", "tau")):
        board = {"systems": named, "coefficient": coefficient, "n_resamples": 50, "seed": 1, **options}
        yield "/v1/leaderboards", {"gold": {"scores": tied}, **board}
        yield "/v1/leaderboards", {"gold_sets": named, **board}
        yield "/v1/leaderboards", {"gold": {"scores": tied}, **board, "systems": scored, "swap": "scores"}


def ballots():
    for n_items, presentations, n_voters in itertools.product((2, 3, 4, 7, 12, 40), (1, 2, 3, 5, 8, 20), (1, 3)):
        yield "/v1/ballots", {"items": n_items, "presentations": presentations, "voters": n_voters, "seed": 1}
    plan = {"n_items": 30, "n_ballots": 3, "fraction": 0.5, "presentations": 5}
    for relatedness in (True, False):
        simulation = {"plan": plan, "similarity": "power_law", "n_simulations": 3, "seed": 2}
        yield "/v1/simulations", {**simulation, "relatedness": relatedness}


def votes():
    """Fit few and many items (with drawn standard errors), with and without voters, each model and option."""
    for n_items, with_voters in itertools.product((3, 1_600), (True, False)):
        numbers = range(12)
        columns = {
            "left": [number % n_items for number in numbers],
            "right": [(number * 7 + 1) % n_items for number in numbers],
            "winner": [("left", "tie", "right", None)[number % 4] for number in numbers],
        }
        places = [number for number in numbers if columns["left"][number] != columns["right"][number]]
        columns = {name: [column[number] for number in places] for name, column in columns.items()}
        if with_voters:
            columns["voter"] = [f"voter {number % 3}" for number in places]
        large = {"side_bias": True, "prior": 1, "voters": with_voters}  # each fit of many items takes seconds
        small = ({}, {"side_bias": True}, {"prior": 1, "voters": with_voters})
        for model, options in itertools.product(("bradley-terry", "thurstone"), small if n_items == 3 else (large,)):
            request = {"comparisons": columns, "items": n_items, "model": model, "options": options}
            yield "/v1/strengths", request
            yield "/v1/comparisons/next", {**request, "size": 4, "seed": 1}
        if n_items == 3 or with_voters:
            yield "/v1/strengths", {"comparisons": columns, "items": n_items, "options": {"ties": "half"}}


def evaluations():
    """Evaluate runs by query with options that use different kernels."""
    queries = [f"q{number}" for number in range(14)]
    qrels = {query: {name: place * len(query) % 3 for place, name in enumerate("abcdefghijkl")} for query in queries}
    runs = {
        run: {query: {name: place * step % 7 for place, name in enumerate("lkjihgfedz")} for query in queries}
        for run, step in (("x", 2), ("y", 3), ("z", 5))
    }
    metrics = [name.replace("@K", "@5") for name in METRIC_NAMES]
    request = {"qrels": qrels, "runs": runs, "metrics": metrics}
    drawing = {"seed": 1, "n_resamples": 50}
    for options, policy in itertools.product(
        OPTIONS[::4], ({}, {"depth": 5}, {"unjudged": "omit", "unretrieved": "omit"})
    ):
        yield "/v1/evaluations", {**request, **options, **policy, "standardized": drawing}
    long = {"long": {f"d{number}": number % 5 for number in range(300)}}
    for options in OPTIONS[::4]:
        document = {"qrels": long, "runs": {"x": long}, "metrics": metrics[:4], "standardized": drawing, **options}
        yield "/v1/evaluations", document
    for test in ("randomization", "t"):
        comparison = {**drawing, "test": test, "groups": {query: query[-1] for query in queries}}
        yield "/v1/evaluations", {**request, "comparison": comparison}


def send_requests() -> dict:
    client = create_app().test_client()
    warm_up()
    before = signatures_by_kernel()
    paths = client.get("/openapi.json").json["paths"]
    examples = {
        path: next(iter(operations["post"]["requestBody"]["content"].values()))["example"]
        for path, operations in paths.items()
        if "post" in operations
    }
    statuses: dict[str, list[int]] = {}
    requests = itertools.chain(examples.items(), comparisons(), inferences(), ballots(), votes(), evaluations())
    for path, document in requests:
        answer = client.post(path, json=document)
        statuses.setdefault(path, []).append(answer.status_code)
    after = signatures_by_kernel()
    return {
        "kernels": {name: len(types) for name, types in before.items() if types},
        "late": {name: types for name, types in after.items() if types != before.get(name, [])},
        "examples": {path: result[0] for path, result in statuses.items()},
        "answered": {path: result.count(200) for path, result in statuses.items()},
        "others": sorted(set().union(*statuses.values()) - {200}),
    }


PLANS = tuple(
    plan_ballots(n_items, n_ballots=n_ballots, fraction=fraction, presentations=presentations)
    for n_items, n_ballots, fraction, presentations in ((12, 2, 0.5, 3), (40, 3, 0.3, 8))
)


def answer(campaign, number, most=1_000):
    """Cast votes of every kind by the voters who hold the comparisons."""
    answers = itertools.cycle(("left", "left", "tie", "right", "left", "cannot say", "left", "left", "right", "left"))
    for place, _, voter in comparisons_of(campaign, number)[:most]:
        campaign.cast(vote(voter, place, next(answers), number=number))


def read_reports(campaign, n_seen):
    """Read the reports for organisers."""
    campaign.result(interim=True)
    quality = campaign.quality()
    voter = comparisons_of(campaign)[0][2]
    campaign.voter(voter).preview_exclusion()
    return n_seen + len(quality.voters)


def run_campaigns() -> dict:
    warm_up_campaigns()
    before = signatures_by_kernel()
    n_seen = n_closed = 0
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger.create(Path(folder, "votes.db"))
        for plan in PLANS:
            campaign = campaign_of(ledger, plan=plan, least_answered=0.5)
            for number in range(1, plan.n_ballots + 1):
                if number > 1:
                    campaign.open_next()
                answer(campaign, number)
                campaign.preview()
                campaign.close(number)
                n_closed += 1
            campaign.result()
            n_seen = read_reports(campaign, n_seen)
        # Enough items for drawn standard errors; closing a ballot of them would need a minute of votes.
        large = campaign_of(ledger, plan=plan_ballots(1_600, n_ballots=2, fraction=0.5, presentations=1))
        answer(large, 1, most=100)
        n_seen = read_reports(large, n_seen)
        continuous = ledger.new_campaign(ContinuousPlan(20, budget=60, batch=20), 20, 3, 1)
        for _ in range(3):
            answer(continuous, draw_batch(continuous, at_once=True))
        n_seen = read_reports(continuous, n_seen)
        close_batches(continuous, least_answered=0.0)
        ledger.close()
    after = signatures_by_kernel()
    late = {name: types for name, types in after.items() if types != before.get(name, [])}
    return {"n_closed": n_closed, "n_seen": n_seen, "late": late}


if __name__ == "__main__":  # the search for doctests imports this file
    with contextlib.redirect_stdout(io.StringIO()):  # log lines
        report = {"campaigns": run_campaigns, "requests": send_requests}[sys.argv[1]]()
    print(json.dumps(report))
