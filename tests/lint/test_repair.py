"""A repair puts one value right and leaves every other letter as it was; where that is not safe, it leaves all."""

from __future__ import annotations

import json
from typing import NamedTuple

import pytest

from evenkeel.admit.text import dump
from evenkeel.lint.repair import repair, repair_once
from tests.support.build import honoring, workload
from tests.support.lint import judged
from webhook.kubernetes.documents import read_documents
from webhook.rules import RULES


def by_file(file, text):
    return judged(text, file=file)


HEAD = """\
# the shop's web
apiVersion: apps/v1
kind: {kind}
metadata: {{name: web}}
spec:
  replicas: 3   # three
  strategy: {{type: Recreate}}
  selector:
    matchLabels: {{app: web}}
  template:
    metadata:
      labels: {{app: web, tier: front}}
    spec:
      topologySpreadConstraints:
"""
WEB, DB = HEAD.format(kind="Deployment"), HEAD.format(kind="StatefulSet")
TAIL = "      # the end\n      containers: []\n---\n# more\n"
COUNTING = "      - maxSkew: 1\n        topologyKey: zone   # own\n        whenUnsatisfiable: DoNotSchedule\n"
KEYS = f"{COUNTING}        nodeTaintsPolicy: Honor\n"
GOOD = "        labelSelector: {matchLabels: {app: web}}\n"


class Case(NamedTuple):
    name: str
    before: str
    after: str
    head: str = WEB

    @property
    def head_after(self):
        right = "topologySpreadConstraints"
        quoted = self.head.replace("'TopologySpreadConstraints'", f"'{right}'")
        return quoted.replace("topologySpreadConstraint:", f"{right}:")


REPAIRED = [
    Case(
        "a misspelt key",
        f"{KEYS}{GOOD}".replace("zone ", "kubernetes.io/zone "),
        f"{KEYS}{GOOD}".replace("zone ", "topology.kubernetes.io/zone "),
    ),
    Case(
        "in the quotes that it had",
        f"{KEYS}{GOOD}".replace("zone ", "'kubernetes.io/zone' "),
        f"{KEYS}{GOOD}".replace("zone ", "'topology.kubernetes.io/zone' "),
    ),
    Case(
        "a label that is wrong",
        f"{KEYS}        labelSelector:\n          matchLabels:\n            app: wbe  # the app\n",
        f"{KEYS}        labelSelector:\n          matchLabels:\n            app: web  # the app\n",
    ),
    Case(
        "labels that are wrong",
        f"{KEYS}        labelSelector:\n          matchLabels:\n            x: z\n            a: b\n        # after\n",
        f"{KEYS}        labelSelector:\n          matchLabels:\n            app: web\n        # after\n",
    ),
    Case(
        "a selector that is empty",
        f"{KEYS}        labelSelector: {{}}\n",
        f"{KEYS}        labelSelector:\n          matchLabels:\n            app: web\n",
    ),
    Case(
        "a selector that is empty, beside a comment",
        f"{KEYS}        labelSelector: {{}}  # all\n",
        f"{KEYS}        labelSelector: {{matchLabels: {{app: web}}}}  # all\n",
    ),
    Case(
        "a selector that is nothing",
        f"{KEYS}        labelSelector:\n",
        f"{KEYS}        labelSelector:\n          matchLabels:\n            app: web\n",
    ),
    Case(
        "a selector that is null",
        f"{KEYS}        labelSelector: null\n",
        f"{KEYS}        labelSelector:\n          matchLabels:\n            app: web\n",
    ),
    Case(
        "a selector that is absent",
        f"{KEYS}        # why\n",
        f"{KEYS}        labelSelector:\n          matchLabels:\n            app: web\n        # why\n",
    ),
    Case(
        "a selector that is absent, in a flow",
        "      - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}  # x\n",
        "      - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, "
        "labelSelector: {matchLabels: {app: web}}}  # x\n",
    ),
    Case(
        "a revision key that no Pod carries",
        f"{KEYS}{GOOD}        matchLabelKeys: [tier, pod-template-hash] # keys\n",
        f"{KEYS}{GOOD}        matchLabelKeys: [tier, controller-revision-hash] # keys\n",
        DB,
    ),
    Case(
        "a revision key, in a block",
        f"{KEYS}{GOOD}        matchLabelKeys:\n        - tier\n        - pod-template-hash\n",
        f"{KEYS}{GOOD}        matchLabelKeys:\n        - tier\n        - controller-revision-hash\n",
        DB,
    ),
    Case(
        "a word that is misspelt",
        f"{KEYS}{GOOD}".replace("DoNotSchedule", '"DoNotSchedul" # hard'),
        f"{KEYS}{GOOD}".replace("DoNotSchedule", '"DoNotSchedule" # hard'),
    ),
    Case(
        "a word in another case",
        f"{COUNTING}{GOOD}        nodeTaintsPolicy: honor  # them\n",
        f"{COUNTING}{GOOD}        nodeTaintsPolicy: Honor  # them\n",
    ),
    Case(
        "a key with a blank",
        f"{KEYS}{GOOD}".replace("zone ", "'kubernetes.io/hostname '"),
        f"{KEYS}{GOOD}".replace("zone ", "'kubernetes.io/hostname'"),
    ),
    Case(
        "the name of a field",
        f"{COUNTING}{GOOD}        nodeTaintPolicy: &n Honor  # them\n",
        f"{COUNTING}{GOOD}        nodeTaintsPolicy: &n Honor  # them\n",
    ),
    Case(
        "the name of a field that is missed, too",
        f"{KEYS}        labelSelecter:\n          # why\n          matchLabels: {{app: web}}\n",
        f"{KEYS}        labelSelector:\n          # why\n          matchLabels: {{app: web}}\n",
    ),
    Case(
        "the name of the constraints",
        f"      # hard\n{KEYS}{GOOD}",
        f"      # hard\n{KEYS}{GOOD}",
        WEB.replace("Constraints:", "Constraint: # spread"),
    ),
    Case(
        "their name in another case, in quotes",
        f"{KEYS}{GOOD}",
        f"{KEYS}{GOOD}",
        WEB.replace("topologySpreadConstraints", "'TopologySpreadConstraints'"),
    ),
    Case(
        "revisions that are counted together",
        f"{KEYS}{GOOD}",
        f"{KEYS}{GOOD}        matchLabelKeys: [pod-template-hash]\n",
        WEB.replace("Recreate", "RollingUpdate"),
    ),
    Case(
        "a key more, in a flow",
        f"{KEYS}{GOOD}        matchLabelKeys: [tier]  # keys\n",
        f"{KEYS}{GOOD}        matchLabelKeys: [tier, pod-template-hash]  # keys\n",
        WEB.replace("Recreate", "RollingUpdate"),
    ),
    Case(
        "a key more, in a block",
        f"{KEYS}{GOOD}        matchLabelKeys:\n          -  tier  # why\n",
        f"{KEYS}{GOOD}        matchLabelKeys:\n          -  tier  # why\n          -  pod-template-hash\n",
        WEB.replace("Recreate", "RollingUpdate"),
    ),
]


