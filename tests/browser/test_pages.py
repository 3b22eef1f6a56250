"""The pages in a real browser: read by role and name, sorted, narrowed down, without a mouse, in the dark, on paper."""

from __future__ import annotations

import json
import re

import pytest

from tests.support import ROOT
from tests.support.build import HOSTNAME, constraint
from tests.support.placing import node
from tests.support.reporting import deployment, pods

EXAMPLES = ROOT / "docs" / "examples"
MANY, MOST_BYTES, TIMES, PAGE = 2_000, 5_000_000, 4, re.compile(rb"/Type\s*/Page\b")
FOCUSED = "(found) => found.map((one) => [one.id || one.tagName, getComputedStyle(one).outlineStyle])"
SET = "(found, [value, event]) => { found.value = value; found.dispatchEvent(new Event(event)); }"
PICTURE = 16_384  # The pixels of the longest picture.
# Words of letters that stand on two lines, and text beyond the edge of the page.
CUT = """(() => {
  const cut = [], walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode, parent = text.parentElement;
    if (!parent.checkVisibility() || parent.closest(".vh")) continue;
    for (const word of text.data.matchAll(/[A-Za-z]+/g)) {
      const range = document.createRange();
      range.setStart(text, word.index);
      range.setEnd(text, word.index + word[0].length);
      const boxes = Array.from(range.getClientRects());
      if (new Set(boxes.map((box) => Math.round(box.top))).size > 1) cut.push(word[0]);
      if (boxes.some((box) => box.right > innerWidth)) cut.push(word[0] + " beyond the edge");
    }
  }
  return cut;
})()"""
HOSTILE = '"><img src=x onerror=alert(1)><script>alert(2)</script>'


@pytest.fixture(scope="module")
def example(made):
    folder = EXAMPLES / "report"
    policies = ("--policy", str(folder / "new.yaml"), "--compare", str(folder / "old.yaml"))
    return made(["report", "-A", "--cluster", str(folder / "cluster.yaml"), *policies])


@pytest.fixture(scope="module")
def empty(made, tmp_path_factory):
    return made(["report", "-A", "--cluster", str(listed(tmp_path_factory))])


@pytest.fixture(scope="module")
def many(made, tmp_path_factory):
    return made(["report", "-A", "--cluster", str(workloads_of(MANY, tmp_path_factory))])


