import { Button, Loader, Tabs } from '@mantine/core';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useQuery } from 'urql';
import { problemOf } from '../../api/errors';
import { NotFound } from '../../app/Fallback';
import { t } from '../../i18n';
import { confirm } from '../../kit/confirm';
import { Icon } from '../../kit/Icon';
import { Page } from '../../kit/Page';
import { ProblemNotice } from '../../kit/Problem';
import { useAction } from '../../kit/useAction';
import { useMay } from '../../session/Me';
import { Connectors } from './Connectors';
import { CollectionsDeleteDocument, CollectionsOneDocument, type CollectionsOneQuery } from './collections.gql';
import { Overview } from './Overview';
import { Reliability } from './Reliability';
import { type Tab, tabs } from './routes';
import { Settings } from './Settings';

export type Collection = CollectionsOneQuery['collection'];

const route = getRouteApi('/shell/collections/$collectionId');

// CollectionPage shows one collection, by tabs.
export function CollectionPage() {
  const { collectionId: id } = route.useParams();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const mayEdit = useMay('EDITOR');
  const [{ data, error }, again] = useQuery({ query: CollectionsOneDocument, variables: { id } });
  const reload = () => again({ requestPolicy: 'network-only' });
  const remove = useAction(CollectionsDeleteDocument, { success: t('common.deleted') });
  if (error && !data) {
    if (problemOf(error).code === 'not_found') return <NotFound />;
    return <ProblemNotice error={error} retry={reload} />;
  }
  if (!data) return <Loader aria-label={t('common.loading')} />;
  const { collection } = data;
  const shown = tabs.filter((tab) => mayEdit || (tab !== 'settings' && tab !== 'reliability'));
  const tab = shown.find((one) => one === search.tab) ?? 'overview';
  const erase = async () => {
    const isCertain = await confirm({
      title: t('collections.deleteTitle', { name: collection.name }),
      body: t('collections.deleteBody', { documents: collection.stats.documentCount, connectors: collection.connectorIds.length }),
      action: t('common.delete'),
      typed: collection.name,
    });
    if (isCertain && (await remove.run({ id }))) await navigate({ to: '/collections' });
  };
  return (
    <Page
      title={collection.name}
      description={collection.description}
      above={[{ label: t('collections.title'), to: '/collections' }]}
      actions={
        mayEdit && (
          <>
            <Button
              renderRoot={(props) => <Link to="/connectors/new" search={{ collection: id }} {...props} />}
              leftSection={<Icon name="plus" size={16} />}
            >
              {t('collections.addConnector')}
            </Button>
            <Button variant="default" c="red" leftSection={<Icon name="trash" size={16} />} onClick={() => void erase()}>
              {t('common.delete')}
            </Button>
          </>
        )
      }
    >
      <Tabs value={tab} onChange={(next) => void navigate({ search: { tab: next as Tab } })} keepMounted={false}>
        <Tabs.List>
          {shown.map((one) => (
            <Tabs.Tab key={one} value={one}>
              {t(`collections.tab.${one}`)}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value="overview" pt="md">
          <Overview collection={collection} reload={reload} />
        </Tabs.Panel>
        <Tabs.Panel value="connectors" pt="md">
          <Connectors collectionId={id} />
        </Tabs.Panel>
        {mayEdit && (
          <>
            <Tabs.Panel value="reliability" pt="md">
              <Reliability collectionId={id} />
            </Tabs.Panel>
            <Tabs.Panel value="settings" pt="md">
              <Settings key={id} collection={collection} reload={reload} />
            </Tabs.Panel>
          </>
        )}
      </Tabs>
    </Page>
  );
}
