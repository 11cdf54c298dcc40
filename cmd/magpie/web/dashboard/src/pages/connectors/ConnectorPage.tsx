import { Alert, Anchor, Button, Group, Loader, Tabs, Text } from '@mantine/core';
import { getRouteApi, Link } from '@tanstack/react-router';
import { type ReactNode, useCallback } from 'react';
import { useQuery } from 'urql';
import { problemOf } from '../../api/errors';
import { NotFound } from '../../app/Fallback';
import { formatNumber, t } from '../../i18n';
import { Icon } from '../../kit/Icon';
import { Page } from '../../kit/Page';
import { ProblemNotice } from '../../kit/Problem';
import { Status } from '../../kit/Status';
import { Ago } from '../../kit/Time';
import { Actions } from './Actions';
import { BackToWelcome } from './BackToWelcome';
import { ConnectorsOneDocument, type ConnectorsOneQuery } from './connector.gql';
import { useKinds } from './kinds';
import { type Tab, tabs } from './routes';
import { isOpen, useConnectorSync } from './sync';
import { Documents } from './tabs/Documents';
import { Files } from './tabs/Files';
import { Items } from './tabs/Items';
import { Overview } from './tabs/Overview';
import { Plan } from './tabs/Plan';
import { Quarantine } from './tabs/Quarantine';
import { Settings } from './tabs/Settings';
import { Syncs } from './tabs/Syncs';

export type Connector = ConnectorsOneQuery['connector'];

const route = getRouteApi('/shell/connectors/$connectorId');

// ConnectorPage shows one connector, by tabs.
export function ConnectorPage() {
  const { connectorId } = route.useParams();
  return <One key={connectorId} id={connectorId} />;
}

function One({ id }: { id: string }) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { kind, title } = useKinds();
  const [{ data, error }, execute] = useQuery({ query: ConnectorsOneDocument, variables: { id } });
  const reload = useCallback(() => execute({ requestPolicy: 'network-only' }), [execute]);
  const sync = useConnectorSync(id, reload);
  if (error && !data) {
    if (problemOf(error).code === 'not_found') return <NotFound />;
    return <ProblemNotice error={error} retry={reload} />;
  }
  if (!data) return <Loader aria-label={t('common.loading')} />;
  const { connector } = data;
  const about = kind(connector.type);
  const hasDocuments = about?.database !== true;
  const applies: Record<Tab, boolean> = {
    overview: true,
    syncs: true,
    items: hasDocuments,
    documents: hasDocuments,
    plan: hasDocuments,
    quarantine: hasDocuments && about?.enumerates !== false,
    files: about?.acceptsFiles === true,
    settings: true,
  };
  const shown = tabs.filter((tab) => applies[tab]);
  const tab = search.tab && applies[search.tab] ? search.tab : 'overview';
  const open = isOpen(sync.job?.status) ? (sync.job?.jobId ?? null) : null;
  const turn = `${sync.job?.jobId}${sync.job?.status}`;
  const panels: Record<Tab, () => ReactNode> = {
    overview: () => <Overview connector={connector} sync={sync} reload={reload} />,
    syncs: () => <Syncs connector={connector} turn={turn} />,
    items: () => <Items connectorId={id} turn={turn} />,
    documents: () => <Documents connectorId={id} counts={connector.documentCounts} />,
    plan: () => <Plan connectorId={id} event={sync.job} />,
    quarantine: () => <Quarantine connector={connector} reload={reload} />,
    files: () => <Files connectorId={id} isSyncing={open !== null} />,
    settings: () => <Settings connector={connector} />,
  };
  return (
    <Page
      title={connector.name}
      description={
        <>
          {title(connector.type)} · {t('connectors.collection')}:{' '}
          <Anchor component={Link} to={`/collections/${connector.collection.id}`} size="sm" underline="always">
            {connector.collection.name}
          </Anchor>
        </>
      }
      above={[{ label: t('connectors.title'), to: '/connectors' }]}
      actions={
        <>
          <BackToWelcome welcome={search.welcome} />
          <Actions connector={connector} openJob={open} reload={reload} />
        </>
      }
    >
      <Group gap="xs">
        <Status value={open && connector.status === 'ACTIVE' ? 'SYNCING' : connector.status} />
        <Text size="sm" c="dimmed">
          {connector.lastSync ? (
            <>
              {t('connectors.lastSync')}: <Ago at={connector.lastSync} />
            </>
          ) : (
            t('connectors.neverSynced')
          )}
        </Text>
      </Group>
      {connector.pendingDeletion && (
        <Alert
          color="yellow"
          variant="light"
          icon={<Icon name="warning" />}
          title={t('connectors.quarantine.banner', { count: connector.pendingDeletion.documents })}
        >
          <Group justify="space-between">
            <Text size="sm">
              {t('connectors.quarantine.why', {
                missing: formatNumber(connector.pendingDeletion.documents),
                existing: formatNumber(connector.pendingDeletion.existing),
                threshold: connector.pendingDeletion.threshold,
              })}
            </Text>
            {tab !== 'quarantine' && (
              <Button
                size="xs"
                variant="default"
                onClick={() => void navigate({ search: ({ welcome }) => ({ tab: 'quarantine', welcome }) })}
              >
                {t('connectors.quarantine.look')}
              </Button>
            )}
          </Group>
        </Alert>
      )}
      {connector.lastError && connector.status !== 'ACTIVE' && (
        <Alert color="red" variant="light" icon={<Icon name="warning" />} title={t('connectors.lastError')}>
          <Text size="sm" className="wrap">
            {connector.lastError}
          </Text>
        </Alert>
      )}
      <Tabs
        value={tab}
        onChange={(next) => void navigate({ search: ({ welcome }) => ({ tab: next as Tab, welcome }) })}
        keepMounted={false}
      >
        <Tabs.List>
          {shown.map((one) => (
            <Tabs.Tab key={one} value={one}>
              {t(`connectors.tab.${one}`)}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {shown.map((one) => (
          <Tabs.Panel key={one} value={one} pt="md">
            {one === tab ? panels[one]() : null}
          </Tabs.Panel>
        ))}
      </Tabs>
    </Page>
  );
}
