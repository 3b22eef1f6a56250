"""Steps as they are written, and what is said of those that are none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evenkeel.simulate.step import (
    ADD,
    CORDON,
    DELETE,
    DRAIN,
    LOSE,
    ROLLOUT,
    SCALE,
    TAINT,
    Step,
    StepError,
    Which,
    parse_step,
    parse_words,
    with_zones,
)
from tests.support.build import ZONE
from webhook.spread.nodes import Node, Nodes
from webhook.spread.taints import Taint

READ = {
    "rollout": Step("rollout", ROLLOUT),
    "scale=0": Step("scale=0", SCALE, 0),
    "scale=12": Step("scale=12", SCALE, 12),
    "drain=n1": Step("drain=n1", DRAIN, which=Which("n1")),
    "drain=pool=old": Step("drain=pool=old", DRAIN, which=Which(key="pool", value="old")),
    "cordon=n1": Step("cordon=n1", CORDON, which=Which("n1")),
    f"lose={ZONE}=a": Step(f"lose={ZONE}=a", LOSE, which=Which(key=ZONE, value="a")),
    "delete=pool=": Step("delete=pool=", DELETE, which=Which(key="pool", value="")),
    "taint=n1,dedicated=infra:NoSchedule": Step(
        "taint=n1,dedicated=infra:NoSchedule", TAINT, which=Which("n1"), taint=Taint("dedicated", "infra", "NoSchedule")
    ),
    "taint=pool=old,a:NoExecute": Step(
        "taint=pool=old,a:NoExecute", TAINT, which=Which(key="pool", value="old"), taint=Taint("a", "", "NoExecute")
    ),
    "add=3": Step("add=3", ADD, 3),
    f"add=2,{ZONE}=d,pool=new": Step(f"add=2,{ZONE}=d,pool=new", ADD, 2, labels={ZONE: "d", "pool": "new"}),
}


@pytest.mark.parametrize("text", READ)
def test_a_step_is_read(text):
    assert READ[text] == parse_step(text)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("restart", "one of rollout, scale --replicas N"),
        ("", "one of rollout, scale --replicas N"),
        ("rollout=1", "wanted rollout"),
        ("scale", "a number from 0 to 20,000"),
        ("scale=-1", "a number from 0 to 20,000"),
        ("scale=20001", "a number from 0 to 20,000"),
        ("scale=" + "9" * 5_000, "a number from 0 to 20,000"),
        ("scale=١", "a number from 0 to 20,000"),
        ("drain", "drain NODE or drain KEY=VALUE"),
        ("drain=", "drain NODE or drain KEY=VALUE"),
        ("drain=a b", "drain NODE or drain KEY=VALUE"),
        ("lose=-bad-=a", "lose ZONE, lose NODE or lose KEY=VALUE"),
        ("lose=pool=not valid", "lose ZONE, lose NODE or lose KEY=VALUE"),
        ("taint=n1", "where EFFECT is NoSchedule, NoExecute, PreferNoSchedule"),
        ("taint=n1,a=b:Never", "where EFFECT is NoSchedule, NoExecute, PreferNoSchedule"),
        ("taint=,a=b:NoExecute", "taint NODE KEY=VALUE:EFFECT"),
        ("add=0", "a number from 1 to 5,000"),
        ("add=1,zone", "add NUMBER or add NUMBER,KEY=VALUE"),
        ("add=1,-bad-=a", "add NUMBER or add NUMBER,KEY=VALUE"),
    ],
)
def test_what_is_no_step_says_what_was_wanted(text, wanted):
    with pytest.raises(StepError) as error:
        parse_step(text)

    assert f'step: found "{text}", wanted' in str(error.value)
    assert wanted in str(error.value)


@pytest.mark.parametrize(
    ("words", "names", "steps"),
    [
        ("rollout deployment/web", ["deployment/web"], ["rollout"]),
        ("deployment/web rollout", ["deployment/web"], ["rollout"]),
        ("deployment web scale=3", ["deployment", "web"], ["scale=3"]),
        ("rollout restart deploy web", ["deploy", "web"], ["rollout"]),
        ("drain n1 deployment/web cordon pool=old", ["deployment/web"], ["drain=n1", "cordon=pool=old"]),
        ("taint nodes n1 a=b:NoExecute lose a", [], ["taint=n1,a=b:NoExecute", "lose=a"]),
        ("add 3,pool=new scale 4 a/b c/d", ["a/b", "c/d"], ["add=3,pool=new", "scale=4"]),
    ],
)
def test_words_are_in_kubectls_order_or_in_ours(words, names, steps):
    found, taken = parse_words(words.split())

    assert (names, [replace(parse_step(step), text="") for step in steps]) == (
        found,
        [replace(step, text="") for step in taken],
    )


def test_replicas_are_those_of_the_step_scale():
    assert (["deployment/web"], [Step("scale 9", SCALE, 9)]) == parse_words(["scale", "deployment/web"], 9)
    with pytest.raises(StepError, match="--replicas 9: found no scale"):
        parse_words(["rollout", "deployment/web"], 9)


def test_a_zone_is_named_by_its_value_or_as_zone():
    among = Nodes([Node("a1", {ZONE: "a"}), Node("b", {ZONE: "b"})])
    whiches = [with_zones(parse_step(text), among).which for text in ("lose=a", "lose=zone=a", "lose=a1", "lose=b")]

    assert [Which(key=ZONE, value="a")] * 2 + [Which("a1"), Which("b")] == whiches
    assert {ZONE: "c"} == with_zones(parse_step("add=1,zone=c"), among).labels
    own = Nodes([Node("a1", {"zone": "a"})])
    assert Which(key="zone", value="a") == with_zones(parse_step("lose=zone=a"), own).which
