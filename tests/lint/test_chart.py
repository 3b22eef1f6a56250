"""Which values a chart's templates read: where that is not certain, they may read any."""

from __future__ import annotations

import pytest

from evenkeel.lint.chart import read_chart
from evenkeel.lint.files import FileReader, judge_file
from tests.support.lint import terms

FIELD = "topologySpreadConstraints"
TOP, WEB = (FIELD,), ("web", FIELD)
READS = [
    ("a: {{ .Values.replicas }}", (False, False)),
    (f"a: {{{{ .Values.{FIELD} }}}}", (True, False)),
    (f"{{{{- with .Values.web.{FIELD} }}}}\n{FIELD}: {{{{ toYaml . }}}}\n{{{{ end }}}}", (False, True)),
    (f"{FIELD}: []", (False, False)),
    (f"{{{{/* .Values.{FIELD} */}}}}\n# {FIELD} of .Values", (False, False)),
    ("{{ toYaml .Values.web }}", (False, True)),
    ("{{ toYaml .Values }}", (True, True)),
    ('{{ index .Values "a" }}', (True, True)),
    (f"{{{{ with .Values.other }}}}{{{{ .{FIELD} }}}}{{{{ end }}}}", (True, True)),
    (f'{{{{ get $web "{FIELD}" }}}}', (True, True)),
    ('{{ include "library.pod" . }}', (True, True)),
    ('{{ define "own" }}a{{ end }}{{ include "own" . }}', (False, False)),
    ("{{ include $name . }}", (True, True)),
    ("{{ tpl .Values.text . }}", (True, True)),
    ('{{ .Files.Get "a" }}', (True, True)),
    (f"{{{{ $.Values.web.{FIELD}.maxSkew }}}}", (False, True)),
]


@pytest.fixture
def chart(tmp_path, monkeypatch):
    """Write a chart, and return a function that reads it."""
    monkeypatch.chdir(tmp_path)

    def write(template, described="name: a"):
        (tmp_path / "templates").mkdir(exist_ok=True)
        (tmp_path / "Chart.yaml").write_text(described)
        (tmp_path / "templates" / "a.yaml").write_text(template)
        return read_chart("prod.yaml", FileReader().text_of_file)

    return write


@pytest.mark.parametrize(("template", "reads"), READS)
def test_what_a_template_reads(chart, template, reads):
    found = chart(template)

    assert reads == tuple(map(found.reads, (TOP, WEB)))


def test_charts_below_may_read_global_values(chart):
    assert chart("a").reads(("global", FIELD))


@pytest.mark.parametrize("needed", ["{name: web}", "{name: b, alias: web}"])
def test_a_chart_that_it_depends_on_reads_the_values_under_its_name(chart, needed):
    found = chart("a", f"name: a\ndependencies: [{needed}]")

    assert (False, True) == tuple(map(found.reads, (TOP, WEB)))


@pytest.mark.parametrize("needed", ["{name: web}", "{name: b, alias: web}"])
def test_dependencies_may_be_in_a_file_of_their_own(chart, tmp_path, needed):
    (tmp_path / "requirements.yaml").write_text(f"dependencies: [{needed}]")

    assert (False, True) == tuple(map(chart("a").reads, (TOP, WEB)))


@pytest.mark.parametrize("packed", ["web-8.0.0.tgz", "web-v1.0.0-rc-2.tgz", "web"])
def test_a_chart_within_reads_the_values_under_its_name(chart, tmp_path, packed):
    (tmp_path / "charts").mkdir()
    (tmp_path / "charts" / packed).touch()
    (tmp_path / "charts" / "redis-ha-1.0.0.tgz").touch()
    found = chart("a")

    assert (False, True) == tuple(map(found.reads, (TOP, WEB)))
    assert found.reads(("redis-ha", FIELD))
    assert not found.reads(("redis-ha-1", FIELD))


LIST = "topologySpreadConstraints: [{maxSkew: 1}]"
OF_OTHERS = [
    ("fleet.yaml", f"helm: {{values: {{{LIST}}}}}"),
    ("fleet.yaml", f"targetCustomizations: [{{helm: {{values: {{web: {{{LIST}}}}}}}}}]"),
    ("helmfile.yaml", f"releases: [{{chart: pg, values: [{{primary: {{{LIST}}}}}]}}]"),
    ("devspace.yaml", f"deployments: {{web: {{helm: {{values: {{{LIST}}}}}}}}}"),
    ("kustomization.yaml", f"helmCharts: [{{name: pg, valuesInline: {{{LIST}}}}}]"),
    ("playbook.yaml", f"[{{hosts: all, vars: {{{LIST}}}}}]"),
    ("values.schema.json", f'{{"$defs": {{{LIST}}}}}'),
    ("values.schema.json", f"properties: {{web: {{{LIST}}}}}"),
]


@pytest.mark.parametrize(("file", "text"), OF_OTHERS)
def test_what_another_tool_reads_is_no_value_of_the_chart(chart, tmp_path, file, text):
    chart("a")
    (tmp_path / file).write_text(text)

    assert [] == judge_file(file, terms(), FileReader()).found


@pytest.mark.parametrize("file", ["values.yaml", "values-prod.yaml", "prod-values.yml", "values.json", "prod.yaml"])
def test_values_may_be_in_any_file_of_the_chart(chart, tmp_path, file):
    chart("a")
    (tmp_path / file).write_text(f"web: [{{{LIST}}}]")

    (found,) = judge_file(file, terms(), FileReader()).found
    assert ("web", 0, FIELD) == found.finding.path


