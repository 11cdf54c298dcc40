import { Anchor, Loader, Text } from '@mantine/core';
import { Link, useNavigate } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { t, tValue } from '../../i18n';
import { ProblemNotice } from '../../kit/Problem';
import { RequestError } from '../../session/session';
import { Door } from './Door';
import { useFragment } from './fragment';
import { localPath } from './methods';
import { afterSignOn, finishSignOn, NotBegunHere } from './signOn';

// SignOnReturn is where a provider's answer arrives: it opens the session, or says why there is none.
export function SignOnReturn() {
  const fragment = useFragment();
  const navigate = useNavigate();
  const code = fragment.get('code');
  const [next] = useState(afterSignOn);
  const refused = fragment.get('error');
  const [error, setError] = useState<unknown>(() =>
    refused ? new RequestError(0, refused, fragment.get('error_description') ?? refused, null, null) : code ? null : new NotBegunHere(),
  );
  useEffect(() => {
    if (code)
      finishSignOn(code).then(
        (to) => navigate({ href: localPath(to), replace: true }),
        (problem: unknown) => setError(problem),
      );
  }, [code, navigate]);
  const words = error instanceof RequestError ? tValue(`access.oidc.${error.code}`, '') : '';
  return (
    <Door title={error === null ? t('access.signingIn') : t('access.notSignedIn')}>
      {error === null && <Loader aria-label={t('access.signingIn')} />}
      {error instanceof NotBegunHere && <Text size="sm">{t('access.oidc.elsewhere')}</Text>}
      {words !== '' && <Text size="sm">{words}</Text>}
      {error !== null && !(error instanceof NotBegunHere) && <ProblemNotice error={error} title={t('access.oidc.said')} />}
      {error !== null && (
        <Text size="sm">
          <Anchor component={Link} to="/sign-in" search={{ next } as never} inherit underline="always">
            {t('access.again')}
          </Anchor>
        </Text>
      )}
    </Door>
  );
}
