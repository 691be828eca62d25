"""Declare the settings of the app, read once from the environment; an invalid value prevents the start."""

from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import ClassVar

from service.environment import HttpLimits, HttpSettings, SettingError, seconds, setting, whole_number, word_list


def redis_url(name: str, text: str) -> str:
    """Parse the address of a Redis."""
    if not text.startswith(("redis://", "rediss://", "unix://")):
        raise SettingError(f"{name} must be an address such as redis://host:6379/0")  # it may hold a password
    if find_spec("rq") is None:
        raise SettingError(f"{name} needs the extra: pip install 'rankcorr-service[redis]'")
    return text


@dataclass(frozen=True, kw_only=True)
class Limits(HttpLimits):
    """The limits on one request.

    See Also
    --------
    Settings : Holds the limits as `limits`.

    Examples
    --------
    >>> from service import Limits, Settings
    >>> settings = Settings(limits=Limits(max_items=1_000, max_seconds=5.0))
    >>> settings.limits.max_items, settings.limits.max_resamples
    (1000, 100000)
    """

    max_items: int = setting(200_000, whole_number(2), "items of a ranking, a pairing, a plan or a ballot")
    max_systems: int = setting(1_000, whole_number(1), "systems of a batch")
    max_matrix_cells: int = setting(10_000, whole_number(1), "cells of a matrix: rankings times rankings")
    max_comparisons: int = setting(
        500_000, whole_number(1), "comparisons of a ballot, and of all votes to score or to fit"
    )
    max_simulated_votes: int = setting(50_000_000, whole_number(1), "votes of all simulations of a request")
    max_opinions: int = setting(10_000_000, whole_number(1), "opinions of a simulation: voters times items")
    max_resamples: int = setting(100_000, whole_number(1), "resamples of a test or an interval")
    max_label_bytes: int = setting(
        64 * 2**20, whole_number(1), "bytes of the labels in an answer, with all repetitions"
    )
    max_resampled_values: int = setting(
        20_000_000, whole_number(1), "values of a leaderboard: gold sets times systems times resamples"
    )
    max_queries: int = setting(100_000, whole_number(1), "queries of an evaluation")
    max_query_documents: int = setting(
        2_000_000, whole_number(1), "documents of an evaluation, over qrels, runs and queries"
    )
    max_query_values: int = setting(
        5_000_000, whole_number(1), "values of an evaluation: queries times runs times metrics"
    )


@dataclass(frozen=True, kw_only=True)
class Settings(HttpSettings):
    """The settings of rankcorr-serve.

    See Also
    --------
    Limits : The limits on one request.
    create_app : Takes them.
    service.collect.CollectSettings : The settings of rankcorr-collect.

    Examples
    --------
    >>> from service import Settings
    >>> Settings.from_environment({"RANKCORR_MAX_ITEMS": "1000"}).limits.max_items
    1000
    >>> Settings().table()[0][:2]
    ('RANKCORR_MAX_BODY_BYTES', 16777216)
    """

    limits_type: ClassVar[type[HttpLimits]] = Limits

    limits: Limits = field(default_factory=Limits)
    job_seconds: float = setting(600.0, seconds, "seconds of processor time for a job")
    max_jobs: int = setting(16, whole_number(1, 1_000), "jobs that wait or run, and as many answers")
    jobs_url: str = setting(
        "", redis_url, "Redis that keeps the jobs, as redis://host:6379/0; none: a folder of this run"
    )
    cors_origins: tuple[str, ...] = setting((), word_list, "origins whose pages may call /v1, separated by commas")
