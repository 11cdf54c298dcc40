import { Alert, Button, Code, Group, Loader, Stack, Text, Title } from '@mantine/core';
import { useParams } from '@tanstack/react-router';
import { type FormEvent, useRef, useState } from 'react';
import { useQuery } from 'urql';
import { problemOf } from '../../api/errors';
import { formatDate, formatTime, t } from '../../i18n';
import { confirm } from '../../kit/confirm';
import { Facts } from '../../kit/Facts';
import { Icon } from '../../kit/Icon';
import { NeedsRole } from '../../kit/Needs';
import { Page } from '../../kit/Page';
import { ProblemNotice } from '../../kit/Problem';
import { Status } from '../../kit/Status';
import { When } from '../../kit/Time';
import { useAction } from '../../kit/useAction';
import { useMay } from '../../session/Me';
import { KeyForm } from './KeyForm';
import { KeySnippets } from './KeySnippets';
import { changed, draftOf, type KeyDraft } from './keyDraft';
import { type KeyRowFragment, KeysOneDocument, KeysRevokeDocument, KeysUpdateDocument } from './keys.gql';
import { loud } from './loud';
import { RotateKey } from './RotateKey';
import { useErrorFocus } from './useErrorFocus';

// KeyPage is one pair of API keys: its state, its settings, its rotation and its end.
export function KeyPage() {
  const { keyId } = useParams({ from: '/shell/keys/$keyId' });
  if (!useMay('ADMIN')) {
    return (
      <Page title={t('common.nav.keys')}>
        <NeedsRole atLeast="ADMIN" />
      </Page>
    );
  }
  return <OneKey key={keyId} id={keyId} />;
}

function OneKey({ id }: { id: string }) {
  const [{ data, error }, again] = useQuery({ query: KeysOneDocument, variables: { id } });
  const [rotating, setRotating] = useState(false);
  const revoke = useAction(KeysRevokeDocument, { success: t('people.keys.revoked') });
  const key = data?.apiKey;
  const above = [{ label: t('common.nav.keys'), to: '/keys' }];
  if (!key) {
    return (
      <Page title={t('common.nav.keys')} above={above}>
        {error ? (
          <ProblemNotice error={error} retry={() => again({ requestPolicy: 'network-only' })} />
        ) : (
          <Loader aria-label={t('common.loading')} />
        )}
      </Page>
    );
  }
  const isOver = key.status === 'REVOKED';
  const end = async () => {
    const sure = await confirm({
      title: t('people.keys.revokeTitle', { name: key.name }),
      body: t('people.keys.revokeBody'),
      action: t('people.keys.revoke'),
      typed: key.name,
    });
    if (sure) await revoke.run({ id: key.id });
  };
  return (
    <Page
      title={key.name}
      above={above}
      actions={
        !isOver && (
          <>
            <Button variant="default" leftSection={<Icon name="refresh" size={16} />} onClick={() => setRotating(true)}>
              {t('people.keys.rotate')}
            </Button>
            <Button variant="default" c="var(--mantine-color-error)" onClick={() => void end()} loading={revoke.running}>
              {t('people.keys.revoke')}
            </Button>
          </>
        )
      }
    >
      {key.leakedAt && !isOver && (
        <Alert color="red" variant="filled" icon={<Icon name="warning" />} title={t('people.keys.leakTitle')} role="alert" styles={loud}>
          <Stack gap="xs" align="flex-start">
            <Text size="sm">{t('people.keys.leakBody', { origin: key.leakedOrigin ?? '?', time: formatTime(key.leakedAt) })}</Text>
            <Button variant="white" color="dark" size="xs" onClick={() => setRotating(true)}>
              {t('people.keys.rotateNow')}
            </Button>
          </Stack>
        </Alert>
      )}
      <Facts
        columns={4}
        items={[
          { label: t('common.state'), value: <Status value={key.status} /> },
          { label: t('people.keys.publishable'), value: <Code>{key.publishableHint}…</Code> },
          { label: t('people.keys.secret'), value: <Code>{key.secretHint}…</Code> },
          { label: t('people.keys.lastUsed'), value: key.lastUsedAt ? <When at={key.lastUsedAt} /> : t('common.never') },
          { label: t('common.created'), value: <When at={key.createdAt} /> },
          { label: t('people.keys.expires'), value: key.expiresAt ? formatDate(key.expiresAt) : t('common.never') },
          { label: t('people.keys.rotatedAt'), value: key.rotatedAt ? <When at={key.rotatedAt} /> : null },
          { label: t('people.keys.oldUntil'), value: key.previousExpiresAt ? formatTime(key.previousExpiresAt) : null },
          { label: t('people.keys.revokedAt'), value: key.revokedAt ? <When at={key.revokedAt} /> : null },
        ]}
      />
      {isOver ? <Alert color="gray">{t('people.keys.isRevoked')}</Alert> : <Settings key={key.id} row={key} />}
      <Title order={2} size="h4">
        {t('people.keys.snippets')}
      </Title>
      <Text size="sm" c="dimmed">
        {t('people.keys.snippetsHelp')}
      </Text>
      <KeySnippets signed={key.requireSignature} />
      <RotateKey row={key} opened={rotating} onClose={() => setRotating(false)} />
    </Page>
  );
}

// Settings changes the settings of a pair; only what differs is sent.
function Settings({ row }: { row: KeyRowFragment }) {
  const before = draftOf(row);
  const [draft, setDraft] = useState<KeyDraft>(before);
  const update = useAction(KeysUpdateDocument, { quiet: true, success: t('common.saved') });
  const form = useRef<HTMLFormElement>(null);
  useErrorFocus(form, update.error);
  const input = changed(draft, before);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const data = await update.run({ id: row.id, input });
    if (data) setDraft(draftOf(data.updateAPIKey));
  };
  return (
    <form ref={form} onSubmit={submit}>
      <Stack className="narrow">
        <Title order={2} size="h4">
          {t('people.keys.settings')}
        </Title>
        <KeyForm draft={draft} onChange={setDraft} problem={update.error ? problemOf(update.error) : null} />
        {update.error && <ProblemNotice error={update.error} />}
        <Group>
          <Button type="submit" loading={update.running} disabled={Object.keys(input).length === 0}>
            {t('common.save')}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
