import { Button, Group, Stack, Title } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { t } from '../../i18n';
import { ShownOnce } from '../../kit/Copy';
import { Needs } from '../../kit/Needs';
import { Page } from '../../kit/Page';
import { CreateKey } from './CreateKey';
import { KeySnippets } from './KeySnippets';
import type { KeysCreateMutation } from './keys.gql';

// NewKeyPage makes a pair of keys and shows it once, with what to do with it.
export function NewKeyPage() {
  const navigate = useNavigate();
  const [made, setMade] = useState<KeysCreateMutation['createAPIKey'] | null>(null);
  return (
    <Page
      title={made ? t('people.keys.made', { name: made.apiKey.name }) : t('people.keys.new')}
      description={made ? undefined : t('people.keys.newHelp')}
      above={[{ label: t('common.nav.keys'), to: '/keys' }]}
      narrow
    >
      <Needs atLeast="ADMIN">
        {made ? (
          <Stack>
            <CreatedKeys publishable={made.publishableKey} secret={made.secretKey} />
            <Title order={2} size="h4">
              {t('people.keys.snippets')}
            </Title>
            <KeySnippets publishable={made.publishableKey} secret={made.secretKey} signed={made.apiKey.requireSignature} />
            <Group justify="flex-end">
              <Button onClick={() => void navigate({ to: '/keys/$keyId', params: { keyId: made.apiKey.id } })}>
                {t('people.keys.copiedBoth')}
              </Button>
            </Group>
          </Stack>
        ) : (
          <CreateKey onCreated={setMade} onCancel={() => void navigate({ to: '/keys' })} />
        )}
      </Needs>
    </Page>
  );
}

// CreatedKeys shows the keys of a pair.
export function CreatedKeys({ publishable, secret }: { publishable: string; secret: string }) {
  return (
    <ShownOnce
      values={[
        { label: t('people.keys.publishable'), value: publishable },
        { label: t('people.keys.secret'), value: secret },
      ]}
    />
  );
}
