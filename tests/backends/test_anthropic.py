"""Anthropic targets: address, key and version header, and the way to the answer."""

from collections.abc import Callable
from typing import Any

import pytest

from skilltrial import registry
from skilltrial.records.plan import Target
from skilltrial.seams import Job, Machine


def backend(**options: Any) -> Any:
    target = Target(name="t", backend="anthropic", value="claude-x", options=options)
    return registry.get("backends", "anthropic").from_target(target)


@pytest.mark.parametrize("suffix", ["", "/v1"])
def test_key_and_version_are_sent_as_anthropic_wants_them(
    serve: Callable[..., Any],
    machine_with: Callable[..., Machine],
    new_watch: Any,
    new_job: Callable[..., Job],
    blobs: Any,
    suffix: str,
) -> None:
    server = serve("4")
    machine = machine_with(ANTHROPIC_BASE_URL=server.url.removesuffix("/v1") + suffix, ANTHROPIC_API_KEY="ak-12345678")
    with backend().open(machine) as runner:
        run = runner.run(new_job(skills=(blobs.skill("s", "d", "Carry."),)), new_watch())
    request, headers = server.requests[0], server.headers[0]
    assert (run.outcome, run.text, run.usage.output_tokens, server.paths) == ("ok", "4", 1, ["/v1/messages"])
    assert (headers["x-api-key"], headers["anthropic-version"]) == ("ak-12345678", "2023-06-01")
    assert "authorization" not in headers
    assert "Carry." in request["system"] and request["messages"] == [{"role": "user", "content": "What is 2 + 2?"}]


def test_another_version_of_the_users_is_sent_alone(
    serve: Callable[..., Any], machine_with: Callable[..., Machine], new_watch: Any, new_job: Callable[..., Job]
) -> None:
    server = serve("4")
    with backend(base_url=server.url, headers={"Anthropic-Version": "2099-01-01"}).open(machine_with()) as runner:
        runner.run(new_job(), new_watch())
    assert server.headers[0]["anthropic-version"] == "2099-01-01"


def test_an_error_of_anthropic_is_one_sentence(
    serve: Callable[..., Any], machine_with: Callable[..., Machine], new_watch: Any, new_job: Callable[..., Job]
) -> None:
    error = {"type": "error", "error": {"type": "not_found_error", "message": "model: claude-x not found"}}
    server = serve(faults={"status": 404, "error": error})
    with backend(base_url=server.url).open(machine_with()) as runner:
        run = runner.run(new_job(), new_watch())
    assert (run.outcome, run.setup) == ("infrastructure_error", True)
    assert "model 'claude-x' is not known there (model: claude-x not found)" in run.reason


def test_a_missing_key_is_named(machine_with: Callable[..., Machine]) -> None:
    probe = backend().probe(machine_with())
    assert not probe.ok and probe.reason.startswith("ANTHROPIC_API_KEY is not set")
    assert backend().endpoint_name().endswith("/v1/messages")
