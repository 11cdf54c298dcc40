import { Badge, Group, Paper, SimpleGrid, Stack, Text, TextInput, Title } from '@mantine/core';
import { getRouteApi, Link } from '@tanstack/react-router';
import { t } from '../../i18n';
import { Empty } from '../../kit/Empty';
import { Icon } from '../../kit/Icon';
import { Page } from '../../kit/Page';
import { ProblemNotice } from '../../kit/Problem';
import { useMay } from '../../session/Me';
import { BackToWelcome } from './BackToWelcome';
import { categoryIcon, categoryName, useKinds } from './kinds';

const route = getRouteApi('/shell/connectors/new');

const order = ['files', 'web', 'storage', 'collaboration', 'development', 'crm', 'itsm', 'database'];

// GalleryPage shows every kind of connector, by category.
export function GalleryPage() {
  const { q = '', collection, welcome } = route.useSearch();
  const navigate = route.useNavigate();
  const { kinds, error, again } = useKinds();
  const mayEdit = useMay('EDITOR');
  const wanted = q.trim().toLocaleLowerCase();
  const found = kinds.filter(({ name, title, description, category }) =>
    [name, title, description, categoryName(category)].some((text) => text.toLocaleLowerCase().includes(wanted)),
  );
  const categories = [...new Set(found.map(({ category }) => category))].sort((a, b) => order.indexOf(a) - order.indexOf(b));
  return (
    <Page
      title={t('connectors.new')}
      description={t('connectors.newHelp')}
      above={[{ label: t('connectors.title'), to: '/connectors' }]}
      actions={<BackToWelcome welcome={welcome} />}
    >
      {!mayEdit && <Text>{t('connectors.mayNotAdd')}</Text>}
      {error && <ProblemNotice error={error} retry={again} />}
      <TextInput
        label={t('connectors.searchKinds')}
        type="search"
        value={q}
        leftSection={<Icon name="search" size={16} />}
        onChange={(event) => {
          const text = event.currentTarget.value;
          void navigate({ search: (old) => ({ ...old, q: text || undefined }), replace: true });
        }}
        maw="24rem"
      />
      {wanted !== '' && found.length === 0 && (
        <Empty icon="connector" title={t('connectors.noKind')}>
          {t('connectors.noKindHelp')}
        </Empty>
      )}
      {categories.map((category) => (
        <Stack key={category} gap="xs">
          <Title order={2} size="h5">
            {categoryName(category)}
          </Title>
          <SimpleGrid cols={{ base: 1, xs: 2, md: 3 }}>
            {found
              .filter((kind) => kind.category === category)
              .map((kind) => (
                <Card key={kind.name} kind={kind} search={{ collection, welcome }} mayEdit={mayEdit} />
              ))}
          </SimpleGrid>
        </Stack>
      ))}
    </Page>
  );
}

interface CardProps {
  kind: ReturnType<typeof useKinds>['kinds'][number];
  // What the form begins with.
  search: { collection?: string; welcome?: 1 };
  mayEdit: boolean;
}

function Card({ kind, search, mayEdit }: CardProps) {
  const { name, title, description, category, permissions, webhooks, oauthProvider } = kind;
  const about = (
    <Stack gap={6}>
      <Group gap="xs" wrap="nowrap">
        <Icon name={categoryIcon(category)} />
        <Text fw={600}>{title}</Text>
      </Group>
      <Text size="sm" c="dimmed">
        {description}
      </Text>
      <Group gap={4}>
        {permissions && <Feature>{t('connectors.has.permissions')}</Feature>}
        {webhooks && <Feature>{t('connectors.has.webhooks')}</Feature>}
        {oauthProvider && <Feature>{t('connectors.has.oauth')}</Feature>}
      </Group>
    </Stack>
  );
  if (!mayEdit) return <Paper p="md">{about}</Paper>;
  return (
    <Paper
      p="md"
      className="row"
      c="inherit"
      td="none"
      renderRoot={(props) => <Link to="/connectors/new/$kind" params={{ kind: name }} search={search} {...props} />}
    >
      {about}
    </Paper>
  );
}

function Feature({ children }: { children: string }) {
  return (
    <Badge size="sm" variant="default" tt="none">
      {children}
    </Badge>
  );
}
