"""The options of evenkeel policy init: what they say, and what they may not."""

from __future__ import annotations

import argparse

import pytest

from tests.support.build import HOSTNAME, ZONE
from webhook.loading.usage import UsageError
from webhook.objects.names import NAMESPACE_NAME, SKIP_LABEL
from webhook.policy_test.wishes import DENIABLE, Wishes, add_wish_arguments, wishes_of
from webhook.rules import RULES
from webhook.scheduler.constraint import HARD

REQUIRE = f"--require {ZONE}"
EXEMPT = f"{REQUIRE} --exempt team=payments --until 2027-06-30"


def wished(words):
    parser = argparse.ArgumentParser(exit_on_error=False)
    add_wish_arguments(parser)
    return wishes_of(parser.parse_args(words.split()))


def test_without_options_nothing_is_required_and_the_rest_is_as_it_is_built_in():
    assert Wishes((), 2, "", (), {}, {}, "", None, "Warn", "", "") == wished("")


def test_each_option_says_its_part():
    assert Wishes(
        topology_keys=(ZONE, "rack"),
        min_replicas=3,
        action=HARD,
        denied=("pinned-pod", "rollout-skew"),
        selected={"env": "production", "tier": ""},
        exempt={"team": "payments"},
        until="2027-06-30",
        defaults=(HOSTNAME, "rack"),
        enforcement="Warn",
        deny_from="2027-01-15",
        contact="#platform",
    ) == wished(
        f"--require {ZONE} --require rack --require {ZONE} --min-replicas 3 --when-unsatisfiable {HARD} "
        "--deny pinned-pod --deny rollout-skew --deny pinned-pod --namespace-selector env=production,tier= "
        f"--exempt team=payments --until 2027-06-30 --default-constraints {HOSTNAME},rack,rack "
        "--deny-from 2027-01-15 --contact #platform"
    )
    assert () == wished("--default-constraints none").defaults
    assert "2027-07-01" == wished(EXEMPT).after


def test_whoever_is_exempt_is_told_whom_to_ask_also_where_errors_deny():
    assert "#platform" == wished(f"{EXEMPT} --contact #platform --enforcement Deny").contact


def test_rules_that_may_be_made_errors_are_all_that_need_no_more_than_that():
    """A rule that is new is one of them, or known here."""
    others = {
        *("missing-constraints", "soft-constraint", "hard-constraint"),  # which other options set
        *("excessive-max-skew", "forbidden-topology-key"),  # which need parameters
    }
    errors = {rule.id for rule in RULES.values() if rule.severity == "error"}

    assert {rule.id for rule in RULES.values() if not rule.advice} - errors - others == {*DENIABLE}


