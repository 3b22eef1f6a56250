"""Whatever a policy holds, it is read or refused in words."""

from __future__ import annotations

from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from tests.properties.judging import assert_well_formed, at_most, cluster, decide, fuzz, minors, phases, requests, sent
from tests.support import strategies as some
from webhook.policy.parsing import parse_policy
from webhook.policy.policy import PolicyError


@fuzz
@given(raw=some.perhaps_damaged(st.sampled_from(some.RAW_POLICIES)), request=requests, phase=phases, minor=minors)
def test_a_policy_is_read_or_refused_in_words(raw, request, phase, minor):
    """And one that is read judges."""
    with suppress(PolicyError), at_most(seconds=5):
        policy = parse_policy(sent(raw))
        assert_well_formed(decide(request, phase, lambda: policy, cluster, minor))
