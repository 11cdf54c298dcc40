/** Magpie's client for the public surface: search and chat with an API key. */

export interface Options {
  /** Where Magpie is: `https://search.example.com`, with a path where it is served below one. */
  baseUrl: string | URL;
  /** A publishable key (`svc_pk_…`) in browsers, a secret key (`svc_sk_…`) on servers. */
  key: string;
  /** Another fetch; the global one when omitted. */
  fetch?: typeof globalThis.fetch;
  /** Signs every request with the secret key. */
  sign?: boolean;
  /** The most seconds that a request waits to be tried once more when the rate limit is hit (10); 0 never waits. */
  maxRetryWait?: number;
}

export interface RequestOptions {
  /** Ends the request; it then rejects with the signal's reason. */
  signal?: AbortSignal;
  /** Further headers, e.g. `X-Service-User` with a secret key. */
  headers?: Record<string, string>;
}

export interface Filters {
  section?: string;
  version?: string;
  /** Any of these. */
  tags?: string[];
  /** Any of these. */
  doc_types?: string[];
  /** A language code: `en`. */
  language?: string;
  /** YYYY-MM-DD, inclusive. */
  date_after?: string;
  /** YYYY-MM-DD, inclusive. */
  date_before?: string;
}

export interface SearchParams {
  query: string;
  /** A collection's id; the key's default collection when omitted. */
  collection?: string;
  /** 1 to 100; 10 when omitted. */
  limit?: number;
  /** 0 or more. */
  offset?: number;
  /** 0 (everything) to 1; the server's, usually 0.5, when omitted. */
  min_score?: number;
  /** Wraps the query's words in `<mark>` in the snippets. */
  highlight?: boolean;
  filters?: Filters;
}

/** A passage that was found. */
export interface SearchResult {
  id: string;
  document_id: string;
  title: string;
  url: string | null;
  /** HTML: escaped text, with `<mark>` and nothing else when highlighting was asked for. */
  snippet: string;
  /** 0 to 1. */
  score: number;
  section: string | null;
  version: string | null;
  tags: string[];
  doc_type: string | null;
  language: string | null;
  /** The collection's name. */
  collection: string;
  /** The kind of source. */
  source: string;
  /** The headings above the passage, the outermost first. */
  heading_path: string[];
  /** ISO 8601. */
  updated_at: string | null;
  metadata: Record<string, unknown>;
}

export interface SearchResults {
  results: SearchResult[];
  total: number;
  limit: number;
  offset: number;
  took_ms: number;
}

export interface ChatParams {
  /** At most 4,000 characters. */
  message: string;
  /** Goes on with a conversation. */
  conversation_id?: string;
  /** Answers from this collection only. */
  collection?: string;
}

export interface Source {
  id: string;
  title: string;
  url: string | null;
}

export interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
}

/** More of the answer: Markdown, in which `[1]` cites the first of the sources. */
export interface ContentEvent { type: "content"; delta: string }
/** The documents that the answer cites. */
export interface SourcesEvent { type: "sources"; sources: Source[] }
/** Questions that could be asked next. */
export interface FollowUpEvent { type: "follow_up"; questions: string[] }
/** The answer is complete. */
export interface DoneEvent { type: "done"; usage: Usage; conversation_id: string }
/** The answer broke off; the message may be shown to visitors. */
export interface ErrorEvent { type: "error"; error: { code: string; message: string } }
export type ChatEvent = ContentEvent | SourcesEvent | FollowUpEvent | DoneEvent | ErrorEvent;

/** The answer to one message, to be read once; `done` or `error` is its last event. */
export declare class ChatStream implements AsyncIterable<ChatEvent> {
  private constructor();
  readonly signal?: AbortSignal;
  /** The conversation, to go on with; null until the first event. */
  readonly conversationId: string | null;
  /** The id of the request in the server's log; null until the first event. */
  readonly requestId: string | null;
  [Symbol.asyncIterator](): AsyncGenerator<ChatEvent, void, void>;
}

export type ErrorCode =
  | "invalid_request" | "unauthorized" | "invalid_key" | "key_expired" | "invalid_signature" | "quota_exceeded" | "forbidden"
  | "not_found" | "too_large" | "rate_limited" | "internal" | "unavailable" | "network_error" | "bad_response"
  | (string & {});

/** What went wrong; an aborted request rejects with the signal's reason instead. */
export declare class MagpieError extends Error {
  constructor(about: {
    status?: number; code: ErrorCode; message: string; requestId?: string | null; retryAfter?: number | null; cause?: unknown;
  });
  /** The HTTP status; 0 when there was no answer. */
  readonly status: number;
  /** The server's code, or `network_error` or `bad_response`. */
  readonly code: ErrorCode;
  /** The id under which the server's log has the request. */
  readonly requestId: string | null;
  /** Seconds to wait before trying again. */
  readonly retryAfter: number | null;
}

/** A client of one Magpie with one key. */
export declare class Magpie {
  constructor(options: Options);
  readonly baseUrl: string;
  /** Searches. */
  search(params: SearchParams | string, options?: RequestOptions): Promise<SearchResults>;
  /** Asks; nothing is sent before the stream is read. */
  chat(params: ChatParams | string, options?: RequestOptions): ChatStream;
}

/** Reads server-sent events from bytes. */
export declare function serverSentEvents(stream: ReadableStream<Uint8Array>): AsyncGenerator<{ name: string; data: string }, void, void>;

/** The headers that sign a body with a secret key; the body of a GET is empty. */
export declare function signature(key: string, body: string, now?: number): Promise<{
  "X-Service-Timestamp": string;
  "X-Service-Signature": string;
}>;
