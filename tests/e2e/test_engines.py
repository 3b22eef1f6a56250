"""From the webhook to policies and back by Helm: what is bad is denied all the time, and short cuts are refused."""

from __future__ import annotations

import json
import re
import shutil
import threading
from collections import Counter
from contextlib import ExitStack, closing, contextmanager
from time import sleep

import pytest

from tests.e2e.api import ApiError
from tests.e2e.helm import NAMESPACE, RefusedError
from tests.e2e.release import DEPLOYMENT, MUTATING, VALIDATING, played, played_hook, release
from tests.e2e.replicas import Balancer
from tests.e2e.webhook import DEPLOYMENTS, containers
from tests.generate.chart import FOLDER
from tests.support.build import constraint, workload
from tests.support.serving import until
from webhook.manifests.configurations import NAME

POLICY = f"/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/{NAME}"
BAD = containers(workload("Deployment", constraint(labelSelector={}))) | {"metadata": {"name": "bad"}}
FIRST = "upgrade to engine=both first"
BY_POLICY, BY_WEBHOOK = "ValidatingAdmissionPolicy 'evenkeel'", "admission webhook"


def answer(plane):
    """Who denies what is bad, or "" if nobody does."""
    try:
        plane.api.call("POST", f"/{DEPLOYMENTS}?dryRun=All", BAD)
    except ApiError as error:
        return next(who for who in (BY_POLICY, BY_WEBHOOK) if who in str(error))
    return ""


class Client(threading.Thread):
    """Sends what is bad, one after the other, until it is told to stop."""

    def __init__(self, plane):
        super().__init__(daemon=True)
        self.plane, self.stopped, self.answers, self.error = plane, threading.Event(), Counter(), None

    def run(self):
        try:
            while not self.stopped.is_set():
                self.answers[answer(self.plane)] += 1
        except Exception as error:
            self.error = error


class Cluster:
    """A release of the chart whose Service leads to this machine, and the process that plays its Deployment."""

    def __init__(self, plane, folder, balancer):
        self.plane, self.folder, self.balancer, self.stack, self.here = plane, folder, balancer, ExitStack(), ("", "")
        self.chart = folder / "chart"
        shutil.copytree(FOLDER, self.chart)
        for file, before, after in (
            ("_webhooks.tpl", "port: 443", f"port: {balancer.port}"),
            ("service.yaml", "spec:\n", "spec:\n  type: ExternalName\n  externalName: 127.0.0.1\n"),
        ):
            text = (template := self.chart / "templates" / file).read_text("utf-8")
            assert 1 == text.count(before)
            template.write_text(text.replace(before, after), "utf-8")

    def change_to(self, engine, action="upgrade", probed=True):
        """Change the engine, with the Job of the hook played if there is one; what it printed."""
        if not probed:
            release(self.plane, action, chart=self.chart, engine=engine)
            return ""
        return self.probed(action, chart=self.chart, engine=engine)

    def roll_back_to(self, revision):
        """Roll back, which renders nothing; what the Job of the hook printed."""
        return self.probed("rollback", revision)

    def probed(self, action, *options, **values):
        printed = ""
        with self.hook("labelSelector=app.kubernetes.io/component=probe") as hook:
            try:
                release(self.plane, action, *options, **values)
            except RefusedError:
                printed = "refused: "
        return printed + hook["printed"]

    def refusal(self, engine):
        """What Helm says that refuses the change before it records a revision."""
        before = self.revisions()
        with pytest.raises(RefusedError) as refused:
            release(self.plane, "upgrade", chart=self.chart, engine=engine)
        assert before == self.revisions()
        return str(refused.value)

    def revisions(self, *statuses):
        history = json.loads(release(self.plane, "history", "--output", "json"))
        return [each["revision"] for each in history if not statuses or each["status"] in statuses]

    def refused_rollback(self, revision):
        """What the Job printed that refused a rollback; the one to what is deployed then lets Helm go on."""
        (deployed,), before = self.revisions("deployed"), self.state()
        printed = self.roll_back_to(revision)
        assert [deployed] == self.revisions("deployed")
        assert "so this upgrade switches off nothing" in self.roll_back_to(deployed)
        assert before == self.state()
        return printed

    def hook(self, selector):
        return played_hook(self.plane, self.folder, selector, self.here)

    def start(self):
        (folder := self.folder / f"replica-{len(list(self.folder.iterdir()))}").mkdir()
        replica = self.stack.enter_context(played(self.plane, folder))
        self.balancer.endpoints.append(replica.port)
        self.here = (f"http://evenkeel.{NAMESPACE}.svc:8080/readyz", f"http://127.0.0.1:{replica.health}/readyz")

    def stop(self):
        self.stack.close()
        self.balancer.endpoints.clear()

    def state(self):
        """What judges, and at which generation it is."""
        made = (self.plane.api.call("GET", path) for path in self.judging())
        return [(obj["kind"], obj["metadata"]["uid"], obj["metadata"]["generation"]) for obj in made]

    def judging(self):
        return [path for path in (MUTATING, VALIDATING, POLICY, DEPLOYMENT) if self.plane.api.exists(path)]


