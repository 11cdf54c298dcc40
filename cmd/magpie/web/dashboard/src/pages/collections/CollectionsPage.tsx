import { Anchor, Badge, Button, Text, TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useState } from 'react';
import { formatBytes, formatNumber, t } from '../../i18n';
import { DataTable } from '../../kit/DataTable';
import { Empty } from '../../kit/Empty';
import { Icon } from '../../kit/Icon';
import { Page } from '../../kit/Page';
import { When } from '../../kit/Time';
import { usePaged } from '../../kit/usePaged';
import { useMay } from '../../session/Me';
import { CreateCollection } from './CreateCollection';
import { CollectionsListDocument } from './collections.gql';

const route = getRouteApi('/shell/collections');

// CollectionsPage lists the collections with what is in them.
export function CollectionsPage() {
  const { q } = route.useSearch();
  const navigate = route.useNavigate();
  const mayEdit = useMay('EDITOR');
  const [creating, setCreating] = useState(false);
  const [text, setText] = useState(q ?? '');
  const filter = useDebouncedCallback((next: string) => void navigate({ search: { q: next.trim() || undefined }, replace: true }), 300);
  const list = usePaged(CollectionsListDocument, { matching: q ?? null }, (data) => data.collections);
  const create = mayEdit && (
    <Button leftSection={<Icon name="plus" size={16} />} onClick={() => setCreating(true)}>
      {t('collections.create')}
    </Button>
  );
  return (
    <Page title={t('collections.title')} description={t('collections.about')} actions={create}>
      <TextInput
        label={t('collections.filter')}
        type="search"
        value={text}
        leftSection={<Icon name="search" size={16} />}
        onChange={(event) => {
          setText(event.currentTarget.value);
          filter(event.currentTarget.value);
        }}
        maw="24rem"
      />
      <DataTable
        label={t('collections.title')}
        list={list}
        rowKey={({ id }) => id}
        onOpen={({ id }) => void navigate({ to: '/collections/$collectionId', params: { collectionId: id } })}
        empty={
          q ? (
            <Empty icon="filter" title={t('collections.noMatch')} />
          ) : (
            <Empty icon="collection" title={t('collections.none')} action={create}>
              {t(mayEdit ? 'collections.noneHelp' : 'collections.noneViewer')}
            </Empty>
          )
        }
        columns={[
          {
            key: 'name',
            title: t('common.name'),
            cell: ({ id, name, description, nextEmbeddingModel }) => (
              <>
                <Anchor component={Link} to={`/collections/${id}`} size="sm" fw={500}>
                  {name}
                </Anchor>
                {nextEmbeddingModel && (
                  <Badge ml="xs" variant="light" tt="none">
                    {t('collections.changing')}
                  </Badge>
                )}
                {description && (
                  <Text size="xs" c="dimmed" lineClamp={2}>
                    {description}
                  </Text>
                )}
              </>
            ),
          },
          { key: 'documents', title: t('collections.documents'), align: 'right', cell: ({ stats }) => formatNumber(stats.documentCount) },
          {
            key: 'passages',
            title: t('collections.passages'),
            from: 'md',
            align: 'right',
            cell: ({ stats }) => formatNumber(stats.embeddingCount),
          },
          {
            key: 'storage',
            title: t('collections.storage'),
            from: 'sm',
            align: 'right',
            cell: ({ stats }) => formatBytes(stats.storageBytes),
          },
          {
            key: 'connectors',
            title: t('collections.connectors'),
            from: 'md',
            align: 'right',
            cell: ({ connectorIds }) => formatNumber(connectorIds.length),
          },
          { key: 'sync', title: t('collections.lastSync'), from: 'sm', cell: ({ stats }) => <When at={stats.lastSync} /> },
        ]}
      />
      {creating && (
        <CreateCollection
          close={() => setCreating(false)}
          created={(id) => void navigate({ to: '/collections/$collectionId', params: { collectionId: id } })}
        />
      )}
    </Page>
  );
}
