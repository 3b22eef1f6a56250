"""Steps as they are written, and what is said of those that are none."""

from __future__ import annotations

import pytest

from tests.support.build import ZONE
from webhook.scheduler.taints import Taint
from webhook.simulation.step import (
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
)

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
        ("restart", "one of rollout, scale=REPLICAS"),
        ("", "one of rollout, scale=REPLICAS"),
        ("rollout=1", "wanted rollout"),
        ("scale", "a number from 0 to 20,000"),
        ("scale=-1", "a number from 0 to 20,000"),
        ("scale=20001", "a number from 0 to 20,000"),
        ("scale=" + "9" * 5_000, "a number from 0 to 20,000"),
        ("scale=١", "a number from 0 to 20,000"),
        ("drain", "drain=NODE or drain=KEY=VALUE"),
        ("drain=", "drain=NODE or drain=KEY=VALUE"),
        ("drain=a b", "drain=NODE or drain=KEY=VALUE"),
        ("lose=-bad-=a", "lose=NODE or lose=KEY=VALUE"),
        ("lose=pool=not valid", "lose=NODE or lose=KEY=VALUE"),
        ("taint=n1", "where EFFECT is NoSchedule, NoExecute, PreferNoSchedule"),
        ("taint=n1,a=b:Never", "where EFFECT is NoSchedule, NoExecute, PreferNoSchedule"),
        ("taint=,a=b:NoExecute", "taint=NODE,KEY=VALUE:EFFECT"),
        ("add=0", "a number from 1 to 5,000"),
        ("add=1,zone", "add=NUMBER or add=NUMBER,KEY=VALUE"),
        ("add=1,-bad-=a", "add=NUMBER or add=NUMBER,KEY=VALUE"),
    ],
)
def test_what_is_no_step_says_what_was_wanted(text, wanted):
    with pytest.raises(StepError) as error:
        parse_step(text)

    assert f'step: found "{text}", wanted' in str(error.value)
    assert wanted in str(error.value)
