import { makeOperation, mapExchange } from 'urql';

export const address = '/graphql';

// routed is the address of an operation on a collection, or of another for ''.
export const routed = (route: string) => (route ? `${address}?route=${encodeURIComponent(route)}` : address);

// routeExchange adds the collection of an operation to its address. Proxies, which do not read bodies, send operations on one
// collection to one process by it.
export const routeExchange = mapExchange({
  onOperation(operation) {
    const variables = operation.variables as { collection?: string | null; input?: { collection?: string | null } } | undefined;
    const route = variables?.collection ?? variables?.input?.collection;
    if (!route) return operation;
    return makeOperation(operation.kind, operation, { ...operation.context, url: routed(route) });
  },
});
