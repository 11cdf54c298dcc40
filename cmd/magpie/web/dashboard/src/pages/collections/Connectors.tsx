import { Anchor, Text } from '@mantine/core';
import { getRouteApi, Link } from '@tanstack/react-router';
import { formatNumber, t } from '../../i18n';
import { DataTable } from '../../kit/DataTable';
import { Empty } from '../../kit/Empty';
import { Status } from '../../kit/Status';
import { When } from '../../kit/Time';
import { usePaged } from '../../kit/usePaged';
import { CollectionsConnectorsDocument } from './collections.gql';

const route = getRouteApi('/shell/collections/$collectionId');

// Connectors lists the connectors that fill a collection.
export function Connectors({ collectionId }: { collectionId: string }) {
  const navigate = route.useNavigate();
  const list = usePaged(CollectionsConnectorsDocument, { id: collectionId }, (data) => data.connectors);
  return (
    <DataTable
      label={t('collections.connectors')}
      list={list}
      rowKey={({ id }) => id}
      onOpen={({ id }) => void navigate({ to: '/connectors/$connectorId', params: { connectorId: id } })}
      empty={
        <Empty icon="connector" title={t('collections.noConnectors')}>
          {t('collections.noConnectorsHelp')}
        </Empty>
      }
      columns={[
        {
          key: 'name',
          title: t('common.name'),
          cell: ({ id, name, type }) => (
            <>
              <Anchor component={Link} to={`/connectors/${id}`} size="sm" fw={500}>
                {name}
              </Anchor>
              <Text size="xs" c="dimmed">
                {type}
              </Text>
            </>
          ),
        },
        { key: 'state', title: t('common.state'), cell: ({ status }) => <Status value={status} /> },
        {
          key: 'documents',
          title: t('collections.documents'),
          align: 'right',
          cell: ({ documentCounts }) => formatNumber(documentCounts.indexed),
        },
        { key: 'sync', title: t('collections.lastSync'), from: 'sm', cell: ({ lastSync }) => <When at={lastSync} /> },
      ]}
    />
  );
}
