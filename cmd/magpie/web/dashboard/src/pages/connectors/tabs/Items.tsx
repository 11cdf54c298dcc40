import { Anchor, Badge, Button, Group, Select, Stack, Text } from '@mantine/core';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { SyncItemStatus } from '../../../gql/schema';
import { t, tValue } from '../../../i18n';
import { DataTable } from '../../../kit/DataTable';
import { Empty } from '../../../kit/Empty';
import { FilterText } from '../../../kit/FilterText';
import { Status } from '../../../kit/Status';
import { When } from '../../../kit/Time';
import { useAction } from '../../../kit/useAction';
import { usePaged } from '../../../kit/usePaged';
import { useMay } from '../../../session/Me';
import { useTurn } from '../useTurn';
import { ConnectorsAllowItemDocument, ConnectorsItemsDocument, ConnectorsRetryItemsDocument } from '../work.gql';

const route = getRouteApi('/shell/connectors/$connectorId');
const states: SyncItemStatus[] = ['PENDING', 'INDEXED', 'UNCHANGED', 'SKIPPED', 'FAILED', 'DELETED'];
const suppressed = 'SUPPRESSED';

// Items is the ledger: what the last sync of each item did with it, and why.
export function Items({ connectorId, turn }: { connectorId: string; turn: string }) {
  return (
    <Stack>
      <Text size="sm" c="dimmed">
        {t('connectors.items.help')}
      </Text>
      <ItemTable connectorId={connectorId} turn={turn} />
    </Stack>
  );
}

// ItemTable lists items of the ledger, of one job with jobId, by the filters in the address.
export function ItemTable({ connectorId, jobId, turn }: { connectorId: string; jobId?: string; turn: string }) {
  const { q, status } = route.useSearch();
  const navigate = route.useNavigate();
  const mayEdit = useMay('EDITOR');
  const [selected, setSelected] = useState(new Set<string>());
  const retry = useAction(ConnectorsRetryItemsDocument, { success: t('connectors.retry.started') });
  const allow = useAction(ConnectorsAllowItemDocument, { success: t('connectors.allowed') });
  const list = usePaged(
    ConnectorsItemsDocument,
    {
      connectorId,
      jobId: jobId ?? null,
      status: states.filter((one) => one === status),
      suppressed: status === suppressed ? true : null,
      matching: q ?? null,
    },
    (data) => data.syncItems,
  );
  useTurn(turn, list.reload);
  const chosen = list.rows.filter(({ id }) => selected.has(id)).map(({ id }) => id);
  const again = async (ids: string[] | null) => {
    if (await retry.run({ connectorId, ids })) setSelected(new Set());
  };
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
          data={[
            ...states.map((one) => ({ value: one as string, label: tValue(`connectors.item.${one}`, one) })),
            { value: suppressed, label: t('connectors.item.suppressed') },
          ]}
          value={status ?? null}
          onChange={(next) => void navigate({ search: (old) => ({ ...old, status: next ?? undefined }), replace: true })}
          clearable
          clearButtonProps={{ 'aria-label': t('common.clear') }}
        />
        {mayEdit && (
          <>
            <Button variant="default" disabled={chosen.length === 0} loading={retry.running} onClick={() => void again(chosen)}>
              {t('connectors.retry.selected', { count: chosen.length })}
            </Button>
            <Button variant="default" loading={retry.running} onClick={() => void again(null)}>
              {t('connectors.retry.failed')}
            </Button>
          </>
        )}
      </Group>
      <DataTable
        label={t('connectors.tab.items')}
        list={list}
        rowKey={({ id }) => id}
        selected={mayEdit ? selected : undefined}
        onSelect={setSelected}
        empty={
          <Empty icon="document" title={t('connectors.noItems')}>
            {q || status ? t('connectors.noMatchHelp') : t('connectors.noItemsHelp')}
          </Empty>
        }
        columns={[
          {
            key: 'path',
            title: t('connectors.path'),
            cell: ({ path, sourceId, documentId, reason }) => (
              <>
                {documentId ? (
                  <Anchor component={Link} to={`/documents/${documentId}` as string} size="sm">
                    {path || sourceId}
                  </Anchor>
                ) : (
                  <Text size="sm">{path || sourceId}</Text>
                )}
                {reason && (
                  <Text size="xs" c="dimmed">
                    {reason}
                  </Text>
                )}
              </>
            ),
          },
          {
            key: 'state',
            title: t('common.state'),
            cell: (item) => (
              <Group gap={4}>
                <Status value={item.status} />
                {item.suppressed && (
                  <Badge variant="light" color="gray" tt="none">
                    {t('connectors.item.suppressed')}
                  </Badge>
                )}
                {item.hold && (
                  <Badge variant="light" color="yellow" tt="none">
                    {t(`connectors.hold.${item.hold}`)}
                  </Badge>
                )}
                {mayEdit && item.suppressed && (
                  <Button size="compact-xs" variant="default" onClick={() => void allow.run({ id: item.id, connectorId })}>
                    {t('connectors.allow')}
                  </Button>
                )}
              </Group>
            ),
          },
          { key: 'waiting', title: t('connectors.waitingSince'), from: 'md', cell: ({ waitingSince }) => <When at={waitingSince} /> },
          { key: 'changed', title: t('common.changed'), from: 'sm', cell: ({ updatedAt }) => <When at={updatedAt} /> },
        ]}
      />
    </Stack>
  );
}
