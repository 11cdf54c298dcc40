import { useEffect, useRef } from 'react';

// The nodes of a connection's edges, which may be null in the schema but never are.
type NodeOf<C> = C extends { edges?: ({ node?: infer N | null } | null)[] | null } ? NonNullable<N> : never;

interface Pages<N> {
  edges: ({ node: N } | null)[] | null;
  pageInfo: { hasNextPage: boolean; endCursor?: string | null };
  totalCount?: number;
}

// pages returns a connection of ent as usePaged reads it.
export function pages<C extends { pageInfo: Pages<unknown>['pageInfo']; totalCount?: number }>(connection: C): Pages<NodeOf<C>> {
  return connection as unknown as Pages<NodeOf<C>>;
}

// useTurn calls reload when the turn changes, not the first time.
export function useTurn(turn: string, reload: () => void) {
  const last = useRef(turn);
  const latest = useRef(reload);
  latest.current = reload;
  useEffect(() => {
    if (last.current !== turn) latest.current();
    last.current = turn;
  }, [turn]);
}
