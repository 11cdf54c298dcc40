// What a form of a key holds, and what of it is sent.
import type { CreateApiKeyInput, UpdateApiKeyInput } from '../../gql/schema';
import { dayOf, endOf } from '../../i18n/zone';
import type { KeyRowFragment } from './keys.gql';

export interface KeyDraft {
  name: string;
  allowAllCollections: boolean;
  allowedCollections: string[];
  defaultCollection: string | null;
  allowedHosts: string[];
  allowedReferers: string[];
  widgetModelId: string | null;
  widgetContext: string;
  requireSignature: boolean;
  databaseTools: boolean;
  // Null for the server's default, 0 for no limit.
  rateLimitPerMinute: number | null;
  // A day as in inputs of dates; empty for never. The key expires at its end.
  expiresOn: string;
}

// newDraft returns the settings that a new key begins with: it works from the pages of the dashboard, so that the preview
// of the widget works.
export function newDraft(): KeyDraft {
  return {
    name: '',
    allowAllCollections: true,
    allowedCollections: [],
    defaultCollection: null,
    allowedHosts: [window.location.hostname],
    allowedReferers: [],
    widgetModelId: null,
    widgetContext: '',
    requireSignature: false,
    databaseTools: false,
    rateLimitPerMinute: null,
    expiresOn: '',
  };
}

export function draftOf(key: KeyRowFragment): KeyDraft {
  return {
    name: key.name,
    allowAllCollections: key.allowAllCollections,
    allowedCollections: key.allowedCollections,
    defaultCollection: key.defaultCollection ?? null,
    allowedHosts: key.allowedHosts,
    allowedReferers: key.allowedReferers,
    widgetModelId: key.widgetModelId ?? null,
    widgetContext: key.widgetContext ?? '',
    requireSignature: key.requireSignature,
    databaseTools: key.databaseTools,
    rateLimitPerMinute: key.rateLimitPerMinute ?? null,
    expiresOn: key.expiresAt ? dayOf(key.expiresAt) : '',
  };
}

// created returns the input of a new key.
export function created(draft: KeyDraft): CreateApiKeyInput {
  return {
    name: draft.name,
    allowAllCollections: draft.allowAllCollections,
    allowedCollections: draft.allowAllCollections ? [] : draft.allowedCollections,
    defaultCollection: draft.defaultCollection,
    allowedHosts: draft.allowedHosts,
    allowedReferers: draft.allowedReferers,
    widgetModelId: draft.widgetModelId,
    widgetContext: draft.widgetContext || null,
    requireSignature: draft.requireSignature,
    databaseTools: draft.databaseTools,
    rateLimitPerMinute: draft.rateLimitPerMinute,
    expiresAt: draft.expiresOn ? endOf(draft.expiresOn) : null,
  };
}

// changed returns what differs from before: the service checks only what is sent.
export function changed(draft: KeyDraft, before: KeyDraft): UpdateApiKeyInput {
  const input: UpdateApiKeyInput = {};
  const differs = (name: keyof KeyDraft) => JSON.stringify(draft[name]) !== JSON.stringify(before[name]);
  if (differs('name')) input.name = draft.name;
  if (differs('allowAllCollections')) input.allowAllCollections = draft.allowAllCollections;
  if (differs('allowedCollections')) input.allowedCollections = draft.allowedCollections;
  if (differs('defaultCollection')) input.defaultCollection = draft.defaultCollection;
  if (differs('allowedHosts')) input.allowedHosts = draft.allowedHosts;
  if (differs('allowedReferers')) input.allowedReferers = draft.allowedReferers;
  if (differs('widgetModelId')) input.widgetModelId = draft.widgetModelId;
  if (differs('widgetContext')) input.widgetContext = draft.widgetContext || null;
  if (differs('requireSignature')) input.requireSignature = draft.requireSignature;
  if (differs('databaseTools')) input.databaseTools = draft.databaseTools;
  if (differs('rateLimitPerMinute')) input.rateLimitPerMinute = draft.rateLimitPerMinute;
  if (differs('expiresOn')) input.expiresAt = draft.expiresOn ? endOf(draft.expiresOn) : null;
  return input;
}
