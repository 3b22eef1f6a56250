"""What -n, -A, -l and TYPE/NAME choose in a cluster, for every command that reads one."""

from __future__ import annotations

import argparse
import json

import pytest

from evenkeel.clusters import selection
from evenkeel.clusters.sources import Source
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
    [([], "bank", "default"), (["-n", "shop"], "shop", "shop"), (["-A"], "", "")],
    ids=["neither", "a namespace", "all"],
)
def test_the_namespace_is_that_of_the_context_unless_another_is_named(parse, source, words, live, dump):
    args = parse(*words)

    assert live == selection.namespace(args, source)
    assert (dump if words else "") == selection.namespace(args, source, default="")
    assert dump == selection.namespace(args, Source("cluster.jsonl.gz"))
    assert (dump or "") == selection.selection(args, Source("a"), "default").namespace


def test_a_dump_of_one_namespace_is_asked_about_it(parse, tmp_path):
    dump = tmp_path / "shop.jsonl"
    dump.write_text('{"kind": "ClusterDump", "version": 1, "namespace": "shop"}\n')
    found = [selection.namespace(parse(*words), Source(str(dump))) for words in ([], ["-n", "bank"], ["-A"])]

    assert ["shop", "bank", ""] == found
    dump.write_text('{"kind": "ClusterDump", "version": 1}\n')
    assert "default" == selection.namespace(parse(), Source(str(dump)))
    assert "" == selection.namespace(parse(), Source(str(dump)), default="")


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
