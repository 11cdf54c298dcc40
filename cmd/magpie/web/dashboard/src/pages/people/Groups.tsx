import { Alert, Anchor, List, Loader, Modal, Select, Stack, Text, TextInput, Title } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useQuery } from 'urql';
import { formatNumber, formatTime, t } from '../../i18n';
import { type Column, DataTable } from '../../kit/DataTable';
import { Empty } from '../../kit/Empty';
import { Icon } from '../../kit/Icon';
import { ProblemNotice } from '../../kit/Problem';
import { usePaged } from '../../kit/usePaged';
import {
  PeopleConnectorsDocument,
  type PeopleConnectorsQuery,
  PeopleGroupDocument,
  PeopleGroupsDocument,
  type PeopleGroupsQuery,
} from './people.gql';
import type { PeopleSearch } from './search';

type Connector = NonNullable<NonNullable<NonNullable<PeopleConnectorsQuery['connectors']['edges']>[number]>['node']>;
type SourceGroup = PeopleGroupsQuery['sourceGroups']['edges'][number]['node'];

// Groups shows the groups that sources reported. The connector and the group are in the address.
export function Groups() {
  const navigate = useNavigate();
  const search = useSearch({ from: '/shell/people' });
  const [{ data, error }, again] = useQuery({ query: PeopleConnectorsDocument, variables: { matching: null } });
  if (error && !data) return <ProblemNotice error={error} retry={() => again({ requestPolicy: 'network-only' })} />;
  if (!data) return <Loader aria-label={t('common.loading')} />;
  const connectors = (data.connectors.edges ?? []).flatMap((edge) =>
    edge?.node?.permissions && edge.node.permissions.mode !== 'off' ? [edge.node] : [],
  );
  if (connectors.length === 0) {
    return (
      <Empty icon="people" title={t('people.groups.none')}>
        {t('people.groups.noneHelp')}
      </Empty>
    );
  }
  const chosen = connectors.find(({ id }) => id === search.connector) ?? connectors[0];
  const set = (change: PeopleSearch) =>
    void navigate({ to: '/people', search: { tab: 'groups', connector: chosen?.id, text: search.text, ...change } });
  return (
    <Stack>
      <Text size="sm">{t('people.groups.help')}</Text>
      <Select
        label={t('people.groups.connector')}
        data={connectors.map(({ id, name }) => ({ value: id, label: name }))}
        value={chosen?.id ?? null}
        onChange={(id) => id && set({ connector: id, text: undefined })}
        allowDeselect={false}
        maw="24rem"
      />
      {chosen && <OfConnector key={chosen.id} connector={chosen} text={search.text} group={search.group} set={set} />}
    </Stack>
  );
}

interface OfConnectorProps {
  connector: Connector;
  text?: string;
  group?: string;
  set: (change: PeopleSearch) => void;
}

function OfConnector({ connector, text, group, set }: OfConnectorProps) {
  const list = usePaged(PeopleGroupsDocument, { connectorId: connector.id, matching: text ?? null }, (data) => data.sourceGroups);
  const type = useDebouncedCallback((value: string) => set({ text: value || undefined }), 300);
  const columns: Column<SourceGroup>[] = [
    {
      key: 'name',
      title: t('common.name'),
      cell: (row) => (
        <Anchor component="button" type="button" size="sm" ta="left" onClick={() => set({ group: row.id })}>
          {row.name}
        </Anchor>
      ),
    },
    { key: 'id', title: t('people.groups.id'), from: 'xs', cell: (row) => row.id },
    { key: 'members', title: t('people.groups.members'), align: 'right', cell: (row) => formatNumber(row.memberCount) },
  ];
  return (
    <Stack>
      {connector.permissions?.warning && (
        <Alert color="orange" icon={<Icon name="warning" />}>
          {connector.permissions.warning}
        </Alert>
      )}
      <TextInput
        aria-label={t('people.groups.find')}
        placeholder={t('people.groups.find')}
        leftSection={<Icon name="search" size={16} />}
        defaultValue={text ?? ''}
        onChange={(event) => type(event.currentTarget.value)}
        maw="24rem"
      />
      <DataTable
        label={t('people.tab.groups')}
        columns={columns}
        list={list}
        rowKey={(row) => row.id}
        onOpen={(row) => set({ group: row.id })}
        empty={
          <Empty icon="people" title={t('people.groups.empty')}>
            {t('people.groups.emptyHelp')}
          </Empty>
        }
      />
      <Text size="sm" c="dimmed">
        {t('people.groups.read')}:{' '}
        {connector.permissions?.groupsReadAt ? formatTime(connector.permissions.groupsReadAt) : t('common.never')}
      </Text>
      <Modal
        opened={group !== undefined}
        onClose={() => set({ group: undefined })}
        title={t('people.groups.membersOf', { name: list.rows.find(({ id }) => id === group)?.name ?? group ?? '' })}
        closeButtonProps={{ 'aria-label': t('common.close') }}
      >
        {group !== undefined && <GroupMembers connectorId={connector.id} groupId={group} />}
      </Modal>
    </Stack>
  );
}

const shownAtOnce = 500;

function GroupMembers({ connectorId, groupId }: { connectorId: string; groupId: string }) {
  const [{ data, error }, again] = useQuery({ query: PeopleGroupDocument, variables: { connectorId, groupId } });
  if (error) return <ProblemNotice error={error} retry={() => again({ requestPolicy: 'network-only' })} />;
  if (!data) return <Loader aria-label={t('common.loading')} />;
  const { emails, groups, domains, memberCount } = data.sourceGroup;
  const parts = [
    { key: 'people', title: t('people.groups.people'), names: emails.slice(0, shownAtOnce) },
    { key: 'groups', title: t('people.groups.groups'), names: groups.slice(0, shownAtOnce) },
    { key: 'domains', title: t('people.groups.domains'), names: domains.slice(0, shownAtOnce) },
  ].filter(({ names }) => names.length > 0);
  const shown = parts.reduce((sum, { names }) => sum + names.length, 0);
  return (
    <Stack>
      {parts.length === 0 && <Text size="sm">{t('people.groups.noMembers')}</Text>}
      {parts.map(({ key, title, names }) => (
        <div key={key}>
          <Title order={3} size="h6">
            {title}
          </Title>
          <List size="sm">
            {names.map((name) => (
              <List.Item key={name} className="wrap">
                {name}
              </List.Item>
            ))}
          </List>
        </div>
      ))}
      {shown < memberCount && (
        <Text size="sm" c="dimmed">
          {t('people.groups.some', { shown, count: memberCount })}
        </Text>
      )}
    </Stack>
  );
}
