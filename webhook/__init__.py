"""evenkeel: an admission webhook, and the tools around it, for spec.topologySpreadConstraints."""

__version__ = "0.1.0"
