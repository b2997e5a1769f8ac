"""Tries the client that openapi-python-client makes of openapi.yaml against a
running gateway. scripts/sdk-test makes the client and runs it with pytest.
"""

import json
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import TypeVar

import pytest
from client import AuthenticatedClient
from client.api.batches import batch_create_employees, batch_delete_employees, batch_get_employees, batch_update_employees
from client.api.employees import create_employee, delete_employee, get_employee, list_employees, patch_employee
from client.models import (
    BatchCreate,
    BatchDelete,
    BatchFound,
    BatchGet,
    BatchUpdate,
    BatchWritten,
    Employee,
    EmployeeCreate,
    EmployeePage,
    EmployeePatch,
    EmployeeUpdate,
    ExportEnd,
    ImportLine,
    ImportLineType,
    Problem,
    ProblemCode,
)
from client.types import UNSET, Response, Unset

from example import move

GATEWAY = os.environ["SDK_GATEWAY"]
Model = TypeVar("Model")


class Road:
    """What one road is asked for, with ids from first to first+99."""

    def __init__(self, name: str, first: int) -> None:
        self.name = name
        self.first = first
        # A gateway that does not ask who calls passes the token over.
        self.client = AuthenticatedClient(GATEWAY, token="none", raise_on_unexpected_status=True)

    @contextmanager
    def employees(self, n: int) -> Iterator[list[int]]:
        """Stores employees with the ids from first+1 on while the block runs."""
        ids = [self.first + 1 + i for i in range(n)]
        body = BatchCreate(employees=[EmployeeCreate(id=id) for id in ids])
        assert model(batch_create_employees.sync(client=self.client, body=body, x_backend=self.name), BatchWritten).done == n
        try:
            yield ids
        finally:
            model(batch_delete_employees.sync(client=self.client, body=BatchDelete(ids=ids), x_backend=self.name), BatchWritten)


@pytest.fixture(params=[("ndb", 2100), ("sql", 2200)], ids=lambda param: str(param[0]))
def road(request: pytest.FixtureRequest) -> Road:
    return Road(*request.param)


def test_creates_reads_changes_and_deletes_an_employee(road: Road) -> None:
    client, id = road.client, road.first
    created = create_employee.sync_detailed(client=client, body=EmployeeCreate(id=id, first="Zoë", city="Oslo"), x_backend=road.name)
    assert created.status_code == HTTPStatus.CREATED
    assert created.parsed == Employee(id=id, first="Zoë", last=None, city="Oslo", started=None, ended=None, department=1)
    assert created.headers["Location"] == f"/v1/employees/{id}"
    assert created.headers["X-Backend"] == road.name

    etag = get_employee.sync_detailed(id, client=client, x_backend=road.name).headers["ETag"]
    same = get_employee.sync_detailed(id, client=client, x_backend=road.name, if_none_match=etag)
    assert same.status_code == HTTPStatus.NOT_MODIFIED

    move(client, id, "Bergen")
    to_null = EmployeePatch(city=None)
    late = patch_employee.sync_detailed(id, client=client, body=to_null, if_match=etag, x_backend=road.name)
    assert late.status_code == HTTPStatus.PRECONDITION_FAILED
    assert model(late.parsed, Problem).code is ProblemCode.PRECONDITION_FAILED
    patched = model(patch_employee.sync(id, client=client, body=to_null, x_backend=road.name), Employee)
    assert (patched.city, patched.first) == (None, "Zoë")

    deleted = delete_employee.sync_detailed(id, client=client, x_backend=road.name)
    assert deleted.status_code == HTTPStatus.NO_CONTENT
    gone = get_employee.sync_detailed(id, client=client, x_backend=road.name)
    assert gone.status_code == HTTPStatus.NOT_FOUND
    assert model(gone.parsed, Problem).code is ProblemCode.NOT_FOUND


def test_lists_by_pages(road: Road) -> None:
    with road.employees(3) as ids:
        filter = f"between(id, {ids[0]}, {ids[-1]})"
        got: list[int] = []
        token: str | Unset = UNSET
        while True:
            answer = list_employees.sync(
                client=road.client, filter_=filter, order_by="id desc", page_size=2, count=True, page_token=token, x_backend=road.name
            )
            page = model(answer, EmployeePage)
            assert page.total == 3
            got += [e.id for e in page.employees]
            token = page.next_page_token
            if isinstance(token, Unset):
                break
        assert got == ids[::-1]

        way = model(list_employees.sync(client=road.client, filter_=filter, explain=True, x_backend=road.name), EmployeePage)
        assert not isinstance(way.explain, Unset)


