"""Where a body ends: lengths and chunks, in pieces of any size."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.http.problems import Problem
from service.server.framing import MAX_LINE, SPARE_BYTES, Chunks, Length


def taken(frame, pieces):
    """Bytes of the pieces that a frame takes, and those that it leaves."""
    mine, others = b"", b""
    for piece in pieces:
        used = frame.take(piece)
        mine, others = mine + piece[:used], others + piece[used:]
    return mine, others


def pieces_of(data, draw):
    """The data in pieces that are cut anywhere."""
    cuts = sorted(draw(st.lists(st.integers(0, len(data)), max_size=8)))
    return [data[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(data)], strict=True)]


@given(st.data(), st.lists(st.binary(min_size=1, max_size=9), max_size=6), st.binary(max_size=9), st.booleans())
def test_chunks_end_where_they_end_however_they_arrive(data, parts, behind, with_trailer):
    chunks = b"".join(b"%x;name=value\r\n%b\r\n" % (len(part), part) for part in parts)
    body = chunks + b"0\r\n" + (b"X-Sum: 1\r\n" if with_trailer else b"") + b"\r\n"
    frame = Chunks(most=100)
    assert taken(frame, pieces_of(body + behind, data.draw)) == (body, behind)
    assert frame.is_whole
    assert not frame.is_cut


@given(st.data(), st.binary(max_size=30), st.binary(max_size=9))
def test_a_length_is_taken_and_no_more(data, body, behind):
    frame = Length(len(body), most=30)
    assert taken(frame, pieces_of(body + behind, data.draw)) == (body, behind)
    assert frame.is_whole


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"zz\r\n", "a chunk of the body begins with no size"),
        (b"-1\r\n", "begins with no size"),
        (b"0x1\r\n", "begins with no size"),
        (b"11111111111111111\r\n", "begins with no size"),
        (b"1\na", "begins with no size"),
        (b"1;\rx\r\n", "begins with no size"),
        (b"1\r\nab\r\n", "a chunk of the body is longer than its size"),
        (b"1\r\na\n", "is longer than its size"),
        (b"0\r\nX: 1\n", "a trailer of the body ends without a carriage return"),
        (b"1" * (MAX_LINE + 1), "the chunks of the body are too small, or hold more than the body"),
        (b"1\r\na\r\n" * (SPARE_BYTES // 5 + 2_000), "the chunks of the body are too small"),
        (b"0\r\n" + b"X: 1\r\n" * (SPARE_BYTES // 6 + 1), "hold more than the body"),
    ],
)
def test_what_are_no_chunks_is_refused(body, message):
    with pytest.raises(Problem, match=message) as caught:
        Chunks(most=10**6).take(body)
    assert caught.value.status == 400


def test_a_body_above_the_limit_is_not_waited_for():
    assert Length(11, most=10).is_cut
    assert not Length(10, most=10).is_cut
    assert Chunks(most=5).take(b"5\r\nabc") == 6
    message = r"at most 4 bytes in a body \(RANKCORR_MAX_BODY_BYTES\); a chunk of it makes that 5"
    for chunks in (b"5\r\n", b"2\r\nab\r\n3\r\n"):
        with pytest.raises(Problem, match=message) as caught:
            Chunks(most=4).take(chunks)
        assert caught.value.status == 413
    with pytest.raises(Problem, match="at most 4 bytes"):
        Chunks(most=4).take(b"ffffffffffffffff\r\n")


def test_what_is_missing_is_said():
    length, chunks = Length(9, most=9), Chunks(most=9)
    length.take(b"four")
    chunks.take(b"8\r\nfour")
    assert length.missing() == "Content-Length says 9, and 4 bytes came"
    assert chunks.missing() == "4 bytes came, and no last chunk"
