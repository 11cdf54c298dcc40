// Tests of the client, run in a browser: each exported function is one.
import { Magpie, MagpieError, serverSentEvents, signature } from "/magpie.js";

function equal(got, want, what = "") {
  const a = JSON.stringify(got), b = JSON.stringify(want);
  if (a !== b) throw new Error(`${what} got ${a}, want ${b}`);
}

async function fails(promise, want) {
  try {
    await promise;
  } catch (error) {
    if (!(error instanceof MagpieError)) throw new Error("not a MagpieError: " + error);
    for (const [name, value] of Object.entries(want)) equal(error[name], value, name);
    return error;
  }
  throw new Error("did not fail");
}

/** A fetch that plays answers one after the other, and keeps what it was asked. */
function plays(...answers) {
  const asked = [];
  const play = async (url, init) => {
    asked.push({ url, ...init });
    init.signal?.throwIfAborted();
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    if (answer instanceof Error) throw answer;
    return typeof answer === "function" ? answer(init) : answer.clone();
  };
  play.asked = asked;
  return play;
}

const json = (body, status = 200, headers = {}) => new Response(JSON.stringify(body), { status, headers: { "Content-Type": "application/json", ...headers } });
const none = { data: { results: [], total: 0, limit: 10, offset: 0, took_ms: 1 } };
const client = (fetch, more = {}) => new Magpie({ baseUrl: "https://search.example.com/", key: "svc_pk_x", fetch, ...more });
const bytes = (text) => new TextEncoder().encode(text);

/** A stream of the given pieces. */
function stream(...pieces) {
  return new ReadableStream({ start(controller) {
    for (const piece of pieces) controller.enqueue(piece);
    controller.close();
  } });
}

const sse = (text, headers = {}) => new Response(stream(bytes(text)), {
  headers: { "Content-Type": "text/event-stream", "X-Conversation-Id": "c-1", "X-Request-Id": "r-1", ...headers },
});

async function all(iterable) {
  const out = [];
  for await (const one of iterable) out.push(one);
  return out;
}

const wire = ": hello\r\n\r\nevent: content\ndata: {\"delta\":\"Gr\u00fc\u00dfe \u{1F426} \"}\n\nevent:content\rdata:{\"delta\":\rdata:\"\u4f60\u597d\"}\rid: 7\rretry: 1\r\r" +
  ": keep-alive\n\ndata\n\nevent: other\r\ndata: x\r\n\r\nevent: sources\ndata: {\"sources\":[]}\n\nevent: half\ndata: cut";
const wanted = [
  { name: "content", data: "{\"delta\":\"Gr\u00fc\u00dfe \u{1F426} \"}" }, { name: "content", data: "{\"delta\":\n\"\u4f60\u597d\"}" },
  { name: "message", data: "" }, { name: "other", data: "x" }, { name: "sources", data: "{\"sources\":[]}" },
];

export async function events_are_read_however_the_bytes_are_cut() {
  const content = bytes("\ufeff" + wire);
  equal(await all(serverSentEvents(stream(content))), wanted, "whole");
  equal(await all(serverSentEvents(stream(...Array.from(content, (b) => Uint8Array.of(b))))), wanted, "byte by byte");
  for (let cut = 0; cut <= content.length; cut++) {
    equal(await all(serverSentEvents(stream(content.slice(0, cut), new Uint8Array(0), content.slice(cut)))), wanted, "cut at " + cut);
  }
  for (let size = 2; size < 9; size++) {
    const pieces = [];
    for (let at = 0; at < content.length; at += size) pieces.push(content.slice(at, at + size));
    equal(await all(serverSentEvents(stream(...pieces))), wanted, "in pieces of " + size);
  }
}

