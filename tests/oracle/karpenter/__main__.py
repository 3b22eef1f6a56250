from tests.oracle.karpenter import record

record()
