import { MultiSelect, Select, TextInput } from '@mantine/core';
import { useState } from 'react';
import { problemOf } from '../api/errors';
import type { OperationGroup, Role } from '../gql/schema';
import { t, tValue } from '../i18n';
import { dayOf, endOf } from '../i18n/zone';
import { includes, useMe } from '../session/Me';

const groups: OperationGroup[] = [
  'SEARCH',
  'COLLECTIONS',
  'CONNECTORS',
  'DOCUMENTS',
  'DATABASES',
  'AGENTS',
  'AUTOMATIONS',
  'PEOPLE',
  'KEYS',
  'SETTINGS',
];

// What only service tokens can do.
const serviceGroups: OperationGroup[] = [...groups, 'SCIM'];

export interface TokenDraft {
  name: string;
  // The most that the token may do; null for the person's own role.
  role: Role | null;
  // None for everything.
  groups: OperationGroup[];
  // The last day; empty for the default.
  expiresOn: string;
}

// personalInput returns a draft as the service takes it.
export function personalInput({ name, role, groups: chosen, expiresOn }: TokenDraft) {
  return { name, role, groups: chosen.length > 0 ? chosen : null, expiresAt: endOf(expiresOn) };
}

// useTokenDraft returns a draft, and what changes it.
export function useTokenDraft(service: boolean, name = '') {
  const [draft, setDraft] = useState<TokenDraft>({ name, role: service ? 'VIEWER' : null, groups: [], expiresOn: '' });
  return { draft, change: (part: Partial<TokenDraft>) => setDraft((before) => ({ ...before, ...part })) };
}

interface Props {
  service: boolean;
  draft: TokenDraft;
  change: (part: Partial<TokenDraft>) => void;
  failure: Parameters<typeof problemOf>[0] | null;
}

// TokenFields are the fields of a form that makes a token.
export function TokenFields({ service, draft, change, failure }: Props) {
  const me = useMe();
  const problem = failure ? problemOf(failure) : null;
  const error = (field: string) => (problem?.field === field ? problem.message : undefined);
  const roles = (['VIEWER', 'EDITOR', 'ADMIN', 'OWNER'] as Role[]).filter((one) => includes(me.role, one) && !(service && one === 'OWNER'));
  return (
    <>
      <TextInput
        label={t('common.name')}
        required
        maxLength={200}
        value={draft.name}
        onChange={(event) => change({ name: event.currentTarget.value })}
        error={error('name')}
        data-autofocus
      />
      <Select
        label={t('common.tokens.role')}
        placeholder={service ? undefined : t('common.tokens.myRole')}
        data={roles.map((value) => ({ value, label: tValue(`common.role.${value}`, value) }))}
        value={draft.role}
        onChange={(value) => change({ role: value as Role | null })}
        clearable={!service}
        clearButtonProps={{ 'aria-label': t('common.clear') }}
        allowDeselect={!service}
        error={error('role')}
      />
      <MultiSelect
        label={t('common.tokens.groups')}
        placeholder={service || draft.groups.length > 0 ? undefined : t('common.tokens.everything')}
        required={service}
        data={(service ? serviceGroups : groups).map((value) => ({ value, label: tValue(`common.tokens.group.${value}`, value) }))}
        value={draft.groups}
        onChange={(value) => change({ groups: value as OperationGroup[] })}
        error={error('groups')}
      />
      <TextInput
        type="date"
        label={t('common.tokens.expiresOn')}
        description={service ? t('common.tokens.expiresService') : t('common.tokens.expiresPersonal')}
        min={dayOf(Date.now())}
        value={draft.expiresOn}
        onChange={(event) => change({ expiresOn: event.currentTarget.value })}
        error={error('expiresAt')}
      />
    </>
  );
}
