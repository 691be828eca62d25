"""Serve GET /v1/weights: the share of the weight on each rank, for a given n0."""

from typing import Any

from rankcorr._shares import RankShare, WeightTable, weight_table
from service.http.state import state
from service.openapi.blueprint import UNLESS_CHANGED, Blueprint
from service.schemas.base import Request
from service.schemas.fields import QueryNumber, QueryWhole
from service.schemas.shapes import Answer, properties_of, use_shape

blueprint = Blueprint("weights", __name__, url_prefix="/v1/weights", description="What n0 means")


MAX_TOP = 1_000
MOST_LIGHT_TOP = 100  # the decimal arithmetic of a row takes 0.1 ms


class WeightsQuery(Request):
    """n0, or a share of the weight that determines n0."""

    n0 = QueryNumber(above=-1, most=1e300, about="2 by default; cannot be combined with share.")
    share = QueryNumber(above=0, about="Find the n0 for which the first k ranks have this share.")
    k = QueryWhole(least=1, most=MAX_TOP, about="Number of ranks that have the share together; 1 by default.")
    top = QueryWhole(least=1, most=MAX_TOP, about="Number of ranks to list; 10 by default.")
    n_items = QueryWhole(least=1, most=2**40, about="Length of the ranking; infinite by default.")


use_shape(RankShare)


class WeightsAnswer(Answer, **properties_of(WeightTable, "n0", "first_rank_share", "n_items", "ranks", has_nan=False)):
    """The share of the weight of each of the top ranks."""


@blueprint.get("", name="showWeights")
@blueprint.arguments(WeightsQuery, location="query")
@blueprint.doc(**UNLESS_CHANGED)
@blueprint.response(200, WeightsAnswer)
def weights(**query: Any) -> WeightTable:
    """Return the share of the weight on each of the top ranks, or find n0 from a share."""
    if query.get("top", 0) > MOST_LIGHT_TOP:
        state().pool.pass_on()
    return weight_table(**query)
