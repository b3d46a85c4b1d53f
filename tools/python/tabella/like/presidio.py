"""Presidio's structured part: personal data in the columns of a data frame, found and replaced."""

from __future__ import annotations

import dataclasses
import hashlib
from typing import Any, Callable, Dict, Optional

from .._verbs import profile

# What Presidio calls the roles of columns; others are their own names in capitals.
ENTITIES = {
    "name": "PERSON",
    "first_name": "PERSON",
    "last_name": "PERSON",
    "email": "EMAIL_ADDRESS",
    "phone": "PHONE_NUMBER",
    "address": "LOCATION",
    "birth_date": "DATE_TIME",
    "iban": "IBAN_CODE",
    "crypto_address": "CRYPTO",
    "driver_license": "US_DRIVER_LICENSE",
}


@dataclasses.dataclass
class StructuredAnalysis:
    """entity_mapping: the entity of each column that holds personal data."""

    entity_mapping: Dict[str, str]


class PandasAnalysisBuilder:
    def __init__(self, *args: Any, **unused: Any) -> None:
        pass

    def generate_analysis(self, df: Any, language: str = "en", **unused: Any) -> StructuredAnalysis:
        """Of any language."""
        found = profile(df)
        columns = dict(zip(map(str, df.columns), df.columns))
        held = found[found["pii"].astype(bool)]
        return StructuredAnalysis(
            {columns.get(n, n): ENTITIES.get(r, str(r).upper()) for n, r in zip(held["name"], held["role"])}
        )


@dataclasses.dataclass
class OperatorConfig:
    """replace (new_value), redact, mask (masking_char, chars_to_mask, from_end), hash (hash_type), keep, or
    custom (lambda)."""

    operator_name: str
    params: Optional[Dict[str, Any]] = None


class StructuredEngine:
    def __init__(self, *args: Any, **unused: Any) -> None:
        pass

    def anonymize(
        self,
        data: Any,
        structured_analysis: StructuredAnalysis,
        operators: Optional[Dict[str, OperatorConfig]] = None,
    ) -> Any:
        """A copy of the frame. What an entity has no operator for is treated as DEFAULT says, else replaced
        by the entity's name."""
        given, out = operators or {}, data.copy()
        for column, entity in structured_analysis.entity_mapping.items():
            how = given.get(entity, given.get("DEFAULT", OperatorConfig("replace")))
            act = _operator(how, entity)
            out[column] = [x if x is None or x != x else act(x) for x in data[column]]
        return out


def _operator(how: OperatorConfig, entity: str) -> Callable[[Any], Any]:
    p = how.params or {}
    if how.operator_name == "replace":
        return lambda x: p.get("new_value", f"<{entity}>")
    if how.operator_name == "redact":
        return lambda x: ""
    if how.operator_name == "keep":
        return lambda x: x
    if how.operator_name == "custom":
        made: Callable[[Any], Any] = p["lambda"]
        return made
    if how.operator_name == "hash":
        return lambda x: hashlib.new(p.get("hash_type", "sha256"), str(x).encode()).hexdigest()
    if how.operator_name == "mask":
        return lambda x: _masked(str(x), **p)
    raise ValueError(f"{how.operator_name} is none of replace, redact, mask, hash, keep and custom")


def _masked(text: str, masking_char: str, chars_to_mask: int, from_end: bool = False, **unused: Any) -> str:
    n = min(max(chars_to_mask, 0), len(text))
    return text[: len(text) - n] + masking_char * n if from_end else masking_char * n + text[n:]
