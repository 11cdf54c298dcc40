import { Button, Group, Paper, Stack, Text, Title } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { t } from '../../i18n';
import { confirm } from '../../kit/confirm';
import { Icon } from '../../kit/Icon';
import { failed } from '../../kit/notify';
import { OptionForm } from '../../kit/OptionForm';
import { submitted, type Values } from '../../kit/options';
import { ProblemNotice } from '../../kit/Problem';
import { Status } from '../../kit/Status';
import { When } from '../../kit/Time';
import { useAction } from '../../kit/useAction';
import { useMay, useMe } from '../../session/Me';
import { accessToken, call } from '../../session/session';
import type { Integration } from './IntegrationPage';
import { ToolsConnectDocument, ToolsDisconnectDocument } from './integrations.gql';
import { optionProblem, type Provider } from './NewIntegrationPage';

// Connection has the credentials with which the person's runs call the tools: they are entered or granted, and forgotten.
export function Connection({ integration, provider, reload }: { integration: Integration; provider: Provider; reload: () => void }) {
  const me = useMe();
  const isAdmin = useMay('ADMIN');
  const isShared = integration.credentialsOf === 'SHARED';
  const mayConnect = !isShared || isAdmin;
  const [entering, setEntering] = useState(false);
  const [starting, setStarting] = useState(false);
  const disconnect = useAction(ToolsDisconnectDocument, { success: t('tools.disconnected') });
  const mine = integration.connections?.find(({ personId }) => (isShared ? !personId : personId === me.user.id));
  // The route sets a cookie, by which the same browser must come back.
  const authorize = async () => {
    setStarting(true);
    try {
      const redirectUrl = `${window.location.origin}/integrations/${integration.id}`;
      const { data } = await call<{ data: { authorizationUrl: string } }>(
        'POST',
        `/api/v1/tool-integrations/${integration.id}/authorize`,
        { redirectUrl },
        (await accessToken()) ?? undefined,
      );
      window.location.assign(data.authorizationUrl);
    } catch (error) {
      failed(error);
      setStarting(false);
    }
  };
  const forget = async () => {
    const sure = await confirm({ title: t('tools.disconnect'), body: t('tools.disconnectHelp'), action: t('tools.disconnect') });
    if (sure && (await disconnect.run({ id: integration.id }))) reload();
  };
  if (provider.credentials.length === 0 && !provider.oauth) return null;
  return (
    <Paper p="md">
      <Stack gap="sm">
        <Group justify="space-between">
          <Title order={2} size="h5">
            {isShared ? t('tools.sharedConnection') : t('tools.yourConnection')}
          </Title>
          {mine ? <Status value={mine.status} /> : <Status value={integration.status === 'ACTIVE' ? 'ACTIVE' : 'NEEDS_AUTH'} />}
        </Group>
        {mine?.lastError && (
          <Text size="sm" c="red" className="wrap">
            {mine.lastError}
          </Text>
        )}
        {mine && (
          <Text size="xs" c="dimmed">
            {t('tools.checked')} <When at={mine.lastCheckedAt} />
          </Text>
        )}
        {!mayConnect && <Text size="sm">{t('tools.connectAdmins')}</Text>}
        {mayConnect && !entering && (
          <Group gap="xs">
            {provider.oauth && (
              <Button onClick={() => void authorize()} loading={starting} rightSection={<Icon name="external" size={16} />}>
                {t('tools.authorize')}
              </Button>
            )}
            {provider.credentials.length > 0 && (
              <Button variant="default" onClick={() => setEntering(true)}>
                {t('tools.enterCredentials')}
              </Button>
            )}
            {mine && (
              <Button variant="default" onClick={() => void forget()} loading={disconnect.running}>
                {t('tools.disconnect')}
              </Button>
            )}
          </Group>
        )}
        {entering && (
          <Credentials
            integration={integration}
            provider={provider}
            close={(saved) => {
              setEntering(false);
              if (saved) reload();
            }}
          />
        )}
      </Stack>
    </Paper>
  );
}

interface CredentialsProps {
  integration: Integration;
  provider: Provider;
  close: (saved: boolean) => void;
}

function Credentials({ integration, provider, close }: CredentialsProps) {
  const [values, setValues] = useState<Values>({});
  const connect = useAction(ToolsConnectDocument, { success: t('tools.connected'), quiet: true });
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (await connect.run({ id: integration.id, credentials: submitted(provider.credentials, values) })) close(true);
  };
  return (
    <form onSubmit={submit} noValidate>
      <Stack gap="sm">
        {connect.error && <ProblemNotice error={connect.error} />}
        <OptionForm
          table={provider.credentials}
          values={values}
          onChange={setValues}
          problem={optionProblem(connect.error, 'credentials')}
          stored={new Set(integration.storedCredentials)}
        />
        <Group gap="xs">
          <Button type="submit" loading={connect.running}>
            {t('tools.connect')}
          </Button>
          <Button variant="default" onClick={() => close(false)}>
            {t('common.cancel')}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
