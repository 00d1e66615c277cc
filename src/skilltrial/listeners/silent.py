"""Says nothing at all."""

from __future__ import annotations

from skilltrial.records.news import News


class Silent:
    """Hears everything and keeps it to itself."""

    def hear(self, news: News) -> None:
        """Nothing is written."""

    def close(self) -> None:
        """Nothing was opened."""


plugin = Silent
