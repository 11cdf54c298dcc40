// Sends a query twice by the persisted queries of urql and of Apollo Client, and prints
// each request and result as a line of JSON: node persisted.mjs URL TOKEN
import { createHash } from "node:crypto";
import { ApolloClient, ApolloLink, gql, HttpLink, InMemoryCache } from "@apollo/client";
import { PersistedQueryLink } from "@apollo/client/link/persisted-queries";
import { Client, fetchExchange } from "@urql/core";
import { persistedExchange } from "@urql/exchange-persisted";

const [url, token] = process.argv.slice(2);
const say = (line) => console.log(JSON.stringify(line));

// fetching returns a fetch that prints what a client sends.
const fetching = (client) => async (input, init = {}) => {
  const headers = new Headers(init.headers);
  headers.set("authorization", `Bearer ${token}`);
  const response = await fetch(input, { ...init, headers });
  const address = new URL(input);
  const sent = init.body ? JSON.parse(init.body) : Object.fromEntries(address.searchParams);
  const answer = await response.clone().json();
  say({ client, method: init.method ?? "GET", query: Boolean(sent.query), status: response.status, code: answer.errors?.[0]?.extensions?.code ?? "" });
  return response;
};

const result = (client, data, error) => say({ client, role: data?.me?.role ?? "", error: error ? String(error) : "" });

for (let round = 1; round <= 2; round++) {
  // Another client each time, which has learnt nothing.
  const urql = new Client({
    url,
    exchanges: [persistedExchange(), fetchExchange],
    fetch: fetching("urql"),
  });
  const { data, error } = await urql.query("query UrqlAsks { me { role } }", {}).toPromise();
  result("urql", data, error);
}

// Apollo Client asks with GET only if it is told to.
for (const [name, asks, useGETForHashedQueries] of [["apollo", "ApolloAsks", true], ["apollo by default", "ApolloAsksByDefault", undefined]]) {
  for (let round = 1; round <= 2; round++) {
    const sha256 = (text) => createHash("sha256").update(text).digest("hex");
    const apollo = new ApolloClient({
      cache: new InMemoryCache(),
      link: ApolloLink.from([
        new PersistedQueryLink({ sha256, useGETForHashedQueries }),
        new HttpLink({ uri: url, fetch: fetching(name) }),
      ]),
    });
    try {
      const { data, error } = await apollo.query({ query: gql(`query ${asks} { me { role } }`), fetchPolicy: "no-cache" });
      result(name, data, error);
    } catch (error) {
      result(name, null, error);
    }
    apollo.stop();
  }
}
