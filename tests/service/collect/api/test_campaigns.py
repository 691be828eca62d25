"""Creating campaigns, and previews of items and plans."""

import base64

import pytest

from adaptive.ledger import Ledger
from tests.adaptive.ledger.campaigns import query
from tests.service.collect.browsing import ADMIN, CSV, ITEMS, REQUEST, Organiser, new_voter, problem

PROBES = "left,right,winner,kind\n"


def make_campaign(admin, **fields):
    return admin.call("POST", "/v1/campaigns", json={**REQUEST, **fields})


def preview(admin, **fields):
    """The preview of a plan, by default for ten voters."""
    answer = admin.call("POST", "/v1/campaigns/plan", json={"voters": 10, **fields})
    assert answer.status_code == 200, answer.text
    return answer.json


def rows(target):
    from adaptive.ledger import Ledger

    return query(Ledger.create(target), "SELECT name FROM campaign")


def test_a_campaign_is_created_with_its_pages_and_its_organisers_link(admin, target):
    answer = make_campaign(admin)
    assert answer.status_code == 201
    key, token = answer.json["campaign"], answer.json["token"]
    assert answer.json["organiser_url"] == f"http://localhost/o/{key}#{token}"
    organiser = Organiser(admin.app, token, key)
    about = organiser.get().json
    assert (about["voters"], about["seed"]) == (4, "1")
    assert (about["settings"]["sheet_size"], about["settings"]["assigned"]) == (3, False)
    assert about["voter_url"] == f"http://localhost/v/{key}"
    pages = organiser.get("/pages").json
    assert (pages["version"], pages["pages"]["open_link"]) == (1, True)
    assert rows(target) == [("trees",)]


@pytest.fixture
def illustrator(make_app, tmp_path):
    """A client that may create campaigns, on a server with one image."""
    folder = tmp_path / "assets"
    folder.mkdir()
    (folder / "ash.png").write_bytes(b"png")
    return Organiser(make_app(tokens=(ADMIN,), assets=str(folder)), ADMIN)


def test_an_image_is_stored_once_under_its_checksum(illustrator, tmp_path):
    image = b"\x89PNG\r\n\x1a\n and more"
    body = {"image": base64.b64encode(image).decode()}
    for _ in range(2):
        answer = illustrator.call("POST", "/v1/campaigns/images", json=body)
        assert answer.status_code == 201
    name = answer.json["content"]
    assert sorted(path.name for path in (tmp_path / "assets").iterdir()) == sorted([name, "ash.png"])
    with illustrator.client.get(f"/assets/{name}") as served:
        assert (served.data, served.mimetype) == (image, "image/png")
    csv = f"item,kind,content,alt_text\noak,image,{name},An oak\nfir,,,\n"
    assert illustrator.call("POST", "/v1/campaigns/check", json={"items_csv": csv}).json["faults"] == []


@pytest.mark.parametrize("image", [b"<svg xmlns='http://www.w3.org/2000/svg'/>", b"", b"RIFF"])
def test_only_images_are_stored(illustrator, image, tmp_path):
    body = {"image": base64.b64encode(image).decode()}
    assert illustrator.call("POST", "/v1/campaigns/images", json=body).status_code == 422
    assert illustrator.call("POST", "/v1/campaigns/images", json={"image": "no base64!"}).status_code == 422
    assert [path.name for path in (tmp_path / "assets").iterdir()] == ["ash.png"]


def test_images_need_a_folder_and_a_token(admin, illustrator, tmp_path):
    body = {"image": base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()}
    assert admin.call("POST", "/v1/campaigns/images", json=body).status_code == 403
    assert illustrator.call("POST", "/v1/campaigns/images", json=body, token="another").status_code == 401
    (tmp_path / "assets" / "ash.png").unlink()
    (tmp_path / "assets").rmdir()
    answer = illustrator.call("POST", "/v1/campaigns/images", json=body)
    assert (answer.status_code, "RANKCORR_ASSETS" in answer.json["detail"]) == (503, True)


