"""Who may exempt a namespace, where chosen users and groups only may: by whatever request it is tried."""

from __future__ import annotations

import json

import pytest

from tests.e2e.api import MERGE
from tests.support.serving import until
from webhook.manifests.skip_label import SKIP_LABEL_NAME, skip_label_policy

SKIP = {"evenkeel.dev/skip": "true"}
POLICY = f"/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/{SKIP_LABEL_NAME}"
VELERO = "system:serviceaccount:velero:velero"
ODD = """CN=the "Ops" of <x> & y's,OU=\\n ☸ 🙂"""  # printable is all that it is
RESOURCES = ("namespaces", "namespaces/status", "namespaces/finalize")
ADMIN = ()
TENANT = ("--as=jane", "--as-group=tenants")
CHOSEN = {
    "a user": (f"--as={VELERO}", "--as-group=tenants"),
    "a member of a group": ("--as=joe", "--as-group=tenants", "--as-group=platform"),
    "a member of a group of another name": ("--as=joe", "--as-group=tenants", f"--as-group={ODD}"),
}
NAMED = f"ValidatingAdmissionPolicy {SKIP_LABEL_NAME}"
DENIED = f"ValidatingAdmissionPolicy '{SKIP_LABEL_NAME}' with binding '{SKIP_LABEL_NAME}' denied request: "
FOUND = 'metadata.labels[evenkeel.dev/skip]: found "true"'
FIX = "leave the label out, or ask one of them to set it"
MESSAGE = f'{FOUND} from user "jane", wanted it only from user "{VELERO}" or group "platform" or group "{ODD}"; {FIX}'


@pytest.fixture(scope="module")
def kubectl(plane):
    """kubectl in front of a control plane with the policy in force, which takes a moment."""
    everything = ("--verb=get,list,watch,create,update,patch,delete", "--resource=" + ",".join(RESOURCES))
    plane.kubectl("create", "clusterrole", "tenants", *everything)
    plane.kubectl("create", "clusterrolebinding", "tenants", "--clusterrole=tenants", "--group=tenants")
    until(lambda: plane.kubectl("auth", "can-i", "create", "namespaces", *TENANT).code == 0, "rights")
    assert (0, "") == plane.apply(*skip_label_policy([VELERO], ["platform", ODD]))[::2]
    until(lambda: MESSAGE in refusal(plane.kubectl), "the policy to be in force")
    return plane.kubectl


def refusal(kubectl):
    """What a tenant is told who creates a namespace with the label, in a dry run."""
    return kubectl("create", "-f", "-", "--dry-run=server", *TENANT, stdin=skipped("refused")).stderr


def skipped(name, **fields):
    """A namespace with the label, as JSON."""
    metadata = {"labels": SKIP, **({"generateName": name} if name.endswith("-") else {"name": name})}
    return json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata, **fields})


def labels(kubectl, name):
    return json.loads(kubectl("get", "namespace", name, "-o", "json").stdout)["metadata"]["labels"]


SET = json.dumps({"metadata": {"labels": SKIP}})
ADD = json.dumps([{"op": "add", "path": "/metadata/labels/evenkeel.dev~1skip", "value": "true"}])
RAW = "/api/v1/namespaces/{}"
FINALIZERS = {"spec": {"finalizers": ["kubernetes"]}}
# The arguments of kubectl and its standard input, for a namespace that is there or for a new one.
CREATIONS = {
    "create": (("create", "-f", "-"), skipped("{}-new")),
    "create with a generated name": (("create", "-f", "-"), skipped("{}-new-")),
    "apply": (("apply", "-f", "-"), skipped("{}-new")),
    "server-side apply": (("apply", "--server-side", "-f", "-"), skipped("{}-new")),
}
CHANGES = {
    "label": (("label", "namespace", "{}", "evenkeel.dev/skip=true"), None),
    "label with another value before": (("label", "namespace", "{}", "--overwrite", "evenkeel.dev/skip=true"), None),
    "replace": (("replace", "-f", "-"), skipped("{}")),
    "apply of what is there": (("apply", "-f", "-"), skipped("{}")),
    "server-side apply of what is there": (("apply", "--server-side", "-f", "-"), skipped("{}")),
    "JSON patch": (("patch", "namespace", "{}", "--type=json", f"--patch={ADD}"), None),
    "merge patch": (("patch", "namespace", "{}", "--type=merge", f"--patch={SET}"), None),
    "patch of the status": (("patch", "namespace", "{}", "--subresource=status", f"--patch={SET}"), None),
    "replace the status": (("replace", "--raw", f"{RAW}/status", "-f", "-"), skipped("{}")),
    "replace the finalizers": (("replace", "--raw", f"{RAW}/finalize", "-f", "-"), skipped("{}", **FINALIZERS)),
}


