"""What Schemathesis cannot learn from openapi.yaml."""

from typing import Any

import schemathesis


@schemathesis.serializer("application/x-ndjson")
def lines(context: schemathesis.SerializationContext, value: Any) -> bytes | None:
    return str(value).encode("utf-8", "surrogateescape")


@schemathesis.hook
def before_call(context: schemathesis.HookContext, case: schemathesis.Case, kwargs: dict[str, Any]) -> None:
    """Wants bodies: an answer 201 to Prefer: return=minimal has none, and a document has no words for that."""
    if case.headers:
        case.headers.pop("Prefer", None)