@pytest.mark.parametrize(
    ("caller_name", "row", "message"),
    [
        ("illustrator", "oak,image,oak.png,An oak", "there is no file oak.png in the folder for images and sounds"),
        ("illustrator", "oak,audio,oak.txt,An oak", "a file that ends with .png, .jpg,"),
        ("admin", "oak,image,ash.png,An oak", "this server has no folder for images and sounds (RANKCORR_ASSETS)"),
    ],
)
def test_a_missing_image_is_refused_with_its_line(caller_name, row, message, request, target):
    caller = request.getfixturevalue(caller_name)
    csv = f"item,kind,content,alt_text\nfir,,,\n{row}\nelm,,,\n"
    checked = caller.call("POST", "/v1/campaigns/check", json={"items_csv": csv}).json
    (fault,) = checked["faults"]
    assert (fault["line"], fault["column"], checked["n_items"]) == (3, "content", 2)
    assert fault["message"].startswith(message)
    refused = make_campaign(caller, items_csv=csv)
    assert refused.status_code == 422
    assert f'line 3: column "content": {message}' in refused.json["errors"]["/items_csv"][0]
    assert rows(target) == []


def test_items_come_with_their_contents(illustrator):
    csv = "item,kind,content,alt_text\nash,image,ash.png,An ash\noak,markdown,**oak**,\nfir,,,\n"
    organiser = illustrator.make(items_csv=csv, plan={"n_ballots": 2, "fraction": 0.8, "presentations": 2})
    result = {row["item"]: row for row in organiser.get("/items").json["items"]}
    assert (result["ash"]["kind"], result["ash"]["content"], result["ash"]["alt_text"]) == (
        "image",
        "ash.png",
        "An ash",
    )
    assert (result["oak"]["kind"], result["oak"]["content"]) == ("markdown", "**oak**")
    assert (result["fir"]["kind"], result["fir"]["content"]) == ("text", None)


def test_items_of_several_parts_stay_tuples(admin):
    csv = "item_1\titem_2\nsalary\twage\nsalary\ttax\nwage\ttax\n"
    organiser = admin.make(items_csv=csv, plan={"n_ballots": 2, "fraction": 0.8, "presentations": 2})
    assert ["salary", "tax"] in [row["item"] for row in organiser.get("/items").json["items"]]


def test_a_seed_is_drawn_if_none_is_given(admin):
    request = {name: value for name, value in REQUEST.items() if name != "seed"}
    answers = [admin.call("POST", "/v1/campaigns", json=request).json for _ in range(2)]
    first, second = (Organiser(admin.app, answer["token"], answer["campaign"]).get().json["seed"] for answer in answers)
    assert first != second
    assert admin.make(seed=int(first)).get().json["seed"] == first
    assert admin.make(seed=0).get().json["seed"] == "0"


def test_known_pairs_are_read_from_csv(admin):
    organiser = admin.make(settings={"probes_csv": f"{PROBES}ash,birch,left,attention\n", "repeats": 0.25})
    probing = organiser.get().json["settings"]["probing"]
    assert (probing["repeats"], len(probing["known"])) == (0.25, 1)
    assert organiser.get("/plan").json["spending"]["n_probes"] > 0


