import { Alert, Button, Group, Paper, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import { formatBytes, formatDuration, formatNumber, formatPercent, t } from '../../../i18n';
import { Copy } from '../../../kit/Copy';
import { Facts, Figure } from '../../../kit/Facts';
import { Icon } from '../../../kit/Icon';
import { When } from '../../../kit/Time';
import { useAction } from '../../../kit/useAction';
import { May } from '../../../session/Me';
import type { Connector } from '../ConnectorPage';
import { ConnectorsRefreshPermissionsDocument } from '../connector.gql';
import { scheduleText } from '../form/ScheduleFields';
import { span, useKinds } from '../kinds';
import type { useConnectorSync } from '../sync';
import { Progress } from './Progress';
import { useCounts } from './useCounts';

interface Props {
  connector: Connector;
  sync: ReturnType<typeof useConnectorSync>;
  reload: () => void;
}

// Overview shows how a connector is doing: its sync while it runs, its documents, and how well it keeps up.
export function Overview({ connector, sync, reload }: Props) {
  const { kind } = useKinds();
  const about = kind(connector.type);
  const schedule = connector.schemaSync ?? connector.docSync;
  return (
    <Stack>
      <Progress connector={connector} sync={sync} />
      {!about?.database && <Counts connector={connector} />}
      <Section title={t('connectors.schedule')}>
        <Facts
          items={[
            { label: t('connectors.schedule'), value: scheduleText(schedule) },
            { label: t('connectors.nextSync'), value: connector.nextSyncAt ? <When at={connector.nextSyncAt} /> : null },
            { label: t('connectors.lastSync'), value: <When at={connector.lastSync} /> },
            { label: t('common.created'), value: <When at={connector.createdAt} /> },
          ]}
        />
      </Section>
      {!about?.database && <Fresh connector={connector} />}
      <History connector={connector} />
      {connector.webhook && <Webhook webhook={connector.webhook} />}
      {connector.permissions && <Permissions connector={connector} reload={reload} />}
    </Stack>
  );
}

function Section({ title, children, action }: { title: string; children: ReactNode; action?: ReactNode }) {
  return (
    <Paper p="md" component="section">
      <Stack gap="sm">
        <Group justify="space-between">
          <Title order={2} size="h5">
            {title}
          </Title>
          {action}
        </Group>
        {children}
      </Stack>
    </Paper>
  );
}

function Counts({ connector }: { connector: Connector }) {
  const withFailure = useCounts(connector.id);
  const { pending, processing, indexed, failed, deleted } = connector.documentCounts;
  return (
    <SimpleGrid cols={{ base: 2, sm: 4 }}>
      <Figure
        label={t('connectors.count.indexed')}
        value={formatNumber(indexed)}
        hint={withFailure ? t('connectors.count.withFailure', { count: withFailure }) : undefined}
      />
      <Figure label={t('connectors.count.waiting')} value={formatNumber(pending + processing)} />
      <Figure label={t('connectors.count.failed')} value={formatNumber(failed)} />
      <Figure label={t('connectors.count.deleted')} value={formatNumber(deleted)} hint={t('connectors.count.deletedHelp')} />
    </SimpleGrid>
  );
}

function Fresh({ connector: { freshness } }: { connector: Connector }) {
  const of = (window: typeof freshness.lastDay) =>
    window.changes === 0
      ? t('connectors.fresh.none')
      : t('connectors.fresh.of', { p50: span(window.p50), p95: span(window.p95), max: span(window.max), changes: window.changes });
  return (
    <Section title={t('connectors.freshness')}>
      <Text size="sm" c="dimmed">
        {t('connectors.fresh.help')}
      </Text>
      <Facts
        columns={2}
        items={[
          { label: t('connectors.fresh.day'), value: of(freshness.lastDay) },
          { label: t('connectors.fresh.week'), value: of(freshness.lastWeek) },
          { label: t('connectors.fresh.waiting'), value: formatNumber(freshness.waiting) },
          { label: t('connectors.fresh.oldest'), value: freshness.oldestWaiting ? <When at={freshness.oldestWaiting} /> : null },
        ]}
      />
    </Section>
  );
}

function History({ connector: { history } }: { connector: Connector }) {
  return (
    <Section title={t('connectors.history')}>
      <Facts
        columns={4}
        items={[
          { label: t('connectors.history.total'), value: formatNumber(history.total) },
          { label: t('connectors.history.rate'), value: history.successRate == null ? '–' : formatPercent(history.successRate) },
          {
            label: t('connectors.history.results'),
            value: t('connectors.history.resultsOf', {
              completed: history.completed,
              partial: history.partial,
              failed: history.failed,
              canceled: history.canceled,
            }),
          },
          { label: t('connectors.history.duration'), value: history.meanDuration == null ? '–' : formatDuration(history.meanDuration) },
          {
            label: t('connectors.history.documents'),
            value: t('connectors.history.documentsOf', { added: history.added, modified: history.modified, deleted: history.deleted }),
          },
          { label: t('connectors.history.bytes'), value: formatBytes(history.bytesFetched) },
          { label: t('connectors.history.pages'), value: formatNumber(history.pages) },
          { label: t('connectors.history.retried'), value: formatNumber(history.retried) },
          { label: t('connectors.history.lastSuccess'), value: <When at={history.lastSuccess} /> },
          { label: t('connectors.history.lastFailure'), value: <When at={history.lastFailure} /> },
        ]}
      />
    </Section>
  );
}

function Webhook({ webhook }: { webhook: NonNullable<Connector['webhook']> }) {
  const { url, ready, lastDelivery, waiting, subscription } = webhook;
  return (
    <Section title={t('connectors.webhook')}>
      <Text size="sm" c="dimmed">
        {t(ready ? 'connectors.webhook.ready' : 'connectors.webhook.notReady')}
      </Text>
      <Facts
        items={[
          {
            label: t('connectors.webhook.url'),
            value: (
              <Group gap={4} wrap="nowrap">
                <span className="mono">{url}</span>
                <Copy text={url} label={t('connectors.webhook.copy')} />
              </Group>
            ),
          },
          { label: t('connectors.webhook.last'), value: lastDelivery ? <When at={lastDelivery} /> : t('connectors.webhook.noneYet') },
          { label: t('connectors.webhook.waiting'), value: formatNumber(waiting) },
          {
            label: t('connectors.webhook.subscription'),
            value: subscription && t(subscription.active ? 'connectors.webhook.active' : 'connectors.webhook.inactive'),
          },
          { label: t('connectors.webhook.expires'), value: subscription?.expiresAt ? <When at={subscription.expiresAt} /> : null },
        ]}
      />
      {subscription?.error && (
        <Alert color="yellow" variant="light" icon={<Icon name="warning" />}>
          <Text size="sm" className="wrap">
            {subscription.error}
          </Text>
        </Alert>
      )}
    </Section>
  );
}

function Permissions({ connector, reload }: { connector: Connector; reload: () => void }) {
  const refresh = useAction(ConnectorsRefreshPermissionsDocument, { success: t('connectors.permissions.started') });
  const { permissions, hiddenDocuments } = connector;
  if (!permissions) return null;
  const mode = (['off', 'strict', 'permissive'] as const).find((one) => one === permissions.mode);
  return (
    <Section
      title={t('connectors.permissions')}
      action={
        <May atLeast="EDITOR">
          <Button
            size="xs"
            variant="default"
            loading={refresh.running}
            onClick={() => void refresh.run({ connectorId: connector.id }).then(reload)}
          >
            {t('connectors.permissions.refresh')}
          </Button>
        </May>
      }
    >
      <Text size="sm">{mode ? t(`connectors.permissions.${mode}`) : permissions.mode}</Text>
      <Facts
        items={[
          { label: t('connectors.permissions.readers'), value: <When at={permissions.readersReadAt} /> },
          { label: t('connectors.permissions.groups'), value: <When at={permissions.groupsReadAt} /> },
          { label: t('connectors.permissions.hidden'), value: formatNumber(hiddenDocuments) },
        ]}
      />
      {permissions.warning && (
        <Alert color="yellow" variant="light" icon={<Icon name="warning" />}>
          <Text size="sm" className="wrap">
            {permissions.warning}
          </Text>
        </Alert>
      )}
    </Section>
  );
}
