"""Print how the processor time of random requests compares with its estimate, and how many run out of time.

Each request has random options and sizes up to the limits of its operation. The number of resamples or simulations is
then scaled so that the estimate is a random value between ``--least`` and ``--most``, uniform on a logarithmic scale.
Processor time is that of the whole answer, in one process. Run it with
``.venv/bin/python benchmarks/work_estimates.py``; ``--least 10`` draws only requests near the limit. It checks nothing.
"""

import argparse
import contextlib
import io
import json
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
from report import heading, machine, row

from rankcorr._coefficients import COEFFICIENTS
from service import Limits, Settings, create_app
from service.api import work
from service.http.problems import Problem
from service.server.warm_up import warm_up

Rng = np.random.Generator
Document = dict[str, Any]


def encoded(document: object) -> bytes:
    return json.dumps(document).encode()


def between(rng: Rng, low: float, high: float) -> int:
    """Draw a whole number that is uniform on a logarithmic scale."""
    return round(np.exp(rng.uniform(np.log(low), np.log(high))))


def one_of(rng: Rng, *choices: Any) -> Any:
    return choices[rng.integers(len(choices))]


def some_of(rng: Rng, choices: Any) -> list[Any]:
    return [str(one) for one in rng.choice(list(choices), rng.integers(1, len(choices) + 1), replace=False)]


def labels(rng: Rng, n: int) -> list[Any] | None:
    width = one_of(rng, 0, 6, 12, 40)
    return None if width == 0 else [f"{place:0{width}d}" for place in range(n)]


def ranking(rng: Rng, n: int, names: list[Any] | None, kind: str = "") -> Document:
    kind = kind or one_of(rng, "numbers", "few numbers", "ranks", "order")
    names = names if names is None else [names[place] for place in rng.permutation(n)]
    if kind == "order" and names is not None:
        cut = between(rng, 1, n)
        return {"order": [names[:cut], *names[cut:]] if cut > 1 else names}
    values = rng.integers(1, 6, n).tolist() if kind == "few numbers" else rng.standard_normal(n).tolist()
    key = "ranks" if kind == "ranks" else "scores"
    if names is None:
        return {key: values}
    return {key: dict(zip(names, values, strict=True))} if rng.random() < 0.5 else {key: values, "labels": names}


def options(rng: Rng, names: list[Any] | None) -> Document:
    found: Document = {
        "scheme": one_of(rng, *words("Scheme")),
        "tied_weights": one_of(rng, *words("TiedWeights")),
        "variant": one_of(rng, *words("Variant")),
    }
    found |= one_of(rng, {}, {"n0": 10.0}, {"weigher": "logarithmic"}, {"weigher": "top-k:10"})
    return found if names is None else found | {"missing": one_of(rng, "raise", "bottom", "gold", "intersection")}


def words(name: str) -> list[str]:
    return DOCUMENT["components"]["schemas"][name]["enum"]


def correlation(rng: Rng) -> Document:
    n = between(rng, 2, 200_000)
    names = labels(rng, n)
    found = {"gold": ranking(rng, n, names), "system": ranking(rng, n, names), **options(rng, names)}
    found["coefficients"] = some_of(rng, COEFFICIENTS)
    if rng.random() < 0.3:
        found["worst"] = between(rng, 1, 1_000)
    if rng.random() < 0.8:
        found["inference"] = {
            "seed": int(rng.integers(2**31)),
            "n_resamples": between(rng, 1, 100_000),
            "method": one_of(rng, *words("IntervalMethod")),
        }
    return found


