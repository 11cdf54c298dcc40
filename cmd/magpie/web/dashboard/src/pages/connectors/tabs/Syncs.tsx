import { Anchor, Button, Group, Paper, Select, Stack, Text, Title } from '@mantine/core';
import { getRouteApi } from '@tanstack/react-router';
import { useQuery } from 'urql';
import type { SyncJobStatus } from '../../../gql/schema';
import { formatBytes, formatNumber, formatTime, t, tValue } from '../../../i18n';
import { confirm } from '../../../kit/confirm';
import { DataTable } from '../../../kit/DataTable';
import { Empty } from '../../../kit/Empty';
import { Facts } from '../../../kit/Facts';
import { ProblemNotice } from '../../../kit/Problem';
import { Status } from '../../../kit/Status';
import { When } from '../../../kit/Time';
import { useAction } from '../../../kit/useAction';
import { usePaged } from '../../../kit/usePaged';
import { May } from '../../../session/Me';
import type { Connector } from '../ConnectorPage';
import { span } from '../kinds';
import { useTurn } from '../useTurn';
import { ConnectorsJobsDocument, ConnectorsOneJobDocument, ConnectorsRestoreDeletionsDocument } from '../work.gql';
import { ItemTable } from './Items';
import { Messages, stats, Waiting } from './Progress';

const route = getRouteApi('/shell/connectors/$connectorId');
const states: SyncJobStatus[] = ['QUEUED', 'RUNNING', 'COMPLETED', 'PARTIAL', 'FAILED', 'CANCELED'];

// Syncs is the history of a connector's jobs, and one of them.
export function Syncs({ connector, turn }: { connector: Connector; turn: string }) {
  const { job } = route.useSearch();
  return job ? <Job connectorId={connector.id} id={job} turn={turn} /> : <Jobs connectorId={connector.id} turn={turn} />;
}

function Jobs({ connectorId, turn }: { connectorId: string; turn: string }) {
  const { status } = route.useSearch();
  const navigate = route.useNavigate();
  const list = usePaged(ConnectorsJobsDocument, { connectorId, status: states.filter((one) => one === status) }, (data) => data.syncJobs);
  useTurn(turn, list.reload);
  const open = (id: string) => void navigate({ search: { tab: 'syncs', job: id } });
  return (
    <Stack>
      <Select
        label={t('common.state')}
        placeholder={t('common.all')}
        data={states.map((one) => ({ value: one, label: tValue(`common.status.${one}`, one) }))}
        value={status ?? null}
        onChange={(next) => void navigate({ search: (old) => ({ ...old, status: next ?? undefined }), replace: true })}
        clearable
        clearButtonProps={{ 'aria-label': t('common.clear') }}
        maw="16rem"
      />
      <DataTable
        label={t('connectors.tab.syncs')}
        list={list}
        rowKey={({ id }) => id}
        onOpen={({ id }) => open(id)}
        empty={
          <Empty icon="refresh" title={t('connectors.noJobs')}>
            {t('connectors.noJobsHelp')}
          </Empty>
        }
        columns={[
          {
            key: 'when',
            title: t('connectors.job.queued'),
            cell: ({ id, createdAt, mode, cause }) => (
              <>
                <Anchor component="button" type="button" size="sm" onClick={() => open(id)}>
                  {formatTime(createdAt)}
                </Anchor>
                <Text size="xs" c="dimmed">
                  {t(`connectors.mode.${mode}`)} · {t(`connectors.cause.${cause}`)}
                </Text>
              </>
            ),
          },
          { key: 'state', title: t('common.state'), cell: ({ status: state }) => <Status value={state} /> },
          { key: 'duration', title: t('connectors.job.duration'), from: 'sm', align: 'right', cell: ({ duration }) => span(duration) },
          { key: 'added', title: t('connectors.stat.added'), from: 'sm', align: 'right', cell: (one) => formatNumber(one.stats.added) },
          {
            key: 'modified',
            title: t('connectors.stat.modified'),
            from: 'md',
            align: 'right',
            cell: (one) => formatNumber(one.stats.modified),
          },
          {
            key: 'deleted',
            title: t('connectors.stat.deleted'),
            from: 'md',
            align: 'right',
            cell: (one) => formatNumber(one.stats.deleted),
          },
          { key: 'errors', title: t('connectors.stat.errors'), from: 'sm', align: 'right', cell: (one) => formatNumber(one.stats.errors) },
          {
            key: 'warnings',
            title: t('connectors.warnings'),
            from: 'md',
            align: 'right',
            cell: ({ warnings }) => formatNumber(warnings.length),
          },
        ]}
      />
    </Stack>
  );
}

