// The pages of who and what may use the workspace: people, API keys, the widget.
import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { shellRoute } from '../../app/root';
import { loadMessages } from '../../i18n';
import { peopleSearch } from './search';

const messages = () => loadMessages('people');

const keys = createRoute({
  getParentRoute: () => shellRoute,
  path: '/keys',
  loader: messages,
  component: lazyRouteComponent(() => import('./KeysPage'), 'KeysPage'),
});

const newKey = createRoute({
  getParentRoute: () => shellRoute,
  path: '/keys/new',
  loader: messages,
  component: lazyRouteComponent(() => import('./NewKeyPage'), 'NewKeyPage'),
});

const key = createRoute({
  getParentRoute: () => shellRoute,
  path: '/keys/$keyId',
  loader: messages,
  component: lazyRouteComponent(() => import('./KeyPage'), 'KeyPage'),
});

const people = createRoute({
  getParentRoute: () => shellRoute,
  path: '/people',
  validateSearch: peopleSearch,
  loader: messages,
  component: lazyRouteComponent(() => import('./PeoplePage'), 'PeoplePage'),
});

export const peopleRoutes = [people, keys, newKey, key] as const;
