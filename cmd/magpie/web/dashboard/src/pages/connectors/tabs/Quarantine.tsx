import { Anchor, Button, Group, Stack, Text } from '@mantine/core';
import { getRouteApi, Link } from '@tanstack/react-router';
import { formatNumber, formatTime, t } from '../../../i18n';
import { confirm } from '../../../kit/confirm';
import { DataTable } from '../../../kit/DataTable';
import { Empty } from '../../../kit/Empty';
import { FilterText } from '../../../kit/FilterText';
import { When } from '../../../kit/Time';
import { useAction } from '../../../kit/useAction';
import { usePaged } from '../../../kit/usePaged';
import { May } from '../../../session/Me';
import type { Connector } from '../ConnectorPage';
import { ConnectorsApproveDeletionDocument, ConnectorsDismissDeletionDocument, ConnectorsQuarantineDocument } from '../work.gql';

const route = getRouteApi('/shell/connectors/$connectorId');

// Quarantine shows the documents whose deletion waits for a decision, and takes it.
export function Quarantine({ connector, reload }: { connector: Connector; reload: () => void }) {
  const { id, name, pendingDeletion } = connector;
  const { q } = route.useSearch();
  const navigate = route.useNavigate();
  const approve = useAction(ConnectorsApproveDeletionDocument, { success: t('connectors.quarantine.approved') });
  const dismiss = useAction(ConnectorsDismissDeletionDocument, {
    success: ({ dismissDeletion }) => t('connectors.quarantine.dismissed', { count: dismissDeletion.documents }),
  });
  const list = usePaged(ConnectorsQuarantineDocument, { connectorId: id, matching: q ?? null }, (data) => data.quarantinedDocuments);
  const refresh = () => {
    reload();
    list.reload();
  };
  if (!pendingDeletion) {
    return (
      <Empty icon="check" title={t('connectors.quarantine.none')}>
        {t('connectors.quarantine.noneHelp')}
      </Empty>
    );
  }
  const remove = async () => {
    const isCertain = await confirm({
      title: t('connectors.quarantine.approveTitle', { count: pendingDeletion.documents }),
      body: t('connectors.quarantine.approveBody'),
      action: t('connectors.quarantine.approve'),
      typed: name,
    });
    if (isCertain && (await approve.run({ connectorId: id }))) refresh();
  };
  const keep = async () => {
    const isCertain = await confirm({
      title: t('connectors.quarantine.dismissTitle', { count: pendingDeletion.documents }),
      body: t('connectors.quarantine.dismissBody'),
      action: t('connectors.quarantine.dismiss'),
      destructive: false,
    });
    if (isCertain && (await dismiss.run({ connectorId: id }))) refresh();
  };
  return (
    <Stack>
      <Text size="sm">
        {t('connectors.quarantine.since', { time: formatTime(pendingDeletion.since), count: formatNumber(pendingDeletion.documents) })}{' '}
        <Anchor
          component="button"
          type="button"
          size="sm"
          underline="always"
          onClick={() => void navigate({ search: { tab: 'syncs', job: pendingDeletion.jobId } })}
        >
          {t('connectors.quarantine.job')}
        </Anchor>
      </Text>
      <May atLeast="EDITOR">
        <Group>
          <Button color="red.8" loading={approve.running} onClick={() => void remove()}>
            {t('connectors.quarantine.approve')}
          </Button>
          <Button variant="default" loading={dismiss.running} onClick={() => void keep()}>
            {t('connectors.quarantine.dismiss')}
          </Button>
        </Group>
      </May>
      <FilterText
        label={t('connectors.filter.path')}
        value={q ?? ''}
        onChange={(next) => void navigate({ search: (old) => ({ ...old, q: next }), replace: true })}
      />
      <DataTable
        label={t('connectors.tab.quarantine')}
        list={list}
        rowKey={(document) => document.id}
        empty={<Text size="sm">{t('connectors.noMatchHelp')}</Text>}
        columns={[
          {
            key: 'title',
            title: t('connectors.document'),
            cell: (document) => (
              <>
                <Anchor component={Link} to={`/documents/${document.id}` as string} size="sm">
                  {document.title || document.path}
                </Anchor>
                <Text size="xs" c="dimmed">
                  {document.path}
                </Text>
              </>
            ),
          },
          { key: 'changed', title: t('common.changed'), from: 'sm', cell: ({ updatedAt }) => <When at={updatedAt} /> },
        ]}
      />
    </Stack>
  );
}