export async function an_event_comes_as_soon_as_it_is_complete() {
  for (const end of ["\n\n", "\r\r", "\r\n\r\n"]) {
    let push;
    const events = serverSentEvents(new ReadableStream({ start(controller) { push = (text) => controller.enqueue(bytes(text)); } }));
    push("data: 1" + end);
    equal((await events.next()).value, { name: "message", data: "1" });
    push("data: 2" + end);
    equal((await events.next()).value, { name: "message", data: "2" });
    await events.return();
  }
}

export async function leaving_the_loop_cancels_the_stream() {
  let cancelled = false;
  const endless = new ReadableStream({ pull(controller) { controller.enqueue(bytes("data: 1\n\n")); }, cancel() { cancelled = true; } });
  for await (const event of serverSentEvents(endless)) if (event.data === "1") break;
  equal(cancelled, true);
}

export async function an_event_without_end_is_refused() {
  const piece = bytes("x".repeat(1 << 20));
  const endless = new ReadableStream({ pull(controller) { controller.enqueue(piece); } });
  await fails(all(serverSentEvents(endless)), { code: "bad_response" });
}

export async function a_search_sends_what_it_is_given() {
  const fetch = plays(json(none));
  const params = { query: "keys", collection: "c&d", limit: 3, offset: 6, min_score: 0.2, highlight: true, filters: { tags: ["a"], date_after: "2026-01-01" } };
  equal(await client(fetch).search(params, { headers: { "X-Service-User": "ada@example.com" } }), none.data);
  const [{ url, method, headers, body, credentials }] = fetch.asked;
  equal([url, method, credentials, JSON.parse(body)], ["https://search.example.com/v1/docs/search?route=c%26d", "POST", "omit", params]);
  equal([headers["X-Service-Key"], headers["Content-Type"], headers["X-Service-User"]], ["svc_pk_x", "application/json", "ada@example.com"]);
  await client(fetch).search("keys");
  equal([fetch.asked[1].url, JSON.parse(fetch.asked[1].body)], ["https://search.example.com/v1/docs/search", { query: "keys" }]);
}

export async function a_base_url_may_have_a_path() {
  for (const baseUrl of ["https://example.com/magpie", "https://example.com/magpie/", new URL("https://example.com/magpie/?x#y")]) {
    const fetch = plays(json(none));
    await client(fetch, { baseUrl }).search("x");
    equal(fetch.asked[0].url, "https://example.com/magpie/v1/docs/search");
  }
}

export async function errors_say_what_the_server_said() {
  const refused = json({ error: { code: "forbidden", message: "Host not allowed" } }, 403, { "X-Request-Id": "r-9" });
  await fails(client(plays(refused)).search("x"), { name: "MagpieError", status: 403, code: "forbidden", message: "Host not allowed", requestId: "r-9", retryAfter: null });
  await fails(all(client(plays(refused)).chat("x")), { status: 403, code: "forbidden" });
  await fails(client(plays(new Response("<html>Bad Gateway", { status: 502 }))).search("x"), { status: 502, code: "unavailable" });
  await fails(client(plays(new Response("", { status: 500 }))).search("x"), { status: 500, code: "bad_response", requestId: null });
  await fails(client(plays(json({ error: "no" }, 400))).search("x"), { status: 400, code: "bad_response" });
  await fails(client(plays(new Response("{", { status: 200 }))).search("x"), { status: 200, code: "bad_response" });
  await fails(client(plays(json({ data: null }))).search("x"), { status: 200, code: "bad_response" });
}