def test_writes_and_reads_batches(road: Road) -> None:
    client, unused, missing = road.client, road.first + 50, road.first + 99
    with road.employees(2) as ids:
        body = BatchCreate(partial=True, employees=[EmployeeCreate(id=ids[0]), EmployeeCreate(id=unused)])
        created = model(batch_create_employees.sync(client=client, body=body, x_backend=road.name), BatchWritten)
        assert (created.done, created.failed) == (1, 1)
        assert not isinstance(created.results, Unset)
        failed, done = created.results
        assert not isinstance(failed.problem, Unset) and failed.problem.code is ProblemCode.ALREADY_EXISTS
        assert not isinstance(done.employee, Unset) and done.employee.id == unused

        found = model(batch_get_employees.sync(client=client, body=BatchGet(ids=[unused, missing]), x_backend=road.name), BatchFound)
        assert found.missing == [missing]

        update = BatchUpdate(updates=[EmployeeUpdate(id=unused, last="Berg")])
        updated = model(batch_update_employees.sync(client=client, body=update, x_backend=road.name), BatchWritten)
        assert not isinstance(updated.employees, Unset) and updated.employees[0].last == "Berg"
        model(batch_delete_employees.sync(client=client, body=BatchDelete(ids=[unused]), x_backend=road.name), BatchWritten)


def test_imports_and_exports_streams(road: Road) -> None:
    # The generator knows no bodies of lines: streams go through the client's own httpx, and lines are its models.
    client, rows, headers = road.client.get_httpx_client(), 40, {"X-Backend": road.name}
    ids = range(road.first + 10, road.first + 10 + rows)
    lines = (json.dumps(EmployeeCreate(id=id, department=7).to_dict()).encode() + b"\n" for id in ids)
    headers_in = headers | {"Content-Type": "application/x-ndjson"}
    with client.stream("POST", "/v1/employees:import", params={"on_conflict": "replace"}, headers=headers_in, content=lines) as answer:
        summary = [ImportLine.from_dict(json.loads(line)) for line in answer.iter_lines()][-1]
    assert summary.type_ is ImportLineType.SUMMARY
    assert (summary.complete, summary.written) == (True, rows)

    filter = f"between(id, {ids[0]}, {ids[-1]})"
    with client.stream("GET", "/v1/employees:export", params={"filter": filter}, headers=headers) as answer:
        *employees, end = [json.loads(line) for line in answer.iter_lines()]
    assert [Employee.from_dict(e).id for e in employees] == list(ids)
    assert ExportEnd.from_dict(end) == ExportEnd(complete=True, rows=rows)


def test_is_done_once_under_an_idempotency_key(road: Road) -> None:
    key = str(uuid.uuid4())

    def create(body: EmployeeCreate) -> Response[Employee | Problem]:
        return create_employee.sync_detailed(client=road.client, body=body, idempotency_key=key, x_backend=road.name)

    created, again, other = create(EmployeeCreate()), create(EmployeeCreate()), create(EmployeeCreate(department=2))
    assert created.status_code == HTTPStatus.CREATED
    assert again.parsed == created.parsed
    assert "Idempotency-Replayed" not in created.headers
    assert again.headers["Idempotency-Replayed"] == "true"
    assert other.status_code == HTTPStatus.UNPROCESSABLE_ENTITY
    assert model(other.parsed, Problem).code is ProblemCode.IDEMPOTENCY_KEY_REUSED


def test_has_problems_with_codes(road: Road) -> None:
    broken = model(create_employee.sync(client=road.client, body=EmployeeCreate(first="x" * 65, department=0), x_backend=road.name), Problem)
    assert broken.code is ProblemCode.VALIDATION_FAILED
    assert not isinstance(broken.errors, Unset)
    assert sorted(str(e.pointer) for e in broken.errors) == ["/department", "/first"]
    lost = model(get_employee.sync(road.first, client=road.client, x_backend="nowhere"), Problem)
    assert lost.code is ProblemCode.UNKNOWN_BACKEND


def model(parsed: object, kind: type[Model]) -> Model:
    """Is what was parsed, which must be of the kind."""
    assert isinstance(parsed, kind), parsed
    return parsed
