"""Run the rounds of a campaign, the ballots of a plan in order or batches: open, preview, close."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import sqlalchemy as sa

from adaptive.draw import draw_ballot
from adaptive.ledger.ballots import closing
from adaptive.ledger.ballots.continuous import draw_batch, finish
from adaptive.ledger.ballots.draws import store_ballot
from adaptive.ledger.ballots.results import Preview, preview_of, result_of
from adaptive.ledger.ballots.sheets import assign_slots
from adaptive.ledger.ballots.stored import ballot_stamp, standing_after, stored_ballots
from adaptive.ledger.campaign.status import status_of
from adaptive.ledger.campaign.stored import Steps
from adaptive.ledger.errors import LedgerError
from adaptive.ledger.store.locks import lock_ballot
from adaptive.ledger.store.rows import audit
from adaptive.protocol import ballot_rng
from adaptive.record import BallotRecord
from rankcorr.workers import Progress


@dataclass(frozen=True, eq=False)
class Ballots(Steps):
    """The steps of a campaign whose plan has ballots."""

    def open_next(self, *, at_once: bool = False) -> int:  # noqa: ARG002 - batches have the option
        """Draw the next ballot, store it, and return its number.

        Raises
        ------
        LedgerError
            If a ballot is open, or all are closed.
        """
        info, plan = self.info, self.info.ballot_plan
        ballots = self.database.read(lambda connection: stored_ballots(connection, info.id))
        if ballots and ballots[-1].state != "closed":
            raise LedgerError(
                f"ballot {len(ballots)} is open: close it before the next is opened, or write it once more"
            )
        if len(ballots) == plan.n_ballots:
            raise LedgerError(f"all {plan.n_ballots} ballots are closed: none is left to open")
        number = len(ballots) + 1
        _, standing = standing_after(info, ballots)
        rng = ballot_rng(info.seed, number, "draw")
        drawn = draw_ballot(standing.labels(info.items), plan.presentations, info.slots, rng)

        def work(connection: sa.Connection) -> int:
            if ballots:  # the last ballot must stay closed until this one is stored
                lock_ballot(connection, ballots[-1].id, exclusive=False)
            fresh = stored_ballots(connection, info.id)
            if len(fresh) != len(ballots):
                raise LedgerError(f"ballot {number} was opened by somebody else at the same moment")
            if ballots and fresh[-1].chain_digest != ballots[-1].chain_digest:
                raise LedgerError(f"ballot {number - 1} was opened again at the same moment: its scores may change")
            ballot_id = store_ballot(
                connection, info, drawn, standing.places, number=number, presentations=plan.presentations
            )
            if info.settings.assigned:
                assign_slots(connection, info, ballot_id)
            audit(connection, info.id, "opened", {"numpy": np.__version__}, ballot_id=ballot_id)
            return number

        return self.database.write(work)

    def preview(
        self, number: int | None = None, *, least_answered: float | None = None, progress: Progress | None = None
    ) -> Preview:
        """See `Campaign.preview`."""

        def read(connection: sa.Connection) -> Preview:
            seen = preview_of(connection, self.info, least_answered=least_answered, progress=progress)
            return Preview(
                stamp=ballot_stamp(connection, self.info, seen.ballot if number is None else number),
                n_comparisons=seen.n_comparisons,
                n_answered=seen.n_answered,
                least_answered=seen.least_answered,
                is_ready=seen.is_ready,
                expected=None,
                cut=seen.cut,
                of_ballot=seen,
            )

        return self.database.read(read)

    def close(
        self, number: int, *, least_answered: float | None = None, stamp: str | None = None
    ) -> BallotRecord | None:
        """See `closing.close`."""
        return closing.close(self.database, self.info, number, least_answered=least_answered, stamp=stamp)


@dataclass(frozen=True, eq=False)
class Continuous(Steps):
    """The steps of a continuous campaign, with the interface of `Ballots`."""

    def open_next(self, *, at_once: bool = False) -> int:
        """Draw the next batch; see `draw_batch`."""
        return draw_batch(self.database, self.info, at_once=at_once)

    def preview(
        self, number: int | None = None, *, least_answered: float | None = None, progress: Progress | None = None
    ) -> Preview:
        """See `Campaign.preview`."""
        info = self.info
        wanted = info.settings.least_answered if least_answered is None else least_answered

        def read(connection: sa.Connection) -> Preview:
            now = status_of(connection, info)
            found = result_of(connection, info, interim=True, progress=progress) if now.n_votes else None
            return Preview(
                stamp=ballot_stamp(connection, info, now.ballot if number is None else number),
                n_comparisons=now.n_comparisons,
                n_answered=now.n_answered,
                least_answered=wanted,
                is_ready=now.state == "open" and now.n_answered >= wanted * now.n_comparisons,
                expected=None if found is None else found.expected,
                cut=None if found is None else found.cut,
                of_ballot=None,
            )

        return self.database.read(read)

    def close(
        self,
        number: int,  # noqa: ARG002 - all batches are closed
        *,
        least_answered: float | None = None,
        stamp: str | None = None,
    ) -> BallotRecord | None:
        """End the campaign; see `finish`."""
        finish(self.database, self.info, least_answered=least_answered, stamp=stamp)
        return None
