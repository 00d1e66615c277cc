"""Amounts of money as whole cents."""


def parse_cents(text: str) -> int:
    """Cents of an amount such as '12.30' or '7'."""
    euros, _, cents = text.partition(".")
    return int(euros) * 100 + int((cents + "00")[:2])


def percent_of(cents: int, percent: int) -> int:
    """That share of an amount, rounded half up to a cent."""
    return cents * percent // 100
