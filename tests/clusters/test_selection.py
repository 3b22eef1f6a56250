"""What -n, -A, -l and TYPE/NAME choose in a cluster, for every command that reads one."""

from __future__ import annotations

import argparse
import json

import pytest

from evenkeel.clusters import selection
from evenkeel.clusters.sources import WHOLE_CLUSTER, Source
from evenkeel.scheduler.selector_text import parse_selector
from evenkeel.terminal import output
from webhook.cli.usage import UsageError


@pytest.fixture
def parse():
    def parse(*words):
        parser = argparse.ArgumentParser()
        selection.add_object_argument(parser)
        selection.add_namespace_arguments(parser)
        selection.add_selector_argument(parser)
        output.add_output_argument(parser)
        return parser.parse_args(words)

    return parse


@pytest.fixture
def source(tmp_path):
    """A live cluster whose context has a namespace."""
    file = tmp_path / "kubeconfig"
    context = {"cluster": "a", "user": "a", "namespace": "bank"}
    file.write_text(json.dumps({"contexts": [{"name": "a", "context": context}], "current-context": "a"}))
    return Source("live", str(file))


@pytest.mark.parametrize(
    ("words", "live", "dump"),
    [([], "bank", ""), (["-n", "shop"], "shop", "shop"), (["-A"], "", "")],
    ids=["neither", "a namespace", "all"],
)
def test_the_namespace_is_that_of_the_context_and_a_file_has_all(parse, source, words, live, dump):
    args = parse(*words)

    assert live == selection.namespace(args, source)
    assert dump == selection.namespace(args, Source("cluster.jsonl.gz"))
    assert dump == selection.selection(args, Source("a")).namespace


def test_objects_of_a_file_are_applied_in_the_namespace_of_a_dump_of_one(parse, tmp_path, source):
    dump = tmp_path / "shop.jsonl"
    dump.write_text('{"kind": "ClusterDump", "version": 1, "namespace": "shop"}\n')

    def applied_in(*words):
        return selection.namespace_to_apply_in(parse(*words), Source(str(dump)))

    assert ["shop", "bank", "shop"] == [applied_in(*words) for words in ([], ["-n", "bank"], ["-A"])]
    dump.write_text('{"kind": "ClusterDump", "version": 1}\n')
    assert "default" == applied_in()
    assert "bank" == selection.namespace_to_apply_in(parse(), source)


FILE, SHOWN = Source("c.yaml"), ("shop", "bank", "not a\nname", "")


@pytest.mark.parametrize(
    ("namespace", "names", "source", "said"),
    [
        ("shpo", SHOWN, Source("live"), "namespace shpo: not in the cluster; did you mean shop?"),
        ("shpo", SHOWN, FILE, "namespace shpo: not in c.yaml; did you mean shop?"),
        ("zzz", SHOWN, FILE, "namespace zzz: not in c.yaml; the namespaces there are bank, shop"),
        ("shop", SHOWN, FILE, ""),
        ("", SHOWN, FILE, ""),
        ("shpo", ("",), FILE, ""),
    ],
)
def test_a_namespace_that_is_not_there_is_told_with_the_one_that_is_like_it(namespace, names, source, said):
    """What cannot be typed is never named."""
    assert said == selection.unknown_namespace(namespace, names, source)


WEB, DB = ({"app": name} for name in ("web", "db"))


