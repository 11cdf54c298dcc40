import { Badge, Button, Group, Loader, Stack, Text, TextInput } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { useQuery } from 'urql';
import { problemOf } from '../../api/errors';
import { formatDate, t } from '../../i18n';
import { confirm } from '../../kit/confirm';
import { failed } from '../../kit/notify';
import { ProblemNotice } from '../../kit/Problem';
import { useAction } from '../../kit/useAction';
import { useMe } from '../../session/Me';
import { begin, end } from '../../session/session';
import { WorkspaceAccountDocument, WorkspaceCreateDocument, WorkspaceLeaveDocument } from './account.gql';
import { Section } from './Section';

// openWorkspace opens a session in another workspace. The page begins anew, so that nothing of the former one is shown.
async function openWorkspace(id: string) {
  try {
    await begin(`/api/v1/auth/workspaces/${id}/switch`, {});
    window.location.assign('/');
  } catch (error) {
    failed(error);
  }
}

// Workspaces has the workspaces that the person is a member of.
export function Workspaces() {
  const me = useMe();
  const navigate = useNavigate();
  const [{ data, error }, again] = useQuery({ query: WorkspaceAccountDocument });
  const { run: leave } = useAction(WorkspaceLeaveDocument);
  const leaving = async () => {
    const { name } = me.workspace;
    const question = {
      title: t('workspace.leaveName', { name }),
      body: t('workspace.leaveAbout'),
      action: t('workspace.leave'),
      typed: name,
    };
    if (!(await confirm(question)) || !(await leave({}))) return;
    await end().catch(() => undefined); // the session has ended with the membership
    await navigate({ to: '/sign-in', search: { said: 'left' } });
  };
  return (
    <Section title={t('workspace.workspaces')}>
      {error && !data && <ProblemNotice error={error} retry={() => again({ requestPolicy: 'network-only' })} />}
      {!data && !error && <Loader aria-label={t('common.loading')} />}
      <Stack component="ul" gap="xs" m={0} p={0} style={{ listStyle: 'none' }}>
        {data?.myWorkspaces.map(({ id, name, role, joinedAt, current }) => (
          <Group component="li" key={id} justify="space-between" wrap="nowrap">
            <div style={{ minWidth: 0 }}>
              <Text size="sm" fw={500} component="div" className="wrap">
                {name}{' '}
                {current && (
                  <Badge variant="light" tt="none" size="sm">
                    {t('workspace.thisWorkspace')}
                  </Badge>
                )}
              </Text>
              <Text size="xs" c="dimmed">
                {t(`common.role.${role}`)} · {t('workspace.since', { date: formatDate(joinedAt) })}
              </Text>
            </div>
            {current ? (
              <Button size="xs" variant="default" onClick={leaving} aria-label={t('workspace.leaveName', { name })}>
                {t('workspace.leave')}
              </Button>
            ) : (
              <Button size="xs" variant="default" onClick={() => void openWorkspace(id)} aria-label={t('common.switchWorkspace', { name })}>
                {t('common.open')}
              </Button>
            )}
          </Group>
        ))}
      </Stack>
      {data && (data.signUpAllowed ? <Create /> : <Text size="sm">{t('workspace.createClosed')}</Text>)}
    </Section>
  );
}

function Create() {
  const [name, setName] = useState('');
  const { run, running, error } = useAction(WorkspaceCreateDocument, { quiet: true });
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const made = await run({ input: { name } });
    if (made) await openWorkspace(made.createWorkspace.id);
  };
  return (
    <form onSubmit={submit}>
      <Group align="flex-end">
        <TextInput
          label={t('workspace.create')}
          description={t('workspace.createAbout')}
          placeholder={t('common.name')}
          required
          maxLength={200}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          error={error ? problemOf(error).message : undefined}
          style={{ flex: '1 1 14rem' }}
        />
        <Button type="submit" variant="default" loading={running}>
          {t('common.create')}
        </Button>
      </Group>
    </form>
  );
}
