"""JSON in and out: orjson, and the checks that it leaves to others.

orjson refuses nan, infinities, numbers too large for a double, text that is not UTF-8 and nesting of more than 1024
levels. It keeps the last of two equal keys, which would drop a score silently; so keys are counted here.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any, Final

import numpy as np
import orjson
from flask import Response
from flask.json.provider import JSONProvider

from service.http.problems import Problem

# Each takes 64 bytes of memory or more for two or three bytes of text: a body of 16 MiB could take 1 GB. At this
# limit it takes 0.2 GB, and 200,000 items in groups of ties stay far below.
MAX_CONTAINERS: Final = 1_000_000
BLOCK_BYTES: Final = 1 << 18  # counted at once: six arrays as long as a whole body took 100 MB


def parse(body: bytes | bytearray) -> Any:
    """Parse a request body.

    Raises
    ------
    Problem
        400, for a body that is not JSON, or that has an object with two equal keys.
    """
    written, opened = counted(body)
    if opened > MAX_CONTAINERS:
        raise Problem(413, f"at most {MAX_CONTAINERS} arrays and objects in a body; got {opened}")
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Problem(400, f"the body is not JSON: {error}", kind="not-json") from error
    if count_keys(document) != written:
        raise Problem(400, f"an object of the body has the key {_repeated_key(body)} twice", kind="duplicate-key")
    return document


def counted(body: bytes | bytearray) -> tuple[int, int]:
    """Number of keys in a JSON text, and of arrays and objects: of colons and opening brackets outside strings.

    >>> counted(b'{"a": 1, "b:": {"a": "[:"}}')
    (3, 2)
    """
    if b"\\" in body:
        # Backslashes pair up from left to right; one that is left over escapes the next character.
        body = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    n_keys = n_containers = 0
    inside = False  # a string that began in an earlier block
    for start in range(0, len(body), BLOCK_BYTES):
        characters = np.frombuffer(body, np.uint8, min(BLOCK_BYTES, len(body) - start), start)
        outside = np.logical_xor.accumulate(characters == ord('"')) == inside
        inside = not outside[-1]
        n_keys += int(np.count_nonzero(outside & (characters == ord(":"))))
        # One bit turns "[" into "{", and nothing else into it.
        n_containers += int(np.count_nonzero(outside & ((characters | 0x20) == ord("{"))))
    return n_keys, n_containers


def count_keys(document: Any) -> int:
    """Number of keys of all objects of a document.

    >>> count_keys([{"a": 1, "b": {"a": 2}}, 3])
    3
    """
    total = 0
    waiting = [document]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            total += len(value)
            inner: Any = value.values()
        elif isinstance(value, list):
            inner = value
        else:
            continue
        if not set(map(type, inner)).isdisjoint((dict, list)):  # checks 100,000 numbers at the speed of C
            waiting += [entry for entry in inner if isinstance(entry, dict | list)]
    return total


def _repeated_key(body: bytes | bytearray) -> str:
    """The first key that an object repeats, for the message."""
    repeated: list[str] = []

    def notice(pairs: list[tuple[str, Any]]) -> None:
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen and not repeated:
                repeated.append(key)
            seen.add(key)

    with suppress(RecursionError):  # nested too deeply for Python's parser: the key is not named
        json.loads(body, object_pairs_hook=notice)
    return json.dumps(repeated[0][:60], ensure_ascii=False) if repeated else "of some entry"


class OrjsonProvider(JSONProvider):
    """Responses by orjson: floats in the shortest form that reads back to the last bit, nan as null."""

    def dumps(self, obj: Any, **options: Any) -> str:
        """Serialize to text, with line breaks if an indent is asked for."""
        return orjson.dumps(obj, option=orjson.OPT_INDENT_2 if options.get("indent") else None).decode()

    def loads(self, s: str | bytes, **_options: Any) -> Any:
        """Parse text."""
        return orjson.loads(s)

    def response(self, *args: Any, **kwargs: Any) -> Response:
        """Serialize to a response."""
        document = self._prepare_response_obj(args, kwargs)
        # nan becomes null: a statistic that is undefined, which `warnings` explains
        body = orjson.dumps(document, default=_as_list, option=orjson.OPT_SERIALIZE_NUMPY)
        return Response(body, mimetype="application/json")


def _as_list(value: Any) -> Any:
    if isinstance(value, np.ndarray):  # not contiguous, which orjson does not write
        return value.tolist()
    raise TypeError(f"{type(value).__name__} has no form in JSON")
