// Runs the audits of graphql-http (the GraphQL-over-HTTP specification) against
// a server and prints one JSON object for each: node audit.mjs URL [TOKEN]
import { serverAudits } from "graphql-http";

const [url, token] = process.argv.slice(2);
const fetchFn = (input, init = {}) => {
  const headers = new Headers(init.headers);
  if (token) headers.set("authorization", `Bearer ${token}`);
  return fetch(input, { ...init, headers });
};

for (const audit of serverAudits({ url, fetchFn })) {
  const result = await audit.fn();
  if (result.response?.body && !result.response.bodyUsed) await result.response.body.cancel();
  console.log(JSON.stringify({ id: audit.id, name: audit.name, status: result.status, reason: result.reason ?? "" }));
}
