"""What a basket of goods costs."""

from shop.money import percent_of, to_cents


def total(prices: list[str], discount: int = 0) -> int:
    """Cents to pay for all prices after a discount of so many percent."""
    whole = sum(to_cents(price) for price in prices)
    return whole - percent_of(whole, discount)
