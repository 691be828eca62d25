"""What items show beside their labels, in the formats of programs that show it."""

import csv
import io
import json

import pytest

from adaptive._tables import csv_text
from tests.adaptive.ledger.databases import ITEMS, PAIRS, ledger_at, voted
from tests.adaptive.ledger.test_bundle_members import edited

PLUM = ("image", "fruit/plum.png", "a plum")
KIWI = ("markdown", "**kiwi**", "")


def with_contents(sqlite, other, tmp_path, items=ITEMS):
    """A campaign in which two items have content."""

    def change(text):
        header, *rows = csv.reader(io.StringIO(text, newline=""))
        rows[0][2:], rows[-1][2:] = PLUM, KIWI
        return csv_text(header, rows)

    (tmp_path / "b.zip").write_bytes(edited(voted(sqlite, 0, items=items).bundle(names=True), "items.csv", change))
    return ledger_at(other).restore(tmp_path / "b.zip")


@pytest.mark.parametrize("items", [ITEMS, PAIRS], ids=["text", "pairs"])
def test_tasks_of_label_studio_have_the_content_of_items(items, sqlite, other, tmp_path):
    campaign = with_contents(sqlite, other, tmp_path, items)
    first, last = (each if isinstance(each, str) else " ".join(each) for each in (items[0], items[-1]))
    expected = {first: PLUM, last: KIWI}
    export = campaign.export_votes("label_studio", unanswered=True, names=True)
    tasks = json.loads(export.files["tasks.json"])
    for task in tasks:
        for side in "12":
            label = task["data"][f"text{side}"]
            kind, content, alt_text = expected.get(label, ("text", label, ""))
            assert (task["data"][f"kind{side}"], task["data"][f"content{side}"]) == (kind, content)
            assert task["data"].get(f"alt_text{side}", "") == alt_text
    assert {task["data"][f"text{side}"] for task in tasks for side in "12"} > set(expected)
    (tmp_path / "tasks.json").write_text(export.files["tasks.json"], encoding="utf-8")
    assert campaign.import_votes(tmp_path / "tasks.json", "label_studio").n_known == export.n_votes > 0


def test_instances_of_potato_have_the_content_of_items(sqlite, other, tmp_path):
    campaign = with_contents(sqlite, other, tmp_path)
    expected = {ITEMS[0]: PLUM, ITEMS[-1]: KIWI}
    export = campaign.export_votes("potato", unanswered=True, names=True)
    for line in export.files["instances.jsonl"].splitlines():
        instance = json.loads(line)
        shown = [expected.get(label, ("text", label, "")) for label in instance["responses"]]
        assert instance["kinds"] == [kind for kind, _, _ in shown]
        assert instance["contents"] == [content for _, content, _ in shown]
        alt_texts = [alt_text or None for _, _, alt_text in shown]
        assert instance.get("alt_texts", [None, None]) == alt_texts
    (tmp_path / "instances.jsonl").write_text(export.files["instances.jsonl"], encoding="utf-8")
    assert campaign.import_votes(tmp_path / "instances.jsonl", "potato").n_known == export.n_votes > 0


def test_items_that_are_their_labels_have_no_content(sqlite):
    campaign = voted(sqlite, 0)
    assert "content" not in campaign.export_votes("label_studio").files["tasks.json"]
    assert "contents" not in campaign.export_votes("potato").files["instances.jsonl"]