@pytest.fixture(scope="module")
def home(plane):
    """The namespace of the release, which stays when that goes."""
    plane.create_namespace(NAMESPACE)


@pytest.fixture
def cluster(plane, home, tmp_path):
    with closing(Balancer()) as balancer:
        cluster = Cluster(plane, tmp_path, balancer)
        yield cluster
        cluster.stop()


@contextmanager
def watched(plane):
    """A client that sends what is bad meanwhile, of which everything is denied."""
    (client := Client(plane)).start()
    yield client
    client.stopped.set()
    client.join()
    assert client.error is None, client.error
    print(dict(client.answers))
    assert client.answers[""] == 0, client.answers
    assert min(client.answers[BY_POLICY], client.answers[BY_WEBHOOK]) > 100, client.answers


def test_every_change_of_engine_leaves_somebody_who_denies(plane, cluster):
    webhook, policies = [MUTATING, VALIDATING, DEPLOYMENT], [POLICY]
    cluster.change_to("webhook", "install", probed=False)
    cluster.start()
    until(lambda: answer(plane), "the webhook to deny")

    with watched(plane):
        before = cluster.state()
        assert f"because there is no ValidatingAdmissionPolicy {NAME} yet; {FIRST}" in cluster.refusal("policy")
        assert before == cluster.state()

        cluster.change_to("both", probed=False)
        assert {*webhook, *policies} == {*cluster.judging()}
        assert f"ValidatingAdmissionPolicy {NAME} denies\n" == cluster.change_to("policy")
        assert policies == cluster.judging()
        cluster.stop()
        sleep(2)  # In which only the policy denies.
        with cluster.hook("fieldSelector=metadata.name=evenkeel-denies") as hook:
            release(plane, "test")
        assert f"ValidatingAdmissionPolicy {NAME} denies\n" == hook["printed"]
        assert (
            f"there is no ValidatingWebhookConfiguration {NAME}, so this upgrade switches off nothing\n"
            == cluster.change_to("policy")
        )

        before = cluster.state()
        assert f"because there is no ValidatingWebhookConfiguration {NAME} yet; {FIRST}" in cluster.refusal("webhook")
        assert before == cluster.state()
        assert f"refused: there is no ValidatingWebhookConfiguration {NAME}: {FIRST}\n" == cluster.refused_rollback(1)

        cluster.change_to("both", probed=False)
        cluster.start()
        assert "the webhook is ready\n" == cluster.change_to("webhook")
        assert webhook == cluster.judging()
        sleep(2)
        assert f"refused: there is no ValidatingAdmissionPolicy {NAME}: {FIRST}\n" == cluster.refused_rollback(3)
        assert (
            f"there is no ValidatingAdmissionPolicy {NAME}, so this upgrade switches off nothing\n"
            == cluster.change_to("webhook")
        )

    with cluster.hook("labelSelector=app.kubernetes.io/component=detach"):
        release(plane, "uninstall", "--wait")
    assert [] == left(plane)


@pytest.mark.parametrize("engine, other", [("webhook", "policy"), ("policy", "webhook")])
def test_nothing_is_left_after_a_change_that_was_refused(plane, cluster, engine, other):
    cluster.change_to(engine, "install", probed=False)
    cluster.refusal(other)

    release(plane, "uninstall", "--wait", "--no-hooks")

    assert [] == left(plane)


def left(plane):
    kinds = (
        "all,secrets,configmaps,serviceaccounts,roles,rolebindings,clusterroles,clusterrolebindings,pdb,jobs,"
        "validatingadmissionpolicies,validatingadmissionpolicybindings,validatingwebhookconfigurations"
    )
    output = plane.kubectl("get", kinds, "-A", "-l", f"app.kubernetes.io/instance={NAME}", "-o", "name")
    assert 0 == output.code
    return re.findall(r"\S+", output.stdout)