def repaired(text):
    return repair("a.yaml", text, by_file, lambda again: again.found)


@pytest.mark.parametrize("case", REPAIRED, ids=lambda case: case.name)
def test_a_repair_changes_one_thing(case):
    done = repaired(f"{case.head}{case.before}{TAIL}")

    assert f"{case.head_after}{case.after}{TAIL}" == done.text
    assert (1, []) == (done.count, done.left.found)


@pytest.mark.parametrize("case", REPAIRED, ids=lambda case: case.name)
def test_a_repair_keeps_the_line_ends_of_windows(case):
    done = repaired(f"{case.head}{case.before}{TAIL}".replace("\n", "\r\n"))

    assert f"{case.head_after}{case.after}{TAIL}".replace("\n", "\r\n") == done.text


@pytest.mark.parametrize("case", REPAIRED, ids=lambda case: case.name)
def test_a_repair_needs_no_line_end_after_it(case):
    done = repaired(f"{case.head}{case.before}".rstrip("\n"))

    assert f"{case.head_after}{case.after}".rstrip("\n") == done.text.rstrip("\n")


LEFT = [
    Case(
        "a comment would be lost",
        f"{KEYS}        labelSelector:\n          matchLabels:\n            a: b # x\n            c: d\n",
        "",
    ),
    Case(
        "an alias would be cut",
        WEB.join(["", f"{KEYS}        labelSelector: *x\n"]).replace("spec:\n  rep", "x: &x {}\nspec:\n  rep"),
        "",
        "",
    ),
    Case("something else refers to it", f"{KEYS}        labelSelector: &x {{}}\n", ""),
    Case("a field comes by a merge", f"{COUNTING}{GOOD}        <<: {{nodeTaintPolicy: Honor}}\n", ""),
    Case("it has a tag", f"{KEYS}{GOOD}".replace("zone ", "!!str kubernetes.io/zone "), ""),
]


@pytest.mark.parametrize("case", LEFT, ids=lambda case: case.name)
def test_nothing_is_changed_where(case):
    text = f"{case.head}{case.before}{TAIL}"
    done = repaired(text)

    assert (text, 0) == (done.text, done.count)
    assert any(one.finding.edit for one in done.left.found)


@pytest.mark.parametrize("selector", ["{matchLabels: {tier: back}}", "null"])
def test_no_selector_gets_a_key_that_stands_in_match_label_keys(selector):
    """The API server rejects a key in both."""
    text = f"{WEB}{KEYS}        labelSelector: {selector}\n        matchLabelKeys: [app]\n{TAIL}"

    assert (text, 0) == (repaired(text).text, 0)


def test_no_key_is_repaired_to_one_that_another_constraint_has():
    """The API server rejects the second."""
    wrong = f"{KEYS}{GOOD}".replace("zone ", "kubernetes.io/zone ")
    text = f"{WEB}{wrong}{wrong.replace('kubernetes', 'topology.kubernetes')}{TAIL}"
    softer = text.replace("DoNotSchedule", "ScheduleAnyway", 1)

    assert (text, 0) == (repaired(text).text, 0)
    assert 1 == repaired(softer).count


