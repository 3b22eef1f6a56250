"""Attributes of a value, a finding, and a rule that was skipped, for programs."""

from __future__ import annotations

import json

from evenkeel.terminal.json_forms import fields, finding_json, ref_json, skipped_json
from tests.support.build import constraint, workload
from tests.support.review import validate
from webhook.findings.finding import Skipped
from webhook.kubernetes.references import ObjectRef


def test_a_finding_says_where_what_and_how_to_mend_it():
    (found,) = validate(workload("StatefulSet", constraint(maxSkew=0))).findings
    field = "spec.template.spec.topologySpreadConstraints[0].maxSkew"
    given = finding_json(found)

    assert ("invalid-constraint", "error", field) == (given["rule"], given["severity"], given["field"])
    assert ("must be greater than zero", "0", "1 or more") == (given["message"], given["found"], given["wanted"])
    assert given["fix"].startswith("set maxSkew to 1")
    assert given == json.loads(json.dumps(given))


def test_what_was_skipped_says_why():
    assert {"rule": "a", "reason": "b"} == skipped_json(Skipped("a", "b"))


def test_attributes_have_their_names_in_camel_case():
    ref = ObjectRef("apps/v1", "Deployment", "shop", "web")

    assert {"inKubectl": "deployment.apps/web", "kind": "Deployment"} == fields(ref, "in_kubectl", "kind")
    assert {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": "web"} == ref_json(ref)
