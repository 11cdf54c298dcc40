import { Anchor, Badge, Button, Group, Select, Text } from '@mantine/core';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { ConnectorStatus } from '../../gql/schema';
import { formatNumber, t, tValue } from '../../i18n';
import { DataTable } from '../../kit/DataTable';
import { Empty } from '../../kit/Empty';
import { FilterText } from '../../kit/FilterText';
import { Icon } from '../../kit/Icon';
import { Page } from '../../kit/Page';
import { Status } from '../../kit/Status';
import { When } from '../../kit/Time';
import { usePaged } from '../../kit/usePaged';
import { May, useMay } from '../../session/Me';
import { CollectionSelect } from './fields';
import { span, useKinds } from './kinds';
import { ConnectorsListDocument, type ConnectorsListQuery } from './list.gql';
import type { ListSearch } from './routes';
import { useSyncs } from './useSyncs';

type Row = NonNullable<NonNullable<NonNullable<ConnectorsListQuery['connectors']['edges']>[number]>['node']>;

const route = getRouteApi('/shell/connectors');
const states: ConnectorStatus[] = ['ACTIVE', 'PAUSED', 'NEEDS_AUTH', 'ERROR'];

// ConnectorsPage lists the connectors with their state and how fresh their documents are.
export function ConnectorsPage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { kinds, title } = useKinds();
  const mayEdit = useMay('EDITOR');
  const filter = (change: ListSearch) => void navigate({ search: (old) => ({ ...old, ...change }), replace: true });
  const list = usePaged(
    ConnectorsListDocument,
    {
      matching: search.q ?? null,
      collectionId: search.collection ?? null,
      type: search.type ?? null,
      status: states.filter((state) => state === search.status).slice(0, 1),
    },
    (data) => data.connectors,
  );
  useSyncs(list.rows, list.reload);
  const isFiltered = Boolean(search.q || search.collection || search.type || search.status);
  const create = (
    <Button
      renderRoot={(props) => <Link to="/connectors/new" search={{ collection: search.collection }} {...props} />}
      leftSection={<Icon name="plus" size={16} />}
    >
      {t('connectors.add')}
    </Button>
  );
  return (
    <Page title={t('connectors.title')} description={t('connectors.about')} actions={<May atLeast="EDITOR">{create}</May>}>
      <Group align="flex-end" gap="sm">
        <FilterText label={t('connectors.filter.name')} value={search.q ?? ''} onChange={(q) => filter({ q })} />
        <CollectionSelect
          label={t('connectors.collection')}
          value={search.collection ?? null}
          onChange={(collection) => filter({ collection: collection ?? undefined })}
          placeholder={t('common.all')}
          clearable
        />
        <Select
          label={t('connectors.kind')}
          placeholder={t('common.all')}
          data={kinds.map(({ name, title: label }) => ({ value: name, label }))}
          value={search.type ?? null}
          onChange={(type) => filter({ type: type ?? undefined })}
          clearable
          clearButtonProps={{ 'aria-label': t('common.clear') }}
          searchable
        />
        <Select
          label={t('common.state')}
          placeholder={t('common.all')}
          data={states.map((state) => ({ value: state, label: tValue(`common.status.${state}`, state) }))}
          value={search.status ?? null}
          onChange={(status) => filter({ status: status ?? undefined })}
          clearable
          clearButtonProps={{ 'aria-label': t('common.clear') }}
        />
      </Group>
      <DataTable
        label={t('connectors.title')}
        list={list}
        rowKey={({ id }) => id}
        onOpen={({ id }) => void navigate({ to: '/connectors/$connectorId', params: { connectorId: id } })}
        empty={
          isFiltered ? (
            <Empty icon="filter" title={t('connectors.noMatch')}>
              {t('connectors.noMatchHelp')}
            </Empty>
          ) : (
            <Empty icon="connector" title={t('connectors.none')} action={mayEdit ? create : undefined}>
              {mayEdit ? t('connectors.noneHelp') : t('connectors.noneViewer')}
            </Empty>
          )
        }
        columns={[
          {
            key: 'name',
            title: t('common.name'),
            cell: ({ id, name, type, collection }) => (
              <>
                <Anchor component={Link} to={`/connectors/${id}`} size="sm" fw={500}>
                  {name}
                </Anchor>
                <Text size="xs" c="dimmed">
                  {title(type)} · {collection.name}
                </Text>
              </>
            ),
          },
          { key: 'state', title: t('common.state'), cell: (row) => <State row={row} /> },
          { key: 'sync', title: t('connectors.lastSync'), from: 'sm', cell: ({ lastSync }) => <When at={lastSync} /> },
          {
            key: 'documents',
            title: t('connectors.documents'),
            from: 'sm',
            align: 'right',
            cell: ({ documentCounts }) => formatNumber(documentCounts.indexed),
          },
          {
            key: 'fresh',
            title: t('connectors.freshness'),
            from: 'md',
            align: 'right',
            cell: ({ freshness }) => span(freshness.lastDay.p95),
          },
          { key: 'warnings', title: t('connectors.warnings'), from: 'md', cell: (row) => <Warnings row={row} /> },
        ]}
      />
    </Page>
  );
}

function State({ row }: { row: Row }) {
  const isSyncing = row.lastJob?.status === 'RUNNING' || row.lastJob?.status === 'QUEUED';
  return <Status value={isSyncing && row.status === 'ACTIVE' ? 'SYNCING' : row.status} />;
}

function Warnings({ row }: { row: Row }) {
  const { documentCounts, freshness, hiddenDocuments, pendingDeletion, lastError } = row;
  const notes = [
    pendingDeletion && t('connectors.warn.deletion', { count: pendingDeletion.documents }),
    documentCounts.failed > 0 && t('connectors.warn.failed', { count: documentCounts.failed }),
    hiddenDocuments > 0 && t('connectors.warn.hidden', { count: hiddenDocuments }),
    freshness.waiting > 0 && t('connectors.warn.waiting', { count: freshness.waiting }),
  ].filter((note): note is string => Boolean(note));
  return (
    <Group gap={4}>
      {notes.map((note) => (
        <Badge key={note} color="yellow" variant="light" tt="none">
          {note}
        </Badge>
      ))}
      {lastError && row.status !== 'ACTIVE' && (
        <Text size="xs" lineClamp={2} className="wrap">
          {lastError}
        </Text>
      )}
    </Group>
  );
}
