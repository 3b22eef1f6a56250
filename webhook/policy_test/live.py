"""
Runs the tests of policies against a live cluster, whose API server evaluates ValidatingAdmissionPolicies.

    each file ──are its policies in force?──> each case ──dry run──> Told ──compare──> FileResults

Nothing is written to the cluster: all that is sent is a GET, or has dryRun=All.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from http import HTTPStatus
from pathlib import Path
from shlex import quote
from typing import NamedTuple

from webhook.cluster.client import Client
from webhook.cluster.trial import Trial, try_creation
from webhook.findings.wording import LINE_LIMIT, one_line
from webhook.loading import inputs
from webhook.loading.engines import ENGINE, POLICY, WEBHOOK, to_export
from webhook.loading.usage import UsageError
from webhook.manifests.acting import Export
from webhook.objects.fields import Raw
from webhook.objects.kinds import Kind
from webhook.objects.names import SYSTEM_NAMESPACES
from webhook.objects.references import ObjectRef, owner_of
from webhook.policy.policy import Policy
from webhook.policy_test.form import Case, CaseResult, PolicyTest, parse_policy_test
from webhook.policy_test.installed import Names, not_in_force, read_installed
from webhook.policy_test.running import (
    DEFAULT_NAMESPACE,
    each_result,
    naming,
    object_of,
    policy_of_test,
    unusable,
)
from webhook.policy_test.told import compare, incomparable, read_told
from webhook.render.policy_test import FileResults

UPDATE_SKIPPED = "an update needs its old object in the cluster, and this test writes nothing there"
CLUSTER_UNUSED = "the live cluster is used in place of the cluster that the test names"


class TestedCluster(NamedTuple):
    """A live cluster, and evenkeel's policies that are there."""

    source: inputs.Source
    client: Client
    installed: Mapping[Names, Raw]


def tested_cluster(source: inputs.Source) -> TestedCluster:
    """Return the cluster that kubectl uses; UsageError if it cannot be reached, or its policies may not be read."""
    client = inputs.client(source=source)
    with inputs.usage_errors():
        return TestedCluster(source, client, read_installed(client))


def run_file_live(file: str, cluster: TestedCluster) -> FileResults:
    """Return the results of one file, and all that is wrong with it."""
    folder, read = os.path.dirname(file), cache(inputs.objects)
    cases: tuple[Case, ...] = ()
    try:
        with naming(file):
            test = parse_policy_test(Path(file).read_text("utf-8"))
            cases = test.cases
            whole, export = _policies(test, folder, cluster)
    except UsageError as error:
        return unusable(file, cases, error)

    def result(case: Case, where: str) -> CaseResult:
        with naming(f"{where}.object"):
            obj = object_of(case.obj, folder, read)
        ended = _other_policy(case.today, whole)
        with naming(where):
            return _result(case, obj, export, cluster.client, ended)

    return each_result(file, cases, result, () if test.cluster is None else (CLUSTER_UNUSED,))


def _policies(test: PolicyTest, folder: str, cluster: TestedCluster) -> tuple[Policy, Export]:
    """
    Return the policy of a test, of all days and as it is exported today.

    UsageError unless the latter is in force in the cluster.
    """
    features = inputs.features(test.kubernetes_version or None, cluster.source, "kubernetesVersion")
    with naming("policy"):
        given = policy_of_test(test.policy, folder, features)
    export = to_export(POLICY, "policy", given, features, SYSTEM_NAMESPACES, instead=WEBHOOK)
    if ended := _other_policy(test.today, given):
        raise UsageError(ended)
    command = f"evenkeel manifests {ENGINE} {POLICY}"
    if test.policy is not None:
        written = os.path.join(folder, test.policy) if isinstance(test.policy, str) else "FILE"
        command += f" --policy {quote(written)}"
    command += f" --kubernetes-version 1.{features.minor}"
    if wrong := [f"policy: {line}" for line in not_in_force(export, cluster.installed, command)]:
        raise UsageError("\n".join(wrong))
    return given, export


def _other_policy(day: str, policy: Policy) -> str:
    """Return why the policies in the cluster, which are those of today, are not those of `day`; "" if they are."""
    today = inputs.today()
    ended = [each.name for each in policy.overrides if day and day <= each.until < today]
    said = f"today: found {day}, but the cluster has the policies of {today}, when these overrides have ended: "
    return f"{said}{', '.join(ended)}; leave today out" if ended else ""


def _result(case: Case, obj: Raw, export: Export, client: Client, ended: str) -> CaseResult:
    """
    Return what became of a case; UsageError if the API server refuses it, and no policy does.

    `ended` says why the policies in the cluster are not those of its day; "" if they are.
    """
    kind = _kind_of(obj, export)
    judged_by_none = "" if kind is not None else f"the policies judge no {obj.get('apiVersion')} {obj.get('kind')}"
    skipped = (UPDATE_SKIPPED if case.old is not None else "") or judged_by_none or ended or incomparable(case.expect)
    if kind is None or skipped:
        return CaseResult(case.name, {}, {}, skipped=skipped)
    with inputs.usage_errors():
        trial = try_creation(client, kind, obj, ObjectRef.of(obj).namespace or DEFAULT_NAMESPACE, case.user)
    told = read_told(trial, export)
    if told is None:
        raise UsageError(one_line(f"{trial.message or trial.status}{_advice(trial, kind)}", LINE_LIMIT))
    return compare(case.name, case.expect, told, export, owner_of(obj) is not None)


def _kind_of(obj: Raw, export: Export) -> Kind | None:
    name = (obj.get("apiVersion"), obj.get("kind"))
    return next((kind for kind in export.kinds if (kind.api_version, kind.kind) == name), None)


def _advice(trial: Trial, kind: Kind) -> str:
    """Return what a person does about a refusal that its message leaves open."""
    if trial.status == HTTPStatus.FORBIDDEN and "cannot impersonate" in trial.message:
        return "; ask for the right to impersonate the user of the case"
    if trial.status == HTTPStatus.NOT_FOUND and "namespaces " not in trial.message:
        return f"; the cluster has no {kind.resource} of {kind.api_version} in namespaces"
    return ""
