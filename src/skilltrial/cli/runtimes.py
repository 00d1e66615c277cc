"""agent-skills-eval's options for agent programs, in our own words: `--runtime codex --target MODEL` is `--target codex:MODEL`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])
RUNTIMES = ("provider", "codex", "claude")


def options(function: F) -> F:
    """Hidden: `--target` says it all."""
    for decorator in (
        click.option("--allow-writes/--no-allow-writes", default=None, hidden=True),
        click.option("--timeout-ms", type=click.IntRange(min=1), hidden=True),
        click.option("--executable", hidden=True, metavar="FILE"),
        click.option("--judge-runtime", type=click.Choice([*RUNTIMES, "none"]), hidden=True),
        click.option("--runtime", type=click.Choice(RUNTIMES), hidden=True),
    ):
        function = decorator(function)
    return function


def in_our_words(given: dict[str, Any], say: Callable[[str], None]) -> dict[str, Any]:
    """The options with what these five say put where it belongs."""
    said = dict(given)
    runtime, judge_runtime = said.pop("runtime", None), said.pop("judge_runtime", None)
    if runtime is not None:
        backend = _backend(runtime)
        models = said.get("targets", ())
        said["targets"] = tuple(f"{backend}:{model}" for model in models) or ((backend,) if backend != "openai" else ())
    if judge_runtime == "none":
        said["judge"] = "none"
    elif judge_runtime is not None and "judge" in said:
        said["judge"] = f"{_backend(judge_runtime)}:{said['judge']}"
    elif judge_runtime not in (None, "provider"):
        said["judge"] = _backend(judge_runtime)
    if "timeout_ms" in said:
        said.setdefault("timeout_s", said.pop("timeout_ms") / 1000)
    if said.pop("allow_writes", None) is False:
        say("--no-allow-writes: an agent may write in its own fresh folder; `allowed_tools` of a target holds it back")
    return said


def _backend(runtime: str) -> str:
    return {"provider": "openai", "claude": "claude-code"}.get(runtime, runtime)
