import { Alert, Anchor, Button, Group, Progress, SimpleGrid, Stack, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useLive } from '../../api/live';
import { formatDuration, formatNumber, t } from '../../i18n';
import { Figure } from '../../kit/Facts';
import { Icon } from '../../kit/Icon';
import { ProblemNotice } from '../../kit/Problem';
import { Status } from '../../kit/Status';
import { useAction } from '../../kit/useAction';
import type { Connector } from './FirstSource';
import { WorkspaceWelcomeStartDocument, WorkspaceWelcomeSyncDocument, type WorkspaceWelcomeSyncSubscription } from './welcome.gql';

type Job = NonNullable<WorkspaceWelcomeSyncSubscription['connectorSync']['job']>;

// Of two events of a job the newer: after a lost connection, states are sent again.
const isNewer = (next: Job, old: Job | null) =>
  old === null || next.jobId !== old.jobId || next.attempt > old.attempt || (next.attempt === old.attempt && next.revision >= old.revision);

// WatchSync shows the newest connector's sync while it runs.
export function WatchSync({ connector, reload, next }: { connector: Connector | null; reload: () => void; next: () => void }) {
  if (!connector) return <Text size="sm">{t('workspace.syncNone')}</Text>;
  return <Watch key={connector.id} connector={connector} reload={reload} next={next} />;
}

function Watch({ connector, reload, next }: { connector: Connector; reload: () => void; next: () => void }) {
  const [job, setJob] = useState<Job | null>(null);
  const { run, running, error: startError } = useAction(WorkspaceWelcomeStartDocument, { quiet: true });
  const { state, error } = useLive(connector.id, {
    document: WorkspaceWelcomeSyncDocument,
    variables: () => ({ connectorId: connector.id, after: job?.jobId ?? null }),
    onData: ({ connectorSync }) => {
      const got = connectorSync.job;
      if (!got) return;
      setJob((old) => (isNewer(got, old) ? got : old));
      if (got.finishedAt) reload();
    },
  });
  const isOpen = job !== null && (job.status === 'QUEUED' || job.status === 'RUNNING');
  const total = job?.sourceTotal ?? null;
  const seconds = job ? (Date.parse(job.finishedAt ?? new Date().toISOString()) - Date.parse(job.startedAt)) / 1000 : 0;
  const rate = job && job.status !== 'QUEUED' && seconds > 1 ? job.progress.collected / seconds : 0;
  const left = total && rate > 0 && job ? Math.max(0, (total - job.progress.collected) / rate) : null;
  const { pending, processing, indexed, failed } = connector.documentCounts;
  return (
    <Stack gap="sm">
      <Group gap="xs">
        <Text size="sm" fw={500} className="wrap">
          {connector.name}
        </Text>
        {job && <Status value={job.status} />}
        {state !== 'live' && isOpen && (
          <Text size="xs" c="dimmed">
            {t(`common.live.${state}`)}
          </Text>
        )}
      </Group>
      {state === 'failed' && error !== null && <ProblemNotice error={error} />}
      {job === null && <Text size="sm">{t('workspace.syncNever')}</Text>}
      {job?.waitingFor && (
        <Text size="sm" role="status" className="wrap">
          {job.waitingFor.text}
        </Text>
      )}
      {isOpen && total !== null && total > 0 && (
        <Progress value={Math.min(100, (100 * job.progress.collected) / total)} aria-label={t('workspace.syncProgress')} animated />
      )}
      {job && (
        <SimpleGrid cols={{ base: 2, xs: 4 }}>
          <Figure
            label={t('workspace.found')}
            value={formatNumber(job.progress.collected)}
            hint={total === null ? null : t('workspace.of', { total: formatNumber(total) })}
          />
          <Figure label={t('workspace.indexed')} value={formatNumber(job.progress.indexed)} />
          <Figure label={t('workspace.skipped')} value={formatNumber(job.stats.skipped)} />
          <Figure label={t('workspace.failures')} value={formatNumber(job.stats.errors)} />
        </SimpleGrid>
      )}
      {isOpen && rate > 0 && (
        <Text size="sm">
          {t('workspace.rate', { rate: formatNumber(rate, 1) })}
          {left !== null && ` · ${t('workspace.remainingTime', { time: formatDuration(left) })}`}
        </Text>
      )}
      {job?.error && (
        <Alert color="red" variant="light" icon={<Icon name="warning" />} title={t('workspace.syncFailed')}>
          <Text size="sm" className="wrap">
            {job.error}
          </Text>
        </Alert>
      )}
      <Text size="sm" role="status">
        {t('workspace.documentsNow', { indexed, waiting: pending + processing, failed })}
      </Text>
      {startError && <ProblemNotice error={startError} />}
      <Group>
        {!isOpen && (
          <Button variant="default" loading={running} onClick={() => void run({ connectorId: connector.id })}>
            {t('workspace.syncNow')}
          </Button>
        )}
        {indexed > 0 && <Button onClick={next}>{t('workspace.goSearch')}</Button>}
        <Anchor component={Link} to={`/connectors/${connector.id}`} size="sm">
          {t('workspace.toConnector')}
        </Anchor>
      </Group>
    </Stack>
  );
}
