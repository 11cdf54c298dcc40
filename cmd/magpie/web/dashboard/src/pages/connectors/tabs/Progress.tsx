import { Alert, Progress as Bar, Group, List, Paper, Stack, Text, Title, VisuallyHidden } from '@mantine/core';
import { useEffect, useRef, useState } from 'react';
import { formatAgo, formatNumber, t } from '../../../i18n';
import { Facts } from '../../../kit/Facts';
import { Icon } from '../../../kit/Icon';
import { Status } from '../../../kit/Status';
import { When } from '../../../kit/Time';
import type { Connector } from '../ConnectorPage';
import { span } from '../kinds';
import { handled, type JobEvent, remaining, type useConnectorSync } from '../sync';

// Progress shows the newest job of a connector, as it changes.
export function Progress({ connector, sync }: { connector: Connector; sync: ReturnType<typeof useConnectorSync> }) {
  const { job, perSecond, live } = sync;
  const stored = connector.lastJob?.id === job?.jobId ? connector.lastJob : null;
  if (!job) {
    return (
      <Text size="sm" c="dimmed">
        {live === 'live' ? t('connectors.neverSynced') : t(`common.live.${live}`)}
      </Text>
    );
  }
  const items = handled(job);
  const left = remaining(perSecond, job.sourceTotal, items);
  const isRunning = job.status === 'RUNNING';
  const percent = job.sourceTotal ? Math.min(100, Math.round((100 * items) / job.sourceTotal)) : null;
  const title = stored ? t(`connectors.mode.${stored.mode}`) : t('connectors.job');
  return (
    <Paper p="md" component="section">
      <Stack gap="sm">
        <Group justify="space-between">
          <Group gap="xs">
            <Title order={2} size="h5">
              {title}
            </Title>
            <Status value={job.status} />
          </Group>
          <Text size="xs" c="dimmed">
            {live === 'live' ? t('common.live.live') : t(`common.live.${live}`)}
          </Text>
        </Group>
        <Waiting job={job} />
        {isRunning && (
          <Bar value={percent ?? 100} animated={percent === null} striped={percent === null} aria-label={t('connectors.progress')} />
        )}
        <Facts
          columns={4}
          items={[
            { label: t('connectors.progress.seen'), value: count(job.progress.collected, job.sourceTotal) },
            { label: t('connectors.progress.parsed'), value: formatNumber(job.progress.parsed) },
            { label: t('connectors.progress.indexed'), value: formatNumber(job.progress.indexed) },
            {
              label: t('connectors.progress.rate'),
              value: isRunning && perSecond ? t('connectors.perSecond', { rate: formatNumber(perSecond, 1) }) : null,
            },
            { label: t('connectors.progress.left'), value: isRunning && left !== null ? span(left) : null },
            ...stats(job.stats),
            { label: t('connectors.job.started'), value: <When at={job.startedAt} /> },
            { label: t('connectors.job.finished'), value: job.finishedAt ? <When at={job.finishedAt} /> : null },
          ]}
        />
        <Said text={isRunning ? t('connectors.progress.said', { items }) : ''} />
        <Messages warnings={job.warnings} error={job.error ?? null} />
      </Stack>
    </Paper>
  );
}

const count = (n: number, total: number | null | undefined) =>
  total ? t('connectors.ofTotal', { count: formatNumber(n), total: formatNumber(total) }) : formatNumber(n);

// stats returns the facts of a job's statistics.
export function stats(s: JobEvent['stats']) {
  return [
    { label: t('connectors.stat.added'), value: formatNumber(s.added) },
    { label: t('connectors.stat.modified'), value: formatNumber(s.modified) },
    { label: t('connectors.stat.deleted'), value: formatNumber(s.deleted) },
    { label: t('connectors.stat.unchanged'), value: formatNumber(s.unchanged) },
    { label: t('connectors.stat.skipped'), value: formatNumber(s.skipped) },
    { label: t('connectors.stat.errors'), value: formatNumber(s.errors) },
  ];
}

// Waiting says what an open job waits for.
export function Waiting({ job }: { job: Pick<JobEvent, 'waitingFor'> }) {
  if (!job.waitingFor) return null;
  const { reason, until } = job.waitingFor;
  return (
    <Text size="sm" role="status">
      {t(`connectors.wait.${reason}`)} {until ? t('connectors.wait.until', { time: formatAgo(until) }) : ''}
    </Text>
  );
}

// Messages shows the error and the warnings of a job.
export function Messages({ warnings, error }: { warnings: string[]; error: string | null }) {
  return (
    <>
      {error && (
        <Alert color="red" variant="light" icon={<Icon name="warning" />} title={t('connectors.job.error')}>
          <Text size="sm" className="wrap">
            {error}
          </Text>
        </Alert>
      )}
      {warnings.length > 0 && (
        <Alert color="yellow" variant="light" icon={<Icon name="warning" />} title={t('connectors.warnings')}>
          <List size="sm">
            {warnings.map((warning) => (
              <List.Item key={warning} className="wrap">
                {warning}
              </List.Item>
            ))}
          </List>
        </Alert>
      )}
    </>
  );
}

// Said tells screen readers a text that changes often, at most every ten seconds.
function Said({ text }: { text: string }) {
  const [said, setSaid] = useState(text);
  const newest = useRef(text);
  newest.current = text;
  useEffect(() => {
    const timer = window.setInterval(() => setSaid(newest.current), 10_000);
    return () => window.clearInterval(timer);
  }, []);
  return <VisuallyHidden role="status">{said}</VisuallyHidden>;
}
