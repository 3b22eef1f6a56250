"""
See whether what is to judge alone judges already, before an upgrade takes the other one away.

    probe.py denies NAMESPACE        the policy denies a Pod in this namespace, once
    probe.py to-policy NAMESPACE     there is no webhook configuration, or the policy denies on every API server
    probe.py to-webhook URL          there is no policy, or every entry has a CA and the webhook is ready at URL
"""

import sys
import time
import urllib.request

import urllib3.exceptions
from kubernetes import client, config

NAME, LABEL = "evenkeel", "evenkeel.dev/probe"
IN_A_ROW, PAUSE, PATIENCE = 10, 0.5, 60  # denials, and seconds
REFUSED = "upgrade to engine=both first"
UNCHANGED = "nothing was changed; remove the cause, then try again"
TINY = {"cpu": "1m", "memory": "1Mi"}
POD = {
    "metadata": {"name": "evenkeel-probe", "labels": {LABEL: "true"}},
    "spec": {
        "automountServiceAccountToken": False,
        "securityContext": {"runAsNonRoot": True, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [
            {
                "name": "probe",
                "image": "evenkeel",
                "resources": {"requests": TINY, "limits": TINY},
                "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
            }
        ],
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "kubernetes.io/hostname",
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": {LABEL: "true"}},
            }
        ],
    },
}


def there(read):
    """Return the object of the name, or None if the API server has none."""
    try:
        return read(NAME)
    except client.ApiException as error:
        if error.status == 404:
            return None
        sys.exit(f"{NAME}: {error.status} {error.reason}")


def not_denied(namespace):
    """Return what came of a dry run of the Pod instead of a denial; over a connection of its own, to any API server."""
    try:
        with client.ApiClient() as connection:
            client.CoreV1Api(connection).create_namespaced_pod(namespace, POD, dry_run="All")
    except client.ApiException as error:
        denied = f"ValidatingAdmissionPolicy '{NAME}'" in (error.body or "") and LABEL in error.body
        return "" if denied else f"{error.status} {error.reason}: {' '.join((error.body or '').split())}"
    except urllib3.exceptions.HTTPError as error:
        return str(error)
    test_pod = f"the test Pod (dry run, label {LABEL})"
    return f"{test_pod} was admitted in namespace {namespace}, and should have been denied"


def not_ready(url):
    """Return what keeps the webhook from judging."""
    made = there(client.AdmissionregistrationV1Api().read_validating_webhook_configuration)
    if made is None:
        return f"there is no ValidatingWebhookConfiguration {NAME}"
    if not made.webhooks or not all(entry.client_config.ca_bundle for entry in made.webhooks):
        return f"ValidatingWebhookConfiguration {NAME} has no caBundle"
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=5):
            return ""
    except OSError as error:
        return f"{url}: {error}"


def settled(problem, where, in_a_row):
    """Return what the matter is, if there was no time without it for so many tries."""
    good, deadline = 0, time.monotonic() + PATIENCE
    while good < in_a_row:
        reason = problem(where)
        good = 0 if reason else good + 1
        if reason and time.monotonic() > deadline:
            return reason
        time.sleep(PAUSE)
    return ""


config.load_config()
action, where = sys.argv[1:]
api = client.AdmissionregistrationV1Api()
webhook, policy = api.read_validating_webhook_configuration, api.read_validating_admission_policy
if action == "denies":
    if reason := not_denied(where):
        sys.exit(f"ValidatingAdmissionPolicy {NAME} does not deny: {reason}")
    print(f"ValidatingAdmissionPolicy {NAME} denies")
elif action == "to-policy":
    if there(webhook) is None:
        print(f"there is no ValidatingWebhookConfiguration {NAME}, so this upgrade switches off nothing")
    elif there(policy) is None:
        sys.exit(f"there is no ValidatingAdmissionPolicy {NAME}: {REFUSED}")
    elif reason := settled(not_denied, where, IN_A_ROW):
        sys.exit(f"ValidatingAdmissionPolicy {NAME} does not deny yet: {reason}; {UNCHANGED}")
    else:
        print(f"ValidatingAdmissionPolicy {NAME} denies")
elif there(policy) is None:
    print(f"there is no ValidatingAdmissionPolicy {NAME}, so this upgrade switches off nothing")
elif there(webhook) is None:
    sys.exit(f"there is no ValidatingWebhookConfiguration {NAME}: {REFUSED}")
elif reason := settled(not_ready, where, 1):
    sys.exit(f"the webhook does not judge yet: {reason}; {UNCHANGED}")
else:
    print("the webhook is ready")
