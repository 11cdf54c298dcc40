// Speaks to a server over WebSocket as graphql-ws does, and prints what it saw
// as lines of JSON: node client.mjs SCENARIO URL '{"token": …, further variables}'
import { createClient } from "graphql-ws";
import WebSocket from "ws";

const [scenario, url, text] = process.argv.slice(2);
const given = JSON.parse(text);
const say = (what, more = {}) => console.log(JSON.stringify({ what, ...more }));

const client = (options = {}) =>
  createClient({
    url,
    webSocketImpl: WebSocket,
    connectionParams: { authorization: `Bearer ${given.token}` },
    retryAttempts: 0,
    on: {
      connected: () => say("connected"),
      closed: (event) => say("closed", { code: event.code, reason: event.reason }),
      ping: (received) => say("ping", { received }),
      pong: (received) => say("pong", { received }),
    },
    ...options,
  });

// run subscribes and settles when the operation has ended.
const run = (c, query, variables, name = "") =>
  new Promise((resolve) =>
    c.subscribe(
      { query, variables },
      {
        next: (result) => say("next", { name, result }),
        error: (error) => {
          const list = Array.isArray(error) ? error : undefined;
          say("error", { name, list, code: error?.code, reason: error?.reason });
          resolve();
        },
        complete: () => {
          say("complete", { name });
          resolve();
        },
      },
    ),
  );

// raw sends messages as they are and tells how the connection ended.
const raw = (messages, protocol = "graphql-transport-ws") =>
  new Promise((resolve) => {
    const socket = new WebSocket(url, protocol);
    socket.on("open", () => messages.forEach((m) => socket.send(typeof m === "string" ? m : JSON.stringify(m))));
    socket.on("message", (data) => say("message", { message: JSON.parse(data) }));
    socket.on("error", (error) => say("failed", { reason: error.message }));
    socket.on("close", (code, reason) => {
      say("closed", { code, reason: reason.toString() });
      resolve();
    });
  });

const init = { type: "connection_init", payload: { authorization: `Bearer ${given.token}` } };
const endless = { query: given.endless, variables: given.variables };

const scenarios = {
  // One subscription over a connection that is made for it and closed after it.
  lazy: () => run(client({ lazy: true }), given.query, given.variables),
  // The connection is there before anything is asked, and stays.
  eager: async () => {
    const c = await new Promise((resolve) => {
      const c = client({ lazy: false, on: { connected: () => (say("connected"), resolve(c)), closed: (e) => say("closed", { code: e.code, reason: e.reason }) } });
    });
    await run(c, "{ me { role } }");
    await run(c, given.query, given.variables);
    await c.dispose();
  },
  // The client's own pings are answered.
  ping: async () => {
    const c = client({ lazy: false, keepAlive: 50, on: { pong: (received) => received && (say("pong", { received }), c.dispose()), closed: (e) => say("closed", { code: e.code }) } });
    await new Promise((resolve) => c.on("closed", resolve));
  },
  subprotocol: () => raw([], "graphql-ws"),
  noSubprotocol: () => raw([], []),
  badPayload: () => raw([{ type: "connection_init", payload: "no object" }]),
  badJSON: () => raw(["{"]),
  badType: () => raw([{ type: "start" }]),
  badSubscribe: () => raw([init, { type: "subscribe", id: "1", payload: { query: 1 } }]),
  noID: () => raw([init, { type: "subscribe", payload: { query: "{ me { role } }" } }]),
  beforeInit: () => raw([{ type: "subscribe", id: "1", payload: { query: "{ me { role } }" } }]),
  twiceInit: () => raw([init, init]),
  twiceID: () => raw([init, { type: "subscribe", id: "1", payload: endless }, { type: "subscribe", id: "1", payload: endless }]),
  refused: () => run(client({ connectionParams: { authorization: "Bearer forged" } }), "{ me { role } }"),
  wrongQuery: () => run(client(), "{ nothing }"),
  // More operations than a connection may have: the first ones go on.
  tooMany: async () => {
    const c = client();
    for (let i = 0; i < given.most; i++) void run(c, given.endless, given.variables, `kept ${i}`);
    await run(c, given.endless, given.variables, "one more");
    await c.terminate();
  },
  // Loses its connection after each event, and comes back with the cursor, as docs/subscriptions.md has it.
  resume: async () => {
    const c = client();
    for (let after = null, round = 0; round < given.rounds; round++) {
      try {
        for await (const { data, errors } of c.iterate({ query: given.query, variables: { ...given.variables, after } })) {
          if (errors) throw errors;
          after = data.documentStatus.cursor;
          say("next", { result: { data } });
          c.terminate();
        }
      } catch (problem) {
        say("lost", { code: problem.code });
        await new Promise((resolve) => setTimeout(resolve, given.away));
      }
    }
  },
  // Waits for whatever ends it, and comes back where that makes sense.
  held: () => run(client({ retryAttempts: given.retries ?? 0, retryWait: () => new Promise((r) => setTimeout(r, 50)) }), given.endless, given.variables),
};

await scenarios[scenario]();
process.exit(0);
