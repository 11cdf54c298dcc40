import { Alert, Anchor, Button, Divider, Group, Paper, PasswordInput, Stack, Text, Title } from '@mantine/core';
import { useRouter } from '@tanstack/react-router';
import { type ReactNode, useEffect, useRef } from 'react';
import { formatDuration, type Language, language, languages, setLanguage, t } from '../../i18n';
import { Icon } from '../../kit/Icon';
import { ProblemNotice } from '../../kit/Problem';
import type { Access } from './methods';
import { startSignOn, type Way } from './signOn';
import { useSubmit } from './useSubmit';

// Door is the frame of the pages of people who are not signed in. The first field takes the focus, or the title if there
// is none, so that a screen reader reads it.
export function Door({ title, description, children }: { title: string; description?: ReactNode; children: ReactNode }) {
  const frame = useRef<HTMLDivElement>(null);
  useEffect(() => {
    document.title = `${title} · Magpie`;
    const field = frame.current?.querySelector<HTMLElement>('input:not([readonly]), h1');
    (field?.tagName === 'INPUT' ? field : frame.current?.querySelector<HTMLElement>('h1'))?.focus();
  }, [title]);
  return (
    <main>
      <Stack maw="26rem" mx="auto" mt={{ base: 'md', sm: '10vh' }} px="sm" pb="xl" gap="sm" ref={frame}>
        <Text fw={700} size="lg" ta="center">
          Magpie
        </Text>
        <Paper p="lg">
          <Stack>
            <div>
              <Title order={1} size="h2" tabIndex={-1} className="wrap">
                {title}
              </Title>
              {description && (
                <Text c="dimmed" size="sm" mt={4} className="wrap">
                  {description}
                </Text>
              )}
            </div>
            {children}
          </Stack>
        </Paper>
        <Group justify="center" gap="md">
          {(Object.keys(languages) as Language[])
            .filter((tag) => tag !== language)
            .map((tag) => (
              <Anchor key={tag} component="button" type="button" size="sm" lang={tag} onClick={() => setLanguage(tag)}>
                {languages[tag]}
              </Anchor>
            ))}
        </Group>
      </Stack>
    </main>
  );
}

// Failure says why a form was refused, and how long to wait after too many tries.
export function Failure({ error, wait }: { error: unknown; wait: number }) {
  if (error === null) return null;
  if (wait === 0) return <ProblemNotice error={error} />;
  return (
    <Alert color="yellow" variant="light" icon={<Icon name="clock" />} title={t('access.tooMany')} role="alert">
      <Text size="sm" component="span" aria-hidden="true">
        {t('access.wait', { time: formatDuration(wait) })}
      </Text>
    </Alert>
  );
}

// NewPassword is the field of a password that is set.
export function NewPassword(props: { label?: string; name?: string; value: string; onChange: (value: string) => void; error?: string }) {
  return (
    <PasswordInput
      label={props.label ?? t('access.newPassword')}
      description={t('access.passwordRules')}
      name={props.name ?? 'password'}
      autoComplete="new-password"
      required
      value={props.value}
      onChange={(event) => props.onChange(event.currentTarget.value)}
      error={props.error}
      visibilityToggleButtonProps={{ 'aria-label': t('access.showPassword') }}
    />
  );
}

// ByProvider has a button for each provider, below a form if password sign-in is possible, too.
export function ByProvider({ access, next, alone }: { access: Access; next?: string; alone?: boolean }) {
  if (!access.oidc && !access.saml) return null;
  return (
    <>
      {!alone && <Divider label={t('access.or')} labelPosition="center" />}
      {access.saml && <ProviderButton way="saml" name={access.saml.name} next={next} alone={alone} />}
      {access.oidc && <ProviderButton way="oidc" name={access.oidc.name} next={next} alone={alone} />}
    </>
  );
}

function ProviderButton({ way, name, next, alone }: { way: Way; name: string; next?: string; alone?: boolean }) {
  const { onSubmit, running, error, wait } = useSubmit([], () => startSignOn(way, next));
  return (
    <>
      <Failure error={error} wait={wait} />
      <Button variant={alone ? 'filled' : 'default'} loading={running} disabled={wait > 0} onClick={() => onSubmit()}>
        {t('access.with', { name })}
      </Button>
    </>
  );
}

// NoMethods stands where the service could not say how people sign in.
export function NoMethods({ error }: { error: unknown }) {
  const router = useRouter();
  return <ProblemNotice error={error} retry={() => void router.invalidate()} />;
}
