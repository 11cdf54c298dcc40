import { Button, Group, List, Modal, Stack, Text, Title } from '@mantine/core';
import { useState } from 'react';
import { formatNumber, t, tValue } from '../../i18n';
import { type Column, DataTable } from '../../kit/DataTable';
import { Empty } from '../../kit/Empty';
import { Facts } from '../../kit/Facts';
import { ButtonLink } from '../../kit/links';
import { Markdown } from '../../kit/Markdown';
import { Status } from '../../kit/Status';
import { Ago, When } from '../../kit/Time';
import { useAction } from '../../kit/useAction';
import { usePaged } from '../../kit/usePaged';
import { useWhileVisible } from '../../kit/useSoon';
import { useMe } from '../../session/Me';
import {
  type AutomationFieldsFragment,
  AutomationsCancelDocument,
  AutomationsReplayDocument,
  AutomationsRunsDocument,
  type AutomationRunFieldsFragment as Run,
} from './automations.gql';

// AutomationRuns has what an automation did with each event, and why it skipped some.
export function AutomationRuns({ automation, mayRun }: { automation: AutomationFieldsFragment; mayRun: boolean }) {
  const [opened, setOpened] = useState<string | null>(null);
  const list = usePaged(AutomationsRunsDocument, { automationId: automation.id }, (data) => data.automationRuns);
  const open = list.rows.find(({ id }) => id === opened);
  const isGoingOn = list.rows.some(({ status }) => status === 'QUEUED' || status === 'RUNNING');
  useWhileVisible(list.reload, isGoingOn ? 2000 : 10_000);
  const columns: Column<Run>[] = [
    {
      key: 'title',
      title: t('agents.auto.event'),
      cell: (run) => (
        <>
          <Text size="sm">{run.title}</Text>
          {run.reason && (
            <Text size="xs" c="dimmed">
              {run.reason}
            </Text>
          )}
        </>
      ),
    },
    { key: 'status', title: t('common.state'), cell: (run) => <Status value={run.status} /> },
    { key: 'tokens', title: t('agents.run.tokens'), from: 'md', align: 'right', cell: (run) => formatNumber(run.tokens) },
    { key: 'at', title: t('agents.run.begun'), from: 'sm', cell: (run) => <Ago at={run.createdAt} /> },
    {
      key: 'open',
      title: t('common.details'),
      align: 'right',
      cell: (run) => (
        <Button size="xs" variant="default" onClick={() => setOpened(run.id)}>
          {t('common.open')}
        </Button>
      ),
    },
  ];
  return (
    <Stack>
      <Group justify="flex-end">
        <Button variant="default" size="xs" onClick={list.reload} loading={list.fetching}>
          {t('agents.auto.reload')}
        </Button>
      </Group>
      <DataTable
        label={t('agents.tab.runs')}
        columns={columns}
        list={list}
        rowKey={({ id }) => id}
        onOpen={({ id }) => setOpened(id)}
        empty={
          <Empty icon="automation" title={t('agents.run.none')}>
            {t('agents.auto.noRuns')}
          </Empty>
        }
      />
      {open && <Details run={open} automation={automation} mayRun={mayRun} close={() => setOpened(null)} reload={list.reload} />}
    </Stack>
  );
}

interface DetailProps {
  run: Run;
  automation: AutomationFieldsFragment;
  mayRun: boolean;
  close: () => void;
  reload: () => void;
}

function Details({ run, automation, mayRun, close, reload }: DetailProps) {
  const me = useMe();
  const replay = useAction(AutomationsReplayDocument, { success: t('agents.auto.started') });
  const cancel = useAction(AutomationsCancelDocument, { success: t('agents.auto.canceled') });
  const isOpen = ['QUEUED', 'RUNNING', 'WAITING'].includes(run.status);
  // The run of the agent belongs to the member as whom it ran.
  const isOwn = automation.runAs === 'OWNER' && automation.ownerId === me.user.id;
  return (
    <Modal opened onClose={close} size="lg" title={run.title} closeButtonProps={{ 'aria-label': t('common.close') }}>
      <Stack>
        <Facts
          items={[
            { label: t('common.state'), value: <Status value={run.status} /> },
            { label: t('agents.run.begun'), value: <When at={run.startedAt} /> },
            { label: t('agents.auto.ended'), value: <When at={run.finishedAt} /> },
            { label: t('agents.auto.why'), value: run.reason },
            {
              label: t('agents.auto.errorClass'),
              value: run.errorClass ? tValue(`agents.auto.errorClass.${run.errorClass}`, run.errorClass) : null,
            },
            { label: t('agents.run.tokens'), value: formatNumber(run.tokens) },
            { label: t('agents.auto.retries'), value: run.retries > 0 ? formatNumber(run.retries) : null },
          ]}
        />
        {run.deliveries.length > 0 && (
          <div>
            <Title order={3} size="h6">
              {t('agents.auto.delivery')}
            </Title>
            <List size="sm">
              {run.deliveries.map((one, n) => (
                <List.Item key={n} className="wrap">
                  {tValue(`agents.auto.delivery.${one.kind}`, one.kind)} {one.target} ·{' '}
                  {tValue(`agents.auto.deliveryStatus.${one.status}`, one.status)}
                  {one.error && ` · ${one.error}`}
                </List.Item>
              ))}
            </List>
          </div>
        )}
        {run.output && (
          <div>
            <Title order={3} size="h6">
              {t('agents.auto.output')}
            </Title>
            <Markdown>{run.output}</Markdown>
          </div>
        )}
        <Group>
          {run.agentRunId && isOwn && (
            <ButtonLink to="/agents/$agentId/runs/$runId" params={{ agentId: automation.agentId, runId: run.agentRunId }} variant="default">
              {t('agents.chat.steps')}
            </ButtonLink>
          )}
          {mayRun && !isOpen && (
            <Button
              variant="default"
              loading={replay.running}
              onClick={async () => {
                if (!(await replay.run({ id: run.id }))) return;
                reload();
                close();
              }}
            >
              {t('agents.auto.replay')}
            </Button>
          )}
          {isOpen && (
            <Button
              variant="default"
              loading={cancel.running}
              onClick={async () => {
                if (await cancel.run({ id: run.id })) reload();
              }}
            >
              {t('agents.run.cancel')}
            </Button>
          )}
        </Group>
      </Stack>
    </Modal>
  );
}
