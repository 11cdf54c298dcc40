import { ActionIcon, Button, Group, Menu, Modal, Stack, TextInput } from '@mantine/core';
import { useNavigate, useRouterState } from '@tanstack/react-router';
import { useState } from 'react';
import { useClient } from 'urql';
import { problemOf } from '../../../api/errors';
import type { ExportFormat } from '../../../gql/schema';
import { t } from '../../../i18n';
import { deleteLater } from '../../../kit/deletions';
import { Icon } from '../../../kit/Icon';
import { failed } from '../../../kit/notify';
import { useAction } from '../../../kit/useAction';
import { AskDeleteDocument, AskExportDocument, AskRenameDocument } from './ask.gql';

interface Props {
  conversation: { id: string; title: string };
  onRenamed: (title: string) => void;
}

// save hands a text to the browser as a file.
function save(name: string, type: string, content: string) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = name;
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

// ConversationMenu renames, exports and deletes a conversation.
export function ConversationMenu({ conversation, onRenamed }: Props) {
  const client = useClient();
  const [renaming, setRenaming] = useState(false);
  const navigate = useNavigate();
  const path = `/ask/${conversation.id}`;
  const isShown = useRouterState({ select: (state) => state.location.pathname === path });
  const exported = async (format: ExportFormat) => {
    const { data, error } = await client
      .query(AskExportDocument, { id: conversation.id, format }, { requestPolicy: 'network-only' })
      .toPromise();
    if (data) save(data.exportConversation.fileName, data.exportConversation.mediaType, data.exportConversation.content);
    else failed(error);
  };
  const deleteIt = () => {
    const undone = () => {
      if (isShown) void navigate({ to: path });
    };
    deleteLater(client, AskDeleteDocument, { id: conversation.id }, { name: conversation.title, undone });
    if (isShown) void navigate({ to: '/ask', search: {} });
  };
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon variant="subtle" color="gray" aria-label={t('search.ask.actions', { title: conversation.title })}>
            <Icon name="more" />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item leftSection={<Icon name="edit" size={16} />} onClick={() => setRenaming(true)}>
            {t('search.ask.rename')}
          </Menu.Item>
          <Menu.Item leftSection={<Icon name="download" size={16} />} onClick={() => void exported('MARKDOWN')}>
            {t('search.ask.exportMarkdown')}
          </Menu.Item>
          <Menu.Item leftSection={<Icon name="download" size={16} />} onClick={() => void exported('JSON')}>
            {t('search.ask.exportJSON')}
          </Menu.Item>
          <Menu.Divider />
          <Menu.Item leftSection={<Icon name="trash" size={16} />} onClick={deleteIt}>
            {t('common.delete')}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <Modal
        opened={renaming}
        onClose={() => setRenaming(false)}
        title={t('search.ask.rename')}
        closeButtonProps={{ 'aria-label': t('common.close') }}
      >
        {renaming && (
          <RenameForm
            conversation={conversation}
            onDone={(title) => {
              setRenaming(false);
              onRenamed(title);
            }}
          />
        )}
      </Modal>
    </>
  );
}

function RenameForm({ conversation, onDone }: { conversation: Props['conversation']; onDone: (title: string) => void }) {
  const [title, setTitle] = useState(conversation.title);
  const rename = useAction(AskRenameDocument, { success: t('common.saved'), quiet: true });
  return (
    <form
      onSubmit={async (event) => {
        event.preventDefault();
        const data = await rename.run({ id: conversation.id, title: title.trim() });
        if (data) onDone(data.renameConversation.title);
      }}
    >
      <Stack>
        <TextInput
          data-autofocus
          required
          maxLength={300}
          label={t('common.name')}
          value={title}
          error={rename.error ? problemOf(rename.error).message || t('common.offline') : undefined}
          onChange={(event) => setTitle(event.currentTarget.value)}
        />
        <Group justify="flex-end">
          <Button type="submit" loading={rename.running}>
            {t('common.save')}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
