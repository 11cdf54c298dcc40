import { Text } from '@mantine/core';
import { useSearch } from '@tanstack/react-router';
import { useQuery } from 'urql';
import { formatNumber, t } from '../../i18n';
import { type Column, DataTable } from '../../kit/DataTable';
import { TextLink } from '../../kit/links';
import { When } from '../../kit/Time';
import { nodesOf, useSteps } from '../../kit/usePaged';
import { InsightsCollectionsDocument, type InsightsCountFragment } from './insights.gql';

const most = 100; // questions of a list

// Questions is a table of questions, each of which can be asked again, or put into the golden set of its collection.
export function Questions({ label, rows }: { label: string; rows: InsightsCountFragment[] }) {
  const list = useSteps(rows, label);
  const { collection } = useSearch({ from: '/shell/analytics' });
  const [{ data }] = useQuery({ query: InsightsCollectionsDocument });
  const all = nodesOf(data?.collections);
  const only = all.length === 1 ? all[0]?.id : undefined;
  const columns: Column<InsightsCountFragment>[] = [
    {
      key: 'question',
      title: t('insights.question'),
      cell: ({ query, collectionId }) => (
        <TextLink to="/search" search={{ q: query, collection: collectionId ?? undefined }} size="sm">
          {query}
        </TextLink>
      ),
    },
    { key: 'asked', title: t('insights.asked'), align: 'right', cell: ({ count }) => formatNumber(count) },
    { key: 'none', title: t('insights.zeroResults'), from: 'xs', align: 'right', cell: ({ zeroResults }) => formatNumber(zeroResults) },
    { key: 'clicks', title: t('insights.clicks'), from: 'sm', align: 'right', cell: ({ clicks }) => formatNumber(clicks) },
    {
      key: 'score',
      title: t('insights.score'),
      from: 'sm',
      align: 'right',
      cell: ({ averageScore }) => (averageScore == null ? '–' : formatNumber(averageScore, 2)),
    },
    {
      key: 'golden',
      title: t('insights.golden'),
      from: 'sm',
      cell: ({ query, collectionId }) => {
        const id = collectionId ?? collection ?? only;
        return (
          id && (
            <TextLink
              to="/collections/$collectionId"
              params={{ collectionId: id }}
              search={{ tab: 'reliability', question: query }}
              size="sm"
            >
              {t('insights.goldenAdd')}
            </TextLink>
          )
        );
      },
    },
    { key: 'last', title: t('insights.last'), from: 'md', cell: ({ lastAt }) => <When at={lastAt} /> },
  ];
  return (
    <>
      <DataTable
        label={label}
        columns={columns}
        list={list}
        rowKey={({ query, collectionId }) => `${collectionId} ${query}`}
        empty={<Text size="sm">{t('insights.noQuestion')}</Text>}
      />
      {rows.length >= most && !list.hasMore && (
        <Text size="xs" c="dimmed">
          {t('insights.most', { count: most })}
        </Text>
      )}
    </>
  );
}