JUDGES_NOT = "wanted namespaces in which evenkeel judges; give other labels"
ALL_OR_NONE = "this exempts all of these namespaces, or none; give labels that only some of them have"


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ("--min-replicas 3", "--min-replicas: found no --require; add it, or leave --min-replicas out"),
        (
            "--namespace-selector a=b",
            "--namespace-selector: found no --require or --when-unsatisfiable or --deny; add one, or leave "
            "--namespace-selector out",
        ),
        ("--exempt a=b --until 2027-06-30", "--exempt: found no --require or --when-unsatisfiable or --deny; "),
        (f"{REQUIRE} --exempt a=b", "--exempt: found no --until; add it"),
        (f"{REQUIRE} --until 2027-06-30", "--until: found no --exempt; add it"),
        (
            "--deny-from 2027-01-15 --enforcement Deny",
            "--deny-from: found --enforcement Deny, wanted Warn; leave --deny-from out",
        ),
        (
            "--contact x --enforcement Audit",
            "--contact: found --enforcement Audit, under which nothing warns; leave --contact out",
        ),
        ("--require /", f'--require: found "/", wanted a topology key such as {ZONE}'),
        ("--require zone,rack", f'--require: found "zone,rack", wanted a topology key such as {ZONE}'),
        (
            "--require kubernetes.io/host",
            f'--require: found "kubernetes.io/host", wanted a topology key such as {HOSTNAME}',
        ),
        ("--default-constraints rack,", f'--default-constraints: found "", wanted a topology key such as {ZONE}'),
        (f"{REQUIRE} --namespace-selector a", '--namespace-selector: found "a", wanted KEY=VALUE,…; write other'),
        (f"{REQUIRE} --namespace-selector a!=b", '--namespace-selector: found "a!=b", wanted KEY=VALUE,…'),
        (f"{REQUIRE} --namespace-selector a=b,a=c", '--namespace-selector: found "a=b,a=c", wanted KEY=VALUE,…'),
        (f"{REQUIRE} --namespace-selector =", '--namespace-selector: found "=", wanted KEY=VALUE'),
        (f"{REQUIRE} --namespace-selector _=b", '--namespace-selector: found "_=b": '),
        (f"{REQUIRE} --namespace-selector {SKIP_LABEL}=true", f'--namespace-selector: found "{SKIP_LABEL}=true", '),
        (
            f"{REQUIRE} --exempt {NAMESPACE_NAME}=kube-system --until 2027-06-30",
            f'--exempt: found "{NAMESPACE_NAME}=kube-system", {JUDGES_NOT}',
        ),
        (
            f"{EXEMPT} --namespace-selector team=search",
            "--exempt: found team=payments with --namespace-selector team=search: no namespace can have "
            "all of these labels; give labels that fit together",
        ),
        (
            f"{EXEMPT} --namespace-selector team=payments,env=production",
            f"--exempt: found team=payments with --namespace-selector env=production,team=payments: {ALL_OR_NONE}",
        ),
        (
            f"{EXEMPT} --namespace-selector {NAMESPACE_NAME}=shop",
            f"--exempt: found team=payments with --namespace-selector {NAMESPACE_NAME}=shop: {ALL_OR_NONE}",
        ),
        (f"{REQUIRE} --exempt a=b --until 2027-02-29", '--until: found "2027-02-29", wanted a day such as 2027-06-30'),
        (f"{REQUIRE} --exempt a=b --until 9999-12-31", '--until: found "9999-12-31", wanted a day'),
        (f"{REQUIRE} --min-replicas 0", "--min-replicas: found 0, wanted 1 to 2147483647"),
        (f"{REQUIRE} --min-replicas 2147483648", "--min-replicas: found 2147483648, wanted 1 to 2147483647"),
        (
            f"--contact {'x' * 41}",
            f'--contact: found "{"x" * 41}", wanted 1 to 40 characters that can be printed, such as',
        ),
        ("--contact \u202ex", '--contact: found "\u202ex", wanted 1 to 40 characters that can be printed'),
        ("--contact=", '--contact: found "", wanted 1 to 40 characters that can be printed'),
        ("--deny-from tomorrow", '--deny-from: found "tomorrow", wanted a day such as 2027-06-30'),
        ("--deny-from 0000-03-01", '--deny-from: found "0000-03-01", wanted a day'),
    ],
)
def test_what_does_not_go_is_said_in_one_line(words, error):
    with pytest.raises(UsageError) as caught:
        wished(words)

    assert str(caught.value).startswith(error) and "\n" not in str(caught.value)


def test_the_last_day_that_has_one_after_it_may_be_the_last():
    assert "9999-12-31" == wished(EXEMPT.replace("2027-06-30", "9999-12-30")).after
    assert "0001-01-02" == wished(EXEMPT.replace("2027-06-30", "0001-01-01")).after


def test_the_longest_contact_and_the_most_replicas_may_be_given():
    most = wished(f"{REQUIRE} --min-replicas 2147483647 --contact {'x' * 40}")

    assert (2**31 - 1, "x" * 40) == (most.min_replicas, most.contact)
    assert 1 == wished(f"{REQUIRE} --min-replicas 1").min_replicas


def test_a_namespace_that_does_not_opt_out_may_be_selected():
    assert {SKIP_LABEL: "false"} == wished(f"{REQUIRE} --namespace-selector {SKIP_LABEL}=false").selected
