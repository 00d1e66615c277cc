"""What works on this machine, and what to do where it does not."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable

from skilltrial import registry
from skilltrial.errors import UsageError
from skilltrial.flows import walls
from skilltrial.flows.tryout import try_out
from skilltrial.records.config import Config
from skilltrial.records.plan import Target
from skilltrial.records.record import Record
from skilltrial.seams import Backend, Capabilities, Machine

_levels: dict[str, tuple[str, bool, str]] = {}


class Examined(Record):
    """One backend as found here."""

    backend: str
    ok: bool
    reason: str
    program: str | None = None
    version: str | None = None
    login: str | None = None
    sandbox: str | None = None
    """Level at which `--sandbox auto` starts it, and why where that is none; None: it starts no program, or cannot work."""
    sandboxes: dict[str, str] = {}
    """Every level, with `ok` or `no` and the probe's reason; only for what starts programs."""
    capabilities: Capabilities


NEEDS_VALUE = {"adapter": "adapter:PATH", "runner": "runner:NAME", "openai": "openai:MODEL", "anthropic": "anthropic:MODEL"}


def examine(text: str, machine: Machine, *, probe_it: bool = False) -> Examined:
    """Asks a backend (`NAME` or `NAME:VALUE`) whether it can work here, spending nothing.

    `probe_it`: one that can is given one tiny real task.
    """
    name, _, value = text.partition(":")
    backend = registry.get("backends", name)
    capabilities = backend.capabilities
    levels = (
        {level: f"{'ok' if works else 'no'}: {reason}" for level, works, reason in sandboxes(machine)}
        if capabilities.files
        else {}
    )
    if name in ("adapter", "runner") and not value:
        return Examined(backend=name, ok=True, reason=f"use --target {NEEDS_VALUE[name]}", capabilities=capabilities)
    target = Target(name=name, backend=name, value=value or ("model" if name in NEEDS_VALUE else None))
    try:
        opened = backend.from_target(target)
        probe = opened.probe(machine)
    except UsageError as error:
        return Examined(backend=name, ok=False, reason=str(error), capabilities=capabilities)
    ok, reason = probe.ok, probe.reason
    if ok and probe_it and (value or name not in NEEDS_VALUE) and not capabilities.deferred:
        ok, reason = try_out(opened, target, machine)
    return Examined(
        backend=text,
        ok=ok,
        reason=reason,
        program=probe.program,
        version=probe.version,
        login=probe.login,
        sandbox=_level(target, opened, machine) if probe.program else None,
        sandboxes=levels,
        capabilities=capabilities,
    )


def sandboxes(machine: Machine) -> tuple[tuple[str, bool, str], ...]:
    """Every sandbox, whether it works here, and why or why not; each is really started, once per process."""
    if not _levels:
        for name in registry.names("sandboxes"):
            probe = registry.get("sandboxes", name)().probe(machine)
            _levels[name] = (name, probe.ok, f"{probe.reason} ({probe.version})" if probe.version else probe.reason)
    return tuple(_levels.values())


def _level(target: Target, backend: Backend, machine: Machine) -> str | None:
    if not backend.capabilities.program:
        return None
    complaints: list[str] = []
    level = walls.levelled(target, backend, walls.Wish.of(Config()), machine, complaints.append).sandbox
    return f"{level}: {complaints[0].rpartition('without walls: ')[2]}" if complaints else level


def render_sandboxes(machine: Machine) -> str:
    """One line per sandbox."""
    rows = (f"{'ok ' if works else 'no '} {name:<12} {reason}" for name, works, reason in sandboxes(machine))
    return "\n".join(["sandboxes (--sandbox)", *rows])


def render(rows: list[Examined]) -> str:
    """One block of lines per backend."""
    lines = []
    for row in rows:
        facts = [fact for fact in (row.version, row.program, row.login) if fact]
        lines.append(f"{'ok ' if row.ok else 'no '} {row.backend:<12} {row.reason}" + (f" ({', '.join(facts)})" if facts else ""))
        lines.append(f"    {'':<12} {', '.join(_abilities(row.capabilities))}")
        lines += [f"    {'':<12} sandbox {row.sandbox}"] if row.sandbox else []
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
