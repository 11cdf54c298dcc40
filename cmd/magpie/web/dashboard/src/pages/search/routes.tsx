import { createRoute, lazyRouteComponent, redirect } from '@tanstack/react-router';
import { shellRoute } from '../../app/root';
import { loadMessages } from '../../i18n';

const text = (value: unknown) => (typeof value === 'string' && value !== '' ? value : undefined);

// The service sends people to / with oauth=confirm in the fragment to finish a connection by OAuth in their session.
const home = createRoute({
  getParentRoute: () => shellRoute,
  path: '/',
  beforeLoad: ({ location }) => {
    if (location.hash.startsWith('oauth=confirm')) throw redirect({ to: '/search', hash: location.hash });
    throw redirect({ to: '/search' });
  },
});

const search = createRoute({
  getParentRoute: () => shellRoute,
  path: '/search',
  validateSearch: (search: Record<string, unknown>): { q?: string } => ({ q: text(search.q) }),
  loader: () => loadMessages('search'),
  component: lazyRouteComponent(() => import('./SearchPage'), 'SearchPage'),
});

const ask = createRoute({
  getParentRoute: () => shellRoute,
  path: '/ask',
  validateSearch: (search: Record<string, unknown>): { q?: string } => ({ q: text(search.q) }),
  loader: () => loadMessages('search'),
  component: lazyRouteComponent(() => import('./SearchPage'), 'SearchPage'),
});

export const searchRoutes = [home, search, ask] as const;