function Job({ connectorId, id, turn }: { connectorId: string; id: string; turn: string }) {
  const navigate = route.useNavigate();
  const [{ data, error }, again] = useQuery({ query: ConnectorsOneJobDocument, variables: { id, connectorId } });
  useTurn(turn, () => again({ requestPolicy: 'network-only' }));
  const restore = useAction(ConnectorsRestoreDeletionsDocument, { success: t('connectors.restore.started') });
  if (error && !data) return <ProblemNotice error={error} />;
  if (!data) return <Text size="sm">{t('common.loading')}</Text>;
  const job = data.syncJob;
  const undo = async () => {
    const isCertain = await confirm({
      title: t('connectors.restore.title'),
      body: t('connectors.restore.body', { count: job.stats.deleted }),
      action: t('connectors.restore'),
      destructive: false,
    });
    if (!isCertain) return;
    const begun = await restore.run({ connectorId, jobId: id });
    if (begun) void navigate({ search: { tab: 'syncs', job: begun.restoreDeletions.id } });
  };
  return (
    <Stack>
      <Anchor
        component="button"
        type="button"
        size="sm"
        onClick={() => void navigate({ search: { tab: 'syncs' } })}
        style={{ alignSelf: 'flex-start' }}
      >
        {t('connectors.allJobs')}
      </Anchor>
      <Paper p="md">
        <Stack gap="sm">
          <Group justify="space-between">
            <Group gap="xs">
              <Title order={2} size="h5">
                {t(`connectors.mode.${job.mode}`)}
              </Title>
              <Status value={job.status} />
            </Group>
            {job.stats.deleted > 0 && job.mode !== 'PLAN' && (
              <May atLeast="EDITOR">
                <Button size="xs" variant="default" loading={restore.running} onClick={() => void undo()}>
                  {t('connectors.restore')}
                </Button>
              </May>
            )}
            {job.mode === 'PLAN' && (
              <Button size="xs" variant="default" onClick={() => void navigate({ search: { tab: 'plan', job: id } })}>
                {t('connectors.plan.look')}
              </Button>
            )}
          </Group>
          <Waiting job={job} />
          <Facts
            columns={4}
            items={[
              { label: t('connectors.job.cause'), value: t(`connectors.cause.${job.cause}`) },
              { label: t('connectors.job.queued'), value: <When at={job.createdAt} /> },
              { label: t('connectors.job.started'), value: <When at={job.startedAt} /> },
              { label: t('connectors.job.finished'), value: <When at={job.finishedAt} /> },
              { label: t('connectors.job.duration'), value: span(job.duration) },
              { label: t('connectors.history.bytes'), value: formatBytes(job.bytesFetched) },
              { label: t('connectors.history.pages'), value: formatNumber(job.pages) },
              { label: t('connectors.history.retried'), value: formatNumber(job.retried) },
              ...stats(job.stats),
              { label: t('connectors.paths'), value: job.fileFilter?.length ? job.fileFilter.join(', ') : null },
            ]}
          />
          <Messages warnings={job.warnings} error={job.error ?? null} />
        </Stack>
      </Paper>
      {job.mode !== 'PLAN' && (
        <>
          <Title order={2} size="h5">
            {t('connectors.job.items')}
          </Title>
          <ItemTable connectorId={connectorId} jobId={id} turn={turn} />
        </>
      )}
    </Stack>
  );
}