def run(kubectl, way, name, who):
    arguments, stdin = way
    filled = [word.replace("{}", name) for word in arguments]
    return kubectl(*filled, *who, stdin=stdin and stdin.replace("{}", name))


@pytest.mark.parametrize("way", CREATIONS)
def test_only_who_is_chosen_creates_a_namespace_with_the_label(kubectl, way):
    for number, who in enumerate((TENANT, ADMIN, *CHOSEN.values())):
        output = run(kubectl, CREATIONS[way], f"{way.replace(' ', '-')}-{number}", who)

        assert (number < 2) == (output.code == 1 and DENIED in output.stderr), output
        assert (number > 1) == (output.code == 0), output


@pytest.mark.parametrize("way", CHANGES)
def test_only_who_is_chosen_gives_it_to_one(plane, kubectl, namespace, way):
    before = {"evenkeel.dev/skip": "false"} if "before" in way else {}
    plane.api.call("PATCH", f"/api/v1/namespaces/{namespace}", {"metadata": {"labels": before}}, MERGE)

    output = run(kubectl, CHANGES[way], namespace, TENANT)
    assert output.code == 1 and DENIED + MESSAGE in output.stderr, output
    assert SKIP.items() - labels(kubectl, namespace).items()

    output = run(kubectl, CHANGES[way], namespace, CHOSEN["a user"])
    assert output.code == 0, output
    assert SKIP.items() <= labels(kubectl, namespace).items()


def test_what_kubectl_prints(kubectl, namespace):
    output = kubectl("label", "namespace", namespace, "evenkeel.dev/skip=true", *TENANT)

    head = f'Error from server (Forbidden): namespaces "{namespace}" is forbidden: '
    assert (1, "", f"{head}{DENIED}{MESSAGE}\n") == output


@pytest.mark.parametrize("who", CHOSEN)
def test_users_and_members_of_groups_are_chosen(kubectl, namespace, who):
    output = kubectl("label", "namespace", namespace, "evenkeel.dev/skip=true", *CHOSEN[who])

    assert (0, "") == output[::2]


def test_nobody_is_kept_from_anything_else(kubectl, namespace):
    """Other labels and values, a namespace without labels, changes of one that is exempt, and its end."""
    for arguments in (
        ("label", "namespace", namespace, "team=shop", "evenkeel.dev/skip=false"),
        ("create", "namespace", f"{namespace}-other"),
        ("patch", "namespace", namespace, "--type=merge", '--patch={"metadata": {"labels": null}}'),
    ):
        assert (0, "") == kubectl(*arguments, *TENANT)[::2], arguments
    kubectl("label", "namespace", namespace, "evenkeel.dev/skip=true", *CHOSEN["a user"])
    for arguments in (
        ("label", "namespace", namespace, "team=shop"),
        ("annotate", "namespace", namespace, "note=exempt"),
        ("label", "namespace", namespace, "evenkeel.dev/skip-"),
    ):
        assert (0, "") == kubectl(*arguments, *TENANT)[::2], arguments
    assert 1 == kubectl("label", "namespace", namespace, "evenkeel.dev/skip=true", *TENANT).code
    kubectl("label", "namespace", namespace, "evenkeel.dev/skip=true", *CHOSEN["a user"])
    assert (0, "") == kubectl("delete", "namespace", namespace, "--timeout=30s", *TENANT)[::2]


def test_the_api_server_finds_no_fault_with_it(plane, kubectl):
    def checked():
        found = plane.api.call("GET", POLICY)
        return found["status"] if found.get("status", {}).get("observedGeneration") else None

    assert not until(checked, "types to be checked")["typeChecking"].get("expressionWarnings")


@pytest.mark.parametrize(
    ("users", "groups", "said"),
    [
        ([VELERO], [], f'only from user "{VELERO}"; {FIX}'),
        ([], ["platform"], f'only from group "platform"; {FIX}'),
        ([f"user-{number:04}" for number in range(1_000)], [], f"only from those that {NAMED} names; {FIX}"),
    ],
    ids=["users only", "groups only", "more names than a message holds"],
)
def test_whoever_is_chosen_others_are_told(plane, kubectl, users, groups, said):
    assert (0, "") == plane.apply(*skip_label_policy(users, groups))[::2]

    until(lambda: refusal(kubectl).endswith(f"{said}\n"), f"a denial that says {said}")
