import { Button, Group, Loader, NavLink, Stack, Text, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { Link, useNavigate } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { formatAgo, t } from '../../../i18n';
import { confirm } from '../../../kit/confirm';
import { useDeleted, without } from '../../../kit/deletions';
import { Icon } from '../../../kit/Icon';
import { ProblemNotice } from '../../../kit/Problem';
import { useAction } from '../../../kit/useAction';
import { usePaged } from '../../../kit/usePaged';
import { AskConversationsDocument, AskDeleteAllDocument } from './ask.gql';
import { ConversationMenu } from './ConversationMenu';

interface Props {
  // The conversation that is shown.
  current: string | null;
  // Another value reads the list again.
  version: number;
  onOpen: () => void;
  onRenamed: (id: string, title: string) => void;
}

// Conversations is the list of the person's conversations, the one with the newest question first.
export function Conversations({ current, version, onOpen, onRenamed }: Props) {
  const navigate = useNavigate();
  const [typed, setTyped] = useState('');
  const [matching] = useDebouncedValue(typed.trim(), 300);
  const [gone, setGone] = useState(new Set<string>());
  const all = usePaged(AskConversationsDocument, { matching: matching || null }, (data) => data.conversations, { pageSize: 30 });
  const list = without(all, useDeleted());
  const reload = useRef(list.reload);
  reload.current = list.reload;
  useEffect(() => {
    if (version > 0) reload.current();
  }, [version]);
  const removeAll = useAction(AskDeleteAllDocument, { success: (data) => t('search.ask.deletedAll', { count: data.deleteConversations }) });
  const deleteAll = async () => {
    const question = {
      title: t('search.ask.deleteAll'),
      body: t('search.ask.deleteAllHelp'),
      action: t('search.ask.deleteAll'),
      typed: t('search.ask.deleteAllTyped'),
    };
    if (!(await confirm(question)) || !(await removeAll.run({}))) return;
    setGone(new Set([...gone, ...list.rows.map(({ id }) => id)]));
    list.reload();
    void navigate({ to: '/ask', search: {} });
  };
  const rows = list.rows.filter(({ id }) => !gone.has(id));
  return (
    <Stack gap="xs">
      <Button component={Link} to="/ask" variant="default" leftSection={<Icon name="plus" size={16} />} onClick={onOpen}>
        {t('search.ask.new')}
      </Button>
      <TextInput
        size="xs"
        aria-label={t('search.ask.find')}
        placeholder={t('search.ask.find')}
        leftSection={<Icon name="search" size={14} />}
        value={typed}
        onChange={(event) => setTyped(event.currentTarget.value)}
      />
      {list.error && <ProblemNotice error={list.error} retry={list.reload} />}
      {list.loading && <Loader size="sm" aria-label={t('common.loading')} />}
      {!list.loading && rows.length === 0 && !list.error && (
        <Text size="sm" c="dimmed">
          {matching ? t('search.ask.noneFound') : t('search.ask.noneYet')}
        </Text>
      )}
      <Stack component="ul" gap={2} m={0} p={0} style={{ listStyle: 'none' }} aria-label={t('search.ask.conversations')}>
        {rows.map((conversation) => (
          <Group key={conversation.id} component="li" gap={0} wrap="nowrap">
            <NavLink
              component={Link}
              to={`/ask/${conversation.id}`}
              label={conversation.title}
              description={formatAgo(conversation.updatedAt)}
              active={conversation.id === current}
              aria-current={conversation.id === current ? 'page' : undefined}
              onClick={onOpen}
              py={4}
              noWrap
              styles={{ body: { minWidth: 0 }, description: { color: 'var(--mantine-color-dimmed)' } }}
            />
            <ConversationMenu conversation={conversation} onRenamed={(title) => onRenamed(conversation.id, title)} />
          </Group>
        ))}
      </Stack>
      {list.hasMore && (
        <Button size="xs" variant="default" onClick={list.more} loading={list.fetching}>
          {t('common.more')}
        </Button>
      )}
      {rows.length > 1 && (
        <Button size="xs" variant="subtle" color="gray" c="dimmed" onClick={() => void deleteAll()} loading={removeAll.running}>
          {t('search.ask.deleteAll')}
        </Button>
      )}
    </Stack>
  );
}
