// @ts-self-types="./magpie.d.ts"
// Magpie's client for the public surface: search and chat with an API key.
// One ES module without dependencies, for browsers (publishable key) and for
// Node 18 or later, Deno, Bun and workers (secret key).

/** @typedef {import("./magpie.d.ts").Options} Options */
/** @typedef {import("./magpie.d.ts").SearchParams} SearchParams */
/** @typedef {import("./magpie.d.ts").SearchResults} SearchResults */
/** @typedef {import("./magpie.d.ts").SuggestParams} SuggestParams */
/** @typedef {import("./magpie.d.ts").Suggestions} Suggestions */
/** @typedef {import("./magpie.d.ts").VisitorEvent} VisitorEvent */
/** @typedef {import("./magpie.d.ts").ChatParams} ChatParams */
/** @typedef {import("./magpie.d.ts").ChatEvent} ChatEvent */
/** @typedef {import("./magpie.d.ts").RequestOptions} RequestOptions */

/** The events of a chat. Unknown ones of a later server are skipped. */
const CHAT_EVENTS = new Set(["content", "sources", "follow_up", "done", "error"]);

/** The maximum characters of a server-sent event. Magpie sends no longer ones. */
const MAX_EVENT = 4 << 20;

/**
 * An error of a request. `code` is that of the server (`rate_limited`,
 * `forbidden`, …), `network_error` (status 0: no connection, or it failed) or
 * `bad_response` (a response that is not Magpie's). An aborted request rejects
 * with the signal's reason instead.
 */
class MagpieError extends Error {
  /**
   * @param {{status?: number, code: string, message: string, requestId?: string | null, retryAfter?: number | null, cause?: unknown}} about
   */
  constructor({ status = 0, code, message, requestId = null, retryAfter = null, cause }) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "MagpieError";
    /** The HTTP status; 0 without a response. */
    this.status = status;
    this.code = code;
    /** The ID of the request in the server's log; null without a response. */
    this.requestId = requestId;
    /** The seconds to wait before a retry; null if unknown. */
    this.retryAfter = retryAfter;
  }
}

/**
 * Returns the headers that sign a request with a secret key: the hex HMAC-SHA256 of
 * the timestamp, a dot and the exact body.
 *
 * @param {string} key the secret key
 * @param {string} body the exact body; empty for GET
 * @param {number} [now] Unix milliseconds
 * @returns {Promise<{"X-Service-Timestamp": string, "X-Service-Signature": string}>}
 */
async function signature(key, body, now = Date.now()) {
  // In Node 18, WebCrypto is not a global.
  const { subtle } = globalThis.crypto ?? (await import(/* webpackIgnore: true */ /* @vite-ignore */ "node:crypto")).webcrypto;
  const bytes = new TextEncoder();
  const timestamp = String(Math.trunc(now));
  const hmac = await subtle.importKey("raw", bytes.encode(key), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  const mac = new Uint8Array(await subtle.sign("HMAC", hmac, bytes.encode(timestamp + "." + body)));
  return {
    "X-Service-Timestamp": timestamp,
    "X-Service-Signature": Array.from(mac, (b) => b.toString(16).padStart(2, "0")).join(""),
  };
}

/**
 * Parses server-sent events from chunks of bytes. Comments, `id` and `retry` are
 * skipped. As the standard requires, an incomplete last event is dropped. Leaving
 * the loop cancels the stream.
 *
 * @param {ReadableStream<Uint8Array>} stream
 * @returns {AsyncGenerator<{name: string, data: string}, void, void>}
 */
async function* serverSentEvents(stream) {
  const reader = stream.getReader();
  const decoder = new TextDecoder(); // removes a byte order mark
  let text = "", from = 0; // text has no line break before from
  let afterCR = false; // a following line feed belongs to the same line break
  let name = "", data = "", any = false;
  try {
    for (;;) {
      const { value, done } = await reader.read();
      let piece = done ? decoder.decode() : decoder.decode(value, { stream: true });
      if (afterCR && piece !== "") {
        if (piece[0] === "\n") piece = piece.slice(1);
        afterCR = false;
      }
      text += piece;
      const lineBreak = /\r\n|\n|\r/g;
      lineBreak.lastIndex = from;
      let start = 0;
      for (let at; (at = lineBreak.exec(text)); start = lineBreak.lastIndex) {
        afterCR = at[0] === "\r" && lineBreak.lastIndex === text.length;
        const line = text.slice(start, at.index);
        if (line === "") {
          if (any) yield { name: name || "message", data };
          name = data = "";
          any = false;
          continue;
        }
        const colon = line.indexOf(":");
        const field = colon < 0 ? line : line.slice(0, colon);
        let content = colon < 0 ? "" : line.slice(colon + 1);
        if (content[0] === " ") content = content.slice(1);
        if (field === "event") name = content;
        else if (field === "data") {
          data = any ? data + "\n" + content : content;
          any = true;
        }
      }
      text = text.slice(start);
      from = text.length;
      if (from + data.length > MAX_EVENT) throw new MagpieError({ code: "bad_response", message: "An event of the answer is too long" });
      if (done) return;
    }
  } finally {
    reader.cancel().catch(() => {}); // the rest is not needed
  }
}

/** @param {string | null} header seconds or a date @returns {number | null} seconds */
function retryAfterOf(header) {
  if (!header) return null;
  const seconds = /^\d+$/.test(header.trim()) ? Number(header) : Math.ceil((Date.parse(header) - Date.now()) / 1000);
  return Number.isFinite(seconds) ? Math.max(0, seconds) : null;
}

/** @param {Response} response @returns {Promise<MagpieError>} */
async function errorOf(response) {
  const { status, headers } = response;
  let said;
  try {
    said = (await response.json())?.error;
  } catch (_) {
    said = null; // the page of a proxy, or empty
  }
  const known = typeof said?.code === "string" && typeof said?.message === "string";
  return new MagpieError({
    status,
    code: known ? said.code : status === 429 ? "rate_limited" : status >= 502 && status <= 504 ? "unavailable" : "bad_response",
    message: known ? said.message : "The server answered with status " + status,
    requestId: headers.get("X-Request-Id"),
    retryAfter: retryAfterOf(headers.get("Retry-After")),
  });
}

/**
 * Waits until a time has passed or the signal aborts.
 * @param {number} ms
 * @param {AbortSignal | undefined} signal
 */
function pause(ms, signal) {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve(undefined);
    }, ms);
    if (signal?.aborted) stop();
    else signal?.addEventListener("abort", stop, { once: true });
  });
}

