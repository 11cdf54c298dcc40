import { Alert, Button, Group, Loader, Menu, Stack, Switch, Title } from '@mantine/core';
import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { useQuery } from 'urql';
import { t } from '../../i18n';
import { word } from '../../i18n/words';
import { confirm } from '../../kit/confirm';
import { Facts } from '../../kit/Facts';
import { Icon } from '../../kit/Icon';
import { done } from '../../kit/notify';
import { Page } from '../../kit/Page';
import { ProblemNotice } from '../../kit/Problem';
import { Status } from '../../kit/Status';
import { When } from '../../kit/Time';
import { useAction } from '../../kit/useAction';
import { useMay, useMe } from '../../session/Me';
import { Connection } from './Connection';
import { EditIntegration } from './EditIntegration';
import { ImportTools } from './ImportTools';
import {
  ToolsDeleteDocument,
  ToolsIntegrationDocument,
  type ToolsIntegrationQuery,
  ToolsProvidersDocument,
  ToolsRefreshDocument,
  ToolsTestDocument,
  ToolsUpdateDocument,
} from './integrations.gql';
import { ToolList } from './ToolList';
import { WebhookTool } from './WebhookTool';

const route = getRouteApi('/shell/integrations/$integrationId');

export type Integration = ToolsIntegrationQuery['toolIntegration'];

// IntegrationPage is one integration: its state and connection, and the tools that agents get.
export function IntegrationPage() {
  const { integrationId } = route.useParams();
  const { oauth, error_description: refused } = route.useSearch();
  const me = useMe();
  const isEditor = useMay('EDITOR');
  const [{ data, error }, again] = useQuery({ query: ToolsIntegrationDocument, variables: { id: integrationId } });
  const [{ data: all }] = useQuery({ query: ToolsProvidersDocument, requestPolicy: 'cache-first' });
  const reload = () => again({ requestPolicy: 'network-only' });
  const above = [{ label: t('tools.title'), to: '/integrations' }];
  if (!data) {
    return (
      <Page title={t('tools.one')} above={above}>
        {error ? <ProblemNotice error={error} retry={reload} /> : <Loader role="status" aria-label={t('common.loading')} />}
      </Page>
    );
  }
  const integration = data.toolIntegration;
  const provider = all?.toolProviders.find(({ name }) => name === integration.provider);
  const mayChange = integration.ownerScope === 'PERSONAL' ? integration.personId === me.user.id : isEditor;
  return (
    <Page
      title={integration.name}
      description={provider?.summary}
      above={above}
      actions={<Actions integration={integration} mayChange={mayChange} reload={reload} />}
    >
      {oauth === 'connected' && (
        <Alert color="green" variant="light" icon={<Icon name="check" />} role="status">
          {t('tools.oauthDone')}
        </Alert>
      )}
      {oauth === 'failed' && (
        <Alert color="red" variant="light" icon={<Icon name="warning" />} role="alert" title={t('tools.oauthFailed')}>
          {refused}
        </Alert>
      )}
      <Facts
        columns={5}
        items={[
          { label: t('common.state'), value: <Status value={integration.status} /> },
          { label: t('tools.provider'), value: provider?.title ?? integration.provider },
          { label: t('tools.scope'), value: t(`tools.scope.${integration.ownerScope}`) },
          { label: t('tools.credentialsOf'), value: t(`tools.credentialsOf.${integration.credentialsOf}`) },
          { label: t('tools.read'), value: <When at={integration.discoveredAt} /> },
        ]}
      />
      {integration.lastError && (
        <Alert color="red" variant="light" icon={<Icon name="warning" />}>
          {integration.lastError}
        </Alert>
      )}
      {provider && <Connection integration={integration} provider={provider} reload={reload} />}
      <Title order={2} size="h4">
        {t('tools.tools')}
      </Title>
      {integration.kind === 'WEBHOOK' && mayChange && <WebhookActions integration={integration} reload={reload} />}
      <ToolList integration={integration} mayChange={mayChange} reload={reload} />
    </Page>
  );
}

