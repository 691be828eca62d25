"""`ballots run init`: what is shown for an item comes with its label, and batches suit the list."""

import pytest

from adaptive.ledger import ItemContent, Ledger
from adaptive.ledger._campaign.items import contents_of
from tests.adaptive.cli.commands import refusal, run_ok

pytestmark = pytest.mark.wide

CONTINUOUS = ["run", "init", "v.db", "--items", "items.csv", "--continuous", "--budget", 40, "--voters", 3, "--seed", 1]


@pytest.fixture(autouse=True)
def items(tmp_path, monkeypatch):
    """A folder with a table of 12 items, of which two have contents."""
    monkeypatch.chdir(tmp_path)
    rows = ["fig,markdown,**fig**,", "plum,image,plum.png,A plum", *(f"item {number},,," for number in range(10))]
    (tmp_path / "items.csv").write_text("\n".join(["item,kind,content,alt_text", *rows, ""]))
    return tmp_path / "items.csv"


def test_items_have_their_contents():
    run_ok(*CONTINUOUS)
    ledger = Ledger.open("v.db")
    campaign = ledger.campaign()
    found = campaign.read(contents_of)
    assert campaign.info.items[:2] == ("fig", "plum")
    assert found[:2] == (ItemContent("markdown", "**fig**"), ItemContent("image", "plum.png", "A plum"))
    assert set(found[2:]) == {ItemContent()}
    ledger.close()


def test_a_content_that_cannot_be_has_its_line(items, tmp_path):
    items.write_text(items.read_text() + "kiwi,image,../kiwi.png,A kiwi\n")
    assert refusal(*CONTINUOUS).startswith('items.csv:14: column "content": the content of image is the path of a file')
    assert not (tmp_path / "v.db").exists()


@pytest.mark.parametrize(("options", "batch"), [([], 12), (["--batch", 7], 7)])
def test_a_batch_suits_the_list(options, batch):
    assert run_ok(*CONTINUOUS, *options).startswith(f"12 items, batches of {batch}, at most 40 comparisons\n")
