"""At which level every target's runs are started, and what they may reach there; decided once, so that both arms are alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from skilltrial import registry
from skilltrial.errors import UsageError
from skilltrial.records.config import Config
from skilltrial.records.plan import Network, Target
from skilltrial.sandboxes import choice
from skilltrial.seams import Access, Backend, Machine, Probe, Sandbox

EVERYTHING = (Path("/"),)


class Wish(NamedTuple):
    """What the user asked for."""

    level: str
    network: Network
    image: str | None

    @classmethod
    def of(cls, config: Config) -> Wish:
        """The wish of a configuration.

        Raises:
            UsageError: it asks for what no level can give.
        """
        wish = cls(config.sandbox or "auto", config.network or "on", config.image)
        if wish.level not in ("auto", "none"):
            registry.get("sandboxes", wish.level)
        if wish.image is not None and not takes_image(wish.level):
            raise UsageError(f"--image: sandbox '{wish.level}' starts no image", "use --sandbox docker or podman")
        if wish.network == "model-only" and takes_image(wish.level):
            raise UsageError(
                f"--network model-only: {wish.level} has only on and off", "use --sandbox bwrap, or --network on or off"
            )
        if wish.network != "on" and wish.level == "none":
            raise UsageError(f"--network {wish.network} needs walls", "use --sandbox bwrap, docker or podman")
        if wish.network == "model-only" and (proxy := _proxy_of(config)):
            raise UsageError(f"--network model-only does not lead through a proxy ({proxy} is let through)", "use on or off")
        return wish


def takes_image(level: str) -> bool:
    """Whether the level starts images; `auto` never chooses such a one."""
    return level not in ("auto", "none") and "image" in getattr(registry.get("sandboxes", level), "model_fields", {})


def sandbox_of(target: Target) -> Sandbox:
    """The sandbox of a planned target."""
    plugin = registry.get("sandboxes", target.sandbox)
    sandbox: Sandbox = plugin(image=target.image) if takes_image(target.sandbox) else plugin()
    return sandbox


def access_of(target: Target, backend: Backend, machine: Machine, env: Mapping[str, str]) -> Access:
    """What a target's processes may reach. `env`: variables let through to them."""
    keep = not backend.capabilities.own_environment or target.user_home
    if target.sandbox == "none":
        return Access(env=env, keep_home=keep)
    return Access(
        network=target.network,
        readable=_asked(backend, "installation", machine) or (),
        image=target.image,
        env=env,
        keep_home=keep,
        hosts=_asked(backend, "hosts") or (),
    )


def for_checks(target: Target) -> tuple[Sandbox, Access]:
    """Where the commands of checks are run on what a target's run left: behind the same walls, with the caller's tools in sight."""
    network: Network = "on" if target.network == "on" else "off"
    return sandbox_of(target), Access(network=network, readable=EVERYTHING, image=target.image, nested=False)


def levelled(target: Target, backend: Backend, wish: Wish, machine: Machine, say: Callable[[str], None]) -> Target:
    """The target with its level.

    A level that was named holds for every target that starts processes, and has to work: there is no silent fallback.
    `auto` is for programs; adapters and runners then start unconfined.

    Raises:
        UsageError: a level that was named does not work here, or the network that was asked for needs one.
    """
    able = backend.capabilities
    if not able.files:
        return target
    walled = target.model_copy(update={"sandbox": wish.level, "network": wish.network, "image": wish.image})
    if wish.network == "model-only" and not _asked(backend, "hosts"):
        raise UsageError(
            f"--network model-only: it is not known where {target.name} finds its model",
            "name it: base_url, or model_hosts in the target's options, or use --network on or off",
        )
    if target.user_home and wish.level not in ("auto", "none"):
        raise UsageError(f"--user-home: {target.name} cannot use your home behind {wish.level}", "use --sandbox none")
    if wish.level not in ("auto", "none"):
        _insist(walled, backend, machine)
        return walled
    level, reason = "none", None
    if wish.level == "auto" and able.program:
        level, reason = _chosen(walled, backend, machine)
    if level == "none" and wish.network != "on":
        why = reason or f"{target.backend} starts without walls unless a sandbox is named"
        raise UsageError(f"--network {wish.network}: {why}", "use --sandbox bwrap, docker or podman")
    if reason:
        say(f"warning: {target.name} runs without walls: {reason}")
    return target if level == "none" else walled.model_copy(update={"sandbox": level})


def _chosen(target: Target, backend: Backend, machine: Machine) -> tuple[str, str | None]:
    program = _asked(backend, "executable", machine)
    if program is None:
        return "none", None  # the backend's own probe says so, and that ends the matter
    access = access_of(target.model_copy(update={"sandbox": "bwrap"}), backend, machine, {})
    return choice.choose(machine, Path(program), access)


def _insist(target: Target, backend: Backend, machine: Machine) -> None:
    probe = sandbox_of(target).probe(machine)
    if not probe.ok:
        raise UsageError(f"--sandbox {target.sandbox}: {probe.reason}")
    if backend.capabilities.program and _asked(backend, "executable", machine) and not takes_image(target.sandbox):
        started = _started(target, backend, machine)
        if started.complaint:
            raise UsageError(f"--sandbox {target.sandbox}: {target.backend} does not start there: {started.complaint}")


def probe_of(target: Target, backend: Backend, machine: Machine) -> Probe:
    """Whether a target can work: its backend's own answer, but for a program that is started from an image."""
    let_in = getattr(backend, "let_in", None)
    if let_in is None or not takes_image(target.sandbox):
        return backend.probe(machine)
    started = _started(target, backend, machine)
    if started.complaint:
        return Probe(False, f"{target.backend} does not start in '{target.image}': {started.complaint}")
    probe: Probe = let_in(machine, None, started.version)
    return probe


def still_there(target: Target, machine: Machine) -> str | None:
    """Why a level that was planned earlier does not work now; None: it does."""
    probe = sandbox_of(target).probe(machine)
    return None if probe.ok else f"{target.name} was planned with the sandbox {target.sandbox}: {probe.reason}"


def _started(target: Target, backend: Backend, machine: Machine) -> choice.Started:
    name = getattr(backend, "path", None) or getattr(backend, "program", target.backend)
    program = _asked(backend, "executable", machine)
    argv = (str(name if takes_image(target.sandbox) or program is None else program),)
    return choice.version_inside(sandbox_of(target), machine, argv, access_of(target, backend, machine, {}))


def _asked(backend: Backend, question: str, *words: Any) -> Any:
    """What a backend that starts programs says of itself; None for the others."""
    answer = getattr(backend, question, None)
    return answer(*words) if callable(answer) else None


def _proxy_of(config: Config) -> str | None:
    passed = {*config.env, *(name for target in config.targets for name in target.env)}
    return next((name for name in sorted(passed) if name.upper() in ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")), None)