@pytest.fixture(scope="module")
def fewer(made, tmp_path_factory):
    return made(["report", "-A", "--cluster", str(workloads_of(MANY // TIMES, tmp_path_factory))])


@pytest.fixture(scope="module")
def ten(made, tmp_path_factory):
    """Ten workloads in three namespaces with long names and four constraints each, that wait for three causes."""
    nodes = [
        node(f"ip-10-0-{i}-{j}.eu-central-1.compute.internal", zone, labels={"rack": f"{j}"}, unschedulable=zone == "c")
        for i, zone in enumerate("abc")
        for j in range(3)
    ]
    names, objects = [each["metadata"]["name"] for each in nodes], [*nodes]
    for i in range(10):
        name = f"service-{i}-with-a-name-of-many-words-and-of-some-length"
        keys = {"topology.kubernetes.io/zone": 1, HOSTNAME: 1, "rack": 1 + i, "disk": 1}
        own = {"labelSelector": {"matchLabels": {"app": name}}}
        rows = [constraint(topologyKey=key, maxSkew=most, **own) for key, most in keys.items()]
        there = pods(*[names[0]] * (i + 1), names[3], "", "", name=name)
        for each in there:
            each["spec"] |= {"topologySpreadConstraints": rows[: 3 + i % 2]}
            each["spec"] |= {"nodeSelector": {"pool": "none"}} if i % 3 == 0 else {}
        for each in (of_workload := [*deployment(*rows, name=name), *there]):
            each["metadata"]["namespace"] = f"team-{i % 3}"
        objects += of_workload
    return made(["report", "-A", "--cluster", str(listed(tmp_path_factory, *objects))])


def workloads_of(number, tmp_path_factory):
    """The file of a cluster with so many workloads."""
    nodes = [node(f"{zone}{i}", zone) for zone in "abc" for i in range(20)]
    objects = [
        one
        for i in range(number)
        for name in [f"app-{i}"]
        for one in (
            *deployment(constraint(), constraint(topologyKey=HOSTNAME), name=name),
            *pods(f"a{i % 20}", f"b{i % 20}", "" if i == 7 else f"a{(i + 1) % 20}", name=name),
        )
    ]
    return listed(tmp_path_factory, *nodes, *objects)


@pytest.fixture(scope="module")
def hostile(made, tmp_path_factory):
    """Everything that a cluster names is a script."""
    own = deployment(constraint(), name=HOSTILE)
    waiting = pods("", name=HOSTILE, annotations={HOSTILE: HOSTILE})
    nodes = [
        node(HOSTILE, HOSTILE),
        node("b1", "b", taints=[{"key": HOSTILE, "value": HOSTILE, "effect": "NoSchedule"}]),
    ]
    return made(["report", "-A", "--cluster", str(listed(tmp_path_factory, *nodes, *own, *waiting, *pods(HOSTILE)))])


def listed(tmp_path_factory, *objects):
    file = tmp_path_factory.mktemp("cluster") / "cluster.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    return file


def workloads(page):
    """Those that are shown, in their order, from the headers of their rows."""
    table = page.get_by_role("table", name="Workloads, ")
    return [one.text_content().split()[0] for one in table.get_by_role("rowheader").all()]


def test_what_is_shown_is_read_by_role_and_name(opened, example):
    page = opened(example)

    assert page.get_by_role("heading", name="How the Pods are spread", level=1).is_visible()
    assert ["cart", "web", "db", "search", "db-shell"] == workloads(page)
    page.get_by_role("group").filter(has_text="More of web").locator("summary").click()
    assert page.get_by_role("img", name="Pods per domain, zone: a 2; b 1; c 0, no node takes these Pods").is_visible()
    row = page.get_by_role("row", name="web Deployment in shop")
    assert ["3 + 1 waiting", "67% (a)", "zone: 2, allowed 1", "1 warning\n1 info", "warned"] == [
        cell.inner_text().strip().replace("\u00a0", " ") for cell in row.get_by_role("cell").all()
    ]


def test_sorting(opened, example):
    page = opened(example)
    sort = page.get_by_role("combobox", name="Sort by")

    sort.select_option(label="share in one zone")
    assert ["db", "search", "db-shell", "web", "cart"] == workloads(page)
    sort.select_option(label="namespace and name")
    assert ["cart", "db", "db-shell", "search", "web"] == workloads(page)
    sort.select_option(label="the worst")
    assert ["cart", "web", "db", "search", "db-shell"] == workloads(page)


def test_narrowing_down(opened, example):
    page = opened(example)
    find, show = page.get_by_role("searchbox", name="Find"), page.get_by_role("combobox", name="Show")

    find.fill("DEPLOYMENT shop")
    assert ["cart", "web", "search"] == workloads(page)
    assert "3 of 5 workloads" == page.get_by_role("status").inner_text()
    show.select_option(label="with a constraint that spreads nothing")
    assert ["cart"] == workloads(page)
    find.fill("")
    show.select_option(label="that lose every Pod with one zone")
    assert ["db", "search"] == workloads(page)
    find.fill("nothing like it")
    assert [] == workloads(page)
    assert "0 of 5 workloads" == page.get_by_role("status").inner_text()


def test_the_address_keeps_what_is_chosen(opened, example):
    """So that it can be passed on, and is there again after a reload; what it does not know is nothing chosen."""
    page = opened(example)
    page.get_by_role("searchbox", name="Find").fill("deployment a&b=c")
    page.get_by_role("searchbox", name="Find").fill("deployment")
    page.get_by_role("combobox", name="Show").select_option("uneven")
    page.get_by_role("combobox", name="Sort by").select_option("name")
    assert page.url.endswith("#find=deployment&show=uneven&sort=name")

    page.reload()
    page.said.clear()
    assert ["web"] == workloads(page)
    assert ("uneven", "name") == (page.locator("#show").input_value(), page.locator("#sort").input_value())
    page.evaluate("location.hash = 'sort=0&show=nothing'")
    page.wait_for_function("document.getElementById('sort').value === '0'")
    assert ["db", "search", "db-shell", "web", "cart"] == workloads(page)


def test_a_pod_that_waits_opens_without_a_mouse(opened, example):
    page = opened(example)
    table = page.get_by_role("table", name="constraint 0, topology.kubernetes.io/zone")

    assert not table.is_visible()
    page.keyboard.press("Tab")  # To the table of zones, which the arrow keys scroll.
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert table.get_by_role("row", name="a 2 2 + 1 - 0 = 3 > 1 2 refused").is_visible()


def test_all_that_takes_the_focus_is_reached_and_shows_it(opened, example):
    page, reached = opened(example), []
    for _ in range(20):
        page.keyboard.press("Tab")
        reached.append(page.locator("*:focus").evaluate_all(FOCUSED))

    found = [one for those in reached for one in those]
    assert {"find", "show", "sort", "SUMMARY"} <= {name for name, _ in found}
    assert {"solid"} == {outline for _, outline in found}


def test_without_a_script_everything_is_there_to_read(opened, example):
    page = opened(example, script=False)

    assert not page.get_by_role("searchbox").is_visible()
    assert page.get_by_role("rowheader", name="cart").is_visible()
    page.locator("details.waiting summary").click()
    assert page.get_by_text("uncordon c1 (zone c)").is_visible()


def test_on_paper_is_what_is_open_and_nothing_to_press(opened, example):
    """And it is white, whatever the screen is."""
    page = opened(example, scheme="dark")
    first, second = page.locator("#workloads details").nth(0), page.locator("#workloads details").nth(1)
    second.locator("summary").click()

    page.emulate_media(media="print")
    assert not first.is_visible()
    assert second.locator("svg.chart").first.is_visible()
    assert not page.get_by_role("searchbox").is_visible()
    assert "rgb(255, 255, 255)" == page.evaluate("getComputedStyle(document.body).backgroundColor")


@pytest.mark.parametrize("paper", ["A4", "Letter"])
def test_ten_workloads_are_two_pages_on_paper(opened, ten, paper):
    page = opened(ten)

    assert 10 == len(workloads(page))
    assert len(PAGE.findall(page.pdf(format=paper))) <= 2


@pytest.mark.parametrize("media", ["screen", "print"])
@pytest.mark.parametrize("name", ["ten", "fewer", "many"])
def test_a_picture_of_the_whole_page_shows_every_row(opened, request, name, media):
    """As many as a picture has room for; what a search leaves of more than that, too."""
    page = opened(request.getfixturevalue(name))
    page.emulate_media(media=media)
    assert [] == [top for top in blank(page) if top < PICTURE]

    page.locator("#find").evaluate(SET, ["-7", "input"])
    assert [] == blank(page)


def blank(page):
    """How far down the page each row begins that is not drawn before it is scrolled to."""
    return page.evaluate(
        """Array.from(document.querySelectorAll("#workloads tbody:not([hidden]) tr:first-child th"))
        .filter((row) => !row.checkVisibility({contentVisibilityAuto: true}) || !row.getBoundingClientRect().height)
        .map((row) => row.closest("tbody").getBoundingClientRect().top)"""
    )


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("name", ["ten"])
def test_no_word_is_cut(opened, request, name, width):
    """Neither by the edge of what is around it, nor between two letters at the end of a line."""
    page = opened(request.getfixturevalue(name), width)
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")

    assert [] == page.evaluate(CUT)


def test_no_script_of_a_cluster_runs(opened, hostile):
    page = opened(hostile)
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))

    assert 1 == page.locator("script").count()
    assert 0 == page.locator("img").count()
    assert HOSTILE in page.locator("svg title").first.text_content()


def test_and_none_that_would_get_into_the_page(opened, example):
    page = opened(example)
    page.evaluate(
        "(() => { const s = document.createElement('script'); s.text = 'window.ran = 1'; document.body.append(s); })()"
    )

    assert page.evaluate("window.ran") is None
    assert any("Content Security Policy" in line for line in page.said)
    page.said.clear()


@pytest.mark.parametrize("width", [320, 390, 1280])
@pytest.mark.parametrize("name", ["example", "empty", "hostile"])
def test_nothing_has_to_be_scrolled_sideways(opened, request, name, width):
    page = opened(request.getfixturevalue(name), width)

    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [780, 900, 1000, 1280])
def test_no_table_of_a_few_zones_is_cut(opened, example, width):
    page = opened(example, width)

    tables = page.evaluate("[...document.querySelectorAll('.scroll')].map(e => [e.scrollWidth, e.clientWidth])")
    assert tables
    assert all(inside <= outside for inside, outside in tables)


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["example", "empty"])
def test_it_holds_wcag_2_2_aa(opened, axe, request, name, scheme, width):
    page = opened(request.getfixturevalue(name), width, scheme)
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    page.evaluate(axe)
    found = page.evaluate(
        "axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']})"
    )

    assert found["passes"]
    assert [] == [(one["id"], [node["html"][:200] for node in one["nodes"][:3]]) for one in found["violations"]]