def batch(rng: Rng) -> Document:
    n, n_systems = between(rng, 2, 100_000), between(rng, 1, 1_000)
    n_systems = max(1, min(n_systems, 700_000 // n))
    names = labels(rng, n)
    kind = one_of(rng, "", "numbers", "few numbers")
    systems = {f"s{place}": ranking(rng, n, names, kind) for place in range(n_systems)}
    found = {"gold": ranking(rng, n, names), "systems": systems, **options(rng, names)}
    return found | {"coefficients": some_of(rng, COEFFICIENTS)}


def matrix(rng: Rng) -> Document:
    n, n_systems = between(rng, 2, 100_000), between(rng, 1, 100)
    n_systems = max(1, min(n_systems, 700_000 // n))
    names = labels(rng, n)
    kind = one_of(rng, "", "numbers", "few numbers")
    rankings = {f"s{place}": ranking(rng, n, names, kind) for place in range(n_systems)}
    return {"rankings": rankings, "coefficient": one_of(rng, *COEFFICIENTS), **options(rng, names)}


def leaderboard(rng: Rng) -> Document:
    n, n_systems, n_sets = between(rng, 2, 50_000), between(rng, 1, 200), one_of(rng, 1, 1, 2, 5)
    n_systems = max(1, min(n_systems, 300_000 // (n * n_sets) + 1))
    names = [f"i{place}" for place in range(n * n_sets)]
    sets = {f"g{k}": ranking(rng, n, names[k * n : (k + 1) * n], "numbers") for k in range(n_sets)}
    scored = rng.random() < 0.3
    kind = "numbers" if scored else one_of(rng, "numbers", "few numbers", "order")
    systems = {f"s{place}": ranking(rng, len(names), names, kind) for place in range(n_systems)}
    found = {**({"gold_sets": sets} if n_sets > 1 else {"gold": sets["g0"]}), "systems": systems, "seed": 1}
    found |= options(rng, names) | {"coefficient": one_of(rng, *COEFFICIENTS)}
    found |= {"n_resamples": between(rng, 1, 100_000), "standardized": bool(rng.random() < 0.3)}
    return found | ({"swap": one_of(rng, *words("Swap"))} if scored else {})


def evaluation(rng: Rng) -> Document:
    n_queries, n_runs = between(rng, 1, 20_000), between(rng, 1, 30)
    n_documents = max(1, min(between(rng, 1, 2_000), 400_000 // (n_queries * (n_runs + 1))))
    grades = [0, 1, 2, 3]

    def of_query(draw: Callable[[], list[float]]) -> dict[str, Any]:
        return dict(zip((f"d{d}" for d in rng.permutation(2 * n_documents)[:n_documents]), draw(), strict=True))

    def run() -> dict[str, Any]:
        return {f"q{q}": of_query(lambda: rng.standard_normal(n_documents).tolist()) for q in range(n_queries)}

    found: Document = {
        "qrels": {f"q{q}": of_query(lambda: rng.choice(grades, n_documents).tolist()) for q in range(n_queries)},
        "runs": {f"r{place}": run() for place in range(n_runs)},
        "metrics": some_of(rng, (*COEFFICIENTS, "tau_ap", "rbo", "ap", "p@10", "ndcg@10")),
        "by_query": bool(rng.random() < 0.3),
        "unjudged": one_of(rng, *words("Unjudged")),
        "unretrieved": one_of(rng, *words("Unretrieved")),
        "undefined": one_of(rng, *words("UndefinedQueries")),
    }
    if rng.random() < 0.4:
        found["standardized"] = {"seed": 1, "n_resamples": between(rng, 1, 10_000)}
    if n_runs > 1 and rng.random() < 0.7:
        found["comparison"] = {"seed": 1, "n_resamples": between(rng, 1, 100_000)}
        found["comparison"]["test"] = one_of(rng, *words("QueryTest"))
        if rng.random() < 0.5:
            found["comparison"]["versus"] = "r0"
        if rng.random() < 0.3:
            found["comparison"]["groups"] = {f"q{q}": f"g{q % 5}" for q in range(n_queries)}
    return found


def plan_inputs(rng: Rng) -> Document:
    return {
        "n_items": between(rng, 4, 200_000),
        "n_ballots": between(rng, 2, one_of(rng, 10, 10_000)),
        "fraction": float(rng.uniform(0.2, 0.999)),
        "presentations": between(rng, 1, 200),
    }


def plan(rng: Rng) -> Document:
    return plan_inputs(rng) | {"seconds_per_comparison": 5, "n_voters": between(rng, 1, 10_000)}


def ballot(rng: Rng) -> Document:
    n = between(rng, 2, 200_000)
    names = labels(rng, n)
    presentations = max(1, min(between(rng, 1, 1_000), 1_000_000 // n - 1))
    voters = one_of(rng, between(rng, 1, 500_000), [f"v{place}" for place in range(between(rng, 1, 1_000))])
    return {"items": names or n, "presentations": presentations, "voters": voters, "seed": int(rng.integers(2**31))}


def scores(rng: Rng) -> Document:
    shape = plan_inputs(rng)
    shape["presentations"] = max(1, min(shape["presentations"], 400_000 // shape["n_items"]))
    asked = {"items": shape["n_items"], "presentations": shape["presentations"], "voters": 5, "seed": 1}
    with contextlib.redirect_stdout(io.StringIO()):
        drawn = CLIENT.post("/v1/ballots", json=asked)
    if drawn.status_code != 200:
        return {}
    forms = drawn.json["comparisons"]
    for form in forms:
        form["votes"] = rng.choice(["left", "right", "tie"], len(form["left"])).tolist()
    return {"plan": shape, "items": shape["n_items"], "seed": 1, "ballots": [{"comparisons": forms}]}


def votes(rng: Rng, most: int = 500_000) -> Document:
    n_items, n_votes = between(rng, 2, 50_000), between(rng, 1, most)
    left = rng.integers(0, n_items, n_votes)
    right = (left + rng.integers(1, n_items, n_votes)) % n_items
    named = rng.random() < 0.5
    columns: Document = {
        "left": [f"item {one}" for one in left] if named else left.tolist(),
        "right": [f"item {one}" for one in right] if named else right.tolist(),
        "winner": rng.choice(["left", "right", "tie"], n_votes, p=[0.5, 0.3, 0.2]).tolist(),
    }
    fitted: Document = {}
    if rng.random() < 0.5:
        columns["voter"] = rng.integers(0, between(rng, 1, 1_000), n_votes).tolist()
        fitted = {"voters": bool(rng.random() < 0.5), "side_bias": bool(rng.random() < 0.5)}
    found: Document = {"comparisons": columns, "options": fitted}
    if n_votes < 100_000 and rng.random() < 0.5:
        found["comparisons"] = [
            dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
        ]
    return found | {"model": one_of(rng, *words("VoteModel"))}


def strengths(rng: Rng) -> Document:
    return votes(rng) | {"standard_errors": bool(rng.random() < 0.7)}


def following(rng: Rng) -> Document:
    found = votes(rng, 200_000)
    return found | {"size": between(rng, 1, 500_000), "seed": 1, "voters": between(rng, 1, 10_000)}


def simulation(rng: Rng) -> Document:
    found: Document = {
        "plan": plan_inputs(rng),
        "voters": {"n_voters": between(rng, 1, 1_000)},
        "similarity": one_of(rng, *words("SimilarityDistribution")),
        "n_simulations": between(rng, 1, 10_000),
        "seed": int(rng.integers(2**31)),
    }
    return found | one_of(rng, {}, {"approaches": ["uniform"]}, {"approaches": ["adaptive"]})


def pairing(rng: Rng) -> Document:
    n_tokens, n_areas = between(rng, 3, 200_000), between(rng, 1, 20_000)
    tokens = [{"token": f"t{place}", "area": f"a{rng.integers(n_areas)}"} for place in range(n_tokens)]
    if rng.random() < 0.5:
        tokens = [{**token, "frequency": float(rng.random())} for token in tokens]
    found: Document = {"tokens": tokens, "across_areas": bool(rng.random() < 0.3)}
    return found | ({"sample": between(rng, 1, 200_000), "seed": 1} if rng.random() < 0.7 else {})


OPERATIONS: dict[str, Callable[[Rng], Document]] = {
    "/v1/correlations": correlation,
    "/v1/correlations/batch": batch,
    "/v1/correlations/matrix": matrix,
    "/v1/leaderboards": leaderboard,
    "/v1/evaluations": evaluation,
    "/v1/plans": plan,
    "/v1/ballots": ballot,
    "/v1/scores": scores,
    "/v1/strengths": strengths,
    "/v1/comparisons/next": following,
    "/v1/simulations": simulation,
    "/v1/pairings": pairing,
}
APP = create_app(Settings(limits=Limits(max_seconds=30.0, max_body_bytes=2**24)))
APP.config["PROPAGATE_EXCEPTIONS"] = True
CLIENT = APP.test_client()
DOCUMENT = CLIENT.get("/openapi.json").json
ADMIT = work.admit


def post(path: str, body: bytes) -> Any:
    """Return the answer to a request, without the log line that the service prints."""
    with contextlib.redirect_stdout(io.StringIO()):
        return CLIENT.post(path, data=body, content_type="application/json", headers={"Accept-Encoding": "gzip"})


def estimate(path: str, body: bytes) -> float | None:
    """Return the estimated seconds of a request; None if it is refused for another reason."""
    found: list[float] = []

    def note(seconds: float, n_bytes: int = 0) -> None:
        ADMIT(0.0, n_bytes)
        found.append(work.total(seconds))
        raise Problem(503, "estimated")

    work.admit = note
    try:
        post(path, body)
    finally:
        work.admit = ADMIT
    return found[0] if found else None


def scaled(document: Document, factor: float) -> Document:
    """Multiply the numbers of resamples, simulations and comparisons in a request by a factor."""
    found = dict(document)
    for name, value in document.items():
        if name in ("n_resamples", "n_simulations", "size"):
            found[name] = int(min(max(1, value * factor), 10_000 if name == "n_simulations" else 100_000))
        elif name in ("inference", "comparison", "standardized") and isinstance(value, dict):
            found[name] = scaled(value, factor)
    return found


def admitted(path: str, rng: Rng, least: float, most: float) -> tuple[float, bytes, Document] | str:
    """Return a request with its estimate, or the reason why it was rejected."""
    document = OPERATIONS[path](rng)
    wanted = float(np.exp(rng.uniform(np.log(least), np.log(most))))
    for _ in range(3):
        body = encoded(document)
        if len(body) > 2**24:
            return "too large"
        seconds = estimate(path, body)
        if seconds is None:
            return "refused"
        if least <= seconds <= most and abs(np.log(seconds / wanted)) < 0.5:
            break
        document = scaled(document, wanted / seconds)
    return (seconds, body, document) if least <= seconds <= most else "too little" if seconds < least else "too much"


def measured(path: str, rng: Rng, n_requests: int, least: float, most: float) -> tuple[int, int]:
    """Print the row of an operation; return the numbers of requests that were answered and that ran out of time."""
    found: list[tuple[float, float, str]] = []
    statuses: Counter[str] = Counter()
    for _ in range(20 * n_requests):
        drawn = admitted(path, rng, least, most)
        if isinstance(drawn, str):
            statuses[drawn] += 1
            continue
        seconds, body, document = drawn
        start = time.thread_time()
        answer = post(path, body)
        used = time.thread_time() - start
        statuses[str(answer.status_code)] += 1
        if answer.status_code == 422 and "too-much-work" in answer.text:
            statuses["out of time"] += 1
        if used < 0.001:  # refused before any work was done
            continue
        about = {name: value for name, value in document.items() if len(str(value)) < 100}
        found.append((used / seconds, used, f"{seconds:.3g} s, {len(body):,} bytes, {json.dumps(about)[:300]}"))
        if len(found) == n_requests:
            break
    if found:
        ratios = [ratio for ratio, _, _ in found]
        row(
            *(path, len(found), f"{1 / max(ratios):.2f}", f"{1 / np.median(ratios):.1f}"),
            f"{sum(used for _, used, _ in found):.1f}",
            f"{max(used for _, used, _ in found):.2f}",
            ", ".join(f"{count} {status}" for status, count in sorted(statuses.items())),
            max(found)[2],
        )
    return len(found), statuses["out of time"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=20, help="answered requests for each operation")
    parser.add_argument("--most", type=float, default=30.0, help="largest estimate of a request, in seconds")
    parser.add_argument("--least", type=float, default=0.02, help="smallest estimate of a request, in seconds")
    parser.add_argument("--only", default="", help="run only the operations whose paths begin with this")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    machine("numpy", "numba", "flask", "orjson")
    warm_up()
    heading(
        f"Processor time of admitted requests and its estimate, from {chosen.least:g} to {chosen.most:g} s",
        *(
            "operation",
            "answered",
            "estimate / time: least",
            "median",
            "time of all (s)",
            "longest (s)",
            "drawn",
            "least of",
        ),
    )
    totals = [
        measured(path, np.random.default_rng(chosen.seed), chosen.requests, chosen.least, chosen.most)
        for path in OPERATIONS
        if path.startswith(chosen.only)
    ]
    print(f"\n{sum(n for n, _ in totals):,} requests answered, {sum(n for _, n in totals)} ran out of time")


if __name__ == "__main__":
    main()
