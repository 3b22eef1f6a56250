"""Whatever files hold, a command ends with an exit code and a reason."""

from __future__ import annotations

import io
import sys
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

from hypothesis import given
from hypothesis import strategies as st

from tests.properties.judging import at_most, fuzz, objects, sent
from tests.support import strategies as some
from webhook.cli import main as cli

HEADER = '{"kind": "ClusterDump", "version": 1}'
dumps = st.lists(some.perhaps_damaged(some.cluster_objects), max_size=3).map(
    lambda found: "\n".join([HEADER, *(one if isinstance(one, str) else sent(one) for one in found)])
)
POLICY_TEST = {
    "kind": "PolicyTest",
    "policy": "two",
    "cluster": "one",
    "kubernetesVersion": "1.34",
    "cases": [
        {"name": "a", "object": "two", "old": "one#Pod/a", "user": "jane", "expect": {"exactly": [], "defaults": [{}]}},
        {"name": "b", "object": some.CLUSTER_OBJECTS[-1], "expect": {"outcome": "allowed", "warnings": ["a"]}},
    ],
}
INLINE = POLICY_TEST | {"policy": some.PLAIN, "cluster": list(some.CLUSTER_OBJECTS), "cases": POLICY_TEST["cases"][1:]}
texts = dumps | st.one_of(
    some.perhaps_damaged(st.sampled_from([POLICY_TEST, INLINE])),
    some.yaml_texts,
    st.lists(some.perhaps_damaged(objects), max_size=2).map(lambda found: {"kind": "List", "items": found}),
    some.perhaps_damaged(some.cluster_objects),
    some.perhaps_damaged(st.sampled_from(some.RAW_POLICIES)),
).map(lambda found: found if isinstance(found, str) else sent(found))


COMMANDS = (
    *("admit -f one", "admit -f one -o json", "admit -f one -o yaml", "admit -f - -o json --kubernetes-version 1.26"),
    *(
        "admit -f one --old two",
        "admit -f one --old two -o yaml",
        "admit -f one --policy two",
        "admit -f one --cluster two",
    ),
    *("policy check one", "policy show --policy one --cluster two", "policy show --labels app=web --cluster one"),
    *("policy test one", "policy test one two -o json", "policy test one -o junit"),
    *("policy test --init - one", "policy test --init - one --policy two", "policy test --init - one --cluster two"),
    *("dump --cluster one", "dump --cluster one -n shop -o out"),
)


@fuzz
@given(command=st.sampled_from(COMMANDS), files=st.tuples(texts, texts) | texts.map(lambda text: (text, text)))
def test_the_command_line_ends_with_an_exit_code(command, files):
    """0, 1 or 2, and 2 with a reason."""
    with TemporaryDirectory() as folder, at_most(seconds=10), streams(files[0]) as errors:
        paths = {name: Path(folder, name) for name in ("one", "two", "out")}
        for path, text in zip(paths.values(), files, strict=False):
            path.write_bytes(text.encode("utf-8", "surrogatepass"))

        code = cli.main([str(paths.get(word, word)) for word in command.split()])

        assert code in (0, 1, 2)
        assert code != 2 or errors.getvalue().startswith(b"evenkeel: ")


@fuzz
@given(texts=st.lists(st.lists(some.perhaps_damaged(objects), min_size=1, max_size=3), min_size=1, max_size=2))
def test_a_policy_test_that_is_written_passes(texts):
    """Whatever its objects hold."""
    with TemporaryDirectory() as folder, at_most(seconds=20), streams(""):
        for number, found in enumerate(texts):
            Path(folder, f"{number}.yaml").write_bytes(sent({"kind": "List", "items": found}).encode())
        written = str(Path(folder, "new.evenkeel-test.yaml"))

        if cli.main(["policy", "test", "--init", written, folder]) == 0:
            assert 0 == cli.main(["policy", "test", written])


@contextmanager
def streams(text):
    """Standard streams and a stack as a process of its own has them; gives what is written to standard error."""
    stdin, stdout, stderr = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(3))
    stdin.buffer.write(text.encode("utf-8", "surrogatepass"))
    stdin.seek(0)
    stderr.reconfigure(write_through=True)
    limit = sys.getrecursionlimit()  # which hypothesis has raised
    with mock.patch.multiple(sys, stdin=stdin, stdout=stdout, stderr=stderr):
        sys.setrecursionlimit(1_000)
        try:
            yield stderr.buffer
        finally:
            sys.setrecursionlimit(limit)
