"""`evenkeel manifests` prints what kubectl applies, or says what cannot be used."""

from __future__ import annotations

from base64 import b64decode

import pytest
import yaml

from webhook.cli.main import main
from webhook.kubernetes.names import SYSTEM_NAMESPACES
from webhook.manifests.ca_bundle_guard import ca_bundle_policy
from webhook.manifests.configurations import MUTATING_NAME, NEEDED_NAMESPACES
from webhook.manifests.rbac import viewer
from webhook.manifests.skip_label import skip_label_policy
from webhook.policy.parsing import built_in

REACHED = ["--url", "https://a", "--ca-bundle", "ca.crt"]

NOWHERE = "found no --service or --url, wanted one of them"
FAILS = ["--url", "https://a", "--ca-bundle", "ca.crt", "--failure-policy-enforced", "Fail"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificates")
    assert 0 == main(["certs", "issue", "--dir", str(folder), "--name", "keel.guard.svc"])
    (folder / "both.pem").write_bytes((folder / "ca.crt").read_bytes() + (folder / "tls.key").read_bytes())
    (folder / "bad.yaml").write_text("kind: SpreadPolicy\n", "utf-8")
    return folder


@pytest.mark.parametrize(("version", "there"), [("1.28", False), ("1.29", True)])
def test_an_api_server_that_would_refuse_the_conditions_gets_none(folder, capsys, version, there):
    capsys.readouterr()
    main(["manifests", "--url", "https://a", "--ca-bundle", str(folder / "ca.crt"), "--kubernetes-version", version])
    found = yaml.safe_load_all(capsys.readouterr().out)

    assert {there} == {"matchConditions" in entry for one in found for entry in one["webhooks"]}


def printed(capsys, folder, *options):
    """The entries of the validating configuration, and what each does where no webhook answers."""
    capsys.readouterr()
    assert 0 == main(["manifests", "--url", "https://a", "--ca-bundle", str(folder / "ca.crt"), *options])
    (found,) = (one for one in yaml.safe_load_all(capsys.readouterr().out) if one["kind"].startswith("Validating"))
    return {entry["name"]: entry["failurePolicy"] for entry in found["webhooks"]}


def test_what_is_enforced_can_fail_alone(folder, capsys):
    (folder / "enforced.yaml").write_text(
        "apiVersion: config.evenkeel.dev/v1alpha1\nkind: SpreadPolicy\nrules: {empty-selector: {enforced: true}}\n",
        "utf-8",
    )
    options = ["--policy", str(folder / "enforced.yaml"), "--failure-policy-enforced", "Fail"]

    apart = printed(capsys, folder, *options)
    assert {"enforced.pods.evenkeel.dev": "Fail", "pods.evenkeel.dev": "Ignore"}.items() <= apart.items()
    assert "Fail" == printed(capsys, folder, *options, "--failure-policy", "Fail")["pods.evenkeel.dev"]
    assert "enforced.pods.evenkeel.dev" not in printed(capsys, folder, *options, "--failure-policy", "Fail")
    assert "enforced.pods.evenkeel.dev" not in printed(capsys, folder, *options[2:])
    main(["manifests", "--url", "https://a", "--ca-bundle", str(folder / "ca.crt"), *options[2:]])
    assert "note: --failure-policy-enforced Fail: the policy has no enforced rule" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "never_sent"),
    [
        ([], SYSTEM_NAMESPACES),
        (["--exclude-namespace", "b", "--exclude-namespace", "a"], (*SYSTEM_NAMESPACES, "b", "a")),
        (["--failure-policy", "Fail"], (*SYSTEM_NAMESPACES, *NEEDED_NAMESPACES)),
        (["--failure-policy-enforced", "Fail"], (*SYSTEM_NAMESPACES, *NEEDED_NAMESPACES)),
        (
            ["--failure-policy", "Fail", "--exclude-namespace", "a", "--exclude-namespace", NEEDED_NAMESPACES[0]],
            (*SYSTEM_NAMESPACES, "a", *NEEDED_NAMESPACES),
        ),
    ],
)
def test_nothing_is_sent_of_what_is_excluded_nor_with_fail_of_what_it_needs(folder, capsys, options, never_sent):
    capsys.readouterr()
    assert 0 == main(["manifests", "--url", "https://a", "--ca-bundle", str(folder / "ca.crt"), *options])
    selectors = [
        entry["namespaceSelector"]["matchExpressions"][0]
        for one in yaml.safe_load_all(capsys.readouterr().out)
        for entry in one["webhooks"]
    ]

    assert {("kubernetes.io/metadata.name", "NotIn")} == {(one["key"], one["operator"]) for one in selectors}
    assert all(set(never_sent) == {*one["values"]} and len(never_sent) == len(one["values"]) for one in selectors)


