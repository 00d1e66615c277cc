"""News as it may leave this process."""

from __future__ import annotations

from skilltrial.records.news import News
from skilltrial.system.redaction import Redactor


def as_json(news: News, redactor: Redactor | None) -> str:
    """One line of JSON, unknown fields left out. Only a reason can quote what a run or a server said, so only it is masked."""
    if redactor is not None and news.reason:
        news = news.model_copy(update={"reason": redactor.text(news.reason)[0]})
    return news.to_json(exclude_none=True)
