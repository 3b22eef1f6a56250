"""A report as a page: its pictures in numbers, and that nothing of a cluster is taken for HTML."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

from evenkeel.clusters.known_cluster import Origin
from evenkeel.report.page import MOST_SHOWN, html
from evenkeel.report.text import Titles
from tests.report.test_impact import EMPTY
from tests.report.test_waiting_pods import found as waiting
from tests.support.build import HOSTNAME, constraint, hpa, namespace, policy, service
from tests.support.placing import INFRA, node
from tests.support.reporting import ZONES, deployment, made_by, pods, report

ORIGIN = Origin("dump", 37, "2026-01-31T10:00:00Z")
WEB = [*ZONES, *deployment(constraint()), *pods("a1", "a1", "a2", "b1", "")]
NO_POLICY = Titles()
VOID = {"meta", "input", "link", "br", "wbr"}
HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(2)>'


class Page(HTMLParser):
    """The elements of a page: their names and attributes, and the text of each that has a class."""

    def __init__(self, text):
        super().__init__()
        self.elements, self._open, self._said = [], [], []
        self.feed(text)
        self.text = " ".join(" ".join(self._said).split())
        assert [] == self._open

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert tag == self._open.pop()

    def handle_data(self, data):
        if not {"style", "script"} & {*self._open}:
            self._said.append(data)

    def all(self, tag, name=""):
        return [attrs.get(name) if name else attrs for one, attrs in self.elements if one == tag]

    def pictures(self):
        return [one["aria-label"] for one in self.all("svg") if one.get("role") == "img"]

    def rows(self):
        return [one for one in self.all("tbody") if "data-show" in one]


def shown(*objects, titles=NO_POLICY, notes=(), **options):
    options.setdefault("named", bool(titles.policy))
    return Page(html(report(*objects, **options), titles, notes, waiting(*objects), ORIGIN))


def test_pods_per_domain_are_in_a_picture_that_says_what_it_shows():
    assert "Pods per domain, zone: a 3; b 1; c 0" in shown(*WEB).pictures()


def test_a_domain_where_no_node_takes_these_pods_is_called_closed():
    nodes = [node("a1", "a"), node("b1", "b", unschedulable=True)]
    found = shown(*nodes, *deployment(constraint()), *pods("a1"))

    assert "Pods per domain, zone: a 1; b 0, no node takes these Pods" in found.pictures()
    assert "0, closed" in found.text


def test_of_many_domains_it_shows_how_many_have_so_many_pods():
    many = [node(f"n{i:03}", "a") for i in range(MOST_SHOWN + 1)]
    found = shown(*many, *deployment(constraint(topologyKey=HOSTNAME)), *pods("n001", "n001", "n002"))

    assert "Domains by their number of Pods, hostname: 2 Pods 1 domain; 1 Pod 1 domain; 0 Pods 11 domains" in (
        found.pictures()
    )


def test_of_many_numbers_it_shows_the_largest():
    many = [node(f"n{i:03}", "a") for i in range(MOST_SHOWN + 3)]
    on = [f"n{i:03}" for i in range(MOST_SHOWN + 3) for _ in range(i)]
    label = shown(*many, *deployment(constraint(topologyKey=HOSTNAME)), *pods(*on)).pictures()[-1]

    assert label.endswith("; 3 Pods 1 domain; 2 or fewer 3 domains")


def test_what_the_loss_of_a_zone_takes():
    single, half = deployment(name="one"), deployment(name="two")
    found = shown(*WEB, *single, *pods("c1", name="one"), *half, *pods("b1", "b2", name="two"))

    assert (
        "Of 2 workloads with two Pods or more, 1 would lose every Pod with one zone, 1 half of them or more. "
        "The median workload would lose 75%." in found.text
    )
    assert "b 3 1 0 1 0" in found.text
    assert "a 3 0 1 0 0" in found.text
    assert "c 1 0 0 0 1" in found.text
    assert ["0,150 0,0 150,0 150,37.5 300,37.5 300,150"] == found.all("polygon", "points")


def test_half_of_a_workload_is_half_or_more():
    assert "a 1 0 1 0 0" in shown(*ZONES, *deployment(), *pods("a1", "b1")).text


def test_of_many_zones_those_that_take_the_most():
    zones = [node(f"n{i}", f"z{i:02}") for i in range(MOST_SHOWN + 2)]
    found = shown(*zones, *deployment(), *pods(*(f"n{i}" for i in range(MOST_SHOWN + 2))))

    assert "With each of 2 more zones, fewer Pods are lost." in found.text


def test_the_share_that_a_zone_takes_and_the_skew_stand_in_words_beside_their_bars():
    found = shown(*WEB)

    assert "4 + 1 waiting" in found.text
    assert "75% (a)" in found.text
    assert "zone: 3, allowed 1" in found.text
    (row,) = found.rows()
    assert ("waiting uneven", "0.750 2 1 5 -2") == (row["data-show"], row["data-order"])


def test_why_a_pod_waits_is_explain_s_table():
    blocked = [node("a1", "a"), node("b1", "b", taints=[INFRA])]
    made = pods("a1", "", "")
    for one in made:
        one["spec"]["topologySpreadConstraints"] = [constraint()]
    found = shown(*blocked, *deployment(constraint()), *made)

    assert "2 Pods 0/2 nodes are available: 1 node(s) didn't match pod topology spread" in found.text
    assert "1 more Pod waits for the same reason: web-5d-2." in found.text
    assert "a 1 1 + 1 - 0 = 2 > 1 1 refused" in found.text
    assert "remove the taint dedicated=infra:NoSchedule from b1 (zone b) → b1" in found.text
    assert "(for the next Pod; evenkeel explain simulates the rollout that it starts)" in found.text
    assert "evenkeel explain pod/web-5d-1 -n shop" in found.text


def test_why_a_pod_waits_says_who_set_a_taint():
    going = {"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}
    found = shown(node("a1", "a", taints=[going]), *deployment(), *pods("")).text

    assert "taint karpenter.sh/disrupted: set by Karpenter before it deletes or replaces a node" in found


def test_pods_that_wait_alike_do_not_count_the_one_that_is_explained():
    found = shown(node("a1", "a", unschedulable=True), *deployment(), *pods(*[""] * 5)).text

    assert "5 Pods" in found
    assert "4 more Pods wait for the same reason: web-5d-1, web-5d-2, web-5d-3 and 1 more." in found


def test_workloads_that_wait_for_the_same_cause_are_one_line():
    """The cause of the most Pods comes first; what preemption does not help is no other cause."""
    shut, objects = node("a1", "a", unschedulable=True), []
    for name, number in (("web", 1), ("cart", 2), ("bank", 1)):
        objects += [*deployment(name=name), *pods(*[""] * number, name=name)]
    alone = made_by("", "alone") | {"spec": {"nodeSelector": {"pool": "x"}, "tolerations": [{"operator": "Exists"}]}}
    found = shown(shut, alone, *objects)
    cause = "4 Pods 0/1 nodes are available: 1 node(s) were unschedulable. "

    assert f"{cause}shop/deployment/cart, shop/deployment/bank, shop/deployment/web" in found.text
    assert "preemption:" not in found.text.partition("Pod shop/")[0]
    assert ["waiting", "group", "group", "group", "waiting"] == [one["class"] for one in found.all("details") if one]
    assert found.text.index(cause) < found.text.index("1 Pod 0/1 nodes are available: 1 node(s) didn't match")


def test_the_page_begins_with_what_the_loss_of_a_zone_takes():
    found = shown(*WEB, titles=Titles("new.yaml"))

    assert found.text.index("of the Pods on nodes would be lost with zone a 75%") < found.text.index("waiting Pod 1")
    assert ["zones", "waiting", "policy", "all"] == found.all("h2", "id")


def test_the_sums_of_each_namespace_are_a_table_where_there_are_several():
    other = [*deployment(name="bank"), *pods("a1", "a1", name="bank")]
    for each in other:
        each["metadata"]["namespace"] = "bank"
    found = shown(*WEB, *other, namespace(name="bank", team="money")).text

    assert "shop 1 5 1 75% (a) 0 1 0 0" in found
    assert "bank team=money 1 2 0 100% (a) 1 0 0 0" in found
    assert found.index("shop 1 5 1") < found.index("bank team=money")
    assert "Namespaces" not in shown(*WEB).text


def test_more_namespaces_unfold():
    objects = [*ZONES]
    for i in range(MOST_SHOWN + 2):
        made = [*deployment(), *pods("a1")]
        for each in made:
            each["metadata"]["namespace"] = f"team-{i:02}"
        objects += made

    found = shown(*objects).text
    assert "2 more namespaces" in found
    assert found.index("team-11") < found.index("2 more namespaces") < found.index("team-12")


def test_the_bar_of_a_larger_skew_is_longer():
    """All bars have one scale, and so have the marks at maxSkew."""
    own = constraint(labelSelector={"matchLabels": {"app": "db"}})
    other = [*deployment(own, name="db"), *pods(*["a1"] * 8, name="db")]
    found = shown(*WEB, *other)
    skews = [one for one in found.all("rect") if one.get("class") in ("bar beyond", "mark")]

    assert "zone: 8, allowed 1" in found.text
    assert "zone: 3, allowed 1" in found.text
    assert [("bar beyond", "37.5%"), ("mark", "12.5%"), ("bar beyond", "100%"), ("mark", "12.5%")] == [
        (one["class"], one.get("width") or one["x"]) for one in skews
    ]


def test_a_long_name_stands_above_its_bar_and_is_not_cut():
    name = "ip-10-0-12-123.eu-central-1.compute.internal"
    found = shown(node(name, "a"), *deployment(constraint(topologyKey=HOSTNAME)), *pods(name))

    assert f"{name} 1" in found.text
    assert "chart tall" in found.all("svg", "class")


def test_a_pod_that_waits_and_passes_is_told_so():
    found = shown(node("a1", "a"), made_by("", "alone"))

    assert "1 Pod A node passes now. shop/pod/alone" in found.text
    assert "Nodes that pass: a1." in found.text


def test_without_nodes_nothing_is_said_of_what_needs_them():
    found = shown(*deployment(constraint()), *pods("a1", "b1", ""))

    assert "would lose every Pod with one zone not known" in found.text
    assert "1 Pod not known shop/deployment/web" in found.text
    assert "no zone" not in found.text
    assert "zone: not known 2 info More" in found.text
    assert "Not known without nodes." in found.text
    assert [] == found.pictures()


def test_what_spreads_nothing_is_said():
    found = shown(*ZONES, *deployment(EMPTY), *pods("a1"))

    assert "1 spreads nothing" in found.text
    assert "Spreads nothing: its selector counts no Pod." in found.text
    assert "idle" in found.rows()[0]["data-show"]


def test_a_workload_without_constraints_has_no_row_that_says_that_nothing_is_found():
    bare = shown(*ZONES, *deployment(), service(), *pods("a1", "a1"))
    pod = shown(*ZONES, made_by("", "alone", "a1"))

    assert "no constraints of its own More of web It has no constraints of its own. In force: kube-" in bare.text
    assert "none in force none" in pod.text


def test_the_policy_has_a_column_and_its_sums_only_where_one_is_named():
    objects = [*ZONES, *deployment(EMPTY), *pods("a1")]
    plain = shown(*objects)
    asked = shown(*objects, titles=Titles("new.yaml", "old.yaml"), compare=policy("{enforcement: Warn}"))

    assert "Policy" not in plain.text
    assert "denied" not in plain.rows()[0]["data-show"]
    assert "What new.yaml would do, compared with old.yaml" in asked.text
    assert "1 workload has a different outcome under old.yaml." in asked.text
    assert "denied was would-be-denied" in asked.text
    assert "Workloads by the worst answer: denied 1" in asked.pictures()
    assert {"denied", "changed"} <= {*asked.rows()[0]["data-show"].split()}


def test_of_many_constraints_it_shows_the_first():
    rows = [constraint(topologyKey=f"row{i}") for i in range(MOST_SHOWN + 1)]
    nodes = [node("a1", "a", labels={f"row{i}": "r" for i in range(MOST_SHOWN + 1)})]
    found = shown(*nodes, *deployment(*rows), *pods("a1"))

    assert MOST_SHOWN == len([one for one in found.pictures() if one.startswith("Pods per domain")])
    assert "and 1 more constraints" in found.text


def test_of_many_findings_the_gravest():
    found = shown(*ZONES, *deployment(*[EMPTY] * (MOST_SHOWN + 2)), *pods("a1"))

    assert "and 15 more" in found.text


def test_nothing_at_all():
    found = Page(html(report(), NO_POLICY, ["a note"], {}, ORIGIN, "Found no workload."))

    assert "a note" in found.text
    assert "Found no workload." in found.text
    assert [] == found.rows()
    assert [] == found.pictures()


@pytest.mark.parametrize("name", ["name", "namespace", "zone", "key", "label", "node", "policy"])
def test_nothing_of_the_cluster_is_taken_for_html(name):
    """It has the elements and attributes that it has where all names are harmless."""

    def one(text):
        value = dict.fromkeys(("name", "namespace", "zone", "key", "label", "node", "policy"), "harmless")
        value[name] = text
        key = f"example.com/{value['key']}" if name == "key" else constraint()["topologyKey"]
        nodes = [node(value["node"], value["zone"], labels={key: value["zone"]}), node("b", "b", taints=[INFRA])]
        own = deployment(
            constraint(topologyKey=key, labelSelector={"matchLabels": {"app": value["label"]}}),
            name=value["name"],
            labels={"app": value["label"]},
        )
        made = pods(value["node"], "", name=value["name"])
        for each in (*own, *made):
            each["metadata"]["namespace"] = value["namespace"]
            each["metadata"]["annotations"] = {"note": text, text: "note"}
        for each in made:
            each["metadata"]["labels"]["app"] = value["label"]
            each["spec"]["topologySpreadConstraints"] = own[0]["spec"]["template"]["spec"]["topologySpreadConstraints"]
        return shown(*nodes, *own, *made, titles=Titles(value["policy"]), notes=[text])

    hostile, harmless = one(HOSTILE), one("x" * len(HOSTILE))

    assert {tag for tag, _ in harmless.elements} == {tag for tag, _ in hostile.elements}
    assert len(hostile.all("script")) == 1
    assert [] == hostile.all("img")
    assert {key for _, attrs in hostile.elements for key in attrs} == {
        key for _, attrs in harmless.elements for key in attrs
    }
    assert "<script>alert(1)</script>" in hostile.text


def test_what_an_autoscaler_may_bring_is_said_apart():
    closed = [node("a1", "a"), node("b1", "b"), node("c1", "c", unschedulable=True)]
    owner, made = deployment(constraint())
    owner["spec"]["replicas"] = 2
    found = shown(*closed, owner, made, *pods("a1", "b1"), hpa(2, 5000)).text

    assert "autoscaled: 2–5,000 replicas" in found
    assert "tainted-domain" not in found.partition("At 5,000 replicas also:")[0]
    assert "warning tainted-domain" in found.partition("At 5,000 replicas also:")[2]


def test_a_scheduler_of_which_no_profile_is_known_is_named():
    batch = deployment(constraint())
    batch[0]["spec"]["template"]["spec"]["schedulerName"] = "batch"

    assert "web Deployment in shop placed by the scheduler batch, whose profile" in shown(*ZONES, *batch).text
    assert "placed by" not in shown(*WEB).text
