"""What works on this machine, and what to do where it does not."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable

from skilltrial import registry
from skilltrial.errors import UsageError
from skilltrial.records.plan import Target
from skilltrial.records.record import Record
from skilltrial.seams import Capabilities, Machine


class Examined(Record):
    """One backend as found here."""

    backend: str
    ok: bool
    reason: str
    program: str | None = None
    version: str | None = None
    login: str | None = None
    capabilities: Capabilities


NEEDS_VALUE = {"adapter": "adapter:PATH", "runner": "runner:NAME", "openai": "openai:MODEL", "anthropic": "anthropic:MODEL"}


def examine(name: str, machine: Machine) -> Examined:
    """Asks a backend whether it can work here, spending nothing."""
    backend = registry.get("backends", name)
    capabilities = backend.capabilities
    if name in ("adapter", "runner"):
        return Examined(backend=name, ok=True, reason=f"use --target {NEEDS_VALUE[name]}", capabilities=capabilities)
    try:
        probe = backend.from_target(Target(name=name, backend=name, value="model" if name in NEEDS_VALUE else None)).probe(
            machine
        )
    except UsageError as error:
        return Examined(backend=name, ok=False, reason=str(error), capabilities=capabilities)
    return Examined(
        backend=name,
        ok=probe.ok,
        reason=probe.reason,
        program=probe.program,
        version=probe.version,
        login=probe.login,
        capabilities=capabilities,
    )


def render(rows: list[Examined]) -> str:
    """One block of lines per backend."""
    lines = []
    for row in rows:
        facts = [fact for fact in (row.version, row.program, row.login) if fact]
        lines.append(f"{'ok ' if row.ok else 'no '} {row.backend:<12} {row.reason}" + (f" ({', '.join(facts)})" if facts else ""))
        lines.append(f"    {'':<12} {', '.join(_abilities(row.capabilities))}")
    return "\n".join(lines)


def _abilities(able: Capabilities) -> list[str]:
    words = [f"skill {able.delivery.replace('_', ' ')}" if able.skills else "no skill"]
    words += [
        word
        for has, word in (
            (able.activation, "activation seen"),
            (able.tools, "tool calls" if able.tools_executed else "tool calls requested, not executed"),
            (able.files, "files"),
            (able.tokens, "tokens"),
            (able.cost, "cost"),
            (able.judge, "can judge"),
        )
        if has
    ]
    return words


def install_local(say: Callable[[str], None]) -> int:
    """Installs what `--target local` needs with pip or uv; where neither is there, prints the commands."""
    commands = registry.get("backends", "local").install_commands()
    if not _can_install():
        say("neither pip nor uv can install into this environment; run yourself:")
        for command in commands:
            say("  " + " ".join(command))
        return 2
    for command in commands:
        say("running: " + " ".join(command))
        code = subprocess.run(command, check=False).returncode
        if code:
            raise UsageError(f"'{' '.join(command)}' ended with exit status {code}")
    return 0


def _can_install() -> bool:
    if shutil.which("uv"):
        return True
    return subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True, check=False).returncode == 0
