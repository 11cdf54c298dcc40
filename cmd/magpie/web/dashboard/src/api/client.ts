// The GraphQL client: queries and mutations over POST with a normalized cache, and
// subscriptions over WebSockets (live.ts).
import { cacheExchange } from '@urql/exchange-graphcache';
import { relayPagination } from '@urql/exchange-graphcache/extras';
import { Client, fetchExchange, subscriptionExchange } from 'urql';
import { accessToken } from '../session/session';
import { socket } from './live';
import { address, routeExchange } from './route';
import { textResolvers } from './texts';

// authorized sends a request with the session, and once more if its token was refused.
async function authorized(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  const send = (token: string | null) => {
    const headers = new Headers(init?.headers);
    if (token) headers.set('Authorization', `Bearer ${token}`);
    return fetch(input, { ...init, headers });
  };
  const token = await accessToken();
  const response = await send(token);
  if (response.status !== 401 || token === null) return response;
  return send(await accessToken(token));
}

// Connections that grow by "after". Their pages are merged in the cache.
const connections = [
  'agentMemories',
  'agentTemplates',
  'agents',
  'apiKeys',
  'approvals',
  'auditLog',
  'automationRuns',
  'automations',
  'collections',
  'connectors',
  'conversations',
  'documents',
  'inboundEvents',
  'inboundIntegrations',
  'invitations',
  'members',
  'oauthGrants',
  'quarantinedDocuments',
  'runs',
  'sourceFiles',
  'syncItems',
  'syncJobs',
  'toolGrants',
  'toolIntegrations',
  'databaseTables',
  'directoryGroups',
  'sourceGroups',
];

// Objects of a result that are no entities: each result keeps its own.
const embedded = [
  'SourceGroup',
  'SourceGroupDetail',
  'SearchResult',
  'SearchSuggestion',
  'ChatSource',
  'AuditChange',
  'Session',
  'AgentTool',
  'SearchQualityRun',
  'GoldenQuestion',
  'GoldenDocument',
  'SearchQualityDocument',
];

export function createClient(): Client {
  return new Client({
    url: address,
    preferGetMethod: false,
    requestPolicy: 'cache-and-network',
    fetch: authorized,
    exchanges: [
      cacheExchange({
        // Results without an id are meant to be part of what they are in.
        logger: (severity, message) => {
          if (!message.startsWith('Invalid key')) console[severity](message);
        },
        keys: Object.fromEntries(embedded.map((type) => [type, () => null])),
        resolvers: {
          Query: Object.fromEntries(connections.map((field) => [field, relayPagination()])),
          Conversation: { messages: relayPagination() },
          SyncPlan: { items: relayPagination() },
          ...textResolvers,
          Document: { ...textResolvers.Document, passages: relayPagination() },
        },
      }),
      routeExchange,
      fetchExchange,
      subscriptionExchange({
        forwardSubscription: (operation) => ({
          subscribe: (sink) => ({
            unsubscribe: socket().subscribe({ query: operation.query ?? '', variables: operation.variables }, sink),
          }),
        }),
      }),
    ],
  });
}
