import pytest

from rankcorr._shares import weight_table

PATH = "/v1/weights"


@pytest.mark.parametrize(
    ("query", "options"),
    [
        ("", {}),
        ("?n0=2&top=10&n_items=990", {"n0": 2, "top": 10, "n_items": 990}),
        ("?n0=-0.5&top=1", {"n0": -0.5, "top": 1}),
        ("?share=0.3&k=1", {"share": 0.3, "k": 1}),
        ("?share=5e-1&k=12&n_items=100", {"share": 0.5, "k": 12, "n_items": 100}),
        ("?top=1000", {"top": 1000}),
    ],
)
def test_the_answer_is_the_library_call(client, query, options):
    answer = client.get(PATH + query)
    assert answer.status_code == 200
    expected = weight_table(**options)
    assert answer.json == {
        "n0": expected.n0,
        "first_rank_share": expected.first_rank_share,
        "n_items": options.get("n_items"),
        "ranks": expected.table(),
    }


@pytest.mark.parametrize(
    ("query", "pointer", "message"),
    [
        ("n0=-1", "/n0", "must be a number above -1"),
        ("n0=1_0", "/n0", 'got "1_0"'),
        ("n0=1e999", "/n0", 'got "1e999"'),
        ("top=0", "/top", 'must be a whole number of at least 1 and of at most 1000; got "0"'),
        ("top=2.5", "/top", 'got "2.5"'),
        ("k=1e2", "/k", 'got "1e2"'),
        ("to=3", "/to", "unknown field"),
    ],
)
def test_queries_that_the_schema_refuses(client, query, pointer, message):
    answer = client.get(f"{PATH}?{query}")
    assert answer.status_code == 422
    assert list(answer.json["errors"]) == [pointer]
    assert message in answer.json["errors"][pointer][0]


@pytest.mark.parametrize(
    ("query", "kind", "message"),
    [("n0=2&share=0.3", "option", "give n0 or share, not both"), ("share=1.5", "share", "share must")],
)
def test_queries_that_the_library_refuses(client, query, kind, message):
    answer = client.get(f"{PATH}?{query}")
    assert answer.status_code == 422
    assert answer.json["type"] == f"urn:rankcorr:problem:{kind}"
    assert message in answer.json["detail"]
