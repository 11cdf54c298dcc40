import { Alert, Button, Group, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { t } from '../i18n';
import { Page } from '../kit/Page';

// NotFound is shown at an address without a page.
export function NotFound() {
  return (
    <Page title={t('common.notFound')} description={t('common.notFoundHelp')}>
      <Group>
        <Button component={Link} to="/" variant="default">
          {t('common.nav.search')}
        </Button>
      </Group>
    </Page>
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
