"""`ballots run result`: the ranking, at the end or in between."""

from __future__ import annotations

import click

from adaptive.cli.output import emit, print_note
from adaptive.cli.run.campaign import counted, ledger_argument
from adaptive.cli.run.voting import check_other
from adaptive.ledger import Campaign, CampaignResult
from adaptive.model.accuracy import N_SAMPLES
from rankcorr import OptionError
from rankcorr.cli.console import print_json
from rankcorr.workers import progress_bar

_RESULT_EXAMPLE = """\b
Example:
  ballots run result voting.db --out ranking.csv
  ballots run result voting.db --interim --top 20
  ballots run result voting.db --paper --json
"""


@click.command(epilog=_RESULT_EXAMPLE, short_help="The ranking, after the last ballot or in between.")
@ledger_argument
@click.option("--out", metavar="FILE", help="Write it here.  [default: standard output]")
@click.option("--interim", is_flag=True, help="By the strengths of the votes so far, before the last ballot is closed.")
@click.option(
    "--top", type=int, metavar="K", help="The cut that in_top is about.  [default: the last ballot's items, or a tenth]"
)
@click.option("--paper", is_flag=True, help="The paper's scores alone, as `ballots score` gives them.")
@click.option("--json", "as_json", is_flag=True, help="JSON with the scores of every ballot, not CSV.")
def result(campaign: Campaign, out: str | None, interim: bool, top: int | None, paper: bool, as_json: bool) -> None:
    """Give the ranking of all items.

    CSV with the columns item (or item_1, item_2, ...) and rank; ybar (the score), presentations, wins, ties, losses
    and last_ballot; and, from a model of all votes, strength, standard_error, rank_low and rank_high (a 90 % interval)
    and in_top, the probability to be among the top K.
    """
    check_other(out, campaign)
    if paper and (interim or top is not None):
        raise OptionError("--paper goes with neither --interim nor --top")
    if paper:
        scores = campaign.paper_result()
        text = scores.to_json() + "\n" if as_json else scores.to_csv()
        emit(text, out, f"{len(scores.items):,} items written to {out}")
        return
    with progress_bar(N_SAMPLES, "draw") as advance:
        found = campaign.result(interim=interim, top=top, progress=advance)
    if as_json:
        print_json(found.to_dict())
    else:
        emit(found.to_csv(), out, f"{len(found.items):,} items written to {out}")
    _notes(found)


def _notes(found: CampaignResult) -> None:
    if found.cut is not None and found.expected is not None:
        print_note(
            f"the top {found.top:,} are the true ones with probability {found.cut.confidence:.2f}; "
            f"expected tau_w of the strengths {found.expected:.2f}"
        )
    if found.agreement is not None:
        left_out = counted(len(found.excluded), "voter")
        print_note(
            f"{left_out} left out of the strengths, whose ranking has tau_w {found.agreement:.3f} with that of all; "
            f"closed ballots keep their scores"
        )