function WebhookActions({ integration, reload }: { integration: Integration; reload: () => void }) {
  const [open, setOpen] = useState<'tool' | 'import' | null>(null);
  const close = (saved: boolean) => {
    setOpen(null);
    if (saved) reload();
  };
  return (
    <Group>
      <Button variant="default" onClick={() => setOpen('tool')} leftSection={<Icon name="plus" size={16} />}>
        {t('tools.webhook.new')}
      </Button>
      <Button variant="default" onClick={() => setOpen('import')} leftSection={<Icon name="upload" size={16} />}>
        {t('tools.import')}
      </Button>
      {open === 'tool' && <WebhookTool integrationId={integration.id} tool={null} close={close} />}
      {open === 'import' && <ImportTools integrationId={integration.id} close={close} />}
    </Group>
  );
}

function Actions({ integration, mayChange, reload }: { integration: Integration; mayChange: boolean; reload: () => void }) {
  const navigate = route.useNavigate();
  const [editing, setEditing] = useState(false);
  const test = useAction(ToolsTestDocument);
  const refresh = useAction(ToolsRefreshDocument);
  const update = useAction(ToolsUpdateDocument, { success: t('common.saved') });
  const remove = useAction(ToolsDeleteDocument, { success: t('common.deleted') });
  const [result, setResult] = useState<{ ok: boolean; message: string } | null>(null);
  const onTest = async () => {
    const data = await test.run({ id: integration.id });
    if (data) {
      setResult(data.testToolIntegration);
      reload();
    }
  };
  const onRefresh = async () => {
    const data = await refresh.run({ id: integration.id });
    if (!data) return;
    const { added, changed } = data.refreshTools;
    done(t('tools.refreshed', { added: added.length, changed: changed.length }));
    reload();
  };
  const del = async () => {
    const sure = await confirm({
      title: t('tools.delete'),
      body: t('tools.deleteHelp'),
      action: t('common.delete'),
      typed: integration.name,
    });
    if (sure && (await remove.run({ id: integration.id }))) await navigate({ to: '/integrations' });
  };
  return (
    <Stack gap="xs" align="flex-end">
      <Group gap="xs">
        {mayChange && (
          <Switch
            label={t('tools.enabled')}
            checked={integration.enabled}
            onChange={(event) => void update.run({ id: integration.id, input: { enabled: event.currentTarget.checked } })}
          />
        )}
        <Button variant="default" onClick={() => void onTest()} loading={test.running}>
          {t('tools.test')}
        </Button>
        {mayChange && (
          <>
            <Button
              variant="default"
              onClick={() => void onRefresh()}
              loading={refresh.running}
              leftSection={<Icon name="refresh" size={16} />}
            >
              {t('tools.refresh')}
            </Button>
            <Menu position="bottom-end">
              <Menu.Target>
                <Button variant="default" px="xs" aria-label={t('common.actions')}>
                  <Icon name="more" />
                </Button>
              </Menu.Target>
              <Menu.Dropdown>
                <Menu.Item leftSection={<Icon name="edit" size={16} />} onClick={() => setEditing(true)}>
                  {t('common.edit')}
                </Menu.Item>
                <Menu.Item leftSection={<Icon name="trash" size={16} />} onClick={() => void del()}>
                  {t('common.delete')}
                </Menu.Item>
              </Menu.Dropdown>
            </Menu>
          </>
        )}
      </Group>
      {result && (
        <Alert color={result.ok ? 'green' : 'red'} variant="light" role="status" py="xs">
          {word(result.message)}
        </Alert>
      )}
      {editing && (
        <EditIntegration
          integration={integration}
          close={(saved) => {
            setEditing(false);
            if (saved) reload();
          }}
        />
      )}
    </Stack>
  );
}
