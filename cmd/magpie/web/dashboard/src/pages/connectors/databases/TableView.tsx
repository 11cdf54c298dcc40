import { Badge, Button, Code, Group, List, Loader, Paper, Stack, Table, Text, Title } from '@mantine/core';
import { useQuery } from 'urql';
import { formatNumber, t } from '../../../i18n';
import { ProblemNotice } from '../../../kit/Problem';
import { ConnectorsTableDocument } from './databases.gql';
import { Rows } from './Rows';

interface Props {
  databaseId: string;
  table: string;
  // Called with a statement that reads the table.
  onQuery: (sql: string) => void;
}

// TableView shows what is known about a table: its columns, keys, joins and samples.
export function TableView({ databaseId, table, onQuery }: Props) {
  const [{ data, error }, again] = useQuery({ query: ConnectorsTableDocument, variables: { databaseId, table } });
  if (error && !data) return <ProblemNotice error={error} retry={() => again({ requestPolicy: 'network-only' })} />;
  if (!data) return <Loader aria-label={t('common.loading')} />;
  const { kind, comment, estimatedRows, columns, moreColumns, primaryKey, joins, sampleRows } = data.databaseTable;
  return (
    <Paper p="md" component="section">
      <Stack gap="sm">
        <Group justify="space-between" gap="xs">
          <Title order={2} size="h5" className="wrap">
            {table}
          </Title>
          <Button size="xs" variant="default" onClick={() => onQuery(`SELECT * FROM ${data.databaseTable.table} LIMIT 20`)}>
            {t('connectors.databases.queryTable')}
          </Button>
        </Group>
        {comment && <Text size="sm">{comment}</Text>}
        <Text size="sm" c="dimmed">
          {kind}
          {estimatedRows != null && ` · ${t('connectors.databases.about.rows', { count: formatNumber(estimatedRows) })}`}
        </Text>
        <Table.ScrollContainer minWidth={0} type="native">
          <Table aria-label={t('connectors.databases.columns')}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>{t('connectors.databases.column')}</Table.Th>
                <Table.Th>{t('connectors.databases.type')}</Table.Th>
                <Table.Th>{t('connectors.databases.comment')}</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {columns.map((column) => (
                <Table.Tr key={column.name}>
                  <Table.Td className="wrap">
                    {column.name}
                    {primaryKey.includes(column.name) && (
                      <Badge ml={6} size="xs" variant="light" tt="none">
                        {t('connectors.databases.key')}
                      </Badge>
                    )}
                  </Table.Td>
                  <Table.Td className="wrap">
                    {column.type}
                    <Text size="xs" c="dimmed">
                      {[
                        !column.nullable && t('connectors.databases.notNull'),
                        column.default && t('connectors.databases.default', { value: column.default }),
                      ]
                        .filter(Boolean)
                        .join(', ')}
                    </Text>
                  </Table.Td>
                  <Table.Td className="wrap">
                    {column.comment}
                    {column.values.length > 0 && (
                      <Text size="xs" c="dimmed">
                        {column.values.join(', ')}
                      </Text>
                    )}
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
        {moreColumns > 0 && <Text size="sm">{t('connectors.databases.moreColumns', { count: moreColumns })}</Text>}
        {joins.length > 0 && (
          <>
            <Title order={3} size="h6">
              {t('connectors.databases.joins')}
            </Title>
            <List size="sm">
              {joins.map((join) => (
                <List.Item key={join}>
                  <Code className="wrap">{join}</Code>
                </List.Item>
              ))}
            </List>
          </>
        )}
        {sampleRows && (
          <>
            <Title order={3} size="h6">
              {t('connectors.databases.samples')}
            </Title>
            <Rows label={t('connectors.databases.samples')} columns={sampleRows.columns} rows={sampleRows.rows} />
            {sampleRows.notice && (
              <Text size="sm" c="dimmed">
                {sampleRows.notice}
              </Text>
            )}
          </>
        )}
      </Stack>
    </Paper>
  );
}
