"""A policy file that changes: a whole policy or the one before, at any moment."""

from __future__ import annotations

import json
import os
import re
import signal

import pytest

from tests.support.admission_reviews import review
from tests.support.serving import serving, until
from webhook.cluster.cluster import Unchanging
from webhook.kubernetes.features import features
from webhook.policy.parsing import BUILT_IN, built_in, parse_policy
from webhook.server.health import Check
from webhook.server.metrics import Metrics
from webhook.server.policy_file import PolicyFile
from webhook.server.reviewer import Reviewer


def test_a_policy_is_read_again_through_a_swapped_link(tmp_path):
    """As a ConfigMap does it: ..data is a link to a folder, and is replaced by another."""
    for name, text in (("one", BUILT_IN), ("two", BUILT_IN.replace("Deny", "Warn", 1)), ("three", "kind: Nonsense")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "policy.yaml").write_text(text)

    def swap(name):
        (tmp_path / "new").symlink_to(tmp_path / name)
        os.replace(tmp_path / "new", tmp_path / "data")

    swap("one")
    with serving(tmp_path, "--policy", tmp_path / "data" / "policy.yaml") as running:
        assert not running.review("/validate", review())[1]["allowed"]
        swap("two")
        until(lambda: running.review("/validate", review())[1]["allowed"], "the new policy")
        assert 2 == running.metric("evenkeel_policy_generation")
        swap("three")
        until(lambda: running.metric("evenkeel_policy_reload_failures_total"), "the refusal of a bad one")
        assert running.review("/validate", review())[1]["allowed"]
        assert "refused: " in running.probe("/readyz?verbose")[1].decode()
        assert 1 == len(running.lines("cannot use the policy file, keeping the previous policy"))


def test_a_worker_that_follows_begins_with_the_policy_of_today(tmp_path):
    """Not with that of the start, for however short a time."""
    policy = tmp_path / "policy.yaml"
    policy.write_text(BUILT_IN)
    with serving(tmp_path, "--policy", policy) as running:
        policy.write_text(BUILT_IN.replace("Deny", "Warn", 1))
        until(lambda: running.review("/validate", review())[1]["allowed"], "the new policy")
        for _ in range(2):  # The arbiter ends with the third.
            os.kill(running.worker(), signal.SIGKILL)

            assert running.review("/validate", review())[1]["allowed"]


def infos(file):
    text = file.reviewer.metrics.text().decode()
    return [line for line in text.splitlines() if line.startswith("evenkeel_policy_info{")]


class TestPolicyFile:
    @pytest.fixture
    def policy(self, tmp_path):
        path = tmp_path / "policy.yaml"
        path.write_text(BUILT_IN)
        return path, PolicyFile(path, Reviewer(built_in(), Unchanging(None), features(36), Metrics()))

    def test_what_is_being_written_is_waited_for(self, policy):
        """The first half of a policy is a policy."""
        path, file = policy
        before, whole = file.reviewer.policy, BUILT_IN.replace("Deny", "Warn", 1)
        parse_policy(whole[: whole.index("defaulting:")])
        path.write_text(whole[: whole.index("defaulting:")])
        file.reload()
        path.write_text(whole)
        file.reload()
        assert before is file.reviewer.policy

        file.reload()
        assert parse_policy(whole) == file.reviewer.policy

    def test_a_file_that_is_there_again_is_no_problem_any_more(self, policy):
        path, file = policy
        path.unlink()
        for _ in range(2):
            file.reload()
        assert file.check(()) == Check("policy", True, f"{path}; refused: No such file or directory")

        path.write_text(BUILT_IN)
        for _ in range(2):
            file.reload()
        assert file.check(()) == Check("policy", True, str(path))

    def test_the_policy_in_force_is_the_only_one_that_is_exposed(self, policy, lines):
        path, file = policy
        before = infos(file)
        unknown = PolicyFile(None, Reviewer(built_in(), Unchanging(None), features(36), Metrics()))
        assert before == infos(unknown), "the text of the built-in policy is in the file"

        path.write_text(BUILT_IN.replace("Deny", "Warn", 1))
        for _ in range(2):
            file.reload()
        (after,) = infos(file)
        assert re.fullmatch(r'evenkeel_policy_info{enforcement="Warn",hash="[0-9a-f]{12}"} 1.0', after)
        assert before == [before[0]] and before[0].split('"')[3] not in after
        (reloaded,) = map(json.loads, lines())
        assert ("policy reloaded", after.split('"')[3]) == (reloaded["message"], reloaded["hash"])

        path.write_text("kind: Nonsense")
        for _ in range(2):
            file.reload()
        assert [after] == infos(file), "the last good one stays in force"

    def test_each_problem_is_told_and_counted_once(self, policy, lines):
        path, file = policy
        for text in ("kind: Nonsense", "kind: Nonsense ", "[]", BUILT_IN, "[]"):
            path.write_text(text)
            for _ in range(2):
                file.reload()

        told = [json.loads(line) for line in lines()]
        first, second, again = [each["problem"] for each in told if each["message"].startswith("cannot use")]
        assert first != second == again
        assert b"evenkeel_policy_reload_failures_total 3.0" in file.reviewer.metrics.text()

    def test_what_is_enforced_is_told(self, policy):
        path, file = policy
        path.write_text(BUILT_IN + "rules: {empty-selector: {enforced: true}}\n")
        for _ in range(2):
            file.reload()
        skip = "except in namespaces with the label evenkeel.dev/skip: true"
        unknown = f"enforces empty-selector, {skip}; whether the API server sends what it needs is not known"
        unsent = (
            'empty-selector: enforced, but the API server does not send all that the policy needs; see the line "calls"'
        )
        for missing, said in (
            ((), f"enforces empty-selector, {skip}"),
            (None, unknown),
            (("pods.evenkeel.dev",), unsent),
        ):
            assert file.check(missing) == Check("policy", True, f"{path}; {said}")
