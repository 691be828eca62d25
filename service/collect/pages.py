"""Serve the HTML pages: of voters, of organisers, images and sounds of items, and the bare address.

A voter's pages (welcome, comparisons, finish) reveal only whether the visitor has a session. The organiser's pages
contain only the frame; their scripts load the campaign's data from the API. The texts are in locales/<language>.json,
and those of organisers' pages in locales/organiser.<language>.json.
"""

import json
from collections.abc import Mapping, Sequence
from functools import cache, partial, reduce
from importlib.resources import files
from operator import getitem
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from flask import Blueprint, abort, make_response, redirect, render_template, request, send_file, url_for
from markupsafe import Markup
from marshmallow import missing
from werkzeug.wrappers import Response

from adaptive.ledger import Campaign, VotingPages
from service.collect import access
from service.collect.api.campaigns import CampaignRequest, PagesRequest, PlanChoice, SettingsRequest
from service.collect.api.results import EXPORTS
from service.collect.content import TYPES, asset_file, render
from service.collect.state import collecting
from service.http.problems import Problem

LANGUAGES: Final = ("en", "de")  # files in locales/; the first language is the fallback
_RIGHT_TO_LEFT: Final = frozenset(
    {"ar", "arc", "ckb", "dv", "fa", "he", "ks", "nqo", "ps", "sd", "syr", "ug", "ur", "yi"}
)
_SCRIPTS_RIGHT_TO_LEFT: Final = frozenset({"adlm", "arab", "hebr", "mand", "nkoo", "rohg", "syrc", "thaa"})


class Texts:
    """The texts of one language.

    Parameters
    ----------
    language : str
        Tag such as "de-AT". A language without a file in locales/ falls back to English.

    Examples
    --------
    >>> Texts("de-AT")("base.skip")
    'Zum Inhalt'
    """

    def __init__(self, language: str) -> None:
        self.language = interface_language(language)
        self._texts = {**_read(self.language), **_read(f"organiser.{self.language}")}

    def __call__(self, key: str, /, **values: object) -> str:
        """Return the text of a key such as "voter.vote.undo", with values filled in for the names in braces.

        Raises
        ------
        KeyError
            If the text does not exist, or names a value that was not given.
        """
        text: Any = self._texts
        for step in key.split("."):
            if not isinstance(text, Mapping) or step not in text:
                raise KeyError(f"locales/{self.language}.json has no text {key!r}")
            text = text[step]
        if not isinstance(text, str):
            raise KeyError(f"{key!r} names several texts of locales/{self.language}.json")
        return text.format_map(values)

    def section(self, key: str) -> str:
        """Return all texts below a key as JSON, for the script of a page."""
        return json.dumps(reduce(getitem, key.split("."), self._texts), ensure_ascii=False)


def interface_language(language: str) -> str:
    """Return the language of locales/ that serves a tag.

    >>> interface_language("de-CH"), interface_language("tlh")
    ('de', 'en')
    """
    main = language.lower().split("-")[0]
    return main if main in LANGUAGES else LANGUAGES[0]


def direction(language: str) -> str:
    """Return the writing direction of a language, by its script if the tag names one.

    >>> direction("ar"), direction("en"), direction("az-Arab"), direction("ar-Latn")
    ('rtl', 'ltr', 'rtl', 'ltr')
    """
    main, *more = language.lower().split("-")
    script = next((part for part in more if len(part) == 4 and part.isalpha()), None)
    rtl = main in _RIGHT_TO_LEFT if script is None else script in _SCRIPTS_RIGHT_TO_LEFT
    return "rtl" if rtl else "ltr"


def language_name(language: str) -> str:
    """Return a language's name in that language, or the tag if the name is not known here.

    >>> language_name("de"), language_name("pt-BR"), language_name("tlh")
    ('Deutsch', 'Português', 'tlh')
    """
    return str(_read("languages").get(language.lower().split("-")[0], language))


def language_in_address() -> str | None:
    """Return the language that the address asks for, if the interface has it."""
    tag = request.args.get("lang")
    return tag if tag in LANGUAGES else None


def reader_texts() -> Texts:
    """Return the texts of the interface, in the language of the address or of the browser."""
    return Texts(reader_language(LANGUAGES))


def browser_language(languages: Sequence[str]) -> str | None:
    """Return the language that the browser prefers, by its tag or its main part; None if it accepts none of them."""
    for tag in map(str.lower, request.accept_languages.values()):
        dialects = [language for language in languages if language.lower().split("-")[0] == tag.split("-")[0]]
        if dialects:
            return next((dialect for dialect in dialects if dialect.lower() == tag), dialects[0])
    return None


def reader_language(languages: Sequence[str]) -> str:
    """Return the language in the address, or the browser's, or the campaign's first."""
    tag = request.args.get("lang")
    return tag if tag is not None and tag in languages else browser_language(languages) or languages[0]


