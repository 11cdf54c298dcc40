/** Magpie's client for the public surface: search and chat with an API key. */

export interface Options {
  /** The URL of Magpie: `https://search.example.com`, optionally with a path. */
  baseUrl: string | URL;
  /** A publishable key (`svc_pk_…`) in browsers, a secret key (`svc_sk_…`) on servers. */
  key: string;
  /** A replacement for the global fetch. */
  fetch?: typeof globalThis.fetch;
  /** Signs every request with the secret key. */
  sign?: boolean;
  /** The maximum seconds to wait before the one retry after the rate limit was exceeded; default 10, 0 disables the retry. */
  maxRetryWait?: number;
}

export interface RequestOptions {
  /** Aborts the request, which then rejects with the signal's reason. */
  signal?: AbortSignal;
  /** Further headers, e.g. `X-Service-User` with a secret key. */
  headers?: Record<string, string>;
  /** Lets a search outlive the page. */
  keepalive?: boolean;
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
  /** The ID of a collection; default the key's default collection. */
  collection?: string;
  /** 1 to 100; default 10. */
  limit?: number;
  /** 0 or more. */
  offset?: number;
  /** 0 (everything) to 1; the default of the server is usually 0.5. */
  min_score?: number;
  /** Wraps the words of the query in `<mark>` in the snippets. */
  highlight?: boolean;
  filters?: Filters;
  /** The query is being typed: its last word also counts as the beginning of a word. */
  prefix?: boolean;
  /** One result for each value: `document`, `section`, `version`, `doc_type`, `language`, `collection`, `source`, or `metadata.` and a key. */
  distinct?: string;
  /** Shows passages of different documents whose text is the same, or nearly the same in another version, once; default true. */
  collapse?: boolean;
  /** Counts documents by these. */
  facets?: FacetName[];
  /** Values of each facet, 1 to 100; default 20. */
  facet_limit?: number;
}

export type FacetName = "section" | "version" | "tags" | "doc_type" | "language" | "source" | "date";

/** How many documents of the results have which value. */
export interface Facet {
  name: FacetName;
  documents: number;
  /** Documents without a value. */
  missing: number;
  /** Number of values. */
  distinct: number;
  /** Sum of the counts of values that are not listed. */
  other_count: number;
  values: { value: string; label: string; count: number; selected: boolean; from: string | null; until: string | null }[];
}

export interface SuggestParams {
  /** What was typed, at most 200 characters. */
  q: string;
  /** Of completions and of titles, 1 to 20; default 8. */
  limit?: number;
  /** The ID of a collection; default the key's default collection. */
  collection?: string;
  /** Only words and titles of documents that pass these. */
  filters?: Filters;
}

export interface Suggestions {
  /** What was typed with its last word completed. */
  completions: string[];
  titles: { title: string; document_id: string; url: string | null }[];
}

/** A passage in the results. */
export interface SearchResult {
  id: string;
  document_id: string;
  title: string;
  url: string | null;
  /** HTML: escaped text, whose only element is `<mark>` if highlight is set. */
  snippet: string;
  /** 0 to 1. */
  score: number;
  section: string | null;
  version: string | null;
  tags: string[];
  doc_type: string | null;
  language: string | null;
  /** The name of the collection. */
  collection: string;
  /** The kind of the source. */
  source: string;
  /** The headings above the passage, the outermost first. */
  heading_path: string[];
  /** ISO 8601. */
  updated_at: string | null;
  metadata: Record<string, unknown>;
  /** The passages of other documents that the result stands for, too; only if there are some. Their versions, the newest first, are without its own. */
  duplicates?: { count: number; versions: string[] };
}

export interface SearchResults {
  results: SearchResult[];
  total: number;
  limit: number;
  offset: number;
  took_ms: number;
  /** The corrected query, whose results these are; only if a word was misspelled. */
  did_you_mean?: string;
  corrected?: { from: string; to: string }[];
  /** Only if facets were asked for. */
  facets?: Facet[];
  /** What the search had to work without; left out if nothing. */
  warnings?: string[];
  /** The ID of the request in the server's log; not enumerable. */
  readonly requestId: string | null;
}

