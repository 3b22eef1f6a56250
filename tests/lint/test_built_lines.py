"""A finding on a build stands at the line that it comes from, where that is certain."""

from __future__ import annotations

import pytest

from evenkeel.lint.builds import Build
from evenkeel.lint.built_lines import by_source, in_sources
from evenkeel.lint.results import JudgedFile
from tests.support.lint import judged, terms
from webhook.findings.finding import Severity

WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: nginx}]
      topologySpreadConstraints:
CONSTRAINTS
"""
GOOD = "{maxSkew: 1, topologyKey: node, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: web}}}"
WRONG = "{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: wbe}}}"
EMPTY = "{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}"
ZERO = "{maxSkew: 0, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: web}}}"


def web(*constraints, name="web"):
    lines = "\n".join(f"      - {constraint}" for constraint in constraints)
    return WEB.replace("NAME", name).replace("CONSTRAINTS", lines)


def judging(sources, patches=frozenset()):
    return lambda file: judged(sources[file], terms(patches=patches), file).found


def placed(built, sources, file="prod/kustomization.yaml", command=("kustomize", "build", "prod")):
    """The result, and each finding as `file:line:column rule from`."""
    build = Build(file, tuple(sources), command, built)
    read_file = {file: "resources: [../base]\n", **sources}.get
    result = in_sources(judged(built, file=file), build, read_file, judging(sources))
    found = (f"{one.file}:{one.line}:{one.column} {one.finding.rule} from {one.source}" for one in result.found)
    return result, [*found]


KUSTOMIZE = "from kustomize build prod"
AT_TOP = f"prod/kustomization.yaml:1:1 selector-misses-own-pod {KUSTOMIZE}"


@pytest.mark.parametrize(
    ("built", "sources", "finds"),
    [
        (web(WRONG), {"web.yaml": web(WRONG)}, [f"web.yaml:12:76 selector-misses-own-pod {KUSTOMIZE}"]),
        (web(GOOD, WRONG), {"web.yaml": web(WRONG)}, [f"web.yaml:12:76 selector-misses-own-pod {KUSTOMIZE}"]),
        (web(WRONG, name="a-web"), {"web.yaml": web(WRONG)}, [f"{AT_TOP}, line 12"]),
        (
            web(WRONG, name="a-web"),
            {"web.yaml": web(WRONG), "kustomization.yaml": "namePrefix: a-"},
            [f"web.yaml:12:76 selector-misses-own-pod {KUSTOMIZE}"],
        ),
        (web(WRONG), {"web.yaml": web(WRONG), "b.yaml": web(WRONG)}, [f"{AT_TOP}, line 12"]),
        (web(WRONG), {"web.yaml": web(GOOD)}, [f"{AT_TOP}, line 12"]),
        (web(WRONG), {"web.yaml": web(WRONG, name="db")}, [f"{AT_TOP}, line 12"]),
        (web(WRONG), {"web.yaml": "a: ["}, [f"{AT_TOP}, line 12"]),
        (web(WRONG), {}, [f"{AT_TOP}, line 12"]),
        (web(ZERO), {"web.yaml": web(ZERO.replace("wbe", "db"))}, [f"web.yaml:12:10 invalid-constraint {KUSTOMIZE}"]),
        (
            web(EMPTY.replace("}", ", labelSelector: {}}")),
            {"web.yaml": web(EMPTY)},
            [f"prod/kustomization.yaml:1:1 empty-selector {KUSTOMIZE}, line 12"],
        ),
        (web(EMPTY), {"web.yaml": web(EMPTY)}, [f"web.yaml:12:7 empty-selector {KUSTOMIZE}"]),
        (
            web(EMPTY),
            {"web.yaml": f"- op: add\n  path: /x/y\n  value:\n    topologySpreadConstraints: [{EMPTY}]"},
            [f"web.yaml:4:33 empty-selector {KUSTOMIZE}"],
        ),
    ],
)
def test_a_finding_stands_where_one_source_alone_has_the_value(built, sources, finds):
    assert finds == placed(built, sources)[1]


def repairs(built, sources, patches=()):
    """The path and the value of each repair that stays."""
    build = Build("prod/kustomization.yaml", tuple(sources), ("kustomize", "build", "prod"), built)
    found = in_sources(judged(built, file=build.file), build, sources.get, judging(sources, patches)).found
    return [(one.file, one.finding.edit.path[4:], one.finding.edit.value) for one in found if one.finding.edit]


def test_a_repair_stays_where_one_line_of_a_base_is_the_cause():
    """Also that of another object in a list; the path is that in the source."""
    base, repair = {"web.yaml": web(WRONG)}, ("web.yaml", (0, "labelSelector"), {"matchLabels": {"app": "web"}})
    renamed = {**base, "kustomization.yaml": "namePrefix: a-"}

    assert [repair] == repairs(web(WRONG), base) == repairs(web(GOOD, WRONG), base)
    assert [repair] == repairs(web(WRONG, name="a-web"), renamed)


def test_no_repair_stays_where_it_may_change_more_or_something_else():
    base, renamed = {"web.yaml": web(WRONG)}, {"web.yaml": web(WRONG), "kustomization.yaml": "namePrefix: a-"}

    assert [] == repairs(web(WRONG), base, {"web.yaml"})  # as a patch
    assert [] == repairs(web(LABELLED), base)  # changed by the build
    assert [] == repairs(web(WRONG), {**base, "b.yaml": web(WRONG)})
    assert [] == repairs(f"{web(WRONG, name='a-web')}---\n{web(GOOD, name='b-web')}", renamed)


LABELLED = WRONG.replace("app: wbe", "app: wbe, team: a")


def test_a_finding_stands_where_a_build_has_only_added_members():
    """As commonLabels do; unless another source has the whole value, or two may have become it."""
    line = f"web.yaml:12:76 selector-misses-own-pod {KUSTOMIZE}"

    assert [line] == placed(web(LABELLED), {"web.yaml": web(WRONG)})[1]
    assert [line] == placed(web(LABELLED), {"web.yaml": web(LABELLED), "b.yaml": web(WRONG)})[1]
    assert [f"{AT_TOP}, line 12"] == placed(web(LABELLED), {"web.yaml": web(WRONG), "b.yaml": web(WRONG)})[1]


def test_a_comment_at_the_beginning_suppresses():
    build = Build("prod/kustomization.yaml", (), ("kustomize", "build", "prod"), web(ZERO))
    found = judged(build.text, file=build.file)
    commented = {build.file: "resources: [../base]  # evenkeel: ignore[invalid-constraint]\n"}

    assert (1, []) == ((result := in_sources(found, build, commented.get, judging(commented))).suppressed, result.found)


def test_a_comment_in_the_source_does_not_suppress_what_is_enforced():
    built, commented = web(WRONG), web(f"{WRONG}  # evenkeel: ignore[selector-misses-own-pod]")
    build = Build("prod/kustomization.yaml", ("web.yaml",), ("kustomize", "build", "prod"), built)
    found = judged(built, file=build.file)
    found.found = [one._replace(finding=one.finding._replace(enforced=True)) for one in found.found]
    result = in_sources(found, build, {"web.yaml": commented}.get, judging({"web.yaml": commented}))

    assert (0, ["web.yaml"]) == (result.suppressed, [one.file for one in result.found])


def test_where_constraints_are_missing_is_the_object_that_lacks_them():
    """Whatever else kustomize changes in it."""
    lacks = web().replace("      topologySpreadConstraints:\n\n", "")
    built = lacks.replace("nginx", "nginx:2")
    policy = terms(policy=terms().policy.with_severities({"missing-constraints": Severity.ERROR}))
    build = Build("prod/kustomization.yaml", ("web.yaml",), ("kustomize", "build", "prod"), built)
    (found,) = in_sources(
        judged(built, policy, build.file), build, {"web.yaml": lacks}.get, judging({"web.yaml": lacks})
    ).found

    assert ("web.yaml", 9, "missing-constraints") == (found.file, found.line, found.finding.rule)


def test_the_field_is_that_of_the_source():
    result, _ = placed(web(GOOD, WRONG), {"web.yaml": web(WRONG)})
    (finding,) = result.found

    assert 0 == finding.finding.path[-2]


def test_a_finding_on_another_field_stands_where_that_is():
    built = web(GOOD).replace("name: web}\n", "name: web, annotations: {evenkeel.dev/ignore: rollout-skew}}\n", 1)
    _, found = placed(built, {"web.yaml": built})

    assert [f"web.yaml:3:37 unused-suppression {KUSTOMIZE}"] == found


@pytest.mark.parametrize(
    ("comment", "count"),
    [("selector-misses-own-pod", 1), ("empty-selector", 0)],
)
def test_a_comment_in_the_source_suppresses(comment, count):
    """kustomize leaves comments out."""
    commented = web(f"{WRONG}  # evenkeel: ignore[{comment}]")
    result, found = placed(web(WRONG), {"web.yaml": commented})

    assert (count, 1 - count) == (result.suppressed, len(found))


SOURCE = "---\n# Source: web/templates/web.yaml\n"
HELM = "from helm template charts/web"
TEMPLATE = "charts/web/templates/web.yaml"


def rendered(built, sources):
    sources = {f"charts/web/{name}": text for name, text in sources.items()}
    return placed(SOURCE + built, sources, "charts/web/Chart.yaml", ("helm", "template", "charts/web"))[1]


@pytest.mark.parametrize(
    ("sources", "finds"),
    [
        ({"templates/web.yaml": f"{{{{ if a }}}}\n  - {WRONG}\n"}, f"{TEMPLATE}:2:3 selector-misses-own-pod {HELM}"),
        (
            {"templates/web.yaml": f"{{{{ x }}}}\u2028\n  - {WRONG}"},
            f"{TEMPLATE}:2:3 selector-misses-own-pod {HELM}",
        ),
        (
            {"templates/web.yaml": f"{{{{ x }}}}\n- {WRONG}\n- {WRONG}"},
            f"{TEMPLATE}:1:1 selector-misses-own-pod {HELM}, line 14",
        ),
        ({"templates/web.yaml": "{{ toYaml }}"}, f"{TEMPLATE}:1:1 selector-misses-own-pod {HELM}, line 14"),
        (
            {"templates/web.yaml": "{{ x }}", "values.yaml": f"web:\n  topologySpreadConstraints:\n  - {WRONG}\n"},
            f"charts/web/values.yaml:3:72 selector-misses-own-pod {HELM}",
        ),
        (
            {"templates/web.yaml": f"{{{{ x }}}}\n- {WRONG}", "values.yaml": f"topologySpreadConstraints: [{WRONG}]"},
            f"{TEMPLATE}:1:1 selector-misses-own-pod {HELM}, line 14",
        ),
        ({}, f"charts/web/Chart.yaml:1:1 selector-misses-own-pod {HELM}, line 14"),
    ],
)
def test_what_is_rendered_stands_in_its_template_or_in_the_values(sources, finds):
    assert [finds] == rendered(web(WRONG), sources)


def test_a_template_of_several_objects_is_not_certain():
    one = {"templates/web.yaml": f"{{{{ x }}}}\n- {WRONG}\n"}
    two = f"{web(WRONG)}{SOURCE}{web(WRONG, name='db')}"

    assert all(":1:1 " in found for found in rendered(two, one))


def test_a_comment_in_a_template_that_cannot_be_read_changes_nothing():
    """Helm keeps comments, and so they are read where it is rendered."""
    template = f"{{{{- if x }}}}\n# evenkeel: ignore[rollout-skew]\n- {WRONG}\n{{{{ end }}}}"

    assert [f"{TEMPLATE}:3:1 selector-misses-own-pod {HELM}"] == rendered(web(WRONG), {"templates/web.yaml": template})


@pytest.mark.parametrize("idle", [{"rule": "unused-suppression"}, {"idle": "too few Pods"}])
def test_what_does_something_on_one_build_is_of_use(idle):
    (top,) = placed(web(ZERO), {})[0].found
    idle = top._replace(file="web.yaml", line=3, finding=top.finding._replace(**idle))
    builds = [Build(f"{name}/kustomization.yaml", ("web.yaml",), (), "text") for name in ("dev", "prod")]
    of_both = [JudgedFile("web.yaml"), *(JudgedFile(build.file, found=[idle]) for build in builds)]

    assert [[idle], [], []] == [judged.found for judged in by_source(of_both, builds)]
    assert [[], []] == [judged.found for judged in by_source(of_both[:2], builds)]


def test_notes_and_problems_stand_at_the_beginning():
    custom = '{"apiVersion": "a/v1", "kind": "Thing", "spec": {"topologySpreadConstraints": [{"maxSkew": 1}]}}'
    text = f"{web(WRONG)}---\n{custom}\n---\napiVersion: v1\nkind: ["
    build = Build("kustomization.yaml", (), ("kustomize", "build", "."), text)
    result = in_sources(judged(text, file=build.file), build, {}.get, judging({}))

    assert all((result.notes, result.problems, result.found))
    assert {(1, 1)} == {(one.line, one.column) for one in (*result.notes, *result.problems, *result.found)}


def test_a_finding_of_several_builds_is_one_of_its_file_and_the_gravest():
    """Two of one build stay two, also at one line; what stands at the beginning is that of each build."""
    (one,) = placed(web(WRONG), {"web.yaml": web(WRONG)})[0].found
    one = one._replace(finding=one.finding._replace(edit=None), address=None)
    graver = one._replace(finding=one.finding._replace(severity=Severity.ERROR))
    (top,) = placed(web(WRONG), {})[0].found
    other, elsewhere = top._replace(identity="other"), one._replace(file="nowhere.yaml")
    results = [
        JudgedFile("web.yaml", found=[]),
        JudgedFile("prod/kustomization.yaml", found=[one, one, top, other]),
        JudgedFile("dev/kustomization.yaml", found=[graver, top, elsewhere]),
    ]

    assert [[graver, one], [top, other], [elsewhere]] == [judged.found for judged in by_source(results, ())]


def test_a_repair_stays_where_every_build_of_its_file_has_it():
    (one,) = placed(web(WRONG), {"web.yaml": web(WRONG)})[0].found
    unlike = one._replace(finding=one.finding._replace(edit=one.finding.edit._replace(value={})))
    builds = [Build(f"{name}/kustomization.yaml", ("web.yaml",), (), text) for name, text in (("a", "x"), ("b", ""))]

    def kept(*found):
        results = [
            JudgedFile("web.yaml"),
            *(JudgedFile(name, found=[each]) for name, each in zip("ab", found, strict=False)),
        ]
        return [located.finding.edit for located in next(by_source(results, builds)).found]

    assert [one.finding.edit] == kept(one, one)
    assert [None] == kept(one) == kept(one, unlike)