@pytest.mark.parametrize("where", [["--service", "guard/keel"], ["--url", "https://localhost"]], ids=["Service", "URL"])
def test_rights_come_before_what_needs_them(folder, capsys, where):
    capsys.readouterr()
    main(["manifests", *where, "--rbac", "--ca-bundle", str(folder / "ca.crt")])
    kinds = [one["kind"] for one in yaml.safe_load_all(capsys.readouterr().out)]

    assert ["ServiceAccount", "ClusterRole", "ClusterRoleBinding"] == kinds[:3]
    assert 5 == len(kinds)


@pytest.mark.parametrize("option", ["--tls-secret", "--inject-ca-from"])
def test_a_ca_that_is_written_in_later_is_not_in_the_configurations(capsys, option):
    assert 0 == main(["manifests", "--service", "guard/keel", option, "guard/cert"])
    found = [*yaml.safe_load_all(capsys.readouterr().out)]

    asked = {"cert-manager.io/inject-ca-from": "guard/cert"} if option == "--inject-ca-from" else None
    assert [asked] * 2 == [one["metadata"].get("annotations") for one in found]
    assert not any("caBundle" in entry["clientConfig"] for one in found for entry in one["webhooks"])


def test_the_rights_to_renew_a_certificate_are_among_those_that_are_asked_for(capsys):
    assert 0 == main(["manifests", "--service", "guard/keel", "--rbac", "--tls-secret", "other/cert"])
    text = capsys.readouterr().out
    kinds = [one["kind"] for one in yaml.safe_load_all(text)]

    assert ["ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Secret", "Role", "RoleBinding"] == kinds[:6]
    assert "&id" not in text, "nothing that a person would have to look up"


@pytest.mark.parametrize(("workloads", "sent"), [("", False), ("workloads: [{builtIn: prometheus}]\n", True)])
def test_the_kind_of_an_operator_is_sent_only_where_the_policy_names_it(folder, tmp_path, capsys, workloads, sent):
    policy = tmp_path / "policy.yaml"
    policy.write_text(f"apiVersion: config.evenkeel.dev/v1alpha1\nkind: SpreadPolicy\n{workloads}")
    options = ["--url", "https://a", "--ca-bundle", str(folder / "ca.crt"), "--rbac", "--policy", str(policy)]

    assert 0 == main(["manifests", *options])
    assert sent is ("prometheuses" in capsys.readouterr().out)


def test_the_rights_of_people_stand_alone_or_come_first(folder, capsys):
    capsys.readouterr()
    alone = main(["manifests", "--rbac-viewer"])
    (role,) = yaml.safe_load_all(capsys.readouterr().out)
    main(["manifests", "--rbac-viewer", "--rbac", "--url", "https://a", "--ca-bundle", str(folder / "ca.crt")])
    found = [(one["kind"], one["metadata"]["name"]) for one in yaml.safe_load_all(capsys.readouterr().out)]

    assert (0, viewer(built_in())) == (alone, role)
    assert [("ClusterRole", "evenkeel-viewer"), ("ServiceAccount", "evenkeel")] == found[:2]
    assert 6 == len(found)


@pytest.mark.parametrize(
    ("options", "users", "groups"),
    [
        ([], [], []),
        (["--skip-label-user", "system:serviceaccount:a:b"], ["system:serviceaccount:a:b"], []),
        (["--skip-label-group", "CN=a,OU=b", "--skip-label-group", "c"], [], ["CN=a,OU=b", "c"]),
        (["--skip-label-user", "a", "--skip-label-group", "b", "--skip-label-user", "c"], ["a", "c"], ["b"]),
    ],
    ids=["nobody", "a user", "groups", "both"],
)
def test_who_may_set_the_skip_label_comes_last(folder, capsys, options, users, groups):
    capsys.readouterr()
    main(["manifests", "--url", "https://a", "--ca-bundle", str(folder / "ca.crt"), *options])
    found = [*yaml.safe_load_all(capsys.readouterr().out)]

    assert [*(skip_label_policy(users, groups) if options else ())] == found[2:]


