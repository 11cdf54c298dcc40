// Agents, approvals and automations.
import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { oneOf, text } from '../../app/params';
import { shellRoute } from '../../app/root';
import type { ApprovalStatus } from '../../gql/schema';
import { loadMessages, loadWords } from '../../i18n';
import { agentSearch, agentsSearch } from './search';

const loader = () => Promise.all([loadMessages('agents'), loadWords()]);
const parent = { getParentRoute: () => shellRoute, loader };
// The pages of runs show passages of documents.
const withPassages = { ...parent, loader: () => Promise.all([loader(), loadMessages('search')]) };

const agents = createRoute({
  ...parent,
  path: '/agents',
  validateSearch: agentsSearch,
  component: lazyRouteComponent(() => import('./AgentsPage'), 'AgentsPage'),
});

const newAgent = createRoute({
  ...parent,
  path: '/agents/new',
  validateSearch: (search: Record<string, unknown>): { template?: string } => ({ template: text(search.template) }),
  component: lazyRouteComponent(() => import('./AgentEditor'), 'NewAgentPage'),
});

const agent = createRoute({
  ...withPassages,
  path: '/agents/$agentId',
  validateSearch: agentSearch,
  component: lazyRouteComponent(() => import('./AgentPage'), 'AgentPage'),
});

const editAgent = createRoute({
  ...parent,
  path: '/agents/$agentId/edit',
  component: lazyRouteComponent(() => import('./AgentEditor'), 'EditAgentPage'),
});

const run = createRoute({
  ...withPassages,
  path: '/agents/$agentId/runs/$runId',
  component: lazyRouteComponent(() => import('./RunPage'), 'RunPage'),
});

const past = ['APPROVED', 'EDITED', 'ANSWERED', 'REJECTED', 'EXPIRED', 'CANCELED'] as const;

const approvals = createRoute({
  ...parent,
  path: '/approvals',
  validateSearch: (search: Record<string, unknown>): { tab?: 'open' | 'history'; mine?: boolean; status?: ApprovalStatus } => ({
    tab: oneOf(search.tab, ['open', 'history']),
    mine: search.mine === true || undefined,
    status: oneOf(search.status, past),
  }),
  component: lazyRouteComponent(() => import('./ApprovalsPage'), 'ApprovalsPage'),
});

const approvalSettings = createRoute({
  ...parent,
  path: '/approvals/settings',
  component: lazyRouteComponent(() => import('./ApprovalSettingsPage'), 'ApprovalSettingsPage'),
});

const approval = createRoute({
  ...parent,
  path: '/approvals/$approvalId',
  component: lazyRouteComponent(() => import('./ApprovalPage'), 'ApprovalPage'),
});

const automations = createRoute({
  ...parent,
  path: '/automations',
  component: lazyRouteComponent(() => import('./AutomationsPage'), 'AutomationsPage'),
});

const newAutomation = createRoute({
  ...parent,
  path: '/automations/new',
  validateSearch: (search: Record<string, unknown>): { template?: string } => ({ template: text(search.template) }),
  component: lazyRouteComponent(() => import('./AutomationPages'), 'NewAutomationPage'),
});

const automation = createRoute({
  ...parent,
  path: '/automations/$automationId',
  validateSearch: (search: Record<string, unknown>): { tab?: 'runs' | 'settings' } => ({ tab: oneOf(search.tab, ['runs', 'settings']) }),
  component: lazyRouteComponent(() => import('./AutomationPages'), 'AutomationPage'),
});

export const agentRoutes = [
  automations,
  newAutomation,
  automation,
  agents,
  newAgent,
  agent,
  editAgent,
  run,
  approvals,
  approvalSettings,
  approval,
] as const;
