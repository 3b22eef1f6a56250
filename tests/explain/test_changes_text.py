"""A change of a template as lines of YAML: the path of each field, its old value and its new one."""

from __future__ import annotations

from functools import partial

import pytest

from evenkeel.explain.changes_text import names_or_number, yaml_lines
from evenkeel.placement.kubectl_commands import commands, read_template
from evenkeel.placement.template_edits import preferring, requesting_less, tolerating, with_constraint
from evenkeel.scheduler.resource_fit import Lack
from tests.support.build import workload
from tests.support.placement import parsed
from tests.support.placing import HOSTNAME, requesting, spread
from webhook.kubernetes.names import POD_ANTI_AFFINITY
from webhook.spread.taints import Toleration

CONSTRAINTS = "spec.template.spec.topologySpreadConstraints"
TOLERATED = partial(tolerating, toleration=Toleration("dedicated", "Equal", "infra", "NoSchedule"))
TERM = {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": "web"}}}


def lines(*edits, **spec):
    """What edits change in the template of a Deployment with two constraints."""
    made = workload("Deployment", spread(), spread(HOSTNAME))
    pod_spec = made["spec"]["template"]["spec"]
    pod_spec |= {"containers": requesting("2"), **spec}
    (command,) = commands(edits, read_template(made, pod_spec))
    return list(yaml_lines(command.patch))


def changing(index, **fields):
    constraint = parsed(spread(), spread(HOSTNAME))[index]
    return partial(with_constraint, constraint=constraint, fields=fields or None)


@pytest.mark.parametrize(
    ("edits", "shown"),
    [
        ([changing(0, maxSkew=2)], [f"{CONSTRAINTS}[0].maxSkew: 1 -> 2"]),
        ([changing(1, nodeTaintsPolicy="Honor")], [f"{CONSTRAINTS}[1].nodeTaintsPolicy: not set -> Honor"]),
        (
            [changing(0, maxSkew=3), changing(1, whenUnsatisfiable="ScheduleAnyway")],
            [
                f"{CONSTRAINTS}[0].maxSkew: 1 -> 3",
                f"{CONSTRAINTS}[1].whenUnsatisfiable: DoNotSchedule -> ScheduleAnyway",
            ],
        ),
        (
            [changing(0)],
            [
                f"{CONSTRAINTS}[0]: {{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: "
                "DoNotSchedule, labelSelector: {matchLabels: {app: web}}} -> not set"
            ],
        ),
        (
            [TOLERATED],
            [
                "spec.template.spec.tolerations: not set -> "
                "[{key: dedicated, operator: Equal, value: infra, effect: NoSchedule}]"
            ],
        ),
        (
            [partial(requesting_less, lack=Lack(0, 500, 0, 0, ()))],
            ['spec.template.spec.containers[0].resources.requests.cpu: "2" -> 1500m'],
        ),
    ],
)
def test_each_field_that_changes_is_a_line(edits, shown):
    assert shown == lines(*edits)


def test_a_toleration_more_is_a_line_of_its_own():
    (line,) = lines(TOLERATED, tolerations=[{"key": "gpu", "operator": "Exists"}])

    assert line.startswith("spec.template.spec.tolerations[1]: not set -> {key: dedicated, ")


@pytest.mark.parametrize("value", ["no", "null", "1e3", "a: b", "a\nb", "", "$(reboot)"])
def test_text_that_yaml_reads_as_something_else_is_quoted(value):
    (line,) = lines(partial(tolerating, toleration=Toleration("a", "Equal", value, "NoSchedule")))

    assert "\n" not in line
    assert ('value: "' in line) or not value


def test_an_affinity_that_becomes_a_preference():
    affinity = {POD_ANTI_AFFINITY: {"requiredDuringSchedulingIgnoredDuringExecution": [TERM]}}
    shown = lines(partial(preferring, kind=POD_ANTI_AFFINITY, index=0, number=1), affinity=affinity)

    at = f"spec.template.spec.affinity.{POD_ANTI_AFFINITY}"
    assert shown and all(line.startswith(at) for line in shown)
    assert [True] == ["weight: " in line for line in shown if ".preferred" in line]


@pytest.mark.parametrize(("number", "words"), [(5, "n0, n1, n2, n3, n4"), (6, "6 nodes"), (1200, "1,200 nodes")])
def test_many_nodes_are_a_number(number, words):
    assert words == names_or_number([f"n{i}" for i in range(number)])
