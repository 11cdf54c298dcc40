import { Alert, Anchor, Badge, Button, Code, Group, List, Loader, Paper, Stack, Text, Tooltip } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { formatNumber, t, tValue } from '../../i18n';
import { Icon } from '../../kit/Icon';
import { JSONView } from '../../kit/JSONView';
import { Markdown } from '../../kit/Markdown';
import { ProblemNotice } from '../../kit/Problem';
import { useAction } from '../../kit/useAction';
import type { Source } from '../search/ask/answers';
import { usePassageDrawer } from '../search/usePassageDrawer';
import { ApprovalPanel } from './ApprovalPanel';
import type { LiveRun } from './liveRun';
import { type CallPart, ended, type Part, type RunState } from './runState';
import { AgentsCancelRunDocument } from './runs.gql';

// RunView shows a run as it goes on: its steps, the calls of tools, what it asks people, and the answer.
export function RunView({ live, titleOf }: { live: LiveRun; titleOf: (tool: string) => string }) {
  const { state, connection, problem } = live;
  const { cite, drawer } = usePassageDrawer();
  return (
    <Stack gap="sm">
      {drawer}
      {state.parts.map((part, n) => (
        <RunPart key={n} part={part} state={state} titleOf={titleOf} onCite={cite} />
      ))}
      {connection === 'failed' && problem !== null && <ProblemNotice error={problem} />}
      {state.error && <RunFailure error={state.error} />}
      <Progress live={live} />
      {state.phase === 'completed' && <Sources state={state} onCite={cite} />}
    </Stack>
  );
}

interface PartProps {
  part: Part;
  state: RunState;
  titleOf: (tool: string) => string;
  onCite: (source: Source) => void;
}

function RunPart({ part, state, titleOf, onCite }: PartProps) {
  switch (part.kind) {
    case 'step':
      return (
        <Text size="xs" c="dimmed">
          {t('agents.run.step', { number: part.number })} · {tValue(`agents.run.step.${part.status}`, part.status)}
        </Text>
      );
    case 'call':
      return <Call call={part} titleOf={titleOf} />;
    default:
      return <Markdown cite={(n) => <Citation n={n} sources={state.sources} onCite={onCite} />}>{part.text}</Markdown>;
  }
}

// Citation opens what the n-th source of an answer says. While the answer is written, its sources are not known yet.
export function Citation({ n, sources, onCite }: { n: number; sources: Source[]; onCite: (source: Source) => void }) {
  const source = sources[n - 1];
  if (!source) return <span>[{n}]</span>;
  return (
    <Tooltip label={source.title}>
      <Anchor
        component="button"
        type="button"
        onClick={() => onCite(source)}
        aria-label={t('agents.run.source', { n, title: source.title })}
      >
        [{n}]
      </Anchor>
    </Tooltip>
  );
}

function Sources({ state, onCite }: { state: RunState; onCite: (source: Source) => void }) {
  return (
    <>
      {state.sources.length > 0 && (
        <Paper p="sm">
          <Text size="sm" fw={600}>
            {t('agents.run.sources')}
          </Text>
          <List type="ordered" size="sm" spacing={8} mt={4}>
            {state.sources.map((source) => (
              <List.Item key={source.id} className="wrap">
                <Anchor component="button" type="button" size="sm" ta="left" mih={24} onClick={() => onCite(source)}>
                  {source.title}
                </Anchor>
              </List.Item>
            ))}
          </List>
        </Paper>
      )}
      {state.usage && (
        <Text size="xs" c="dimmed">
          {t('agents.run.usage', {
            total: formatNumber(state.usage.totalTokens),
            prompt: formatNumber(state.usage.promptTokens),
            completion: formatNumber(state.usage.completionTokens),
          })}
        </Text>
      )}
    </>
  );
}

// Call is a call of a tool, folded, with what it asks people.
function Call({ call, titleOf }: { call: CallPart; titleOf: (tool: string) => string }) {
  const result = call.result;
  return (
    <Stack gap="xs">
      <Paper p="xs" component="details">
        <Group component="summary" gap="xs" wrap="nowrap" style={{ cursor: 'pointer', display: 'list-item' }}>
          <Text span size="sm" fw={500} className="wrap">
            {titleOf(call.tool)}
          </Text>{' '}
          <CallState call={call} />
        </Group>
        <Stack gap="xs" mt="xs">
          {call.params && (
            <>
              <Text size="xs" c="dimmed">
                {t('agents.run.params')} <span className="mono">{call.tool}</span>
              </Text>
              <JSONView value={call.params} label={`${t('agents.run.params')} ${call.tool}`} />
            </>
          )}
          {result && (
            <>
              <Text size="xs" c="dimmed">
                {t('agents.run.result')}
              </Text>
              <Code
                block
                tabIndex={0}
                aria-label={t('agents.run.result')}
                style={{ maxHeight: '20rem', overflow: 'auto', whiteSpace: 'pre-wrap' }}
              >
                {result.message}
              </Code>
            </>
          )}
        </Stack>
      </Paper>
      {call.auth && (
        <Alert color="yellow" variant="light" icon={<Icon name="lock" />} title={t('agents.run.auth', { name: call.auth.name })}>
          <Stack gap="xs" align="flex-start">
            <Text size="sm">{call.auth.authorizationUrl ? t('agents.run.authHelp') : t('agents.run.authOther')}</Text>
            {call.auth.authorizationUrl ? (
              <Button component="a" href={call.auth.authorizationUrl} size="xs" rightSection={<Icon name="external" size={14} />}>
                {t('agents.run.connect')}
              </Button>
            ) : (
              <Anchor component={Link} to={`/integrations/${call.auth.integrationId}`} size="sm">
                {t('agents.run.openIntegration')}
              </Anchor>
            )}
          </Stack>
        </Alert>
      )}
      {call.approvals.map(({ id }) => (
        <ApprovalPanel key={id} id={id} />
      ))}
    </Stack>
  );
}

function CallState({ call }: { call: CallPart }) {
  const [color, label] = call.result
    ? call.result.success
      ? (['green', t('agents.run.callDone')] as const)
      : (['red', t('agents.run.callFailed')] as const)
    : call.approvals.length > 0
      ? (['yellow', t('agents.run.callAsks')] as const)
      : (['blue', t('agents.run.callRuns')] as const);
  return (
    <Badge variant="light" color={color} tt="none">
      {label}
    </Badge>
  );
}

// RunFailure says in words why a run has ended without a whole answer.
export function RunFailure({ error: { code, message, requestId } }: { error: NonNullable<LiveRun['state']['error']> }) {
  return <ProblemNotice error={[{ message, extensions: { code, requestId } }]} title={t('agents.run.failed')} />;
}

function Progress({ live: { state, connection } }: { live: LiveRun }) {
  const cancel = useAction(AgentsCancelRunDocument);
  if (ended(state) || connection === 'failed') return <div role="status" />;
  const text =
    connection === 'waiting'
      ? t('common.live.waiting')
      : state.phase === 'waiting'
        ? t('agents.run.waiting', { count: state.waitingFor })
        : state.resumed
          ? t('agents.run.resumed')
          : t('agents.run.running');
  return (
    <Group gap="sm">
      {state.phase !== 'waiting' && <Loader size="xs" aria-hidden />}
      <Text size="sm" role="status">
        {text}
      </Text>
      {state.runId && (
        <Button
          size="xs"
          variant="default"
          leftSection={<Icon name="stop" size={14} />}
          loading={cancel.running}
          onClick={() => void cancel.run({ id: state.runId as string })}
        >
          {t('agents.run.cancel')}
        </Button>
      )}
    </Group>
  );
}
