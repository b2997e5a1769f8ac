import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import client.ApiClient;
import client.ApiException;
import client.ApiResponse;
import client.api.BatchesApi;
import client.api.EmployeesApi;
import client.model.BatchCreate;
import client.model.BatchDelete;
import client.model.BatchGet;
import client.model.BatchUpdate;
import client.model.BatchWritten;
import client.model.Employee;
import client.model.EmployeeCreate;
import client.model.EmployeePage;
import client.model.EmployeePatch;
import client.model.EmployeeUpdate;
import client.model.ExportEnd;
import client.model.ImportLine;
import client.model.Problem;
import client.model.ProblemCode;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Tries the client that openapi-generator makes of openapi.yaml against a running gateway.
 * scripts/sdk-test makes and runs it. The ids of a road are those from first to first + 99.
 */
class ScenarioTest {
  private final ApiClient client = new ApiClient();
  private final EmployeesApi employees;
  private final BatchesApi batches;

  ScenarioTest() {
    client.updateBaseUri(System.getenv("SDK_GATEWAY"));
    employees = new EmployeesApi(client);
    batches = new BatchesApi(client);
  }

  @ParameterizedTest
  @CsvSource({"ndb,3100", "sql,3200"})
  void createsReadsChangesAndDeletesAnEmployee(String road, long id) throws ApiException {
    ApiResponse<Employee> created = create(road, null, new EmployeeCreate().id(id).first("Zoë").city("Oslo"));
    assertEquals(201, created.getStatusCode());
    assertEquals("Zoë", created.getData().getFirst());
    assertNull(created.getData().getLast());
    assertEquals("/v1/employees/" + id, header(created, "Location"));
    assertEquals(road, header(created, "X-Backend"));

    String etag = header(employees.getEmployeeWithHttpInfo(get(road, id).build()), "ETag");
    // Its client takes 304 for a failure.
    ApiException same = assertThrows(ApiException.class, () -> employees.getEmployee(get(road, id).ifNoneMatch(etag).build()));
    assertEquals(304, same.getCode());

    Employee moved = employees.patchEmployee(patch(road, id).ifMatch(etag).employeePatch(new EmployeePatch().city("Bergen")).build());
    assertEquals("Bergen", moved.getCity());
    EmployeePatch toNull = new EmployeePatch().city(null);
    refused(412, ProblemCode.PRECONDITION_FAILED, () -> employees.patchEmployee(patch(road, id).ifMatch(etag).employeePatch(toNull).build()));
    Employee patched = employees.patchEmployee(patch(road, id).employeePatch(toNull).build());
    assertNull(patched.getCity());
    assertEquals("Zoë", patched.getFirst());

    employees.deleteEmployee(EmployeesApi.APIDeleteEmployeeRequest.newBuilder().id(id).xBackend(road).build());
    refused(404, ProblemCode.NOT_FOUND, () -> employees.getEmployee(get(road, id).build()));
  }

  @ParameterizedTest
  @CsvSource({"ndb,3100", "sql,3200"})
  void listsByPages(String road, long first) throws ApiException {
    List<Long> ids = store(road, first, 3);
    EmployeesApi.APIListEmployeesRequest.Builder list = EmployeesApi.APIListEmployeesRequest.newBuilder()
        .xBackend(road).filter("between(id, " + ids.get(0) + ", " + ids.get(2) + ")").orderBy("id desc").pageSize(2).count(true);
    List<Long> got = new ArrayList<>();
    String token = null;
    do {
      EmployeePage page = employees.listEmployees(list.pageToken(token).build());
      assertEquals(3, page.getTotal());
      page.getEmployees().forEach(e -> got.add(e.getId()));
      token = page.getNextPageToken();
    } while (token != null);
    assertEquals(List.of(ids.get(2), ids.get(1), ids.get(0)), got);
    assertNotNull(employees.listEmployees(list.pageToken(null).count(null).explain(true).build()).getExplain());
    delete(road, ids);
  }

  @ParameterizedTest
  @CsvSource({"ndb,3100", "sql,3200"})
  void writesAndReadsBatches(String road, long first) throws ApiException {
    List<Long> ids = store(road, first, 2);
    long unused = first + 50;
    BatchWritten created = batch(road, new BatchCreate().partial(true)
        .addEmployeesItem(new EmployeeCreate().id(ids.get(0))).addEmployeesItem(new EmployeeCreate().id(unused)));
    assertEquals(1, created.getDone());
    assertEquals(1, created.getFailed());
    assertEquals(ProblemCode.ALREADY_EXISTS, created.getResults().get(0).getProblem().getCode());
    assertEquals(unused, created.getResults().get(1).getEmployee().getId());

    List<Long> missing = batches.batchGetEmployees(BatchesApi.APIBatchGetEmployeesRequest.newBuilder()
        .xBackend(road).batchGet(new BatchGet().addIdsItem(unused).addIdsItem(first + 99)).build()).getMissing();
    assertEquals(List.of(first + 99), missing);
    BatchWritten updated = batches.batchUpdateEmployees(BatchesApi.APIBatchUpdateEmployeesRequest.newBuilder()
        .xBackend(road).batchUpdate(new BatchUpdate().addUpdatesItem(new EmployeeUpdate().id(unused).last("Berg"))).build());
    assertEquals("Berg", updated.getEmployees().get(0).getLast());
    ids.add(unused);
    delete(road, ids);
  }

