import { Group, SegmentedControl, Select, TextInput } from '@mantine/core';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useQuery } from 'urql';
import type { QueryKind } from '../../gql/schema';
import { t } from '../../i18n';
import { nodesOf } from '../../kit/usePaged';
import { useMay } from '../../session/Me';
import { InsightsCollectionsDocument, InsightsKeysDocument } from './insights.gql';
import { type AnalyticsSearch, spanOf, spans } from './span';

// AnalyticsFilters chooses the span and what is counted. All of it is in the address.
export function AnalyticsFilters() {
  const search = useSearch({ from: '/shell/analytics' });
  const navigate = useNavigate();
  const isAdmin = useMay('ADMIN');
  const [{ data: collections }] = useQuery({ query: InsightsCollectionsDocument });
  const [{ data: keys }] = useQuery({ query: InsightsKeysDocument, pause: !isAdmin });
  const set = (change: AnalyticsSearch) => void navigate({ to: '/analytics', search: { ...search, ...change } });
  const isCustom = search.from !== undefined;
  const named = (list: { id: string; name: string }[], chosen?: string) => [
    ...list.map(({ id, name }) => ({ value: id, label: name })),
    ...(chosen && !list.some(({ id }) => id === chosen) ? [{ value: chosen, label: chosen }] : []),
  ];
  return (
    <Group align="flex-end">
      <SegmentedControl
        aria-label={t('insights.span')}
        data={[
          ...spans.map((days) => ({ value: String(days), label: t('insights.days', { count: days }) })),
          { value: 'custom', label: t('insights.custom') },
        ]}
        value={isCustom ? 'custom' : String(search.days ?? 30)}
        onChange={(value) => {
          if (value === 'custom') {
            const span = spanOf(search);
            set({ days: undefined, from: span.from.slice(0, 10), to: span.to.slice(0, 10) });
          } else set({ days: spans.find((days) => String(days) === value), from: undefined, to: undefined });
        }}
      />
      {isCustom && (
        <>
          <TextInput
            type="date"
            label={t('insights.from')}
            value={search.from}
            max={search.to}
            onChange={(event) => event.currentTarget.value && set({ from: event.currentTarget.value })}
          />
          <TextInput
            type="date"
            label={t('insights.to')}
            value={search.to}
            min={search.from}
            onChange={(event) => event.currentTarget.value && set({ to: event.currentTarget.value })}
          />
        </>
      )}
      <Select
        aria-label={t('insights.kind')}
        placeholder={t('insights.kindAll')}
        data={(['SEARCH', 'CHAT'] as const).map((kind) => ({ value: kind, label: t(`insights.kind.${kind}`) }))}
        value={search.kind ?? null}
        onChange={(kind) => set({ kind: (kind as QueryKind | null) ?? undefined })}
        clearable
        clearButtonProps={{ 'aria-label': t('common.clear') }}
        w="13rem"
      />
      <Select
        aria-label={t('common.nav.collections')}
        placeholder={t('insights.collectionAll')}
        data={named(nodesOf(collections?.collections), search.collection)}
        value={search.collection ?? null}
        onChange={(id) => set({ collection: id ?? undefined })}
        searchable
        clearable
        clearButtonProps={{ 'aria-label': t('common.clear') }}
        w="13rem"
      />
      {isAdmin && (
        <Select
          aria-label={t('common.nav.keys')}
          placeholder={t('insights.keyAll')}
          data={named(nodesOf(keys?.apiKeys), search.key)}
          value={search.key ?? null}
          onChange={(id) => set({ key: id ?? undefined })}
          searchable
          clearable
          clearButtonProps={{ 'aria-label': t('common.clear') }}
          w="13rem"
        />
      )}
    </Group>
  );
}
