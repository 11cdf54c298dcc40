import { Alert, Anchor, Badge, Button, Loader, Stack, Table, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useQuery } from 'urql';
import { formatBytes, formatDuration, formatNumber, t, tValue } from '../../i18n';
import { Facts } from '../../kit/Facts';
import { Icon } from '../../kit/Icon';
import { Page } from '../../kit/Page';
import { ProblemNotice } from '../../kit/Problem';
import { moveBetweenRows } from '../../kit/rowKeys';
import { Ago } from '../../kit/Time';
import { useMay } from '../../session/Me';
import { Section } from './Section';
import { WorkspaceSystemDocument, type WorkspaceSystemQuery } from './system.gql';

type System = WorkspaceSystemQuery['system'];

// SystemPage has the state of the installation, and what needs attention first.
export function SystemPage() {
  const isAdmin = useMay('ADMIN');
  const [{ data, error, fetching }, again] = useQuery({ query: WorkspaceSystemDocument, pause: !isAdmin });
  const reload = () => again({ requestPolicy: 'network-only' });
  return (
    <Page
      title={t('common.nav.system')}
      description={t('workspace.systemAbout')}
      actions={
        isAdmin && (
          <Button variant="default" leftSection={<Icon name="refresh" size={16} />} loading={fetching} onClick={reload}>
            {t('workspace.refresh')}
          </Button>
        )
      }
    >
      {!isAdmin && <Text size="sm">{t('workspace.systemAdmins')}</Text>}
      {error && <ProblemNotice error={error} retry={reload} />}
      {isAdmin && !data && !error && <Loader aria-label={t('common.loading')} />}
      {data && <Parts system={data.system} />}
    </Page>
  );
}

function Parts({ system }: { system: System }) {
  return (
    <>
      <Warnings warnings={system.warnings} />
      <Section title={t('workspace.versions')}>
        <Facts
          items={[
            { label: 'Magpie', value: system.version },
            { label: t('workspace.schemaVersion'), value: String(system.schemaVersion) },
            { label: t('workspace.runningSince'), value: <Ago at={system.startedAt} /> },
            ...system.services.map(({ name, version, reachable }) => ({
              label: name,
              value: reachable ? version : <State good={false} yes={t('workspace.reachable')} no={t('workspace.unreachable')} />,
            })),
          ]}
        />
      </Section>
      {system.restricted ? <Text size="sm">{t('workspace.restricted')}</Text> : <Work system={system} />}
      <Section title={t('workspace.models')}>
        <Rows
          label={t('workspace.models')}
          none={t('common.none')}
          head={[t('workspace.modelKind'), t('common.name'), t('common.state'), t('workspace.lastFailure')]}
          rows={system.models.map(({ kind, name, failing, lastFailure }) => [
            tValue(`workspace.kind.${kind}`, kind),
            name,
            <State key="state" good={!failing} yes={t('workspace.works')} no={t('workspace.failing')} />,
            lastFailure ? (
              <span key="failure">
                <Ago at={lastFailure.at} />: {lastFailure.reason}
              </span>
            ) : (
              '–'
            ),
          ])}
        />
      </Section>
      <Section title={t('workspace.tiers')} about={t('workspace.tiersAbout')}>
        <Rows
          label={t('workspace.tiers')}
          none={t('workspace.noCollections')}
          head={[t('workspace.collection'), t('workspace.tier'), t('workspace.indexPassages'), t('workspace.memory')]}
          rows={system.collections.map(({ id, name, resident, passages, bytes }) => [
            <Anchor key="name" component={Link} to={`/collections/${id}`} inherit>
              {name}
            </Anchor>,
            t(resident ? 'workspace.resident' : 'workspace.stored'),
            resident ? formatNumber(passages) : '–',
            resident ? formatBytes(bytes) : '–',
          ])}
        />
      </Section>
    </>
  );
}

// Work shows the workers and queues of the installation.
function Work({ system }: { system: System }) {
  return (
    <>
      <Section title={t('workspace.workers')} about={t('workspace.workersAbout')}>
        <Rows
          label={t('workspace.workers')}
          none={t('workspace.noWorkers')}
          head={[t('common.name'), t('workspace.runningSince'), t('workspace.tasks'), t('workspace.runsNow')]}
          rows={system.workers.map(({ id, startedAt, status, concurrency, running }) => [
            <span key="id" className="mono">
              {id} {status !== 'active' && <Badge variant="light">{tValue(`workspace.worker.${status}`, status)}</Badge>}
            </span>,
            <Ago key="since" at={startedAt} />,
            `${formatNumber(running.length)} / ${formatNumber(concurrency)}`,
            running.map(({ name }) => name).join(', ') || '–',
          ])}
        />
      </Section>
      <Section title={t('workspace.queues')} about={t('workspace.queuesAbout')}>
        <Rows
          label={t('workspace.queues')}
          none={t('workspace.noQueues')}
          head={[
            t('common.name'),
            t('workspace.queue.pending'),
            t('workspace.queue.active'),
            t('workspace.queue.scheduled'),
            t('workspace.queue.retry'),
            t('workspace.queue.archived'),
            t('workspace.queue.oldest'),
          ]}
          rows={system.queues.map((queue) => [
            queue.name,
            formatNumber(queue.pending),
            formatNumber(queue.active),
            formatNumber(queue.scheduled),
            formatNumber(queue.retry),
            formatNumber(queue.archived),
            queue.oldestSeconds > 0 ? formatDuration(queue.oldestSeconds) : '–',
          ])}
        />
      </Section>
    </>
  );
}

function Warnings({ warnings }: { warnings: System['warnings'] }) {
  if (warnings.length === 0)
    return (
      <Alert color="green" variant="light" icon={<Icon name="check" />} role="status">
        {t('workspace.noWarnings')}
      </Alert>
    );
  return (
    <Stack gap="xs">
      {warnings.map(({ code, text, action }, n) => (
        <Alert key={`${code} ${n}`} color="yellow" variant="light" icon={<Icon name="warning" />} title={text}>
          <Text size="sm" className="wrap">
            {action}
          </Text>
        </Alert>
      ))}
    </Stack>
  );
}

function State({ good, yes, no }: { good: boolean; yes: string; no: string }) {
  return (
    <Badge variant="light" color={good ? 'green' : 'red'} tt="none" miw="max-content">
      {good ? yes : no}
    </Badge>
  );
}

// Rows is a table of few rows, between which the arrow keys move.
function Rows({ label, none, head, rows }: { label: string; none: string; head: string[]; rows: ReactNode[][] }) {
  if (rows.length === 0) return <Text size="sm">{none}</Text>;
  return (
    <Table.ScrollContainer minWidth={0} type="native" tabIndex={0} role="region" aria-label={label}>
      <Table aria-label={label}>
        <Table.Thead>
          <Table.Tr>
            {head.map((title) => (
              <Table.Th key={title}>{title}</Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody onKeyDown={moveBetweenRows}>
          {rows.map((cells, n) => (
            <Table.Tr key={n} tabIndex={n === 0 ? 0 : -1} className="reached">
              {cells.map((cell, m) => (
                <Table.Td key={m}>{cell}</Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}