/**
 * Returns the data of a response, which must have a list.
 * @param {Response} response
 * @param {AbortSignal | undefined} signal
 * @param {string} list
 * @param {string} message
 */
async function answerOf(response, signal, list, message) {
  let data, cause;
  try {
    data = (await response.json())?.data;
  } catch (thrown) {
    signal?.throwIfAborted();
    cause = thrown;
  }
  if (!Array.isArray(data?.[list])) {
    throw new MagpieError({ status: response.status, code: "bad_response", message, requestId: response.headers.get("X-Request-Id"), cause });
  }
  return data;
}

/** The answer to a message: an async iterable of events that can be read once. */
class ChatStream {
  #open;
  #read = false;

  /** @param {() => Promise<Response>} open @param {AbortSignal} [signal] */
  constructor(open, signal) {
    this.#open = open;
    this.signal = signal;
    /** The ID of the conversation; null until the first event. @type {string | null} */
    this.conversationId = null;
    /** The ID of the request in the server's log; null until the first event. @type {string | null} */
    this.requestId = null;
  }

  /** @returns {AsyncGenerator<ChatEvent, void, void>} */
  async *[Symbol.asyncIterator]() {
    if (this.#read) throw new TypeError("a chat stream can be read once");
    this.#read = true;
    const response = await this.#open();
    this.conversationId = response.headers.get("X-Conversation-Id");
    this.requestId = response.headers.get("X-Request-Id");
    const bad = (message, cause) => new MagpieError({ status: response.status, code: "bad_response", message, requestId: this.requestId, cause });
    if (!response.body || !/^text\/event-stream\b/i.test(response.headers.get("Content-Type") ?? "")) {
      response.body?.cancel().catch(() => {});
      throw bad("The answer is not a stream of events");
    }
    try {
      for await (const { name, data } of serverSentEvents(response.body)) {
        this.signal?.throwIfAborted();
        if (!CHAT_EVENTS.has(name)) continue;
        let fields;
        try {
          fields = JSON.parse(data);
        } catch (cause) {
          throw bad("An event of the answer is not JSON", cause);
        }
        if (name === "done" && fields.conversation_id) this.conversationId = fields.conversation_id;
        yield { ...fields, type: name };
        if (name === "done" || name === "error") return;
      }
    } catch (cause) {
      this.signal?.throwIfAborted();
      if (cause instanceof MagpieError) throw cause;
      throw new MagpieError({ code: "network_error", message: "The connection broke during the answer", requestId: this.requestId, cause });
    }
    throw new MagpieError({ code: "network_error", message: "The answer ended early", requestId: this.requestId });
  }
}

/** A client for one server and key. */
class Magpie {
  #key;
  #fetch;
  #sign;
  #maxRetryWait;