@cache
def _read(name: str) -> Mapping[str, Any]:
    texts: Mapping[str, Any] = json.loads((files("service.collect") / "locales" / f"{name}.json").read_text("utf-8"))
    return texts


# An SVG may contain scripts. They do not run in an image on a page; opened by its address, the SVG is sandboxed.
POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'"
_DAY: Final = 86_400
# In this order: progress and voters' links, opening and closing ballots, voters and the quality of their votes, items
# and their answers, ranking with figures and files, voters' texts and eligibility.
TABS: Final = ("overview", "ballots", "voters", "items", "result", "settings")

bare = Blueprint("home", __name__)
assets = Blueprint("assets", __name__)
_FORM_SCHEMAS: Final = (SettingsRequest(), PlanChoice(), PagesRequest(), CampaignRequest())
organiser = Blueprint("organiser_pages", __name__, url_prefix="/o")


def page_of(template: str, text: Texts, *, status: int = 200, **values: Any) -> Response:
    """Render a page from its template, in the language and direction of its texts unless values override them."""
    defaults = {"text": text, "language": text.language, "direction": direction(text.language)}
    return make_response(render_template(template, **{**defaults, **values}), status)


def unknown(_: str = "") -> Response:
    """Return the page for an unknown address, such as a truncated link."""
    return page_of("unknown.html", reader_texts(), status=404)


@bare.get("/")
def home() -> Response:
    """Tell voters and organisers where to go; name no campaign, because a key is only given out in links."""
    return page_of("home.html", reader_texts())


@assets.get("/assets/<path:name>")
def asset(name: str) -> Response:
    """Serve a file of the folder; 404 if it is outside, hidden, or neither image nor sound."""
    path = asset_file(collecting().settings.assets, name)
    if path is None:
        abort(404)
    response = send_file(path, mimetype=TYPES[Path(name).suffix.lower()], conditional=True, max_age=_DAY)
    response.headers["Content-Security-Policy"] = POLICY
    return response


def number_input(name: str, *, share: bool = False, value: float | None = None) -> str:
    """Return the attributes of an input for whole numbers, with the bounds and the default of a field of a request.

    >>> number_input("least_answered", share=True)
    'min="0" max="100" step="1" inputmode="numeric" value="90"'
    """
    schema = next(schema for schema in _FORM_SCHEMAS if name in schema.fields)
    field: Any = schema.fields[name]
    scale = 100 if share else 1
    default = None if field.load_default is missing else scale * field.load_default
    bounds = {"min": scale * max(field.least, 0 if share else 1), "max": scale * field.most, "step": 1}
    values = {**bounds, "inputmode": "numeric", "value": default if value is None else value}
    return " ".join(
        f'{key}="{number:g}"' if isinstance(number, int | float) else f'{key}="{number}"'
        for key, number in values.items()
        if number is not None
    )


def organiser_page(page: str, key: str | None = None) -> Response:
    """Return a page of a campaign, or the page that creates one; creating needs a token that allows it."""
    text, tag = reader_texts(), language_in_address()
    query = "" if tag is None else f"?lang={quote(tag)}"
    home = None if key is None else f"/o/{quote(key)}"
    tabs = [] if home is None else [(tab, f"{home}{'' if tab == 'overview' else '/' + tab}{query}") for tab in TABS]
    return page_of(
        f"organiser/{page}.html",
        text,
        key=key,
        page=page,
        tabs=tabs,
        languages=[(tag, language_name(tag)) for tag in LANGUAGES],
        script_texts=text.section("organiser"),
        query=query,
        exports=EXPORTS,
        stores_images=bool(collecting().settings.assets),
        number_input=number_input,
        default_pages=json.dumps(VotingPages(open_link=True).to_dict()) if key is None else "",
    )


for name, rule in {"new": "/new", "overview": "/<key>", **{tab: f"/<key>/{tab}" for tab in TABS[1:]}}.items():
    organiser.add_url_rule(rule, name, partial(organiser_page, name))
for rule in ("/", "/<path:_>"):
    organiser.add_url_rule(rule, "unknown", unknown)


voter = Blueprint("voter_pages", __name__, url_prefix="/v")


