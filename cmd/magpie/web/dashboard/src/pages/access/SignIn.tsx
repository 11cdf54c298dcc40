import { Button, Paper, PasswordInput, Stack, TextInput, Title } from '@mantine/core';
import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { t } from '../../i18n';
import { ProblemNotice } from '../../kit/Problem';
import { begin } from '../../session/session';

const route = getRouteApi('/sign-in');

export function SignIn() {
  const { next } = route.useSearch();
  const navigate = route.useNavigate();
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const [error, setError] = useState<unknown>(null);
  return (
    <main>
      <Paper maw="24rem" mx="auto" mt="10vh" p="lg">
        <form
          onSubmit={async (event) => {
            event.preventDefault();
            setError(null);
            try {
              await begin('/api/v1/auth/login', { email, password });
              await navigate({ href: next?.startsWith('/') && !next.startsWith('//') ? next : '/' });
            } catch (problem) {
              setError(problem);
            }
          }}
        >
          <Stack>
            <Title order={1} size="h2">
              {t('access.title')}
            </Title>
            {error !== null && <ProblemNotice error={error} />}
            <TextInput
              label="Email"
              type="email"
              autoComplete="username"
              required
              value={email}
              onChange={(event) => setEmail(event.currentTarget.value)}
            />
            <PasswordInput
              label="Password"
              autoComplete="current-password"
              required
              value={password}
              onChange={(event) => setPassword(event.currentTarget.value)}
            />
            <Button type="submit">{t('access.title')}</Button>
          </Stack>
        </form>
      </Paper>
    </main>
  );
}