  @ParameterizedTest
  @CsvSource({"ndb,3100", "sql,3200"})
  void importsAndExportsLines(String road, long first) throws Exception {
    // The generator knows no bodies of lines: streams go through the client's own HttpClient, and lines are its models.
    List<byte[]> lines = new ArrayList<>();
    for (long id = first + 10; id < first + 50; id++) {
      lines.add((client.getObjectMapper().writeValueAsString(new EmployeeCreate().id(id).department(7)) + "\n").getBytes(StandardCharsets.UTF_8));
    }
    List<String> answer = lines(stream(road, ":import?on_conflict=replace")
        .header("Content-Type", "application/x-ndjson").POST(HttpRequest.BodyPublishers.ofByteArrays(lines)));
    ImportLine summary = client.getObjectMapper().readValue(answer.get(answer.size() - 1), ImportLine.class);
    assertEquals(ImportLine.TypeEnum.SUMMARY, summary.getType());
    assertTrue(summary.getComplete());
    assertEquals(40, summary.getWritten());

    String filter = ApiClient.urlEncode("between(id, " + (first + 10) + ", " + (first + 49) + ")");
    List<String> rows = lines(stream(road, ":export?filter=" + filter));
    assertEquals(first + 10, client.getObjectMapper().readValue(rows.get(0), Employee.class).getId());
    ExportEnd end = client.getObjectMapper().readValue(rows.get(rows.size() - 1), ExportEnd.class);
    assertTrue(end.getComplete());
    assertEquals(40, end.getRows());
  }

  @ParameterizedTest
  @CsvSource({"ndb,3100", "sql,3200"})
  void isDoneOnceUnderAnIdempotencyKey(String road, long first) throws ApiException {
    String key = UUID.randomUUID().toString();
    ApiResponse<Employee> created = create(road, key, new EmployeeCreate());
    ApiResponse<Employee> again = create(road, key, new EmployeeCreate());
    assertEquals(created.getData(), again.getData());
    assertNull(header(created, "Idempotency-Replayed"));
    assertEquals("true", header(again, "Idempotency-Replayed"));
    refused(422, ProblemCode.IDEMPOTENCY_KEY_REUSED, () -> create(road, key, new EmployeeCreate().department(2)));
  }

  @ParameterizedTest
  @CsvSource({"ndb,3100", "sql,3200"})
  void hasProblemsWithCodes(String road, long first) throws Exception {
    Problem broken = refused(422, ProblemCode.VALIDATION_FAILED, () -> create(road, null, new EmployeeCreate().first("x".repeat(65)).department(0)));
    assertEquals(List.of("/department", "/first"), broken.getErrors().stream().map(e -> e.getPointer()).sorted().toList());
    refused(400, ProblemCode.UNKNOWN_BACKEND, () -> employees.getEmployee(get("nowhere", first).build()));
  }

  private HttpRequest.Builder stream(String road, String call) {
    return HttpRequest.newBuilder(URI.create(client.getBaseUri() + "/v1/employees" + call)).header("X-Backend", road);
  }

  private List<String> lines(HttpRequest.Builder request) throws Exception {
    HttpResponse<Stream<String>> answer = client.getHttpClient().send(request.build(), HttpResponse.BodyHandlers.ofLines());
    assertEquals(200, answer.statusCode());
    return answer.body().toList();
  }

  private ApiResponse<Employee> create(String road, String key, EmployeeCreate employee) throws ApiException {
    return employees.createEmployeeWithHttpInfo(EmployeesApi.APICreateEmployeeRequest.newBuilder()
        .xBackend(road).idempotencyKey(key).employeeCreate(employee).build());
  }

  private static EmployeesApi.APIGetEmployeeRequest.Builder get(String road, long id) {
    return EmployeesApi.APIGetEmployeeRequest.newBuilder().xBackend(road).id(id);
  }

  private static EmployeesApi.APIPatchEmployeeRequest.Builder patch(String road, long id) {
    return EmployeesApi.APIPatchEmployeeRequest.newBuilder().xBackend(road).id(id);
  }

  private BatchWritten batch(String road, BatchCreate body) throws ApiException {
    return batches.batchCreateEmployees(BatchesApi.APIBatchCreateEmployeesRequest.newBuilder().xBackend(road).batchCreate(body).build());
  }

  /** Stores n employees with the ids from first + 1 on. */
  private List<Long> store(String road, long first, int n) throws ApiException {
    List<Long> ids = new ArrayList<>(LongStream.rangeClosed(first + 1, first + n).boxed().toList());
    BatchCreate body = new BatchCreate();
    ids.forEach(id -> body.addEmployeesItem(new EmployeeCreate().id(id)));
    assertEquals(n, batch(road, body).getDone());
    return ids;
  }

  private void delete(String road, List<Long> ids) throws ApiException {
    BatchWritten deleted = batches.batchDeleteEmployees(BatchesApi.APIBatchDeleteEmployeesRequest.newBuilder()
        .xBackend(road).batchDelete(new BatchDelete().ids(ids)).build());
    assertEquals(ids.size(), deleted.getDone());
  }

  private static String header(ApiResponse<?> answer, String name) {
    List<String> values = answer.getHeaders().getOrDefault(name.toLowerCase(), List.of());
    return values.isEmpty() ? null : values.get(0);
  }

  private Problem refused(int status, ProblemCode code, Executable call) {
    ApiException refusal = assertThrows(ApiException.class, call);
    assertEquals(status, refusal.getCode());
    try {
      Problem problem = client.getObjectMapper().readValue(refusal.getResponseBody(), Problem.class);
      assertEquals(code, problem.getCode());
      return problem;
    } catch (java.io.IOException e) {
      throw new AssertionError(refusal.getResponseBody(), e);
    }
  }
}
