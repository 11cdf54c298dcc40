import { Button, Group, SegmentedControl, Select, Stack, Tabs, Text } from '@mantine/core';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useRef } from 'react';
import { useLive } from '../../api/live';
import type { ApprovalStatus } from '../../gql/schema';
import { t } from '../../i18n';
import { type Column, DataTable } from '../../kit/DataTable';
import { Empty } from '../../kit/Empty';
import { Page } from '../../kit/Page';
import { Status } from '../../kit/Status';
import { Ago } from '../../kit/Time';
import { usePaged } from '../../kit/usePaged';
import { May } from '../../session/Me';
import { type ApprovalFieldsFragment, ApprovalsChangedDocument, ApprovalsListDocument } from './approvals.gql';
import { useAgentNames, usePeople } from './Names';
import { Risk } from './Risk';

const route = getRouteApi('/shell/approvals');

export const past: ApprovalStatus[] = ['APPROVED', 'EDITED', 'ANSWERED', 'REJECTED', 'EXPIRED', 'CANCELED'];

// ApprovalsPage has what agents ask people: the queue, and what was decided. It follows changes.
export function ApprovalsPage() {
  const { tab = 'open', mine = false, status } = route.useSearch();
  const navigate = route.useNavigate();
  const agents = useAgentNames();
  const people = usePeople();
  const wanted: ApprovalStatus[] = tab === 'open' ? ['PENDING'] : status ? [status] : past;
  const list = usePaged(ApprovalsListDocument, { status: wanted, mine }, (data) => data.approvals);
  const cursor = useRef<string | null>(null);
  const timer = useRef<number | undefined>(undefined);
  const { state } = useLive(`approvals-${mine}`, {
    document: ApprovalsChangedDocument,
    variables: () => ({ mine, after: cursor.current }),
    onData: ({ approvalChanged }) => {
      cursor.current = approvalChanged.cursor;
      // Changes that come together make the list be read once.
      window.clearTimeout(timer.current);
      timer.current = window.setTimeout(list.reload, 300);
    },
  });
  const columns: Column<ApprovalFieldsFragment>[] = [
    {
      key: 'title',
      title: t('agents.approval.what'),
      cell: (row) => (
        <>
          <Text component={Link} to={`/approvals/${row.id}`} size="sm" fw={500} c="inherit">
            {row.title}
          </Text>
          <Text size="xs" c="dimmed" className="mono">
            {row.tool}
          </Text>
        </>
      ),
    },
    { key: 'risk', title: t('agents.approval.risk'), from: 'sm', cell: (row) => <Risk value={row.risk} /> },
    { key: 'agent', title: t('agents.agent'), from: 'md', cell: (row) => agents.nameOf(row.agentId) },
    { key: 'asked', title: t('agents.approval.asked'), from: 'md', cell: (row) => <Ago at={row.requestedAt} /> },
    tab === 'open'
      ? { key: 'expires', title: t('agents.approval.expires'), cell: (row) => <Ago at={row.expiresAt} /> }
      : { key: 'status', title: t('common.state'), cell: (row) => <Status value={row.status} /> },
  ];
  if (tab !== 'open') {
    columns.push({
      key: 'by',
      title: t('agents.approval.by'),
      from: 'md',
      cell: (row) => (row.decidedBy ? people.nameOf(row.decidedBy) : '–'),
    });
  }
  return (
    <Page
      title={t('agents.approval.title')}
      description={t('agents.approval.description')}
      actions={
        <May atLeast="ADMIN">
          <Button component={Link} to="/approvals/settings" variant="default">
            {t('agents.approval.settings')}
          </Button>
        </May>
      }
    >
      <Tabs
        value={tab}
        onChange={(next) => void navigate({ search: { mine: mine || undefined, tab: next === 'history' ? 'history' : undefined } })}
      >
        <Tabs.List>
          <Tabs.Tab value="open">{t('agents.approval.open')}</Tabs.Tab>
          <Tabs.Tab value="history">{t('agents.approval.history')}</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value={tab} pt="md">
          <Stack>
            <Group justify="space-between" align="flex-end">
              <Group align="flex-end">
                <SegmentedControl
                  aria-label={t('common.filter')}
                  data={[
                    { value: 'all', label: t('agents.approval.all') },
                    { value: 'mine', label: t('agents.approval.mine') },
                  ]}
                  value={mine ? 'mine' : 'all'}
                  onChange={(next) => void navigate({ search: (old) => ({ ...old, mine: next === 'mine' || undefined }) })}
                />
                {tab === 'history' && (
                  <Select
                    label={t('common.state')}
                    data={past.map((value) => ({ value, label: t(`common.status.${value as 'APPROVED'}`) }))}
                    value={status ?? null}
                    onChange={(next) =>
                      void navigate({ search: (old) => ({ ...old, status: (next as ApprovalStatus | null) ?? undefined }) })
                    }
                    placeholder={t('common.all')}
                    clearable
                    clearButtonProps={{ 'aria-label': t('common.clear') }}
                  />
                )}
              </Group>
              <Text size="xs" c="dimmed" role="status">
                {state === 'waiting' || state === 'failed' ? t(`common.live.${state}`) : ''}
              </Text>
            </Group>
            <DataTable
              label={t('agents.approval.title')}
              columns={columns}
              list={list}
              rowKey={({ id }) => id}
              onOpen={({ id }) => void navigate({ to: `/approvals/${id}` })}
              empty={
                <Empty icon="approval" title={tab === 'open' ? t('agents.approval.none') : t('agents.approval.nonePast')}>
                  {t('agents.approval.noneHelp')}
                </Empty>
              }
            />
          </Stack>
        </Tabs.Panel>
      </Tabs>
    </Page>
  );
}
