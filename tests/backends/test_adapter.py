"""The handbook's adapter protocol, version 1: the request to the byte, the response to the letter."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skilltrial.backends._handbook import Violation, response
from skilltrial.backends.adapter import Adapter
from skilltrial.errors import UsageError
from skilltrial.records.plan import Target

ECHO = """
import json, os, sys
request = json.load(sys.stdin)
json.dump({"output": json.dumps([request, sys.argv[1:], os.getcwd(), os.environ.get("MARK"), os.environ.get("HOME")])}, sys.stdout)
"""
KNOWN = '{"output": "Final agent response", "events": [{"type": "skill_loaded", "name": "sample-skill"}], "usage": {"input_tokens": 1200, "output_tokens": 350, "cost_usd": 0.01}}'


def adapter(bench: Any, python: str, **options: Any) -> Adapter:
    return Adapter(path=str(bench.executable("adapter", python)), **options)


def printing(bench: Any, text: str, **options: Any) -> Adapter:
    return adapter(bench, f"import sys\nsys.stdin.read()\nsys.stdout.write({text!r})", **options)


# ---------------------------------------------------------------- what the adapter is told
@pytest.mark.parametrize("with_skill", [False, True])
def test_the_request_is_the_handbooks_with_its_order_of_keys(bench: Any, with_skill: bool) -> None:
    data = b"input\n"
    told = bench.run(adapter(bench, ECHO), with_skill=with_skill, files={"evals/fixtures/input.txt": data})
    request = json.loads(told.text)[0]
    root = str(bench.root)
    expected = {
        "protocol_version": 1,
        "mode": "with_skill" if with_skill else "without_skill",
        "skill": {"name": "sample-skill", "path": f"{root}/skills/sample-skill"} if with_skill else None,
        "prompt": "Perform the task.",
        "files": [{"path": "inputs/evals/fixtures/input.txt", "sha256": hashlib.sha256(data).hexdigest()}],
        "workspace": root,
    }
    assert json.dumps(request) == json.dumps(expected)
    assert told.sent == expected


def test_it_starts_in_the_workspace_with_its_arguments_and_the_callers_environment(bench: Any) -> None:
    told = bench.run(adapter(bench, ECHO, args=("--fast", "a b; c")))
    _, args, folder, mark, home = json.loads(told.text)
    assert args == ["--fast", "a b; c"]
    assert folder == str(bench.root)
    assert mark == "from the caller"
    assert home == bench.environ["HOME"]


# ---------------------------------------------------------------- what it answers
def test_the_known_response_becomes_text_events_and_usage(bench: Any) -> None:
    run = bench.run(printing(bench, KNOWN), with_skill=True)
    assert (run.outcome, run.text, run.activation) == ("ok", "Final agent response", "activated")
    assert [(event.kind, event.name) for event in run.events] == [("skill", "sample-skill")]
    assert (run.usage.input_tokens, run.usage.output_tokens, run.usage.cost_usd) == (1200, 350, 0.01)
    assert json.loads(run.logs["response.json"]) == json.loads(KNOWN)


def test_only_output_is_required_and_it_may_be_empty(bench: Any) -> None:
    run = bench.run(printing(bench, '{"output": ""}\n'))
    assert (run.outcome, run.text, run.events, run.usage.input_tokens) == ("ok", "", None, None)


BROKEN = [
    ("", "is empty"),
    ("hello", "no JSON"),
    ("[]", "must be an object"),
    ("{}", "'output' must be a string"),
    ('{"output": 1}', "'output' must be a string"),
    ('{"output": "a", "trace": []}', "unknown key 'trace'"),
    ('{"output": "a"} bye', "text follows"),
    ('{"output": "a"}{"output": "b"}', "text follows"),
    ('{"output": "a", "output": "b"}', "twice"),
    ('{"output": "a", "usage": {"n": NaN}}', "NaN"),
    ('{"output": "a", "usage": {"n": Infinity}}', "Infinity"),
    ('{"output": "a", "usage": {"n": 1e999}}', "too large"),
    ('{"output": "a", "usage": {"n": true}}', "must be a number, found true or false"),
    ('{"output": "a", "usage": {"n": "1"}}', "must be a number"),
    ('{"output": "a", "usage": null}', "'usage' must be an object"),
    ('{"output": "a", "events": {}}', "'events' must be a list"),
    ('{"output": "a", "events": ["x"]}', "events[0] must be an object"),
    ('{"output": "a", "events": [{"type": ""}]}', "events[0].type"),
    ('{"output": "a", "events": [{"name": "x"}]}', "events[0].type"),
    ('{"output": "a", "events": [{"type": "x", "name": null}]}', "events[0].name"),
    ('{"output": "a", "events": [{"type": "x", "at": 1}]}', "unknown key 'at'"),
    ("[" * 50_000, "nested too deeply"),
    ('{"output": ' + "9" * 5_000 + "}", "no JSON"),
]


@pytest.mark.parametrize(("text", "reason"), BROKEN)
def test_a_response_that_breaks_the_protocol_is_refused_with_its_place(text: str, reason: str) -> None:
    with pytest.raises(Violation) as caught:
        response(text.encode())
    assert reason in str(caught.value)


def test_a_refused_response_is_a_failed_measurement_with_the_tail_of_the_error_stream(bench: Any) -> None:
    bench.redactor.learn("hunter2-secret")
    backend = adapter(bench, "import sys\nprint('half')\nprint('no such model; key hunter2-secret', file=sys.stderr)")
    run = bench.run(backend)
    assert (run.outcome, run.text, run.usage.input_tokens) == ("infrastructure_error", "", None)
    assert "adapter: the response is no JSON" in run.reason
    assert "no such model" in run.reason
    assert "hunter2-secret" not in run.reason


def test_a_status_other_than_zero_fails_although_the_response_is_good(bench: Any) -> None:
    run = bench.run(adapter(bench, f"import sys\nsys.stdout.write({KNOWN!r})\nsys.stderr.write('login expired')\nsys.exit(3)"))
    assert (run.outcome, run.text) == ("infrastructure_error", "")
    assert "status 3" in run.reason
    assert "login expired" in run.reason


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_more_than_the_output_limit_on_a_stream_is_a_failure(bench: Any, stream: str) -> None:
    run = bench.run(adapter(bench, f"import sys\nsys.{stream}.write('x' * 50_000)", max_output_bytes=10_000))
    assert run.outcome == "agent_error"
    assert "10,000 bytes" in run.reason


@pytest.mark.parametrize(("outcome", "becomes"), [("timeout", "timeout"), ("budget", "budget"), ("interrupted", "harness_error")])
def test_a_run_that_is_stopped_says_why(bench: Any, stopped: Any, outcome: str, becomes: str) -> None:
    run = bench.run(adapter(bench, "import time\ntime.sleep(600)"), watch=stopped(outcome))
    assert (run.outcome, run.text) == (becomes, "")
    assert f"{outcome} struck" in run.reason


def test_numbers_that_are_no_counts_are_unknown_and_said(bench: Any) -> None:
    run = bench.run(
        printing(bench, '{"output": "a", "usage": {"input_tokens": 1.5, "output_tokens": 7.0, "cost_usd": -1, "duration_ms": 3}}')
    )
    assert (run.usage.input_tokens, run.usage.output_tokens, run.usage.cost_usd) == (None, 7, None)
    assert len(run.warnings) == 2


def test_cached_and_reasoning_tokens_are_read_in_the_later_versions_spelling() -> None:
    usage = response(
        b'{"output": "", "usage": {"input_tokens": 9, "cache_read_tokens": 4, "reasoning_tokens": 2, "total_tokens": 12}}'
    ).usage
    assert (usage.input_tokens, usage.cached_tokens, usage.reasoning_tokens) == (9, 4, 2)


# ---------------------------------------------------------------- activation
SILENT = '{"output": "a", "events": []}'
UNABLE = '{"output": "a", "events": [{"type": "activation_telemetry_unavailable", "name": "stub"}]}'


@pytest.mark.parametrize("text", ['{"output": "a"}', SILENT, UNABLE])
def test_an_adapter_that_never_reported_a_skill_cannot_tell(bench: Any, text: str) -> None:
    assert bench.run(printing(bench, text), with_skill=True).activation == "unknown"


def test_silence_of_an_adapter_that_has_reported_a_skill_means_not_seen(bench: Any) -> None:
    backend = adapter(
        bench,
        f"""
        import json, sys
        print({KNOWN!r} if json.load(sys.stdin)["prompt"] == "load" else {SILENT!r})
        """,
    )
    with bench.place() as place, backend.open(bench.machine) as runner:
        seen = [
            runner.run(bench.job(place, with_skill=True, prompt=prompt), bench.patient) for prompt in ("plain", "load", "plain")
        ]
    assert [run.activation for run in seen] == ["unknown", "activated", "not_seen"]


def test_a_baseline_expects_no_skill(bench: Any) -> None:
    assert bench.run(printing(bench, SILENT)).activation == "none_expected"


# ---------------------------------------------------------------- before the first call
def test_a_missing_adapter_is_named_and_path_is_not_searched(bench: Any) -> None:
    probe = Adapter(path="sh").probe(bench.machine)
    assert not probe.ok
    assert "there is no adapter 'sh'" in probe.reason
    assert "PATH is not searched" in probe.reason


def test_a_file_that_cannot_be_executed_is_named_with_the_cure(bench: Any) -> None:
    file = bench.base / "plain.py"
    file.write_text("x")
    probe = Adapter(path=str(file)).probe(bench.machine)
    assert not probe.ok
    assert "chmod +x" in probe.reason


def test_an_adapter_that_vanished_is_a_failure_of_set_up(bench: Any) -> None:
    run = bench.run(Adapter(path=str(bench.base / "gone")))
    assert (run.outcome, run.setup) == ("infrastructure_error", True)


def test_a_target_without_a_path_is_refused() -> None:
    with pytest.raises(UsageError, match="name the executable"):
        Adapter.from_target(Target(name="a", backend="adapter"))


# ---------------------------------------------------------------- any bytes at all
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(st.characters(), max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["output", "events", "usage", "type", "name", "n"]), inner, max_size=4)
    ),
    max_leaves=8,
)


@given(st.binary(max_size=60) | JSON.map(lambda value: json.dumps(value).encode()))
def test_whatever_an_adapter_prints_is_a_response_or_a_violation(data: bytes) -> None:
    try:
        found = response(data)
    except Violation as error:
        assert str(error)
    else:
        found.output.encode("utf-8")
        assert found.usage.to_json()
