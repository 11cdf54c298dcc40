import { Badge, Text } from '@mantine/core';
import { getRouteApi, Link } from '@tanstack/react-router';
import { t } from '../../i18n';
import { type Column, DataTable } from '../../kit/DataTable';
import { Empty } from '../../kit/Empty';
import { ButtonLink } from '../../kit/links';
import { Page } from '../../kit/Page';
import { Status } from '../../kit/Status';
import { When } from '../../kit/Time';
import { usePaged } from '../../kit/usePaged';
import { useMay } from '../../session/Me';
import { type AutomationFieldsFragment, AutomationsListDocument } from './automations.gql';
import { useAgentNames } from './Names';

const route = getRouteApi('/shell/automations');

// AutomationsPage has what starts agents by itself.
export function AutomationsPage() {
  const isEditor = useMay('EDITOR');
  return (
    <Page
      title={t('agents.auto.title')}
      description={t('agents.auto.description')}
      actions={isEditor && <ButtonLink to="/automations/new">{t('agents.auto.new')}</ButtonLink>}
    >
      {isEditor ? <List /> : <Empty icon="lock" title={t('agents.auto.editors')} />}
    </Page>
  );
}

function List() {
  const navigate = route.useNavigate();
  const { nameOf } = useAgentNames();
  const list = usePaged(AutomationsListDocument, {}, (data) => data.automations);
  const columns: Column<AutomationFieldsFragment>[] = [
    {
      key: 'name',
      title: t('common.name'),
      cell: (row) => (
        <>
          <Text component={Link} to={`/automations/${row.id}`} size="sm" fw={500} c="inherit">
            {row.name}
          </Text>
          <Text size="xs" c="dimmed" lineClamp={2}>
            {row.disabledReason ?? row.description}
          </Text>
        </>
      ),
    },
    { key: 'state', title: t('common.state'), cell: (row) => <Status value={row.enabled ? 'ACTIVE' : 'DISABLED'} /> },
    {
      key: 'kind',
      title: t('agents.auto.trigger'),
      from: 'sm',
      cell: (row) => (
        <Badge variant="default" tt="none">
          {t(`agents.auto.kind.${row.kind}`)}
        </Badge>
      ),
    },
    { key: 'agent', title: t('agents.agent'), from: 'md', cell: (row) => nameOf(row.agentId) },
    { key: 'last', title: t('agents.auto.last'), from: 'sm', cell: (row) => <When at={row.lastRunAt} /> },
    { key: 'next', title: t('agents.auto.next'), from: 'md', cell: (row) => <When at={row.nextRunAt} /> },
  ];
  return (
    <DataTable
      label={t('agents.auto.title')}
      columns={columns}
      list={list}
      rowKey={({ id }) => id}
      onOpen={({ id }) => void navigate({ to: `/automations/${id}` })}
      empty={
        <Empty
          icon="automation"
          title={t('agents.auto.none')}
          action={<ButtonLink to="/automations/new">{t('agents.auto.new')}</ButtonLink>}
        >
          {t('agents.auto.noneHelp')}
        </Empty>
      }
    />
  );
}
