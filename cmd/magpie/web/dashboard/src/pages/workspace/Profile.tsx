import { Button, Group, PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import { type FormEvent, useRef, useState } from 'react';
import { problemOf } from '../../api/errors';
import { t } from '../../i18n';
import { ProblemNotice } from '../../kit/Problem';
import { useAction } from '../../kit/useAction';
import { useMe } from '../../session/Me';
import { WorkspaceChangePasswordDocument, WorkspaceUpdateProfileDocument } from './account.gql';
import { Section } from './Section';

export function Profile() {
  const me = useMe();
  const [name, setName] = useState(me.user.name);
  const { run, running, error } = useAction(WorkspaceUpdateProfileDocument, { success: t('common.saved'), quiet: true });
  return (
    <Section title={t('workspace.profile')}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void run({ input: { name } });
        }}
      >
        <Stack gap="sm">
          <TextInput label={t('workspace.email')} value={me.user.email} readOnly description={t('workspace.emailAbout')} />
          <TextInput
            label={t('common.name')}
            autoComplete="name"
            required
            maxLength={200}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            error={error ? problemOf(error).message : undefined}
          />
          <Group>
            <Button type="submit" loading={running} disabled={name === me.user.name}>
              {t('common.save')}
            </Button>
          </Group>
        </Stack>
      </form>
    </Section>
  );
}

export function Password() {
  const { hasPassword } = useMe();
  return (
    <Section title={t('workspace.password')} about={hasPassword ? t('workspace.passwordAbout') : undefined}>
      {hasPassword ? <PasswordForm /> : <Text size="sm">{t('workspace.passwordNone')}</Text>}
    </Section>
  );
}

function PasswordForm() {
  const me = useMe();
  const form = useRef<HTMLFormElement>(null);
  const [currentPassword, setCurrent] = useState('');
  const [newPassword, setNew] = useState('');
  const { run, running, error } = useAction(WorkspaceChangePasswordDocument, { success: t('workspace.passwordChanged'), quiet: true });
  const problem = error ? problemOf(error) : null;
  // A wrong password has no field.
  const wrong = problem?.code === 'invalid_credentials' ? 'currentPassword' : problem?.field?.replace(/^input\./, '');
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (await run({ input: { currentPassword, newPassword } })) {
      setCurrent('');
      setNew('');
    } else form.current?.querySelector<HTMLInputElement>('input[type="password"]')?.focus();
  };
  const toggle = { 'aria-label': t('workspace.showPassword') };
  return (
    <form ref={form} onSubmit={submit}>
      <Stack gap="sm">
        {error && wrong !== 'currentPassword' && wrong !== 'newPassword' && <ProblemNotice error={error} />}
        <input type="text" hidden name="username" autoComplete="username" value={me.user.email} readOnly />
        <PasswordInput
          label={t('workspace.currentPassword')}
          autoComplete="current-password"
          required
          value={currentPassword}
          onChange={(event) => setCurrent(event.currentTarget.value)}
          error={wrong === 'currentPassword' ? problem?.message : undefined}
          visibilityToggleButtonProps={toggle}
        />
        <PasswordInput
          label={t('workspace.newPassword')}
          description={t('workspace.passwordRules')}
          autoComplete="new-password"
          required
          value={newPassword}
          onChange={(event) => setNew(event.currentTarget.value)}
          error={wrong === 'newPassword' ? problem?.message : undefined}
          visibilityToggleButtonProps={toggle}
        />
        <Group>
          <Button type="submit" loading={running}>
            {t('workspace.changePassword')}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
