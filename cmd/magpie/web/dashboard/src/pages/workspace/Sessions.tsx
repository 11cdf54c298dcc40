import { Badge, Button, Group, Loader, Stack, Text } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useQuery } from 'urql';
import { formatDate, t } from '../../i18n';
import { confirm } from '../../kit/confirm';
import { failed } from '../../kit/notify';
import { ProblemNotice } from '../../kit/Problem';
import { Ago } from '../../kit/Time';
import { useAction } from '../../kit/useAction';
import { end } from '../../session/session';
import { WorkspaceEndSessionDocument, WorkspaceSessionsDocument, type WorkspaceSessionsQuery } from './account.gql';
import { deviceOf } from './device';
import { Section } from './Section';

type Session = WorkspaceSessionsQuery['mySessions'][number];

// Sessions has the devices on which the person is signed in, in all workspaces.
export function Sessions() {
  const navigate = useNavigate();
  const everywhere = async () => {
    if (!(await confirm({ title: t('workspace.endAll'), body: t('workspace.endAllAbout'), action: t('workspace.endAll') }))) return;
    try {
      await end(true);
    } catch (error) {
      failed(error);
    }
    await navigate({ to: '/sign-in', search: { said: 'everywhere' } });
  };
  return (
    <Section title={t('workspace.sessions')} about={t('workspace.sessionsAbout')}>
      <SessionList keep={({ application }) => application === ''} none={t('common.none')} />
      <Group>
        <Button variant="default" onClick={everywhere}>
          {t('workspace.endAll')}
        </Button>
      </Group>
    </Section>
  );
}

// SessionList shows those of the person's sessions that keep wants, each with a way to end it.
export function SessionList({ keep, none }: { keep: (session: Session) => boolean; none: string }) {
  const [{ data, error }, again] = useQuery({ query: WorkspaceSessionsDocument });
  const { run, running } = useAction(WorkspaceEndSessionDocument, { success: t('workspace.sessionEnded') });
  if (error && !data) return <ProblemNotice error={error} retry={() => again({ requestPolicy: 'network-only' })} />;
  if (!data) return <Loader aria-label={t('common.loading')} />;
  const sessions = data.mySessions.filter(keep);
  if (sessions.length === 0) return <Text size="sm">{none}</Text>;
  const name = (session: Session) => session.application || deviceOf(session.userAgent);
  const stop = async (session: Session) => {
    if (session.current) {
      await end().catch(failed);
      return;
    }
    if (session.application) {
      const question = {
        title: t('workspace.disconnect', { name: session.application }),
        body: t('workspace.disconnectAbout'),
        action: t('workspace.end'),
      };
      if (!(await confirm(question))) return;
    }
    if (await run({ id: session.id })) again({ requestPolicy: 'network-only' });
  };
  return (
    <Stack component="ul" gap="xs" m={0} p={0} style={{ listStyle: 'none' }}>
      {sessions.map((session) => (
        <Group component="li" key={session.id} justify="space-between" wrap="nowrap" gap="sm">
          <div style={{ minWidth: 0 }}>
            <Text size="sm" fw={500} component="div" className="wrap">
              {name(session)}{' '}
              {session.current && (
                <Badge variant="light" tt="none" size="sm">
                  {t('workspace.thisSession')}
                </Badge>
              )}
            </Text>
            <Text size="xs" c="dimmed" component="div" className="wrap">
              {data.myWorkspaces.find(({ id }) => id === session.workspaceId)?.name} · {session.address} · {t('workspace.lastUsed')}{' '}
              <Ago at={session.lastUsedAt} /> · {t('workspace.since', { date: formatDate(session.createdAt) })}
            </Text>
          </div>
          <Button
            size="xs"
            variant="default"
            disabled={running}
            onClick={() => void stop(session)}
            aria-label={`${session.current ? t('common.signOut') : t('workspace.end')}: ${name(session)}`}
          >
            {session.current ? t('common.signOut') : t('workspace.end')}
          </Button>
        </Group>
      ))}
    </Stack>
  );
}