def test_where_there_is_no_chart_nothing_is_known(chart, tmp_path):
    chart("a")
    (tmp_path / "templates" / "a.yaml").unlink()

    assert None is read_chart("prod.yaml", FileReader().text_of_file)
    assert None is read_chart("elsewhere/prod.yaml", FileReader().text_of_file)
    assert None is chart("a", "name: [")


WRONG = (
    "{web: {topologySpreadConstraints: [{maxSkew: 0}]}, topologySpreadConstraints: {a: {maxSkew: 0}, b: {maxSkew: 1}}}"
)


def test_a_value_that_no_template_reads_is_found_once_and_nothing_else_of_it(chart, tmp_path):
    chart(f"{{{{ .Values.web.{FIELD} }}}}")
    (tmp_path / "prod.yaml").write_text(WRONG)
    found = judge_file("prod.yaml", terms(), FileReader())

    assert [("web", FIELD, 0, "maxSkew"), TOP] == [one.finding.path for one in found.found]
    assert ["invalid-constraint", "unknown-field"] == [one.finding.rule for one in found.found]
    assert found.found[1].finding.message.startswith(f"no template of the chart reads .Values.{FIELD}, ")
    assert 2 == found.places.total


@pytest.mark.parametrize("text", ["- {maxSkew: 0}", "a: {maxSkew: 0}", "{{ x }}", "1", "- ["])
def test_a_text_is_read_as_what_it_stands_for(chart, tmp_path, text):
    """Also where its field is not read."""
    for template, rules in ((f".Values.web.{FIELD}", ["unknown-field"]), (f".Values.{FIELD}", None)):
        chart(f"{{{{ {template} }}}}")
        (tmp_path / "prod.yaml").write_text(f"{FIELD}: |\n  {text}\n")
        found = judge_file("prod.yaml", terms(), FileReader())

        expected = ["invalid-constraint"] if "maxSkew" in text else []
        assert (expected if rules is None else rules) == [one.finding.rule for one in found.found]
        assert [] == found.problems


CONSTRAINTS = f".Values.{FIELD}"
WHOLE = [
    f"{FIELD}: {{{{ toYaml {CONSTRAINTS} | nindent 2 }}}}",
    f"{{{{- with {CONSTRAINTS} }}}}\n{FIELD}:\n  {{{{- toYaml . | nindent 2 }}}}\n{{{{- end }}}}",
    f"{FIELD}:\n{{{{- if {CONSTRAINTS} }}}}\n  {{{{- {CONSTRAINTS} | toYaml | nindent 2 }}}}\n{{{{- end }}}}",
    f'{FIELD}: {{{{- include "common.tplvalues.render" (dict "value" {CONSTRAINTS} "context" $) }}}}',
]
IN_PARTS = [
    f"{{{{ {CONSTRAINTS}.maxSkew }}}}",
    f"{{{{- with {CONSTRAINTS} }}}}\n{FIELD}:\n- maxSkew: {{{{ .maxSkew }}}}\n{{{{- end }}}}",
    f"{FIELD}:\n- {{{{ range $key, $value := {CONSTRAINTS} }}}}\n  {{{{ $key }}}}: {{{{ $value }}}}{{{{ end }}}}",
    f"{{{{ with {CONSTRAINTS} }}}}\n{FIELD}:\n- {{{{ range $k, $v := . }}}}{{{{ $k }}}}: {{{{ $v }}}}\n{{{{ end }}}}"
    "{{ end }}",
    f"{{{{ $spread := {CONSTRAINTS} }}}}\n{FIELD}:\n- maxSkew: {{{{ $spread.maxSkew }}}}",
    f'{{{{ $spread := {CONSTRAINTS} }}}}\n{FIELD}:\n- maxSkew: {{{{ get $spread "maxSkew" }}}}',
    f"{FIELD}:\n- {{{{ toYaml {CONSTRAINTS} | nindent 2 }}}}",
    f"{FIELD}:\n{{{{- with {CONSTRAINTS} }}}}\n- {{{{- toYaml . | nindent 2 }}}}\n{{{{- end }}}}",
    f"{FIELD}: {{{{ list {CONSTRAINTS} | toYaml | nindent 2 }}}}",
    f'{FIELD}: {{{{ include "web.spread" {CONSTRAINTS} }}}}',
    f'{{{{ if kindIs "map" {CONSTRAINTS} }}}}a{{{{ else }}}}{WHOLE[0]}{{{{ end }}}}',
    f"{WHOLE[0]}\n---\n{{{{ {CONSTRAINTS}.maxSkew }}}}",
]


@pytest.mark.parametrize(
    ("template", "rules"),
    [*((template, ["invalid-constraint"]) for template in WHOLE), *((template, []) for template in IN_PARTS)],
)
def test_a_chart_is_asked_for_a_list_only_if_its_templates_write_the_value_as_a_whole(chart, tmp_path, template, rules):
    (tmp_path / "prod.yaml").write_text(f"{FIELD}: {{maxSkew: 1, topologyKey: a, whenUnsatisfiable: DoNotSchedule}}")
    chart(template)

    assert rules == [one.finding.rule for one in judge_file("prod.yaml", terms(), FileReader()).found]
