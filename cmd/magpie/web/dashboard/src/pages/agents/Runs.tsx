import { Text } from '@mantine/core';
import { Link, useNavigate } from '@tanstack/react-router';
import { formatDuration, formatNumber, t } from '../../i18n';
import { type Column, DataTable } from '../../kit/DataTable';
import { Empty } from '../../kit/Empty';
import { Status } from '../../kit/Status';
import { Ago } from '../../kit/Time';
import { usePaged } from '../../kit/usePaged';
import { useWhileVisible } from '../../kit/useSoon';
import { type AgentRunFieldsFragment, AgentsRunsDocument } from './runs.gql';
import { useRunTurns } from './useRunTurns';

const seconds = (run: AgentRunFieldsFragment) =>
  run.finishedAt ? (new Date(run.finishedAt).getTime() - new Date(run.createdAt).getTime()) / 1000 : null;

// Runs has the person's runs of an agent.
export function Runs({ agentId }: { agentId: string }) {
  const navigate = useNavigate();
  const list = usePaged(AgentsRunsDocument, { agentId }, (data) => data.runs);
  useRunTurns(
    list.rows.filter(({ finishedAt }) => !finishedAt).map(({ id }) => id),
    list.reload,
  );
  // Runs may begin in another window.
  useWhileVisible(list.reload, 10_000);
  const columns: Column<AgentRunFieldsFragment>[] = [
    {
      key: 'message',
      title: t('agents.chat.message'),
      cell: (run) => (
        <>
          <Text component={Link} to={`/agents/${agentId}/runs/${run.id}`} size="sm" c="inherit" lineClamp={2}>
            {run.message}
          </Text>
          {run.error && (
            <Text size="xs" c="dimmed">
              {run.error}
            </Text>
          )}
        </>
      ),
    },
    { key: 'status', title: t('common.state'), cell: (run) => <Status value={run.status} /> },
    { key: 'calls', title: t('agents.run.calls'), from: 'md', align: 'right', cell: (run) => formatNumber(run.toolCalls) },
    {
      key: 'tokens',
      title: t('agents.run.tokens'),
      from: 'md',
      align: 'right',
      cell: (run) => formatNumber(run.promptTokens + run.completionTokens),
    },
    {
      key: 'time',
      title: t('agents.run.duration'),
      from: 'md',
      align: 'right',
      cell: (run) => {
        const span = seconds(run);
        return span === null ? '–' : formatDuration(span);
      },
    },
    { key: 'begun', title: t('agents.run.begun'), from: 'sm', cell: (run) => <Ago at={run.createdAt} /> },
  ];
  return (
    <DataTable
      label={t('agents.tab.runs')}
      columns={columns}
      list={list}
      rowKey={({ id }) => id}
      onOpen={({ id }) => void navigate({ to: `/agents/${agentId}/runs/${id}` })}
      empty={
        <Empty icon="play" title={t('agents.run.none')}>
          {t('agents.run.noneHelp')}
        </Empty>
      }
    />
  );
}
