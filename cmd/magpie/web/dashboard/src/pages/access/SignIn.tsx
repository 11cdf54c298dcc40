import { Alert, Anchor, Button, PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useState } from 'react';
import { t } from '../../i18n';
import { Icon } from '../../kit/Icon';
import { begin } from '../../session/session';
import { ByProvider, Door, Failure, NoMethods } from './Door';
import { type Access, localPath } from './methods';
import { useSubmit } from './useSubmit';

const route = getRouteApi('/sign-in');

export function SignIn() {
  const { next, said } = route.useSearch();
  const { access, error } = route.useLoaderData();
  return (
    <Door title={t('access.signIn')}>
      {said && (
        <Alert color="blue" variant="light" icon={<Icon name="info" />} role="status">
          {t(`access.said.${said}`)}
        </Alert>
      )}
      {access ? <Ways access={access} next={next} /> : <NoMethods error={error} />}
    </Door>
  );
}

function Ways({ access, next }: { access: Access; next?: string }) {
  return (
    <>
      {access.password && <ByPassword next={next} />}
      <ByProvider access={access} next={next} alone={!access.password} />
      {access.signUp && (
        <Text size="sm">
          {t('access.noAccount')}{' '}
          <Anchor component={Link} to="/sign-up" inherit underline="always">
            {t('access.signUp')}
          </Anchor>
        </Text>
      )}
      {access.password && (
        <Text size="xs" c="dimmed">
          {t('access.forgotten')}
        </Text>
      )}
    </>
  );
}

function ByPassword({ next }: { next?: string }) {
  const navigate = route.useNavigate();
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const { onSubmit, running, error, fieldError, wait } = useSubmit(['email', 'password'], async () => {
    await begin('/api/v1/auth/login', { email, password });
    await navigate({ href: localPath(next) });
  });
  return (
    <form onSubmit={onSubmit}>
      <Stack>
        <Failure error={error} wait={wait} />
        <TextInput
          label={t('access.email')}
          name="email"
          type="email"
          autoComplete="username"
          required
          value={email}
          onChange={(event) => setEmail(event.currentTarget.value)}
          error={fieldError('email')}
        />
        <PasswordInput
          label={t('access.password')}
          name="password"
          autoComplete="current-password"
          required
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
          error={fieldError('password')}
          visibilityToggleButtonProps={{ 'aria-label': t('access.showPassword') }}
        />
        <Button type="submit" loading={running} disabled={wait > 0}>
          {t('access.signIn')}
        </Button>
      </Stack>
    </form>
  );
}
