import { Anchor, Button, Code, Group, Menu, Stack, Text } from '@mantine/core';
import { Link, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { formatTime, t, tValue } from '../../i18n';
import { type Column, DataTable } from '../../kit/DataTable';
import { Empty } from '../../kit/Empty';
import { Icon } from '../../kit/Icon';
import { Needs } from '../../kit/Needs';
import { failed } from '../../kit/notify';
import { Page } from '../../kit/Page';
import { usePaged } from '../../kit/usePaged';
import { useMay } from '../../session/Me';
import { AuditFilters } from './AuditFilters';
import { filterOf, pageOf } from './auditSearch';
import { Changes } from './Changes';
import { exportAudit } from './exportAudit';
import { InsightsAuditDocument, type InsightsAuditQuery } from './insights.gql';

type Entry = NonNullable<NonNullable<NonNullable<InsightsAuditQuery['auditLog']['edges']>[number]>['node']>;

// Made when they are shown, since the messages are loaded then.
const columns = (): Column<Entry>[] => [
  {
    key: 'time',
    title: t('insights.audit.time'),
    width: '11rem',
    from: 'xs',
    cell: (entry) => <time dateTime={entry.createdAt}>{formatTime(entry.createdAt)}</time>,
  },
  {
    key: 'actor',
    title: t('insights.audit.actor'),
    from: 'sm',
    cell: (entry) => (
      <Stack gap={0}>
        <Text size="sm" className="wrap">
          {entry.actorName || tValue(`insights.audit.actorKind.${entry.actorKind}`, entry.actorKind)}
        </Text>
        <Text size="xs" c="dimmed">
          {tValue(`insights.audit.actorKind.${entry.actorKind}`, entry.actorKind)}
          {entry.ip && ` · ${entry.ip}`}
        </Text>
      </Stack>
    ),
  },
  {
    key: 'action',
    title: t('insights.audit.action'),
    cell: (entry) => (
      <Stack gap={2}>
        <Code style={{ alignSelf: 'flex-start' }}>{entry.action}</Code>
        <Text size="xs" c="dimmed" hiddenFrom="sm">
          {entry.actorName}
        </Text>
        <Text size="xs" c="dimmed" hiddenFrom="xs">
          {formatTime(entry.createdAt)}
        </Text>
      </Stack>
    ),
  },
  {
    key: 'target',
    title: t('insights.audit.target'),
    cell: (entry) => {
      const page = pageOf(entry.targetKind, entry.targetId, entry.action);
      const name = entry.targetName || entry.targetKind;
      return page ? (
        <Anchor component={Link} to={page} size="sm" className="wrap">
          {name}
        </Anchor>
      ) : (
        <Text size="sm" className="wrap">
          {name}
        </Text>
      );
    },
  },
  { key: 'changes', title: t('insights.audit.changes'), from: 'xs', cell: (entry) => <Changes entry={entry} /> },
];

// AuditPage lists who changed what, and when.
export function AuditPage() {
  const may = useMay('ADMIN');
  return (
    <Page title={t('common.nav.audit')} description={t('insights.audit.about')} actions={may && <Export />}>
      <Needs atLeast="ADMIN">
        <Log />
      </Needs>
    </Page>
  );
}

function Log() {
  const search = useSearch({ from: '/shell/audit' });
  const list = usePaged(InsightsAuditDocument, { filter: filterOf(search) }, (data) => data.auditLog);
  return (
    <Stack>
      <AuditFilters />
      <DataTable
        label={t('common.nav.audit')}
        columns={columns()}
        list={list}
        rowKey={(entry) => entry.id}
        empty={
          <Empty icon="audit" title={t('insights.audit.none')}>
            {t('insights.audit.noneHelp')}
          </Empty>
        }
      />
    </Stack>
  );
}

// Export saves all entries that match the filters, not only those that are shown.
function Export() {
  const search = useSearch({ from: '/shell/audit' });
  const [running, setRunning] = useState(false);
  const save = (format: 'csv' | 'jsonl') => {
    setRunning(true);
    exportAudit(format, filterOf(search))
      .catch(failed)
      .finally(() => setRunning(false));
  };
  return (
    <Group>
      <Menu position="bottom-end">
        <Menu.Target>
          <Button variant="default" leftSection={<Icon name="download" size={16} />} loading={running}>
            {t('insights.audit.export')}
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={() => save('csv')}>{t('insights.audit.csv')}</Menu.Item>
          <Menu.Item onClick={() => save('jsonl')}>{t('insights.audit.jsonl')}</Menu.Item>
        </Menu.Dropdown>
      </Menu>
    </Group>
  );
}
