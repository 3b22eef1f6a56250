"""A change of a template as lines of YAML: the path of each object, and its old lines and new ones."""

from __future__ import annotations

from functools import partial

import pytest
import yaml

from evenkeel.explain.changes_text import names_or_number, yaml_lines
from evenkeel.placement.kubectl_commands import JsonPatch, commands, read_template
from evenkeel.placement.template_edits import preferring, requesting_less, tolerating, with_constraint
from evenkeel.scheduler.resource_fit import Lack
from tests.support.build import workload
from tests.support.placement import parsed
from tests.support.placing import HOSTNAME, ZONE, requesting, spread
from webhook.kubernetes.names import POD_ANTI_AFFINITY
from webhook.kubernetes.references import ObjectRef
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
        ([changing(0, maxSkew=2)], [f"{CONSTRAINTS}[0]:", "  - maxSkew: 1", "  + maxSkew: 2"]),
        ([changing(1, nodeTaintsPolicy="Honor")], [f"{CONSTRAINTS}[1]:", "  + nodeTaintsPolicy: Honor"]),
        (
            [changing(0, maxSkew=3), changing(1, whenUnsatisfiable="ScheduleAnyway")],
            [
                *(f"{CONSTRAINTS}[0]:", "  - maxSkew: 1", "  + maxSkew: 3"),
                f"{CONSTRAINTS}[1]:",
                *("  - whenUnsatisfiable: DoNotSchedule", "  + whenUnsatisfiable: ScheduleAnyway"),
            ],
        ),
        (
            [partial(requesting_less, lack=Lack(0, 500, 0, 0, ()))],
            ["spec.template.spec.containers[0].resources.requests:", '  - cpu: "2"', "  + cpu: 1500m"],
        ),
    ],
)
def test_the_fields_that_change_are_shown_below_the_path_of_their_object(edits, shown):
    assert shown == lines(*edits)


@pytest.mark.parametrize(
    ("edit", "spec", "path", "sign", "item"),
    [
        (changing(0), {}, CONSTRAINTS, "-", {"maxSkew": 1, "topologyKey": ZONE}),
        (TOLERATED, {"tolerations": [{"key": "gpu"}]}, "spec.template.spec.tolerations", "+", {"key": "dedicated"}),
    ],
)
def test_an_item_of_a_list_that_comes_or_goes_is_shown_whole(edit, spec, path, sign, item):
    first, *yaml_of_item = lines(edit, **spec)

    assert f"{path}:" == first
    assert {sign} == {line[2] for line in yaml_of_item}
    (read,) = yaml.safe_load("\n".join(line[4:] for line in yaml_of_item))
    assert item.items() <= read.items()


def test_items_without_fields_are_shown_as_what_goes_and_what_comes():
    path = "/spec/keys"
    changed = {"op": "test", "path": path, "value": ["a", "b"]}, {"op": "replace", "path": path, "value": ["a", "c"]}

    ref = ObjectRef("apps/v1", "Deployment", "shop", "web")
    assert ["spec.keys:", "  - - b", "  + - c"] == list(yaml_lines(JsonPatch(ref, changed)))


@pytest.mark.parametrize("value", ["no", "null", "1e3", "a: b", "a\nb", "", "$(reboot)"])
def test_what_is_added_is_yaml_that_reads_as_the_same_text(value):
    path, *added = lines(partial(tolerating, toleration=Toleration("a", "Equal", value, "NoSchedule")))
    read = yaml.safe_load("\n".join(line[4:] for line in added))

    assert "spec.template.spec:" == path
    assert value == read["tolerations"][0].get("value", "")


def test_an_affinity_that_becomes_a_preference():
    affinity = {POD_ANTI_AFFINITY: {"requiredDuringSchedulingIgnoredDuringExecution": [TERM]}}
    shown = lines(partial(preferring, kind=POD_ANTI_AFFINITY, index=0, number=1), affinity=affinity)

    assert {f"spec.template.spec.affinity.{POD_ANTI_AFFINITY}:"} == {line for line in shown if line[0] != " "}
    assert [True] == [line.startswith("  + ") for line in shown if "weight: " in line]


@pytest.mark.parametrize(("number", "words"), [(5, "n0, n1, n2, n3, n4"), (6, "6 nodes"), (1200, "1,200 nodes")])
def test_many_nodes_are_a_number(number, words):
    assert words == names_or_number([f"n{i}" for i in range(number)])
