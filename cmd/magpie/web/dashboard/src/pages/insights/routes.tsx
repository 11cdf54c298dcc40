// The pages of what happens in the workspace: statistics of questions, and the audit log.
import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { shellRoute } from '../../app/root';
import { loadMessages, loadWords } from '../../i18n';
import { auditSearch } from './auditSearch';
import { analyticsSearch } from './span';

const messages = () => Promise.all([loadMessages('insights'), loadWords()]);

const analytics = createRoute({
  getParentRoute: () => shellRoute,
  path: '/analytics',
  validateSearch: analyticsSearch,
  loader: messages,
  component: lazyRouteComponent(() => import('./AnalyticsPage'), 'AnalyticsPage'),
});

const audit = createRoute({
  getParentRoute: () => shellRoute,
  path: '/audit',
  validateSearch: auditSearch,
  loader: messages,
  component: lazyRouteComponent(() => import('./AuditPage'), 'AuditPage'),
});

export const insightRoutes = [analytics, audit] as const;
