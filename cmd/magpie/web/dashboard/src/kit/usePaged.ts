import { useEffect, useState } from 'react';
import { type AnyVariables, type CombinedError, type TypedDocumentNode, useQuery } from 'urql';

interface Connection<N> {
  // Edges and nodes may be null in the schema.
  edges?: ({ node?: N | null } | null)[] | null;
  pageInfo: { hasNextPage: boolean; endCursor?: string | null };
  totalCount?: number;
}

// nodesOf returns the nodes of a connection.
export function nodesOf<N>(connection: Pick<Connection<N>, 'edges'> | null | undefined): N[] {
  return (connection?.edges ?? []).flatMap((edge) => (edge?.node ? [edge.node] : []));
}

export interface Paged<N> {
  rows: N[];
  total: number | null;
  // No page has arrived yet.
  loading: boolean;
  fetching: boolean;
  error: CombinedError | undefined;
  hasMore: boolean;
  more: () => void;
  reload: () => void;
}

// usePaged reads a connection page by page. Its document takes $first and $after, and selects totalCount, pageInfo
// { hasNextPage endCursor } and edges { node }; the cache joins the pages (client.ts names the fields). pick returns the
// connection of the data, which is also returned. The list begins again when another variable changes.
export function usePaged<D, V extends AnyVariables, N>(
  document: TypedDocumentNode<D, V>,
  variables: Omit<V, 'first' | 'after'>,
  pick: (data: D) => Connection<N>,
  { pageSize = 50, pause = false }: { pageSize?: number; pause?: boolean } = {},
): Paged<N> & { data: D | undefined } {
  const key = JSON.stringify(variables);
  const [place, setPlace] = useState<{ key: string; after: string | null }>({ key, after: null });
  const after = place.key === key ? place.after : null;
  useEffect(() => setPlace((old) => (old.key === key ? old : { key, after: null })), [key]);
  const [{ data, fetching, error, stale }, again] = useQuery({
    query: document,
    variables: { ...variables, first: pageSize, after } as unknown as V,
    pause,
  });
  const connection = data ? pick(data) : null;
  return {
    data,
    rows: nodesOf(connection),
    total: connection?.totalCount ?? null,
    loading: !data && !error,
    fetching: fetching || stale,
    error,
    hasMore: connection?.pageInfo.hasNextPage ?? false,
    more: () => {
      const end = connection?.pageInfo.endCursor;
      if (end && !fetching) setPlace({ key, after: end });
    },
    reload: () => {
      setPlace({ key, after: null });
      again({ requestPolicy: 'network-only' });
    },
  };
}

// useSteps shows a list that is here as a whole, in steps. It begins again with another key.
export function useSteps<N>(all: N[], key: string, size = 20): Paged<N> {
  const [shown, setShown] = useState({ key, count: size });
  const count = shown.key === key ? shown.count : size;
  return {
    rows: all.slice(0, count),
    total: all.length,
    loading: false,
    fetching: false,
    error: undefined,
    hasMore: count < all.length,
    more: () => setShown({ key, count: count + size }),
    reload: () => {},
  };
}
