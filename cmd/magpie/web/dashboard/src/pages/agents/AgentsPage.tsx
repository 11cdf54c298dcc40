import { Badge, Button, Group, Tabs, Text } from '@mantine/core';
import { getRouteApi, Link } from '@tanstack/react-router';
import { t } from '../../i18n';
import { type Column, DataTable } from '../../kit/DataTable';
import { Empty } from '../../kit/Empty';
import { Icon } from '../../kit/Icon';
import { Page } from '../../kit/Page';
import { Ago } from '../../kit/Time';
import { usePaged } from '../../kit/usePaged';
import { May, useMay } from '../../session/Me';
import { type AgentFieldsFragment, AgentsListDocument } from './agents.gql';
import { Templates } from './Templates';

const route = getRouteApi('/shell/agents');

// AgentsPage has the agents of the workspace, and the templates to make them from.
export function AgentsPage() {
  const { tab = 'agents' } = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <Page
      title={t('agents.title')}
      description={t('agents.description')}
      actions={
        <May atLeast="EDITOR">
          <Button component={Link} to="/agents/new" leftSection={<Icon name="plus" size={16} />}>
            {t('agents.new')}
          </Button>
        </May>
      }
    >
      <Tabs
        value={tab}
        onChange={(next) => void navigate({ search: next === 'templates' ? { tab: 'templates' } : {} })}
        keepMounted={false}
      >
        <Tabs.List mb="md">
          <Tabs.Tab value="agents">{t('agents.title')}</Tabs.Tab>
          <Tabs.Tab value="templates">{t('agents.templates')}</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="agents">
          <Agents />
        </Tabs.Panel>
        <Tabs.Panel value="templates">
          <Templates />
        </Tabs.Panel>
      </Tabs>
    </Page>
  );
}

function Agents() {
  const navigate = route.useNavigate();
  const isEditor = useMay('EDITOR');
  const list = usePaged(AgentsListDocument, {}, (data) => data.agents);
  const columns: Column<AgentFieldsFragment>[] = [
    {
      key: 'name',
      title: t('common.name'),
      cell: (agent) => (
        <>
          <Text component={Link} to={`/agents/${agent.id}`} size="sm" fw={500} c="inherit">
            {agent.name}
          </Text>
          {agent.description && (
            <Text size="xs" c="dimmed" lineClamp={2}>
              {agent.description}
            </Text>
          )}
        </>
      ),
    },
    {
      key: 'tools',
      title: t('agents.tools'),
      from: 'sm',
      cell: (agent) => (
        <Badge variant="default" tt="none">
          {t('agents.toolCount', { count: agent.tools.length })}
        </Badge>
      ),
    },
    { key: 'model', title: t('agents.model'), from: 'md', cell: (agent) => agent.model ?? t('agents.modelDefault') },
    { key: 'changed', title: t('common.changed'), from: 'sm', cell: (agent) => <Ago at={agent.updatedAt} /> },
  ];
  return (
    <DataTable
      label={t('agents.title')}
      columns={columns}
      list={list}
      rowKey={({ id }) => id}
      onOpen={({ id }) => void navigate({ to: `/agents/${id}` })}
      empty={
        <Empty
          icon="agent"
          title={t('agents.none')}
          action={
            isEditor && (
              <Group>
                <Button component={Link} to="/agents/new">
                  {t('agents.new')}
                </Button>
                <Button variant="default" onClick={() => void navigate({ search: { tab: 'templates' } })}>
                  {t('agents.seeTemplates')}
                </Button>
              </Group>
            )
          }
        >
          {isEditor ? t('agents.noneHelp') : t('agents.noneViewer')}
        </Empty>
      }
    />
  );
}
