import { Alert, Badge, Button, Group, Loader, Paper, Stack, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useRef } from 'react';
import { useQuery } from 'urql';
import { useLive } from '../../api/live';
import { t } from '../../i18n';
import { Icon } from '../../kit/Icon';
import { JSONView } from '../../kit/JSONView';
import { Markdown } from '../../kit/Markdown';
import { ProblemNotice } from '../../kit/Problem';
import { Status } from '../../kit/Status';
import { Ago } from '../../kit/Time';
import { useMe } from '../../session/Me';
import { ApprovalDecision } from './ApprovalDecision';
import { type ApprovalFieldsFragment, ApprovalsChangedDocument, ApprovalsOneDocument } from './approvals.gql';
import { Countdown } from './Countdown';
import { usePeople } from './Names';
import { Risk } from './Risk';

interface Props {
  id: string;
  // Called after the person has decided here.
  onDecided?: () => void;
  // Whether the panel is on a page of its own, which needs no link to it.
  alone?: boolean;
}

// ApprovalPanel shows what an agent asks, and lets a person decide who may. It follows decisions of others.
export function ApprovalPanel({ id, onDecided, alone }: Props) {
  const [{ data, error }, again] = useQuery({ query: ApprovalsOneDocument, variables: { id } });
  const cursor = useRef<string | null>(null);
  const approval = data?.approval;
  useLive(approval?.status === 'PENDING' ? id : null, {
    document: ApprovalsChangedDocument,
    variables: () => ({ id, after: cursor.current }),
    onData: ({ approvalChanged }) => {
      cursor.current = approvalChanged.cursor;
      if (approvalChanged.approval.status !== 'PENDING') again({ requestPolicy: 'network-only' });
    },
  });
  if (error && !approval) return <ProblemNotice error={error} retry={() => again({ requestPolicy: 'network-only' })} />;
  if (!approval) return <Loader role="status" size="sm" aria-label={t('common.loading')} />;
  return (
    <Paper p="md" style={{ borderLeft: '3px solid var(--mantine-primary-color-filled)' }}>
      <Stack gap="sm">
        <ApprovalHead approval={approval} alone={alone} />
        <ApprovalContent approval={approval} />
        {approval.status === 'PENDING' ? (
          approval.mayDecide ? (
            <ApprovalDecision key={approval.argumentsHash} approval={approval} onDecided={onDecided} />
          ) : (
            <Alert variant="light" color="gray" icon={<Icon name="lock" />}>
              {t('agents.approval.notYours')}
            </Alert>
          )
        ) : (
          <ApprovalOutcome approval={approval} />
        )}
      </Stack>
    </Paper>
  );
}

function ApprovalHead({ approval, alone }: { approval: ApprovalFieldsFragment; alone?: boolean }) {
  return (
    <Group justify="space-between" align="flex-start" gap="xs">
      <Stack gap={4} style={{ minWidth: 0, flex: '1 1 14rem' }}>
        {!alone && (
          <Text fw={600} className="wrap" component={Link} to={`/approvals/${approval.id}`} c="inherit">
            {approval.title}
          </Text>
        )}
        <Group gap="xs">
          <Status value={approval.status} />
          {approval.kind !== 'QUESTION' && <Risk value={approval.risk} />}
          {approval.kind === 'UNKNOWN_EFFECT' && (
            <Badge color="yellow" variant="light" tt="none">
              {t('agents.approval.unknownEffect')}
            </Badge>
          )}
          <Text size="xs" c="dimmed" className="mono wrap">
            {approval.tool}
          </Text>
        </Group>
      </Stack>
      {approval.status === 'PENDING' && <Countdown until={approval.expiresAt} />}
    </Group>
  );
}

function ApprovalContent({ approval }: { approval: ApprovalFieldsFragment }) {
  const { nameOf } = usePeople();
  const deciders = [
    ...(approval.selfApproval ? [t('agents.approval.personOfRun')] : []),
    ...approval.approverIds.map(nameOf),
    ...(approval.approverRole ? [t('agents.approval.roleOrMore', { role: t(`common.role.${approval.approverRole}`) })] : []),
  ];
  return (
    <>
      {approval.kind === 'UNKNOWN_EFFECT' && (
        <Alert color="yellow" variant="light" icon={<Icon name="warning" />}>
          {t('agents.approval.unknownEffectHelp')}
        </Alert>
      )}
      {approval.preview && <Markdown>{approval.preview}</Markdown>}
      {approval.reason && (
        <Text size="sm" c="dimmed" className="wrap">
          {t('agents.approval.reason', { reason: approval.reason })}
        </Text>
      )}
      {approval.kind !== 'QUESTION' && (
        <details>
          <summary>{t('agents.approval.arguments')}</summary>
          <JSONView value={parsed(approval.editedArguments ?? approval.arguments)} label={t('agents.approval.arguments')} />
        </details>
      )}
      <Text size="xs" c="dimmed" className="wrap">
        {t('agents.approval.deciders', { people: deciders.join(', ') || t('common.none') })} · {t('agents.approval.asked')}{' '}
        <Ago at={approval.requestedAt} />
      </Text>
      {approval.slackError && (
        <Text size="xs" c="red" className="wrap">
          {t('agents.approval.slackError', { reason: approval.slackError })}
        </Text>
      )}
    </>
  );
}

function ApprovalOutcome({ approval }: { approval: ApprovalFieldsFragment }) {
  const me = useMe();
  const { nameOf } = usePeople();
  const via = t(`agents.approval.via.${approval.decidedVia ?? 'RULE'}`);
  const who = !approval.decidedBy
    ? t('agents.approval.decidedByRule')
    : approval.decidedBy === me.user.id
      ? t('agents.approval.decidedByYou', { via })
      : t('agents.approval.decidedBy', { person: nameOf(approval.decidedBy), via });
  return (
    <Stack gap={4} role="status">
      {approval.decidedAt && (
        <Text size="sm" className="wrap">
          {who} · <Ago at={approval.decidedAt} />
        </Text>
      )}
      {approval.answer && (
        <Text size="sm" className="wrap" style={{ whiteSpace: 'pre-wrap' }}>
          {t('agents.approval.answerWas', { answer: approval.answer })}
        </Text>
      )}
      {approval.comment && (
        <Text size="sm" className="wrap" style={{ whiteSpace: 'pre-wrap' }}>
          {t('agents.approval.commentWas', { comment: approval.comment })}
        </Text>
      )}
    </Stack>
  );
}

// RunLink leads to the run of an approval, which only its own person has.
export function RunLink({ approval }: { approval: ApprovalFieldsFragment }) {
  if (!approval.selfApproval) return null;
  return (
    <Button component={Link} to={`/agents/${approval.agentId}/runs/${approval.runId}`} variant="default">
      {t('agents.approval.openRun')}
    </Button>
  );
}

// parsed returns the value of a JSON text, or the text if it is none.
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
