"""
What Kubernetes' own code decides, of whatever version: recorded anew, and compared between two minor versions.

    python -m tests.oracle v1.37.1          # builds it with ours in go/, asks it, rewrites tests/data/1.37/
    python -m tests.oracle.diff 1.36 1.37   # says which recorded cases differ, and in what
    SECONDS=600 python -m tests.oracle.live # asks it and evenkeel about new random clusters

The inputs are those of the newest recordings in tests/data/, one set for each kind.  Those of whole_profile and volumes
were made by clusters/, which makes them again where there is no recording of that kind.
"""
