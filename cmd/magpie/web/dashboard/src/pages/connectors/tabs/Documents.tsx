import { Anchor, Group, Select, Stack, Text } from '@mantine/core';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { DocumentStatus } from '../../../gql/schema';
import { formatBytes, t, tValue } from '../../../i18n';
import { DataTable } from '../../../kit/DataTable';
import { Empty } from '../../../kit/Empty';
import { FilterText } from '../../../kit/FilterText';
import { Status } from '../../../kit/Status';
import { When } from '../../../kit/Time';
import { usePaged } from '../../../kit/usePaged';
import { ConnectorsDocumentsDocument } from '../work.gql';

const route = getRouteApi('/shell/connectors/$connectorId');
const states: DocumentStatus[] = ['PENDING', 'PROCESSING', 'INDEXED', 'FAILED', 'DELETED'];

interface Props {
  connectorId: string;
  // The numbers of all its documents, also of those that the person may not read.
  counts: { pending: number; processing: number; indexed: number; failed: number };
}

// Documents lists the documents of a connector that the person may read.
export function Documents({ connectorId, counts }: Props) {
  const { q, status } = route.useSearch();
  const count = counts.pending + counts.processing + counts.indexed + counts.failed;
  const navigate = route.useNavigate();
  const list = usePaged(
    ConnectorsDocumentsDocument,
    { connectorId, status: states.filter((one) => one === status), matching: q ?? null },
    (data) => data.documents,
  );
  return (
    <Stack>
      <Group align="flex-end" gap="sm">
        <FilterText
          label={t('connectors.filter.path')}
          value={q ?? ''}
          onChange={(next) => void navigate({ search: (old) => ({ ...old, q: next }), replace: true })}
        />
        <Select
          label={t('common.state')}
          placeholder={t('common.all')}
          data={states.map((one) => ({ value: one, label: tValue(`common.status.${one}`, one) }))}
          value={status ?? null}
          onChange={(next) => void navigate({ search: (old) => ({ ...old, status: next ?? undefined }), replace: true })}
          clearable
          clearButtonProps={{ 'aria-label': t('common.clear') }}
        />
      </Group>
      <DataTable
        label={t('connectors.documents')}
        list={list}
        rowKey={({ id }) => id}
        onOpen={({ id }) => void navigate({ to: `/documents/${id}` as string })}
        empty={
          <Empty icon="document" title={t('connectors.noDocuments')}>
            {q || status
              ? t('connectors.noMatchHelp')
              : count > 0
                ? t('connectors.noReadableHelp', { count })
                : t('connectors.noItemsHelp')}
          </Empty>
        }
        columns={[
          {
            key: 'title',
            title: t('connectors.document'),
            cell: ({ id, title, path, failure }) => (
              <>
                <Anchor component={Link} to={`/documents/${id}` as string} size="sm">
                  {title || path}
                </Anchor>
                <Text size="xs" c="dimmed">
                  {path}
                </Text>
                {failure && (
                  <Text size="xs" c="var(--mantine-color-error)">
                    {failure}
                  </Text>
                )}
              </>
            ),
          },
          { key: 'state', title: t('common.state'), cell: (document) => <Status value={document.status} /> },
          { key: 'bytes', title: t('connectors.size'), from: 'sm', align: 'right', cell: ({ bytes }) => formatBytes(bytes) },
          { key: 'changed', title: t('common.changed'), from: 'md', cell: ({ updatedAt }) => <When at={updatedAt} /> },
        ]}
      />
    </Stack>
  );
}
