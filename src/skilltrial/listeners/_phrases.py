"""News as one line for people."""

from __future__ import annotations

from skilltrial.records.news import News
from skilltrial.wording import untrusted, words

SIGNS = {"passed": "■ passed", "failed": "□ failed", "ungraded": "? not graded"}


def how_it_ended(news: News) -> str:
    """■ passed, □ failed, ? not graded, ▨ timeout."""
    if news.type == "cell_failed" or news.outcome not in (None, "ok"):
        return f"▨ {words.outcome(news.outcome)}"
    return SIGNS.get(news.state or "", "finished")


def is_trouble(news: News) -> bool:
    """A cell that failed, was not graded or could not be measured."""
    return news.type == "cell_failed" or news.state in ("failed", "ungraded") or news.outcome not in (None, "ok")


def finished(news: News) -> str:
    """[3/24] notes/a/claude/with_skill/1  □ failed 2/3  41 s  1,500/700/340 tokens  0.0016 USD."""
    parts = []
    if news.planned:
        parts.append(f"[{news.done or 0}/{news.planned}]")
    parts.append(untrusted.line(news.cell or ""))
    checks = f" {news.passed or 0}/{news.total}" if news.total else ""
    parts.append(how_it_ended(news) + checks)
    if news.duration_s is not None:
        parts.append(words.duration(news.duration_s))
    counts = (news.input_tokens, news.cached_tokens, news.output_tokens)
    if any(count is not None for count in counts):
        shown = "/".join("?" if count is None else f"{count:,}" for count in counts)
        parts.append(f"tokens in/cached/out {shown}")
    if news.cost_usd is not None:
        parts.append(words.usd(news.cost_usd))
    if news.reason and is_trouble(news):
        parts.append(untrusted.line(news.reason, 160))
    return "  ".join(parts)


def show_line(news: News) -> str:
    """The command that shows the cell."""
    return f"    skilltrial show {untrusted.line(news.cell or '')}"


def aside(news: News) -> str | None:
    """Budgets, hooks, start and end, in a line; None for news that is no line of its own."""
    if news.type == "budget_exceeded":
        return f"budget exceeded: {untrusted.line(news.cell or news.experiment)}: {untrusted.line(news.reason or '', 200)}"
    if news.type == "hook_finished" and news.reason:
        return f"hook: {untrusted.line(news.reason, 200)}"
    if news.type == "experiment_started":
        before = f", {news.done:,} of them finished before" if news.done else ""
        return f"{untrusted.line(news.experiment)}: {words.many(news.planned or 0, 'run')} planned{before}"
    if news.type == "experiment_finished":
        cost = f", {words.usd(news.total_cost_usd)}" if news.total_cost_usd is not None else ""
        ended = f", stopped: {untrusted.line(news.reason, 200)}" if news.reason else ""
        return f"{news.done or 0:,} of {words.many(news.planned or 0, 'run')} finished in {words.duration(news.elapsed_s)}{cost}{ended}"
    return None
