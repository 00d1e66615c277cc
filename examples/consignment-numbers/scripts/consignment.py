#!/usr/bin/env python3
"""Prints the consignment number of a parcel: consignment.py ZONE GRAMS PARCEL-ID."""

import hashlib
import sys

HEAVIEST_G = 31_500
ZONES = range(1, 8)
SERIES = "harbour-lines-2026"


def number(zone: int, grams: int, parcel: str) -> str:
    """The zone, the weight, and four digits by which a reader at the belt notices a wrong label."""
    code = hashlib.sha256(f"{SERIES}/{zone}/{grams}/{parcel}".encode()).hexdigest()[:4].upper()
    return f"Z{zone}-{grams}-{code}"


def main(arguments: list[str]) -> int:
    if len(arguments) != 3 or not (arguments[0].isdigit() and arguments[1].isdigit()):
        print(__doc__, file=sys.stderr)
        return 2
    zone, grams, parcel = int(arguments[0]), int(arguments[1]), arguments[2]
    if zone not in ZONES:
        print(f"{parcel}: there is no zone {zone}", file=sys.stderr)
        return 2
    if not 0 < grams <= HEAVIEST_G:
        print(f"{parcel}: {grams} g is not a weight from 1 to {HEAVIEST_G} g", file=sys.stderr)
        return 2
    print(number(zone, grams, parcel))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
