// The root of the routes and the frame of the signed-in pages. The pages of an area are
// in src/pages/<area>/routes.tsx.
import { createRootRoute, createRoute, lazyRouteComponent, Outlet, redirect } from '@tanstack/react-router';
import { accessToken } from '../session/session';
import { Crashed, NotFound } from './Fallback';

export const rootRoute = createRootRoute({ component: Outlet, notFoundComponent: NotFound, errorComponent: Crashed });

// shellRoute has the pages of signed-in people. Others are sent to the sign-in, and come back from it.
export const shellRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: 'shell',
  beforeLoad: async ({ location }) => {
    if ((await accessToken()) === null) throw redirect({ to: '/sign-in', search: location.href === '/' ? {} : { next: location.href } });
  },
  component: lazyRouteComponent(() => import('./Shell'), 'Shell'),
  notFoundComponent: NotFound,
  errorComponent: Crashed,
});
