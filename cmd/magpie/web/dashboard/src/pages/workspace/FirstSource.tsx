import { Alert, Button, Select, Stack, Text } from '@mantine/core';
import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { t } from '../../i18n';
import { Icon } from '../../kit/Icon';
import { ProblemNotice } from '../../kit/Problem';
import { Upload } from '../../kit/Upload';
import { useAction } from '../../kit/useAction';
import { Choice } from './WelcomePage';
import {
  WorkspaceWelcomeCollectionDocument,
  WorkspaceWelcomeConnectorDocument,
  type WorkspaceWelcomeQuery,
  WorkspaceWelcomeStartDocument,
} from './welcome.gql';

const route = getRouteApi('/shell/welcome');

type Edge<C extends { edges?: unknown }> = NonNullable<C['edges']> extends (infer E)[] ? NonNullable<E> : never;
export type Connector = NonNullable<Extract<Edge<WorkspaceWelcomeQuery['connectors']>, { node?: unknown }>['node']>;

interface Props {
  collections: { id: string; name: string }[];
  // The newest connector; null in a new workspace.
  connector: Connector | null;
  reload: () => void;
  next: () => void;
}

// FirstSource brings the first documents: files of the person, a web site, or another kind of source. Documents are in a
// collection, which is made on the way.
export function FirstSource({ collections, connector, reload, next }: Props) {
  const navigate = route.useNavigate();
  const { collection: wanted } = route.useSearch();
  const collection = collections.find(({ id }) => id === wanted)?.id ?? collections[0]?.id ?? null;
  const { run: createCollection, error: collectionError, running: making } = useAction(WorkspaceWelcomeCollectionDocument, { quiet: true });
  const { run: createConnector, error: connectorError, running: adding } = useAction(WorkspaceWelcomeConnectorDocument, { quiet: true });
  const [uploadTo, setUploadTo] = useState<string | null>(null);
  // Where the documents go: the chosen collection, or a new one in a workspace without any.
  const target = async (): Promise<string | null> => {
    if (collection) return collection;
    const made = await createCollection({ input: { name: t('workspace.firstCollection') } });
    reload();
    return made?.createCollection.id ?? null;
  };
  const upload = async () => {
    // The new connector completes this step, which stays open for the files.
    await navigate({ search: (old) => ({ ...old, step: 'source' as const }), replace: true });
    if (connector?.type === 'file_upload') return setUploadTo(connector.id);
    const to = await target();
    if (!to) return;
    const made = await createConnector({ input: { name: t('workspace.firstFiles'), type: 'file_upload', collection: to } });
    if (made) setUploadTo(made.createConnector.id);
  };
  const goTo = async (kind: string) => {
    const to = await target();
    if (to) await navigate({ to: `/connectors/new${kind && `/${kind}`}`, search: { collection: to, welcome: 1 } as never });
  };
  const error = collectionError ?? connectorError;
  return (
    <Stack gap="sm">
      {connector && !uploadTo && (
        <Alert color="blue" variant="light" icon={<Icon name="info" />}>
          <Text size="sm" className="wrap">
            {t('workspace.sourceThere', { name: connector.name })}
          </Text>
          <Button size="xs" mt="xs" onClick={next}>
            {t('common.next')}
          </Button>
        </Alert>
      )}
      {error && <ProblemNotice error={error} />}
      {collections.length > 1 && !uploadTo && (
        <Select
          label={t('workspace.collection')}
          allowDeselect={false}
          value={collection}
          onChange={(value) => void navigate({ search: (old) => ({ ...old, collection: value ?? undefined }), replace: true })}
          data={collections.map(({ id, name }) => ({ value: id, label: name }))}
        />
      )}
      {uploadTo ? (
        <UploadAndSync connectorId={uploadTo} reload={reload} next={next} />
      ) : (
        <>
          <Way
            icon="upload"
            label={t('workspace.uploadFiles')}
            about={t('workspace.uploadFilesAbout')}
            run={upload}
            running={making || adding}
          />
          <Way
            icon="globe"
            label={t('workspace.webSite')}
            about={t('workspace.webSiteAbout')}
            run={() => goTo('web_crawler')}
            running={making}
          />
          <Way
            icon="connector"
            label={t('workspace.otherSource')}
            about={t('workspace.otherSourceAbout')}
            run={() => goTo('')}
            running={making}
          />
          {connector && <Choice icon="search" to="/search" label={t('common.nav.search')} about={t('workspace.searchNow')} />}
        </>
      )}
    </Stack>
  );
}

interface WayProps {
  icon: 'upload' | 'globe' | 'connector';
  label: string;
  about: string;
  run: () => Promise<unknown>;
  running: boolean;
}

function Way({ icon, label, about, run, running }: WayProps) {
  return (
    <Button
      variant="default"
      h="auto"
      py="sm"
      justify="flex-start"
      leftSection={<Icon name={icon} size={20} />}
      disabled={running}
      onClick={() => void run()}
      styles={{ label: { whiteSpace: 'normal', textAlign: 'start' } }}
    >
      <span>
        <Text span fw={600} display="block">
          {label}
        </Text>
        <Text span size="sm" c="dimmed" display="block">
          {about}
        </Text>
      </span>
    </Button>
  );
}

// UploadAndSync uploads files and then starts the sync that makes documents of them.
function UploadAndSync({ connectorId, reload, next }: { connectorId: string; reload: () => void; next: () => void }) {
  const { run, error, running } = useAction(WorkspaceWelcomeStartDocument, { quiet: true });
  const start = async () => {
    if (!(await run({ connectorId }))) return;
    reload();
    next();
  };
  return (
    <>
      <Upload
        connectorId={connectorId}
        onDone={(stored) => {
          if (stored > 0) void start();
        }}
      />
      {error && <ProblemNotice error={error} retry={() => void start()} />}
      {running && (
        <Text size="sm" role="status">
          {t('workspace.startingSync')}
        </Text>
      )}
    </>
  );
}
