import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { typed } from '../../app/params';
import { shellRoute } from '../../app/root';
import { loadMessages, loadWords } from '../../i18n';

const list = createRoute({
  getParentRoute: () => shellRoute,
  path: '/collections',
  validateSearch: (search: Record<string, unknown>): { q?: string } => ({ q: typed(search.q) }),
  loader: () => Promise.all([loadMessages('collections'), loadWords()]),
  component: lazyRouteComponent(() => import('./CollectionsPage'), 'CollectionsPage'),
});

export const tabs = ['overview', 'connectors', 'reliability', 'settings'] as const;
export type Tab = (typeof tabs)[number];

const one = createRoute({
  getParentRoute: () => shellRoute,
  path: '/collections/$collectionId',
  // run is the time of the measurement that is shown; question is one for the golden set.
  validateSearch: (search: Record<string, unknown>): { tab?: Tab; run?: string; question?: string } => ({
    tab: tabs.find((tab) => tab === search.tab),
    run: typed(search.run),
    question: typed(search.question),
  }),
  loader: () => Promise.all([loadMessages('collections'), loadWords()]),
  component: lazyRouteComponent(() => import('./CollectionPage'), 'CollectionPage'),
});

export const collectionRoutes = [list, one] as const;
