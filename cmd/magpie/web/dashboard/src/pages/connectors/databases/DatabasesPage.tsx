import { Anchor, Loader, Text } from '@mantine/core';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useQuery } from 'urql';
import { formatNumber, t } from '../../../i18n';
import { DataTable } from '../../../kit/DataTable';
import { Empty } from '../../../kit/Empty';
import { FilterText } from '../../../kit/FilterText';
import { TextLink } from '../../../kit/links';
import { Page } from '../../../kit/Page';
import { ProblemNotice } from '../../../kit/Problem';
import { When } from '../../../kit/Time';
import { useMay } from '../../../session/Me';
import { ConnectorsDatabasesDocument } from './databases.gql';

const route = getRouteApi('/shell/databases');

// DatabasesPage lists the attached databases that the person may query.
export function DatabasesPage() {
  const { q = '' } = route.useSearch();
  const navigate = route.useNavigate();
  const mayEdit = useMay('EDITOR');
  const [{ data, error, fetching }, again] = useQuery({ query: ConnectorsDatabasesDocument });
  const reload = () => again({ requestPolicy: 'network-only' });
  if (error && !data) return <ProblemNotice error={error} retry={reload} />;
  if (!data) return <Loader aria-label={t('common.loading')} />;
  const rows = data.databases.filter(({ name }) => name.toLocaleLowerCase().includes(q.toLocaleLowerCase()));
  const list = { rows, total: rows.length, loading: false, fetching, error, hasMore: false, more: () => {}, reload };
  return (
    <Page title={t('common.nav.databases')} description={t('connectors.databases.about')}>
      {data.databases.length > 0 && (
        <FilterText
          label={t('connectors.filter.name')}
          value={q}
          onChange={(next) => void navigate({ search: { q: next }, replace: true })}
        />
      )}
      <DataTable
        label={t('common.nav.databases')}
        list={list}
        rowKey={({ id }) => id}
        onOpen={({ id }) => void navigate({ to: '/databases/$databaseId', params: { databaseId: id } })}
        empty={
          <Empty
            icon="database"
            title={t(q ? 'connectors.noMatch' : 'connectors.databases.none')}
            action={
              mayEdit && !q ? (
                <TextLink to="/connectors/new" search={{ q: 'sql' }}>
                  {t('connectors.databases.attach')}
                </TextLink>
              ) : undefined
            }
          >
            {q ? t('connectors.noMatchHelp') : t('connectors.databases.noneHelp')}
          </Empty>
        }
        columns={[
          {
            key: 'name',
            title: t('common.name'),
            cell: ({ id, name, lastError }) => (
              <>
                <Anchor component={Link} to={`/databases/${id}`} size="sm" fw={500}>
                  {name}
                </Anchor>
                {lastError && (
                  <Text size="xs" c="var(--mantine-color-error)">
                    {lastError}
                  </Text>
                )}
              </>
            ),
          },
          { key: 'dialect', title: t('connectors.databases.dialect'), cell: ({ dialect }) => dialect },
          { key: 'tables', title: t('connectors.databases.tables'), align: 'right', cell: ({ tables }) => formatNumber(tables) },
          { key: 'read', title: t('connectors.databases.read'), from: 'sm', cell: ({ schemaSyncedAt }) => <When at={schemaSyncedAt} /> },
        ]}
      />
    </Page>
  );
}
