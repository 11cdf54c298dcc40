import { Paper, Text } from '@mantine/core';
import { getRouteApi } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { useQuery } from 'urql';
import { formatNumber, t } from '../../i18n';
import { Facts } from '../../kit/Facts';
import { ButtonLink } from '../../kit/links';
import { Page } from '../../kit/Page';
import { ProblemNotice } from '../../kit/Problem';
import { Status } from '../../kit/Status';
import { Ago } from '../../kit/Time';
import { useToolTitles } from './Chat';
import { type Follower, followRun, useLiveRun } from './liveRun';
import { RunView } from './RunView';
import { ended } from './runState';
import { AgentsRunDocument } from './runs.gql';

const route = getRouteApi('/shell/agents/$agentId/runs/$runId');

// RunPage shows one run from its beginning: a past one as it went, one that goes on as it goes.
export function RunPage() {
  const { agentId, runId } = route.useParams();
  const titleOf = useToolTitles();
  const [{ data, error }, again] = useQuery({ query: AgentsRunDocument, variables: { id: runId, agentId } });
  const [follower, setFollower] = useState<Follower | null>(null);
  useEffect(() => setFollower(followRun(runId)), [runId]);
  const live = useLiveRun(follower);
  const isOver = ended(live.state);
  useEffect(() => {
    if (isOver) again({ requestPolicy: 'network-only' });
  }, [isOver, again]);
  const run = data?.run;
  const above = [
    { label: t('agents.title'), to: '/agents' },
    { label: run?.agent.name ?? '…', to: `/agents/${agentId}` },
  ];
  return (
    <Page
      title={t('agents.run.title')}
      above={above}
      actions={
        run && (
          <ButtonLink to="/agents/$agentId" params={{ agentId }} search={{ conversation: run.conversationId }} variant="default">
            {t('agents.run.conversation')}
          </ButtonLink>
        )
      }
    >
      {error && !data && <ProblemNotice error={error} />}
      {run && (
        <>
          <Paper p="sm" bg="var(--mantine-color-default-hover)">
            <Text size="sm" className="wrap" style={{ whiteSpace: 'pre-wrap' }}>
              {run.message}
            </Text>
          </Paper>
          <Facts
            columns={5}
            items={[
              { label: t('common.state'), value: <Status value={run.status} /> },
              { label: t('agents.run.begun'), value: <Ago at={run.createdAt} /> },
              { label: t('agents.model'), value: run.model || t('common.none') },
              { label: t('agents.run.calls'), value: formatNumber(run.toolCalls) },
              { label: t('agents.run.tokens'), value: formatNumber(run.promptTokens + run.completionTokens) },
            ]}
          />
        </>
      )}
      {!error && <RunView live={live} titleOf={titleOf} />}
    </Page>
  );
}
