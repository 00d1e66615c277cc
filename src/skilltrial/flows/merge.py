"""Shards of one plan become one experiment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from skilltrial import plan as planning
from skilltrial import store
from skilltrial.errors import UsageError
from skilltrial.flows import certify, leftovers
from skilltrial.flows.newsroom import now
from skilltrial.records.grades import Grading, JudgeCall
from skilltrial.records.journal import Result
from skilltrial.store import Experiment
from skilltrial.system.redaction import Redactor
from skilltrial.wording import words


def merge(folders: Sequence[Path], workspace: Path, redactor: Redactor, run_id: str | None = None) -> Experiment:
    """A new experiment, open for writing, with every finished step of all shards, their certificates and what they left.

    None of them is changed.

    Raises:
        UsageError: they are not shards of one plan, or a cell was run in two of them.
    """
    shards = [store.open_(folder, write=False, redactor=redactor) for folder in folders]
    first = shards[0].plan
    _check(shards)
    plan = first.model_copy(update={"shard": None, "warnings": (*first.warnings, *_lacking(shards))})
    merged = store.create(workspace, lambda name: planning.named(plan, name, now()), {}, redactor, run_id=run_id)
    try:
        for shard in shards:
            for digest in shard.blobs.keys():  # noqa: SIM118 - the Blobs seam, no mapping
                merged.blobs.put_new(digest, shard.blobs.get(digest))
            for result in shard.results():
                _take(result, shard, merged)
            for pair in shard.pairs():
                merged.append_comparison(pair.comparison, [JudgeCall.model_validate(call) for call in pair.calls])
            for ran in shard.hooks():
                merged.append_hook(ran)
        certify.gathered(merged.folder, [one for shard in shards for one in shard.certificates()])
        leftovers.gathered(merged, [shard.folder for shard in shards])
    except BaseException:
        merged.close()
        raise
    return merged


def _check(shards: Sequence[Experiment]) -> None:
    faults = []
    first = shards[0]
    for shard in shards:
        if shard.plan.shard is None:
            faults.append(f"{shard.folder} is no shard")
        elif shard.plan.digest != first.plan.digest:
            faults.append(f"{shard.folder} was planned otherwise than {first.folder}")
        elif shard.plan.shard.count != (first.plan.shard.count if first.plan.shard else None):
            faults.append(f"{shard.folder} is one of {shard.plan.shard.count}, {first.folder} is not")
    numbers = [shard.plan.shard.index for shard in shards if shard.plan.shard]
    if len(set(numbers)) < len(numbers):
        faults.append("a shard is given twice: " + ", ".join(map(str, sorted(numbers))))
    if faults:
        raise UsageError("\n".join(faults), "give the folders of one run --shard 1/N … N/N")


def _lacking(shards: Sequence[Experiment]) -> Iterator[str]:
    """A word about the parts that nobody gave: their runs are missing on purpose or by mistake."""
    parts = [shard.plan.shard for shard in shards if shard.plan.shard]
    absent = sorted(set(range(1, parts[0].count + 1)) - {part.index for part in parts})
    if absent:
        yield f"{words.many(len(absent), 'shard')} of {parts[0].count} {'is' if len(absent) == 1 else 'are'} missing: {words.listed([str(number) for number in absent], 10)}"


def _take(result: Result, shard: Experiment, merged: Experiment) -> None:
    evidence = shard.evidence(result)
    if result.evidence is None or evidence is None:
        return
    line = merged.append_evidence(evidence, clean=result.evidence.clean, tool_calls=result.evidence.tool_calls)
    if result.grading is None:
        return
    calls = tuple(JudgeCall.model_validate(call) for call in shard.transcript(result))
    merged.append_grading(
        Grading(
            cell=result.grading.cell,
            evidence=line.digest,
            checks=result.grading.checks,
            number=result.grading.number,
            grades=result.grading.grades,
            calls=calls,
            judge=result.grading.judge,
        ),
        result.grading.attempt,
        judge_usage=result.grading.judge_usage,
    )