def test_two_thousand_workloads_are_usable(opened, many, fewer):
    """
    The main thread's own time grows with the number of workloads, not with its square.

    Each time is held against that of a page with fewer workloads, so that a busy machine makes no difference.
    """
    assert many.stat().st_size < MOST_BYTES
    before = taken(opened(fewer))
    page = opened(many)
    now = taken(page)
    for name in now:
        print(f"{name}: {1000 * now[name]:.0f} ms, {now[name] / before[name]:.1f} times as long")

    assert "111 of 2,000 workloads" == page.get_by_role("status").inner_text()
    assert all(before.values())
    assert [] == [name for name in now if now[name] > 2 * TIMES * before[name]]


def taken(page):
    """Seconds of the main thread to load the page, to sort its workloads, and to narrow them down."""
    client = page.context.new_cdp_session(page)
    client.send("Performance.enable", {"timeDomain": "threadTicks"})

    def spent():
        page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
        metrics = {one["name"]: one["value"] for one in client.send("Performance.getMetrics")["metrics"]}
        return metrics["ThreadTime"]

    page.reload()
    page.said.clear()
    loaded = spent()
    page.locator("#sort").evaluate(SET, ["name", "change"])
    ordered = spent()
    page.locator("#find").evaluate(SET, ["app-7", "input"])
    return {"load": loaded, "sort": ordered - loaded, "narrow down": spent() - ordered}
