// The pages of people who are not signed in.
import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { rootRoute } from '../../app/root';
import { loadMessages } from '../../i18n';

const text = (value: unknown) => (typeof value === 'string' && value !== '' ? value : undefined);

const signIn = createRoute({
  getParentRoute: () => rootRoute,
  path: '/sign-in',
  // next is the address to go to afterwards.
  validateSearch: (search: Record<string, unknown>): { next?: string } => ({ next: text(search.next) }),
  loader: () => loadMessages('access'),
  component: lazyRouteComponent(() => import('./SignIn'), 'SignIn'),
});

export const accessRoutes = [signIn] as const;