  /** @param {Options} options */
  constructor({ baseUrl, key, fetch = globalThis.fetch, sign = false, maxRetryWait = 10 }) {
    if (typeof key !== "string" || key === "") throw new TypeError("Magpie: key is missing");
    if (key.startsWith("svc_sk_") && typeof document === "object") {
      throw new TypeError("Magpie: a secret key (svc_sk_…) must not be given to a browser; use the publishable key (svc_pk_…)");
    }
    if (typeof fetch !== "function") throw new TypeError("Magpie: there is no fetch here; give one");
    /** The URL of Magpie without a trailing slash. */
    this.baseUrl = new URL(baseUrl, globalThis.location?.href).href.replace(/[?#].*$/, "").replace(/\/+$/, "");
    this.#key = key;
    // fetch of browsers must be called as a function, without another receiver.
    this.#fetch = (...given) => fetch(...given);
    this.#sign = sign;
    this.#maxRetryWait = maxRetryWait;
  }

  /**
   * Searches. Rejects with a MagpieError, or with the signal's reason.
   * @param {SearchParams | string} params the parameters or the query
   * @param {RequestOptions} [options]
   * @returns {Promise<SearchResults>}
   */
  async search(params, { signal, headers, keepalive } = {}) {
    const response = await this.#post("/v1/docs/search", typeof params === "string" ? { query: params } : params, { signal, headers, keepalive, again: true });
    const data = await answerOf(response, signal, "results", "The answer is not a list of results");
    // Not enumerable, so that the results stay those of the server.
    return Object.defineProperty(data, "requestId", { value: response.headers.get("X-Request-Id") });
  }

  /**
   * Returns what a query may become that is being typed: completions and titles.
   * @param {SuggestParams | string} params the parameters or what was typed
   * @param {RequestOptions} [options]
   * @returns {Promise<Suggestions>}
   */
  async suggest(params, { signal, headers } = {}) {
    const given = typeof params === "string" ? { q: params } : params;
    const query = new URLSearchParams();
    const add = (name, value) => {
      if (value === undefined || value === null) return;
      if (Array.isArray(value)) value.forEach((one) => add(name, one));
      else if (typeof value === "object") Object.entries(value).forEach(([key, one]) => add(name + "[" + key + "]", one));
      else query.append(name, String(value));
    };
    Object.entries(given).forEach(([name, value]) => add(name, value));
    const response = await this.#send("/v1/docs/suggest?" + query, { method: "GET", signal, headers, again: true });
    return answerOf(response, signal, "completions", "The answer has no completions");
  }

  /**
   * Asks a question. The request is sent when the stream is read. Reading throws a
   * MagpieError or the signal's reason. Leaving the loop stops the answer on the
   * server.
   * @param {ChatParams | string} params the parameters or the message
   * @param {RequestOptions} [options]
   */
  chat(params, { signal, headers } = {}) {
    const body = typeof params === "string" ? { message: params } : params;
    return new ChatStream(() => this.#post("/v1/chat/stream", body, { signal, headers, accept: "text/event-stream" }), signal);
  }

  /**
   * Records a click on a result, or a thumb for an answer: type, request_id (the
   * requestId of results or a chat), result_id, document_id, position, rating,
   * reason. The request outlives the page.
   * @param {VisitorEvent} event
   * @param {RequestOptions} [options]
   */
  async record(event, { signal, headers } = {}) {
    await this.#post("/v1/docs/events", event, { signal, headers, keepalive: true });
  }

  #post(path, params, options) {
    // Proxies do not read bodies. By the route they send requests for one collection to one server.
    const route = params?.collection ? "?route=" + encodeURIComponent(params.collection) : "";
    return this.#send(path + route, { ...options, method: "POST", body: JSON.stringify(params) });
  }

  /**
   * Sends a request. It retries once after the rate limit was exceeded and, for
   * requests without an effect, after a network error.
   */
  async #send(path, { method, body, signal, headers, accept = "application/json", again = false, keepalive = false }) {
    for (let last = false; ; last = true) {
      signal?.throwIfAborted();
      const sent = {
        ...headers, Accept: accept, "X-Service-Key": this.#key, ...(body === undefined ? undefined : { "Content-Type": "application/json" }),
        ...(this.#sign ? await signature(this.#key, body ?? "") : undefined),
      };
      let response;
      try {
        response = await this.#fetch(this.baseUrl + path, { method, headers: sent, body, signal, credentials: "omit", cache: "no-store", keepalive });
      } catch (cause) {
        signal?.throwIfAborted();
        if (!again || last) throw new MagpieError({ code: "network_error", message: "The server could not be reached", cause });
        await pause(250 + Math.random() * 250, signal);
        continue;
      }
      if (response.ok) return response;
      const error = await errorOf(response);
      signal?.throwIfAborted();
      if (last || error.status !== 429 || error.retryAfter === null || error.retryAfter > this.#maxRetryWait) throw error;
      await pause(error.retryAfter * 1000, signal);
    }
  }
}

export { Magpie, MagpieError, ChatStream, serverSentEvents, signature };
