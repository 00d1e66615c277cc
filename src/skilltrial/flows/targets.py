"""From what the user wrote to planned targets with their backends, and to a judge."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from skilltrial import plan as planning
from skilltrial import registry
from skilltrial.errors import UsageError
from skilltrial.flows import walls
from skilltrial.flows.bench import backend_of
from skilltrial.load.config import COMMON
from skilltrial.load.targets import name_of
from skilltrial.records.config import Config, TargetConfig
from skilltrial.records.plan import Judge, Plan, Target
from skilltrial.records.record import JsonObject
from skilltrial.seams import Backend, Machine, Probe
from skilltrial.system.files import digest


class Planned(NamedTuple):
    """A target with its backend."""

    target: Target
    backend: Backend

    @property
    def paid(self) -> bool:
        """Runs may cost money: not for loopback endpoints and local backends."""
        endpoint = self.backend.endpoint_name()
        return self.backend.capabilities.paid and not any(host in endpoint for host in ("127.0.0.1", "localhost", "[::1]"))


def resolve(config: Config, machine: Machine, say: Callable[[str], None]) -> tuple[Planned, ...]:
    """All targets of an experiment, each under a name of its own.

    Raises:
        UsageError: none was given and none can be chosen, an option is wrong, or two targets are equal.
    """
    wanted = config.targets or (_only_one(machine, say),)
    if len(set(map(TargetConfig.to_json, wanted))) < len(wanted):
        raise UsageError("two targets are equal: " + ", ".join(name_of(item) for item in wanted))
    planned, faults = [], []
    for item, name in zip(wanted, _names(wanted), strict=True):
        try:
            target = _target(item, name, config)
            planned.append(Planned(target, backend_of(target)))
        except UsageError as error:
            faults.append(str(error))
    if faults:
        raise UsageError("\n".join(faults))
    return tuple(planned)


def _names(wanted: Sequence[TargetConfig]) -> list[str]:
    """One name per target, told apart by -2, -3, … also where a file system ignores case."""
    names: list[str] = []
    for item in wanted:
        first = name = name_of(item)
        number = 2
        while name.casefold() in {taken.casefold() for taken in names}:
            name, number = f"{first}-{number}", number + 1
        names.append(name)
    return names


def _only_one(machine: Machine, say: Callable[[str], None]) -> TargetConfig:
    """The one agent program that is installed and logged in."""
    found = []
    for name in registry.names("backends"):
        backend = registry.get("backends", name)
        if backend.capabilities.program and backend.from_target(Target(name=name, backend=name)).probe(machine).ok:
            found.append(name)
    if len(found) == 1:
        say(f"no --target given: using {found[0]}, the one agent that is installed and logged in")
        return TargetConfig(backend=found[0])
    if found:
        raise UsageError(
            f"several agents are installed: {', '.join(found)}",
            "choose: " + " ".join(f"--target {name}" for name in found),
        )
    raise UsageError(
        "no --target given, and no agent is installed and logged in",
        "for example --target local, --target openai:gpt-5-mini or --target adapter:./agent.py; see 'skilltrial agents'",
    )


def _target(item: TargetConfig, name: str, config: Config) -> Target:
    backend = registry.get("backends", item.backend)
    fields = set(getattr(backend, "model_fields", {}))
    options: JsonObject = dict(item.options)
    for key in COMMON:
        own = getattr(item, key)
        value = own if own not in (None, (), {}) else config.options.get(key)
        if value in (None, (), {}):
            continue
        if key in fields:
            options[key] = list(value) if isinstance(value, tuple) else value
        elif own not in (None, (), {}):
            raise UsageError(f"target '{name}': {item.backend} has no option '{key}'")
    common = config.options.get("params")
    params = {**(common if isinstance(common, dict) else {}), **item.params}
    pricing = item.pricing or config.pricing.get(item.model or "")
    if "max_output_bytes" in fields and config.max_output_bytes is not None:
        options.setdefault("max_output_bytes", config.max_output_bytes)
    return Target(
        name=name,
        backend=item.backend,
        value=item.model,
        options=options,
        params=params,
        env=item.env,
        args=item.args,
        pricing=pricing,
        timeout_s=item.timeout_s or config.timeout_s,
        delivery=backend.capabilities.delivery,
        user_home=bool(config.user_home) and backend.capabilities.program,
        deferred=backend.capabilities.deferred,
    )


def levelled(targets: Sequence[Planned], config: Config, machine: Machine, say: Callable[[str], None]) -> tuple[Planned, ...]:
    """The targets with the sandbox level of their runs.

    Raises:
        UsageError: a level that was named does not work here, or cannot do what was asked of it.
    """
    wish = walls.Wish.of(config)
    return tuple(
        Planned(walls.levelled(planned.target, planned.backend, wish, machine, say), planned.backend) for planned in targets
    )


def judge_levelled(judge: Judge | None, config: Config, machine: Machine, say: Callable[[str], None]) -> Judge | None:
    """The same for the judge, which has to reach its model in any case."""
    if judge is None:
        return None
    wish = walls.Wish.of(config)._replace(network="on")
    return judge.model_copy(update={"target": walls.levelled(judge.target, backend_of(judge.target), wish, machine, say)})


def judge_for(config: Config, targets: Sequence[Planned], say: Callable[[str], None], *, asked: bool) -> Judge | None:
    """The judge that was named, else the first target's own backend and model, else none.

    `asked`: some check needs a judge; without one nothing is said about it.
    """
    if config.judge == "none":
        return None
    if isinstance(config.judge, TargetConfig):
        item, home = config.judge, False
    elif asked and targets[0].backend.capabilities.judge:
        first = targets[0].target
        if first.backend in ("local", "fake", "adapter", "runner"):
            return None
        item = TargetConfig(backend=first.backend, model=first.value, options=dict(first.options), pricing=first.pricing)
        home = True
        if targets[0].target.deferred:
            say("no --judge given: questions to the judge become packets too (see the home-field note)")
        else:
            say(f"no --judge given: {first.backend}:{first.value} judges its own answers (see the home-field note)")
    else:
        return None
    return _judge(item, config, targets, home)


def judge_of(item: TargetConfig) -> Target:
    """A judge outside any experiment.

    Raises:
        UsageError: this backend cannot judge.
    """
    return _judge(item, Config(), (), home=False).target


def _judge(item: TargetConfig, config: Config, targets: Sequence[Planned], home: bool) -> Judge:
    options: JsonObject = dict(item.options)
    fields = set(getattr(registry.get("backends", item.backend), "model_fields", {}))
    for key in COMMON:
        own = getattr(item, key)
        if own in (None, (), {}):
            continue
        if key not in fields:
            raise UsageError(f"the judge: {item.backend} has no option '{key}'")
        options[key] = list(own) if isinstance(own, tuple) else own
    same = next((planned.target for planned in targets if planned.target.backend == item.backend == "openai"), None)
    if same and not (config.judge_base_url or item.base_url):
        options = {**{key: same.options[key] for key in ("base_url", "api_key_env", "headers") if key in same.options}, **options}
    if config.judge_base_url:
        options["base_url"] = config.judge_base_url
    if config.judge_api_key_env:
        options["api_key_env"] = config.judge_api_key_env
    target = Target(
        name=f"judge-{name_of(item)}",
        backend=item.backend,
        value=item.model,
        options=options,
        params={**item.params, **config.judge_params},
        env=item.env,
        args=item.args,
        pricing=item.pricing or config.pricing.get(item.model or ""),
        timeout_s=item.timeout_s,
        deferred=registry.get("backends", item.backend).capabilities.deferred,
    )
    if not backend_of(target).capabilities.judge:
        raise UsageError(f"--judge {item.backend}: this backend cannot judge", "use openai:MODEL or anthropic:MODEL")
    home = home or any(p.target.backend == target.backend and p.target.value == target.value for p in targets)
    return Judge(target=target, mode=config.judge_mode or "single", digest=digest(target.to_json().encode()), home_field=home)


def probe_all(targets: Sequence[Planned], judge: Judge | None, machine: Machine) -> dict[str, Probe]:
    """Asks every backend whether it can work here, spending nothing.

    Raises:
        UsageError: some cannot; one message each.
    """
    asked = {planned.target.name: planned for planned in targets}
    if judge is not None:
        asked[judge.target.name] = Planned(judge.target, backend_of(judge.target))
    probes = {name: walls.probe_of(planned.target, planned.backend, machine) for name, planned in asked.items()}
    faults = dict.fromkeys(f"{name}: {probe.reason}" for name, probe in probes.items() if not probe.ok)
    if faults:
        raise UsageError("\n".join(faults))
    return probes


def probe_plan(plan: Plan, machine: Machine) -> dict[str, Probe]:
    """The same for an experiment that was planned before."""
    faults = [fault for target in plan.targets if (fault := walls.still_there(target, machine))]
    if faults:
        raise UsageError("\n".join(faults))
    targets = [Planned(target, backend_of(target)) for target in plan.targets]
    return probe_all(targets, plan.judge, machine)


def endpoints_of(targets: Sequence[Planned], judge: Judge | None) -> planning.Endpoints:
    """What is called, for `plan`."""
    return planning.Endpoints(
        {planned.target.name: planned.backend.endpoint_name() for planned in targets},
        backend_of(judge.target).endpoint_name() if judge else None,
    )
