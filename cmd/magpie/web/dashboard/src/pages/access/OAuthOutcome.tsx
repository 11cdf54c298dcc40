import { Alert, Button, Group, Text } from '@mantine/core';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useQuery } from 'urql';
import { t, tValue } from '../../i18n';
import { Icon } from '../../kit/Icon';
import { Page } from '../../kit/Page';
import { AccessOAuthProvidersDocument } from './oauth.gql';

const route = getRouteApi('/shell/oauth-done');

// OAuthDone is where a connection by OAuth returns to if no page waits for it.
export function OAuthDone() {
  const { oauth, provider = '', connector = null, error = null, error_description = null, back = null } = route.useSearch();
  if (oauth === 'connected') return <Connected provider={provider} account={null} connector={connector} back={back} />;
  return <Refused provider={provider} error={error} description={error_description} connector={connector} />;
}

// useTitle returns the name of a provider as people know it.
function useTitle(name: string): string {
  const [{ data }] = useQuery({ query: AccessOAuthProvidersDocument });
  return data?.oauthProviders.find((provider) => provider.name === name)?.title ?? (name === 'mcp' ? t('access.toolServer') : name);
}

interface ConnectedProps {
  provider: string;
  account: string | null;
  connector: string | null;
  // Where the person came from.
  back: string | null;
}

export function Connected({ provider, account, connector, back }: ConnectedProps) {
  const title = useTitle(provider);
  return (
    <Page title={t('access.confirmed')} narrow>
      <Alert color="green" variant="light" icon={<Icon name="check" />} role="status">
        <Text size="sm" className="wrap">
          {account ? t('access.confirmedAs', { provider: title, account }) : t('access.confirmedNoName', { provider: title })}
        </Text>
      </Alert>
      <Group>
        <Button component={Link} to={connector ? `/connectors/${connector}` : (placeOf(back) ?? '/integrations')}>
          {connector || placeOf(back) ? t('access.goOn') : t('access.toIntegrations')}
        </Button>
      </Group>
    </Page>
  );
}

interface RefusedProps {
  provider: string;
  error: string | null;
  description: string | null;
  connector: string | null;
}

export function Refused({ provider, error, description, connector }: RefusedProps) {
  const title = useTitle(provider);
  return (
    <Page title={t('access.notConnected')} narrow>
      <Alert color="red" variant="light" icon={<Icon name="warning" />} title={title} role="alert">
        <Text size="sm" className="wrap">
          {tValue(`access.oauth.${error}`, t('access.oauth.other'))}
        </Text>
        {description && (
          <Text size="sm" className="wrap" mt={4}>
            {description}
          </Text>
        )}
      </Alert>
      <Group>
        <Button component={Link} to={connector ? `/connectors/${connector}` : '/connectors'} variant="default">
          {connector ? t('access.goOn') : t('access.toConnectors')}
        </Button>
        {!connector && (
          <Button component={Link} to="/integrations" variant="default">
            {t('access.toIntegrations')}
          </Button>
        )}
      </Group>
    </Page>
  );
}

// placeOf returns the path of an address of the dashboard, other than its beginning.
function placeOf(address: string | null): string | null {
  if (!address) return null;
  const url = new URL(address, window.location.origin);
  return url.origin === window.location.origin && url.pathname !== '/' ? url.pathname : null;
}
