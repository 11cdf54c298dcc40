import { Alert, Button, Loader, Stack, Text } from '@mantine/core';
import { useEffect } from 'react';
import { useQuery } from 'urql';
import { t } from '../../../i18n';
import { Empty } from '../../../kit/Empty';
import { Icon } from '../../../kit/Icon';
import { Nearby } from '../../../kit/Nearby';
import { ProblemNotice } from '../../../kit/Problem';
import { useMay } from '../../../session/Me';
import { FollowUp } from './Answer';
import { type Answer, type Cited, followUpOf, isOpen, type Source } from './answers';
import { AskModelsDocument } from './ask.gql';
import { Failed, Older, Question, Stored, Written } from './Messages';
import type { Conversation } from './useConversation';

interface Props {
  conversationId: string | null;
  conversation: Conversation;
  // The answer that is being written, or was written just now.
  answer: Answer | undefined;
  onAsk: (question: string) => void;
  onCite: (source: Source, passage?: Cited) => void;
}

// Thread is a conversation: its stored messages, and the answer that is being written.
export function Thread({ conversationId, conversation, answer, onAsk, onCite }: Props) {
  const { messages, loading, error, change } = conversation;
  const last = messages.at(-1);
  // The conversation has an answer as soon as it ends with one that was not there when the question was put.
  const isStored = answer !== undefined && !isOpen(answer) && last?.role === 'ASSISTANT' && last.id !== answer.after;
  const written = isStored ? undefined : answer;
  const asked = written && last?.role === 'USER' ? last : null;
  const question = written ? (written.question ?? asked?.content ?? null) : null;
  // What was written of an answer that failed is in the conversation, but not that it failed.
  const failed = isStored && answer.state === 'failed' ? answer : undefined;
  const shown = asked ? messages.slice(0, -1) : messages;
  // After a reload of the page this tab still knows those of the last answer.
  const followUp =
    answer?.state === 'done'
      ? answer.followUp
      : !answer && last?.role === 'ASSISTANT'
        ? followUpOf(conversationId, messages.at(-2)?.content)
        : [];
  // A conversation is shown from its end, and a new question from the question on.
  const isEmpty = messages.length === 0;
  // biome-ignore lint/correctness/useExhaustiveDependencies: another conversation begins at its end, too
  useEffect(() => {
    if (!isEmpty) window.scrollTo({ top: document.documentElement.scrollHeight, behavior: 'instant' });
  }, [conversationId, isEmpty]);
  const key = answer?.key;
  useEffect(() => {
    if (key) [...document.querySelectorAll('[data-question]')].at(-1)?.scrollIntoView({ block: 'start', behavior: 'smooth' });
  }, [key]);
  if (error && messages.length === 0) return <ProblemNotice error={error} retry={() => void conversation.reload()} />;
  return (
    <Stack gap="lg">
      <NoModel />
      {loading && <Loader aria-label={t('common.loading')} />}
      {!conversationId && !answer && (
        <Empty icon="ask" title={t('search.ask.start')}>
          {t('search.ask.startHelp')}
        </Empty>
      )}
      <Older conversation={conversation} />
      {conversationId &&
        shown.map((message) => (
          <Nearby key={message.id}>
            <Stored message={message} conversationId={conversationId} onCite={onCite} onChange={(part) => change(message.id, part)} />
          </Nearby>
        ))}
      {question && <Question text={question} />}
      {written && <Written answer={written} onCite={onCite} onAsk={onAsk} />}
      {failed && <Failed answer={failed} onAsk={onAsk} />}
      {followUp.length > 0 && <FollowUp questions={followUp} onAsk={onAsk} />}
      {!written && last?.role === 'USER' && !loading && (
        <Alert variant="light" color="yellow" icon={<Icon name="info" />} title={t('search.ask.unanswered')}>
          <Button size="xs" variant="default" onClick={() => onAsk(last.content)}>
            {t('common.retry')}
          </Button>
        </Alert>
      )}
    </Stack>
  );
}

// NoModel says that answers are quotes, while no model is configured.
function NoModel() {
  const [{ data }] = useQuery({ query: AskModelsDocument });
  const isAdmin = useMay('ADMIN');
  if (!data || data.chatModels.length > 0) return null;
  return (
    <Alert variant="light" icon={<Icon name="info" />} title={t('search.ask.quotes')}>
      <Text size="sm">{isAdmin ? t('search.ask.quotesAdmin') : t('search.ask.quotesHelp')}</Text>
    </Alert>
  );
}