def voter_page(page: str, key: str) -> Response:
    """Return a page of a campaign.

    `welcome` shows instructions and consent, and leads on to the comparisons. `vote` shows comparisons. `finish` shows
    thanks, the completion code and withdrawal. An organiser can try all three with `?preview=1`: the comparisons are of
    some of the campaign's items, no answer is sent, and the last page is that of a voter who has answered everything.
    """
    try:
        campaign = collecting().campaigns.of(key)
    except Problem as problem:
        if problem.status != 404:
            raise
        return unknown()
    is_preview = "preview" in request.args
    if is_preview and access.organiser_of_request(campaign) is None:
        return redirect(url_for("voter_pages.welcome", key=key))
    _, pages = collecting().campaigns.pages(campaign)
    nothing, wait, is_known = None, None, access.voter_of_cookie(campaign) is not None
    if page == "welcome":
        nothing, wait = campaign.voters.why_none_left()
        if nothing is None and not is_known and pages.platform is None and access.is_left_out(campaign):
            nothing = "none left"  # a voter who was excluded and then withdrew must not start again by the open link
    tag = reader_language(list(pages.texts))
    texts, interface = pages.texts[tag], Texts(tag)
    # The language in the address is kept from page to page; without one, the scripts use the voter's choice.
    query = f"?lang={quote(tag)}" if "lang" in request.args else ""
    if is_preview:
        query = f"?preview=1{query.replace('?', '&')}"
    home = url_for("voter_pages.welcome", key=key)
    return page_of(
        f"voter/{page}.html",
        interface,
        key=key,
        page=page,
        pages=pages,
        texts=texts,
        tag=tag,
        direction=direction(tag),
        languages=[{"tag": tag, "name": language_name(tag)} for tag in pages.texts],
        script_texts=interface.section("voter"),
        home=home,
        grades=campaign.info.settings.grades,
        set_size=campaign.info.set_size,
        is_set=campaign.info.set_size > 2,
        option_places=range(1, campaign.info.set_size + 1) if campaign.info.set_size > 2 else ("left", "right"),
        offers_tie=pages.ties and campaign.info.set_size == 2,
        to_vote=f"{home}/vote{query}",
        to_finish=f"{home}/finish{query}",
        nothing=nothing,
        wait_minutes=None if wait is None else -(-wait // 60),
        instructions=_html(texts.instructions),
        consent=_html(texts.consent),
        thanks=_html(texts.thanks),
        known=is_known,
        is_preview=is_preview,
        preview=_preview(campaign, pages, page) if is_preview else "",
        to_organiser=url_for("organiser_pages.overview", key=key),
    )


for page, rule in {"welcome": "/<key>", "vote": "/<key>/vote", "finish": "/<key>/finish"}.items():
    voter.add_url_rule(rule, page, partial(voter_page, page))
for rule in ("/", "/<path:_>"):
    voter.add_url_rule(rule, "unknown", unknown)


def _preview(campaign: Campaign, pages: VotingPages, page: str) -> str:
    """Return the data of a preview page as JSON, because a preview sends no requests."""
    if page == "vote":
        return json.dumps(sample(campaign))
    if page == "finish":
        answers = len(sample(campaign))
        code, url = pages.way_back("complete")
        end = {"outcome": "complete", "completion_code": code, "completion_url": url}
        return json.dumps({"answers": answers, **end})
    return ""


def _html(text: str) -> Markup | None:
    return Markup(render(text, below=2)) if text.strip() else None  # `render` sanitises


_PREVIEWED: Final = 6  # items, plus one of each kind of content that is not among them


def sample(campaign: Campaign) -> list[dict[str, Any]]:
    """Return pairs as the comparison page receives them; they reveal nothing about a draw.

    Practice pairs include the expected answer, because a preview sends no requests.
    """
    info, content = campaign.info, collecting().campaigns.content
    known = () if info.settings.probing is None else info.settings.probing.known
    place_of = {label: place for place, label in enumerate(info.items)} if known else {}
    pairs: list[tuple[int, int, str | None]] = [
        (place_of[pair.left], place_of[pair.right], pair.expected) for pair in known if pair.kind == "practice"
    ]
    places = _spread([content.kind for content in collecting().campaigns.contents(campaign)])
    pairs += [(place, places[(at + 1) % len(places)], None) for at, place in enumerate(places)]
    samples = []
    for number, (left, right, expected) in enumerate(pairs):
        pair = {"id": f"0-0-{number}", "practice": expected is not None, "expected": expected}
        pair |= {"left": content(campaign, left), "right": content(campaign, right)}
        others = [place for place in (*places, *range(info.n_items)) if place not in (left, right)]
        pair["other_items"] = [content(campaign, place) for place in dict.fromkeys(others)][: info.set_size - 2]
        samples.append(pair)
    return samples


def _spread(kinds: list[str]) -> list[int]:
    """Return evenly spaced places from the first item to the last, with each kind of content at least once."""
    n = min(_PREVIEWED, len(kinds))
    places = {round(step * (len(kinds) - 1) / (n - 1)) for step in range(n)}
    missing = set(kinds) - {kinds[place] for place in places}
    return sorted(places | {kinds.index(kind) for kind in missing})


PAGES: Final = (voter, organiser, assets, bare)
