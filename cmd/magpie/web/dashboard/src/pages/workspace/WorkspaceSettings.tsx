import { Button, Group, Stack, Text, TextInput } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { problemOf } from '../../api/errors';
import { t } from '../../i18n';
import { confirm } from '../../kit/confirm';
import { useAction } from '../../kit/useAction';
import { May, useMe } from '../../session/Me';
import { end } from '../../session/session';
import { WorkspaceDeleteDocument, WorkspaceRenameDocument } from './account.gql';
import { Section } from './Section';

// WorkspaceSettings has what administrators and owners may do with the workspace as a whole.
export function WorkspaceSettings() {
  const { workspace } = useMe();
  const [name, setName] = useState(workspace.name);
  const { run, running, error } = useAction(WorkspaceRenameDocument, { success: t('common.saved'), quiet: true });
  return (
    <Section id="workspace" title={t('workspace.settings', { name: workspace.name })}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void run({ input: { name } });
        }}
      >
        <Stack gap="sm">
          <TextInput
            label={t('workspace.workspaceName')}
            required
            maxLength={200}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            error={error ? problemOf(error).message : undefined}
          />
          <Group>
            <Button type="submit" loading={running} disabled={name === workspace.name}>
              {t('workspace.rename')}
            </Button>
          </Group>
        </Stack>
      </form>
      <May atLeast="OWNER">
        <Delete />
      </May>
    </Section>
  );
}

function Delete() {
  const { workspace } = useMe();
  const navigate = useNavigate();
  const { run, running } = useAction(WorkspaceDeleteDocument);
  const remove = async () => {
    const { name } = workspace;
    const question = {
      title: t('workspace.deleteName', { name }),
      body: t('workspace.deleteAbout'),
      action: t('workspace.delete'),
      typed: name,
    };
    if (!(await confirm(question)) || !(await run({ input: { name } }))) return;
    await end().catch(() => undefined); // the session has ended with the workspace
    await navigate({ to: '/sign-in', search: { said: 'deleted' } });
  };
  return (
    <Stack gap="xs" mt="sm">
      <Text size="sm" className="wrap">
        {t('workspace.deleteAbout')}
      </Text>
      <Group>
        <Button variant="default" loading={running} onClick={remove}>
          {t('workspace.delete')}
        </Button>
      </Group>
    </Stack>
  );
}
