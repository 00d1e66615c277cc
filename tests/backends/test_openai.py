"""OpenAI-compatible targets: settings, keys, addresses, and what reaches the server."""

import socket
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

from skilltrial import registry
from skilltrial.errors import CellError, UsageError
from skilltrial.records.plan import Target
from skilltrial.seams import Job, Machine

TOOL: dict[str, Any] = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}


def backend(value: str | None = "m", **options: Any) -> Any:
    params, pricing = options.pop("params", {}), options.pop("pricing", None)
    target = Target(name="t", backend="openai", value=value, options=options, params=params, pricing=pricing)
    return registry.get("backends", "openai").from_target(target)


@pytest.fixture
def run(machine_with: Callable[..., Machine], new_watch: Any) -> Callable[..., Any]:
    """Runs one job on a server."""

    def go(server: Any, job: Job, environ: dict[str, str] | None = None, **options: Any) -> Any:
        with backend(base_url=server.url, **options).open(machine_with(**(environ or {}))) as runner:
            return runner.run(job, new_watch())

    return go


def test_each_arm_gets_what_it_should(
    serve: Callable[..., Any], run: Callable[..., Any], new_job: Callable[..., Job], blobs: Any
) -> None:
    server = serve("4")
    skill, fixtures = blobs.skill("sums", "Adds", "Carry the one."), blobs.tree({"evals/files/n.txt": "2 2"})
    with_skill = run(server, new_job(skills=(skill,), fixtures=fixtures))
    without = run(server, new_job(fixtures=fixtures))
    first, second = server.requests
    assert [message["role"] for message in first["messages"]] == ["system", "user"]
    assert [message["role"] for message in second["messages"]] == ["user"]
    assert "Carry the one." in first["messages"][0]["content"]
    assert first["messages"][-1] == second["messages"][-1]
    assert (with_skill.activation, without.activation) == ("forced", "none_expected")
    assert with_skill.sent == {
        "model": "m",
        "system": first["messages"][0]["content"],
        "user": first["messages"][1]["content"],
        "params": {},
    }


def test_params_of_the_case_go_over_those_of_the_target(
    serve: Callable[..., Any], run: Callable[..., Any], new_job: Callable[..., Job]
) -> None:
    server = serve("4")
    run(server, new_job(params={"temperature": 1}), params={"temperature": 0, "top_p": 0.5}, reasoning_effort="low")
    request = server.requests[0]
    assert (request["temperature"], request["top_p"], request["reasoning_effort"]) == (1, 0.5, "low")
    assert "seed" not in request


def test_params_that_replace_the_prompt_are_refused_at_plan_time_and_in_a_cell(
    serve: Callable[..., Any], run: Callable[..., Any], new_job: Callable[..., Job]
) -> None:
    with pytest.raises(UsageError, match="target 't': params may not set 'messages'"):
        backend(params={"messages": []})
    server = serve("4")
    with pytest.raises(CellError, match="params may not set 'model'"):
        run(server, new_job(params={"model": "other"}))
    assert not server.requests


def test_tools_are_offered_and_requested_calls_are_events(
    serve: Callable[..., Any], run: Callable[..., Any], new_job: Callable[..., Job]
) -> None:
    server = serve({"tool_calls": [{"id": "1", "type": "function", "function": {"name": "look", "arguments": '{"a": 1}'}}]})
    result = run(server, new_job(tools=(TOOL,), tool_choice="required"))
    assert (server.requests[0]["tools"], server.requests[0]["tool_choice"]) == ([TOOL], "required")
    assert (result.outcome, result.text, result.events[0].arguments) == ("ok", "", {"a": 1})
    assert result.sent["tools"] == [TOOL]


def test_a_cost_comes_from_the_configured_prices(
    serve: Callable[..., Any], run: Callable[..., Any], new_job: Callable[..., Job]
) -> None:
    server = serve("4", usage={"prompt_tokens": 10, "completion_tokens": 2})
    usage = run(server, new_job(), pricing={"prompt": 0.5, "completion": 1.0}).usage
    assert (usage.cost_usd, usage.cost_source) == (7.0, "pricing-config")
    assert run(server, new_job()).usage.cost_usd is None


def test_another_address_can_be_slipped_in_per_job(
    serve: Callable[..., Any], run: Callable[..., Any], new_job: Callable[..., Job]
) -> None:
    own, gateway = serve("own"), serve("gateway")
    assert run(own, new_job(endpoint=gateway.url)).text == "gateway"
    assert not own.requests


def test_the_key_is_sent_and_known_to_the_redactor(
    serve: Callable[..., Any], machine_with: Callable[..., Machine], new_watch: Any, new_job: Callable[..., Job]
) -> None:
    server = serve("4")
    machine = machine_with(MY_KEY="quite-unusual-9876543210")
    with backend(base_url=server.url, api_key_env="MY_KEY").open(machine) as runner:
        runner.run(new_job(), new_watch())
    assert server.headers[0]["authorization"] == "Bearer quite-unusual-9876543210"
    assert "quite-unusual" not in machine.redactor.text("it was quite-unusual-9876543210 indeed")[0]


