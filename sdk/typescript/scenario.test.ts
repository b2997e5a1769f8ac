// Tries the client that openapi-typescript and openapi-fetch make of
// openapi.yaml against a running gateway. scripts/sdk-test makes and runs it.
import assert from "node:assert/strict";
import { describe, test } from "node:test";

import createClient from "openapi-fetch";

import type { components, paths } from "./client.js";
import { move } from "./example.js";

type Employee = components["schemas"]["Employee"];
type ExportEnd = components["schemas"]["ExportEnd"];
type ImportLine = components["schemas"]["ImportLine"];
type ProblemCode = components["schemas"]["ProblemCode"];

const gateway = process.env["SDK_GATEWAY"];
assert.ok(gateway, "SDK_GATEWAY names no gateway");
const client = createClient<paths>({ baseUrl: gateway });

const roads = ["ndb", "sql"] as const;
for (const [i, road] of roads.entries()) {
  const first = 1100 + 100 * i; // ids to first + 99 are this road's
  const header = { "X-Backend": road };

  describe(road, { concurrency: false }, () => {
    test("creates, reads, changes and deletes an employee", async () => {
      const id = first;
      const created = await client.POST("/v1/employees", { params: { header }, body: { id, first: "Zoë", city: "Oslo" } });
      const whole: Employee = { id, first: "Zoë", last: null, city: "Oslo", started: null, ended: null, department: 1 };
      assert.deepEqual(created.data, whole);
      assert.equal(created.response.status, 201);
      assert.equal(created.response.headers.get("Location"), `/v1/employees/${id}`);
      assert.equal(created.response.headers.get("X-Backend"), road);

      const read = await client.GET("/v1/employees/{id}", { params: { path: { id }, header } });
      const etag = read.response.headers.get("ETag");
      assert.ok(etag);
      const same = await client.GET("/v1/employees/{id}", { params: { path: { id }, header: { ...header, "If-None-Match": etag } } });
      assert.equal(same.response.status, 304);

      await move(gateway, id, "Bergen");
      const late = await client.PATCH("/v1/employees/{id}", { params: { path: { id }, header: { ...header, "If-Match": etag } }, body: { city: null } });
      assert.equal(late.response.status, 412);
      assertCode(late.error, "precondition_failed");
      const patched = await client.PATCH("/v1/employees/{id}", { params: { path: { id }, header }, body: { city: null } });
      assert.deepEqual(patched.data, { ...whole, city: null });

      const deleted = await client.DELETE("/v1/employees/{id}", { params: { path: { id }, header } });
      assert.equal(deleted.response.status, 204);
      const gone = await client.GET("/v1/employees/{id}", { params: { path: { id }, header } });
      assert.equal(gone.response.status, 404);
      assertCode(gone.error, "not_found");
    });

    test("lists by pages", () => withEmployees(3, async (ids) => {
      const query = { filter: `between(id, ${ids[0]}, ${ids[2]})`, order_by: "id desc", page_size: 2, count: true };
      const got: number[] = [];
      let page_token: string | undefined;
      do {
        const page = await client.GET("/v1/employees", { params: { header, query: page_token ? { ...query, page_token } : query } });
        assert.ok(page.data);
        assert.equal(page.data.total, 3);
        got.push(...page.data.employees.map((e) => e.id));
        page_token = page.data.next_page_token;
      } while (page_token);
      assert.deepEqual(got, ids.toReversed());

      const way = await client.GET("/v1/employees", { params: { header, query: { filter: query.filter, explain: true } } });
      assert.ok(way.data?.explain?.access);
    }));

    test("writes and reads batches", () => withEmployees(2, async (ids) => {
      const [stored, unused, missing] = [ids[0]!, first + 50, first + 99];
      const created = await client.POST("/v1/employees:batchCreate", {
        params: { header },
        body: { partial: true, employees: [{ id: stored }, { id: unused }] },
      });
      assert.equal(created.data?.done, 1);
      assert.equal(created.data.failed, 1);
      assertCode(created.data.results?.[0]?.problem, "already_exists");
      assert.equal(created.data.results?.[1]?.employee?.id, unused);

      const found = await client.POST("/v1/employees:batchGet", { params: { header }, body: { ids: [unused, missing] } });
      assert.deepEqual(found.data?.missing, [missing]);
      assert.equal(found.data.employees?.[0]?.id, unused);

      const updated = await client.POST("/v1/employees:batchUpdate", { params: { header }, body: { updates: [{ id: unused, last: "Berg" }] } });
      assert.equal(updated.data?.employees?.[0]?.last, "Berg");
      const deleted = await client.POST("/v1/employees:batchDelete", { params: { header }, body: { ids: [unused] } });
      assert.equal(deleted.data?.done, 1);
    }));

    test("imports and exports streams", async () => {
      const rows = 40;
      const lines = new ReadableStream<Uint8Array>({
        start(controller) {
          for (let id = first + 10; id < first + 10 + rows; id++) controller.enqueue(encoder.encode(`{"id":${id},"department":7}\n`));
          controller.close();
        },
      });
      // The types know the body as text; duplex lets fetch send a stream.
      const answer = await client.POST("/v1/employees:import", {
        params: { header, query: { on_conflict: "replace" } },
        headers: { "Content-Type": "application/x-ndjson" },
        body: "",
        bodySerializer: () => lines,
        parseAs: "stream",
        duplex: "half",
      });
      const summary = (await collect<ImportLine>(answer.data)).at(-1);
      assert.equal(summary?.type, "summary");
      assert.equal(summary.complete, true);
      assert.equal(summary.written, rows);

      const filter = `between(id, ${first + 10}, ${first + 9 + rows})`;
      const exported = await client.GET("/v1/employees:export", { params: { header, query: { filter } }, parseAs: "stream" });
      const all = await collect<Employee | ExportEnd>(exported.data);
      const end = all.pop();
      assert.ok(end && "complete" in end);
      assert.deepEqual(end, { complete: true, rows });
      assert.equal(all.length, rows);
    });

    test("is done once under an idempotency key", async () => {
      const once = { header: { ...header, "Idempotency-Key": crypto.randomUUID() } };
      const created = await client.POST("/v1/employees", { params: once, body: {} });
      const again = await client.POST("/v1/employees", { params: once, body: {} });
      assert.ok(created.data);
      assert.deepEqual(again.data, created.data);
      assert.equal(created.response.headers.get("Idempotency-Replayed"), null);
      assert.equal(again.response.headers.get("Idempotency-Replayed"), "true");
      const other = await client.POST("/v1/employees", { params: once, body: { department: 2 } });
      assert.equal(other.response.status, 422);
      assertCode(other.error, "idempotency_key_reused");
    });

    test("has problems with codes", async () => {
      const broken = await client.POST("/v1/employees", { params: { header }, body: { first: "x".repeat(65), department: 0 } });
      assert.equal(broken.response.status, 422);
      assertCode(broken.error, "validation_failed");
      assert.deepEqual(broken.error?.errors?.map((e) => e.pointer).toSorted(), ["/department", "/first"]);
      const lost = await client.GET("/v1/employees/{id}", { params: { path: { id: first }, header: { "X-Backend": "nowhere" } } });
      assert.equal(lost.response.status, 400);
      assertCode(lost.error, "unknown_backend");
    });

    // withEmployees stores employees with the ids from first + 1 on while use runs.
    async function withEmployees(n: number, use: (ids: number[]) => Promise<void>): Promise<void> {
      const ids = Array.from({ length: n }, (_, i) => first + 1 + i);
      const created = await client.POST("/v1/employees:batchCreate", { params: { header }, body: { employees: ids.map((id) => ({ id })) } });
      assert.equal(created.data?.done, n);
      try {
        await use(ids);
      } finally {
        await client.POST("/v1/employees:batchDelete", { params: { header }, body: { ids } });
      }
    }
  });
}

const encoder = new TextEncoder();

function assertCode(problem: { code: ProblemCode } | undefined, want: ProblemCode): void {
  assert.equal(problem?.code, want);
}

// collect decodes each line of a stream.
async function collect<Line>(stream: ReadableStream<Uint8Array> | null | undefined): Promise<Line[]> {
  assert.ok(stream);
  return (await new Response(stream).text()).trimEnd().split("\n").map((line) => JSON.parse(line) as Line);
}
