// The pages of the menu and of the commands, by group.
import type { Role } from '../gql/schema';
import type { Keys } from '../i18n/keys';
import type { IconName } from '../kit/Icon';

export interface Place {
  to: string;
  label: Keys;
  icon: IconName;
  // The least role whose people the page is for.
  atLeast: Role;
  // What the menu shows beside the label.
  badge?: 'openApprovals';
}

export const places: { label: Keys; places: Place[] }[] = [
  {
    label: 'common.nav.find',
    places: [
      { to: '/search', label: 'common.nav.search', icon: 'search', atLeast: 'VIEWER' },
      { to: '/ask', label: 'common.nav.ask', icon: 'ask', atLeast: 'VIEWER' },
    ],
  },
  {
    label: 'common.nav.build',
    places: [
      { to: '/collections', label: 'common.nav.collections', icon: 'collection', atLeast: 'VIEWER' },
      { to: '/connectors', label: 'common.nav.connectors', icon: 'connector', atLeast: 'VIEWER' },
      { to: '/documents', label: 'common.nav.documents', icon: 'document', atLeast: 'VIEWER' },
      { to: '/databases', label: 'common.nav.databases', icon: 'database', atLeast: 'VIEWER' },
      { to: '/analytics', label: 'common.nav.analytics', icon: 'chart', atLeast: 'EDITOR' },
    ],
  },
  {
    label: 'common.nav.act',
    places: [
      { to: '/agents', label: 'common.nav.agents', icon: 'agent', atLeast: 'VIEWER' },
      { to: '/approvals', label: 'common.nav.approvals', icon: 'approval', atLeast: 'VIEWER', badge: 'openApprovals' },
      { to: '/automations', label: 'common.nav.automations', icon: 'automation', atLeast: 'EDITOR' },
      { to: '/integrations', label: 'common.nav.integrations', icon: 'tool', atLeast: 'VIEWER' },
      { to: '/inbound', label: 'common.nav.inbound', icon: 'mail', atLeast: 'EDITOR' },
    ],
  },
  {
    label: 'common.nav.manage',
    places: [
      { to: '/keys', label: 'common.nav.keys', icon: 'key', atLeast: 'ADMIN' },
      { to: '/widget', label: 'common.nav.widget', icon: 'widget', atLeast: 'ADMIN' },
      { to: '/people', label: 'common.nav.people', icon: 'people', atLeast: 'VIEWER' },
      { to: '/audit', label: 'common.nav.audit', icon: 'audit', atLeast: 'ADMIN' },
      { to: '/usage', label: 'common.nav.usage', icon: 'gauge', atLeast: 'VIEWER' },
      { to: '/applications', label: 'common.nav.applications', icon: 'application', atLeast: 'VIEWER' },
      { to: '/system', label: 'common.nav.system', icon: 'system', atLeast: 'ADMIN' },
      { to: '/welcome', label: 'common.nav.welcome', icon: 'home', atLeast: 'EDITOR' },
      { to: '/account', label: 'common.nav.account', icon: 'account', atLeast: 'VIEWER' },
    ],
  },
];
