from client import AuthenticatedClient
from client.api.employees import get_employee, patch_employee
from client.models import Employee, EmployeePatch, Problem, ProblemCode


def move(client: AuthenticatedClient, id: int, city: str) -> None:
    read = get_employee.sync_detailed(id, client=client, x_backend="ndb")
    if not isinstance(read.parsed, Employee):
        raise RuntimeError(f"reading {id}: {read.parsed}")
    written = patch_employee.sync(id, client=client, body=EmployeePatch(city=city), if_match=read.headers["ETag"])
    if isinstance(written, Problem) and written.code is ProblemCode.PRECONDITION_FAILED:
        raise RuntimeError(f"{id} was changed meanwhile")
