"""Run the rounds of a campaign, the ballots of a plan in order or batches: open, preview, close."""

import numpy as np
import sqlalchemy as sa

from adaptive._draw import draw_ballot
from adaptive._protocol import ballot_rng
from adaptive._record import BallotRecord
from adaptive.ledger._ballots import closing
from adaptive.ledger._ballots.continuous import draw_batch, finish
from adaptive.ledger._ballots.draws import store_ballot
from adaptive.ledger._ballots.results import Preview, preview_of, result_of
from adaptive.ledger._ballots.sheets import assign_slots
from adaptive.ledger._ballots.stored import ballot_stamp, standing_after, stored_ballots, too_few
from adaptive.ledger._campaign.info import CampaignInfo
from adaptive.ledger._campaign.status import status_of
from adaptive.ledger._store.database import Database
from adaptive.ledger._store.locks import lock_ballot
from adaptive.ledger._store.rows import audit
from adaptive.ledger._votes.reading import counted_votes
from adaptive.ledger.errors import LedgerError
from rankcorr._workers import Progress


def open_next(database: Database, info: CampaignInfo, *, at_once: bool = False) -> int:
    """Draw the next ballot or batch from the votes so far, store it, and return its number.

    Votes are read in one transaction, and the ballot is stored in another, which checks that nothing has changed.

    Parameters
    ----------
    at_once : bool
        Draw a batch even if much of the last one is unanswered.

    Raises
    ------
    NotReadyError
        If too much of the last batch is unanswered.
    LedgerError
        If a ballot is open, all are closed, or the campaign needs no further batch.
    """
    if info.mode == "continuous":
        return draw_batch(database, info, at_once=at_once)
    plan = info.ballot_plan
    ballots = database.read(lambda connection: stored_ballots(connection, info))
    if ballots and ballots[-1].state != "closed":
        again = "(ballots run open --again writes it again)"
        raise LedgerError(f"ballot {len(ballots)} is open: close it before you open the next one {again}")
    if len(ballots) == plan.n_ballots:
        raise LedgerError(f"all {plan.n_ballots} ballots are closed: none is left to open")
    number = len(ballots) + 1
    _, standing = standing_after(info, ballots)
    rng = ballot_rng(info.seed, number, "draw")
    drawn = draw_ballot(standing.labels(info.items), plan.presentations, info.slots, rng)

    def work(connection: sa.Connection) -> int:
        if ballots:  # the last ballot must stay closed until this one is stored
            lock_ballot(connection, ballots[-1].id, exclusive=False)
        fresh = stored_ballots(connection, info)
        if len(fresh) != len(ballots):
            raise LedgerError(f"ballot {number} was opened by another request at the same moment")
        if ballots and fresh[-1].chain_digest != ballots[-1].chain_digest:
            raise LedgerError(f"ballot {number - 1} was opened again at the same moment: its scores may change")
        ballot_id = store_ballot(
            connection, info, drawn, standing.places, number=number, presentations=plan.presentations
        )
        if info.settings.assigned:
            assign_slots(connection, info, ballot_id)
        audit(connection, info.id, "opened", {"numpy": np.__version__}, ballot_id=ballot_id)
        return number

    return database.write(work)


def preview(
    connection: sa.Connection,
    info: CampaignInfo,
    number: int | None = None,
    *,
    least_answered: float | None = None,
    progress: Progress | None = None,
) -> Preview:
    """Return the effect of closing the open ballot, or all batches, without changing anything.

    Parameters
    ----------
    number : int or None
        The ballot of the stamp; None: the last one.
    least_answered : float or None
        Share of the comparisons that must be answered; None: the campaign's setting.
    progress : callable, optional
        Progress function, as in `Strengths.drawn`.

    Raises
    ------
    LedgerError
        If no ballot is open.
    """
    if info.mode == "ballots":
        seen = preview_of(connection, info, least_answered=least_answered, progress=progress)
        stamp = ballot_stamp(connection, info, seen.ballot if number is None else number)
        same = ("n_comparisons", "n_answered", "least_answered", "is_ready", "cut")
        return Preview(stamp, **{name: getattr(seen, name) for name in same}, expected=None, of_ballot=seen)
    wanted = info.settings.least_answered if least_answered is None else least_answered
    now = status_of(connection, info)
    can_rank = counted_votes(connection, info).n_comparisons > 0  # none if all voters are excluded, or cannot say
    found = result_of(connection, info, interim=True, progress=progress) if can_rank else None
    return Preview(
        stamp=ballot_stamp(connection, info, now.ballot if number is None else number),
        n_comparisons=now.n_comparisons,
        n_answered=now.n_answered,
        least_answered=wanted,
        is_ready=now.state == "open" and not too_few(now.n_answered, now.n_comparisons, wanted),
        expected=None if found is None else found.expected,
        cut=None if found is None else found.cut,
        of_ballot=None,
    )


def close(
    database: Database,
    info: CampaignInfo,
    number: int,
    *,
    least_answered: float | None = None,
    stamp: str | None = None,
) -> BallotRecord | None:
    """Close a ballot and return its record, or end a continuous campaign, whose batches have none.

    A ballot is scored between two transactions; see `closing.close`. Batches are closed in one.

    Parameters
    ----------
    number : int
        Number of the open ballot, so that two simultaneous calls cannot close two ballots.
    least_answered : float or None
        Share of the comparisons that must be answered; None: the campaign's setting.
    stamp : str or None
        The stamp that the caller has seen, from `preview` or `ballot`; None: accept any.

    Raises
    ------
    LedgerError
        If that ballot, or every batch, is closed.
    ChangedError
        If its stamp has changed.
    NotReadyError
        If too few comparisons are answered, or an item has no answer; it stays open.
    ConflictError
        If another caller is closing it.
    """
    if info.mode == "ballots":
        return closing.close(database, info, number, least_answered=least_answered, stamp=stamp)
    finish(database, info, least_answered=least_answered, stamp=stamp)
    return None
