"""Whatever a policy holds, it is read or refused in words."""

from __future__ import annotations

import re
from contextlib import redirect_stderr, redirect_stdout, suppress
from io import StringIO
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from tests.properties.judging import assert_well_formed, at_most, cluster, decide, fuzz, minors, phases, requests, sent
from tests.support import strategies as some
from webhook.cli.main import main
from webhook.policy.parsing import parse_policy
from webhook.policy.policy import PolicyError
from webhook.policy_test.wishes import DENIABLE


@fuzz
@given(raw=some.perhaps_damaged(st.sampled_from(some.RAW_POLICIES)), request=requests, phase=phases, minor=minors)
def test_a_policy_is_read_or_refused_in_words(raw, request, phase, minor):
    """And one that is read judges."""
    with suppress(PolicyError), at_most(seconds=5):
        policy = parse_policy(sent(raw))
        assert_well_formed(decide(request, phase, lambda: policy, cluster, minor))


KEYS = st.sampled_from([*some.TOPOLOGY_KEYS, *some.LABEL_KEYS]) | st.from_regex(
    r"[a-z./A-Z0-9_-]{1,70}", fullmatch=True
)
LABELS = st.lists(
    st.builds(
        "{}={}".format,
        KEYS | st.sampled_from(["kubernetes.io/metadata.name", some.SKIP, "env", "team"]),
        st.sampled_from([*some.LABEL_VALUES, "kube-system", "selected", "outside", "1", "True", "A_b"]),
    ),
    min_size=1,
    max_size=3,
).map(",".join)
DAYS = st.dates().map(str) | st.sampled_from(["2027-02-29", "tomorrow", "9999-12-31", ""])
OPTIONS = {
    "require": KEYS,
    "min-replicas": st.integers(-1, 5).map(str) | st.sampled_from(["x", str(2**31)]),
    "when-unsatisfiable": st.sampled_from(["DoNotSchedule", "ScheduleAnyway", "Always"]),
    "deny": st.sampled_from([*DENIABLE, "unschedulable"]),
    "namespace-selector": LABELS,
    "exempt": LABELS,
    "until": DAYS,
    "default-constraints": st.just("none") | st.lists(KEYS, min_size=1, max_size=3).map(",".join),
    "enforcement": st.sampled_from(["Deny", "Warn", "Audit"]),
    "deny-from": DAYS,
    "contact": st.text(max_size=45),
}
options = st.lists(
    st.one_of([st.builds("--{}={}".format, st.just(name), value) for name, value in OPTIONS.items()]), max_size=8
)


def ran(*words):
    """The exit code of a command, and the lines of its errors."""
    errors = StringIO()
    with redirect_stdout(StringIO()), redirect_stderr(errors):
        try:
            code = main(words)
        except SystemExit as error:
            code = error.code
    return code, errors.getvalue().splitlines()


@fuzz
@given(more=options, required=st.booleans(), exempt=st.booleans())
def test_a_policy_that_is_written_from_options_passes_its_test_or_they_are_refused_in_a_line(more, required, exempt):
    """Whatever the options say: the exit code is 0 or 2, and what is written can be used."""
    usual = [*["--require=rack"] * required, *["--exempt=team=a", "--until=2027-06-30"] * exempt]
    with TemporaryDirectory() as folder, at_most(seconds=20):
        code, lines = ran("policy", "init", "--dir", folder, *usual, *more)

        assert (code, len(lines)) in ((0, 0), (2, 1))
        assert code == 0 or re.match("evenkeel(?: policy init)?: --", lines[0])
        if code == 0:
            assert (0, []) == ran("policy", "check", f"{folder}/policy.yaml")
            assert (0, []) == ran("policy", "test", folder)
