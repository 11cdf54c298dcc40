"use strict";

const $ = (id) => document.getElementById(id);

const examples = {
  "Who am I": ["query {\n  me {\n    role\n    user { email }\n    workspace { id name }\n  }\n}", {}],
  "Collections": ["query {\n  collections(first: 20) {\n    totalCount\n    edges {\n      node {\n        id\n        name\n        stats { documentCount embeddingCount lastSync }\n        connectorIds\n      }\n    }\n  }\n}", {}],
  "Search": ["query Search($input: SearchInput!) {\n  search(input: $input) {\n    total\n    tookMs\n    results { title score headingPath snippet version }\n  }\n}", { input: { query: "how do I rotate the signing key", highlight: true, limit: 5 } }],
  "Connectors": ["query {\n  connectors(first: 20) {\n    edges { node { id name type status lastSync docSync { syncStrategy scheduleInterval } } }\n  }\n}", {}],
  "Start a sync": ["mutation Start($connector: ID!) {\n  startSync(connectorId: $connector, input: { syncMode: \"full\" }) { id status }\n}", { connector: "" }],
  "Watch a sync": ["subscription Watch($job: ID!) {\n  syncProgress(jobId: $job) {\n    status\n    progress { collected parsed indexed }\n    stats { added modified deleted unchanged skipped errors }\n    warnings\n    error\n  }\n}", { job: "" }],
  "Chat": ["subscription Chat($input: ChatInput!) {\n  chat(input: $input) {\n    ... on ChatStart { conversationId }\n    ... on ChatContent { delta }\n    ... on ChatSources { sources { title url } }\n    ... on ChatFollowUp { questions }\n    ... on ChatDone { usage { totalTokens } }\n    ... on StreamError { code message }\n  }\n}", { input: { message: "How do I rotate the signing key?" } }],
};

let tokens = null; // in memory only, so a reload signs out
let running = null; // stops the running operation

function status(text, bad) {
  $("status").textContent = text;
  $("status").className = bad ? "bad" : "";
}