export async function a_rate_limit_is_waited_for_once_when_it_is_short() {
  const limited = (after) => json({ error: { code: "rate_limited", message: "Rate limit exceeded" } }, 429, after === null ? {} : { "Retry-After": after });
  const once = plays(limited("0"), json(none));
  equal(await client(once).search("x"), none.data);
  equal(once.asked.length, 2);
  const twice = plays(limited("0"));
  await fails(client(twice).search("x"), { status: 429, code: "rate_limited", retryAfter: 0 });
  equal(twice.asked.length, 2);
  for (const [after, seconds] of [["11", 11], [null, null], ["soon", null]]) {
    const long = plays(limited(after));
    await fails(client(long).search("x"), { code: "rate_limited", retryAfter: seconds });
    equal(long.asked.length, 1, after);
  }
  const dated = await fails(client(plays(limited(new Date(Date.now() + 60000).toUTCString()))).search("x"), {});
  if (!(dated.retryAfter > 50 && dated.retryAfter <= 60)) throw new Error("a date as " + dated.retryAfter);
  const talk = plays(limited("0"), sse("event: done\ndata: {}\n\n"));
  equal(await all(client(talk).chat("x")), [{ type: "done" }]);
  const began = performance.now();
  await client(plays(limited("1"), json(none))).search("x");
  if (performance.now() - began < 900) throw new Error("came back too early");
  await fails(client(plays(limited("1")), { maxRetryWait: 0 }).search("x"), { retryAfter: 1 });
}

export async function a_search_is_tried_again_when_the_server_was_not_reached_a_chat_is_not() {
  const down = new TypeError("Failed to fetch");
  const once = plays(down, json(none));
  equal(await client(once).search("x"), none.data);
  const twice = plays(down);
  await fails(client(twice).search("x"), { status: 0, code: "network_error", requestId: null });
  equal(twice.asked.length, 2);
  const talk = plays(down);
  await fails(all(client(talk).chat("x")), { status: 0, code: "network_error" });
  equal(talk.asked.length, 1);
}

export async function an_abort_ends_everything_with_its_reason() {
  const reason = new DOMException("left", "AbortError");
  const rejects = async (promise) => {
    try {
      await promise;
    } catch (error) {
      return equal(error === reason, true, String(error));
    }
    throw new Error("did not reject");
  };
  const early = new AbortController();
  early.abort(reason);
  const untouched = plays(json(none));
  await rejects(client(untouched).search("x", { signal: early.signal }));
  await rejects(all(client(untouched).chat("x", { signal: early.signal })));
  equal(untouched.asked.length, 0);
  // Before the response.
  const thinking = new AbortController();
  const hangs = (init) => new Promise((_, reject) => init.signal.addEventListener("abort", () => reject(init.signal.reason)));
  const waiting = client(plays(hangs)).search("x", { signal: thinking.signal });
  setTimeout(() => thinking.abort(reason));
  await rejects(waiting);
  // While waiting for the retry.
  const limited = new AbortController();
  const later = client(plays(json({ error: { code: "rate_limited", message: "" } }, 429, { "Retry-After": "9" }))).search("x", { signal: limited.signal });
  setTimeout(() => limited.abort(reason));
  await rejects(later);
  // During an answer.
  const reading = new AbortController();
  let cancelled = false;
  const endless = () => new Response(new ReadableStream({
    pull(controller) { controller.enqueue(bytes("event: content\ndata: {\"delta\":\"a\"}\n\n")); }, cancel() { cancelled = true; },
  }), { headers: { "Content-Type": "text/event-stream" } });
  await rejects((async () => {
    let n = 0;
    for await (const _ of client(plays(endless)).chat("x", { signal: reading.signal })) if (++n === 3) reading.abort(reason);
  })());
  equal(cancelled, true);
}

