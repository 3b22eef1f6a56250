"""The rule unknown-field."""

from __future__ import annotations

import pytest

from tests.rules.judged import findings
from tests.support.build import constraint, pod
from webhook.findings.finding import Severity
from webhook.rules import RULES


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

    def test_among_very_many_fields_none_is_renamed(self):
        """Each would be a copy of all."""
        many = {f"field{i}": 0 for i in range(300)}
        found = [f.edit for f in findings(pod(constraint(nodeTaintPolicy="Honor", **many))) if "write" in f.fix]

        assert [None] == found
