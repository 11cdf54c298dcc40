import { Anchor, List, Loader, Stack, Text, Title } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useQuery } from 'urql';
import { t } from '../../i18n';
import { CodeBlock } from '../../kit/Copy';
import { Facts } from '../../kit/Facts';
import { ProblemNotice } from '../../kit/Problem';
import { useMay } from '../../session/Me';
import { PeopleSignInDocument } from './people.gql';

// SignOn says how people sign in, and for administrators how single sign-on is set up: by the operator, in the settings of
// the service.
export function SignOn() {
  const isAdmin = useMay('ADMIN');
  const [{ data, error }, again] = useQuery({ query: PeopleSignInDocument });
  if (error && !data) return <ProblemNotice error={error} retry={() => again({ requestPolicy: 'network-only' })} />;
  if (!data) return <Loader aria-label={t('common.loading')} />;
  const { password, oidc, saml } = data.signInMethods;
  return (
    <Stack className="narrow" style={{ marginInline: 0 }}>
      <Facts
        columns={2}
        items={[
          { label: t('people.byPassword'), value: password ? t('common.yes') : t('common.no') },
          { label: t('people.byProvider'), value: oidc ? oidc.name : t('people.notSetUp') },
          { label: t('people.issuer'), value: oidc?.issuer },
          { label: t('people.bySaml'), value: saml ? saml.name : t('people.notSetUp') },
        ]}
      />
      {isAdmin && (
        <>
          <Title order={2} size="h4">
            {oidc ? t('people.oidcChange') : t('people.oidcSetUp')}
          </Title>
          <Text size="sm">{t('people.oidcHelp')}</Text>
          <List type="ordered" size="sm" spacing="xs">
            <List.Item>{t('people.oidcRegister')}</List.Item>
          </List>
          <CodeBlock label={t('people.oidcRedirect')}>{`${window.location.origin}/api/v1/auth/oidc/callback`}</CodeBlock>
          <List type="ordered" size="sm" spacing="xs" listStyleType="decimal" start={2}>
            <List.Item>{t('people.oidcSettings')}</List.Item>
          </List>
          <CodeBlock label={t('people.oidcNames')}>
            {`OIDC_ISSUER=https://id.example.com/realms/company
OIDC_CLIENT_ID=magpie
OIDC_CLIENT_SECRET=…
OIDC_NAME=${oidc?.name ?? 'Company account'}`}
          </CodeBlock>
          <Text size="sm">{t('people.oidcJoin')}</Text>
          <Title order={2} size="h4">
            {saml ? t('people.samlChange') : t('people.samlSetUp')}
          </Title>
          <Text size="sm">{t('people.samlHelp')}</Text>
          <List type="ordered" size="sm" spacing="xs">
            <List.Item>{t('people.samlRegister')}</List.Item>
          </List>
          <CodeBlock label={t('people.samlEntity')}>{`${window.location.origin}/api/v1/auth/saml/metadata`}</CodeBlock>
          <CodeBlock label={t('people.samlACS')}>{`${window.location.origin}/api/v1/auth/saml/acs`}</CodeBlock>
          <List type="ordered" size="sm" spacing="xs" listStyleType="decimal" start={2}>
            <List.Item>{t('people.samlSettings')}</List.Item>
          </List>
          <CodeBlock label={t('people.samlNames')}>
            {`SAML_METADATA_URL=https://id.example.com/metadata
SAML_NAME=${saml?.name ?? 'Company account'}`}
          </CodeBlock>
          <Text size="sm">{t('people.samlJoin')}</Text>
          <Title order={2} size="h4">
            {t('people.scim')}
          </Title>
          <Text size="sm">{t('people.scimHelp')}</Text>
          <List type="ordered" size="sm" spacing="xs">
            <List.Item>
              {t('people.scimToken')}{' '}
              <Anchor component={Link} to="/keys" inherit underline="always">
                {t('people.scimTokens')}
              </Anchor>
            </List.Item>
            <List.Item>{t('people.scimEnter')}</List.Item>
          </List>
          <CodeBlock label={t('people.scimAddress')}>{`${window.location.origin}/scim/v2`}</CodeBlock>
          <Text size="sm">{t('people.scimAccess')}</Text>
        </>
      )}
    </Stack>
  );
}
