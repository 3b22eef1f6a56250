"""The rule unknown-field."""

from __future__ import annotations

import pytest

from tests.rules.judged import findings
from tests.support.build import constraint, pod, workload
from webhook.findings.finding import Severity
from webhook.rules import RULES

APP, IN = {"app": "web"}, {"key": "tier", "operator": "In", "values": ["front"]}
MOVE, OWN = (
    "move matchLabels below labelSelector",
    "write labelSelector: {matchLabels: {app: web}}, and remove matchLabels",
)
CORRECT = f"{MOVE}, and select labels that the Pods carry"


class TestUnknownField:
    @pytest.mark.parametrize("name", ["topologySpreadConstraint", "TopologySpreadConstraints"])
    def test_a_misspelt_field_is_repaired_by_its_name(self, name):
        spec = {"hostNetwork": True, name: [constraint()], "containers": []}
        (found,) = findings(pod(spec=spec))

        assert ("spec", name) == found.path
        assert "is not a field, so it is ignored" == found.message
        assert "write topologySpreadConstraints" == found.fix
        assert (("spec",), {**spec, "topologySpreadConstraints": [constraint()]}) == (
            found.edit.path,
            {**found.edit.value, name: [constraint()]},
        )
        assert ["hostNetwork", "topologySpreadConstraints", "containers"] == [*found.edit.value]

    def test_a_name_that_is_there_already_is_written_by_no_repair(self):
        off = RULES["absent-match-label-key"].setting(Severity.IGNORE)
        (found,) = findings(pod(constraint(matchLabelKey=["app"], matchLabelKeys=["tier"])), absent_match_label_key=off)

        assert ("unknown-field", None) == (found.rule, found.edit)

    @pytest.mark.parametrize(
        ("fields", "fix", "selector"),
        [
            ({"labelSelector": None, "matchLabels": APP}, MOVE, {"matchLabels": APP}),
            ({"labelSelector": {}, "matchLabel": APP}, "move matchLabel below labelSelector", {"matchLabels": APP}),
            (
                {"labelSelector": None, "matchExpressions": [IN]},
                "move matchExpressions below labelSelector",
                {"matchExpressions": [IN]},
            ),
            (
                {"matchExpressions": [IN]},
                "move matchExpressions below labelSelector",
                {"matchLabels": APP, "matchExpressions": [IN]},
            ),
            ({"matchLabels": {"tier": "front"}}, MOVE, {"matchLabels": {**APP, "tier": "front"}}),
            ({"matchLabels": APP}, "remove matchLabels", {"matchLabels": APP}),
            ({"matchLabels": {}}, "remove matchLabels", {"matchLabels": APP}),
            ({"labelSelector": None, "matchLabels": {"app": "wbe"}}, OWN, {"matchLabels": APP}),
            ({"labelSelector": None, "matchLabels": "app"}, OWN, {"matchLabels": APP}),
            ({"labelSelector": {}, "matchLabels": APP, "matchLabelKeys": ["app"]}, CORRECT, None),
            ({"matchLabels": {"app": "wbe"}}, CORRECT, None),
            (
                {"matchExpressions": [{"key": "other", "operator": "Exists"}]},
                CORRECT.replace("Labels", "Expressions", 1),
                None,
            ),
            (
                {"matchExpressions": [{"key": "app", "operator": "in"}]},
                CORRECT.replace("Labels", "Expressions", 1),
                None,
            ),
        ],
        ids=str,
    )
    def test_a_part_of_the_selector_is_put_below_it(self, fields, fix, selector):
        obj = workload("StatefulSet", constraint(**fields), labels={**APP, "tier": "front"})
        found = [f for f in findings(obj) if f.rule in ("unknown-field", "empty-selector")]
        (of_field,) = (f for f in found if f.rule == "unknown-field")

        assert all((fix, of_field.edit) == (f.fix, f.edit) for f in found)
        if selector is None:
            assert of_field.edit is None
        else:
            others = {name: value for name, value in fields.items() if not name.startswith("match")}
            assert constraint(**others | {"labelSelector": selector}) == of_field.edit.value

    def test_among_very_many_fields_none_is_renamed(self):
        """Each would be a copy of all."""
        many = {f"field{i}": 0 for i in range(300)}
        found = [f.edit for f in findings(pod(constraint(nodeTaintPolicy="Honor", **many))) if "write" in f.fix]

        assert [None] == found
