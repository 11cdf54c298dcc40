import { Badge, Text } from '@mantine/core';
import { getRouteApi, Link } from '@tanstack/react-router';
import { t } from '../../i18n';
import { type Column, DataTable } from '../../kit/DataTable';
import { Empty } from '../../kit/Empty';
import { ButtonLink } from '../../kit/links';
import { Page } from '../../kit/Page';
import { Status } from '../../kit/Status';
import { usePaged } from '../../kit/usePaged';
import { type ToolIntegrationFieldsFragment, ToolsIntegrationsDocument } from './integrations.gql';

const route = getRouteApi('/shell/integrations');

// IntegrationsPage has the systems whose tools agents can call.
export function IntegrationsPage() {
  const navigate = route.useNavigate();
  const list = usePaged(ToolsIntegrationsDocument, {}, (data) => data.toolIntegrations);
  const columns: Column<ToolIntegrationFieldsFragment>[] = [
    {
      key: 'name',
      title: t('common.name'),
      cell: (row) => (
        <>
          <Text component={Link} to={`/integrations/${row.id}`} size="sm" fw={500} c="inherit">
            {row.name}
          </Text>
          <Text size="xs" c="dimmed" className="mono">
            {row.slug}
          </Text>
        </>
      ),
    },
    { key: 'status', title: t('common.state'), cell: (row) => <Status value={row.status} /> },
    {
      key: 'changed',
      title: t('tools.changes'),
      from: 'sm',
      cell: (row) =>
        row.changedTools > 0 ? (
          <Badge color="yellow" variant="light" tt="none">
            {t('tools.changedCount', { count: row.changedTools })}
          </Badge>
        ) : (
          '–'
        ),
    },
    { key: 'provider', title: t('tools.provider'), from: 'md', cell: (row) => row.provider },
    { key: 'scope', title: t('tools.scope'), from: 'md', cell: (row) => t(`tools.scope.${row.ownerScope}`) },
    { key: 'credentials', title: t('tools.credentialsOf'), from: 'md', cell: (row) => t(`tools.credentialsOf.${row.credentialsOf}`) },
  ];
  const add = <ButtonLink to="/integrations/new">{t('tools.new')}</ButtonLink>;
  return (
    <Page title={t('tools.title')} description={t('tools.description')} actions={add}>
      <DataTable
        label={t('tools.title')}
        columns={columns}
        list={list}
        rowKey={({ id }) => id}
        onOpen={({ id }) => void navigate({ to: `/integrations/${id}` })}
        empty={
          <Empty icon="tool" title={t('tools.none')} action={add}>
            {t('tools.noneHelp')}
          </Empty>
        }
      />
    </Page>
  );
}
