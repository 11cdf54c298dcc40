import { Anchor, Button, Loader, PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { formatTime, t, tValue } from '../../i18n';
import { Facts } from '../../kit/Facts';
import { accessToken, begin, call, end } from '../../session/session';
import { ByProvider, Door, Failure, NewPassword, NoMethods } from './Door';
import { useFragment } from './fragment';
import type { Access } from './methods';
import { useSubmit } from './useSubmit';

const route = getRouteApi('/accept-invitation');

interface Offer {
  workspace: string;
  email: string;
  role: string;
  expires_at: string;
  has_account: boolean;
}

interface Read {
  offer: Offer;
  // The address of the person who is signed in.
  signedIn: string | null;
}

async function read(token: string): Promise<Read> {
  const [{ data: offer }, session] = await Promise.all([
    call<{ data: Offer }>('POST', '/api/v1/auth/invitation', { token }),
    accessToken(),
  ]);
  if (session === null) return { offer, signedIn: null };
  const { data } = await call<{ data: { user: { email: string } } }>('GET', '/api/v1/auth/me', undefined, session);
  return { offer, signedIn: data.user.email };
}

// AcceptInvitation shows what the link offers, and makes the person a member: with a new account, with the password of their
// account, or in the session that they have.
export function AcceptInvitation() {
  const token = useFragment().get('token');
  const { access, error: noMethods } = route.useLoaderData();
  const [state, setState] = useState<{ read: Read | null; error: unknown }>({ read: null, error: null });
  useEffect(() => {
    if (token)
      read(token).then(
        (result) => setState({ read: result, error: null }),
        (error: unknown) => setState({ read: null, error }),
      );
  }, [token]);
  return (
    <Door title={state.read ? t('access.joinTitle', { workspace: state.read.offer.workspace }) : t('access.invitation')}>
      {!token && <Text size="sm">{t('access.noToken')}</Text>}
      {token && !state.read && state.error === null && <Loader aria-label={t('common.loading')} />}
      {state.error !== null && (
        <>
          <Failure error={state.error} wait={0} />
          <Text size="sm">{t('access.invitationUsed')}</Text>
        </>
      )}
      {token && state.read && access && <Accept token={token} access={access} {...state.read} />}
      {noMethods !== null && <NoMethods error={noMethods} />}
      {state.error !== null && (
        <Text size="sm">
          <Anchor component={Link} to="/sign-in" inherit underline="always">
            {t('access.signIn')}
          </Anchor>
        </Text>
      )}
    </Door>
  );
}

function Accept({ token, access, offer, signedIn }: Read & { token: string; access: Access }) {
  return (
    <>
      <Facts
        columns={2}
        items={[
          { label: t('access.email'), value: offer.email },
          { label: t('access.role'), value: tValue(`common.role.${offer.role.toUpperCase()}`, offer.role) },
          { label: t('access.validUntil'), value: formatTime(offer.expires_at) },
        ]}
      />
      {signedIn === null && (
        <>
          {access.password && <WithPassword token={token} offer={offer} />}
          <ByProvider access={access} alone={!access.password} />
        </>
      )}
      {signedIn !== null && signedIn === offer.email && <InSession token={token} offer={offer} />}
      {signedIn !== null && signedIn !== offer.email && <SignedInAsAnother token={token} offer={offer} signedIn={signedIn} />}
    </>
  );
}

function WithPassword({ token, offer }: { token: string; offer: Offer }) {
  const navigate = route.useNavigate();
  const [name, setName] = useState('');
  const [password, setPassword] = useState('');
  const { onSubmit, running, error, fieldError, wait } = useSubmit(['name', 'password'], async () => {
    await begin('/api/v1/auth/accept-invitation', offer.has_account ? { token, password } : { token, name, password });
    await navigate({ to: '/' });
  });
  return (
    <form onSubmit={onSubmit}>
      <Stack>
        <Text size="sm">{t(offer.has_account ? 'access.joinAccount' : 'access.joinNew')}</Text>
        <Failure error={error} wait={wait} />
        {/* Password managers store the password with this name. */}
        <input type="text" hidden name="username" autoComplete="username" value={offer.email} readOnly />
        {offer.has_account ? (
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
        ) : (
          <>
            <TextInput
              label={t('access.yourName')}
              name="name"
              autoComplete="name"
              required
              value={name}
              onChange={(event) => setName(event.currentTarget.value)}
              error={fieldError('name')}
            />
            <NewPassword value={password} onChange={setPassword} error={fieldError('password')} />
          </>
        )}
        <Button type="submit" loading={running} disabled={wait > 0}>
          {t('access.join')}
        </Button>
      </Stack>
    </form>
  );
}

function InSession({ token, offer }: { token: string; offer: Offer }) {
  const { onSubmit, running, error, wait } = useSubmit([], async () => {
    await begin('/api/v1/invitations/accept', { token });
    window.location.assign('/');
  });
  return (
    <>
      <Text size="sm">{t('access.joinSession', { email: offer.email })}</Text>
      <Failure error={error} wait={wait} />
      <Button loading={running} disabled={wait > 0} onClick={() => onSubmit()}>
        {t('access.join')}
      </Button>
    </>
  );
}

function SignedInAsAnother({ token, offer, signedIn }: { token: string; offer: Offer; signedIn: string }) {
  const { onSubmit, running, error, wait } = useSubmit([], async () => {
    await end();
    window.location.assign(`/accept-invitation#token=${encodeURIComponent(token)}`);
    window.location.reload();
  });
  return (
    <>
      <Text size="sm" className="wrap">
        {t('access.joinOther', { signedIn, email: offer.email })}
      </Text>
      <Failure error={error} wait={wait} />
      <Button variant="default" loading={running} onClick={() => onSubmit()}>
        {t('common.signOut')}
      </Button>
    </>
  );
}
