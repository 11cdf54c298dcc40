import { Anchor, Button, Group, Paper, Stack, Text, Textarea } from '@mantine/core';
import { getRouteApi, Link } from '@tanstack/react-router';
import { type FormEvent, type KeyboardEvent, useEffect, useRef, useState } from 'react';
import { useQuery } from 'urql';
import { t } from '../../i18n';
import { Icon } from '../../kit/Icon';
import { Markdown } from '../../kit/Markdown';
import { Nearby } from '../../kit/Nearby';
import { ProblemNotice } from '../../kit/Problem';
import type { Source } from '../search/ask/answers';
import { Older } from '../search/ask/Messages';
import { sourcesOf } from '../search/ask/sources';
import { type Message, useConversation } from '../search/ask/useConversation';
import { usePassageDrawer } from '../search/usePassageDrawer';
import { type AgentFieldsFragment, AgentsChoicesDocument } from './agents.gql';
import { beginRun, type Follower, followRun, useLiveRun } from './liveRun';
import { Citation, RunView } from './RunView';
import { ended } from './runState';

const route = getRouteApi('/shell/agents/$agentId');

// useToolTitles returns the title of a tool by its name.
export function useToolTitles(): (name: string) => string {
  const [{ data }] = useQuery({ query: AgentsChoicesDocument, requestPolicy: 'cache-first' });
  return (name) => data?.agentTools.find((tool) => tool.name === name)?.title ?? name;
}

// Chat is a conversation with an agent. The address has the conversation and its last run, so that a reload goes on with it.
export function Chat({ agent }: { agent: AgentFieldsFragment }) {
  const { run, conversation } = route.useSearch();
  const navigate = route.useNavigate();
  const titleOf = useToolTitles();
  const [follower, setFollower] = useState<Follower | null>(null);
  const [sent, setSent] = useState('');
  const live = useLiveRun(follower);
  const conversationId = conversation ?? live.state.conversationId ?? null;
  const stored = useConversation(conversationId);
  const { messages, error, reload } = stored;
  const { cite, drawer } = usePassageDrawer();
  // A run of the address that this page did not begin.
  useEffect(() => {
    setFollower((old) => {
      if (!run) return old && old.view.state.runId !== null ? null : old;
      return old?.view.state.runId === run ? old : followRun(run);
    });
  }, [run]);
  const isOver = ended(live.state);
  useEffect(() => {
    if (isOver) void reload();
  }, [isOver, reload]);
  const send = (text: string) => {
    setSent(text);
    const next = beginRun({ agentId: agent.id, message: text, conversationId }, (runId) => {
      const id = next.view.state.conversationId ?? undefined;
      void navigate({ search: { run: runId, conversation: id }, replace: conversationId === null });
    });
    setFollower(next);
  };
  const shown = messages.filter(({ role, runId }) => !(role === 'ASSISTANT' && follower && runId === live.state.runId));
  const isStored = shown.at(-1)?.role === 'USER' && shown.at(-1)?.content === sent;
  const isBusy = follower !== null && !isOver && live.connection !== 'failed';
  const isNew = shown.length === 0 && !follower;
  return (
    <Stack maw="52rem" mx="auto">
      {(conversationId || follower) && (
        <Group justify="space-between">
          <Text size="sm" c="dimmed" className="wrap">
            {stored.title}
          </Text>
          <Button
            size="xs"
            variant="default"
            leftSection={<Icon name="plus" size={14} />}
            onClick={() => {
              setFollower(null);
              setSent('');
              void navigate({ search: {} });
            }}
          >
            {t('agents.chat.new')}
          </Button>
        </Group>
      )}
      {error !== null && messages.length === 0 && <ProblemNotice error={error} retry={() => void reload()} />}
      {isNew && (
        <Paper p="lg">
          {agent.startMessage ? <Markdown>{agent.startMessage}</Markdown> : <Text c="dimmed">{t('agents.chat.begin')}</Text>}
        </Paper>
      )}
      <Older conversation={stored} />
      {shown.map((message) => (
        <Nearby key={message.id}>
          <MessageView message={message} agentId={agent.id} onCite={cite} />
        </Nearby>
      ))}
      {drawer}
      {follower && sent && !isStored && <Said text={sent} />}
      {follower && <RunView live={live} titleOf={titleOf} />}
      <Composer busy={isBusy} onSend={send} />
    </Stack>
  );
}

function Said({ text }: { text: string }) {
  return (
    <Paper p="sm" bg="var(--mantine-color-default-hover)" ml="auto" maw="90%">
      <Text size="sm" className="wrap" style={{ whiteSpace: 'pre-wrap' }}>
        {text}
      </Text>
    </Paper>
  );
}

function MessageView({ message, agentId, onCite }: { message: Message; agentId: string; onCite: (source: Source) => void }) {
  if (message.role === 'USER') return <Said text={message.content} />;
  const sources = sourcesOf(message);
  return (
    <Stack gap={4} align="flex-start">
      <Markdown cite={(n) => <Citation n={n} sources={sources} onCite={onCite} />}>{message.content}</Markdown>
      {message.runId && (
        <Anchor component={Link} to={`/agents/${agentId}/runs/${message.runId}`} size="xs">
          {t('agents.chat.steps')}
        </Anchor>
      )}
    </Stack>
  );
}

// Composer takes the next message. Enter sends it, Shift and Enter begin a new line.
function Composer({ busy, onSend }: { busy: boolean; onSend: (text: string) => void }) {
  const [text, setText] = useState('');
  const form = useRef<HTMLFormElement>(null);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const message = text.trim();
    if (!message || busy) return;
    setText('');
    onSend(message);
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    form.current?.requestSubmit();
  };
  return (
    <form ref={form} onSubmit={submit}>
      <Group align="flex-end" gap="xs" wrap="nowrap">
        <Textarea
          label={t('agents.chat.message')}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          onKeyDown={onKey}
          maxLength={16_000}
          autosize
          minRows={1}
          maxRows={10}
          style={{ flex: 1 }}
        />
        <Button type="submit" disabled={busy || text.trim() === ''}>
          {t('agents.chat.send')}
        </Button>
      </Group>
    </form>
  );
}
