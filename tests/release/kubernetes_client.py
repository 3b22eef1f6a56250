# This file is evenkeel's, and stands in the one file for kubernetes/client/__init__.py of the `kubernetes` package,
# which imports a module for each kind of object, and pydantic: 70 MB.  The files beside it are as they were.
"""What kubernetes.config and evenkeel need of `kubernetes.client`: a configuration, and a pool of connections by it."""

from kubernetes.client.configuration import Configuration
from kubernetes.client.rest import RESTClientObject

__all__ = ["ApiClient", "Configuration"]


class ApiClient:
    """Connections as a configuration describes them."""

    def __init__(self, configuration):
        self.rest_client = RESTClientObject(configuration)

    def call_api(self, method, url):
        """As kubernetes.config asks an OIDC issuer where it gives tokens."""
        return self.rest_client.request(method, url)
