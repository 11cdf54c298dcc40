// The state of the page of people in the address.

import { oneOf, typed } from '../../app/params';
import type { InvitationStatus, Role } from '../../gql/schema';

export const tabNames = ['members', 'invitations', 'roles', 'groups', 'why', 'sign-in'] as const;
export type PeopleTab = (typeof tabNames)[number];

export interface PeopleSearch {
  tab?: PeopleTab;
  // A part of a name or an address, and a role, of members.
  text?: string;
  role?: Role;
  // The state of invitations, and whether the form of a new one is open.
  status?: InvitationStatus;
  invite?: boolean;
  // Of groups, and of the check of a document.
  connector?: string;
  group?: string;
  document?: string;
  user?: string;
}

const text = (value: unknown) => typed(value, 300);

export function peopleSearch(search: Record<string, unknown>): PeopleSearch {
  return {
    tab: oneOf(search.tab, tabNames),
    text: text(search.text),
    role: oneOf(search.role, ['VIEWER', 'EDITOR', 'ADMIN', 'OWNER'] as const),
    status: oneOf(search.status, ['PENDING', 'ACCEPTED', 'EXPIRED', 'REVOKED'] as const),
    invite: search.invite === true || undefined,
    connector: text(search.connector),
    group: text(search.group),
    document: text(search.document),
    user: text(search.user),
  };
}
