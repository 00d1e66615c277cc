"""The base of all data that crosses a step or reaches disk."""

from __future__ import annotations

from typing import Any, Self

from pydantic import BaseModel, ConfigDict, JsonValue

JsonObject = dict[str, JsonValue]
"""JSON that a plug-in owns; stored as given and checked by that plug-in's own Options record."""


class Record(BaseModel):
    """Frozen data that refuses unknown keys, NaN and infinities. Collections are tuples. None means not known, never 0."""

    model_config = ConfigDict(
        defer_build=True,  # a third of the CPU of importing them; see build_all
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        strict=False,
        protected_namespaces=(),
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
    )

    @classmethod
    def from_stored(cls, data: str | bytes) -> Self:
        """Reads JSON of our own making leniently: keys that a newer version added are dropped.

        Raises:
            pydantic.ValidationError: the text is not JSON, or a known key has a wrong value.
        """
        return cls.model_validate_json(data, extra="ignore")

    def to_json(self, **options: Any) -> str:
        """One line of JSON, unknown values as null."""
        return self.model_dump_json(**options)


def build_all(kind: type[Record] = Record) -> None:
    """Builds every record defined so far. Call it before threads start: first uses at the same time are not safe everywhere."""
    for derived in kind.__subclasses__():
        derived.model_rebuild()
        build_all(derived)