export async function a_chat_gives_typed_events_and_its_conversation() {
  const fetch = plays(sse("event: content\ndata: {\"delta\":\"Once \"}\n\n: keep-alive\n\nevent: content\ndata: {\"delta\":\"a year [1].\"}\n\n" +
    "event: sources\ndata: {\"sources\":[{\"id\":\"d\",\"title\":\"Keys\",\"url\":null}]}\n\nevent: novelty\ndata: ?\n\nevent: follow_up\ndata: {\"questions\":[\"Who?\"]}\n\n" +
    "event: done\ndata: {\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2,\"total_tokens\":3},\"conversation_id\":\"c-1\"}\n\nevent: content\ndata: {\"delta\":\"after\"}\n\n"));
  const chat = client(fetch).chat({ message: "How often?", conversation_id: "c-1", collection: "k" });
  equal([chat.conversationId, chat.requestId, fetch.asked.length], [null, null, 0]);
  equal(await all(chat), [
    { delta: "Once ", type: "content" }, { delta: "a year [1].", type: "content" }, { sources: [{ id: "d", title: "Keys", url: null }], type: "sources" },
    { questions: ["Who?"], type: "follow_up" }, { usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 }, conversation_id: "c-1", type: "done" },
  ]);
  equal([chat.conversationId, chat.requestId], ["c-1", "r-1"]);
  equal(JSON.parse(fetch.asked[0].body), { message: "How often?", conversation_id: "c-1", collection: "k" });
  try {
    await all(chat);
  } catch (error) {
    return equal(error instanceof TypeError, true);
  }
  throw new Error("was read twice");
}

export async function a_chat_that_breaks_off_says_so() {
  const begun = "event: content\ndata: {\"delta\":\"Once\"}\n\n";
  equal(await all(client(plays(sse(begun + "event: error\ndata: {\"error\":{\"code\":\"unavailable\",\"message\":\"Try again\"}}\n\n"))).chat("x")),
    [{ delta: "Once", type: "content" }, { error: { code: "unavailable", message: "Try again" }, type: "error" }]);
  await fails(all(client(plays(sse(begun))).chat("x")), { code: "network_error", requestId: "r-1" });
  await fails(all(client(plays(sse("event: content\ndata: {\n\n"))).chat("x")), { code: "bad_response" });
  await fails(all(client(plays(json({}))).chat("x")), { code: "bad_response" });
  const broken = () => new Response(new ReadableStream({ start(controller) {
    controller.enqueue(bytes(begun));
    controller.error(new TypeError("network"));
  } }), { headers: { "Content-Type": "text/event-stream" } });
  await fails(all(client(plays(broken)).chat("x")), { code: "network_error", status: 0 });
}

export async function a_secret_key_is_refused_in_a_page() {
  for (const options of [{ key: "svc_sk_secret" }, { key: "" }, { key: undefined }]) {
    let refused = null;
    try {
      new Magpie({ baseUrl: "https://search.example.com", ...options });
    } catch (error) {
      refused = error;
    }
    if (!(refused instanceof TypeError) || refused.message.includes("svc_sk_secret")) throw new Error("not refused: " + refused);
  }
}

export async function a_signature_is_the_hmac_of_time_and_body() {
  // From openssl dgst -sha256 -hmac.
  const made = await signature("svc_sk_secret", "{\"query\":\"gr\u00fc\u00dfe\"}", 1795521601000.7);
  equal(made, { "X-Service-Timestamp": "1795521601000", "X-Service-Signature": "2edc87f02b7ffd269bd99c27c8ed6557f5b2b97075048785994f945d34d0dab0" });
}

export async function suggestionsAreAskedForByAddress() {
  const answer = { data: { completions: ["a b"], titles: [] } };
  const fetch = plays(json(answer, 200, { "X-Request-Id": "r-7" }), json({ data: {} }), json(none, 200, { "X-Request-Id": "r-8" }));
  equal(await client(fetch).suggest({ q: "a & b", limit: 3, collection: undefined }), answer.data);
  await fails(client(fetch).suggest("x"), { code: "bad_response", status: 200 });
  const [{ url, method, body, headers }] = fetch.asked;
  equal([url, method, body, headers["X-Service-Key"], headers["Content-Type"]], ["https://search.example.com/v1/docs/suggest?q=a+%26+b&limit=3", "GET", undefined, "svc_pk_x", undefined]);
  const found = await client(fetch).search({ query: "x", prefix: true, distinct: "document", facets: ["tags"] });
  equal([found.requestId, found], ["r-8", none.data]);
  equal(fetch.asked[2].body, JSON.stringify({ query: "x", prefix: true, distinct: "document", facets: ["tags"] }));
}