@pytest.mark.parametrize(
    ("fields", "pointer", "message"),
    [
        ({"name": "two\nlines"}, "/name", "one line"),
        ({"voters": 0}, "/voters", "of at least 1"),
        ({"plan": {"presentations": 4, "hours": 1}}, "/plan", "exactly one of presentations"),
        ({"plan": {"hours": 1}}, "/plan/seconds", "this field is needed"),
        ({"plan": {"mode": "continuous", "presentations": 4}}, "/plan/presentations", "cannot be combined with mode"),
        ({"plan": {"mode": "continuous"}}, "/plan", "exactly one of budget, hours is needed; got none"),
        ({"plan": {"budget": {"euros": 9}}}, "/settings/pay", "the budget is of money"),
        ({"plan": {"budget": {"euros": 9, "pay": 12}}}, "/plan/seconds", "the pay is for an hour"),
        ({"plan": {"budget": {"euros": 9, "pay": 2}, "seconds": 6}, "settings": {"pay": {"per_vote": 1}}},
         "/plan/budget/pay", "cannot be combined with settings.pay"),
        ({"plan": {"budget": {"pay": 12}}}, "/plan/budget/euros", "this field is needed"),
        ({"plan": {"budget": {"euros": 9, "pounds": 12}}}, "/plan/budget/pounds", "unknown field"),
        ({"plan": {"budget": {"euros": -1}}}, "/plan/budget/euros", "above 0"),
        ({"plan": {"budget": "300"}}, "/plan/budget", "a number of comparisons, or an object with euros"),
        ({"plan": {"budget": {"euros": 1e-9, "pay": 12}, "seconds": 6}}, "/plan", "pays for not even one answer"),
        ({"plan": {"mode": "both"}}, "/plan/mode", 'must be one of "ballots", "continuous"'),
        ({"plan": {"presentations": 4, "n_ballots": 9}}, "/plan", "every ballot needs at least two items"),
        ({"plan": {"mode": "continuous", "budget": 9, "colour": 1}}, "/plan/colour", "unknown field"),
        ({"plan": {"presentations": 4, "set_size": 4}}, "/plan/set_size", "cannot be combined with mode 'ballots'"),
        ({"plan": {"mode": "continuous", "budget": 9, "set_size": 7}}, "/plan/set_size", "6"),
        ({"plan": {"mode": "continuous", "budget": 9, "set_size": 3}, "settings": {"grades": 2}},
         "/settings", "grades are for pairs"),
        ({"settings": {"repeats": 0.9}}, "/settings/repeats", "of at most 0.5"),
        ({"settings": {"probes_csv": "left,right\nash,oak\n"}}, "/settings/probes_csv", 'no column "winner"'),
        ({"settings": {"probes_csv": f"{PROBES}ash,elm,left,gold\n"}}, "/settings/probes_csv", "is not an item of the"),
        ({"settings": {"pay": {}}}, "/settings/pay", "pay must be per vote or per hour; got neither"),
        ({"pages": {"texts": []}}, "/pages", "in at least one language"),
        ({"pages": {"texts": [{"language": "E", "title": "T", "question": "Q"}]}}, "/pages", "must be a tag"),
    ],
)  # fmt: skip
def test_errors_are_named_and_nothing_is_created(admin, target, fields, pointer, message):
    answer = make_campaign(admin, **fields)
    assert answer.status_code == 422, answer.text
    assert problem(answer)[0] == "invalid-request"
    assert message in " ".join(answer.json["errors"][pointer])
    assert rows(target) == []


def test_only_a_token_of_the_service_can_create_campaigns(make_app, admin):
    for token in ("", "another-token-of-nobody"):
        answer = admin.call("POST", "/v1/campaigns", json=REQUEST, token=token)
        assert (answer.status_code, problem(answer)[0]) == (401, "token-needed")
    closed = Organiser(make_app(), ADMIN)
    assert closed.call("POST", "/v1/campaigns", json=REQUEST).status_code == 403
    assert closed.call("POST", "/v1/campaigns/check", json={"items_csv": "item\na\nb\n"}).status_code == 403
    assert closed.call("POST", "/v1/campaigns/plan", json={}).status_code in (403, 422)


def test_all_errors_of_a_table_are_listed_by_line(admin):
    csv = "item,kind,content,alt_text\nash,image,ash.png,\n oak,,,\nfir,text\nelm,image,../x.png,Elm\nyew,,,\nyew,,,\n"
    answer = admin.call("POST", "/v1/campaigns/check", json={"items_csv": csv})
    assert answer.status_code == 200
    faults = [(fault["line"], fault["column"]) for fault in answer.json["faults"]]
    assert faults == [(2, "alt_text"), (2, "content"), (3, "item"), (4, None), (5, "content"), (7, "item")]
    assert answer.json["n_items"] == 1
    assert answer.json["first"] == [{"item": "yew", "kind": "text", "content": None, "alt_text": None}]


