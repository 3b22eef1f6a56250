"""Remove the webhook configurations that are named, and wait until no API server asks evenkeel any more."""

import sys
import time

from kubernetes import client, config

NOTICED_SECONDS = 5  # API servers learn of it by a watch

config.load_config()
api = client.AdmissionregistrationV1Api()
mutating, validating = sys.argv[1:]
for kind, delete, name in (
    ("MutatingWebhookConfiguration", api.delete_mutating_webhook_configuration, mutating),
    ("ValidatingWebhookConfiguration", api.delete_validating_webhook_configuration, validating),
):
    try:
        delete(name)
        print(f"removed {kind} {name}")
    except client.ApiException as error:
        if error.status != 404:
            sys.exit(f"{kind} {name}: {error.status} {error.reason}")
        print(f"{kind} {name}: already gone, nothing to remove")
time.sleep(NOTICED_SECONDS)
