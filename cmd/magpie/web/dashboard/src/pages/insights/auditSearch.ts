// The state of the page of the audit log in the address, and the filter that it stands for.

import { day, typed } from '../../app/params';
import type { AuditFilter } from '../../gql/schema';
import { startOf } from '../../i18n/zone';

export interface AuditSearch {
  actor?: string;
  // An action, or all of a kind: connector.*
  action?: string;
  target?: string;
  targetId?: string;
  // Days, YYYY-MM-DD, in the zone of the person; both are included.
  from?: string;
  to?: string;
  text?: string;
}

// Kinds of targets with their actions (docs/audit.md). Each is recorded as kind.action.
export const actions: Record<string, string[]> = {
  agent: ['create', 'update', 'delete'],
  agent_memory: ['create', 'update', 'delete'],
  agent_template: ['create', 'update', 'delete'],
  api_key: ['create', 'update', 'rotate', 'revoke'],
  approval: ['approve', 'edit', 'answer', 'reject', 'cancel', 'expire', 'refuse'],
  audit_log: ['trim'],
  automation: ['create', 'update', 'delete'],
  collection: ['create', 'update', 'delete'],
  connector: ['create', 'update', 'delete', 'test'],
  conversation: ['rename', 'delete'],
  database: ['query'],
  document: ['delete', 'allow'],
  file: ['upload', 'delete'],
  inbound_integration: ['create', 'update', 'delete'],
  invitation: ['create', 'accept', 'resend', 'revoke'],
  member: ['add', 'role', 'remove'],
  oauth_grant: ['create', 'update', 'delete'],
  person: ['update', 'password'],
  quota: ['set'],
  session: ['sign_in', 'sign_out', 'sign_in_failed'],
  sync: ['start', 'cancel'],
  tool: ['update', 'delete'],
  tool_connection: ['create', 'update', 'delete'],
  tool_grant: ['create', 'revoke'],
  tool_integration: ['create', 'update', 'delete'],
  workspace: ['create', 'update'],
};

const text = (value: unknown) => typed(value, 300);

export function auditSearch(search: Record<string, unknown>): AuditSearch {
  return {
    actor: text(search.actor),
    action: text(search.action),
    target: text(search.target),
    targetId: text(search.targetId),
    from: day(search.from),
    to: day(search.to),
    text: text(search.text),
  };
}

// filterOf returns the filter of the service; to is exclusive there.
export function filterOf(search: AuditSearch): AuditFilter {
  return {
    actor: search.actor,
    action: search.action,
    targetKind: search.target,
    targetId: search.targetId,
    from: startOf(search.from ?? '') ?? undefined,
    to: startOf(search.to ?? '', 1) ?? undefined,
    matching: search.text,
  };
}

// pageOf returns the address of the page of a target; null if it has none or is gone.
export function pageOf(kind: string, id: string | null | undefined, action: string): string | null {
  if (!id || action.endsWith('.delete') || action.endsWith('.remove')) return null;
  const pages: Record<string, string> = {
    agent: `/agents/${id}`,
    api_key: `/keys/${id}`,
    automation: `/automations/${id}`,
    collection: `/collections/${id}`,
    connector: `/connectors/${id}`,
    database: `/connectors/${id}`,
    document: `/documents/${id}`,
    inbound_integration: `/inbound/${id}`,
    invitation: '/people?tab=invitations',
    member: '/people',
    person: '/people',
    tool_integration: `/integrations/${id}`,
  };
  return pages[kind] ?? null;
}
