"""Define the parts that all schemas share."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from marshmallow import RAISE, Schema, ValidationError, missing, post_load, pre_load, validates_schema

from rankcorr._checks import json_options, offending
from rankcorr._coefficients import TauW, named_coefficient
from rankcorr._output.report import Report
from rankcorr._weights import WEIGHER_PATTERN, Weigher, named_weigher
from rankcorr.errors import WeightError
from rankcorr.inference._gold_comparison import Notice
from service.http.problems import MAX_ERRORS, invalid, shown, unknown_fields
from service.schemas import fields
from service.schemas.shapes import TEXT, WHOLE, Answer, Component, Shape, exactly, list_of, one_of


class Request(Schema):
    """A request; an unknown field is an error, so that a misspelt option does not silently select a default."""

    class Meta:  # noqa: D106
        unknown = RAISE

    error_messages = {"unknown": "unknown field", "type": "must be an object"}  # noqa: RUF012 - as marshmallow has it

    @pre_load
    def check_names(self, data: Any, **_: Any) -> Any:
        """Refuse a large number of unknown fields in one step; marshmallow takes 10 s for a million."""
        if isinstance(data, dict) and (len(data) > len(self.fields) + MAX_ERRORS or "_schema" in data):
            raise ValidationError(unknown_fields([name for name in data if name not in self.fields]))
        return data


WAYS: Final = ("presentations", "comparisons", "budget", "hours", "top_presentations")


def check_one(data: Mapping[str, Any], *names: str) -> None:
    """Refuse a request that has none or several of these fields."""
    present = [name for name in names if name in data]
    if len(present) != 1:
        got = offending("got", present) if present else "got none"
        raise ValidationError(f"exactly one of {', '.join(names)} is needed; {got}")


@dataclass(frozen=True)
class Money:
    """An amount to spend, and what it buys."""

    euros: float
    pay: float | None = None
    fee: float = 0.0


class Budget(fields.Documented):
    """A number of comparisons, or an amount of money with the pay for an hour and the fee of a platform."""

    _parts: Final = MappingProxyType(
        {
            "euros": fields.Number(above=0, most=1e12, about="The most to spend, in any currency."),
            "pay": fields.Number(above=0, most=1e9, about="Of a voter for an hour."),
            "fee": fields.Number(least=0, most=10, about="Of the platform, as a share of the pay; 0 if left out."),
        }
    )

    def __init__(self, *, most: int, optional: Sequence[str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._number = fields.Whole(least=1, most=most)
        self.optional = optional
        documented = {name: Shape(part.documented)(part.metadata["description"]) for name, part in self._parts.items()}
        self.documented = one_of(
            WHOLE(minimum=1, maximum=most, title="comparisons"), exactly(optional=optional, **documented)(title="money")
        )

    def read(self, value: Any) -> int | Money:
        """Check a value, and return it as the library call takes it."""
        if not isinstance(value, dict):
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise ValidationError(f"must be a number of comparisons, or an object with euros; got {shown(value)}")
            number: int = self._number.read(value)
            return number
        if unknown := [name for name in value if name not in self._parts]:
            raise ValidationError(unknown_fields(unknown))
        if missing := [name for name in self._parts if name not in value and name not in self.optional]:
            raise ValidationError({name: ["this field is needed"] for name in missing})
        return Money(**{name: fields.read_at(self._parts[name], entry, name) for name, entry in value.items()})


class WeigherField(fields.Documented):
    """A weigher by name."""

    documented: Mapping[str, Any] = MappingProxyType(
        {
            "type": "string",
            "pattern": f"^({WEIGHER_PATTERN})$",
            "description": "In place of 1/(n + n0)^2. Not together with n0.",
            "example": "top-k:10",
        }
    )

    def read(self, value: Any) -> Weigher:
        """Return the weigher."""
        if not isinstance(value, str):
            raise ValidationError(f"must be the name of a weigher; got {shown(value)}")
        try:
            return named_weigher(value)
        except WeightError as error:
            raise ValidationError(str(error)) from error


class ItemWeights(Request):
    """How items are weighted; see the library's weighted_tau."""

    n0 = fields.declared_field(TauW, "n0", most=1e300, load_default=missing)
    weigher = WeigherField()
    scheme = fields.declared_field(TauW, "scheme", vocabulary="Scheme")
    tied_weights = fields.declared_field(TauW, "tied_weights", vocabulary="TiedWeights")
    variant = fields.declared_field(TauW, "variant", vocabulary="Variant")

    @validates_schema
    def check_weight(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse a request with two weightings."""
        if "n0" in data and "weigher" in data:
            raise ValidationError(
                "give n0 or weigher, not both: n0 is the offset of the weight 1/(n + n0)^2", "weigher"
            )

    @post_load
    def gather(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Give the weights to the coefficients that the request names."""
        options = {name: data.pop(name) for name in ItemWeights._declared_fields if name in data}
        if "coefficient" in data:
            data["coefficient"] = named_coefficient(data["coefficient"], **options)
        for key in data.keys() & {"coefficients", "metrics"}:
            words = fields.COEFFICIENT.words
            data[key] = [named_coefficient(name, **options) if name in words else name for name in data[key]]
        return data


class WeightOptions(ItemWeights):
    """How items are weighted, and how items missing from one ranking are treated."""

    missing = fields.first_of(
        fields.MISSING_ITEMS,
        about="Items in one ranking only: an error; left out; for bottom all kept, tied below what a ranking has; "
        "for gold those of gold kept alone, tied below what a system has.",
    )


# A note on an answer, such as why a statistic is null.
NOTICE: Final = Component.of(
    Notice, coefficients=list_of(fields.SYSTEM_COEFFICIENT.reference, about="Those that are concerned.")
)
NOTICES: Final = list_of(NOTICE.reference)


class NoticedAnswer(Answer):
    """An answer with the notices of the libraries."""

    warnings = NOTICES


class WarnedAnswer(Answer):
    """An answer with the messages of the libraries."""

    warnings = list_of(TEXT)


def notices_of(messages: Iterable[str], *coefficients: str) -> list[Notice]:
    """Return messages of the libraries as the notices of an answer, about these coefficients."""
    return [Notice(message, list(coefficients)) for message in messages]


def texts_of(messages: Iterable[str]) -> list[str]:
    """Return messages of the libraries, each once, with options as JSON has them."""
    return list(dict.fromkeys(map(json_options, messages)))


REPORT: Final = Component.exactly(
    "Report",
    "Text for a paper; names are in backquotes, and sources are written [@key], as pandoc reads them.",
    methods=TEXT,
    results=TEXT,
    limits=list_of(TEXT),
    bibtex=TEXT("The sources."),
)


class ReportedAnswer(Answer):
    """An answer with a report."""

    report = REPORT.reference.or_null("null unless the request asked for it.")


def report_flag() -> fields.Flag:
    """Return the field that asks for a report."""
    return fields.Flag(load_default=False, about="Ask for methods, results and limits in words, for a paper.")


def report_content(report: Report) -> dict[str, Any]:
    """Return a report as an answer has it.

    Raises
    ------
    Problem
        422 if long names make it too large.
    """
    content = {name: getattr(report, name) for name in ("methods", "results", "limits")}
    refuse_long_text(content)
    return content | {"bibtex": report.to_bibtex()}


def refuse_long_text(answer: Any, pointer: str = "") -> None:
    """Refuse a request whose answer of lists and objects repeats names until its text is too large.

    Raises
    ------
    Problem
        422, which blames the field at the pointer.
    """
    sizes: dict[str, int] = {}
    count, waiting = 0, [answer]
    while waiting:
        value = waiting.pop()
        inner = value.values() if isinstance(value, dict) else value
        for entry in inner:
            if isinstance(entry, str):
                count += sizes.get(entry) or sizes.setdefault(entry, len(entry.encode()))
            elif isinstance(entry, dict | list | tuple):
                waiting.append(entry)
    try:
        fields.check_limit("max_label_bytes", count, of="bytes of labels in an answer")
    except ValidationError as error:
        raise invalid({pointer: list(error.messages)}) from error
