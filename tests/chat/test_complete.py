"""One question over a real socket: deadlines, stops, retries, and every failure as one clear sentence."""

import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from skilltrial.chat import openai, retry
from skilltrial.chat.client import Client, default_headers, proxy_for
from skilltrial.chat.complete import Asker, Endpoint, complete_anthropic, complete_openai
from skilltrial.chat.limiter import AimdLimiter
from skilltrial.chat.retry import Budget
from skilltrial.chat.wire import Ask
from skilltrial.records.evidence import AgentRun
from skilltrial.seams import Machine, Stop
from skilltrial.system.redaction import Redactor

QUESTION = Ask(model="m", system=None, user="What is 2 + 2?", params={})


@pytest.fixture
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Back-off of a few milliseconds: what is tested is that calls are made again, not the waiting."""
    monkeypatch.setattr(retry, "FIRST_WAIT_S", 0.002)


@pytest.fixture
def ask(machine_with: Callable[..., Machine], watch: Any) -> Callable[..., AgentRun]:
    """Asks a server once."""

    def go(url: str, question: Ask = QUESTION, **endpoint: Any) -> AgentRun:
        machine = machine_with()
        machine.redactor.learn("sk-supersecret-0123456789")
        return complete_openai(
            question, Endpoint(**{"url": url, "key": "k", "headers": default_headers({}), **endpoint}), machine, watch
        )

    return go


def test_an_answer_is_a_run_with_text_usage_and_times(serve: Callable[..., Any], ask: Callable[..., AgentRun]) -> None:
    run = ask(serve("4", usage={"prompt_tokens": 5, "completion_tokens": 1}).url)
    assert (run.outcome, run.text, run.model, run.events) == ("ok", "4", "m", ())
    assert (run.usage.input_tokens, run.usage.output_tokens, run.usage.cost_usd) == (5, 1, None)
    assert run.timing.model_requests == 1 and run.timing.duration_s > 0
    assert run.timing.started_at.endswith("Z")


def test_messages_endpoints_are_asked_in_their_own_format(
    serve: Callable[..., Any], machine_with: Callable[..., Machine], watch: Any
) -> None:
    server = serve("4")
    run = complete_anthropic(QUESTION, Endpoint(server.url, "k", {}), machine_with(), watch)
    assert (run.outcome, run.text, server.paths) == ("ok", "4", ["/v1/messages"])


@pytest.mark.parametrize(
    ("status", "error", "outcome", "setup", "words"),
    [
        (
            401,
            {"message": "Incorrect API key sk-supersecret-0123456789"},
            "infrastructure_error",
            True,
            "401: not let in (Incorrect API key",
        ),
        (402, {"message": "Insufficient credits"}, "infrastructure_error", True, "no credit or quota left"),
        (403, {"message": "no access"}, "infrastructure_error", True, "may not use model 'm'"),
        (
            404,
            {"message": "The model `m` does not exist", "code": "model_not_found"},
            "infrastructure_error",
            True,
            "model 'm' is not known there",
        ),
        (400, {"message": "m is not a valid model ID"}, "infrastructure_error", True, "model 'm' is not known there"),
        (404, {"message": "Not Found"}, "infrastructure_error", True, "check the base URL"),
        (
            429,
            {"message": "You exceeded your current quota", "code": "insufficient_quota"},
            "infrastructure_error",
            True,
            "quota left",
        ),
        (
            400,
            {"message": "This model's maximum context length is 8 tokens"},
            "agent_error",
            False,
            "longer than the model takes",
        ),
        (400, {"message": "prompt is too long: 9 > 8"}, "agent_error", False, "longer than the model takes"),
        (413, {"message": "request too large"}, "agent_error", False, "longer than the model takes"),
        (400, {"message": "blocked", "code": "content_filter"}, "agent_error", False, "content filter"),
        (400, {"message": "tool schema is wrong"}, "infrastructure_error", False, "400 (tool schema is wrong)"),
        (308, {"message": "moved"}, "infrastructure_error", True, "it redirects"),
    ],
)
def test_an_error_is_one_clear_sentence_and_never_the_text(
    serve: Callable[..., Any], ask: Callable[..., AgentRun], status: int, error: Any, outcome: str, setup: bool, words: str
) -> None:
    run = ask(serve(faults={"status": status, "error": {"error": error}}).url, key_name="MY_KEY")
    assert (run.outcome, run.setup, run.text) == (outcome, setup, "")
    assert run.reason is not None and words in run.reason and "\n" not in run.reason
    assert "sk-supersecret" not in run.reason


@pytest.mark.parametrize(
    "body",
    [
        [{"error": {"message": "odd"}}],
        {"detail": "odd"},
        {"detail": [{"loc": ["body", "n"], "msg": "odd"}]},
        {"error": "odd"},
        {"message": "odd"},
    ],
)
def test_the_message_is_found_in_every_shape_of_error(serve: Callable[..., Any], ask: Callable[..., AgentRun], body: Any) -> None:
    assert "(odd)" in (ask(serve(faults={"status": 400, "error": body}).url).reason or "")


def test_an_error_inside_a_200_is_an_error(serve: Callable[..., Any], ask: Callable[..., AgentRun]) -> None:
    run = ask(serve({"error": {"message": "no such model: m", "code": 404}}).url)
    assert (run.outcome, run.setup) == ("infrastructure_error", True)


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("<!DOCTYPE html><h1>Sign in</h1>", "a web page"),
        ("plain", "not JSON"),
        ('{"choices": [{"mess', "breaks off"),
        ("", "nothing"),
        ('{"choices": []}', "without choices"),
    ],
)
def test_a_page_in_place_of_an_answer_is_no_answer_and_kept_for_the_log(
    serve: Callable[..., Any], ask: Callable[..., AgentRun], page: str, words: str
) -> None:
    run = ask(serve(faults={"page": page}).url)
    assert (run.outcome, run.text) == ("infrastructure_error", "")
    assert run.reason is not None and words in run.reason
    assert run.logs.get("response.txt", b"") == page.encode()


def test_a_refused_connection_is_said_plainly(ask: Callable[..., AgentRun]) -> None:
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://user:hunter2@127.0.0.1:{taken.getsockname()[1]}/v1?key=hunter2"
        run = ask(url)
    assert (run.outcome, run.setup) == ("infrastructure_error", True)
    assert run.reason is not None and "nothing listens at http://127.0.0.1:" in run.reason and "hunter2" not in run.reason


def test_an_unknown_host_is_said_plainly(ask: Callable[..., AgentRun]) -> None:
    run = ask("http://no-such-host.invalid/v1")
    assert (run.outcome, run.setup) == ("infrastructure_error", True)
    assert run.reason is not None and run.reason.startswith("no-such-host.invalid is not a known host")


@pytest.mark.parametrize("faults", [{"hang": True}, {"drip_s": 0.03}, {"drip_s": 0.03, "drip_headers": True}])
def test_no_server_keeps_a_call_alive_past_its_deadline(
    serve: Callable[..., Any], ask: Callable[..., AgentRun], watch: Any, faults: dict[str, Any]
) -> None:
    watch.deadline = time.monotonic() + 0.3
    began = time.monotonic()
    run = ask(serve("word " * 200, faults=faults).url)
    assert (run.outcome, run.text) == ("timeout", "")
    assert time.monotonic() - began < 5.0


@pytest.mark.parametrize(("stop", "outcome"), [("interrupted", "harness_error"), ("budget", "budget"), ("timeout", "timeout")])
def test_a_stop_from_the_watch_ends_the_call(
    serve: Callable[..., Any], ask: Callable[..., AgentRun], watch: Any, stop: str, outcome: str
) -> None:
    server = serve("late", faults={"hang": True})

    def end() -> None:
        server.arrived.wait(10)
        watch.stop = Stop(stop, "enough")

    threading.Thread(target=end).start()
    assert ask(server.url).outcome == outcome


def test_a_time_limit_that_ends_while_waiting_is_not_held_against_the_run(
    serve: Callable[..., Any], machine_with: Callable[..., Machine], watch: Any
) -> None:
    server = serve("ok")
    machine = machine_with()
    machine.limiter.allow("k", 1)
    watch.deadline = time.monotonic() + 0.2
    with ThreadPoolExecutor(1) as pool:
        with machine.limiter.slot("k"):
            future = pool.submit(complete_openai, QUESTION, Endpoint(server.url, "k", {}), machine, watch)
            while not machine.limiter._keys["k"].waiting:  # type: ignore[attr-defined]
                pass
            while time.monotonic() < watch.deadline + 0.1:
                pass
        run = future.result(10)
    assert run.outcome == "ok" and run.timing.queued_s >= 0.2


@pytest.mark.parametrize("status", [429, 500, 503, 529, 408])
def test_a_passing_failure_is_tried_again(
    serve: Callable[..., Any], ask: Callable[..., AgentRun], no_waits: None, status: int
) -> None:
    server = serve("4", faults={"status": status, "status_calls": 2})
    run = ask(server.url)
    assert (run.outcome, run.text, server.stats.calls, run.timing.model_requests) == ("ok", "4", 3, 3)


def test_a_connection_cut_in_the_middle_of_an_answer_is_tried_again(
    serve: Callable[..., Any], ask: Callable[..., AgentRun], no_waits: None
) -> None:
    server = serve("4", faults={"drop_calls": 2})
    assert (ask(server.url).text, server.stats.calls) == ("4", 3)


def test_retries_end_with_the_attempts_of_the_call(
    serve: Callable[..., Any], ask: Callable[..., AgentRun], no_waits: None
) -> None:
    server = serve("4", faults={"status": 500})
    run = ask(server.url, attempts=4)
    assert (run.outcome, run.setup, server.stats.calls) == ("infrastructure_error", False, 4)
    assert run.reason is not None and run.reason.endswith("(the server has a bad day); tried 4 times")


def test_retries_end_with_the_budget_of_the_experiment(
    serve: Callable[..., Any], tmp_path: Path, new_watch: Any, no_waits: None
) -> None:
    server = serve("4", faults={"status": 500})
    machine = Machine({}, Redactor(), AimdLimiter(), tmp_path, retry_budget=Budget(attempts=5))
    for _ in range(4):
        assert complete_openai(QUESTION, Endpoint(server.url, "k", {}), machine, new_watch()).outcome == "infrastructure_error"
    assert server.stats.calls == 4 + 5


def test_a_wrong_key_is_not_tried_again(serve: Callable[..., Any], ask: Callable[..., AgentRun]) -> None:
    server = serve(faults={"status": 401})
    ask(server.url)
    assert server.stats.calls == 1


def test_retry_after_decides_how_long_is_waited(
    serve: Callable[..., Any], ask: Callable[..., AgentRun], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retry, "back_off_s", lambda *_: pytest.fail("the header was ignored"))
    server = serve("4", faults={"status": 429, "status_calls": 2, "retry_after": "0.01"})
    assert ask(server.url).text == "4"


def test_a_server_that_wants_very_long_has_failed_and_says_how_long(
    serve: Callable[..., Any], ask: Callable[..., AgentRun]
) -> None:
    run = ask(serve(faults={"status": 429, "retry_after": "3600"}).url)
    assert (run.outcome, run.retry_after_s) == ("infrastructure_error", 3600.0)


def test_the_user_can_stop_a_wait_for_the_next_try(serve: Callable[..., Any], tmp_path: Path, watch: Any) -> None:
    server = serve(faults={"status": 429, "retry_after": "60"})
    machine = Machine({}, Redactor(), AimdLimiter(), tmp_path, stopping=server.arrived.is_set)
    run = complete_openai(QUESTION, Endpoint(server.url, "k", {}), machine, watch)
    assert (run.outcome, run.reason) == ("harness_error", "interrupted")


def test_a_refused_parameter_is_left_out_once_for_all_and_said(
    serve: Callable[..., Any], machine_with: Callable[..., Machine], new_watch: Any
) -> None:
    server = serve("4", faults={"refuse_parameters": ("temperature", "response_format")})
    asker = Asker(openai, Endpoint(server.url, "k", {}), machine_with())
    question = QUESTION._replace(params={"temperature": 0, "top_p": 1}, json_schema={"type": "object"})
    with closing(asker):
        first, second = asker.ask(question, new_watch()), asker.ask(question, new_watch())
        plain = asker.ask(QUESTION, new_watch())
    assert (first.text, second.text, server.stats.calls) == ("4", "4", 5)
    assert first.warnings == second.warnings and len(first.warnings) == 2
    assert first.warnings[0].startswith("parameter 'temperature' was left out, the server refuses it: Unsupported parameter")
    assert server.requests[-2]["top_p"] == 1
    assert plain.warnings == ()


def test_our_user_agent_is_sent_on_every_try_and_yields_to_one_of_the_users(
    serve: Callable[..., Any], ask: Callable[..., AgentRun], no_waits: None
) -> None:
    server = serve("4", faults={"status": 500, "status_calls": 1})
    ask(server.url)
    assert [headers["user-agent"].partition("/")[0] for headers in server.headers] == ["skilltrial", "skilltrial"]
    ask(server.url, headers=default_headers({"uSER-aGENT": "mine/2"}))
    assert server.headers[-1]["user-agent"] == "mine/2"


def test_an_answer_larger_than_any_is_not_read_to_the_end(serve: Callable[..., Any], watch: Any) -> None:
    server = serve("x" * 10_000)
    with closing(Client({}, largest_answer=1000)) as client:
        result = client.post(server.url, b"{}", {}, watch)
    assert "more than 1000 bytes" in result.reason  # type: ignore[union-attr]


def test_connections_are_used_again(serve: Callable[..., Any], machine_with: Callable[..., Machine], new_watch: Any) -> None:
    server = serve("4")
    with closing(Asker(openai, Endpoint(server.url, "k", {}), machine_with())) as asker:
        for _ in range(20):
            assert asker.ask(QUESTION, new_watch()).outcome == "ok"
    assert server.stats.connections == 1


def crowd(server: Any, machine: Machine, new_watch: Any, calls: int) -> list[AgentRun]:
    with closing(Asker(openai, Endpoint(server.url, "k", {}), machine)) as asker, ThreadPoolExecutor(16) as pool:
        return list(pool.map(lambda number: asker.ask(QUESTION._replace(user=f"n{number}"), new_watch()), range(calls)))


def test_a_server_that_takes_eight_at_once_loses_nothing_to_sixteen_threads(
    serve: Callable[..., Any], machine_with: Callable[..., Machine], new_watch: Any
) -> None:
    server = serve(latency_s=0.005, faults={"most_at_once": 8})
    runs = crowd(server, machine_with(), new_watch, 120)
    assert [(run.outcome, run.text) for run in runs] == [("ok", f"n{number}") for number in range(120)]
    assert server.stats.refused > 0


def test_one_refusal_in_three_loses_nothing(
    serve: Callable[..., Any], machine_with: Callable[..., Machine], new_watch: Any, no_waits: None
) -> None:
    server = serve(faults={"refuse_every": 3})
    runs = crowd(server, machine_with(), new_watch, 200)
    assert [(run.outcome, run.text) for run in runs] == [("ok", f"n{number}") for number in range(200)]


def test_a_server_that_dies_gives_set_up_failures_or_broken_connections_and_no_text(
    serve: Callable[..., Any], machine_with: Callable[..., Machine], new_watch: Any, no_waits: None
) -> None:
    runs = crowd(serve(faults={"die_after": 30}), machine_with(), new_watch, 60)
    assert sum(run.outcome == "ok" for run in runs) == 30
    assert {(run.outcome, run.text) for run in runs if run.outcome != "ok"} == {("infrastructure_error", "")}


@pytest.mark.parametrize(
    ("url", "environ", "proxy"),
    [
        ("https://api.x.ai/v1", {"HTTPS_PROXY": "http://p:1"}, "http://p:1"),
        ("https://api.x.ai/v1", {"https_proxy": "http://p:1", "HTTP_PROXY": "http://q:2"}, "http://p:1"),
        ("http://api.x.ai/v1", {"https_proxy": "http://p:1"}, None),
        ("http://api.x.ai/v1", {"ALL_PROXY": "http://a:3"}, "http://a:3"),
        ("https://api.x.ai/v1", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "other, .x.ai"}, None),
        ("https://api.x.ai/v1", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "*"}, None),
        ("http://127.0.0.1:8000/v1", {"HTTP_PROXY": "http://p:1"}, None),
        ("http://localhost:8000/v1", {"HTTP_PROXY": "http://p:1"}, None),
        ("http://[::1]:8000/v1", {"HTTP_PROXY": "http://p:1"}, None),
    ],
)
def test_proxies_of_the_environment_are_honoured_and_loopback_goes_direct(
    url: str, environ: dict[str, str], proxy: str | None
) -> None:
    assert proxy_for(url, environ) == proxy


def test_a_call_goes_through_the_proxy_it_is_told_to(
    serve: Callable[..., Any], machine_with: Callable[..., Machine], watch: Any
) -> None:
    server = serve("4")
    machine = machine_with(HTTP_PROXY=f"http://me:pass@127.0.0.1:{server.port}")
    run = complete_openai(QUESTION, Endpoint("http://model.invalid/v1", "k", {}), machine, watch)
    assert (run.text, server.paths) == ("4", ["http://model.invalid/v1/chat/completions"])
    assert server.headers[0]["proxy-authorization"].startswith("Basic ")


def test_a_proxy_that_is_down_is_named(machine_with: Callable[..., Machine], watch: Any) -> None:
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        machine = machine_with(HTTPS_PROXY=f"http://127.0.0.1:{taken.getsockname()[1]}")
        run = complete_openai(QUESTION, Endpoint("https://model.invalid/v1", "k", {}), machine, watch)
    assert run.setup and run.reason is not None and run.reason.startswith("the proxy http://127.0.0.1:")


@pytest.mark.parametrize("name", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"])
def test_a_missing_authority_file_is_said_plainly(
    machine_with: Callable[..., Machine], watch: Any, tmp_path: Path, name: str
) -> None:
    machine = machine_with(**{name: str(tmp_path / "none.pem")})
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        run = complete_openai(QUESTION, Endpoint(f"https://127.0.0.1:{listener.getsockname()[1]}/v1", "k", {}), machine, watch)
    assert run.outcome == "infrastructure_error" and run.setup


def test_a_server_without_tls_on_an_https_address_is_said_plainly(
    serve: Callable[..., Any], ask: Callable[..., AgentRun]
) -> None:
    def answer_plainly(listener: socket.socket) -> None:
        with suppress(OSError):
            connection, _ = listener.accept()
            connection.recv(10)
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            connection.close()

    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        threading.Thread(target=answer_plainly, args=(listener,)).start()
        run = ask(f"https://127.0.0.1:{listener.getsockname()[1]}/v1")
    assert run.setup and run.reason is not None and "no secure connection" in run.reason


def test_a_cap_that_a_tool_call_breaks_ends_the_run(serve: Callable[..., Any], ask: Callable[..., AgentRun], watch: Any) -> None:
    calls = [{"id": "1", "function": {"name": "look", "arguments": "{}"}}]
    server = serve({"content": "x", "tool_calls": calls})

    def heard(event: Any) -> Stop | None:
        return Stop("budget", "one tool call too many") if event is not None else None

    watch.heard = heard
    assert (ask(server.url).outcome, len(server.requests)) == ("budget", 1)


def test_closing_ends_the_thread_that_looks_after_the_calls(
    serve: Callable[..., Any], machine_with: Callable[..., Machine], watch: Any
) -> None:
    asker = Asker(openai, Endpoint(serve("4").url, "k", {}), machine_with())
    asker.ask(QUESTION, watch)
    assert "chat-watchdog" in {thread.name for thread in threading.enumerate()}
    asker.close()
    assert "chat-watchdog" not in {thread.name for thread in threading.enumerate()}
