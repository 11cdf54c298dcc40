import { t } from '../../i18n';
import { Page } from '../../kit/Page';
import { PersonalTokens } from '../../kit/Tokens';
import { May } from '../../session/Me';
import { Display } from './Display';
import { Password, Profile } from './Profile';
import { Section } from './Section';
import { Sessions } from './Sessions';
import { WorkspaceSettings } from './WorkspaceSettings';
import { Workspaces } from './Workspaces';

export function AccountPage() {
  return (
    <Page title={t('workspace.account')} description={t('workspace.accountAbout')} narrow>
      <Profile />
      <Password />
      <Display />
      <Sessions />
      <Section id="tokens" title={t('common.tokens.personal')} about={t('common.tokens.personalAbout')}>
        <PersonalTokens />
      </Section>
      <Workspaces />
      <May atLeast="ADMIN">
        <WorkspaceSettings />
      </May>
    </Page>
  );
}
