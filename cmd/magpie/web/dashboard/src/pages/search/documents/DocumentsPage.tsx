import { Anchor, Button, Group, Select, Stack, Text, TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { useQuery } from 'urql';
import { formatBytes, t, tValue } from '../../../i18n';
import { type Column, DataTable } from '../../../kit/DataTable';
import { Empty } from '../../../kit/Empty';
import { Icon } from '../../../kit/Icon';
import { Page } from '../../../kit/Page';
import { Status } from '../../../kit/Status';
import { When } from '../../../kit/Time';
import { useAction } from '../../../kit/useAction';
import { usePaged } from '../../../kit/usePaged';
import { useMay } from '../../../session/Me';
import { CollectionSelect } from '../CollectionSelect';
import { DocumentsConnectorsDocument, DocumentsListDocument, type DocumentsListQuery, DocumentsRestoreDocument } from './documents.gql';
import { Restrictions } from './Restrictions';
import { type DocumentsState, type Order, orderFields, orders, statuses } from './state';
import { useChanges } from './useChanges';

type Row = NonNullable<NonNullable<NonNullable<DocumentsListQuery['documents']['edges']>[number]>['node']>;

// DocumentsPage lists the documents that the person may read, or, for administrators, those that are restricted by hand.
export function DocumentsPage() {
  const { view } = useSearch({ from: '/shell/documents' });
  const isAdmin = useMay('ADMIN');
  const navigate = useNavigate();
  const isRestrictions = isAdmin && view === 'restrictions';
  return (
    <Page
      title={t('search.doc.documents')}
      description={isRestrictions ? t('search.doc.restrictionsHelp') : t('search.doc.documentsHelp')}
      actions={
        isAdmin && (
          <Button
            variant="default"
            leftSection={<Icon name={isRestrictions ? 'document' : 'lock'} size={16} />}
            onClick={() => void navigate({ to: '/documents', search: isRestrictions ? {} : { view: 'restrictions' } })}
          >
            {isRestrictions ? t('search.doc.allDocuments') : t('search.doc.restrictions')}
          </Button>
        )
      }
    >
      {isRestrictions ? <Restrictions /> : <DocumentList />}
    </Page>
  );
}

function DocumentList() {
  const state = useSearch({ from: '/shell/documents' });
  const navigate = useNavigate({ from: '/documents' });
  const change = (part: Partial<DocumentsState>, replace = false) =>
    void navigate({ search: (old) => ({ ...old, ...part }), replace, resetScroll: false });
  const [typed, setTyped] = useState(state.q ?? '');
  const settle = useDebouncedCallback((q: string) => change({ q: q.trim() || undefined }, true), 300);
  const order = state.order ?? 'changed';
  const list = usePaged(
    DocumentsListDocument,
    {
      collectionId: state.collection,
      connectorId: state.connector,
      status: state.status ? [state.status] : undefined,
      matching: state.q,
      restricted: state.restricted,
      orderBy: [orderFields[order]],
    },
    (data) => data.documents,
  );
  useChanges(state.connector, state.collection, list.reload);
  const mayChange = useMay('EDITOR');
  const restore = useAction(DocumentsRestoreDocument, { success: t('search.doc.restored') });
  const bringBack = async ({ id, connectorId }: Row) => {
    if (await restore.run({ id, connectorId })) list.reload();
  };
  const isNarrowed = Boolean(state.q || state.collection || state.connector || state.status || state.restricted !== undefined);
  const columns: Column<Row>[] = [
    {
      key: 'title',
      title: t('search.doc.title'),
      cell: (row) => (
        <Stack gap={0}>
          {row.status === 'DELETED' ? (
            <Text size="sm" className="wrap">
              {row.title || row.path}
            </Text>
          ) : (
            <Anchor component={Link} to={`/documents/${row.id}`} size="sm" className="wrap">
              {row.title || row.path}
            </Anchor>
          )}
          <Text size="xs" c="dimmed" className="wrap">
            {row.path}
          </Text>
          {row.restricted && (
            <Group gap={4} c="dimmed">
              <Icon name="lock" size={12} />
              <Text size="xs">{t('search.doc.restrictedShort')}</Text>
            </Group>
          )}
          {row.failure && (
            <Text size="xs" className="wrap">
              {t('search.doc.failure', { reason: row.failure })}
            </Text>
          )}
        </Stack>
      ),
    },
    {
      key: 'status',
      title: t('common.state'),
      cell: (row) => (
        <Group gap="xs">
          <Status value={row.status} />
          {row.status === 'DELETED' && mayChange && (
            <Button size="compact-xs" variant="default" onClick={() => void bringBack(row)}>
              {t('search.doc.restore')}
            </Button>
          )}
        </Group>
      ),
      width: '9rem',
    },
    { key: 'collection', title: t('search.collection'), cell: (row) => row.collectionName, from: 'md' },
    {
      key: 'source',
      title: t('search.field.source'),
      cell: (row) => tValue(`search.source.${row.source}`, row.source.replaceAll('_', ' ')),
      from: 'lg',
    },
    { key: 'changed', title: t('common.changed'), cell: (row) => <When at={row.sourceUpdatedAt ?? row.updatedAt} />, from: 'sm' },
    { key: 'size', title: t('search.doc.size'), cell: (row) => formatBytes(row.bytes), from: 'md', align: 'right' },
  ];
  return (
    <>
      <Group gap="xs" align="flex-end">
        <TextInput
          label={t('search.doc.find')}
          leftSection={<Icon name="search" size={16} />}
          data-search-box
          value={typed}
          w={{ base: '100%', xs: 220 }}
          onChange={(event) => {
            setTyped(event.currentTarget.value);
            settle(event.currentTarget.value);
          }}
        />
        <CollectionSelect
          label={t('search.collection')}
          value={state.collection}
          onChange={(collection) => change({ collection, connector: undefined })}
          w={{ base: '100%', xs: 190 }}
        />
        <ConnectorSelect collection={state.collection} value={state.connector} onChange={(connector) => change({ connector })} />
        <Select
          label={t('common.state')}
          placeholder={t('common.all')}
          clearable
          clearButtonProps={{ 'aria-label': t('common.clear') }}
          data={statuses.map((value) => ({ value, label: tValue(`common.status.${value}`, value.toLowerCase()) }))}
          value={state.status ?? null}
          onChange={(value) => change({ status: (value ?? undefined) as DocumentsState['status'] })}
          w={{ base: '100%', xs: 150 }}
        />
        <Select
          label={t('search.doc.order')}
          allowDeselect={false}
          data={orders.map((value) => ({ value, label: t(`search.doc.order.${value}`) }))}
          value={order}
          onChange={(value) => change({ order: value === 'changed' ? undefined : ((value ?? undefined) as Order | undefined) })}
          w={{ base: '100%', xs: 210 }}
        />
        <Select
          label={t('search.doc.restriction')}
          placeholder={t('common.all')}
          clearable
          clearButtonProps={{ 'aria-label': t('common.clear') }}
          data={[
            { value: 'true', label: t('search.doc.onlyRestricted') },
            { value: 'false', label: t('search.doc.onlyOthers') },
          ]}
          value={state.restricted === undefined ? null : String(state.restricted)}
          onChange={(value) => change({ restricted: value === null ? undefined : value === 'true' })}
          w={{ base: '100%', xs: 170 }}
        />
      </Group>
      <DataTable
        label={t('search.doc.documents')}
        columns={columns}
        list={list}
        rowKey={({ id }) => id}
        onOpen={({ id, status }) => {
          if (status !== 'DELETED') void navigate({ to: `/documents/${id}` });
        }}
        empty={
          isNarrowed ? (
            <Empty
              icon="document"
              title={t('search.doc.noneMatch')}
              action={
                <Button
                  variant="default"
                  onClick={() => {
                    setTyped('');
                    change({ q: undefined, collection: undefined, connector: undefined, status: undefined, restricted: undefined });
                  }}
                >
                  {t('search.clearFilters')}
                </Button>
              }
            />
          ) : (
            <Empty
              icon="document"
              title={t('search.doc.noneYet')}
              action={
                <Button component={Link} to="/connectors">
                  {t('search.doc.toConnectors')}
                </Button>
              }
            >
              {t('search.doc.noneYetHelp')}
            </Empty>
          )
        }
      />
    </>
  );
}

interface ConnectorSelectProps {
  collection: string | undefined;
  value: string | undefined;
  onChange: (id: string | undefined) => void;
}

function ConnectorSelect({ collection, value, onChange }: ConnectorSelectProps) {
  const [typed, setTyped] = useState('');
  const [{ data: all }] = useQuery({ query: DocumentsConnectorsDocument, variables: { collectionId: collection } });
  const many = all !== undefined && all.connectors.totalCount > 50;
  const [{ data: matches }] = useQuery({
    query: DocumentsConnectorsDocument,
    variables: { collectionId: collection, matching: typed },
    pause: !many || typed === '',
  });
  const found = (many && typed ? matches : all)?.connectors.edges?.flatMap((edge) => edge?.node ?? []) ?? [];
  return (
    <Select
      label={t('search.field.connector')}
      placeholder={t('common.all')}
      searchable
      clearable
      clearButtonProps={{ 'aria-label': t('common.clear') }}
      data={found.map(({ id, name }) => ({ value: id, label: name }))}
      value={value ?? null}
      onChange={(id) => onChange(id ?? undefined)}
      onSearchChange={setTyped}
      nothingFoundMessage={t('common.none')}
      w={{ base: '100%', xs: 190 }}
    />
  );
}