def test_the_preview_of_a_plan_has_comparisons_and_costs(admin):
    # 40 items, 10 presentations: 200 and 100 comparisons of 6 s take half an hour, at 12 an hour and a fee of 25 %.
    settings = {"pay": {"per_hour": 12, "seconds": 6, "fee": 0.25, "currency": "EUR"}, "sheet_size": 10}
    result = preview(admin, n_items=40, plan={"n_ballots": 2, "presentations": 10}, settings=settings)
    assert result["plan"]["sizes"] == [40, 20]
    assert result["plan"]["comparisons"] == [200, 100]
    spending = result["spending"]
    assert (spending["n_comparisons"], spending["n_sheets"], spending["hours"]) == (300, 20, 0.5)
    assert (spending["pay"], spending["fee"], spending["cost"]) == pytest.approx((6.0, 1.5, 7.5))
    assert result["outlook"] is None
    assert "few_top_presentations" in [note["code"] for note in result["advice"]]


@pytest.mark.parametrize(
    ("plan", "most"),
    [
        ({"mode": "continuous", "budget": 12_000}, 2_970),
        ({"n_ballots": 2, "comparisons": 12_000}, 2_970 + 693),  # 45 and 22 items: 3 x 990 and 3 x 231 at most
    ],
)
def test_a_plan_that_its_voters_cannot_finish_gives_advice(admin, plan, most):
    advice = preview(admin, n_items=45, voters=3, plan=plan)["advice"]
    (advice,) = [note for note in advice if note["code"] == "too_many_comparisons"]
    assert advice["bound"] == most
    assert "voter_sees_pair_twice" not in [note["code"] for note in preview(admin, n_items=45, plan=plan)["advice"]]
    more = preview(admin, n_items=45, voters=60, plan=plan)["advice"]
    assert "too_many_comparisons" not in [note["code"] for note in more]


PAY = {"per_hour": 12, "seconds": 6, "fee": 0.25, "currency": "EUR"}  # 2.5 cents an answer, 1.667 of them hours of 6 s


@pytest.mark.parametrize("mode", ["ballots", "continuous"])
def test_a_plan_from_money_or_hours_stays_within_it_in_both_modes(admin, mode):
    by_money = preview(admin, n_items=66, plan={"mode": mode, "budget": {"euros": 300}}, settings={"pay": PAY})
    assert 297 < by_money["spending"]["cost"] <= 300
    own_pay = {"mode": mode, "budget": {"euros": 300, "pay": 12, "fee": 0.25}, "seconds": 6}
    assert preview(admin, n_items=66, plan=own_pay)["plan"] == by_money["plan"]
    by_hours = preview(admin, n_items=66, plan={"mode": mode, "hours": 20}, settings={"pay": PAY})
    assert 19.8 < by_hours["spending"]["hours"] <= 20
    assert by_hours["plan"] == by_money["plan"]  # 300 at 15 an hour
    assert preview(admin, n_items=66, plan={"mode": mode, "hours": 20, "seconds": 6})["plan"] == by_hours["plan"]
    with_checks = {"pay": PAY, "repeats": 0.2}
    fewer = preview(admin, n_items=66, plan={"mode": mode, "budget": {"euros": 300}}, settings=with_checks)["spending"]
    assert 295 < fewer["cost"] <= 300
    assert fewer["n_comparisons"] < by_money["spending"]["n_comparisons"]


def test_a_budget_of_comparisons_holds_in_both_modes(admin):
    ballots = preview(admin, n_items=66, plan={"budget": 900})["plan"]
    assert ballots == preview(admin, n_items=66, plan={"comparisons": 900})["plan"]
    assert preview(admin, n_items=66, plan={"mode": "continuous", "budget": 900})["plan"]["comparisons"] == [900]


def test_the_pay_of_a_budget_is_that_of_the_campaign(admin):
    plan = {"mode": "continuous", "budget": {"euros": 30, "pay": 12}, "seconds": 6}
    pay = admin.make(plan=plan).get().json["settings"]["pay"]
    assert (pay["per_hour"], pay["seconds"], pay["fee"]) == (12, 6, 0)


