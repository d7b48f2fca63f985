// Asks a decision service by the client that is generated from its OpenAPI document.
import createClient from "openapi-fetch";
import type { paths } from "./decisions.js";

declare const process: { env: Record<string, string>; exitCode: number };

const client = createClient<paths>({ baseUrl: process.env.URL, headers: { Authorization: process.env.AUTHORIZATION } });

for (const user of ["alice", "mallory"]) {
  const { data, error } = await client.POST("/cdap/v1/operation", {
    body: { user, operation: "dataset.get", entity: { type: "dataset", parts: ["ns1", "kv"] } },
  });
  if (error !== undefined) throw new Error(JSON.stringify(error));
  const allowed: boolean = data.allowed;
  console.log(`${user} ${allowed}`);
}
