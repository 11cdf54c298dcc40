import { Loader, Text } from '@mantine/core';
import { useEffect, useState } from 'react';
import { useClient } from 'urql';
import { t } from '../../i18n';
import { Page } from '../../kit/Page';
import { ProblemNotice } from '../../kit/Problem';
import { useFragment } from './fragment';
import { Connected, Refused } from './OAuthOutcome';
import { AccessFinishOAuthDocument, type AccessFinishOAuthMutation } from './oauth.gql';

// States that were sent: each works once, and effects may run twice.
const sent = new Map<string, Promise<AccessFinishOAuthMutation['finishOAuth']>>();

// OAuthConfirm finishes a connection whose link a run has shown. Only the session of the person who began it can.
export function OAuthConfirm() {
  const fragment = useFragment();
  const client = useClient();
  const [outcome, setOutcome] = useState<AccessFinishOAuthMutation['finishOAuth'] | null>(null);
  const [error, setError] = useState<unknown>(null);
  const value = (name: string) => fragment.get(name) || null;
  const state = value('state');
  const input = JSON.stringify({
    provider: value('provider') ?? '',
    state: state ?? '',
    code: value('code'),
    error: value('error'),
    errorDescription: value('error_description'),
    issuer: value('iss'),
  });
  useEffect(() => {
    if (!state) return;
    let pending = sent.get(state);
    if (!pending) {
      pending = client
        .mutation(AccessFinishOAuthDocument, { input: JSON.parse(input) })
        .toPromise()
        .then(({ data, error: problem }) => {
          if (!data) throw problem ?? new Error();
          return data.finishOAuth;
        });
      sent.set(state, pending);
    }
    pending.then(setOutcome, setError);
  }, [client, state, input]);
  if (!state || error !== null)
    return (
      <Page title={t('access.notConnected')} narrow>
        {error !== null && <ProblemNotice error={error} />}
        <Text size="sm">{state ? t('access.confirmHelp') : t('access.confirmNothing')}</Text>
      </Page>
    );
  if (!outcome)
    return (
      <Page title={t('access.confirm')} narrow>
        <Loader aria-label={t('common.loading')} />
      </Page>
    );
  // The outcome is in the query of redirectUrl, too.
  const failure = outcome.redirectUrl ? new URL(outcome.redirectUrl, window.location.origin).searchParams : null;
  if (!outcome.grantId)
    return (
      <Refused
        provider={outcome.provider}
        error={failure?.get('error') ?? value('error')}
        description={failure?.get('error_description') ?? value('error_description')}
        connector={outcome.connectorId ?? null}
      />
    );
  return (
    <Connected
      provider={outcome.provider}
      account={outcome.account ?? null}
      connector={outcome.connectorId ?? null}
      back={outcome.redirectUrl ?? null}
    />
  );
}
