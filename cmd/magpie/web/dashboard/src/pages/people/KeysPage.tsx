import { Alert, Anchor, Badge, Button, Code, Group, Stack, Text, Title } from '@mantine/core';
import { Link, useNavigate } from '@tanstack/react-router';
import { formatDate, t } from '../../i18n';
import { type Column, DataTable } from '../../kit/DataTable';
import { Empty } from '../../kit/Empty';
import { Icon } from '../../kit/Icon';
import { Needs } from '../../kit/Needs';
import { Page } from '../../kit/Page';
import { Status } from '../../kit/Status';
import { When } from '../../kit/Time';
import { ServiceTokens } from '../../kit/Tokens';
import { usePaged } from '../../kit/usePaged';
import { useMay } from '../../session/Me';
import { type KeyRowFragment, KeysListDocument } from './keys.gql';
import { loud } from './loud';

// Made when they are shown, since the messages are loaded then.
const columns = (): Column<KeyRowFragment>[] => [
  {
    key: 'name',
    title: t('common.name'),
    cell: (key) => (
      <Stack gap={2}>
        <Anchor component={Link} to={`/keys/${key.id}`} size="sm" fw={500}>
          {key.name}
        </Anchor>
        <Group gap={6}>
          <Code>{key.publishableHint}…</Code>
          <Code>{key.secretHint}…</Code>
        </Group>
      </Stack>
    ),
  },
  {
    key: 'state',
    title: t('common.state'),
    cell: (key) => (
      <Group gap={6}>
        <Status value={key.status} />
        {key.leakedAt && key.status === 'ACTIVE' && (
          <Badge color="red.9" autoContrast={false} variant="filled" tt="none" leftSection={<Icon name="warning" size={12} />}>
            {t('people.keys.leaked')}
          </Badge>
        )}
      </Group>
    ),
  },
  { key: 'hosts', title: t('people.keys.hosts'), from: 'md', cell: (key) => <Hosts hosts={key.allowedHosts} /> },
  {
    key: 'used',
    title: t('people.keys.lastUsed'),
    from: 'xs',
    cell: (key) => (key.lastUsedAt ? <When at={key.lastUsedAt} /> : t('common.never')),
  },
  {
    key: 'expires',
    title: t('people.keys.expires'),
    from: 'sm',
    cell: (key) => (key.expiresAt ? formatDate(key.expiresAt) : t('common.never')),
  },
];

function Hosts({ hosts }: { hosts: string[] }) {
  return (
    <Text size="sm" className="wrap">
      {hosts.slice(0, 3).join(', ')}
      {hosts.length > 3 && ` ${t('people.keys.moreHosts', { count: hosts.length - 3 })}`}
    </Text>
  );
}

// KeysPage lists the pairs of API keys. A secret key that a browser has sent is said first.
export function KeysPage() {
  const may = useMay('ADMIN');
  return (
    <Page
      title={t('common.nav.keys')}
      description={t('people.keys.about')}
      actions={
        may && (
          <Button component={Link} to="/keys/new" leftSection={<Icon name="plus" size={16} />}>
            {t('people.keys.new')}
          </Button>
        )
      }
    >
      <Needs atLeast="ADMIN">
        <Keys />
        <Stack component="section" aria-label={t('common.tokens.service')} gap="sm">
          <Title order={2} size="h4">
            {t('common.tokens.service')}
          </Title>
          <Text size="sm" c="dimmed">
            {t('common.tokens.serviceAbout')}
          </Text>
          <ServiceTokens />
        </Stack>
      </Needs>
    </Page>
  );
}

function Keys() {
  const navigate = useNavigate();
  const list = usePaged(KeysListDocument, {}, (data) => data.apiKeys);
  const leaked = list.rows.filter((key) => key.leakedAt && key.status === 'ACTIVE');
  return (
    <>
      {leaked.length > 0 && (
        <Alert color="red" variant="filled" icon={<Icon name="warning" />} title={t('people.keys.leakTitle')} role="alert" styles={loud}>
          {leaked.map((key) => (
            <Text size="sm" key={key.id}>
              {t('people.keys.leakOne', { name: key.name, origin: key.leakedOrigin ?? '?' })}{' '}
              <Anchor component={Link} to={`/keys/${key.id}`} inherit c="inherit" td="underline">
                {t('people.keys.leakAct')}
              </Anchor>
            </Text>
          ))}
        </Alert>
      )}
      <DataTable
        label={t('common.nav.keys')}
        columns={columns()}
        list={list}
        rowKey={(key) => key.id}
        onOpen={(key) => void navigate({ to: '/keys/$keyId', params: { keyId: key.id } })}
        empty={
          <Empty
            icon="key"
            title={t('people.keys.none')}
            action={
              <Button component={Link} to="/keys/new">
                {t('people.keys.new')}
              </Button>
            }
          >
            {t('people.keys.noneHelp')}
          </Empty>
        }
      />
    </>
  );
}
