"""The part of JSON Schema that tools of agents use: type, properties, required, additionalProperties,
items."""

TYPES = {
    "object": lambda x: isinstance(x, dict),
    "array": lambda x: isinstance(x, list),
    "string": lambda x: isinstance(x, str),
    "integer": lambda x: isinstance(x, int) and not isinstance(x, bool),
    "number": lambda x: isinstance(x, (int, float)) and not isinstance(x, bool),
    "boolean": lambda x: isinstance(x, bool),
    "null": lambda x: x is None,
}
KNOWN = {"type", "properties", "required", "additionalProperties", "items", "description"}


def misfit(schema, x, path="answer"):
    """Why a value is not as the schema says; "" where it is."""
    if not set(schema) <= KNOWN:
        return f"{path}: the schema says {sorted(set(schema) - KNOWN)}, which is not looked at"
    types = schema.get("type", list(TYPES))
    if not any(TYPES[t](x) for t in ([types] if isinstance(types, str) else types)):
        return f"{path} is no {types}: {x!r:.80}"
    if isinstance(x, dict):
        known = schema.get("properties", {})
        for name in schema.get("required", []):
            if name not in x:
                return f"{path} has no {name}"
        for name, value in x.items():
            if name not in known and schema.get("additionalProperties") is False:
                return f"{path} has {name}"
            why = misfit(known.get(name, {}), value, f"{path}.{name}")
            if why:
                return why
    if isinstance(x, list) and "items" in schema:
        for i, value in enumerate(x):
            why = misfit(schema["items"], value, f"{path}[{i}]")
            if why:
                return why
    return ""
