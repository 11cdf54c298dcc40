// The settings of an automation while they are edited.
import type { AutomationKind, AutomationRunAs } from '../../gql/schema';
import type { AutomationFieldsFragment, AutomationsTemplatesQuery } from './automations.gql';
import type { Rule } from './RuleRows';

export type Template = AutomationsTemplatesQuery['automationTemplates'][number];
export type Settings = Record<string, unknown>;

export interface Draft {
  name: string;
  description: string;
  enabled: boolean;
  agentId: string | null;
  runAs: AutomationRunAs;
  instructions: string;
  kind: AutomationKind;
  trigger: Settings;
  conditions: Rule[];
  approval: Settings;
  delivery: Settings[];
  limits: Settings;
  dedupeKey: string;
}

export const kinds: AutomationKind[] = ['SCHEDULE', 'EMAIL', 'EVENT', 'MEETING', 'DOCUMENT', 'MANUAL'];

// The values of events that instructions and conditions may name, by kind.
export const eventFields: Record<AutomationKind, string[]> = {
  EMAIL: ['subject', 'text', 'from', 'fromName', 'to', 'cc', 'date', 'attachments', 'messageId', 'senderVerified'],
  EVENT: ['type', 'kind', 'id', 'action', 'title', 'text', 'url', 'parent', 'actor', 'actorEmail', 'fields'],
  MEETING: ['type', 'id', 'topic', 'organizer', 'start', 'end', 'attendees', 'summary', 'url', 'documentId'],
  DOCUMENT: ['id', 'title', 'path', 'url', 'collectionId', 'change', 'author'],
  SCHEDULE: ['time', 'date', 'timezone'],
  MANUAL: [],
};

export const blank: Draft = {
  name: '',
  description: '',
  enabled: true,
  agentId: null,
  runAs: 'OWNER',
  instructions: '',
  kind: 'SCHEDULE',
  trigger: { cron: '0 8 * * 1-5', timezone: Intl.DateTimeFormat().resolvedOptions().timeZone },
  conditions: [],
  approval: { mode: 'always' },
  delivery: [],
  limits: {},
  dedupeKey: '',
};

// ofTemplate returns the draft that a template begins.
export function ofTemplate(template: Template): Draft {
  const { title, description, kind, instructions, trigger, conditions, approval, delivery, limits } = template;
  return {
    ...blank,
    name: title,
    description,
    kind,
    instructions,
    trigger,
    conditions: conditions as unknown as Rule[],
    approval,
    delivery,
    limits,
  };
}

// ofAutomation returns the draft of a stored automation.
export function ofAutomation(row: AutomationFieldsFragment): Draft {
  return { ...row, description: row.description ?? '', agentId: row.agentId, conditions: row.conditions as unknown as Rule[] };
}

// clean leaves out what is not set.
export function clean(settings: Settings): Settings {
  return Object.fromEntries(
    Object.entries(settings).filter(
      ([, value]) => value !== undefined && value !== null && value !== '' && !(Array.isArray(value) && value.length === 0),
    ),
  );
}

// inputOf returns a draft as the service takes it.
export function inputOf(draft: Draft) {
  const { name, description, enabled, agentId, runAs, instructions, kind, dedupeKey } = draft;
  return {
    name,
    description,
    enabled,
    agentId: agentId ?? '',
    runAs,
    instructions,
    kind,
    trigger: clean(draft.trigger),
    conditions: draft.conditions.map((rule) => ({ path: rule.path, op: rule.op, value: rule.value })),
    approval: clean(draft.approval),
    delivery: draft.delivery.map(clean),
    limits: clean(draft.limits),
    dedupeKey,
  };
}
