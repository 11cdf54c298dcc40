import { Button, Stack, Text } from '@mantine/core';
import { t } from '../../i18n';
import { confirm } from '../../kit/confirm';
import { type Column, DataTable } from '../../kit/DataTable';
import { Empty } from '../../kit/Empty';
import { Status } from '../../kit/Status';
import { Ago } from '../../kit/Time';
import { useAction } from '../../kit/useAction';
import { usePaged } from '../../kit/usePaged';
import { useMay } from '../../session/Me';
import { AgentsGrantsDocument, type AgentsGrantsQuery, AgentsRevokeGrantDocument } from './agents.gql';
import { useToolTitles } from './Chat';
import { usePeople } from './Names';

type Grant = NonNullable<NonNullable<NonNullable<AgentsGrantsQuery['toolGrants']['edges']>[number]>['node']>;

// Grants has what people have allowed an agent to do without asking.
export function Grants({ agentId }: { agentId: string }) {
  const isEditor = useMay('EDITOR');
  const titleOf = useToolTitles();
  const { nameOf } = usePeople();
  const list = usePaged(AgentsGrantsDocument, { agentId }, (data) => data.toolGrants);
  const revoke = useAction(AgentsRevokeGrantDocument, { success: t('agents.grant.revoked') });
  const end = async (grant: Grant) => {
    const sure = await confirm({ title: t('agents.grant.revoke'), body: t('agents.grant.revokeHelp'), action: t('agents.grant.revoke') });
    if (sure) await revoke.run({ id: grant.id });
  };
  const columns: Column<Grant>[] = [
    {
      key: 'tool',
      title: t('agents.policy.tool'),
      cell: (grant) => (
        <>
          <Text size="sm">{titleOf(grant.tool)}</Text>
          <Text size="xs" c="dimmed" className="mono">
            {grant.tool}
          </Text>
        </>
      ),
    },
    { key: 'scope', title: t('agents.grant.scope'), cell: (grant) => t(`agents.grant.scope.${grant.scope}`) },
    { key: 'for', title: t('agents.grant.for'), from: 'sm', cell: (grant) => nameOf(grant.personId) },
    { key: 'by', title: t('agents.grant.by'), from: 'md', cell: (grant) => nameOf(grant.createdBy) },
    { key: 'at', title: t('common.created'), from: 'sm', cell: (grant) => <Ago at={grant.createdAt} /> },
    {
      key: 'actions',
      title: t('common.actions'),
      align: 'right',
      cell: (grant) =>
        grant.revokedAt ? (
          <Status value="REVOKED" />
        ) : (
          (grant.scope !== 'AGENT' || isEditor) && (
            <Button size="xs" variant="default" onClick={() => void end(grant)}>
              {t('agents.grant.revoke')}
            </Button>
          )
        ),
    },
  ];
  return (
    <Stack>
      <Text size="sm" c="dimmed">
        {t('agents.grant.help')}
      </Text>
      <DataTable
        label={t('agents.tab.permissions')}
        columns={columns}
        list={list}
        rowKey={({ id }) => id}
        empty={
          <Empty icon="approval" title={t('agents.grant.none')}>
            {t('agents.grant.noneHelp')}
          </Empty>
        }
      />
    </Stack>
  );
}
