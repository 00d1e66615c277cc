"""A canary before the suite: an agent program has to know a skill's random word with it, and must not without it."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from skilltrial.errors import CellError, UsageError
from skilltrial.flows.bench import Bench
from skilltrial.flows.newsroom import now
from skilltrial.flows.places import workspace_for
from skilltrial.flows.watch import CellWatch
from skilltrial.records.certificate import Certificate
from skilltrial.records.evidence import AgentRun
from skilltrial.records.plan import Target
from skilltrial.records.problems import Where
from skilltrial.records.suite import FileRef, Limits, Skill, Tree
from skilltrial.seams import Awaiting, Job
from skilltrial.system.files import digest, write_atomic
from skilltrial.wording import words

NAME = "certificates.json"
_LIST = TypeAdapter(tuple[Certificate, ...])
PROMPT = "What is the secret word? Use a skill that knows it if you have one. If you have none, answer with the word UNKNOWN."
TIMEOUT_S = 120.0


def certify(bench: Bench, targets: set[str], say: Callable[[str], None]) -> None:
    """Certifies every agent program among `targets` and keeps the certificates with the experiment.

    A certificate of an earlier experiment in the same workspace is taken where target, version and level are the same.

    Raises:
        UsageError: a baseline knew the word, or the program could not be started or reach its model: once, before the suite.
    """
    workspace = bench.experiment.folder.parent
    known = {one.key: one for one in read(workspace)}
    made = {one.target: one for one in bench.experiment.certificates()}
    for name in sorted(targets):
        if not bench.backends[name].capabilities.program or name in made:
            continue
        target = bench.lookup.targets[name]
        earlier = known.get(_key(target))
        made[name] = earlier.model_copy(update={"target": name, "cached": True}) if earlier else _certificate(target, bench)
        if made[name].clean is None:
            say(f"warning: {name}: not certified: {made[name].reason}")
    _write(bench.experiment.folder, made.values())
    _write(workspace, {**known, **{one.key: one for one in made.values() if one.clean}}.values())
    dirty = [one for one in made.values() if one.clean is False]
    if dirty:
        raise UsageError(
            "\n".join(f"{one.target}: {one.reason}" for one in dirty),
            "find where the program takes skills from; --no-certify runs all the same and the report says so",
        )


def read(folder: Path) -> tuple[Certificate, ...]:
    """The certificates kept in a folder; () where there are none that can be read."""
    try:
        return _LIST.validate_json((folder / NAME).read_bytes())
    except (OSError, ValidationError):
        return ()


def _write(folder: Path, certificates: object) -> None:
    ordered = sorted(_LIST.validate_python(tuple(certificates)), key=lambda one: one.target)  # type: ignore[arg-type]
    if ordered:
        write_atomic(folder / NAME, _LIST.dump_json(tuple(ordered), indent=2) + b"\n", None)


def gathered(folder: Path, certificates: Iterable[Certificate]) -> None:
    """Keeps one certificate per target: of several the one that vouches for least, for what the others let through counts too."""
    worth = {False: 0, None: 1, True: 2}
    least: dict[str, Certificate] = {}
    for one in certificates:
        if one.target not in least or worth[one.clean] < worth[least[one.target].clean]:
            least[one.target] = one
    _write(folder, least.values())


def _key(target: Target) -> str:
    return digest(target.model_dump_json(exclude={"name", "params", "pricing", "timeout_s"}).encode())


def _certificate(target: Target, bench: Bench) -> Certificate:
    word = "".join(secrets.choice("bcdfghjklmnpqrstvwxz") for _ in range(12))
    skill = _canary(word, bench)
    with_it, without = (_run(target, bench, skills) for skills in ((skill,), ()))
    _refuse_setup(target, with_it, without)
    costs = [run.usage.cost_usd for run in (with_it, without) if run.usage.cost_usd is not None]
    clean, reason = _judged(word, skill.name, with_it, without)
    return Certificate(
        target=target.name, key=_key(target), clean=clean, reason=reason, made_at=now(), cost_usd=sum(costs) if costs else None
    )


def _canary(word: str, bench: Bench) -> Skill:
    name = f"secret-word-{word[:4]}"
    description = "Knows the secret word. Use it whenever somebody asks for the secret word."
    body = f"The secret word is {word}. Answer with this word alone."
    data = f"---\nname: {name}\ndescription: {description}\n---\n\n{body}\n".encode()
    reference = FileRef(path="SKILL.md", size=len(data), digest=digest(data))
    bench.experiment.blobs.put_new(reference.digest, data)
    tree = Tree(digest=digest(f"SKILL.md {reference.digest}".encode()), files=(reference,))
    return Skill(id=name, name=name, description=description, body=body, tree=tree, frontmatter={}, where=Where(file=name))


def _run(target: Target, bench: Bench, skills: tuple[Skill, ...]) -> AgentRun:
    backend = bench.backends[target.name]
    limits = Limits(timeout_s=min(TIMEOUT_S, target.timeout_s or TIMEOUT_S))
    with workspace_for(bench, target, backend, skills=skills) as workspace:
        job = Job(
            cell=f"certify:{target.name}",
            prompt=PROMPT,
            blobs=bench.experiment.blobs,
            seed=0,
            limits=limits,
            skills=skills,
            params=target.params,
            place=workspace.place if workspace else None,
            own_home=not target.user_home,
        )
        run = bench.runners[target.name].run(job, CellWatch(limits, bench.machine.stopping))
    if isinstance(run, Awaiting):
        raise CellError("backend", f"'{target.name}' answers later and cannot be certified")
    return run


def _refuse_setup(target: Target, *runs: AgentRun) -> None:
    for run in runs:
        if run.setup:
            raise UsageError(f"{target.name}: {run.reason}", f"see 'skilltrial agents {target.backend}'")


def _judged(word: str, name: str, with_it: AgentRun, without: AgentRun) -> tuple[bool | None, str]:
    if _knows(word, name, without):
        return False, "the baseline knew the canary's word: it sees skills that it was not given"
    listed = without.inventory.skills
    if without.outcome != "ok" or with_it.outcome != "ok":
        failed = with_it if with_it.outcome != "ok" else without
        return None, f"the canary's run ended as {words.outcome(failed.outcome)}: {failed.reason or 'no reason given'}"
    if not _knows(word, name, with_it):
        return None, "the program gave no sign of the canary in the arm that had it"
    seen = (
        ""
        if listed is None
        else f"; without it the program listed {words.many(len(listed), 'other skill')} of its own"
        if listed
        else ""
    )
    return True, f"the canary was known with it and unknown without it{seen}"


def _knows(word: str, name: str, run: AgentRun) -> bool:
    """The word was said, or the canary was listed, loaded or read."""
    return word in run.text or any(_signs(word, name, run))


def _signs(word: str, name: str, run: AgentRun) -> Iterator[bool]:
    yield any(item == name or item.endswith(f":{name}") for item in run.inventory.skills or ())
    yield run.activation in ("activated", "read") and any(_about(name, event.name, event.arguments) for event in run.events or ())
    yield any(word in (event.text or "") or word in str(event.arguments) for event in run.events or ())


def _about(name: str, event_name: str | None, arguments: object) -> bool:
    return event_name == name or name in str(arguments)
