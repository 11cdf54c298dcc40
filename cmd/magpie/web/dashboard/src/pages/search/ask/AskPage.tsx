import { Box, Button, Drawer, Group, Stack } from '@mantine/core';
import { useDisclosure, useMediaQuery } from '@mantine/hooks';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { t } from '../../../i18n';
import { Icon } from '../../../kit/Icon';
import { Page } from '../../../kit/Page';
import { useAction } from '../../../kit/useAction';
import { usePassageDrawer } from '../usePassageDrawer';
import { ask, isOpen, resumeStored, stop, useAnswers } from './answers';
import { AskStopDocument } from './ask.gql';
import { Composer } from './Composer';
import { ConversationMenu } from './ConversationMenu';
import { Conversations } from './Conversations';
import { Thread } from './Thread';
import { useConversation } from './useConversation';

// AskPage answers questions from the documents. Without a conversation in the address the next question begins one.
export function AskPage() {
  const { conversationId: id = null } = useParams({ strict: false }) as { conversationId?: string };
  const { q } = useSearch({ from: '/shell/ask' });
  const navigate = useNavigate();
  const wide = useMediaQuery('(min-width: 62em)', undefined, { getInitialValueInEffect: false });
  const [drawer, { open, close }] = useDisclosure();
  const [collection, setCollection] = useState<string>();
  const { cite, drawer: passage } = usePassageDrawer();
  const [version, setVersion] = useState(0);
  // The answer with which this page began a conversation.
  const [own, setOwn] = useState<string | null>(null);
  const conversation = useConversation(id);
  const answers = useAnswers();
  // A failure has no consequence: the answer ends a little later by itself.
  const end = useAction(AskStopDocument, { quiet: true });
  const answer = id ? answers.findLast((one) => one.conversationId === id) : answers.find((one) => one.key === own && !one.conversationId);
  const begun = answers.find((one) => one.key === own)?.conversationId ?? null;
  useEffect(resumeStored, []);
  useEffect(() => {
    if (!begun) return;
    setOwn(null);
    setVersion((n) => n + 1);
    if (!id) void navigate({ to: `/ask/${begun}`, search: {}, replace: true, resetScroll: false });
  }, [begun, id, navigate]);
  const put = (message: string) => {
    const key = ask(
      { message, conversationId: id ?? undefined, collection: id ? undefined : collection },
      conversation.messages.at(-1)?.id ?? null,
    );
    if (!id) setOwn(key);
  };
  // A question in the address, as the commands make it, is put once.
  const taken = useRef(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only the address starts it
  useEffect(() => {
    if (!q || id || taken.current) return;
    taken.current = true;
    put(q);
    void navigate({ to: '/ask', search: {}, replace: true });
  }, [q, id]);
  // The conversation has the whole answer when it is written.
  const { reload } = conversation;
  const state = answer?.state;
  useEffect(() => {
    if (state === 'done' || state === 'failed') {
      void reload();
      setVersion((n) => n + 1);
    }
  }, [state, reload]);
  const title = id ? (conversation.title ?? t('search.ask.title')) : t('search.ask.title');
  const renamed = () => {
    void reload();
    setVersion((n) => n + 1);
  };
  const list = <Conversations current={id} version={version} onOpen={close} onRenamed={renamed} />;
  return (
    <Page
      title={title}
      actions={
        <>
          {!wide && (
            <Button variant="default" leftSection={<Icon name="ask" size={16} />} onClick={open} aria-haspopup="dialog">
              {t('search.ask.conversations')}
            </Button>
          )}
          {id && !wide && (
            <Button component={Link} to="/ask" variant="default" leftSection={<Icon name="plus" size={16} />}>
              {t('search.ask.new')}
            </Button>
          )}
          {id && conversation.title !== null && <ConversationMenu conversation={{ id, title: conversation.title }} onRenamed={renamed} />}
        </>
      }
    >
      <Group align="flex-start" wrap="nowrap" gap="xl">
        {wide && (
          <Box component="section" w={250} style={{ flex: 'none' }} aria-label={t('search.ask.conversations')}>
            {list}
          </Box>
        )}
        <Stack style={{ flex: 1, minWidth: 0, minHeight: 'calc(100vh - 12rem)' }} justify="space-between">
          <Thread conversationId={id} conversation={conversation} answer={answer} onAsk={put} onCite={cite} />
          <Composer
            busy={answer !== undefined && isOpen(answer)}
            canChoose={!id}
            collection={collection}
            onCollection={setCollection}
            onAsk={put}
            onStop={() => answer && stop(answer.key, (answerId) => void end.run({ answerId }))}
          />
        </Stack>
      </Group>
      <Drawer
        opened={drawer && !wide}
        onClose={close}
        title={t('search.ask.conversations')}
        closeButtonProps={{ 'aria-label': t('common.close') }}
        size="20rem"
      >
        {list}
      </Drawer>
      {passage}
    </Page>
  );
}
