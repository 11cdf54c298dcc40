// The pages of the workspace as a whole and of the person's account.
import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { text } from '../../app/params';
import { shellRoute } from '../../app/root';
import { loadMessages, loadWords } from '../../i18n';
import { type ClientName, clientNames, type Step, steps } from './search';

const loader = () => Promise.all([loadMessages('workspace'), loadWords()]);

interface WelcomeSearch {
  // The open step; the first that is not done without it.
  step?: Step;
  // The collection of the first source.
  collection?: string;
}

const welcome = createRoute({
  getParentRoute: () => shellRoute,
  path: '/welcome',
  validateSearch: (search: Record<string, unknown>): WelcomeSearch => ({
    step: steps.find((step) => step === search.step),
    collection: text(search.collection),
  }),
  loader: () => Promise.all([loader(), loadMessages('upload')]),
  component: lazyRouteComponent(() => import('./WelcomePage'), 'WelcomePage'),
});

const account = createRoute({
  getParentRoute: () => shellRoute,
  path: '/account',
  loader,
  component: lazyRouteComponent(() => import('./AccountPage'), 'AccountPage'),
});

const applications = createRoute({
  getParentRoute: () => shellRoute,
  path: '/applications',
  // The program whose lines are shown.
  validateSearch: (search: Record<string, unknown>): { client?: ClientName } => ({
    client: clientNames.find((client) => client === search.client),
  }),
  loader,
  component: lazyRouteComponent(() => import('./ApplicationsPage'), 'ApplicationsPage'),
});

const usage = createRoute({
  getParentRoute: () => shellRoute,
  path: '/usage',
  loader,
  component: lazyRouteComponent(() => import('./UsagePage'), 'UsagePage'),
});

const system = createRoute({
  getParentRoute: () => shellRoute,
  path: '/system',
  loader,
  component: lazyRouteComponent(() => import('./SystemPage'), 'SystemPage'),
});

export const workspaceRoutes = [welcome, account, applications, usage, system] as const;
