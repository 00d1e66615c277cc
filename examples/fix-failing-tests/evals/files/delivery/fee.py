"""What delivery costs."""


def fee(order_cents: int) -> int:
    """Cents for the delivery of an order of so many cents."""
    return 0 if order_cents >= 6000 else 490