def test_who_may_only_change_the_ca_bundle_comes_last(folder, capsys):
    capsys.readouterr()
    options = ["--ca-bundle-user", "system:serviceaccount:a:b", "--skip-label-group", "c"]
    main(["manifests", "--url", "https://a", "--ca-bundle", str(folder / "ca.crt"), *options])
    found = [*yaml.safe_load_all(capsys.readouterr().out)]

    assert [*skip_label_policy([], ["c"]), *ca_bundle_policy("system:serviceaccount:a:b")] == found[2:]


def test_the_command_prints_what_kubectl_applies(folder, capsys):
    capsys.readouterr()
    code = main(["manifests", "--service", "guard/keel", "--ca-bundle", str(folder / "both.pem")])
    text = capsys.readouterr().out
    found = list(yaml.safe_load_all(text))

    assert (0, [MUTATING_NAME, "evenkeel"]) == (code, [one["metadata"]["name"] for one in found])
    bundle = b64decode(found[0]["webhooks"][0]["clientConfig"]["caBundle"])
    assert bundle == (folder / "ca.crt").read_bytes(), "nothing but the certificate, no key that lies beside it"


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ([], f"{NOWHERE}; only --rbac-viewer works alone"),
        (["--rbac-viewer", "--rbac"], NOWHERE),
        (["--ca-bundle", "ca.crt"], NOWHERE),
        (["--rbac-viewer", "--tls-secret", "a/b"], NOWHERE),
        (
            ["--rbac-viewer", "--url", "https://a"],
            "found no --ca-bundle, --tls-secret or --inject-ca-from, wanted one of them; only --rbac-viewer",
        ),
        (["--url", "https://a", "--tls-secret", "a"], '--tls-secret: found "a", wanted NAMESPACE/NAME'),
        (["--url", "https://a", "--inject-ca-from", "a/B"], '--inject-ca-from: found "a/B", wanted NAMESPACE/NAME'),
        (["--service", "guard", "--ca-bundle", "ca.crt"], '--service: found "guard", wanted NAMESPACE/NAME'),
        (
            [*FAILS, "--kubernetes-version", "1.28"],
            "--failure-policy-enforced Fail: found Kubernetes 1.28, wanted 1.29 or newer",
        ),
        (["--service", "a/b/c", "--ca-bundle", "ca.crt"], '--service: found "a/b/c", wanted NAMESPACE/NAME'),
        (["--url", "http://a", "--ca-bundle", "ca.crt"], '--url: found "http://a", wanted https://HOST[:PORT]'),
        (["--url", "https://a:x", "--ca-bundle", "ca.crt"], '--url: found "https://a:x", wanted https://HOST[:PORT]'),
        (["--url", "https://a/?b", "--ca-bundle", "ca.crt"], '--url: found "https://a/?b", wanted https://HOST[:PORT]'),
        (["--url", "https://a", "--ca-bundle", "none"], "none: No such file or directory"),
        (["--url", "https://a", "--ca-bundle", "tls.key"], "has no certificate, found PRIVATE KEY"),
        (["--url", "https://a", "--ca-bundle", "tls.crt"], "which is not a CA"),
        (["--url", "https://a", "--ca-bundle", "ca.crt", "--policy", "bad.yaml"], "must have apiVersion"),
        ([*REACHED, "--exclude-namespace", "A b"], '--exclude-namespace: found "A b", wanted the name of a namespace'),
        ([*REACHED, "--skip-label-user", ""], '--skip-label-user: found "", wanted a name'),
        ([*REACHED, "--skip-label-group", "a", "--skip-label-group", " "], '--skip-label-group: found " ", wanted a'),
        ([*REACHED, "--ca-bundle-user", ""], '--ca-bundle-user: found "", wanted a name'),
        (
            [*REACHED, "--ca-bundle-user", "a", "--kubernetes-version", "v1.29.4"],
            "--ca-bundle-user: found Kubernetes 1.29, wanted 1.30 or newer",
        ),
        ([*REACHED, "--skip-label-user", "a\nb"], '--skip-label-user: found "a\\nb", wanted a name'),
        ([*REACHED, "--skip-label-user", "\udcff"], '--skip-label-user: found "\\udcff", wanted a name'),
        (
            [*REACHED, "--skip-label-group", "a", "--kubernetes-version", "v1.29.4"],
            "--skip-label-group: found Kubernetes 1.29, wanted 1.30 or newer",
        ),
    ],
)
def test_what_cannot_be_used_is_named(folder, capsys, monkeypatch, options, complaint):
    monkeypatch.chdir(folder)

    assert 2 == main(["manifests", *options])
    shown = capsys.readouterr()
    assert complaint in shown.err
    assert ("", 1) == (shown.out, shown.err.count("\n"))


