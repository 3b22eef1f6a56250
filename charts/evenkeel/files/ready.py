"""Print what /readyz says through the Service; fail unless that is "ready"."""

import ssl
import sys
import urllib.error
import urllib.request

# Whether API servers will trust the certificate, /readyz itself knows better than a client without their CA.
trusting = ssl.create_default_context()
trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
try:
    with urllib.request.urlopen(sys.argv[1], context=trusting, timeout=10) as answer:
        print(answer.read().decode())
except urllib.error.HTTPError as error:
    sys.exit(error.read().decode())
except urllib.error.URLError as error:
    sys.exit(f"{sys.argv[1]}: {error.reason}")
