"""Print what /readyz says through the Service; fail unless that is "ready"."""

import sys
import urllib.error
import urllib.request

direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
try:
    with direct.open(sys.argv[1], timeout=10) as answer:
        print(answer.read().decode())
except urllib.error.HTTPError as error:
    sys.exit(error.read().decode())
except urllib.error.URLError as error:
    sys.exit(f"{sys.argv[1]}: {error.reason}")
