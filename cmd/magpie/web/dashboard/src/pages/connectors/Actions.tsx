import { ActionIcon, Button, Group, Menu, Modal, Stack, TagsInput } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { t } from '../../i18n';
import { confirm } from '../../kit/confirm';
import { Icon } from '../../kit/Icon';
import { useAction } from '../../kit/useAction';
import { useMay } from '../../session/Me';
import type { Connector } from './ConnectorPage';
import {
  ConnectorsCancelSyncDocument,
  ConnectorsDeleteDocument,
  ConnectorsPauseDocument,
  ConnectorsResumeDocument,
  ConnectorsStartSyncDocument,
} from './connector.gql';
import { useKinds } from './kinds';

interface Props {
  connector: Connector;
  openJob: string | null;
  reload: () => void;
}

// Actions are the buttons of a connector for people who may edit it.
export function Actions({ connector, openJob, reload }: Props) {
  const { id, name } = connector;
  const mayEdit = useMay('EDITOR');
  const navigate = useNavigate();
  const { kind } = useKinds();
  const start = useAction(ConnectorsStartSyncDocument, { success: t('connectors.started') });
  const cancel = useAction(ConnectorsCancelSyncDocument, { success: t('connectors.canceling') });
  const pause = useAction(ConnectorsPauseDocument, { success: t('connectors.paused') });
  const resume = useAction(ConnectorsResumeDocument, { success: t('connectors.resumed') });
  const remove = useAction(ConnectorsDeleteDocument, { success: t('common.deleted') });
  const [byPath, setByPath] = useState(false);
  if (!mayEdit) return null;
  const isPaused = connector.status === 'PAUSED';
  const isDatabase = kind(connector.type)?.database === true;
  const begin = (syncMode: string, fileFilter?: string[]) => start.run({ connectorId: id, input: { syncMode, fileFilter } });
  const end = async () => {
    const isCertain = await confirm({
      title: t('connectors.deleteTitle', { name }),
      body: t('connectors.deleteBody'),
      action: t('common.delete'),
      typed: name,
    });
    if (isCertain && (await remove.run({ id }))) await navigate({ to: '/connectors' });
  };
  return (
    <>
      {openJob ? (
        <Button
          variant="default"
          leftSection={<Icon name="stop" size={16} />}
          loading={cancel.running}
          onClick={() => void cancel.run({ jobId: openJob, connectorId: id })}
        >
          {t('connectors.cancel')}
        </Button>
      ) : (
        <Button
          leftSection={<Icon name="refresh" size={16} />}
          loading={start.running}
          disabled={isPaused}
          title={isPaused ? t('connectors.pausedHelp') : undefined}
          onClick={() => void begin('auto')}
        >
          {t(isDatabase ? 'connectors.readSchema' : 'connectors.syncNow')}
        </Button>
      )}
      <Button
        variant="default"
        leftSection={<Icon name={isPaused ? 'play' : 'pause'} size={16} />}
        loading={pause.running || resume.running}
        onClick={() => void (isPaused ? resume : pause).run({ id }).then(reload)}
      >
        {t(isPaused ? 'connectors.resume' : 'connectors.pause')}
      </Button>
      <Menu position="bottom-end" width={260}>
        <Menu.Target>
          <ActionIcon variant="default" size={36} aria-label={t('common.actions')}>
            <Icon name="more" />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          {!isDatabase && (
            <>
              <Menu.Item disabled={isPaused || openJob !== null} onClick={() => void begin('full')}>
                {t('connectors.syncFull')}
              </Menu.Item>
              <Menu.Item disabled={isPaused || openJob !== null} onClick={() => setByPath(true)}>
                {t('connectors.syncPaths')}
              </Menu.Item>
              <Menu.Item
                onClick={() => void navigate({ to: '/connectors/$connectorId', params: { connectorId: id }, search: { tab: 'plan' } })}
              >
                {t('connectors.planSync')}
              </Menu.Item>
            </>
          )}
          <Menu.Item c="red" leftSection={<Icon name="trash" size={16} />} onClick={() => void end()}>
            {t('connectors.delete')}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {byPath && <ByPath close={() => setByPath(false)} begin={(paths) => begin('incremental', paths)} running={start.running} />}
    </>
  );
}

function ByPath({ close, begin, running }: { close: () => void; begin: (paths: string[]) => Promise<unknown>; running: boolean }) {
  const [paths, setPaths] = useState<string[]>([]);
  return (
    <Modal opened onClose={close} title={t('connectors.syncPaths')} closeButtonProps={{ 'aria-label': t('common.close') }}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void begin(paths).then((job) => job && close());
        }}
      >
        <Stack>
          <TagsInput
            label={t('connectors.paths')}
            description={t('connectors.pathsHelp')}
            value={paths}
            onChange={setPaths}
            splitChars={[',', '\n']}
            acceptValueOnBlur
            clearable
            clearButtonProps={{ 'aria-label': t('common.clear') }}
            data-autofocus
          />
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              {t('common.cancel')}
            </Button>
            <Button type="submit" disabled={paths.length === 0} loading={running}>
              {t('connectors.syncNow')}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
