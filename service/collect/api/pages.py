"""Serve /v1/campaigns/{key}/pages: texts for voters, and eligibility."""

from __future__ import annotations

from typing import Any

from service.collect.access import organiser
from service.collect.api.blueprints import CONDITIONAL, of_organisers
from service.collect.conditional import stamped, wanted_stamp
from service.collect.schemas.pages import PagesAnswer, PagesRequest
from service.collect.state import collecting
from service.http.problems import Problem
from service.openapi.blueprint import operation

blueprint = of_organisers("pages", __name__, "What voters read")


@blueprint.route("/<key>/pages", methods=["GET"])
@operation("readPages")
@blueprint.response(200, PagesAnswer)
def read(key: str) -> Any:
    """Return the current pages; a change must send their ETag."""
    version, pages = organiser(key).pages()
    return stamped(str(version).zfill(4), {"version": version, "pages": pages.to_dict()})


@blueprint.route("/<key>/pages", methods=["PUT"])
@blueprint.arguments(PagesRequest)
@operation("changePages")
@blueprint.doc(**CONDITIONAL)
@blueprint.response(200, PagesAnswer)
def change(pages: Any, key: str) -> Any:
    """Replace the pages from now on; all versions are kept, to record which text each voter agreed to.

    If-Match must hold the ETag of the pages that you edited; the answer is 412 if they have changed since.
    """
    campaign, stamp = organiser(key), wanted_stamp()
    version, _ = campaign.pages()
    if stamp != str(version).zfill(4):
        raise Problem(412, f"the pages are of version {version} by now: somebody changed them")
    made = campaign.set_pages(pages, replaces=version)
    collecting().campaigns.forget_pages(campaign)
    return stamped(str(made).zfill(4), {"version": made, "pages": pages.to_dict()})
