import { Anchor, Button, Stack, Text } from '@mantine/core';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { t } from '../../i18n';
import { begin, RequestError } from '../../session/session';
import { Door, Failure, NewPassword } from './Door';
import { useFragment } from './fragment';
import { useSubmit } from './useSubmit';

// ResetPassword sets a password by a link that an administrator made.
export function ResetPassword() {
  const token = useFragment().get('token');
  return (
    <Door title={t('access.reset')} description={token ? t('access.resetAbout') : undefined}>
      {token ? <Fields token={token} /> : <Text size="sm">{t('access.noToken')}</Text>}
      <Text size="sm">
        <Anchor component={Link} to="/sign-in" inherit underline="always">
          {t('access.signIn')}
        </Anchor>
      </Text>
    </Door>
  );
}

function Fields({ token }: { token: string }) {
  const navigate = useNavigate();
  const [password, setPassword] = useState('');
  const { onSubmit, running, error, fieldError, wait } = useSubmit(['password'], async () => {
    await begin('/api/v1/auth/reset-password', { token, password });
    await navigate({ to: '/' });
  });
  return (
    <form onSubmit={onSubmit}>
      <Stack>
        <Failure error={error} wait={wait} />
        {error instanceof RequestError && error.code === 'not_found' && <Text size="sm">{t('access.resetUsed')}</Text>}
        <NewPassword value={password} onChange={setPassword} error={fieldError('password')} />
        <Button type="submit" loading={running} disabled={wait > 0}>
          {t('access.resetSet')}
        </Button>
      </Stack>
    </form>
  );
}