@pytest.mark.parametrize(
    ("namespace", "labels", "candidates", "said"),
    [
        ("bank", "", [("shop", WEB, 2)], " in namespace bank; 2 in shop: add -n shop, or -A"),
        (
            *("bank", "", [("a", WEB, 1), ("b", DB, 3)]),
            " in namespace bank; 3 in b, 1 in a: name one of these with -n, or add -A",
        ),
        (
            *("bank", "app=web", [("bank", DB, 2), ("shop", WEB, 1)]),
            " in namespace bank with the labels app=web; 1 in shop: add -n shop, or -A",
        ),
        (
            *("shop", "app=web", [("shop", DB, 1200), ("bank", DB, 1)]),
            " in namespace shop with the labels app=web; 1,200 there have other labels: change -l, or leave it out",
        ),
        (
            *("", "app=web", [("shop", DB, 2), ("", DB, 1)]),
            " with the labels app=web; 3 there have other labels: change -l, or leave it out",
        ),
        (
            *("shop", "app=web", [("bank", DB, 2)]),
            " in namespace shop with the labels app=web; 2 in bank: change -l, or leave it out",
        ),
        ("shop", "", [], " in namespace shop; the cluster shows none in any other namespace"),
        ("", "", [], "; the cluster shows none"),
    ],
)
def test_where_nothing_is_chosen_it_says_what_there_is_and_how_to_choose_it(namespace, labels, candidates, said):
    chosen = selection.Selection(namespace, parse_selector(labels))
    found = selection.none_found("Pod", chosen, [selection.Candidates(*each) for each in candidates], Source("live"))

    assert f"found no Pod{said}" == found


def test_a_file_that_has_nothing_to_choose_is_told_how_to_write():
    found = selection.none_found("Pod", selection.Selection("", parse_selector("")), [], FILE)

    assert f"found no Pod; c.yaml shows none; {WHOLE_CLUSTER}" == found


def test_labels_are_selected(parse, source):
    found = selection.selection(parse("-l", "app=web,!old"), source)

    assert ("bank", "app=web,!old") == (found.namespace, str(found.selector))
    assert selection.selection(parse(), source).selector.empty


def test_an_object_is_named_by_one_word_or_two(parse):
    one, two = (selection.typed_name(parse(*words).object) for words in (["deploy/web"], ["deploy", "web"]))

    assert one == two
    assert ("Deployment", "web") == (one.kind, one.name)


def test_text_is_printed_unless_json_is_asked_for(parse):
    assert ("text", "json") == (parse().output, parse("-o", "json").output)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-n", "A_B"], '--namespace: found "A_B", wanted the name of one namespace; -A means all of them'),
        (["-n", ""], '--namespace: found "", wanted the name of one namespace; -A means all of them'),
        (["-l", "a b"], '--selector: found "a b", wanted KEY=VALUE, '),
        (["web"], 'found "web" without a type, wanted TYPE/NAME or TYPE NAME; write pod/web or deployment/web'),
    ],
)
def test_what_cannot_be_used_is_named(parse, source, words, message):
    args = parse(*words)
    with pytest.raises(UsageError) as error:
        selection.typed_name(args.object) if args.object else selection.selection(args, source)

    assert str(error.value).startswith(message)


def test_a_kubeconfig_that_cannot_be_read_is_named(parse, tmp_path):
    (tmp_path / "bad").write_text("- a")
    with pytest.raises(UsageError, match=r"^--cluster live: .*bad: "):
        selection.namespace(parse(), Source("live", str(tmp_path / "bad")))


@pytest.mark.parametrize(
    ("namespace", "labels", "has"),
    [("shop", {"app": "web"}, True), ("", {"app": "web"}, True), ("bank", {"app": "web"}, False), ("", {}, False)],
)
def test_an_object_is_of_the_namespace_and_has_the_labels(namespace, labels, has):
    chosen = selection.Selection(namespace, parse_selector("app=web"))

    assert has == chosen.has("shop", labels)


@pytest.mark.parametrize(("by", "label"), [(None, ""), ("namespace", ""), ("team", "team")])
def test_sums_are_by_namespace_or_by_a_label(by, label):
    assert label == selection.label_of_sums(argparse.Namespace(by=by))


@pytest.mark.parametrize("by", ["", "a b", "/a"])
def test_sums_by_what_is_no_label(by):
    with pytest.raises(UsageError, match=r"^--by: found"):
        selection.label_of_sums(argparse.Namespace(by=by))
