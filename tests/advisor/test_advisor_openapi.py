"""The OpenAPI document describes the server: whatever schemathesis makes of it, the answer is a documented one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from serving import ADMIN, API, client_of, join, opened

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed: no fuzzing of the API")

OPERATIONS = [
    "GET /health",
    "GET /ready",
    "GET /catalogue",
    "GET /model",
    "GET /metrics",
    "GET /items",
    "PUT /items",
    "DELETE /items/{item}",
    "GET /profiles",
    "GET /profiles/{shard}",
    "POST /people",
    "GET /people/me",
    "DELETE /people/me",
    "GET /people/me/clicks",
    "PUT /people/me/clicks/{item}",
    "DELETE /people/me/clicks/{item}",
    "GET /people/me/export",
    "GET /people/me/recommendations",
    "PUT /people/me/strategy",
    "GET /element",
    "PUT /platforms/{name}",
    "DELETE /platforms/{name}",
    "POST /platform/batches",
    "POST /platform/clicks",
]
MODES = ("positive", "negative")  # as documented, and in every way not
READ = (
    "GET /health",
    "GET /ready",
    "GET /profiles",
    "GET /catalogue",
    "GET /model",
    "GET /metrics",
    "GET /element",
    "POST /people",
)
ADMIN_ALONE = (
    "PUT /items",
    "DELETE /items/{item}",
    "GET /metrics",
    "PUT /platforms/{name}",
    "DELETE /platforms/{name}",
)
PLATFORMS_ALONE = ("POST /platform/batches", "POST /platform/clicks")
NOTHING_TO_GET_WRONG = [(name, "negative") for name in READ]


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, TestClient]]:
    with opened(str(tmp_path_factory.mktemp("advisor") / "advisor.sqlite")) as advisor, client_of(advisor) as client:
        yield schemathesis.openapi.from_asgi(f"{API}/openapi.json", client.app), client


def test_every_operation_is_documented(fuzzed: tuple[Any, TestClient]) -> None:
    found = [operation.ok() for operation in fuzzed[0].get_all_operations()]
    assert sorted(f"{o.method.upper()} {o.path.removeprefix(API)}" for o in found) == sorted(OPERATIONS)


def test_the_document_is_a_valid_one(fuzzed: tuple[Any, TestClient]) -> None:
    validate = pytest.importorskip("openapi_spec_validator").validate
    document = fuzzed[1].get(f"{API}/openapi.json").json()
    validate(document)
    named = set(document["components"]["schemas"])
    assert set(re.findall(r"#/components/schemas/(\w+)", json.dumps(document))) <= named


@pytest.mark.parametrize(
    ("name", "mode"),
    [(name, mode) for name in OPERATIONS for mode in MODES if (name, mode) not in NOTHING_TO_GET_WRONG],
)
def test_no_request_is_an_error_of_the_server(fuzzed: tuple[Any, TestClient], name: str, mode: str) -> None:
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi import checks

    schema, client = fuzzed
    method, _, path = name.partition(" ")
    person = join(client)
    headers = {"Authorization": f"Bearer {ADMIN}"} if name in ADMIN_ALONE else person
    if name in PLATFORMS_ALONE:
        given_key = client.put(f"{API}/platforms/fuzz", headers={"Authorization": f"Bearer {ADMIN}"}).json()["key"]
        headers = {"Authorization": f"Bearer {given_key}"}

    @settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(schema[API + path][method].as_strategy(generation_mode=schemathesis.GenerationMode(mode)))
    def fuzz(case: Any) -> None:
        own = join(client) if name == "DELETE /people/me" else headers
        answer = case.call(session=client, headers=own)
        case.validate_response(
            answer,
            checks=[
                not_a_server_error,
                checks.status_code_conformance,
                checks.content_type_conformance,
                checks.response_schema_conformance,
            ],
        )

    fuzz()
