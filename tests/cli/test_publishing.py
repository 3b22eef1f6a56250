"""evenkeel report -o openreports: what it prints, and what --apply asks for."""

from __future__ import annotations

import json

import pytest

from tests.report.test_impact import EMPTY
from tests.support.build import constraint
from tests.support.commands import POLICY
from tests.support.reporting import ZONES, deployment
from webhook.render import openreports

CLUSTER = {
    "apiVersion": "v1",
    "kind": "List",
    "items": [*ZONES, *deployment(EMPTY, constraint(topologyKey="rack"), uid="u1")],
}


@pytest.mark.parametrize(("output", "kind"), [("openreports", "Report"), ("policyreport", "PolicyReport")])
def test_it_prints_what_kubectl_applies(run, output, kind):
    code, out, err = run(f"report -A --cluster dump -o {output}", dump=CLUSTER)

    assert (0, "", [kind]) == (code, err, [one["kind"] for one in json.loads(out)["items"]])


def test_what_cannot_be_judged_is_said_apart(run):
    without = {**CLUSTER, "items": CLUSTER["items"][len(ZONES) :]}
    _, out, err = run("report -A --cluster dump -o openreports", dump=without)

    assert [] != json.loads(out)["items"]
    assert err.startswith("note: No node is in the file, and without nodes nothing can be judged")


def test_what_is_left_out_is_said(run, monkeypatch):
    monkeypatch.setattr(openreports, "MOST_RESULTS", 1)
    _, out, err = run("report -A --cluster dump -o openreports", dump=CLUSTER)

    assert 1 == len(json.loads(out)["items"][0]["results"])
    assert "findings are left out, those of the last workloads" in err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--cluster dump --apply", "--apply: found -o text, wanted -o openreports or -o policyreport"),
        (
            "--cluster dump --apply -o openreports",
            "--apply: found --cluster dump, wanted --cluster live; leave it out to print",
        ),
    ],
)
def test_where_nothing_can_be_written(run, options, said):
    assert (2, "", f"evenkeel: {said}\n") == run(f"report -A {options}", dump=CLUSTER, p=POLICY)
