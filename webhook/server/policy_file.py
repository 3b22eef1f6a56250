"""The policy file: read again when it changes, as a ConfigMap changes it by swapping a symbolic link."""

from __future__ import annotations

import logging
from collections.abc import Collection
from functools import partial
from hashlib import sha256
from pathlib import Path

from certs.following import Followed
from webhook.kubernetes.documents import decoded
from webhook.kubernetes.names import SKIP_LABEL
from webhook.policy import override_reach
from webhook.policy.parsing import BUILT_IN, parse_policy
from webhook.policy.policy import STATES, PolicyError
from webhook.server.health import Check
from webhook.server.logs import log
from webhook.server.reviewer import Reviewer


class PolicyFile:
    """Puts the file's policy in force whenever it changes; without a path, the policy stays the built-in one."""

    def __init__(self, path: Path | None, reviewer: Reviewer) -> None:
        """Follow the file whose policy is in force already; OSError if it cannot be read."""
        self.path, self.reviewer = path, reviewer
        self.problem = ""
        content = path.read_bytes() if path is not None else BUILT_IN.encode()
        self.content = Followed(content, path.read_bytes) if path is not None else None
        self.info = _hash(content), reviewer.policy.enforcement  # The labels of the metric policy_info.
        reviewer.metrics.policy_info.samples = lambda: {self.info: 1}
        reviewer.metrics.policy_generation.set(1)
        for state in STATES:
            reviewer.metrics.overrides_ending.labels(state).set_function(partial(self._ending, state))

    def reload(self) -> None:
        """Take the file's policy if it has changed; if it cannot be used, the last good policy stays in force."""
        if self.content is None:
            return
        try:
            changed = self.content.changed()
            if changed is None:
                return
            policy = parse_policy(decoded(changed), self.reviewer.features)
        except OSError as error:
            self._refuse(error.strerror or str(error))
            return
        except (UnicodeDecodeError, PolicyError) as error:
            self._refuse(str(error).splitlines()[0])
            return
        self.reviewer.policy, self.problem = policy, ""
        self.info = _hash(changed), policy.enforcement
        self.reviewer.metrics.policy_generation.inc()
        log(logging.INFO, "policy reloaded", file=str(self.path), hash=self.info[0])

    def _ending(self, state: str) -> int:
        if not self.reviewer.policy.overrides:
            return 0

        return len(override_reach.ends(self.reviewer.policy, self.reviewer.today())[state])

    def _refuse(self, problem: str) -> None:
        """Log and count a problem once."""
        if problem != self.problem:
            self.problem = problem
            self.reviewer.metrics.policy_failures.inc()
            log(
                logging.ERROR,
                "cannot use the policy file, keeping the previous policy",
                file=str(self.path),
                problem=problem,
                fix=f"evenkeel policy check {self.path} prints all errors",
            )

    def check(self, missing: Collection[str] | None) -> Check:
        """
        Always ready, because there is always a policy; the detail says why a changed file was refused.

        `missing`: the webhook entries that the policy needs and the cluster lacks; None if that is not known.
        """
        source = str(self.path) if self.path is not None else "built in"
        enforced = ", ".join(self.reviewer.policy.enforced)
        refused = f"; refused: {self.problem}" if self.problem else ""
        holds = f"; {_holds(enforced, missing)}" if enforced else ""
        return Check("policy", True, f"{source}{refused}{holds}")


def _hash(content: bytes) -> str:
    """A short hash of a policy: the first digits that sha256sum prints for its file."""
    return sha256(content).hexdigest()[:12]


def _holds(rules: str, missing: Collection[str] | None) -> str:
    """Say whether enforced rules hold, and where they do not."""
    if missing:
        return f'{rules}: enforced, but the API server does not send all that the policy needs; see the line "calls"'
    unknown = "; whether the API server sends what it needs is not known" if missing is None else ""
    return f"enforces {rules}, except in namespaces with the label {SKIP_LABEL}: true{unknown}"
