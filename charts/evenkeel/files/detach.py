"""Remove the webhook configurations that are named, and wait until no API server asks evenkeel any more."""

import sys
import time

from kubernetes import client, config

NOTICED_SECONDS = 5  # API servers learn of it by a watch

config.load_config()
api = client.AdmissionregistrationV1Api()
mutating, validating = sys.argv[1:]
for delete, name in (
    (api.delete_mutating_webhook_configuration, mutating),
    (api.delete_validating_webhook_configuration, validating),
):
    try:
        delete(name)
        print(f"removed {name}")
    except client.ApiException as error:
        if error.status != 404:
            sys.exit(f"{name}: {error.status} {error.reason}")
        print(f"{name}: not there")
time.sleep(NOTICED_SECONDS)
