import { Button, Group, Select, TextInput } from '@mantine/core';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { type FormEvent, useEffect, useState } from 'react';
import { t } from '../../i18n';
import { type AuditSearch, actions } from './auditSearch';

const choices = Object.entries(actions).map(([kind, verbs]) => ({
  group: kind,
  items: [`${kind}.*`, ...verbs.map((verb) => `${kind}.${verb}`)],
}));

// AuditFilters chooses entries. The filters are in the address; texts apply with Enter.
export function AuditFilters() {
  const search = useSearch({ from: '/shell/audit' });
  const navigate = useNavigate();
  const [draft, setDraft] = useState<AuditSearch>(search);
  useEffect(() => setDraft(search), [search]);
  const apply = (change: AuditSearch) => {
    const next = { ...draft, ...change };
    void navigate({
      to: '/audit',
      search: Object.fromEntries(Object.entries(next).filter(([, value]) => value)) as AuditSearch,
    });
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    apply({});
  };
  const items = search.action && !choices.some(({ items }) => items.includes(search.action ?? '')) ? [search.action, ...choices] : choices;
  return (
    <form onSubmit={submit}>
      <Group align="flex-end" gap="sm">
        <TextInput
          label={t('insights.audit.text')}
          value={draft.text ?? ''}
          onChange={(event) => setDraft({ ...draft, text: event.currentTarget.value })}
          flex="1 1 11rem"
        />
        <TextInput
          label={t('insights.audit.actor')}
          placeholder="ada@example.com"
          value={draft.actor ?? ''}
          onChange={(event) => setDraft({ ...draft, actor: event.currentTarget.value })}
          flex="1 1 11rem"
        />
        <Select
          label={t('insights.audit.action')}
          placeholder={t('common.all')}
          data={items}
          value={draft.action ?? null}
          onChange={(action) => apply({ action: action ?? undefined })}
          searchable
          clearable
          clearButtonProps={{ 'aria-label': t('common.clear') }}
          flex="1 1 11rem"
        />
        <Select
          label={t('insights.audit.targetKind')}
          placeholder={t('common.all')}
          data={Object.keys(actions)}
          value={draft.target ?? null}
          onChange={(target) => apply({ target: target ?? undefined })}
          searchable
          clearable
          clearButtonProps={{ 'aria-label': t('common.clear') }}
          flex="1 1 9rem"
        />
        <TextInput
          label={t('insights.audit.targetId')}
          value={draft.targetId ?? ''}
          onChange={(event) => setDraft({ ...draft, targetId: event.currentTarget.value.trim() })}
          flex="1 1 9rem"
        />
        <TextInput
          type="date"
          label={t('insights.from')}
          value={draft.from ?? ''}
          max={draft.to}
          onChange={(event) => apply({ from: event.currentTarget.value })}
        />
        <TextInput
          type="date"
          label={t('insights.to')}
          value={draft.to ?? ''}
          min={draft.from}
          onChange={(event) => apply({ to: event.currentTarget.value })}
        />
        <Button type="submit">{t('common.filter')}</Button>
        <Button
          variant="subtle"
          onClick={() => void navigate({ to: '/audit', search: {} })}
          disabled={Object.values(search).every((one) => !one)}
        >
          {t('common.clear')}
        </Button>
      </Group>
    </form>
  );
}
