"""Base of the ledger's public objects: a step is a function of a connection and a campaign, run in one transaction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Concatenate, ParamSpec, TypeVar

import sqlalchemy as sa

from adaptive.ledger.campaign.info import CampaignInfo
from adaptive.ledger.store.database import Database

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Steps:
    """A campaign, and the database that it is in."""

    database: Database
    info: CampaignInfo

    def _read(
        self, step: Callable[Concatenate[sa.Connection, CampaignInfo, P], T], *given: P.args, **options: P.kwargs
    ) -> T:
        """Run a step that changes nothing, on one state of the database."""
        return self.database.read(lambda connection: step(connection, self.info, *given, **options))

    def _write(
        self, step: Callable[Concatenate[sa.Connection, CampaignInfo, P], T], *given: P.args, **options: P.kwargs
    ) -> T:
        """Run a step that changes something: all of it, or nothing."""
        return self.database.write(lambda connection: step(connection, self.info, *given, **options))
