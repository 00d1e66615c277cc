"""The text of `status`: how far an experiment is, what failed, what it took."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from skilltrial.records.summary import FailureRow, Summary
from skilltrial.wording import untrusted, verdicts, words

MOST = 20


def render(summary: Summary, *, verbose: bool = False) -> str:
    """Plain lines; every list is cut to 20 unless `verbose`."""
    most = 1_000_000 if verbose else MOST
    return "\n".join(untrusted.plain(line) for line in _lines(summary, most)) + "\n"


def _lines(summary: Summary, most: int) -> Iterator[str]:
    cover, total = summary.coverage, summary.totals
    yield f"{summary.experiment}: {cover.finished:,} of {words.many(cover.planned, 'run')} finished, {cover.graded:,} graded"
    for arm, counts in cover.by_arm.items():
        yield f"  {words.arm(arm)}: " + ", ".join(f"{number:,} {name}" for name, number in counts.items())
    if summary.stopped:
        yield f"stopped: {summary.stopped}"
    yield from _rows("failed", summary.failures, most)
    yield from _rows("not measured", summary.errors, most)
    yield from _rows("skipped", summary.skipped, most)
    yield from _rows("set aside", summary.set_aside, most)
    yield f"tokens: {_tokens(summary)}"
    cost = words.usd(total.cost_usd)
    known = (
        f" over {total.cells_with_cost:,} of {words.many(total.cells, 'run')}"
        if total.cost_usd is not None and total.cells
        else ""
    )
    yield f"cost: {cost}{known}" + (f", judge {words.usd(total.judge_cost_usd)}" if total.judge_cost_usd is not None else "")
    yield f"time: {words.duration(total.duration_s)} of runs, {words.duration(total.wall_s)} by the clock"
    if total.attempts > total.cells:
        yield f"attempts: {total.attempts:,} for {words.many(total.cells, 'run')}, all in the totals"
    yield from _budget(summary)
    yield from _hooks(summary)
    pending = {name: number for name, number in summary.cleanup.items() if number}
    yield "cleanup: " + (", ".join(f"{number} {name.replace('_', ' ')}" for name, number in pending.items()) or "nothing pending")
    yield verdicts.gate(summary.gate) + (": " + "; ".join(summary.gate.reasons[:5]) if summary.gate.reasons else "")


def _rows(title: str, rows: Sequence[FailureRow], most: int) -> Iterator[str]:
    yield f"{title}: {len(rows):,}"
    for row in rows[:most]:
        checks = f" [{words.listed([untrusted.line(check, 120) for check in row.checks])}]" if row.checks else ""
        yield f"  {row.cell}: {untrusted.line(row.reason, 200) or words.outcome(row.state)}{checks}"
    if len(rows) > most:
        yield f"  … {len(rows) - most:,} more"


def _tokens(summary: Summary) -> str:
    total = summary.totals
    if total.input_tokens is None and total.output_tokens is None:
        return "unavailable"
    cached = f" ({words.count(total.cached_tokens)} cached, {total.cached_pct:.0f} %)" if total.cached_pct is not None else ""
    reasoning = f" ({total.reasoning_tokens:,} reasoning)" if total.reasoning_tokens else ""
    return f"{words.count(total.input_tokens)} in{cached}, {words.count(total.output_tokens)} out{reasoning}"


def _budget(summary: Summary) -> Iterator[str]:
    budget = summary.budget
    if budget.limits:
        limits = ", ".join(f"{name.replace('_', ' ')} {value:g}" for name, value in budget.limits.items())
        yield f"budget: {limits} ({budget.action}), exceeded by {words.many(len(budget.exceeded), 'run')}"
        for cell in budget.exceeded[:MOST]:
            yield f"  {cell}"


def _hooks(summary: Summary) -> Iterator[str]:
    bad = [hook for hook in summary.hooks if hook.timed_out or hook.exit_code]
    if summary.hooks:
        yield f"hooks: {len(summary.hooks)} ran, {len(bad)} failed"
    for hook in bad[:MOST]:
        end = "timed out" if hook.timed_out else f"exit {hook.exit_code}"
        yield f"  {hook.stage}: {untrusted.line(hook.command, 120)}: {end}"
