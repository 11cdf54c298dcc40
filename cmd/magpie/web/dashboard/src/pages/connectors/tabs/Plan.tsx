import { Alert, Anchor, Button, Group, Select, SimpleGrid, Stack, Text } from '@mantine/core';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useQuery } from 'urql';
import type { PlanItemAction } from '../../../gql/schema';
import { formatBytes, formatNumber, formatTime, t } from '../../../i18n';
import { DataTable } from '../../../kit/DataTable';
import { Empty } from '../../../kit/Empty';
import { Figure } from '../../../kit/Facts';
import { FilterText } from '../../../kit/FilterText';
import { Icon } from '../../../kit/Icon';
import { Status } from '../../../kit/Status';
import { useAction } from '../../../kit/useAction';
import { usePaged } from '../../../kit/usePaged';
import { useMay } from '../../../session/Me';
import type { JobEvent } from '../sync';
import { useTurn } from '../useTurn';
import { ConnectorsJobsDocument, ConnectorsPlanDocument, ConnectorsSyncPlanDocument } from '../work.gql';
import { Messages, Waiting } from './Progress';

const route = getRouteApi('/shell/connectors/$connectorId');
const actions: PlanItemAction[] = ['ADD', 'MODIFY', 'COMPARE', 'UNCHANGED', 'SKIP', 'FAIL', 'DELETE', 'QUARANTINE', 'KEEP'];
const modes = ['auto', 'full', 'incremental'] as const;

// Plan shows what a sync would do, without doing it.
export function Plan({ connectorId, event }: { connectorId: string; event: JobEvent | null }) {
  const { job } = route.useSearch();
  const navigate = route.useNavigate();
  const mayEdit = useMay('EDITOR');
  const [mode, setMode] = useState<string>('auto');
  const plan = useAction(ConnectorsPlanDocument);
  const [{ data }, again] = useQuery({ query: ConnectorsJobsDocument, variables: { connectorId, first: 50 } });
  useTurn(`${event?.jobId}${event?.status}`, () => again({ requestPolicy: 'network-only' }));
  const plans = (data?.syncJobs.edges ?? []).flatMap((edge) => (edge?.node?.mode === 'PLAN' ? [edge.node] : []));
  const id = job ?? plans[0]?.id;
  const show = (next: string | undefined, replace = false) => void navigate({ search: { tab: 'plan', job: next }, replace });
  const begin = async () => {
    const begun = await plan.run({ connectorId, input: { syncMode: mode } });
    if (begun) show(begun.planSync.id);
  };
  return (
    <Stack>
      <Text size="sm" c="dimmed">
        {t('connectors.plan.help')}
      </Text>
      <Group align="flex-end">
        {mayEdit && (
          <>
            <Select
              label={t('connectors.plan.mode')}
              data={modes.map((one) => ({ value: one, label: t(`connectors.planMode.${one}`) }))}
              value={mode}
              onChange={(next) => next && setMode(next)}
              allowDeselect={false}
            />
            <Button onClick={() => void begin()} loading={plan.running}>
              {t('connectors.plan.make')}
            </Button>
          </>
        )}
        {plans.length > 1 && (
          <Select
            label={t('connectors.plan.which')}
            data={plans.map((one) => ({ value: one.id, label: formatTime(one.createdAt) }))}
            value={id ?? null}
            onChange={(next) => next && show(next, true)}
            allowDeselect={false}
          />
        )}
      </Group>
      {id ? (
        <Result key={id} connectorId={connectorId} jobId={id} turn={event?.jobId === id ? event.status : ''} />
      ) : (
        data && (
          <Empty icon="audit" title={t('connectors.plan.none')}>
            {t('connectors.plan.noneHelp')}
          </Empty>
        )
      )}
    </Stack>
  );
}

function Result({ connectorId, jobId, turn }: { connectorId: string; jobId: string; turn: string }) {
  const { q, status } = route.useSearch();
  const navigate = route.useNavigate();
  const list = usePaged(
    ConnectorsSyncPlanDocument,
    { connectorId, jobId, action: actions.filter((one) => one === status), matching: q ?? null },
    (data) => data.syncPlan.items,
  );
  const plan = list.data?.syncPlan;
  useTurn(turn, list.reload);
  if (!plan) return <DataTable label={t('connectors.plan.items')} list={list} rowKey={({ id }) => id} columns={[]} />;
  const { job, counts, guard } = plan;
  return (
    <Stack>
      <Group gap="xs">
        <Status value={job.status} />
        <Text size="sm">{formatTime(job.createdAt)}</Text>
      </Group>
      <Waiting job={job} />
      <Messages warnings={job.warnings} error={job.error ?? null} />
      <SimpleGrid cols={{ base: 2, xs: 3, md: 5 }}>
        {(['added', 'modified', 'compared', 'unchanged', 'skipped', 'failed', 'deleted', 'quarantined', 'kept'] as const).map((name) => (
          <Figure key={name} label={t(`connectors.plan.${name}`)} value={formatNumber(counts[name])} />
        ))}
      </SimpleGrid>
      {guard && (
        <Alert color={guard.blocked ? 'yellow' : 'green'} variant="light" icon={<Icon name={guard.blocked ? 'warning' : 'check'} />}>
          {t(guard.blocked ? 'connectors.plan.blocked' : 'connectors.plan.free', {
            missing: formatNumber(guard.missing),
            existing: formatNumber(guard.existing),
            threshold: guard.threshold,
          })}
        </Alert>
      )}
      <Group align="flex-end">
        <FilterText
          label={t('connectors.filter.path')}
          value={q ?? ''}
          onChange={(next) => void navigate({ search: (old) => ({ ...old, q: next }), replace: true })}
        />
        <Select
          label={t('connectors.plan.action')}
          placeholder={t('common.all')}
          data={actions.map((one) => ({ value: one, label: t(`connectors.action.${one}`) }))}
          value={status ?? null}
          onChange={(next) => void navigate({ search: (old) => ({ ...old, status: next ?? undefined }), replace: true })}
          clearable
          clearButtonProps={{ 'aria-label': t('common.clear') }}
        />
      </Group>
      <DataTable
        label={t('connectors.plan.items')}
        list={list}
        rowKey={({ id }) => id}
        empty={<Text size="sm">{t('connectors.plan.noItems')}</Text>}
        columns={[
          {
            key: 'path',
            title: t('connectors.path'),
            cell: ({ path, documentId, reason }) => (
              <>
                {documentId ? (
                  <Anchor component={Link} to={`/documents/${documentId}` as string} size="sm">
                    {path}
                  </Anchor>
                ) : (
                  path
                )}
                {reason && (
                  <Text size="xs" c="dimmed">
                    {reason}
                  </Text>
                )}
              </>
            ),
          },
          { key: 'action', title: t('connectors.plan.action'), cell: ({ action }) => t(`connectors.action.${action}`) },
          {
            key: 'size',
            title: t('connectors.size'),
            from: 'sm',
            align: 'right',
            cell: ({ size }) => (size > 0 ? formatBytes(size) : '–'),
          },
        ]}
      />
    </Stack>
  );
}
