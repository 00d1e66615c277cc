"""Orders out of the database, a page at a time."""

import sqlite3
from pathlib import Path

PAGE = 20


def page(db: sqlite3.Connection, number: int) -> list[tuple[int, str]]:
    """Orders of a page; the first page has the number 1."""
    start = number * PAGE
    return db.execute("select id, customer from orders order by id limit ? offset ?", (PAGE, start)).fetchall()


def find(db: sqlite3.Connection, customer: str) -> list[tuple[int, str]]:
    """Orders of a customer, by name."""
    return db.execute(f"select id, customer from orders where customer = '{customer}' order by id").fetchall()


def notes(folder: Path, order: int) -> str:
    """What was noted about an order; most orders have no notes."""
    try:
        return (folder / f"{order}.txt").read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""  # no file means no notes: that is the usual case and no fault


def archive(db: sqlite3.Connection, before: int) -> int:
    """Marks the orders below an id as archived, and says how many there were."""
    done = db.execute("update orders set archived = 1 where id < ?", (before,)).rowcount
    db.commit()
    return done
