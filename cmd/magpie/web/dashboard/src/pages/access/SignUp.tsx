import { Alert, Anchor, Button, Stack, Text, TextInput } from '@mantine/core';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useState } from 'react';
import { t } from '../../i18n';
import { Icon } from '../../kit/Icon';
import { begin } from '../../session/session';
import { ByProvider, Door, Failure, NewPassword, NoMethods } from './Door';
import { useSubmit } from './useSubmit';

const route = getRouteApi('/sign-up');

// SignUp makes a workspace and its owner, where the operator allows it.
export function SignUp() {
  const { access, error } = route.useLoaderData();
  return (
    <Door title={t('access.signUp')} description={access?.signUp ? t('access.signUpAbout') : undefined}>
      {access === null && <NoMethods error={error} />}
      {access?.signUp && <Fields />}
      {access && !access.signUp && (
        <Alert color="blue" variant="light" icon={<Icon name="info" />} role="status">
          {t('access.signUpClosed')}
        </Alert>
      )}
      {access && !access.signUp && <ByProvider access={access} alone />}
      <Text size="sm">
        {t('access.haveAccount')}{' '}
        <Anchor component={Link} to="/sign-in" inherit underline="always">
          {t('access.signIn')}
        </Anchor>
      </Text>
    </Door>
  );
}

function Fields() {
  const navigate = route.useNavigate();
  const [input, setInput] = useState({ workspace: '', name: '', email: '', password: '' });
  const { onSubmit, running, error, fieldError, wait } = useSubmit(Object.keys(input), async () => {
    await begin('/api/v1/auth/sign-up', input);
    await navigate({ to: '/' });
  });
  const field = (name: 'workspace' | 'name' | 'email') => ({
    name,
    required: true,
    value: input[name],
    onChange: (event: { currentTarget: { value: string } }) => setInput({ ...input, [name]: event.currentTarget.value }),
    error: fieldError(name),
  });
  return (
    <form onSubmit={onSubmit}>
      <Stack>
        <Failure error={error} wait={wait} />
        <TextInput
          label={t('access.workspace')}
          description={t('access.workspaceAbout')}
          autoComplete="organization"
          {...field('workspace')}
        />
        <TextInput label={t('access.yourName')} autoComplete="name" {...field('name')} />
        <TextInput label={t('access.email')} type="email" autoComplete="username" {...field('email')} />
        <NewPassword
          label={t('access.password')}
          value={input.password}
          onChange={(password) => setInput({ ...input, password })}
          error={fieldError('password')}
        />
        <Button type="submit" loading={running} disabled={wait > 0}>
          {t('access.signUp')}
        </Button>
      </Stack>
    </form>
  );
}