def kinds_printed(capsys, *options):
    """The kinds and names of what is printed, and the lines on standard error."""
    capsys.readouterr()
    assert 0 == main(["manifests", *options])
    said = capsys.readouterr()
    names = [(each["kind"], each["metadata"]["name"]) for each in yaml.safe_load_all(said.out)]
    return names, said.err.splitlines()


def cel(*names):
    kinds = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
    return [(kind, name) for name in names for kind in kinds]


def test_policies_are_printed_with_what_they_do_otherwise(capsys):
    names, notes = kinds_printed(capsys, "--engine", "policy", "--exclude-namespace", "own")

    assert cel("evenkeel", "evenkeel-warn") == names
    assert all(note.startswith("note: ") for note in notes)
    assert notes[0].startswith("note: assuming Kubernetes 1.37; set --kubernetes-version if the cluster may be older")
    assert notes[1].startswith("note: left out, because only the webhook can check them: ")
    assert notes[-1].startswith("note: not needed: evenkeel-audit; ")


def test_a_version_that_is_given_is_not_assumed(capsys):
    _, notes = kinds_printed(capsys, "--engine", "policy", "--kubernetes-version", "1.37")

    assert not any("assumed" in note for note in notes)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--service", "a/b"], "--service: only for a webhook, and --engine policy prints none; leave it out"),
        (["--url", "https://a"], "--url: only for a webhook, and --engine policy prints none; leave it out"),
        (["--ca-bundle", "x"], "--ca-bundle: only for a webhook, and --engine policy prints none; leave it out"),
        (
            ["--failure-policy", "Fail", "--rbac"],
            "--failure-policy, --rbac: only for a webhook, and --engine policy prints none; leave them out",
        ),
        (
            ["--kubernetes-version", "1.29"],
            "--engine policy: found Kubernetes 1.29, wanted 1.36 or newer: an older kube-apis",
        ),
        (
            ["--kubernetes-version", "1.35"],
            "--engine policy: found Kubernetes 1.35, wanted 1.36 or newer: an older kube-apis",
        ),
        (
            ["--policy", "{}/lost.yaml"],
            "{}/lost.yaml: override a: podSelector: CEL cannot see the label pod-template-hash, ",
        ),
    ],
)
def test_what_policies_cannot_do_stops_the_command(folder, capsys, options, reason):
    (folder / "lost.yaml").write_text(
        "apiVersion: config.evenkeel.dev/v1alpha1\nkind: SpreadPolicy\n"
        "overrides: [{name: a, podSelector: {matchLabels: {pod-template-hash: x}}}]\n",
        "utf-8",
    )
    capsys.readouterr()

    assert 2 == main(["manifests", "--engine", "policy", *(option.format(folder) for option in options)])
    said = capsys.readouterr()
    assert ("", 1) == (said.out, said.err.count("\n"))
    assert said.err.startswith(f"evenkeel: {reason.format(folder)}")


def test_an_override_that_has_ended_is_not_carried_over(folder, capsys):
    (folder / "ended.yaml").write_text(
        "apiVersion: config.evenkeel.dev/v1alpha1\nkind: SpreadPolicy\n"
        "overrides: [{name: a, podSelector: {matchLabels: {a: b}}, until: 2020-01-31, enforcement: Warn}]\n",
        "utf-8",
    )

    names, notes = kinds_printed(capsys, "--engine", "policy", "--policy", str(folder / "ended.yaml"))

    assert cel("evenkeel", "evenkeel-warn") == names
    assert "note: override a: ended on 2020-01-31, so it is left out" in notes
