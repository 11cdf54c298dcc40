import { Alert, Button, Group, Stack, Text, Title } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { t } from '../i18n';

// NotFound is shown at an address without a page.
export function NotFound() {
  return (
    <Stack className="page" gap="xs">
      <Title order={1} size="h2">
        {t('common.notFound')}
      </Title>
      <Text>{t('common.notFoundHelp')}</Text>
      <Group>
        <Button component={Link} to="/" variant="default">
          {t('common.nav.search')}
        </Button>
      </Group>
    </Stack>
  );
}

// Crashed is shown in place of a page whose code failed.
export function Crashed({ error }: { error: unknown }) {
  return (
    <Alert color="red" title={t('common.crashed')} role="alert">
      <Text size="sm" className="wrap mono">
        {error instanceof Error ? error.message : String(error)}
      </Text>
      <Button mt="sm" size="xs" variant="default" onClick={() => window.location.reload()}>
        {t('common.reload')}
      </Button>
    </Alert>
  );
}
