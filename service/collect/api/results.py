"""GET /v1/campaigns/{key}/results and plots: the ranking, in numbers and in figures."""

from __future__ import annotations

import io
import threading
from typing import Any, Final

from flask import Response

from adaptive.ledger import Campaign
from adaptive.ledger.quality import quality_of
from adaptive.ledger.results import MOST_WITH_INTERVALS, CampaignResult, result_of, votes_of
from adaptive.ledger.stamps import campaign_stamp
from adaptive.ledger.voters import excluded_voters
from adaptive.model.estimators import bradley_terry
from adaptive.plots import plot_in_top, plot_strengths, plot_voters, save_figure
from service.collect.api.blueprints import CAMPAIGNS, OF_ORGANISERS
from service.collect.conditional import tagged
from service.collect.organisers import organised
from service.collect.remembered import Remembered
from service.collect.schemas.answers import ResultsAnswer, ResultsQuery
from service.http.problems import Problem
from service.openapi.blueprint import Blueprint, operation

blueprint = Blueprint("results", __name__, url_prefix=CAMPAIGNS, description="The ranking", **OF_ORGANISERS)

_results = Remembered(8)
_plots = Remembered(16)
_drawing = threading.Lock()  # matplotlib's caches of fonts are those of the process
PLOTS: Final = ("strengths", "ranks", "in-top", "voters")
