import { ActionIcon, Alert, Button, Group, Paper, Radio, SegmentedControl, Stack, Text, Tooltip } from '@mantine/core';
import { useState } from 'react';
import { useQuery } from 'urql';
import { t } from '../../../i18n';
import { confirm } from '../../../kit/confirm';
import { Icon } from '../../../kit/Icon';
import { failed } from '../../../kit/notify';
import { ProblemNotice } from '../../../kit/Problem';
import { Status } from '../../../kit/Status';
import { When } from '../../../kit/Time';
import { useAction } from '../../../kit/useAction';
import { usePaged } from '../../../kit/usePaged';
import { accessToken, call } from '../../../session/session';
import {
  ConnectorsGrantsDocument,
  type ConnectorsGrantsQuery,
  ConnectorsProvidersDocument,
  ConnectorsRevokeGrantDocument,
} from '../form.gql';
import type { OAuthSearch } from '../routes';
import type { Connection } from './connection';

type Grant = NonNullable<NonNullable<NonNullable<ConnectorsGrantsQuery['oauthGrants']['edges']>[number]>['node']>;

interface Props {
  provider: string;
  connection: Connection;
  onChange: (part: Partial<Connection>) => void;
  connectorId?: string;
  onLeave: () => void;
  returnTo: string;
}

// OAuthFields is the choice of an account at a service instead of credentials, and the way to connect one.
export function OAuthFields({ provider, connection, onChange, connectorId, onLeave, returnTo }: Props) {
  const [{ data }] = useQuery({ query: ConnectorsProvidersDocument, requestPolicy: 'cache-first' });
  const [leaving, setLeaving] = useState(false);
  const service = data?.oauthProviders.find(({ name }) => name === provider);
  if (!service) return null;
  if (!service.configured && !connection.byOAuth) {
    return (
      <Text size="sm" c="dimmed">
        {t('connectors.oauth.notConfigured', { service: service.title })}
      </Text>
    );
  }
  // By REST, whose answer also sets the cookie that binds the connection to this browser.
  const connect = async () => {
    setLeaving(true);
    try {
      const { data: begun } = await call<{ data: { authorizationUrl: string } }>(
        'POST',
        '/api/v1/oauth/init',
        { provider, connectorId, redirectUrl: new URL(returnTo, window.location.origin).href },
        (await accessToken()) ?? undefined,
      );
      onLeave();
      window.location.assign(begun.authorizationUrl);
    } catch (problem) {
      failed(problem);
      setLeaving(false);
    }
  };
  return (
    <Stack gap="sm">
      <SegmentedControl
        aria-label={t('connectors.form.access')}
        value={connection.byOAuth ? 'oauth' : 'own'}
        onChange={(next) => onChange({ byOAuth: next === 'oauth' })}
        data={[
          { value: 'oauth', label: t('connectors.oauth.account') },
          { value: 'own', label: t('connectors.oauth.own') },
        ]}
        style={{ alignSelf: 'flex-start' }}
      />
      {connection.byOAuth && (
        <>
          <Text size="sm" c="dimmed">
            {t('connectors.oauth.help', { service: service.title })}
          </Text>
          <Grants provider={provider} chosen={connection.grant} onChoose={(grant) => onChange({ grant })} />
          <Button
            variant="default"
            onClick={() => void connect()}
            loading={leaving}
            leftSection={<Icon name="external" size={16} />}
            style={{ alignSelf: 'flex-start' }}
          >
            {t('connectors.oauth.connect', { service: service.title })}
          </Button>
        </>
      )}
    </Stack>
  );
}

function Grants({ provider, chosen, onChoose }: { provider: string; chosen: string | null; onChoose: (grant: string | null) => void }) {
  const list = usePaged(ConnectorsGrantsDocument, { provider }, (data) => data.oauthGrants);
  const revoke = useAction(ConnectorsRevokeGrantDocument, { success: t('connectors.oauth.revoked') });
  if (list.error) return <ProblemNotice error={list.error} retry={list.reload} />;
  if (list.rows.length === 0) return <Text size="sm">{list.loading ? t('common.loading') : t('connectors.oauth.none')}</Text>;
  const end = async (grant: Grant) => {
    const name = grant.account ?? provider;
    if (
      !(await confirm({
        title: t('connectors.oauth.revokeTitle', { name }),
        body: t('connectors.oauth.revokeBody'),
        action: t('connectors.oauth.revoke'),
      }))
    )
      return;
    if (await revoke.run({ id: grant.id })) {
      if (chosen === grant.id) onChoose(null);
      list.reload();
    }
  };
  return (
    <Radio.Group label={t('connectors.oauth.choose')} value={chosen} onChange={onChoose}>
      <Stack gap="xs" mt="xs">
        {list.rows.map((grant) => (
          <Paper key={grant.id} p="xs">
            <Group justify="space-between" wrap="nowrap">
              <Radio value={grant.id} label={grant.account ?? t('connectors.oauth.unnamed')} description={grant.lastError ?? undefined} />
              <Group gap="xs" wrap="nowrap">
                <Text size="xs" c="dimmed">
                  <When at={grant.refreshedAt ?? grant.createdAt} />
                </Text>
                <Status value={grant.status} />
                <Tooltip label={t('connectors.oauth.revoke')}>
                  <ActionIcon
                    variant="subtle"
                    color="gray"
                    aria-label={`${t('connectors.oauth.revoke')}: ${grant.account ?? provider}`}
                    onClick={() => void end(grant)}
                  >
                    <Icon name="trash" size={16} />
                  </ActionIcon>
                </Tooltip>
              </Group>
            </Group>
          </Paper>
        ))}
        {list.hasMore && (
          <Button variant="default" size="xs" onClick={list.more}>
            {t('common.more')}
          </Button>
        )}
      </Stack>
    </Radio.Group>
  );
}

// OAuthOutcome tells how a connection by OAuth ended, from what the service added to the address.
export function OAuthOutcome({ search }: { search: OAuthSearch }) {
  if (search.oauth === 'connected') {
    return (
      <Alert color="green" variant="light" icon={<Icon name="check" />} role="status">
        {t('connectors.oauth.connected')}
      </Alert>
    );
  }
  if (search.oauth !== 'failed') return null;
  return (
    <Alert color="red" variant="light" icon={<Icon name="warning" />} title={t('connectors.oauth.failed')} role="alert">
      <Text size="sm" className="wrap">
        {search.error_description ?? search.error}
      </Text>
    </Alert>
  );
}
