// Integrations with tools, and integrations that receive.
import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { text } from '../../app/params';
import { shellRoute } from '../../app/root';
import { loadMessages, loadWords } from '../../i18n';

// The pages show risks and rules as those of agents do.
const loader = () => Promise.all([loadMessages('tools'), loadMessages('agents'), loadWords()]);
const parent = { getParentRoute: () => shellRoute, loader };
const provider = (search: Record<string, unknown>): { provider?: string } => ({ provider: text(search.provider) });

const integrations = createRoute({
  ...parent,
  path: '/integrations',
  component: lazyRouteComponent(() => import('./IntegrationsPage'), 'IntegrationsPage'),
});

const newIntegration = createRoute({
  ...parent,
  path: '/integrations/new',
  validateSearch: provider,
  component: lazyRouteComponent(() => import('./NewIntegrationPage'), 'NewIntegrationPage'),
});

const integration = createRoute({
  ...parent,
  path: '/integrations/$integrationId',
  // The outcome of a connection by OAuth, with which the browser comes back.
  validateSearch: (search: Record<string, unknown>): { oauth?: string; error_description?: string } => ({
    oauth: text(search.oauth),
    error_description: text(search.error_description),
  }),
  component: lazyRouteComponent(() => import('./IntegrationPage'), 'IntegrationPage'),
});

const inbound = createRoute({
  ...parent,
  path: '/inbound',
  component: lazyRouteComponent(() => import('./InboundPage'), 'InboundPage'),
});

const newInbound = createRoute({
  ...parent,
  path: '/inbound/new',
  validateSearch: provider,
  component: lazyRouteComponent(() => import('./NewInboundPage'), 'NewInboundPage'),
});

const oneInbound = createRoute({
  ...parent,
  path: '/inbound/$inboundId',
  component: lazyRouteComponent(() => import('./InboundOnePage'), 'InboundOnePage'),
});

export const toolRoutes = [integrations, newIntegration, integration, inbound, newInbound, oneInbound] as const;
