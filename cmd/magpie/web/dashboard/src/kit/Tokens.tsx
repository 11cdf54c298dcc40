import { Button, Code, Group, Loader, Modal, Stack, Text } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { useQuery } from 'urql';
import type { problemOf } from '../api/errors';
import { formatDate, t, tValue } from '../i18n';
import { ShownOnce } from './Copy';
import { confirm } from './confirm';
import { ProblemNotice } from './Problem';
import { Status } from './Status';
import { Ago } from './Time';
import { personalInput, TokenFields, useTokenDraft } from './TokenFields';
import {
  type TokenRowFragment,
  TokensCreatePersonalDocument,
  TokensCreateServiceDocument,
  TokensMineDocument,
  TokensOfWorkspaceDocument,
  TokensRevokeDocument,
} from './tokens.gql';
import { useAction } from './useAction';

// PersonalTokens has the person's own tokens in the workspace.
export function PersonalTokens() {
  const [{ data, error }, again] = useQuery({ query: TokensMineDocument });
  return <TokenList tokens={data?.myTokens} error={error} again={() => again({ requestPolicy: 'network-only' })} service={false} />;
}

// ServiceTokens has the service tokens of the workspace.
export function ServiceTokens() {
  const [{ data, error }, again] = useQuery({ query: TokensOfWorkspaceDocument });
  const tokens = data?.tokens.edges?.flatMap((edge) => edge?.node ?? []);
  return <TokenList tokens={tokens} error={error} again={() => again({ requestPolicy: 'network-only' })} service />;
}

interface ListProps {
  tokens: TokenRowFragment[] | undefined;
  error: Parameters<typeof problemOf>[0] | undefined;
  again: () => void;
  service: boolean;
}

function TokenList({ tokens, error, again, service }: ListProps) {
  const [making, setMaking] = useState(false);
  const { run, running } = useAction(TokensRevokeDocument, { success: t('common.tokens.revoked') });
  if (error && !tokens) return <ProblemNotice error={error} retry={again} />;
  if (!tokens) return <Loader aria-label={t('common.loading')} />;
  const revoke = async ({ id, name }: TokenRowFragment) => {
    const question = {
      title: t('common.tokens.revokeTitle', { name }),
      body: t('common.tokens.revokeAbout'),
      action: t('common.tokens.revoke'),
    };
    if ((await confirm(question)) && (await run({ id }))) again();
  };
  return (
    <>
      {tokens.length === 0 && <Text size="sm">{t('common.tokens.none')}</Text>}
      <Stack component="ul" gap="xs" m={0} p={0} style={{ listStyle: 'none' }}>
        {tokens.map((token) => (
          <Group component="li" key={token.id} justify="space-between" wrap="nowrap" gap="sm">
            <div style={{ minWidth: 0 }}>
              <Group gap={6}>
                <Text size="sm" fw={500} component="span" className="wrap">
                  {token.name}
                </Text>
                <Code>{token.hint}…</Code>
                <Status value={token.status} />
              </Group>
              <Text size="xs" c="dimmed" component="div" className="wrap">
                {token.role ? tValue(`common.role.${token.role}`, token.role) : t('common.tokens.myRole')} ·{' '}
                {token.groups
                  ? token.groups.map((group) => tValue(`common.tokens.group.${group}`, group)).join(', ')
                  : t('common.tokens.everything')}{' '}
                · {t('common.tokens.expires', { date: token.expiresAt ? formatDate(token.expiresAt) : t('common.never') })} ·{' '}
                {t('common.tokens.lastUsed')} {token.lastUsedAt ? <Ago at={token.lastUsedAt} /> : t('common.never')}
                {token.lastAddress && ` (${token.lastAddress})`}
              </Text>
            </div>
            {token.status === 'ACTIVE' && (
              <Button
                size="xs"
                variant="default"
                disabled={running}
                onClick={() => void revoke(token)}
                aria-label={`${t('common.tokens.revoke')}: ${token.name}`}
              >
                {t('common.tokens.revoke')}
              </Button>
            )}
          </Group>
        ))}
      </Stack>
      <Group>
        <Button variant="default" onClick={() => setMaking(true)}>
          {t('common.tokens.new')}
        </Button>
      </Group>
      {making && (
        <NewToken
          service={service}
          onMade={again}
          onClose={() => {
            setMaking(false);
          }}
        />
      )}
    </>
  );
}

// NewToken makes a token and shows it once.
function NewToken({ service, onMade, onClose }: { service: boolean; onMade: () => void; onClose: () => void }) {
  const { draft, change } = useTokenDraft(service);
  const [secret, setSecret] = useState<string | null>(null);
  const personal = useAction(TokensCreatePersonalDocument, { quiet: true });
  const forWorkspace = useAction(TokensCreateServiceDocument, { quiet: true });
  const failure = service ? forWorkspace.error : personal.error;
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const input = personalInput(draft);
    const made = service
      ? (await forWorkspace.run({ input: { ...input, role: draft.role ?? 'VIEWER', groups: draft.groups } }))?.createServiceToken.secret
      : (await personal.run({ input }))?.createPersonalToken.secret;
    if (!made) return;
    setSecret(made);
    onMade();
  };
  return (
    <Modal
      opened
      onClose={onClose}
      title={t('common.tokens.new')}
      size="lg"
      closeOnClickOutside={false}
      closeButtonProps={{ 'aria-label': t('common.close') }}
    >
      {secret ? (
        <Stack>
          <ShownOnce values={[{ label: t('common.tokens.token'), value: secret }]} />
          <Group justify="flex-end">
            <Button onClick={onClose}>{t('common.tokens.copied')}</Button>
          </Group>
        </Stack>
      ) : (
        <form onSubmit={submit}>
          <Stack>
            {failure && <ProblemNotice error={failure} />}
            <TokenFields service={service} draft={draft} change={change} failure={failure} />
            <Group justify="flex-end">
              <Button variant="default" onClick={onClose}>
                {t('common.cancel')}
              </Button>
              <Button type="submit" loading={personal.running || forWorkspace.running}>
                {t('common.tokens.create')}
              </Button>
            </Group>
          </Stack>
        </form>
      )}
    </Modal>
  );
}
