import { Button, Group, Loader, Menu, Tabs } from '@mantine/core';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useQuery } from 'urql';
import { t } from '../../i18n';
import { confirm } from '../../kit/confirm';
import { Icon } from '../../kit/Icon';
import { Page } from '../../kit/Page';
import { ProblemNotice } from '../../kit/Problem';
import { useAction } from '../../kit/useAction';
import { useMay } from '../../session/Me';
import { type AgentFieldsFragment, AgentsDeleteDocument, AgentsOneDocument } from './agents.gql';
import { Chat } from './Chat';
import { Conversations } from './Conversations';
import { Grants } from './Grants';
import { Memories } from './Memories';
import { Runs } from './Runs';
import { agentTabs } from './search';
import { TemplateForm } from './TemplateForm';

const route = getRouteApi('/shell/agents/$agentId');

// AgentPage is an agent: talk to it, and look at what it did, knows and may do.
export function AgentPage() {
  const { agentId } = route.useParams();
  const { tab = 'chat' } = route.useSearch();
  const navigate = route.useNavigate();
  const [{ data, error }, again] = useQuery({ query: AgentsOneDocument, variables: { id: agentId } });
  if (error && !data) {
    return (
      <Page title={t('agents.title')} above={[{ label: t('agents.title'), to: '/agents' }]}>
        <ProblemNotice error={error} retry={() => again({ requestPolicy: 'network-only' })} />
      </Page>
    );
  }
  if (!data) return <Loader role="status" aria-label={t('common.loading')} />;
  const { agent } = data;
  return (
    <Page
      title={agent.name}
      description={agent.description}
      above={[{ label: t('agents.title'), to: '/agents' }]}
      actions={<AgentActions agent={agent} />}
    >
      <Tabs
        value={tab}
        onChange={(next) => void navigate({ search: next === 'chat' ? {} : { tab: next as (typeof agentTabs)[number] } })}
        keepMounted={false}
      >
        <Tabs.List mb="md">
          {agentTabs.map((name) => (
            <Tabs.Tab key={name} value={name}>
              {t(`agents.tab.${name}`)}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value="chat">
          <Chat agent={agent} />
        </Tabs.Panel>
        <Tabs.Panel value="conversations">
          <Conversations agentId={agent.id} />
        </Tabs.Panel>
        <Tabs.Panel value="runs">
          <Runs agentId={agent.id} />
        </Tabs.Panel>
        <Tabs.Panel value="memories">
          <Memories agentId={agent.id} />
        </Tabs.Panel>
        <Tabs.Panel value="permissions">
          <Grants agentId={agent.id} />
        </Tabs.Panel>
      </Tabs>
    </Page>
  );
}

function AgentActions({ agent }: { agent: AgentFieldsFragment }) {
  const isEditor = useMay('EDITOR');
  const navigate = useNavigate();
  const [template, setTemplate] = useState(false);
  const remove = useAction(AgentsDeleteDocument, { success: t('common.deleted') });
  if (!isEditor) return null;
  const del = async () => {
    const sure = await confirm({ title: t('agents.delete'), body: t('agents.deleteHelp'), action: t('common.delete'), typed: agent.name });
    if (!sure || !(await remove.run({ id: agent.id }))) return;
    await navigate({ to: '/agents' });
  };
  return (
    <Group gap="xs">
      <Button component={Link} to={`/agents/${agent.id}/edit`} variant="default" leftSection={<Icon name="edit" size={16} />}>
        {t('common.edit')}
      </Button>
      <Menu position="bottom-end">
        <Menu.Target>
          <Button variant="default" px="xs" aria-label={t('common.actions')}>
            <Icon name="more" />
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item leftSection={<Icon name="copy" size={16} />} onClick={() => setTemplate(true)}>
            {t('agents.template.fromAgent')}
          </Menu.Item>
          <Menu.Item leftSection={<Icon name="trash" size={16} />} onClick={() => void del()}>
            {t('agents.delete')}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {template && <TemplateForm template={null} from={agent} close={() => setTemplate(false)} />}
    </Group>
  );
}
