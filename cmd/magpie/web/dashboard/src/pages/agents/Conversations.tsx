import { ActionIcon, Button, Group, Menu, Modal, Stack, TextInput } from '@mantine/core';
import { getRouteApi } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { useClient } from 'urql';
import { t } from '../../i18n';
import { confirm } from '../../kit/confirm';
import { type Column, DataTable } from '../../kit/DataTable';
import { deleteLater, useDeleted, without } from '../../kit/deletions';
import { Empty } from '../../kit/Empty';
import { FilterText } from '../../kit/FilterText';
import { Icon } from '../../kit/Icon';
import { TextLink } from '../../kit/links';
import { Ago } from '../../kit/Time';
import { useAction } from '../../kit/useAction';
import { usePaged } from '../../kit/usePaged';
import {
  AgentsConversationsDocument,
  type AgentsConversationsQuery,
  AgentsDeleteConversationDocument,
  AgentsDeleteConversationsDocument,
  AgentsRenameConversationDocument,
} from './runs.gql';

const route = getRouteApi('/shell/agents/$agentId');

type Row = NonNullable<NonNullable<NonNullable<AgentsConversationsQuery['conversations']['edges']>[number]>['node']>;

// Conversations has the person's conversations with an agent.
export function Conversations({ agentId }: { agentId: string }) {
  const navigate = route.useNavigate();
  const { q: matching } = route.useSearch();
  const client = useClient();
  const [renaming, setRenaming] = useState<Row | null>(null);
  const all = usePaged(AgentsConversationsDocument, { agentId, matching: matching ?? null }, (data) => data.conversations);
  const list = without(all, useDeleted());
  const removeAll = useAction(AgentsDeleteConversationsDocument, { success: t('common.deleted') });
  const del = ({ id, title }: Row) => deleteLater(client, AgentsDeleteConversationDocument, { id }, { name: title });
  const delAll = async () => {
    const sure = await confirm({
      title: t('agents.chat.deleteAll'),
      body: t('agents.chat.deleteAllHelp'),
      action: t('common.delete'),
      typed: t('agents.chat.deleteAllWord'),
    });
    if (sure && (await removeAll.run({ agentId }))) list.reload();
  };
  const columns: Column<Row>[] = [
    {
      key: 'title',
      title: t('agents.chat.title'),
      cell: (row) => (
        <TextLink to="/agents/$agentId" params={{ agentId }} search={{ conversation: row.id }} size="sm" c="inherit">
          {row.title}
        </TextLink>
      ),
    },
    { key: 'messages', title: t('agents.chat.messages'), from: 'sm', align: 'right', cell: (row) => row.messageCount },
    { key: 'changed', title: t('common.changed'), from: 'sm', cell: (row) => <Ago at={row.updatedAt} /> },
    {
      key: 'actions',
      title: t('common.actions'),
      align: 'right',
      cell: (row) => (
        <Menu position="bottom-end">
          <Menu.Target>
            <ActionIcon variant="subtle" color="gray" aria-label={`${t('common.actions')}: ${row.title}`}>
              <Icon name="more" />
            </ActionIcon>
          </Menu.Target>
          <Menu.Dropdown>
            <Menu.Item leftSection={<Icon name="edit" size={16} />} onClick={() => setRenaming(row)}>
              {t('agents.chat.rename')}
            </Menu.Item>
            <Menu.Item leftSection={<Icon name="trash" size={16} />} onClick={() => del(row)}>
              {t('common.delete')}
            </Menu.Item>
          </Menu.Dropdown>
        </Menu>
      ),
    },
  ];
  return (
    <Stack>
      <Group justify="space-between" align="flex-end">
        <FilterText
          label={t('agents.chat.find')}
          value={matching ?? ''}
          onChange={(q) => void navigate({ search: (old) => ({ ...old, q }), replace: true })}
        />
        {list.rows.length > 0 && (
          <Button variant="default" onClick={() => void delAll()}>
            {t('agents.chat.deleteAll')}
          </Button>
        )}
      </Group>
      <DataTable
        label={t('agents.tab.conversations')}
        columns={columns}
        list={list}
        rowKey={({ id }) => id}
        onOpen={({ id }) => void navigate({ search: { conversation: id } })}
        empty={
          <Empty icon="ask" title={matching ? t('agents.chat.noneFound') : t('agents.chat.none')}>
            {t('agents.chat.noneHelp')}
          </Empty>
        }
      />
      {renaming && <Rename row={renaming} close={() => setRenaming(null)} />}
    </Stack>
  );
}

function Rename({ row, close }: { row: Row; close: () => void }) {
  const [title, setTitle] = useState(row.title);
  const rename = useAction(AgentsRenameConversationDocument, { success: t('common.saved') });
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (await rename.run({ id: row.id, title })) close();
  };
  return (
    <Modal opened onClose={close} title={t('agents.chat.rename')} closeButtonProps={{ 'aria-label': t('common.close') }}>
      <form onSubmit={submit}>
        <Stack>
          <TextInput
            label={t('agents.chat.title')}
            value={title}
            onChange={(event) => setTitle(event.currentTarget.value)}
            maxLength={300}
            required
            data-autofocus
          />
          <Group justify="flex-end">
            <Button type="submit" loading={rename.running}>
              {t('common.save')}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
