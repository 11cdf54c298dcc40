// Subscriptions over WebSockets, one for each route, with resuming after a lost connection.
import { stringifyDocument } from '@urql/core';
import { type Client, createClient } from 'graphql-ws';
import { useEffect, useRef, useState } from 'react';
import type { TypedDocumentNode } from 'urql';
import { accessToken, renew } from '../session/session';
import { routed } from './route';

// By route: '' for what concerns no single collection.
const sockets = new Map<string, Client>();

// How often the connection is tried, and how long its answer may take, in milliseconds.
const keepAlive = 10_000;
const patience = 5_000;

// socket returns the client of the WebSocket with a route, which connects with the first subscription and disconnects after
// the last.
export function socket(route = ''): Client {
  const open = sockets.get(route);
  if (open) return open;
  let answer: number | undefined;
  const client = createClient({
    url: window.location.origin.replace(/^http/, 'ws') + routed(route),
    connectionParams: async () => {
      const token = await accessToken();
      if (token === null) throw new Error('the session has ended');
      return { authorization: `Bearer ${token}` };
    },
    retryAttempts: 0, // watch tries again with its cursor
    keepAlive,
    on: {
      ping: (received) => {
        if (!received) answer = window.setTimeout(() => client.terminate(), patience);
      },
      pong: () => window.clearTimeout(answer),
      closed: () => window.clearTimeout(answer),
    },
  });
  sockets.set(route, client);
  window.addEventListener('offline', interrupt);
  return client;
}

// interrupt ends connections over a network that is gone, which say nothing, and look like those without news. They are made
// again.
function interrupt() {
  for (const client of sockets.values()) client.terminate();
}

// disconnect ends all subscriptions, at the end of a session.
export function disconnect() {
  for (const client of sockets.values()) void client.dispose();
  sockets.clear();
}

// Close codes after which another try would fail in the same way.
const final = [1009, 4400, 4401, 4406, 4409, 4429];

// The close code of a token that was refused, or of a role that has changed.
const refused = 4403;

export type LiveState = 'connecting' | 'live' | 'waiting' | 'ended' | 'failed';

interface Watch<D, V> {
  document: TypedDocumentNode<D, V>;
  // Called for each connection, with what an earlier one had received.
  variables: () => V;
  onData: (data: D) => void;
  onState?: (state: LiveState, error?: unknown) => void;
  // The collection that it searches.
  route?: string;
  // For an operation that must not be sent twice: a lost connection ends it, with the state waiting.
  once?: boolean;
}

// watch follows a subscription until it completes, fails, or the returned function is
// called. A lost connection is made again after 1 to 5 seconds.
export function watch<D, V>({ document, variables, onData, onState, route, once = false }: Watch<D, V>): () => void {
  let stopped = false;
  let unsubscribe: (() => void) | null = null;
  let timer: number | undefined;
  const query = stringifyDocument(document);
  const connect = () => {
    onState?.('connecting');
    unsubscribe = socket(route).subscribe<D>(
      { query, variables: variables() as Record<string, unknown> },
      {
        next: ({ data, errors }) => {
          if (stopped) return;
          if (errors?.length) {
            stopped = true;
            onState?.('failed', errors);
            return;
          }
          onState?.('live');
          if (data) onData(data);
        },
        error: (problem) => {
          if (stopped) return;
          const code = (problem as CloseEvent)?.code;
          if (Array.isArray(problem) || final.includes(code)) {
            stopped = true;
            onState?.('failed', problem);
            return;
          }
          stopped = once;
          onState?.('waiting');
          if (code === refused) void renew();
          if (!once) timer = window.setTimeout(connect, 1000 + 4000 * Math.random());
        },
        complete: () => {
          if (!stopped) onState?.('ended');
          stopped = true;
        },
      },
    );
  };
  connect();
  return () => {
    stopped = true;
    window.clearTimeout(timer);
    unsubscribe?.();
  };
}

// useLive follows a subscription while the component is shown and key is not null. A new
// key begins again. It returns the state of the connection.
export function useLive<D, V>(key: string | null, options: Omit<Watch<D, V>, 'onState'>): { state: LiveState; error: unknown } {
  const latest = useRef(options);
  latest.current = options;
  const [status, setStatus] = useState<{ state: LiveState; error: unknown }>({ state: 'connecting', error: null });
  useEffect(() => {
    if (key === null) return;
    return watch({
      document: latest.current.document,
      variables: () => latest.current.variables(),
      onData: (data) => latest.current.onData(data),
      onState: (state, error) => setStatus((old) => (old.state === state && !error ? old : { state, error: error ?? null })),
    });
  }, [key]);
  return status;
}

// The most subscriptions of one list. A connection may have a hundred.
const most = 40;

// useEach begins something for each of the keys, such as a subscription, while the key is among them and the component is
// shown. begin returns what ends it.
export function useEach(keys: string[], begin: (key: string) => () => void) {
  const latest = useRef(begin);
  latest.current = begin;
  const begun = useRef(new Map<string, () => void>());
  const wanted = keys.slice(0, most).join(' ');
  useEffect(() => {
    const now = new Set(wanted.split(' ').filter(Boolean));
    for (const [key, end] of begun.current) {
      if (now.has(key)) continue;
      end();
      begun.current.delete(key);
    }
    for (const key of now) if (!begun.current.has(key)) begun.current.set(key, latest.current(key));
  }, [wanted]);
  useEffect(
    () => () => {
      for (const end of begun.current.values()) end();
      begun.current.clear();
    },
    [],
  );
}
