"""The reference of the click advisor's HTTP API, from its own OpenAPI document."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from making.markdown import cell, table


def document() -> dict[str, Any]:
    """What the server answers at /api/v1/openapi.json."""
    from recveil.advisor.app import create_app

    nobody: Any = None  # the description needs no advisor behind it
    made: dict[str, Any] = create_app(nobody).openapi()
    return made


def pages() -> Iterator[tuple[str, str]]:
    api = document()
    lines = [
        "# HTTP API of the click advisor",
        "",
        f"Made from the server's own OpenAPI document ({api['openapi']}), which it gives at `/api/v1/openapi.json`. "
        "How to run it: [the click advisor as a server](../howto/advisor.md).",
        "",
    ]
    for path, operations in api["paths"].items():
        for method, operation in operations.items():
            lines += _operation(f"{method.upper()} {path}", operation)
    lines += ["## Shapes", ""]
    for name, schema in sorted(api.get("components", {}).get("schemas", {}).items()):
        lines += [f"### {name}", "", *_schema(schema), ""]
    yield "reference/http_api.md", "\n".join(lines) + "\n"


def _operation(name: str, operation: dict[str, Any]) -> Iterator[str]:
    yield from (f"## {name}", "", cell(operation.get("description") or operation.get("summary") or ""), "")
    if taken := operation.get("parameters"):
        rows = []
        for p in taken:
            needed = "yes" if p.get("required") else ""
            rows.append([f"`{p['name']}`", p["in"], needed, _type(p.get("schema", {})), cell(p.get("description", ""))])
        yield from (table(["parameter", "in", "needed", "type", "meaning"], rows), "")
    if body := operation.get("requestBody"):
        kinds = ", ".join(f"{kind}: {_type(c.get('schema', {}))}" for kind, c in body["content"].items())
        yield from (f"Body: {kinds}", "")
    rows = []
    for code, answer in sorted(operation["responses"].items()):
        shapes = ", ".join(_type(c.get("schema", {})) for c in answer.get("content", {}).values())
        rows.append([code, cell(answer.get("description", "")), shapes])
    yield from (table(["answer", "meaning", "shape"], rows), "")


def _schema(schema: dict[str, Any]) -> Iterator[str]:
    if schema.get("description"):
        yield from (cell(schema["description"]), "")
    if found := schema.get("properties"):
        needed = schema.get("required", ())
        rows = [
            [f"`{name}`", _type(one), "yes" if name in needed else "", cell(one.get("description", ""))]
            for name, one in found.items()
        ]
        yield table(["field", "type", "always", "meaning"], rows)
    else:
        yield _type(schema)


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(_type(one) for one in schema["anyOf"])
    if "enum" in schema:
        return ", ".join(f"`{json.dumps(v)}`" for v in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return cell(str(schema.get("type") or schema.get("const") or "any"))
