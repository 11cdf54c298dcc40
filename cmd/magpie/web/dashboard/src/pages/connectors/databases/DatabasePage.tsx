import { Alert, Anchor, Grid, Loader, Stack, Text, Title } from '@mantine/core';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useQuery } from 'urql';
import { NotFound } from '../../../app/Fallback';
import { formatNumber, t } from '../../../i18n';
import { DataTable } from '../../../kit/DataTable';
import { Empty } from '../../../kit/Empty';
import { FilterText } from '../../../kit/FilterText';
import { Page } from '../../../kit/Page';
import { ProblemNotice } from '../../../kit/Problem';
import { When } from '../../../kit/Time';
import { usePaged } from '../../../kit/usePaged';
import { ConnectorsDatabasesDocument, ConnectorsTablesDocument } from './databases.gql';
import { Statement } from './Statement';
import { TableView } from './TableView';

const route = getRouteApi('/shell/databases/$databaseId');

// DatabasePage shows the tables of an attached database, and runs statements that only read.
export function DatabasePage() {
  const { databaseId } = route.useParams();
  const { q, table, sql = '' } = route.useSearch();
  const navigate = route.useNavigate();
  const [text, setText] = useState(sql);
  const [{ data, error }, again] = useQuery({ query: ConnectorsDatabasesDocument });
  const list = usePaged(ConnectorsTablesDocument, { databaseId, matching: q ?? null }, ({ databaseTables }) => databaseTables);
  if (error && !data) return <ProblemNotice error={error} retry={() => again({ requestPolicy: 'network-only' })} />;
  if (!data) return <Loader aria-label={t('common.loading')} />;
  const database = data.databases.find(({ id }) => id === databaseId);
  if (!database) return <NotFound />;
  const show = (next: string) => void navigate({ search: (old) => ({ ...old, table: next }) });
  return (
    <Page
      title={database.name}
      description={
        <>
          {database.dialect} · {t('connectors.databases.read')}: <When at={database.schemaSyncedAt} /> ·{' '}
          <Anchor component={Link} to={`/connectors/${databaseId}`} size="sm" underline="always">
            {t('connectors.databases.connector')}
          </Anchor>
        </>
      }
      above={[{ label: t('common.nav.databases'), to: '/databases' }]}
    >
      {database.lastError && (
        <Alert color="red" variant="light" title={t('connectors.lastError')}>
          {database.lastError}
        </Alert>
      )}
      <Grid>
        <Grid.Col span={{ base: 12, md: 5 }}>
          <Stack gap="sm">
            <Title order={2} size="h5">
              {t('connectors.databases.tables')}
            </Title>
            <FilterText
              label={t('connectors.databases.search')}
              value={q ?? ''}
              onChange={(next) => void navigate({ search: (old) => ({ ...old, q: next }), replace: true })}
            />
            <DataTable
              label={t('connectors.databases.tables')}
              list={list}
              rowKey={(row) => row.table}
              onOpen={(row) => show(row.table)}
              empty={
                <Empty icon="database" title={t(q ? 'connectors.noMatch' : 'connectors.databases.noTables')}>
                  {t(q ? 'connectors.noMatchHelp' : 'connectors.databases.noTablesHelp')}
                </Empty>
              }
              columns={[
                {
                  key: 'table',
                  title: t('connectors.databases.table'),
                  cell: (row) => (
                    <>
                      <Anchor
                        component="button"
                        type="button"
                        size="sm"
                        onClick={() => show(row.table)}
                        aria-current={row.table === table || undefined}
                      >
                        {row.table}
                      </Anchor>
                      {row.comment && (
                        <Text size="xs" c="dimmed" lineClamp={2}>
                          {row.comment}
                        </Text>
                      )}
                    </>
                  ),
                },
                {
                  key: 'rows',
                  title: t('connectors.databases.rows'),
                  align: 'right',
                  cell: ({ estimatedRows }) => (estimatedRows == null ? '–' : formatNumber(estimatedRows)),
                },
              ]}
            />
          </Stack>
        </Grid.Col>
        <Grid.Col span={{ base: 12, md: 7 }}>
          {table ? (
            <TableView
              key={table}
              databaseId={databaseId}
              table={table}
              onQuery={(statement) => {
                setText(statement);
                document.getElementById('statement')?.focus();
              }}
            />
          ) : (
            <Text size="sm" c="dimmed">
              {t('connectors.databases.chooseTable')}
            </Text>
          )}
        </Grid.Col>
      </Grid>
      <Statement
        databaseId={databaseId}
        text={text}
        onText={setText}
        onRun={(statement) =>
          void navigate({ search: (old) => ({ ...old, sql: statement.length <= 2000 ? statement : undefined }), replace: true })
        }
      />
    </Page>
  );
}