function show(value) {
  $("result").textContent = typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

async function post(body, signal) {
  const headers = { "Content-Type": "application/json" };
  if (tokens) headers.Authorization = "Bearer " + tokens.accessToken;
  const response = await fetch("/graphql", { method: "POST", headers, body: JSON.stringify(body), signal });
  return { code: response.status, body: await response.json() };
}

// Refreshes the access token shortly before it expires.
async function fresh() {
  if (!tokens || Date.parse(tokens.expiresAt) - Date.now() > 30000) return;
  const refreshToken = tokens.refreshToken;
  tokens = null;
  const answer = await post({
    query: "mutation($token: String!) { refreshSession(refreshToken: $token) { accessToken refreshToken expiresAt } }",
    variables: { token: refreshToken },
  });
  tokens = answer.body.data && answer.body.data.refreshSession;
  if (!tokens) signedOut("The session has ended: sign in again.");
}

function signedOut(text) {
  tokens = null;
  $("sign-in").hidden = false;
  $("sign-out").hidden = true;
  status(text || "Not signed in.", Boolean(text));
}

$("sign-in").addEventListener("submit", async (event) => {
  event.preventDefault();
  try {
    const answer = await post({
      query: "mutation($input: SignInInput!) { signIn(input: $input) { accessToken refreshToken expiresAt } }",
      variables: { input: { email: $("email").value, password: $("password").value } },
    });
    tokens = answer.body.data && answer.body.data.signIn;
    if (!tokens) throw new Error(answer.body.errors ? answer.body.errors[0].message : "sign-in failed");
    $("password").value = "";
    $("who").textContent = $("email").value;
    $("sign-in").hidden = true;
    $("sign-out").hidden = false;
    status("Signed in.");
  } catch (error) {
    status(error.message, true);
  }
});

$("sign-out").addEventListener("submit", async (event) => {
  event.preventDefault();
  await post({ query: "mutation { signOut }" }).catch(() => {});
  signedOut();
});

function variables() {
  const text = $("variables").value.trim();
  return text === "" ? {} : JSON.parse(text);
}

async function run() {
  stop();
  let body;
  try {
    body = { query: $("query").value, variables: variables() };
  } catch (error) {
    status("The variables are not valid JSON: " + error.message, true);
    return;
  }
  $("stop").disabled = false;
  try {
    await fresh();
    if (/^\s*subscription\b/m.test(body.query)) subscribe(body);
    else await once(body);
  } catch (error) {
    if (error.name !== "AbortError") status(error.message, true);
    stop();
  }
}

async function once(body) {
  const abort = new AbortController();
  running = () => abort.abort();
  status("Running…");
  const began = performance.now();
  const answer = await post(body, abort.signal);
  running = null;
  $("stop").disabled = true;
  status(`HTTP ${answer.code} in ${Math.round(performance.now() - began)} ms`, Boolean(answer.body.errors));
  show(answer.body);
}

function subscribe(body) {
  const socket = new WebSocket(location.origin.replace(/^http/, "ws") + "/graphql", "graphql-transport-ws");
  const send = (message) => socket.send(JSON.stringify(message));
  let events = 0;
  let ended = false;
  const end = (text, bad) => {
    if (ended) return;
    ended = true;
    status(text, bad);
    socket.close();
    running = null;
    $("stop").disabled = true;
  };
  running = () => end(`Stopped after ${events} events.`);
  show("");
  status("Connecting…");
  socket.onopen = () => send({ type: "connection_init", payload: tokens ? { authorization: "Bearer " + tokens.accessToken } : {} });
  socket.onmessage = (message) => {
    const frame = JSON.parse(message.data);
    switch (frame.type) {
      case "connection_ack":
        send({ id: "1", type: "subscribe", payload: body });
        status("Subscribed.");
        break;
      case "ping":
        send({ type: "pong" });
        break;
      case "next":
        events++;
        $("result").textContent += JSON.stringify(frame.payload.errors ? frame.payload : frame.payload.data) + "\n";
        $("result").scrollTop = $("result").scrollHeight;
        status(`${events} events`);
        break;
      case "error":
        $("result").textContent += JSON.stringify(frame.payload, null, 2) + "\n";
        end("The subscription failed.", true);
        break;
      case "connection_error":
        end(frame.payload && frame.payload.message ? frame.payload.message : "The connection was refused.", true);
        break;
      case "complete":
        end(`Complete after ${events} events.`);
        break;
    }
  };
  socket.onclose = (event) => end(event.reason || "The connection was closed.", true);
}

function stop() {
  if (running) running();
  running = null;
  $("stop").disabled = true;
}

function kind(type) {
  if (type.kind === "NON_NULL") return kind(type.ofType) + "!";
  if (type.kind === "LIST") return "[" + kind(type.ofType) + "]";
  return type.name;
}

// The root fields with their arguments, which is what one looks up most.
async function schema() {
  try {
    await fresh();
    const of = "kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name } } } }";
    const fields = `fields { name description args { name type { ${of} } } type { ${of} } }`;
    const answer = await post({ query: `{ __schema { queryType { ${fields} } mutationType { ${fields} } subscriptionType { ${fields} } } }` });
    if (answer.body.errors) throw new Error(answer.body.errors[0].message);
    const text = [];
    for (const [title, root] of Object.entries(answer.body.data.__schema)) {
      if (!root) continue;
      text.push(title.replace("Type", ""), "");
      for (const field of root.fields) {
        if (field.description) text.push("  # " + field.description.replace(/\n/g, "\n  # "));
        const args = field.args.map((a) => `${a.name}: ${kind(a.type)}`).join(", ");
        text.push(`  ${field.name}${args ? `(${args})` : ""}: ${kind(field.type)}`, "");
      }
    }
    show(text.join("\n"));
    status("The fields that operations begin with.");
  } catch (error) {
    status(error.message + (tokens ? "" : " (sign in to see the schema)"), true);
  }
}

for (const name of Object.keys(examples)) $("examples").append(new Option(name, name));
function example() {
  const [query, vars] = examples[$("examples").value];
  $("query").value = query;
  $("variables").value = JSON.stringify(vars, null, 2);
}
$("examples").addEventListener("change", example);
$("run").addEventListener("click", run);
$("stop").addEventListener("click", stop);
$("schema").addEventListener("click", schema);
document.addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key === "Enter") run();
});
example();
signedOut();
