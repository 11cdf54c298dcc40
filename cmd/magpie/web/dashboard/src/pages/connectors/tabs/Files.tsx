import { Button, Group, Stack, Text } from '@mantine/core';
import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { formatBytes, t } from '../../../i18n';
import { confirm } from '../../../kit/confirm';
import { DataTable } from '../../../kit/DataTable';
import { Empty } from '../../../kit/Empty';
import { FilterText } from '../../../kit/FilterText';
import { When } from '../../../kit/Time';
import { Upload } from '../../../kit/Upload';
import { useAction } from '../../../kit/useAction';
import { usePaged } from '../../../kit/usePaged';
import { useMay } from '../../../session/Me';
import { ConnectorsStartSyncDocument } from '../connector.gql';
import { ConnectorsDeleteFilesDocument, ConnectorsFilesDocument } from '../work.gql';

const route = getRouteApi('/shell/connectors/$connectorId');

// Files uploads files to a connector of a kind that accepts them, and lists and deletes them.
export function Files({ connectorId, isSyncing }: { connectorId: string; isSyncing: boolean }) {
  const { q } = route.useSearch();
  const navigate = route.useNavigate();
  const mayEdit = useMay('EDITOR');
  const [selected, setSelected] = useState(new Set<string>());
  const [isNew, setNew] = useState(false);
  const remove = useAction(ConnectorsDeleteFilesDocument, {
    success: ({ deleteFiles }) => t('connectors.files.deleted', { count: deleteFiles.length }),
  });
  const start = useAction(ConnectorsStartSyncDocument, { success: t('connectors.started') });
  const list = usePaged(ConnectorsFilesDocument, { connectorId, matching: q ?? null }, (data) => data.sourceFiles);
  const paths = list.rows.filter(({ id }) => selected.has(id)).map(({ path }) => path);
  const erase = async () => {
    const isCertain = await confirm({
      title: t('connectors.files.deleteTitle', { count: paths.length }),
      body: t('connectors.files.deleteBody'),
      action: t('common.delete'),
      typed: paths.length === 1 ? paths[0] : t('connectors.files.count', { count: paths.length }),
    });
    if (!isCertain || !(await remove.run({ connectorId, paths }))) return;
    setSelected(new Set());
    list.reload();
  };
  const index = async () => {
    if (await start.run({ connectorId, input: { syncMode: 'auto' } })) setNew(false);
  };
  return (
    <Stack>
      {mayEdit && (
        <Upload
          connectorId={connectorId}
          onDone={(stored) => {
            if (stored === 0) return;
            setNew(true);
            list.reload();
          }}
        />
      )}
      {mayEdit && isNew && (
        <Group role="status">
          <Text size="sm">{t('connectors.files.new')}</Text>
          <Button size="xs" onClick={() => void index()} loading={start.running} disabled={isSyncing}>
            {t('connectors.files.index')}
          </Button>
        </Group>
      )}
      <Group align="flex-end">
        <FilterText
          label={t('connectors.filter.path')}
          value={q ?? ''}
          onChange={(next) => void navigate({ search: (old) => ({ ...old, q: next }), replace: true })}
        />
        {mayEdit && (
          <Button variant="default" disabled={paths.length === 0} loading={remove.running} onClick={() => void erase()}>
            {t('connectors.files.delete', { count: paths.length })}
          </Button>
        )}
      </Group>
      <DataTable
        label={t('connectors.tab.files')}
        list={list}
        rowKey={({ id }) => id}
        selected={mayEdit ? selected : undefined}
        onSelect={setSelected}
        empty={
          <Empty icon="upload" title={t(q ? 'connectors.noMatch' : 'connectors.files.none')}>
            {q ? t('connectors.noMatchHelp') : mayEdit ? t('connectors.files.noneHelp') : null}
          </Empty>
        }
        columns={[
          { key: 'path', title: t('connectors.path'), cell: ({ path }) => path },
          { key: 'type', title: t('connectors.files.type'), from: 'md', cell: ({ mediaType }) => mediaType },
          { key: 'bytes', title: t('connectors.size'), align: 'right', cell: ({ bytes }) => formatBytes(bytes) },
          { key: 'changed', title: t('common.changed'), from: 'sm', cell: ({ updatedAt }) => <When at={updatedAt} /> },
        ]}
      />
    </Stack>
  );
}
