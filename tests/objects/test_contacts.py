"""Labels and annotations that say whose something is."""

from __future__ import annotations

from evenkeel.objects.contacts import contacts_in


def test_the_name_after_the_prefix_counts():
    named = {"team": "a", "example.com/owner": "b", "x/contact": "c", "team-x": "d", "team/name": "e", "x/team": 5}

    assert {"team": "a", "example.com/owner": "b", "x/contact": "c"} == contacts_in(named)