def test_the_cost_of_a_plan_is_that_of_its_campaign(admin):
    # One practice pair for each of 2 voters, one attention check on each of 4 + 2 sheets.
    csv = f"{PROBES}ash,birch,left,practice\ncedar,oak,left,attention\n"
    settings = {"sheet_size": 3, "probes_csv": csv, "pay": {"per_vote": 1}}
    body = {"items_csv": CSV, "voters": 2, "plan": {"n_ballots": 2, "presentations": 4}, "settings": settings}
    looked_at = preview(admin, **body)["spending"]
    assert (looked_at["n_probes"], looked_at["cost"]) == (2 + 6, 18 + 8)
    organiser = admin.make(**body)
    assert organiser.get("/plan").json["spending"] == looked_at
    assert organiser.get("/progress").json["status"]["spending"]["expected"] == looked_at["cost"]


@pytest.mark.parametrize(
    ("fields", "pointer", "message"),
    [
        ({}, "", "exactly one of n_items, items_csv"),
        ({"n_items": 6, "items_csv": CSV}, "", "exactly one of n_items, items_csv"),
        ({"n_items": 6, "settings": {"probes_csv": "left\n"}}, "/items_csv", "settings.probes_csv names items"),
        ({"n_items": 200_000, "plan": {"presentations": 1_000}}, "/plan", "at most 2,000,000 comparisons"),
    ],
)
def test_a_plan_needs_its_items_and_has_a_limit(admin, fields, pointer, message):
    body = {"voters": 2, "plan": {"presentations": 4}, **fields}
    answer = admin.call("POST", "/v1/campaigns/plan", json=body)
    assert answer.status_code == 422, answer.text
    assert message in " ".join(answer.json["errors"][pointer])


@pytest.mark.wide
def test_the_accuracy_of_a_plan_is_simulated(admin):
    body = {"n_items": 12, "plan": {"presentations": 10}, "accuracy": True}
    result = preview(admin, **body)["outlook"]
    assert result["n_simulations"] == 40
    for name in ("scores", "strengths"):
        reached = result[name]
        assert reached["low"] <= reached["mean"] <= reached["high"]
        assert 0.7 < reached["mean"] <= 1
    assert preview(admin, **body)["outlook"] == result


@pytest.mark.wide
def test_advice_does_not_contradict_the_accuracy(admin):
    rules = {"few_top_presentations", "few_comparisons"}
    body = {"n_items": 30, "plan": {"presentations": 12, "n_ballots": 4}}
    assert rules <= {note["code"] for note in preview(admin, **body)["advice"]}
    result = preview(admin, **body, accuracy=True)
    assert result["outlook"]["strengths"]["mean"] >= 0.95
    assert not rules & {note["code"] for note in result["advice"]}
    result = preview(admin, n_items=30, plan={"presentations": 1, "n_ballots": 2}, accuracy=True)
    assert result["outlook"]["strengths"]["mean"] < 0.95
    assert rules <= {note["code"] for note in result["advice"]}


@pytest.mark.parametrize(("n_items", "is_possible"), [(19, False), (20, True)])
def test_advice_keeps_at_least_two_items_in_the_last_ballot(admin, n_items, is_possible):
    result = preview(admin, n_items=n_items, plan={"presentations": 20, "n_ballots": 2})
    assert ("many_survivors" in [note["code"] for note in result["advice"]]) == is_possible


@pytest.mark.wide
def test_the_accuracy_of_a_continuous_plan_is_simulated_too(admin):
    result = preview(admin, n_items=10, plan={"mode": "continuous", "budget": 50}, accuracy=True)
    assert result["plan"]["batch"] == 10
    assert result["outlook"]["scores"] is None
    assert result["outlook"]["strengths"]["mean"] > 0.7


def test_very_large_plans_are_not_simulated(admin):
    result = preview(admin, n_items=5_000, plan={"mode": "continuous", "budget": 200_000}, accuracy=True)
    assert result["outlook"]["n_simulations"] == 0


