// Connections of the schema allow edges and nodes that are null, which the service never returns.

interface Loose<N> {
  edges?: ({ node?: N | null } | null)[] | null;
  pageInfo: { hasNextPage: boolean; endCursor?: string | null };
  totalCount?: number;
}

// connectionOf returns a connection as usePaged takes it.
export function connectionOf<N>(connection: Loose<N>) {
  return {
    edges: (connection.edges ?? []).flatMap((edge) => (edge?.node ? [{ node: edge.node as N }] : [])),
    pageInfo: connection.pageInfo,
    totalCount: connection.totalCount,
  };
}

// nodesOf returns the nodes of a connection.
export const nodesOf = <N>(connection: Pick<Loose<N>, 'edges'> | undefined): N[] =>
  (connection?.edges ?? []).flatMap((edge) => (edge?.node ? [edge.node] : []));