def test_headers_may_name_variables(serve: Callable[..., Any], run: Callable[..., Any], new_job: Callable[..., Job]) -> None:
    server = serve("4")
    run(server, new_job(), {"AZURE": "k-123456"}, headers={"api-key": "$AZURE", "X-Title": "a ${AZURE}b"})
    assert (server.headers[0]["api-key"], server.headers[0]["x-title"]) == ("k-123456", "a k-123456b")


def test_no_key_is_needed_on_this_machine_but_one_that_is_set_is_sent(
    serve: Callable[..., Any], run: Callable[..., Any], new_job: Callable[..., Job]
) -> None:
    server = serve("4")
    run(server, new_job())
    run(server, new_job(), {"OPENAI_API_KEY": "sk-12345678"})
    run(server, new_job(), {"OPENAI_API_KEY": "sk-12345678"}, api_key_env="none")
    assert [headers.get("authorization") for headers in server.headers] == [None, "Bearer sk-12345678", None]


@pytest.mark.parametrize(
    ("options", "environ", "words"),
    [
        (
            {"base_url": "https://api.x.invalid/v1"},
            {},
            "OPENAI_API_KEY is not set; put the key for https://api.x.invalid/v1 there, "
            "or name another variable with --api-key-env, a judge's with --judge-api-key-env (none: no key)",
        ),
        ({"base_url": "https://openrouter.ai/api/v1"}, {"OPENAI_API_KEY": "sk-1"}, "OPENROUTER_API_KEY is not set"),
        (
            {"base_url": "https://u:secret@h.invalid/v1", "api_key_env": "MINE"},
            {},
            "MINE is not set; put the key for https://h.invalid/v1",
        ),
        (
            {"base_url": "localhost:8000/v1"},
            {},
            "'localhost:8000/v1' is no address; a base URL looks like https://api.openai.com/v1",
        ),
        ({"base_url": "http:///v1"}, {}, "is no address"),
        ({"base_url": "http://no-such-host.invalid/v1", "api_key_env": "none"}, {}, "no-such-host.invalid is not a known host"),
        ({"value": None, "base_url": "http://127.0.0.1:1/v1"}, {}, "no model is named: write openai:MODEL"),
        ({"base_url": "http://127.0.0.1:1/v1", "headers": {"k": "$ABSENT"}}, {}, "$ABSENT, which is not set"),
    ],
)
def test_the_probe_says_what_is_missing(
    machine_with: Callable[..., Machine], options: dict[str, Any], environ: dict[str, str], words: str
) -> None:
    probe = backend(**options).probe(machine_with(**environ))
    assert not probe.ok and words in probe.reason and "secret" not in probe.reason


def test_the_probe_opens_a_connection_and_sends_nothing(serve: Callable[..., Any], machine_with: Callable[..., Machine]) -> None:
    server = serve("4")
    assert backend(base_url=server.url).probe(machine_with()).ok
    assert server.stats.calls == 0
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        probe = backend(base_url=f"http://127.0.0.1:{taken.getsockname()[1]}/v1").probe(machine_with())
    assert not probe.ok and probe.reason.startswith("nothing listens at http://127.0.0.1:")


def test_the_address_comes_from_the_option_then_the_environment_then_openai(monkeypatch: pytest.MonkeyPatch) -> None:
    assert backend(base_url="http://a/v1").address({"OPENAI_BASE_URL": "http://b/v1"}) == "http://a/v1"
    assert backend().address({"OPENAI_BASE_URL": "http://b/v1"}) == "http://b/v1"
    assert backend().address({}) == "https://api.openai.com/v1"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://u:secret@b/v1?k=secret")
    assert backend().endpoint_name() == "http://b/v1/chat/completions"


def test_an_unknown_option_is_named_with_those_there_are() -> None:
    with pytest.raises(UsageError, match="openai has no option 'tempreature'") as caught:
        backend(tempreature=1)
    assert "base_url" in str(caught.value)


def test_a_target_may_have_fewer_connections_than_the_experiment(
    serve: Callable[..., Any], machine_with: Callable[..., Machine]
) -> None:
    server, machine = serve("4"), machine_with()
    with backend(base_url=server.url, max_connections=3).open(machine):
        assert machine.limiter.limit(f"{server.url}/chat/completions") == 3  # type: ignore[attr-defined]


def test_a_model_that_is_reported_as_a_path_is_kept_by_its_name(
    serve: Callable[..., Any], run: Callable[..., Any], new_job: Callable[..., Job]
) -> None:
    reply = {"model": "/somewhere/weights/small.gguf", "choices": [{"message": {"content": "4"}, "finish_reason": "stop"}]}
    assert run(serve(reply), new_job()).model == "small.gguf"
