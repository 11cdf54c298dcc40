import { Badge, Text } from '@mantine/core';
import { getRouteApi, Link } from '@tanstack/react-router';
import { formatNumber, t } from '../../i18n';
import { type Column, DataTable } from '../../kit/DataTable';
import { Empty } from '../../kit/Empty';
import { ButtonLink } from '../../kit/links';
import { Needs } from '../../kit/Needs';
import { Page } from '../../kit/Page';
import { Status } from '../../kit/Status';
import { When } from '../../kit/Time';
import { usePaged } from '../../kit/usePaged';
import { May } from '../../session/Me';
import { type InboundFieldsFragment, InboundListDocument } from './inbound.gql';

const route = getRouteApi('/shell/inbound');

// InboundState shows whether an integration receives.
export function InboundState({ row }: { row: InboundFieldsFragment }) {
  if (!row.enabled) return <Status value="DISABLED" />;
  const color = { OK: 'green', UNVERIFIED: 'yellow', FAILING: 'red' }[row.status];
  return (
    <Badge variant="light" color={color} tt="none">
      {t(`tools.inbound.status.${row.status}`)}
    </Badge>
  );
}

// InboundPage has the integrations that receive mails, events and meetings.
export function InboundPage() {
  return (
    <Page
      title={t('tools.inbound.title')}
      description={t('tools.inbound.description')}
      actions={
        <May atLeast="EDITOR">
          <ButtonLink to="/inbound/new">{t('tools.inbound.new')}</ButtonLink>
        </May>
      }
    >
      <Needs atLeast="EDITOR">
        <List />
      </Needs>
    </Page>
  );
}

function List() {
  const navigate = route.useNavigate();
  const list = usePaged(InboundListDocument, {}, (data) => data.inboundIntegrations);
  const columns: Column<InboundFieldsFragment>[] = [
    {
      key: 'name',
      title: t('common.name'),
      cell: (row) => (
        <Text component={Link} to={`/inbound/${row.id}`} size="sm" fw={500} c="inherit">
          {row.name}
        </Text>
      ),
    },
    { key: 'status', title: t('common.state'), cell: (row) => <InboundState row={row} /> },
    { key: 'provider', title: t('tools.provider'), from: 'sm', cell: (row) => row.provider },
    { key: 'last', title: t('tools.inbound.last'), from: 'sm', cell: (row) => <When at={row.lastEventAt} /> },
    { key: 'rejected', title: t('tools.inbound.rejected'), from: 'md', align: 'right', cell: (row) => formatNumber(row.rejected) },
  ];
  return (
    <DataTable
      label={t('tools.inbound.title')}
      columns={columns}
      list={list}
      rowKey={({ id }) => id}
      onOpen={({ id }) => void navigate({ to: `/inbound/${id}` })}
      empty={
        <Empty icon="mail" title={t('tools.inbound.none')} action={<ButtonLink to="/inbound/new">{t('tools.inbound.new')}</ButtonLink>}>
          {t('tools.inbound.noneHelp')}
        </Empty>
      }
    />
  );
}
