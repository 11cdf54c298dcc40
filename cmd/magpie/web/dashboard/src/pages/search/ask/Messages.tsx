import { Button, Group, Loader, Paper, Stack, Text } from '@mantine/core';
import { t } from '../../../i18n';
import { Copy } from '../../../kit/Copy';
import { useKeptPlace } from '../../../kit/Nearby';
import { ProblemNotice } from '../../../kit/Problem';
import { Ago } from '../../../kit/Time';
import { Announced, AnswerText } from './Answer';
import { type Answer, type Cited, isOpen, type Source } from './answers';
import { Feedback } from './Feedback';
import { sourcesOf } from './sources';
import type { Conversation, Message } from './useConversation';

// Question is what the person asked.
export function Question({ text }: { text: string }) {
  return (
    <Paper
      px="md"
      py="xs"
      radius="lg"
      bg="var(--mantine-color-default-hover)"
      maw="42rem"
      style={{ alignSelf: 'flex-end', scrollMarginTop: 72 }}
      data-question
    >
      <Text size="sm" className="wrap" style={{ whiteSpace: 'pre-wrap' }}>
        {text}
      </Text>
    </Paper>
  );
}

interface StoredProps {
  message: Message;
  conversationId: string;
  onCite: (source: Source, passage?: Cited) => void;
  onChange: (part: Partial<Message>) => void;
}

// Stored is a message of the conversation.
export function Stored({ message, conversationId, onCite, onChange }: StoredProps) {
  if (message.role === 'USER') return <Question text={message.content} />;
  return (
    <AnswerText text={message.content} sources={sourcesOf(message)} onCite={onCite}>
      <Group gap={4}>
        <Copy text={message.content} label={t('search.ask.copy')} />
        <Feedback message={message} conversationId={conversationId} onChange={(feedback) => onChange({ feedback })} />
        <Text size="xs" c="dimmed" component="span">
          <Ago at={message.createdAt} />
        </Text>
      </Group>
    </AnswerText>
  );
}

interface WrittenProps {
  answer: Answer;
  onCite: (source: Source, passage?: Cited) => void;
  onAsk: (question: string) => void;
}

// Written is the answer that is being written.
export function Written({ answer, onCite, onAsk }: WrittenProps) {
  const { state, text } = answer;
  return (
    <Stack gap="sm" aria-busy={isOpen(answer)}>
      {text && <AnswerText text={text} sources={answer.sources} onCite={onCite} />}
      {isOpen(answer) && (
        <Group gap="xs">
          <Loader size="xs" type="dots" />
          <Text size="sm" c="dimmed" role="status">
            {state === 'waiting' ? t('search.ask.waiting') : text ? t('search.ask.writing') : t('search.ask.searching')}
          </Text>
        </Group>
      )}
      {isOpen(answer) && <Announced text={text} />}
      {state === 'stopped' && (
        <Text size="sm" c="dimmed" role="status">
          {t('search.ask.stopped')}
        </Text>
      )}
      {state === 'failed' && <Failed answer={answer} onAsk={onAsk} />}
    </Stack>
  );
}

// Failed says why an answer failed.
export function Failed({ answer: { problem, question }, onAsk }: Pick<WrittenProps, 'answer' | 'onAsk'>) {
  return <ProblemNotice error={problem} title={t('search.ask.failed')} retry={question ? () => onAsk(question) : undefined} />;
}

// Older reads older messages. What is read stays in its place.
export function Older({ conversation: { messages, older, readOlder } }: { conversation: Conversation }) {
  const keepPlace = useKeptPlace(messages[0]?.id);
  if (!older) return null;
  const read = () => {
    keepPlace();
    readOlder();
  };
  return (
    <Button size="xs" variant="default" onClick={read} style={{ alignSelf: 'center' }}>
      {t('search.ask.older')}
    </Button>
  );
}
