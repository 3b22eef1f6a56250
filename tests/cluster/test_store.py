"""Whatever is told in whatever order, a view is what view_of makes of the objects that are there."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.support.build import key_of, namespace, service, whole, workload
from webhook.cluster.store import Store
from webhook.kubernetes.references import Owner
from webhook.spread.cluster_view import read_view_object, view_of

OWNER = Owner("apps/v1", "ReplicaSet", "web")


def kind_of(obj):
    return obj["apiVersion"], obj["kind"]


def kept(obj):
    return read_view_object(obj, *kind_of(obj))[2]


def tell(store, *objects):
    for obj in objects:
        store.apply(kind_of(obj), [(key_of(obj), kept(obj))])


def forget(store, *objects):
    for obj in objects:
        store.apply(kind_of(obj), [(key_of(obj), None)])


def node(name, cpu="4", **labels):
    status = {"allocatable": {"cpu": cpu, "pods": "110"}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}, "status": status}


NAMES, NAMESPACES = st.sampled_from("ab"), st.sampled_from(("shop", "bank"))
LABELS = st.dictionaries(st.sampled_from(("app", "tier")), st.sampled_from("xy"))
OBJECTS = st.one_of(
    st.builds(lambda name, cpu, labels: node(name, cpu, **labels), NAMES, st.sampled_from("48"), LABELS),
    st.builds(lambda name, labels: namespace(name, **labels), NAMESPACES, LABELS),
    st.builds(service, NAMES, LABELS, NAMESPACES),
    st.builds(
        lambda kind, name, space, labels: workload(
            kind,
            name=name,
            namespace=space,
            spec={"selector": labels if kind[:4] == "Repl" and kind[-1] == "r" else {"matchLabels": labels}},
        ),
        st.sampled_from(("ReplicaSet", "StatefulSet", "ReplicationController")),
        NAMES,
        NAMESPACES,
        LABELS,
    ),
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("tell"), OBJECTS),
        st.tuples(st.just("forget"), OBJECTS),
        st.tuples(st.just("relist"), st.lists(OBJECTS)),
        st.tuples(st.just("view"), st.none()),
    )
)


@given(STEPS)
def test_a_view_is_what_the_objects_make_up(steps):
    """And the views that were taken on the way stay what they were."""
    store, there, taken = Store(), {}, []
    for what, given_ in steps:
        if what == "tell":
            tell(store, given_)
            there[kind_of(given_), key_of(given_)] = given_
        elif what == "forget":
            forget(store, given_)
            there.pop((kind_of(given_), key_of(given_)), None)
        elif what == "relist":
            those = {key_of(one): one for one in given_ if one["kind"] == "Service"}
            tell(store, *those.values())
            store.retain(("v1", "Service"), {space: {name for of, name in those if of == space} for space, _ in those})
            there = {at: one for at, one in there.items() if at[0] != ("v1", "Service")}
            there |= {(("v1", "Service"), key): one for key, one in those.items()}
        else:
            taken.append((store.view(), whole(there.values())))

        assert whole(there.values()) == store.view() or what != "view"
    assert whole(there.values()) == store.view()
    for view, then in taken:
        assert then == view


def test_a_view_is_the_same_one_until_something_changes():
    store = Store()
    tell(store, service(), workload("ReplicaSet"))
    view = store.view()
    tell(store, service(), {**workload("ReplicaSet"), "status": {"replicas": 5}})

    assert view is store.view()


def test_a_change_leaves_other_namespaces_as_they_are():
    """What a view costs is what has changed, not the cluster."""
    store = Store()
    tell(store, service(), service(namespace="bank"), workload("ReplicaSet"), workload("ReplicaSet", namespace="bank"))
    before = store.view()
    tell(store, service("other"), workload("ReplicaSet", name="other"))
    after = store.view()

    assert before.services["bank"] is after.services["bank"]
    assert before.controllers["bank", "apps/v1", "ReplicaSet"] is after.controllers["bank", "apps/v1", "ReplicaSet"]
    assert before.services["shop"] != after.services["shop"]


def test_nothing_is_left_of_a_namespace_that_is_gone():
    store, objects = Store(), (service(), workload("ReplicaSet"))
    tell(store, *objects)
    store.view()
    forget(store, *objects)

    assert view_of([]) == store.view()
    assert 0 == sum(store.count(kind_of(one)) for one in objects)


def test_while_a_batch_is_applied_the_view_before_it_is_in_force():
    """No decision waits for the writer, and none sees half a batch."""
    store, seen = Store(), []
    tell(store, service("before"))
    before = store.view()

    def batch():
        for name in ("web", "api"):
            yield ("shop", name), kept(service(name))
            seen.append(store.view())

    store.apply(("v1", "Service"), batch())

    assert [before, before] == seen
    assert ["api", "before", "web"] == [one.name for one in store.view().services_of("shop", {"app": "web"})]


def test_a_view_says_whether_node_pools_are_served():
    store = Store()
    tell(store, service())
    assert not store.view().serves_node_pools

    store.note_node_pools(True)
    view = store.view()
    tell(store, service(name="other"))

    assert view.serves_node_pools and store.view().serves_node_pools

    store.note_node_pools(False)
    assert not store.view().serves_node_pools


def test_of_a_list_only_the_kind_that_was_listed_is_forgotten():
    store, kinds = Store(), [("v1", "Service"), ("apps/v1", "ReplicaSet")]
    tell(store, service("a"), service("b"), service("a", namespace="bank"), workload("ReplicaSet"))
    store.retain(kinds[0], {"shop": {"a"}})

    assert [1, 1] == [store.count(kind) for kind in kinds]
    store.retain(kinds[0], {})
    assert [0, 1] == [store.count(kind) for kind in kinds]


def test_nodes_come_in_the_order_of_their_names():
    store = Store()
    tell(store, node("b"), node("a"))
    assert ["a", "b"] == [one.name for one in store.view().nodes]

    tell(store, node("0"))
    assert ["0", "a", "b"] == [one.name for one in store.view().nodes]
