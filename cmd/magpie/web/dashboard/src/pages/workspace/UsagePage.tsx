import { Anchor, Loader, Progress, SimpleGrid, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useQuery } from 'urql';
import { formatBytes, formatDate, formatNumber, formatPercent, t } from '../../i18n';
import { type Column, DataTable } from '../../kit/DataTable';
import { Empty } from '../../kit/Empty';
import { Figure } from '../../kit/Facts';
import { Page } from '../../kit/Page';
import { ProblemNotice } from '../../kit/Problem';
import { When } from '../../kit/Time';
import { usePaged } from '../../kit/usePaged';
import { May } from '../../session/Me';
import { Section } from './Section';
import { WorkspaceStorageDocument, type WorkspaceStorageQuery, WorkspaceUsageDocument } from './usage.gql';

type Collection = NonNullable<NonNullable<NonNullable<WorkspaceStorageQuery['collections']['edges']>[number]>['node']>;

export function UsagePage() {
  return (
    <Page title={t('common.nav.usage')} description={t('workspace.usageAbout')}>
      <Quota />
      <Storage />
    </Page>
  );
}

function Quota() {
  const [{ data, error }, again] = useQuery({ query: WorkspaceUsageDocument });
  if (error && !data) return <ProblemNotice error={error} retry={() => again({ requestPolicy: 'network-only' })} />;
  if (!data) return <Loader aria-label={t('common.loading')} />;
  const { queries, limit, remaining, periodStart, periodEnd } = data.usage;
  const used = limit ? Math.min(1, queries / limit) : 0;
  return (
    <Section title={t('workspace.quota')} about={t('workspace.quotaAbout', { from: utcDay(periodStart), to: utcDay(periodEnd) })}>
      <SimpleGrid cols={{ base: 1, xs: 3 }}>
        <Figure label={t('workspace.queries')} value={formatNumber(queries)} />
        <Figure label={t('workspace.limit')} value={limit == null ? t('workspace.noLimit') : formatNumber(limit)} />
        <Figure label={t('workspace.remaining')} value={remaining == null ? t('workspace.noLimit') : formatNumber(remaining)} />
      </SimpleGrid>
      {limit != null && (
        <>
          <Progress
            value={100 * used}
            color={used >= 1 ? 'red' : used > 0.8 ? 'yellow' : undefined}
            aria-label={t('workspace.quota')}
            aria-valuetext={formatPercent(used)}
          />
          <Text size="sm">{t(remaining === 0 ? 'workspace.quotaSpent' : 'workspace.quotaUsed', { share: formatPercent(used) })}</Text>
        </>
      )}
      <May atLeast="EDITOR">
        <Text size="sm">
          <Anchor component={Link} to="/analytics" inherit>
            {t('workspace.toAnalytics')}
          </Anchor>
        </Text>
      </May>
    </Section>
  );
}

// utcDay shows a limit of a month, which is one of UTC, as the day that it is there.
function utcDay(value: string): string {
  return formatDate(`${value.slice(0, 10)}T12:00:00Z`);
}

function Storage() {
  const list = usePaged(WorkspaceStorageDocument, {}, (data: WorkspaceStorageQuery) => data.collections);
  const total = list.rows.reduce((sum, { stats }) => sum + stats.storageBytes, 0);
  const columns: Column<Collection>[] = [
    {
      key: 'name',
      title: t('workspace.collection'),
      cell: ({ id, name }) => (
        <Anchor component={Link} to={`/collections/${id}`} inherit>
          {name}
        </Anchor>
      ),
    },
    { key: 'bytes', title: t('workspace.storage'), align: 'right', cell: ({ stats }) => formatBytes(stats.storageBytes) },
    { key: 'documents', title: t('workspace.documents'), align: 'right', cell: ({ stats }) => formatNumber(stats.documentCount) },
    {
      key: 'embeddings',
      title: t('workspace.passages'),
      align: 'right',
      from: 'sm',
      cell: ({ stats }) => formatNumber(stats.embeddingCount),
    },
    { key: 'model', title: t('workspace.model'), from: 'md', cell: ({ embeddingModel }) => embeddingModel },
    { key: 'sync', title: t('workspace.lastSync'), from: 'sm', cell: ({ stats }) => <When at={stats.lastSync} /> },
  ];
  return (
    <Section title={t('workspace.storage')} about={t('workspace.storageAbout')}>
      {list.rows.length > 0 && <Text size="sm">{t('workspace.storageTotal', { size: formatBytes(total), count: list.rows.length })}</Text>}
      <DataTable
        label={t('workspace.storage')}
        columns={columns}
        list={list}
        rowKey={({ id }) => id}
        empty={
          <Empty icon="collection" title={t('workspace.noCollections')}>
            {t('workspace.noCollectionsAbout')}
          </Empty>
        }
      />
    </Section>
  );
}
