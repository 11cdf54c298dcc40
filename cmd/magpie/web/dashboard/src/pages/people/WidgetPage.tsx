import { Paper, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { t } from '../../i18n';
import { CodeBlock } from '../../kit/Copy';
import { Needs } from '../../kit/Needs';
import { Page } from '../../kit/Page';
import { usePaged } from '../../kit/usePaged';
import { KeysListDocument } from './keys.gql';
import { WidgetForm } from './WidgetForm';
import { WidgetHost } from './WidgetHost';
import { WidgetKey } from './WidgetKey';
import { WidgetPreview } from './WidgetPreview';
import { line, type WidgetSettings } from './widgetSettings';

// WidgetPage makes the line that puts the search on a website. The settings are in the address, the key is not.
export function WidgetPage() {
  return (
    <Page title={t('common.nav.widget')} description={t('people.widget.about')}>
      <Needs atLeast="ADMIN">
        <Builder />
      </Needs>
    </Page>
  );
}

function Builder() {
  const navigate = useNavigate();
  const address = useSearch({ from: '/shell/widget' });
  const [settings, setSettings] = useState<WidgetSettings>(address);
  const [secret, setSecret] = useState('');
  const keys = usePaged(KeysListDocument, {}, (data) => data.apiKeys, { pageSize: 100 });
  const remember = useDebouncedCallback((next: WidgetSettings) => void navigate({ to: '/widget', search: next, replace: true }), 500);
  const set = (next: WidgetSettings) => {
    setSettings(next);
    remember(next);
  };
  const publishable = secret.trim();
  const isKey = /^svc_pk_\S+$/.test(publishable);
  const key = isKey ? (keys.rows.find((row) => publishable.startsWith(row.publishableHint)) ?? null) : null;
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg">
      <Stack>
        <WidgetKey value={secret} onChange={setSecret} row={key} known={!keys.loading} onMade={keys.reload} />
        {key && <WidgetHost row={key} onChanged={keys.reload} />}
        <WidgetForm settings={settings} onChange={set} />
      </Stack>
      <Stack>
        <Title order={2} size="h4">
          {t('people.widget.preview')}
        </Title>
        <WidgetPreview settings={settings} publishable={isKey ? publishable : ''} />
        <Title order={2} size="h4">
          {t('people.widget.line')}
        </Title>
        <Text size="sm">{t('people.widget.lineHelp')}</Text>
        <CodeBlock label={t('people.widget.line')}>{line(window.location.origin, isKey ? publishable : 'svc_pk_…', settings)}</CodeBlock>
        <Paper p="sm">
          <Text size="sm" fw={500}>
            {t('people.widget.policy')}
          </Text>
          <Text size="sm" mb="xs">
            {t('people.widget.policyHelp')}
          </Text>
          <CodeBlock label={t('people.widget.policy')}>
            {`script-src ${window.location.origin}; connect-src ${window.location.origin}`}
          </CodeBlock>
        </Paper>
      </Stack>
    </SimpleGrid>
  );
}
