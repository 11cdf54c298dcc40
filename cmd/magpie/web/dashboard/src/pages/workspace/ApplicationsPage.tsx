import { Anchor, List, Tabs, Text } from '@mantine/core';
import { getRouteApi, Link } from '@tanstack/react-router';
import { t } from '../../i18n';
import { CodeBlock } from '../../kit/Copy';
import { Page } from '../../kit/Page';
import { May } from '../../session/Me';
import { Section } from './Section';
import { SessionList } from './Sessions';
import type { ClientName } from './search';

const route = getRouteApi('/shell/applications');

const address = `${window.location.origin}/mcp`;
const withKey = { Authorization: 'Bearer svc_sk_...' };
const json = (value: unknown) => JSON.stringify(value, null, 2);

// The programs that the page has lines for, with the name of the file that takes them.
const clients = {
  claudeCode: {
    title: 'Claude Code',
    file: null,
    person: `claude mcp add --transport http magpie ${address}`,
    key: `claude mcp add --transport http magpie ${address} --header "Authorization: Bearer svc_sk_..."`,
  },
  cursor: {
    title: 'Cursor',
    file: '.cursor/mcp.json',
    person: json({ mcpServers: { magpie: { url: address } } }),
    key: json({ mcpServers: { magpie: { url: address, headers: withKey } } }),
  },
  vscode: {
    title: 'VS Code',
    file: '.vscode/mcp.json',
    person: json({ servers: { magpie: { type: 'http', url: address } } }),
    key: json({ servers: { magpie: { type: 'http', url: address, headers: withKey } } }),
  },
  local: {
    title: 'Claude Desktop, Zed',
    file: null,
    person: null,
    key: json({
      mcpServers: { magpie: { command: 'magpie', args: ['mcp', '--url', window.location.origin], env: { MAGPIE_API_KEY: 'svc_sk_...' } } },
    }),
  },
} satisfies Record<ClientName, { title: string; file: string | null; person: string | null; key: string }>;

// ApplicationsPage has the programs that the person has connected, and how to connect one.
export function ApplicationsPage() {
  return (
    <Page title={t('common.nav.applications')} description={t('workspace.applicationsAbout')} narrow>
      <Section title={t('workspace.connected')} about={t('workspace.connectedAbout')}>
        <SessionList keep={({ application }) => application !== ''} none={t('workspace.noApplications')} />
      </Section>
      <Connect />
    </Page>
  );
}

function Connect() {
  const { client = 'claudeCode' } = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <Section title={t('workspace.connect')} about={t('workspace.connectAbout')}>
      <Text size="sm" fw={500}>
        {t('workspace.mcpAddress')}
      </Text>
      <CodeBlock label={t('workspace.mcpAddress')}>{address}</CodeBlock>
      <Tabs
        value={client}
        onChange={(value) => void navigate({ search: { client: value as ClientName }, replace: true })}
        keepMounted={false}
      >
        <Tabs.List>
          {Object.entries(clients).map(([name, { title }]) => (
            <Tabs.Tab key={name} value={name}>
              {title}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {Object.entries(clients).map(([name, { title, file, person, key }]) => (
          <Tabs.Panel key={name} value={name} pt="sm">
            {person !== null && (
              <>
                <Text size="sm" mb={4}>
                  {file ? t('workspace.asYouIn', { file }) : t('workspace.asYou')}
                </Text>
                <CodeBlock label={t('workspace.linesPerson', { name: title })}>{person}</CodeBlock>
              </>
            )}
            <Text size="sm" mt={person === null ? 0 : 'sm'} mb={4}>
              {person === null ? t('workspace.byCommand') : t('workspace.byKey')}
            </Text>
            <CodeBlock label={t('workspace.linesKey', { name: title })}>{key}</CodeBlock>
          </Tabs.Panel>
        ))}
      </Tabs>
      <List size="sm" spacing={4}>
        <List.Item>{t('workspace.others')}</List.Item>
        <List.Item>
          {t('workspace.keyHint')}{' '}
          <May atLeast="ADMIN">
            <Anchor component={Link} to="/keys" inherit underline="always">
              {t('common.nav.keys')}
            </Anchor>
          </May>
        </List.Item>
      </List>
    </Section>
  );
}