def test_two_keys_that_mean_one_are_not_both_repaired():
    wrong = f"{KEYS}{GOOD}".replace("zone ", "kubernetes.io/zone ")
    other = wrong.replace("kubernetes.io/zone", "failure-domain.kubernetes.io/zone")

    assert 1 == repaired(f"{WEB}{wrong}{other}{TAIL}").count


def test_all_findings_of_all_objects_are_repaired_together():
    broken = f"{KEYS}".replace("zone ", "kubernetes.io/zone ")
    done = repaired(f"{DB}{broken}{TAIL}{WEB}{broken}{TAIL}")

    assert (4, {"selector-matches-others"}) == (done.count, {one.finding.rule for one in done.left.found})


def test_what_only_comes_of_a_repair_is_repaired_in_the_same_run():
    """Revisions are counted together only once there is a selector that counts any."""
    rolling = WEB.replace("Recreate", "RollingUpdate")
    done = repaired(f"{rolling}{KEYS}        labelSelector: {{matchLabels: {{app: wbe}}}}\n{TAIL}")

    assert (2, []) == (done.count, done.left.found)
    assert f"{rolling}{KEYS}{GOOD}        matchLabelKeys: [pod-template-hash]\n{TAIL}" == done.text


def test_a_finding_on_several_constraints_is_repaired_in_all_of_them():
    rolling = WEB.replace("Recreate", "RollingUpdate")
    done = repaired(f"{rolling}{KEYS}{GOOD}{KEYS.replace('zone', 'region')}{GOOD}{TAIL}")

    assert (2, [], 2) == (done.count, done.left.found, done.text.count("pod-template-hash"))


def test_only_what_is_selected_is_repaired():
    text = f"{WEB.replace('Recreate', 'RollingUpdate')}{KEYS}{GOOD}{TAIL}"
    done = repair("a.yaml", text, by_file, lambda _: [])

    assert (0, text, ["rollout-skew"]) == (done.count, done.text, [one.finding.rule for one in done.left.found])


def test_a_remark_that_was_there_is_repaired_though_its_topology_key_is_repaired_first():
    rolling = WEB.replace("Recreate", "RollingUpdate")
    done = repaired(f"{rolling}{KEYS}{GOOD}{TAIL}".replace("zone ", "kubernetes.io/zone "))

    assert (2, []) == (done.count, done.left.found)


def test_what_cannot_be_repaired_keeps_nothing_else_from_it():
    text = f"{WEB}{KEYS}        labelSelector: &x {{}}\n" + KEYS.replace("zone ", "kubernetes.io/zone ") + GOOD
    done = repaired(text)

    assert text.replace("kubernetes.io/zone", "topology.kubernetes.io/zone") == done.text


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_what_is_left_of_one_object_is_not_counted_with_another(order):
    left, broken = (
        f"{WEB}{KEYS}        labelSelector: &x {{}}\n{TAIL}",
        f"{DB}{KEYS}        labelSelector: {{}}\n{TAIL}",
    )
    text = "".join((left, broken)[i] for i in order)

    assert 1 == repaired(text).count
    assert 1 == repair_once(judged(text), text, judged(text).found).count


@pytest.mark.parametrize("indent", [None, 2, "\t"])
def test_json_stays_json(indent):
    broken = [honoring(topologyKey="kubernetes.io/zone", labelSelector=None)]
    obj = workload("StatefulSet", *broken)
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": [obj, obj]}, indent=indent)
    done = repaired(text)

    assert (4, []) == (done.count, done.left.found)
    selector = {"matchLabels": {"app": "web"}}
    mended = workload("StatefulSet", honoring(topologyKey="topology.kubernetes.io/zone", labelSelector=selector))
    assert [mended, mended] == json.loads(done.text)["items"]
    assert indent is None or len(text.splitlines()) + 2 == len(done.text.splitlines())


@pytest.mark.parametrize("indent", [None, 1])
def test_a_stream_of_json_stays_one(indent):
    obj = json.dumps(workload("StatefulSet", honoring(labelSelector={})), indent=indent)
    done = repaired(f"{obj}\n{obj}\n")

    assert (2, []) == (done.count, done.left.found)
    assert 2 * [workload("StatefulSet", honoring())] == list(read_documents(done.text))


STYLES = {
    "as written": lambda text: text,
    "in blocks": lambda text: dump(read_documents(text)[0]),
    "as JSON": lambda text: json.dumps(read_documents(text)[0]),
}


@pytest.mark.parametrize("one", RULES.values(), ids=lambda one: one.id)
@pytest.mark.parametrize("style", STYLES)
def test_what_a_rule_says_is_the_repair_ends_its_finding(one, style):
    text = STYLES[style](one.bad)
    offered = [found for found in judged(text).found if found.finding.edit]
    done = repaired(text)

    assert len(offered) <= done.count
    assert [] == [found.finding.rule for found in done.left.found if found.finding.edit]