export interface VisitorEvent {
  type: "click" | "feedback";
  /** The requestId of the results or of the chat. */
  request_id: string;
  /** A click needs the result or its document. */
  result_id?: string;
  document_id?: string;
  /** Rank of the result from 0, including the offset. */
  position?: number;
  /** Required for feedback. */
  rating?: "positive" | "negative";
  reason?: "irrelevant" | "outdated" | "incorrect" | "incomplete" | "other";
}

export interface ChatParams {
  /** At most 4,000 characters. */
  message: string;
  /** The ID of a conversation to continue. */
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

/** The next part of the answer: Markdown, in which `[1]` cites the first source. */
export interface ContentEvent { type: "content"; delta: string }
/** The cited documents. */
export interface SourcesEvent { type: "sources"; sources: Source[] }
/** Suggested next questions. */
export interface FollowUpEvent { type: "follow_up"; questions: string[] }
/** The answer is complete. */
export interface DoneEvent { type: "done"; usage: Usage; conversation_id: string }
/** The answer failed. The message may be shown to visitors. */
export interface ErrorEvent { type: "error"; error: { code: string; message: string } }
export type ChatEvent = ContentEvent | SourcesEvent | FollowUpEvent | DoneEvent | ErrorEvent;

/** The answer to a message. It can be read once; its last event is `done` or `error`. */
export declare class ChatStream implements AsyncIterable<ChatEvent> {
  private constructor();
  readonly signal?: AbortSignal;
  /** The ID of the conversation; null until the first event. */
  readonly conversationId: string | null;
  /** The ID of the request in the server's log; null until the first event. */
  readonly requestId: string | null;
  [Symbol.asyncIterator](): AsyncGenerator<ChatEvent, void, void>;
}

export type ErrorCode =
  | "invalid_request" | "unauthorized" | "invalid_key" | "key_expired" | "invalid_signature" | "quota_exceeded" | "forbidden"
  | "not_found" | "too_large" | "rate_limited" | "internal" | "unavailable" | "network_error" | "bad_response"
  | (string & {});

/** An error of a request. An aborted request rejects with the signal's reason instead. */
export declare class MagpieError extends Error {
  constructor(about: {
    status?: number; code: ErrorCode; message: string; requestId?: string | null; retryAfter?: number | null; cause?: unknown;
  });
  /** The HTTP status; 0 without a response. */
  readonly status: number;
  /** The code of the server, or `network_error` or `bad_response`. */
  readonly code: ErrorCode;
  /** The ID of the request in the server's log. */
  readonly requestId: string | null;
  /** The seconds to wait before a retry. */
  readonly retryAfter: number | null;
}

/** A client for one server and key. */
export declare class Magpie {
  constructor(options: Options);
  readonly baseUrl: string;
  /** Searches. */
  search(params: SearchParams | string, options?: RequestOptions): Promise<SearchResults>;
  /** Returns what a query may become that is being typed. */
  suggest(params: SuggestParams | string, options?: RequestOptions): Promise<Suggestions>;
  /** Records a click on a result or a thumb for an answer. */
  record(event: VisitorEvent, options?: RequestOptions): Promise<void>;
  /** Asks a question. The request is sent when the stream is read. */
  chat(params: ChatParams | string, options?: RequestOptions): ChatStream;
}

/** Parses server-sent events. */
export declare function serverSentEvents(stream: ReadableStream<Uint8Array>): AsyncGenerator<{ name: string; data: string }, void, void>;

/** Returns the headers that sign a body with a secret key. The body of a GET is empty. */
export declare function signature(key: string, body: string, now?: number): Promise<{
  "X-Service-Timestamp": string;
  "X-Service-Signature": string;
}>;
