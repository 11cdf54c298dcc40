import { createRouter } from '@tanstack/react-router';
import { takeFocus } from '../kit/Page';
import { accessRoutes, oauthRoutes } from '../pages/access/routes';
import { agentRoutes } from '../pages/agents/routes';
import { collectionRoutes } from '../pages/collections/routes';
import { connectorRoutes } from '../pages/connectors/routes';
import { insightRoutes } from '../pages/insights/routes';
import { peopleRoutes } from '../pages/people/routes';
import { searchRoutes } from '../pages/search/routes';
import { toolRoutes } from '../pages/tools/routes';
import { workspaceRoutes } from '../pages/workspace/routes';
import { rootRoute, shellRoute } from './root';

const routeTree = rootRoute.addChildren([
  ...accessRoutes,
  shellRoute.addChildren([
    ...searchRoutes,
    ...collectionRoutes,
    ...connectorRoutes,
    ...agentRoutes,
    ...toolRoutes,
    ...insightRoutes,
    ...peopleRoutes,
    ...workspaceRoutes,
    ...oauthRoutes,
  ]),
]);

export const router = createRouter({ routeTree, defaultPreload: 'intent', scrollRestoration: true });

router.subscribe('onBeforeNavigate', ({ fromLocation, pathChanged }) => {
  if (fromLocation && pathChanged) takeFocus();
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
