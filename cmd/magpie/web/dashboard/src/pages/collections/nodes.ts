type NodeOf<C> = C extends { edges?: ({ node?: infer N | null } | null)[] | null } ? NonNullable<N> : never;

interface Pages<N> {
  edges: ({ node: N } | null)[] | null;
  pageInfo: { hasNextPage: boolean; endCursor?: string | null };
  totalCount?: number;
}

// nodes returns a connection, whose nodes are null in the schema only, as usePaged reads it.
export function nodes<C extends { pageInfo: Pages<unknown>['pageInfo']; totalCount?: number }>(connection: C): Pages<NodeOf<C>> {
  return connection as unknown as Pages<NodeOf<C>>;
}
