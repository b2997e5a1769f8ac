import createClient from "openapi-fetch";
import type { paths } from "./client.js";

export async function move(gateway: string, id: number, city: string): Promise<void> {
  const client = createClient<paths>({ baseUrl: gateway });
  const read = await client.GET("/v1/employees/{id}", {
    params: { path: { id }, header: { "X-Backend": "ndb" } },
  });
  if (read.error) throw new Error(`reading ${id}: ${read.error.code}`);
  const written = await client.PATCH("/v1/employees/{id}", {
    params: { path: { id }, header: { "If-Match": read.response.headers.get("ETag")! } },
    body: { city },
  });
  if (written.error?.code === "precondition_failed") throw new Error(`${id} was changed meanwhile`);
}
