"""What Schemathesis cannot learn from openapi.yaml."""

from typing import Any

import schemathesis


@schemathesis.serializer("application/x-ndjson")
def lines(context: schemathesis.SerializationContext, value: Any) -> bytes | None:
    return str(value).encode("utf-8", "surrogateescape")


@schemathesis.hook
def before_call(context: schemathesis.HookContext, case: schemathesis.Case[Any], kwargs: dict[str, Any]) -> None:
    if not case.headers:
        return
    # An answer 201 to Prefer: return=minimal has no body, and a document no words for that.
    case.headers.pop("Prefer", None)
    # Ids out of answers are put into headers as they are.
    for name, value in case.headers.items():
        case.headers[name] = str(value)
