import { createRoute, lazyRouteComponent, redirect } from '@tanstack/react-router';
import { shellRoute } from '../../app/root';
import { loadMessages, loadWords } from '../../i18n';
import { startPage } from '../workspace/start';
import { readDocument, readDocuments } from './documents/state';
import { readState, text } from './state';

const loader = () => Promise.all([loadMessages('search'), loadWords()]);

// The service sends people to / with oauth=confirm in the fragment to finish a connection by OAuth in their session.
const home = createRoute({
  getParentRoute: () => shellRoute,
  path: '/',
  beforeLoad: async ({ location }) => {
    if (location.hash.startsWith('oauth=confirm')) throw redirect({ to: '/oauth-confirm', hash: location.hash });
    if ('oauth' in location.search) throw redirect({ href: `/oauth-done${location.searchStr}` });
    throw redirect({ to: await startPage() });
  },
});

const search = createRoute({
  getParentRoute: () => shellRoute,
  path: '/search',
  validateSearch: readState,
  loader,
  component: lazyRouteComponent(() => import('./SearchPage'), 'SearchPage'),
});

const ask = createRoute({
  getParentRoute: () => shellRoute,
  path: '/ask',
  validateSearch: (search: Record<string, unknown>): { q?: string } => ({ q: text(search.q) }),
  loader,
  component: lazyRouteComponent(() => import('./ask/AskPage'), 'AskPage'),
});

// The page of a conversation is that of a new one, so that an answer goes on while its conversation gets an address.
const conversation = createRoute({ getParentRoute: () => ask, path: '$conversationId' });

const documents = createRoute({
  getParentRoute: () => shellRoute,
  path: '/documents',
  validateSearch: readDocuments,
  loader,
  component: lazyRouteComponent(() => import('./documents/DocumentsPage'), 'DocumentsPage'),
});

const document = createRoute({
  getParentRoute: () => shellRoute,
  path: '/documents/$documentId',
  validateSearch: readDocument,
  loader,
  component: lazyRouteComponent(() => import('./documents/DocumentPage'), 'DocumentPage'),
});

export const searchRoutes = [home, search, ask.addChildren([conversation]), documents, document] as const;
