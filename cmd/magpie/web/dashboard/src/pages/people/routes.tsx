// The pages of who and what may use the workspace: people, API keys, the widget.
import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { shellRoute } from '../../app/root';
import { loadMessages, loadWords } from '../../i18n';
import { peopleSearch } from './search';
import { widgetSettings } from './widgetSettings';

const messages = () => Promise.all([loadMessages('people'), loadWords()]);

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

const widget = createRoute({
  getParentRoute: () => shellRoute,
  path: '/widget',
  validateSearch: widgetSettings,
  loader: messages,
  component: lazyRouteComponent(() => import('./WidgetPage'), 'WidgetPage'),
});

export const peopleRoutes = [people, widget, keys, newKey, key] as const;
