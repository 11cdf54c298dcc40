import { Anchor, Table, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { formatNumber, t } from '../../i18n';
import { When } from '../../kit/Time';
import type { InsightsCountFragment } from './insights.gql';

// Questions is a table of questions, each of which can be asked again.
export function Questions({ label, rows }: { label: string; rows: InsightsCountFragment[] }) {
  if (rows.length === 0) {
    return <Text size="sm">{t('insights.noQuestion')}</Text>;
  }
  return (
    <Table aria-label={label}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{t('insights.question')}</Table.Th>
          <Table.Th ta="right">{t('insights.asked')}</Table.Th>
          <Table.Th ta="right" visibleFrom="xs">
            {t('insights.zeroResults')}
          </Table.Th>
          <Table.Th ta="right" visibleFrom="sm">
            {t('insights.clicks')}
          </Table.Th>
          <Table.Th ta="right" visibleFrom="sm">
            {t('insights.score')}
          </Table.Th>
          <Table.Th visibleFrom="md">{t('insights.last')}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {rows.map((row) => (
          <Table.Tr key={row.query}>
            <Table.Td className="wrap">
              <Anchor
                size="sm"
                renderRoot={(props) => (
                  <Link to="/search" search={{ q: row.query, collection: row.collectionId ?? undefined }} {...props} />
                )}
              >
                {row.query}
              </Anchor>
            </Table.Td>
            <Table.Td ta="right">{formatNumber(row.count)}</Table.Td>
            <Table.Td ta="right" visibleFrom="xs">
              {formatNumber(row.zeroResults)}
            </Table.Td>
            <Table.Td ta="right" visibleFrom="sm">
              {formatNumber(row.clicks)}
            </Table.Td>
            <Table.Td ta="right" visibleFrom="sm">
              {row.averageScore == null ? '–' : formatNumber(row.averageScore, 2)}
            </Table.Td>
            <Table.Td visibleFrom="md">
              <When at={row.lastAt} />
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}
