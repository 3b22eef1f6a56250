import json

from tests.oracle.clusters import whole_profile

for case in whole_profile():
    print(json.dumps(case))
