"""Bundles that somebody has tampered with."""

import hashlib
import io
import json
import zipfile


def members_of(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def packed(members, *, sealed=True, **options):
    """A zip of these members, with sums computed anew unless they are not `sealed`."""
    if sealed:
        rest = {name: text for name, text in members.items() if name != "SHA256SUMS"}
        members = {**rest, "SHA256SUMS": sums_of(rest)}
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, **options) as archive:
        for name, text in sorted(members.items()):
            archive.writestr(name, text)
    return file.getvalue()


def sums_of(members):
    return "".join(f"{hashlib.sha256(text.encode()).hexdigest()}  {name}\n" for name, text in sorted(members.items()))


def edited(data, name, change):
    """The bundle with another text in one member, and with sums that hold."""
    members = members_of(data)
    text = change(members[name])
    assert text != members[name]
    return packed({**members, name: text})


def edited_json(data, name, change):
    def changed(text):
        value = json.loads(text)
        change(value)
        return json.dumps(value, ensure_ascii=False, sort_keys=True, indent=1) + "\n"

    return edited(data, name, changed)


def edited_line(data, kind, change, *, name="events.jsonl", at=0):
    """The `at`-th line of a type is another, or gone."""

    def changed(text):
        lines = text.splitlines()
        places = [place for place, line in enumerate(lines) if json.loads(line)["type"] == kind]
        row = json.loads(lines[places[at]])
        again = change(row)
        if again is False:
            del lines[places[at]]
        else:
            lines[places[at]] = json.dumps(row, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        return "".join(line + "\n" for line in lines)

    return edited(data, name, changed)
