import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { t } from '../../i18n';
import { Facts } from '../../kit/Facts';
import { Icon } from '../../kit/Icon';
import { Page } from '../../kit/Page';
import { ProblemNotice } from '../../kit/Problem';
import { personalInput, TokenFields, useTokenDraft } from '../../kit/TokenFields';
import { useAction } from '../../kit/useAction';
import { useMe } from '../../session/Me';
import { AccessAnswerLoginDocument } from './commandLine.gql';
import { deviceName } from './device';
import { useFragment } from './fragment';

// The addresses that the service accepts: those of programs on the person's own machine.
const ownMachine = /^http:\/\/(127\.0\.0\.1:\d+|\[::1\]:\d+)\/callback$/;

// CommandLine asks the person for a token for magpie login. The service checks the request again, and gives the program a
// code, never the page the token.
export function CommandLine() {
  const fragment = useFragment();
  const address = ownMachine.exec(fragment.get('redirect_uri') ?? '')?.[1];
  const state = fragment.get('state');
  const codeChallenge = fragment.get('code_challenge');
  if (!address || !state || !codeChallenge)
    return (
      <Page title={t('access.commandLine')} narrow>
        <Text size="sm">{t('access.commandLineNothing')}</Text>
      </Page>
    );
  const request = { redirectUri: `http://${address}/callback`, state, codeChallenge };
  return <Question request={request} address={address} device={deviceName(fragment.get('device'))} />;
}

interface QuestionProps {
  request: { redirectUri: string; state: string; codeChallenge: string };
  address: string;
  device: string | null;
}

function Question({ request, address, device }: QuestionProps) {
  const me = useMe();
  const { draft, change } = useTokenDraft(false, device ? t('access.commandLineName', { device }) : 'magpie');
  const { run, running, error } = useAction(AccessAnswerLoginDocument, { quiet: true });
  const [answered, setAnswered] = useState<'Allowed' | 'Refused' | null>(null);
  const answer = async (allowed: boolean) => {
    const data = await run({ input: { ...request, token: allowed ? personalInput(draft) : null } });
    if (!data) return;
    setAnswered(allowed ? 'Allowed' : 'Refused');
    window.location.assign(data.answerLogin.redirectUrl);
  };
  if (answered)
    return (
      <Page title={t(`access.commandLine${answered}`)} narrow>
        <Text size="sm" role="status">
          {t(answered === 'Allowed' ? 'access.commandLineBack' : 'access.commandLineBackRefused')}
        </Text>
      </Page>
    );
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void answer(true);
  };
  return (
    <Page title={t('access.commandLine')} description={t('access.commandLineAsks')} narrow>
      <Facts
        columns={2}
        items={[
          { label: t('access.commandLineDevice'), value: device },
          { label: t('access.commandLineAs'), value: me.user.email },
          { label: t('common.workspace'), value: me.workspace.name },
          { label: t('access.commandLineTo'), value: t('access.commandLineHere', { address }) },
        ]}
      />
      <Alert color="yellow" variant="light" icon={<Icon name="warning" />} role="note">
        <Text size="sm">{t('access.commandLineWarning')}</Text>
      </Alert>
      <form onSubmit={submit}>
        <Stack>
          {error && <ProblemNotice error={error} />}
          <TokenFields service={false} draft={draft} change={change} failure={error} />
          <Group justify="flex-end">
            <Button variant="default" disabled={running} onClick={() => void answer(false)}>
              {t('access.commandLineRefuse')}
            </Button>
            <Button type="submit" loading={running}>
              {t('access.commandLineAllow')}
            </Button>
          </Group>
        </Stack>
      </form>
    </Page>
  );
}
