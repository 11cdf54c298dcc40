import { useNavigate } from '@tanstack/react-router';
import { useClient } from 'urql';
import { type Language, language, languages, t } from '../i18n';
import type { IconName } from '../kit/Icon';
import { failed } from '../kit/notify';
import { nodesOf } from '../kit/usePaged';
import { includes, useMe } from '../session/Me';
import { themeOf, useSavePreferences } from '../session/preferences';
import { end } from '../session/session';
import { CommandsUploadsDocument } from './commands.gql';

export interface Command {
  label: string;
  icon: IconName;
  run: () => void;
}

// useActions returns what a person of the role may begin from any page, and their settings.
export function useActions(): Command[] {
  const { role } = useMe();
  const navigate = useNavigate();
  const client = useClient();
  const save = useSavePreferences();
  // Files are uploaded to a connector: to the only one, one of several, or the first one that is made for them.
  const upload = async () => {
    const { data, error } = await client.query(CommandsUploadsDocument, {}, { requestPolicy: 'network-only' }).toPromise();
    if (!data) return failed(error);
    const [first, second] = nodesOf(data.connectors);
    if (second) return navigate({ to: '/connectors', search: { type: 'file_upload' } });
    if (first) return navigate({ to: '/connectors/$connectorId', params: { connectorId: first.id }, search: { tab: 'files' } });
    return navigate({ to: '/connectors/new/$kind', params: { kind: 'file_upload' } });
  };
  const editor: Command[] = [
    { label: t('common.command.connector'), icon: 'connector', run: () => void navigate({ to: '/connectors/new' }) },
    { label: t('common.command.upload'), icon: 'upload', run: () => void upload() },
    { label: t('common.command.agent'), icon: 'agent', run: () => void navigate({ to: '/agents/new' }) },
  ];
  const admin: Command[] = [
    { label: t('common.command.key'), icon: 'key', run: () => void navigate({ to: '/keys/new' }) },
    {
      label: t('common.command.invite'),
      icon: 'people',
      run: () => void navigate({ to: '/people', search: { tab: 'invitations', invite: true } }),
    },
  ];
  const themes: Command[] = (['light', 'dark', 'auto'] as const).map((scheme) => ({
    label: `${t('common.theme')}: ${t(`common.theme.${scheme}`)}`,
    icon: scheme === 'dark' ? 'moon' : 'sun',
    run: () => void save({ theme: themeOf(scheme) }),
  }));
  const tags = (Object.keys(languages) as Language[]).filter((tag) => tag !== language);
  return [
    ...(includes(role, 'EDITOR') ? editor : []),
    ...(includes(role, 'ADMIN') ? admin : []),
    ...themes,
    ...tags.map(
      (tag): Command => ({
        label: `${t('common.language')}: ${languages[tag]}`,
        icon: 'globe',
        run: () => void save({ language: tag }),
      }),
    ),
    { label: t('common.signOut'), icon: 'signOut', run: () => void end().catch(failed) },
  ];
}
