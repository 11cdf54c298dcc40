import { Badge, Button, Group, Select, Stack, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { InboundEventStatus } from '../../gql/schema';
import { formatBytes, t } from '../../i18n';
import { type Column, DataTable } from '../../kit/DataTable';
import { Empty } from '../../kit/Empty';
import { Ago } from '../../kit/Time';
import { useAction } from '../../kit/useAction';
import { usePaged } from '../../kit/usePaged';
import { useWhileVisible } from '../../kit/useSoon';
import { type InboundEventFieldsFragment, InboundEventsDocument, InboundResendDocument } from './inbound.gql';

const states: InboundEventStatus[] = ['RECEIVED', 'MATCHED', 'IGNORED', 'REJECTED', 'FAILED'];
const colors = { RECEIVED: 'blue', MATCHED: 'green', IGNORED: 'gray', REJECTED: 'yellow', FAILED: 'red' };

// Events has what an integration received, and what became of it.
export function Events({ integrationId }: { integrationId: string }) {
  const [status, setStatus] = useState<InboundEventStatus | null>(null);
  const list = usePaged(InboundEventsDocument, { integrationId, status: status ? [status] : null }, (data) => data.inboundEvents);
  useWhileVisible(list.reload, 5000);
  const resend = useAction(InboundResendDocument, { success: t('tools.inbound.resent') });
  const columns: Column<InboundEventFieldsFragment>[] = [
    {
      key: 'summary',
      title: t('tools.inbound.event'),
      cell: (row) => (
        <>
          <Text size="sm">{row.summary || row.type}</Text>
          <Text size="xs" c="dimmed">
            {row.type}
            {row.reason && ` · ${row.reason}`}
          </Text>
        </>
      ),
    },
    {
      key: 'status',
      title: t('common.state'),
      cell: (row) => (
        <Badge variant="light" color={colors[row.status]} tt="none">
          {t(`tools.inbound.event.${row.status}`)}
        </Badge>
      ),
    },
    {
      key: 'automations',
      title: t('common.nav.automations'),
      from: 'md',
      cell: (row) =>
        row.automationIds.length === 0
          ? '–'
          : row.automationIds.map((id, n) => (
              <Text key={id} component={Link} to={`/automations/${id}`} size="sm" mr={6}>
                {n + 1}
              </Text>
            )),
    },
    { key: 'size', title: t('tools.inbound.size'), from: 'md', align: 'right', cell: (row) => formatBytes(row.size) },
    { key: 'at', title: t('tools.inbound.received'), from: 'sm', cell: (row) => <Ago at={row.receivedAt} /> },
    {
      key: 'actions',
      title: t('common.actions'),
      align: 'right',
      cell: (row) => (
        <Button size="xs" variant="default" onClick={() => void resend.run({ id: row.id })}>
          {t('tools.inbound.resend')}
        </Button>
      ),
    },
  ];
  return (
    <Stack>
      <Group align="flex-end">
        <Select
          label={t('common.state')}
          data={states.map((value) => ({ value, label: t(`tools.inbound.event.${value as 'MATCHED'}`) }))}
          value={status}
          onChange={(next) => setStatus(next as InboundEventStatus | null)}
          placeholder={t('common.all')}
          clearable
          clearButtonProps={{ 'aria-label': t('common.clear') }}
        />
        <Button variant="default" onClick={list.reload} loading={list.fetching}>
          {t('tools.inbound.reload')}
        </Button>
      </Group>
      <DataTable
        label={t('tools.inbound.events')}
        columns={columns}
        list={list}
        rowKey={({ id }) => id}
        empty={
          <Empty icon="mail" title={t('tools.inbound.noEvents')}>
            {t('tools.inbound.noEventsHelp')}
          </Empty>
        }
      />
    </Stack>
  );
}