def test_a_campaign_is_accessible_only_to_its_organiser(admin, organiser):
    other = admin.make(name="other")
    for token in ("", other.token, ADMIN):
        answer = organiser.call("GET", f"/v1/campaigns/{organiser.key}", token=token)
        assert (answer.status_code, problem(answer)[0]) == (401, "token-needed")
    for key in ("0" * 32, "trees", ITEMS[0]):  # same answer as for an existing campaign, so keys cannot be guessed
        assert organiser.call("GET", f"/v1/campaigns/{key}").status_code == 401


@pytest.mark.parametrize("path", ["", "/check", "/plan"])
def test_bodies_of_unauthorized_requests_are_not_read(admin, path):
    answer = admin.call("POST", f"/v1/campaigns{path}", token="a-token-of-nobody-at-all", json={"items_csv": 7})
    assert (answer.status_code, problem(answer)[0]) == (401, "token-needed")


# Target groups

TARGETS = {
    "singer": {"musician": "positive", "person": "positive", "artist": "positive", "song": "distractor"},
    "oak": {"tree": "positive", "plant": "positive", "ink": "random"},
}
OF_TARGETS = {name: value for name, value in REQUEST.items() if name not in ("items_csv", "plan")}
OF_TARGETS |= {"targets": TARGETS, "answers": 2}


def test_a_campaign_of_target_groups_is_created_answered_and_exported(admin, target):
    answer = admin.call("POST", "/v1/campaigns", json=OF_TARGETS)
    assert answer.status_code == 201, answer.text
    organiser = Organiser(admin.app, answer.json["token"], answer.json["campaign"])
    organiser.open()
    campaign = Ledger.open(target).campaign()
    n_asked = 0
    for voter in [new_voter(admin.app, campaign) for _ in range(2)]:
        while (sheet := voter.post("/v1/sheets").json.get("sheet")) is not None:
            for pair in sheet["pairs"]:
                words = {pair["left"]["text"], pair["right"]["text"]}
                assert words <= {word for word, kind in TARGETS[pair["target"]].items() if kind == "positive"}
                better = "left" if pair["left"]["text"] < pair["right"]["text"] else "right"
                assert voter.vote(pair["id"], better).status_code == 200
                n_asked += 1
    assert n_asked == 8
    groups = campaign.target_groups()
    assert set(groups.n_answers.values()) == {2}
    assert set(groups.shares.values()) <= {0.0, 1.0}
    exported = organiser.get("/exports/target_groups")
    assert exported.text == groups.to_csv()


@pytest.mark.parametrize(
    ("fields", "pointer", "message"),
    [
        ({"answers": None}, "/answers", "may not be null"),
        ({"targets": {}}, "/targets", "must be an object of target to candidates"),
        ({"targets": ["oak"]}, "/targets", "must be an object of target to candidates"),
        ({"targets": 1.5}, "/targets", "must be an object of target to candidates"),
        ({"targets": {"oak": {"tree": "positive"}}}, "/targets", "target 'oak' needs two positive candidates"),
        ({"targets": {"oak": {"tree": "best", "plant": "positive"}}}, "/targets", "the category of 'tree'"),
        ({"targets": {"oak": 3}}, "/targets", "must map each to its category"),
        ({"plan": REQUEST["plan"]}, "/plan", "cannot be combined with targets"),
        ({"items_csv": CSV}, "", "exactly one of items_csv, targets is needed"),
    ],
)
def test_options_that_exclude_target_groups_are_named(admin, fields, pointer, message):
    answer = admin.call("POST", "/v1/campaigns", json={**OF_TARGETS, **fields})
    assert message in str(answer.json["errors"].get(pointer)), answer.json


def test_targets_and_items_need_their_fields(admin):
    for request, needed in ((OF_TARGETS, "answers"), (REQUEST, "plan")):
        answer = admin.call(
            "POST", "/v1/campaigns", json={key: value for key, value in request.items() if key != needed}
        )
        assert "this field is needed: it belongs to" in answer.json["errors"][f"/{needed}"][0]
