import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { typed } from '../../app/params';
import { shellRoute } from '../../app/root';
import { loadMessages, loadWords } from '../../i18n';

const messages = () => Promise.all([loadMessages('connectors'), loadMessages('upload'), loadWords()]);

export interface ListSearch {
  q?: string;
  collection?: string;
  type?: string;
  status?: string;
}

// A person who came from the first steps is offered the way back to them.
export interface WelcomeSearch {
  welcome?: 1;
}

const welcome = (search: Record<string, unknown>): WelcomeSearch => ({ welcome: search.welcome === 1 ? 1 : undefined });

// The outcome of a connection by OAuth, which the service adds to the address.
export interface OAuthSearch {
  oauth?: string;
  provider?: string;
  grant?: string;
  error?: string;
  error_description?: string;
}

export const tabs = ['overview', 'syncs', 'items', 'documents', 'plan', 'quarantine', 'files', 'settings'] as const;
export type Tab = (typeof tabs)[number];

export interface ConnectorSearch extends OAuthSearch, WelcomeSearch {
  tab?: Tab;
  // Filters and the chosen job of the tab.
  q?: string;
  status?: string;
  job?: string;
}

const outcome = (search: Record<string, unknown>): OAuthSearch => ({
  oauth: typed(search.oauth),
  provider: typed(search.provider),
  grant: typed(search.grant),
  error: typed(search.error),
  error_description: typed(search.error_description),
});

const list = createRoute({
  getParentRoute: () => shellRoute,
  path: '/connectors',
  validateSearch: (search: Record<string, unknown>): ListSearch => ({
    q: typed(search.q),
    collection: typed(search.collection),
    type: typed(search.type),
    status: typed(search.status),
  }),
  loader: messages,
  component: lazyRouteComponent(() => import('./ConnectorsPage'), 'ConnectorsPage'),
});

const gallery = createRoute({
  getParentRoute: () => shellRoute,
  path: '/connectors/new',
  validateSearch: (search: Record<string, unknown>): WelcomeSearch & { q?: string; collection?: string } => ({
    q: typed(search.q),
    collection: typed(search.collection),
    ...welcome(search),
  }),
  loader: messages,
  component: lazyRouteComponent(() => import('./GalleryPage'), 'GalleryPage'),
});

const create = createRoute({
  getParentRoute: () => shellRoute,
  path: '/connectors/new/$kind',
  validateSearch: (search: Record<string, unknown>): OAuthSearch & WelcomeSearch & { collection?: string } => ({
    collection: typed(search.collection),
    ...welcome(search),
    ...outcome(search),
  }),
  loader: messages,
  component: lazyRouteComponent(() => import('./NewConnectorPage'), 'NewConnectorPage'),
});

const one = createRoute({
  getParentRoute: () => shellRoute,
  path: '/connectors/$connectorId',
  validateSearch: (search: Record<string, unknown>): ConnectorSearch => ({
    tab: tabs.find((tab) => tab === search.tab),
    q: typed(search.q),
    status: typed(search.status),
    job: typed(search.job),
    ...welcome(search),
    ...outcome(search),
  }),
  loader: messages,
  component: lazyRouteComponent(() => import('./ConnectorPage'), 'ConnectorPage'),
});

const databases = createRoute({
  getParentRoute: () => shellRoute,
  path: '/databases',
  validateSearch: (search: Record<string, unknown>): { q?: string } => ({ q: typed(search.q) }),
  loader: messages,
  component: lazyRouteComponent(() => import('./databases/DatabasesPage'), 'DatabasesPage'),
});

const database = createRoute({
  getParentRoute: () => shellRoute,
  path: '/databases/$databaseId',
  validateSearch: (search: Record<string, unknown>): { q?: string; table?: string; sql?: string } => ({
    q: typed(search.q),
    table: typed(search.table),
    sql: typed(search.sql),
  }),
  loader: messages,
  component: lazyRouteComponent(() => import('./databases/DatabasePage'), 'DatabasePage'),
});

export const connectorRoutes = [list, gallery, create, one, databases, database] as const;
