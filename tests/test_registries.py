"""A name is registered once: an entry in a registry is in the library, the commands, the services and the help.

A new process reads the sources with test entries, as a contributor would add them.
"""

import dataclasses
import json
import re
import subprocess
import sys
from typing import get_args

import pytest

import rankcorr
from adaptive._cli.run.ledgers import init
from adaptive._formats import votes
from adaptive.ledger import CampaignSettings
from adaptive.ledger._votes import exports
from rankcorr._coefficients import COEFFICIENTS, CoefficientName
from rankcorr._weights import WEIGHERS
from service.collect.api.campaigns import SettingsRequest
from tests.repository import ROOT

# By module: text of its source, and the text to insert after it
EDITS = {
    "rankcorr._weights": {
        '    "uniform": Uniform,\n': '    "geometric": Geometric,\n',
        "        return np.ones_like(ranks)\n": (
            "@dataclass(frozen=True)\nclass Geometric:\n    p: float\n"
            "    def __call__(self, ranks):\n        return self.p ** ranks\n"
        ),
    },
    "rankcorr._coefficients": {
        'Key = TypeVar("Key", bound=ScoreCoefficientLike)\n': 'class Sigma(Tau):\n    name = "sigma"\n',
        'Literal["rho_w", "tau_w", "rho", "tau"': ', "sigma"',
        "for kind in (RhoW, TauW, Rho, Tau": ", Sigma",
    },
    "rankcorr.evaluation._metrics": {'"rbo": RBO()': ', "recip": RBO(p=0.5)'},
    "rankcorr._ranking": {'Literal["raise", "intersection", "bottom", "gold"': ', "nowhere"'},
    "adaptive.simulation._similarity": {'"power_law": power_law_similarity': ', "linear": power_law_similarity'},
    "adaptive._formats.layouts": {
        '    "choix": VoteLayout(*_PAIR, ("voter",), (), None, _first_wins),\n': (
            '    "duels": VoteLayout(*_PAIR, ("voter",), (), None, _first_wins),\n'
        )
    },
    "adaptive.ledger._votes.exports": {
        "_FORMS: Final[dict[Format, _Form]] = {\n": '    "duels": _Form(("duels.csv",), _WINS, False, None),\n'
    },
}

PROGRAM = """
import importlib.machinery, json, sys
edits, original = json.loads(sys.argv[1]), importlib.machinery.SourceFileLoader.get_code

def get_code(self, name):
    if name not in edits:
        return original(self, name)
    source = open(self.path, encoding="utf-8").read()
    for before, added in edits[name].items():
        assert source.count(before) == 1, (name, before)
        source = source.replace(before, before + added)
    return compile(source, self.path, "exec", dont_inherit=True)

importlib.machinery.SourceFileLoader.get_code = get_code

from click.testing import CliRunner
from adaptive._cli.main import main as ballots
from rankcorr import TauW
from rankcorr._cli.main import main as rankcorr
from rankcorr._weights import named_weigher
from service import Settings, create_app, collect

def help_of(command, *words):
    return CliRunner().invoke(command, [*words, "--help"], terminal_width=10_000).output

service = create_app(Settings()).test_client()
pair = {"gold": {"scores": [3, 2, 1]}, "system": {"scores": [3, 1, 2]}}
request = {**pair, "weigher": "geometric:0.5", "coefficients": ["tau_w", "sigma"]}
answer = service.post("/v1/correlations", json=request)
weigher = named_weigher("geometric:0.5")
json.dump({
    "library": [repr(weigher), TauW(weigher=weigher)([3, 2, 1], [3, 1, 2]).statistic],
    "answer": [answer.status_code, answer.json],
    "document": service.get("/openapi.json").text,
    "collect": collect.create_app(collect.CollectSettings()).test_client().get("/openapi.json").text,
    "compare": help_of(rankcorr, "compare"),
    "test": help_of(rankcorr, "test"),
    "evaluate": help_of(rankcorr, "evaluate"),
    "simulate": help_of(ballots, "simulate"),
    "tune": help_of(ballots, "tune"),
    "fit": help_of(ballots, "fit"),
    "export": help_of(ballots, "run", "export"),
}, sys.stdout)
"""


@pytest.fixture(scope="module")
def surfaces():
    program = [sys.executable, "-c", PROGRAM, json.dumps(EDITS)]
    process = subprocess.run(program, capture_output=True, text=True, timeout=120, check=False)
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout.splitlines()[-1])  # preceded by log lines of the service


@pytest.mark.wide
@pytest.mark.parametrize(
    ("entry", "places"),
    [
        ("geometric:P", ("compare", "test", "evaluate")),
        ("geometric:[0-9]", ("document",)),
        ("sigma", ("test", "evaluate", "tune", "document")),
        ("recip", ("evaluate", "document")),
        ("nowhere", ("compare", "test", "document")),
        ("linear", ("simulate", "document")),
        ("duels", ("fit", "export", "collect")),
    ],
)
def test_an_entry_is_everywhere(surfaces, entry, places):
    assert [place for place in places if entry not in surfaces[place]] == []


@pytest.mark.wide
def test_the_entry_works(surfaces):
    status, answer = surfaces["answer"]
    assert status == 200
    assert surfaces["library"] == ["Geometric(p=0.5)", answer["coefficients"]["tau_w"]]
    assert "sigma" in answer["coefficients"]


def test_types_list_the_registered_names():
    assert set(get_args(CoefficientName)) == set(COEFFICIENTS)
    assert set(get_args(votes.Format)) == set(votes.FORMATS)
    assert set(get_args(exports.Format)) == set(exports.FORMATS)


def test_weighers_are_public():
    assert {kind.__name__ for kind in WEIGHERS.values()} <= set(rankcorr.__all__)


def test_each_setting_of_a_campaign_is_an_option_everywhere():
    """`ballots run init` has no times for sheets: there, voters do not claim them."""
    settings = {field.name for field in dataclasses.fields(CampaignSettings) if field.metadata}
    form = (ROOT / "service/collect/static/organiser/new.js").read_text("utf-8")
    options = {
        "ballots run init": {parameter.name for parameter in init.params} | {"lease_minutes", "first_minutes"},
        "SettingsRequest": SettingsRequest().fields.keys(),
        "readSettings in new.js": set(re.findall(r"\b[a-z_]+(?=:| = )", form)),
    }
    assert {place: settings - names for place, names in options.items() if settings - names} == {}
